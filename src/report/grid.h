/* SPDX-License-Identifier: MIT */
/* Cells in aligned columns. */
#pragma once

#include <stdio.h>

struct nb_grid;

/* One letter a column: l left, r right. NULL on want of memory; the other
 * functions take NULL, and nb_grid_print() then says -ENOMEM. */
struct nb_grid *nb_grid_new(const char *aligned);
struct nb_grid *nb_grid_free(struct nb_grid *g);

/* The next cell, row by row. */
void nb_grid_cell(struct nb_grid *g, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* 0 or -ENOMEM: then nothing is printed. Each line starts with indent. */
int nb_grid_print(const struct nb_grid *g, const char *indent, FILE *out);

static inline void nb_grid_freep(struct nb_grid **g)
{
	nb_grid_free(*g);
}
#define _cleanup_grid_ __attribute__((cleanup(nb_grid_freep)))
