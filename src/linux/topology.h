/* SPDX-License-Identifier: MIT */
/*
 * Nodes and CPUs of the machine as they are now. Nodes have dense indexes in the
 * order of the kernel's ids; the ids are data and may have holes.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "linux/procfs.h"
#include "nb/bitmap.h"
#include "nb/snapshot.h"

enum nb_topology_source {
	NB_TOPOLOGY_HWLOC,
	NB_TOPOLOGY_SYSFS, /* hwloc would not start, or saw something else than the kernel says */
	NB_TOPOLOGY_FLAT,  /* a kernel without NUMA: one node */
};

struct nb_topology_node {
	uint32_t id;
	struct nb_bitmap cpus; /* online and not isolated */
};

struct nb_topology_cpu {
	uint32_t id;
	uint32_t node; /* dense, or NB_NO_NODE */
	bool online, isolated;
};

struct nb_topology {
	uint64_t gen; /* grows with every change */
	enum nb_topology_source source;
	uint32_t n_nodes, n_cpus;
	struct nb_topology_node *nodes;
	struct nb_topology_cpu *cpus; /* ascending id; offline ones that a node names, too */
	uint32_t *distance;           /* n_nodes × n_nodes, mended */
	struct nb_bitmap online;      /* CPUs */
	struct nb_bitmap isolated;    /* by isolcpus=, nohz_full= or an isolated partition */
	struct nb_bitmap usable;      /* online ∖ isolated */
	uint32_t *dense_of_id;        /* of the kernel's node ids below n_ids */
	uint32_t n_ids;

	struct nb_text seen, now, file; /* what the cheap comparison compares */
};

/* Looks whether anything changed (some small files), and if so reads all anew.
 * partitions: CPUs of isolated cpuset partitions, or NULL. 1: gen has grown, 0: as
 * before; negative: could not be read, t is as it was. Zero-initialise before the
 * first call. */
int nb_topology_refresh(struct nb_topology *t, const struct nb_procfs *fs,
			const struct nb_bitmap *partitions);
void nb_topology_done(struct nb_topology *t);

static inline uint32_t nb_topology_dense(const struct nb_topology *t, uint32_t id)
{
	return id < t->n_ids ? t->dense_of_id[id] : NB_NO_NODE;
}

/* --- between the files of this module ---------------------------------------- */

/* What a source says, before it is mended. */
struct nb_topology_raw {
	struct nb_bitmap ids; /* of the online nodes */
	uint32_t n;
	struct nb_bitmap *cpus; /* of each, in ascending order of id */
	uint32_t *distance;     /* n × n; 0: not known */
};

int nb_topology_raw_new(struct nb_topology_raw *raw); /* of raw->ids */
void nb_topology_raw_done(struct nb_topology_raw *raw);

/* has_cpu: the nodes with CPUs. -ENODATA: see the source. */
int nb_topology_read_hwloc(const struct nb_procfs *fs, const struct nb_bitmap *has_cpu,
			   struct nb_topology_raw *raw);
int nb_topology_read_sysfs(const struct nb_procfs *fs, struct nb_topology_raw *raw);

/* A file of one kernel list below /sys. */
int nb_topology_read_list(const struct nb_procfs *fs, const char *path, struct nb_bitmap *ret);
