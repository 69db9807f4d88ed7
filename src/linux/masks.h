/* SPDX-License-Identifier: MIT */
/*
 * The affinity masks that the daemon changed: for each thread the mask that it
 * had before and the one that it was given. Kept in a state file that is written
 * before a mask is changed, so that a crash loses nothing. Safe for several
 * threads: workers write, the sampler asks.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "linux/linux.h"
#include "nb/bitmap.h"
#include "nb/snapshot.h"

struct nb_masks;

/* state_dir NULL: memory only. Masks that an earlier daemon left in the state
 * file are put back first. root is the prefix of /proc. */
int nb_masks_new(const char *root, const char *state_dir, struct nb_masks **ret);
struct nb_masks *nb_masks_free(struct nb_masks *m); /* NULL-safe; restores nothing */

enum nb_mask_owner {
	NB_MASK_OWN,       /* never changed by us: the current mask is the thread's own */
	NB_MASK_OURS,      /* we set it, or it was inherited from a thread that we set */
	NB_MASK_OVERRULED, /* we set it, somebody else changed it since: theirs it is; forgotten */
};

/* Whose the current mask of a thread is; with NB_MASK_OURS its original mask. A
 * thread or child that was born with our mask (its process, or ppid's, is known
 * here and has been given just this mask) is adopted. */
enum nb_mask_owner nb_masks_original(struct nb_masks *m, struct nb_key process, int32_t ppid,
				     struct nb_key thread, const struct nb_bitmap *current,
				     struct nb_bitmap *ret_original);

/* Gives one thread a mask, recording first. allowed is what it would have if we
 * were not there (original ∩ effective cpuset ∩ online ∖ isolated): a wanted set
 * equal to it gives all bits back. Reads back what the kernel really set.
 * Negative errno: -ESRCH gone, -EPERM, -EINVAL, -EBUSY; then nothing is recorded. */
int nb_masks_set(struct nb_masks *m, struct nb_key process, struct nb_key thread,
		 const struct nb_bitmap *wanted);

/* Puts the original back, if the mask is still ours. */
int nb_masks_release(struct nb_masks *m, struct nb_key thread);

/* All of them, and children that were born with our masks in between; the state file is emptied. */
int nb_masks_restore_all(struct nb_masks *m, struct nb_restore_counts *ret);
