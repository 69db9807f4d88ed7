/* SPDX-License-Identifier: MIT */
#include "sim/platform.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TICK_US 10000 /* start times count in clock ticks */

struct sim_platform {
	struct nb_platform base;
	struct nb_machine *m;
};

static struct nb_machine *machine_of(struct nb_platform *p)
{
	return ((struct sim_platform *)p)->m;
}

static struct nb_key key_of(const struct nb_sim_process *p, int32_t pid)
{
	return (struct nb_key){pid, (NB_SIM_EPOCH_US + p->spec->arrival_us) / TICK_US};
}

static int sample_nodes(const struct nb_machine *m, struct nb_snapshot *s)
{
	int r;

	for (uint32_t k = 0; k < m->n_nodes; k++) {
		struct nb_node *n = &s->nodes[k];

		n->id = k;
		n->n_cpus = nb_bitmap_weight(&m->node_cpus[k]);
		r = nb_snapshot_intern_mask(s, &m->node_cpus[k], &n->cpus);
		if (r < 0)
			return r;
		n->valid = NB_VALID_MEM;
		n->mem_total_bytes = nb_scenario_memory(m->scenario, k);
		n->mem_free_bytes = m->free_bytes[k];
		n->mem_target = n->n_cpus > 0 && n->mem_total_bytes > 0;
		for (uint32_t j = 0; j < m->n_nodes; j++)
			s->distance[k * m->n_nodes + j] = nb_scenario_distance(m->scenario, k, j);
	}
	for (uint32_t c = 0; c < m->n_cpus; c++)
		s->cpus[c] = (struct nb_cpu){
			.id = c,
			.node = m->cpus[c].node,
			.online = true,
			.valid = NB_VALID_RUN | NB_VALID_WAIT | NB_VALID_BUSY,
			.run_ns = m->cpus[c].run_ns,
			.wait_ns = m->cpus[c].wait_ns,
			.busy_ns = m->cpus[c].run_ns,
		};
	return 0;
}

static int sample_threads(const struct nb_machine *m, const struct nb_sim_process *p,
			  struct nb_snapshot *s)
{
	struct nb_thread *t;
	int r;

	for (uint32_t j = 0; j < p->n_threads; j++) {
		const struct nb_sim_thread *from = &m->threads[p->first_thread + j];

		r = nb_snapshot_add_thread(s, &t);
		if (r < 0)
			return r;
		t->key = key_of(p, from->tid);
		t->valid = NB_VALID_RUN | NB_VALID_WAIT | NB_VALID_MASK | NB_VALID_LAST_CPU;
		t->last_cpu = from->cpu;
		t->state = from->runnable ? 'R' : 'S';
		t->run_ns = from->run_ns;
		t->wait_ns = from->wait_ns;
		r = nb_snapshot_intern_mask(s, &from->own, &t->mask);
		if (r == 0)
			r = nb_snapshot_intern_mask(s, &from->mask, &t->current);
		if (r < 0)
			return r;
	}
	return 0;
}

static int sample_process(const struct nb_machine *m, const struct nb_sim_process *from,
			  struct nb_snapshot *s)
{
	_cleanup_bitmap_ struct nb_bitmap mems = {0};
	const struct nb_sim_thread *first = &m->threads[from->first_thread];
	char cgroup[64];
	struct nb_process *p;
	int r = nb_snapshot_add_process(s, &p);

	for (uint32_t k = 0; r == 0 && k < m->n_nodes; k++)
		if (nb_scenario_memory(m->scenario, k) > 0)
			r = nb_bitmap_set(&mems, k);
	if (r < 0)
		return r;
	p->key = key_of(from, from->pid);
	snprintf(p->comm, sizeof(p->comm), "%s", from->spec->name);
	snprintf(cgroup, sizeof(cgroup), "/sim.slice/%s", from->spec->name);
	p->uid = 1000;
	p->valid = NB_VALID_MEM | NB_VALID_MASK | NB_VALID_MEMS | NB_VALID_POLICY;
	p->flags = from->bound ? NB_PROC_PINNED | NB_PROC_BOUND : 0;
	p->mem_source = NB_MEM_NUMA_MAPS;
	p->mem_at_us = s->at_us;
	p->rss_bytes = p->anon_bytes = from->total_bytes;
	memcpy(nb_snapshot_bytes(s, s->n_processes - 1), from->bytes,
	       m->n_nodes * sizeof(*from->bytes));
	r = nb_snapshot_intern_str(s, "sim", &p->user);
	if (r == 0)
		r = nb_snapshot_intern_str(s, cgroup, &p->cgroup);
	if (r == 0)
		r = nb_snapshot_intern_mask(s, &first->own, &p->allowed);
	if (r == 0)
		r = nb_snapshot_intern_mask(s, &mems, &p->mems);
	return r < 0 ? r : sample_threads(m, from, s);
}

