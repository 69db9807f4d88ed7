/* SPDX-License-Identifier: MIT */
#include "ctl/command.h"

#include <errno.h>
#include <string.h>

#include "ctl/client.h"
#include "report/field.h"
#include "report/json.h"

#define TIMEOUT_US 10000000

const struct nb_command nb_commands[] = {
	{"status", "", "how the daemon and the nodes are", nb_command_status},
	{"nodes", "", "nodes, their load, memory and distances", nb_command_nodes},
	{"tasks", "[--all]", "tasks, where they are and why; --all: also idle ones",
	 nb_command_tasks},
	{"task", "PID", "why one task is where it is, and why it is not moved", nb_command_task},
	{"plan", "", "what is done now, or would be in a dry run", nb_command_plan},
	{"pause", "", "start nothing new", nb_command_pause},
	{"resume", "", "go on", nb_command_resume},
	{"reload", "", "read the configuration again", nb_command_reload},
	{0},
};

int nb_command_wrong(const struct nb_context *c, const char *command, const char *what)
{
	fprintf(c->err, "numabalancectl %s: %s\nTry numabalancectl --help.\n", command, what);
	return NB_EXIT_USAGE;
}

/* Known errors in words; others by their name and what comes with it. */
static void show_error(const struct nb_context *c, struct json_object *reply)
{
	struct json_object *parameters = nb_field(reply, "parameters");
	char name[NB_FIELD_MAX], text[NB_FIELD_MAX];

	nb_field_text(reply, "error", name);
	if (strcmp(name, "io.numabalance.NoSuchTask") == 0)
		fprintf(c->err, "numabalancectl: no process %s\n",
			nb_field_number(parameters, "pid", text));
	else if (strcmp(name, "io.numabalance.ReloadFailed") == 0)
		fprintf(c->err, "numabalancectl: the old configuration stays: %s\n",
			nb_field_text(parameters, "message", text));
	else if (strcmp(name, "io.numabalance.NotReady") == 0)
		fputs("numabalancectl: the daemon has not looked yet; try again\n", c->err);
	else if (strcmp(name, "org.varlink.service.PermissionDenied") == 0)
		fputs("numabalancectl: only root and members of socket_group may do that\n",
		      c->err);
	else if (strcmp(name, "org.varlink.service.MethodNotFound") == 0)
		fputs("numabalancectl: the daemon does not know that; it is of another version\n",
		      c->err);
	else
		fprintf(c->err, "numabalancectl: %s %s\n", name,
			parameters
				? json_object_to_json_string_ext(parameters, JSON_C_TO_STRING_PLAIN)
				: "");
}

static int show(const struct nb_context *c, struct json_object *parameters,
		int (*table)(struct json_object *parameters, FILE *out))
{
	const char *text;
	int r = 0;

	if (c->json) {
		text = json_object_to_json_string_ext(
			parameters, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE);
		r = text ? 0 : -ENOMEM;
		if (text)
			fprintf(c->out, "%s\n", text);
	} else if (table) {
		r = table(parameters, c->out);
	}
	if (fflush(c->out) != 0 && r == 0)
		r = -errno;
	if (r < 0)
		fprintf(c->err, "numabalancectl: %s\n", strerror(-r));
	return r < 0 ? NB_EXIT_REFUSED : NB_EXIT_OK;
}

int nb_command_ask(const struct nb_context *c, const char *method, struct json_object *parameters,
		   int (*table)(struct json_object *parameters, FILE *out))
{
	_cleanup_json_ struct json_object *reply = NULL;
	struct nb_client_error err = {0};

	if (nb_client_call(c->socket, method, parameters, TIMEOUT_US, &reply, &err) < 0) {
		fprintf(c->err, "numabalancectl: %s\n", err.text);
		return NB_EXIT_NO_DAEMON;
	}
	if (nb_field(reply, "error")) {
		show_error(c, reply);
		return NB_EXIT_REFUSED;
	}
	return show(c, nb_field(reply, "parameters"), table);
}

int nb_command_run(const struct nb_context *c, int argc, char **argv)
{
	for (const struct nb_command *k = nb_commands; k->name; k++) {
		if (strcmp(k->name, argv[0]) != 0)
			continue;
		if (c->all && k->run != nb_command_tasks)
			return nb_command_wrong(c, argv[0], "--all is for tasks only");
		return k->run(c, argc, argv);
	}
	fprintf(c->err, "numabalancectl: no command %.64s\nTry numabalancectl --help.\n", argv[0]);
	return NB_EXIT_USAGE;
}
