/* SPDX-License-Identifier: MIT */
/*
 * The connections of the control socket, in the daemon's event loop. Nothing here
 * waits for a client: sockets do not block, one request is answered a turn, and a
 * client that says or reads nothing for a while is dropped.
 */
#pragma once

#include <json-c/json.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "daemon/peer.h"

struct nb_control;

/* Answers one request. 1: *ret is the reply; 0: none is wanted; -EBADMSG: the bytes
 * are no call; others: the client is dropped. */
typedef int (*nb_control_call)(void *user, const struct nb_peer *peer, const char *text, size_t len,
			       struct json_object **ret);

struct nb_control_limits {
	unsigned clients;     /* connections at once */
	unsigned for_root;    /* of these kept free for uid 0 */
	uint64_t deadline_us; /* from one whole request or reply to the next */
};
#define NB_CONTROL_LIMITS \
	((struct nb_control_limits){.clients = 64, .for_root = 8, .deadline_us = 30 * 1000000})

/* listen_fd stays the caller's. */
int nb_control_new(sd_event *event, int listen_fd, const struct nb_control_limits *limits,
		   nb_control_call call, void *user, struct nb_control **ret);
struct nb_control *nb_control_free(struct nb_control *c); /* NULL-safe; drops all clients */

/* A connection that is there already. Takes fd over, also on failure: -EBUSY, there
 * are too many. */
int nb_control_add(struct nb_control *c, int fd);

/* Accepts again, if want of descriptors made it stop. Called each tick. */
void nb_control_refresh(struct nb_control *c);

unsigned nb_control_clients(const struct nb_control *c);
