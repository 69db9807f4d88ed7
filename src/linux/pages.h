/* SPDX-License-Identifier: MIT */
/*
 * The memory half of an action. Two ways: move_pages in chunks, over ranges that we
 * choose; or migrate_pages for a whole process in one call.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "linux/bucket.h"
#include "linux/procfs.h"
#include "linux/ranges.h"
#include "linux/syscalls.h"
#include "nb/config.h"
#include "nb/plan.h"
#include "nb/snapshot.h"

struct nb_page_move {
	const struct nb_syscalls *sys;
	const struct nb_procfs *fs;
	struct nb_key key;
	int task_fd;                  /* its /proc directory, from nb_task_open() */
	const struct nb_bitmap *from; /* kernel ids */
	unsigned to;                  /* kernel id */
	uint64_t budget_bytes;        /* 0: all */
	const struct nb_settings *settings;
	struct nb_bucket *bucket; /* NULL without a rate limit */
	bool (*stop)(void *arg);  /* asked between chunks */
	void *stop_arg;
};

/* What was done, also when it ended with an error. */
struct nb_page_result {
	uint64_t bytes_moved;
	uint64_t pages_refused[NB_REFUSED_COUNT]; /* the kernel's pages */
};

/* Whether pages of this process may go to the target at all: a node of its cpuset,
 * on line, with memory, and with room for `bytes` above the reserve. -EINVAL, -ENODEV,
 * -ENOMEM; then no call is made. */
int nb_pages_check_target(const struct nb_page_move *p, uint64_t bytes);

/* Adds to res. 0: all that could be moved was; -ESRCH gone, -ECANCELED stopped,
 * -ENOMEM no room on the target, -EBUSY its pages cannot be moved, -EPERM, -ENODEV,
 * -EINVAL, -ENOSYS. */
int nb_pages_move(const struct nb_page_move *p, struct nb_ranges *ranges,
		  struct nb_page_result *res);

/* One call that cannot be stopped. CAP_SYS_NICE is dropped meanwhile, as the kernel
 * would take it for the wish to move shared pages as well. bytes_moved is what
 * numa_maps says to have left the sources and come to the target. */
int nb_pages_migrate(const struct nb_page_move *p, struct nb_page_result *res);
