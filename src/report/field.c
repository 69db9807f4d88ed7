/* SPDX-License-Identifier: MIT */
#include "report/field.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "report/text.h"
#include "report/units.h"

_Static_assert(NB_UNIT_MAX <= NB_FIELD_MAX, "a unit fits in the buffer of a field");

struct json_object *nb_field(struct json_object *o, const char *key)
{
	struct json_object *value = NULL;

	if (!json_object_is_type(o, json_type_object))
		return NULL;
	json_object_object_get_ex(o, key, &value);
	return value;
}

static bool number(struct json_object *o, const char *key, struct json_object **ret)
{
	*ret = nb_field(o, key);
	return json_object_is_type(*ret, json_type_int) ||
	       json_object_is_type(*ret, json_type_double);
}

int64_t nb_field_int(struct json_object *o, const char *key, int64_t absent)
{
	struct json_object *value;

	return number(o, key, &value) ? json_object_get_int64(value) : absent;
}

double nb_field_double(struct json_object *o, const char *key, double absent)
{
	struct json_object *value;

	return number(o, key, &value) ? json_object_get_double(value) : absent;
}

size_t nb_field_count(struct json_object *o, const char *key)
{
	struct json_object *value = nb_field(o, key);

	return json_object_is_type(value, json_type_array) ? json_object_array_length(value) : 0;
}

struct json_object *nb_field_item(struct json_object *o, const char *key, size_t i)
{
	return i < nb_field_count(o, key) ? json_object_array_get_idx(nb_field(o, key), i) : NULL;
}

static const char *none(char buf[NB_FIELD_MAX])
{
	return strcpy(buf, "-");
}

const char *nb_field_text(struct json_object *o, const char *key, char buf[NB_FIELD_MAX])
{
	struct json_object *value = nb_field(o, key);

	if (!json_object_is_type(value, json_type_string))
		return none(buf);
	nb_text_show(json_object_get_string(value), (size_t)json_object_get_string_len(value), buf,
		     NB_FIELD_MAX);
	return buf;
}

const char *nb_field_number(struct json_object *o, const char *key, char buf[NB_FIELD_MAX])
{
	struct json_object *value;

	if (!number(o, key, &value))
		return none(buf);
	snprintf(buf, NB_FIELD_MAX, "%" PRId64, json_object_get_int64(value));
	return buf;
}

const char *nb_field_bytes(struct json_object *o, const char *key, char buf[NB_FIELD_MAX])
{
	int64_t n = nb_field_int(o, key, -1);

	return n < 0 ? none(buf) : nb_unit_bytes(buf, (uint64_t)n);
}

const char *nb_field_time(struct json_object *o, const char *key, char buf[NB_FIELD_MAX])
{
	struct json_object *value;

	return number(o, key, &value) ? nb_unit_time(buf, json_object_get_int64(value)) : none(buf);
}

/* Numbers that no machine has are not printed at length. */
static bool sane(double d)
{
	return d >= -1e9 && d <= 1e9;
}

const char *nb_field_cpus(struct json_object *o, const char *key, char buf[NB_FIELD_MAX])
{
	double d = nb_field_double(o, key, -1);

	return d < 0 || !sane(d) ? none(buf) : nb_unit_cpus(buf, d);
}

const char *nb_field_share(struct json_object *o, const char *key, char buf[NB_FIELD_MAX])
{
	double d = nb_field_double(o, key, -1);

	return d < 0 || !sane(d) ? none(buf) : nb_unit_share(buf, d);
}

const char *nb_field_list(struct json_object *o, const char *key, char buf[NB_FIELD_MAX])
{
	size_t n = nb_field_count(o, key), len = 0;

	if (!n)
		return none(buf);
	for (size_t i = 0; i < n && len < NB_FIELD_MAX - 32; i++)
		len += (size_t)snprintf(buf + len, NB_FIELD_MAX - len, "%s%" PRId64, i ? " " : "",
					json_object_get_int64(nb_field_item(o, key, i)));
	return buf;
}
