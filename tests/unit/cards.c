/* SPDX-License-Identifier: MIT */
#include "cards.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int cards_sample(struct nb_platform *p, const struct nb_config *c, struct nb_snapshot *s)
{
	struct cards *m = (struct cards *)p;
	struct nb_bitmap cpus[2] = {0}, all = {0}, mems = {0};
	uint32_t mask, mems_mask;

	(void)c;
	m->at_us += 1000000;
	m->run_ns += 1000000000;
	if (nb_snapshot_begin(s, m->at_us, m->n_nodes, 2 * m->n_nodes) < 0)
		return -ENOMEM;
	if (m->sample_error)
		return m->sample_error;
	s->topology_gen = 1;
	for (uint32_t k = 0; k < m->n_nodes; k++) {
		nb_bitmap_set(&cpus[k], 2 * k);
		nb_bitmap_set(&cpus[k], 2 * k + 1);
		nb_bitmap_or(&all, &cpus[k]);
		nb_bitmap_set(&mems, k);
		s->nodes[k].id = k;
		s->nodes[k].n_cpus = 2;
		s->nodes[k].mem_target = true;
		s->nodes[k].valid = NB_VALID_MEM;
		s->nodes[k].mem_total_bytes = 8192 * MiB;
		s->nodes[k].mem_free_bytes = 4096 * MiB;
		nb_snapshot_intern_mask(s, &cpus[k], &s->nodes[k].cpus);
		for (uint32_t i = 0; i < 2; i++)
			s->cpus[2 * k + i] = (struct nb_cpu){.id = 2 * k + i,
							     .node = k,
							     .online = true,
							     .valid = NB_VALID_RUN | NB_VALID_WAIT,
							     .run_ns = m->run_ns};
	}
	nb_snapshot_intern_mask(s, &all, &mask);
	nb_snapshot_intern_mask(s, &mems, &mems_mask);
	for (uint32_t i = 0; i < m->n_processes; i++) {
		struct nb_process *q;
		struct nb_thread *t;

		nb_snapshot_add_process(s, &q);
		q->key = (struct nb_key){100 + (int32_t)i, 7};
		snprintf(q->comm, sizeof(q->comm), "task\x1b%u", i);
		q->valid = NB_VALID_MEM | NB_VALID_MASK | NB_VALID_MEMS | NB_VALID_POLICY;
		q->user = q->cgroup = NB_NO_STR;
		q->uid = 1000;
		q->allowed = mask;
		q->mems = mems_mask;
		q->mem_source = NB_MEM_NUMA_MAPS;
		q->mem_at_us = m->at_us;
		q->rss_bytes = q->anon_bytes = 256 * MiB;
		nb_snapshot_bytes(s, i)[m->mem_node[i]] = 256 * MiB;
		nb_snapshot_add_thread(s, &t);
		*t = (struct nb_thread){.key = q->key,
					.mask = mask,
					.current = mask,
					.state = 'R',
					.valid = NB_VALID_RUN | NB_VALID_WAIT | NB_VALID_LAST_CPU |
						 NB_VALID_MASK,
					.last_cpu = 2 * m->cpu_node[i],
					.run_ns = m->run_ns};
	}
	nb_bitmap_done(&cpus[0]);
	nb_bitmap_done(&cpus[1]);
	nb_bitmap_done(&all);
	nb_bitmap_done(&mems);
	return 0;
}

static int cards_start(struct nb_platform *p, const struct nb_config *c,
		       const struct nb_snapshot *s, const struct nb_action *a)
{
	struct cards *m = (struct cards *)p;

	(void)c, (void)s;
	if (m->start_error)
		return m->start_error;
	m->n_started++;
	m->queue[m->n_queue++] = *a;
	m->queue[m->n_queue - 1].cpu_nodes = m->queue[m->n_queue - 1].mem_from =
		(struct nb_bitmap){0};
	return 0;
}

static int cards_next_outcome(struct nb_platform *p, struct nb_outcome *ret)
{
	struct cards *m = (struct cards *)p;
	struct nb_action *a = &m->queue[0];

	if (!m->end_at_once || !m->n_queue)
		return 0;
	if (a->what & NB_CPU && !m->end_error)
		m->cpu_node[a->key.pid - 100] = a->to;
	*ret = (struct nb_outcome){.action = a->id,
				   .key = a->key,
				   .what = a->what,
				   .to = a->to,
				   .error = m->end_error,
				   .bytes_moved = a->bytes,
				   .started_us = m->at_us,
				   .ended_us = m->at_us};
	memmove(m->queue, m->queue + 1, --m->n_queue * sizeof(*m->queue));
	return 1;
}

static int cards_event_fd(struct nb_platform *p)
{
	(void)p;
	return -1;
}

static int cards_restore(struct nb_platform *p)
{
	((struct cards *)p)->n_restored++;
	return 0;
}

static struct nb_platform *cards_free(struct nb_platform *p)
{
	struct cards *m = (struct cards *)p;

	if (m && m->freed)
		*m->freed = true;
	free(m);
	return NULL;
}

static const struct nb_platform_ops cards_ops = {
	.name = "cards",
	.sample = cards_sample,
	.start = cards_start,
	.next_outcome = cards_next_outcome,
	.event_fd = cards_event_fd,
	.restore = cards_restore,
	.free = cards_free,
};

struct cards *cards_new(void)
{
	struct cards *m = calloc(1, sizeof(*m));

	m->base.ops = &cards_ops;
	m->n_nodes = 2;
	m->n_processes = 4;
	for (uint32_t i = 0; i < 4; i++) {
		m->cpu_node[i] = i % 2;
		m->mem_node[i] = 1 - i % 2;
	}
	return m;
}
