/* SPDX-License-Identifier: MIT */
/*
 * Writing of one JSON document. json-c answers want of memory by NULL, and takes
 * a NULL value for null: here each value is looked at once, and nb_finish() tells.
 * All functions take over the value that they are given.
 */
#pragma once

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>

#include "nb/bitmap.h"
#include "nb/plan.h"

struct nb_writer {
	bool nomem;
};

void nb_put(struct nb_writer *w, struct json_object *o, const char *key, struct json_object *value);
void nb_append(struct nb_writer *w, struct json_object *array, struct json_object *value);
void nb_put_u64(struct nb_writer *w, struct json_object *o, const char *key, uint64_t n);
void nb_put_i64(struct nb_writer *w, struct json_object *o, const char *key, int64_t n);
void nb_put_bool(struct nb_writer *w, struct json_object *o, const char *key, bool b);
void nb_put_str(struct nb_writer *w, struct json_object *o, const char *key, const char *text);
void nb_put_cpus(struct nb_writer *w, struct json_object *o, const char *key, uint64_t cap);
void nb_put_share(struct nb_writer *w, struct json_object *o, const char *key, uint32_t pmy);
void nb_put_errno(struct nb_writer *w, struct json_object *o, const char *key, int error);
void nb_put_reason(struct nb_writer *w, struct json_object *o, enum nb_reason r);
void nb_put_set(struct nb_writer *w, struct json_object *o, const char *key,
		const struct nb_bitmap *set);

/* 0 and the object, or -ENOMEM; then it is released. */
int nb_finish(struct nb_writer *w, struct json_object *o, struct json_object **ret);
