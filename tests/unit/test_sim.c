/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim/platform.h"
#include "sim/run.h"
#include "test.h"

#define SCENARIOS "tests/scenarios/"
#define SEEDS 20
#define MIB (UINT64_C(1) << 20)

static struct nb_scenario *parse(const char *text, const char *override)
{
	struct nb_scenario *s = NULL;
	struct nb_config_error err = {0};
	const char *const overrides[] = {override};
	int r = nb_scenario_parse("test", text, strlen(text), overrides, override != NULL, &s,
				  &err);

	if (r < 0)
		test_fail(__FILE__, __LINE__, "%d: %s", r, err.text);
	return s;
}

static struct nb_scenario *load(const char *name, const char *override)
{
	char path[512], *text = NULL;
	size_t cap = 0;
	struct nb_scenario *s;
	FILE *f;

	snprintf(path, sizeof(path), SCENARIOS "%s.ini", name);
	f = fopen(path, "r");
	if (!f || getdelim(&text, &cap, -1, f) < 0) {
		test_fail(__FILE__, __LINE__, "cannot read %s", path);
		return NULL;
	}
	fclose(f);
	s = parse(text, override);
	free(text);
	return s;
}

static char *run_json(const struct nb_scenario *s, uint64_t seed)
{
	_cleanup_result_ struct nb_sim_result *r = NULL;
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	CHECK_INT(nb_sim_run(s, seed, &r), 0);
	if (r)
		nb_sim_print_json(r, f);
	fclose(f);
	return text;
}

/* The number of seeds with which what the scenario expects comes true. */
static unsigned seeds_expected(const struct nb_scenario *s, char *why, size_t size)
{
	unsigned good = 0;

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		_cleanup_result_ struct nb_sim_result *r = NULL;

		CHECK_INT(nb_sim_run(s, seed, &r), 0);
		good += r && nb_sim_expected(s, r, why, size);
	}
	return good;
}

TEST(sim_scenarios_as_expected)
{
	struct dirent **entries;
	int n = scandir(SCENARIOS, &entries, NULL, alphasort);
	unsigned n_scenarios = 0;

	for (int i = 0; i < n; i++) {
		char *dot = strrchr(entries[i]->d_name, '.'), why[200] = "";

		if (dot && strcmp(dot, ".ini") == 0) {
			_cleanup_scenario_ struct nb_scenario *s = NULL;

			*dot = '\0';
			n_scenarios++;
			s = load(entries[i]->d_name, NULL);
			if (s && seeds_expected(s, why, sizeof(why)) == SEEDS)
				printf("ok sim_scenario %s\n", entries[i]->d_name);
			else
				test_fail(__FILE__, __LINE__, "%s: %s", entries[i]->d_name, why);
		}
		free(entries[i]);
	}
	if (n >= 0)
		free(entries);
	CHECK(n_scenarios >= 7);
}

/* The bounds are worth something: without the balancer, or without what the scenario
 * is about, every seed breaks them. */
TEST(sim_bounds_can_fail)
{
	static const struct {
		const char *scenario, *override;
	} broken[] = {
		{"ring4", "run.balancer=no"},
		{"ring4", "policy.swap=no"},
		{"cross2", "run.balancer=no"},
		{"cross2", "policy.swap=no"},
		{"six-on-four", "run.balancer=no"},
		{"onenode-memory", "run.balancer=no"},
		{"onenode-memory", "policy.min_gain=100%"},
		{"sleepy-web", "process web.threads=48"},
		{"balanced", "process busy.memory_node=1"},
		{"ring4", "expect.local_within=1s"},
		{"ring4", "expect.max_swaps=2"},
		{"sleepy-web", "expect.last_third=60%"},
		{"sleepy-web", "expect.max_wait=1%"},
		{"onenode-memory", "expect.min_bytes=1G"},
		{"onenode-memory", "expect.max_bytes=100M"},
		{"onenode-memory", "expect.max_moves=0"},
	};
	char why[200];

	for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
		_cleanup_scenario_ struct nb_scenario *s =
			load(broken[i].scenario, broken[i].override);
		unsigned good = s ? seeds_expected(s, why, sizeof(why)) : SEEDS;

		if (good > 0)
			test_fail(__FILE__, __LINE__, "%s with %s: %u seeds as expected",
				  broken[i].scenario, broken[i].override, good);
	}
}

