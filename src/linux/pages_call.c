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
#define BUSY_MIN_PAGES 64 /* fewer tell nothing about the rest */

int nb_pages_query(struct nb_page_thread *t, unsigned n)
{
	const struct nb_page_move *p = t->job->p;
	long r;

	for (unsigned i = 0; i < n; i++)
		t->status[i] = UNWRITTEN;
	r = p->sys->move_pages(p->key.pid, n, t->addresses, NULL, t->status, 0);
	return r < 0 ? (int)r : 0;
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

static void keep(struct nb_page_thread *t, unsigned to, unsigned from)
{
	t->addresses[to] = t->addresses[from];
}

/* Takes what the statuses settle out of the first n addresses; returns how many are
 * left: those that were not reached, and busy ones, which may have moved as parts of a
 * larger page. */
static unsigned settle(struct nb_page_thread *t, unsigned n, uint64_t pages)
{
	const struct nb_page_move *p = t->job->p;
	unsigned left = 0;

	for (unsigned i = 0; i < n; i++) {
		int s = t->status[i];

		if (s == (int)p->to) {
			t->res.bytes_moved += pages * t->job->page_bytes;
		} else if (s >= 0 || s == UNWRITTEN || s == -EBUSY) {
			keep(t, left++, i);
		} else {
			t->res.pages_refused[cause(s)] += pages;
		}
	}
	return left;
}

/* Asks where the first n addresses are, counts those that have arrived, and keeps the
 * rest. */
static int take_arrived(struct nb_page_thread *t, unsigned *n, uint64_t pages)
{
	unsigned left = 0;
	int r;

	r = nb_pages_query(t, *n);
	if (r < 0)
		return r;
	for (unsigned i = 0; i < *n; i++) {
		if (t->status[i] == (int)t->job->p->to)
			t->res.bytes_moved += pages * t->job->page_bytes;
		else if (t->status[i] < 0)
			t->res.pages_refused[cause(t->status[i])] += pages;
		else
			keep(t, left++, i);
	}
	*n = left;
	return 0;
}

static void refuse(struct nb_page_thread *t, unsigned n, uint64_t pages, enum nb_refused why)
{
	t->res.pages_refused[why] += n * pages;
}

/* Calls until everything is settled. A page that cannot be moved ends the kernel's
 * work on the rest of the list; what it did not come to is tried again, without the
 * first half of what stays when nothing moves. */
static int move_all(struct nb_page_thread *t, unsigned n, uint64_t pages)
{
	const struct nb_page_move *p = t->job->p;

	while (n > 0) {
		unsigned before = n;
		long moved;
		int r;

		for (unsigned i = 0; i < n; i++) {
			t->nodes[i] = (int)p->to;
			t->status[i] = UNWRITTEN;
		}
		moved = p->sys->move_pages(p->key.pid, n, t->addresses, t->nodes, t->status,
					   MPOL_MF_MOVE);
		/* Older kernels: no page of the list is there. */
		if (moved == -ENOENT) {
			refuse(t, n, pages, NB_REFUSED_ABSENT);
			return 0;
		}
		if (moved < 0) {
			/* Part of it may be done. */
			if (moved == -ENOMEM && take_arrived(t, &n, pages) == 0)
				refuse(t, n, pages, NB_REFUSED_NOMEM);
			return (int)moved;
		}
		n = settle(t, n, pages);
		if (n > 0) {
			r = take_arrived(t, &n, pages);
			if (r < 0)
				return r;
		}
		if (moved == 0) {
			refuse(t, n, pages, NB_REFUSED_BUSY);
			return 0;
		}
		if (n == before) {
			unsigned half = (n + 1) / 2;

			refuse(t, half, pages, NB_REFUSED_BUSY);
			for (unsigned i = half; i < n; i++)
				keep(t, i - half, i);
			n -= half;
		}
	}
	return 0;
}

int nb_pages_call(struct nb_page_thread *t, unsigned n, uint64_t pages)
{
	uint64_t busy = t->res.pages_refused[NB_REFUSED_BUSY];
	uint64_t nomem = t->res.pages_refused[NB_REFUSED_NOMEM];
	int r;

	if (n == 0)
		return 0;
	r = move_all(t, n, pages);
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
