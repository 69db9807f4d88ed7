/* SPDX-License-Identifier: MIT */
/*
 * Turns the search's answer into actions that may start now. Each one is checked again
 * on the loads as they will be once the actions before it, and all that is in flight,
 * have ended. What has to wait gets its reason; it is planned again when a slot is free.
 */
#include <stdlib.h>
#include <string.h>

#include "core/policy.h"

/* Page moves wait until plans have agreed for half of what the move costs, at least
 * this long and at most that: partners may become movable, and then a swap is free. */
#define SETTLE_MIN_US (1 * UINT64_C(1000000))
#define SETTLE_MAX_US (10 * UINT64_C(1000000))

/* While a unit that cannot be moved now (bound or pinned by start-up code, new, growing)
 * runs where the memory is and has its own elsewhere, it may soon be a partner. */
#define PATIENCE_US (10 * UINT64_C(1000000))
#define KERNEL_FIRST_US (15 * UINT64_C(1000000))

/* Memory that changed in size so recently is not moved. */
#define GROWN_US (2 * UINT64_C(1000000))

int nb_plan_unit_action(struct nb_planning *pl, uint32_t i, struct nb_action **ret)
{
	const struct nb_process *p = &pl->s->processes[i];
	struct nb_action *a;
	int r = nb_plan_add_action(pl->plan, &a);

	if (r < 0)
		return r;
	a->id = ++pl->m->next_action;
	a->key = p->key;
	memcpy(a->comm, p->comm, sizeof(a->comm));
	*ret = a;
	return 0;
}

static int64_t own_gain_us(const struct nb_problem *p, uint32_t u, uint32_t place)
{
	return p->units[u].stay_us - nb_problem_cost(p, u, place);
}

static bool slot_free(const struct nb_planning *pl, const struct nb_settings *settings, uint32_t k)
{
	return pl->p->slots[k] < nb_slots(settings);
}

/* Memory on its way to the node that the free memory of the snapshot does not show. */
static bool room_left(const struct nb_planning *pl, const struct nb_settings *settings, uint32_t k,
		      uint64_t bytes)
{
	const struct nb_node *n = &pl->s->nodes[k];
	uint64_t need = bytes + pl->p->incoming_bytes[k] +
			n->mem_total_bytes / 10000 * settings->reserve_pmy;

	return n->mem_free_bytes + n->mem_clean_bytes >= need;
}

static bool settled(struct nb_planning *pl, const struct nb_candidate *c, uint32_t to, int64_t price_us)
{
	const struct nb_unit_history *h = &nb_model_unit(pl->m, c->index)->history;
	uint64_t settle_us = (uint64_t)price_us / 2;

	if (pl->s->at_us - h->bytes_at_us < GROWN_US)
		return false;
	if (settle_us < SETTLE_MIN_US)
		settle_us = SETTLE_MIN_US;
	if (settle_us > SETTLE_MAX_US)
		settle_us = SETTLE_MAX_US;
	/* The kernel's balancer brings pages as well; what it has not brought by then it will
	 * not bring soon. Threads are placed at once: that spares it the pages. */
	if (pl->s->kernel_balances && settle_us < KERNEL_FIRST_US)
		settle_us = KERNEL_FIRST_US;
	if (pl->p->leaving[c->home] > 0 && settle_us < PATIENCE_US)
		settle_us = PATIENCE_US;
	return h->want_memory_to == to && pl->s->at_us - h->want_since_us >= settle_us;
}

/* Remembers where its memory is wanted, and since when plans agree on that. */
static void note_wish(struct nb_planning *pl, uint32_t u, uint32_t place)
{
	struct nb_unit_history *h = &nb_model_unit(pl->m, pl->p->units[u].index)->history;
	uint32_t to = nb_problem_with_memory(pl->p, u, place) ? place : NB_NO_NODE;

	if (h->want_memory_to == to)
		return;
	h->want_memory_to = to;
	h->want_since_us = pl->s->at_us;
}

static uint64_t bytes_to_move(const struct nb_planning *pl, const struct nb_candidate *c, uint32_t to)
{
	const uint64_t *bytes = nb_snapshot_bytes(pl->s, c->index);

	return c->bytes > bytes[to] ? c->bytes - bytes[to] : 0;
}

static enum nb_reason reason_of(const struct nb_candidate *c, uint32_t to, bool memory,
				uint32_t exchange_size)
{
	if (exchange_size == 2)
		return NB_REASON_SWAP;
	if (exchange_size > 2)
		return NB_REASON_ROTATE;
	if (c->displaced)
		return NB_REASON_GROUP_NODES;
	if (memory)
		return to == c->from ? NB_REASON_MEMORY_TO_CPU : NB_REASON_BOTH_TO_THIRD;
	return to == c->home ? NB_REASON_CPU_TO_MEMORY : NB_REASON_RELIEVE;
}

