/* SPDX-License-Identifier: MIT */
#include "linux/masks_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* --- a hash of nodes by a task's number ------------------------------------- */

static struct nb_mask_node **bucket(const struct nb_mask_hash *h, int32_t id)
{
	/* Numbers of tasks are handed out in order: the low bits spread them well. */
	return &h->buckets[(uint32_t)id & (h->n_buckets - 1)];
}

static struct nb_mask_node *hash_find(const struct nb_mask_hash *h, int32_t id)
{
	if (h->n_buckets == 0)
		return NULL;
	for (struct nb_mask_node *n = *bucket(h, id); n; n = n->next)
		if (n->id == id)
			return n;
	return NULL;
}

static int hash_reserve(struct nb_mask_hash *h)
{
	struct nb_mask_hash wider = {.n = h->n};

	if (h->n < h->n_buckets)
		return 0;
	wider.n_buckets = h->n_buckets ? h->n_buckets * 2 : 64;
	wider.buckets = calloc(wider.n_buckets, sizeof(struct nb_mask_node *));
	if (!wider.buckets)
		return -ENOMEM;
	for (size_t i = 0; i < h->n_buckets; i++)
		for (struct nb_mask_node *n = h->buckets[i], *next; n; n = next) {
			struct nb_mask_node **b = bucket(&wider, n->id);

			next = n->next;
			n->next = *b;
			*b = n;
		}
	free(h->buckets);
	*h = wider;
	return 0;
}

/* Room was reserved. */
static void hash_add(struct nb_mask_hash *h, struct nb_mask_node *n)
{
	struct nb_mask_node **b = bucket(h, n->id);

	n->next = *b;
	*b = n;
	h->n++;
}

static void hash_remove(struct nb_mask_hash *h, struct nb_mask_node *n)
{
	struct nb_mask_node **at = bucket(h, n->id);

	while (*at != n)
		at = &(*at)->next;
	*at = n->next;
	h->n--;
	free(n);
}

static void hash_done(struct nb_mask_hash *h)
{
	for (size_t i = 0; i < h->n_buckets; i++)
		while (h->buckets[i])
			hash_remove(h, h->buckets[i]);
	free(h->buckets);
	*h = (struct nb_mask_hash){};
}

/* The next argument may be removed by the body. */
#define HASH_FOREACH(item, h) \
	for (size_t i_ = 0; i_ < (h)->n_buckets; i_++) \
		for (struct nb_mask_node *node_ = (h)->buckets[i_], *next_; \
		     node_ && ((item) = (void *)node_, next_ = node_->next, true); node_ = next_)

/* --- the table --------------------------------------------------------------- */

void nb_mask_table_done(struct nb_mask_table *t)
{
	hash_done(&t->threads);
	hash_done(&t->processes);
	nb_state_done(&t->sets);
}

struct nb_mask_thread *nb_mask_table_thread(struct nb_mask_table *t, struct nb_key process,
					    struct nb_key thread)
{
	struct nb_mask_thread *found = (void *)hash_find(&t->threads, thread.pid);

	if (!found)
		return NULL;
	if (nb_key_equal(found->t.thread, thread) && nb_key_equal(found->t.process, process))
		return found;
	nb_mask_table_forget(t, found);
	return NULL;
}

struct nb_mask_thread *nb_mask_table_by_tid(const struct nb_mask_table *t, int32_t tid)
{
	return (void *)hash_find(&t->threads, tid);
}

struct nb_mask_process *nb_mask_table_process(struct nb_mask_table *t, int32_t pid)
{
	return (void *)hash_find(&t->processes, pid);
}

int nb_mask_table_set(struct nb_mask_table *t, const struct nb_bitmap *b, uint32_t *ret)
{
	return nb_state_add_set(&t->sets, b, ret);
}

const struct nb_bitmap *nb_mask_table_bits(const struct nb_mask_table *t, uint32_t set)
{
	return &t->sets.sets[set];
}

int nb_mask_table_add(struct nb_mask_table *t, const struct nb_state_thread *what,
		      struct nb_mask_thread **ret)
{
	struct nb_mask_thread *thread = (void *)hash_find(&t->threads, what->thread.pid);
	int r;

	if (!thread) {
		r = hash_reserve(&t->threads);
		if (r < 0)
			return r;
		thread = calloc(1, sizeof(*thread));
		if (!thread)
			return -ENOMEM;
		thread->node.id = what->thread.pid;
		hash_add(&t->threads, &thread->node);
	}
	thread->t = *what;
	*ret = thread;
	return 0;
}

void nb_mask_table_forget(struct nb_mask_table *t, struct nb_mask_thread *thread)
{
	hash_remove(&t->threads, &thread->node);
}

int nb_mask_table_give(struct nb_mask_table *t, const struct nb_state_given *g)
{
	struct nb_mask_process *p = nb_mask_table_process(t, g->process.pid);
	int r;

	if (!p) {
		r = hash_reserve(&t->processes);
		if (r < 0)
			return r;
		p = calloc(1, sizeof(*p));
		if (!p)
			return -ENOMEM;
		p->node.id = g->process.pid;
		hash_add(&t->processes, &p->node);
	}
	if (!nb_key_equal(p->key, g->process)) {
		p->key = g->process;
		p->n_given = 0;
	}
	/* One entry a mask, with its first time. Threads with and without a mask of
	 * their own may have been given the same: the heir's own mask is then taken for
	 * the wider, as nearly all threads have none. */
	for (size_t i = 0; i < p->n_given; i++)
		if (p->given[i].mask == g->mask) {
			if (g->whole && !p->given[i].whole) {
				p->given[i].original = g->original;
				p->given[i].whole = true;
			}
			return 0;
		}
	if (p->n_given == NB_GIVEN_MAX)
		memmove(p->given, p->given + 1, --p->n_given * sizeof(*p->given));
	p->given[p->n_given++] = *g;
	return 0;
}

