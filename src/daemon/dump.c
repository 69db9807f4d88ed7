/* SPDX-License-Identifier: MIT */
#include "daemon/dump.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "linux/linux.h"

struct dump {
	struct nb_platform base;
	char *dir;
	char *root;  /* of the first instant */
	bool series; /* of numbered folders */
	unsigned at; /* the instant that is open */
	struct nb_platform *instant;
	uint64_t last_us; /* 0: none was read */
	uint64_t topology_gen;
	uint32_t *nodes; /* ids of the last instant */
	uint32_t n_nodes;
};

static char *instant_path(const struct dump *d, unsigned at)
{
	char *path;

	return asprintf(&path, d->series ? "%s/%u" : "%s", d->dir, at) < 0 ? NULL : path;
}

static int open_instant(struct dump *d, unsigned at)
{
	struct nb_linux_options o = {.act = false};
	struct nb_platform *p;
	char *path = instant_path(d, at);
	int r;

	if (!path)
		return -ENOMEM;
	o.root = path;
	r = nb_linux_new(&o, &p);
	free(path);
	if (r < 0)
		return r;
	if (d->instant)
		d->instant->ops->free(d->instant);
	d->instant = p;
	d->at = at;
	return 0;
}

static bool exists(const struct dump *d, unsigned at)
{
	char *path = instant_path(d, at);
	struct stat st;
	bool is_dir = path && stat(path, &st) == 0 && S_ISDIR(st.st_mode);

	free(path);
	return is_dir;
}

/* Each instant is opened on its own and counts its own changes: the dump has to see
 * whether dense indexes still mean the same. */
static int number_topology(struct dump *d, struct nb_snapshot *s)
{
	bool same = d->last_us && d->n_nodes == s->n_nodes;
	uint32_t *nodes;

	for (uint32_t i = 0; same && i < s->n_nodes; i++)
		same = d->nodes[i] == s->nodes[i].id;
	if (!same) {
		nodes = reallocarray(d->nodes, s->n_nodes ? s->n_nodes : 1, sizeof(*nodes));
		if (!nodes)
			return -ENOMEM;
		for (uint32_t i = 0; i < s->n_nodes; i++)
			nodes[i] = s->nodes[i].id;
		d->nodes = nodes;
		d->n_nodes = s->n_nodes;
		d->topology_gen++;
	}
	s->topology_gen = d->topology_gen;
	return 0;
}

static int dump_sample(struct nb_platform *p, const struct nb_config *c, struct nb_snapshot *s)
{
	struct dump *d = (struct dump *)p;
	int r = 0;

	if (d->last_us && d->series && exists(d, d->at + 1))
		r = open_instant(d, d->at + 1);
	if (r == 0)
		r = d->instant->ops->sample(d->instant, c, s);
	if (r == 0)
		r = number_topology(d, s);
	if (r < 0)
		return r;
	/* An instant may say when it was; else they are one interval apart. */
	if (s->at_us <= d->last_us)
		s->at_us = d->last_us ? d->last_us + c->daemon.interval_us : 1000000;
	d->last_us = s->at_us;
	for (uint32_t i = 0; i < s->n_processes; i++)
		if (s->processes[i].mem_at_us)
			s->processes[i].mem_at_us = s->at_us;
	return 0;
}

static int dump_start(struct nb_platform *p, const struct nb_config *c, const struct nb_snapshot *s,
		      const struct nb_action *a)
{
	(void)p, (void)c, (void)s, (void)a;
	return -EPERM;
}

static int dump_next_outcome(struct nb_platform *p, struct nb_outcome *ret)
{
	(void)p, (void)ret;
	return 0;
}

static int dump_event_fd(struct nb_platform *p)
{
	(void)p;
	return -1;
}

static int dump_restore(struct nb_platform *p)
{
	(void)p;
	return 0;
}

static struct nb_platform *dump_free(struct nb_platform *p)
{
	struct dump *d = (struct dump *)p;

	if (!d)
		return NULL;
	if (d->instant)
		d->instant->ops->free(d->instant);
	free(d->nodes);
	free(d->root);
	free(d->dir);
	free(d);
	return NULL;
}

static const struct nb_platform_ops dump_ops = {
	.name = "dump",
	.sample = dump_sample,
	.start = dump_start,
	.next_outcome = dump_next_outcome,
	.event_fd = dump_event_fd,
	.restore = dump_restore,
	.free = dump_free,
};

int nb_dump_new(const char *dir, struct nb_platform **ret)
{
	struct dump *d = calloc(1, sizeof(*d));
	int r;

	if (!d)
		return -ENOMEM;
	d->base.ops = &dump_ops;
	d->dir = strdup(dir);
	if (!d->dir) {
		dump_free(&d->base);
		return -ENOMEM;
	}
	d->series = true;
	d->at = exists(d, 0) ? 0 : 1;
	if (!exists(d, d->at)) {
		d->series = false;
		d->at = 0;
	}
	d->root = instant_path(d, d->at);
	r = d->root ? open_instant(d, d->at) : -ENOMEM;
	if (r < 0) {
		dump_free(&d->base);
		return r;
	}
	*ret = &d->base;
	return 0;
}

const char *nb_dump_root(const struct nb_platform *p)
{
	return ((const struct dump *)p)->root;
}
