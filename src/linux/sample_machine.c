/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>

#include "linux/sample_parts.h"

static int read_node_memory(struct nb_sampler *s, struct nb_node *node)
{
	struct nb_meminfo info;
	char path[64];
	int r;

	if (s->topology.source == NB_TOPOLOGY_FLAT) {
		r = nb_text_read(&s->text, s->fs.proc_fd, "meminfo");
	} else {
		snprintf(path, sizeof(path), "devices/system/node/node%u/meminfo", node->id);
		r = nb_text_read(&s->text, s->fs.sys_fd, path);
	}
	if (r == -ENOMEM)
		return r;
	if (r < 0) /* it may have vanished since the topology was read */
		return 0;
	if (nb_parse_meminfo(s->text.data, s->text.len, &info) < 0) {
		s->snap->rejected_rows++;
		return 0;
	}
	node->valid |= NB_VALID_MEM;
	node->mem_total_bytes = info.total_bytes;
	node->mem_free_bytes = info.free_bytes;
	node->mem_clean_bytes = info.clean_bytes;
	return 0;
}

static int fill_nodes(struct nb_sampler *s)
{
	const struct nb_topology *t = &s->topology;
	int r;

	for (uint32_t i = 0; i < t->n_nodes; i++) {
		struct nb_node *node = &s->snap->nodes[i];

		node->id = t->nodes[i].id;
		node->n_cpus = nb_bitmap_weight(&t->nodes[i].cpus);
		r = nb_snapshot_intern_mask(s->snap, &t->nodes[i].cpus, &node->cpus);
		if (r == 0)
			r = read_node_memory(s, node);
		if (r < 0)
			return r;
		/* Memory without CPUs is of another kind: slow, fast and small, or a GPU's. */
		for (uint32_t j = 0; j < t->n_cpus && !node->mem_target; j++)
			node->mem_target = t->cpus[j].node == i && node->mem_total_bytes > 0;
		for (uint32_t j = 0; j < t->n_nodes; j++)
			s->snap->distance[(size_t)i * t->n_nodes + j] =
				t->distance[(size_t)i * t->n_nodes + j];
	}
	return 0;
}

/* CPUs are in ascending order both here and in most of the kernel's lists. */
static struct nb_cpu *find_cpu(struct nb_snapshot *snap, uint32_t id, uint32_t *hint)
{
	if (*hint < snap->n_cpus && snap->cpus[*hint].id == id)
		return &snap->cpus[(*hint)++];
	for (uint32_t i = 0; i < snap->n_cpus; i++)
		if (snap->cpus[i].id == id) {
			*hint = i + 1;
			return &snap->cpus[i];
		}
	return NULL;
}

static int read_schedstat(struct nb_sampler *s)
{
	uint32_t hint = 0;
	int r;

	r = nb_text_read(&s->text, s->fs.proc_fd, "schedstat");
	if (r < 0) /* a kernel without SCHEDSTATS: the threads' own times remain */
		return r == -ENOMEM ? r : 0;
	r = nb_parse_schedstat(s->text.data, s->text.len, &s->schedstat);
	if (r == -ENOMEM)
		return r;
	if (r < 0) {
		s->snap->rejected_rows++;
		return 0;
	}
	s->snap->rejected_rows += s->schedstat.rejected;
	for (size_t i = 0; i < s->schedstat.n; i++) {
		const struct nb_run_wait *row = &s->schedstat.cpus[i];
		struct nb_cpu *cpu = find_cpu(s->snap, row->cpu, &hint);

		if (!cpu)
			continue;
		cpu->run_ns = row->run_ns;
		cpu->wait_ns = row->wait_ns;
		cpu->valid |= NB_VALID_RUN | NB_VALID_WAIT;
	}
	return 0;
}

static int read_busy(struct nb_sampler *s)
{
	uint32_t hint = 0;
	int r;

	r = nb_text_read(&s->text, s->fs.proc_fd, "stat");
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	r = nb_parse_proc_stat(s->text.data, s->text.len, &s->proc_stat);
	if (r == -ENOMEM)
		return r;
	s->snap->rejected_rows += s->proc_stat.rejected + (r < 0);
	for (size_t i = 0; i < s->proc_stat.n; i++) {
		const struct nb_busy *row = &s->proc_stat.cpus[i];
		struct nb_cpu *cpu = find_cpu(s->snap, row->cpu, &hint);

		if (!cpu)
			continue;
		cpu->busy_ns = row->busy * s->tick_ns;
		cpu->valid |= NB_VALID_BUSY;
	}
	return 0;
}

int nb_sample_machine(struct nb_sampler *s)
{
	const struct nb_topology *t = &s->topology;
	int r;

	for (uint32_t i = 0; i < t->n_cpus; i++) {
		struct nb_cpu *cpu = &s->snap->cpus[i];

		cpu->id = t->cpus[i].id;
		cpu->node = t->cpus[i].node;
		cpu->online = t->cpus[i].online;
		cpu->isolated = t->cpus[i].isolated;
	}
	r = fill_nodes(s);
	if (r == 0)
		r = read_schedstat(s);
	if (r == 0)
		r = read_busy(s);
	return r;
}
