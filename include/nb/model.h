/* SPDX-License-Identifier: MIT */
/*
 * The model: what is remembered between snapshots. Rates and averages of
 * threads, processes and nodes, the class of each node, the in-flight slot of
 * each node, cool-downs and failures. No clock: time is the snapshot's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nb/config.h"
#include "nb/plan.h"
#include "nb/snapshot.h"

struct nb_model;

enum nb_class { NB_CLASS_NONE, NB_HAS_SPARE, NB_FULLY_BUSY, NB_OVERLOADED };
const char *nb_class_name(enum nb_class c); /* "none", "has_spare", "fully_busy", "overloaded" */

/* The rule of the kernel's 2020 change to runnable averages
 * (group_has_capacity() and group_is_overloaded() in kernel/sched/fair.c):
 *   overloaded  when nr_running > n_cpus and
 *               (capacity·100 < util·pct or capacity·pct < runnable·100);
 *   has_spare   when nr_running < n_cpus or
 *               (capacity·100 > util·pct and capacity·pct > runnable·100);
 *   fully_busy  otherwise.
 * capacity, util and runnable in units of 1024 a CPU; a node without CPUs has none. */
enum nb_class nb_classify(uint32_t n_cpus, uint64_t util_cap, uint64_t runnable_cap,
			  uint32_t nr_running, uint32_t imbalance_pct);

/* Where run and wait time of the nodes come from, best first. */
enum nb_source { NB_SOURCE_SCHEDSTAT, NB_SOURCE_THREADS, NB_SOURCE_STAT, NB_SOURCE_UNKNOWN };
const char *nb_source_name(enum nb_source s);

int nb_model_new(struct nb_model **ret);
struct nb_model *nb_model_free(struct nb_model *m); /* NULL-safe, returns NULL */

/* Folds a snapshot in. On -ENOMEM the model is as before, and the tick is lost. */
int nb_model_update(struct nb_model *m, const struct nb_snapshot *s, const struct nb_config *c);

/* Writes the plan for the last snapshot folded in. plan is reset first. The same
 * model and input give the same bytes. -EAGAIN before the second snapshot. */
int nb_policy_plan(struct nb_model *m, const struct nb_snapshot *s, const struct nb_config *c,
		   struct nb_plan *plan);

/* The platform took the action on: its slot is taken. */
int nb_model_started(struct nb_model *m, const struct nb_action *a, uint64_t at_us);

/* The platform answered it: its slot is free. 1: it pays to plan again at once, on the
 * same snapshot; 0: it does not (nothing was done); -ENOENT: no such action. */
int nb_model_outcome(struct nb_model *m, const struct nb_outcome *o, const struct nb_config *c);

/* While paused or without rights nothing is planned; the reason says so. */
void nb_model_hold(struct nb_model *m, enum nb_reason why); /* NB_REASON_NONE: go on */
