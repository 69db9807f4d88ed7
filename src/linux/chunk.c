/* SPDX-License-Identifier: MIT */
#include "linux/chunk.h"

/* Small: growing from it shows what a call costs and what a byte. */
#define FIRST_BYTES (UINT64_C(1) << 20)
#define MIB 1048576.0
#define MS 1000.0

/* Weight of the past: some ten pieces count. */
#define DECAY 0.85

/* A piece never takes more than so many goals, by the best estimate, even if nearly all
 * of it is the price of the call. */
#define GOALS_MAX 4

/* Pages take at least so many times what the call takes. */
#define PAGES_SHARE 2

/* What takes so many times longer than expected is not believed at once: the thread may
 * have waited for a CPU. */
#define OUTLIER 3
#define OUTLIER_AFTER 3

/* Sizes that differ by less than this share tell nothing about the price of a call. */
#define SPREAD_MIN 0.01

void nb_chunk_init(struct nb_chunk *c, uint64_t goal_us)
{
	*c = (struct nb_chunk){.goal_us = goal_us ? goal_us : 1, .bytes = FIRST_BYTES};
}

/* The line through what was measured: ms = call + byte · MiB. Without a spread of sizes
 * the price of a call is the one that was found when there was some. */
static void fit(struct nb_chunk *c, double *byte)
{
	double mean_x = c->x / c->n, mean_y = c->y / c->n;
	double var = c->xx / c->n - mean_x * mean_x, cov = c->xy / c->n - mean_x * mean_y;

	if (var >= SPREAD_MIN * mean_x * mean_x) {
		*byte = cov > 0 ? cov / var : 0;
		c->call = mean_y - *byte * mean_x;
	}
	/* Noise can turn the line over: neither part is negative. */
	if (c->call > mean_y)
		c->call = mean_y;
	if (c->call < 0)
		c->call = 0;
	*byte = (mean_y - c->call) / mean_x;
}

void nb_chunk_measured(struct nb_chunk *c, uint64_t bytes, uint64_t us)
{
	double x = (double)bytes / MIB, y = (double)(us ? us : 1) / MS;
	double goal = (double)c->goal_us / MS, byte, next, cap;

	if (bytes == 0)
		return;
	if (c->n > OUTLIER_AFTER) {
		fit(c, &byte);
		if (y > OUTLIER * (c->call + byte * x))
			y = OUTLIER * (c->call + byte * x);
	}
	c->n = c->n * DECAY + 1;
	c->x = c->x * DECAY + x;
	c->y = c->y * DECAY + y;
	c->xx = c->xx * DECAY + x * x;
	c->xy = c->xy * DECAY + x * y;
	fit(c, &byte);
	if (byte > 0) {
		next = (goal - c->call) / byte;
		if (next < PAGES_SHARE * c->call / byte)
			next = PAGES_SHARE * c->call / byte;
		cap = (GOALS_MAX * goal - c->call) / byte;
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
