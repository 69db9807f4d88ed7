/* SPDX-License-Identifier: MIT */
/* Fields of JSON objects, as text for people. buf is returned; a field that is
 * absent or of another type is "-". */
#pragma once

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>

#define NB_FIELD_MAX 512

struct json_object *nb_field(struct json_object *o, const char *key); /* NULL: absent */
int64_t nb_field_int(struct json_object *o, const char *key, int64_t absent);
double nb_field_double(struct json_object *o, const char *key, double absent);
size_t nb_field_count(struct json_object *o, const char *key); /* members of an array */
struct json_object *nb_field_item(struct json_object *o, const char *key, size_t i);

const char *nb_field_text(struct json_object *o, const char *key, char buf[NB_FIELD_MAX]);
const char *nb_field_number(struct json_object *o, const char *key, char buf[NB_FIELD_MAX]);
const char *nb_field_bytes(struct json_object *o, const char *key, char buf[NB_FIELD_MAX]);
const char *nb_field_time(struct json_object *o, const char *key, char buf[NB_FIELD_MAX]);
const char *nb_field_cpus(struct json_object *o, const char *key, char buf[NB_FIELD_MAX]);
const char *nb_field_share(struct json_object *o, const char *key, char buf[NB_FIELD_MAX]);
const char *nb_field_list(struct json_object *o, const char *key,
			  char buf[NB_FIELD_MAX]); /* "0 2" */
