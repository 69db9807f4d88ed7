/* SPDX-License-Identifier: MIT */
/* One process of the workload: placed wrongly on purpose, then released and working. */
#include "workload.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <linux/mempolicy.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LINE_BYTES 64ul                 /* one write a cache line */
#define CHUNK_BYTES (64ul * PAGE_BYTES) /* between two looks at the clock */
#define PROBES 16u                      /* pages asked after at a time */
#define PROBE_NS 20000000ull
#define PERIOD_NS 20000000ull /* busy and idle, with --think */

static unsigned n_cpus;
static int cpu_node[MAX_CPUS];

struct worker {
	unsigned proc, index, cpu;
	unsigned char *memory; /* the process' whole memory */
	uint64_t begin, size;  /* what this thread uses of it */
	uint64_t random;
};

uint64_t now_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

void sleep_ns(uint64_t ns)
{
	struct timespec ts = {.tv_sec = (time_t)(ns / 1000000000ull),
			      .tv_nsec = (long)(ns % 1000000000ull)};

	while (clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, &ts) == EINTR)
		;
}

void read_topology(void)
{
	memset(cpu_node, -1, sizeof cpu_node);
	for (unsigned node = 0; node < MAX_NODES; node++) {
		char path[64], text[1024];
		ssize_t n;
		int fd;

		snprintf(path, sizeof path, "/sys/devices/system/node/node%u/cpulist", node);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			continue;
		n = read(fd, text, sizeof text - 1);
		close(fd);
		if (n < 0)
			die("%s: %s", path, strerror(errno));
		text[n] = 0;
		for (char *p = text; *p >= '0' && *p <= '9';) {
			unsigned long first = strtoul(p, &p, 10), last = first;

			if (*p == '-')
				last = strtoul(p + 1, &p, 10);
			for (; first <= last && first < MAX_CPUS; first++) {
				cpu_node[first] = (int)node;
				if (first >= n_cpus)
					n_cpus = (unsigned)first + 1;
			}
			if (*p == ',')
				p++;
		}
	}
	if (n_cpus == 0)
		die("this kernel shows no nodes");
}

static const struct set *place_of(unsigned proc)
{
	return &opt.place.set[proc % opt.place.n];
}

static unsigned run_node(unsigned proc, unsigned thread)
{
	const struct set *s = &opt.run.set[proc % opt.run.n];

	return s->node[thread % s->n];
}

/* Where a thread starts: those that start on one node take its CPUs in turn. */
static unsigned run_cpu(unsigned proc, unsigned thread)
{
	unsigned node = run_node(proc, thread), before = 0, total = 0, seen = 0;

	for (unsigned p = 0; p <= proc; p++)
		for (unsigned t = 0; t < (p < proc ? opt.threads : thread); t++)
			before += run_node(p, t) == node;
	for (unsigned cpu = 0; cpu < n_cpus; cpu++)
		total += cpu_node[cpu] == (int)node;
	if (total == 0)
		die("node %u has no CPUs", node);
	for (unsigned cpu = 0; cpu < n_cpus; cpu++)
		if (cpu_node[cpu] == (int)node && seen++ == before % total)
			return cpu;
	abort();
}

static void run_on(unsigned cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof set, &set) < 0)
		die("sched_setaffinity to CPU %u: %s", cpu, strerror(errno));
}

static void run_anywhere(void)
{
	cpu_set_t set;

	memset(&set, 0xff, sizeof set);
	if (sched_setaffinity(0, sizeof set, &set) < 0)
		die("sched_setaffinity to all CPUs: %s", strerror(errno));
}

static void bind_memory(unsigned char *memory, uint64_t bytes, unsigned node)
{
	uint64_t mask = UINT64_C(1) << node;

	/* The kernel takes one off the number of bits that it is told. */
	if (syscall(SYS_mbind, memory, bytes, MPOL_BIND, &mask, 65ul, 0u) < 0)
		die("mbind to node %u: %s", node, strerror(errno));
}

static void release_memory(unsigned char *memory, uint64_t bytes)
{
	if (syscall(SYS_mbind, memory, bytes, MPOL_DEFAULT, NULL, 0ul, 0u) < 0)
		die("mbind to no node: %s", strerror(errno));
}

