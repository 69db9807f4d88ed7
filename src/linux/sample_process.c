/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "linux/sample_parts.h"

/* What is shown of processes that are too small; not of all in one tick. */
#define REFRESH_US 10000000u
#define SPREAD_US 10000000u

static bool due(const struct nb_seen *seen, uint64_t last_us, uint64_t now_us)
{
	uint64_t spread = (uint32_t)seen->key.pid * 2654435761u % SPREAD_US;

	return !last_us || now_us >= last_us + REFRESH_US + spread;
}

static int show_kthread(struct nb_sampler *s, struct nb_seen *seen)
{
	struct nb_process *p;
	int r = nb_snapshot_add_process(s->snap, &p);

	if (r < 0)
		return r;
	p->key = seen->key;
	memcpy(p->comm, seen->comm, sizeof(p->comm));
	p->flags = NB_PROC_KTHREAD;
	return 0;
}

static int read_status(struct nb_sampler *s, struct nb_seen *seen)
{
	char path[32];
	int r;

	snprintf(path, sizeof(path), "%d/status", (int)seen->key.pid);
	r = nb_text_read(&s->text, s->fs.proc_fd, path);
	if (r < 0)
		return r;
	r = nb_parse_status(s->text.data, s->text.len, &seen->status);
	if (r < 0)
		return r;
	seen->status_us = s->snap->at_us + 1; /* never 0 */
	return 0;
}

/* NULL in ret_group: it is not known. */
static int read_cgroup(struct nb_sampler *s, struct nb_seen *seen,
		       const struct nb_cgroup **ret_group)
{
	const struct nb_cgroup *group = NULL;
	char path[32], *name;
	int r;

	snprintf(path, sizeof(path), "%d/cgroup", (int)seen->key.pid);
	r = nb_text_read(&s->cgroup_text, s->fs.proc_fd, path);
	if (r == 0)
		r = nb_cgroups_get(s->cgroups, s->cgroup_text.data, s->cgroup_text.len, &group);
	if (r == -ENOMEM)
		return r;
	seen->cgroup_us = s->snap->at_us + 1;
	*ret_group = group;
	if (!group) {
		free(seen->cgroup);
		seen->cgroup = NULL;
	} else if (!seen->cgroup || strcmp(seen->cgroup, group->path) != 0) {
		name = strdup(group->path);
		if (!name)
			return -ENOMEM;
		free(seen->cgroup);
		seen->cgroup = name;
	}
	return 0;
}

/* Dense nodes that it may have memory on. */
static int show_mems(struct nb_sampler *s, struct nb_process *p, const struct nb_seen *seen,
		     const struct nb_cgroup *group)
{
	const struct nb_bitmap *ids = NULL;
	int r;

	if (seen->status.valid & NB_STATUS_MEMS)
		ids = &seen->status.mems;
	else if (group && group->mems_known)
		ids = &group->mems;
	if (!ids)
		return 0;
	nb_bitmap_zero(&s->wide);
	NB_BITMAP_FOREACH (id, ids) {
		uint32_t node = nb_topology_dense(&s->topology, (uint32_t)id);

		if (node == NB_NO_NODE)
			continue; /* possible, not online */
		r = nb_bitmap_set(&s->wide, node);
		if (r < 0)
			return r;
	}
	r = nb_snapshot_intern_mask(s->snap, &s->wide, &p->mems);
	if (r < 0)
		return r;
	p->valid |= NB_VALID_MEMS;
	return 0;
}

static int show_names(struct nb_sampler *s, struct nb_process *p, const struct nb_seen *seen)
{
	const char *user;
	int r = 0;

	if (seen->cgroup)
		r = nb_snapshot_intern_str(s->snap, seen->cgroup, &p->cgroup);
	if (r < 0 || !(seen->status.valid & NB_STATUS_UID))
		return r;
	p->uid = seen->status.uid;
	r = nb_users_name(&s->users, p->uid, &user);
	return r < 0 ? r : nb_snapshot_intern_str(s->snap, user, &p->user);
}

/* The whole process as one entry (see linux/sample.h). */
static int show_whole(struct nb_sampler *s, struct nb_process *p, const struct nb_stat *stat)
{
	struct nb_thread *thread;
	int r = nb_snapshot_add_thread(s->snap, &thread);

	if (r < 0)
		return r;
	thread->key = (struct nb_key){.pid = -p->key.pid, .start = p->key.start};
	thread->run_ns = (stat->utime + stat->stime) * s->tick_ns;
	thread->last_cpu = stat->processor;
	thread->state = stat->state;
	thread->valid = NB_VALID_RUN | NB_VALID_LAST_CPU;
	if (stat->policy == 1 || stat->policy == 2 || stat->policy == 6)
		p->flags |= NB_PROC_REALTIME;
	if (stat->flags & NB_PF_NO_SETAFFINITY)
		p->flags |= NB_PROC_NO_AFFINITY;
	return 0;
}

