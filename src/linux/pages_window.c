/* SPDX-License-Identifier: MIT */
/* A piece of a range: which of its addresses are to be moved, and by how few. */
#include <errno.h>

#include "linux/pages_priv.h"

/* After so many blocks in a row without a huge page they are looked for in every
 * so-manieth block only: the search costs a call of its own. */
#define SMALL_BLOCKS 8
#define LOOK_EVERY 32

/* Each block is asked for at its beginning, in its middle and at its end. */
#define PROBES 3

/* A mapping that a fork left shared is given up when nearly all of a call stays. */
#define SHARED_PERCENT 90
#define SHARED_MIN_PAGES 64

static bool on_source(const struct nb_page_thread *t, int status)
{
	return status >= 0 && nb_bitmap_test(t->job->p->from, (unsigned)status);
}

static void *address(uint64_t a)
{
	return (void *)(uintptr_t)a; /* NOLINT: of another process */
}

/* Pages that stay are no measure of what a move takes. */
static void measure(struct nb_page_thread *t, uint64_t pages, uint64_t moved_bytes)
{
	uint64_t bytes = pages * t->job->page_bytes;

	if (moved_bytes > 0 && moved_bytes >= bytes / 2)
		nb_chunk_measured(&t->chunk, bytes, t->call_us, t->call_cpu_us);
}

/* Moves those of the first n addresses that are on a source node. */
static int move_queried(struct nb_page_thread *t, const struct nb_window *w, unsigned n,
			uint64_t pages)
{
	unsigned found = 0;
	uint64_t shared, moved;
	int r;

	if (n == 0)
		return 0;
	r = nb_pages_query(t, n);
	if (r < 0)
		return r;
	for (unsigned i = 0; i < n; i++)
		if (on_source(t, t->status[i]))
			t->addresses[found++] = t->addresses[i];
	nb_page_job_found(t->job, w->range, found);
	shared = t->res.pages_refused[NB_REFUSED_SHARED];
	moved = t->res.bytes_moved;
	r = nb_pages_call(t, found, pages);
	measure(t, found * pages, t->res.bytes_moved - moved);
	shared = t->res.pages_refused[NB_REFUSED_SHARED] - shared;
	if (w->range->shared && found >= SHARED_MIN_PAGES &&
	    shared * 100 >= found * pages * SHARED_PERCENT)
		nb_page_job_give_up(t->job, w->range);
	return r;
}

/* Every page of [start, end). */
static int move_pages_of(struct nb_page_thread *t, const struct nb_window *w, uint64_t start,
			 uint64_t end, uint64_t step)
{
	uint64_t per_call = t->chunk.bytes / step;
	int r = 0;

	if (per_call < 1)
		per_call = 1;
	if (per_call > NB_CALL_MAX)
		per_call = NB_CALL_MAX;
	while (r == 0 && start < end) {
		unsigned n = 0;

		for (; n < per_call && start < end; start += step)
			t->addresses[n++] = address(start);
		r = move_queried(t, w, n, step / t->job->page_bytes);
	}
	return r;
}

/* Fills addresses with the probes of the n blocks, and asks. */
static int probe(struct nb_page_thread *t, unsigned n)
{
	uint64_t huge = t->job->huge_bytes;

	for (unsigned i = 0; i < n; i++) {
		t->addresses[PROBES * i] = address(t->blocks[i]);
		t->addresses[PROBES * i + 1] = address(t->blocks[i] + huge / 2);
		t->addresses[PROBES * i + 2] = address(t->blocks[i] + huge - t->job->page_bytes);
	}
	return nb_pages_query(t, n * PROBES);
}

/* Marks the blocks that look like huge pages on a source node. Their number, or an
 * error. */
