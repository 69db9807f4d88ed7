/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "linux/sample_parts.h"

#define REFRESH_US 5000000u /* for what can change while a thread is asleep */

/* Of a whole process that is asleep: others may change its threads' priorities. Not
 * all in one tick. */
#define ASLEEP_US 20000000u
#define ASLEEP_SPREAD_US 20000000u

/* The kernel's numbers; the C library names only some of them. */
#define POLICY_FIFO 1
#define POLICY_RR 2
#define POLICY_DEADLINE 6

/* Reads one of a thread's files. keep: leave it open, which makes the next reading
 * several times cheaper; it stays the file of this thread, whoever gets its number. */
static int read_file(struct nb_sampler *s, int pid, int tid, const char *name, int *fd, bool keep)
{
	char path[64];
	int r;

	if (*fd >= 0)
		return nb_text_pread(&s->text, *fd);
	snprintf(path, sizeof(path), "%d/task/%d/%s", pid, tid, name);
	if (!keep || s->seen.open_files >= s->seen.max_open_files)
		return nb_text_read(&s->text, s->fs.proc_fd, path);
	*fd = openat(s->fs.proc_fd, path, O_RDONLY | O_CLOEXEC);
	if (*fd < 0) {
		s->text.len = 0;
		return -errno;
	}
	s->seen.open_files++;
	r = nb_text_pread(&s->text, *fd);
	return r;
}

static int read_thread_stat(struct nb_sampler *s, int pid, struct nb_seen_thread *t, bool keep)
{
	struct nb_stat stat;
	int r;

	r = read_file(s, pid, t->key.pid, "stat", &t->stat_fd, keep);
	if (r < 0)
		return r;
	r = nb_parse_stat(s->text.data, s->text.len, &stat);
	if (r < 0)
		return r;
	if (t->stat_us && stat.start != t->key.start)
		return -ESRCH; /* another thread has its number now */
	t->key.start = stat.start;
	t->stat_us = s->snap->at_us + 1; /* never 0 */
	t->last_cpu = stat.processor;
	t->state = stat.state;
	t->flags = stat.flags;
	t->policy = stat.policy;
	t->valid |= NB_VALID_LAST_CPU;
	if (!(t->valid & NB_VALID_WAIT)) {
		/* No schedstat in this kernel: time comes in clock ticks. */
		t->run_ns = (stat.utime + stat.stime) * s->tick_ns;
		t->valid |= NB_VALID_RUN;
	}
	return 0;
}

static int read_thread(struct nb_sampler *s, int pid, struct nb_seen_thread *t, bool keep)
{
	uint64_t run_ns, wait_ns, now = s->snap->at_us;
	bool moved = true;
	int r;

	r = read_file(s, pid, t->key.pid, "schedstat", &t->schedstat_fd, keep);
	if (r == -ENOMEM || r == -ESRCH)
		return r;
	/* ENOENT: the thread is gone, or the kernel has no such file. stat tells. */
	if (r == 0 && nb_parse_task_schedstat(s->text.data, s->text.len, &run_ns, &wait_ns) == 0) {
		moved = run_ns != t->run_ns || !(t->valid & NB_VALID_WAIT);
		t->run_ns = run_ns;
		t->wait_ns = wait_ns;
		t->valid |= NB_VALID_RUN | NB_VALID_WAIT;
	} else {
		t->valid &= ~(uint32_t)(NB_VALID_RUN | NB_VALID_WAIT);
	}
	/* One that did not run since is where it was, and as it was. */
	if (!moved && t->stat_us && t->state != 'R' && now < t->stat_us + REFRESH_US)
		return 0;
	return read_thread_stat(s, pid, t, keep);
}

