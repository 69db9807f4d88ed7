/* SPDX-License-Identifier: MIT */
/*
 * A plan: what to do now, and for every process that was looked at and is not
 * moved, why not. Written by the policy, carried out by a platform, which
 * answers each action with one outcome.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nb/bitmap.h"
#include "nb/snapshot.h"

enum nb_what {
	NB_CPU = 1 << 0,    /* its threads may use the CPUs of cpu_nodes only */
	NB_MEMORY = 1 << 1, /* its pages go from mem_from to mem_to */
};

/* Why a unit is, or is not, moved. A closed list; each has a name (for machines)
 * and a sentence (for people). */
enum nb_reason {
	NB_REASON_NONE,
	/* moved */
	NB_REASON_CPU_TO_MEMORY,
	NB_REASON_MEMORY_TO_CPU,
	NB_REASON_BOTH_TO_THIRD,
	NB_REASON_SWAP,
	NB_REASON_ROTATE,
	NB_REASON_RELIEVE,       /* given back to more nodes: its node is overloaded */
	NB_REASON_GROUP_NODES,   /* its group's nodes say so */
	NB_REASON_SPREAD,        /* a wide unit to its set of nodes */
	/* not moved: nothing to gain */
	NB_REASON_LOCAL,
	NB_REASON_SMALL_GAIN,
	NB_REASON_WIDE,          /* larger than a node; spread as well as it can be */
	NB_REASON_ONE_NODE,      /* the machine has one node */
	/* not moved: not a unit */
	NB_REASON_IDLE,          /* below min_cpu */
	NB_REASON_SMALL_MEMORY,  /* below min_memory */
	NB_REASON_NEW,           /* seen once; no rates yet */
	NB_REASON_NO_MEMORY_INFO,
	NB_REASON_DENIED,
	/* not moved: hands off */
	NB_REASON_KERNEL_THREAD,
	NB_REASON_NO_AFFINITY,
	NB_REASON_REALTIME,
	NB_REASON_PINNED,
	NB_REASON_BOUND,
	NB_REASON_INTERLEAVED,
	NB_REASON_ONE_NODE_ALLOWED, /* its cpuset or mask lies within one node */
	NB_REASON_EXITING,
	NB_REASON_SELF,
	NB_REASON_SERVICE,
	NB_REASON_EXCLUDED,
	NB_REASON_OBSERVED,      /* its group says observe */
	NB_REASON_IGNORED,       /* its group says ignore */
	/* not moved: not now */
	NB_REASON_IN_FLIGHT,
	NB_REASON_SLOT_TAKEN,
	NB_REASON_BUSIER_NODE,
	NB_REASON_NO_CPU_ROOM,
	NB_REASON_NO_MEMORY_ROOM,
	NB_REASON_COOLDOWN,
	NB_REASON_BACKOFF,
	NB_REASON_SETTLING,      /* page moves wait for a stable plan */
	NB_REASON_PAUSED,
	NB_REASON_NO_RIGHTS,     /* observe only */
	NB_REASON_COUNT,
};

const char *nb_reason_name(enum nb_reason r);     /* "cpu_to_memory" */
const char *nb_reason_sentence(enum nb_reason r); /* "its threads go to the node of its memory" */

struct nb_action {
	uint64_t id;         /* unique while the model lives */
	struct nb_key key;
	char comm[NB_COMM_MAX];
	uint32_t what;       /* enum nb_what */
	uint32_t exchange;   /* 0: a single move. Equal numbers: a swap or rotation, started together */
	uint32_t exchange_size; /* members of the exchange; 0 for a single move */
	bool takes_slot;     /* holds the in-flight slot of node `to` */
	bool release;        /* with NB_CPU: give back the thread's own masks, cpu_nodes is unused */
	uint32_t from;       /* dense node where most of its threads run, for people */
	uint32_t to;         /* the destination: dense node (the first of a set) */
	struct nb_bitmap cpu_nodes; /* dense nodes; with NB_CPU */
	struct nb_bitmap mem_from;  /* dense nodes; with NB_MEMORY: all that hold its pages but the target */
	uint32_t mem_to;     /* dense node, or NB_NO_NODE */
	uint64_t bytes;      /* budget: what is expected to move; 0 without NB_MEMORY */
	int64_t gain_us;     /* predicted, over the horizon, price not taken off */
	int64_t price_us;
	enum nb_reason reason;
};

/* One line for each process that was looked at. */
struct nb_verdict {
	struct nb_key key;
	enum nb_reason reason;
	uint32_t best_node;  /* where it would be best, or NB_NO_NODE */
	int64_t cost_us;     /* cost of its present place over the horizon */
	int64_t gain_us;     /* what the best place would gain */
	int64_t price_us;    /* what it would cost to get there */
};

struct nb_plan {
	uint64_t at_us;
	uint64_t topology_gen;
	uint32_t n_actions, n_verdicts;
	struct nb_action *actions;
	struct nb_verdict *verdicts; /* in the order of the snapshot's processes */
	int64_t cost_before_us, cost_after_us; /* of the whole machine, predicted */
	uint32_t cap_actions, cap_verdicts;
};

int nb_plan_new(struct nb_plan **ret);
struct nb_plan *nb_plan_free(struct nb_plan *p); /* NULL-safe, returns NULL */
void nb_plan_reset(struct nb_plan *p);
int nb_plan_add_action(struct nb_plan *p, struct nb_action **ret); /* bitmaps empty, else zeroed */
int nb_plan_add_verdict(struct nb_plan *p, struct nb_verdict **ret);

/* A deep copy; free its bitmaps with nb_action_done(). */
int nb_action_copy(struct nb_action *dst, const struct nb_action *src);
void nb_action_done(struct nb_action *a);

/* Why pages stayed: classes of the kernel's per-page answers. */
enum nb_refused {
	NB_REFUSED_SHARED, /* EACCES: mapped by several, and only private ones were asked for */
	NB_REFUSED_BUSY,   /* EBUSY: pinned or under I/O */
	NB_REFUSED_NOMEM,  /* ENOMEM: no room on the target */
	NB_REFUSED_ABSENT, /* ENOENT, EFAULT: no page there */
	NB_REFUSED_OTHER,
	NB_REFUSED_COUNT,
};

const char *nb_refused_name(enum nb_refused r); /* "shared" */

/* What became of an action. One for each action that was started. */
struct nb_outcome {
	uint64_t action;
	struct nb_key key;
	uint32_t what;     /* what was asked for */
	uint32_t to;       /* as in the action */
	int error;         /* 0, or a positive errno: ESRCH gone, EPERM, ESTALE topology changed,
			    * ECANCELED dry run or cancelled, EINVAL, ENOMEM, ENODEV, ENOSYS, EBUSY */
	uint32_t threads_set, threads_failed;
	uint64_t bytes_moved;
	uint64_t pages_refused[NB_REFUSED_COUNT];
	uint64_t started_us, ended_us;
};
