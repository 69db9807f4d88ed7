/* SPDX-License-Identifier: MIT */
/* Who is at the other end of a connection, as the kernel says. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct nb_peer {
	uid_t uid;
	gid_t gid;
	pid_t pid;
	gid_t *groups; /* supplementary */
	size_t n_groups;
};

int nb_peer_get(int fd, struct nb_peer *ret);
void nb_peer_done(struct nb_peer *p);
bool nb_peer_in_group(const struct nb_peer *p, gid_t group);