TEST(sim_counts)
{
	_cleanup_scenario_ struct nb_scenario *ring = load("ring4", NULL),
					      *one = load("onenode-memory", NULL);
	_cleanup_result_ struct nb_sim_result *a = NULL, *b = NULL;

	REQUIRE(ring && one && nb_sim_run(ring, 1, &a) == 0 && nb_sim_run(one, 1, &b) == 0);
	CHECK_INT(a->swaps, 3); /* a rotation of four */
	CHECK_INT(a->moves, 0);
	CHECK_INT(a->n_list, 4);
	CHECK_INT(a->n_windows, 40);
	CHECK_INT(a->local_pmy[0], 0);
	CHECK_INT(a->local_pmy[39], 10000);
	CHECK_INT(a->run_us, 80000000);
	CHECK_INT(a->wait_pmy, 0);
	CHECK(b->moves == 1 && b->swaps == 0 && b->bytes_moved == 300 * MIB);
	CHECK(b->local_pmy[0] == 5000 && b->last_third_pmy == 10000);
	CHECK_INT(b->list[0].took_us, 1180000); /* 300 MiB at 256 MiB/s, in whole steps */
}

TEST(sim_same_seed_same_bytes)
{
	static const char *const names[] = {"six-on-four", "sleepy-web", "balanced-sleepy",
					    "onenode-memory"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		_cleanup_scenario_ struct nb_scenario *s = load(names[i], NULL);
		char *one, *two, *other;

		REQUIRE(s);
		one = run_json(s, 7);
		two = run_json(s, 7);
		other = run_json(s, 8);
		CHECK_STR(two, one);
		CHECK(strlen(one) > 300);
		/* Chance plays a part where threads sleep or outnumber the CPUs. */
		CHECK((strcmp(one + strlen("{\"seed\":7"), other + strlen("{\"seed\":8")) == 0) ==
		      (strcmp(names[i], "onenode-memory") == 0));
		free(one);
		free(two);
		free(other);
	}
}

/* --- the machine ------------------------------------------------------------- */

static struct nb_machine *machine(const struct nb_scenario *s, unsigned steps)
{
	struct nb_machine *m = NULL;

	CHECK_INT(nb_machine_new(s, 3, &m), 0);
	for (unsigned i = 0; m && i < steps; i++)
		CHECK_INT(nb_machine_step(m), 0);
	return m;
}

TEST(sim_time_is_shared_out)
{
	_cleanup_scenario_ struct nb_scenario *s = parse("[machine]\nnodes = 2\ncpus = 2 1\n"
							 "memory = 1G\n[process a]\nthreads = 5\n"
							 "memory = 100M\n[process b]\nduty = 40%\n",
							 NULL);
	_cleanup_machine_ struct nb_machine *m = NULL;
	uint64_t run = 0, wait = 0;

	REQUIRE(s);
	m = machine(s, 300);
	REQUIRE(m);
	for (uint32_t c = 0; c < m->n_cpus; c++) {
		CHECK(m->cpus[c].run_ns <= m->now_us * 1000);
		CHECK(m->cpus[c].run_ns > m->now_us * 999); /* five always run on three CPUs */
		run += m->cpus[c].run_ns;
		wait += m->cpus[c].wait_ns;
	}
	for (uint32_t i = 0; i < m->n_threads; i++) {
		run -= m->threads[i].run_ns;
		wait -= m->threads[i].wait_ns;
	}
	CHECK_INT(run, 0); /* columns of CPUs and of threads say the same */
	CHECK_INT(wait, 0);
	for (uint32_t i = 0; i < 5; i++) {
		uint64_t all = m->threads[i].run_ns + m->threads[i].wait_ns;

		CHECK(all > m->now_us * 999 && all <= m->now_us * 1000);
		CHECK(m->threads[i].run_ns * 5 > m->now_us * 1000); /* nobody starves */
	}
}

