/* SPDX-License-Identifier: MIT */
/*
 * Units that no single node holds. They get the smallest, closest set of nodes that
 * holds them, and the kernel spreads their threads inside it. A unit is kept together
 * only as far as it is busy: what counts is whether its threads would wait for each
 * other, so a process of many threads that often sleep stays spread.
 */
#include "core/policy.h"

#define WIDE_AFTER_US (2 * UINT64_C(1000000))
#define NARROW_AFTER_US (4 * UINT64_C(1000000))
/* A unit fits so many CPUs when at most this share of its tasks waits for another. */
#define FITS_PCT 10

/* Requests come in bursts, and a burst wakes all threads at once: so each thread that
 * works now and then has a CPU, however low the load is on average. */
static bool fits_cpus(const struct nb_unit *u, uint32_t n_cpus)
{
	return u->n_busy <= n_cpus &&
	       nb_load_waiting_cap(&u->load, n_cpus) * 100 <= u->load.mean_cap * FITS_PCT;
}

static uint64_t bytes_of(const struct nb_planning *pl, uint32_t i)
{
	const uint64_t *bytes = nb_snapshot_bytes(pl->s, i);
	uint64_t total = 0;

	for (uint32_t k = 0; k < pl->s->n_nodes; k++)
		total += bytes[k];
	return total;
}

static bool fits_a_node(const struct nb_planning *pl, uint32_t i)
{
	const struct nb_unit *u = nb_model_unit(pl->m, i);
	uint64_t bytes = bytes_of(pl, i);

	for (uint32_t k = 0; k < pl->s->n_nodes; k++) {
		const struct nb_node *n = &pl->s->nodes[k];
		uint64_t usable = n->mem_total_bytes / 10000 * (10000 - pl->c->settings.reserve_pmy);

		if (n->n_cpus > 0 && fits_cpus(u, n->n_cpus) &&
		    (bytes <= usable || n->mem_total_bytes == 0))
			return true;
	}
	return false;
}

enum nb_reason nb_wide_judge(struct nb_planning *pl, uint32_t i)
{
	struct nb_unit_history *h = &nb_model_unit(pl->m, i)->history;
	uint64_t now = pl->s->at_us;

	if (fits_a_node(pl, i)) {
		h->wide_since_us = 0;
		if (h->narrow_since_us == 0)
			h->narrow_since_us = now;
		if (now - h->narrow_since_us >= NARROW_AFTER_US)
			h->wide = false;
		return h->wide ? NB_REASON_WIDE : NB_REASON_NONE;
	}
	h->narrow_since_us = 0;
	if (h->wide_since_us == 0)
		h->wide_since_us = now;
	if (now - h->wide_since_us >= WIDE_AFTER_US)
		h->wide = true;
	return h->wide ? NB_REASON_WIDE : NB_REASON_SETTLING;
}

struct set {
	struct nb_bitmap nodes;
	uint32_t n_cpus;
	uint64_t mem_bytes;
};

static void shares_of(const struct nb_planning *pl, const struct set *set, uint32_t *ret_cpu_pmy)
{
	for (uint32_t k = 0; k < pl->s->n_nodes; k++)
		ret_cpu_pmy[k] = nb_bitmap_test(&set->nodes, k) ?
					 10000 * pl->s->nodes[k].n_cpus / set->n_cpus :
					 0;
}

static struct nb_load part_of(const struct nb_load *l, uint32_t pmy)
{
	return (struct nb_load){
		.mean_cap = l->mean_cap * pmy / 10000,
		.variance = l->variance * pmy / 10000,
		.n = (l->n * pmy + 9999) / 10000,
	};
}

static void add_load(struct nb_planning *pl, const struct nb_load *l, const uint32_t *cpu_pmy)
{
	for (uint32_t k = 0; k < pl->s->n_nodes; k++)
		if (cpu_pmy[k] > 0) {
			struct nb_load part = part_of(l, cpu_pmy[k]);

			nb_load_add(&pl->p->load[k], &part);
		}
}

