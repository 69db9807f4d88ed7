/* SPDX-License-Identifier: MIT */
/* Folds a snapshot into the model: differences of counters become averages. */
#include <string.h>

#include "core/grow.h"
#include "core/model.h"

#define BUSY_CAP (NB_CPU_CAP / 20)
#define TICK_US 10000 /* start times count in USER_HZ, which is 100 on every Linux */

struct fold {
	struct nb_model *m;
	const struct nb_snapshot *s;
	const struct nb_config *c;
	const struct nb_history *old;
	struct nb_history *new;
	bool compare;   /* the difference to the last snapshot means something */
	uint64_t dt_us;
	uint32_t decay;
	uint64_t *thread_run_ns, *thread_wait_ns, *busy_ns, *wait_ns; /* a node each */
	bool have_cpu_wait, have_thread_wait, have_busy;
};

static int reserve(struct nb_model *m, struct nb_history *h, const struct nb_snapshot *s)
{
	int r;

	r = NB_GROW(h->units, h->cap_units, s->n_processes);
	if (r == 0)
		r = NB_GROW(h->first_thread, h->cap_first, s->n_processes);
	if (r == 0)
		r = NB_GROW(h->threads, h->cap_threads, s->n_threads);
	if (r == 0)
		r = NB_GROW(h->cpus, h->cap_cpus, s->n_cpus);
	if (r == 0)
		r = NB_GROW(m->nodes, m->cap_nodes, s->n_nodes);
	if (r == 0)
		r = NB_GROW(m->unit_run_ns, m->cap_run, (uint64_t)s->n_processes * s->n_nodes);
	if (r == 0)
		r = NB_GROW(m->node_scratch, m->cap_scratch, 4 * (uint64_t)s->n_nodes);
	return r;
}

/* Nodes came or went, so dense indexes changed: what is remembered by the kernel's
 * id is kept, what names a dense index is forgotten. */
static void adopt_topology(struct nb_model *m, const struct nb_snapshot *s)
{
	struct nb_history *h = &m->side[m->now];

	/* The array is ordered by id on both sides, and ids are unique. */
	for (uint32_t i = 0; i < s->n_nodes; i++) {
		uint32_t id = s->nodes[i].id, j;

		for (j = i; j < m->n_nodes && m->nodes[j].id != id; j++)
			;
		if (j < m->n_nodes) {
			struct nb_node_state found = m->nodes[j];

			m->nodes[j] = m->nodes[i];
			m->nodes[i] = found;
		} else {
			if (i < m->n_nodes && m->n_nodes < m->cap_nodes)
				m->nodes[m->n_nodes++] = m->nodes[i];
			m->nodes[i] = (struct nb_node_state){.id = id};
		}
		m->nodes[i].n_in_flight = 0;
	}
	for (uint32_t i = 0; i < m->n_flights; i++) {
		struct nb_flight *f = &m->flights[i];

		f->action.to = nb_snapshot_node_by_id(s, f->to_id);
		if (f->action.takes_slot && f->action.to != NB_NO_NODE)
			m->nodes[f->action.to].n_in_flight++;
	}
	for (uint32_t i = 0; i < h->n_units; i++) {
		struct nb_unit_history *u = &h->units[i].history;

		u->placed = u->memory_to = u->want_memory_to = NB_NO_NODE;
	}
	m->n_nodes = s->n_nodes;
	m->topology_gen = s->topology_gen;
}

/* Difference of a cumulative counter; false when it is not known. */
static bool difference(uint32_t now_valid, uint64_t now, uint32_t old_valid, uint64_t old,
		       uint32_t bit, uint64_t *ret)
{
	if (!(now_valid & old_valid & bit) || now < old)
		return false;
	*ret = now - old;
	return true;
}

static uint64_t rate_cap(uint64_t ns, uint64_t dt_us, uint64_t limit_cap)
{
	uint64_t cap = (uint64_t)((unsigned __int128)ns * NB_CPU_CAP / 1000 / dt_us);

	return cap < limit_cap ? cap : limit_cap;
}

