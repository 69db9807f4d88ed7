/* SPDX-License-Identifier: MIT */
#include "core/model.h"

#include "toy.h"

TEST(model_decay_halves_in_a_half_life)
{
	CHECK_INT(nb_decay(0, 2000000), 65536);
	CHECK_INT(nb_decay(2000000, 2000000), 32768);
	CHECK_INT(nb_decay(6000000, 2000000), 8192);
	CHECK_INT(nb_decay(1000000, 2000000), 46341); /* 65536/√2 */
	CHECK_INT(nb_decay(UINT64_MAX / 64, 2000000), 0);
	CHECK_INT(nb_decay(5, 0), 0);
}

TEST(model_average_has_no_slow_start)
{
	struct nb_avg a = {0};
	uint32_t d = nb_decay(1000000, 2000000);

	CHECK_INT(nb_avg_value(&a), 0);
	nb_avg_add(&a, 1024, d);
	CHECK_INT(nb_avg_value(&a), 1024);
	for (int i = 0; i < 100; i++)
		nb_avg_add(&a, 2048000, d); /* 2,000 CPUs do not overflow */
	CHECK(nb_avg_value(&a) > 2040000 && nb_avg_value(&a) <= 2048000);
	nb_avg_add(&a, 0, nb_decay(2000000, 2000000));
	CHECK(nb_avg_value(&a) > 1020000 && nb_avg_value(&a) < 1030000);
}

/* The six corners of the rule, two CPUs, 112 %. */
TEST(model_classes)
{
	CHECK_INT(nb_classify(0, 0, 0, 0, 112), NB_CLASS_NONE);
	CHECK_INT(nb_classify(2, 1024, 1024, 1, 112), NB_HAS_SPARE);
	CHECK_INT(nb_classify(2, 2048, 2048, 2, 112), NB_FULLY_BUSY);
	CHECK_INT(nb_classify(2, 2048, 3072, 3, 112), NB_OVERLOADED);
	/* more tasks than CPUs, but they hardly wait: not overloaded */
	CHECK_INT(nb_classify(2, 1700, 2200, 3, 112), NB_HAS_SPARE);
	CHECK_INT(nb_classify(2, 2000, 2200, 3, 112), NB_OVERLOADED); /* util alone says so */
	CHECK_INT(nb_classify(2, 1824, 2293, 2, 112), NB_HAS_SPARE);
	CHECK_INT(nb_classify(2, 1829, 2293, 2, 112), NB_FULLY_BUSY);
	CHECK_INT(nb_classify(2, 1024, 2294, 2, 112), NB_FULLY_BUSY); /* waiting, though not used */
}

TEST(model_waiting)
{
	struct nb_load l = {0};

	for (int i = 0; i < 3; i++)
		nb_load_add_task(&l, 1024);
	CHECK_INT(nb_load_waiting_cap(&l, 2), 1024);
	CHECK_INT(nb_load_waiting_cap(&l, 3), 0);
	CHECK_INT(nb_load_waiting_cap(&l, 0), 3072);
	/* eight tasks, each runnable 30 % of the time, two CPUs: E[(X-2)+] of the binomial
	 * B(8, 0.3) is 0.709; the normal curve says 0.74 */
	l = (struct nb_load){0};
	for (int i = 0; i < 8; i++)
		nb_load_add_task(&l, 307);
	CHECK(nb_load_waiting_cap(&l, 2) > 690 && nb_load_waiting_cap(&l, 2) < 800);
	CHECK(nb_load_waiting_cap(&l, 4) < 100);
	CHECK_INT(nb_load_waiting_cap(&l, 8), 0);
	/* 512 on two CPUs: no overflow, all but two wait */
	for (int i = 0; i < 504; i++)
		nb_load_add_task(&l, 1024);
	CHECK(nb_load_waiting_cap(&l, 2) / 1024 >= 503);
}

/* Six busy tasks and two more on two CPUs: exactly the eight, at any sampling instant. */
TEST(model_runnable_is_exact)
{
	static const uint64_t dt[] = {1000000, 300000, 1700000, 999000, 5000000};
	struct toy *t = toy_new(2, 2, NULL);

	for (uint32_t i = 0; i < 8; i++)
		toy_add(t, 1, 0, 0, 200 * MiB);
	toy_tick(t, 1000000);
	for (size_t i = 0; i < sizeof(dt) / sizeof(*dt); i++) {
		toy_tick(t, dt[i]);
		CHECK(t->m->nodes[0].runnable_cap >= 8 * 1024 - 8 && t->m->nodes[0].runnable_cap <= 8 * 1024 + 8);
		CHECK_INT(t->m->nodes[0].util_cap, 2048);
		CHECK_INT(t->m->nodes[0].nr_running, 8);
		CHECK_INT(t->m->nodes[0].class, NB_OVERLOADED);
		CHECK_INT(t->m->nodes[1].class, NB_HAS_SPARE);
	}
	toy_free(t);
}

