/* SPDX-License-Identifier: MIT */
#include "core/model.h"

#include <stdlib.h>

#include "core/grow.h"
#include "core/problem.h"

/* Until the first move was timed: what one mover thread reaches on a slow machine. */
#define FIRST_MOVER_BPS (256u << 20)

int nb_model_new(struct nb_model **ret)
{
	struct nb_model *m = calloc(1, sizeof(*m));

	if (!m)
		return -ENOMEM;
	m->problem = calloc(1, sizeof(*m->problem));
	if (!m->problem) {
		free(m);
		return -ENOMEM;
	}
	m->mover_bps = FIRST_MOVER_BPS;
	m->source = NB_SOURCE_UNKNOWN;
	*ret = m;
	return 0;
}

struct nb_model *nb_model_free(struct nb_model *m)
{
	if (!m)
		return NULL;
	for (unsigned i = 0; i < 2; i++) {
		free(m->side[i].units);
		free(m->side[i].first_thread);
		free(m->side[i].threads);
		free(m->side[i].cpus);
	}
	free(m->nodes);
	free(m->unit_run_ns);
	free(m->node_scratch);
	free(m->flights);
	nb_problem_done(m->problem);
	free(m->problem);
	free(m);
	return NULL;
}

void nb_model_hold(struct nb_model *m, enum nb_reason why)
{
	m->hold = why;
}

struct nb_unit *nb_model_find(struct nb_model *m, struct nb_key key)
{
	struct nb_history *h = &m->side[m->now];
	uint32_t lo = 0, hi = h->n_units;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (h->units[mid].key.pid < key.pid)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < h->n_units && nb_key_equal(h->units[lo].key, key) ? &h->units[lo] : NULL;
}

/* Shares in permyriad that sum to exactly 10,000; the largest takes the rounding. */
static void to_shares(const uint64_t *amount, uint32_t n, uint64_t total, uint32_t *ret)
{
	uint32_t sum = 0, largest = 0;

	for (uint32_t k = 0; k < n; k++) {
		ret[k] = amount[k] ? (uint32_t)((unsigned __int128)amount[k] * 10000 / total) : 0;
		sum += ret[k];
		if (amount[k] > amount[largest])
			largest = k;
	}
	ret[largest] += 10000 - sum;
}

static uint64_t sum_of(const uint64_t *amount, uint32_t n)
{
	uint64_t total = 0;

	for (uint32_t k = 0; k < n; k++)
		total += amount[k];
	return total;
}

static void one_hot(uint32_t *ret, uint32_t n, uint32_t node)
{
	for (uint32_t k = 0; k < n; k++)
		ret[k] = k == node ? 10000 : 0;
}

bool nb_model_cpu_share(const struct nb_model *m, const struct nb_snapshot *s, uint32_t i,
			uint32_t *ret)
{
	const struct nb_unit_history *h = &nb_model_unit(m, i)->history;
	const uint64_t *run = nb_model_unit_run(m, i);
	uint64_t total = sum_of(run, m->n_nodes);

	if (h->placed != NB_NO_NODE && (h->moving || s->at_us <= h->placed_at_us)) {
		one_hot(ret, m->n_nodes, h->placed);
		return true;
	}
	if (total == 0)
		return false;
	to_shares(run, m->n_nodes, total, ret);
	return true;
}

uint64_t nb_model_memory_share(const struct nb_model *m, const struct nb_snapshot *s, uint32_t i,
			       uint32_t *ret)
{
	const struct nb_unit_history *h = &nb_model_unit(m, i)->history;
	const struct nb_process *p = &s->processes[i];
	const uint64_t *bytes = nb_snapshot_bytes(s, i);
	uint64_t total = p->valid & NB_VALID_MEM ? sum_of(bytes, m->n_nodes) : 0;

	if (total == 0)
		return 0;
	if (h->memory_to != NB_NO_NODE && (h->moving || p->mem_at_us <= h->memory_at_us))
		one_hot(ret, m->n_nodes, h->memory_to);
	else
		to_shares(bytes, m->n_nodes, total, ret);
	return total;
}
