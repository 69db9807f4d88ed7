/* SPDX-License-Identifier: MIT */
/* The topology as hwloc sees it, checked against what the kernel lists. */
#include "linux/topology.h"

#include <hwloc.h>
#include <stdlib.h>
#include <unistd.h>

static void destroy(hwloc_topology_t *t)
{
	if (*t)
		hwloc_topology_destroy(*t);
}

/* Without these it complains on standard error, and gives up. */
static bool can_start(const struct nb_procfs *fs)
{
	static const char *const files[] = {
		"devices/system/cpu/cpu0/topology/core_cpus",
		"devices/system/cpu/cpu0/topology/thread_siblings",
	};

	return faccessat(fs->sys_fd, files[0], F_OK, 0) == 0 ||
	       faccessat(fs->sys_fd, files[1], F_OK, 0) == 0;
}

/* hwloc takes the root of a dump from the environment only. A dump is read by a
 * program with one thread: nothing is ever moved on it. */
static int load(const struct nb_procfs *fs, hwloc_topology_t *ret)
{
	__attribute__((cleanup(destroy))) hwloc_topology_t t = NULL;
	int r;

	if (hwloc_topology_init(&t) < 0) {
		t = NULL;
		return -ENODATA;
	}
	/* Our own cpuset is no limit for other tasks. */
	hwloc_topology_set_flags(t, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
	/* CPUs and nodes are always there; nothing else is used. Without groups a node
	 * that is not a whole package would have the CPUs of its parent. */
	hwloc_topology_set_all_types_filter(t, HWLOC_TYPE_FILTER_KEEP_NONE);
	hwloc_topology_set_type_filter(t, HWLOC_OBJ_GROUP, HWLOC_TYPE_FILTER_KEEP_STRUCTURE);
	/* It would bind this thread to every CPU in turn. */
	hwloc_topology_set_components(t, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "x86");
	if (!fs->live) {
		setenv("HWLOC_FSROOT", fs->root, 1);
		setenv("HWLOC_COMPONENTS", "linux,stop", 1);
	}
	r = hwloc_topology_load(t);
	if (!fs->live) {
		unsetenv("HWLOC_FSROOT");
		unsetenv("HWLOC_COMPONENTS");
	}
	/* A variable of the user may have sent hwloc elsewhere. */
	if (r < 0 || (fs->live && !hwloc_topology_is_thissystem(t)))
		return -ENODATA;
	*ret = t;
	t = NULL;
	return 0;
}

static hwloc_obj_t node_by_id(hwloc_topology_t t, unsigned id)
{
	return hwloc_get_numanode_obj_by_os_index(t, id);
}

static int copy_cpus(hwloc_const_bitmap_t from, struct nb_bitmap *to)
{
	int r = 0;

	for (int i = hwloc_bitmap_first(from); i >= 0 && r == 0; i = hwloc_bitmap_next(from, i))
		r = nb_bitmap_set(to, (unsigned)i);
	return r;
}

static int dense(const struct nb_bitmap *ids, unsigned id)
{
	int i = 0;

	NB_BITMAP_FOREACH (other, ids) {
		if ((unsigned)other == id)
			return i;
		i++;
	}
	return -1;
}

static int copy_distances(hwloc_topology_t t, struct nb_topology_raw *raw)
{
	struct hwloc_distances_s *d;
	unsigned n = 1;
	int r = 0;

	if (hwloc_distances_get_by_name(t, "NUMALatency", &n, &d, 0) < 0 || n == 0)
		return -ENODATA;
	for (unsigned i = 0; i < d->nbobjs && r == 0; i++)
		for (unsigned j = 0; j < d->nbobjs; j++) {
			int from = dense(&raw->ids, d->objs[i]->os_index);
			int to = dense(&raw->ids, d->objs[j]->os_index);
			uint64_t v = d->values[(size_t)i * d->nbobjs + j];

			if (from < 0 || to < 0 || v > UINT32_MAX) {
				r = -ENODATA;
				break;
			}
			raw->distance[(size_t)from * raw->n + (size_t)to] = (uint32_t)v;
		}
	if (d->nbobjs != raw->n)
		r = -ENODATA;
	hwloc_distances_release(t, d);
	return r;
}

int nb_topology_read_hwloc(const struct nb_procfs *fs, const struct nb_bitmap *has_cpu,
			   struct nb_topology_raw *raw)
{
	__attribute__((cleanup(destroy))) hwloc_topology_t t = NULL;
	_cleanup_bitmap_ struct nb_bitmap taken = {};
	uint32_t i = 0;
	int r;

	r = nb_topology_read_list(fs, "devices/system/node/online", &raw->ids);
	if (r < 0)
		return r;
	if (!can_start(fs))
		return -ENODATA;
	r = load(fs, &t);
	if (r < 0)
		return r;
	if ((unsigned)hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_NUMANODE) !=
	    nb_bitmap_weight(&raw->ids))
		return -ENODATA;
	r = nb_topology_raw_new(raw);
	if (r < 0)
		return r;
	NB_BITMAP_FOREACH (id, &raw->ids) {
		hwloc_obj_t node = node_by_id(t, (unsigned)id);

		if (!node)
			return -ENODATA;
		/* hwloc gives a node without CPUs those of its nearest neighbours. */
		if (nb_bitmap_test(has_cpu, (unsigned)id)) {
			r = copy_cpus(node->cpuset, &raw->cpus[i]);
			/* A CPU has one node. */
			if (r == 0 && nb_bitmap_intersects(&taken, &raw->cpus[i]))
				r = -ENODATA;
			if (r == 0)
				r = nb_bitmap_or(&taken, &raw->cpus[i]);
			if (r < 0)
				return r;
		}
		i++;
	}
	return raw->n > 1 ? copy_distances(t, raw) : 0;
}
