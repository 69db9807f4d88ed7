/* SPDX-License-Identifier: MIT */
/* Between the files of the sampler. */
#pragma once

#include "linux/cgroup.h"
#include "linux/masks.h"
#include "linux/memory.h"
#include "linux/parse.h"
#include "linux/procfs.h"
#include "linux/topology.h"
#include "nb/config.h"
#include "nb/snapshot.h"

/* --- what is remembered of processes ------------------------------------------ */

struct nb_seen_thread {
	struct nb_key key;
	int stat_fd, schedstat_fd; /* kept open while the process is busy; -1: not */
	uint64_t stat_us;          /* when stat was read; 0: never */
	uint32_t valid;            /* of run_ns, wait_ns, last_cpu */
	uint64_t run_ns, wait_ns;
	uint32_t last_cpu;
	uint32_t policy;
	uint64_t flags;
	char state;
	bool gone;
};

struct nb_seen {
	struct nb_key key;
	ino_t inode; /* of its directory in /proc: another process has another one */
	uint64_t tick;
	bool kthread;
	char comm[NB_COMM_MAX];

	uint64_t status_us; /* when status was read; 0: never */
	struct nb_status status;
	uint64_t cgroup_us;
	char *cgroup;

	uint64_t cpu_ticks;  /* utime + stime when the threads were read */
	uint64_t threads_us; /* when they were; 0: never */
	uint64_t listed_us;  /* when its task directory was */
	struct nb_seen_thread *threads;
	uint32_t n_threads, cap_threads;
	struct nb_seen *next;
};

#define NB_SEEN_BUCKETS 4096

struct nb_seen_table {
	struct nb_seen *buckets[NB_SEEN_BUCKETS];
	uint32_t open_files, max_open_files;
};

struct nb_seen *nb_seen_find(struct nb_seen_table *t, int pid);
int nb_seen_add(struct nb_seen_table *t, struct nb_key key, struct nb_seen **ret);
void nb_seen_forget(struct nb_seen_table *t, uint64_t tick); /* all that were not seen in it */
void nb_seen_remove(struct nb_seen_table *t, int pid);
void nb_seen_close_files(struct nb_seen_table *t, struct nb_seen_thread *thread);
void nb_seen_done(struct nb_seen_table *t);

/* --- names ---------------------------------------------------------------------- */

/* Never touched by default: what starts other things, or lets people in. */
bool nb_is_service(int pid, const char *comm);

struct nb_user {
	uint32_t uid;
	char *name;
};

struct nb_users {
	struct nb_user *items;
	uint32_t n, cap;
	bool numbers; /* a dump: its names are not ours */
};

int nb_users_name(struct nb_users *u, uint32_t uid, const char **ret);
void nb_users_done(struct nb_users *u);

/* --- the sampler ---------------------------------------------------------------- */

typedef enum nb_mask_owner (*nb_mask_asked)(struct nb_masks *m, struct nb_key process, int32_t ppid,
					    struct nb_key thread, const struct nb_bitmap *current,
					    struct nb_bitmap *ret_original);

struct nb_sampler {
	struct nb_procfs fs;
	struct nb_masks *masks;
	nb_mask_asked mask_owner; /* nb_masks_original(); tests replace it */
	struct nb_topology topology;
	struct nb_cgroups *cgroups;
	struct nb_memory *memory;
	struct nb_seen_table seen;
	struct nb_users users;
	uint64_t tick;
	uint64_t page_bytes, tick_ns; /* of a clock tick of stat */
	int own_pid;                  /* 0: a dump */

	/* of this tick */
	const struct nb_config *config;
	struct nb_snapshot *snap;
	struct nb_bitmap init_mask; /* PID 1's */
	uint32_t *units;            /* processes that were read in detail */
	uint32_t n_units, cap_units;

	/* scratch */
	struct nb_text text, cgroup_text;
	struct nb_ids pids, tids;
	struct nb_stat stat;
	struct nb_status status;
	struct nb_schedstat schedstat;
	struct nb_proc_stat proc_stat;
	struct nb_bitmap current, original, allowed, wide, thread_allowed, all;
	unsigned long *affinity;
	size_t affinity_bytes;
};

/* Nodes and CPUs of a snapshot that has been begun. */
int nb_sample_machine(struct nb_sampler *s);

/* One process by its entry in /proc. It is in the snapshot afterwards, or was
 * counted as gone or rejected. */
int nb_sample_process(struct nb_sampler *s, const struct nb_id *id);

/* The threads of the last process added, and what its own flags gain by them.
 * 1: the process is gone. */
int nb_sample_threads(struct nb_sampler *s, struct nb_seen *seen, const struct nb_stat *stat);

/* Masks of the threads of the last process added. */
int nb_sample_masks(struct nb_sampler *s, struct nb_seen *seen, int32_t ppid,
		    const struct nb_cgroup *group);

/* The mask that a task has now. 1: it is not known; negative errno. */
int nb_sample_affinity(struct nb_sampler *s, int pid, int tid, struct nb_bitmap *ret);
