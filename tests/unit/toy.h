/* SPDX-License-Identifier: MIT */
/*
 * A toy machine for tests of the core: nodes with CPUs that share their time evenly
 * among runnable threads, processes whose threads sit on nodes. It makes snapshots,
 * and carries a plan's actions out at once. No scheduler of its own, no noise: what
 * moves, the policy moved.
 */
#pragma once

#include <stdlib.h>

#include "nb/model.h"
#include "nb/report.h"
#include "test.h"

#define TOY_NODES 64
#define TOY_PROCESSES 512
#define TOY_THREADS 32
#define MiB (UINT64_C(1) << 20)

struct toy_process {
	int32_t pid;
	uint32_t n_threads;
	uint32_t busy_pmy[TOY_THREADS]; /* runnable share of each thread, of its own will */
	uint32_t node[TOY_THREADS];     /* where it runs */
	bool held;                      /* the daemon set its mask */
	uint64_t mem[TOY_NODES];
	uint32_t flags;                 /* enum nb_process_flags */
	uint64_t allowed;               /* nodes whose CPUs it may use, one bit each; 0: all */
	uint64_t run_ns[TOY_THREADS], wait_ns[TOY_THREADS];
	uint32_t moved;
};

struct toy {
	uint32_t n_nodes, n_processes;
	uint32_t n_cpus[TOY_NODES];
	uint64_t mem_total[TOY_NODES];
	uint32_t id[TOY_NODES];
	uint32_t distance[TOY_NODES][TOY_NODES];
	uint64_t wait_ns[TOY_NODES], busy_ns[TOY_NODES];
	uint64_t at_us;
	bool kernel_balances;
	struct toy_process p[TOY_PROCESSES];

	struct nb_config *c;
	struct nb_model *m;
	struct nb_snapshot *s;
	struct nb_plan *plan;
	uint32_t moves, exchanges, rotations;
	uint64_t bytes;
};

/* n_nodes × n_cpus, 64 GiB each, distance 10 and 20; the configuration's text on top of the
 * defaults, or NULL. Exits the test program when there is no memory. */
struct toy *toy_new(uint32_t n_nodes, uint32_t n_cpus, const char *config);
struct toy *toy_free(struct toy *t);

/* A process of so many always busy threads on a node, its memory on another. */
struct toy_process *toy_add(struct toy *t, uint32_t n_threads, uint32_t cpu_node, uint32_t mem_node,
			    uint64_t mem_bytes);

/* Lets dt pass, takes a snapshot, folds it in, plans. Nothing is carried out. */
int toy_tick(struct toy *t, uint64_t dt_us);

/* Starts all actions of the plan and ends them at once, then plans again, until a plan
 * is empty. Returns the number of actions. */
uint32_t toy_act(struct toy *t);

/* toy_tick() and toy_act() so many times, a second each. */
uint32_t toy_run(struct toy *t, uint32_t seconds);

enum nb_reason toy_reason(const struct toy *t, const struct toy_process *p);
uint32_t toy_local_pmy(const struct toy *t, const struct toy_process *p);
