/* SPDX-License-Identifier: MIT */
/*
 * The system calls that act, as a table that tests replace. Each returns what the
 * kernel returned, or a negative errno that was read at once after the call.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "nb/bitmap.h"

struct nb_syscalls {
	/* Bytes that were written to mask; -EINVAL: size is too small for this kernel. */
	long (*get_affinity)(pid_t tid, size_t size, unsigned long *mask);
	int (*set_affinity)(pid_t tid, size_t size, const unsigned long *mask);
	/* nodes NULL: a query. Positive: so many pages were not moved. */
	long (*move_pages)(pid_t pid, unsigned long n, void **pages, const int *nodes, int *status,
			   int flags);
	/* maxnode is one more than the bits that the kernel reads. */
	long (*migrate_pages)(pid_t pid, unsigned long maxnode, const unsigned long *from,
			      const unsigned long *to);
	/* CAP_SYS_NICE in the effective set of the calling thread only. 1: it was
	 * changed, 0: it already was so. */
	int (*set_nice_cap)(bool on);
	uint64_t (*now_us)(void); /* monotonic */
	uint64_t (*cpu_us)(void); /* for which the calling thread ran */
	void (*sleep_us)(uint64_t us);
};

extern const struct nb_syscalls nb_syscalls_live;

/* Masks of any size over the two affinity calls. -ESRCH, -EPERM, -EINVAL … */
int nb_affinity_get(const struct nb_syscalls *sys, pid_t tid, struct nb_bitmap *ret);
int nb_affinity_set(const struct nb_syscalls *sys, pid_t tid, const struct nb_bitmap *cpus);

/* The kernel's form of a set: at least min_bits bits, whole longs. free() it. */
int nb_bitmap_to_longs(const struct nb_bitmap *b, size_t min_bits, unsigned long **ret,
		       size_t *ret_bits);
int nb_bitmap_from_longs(struct nb_bitmap *dst, const unsigned long *longs, size_t n_longs);
