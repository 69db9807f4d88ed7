/* SPDX-License-Identifier: MIT */
/*
 * What we may do, found out on ourselves. A capability alone says little: the
 * default profiles of containers refuse the calls even to root, and only a call
 * can tell. The calls are chosen so that they change nothing.
 */
#include <errno.h>
#include <numaif.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "linux/linux.h"

static bool refused(long r, int error)
{
	return r < 0 && (error == EPERM || error == EACCES || error == ENOSYS);
}

/* An empty mask is never taken; who gets as far as to hear that, may set masks.
 * Setting our own mask again would make it one that we asked for, and stick. */
static bool affinity_refused(void)
{
	unsigned long none = 0;
	long r = syscall(SYS_sched_setaffinity, 0, sizeof(none), &none);

	return refused(r, errno);
}

static bool move_pages_refused(void)
{
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	void *page = aligned_alloc(size, size);
	int status = -1, error;
	long r;

	if (!page)
		return false;
	memset(page, 1, size);
	r = move_pages(0, 1, &page, NULL, &status, 0);
	error = errno;
	free(page);
	return refused(r, error);
}

/* From no node to no node. */
static bool migrate_pages_refused(void)
{
	unsigned long none = 0;
	long r = migrate_pages(0, sizeof(none) * 8, &none, &none);

	return refused(r, errno);
}

static bool has(cap_t caps, cap_value_t value)
{
	cap_flag_value_t set = CAP_CLEAR;

	return caps && cap_get_flag(caps, value, CAP_EFFECTIVE, &set) == 0 && set == CAP_SET;
}

static void append(char *text, size_t size, const char *separator, const char *what)
{
	size_t len = strlen(text);

	if (len < size)
		snprintf(text + len, size - len, "%s%s", len ? separator : "", what);
}

void nb_linux_rights(struct nb_rights *ret)
{
	struct nb_rights rights = {};
	char missing[128] = "", calls[80] = "";
	cap_t caps = cap_get_proc();

	if (!has(caps, CAP_SYS_NICE)) {
		rights.missing |= NB_RIGHT_AFFINITY | NB_RIGHT_MOVE;
		append(missing, sizeof(missing), ", ", "CAP_SYS_NICE");
	}
	if (!has(caps, CAP_SYS_PTRACE)) {
		rights.missing |= NB_RIGHT_MOVE | NB_RIGHT_READ;
		append(missing, sizeof(missing), ", ", "CAP_SYS_PTRACE");
	}
	cap_free(caps);
	if (affinity_refused()) {
		rights.missing |= NB_RIGHT_AFFINITY;
		append(calls, sizeof(calls), ", ", "sched_setaffinity");
	}
	if (move_pages_refused()) {
		rights.missing |= NB_RIGHT_MOVE;
		append(calls, sizeof(calls), ", ", "move_pages");
	}
	if (migrate_pages_refused()) {
		rights.missing |= NB_RIGHT_MOVE;
		append(calls, sizeof(calls), ", ", "migrate_pages");
	}
	if (access("/proc/self/numa_maps", F_OK) < 0) {
		rights.missing |= NB_RIGHT_READ;
		append(missing, sizeof(missing), ", ", "/proc/PID/numa_maps");
	}
	if (*missing) {
		append(rights.text, sizeof(rights.text), "", "missing: ");
		append(rights.text, sizeof(rights.text), "", missing);
	}
	if (*calls) {
		append(rights.text, sizeof(rights.text), "; ",
		       "refused by the kernel or a seccomp profile: ");
		append(rights.text, sizeof(rights.text), "", calls);
	}
	*ret = rights;
}