TEST(sim_seeds_place_differently)
{
	_cleanup_scenario_ struct nb_scenario *s = parse(
		"[machine]\nnodes = 2\ncpus = 8\nmemory = 1G\n[process a]\nthreads = 4\n", NULL);
	bool differ = false;
	uint32_t first[4];

	REQUIRE(s);
	for (uint64_t seed = 1; seed <= 5; seed++) {
		_cleanup_machine_ struct nb_machine *m = NULL;

		REQUIRE(nb_machine_new(s, seed, &m) == 0 && nb_machine_step(m) == 0);
		for (uint32_t i = 0; i < 4; i++) {
			differ |= seed > 1 && m->threads[i].cpu != first[i];
			first[i] = seed == 1 ? m->threads[i].cpu : first[i];
			CHECK_INT(m->cpus[m->threads[i].cpu].n_runnable, 1);
		}
	}
	CHECK(differ);
}

/* Four threads on each of two CPUs of one node, then all may go anywhere. */
TEST(sim_nodes_are_evened_out)
{
	_cleanup_scenario_ struct nb_scenario *s =
		parse("[machine]\nnodes = 2\ncpus = 2 4\nmemory = 1G\n[process a]\nthreads = 9\n"
		      "start_node = 0\nbound_until = 1s\n",
		      NULL);
	_cleanup_machine_ struct nb_machine *m = NULL;
	uint64_t there;

	REQUIRE(s);
	m = machine(s, 100);
	REQUIRE(m);
	CHECK_INT(m->cpus[0].n_runnable + m->cpus[1].n_runnable, 9);
	for (unsigned i = 0; i < 100; i++)
		nb_machine_step(m);
	CHECK_INT(m->cpus[0].n_runnable + m->cpus[1].n_runnable, 3);
	there = m->cpus[2].run_ns;
	for (unsigned i = 0; i < 300; i++) {
		nb_machine_step(m);
		CHECK_INT(m->cpus[0].n_runnable + m->cpus[1].n_runnable, 3); /* and stay */
	}
	CHECK_INT(m->cpus[2].run_ns - there, 3000000000);
}

TEST(sim_duty_is_kept)
{
	_cleanup_scenario_ struct nb_scenario *s = parse("[machine]\nnodes = 1\ncpus = 8\n"
							 "memory = 1G\n[process a]\nthreads = 8\n"
							 "duty = 30%\nperiod = 100ms\n",
							 NULL);
	_cleanup_machine_ struct nb_machine *m = NULL;
	uint64_t run = 0;

	REQUIRE(s);
	m = machine(s, 6000);
	REQUIRE(m);
	for (uint32_t i = 0; i < m->n_threads; i++)
		run += m->threads[i].run_ns;
	/* Of 8 × 60 s; a burst starts at the next step, so it is a little less. */
	CHECK(run / 480000000 > 250 && run / 480000000 < 310);
}