static void fold_thread(struct fold *f, uint32_t unit, const struct nb_thread *t,
			const struct nb_thread_state *old, struct nb_thread_state *new)
{
	uint64_t dt_us = f->dt_us, run = 0, wait = 0, last = 0;
	bool known = false, waited = false;

	*new = (struct nb_thread_state){
		.key = t->key,
		.valid = t->valid,
		.node = t->valid & NB_VALID_LAST_CPU ? nb_snapshot_cpu_node(f->s, t->last_cpu) :
						       NB_NO_NODE,
		.run_ns = t->run_ns,
		.wait_ns = t->wait_ns,
	};
	if (!f->compare)
		return;
	if (old) {
		new->util = old->util;
		new->runnable = old->runnable;
		known = difference(t->valid, t->run_ns, old->valid, old->run_ns, NB_VALID_RUN, &run);
		waited = difference(t->valid, t->wait_ns, old->valid, old->wait_ns, NB_VALID_WAIT, &wait);
	} else if (t->key.start * TICK_US + TICK_US >= f->old->at_us && t->valid & NB_VALID_RUN) {
		/* Born since the last snapshot: all of its time falls into its short life. */
		uint64_t born_us = t->key.start * TICK_US;

		run = t->run_ns;
		wait = t->valid & NB_VALID_WAIT ? t->wait_ns : 0;
		known = true;
		waited = t->valid & NB_VALID_WAIT;
		if (born_us < f->s->at_us && f->s->at_us - born_us < dt_us)
			dt_us = f->s->at_us - born_us;
	}
	if (known) {
		uint32_t decay = nb_decay(dt_us, f->c->estimator.half_life_us);
		uint64_t util = rate_cap(run, dt_us, NB_CPU_CAP);

		last = rate_cap(run + wait, dt_us, NB_CPU_CAP);
		nb_avg_add(&new->util, util, decay);
		nb_avg_add(&new->runnable, last, decay);
		if (new->node != NB_NO_NODE) {
			f->m->unit_run_ns[(uint64_t)unit * f->m->n_nodes + new->node] += run;
			f->thread_run_ns[new->node] += run;
			f->thread_wait_ns[new->node] += wait;
		}
		f->have_thread_wait |= waited;
	}
	/* Who did not run at all in a whole interval has stopped: a loader thread that
	 * hands over to a worker is one thread after another, not two at once. */
	new->runnable_cap = known && last == 0 ? 0 : nb_avg_value(&new->runnable);
}

/* The threads of one process mostly stand in the same order as before. */
static const struct nb_thread_state *find_thread(const struct nb_history *h, uint32_t first,
						 uint32_t n, struct nb_key key, uint32_t *hint)
{
	for (uint32_t tries = 0; tries < n; tries++) {
		uint32_t i = (*hint + tries) % n;

		if (nb_key_equal(h->threads[first + i].key, key)) {
			*hint = i + 1 < n ? i + 1 : 0;
			return &h->threads[first + i];
		}
	}
	return NULL;
}

/* Memory that still grows is not placed yet, and where it will lie is not known. */
static void note_size(const struct fold *f, uint32_t i, struct nb_unit_history *h)
{
	const uint64_t *bytes = nb_snapshot_bytes(f->s, i);
	uint64_t total = 0, change;

	if (!(f->s->processes[i].valid & NB_VALID_MEM))
		return;
	for (uint32_t k = 0; k < f->s->n_nodes; k++)
		total += bytes[k];
	change = total > h->bytes ? total - h->bytes : h->bytes - total;
	if (change <= h->bytes / 20)
		return;
	h->bytes = total;
	h->bytes_at_us = f->s->at_us;
}

