/* SPDX-License-Identifier: MIT */
#include "toy.h"

static void must(int r, const char *what)
{
	if (r >= 0)
		return;
	fprintf(stderr, "toy: %s: %s\n", what, strerror(-r));
	exit(EXIT_FAILURE);
}

struct toy *toy_new(uint32_t n_nodes, uint32_t n_cpus, const char *config)
{
	struct toy *t = calloc(1, sizeof(*t));
	struct nb_config_error err = {{0}};

	must(t ? 0 : -12, "no memory");
	t->n_nodes = n_nodes;
	t->at_us = 1000000;
	for (uint32_t i = 0; i < n_nodes; i++) {
		t->n_cpus[i] = n_cpus;
		t->mem_total[i] = 65536 * MiB;
		t->id[i] = i;
		for (uint32_t j = 0; j < n_nodes; j++)
			t->distance[i][j] = i == j ? 10 : 20;
	}
	must(nb_config_new(&t->c), "configuration");
	if (config)
		must(nb_config_parse(t->c, "toy", config, strlen(config), &err), err.text);
	must(nb_config_finish(t->c, &err), err.text);
	must(nb_model_new(&t->m), "model");
	must(nb_snapshot_new(&t->s), "snapshot");
	must(nb_plan_new(&t->plan), "plan");
	return t;
}

struct toy *toy_free(struct toy *t)
{
	nb_config_free(t->c);
	nb_model_free(t->m);
	nb_snapshot_free(t->s);
	nb_plan_free(t->plan);
	free(t);
	return NULL;
}

struct toy_process *toy_add(struct toy *t, uint32_t n_threads, uint32_t cpu_node, uint32_t mem_node,
			    uint64_t mem_bytes)
{
	struct toy_process *p = &t->p[t->n_processes];

	*p = (struct toy_process){.pid = 1000 + (int32_t)t->n_processes * 100, .n_threads = n_threads};
	t->n_processes++;
	for (uint32_t i = 0; i < n_threads; i++) {
		p->busy_pmy[i] = 10000;
		p->node[i] = cpu_node;
	}
	p->mem[mem_node] = mem_bytes;
	return p;
}

/* Every node shares its CPUs among its runnable threads in proportion to their wish. */
static void pass_time(struct toy *t, uint64_t dt_us)
{
	uint64_t wish[TOY_NODES] = {0};

	for (uint32_t i = 0; i < t->n_processes; i++)
		for (uint32_t j = 0; j < t->p[i].n_threads; j++)
			wish[t->p[i].node[j]] += t->p[i].busy_pmy[j];
	for (uint32_t i = 0; i < t->n_processes; i++)
		for (uint32_t j = 0; j < t->p[i].n_threads; j++) {
			struct toy_process *p = &t->p[i];
			uint32_t k = p->node[j];
			uint64_t want = dt_us * p->busy_pmy[j] / 10000, cap = 10000 * (uint64_t)t->n_cpus[k];
			uint64_t run = wish[k] > cap ? want * cap / wish[k] : want;

			p->run_ns[j] += run * 1000;
			t->busy_ns[k] += run * 1000;
			if (wish[k] <= cap)
				continue;
			/* What it did not get it waited for. */
			p->wait_ns[j] += (want - run) * 1000;
			t->wait_ns[k] += (want - run) * 1000;
		}
	t->at_us += dt_us;
}

static uint32_t first_cpu(const struct toy *t, uint32_t node)
{
	uint32_t cpu = 0;

	for (uint32_t k = 0; k < node; k++)
		cpu += t->n_cpus[k];
	return cpu;
}

static void mask_of(struct toy *t, uint64_t nodes, uint32_t *ret)
{
	_cleanup_bitmap_ struct nb_bitmap b = {0};

	for (uint32_t k = 0; k < t->n_nodes; k++)
		for (uint32_t i = 0; i < t->n_cpus[k] && nodes >> k & 1; i++)
			must(nb_bitmap_set(&b, first_cpu(t, k) + i), "mask");
	must(nb_snapshot_intern_mask(t->s, &b, ret), "mask");
}

static void snap_nodes(struct toy *t)
{
	uint32_t cpu = 0, total = first_cpu(t, t->n_nodes);

	must(nb_snapshot_begin(t->s, t->at_us, t->n_nodes, total), "snapshot");
	t->s->topology_gen = 1;
	t->s->kernel_balances = t->kernel_balances;
	for (uint32_t k = 0; k < t->n_nodes; k++) {
		struct nb_node *n = &t->s->nodes[k];

		n->id = t->id[k];
		n->n_cpus = t->n_cpus[k];
		n->mem_total_bytes = n->mem_free_bytes = t->mem_total[k];
		n->mem_target = n->mem_total_bytes > 0 && n->n_cpus > 0;
		n->valid = NB_VALID_MEM;
		for (uint32_t i = 0; i < t->n_processes; i++)
			n->mem_free_bytes -= t->p[i].mem[k] < n->mem_free_bytes ? t->p[i].mem[k] : 0;
		mask_of(t, UINT64_C(1) << k, &n->cpus);
		for (uint32_t j = 0; j < t->n_nodes; j++)
			t->s->distance[k * t->n_nodes + j] = t->distance[k][j];
		for (uint32_t i = 0; i < t->n_cpus[k]; i++, cpu++)
			t->s->cpus[cpu] = (struct nb_cpu){
				.id = cpu,
				.node = k,
				.online = true,
				.valid = NB_VALID_WAIT | NB_VALID_BUSY,
				.wait_ns = t->wait_ns[k] / t->n_cpus[k],
				.busy_ns = t->busy_ns[k] / t->n_cpus[k],
			};
	}
}

