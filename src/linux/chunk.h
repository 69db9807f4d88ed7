/* SPDX-License-Identifier: MIT */
/*
 * How much to move in one piece, so that it takes about as long as the goal says.
 *
 * A call has a price of its own, whatever its size: the kernel drains the page lists
 * of every CPU first, and on a busy or large machine that takes longer than the pages.
 * Against it smaller pieces do not help, they only make more calls. So what was
 * measured is split into a part by the call and a part by the byte, and a piece is at
 * least so large that most of its time goes into pages. Time that the thread waited,
 * for the draining or for a CPU, belongs to the call; time that it ran is told apart by
 * the sizes of the pieces.
 */
#pragma once

#include <stdint.h>

#define NB_CHUNK_MIN (UINT64_C(64) << 10)
#define NB_CHUNK_MAX (UINT64_C(256) << 20)

struct nb_chunk {
	uint64_t goal_us;
	uint64_t bytes; /* of the next piece */
	/* Sums over the pieces so far, older ones weigh less: MiB, and milliseconds on CPU. */
	double n, x, y, xx, xy;
	double run, wait; /* milliseconds a call costs on CPU, and off it */
};

void nb_chunk_init(struct nb_chunk *c, uint64_t goal_us);

/* A piece was moved: how long it took, and how long of that the thread ran. */
void nb_chunk_measured(struct nb_chunk *c, uint64_t bytes, uint64_t wall_us, uint64_t cpu_us);
