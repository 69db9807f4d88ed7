/* SPDX-License-Identifier: MIT */
/*
 * The topology from sysfs itself. hwloc cannot start on a tree without the files
 * of cpuN/topology, leaves out what it takes for a GPU's memory, and refuses some
 * distance tables as a whole; the daemon has to run there, too.
 */
#include "linux/topology.h"

#include <stdio.h>

#include "linux/parse.h"

int nb_topology_read_list(const struct nb_procfs *fs, const char *path, struct nb_bitmap *ret)
{
	_cleanup_text_ struct nb_text t = {};
	int r = nb_text_read(&t, fs->sys_fd, path);

	return r < 0 ? r : nb_bitmap_parse_list(ret, t.data, t.len);
}

/* One number for each node that is online, in their order. */
static void read_distances(const struct nb_procfs *fs, unsigned id, struct nb_text *t,
			   uint32_t *row, uint32_t n)
{
	struct nb_cursor c, word;
	char path[64];

	snprintf(path, sizeof(path), "devices/system/node/node%u/distance", id);
	if (nb_text_read(t, fs->sys_fd, path) < 0)
		return;
	c = (struct nb_cursor){.p = t->data, .end = t->data + t->len};
	for (uint32_t i = 0; i < n && nb_take_word(&c, &word); i++) {
		uint64_t v;

		if (nb_take_u64(&word, &v) && word.p == word.end && v <= UINT32_MAX)
			row[i] = (uint32_t)v;
	}
}

int nb_topology_read_sysfs(const struct nb_procfs *fs, struct nb_topology_raw *raw)
{
	_cleanup_text_ struct nb_text t = {};
	uint32_t i = 0;
	int r;

	r = nb_topology_read_list(fs, "devices/system/node/online", &raw->ids);
	if (r < 0)
		return r;
	r = nb_topology_raw_new(raw);
	if (r < 0)
		return r;
	NB_BITMAP_FOREACH (id, &raw->ids) {
		char path[64];

		/* A node that has just vanished, or whose list is broken, has no CPUs. */
		snprintf(path, sizeof(path), "devices/system/node/node%d/cpulist", id);
		r = nb_topology_read_list(fs, path, &raw->cpus[i]);
		if (r == -ENOMEM)
			return r;
		read_distances(fs, (unsigned)id, &t, raw->distance + (size_t)i * raw->n, raw->n);
		i++;
	}
	return 0;
}
