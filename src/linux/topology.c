/* SPDX-License-Identifier: MIT */
#include "linux/topology.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "linux/parse.h"

#define NODE "devices/system/node/"
#define CPU "devices/system/cpu/"

/* What tells that something changed. The kernel's handful of masks is enough: CPUs
 * do not go from one node to another while they are online. */
static const char *const watched[] = {
	NODE "online", NODE "has_cpu", NODE "has_memory",
	CPU "online",  CPU "isolated", CPU "nohz_full",
};

static void raw_clear(struct nb_topology_raw *raw)
{
	for (uint32_t i = 0; i < raw->n; i++)
		nb_bitmap_done(&raw->cpus[i]);
	free(raw->cpus);
	free(raw->distance);
	raw->cpus = NULL;
	raw->distance = NULL;
	raw->n = 0;
}

int nb_topology_raw_new(struct nb_topology_raw *raw)
{
	unsigned n = nb_bitmap_weight(&raw->ids);

	raw_clear(raw);
	if (n == 0)
		return -ENODATA;
	raw->cpus = calloc(n, sizeof(*raw->cpus));
	raw->distance = calloc((size_t)n * n, sizeof(*raw->distance));
	if (!raw->cpus || !raw->distance)
		return -ENOMEM;
	raw->n = n;
	return 0;
}

void nb_topology_raw_done(struct nb_topology_raw *raw)
{
	raw_clear(raw);
	nb_bitmap_done(&raw->ids);
}
#define _cleanup_raw_ __attribute__((cleanup(nb_topology_raw_done)))

static void clear(struct nb_topology *t)
{
	for (uint32_t i = 0; i < t->n_nodes; i++)
		nb_bitmap_done(&t->nodes[i].cpus);
	free(t->nodes);
	free(t->cpus);
	free(t->distance);
	free(t->dense_of_id);
	nb_bitmap_done(&t->online);
	nb_bitmap_done(&t->isolated);
	nb_bitmap_done(&t->usable);
}

void nb_topology_done(struct nb_topology *t)
{
	clear(t);
	nb_text_done(&t->seen);
	nb_text_done(&t->now);
	nb_text_done(&t->file);
	*t = (struct nb_topology){};
}
#define _cleanup_topology_ __attribute__((cleanup(nb_topology_done)))

static int append(struct nb_text *t, const char *data, size_t len)
{
	if (t->cap - t->len < len + 1) {
		size_t cap = t->cap * 2 + len + 1;
		char *p = realloc(t->data, cap);

		if (!p)
			return -ENOMEM;
		t->data = p;
		t->cap = cap;
	}
	memcpy(t->data + t->len, data, len);
	t->len += len;
	t->data[t->len] = '\0';
	return 0;
}

/* t->now: all watched files and the partitions, in one text. */
static int look(struct nb_topology *t, const struct nb_procfs *fs,
		const struct nb_bitmap *partitions)
{
	uint64_t hash = partitions ? nb_bitmap_hash(partitions) : 0;
	int r;

	t->now.len = 0;
	for (size_t i = 0; i < sizeof(watched) / sizeof(*watched); i++) {
		r = nb_text_read(&t->file, fs->sys_fd, watched[i]);
		if (r == -ENOMEM)
			return r;
		/* Missing is not the same as empty. */
		r = r < 0 ? append(&t->now, "-", 1) : append(&t->now, t->file.data, t->file.len);
		if (r < 0)
			return r;
		r = append(&t->now, "\n", 1);
		if (r < 0)
			return r;
	}
	return append(&t->now, (const char *)&hash, sizeof(hash));
}

/* A list that is missing or "(null)", as some kernels write nohz_full, is empty. */
static int add_list(const struct nb_procfs *fs, const char *path, struct nb_bitmap *to)
{
	_cleanup_bitmap_ struct nb_bitmap list = {};
	int r = nb_topology_read_list(fs, path, &list);

	if (r == -ENOMEM)
		return r;
	return r < 0 ? 0 : nb_bitmap_or(to, &list);
}

static int read_cpu_sets(struct nb_topology *t, const struct nb_procfs *fs,
			 const struct nb_bitmap *partitions, const struct nb_topology_raw *raw)
{
	int r;

	r = nb_topology_read_list(fs, CPU "online", &t->online);
	if (r == -ENOMEM)
		return r;
	if (r < 0 || nb_bitmap_empty(&t->online)) {
		/* Nodes list only CPUs that are online. */
		for (uint32_t i = 0; i < raw->n; i++) {
			r = nb_bitmap_or(&t->online, &raw->cpus[i]);
			if (r < 0)
				return r;
		}
	}
	if (nb_bitmap_empty(&t->online))
		return -ENODATA;
	r = add_list(fs, CPU "isolated", &t->isolated);
	if (r == 0)
		r = add_list(fs, CPU "nohz_full", &t->isolated);
	if (r == 0 && partitions)
		r = nb_bitmap_or(&t->isolated, partitions);
	if (r == 0)
		r = nb_bitmap_copy(&t->usable, &t->online);
	if (r < 0)
		return r;
	nb_bitmap_andnot(&t->usable, &t->isolated);
	return 0;
}

