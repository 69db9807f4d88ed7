/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "core/policy.h"

int nb_policy_plan(struct nb_model *m, const struct nb_snapshot *s, const struct nb_config *c,
		   struct nb_plan *plan)
{
	struct nb_planning pl = {.m = m, .s = s, .c = c, .plan = plan, .p = m->problem};
	int r;

	nb_plan_reset(plan);
	plan->at_us = s->at_us;
	plan->topology_gen = s->topology_gen;
	if (!m->rates_valid || nb_model_now(m)->at_us != s->at_us)
		return -EAGAIN;
	r = nb_candidates_build(&pl);
	if (r < 0)
		return r;
	nb_search(pl.p, c);
	r = nb_actions_extract(&pl);
	if (r < 0)
		return r;
	m->totals.plans++;
	return 0;
}
