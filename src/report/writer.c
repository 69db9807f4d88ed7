/* SPDX-License-Identifier: MIT */
#include "report/writer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/text.h"

void nb_put(struct nb_writer *w, struct json_object *o, const char *key, struct json_object *value)
{
	if (!value || !o || json_object_object_add(o, key, value) < 0) {
		w->nomem = true;
		json_object_put(value);
	}
}

void nb_append(struct nb_writer *w, struct json_object *array, struct json_object *value)
{
	if (!value || !array || json_object_array_add(array, value) < 0) {
		w->nomem = true;
		json_object_put(value);
	}
}

void nb_put_u64(struct nb_writer *w, struct json_object *o, const char *key, uint64_t n)
{
	nb_put(w, o, key, json_object_new_int64(n > INT64_MAX ? INT64_MAX : (int64_t)n));
}

void nb_put_i64(struct nb_writer *w, struct json_object *o, const char *key, int64_t n)
{
	nb_put(w, o, key, json_object_new_int64(n));
}

void nb_put_bool(struct nb_writer *w, struct json_object *o, const char *key, bool b)
{
	nb_put(w, o, key, json_object_new_boolean(b));
}

void nb_put_str(struct nb_writer *w, struct json_object *o, const char *key, const char *text)
{
	size_t len = strlen(text), size = 3 * len + 1;
	char *buf = malloc(size);

	if (!buf) {
		w->nomem = true;
		return;
	}
	nb_text_utf8(text, len, buf, size);
	nb_put(w, o, key, json_object_new_string(buf));
	free(buf);
}

/* Fractions are written from whole numbers, so that they look the same everywhere. */
static void put_fraction(struct nb_writer *w, struct json_object *o, const char *key, uint64_t n,
			 uint64_t one, unsigned digits)
{
	uint64_t scale = digits == 3 ? 1000 : 10000;
	uint64_t whole = n / one, part = (n % one * scale + one / 2) / one;
	char text[48];

	whole += part / scale;
	part %= scale;
	snprintf(text, sizeof(text), "%" PRIu64 ".%0*" PRIu64, whole, (int)digits, part);
	nb_put(w, o, key, json_object_new_double_s((double)n / (double)one, text));
}

void nb_put_cpus(struct nb_writer *w, struct json_object *o, const char *key, uint64_t cap)
{
	put_fraction(w, o, key, cap, NB_CPU_CAP, 3);
}

void nb_put_share(struct nb_writer *w, struct json_object *o, const char *key, uint32_t pmy)
{
	put_fraction(w, o, key, pmy, 10000, 4);
}

void nb_put_reason(struct nb_writer *w, struct json_object *o, enum nb_reason r)
{
	nb_put_str(w, o, "reason", nb_reason_name(r));
	nb_put_str(w, o, "sentence", nb_reason_sentence(r));
}

void nb_put_set(struct nb_writer *w, struct json_object *o, const char *key,
		const struct nb_bitmap *set)
{
	struct json_object *array = json_object_new_array();

	NB_BITMAP_FOREACH (bit, set)
		nb_append(w, array, json_object_new_int(bit));
	nb_put(w, o, key, array);
}

int nb_finish(struct nb_writer *w, struct json_object *o, struct json_object **ret)
{
	if (w->nomem || !o) {
		json_object_put(o);
		return -ENOMEM;
	}
	*ret = o;
	return 0;
}

void nb_put_errno(struct nb_writer *w, struct json_object *o, const char *key, int error)
{
	const char *name = strerrorname_np(error);
	char number[24];

	snprintf(number, sizeof(number), "errno %d", error);
	nb_put(w, o, key, json_object_new_string(name ? name : number));
}
