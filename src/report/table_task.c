/* SPDX-License-Identifier: MIT */
#include "report/table.h"

#include <inttypes.h>
#include <string.h>

#include "report/field.h"
#include "report/grid.h"
#include "report/units.h"

#define BUF ((char[NB_FIELD_MAX]){0})

/* "0:1.2G/97% 2:16M": memory, and CPU share where it runs. */
static const char *places(struct json_object *task, char buf[NB_FIELD_MAX])
{
	size_t n = nb_field_count(task, "nodes"), len = 0;

	strcpy(buf, n ? "" : "-");
	for (size_t i = 0; i < n && len < NB_FIELD_MAX - 96; i++) {
		struct json_object *node = nb_field_item(task, "nodes", i);
		double cpu = nb_field_double(node, "cpu_share", 0);

		len += (size_t)snprintf(buf + len, NB_FIELD_MAX - len, "%s%" PRId64 ":%s",
					i ? " " : "", nb_field_int(node, "id", -1),
					nb_field_bytes(node, "bytes", BUF));
		if (cpu > 0)
			len += (size_t)snprintf(buf + len, NB_FIELD_MAX - len, "/%.0f%%",
						cpu * 100);
	}
	return buf;
}

int nb_table_tasks(struct json_object *o, FILE *out)
{
	static const char *const heads[] = {
		"PID",  "COMM", "THR",   "RUNNABLE", "UTIL", "LOCAL", "MEMORY/CPU BY NODE",
		"BEST", "GAIN", "PRICE", "WHY"};
	_cleanup_grid_ struct nb_grid *g = nb_grid_new("rlrrrrlrrrl");

	if (!nb_field_count(o, "tasks")) {
		fputs("No task to speak of.\n", out);
		return 0;
	}
	for (size_t i = 0; i < sizeof(heads) / sizeof(*heads); i++)
		nb_grid_cell(g, "%s", heads[i]);
	for (size_t i = 0; i < nb_field_count(o, "tasks"); i++) {
		struct json_object *t = nb_field_item(o, "tasks", i);

		nb_grid_cell(g, "%s", nb_field_number(t, "pid", BUF));
		nb_grid_cell(g, "%s", nb_field_text(t, "comm", BUF));
		nb_grid_cell(g, "%s", nb_field_number(t, "threads", BUF));
		nb_grid_cell(g, "%s", nb_field_cpus(t, "runnable", BUF));
		nb_grid_cell(g, "%s", nb_field_cpus(t, "util", BUF));
		nb_grid_cell(g, "%s", nb_field_share(t, "local_share", BUF));
		nb_grid_cell(g, "%s", places(t, BUF));
		nb_grid_cell(g, "%s", nb_field_number(t, "best_node", BUF));
		nb_grid_cell(g, "%s", nb_field_time(t, "gain_us", BUF));
		nb_grid_cell(g, "%s", nb_field_time(t, "price_us", BUF));
		nb_grid_cell(g, "%s", nb_field_text(t, "reason", BUF));
	}
	return nb_grid_print(g, "", out);
}

/* --- one task --- */

/* Numbers and sentence of what was last done with it. */
static void print_last(struct json_object *task, FILE *out)
{
	struct json_object *last = nb_field(task, "last_action");

	if (!last) {
		fputs("Last action:  none so far\n", out);
		return;
	}
	fprintf(out, "Last action:  %s ago, node %s to node %s, %s moved",
		nb_field_time(last, "ago_us", BUF), nb_field_number(last, "from_node", BUF),
		nb_field_number(last, "to_node", BUF), nb_field_bytes(last, "bytes", BUF));
	if (nb_field(last, "error"))
		fprintf(out, "; it failed: %s", nb_field_text(last, "error", BUF));
	fprintf(out, "\n              %s: %s\n", nb_field_text(last, "reason", BUF),
		nb_field_text(last, "sentence", BUF));
}

