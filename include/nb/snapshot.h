/* SPDX-License-Identifier: MIT */
/*
 * A snapshot: the raw facts about a machine at one instant, as a platform saw
 * them. Written by a platform, read by the core; nobody changes it later.
 *
 * Nodes are named by a dense index 0..n_nodes-1; the kernel's id is data.
 * Counters are cumulative since boot (CPU) or since birth (thread); the core
 * takes differences. A fact that could not be read has its validity bit clear:
 * missing is not zero.
 *
 * All memory belongs to the snapshot, is reused by nb_snapshot_begin() and
 * released by nb_snapshot_free(). Pointers into it live until the next begin.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nb/bitmap.h"

#define NB_NO_NODE UINT32_MAX
#define NB_NO_MASK UINT32_MAX
#define NB_NO_STR UINT32_MAX
#define NB_COMM_MAX 64 /* the kernel's own threads show up to 63 bytes */
#define NB_CPU_CAP 1024 /* capacity units of one CPU, as in the kernel */
#define NB_DIST_LOCAL 10 /* ACPI SLIT: the distance of a node to itself */

enum nb_valid {
	NB_VALID_RUN = 1 << 0,      /* run_ns */
	NB_VALID_WAIT = 1 << 1,     /* wait_ns */
	NB_VALID_BUSY = 1 << 2,     /* busy_ns, from /proc/stat */
	NB_VALID_MEM = 1 << 3,      /* bytes per node, or a node's total and free */
	NB_VALID_MASK = 1 << 4,     /* allowed CPUs */
	NB_VALID_MEMS = 1 << 5,     /* allowed memory nodes */
	NB_VALID_LAST_CPU = 1 << 6, /* last_cpu */
	NB_VALID_POLICY = 1 << 7,   /* the process' memory policies were looked at */
};

struct nb_key { /* identity of a process or thread: a pid alone is reused */
	int32_t pid;
	uint64_t start; /* field 22 of stat: clock ticks after boot */
};

struct nb_cpu {
	uint32_t id;   /* the kernel's */
	uint32_t node; /* dense index, or NB_NO_NODE */
	bool online;
	bool isolated; /* isolcpus=, nohz_full=, isolated partition: never a target */
	uint32_t valid;
	uint64_t run_ns;  /* cumulative: /proc/schedstat field 7 */
	uint64_t wait_ns; /* cumulative: /proc/schedstat field 8 */
	uint64_t busy_ns; /* cumulative: all but idle, iowait and steal of /proc/stat */
};

struct nb_node {
	uint32_t id;        /* the kernel's */
	uint32_t cpus;      /* mask index: online CPUs that are not isolated */
	uint32_t n_cpus;    /* their number; 0: never a place for a thread */
	bool mem_target;    /* has memory, and is of the ordinary kind: not CPU-less */
	uint32_t valid;
	uint64_t mem_total_bytes; /* 0: memoryless */
	uint64_t mem_free_bytes;  /* free */
	uint64_t mem_clean_bytes; /* inactive clean file cache, droppable in need */
};

enum nb_mem_source {
	NB_MEM_NONE,      /* not read: too small, no right, no user memory */
	NB_MEM_NUMA_MAPS, /* summed from numa_maps */
	NB_MEM_QUERY,     /* estimated from move_pages queries of sampled addresses */
};

enum nb_process_flags {
	NB_PROC_KTHREAD = 1 << 0,      /* PF_KTHREAD, or no user memory */
	NB_PROC_NO_AFFINITY = 1 << 1,  /* PF_NO_SETAFFINITY on some thread */
	NB_PROC_REALTIME = 1 << 2,     /* a FIFO, RR or DEADLINE thread */
	NB_PROC_BOUND = 1 << 3,        /* its owner set bind/prefer/local memory policies */
	NB_PROC_INTERLEAVED = 1 << 4,  /* its owner interleaves it on purpose */
	NB_PROC_EXITING = 1 << 5,      /* zombie or dead */
	NB_PROC_SELF = 1 << 6,         /* the daemon itself */
	NB_PROC_PINNED = 1 << 7,       /* a thread's own mask is narrower than its allowed set */
	NB_PROC_DENIED = 1 << 8,       /* the kernel refused to show its memory */
	NB_PROC_SERVICE = 1 << 9,      /* init, service manager, container runtime, sshd, shell */
	NB_PROC_MEM_STALE = 1 << 10,   /* node_bytes are those of an earlier sample (see mem_at_us) */
};

struct nb_thread {
	/* pid is the tid; of the one entry of a process that was read as a whole, minus its
	 * pid: its run_ns is that of all its threads, the ended ones too. */
	struct nb_key key;
	uint32_t valid;
	uint32_t last_cpu; /* the kernel's id */
	uint32_t mask;     /* mask index: what it may use once the daemon's own mask is gone */
	uint32_t current;  /* mask index: what it may use now */
	char state;        /* R, S, D, … */
	uint64_t run_ns;   /* cumulative: /proc/PID/task/TID/schedstat */
	uint64_t wait_ns;
};

