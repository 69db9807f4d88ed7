/* SPDX-License-Identifier: MIT */
/*
 * inih splits KEY = VALUE lines; what it does not do, or does in a way that
 * surprises, is done by the reader that feeds it: line numbers, comments behind a
 * value, indented lines (it would take them for a continuation of the key above),
 * long lines and names (it would split or cut them), section headers (it does not
 * report an empty section).
 */
#include "nb/ini.h"

#include <errno.h>
#include <ini.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct parser {
	struct nb_ini ini;
	const struct nb_ini_ops *ops;
	const char *text;
	size_t len, pos;
	bool in_section;
};

const char *nb_ini_escape(const char *text, char *buf, size_t size)
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

int nb_ini_fail(struct nb_ini *i, const char *fmt, ...)
{
	size_t n;
	va_list ap;

	if (i->error)
		return i->error;
	i->error = -EINVAL;
	n = (size_t)snprintf(i->err.text, sizeof(i->err.text), "%s:%u: ", i->name, i->line);
	if (n < sizeof(i->err.text)) {
		va_start(ap, fmt);
		vsnprintf(i->err.text + n, sizeof(i->err.text) - n, fmt, ap);
		va_end(ap);
	}
	return -EINVAL;
}

/* What a callback returned, for good. */
static int note(struct parser *p, int r)
{
	if (r < 0 && !p->ini.error)
		p->ini.error = r;
	return r;
}

static bool is_blank(char ch)
{
	return ch == ' ' || ch == '\t';
}

static void trim(const char **start, const char **end)
{
	while (*start < *end && is_blank(**start))
		(*start)++;
	while (*start < *end && is_blank((*end)[-1]))
		(*end)--;
}

/* Called by inih for each KEY = VALUE; the reader has set the line and seen the section. */
static int handle(void *user, const char *section, const char *key, const char *value)
{
	struct parser *p = user;

	(void)section;
	if (!p->ini.error)
		note(p, p->ops->setting(&p->ini, key, value));
	return 1;
}

/* The end of what stands before a comment: a # or ; behind a blank. */
static const char *find_comment(const char *start, const char *end)
{
	for (const char *s = start + 1; s < end; s++)
		if ((*s == '#' || *s == ';') && is_blank(s[-1]))
			return s;
	return end;
}

/* start is behind the opening bracket. */
static int enter_section(struct parser *p, const char *start, const char *end)
{
	const char *close = memchr(start, ']', (size_t)(end - start)), *after = close + 1;
	char name[NB_INI_NAME_MAX + 1];
	size_t len;

	if (!close)
		return nb_ini_fail(&p->ini, "no ] behind the section's name (allowed: [SECTION])");
	if (after != end)
		return nb_ini_fail(&p->ini, "text behind the ] of a section (allowed: [SECTION])");
	trim(&start, &close);
	len = (size_t)(close - start);
	if (len > NB_INI_NAME_MAX)
		return nb_ini_fail(&p->ini,
				   "the section's name has %zu bytes (allowed: at most %d)", len,
				   NB_INI_NAME_MAX);
	memcpy(name, start, len);
	name[len] = '\0';
	p->in_section = true;
	return note(p, p->ops->section(&p->ini, name));
}

static int check_key_line(struct parser *p, const char *start, const char *end)
{
	const char *eq = memchr(start, '=', (size_t)(end - start)), *name_end = eq;
	char shown[64], name[NB_INI_LINE_MAX + 1];
	size_t len;

	if (!eq)
		return nb_ini_fail(&p->ini, "neither a section nor a setting (allowed: [SECTION], "
					    "KEY = VALUE, # comment)");
	trim(&start, &name_end);
	len = (size_t)(name_end - start);
	memcpy(name, start, len);
	name[len] = '\0';
	if (!len)
		return nb_ini_fail(&p->ini, "no key before the = (allowed: KEY = VALUE)");
	if (len > NB_INI_NAME_MAX)
		return nb_ini_fail(&p->ini, "the key has %zu bytes (allowed: at most %d)", len,
				   NB_INI_NAME_MAX);
	nb_ini_escape(name, shown, sizeof(shown));
	if (name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")])
		return nb_ini_fail(&p->ini, "\"%s\" is not a key (allowed: letters, digits and _)",
				   shown);
	if (!p->in_section)
		return nb_ini_fail(
			&p->ini, "%s: stands before the first section (allowed: [SECTION])", shown);
	return 0;
}

static int check_bytes(struct parser *p, const char *start, const char *end)
{
	for (const char *s = start; s < end; s++)
		if (((unsigned char)*s < 0x20 && *s != '\t') || *s == 0x7f)
			return nb_ini_fail(&p->ini, "control byte 0x%02x (allowed: text and tabs)",
					   (unsigned char)*s);
	return 0;
}

/* Reduces the line to what inih shall see: start and end; empty for a comment. */
static int prepare_line(struct parser *p, const char **start, const char **end)
{
	int r;

	if (p->ini.line == 1 && *end - *start >= 3 && memcmp(*start, "\xef\xbb\xbf", 3) == 0)
		*start += 3; /* byte order mark */
	if (*end > *start && (*end)[-1] == '\r')
		(*end)--;
	r = check_bytes(p, *start, *end);
	if (r < 0)
		return r;
	trim(start, end);
	if (*start == *end || **start == '#' || **start == ';') {
		*end = *start;
		return 0;
	}
	if (*end - *start > NB_INI_LINE_MAX)
		return nb_ini_fail(&p->ini, "the line has %td bytes (allowed: at most %d)",
				   *end - *start, NB_INI_LINE_MAX);
	*end = find_comment(*start, *end);
	trim(start, end);
	return **start == '[' ? enter_section(p, *start + 1, *end)
			      : check_key_line(p, *start, *end);
}

/* The reader that inih calls in place of fgets(). */
static char *read_line(char *buf, int size, void *stream)
{
	struct parser *p = stream;
	const char *start = p->text + p->pos, *end, *newline;
	size_t len;

	if (p->ini.error || p->pos >= p->len)
		return NULL;
	newline = memchr(start, '\n', p->len - p->pos);
	end = newline ? newline : p->text + p->len;
	p->pos = (size_t)(end - p->text) + 1;
	p->ini.line++;
	if (prepare_line(p, &start, &end) < 0)
		return NULL;
	len = (size_t)(end - start);
	if (len + 2 > (size_t)size) {
		nb_ini_fail(&p->ini, "the line is too long");
		return NULL;
	}
	memcpy(buf, start, len);
	memcpy(buf + len, "\n", 2);
	return buf;
}

int nb_ini_parse(const char *name, const char *text, size_t len, const struct nb_ini_ops *ops,
		 void *user, struct nb_config_error *ret_err)
{
	struct parser p = {
		.ini = {.name = name, .user = user}, .ops = ops, .text = text, .len = len};
	int r = ini_parse_stream(read_line, &p, handle, &p);

	if (!p.ini.error && r == -2)
		p.ini.error = -ENOMEM;
	else if (!p.ini.error && r != 0) /* the reader lets nothing through that inih refuses */
		nb_ini_fail(&p.ini, "not understood");
	if (p.ini.error && ret_err)
		*ret_err = p.ini.err;
	return p.ini.error;
}
