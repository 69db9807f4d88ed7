/* SPDX-License-Identifier: MIT */
#include "linux/bounds.h"

#include <errno.h>

#include "linux/cgroup.h"

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

static int read_cpuset(const struct nb_procfs *fs, int task_fd, struct nb_bounds *l)
{
	_cleanup_text_ struct nb_text text = {};
	const struct nb_cgroup *group;
	struct nb_cgroups *cgroups;
	int r;

	nb_bitmap_zero(&l->cpuset);
	r = nb_text_read(&text, task_fd, "cgroup");
	if (r == -ENOENT)
		return 0; /* a kernel without cgroups; of a task that is gone it is ESRCH */
	if (r < 0)
		return r == -ENOMEM || r == -ESRCH ? r : 0;
	r = nb_cgroups_new(fs, &cgroups);
	if (r < 0)
		return r;
	r = nb_cgroups_begin(cgroups);
	if (r == 0)
		r = nb_cgroups_get(cgroups, text.data, text.len, &group);
	if (r == 0 && group->unlimited)
		r = nb_bitmap_copy(&l->cpuset, &l->online);
	else if (r == 0 && group->cpus_known)
		r = nb_bitmap_copy(&l->cpuset, &group->cpus);
	if (r == 0)
		r = nb_bitmap_or(&l->isolated, nb_cgroups_partitions(cgroups));
	nb_cgroups_free(cgroups);
	return r == -ENOMEM ? r : 0;
}

int nb_bounds_read(const struct nb_procfs *fs, int task_fd, struct nb_bounds *l)
{
	int r;

	r = read_machine(fs, l);
	if (r < 0)
		return r;
	r = read_cpuset(fs, task_fd, l);
	if (r < 0)
		return r;
	nb_bitmap_and(&l->cpuset, &l->online);
	l->cpuset_known = !nb_bitmap_empty(&l->cpuset);
	if (!l->cpuset_known && (r = nb_bitmap_copy(&l->cpuset, &l->online)) < 0)
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
	NB_BITMAP_FOREACH (bit, within)
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
		NB_BITMAP_FOREACH (bit, now)
			if (nb_bitmap_test(&l->online, (unsigned)bit) &&
			    !nb_bitmap_test(&l->cpuset, (unsigned)bit))
				return false;
		return equal_within(given, now, &l->cpuset);
	}
	return equal_within(now, &l->cpuset, &l->online);
}
