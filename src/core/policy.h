/* SPDX-License-Identifier: MIT */
/* The steps of one planning, each in a file of its own. */
#pragma once

#include "core/problem.h"

struct nb_planning {
	struct nb_model *m;
	const struct nb_snapshot *s;
	const struct nb_config *c;
	struct nb_plan *plan;
	struct nb_problem *p;
};

/* select.c: NB_REASON_NONE if process i is a unit that may be placed now, else why not.
 * ret_group and ret_settings are set in any case. */
enum nb_reason nb_select(const struct nb_planning *pl, uint32_t i, const struct nb_group **ret_group,
			 const struct nb_settings **ret_settings);

/* select.c: may threads of process i run on node k, and may its memory lie there? */
bool nb_select_cpu_node(const struct nb_planning *pl, uint32_t i, const struct nb_group *g, uint32_t k);
bool nb_select_memory_node(const struct nb_planning *pl, uint32_t i, uint32_t k);

/* candidates.c: fills the problem and the verdicts; wide units are planned on the way. */
int nb_candidates_build(struct nb_planning *pl);

/* wide.c: is process i a unit that no single node holds? Held for seconds, so that one
 * noisy interval does not change it. NB_REASON_NONE: narrow, NB_REASON_WIDE, or
 * NB_REASON_SETTLING while it is not known yet. */
enum nb_reason nb_wide_judge(struct nb_planning *pl, uint32_t i);

/* wide.c: for all whose verdict is WIDE: adds their actions and their load. */
int nb_wide_plan(struct nb_planning *pl);

/* actions.c: turns the places that a search found (one for each candidate) into actions
 * that may start now. ret_stuck: none of them can, by loads that only other places change. */
int nb_actions_extract(struct nb_planning *pl, const uint32_t *places, bool *ret_stuck);

/* actions.c: remembers where the last answer wants each unit's memory. */
void nb_actions_note_wishes(struct nb_planning *pl);

/* relieve.c: does some thread of process i have a mask of ours? */
bool nb_is_held(const struct nb_snapshot *s, uint32_t i);

/* relieve.c: gives masks back where they keep somebody waiting for nothing. Last step. */
int nb_relieve(struct nb_planning *pl);

/* Locality cost in µs of a unit with these CPU and memory shares. */
int64_t nb_locality_us(const struct nb_planning *pl, const struct nb_settings *settings,
		       uint64_t runnable_cap, const uint32_t *cpu_pmy, const uint32_t *mem_pmy);

/* 2 × bytes / mover speed: they are read, and written. */
int64_t nb_memory_price_us(const struct nb_model *m, uint64_t bytes);

/* How many actions may be in flight to a node at once. */
static inline uint32_t nb_slots(const struct nb_settings *settings)
{
	return settings->one_per_node ? 1 : settings->movers_per_node;
}

/* Adds an action for process i with identity, name, id and predicted numbers filled in. */
int nb_plan_unit_action(struct nb_planning *pl, uint32_t i, struct nb_action **ret);
