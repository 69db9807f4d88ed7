/* SPDX-License-Identifier: MIT */
/* The subcommands of numabalancectl: one file a family, one table of all. */
#pragma once

#include <json-c/json.h>
#include <stdbool.h>
#include <stdio.h>

enum nb_exit {
	NB_EXIT_OK = 0,
	NB_EXIT_REFUSED = 1, /* the daemon answered by an error */
	NB_EXIT_USAGE = 2,
	NB_EXIT_NO_DAEMON = 3, /* it could not be asked */
};

struct nb_context {
	const char *socket;
	bool json;
	bool all; /* only for tasks */
	FILE *out, *err;
};

struct nb_command {
	const char *name;
	const char *arguments; /* for the help text */
	const char *purpose;
	int (*run)(const struct nb_context *c, int argc, char **argv); /* argv[0]: its name */
};

extern const struct nb_command nb_commands[];               /* ended by one without a name */

/* What all commands do: asks, and shows the reply as JSON or by table (NULL: nothing
 * is shown). Takes over parameters. */
int nb_command_ask(const struct nb_context *c, const char *method, struct json_object *parameters,
		   int (*table)(struct json_object *parameters, FILE *out));

/* Finds the command argv[0] and runs it with what follows. */
int nb_command_run(const struct nb_context *c, int argc, char **argv);

/* NB_EXIT_USAGE, and why. */
int nb_command_wrong(const struct nb_context *c, const char *command, const char *what);

int nb_command_status(const struct nb_context *c, int argc, char **argv);
int nb_command_nodes(const struct nb_context *c, int argc, char **argv);
int nb_command_plan(const struct nb_context *c, int argc, char **argv);
int nb_command_tasks(const struct nb_context *c, int argc, char **argv);
int nb_command_task(const struct nb_context *c, int argc, char **argv);
int nb_command_pause(const struct nb_context *c, int argc, char **argv);
int nb_command_resume(const struct nb_context *c, int argc, char **argv);
int nb_command_reload(const struct nb_context *c, int argc, char **argv);
