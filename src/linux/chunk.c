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

/* Sizes that differ by less than this share tell nothing about the price of a call. */
#define SPREAD_MIN 0.01

void nb_chunk_init(struct nb_chunk *c, uint64_t goal_us)
{
	*c = (struct nb_chunk){.goal_us = goal_us ? goal_us : 1, .bytes = FIRST_BYTES};
}

/* The line through what was measured: ms = run + byte · MiB. Without a spread of sizes
 * the price of a call is the one that was found when there was some. */
static double fit(struct nb_chunk *c)
{
	double mean_x = c->x / c->n, mean_y = c->y / c->n;
	double var = c->xx / c->n - mean_x * mean_x, cov = c->xy / c->n - mean_x * mean_y;

	if (var >= SPREAD_MIN * mean_x * mean_x)
		c->run = mean_y - (cov > 0 ? cov / var : 0) * mean_x;
	/* Noise can turn the line over: neither part is negative. */
	if (c->run > mean_y)
		c->run = mean_y;
	if (c->run < 0)
		c->run = 0;
	return (mean_y - c->run) / mean_x;
}

static double within(double v, double low, double high)
{
	return v < low ? low : v > high ? high : v;
}

void nb_chunk_measured(struct nb_chunk *c, uint64_t bytes, uint64_t wall_us, uint64_t cpu_us)
{
	double x = (double)bytes / MIB, goal = (double)c->goal_us / MS, last, byte, call, next;
	double ran = (double)(cpu_us ? cpu_us : 1) / MS;
	double waited = wall_us > cpu_us ? (double)(wall_us - cpu_us) / MS : 0;

	if (bytes == 0)
		return;
	c->n = c->n * DECAY + 1;
	c->x = c->x * DECAY + x;
	c->y = c->y * DECAY + ran;
	c->xx = c->xx * DECAY + x * x;
	c->xy = c->xy * DECAY + x * ran;
	c->wait += (waited - c->wait) / c->n;
	byte = fit(c);
	call = c->run + c->wait;
	next = NB_CHUNK_MAX / MIB;
	if (byte > 0) {
		next = (goal - call) / byte;
		if (next < PAGES_SHARE * call / byte)
			next = PAGES_SHARE * call / byte;
		if (next > (GOALS_MAX * goal - call) / byte)
			next = (GOALS_MAX * goal - call) / byte;
	}
	/* One measurement is not believed beyond a factor of two. */
	last = (double)c->bytes / MIB;
	next = within(next, last / 2, last * 2);
	c->bytes = (uint64_t)(within(next, NB_CHUNK_MIN / MIB, NB_CHUNK_MAX / MIB) * MIB);
}
