/* SPDX-License-Identifier: MIT */
/*
 * The affinity masks that the daemon changed: for each thread the mask that it
 * had before and the one that it was given. Kept in a state file that is written
 * before a mask is changed, so that a crash loses nothing. Safe for several
 * threads: workers write, the sampler asks.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "linux/linux.h"
#include "nb/bitmap.h"
#include "nb/snapshot.h"

struct nb_masks;
struct nb_syscalls;

/* state_dir NULL: memory only. Masks that an earlier daemon left in the state
 * file are put back first. root is the prefix of /proc. -EBUSY: another daemon
 * that is alive works with this folder. */
int nb_masks_new(const char *root, const char *state_dir, struct nb_masks **ret);
struct nb_masks *nb_masks_free(struct nb_masks *m); /* NULL-safe; restores nothing */

/* What was found at the start: 0 and the counts, or why the file that was there was
 * not trusted: -EBADMSG damaged, -EPROTONOSUPPORT of another version, -ESTALE of an
 * earlier boot. Such a file is kept beside it as masks.state.bad. */
int nb_masks_recovered(const struct nb_masks *m, struct nb_restore_counts *ret);

/* For tests; before anything else is done with m. */
void nb_masks_set_syscalls(struct nb_masks *m, const struct nb_syscalls *sys);

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

/* One thread of a batch, and what became of it. */
struct nb_mask_item {
	struct nb_key thread;
	int error; /* 0, or negative: -ESRCH gone, -EPERM, -EINVAL no CPU of `wanted` is its own,
		    * -EBUSY: the kernel said so, or its owner overruled our mask (forgotten) */
};

/* Gives threads of one process a mask, each within its own original one and what its
 * cpuset allows (effective, on line, not isolated). All are recorded, the state file
 * is written once, then the masks are set, and what the kernel really set is read
 * back. A thread for which `wanted` takes nothing away gets all its bits back
 * instead. wanted NULL: the originals are put back; a thread without a mask of ours
 * is left alone.
 * 0, even if every item failed; negative, and nothing was changed: -ESRCH the process
 * is gone, -ENOMEM, or the state file cannot be written. */
int nb_masks_apply(struct nb_masks *m, struct nb_key process, const struct nb_bitmap *wanted,
		   struct nb_mask_item *items, size_t n);

/* The same for one thread; returns its error. */
int nb_masks_set(struct nb_masks *m, struct nb_key process, struct nb_key thread,
		 const struct nb_bitmap *wanted);

/* Puts the original of one thread back, if the mask is still ours (else -EBUSY). */
int nb_masks_release(struct nb_masks *m, struct nb_key thread);

/* All of them, and children that were born with our masks in between; the state file
 * is removed. Those that failed stay recorded. */
int nb_masks_restore_all(struct nb_masks *m, struct nb_restore_counts *ret);
