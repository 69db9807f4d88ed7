/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "core/policy.h"

static void copy_places(const struct nb_problem *p, uint32_t *ret)
{
	for (uint32_t u = 0; u < p->n; u++)
		ret[u] = p->units[u].where;
}

/* Two searches; the cheaper answer counts. The second may end in places that cannot be
 * reached (all ways lead over a busier node): then the first answer does. */
static int solve(struct nb_planning *pl)
{
	struct nb_problem *p = pl->p;
	int64_t first_us, second_us;
	bool stuck;
	int r;

	first_us = nb_search(p, pl->c, false);
	copy_places(p, p->first);
	second_us = nb_search(p, pl->c, true);
	if (second_us < first_us) {
		copy_places(p, p->answer);
		r = nb_actions_extract(pl, p->answer, &stuck);
		if (r < 0 || !stuck)
			return r;
	}
	return nb_actions_extract(pl, p->first, &stuck);
}

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
	r = solve(&pl);
	if (r < 0)
		return r;
	nb_actions_note_wishes(&pl);
	r = nb_relieve(&pl);
	if (r < 0)
		return r;
	m->totals.plans++;
	return 0;
}
