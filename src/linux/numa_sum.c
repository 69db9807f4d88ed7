/* SPDX-License-Identifier: MIT */
#include "linux/numa_sum.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Files of shared memory that are told apart; what comes after counts as shared
 * with others. */
#define MAX_SHARED 256

struct nb_shared_file {
	uint64_t name_hash;
	uint64_t n_lines;
	uint64_t mapmax;
};

int nb_numa_sum_begin(struct nb_numa_sum *s, uint32_t n_nodes)
{
	if (n_nodes > s->cap_nodes || !s->place) {
		uint64_t *p = calloc((size_t)n_nodes * 3 + 1, sizeof(*p));
		uint64_t *shared = calloc((size_t)n_nodes * MAX_SHARED + 1, sizeof(*shared));

		if (!p || !shared) {
			free(p);
			free(shared);
			return -ENOMEM;
		}
		free(s->place);
		free(s->shared_bytes);
		s->place = p;
		s->shared_bytes = shared;
		s->cap_nodes = n_nodes;
	}
	if (!s->shared) {
		s->shared = calloc(MAX_SHARED, sizeof(*s->shared));
		if (!s->shared)
			return -ENOMEM;
	}
	s->anon = s->place + n_nodes;
	s->file = s->anon + n_nodes;
	memset(s->place, 0, (size_t)n_nodes * 3 * sizeof(*s->place));
	s->n_nodes = n_nodes;
	s->huge_bytes = s->own_shared_bytes = s->rejected = s->elsewhere = 0;
	s->dirty_files = s->bound = s->interleaved = false;
	s->empty = true;
	s->n_shared = 0;
	return 0;
}

void nb_numa_sum_done(struct nb_numa_sum *s)
{
	free(s->place);
	free(s->shared_bytes);
	free(s->shared);
	nb_numa_line_done(&s->line);
	*s = (struct nb_numa_sum){};
}

/* Any policy but the default was set by the owner; one of a name that we do not
 * know, too. */
static void note_policy(struct nb_numa_sum *s, enum nb_vma_policy policy)
{
	switch (policy) {
	case NB_POLICY_DEFAULT:
		break;
	case NB_POLICY_INTERLEAVE:
	case NB_POLICY_WEIGHTED_INTERLEAVE:
		s->interleaved = true;
		break;
	case NB_POLICY_LOCAL:
	case NB_POLICY_BIND:
	case NB_POLICY_PREFER:
	case NB_POLICY_PREFER_MANY:
	case NB_POLICY_UNKNOWN:
		s->bound = true;
		break;
	}
}

static bool starts(const struct nb_cursor *name, const char *with)
{
	struct nb_cursor c = *name;

	return nb_take_text(&c, with);
}

/* Memory with a name, not a file on a disk: always "dirty", and moved like
 * anonymous memory when only one process has it. */
static bool shared_memory(const struct nb_numa_line *l)
{
	return starts(&l->file, "/memfd:") || starts(&l->file, "/dev/zero") ||
	       starts(&l->file, "/dev/shm/") || starts(&l->file, "/SYSV") ||
	       starts(&l->file, "/anon_hugepage");
}

static struct nb_shared_file *find_shared(struct nb_numa_sum *s, const struct nb_cursor *name)
{
	uint64_t h = 0xcbf29ce484222325u; /* FNV-1a */

	for (const char *p = name->p; p < name->end; p++)
		h = (h ^ (unsigned char)*p) * 0x100000001b3u;
	for (uint32_t i = 0; i < s->n_shared; i++)
		if (s->shared[i].name_hash == h)
			return &s->shared[i];
	if (s->n_shared == MAX_SHARED)
		return NULL;
	memset(s->shared_bytes + (size_t)s->n_shared * s->n_nodes, 0,
	       s->n_nodes * sizeof(*s->shared_bytes));
	s->shared[s->n_shared] = (struct nb_shared_file){.name_hash = h};
	return &s->shared[s->n_shared++];
}

static void add(uint64_t *to, uint64_t bytes)
{
	if (__builtin_add_overflow(*to, bytes, to))
		*to = UINT64_MAX; /* only hostile text gets here */
}

static uint64_t scale(uint64_t value, uint64_t part, uint64_t whole)
{
	return (uint64_t)((__uint128_t)value * part / whole);
}

int nb_numa_sum_line(struct nb_numa_sum *s, const struct nb_topology *t, const char *line,
		     size_t len)
{
	struct nb_numa_line *l = &s->line;
	struct nb_shared_file *shared = NULL;
	uint64_t anon;
	bool own;
	int r;

	s->empty = false;
	r = nb_parse_numa_line(line, len, l);
	if (r == -ENOMEM)
		return r;
	if (r < 0) {
		s->rejected++;
		return 0;
	}
	note_policy(s, l->policy);
	if (l->pages == 0)
		return 0;
	/* Pages that are not anonymous are of a file, also when the name is missing. */
	anon = l->anon < l->pages ? l->anon : l->pages;
	own = l->mapmax <= 1;
	if (!own && shared_memory(l)) {
		shared = find_shared(s, &l->file);
		if (shared) {
			shared->n_lines++;
			if (l->mapmax > shared->mapmax)
				shared->mapmax = l->mapmax;
		}
	}
	if (l->file.p != l->file.end && !l->huge && l->dirty > anon && !shared_memory(l))
		s->dirty_files = true;
	for (size_t i = 0; i < l->n_nodes; i++) {
		uint64_t bytes = l->nodes[i].pages * l->page_bytes; /* checked by the parser */
		uint64_t bytes_anon = scale(bytes, anon, l->pages);
		uint32_t node = nb_topology_dense(t, l->nodes[i].node);

		if (l->huge)
			add(&s->huge_bytes, bytes);
		if (node == NB_NO_NODE) {
			add(&s->elsewhere, l->nodes[i].pages);
			continue;
		}
		if (!l->huge) {
			add(&s->anon[node], bytes_anon);
			add(&s->file[node], bytes - bytes_anon);
		}
		add(&s->place[node], own ? bytes : bytes_anon);
		if (own && shared_memory(l) && !l->huge)
			add(&s->own_shared_bytes, bytes - bytes_anon);
		if (shared)
			add(&s->shared_bytes[(size_t)(shared - s->shared) * s->n_nodes + node],
			    bytes - bytes_anon);
	}
	return 0;
}

void nb_numa_sum_end(struct nb_numa_sum *s)
{
	for (uint32_t i = 0; i < s->n_shared; i++) {
		const struct nb_shared_file *f = &s->shared[i];

		/* Mapped more often than we saw it: by somebody else, too. */
		if (f->mapmax > f->n_lines)
			continue;
		for (uint32_t node = 0; node < s->n_nodes; node++) {
			uint64_t bytes = s->shared_bytes[(size_t)i * s->n_nodes + node] / f->mapmax;

			add(&s->place[node], bytes);
			add(&s->own_shared_bytes, bytes);
		}
	}
}

int nb_numa_sum_read(struct nb_numa_sum *s, const struct nb_topology *t, struct nb_lines *lines,
		     int dir_fd, const char *path)
{
	size_t len;
	char *line;
	int r;

	r = nb_numa_sum_begin(s, t->n_nodes);
	if (r < 0)
		return r;
	r = nb_lines_open(lines, dir_fd, path);
	if (r < 0)
		return r;
	while ((r = nb_lines_next(lines, &line, &len)) > 0) {
		r = nb_numa_sum_line(s, t, line, len);
		if (r < 0)
			break;
	}
	nb_lines_close(lines);
	if (r < 0)
		return r;
	nb_numa_sum_end(s);
	return 0;
}
