/* SPDX-License-Identifier: MIT */
/*
 * The path of the control socket, and who owns it. Always a path, never an
 * abstract name; everybody may connect (mode 0666), what one may do is decided by
 * the peer's credentials.
 *
 * The order is: lock PATH.lock (held while the daemon lives), look at what is at
 * PATH without following links, try to connect if it is a socket. Only a socket
 * that refuses the connection is a left-over and is replaced.
 */
#pragma once

#include <stdbool.h>

#define NB_SOCKET_DEFAULT "/run/numabalanced/control.sock"

struct nb_listener {
	int fd; /* non-blocking, listening; -1: none */
	int lock_fd;
	char *path;
};

#define NB_LISTENER_NONE ((struct nb_listener){.fd = -1, .lock_fd = -1})

struct nb_listener_error {
	char text[512];
};

/* Makes the folder (0755) if it is missing. -EADDRINUSE: another daemon lives
 * there; -EEXIST: what is there is no socket; -ENAMETOOLONG. err says it for people. */
int nb_listener_open(const char *path, struct nb_listener *ret, struct nb_listener_error *err);

/* Removes the socket, if it is still ours, and lets the lock go. */
void nb_listener_close(struct nb_listener *l);

/* True if a daemon holds the lock of this socket. */
bool nb_listener_taken(const char *path);
