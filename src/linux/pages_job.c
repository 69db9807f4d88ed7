/* SPDX-License-Identifier: MIT */
/* Which piece of a process is next. */
#include <unistd.h>

#include "linux/pages_priv.h"

/* Larger sparse ranges are searched by pagemap. */
#define SPARSE_MIN_BYTES (UINT64_C(64) << 20)

#define PAGEMAP_BATCH 4096u                 /* 32 KiB of stack, 16 MiB of addresses */
#define PAGEMAP_PRESENT (UINT64_C(1) << 63) /* Documentation/admin-guide/mm/pagemap.rst */

static uint64_t round_up(uint64_t v, uint64_t to)
{
	return (v + to - 1) / to * to;
}

static uint64_t round_down(uint64_t v, uint64_t to)
{
	return v / to * to;
}

/* The part of a range that a pass is about; empty if start >= end. In the second pass
 * an edge at the beginning and one at the end may be left: skip says from where to
 * where they are apart. */
static void part_of(const struct nb_page_job *job, const struct nb_range *range, uint64_t *start,
		    uint64_t *end, uint64_t *skip_from, uint64_t *skip_to)
{
	uint64_t first = range->end, last = range->end;

	*start = range->start;
	*end = range->end;
	if (job->huge_bytes && !range->hugetlb) {
		first = round_up(range->start, job->huge_bytes);
		last = round_down(range->end, job->huge_bytes);
		if (first >= last)
			first = last = range->end;
	}
	*skip_from = first;
	*skip_to = last;
	if (job->pass == 0 && !range->hugetlb) {
		*start = first;
		*end = last;
	} else if (job->pass == 1 && range->hugetlb) {
		*start = *end;
	}
}

/* The first address from `at` on that has a page. */
static uint64_t skip_holes(const struct nb_page_job *job, const struct nb_range *range, uint64_t at,
			   uint64_t end)
{
	uint64_t batch[PAGEMAP_BATCH];
	if (job->pagemap_fd < 0 || range->hugetlb || !range->sparse ||
	    range->end - range->start < SPARSE_MIN_BYTES)
		return at;
	while (at < end) {
		ssize_t n = pread(job->pagemap_fd, batch, sizeof(batch),
				  (off_t)(at / job->page_bytes * sizeof(*batch)));

		if (n < (ssize_t)sizeof(*batch))
			return at; /* no way to tell */
		for (size_t i = 0; i < (size_t)n / sizeof(*batch); i++, at += job->page_bytes)
			if (batch[i] & PAGEMAP_PRESENT)
				return at < end ? at : end;
	}
	return end;
}

static bool next_locked(struct nb_page_job *job, uint64_t max_bytes, struct nb_window *ret)
{
	while (job->pass < 2) {
		uint64_t start, end, skip_from, skip_to, step, limit;
		struct nb_range *range;
		bool blocks;

		if (job->range == job->ranges->n) {
			job->pass++;
			job->range = 0;
			job->at = 0;
			continue;
		}
		range = &job->ranges->items[job->range];
		part_of(job, range, &start, &end, &skip_from, &skip_to);
		blocks = job->pass == 0 && !range->hugetlb;
		step = range->hugetlb ? range->page_bytes
		       : blocks       ? job->huge_bytes
				      : job->page_bytes;
		if (job->at < start)
			job->at = start;
		if (range->pages > 0 && job->at < end)
			job->at = skip_holes(job, range, job->at, end);
		if (blocks && job->at < end) /* a hole may end within a block */
			job->at = round_down(job->at, step);
		if (job->pass == 1 && job->at >= skip_from && job->at < skip_to)
			job->at = skip_to;
		if (range->pages == 0 || job->at >= end || step == 0) {
			job->range++;
			job->at = 0;
			continue;
		}
		limit = job->at + (max_bytes > step ? round_down(max_bytes, step) : step);
		if (limit > end)
			limit = end;
		if (job->pass == 1 && job->at < skip_from && limit > skip_from)
			limit = skip_from;
		*ret = (struct nb_window){
			.kind = range->hugetlb ? NB_WINDOW_HUGETLB
				: blocks       ? NB_WINDOW_BLOCKS
					       : NB_WINDOW_PAGES,
			.range = range,
			.start = job->at,
			.end = limit,
		};
		job->at = limit;
		return true;
	}
	return false;
}

bool nb_page_job_next(struct nb_page_job *job, uint64_t max_bytes, struct nb_window *ret)
{
	bool any;

	pthread_mutex_lock(&job->lock);
	any = next_locked(job, max_bytes, ret);
	pthread_mutex_unlock(&job->lock);
	return any;
}

void nb_page_job_found(struct nb_page_job *job, struct nb_range *range, uint64_t pages)
{
	if (!range->sparse)
		return;
	pthread_mutex_lock(&job->lock);
	range->pages -= pages < range->pages ? pages : range->pages;
	pthread_mutex_unlock(&job->lock);
}

void nb_page_job_give_up(struct nb_page_job *job, struct nb_range *range)
{
	pthread_mutex_lock(&job->lock);
	range->pages = 0;
	pthread_mutex_unlock(&job->lock);
}
