/* SPDX-License-Identifier: MIT */
#include "test.h"

#include "linux/memory_due.h"

#define S(n) ((uint64_t)(n)*1000000)
#define MB(n) ((uint64_t)(n) << 20)

static struct nb_memory_seen read_at(uint64_t at_us)
{
	return (struct nb_memory_seen){.valid = true,
				       .at_us = at_us,
				       .tried_us = at_us,
				       .cost_us = 2000,
				       .anon_bytes = MB(100)};
}

/* Of a process that ran since. */
static enum nb_memory_urgency urgency(const struct nb_memory_seen *seen, uint64_t now_us,
				      uint64_t anon_bytes, bool misplaced)
{
	struct nb_memory_now now = {.at_us = now_us,
				    .anon_bytes = anon_bytes,
				    .run_ns = seen->run_ns + 500000000,
				    .misplaced = misplaced};

	return nb_memory_urgency(seen, &now);
}

TEST(when_to_read_again)
{
	struct nb_memory_seen seen = read_at(S(100)), fresh = {};

	CHECK_INT(urgency(&fresh, S(100), MB(100), false), NB_MEMORY_FIRST);
	CHECK_INT(urgency(&seen, S(101), MB(100), false), NB_MEMORY_NOT_NOW);
	CHECK_INT(urgency(&seen, S(104), MB(100), false), NB_MEMORY_NOT_NOW);
	CHECK_INT(urgency(&seen, S(105), MB(100), false), NB_MEMORY_OLD);
	CHECK_INT(urgency(&seen, S(101), MB(104), false), NB_MEMORY_NOT_NOW);
	CHECK_INT(urgency(&seen, S(101), MB(106), false), NB_MEMORY_CHANGED);
	CHECK_INT(urgency(&seen, S(101), MB(94), false), NB_MEMORY_CHANGED);
	CHECK_INT(urgency(&seen, S(101), MB(100), true), NB_MEMORY_NOT_NOW);
	CHECK_INT(urgency(&seen, S(102), MB(100), true), NB_MEMORY_FOLLOW);
}

/* Start-up code binds and releases: the release is seen soon, unless a look is dear. */
TEST(young_and_bound_is_looked_at_again)
{
	struct nb_memory_seen seen = read_at(S(100));
	struct nb_memory_now now = {
		.at_us = S(101), .anon_bytes = MB(100), .run_ns = S(1) * 1000, .bound_young = true};

	CHECK_INT(nb_memory_urgency(&seen, &now), NB_MEMORY_FOLLOW);
	seen.cost_us = 60000;
	CHECK_INT(nb_memory_urgency(&seen, &now), NB_MEMORY_NOT_NOW);
}

/* max_interval of the configuration. */
TEST(reads_stretch_as_configured)
{
	struct nb_memory_seen seen = read_at(S(100));
	struct nb_memory_now now = {
		.at_us = S(110), .anon_bytes = MB(100), .run_ns = S(1) * 1000, .old_us = S(20)};

	CHECK_INT(nb_memory_urgency(&seen, &now), NB_MEMORY_NOT_NOW);
	now.at_us = S(120);
	CHECK_INT(nb_memory_urgency(&seen, &now), NB_MEMORY_OLD);
}

/* E01: a process of 200 GB that costs 20 ms a GB. */
TEST(expensive_ones_wait_longer)
{
	struct nb_memory_seen seen = read_at(S(1000));

	seen.cost_us = 4000000;
	CHECK_INT(urgency(&seen, S(1010), MB(100), false), NB_MEMORY_NOT_NOW);
	CHECK_INT(urgency(&seen, S(1399), MB(100), false), NB_MEMORY_NOT_NOW);
	CHECK_INT(urgency(&seen, S(1400), MB(100), false), NB_MEMORY_OLD);
}

/* One that sleeps keeps what it has, wherever its threads were last. */
TEST(sleepers_are_left_alone)
{
	struct nb_memory_seen seen = read_at(S(100));
	struct nb_memory_now now = {.at_us = S(110), .anon_bytes = MB(100), .run_ns = 1000};

	CHECK_INT(nb_memory_urgency(&seen, &now), NB_MEMORY_NOT_NOW);
	now.misplaced = true;
	CHECK_INT(nb_memory_urgency(&seen, &now), NB_MEMORY_NOT_NOW);
	now.anon_bytes = MB(120);
	CHECK_INT(nb_memory_urgency(&seen, &now), NB_MEMORY_CHANGED);
	now.anon_bytes = MB(100);
	now.at_us = S(160);
	CHECK_INT(nb_memory_urgency(&seen, &now), NB_MEMORY_OLD);
	/* less run time than before: a thread ended, nothing is known */
	seen.run_ns = 2000;
	now.at_us = S(110);
	CHECK_INT(nb_memory_urgency(&seen, &now), NB_MEMORY_FOLLOW);
}

