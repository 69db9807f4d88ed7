/* SPDX-License-Identifier: MIT */
/* What is remembered of each process, and what other threads may ask and tell. */
#include <errno.h>
#include <stdlib.h>

#include "linux/memory_parts.h"

int nb_memory_new(struct nb_memory **ret)
{
	struct nb_memory *m = calloc(1, sizeof(*m));

	if (!m)
		return -ENOMEM;
	pthread_mutex_init(&m->lock, NULL);
	m->lines.fd = -1;
	m->query = nb_query_live;
	*ret = m;
	return 0;
}

static void entry_free(struct nb_memory_entry *e)
{
	free(e->place);
	free(e);
}

struct nb_memory *nb_memory_free(struct nb_memory *m)
{
	if (!m)
		return NULL;
	for (size_t i = 0; i < NB_MEMORY_BUCKETS; i++)
		while (m->buckets[i]) {
			struct nb_memory_entry *e = m->buckets[i];

			m->buckets[i] = e->next;
			entry_free(e);
		}
	nb_numa_sum_done(&m->sum);
	nb_query_done(&m->sampled);
	nb_lines_done(&m->lines);
	free(m->due);
	pthread_mutex_destroy(&m->lock);
	free(m);
	return NULL;
}

void nb_memory_test(struct nb_memory *m, bool one_node_too, nb_query_pages query)
{
	m->one_node_too = one_node_too;
	if (query)
		m->query = query;
}

struct nb_memory_cost nb_memory_cost(const struct nb_memory *m)
{
	return m->cost;
}

static struct nb_memory_entry **bucket(struct nb_memory *m, struct nb_key key)
{
	return &m->buckets[(uint32_t)key.pid % NB_MEMORY_BUCKETS];
}

struct nb_memory_entry *nb_memory_find(struct nb_memory *m, struct nb_key key)
{
	struct nb_memory_entry *e;

	for (e = *bucket(m, key); e; e = e->next)
		if (nb_key_equal(e->seen.key, key))
			break;
	return e;
}

struct nb_memory_entry *nb_memory_find_or_add(struct nb_memory *m, struct nb_key key)
{
	struct nb_memory_entry *e = nb_memory_find(m, key);

	if (e)
		return e;
	e = calloc(1, sizeof(*e));
	if (!e)
		return NULL;
	e->seen.key = key;
	e->tick = m->tick;
	e->next = *bucket(m, key);
	*bucket(m, key) = e;
	return e;
}

void nb_memory_touch(struct nb_memory *m, struct nb_key key)
{
	struct nb_memory_entry *e;

	pthread_mutex_lock(&m->lock);
	e = nb_memory_find(m, key); /* what was never read is read first anyway */
	if (e)
		e->seen.touched = true;
	pthread_mutex_unlock(&m->lock);
}

void nb_memory_hold(struct nb_memory *m, struct nb_key key, bool hold)
{
	struct nb_memory_entry *e;

	pthread_mutex_lock(&m->lock);
	e = hold ? nb_memory_find_or_add(m, key) : nb_memory_find(m, key);
	/* Without memory for a note it may be read in flight: slow, not wrong. */
	if (e && hold) {
		e->seen.holds++;
	} else if (e && e->seen.holds > 0) {
		e->seen.holds--;
		e->seen.touched = true;
	}
	pthread_mutex_unlock(&m->lock);
}

int nb_memory_files(struct nb_memory *m, struct nb_key key, const struct nb_bitmap *nodes,
		    struct nb_memory_files *ret)
{
	struct nb_memory_files files = {};
	struct nb_memory_entry *e;
	int r = -ENODATA;

	pthread_mutex_lock(&m->lock);
	e = nb_memory_find(m, key);
	if (e && e->seen.valid && e->source == NB_MEM_NUMA_MAPS) {
		files.at_us = e->seen.at_us;
		files.dirty = e->dirty_files;
		for (uint32_t i = 0; i < e->n_nodes; i++)
			if (nb_bitmap_test(nodes, i)) {
				files.file_bytes += e->file[i];
				files.anon_bytes += e->anon[i];
			}
		*ret = files;
		r = 0;
	}
	pthread_mutex_unlock(&m->lock);
	return r;
}

void nb_memory_forget(struct nb_memory *m)
{
	for (size_t i = 0; i < NB_MEMORY_BUCKETS; i++)
		for (struct nb_memory_entry **p = &m->buckets[i]; *p;) {
			struct nb_memory_entry *e = *p;

			if (e->seen.holds > 0 || e->tick + NB_MEMORY_FORGET_TICKS > m->tick) {
				p = &e->next;
				continue;
			}
			*p = e->next;
			entry_free(e);
		}
}
