/* SPDX-License-Identifier: MIT */
/* One value: from its text, back to text, and what is allowed. */
#include "core/config_internal.h"

#include <errno.h>
#include <string.h>

static enum nb_measure measure_of(enum nb_type type)
{
	switch (type) {
	case NB_TYPE_TIME:
		return NB_MEASURE_TIME;
	case NB_TYPE_SIZE:
		return NB_MEASURE_SIZE;
	case NB_TYPE_RATE:
		return NB_MEASURE_RATE;
	case NB_TYPE_SHARE:
		return NB_MEASURE_SHARE;
	case NB_TYPE_UINT:
	case NB_TYPE_BOOL:
	case NB_TYPE_ENUM:
	case NB_TYPE_NAME:
	case NB_TYPE_LIST:
	case NB_TYPE_NODES:
		break;
	}
	return NB_MEASURE_NUMBER;
}

static int parse_bool(const char *text, uint64_t *ret)
{
	static const struct {
		const char *name;
		bool value;
	} words[] = {{"yes", true}, {"no", false},  {"true", true}, {"false", false},
		     {"on", true},  {"off", false}, {"1", true},    {"0", false}};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcmp(text, words[i].name) == 0) {
			*ret = words[i].value;
			return 0;
		}
	return -EINVAL;
}

static int parse_scalar(const struct nb_config_key *k, const char *text, uint64_t *ret, char *why,
			size_t why_size)
{
	char shown[48];

	switch (k->type) {
	case NB_TYPE_BOOL:
		if (parse_bool(text, ret) == 0)
			return 0;
		break;
	case NB_TYPE_ENUM:
		for (uint64_t i = 0; k->choices[i].name; i++) {
			if (strcmp(text, k->choices[i].name) != 0)
				continue;
			if (k->choices[i].unsupported) {
				snprintf(why, why_size, "\"%s\" is not supported yet", text);
				return -EINVAL;
			}
			*ret = i;
			return 0;
		}
		break;
	case NB_TYPE_RATE:
		if (strcmp(text, "none") == 0) {
			*ret = 0;
			return 0;
		}
		return nb_measure_parse(measure_of(k->type), text, k->min, k->max, ret, why,
					why_size);
	case NB_TYPE_UINT:
	case NB_TYPE_TIME:
	case NB_TYPE_SIZE:
	case NB_TYPE_SHARE:
		return nb_measure_parse(measure_of(k->type), text, k->min, k->max, ret, why,
					why_size);
	case NB_TYPE_NAME:
	case NB_TYPE_LIST:
	case NB_TYPE_NODES:
		return -EINVAL; /* not scalars */
	}
	snprintf(why, why_size, "unknown value \"%s\"", nb_ini_escape(text, shown, sizeof(shown)));
	return -EINVAL;
}

int nb_config_value_parse(const struct nb_config_key *k, const char *text, uint64_t *ret, char *why,
			  size_t why_size)
{
	uint64_t v, dflt;
	char shown[48], unused[8];
	int r;

	if (!*text) {
		snprintf(why, why_size, "needs a value");
		return -EINVAL;
	}
	r = parse_scalar(k, text, &v, why, why_size);
	if (r < 0)
		return r;
	if (k->unsupported) {
		r = parse_scalar(k, k->dflt, &dflt, unused, sizeof(unused));
		if (r < 0)
			return r;
		if (v != dflt) {
			snprintf(why, why_size, "\"%s\" is not supported yet",
				 nb_ini_escape(text, shown, sizeof(shown)));
			return -EINVAL;
		}
	}
	*ret = v;
	return 0;
}

void nb_config_value_format(const struct nb_config_key *k, uint64_t v, char *buf, size_t size)
{
	switch (k->type) {
	case NB_TYPE_BOOL:
		snprintf(buf, size, "%s", v ? "yes" : "no");
		break;
	case NB_TYPE_ENUM:
		snprintf(buf, size, "%s", k->choices[v].name);
		break;
	case NB_TYPE_RATE:
		if (v == 0) {
			snprintf(buf, size, "none");
			break;
		}
		nb_measure_format(NB_MEASURE_RATE, v, buf, size);
		break;
	case NB_TYPE_UINT:
	case NB_TYPE_TIME:
	case NB_TYPE_SIZE:
	case NB_TYPE_SHARE:
		nb_measure_format(measure_of(k->type), v, buf, size);
		break;
	case NB_TYPE_NAME:
	case NB_TYPE_LIST:
	case NB_TYPE_NODES:
		buf[0] = '\0'; /* not scalars */
		break;
	}
}

static void allowed_choices(const struct nb_config_key *k, char *buf, size_t size)
{
	size_t n = 0;

	buf[0] = '\0';
	for (size_t i = 0; k->choices[i].name && n < size; i++)
		if (!k->choices[i].unsupported)
			n += (size_t)snprintf(buf + n, size - n, "%s%s", n ? ", " : "",
					      k->choices[i].name);
}

void nb_config_value_allowed(const struct nb_config_key *k, char *buf, size_t size)
{
	char lo[32], hi[32];

	if (k->unsupported) {
		snprintf(buf, size, "%s", k->dflt);
		return;
	}
	switch (k->type) {
	case NB_TYPE_BOOL:
		snprintf(buf, size, "yes, no");
		break;
	case NB_TYPE_ENUM:
		allowed_choices(k, buf, size);
		break;
	case NB_TYPE_UINT:
	case NB_TYPE_TIME:
	case NB_TYPE_SIZE:
	case NB_TYPE_RATE:
	case NB_TYPE_SHARE:
		nb_config_value_format(k, k->min, lo, sizeof(lo));
		nb_config_value_format(k, k->max, hi, sizeof(hi));
		snprintf(buf, size, "%s%s to %s", k->type == NB_TYPE_RATE ? "none, or " : "", lo,
			 hi);
		break;
	case NB_TYPE_NAME:
		snprintf(buf, size, "the name of a group, or nothing");
		break;
	case NB_TYPE_LIST:
		snprintf(buf, size, "names or shell patterns");
		break;
	case NB_TYPE_NODES:
		snprintf(buf, size, "node numbers such as 0-3,8, up to %d", NB_CONFIG_NODE_MAX);
		break;
	}
}
