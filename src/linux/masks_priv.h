/* SPDX-License-Identifier: MIT */
/* What masks.c, masks_apply.c and masks_restore.c share. */
#pragma once

#include <pthread.h>

#include "linux/bounds.h"
#include "linux/masks.h"
#include "linux/masks_table.h"
#include "linux/procfs.h"
#include "linux/syscalls.h"

struct nb_masks {
	pthread_mutex_t lock; /* of everything below; never held while a mask is being set */
	struct nb_procfs fs;
	const struct nb_syscalls *sys;
	struct nb_mask_table table;
	char boot_id[NB_BOOT_ID_MAX];
	int dir_fd, lock_fd; /* -1: memory only */
	bool in_bulk;        /* many processes at once: the file is written at the end */
	size_t n_batches;    /* that know sets by their numbers: no pruning meanwhile */
	size_t prune_at;     /* threads in the table at which it is worth to look for the dead */
	int recover_error;
	struct nb_restore_counts recovered;
};

/* Writes the state file, or removes it when there is nothing to tell. The lock is held. */
int nb_masks_write(struct nb_masks *m);

/* The mask that a thread without a record inherited from its process or from its
 * parent, or NULL. The lock is held. */
const struct nb_state_given *nb_masks_inherited(struct nb_masks *m, struct nb_key process,
						int32_t ppid, struct nb_key thread,
						const struct nb_bitmap *current);
