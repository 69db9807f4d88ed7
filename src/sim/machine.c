/* SPDX-License-Identifier: MIT */
#include "sim/machine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_PID 1000

static int add_cpus(struct nb_machine *m)
{
	uint32_t cpu = 0;
	int r = 0;

	for (uint32_t k = 0; k < m->n_nodes; k++)
		for (uint64_t i = 0; r == 0 && i < nb_scenario_cpus(m->scenario, k); i++, cpu++) {
			m->cpus[cpu].node = k;
			r = nb_bitmap_set(&m->node_cpus[k], cpu);
			if (r == 0)
				r = nb_bitmap_set(&m->all_cpus, cpu);
		}
	return r;
}

static void add_processes(struct nb_machine *m)
{
	const struct nb_scenario *s = m->scenario;
	uint32_t p = 0, t = 0;
	int32_t pid = FIRST_PID;

	for (size_t k = 0; k < s->n_processes; k++) {
		const struct nb_sim_process_spec *spec = &s->processes[k];

		for (uint32_t i = 0; i < spec->count; i++, p++) {
			const struct nb_sim_list *start = &spec->start_node;

			m->processes[p] = (struct nb_sim_process){
				.spec = spec,
				.start_node = start->n ? (uint32_t)start->values[i % start->n]
						       : NB_NO_NODE,
				.pid = pid,
				.first_thread = t,
				.n_threads = (uint32_t)spec->threads,
				.bytes = m->bytes + (size_t)p * m->n_nodes,
			};
			for (uint32_t j = 0; j < spec->threads; j++, t++) {
				m->threads[t].process = p;
				m->threads[t].tid = pid++;
			}
		}
	}
}

static void count(struct nb_machine *m)
{
	const struct nb_scenario *s = m->scenario;

	m->n_nodes = (uint32_t)s->machine.nodes;
	for (uint32_t k = 0; k < m->n_nodes; k++)
		m->n_cpus += (uint32_t)nb_scenario_cpus(s, k);
	for (size_t k = 0; k < s->n_processes; k++) {
		m->n_processes += (uint32_t)s->processes[k].count;
		m->n_threads += (uint32_t)(s->processes[k].count * s->processes[k].threads);
	}
}

int nb_machine_new(const struct nb_scenario *s, uint64_t seed, struct nb_machine **ret)
{
	_cleanup_machine_ struct nb_machine *m = calloc(1, sizeof(*m));
	int r;

	if (!m)
		return -ENOMEM;
	m->scenario = s;
	m->config = s->config;
	m->random.state = seed;
	count(m);
	m->node_cpus = calloc(m->n_nodes, sizeof(*m->node_cpus));
	m->free_bytes = calloc(m->n_nodes, sizeof(*m->free_bytes));
	m->movers = calloc(m->n_nodes, sizeof(*m->movers));
	m->cpus = calloc(m->n_cpus, sizeof(*m->cpus));
	m->processes = calloc(m->n_processes, sizeof(*m->processes));
	m->threads = calloc(m->n_threads, sizeof(*m->threads));
	m->turns = calloc(m->n_threads, sizeof(*m->turns));
	m->bytes = calloc((size_t)m->n_processes * m->n_nodes, sizeof(*m->bytes));
	if (!m->node_cpus || !m->free_bytes || !m->movers || !m->cpus || !m->processes ||
	    !m->threads || !m->turns || !m->bytes)
		return -ENOMEM;
	for (uint32_t k = 0; k < m->n_nodes; k++)
		m->free_bytes[k] = nb_scenario_memory(s, k) / NB_SIM_PAGE * NB_SIM_PAGE;
	r = add_cpus(m);
	if (r < 0)
		return r;
	add_processes(m);
	*ret = m;
	m = NULL;
	return 0;
}

struct nb_machine *nb_machine_free(struct nb_machine *m)
{
	if (!m)
		return NULL;
	for (uint32_t k = 0; m->node_cpus && k < m->n_nodes; k++)
		nb_bitmap_done(&m->node_cpus[k]);
	for (uint32_t t = 0; m->threads && t < m->n_threads; t++) {
		nb_bitmap_done(&m->threads[t].own);
		nb_bitmap_done(&m->threads[t].mask);
	}
	nb_bitmap_done(&m->all_cpus);
	if (m->movers)
		nb_movers_done(m);
	free(m->node_cpus);
	free(m->free_bytes);
	free(m->movers);
	free(m->cpus);
	free(m->processes);
	free(m->threads);
	free(m->turns);
	free(m->bytes);
	free(m->outcomes);
	free(m);
	return NULL;
}

/* --- processes come and go -------------------------------------------------- */

