/* SPDX-License-Identifier: MIT */
/* Which section and key a line names; the form of lines is nb/ini.h's. */
#include "core/config_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int nb_config_value_error(struct nb_ini *i, const char *key, const char *why, const char *allowed)
{
	const struct nb_config_parser *p = i->user;
	bool group = p->section == NB_SECTION_GROUP;

	return nb_ini_fail(i, "[%s%s%s] %s: %s (allowed: %s)", nb_section_names[p->section],
			   group ? " " : "", group ? p->c->groups[p->group].name : "", key, why,
			   allowed);
}

struct nb_config_scope *nb_config_scope_of(struct nb_config_parser *p)
{
	return p->section == NB_SECTION_GROUP ? &p->c->builder->groups[p->group]
					      : &p->c->builder->main;
}

static int unknown_key(struct nb_ini *i, const char *name)
{
	char allowed[420], why[64] = "unknown key";
	size_t n = 0;
	const struct nb_config_parser *p = i->user;

	for (size_t j = 0; j < NB_CONFIG_N_KEYS; j++) {
		const struct nb_config_key *k = &nb_config_keys[j];

		if (nb_config_key_fits(k, p->section) && n < sizeof(allowed))
			n += (size_t)snprintf(allowed + n, sizeof(allowed) - n, "%s%s",
					      n ? ", " : "", k->name);
		else if (strcmp(k->name, name) == 0)
			snprintf(why, sizeof(why), "unknown key here, it belongs to [%s]",
				 nb_section_names[k->section]);
	}
	return nb_config_value_error(i, name, why, allowed);
}

static int setting(struct nb_ini *i, const char *name, const char *value)
{
	struct nb_config_parser *p = i->user;
	struct nb_origin *o;
	char why[64], shown[64];
	int r, key = nb_config_key_find(p->section, name);

	if (key < 0)
		return unknown_key(i, nb_ini_escape(name, shown, sizeof(shown)));
	o = &nb_config_scope_of(p)->key[key];
	if (o->file == p->file && !nb_config_key_repeats(&nb_config_keys[key])) {
		snprintf(why, sizeof(why), "already set in line %u", o->line);
		return nb_config_value_error(i, name, why, "once in a file");
	}
	r = nb_config_set(i, key, value);
	if (r == 0)
		*o = (struct nb_origin){p->file, i->line};
	return r;
}

static int add_group(struct nb_ini *ini, const char *name)
{
	struct nb_config_parser *p = ini->user;
	struct nb_config *c = p->c;
	struct nb_config_scope *scopes;
	struct nb_group *groups, *g;
	char why[8];
	uint64_t v;
	int r;

	scopes = reallocarray(c->builder->groups, c->n_groups + 1, sizeof(*scopes));
	if (!scopes)
		return -ENOMEM;
	c->builder->groups = scopes;
	groups = reallocarray(c->groups, c->n_groups + 1, sizeof(*groups));
	if (!groups)
		return -ENOMEM;
	c->groups = groups;
	g = &groups[c->n_groups];
	memset(g, 0, sizeof(*g));
	memset(&scopes[c->n_groups], 0, sizeof(*scopes));
	scopes[c->n_groups].header = (struct nb_origin){p->file, ini->line};
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
		return -ENOMEM;
	p->group = c->n_groups++;
	return 0;
}

static int enter_group(struct nb_ini *ini, const char *name)
{
	struct nb_config_parser *p = ini->user;
	size_t n =
		strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.:@-");
	char shown[64];

	if (!*name)
		return nb_ini_fail(ini, "[group]: has no name (allowed: [group NAME])");
	if (name[n])
		return nb_ini_fail(
			ini, "[group %s]: not a name (allowed: letters, digits and _ . : @ -)",
			nb_ini_escape(name, shown, sizeof(shown)));
	for (size_t i = 0; i < p->c->n_groups; i++)
		if (strcmp(p->c->groups[i].name, name) == 0) {
			p->group = i;
			return 0;
		}
	return add_group(ini, name);
}

static int section(struct nb_ini *i, const char *name)
{
	struct nb_config_parser *p = i->user;
	char shown[64];

	if (strncmp(name, "group", 5) == 0 && (!name[5] || name[5] == ' ' || name[5] == '\t')) {
		p->section = NB_SECTION_GROUP;
		return enter_group(i, name + 5 + strspn(name + 5, " \t"));
	}
	for (p->section = 0; p->section < NB_SECTION_GROUP; p->section++)
		if (strcmp(nb_section_names[p->section], name) == 0)
			return 0;
	return nb_ini_fail(i,
			   "[%s]: unknown section (allowed: daemon, estimator, select, policy, "
			   "migrate, group NAME)",
			   nb_ini_escape(name, shown, sizeof(shown)));
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
	static const struct nb_ini_ops ops = {section, setting};
	struct nb_config_parser p = {.c = c};
	int r;

	if (c->builder->finished) {
		if (ret_err)
			snprintf(ret_err->text, sizeof(ret_err->text),
				 "%s: the configuration is complete already", name);
		return -EINVAL;
	}
	r = add_file(c->builder, name);
	if (r < 0) {
		if (ret_err)
			ret_err->text[0] = '\0';
		return r;
	}
	p.file = (uint32_t)c->builder->n_files;
	return nb_ini_parse(name, text, len, &ops, &p, ret_err);
}
