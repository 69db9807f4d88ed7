/* SPDX-License-Identifier: MIT */
/*
 * What a thread may use when nobody gave it a mask: the effective cpuset of its
 * cgroup, cut with the CPUs that are on line and not isolated. Read afresh for
 * each action; the sampler has a cached way of its own.
 */
#pragma once

#include <stdbool.h>

#include "linux/procfs.h"
#include "nb/bitmap.h"

struct nb_bounds {
	struct nb_bitmap possible, online;
	struct nb_bitmap isolated; /* isolcpus=, nohz_full=, isolated partitions */
	struct nb_bitmap cpuset;   /* effective, cut with online; cpuset_known: it was read */
	bool cpuset_known;
	struct nb_bitmap allowed; /* cpuset (or online) less the isolated ones */
};

/* Of the machine and of the process whose /proc directory is open. Replaces l.
 * -ESRCH: the process is gone. Without cpusets every CPU on line counts. */
int nb_bounds_read(const struct nb_procfs *fs, int task_fd, struct nb_bounds *l);
void nb_bounds_done(struct nb_bounds *l);
#define _cleanup_bounds_ __attribute__((cleanup(nb_bounds_done)))

/*
 * Whether `now` is what the kernel makes of a mask that was given, under this
 * cpuset. Since 6.2 the kernel remembers what was asked for and cuts it with the
 * cpuset whenever that changes; what has nothing in common with the cpuset becomes
 * the whole of it until it has. Before, a change of the cpuset wipes the mask; that
 * shows as the whole cpuset and is no longer ours.
 */
bool nb_bounds_explain(const struct nb_bounds *l, const struct nb_bitmap *given,
		       const struct nb_bitmap *now);
