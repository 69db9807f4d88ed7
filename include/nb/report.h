/* SPDX-License-Identifier: MIT */
/*
 * All that people see, as one plain struct: built here from model, snapshot and
 * plan, rendered elsewhere (src/report) as JSON, tables and metrics. The names of
 * the JSON fields are documented in src/report/io.numabalance.varlink.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "nb/model.h"
#include "nb/plan.h"
#include "nb/snapshot.h"

struct nb_report_node {
	uint32_t id; /* the kernel's */
	uint32_t n_cpus;
	struct nb_bitmap cpus; /* kernel ids */
	uint64_t capacity_cap, util_cap, runnable_cap;
	enum nb_class class;
	uint32_t nr_running;
	bool mem_valid;
	uint64_t mem_total_bytes, mem_free_bytes;
	uint32_t n_in_flight;      /* actions that hold its slot */
	struct nb_key in_flight;   /* the oldest of them; pid 0: none */
	uint64_t in_flight_since_us;
};

struct nb_report_task {
	struct nb_key key;
	char comm[NB_COMM_MAX]; /* raw bytes: escape when shown */
	uint32_t uid;
	uint32_t n_threads;
	uint64_t util_cap, runnable_cap;
	bool rates_valid;
	uint32_t local_share_pmy;  /* Σ over nodes of CPU share × memory share */
	bool local_valid;
	enum nb_mem_source mem_source;
	uint64_t rss_bytes, total_bytes; /* resident; Σ of node_bytes */
	uint64_t *node_bytes;      /* n_nodes */
	uint32_t *node_cpu_pmy;    /* n_nodes: where its CPU time was spent in the last interval */
	enum nb_reason reason;     /* of the last plan: moved how, or not moved why */
	uint32_t best_node_id;     /* kernel id, or NB_NO_NODE */
	int64_t cost_us, gain_us, price_us;
	/* what was last done with it */
	uint64_t last_action_us;   /* 0: nothing yet */
	enum nb_reason last_reason;
	uint32_t last_from_id, last_to_id; /* kernel ids */
	uint64_t last_bytes;
	int last_error;
	uint32_t n_moves;
};

struct nb_totals {
	uint64_t samples, plans;
	uint64_t actions;       /* started */
	uint64_t moves;         /* single moves that ended well */
	uint64_t swaps;         /* exchanges: members less one */
	uint64_t bytes_moved;
	uint64_t failed_gone, failed_rights, failed_memory, failed_busy, failed_invalid, failed_other;
	uint64_t cancelled;     /* dry run, or stopped */
	uint64_t pages_refused[NB_REFUSED_COUNT];
	uint64_t rejected_rows, gone_tasks;
};

struct nb_report {
	uint64_t at_us;
	enum nb_source source;
	enum nb_reason hold;    /* NB_REASON_NONE: acting */
	uint32_t local_share_pmy; /* of all units, weighted by their running time */
	bool local_valid;
	uint32_t n_nodes, n_tasks;
	struct nb_report_node *nodes;
	uint32_t *distance;     /* n_nodes × n_nodes */
	struct nb_report_task *tasks; /* in the order of the snapshot */
	uint64_t *node_bytes;   /* backing of the tasks' rows */
	uint32_t *node_cpu_pmy;
	struct nb_totals totals;
	uint32_t n_actions;     /* of the last plan: what is, or would be, done */
	struct nb_action *actions; /* from, to, mem_to: kernel ids here; deep copies */
};

int nb_report_build(const struct nb_model *m, const struct nb_snapshot *s,
		    const struct nb_plan *plan, struct nb_report **ret);
struct nb_report *nb_report_free(struct nb_report *r); /* NULL-safe, returns NULL */

static inline void nb_report_freep(struct nb_report **r)
{
	nb_report_free(*r);
}
#define _cleanup_report_ __attribute__((cleanup(nb_report_freep)))
