/* SPDX-License-Identifier: MIT */
#include "toy.h"

static uint32_t all_local_pmy(const struct toy *t)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < t->n_processes; i++)
		sum += toy_local_pmy(t, &t->p[i]);
	return sum / t->n_processes;
}

TEST(policy_needs_two_snapshots)
{
	struct toy *t = toy_new(2, 2, NULL);

	toy_add(t, 1, 0, 1, 200 * MiB);
	CHECK_INT(toy_tick(t, 1000000), -11);
	CHECK_INT(t->plan->n_actions, 0);
	CHECK_INT(toy_tick(t, 1000000), 0);
	CHECK_INT(t->plan->n_actions, 1);
	toy_free(t);
}

/* Four processes each on the wrong one of four full nodes: three swaps, no bytes. */
TEST(policy_ring_of_four_rotates)
{
	struct toy *t = toy_new(4, 1, NULL);

	for (uint32_t i = 0; i < 4; i++)
		toy_add(t, 1, i, (i + 1) % 4, 200 * MiB);
	toy_run(t, 2);
	CHECK_INT(all_local_pmy(t), 10000);
	CHECK_INT(t->bytes, 0);
	CHECK_INT(t->moves, 0);
	CHECK_INT(t->rotations + t->exchanges, 4);
	CHECK_INT(toy_run(t, 60), 0);
	toy_free(t);
}

TEST(policy_cross_of_two_shared_swaps)
{
	struct toy *t = toy_new(2, 2, NULL);

	toy_add(t, 2, 0, 1, 400 * MiB);
	toy_add(t, 2, 1, 0, 400 * MiB);
	toy_run(t, 2);
	CHECK_INT(all_local_pmy(t), 10000);
	CHECK_INT(t->bytes, 0);
	CHECK_INT(t->exchanges, 2);
	toy_free(t);
}

/* The threads of both are spread over both nodes, as a scheduler leaves them. */
TEST(policy_cross_of_two_spread)
{
	struct toy *t = toy_new(2, 2, NULL);
	struct toy_process *a = toy_add(t, 2, 0, 1, 400 * MiB), *b = toy_add(t, 2, 1, 0, 400 * MiB);

	a->node[1] = 1;
	b->node[1] = 0;
	toy_run(t, 2);
	CHECK_INT(all_local_pmy(t), 10000);
	CHECK_INT(t->bytes, 0);
	toy_free(t);
}

TEST(policy_six_on_four_cpus)
{
	struct toy *t = toy_new(2, 2, NULL);

	for (uint32_t i = 0; i < 6; i++)
		toy_add(t, 1, i % 2, (i + 1) % 2, 310 * MiB);
	toy_run(t, 2);
	CHECK_INT(all_local_pmy(t), 10000);
	CHECK_INT(t->bytes, 0);
	toy_free(t);
}

/* All memory of two busy processes on one node of one CPU: one has to bring its pages. */
TEST(policy_memory_follows_when_cpus_are_full)
{
	struct toy *t = toy_new(2, 1, NULL);

	toy_add(t, 1, 0, 0, 250 * MiB);
	toy_add(t, 1, 1, 0, 250 * MiB);
	toy_run(t, 2);
	CHECK_INT(t->bytes, 0); /* settling */
	CHECK_INT(toy_reason(t, &t->p[1]), NB_REASON_SETTLING);
	toy_run(t, 4);
	CHECK_INT(all_local_pmy(t), 10000);
	CHECK_INT(t->bytes, 250 * MiB);
	toy_free(t);
}

/* Partners that become movable at different times: no pages, one swap. */
TEST(policy_waits_for_a_bound_partner)
{
	struct toy *t = toy_new(2, 1, NULL);

	toy_add(t, 1, 0, 1, 1200 * MiB);
	toy_add(t, 1, 1, 0, 1200 * MiB)->flags = NB_PROC_PINNED;
	toy_run(t, 4);
	t->p[1].flags = 0;
	toy_run(t, 3);
	CHECK_INT(all_local_pmy(t), 10000);
	CHECK_INT(t->bytes, 0);
	toy_free(t);
}

/* The same with memory so small that settling alone would not wait for it; a partner
 * that never becomes free is waited for ten seconds. */
