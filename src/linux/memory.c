/* SPDX-License-Identifier: MIT */
#include "linux/memory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "linux/memory_parts.h"

static int size_arrays(struct nb_memory_entry *e, uint32_t n_nodes)
{
	uint64_t *p;

	if (e->place && e->n_nodes == n_nodes)
		return 0;
	p = calloc((size_t)n_nodes * 3, sizeof(*p));
	if (!p)
		return -ENOMEM;
	free(e->place);
	e->place = p;
	e->anon = p + n_nodes;
	e->file = e->anon + n_nodes;
	e->n_nodes = n_nodes;
	return 0;
}

static void take_sum(struct nb_memory_entry *e, const struct nb_numa_sum *sum)
{
	memcpy(e->place, sum->place, (size_t)e->n_nodes * 3 * sizeof(*e->place));
	e->source = NB_MEM_NUMA_MAPS;
	e->bound = sum->bound;
	e->interleaved = sum->interleaved;
	e->dirty_files = sum->dirty_files;
	e->huge_bytes = sum->huge_bytes;
	e->own_shared_bytes = sum->own_shared_bytes;
}

static void take_samples(struct nb_memory_entry *e, const struct nb_query *q, uint64_t anon_bytes)
{
	for (uint32_t i = 0; i < e->n_nodes; i++) {
		e->place[i] = (uint64_t)((__uint128_t)anon_bytes * q->hits[i] / q->samples);
		e->anon[i] = e->place[i];
		e->file[i] = 0;
	}
	e->source = NB_MEM_QUERY;
	e->own_shared_bytes = 0;
}

static uint64_t clock_us(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

static uint64_t run_time(const struct nb_snapshot *s, const struct nb_process *p)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < p->n_threads; i++)
		sum += s->threads[p->first_thread + i].run_ns;
	return sum;
}

/* Reads one process without the lock: only the sampler reads, and only it frees. */
static int read_one(struct nb_memory *m, const struct nb_procfs *fs, const struct nb_topology *t,
		    const struct nb_config *c, struct nb_snapshot *s, struct nb_process *p,
		    struct nb_memory_entry *e)
{
	bool ask = fs->live && p->rss_bytes > c->select.numa_maps_limit_bytes;
	uint64_t began = clock_us(CLOCK_MONOTONIC), began_cpu = clock_us(CLOCK_THREAD_CPUTIME_ID);
	uint64_t took;
	char path[32];
	int r;

	if (ask) {
		uint64_t seed =
			(uint64_t)e->seen.key.pid << 32 ^ e->seen.key.start ^ e->rounds << 20;

		r = nb_query_read(&m->sampled, t, &m->lines, fs->proc_fd, e->seen.key.pid, seed,
				  m->query);
		m->cost.n_queries++;
	} else {
		snprintf(path, sizeof(path), "%d/numa_maps", (int)e->seen.key.pid);
		r = nb_numa_sum_read(&m->sum, t, &m->lines, fs->proc_fd, path);
		m->cost.n_maps++;
		if (r == 0) {
			s->rejected_rows += m->sum.rejected;
			if (m->sum.empty) /* it lost its memory after we looked at its size */
				r = -ESRCH;
		}
	}
	/* On a busy machine most of the time that passes is spent waiting for a CPU. */
	took = clock_us(CLOCK_THREAD_CPUTIME_ID) - began_cpu;
	m->cost.time_us += took;
	nb_memory_spent(&m->budget, took, clock_us(CLOCK_MONOTONIC) - began);
	if (r == -ENOMEM)
		return r;

	pthread_mutex_lock(&m->lock);
	e->rounds++;
	e->seen.touched = false;
	e->seen.cost_us = took;
	e->seen.tried_us = s->at_us;
	e->seen.anon_bytes = p->anon_bytes;
	e->seen.run_ns = run_time(s, p);
	e->denied = r == -EACCES || r == -EPERM;
	if (r == 0) {
		r = size_arrays(e, t->n_nodes);
		if (r == 0) {
			ask ? take_samples(e, &m->sampled, p->anon_bytes) : take_sum(e, &m->sum);
			e->gen = t->gen;
			e->seen.at_us = s->at_us;
			e->seen.valid = true;
		}
	} else {
		if (nb_gone(r))
			s->gone_tasks++;
		r = 0;
	}
	pthread_mutex_unlock(&m->lock);
	return r;
}

/* Whether most of its memory is where its threads are. */
static bool misplaced(const struct nb_snapshot *s, const struct nb_process *p,
		      const struct nb_memory_entry *e)
{
	uint64_t total = 0, local = 0, threads = 0;
	bool running = false;

	for (uint32_t i = 0; i < p->n_threads; i++)
		if (s->threads[p->first_thread + i].state == 'R')
			running = true;
	for (uint32_t i = 0; i < e->n_nodes; i++)
		total += e->place[i];
	for (uint32_t i = 0; i < p->n_threads; i++) {
		const struct nb_thread *thread = &s->threads[p->first_thread + i];
		uint32_t node;

		if (!(thread->valid & NB_VALID_LAST_CPU) || (running && thread->state != 'R'))
			continue;
		node = nb_snapshot_cpu_node(s, thread->last_cpu);
		if (node == NB_NO_NODE)
			continue;
		threads++;
		local += e->place[node] / 1024;
	}
	return threads > 0 && local < total / 1024 * threads / 5 * 4;
}

