/* SPDX-License-Identifier: MIT */
#include "linux/parse.h"

#include <errno.h>
#include <string.h>

static bool blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n';
}

bool nb_take_u64(struct nb_cursor *c, uint64_t *ret)
{
	const char *p = c->p;
	uint64_t v = 0;

	for (; p < c->end && *p >= '0' && *p <= '9'; p++)
		if (__builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, (uint64_t)(*p - '0'), &v))
			return false;
	if (p == c->p)
		return false;
	c->p = p;
	*ret = v;
	return true;
}

bool nb_take_hex(struct nb_cursor *c, uint64_t *ret)
{
	const char *p = c->p;
	uint64_t v = 0;

	for (; p < c->end; p++) {
		unsigned digit;

		if (*p >= '0' && *p <= '9')
			digit = (unsigned)(*p - '0');
		else if (*p >= 'a' && *p <= 'f')
			digit = (unsigned)(*p - 'a') + 10;
		else
			break;
		if (v >> 60)
			return false;
		v = v << 4 | digit;
	}
	if (p == c->p)
		return false;
	c->p = p;
	*ret = v;
	return true;
}

bool nb_take_word(struct nb_cursor *c, struct nb_cursor *ret)
{
	const char *start = c->p, *p;

	while (start < c->end && blank(*start))
		start++;
	for (p = start; p < c->end && !blank(*p); p++)
		;
	if (p == start)
		return false;
	c->p = p;
	*ret = (struct nb_cursor){.p = start, .end = p};
	return true;
}

bool nb_take_line(struct nb_cursor *c, struct nb_cursor *ret)
{
	const char *newline;

	if (c->p >= c->end)
		return false;
	newline = memchr(c->p, '\n', (size_t)(c->end - c->p));
	*ret = (struct nb_cursor){.p = c->p, .end = newline ? newline : c->end};
	c->p = newline ? newline + 1 : c->end;
	return true;
}

bool nb_take_text(struct nb_cursor *c, const char *text)
{
	size_t len = strlen(text);

	if ((size_t)(c->end - c->p) < len || memcmp(c->p, text, len) != 0)
		return false;
	c->p += len;
	return true;
}

bool nb_cursor_is(const struct nb_cursor *c, const char *text)
{
	size_t len = strlen(text);

	return (size_t)(c->end - c->p) == len && memcmp(c->p, text, len) == 0;
}

int nb_parse_u64(const char *text, size_t len, uint64_t *ret)
{
	struct nb_cursor c = {.p = text, .end = text + len}, word, rest;
	uint64_t v;

	if (!nb_take_word(&c, &word) || nb_take_word(&c, &rest))
		return -EINVAL;
	if (!nb_take_u64(&word, &v) || word.p != word.end)
		return -EINVAL;
	*ret = v;
	return 0;
}
