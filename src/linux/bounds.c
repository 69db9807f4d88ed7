/* SPDX-License-Identifier: MIT */
#include "linux/bounds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "linux/parse.h"

void nb_bounds_done(struct nb_bounds *l)
{
	nb_bitmap_done(&l->possible);
	nb_bitmap_done(&l->online);
	nb_bitmap_done(&l->isolated);
	nb_bitmap_done(&l->cpuset);
	nb_bitmap_done(&l->allowed);
	*l = (struct nb_bounds){};
}

static int read_list(int dir_fd, const char *path, struct nb_bitmap *ret)
{
	_cleanup_text_ struct nb_text text = {};
	int r = nb_text_read(&text, dir_fd, path);

	return r < 0 ? r : nb_bitmap_parse_list(ret, text.data, text.len);
}

/* A list that may be missing, or say "(null)" as nohz_full does when there is none. */
static int read_optional_list(int dir_fd, const char *path, struct nb_bitmap *ret)
{
	int r = read_list(dir_fd, path, ret);

	return r == -ENOMEM ? r : 0;
}

static int read_machine(const struct nb_procfs *fs, struct nb_bounds *l)
{
	_cleanup_bitmap_ struct nb_bitmap nohz = {};
	int r;

	r = read_list(fs->sys_fd, "devices/system/cpu/online", &l->online);
	if (r < 0)
		return r;
	nb_bitmap_zero(&l->possible);
	r = read_optional_list(fs->sys_fd, "devices/system/cpu/possible", &l->possible);
	if (r < 0)
		return r;
	r = nb_bitmap_or(&l->possible, &l->online);
	if (r < 0)
		return r;
	nb_bitmap_zero(&l->isolated);
	r = read_optional_list(fs->sys_fd, "devices/system/cpu/isolated", &l->isolated);
	if (r < 0)
		return r;
	r = read_optional_list(fs->sys_fd, "devices/system/cpu/nohz_full", &nohz);
	if (r < 0)
		return r;
	return nb_bitmap_or(&l->isolated, &nohz);
}

/* Appends a slice to a path; false if it does not fit. */
static bool append(char *path, size_t size, const char *text, size_t len)
{
	size_t have = strlen(path);

	if (len >= size - have)
		return false;
	memcpy(path + have, text, len);
	path[have + len] = '\0';
	return true;
}

/* Where cgroup hierarchies are mounted by convention, below /sys. */
static const struct {
	const char *mount, *file;
	bool v2;
} hierarchies[] = {
	{"fs/cgroup/cpuset", "cpuset.effective_cpus", false},
	{"fs/cgroup/cpuset,cpu,cpuacct", "cpuset.effective_cpus", false},
	{"fs/cgroup", "cpuset.cpus.effective", true},
	{"fs/cgroup/unified", "cpuset.cpus.effective", true},
};

/* The cpuset of a cgroup, or of its nearest ancestor that has one: without the
 * controller a cgroup of version 2 has no file of its own. */
static int read_effective(int sys_fd, const char *mount, const char *file,
			  const struct nb_cursor *cgroup, struct nb_bitmap *ret)
{
	size_t len = (size_t)(cgroup->end - cgroup->p);
	char path[4096];
	int r;

	for (;;) {
		path[0] = '\0';
		if (!append(path, sizeof(path), mount, strlen(mount)) ||
		    !append(path, sizeof(path), cgroup->p, len) ||
		    !append(path, sizeof(path), "/", 1) ||
		    !append(path, sizeof(path), file, strlen(file)))
			return -ENAMETOOLONG;
		r = read_list(sys_fd, path, ret);
		if (r != -ENOENT || len == 0)
			return r;
		while (len > 0 && cgroup->p[--len] != '/')
			;
	}
}

static int read_cpuset(const struct nb_procfs *fs, int task_fd, struct nb_bitmap *ret)
{
	_cleanup_text_ struct nb_text text = {};
	struct nb_cgroup_paths paths;
	int r;

	r = nb_text_read(&text, task_fd, "cgroup");
	if (r == -ENOENT)
		return -ENODATA; /* a kernel without cgroups; a task that is gone is ESRCH */
	if (r < 0)
		return r;
	r = nb_parse_cgroup(text.data, text.len, &paths);
	if (r < 0)
		return -ENODATA;
	for (size_t i = 0; i < sizeof(hierarchies) / sizeof(*hierarchies); i++) {
		const struct nb_cursor *p = hierarchies[i].v2 ? &paths.v2 : &paths.cpuset;

		/* Outside of our own cgroup namespace the path starts with "/..". */
		if (p->p == p->end || *p->p != '/' ||
		    (p->end - p->p >= 3 && memcmp(p->p, "/..", 3) == 0))
			continue;
		r = read_effective(fs->sys_fd, hierarchies[i].mount, hierarchies[i].file, p, ret);
		if (r == -ENOMEM)
			return r;
		if (r == 0 && !nb_bitmap_empty(ret))
			return 0;
	}
	return -ENODATA;
}

int nb_bounds_read(const struct nb_procfs *fs, int task_fd, struct nb_bounds *l)
{
	int r;

	r = read_machine(fs, l);
	if (r < 0)
		return r;
	r = read_cpuset(fs, task_fd, &l->cpuset);
	if (r == -ESRCH || r == -ENOMEM)
		return r;
	l->cpuset_known = r == 0;
	if (l->cpuset_known)
		nb_bitmap_and(&l->cpuset, &l->online);
	else if ((r = nb_bitmap_copy(&l->cpuset, &l->online)) < 0)
		return r;
	r = nb_bitmap_copy(&l->allowed, &l->cpuset);
	if (r < 0)
		return r;
	nb_bitmap_andnot(&l->allowed, &l->isolated);
	return 0;
}

/* Whether a ∩ within equals b ∩ within. */
static bool equal_within(const struct nb_bitmap *a, const struct nb_bitmap *b,
			 const struct nb_bitmap *within)
{
	NB_BITMAP_FOREACH(bit, within)
		if (nb_bitmap_test(a, (unsigned)bit) != nb_bitmap_test(b, (unsigned)bit))
			return false;
	return true;
}

bool nb_bounds_explain(const struct nb_bounds *l, const struct nb_bitmap *given,
		       const struct nb_bitmap *now)
{
	if (equal_within(given, now, &l->online))
		return true;
	if (!l->cpuset_known)
		return false;
	if (nb_bitmap_intersects(given, &l->cpuset)) {
		/* now = given ∩ cpuset */
		NB_BITMAP_FOREACH(bit, now)
			if (nb_bitmap_test(&l->online, (unsigned)bit) &&
			    !nb_bitmap_test(&l->cpuset, (unsigned)bit))
				return false;
		return equal_within(given, now, &l->cpuset);
	}
	return equal_within(now, &l->cpuset, &l->online);
}
