/* SPDX-License-Identifier: MIT */
/* tasks, task PID: who is where, and why. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "ctl/command.h"
#include "report/table.h"

static struct json_object *one_parameter(const char *key, struct json_object *value)
{
	struct json_object *o = json_object_new_object();

	if (!o || !value || json_object_object_add(o, key, value) < 0) {
		json_object_put(value);
		json_object_put(o);
		return NULL;
	}
	return o;
}

int nb_command_tasks(const struct nb_context *c, int argc, char **argv)
{
	struct json_object *parameters = NULL;

	if (argc > 1)
		return nb_command_wrong(c, argv[0], "takes --all only");
	if (c->all)
		parameters = one_parameter("all", json_object_new_boolean(true));
	return nb_command_ask(c, "io.numabalance.ListTasks", parameters, nb_table_tasks);
}

int nb_command_task(const struct nb_context *c, int argc, char **argv)
{
	char *end;
	long pid;

	if (argc != 2)
		return nb_command_wrong(c, argv[0], "takes one PID");
	errno = 0;
	pid = strtol(argv[1], &end, 10);
	if (errno || end == argv[1] || *end || pid <= 0 || pid > INT_MAX)
		return nb_command_wrong(c, argv[0], "a PID is a number from 1 on");
	return nb_command_ask(c, "io.numabalance.GetTask",
			      one_parameter("pid", json_object_new_int64(pid)), nb_table_task);
}
