/* SPDX-License-Identifier: MIT */
#include "test.h"

#include "linux/chunk.h"

#define MB (UINT64_C(1) << 20)

/* A machine: a call takes call_us, a MiB byte_us more, and now and then it waits. */
static uint64_t settle(uint64_t goal_us, uint64_t call_us, uint64_t mb_us, uint64_t noise_us,
		       bool waits)
{
	struct nb_chunk c;
	uint64_t sum = 0;

	nb_chunk_init(&c, goal_us);
	for (unsigned i = 0; i < 200; i++) {
		uint64_t byte_us = c.bytes * mb_us / MB;
		uint64_t wait_us = i * 7919 % 13 < 4 ? noise_us : 0;

		if (i >= 100)
			sum += c.bytes;
		nb_chunk_measured(&c, c.bytes, call_us + byte_us + wait_us,
				  byte_us + (waits ? 0 : call_us));
	}
	return sum / 100;
}

#define CHECK_BETWEEN(v, low, high) \
	do { \
		uint64_t v_ = (v); \
		if (v_ < (low) || v_ > (high)) \
			test_fail(__FILE__, __LINE__, "%s is %" PRIu64 " KiB", #v, v_ >> 10); \
	} while (0)

TEST(chunk_meets_the_goal)
{
	for (int waits = 0; waits < 2; waits++) {
		/* 230 MB/s, as measured, and calls for nothing: 50 ms are some 11 MiB. */
		CHECK_BETWEEN(settle(50000, 0, 4350, 0, waits), 8 * MB, 14 * MB);
		/* Slow memory (C09): 3 s a GiB. */
		CHECK_BETWEEN(settle(50000, 0, 3000, 0, waits), 12 * MB, 20 * MB);
		CHECK_BETWEEN(settle(50000, 0, 250000, 0, waits), MB / 8, MB / 3);
		/* Within the bounds, whatever is asked. */
		CHECK_BETWEEN(settle(1, 0, 4350, 0, waits), NB_CHUNK_MIN, NB_CHUNK_MIN);
		CHECK_BETWEEN(settle(10000000, 0, 1, 0, waits), NB_CHUNK_MAX, NB_CHUNK_MAX);
		CHECK_BETWEEN(settle(0, 0, 0, 0, waits), NB_CHUNK_MIN, NB_CHUNK_MAX);
	}
}

/* Calls that are dear: smaller pieces would only make more of them. */
TEST(chunk_price_of_a_call)
{
	for (int waits = 0; waits < 2; waits++) {
		CHECK_BETWEEN(settle(50000, 25000, 4350, 0, waits), 8 * MB, 16 * MB);
		CHECK_BETWEEN(settle(50000, 60000, 4350, 0, waits), 16 * MB, 36 * MB);
		CHECK_BETWEEN(settle(50000, 150000, 4350, 0, waits), 7 * MB,
			      24 * MB); /* four goals at most */
	}
}

/* Waiting for a CPU comes and goes. */
TEST(chunk_noise)
{
	for (int waits = 0; waits < 2; waits++) {
		CHECK_BETWEEN(settle(50000, 0, 4350, 20000, waits), 4 * MB, 24 * MB);
		CHECK_BETWEEN(settle(50000, 10000, 4350, 40000, waits), 3 * MB, 46 * MB);
	}
}

TEST(chunk_nothing_measured)
{
	struct nb_chunk c;
	uint64_t before;

	nb_chunk_init(&c, 50000);
	before = c.bytes;
	nb_chunk_measured(&c, 0, 1000000, 1000000);
	CHECK_INT(c.bytes, before);
}
