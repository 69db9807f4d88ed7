/* SPDX-License-Identifier: MIT */
/* A configuration as text: what is in force, and the file that is shipped. */
#include "core/config_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct printer {
	const struct nb_config *c;
	bool origins;
	FILE *out;
};

static void print_origin(const struct printer *p, struct nb_origin o)
{
	if (!p->origins)
		return;
	if (!o.file) {
		fputs("# default\n", p->out);
		return;
	}
	fputs("# ", p->out);
	/* A newline in a file's name must not end the comment. */
	for (const char *s = p->c->builder->files[o.file - 1]; *s; s++)
		fputc((unsigned char)*s < 0x20 || *s == 0x7f ? '?' : *s, p->out);
	fprintf(p->out, ":%u\n", o.line);
}

static bool needs_quotes(const char *item)
{
	return *item == '#' || *item == ';' || strpbrk(item, " \t,");
}

static void print_list(const struct printer *p, const struct nb_config_key *k,
		       const struct nb_list *l, const struct nb_origin *items, struct nb_origin o)
{
	if (l->n == 0) {
		print_origin(p, o);
		fprintf(p->out, "%s =\n", k->name);
	}
	for (size_t i = 0; i < l->n; i++) {
		const char *quote = needs_quotes(l->items[i]) ? "\"" : "";

		print_origin(p, items[i]);
		fprintf(p->out, "%s = %s%s%s\n", k->name, quote, l->items[i], quote);
	}
}

/* As many lines as it takes: a sparse set is longer than a line may be. */
static int print_nodes(const struct printer *p, const struct nb_config_key *k,
		       const struct nb_bitmap *b, struct nb_origin o)
{
	_cleanup_bitmap_ struct nb_bitmap part = {0};
	char text[NB_INI_LINE_MAX];
	unsigned n = 0;
	int r;

	if (nb_bitmap_empty(b)) {
		print_origin(p, o);
		fprintf(p->out, "%s =\n", k->name);
	}
	NB_BITMAP_FOREACH (node, b) {
		r = nb_bitmap_set(&part, (unsigned)node);
		if (r < 0)
			return r;
		if (++n < 24 && nb_bitmap_next(b, (unsigned)node + 1) >= 0) /* "1023," each */
			continue;
		nb_bitmap_format_list(&part, text, sizeof(text));
		print_origin(p, o);
		fprintf(p->out, "%s = %s\n", k->name, text);
		nb_bitmap_zero(&part);
		n = 0;
	}
	return 0;
}

static int print_key(const struct printer *p, int key, const struct nb_group *g,
		     const struct nb_config_scope *s)
{
	const struct nb_config_key *k = &nb_config_keys[key];
	const void *field = nb_config_field_const(p->c, g, k);
	char text[64];

	switch (k->type) {
	case NB_TYPE_LIST:
		print_list(p, k, field, s->items[key], s->key[key]);
		return 0;
	case NB_TYPE_NODES:
		return print_nodes(p, k, field, s->key[key]);
	case NB_TYPE_NAME:
		print_origin(p, s->key[key]);
		fprintf(p->out, "%s =%s%s\n", k->name, *(char *const *)field ? " " : "",
			*(char *const *)field ?: "");
		return 0;
	case NB_TYPE_BOOL:
	case NB_TYPE_UINT:
	case NB_TYPE_TIME:
	case NB_TYPE_SIZE:
	case NB_TYPE_RATE:
	case NB_TYPE_SHARE:
	case NB_TYPE_ENUM:
		break;
	}
	nb_config_value_format(k, nb_config_load(field, k), text, sizeof(text));
	print_origin(p, s->key[key]);
	fprintf(p->out, "%s = %s\n", k->name, text);
	return 0;
}

int nb_config_print(const struct nb_config *c, bool origins, FILE *out)
{
	const struct printer p = {c, origins, out};
	int r;

	for (enum nb_section section = 0; section < NB_SECTION_GROUP; section++) {
		fprintf(out, "%s[%s]\n", section ? "\n" : "", nb_section_names[section]);
		for (int i = 0; i < NB_CONFIG_N_KEYS; i++) {
			if (nb_config_keys[i].section != section)
				continue;
			r = print_key(&p, i, NULL, &c->builder->main);
			if (r < 0)
				return r;
		}
	}
	for (size_t g = 0; g < c->n_groups; g++) {
		const struct nb_config_scope *s = &c->builder->groups[g];

		fputc('\n', out);
		print_origin(&p, s->header);
		fprintf(out, "[group %s]\n", c->groups[g].name);
		for (int i = 0; i < NB_CONFIG_N_KEYS; i++) {
			/* What it takes from [policy] and [migrate] is printed there. */
			if (nb_config_keys[i].section != NB_SECTION_GROUP &&
			    (nb_config_keys[i].section < NB_SECTION_POLICY || !s->key[i].file))
				continue;
			r = print_key(&p, i, &c->groups[g], s);
			if (r < 0)
				return r;
		}
	}
	return ferror(out) ? -EIO : 0;
}

/* --- the shipped file ------------------------------------------------------ */

static const char *const section_notes[NB_SECTION_COUNT] = {
	[NB_SECTION_DAEMON] = "How often it looks, and what it may change.",
	[NB_SECTION_ESTIMATOR] = "How load is averaged and judged.",
	[NB_SECTION_SELECT] =
		"What is balanced. A list holds names or shell patterns, apart by blanks or "
		"commas;\n"
		"# \"quoted\" where a name has one of them. Its key may repeat and adds to what "
		"stands\n"
		"# there already, also in other files; with no value it empties the list.\n"
		"# A pattern of a control group with a slash is its path and holds all below it; "
		"one\n"
		"# without a slash is a name anywhere in the path.",
	[NB_SECTION_POLICY] = "What is worth moving, and where to.",
	[NB_SECTION_MIGRATE] = "How memory is moved.",
	[NB_SECTION_GROUP] = "Any number of groups; the first one that matches a process wins. Of "
			     "each match_ key\n"
			     "# that is given, one pattern has to match. A group takes every key "
			     "of [policy] and\n"
			     "# [migrate] too, for its own processes.",
};

static void print_shipped_key(const struct nb_config_key *k, const char *prefix, FILE *out)
{
	char allowed[160];

	nb_config_value_allowed(k, allowed, sizeof(allowed));
	fprintf(out, "# %s\n# Allowed: %s.\n%s%s =%s%s\n\n", k->meaning, allowed, prefix, k->name,
		*k->dflt ? " " : "", k->dflt);
}

int nb_config_print_shipped(FILE *out)
{
	fputs("# Configuration of numabalanced. What is commented out shows the default.\n"
	      "# Files beside it in a folder of the same name with .d added, ending in .conf, are\n"
	      "# read after it in the order of their names; a later value replaces an earlier "
	      "one.\n"
	      "# Times take ms, s or min; sizes K, M or G; rates K/s, M/s or G/s; shares %.\n"
	      "# A comment begins with # or ; at the start of a line, or behind a blank.\n",
	      out);
	for (enum nb_section section = 0; section < NB_SECTION_COUNT; section++) {
		bool group = section == NB_SECTION_GROUP;

		fprintf(out, "\n# %s\n%s[%s%s]\n\n", section_notes[section], group ? "#" : "",
			nb_section_names[section], group ? " NAME" : "");
		for (int i = 0; i < NB_CONFIG_N_KEYS; i++)
			if (nb_config_keys[i].section == section)
				print_shipped_key(&nb_config_keys[i], "#", out);
	}
	return ferror(out) ? -EIO : 0;
}
