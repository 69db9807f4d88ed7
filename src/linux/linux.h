/* SPDX-License-Identifier: MIT */
/* The Linux platform: what the daemon needs of it beside the verbs of nb/platform.h. */
#pragma once

#include "nb/platform.h"

struct nb_linux_options {
	const char *root;      /* prefix of /proc, /sys: "" is the live machine, else a dump */
	const char *state_dir; /* where the original masks are kept; NULL: memory only */
	bool act;              /* false: no workers, start() answers -EPERM */
};

/* A live machine, or with root one sample of a dump. */
int nb_linux_new(const struct nb_linux_options *o, struct nb_platform **ret);

enum nb_right {
	NB_RIGHT_AFFINITY = 1 << 0, /* sched_setaffinity of other users' tasks: CAP_SYS_NICE */
	NB_RIGHT_MOVE = 1 << 1,     /* move_pages, migrate_pages: CAP_SYS_NICE, CAP_SYS_PTRACE, seccomp */
	NB_RIGHT_READ = 1 << 2,     /* numa_maps of other users' tasks: CAP_SYS_PTRACE */
};

struct nb_rights {
	uint32_t missing; /* enum nb_right */
	char text[256];   /* one line for people that names what is missing; empty: nothing */
};

/* Found by trying on ourselves and by the effective capabilities. */
void nb_linux_rights(struct nb_rights *ret);

/* kernel.numa_balancing: 0, 1, 2 …; -ENOENT: the kernel has none. */
int nb_linux_kernel_balancing(const char *root, int *ret);

struct nb_restore_counts {
	uint32_t restored; /* threads that have their own mask again */
	uint32_t gone;     /* threads that ended */
	uint32_t foreign;  /* changed by somebody else in the meantime: left alone */
	uint32_t failed;
};

/* Puts back every mask that the state file of a daemon that is no longer running
 * names, and empties the file. 0 also when there is none. -EBUSY: a daemon that is alive
 * works with this folder. -EBADMSG: the file is damaged, -EPROTONOSUPPORT: of another
 * version, -ESTALE: of an earlier boot; it is not trusted, and kept as masks.state.bad. */
int nb_linux_restore(const char *state_dir, struct nb_restore_counts *ret);

/* What nb_linux_new() found of an earlier daemon and put back: 0 and the counts, or why
 * the file was not trusted, as above. p is of nb_linux_new(). */
int nb_linux_recovered(const struct nb_platform *p, struct nb_restore_counts *ret);