TEST(sim_processes_come_and_go)
{
	_cleanup_scenario_ struct nb_scenario *s =
		parse("[machine]\nnodes = 2\ncpus = 1\nmemory = 256M\n[process a]\nmemory = 300M\n"
		      "memory_node = 1\narrival = 1s\nend = 2s\n[process b]\nmemory = 100M\n",
		      NULL);
	_cleanup_machine_ struct nb_machine *m = NULL;
	struct nb_sim_process *a, *b;

	REQUIRE(s);
	m = machine(s, 50);
	REQUIRE(m);
	a = &m->processes[0];
	b = &m->processes[1];
	CHECK(!a->alive && b->alive && m->threads[0].run_ns == 0);
	CHECK_INT(b->bytes[0], 50 * MIB); /* spread */
	CHECK_INT(b->bytes[1], 50 * MIB);
	for (unsigned i = 0; i < 60; i++)
		CHECK_INT(nb_machine_step(m), 0);
	CHECK(a->alive);
	CHECK_INT(a->bytes[1], 206 * MIB); /* as much as fits, the rest beside it */
	CHECK_INT(a->bytes[0], 94 * MIB);
	CHECK_INT(m->free_bytes[1], 0);
	for (unsigned i = 0; i < 100; i++)
		CHECK_INT(nb_machine_step(m), 0);
	CHECK(!a->alive);
	CHECK_INT(m->free_bytes[0] + m->free_bytes[1], 412 * MIB);
	CHECK_INT(m->threads[0].run_ns, 1000000000);
}

TEST(sim_too_much_memory)
{
	_cleanup_scenario_ struct nb_scenario *s = parse("[machine]\nnodes = 2\ncpus = 1\n"
							 "memory = 256M\n[process a]\ncount = 2\n"
							 "memory = 300M\n",
							 NULL);
	struct nb_sim_result *r = NULL;

	REQUIRE(s);
	CHECK_INT(nb_sim_run(s, 1, &r), -ENOMEM);
	CHECK(!r && nb_sim_result_free(NULL) == NULL && nb_machine_free(NULL) == NULL);
}

/* --- the platform ------------------------------------------------------------ */

static const char two_nodes[] = "[machine]\nnodes = 2\ncpus = 2\nmemory = 1G\n"
				"migration_speed = 100M/s\n[process a]\nthreads = 2\n"
				"memory = 200M\nmemory_node = 1\nstart_node = 0\n"
				"[process b]\nmemory = 100M\nmemory_node = 0\nstart_node = 1\n"
				"bound_until = 2s\n";

struct rig {
	struct nb_scenario *s;
	struct nb_machine *m;
	struct nb_platform *p;
	struct nb_snapshot *snapshot;
	struct nb_action a;
};

static bool rig_up(struct rig *rig, const char *text, const char *override, unsigned steps)
{
	*rig = (struct rig){.s = parse(text, override)};
	rig->m = rig->s ? machine(rig->s, steps) : NULL;
	if (!rig->m || nb_sim_platform_new(rig->m, &rig->p) < 0 ||
	    nb_snapshot_new(&rig->snapshot) < 0 ||
	    rig->p->ops->sample(rig->p, rig->s->config, rig->snapshot) < 0) {
		test_fail(__FILE__, __LINE__, "no rig");
		return false;
	}
	return true;
}

static void rig_down(struct rig *rig)
{
	nb_action_done(&rig->a);
	nb_snapshot_free(rig->snapshot);
	if (rig->p)
		rig->p->ops->free(rig->p);
	nb_machine_free(rig->m);
	nb_scenario_free(rig->s);
}

static int start(struct rig *rig, uint32_t process, uint32_t what, uint32_t to)
{
	struct nb_action *a = &rig->a;

	a->id++;
	a->key = rig->snapshot->processes[process].key;
	a->what = what;
	a->to = to;
	a->mem_to = what & NB_MEMORY ? to : NB_NO_NODE;
	nb_bitmap_zero(&a->cpu_nodes);
	nb_bitmap_zero(&a->mem_from);
	CHECK_INT(nb_bitmap_set(&a->cpu_nodes, to), 0);
	CHECK_INT(nb_bitmap_set(&a->mem_from, !to), 0);
	return rig->p->ops->start(rig->p, rig->s->config, rig->snapshot, a);
}

