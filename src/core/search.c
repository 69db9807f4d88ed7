/* SPDX-License-Identifier: MIT */
/*
 * Descent by single moves and swaps, always the step that lowers the cost most. The
 * best step of each unit waits in a heap; a step that comes up is weighed again first,
 * for the steps before it have changed the loads. When the heap is empty all units are
 * asked once more, until none has a step left. Rotations of three or more come out of
 * the start from each unit's best node by themselves.
 *
 * First threads only: they are placed in no time, and it is cheap to do it again. Then
 * those that are still far from their memory may have it brought to them.
 */
#include "core/problem.h"

#define NOBODY UINT32_MAX
#define MAX_ROUNDS 16 /* the total falls with each step, so this only bounds a tick */

/* --- who is on which node: lists through the arrays next and prev --- */

static void enter(struct nb_problem *p, uint32_t u)
{
	uint32_t k = nb_problem_node(p, u, p->units[u].where);

	p->prev[u] = NOBODY;
	p->next[u] = p->head[k];
	if (p->head[k] != NOBODY)
		p->prev[p->head[k]] = u;
	p->head[k] = u;
}

static void leave(struct nb_problem *p, uint32_t u)
{
	uint32_t k = nb_problem_node(p, u, p->units[u].where);

	if (p->prev[u] != NOBODY)
		p->next[p->prev[u]] = p->next[u];
	else
		p->head[k] = p->next[u];
	if (p->next[u] != NOBODY)
		p->prev[p->next[u]] = p->prev[u];
}

static void go(struct nb_problem *p, uint32_t u, uint32_t place)
{
	leave(p, u);
	nb_problem_move(p, u, place);
	enter(p, u);
}

/* --- the best step of one unit --- */

/* A total order that names no dense index: pids of units, kernel ids of nodes. So the
 * answer does not depend on how things are numbered. */
static bool better(const struct nb_problem *p, uint32_t u, const struct nb_step *a,
		   const struct nb_step *b)
{
	uint32_t na, nb;

	if (a->delta_us != b->delta_us)
		return a->delta_us < b->delta_us;
	if ((a->partner == NOBODY) != (b->partner == NOBODY))
		return a->partner == NOBODY;
	na = nb_problem_node(p, u, a->place);
	nb = nb_problem_node(p, u, b->place);
	if (na != nb)
		return p->s->nodes[na].id < p->s->nodes[nb].id;
	return a->partner != NOBODY && p->units[a->partner].key.pid < p->units[b->partner].key.pid;
}

static bool crowded(const struct nb_problem *p, uint32_t u)
{
	const struct nb_candidate *c = &p->units[u];
	const uint32_t *share = p->cpu_pmy + (uint64_t)u * p->n_nodes;

	if (c->where != NB_STAY)
		return p->wait_us[c->where] > 0;
	if (c->undivided)
		return p->wait_us[c->from] > 0;
	for (uint32_t k = 0; k < p->n_nodes; k++)
		if (share[k] > 0 && p->wait_us[k] > 0)
			return true;
	return false;
}

static void try_place(struct nb_problem *p, uint32_t u, uint32_t place, struct nb_step *best)
{
	struct nb_step s = {.place = place, .partner = NOBODY};

	s.delta_us = nb_problem_delta(p, &u, &place, 1);
	if (better(p, u, &s, best))
		*best = s;
}

/* The best partner on node b for a unit that leaves node a. Loads are weighed only for
 * partners whose own costs are better than the best so far. */
static void try_partners(struct nb_problem *p, uint32_t u, uint32_t a, uint32_t b, struct nb_step *best)
{
	int64_t own_us = nb_problem_cost(p, u, b) - nb_problem_cost(p, u, p->units[u].where);
	struct nb_step here = {.delta_us = 0};

	for (uint32_t v = p->head[b]; v != NOBODY; v = p->next[v]) {
		uint32_t us[2] = {u, v}, places[2] = {b, a};
		struct nb_step s = {.place = b, .partner = v};

		if (v == u || !p->units[v].settings->swap || !nb_problem_allowed(p, v, a) ||
		    nb_problem_with_memory(p, v, a) || p->units[v].displaced ||
		    own_us + nb_problem_cost(p, v, a) - nb_problem_cost(p, v, p->units[v].where) >=
			    here.delta_us)
			continue;
		s.delta_us = nb_problem_delta(p, us, places, 2);
		if (here.delta_us == 0 ? s.delta_us < 0 : better(p, u, &s, &here))
			here = s;
	}
	/* Partners are compared on their own node first, so that the order of nodes has no
	 * say in who is ruled out. */
	if (here.delta_us < 0 && better(p, u, &here, best))
		*best = here;
}

/* Swaps need a reason: the way alone is barred, or somebody would wait there. */
static bool needs_partner(struct nb_problem *p, uint32_t u, uint32_t b, uint32_t pct)
{
	return !nb_problem_may_go(p, u, b, pct) ||
	       nb_problem_wait_with_us(p, b, &p->units[u].load) > p->wait_us[b];
}

