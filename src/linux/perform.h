/* SPDX-License-Identifier: MIT */
/* One action, from its beginning to its outcome, in the calling thread. */
#pragma once

#include "linux/bucket.h"
#include "linux/mover.h"

struct nb_perform {
	const struct nb_procfs *fs;
	struct nb_masks *masks;
	const struct nb_syscalls *sys;
	struct nb_bucket *node_bucket; /* of the destination */
	struct nb_bucket *all_bucket;
	bool (*stop)(void *arg);
	void *stop_arg;
};

/* Fills everything of the outcome but started_us and ended_us. */
void nb_perform(const struct nb_perform *p, const struct nb_job *j, struct nb_outcome *o);