static int mark_large(struct nb_page_thread *t, unsigned n)
{
	int r = probe(t, n), n_large = 0;

	if (r < 0)
		return r;
	for (unsigned i = 0; i < n; i++) {
		const int *s = &t->status[PROBES * i];

		t->large[i] = on_source(t, s[0]) && s[1] == s[0] && s[2] == s[0];
		if (t->small_blocks >= SMALL_BLOCKS &&
		    t->blocks[i] / t->job->huge_bytes % LOOK_EVERY != 0)
			t->large[i] = false;
		n_large += t->large[i];
	}
	return n_large;
}

/*
 * Moves the beginnings of the blocks that look large, in one call. A huge page goes as
 * a whole with any of its addresses: where middle and end have followed, it was one.
 * The others lose their mark.
 */
static int move_large(struct nb_page_thread *t, const struct nb_window *w, unsigned n)
{
	uint64_t per_block = t->job->huge_bytes / t->job->page_bytes, nomem;
	struct nb_page_result before = t->res;
	unsigned n_large = 0, busy = t->busy_chunks;
	int to = (int)t->job->p->to, r, e;

	for (unsigned i = 0; i < n; i++)
		if (t->large[i])
			t->addresses[n_large++] = address(t->blocks[i]);
	r = nb_pages_call(t, n_large, 1);
	/* What became of an address counts below, when it is known what it stands for; one
	 * that stayed is tried again as a small page, and counted then. */
	nomem = t->res.pages_refused[NB_REFUSED_NOMEM];
	t->busy_chunks = busy;
	t->res = before;
	t->res.pages_refused[NB_REFUSED_NOMEM] = nomem;
	e = probe(t, n);
	if (e < 0)
		return e;
	for (unsigned i = 0; i < n; i++) {
		const int *s = &t->status[PROBES * i];

		if (!t->large[i])
			continue;
		t->large[i] = s[0] == to && s[1] == to && s[2] == to;
		if (t->large[i]) {
			t->res.bytes_moved += t->job->huge_bytes;
			nb_page_job_found(t->job, w->range, per_block);
			t->small_blocks = 0;
			continue;
		}
		if (s[0] == to) {
			t->res.bytes_moved += t->job->page_bytes;
			nb_page_job_found(t->job, w->range, 1);
		}
		t->small_blocks++;
	}
	nb_chunk_measured(&t->chunk, t->res.bytes_moved - before.bytes_moved, t->call_us, t->call_cpu_us);
	return r == -EBUSY ? 0 : r;
}

/* Page by page, in runs of blocks that stand together; pages that are there already
 * are seen by asking. */
static int move_small(struct nb_page_thread *t, const struct nb_window *w, unsigned n)
{
	uint64_t huge = t->job->huge_bytes;
	int r = 0;

	for (unsigned i = 0, run; r == 0 && i < n; i += run) {
		for (run = 1; i + run < n && t->large[i + run] == t->large[i]; run++)
			;
		if (!t->large[i])
			r = move_pages_of(t, w, t->blocks[i], t->blocks[i] + run * huge,
					  t->job->page_bytes);
	}
	return r;
}

static int window_of_blocks(struct nb_page_thread *t, const struct nb_window *w)
{
	uint64_t next = w->start;
	int r = 0;

	while (r == 0 && next < w->end) {
		unsigned n = 0;

		for (; n < NB_CALL_MAX / PROBES && next < w->end; next += t->job->huge_bytes)
			t->blocks[n++] = next;
		r = mark_large(t, n);
		if (r > 0)
			r = move_large(t, w, n);
		if (r == 0)
			r = move_small(t, w, n);
	}
	return r;
}

int nb_page_window(struct nb_page_thread *t, const struct nb_window *w)
{
	switch (w->kind) {
	case NB_WINDOW_BLOCKS:
		return window_of_blocks(t, w);
	case NB_WINDOW_PAGES:
		return move_pages_of(t, w, w->start, w->end, t->job->page_bytes);
	case NB_WINDOW_HUGETLB:
		return move_pages_of(t, w, w->start, w->end, w->range->page_bytes);
	}
	return -EINVAL;
}
