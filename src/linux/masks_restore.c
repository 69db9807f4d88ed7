/* SPDX-License-Identifier: MIT */
/* Putting everything back: at the end, after a crash, and without a daemon. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "linux/masks_priv.h"
#include "linux/task.h"

/* A scan that finds heirs may be overtaken by forks; one that finds none ends it. */
#define MAX_SCANS 8

static void count(struct nb_restore_counts *c, int error)
{
	if (error == 0)
		c->restored++;
	else if (error == -ESRCH)
		c->gone++;
	else if (error == -EBUSY)
		c->foreign++;
	else
		c->failed++;
}

static int by_process(const void *a, const void *b)
{
	const struct nb_state_thread *x = a, *y = b;

	if (x->process.pid != y->process.pid)
		return x->process.pid < y->process.pid ? -1 : 1;
	if (x->process.start != y->process.start)
		return x->process.start < y->process.start ? -1 : 1;
	return (x->thread.pid > y->thread.pid) - (x->thread.pid < y->thread.pid);
}

/* A process that is gone takes the records of its threads with it. */
static void forget_process(struct nb_masks *m, struct nb_key process, struct nb_mask_item *items,
			   size_t n)
{
	pthread_mutex_lock(&m->lock);
	for (size_t i = 0; i < n; i++) {
		struct nb_mask_thread *t =
			nb_mask_table_thread(&m->table, process, items[i].thread);

		if (t)
			nb_mask_table_forget(&m->table, t);
		items[i].error = -ESRCH;
	}
	pthread_mutex_unlock(&m->lock);
}

static int release_recorded(struct nb_masks *m, struct nb_restore_counts *c)
{
	_cleanup_state_ struct nb_state s = {};
	struct nb_mask_item *items;
	int r;

	pthread_mutex_lock(&m->lock);
	r = nb_mask_table_export(&m->table, &s);
	pthread_mutex_unlock(&m->lock);
	if (r < 0 || s.n_threads == 0)
		return r;
	items = calloc(s.n_threads, sizeof(*items));
	if (!items)
		return -ENOMEM;
	qsort(s.threads, s.n_threads, sizeof(*s.threads), by_process);
	for (size_t first = 0, n; r == 0 && first < s.n_threads; first += n) {
		struct nb_key process = s.threads[first].process;

		for (n = 0;
		     first + n < s.n_threads && nb_key_equal(s.threads[first + n].process, process);
		     n++)
			items[n] = (struct nb_mask_item){.thread = s.threads[first + n].thread};
		r = nb_masks_apply(m, process, NULL, items, n);
		if (r == -ESRCH) {
			forget_process(m, process, items, n);
			r = 0;
		}
		for (size_t i = 0; r == 0 && i < n; i++)
			count(c, items[i].error);
	}
	free(items);
	return r;
}

/* Whether this thread has a mask of ours without a record. */
static bool is_heir(struct nb_masks *m, struct nb_key process, int32_t ppid, struct nb_key thread)
{
	_cleanup_bitmap_ struct nb_bitmap now = {};
	bool heir;

	if (nb_affinity_get(m->sys, thread.pid, &now) < 0)
		return false;
	pthread_mutex_lock(&m->lock);
	heir = !nb_mask_table_thread(&m->table, process, thread) &&
	       nb_masks_inherited(m, process, ppid, thread, &now);
	pthread_mutex_unlock(&m->lock);
	return heir;
}

/* Releases the threads of one process that were born with our masks. Returns their number. */
static int release_heirs_of(struct nb_masks *m, int32_t pid, struct nb_ids *tids,
			    struct nb_restore_counts *c)
{
	struct nb_mask_process *known;
	struct nb_key process;
	struct nb_stat stat;
	char path[40];
	int r, n = 0;

	snprintf(path, sizeof(path), "%d/stat", pid);
	if (nb_task_stat(m->fs.proc_fd, path, &stat) < 0 || stat.flags & NB_PF_KTHREAD)
		return 0;
	process = (struct nb_key){.pid = pid, .start = stat.start};
	pthread_mutex_lock(&m->lock);
	known = nb_mask_table_process(&m->table, pid);
	if (!known || known->key.start != process.start)
		known = nb_mask_table_process(&m->table, stat.ppid);
	pthread_mutex_unlock(&m->lock);
	if (!known)
		return 0;

	snprintf(path, sizeof(path), "%d/task", pid);
	r = nb_ids_read(tids, m->fs.proc_fd, path);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	for (size_t i = 0; i < tids->n; i++) {
		struct nb_mask_item item = {.thread.pid = tids->items[i].id};
		struct nb_stat thread;

		snprintf(path, sizeof(path), "%d/task/%d/stat", pid, item.thread.pid);
		if (nb_task_stat(m->fs.proc_fd, path, &thread) < 0)
			continue;
		item.thread.start = thread.start;
		if (!is_heir(m, process, stat.ppid, item.thread))
			continue;
		r = nb_masks_apply(m, process, NULL, &item, 1);
		if (r == -ENOMEM)
			return r;
		count(c, r < 0 ? r : item.error);
		n++;
	}
	return n;
}

static int release_heirs(struct nb_masks *m, struct nb_restore_counts *c)
{
	struct nb_ids pids = {}, tids = {};
	int r = 0;

	for (int scan = 0; scan < MAX_SCANS; scan++) {
		int found = 0;

		r = nb_ids_read(&pids, m->fs.proc_fd, ".");
		for (size_t i = 0; r >= 0 && i < pids.n; i++) {
			r = release_heirs_of(m, pids.items[i].id, &tids, c);
			found += r > 0 ? r : 0;
		}
		if (r < 0 || found == 0)
			break;
	}
	nb_ids_done(&pids);
	nb_ids_done(&tids);
	return r < 0 ? r : 0;
}

int nb_masks_restore_all(struct nb_masks *m, struct nb_restore_counts *ret)
{
	struct nb_restore_counts c = {};
	bool any;
	int r;

	pthread_mutex_lock(&m->lock);
	any = m->table.threads.n > 0 || m->table.processes.n > 0;
	m->in_bulk = true;
	pthread_mutex_unlock(&m->lock);

	r = any ? release_recorded(m, &c) : 0;
	if (r == 0 && any)
		r = release_heirs(m, &c);

	pthread_mutex_lock(&m->lock);
	m->in_bulk = false;
	if (r == 0 && c.failed == 0 && m->n_batches == 0)
		nb_mask_table_done(&m->table);
	if (any) {
		int w = nb_masks_write(m);

		if (r == 0)
			r = w;
	}
	pthread_mutex_unlock(&m->lock);
	if (r < 0)
		return r;
	*ret = c;
	return 0;
}

int nb_linux_restore(const char *state_dir, struct nb_restore_counts *ret)
{
	struct nb_masks *m;
	struct stat st;
	int r;

	if (stat(state_dir, &st) < 0) {
		if (errno != ENOENT)
			return -errno;
		*ret = (struct nb_restore_counts){};
		return 0;
	}
	r = nb_masks_new("", state_dir, &m);
	if (r < 0)
		return r;
	r = nb_masks_recovered(m, ret);
	nb_masks_free(m);
	return r;
}
