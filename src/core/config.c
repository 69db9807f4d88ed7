/* SPDX-License-Identifier: MIT */
/* Life of a configuration: defaults, the last checks, release. */
#include "core/config_internal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

bool nb_config_key_scalar(const struct nb_config_key *k)
{
	return k->type != NB_TYPE_NAME && k->type != NB_TYPE_LIST && k->type != NB_TYPE_NODES;
}

void nb_config_store(void *field, const struct nb_config_key *k, uint64_t v)
{
	bool b = v != 0;
	uint32_t u = (uint32_t)v;

	switch (k->type) {
	case NB_TYPE_BOOL:
		memcpy(field, &b, sizeof(b));
		break;
	case NB_TYPE_UINT:
	case NB_TYPE_SHARE:
	case NB_TYPE_ENUM:
		memcpy(field, &u, sizeof(u));
		break;
	case NB_TYPE_TIME:
	case NB_TYPE_SIZE:
	case NB_TYPE_RATE:
		memcpy(field, &v, sizeof(v));
		break;
	case NB_TYPE_NAME:
	case NB_TYPE_LIST:
	case NB_TYPE_NODES:
		break;
	}
}
_Static_assert(sizeof(enum nb_mover) == sizeof(uint32_t), "enums are stored as 32 bits");

uint64_t nb_config_load(const void *field, const struct nb_config_key *k)
{
	bool b = false;
	uint32_t u = 0;
	uint64_t v = 0;

	switch (k->type) {
	case NB_TYPE_BOOL:
		memcpy(&b, field, sizeof(b));
		return b;
	case NB_TYPE_UINT:
	case NB_TYPE_SHARE:
	case NB_TYPE_ENUM:
		memcpy(&u, field, sizeof(u));
		return u;
	case NB_TYPE_TIME:
	case NB_TYPE_SIZE:
	case NB_TYPE_RATE:
		memcpy(&v, field, sizeof(v));
		return v;
	case NB_TYPE_NAME:
	case NB_TYPE_LIST:
	case NB_TYPE_NODES:
		break;
	}
	return 0;
}

int nb_config_new(struct nb_config **ret)
{
	_cleanup_config_ struct nb_config *c = calloc(1, sizeof(*c));
	char why[64];
	uint64_t v;
	int r;

	if (!c)
		return -ENOMEM;
	c->builder = calloc(1, sizeof(*c->builder));
	if (!c->builder)
		return -ENOMEM;
	for (size_t i = 0; i < NB_CONFIG_N_KEYS; i++) {
		const struct nb_config_key *k = &nb_config_keys[i];

		if (k->section == NB_SECTION_GROUP)
			continue; /* set when the group appears */
		if (k->type == NB_TYPE_LIST)
			((struct nb_list *)nb_config_field(c, NULL, k))->kind = k->list_kind;
		if (!nb_config_key_scalar(k))
			continue;
		r = nb_config_value_parse(k, k->dflt, &v, why, sizeof(why));
		if (r < 0)
			return r;
		nb_config_store(nb_config_field(c, NULL, k), k, v);
	}
	*ret = c;
	c = NULL;
	return 0;
}

static void list_done(struct nb_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->items[i]);
	free(l->items);
}

static void group_done(struct nb_group *g)
{
	free(g->name);
	list_done(&g->match_cgroup);
	list_done(&g->match_comm);
	list_done(&g->match_user);
	nb_bitmap_done(&g->nodes);
}

static void scope_done(struct nb_config_scope *s)
{
	for (size_t i = 0; i < NB_CONFIG_N_KEYS; i++)
		free(s->items[i]);
}

struct nb_config *nb_config_free(struct nb_config *c)
{
	if (!c)
		return NULL;
	if (c->builder) {
		for (size_t i = 0; i < c->builder->n_files; i++)
			free(c->builder->files[i]);
		free(c->builder->files);
		scope_done(&c->builder->main);
		for (size_t i = 0; i < c->n_groups; i++)
			scope_done(&c->builder->groups[i]);
		free(c->builder->groups);
		free(c->builder);
	}
	free(c->daemon.socket_group);
	list_done(&c->select.exclude_comm);
	list_done(&c->select.include_comm);
	list_done(&c->select.exclude_user);
	list_done(&c->select.exclude_cgroup);
	nb_bitmap_done(&c->select.exclude_nodes);
	for (size_t i = 0; i < c->n_groups; i++)
		group_done(&c->groups[i]);
	free(c->groups);
	free(c);
	return NULL;
}

__attribute__((format(printf, 2, 3))) static int fail(struct nb_config_error *e, const char *fmt,
						      ...)
{
	va_list ap;

	if (e) {
		va_start(ap, fmt);
		vsnprintf(e->text, sizeof(e->text), fmt, ap);
		va_end(ap);
	}
	return -EINVAL;
}

static const char *file_of(const struct nb_config *c, struct nb_origin o)
{
	return o.file ? c->builder->files[o.file - 1] : "default";
}

static int check_intervals(struct nb_config *c, struct nb_config_error *e)
{
	int i = nb_config_key_find(NB_SECTION_DAEMON, "max_interval");
	struct nb_origin o = c->builder->main.key[i];
	char lo[32], hi[32], v[32];

	if (c->daemon.max_interval_us >= c->daemon.interval_us)
		return 0;
	if (!o.file) { /* nobody asked for less: the default gives way */
		c->daemon.max_interval_us = c->daemon.interval_us;
		return 0;
	}
	nb_config_value_format(&nb_config_keys[i], c->daemon.max_interval_us, v, sizeof(v));
	nb_config_value_format(&nb_config_keys[i], c->daemon.interval_us, lo, sizeof(lo));
	nb_config_value_format(&nb_config_keys[i], nb_config_keys[i].max, hi, sizeof(hi));
	return fail(
		e, "%s:%u: [daemon] max_interval: \"%s\" is less than interval (allowed: %s to %s)",
		file_of(c, o), o.line, v, lo, hi);
}

static int finish_group(struct nb_config *c, size_t index, struct nb_config_error *e)
{
	const struct nb_config_scope *s = &c->builder->groups[index];
	struct nb_group *g = &c->groups[index];
	struct nb_origin o;

	for (size_t i = 0; i < NB_CONFIG_N_KEYS; i++) {
		const struct nb_config_key *k = &nb_config_keys[i];

		if (k->section != NB_SECTION_POLICY && k->section != NB_SECTION_MIGRATE)
			continue;
		if (!s->key[i].file)
			nb_config_store(nb_config_field(c, g, k), k,
					nb_config_load(nb_config_field(c, NULL, k), k));
	}
	if (!g->match_cgroup.n && !g->match_comm.n && !g->match_user.n) {
		return fail(e,
			    "%s:%u: [group %s]: matches nothing (allowed: with at least one "
			    "of match_cgroup, match_comm, match_user)",
			    file_of(c, s->header), s->header.line, g->name);
	}
	if (g->nodes_set && nb_bitmap_subset(&g->nodes, &c->select.exclude_nodes)) {
		o = s->key[nb_config_key_find(NB_SECTION_GROUP, "nodes")];
		return fail(e,
			    "%s:%u: [group %s] nodes: all of them are in exclude_nodes "
			    "(allowed: at least one node that is not)",
			    file_of(c, o), o.line, g->name);
	}
	return 0;
}

int nb_config_finish(struct nb_config *c, struct nb_config_error *ret_err)
{
	int r = check_intervals(c, ret_err);

	for (size_t i = 0; r == 0 && i < c->n_groups; i++)
		r = finish_group(c, i, ret_err);
	if (r == 0)
		c->builder->finished = true;
	return r;
}
