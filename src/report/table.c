/* SPDX-License-Identifier: MIT */
#include "report/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/field.h"
#include "report/grid.h"

/* Room for the text of one field, for as long as its block lasts. */
#define BUF ((char[NB_FIELD_MAX]){0})

/* --- nodes --- */

static int print_nodes(struct json_object *o, FILE *out)
{
	size_t n = nb_field_count(o, "nodes");
	_cleanup_grid_ struct nb_grid *g = nb_grid_new("rlrrrrlrrl");
	static const char *const heads[] = {"NODE",     "CPUS",  "N",      "CAPACITY", "UTIL",
					    "RUNNABLE", "CLASS", "MEMORY", "FREE",     "MOVING IN"};

	for (size_t i = 0; i < sizeof(heads) / sizeof(*heads); i++)
		nb_grid_cell(g, "%s", heads[i]);
	for (size_t i = 0; i < n; i++) {
		struct json_object *node = nb_field_item(o, "nodes", i);

		nb_grid_cell(g, "%s", nb_field_number(node, "id", BUF));
		nb_grid_cell(g, "%s",
			     nb_field_int(node, "n_cpus", 0) ? nb_field_text(node, "cpus", BUF)
							     : "-");
		nb_grid_cell(g, "%s", nb_field_number(node, "n_cpus", BUF));
		nb_grid_cell(g, "%s", nb_field_cpus(node, "capacity", BUF));
		nb_grid_cell(g, "%s", nb_field_cpus(node, "util", BUF));
		nb_grid_cell(g, "%s", nb_field_cpus(node, "runnable", BUF));
		nb_grid_cell(g, "%s", nb_field_text(node, "class", BUF));
		nb_grid_cell(g, "%s", nb_field_bytes(node, "mem_total_bytes", BUF));
		nb_grid_cell(g, "%s", nb_field_bytes(node, "mem_free_bytes", BUF));
		if (nb_field(node, "in_flight_pid"))
			nb_grid_cell(g, "pid %s%s", nb_field_number(node, "in_flight_pid", BUF),
				     nb_field_int(node, "in_flight", 0) > 1 ? " and others" : "");
		else
			nb_grid_cell(g, "-");
	}
	return nb_grid_print(g, "", out);
}

static int print_distances(struct json_object *o, FILE *out)
{
	size_t n = nb_field_count(o, "nodes");
	char *aligned = malloc(n + 2);
	struct nb_grid *g;
	int r;

	if (!aligned)
		return -ENOMEM;
	memset(aligned, 'r', n + 1);
	aligned[n + 1] = '\0';
	g = nb_grid_new(aligned);
	nb_grid_cell(g, "NODE");
	for (size_t i = 0; i < n; i++)
		nb_grid_cell(g, "%s", nb_field_number(nb_field_item(o, "nodes", i), "id", BUF));
	for (size_t i = 0; i < n; i++) {
		struct json_object *node = nb_field_item(o, "nodes", i);

		nb_grid_cell(g, "%s", nb_field_number(node, "id", BUF));
		for (size_t k = 0; k < n; k++) {
			struct json_object *item = nb_field_item(node, "distance", k);

			nb_grid_cell(g, "%d", item ? json_object_get_int(item) : -1);
		}
	}
	fputs("\nDistance from the node of a row to that of a column:\n", out);
	r = nb_grid_print(g, "", out);
	nb_grid_free(g);
	free(aligned);
	return r;
}

int nb_table_nodes(struct json_object *nodes, FILE *out)
{
	int r = print_nodes(nodes, out);

	if (r < 0 || nb_field_count(nodes, "nodes") < 2)
		return r;
	return print_distances(nodes, out);
}

/* --- status --- */

