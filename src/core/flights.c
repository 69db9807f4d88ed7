/* SPDX-License-Identifier: MIT */
/* What is under way: slots are taken when an action starts, and freed by its outcome. */
#include <errno.h>

#include "core/grow.h"
#include "core/model.h"

#define MAX_BACKOFF_US (10 * 60 * UINT64_C(1000000))
#define TIMED_BYTES (16u << 20) /* shorter moves say little about the mover's speed */

int nb_model_started(struct nb_model *m, const struct nb_action *a, uint64_t at_us)
{
	struct nb_unit *u = nb_model_find(m, a->key);
	struct nb_flight *f;
	int r = NB_GROW(m->flights, m->cap_flights, (uint64_t)m->n_flights + 1);

	if (r < 0)
		return r;
	f = &m->flights[m->n_flights++];
	*f = (struct nb_flight){.action = *a, .since_us = at_us, .to_id = NB_NO_NODE};
	f->action.cpu_nodes = f->action.mem_from = (struct nb_bitmap){0};
	if (a->to < m->n_nodes) {
		f->to_id = m->nodes[a->to].id;
		if (a->takes_slot)
			m->nodes[a->to].n_in_flight++;
	}
	m->totals.actions++;
	if (!u)
		return 0;
	u->history.moving = true;
	if (a->what & NB_CPU)
		u->history.placed = !a->release && nb_bitmap_weight(&a->cpu_nodes) == 1 ? a->to : NB_NO_NODE;
	if (a->what & NB_MEMORY)
		u->history.memory_to = a->mem_to;
	return 0;
}

static void count_failure(struct nb_totals *t, int error)
{
	switch (error) {
	case ECANCELED:
		t->cancelled++;
		break;
	case ESRCH:
	case ENOENT:
		t->failed_gone++;
		break;
	case EPERM:
	case EACCES:
	case ENOSYS:
		t->failed_rights++;
		break;
	case ENOMEM:
		t->failed_memory++;
		break;
	case EBUSY:
		t->failed_busy++;
		break;
	case EINVAL:
	case ENODEV:
	case ESTALE:
		t->failed_invalid++;
		break;
	default:
		t->failed_other++;
	}
}

/* An exchange counts when its last member has ended. */
static bool exchange_ended(const struct nb_model *m, uint32_t exchange)
{
	for (uint32_t i = 0; i < m->n_flights; i++)
		if (m->flights[i].action.exchange == exchange)
			return false;
	return true;
}

static void count_success(struct nb_model *m, const struct nb_action *a)
{
	if (a->exchange == 0)
		m->totals.moves++;
	else if (exchange_ended(m, a->exchange))
		m->totals.swaps += a->exchange_size - 1;
}

static void time_mover(struct nb_model *m, const struct nb_outcome *o)
{
	uint64_t us = o->ended_us > o->started_us ? o->ended_us - o->started_us : 0;

	if (us > 0 && o->bytes_moved >= TIMED_BYTES)
		m->mover_bps = (3 * m->mover_bps + o->bytes_moved * 1000000 / us) / 4;
}

/* Most of the pages that were asked for are there now. */
static bool memory_arrived(const struct nb_action *a, const struct nb_outcome *o)
{
	return a->what & NB_MEMORY && o->error == 0 && o->bytes_moved >= a->bytes / 10 * 9;
}

static void remember(struct nb_unit_history *h, const struct nb_flight *f, const struct nb_outcome *o,
		     uint64_t cooldown_us, uint32_t from_id)
{
	const struct nb_action *a = &f->action;
	bool short_of = a->what & NB_MEMORY && o->error == 0 && o->bytes_moved < a->bytes / 2;

	h->moving = false;
	h->placed_at_us = o->ended_us;
	h->memory_at_us = o->ended_us;
	if (o->error != 0)
		h->placed = NB_NO_NODE;
	if (!memory_arrived(a, o))
		h->memory_to = NB_NO_NODE;
	if (o->error == ECANCELED)
		return;
	h->last_action_us = o->ended_us;
	h->last_reason = a->reason;
	h->last_from = from_id;
	h->last_to = f->to_id;
	h->last_bytes = o->bytes_moved;
	h->last_error = o->error;
	h->want_memory_to = NB_NO_NODE;
	if (o->error == 0 && !short_of) {
		h->failures = 0;
		h->n_moves++;
		h->cooldown_until_us = o->ended_us + cooldown_us;
	} else {
		uint64_t pause = cooldown_us << (h->failures < 10 ? h->failures : 10);

		h->failures++;
		h->backoff_until_us = o->ended_us + (pause < MAX_BACKOFF_US ? pause : MAX_BACKOFF_US);
	}
}

int nb_model_outcome(struct nb_model *m, const struct nb_outcome *o, const struct nb_config *c)
{
	struct nb_flight flight;
	struct nb_unit *u;
	uint32_t i;

	for (i = 0; i < m->n_flights && m->flights[i].action.id != o->action; i++)
		;
	if (i == m->n_flights)
		return -ENOENT;
	flight = m->flights[i];
	m->flights[i] = m->flights[--m->n_flights];
	if (flight.action.takes_slot && flight.action.to < m->n_nodes)
		m->nodes[flight.action.to].n_in_flight--;

	m->totals.bytes_moved += o->bytes_moved;
	for (unsigned k = 0; k < NB_REFUSED_COUNT; k++)
		m->totals.pages_refused[k] += o->pages_refused[k];
	if (o->error)
		count_failure(&m->totals, o->error);
	else
		count_success(m, &flight.action);
	time_mover(m, o);
	u = nb_model_find(m, o->key);
	if (u)
		remember(&u->history, &flight, o, c->settings.cooldown_us,
			 flight.action.from < m->n_nodes ? m->nodes[flight.action.from].id : NB_NO_NODE);
	return o->error == 0 || o->error == ESRCH || o->error == ENOENT;
}
