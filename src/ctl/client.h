/* SPDX-License-Identifier: MIT */
/* One call of the daemon: connect, ask, read the reply. Blocking, with a limit. */
#pragma once

#include <json-c/json.h>
#include <stdint.h>

struct nb_client_error {
	char text[512];
};

/* Takes over parameters (NULL: none). 0: *ret_reply is the whole reply, which may be
 * an error of the daemon's. Negative: there was none, and err says why, for people:
 * -ETIMEDOUT after timeout_us; -EPROTO: it does not speak Varlink. */
int nb_client_call(const char *socket_path, const char *method, struct json_object *parameters,
		   uint64_t timeout_us, struct json_object **ret_reply,
		   struct nb_client_error *err);