static void fold_process(struct fold *f, uint32_t i, const struct nb_unit *old, uint32_t old_first)
{
	const struct nb_process *p = &f->s->processes[i];
	struct nb_unit *u = &f->new->units[i];
	uint64_t util_cap = 0;
	uint32_t hint = 0;

	*u = (struct nb_unit){.key = p->key, .n_threads = p->n_threads};
	if (old) {
		u->history = old->history;
	} else {
		u->history.first_seen_us = f->s->at_us;
		u->history.placed = u->history.memory_to = NB_NO_NODE;
		u->history.want_memory_to = u->history.last_from = u->history.last_to = NB_NO_NODE;
	}
	f->new->first_thread[i] = p->first_thread;
	for (uint32_t j = 0; j < p->n_threads; j++) {
		const struct nb_thread *t = &f->s->threads[p->first_thread + j];
		struct nb_thread_state *new = &f->new->threads[p->first_thread + j];
		const struct nb_thread_state *was =
			old && old->n_threads ?
				find_thread(f->old, old_first, old->n_threads, t->key, &hint) :
				NULL;

		fold_thread(f, i, t, was, new);
		if (new->runnable.weight > 0)
			u->rates_valid = true;
		nb_load_add_task(&u->load, new->runnable_cap);
		u->n_busy += new->runnable_cap >= BUSY_CAP;
		util_cap += new->runnable_cap ? nb_avg_value(&new->util) : 0;
	}
	note_size(f, i, &u->history);
	u->util_cap = util_cap;
	u->runnable_cap = (uint64_t)u->load.mean_cap;
}

static void fold_processes(struct fold *f)
{
	uint32_t j = 0;

	for (uint32_t i = 0; i < f->s->n_processes; i++) {
		struct nb_key key = f->s->processes[i].key;
		const struct nb_unit *old = NULL;

		while (j < f->old->n_units && f->old->units[j].key.pid < key.pid)
			j++;
		if (j < f->old->n_units && nb_key_equal(f->old->units[j].key, key))
			old = &f->old->units[j];
		fold_process(f, i, old, old ? f->old->first_thread[j] : 0);
	}
}

static void fold_cpus(struct fold *f)
{
	uint32_t j = 0;

	for (uint32_t i = 0; i < f->s->n_cpus; i++) {
		const struct nb_cpu *cpu = &f->s->cpus[i];
		struct nb_cpu_state *new = &f->new->cpus[i];
		uint64_t ns;

		*new = (struct nb_cpu_state){
			.id = cpu->id,
			.valid = cpu->valid,
			.run_ns = cpu->run_ns,
			.wait_ns = cpu->wait_ns,
			.busy_ns = cpu->busy_ns,
		};
		while (j < f->old->n_cpus && f->old->cpus[j].id < cpu->id)
			j++;
		if (!f->compare || j >= f->old->n_cpus || f->old->cpus[j].id != cpu->id ||
		    cpu->node == NB_NO_NODE || !cpu->online || cpu->isolated)
			continue;
		const struct nb_cpu_state *old = &f->old->cpus[j];

		if (difference(cpu->valid, cpu->wait_ns, old->valid, old->wait_ns, NB_VALID_WAIT, &ns)) {
			f->wait_ns[cpu->node] += ns;
			f->have_cpu_wait = true;
		}
		if (difference(cpu->valid, cpu->busy_ns, old->valid, old->busy_ns, NB_VALID_BUSY, &ns)) {
			f->busy_ns[cpu->node] += ns;
			f->have_busy = true;
		}
	}
}

/* What node k ran and waited in the interval. Run time is that of its threads, but not
 * less than /proc/stat saw (threads that ended in between are in nobody's list). */
static uint64_t node_run(const struct fold *f, uint32_t k)
{
	return f->busy_ns[k] > f->thread_run_ns[k] ? f->busy_ns[k] : f->thread_run_ns[k];
}

static uint64_t node_wait(const struct fold *f, uint32_t k)
{
	return f->have_cpu_wait ? f->wait_ns[k] : f->thread_wait_ns[k];
}

/* What a node shows beyond its threads in the list. */
static uint64_t node_excess(const struct fold *f, uint32_t k)
{
	uint64_t all = f->busy_ns[k] + node_wait(f, k);
	uint64_t seen = f->thread_run_ns[k] + f->thread_wait_ns[k];

	return all > seen ? all - seen : 0;
}

/*
 * How much of the machine's run and wait time no thread in the list accounts for, as a
 * share of the sum of all excesses in 1/1024. A thread that changed its node within the
 * interval counts where it is now: it leaves an excess on one node that another lacks,
 * and that is nobody's load.
 */
