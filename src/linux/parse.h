/* SPDX-License-Identifier: MIT */
/*
 * What the kernel writes, as numbers. Every parser is pure: it sees a text and its
 * length, reads nothing else, and never beyond the length. -EINVAL: not such a
 * text; the caller drops it and counts it. Outputs are untouched on failure
 * unless said otherwise.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nb/bitmap.h"
#include "nb/snapshot.h"

/* --- words ----------------------------------------------------------------- */

/* A place in a text. */
struct nb_cursor {
	const char *p, *end;
};

bool nb_take_u64(struct nb_cursor *c, uint64_t *ret); /* decimal digits, no sign, no overflow */
/* Lower-case hexadecimal digits; into at most 64 bits. */
bool nb_take_hex(struct nb_cursor *c, uint64_t *ret);
bool nb_take_word(struct nb_cursor *c, struct nb_cursor *ret); /* skips blanks before it */
bool nb_take_line(struct nb_cursor *c, struct nb_cursor *ret); /* up to a newline or the end */
bool nb_take_text(struct nb_cursor *c, const char *text);      /* if it comes next */
bool nb_cursor_is(const struct nb_cursor *c, const char *text);

/* The whole text is one number, with blanks or a newline around it. */
int nb_parse_u64(const char *text, size_t len, uint64_t *ret);

/* --- /proc/PID/stat, /proc/PID/task/TID/stat -------------------------------- */

#define NB_PF_KTHREAD 0x00200000u /* include/linux/sched.h of the kernel */
#define NB_PF_NO_SETAFFINITY 0x04000000u

struct nb_stat {
	int32_t pid, ppid;
	char comm[NB_COMM_MAX];
	char state;
	uint64_t flags;
	uint64_t utime, stime; /* clock ticks */
	uint64_t n_threads;
	uint64_t start;       /* clock ticks after boot */
	uint64_t vsize_bytes; /* 0: no user memory */
	uint64_t rss_pages;
	uint32_t processor;
	uint32_t rt_priority;
	uint32_t policy; /* SCHED_* */
};

int nb_parse_stat(const char *text, size_t len, struct nb_stat *ret);

/* --- /proc/PID/status, /proc/PID/task/TID/status ---------------------------- */

enum nb_status_valid {
	NB_STATUS_UID = 1 << 0,
	NB_STATUS_RSS = 1 << 1,
	NB_STATUS_ANON = 1 << 2, /* RssAnon, RssFile and RssShmem: since 4.5 */
	NB_STATUS_HUGE = 1 << 3,
	NB_STATUS_CPUS = 1 << 4,
	NB_STATUS_MEMS = 1 << 5,
};

/* Owns its bitmaps; a kernel thread has none of the memory lines. */
struct nb_status {
	uint32_t valid; /* enum nb_status_valid */
	uint32_t uid;   /* effective */
	uint64_t rss_bytes, anon_bytes, file_bytes, shmem_bytes, huge_bytes;
	struct nb_bitmap cpus, mems;
};

/* Replaces s, keeps its memory. Lines that are missing or wrong leave their bit
 * clear. 0 or -ENOMEM. */
int nb_parse_status(const char *text, size_t len, struct nb_status *s);
void nb_status_done(struct nb_status *s);

/* --- schedstat -------------------------------------------------------------- */

struct nb_run_wait {
	uint32_t cpu;
	uint64_t run_ns, wait_ns;
};

struct nb_schedstat {
	uint32_t version;
	bool newer; /* than any version that was known when this was written */
	struct nb_run_wait *cpus;
	size_t n, cap;
	uint64_t rejected; /* cpu lines that made no sense */
};

/* /proc/schedstat. Replaces s, keeps its memory. -EINVAL without a version line,
 * -EOPNOTSUPP below version 14; s is then empty. */
int nb_parse_schedstat(const char *text, size_t len, struct nb_schedstat *s);
void nb_schedstat_done(struct nb_schedstat *s);

