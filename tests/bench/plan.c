/* SPDX-License-Identifier: MIT */
/*
 * How long one planning takes: many threads on 64 nodes, ten threads a process, each
 * runnable so often that the CPUs are 75 % or 150 % busy. Rows: all at home; one process
 * in ten on a wrong node; every process on a wrong node (the first tick on a machine
 * that was left alone).
 * Prints the median of several plannings on the same input, in ms, for 10,000 and
 * 100,000 threads in turn, and their ratio.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "nb/model.h"

#define NODES 64
#define CPUS 32
#define THREADS 10
#define ROUNDS 9
#define MiB (UINT64_C(1) << 20)

static void must(int r)
{
	if (r < 0) {
		fprintf(stderr, "bench: %s\n", strerror(-r));
		exit(EXIT_FAILURE);
	}
}

static double now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

static void fill(struct nb_snapshot *s, uint64_t at_us, uint32_t n_processes, uint32_t wrong_every,
		 uint32_t load_pct)
{
	struct nb_bitmap all = {0}, some = {0};
	uint32_t mask_all, mask;

	must(nb_snapshot_begin(s, at_us, NODES, NODES * CPUS));
	s->topology_gen = 1;
	for (uint32_t i = 0; i < NODES * CPUS; i++)
		must(nb_bitmap_set(&all, i));
	must(nb_snapshot_intern_mask(s, &all, &mask_all));
	for (uint32_t k = 0; k < NODES; k++) {
		nb_bitmap_zero(&some);
		for (uint32_t i = 0; i < CPUS; i++) {
			must(nb_bitmap_set(&some, k * CPUS + i));
			s->cpus[k * CPUS + i] = (struct nb_cpu){
				.id = k * CPUS + i,
				.node = k,
				.online = true,
				.valid = NB_VALID_WAIT | NB_VALID_BUSY,
				.busy_ns = at_us * 100,
			};
		}
		must(nb_snapshot_intern_mask(s, &some, &mask));
		s->nodes[k] = (struct nb_node){
			.id = k,
			.cpus = mask,
			.n_cpus = CPUS,
			.mem_target = true,
			.valid = NB_VALID_MEM,
			.mem_total_bytes = 1048576 * MiB,
			.mem_free_bytes = 524288 * MiB,
		};
		for (uint32_t j = 0; j < NODES; j++)
			s->distance[k * NODES + j] = k == j ? 10 : k / 8 == j / 8 ? 16 : 32;
	}
	for (uint32_t i = 0; i < n_processes; i++) {
		uint32_t home = i % NODES, cpu_node = wrong_every && i % wrong_every == 0
							      ? (home + 1 + i / NODES) % NODES
							      : home;
		struct nb_process *p;
		struct nb_thread *t;

		must(nb_snapshot_add_process(s, &p));
		p->key = (struct nb_key){(int32_t)(100 + i * THREADS), 1};
		snprintf(p->comm, sizeof(p->comm), "bench");
		p->valid = NB_VALID_MEM | NB_VALID_MASK;
		p->allowed = mask_all;
		p->anon_bytes = 400 * MiB;
		p->mem_at_us = at_us;
		nb_snapshot_bytes(s, i)[home] = 400 * MiB;
		for (uint32_t j = 0; j < THREADS; j++) {
			must(nb_snapshot_add_thread(s, &t));
			*t = (struct nb_thread){
				.key = {(int32_t)(100 + i * THREADS + j), 1},
				.valid = NB_VALID_RUN | NB_VALID_WAIT | NB_VALID_LAST_CPU |
					 NB_VALID_MASK,
				.last_cpu = cpu_node * CPUS + j,
				.mask = mask_all,
				.current = mask_all,
				/* of its share of NODES × CPUS */
				.run_ns = at_us * 10 * NODES * CPUS * load_pct /
					  (n_processes * THREADS),
			};
		}
	}
	nb_bitmap_done(&all);
	nb_bitmap_done(&some);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void measure(uint32_t n_threads, uint32_t wrong_every, uint32_t load_pct, double *ret_update,
		    double *ret_plan, uint32_t *ret_actions)
{
	struct nb_snapshot *s;
	struct nb_config *c;
	struct nb_config_error err;
	struct nb_model *m;
	struct nb_plan *plan;
	double update[ROUNDS], planning[ROUNDS];

	must(nb_snapshot_new(&s));
	must(nb_config_new(&c));
	must(nb_config_finish(c, &err));
	must(nb_model_new(&m));
	must(nb_plan_new(&plan));
	fill(s, 1000000, n_threads / THREADS, wrong_every, load_pct);
	must(nb_model_update(m, s, c));
	for (uint32_t i = 0; i < ROUNDS; i++) {
		double t0, t1;

		fill(s, (i + 2) * UINT64_C(1000000), n_threads / THREADS, wrong_every, load_pct);
		t0 = now_ms();
		must(nb_model_update(m, s, c));
		t1 = now_ms();
		must(nb_policy_plan(m, s, c, plan));
		planning[i] = now_ms() - t1;
		update[i] = t1 - t0;
	}
	qsort(update, ROUNDS, sizeof(*update), by_value);
	qsort(planning, ROUNDS, sizeof(*planning), by_value);
	*ret_update = update[ROUNDS / 2];
	*ret_plan = planning[ROUNDS / 2];
	*ret_actions = plan->n_actions;
	nb_plan_free(plan);
	nb_model_free(m);
	nb_config_free(c);
	nb_snapshot_free(s);
}

int main(void)
{
	static const struct {
		const char *name;
		uint32_t wrong_every, load_pct;
	} rows[] = {
		{"at home, 75 %", 0, 75},
		{"1 of 10 misplaced, 75 %", 10, 75},
		{"all misplaced, 75 %", 1, 75},
		{"at home, 150 %", 0, 150},
		{"1 of 10 misplaced, 150 %", 10, 150},
		{"all misplaced, 150 %", 1, 150},
	};

	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("%-24s %10s %12s %12s %8s\n", "", "threads", "update ms", "plan ms", "actions");
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		double update[2], plan[2];
		uint32_t actions[2];

		for (uint32_t k = 0; k < 2; k++) {
			measure(k ? 100000 : 10000, rows[i].wrong_every, rows[i].load_pct,
				&update[k], &plan[k], &actions[k]);
			printf("%-24s %10u %12.2f %12.2f %8u\n", rows[i].name, k ? 100000 : 10000,
			       update[k], plan[k], actions[k]);
		}
		printf("%-24s %10s %12.1f %12.1f\n", "", "ratio", update[1] / update[0],
		       plan[1] / plan[0]);
	}
	return 0;
}
