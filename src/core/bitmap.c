/* SPDX-License-Identifier: MIT */
#include "nb/bitmap.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int grow(struct nb_bitmap *b, uint32_t n_words)
{
	uint64_t *words;

	if (n_words <= b->n_words)
		return 0;
	words = realloc(b->words, n_words * sizeof(*words));
	if (!words)
		return -ENOMEM;
	memset(words + b->n_words, 0, (n_words - b->n_words) * sizeof(*words));
	b->words = words;
	b->n_words = n_words;
	return 0;
}

static uint64_t word(const struct nb_bitmap *b, uint32_t i)
{
	return i < b->n_words ? b->words[i] : 0;
}

static uint32_t used_words(const struct nb_bitmap *b)
{
	uint32_t n = b->n_words;

	while (n > 0 && b->words[n - 1] == 0)
		n--;
	return n;
}

int nb_bitmap_set(struct nb_bitmap *b, unsigned bit)
{
	int r;

	if (bit >= NB_BITMAP_MAX_BITS)
		return -ERANGE;
	r = grow(b, bit / 64 + 1);
	if (r < 0)
		return r;
	b->words[bit / 64] |= UINT64_C(1) << (bit % 64);
	return 0;
}

void nb_bitmap_clear(struct nb_bitmap *b, unsigned bit)
{
	if (bit / 64 < b->n_words)
		b->words[bit / 64] &= ~(UINT64_C(1) << (bit % 64));
}

bool nb_bitmap_test(const struct nb_bitmap *b, unsigned bit)
{
	return word(b, bit / 64) >> (bit % 64) & 1;
}

void nb_bitmap_zero(struct nb_bitmap *b)
{
	if (b->n_words > 0)
		memset(b->words, 0, b->n_words * sizeof(*b->words));
}

void nb_bitmap_done(struct nb_bitmap *b)
{
	free(b->words);
	*b = (struct nb_bitmap){0};
}

int nb_bitmap_copy(struct nb_bitmap *dst, const struct nb_bitmap *src)
{
	uint32_t n = used_words(src);
	int r;

	if (dst == src)
		return 0;
	r = grow(dst, n);
	if (r < 0)
		return r;
	nb_bitmap_zero(dst);
	if (n > 0)
		memcpy(dst->words, src->words, n * sizeof(*dst->words));
	return 0;
}

int nb_bitmap_or(struct nb_bitmap *dst, const struct nb_bitmap *src)
{
	uint32_t n = used_words(src);
	int r = grow(dst, n);

	if (r < 0)
		return r;
	for (uint32_t i = 0; i < n; i++)
		dst->words[i] |= src->words[i];
	return 0;
}

void nb_bitmap_and(struct nb_bitmap *dst, const struct nb_bitmap *src)
{
	for (uint32_t i = 0; i < dst->n_words; i++)
		dst->words[i] &= word(src, i);
}

void nb_bitmap_andnot(struct nb_bitmap *dst, const struct nb_bitmap *src)
{
	for (uint32_t i = 0; i < dst->n_words; i++)
		dst->words[i] &= ~word(src, i);
}

bool nb_bitmap_empty(const struct nb_bitmap *b)
{
	return used_words(b) == 0;
}

bool nb_bitmap_equal(const struct nb_bitmap *a, const struct nb_bitmap *b)
{
	uint32_t n = used_words(a);

	return n == used_words(b) && (n == 0 || memcmp(a->words, b->words, n * sizeof(*a->words)) == 0);
}

bool nb_bitmap_subset(const struct nb_bitmap *a, const struct nb_bitmap *of)
{
	for (uint32_t i = 0; i < a->n_words; i++)
		if (a->words[i] & ~word(of, i))
			return false;
	return true;
}

bool nb_bitmap_intersects(const struct nb_bitmap *a, const struct nb_bitmap *b)
{
	for (uint32_t i = 0; i < a->n_words; i++)
		if (a->words[i] & word(b, i))
			return true;
	return false;
}

unsigned nb_bitmap_weight(const struct nb_bitmap *b)
{
	unsigned n = 0;

	for (uint32_t i = 0; i < b->n_words; i++)
		n += (unsigned)__builtin_popcountll(b->words[i]);
	return n;
}