/* Keeps what is known of threads that are still there. */
static int list_threads(struct nb_sampler *s, struct nb_seen *seen)
{
	struct nb_seen_thread *fresh;
	char path[32];
	uint32_t old = 0;
	int r;

	snprintf(path, sizeof(path), "%d/task", (int)seen->key.pid);
	r = nb_ids_read(&s->tids, s->fs.proc_fd, path);
	if (r < 0)
		return r;
	fresh = calloc(s->tids.n + 1, sizeof(*fresh));
	if (!fresh)
		return -ENOMEM;
	for (size_t i = 0; i < s->tids.n; i++) {
		int tid = s->tids.items[i].id;

		while (old < seen->n_threads && seen->threads[old].key.pid < tid)
			nb_seen_close_files(&s->seen, &seen->threads[old++]);
		if (old < seen->n_threads && seen->threads[old].key.pid == tid &&
		    !seen->threads[old].gone) {
			fresh[i] = seen->threads[old++];
			continue;
		}
		fresh[i] = (struct nb_seen_thread){
			.key = {.pid = tid}, .stat_fd = -1, .schedstat_fd = -1};
	}
	while (old < seen->n_threads)
		nb_seen_close_files(&s->seen, &seen->threads[old++]);
	free(seen->threads);
	seen->threads = fresh;
	seen->n_threads = seen->cap_threads = (uint32_t)s->tids.n;
	seen->listed_us = s->snap->at_us + 1;
	return 0;
}

static int read_all(struct nb_sampler *s, struct nb_seen *seen, bool keep)
{
	for (uint32_t i = 0; i < seen->n_threads; i++) {
		struct nb_seen_thread *t = &seen->threads[i];
		int r;

		if (t->gone)
			continue;
		r = read_thread(s, seen->key.pid, t, keep);
		if (r == -ENOMEM)
			return r;
		if (r == -EINVAL)
			s->snap->rejected_rows++;
		if (r < 0) {
			t->gone = true;
			s->snap->gone_tasks += nb_gone(r);
			seen->listed_us = 0; /* list them again */
			nb_seen_close_files(&s->seen, t);
		} else if (!keep) {
			nb_seen_close_files(&s->seen, t);
		}
	}
	return 0;
}

static int show(struct nb_sampler *s, const struct nb_seen *seen)
{
	uint32_t flags = 0;

	for (uint32_t i = 0; i < seen->n_threads; i++) {
		const struct nb_seen_thread *t = &seen->threads[i];
		struct nb_thread *thread;
		int r;

		if (t->gone || !t->stat_us)
			continue;
		if (t->flags & NB_PF_NO_SETAFFINITY)
			flags |= NB_PROC_NO_AFFINITY;
		if (t->policy == POLICY_FIFO || t->policy == POLICY_RR ||
		    t->policy == POLICY_DEADLINE)
			flags |= NB_PROC_REALTIME;
		r = nb_snapshot_add_thread(s->snap, &thread);
		if (r < 0)
			return r;
		thread->key = t->key;
		thread->valid = t->valid;
		thread->last_cpu = t->last_cpu;
		thread->state = t->state;
		thread->run_ns = t->run_ns;
		thread->wait_ns = t->wait_ns;
	}
	s->snap->processes[s->snap->n_processes - 1].flags |= flags;
	return 0;
}

static bool refresh_due(const struct nb_seen *seen, uint64_t now_us)
{
	uint64_t spread = (uint32_t)seen->key.pid * 2654435761u % ASLEEP_SPREAD_US;

	return now_us >= seen->threads_us + ASLEEP_US + spread;
}

int nb_sample_threads(struct nb_sampler *s, struct nb_seen *seen, const struct nb_stat *stat)
{
	uint64_t now = s->snap->at_us, ticks = stat->utime + stat->stime;
	bool first = !seen->threads_us;
	bool ran = first || ticks != seen->cpu_ticks || stat->state == 'R';
	bool listed = seen->listed_us && stat->n_threads == seen->n_threads;
	int r;

	/* A process that used no time since has no thread that did: nothing to read. */
	if (ran || !listed || refresh_due(seen, now)) {
		/* A thread that ended while another one began is noticed by its files. */
		if (!listed || now >= seen->listed_us + REFRESH_US) {
			r = list_threads(s, seen);
			if (nb_gone(r))
				return 1;
			if (r < 0)
				return r;
		}
		r = read_all(s, seen, ran && !first && s->fs.live);
		if (r < 0)
			return r;
		seen->cpu_ticks = ticks;
		seen->threads_us = now + 1;
	}
	return show(s, seen);
}
