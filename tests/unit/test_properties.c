/* SPDX-License-Identifier: MIT */
/* Properties of plans that hold on any machine, over seeded random ones. A failing
 * seed is printed. */
#include "toy.h"

#include <stdlib.h>

/* How many machines: NB_SEEDS, or 240. */
static uint32_t n_seeds(void)
{
	const char *text = getenv("NB_SEEDS");
	unsigned long n = text ? strtoul(text, NULL, 10) : 0;

	return n > 0 && n < 1000000 ? (uint32_t)n : 240;
}

static uint32_t draw(uint64_t *state, uint32_t below)
{
	/* Marsaglia, Xorshift RNGs, 2003: the 64-bit triple 13, 7, 17. */
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return (uint32_t)((*state >> 16) % below);
}

/* 2 to 64 nodes of unequal size, some without memory or CPUs; processes here and there. */
static struct toy *random_toy(uint32_t seed, const char *config)
{
	uint64_t x = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
	uint32_t n_nodes = 2 + draw(&x, seed % 40 == 0 ? 63 : 7), n;
	struct toy *t = toy_new(n_nodes, 1, config);

	for (uint32_t k = 0; k < n_nodes; k++) {
		t->n_cpus[k] = 1 + draw(&x, 8);
		t->id[k] = k * 3 + draw(&x, 3);
		t->mem_total[k] = (4096 + draw(&x, 60000)) * MiB;
		if (k > 1 && draw(&x, 10) == 0)
			t->mem_total[k] = 0;
		else if (k > 1 && draw(&x, 10) == 0)
			t->n_cpus[k] = 0;
		for (uint32_t j = 0; j < n_nodes; j++)
			if (j != k)
				t->distance[k][j] = 11 + draw(&x, 30);
	}
	n = draw(&x, 3 * n_nodes) + 1;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t cpu, mem;
		struct toy_process *p;

		do
			cpu = draw(&x, n_nodes);
		while (t->n_cpus[cpu] == 0);
		do
			mem = draw(&x, n_nodes);
		while (t->mem_total[mem] == 0);
		p = toy_add(t, 1 + draw(&x, 3), cpu, mem, (65 + draw(&x, 300)) * MiB);
		for (uint32_t j = 0; j < p->n_threads; j++)
			p->busy_pmy[j] = 500 + draw(&x, 9501);
		if (draw(&x, 8) == 0)
			p->allowed = UINT64_C(1) << cpu | UINT64_C(1) << mem;
		else if (draw(&x, 8) == 0)
			p->flags = NB_PROC_PINNED;
	}
	return t;
}

static const struct toy_process *process_of(const struct toy *t, int32_t pid)
{
	for (uint32_t i = 0; i < t->n_processes; i++)
		if (t->p[i].pid == pid)
			return &t->p[i];
	return NULL;
}

/* Almost always runnable counts as always (waiting.h). */
static uint64_t counts_pmy(const struct toy_process *p, uint32_t thread)
{
	return p->busy_pmy[thread] >= 8740 ? 10000 : p->busy_pmy[thread];
}

static void check_actions(const struct toy *t, uint32_t seed)
{
	uint64_t load[TOY_NODES] = {0};

	for (uint32_t i = 0; i < t->n_processes; i++)
		for (uint32_t j = 0; j < t->p[i].n_threads; j++)
			load[t->p[i].node[j]] += counts_pmy(&t->p[i], j);
	for (uint32_t i = 0; i < t->plan->n_actions; i++) {
		const struct nb_action *a = &t->plan->actions[i];
		const struct toy_process *p = process_of(t, a->key.pid);
		uint32_t from = a->from;
		bool known = p && from < t->n_nodes && a->to < t->n_nodes;

		if (!known || p->flags)
			return test_fail(__FILE__, __LINE__, "seed %u: an action for a task or node that it may not touch", seed);
		for (uint32_t j = 0; j < i; j++)
			if (a->exchange == 0 && t->plan->actions[j].exchange == 0 && !a->release &&
			    !t->plan->actions[j].release && t->plan->actions[j].to == a->to)
				test_fail(__FILE__, __LINE__, "seed %u: two single moves to node %u", seed, a->to);
		NB_BITMAP_FOREACH(k, &a->cpu_nodes)
			if (t->n_cpus[k] == 0 || (p->allowed && !(p->allowed >> k & 1)))
				test_fail(__FILE__, __LINE__, "seed %u: outside the allowed set", seed);
		if (a->what & NB_MEMORY && t->mem_total[a->mem_to] == 0)
			test_fail(__FILE__, __LINE__, "seed %u: memory to a node without", seed);
		if (a->exchange == 0 && !a->release && nb_bitmap_weight(&a->cpu_nodes) == 1 && from != a->to &&
		    load[a->to] * t->n_cpus[from] * 100 > load[from] * t->n_cpus[a->to] * 113)
			test_fail(__FILE__, __LINE__, "seed %u: from a less busy to a busier node", seed);
		for (uint32_t j = 0; j < p->n_threads && nb_bitmap_weight(&a->cpu_nodes) == 1; j++) {
			load[p->node[j]] -= counts_pmy(p, j);
			load[a->to] += counts_pmy(p, j);
		}
	}
	if (t->plan->cost_after_us > t->plan->cost_before_us)
		test_fail(__FILE__, __LINE__, "seed %u: the predicted cost rises", seed);
}