static int sample(struct nb_platform *platform, const struct nb_config *c, struct nb_snapshot *s)
{
	const struct nb_machine *m = machine_of(platform);
	int r = nb_snapshot_begin(s, NB_SIM_EPOCH_US + m->now_us, m->n_nodes, m->n_cpus);

	(void)c;
	s->topology_gen = 1;
	if (r == 0)
		r = sample_nodes(m, s);
	for (uint32_t i = 0; r == 0 && i < m->n_processes; i++)
		if (m->processes[i].alive)
			r = sample_process(m, &m->processes[i], s);
	return r;
}

static struct nb_sim_process *find(struct nb_machine *m, struct nb_key key)
{
	for (uint32_t i = 0; i < m->n_processes; i++) {
		struct nb_sim_process *p = &m->processes[i];

		if (p->alive && nb_key_equal(key_of(p, p->pid), key))
			return p;
	}
	return NULL;
}

/* Gives a thread the CPUs of nodes, within what its owner lets it use, or its own mask
 * back. An empty set is refused, as the kernel does. */
static int set_mask(struct nb_machine *m, struct nb_sim_thread *t, const struct nb_action *a,
		    bool nudge)
{
	_cleanup_bitmap_ struct nb_bitmap wanted = {0};
	int r = 0;

	if (a->release)
		return nb_bitmap_copy(&t->mask, &t->own);
	NB_BITMAP_FOREACH (node, &a->cpu_nodes)
		if (r == 0 && (uint32_t)node < m->n_nodes)
			r = nb_bitmap_or(&wanted, &m->node_cpus[node]);
	nb_bitmap_and(&wanted, &t->own);
	if (r < 0)
		return r;
	if (nb_bitmap_empty(&wanted))
		return -EINVAL;
	r = nb_bitmap_copy(&t->mask, &wanted);
	if (r < 0)
		return r;
	nb_scheduler_obey(m, t);
	return nudge ? nb_bitmap_copy(&t->mask, &t->own) : 0;
}

static int start(struct nb_platform *platform, const struct nb_config *c,
		 const struct nb_snapshot *s, const struct nb_action *a)
{
	struct nb_machine *m = machine_of(platform);
	struct nb_sim_process *p = find(m, a->key);
	const struct nb_group *g;
	uint32_t threads_set = 0;
	bool nudge;
	int r, error = 0;

	(void)s;
	if (!p)
		return nb_machine_answer(m, a, ESRCH, m->now_us, 0, 0);
	if (a->what & NB_MEMORY && a->mem_to >= m->n_nodes)
		return nb_machine_answer(m, a, ENODEV, m->now_us, 0, 0);
	if (a->what & NB_MEMORY && m->movers[a->mem_to].n_jobs == NB_SIM_QUEUE_MAX)
		return -EAGAIN;
	g = nb_config_group(c, p->spec->name, "sim", "/sim.slice");
	nudge = (g ? &g->settings : &c->settings)->hold == NB_HOLD_NUDGE;
	for (uint32_t j = 0; a->what & NB_CPU && j < p->n_threads; j++) {
		r = set_mask(m, &m->threads[p->first_thread + j], a, nudge);
		if (r == -ENOMEM)
			return r;
		if (r < 0)
			error = -r;
		else
			threads_set++;
	}
	if (error || !(a->what & NB_MEMORY))
		return nb_machine_answer(m, a, error, m->now_us, 0, threads_set);
	return nb_movers_add(m, a, (uint32_t)(p - m->processes), threads_set);
}

static int next_outcome(struct nb_platform *platform, struct nb_outcome *ret)
{
	struct nb_machine *m = machine_of(platform);

	if (m->n_outcomes == 0)
		return 0;
	*ret = m->outcomes[0];
	m->n_outcomes--;
	memmove(m->outcomes, m->outcomes + 1, m->n_outcomes * sizeof(*m->outcomes));
	return 1;
}

static int event_fd(struct nb_platform *platform)
{
	(void)platform;
	return -1;
}

static int restore(struct nb_platform *platform)
{
	struct nb_machine *m = machine_of(platform);
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < m->n_threads; i++)
		r = nb_bitmap_copy(&m->threads[i].mask, &m->threads[i].own);
	return r;
}

static struct nb_platform *platform_free(struct nb_platform *platform)
{
	free(platform);
	return NULL;
}

int nb_sim_platform_new(struct nb_machine *m, struct nb_platform **ret)
{
	static const struct nb_platform_ops ops = {
		.name = "simulator",
		.sample = sample,
		.start = start,
		.next_outcome = next_outcome,
		.event_fd = event_fd,
		.restore = restore,
		.free = platform_free,
	};
	struct sim_platform *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->base.ops = &ops;
	p->m = m;
	*ret = &p->base;
	return 0;
}