/* Pitfall: main fills memory, then a thread works. They are never two at once. */
TEST(model_one_thread_after_another_is_one)
{
	struct toy *t = toy_new(2, 1, NULL);
	struct toy_process *p = toy_add(t, 2, 0, 0, 200 * MiB);

	p->busy_pmy[1] = 0;
	for (int i = 0; i < 5; i++)
		toy_tick(t, 1000000);
	p->busy_pmy[0] = 0;
	p->busy_pmy[1] = 10000;
	toy_tick(t, 1000000);
	CHECK(nb_model_unit(t->m, 0)->runnable_cap <= 1024);
	toy_free(t);
}

/* A thread that changes its node within an interval leaves run time behind on the old one:
 * that is nobody's load. What no thread accounts for in all, is. */
TEST(model_wandering_thread_is_no_other_load)
{
	struct toy *t = toy_new(2, 2, NULL);
	struct toy_process *p = toy_add(t, 1, 0, 0, 200 * MiB);

	toy_tick(t, 1000000);
	for (int i = 0; i < 10; i++) {
		p->node[0] = 0;
		toy_tick(t, 1000000);
		/* half of the next second here, half there */
		t->busy_ns[1] += 500000000;
		t->busy_ns[0] -= 500000000;
	}
	CHECK(t->m->nodes[1].other_cap < 20 && t->m->nodes[0].other_cap < 20);
	for (int i = 0; i < 20; i++) {
		t->busy_ns[1] += 1000000000; /* of a process that came and went */
		toy_tick(t, 1000000);
	}
	CHECK(t->m->nodes[1].other_cap > 900);
	toy_free(t);
}

/* A thread that was born in the interval is rated over its age. */
TEST(model_new_thread_over_its_age)
{
	struct toy *t = toy_new(2, 2, NULL);
	struct nb_thread *th;

	toy_add(t, 1, 0, 0, 200 * MiB);
	toy_tick(t, 1000000);
	toy_tick(t, 1000000);
	toy_tick(t, 1000000);
	nb_snapshot_begin(t->s, t->at_us + 1000000, t->s->n_nodes, t->s->n_cpus);
	t->s->nodes[0].n_cpus = t->s->nodes[1].n_cpus = 2;
	for (uint32_t i = 0; i < 4; i++)
		t->s->cpus[i] = (struct nb_cpu){.id = i, .node = i / 2, .online = true};
	struct nb_process *p;
	nb_snapshot_add_process(t->s, &p);
	p->key = (struct nb_key){1000, 1};
	nb_snapshot_add_thread(t->s, &th);
	th->key = (struct nb_key){1000, 1};
	th->valid = NB_VALID_RUN | NB_VALID_LAST_CPU;
	th->run_ns = t->p[0].run_ns[0];
	nb_snapshot_add_thread(t->s, &th);
	/* born 0.2 s before the snapshot, and busy since */
	th->key = (struct nb_key){1001, (t->at_us + 800000) / 10000};
	th->valid = NB_VALID_RUN | NB_VALID_LAST_CPU;
	th->run_ns = 200000000;
	CHECK_INT(nb_model_update(t->m, t->s, t->c), 0);
	CHECK_INT(nb_model_now(t->m)->threads[1].runnable_cap, 1024);
	toy_free(t);
}

TEST(model_counter_that_runs_backwards_is_no_rate)
{
	struct toy *t = toy_new(2, 2, NULL);

	toy_add(t, 1, 0, 0, 200 * MiB);
	toy_tick(t, 1000000);
	toy_tick(t, 1000000);
	t->p[0].run_ns[0] = 5;
	t->p[0].wait_ns[0] = 0;
	t->wait_ns[0] = t->busy_ns[0] = 0;
	toy_tick(t, 1000000);
	CHECK(nb_model_unit(t->m, 0)->runnable_cap <= 1024);
	CHECK(t->m->nodes[0].util_cap <= 2048);
	toy_free(t);
}

/* F16: eight hours between two samples say nothing about now. */
TEST(model_f16_gap_drops_the_difference)
{
	struct toy *t = toy_new(2, 2, NULL);

	toy_add(t, 1, 0, 1, 200 * MiB);
	toy_tick(t, 1000000);
	toy_tick(t, 8 * 3600 * UINT64_C(1000000));
	CHECK_INT(t->plan->n_actions, 0);
	toy_tick(t, 1000000);
	CHECK_INT(t->plan->n_actions, 1);
	toy_free(t);
}

