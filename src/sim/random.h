/* SPDX-License-Identifier: MIT */
/* Numbers that are the same on every machine: splitmix64 (Steele, Lea, Flood 2014). */
#pragma once

#include <stdint.h>

struct nb_random {
	uint64_t state;
};

static inline uint64_t nb_random_next(struct nb_random *r)
{
	uint64_t z = r->state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

/* 0 to below - 1; the bias is below 2^-32 for what is counted here. below > 0. */
static inline uint64_t nb_random_below(struct nb_random *r, uint64_t below)
{
	return (uint64_t)(((unsigned __int128)nb_random_next(r) * below) >> 64);
}
