/* SPDX-License-Identifier: MIT */
#include "linux/memory_due.h"

#include <stdlib.h>

/* A little under whole seconds: ticks come a bit early or late. */
#define OLD_US 4900000u /* where the configuration says nothing */
#define SLEPT_US 60000000u
#define SLEPT_NS 50000000u /* of all its threads together, since it was read */
#define MISPLACED_US 1900000u
#define FOLLOW_EACH_US 400000u /* below the shortest useful interval, 0.5 s */
#define FOLLOW_US 4000000u
#define SHARE 100            /* one part in so many of the time */
#define BOUND_US 900000u     /* a tick */
#define BOUND_COST_US 50000u /* a dearer one waits its turn */
/* What is spent early, when all is new, is paid back later: 1 % holds over a minute. */
#define CREDIT_MAX_US 500000 /* saved up in 50 s */
#define CREDIT_START_US 400000
#define DEBT_MAX_US 600000 /* paid back in 60 s */
#define FOLLOW_DEBT_US 400000
#define TICK_US 250000u

static bool slept(const struct nb_memory_seen *seen, const struct nb_memory_now *now)
{
	/* Less than before: a thread that ended took its time with it. */
	return now->run_ns >= seen->run_ns && now->run_ns - seen->run_ns < SLEPT_NS;
}

enum nb_memory_urgency nb_memory_urgency(const struct nb_memory_seen *seen,
					 const struct nb_memory_now *now)
{
	uint64_t age = now->at_us - seen->tried_us, change;
	uint64_t old = now->old_us ? now->old_us - now->old_us / 50 : OLD_US;

	if (seen->holds > 0)
		return NB_MEMORY_NOT_NOW;
	if (seen->touched)
		return NB_MEMORY_TOUCHED;
	/* tried, but there was no answer: refused, or it has too few pages to tell */
	if (!seen->valid && seen->tried_us)
		return age >= OLD_US ? NB_MEMORY_OLD : NB_MEMORY_NOT_NOW;
	if (!seen->valid)
		return NB_MEMORY_FIRST;
	if (seen->follow_us && now->at_us - seen->follow_us <= FOLLOW_US && age >= FOLLOW_EACH_US)
		return NB_MEMORY_FOLLOW;
	/* Start-up code binds, then releases: only another read shows it. */
	if (now->bound_young && age >= BOUND_US && seen->cost_us <= BOUND_COST_US)
		return NB_MEMORY_FOLLOW;
	/* Its own page faults move and add pages: without them little changes. */
	if (slept(seen, now))
		old = SLEPT_US;
	else if (now->misplaced && age >= MISPLACED_US)
		return NB_MEMORY_FOLLOW;
	/* No process takes more than its share, however few there are. */
	if (old < seen->cost_us * SHARE)
		old = seen->cost_us * SHARE;
	change = now->anon_bytes > seen->anon_bytes ? now->anon_bytes - seen->anon_bytes
						    : seen->anon_bytes - now->anon_bytes;
	if (change > seen->anon_bytes / 20 && age > 0)
		return NB_MEMORY_CHANGED;
	return age >= old ? NB_MEMORY_OLD : NB_MEMORY_NOT_NOW;
}

static int compare(const void *a, const void *b)
{
	const struct nb_memory_due *x = a, *y = b;

	if (x->urgency != y->urgency)
		return x->urgency > y->urgency ? -1 : 1;
	if (x->urgency == NB_MEMORY_FIRST && x->anon_bytes != y->anon_bytes)
		return x->anon_bytes > y->anon_bytes ? -1 : 1;
	if (x->seen.tried_us != y->seen.tried_us)
		return x->seen.tried_us < y->seen.tried_us ? -1 : 1;
	return (x->process > y->process) - (x->process < y->process);
}

void nb_memory_due_sort(struct nb_memory_due *due, uint32_t n)
{
	if (n > 1)
		qsort(due, n, sizeof(*due), compare);
}

void nb_memory_tick(struct nb_memory_budget *b, uint64_t now_us)
{
	b->credit_us =
		b->begun ? b->credit_us + (int64_t)((now_us - b->at_us) / SHARE) : CREDIT_START_US;
	if (b->credit_us > CREDIT_MAX_US)
		b->credit_us = CREDIT_MAX_US;
	b->begun = true;
	b->at_us = now_us;
	b->tick_us = 0;
}

bool nb_memory_affords(const struct nb_memory_budget *b, enum nb_memory_urgency urgency)
{
	switch (urgency) {
	case NB_MEMORY_NOT_NOW:
		return false;
	case NB_MEMORY_OLD:
	case NB_MEMORY_CHANGED:
		return b->credit_us > 0 && b->tick_us < TICK_US;
	case NB_MEMORY_FOLLOW:
		return b->credit_us > -FOLLOW_DEBT_US && b->tick_us < TICK_US;
	case NB_MEMORY_FIRST:
	case NB_MEMORY_TOUCHED:
		return b->tick_us < TICK_US;
	}
	return false;
}

void nb_memory_spent(struct nb_memory_budget *b, uint64_t cpu_us, uint64_t wall_us)
{
	b->tick_us += wall_us;
	b->credit_us -= (int64_t)cpu_us;
	if (b->credit_us < -DEBT_MAX_US)
		b->credit_us = -DEBT_MAX_US;
}
