/* SPDX-License-Identifier: MIT */
/* The chunked mover: goal, limits, stops and helpers around the windows. */
#include "linux/pages.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "linux/pages_priv.h"
#include "linux/parse.h"
#include "linux/task.h"

/* Identity, cpuset and room are looked at again after so many bytes, or a chunk's time. */
#define CHECK_BYTES (UINT64_C(32) << 20)

/* A rate limit is kept over so long a time. */
#define RATE_SLICE_US 100000

/* How soon a stop is seen while a rate limit is waited for. */
#define SLEEP_STEP_US 20000

/* Beyond the budget, which was an estimate: what is left behind by a hair's breadth
 * would only need another action. */
#define BUDGET_SLACK 8

static uint64_t read_huge_bytes(const struct nb_procfs *fs)
{
	_cleanup_text_ struct nb_text text = {};
	uint64_t v;

	if (nb_text_read(&text, fs->sys_fd, "kernel/mm/transparent_hugepage/hpage_pmd_size") < 0 ||
	    nb_parse_u64(text.data, text.len, &v) < 0)
		return 0;
	return v;
}

static int thread_init(struct nb_page_thread *t, struct nb_page_job *job)
{
	*t = (struct nb_page_thread){.job = job};
	nb_chunk_init(&t->chunk, job->p->settings->chunk_time_us);
	t->addresses = calloc(NB_CALL_MAX, sizeof(*t->addresses));
	t->nodes = calloc(NB_CALL_MAX, sizeof(*t->nodes));
	t->status = calloc(NB_CALL_MAX, sizeof(*t->status));
	t->blocks = calloc(NB_CALL_MAX, sizeof(*t->blocks));
	t->large = calloc(NB_CALL_MAX, sizeof(*t->large));
	return t->addresses && t->nodes && t->status && t->blocks && t->large ? 0 : -ENOMEM;
}

static void thread_done(struct nb_page_thread *t)
{
	free(t->addresses);
	free(t->nodes);
	free(t->status);
	free(t->blocks);
	free(t->large);
}

/* What this thread did goes to the sum; returns the sum of bytes. */
static uint64_t hand_in(struct nb_page_thread *t)
{
	struct nb_page_job *job = t->job;
	uint64_t total;

	pthread_mutex_lock(&job->lock);
	job->res.bytes_moved += t->res.bytes_moved;
	for (int i = 0; i < NB_REFUSED_COUNT; i++)
		job->res.pages_refused[i] += t->res.pages_refused[i];
	total = job->res.bytes_moved;
	pthread_mutex_unlock(&job->lock);
	t->res = (struct nb_page_result){};
	return total;
}

static bool stopped(const struct nb_page_move *p)
{
	return p->stop && p->stop(p->stop_arg);
}

static int wait_for_rate(const struct nb_page_move *p)
{
	uint64_t us;

	if (!p->bucket)
		return 0;
	while ((us = nb_bucket_wait_us(p->bucket, p->sys->now_us())) > 0) {
		if (stopped(p))
			return -ECANCELED;
		p->sys->sleep_us(us < SLEEP_STEP_US ? us : SLEEP_STEP_US);
	}
	return 0;
}

/* The size of the next chunk under all limits. */
static uint64_t chunk_size(const struct nb_page_thread *t)
{
	const struct nb_settings *s = t->job->p->settings;
	uint64_t bytes = t->chunk.bytes, slice;

	if (t->job->p->bucket) {
		slice = (uint64_t)((unsigned __int128)s->rate_limit_bps * RATE_SLICE_US / 1000000);
		if (bytes > slice)
			bytes = slice > t->job->page_bytes ? slice : t->job->page_bytes;
	}
	return bytes;
}

