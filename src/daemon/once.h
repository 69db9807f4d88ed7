/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "nb/config.h"
#include "nb/platform.h"

struct nb_once_options {
	const char *root;        /* for the kernel's setting */
	const char *config_file; /* NULL: none was read */
	const char *missing;     /* rights, for people; NULL or empty: none */
	bool json;
	bool wait; /* an interval between the samples: the machine is live */
};

/* Two samples, and what is, and would be done, to out. Does nothing to the machine.
 * 0, or a negative errno. */
int nb_once_run(const struct nb_once_options *o, const struct nb_config *c, struct nb_platform *p,
		FILE *out);