static void snap_process(struct toy *t, const struct toy_process *from)
{
	uint64_t all = t->n_nodes == 64 ? UINT64_MAX : (UINT64_C(1) << t->n_nodes) - 1, nodes = 0;
	uint32_t n_cpus_before, current;
	struct nb_process *p;

	must(nb_snapshot_add_process(t->s, &p), "process");
	p->key = (struct nb_key){from->pid, 1};
	snprintf(p->comm, sizeof(p->comm), "toy%d", from->pid);
	p->valid = NB_VALID_MEM | NB_VALID_MASK;
	p->flags = from->flags;
	p->mem_source = NB_MEM_NUMA_MAPS;
	p->mem_at_us = t->at_us;
	mask_of(t, from->allowed ? from->allowed : all, &p->allowed);
	memcpy(nb_snapshot_bytes(t->s, t->s->n_processes - 1), from->mem, t->n_nodes * sizeof(*from->mem));
	for (uint32_t j = 0; j < from->n_threads; j++) {
		nodes |= UINT64_C(1) << from->node[j];
	}
	for (uint32_t k = 0; k < t->n_nodes; k++)
		p->anon_bytes += from->mem[k];
	p->rss_bytes = p->anon_bytes;
	mask_of(t, from->held ? nodes : from->allowed ? from->allowed : all, &current);
	for (uint32_t j = 0; j < from->n_threads; j++) {
		struct nb_thread *th;

		must(nb_snapshot_add_thread(t->s, &th), "thread");
		n_cpus_before = first_cpu(t, from->node[j]);
		*th = (struct nb_thread){
			.key = {from->pid + (int32_t)j, 1},
			.valid = NB_VALID_RUN | NB_VALID_WAIT | NB_VALID_LAST_CPU | NB_VALID_MASK,
			.last_cpu = n_cpus_before + j % t->n_cpus[from->node[j]],
			.mask = t->s->processes[t->s->n_processes - 1].allowed,
			.current = current,
			.state = 'R',
			.run_ns = from->run_ns[j],
			.wait_ns = from->wait_ns[j],
		};
	}
}

int toy_tick(struct toy *t, uint64_t dt_us)
{
	pass_time(t, dt_us);
	snap_nodes(t);
	for (uint32_t i = 0; i < t->n_processes; i++)
		snap_process(t, &t->p[i]);
	must(nb_model_update(t->m, t->s, t->c), "update");
	return nb_policy_plan(t->m, t->s, t->c, t->plan);
}

static struct toy_process *by_pid(struct toy *t, int32_t pid)
{
	for (uint32_t i = 0; i < t->n_processes; i++)
		if (t->p[i].pid == pid)
			return &t->p[i];
	fprintf(stderr, "toy: an action for pid %d, which is not there\n", pid);
	exit(EXIT_FAILURE);
}

static void carry_out(struct toy *t, const struct nb_action *a)
{
	struct toy_process *p = by_pid(t, a->key.pid);
	struct nb_outcome o = {
		.action = a->id, .key = a->key, .what = a->what, .to = a->to,
		.started_us = t->at_us, .ended_us = t->at_us,
	};

	p->moved++;
	if (a->what & NB_CPU) {
		int k = -1;

		/* Dealt out over the set, a node's worth of CPUs after the other. */
		for (uint32_t j = 0; j < p->n_threads && !a->release; j++) {
			k = nb_bitmap_next(&a->cpu_nodes, (unsigned)(k + 1));
			if (k < 0)
				k = nb_bitmap_next(&a->cpu_nodes, 0);
			p->node[j] = (uint32_t)k;
		}
		p->held = !a->release;
	}
	if (a->what & NB_MEMORY)
		NB_BITMAP_FOREACH(k, &a->mem_from) {
			o.bytes_moved += p->mem[k];
			p->mem[a->mem_to] += p->mem[k];
			p->mem[k] = 0;
		}
	t->bytes += o.bytes_moved;
	t->moves += a->exchange == 0;
	t->exchanges += a->exchange > 0 && a->exchange_size == 2;
	t->rotations += a->exchange_size > 2;
	must(nb_model_outcome(t->m, &o, t->c), "outcome");
}

uint32_t toy_act(struct toy *t)
{
	uint32_t n = 0;

	while (t->plan->n_actions > 0 && n < 10000) {
		for (uint32_t i = 0; i < t->plan->n_actions; i++)
			must(nb_model_started(t->m, &t->plan->actions[i], t->at_us), "start");
		for (uint32_t i = 0; i < t->plan->n_actions; i++, n++)
			carry_out(t, &t->plan->actions[i]);
		must(nb_policy_plan(t->m, t->s, t->c, t->plan), "plan");
	}
	return n;
}

uint32_t toy_run(struct toy *t, uint32_t seconds)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < seconds; i++)
		if (toy_tick(t, 1000000) == 0)
			n += toy_act(t);
	return n;
}

enum nb_reason toy_reason(const struct toy *t, const struct toy_process *p)
{
	for (uint32_t i = 0; i < t->plan->n_verdicts; i++)
		if (t->plan->verdicts[i].key.pid == p->pid)
			return t->plan->verdicts[i].reason;
	return NB_REASON_NONE;
}

uint32_t toy_local_pmy(const struct toy *t, const struct toy_process *p)
{
	uint64_t total = 0, local = 0;

	for (uint32_t k = 0; k < t->n_nodes; k++)
		total += p->mem[k];
	for (uint32_t j = 0; j < p->n_threads; j++)
		local += p->mem[p->node[j]];
	return total ? (uint32_t)(local * 10000 / total / p->n_threads) : 0;
}