/* Steps until there is an outcome; the number of steps. */
static unsigned wait_for(struct rig *rig, struct nb_outcome *ret)
{
	for (unsigned n = 0; n < 5000; n++) {
		if (rig->p->ops->next_outcome(rig->p, ret) == 1)
			return n;
		CHECK_INT(nb_machine_step(rig->m), 0);
	}
	test_fail(__FILE__, __LINE__, "no outcome");
	return 0;
}

TEST(sim_sample)
{
	struct rig rig;

	if (rig_up(&rig, two_nodes, NULL, 100)) {
		struct nb_snapshot *s = rig.snapshot;

		CHECK_INT(s->at_us, NB_SIM_EPOCH_US + 1000000);
		CHECK_INT(s->n_nodes, 2);
		CHECK_INT(s->n_cpus, 4);
		CHECK_INT(s->n_processes, 2);
		CHECK_INT(s->n_threads, 3);
		CHECK_INT(nb_snapshot_distance(s, 0, 1), 20);
		CHECK_INT(s->nodes[0].mem_free_bytes, 924 * MIB);
		CHECK_INT(nb_snapshot_bytes(s, 0)[1], 200 * MIB);
		CHECK_INT(s->threads[0].run_ns, 1000000000);
		CHECK_INT(nb_snapshot_cpu_node(s, s->threads[1].last_cpu), 0);
		CHECK_INT(s->cpus[0].run_ns + s->cpus[1].run_ns, 2000000000);
		CHECK(!(s->processes[0].flags & NB_PROC_PINNED));
		CHECK(s->processes[1].flags & NB_PROC_PINNED &&
		      s->processes[1].flags & NB_PROC_BOUND);
		CHECK_INT(nb_bitmap_weight(nb_snapshot_mask(s, s->processes[1].allowed)), 2);
		CHECK_STR(nb_snapshot_str(s, s->processes[1].cgroup), "/sim.slice/b");
		for (unsigned i = 0; i < 110; i++)
			nb_machine_step(rig.m);
		CHECK_INT(rig.p->ops->sample(rig.p, rig.s->config, s), 0);
		CHECK_INT(s->processes[1].flags, 0); /* its owner let it go */
		CHECK_INT(nb_bitmap_weight(nb_snapshot_mask(s, s->threads[2].current)), 4);
	}
	rig_down(&rig);
}

TEST(sim_pin_moves_at_once)
{
	struct nb_outcome o;
	struct rig rig;

	if (rig_up(&rig, two_nodes, NULL, 10)) {
		CHECK_INT(start(&rig, 0, NB_CPU, 1), 0);
		CHECK_INT(wait_for(&rig, &o), 0);
		CHECK(o.error == 0 && o.threads_set == 2 && o.action == 1 && o.to == 1);
		for (unsigned i = 0; i < 100; i++)
			nb_machine_step(rig.m);
		for (uint32_t i = 0; i < 2; i++) {
			CHECK_INT(rig.m->cpus[rig.m->threads[i].cpu].node, 1);
			CHECK(nb_bitmap_equal(&rig.m->threads[i].mask, &rig.m->node_cpus[1]));
			CHECK(nb_bitmap_equal(&rig.m->threads[i].own, &rig.m->all_cpus));
		}
		/* Outside of what its owner lets it use: refused, nothing changed. */
		CHECK_INT(start(&rig, 1, NB_CPU, 0), 0);
		CHECK_INT(wait_for(&rig, &o), 0);
		CHECK_INT(o.error, EINVAL);
		CHECK(nb_bitmap_equal(&rig.m->threads[2].mask, &rig.m->node_cpus[1]));
		CHECK_INT(rig.p->ops->restore(rig.p), 0);
		CHECK(nb_bitmap_equal(&rig.m->threads[0].mask, &rig.m->all_cpus));
	}
	rig_down(&rig);
}

