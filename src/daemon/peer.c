/* SPDX-License-Identifier: MIT */
#include "daemon/peer.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

int nb_peer_get(int fd, struct nb_peer *ret)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);
	gid_t *groups = NULL;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0)
		return -errno;
	/* The kernel answers ERANGE, and how many bytes it needs. Kernels before 4.13
	 * know the primary group only. */
	len = 0;
	while (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &len) < 0) {
		gid_t *grown;

		if (errno == ENOPROTOOPT) {
			len = 0;
			break;
		}
		if (errno != ERANGE) {
			int r = -errno;

			free(groups);
			return r;
		}
		grown = realloc(groups, len);
		if (!grown) {
			free(groups);
			return -ENOMEM;
		}
		groups = grown;
	}
	*ret = (struct nb_peer){
		.uid = cred.uid,
		.gid = cred.gid,
		.pid = cred.pid,
		.groups = groups,
		.n_groups = len / sizeof(gid_t),
	};
	return 0;
}

void nb_peer_done(struct nb_peer *p)
{
	free(p->groups);
	*p = (struct nb_peer){0};
}

bool nb_peer_in_group(const struct nb_peer *p, gid_t group)
{
	if (p->gid == group)
		return true;
	for (size_t i = 0; i < p->n_groups; i++)
		if (p->groups[i] == group)
			return true;
	return false;
}
