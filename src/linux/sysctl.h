/* SPDX-License-Identifier: MIT */
/* The kernel's own balancer. */
#pragma once

#include "linux/procfs.h"

/* kernel.numa_balancing; -ENOENT: the kernel has none. */
int nb_sysctl_balancing(const struct nb_procfs *fs, int *ret);
