/* SPDX-License-Identifier: MIT */
#include "linux/mover.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "linux/bucket.h"
#include "linux/perform.h"

#define QUEUE_MAX 256      /* jobs that wait for one destination */
#define WORKERS_MAX 16     /* of one queue, whatever the settings say */
#define EXCHANGE_WORKERS 8 /* an exchange may move memory, and the next not wait for it */
#define STOP_US 500000

struct queued {
	struct nb_job *job;
	struct queued *next;
};

/* Of one destination, or of the exchanges. */
struct queue {
	struct nb_mover_pool *mover;
	struct queued *first, **last;
	unsigned n;
	unsigned n_workers, n_busy;
	pthread_cond_t more;
	struct nb_bucket bucket;
	char name[16]; /* what the kernel takes */
};

struct answer {
	struct nb_outcome outcome;
	struct answer *next;
};

struct nb_mover_pool {
	const struct nb_procfs *fs;
	struct nb_masks *masks;
	const struct nb_syscalls *sys;
	pthread_mutex_t lock;  /* of all below; never held in a call that acts */
	pthread_cond_t ended;  /* a worker ended */
	struct queue **queues; /* by dense node; NULL: not needed yet */
	uint32_t n_queues;
	struct queue *exchange;
	unsigned n_workers; /* of all queues */
	bool hung;          /* a stop did not get all of them */
	struct answer *first, **last;
	uint64_t chunk_us; /* the longest goal of a job that runs or waits */
	int event_fd;
	struct nb_bucket all;
	_Atomic uint64_t topology_gen;
	atomic_bool stopping;
};

struct nb_job *nb_job_free(struct nb_job *j)
{
	if (!j)
		return NULL;
	nb_action_done(&j->action);
	nb_bitmap_done(&j->cpus);
	nb_bitmap_done(&j->mem_from);
	free(j);
	return NULL;
}

int nb_mover_new(const struct nb_procfs *fs, struct nb_masks *masks, const struct nb_syscalls *sys,
		 struct nb_mover_pool **ret)
{
	struct nb_mover_pool *m = calloc(1, sizeof(*m));
	pthread_condattr_t monotonic;

	if (!m)
		return -ENOMEM;
	m->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (m->event_fd < 0) {
		int r = -errno;

		free(m);
		return r;
	}
	m->fs = fs;
	m->masks = masks;
	m->sys = sys ? sys : &nb_syscalls_live;
	m->last = &m->first;
	m->all = (struct nb_bucket)NB_BUCKET_INIT;
	pthread_mutex_init(&m->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&m->ended, &monotonic);
	pthread_condattr_destroy(&monotonic);
	*ret = m;
	return 0;
}

int nb_mover_event_fd(const struct nb_mover_pool *m)
{
	return m->event_fd;
}

void nb_mover_set_topology(struct nb_mover_pool *m, uint64_t gen)
{
	atomic_store(&m->topology_gen, gen);
}

/* --- outcomes ------------------------------------------------------------------ */

static void begin_outcome(const struct nb_mover_pool *m, const struct nb_job *j,
			  struct nb_outcome *o)
{
	*o = (struct nb_outcome){
		.action = j->action.id,
		.key = j->action.key,
		.what = j->action.what,
		.to = j->action.to,
		.started_us = m->sys->now_us(),
	};
}

/* The place for the answer was made when the job was taken, so it cannot be missing. */
static void push_outcome(struct nb_mover_pool *m, struct answer *a)
{
	uint64_t one = 1;

	a->next = NULL;
	*m->last = a;
	m->last = &a->next;
	/* Full at 2^64 - 1: never. */
	(void)!write(m->event_fd, &one, sizeof(one));
}

int nb_mover_outcome(struct nb_mover_pool *m, struct nb_outcome *ret)
{
	struct answer *a;
	uint64_t n;

	pthread_mutex_lock(&m->lock);
	a = m->first;
	if (a) {
		m->first = a->next;
		if (!m->first)
			m->last = &m->first;
	}
	if (!m->first)
		(void)!read(m->event_fd, &n, sizeof(n));
	pthread_mutex_unlock(&m->lock);
	if (!a)
		return 0;
	*ret = a->outcome;
	free(a);
	return 1;
}