static void print_failures(struct json_object *totals, FILE *out)
{
	static const char *const keys[] = {"gone", "rights", "memory", "busy", "invalid", "other"};
	static const char *const pages[] = {"shared", "busy", "no_memory", "absent", "other"};
	struct json_object *failures = nb_field(totals, "failures"),
			   *refused = nb_field(totals, "pages_refused");
	const char *sep = "Failures:     ";

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		if (!nb_field_int(failures, keys[i], 0))
			continue;
		fprintf(out, "%s%s %s", sep, nb_field_number(failures, keys[i], BUF), keys[i]);
		sep = ", ";
	}
	if (*sep == ',')
		fputc('\n', out);
	sep = "Pages left:   ";
	for (size_t i = 0; i < sizeof(pages) / sizeof(*pages); i++) {
		if (!nb_field_int(refused, pages[i], 0))
			continue;
		fprintf(out, "%s%s %s", sep, nb_field_number(refused, pages[i], BUF), pages[i]);
		sep = ", ";
	}
	if (*sep == ',')
		fputc('\n', out);
}

int nb_table_reasons(struct json_object *o, FILE *out)
{
	_cleanup_grid_ struct nb_grid *g = nb_grid_new("rll");
	size_t n = nb_field_count(o, "reasons");

	if (!n)
		return 0;
	fputs("\nWhy tasks are where they are:\n", out);
	for (size_t i = 0; i < n; i++) {
		struct json_object *r = nb_field_item(o, "reasons", i);

		nb_grid_cell(g, "%s", nb_field_number(r, "tasks", BUF));
		nb_grid_cell(g, "%s", nb_field_text(r, "reason", BUF));
		nb_grid_cell(g, "%s", nb_field_text(r, "sentence", BUF));
	}
	return nb_grid_print(g, "  ", out);
}

int nb_table_status(struct json_object *s, FILE *out)
{
	struct json_object *totals = nb_field(s, "totals"), *memory = nb_field(s, "memory_read");
	char buf[NB_FIELD_MAX];
	int r;

	nb_field_text(s, "mode", buf);
	for (char *c = buf; *c; c++)
		if (*c == '_')
			*c = ' ';
	fprintf(out, "Mode:         %s: %s\n", buf, nb_field_text(s, "why", BUF));
	fprintf(out, "Version:      %s, up %s, a sample each %s\n",
		nb_field_text(s, "version", BUF), nb_field_time(s, "uptime_us", BUF),
		nb_field_time(s, "interval_us", BUF));
	if (nb_field(s, "config_file"))
		fprintf(out, "Configured:   by %s\n", nb_field_text(s, "config_file", BUF));
	if (nb_field(s, "reload_error"))
		fprintf(out, "Reload failed: %s\n", nb_field_text(s, "reload_error", BUF));
	if (!nb_field(s, "kernel_balancing"))
		fputs("Kernel:       has no balancer of its own\n", out);
	else
		fprintf(out, "Kernel:       numa_balancing is %s%s\n",
			nb_field_number(s, "kernel_balancing", BUF),
			nb_field_int(s, "kernel_balancing", 0) ? ": it also moves pages" : "");
	nb_field_text(s, "source", buf);
	fprintf(out, "Run times:    %s%s\n",
		strcmp(buf, "unknown") ? "from " : "not known yet, two samples are needed",
		strcmp(buf, "unknown") ? buf : "");
	fprintf(out, "Local share:  %s\n", nb_field_share(s, "local_share", BUF));
	fprintf(out, "Tasks:        %s; memory of %s by numa_maps, of %s by queries\n",
		nb_field_number(s, "tasks", BUF), nb_field_number(memory, "numa_maps", BUF),
		nb_field_number(memory, "query", BUF));
	fprintf(out,
		"Done:         %s moves, %s swaps, %s moved, %s cancelled; %s actions planned "
		"now\n",
		nb_field_number(totals, "moves", BUF), nb_field_number(totals, "swaps", BUF),
		nb_field_bytes(totals, "bytes_moved", BUF),
		nb_field_number(totals, "cancelled", BUF), nb_field_number(s, "actions", BUF));
	fprintf(out, "Samples:      %s; %s lost, %s rows not understood, %s tasks gone meanwhile\n",
		nb_field_number(totals, "samples", BUF), nb_field_number(totals, "lost_ticks", BUF),
		nb_field_number(totals, "rejected_rows", BUF),
		nb_field_number(totals, "gone_tasks", BUF));
	print_failures(totals, out);
	fputc('\n', out);
	r = print_nodes(s, out);
	return r < 0 ? r : nb_table_reasons(s, out);
}