struct nb_process {
	struct nb_key key;
	char comm[NB_COMM_MAX]; /* raw bytes of the kernel, NUL-terminated */
	uint32_t user;          /* string index */
	uint32_t uid;
	uint32_t cgroup;        /* string index: path below the cgroup root */
	uint32_t valid;
	uint32_t flags;         /* enum nb_process_flags */
	uint32_t first_thread, n_threads;
	uint32_t allowed;       /* mask index: union of its threads' masks */
	uint32_t mems;          /* node-set index: memory nodes that it may use */
	enum nb_mem_source mem_source;
	uint64_t mem_at_us;     /* when its memory was looked at */
	uint64_t rss_bytes;     /* resident, all kinds */
	uint64_t anon_bytes;    /* resident anonymous: what tells its size */
	uint64_t file_bytes;    /* resident file pages, not counted in node_bytes when shared */
	uint64_t huge_bytes;    /* hugetlb; in node_bytes too, but not in anon_bytes */
};

struct nb_snapshot {
	uint64_t at_us;          /* monotonic */
	bool kernel_balances;    /* kernel.numa_balancing is on: it moves pages, too */
	uint64_t topology_gen;   /* changes when dense indexes mean something else */
	uint32_t n_nodes, n_cpus, n_processes, n_threads, n_masks;
	struct nb_node *nodes;
	struct nb_cpu *cpus;     /* ascending id */
	uint32_t *distance;      /* n_nodes × n_nodes, row: from; 10 = local */
	struct nb_process *processes; /* ascending pid */
	struct nb_thread *threads;    /* those of one process stand together */
	uint64_t *node_bytes;    /* n_processes × n_nodes: memory that counts for placement */
	struct nb_bitmap *masks; /* interned: CPU masks and node sets */
	char *strings;           /* interned, NUL-terminated */
	uint32_t strings_len;
	uint64_t rejected_rows;  /* bad kernel text, not guessed */
	uint64_t gone_tasks;     /* died while being read */

	/* capacities, kept over nb_snapshot_begin() */
	uint32_t cap_nodes, cap_cpus, cap_processes, cap_threads, cap_masks, cap_strings;
	uint32_t cap_distance, cap_bytes;
};

int nb_snapshot_new(struct nb_snapshot **ret);
struct nb_snapshot *nb_snapshot_free(struct nb_snapshot *s); /* NULL-safe, returns NULL */

/* Empties it for a new instant of a machine with so many nodes and CPUs. All
 * nodes and CPUs are zeroed, all distances 10 or 20. */
int nb_snapshot_begin(struct nb_snapshot *s, uint64_t at_us, uint32_t n_nodes, uint32_t n_cpus);

/* Appends a zeroed process, with no memory on any node; its threads follow it.
 * The pointers are valid until the next add. */
int nb_snapshot_add_process(struct nb_snapshot *s, struct nb_process **ret);
int nb_snapshot_add_thread(struct nb_snapshot *s, struct nb_thread **ret);
void nb_snapshot_drop_process(struct nb_snapshot *s); /* the last one: it died while being read */

/* Equal sets get the same index within a snapshot. */
int nb_snapshot_intern_mask(struct nb_snapshot *s, const struct nb_bitmap *b, uint32_t *ret);
int nb_snapshot_intern_str(struct nb_snapshot *s, const char *text, uint32_t *ret);

/* An index of NB_NO_MASK is the empty set, NB_NO_STR the empty string. */
const struct nb_bitmap *nb_snapshot_mask(const struct nb_snapshot *s, uint32_t mask);
const char *nb_snapshot_str(const struct nb_snapshot *s, uint32_t str);

uint64_t *nb_snapshot_bytes(const struct nb_snapshot *s, uint32_t process); /* n_nodes of them */
uint32_t nb_snapshot_distance(const struct nb_snapshot *s, uint32_t from, uint32_t to);
const struct nb_cpu *nb_snapshot_cpu(const struct nb_snapshot *s, uint32_t id); /* or NULL */
uint32_t nb_snapshot_cpu_node(const struct nb_snapshot *s, uint32_t id); /* or NB_NO_NODE */
uint32_t nb_snapshot_node_by_id(const struct nb_snapshot *s, uint32_t id); /* or NB_NO_NODE */
uint32_t nb_snapshot_process_by_pid(const struct nb_snapshot *s, int32_t pid); /* or UINT32_MAX */

static inline bool nb_key_equal(struct nb_key a, struct nb_key b)
{
	return a.pid == b.pid && a.start == b.start;
}

static inline void nb_snapshot_freep(struct nb_snapshot **s)
{
	nb_snapshot_free(*s);
}
#define _cleanup_snapshot_ __attribute__((cleanup(nb_snapshot_freep)))
