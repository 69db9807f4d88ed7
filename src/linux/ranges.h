/* SPDX-License-Identifier: MIT */
/*
 * Which parts of a process hold pages that may be moved: maps and numa_maps put
 * together by address.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nb/bitmap.h"

struct nb_range {
	uint64_t start, end;
	uint64_t page_bytes; /* the kernel's page, or the huge page of a hugetlb mapping */
	uint64_t pages;      /* resident on the nodes that were asked for */
	bool hugetlb;
	bool sparse; /* most of its addresses have no page on these nodes */
	bool shared; /* some page is mapped by several processes */
};

struct nb_ranges {
	struct nb_range *items;
	size_t n, cap;
	/* on the nodes that were asked for */
	uint64_t bytes;      /* of the ranges above */
	uint64_t all_bytes;  /* of every mapping */
	uint64_t file_bytes; /* file-backed, shared memory not counted */
	uint64_t hugetlb_bytes;
	bool dirty_files; /* some file page of the process, anywhere, is dirty */
};

struct nb_range_options {
	const struct nb_bitmap *from; /* kernel ids */
	bool file_pages, huge_pages;  /* settings: take these, too */
};

/* Reads them of a process whose /proc directory is open. Replaces r, keeps its
 * memory. -ESRCH: gone, -EACCES: not for our eyes, -ENOMEM. */
int nb_ranges_read(int task_fd, const struct nb_range_options *o, struct nb_ranges *r);
void nb_ranges_done(struct nb_ranges *r);
#define _cleanup_ranges_ __attribute__((cleanup(nb_ranges_done)))

/* Resident bytes of all mappings on each node (kernel ids), as numa_maps has them:
 * what lies on `nodes`, and what lies on `node`. */
int nb_ranges_count(int task_fd, const struct nb_bitmap *nodes, unsigned node,
		    uint64_t *ret_nodes_bytes, uint64_t *ret_node_bytes);
