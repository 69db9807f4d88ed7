/* SPDX-License-Identifier: MIT */
/* Builds the placement problem: verdicts for those that stay, candidates of the rest,
 * and the load that the nodes have without them. */
#include "core/policy.h"

/* What any change of place costs in lost caches and for the kernel's work: at least as
 * much as two scheduling latencies (6 ms each on a default kernel). */
#define DISTURBANCE_US 12000
/* More than any other cost: a unit that its group keeps elsewhere has to go. */
#define DISPLACED_US INT64_C(1000000000000000)

/* mean is Σ c·m·distance in permyriad² × 10; 1e9 of it is all local. Asymmetric tables
 * may go below. */
static int64_t excess_us(const struct nb_settings *settings, uint64_t runnable_cap, uint64_t mean)
{
	int64_t excess_pmy = (int64_t)(mean / 100000) - 10000;

	if (excess_pmy < 0)
		excess_pmy = 0;
	return (int64_t)(runnable_cap * (settings->horizon_us / 1000) / NB_CPU_CAP) * excess_pmy / 10000 *
	       settings->remote_penalty_pmy / 10;
}

int64_t nb_locality_us(const struct nb_planning *pl, const struct nb_settings *settings,
		       uint64_t runnable_cap, const uint32_t *cpu_pmy, const uint32_t *mem_pmy)
{
	uint32_t n = pl->s->n_nodes;
	uint64_t mean = 0;

	for (uint32_t a = 0; a < n; a++) {
		const uint32_t *distance = pl->s->distance + (uint64_t)a * n;
		uint64_t row = 0;

		if (cpu_pmy[a] == 0)
			continue;
		for (uint32_t k = 0; k < n; k++)
			row += (uint64_t)mem_pmy[k] * distance[k];
		mean += row * cpu_pmy[a];
	}
	return excess_us(settings, runnable_cap, mean);
}

int64_t nb_memory_price_us(const struct nb_model *m, uint64_t bytes)
{
	/* in KiB, so that 64 bits hold 8 PiB */
	uint64_t kib_per_s = m->mover_bps / 1024 ? m->mover_bps / 1024 : 1;

	return (int64_t)(bytes / 1024 * 2 * 1000000 / kib_per_s);
}

static uint32_t largest(const struct nb_snapshot *s, const uint32_t *share)
{
	uint32_t best = 0;

	for (uint32_t k = 1; k < s->n_nodes; k++)
		if (share[k] > share[best] ||
		    (share[k] == share[best] && s->nodes[k].id < s->nodes[best].id))
			best = k;
	return best;
}

/* Free, and clean cache that goes when it is needed, less the reserve. */
static bool has_room(const struct nb_planning *pl, const struct nb_settings *settings, uint32_t k,
		     uint64_t bytes)
{
	const struct nb_node *n = &pl->s->nodes[k];
	uint64_t reserve = n->mem_total_bytes / 10000 * settings->reserve_pmy;

	return n->valid & NB_VALID_MEM && n->mem_free_bytes + n->mem_clean_bytes >= bytes + reserve;
}

static void cost_places(struct nb_planning *pl, uint32_t u, const struct nb_group *g,
			const uint32_t *mem_pmy)
{
	struct nb_problem *p = pl->p;
	struct nb_candidate *c = &p->units[u];
	uint64_t row = (uint64_t)u * p->n_nodes;
	uint32_t *holds = p->scratch + p->n_nodes, n_holds = 0;

	/* Most units have their memory on a node or two. */
	for (uint32_t k = 0; k < p->n_nodes; k++)
		if (mem_pmy[k] > 0)
			holds[n_holds++] = k;
	for (uint32_t k = 0; k < p->n_nodes; k++) {
		const uint32_t *distance = pl->s->distance + (uint64_t)k * p->n_nodes;
		uint64_t bytes = c->bytes / 10000 * (10000 - mem_pmy[k]), mean = 0;
		int64_t cost, moved;

		p->cost_us[row + k] = NB_NO_COST;
		p->moved_us[row + k] = NB_NO_COST;
		if (!nb_select_cpu_node(pl, c->index, g, k))
			continue;
		for (uint32_t j = 0; j < n_holds; j++)
			mean += (uint64_t)mem_pmy[holds[j]] * distance[holds[j]];
		cost = excess_us(c->settings, (uint64_t)c->load.mean_cap, mean * 10000);
		moved = nb_memory_price_us(pl->m, bytes);
		/* A last few pages are not worth a move. */
		if (cost > c->hurdle_us && moved < cost && nb_select_memory_node(pl, c->index, k) &&
		    has_room(pl, c->settings, k, bytes))
			p->moved_us[row + k] = moved + c->hurdle_us;
		/* Staying put has no hurdle; where it goes, the gain must be worth it. */
		p->cost_us[row + k] = cost + c->hurdle_us;
	}
}

