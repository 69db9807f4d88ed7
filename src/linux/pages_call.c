/* SPDX-License-Identifier: MIT */
/* One chunk: the call, and what became of each address. */
#include <errno.h>
#include <limits.h>
#include <numaif.h>

#include "linux/pages_priv.h"

/* No node and no errno: the kernel did not come so far. */
#define UNWRITTEN INT_MIN

/* A chunk of which so much stays is looked at twice, and then given up: pages that are
 * pinned for a device stay pinned. */
#define BUSY_PERCENT 50
#define BUSY_CHUNKS 2
#define FAILURES_MAX 32   /* calls in a row in which nothing moved: the rest is given up */
#define BUSY_MIN_PAGES 64 /* fewer tell nothing about the rest */

static int query(struct nb_page_thread *t, unsigned at, unsigned n)
{
	const struct nb_page_move *p = t->job->p;
	long r;

	for (unsigned i = 0; i < n; i++)
		t->status[i] = UNWRITTEN;
	r = p->sys->move_pages(p->key.pid, n, t->addresses + at, NULL, t->status, 0);
	return r < 0 ? (int)r : 0;
}

int nb_pages_query(struct nb_page_thread *t, unsigned n)
{
	return query(t, 0, n);
}

static enum nb_refused cause(int status)
{
	switch (-status) {
	case EACCES:
		return NB_REFUSED_SHARED;
	case EBUSY:
		return NB_REFUSED_BUSY;
	case ENOMEM:
		return NB_REFUSED_NOMEM;
	case ENOENT:
	case EFAULT:
		return NB_REFUSED_ABSENT;
	default:
		return NB_REFUSED_OTHER;
	}
}

/* A part of the addresses: `at` and what follows. */
struct part {
	unsigned at, n;
	uint64_t pages; /* that each stands for */
};

static void arrived(struct nb_page_thread *t, const struct part *part)
{
	t->res.bytes_moved += part->pages * t->job->page_bytes;
}

static void refuse(struct nb_page_thread *t, uint64_t pages, enum nb_refused why)
{
	t->res.pages_refused[why] += pages;
}

/* Takes what the statuses settle out of the part; what is left are those that were not
 * reached, and busy ones, which may have moved as parts of a larger page. */
static void settle(struct nb_page_thread *t, struct part *part)
{
	unsigned left = 0;

	for (unsigned i = 0; i < part->n; i++) {
		int s = t->status[i];

		if (s == (int)t->job->p->to)
			arrived(t, part);
		else if (s >= 0 || s == UNWRITTEN || s == -EBUSY)
			t->addresses[part->at + left++] = t->addresses[part->at + i];
		else
			refuse(t, part->pages, cause(s));
	}
	part->n = left;
}

/* Asks where the addresses are, counts those that have arrived, and keeps the rest. */
static int take_arrived(struct nb_page_thread *t, struct part *part)
{
	unsigned left = 0;
	int r;

	if (part->n == 0)
		return 0;
	r = query(t, part->at, part->n);
	if (r < 0)
		return r;
	for (unsigned i = 0; i < part->n; i++) {
		int s = t->status[i];

		if (s == (int)t->job->p->to)
			arrived(t, part);
		else if (s < 0)
			refuse(t, part->pages, cause(s));
		else
			t->addresses[part->at + left++] = t->addresses[part->at + i];
	}
	part->n = left;
	return 0;
}

/* One call for a part. What is left of it has not moved; *ret_all: the kernel came to
 * all of it. */
static int move_part(struct nb_page_thread *t, struct part *part, bool *ret_all)
{
	const struct nb_page_move *p = t->job->p;
	long r;

	for (unsigned i = 0; i < part->n; i++) {
		t->nodes[i] = (int)p->to;
		t->status[i] = UNWRITTEN;
	}
	r = p->sys->move_pages(p->key.pid, part->n, t->addresses + part->at, t->nodes, t->status,
			       MPOL_MF_MOVE);
	/* Older kernels: no page of the list is there. */
	if (r == -ENOENT) {
		refuse(t, part->n * part->pages, NB_REFUSED_ABSENT);
		part->n = 0;
		return 0;
	}
	if (r < 0) {
		/* Part of it may be done. */
		if (r == -ENOMEM && take_arrived(t, part) == 0)
			refuse(t, part->n * part->pages, NB_REFUSED_NOMEM);
		return (int)r;
	}
	*ret_all = r == 0;
	settle(t, part);
	return take_arrived(t, part);
}

/*
 * Calls until every address is settled. A page that cannot be moved ends the kernel's
 * work on the rest of the list, and it does not say which page it was. So what is left
 * is tried again, and where nothing moves, in ever smaller parts, which isolates it.
 */
static int move_all(struct nb_page_thread *t, unsigned n, uint64_t pages)
{
	unsigned size = n, failures = 0;

	while (n > 0) {
		struct part part = {.n = size < n ? size : n, .pages = pages};
		unsigned tried = part.n;
		bool all = true;
		int r;

		part.at = n - part.n;
		r = move_part(t, &part, &all);
		if (r < 0)
			return r;
		if (part.n < tried) {
			size *= 2;
			failures = 0;
		} else {
			size = (tried + 1) / 2;
			failures++;
		}
		if (failures > FAILURES_MAX) {
			refuse(t, n * pages, NB_REFUSED_BUSY);
			return 0;
		}
		/* Of a part that was worked through, what is left is busy. */
		if (all || (part.n == tried && tried == 1)) {
			refuse(t, part.n * pages, NB_REFUSED_BUSY);
			part.n = 0;
		}
		n = part.at + part.n;
		if (n > 0 && size > n)
			size = n;
	}
	return 0;
}

int nb_pages_call(struct nb_page_thread *t, unsigned n, uint64_t pages)
{
	uint64_t busy = t->res.pages_refused[NB_REFUSED_BUSY];
	uint64_t nomem = t->res.pages_refused[NB_REFUSED_NOMEM];
	const struct nb_syscalls *sys = t->job->p->sys;
	uint64_t began, cpu_began;
	int r;

	if (n == 0)
		return 0;
	began = sys->now_us();
	cpu_began = sys->cpu_us();
	r = move_all(t, n, pages);
	t->call_us = sys->now_us() - began;
	t->call_cpu_us = sys->cpu_us() - cpu_began;
	if (r < 0)
		return r;
	if (t->res.pages_refused[NB_REFUSED_NOMEM] > nomem)
		return -ENOMEM;
	if (n * pages < BUSY_MIN_PAGES)
		return 0;
	busy = t->res.pages_refused[NB_REFUSED_BUSY] - busy;
	t->busy_chunks = busy * 100 >= n * pages * BUSY_PERCENT ? t->busy_chunks + 1 : 0;
	return t->busy_chunks >= BUSY_CHUNKS ? -EBUSY : 0;
}