uint64_t nb_bitmap_hash(const struct nb_bitmap *b)
{
	uint32_t n = used_words(b);
	uint64_t h = UINT64_C(0x9e3779b97f4a7c15) + n;

	for (uint32_t i = 0; i < n; i++) {
		h = (h ^ b->words[i]) * UINT64_C(0xff51afd7ed558ccd);
		h ^= h >> 32;
	}
	return h;
}

int nb_bitmap_next(const struct nb_bitmap *b, unsigned from)
{
	uint32_t i = from / 64;
	uint64_t w;

	if (i >= b->n_words)
		return -1;
	w = b->words[i] & (~UINT64_C(0) << (from % 64));
	while (w == 0) {
		if (++i >= b->n_words)
			return -1;
		w = b->words[i];
	}
	return (int)(i * 64 + (unsigned)__builtin_ctzll(w));
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\0';
}

/* A decimal number below NB_BITMAP_MAX_BITS. */
static int parse_number(const char **p, const char *end, unsigned *ret)
{
	unsigned n = 0;
	const char *start = *p;

	for (; *p < end && **p >= '0' && **p <= '9'; (*p)++) {
		n = n * 10 + (unsigned)(**p - '0');
		if (n >= NB_BITMAP_MAX_BITS)
			return -ERANGE;
	}
	if (*p == start)
		return -EINVAL;
	*ret = n;
	return 0;
}

static bool skip_char(const char **p, const char *end, char c)
{
	if (*p == end || **p != c)
		return false;
	(*p)++;
	return true;
}

/* "A", "A-B" or "A-B:USED/GROUP": of each GROUP numbers the first USED. */
static int parse_range(const char **p, const char *end, struct nb_bitmap *into)
{
	unsigned first, last, used = 1, group = 1;
	int r;

	r = parse_number(p, end, &first);
	if (r < 0)
		return r;
	last = first;
	if (skip_char(p, end, '-')) {
		r = parse_number(p, end, &last);
		if (r < 0)
			return r;
		if (last < first)
			return -EINVAL;
		if (skip_char(p, end, ':')) {
			r = parse_number(p, end, &used);
			if (r < 0)
				return r;
			if (!skip_char(p, end, '/'))
				return -EINVAL;
			r = parse_number(p, end, &group);
			if (r < 0)
				return r;
			if (used == 0 || group == 0 || used > group)
				return -EINVAL;
		}
	}
	for (unsigned i = first; i <= last; i++) {
		if ((i - first) % group >= used)
			continue;
		r = nb_bitmap_set(into, i);
		if (r < 0)
			return r;
	}
	return 0;
}

int nb_bitmap_parse_list(struct nb_bitmap *dst, const char *text, size_t len)
{
	_cleanup_bitmap_ struct nb_bitmap b = {0};
	const char *p = text, *end = text + len;
	int r;

	while (p < end && is_blank(*p))
		p++;
	while (p < end && is_blank(end[-1]))
		end--;
	while (p < end) {
		r = parse_range(&p, end, &b);
		if (r < 0)
			return r;
		if (p < end && (!skip_char(&p, end, ',') || p == end))
			return -EINVAL;
	}
	return nb_bitmap_copy(dst, &b);
}

int nb_bitmap_format_list(const struct nb_bitmap *b, char *buf, size_t size)
{
	size_t len = 0;
	int first = nb_bitmap_next(b, 0);

	if (size > 0)
		buf[0] = '\0';
	while (first >= 0) {
		int last = first, n;
		size_t room = len < size ? size - len : 0;

		while (nb_bitmap_test(b, (unsigned)last + 1))
			last++;
		if (last > first)
			n = snprintf(room ? buf + len : NULL, room, "%s%d-%d", len ? "," : "", first, last);
		else
			n = snprintf(room ? buf + len : NULL, room, "%s%d", len ? "," : "", first);
		if (n < 0)
			return -EINVAL;
		len += (size_t)n;
		first = nb_bitmap_next(b, (unsigned)last + 1);
	}
	return (int)len;
}