static int add_action(struct nb_planning *pl, uint32_t u, uint32_t to, uint32_t exchange,
		      uint32_t exchange_size, uint32_t *ret_id)
{
	const struct nb_candidate *c = &pl->p->units[u];
	bool memory = nb_problem_with_memory(pl->p, u, to);
	const uint64_t *bytes = nb_snapshot_bytes(pl->s, c->index);
	struct nb_verdict *v = &pl->plan->verdicts[c->index];
	struct nb_action *a;
	int r = nb_plan_unit_action(pl, c->index, &a);

	if (r < 0)
		return r;
	*ret_id = (uint32_t)a->id;
	a->what = NB_CPU | (memory ? NB_MEMORY : 0);
	a->exchange = exchange_size > 0 ? (exchange ? exchange : *ret_id) : 0;
	a->exchange_size = exchange_size;
	a->takes_slot = exchange_size == 0;
	a->from = nb_problem_leaves(pl->p, u, to);
	a->to = to;
	r = nb_bitmap_set(&a->cpu_nodes, to);
	if (memory) {
		a->mem_to = to;
		a->bytes = bytes_to_move(pl, c, to);
		a->price_us = nb_memory_price_us(pl->m, a->bytes);
		for (uint32_t k = 0; r == 0 && k < pl->p->n_nodes; k++)
			if (k != to && bytes[k] > 0)
				r = nb_bitmap_set(&a->mem_from, k);
	}
	a->gain_us = c->displaced ? 0 : own_gain_us(pl->p, u, to) + c->hurdle_us + a->price_us;
	a->reason = v->reason = reason_of(c, to, memory, exchange_size);
	v->best_node = to;
	v->cost_us = c->displaced ? 0 : c->stay_us;
	v->gain_us = a->gain_us;
	v->price_us = a->price_us;
	pl->p->slots[to] += a->takes_slot;
	pl->p->incoming_bytes[to] += a->bytes;
	nb_problem_move(pl->p, u, to);
	return r;
}

/* NB_REASON_NONE if the unit may go to its place by itself, else what stands against it. */
static enum nb_reason against_single(struct nb_planning *pl, uint32_t u)
{
	struct nb_problem *p = pl->p;
	struct nb_candidate *c = &p->units[u];
	uint32_t to = p->answer[u];
	bool memory = nb_problem_with_memory(p, u, to);
	uint64_t bytes = memory ? bytes_to_move(pl, c, to) : 0;

	if (!nb_problem_may_go(p, u, to, pl->c->estimator.imbalance_pct))
		return NB_REASON_BUSIER_NODE;
	if (nb_problem_delta(p, &u, &to, 1) >= 0)
		return NB_REASON_NO_CPU_ROOM;
	if (memory && !settled(pl, c, to, nb_memory_price_us(pl->m, bytes)))
		return NB_REASON_SETTLING;
	if (memory && !room_left(pl, c->settings, to, bytes))
		return NB_REASON_NO_MEMORY_ROOM;
	if (!slot_free(pl, c->settings, to))
		return NB_REASON_SLOT_TAKEN;
	return NB_REASON_NONE;
}

static bool exchangeable(const struct nb_problem *p, uint32_t u)
{
	return p->units[u].where == NB_STAY && p->answer[u] != NB_STAY &&
	       nb_problem_leaves(p, u, p->answer[u]) != p->answer[u] && p->units[u].settings->swap &&
	       !nb_problem_with_memory(p, u, p->answer[u]);
}

/* The shortest ring that u's move closes, by breadth-first search over nodes: edges are
 * units that want to go from one to the next, taken in the order of their pids. */
static uint32_t find_ring(struct nb_planning *pl, uint32_t u, uint32_t *us, uint32_t *places)
{
	struct nb_problem *p = pl->p;
	uint32_t n = p->n_nodes, head = 0, tail = 0, k;
	uint32_t *by = p->wide, *queue = by + n, home = nb_problem_leaves(p, u, p->answer[u]), length = 0;

	for (k = 0; k < n; k++)
		by[k] = UINT32_MAX;
	k = p->answer[u];
	by[k] = u;
	queue[tail++] = k;
	while (head < tail && by[home] == UINT32_MAX) {
		uint32_t at = queue[head++];

		for (uint32_t v = p->head[at]; v != UINT32_MAX; v = p->next[v]) {
			if (v == u || !exchangeable(p, v) || by[p->answer[v]] != UINT32_MAX)
				continue;
			by[p->answer[v]] = v;
			queue[tail++] = p->answer[v];
		}
	}
	if (by[home] == UINT32_MAX)
		return 0;
	for (k = home;; k = nb_problem_leaves(p, by[k], p->answer[by[k]])) {
		us[length] = by[k];
		places[length] = k;
		length++;
		if (by[k] == u)
			return length;
	}
}

