/* SPDX-License-Identifier: MIT */
#include "linux/perform.h"

#include <errno.h>

#include "linux/affinity.h"
#include "linux/pages.h"
#include "linux/task.h"

/* hold = nudge: threads that run move within a tick or two of the scheduler. */
#define NUDGE_LIMIT_US 100000

/* File pages among those on the sources up to which a whole process may be migrated. */
#define FILE_SHARE 100

static void set_error(struct nb_outcome *o, int negative)
{
	if (o->error == 0)
		o->error = -negative;
}

static void cpu_part(const struct nb_perform *p, const struct nb_job *j, struct nb_outcome *o)
{
	const struct nb_bitmap *cpus = j->action.release ? NULL : &j->cpus;
	struct nb_affinity_result res = {}, back = {};
	int r;

	r = nb_affinity_apply(p->masks, p->fs, j->action.key, cpus, &res);
	if (r < 0) {
		set_error(o, r);
		return;
	}
	o->threads_set = res.threads_set;
	o->threads_failed = res.threads_failed;
	if (res.threads_set == 0)
		set_error(o, res.error ? -res.error : -ESRCH);
	if (!cpus || j->settings.hold != NB_HOLD_NUDGE || res.threads_set == 0)
		return;
	nb_affinity_settle(p->fs, p->sys, j->action.key, cpus, NUDGE_LIMIT_US);
	r = nb_affinity_apply(p->masks, p->fs, j->action.key, NULL, &back);
	if (r < 0)
		set_error(o, r);
}

/* migrate_pages cannot choose among the pages of a process, cannot be stopped and knows
 * no rate: only for small ones that hardly have anything but anonymous memory. */
static bool whole(const struct nb_job *j, const struct nb_ranges *ranges)
{
	const struct nb_settings *s = &j->settings;
	uint64_t budget = j->action.bytes + j->action.bytes / 4;

	switch (s->mover) {
	case NB_MOVER_MIGRATE_PAGES:
		return true;
	case NB_MOVER_MOVE_PAGES:
		return false;
	case NB_MOVER_AUTO:
		return s->rate_limit_bps == 0 && ranges->all_bytes <= s->whole_limit_bytes &&
		       (budget == 0 || ranges->all_bytes <= budget) &&
		       (s->file_pages || (!ranges->dirty_files &&
					  ranges->file_bytes <= ranges->all_bytes / FILE_SHARE)) &&
		       (s->huge_pages || ranges->hugetlb_bytes == 0);
	}
	return false;
}

static struct nb_bucket *choose_bucket(const struct nb_perform *p, const struct nb_settings *s,
				       struct nb_bucket *own)
{
	if (s->rate_limit_bps == 0)
		return NULL;
	switch (s->rate_limit_scope) {
	case NB_RATE_NODE:
		return p->node_bucket;
	case NB_RATE_PROCESS:
		return own;
	case NB_RATE_ALL:
		return p->all_bucket;
	}
	return p->all_bucket;
}

static int move(const struct nb_page_move *move, const struct nb_job *j, struct nb_page_result *res)
{
	_cleanup_ranges_ struct nb_ranges ranges = {};
	int r;

	r = nb_ranges_read(move->task_fd,
			   &(struct nb_range_options){
				   .from = &j->mem_from,
				   .file_pages = j->settings.file_pages,
				   .huge_pages = j->settings.huge_pages,
			   },
			   &ranges);
	if (r < 0)
		return r;
	if (whole(j, &ranges)) {
		if (ranges.all_bytes == 0)
			return 0;
		r = nb_pages_check_target(move, ranges.all_bytes);
		return r < 0 ? r : nb_pages_migrate(move, res);
	}
	if (ranges.n == 0)
		return 0;
	r = nb_pages_check_target(move, j->action.bytes && j->action.bytes < ranges.bytes
						? j->action.bytes
						: ranges.bytes);
	return r < 0 ? r : nb_pages_move(move, &ranges, res);
}

/* A task without memory is refused as a wrong argument would be: it is ending. */
static bool ending(int task_fd)
{
	struct nb_stat stat;
	int r = nb_task_stat(task_fd, "stat", &stat);

	return r == -ESRCH || (r == 0 && (stat.state == 'Z' || stat.state == 'X'));
}

static void memory_part(const struct nb_perform *p, const struct nb_job *j, struct nb_outcome *o)
{
	struct nb_bucket own = NB_BUCKET_INIT;
	struct nb_page_result res = {};
	_cleanup_close_ int task_fd = -1;
	int r;

	r = nb_task_open(p->fs->proc_fd, j->action.key, &task_fd);
	if (r == 0)
		r = move(
			&(struct nb_page_move){
				.sys = p->sys,
				.fs = p->fs,
				.key = j->action.key,
				.task_fd = task_fd,
				.from = &j->mem_from,
				.to = j->mem_to,
				.budget_bytes = j->action.bytes,
				.settings = &j->settings,
				.bucket = choose_bucket(p, &j->settings, &own),
				.stop = p->stop,
				.stop_arg = p->stop_arg,
			},
			j, &res);
	if (r == -EINVAL && ending(task_fd))
		r = -ESRCH;
	if (r < 0)
		set_error(o, r);
	o->bytes_moved = res.bytes_moved;
	for (int i = 0; i < NB_REFUSED_COUNT; i++)
		o->pages_refused[i] = res.pages_refused[i];
}

void nb_perform(const struct nb_perform *p, const struct nb_job *j, struct nb_outcome *o)
{
	if (j->action.what & NB_CPU)
		cpu_part(p, j, o);
	/* Memory does not go where the threads could not. */
	if (j->action.what & NB_MEMORY && o->error == 0)
		memory_part(p, j, o);
}
