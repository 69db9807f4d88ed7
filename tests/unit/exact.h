/* SPDX-License-Identifier: MIT */
/* A text in memory of just its length, so that a sanitizer sees a reader that goes
 * beyond it. */
#pragma once

#include <string.h>

struct exact {
	const char *p;
	size_t len;
};

/* Declares name, of the first n bytes of text. */
#define EXACT_N(name, text, n) \
	char name##_mem[(n) ? (n) : 1]; \
	memcpy(name##_mem, (text), (n)); \
	struct exact name = {.p = name##_mem, .len = (n)}
#define EXACT(name, text) EXACT_N(name, (text), strlen(text))
