/* SPDX-License-Identifier: MIT */
#include "nb/plan.h"

#include <stdlib.h>

#include "core/grow.h"

int nb_plan_new(struct nb_plan **ret)
{
	struct nb_plan *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	*ret = p;
	return 0;
}

struct nb_plan *nb_plan_free(struct nb_plan *p)
{
	if (!p)
		return NULL;
	for (uint32_t i = 0; i < p->cap_actions; i++)
		nb_action_done(&p->actions[i]);
	free(p->actions);
	free(p->verdicts);
	free(p);
	return NULL;
}

void nb_plan_reset(struct nb_plan *p)
{
	p->n_actions = p->n_verdicts = 0;
	p->at_us = p->topology_gen = 0;
	p->cost_before_us = p->cost_after_us = 0;
}

int nb_plan_add_action(struct nb_plan *p, struct nb_action **ret)
{
	struct nb_bitmap cpu_nodes, mem_from;
	struct nb_action *a;
	int r;

	r = NB_GROW(p->actions, p->cap_actions, (uint64_t)p->n_actions + 1);
	if (r < 0)
		return r;
	a = &p->actions[p->n_actions++];
	/* The bitmaps keep their memory from plan to plan. */
	cpu_nodes = a->cpu_nodes;
	mem_from = a->mem_from;
	nb_bitmap_zero(&cpu_nodes);
	nb_bitmap_zero(&mem_from);
	*a = (struct nb_action){
		.from = NB_NO_NODE,
		.to = NB_NO_NODE,
		.mem_to = NB_NO_NODE,
		.cpu_nodes = cpu_nodes,
		.mem_from = mem_from,
	};
	*ret = a;
	return 0;
}

int nb_plan_add_verdict(struct nb_plan *p, struct nb_verdict **ret)
{
	int r = NB_GROW(p->verdicts, p->cap_verdicts, (uint64_t)p->n_verdicts + 1);

	if (r < 0)
		return r;
	*ret = &p->verdicts[p->n_verdicts++];
	**ret = (struct nb_verdict){.best_node = NB_NO_NODE};
	return 0;
}

int nb_action_copy(struct nb_action *dst, const struct nb_action *src)
{
	struct nb_action a = *src;
	int r;

	a.cpu_nodes = a.mem_from = (struct nb_bitmap){0};
	r = nb_bitmap_copy(&a.cpu_nodes, &src->cpu_nodes);
	if (r == 0)
		r = nb_bitmap_copy(&a.mem_from, &src->mem_from);
	if (r < 0) {
		nb_action_done(&a);
		return r;
	}
	*dst = a;
	return 0;
}

void nb_action_done(struct nb_action *a)
{
	nb_bitmap_done(&a->cpu_nodes);
	nb_bitmap_done(&a->mem_from);
}