/* --- workers -------------------------------------------------------------------- */

static bool stop_asked(void *arg)
{
	return atomic_load(&((struct nb_mover_pool *)arg)->stopping);
}

static unsigned worker_limit(const struct queue *q, const struct nb_job *j)
{
	if (q == q->mover->exchange)
		return EXCHANGE_WORKERS;
	if (j->settings.one_per_node || j->settings.movers_per_node < 1)
		return 1;
	return j->settings.movers_per_node < WORKERS_MAX ? j->settings.movers_per_node
							 : WORKERS_MAX;
}

static struct queued *pop(struct queue *q)
{
	struct queued *item = q->first;

	q->first = item->next;
	if (!q->first)
		q->last = &q->first;
	q->n--;
	return item;
}

static void perform(struct nb_mover_pool *m, struct queue *q, const struct nb_job *j,
		    struct nb_outcome *o)
{
	begin_outcome(m, j, o);
	if (stop_asked(m))
		o->error = ECANCELED;
	else if (!j->action.release && j->topology_gen != atomic_load(&m->topology_gen))
		o->error = ESTALE;
	else
		nb_perform(
			&(struct nb_perform){
				.fs = m->fs,
				.masks = m->masks,
				.sys = m->sys,
				.node_bucket = &q->bucket,
				.all_bucket = &m->all,
				.stop = stop_asked,
				.stop_arg = m,
			},
			j, o);
	o->ended_us = m->sys->now_us();
}

/* The answer is made of the queue's item, which is as large. */
union place {
	struct queued item;
	struct answer answer;
};

static void *worker(void *arg)
{
	struct queue *q = arg;
	struct nb_mover_pool *m = q->mover;

	pthread_setname_np(pthread_self(), q->name);
	pthread_mutex_lock(&m->lock);
	for (;;) {
		union place *place;
		struct nb_outcome o;
		struct nb_job *j;

		while (!atomic_load(&m->stopping) &&
		       (!q->first || q->n_busy >= worker_limit(q, q->first->job)))
			pthread_cond_wait(&q->more, &m->lock);
		if (!q->first)
			break;
		place = (union place *)pop(q);
		j = place->item.job;
		q->n_busy++;
		pthread_mutex_unlock(&m->lock);

		perform(m, q, j, &o);
		nb_job_free(j);

		pthread_mutex_lock(&m->lock);
		q->n_busy--;
		place->answer = (struct answer){.outcome = o};
		push_outcome(m, &place->answer);
		pthread_cond_signal(&q->more);
	}
	q->n_workers--;
	m->n_workers--;
	pthread_cond_signal(&m->ended);
	pthread_mutex_unlock(&m->lock);
	return NULL;
}

