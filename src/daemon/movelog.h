/* SPDX-License-Identifier: MIT */
/*
 * The actions that are on their way, for the line that the log gets when each of
 * them ends: what an outcome does not say is kept from the action.
 */
#pragma once

#include <stdint.h>

#include "daemon/log.h"
#include "nb/plan.h"
#include "nb/snapshot.h"

struct nb_movelog;

int nb_movelog_new(struct nb_log *log, struct nb_movelog **ret);
struct nb_movelog *nb_movelog_free(struct nb_movelog *m); /* NULL-safe, returns NULL */

/* Remembers a started action. -ENOMEM: its end will be logged without details. */
int nb_movelog_started(struct nb_movelog *m, const struct nb_snapshot *s,
		       const struct nb_action *a);

/* One line a move. What is cancelled (a dry run answers each action so) is said
 * once while it stays the same: again only after it was not planned for a minute.
 * cancelled is the verb for that: "would move", or "cancelled the move of". */
void nb_movelog_ended(struct nb_movelog *m, const struct nb_outcome *o, uint64_t now_us,
		      const char *cancelled);