/* What the unit's waiting adds to the nodes, and its distance to its memory. */
static int64_t cost_of(struct nb_planning *pl, const struct nb_settings *settings,
		       const struct nb_load *l, const uint32_t *cpu_pmy, const uint32_t *mem_pmy)
{
	int64_t cost = nb_locality_us(pl, settings, (uint64_t)l->mean_cap, cpu_pmy, mem_pmy);

	for (uint32_t k = 0; k < pl->s->n_nodes; k++) {
		struct nb_load part, *load = &pl->p->load[k];

		if (cpu_pmy[k] == 0)
			continue;
		part = part_of(l, cpu_pmy[k]);
		cost -= nb_problem_wait_us(pl->p, k);
		nb_load_add(load, &part);
		cost += nb_problem_wait_us(pl->p, k);
		nb_load_sub(load, &part);
	}
	return cost;
}

static int add_node(const struct nb_planning *pl, struct set *set, uint32_t k)
{
	int r = nb_bitmap_set(&set->nodes, k);

	if (r < 0)
		return r;
	set->n_cpus += pl->s->nodes[k].n_cpus;
	set->mem_bytes += pl->s->nodes[k].mem_total_bytes;
	return 0;
}

/* The node that makes the set cheapest, or NB_NO_NODE when none is left. */
static uint32_t next_node(struct nb_planning *pl, uint32_t i, const struct nb_group *g,
			  const struct nb_settings *settings, const struct set *set,
			  uint32_t *cpu_pmy, const uint32_t *mem_pmy)
{
	const struct nb_unit *u = nb_model_unit(pl->m, i);
	uint32_t best = NB_NO_NODE;
	int64_t best_us = 0;

	for (uint32_t k = 0; k < pl->s->n_nodes; k++) {
		uint32_t n_cpus = set->n_cpus + pl->s->nodes[k].n_cpus;
		int64_t us;

		if (nb_bitmap_test(&set->nodes, k) || !nb_select_cpu_node(pl, i, g, k))
			continue;
		for (uint32_t j = 0; j < pl->s->n_nodes; j++)
			cpu_pmy[j] = j == k || nb_bitmap_test(&set->nodes, j) ?
					     10000 * pl->s->nodes[j].n_cpus / n_cpus :
					     0;
		us = cost_of(pl, settings, &u->load, cpu_pmy, mem_pmy);
		if (best == NB_NO_NODE || us < best_us ||
		    (us == best_us && pl->s->nodes[k].id < pl->s->nodes[best].id)) {
			best = k;
			best_us = us;
		}
	}
	return best;
}

static int add_action(struct nb_planning *pl, uint32_t i, const struct set *set, bool release,
		      const uint32_t *now_pmy, int64_t gain_us, struct nb_verdict *v)
{
	const struct nb_settings *settings = &pl->c->settings;
	struct nb_action *a;
	uint32_t to = NB_NO_NODE, from = 0;
	int r;

	for (uint32_t k = 0; k < pl->s->n_nodes; k++) {
		if (now_pmy[k] > now_pmy[from])
			from = k;
		if (nb_bitmap_test(&set->nodes, k) && (to == NB_NO_NODE || now_pmy[k] < now_pmy[to]))
			to = k;
	}
	if (!release && pl->m->nodes[to].n_in_flight >= nb_slots(settings)) {
		v->reason = NB_REASON_SLOT_TAKEN;
		return 0;
	}
	r = nb_plan_unit_action(pl, i, &a);
	if (r == 0)
		r = nb_bitmap_copy(&a->cpu_nodes, &set->nodes);
	if (r < 0)
		return r;
	a->what = NB_CPU;
	a->release = release;
	a->takes_slot = !release;
	a->from = from;
	a->to = to;
	a->gain_us = gain_us;
	a->reason = v->reason = release ? NB_REASON_RELIEVE : NB_REASON_SPREAD;
	return 0;
}