/* /proc/PID/task/TID/schedstat: run and wait time in ns. */
int nb_parse_task_schedstat(const char *text, size_t len, uint64_t *ret_run_ns,
			    uint64_t *ret_wait_ns);

/* --- /proc/stat ------------------------------------------------------------- */

struct nb_busy {
	uint32_t cpu;
	uint64_t busy; /* clock ticks: user (with guests), nice, system, irq, softirq */
};

struct nb_proc_stat {
	struct nb_busy *cpus;
	size_t n, cap;
	uint64_t rejected;
};

int nb_parse_proc_stat(const char *text, size_t len, struct nb_proc_stat *s);
void nb_proc_stat_done(struct nb_proc_stat *s);

/* --- meminfo of a node, and /proc/meminfo ----------------------------------- */

struct nb_meminfo {
	uint64_t total_bytes, free_bytes;
	uint64_t clean_bytes; /* inactive file cache that is neither dirty nor under write-back */
};

/* -EINVAL without a total and a free line. */
int nb_parse_meminfo(const char *text, size_t len, struct nb_meminfo *ret);

/* --- cgroups ---------------------------------------------------------------- */

/* Slices of the text of /proc/PID/cgroup; empty where there is none. */
struct nb_cgroup_paths {
	struct nb_cursor v2;     /* of the line 0:: */
	struct nb_cursor cpuset; /* of the version 1 hierarchy with the cpuset controller */
};

int nb_parse_cgroup(const char *text, size_t len, struct nb_cgroup_paths *ret);

/* One line of mountinfo. */
struct nb_mount {
	struct nb_cursor root, point, type, options; /* options: of the superblock */
};

int nb_parse_mountinfo_line(const char *line, size_t len, struct nb_mount *ret);
bool nb_mount_has_option(const struct nb_mount *m, const char *option);

/* --- /proc/PID/maps --------------------------------------------------------- */

struct nb_map {
	uint64_t start, end;
	bool readable, writable, shared;
	bool anonymous; /* no file, or heap or stack */
	bool special;   /* vdso, vvar, vsyscall: not its memory */
};

int nb_parse_maps_line(const char *line, size_t len, struct nb_map *ret);

/* --- /proc/PID/numa_maps ---------------------------------------------------- */

enum nb_vma_policy {
	NB_POLICY_DEFAULT,
	NB_POLICY_LOCAL,
	NB_POLICY_BIND,
	NB_POLICY_PREFER,
	NB_POLICY_PREFER_MANY,
	NB_POLICY_INTERLEAVE,
	NB_POLICY_WEIGHTED_INTERLEAVE,
	NB_POLICY_UNKNOWN, /* a name of a kernel to come: somebody set it */
};

enum nb_vma_policy_flags {
	NB_POLICY_STATIC = 1 << 0,
	NB_POLICY_RELATIVE = 1 << 1,
	NB_POLICY_BALANCING = 1 << 2,
	NB_POLICY_FLAG_UNKNOWN = 1 << 3,
};

struct nb_node_pages {
	uint32_t node; /* the kernel's id */
	uint64_t pages;
};

/* One mapping. Counts are in units of page_bytes. Owns its array of nodes. */
struct nb_numa_line {
	uint64_t address;
	enum nb_vma_policy policy;
	uint32_t policy_flags;
	struct nb_cursor file; /* opaque, still escaped; empty: anonymous */
	bool heap, stack, huge;
	uint64_t anon, dirty, mapmax;
	uint64_t pages; /* sum over the nodes */
	uint64_t page_bytes;
	struct nb_node_pages *nodes;
	size_t n_nodes, cap_nodes;
};

/* Replaces l, keeps its memory. -EINVAL, -ENOMEM. */
int nb_parse_numa_line(const char *line, size_t len, struct nb_numa_line *l);
void nb_numa_line_done(struct nb_numa_line *l);
