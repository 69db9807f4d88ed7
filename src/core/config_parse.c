/* SPDX-License-Identifier: MIT */
/*
 * One file's text. inih splits KEY = VALUE lines; what it does not do, or does
 * in a way that surprises, is done by the reader that feeds it: line numbers,
 * comments behind a value, indented lines (it would take them for a continuation
 * of the key above), long lines and names (it would split or cut them), section
 * headers (it does not report an empty section).
 */
#include "core/config_internal.h"

#include <errno.h>
#include <ini.h>
#include <stdlib.h>
#include <string.h>

#define MAIN_SCOPE SIZE_MAX

struct parser {
	struct nb_config *c;
	const char *text;
	size_t len, pos;
	uint32_t file, line;
	bool in_section;
	enum nb_section section;
	size_t group; /* index, with NB_SECTION_GROUP */
	int error;
	struct nb_config_error err;
};

static const char *file_name(const struct parser *p)
{
	return p->c->builder->files[p->file - 1];
}

/* A mistake in the form of a line. */
#define syntax_error(p, fmt, ...) \
	({ \
		nb_config_error_set(&(p)->err, "%s:%u: " fmt, file_name(p), (p)->line, \
				    ##__VA_ARGS__); \
		(p)->error = -EINVAL; \
		-EINVAL; \
	})

static int value_error(struct parser *p, const char *key, const char *why, const char *allowed)
{
	bool group = p->section == NB_SECTION_GROUP;

	return syntax_error(p, "[%s%s%s] %s: %s (allowed: %s)", nb_section_names[p->section],
			    group ? " " : "", group ? p->c->groups[p->group].name : "", key, why,
			    allowed);
}

static int out_of_memory(struct parser *p)
{
	p->error = -ENOMEM;
	return -ENOMEM;
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

/* --- values ---------------------------------------------------------------- */

static struct nb_config_scope *scope_of(struct parser *p)
{
	return p->section == NB_SECTION_GROUP ? &p->c->builder->groups[p->group]
					      : &p->c->builder->main;
}

static void list_clear(struct nb_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->items[i]);
	l->n = 0;
}

static int list_add(struct parser *p, int key, struct nb_list *l, const char *item, size_t len)
{
	struct nb_origin **origins = &scope_of(p)->items[key], *o;
	char **items, *copy;

	items = reallocarray(l->items, l->n + 1, sizeof(*items));
	if (!items)
		return out_of_memory(p);
	l->items = items;
	o = reallocarray(*origins, l->n + 1, sizeof(*o));
	if (!o)
		return out_of_memory(p);
	*origins = o;
	copy = strndup(item, len);
	if (!copy)
		return out_of_memory(p);
	o[l->n] = (struct nb_origin){p->file, p->line};
	l->items[l->n++] = copy;
	return 0;
}

static bool is_separator(char ch)
{
	return is_blank(ch) || ch == ',';
}

/* Names apart by blanks or commas; "quoted" where a name holds one of them. */
static int set_list(struct parser *p, int key, struct nb_list *l, const char *text)
{
	const char *name = nb_config_keys[key].name, *allowed = "names or shell patterns", *end;
	int r;

	if (!*text) {
		list_clear(l);
		return 0;
	}
	for (const char *s = text;; s = end) {
		while (is_separator(*s))
			s++;
		if (!*s)
			return 0;
		if (*s == '"') {
			end = strchr(++s, '"');
			if (!end)
				return value_error(p, name, "a quote is not closed", allowed);
			if (end[1] && !is_separator(end[1]))
				return value_error(p, name, "text behind a closing quote", allowed);
		} else {
			for (end = s; *end && !is_separator(*end); end++)
				if (*end == '"')
					return value_error(p, name, "a quote within a name",
							   allowed);
		}
		if (end == s)
			return value_error(p, name, "an empty name", allowed);
		if (end - s > NB_CONFIG_ITEM_MAX)
			return value_error(p, name, "a name is longer than 128 bytes", allowed);
		r = list_add(p, key, l, s, (size_t)(end - s));
		if (r < 0)
			return r;
		if (*end == '"')
			end++;
	}
}

static int set_nodes(struct parser *p, const struct nb_config_key *k, struct nb_bitmap *b,
		     const char *text)
{
	_cleanup_bitmap_ struct nb_bitmap add = {0};
	char allowed[96], why[96], shown[48];
	int r;

	if (!*text) {
		nb_bitmap_zero(b);
		return 0;
	}
	r = nb_bitmap_parse_list(&add, text, strlen(text));
	if (r == -ENOMEM)
		return out_of_memory(p);
	nb_config_value_allowed(k, allowed, sizeof(allowed));
	nb_config_escape(text, shown, sizeof(shown));
	if (r == -ERANGE || (r == 0 && nb_bitmap_next(&add, NB_CONFIG_NODE_MAX + 1) >= 0)) {
		snprintf(why, sizeof(why), "\"%s\" has a node that is too large", shown);
		return value_error(p, k->name, why, allowed);
	}
	if (r < 0 || nb_bitmap_empty(&add)) {
		snprintf(why, sizeof(why), "\"%s\" is not a list of nodes", shown);
		return value_error(p, k->name, why, allowed);
	}
	return nb_bitmap_or(b, &add) < 0 ? out_of_memory(p) : 0;
}

/* Names of users and groups, as the tools that make them allow. */
static int set_name(struct parser *p, const struct nb_config_key *k, char **field, const char *text)
{
	char *copy = NULL, allowed[64], why[96], shown[48];
	size_t n =
		strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-$");

	if (text[n] || n > 32) {
		nb_config_value_allowed(k, allowed, sizeof(allowed));
		snprintf(why, sizeof(why), "\"%s\" is not a name",
			 nb_config_escape(text, shown, sizeof(shown)));
		return value_error(p, k->name, why, allowed);
	}
	if (n) {
		copy = strdup(text);
		if (!copy)
			return out_of_memory(p);
	}
	free(*field);
	*field = copy;
	return 0;
}

static int set_value(struct parser *p, int key, struct nb_group *g, const char *text)
{
	const struct nb_config_key *k = &nb_config_keys[key];
	void *field = nb_config_field(p->c, g, k);
	char why[160], allowed[160];
	uint64_t v;
	int r;

	switch (k->type) {
	case NB_TYPE_LIST:
		return set_list(p, key, field, text);
	case NB_TYPE_NODES:
		r = set_nodes(p, k, field, text);
		if (r == 0 && g)
			g->nodes_set = !nb_bitmap_empty(&g->nodes);
		return r;
	case NB_TYPE_NAME:
		return set_name(p, k, field, text);
	case NB_TYPE_BOOL:
	case NB_TYPE_UINT:
	case NB_TYPE_TIME:
	case NB_TYPE_SIZE:
	case NB_TYPE_RATE:
	case NB_TYPE_SHARE:
	case NB_TYPE_ENUM:
		break;
	}
	r = nb_config_value_parse(k, text, &v, why, sizeof(why));
	if (r < 0) {
		nb_config_value_allowed(k, allowed, sizeof(allowed));
		return value_error(p, k->name, why, allowed);
	}
	nb_config_store(field, k, v);
	return 0;
}

static int unknown_key(struct parser *p, const char *name)
{
	char allowed[420], why[64] = "unknown key";
	size_t n = 0;

	for (size_t i = 0; i < NB_CONFIG_N_KEYS; i++) {
		const struct nb_config_key *k = &nb_config_keys[i];

		if (nb_config_key_fits(k, p->section) && n < sizeof(allowed))
			n += (size_t)snprintf(allowed + n, sizeof(allowed) - n, "%s%s",
					      n ? ", " : "", k->name);
		else if (strcmp(k->name, name) == 0)
			snprintf(why, sizeof(why), "unknown key here, it belongs to [%s]",
				 nb_section_names[k->section]);
	}
	return value_error(p, name, why, allowed);
}

/* Called by inih for each KEY = VALUE; the reader has set line and section. */
static int handle(void *user, const char *section, const char *name, const char *value)
{
	struct parser *p = user;
	struct nb_group *g = NULL;
	struct nb_origin *o;
	char why[64];
	int key;

	(void)section;
	if (p->error)
		return 1;
	key = nb_config_key_find(p->section, name);
	if (key < 0) {
		unknown_key(p, name);
		return 1;
	}
	if (p->section == NB_SECTION_GROUP)
		g = &p->c->groups[p->group];
	o = &scope_of(p)->key[key];
	if (o->file == p->file && !nb_config_key_repeats(&nb_config_keys[key])) {
		snprintf(why, sizeof(why), "already set in line %u", o->line);
		value_error(p, name, why, "once in a file");
		return 1;
	}
	if (set_value(p, key, g, value) == 0)
		*o = (struct nb_origin){p->file, p->line};
	return 1;
}

/* --- sections -------------------------------------------------------------- */

static int add_group(struct parser *p, const char *name)
{
	struct nb_config *c = p->c;
	struct nb_config_scope *scopes;
	struct nb_group *groups, *g;
	char why[8];
	uint64_t v;
	int r;

	scopes = reallocarray(c->builder->groups, c->n_groups + 1, sizeof(*scopes));
	if (!scopes)
		return out_of_memory(p);
	c->builder->groups = scopes;
	groups = reallocarray(c->groups, c->n_groups + 1, sizeof(*groups));
	if (!groups)
		return out_of_memory(p);
	c->groups = groups;
	g = &groups[c->n_groups];
	memset(g, 0, sizeof(*g));
	memset(&scopes[c->n_groups], 0, sizeof(*scopes));
	scopes[c->n_groups].header = (struct nb_origin){p->file, p->line};
	for (size_t i = 0; i < NB_CONFIG_N_KEYS; i++) {
		const struct nb_config_key *k = &nb_config_keys[i];

		if (k->section != NB_SECTION_GROUP)
			continue; /* policy and migrate keys: by nb_config_finish() */
		if (k->type == NB_TYPE_LIST)
			((struct nb_list *)nb_config_field(c, g, k))->kind = k->list_kind;
		if (!nb_config_key_scalar(k))
			continue;
		r = nb_config_value_parse(k, k->dflt, &v, why, sizeof(why));
		if (r < 0)
			return r;
		nb_config_store(nb_config_field(c, g, k), k, v);
	}
	g->name = strdup(name);
	if (!g->name)
		return out_of_memory(p);
	p->group = c->n_groups++;
	return 0;
}

static int enter_group(struct parser *p, const char *name)
{
	size_t n =
		strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.:@-");
	char shown[64];

	if (!*name)
		return syntax_error(p, "[group]: has no name (allowed: [group NAME])");
	if (name[n])
		return syntax_error(
			p, "[group %s]: not a name (allowed: letters, digits and _ . : @ -)",
			nb_config_escape(name, shown, sizeof(shown)));
	for (size_t i = 0; i < p->c->n_groups; i++)
		if (strcmp(p->c->groups[i].name, name) == 0) {
			p->group = i;
			return 0;
		}
	return add_group(p, name);
}

/* start is behind the opening bracket. */
static int enter_section(struct parser *p, const char *start, const char *end)
{
	const char *close = memchr(start, ']', (size_t)(end - start)), *after = close + 1;
	char name[NB_CONFIG_NAME_MAX + 1], shown[64];
	size_t len;

	if (!close)
		return syntax_error(p, "no ] behind the section's name (allowed: [SECTION])");
	if (after != end)
		return syntax_error(p, "text behind the ] of a section (allowed: [SECTION])");
	trim(&start, &close);
	len = (size_t)(close - start);
	if (len > NB_CONFIG_NAME_MAX)
		return syntax_error(p, "the section's name has %zu bytes (allowed: at most %d)",
				    len, NB_CONFIG_NAME_MAX);
	memcpy(name, start, len);
	name[len] = '\0';
	p->in_section = true;
	if (strncmp(name, "group", 5) == 0 && (!name[5] || is_blank(name[5]))) {
		p->section = NB_SECTION_GROUP;
		return enter_group(p, name + 5 + strspn(name + 5, " \t"));
	}
	for (p->section = 0; p->section < NB_SECTION_GROUP; p->section++)
		if (strcmp(nb_section_names[p->section], name) == 0)
			return 0;
	return syntax_error(p,
			    "[%s]: unknown section (allowed: daemon, estimator, select, policy, "
			    "migrate, group NAME)",
			    nb_config_escape(name, shown, sizeof(shown)));
}

/* --- lines ----------------------------------------------------------------- */

/* The end of what stands before a comment: a # or ; behind a blank. */
static const char *find_comment(const char *start, const char *end)
{
	for (const char *s = start + 1; s < end; s++)
		if ((*s == '#' || *s == ';') && is_blank(s[-1]))
			return s;
	return end;
}

static int check_key_line(struct parser *p, const char *start, const char *end)
{
	const char *eq = memchr(start, '=', (size_t)(end - start)), *name_end = eq;
	char shown[64], name[NB_CONFIG_LINE_MAX + 1];
	size_t len;

	if (!eq)
		return syntax_error(p, "neither a section nor a setting (allowed: [SECTION], "
				       "KEY = VALUE, # comment)");
	trim(&start, &name_end);
	len = (size_t)(name_end - start);
	memcpy(name, start, len);
	name[len] = '\0';
	if (!len)
		return syntax_error(p, "no key before the = (allowed: KEY = VALUE)");
	if (len > NB_CONFIG_NAME_MAX)
		return syntax_error(p, "the key has %zu bytes (allowed: at most %d)", len,
				    NB_CONFIG_NAME_MAX);
	nb_config_escape(name, shown, sizeof(shown));
	if (name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")])
		return syntax_error(p, "\"%s\" is not a key (allowed: letters, digits and _)",
				    shown);
	if (!p->in_section)
		return syntax_error(p, "%s: stands before the first section (allowed: [SECTION])",
				    shown);
	return 0;
}

static int check_bytes(struct parser *p, const char *start, const char *end)
{
	for (const char *s = start; s < end; s++)
		if (((unsigned char)*s < 0x20 && *s != '\t') || *s == 0x7f)
			return syntax_error(p, "control byte 0x%02x (allowed: text and tabs)",
					    (unsigned char)*s);
	return 0;
}

/* Reduces the line to what inih shall see: start and end; empty for a comment. */
static int prepare_line(struct parser *p, const char **start, const char **end)
{
	int r;

	if (p->line == 1 && *end - *start >= 3 && memcmp(*start, "\xef\xbb\xbf", 3) == 0)
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
	if (*end - *start > NB_CONFIG_LINE_MAX)
		return syntax_error(p, "the line has %td bytes (allowed: at most %d)",
				    *end - *start, NB_CONFIG_LINE_MAX);
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

	if (p->error || p->pos >= p->len)
		return NULL;
	newline = memchr(start, '\n', p->len - p->pos);
	end = newline ? newline : p->text + p->len;
	p->pos = (size_t)(end - p->text) + 1;
	p->line++;
	if (prepare_line(p, &start, &end) < 0)
		return NULL;
	len = (size_t)(end - start);
	if (len + 2 > (size_t)size) {
		syntax_error(p, "the line is too long");
		return NULL;
	}
	memcpy(buf, start, len);
	memcpy(buf + len, "\n", 2);
	return buf;
}

static int add_file(struct nb_config_builder *b, const char *name)
{
	char **files = reallocarray(b->files, b->n_files + 1, sizeof(*files));

	if (!files)
		return -ENOMEM;
	b->files = files;
	files[b->n_files] = strdup(name);
	if (!files[b->n_files])
		return -ENOMEM;
	b->n_files++;
	return 0;
}

int nb_config_parse(struct nb_config *c, const char *name, const char *text, size_t len,
		    struct nb_config_error *ret_err)
{
	struct parser p = {.c = c, .text = text, .len = len};
	int r;

	if (c->builder->finished) {
		nb_config_error_set(&p.err, "%s: the configuration is complete already", name);
		p.error = -EINVAL;
	} else {
		p.error = add_file(c->builder, name);
	}
	if (!p.error) {
		p.file = (uint32_t)c->builder->n_files;
		r = ini_parse_stream(read_line, &p, handle, &p);
		if (!p.error && r == -2)
			p.error = -ENOMEM;
		else if (!p.error && r > 0) /* the reader lets nothing through that inih refuses */
			syntax_error(&p, "not understood");
	}
	if (p.error < 0 && ret_err)
		*ret_err = p.err;
	return p.error;
}