TEST(policy_patience_ends)
{
	struct toy *t = toy_new(2, 1, NULL);

	toy_add(t, 1, 0, 1, 100 * MiB);
	toy_add(t, 1, 1, 0, 100 * MiB)->flags = NB_PROC_BOUND;
	toy_run(t, 9);
	CHECK_INT(t->bytes, 0);
	CHECK_INT(toy_reason(t, &t->p[0]), NB_REASON_SETTLING);
	toy_run(t, 5);
	CHECK_INT(t->bytes, 100 * MiB);
	CHECK_INT(toy_local_pmy(t, &t->p[0]), 10000);
	toy_free(t);
}

/* Where the kernel's balancer is on, pages are left to it for a while; threads are not. */
TEST(policy_lets_the_kernel_bring_pages_first)
{
	struct toy *t = toy_new(2, 1, NULL);

	t->kernel_balances = true;
	toy_add(t, 1, 0, 0, 250 * MiB);
	toy_add(t, 1, 1, 0, 250 * MiB);
	toy_run(t, 14);
	CHECK_INT(t->bytes, 0);
	toy_run(t, 6);
	CHECK_INT(t->bytes, 250 * MiB);
	toy_free(t);
	t = toy_new(2, 1, NULL);
	t->kernel_balances = true;
	toy_add(t, 1, 0, 1, 250 * MiB);
	toy_add(t, 1, 1, 0, 250 * MiB);
	toy_run(t, 2);
	CHECK_INT(all_local_pmy(t), 10000);
	CHECK_INT(t->bytes, 0);
	toy_free(t);
}

/* Memory that still grows is not chased. */
TEST(policy_growing_memory_waits)
{
	struct toy *t = toy_new(2, 1, NULL);

	toy_add(t, 1, 0, 0, 250 * MiB);
	toy_add(t, 1, 1, 0, 250 * MiB);
	for (int i = 0; i < 10; i++) {
		t->p[1].mem[0] += 40 * MiB;
		toy_run(t, 1);
	}
	CHECK_INT(t->bytes, 0);
	toy_run(t, 4);
	CHECK_INT(t->bytes, 650 * MiB);
	toy_free(t);
}

TEST(policy_leaves_a_balanced_machine_alone)
{
	struct toy *t = toy_new(4, 4, NULL);

	for (uint32_t i = 0; i < 12; i++)
		toy_add(t, 1, i % 4, i % 4, 500 * MiB);
	CHECK_INT(toy_run(t, 100), 0);
	for (uint32_t i = 0; i < 12; i++)
		CHECK_INT(toy_reason(t, &t->p[i]), NB_REASON_LOCAL);
	toy_free(t);
}

TEST(policy_wide_units_get_two_nodes_each)
{
	struct toy *t = toy_new(4, 2, NULL);
	struct toy_process *p;

	for (uint32_t i = 0; i < 2; i++) {
		p = toy_add(t, 4, 0, i, 400 * MiB);
		for (uint32_t j = 0; j < 4; j++)
			p->node[j] = j;
	}
	toy_run(t, 8);
	CHECK_INT(all_local_pmy(t), 5000);
	CHECK_INT(t->bytes, 0);
	CHECK(t->p[0].moved <= 1 && t->p[1].moved <= 1);
	toy_free(t);
}

TEST(policy_widest_unit_is_left_alone)
{
	struct toy *t = toy_new(4, 2, NULL);
	struct toy_process *p = toy_add(t, 8, 0, 0, 500 * MiB);

	for (uint32_t j = 0; j < 8; j++)
		p->node[j] = j / 2;
	CHECK_INT(toy_run(t, 20), 0);
	CHECK_INT(toy_reason(t, p), NB_REASON_WIDE);
	toy_free(t);
}

/* The web server: many threads that often sleep stay spread at 20 to 50 % load. */
TEST(policy_sleepy_threads_stay_spread)
{
	for (uint32_t pmy = 2000; pmy <= 5000; pmy += 500) {
		struct toy *t = toy_new(2, 4, NULL);
		struct toy_process *p = toy_add(t, 16, 0, 0, 500 * MiB);

		for (uint32_t j = 0; j < 16; j++) {
			p->node[j] = j / 8;
			p->busy_pmy[j] = pmy * 8 / 16;
		}
		CHECK_INT(toy_run(t, 30), 0);
		toy_free(t);
	}
}

/* A mask of ours does not keep a thread waiting while another node is idle: not even in
 * the cool-down. Nobody else's mask is touched for that. */
