/* SPDX-License-Identifier: MIT */
/*
 * What is known of changed masks, in memory: threads by tid, processes by pid, and
 * the sets that they share. No locks and no system calls: masks.c has those.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "linux/state_file.h"
#include "nb/bitmap.h"
#include "nb/snapshot.h"

/* Masks that a process is remembered to have been given, the latest ones. A child
 * is seen one sample after its birth, so only moves within a sample matter. */
#define NB_GIVEN_MAX 4

struct nb_mask_node {
	struct nb_mask_node *next;
	int32_t id;
};

struct nb_mask_hash {
	struct nb_mask_node **buckets;
	size_t n_buckets, n; /* n_buckets: a power of two, or 0 */
};

struct nb_mask_thread {
	struct nb_mask_node node; /* by tid */
	struct nb_state_thread t; /* sets: numbers in the table */
	bool pending;             /* a worker is changing it right now */
};

struct nb_mask_process {
	struct nb_mask_node node; /* by pid */
	struct nb_key key;
	struct nb_state_given given[NB_GIVEN_MAX]; /* the latest is the last */
	size_t n_given;
};

struct nb_mask_table {
	struct nb_mask_hash threads, processes;
	struct nb_state sets; /* only its sets are used */
};

void nb_mask_table_done(struct nb_mask_table *t);

/* By number; one that belongs to an earlier task of the same number is forgotten. */
struct nb_mask_thread *nb_mask_table_thread(struct nb_mask_table *t, struct nb_key process,
					    struct nb_key thread);
struct nb_mask_thread *nb_mask_table_by_tid(const struct nb_mask_table *t, int32_t tid);
struct nb_mask_process *nb_mask_table_process(struct nb_mask_table *t, int32_t pid);

int nb_mask_table_set(struct nb_mask_table *t, const struct nb_bitmap *b, uint32_t *ret);
const struct nb_bitmap *nb_mask_table_bits(const struct nb_mask_table *t, uint32_t set);

/* Replaces what was known of this thread. */
int nb_mask_table_add(struct nb_mask_table *t, const struct nb_state_thread *what,
		      struct nb_mask_thread **ret);
void nb_mask_table_forget(struct nb_mask_table *t, struct nb_mask_thread *thread);

/* Its later threads and children may inherit this mask. */
int nb_mask_table_give(struct nb_mask_table *t, const struct nb_state_given *g);

/* The mask that this process gave on to what was born at `start`, or NULL. */
const struct nb_state_given *nb_mask_table_inherited(const struct nb_mask_table *t,
						     const struct nb_mask_process *p,
						     uint64_t start,
						     const struct nb_bitmap *current);

/* All of it as a state, and back. A thread that is being changed also shows as a
 * mask that its process was given. */
int nb_mask_table_export(const struct nb_mask_table *t, struct nb_state *ret);
int nb_mask_table_import(struct nb_mask_table *t, const struct nb_state *s);

/* Forgets what `alive` denies, and sets that nobody uses any more. thread.pid is 0
 * when it asks for a process. Nothing is lost on -ENOMEM. */
int nb_mask_table_prune(struct nb_mask_table *t,
			bool (*alive)(struct nb_key process, struct nb_key thread, void *arg),
			void *arg);
