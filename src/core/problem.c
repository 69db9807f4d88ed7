/* SPDX-License-Identifier: MIT */
#include "core/problem.h"

#include <stdlib.h>
#include <string.h>

#include "core/grow.h"

void nb_problem_done(struct nb_problem *p)
{
	free(p->units);
	free(p->cost_us);
	free(p->moved_us);
	free(p->cpu_pmy);
	free(p->load);
	free(p->wait_us);
	free(p->scratch);
	free(p->wide);
	free(p->answer);
	free(p->first);
	free(p->head);
	free(p->next);
	free(p->prev);
	free(p->step);
	free(p->heap);
	free(p->slots);
	free(p->incoming_bytes);
	free(p->leaving);
	free(p->reach);
}

int nb_problem_reserve(struct nb_problem *p, const struct nb_snapshot *s)
{
	uint64_t n = s->n_processes, nodes = s->n_nodes;
	int r;

	if ((r = NB_GROW(p->units, p->cap_units, n)) < 0 ||
	    (r = NB_GROW(p->cost_us, p->cap_cost, n * nodes)) < 0 ||
	    (r = NB_GROW(p->moved_us, p->cap_moved, n * nodes)) < 0 ||
	    (r = NB_GROW(p->cpu_pmy, p->cap_cpu, n * nodes)) < 0 ||
	    (r = NB_GROW(p->load, p->cap_load, nodes)) < 0 ||
	    (r = NB_GROW(p->wait_us, p->cap_wait, nodes)) < 0 ||
	    (r = NB_GROW(p->scratch, p->cap_scratch, 2 * nodes)) < 0 ||
	    (r = NB_GROW(p->wide, p->cap_wide, 4 * nodes)) < 0 ||
	    (r = NB_GROW(p->answer, p->cap_answer, n)) < 0 ||
	    (r = NB_GROW(p->first, p->cap_first, n)) < 0 ||
	    (r = NB_GROW(p->head, p->cap_head, nodes)) < 0 ||
	    (r = NB_GROW(p->next, p->cap_next, n)) < 0 ||
	    (r = NB_GROW(p->prev, p->cap_prev, n)) < 0 ||
	    (r = NB_GROW(p->step, p->cap_step, n)) < 0 ||
	    (r = NB_GROW(p->heap, p->cap_heap, n)) < 0 ||
	    (r = NB_GROW(p->slots, p->cap_slots, nodes)) < 0 ||
	    (r = NB_GROW(p->incoming_bytes, p->cap_incoming, nodes)) < 0 ||
	    (r = NB_GROW(p->leaving, p->cap_leaving, nodes)) < 0 ||
	    (r = NB_GROW(p->reach, p->cap_reach, s->n_masks * nodes)) < 0)
		return r;
	if (p->reach)
		memset(p->reach, 0, s->n_masks * nodes);
	return 0;
}

static int64_t wait_of(const struct nb_problem *p, uint32_t node, const struct nb_load *l)
{
	int64_t waiting = nb_load_waiting_cap(l, p->s->nodes[node].n_cpus);

	return waiting * (int64_t)p->horizon_us / NB_CPU_CAP;
}

int64_t nb_problem_wait_us(const struct nb_problem *p, uint32_t node)
{
	return wait_of(p, node, &p->load[node]);
}

int64_t nb_problem_wait_with_us(const struct nb_problem *p, uint32_t node, const struct nb_load *l)
{
	struct nb_load all = p->load[node];

	nb_load_add(&all, l);
	return wait_of(p, node, &all);
}

void nb_problem_apply(struct nb_problem *p, uint32_t u, uint32_t place, int sign)
{
	const struct nb_load *l = &p->units[u].load;
	const uint32_t *share = p->cpu_pmy + (uint64_t)u * p->n_nodes;

	if (place == NB_STAY && p->units[u].undivided)
		place = p->units[u].from;
	if (place != NB_STAY) {
		if (sign > 0)
			nb_load_add(&p->load[place], l);
		else
			nb_load_sub(&p->load[place], l);
		return;
	}
	for (uint32_t k = 0; k < p->n_nodes; k++) {
		struct nb_load part;

		if (share[k] == 0)
			continue;
		/* Tasks are not divisible: a part of them counts as the next whole number. */
		part = (struct nb_load){
			.mean_cap = l->mean_cap * share[k] / 10000,
			.variance = l->variance * share[k] / 10000,
			.n = (l->n * share[k] + 9999) / 10000,
		};
		if (sign > 0)
			nb_load_add(&p->load[k], &part);
		else
			nb_load_sub(&p->load[k], &part);
	}
}

/* The nodes that a unit touches at a place, into nodes[]; those already there are
 * not named twice. */
