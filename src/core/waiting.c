/* SPDX-License-Identifier: MIT */
#include "core/waiting.h"

#include "nb/snapshot.h"

static int64_t isqrt(int64_t v)
{
	uint64_t x = (uint64_t)v, root = 0, bit;

	if (x == 0)
		return 0;
	/* the highest power of four that is not above x */
	bit = UINT64_C(1) << ((63 - __builtin_clzll(x)) & ~1);
	for (; bit; bit >>= 2) {
		if (x >= root + bit) {
			x -= root + bit;
			root = (root >> 1) + bit;
		} else {
			root >>= 1;
		}
	}
	return (int64_t)root;
}

/* L(z) in millionths, z ≥ 0 in 1/1024; computed at steps of 1/8. */
static int64_t loss(int64_t z)
{
	static const int32_t table[] = {
		398942, 339555, 286345, 239169, 197797, 161920, 131167, 105116, 83315,
		65295, 50587, 38734, 29307, 21906, 16174, 11793, 8491, 6035, 4235, 2933,
		2004, 1352, 899, 590, 382, 244, 154, 95, 58, 35, 21, 12, 7, 4, 2, 1, 1, 0, 0,
	};
	int64_t i = z / 128, part = z % 128;

	if (i >= (int64_t)(sizeof(table) / sizeof(*table)) - 1)
		return 0;
	return table[i] - (table[i] - table[i + 1]) * part / 128;
}

void nb_load_add_task(struct nb_load *l, uint64_t runnable_cap)
{
	int64_t p = runnable_cap >= NB_ALWAYS_CAP ? NB_CPU_CAP : (int64_t)runnable_cap;

	l->mean_cap += p;
	l->variance += p * (NB_CPU_CAP - p);
	l->n += p >= NB_ACTIVE_CAP;
}

void nb_load_add(struct nb_load *l, const struct nb_load *other)
{
	l->mean_cap += other->mean_cap;
	l->variance += other->variance;
	l->n += other->n;
}

void nb_load_sub(struct nb_load *l, const struct nb_load *other)
{
	l->mean_cap -= other->mean_cap;
	l->variance -= other->variance;
	l->n -= other->n;
}

int64_t nb_load_waiting_cap(const struct nb_load *l, uint32_t n_cpus)
{
	int64_t over = l->mean_cap - (int64_t)n_cpus * NB_CPU_CAP, sigma, z;

	if (l->n <= (int64_t)n_cpus)
		return over > 0 ? over : 0;
	sigma = l->variance > 0 ? isqrt(l->variance) : 0;
	if (sigma == 0)
		return over > 0 ? over : 0;
	z = -over * 1024 / sigma;
	if (z >= 0)
		return sigma * loss(z) / 1000000;
	/* L(-z) = L(z) + z */
	return over + sigma * loss(-z) / 1000000;
}
