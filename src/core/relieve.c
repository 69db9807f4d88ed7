/* SPDX-License-Identifier: MIT */
/*
 * Work conservation: a mask that the daemon set must not keep a thread waiting while a
 * CPU that its owner allows is idle elsewhere. Cool-downs, settling and slots do not
 * count here: giving a mask back costs nothing, and the kernel's scheduler does the rest.
 */
#include "core/policy.h"

/* Half a task that waits, half a CPU that is idle: less is chance. */
#define WAITING_CAP (NB_CPU_CAP / 2)
#define IDLE_CAP (NB_CPU_CAP / 2)

bool nb_is_held(const struct nb_snapshot *s, uint32_t i)
{
	const struct nb_process *p = &s->processes[i];

	for (uint32_t j = 0; j < p->n_threads; j++)
		if (s->threads[p->first_thread + j].mask != s->threads[p->first_thread + j].current)
			return true;
	return false;
}

/* The node that a held unit is kept on, if all its threads are; else NB_NO_NODE. */
static uint32_t held_on(const struct nb_planning *pl, uint32_t i)
{
	const struct nb_process *p = &pl->s->processes[i];
	uint32_t found = NB_NO_NODE;

	for (uint32_t k = 0; k < pl->s->n_nodes; k++) {
		const struct nb_bitmap *cpus = nb_snapshot_mask(pl->s, pl->s->nodes[k].cpus);

		for (uint32_t j = 0; j < p->n_threads; j++) {
			const struct nb_thread *t = &pl->s->threads[p->first_thread + j];

			if (!nb_bitmap_intersects(nb_snapshot_mask(pl->s, t->current), cpus))
				continue;
			if (found != NB_NO_NODE && found != k)
				return NB_NO_NODE;
			found = k;
		}
	}
	return found;
}

/* The load of node k that cannot leave it by itself: what the daemon holds there, and what
 * its owner keeps there. The rest the kernel's scheduler spreads. */
static struct nb_load kept_on(const struct nb_planning *pl, uint32_t k)
{
	const struct nb_history *h = nb_model_now(pl->m);
	const struct nb_bitmap *cpus = nb_snapshot_mask(pl->s, pl->s->nodes[k].cpus);
	struct nb_load kept = {0};

	for (uint32_t j = 0; j < pl->s->n_threads; j++) {
		const struct nb_thread *t = &pl->s->threads[j];

		if (h->threads[j].node == k && h->threads[j].runnable_cap >= NB_ACTIVE_CAP &&
		    t->current < pl->s->n_masks &&
		    nb_bitmap_subset(nb_snapshot_mask(pl->s, t->current), cpus))
			nb_load_add_task(&kept, h->threads[j].runnable_cap);
	}
	return kept;
}

static bool crowded(const struct nb_planning *pl, const struct nb_load *l, uint32_t k)
{
	return nb_load_waiting_cap(l, pl->s->nodes[k].n_cpus) >= WAITING_CAP;
}

static bool idle_elsewhere(const struct nb_planning *pl, uint32_t i, uint32_t k)
{
	const struct nb_group *g;
	const struct nb_settings *settings;

	nb_select(pl, i, &g, &settings);
	for (uint32_t j = 0; j < pl->s->n_nodes; j++) {
		int64_t capacity = (int64_t)pl->s->nodes[j].n_cpus * NB_CPU_CAP;

		if (j != k && nb_select_cpu_node(pl, i, g, j) &&
		    capacity - pl->p->load[j].mean_cap >= IDLE_CAP)
			return true;
	}
	return false;
}

static int release(struct nb_planning *pl, uint32_t i, uint32_t k)
{
	struct nb_action *a;
	int r = nb_plan_unit_action(pl, i, &a);

	if (r < 0)
		return r;
	a->what = NB_CPU;
	a->release = true;
	a->from = a->to = k;
	a->reason = pl->plan->verdicts[i].reason = NB_REASON_RELIEVE;
	/* One that may go is enough for now: where it goes is seen in the next sample. */
	nb_load_sub(&pl->p->load[k], &nb_model_unit(pl->m, i)->load);
	return 0;
}

/* Units that the policy would otherwise leave where they are held. */
static bool stays(const struct nb_planning *pl, uint32_t i)
{
	static const enum nb_reason reasons[] = {
		NB_REASON_LOCAL, NB_REASON_SMALL_GAIN, NB_REASON_SLOT_TAKEN, NB_REASON_BUSIER_NODE,
		NB_REASON_NO_CPU_ROOM, NB_REASON_COOLDOWN, NB_REASON_BACKOFF, NB_REASON_SETTLING,
	};
	const struct nb_unit *u = nb_model_unit(pl->m, i);

	if (u->history.moving || !u->rates_valid || u->runnable_cap < IDLE_CAP)
		return false;
	for (size_t k = 0; k < sizeof(reasons) / sizeof(*reasons); k++)
		if (pl->plan->verdicts[i].reason == reasons[k])
			return true;
	return false;
}

int nb_relieve(struct nb_planning *pl)
{
	for (uint32_t i = 0; i < pl->plan->n_verdicts; i++) {
		struct nb_load kept;
		uint32_t k;
		int r;

		if (!stays(pl, i) || !nb_is_held(pl->s, i))
			continue;
		k = held_on(pl, i);
		if (k == NB_NO_NODE || !crowded(pl, &pl->p->load[k], k) || !idle_elsewhere(pl, i, k))
			continue;
		kept = kept_on(pl, k);
		if (!crowded(pl, &kept, k))
			continue;
		r = release(pl, i, k);
		if (r < 0)
			return r;
	}
	return 0;
}
