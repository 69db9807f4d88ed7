/* SPDX-License-Identifier: MIT */
/* What the workload's two halves share: the parent, that measures (workload.c), and the
 * processes, that work (workload_process.c). */
#pragma once

#include <inttypes.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>
#include <time.h>

#define MAX_NODES 64
#define MAX_CPUS 1024
#define MAX_PROCS 64
#define MAX_THREADS 64
#define PAGE_BYTES 4096ul
#define HUGE_BYTES (2ul << 20)

struct set {
	unsigned n, node[MAX_NODES];
};

/* An item a process; fewer are taken in turn. */
struct set_list {
	unsigned n;
	struct set set[MAX_PROCS];
};

struct options {
	unsigned procs, threads, mb, duration_s, busy_pct, grow_s, span_s, spawn_s;
	bool private, thp;
	struct set_list place, run;
	unsigned n_release;
	uint64_t release_ns[MAX_PROCS];
	const char *mark, *ready;
};

struct counts {
	_Atomic uint64_t seen, local; /* pages asked after; those on the thread's node */
	_Atomic uint64_t pages;       /* pages written */
};

struct proc {
	pid_t pid;
	_Atomic unsigned ready; /* threads that are in place */
	uint64_t misplaced;     /* pages that lie where no thread that uses them starts */
	struct counts thread[MAX_THREADS];
};

/* In memory that all processes share. */
struct shared {
	_Atomic uint32_t go; /* a futex */
	_Atomic int stop;
	struct proc proc[MAX_PROCS];
};

extern struct options opt;
extern struct shared *shared;

void die(const char *fmt, ...) __attribute__((noreturn, format(printf, 1, 2)));

void read_topology(void);
uint64_t slice_bytes(void); /* of a thread, with --private */
/* Of the half second that ends now; the summary of all. */
void take_window(uint64_t elapsed_ns);
void print_summary(uint64_t go_real_ns);

void run_process(unsigned index) __attribute__((noreturn));
void start_all(void);
uint64_t now_ns(clockid_t clock);
void sleep_ns(uint64_t ns);
