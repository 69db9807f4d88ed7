/* SPDX-License-Identifier: MIT */
#include "linux/affinity.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "linux/task.h"

/* New threads inherit the mask of one that has ours already, so the second pass
 * nearly always finds nothing to set; a process that forks threads faster than they
 * can be listed must not keep a worker for ever. */
#define MAX_PASSES 5

#define SETTLE_STEP_US 5000

struct pass {
	struct nb_mask_item *items;
	size_t n, cap;
};

/* Ascending, as nb_ids_read() gives them. */
struct done {
	int32_t *tids;
	size_t n, cap;
};

static int compare_tids(const void *a, const void *b)
{
	const int32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static bool is_done(const struct done *d, int32_t tid)
{
	return d->n > 0 && bsearch(&tid, d->tids, d->n, sizeof(tid), compare_tids);
}

static int remember(struct done *d, const struct pass *p)
{
	int32_t *tids = reallocarray(d->tids, d->n + p->n + 1, sizeof(*tids));

	if (!tids)
		return -ENOMEM;
	d->tids = tids;
	for (size_t i = 0; i < p->n; i++)
		d->tids[d->n++] = p->items[i].thread.pid;
	qsort(d->tids, d->n, sizeof(*d->tids), compare_tids);
	return 0;
}

/* The threads that were not seen yet. */
static int list_new(int task_fd, const struct done *d, struct nb_ids *ids, struct pass *p,
		    uint32_t *gone)
{
	int r;

	p->n = 0;
	r = nb_ids_read(ids, task_fd, "task");
	if (r < 0)
		return nb_gone(r) ? -ESRCH : r;
	if (ids->n > p->cap) {
		struct nb_mask_item *items = reallocarray(p->items, ids->n, sizeof(*items));

		if (!items)
			return -ENOMEM;
		p->items = items;
		p->cap = ids->n;
	}
	for (size_t i = 0; i < ids->n; i++) {
		struct nb_stat stat;
		char path[40];

		if (is_done(d, ids->items[i].id))
			continue;
		snprintf(path, sizeof(path), "task/%d/stat", ids->items[i].id);
		r = nb_task_stat(task_fd, path, &stat);
		if (r == -ENOMEM)
			return r;
		if (r < 0) {
			*gone += 1;
			continue;
		}
		p->items[p->n++] = (struct nb_mask_item){
			.thread = {.pid = ids->items[i].id, .start = stat.start},
		};
	}
	return 0;
}

static void add_up(struct nb_affinity_result *res, const struct pass *p)
{
	for (size_t i = 0; i < p->n; i++) {
		int e = p->items[i].error;

		if (e == 0) {
			res->threads_set++;
		} else if (e == -ESRCH) {
			res->threads_gone++;
		} else {
			res->threads_failed++;
			if (res->error == 0)
				res->error = -e;
		}
	}
}

int nb_affinity_apply(struct nb_masks *m, const struct nb_procfs *fs, struct nb_key process,
		      const struct nb_bitmap *cpus, struct nb_affinity_result *ret)
{
	struct nb_affinity_result res = {};
	_cleanup_close_ int task_fd = -1;
	struct nb_ids ids = {};
	struct done done = {};
	struct pass pass = {};
	int r;

	r = nb_task_open(fs->proc_fd, process, &task_fd);
	for (int i = 0; r == 0 && i < MAX_PASSES; i++) {
		r = list_new(task_fd, &done, &ids, &pass, &res.threads_gone);
		if (r < 0 || pass.n == 0)
			break;
		r = nb_masks_apply(m, process, cpus, pass.items, pass.n);
		if (r < 0)
			break;
		add_up(&res, &pass);
		r = remember(&done, &pass);
	}
	nb_ids_done(&ids);
	free(pass.items);
	free(done.tids);
	if (r < 0)
		return r;
	*ret = res;
	return 0;
}

/* Whether some thread still runs where it must not be. */
static bool astray(int task_fd, const struct nb_bitmap *cpus, struct nb_ids *ids)
{
	if (nb_ids_read(ids, task_fd, "task") < 0)
		return false;
	for (size_t i = 0; i < ids->n; i++) {
		struct nb_stat stat;
		char path[40];

		snprintf(path, sizeof(path), "task/%d/stat", ids->items[i].id);
		if (nb_task_stat(task_fd, path, &stat) == 0 && stat.state == 'R' &&
		    !nb_bitmap_test(cpus, stat.processor))
			return true;
	}
	return false;
}

void nb_affinity_settle(const struct nb_procfs *fs, const struct nb_syscalls *sys,
			struct nb_key process, const struct nb_bitmap *cpus, uint64_t limit_us)
{
	uint64_t end = sys->now_us() + limit_us;
	_cleanup_close_ int task_fd = -1;
	struct nb_ids ids = {};

	if (nb_task_open(fs->proc_fd, process, &task_fd) < 0)
		return;
	while (astray(task_fd, cpus, &ids) && sys->now_us() < end)
		sys->sleep_us(SETTLE_STEP_US);
	nb_ids_done(&ids);
}
