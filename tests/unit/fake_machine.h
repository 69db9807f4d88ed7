/* SPDX-License-Identifier: MIT */
/*
 * One process on a machine of several nodes, as files below a root and as the calls
 * that move pages, with the kernel's habits: a huge page moves as a whole, a page that
 * cannot be moved ends the call, statuses that were not reached stay unwritten.
 */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <numaif.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "linux/pages.h"
#include "linux/task.h"

#define PID 4242
#define START 1000
#define PAGE 4096ull
#define HUGE_PAGES 512u
#define BASE 0x7f0000000000ull /* at a boundary of huge pages */
#define MAX_PAGES 65536u
#define ABSENT (-2)

static struct {
	char root[64];
	unsigned n_pages;    /* from BASE on */
	int node[MAX_PAGES]; /* or ABSENT */
	bool huge[MAX_PAGES / HUGE_PAGES];
	int refuse[MAX_PAGES];  /* status of this page instead of a move; 0: none */
	bool pinned[MAX_PAGES]; /* found by the kernel too late: it ends the call */
	long error;             /* of the next move call instead of anything */
	_Atomic uint64_t now_us, cpu_us;
	uint64_t us_per_page, us_per_call;
	unsigned move_calls, queries, longest_call, addresses_moved;
	int flags;
	void (*after_move)(void);
	pthread_mutex_t lock;
} fake;