/* A swap or rotation that u is part of, if there is one that gains. */
static int try_exchange(struct nb_planning *pl, uint32_t u, bool *ret_done)
{
	struct nb_problem *p = pl->p;
	uint32_t *us = p->wide + 2 * p->n_nodes, *places = us + p->n_nodes, length, exchange = 0, id;
	int r;

	*ret_done = false;
	if (!exchangeable(p, u))
		return 0;
	length = find_ring(pl, u, us, places);
	if (length < 2 || nb_problem_delta(p, us, places, length) >= 0)
		return 0;
	for (uint32_t i = 0; i < length; i++) {
		r = add_action(pl, us[i], places[i], exchange, length, &id);
		if (r < 0)
			return r;
		if (exchange == 0)
			exchange = id;
	}
	*ret_done = true;
	return 0;
}

/* There are CPUs for it at its place, so that nobody has to leave for it. */
static bool roomy(const struct nb_problem *p, uint32_t u)
{
	uint32_t to = p->answer[u];

	return p->load[to].mean_cap + p->units[u].load.mean_cap <=
	       (int64_t)p->s->nodes[to].n_cpus * NB_CPU_CAP;
}

static int place(struct nb_planning *pl, uint32_t u)
{
	struct nb_verdict *v = &pl->plan->verdicts[pl->p->units[u].index];
	enum nb_reason against = against_single(pl, u);
	bool blocked = against == NB_REASON_BUSIER_NODE || against == NB_REASON_NO_CPU_ROOM;
	bool done = false;
	uint32_t id;
	int r = 0;

	if (blocked || !roomy(pl->p, u))
		r = try_exchange(pl, u, &done);
	if (r < 0 || done)
		return r;
	if (against == NB_REASON_NONE)
		return add_action(pl, u, pl->p->answer[u], 0, 0, &id);
	v->reason = against;
	v->best_node = pl->p->answer[u];
	v->cost_us = pl->p->units[u].displaced ? 0 : pl->p->units[u].stay_us;
	v->gain_us = v->cost_us ? own_gain_us(pl->p, u, v->best_node) : 0;
	return 0;
}

static int by_gain(const void *a, const void *b, void *problem)
{
	const struct nb_problem *p = problem;
	uint32_t u = *(const uint32_t *)a, v = *(const uint32_t *)b;
	int64_t gain_u = own_gain_us(p, u, p->answer[u]), gain_v = own_gain_us(p, v, p->answer[v]);

	if (gain_u != gain_v)
		return gain_u > gain_v ? -1 : 1;
	return p->units[u].key.pid < p->units[v].key.pid ? -1 : 1;
}

/* The units that are to be placed, the one that gains most first, into heap; by the node
 * that they leave into the lists of head and next, in the order of their pids. */
static uint32_t order_units(struct nb_problem *p)
{
	uint32_t n = 0;

	for (uint32_t k = 0; k < p->n_nodes; k++)
		p->head[k] = UINT32_MAX;
	for (uint32_t u = p->n; u-- > 0;) {
		uint32_t k;

		if (p->answer[u] == NB_STAY)
			continue;
		p->heap[n++] = u;
		k = nb_problem_leaves(p, u, p->answer[u]);
		p->next[u] = p->head[k];
		p->head[k] = u;
	}
	qsort_r(p->heap, n, sizeof(*p->heap), by_gain, p);
	return n;
}

/* Is this the reason of a unit that may be placed later? */
static bool may_pass(enum nb_reason r)
{
	return r == NB_REASON_PINNED || r == NB_REASON_BOUND || r == NB_REASON_NEW ||
	       r == NB_REASON_SETTLING || r == NB_REASON_NO_MEMORY_INFO ||
	       r == NB_REASON_COOLDOWN || r == NB_REASON_BACKOFF || r == NB_REASON_IN_FLIGHT;
}