static uint32_t touched(const struct nb_problem *p, uint32_t u, uint32_t place, uint32_t *nodes,
			uint32_t n)
{
	const uint32_t *share = p->cpu_pmy + (uint64_t)u * p->n_nodes;
	uint32_t first, end;

	if (place == NB_STAY && p->units[u].undivided)
		place = p->units[u].from;
	first = place == NB_STAY ? 0 : place;
	end = place == NB_STAY ? p->n_nodes : place + 1;

	for (uint32_t k = first; k < end; k++) {
		bool known = place == NB_STAY && share[k] == 0;

		for (uint32_t i = 0; !known && i < n; i++)
			known = nodes[i] == k;
		if (!known)
			nodes[n++] = k;
	}
	return n;
}

void nb_problem_move(struct nb_problem *p, uint32_t u, uint32_t place)
{
	uint32_t n = touched(p, u, p->units[u].where, p->scratch, 0);

	n = touched(p, u, place, p->scratch, n);
	nb_problem_apply(p, u, p->units[u].where, -1);
	nb_problem_apply(p, u, place, 1);
	p->units[u].where = place;
	for (uint32_t i = 0; i < n; i++)
		p->wait_us[p->scratch[i]] = nb_problem_wait_us(p, p->scratch[i]);
}

int64_t nb_problem_delta(struct nb_problem *p, const uint32_t *us, const uint32_t *places,
			 uint32_t n)
{
	uint32_t n_touched = 0;
	int64_t delta = 0;

	for (uint32_t i = 0; i < n; i++) {
		n_touched = touched(p, us[i], p->units[us[i]].where, p->scratch, n_touched);
		n_touched = touched(p, us[i], places[i], p->scratch, n_touched);
		delta += nb_problem_cost(p, us[i], places[i]) -
			 nb_problem_cost(p, us[i], p->units[us[i]].where);
		nb_problem_apply(p, us[i], p->units[us[i]].where, -1);
	}
	for (uint32_t i = 0; i < n; i++)
		nb_problem_apply(p, us[i], places[i], 1);
	for (uint32_t i = 0; i < n_touched; i++)
		delta += nb_problem_wait_us(p, p->scratch[i]) - p->wait_us[p->scratch[i]];
	for (uint32_t i = 0; i < n; i++) {
		nb_problem_apply(p, us[i], places[i], -1);
		nb_problem_apply(p, us[i], p->units[us[i]].where, 1);
	}
	return delta;
}

bool nb_problem_reaches(struct nb_problem *p, uint32_t mask, uint32_t node)
{
	uint8_t *known = &p->reach[(uint64_t)mask * p->n_nodes + node];

	if (*known == 0)
		*known = 1 + nb_bitmap_intersects(nb_snapshot_mask(p->s, mask),
						  nb_snapshot_mask(p->s, p->s->nodes[node].cpus));
	return *known == 2;
}

int64_t nb_problem_total(const struct nb_problem *p)
{
	int64_t total = 0;

	for (uint32_t u = 0; u < p->n; u++)
		total += nb_problem_cost(p, u, p->units[u].where);
	for (uint32_t k = 0; k < p->n_nodes; k++)
		total += p->wait_us[k];
	return total;
}

uint32_t nb_problem_leaves(const struct nb_problem *p, uint32_t u, uint32_t to)
{
	const uint32_t *share = p->cpu_pmy + (uint64_t)u * p->n_nodes;
	uint32_t best = p->units[u].from;

	if (best != to)
		return best;
	for (uint32_t k = 0; k < p->n_nodes; k++)
		if (k != to && (best == to ? share[k] > 0 :
					     share[k] > share[best] ||
						     (share[k] == share[best] &&
						      p->s->nodes[k].id < p->s->nodes[best].id)))
			best = k;
	return best;
}

bool nb_problem_busier(const struct nb_problem *p, uint32_t from, uint32_t to, uint32_t pct)
{
	int64_t from_cap = p->s->nodes[from].n_cpus, to_cap = p->s->nodes[to].n_cpus;

	if (from_cap == 0)
		return false;
	/* load(to)/cpus(to) > load(from)/cpus(from) × pct/100 */
	return p->load[to].mean_cap * from_cap * 100 > p->load[from].mean_cap * to_cap * (int64_t)pct;
}

bool nb_problem_may_go(const struct nb_problem *p, uint32_t u, uint32_t to, uint32_t pct)
{
	const struct nb_candidate *c = &p->units[u];
	uint32_t from = nb_problem_node(p, u, c->where);

	if (from == to || c->displaced)
		return true;
	switch (c->settings->busier_node) {
	case NB_BUSIER_ALLOW:
		return true;
	case NB_BUSIER_PREFERRED:
		if (to == c->home)
			return true;
		break;
	case NB_BUSIER_NEVER:
		break;
	}
	return !nb_problem_busier(p, from, to, pct);
}
