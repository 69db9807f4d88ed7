/* SPDX-License-Identifier: MIT */
/* status, nodes, plan: how things are. */
#include "ctl/command.h"
#include "report/table.h"

static int ask(const struct nb_context *c, int argc, char **argv, const char *method,
	       int (*table)(struct json_object *parameters, FILE *out))
{
	if (argc > 1)
		return nb_command_wrong(c, argv[0], "takes no arguments");
	return nb_command_ask(c, method, NULL, table);
}

int nb_command_status(const struct nb_context *c, int argc, char **argv)
{
	return ask(c, argc, argv, "io.numabalance.GetStatus", nb_table_status);
}

int nb_command_nodes(const struct nb_context *c, int argc, char **argv)
{
	return ask(c, argc, argv, "io.numabalance.GetNodes", nb_table_nodes);
}

int nb_command_plan(const struct nb_context *c, int argc, char **argv)
{
	return ask(c, argc, argv, "io.numabalance.GetPlan", nb_table_plan);
}
