/* SPDX-License-Identifier: MIT */
#include "linux/numa_query.h"

#include <errno.h>
#include <numaif.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "linux/parse.h"

#define BATCH 256       /* addresses a call: it holds the mmap lock */
#define WANTED 384      /* samples: the share of a node is then right within 5 % */
#define ENOUGH 64       /* fewer say nothing */
#define MOST_ASKED 4096 /* sparse mappings: give up after so many */

long nb_query_live(pid_t pid, unsigned long n, void **pages, int *status)
{
	long r = move_pages(pid, n, pages, NULL, status, 0);

	return r < 0 ? -errno : r;
}

void nb_query_done(struct nb_query *q)
{
	free(q->hits);
	free(q->ranges);
	*q = (struct nb_query){};
}

/* splitmix64 (Steele, Lea, Flood 2014) */
static uint64_t next_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

static int add_range(struct nb_query *q, uint64_t start, uint64_t first)
{
	if (q->n_ranges == q->cap_ranges) {
		uint32_t cap = q->cap_ranges ? q->cap_ranges * 2 : 64;
		struct nb_query_range *p = reallocarray(q->ranges, cap, sizeof(*p));

		if (!p)
			return -ENOMEM;
		q->ranges = p;
		q->cap_ranges = cap;
	}
	q->ranges[q->n_ranges++] = (struct nb_query_range){.start = start, .first = first};
	return 0;
}

/* Private mappings without a file; what is reserved and not accessible holds no
 * page, and of a file's pages few are the process' own. */
static int read_ranges(struct nb_query *q, struct nb_lines *lines, int proc_fd, pid_t pid,
		       uint64_t page_bytes, uint64_t *ret_pages)
{
	uint64_t total = 0;
	char path[32], *line;
	size_t len;
	int r;

	snprintf(path, sizeof(path), "%d/maps", (int)pid);
	r = nb_lines_open(lines, proc_fd, path);
	if (r < 0)
		return r;
	q->n_ranges = 0;
	while ((r = nb_lines_next(lines, &line, &len)) > 0) {
		struct nb_map m;

		if (nb_parse_maps_line(line, len, &m) < 0)
			continue;
		if (!m.anonymous || m.special || m.shared || !(m.readable || m.writable))
			continue;
		r = add_range(q, m.start, total);
		if (r < 0)
			break;
		total += (m.end - m.start) / page_bytes; /* of one address space: no overflow */
	}
	nb_lines_close(lines);
	if (r < 0)
		return r;
	*ret_pages = total;
	return 0;
}

/* Of the page with this number, all ranges counted as one. */
static uint64_t address_of(const struct nb_query *q, uint64_t page, uint64_t page_bytes)
{
	uint32_t low = 0, high = q->n_ranges;

	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if (q->ranges[middle].first <= page)
			low = middle;
		else
			high = middle;
	}
	return q->ranges[low].start + (page - q->ranges[low].first) * page_bytes;
}

static int compare_addresses(const void *a, const void *b)
{
	uintptr_t x = (uintptr_t) * (void *const *)a, y = (uintptr_t) * (void *const *)b;

	return (x > y) - (x < y);
}

int nb_query_read(struct nb_query *q, const struct nb_topology *t, struct nb_lines *lines,
		  int proc_fd, pid_t pid, uint64_t seed, nb_query_pages query)
{
	uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE), total;
	void *pages[BATCH];
	int status[BATCH];
	int r;

	if (t->n_nodes > q->cap_nodes) {
		uint64_t *p = calloc(t->n_nodes, sizeof(*p));

		if (!p)
			return -ENOMEM;
		free(q->hits);
		q->hits = p;
		q->cap_nodes = t->n_nodes;
	}
	memset(q->hits, 0, t->n_nodes * sizeof(*q->hits));
	q->n_nodes = t->n_nodes;
	q->samples = q->asked = 0;
	r = read_ranges(q, lines, proc_fd, pid, page_bytes, &total);
	if (r < 0)
		return r;
	if (total == 0)
		return -ENODATA;
	while (q->samples < WANTED && q->asked < MOST_ASKED) {
		long got;

		for (unsigned i = 0; i < BATCH; i++)
			pages[i] = (void *)(uintptr_t)address_of(q, next_random(&seed) % total,
								 page_bytes);
		/* In order, the kernel finds neighbours faster. */
		qsort(pages, BATCH, sizeof(*pages), compare_addresses);
		got = query(pid, BATCH, pages, status);
		if (got < 0)
			return (int)got;
		q->asked += BATCH;
		for (unsigned i = 0; i < BATCH; i++) {
			uint32_t node;

			/* -ENOENT, -EFAULT: nothing there, or the zero page; which is which
			 * changed with the kernels. */
			if (status[i] < 0)
				continue;
			node = nb_topology_dense(t, (uint32_t)status[i]);
			if (node == NB_NO_NODE)
				continue;
			q->hits[node]++;
			q->samples++;
		}
	}
	return q->samples < ENOUGH ? -ENODATA : 0;
}
