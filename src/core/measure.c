/* SPDX-License-Identifier: MIT */
/* Numbers with units, to integers and back. No floating point. */
#include "nb/ini.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define N_UNITS 3

struct unit {
	const char *name; /* "" where a bare number is meant; NULL: no more */
	uint64_t factor;
};

static const struct measure {
	const char *what;
	const char *suffix; /* for the message when the unit is missing */
	const char *finest; /* for the message when a fraction is too fine */
	uint64_t granule;   /* values are whole multiples, so that they can be written back */
	struct unit units[N_UNITS];
} measures[] = {
	[NB_MEASURE_NUMBER] = {"number", "", "", 1, {{"", 1}}},
	[NB_MEASURE_TIME] = {"time",
			     "ms, s or min",
			     "ms",
			     1000,
			     {{"ms", 1000}, {"s", 1000000}, {"min", 60000000}}},
	[NB_MEASURE_SIZE] =
		{"size", "K, M or G", "K", 1024, {{"K", 1 << 10}, {"M", 1 << 20}, {"G", 1 << 30}}},
	[NB_MEASURE_RATE] = {"rate",
			     "K/s, M/s or G/s",
			     "K/s",
			     1024,
			     {{"K/s", 1 << 10}, {"M/s", 1 << 20}, {"G/s", 1 << 30}}},
	[NB_MEASURE_SHARE] = {"share", "%", "hundredths of 1%", 1, {{"%", 100}}},
};

__attribute__((format(printf, 3, 4))) static int wrong(char *why, size_t size, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, size, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

struct number {
	uint64_t whole, fraction, scale; /* whole + fraction / scale */
	bool overflow;                   /* whole is too large for its type */
	const char *end;
};

static int parse_number(const struct measure *m, const char *text, const char *shown,
			struct number *ret, char *why, size_t why_size)
{
	struct number n = {.scale = 1};
	const char *p = text;

	if (*p < '0' || *p > '9')
		return wrong(why, why_size, "\"%s\" is not a %s", shown, m->what);
	for (; *p >= '0' && *p <= '9'; p++)
		n.overflow |= __builtin_mul_overflow(n.whole, 10, &n.whole) ||
			      __builtin_add_overflow(n.whole, (uint64_t)(*p - '0'), &n.whole);
	if (*p == '.') {
		if (p[1] < '0' || p[1] > '9')
			return wrong(why, why_size, "\"%s\" is not a %s", shown, m->what);
		for (p++; *p >= '0' && *p <= '9'; p++) {
			if (n.scale >= UINT64_C(1000000000)) {
				if (*p != '0')
					return wrong(why, why_size, "\"%s\" has too many digits",
						     shown);
				continue;
			}
			n.fraction = n.fraction * 10 + (uint64_t)(*p - '0');
			n.scale *= 10;
		}
	}
	n.end = p;
	*ret = n;
	return 0;
}

static int find_unit(const struct measure *m, const struct number *n, const char *shown,
		     const struct unit **ret, char *why, size_t why_size)
{
	char u[24];

	for (size_t i = 0; i < N_UNITS && m->units[i].name; i++)
		if (strcmp(n->end, m->units[i].name) == 0) {
			*ret = &m->units[i];
			return 0;
		}
	if (!*n->end && !n->overflow && n->whole == 0 && n->fraction == 0) {
		*ret = &m->units[0]; /* nothing is nothing in any unit */
		return 0;
	}
	if (!*m->suffix)
		return wrong(why, why_size, "\"%s\" is not a whole number", shown);
	if (!*n->end)
		return wrong(why, why_size, "\"%s\" has no unit: %s", shown, m->suffix);
	return wrong(why, why_size, "unknown unit \"%s\", not %s",
		     nb_ini_escape(n->end, u, sizeof(u)), m->suffix);
}

int nb_measure_parse(enum nb_measure measure, const char *text, uint64_t min, uint64_t max,
		     uint64_t *ret, char *why, size_t why_size)
{
	const struct measure *m = &measures[measure];
	const struct unit *unit = NULL;
	struct number n = {.scale = 1};
	uint64_t v, part;
	bool overflow;
	char shown[48];
	int r;

	nb_ini_escape(text, shown, sizeof(shown));
	r = parse_number(m, text, shown, &n, why, why_size);
	if (r == 0)
		r = find_unit(m, &n, shown, &unit, why, why_size);
	if (r < 0)
		return r;
	overflow = n.overflow || __builtin_mul_overflow(n.whole, unit->factor, &v);
	part = n.fraction * unit->factor; /* below 10^9 · 2^30 */
	if (overflow || __builtin_add_overflow(v, part / n.scale, &v) || v > max)
		return wrong(why, why_size, "\"%s\" is too large", shown);
	if (part % n.scale != 0 || v % m->granule != 0) {
		if (!*m->suffix)
			return wrong(why, why_size, "\"%s\" is not a whole number", shown);
		return wrong(why, why_size, "\"%s\" is too fine: whole %s only", shown, m->finest);
	}
	if (v < min)
		return wrong(why, why_size, "\"%s\" is too small", shown);
	*ret = v;
	return 0;
}

void nb_measure_format(enum nb_measure measure, uint64_t v, char *buf, size_t size)
{
	const struct measure *m = &measures[measure];
	const struct unit *unit = &m->units[0];

	if (measure == NB_MEASURE_SHARE && v % 100 != 0) {
		snprintf(buf, size, "%" PRIu64 ".%0*" PRIu64 "%%", v / 100, v % 10 ? 2 : 1,
			 v % 10 ? v % 100 : v % 100 / 10);
		return;
	}
	if (v == 0) {
		snprintf(buf, size, "0%s", measure == NB_MEASURE_SHARE ? "%" : "");
		return;
	}
	/* The largest unit that says it in a whole number; a lone minute reads better in seconds.
	 */
	for (size_t i = 1; i < N_UNITS && m->units[i].name; i++)
		if (v % m->units[i].factor == 0 &&
		    !(measure == NB_MEASURE_TIME && i == 2 && v < 2 * m->units[i].factor))
			unit = &m->units[i];
	snprintf(buf, size, "%" PRIu64 "%s", v / unit->factor, unit->name);
}