static int start_worker(struct nb_mover_pool *m, struct queue *q)
{
	pthread_attr_t attr;
	sigset_t all, old;
	pthread_t thread;
	int r;

	/* Signals are the main loop's. Detached: a worker that hangs is joined by nobody. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	r = pthread_create(&thread, &attr, worker, q);
	pthread_attr_destroy(&attr);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (r != 0)
		return -r;
	q->n_workers++;
	m->n_workers++;
	return 0;
}

/* --- queues --------------------------------------------------------------------- */

static int queue_new(struct nb_mover_pool *m, const char *name, struct queue **ret)
{
	struct queue *q = calloc(1, sizeof(*q));

	if (!q)
		return -ENOMEM;
	q->mover = m;
	q->last = &q->first;
	q->bucket = (struct nb_bucket)NB_BUCKET_INIT;
	pthread_cond_init(&q->more, NULL);
	snprintf(q->name, sizeof(q->name), "%s", name);
	*ret = q;
	return 0;
}

static int find_queue(struct nb_mover_pool *m, const struct nb_action *a, struct queue **ret)
{
	char name[16];
	int r;

	if (a->exchange || !a->takes_slot) {
		r = m->exchange ? 0 : queue_new(m, "nb-exchange", &m->exchange);
		*ret = m->exchange;
		return r;
	}
	if (a->to >= NB_BITMAP_MAX_BITS)
		return -EINVAL;
	if (a->to >= m->n_queues) {
		struct queue **queues = reallocarray(m->queues, a->to + 1, sizeof(*queues));

		if (!queues)
			return -ENOMEM;
		for (uint32_t i = m->n_queues; i <= a->to; i++)
			queues[i] = NULL;
		m->queues = queues;
		m->n_queues = a->to + 1;
	}
	snprintf(name, sizeof(name), "nb-node%u", a->to % 1000000);
	r = m->queues[a->to] ? 0 : queue_new(m, name, &m->queues[a->to]);
	*ret = m->queues[a->to];
	return r;
}

static int start_locked(struct nb_mover_pool *m, struct nb_job *j, union place *place)
{
	struct queue *q;
	int r;

	if (m->hung)
		return -EAGAIN;
	r = find_queue(m, &j->action, &q);
	if (r < 0)
		return r;
	/* An exchange is taken as a whole: half of one would be worse than none. */
	if (q->n + (j->action.exchange ? j->action.exchange_size : 1) > 2 * QUEUE_MAX ||
	    (!j->action.exchange && q->n >= QUEUE_MAX))
		return -EAGAIN;
	if (q->n + q->n_busy >= q->n_workers && q->n_workers < worker_limit(q, j)) {
		r = start_worker(m, q);
		if (r < 0 && q->n_workers == 0)
			return r;
	}
	place->item = (struct queued){.job = j};
	*q->last = &place->item;
	q->last = &place->item.next;
	q->n++;
	if (j->settings.chunk_time_us > m->chunk_us)
		m->chunk_us = j->settings.chunk_time_us;
	pthread_cond_signal(&q->more);
	return 0;
}

int nb_mover_start(struct nb_mover_pool *m, struct nb_job *j)
{
	union place *place = calloc(1, sizeof(*place));
	int r;

	if (!place)
		return -ENOMEM;
	pthread_mutex_lock(&m->lock);
	r = start_locked(m, j, place);
	pthread_mutex_unlock(&m->lock);
	if (r < 0)
		free(place);
	return r;
}

/* --- the end ---------------------------------------------------------------------- */

static void wake(struct queue *q)
{
	if (q)
		pthread_cond_broadcast(&q->more);
}

int nb_mover_stop(struct nb_mover_pool *m)
{
	struct timespec end;
	int r = 0;

	pthread_mutex_lock(&m->lock);
	atomic_store(&m->stopping, true);
	for (uint32_t i = 0; i < m->n_queues; i++)
		wake(m->queues[i]);
	wake(m->exchange);
	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_nsec += (long)((STOP_US + m->chunk_us) % 1000000 * 1000);
	end.tv_sec += (time_t)((STOP_US + m->chunk_us) / 1000000) + end.tv_nsec / 1000000000;
	end.tv_nsec %= 1000000000;
	while (m->n_workers > 0 && r == 0)
		r = pthread_cond_timedwait(&m->ended, &m->lock, &end);
	m->hung = m->n_workers > 0;
	/* The flag stays for those that hang: they end as soon as they can. */
	if (!m->hung) {
		atomic_store(&m->stopping, false);
		m->chunk_us = 0;
	}
	r = m->hung ? -EBUSY : 0;
	pthread_mutex_unlock(&m->lock);
	return r;
}

static void queue_free(struct queue *q)
{
	if (!q)
		return;
	pthread_cond_destroy(&q->more);
	pthread_mutex_destroy(&q->bucket.lock);
	free(q);
}

int nb_mover_free(struct nb_mover_pool *m)
{
	struct nb_outcome o;

	if (!m)
		return 0;
	if (nb_mover_stop(m) < 0)
		return 1;
	while (nb_mover_outcome(m, &o) > 0)
		;
	for (uint32_t i = 0; i < m->n_queues; i++)
		queue_free(m->queues[i]);
	free(m->queues);
	queue_free(m->exchange);
	close(m->event_fd);
	pthread_cond_destroy(&m->ended);
	pthread_mutex_destroy(&m->lock);
	free(m);
	return 0;
}