static uint64_t true_excess(const struct fold *f)
{
	uint64_t all = 0, seen = 0, excess = 0;

	for (uint32_t k = 0; k < f->m->n_nodes; k++) {
		all += f->busy_ns[k] + node_wait(f, k);
		seen += f->thread_run_ns[k] + f->thread_wait_ns[k];
		excess += node_excess(f, k);
	}
	if (all <= seen || excess == 0)
		return 0;
	return (uint64_t)((unsigned __int128)(all - seen) * 1024 / excess);
}

/* A node runs no more than its CPUs can. */
static void fold_nodes(struct fold *f)
{
	struct nb_model *m = f->m;
	uint64_t share = true_excess(f);

	for (uint32_t k = 0; k < m->n_nodes; k++) {
		struct nb_node_state *n = &m->nodes[k];
		uint32_t n_cpus = f->s->nodes[k].n_cpus;
		uint64_t util = rate_cap(node_run(f, k), f->dt_us, (uint64_t)n_cpus * NB_CPU_CAP);

		nb_avg_add(&n->util, util, f->decay);
		nb_avg_add(&n->runnable, util + rate_cap(node_wait(f, k), f->dt_us, UINT32_MAX), f->decay);
		nb_avg_add(&n->other, rate_cap(node_excess(f, k), f->dt_us, UINT32_MAX) * share / 1024,
			   f->decay);
		n->util_cap = nb_avg_value(&n->util);
		n->other_cap = nb_avg_value(&n->other);
		n->runnable_cap = nb_avg_value(&n->runnable);
		n->nr_running = (uint32_t)((n->runnable_cap + NB_CPU_CAP / 2) / NB_CPU_CAP);
		n->class = nb_classify(n_cpus, n->util_cap, n->runnable_cap, n->nr_running,
				       f->c->estimator.imbalance_pct);
	}
	m->source = f->have_cpu_wait	? NB_SOURCE_SCHEDSTAT :
		    f->have_thread_wait ? NB_SOURCE_THREADS :
		    f->have_busy	? NB_SOURCE_STAT :
					  NB_SOURCE_UNKNOWN;
}

int nb_model_update(struct nb_model *m, const struct nb_snapshot *s, const struct nb_config *c)
{
	const struct nb_history *old = &m->side[m->now];
	struct nb_history *new = &m->side[!m->now];
	uint64_t dt_us = old->valid && s->at_us > old->at_us ? s->at_us - old->at_us : 0;
	int r = reserve(m, new, s);

	if (r < 0)
		return r;
	if (m->topology_gen != s->topology_gen || m->n_nodes != s->n_nodes)
		adopt_topology(m, s);

	struct fold f = {
		.m = m, .s = s, .c = c, .old = old, .new = new, .dt_us = dt_us,
		/* After a gap (a suspended machine, a stopped daemon) the mean over it says
		 * nothing about now. */
		.compare = dt_us > 0 && dt_us <= 3 * c->daemon.max_interval_us,
		.decay = nb_decay(dt_us, c->estimator.half_life_us),
		.thread_run_ns = m->node_scratch,
		.thread_wait_ns = m->node_scratch + s->n_nodes,
		.busy_ns = m->node_scratch + 2 * (uint64_t)s->n_nodes,
		.wait_ns = m->node_scratch + 3 * (uint64_t)s->n_nodes,
	};

	if (s->n_nodes > 0) {
		memset(m->node_scratch, 0, 4 * (uint64_t)s->n_nodes * sizeof(*m->node_scratch));
		if (s->n_processes > 0)
			memset(m->unit_run_ns, 0,
			       (uint64_t)s->n_processes * s->n_nodes * sizeof(*m->unit_run_ns));
	}
	fold_processes(&f);
	fold_cpus(&f);
	if (f.compare)
		fold_nodes(&f);
	new->at_us = s->at_us;
	new->n_units = s->n_processes;
	new->n_threads = s->n_threads;
	new->n_cpus = s->n_cpus;
	new->valid = true;
	m->now = !m->now;
	m->rates_valid = f.compare;
	m->totals.samples++;
	m->totals.rejected_rows += s->rejected_rows;
	m->totals.gone_tasks += s->gone_tasks;
	return 0;
}
