/* SPDX-License-Identifier: MIT */
/*
 * Where the memory of a very large process is, by asking for the node of a few
 * hundred of its pages. Reading its numa_maps would hold up its page faults for
 * seconds.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "linux/procfs.h"
#include "linux/topology.h"

struct nb_query_range {
	uint64_t start; /* address */
	uint64_t first; /* number of its first page: pages of the ranges before it */
};

struct nb_query {
	uint64_t *hits; /* pages found on each dense node; n_nodes of them */
	uint32_t n_nodes;
	uint32_t samples; /* sum of hits */
	uint32_t asked;

	struct nb_query_range *ranges;
	uint32_t n_ranges, cap_ranges;
	uint32_t cap_nodes;
};

/* As move_pages() with nodes NULL; negative errno. Tests replace it. */
typedef long (*nb_query_pages)(pid_t pid, unsigned long n, void **pages, int *status);
long nb_query_live(pid_t pid, unsigned long n, void **pages, int *status);

/* Asks for pages at random, the same ones for the same seed. Addresses that hold no
 * page answer with an error and are no sample; more are tried until there are
 * enough. -ENODATA: too few, the old answer is better than this; -ESRCH, -EPERM. */
int nb_query_read(struct nb_query *q, const struct nb_topology *t, struct nb_lines *lines,
		  int proc_fd, pid_t pid, uint64_t seed, nb_query_pages query);
void nb_query_done(struct nb_query *q);
