/* SPDX-License-Identifier: MIT */
/*
 * The file that outlives a crash: which masks were changed, and what they were
 * before. Text, one record a line; sets are named once and then by number:
 *
 *   numabalanced masks 1
 *   boot 8d0a…                       the boot that the task numbers belong to
 *   set 0-3                          number 0
 *   set 0-1                          number 1
 *   thread PID START TID START ORIGINAL GIVEN WHOLE SINCE
 *   given PID START MASK ORIGINAL WHOLE SINCE
 *   sum 5bd1e995a3c0ffee             FNV-1a, 64 bits, of all bytes above
 *
 * Times are clock ticks since boot. Encoding and decoding are pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nb/bitmap.h"
#include "nb/snapshot.h"

#define NB_BOOT_ID_MAX 64

/* The mask of one thread. */
struct nb_state_thread {
	struct nb_key process, thread;
	uint32_t original, given; /* numbers of sets */
	bool whole;     /* it had no mask of its own: original was all that it might use */
	uint64_t since; /* when it was given */
};

/* A mask that threads of this process were given, and that its later threads and
 * children may have inherited. */
struct nb_state_given {
	struct nb_key process;
	uint32_t mask, original;
	bool whole;
	uint64_t since;
};

struct nb_state {
	char boot_id[NB_BOOT_ID_MAX];
	struct nb_bitmap *sets;
	struct nb_state_thread *threads;
	struct nb_state_given *given;
	size_t n_sets, n_threads, n_given;
	size_t cap_sets, cap_threads, cap_given;
};

void nb_state_done(struct nb_state *s);
#define _cleanup_state_ __attribute__((cleanup(nb_state_done)))

/* The number of a set that equals b. */
int nb_state_add_set(struct nb_state *s, const struct nb_bitmap *b, uint32_t *ret);
int nb_state_add_thread(struct nb_state *s, const struct nb_state_thread *t);
int nb_state_add_given(struct nb_state *s, const struct nb_state_given *g);

/* malloc()ed, NUL after ret_len bytes. */
int nb_state_encode(const struct nb_state *s, char **ret, size_t *ret_len);

/* -EBADMSG: damaged or cut off; -EPROTONOSUPPORT: of another version. */
int nb_state_decode(const char *text, size_t len, struct nb_state *ret);

/* Replaces masks.state in a directory as one step: a reader or a crash sees the old
 * file or the new one. Not synced to disk: after a crash of the kernel the tasks
 * are gone, too. */
int nb_state_write(int dir_fd, const struct nb_state *s);

/* -ENOENT: there is none. Errors of decoding as above, -ESTALE: of another boot;
 * with all three it is moved to masks.state.bad. */
int nb_state_read(int dir_fd, const char *boot_id, struct nb_state *ret);

int nb_state_remove(int dir_fd); /* 0 also when there is none */
