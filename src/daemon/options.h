/* SPDX-License-Identifier: MIT */
/* The command line of numabalanced. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

struct nb_options {
	const char *config, *socket, *state_dir,
		*sysroot; /* config and sysroot: NULL if not given */
	bool dry_run, once, json, check_config, restore, version, help;
};

/* -EINVAL: what is wrong was written to err. */
int nb_options_parse(int argc, char **argv, struct nb_options *ret, FILE *err);
void nb_options_help(FILE *out);
