/* SPDX-License-Identifier: MIT */
/*
 * Steepest descent by single moves and swaps, from two starts: where everything is,
 * and every unit on the node that suits its memory best. Rotations of three or more
 * come out of the second start by themselves.
 */
#include "core/problem.h"

struct step {
	uint32_t n;        /* 0: none found */
	uint32_t us[2], places[2];
	int64_t delta_us;
};

/* A total order that names no dense index: pids of units, kernel ids of nodes. So
 * the answer does not depend on how things are numbered. */
static bool better(const struct nb_problem *p, const struct step *a, const struct step *b)
{
	if (b->n == 0 || a->delta_us != b->delta_us)
		return b->n == 0 || a->delta_us < b->delta_us;
	if (a->n != b->n)
		return a->n < b->n;
	for (uint32_t i = 0; i < a->n; i++) {
		uint32_t na = nb_problem_node(p, a->us[i], a->places[i]);
		uint32_t nb = nb_problem_node(p, b->us[i], b->places[i]);

		if (a->us[i] != b->us[i])
			return p->units[a->us[i]].key.pid < p->units[b->us[i]].key.pid;
		if (na != nb)
			return p->s->nodes[na].id < p->s->nodes[nb].id;
	}
	return false;
}

static void consider(struct nb_problem *p, const struct step *s, struct step *best)
{
	if (s->delta_us < 0 && better(p, s, best))
		*best = *s;
}

static void consider_moves(struct nb_problem *p, uint32_t u, uint32_t pct, struct step *best)
{
	if (p->units[u].where != NB_STAY && !p->units[u].displaced) {
		struct step s = {.n = 1, .us = {u}, .places = {NB_STAY}};

		s.delta_us = nb_problem_delta(p, s.us, s.places, 1);
		consider(p, &s, best);
	}
	for (uint32_t k = 0; k < p->n_nodes; k++) {
		struct step s = {.n = 1, .us = {u}, .places = {k}};

		if (p->units[u].where == k || !nb_problem_allowed(p, u, k) ||
		    !nb_problem_may_go(p, u, k, pct))
			continue;
		s.delta_us = nb_problem_delta(p, s.us, s.places, 1);
		consider(p, &s, best);
	}
}

/* Swaps in which u gains locality; a swap that gains at all has such a member, or one
 * that relieves a node, which a single move finds. */
static void consider_swaps(struct nb_problem *p, uint32_t u, struct step *best)
{
	uint32_t a = nb_problem_node(p, u, p->units[u].where);
	int64_t now_us = nb_problem_cost(p, u, p->units[u].where);

	if (!p->units[u].settings->swap)
		return;
	for (uint32_t v = 0; v < p->n; v++) {
		uint32_t b = nb_problem_node(p, v, p->units[v].where);
		struct step s = {.n = 2, .us = {u, v}, .places = {b, a}};

		if (a == b || !nb_problem_allowed(p, u, b) || !nb_problem_allowed(p, v, a) ||
		    !p->units[v].settings->swap || nb_problem_cost(p, u, b) >= now_us ||
		    nb_problem_with_memory(p, u, b) || nb_problem_with_memory(p, v, a))
			continue;
		s.delta_us = nb_problem_delta(p, s.us, s.places, 2);
		consider(p, &s, best);
	}
}

static void descend(struct nb_problem *p, uint32_t pct)
{
	/* Each step lowers the total cost, so this ends; the bound keeps a tick short. */
	for (uint32_t steps = 0; steps < 4 * p->n + 16; steps++) {
		struct step best = {0};

		for (uint32_t u = 0; u < p->n; u++) {
			consider_moves(p, u, pct, &best);
			consider_swaps(p, u, &best);
		}
		if (best.n == 0)
			return;
		for (uint32_t i = 0; i < best.n; i++)
			nb_problem_move(p, best.us[i], best.places[i]);
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

void nb_search(struct nb_problem *p, const struct nb_config *c)
{
	uint32_t pct = c->estimator.imbalance_pct;
	int64_t first_us;

	descend(p, pct);
	first_us = nb_problem_total(p);
	for (uint32_t u = 0; u < p->n; u++) {
		p->answer[u] = p->units[u].where;
		nb_problem_move(p, u, suits_best(p, u));
	}
	descend(p, pct);
	if (nb_problem_total(p) < first_us)
		return;
	for (uint32_t u = 0; u < p->n; u++)
		nb_problem_move(p, u, p->answer[u]);
}
