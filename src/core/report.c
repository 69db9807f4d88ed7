/* SPDX-License-Identifier: MIT */
#include "nb/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/model.h"

static uint32_t id_of(const struct nb_snapshot *s, uint32_t node)
{
	return node < s->n_nodes ? s->nodes[node].id : NB_NO_NODE;
}

static int report_nodes(const struct nb_model *m, const struct nb_snapshot *s, struct nb_report *r)
{
	for (uint32_t k = 0; k < s->n_nodes; k++) {
		const struct nb_node *n = &s->nodes[k];
		struct nb_report_node *o = &r->nodes[k];
		int e = nb_bitmap_copy(&o->cpus, nb_snapshot_mask(s, n->cpus));

		if (e < 0)
			return e;
		o->id = n->id;
		o->n_cpus = n->n_cpus;
		o->capacity_cap = (uint64_t)n->n_cpus * NB_CPU_CAP;
		o->mem_valid = n->valid & NB_VALID_MEM;
		o->mem_total_bytes = n->mem_total_bytes;
		o->mem_free_bytes = n->mem_free_bytes;
		if (k < m->n_nodes) {
			o->util_cap = m->nodes[k].util_cap;
			o->runnable_cap = m->nodes[k].runnable_cap;
			o->nr_running = m->nodes[k].nr_running;
			o->class = m->nodes[k].class;
			o->n_in_flight = m->nodes[k].n_in_flight;
		}
		for (uint32_t i = 0; i < m->n_flights; i++) {
			const struct nb_flight *f = &m->flights[i];

			if (f->action.to != k || !f->action.takes_slot ||
			    (o->in_flight.pid && f->since_us >= o->in_flight_since_us))
				continue;
			o->in_flight = f->action.key;
			o->in_flight_since_us = f->since_us;
		}
	}
	memcpy(r->distance, s->distance, (uint64_t)s->n_nodes * s->n_nodes * sizeof(*r->distance));
	return 0;
}

/* Σ c·m over the nodes, of permyriad shares; a unit all on one node has 10,000. */
static uint32_t local_share(const uint32_t *cpu_pmy, const uint32_t *mem_pmy, uint32_t n)
{
	uint64_t sum = 0;

	for (uint32_t k = 0; k < n; k++)
		sum += (uint64_t)cpu_pmy[k] * mem_pmy[k];
	return (uint32_t)(sum / 10000);
}

static void report_history(const struct nb_unit_history *h, struct nb_report_task *o)
{
	o->last_action_us = h->last_action_us;
	o->last_reason = h->last_reason;
	o->last_from_id = h->last_from;
	o->last_to_id = h->last_to;
	o->last_bytes = h->last_bytes;
	o->last_error = h->last_error;
	o->n_moves = h->n_moves;
}

static void report_task(const struct nb_model *m, const struct nb_snapshot *s,
			const struct nb_plan *plan, struct nb_report *r, uint32_t i,
			uint32_t *mem_pmy)
{
	const struct nb_process *p = &s->processes[i];
	const struct nb_unit *u = nb_model_unit(m, i);
	struct nb_report_task *o = &r->tasks[i];
	bool cpu_known;

	o->key = p->key;
	memcpy(o->comm, p->comm, sizeof(o->comm));
	o->uid = p->uid;
	o->n_threads = p->n_threads;
	o->util_cap = u->util_cap;
	o->runnable_cap = u->runnable_cap;
	o->rates_valid = u->rates_valid;
	o->mem_source = p->mem_source;
	o->rss_bytes = p->rss_bytes;
	o->node_bytes = r->node_bytes + (uint64_t)i * s->n_nodes;
	o->node_cpu_pmy = r->node_cpu_pmy + (uint64_t)i * s->n_nodes;
	memcpy(o->node_bytes, nb_snapshot_bytes(s, i), s->n_nodes * sizeof(*o->node_bytes));
	for (uint32_t k = 0; k < s->n_nodes; k++)
		o->total_bytes += o->node_bytes[k];
	cpu_known = nb_model_cpu_share(m, s, i, o->node_cpu_pmy);
	if (cpu_known && nb_model_memory_share(m, s, i, mem_pmy) > 0) {
		o->local_share_pmy = local_share(o->node_cpu_pmy, mem_pmy, s->n_nodes);
		o->local_valid = true;
	}
	o->best_node_id = NB_NO_NODE;
	if (i < plan->n_verdicts && nb_key_equal(plan->verdicts[i].key, p->key)) {
		const struct nb_verdict *v = &plan->verdicts[i];

		o->reason = v->reason;
		o->best_node_id = id_of(s, v->best_node);
		o->cost_us = v->cost_us;
		o->gain_us = v->gain_us;
		o->price_us = v->price_us;
	}
	report_history(&u->history, o);
}

