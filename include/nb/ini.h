/* SPDX-License-Identifier: MIT */
/*
 * Text of sections and settings, for the configuration and for scenarios of the
 * simulator, and the measures that their values are written in. No files: whoever
 * owns them hands over the text.
 *
 * Lines end by LF or CR LF and have at most 190 bytes, other than comments, which
 * begin with # or ; at the start of a line or behind a blank. A line is [SECTION],
 * KEY = VALUE, or nothing; indentation means nothing. A byte order mark may stand
 * at the very start. Names have at most 48 bytes. Control bytes are refused.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "nb/config.h"

#define NB_INI_LINE_MAX 190
#define NB_INI_NAME_MAX 48

struct nb_ini {
	const char *name; /* of the text, for messages */
	uint32_t line;    /* that is being handled, from 1 */
	int error;        /* 0, or what the first failure was */
	struct nb_config_error err;
	void *user;
};

struct nb_ini_ops {
	/* [SECTION], without blanks around the name. Also called when nothing follows it. */
	int (*section)(struct nb_ini *i, const char *name);
	/* KEY = VALUE, without blanks around them; never before the first section. */
	int (*setting)(struct nb_ini *i, const char *key, const char *value);
};

/* Calls ops until one fails or the text ends. The callbacks return 0, or what
 * nb_ini_fail() returned, or -ENOMEM. On -EINVAL ret_err holds "NAME:LINE: …". */
int nb_ini_parse(const char *name, const char *text, size_t len, const struct nb_ini_ops *ops,
		 void *user, struct nb_config_error *ret_err);

/* Says what is wrong with the present line; returns -EINVAL. */
int nb_ini_fail(struct nb_ini *i, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Printable ASCII for messages; the rest as \xNN; cut with "..." when too long. */
const char *nb_ini_escape(const char *text, char *buf, size_t size);

enum nb_measure {
	NB_MEASURE_NUMBER,
	NB_MEASURE_TIME,  /* "1.5s", "20ms", "2min": in µs, whole ms */
	NB_MEASURE_SIZE,  /* "64M": K, M or G; in bytes, whole K */
	NB_MEASURE_RATE,  /* "1280M/s": in bytes per second, whole K */
	NB_MEASURE_SHARE, /* "12.5%": in permyriad */
};

/* -EINVAL, with what is wrong with the text in why. A lone 0 needs no unit. */
int nb_measure_parse(enum nb_measure m, const char *text, uint64_t min, uint64_t max, uint64_t *ret,
		     char *why, size_t why_size);
/* So that it parses to the same value. */
void nb_measure_format(enum nb_measure m, uint64_t v, char *buf, size_t size);
