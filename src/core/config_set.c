/* SPDX-License-Identifier: MIT */
/* Gives a key the value of a text: lists, nodes and names here, scalars by config_value.c. */
#include "core/config_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void list_clear(struct nb_list *l)
{
	for (size_t k = 0; k < l->n; k++)
		free(l->items[k]);
	l->n = 0;
}

static int list_add(struct nb_ini *i, int key, struct nb_list *l, const char *item, size_t len)
{
	struct nb_config_parser *p = i->user;
	struct nb_origin **origins = &nb_config_scope_of(p)->items[key], *o;
	char **items, *copy;

	items = reallocarray(l->items, l->n + 1, sizeof(*items));
	if (!items)
		return -ENOMEM;
	l->items = items;
	o = reallocarray(*origins, l->n + 1, sizeof(*o));
	if (!o)
		return -ENOMEM;
	*origins = o;
	copy = strndup(item, len);
	if (!copy)
		return -ENOMEM;
	o[l->n] = (struct nb_origin){p->file, i->line};
	l->items[l->n++] = copy;
	return 0;
}

static bool is_separator(char ch)
{
	return ch == ' ' || ch == '\t' || ch == ',';
}

/* Names apart by blanks or commas; "quoted" where a name holds one of them. */
static int set_list(struct nb_ini *i, int key, struct nb_list *l, const char *text)
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
				return nb_config_value_error(i, name, "a quote is not closed",
							     allowed);
			if (end[1] && !is_separator(end[1]))
				return nb_config_value_error(i, name, "text behind a closing quote",
							     allowed);
		} else {
			for (end = s; *end && !is_separator(*end); end++)
				if (*end == '"')
					return nb_config_value_error(
						i, name, "a quote within a name", allowed);
		}
		if (end == s)
			return nb_config_value_error(i, name, "an empty name", allowed);
		if (end - s > NB_CONFIG_ITEM_MAX)
			return nb_config_value_error(i, name, "a name is longer than 128 bytes",
						     allowed);
		r = list_add(i, key, l, s, (size_t)(end - s));
		if (r < 0)
			return r;
		if (*end == '"')
			end++;
	}
}

static int set_nodes(struct nb_ini *i, const struct nb_config_key *k, struct nb_bitmap *b,
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
		return -ENOMEM;
	nb_config_value_allowed(k, allowed, sizeof(allowed));
	nb_ini_escape(text, shown, sizeof(shown));
	if (r == -ERANGE || (r == 0 && nb_bitmap_next(&add, NB_CONFIG_NODE_MAX + 1) >= 0)) {
		snprintf(why, sizeof(why), "\"%s\" has a node that is too large", shown);
		return nb_config_value_error(i, k->name, why, allowed);
	}
	if (r < 0 || nb_bitmap_empty(&add)) {
		snprintf(why, sizeof(why), "\"%s\" is not a list of nodes", shown);
		return nb_config_value_error(i, k->name, why, allowed);
	}
	return nb_bitmap_or(b, &add) < 0 ? -ENOMEM : 0;
}

/* Names of users and groups, as the tools that make them allow. */
static int set_name(struct nb_ini *i, const struct nb_config_key *k, char **field, const char *text)
{
	char *copy = NULL, allowed[64], why[96], shown[48];
	size_t n =
		strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-$");

	if (text[n] || n > 32) {
		nb_config_value_allowed(k, allowed, sizeof(allowed));
		snprintf(why, sizeof(why), "\"%s\" is not a name",
			 nb_ini_escape(text, shown, sizeof(shown)));
		return nb_config_value_error(i, k->name, why, allowed);
	}
	if (n) {
		copy = strdup(text);
		if (!copy)
			return -ENOMEM;
	}
	free(*field);
	*field = copy;
	return 0;
}

int nb_config_set(struct nb_ini *i, int key, const char *text)
{
	struct nb_config_parser *p = i->user;
	struct nb_group *g = p->section == NB_SECTION_GROUP ? &p->c->groups[p->group] : NULL;
	const struct nb_config_key *k = &nb_config_keys[key];
	void *field = nb_config_field(p->c, g, k);
	char why[160], allowed[160];
	uint64_t v;
	int r;

	switch (k->type) {
	case NB_TYPE_LIST:
		return set_list(i, key, field, text);
	case NB_TYPE_NODES:
		r = set_nodes(i, k, field, text);
		if (r == 0 && g)
			g->nodes_set = !nb_bitmap_empty(&g->nodes);
		return r;
	case NB_TYPE_NAME:
		return set_name(i, k, field, text);
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
		return nb_config_value_error(i, k->name, why, allowed);
	}
	nb_config_store(field, k, v);
	return 0;
}