static void fake_file(const char *name, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void fake_file(const char *name, const char *fmt, ...)
{
	char path[256];
	va_list ap;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", fake.root, name);
	for (char *p = path + strlen(fake.root) + 1; (p = strchr(p, '/')); p++) {
		*p = '\0';
		mkdir(path, 0755);
		*p = '/';
	}
	f = fopen(path, "w");
	if (!f)
		abort();
	va_start(ap, fmt);
	vfprintf(f, fmt, ap);
	va_end(ap);
	fclose(f);
}

static void fake_stat(uint64_t start)
{
	fake_file("proc/4242/stat",
		  "4242 (fake) S 1 1 1 0 -1 4194304 0 0 0 0 0 0 0 0 20 0 1 0 %llu 0 0 "
		  "18446744073709551615 0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n",
		  (unsigned long long)start);
}

static void fake_meminfo(unsigned node, unsigned long total_kb, unsigned long free_kb)
{
	char name[64];

	snprintf(name, sizeof(name), "sys/devices/system/node/node%u/meminfo", node);
	fake_file(name, "Node %u MemTotal: %lu kB\nNode %u MemFree: %lu kB\n", node, total_kb, node,
		  free_kb);
}

/* numa_maps and maps that tell where the pages are now. */
static void fake_maps(void)
{
	unsigned count[256] = {}, total = 0;
	char text[4096] = "";

	for (unsigned i = 0; i < fake.n_pages; i++)
		if (fake.node[i] >= 0 && fake.node[i] < 256) {
			count[fake.node[i]]++;
			total++;
		}
	for (int n = 0; n < 256; n++)
		if (count[n])
			snprintf(text + strlen(text), sizeof(text) - strlen(text), " N%d=%u", n,
				 count[n]);
	fake_file("proc/4242/numa_maps", "%llx default anon=%u dirty=%u%s kernelpagesize_kB=4\n",
		  BASE, total, total, text);
	fake_file("proc/4242/maps", "%llx-%llx rw-p 00000000 00:00 0 \n", BASE,
		  BASE + fake.n_pages * PAGE);
}

/* n pages on node 0, of a machine of two nodes with plenty of room. */
static void fake_start(unsigned n)
{
	memset(&fake, 0, sizeof(fake));
	pthread_mutex_init(&fake.lock, NULL);
	strcpy(fake.root, "/tmp/nb-fake-XXXXXX");
	if (!mkdtemp(fake.root))
		abort();
	fake.n_pages = n;
	fake.us_per_page = 10;
	fake_stat(START);
	fake_file("proc/4242/status", "Name:\tfake\nMems_allowed_list:\t0-255\n");
	fake_file("sys/kernel/mm/transparent_hugepage/hpage_pmd_size", "2097152\n");
	fake_meminfo(0, 64ul << 20, 32ul << 20);
	fake_meminfo(1, 64ul << 20, 32ul << 20);
	fake_maps();
}

static void fake_end(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -r %s", fake.root);
	if (system(command) != 0)
		abort();
	pthread_mutex_destroy(&fake.lock);
}

static long fake_query(unsigned long n, void **pages, int *status)
{
	fake.queries++;
	for (unsigned long i = 0; i < n; i++) {
		uint64_t p = ((uint64_t)(uintptr_t)pages[i] - BASE) / PAGE;

		status[i] = p < fake.n_pages ? fake.node[p] : -EFAULT;
	}
	return 0;
}

/* The price of a call is a wait, that of a page is work. */
static void fake_work(uint64_t us)
{
	fake.now_us += us;
	fake.cpu_us += us;
}

static long fake_move(unsigned long n, void **pages, const int *nodes, int *status)
{
	static bool isolated[MAX_PAGES / HUGE_PAGES];
	unsigned long batch = 0;

	memset(isolated, 0, sizeof(isolated));
	fake.move_calls++;
	fake.now_us += fake.us_per_call;
	if (n > fake.longest_call)
		fake.longest_call = (unsigned)n;
	for (unsigned long i = 0; i < n; i++) {
		uint64_t p = ((uint64_t)(uintptr_t)pages[i] - BASE) / PAGE, b = p / HUGE_PAGES;
		bool failed = false;

		if (p >= fake.n_pages || fake.node[p] < 0) {
			status[i] = -ENOENT;
			batch = i + 1;
			continue;
		}
		if (fake.refuse[p] || (fake.huge[b] && isolated[b])) {
			/* The batch so far goes first, and fails with what is pinned in it. */
			for (unsigned long k = batch; k < i; k++)
				failed = failed ||
					 fake.pinned[((uint64_t)(uintptr_t)pages[k] - BASE) / PAGE];
			if (failed)
				return (long)(n - i);
			for (unsigned long k = batch; k < i; k++)
				status[k] = nodes[k];
			status[i] = fake.refuse[p] ? fake.refuse[p] : -EBUSY;
			batch = i + 1;
			continue;
		}
		if (fake.pinned[p])
			continue;
		if (fake.huge[b]) {
			isolated[b] = true;
			for (unsigned k = 0; k < HUGE_PAGES; k++)
				fake.node[b * HUGE_PAGES + k] = nodes[i];
			fake_work(fake.us_per_page * HUGE_PAGES);
		} else {
			fake.node[p] = nodes[i];
			fake_work(fake.us_per_page);
		}
		fake.addresses_moved++;
	}
	for (unsigned long k = batch; k < n; k++)
		if (fake.pinned[((uint64_t)(uintptr_t)pages[k] - BASE) / PAGE])
			return 1;
	for (unsigned long k = batch; k < n; k++)
		status[k] = nodes[k];
	return 0;
}

static long fake_move_pages(pid_t pid, unsigned long n, void **pages, const int *nodes, int *status,
			    int flags)
{
	long r;

	if (pid != PID)
		return -ESRCH;
	pthread_mutex_lock(&fake.lock);
	if (!nodes) {
		r = fake_query(n, pages, status);
	} else if (fake.error) {
		fake.move_calls++;
		r = fake.error;
	} else {
		fake.flags |= flags;
		r = fake_move(n, pages, nodes, status);
	}
	if (nodes && fake.after_move)
		fake.after_move();
	pthread_mutex_unlock(&fake.lock);
	return r;
}

static uint64_t fake_now(void)
{
	return fake.now_us;
}

static uint64_t fake_cpu(void)
{
	return fake.cpu_us;
}

static void fake_sleep(uint64_t us)
{
	fake.now_us += us;
}

static inline unsigned fake_on(int node)
{
	unsigned n = 0;

	for (unsigned i = 0; i < fake.n_pages; i++)
		n += fake.node[i] == node;
	return n;
}
