/* SPDX-License-Identifier: MIT */
/*
 * Which thread runs where, much simplified from the kernel: a CPU shares its time
 * evenly among the threads that want to run on it; a thread that wakes stays near
 * where it was; an idle or much less loaded CPU pulls from another one, within a
 * node at once, between nodes now and then and only when the nodes themselves are
 * uneven. The kernel's NUMA balancing is not there: memory plays no part.
 */
#include <stdlib.h>

#include "sim/machine.h"

#define BALANCE_US 50000 /* between nodes; the kernel's interval grows with the domain */

static bool may_use(const struct nb_sim_thread *t, uint32_t cpu)
{
	return nb_bitmap_test(&t->mask, cpu);
}

/* The least loaded CPU of those that the thread may use, of one node or of all; ties
 * are drawn. UINT32_MAX: there is none. */
static uint32_t least_loaded(struct nb_machine *m, const struct nb_sim_thread *t, uint32_t node)
{
	uint32_t best = UINT32_MAX, ties = 0;

	for (uint32_t c = 0; c < m->n_cpus; c++) {
		if ((node != NB_NO_NODE && m->cpus[c].node != node) || !may_use(t, c))
			continue;
		if (best == UINT32_MAX || m->cpus[c].n_runnable < m->cpus[best].n_runnable) {
			best = c;
			ties = 1;
		} else if (m->cpus[c].n_runnable == m->cpus[best].n_runnable &&
			   nb_random_below(&m->random, ++ties) == 0) {
			best = c;
		}
	}
	return best;
}

static void put(struct nb_machine *m, struct nb_sim_thread *t, uint32_t cpu)
{
	if (cpu == UINT32_MAX)
		return;
	if (t->runnable) {
		m->cpus[t->cpu].n_runnable--;
		m->cpus[cpu].n_runnable++;
	}
	t->cpu = cpu;
}

void nb_scheduler_place(struct nb_machine *m, struct nb_sim_thread *t)
{
	uint32_t node = m->processes[t->process].start_node;

	t->cpu = least_loaded(m, t, node);
	t->runnable = t->wake_at_us <= m->now_us;
	t->burst_ns = UINT64_MAX;
	if (t->runnable)
		m->cpus[t->cpu].n_runnable++;
}

void nb_scheduler_obey(struct nb_machine *m, struct nb_sim_thread *t)
{
	if (!may_use(t, t->cpu))
		put(m, t, least_loaded(m, t, NB_NO_NODE));
}

/* Between half and one and a half times the mean, evenly. */
static uint64_t around(struct nb_machine *m, uint64_t mean)
{
	return mean / 2 + nb_random_below(&m->random, mean + 1);
}

static void wake(struct nb_machine *m, struct nb_sim_thread *t)
{
	const struct nb_sim_process_spec *spec = m->processes[t->process].spec;
	uint32_t cpu;

	t->burst_ns = UINT64_MAX;
	if (spec->duty_pmy < 10000)
		t->burst_ns = around(m, spec->period_us * spec->duty_pmy / 10000) * 1000 + 1000;
	if (m->cpus[t->cpu].n_runnable > 0) {
		cpu = least_loaded(m, t, m->cpus[t->cpu].node);
		if (cpu != UINT32_MAX && m->cpus[cpu].n_runnable < m->cpus[t->cpu].n_runnable)
			t->cpu = cpu;
	}
	t->runnable = true;
	m->cpus[t->cpu].n_runnable++;
}

/* One of the threads of a CPU that may go to another one, drawn; NULL: none. */
static struct nb_sim_thread *pullable(struct nb_machine *m, uint32_t from, uint32_t to)
{
	struct nb_sim_thread *found = NULL;
	uint32_t ties = 0;

	for (uint32_t i = 0; i < m->n_threads; i++) {
		struct nb_sim_thread *t = &m->threads[i];

		if (t->runnable && t->cpu == from && may_use(t, to) &&
		    nb_random_below(&m->random, ++ties) == 0)
			found = t;
	}
	return found;
}

/* Pulls to a CPU from the most loaded one of a node, if that has `more` threads more. */
static void pull(struct nb_machine *m, uint32_t to, uint32_t node, uint32_t more)
{
	uint32_t from = UINT32_MAX;
	struct nb_sim_thread *t;

	for (uint32_t c = 0; c < m->n_cpus; c++)
		if (m->cpus[c].node == node && c != to &&
		    (from == UINT32_MAX || m->cpus[c].n_runnable > m->cpus[from].n_runnable))
			from = c;
	if (from == UINT32_MAX || m->cpus[from].n_runnable < m->cpus[to].n_runnable + more)
		return;
	t = pullable(m, from, to);
	if (t)
		put(m, t, to);
}

/* The emptiest node pulls from the fullest one, counted by CPU, if that is still not the
 * emptier one when a thread has gone: else it would go back and forth. */
