/* SPDX-License-Identifier: MIT */
/* The methods of io.numabalance and org.varlink.service: a table, and the answers. */
#pragma once

#include <json-c/json.h>

#include "daemon/daemon.h"
#include "daemon/peer.h"

/* An nb_control_call; user is the struct nb_daemon. */
int nb_methods_call(void *user, const struct nb_peer *peer, const char *text, size_t len,
		    struct json_object **ret);
