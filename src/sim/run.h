/* SPDX-License-Identifier: MIT */
/* One run of a scenario: the daemon's loop on a simulated machine, and what came of it. */
#pragma once

#include <stdio.h>

#include "nb/model.h"
#include "sim/machine.h"

struct nb_sim_move {
	uint64_t at_us; /* when it ended, since the start of the run */
	uint64_t took_us;
	int32_t pid;
	char comm[16];
	uint32_t what;     /* enum nb_what */
	uint32_t from, to; /* or NB_NO_NODE */
	uint64_t bytes;
	int64_t gain_us, price_us; /* as predicted */
	uint32_t exchange;         /* equal numbers were started together; 0: alone */
	enum nb_reason reason;
	int error;
};

#define NB_SIM_UNKNOWN UINT32_MAX /* nothing ran in the window */

struct nb_sim_result {
	uint64_t seed;
	uint64_t window_us;
	uint32_t *local_pmy; /* of each window, or NB_SIM_UNKNOWN */
	uint32_t n_windows;
	uint64_t local_at_us;    /* end of the first window with 95 %; UINT64_MAX: never */
	uint32_t last_third_pmy; /* or NB_SIM_UNKNOWN */
	uint32_t wait_pmy;       /* waiting, of the CPU time that was wanted */
	uint64_t run_us;         /* CPU time of all threads */
	uint64_t bytes_moved, moves, swaps, failed, plans;
	struct nb_sim_move *list;
	uint32_t n_list, cap_list;
};

int nb_sim_run(const struct nb_scenario *s, uint64_t seed, struct nb_sim_result **ret);
struct nb_sim_result *nb_sim_result_free(struct nb_sim_result *r); /* NULL-safe, returns NULL */

/* True if the scenario's expectations hold; else why says the first that does not. */
bool nb_sim_expected(const struct nb_scenario *s, const struct nb_sim_result *r, char *why,
		     size_t size);

void nb_sim_print(const struct nb_sim_result *r, FILE *out);
void nb_sim_print_json(const struct nb_sim_result *r, FILE *out);

static inline void nb_sim_result_freep(struct nb_sim_result **r)
{
	nb_sim_result_free(*r);
}
#define _cleanup_result_ __attribute__((cleanup(nb_sim_result_freep)))
