/* SPDX-License-Identifier: MIT */
/*
 * The inside of the model, for the core's own files. Arrays of threads and units
 * run parallel to the arrays of the last snapshot: history is carried over from
 * the one before by a merge of the two, which are in the same order.
 */
#pragma once

#include "core/avg.h"
#include "core/waiting.h"
#include "nb/model.h"
#include "nb/report.h"

struct nb_thread_state {
	struct nb_key key;
	uint32_t valid;    /* enum nb_valid of the counters below */
	uint32_t node;     /* dense node of its last CPU, or NB_NO_NODE */
	uint64_t run_ns, wait_ns;
	struct nb_avg util, runnable;
	uint64_t runnable_cap; /* the average now */
};

/* What was done with a unit, and what follows from it. */
struct nb_unit_history {
	uint64_t first_seen_us;
	uint64_t wide_since_us, narrow_since_us; /* 0: not so now */
	bool wide;
	bool moving;             /* an action is in flight */
	uint32_t placed;         /* where its threads were last put: a dense node, or NB_NO_NODE */
	uint64_t placed_at_us;   /* when that ended */
	uint32_t memory_to;      /* where its memory was last put, or NB_NO_NODE */
	uint64_t memory_at_us;
	uint64_t cooldown_until_us, backoff_until_us;
	uint32_t failures;       /* in a row; doubles the back-off */
	uint64_t bytes, bytes_at_us; /* its memory, and when that was last more than 5 % different */
	uint32_t want_memory_to; /* the target that recent plans agreed on, or NB_NO_NODE */
	uint64_t want_since_us;
	uint64_t last_action_us;
	enum nb_reason last_reason;
	uint32_t last_from, last_to; /* kernel ids */
	uint64_t last_bytes;
	int last_error;
	uint32_t n_moves;
};

struct nb_unit {
	struct nb_key key;
	uint32_t n_threads;
	bool rates_valid;
	uint64_t util_cap, runnable_cap; /* averages: Σ of its threads' */
	struct nb_load load;             /* of its threads' runnable averages */
	uint32_t n_busy;                 /* threads that are runnable at least 5 % of the time */
	struct nb_unit_history history;
};

struct nb_cpu_state {
	uint32_t id, valid;
	uint64_t run_ns, wait_ns, busy_ns;
};

struct nb_node_state {
	uint32_t id;
	struct nb_avg util, runnable, other;
	uint64_t util_cap, runnable_cap;
	uint64_t other_cap; /* runnable that no thread in the snapshot accounts for */
	uint32_t nr_running;
	enum nb_class class;
	uint32_t n_in_flight;
};

/* An action on its way. */
struct nb_flight {
	struct nb_action action; /* bitmaps not copied */
	uint32_t to_id;          /* kernel id */
	uint64_t since_us;
};

/* One side of the double buffer. */
struct nb_history {
	uint64_t at_us;
	bool valid;
	uint32_t n_units, n_threads, n_cpus;
	struct nb_unit *units;
	uint32_t *first_thread; /* of each unit */
	struct nb_thread_state *threads;
	struct nb_cpu_state *cpus;
	uint32_t cap_units, cap_first, cap_threads, cap_cpus;
};

struct nb_model {
	struct nb_history side[2];
	unsigned now; /* the side of the last snapshot */
	uint32_t n_nodes;
	uint64_t topology_gen;
	bool rates_valid; /* two snapshots were compared */
	struct nb_node_state *nodes;
	uint64_t *unit_run_ns; /* n_units × n_nodes: CPU time in the last interval */
	uint64_t *node_scratch; /* 4 × n_nodes */
	uint32_t cap_nodes, cap_run, cap_scratch;
	enum nb_source source;
	enum nb_reason hold;
	struct nb_flight *flights;
	uint32_t n_flights, cap_flights;
	uint64_t next_action;
	uint64_t mover_bps; /* measured speed of page moves */
	struct nb_totals totals;
	struct nb_problem *problem; /* the policy's working memory */
};

static inline const struct nb_history *nb_model_now(const struct nb_model *m)
{
	return &m->side[m->now];
}

static inline struct nb_unit *nb_model_unit(const struct nb_model *m, uint32_t i)
{
	return &m->side[m->now].units[i];
}

static inline const uint64_t *nb_model_unit_run(const struct nb_model *m, uint32_t i)
{
	return m->unit_run_ns + (uint64_t)i * m->n_nodes;
}

struct nb_unit *nb_model_find(struct nb_model *m, struct nb_key key);

/* Where a unit's threads are taken to run, as permyriad per node into ret (n_nodes of
 * them): where they were just put, else where their CPU time went. False: unknown. */
bool nb_model_cpu_share(const struct nb_model *m, const struct nb_snapshot *s, uint32_t i,
			uint32_t *ret);

/* The share of its memory on each node, in permyriad; pages just moved count at their
 * target. Returns the bytes in all, 0: unknown. */
uint64_t nb_model_memory_share(const struct nb_model *m, const struct nb_snapshot *s, uint32_t i,
			       uint32_t *ret);
