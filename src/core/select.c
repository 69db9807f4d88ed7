/* SPDX-License-Identifier: MIT */
/* Which processes are units that may be placed, and where they may go. */
#include "core/policy.h"

static enum nb_reason by_flags(const struct nb_process *p)
{
	static const struct {
		uint32_t flag;
		enum nb_reason reason;
	} rules[] = {
		{NB_PROC_KTHREAD, NB_REASON_KERNEL_THREAD},
		{NB_PROC_EXITING, NB_REASON_EXITING},
		{NB_PROC_SELF, NB_REASON_SELF},
		{NB_PROC_REALTIME, NB_REASON_REALTIME},
		{NB_PROC_NO_AFFINITY, NB_REASON_NO_AFFINITY},
		{NB_PROC_PINNED, NB_REASON_PINNED},
		{NB_PROC_BOUND, NB_REASON_BOUND},
		{NB_PROC_INTERLEAVED, NB_REASON_INTERLEAVED},
		{NB_PROC_DENIED, NB_REASON_DENIED},
	};

	for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++)
		if (p->flags & rules[i].flag)
			return rules[i].reason;
	return NB_REASON_NONE;
}

static enum nb_reason by_configuration(const struct nb_planning *pl, const struct nb_process *p,
				       const struct nb_group *g)
{
	const struct nb_config *c = pl->c;
	const char *user = nb_snapshot_str(pl->s, p->user);
	const char *cgroup = nb_snapshot_str(pl->s, p->cgroup);

	if (g && g->action == NB_GROUP_IGNORE)
		return NB_REASON_IGNORED;
	if (g && g->action == NB_GROUP_OBSERVE)
		return NB_REASON_OBSERVED;
	/* Named by the administrator: neither the other lists nor the built-in one count. */
	if (nb_list_match(&c->select.include_comm, p->comm))
		return NB_REASON_NONE;
	if (p->flags & NB_PROC_SERVICE)
		return NB_REASON_SERVICE;
	if (nb_list_match(&c->select.exclude_comm, p->comm) ||
	    nb_list_match(&c->select.exclude_user, user) ||
	    nb_list_match(&c->select.exclude_cgroup, cgroup))
		return NB_REASON_EXCLUDED;
	return NB_REASON_NONE;
}

static uint64_t memory_of(const struct nb_planning *pl, uint32_t i)
{
	const struct nb_process *p = &pl->s->processes[i];
	const uint64_t *bytes = nb_snapshot_bytes(pl->s, i);
	uint64_t total = 0;

	if (!(p->valid & NB_VALID_MEM))
		return p->anon_bytes;
	for (uint32_t k = 0; k < pl->s->n_nodes; k++)
		total += bytes[k];
	return total;
}

static enum nb_reason by_size(const struct nb_planning *pl, uint32_t i)
{
	const struct nb_process *p = &pl->s->processes[i];
	const struct nb_unit *u = nb_model_unit(pl->m, i);

	if (memory_of(pl, i) < pl->c->select.min_memory_bytes)
		return NB_REASON_SMALL_MEMORY;
	if (!u->rates_valid)
		return NB_REASON_NEW;
	if (u->runnable_cap * 10000 < (uint64_t)pl->c->select.min_cpu_pmy * NB_CPU_CAP)
		return NB_REASON_IDLE;
	if (!(p->valid & NB_VALID_MEM))
		return NB_REASON_NO_MEMORY_INFO;
	return NB_REASON_NONE;
}

static enum nb_reason by_history(const struct nb_planning *pl, uint32_t i)
{
	const struct nb_unit_history *h = &nb_model_unit(pl->m, i)->history;

	if (h->moving)
		return NB_REASON_IN_FLIGHT;
	if (pl->s->at_us < h->backoff_until_us)
		return NB_REASON_BACKOFF;
	if (pl->s->at_us < h->cooldown_until_us)
		return NB_REASON_COOLDOWN;
	return NB_REASON_NONE;
}

bool nb_select_cpu_node(const struct nb_planning *pl, uint32_t i, const struct nb_group *g, uint32_t k)
{
	const struct nb_process *p = &pl->s->processes[i];
	const struct nb_node *n = &pl->s->nodes[k];

	if (n->n_cpus == 0 || nb_bitmap_test(&pl->c->select.exclude_nodes, n->id))
		return false;
	if (g && g->nodes_set && !nb_bitmap_test(&g->nodes, n->id))
		return false;
	return !(p->valid & NB_VALID_MASK) || p->allowed >= pl->s->n_masks ||
	       nb_problem_reaches(pl->p, p->allowed, k);
}

bool nb_select_memory_node(const struct nb_planning *pl, uint32_t i, uint32_t k)
{
	const struct nb_process *p = &pl->s->processes[i];
	const struct nb_node *n = &pl->s->nodes[k];

	return n->mem_target && n->mem_total_bytes > 0 &&
	       !nb_bitmap_test(&pl->c->select.exclude_nodes, n->id) &&
	       (!(p->valid & NB_VALID_MEMS) || nb_bitmap_test(nb_snapshot_mask(pl->s, p->mems), k));
}

static enum nb_reason by_nodes(const struct nb_planning *pl, uint32_t i)
{
	uint32_t n = 0;

	/* What its owner leaves it: the configuration's own nodes are no reason to keep off. */
	for (uint32_t k = 0; k < pl->s->n_nodes; k++)
		n += nb_select_cpu_node(pl, i, NULL, k);
	return n < 2 ? NB_REASON_ONE_NODE_ALLOWED : NB_REASON_NONE;
}

enum nb_reason nb_select(const struct nb_planning *pl, uint32_t i, const struct nb_group **ret_group,
			 const struct nb_settings **ret_settings)
{
	const struct nb_process *p = &pl->s->processes[i];
	enum nb_reason r = by_flags(p);

	*ret_group = NULL;
	*ret_settings = &pl->c->settings;
	if (pl->s->n_nodes < 2)
		return NB_REASON_ONE_NODE;
	if (r != NB_REASON_NONE && r != NB_REASON_DENIED)
		return r;
	/* Patterns are matched for those only that are large enough to matter. */
	if (r == NB_REASON_NONE)
		r = by_size(pl, i);
	if (r == NB_REASON_SMALL_MEMORY || r == NB_REASON_IDLE)
		return r;
	if (pl->c->n_groups > 0) {
		*ret_group = nb_config_group(pl->c, p->comm, nb_snapshot_str(pl->s, p->user),
					     nb_snapshot_str(pl->s, p->cgroup));
		if (*ret_group)
			*ret_settings = &(*ret_group)->settings;
	}
	if (by_configuration(pl, p, *ret_group) != NB_REASON_NONE)
		return by_configuration(pl, p, *ret_group);
	if (r != NB_REASON_NONE)
		return r;
	r = by_nodes(pl, i);
	if (r != NB_REASON_NONE)
		return r;
	if (pl->m->hold != NB_REASON_NONE)
		return pl->m->hold;
	return by_history(pl, i);
}
