/* SPDX-License-Identifier: MIT */
/* A text in memory of just its length, so that a sanitizer sees a reader that goes
 * beyond it. */
#pragma once

#include <stdlib.h>
#include <string.h>

struct exact {
	char *p;
	size_t len;
};

static inline struct exact exact(const void *text, size_t len)
{
	struct exact e = {.p = malloc(len ? len : 1), .len = len};

	memcpy(e.p, text, len);
	return e;
}

static inline void exact_done(struct exact *e)
{
	free(e->p);
}
#define EXACT(name, text) \
	__attribute__((cleanup(exact_done))) struct exact name = exact((text), strlen(text))
