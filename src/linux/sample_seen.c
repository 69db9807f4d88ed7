/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>

#include "linux/sample_parts.h"

static struct nb_seen **bucket(struct nb_seen_table *t, int pid)
{
	return &t->buckets[(unsigned)pid % NB_SEEN_BUCKETS];
}

struct nb_seen *nb_seen_find(struct nb_seen_table *t, int pid)
{
	for (struct nb_seen *e = *bucket(t, pid); e; e = e->next)
		if (e->key.pid == pid)
			return e;
	return NULL;
}

int nb_seen_add(struct nb_seen_table *t, struct nb_key key, struct nb_seen **ret)
{
	struct nb_seen *e = calloc(1, sizeof(*e));

	if (!e)
		return -ENOMEM;
	e->key = key;
	e->next = *bucket(t, key.pid);
	*bucket(t, key.pid) = e;
	*ret = e;
	return 0;
}

void nb_seen_close_files(struct nb_seen_table *t, struct nb_seen_thread *thread)
{
	t->open_files -= (thread->stat_fd >= 0) + (thread->schedstat_fd >= 0);
	nb_closep(&thread->stat_fd);
	nb_closep(&thread->schedstat_fd);
}

static void drop(struct nb_seen_table *t, struct nb_seen **at)
{
	struct nb_seen *e = *at;

	*at = e->next;
	for (uint32_t i = 0; i < e->n_threads; i++)
		nb_seen_close_files(t, &e->threads[i]);
	nb_status_done(&e->status);
	free(e->threads);
	free(e->cgroup);
	free(e);
}

void nb_seen_remove(struct nb_seen_table *t, int pid)
{
	for (struct nb_seen **p = bucket(t, pid); *p; p = &(*p)->next)
		if ((*p)->key.pid == pid) {
			drop(t, p);
			return;
		}
}

void nb_seen_forget(struct nb_seen_table *t, uint64_t tick)
{
	for (size_t i = 0; i < NB_SEEN_BUCKETS; i++)
		for (struct nb_seen **p = &t->buckets[i]; *p;) {
			if ((*p)->tick == tick)
				p = &(*p)->next;
			else
				drop(t, p);
		}
}

void nb_seen_done(struct nb_seen_table *t)
{
	for (size_t i = 0; i < NB_SEEN_BUCKETS; i++)
		while (t->buckets[i])
			drop(t, &t->buckets[i]);
}
