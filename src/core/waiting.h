/* SPDX-License-Identifier: MIT */
/*
 * How many runnable tasks wait for a CPU, on average, on a node with some load.
 *
 * Each task i is runnable with probability p_i, independently of the others. The
 * number X of runnable tasks has mean μ = Σ p_i and variance σ² = Σ p_i·(1 - p_i);
 * with C CPUs the expected number that waits is E[(X - C)+]. For a normal X that is
 *   σ·L(z), z = (C - μ)/σ, L(z) = φ(z) - z·(1 - Φ(z)),
 * the unit normal loss function (Hadley and Whitin, Analysis of Inventory Systems,
 * 1963). It is exact at both ends: tasks that always run give (n - C)+, and no more
 * tasks than CPUs give 0. In between it says what an average hides: eight threads
 * that work a third of the time do wait for each other on two CPUs.
 */
#pragma once

#include <stdint.h>

struct nb_load {
	int64_t mean_cap;    /* Σ p_i, 1024 = one task always runnable */
	int64_t variance;    /* Σ p_i·(1024 - p_i), in capacity units squared */
	int64_t n;           /* tasks that count: runnable now and then */
};

/* A task that is runnable less than 1 % of the time waits for nobody; one that is 7 of 8
 * parts of it is taken as always runnable: how much it paused just now is chance. */
#define NB_ACTIVE_CAP 10
#define NB_ALWAYS_CAP 896

void nb_load_add_task(struct nb_load *l, uint64_t runnable_cap);
void nb_load_add(struct nb_load *l, const struct nb_load *other);
void nb_load_sub(struct nb_load *l, const struct nb_load *other);

/* Expected waiting tasks, 1024 = one. */
int64_t nb_load_waiting_cap(const struct nb_load *l, uint32_t n_cpus);
