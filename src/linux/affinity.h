/* SPDX-License-Identifier: MIT */
/* The CPU half of an action: masks of all threads of a process, also of those that
 * are born while it is done. */
#pragma once

#include <stdint.h>

#include "linux/masks.h"
#include "linux/procfs.h"
#include "linux/syscalls.h"

struct nb_affinity_result {
	uint32_t threads_set;    /* are within the wanted set now, or have their own masks again */
	uint32_t threads_failed; /* may not run there, or the kernel refused */
	uint32_t threads_gone;
	int error; /* of the first thread that failed: a positive errno, or 0 */
};

/* cpus NULL: gives the original masks back. Each thread stays within its own mask.
 * 0 also when threads failed; -ESRCH: the process is gone; -ENOMEM, or what keeps the
 * state file from being written. */
int nb_affinity_apply(struct nb_masks *m, const struct nb_procfs *fs, struct nb_key process,
		      const struct nb_bitmap *cpus, struct nb_affinity_result *ret);

/* Waits until every thread is where it was sent or sleeps (it goes there when it
 * wakes), at most limit_us. */
void nb_affinity_settle(const struct nb_procfs *fs, const struct nb_syscalls *sys,
			struct nb_key process, const struct nb_bitmap *cpus, uint64_t limit_us);