static uint64_t take(struct nb_machine *m, struct nb_sim_process *p, uint32_t node, uint64_t want)
{
	uint64_t got = want < m->free_bytes[node] ? want : m->free_bytes[node];

	m->free_bytes[node] -= got;
	p->bytes[node] += got;
	return got;
}

/* What does not fit where it is wanted goes to the closest node that has room. */
static uint64_t take_near(struct nb_machine *m, struct nb_sim_process *p, uint32_t node,
			  uint64_t want)
{
	want -= take(m, p, node, want);
	while (want > 0) {
		uint32_t best = NB_NO_NODE;

		for (uint32_t k = 0; k < m->n_nodes; k++)
			if (m->free_bytes[k] > 0 &&
			    (best == NB_NO_NODE ||
			     nb_scenario_distance(m->scenario, node, k) <
				     nb_scenario_distance(m->scenario, node, best)))
				best = k;
		if (best == NB_NO_NODE)
			break;
		want -= take(m, p, best, want);
	}
	return want;
}

static int populate(struct nb_machine *m, struct nb_sim_process *p, uint32_t instance)
{
	const struct nb_sim_list *nodes = &p->spec->memory_node;
	uint64_t want = p->spec->memory_bytes / NB_SIM_PAGE * NB_SIM_PAGE, part, left = 0;

	p->total_bytes = want;
	if (nodes->n)
		return take_near(m, p, (uint32_t)nodes->values[instance % nodes->n], want) ? -ENOMEM
											   : 0;
	part = want / NB_SIM_PAGE / m->n_nodes * NB_SIM_PAGE;
	for (uint32_t k = 0; k < m->n_nodes; k++)
		left += take_near(m, p, k, k == 0 ? want - part * (m->n_nodes - 1) : part);
	return left ? -ENOMEM : 0;
}

/* What its owner asks for replaces what the daemon set. */
static int own_masks(struct nb_machine *m, struct nb_sim_process *p)
{
	int r = 0;

	for (uint32_t j = 0; r == 0 && j < p->n_threads; j++) {
		struct nb_sim_thread *t = &m->threads[p->first_thread + j];

		r = nb_bitmap_copy(&t->own, p->bound ? &m->node_cpus[p->start_node] : &m->all_cpus);
		if (r == 0)
			r = nb_bitmap_copy(&t->mask, &t->own);
	}
	return r;
}

static int arrive(struct nb_machine *m, uint32_t process, uint32_t instance)
{
	struct nb_sim_process *p = &m->processes[process];
	int r;

	p->alive = true;
	p->bound = p->spec->bound_until_us > m->now_us;
	r = populate(m, p, instance);
	if (r == 0)
		r = own_masks(m, p);
	for (uint32_t j = 0; r == 0 && j < p->n_threads; j++) {
		struct nb_sim_thread *t = &m->threads[p->first_thread + j];

		t->wake_at_us = m->now_us;
		if (p->spec->duty_pmy < 10000) /* they do not all start at once */
			t->wake_at_us += nb_random_below(&m->random, p->spec->period_us);
		nb_scheduler_place(m, t);
	}
	return r;
}

static void leave(struct nb_machine *m, struct nb_sim_process *p)
{
	p->alive = false;
	for (uint32_t k = 0; k < m->n_nodes; k++) {
		m->free_bytes[k] += p->bytes[k];
		p->bytes[k] = 0;
	}
	p->total_bytes = 0;
	for (uint32_t j = 0; j < p->n_threads; j++) {
		struct nb_sim_thread *t = &m->threads[p->first_thread + j];

		if (t->runnable)
			m->cpus[t->cpu].n_runnable--;
		t->runnable = false;
	}
}

static int come_and_go(struct nb_machine *m)
{
	uint32_t instance = 0;
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < m->n_processes; i++) {
		struct nb_sim_process *p = &m->processes[i];
		const struct nb_sim_process_spec *spec = p->spec;
		uint64_t before_us = m->now_us - m->scenario->run.step_us;
		bool first = m->now_us == 0;

		instance = i > 0 && m->processes[i - 1].spec == spec ? instance + 1 : 0;
		if (p->alive && spec->end_us && spec->end_us <= m->now_us) {
			leave(m, p);
		} else if (!p->alive && spec->arrival_us <= m->now_us &&
			   (first || spec->arrival_us > before_us)) {
			r = arrive(m, i, instance);
		} else if (p->bound && spec->bound_until_us <= m->now_us) {
			p->bound = false;
			r = own_masks(m, p);
		}
	}
	return r;
}

int nb_machine_step(struct nb_machine *m)
{
	int r = come_and_go(m);

	if (r < 0)
		return r;
	nb_scheduler_step(m);
	m->now_us += m->scenario->run.step_us;
	return nb_movers_step(m);
}
