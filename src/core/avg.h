/* SPDX-License-Identifier: MIT */
/*
 * Exponentially decayed means of interval means, in integers.
 *
 * The value of an interval of length dt weighs 1 - 2^(-dt/half_life), the
 * integral of the decay kernel over it, and what came before shrinks by
 * 2^(-dt/half_life). Dividing by the sum of weights makes the first interval's
 * mean the first average, so there is no slow start from zero.
 */
#pragma once

#include <stdint.h>

#define NB_DECAY_ONE 65536u

struct nb_avg {
	uint64_t sum;    /* Σ value × weight */
	uint64_t weight; /* Σ NB_DECAY_ONE × weight: rounded as the sum is */
};

/* 2^(-dt/half_life) in 1/65536. A half-life of 0 keeps nothing. */
uint32_t nb_decay(uint64_t dt_us, uint64_t half_life_us);

void nb_avg_add(struct nb_avg *a, uint64_t value, uint32_t decay);
uint64_t nb_avg_value(const struct nb_avg *a); /* 0 when nothing was added */
