/* SPDX-License-Identifier: MIT */
/*
 * The workers: a queue and one worker for each destination node, so that one task at
 * a time is in flight to a node (or as many as the settings say); and a queue of their
 * own for exchanges and for whatever else takes no slot, which must not wait behind a
 * long page move. Workers are started when there is work.
 *
 * An action that was taken yields exactly one outcome. All calls but nb_mover_outcome()
 * and nb_mover_set_topology() belong to one thread.
 */
#pragma once

#include <stdint.h>

#include "linux/masks.h"
#include "linux/procfs.h"
#include "linux/syscalls.h"
#include "nb/config.h"
#include "nb/plan.h"

/* An action as the worker needs it: nothing in it points to a snapshot, a plan or a
 * configuration. */
struct nb_job {
	struct nb_action action; /* a copy of its own */
	struct nb_settings settings;
	uint64_t topology_gen;     /* of the snapshot that it was planned on */
	struct nb_bitmap cpus;     /* kernel ids; with NB_CPU, unless it is a release */
	struct nb_bitmap mem_from; /* kernel ids of nodes */
	unsigned mem_to;           /* kernel id */
};

struct nb_job *nb_job_free(struct nb_job *j); /* NULL-safe */

struct nb_mover_pool;

/* fs and masks are borrowed and must live longer than the mover, which may be longer
 * than until nb_mover_stop(): see there. sys NULL: the live calls. */
int nb_mover_new(const struct nb_procfs *fs, struct nb_masks *masks, const struct nb_syscalls *sys,
		 struct nb_mover_pool **ret);

/* Takes the job, on success only. -EAGAIN: the queue is full, or the mover was left by
 * a worker that hangs. */
int nb_mover_start(struct nb_mover_pool *m, struct nb_job *j);

/* The next outcome: 1, or 0 when there is none. */
int nb_mover_outcome(struct nb_mover_pool *m, struct nb_outcome *ret);
int nb_mover_event_fd(const struct nb_mover_pool *m); /* readable while there is one */

/* What dense indexes mean from now on; jobs of another generation end with ESTALE. */
void nb_mover_set_topology(struct nb_mover_pool *m, uint64_t gen);

/* Queued jobs end with ECANCELED, running ones after their chunk. Waits for that at
 * most one chunk and 500 ms: a call of the kernel can hang for long. -EBUSY: a worker
 * is still in such a call. Afterwards new jobs are taken again, unless -EBUSY. */
int nb_mover_stop(struct nb_mover_pool *m);

/* Stops. If a worker hangs it keeps its memory, and what fs and masks point to must
 * stay: 1. Otherwise everything is freed: 0. */
int nb_mover_free(struct nb_mover_pool *m);