TEST(policy_gives_threads_back_when_overloaded)
{
	struct toy *t = toy_new(2, 1, NULL);
	struct toy_process *pinned;

	toy_add(t, 1, 0, 1, 200 * MiB);
	toy_run(t, 2);
	CHECK(t->p[0].held && t->p[0].node[0] == 1);
	pinned = toy_add(t, 1, 1, 1, 200 * MiB);
	pinned->flags = NB_PROC_PINNED;
	pinned->allowed = 2;
	toy_tick(t, 1000000);
	toy_tick(t, 1000000);
	CHECK_INT(toy_reason(t, &t->p[0]), NB_REASON_RELIEVE);
	CHECK_INT(toy_reason(t, &t->p[1]), NB_REASON_PINNED);
	toy_act(t);
	CHECK(!t->p[0].held);
	toy_free(t);
}

/* Free threads leave an overloaded node by themselves; the held one need not go for them. */
TEST(policy_keeps_held_units_when_others_may_leave)
{
	struct toy *t = toy_new(2, 1, NULL);

	toy_add(t, 1, 0, 1, 200 * MiB);
	toy_run(t, 2);
	toy_add(t, 1, 1, 1, 10 * MiB);
	toy_tick(t, 1000000);
	toy_tick(t, 1000000);
	CHECK_INT(t->plan->n_actions, 0);
	toy_free(t);
}

TEST(policy_hands_off)
{
	static const struct {
		uint32_t flag;
		enum nb_reason want;
	} rows[] = {
		{NB_PROC_KTHREAD, NB_REASON_KERNEL_THREAD}, {NB_PROC_REALTIME, NB_REASON_REALTIME},
		{NB_PROC_PINNED, NB_REASON_PINNED},         {NB_PROC_BOUND, NB_REASON_BOUND},
		{NB_PROC_INTERLEAVED, NB_REASON_INTERLEAVED}, {NB_PROC_NO_AFFINITY, NB_REASON_NO_AFFINITY},
		{NB_PROC_SERVICE, NB_REASON_SERVICE},       {NB_PROC_DENIED, NB_REASON_DENIED},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct toy *t = toy_new(2, 2, NULL);
		struct toy_process *p = toy_add(t, 1, 0, 1, 200 * MiB), *free_one = toy_add(t, 1, 0, 1, 200 * MiB);

		p->flags = rows[i].flag;
		toy_tick(t, 1000000);
		toy_tick(t, 1000000);
		CHECK_INT(toy_reason(t, p), rows[i].want);
		CHECK_INT(t->plan->n_actions, 1);
		CHECK_INT(t->plan->actions[0].key.pid, free_one->pid);
		toy_free(t);
	}
}

TEST(policy_small_and_idle_are_no_units)
{
	struct toy *t = toy_new(2, 2, NULL);
	struct toy_process *small = toy_add(t, 1, 0, 1, 63 * MiB), *idle = toy_add(t, 1, 0, 1, 200 * MiB);

	idle->busy_pmy[0] = 900;
	CHECK_INT(toy_run(t, 10), 0);
	CHECK_INT(toy_reason(t, small), NB_REASON_SMALL_MEMORY);
	CHECK_INT(toy_reason(t, idle), NB_REASON_IDLE);
	toy_free(t);
}

TEST(policy_exclude_and_include)
{
	struct toy *t = toy_new(2, 2, "[select]\nexclude_comm = toy*\ninclude_comm = toy1100\n");

	toy_add(t, 1, 0, 1, 200 * MiB);
	toy_add(t, 1, 0, 1, 200 * MiB);
	toy_run(t, 2);
	CHECK_INT(t->p[0].moved, 0);
	CHECK_INT(toy_reason(t, &t->p[0]), NB_REASON_EXCLUDED);
	CHECK_INT(t->p[1].moved, 1);
	toy_free(t);
}

/* Slots: two that must move to one node are started one after the other. */
TEST(policy_one_at_a_time_per_node)
{
	struct toy *t = toy_new(4, 4, NULL);

	for (uint32_t i = 0; i < 4; i++)
		toy_add(t, 1, 1 + i % 3, 0, 200 * MiB);
	toy_tick(t, 1000000);
	toy_tick(t, 1000000);
	CHECK_INT(t->plan->n_actions, 1);
	nb_model_started(t->m, &t->plan->actions[0], t->at_us);
	nb_policy_plan(t->m, t->s, t->c, t->plan);
	CHECK_INT(t->plan->n_actions, 0);
	CHECK_INT(toy_reason(t, &t->p[0]) == NB_REASON_SLOT_TAKEN ||
		  toy_reason(t, &t->p[1]) == NB_REASON_SLOT_TAKEN, 1);
	toy_free(t);
}

