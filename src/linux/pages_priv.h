/* SPDX-License-Identifier: MIT */
/* What the files of the chunked page mover share. */
#pragma once

#include <pthread.h>

#include "linux/chunk.h"
#include "linux/pages.h"

/* Addresses in one call: 64 MiB of 4 KiB pages, far above what fits the time goal. */
#define NB_CALL_MAX 16384u

/* A job is done by one or several threads. */
struct nb_page_job {
	const struct nb_page_move *p;
	struct nb_ranges *ranges;
	uint64_t page_bytes; /* the kernel's page */
	uint64_t huge_bytes; /* of a transparent huge page; 0: there are none */
	int pagemap_fd;      /* -1: cannot be read */

	pthread_mutex_t lock; /* of what follows */
	unsigned pass;        /* 0: blocks of huge pages' size, 1: what is left at the edges */
	size_t range;
	uint64_t at; /* address in the range; 0: its beginning */
	int error;   /* of the first thread that ended with one */
	struct nb_page_result res;
};

enum nb_window_kind {
	NB_WINDOW_BLOCKS, /* whole blocks of huge_bytes */
	NB_WINDOW_PAGES,
	NB_WINDOW_HUGETLB, /* pages of range->page_bytes */
};

struct nb_window {
	enum nb_window_kind kind;
	struct nb_range *range;
	uint64_t start, end;
};

/* The next piece of work of about max_bytes. False: there is none left. */
bool nb_page_job_next(struct nb_page_job *job, uint64_t max_bytes, struct nb_window *ret);

/* Pages of this range were found on the sources: when as many were found as numa_maps
 * had counted, the rest of a sparse range is not searched. */
void nb_page_job_found(struct nb_page_job *job, struct nb_range *range, uint64_t pages);

/* The rest of this range is not worth a call. */
void nb_page_job_give_up(struct nb_page_job *job, struct nb_range *range);

/* Buffers and habits of one thread. */
struct nb_page_thread {
	struct nb_page_job *job;
	struct nb_chunk chunk;
	uint64_t call_us;       /* what the last nb_pages_call() took */
	uint64_t call_cpu_us;   /* and how long of it this thread ran */
	unsigned small_blocks;  /* in a row that were no huge pages */
	unsigned busy_chunks;   /* in a row */
	uint64_t checked_us;    /* when the target was last looked at; 0: not yet */
	uint64_t checked_bytes; /* for which it has room since */
	struct nb_page_result res;
	void **addresses;
	int *nodes, *status; /* NB_CALL_MAX each */
	uint64_t *blocks;    /* addresses of blocks, */
	bool *large;         /* and whether each is a huge page */
};

/* Where the first n addresses are. Negative errno: of the call. */
int nb_pages_query(struct nb_page_thread *t, unsigned n);

/* Moves the first n addresses, all of which are on the sources; each stands for
 * `pages` pages of the kernel. Counts what was moved and what was refused. */
int nb_pages_call(struct nb_page_thread *t, unsigned n, uint64_t pages);

/* Does a window. */
int nb_page_window(struct nb_page_thread *t, const struct nb_window *w);
