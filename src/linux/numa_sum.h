/* SPDX-License-Identifier: MIT */
/*
 * What one process' numa_maps says, summed for each dense node.
 *
 * For placement count: anonymous pages (huge ones, too), and file pages, hugetlb
 * and shared memory that nobody else maps. Shared memory that the process itself
 * maps at several addresses counts once.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "linux/parse.h"
#include "linux/topology.h"

struct nb_shared_file;

struct nb_numa_sum {
	uint32_t n_nodes;
	uint64_t *place; /* bytes that count for placement; n_nodes of each */
	uint64_t *anon;  /* anonymous, hugetlb not counted */
	uint64_t *file;  /* file-backed, shared or not, hugetlb not counted */
	uint64_t huge_bytes;
	uint64_t own_shared_bytes; /* shared memory that is in place, but not in anon */
	bool dirty_files;
	bool bound, interleaved;
	bool empty;         /* not one line: no user memory */
	uint64_t rejected;  /* lines that made no sense */
	uint64_t elsewhere; /* pages on nodes that the topology does not know */

	struct nb_shared_file *shared;
	uint32_t n_shared;
	uint64_t *shared_bytes; /* n_shared × n_nodes */
	struct nb_numa_line line;
	uint32_t cap_nodes;
};

int nb_numa_sum_begin(struct nb_numa_sum *s, uint32_t n_nodes); /* keeps its memory */
int nb_numa_sum_line(struct nb_numa_sum *s, const struct nb_topology *t, const char *line,
		     size_t len);
void nb_numa_sum_end(struct nb_numa_sum *s);
void nb_numa_sum_done(struct nb_numa_sum *s);

/* begin, all lines of the file, end. 0 or the errno of open or read. */
int nb_numa_sum_read(struct nb_numa_sum *s, const struct nb_topology *t, struct nb_lines *lines,
		     int dir_fd, const char *path);