static void add_candidate(struct nb_planning *pl, uint32_t i, const struct nb_group *g,
			  const struct nb_settings *settings, const uint32_t *mem_pmy, uint64_t bytes)
{
	struct nb_problem *p = pl->p;
	uint32_t u = p->n++;
	struct nb_candidate *c = &p->units[u];
	uint32_t *cpu_pmy = p->cpu_pmy + (uint64_t)u * p->n_nodes;
	const struct nb_unit *unit = nb_model_unit(pl->m, i);

	*c = (struct nb_candidate){
		.index = i,
		.key = unit->key,
		.settings = settings,
		.load = unit->load,
		.bytes = bytes,
		.where = NB_STAY,
	};
	nb_model_cpu_share(pl->m, pl->s, i, cpu_pmy);
	c->from = largest(pl->s, cpu_pmy);
	c->undivided = cpu_pmy[c->from] == 10000;
	c->home = largest(pl->s, mem_pmy);
	c->stay_us = nb_locality_us(pl, settings, c->load.mean_cap, cpu_pmy, mem_pmy);
	/* All local costs runnable × horizon × penalty; the excess comes on top. */
	c->present_us = c->stay_us + (int64_t)(settings->horizon_us / 1000 * (uint64_t)c->load.mean_cap /
					       NB_CPU_CAP * settings->remote_penalty_pmy / 10);
	c->hurdle_us = c->present_us / 10000 * settings->min_gain_pmy + DISTURBANCE_US;
	for (uint32_t k = 0; g && g->nodes_set && k < p->n_nodes; k++)
		c->displaced |= cpu_pmy[k] > 0 && !nb_bitmap_test(&g->nodes, pl->s->nodes[k].id);
	if (c->displaced)
		c->stay_us = DISPLACED_US;
	cost_places(pl, u, g, mem_pmy);
}

/* What the nodes carry without the candidates: the tasks whose threads were looked at
 * one by one, and what the node's own average shows beyond these. */
static void add_fixed_load(struct nb_planning *pl)
{
	struct nb_problem *p = pl->p;
	const struct nb_history *h = nb_model_now(pl->m);
	uint32_t u = 0;

	for (uint32_t k = 0; k < p->n_nodes; k++) {
		int64_t other = (int64_t)pl->m->nodes[k].other_cap;

		/* Who they are is not known: taken as tasks that always run. */
		if (other >= NB_ACTIVE_CAP)
			nb_load_add(&p->load[k], &(struct nb_load){
							 .mean_cap = other,
							 .n = (other + NB_CPU_CAP - 1) / NB_CPU_CAP,
						 });
	}
	for (uint32_t i = 0; i < h->n_units; i++) {
		bool candidate = u < p->n && p->units[u].index == i;

		u += candidate;
		if (candidate || pl->plan->verdicts[i].reason == NB_REASON_WIDE)
			continue;
		for (uint32_t j = 0; j < h->units[i].n_threads; j++) {
			const struct nb_thread_state *t = &h->threads[h->first_thread[i] + j];
			uint32_t k = t->node;
			const struct nb_unit_history *uh = &h->units[i].history;

			if (uh->placed != NB_NO_NODE && (uh->moving || pl->s->at_us <= uh->placed_at_us))
				k = uh->placed;
			if (k != NB_NO_NODE)
				nb_load_add_task(&p->load[k], t->runnable_cap);
		}
	}
}

static int judge(struct nb_planning *pl, uint32_t i)
{
	const struct nb_group *g;
	const struct nb_settings *settings;
	uint32_t *mem_pmy = pl->p->scratch;
	struct nb_verdict *v;
	uint64_t bytes;
	int r = nb_plan_add_verdict(pl->plan, &v);

	if (r < 0)
		return r;
	v->key = pl->s->processes[i].key;
	v->reason = nb_select(pl, i, &g, &settings);
	if (v->reason != NB_REASON_NONE)
		return 0;
	if (!nb_model_cpu_share(pl->m, pl->s, i, mem_pmy)) {
		v->reason = NB_REASON_IDLE;
		return 0;
	}
	v->reason = nb_wide_judge(pl, i);
	if (v->reason != NB_REASON_NONE)
		return 0;
	bytes = nb_model_memory_share(pl->m, pl->s, i, mem_pmy);
	if (bytes == 0) {
		v->reason = NB_REASON_NO_MEMORY_INFO;
		return 0;
	}
	add_candidate(pl, i, g, settings, mem_pmy, bytes);
	return 0;
}

int nb_candidates_build(struct nb_planning *pl)
{
	struct nb_problem *p = pl->p;
	int r = nb_problem_reserve(p, pl->s);

	if (r < 0)
		return r;
	p->s = pl->s;
	p->n_nodes = pl->s->n_nodes;
	p->n = 0;
	p->horizon_us = pl->c->settings.horizon_us;
	for (uint32_t k = 0; k < p->n_nodes; k++)
		p->load[k] = (struct nb_load){0};
	for (uint32_t i = 0; i < pl->s->n_processes; i++) {
		r = judge(pl, i);
		if (r < 0)
			return r;
	}
	add_fixed_load(pl);
	for (uint32_t u = 0; u < p->n; u++)
		nb_problem_apply(p, u, NB_STAY, 1);
	return nb_wide_plan(pl);
}
