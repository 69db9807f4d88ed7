/* SPDX-License-Identifier: MIT */
/* One value: from its text, back to text, and what is allowed. Integers only. */
#include "core/config_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

struct unit {
	const char *name; /* "" where a bare number is meant */
	uint64_t factor;
};

struct measure {
	const char *what;
	const char *suffix; /* for the message when the unit is missing */
	uint64_t granule;   /* values are whole multiples, so that they can be written back */
	struct unit units[4];
};

static const struct measure measure_uint = {"number", "", 1, {{"", 1}}};
static const struct measure measure_time = {
	"time", "ms, s or min", 1000, {{"ms", 1000}, {"s", 1000000}, {"min", 60000000}}};
static const struct measure measure_size = {
	"size", "K, M or G", 1024, {{"K", 1 << 10}, {"M", 1 << 20}, {"G", 1 << 30}}};
static const struct measure measure_rate = {
	"rate", "K/s, M/s or G/s", 1024, {{"K/s", 1 << 10}, {"M/s", 1 << 20}, {"G/s", 1 << 30}}};
static const struct measure measure_share = {"share", "%", 1, {{"%", 100}}};

static const struct measure *measure_of(enum nb_type type)
{
	switch (type) {
	case NB_TYPE_UINT:
		return &measure_uint;
	case NB_TYPE_TIME:
		return &measure_time;
	case NB_TYPE_SIZE:
		return &measure_size;
	case NB_TYPE_RATE:
		return &measure_rate;
	case NB_TYPE_SHARE:
		return &measure_share;
	case NB_TYPE_BOOL:
	case NB_TYPE_ENUM:
	case NB_TYPE_NAME:
	case NB_TYPE_LIST:
	case NB_TYPE_NODES:
		break;
	}
	return NULL;
}

const char *nb_config_escape(const char *text, char *buf, size_t size)
{
	size_t n = 0;

	for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
		if (n + 8 > size) { /* "\xNN", "..." and NUL */
			memcpy(buf + n, "...", 3);
			n += 3;
			break;
		}
		if (*p >= 0x20 && *p < 0x7f)
			buf[n++] = (char)*p;
		else
			n += (size_t)snprintf(buf + n, 5, "\\x%02x", *p);
	}
	buf[n] = '\0';
	return buf;
}

__attribute__((format(printf, 3, 4))) static int wrong(char *why, size_t size, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, size, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

/* A decimal number with an optional fraction, times its unit's factor. */
static int parse_measure(const struct nb_config_key *k, const struct measure *m, const char *text,
			 uint64_t *ret, char *why, size_t why_size)
{
	uint64_t whole = 0, fraction = 0, scale = 1, v, part;
	bool overflow = false;
	const struct unit *unit = NULL;
	const char *p = text;
	char shown[48];

	nb_config_escape(text, shown, sizeof(shown));
	if (*p < '0' || *p > '9')
		return wrong(why, why_size, "\"%s\" is not a %s", shown, m->what);
	for (; *p >= '0' && *p <= '9'; p++)
		overflow |= __builtin_mul_overflow(whole, 10, &whole) ||
			    __builtin_add_overflow(whole, (uint64_t)(*p - '0'), &whole);
	if (*p == '.') {
		if (p[1] < '0' || p[1] > '9')
			return wrong(why, why_size, "\"%s\" is not a %s", shown, m->what);
		for (p++; *p >= '0' && *p <= '9'; p++) {
			if (scale >= UINT64_C(1000000000)) {
				if (*p != '0')
					return wrong(why, why_size, "\"%s\" has too many digits",
						     shown);
				continue;
			}
			fraction = fraction * 10 + (uint64_t)(*p - '0');
			scale *= 10;
		}
	}
	for (size_t i = 0; i < sizeof(m->units) / sizeof(m->units[0]) && m->units[i].name; i++)
		if (strcmp(p, m->units[i].name) == 0)
			unit = &m->units[i];
	if (!unit && !*p && !overflow && whole == 0 && fraction == 0)
		unit = &m->units[0]; /* nothing is nothing in any unit */
	if (!unit && !*p)
		return wrong(why, why_size, "\"%s\" has no unit: %s", shown, m->suffix);
	if (!unit && !*m->suffix)
		return wrong(why, why_size, "\"%s\" is not a whole number", shown);
	if (!unit) {
		char u[24];

		return wrong(why, why_size, "unknown unit \"%s\", not %s",
			     nb_config_escape(p, u, sizeof(u)), m->suffix);
	}
	overflow |= __builtin_mul_overflow(whole, unit->factor, &v);
	part = fraction * unit->factor; /* below 10^9 · 2^30 */
	overflow |= __builtin_add_overflow(v, part / scale, &v);
	if (overflow || v > k->max)
		return wrong(why, why_size, "\"%s\" is too large", shown);
	if (part % scale != 0 || v % m->granule != 0) {
		if (unit == &m->units[0] && m->granule == 1 && !*m->suffix)
			return wrong(why, why_size, "\"%s\" is not a whole number", shown);
		return wrong(why, why_size, "\"%s\" is too fine: whole %s only", shown,
			     m == &measure_share ? "hundredths of 1%" : m->units[0].name);
	}
	if (v < k->min)
		return wrong(why, why_size, "\"%s\" is too small", shown);
	*ret = v;
	return 0;
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
			if (k->choices[i].unsupported)
				return wrong(why, why_size, "\"%s\" is not supported yet", text);
			*ret = i;
			return 0;
		}
		break;
	case NB_TYPE_RATE:
		if (strcmp(text, "none") == 0) {
			*ret = 0;
			return 0;
		}
		return parse_measure(k, measure_of(k->type), text, ret, why, why_size);
	case NB_TYPE_UINT:
	case NB_TYPE_TIME:
	case NB_TYPE_SIZE:
	case NB_TYPE_SHARE:
		return parse_measure(k, measure_of(k->type), text, ret, why, why_size);
	case NB_TYPE_NAME:
	case NB_TYPE_LIST:
	case NB_TYPE_NODES:
		return -EINVAL; /* not scalars */
	}
	return wrong(why, why_size, "unknown value \"%s\"",
		     nb_config_escape(text, shown, sizeof(shown)));
}