TEST(sim_nudge_and_release)
{
	struct nb_outcome o;
	struct rig rig;

	if (rig_up(&rig, two_nodes, "policy.hold=nudge", 10)) {
		CHECK_INT(start(&rig, 0, NB_CPU, 1), 0);
		CHECK_INT(rig.m->cpus[rig.m->threads[0].cpu].node, 1);
		CHECK(nb_bitmap_equal(&rig.m->threads[0].mask, &rig.m->all_cpus));
	}
	rig_down(&rig);
	if (rig_up(&rig, two_nodes, NULL, 10)) {
		CHECK_INT(start(&rig, 0, NB_CPU, 1), 0);
		rig.a.release = true;
		CHECK_INT(start(&rig, 0, NB_CPU, 1), 0);
		wait_for(&rig, &o);
		CHECK(nb_bitmap_equal(&rig.m->threads[0].mask, &rig.m->all_cpus));
	}
	rig_down(&rig);
}

TEST(sim_pages_take_their_time)
{
	static const struct {
		const char *override;
		unsigned steps; /* of 10 ms, for 200 MiB */
	} cases[] = {
		{NULL, 200},
		{"migrate.rate_limit=50M/s", 400},
		{"migrate.rate_limit=1000M/s", 200},
		{"machine.migration_speed=33.3M/s", 601},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct nb_outcome o;
		struct rig rig;
		const char *override = cases[i].override;

		/* 33.3M is no whole number of K. */
		if (i == 3)
			override = "machine.migration_speed=34099K/s";
		if (rig_up(&rig, two_nodes, override, 10)) {
			CHECK_INT(start(&rig, 0, NB_CPU | NB_MEMORY, 0), 0);
			CHECK_INT(wait_for(&rig, &o), cases[i].steps);
			CHECK_INT(o.error, 0);
			CHECK_INT(o.bytes_moved, 200 * MIB);
			CHECK_INT(o.ended_us - o.started_us, cases[i].steps * 10000);
			CHECK_INT(rig.m->processes[0].bytes[0], 200 * MIB);
			CHECK_INT(rig.m->processes[0].bytes[1], 0);
			CHECK_INT(rig.m->free_bytes[0], 724 * MIB);
			CHECK_INT(rig.m->free_bytes[1], 1024 * MIB);
		}
		rig_down(&rig);
	}
}

TEST(sim_one_mover_a_destination)
{
	struct nb_outcome o;
	struct rig rig;
	unsigned n;

	/* To one node: one after the other. To two: at the same time; half as fast each
	 * when the limit is for all. */
	if (rig_up(&rig, two_nodes, "process b.memory_node=1", 10)) {
		CHECK_INT(start(&rig, 0, NB_MEMORY, 0), 0);
		CHECK_INT(start(&rig, 1, NB_MEMORY, 0), 0);
		n = wait_for(&rig, &o);
		CHECK_INT(o.action, 1);
		CHECK_INT(n, 200);
		CHECK_INT(n + wait_for(&rig, &o), 300);
		CHECK_INT(o.action, 2);
	}
	rig_down(&rig);
	if (rig_up(&rig, two_nodes, NULL, 10)) {
		CHECK_INT(start(&rig, 0, NB_MEMORY, 0), 0);
		CHECK_INT(start(&rig, 1, NB_MEMORY, 1), 0);
		n = wait_for(&rig, &o);
		CHECK(n == 100 && o.action == 2);
		CHECK_INT(n + wait_for(&rig, &o), 200);
	}
	rig_down(&rig);
	if (rig_up(&rig, two_nodes, "migrate.rate_limit=50M/s", 10)) {
		rig.s->config->settings.rate_limit_scope = NB_RATE_ALL;
		CHECK_INT(start(&rig, 0, NB_MEMORY, 0), 0);
		CHECK_INT(start(&rig, 1, NB_MEMORY, 1), 0);
		n = wait_for(&rig, &o);
		CHECK(n == 400 && o.action == 2);
		CHECK_INT(n + wait_for(&rig, &o), 600);
	}
	rig_down(&rig);
}

