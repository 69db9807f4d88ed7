/* SPDX-License-Identifier: MIT */
/* Setting masks, and giving them back: record, write the file, set, read back. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "linux/masks_priv.h"
#include "linux/task.h"

/* What is to be done with one thread of a batch. */
struct step {
	struct nb_bitmap target;
	struct nb_bitmap fallback; /* tried if the kernel knows no CPU of target; may be empty */
	bool set;                  /* the mask is to be set */
	bool release;              /* then the record ends */
	bool added;                /* the record is new: it ends if the set fails */
	uint32_t old_given;        /* of a record that is not new */
};

struct batch {
	struct nb_masks *m;
	struct nb_key process;
	int32_t ppid;
	int task_fd;
	struct nb_bounds bounds;
	const struct nb_bitmap *wanted;
	struct nb_mask_item *items;
	struct step *steps;
	size_t n;
	uint64_t now_ticks;
	bool dirty; /* the file no longer tells what is so */
};

/* What is known of a thread before it is changed. */
struct origin {
	struct nb_mask_thread *record; /* or NULL */
	uint32_t original;
	bool whole;
	bool inherited;
	struct nb_bitmap now;
};

static int find_origin(struct batch *b, struct nb_key thread, struct origin *o)
{
	struct nb_mask_table *table = &b->m->table;
	const struct nb_state_given *g;
	int r;

	r = nb_affinity_get(b->m->sys, thread.pid, &o->now);
	if (r < 0)
		return r;
	o->record = nb_mask_table_thread(table, b->process, thread);
	if (o->record) {
		const struct nb_bitmap *given = nb_mask_table_bits(table, o->record->t.given);

		if (!nb_bounds_explain(&b->bounds, given, &o->now)) {
			nb_mask_table_forget(table, o->record);
			b->dirty = true;
			return -EBUSY;
		}
		o->original = o->record->t.original;
		o->whole = o->record->t.whole;
		return 0;
	}
	g = nb_masks_inherited(b->m, b->process, b->ppid, thread, &o->now);
	if (g) {
		o->inherited = true;
		o->original = g->original;
		o->whole = g->whole;
		return 0;
	}
	o->whole = nb_bitmap_subset(&b->bounds.allowed, &o->now);
	return nb_mask_table_set(table, &o->now, &o->original);
}

static int record(struct batch *b, struct nb_key thread, const struct origin *o, struct step *s)
{
	struct nb_mask_table *table = &b->m->table;
	struct nb_state_thread t = {
		.process = b->process,
		.thread = thread,
		.original = o->original,
		.whole = o->whole,
		.since = b->now_ticks,
	};
	struct nb_mask_thread *added = o->record;
	int r;

	r = nb_mask_table_set(table, &s->target, &t.given);
	if (r < 0)
		return r;
	s->added = !added;
	if (added)
		s->old_given = added->t.given;
	r = nb_mask_table_add(table, &t, &added);
	if (r < 0)
		return r;
	added->pending = true;
	b->dirty = true;
	return 0;
}

static int prepare_release(struct batch *b, const struct origin *o, struct step *s)
{
	const struct nb_bitmap *original = nb_mask_table_bits(&b->m->table, o->original);
	int r;

	if (!o->record && !o->inherited)
		return 0;
	/* A thread that had no mask of its own gets every CPU that is or may come, so that
	 * a cpuset that is widened later applies to it again. Isolated CPUs are not for
	 * those that did not have them. */
	r = nb_bitmap_copy(&s->fallback, &b->bounds.possible);
	if (r < 0)
		return r;
	nb_bitmap_andnot(&s->fallback, &b->bounds.isolated);
	r = nb_bitmap_copy(&s->target, original);
	if (r == 0 && o->whole)
		r = nb_bitmap_or(&s->target, &s->fallback);
	if (r < 0)
		return r;
	s->set = true;
	s->release = true;
	if (o->record)
		o->record->pending = true;
	return 0;
}

