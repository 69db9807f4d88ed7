/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "linux/sample_parts.h"

#define LONG_BITS (CHAR_BIT * sizeof(unsigned long))

/* The kernel refuses a mask that is shorter than its own. */
static int live_affinity(struct nb_sampler *s, int tid, struct nb_bitmap *ret)
{
	for (;;) {
		long n = s->affinity_bytes ? syscall(SYS_sched_getaffinity, tid, s->affinity_bytes,
						     s->affinity)
					   : -1;
		int error = s->affinity_bytes ? errno : EINVAL;
		size_t bytes = s->affinity_bytes ? s->affinity_bytes * 2 : 128;
		unsigned long *p;

		if (n >= 0) {
			nb_bitmap_zero(ret);
			for (size_t i = 0; i < (size_t)n / sizeof(unsigned long); i++)
				for (unsigned long word = s->affinity[i]; word; word &= word - 1) {
					unsigned bit = (unsigned)__builtin_ctzl(word);
					int r = nb_bitmap_set(ret, (unsigned)(i * LONG_BITS) + bit);

					if (r < 0)
						return r;
				}
			return 0;
		}
		if (error != EINVAL || bytes > NB_BITMAP_MAX_BITS / CHAR_BIT)
			return -error;
		p = realloc(s->affinity, bytes);
		if (!p)
			return -ENOMEM;
		s->affinity = p;
		s->affinity_bytes = bytes;
	}
}

int nb_sample_affinity(struct nb_sampler *s, int pid, int tid, struct nb_bitmap *ret)
{
	char path[64];
	int r;

	if (s->fs.live)
		return live_affinity(s, tid, ret);
	snprintf(path, sizeof(path), "%d/task/%d/status", pid, tid);
	r = nb_text_read(&s->text, s->fs.proc_fd, path);
	if (r == -ENOENT) { /* a dump may have the main thread's only */
		snprintf(path, sizeof(path), "%d/status", pid);
		r = nb_text_read(&s->text, s->fs.proc_fd, path);
	}
	if (r < 0)
		return r;
	r = nb_parse_status(s->text.data, s->text.len, &s->status);
	if (r < 0)
		return r;
	if (!(s->status.valid & NB_STATUS_CPUS))
		return 1;
	return nb_bitmap_copy(ret, &s->status.cpus);
}

/* What a task of this group could use if nobody had given it a mask. */
static int allowed_set(struct nb_sampler *s, const struct nb_cgroup *group, struct nb_bitmap *ret)
{
	const struct nb_bitmap *usable = &s->topology.usable;
	int r;

	if (group && group->cpus_known)
		r = nb_bitmap_copy(ret, &group->cpus);
	else if ((group && group->unlimited) || nb_bitmap_empty(&s->init_mask))
		r = nb_bitmap_copy(ret, usable);
	else
		r = nb_bitmap_copy(ret, &s->init_mask);
	if (r == 0)
		nb_bitmap_and(ret, usable);
	return r;
}

/* A thread may be in another cgroup than its process: threaded mode, or version 1.
 * 1: this one is, and s->thread_allowed is its set. */
static int own_group(struct nb_sampler *s, int pid, int tid, const struct nb_cgroup *process)
{
	const struct nb_cgroup *group = NULL;
	char path[64];
	int r;

	snprintf(path, sizeof(path), "%d/task/%d/cgroup", pid, tid);
	r = nb_text_read(&s->cgroup_text, s->fs.proc_fd, path);
	if (r == 0)
		r = nb_cgroups_get(s->cgroups, s->cgroup_text.data, s->cgroup_text.len, &group);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	if (group == process)
		return 0;
	r = allowed_set(s, group, &s->thread_allowed);
	return r < 0 ? r : 1;
}

/* Whose mask it is: s->original is the thread's own. */
static int find_original(struct nb_sampler *s, struct nb_key process, int32_t ppid,
			 struct nb_key thread)
{
	if (s->masks) {
		switch (s->mask_owner(s->masks, process, ppid, thread, &s->current, &s->original)) {
		case NB_MASK_OURS:
			return 0;
		case NB_MASK_OWN:
		case NB_MASK_OVERRULED:
			break;
		}
	}
	return nb_bitmap_copy(&s->original, &s->current);
}

/* One thread, whose current and original masks are known. */
static int show_masks(struct nb_sampler *s, struct nb_process *p, struct nb_thread *thread,
		      const struct nb_cgroup *group)
{
	const struct nb_bitmap *allowed = &s->allowed;
	bool narrower;
	int r;

	r = nb_snapshot_intern_mask(s->snap, &s->current, &thread->current);
	if (r < 0)
		return r;
	narrower = !nb_bitmap_subset(allowed, &s->original);
	/* Start-up options of the kernel and of init are inherited by everything. */
	if (narrower && nb_bitmap_equal(&s->original, &s->init_mask))
		narrower = false;
	if (narrower && !(p->flags & NB_PROC_PINNED)) {
		r = own_group(s, p->key.pid, thread->key.pid, group);
		if (r < 0)
			return r;
		if (r > 0) {
			allowed = &s->thread_allowed;
			narrower = !nb_bitmap_subset(allowed, &s->original);
		}
	}
	if (narrower)
		p->flags |= NB_PROC_PINNED;
	r = nb_bitmap_copy(&s->wide, &s->original);
	if (r < 0)
		return r;
	nb_bitmap_and(&s->wide, allowed);
	/* On isolated CPUs only, put there by its owner: there is no other place. */
	if (nb_bitmap_empty(&s->wide)) {
		p->flags |= NB_PROC_PINNED;
		r = nb_bitmap_copy(&s->wide, &s->current);
		if (r < 0)
			return r;
	}
	r = nb_snapshot_intern_mask(s->snap, &s->wide, &thread->mask);
	if (r == 0)
		r = nb_bitmap_or(&s->all, &s->wide);
	if (r < 0)
		return r;
	thread->valid |= NB_VALID_MASK;
	return 0;
}

int nb_sample_masks(struct nb_sampler *s, struct nb_seen *seen, int32_t ppid,
		    const struct nb_cgroup *group)
{
	struct nb_process *p = &s->snap->processes[s->snap->n_processes - 1];
	bool known = false;
	int r;

	r = allowed_set(s, group, &s->allowed);
	if (r < 0)
		return r;
	nb_bitmap_zero(&s->all);
	for (uint32_t i = 0; i < p->n_threads; i++) {
		struct nb_thread *thread = &s->snap->threads[p->first_thread + i];

		r = nb_sample_affinity(s, seen->key.pid, thread->key.pid, &s->current);
		if (r == -ENOMEM)
			return r;
		if (r != 0) {
			s->snap->gone_tasks += nb_gone(r);
			continue;
		}
		r = find_original(s, p->key, ppid, thread->key);
		if (r == 0)
			r = show_masks(s, p, thread, group);
		if (r < 0)
			return r;
		known = true;
	}
	if (!known)
		return 0;
	p->valid |= NB_VALID_MASK;
	return nb_snapshot_intern_mask(s->snap, &s->all, &p->allowed);
}