int nb_config_value_parse(const struct nb_config_key *k, const char *text, uint64_t *ret, char *why,
			  size_t why_size)
{
	uint64_t v, dflt;
	char shown[48], unused[8];
	int r;

	if (!*text)
		return wrong(why, why_size, "needs a value");
	r = parse_scalar(k, text, &v, why, why_size);
	if (r < 0)
		return r;
	if (k->unsupported) {
		r = parse_scalar(k, k->dflt, &dflt, unused, sizeof(unused));
		if (r < 0)
			return r;
		if (v != dflt)
			return wrong(why, why_size, "\"%s\" is not supported yet",
				     nb_config_escape(text, shown, sizeof(shown)));
	}
	*ret = v;
	return 0;
}

void nb_config_value_format(const struct nb_config_key *k, uint64_t v, char *buf, size_t size)
{
	const struct measure *m = measure_of(k->type);
	const struct unit *unit;

	switch (k->type) {
	case NB_TYPE_BOOL:
		snprintf(buf, size, "%s", v ? "yes" : "no");
		break;
	case NB_TYPE_ENUM:
		snprintf(buf, size, "%s", k->choices[v].name);
		break;
	case NB_TYPE_SHARE:
		if (v % 100 == 0)
			snprintf(buf, size, "%" PRIu64 "%%", v / 100);
		else
			snprintf(buf, size, "%" PRIu64 ".%0*" PRIu64 "%%", v / 100, v % 10 ? 2 : 1,
				 v % 10 ? v % 100 : v % 100 / 10);
		break;
	case NB_TYPE_RATE:
	case NB_TYPE_UINT:
	case NB_TYPE_TIME:
	case NB_TYPE_SIZE:
		if (v == 0) {
			snprintf(buf, size, "%s", k->type == NB_TYPE_RATE ? "none" : "0");
			break;
		}
		/* The largest unit that says it in a whole number; a lone minute reads better in
		 * seconds. */
		unit = &m->units[0];
		for (size_t i = 1; i < sizeof(m->units) / sizeof(m->units[0]) && m->units[i].name;
		     i++)
			if (v % m->units[i].factor == 0 &&
			    !(k->type == NB_TYPE_TIME && i == 2 && v < 2 * m->units[i].factor))
				unit = &m->units[i];
		snprintf(buf, size, "%" PRIu64 "%s", v / unit->factor, unit->name);
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
