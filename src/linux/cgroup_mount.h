/* SPDX-License-Identifier: MIT */
/* Where the hierarchy is mounted that has the cpuset controller. */
#pragma once

#include "linux/cgroup.h"

struct nb_cgroup_mount {
	enum nb_cgroup_mode mode;
	char *root; /* the part of the hierarchy that is mounted: "/" but in some containers */
	int fd;     /* of the mount point, O_PATH; -1 without one */
};

/* 0 also when there is none. */
int nb_cgroup_mount_find(const struct nb_procfs *fs, struct nb_cgroup_mount *ret);
void nb_cgroup_mount_done(struct nb_cgroup_mount *m);
