/* SPDX-License-Identifier: MIT */
/* Growing arrays whose memory is kept from tick to tick. */
#pragma once

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Makes room for at least `need` elements; new ones are zeroed. */
static inline int nb_grow(void **array, uint32_t *cap, uint64_t need, size_t element)
{
	uint64_t n = *cap ? *cap : 8;
	void *p;

	if (need <= *cap)
		return 0;
	while (n < need)
		n *= 2;
	if (n > UINT32_MAX)
		return -ENOMEM;
	p = realloc(*array, n * element);
	if (!p)
		return -ENOMEM;
	memset((char *)p + *cap * element, 0, (n - *cap) * element);
	*array = p;
	*cap = (uint32_t)n;
	return 0;
}

#define NB_GROW(array, cap, need) nb_grow((void **)&(array), &(cap), (need), sizeof(*(array)))