static void balance_node(struct nb_machine *m, uint32_t to, const uint64_t *load,
			 const uint64_t *cpus)
{
	uint32_t from = NB_NO_NODE, best = UINT32_MAX;

	for (uint32_t k = 0; k < m->n_nodes; k++)
		if (cpus[k] && k != to &&
		    (from == NB_NO_NODE || load[k] * cpus[from] > load[from] * cpus[k]))
			from = k;
	if (from == NB_NO_NODE || load[from] == 0 ||
	    (load[from] - 1) * cpus[to] < (load[to] + 1) * cpus[from])
		return;
	for (uint32_t c = 0; c < m->n_cpus; c++)
		if (m->cpus[c].node == to &&
		    (best == UINT32_MAX || m->cpus[c].n_runnable < m->cpus[best].n_runnable))
			best = c;
	pull(m, best, from, 1);
}

static void balance_nodes(struct nb_machine *m)
{
	for (uint32_t k = 0; k < m->n_nodes; k++) {
		uint64_t load[NB_SIM_NODES_MAX] = {0}, cpus[NB_SIM_NODES_MAX] = {0};

		for (uint32_t c = 0; c < m->n_cpus; c++) {
			load[m->cpus[c].node] += m->cpus[c].n_runnable;
			cpus[m->cpus[c].node]++;
		}
		if (cpus[k])
			balance_node(m, k, load, cpus);
	}
}

static void balance(struct nb_machine *m)
{
	bool often = m->now_us % BALANCE_US < m->scenario->run.step_us;
	uint32_t start = (uint32_t)nb_random_below(&m->random, m->n_cpus);

	for (uint32_t i = 0; i < m->n_cpus; i++) {
		uint32_t c = (start + i) % m->n_cpus;

		pull(m, c, m->cpus[c].node, 2);
		/* Three threads on two CPUs: nobody has the half one for ever. */
		if (often && nb_random_below(&m->random, 4) == 0 && m->cpus[c].n_runnable > 0)
			pull(m, c, m->cpus[c].node, 1);
	}
	if (often)
		balance_nodes(m);
}

static void account(struct nb_machine *m, struct nb_sim_thread *t, uint64_t run, uint64_t wait)
{
	const struct nb_sim_process *p = &m->processes[t->process];
	struct nb_sim_cpu *cpu = &m->cpus[t->cpu];

	t->run_ns += run;
	t->wait_ns += wait;
	cpu->run_ns += run;
	cpu->wait_ns += wait;
	m->tally.run_ns += run;
	m->tally.wait_ns += wait;
	if (p->total_bytes)
		m->tally.local_ns +=
			(uint64_t)((unsigned __int128)run * p->bytes[cpu->node] / p->total_bytes);
}

/* A thread ran, until `end` of the step, which it shared with others. */
static void run_thread(struct nb_machine *m, struct nb_sim_thread *t, uint64_t run, uint64_t end)
{
	const struct nb_sim_process_spec *spec = m->processes[t->process].spec;

	account(m, t, run, end - run);
	if (t->burst_ns == UINT64_MAX)
		return;
	t->burst_ns -= run;
	if (t->burst_ns > 0)
		return;
	t->runnable = false;
	t->wake_at_us = m->now_us + end / 1000 +
			around(m, spec->period_us * (10000 - spec->duty_pmy) / 10000);
}

static int compare_turns(const void *a, const void *b)
{
	const struct nb_sim_turn *x = a, *y = b;

	if (x->cpu != y->cpu)
		return x->cpu < y->cpu ? -1 : 1;
	if (x->burst_ns != y->burst_ns)
		return x->burst_ns < y->burst_ns ? -1 : 1;
	return x->thread < y->thread ? -1 : x->thread > y->thread;
}

/* All threads of a CPU run at the same pace until the shortest burst ends, the rest
 * from there on faster, and so on: who comes i-th in that order has run r(i) at the
 * time r(1) + … + r(i-1) + r(i) · (threads from i on). */
static void run_threads(struct nb_machine *m)
{
	uint64_t used = 0, step_ns = m->scenario->run.step_us * 1000;
	uint32_t n = 0, left = 0;

	for (uint32_t i = 0; i < m->n_threads; i++)
		if (m->threads[i].runnable)
			m->turns[n++] =
				(struct nb_sim_turn){m->threads[i].cpu, i, m->threads[i].burst_ns};
	qsort(m->turns, n, sizeof(*m->turns), compare_turns);
	for (uint32_t i = 0; i < n; i++) {
		struct nb_sim_turn *turn = &m->turns[i];
		uint64_t run;

		if (left == 0) { /* the first one of its CPU */
			used = 0;
			left = m->cpus[turn->cpu].n_runnable;
		}
		run = (step_ns - used) / left;
		if (run > turn->burst_ns)
			run = turn->burst_ns;
		run_thread(m, &m->threads[turn->thread], run, used + run * left);
		used += run;
		left--;
	}
}

void nb_scheduler_step(struct nb_machine *m)
{
	for (uint32_t i = 0; i < m->n_threads; i++) {
		struct nb_sim_thread *t = &m->threads[i];

		if (!m->processes[t->process].alive)
			continue;
		if (!t->runnable && t->wake_at_us <= m->now_us)
			wake(m, t);
	}
	balance(m);
	run_threads(m);
	for (uint32_t c = 0; c < m->n_cpus; c++)
		m->cpus[c].n_runnable = 0;
	for (uint32_t i = 0; i < m->n_threads; i++)
		if (m->threads[i].runnable)
			m->cpus[m->threads[i].cpu].n_runnable++;
}
