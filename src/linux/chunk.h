/* SPDX-License-Identifier: MIT */
/*
 * How much to move in one piece, so that it takes about as long as the goal says.
 *
 * A call has a price of its own, whatever its size: the kernel drains the page lists
 * of every CPU first, which on a busy or large machine takes longer than the pages.
 * Against that smaller pieces do not help, they only make more calls. So what was
 * measured is split into a part by the call and a part by the byte, and a piece is at
 * least so large that most of its time goes into pages.
 */
#pragma once

#include <stdint.h>

#define NB_CHUNK_MIN (UINT64_C(64) << 10)
#define NB_CHUNK_MAX (UINT64_C(256) << 20)

struct nb_chunk {
	uint64_t goal_us;
	uint64_t bytes; /* of the next piece */
	/* Sums over the pieces so far, older ones weigh less: in MiB and milliseconds. */
	double n, x, y, xx, xy;
	double call; /* the price of a call, milliseconds */
};

void nb_chunk_init(struct nb_chunk *c, uint64_t goal_us);

/* A piece was moved. */
void nb_chunk_measured(struct nb_chunk *c, uint64_t bytes, uint64_t us);