TEST(sim_moves_that_fail)
{
	struct nb_outcome o;
	struct rig rig;
	unsigned n = 0;

	if (rig_up(&rig, two_nodes, "machine.memory=150M 1G", 10)) {
		CHECK_INT(start(&rig, 0, NB_MEMORY, 0), 0);
		wait_for(&rig, &o);
		CHECK_INT(o.error, ENOMEM);
		CHECK_INT(o.bytes_moved, 50 * MIB);
		CHECK_INT(rig.m->free_bytes[0], 0);
	}
	rig_down(&rig);
	if (rig_up(&rig, two_nodes, "process a.end=1s", 10)) {
		CHECK_INT(start(&rig, 0, NB_MEMORY, 0), 0);
		wait_for(&rig, &o);
		CHECK_INT(o.error, ESRCH);
		CHECK(o.bytes_moved > 80 * MIB && o.bytes_moved < 100 * MIB);
		CHECK_INT(rig.m->free_bytes[0] + rig.m->free_bytes[1], 1948 * MIB);
		CHECK_INT(start(&rig, 0, NB_MEMORY, 0), 0);
		wait_for(&rig, &o);
		CHECK_INT(o.error, ESRCH);
		while (n < 1000 && start(&rig, 1, NB_MEMORY, 1) == 0)
			n++;
		CHECK_INT(n, NB_SIM_QUEUE_MAX);
		CHECK_INT(start(&rig, 1, NB_MEMORY, 1), -EAGAIN);
		CHECK_INT(start(&rig, 1, NB_CPU, 1), 0); /* needs no mover */
	}
	rig_down(&rig);
}

/* --- scenarios as text ------------------------------------------------------- */

TEST(sim_scenario_values)
{
	_cleanup_scenario_ struct nb_scenario *s = parse(
		"\xef\xbb\xbf[machine]\r\nnodes = 3 # three\r\ncpus = 2, 4 0\nmemory = 1G\n"
		"distance = 21\n  distance_2 = 31 32 10\n[run]\nseed = 18446744073709551615\n"
		"balancer = no\n[policy]\nswap = no\n[group x]\nmatch_comm = p\n"
		"[process p]\nduty = 12.5%\n[policy]\nhorizon = 2min\n[expect]\nmax_moves = 0\n",
		"group x.hold=nudge");

	REQUIRE(s);
	CHECK_INT(nb_scenario_cpus(s, 1), 4);
	CHECK_INT(nb_scenario_memory(s, 2), 1024 * MIB);
	CHECK_INT(nb_scenario_distance(s, 0, 2), 21);
	CHECK_INT(nb_scenario_distance(s, 2, 1), 32);
	CHECK_INT(nb_scenario_distance(s, 1, 1), 10);
	CHECK(s->run.seed == UINT64_MAX && !s->run.balancer);
	CHECK_INT(s->processes[0].duty_pmy, 1250);
	CHECK(!s->config->settings.swap && s->config->settings.horizon_us == 120000000);
	REQUIRE(s->config->n_groups == 1);
	CHECK(s->config->groups[0].settings.hold == NB_HOLD_NUDGE);
	CHECK(s->expect.max_moves == 0 && s->expect.max_swaps == UINT64_MAX);
}