/* Units that run on a node, have most of their memory elsewhere, and may not be moved now. */
static void count_leaving(struct nb_planning *pl)
{
	struct nb_problem *p = pl->p;
	uint32_t n = p->n_nodes, *cpu_pmy = p->wide, *mem_pmy = p->wide + n;

	for (uint32_t k = 0; k < n; k++)
		p->leaving[k] = 0;
	for (uint32_t i = 0; i < pl->plan->n_verdicts; i++) {
		const struct nb_unit *u = nb_model_unit(pl->m, i);
		uint64_t bytes;

		if (!may_pass(pl->plan->verdicts[i].reason) || !u->rates_valid ||
		    u->runnable_cap * 10000 < (uint64_t)pl->c->select.min_cpu_pmy * NB_CPU_CAP ||
		    !nb_model_cpu_share(pl->m, pl->s, i, cpu_pmy))
			continue;
		bytes = nb_model_memory_share(pl->m, pl->s, i, mem_pmy);
		for (uint32_t k = 0; bytes >= pl->c->select.min_memory_bytes && k < n; k++)
			p->leaving[k] += cpu_pmy[k] > 5000 && mem_pmy[k] < 5000;
	}
}

static void count_in_flight(struct nb_planning *pl)
{
	struct nb_problem *p = pl->p;

	for (uint32_t k = 0; k < p->n_nodes; k++) {
		p->slots[k] = pl->m->nodes[k].n_in_flight;
		p->incoming_bytes[k] = 0;
	}
	for (uint32_t i = 0; i < pl->m->n_flights; i++)
		if (pl->m->flights[i].action.mem_to < p->n_nodes)
			p->incoming_bytes[pl->m->flights[i].action.mem_to] += pl->m->flights[i].action.bytes;
	for (uint32_t i = 0; i < pl->plan->n_actions; i++) /* those of wide units */
		if (pl->plan->actions[i].takes_slot)
			p->slots[pl->plan->actions[i].to]++;
}

/* Why a unit stays that the search left where it is. */
static void explain_stay(struct nb_planning *pl, uint32_t u)
{
	struct nb_problem *p = pl->p;
	struct nb_candidate *c = &p->units[u];
	struct nb_verdict *v = &pl->plan->verdicts[c->index];
	uint32_t best = NB_NO_NODE;

	for (uint32_t k = 0; k < p->n_nodes; k++)
		if (nb_problem_allowed(p, u, k) &&
		    (best == NB_NO_NODE || nb_problem_cost(p, u, k) < nb_problem_cost(p, u, best) ||
		     (nb_problem_cost(p, u, k) == nb_problem_cost(p, u, best) &&
		      p->s->nodes[k].id < p->s->nodes[best].id)))
			best = k;
	v->cost_us = c->stay_us;
	v->best_node = best;
	if (best == NB_NO_NODE) {
		v->reason = NB_REASON_ONE_NODE_ALLOWED;
		return;
	}
	v->gain_us = own_gain_us(p, u, best) + c->hurdle_us;
	if (v->gain_us <= 0 || c->stay_us * 20 <= c->present_us)
		v->reason = NB_REASON_LOCAL;
	else if (v->gain_us <= c->hurdle_us)
		v->reason = NB_REASON_SMALL_GAIN;
	else if (!nb_problem_may_go(p, u, best, pl->c->estimator.imbalance_pct))
		v->reason = NB_REASON_BUSIER_NODE;
	else
		v->reason = NB_REASON_NO_CPU_ROOM;
}

int nb_actions_extract(struct nb_planning *pl, const uint32_t *places, bool *ret_stuck)
{
	struct nb_problem *p = pl->p;
	bool blocked = false, open = false;
	uint32_t u, n;
	int r;

	for (u = 0; u < p->n; u++) {
		p->answer[u] = places[u];
		pl->plan->verdicts[p->units[u].index].reason = NB_REASON_NONE;
		nb_problem_move(p, u, NB_STAY);
	}
	pl->plan->cost_before_us = nb_problem_total(p);
	count_in_flight(pl);
	count_leaving(pl);
	n = order_units(p);
	for (uint32_t i = 0; i < n; i++) {
		/* One that a partner took along is done. */
		if (pl->plan->verdicts[p->units[p->heap[i]].index].reason != NB_REASON_NONE)
			continue;
		r = place(pl, p->heap[i]);
		if (r < 0)
			return r;
	}
	pl->plan->cost_after_us = nb_problem_total(p);
	for (u = 0; u < p->n; u++) {
		enum nb_reason why = pl->plan->verdicts[p->units[u].index].reason;

		if (p->answer[u] == NB_STAY)
			explain_stay(pl, u);
		else if (why == NB_REASON_BUSIER_NODE || why == NB_REASON_NO_CPU_ROOM)
			blocked = true;
		else
			open = true;
	}
	*ret_stuck = blocked && !open;
	return 0;
}

void nb_actions_note_wishes(struct nb_planning *pl)
{
	for (uint32_t u = 0; u < pl->p->n; u++)
		note_wish(pl, u, pl->p->answer[u]);
}
