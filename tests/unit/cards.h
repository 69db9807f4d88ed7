/* SPDX-License-Identifier: MIT */
/* A machine of cards behind the platform's verbs, for tests of the daemon. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "nb/platform.h"

#define MiB (UINT64_C(1) << 20)
#define CARDS_MAX 8

/* Two nodes of two CPUs; processes of one busy thread, each with its memory on one
 * node. What is started waits until the test lets it end. */
struct cards {
	struct nb_platform base;
	uint32_t n_nodes, n_processes;
	uint32_t cpu_node[CARDS_MAX], mem_node[CARDS_MAX];
	uint64_t at_us, run_ns;
	int sample_error, start_error;
	struct nb_action queue[64];
	uint32_t n_queue, n_started, n_restored;
	bool end_at_once;
	int end_error;
	bool *freed;
};

/* Two busy processes on each node, all with their memory on the other: their CPUs are
 * to be exchanged. */
struct cards *cards_new(void);