TEST(sim_scenario_errors)
{
#define M "[machine]\nnodes = 2\ncpus = 1\nmemory = 1G\n"
#define P "[process p]\n"
	static const struct {
		const char *text, *override, *want;
	} bad[] = {
		{"", NULL, "s: [machine] nodes: is missing"},
		{M, NULL, "s: has no [process NAME]"},
		{"[machine]\nnodes = 0\n", NULL, "s:2: [machine] nodes: \"0\" is too small"},
		{"[machine]\n\nnodes = 65\n", NULL, "s:3: [machine] nodes: \"65\" is too large"},
		{M "nodes = 2\n", NULL, "s:5: [machine] nodes: set twice"},
		{M "knodes = 2\n", NULL, "s:5: [machine] knodes: unknown key"},
		{M "distance_x = 2\n", NULL, "s:5: [machine] distance_x: unknown key"},
		{M "distance_0 = 10\n" P, NULL, "s: [machine] distance_0: a number for each node"},
		{M "distance_0 = 11 10\n" P, NULL, "s: [machine] distance_0: 10 to itself"},
		{M "distance_1 = 9 10\n", NULL, "s:5: [machine] distance_1: \"9\" is too small"},
		{M "distance_1 = 20 10\ndistance_1 = 20 10\n", NULL,
		 "s:6: [machine] distance_1: set twice"},
		{"[machine]\nnodes = 3\ncpus = 1 1\nmemory = 1G\n" P, NULL,
		 "s: [machine] cpus: one number, or one for each node"},
		{"[machine]\nnodes = 3\ncpus =\n", NULL, "s:3: [machine] cpus: needs a value"},
		{"[machine]\nnodes = 1\ncpus = 0\nmemory = 1G\n" P, NULL,
		 "s: [machine] cpus: 1 to 4096 in all"},
		{M "[proces p]\n", NULL,
		 "s:5: [proces p]: unknown section (allowed: machine, run, expect, process NAME, "
		 "and "
		 "those of the daemon's configuration)"},
		{M "[process a b]\n", NULL,
		 "s:5: [process a b]: not a name (1 to 15 letters, digits, _ . -)"},
		{M P "duty = 0%\n", NULL, "s:6: [process p] duty: \"0%\" is too small"},
		{M P "end = 1s\narrival = 1s\n", NULL, "s: [process p] end: not after arrival"},
		{M P "memory_node = 2\n", NULL,
		 "s: [process p] memory_node: there is no such node"},
		{M P "bound_until = 1s\n", NULL, "s: [process p] bound_until: needs start_node"},
		{M P "threads = 4096\ncount = 5\n", NULL, "s: has more than 16384 threads"},
		{M P "[run]\nbalancer = maybe\n", NULL, "s:7: [run] balancer: yes or no"},
		{M P "[run]\nwindow = 15ms\n", NULL, "s: [run] window: not a multiple of step"},
		{M P "[run]\nduration = 1.001s\n", NULL,
		 "s: [run] duration: not a multiple of step"},
		{M P "[daemon]\ninterval = 101ms\n", NULL,
		 "s: [daemon] interval: not a multiple of [run] step"},
		/* What is the daemon's keeps its lines. */
		{M P "[policy]\n\nswap = 2\n", NULL,
		 "s:8: [policy] swap: unknown value \"2\" (allowed: yes, no)"},
		{M P "[policy]\nswap = no\n[run]\n# c\nseed = 1\n[policy]\nswap = no\n", NULL,
		 "s:12: [policy] swap: already set in line 7 (allowed: once in a file)"},
		{M P "[group g]\n", NULL,
		 "s:6: [group g]: matches nothing (allowed: with at least one of match_cgroup, "
		 "match_comm, match_user)"},
		{M P, "policy.swap=x",
		 "--set policy.swap:2: [policy] swap: unknown value \"x\" (allowed: yes, no)"},
		{M P, "process q.duty=1%",
		 "--set process q.duty:1: [process q]: the scenario has none"},
		{M P, "duty=1%", "--set duty=1%: not SECTION.KEY=VALUE"},
		{M P, "policy.swap", "--set policy.swap: not SECTION.KEY=VALUE"},
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct nb_scenario *s = NULL;
		struct nb_config_error err = {0};

		CHECK_INT(nb_scenario_parse("s", bad[i].text, strlen(bad[i].text), &bad[i].override,
					    bad[i].override != NULL, &s, &err),
			  -EINVAL);
		CHECK_STR(err.text, bad[i].want);
		CHECK(!s);
	}
	CHECK(nb_scenario_free(NULL) == NULL);
}