/* What its place costs it is less than what any change would have to gain. */
static bool near_enough(const struct nb_problem *p, uint32_t u)
{
	const struct nb_candidate *c = &p->units[u];
	int64_t cost_us = nb_problem_cost(p, u, c->where);

	return c->where == NB_STAY ? cost_us <= c->hurdle_us : cost_us <= 2 * c->hurdle_us;
}

/* Places that are cheaper for the unit itself; when somebody waits where it is, also those
 * that are less busy, for waiting grows faster the more there are already.
 * delta_us is 0 when there is no step. */
static struct nb_step find_step(struct nb_problem *p, uint32_t u, uint32_t pct)
{
	struct nb_step best = {.delta_us = 0, .partner = NOBODY, .place = p->units[u].where};
	uint32_t where = p->units[u].where, a = nb_problem_node(p, u, where);
	int64_t now_us = nb_problem_cost(p, u, where);
	bool all = crowded(p, u);

	if (p->pages && near_enough(p, u))
		return best;
	if (where != NB_STAY && !p->units[u].displaced && (all || p->units[u].stay_us < now_us))
		try_place(p, u, NB_STAY, &best);
	for (uint32_t k = 0; k < p->n_nodes; k++) {
		int64_t us = nb_problem_cost(p, u, k);

		if (us == NB_NO_COST || k == where ||
		    (us >= now_us && (!all || !nb_problem_busier(p, k, a, 100))))
			continue;
		if (nb_problem_may_go(p, u, k, pct))
			try_place(p, u, k, &best);
		if (us < now_us && k != a && p->units[u].settings->swap &&
		    !nb_problem_with_memory(p, u, k) && needs_partner(p, u, k, pct))
			try_partners(p, u, a, k, &best);
	}
	return best;
}

/* --- the heap of units by their best step --- */

static bool before(const struct nb_problem *p, uint32_t u, uint32_t v)
{
	if (p->step[u].delta_us != p->step[v].delta_us)
		return p->step[u].delta_us < p->step[v].delta_us;
	return p->units[u].key.pid < p->units[v].key.pid;
}

static void push(struct nb_problem *p, uint32_t u)
{
	uint32_t i = p->n_heap++;

	for (; i > 0 && before(p, u, p->heap[(i - 1) / 2]); i = (i - 1) / 2)
		p->heap[i] = p->heap[(i - 1) / 2];
	p->heap[i] = u;
}

static uint32_t pop(struct nb_problem *p)
{
	uint32_t top = p->heap[0], u = p->heap[--p->n_heap], i = 0;

	for (;;) {
		uint32_t child = 2 * i + 1;

		if (child >= p->n_heap)
			break;
		if (child + 1 < p->n_heap && before(p, p->heap[child + 1], p->heap[child]))
			child++;
		if (!before(p, p->heap[child], u))
			break;
		p->heap[i] = p->heap[child];
		i = child;
	}
	p->heap[i] = u;
	return top;
}

static void weigh(struct nb_problem *p, uint32_t u, uint32_t pct)
{
	p->step[u] = find_step(p, u, pct);
	if (p->step[u].delta_us < 0)
		push(p, u);
}

static void descend(struct nb_problem *p, uint32_t pct)
{
	for (uint32_t k = 0; k < p->n_nodes; k++)
		p->head[k] = NOBODY;
	for (uint32_t u = p->n; u-- > 0;)
		enter(p, u);
	for (uint32_t round = 0; round < MAX_ROUNDS; round++) {
		p->n_heap = 0;
		for (uint32_t u = 0; u < p->n; u++)
			weigh(p, u, pct);
		if (p->n_heap == 0)
			return;
		for (uint32_t steps = 0; p->n_heap > 0 && steps < 8 * p->n; steps++) {
			uint32_t u = pop(p), a = nb_problem_node(p, u, p->units[u].where);
			struct nb_step s = find_step(p, u, pct);

			if (s.delta_us >= 0)
				continue;
			p->step[u] = s;
			if (p->n_heap > 0 && before(p, p->heap[0], u)) {
				push(p, u);
				continue;
			}
			go(p, u, s.place);
			if (s.partner != NOBODY)
				go(p, s.partner, a);
			weigh(p, u, pct);
		}
	}
}

static uint32_t suits_best(const struct nb_problem *p, uint32_t u)
{
	uint32_t best = NB_STAY;
	int64_t best_us = p->units[u].stay_us;

	for (uint32_t k = 0; k < p->n_nodes; k++) {
		int64_t us = nb_problem_cost(p, u, k);

		if (us < best_us || (us == best_us && best != NB_STAY &&
				     p->s->nodes[k].id < p->s->nodes[best].id)) {
			best = k;
			best_us = us;
		}
	}
	return best;
}

int64_t nb_search(struct nb_problem *p, const struct nb_config *c, bool from_home)
{
	p->pages = false;
	if (from_home)
		for (uint32_t u = 0; u < p->n; u++)
			nb_problem_move(p, u, suits_best(p, u));
	descend(p, c->estimator.imbalance_pct);
	p->pages = true;
	descend(p, c->estimator.imbalance_pct);
	return nb_problem_total(p);
}