TEST(properties_of_every_plan)
{
	for (uint32_t seed = 1; seed <= n_seeds(); seed++) {
		struct toy *t = random_toy(seed, NULL);

		for (uint32_t tick = 0; tick < 6; tick++)
			if (toy_tick(t, 1000000) == 0) {
				check_actions(t, seed);
				toy_act(t);
			}
		toy_free(t);
	}
}

/* A steady load comes to rest. */
TEST(properties_steady_load_comes_to_rest)
{
	for (uint32_t seed = 1; seed <= n_seeds() / 4 + 1; seed++) {
		struct toy *t = random_toy(seed, NULL);
		uint32_t late;

		toy_run(t, 120);
		late = toy_run(t, 60);
		if (late > 0)
			test_fail(__FILE__, __LINE__, "seed %u: %u actions after two minutes of steady load", seed, late);
		toy_free(t);
	}
}

static bool same_plan(const struct nb_plan *a, const struct nb_plan *b, const uint32_t *node)
{
	if (a->n_actions != b->n_actions || a->cost_after_us != b->cost_after_us)
		return false;
	for (uint32_t i = 0; i < a->n_actions; i++) {
		const struct nb_action *x = &a->actions[i], *y = NULL;

		for (uint32_t j = 0; j < b->n_actions && !y; j++)
			if (b->actions[j].key.pid == x->key.pid)
				y = &b->actions[j];
		if (!y || y->what != x->what || y->reason != x->reason || y->to != node[x->to] ||
		    y->gain_us != x->gain_us || y->bytes != x->bytes ||
		    (x->mem_to != NB_NO_NODE && y->mem_to != node[x->mem_to]))
			return false;
	}
	return true;
}

TEST(properties_equal_input_gives_an_equal_plan)
{
	uint32_t same[TOY_NODES];

	for (uint32_t k = 0; k < TOY_NODES; k++)
		same[k] = k;
	for (uint32_t seed = 1; seed <= n_seeds() / 2 + 1; seed++) {
		struct toy *a = random_toy(seed, NULL), *b = random_toy(seed, NULL);

		for (uint32_t tick = 0; tick < 3; tick++) {
			toy_tick(a, 1000000);
			toy_tick(b, 1000000);
		}
		if (!same_plan(a->plan, b->plan, same))
			test_fail(__FILE__, __LINE__, "seed %u", seed);
		toy_free(a);
		toy_free(b);
	}
}

/* The same machine with its dense indexes reversed: the same plan, reversed. */
static struct toy *relabelled(uint32_t seed, uint32_t *node)
{
	struct toy *t = random_toy(seed, NULL), *from = random_toy(seed, NULL);
	uint32_t n = t->n_nodes;

	for (uint32_t k = 0; k < n; k++)
		node[k] = n - 1 - k;
	for (uint32_t k = 0; k < n; k++) {
		t->n_cpus[node[k]] = from->n_cpus[k];
		t->id[node[k]] = from->id[k];
		t->mem_total[node[k]] = from->mem_total[k];
		for (uint32_t j = 0; j < n; j++)
			t->distance[node[k]][node[j]] = from->distance[k][j];
	}
	for (uint32_t i = 0; i < t->n_processes; i++) {
		struct toy_process *p = &t->p[i], *q = &from->p[i];

		for (uint32_t k = 0; k < n; k++)
			p->mem[node[k]] = q->mem[k];
		for (uint32_t j = 0; j < p->n_threads; j++)
			p->node[j] = node[q->node[j]];
		p->allowed = 0;
		for (uint32_t k = 0; k < n; k++)
			p->allowed |= (q->allowed >> k & 1) << node[k];
	}
	toy_free(from);
	return t;
}

TEST(properties_relabelling_relabels_the_plan)
{
	for (uint32_t seed = 1; seed <= n_seeds(); seed++) {
		uint32_t node[TOY_NODES];
		struct toy *a = random_toy(seed, NULL), *b = relabelled(seed, node);

		for (uint32_t tick = 0; tick < 2; tick++) {
			toy_tick(a, 1000000);
			toy_tick(b, 1000000);
		}
		if (!same_plan(a->plan, b->plan, node))
			test_fail(__FILE__, __LINE__, "seed %u", seed);
		toy_free(a);
		toy_free(b);
	}
}