/* Pages of a range that are on none of n nodes. */
static uint64_t count_elsewhere(unsigned char *memory, uint64_t bytes, const unsigned *nodes,
				unsigned n)
{
	void *pages[512];
	int status[512];
	uint64_t count = 0;

	for (uint64_t done = 0; done < bytes;) {
		unsigned asked = 0;

		for (; asked < 512 && done < bytes; done += PAGE_BYTES)
			pages[asked++] = memory + done;
		if (syscall(SYS_move_pages, 0, (unsigned long)asked, pages, NULL, status, 0) < 0)
			die("move_pages: %s", strerror(errno));
		for (unsigned i = 0; i < asked; i++) {
			bool here = status[i] < 0; /* no page there yet */

			for (unsigned k = 0; k < n && !here; k++)
				here = status[i] == (int)nodes[k];
			count += !here;
		}
	}
	return count;
}

/* The write comes first: a huge page that is first read becomes small ones on 6.1. */
static void write_through(unsigned char *from, uint64_t bytes)
{
	for (uint64_t i = 0; i < bytes; i += LINE_BYTES) {
		/* Threads may share the memory: single accesses, in no order. */
		uint64_t *word = (uint64_t *)(void *)(from + i);

		__atomic_store_n(word, i, __ATOMIC_RELAXED);
		(void)__atomic_load_n(word, __ATOMIC_RELAXED);
	}
}

/* Asks where a few of the pages that it writes all the time lie, and compares with the CPU.
 * Pages of all that it uses: those just written would beat with the length of a pass. */
static void probe(struct worker *w, struct counts *c, uint64_t bytes)
{
	void *pages[PROBES];
	int status[PROBES];
	unsigned cpu, node;
	uint64_t seen = 0, local = 0;

	if (getcpu(&cpu, &node) < 0)
		return;
	for (unsigned i = 0; i < PROBES; i++) {
		w->random = w->random * 6364136223846793005ull + 1442695040888963407ull;
		pages[i] = w->memory + w->begin +
			   (w->random >> 33) % (bytes / PAGE_BYTES) * PAGE_BYTES;
	}
	if (syscall(SYS_move_pages, 0, (unsigned long)PROBES, pages, NULL, status, 0) < 0)
		return;
	for (unsigned i = 0; i < PROBES; i++) {
		if (status[i] < 0)
			continue; /* between two places */
		seen++;
		local += (unsigned)status[i] == node;
	}
	atomic_fetch_add_explicit(&c->seen, seen, memory_order_relaxed);
	atomic_fetch_add_explicit(&c->local, local, memory_order_relaxed);
}

/* What a growing thread uses now: from a quarter to all, in whole pages. */
static uint64_t grown(uint64_t size, uint64_t age_ns)
{
	uint64_t all_ns = opt.grow_s * 1000000000ull, now;

	if (age_ns >= all_ns)
		return size;
	now = size / 4 + (uint64_t)((double)(size - size / 4) * (double)age_ns / (double)all_ns);
	return now < PAGE_BYTES ? PAGE_BYTES : now / PAGE_BYTES * PAGE_BYTES;
}

/* An heir of the calling thread's mask: a thread, and a process, that sleep. */
static void *sleep_for_ever(void *arg)
{
	for (;;)
		pause();
	return arg;
}

static void spawn(pid_t *ret_child)
{
	char name[] = "sleep", seconds[] = "3000", *argv[] = {name, seconds, NULL};
	pthread_t thread;

	/* Not by fork(): that would share, and then copy, all the memory. */
	if (posix_spawnp(ret_child, name, NULL, NULL, argv, environ) != 0)
		die("no sleep");
	if (pthread_create(&thread, NULL, sleep_for_ever, NULL) != 0)
		die("pthread_create failed");
	pthread_detach(thread);
}

