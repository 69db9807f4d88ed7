/* SPDX-License-Identifier: MIT */
/* Whose memory is read next, and what may be spent on it. Pure: time is given. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "nb/snapshot.h"

/* What is known of the last reading of a process. */
struct nb_memory_seen {
	struct nb_key key;
	bool valid;          /* there is an answer */
	bool touched;        /* an action since */
	uint32_t holds;      /* its pages are in flight */
	uint64_t at_us;      /* of the answer */
	uint64_t tried_us;   /* of the last try, also when it was refused */
	uint64_t follow_us;  /* when the last action was noticed; 0: none */
	uint64_t cost_us;    /* CPU time of the last try */
	uint64_t anon_bytes; /* its size then */
	uint64_t run_ns;     /* the run time of its threads then */
};

/* What is known of it now. */
struct nb_memory_now {
	uint64_t at_us;
	uint64_t anon_bytes;
	uint64_t run_ns;
	uint64_t old_us; /* how far reads stretch while nothing changes; 0: 5 s */
	bool misplaced; /* most of its memory is not where its threads are */
	bool bound_young; /* its owner had set a policy, and it began less than a minute ago */
};

/* Ascending: the more urgent stands later. */
enum nb_memory_urgency {
	NB_MEMORY_NOT_NOW,
	NB_MEMORY_OLD,     /* 5 s; more for one that is expensive, or sleeps */
	NB_MEMORY_CHANGED, /* its size by 5 % */
	NB_MEMORY_FOLLOW,  /* misplaced, or moved a short time ago */
	NB_MEMORY_FIRST,   /* never read */
	NB_MEMORY_TOUCHED,
};

enum nb_memory_urgency nb_memory_urgency(const struct nb_memory_seen *seen,
					 const struct nb_memory_now *now);

struct nb_memory_due {
	struct nb_memory_seen seen;
	uint64_t anon_bytes;
	uint32_t process; /* index in the snapshot */
	enum nb_memory_urgency urgency;
};

/* The most urgent first; among first readings the largest, else the oldest. */
void nb_memory_due_sort(struct nb_memory_due *due, uint32_t n);

/* One percent of a CPU. What is new or was just moved is read beyond that, but never
 * for longer than 250 ms, waiting included, in one tick. */
struct nb_memory_budget {
	uint64_t at_us;
	int64_t credit_us;
	uint64_t tick_us; /* gone by in this tick */
	bool begun;
};

void nb_memory_tick(struct nb_memory_budget *b, uint64_t now_us);
bool nb_memory_affords(const struct nb_memory_budget *b, enum nb_memory_urgency urgency);
void nb_memory_spent(struct nb_memory_budget *b, uint64_t cpu_us, uint64_t wall_us);
