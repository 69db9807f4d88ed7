/* SPDX-License-Identifier: MIT */
/* What can be checked only when the whole scenario is known. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "nb/snapshot.h"
#include "sim/scenario.h"

__attribute__((format(printf, 2, 3))) static int wrong(struct nb_config_error *e, const char *fmt,
						       ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(e->text, sizeof(e->text), fmt, ap);
	va_end(ap);
	return -EINVAL;
}

static int check_machine(const char *name, const struct nb_scenario *s, struct nb_config_error *e)
{
	const struct nb_sim_machine_spec *m = &s->machine;
	uint64_t cpus = 0;

	if (!m->nodes)
		return wrong(e, "%s: [machine] nodes: is missing", name);
	if (m->cpus.n != 1 && m->cpus.n != m->nodes)
		return wrong(e, "%s: [machine] cpus: one number, or one for each node", name);
	if (m->memory.n != 1 && m->memory.n != m->nodes)
		return wrong(e, "%s: [machine] memory: one size, or one for each node", name);
	for (uint32_t i = 0; i < NB_SIM_NODES_MAX; i++) {
		const struct nb_sim_list *row = &m->distance[i];

		if (row->n && (i >= m->nodes || row->n != m->nodes))
			return wrong(e, "%s: [machine] distance_%u: a number for each node", name,
				     i);
		if (row->n && row->values[i] != 10)
			return wrong(e, "%s: [machine] distance_%u: 10 to itself", name, i);
	}
	for (uint32_t i = 0; i < m->nodes; i++)
		cpus += nb_scenario_cpus(s, i);
	if (cpus == 0 || cpus > NB_SIM_CPUS_MAX)
		return wrong(e, "%s: [machine] cpus: 1 to %d in all", name, NB_SIM_CPUS_MAX);
	if (s->run.window_us % s->run.step_us != 0)
		return wrong(e, "%s: [run] window: not a multiple of step", name);
	if (s->run.duration_us % s->run.step_us != 0)
		return wrong(e, "%s: [run] duration: not a multiple of step", name);
	if (s->config->daemon.interval_us % s->run.step_us != 0)
		return wrong(e, "%s: [daemon] interval: not a multiple of [run] step", name);
	return 0;
}

static int check_processes(const char *name, const struct nb_scenario *s, struct nb_config_error *e)
{
	uint64_t threads = 0;

	if (!s->n_processes)
		return wrong(e, "%s: has no [process NAME]", name);
	for (size_t k = 0; k < s->n_processes; k++) {
		const struct nb_sim_process_spec *p = &s->processes[k];

		for (uint32_t i = 0; i < p->memory_node.n; i++)
			if (p->memory_node.values[i] >= s->machine.nodes)
				return wrong(e,
					     "%s: [process %s] memory_node: there is no such node",
					     name, p->name);
		for (uint32_t i = 0; i < p->start_node.n; i++)
			if (p->start_node.values[i] >= s->machine.nodes ||
			    nb_scenario_cpus(s, (uint32_t)p->start_node.values[i]) == 0)
				return wrong(e, "%s: [process %s] start_node: has no CPU", name,
					     p->name);
		if (p->end_us && p->end_us <= p->arrival_us)
			return wrong(e, "%s: [process %s] end: not after arrival", name, p->name);
		if (p->bound_until_us && !p->start_node.n)
			return wrong(e, "%s: [process %s] bound_until: needs start_node", name,
				     p->name);
		threads += p->count * p->threads;
	}
	if (threads > NB_SIM_THREADS_MAX)
		return wrong(e, "%s: has more than %d threads", name, NB_SIM_THREADS_MAX);
	return 0;
}

int nb_scenario_check(const char *name, const struct nb_scenario *s,
		      struct nb_config_error *ret_err)
{
	int r = check_machine(name, s, ret_err);

	return r < 0 ? r : check_processes(name, s, ret_err);
}

uint32_t nb_scenario_distance(const struct nb_scenario *s, uint32_t from, uint32_t to)
{
	const struct nb_sim_list *row = &s->machine.distance[from];

	if (row->n)
		return (uint32_t)row->values[to];
	return from == to ? NB_DIST_LOCAL : (uint32_t)s->machine.distance_remote;
}

static uint64_t of_node(const struct nb_sim_list *list, uint32_t node)
{
	return list->values[list->n == 1 ? 0 : node];
}

uint64_t nb_scenario_cpus(const struct nb_scenario *s, uint32_t node)
{
	return of_node(&s->machine.cpus, node);
}

uint64_t nb_scenario_memory(const struct nb_scenario *s, uint32_t node)
{
	return of_node(&s->machine.memory, node);
}
