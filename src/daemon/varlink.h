/* SPDX-License-Identifier: MIT */
/* Varlink calls: what a request says, and how a reply looks. The bytes between
 * the NULs are the business of daemon/frames.h. */
#pragma once

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>

struct nb_call {
	struct json_object *request; /* owns what the others point to */
	const char *method;
	struct json_object *parameters; /* NULL: none */
	bool oneway;                    /* the caller wants no reply */
};

/* -EBADMSG: no JSON object, or one that is no call; -ENOMEM. */
int nb_call_parse(const char *text, size_t len, struct nb_call *ret);
void nb_call_done(struct nb_call *c);
#define _cleanup_call_ __attribute__((cleanup(nb_call_done)))

/* Takes over parameters (NULL: none), also on failure. -ENOMEM. */
int nb_reply_new(struct json_object *parameters, struct json_object **ret);
int nb_reply_error(const char *error, struct json_object *parameters, struct json_object **ret);
/* An error with one text parameter. */
int nb_reply_error_text(const char *error, const char *key, const char *text,
			struct json_object **ret);

#define NB_ERROR_INTERFACE "org.varlink.service.InterfaceNotFound"
#define NB_ERROR_METHOD "org.varlink.service.MethodNotFound"
#define NB_ERROR_PARAMETER "org.varlink.service.InvalidParameter"
#define NB_ERROR_PERMISSION "org.varlink.service.PermissionDenied"