int nb_table_task(struct json_object *reply, FILE *out)
{
	struct json_object *t = nb_field(reply, "task");
	_cleanup_grid_ struct nb_grid *g = nb_grid_new("rrrr");
	int64_t total = nb_field_int(t, "placed_bytes", 0);
	int r;

	fprintf(out, "Task:         %s \"%s\", uid %s, %s threads\n",
		nb_field_number(t, "pid", BUF), nb_field_text(t, "comm", BUF),
		nb_field_number(t, "uid", BUF), nb_field_number(t, "threads", BUF));
	fprintf(out, "Load:         %s CPUs runnable, %s running\n",
		nb_field_cpus(t, "runnable", BUF), nb_field_cpus(t, "util", BUF));
	fprintf(out, "Memory:       %s resident, %s counted for placement (%s)\n",
		nb_field_bytes(t, "rss_bytes", BUF), nb_field_bytes(t, "placed_bytes", BUF),
		nb_field_text(t, "mem_source", BUF));
	fprintf(out, "Local share:  %s\n", nb_field_share(t, "local_share", BUF));
	if (nb_field(t, "reason"))
		fprintf(out, "Why:          %s: %s\n", nb_field_text(t, "reason", BUF),
			nb_field_text(t, "sentence", BUF));
	else
		fputs("Why:          nothing was decided yet\n", out);
	fprintf(out,
		"Best node:    %s; over the horizon its place costs %s, a move would gain %s at a "
		"price of %s\n",
		nb_field_number(t, "best_node", BUF), nb_field_time(t, "cost_us", BUF),
		nb_field_time(t, "gain_us", BUF), nb_field_time(t, "price_us", BUF));
	print_last(t, out);
	fprintf(out, "Moved:        %s times\n", nb_field_number(t, "moves", BUF));
	if (!nb_field_count(t, "nodes"))
		return 0;
	fputc('\n', out);
	nb_grid_cell(g, "NODE");
	nb_grid_cell(g, "MEMORY");
	nb_grid_cell(g, "SHARE");
	nb_grid_cell(g, "CPU TIME");
	for (size_t i = 0; i < nb_field_count(t, "nodes"); i++) {
		struct json_object *node = nb_field_item(t, "nodes", i);
		int64_t bytes = nb_field_int(node, "bytes", 0);

		nb_grid_cell(g, "%s", nb_field_number(node, "id", BUF));
		nb_grid_cell(g, "%s", nb_field_bytes(node, "bytes", BUF));
		if (total > 0)
			nb_grid_cell(g, "%s", nb_unit_share(BUF, (double)bytes / (double)total));
		else
			nb_grid_cell(g, "-");
		nb_grid_cell(g, "%s", nb_field_share(node, "cpu_share", BUF));
	}
	r = nb_grid_print(g, "", out);
	return r;
}

/* --- plan --- */

static int print_actions(struct json_object *plan, FILE *out)
{
	static const char *const heads[] = {"PID",   "COMM", "WHAT",  "FROM", "TO",
					    "BYTES", "GAIN", "PRICE", "WITH", "WHY"};
	_cleanup_grid_ struct nb_grid *g = nb_grid_new("rllrrrrrll");

	if (!nb_field_count(plan, "actions")) {
		fputs("Nothing is to be moved now.\n", out);
		return 0;
	}
	for (size_t i = 0; i < sizeof(heads) / sizeof(*heads); i++)
		nb_grid_cell(g, "%s", heads[i]);
	for (size_t i = 0; i < nb_field_count(plan, "actions"); i++) {
		struct json_object *a = nb_field_item(plan, "actions", i);
		bool release = json_object_get_boolean(nb_field(a, "release"));

		nb_grid_cell(g, "%s", nb_field_number(a, "pid", BUF));
		nb_grid_cell(g, "%s", nb_field_text(a, "comm", BUF));
		nb_grid_cell(g, "%s", release ? "release" : nb_field_text(a, "what", BUF));
		/* Of pages that go alone it is their place that counts. */
		nb_grid_cell(g, "%s",
			     strcmp(nb_field_text(a, "what", BUF), "memory") == 0
				     ? nb_field_list(a, "mem_from", BUF)
				     : nb_field_number(a, "from_node", BUF));
		nb_grid_cell(g, "%s",
			     nb_field_count(a, "cpu_nodes") > 1
				     ? nb_field_list(a, "cpu_nodes", BUF)
				     : nb_field_number(a, "to_node", BUF));
		nb_grid_cell(g, "%s", nb_field_bytes(a, "bytes", BUF));
		nb_grid_cell(g, "%s", nb_field_time(a, "gain_us", BUF));
		nb_grid_cell(g, "%s", nb_field_time(a, "price_us", BUF));
		if (nb_field(a, "exchange"))
			nb_grid_cell(g, "exchange %s", nb_field_number(a, "exchange", BUF));
		else
			nb_grid_cell(g, "-");
		nb_grid_cell(g, "%s", nb_field_text(a, "reason", BUF));
	}
	return nb_grid_print(g, "", out);
}

int nb_table_plan(struct json_object *plan, FILE *out)
{
	int r = print_actions(plan, out);

	return r < 0 ? r : nb_table_reasons(plan, out);
}

int nb_table_all(struct json_object *all, FILE *out)
{
	int r = nb_table_status(nb_field(all, "status"), out);

	if (r < 0)
		return r;
	fputc('\n', out);
	r = nb_table_tasks(all, out);
	if (r < 0)
		return r;
	fputc('\n', out);
	return print_actions(nb_field(all, "plan"), out); /* the status told the reasons */
}
