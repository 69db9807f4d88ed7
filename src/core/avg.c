/* SPDX-License-Identifier: MIT */
#include "core/avg.h"

uint32_t nb_decay(uint64_t dt_us, uint64_t half_life_us)
{
	/* 65536 × 2^(-i/32) */
	static const uint32_t table[33] = {
		65536, 64132, 62757, 61413, 60097, 58809, 57549, 56316, 55109, 53928, 52773,
		51642, 50535, 49452, 48393, 47356, 46341, 45348, 44376, 43425, 42495, 41584,
		40693, 39821, 38968, 38133, 37316, 36516, 35734, 34968, 34219, 33486, 32768,
	};
	uint64_t halvings, rest, step, part;

	if (half_life_us == 0)
		return 0;
	halvings = dt_us / half_life_us;
	if (halvings >= 17)
		return 0;
	rest = dt_us % half_life_us * 32;
	step = rest / half_life_us;
	part = rest % half_life_us * 1024 / half_life_us;
	return (uint32_t)((table[step] - (table[step] - table[step + 1]) * part / 1024) >> halvings);
}

static uint64_t shrink(uint64_t sum, uint32_t decay)
{
	return sum / NB_DECAY_ONE * decay + sum % NB_DECAY_ONE * decay / NB_DECAY_ONE;
}

void nb_avg_add(struct nb_avg *a, uint64_t value, uint32_t decay)
{
	uint32_t weight = NB_DECAY_ONE - decay;

	a->sum = shrink(a->sum, decay) + value * weight;
	a->weight = shrink(a->weight, decay) + (uint64_t)NB_DECAY_ONE * weight;
}

uint64_t nb_avg_value(const struct nb_avg *a)
{
	if (a->weight == 0)
		return 0;
	return (uint64_t)(((unsigned __int128)a->sum * NB_DECAY_ONE + a->weight / 2) / a->weight);
}
