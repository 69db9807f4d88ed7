/* SPDX-License-Identifier: MIT */
/*
 * Bytes per node of each process, remembered between ticks: reading numa_maps
 * walks all page tables, so it is done when it pays, within a share of the time.
 *
 * touch, hold and files may be called from any thread; the rest belongs to the
 * sampler.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "linux/numa_query.h"
#include "linux/topology.h"
#include "nb/bitmap.h"
#include "nb/config.h"
#include "nb/snapshot.h"

struct nb_memory;

/* An action on this process has ended or changed its place: look again at the
 * next tick, and follow it closely for a few seconds. */
void nb_memory_touch(struct nb_memory *m, struct nb_key key);

/* While a process is held (its pages are in flight) it is not read; the snapshot
 * shows the last answer and NB_PROC_MEM_STALE. Holds are counted; the release of
 * the last one is a touch. */
void nb_memory_hold(struct nb_memory *m, struct nb_key key, bool hold);

/* What its file-backed pages are on a set of nodes (dense), when it was last read:
 * what decides whether migrate_pages may be used. */
struct nb_memory_files {
	uint64_t at_us;      /* when it was read */
	uint64_t file_bytes; /* resident file pages on these nodes, shared or not */
	uint64_t anon_bytes;
	bool dirty; /* some file page of the process, anywhere, is dirty */
};

/* -ENODATA: never read by numa_maps. */
int nb_memory_files(struct nb_memory *m, struct nb_key key, const struct nb_bitmap *nodes,
		    struct nb_memory_files *ret);

/* --- for the sampler ---------------------------------------------------------- */

int nb_memory_new(struct nb_memory **ret);
struct nb_memory *nb_memory_free(struct nb_memory *m); /* NULL-safe */

/* Fills the memory of these processes of the snapshot (indexes): node_bytes, the
 * source and its time, policy flags; anon_bytes gets the shared memory that only
 * the process has. Reads anew those that need it most, as far as the time allows.
 * On a machine with one node nothing is read: all memory is there. */
int nb_memory_fill(struct nb_memory *m, const struct nb_procfs *fs, const struct nb_topology *t,
		   const struct nb_config *c, struct nb_snapshot *s, const uint32_t *processes,
		   uint32_t n);

/* How many files were read and processes queried. */
struct nb_memory_cost {
	uint64_t n_maps, n_queries;
	uint64_t time_us; /* CPU time */
};
struct nb_memory_cost nb_memory_cost(const struct nb_memory *m);

/* For tests: read also on one node; the queries' system call. */
void nb_memory_test(struct nb_memory *m, bool one_node_too, nb_query_pages query);
