/* SPDX-License-Identifier: MIT */
/* The configuration's files: FILE, then those of FILE.d that end in .conf, by name. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "nb/config.h"

#define NB_CONFIG_DEFAULT "/etc/numabalanced.conf"

struct nb_loaded {
	struct nb_config *config;
	char *file; /* FILE as named, or NULL: it is not there, and only defaults and drop-ins hold
		     */
	size_t n_files; /* that were read */
	bool group_set;
	gid_t group; /* of socket_group */
};

/* With must_exist a missing FILE is an error. -EINVAL and others: err says what is
 * wrong, for people, and *ret is untouched. */
int nb_config_load_files(const char *path, bool must_exist, struct nb_loaded *ret,
			 struct nb_config_error *err);
void nb_loaded_done(struct nb_loaded *l);
#define _cleanup_loaded_ __attribute__((cleanup(nb_loaded_done)))
