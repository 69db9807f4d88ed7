/* SPDX-License-Identifier: MIT */
/* pause, resume, reload: what only root and the members of socket_group may do. */
#include "ctl/command.h"

static int change(const struct nb_context *c, int argc, char **argv, const char *method)
{
	if (argc > 1)
		return nb_command_wrong(c, argv[0], "takes no arguments");
	return nb_command_ask(c, method, NULL, NULL);
}

int nb_command_pause(const struct nb_context *c, int argc, char **argv)
{
	return change(c, argc, argv, "io.numabalance.Pause");
}

int nb_command_resume(const struct nb_context *c, int argc, char **argv)
{
	return change(c, argc, argv, "io.numabalance.Resume");
}

int nb_command_reload(const struct nb_context *c, int argc, char **argv)
{
	return change(c, argc, argv, "io.numabalance.Reload");
}
