/* SPDX-License-Identifier: MIT */
/*
 * What is simulated: a machine, its processes, and what is expected of a run. A
 * scenario is a text of nb/ini.h's form; the sections of the daemon's configuration
 * may stand in it too.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nb/config.h"

#define NB_SIM_NODES_MAX 64
#define NB_SIM_CPUS_MAX 4096     /* of the machine */
#define NB_SIM_THREADS_MAX 16384 /* of all processes together */

struct nb_sim_list {
	uint64_t values[NB_SIM_NODES_MAX];
	uint32_t n;
};

struct nb_sim_machine_spec {
	uint64_t nodes;
	struct nb_sim_list cpus;   /* one for all nodes, or one each; 0: memory only */
	struct nb_sim_list memory; /* likewise, bytes */
	uint64_t distance_remote;  /* where no row says otherwise */
	struct nb_sim_list distance[NB_SIM_NODES_MAX]; /* rows, by node; n = 0: not given */
	uint64_t migration_bps;                        /* of one mover */
};

struct nb_sim_run_spec {
	uint64_t duration_us, step_us;
	uint64_t window_us; /* of the local share over time */
	uint64_t seed;
	uint64_t balancer; /* 0: the machine by itself */
};

/* UINT64_MAX: nothing is expected. */
struct nb_sim_expect {
	uint64_t local_within_us; /* 95 % local not later than this */
	uint64_t last_third_pmy;  /* local share in the last third: at least */
	uint64_t min_bytes, max_bytes;
	uint64_t max_moves, max_swaps;
	uint64_t max_wait_pmy; /* share of the wanted CPU time that was spent waiting */
};

struct nb_sim_process_spec {
	char *name;
	uint64_t count, threads;
	uint64_t memory_bytes;
	struct nb_sim_list memory_node; /* of each instance in turn; none: spread evenly */
	struct nb_sim_list start_node;  /* of each instance in turn; none: where there is room */
	uint64_t duty_pmy;              /* share of the time in which a thread wants to run */
	uint64_t period_us;             /* one burst and the sleep behind it, on average */
	uint64_t arrival_us, end_us;    /* end 0: stays */
	uint64_t bound_until_us;        /* its owner keeps it on its start node */
};

struct nb_scenario {
	struct nb_sim_machine_spec machine;
	struct nb_sim_run_spec run;
	struct nb_sim_expect expect;
	struct nb_sim_process_spec *processes;
	size_t n_processes;
	struct nb_config *config;
};

/* text is a whole file; each override is SECTION.KEY=VALUE and wins. On -EINVAL
 * ret_err says what is wrong: "NAME:LINE: …". */
int nb_scenario_parse(const char *name, const char *text, size_t len, const char *const *overrides,
		      size_t n_overrides, struct nb_scenario **ret,
		      struct nb_config_error *ret_err);
struct nb_scenario *nb_scenario_free(struct nb_scenario *s); /* NULL-safe, returns NULL */

/* Whether its parts fit each other; nb_scenario_parse() calls it. */
int nb_scenario_check(const char *name, const struct nb_scenario *s,
		      struct nb_config_error *ret_err);

uint32_t nb_scenario_distance(const struct nb_scenario *s, uint32_t from, uint32_t to);
uint64_t nb_scenario_cpus(const struct nb_scenario *s, uint32_t node);
uint64_t nb_scenario_memory(const struct nb_scenario *s, uint32_t node);

static inline void nb_scenario_freep(struct nb_scenario **s)
{
	nb_scenario_free(*s);
}
#define _cleanup_scenario_ __attribute__((cleanup(nb_scenario_freep)))
