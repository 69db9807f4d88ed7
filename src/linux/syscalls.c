/* SPDX-License-Identifier: MIT */
#include "linux/syscalls.h"

#include <errno.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define LONG_BITS (sizeof(unsigned long) * CHAR_BIT)

/* Masks of CPUs start at what covers every distribution's kernel and are doubled
 * while the kernel asks for more. */
#define FIRST_CPU_BITS 8192u

static long live_get_affinity(pid_t tid, size_t size, unsigned long *mask)
{
	long r = syscall(SYS_sched_getaffinity, tid, size, mask);

	return r < 0 ? -errno : r;
}

static int live_set_affinity(pid_t tid, size_t size, const unsigned long *mask)
{
	return syscall(SYS_sched_setaffinity, tid, size, mask) < 0 ? -errno : 0;
}

static long live_move_pages(pid_t pid, unsigned long n, void **pages, const int *nodes, int *status,
			    int flags)
{
	long r = syscall(SYS_move_pages, pid, n, pages, nodes, status, flags);

	return r < 0 ? -errno : r;
}

static long live_migrate_pages(pid_t pid, unsigned long maxnode, const unsigned long *from,
			       const unsigned long *to)
{
	long r = syscall(SYS_migrate_pages, pid, maxnode, from, to);

	return r < 0 ? -errno : r;
}

/* The raw calls: libcap may change every thread of the program at once. */
static int live_set_nice_cap(bool on)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {};
	uint32_t bit = UINT32_C(1) << CAP_SYS_NICE;

	_Static_assert(CAP_SYS_NICE < 32, "it is in the first word");
	if (syscall(SYS_capget, &head, data) < 0)
		return -errno;
	if (((data[0].effective & bit) != 0) == on)
		return 0;
	if (on)
		data[0].effective |= bit;
	else
		data[0].effective &= ~bit;
	return syscall(SYS_capset, &head, data) < 0 ? -errno : 1;
}

static uint64_t read_clock(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

static uint64_t live_now_us(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

static uint64_t live_cpu_us(void)
{
	return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

static void live_sleep_us(uint64_t us)
{
	struct timespec ts = {.tv_sec = (time_t)(us / 1000000), .tv_nsec = us % 1000000 * 1000};

	while (clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, &ts) == EINTR)
		;
}

const struct nb_syscalls nb_syscalls_live = {
	.get_affinity = live_get_affinity,
	.set_affinity = live_set_affinity,
	.move_pages = live_move_pages,
	.migrate_pages = live_migrate_pages,
	.set_nice_cap = live_set_nice_cap,
	.now_us = live_now_us,
	.cpu_us = live_cpu_us,
	.sleep_us = live_sleep_us,
};

int nb_bitmap_from_longs(struct nb_bitmap *dst, const unsigned long *longs, size_t n_longs)
{
	_cleanup_bitmap_ struct nb_bitmap b = {};
	int r;

	for (size_t i = 0; i < n_longs; i++)
		for (unsigned long rest = longs[i]; rest; rest &= rest - 1) {
			r = nb_bitmap_set(&b, (unsigned)(i * LONG_BITS) +
						      (unsigned)__builtin_ctzl(rest));
			if (r < 0)
				return r;
		}
	return nb_bitmap_copy(dst, &b);
}

int nb_bitmap_to_longs(const struct nb_bitmap *b, size_t min_bits, unsigned long **ret,
		       size_t *ret_bits)
{
	size_t bits = min_bits > 0 ? min_bits : 1, n;
	unsigned long *longs;

	NB_BITMAP_FOREACH (bit, b)
		if ((size_t)bit >= bits)
			bits = (size_t)bit + 1;
	n = (bits + LONG_BITS - 1) / LONG_BITS;
	longs = calloc(n, sizeof(*longs));
	if (!longs)
		return -ENOMEM;
	NB_BITMAP_FOREACH (bit, b)
		longs[(size_t)bit / LONG_BITS] |= 1ul << ((size_t)bit % LONG_BITS);
	*ret = longs;
	*ret_bits = n * LONG_BITS;
	return 0;
}

int nb_affinity_get(const struct nb_syscalls *sys, pid_t tid, struct nb_bitmap *ret)
{
	for (size_t bits = FIRST_CPU_BITS; bits <= NB_BITMAP_MAX_BITS; bits *= 2) {
		unsigned long *longs = calloc(bits / LONG_BITS, sizeof(*longs));
		long n;
		int r;

		if (!longs)
			return -ENOMEM;
		n = sys->get_affinity(tid, bits / CHAR_BIT, longs);
		r = n > 0 ? nb_bitmap_from_longs(ret, longs, bits / LONG_BITS) : (int)n;
		free(longs);
		if (r != -EINVAL)
			return r;
	}
	return -EINVAL;
}

int nb_affinity_set(const struct nb_syscalls *sys, pid_t tid, const struct nb_bitmap *cpus)
{
	unsigned long *longs;
	size_t bits;
	int r;

	/* A mask that is shorter than the kernel's is filled up with zeros there. */
	r = nb_bitmap_to_longs(cpus, LONG_BITS, &longs, &bits);
	if (r < 0)
		return r;
	r = sys->set_affinity(tid, bits / CHAR_BIT, longs);
	free(longs);
	return r;
}