/* A minute is long for code that sets up its memory. Start times count 10 ms. */
static bool young(const struct nb_snapshot *s, const struct nb_process *p)
{
	return s->at_us / 10000 < p->key.start + 6000;
}

static void show(const struct nb_snapshot *s, uint32_t index, const struct nb_memory_entry *e)
{
	struct nb_process *p = &s->processes[index];

	if (e->denied)
		p->flags |= NB_PROC_DENIED;
	if (!e->seen.valid)
		return;
	memcpy(nb_snapshot_bytes(s, index), e->place, e->n_nodes * sizeof(*e->place));
	p->valid |= NB_VALID_MEM;
	p->mem_source = e->source;
	p->mem_at_us = e->seen.at_us;
	if (e->seen.at_us != s->at_us)
		p->flags |= NB_PROC_MEM_STALE;
	p->anon_bytes += e->own_shared_bytes;
	if (e->source != NB_MEM_NUMA_MAPS)
		return;
	p->huge_bytes = e->huge_bytes;
	p->valid |= NB_VALID_POLICY;
	if (e->bound)
		p->flags |= NB_PROC_BOUND;
	if (e->interleaved)
		p->flags |= NB_PROC_INTERLEAVED;
}

static int reserve(struct nb_memory *m, uint32_t n)
{
	struct nb_memory_due *p;

	if (n <= m->cap_due)
		return 0;
	p = reallocarray(m->due, n, sizeof(*p));
	if (!p)
		return -ENOMEM;
	m->due = p;
	m->cap_due = n;
	return 0;
}

/* Notes who is asked for, and how urgent each is. */
static int look(struct nb_memory *m, const struct nb_topology *t, const struct nb_config *c,
		const struct nb_snapshot *s,
		const uint32_t *processes, uint32_t n)
{
	int r = 0;

	pthread_mutex_lock(&m->lock);
	m->tick++;
	for (uint32_t i = 0; i < n; i++) {
		const struct nb_process *p = &s->processes[processes[i]];
		struct nb_memory_entry *e = nb_memory_find_or_add(m, p->key);
		struct nb_memory_now now = {
			.at_us = s->at_us, .anon_bytes = p->anon_bytes, .run_ns = run_time(s, p),
			.old_us = c->daemon.max_interval_us};

		if (!e) {
			r = -ENOMEM;
			break;
		}
		e->tick = m->tick;
		if (e->seen.valid && e->gen != t->gen) {
			e->seen.valid = false;
			e->seen.tried_us = 0;
		}
		m->due[i].process = processes[i];
		m->due[i].anon_bytes = p->anon_bytes;
		m->due[i].seen = e->seen;
		now.misplaced = e->seen.valid && misplaced(s, p, e);
		now.bound_young = e->seen.valid && (e->bound || e->interleaved) && young(s, p);
		m->due[i].urgency = nb_memory_urgency(&e->seen, &now);
		if (e->seen.touched && e->seen.holds == 0)
			e->seen.follow_us = s->at_us;
	}
	if (m->tick % NB_MEMORY_FORGET_TICKS == 0)
		nb_memory_forget(m);
	pthread_mutex_unlock(&m->lock);
	return r;
}

int nb_memory_fill(struct nb_memory *m, const struct nb_procfs *fs, const struct nb_topology *t,
		   const struct nb_config *c, struct nb_snapshot *s, const uint32_t *processes,
		   uint32_t n)
{
	int r;

	if (t->n_nodes == 1 && !m->one_node_too) {
		for (uint32_t i = 0; i < n; i++) {
			struct nb_process *p = &s->processes[processes[i]];

			nb_snapshot_bytes(s, processes[i])[0] = p->anon_bytes;
			p->valid |= NB_VALID_MEM;
			p->mem_at_us = s->at_us;
		}
		return 0;
	}
	r = reserve(m, n);
	if (r == 0)
		r = look(m, t, c, s, processes, n);
	if (r < 0)
		return r;
	nb_memory_due_sort(m->due, n);
	nb_memory_tick(&m->budget, s->at_us);
	for (uint32_t i = 0; i < n; i++) {
		struct nb_process *p = &s->processes[m->due[i].process];
		struct nb_memory_entry *e;

		if (fs->live && !nb_memory_affords(&m->budget, m->due[i].urgency))
			continue;
		pthread_mutex_lock(&m->lock);
		e = nb_memory_find(m, p->key);
		pthread_mutex_unlock(&m->lock);
		r = read_one(m, fs, t, c, s, p, e);
		if (r < 0)
			return r;
	}
	pthread_mutex_lock(&m->lock);
	for (uint32_t i = 0; i < n; i++)
		show(s, processes[i], nb_memory_find(m, s->processes[processes[i]].key));
	pthread_mutex_unlock(&m->lock);
	return 0;
}
