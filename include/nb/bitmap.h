/* SPDX-License-Identifier: MIT */
/*
 * Sets of small numbers: CPUs (the kernel's ids) and nodes (dense indexes).
 *
 * A zero-initialised bitmap is the empty set. It grows on demand, so neither
 * 64 nodes nor 1,024 CPUs is a limit; words beyond n_words are zero. The owner
 * calls nb_bitmap_done(). Functions that may grow return 0 or -ENOMEM, and
 * leave the set as it was on failure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NB_BITMAP_MAX_BITS (1u << 16) /* far above the kernel's NR_CPUS limit of 8,192 */

struct nb_bitmap {
	uint64_t *words;
	uint32_t n_words;
};

int nb_bitmap_set(struct nb_bitmap *b, unsigned bit); /* also -ERANGE */
void nb_bitmap_clear(struct nb_bitmap *b, unsigned bit);
bool nb_bitmap_test(const struct nb_bitmap *b, unsigned bit);
void nb_bitmap_zero(struct nb_bitmap *b); /* empties, keeps the memory */
void nb_bitmap_done(struct nb_bitmap *b); /* frees, leaves the empty set */

int nb_bitmap_copy(struct nb_bitmap *dst, const struct nb_bitmap *src);
int nb_bitmap_or(struct nb_bitmap *dst, const struct nb_bitmap *src);
void nb_bitmap_and(struct nb_bitmap *dst, const struct nb_bitmap *src);
void nb_bitmap_andnot(struct nb_bitmap *dst, const struct nb_bitmap *src);

bool nb_bitmap_empty(const struct nb_bitmap *b);
bool nb_bitmap_equal(const struct nb_bitmap *a, const struct nb_bitmap *b);
bool nb_bitmap_subset(const struct nb_bitmap *a, const struct nb_bitmap *of);
bool nb_bitmap_intersects(const struct nb_bitmap *a, const struct nb_bitmap *b);
unsigned nb_bitmap_weight(const struct nb_bitmap *b);
uint64_t nb_bitmap_hash(const struct nb_bitmap *b); /* equal sets, equal hash */

/* The lowest member >= from, or -1. */
int nb_bitmap_next(const struct nb_bitmap *b, unsigned from);

#define NB_BITMAP_FOREACH(bit, b) \
	for (int bit = nb_bitmap_next((b), 0); bit >= 0; bit = nb_bitmap_next((b), (unsigned)bit + 1))

/*
 * The kernel's list form: "0-3,8,16-31:2/4", with blanks and a newline around
 * it; an empty text is the empty set. Replaces dst. -EINVAL on anything else
 * (dst untouched), -ERANGE above NB_BITMAP_MAX_BITS.
 */
int nb_bitmap_parse_list(struct nb_bitmap *dst, const char *text, size_t len);

/* Writes "0-3,8" and a NUL; returns the length it needs, as snprintf does. */
int nb_bitmap_format_list(const struct nb_bitmap *b, char *buf, size_t size);

static inline void nb_bitmap_donep(struct nb_bitmap *b)
{
	nb_bitmap_done(b);
}
#define _cleanup_bitmap_ __attribute__((cleanup(nb_bitmap_donep)))
