/* SPDX-License-Identifier: MIT */
/*
 * The sampler: fills a snapshot from /proc and /sys below a root prefix. Not safe
 * for several threads; only the memory cache (linux/memory.h) may be told of
 * moves by other threads.
 *
 * A process that is too small to be a unit is read as a whole: it has one thread
 * entry whose key is {minus its pid, its start}, run time from utime and stime,
 * and no mask. The key differs from the main thread's so that the two counters
 * are never subtracted from each other when the process grows.
 */
#pragma once

#include "linux/masks.h"
#include "linux/memory.h"
#include "nb/config.h"
#include "nb/snapshot.h"

struct nb_sampler;

/* root "" is the live machine, anything else a dump. masks NULL: no mask was ever
 * changed; otherwise it is borrowed and must live longer. */
int nb_sampler_new(const char *root, struct nb_masks *masks, struct nb_sampler **ret);
struct nb_sampler *nb_sampler_free(struct nb_sampler *s); /* NULL-safe, returns NULL */

/* One sample. Live, at_us is CLOCK_MONOTONIC; in a dump it is the number in the
 * file at_us of its root, or 0. -ENOMEM: drop the tick, the next one may work. */
int nb_sampler_sample(struct nb_sampler *s, const struct nb_config *c, struct nb_snapshot *snap);

/* Where memory of processes is remembered; lives as long as the sampler. */
struct nb_memory *nb_sampler_memory(struct nb_sampler *s);

static inline void nb_sampler_freep(struct nb_sampler **s)
{
	nb_sampler_free(*s);
}
#define _cleanup_sampler_ __attribute__((cleanup(nb_sampler_freep)))
