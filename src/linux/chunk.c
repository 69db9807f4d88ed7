/* SPDX-License-Identifier: MIT */
#include "linux/chunk.h"

#define FIRST_BYTES (UINT64_C(4) << 20)
#define MIB 1048576.0
#define MS 1000.0

/* Weight of the past: some ten pieces count. */
#define DECAY 0.85

/* A piece never takes more than so many goals, by the best estimate, even if nearly all
 * of it is the price of the call. */
#define GOALS_MAX 4

/* Sizes that differ by less than this share tell nothing about the price of a call. */
#define SPREAD_MIN 0.01

void nb_chunk_init(struct nb_chunk *c, uint64_t goal_us)
{
	*c = (struct nb_chunk){.goal_us = goal_us ? goal_us : 1, .bytes = FIRST_BYTES};
}

/* The line through what was measured: ms = call + byte · MiB. Without a spread of sizes
 * all is put down to the bytes; smaller pieces then make the spread. */
static void fit(const struct nb_chunk *c, double *call, double *byte)
{
	double mean_x = c->x / c->n, mean_y = c->y / c->n;
	double var = c->xx / c->n - mean_x * mean_x, cov = c->xy / c->n - mean_x * mean_y;

	*byte = mean_y / mean_x;
	*call = 0;
	if (var < SPREAD_MIN * mean_x * mean_x)
		return;
	/* Noise can turn the line over: neither part is negative. */
	if (cov / var < *byte)
		*byte = cov > 0 ? cov / var : 0;
	*call = mean_y - *byte * mean_x;
}

void nb_chunk_measured(struct nb_chunk *c, uint64_t bytes, uint64_t us)
{
	double x = (double)bytes / MIB, y = (double)(us ? us : 1) / MS;
	double goal = (double)c->goal_us / MS, call, byte, next, cap;

	if (bytes == 0)
		return;
	c->n = c->n * DECAY + 1;
	c->x = c->x * DECAY + x;
	c->y = c->y * DECAY + y;
	c->xx = c->xx * DECAY + x * x;
	c->xy = c->xy * DECAY + x * y;
	fit(c, &call, &byte);
	if (byte > 0) {
		next = (goal - call) / byte;
		if (next < call / byte)
			next = call / byte;
		cap = (GOALS_MAX * goal - call) / byte;
		if (next > cap)
			next = cap;
	} else {
		next = NB_CHUNK_MAX / MIB;
	}
	/* One measurement is not believed beyond a factor of two. */
	if (next > 2 * (double)c->bytes / MIB)
		next = 2 * (double)c->bytes / MIB;
	if (next < (double)c->bytes / MIB / 2)
		next = (double)c->bytes / MIB / 2;
	if (next < NB_CHUNK_MIN / MIB)
		next = NB_CHUNK_MIN / MIB;
	if (next > NB_CHUNK_MAX / MIB)
		next = NB_CHUNK_MAX / MIB;
	c->bytes = (uint64_t)(next * MIB);
}