static int prepare_set(struct batch *b, struct nb_key thread, const struct origin *o,
		       struct step *s)
{
	_cleanup_bitmap_ struct nb_bitmap full = {};
	bool ours = o->record || o->inherited;
	int r;

	r = nb_bitmap_copy(&full, nb_mask_table_bits(&b->m->table, o->original));
	if (r < 0)
		return r;
	nb_bitmap_and(&full, &b->bounds.allowed);
	r = nb_bitmap_copy(&s->target, &full);
	if (r < 0)
		return r;
	nb_bitmap_and(&s->target, b->wanted);
	if (nb_bitmap_empty(&s->target))
		return -EINVAL;
	if (nb_bitmap_equal(&s->target, &full))
		return prepare_release(b, o, s);
	if (!ours && nb_bitmap_equal(&s->target, &o->now))
		return 0;
	if (o->record && nb_bitmap_equal(&s->target, &o->now) &&
	    nb_bitmap_equal(nb_mask_table_bits(&b->m->table, o->record->t.given), &o->now))
		return 0;
	s->set = true;
	return record(b, thread, o, s);
}

static int prepare(struct batch *b, size_t i)
{
	struct nb_key thread = b->items[i].thread;
	struct origin o = {};
	int r;

	r = find_origin(b, thread, &o);
	if (r == 0)
		r = b->wanted ? prepare_set(b, thread, &o, &b->steps[i])
			      : prepare_release(b, &o, &b->steps[i]);
	nb_bitmap_done(&o.now);
	if (r < 0)
		b->steps[i].set = false;
	return r;
}

/* Sets one mask; on success target is what the thread has then. */
static int set_one(struct batch *b, struct nb_key thread, struct step *s)
{
	const struct nb_syscalls *sys = b->m->sys;
	_cleanup_bitmap_ struct nb_bitmap now = {};
	struct nb_stat stat;
	int r;

	r = nb_task_thread_stat(b->task_fd, thread, &stat);
	if (r < 0)
		return r;
	r = nb_affinity_set(sys, thread.pid, &s->target);
	if (r == -EINVAL && s->release && !nb_bitmap_equal(&s->target, &s->fallback))
		/* Its cpuset has none of its original CPUs any more. What it would have
		 * without us is the whole cpuset. */
		r = nb_affinity_set(sys, thread.pid, &s->fallback);
	if (r < 0 || s->release)
		return r;
	r = nb_affinity_get(sys, thread.pid, &now);
	if (r < 0)
		return r;
	if (nb_bitmap_equal(&now, &s->target) || !nb_bitmap_subset(&now, &s->target))
		return 0;
	/* Narrowed on the way. Asked for exactly, since newer kernels would hand out the
	 * rest when the cpuset grows. */
	r = nb_affinity_set(sys, thread.pid, &now);
	if (r < 0)
		return r;
	return nb_bitmap_copy(&s->target, &now);
}

static int finish(struct batch *b, size_t i)
{
	struct nb_mask_table *table = &b->m->table;
	struct step *s = &b->steps[i];
	struct nb_mask_thread *t;
	uint32_t given;
	int r;

	if (!s->set)
		return 0;
	t = nb_mask_table_thread(table, b->process, b->items[i].thread);
	if (!t)
		return 0;
	t->pending = false;
	if (s->release) {
		if (b->items[i].error == 0 || b->items[i].error == -ESRCH) {
			nb_mask_table_forget(table, t);
			b->dirty = true;
		}
		return 0;
	}
	if (b->items[i].error < 0) {
		b->dirty = true;
		if (s->added || b->items[i].error == -ESRCH)
			nb_mask_table_forget(table, t);
		else
			t->t.given = s->old_given;
		return 0;
	}
	r = nb_mask_table_set(table, &s->target, &given);
	if (r < 0)
		return r;
	if (given != t->t.given)
		b->dirty = true;
	t->t.given = given;
	return nb_mask_table_give(table, &(struct nb_state_given){
						 .process = b->process,
						 .mask = given,
						 .original = t->t.original,
						 .whole = t->t.whole,
						 .since = t->t.since,
					 });
}

