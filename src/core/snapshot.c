/* SPDX-License-Identifier: MIT */
#include "nb/snapshot.h"

#include <stdlib.h>
#include <string.h>

#include "core/grow.h"

int nb_snapshot_new(struct nb_snapshot **ret)
{
	struct nb_snapshot *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	*ret = s;
	return 0;
}

struct nb_snapshot *nb_snapshot_free(struct nb_snapshot *s)
{
	if (!s)
		return NULL;
	for (uint32_t i = 0; i < s->cap_masks; i++)
		nb_bitmap_done(&s->masks[i]);
	free(s->nodes);
	free(s->cpus);
	free(s->distance);
	free(s->processes);
	free(s->threads);
	free(s->node_bytes);
	free(s->masks);
	free(s->strings);
	free(s);
	return NULL;
}

int nb_snapshot_begin(struct nb_snapshot *s, uint64_t at_us, uint32_t n_nodes, uint32_t n_cpus)
{
	int r;

	r = NB_GROW(s->nodes, s->cap_nodes, n_nodes);
	if (r == 0)
		r = NB_GROW(s->cpus, s->cap_cpus, n_cpus);
	if (r == 0)
		r = NB_GROW(s->distance, s->cap_distance, (uint64_t)n_nodes * n_nodes);
	if (r < 0)
		return r;
	s->at_us = at_us;
	s->kernel_balances = false;
	s->n_nodes = n_nodes;
	s->n_cpus = n_cpus;
	s->n_processes = s->n_threads = s->n_masks = 0;
	s->strings_len = 0;
	s->rejected_rows = s->gone_tasks = 0;
	if (n_nodes > 0)
		memset(s->nodes, 0, n_nodes * sizeof(*s->nodes));
	if (n_cpus > 0)
		memset(s->cpus, 0, n_cpus * sizeof(*s->cpus));
	for (uint32_t i = 0; i < n_nodes; i++)
		for (uint32_t j = 0; j < n_nodes; j++)
			s->distance[(uint64_t)i * n_nodes + j] =
				i == j ? NB_DIST_LOCAL : 2 * NB_DIST_LOCAL;
	return 0;
}

int nb_snapshot_add_process(struct nb_snapshot *s, struct nb_process **ret)
{
	uint64_t rows = (uint64_t)s->n_processes + 1;
	struct nb_process *p;
	int r;

	r = NB_GROW(s->processes, s->cap_processes, rows);
	if (r == 0)
		r = NB_GROW(s->node_bytes, s->cap_bytes, rows * s->n_nodes);
	if (r < 0)
		return r;
	if (s->n_nodes > 0)
		memset(nb_snapshot_bytes(s, s->n_processes), 0, s->n_nodes * sizeof(uint64_t));
	p = &s->processes[s->n_processes++];
	*p = (struct nb_process){
		.user = NB_NO_STR,
		.cgroup = NB_NO_STR,
		.allowed = NB_NO_MASK,
		.mems = NB_NO_MASK,
		.first_thread = s->n_threads,
	};
	*ret = p;
	return 0;
}

int nb_snapshot_add_thread(struct nb_snapshot *s, struct nb_thread **ret)
{
	int r;

	if (s->n_processes == 0)
		return -EINVAL;
	r = NB_GROW(s->threads, s->cap_threads, (uint64_t)s->n_threads + 1);
	if (r < 0)
		return r;
	s->processes[s->n_processes - 1].n_threads++;
	*ret = &s->threads[s->n_threads++];
	**ret = (struct nb_thread){.mask = NB_NO_MASK, .current = NB_NO_MASK};
	return 0;
}

void nb_snapshot_drop_process(struct nb_snapshot *s)
{
	if (s->n_processes == 0)
		return;
	s->n_processes--;
	s->n_threads = s->processes[s->n_processes].first_thread;
}

int nb_snapshot_intern_mask(struct nb_snapshot *s, const struct nb_bitmap *b, uint32_t *ret)
{
	int r;

	/* There are few different masks on a machine, and the last is the likeliest. */
	for (uint32_t i = s->n_masks; i-- > 0;)
		if (nb_bitmap_equal(&s->masks[i], b)) {
			*ret = i;
			return 0;
		}
	r = NB_GROW(s->masks, s->cap_masks, (uint64_t)s->n_masks + 1);
	if (r == 0)
		r = nb_bitmap_copy(&s->masks[s->n_masks], b);
	if (r < 0)
		return r;
	*ret = s->n_masks++;
	return 0;
}

int nb_snapshot_intern_str(struct nb_snapshot *s, const char *text, uint32_t *ret)
{
	size_t len = strlen(text) + 1;
	int r;

	for (uint32_t i = 0; i < s->strings_len; i += (uint32_t)strlen(s->strings + i) + 1)
		if (strcmp(s->strings + i, text) == 0) {
			*ret = i;
			return 0;
		}
	r = NB_GROW(s->strings, s->cap_strings, (uint64_t)s->strings_len + len);
	if (r < 0)
		return r;
	memcpy(s->strings + s->strings_len, text, len);
	*ret = s->strings_len;
	s->strings_len += (uint32_t)len;
	return 0;
}

const struct nb_bitmap *nb_snapshot_mask(const struct nb_snapshot *s, uint32_t mask)
{
	static const struct nb_bitmap empty;

	return mask < s->n_masks ? &s->masks[mask] : &empty;
}

const char *nb_snapshot_str(const struct nb_snapshot *s, uint32_t str)
{
	return str < s->strings_len ? s->strings + str : "";
}

uint64_t *nb_snapshot_bytes(const struct nb_snapshot *s, uint32_t process)
{
	return s->node_bytes + (uint64_t)process * s->n_nodes;
}

uint32_t nb_snapshot_distance(const struct nb_snapshot *s, uint32_t from, uint32_t to)
{
	return s->distance[(uint64_t)from * s->n_nodes + to];
}

const struct nb_cpu *nb_snapshot_cpu(const struct nb_snapshot *s, uint32_t id)
{
	uint32_t lo = 0, hi = s->n_cpus;

	if (id < s->n_cpus && s->cpus[id].id == id) /* no holes: the common machine */
		return &s->cpus[id];
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (s->cpus[mid].id < id)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < s->n_cpus && s->cpus[lo].id == id ? &s->cpus[lo] : NULL;
}

uint32_t nb_snapshot_cpu_node(const struct nb_snapshot *s, uint32_t id)
{
	const struct nb_cpu *cpu = nb_snapshot_cpu(s, id);

	return cpu ? cpu->node : NB_NO_NODE;
}

uint32_t nb_snapshot_node_by_id(const struct nb_snapshot *s, uint32_t id)
{
	for (uint32_t i = 0; i < s->n_nodes; i++)
		if (s->nodes[i].id == id)
			return i;
	return NB_NO_NODE;
}

uint32_t nb_snapshot_process_by_pid(const struct nb_snapshot *s, int32_t pid)
{
	uint32_t lo = 0, hi = s->n_processes;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (s->processes[mid].key.pid < pid)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < s->n_processes && s->processes[lo].key.pid == pid ? lo : UINT32_MAX;
}