/* Everything that may end the job between two chunks. */
static int stop_point(struct nb_page_thread *t, uint64_t bytes)
{
	const struct nb_page_move *p = t->job->p;
	struct nb_stat stat;
	uint64_t now;
	int r;

	if (stopped(p))
		return -ECANCELED;
	r = wait_for_rate(p);
	if (r < 0)
		return r;
	now = p->sys->now_us();
	if (t->checked_us && now - t->checked_us < p->settings->chunk_time_us &&
	    bytes <= t->checked_bytes) {
		t->checked_bytes -= bytes;
		return 0;
	}
	r = nb_task_stat(p->task_fd, "stat", &stat);
	if (r < 0)
		return r;
	if (stat.start != p->key.start)
		return -ESRCH;
	r = nb_pages_check_target(p, bytes > CHECK_BYTES ? bytes : CHECK_BYTES);
	t->checked_bytes = r == 0 && bytes < CHECK_BYTES ? CHECK_BYTES - bytes : 0;
	if (r == -ENOMEM && bytes < CHECK_BYTES)
		r = nb_pages_check_target(p, bytes); /* the last of it may still fit */
	t->checked_us = now;
	return r;
}

static bool over_budget(const struct nb_page_move *p, uint64_t moved)
{
	return p->budget_bytes > 0 && moved >= p->budget_bytes + p->budget_bytes / BUDGET_SLACK;
}

static int work(struct nb_page_thread *t)
{
	const struct nb_page_move *p = t->job->p;
	struct nb_window w;
	int r = 0;

	while (r == 0) {
		uint64_t bytes = chunk_size(t), moved;

		r = stop_point(t, bytes);
		if (r < 0 || !nb_page_job_next(t->job, bytes, &w))
			break;
		r = nb_page_window(t, &w);
		moved = t->res.bytes_moved;
		if (p->bucket && moved > 0)
			nb_bucket_pay(p->bucket, p->sys->now_us(), moved,
				      p->settings->rate_limit_bps);
		if (over_budget(p, hand_in(t)))
			break;
	}
	return r;
}

/* The loop of one thread; an error of any of them ends all at their next chunk. */
static void run(struct nb_page_job *job)
{
	struct nb_page_thread t;
	int r = thread_init(&t, job);

	if (r == 0)
		r = work(&t);
	thread_done(&t);
	pthread_mutex_lock(&job->lock);
	if (r < 0 && job->error == 0)
		job->error = r;
	if (r < 0)
		job->pass = 2;
	pthread_mutex_unlock(&job->lock);
}

static void *helper(void *job)
{
	run(job);
	return NULL;
}

int nb_pages_move(const struct nb_page_move *p, struct nb_ranges *ranges,
		  struct nb_page_result *res)
{
	struct nb_page_job job = {
		.p = p,
		.ranges = ranges,
		.page_bytes = (uint64_t)sysconf(_SC_PAGESIZE),
		.huge_bytes = read_huge_bytes(p->fs),
		.lock = PTHREAD_MUTEX_INITIALIZER,
	};
	uint32_t wanted = p->settings->mover_threads > 1 ? p->settings->mover_threads - 1 : 0;
	pthread_t *helpers = calloc(wanted + 1, sizeof(*helpers));
	uint32_t n = 0;

	if (!helpers)
		return -ENOMEM;
	job.pagemap_fd = openat(p->task_fd, "pagemap", O_RDONLY | O_CLOEXEC);
	/* Helpers are a wish: without them it only takes longer. They block signals, as
	 * the worker that starts them does. */
	while (n < wanted && pthread_create(&helpers[n], NULL, helper, &job) == 0)
		n++;
	run(&job);
	for (uint32_t i = 0; i < n; i++)
		pthread_join(helpers[i], NULL);
	free(helpers);
	nb_closep(&job.pagemap_fd);
	pthread_mutex_destroy(&job.lock);
	res->bytes_moved += job.res.bytes_moved;
	for (int i = 0; i < NB_REFUSED_COUNT; i++)
		res->pages_refused[i] += job.res.pages_refused[i];
	return job.error;
}