/* The file could not be written: nothing was set, and nothing is recorded. */
static void roll_back(struct batch *b, int error)
{
	for (size_t i = 0; i < b->n; i++)
		if (b->steps[i].set) {
			b->items[i].error = error;
			(void)finish(b, i);
		}
}

static int open_batch(struct batch *b)
{
	struct nb_stat stat;
	int r;

	r = nb_task_open(b->m->fs.proc_fd, b->process, &b->task_fd);
	if (r < 0)
		return r;
	r = nb_task_stat(b->task_fd, "stat", &stat);
	if (r < 0)
		return r;
	b->ppid = stat.ppid;
	b->now_ticks = nb_task_now_ticks();
	r = nb_bounds_read(&b->m->fs, b->task_fd, &b->bounds);
	if (r < 0)
		return r;
	b->steps = calloc(b->n, sizeof(*b->steps));
	return b->steps || b->n == 0 ? 0 : -ENOMEM;
}

static int run_batch(struct batch *b)
{
	struct nb_masks *m = b->m;
	int r = 0;

	pthread_mutex_lock(&m->lock);
	m->n_batches++;
	for (size_t i = 0; i < b->n; i++)
		b->items[i].error = prepare(b, i);
	if (b->dirty && b->wanted)
		r = nb_masks_write(m);
	if (r < 0) {
		roll_back(b, r);
		m->n_batches--;
	}
	pthread_mutex_unlock(&m->lock);
	if (r < 0)
		return r;

	for (size_t i = 0; i < b->n; i++)
		if (b->steps[i].set)
			b->items[i].error = set_one(b, b->items[i].thread, &b->steps[i]);

	pthread_mutex_lock(&m->lock);
	m->n_batches--;
	b->dirty = !b->wanted && b->dirty;
	for (size_t i = 0; i < b->n; i++) {
		r = finish(b, i);
		if (r < 0)
			b->items[i].error = r;
	}
	/* What is wrong in the file now is harmless: a thread whose mask is not the one
	 * that the file names is left alone by a restore. */
	if (b->dirty)
		(void)nb_masks_write(m);
	pthread_mutex_unlock(&m->lock);
	return 0;
}

int nb_masks_apply(struct nb_masks *m, struct nb_key process, const struct nb_bitmap *wanted,
		   struct nb_mask_item *items, size_t n)
{
	struct batch b = {
		.m = m,
		.process = process,
		.task_fd = -1,
		.wanted = wanted,
		.items = items,
		.n = n,
	};
	int r;

	r = open_batch(&b);
	if (r == 0)
		r = run_batch(&b);
	if (b.steps)
		for (size_t i = 0; i < n; i++) {
			nb_bitmap_done(&b.steps[i].target);
			nb_bitmap_done(&b.steps[i].fallback);
		}
	free(b.steps);
	nb_bounds_done(&b.bounds);
	nb_closep(&b.task_fd);
	return r;
}

int nb_masks_set(struct nb_masks *m, struct nb_key process, struct nb_key thread,
		 const struct nb_bitmap *wanted)
{
	struct nb_mask_item item = {.thread = thread};
	int r = nb_masks_apply(m, process, wanted, &item, 1);

	return r < 0 ? r : item.error;
}

int nb_masks_release(struct nb_masks *m, struct nb_key thread)
{
	struct nb_mask_item item = {.thread = thread};
	struct nb_key process = {};
	const struct nb_mask_thread *known;
	int r;

	pthread_mutex_lock(&m->lock);
	known = nb_mask_table_by_tid(&m->table, thread.pid);
	if (known && nb_key_equal(known->t.thread, thread))
		process = known->t.process;
	pthread_mutex_unlock(&m->lock);
	if (process.pid == 0)
		return 0;
	r = nb_masks_apply(m, process, NULL, &item, 1);
	return r < 0 ? r : item.error;
}
