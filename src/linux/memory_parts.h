/* SPDX-License-Identifier: MIT */
/* Between the files of the memory cache. */
#pragma once

#include <pthread.h>

#include "linux/memory.h"
#include "linux/memory_due.h"
#include "linux/numa_sum.h"

#define NB_MEMORY_BUCKETS 1024
#define NB_MEMORY_FORGET_TICKS 16

struct nb_memory_entry {
	struct nb_memory_seen seen;
	uint64_t tick; /* when it was last asked for */
	uint64_t gen;  /* of the topology that the arrays are for */
	enum nb_mem_source source;
	bool denied, bound, interleaved, dirty_files;
	uint64_t huge_bytes, own_shared_bytes;
	uint64_t rounds;
	uint64_t *place, *anon, *file; /* one allocation, n_nodes of each */
	uint32_t n_nodes;
	struct nb_memory_entry *next;
};

struct nb_memory {
	pthread_mutex_t lock; /* of the table and of what its entries hold */
	struct nb_memory_entry *buckets[NB_MEMORY_BUCKETS];
	uint64_t tick;
	struct nb_memory_budget budget;
	struct nb_memory_cost cost;
	bool one_node_too;
	nb_query_pages query;

	struct nb_numa_sum sum;
	struct nb_query sampled;
	struct nb_lines lines;
	struct nb_memory_due *due;
	uint32_t cap_due;
};

/* With the lock held. */
struct nb_memory_entry *nb_memory_find(struct nb_memory *m, struct nb_key key);
struct nb_memory_entry *nb_memory_find_or_add(struct nb_memory *m, struct nb_key key);

/* Those that were not asked for during some ticks are gone, or became small. */
void nb_memory_forget(struct nb_memory *m);