static void *work(void *arg)
{
	struct worker *w = arg;
	struct proc *p = &shared->proc[w->proc];
	struct counts *c = &p->thread[w->index];
	uint64_t release_ns = opt.release_ns[w->proc % opt.n_release];
	uint64_t start, last_probe = 0, busy_since;
	/* Threads that share begin apart. */
	uint64_t offset =
		opt.private ? 0 : w->size / CHUNK_BYTES * w->index / opt.threads * CHUNK_BYTES;
	pid_t heir = 0;
	bool released = false;

	run_on(w->cpu);
	atomic_fetch_add(&p->ready, 1);
	while (!atomic_load(&shared->go))
		syscall(SYS_futex, &shared->go, FUTEX_WAIT, 0, NULL, NULL, 0);
	start = busy_since = now_ns(CLOCK_MONOTONIC);
	while (!atomic_load_explicit(&shared->stop, memory_order_relaxed)) {
		uint64_t now = now_ns(CLOCK_MONOTONIC), limit = w->size, bytes;

		if (!released && now - start >= release_ns) {
			/* Each from the CPU it runs on, so that it stays there. */
			run_anywhere();
			if (w->index == 0)
				release_memory(w->memory, (uint64_t)opt.mb << 20);
			released = true;
		}
		if (opt.spawn_s > 0 && heir == 0 && w->index == 0 &&
		    now - start >= opt.spawn_s * 1000000000ull)
			spawn(&heir);
		if (opt.grow_s > 0)
			limit = grown(w->size, now - start);
		if (offset >= limit)
			offset = 0;
		bytes = limit - offset < CHUNK_BYTES ? limit - offset : CHUNK_BYTES;
		write_through(w->memory + w->begin + offset, bytes);
		atomic_fetch_add_explicit(&c->pages, bytes / PAGE_BYTES, memory_order_relaxed);
		if (now - last_probe >= PROBE_NS) {
			probe(w, c, limit);
			last_probe = now;
		}
		offset += bytes;
		now = now_ns(CLOCK_MONOTONIC);
		if (opt.busy_pct < 100 && now - busy_since >= PERIOD_NS * opt.busy_pct / 100) {
			sleep_ns((now - busy_since) * (100 - opt.busy_pct) / opt.busy_pct);
			busy_since = now_ns(CLOCK_MONOTONIC);
		}
	}
	if (heir > 0)
		kill(heir, SIGKILL);
	return NULL;
}

/* Whole huge pages for each thread where that can be, so that no page has two owners. */
uint64_t slice_bytes(void)
{
	uint64_t slice = ((uint64_t)opt.mb << 20) / opt.threads;
	uint64_t unit = slice >= HUGE_BYTES ? HUGE_BYTES : PAGE_BYTES;

	return slice / unit * unit;
}

/* Memory of its own, in equal parts on the nodes of its set; bound until released. */
static unsigned char *fill_memory(unsigned index)
{
	const struct set *place = place_of(index);
	uint64_t bytes = (uint64_t)opt.mb << 20, unit = opt.thp ? HUGE_BYTES : PAGE_BYTES;
	uint64_t part = bytes / place->n / unit * unit;
	unsigned char *memory = mmap(NULL, bytes + HUGE_BYTES, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		die("%u MiB: %s", opt.mb, strerror(errno));
	memory = (unsigned char *)(((uintptr_t)memory + HUGE_BYTES - 1) & ~(HUGE_BYTES - 1));
	if (madvise(memory, bytes, opt.thp ? MADV_HUGEPAGE : MADV_NOHUGEPAGE) < 0)
		die("madvise: %s", strerror(errno));
	for (unsigned i = 0; i < place->n; i++)
		bind_memory(memory + part * i, i + 1 < place->n ? part : bytes - part * i,
			    place->node[i]);
	return memory;
}

void run_process(unsigned index)
{
	static struct worker workers[MAX_THREADS];
	struct proc *p = &shared->proc[index];
	uint64_t bytes = (uint64_t)opt.mb << 20;
	unsigned char *memory;
	pthread_t thread[MAX_THREADS];
	unsigned nodes[MAX_THREADS];
	char name[16];

	/* The name that it was started by tells its processes from another's. */
	snprintf(name, sizeof name, "%.12s-%u", program_invocation_short_name, index % 100);
	prctl(PR_SET_NAME, name);
	memory = fill_memory(index);
	for (unsigned t = 0; t < opt.threads; t++) {
		workers[t] = (struct worker){.proc = index,
					     .index = t,
					     .cpu = run_cpu(index, t),
					     .memory = memory,
					     .begin = 0,
					     .size = bytes,
					     .random = index * 1000003ull + t + 1};
		nodes[t] = run_node(index, t);
		if (opt.private) {
			workers[t].size = slice_bytes();
			workers[t].begin = workers[t].size * t;
		}
		if (opt.private || t == 0)
			write_through(memory + workers[t].begin,
				      opt.grow_s > 0 ? grown(workers[t].size, 0) : workers[t].size);
	}
	if (opt.private)
		for (unsigned t = 0; t < opt.threads; t++)
			p->misplaced += count_elsewhere(memory + workers[t].begin, workers[t].size,
							&nodes[t], 1);
	else
		p->misplaced = count_elsewhere(memory, bytes, nodes, opt.threads);
	for (unsigned t = 1; t < opt.threads; t++)
		if (pthread_create(&thread[t], NULL, work, &workers[t]) != 0)
			die("pthread_create failed");
	work(&workers[0]);
	for (unsigned t = 1; t < opt.threads; t++)
		pthread_join(thread[t], NULL);
	_exit(0);
}

void start_all(void)
{
	atomic_store(&shared->go, 1);
	syscall(SYS_futex, &shared->go, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}