static int report_actions(const struct nb_snapshot *s, const struct nb_plan *plan, struct nb_report *r)
{
	for (uint32_t i = 0; i < plan->n_actions; i++) {
		struct nb_action *a = &r->actions[i];
		int e = nb_action_copy(a, &plan->actions[i]);

		if (e < 0)
			return e;
		r->n_actions++;
		a->from = id_of(s, a->from);
		a->to = id_of(s, a->to);
		a->mem_to = id_of(s, a->mem_to);
	}
	return 0;
}

/* The machine's local share: that of the units, each by the time that it runs. What
 * is too small or idle to be a unit has no say. */
static void report_share(struct nb_report *r)
{
	uint64_t sum = 0, weight = 0;

	for (uint32_t i = 0; i < r->n_tasks; i++) {
		const struct nb_report_task *t = &r->tasks[i];

		if (!t->local_valid || t->reason == NB_REASON_SMALL_MEMORY ||
		    t->reason == NB_REASON_IDLE || t->reason == NB_REASON_KERNEL_THREAD)
			continue;
		sum += t->util_cap * t->local_share_pmy;
		weight += t->util_cap;
	}
	if (weight > 0) {
		r->local_share_pmy = (uint32_t)(sum / weight);
		r->local_valid = true;
	}
}

int nb_report_build(const struct nb_model *m, const struct nb_snapshot *s,
		    const struct nb_plan *plan, struct nb_report **ret)
{
	_cleanup_report_ struct nb_report *r = calloc(1, sizeof(*r));
	uint64_t cells = (uint64_t)s->n_processes * s->n_nodes;
	uint32_t *mem_pmy;
	int e;

	if (!r)
		return -ENOMEM;
	/* One more than needed, so that an empty array is not mistaken for a failure. */
	r->nodes = calloc(s->n_nodes + 1, sizeof(*r->nodes));
	r->distance = calloc((uint64_t)s->n_nodes * s->n_nodes + 1, sizeof(*r->distance));
	r->tasks = calloc(s->n_processes + 1, sizeof(*r->tasks));
	r->node_bytes = calloc(cells + 1, sizeof(*r->node_bytes));
	r->node_cpu_pmy = calloc(cells + s->n_nodes + 1, sizeof(*r->node_cpu_pmy));
	r->actions = calloc(plan->n_actions + 1, sizeof(*r->actions));
	if (!r->nodes || !r->distance || !r->tasks || !r->node_bytes || !r->node_cpu_pmy || !r->actions)
		return -ENOMEM;
	r->at_us = s->at_us;
	r->source = m->source;
	r->hold = m->hold;
	r->totals = m->totals;
	r->n_nodes = s->n_nodes;
	e = report_nodes(m, s, r);
	if (e < 0)
		return e;
	mem_pmy = r->node_cpu_pmy + cells;
	if (nb_model_now(m)->at_us == s->at_us)
		r->n_tasks = s->n_processes;
	for (uint32_t i = 0; i < r->n_tasks; i++)
		report_task(m, s, plan, r, i, mem_pmy);
	e = report_actions(s, plan, r);
	if (e < 0)
		return e;
	report_share(r);
	*ret = r;
	r = NULL;
	return 0;
}

struct nb_report *nb_report_free(struct nb_report *r)
{
	if (!r)
		return NULL;
	for (uint32_t i = 0; r->nodes && i < r->n_nodes; i++)
		nb_bitmap_done(&r->nodes[i].cpus);
	for (uint32_t i = 0; i < r->n_actions; i++)
		nb_action_done(&r->actions[i]);
	free(r->nodes);
	free(r->distance);
	free(r->tasks);
	free(r->node_bytes);
	free(r->node_cpu_pmy);
	free(r->actions);
	free(r);
	return NULL;
}