static int note_unit(struct nb_sampler *s)
{
	if (s->n_units == s->cap_units) {
		uint32_t cap = s->cap_units ? s->cap_units * 2 : 64;
		uint32_t *p = reallocarray(s->units, cap, sizeof(*p));

		if (!p)
			return -ENOMEM;
		s->units = p;
		s->cap_units = cap;
	}
	s->units[s->n_units++] = s->snap->n_processes - 1;
	return 0;
}

/* 1: gone. p is the last process of the snapshot. */
static int fill_process(struct nb_sampler *s, struct nb_process *p, struct nb_seen *seen)
{
	const struct nb_stat *stat = &s->stat;
	uint64_t now = s->snap->at_us, rss = stat->rss_pages * s->page_bytes;
	uint64_t least = s->config->select.min_memory_bytes;
	bool exiting = stat->state == 'Z' || stat->state == 'X' || stat->state == 'x';
	const struct nb_cgroup *group = NULL;
	bool unit;
	int r;

	if (exiting)
		p->flags |= NB_PROC_EXITING;
	if (p->key.pid == s->own_pid)
		p->flags |= NB_PROC_SELF;
	if (nb_is_service(p->key.pid, p->comm))
		p->flags |= NB_PROC_SERVICE;
	/* stat's size has no hugetlb pages in it; those are looked for now and then. */
	if (rss >= least || due(seen, seen->status_us, now) || seen->status.huge_bytes >= least) {
		r = read_status(s, seen);
		if (nb_gone(r))
			return 1;
		if (r == -ENOMEM)
			return r;
	}
	p->rss_bytes =
		seen->status.valid & NB_STATUS_RSS && rss >= least ? seen->status.rss_bytes : rss;
	p->anon_bytes = seen->status.valid & NB_STATUS_ANON ? seen->status.anon_bytes : rss;
	p->file_bytes = seen->status.file_bytes;
	p->huge_bytes = seen->status.huge_bytes;
	unit = !exiting && p->anon_bytes + p->huge_bytes >= least;
	if (unit || due(seen, seen->cgroup_us, now)) {
		r = read_cgroup(s, seen, &group);
		if (r < 0)
			return r;
	}
	r = show_names(s, p, seen);
	if (r == 0)
		r = show_mems(s, p, seen, group);
	if (r < 0)
		return r;
	if (!unit) {
		if (seen->n_threads) {
			for (uint32_t i = 0; i < seen->n_threads; i++)
				nb_seen_close_files(&s->seen, &seen->threads[i]);
			seen->n_threads = 0;
			seen->threads_us = 0;
		}
		return show_whole(s, p, stat);
	}
	r = nb_sample_threads(s, seen, stat);
	if (r != 0)
		return r;
	p = &s->snap->processes[s->snap->n_processes - 1];
	if (p->n_threads == 0)
		return 1;
	r = nb_sample_masks(s, seen, stat->ppid, group);
	return r < 0 ? r : note_unit(s);
}

int nb_sample_process(struct nb_sampler *s, const struct nb_id *id)
{
	struct nb_seen *seen = nb_seen_find(&s->seen, id->id);
	struct nb_process *p;
	char path[32];
	int r;

	/* Kernel threads do not change; a process that got the number of one has
	 * another directory. */
	if (seen && seen->kthread && seen->inode == id->inode && s->fs.live) {
		seen->tick = s->tick;
		return show_kthread(s, seen);
	}
	snprintf(path, sizeof(path), "%d/stat", id->id);
	r = nb_text_read(&s->text, s->fs.proc_fd, path);
	if (r == -ENOMEM)
		return r;
	if (r < 0) {
		s->snap->gone_tasks++;
		return 0;
	}
	r = nb_parse_stat(s->text.data, s->text.len, &s->stat);
	if (r < 0 || s->stat.pid != id->id) {
		s->snap->rejected_rows++;
		return 0;
	}
	if (seen && seen->key.start != s->stat.start) {
		nb_seen_remove(&s->seen, id->id);
		seen = NULL;
	}
	if (!seen) {
		struct nb_key key = {.pid = id->id, .start = s->stat.start};

		r = nb_seen_add(&s->seen, key, &seen);
		if (r < 0)
			return r;
	}
	seen->tick = s->tick;
	seen->inode = id->inode;
	memcpy(seen->comm, s->stat.comm, sizeof(seen->comm));
	/* Some helpers of the kernel are not marked, but have no memory of their own. */
	seen->kthread = s->stat.flags & NB_PF_KTHREAD;
	if (seen->kthread || (s->stat.vsize_bytes == 0 && strchr("ZXx", s->stat.state) == NULL))
		return show_kthread(s, seen);

	r = nb_snapshot_add_process(s->snap, &p);
	if (r < 0)
		return r;
	p->key = seen->key;
	memcpy(p->comm, seen->comm, sizeof(p->comm));
	r = fill_process(s, p, seen);
	if (r <= 0)
		return r;
	nb_snapshot_drop_process(s->snap);
	s->snap->gone_tasks++;
	return 0;
}