TEST(after_an_action)
{
	struct nb_memory_seen seen = read_at(S(100));

	seen.holds = 1;
	CHECK_INT(urgency(&seen, S(200), MB(500), true), NB_MEMORY_NOT_NOW);
	seen.touched = true;
	CHECK_INT(urgency(&seen, S(200), MB(500), true), NB_MEMORY_NOT_NOW);
	seen.holds = 0;
	CHECK_INT(urgency(&seen, S(200), MB(100), false), NB_MEMORY_TOUCHED);
	/* read at once, then followed each tick for some seconds */
	seen = read_at(S(200));
	seen.follow_us = S(200);
	CHECK_INT(urgency(&seen, S(201), MB(100), false), NB_MEMORY_FOLLOW);
	seen.tried_us = S(203);
	CHECK_INT(urgency(&seen, S(204), MB(100), false), NB_MEMORY_FOLLOW);
	seen.tried_us = S(204);
	CHECK_INT(urgency(&seen, S(205), MB(100), false), NB_MEMORY_NOT_NOW);
}

TEST(refused_is_not_asked_each_tick)
{
	struct nb_memory_seen seen = {.tried_us = S(100), .anon_bytes = MB(100)};

	CHECK_INT(urgency(&seen, S(101), MB(200), true), NB_MEMORY_NOT_NOW);
	CHECK_INT(urgency(&seen, S(106), MB(200), true), NB_MEMORY_OLD);
}

TEST(order)
{
	struct nb_memory_due due[] = {
		{.process = 0, .urgency = NB_MEMORY_OLD, .seen = {.tried_us = 5}},
		{.process = 1, .urgency = NB_MEMORY_FIRST, .anon_bytes = 7},
		{.process = 2, .urgency = NB_MEMORY_OLD, .seen = {.tried_us = 3}},
		{.process = 3, .urgency = NB_MEMORY_FIRST, .anon_bytes = 9},
		{.process = 4, .urgency = NB_MEMORY_NOT_NOW},
		{.process = 5, .urgency = NB_MEMORY_TOUCHED, .seen = {.tried_us = 9}},
		{.process = 6, .urgency = NB_MEMORY_OLD, .seen = {.tried_us = 3}},
		{.process = 7, .urgency = NB_MEMORY_FOLLOW},
	};
	static const uint32_t wanted[] = {5, 3, 1, 7, 2, 6, 0, 4};

	nb_memory_due_sort(due, 8);
	for (unsigned i = 0; i < 8; i++)
		CHECK_INT(due[i].process, wanted[i]);
}

/* E01: whatever there is to read, it takes one percent of the time in the long run. */
TEST(budget_is_one_percent)
{
	struct nb_memory_budget b = {};
	uint64_t spent = 0;

	for (unsigned second = 1; second <= 1000; second++) {
		nb_memory_tick(&b, S(second));
		while (nb_memory_affords(&b, NB_MEMORY_OLD)) {
			nb_memory_spent(&b, 7000, 10000);
			spent += 7000;
		}
	}
	CHECK(spent > S(9));
	CHECK(spent < S(11));
}

TEST(budget_lets_new_ones_in)
{
	struct nb_memory_budget b = {};
	unsigned first = 0;

	nb_memory_tick(&b, S(1));
	nb_memory_spent(&b, 450000, 150000);
	CHECK(!nb_memory_affords(&b, NB_MEMORY_OLD));
	CHECK(nb_memory_affords(&b, NB_MEMORY_FOLLOW));
	CHECK(nb_memory_affords(&b, NB_MEMORY_FIRST));
	/* but no tick takes for ever: the watchdog and everybody else wait */
	while (nb_memory_affords(&b, NB_MEMORY_FIRST) && first < 1000) {
		nb_memory_spent(&b, 40000, 10000);
		first++;
	}
	CHECK_INT(first, 10);
	CHECK(!nb_memory_affords(&b, NB_MEMORY_TOUCHED));
	nb_memory_tick(&b, S(2));
	CHECK(nb_memory_affords(&b, NB_MEMORY_TOUCHED));
	CHECK(!nb_memory_affords(&b, NB_MEMORY_FOLLOW));
	CHECK(!nb_memory_affords(&b, NB_MEMORY_NOT_NOW));
	/* nor by waiting, whatever is left of the credit */
	nb_memory_tick(&b, S(62));
	nb_memory_spent(&b, 1, 300000);
	CHECK(!nb_memory_affords(&b, NB_MEMORY_OLD));
	CHECK(!nb_memory_affords(&b, NB_MEMORY_FOLLOW));
	nb_memory_tick(&b, S(63));
	nb_memory_spent(&b, 900000, 1000);
	/* the debt is bounded */
	nb_memory_tick(&b, S(93));
	CHECK(!nb_memory_affords(&b, NB_MEMORY_OLD));
	nb_memory_tick(&b, S(125));
	CHECK(nb_memory_affords(&b, NB_MEMORY_OLD));
}