static int read_raw(struct nb_topology *t, const struct nb_procfs *fs, struct nb_topology_raw *raw)
{
	_cleanup_bitmap_ struct nb_bitmap has_cpu = {};
	int r;

	/* Kernels before 2.6.25 lack has_cpu: then sysfs' own lists are the safer source. */
	r = nb_topology_read_list(fs, NODE "has_cpu", &has_cpu);
	if (r == -ENOMEM)
		return r;
	if (r == 0) {
		r = nb_topology_read_hwloc(fs, &has_cpu, raw);
		t->source = NB_TOPOLOGY_HWLOC;
		if (r == 0 || r == -ENOMEM)
			return r;
	}
	r = nb_topology_read_sysfs(fs, raw);
	t->source = NB_TOPOLOGY_SYSFS;
	if (r == 0 || r == -ENOMEM)
		return r;
	t->source = NB_TOPOLOGY_FLAT;
	nb_bitmap_zero(&raw->ids);
	r = nb_bitmap_set(&raw->ids, 0);
	if (r == 0)
		r = nb_topology_raw_new(raw);
	if (r == 0)
		r = nb_topology_read_list(fs, CPU "online", &raw->cpus[0]);
	return r;
}

/* A node is 10 from itself and farther from all others; 255 is "not reachable". A
 * table that says less (some firmware writes 10 or 0 everywhere) is taken as the
 * kernel's own default for a remote node. */
static void mend_distances(struct nb_topology *t, const struct nb_topology_raw *raw)
{
	for (uint32_t i = 0; i < raw->n; i++)
		for (uint32_t j = 0; j < raw->n; j++) {
			size_t at = (size_t)i * raw->n + j;
			uint32_t v = raw->distance[at];

			if (i == j)
				v = NB_DIST_LOCAL;
			else if (v <= NB_DIST_LOCAL)
				v = 2 * NB_DIST_LOCAL;
			t->distance[at] = v;
		}
}

static int build_nodes(struct nb_topology *t, const struct nb_topology_raw *raw)
{
	uint32_t i = 0;

	t->nodes = calloc(raw->n, sizeof(*t->nodes));
	t->distance = calloc((size_t)raw->n * raw->n, sizeof(*t->distance));
	if (!t->nodes || !t->distance)
		return -ENOMEM;
	t->n_nodes = raw->n;
	mend_distances(t, raw);
	NB_BITMAP_FOREACH (id, &raw->ids) {
		struct nb_topology_node *node = &t->nodes[i];
		int r;

		node->id = (uint32_t)id;
		r = nb_bitmap_copy(&node->cpus, &raw->cpus[i]);
		if (r < 0)
			return r;
		nb_bitmap_and(&node->cpus, &t->usable);
		t->n_ids = (uint32_t)id + 1;
		i++;
	}
	t->dense_of_id = malloc(t->n_ids * sizeof(*t->dense_of_id));
	if (!t->dense_of_id)
		return -ENOMEM;
	for (i = 0; i < t->n_ids; i++)
		t->dense_of_id[i] = NB_NO_NODE;
	for (i = 0; i < t->n_nodes; i++)
		t->dense_of_id[t->nodes[i].id] = i;
	return 0;
}

static int build_cpus(struct nb_topology *t, const struct nb_topology_raw *raw)
{
	_cleanup_bitmap_ struct nb_bitmap all = {};
	uint32_t n = 0;
	int r;

	r = nb_bitmap_copy(&all, &t->online);
	for (uint32_t i = 0; i < raw->n && r == 0; i++)
		r = nb_bitmap_or(&all, &raw->cpus[i]);
	if (r < 0)
		return r;
	t->cpus = calloc(nb_bitmap_weight(&all), sizeof(*t->cpus));
	if (!t->cpus)
		return -ENOMEM;
	NB_BITMAP_FOREACH (id, &all) {
		struct nb_topology_cpu *cpu = &t->cpus[n++];

		cpu->id = (uint32_t)id;
		cpu->node = NB_NO_NODE;
		cpu->online = nb_bitmap_test(&t->online, (unsigned)id);
		cpu->isolated = nb_bitmap_test(&t->isolated, (unsigned)id);
		for (uint32_t i = 0; i < raw->n; i++)
			if (nb_bitmap_test(&raw->cpus[i], (unsigned)id)) {
				cpu->node = i;
				break;
			}
	}
	t->n_cpus = n;
	return 0;
}

int nb_topology_refresh(struct nb_topology *t, const struct nb_procfs *fs,
			const struct nb_bitmap *partitions)
{
	_cleanup_topology_ struct nb_topology fresh = {};
	_cleanup_raw_ struct nb_topology_raw raw = {};
	struct nb_topology old;
	int r;

	r = look(t, fs, partitions);
	if (r < 0)
		return r;
	if (t->gen > 0 && t->now.len == t->seen.len &&
	    memcmp(t->now.data, t->seen.data, t->now.len) == 0)
		return 0;
	r = read_raw(&fresh, fs, &raw);
	if (r == 0)
		r = read_cpu_sets(&fresh, fs, partitions, &raw);
	if (r == 0)
		r = build_nodes(&fresh, &raw);
	if (r == 0)
		r = build_cpus(&fresh, &raw);
	if (r < 0)
		return r;
	fresh.gen = t->gen + 1;
	fresh.seen = t->now;
	fresh.now = t->seen;
	fresh.file = t->file;
	old = *t;
	old.seen = old.now = old.file = (struct nb_text){};
	*t = fresh;
	fresh = old; /* is released on return */
	return 1;
}
