/* SPDX-License-Identifier: MIT */
/*
 * Which CPUs and memory nodes the cgroup of a task leaves it. Works on version 1,
 * version 2 and mixed mounts; values are read once a tick for each cgroup.
 */
#pragma once

#include <stdbool.h>

#include "linux/procfs.h"
#include "nb/bitmap.h"

enum nb_cgroup_mode {
	NB_CGROUP_NONE, /* nothing mounted that could limit, or nothing to be seen of it */
	NB_CGROUP_V1,   /* cpuset is a version 1 hierarchy; also when others are version 2 */
	NB_CGROUP_V2,
};

struct nb_cgroup {
	const char *path; /* for people and match_cgroup; of version 2 where that says more */
	bool unlimited;   /* version 2, and no group up to the root has the cpuset controller */
	bool cpus_known, mems_known;
	struct nb_bitmap cpus; /* effective cpuset: kernel ids */
	struct nb_bitmap mems; /* kernel ids of nodes */
};

struct nb_cgroups;

int nb_cgroups_new(const struct nb_procfs *fs, struct nb_cgroups **ret); /* borrows fs */
struct nb_cgroups *nb_cgroups_free(struct nb_cgroups *c);                /* NULL-safe */

/* A new tick: values are read again when they are asked for. What has not been
 * asked for during some ticks is forgotten. */
int nb_cgroups_begin(struct nb_cgroups *c);

enum nb_cgroup_mode nb_cgroups_mode(const struct nb_cgroups *c);

/* CPUs of isolated cpuset partitions (kernel 6.7 and later); read by begin. */
const struct nb_bitmap *nb_cgroups_partitions(const struct nb_cgroups *c);

/* The group that a text of /proc/PID/cgroup or /proc/PID/task/TID/cgroup names. The
 * answer is good until the next begin. -EINVAL: not such a text, -ENOMEM. */
int nb_cgroups_get(struct nb_cgroups *c, const char *text, size_t len,
		   const struct nb_cgroup **ret);