const struct nb_state_given *nb_mask_table_inherited(const struct nb_mask_table *t,
						     const struct nb_mask_process *p,
						     uint64_t start,
						     const struct nb_bitmap *current)
{
	for (size_t i = p->n_given; i-- > 0;)
		if (start >= p->given[i].since &&
		    nb_bitmap_equal(nb_mask_table_bits(t, p->given[i].mask), current))
			return &p->given[i];
	return NULL;
}

/* --- as a state --------------------------------------------------------------- */

/* The number in `to` of a set that has a number in `from`. */
static int carry(const struct nb_state *from, struct nb_state *to, uint32_t *set)
{
	return nb_state_add_set(to, &from->sets[*set], set);
}

static int carry_thread(const struct nb_state *from, struct nb_state *to, struct nb_state_thread *t)
{
	int r = carry(from, to, &t->original);

	return r < 0 ? r : carry(from, to, &t->given);
}

static int carry_given(const struct nb_state *from, struct nb_state *to, struct nb_state_given *g)
{
	int r = carry(from, to, &g->mask);

	return r < 0 ? r : carry(from, to, &g->original);
}

static bool same_given(const struct nb_state_given *a, const struct nb_state_given *b)
{
	return nb_key_equal(a->process, b->process) && a->mask == b->mask &&
	       a->original == b->original && a->whole == b->whole && a->since == b->since;
}

int nb_mask_table_export(const struct nb_mask_table *t, struct nb_state *ret)
{
	_cleanup_state_ struct nb_state s = {};
	struct nb_mask_thread *thread;
	struct nb_mask_process *process;
	int r;

	HASH_FOREACH(thread, &t->threads)
	{
		struct nb_state_thread copy = thread->t;
		struct nb_state_given given;

		r = carry_thread(&t->sets, &s, &copy);
		if (r < 0)
			return r;
		r = nb_state_add_thread(&s, &copy);
		if (r < 0)
			return r;
		if (!thread->pending)
			continue;
		given = (struct nb_state_given){
			.process = copy.process,
			.mask = copy.given,
			.original = copy.original,
			.whole = copy.whole,
			.since = copy.since,
		};
		/* Those of one process stand together only by luck; the same line twice is
		 * harmless, and a process with many threads needs it once. */
		if (s.n_given > 0 && same_given(&s.given[s.n_given - 1], &given))
			continue;
		r = nb_state_add_given(&s, &given);
		if (r < 0)
			return r;
	}
	HASH_FOREACH(process, &t->processes)
	for (size_t i = 0; i < process->n_given; i++) {
		struct nb_state_given copy = process->given[i];

		r = carry_given(&t->sets, &s, &copy);
		if (r < 0)
			return r;
		r = nb_state_add_given(&s, &copy);
		if (r < 0)
			return r;
	}
	*ret = s;
	s = (struct nb_state){};
	return 0;
}

int nb_mask_table_import(struct nb_mask_table *t, const struct nb_state *s)
{
	struct nb_mask_thread *thread;
	int r;

	for (size_t i = 0; i < s->n_threads; i++) {
		struct nb_state_thread copy = s->threads[i];

		r = carry_thread(s, &t->sets, &copy);
		if (r < 0)
			return r;
		r = nb_mask_table_add(t, &copy, &thread);
		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < s->n_given; i++) {
		struct nb_state_given copy = s->given[i];

		r = carry_given(s, &t->sets, &copy);
		if (r < 0)
			return r;
		r = nb_mask_table_give(t, &copy);
		if (r < 0)
			return r;
	}
	return 0;
}

int nb_mask_table_prune(struct nb_mask_table *t,
			bool (*alive)(struct nb_key process, struct nb_key thread, void *arg),
			void *arg)
{
	_cleanup_state_ struct nb_state used = {};
	struct nb_mask_thread *thread;
	struct nb_mask_process *process;
	int r;

	HASH_FOREACH(thread, &t->threads)
	if (!thread->pending && !alive(thread->t.process, thread->t.thread, arg))
		nb_mask_table_forget(t, thread);
	HASH_FOREACH(process, &t->processes)
	if (!alive(process->key, (struct nb_key){}, arg))
		hash_remove(&t->processes, &process->node);

	/* First all sets, so that renumbering cannot fail half-way. */
	HASH_FOREACH(thread, &t->threads)
	{
		struct nb_state_thread copy = thread->t;

		r = carry_thread(&t->sets, &used, &copy);
		if (r < 0)
			return r;
	}
	HASH_FOREACH(process, &t->processes)
	for (size_t i = 0; i < process->n_given; i++) {
		struct nb_state_given copy = process->given[i];

		r = carry_given(&t->sets, &used, &copy);
		if (r < 0)
			return r;
	}
	HASH_FOREACH(thread, &t->threads)
	(void)carry_thread(&t->sets, &used, &thread->t);
	HASH_FOREACH(process, &t->processes)
	for (size_t i = 0; i < process->n_given; i++)
		(void)carry_given(&t->sets, &used, &process->given[i]);
	nb_state_done(&t->sets);
	t->sets = used;
	used = (struct nb_state){};
	return 0;
}
