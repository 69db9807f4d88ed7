/* SPDX-License-Identifier: MIT */
/*
 * A simulated machine: CPUs that run threads by turns, memory on nodes, and movers
 * that carry pages, one for each destination. It advances in steps; all numbers
 * are integers, and a seed decides what a real machine leaves to chance.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "nb/plan.h"
#include "sim/random.h"
#include "sim/scenario.h"

#define NB_SIM_EPOCH_US UINT64_C(100000000) /* the machine has been up for a while */
#define NB_SIM_PAGE 4096
#define NB_SIM_QUEUE_MAX 16 /* jobs that wait for one mover */

struct nb_sim_thread {
	uint32_t process;
	int32_t tid;
	uint32_t cpu;
	struct nb_bitmap own;  /* what its owner lets it use */
	struct nb_bitmap mask; /* what it may use now */
	bool runnable;
	uint64_t burst_ns; /* of running left before it sleeps; UINT64_MAX: never sleeps */
	uint64_t wake_at_us;
	uint64_t run_ns, wait_ns; /* cumulative */
};

struct nb_sim_process {
	const struct nb_sim_process_spec *spec;
	uint32_t start_node; /* or NB_NO_NODE */
	int32_t pid;
	bool alive, bound;
	uint32_t first_thread, n_threads;
	uint64_t *bytes; /* by node */
	uint64_t total_bytes;
};

struct nb_sim_cpu {
	uint32_t node;
	uint32_t n_runnable;
	uint64_t run_ns, wait_ns; /* cumulative */
};

/* Pages on their way, or waiting for the mover. */
struct nb_sim_job {
	struct nb_action action; /* a copy */
	uint32_t process;
	uint64_t moved_bytes;
	uint32_t threads_set;
	uint64_t started_us;
};

struct nb_sim_mover {
	struct nb_sim_job jobs[NB_SIM_QUEUE_MAX]; /* the first one is at work */
	uint32_t n_jobs;
	uint64_t credit; /* bytes · µs/s left over from rounding to pages */
};

/* A runnable thread in the order in which a step's time is given out. */
struct nb_sim_turn {
	uint32_t cpu, thread;
	uint64_t burst_ns;
};

/* What a stretch of time was like. */
struct nb_sim_tally {
	uint64_t run_ns, wait_ns;
	uint64_t local_ns; /* of run_ns: weighted by the share of its memory on its node */
};

struct nb_machine {
	const struct nb_scenario *scenario;
	const struct nb_config *config; /* rate limits */
	struct nb_random random;
	uint64_t now_us; /* since the start of the run */
	uint32_t n_nodes, n_cpus, n_processes, n_threads;
	struct nb_bitmap *node_cpus;
	struct nb_bitmap all_cpus;
	uint64_t *free_bytes; /* by node */
	struct nb_sim_cpu *cpus;
	struct nb_sim_process *processes;
	struct nb_sim_thread *threads;
	struct nb_sim_turn *turns;   /* scratch, one for each thread */
	uint64_t *bytes;             /* backing of the processes' rows */
	struct nb_sim_mover *movers; /* by node */
	struct nb_outcome *outcomes; /* that nobody fetched yet */
	uint32_t n_outcomes, cap_outcomes;
	struct nb_sim_tally tally; /* since it was last cleared */
};

int nb_machine_new(const struct nb_scenario *s, uint64_t seed, struct nb_machine **ret);
struct nb_machine *nb_machine_free(struct nb_machine *m); /* NULL-safe, returns NULL */

/* One step of the scenario's length. */
int nb_machine_step(struct nb_machine *m);

/* Its threads, for nb_machine_step(): scheduler.c. */
void nb_scheduler_place(struct nb_machine *m, struct nb_sim_thread *t); /* a CPU for a new thread */
void nb_scheduler_step(struct nb_machine *m);
/* A thread that may not be where it is goes to a CPU where it may. */
void nb_scheduler_obey(struct nb_machine *m, struct nb_sim_thread *t);

/* Its movers: mover.c. */
int nb_movers_add(struct nb_machine *m, const struct nb_action *a, uint32_t process,
		  uint32_t threads_set);
int nb_movers_step(struct nb_machine *m);
int nb_machine_answer(struct nb_machine *m, const struct nb_action *a, int error,
		      uint64_t started_us, uint64_t moved_bytes, uint32_t threads_set);
void nb_movers_done(struct nb_machine *m);

static inline void nb_machine_freep(struct nb_machine **m)
{
	nb_machine_free(*m);
}
#define _cleanup_machine_ __attribute__((cleanup(nb_machine_freep)))
