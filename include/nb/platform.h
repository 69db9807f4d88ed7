/* SPDX-License-Identifier: MIT */
/*
 * The machine behind a few verbs. Linux, the simulator, a recorded trace, and
 * "null" (which samples through another platform and does nothing: the dry run)
 * implement them; the logic above has no `if` for any of these.
 *
 * start() is asynchronous and never blocks: it hands the action to a worker.
 * Each started action yields exactly one outcome from next_outcome(), in the
 * order in which they end. event_fd() becomes readable when there is one.
 */
#pragma once

#include <stdint.h>

#include "nb/config.h"
#include "nb/plan.h"
#include "nb/snapshot.h"

struct nb_platform; /* each platform embeds it as its first member */

struct nb_platform_ops {
	const char *name;
	int (*sample)(struct nb_platform *p, const struct nb_config *c, struct nb_snapshot *s);
	/* -EAGAIN: that worker's queue is full, plan it again later. Otherwise 0. */
	int (*start)(struct nb_platform *p, const struct nb_config *c, const struct nb_snapshot *s,
		     const struct nb_action *a);
	int (*next_outcome)(struct nb_platform *p, struct nb_outcome *ret); /* 1: one, 0: none now */
	int (*event_fd)(struct nb_platform *p); /* -1: there is none, poll next_outcome() */
	/* Stops the workers between chunks, puts every changed mask back. */
	int (*restore)(struct nb_platform *p);
	struct nb_platform *(*free)(struct nb_platform *p);
};

struct nb_platform {
	const struct nb_platform_ops *ops;
};
