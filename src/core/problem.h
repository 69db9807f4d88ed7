/* SPDX-License-Identifier: MIT */
/*
 * The placement problem of one tick, as plain arrays: which units may be placed,
 * what each place costs them, and what load the rest puts on the nodes. Built from
 * model and snapshot (problem.c), solved by search.c, turned into actions by policy.c.
 *
 * All costs are in µs of CPU time over the horizon:
 *   locality: runnable × horizon × remote_penalty × (Σ c[n]·m[k]·distance(n,k)/10 - 1),
 *             c and m the unit's CPU and memory shares; 0 when all is local;
 *   waiting:  horizon × the expected number of tasks that wait for a CPU (waiting.h).
 */
#pragma once

#include "core/model.h"

/* A place of a unit: a dense node, or `stay`: as it is now, spread as it may be. */
#define NB_STAY UINT32_MAX
#define NB_NO_COST INT64_MAX

struct nb_candidate {
	uint32_t index;          /* of the snapshot's process */
	struct nb_key key;
	const struct nb_settings *settings;
	struct nb_load load;
	uint32_t from;           /* dense node where most of it runs */
	uint32_t home;           /* dense node that holds most of its memory: the preferred node */
	uint64_t bytes;          /* of memory */
	int64_t stay_us;         /* locality cost as it is */
	int64_t present_us;      /* stay_us and the cost of running at all: what min_gain is a share of */
	int64_t hurdle_us;       /* min_gain in µs, and what any disturbance costs */
	bool undivided;          /* all of it runs on `from` */
	bool displaced;          /* it is where its group does not want it: must move */
	uint32_t where;          /* the search's answer: a node or NB_STAY */
};

/* A change of place of a unit, together with a partner that takes its node. */
struct nb_step {
	int64_t delta_us; /* of the total cost; 0: there is no such step */
	uint32_t place, partner;
};

struct nb_problem {
	uint32_t n_nodes, n;
	const struct nb_snapshot *s;
	uint64_t horizon_us;
	struct nb_candidate *units;  /* ascending pid */
	int64_t *cost_us;            /* n × n_nodes: locality of each place; NB_NO_COST: not allowed */
	int64_t *moved_us;           /* n × n_nodes: price of bringing the memory along, if it is less */
	bool pages;                  /* the search may move memory too */
	uint32_t *cpu_pmy;           /* n × n_nodes: where it runs now */
	struct nb_load *load;        /* n_nodes: of all, at the places in `where` */
	int64_t *wait_us;            /* n_nodes: the cost of load */
	uint32_t *scratch;           /* 2 × n_nodes */
	uint32_t *wide;              /* 4 × n_nodes: scratch of wide.c and actions.c */
	uint32_t *answer;            /* n: the places that actions are made for */
	uint32_t *first;             /* n: the answer of the first search */
	uint32_t *head;              /* n_nodes: the units on a node, linked by next and prev */
	uint32_t *next, *prev;       /* n */
	struct nb_step *step;        /* n: the best step of each unit */
	uint32_t *heap;              /* n_heap units, the one with the best step first */
	uint32_t n_heap;
	uint32_t *slots;             /* n_nodes: taken by the plan */
	uint64_t *incoming_bytes;    /* n_nodes: in flight or planned */
	uint8_t *reach;              /* masks × n_nodes: 0 not known, 1 no, 2 yes: CPUs in common */
	uint32_t *leaving;           /* n_nodes: units there that may soon want to leave */
	uint32_t cap_units, cap_cost, cap_moved, cap_cpu, cap_load, cap_wait, cap_scratch,
		cap_wide, cap_answer, cap_first, cap_head, cap_next, cap_prev, cap_step, cap_heap,
		cap_slots, cap_incoming, cap_leaving, cap_reach;
};

void nb_problem_done(struct nb_problem *p);
int nb_problem_reserve(struct nb_problem *p, const struct nb_snapshot *s);

static inline int64_t nb_problem_cost(const struct nb_problem *p, uint32_t u, uint32_t place)
{
	uint64_t cell = (uint64_t)u * p->n_nodes + place;

	if (place == NB_STAY)
		return p->units[u].stay_us;
	return p->pages && p->moved_us[cell] < p->cost_us[cell] ? p->moved_us[cell] : p->cost_us[cell];
}

static inline bool nb_problem_allowed(const struct nb_problem *p, uint32_t u, uint32_t node)
{
	return p->cost_us[(uint64_t)u * p->n_nodes + node] != NB_NO_COST;
}

static inline bool nb_problem_with_memory(const struct nb_problem *p, uint32_t u, uint32_t place)
{
	uint64_t cell = (uint64_t)u * p->n_nodes + place;

	return place != NB_STAY && p->pages && p->moved_us[cell] < p->cost_us[cell];
}

/* The node that a place stands for when loads are compared. */
static inline uint32_t nb_problem_node(const struct nb_problem *p, uint32_t u, uint32_t place)
{
	return place == NB_STAY ? p->units[u].from : place;
}

int64_t nb_problem_wait_us(const struct nb_problem *p, uint32_t node);

/* The same with one more load there. */
int64_t nb_problem_wait_with_us(const struct nb_problem *p, uint32_t node, const struct nb_load *l);

/* Puts a unit (sign 1) on its place, or takes it off (-1). Loads only. */
void nb_problem_apply(struct nb_problem *p, uint32_t u, uint32_t place, int sign);

/* Moves a unit to a place for good: loads, waiting costs, where. */
void nb_problem_move(struct nb_problem *p, uint32_t u, uint32_t place);

/* The change of the total cost if the units us[] went to places[]. */
int64_t nb_problem_delta(struct nb_problem *p, const uint32_t *us, const uint32_t *places,
			 uint32_t n);

/* Does an interned mask hold a usable CPU of the node? Asked for every unit and node,
 * so the answers are kept for the tick. */
bool nb_problem_reaches(struct nb_problem *p, uint32_t mask, uint32_t node);

int64_t nb_problem_total(const struct nb_problem *p);

/* True if `to` is busier than `from`, relative to its capacity and by more than the
 * imbalance percentage. */
bool nb_problem_busier(const struct nb_problem *p, uint32_t from, uint32_t to, uint32_t pct);

/* May this unit go there by itself, as busier_node has it? */
bool nb_problem_may_go(const struct nb_problem *p, uint32_t u, uint32_t to, uint32_t pct);

/* Lowers the total cost from where all units are, or with from_home from each on the node
 * that suits its memory best. The answer is in `where`. Returns the total. */
int64_t nb_search(struct nb_problem *p, const struct nb_config *c, bool from_home);

/* The node that a unit leaves when it goes to `to`: where most of it runs but there. */
uint32_t nb_problem_leaves(const struct nb_problem *p, uint32_t u, uint32_t to);
