/* SPDX-License-Identifier: MIT */
#include "report/grid.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "report/text.h"

struct nb_grid {
	const char *aligned;
	size_t n_columns;
	char **cells;
	size_t n, cap;
	bool nomem;
};

struct nb_grid *nb_grid_new(const char *aligned)
{
	struct nb_grid *g = calloc(1, sizeof(*g));

	if (!g)
		return NULL;
	g->aligned = aligned;
	g->n_columns = strlen(aligned);
	return g;
}

struct nb_grid *nb_grid_free(struct nb_grid *g)
{
	if (!g)
		return NULL;
	for (size_t i = 0; i < g->n; i++)
		free(g->cells[i]);
	free(g->cells);
	free(g);
	return NULL;
}

void nb_grid_cell(struct nb_grid *g, const char *fmt, ...)
{
	va_list ap;
	char *text;
	int len;

	if (!g || g->nomem)
		return;
	if (g->n == g->cap) {
		size_t cap = g->cap ? 2 * g->cap : 64;
		char **cells = reallocarray(g->cells, cap, sizeof(*cells));

		if (!cells) {
			g->nomem = true;
			return;
		}
		g->cells = cells;
		g->cap = cap;
	}
	va_start(ap, fmt);
	len = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (len < 0)
		g->nomem = true;
	else
		g->cells[g->n++] = text;
}

int nb_grid_print(const struct nb_grid *g, const char *indent, FILE *out)
{
	size_t *width;

	if (!g || g->nomem)
		return -ENOMEM;
	width = calloc(g->n_columns, sizeof(*width));
	if (!width)
		return -ENOMEM;
	for (size_t i = 0; i < g->n; i++) {
		size_t columns = nb_text_columns(g->cells[i]);

		if (columns > width[i % g->n_columns])
			width[i % g->n_columns] = columns;
	}
	for (size_t i = 0; i < g->n; i++) {
		size_t column = i % g->n_columns;
		bool last = column == g->n_columns - 1 || i == g->n - 1;
		int pad = (int)(width[column] - nb_text_columns(g->cells[i]));

		if (column == 0)
			fputs(indent, out);
		if (g->aligned[column] == 'r')
			fprintf(out, "%*s%s", pad, "", g->cells[i]);
		else
			fprintf(out, "%s%*s", g->cells[i], last ? 0 : pad, "");
		fputs(last ? "\n" : "  ", out);
	}
	free(width);
	return 0;
}