static int place(struct nb_planning *pl, uint32_t i, struct set *set, struct nb_verdict *v)
{
	uint32_t n = pl->s->n_nodes, inside = 0;
	const struct nb_unit *u = nb_model_unit(pl->m, i);
	uint32_t *mem_pmy = pl->p->wide, *now_pmy = mem_pmy + n, *set_pmy = now_pmy + n;
	const struct nb_settings *settings;
	const struct nb_group *g;
	int64_t now_us, set_us;
	bool outside = false;
	uint64_t bytes;
	int r;

	nb_select(pl, i, &g, &settings);
	bytes = nb_model_memory_share(pl->m, pl->s, i, mem_pmy);
	if (!nb_model_cpu_share(pl->m, pl->s, i, now_pmy) || bytes == 0)
		return 0;
	while (set->n_cpus == 0 || !fits_cpus(u, set->n_cpus) || set->mem_bytes < bytes) {
		uint32_t k = next_node(pl, i, g, settings, set, set_pmy, mem_pmy);

		if (k == NB_NO_NODE)
			break;
		r = add_node(pl, set, k);
		if (r < 0)
			return r;
	}
	for (uint32_t k = 0; k < n; k++) {
		inside += nb_bitmap_test(&set->nodes, k) ? now_pmy[k] : 0;
		outside |= !nb_bitmap_test(&set->nodes, k) && nb_select_cpu_node(pl, i, g, k);
	}
	now_us = cost_of(pl, settings, &u->load, now_pmy, mem_pmy);
	v->cost_us = now_us;
	if (set->n_cpus == 0 || settings->wide == NB_WIDE_LEAVE)
		goto stay;
	shares_of(pl, set, set_pmy);
	set_us = cost_of(pl, settings, &u->load, set_pmy, mem_pmy);
	v->gain_us = now_us - set_us;
	if (!outside) {
		/* All that it may use: held narrower by us, it gets its own masks back. */
		if (nb_is_held(pl->s, i))
			return add_action(pl, i, set, true, now_pmy, v->gain_us, v);
		goto stay;
	}
	if (inside >= 9500 || v->gain_us * 10000 <= now_us * (int64_t)settings->min_gain_pmy)
		goto stay;
	add_load(pl, &u->load, set_pmy);
	return add_action(pl, i, set, false, now_pmy, v->gain_us, v);
stay:
	add_load(pl, &u->load, now_pmy);
	return 0;
}

/* The node of most of its memory is a wide unit's before another one spreads to it. */
static void reserve_home(struct nb_planning *pl, uint32_t i, int sign)
{
	const struct nb_unit *u = nb_model_unit(pl->m, i);
	const uint64_t *bytes = nb_snapshot_bytes(pl->s, i);
	struct nb_load part;
	uint32_t home = 0;

	for (uint32_t k = 1; k < pl->s->n_nodes; k++)
		if (bytes[k] > bytes[home])
			home = k;
	if (u->load.mean_cap == 0)
		return;
	part = part_of(&u->load, (uint32_t)(10000 * (int64_t)pl->s->nodes[home].n_cpus * NB_CPU_CAP /
					    (u->load.mean_cap + NB_CPU_CAP)));
	if (sign > 0)
		nb_load_add(&pl->p->load[home], &part);
	else
		nb_load_sub(&pl->p->load[home], &part);
}

int nb_wide_plan(struct nb_planning *pl)
{
	int r = 0;

	for (uint32_t i = 0; i < pl->plan->n_verdicts; i++)
		if (pl->plan->verdicts[i].reason == NB_REASON_WIDE)
			reserve_home(pl, i, 1);
	for (uint32_t i = 0; r == 0 && i < pl->plan->n_verdicts; i++) {
		struct set set = {0};

		if (pl->plan->verdicts[i].reason != NB_REASON_WIDE)
			continue;
		reserve_home(pl, i, -1);
		r = place(pl, i, &set, &pl->plan->verdicts[i]);
		nb_bitmap_done(&set.nodes);
	}
	for (uint32_t k = 0; k < pl->p->n_nodes; k++)
		pl->p->wait_us[k] = nb_problem_wait_us(pl->p, k);
	return r;
}