TEST(policy_movers_per_node_lifts_the_rule)
{
	struct toy *t = toy_new(4, 4, "[policy]\none_per_node = no\nmovers_per_node = 3\nbusier_node = allow\n");

	for (uint32_t i = 0; i < 4; i++)
		toy_add(t, 1, 1 + i % 3, 0, 200 * MiB);
	toy_tick(t, 1000000);
	toy_tick(t, 1000000);
	CHECK_INT(t->plan->n_actions, 3);
	toy_free(t);
}

/* never: from the less busy node the CPU does not go to the busier one, the pages come. */
TEST(policy_busier_node)
{
	static const struct {
		const char *config;
		bool pages;
	} rows[] = {
		{"[policy]\nbusier_node = never\n", true},
		{"[policy]\nbusier_node = preferred\n", false},
		{"[policy]\nbusier_node = allow\n", false},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct toy *t = toy_new(2, 4, rows[i].config);

		toy_add(t, 1, 0, 1, 200 * MiB);
		for (uint32_t j = 0; j < 2; j++)
			toy_add(t, 1, 1, 1, 200 * MiB)->flags = NB_PROC_PINNED;
		toy_run(t, 6);
		CHECK_INT(toy_local_pmy(t, &t->p[0]), 10000);
		CHECK_INT(t->bytes > 0, rows[i].pages);
		toy_free(t);
	}
}

TEST(policy_group_nodes)
{
	struct toy *t = toy_new(2, 4, "[group db]\nmatch_comm = toy1000\nnodes = 0\n");

	toy_add(t, 1, 1, 1, 1024 * MiB);
	toy_add(t, 1, 1, 1, 1024 * MiB);
	toy_run(t, 10);
	CHECK_INT(t->p[0].node[0], 0);
	CHECK_INT(t->p[0].mem[0], 1024 * MiB);
	CHECK_INT(t->p[1].node[0], 1);
	CHECK_INT(t->p[1].moved, 0);
	toy_free(t);
}

/* E11: one task worth more than half of a node; any move inverts the imbalance. */
TEST(policy_e11_does_not_oscillate)
{
	struct toy *t = toy_new(2, 1, NULL);
	uint32_t seed = 1;

	toy_add(t, 1, 0, 0, 200 * MiB);
	toy_add(t, 1, 1, 1, 200 * MiB);
	for (uint32_t i = 0; i < 1000; i++) {
		for (uint32_t j = 0; j < 2; j++) {
			seed = seed * 1103515245 + 12345;
			t->p[j].busy_pmy[0] = 5000 + seed / 65536 % 2001;
		}
		toy_run(t, 1);
	}
	CHECK(t->moves + t->exchanges <= 1);
	toy_free(t);
}

TEST(policy_held_says_why)
{
	struct toy *t = toy_new(2, 2, NULL);

	toy_add(t, 1, 0, 1, 200 * MiB);
	nb_model_hold(t->m, NB_REASON_PAUSED);
	CHECK_INT(toy_run(t, 3), 0);
	CHECK_INT(toy_reason(t, &t->p[0]), NB_REASON_PAUSED);
	nb_model_hold(t->m, NB_REASON_NONE);
	toy_run(t, 1);
	CHECK_INT(t->p[0].moved, 1);
	toy_free(t);
}

TEST(report_agrees_with_the_machine)
{
	struct toy *t = toy_new(4, 1, NULL);
	_cleanup_report_ struct nb_report *r = NULL;

	for (uint32_t i = 0; i < 4; i++)
		toy_add(t, 1, i, i < 2 ? i : (i == 2 ? 3 : 2), 200 * MiB);
	toy_tick(t, 1000000);
	toy_tick(t, 1000000);
	REQUIRE(nb_report_build(t->m, t->s, t->plan, &r) == 0);
	CHECK_INT(r->local_share_pmy, 5000);
	CHECK_INT(r->tasks[0].local_share_pmy, 10000);
	CHECK_INT(r->tasks[2].local_share_pmy, 0);
	CHECK_INT(r->nodes[2].runnable_cap, 1024);
	CHECK_INT(r->nodes[2].class, NB_FULLY_BUSY);
	CHECK_INT(r->source, NB_SOURCE_SCHEDSTAT);
	CHECK_INT(r->n_actions, 2);
	toy_free(t);
}