/* B06: a reused pid has no history. */
TEST(model_b06_reused_pid_starts_anew)
{
	struct toy *t = toy_new(2, 2, NULL);

	toy_add(t, 1, 0, 1, 200 * MiB);
	toy_run(t, 3);
	CHECK_INT(nb_model_unit(t->m, 0)->history.n_moves, 1);
	toy_tick(t, 1000000);
	t->s->processes[0].key.start = 9000;
	t->s->at_us++;
	CHECK_INT(nb_model_update(t->m, t->s, t->c), 0);
	CHECK_INT(nb_model_unit(t->m, 0)->history.n_moves, 0);
	CHECK(!nb_model_find(t->m, (struct nb_key){1000, 1}));
	toy_free(t);
}

/* D15: a node goes and another comes; the others keep their history and slots. */
TEST(model_d15_nodes_come_and_go)
{
	struct toy *t = toy_new(3, 2, NULL);
	uint64_t was;

	toy_add(t, 1, 0, 0, 200 * MiB);
	toy_tick(t, 1000000);
	toy_tick(t, 1000000);
	was = t->m->nodes[0].runnable_cap;
	CHECK(was > 1000);
	t->n_nodes = 1;
	toy_tick(t, 1000000);
	CHECK_INT(t->m->n_nodes, 1);
	CHECK_INT(t->m->nodes[0].runnable_cap, was);
	t->n_nodes = 2;
	t->id[1] = 7;
	toy_tick(t, 1000000);
	CHECK_INT(t->m->nodes[1].id, 7);
	CHECK_INT(t->m->nodes[1].runnable_cap, 0);
	toy_free(t);
}

TEST(model_slots_are_taken_and_freed)
{
	struct toy *t = toy_new(2, 2, NULL);
	struct nb_outcome o = {0};

	toy_add(t, 1, 0, 1, 200 * MiB);
	toy_tick(t, 1000000);
	toy_tick(t, 1000000);
	REQUIRE(t->plan->n_actions == 1);
	nb_model_started(t->m, &t->plan->actions[0], t->at_us);
	CHECK_INT(t->m->nodes[1].n_in_flight, 1);
	o = (struct nb_outcome){.action = t->plan->actions[0].id, .key = t->plan->actions[0].key, .ended_us = t->at_us};
	CHECK_INT(nb_model_outcome(t->m, &o, t->c), 1);
	CHECK_INT(t->m->nodes[1].n_in_flight, 0);
	CHECK_INT(nb_model_outcome(t->m, &o, t->c), -2); /* once only */
	CHECK_INT(t->m->totals.moves, 1);
	toy_free(t);
}

/* A task that cannot be moved is tried less and less. */
TEST(model_failures_double_the_backoff)
{
	struct toy *t = toy_new(2, 2, NULL);
	uint32_t tries = 0;

	toy_add(t, 1, 0, 1, 200 * MiB);
	for (int i = 0; i < 200; i++) {
		struct nb_outcome o;

		if (toy_tick(t, 1000000) < 0 || t->plan->n_actions == 0)
			continue;
		tries++;
		nb_model_started(t->m, &t->plan->actions[0], t->at_us);
		o = (struct nb_outcome){.action = t->plan->actions[0].id, .key = t->plan->actions[0].key, .error = 1, .ended_us = t->at_us};
		CHECK_INT(nb_model_outcome(t->m, &o, t->c), 0);
	}
	CHECK_INT(tries, 5); /* after 10, 20, 40 and 80 s */
	CHECK_INT(toy_reason(t, &t->p[0]), NB_REASON_BACKOFF);
	CHECK_INT(t->m->totals.failed_rights, 5);
	toy_free(t);
}

/* A dry run's answer changes nothing: no cool-down, no place, no failure. */
TEST(model_dry_run_outcome_changes_nothing)
{
	struct toy *t = toy_new(2, 2, NULL);
	struct nb_outcome o;

	toy_add(t, 1, 0, 1, 200 * MiB);
	toy_tick(t, 1000000);
	for (int i = 0; i < 3; i++) {
		toy_tick(t, 1000000);
		REQUIRE(t->plan->n_actions == 1);
		nb_model_started(t->m, &t->plan->actions[0], t->at_us);
		o = (struct nb_outcome){.action = t->plan->actions[0].id, .key = t->plan->actions[0].key, .error = 125, .ended_us = t->at_us};
		CHECK_INT(nb_model_outcome(t->m, &o, t->c), 0);
		nb_policy_plan(t->m, t->s, t->c, t->plan);
		CHECK_INT(t->plan->n_actions, 1);
	}
	CHECK_INT(nb_model_unit(t->m, 0)->history.failures, 0);
	toy_free(t);
}
