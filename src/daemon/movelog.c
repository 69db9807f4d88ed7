/* SPDX-License-Identifier: MIT */
#include "daemon/movelog.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/text.h"
#include "report/units.h"

#define FORGET_US (60 * UINT64_C(1000000))

struct move {
	uint64_t action;
	struct nb_key key;
	char comm[NB_COMM_MAX];
	uint32_t what;
	bool release;
	char from[32]; /* nodes that it leaves, as a list of the kernel's ids */
	uint32_t to;   /* the kernel's id, or NB_NO_NODE */
	uint64_t bytes;
	int64_t gain_us;
	enum nb_reason reason;
	uint64_t said_us; /* of the said ones: when it was planned last */
};

struct moves {
	struct move *items;
	size_t n, cap;
};

struct nb_movelog {
	struct nb_log *log;
	struct moves running; /* started and not ended */
	struct moves said;    /* cancelled, and told about */
};

int nb_movelog_new(struct nb_log *log, struct nb_movelog **ret)
{
	struct nb_movelog *m = calloc(1, sizeof(*m));

	if (!m)
		return -ENOMEM;
	m->log = log;
	*ret = m;
	return 0;
}

struct nb_movelog *nb_movelog_free(struct nb_movelog *m)
{
	if (!m)
		return NULL;
	free(m->running.items);
	free(m->said.items);
	free(m);
	return NULL;
}

static int add(struct moves *list, const struct move *move)
{
	if (list->n == list->cap) {
		size_t cap = list->cap ? 2 * list->cap : 16;
		struct move *items = reallocarray(list->items, cap, sizeof(*items));

		if (!items)
			return -ENOMEM;
		list->items = items;
		list->cap = cap;
	}
	list->items[list->n++] = *move;
	return 0;
}

static void drop(struct moves *list, size_t i)
{
	list->items[i] = list->items[--list->n];
}

/* Where its threads run; where its pages lie, if only these go. */
static void name_source(const struct nb_snapshot *s, const struct nb_action *a, char buf[32])
{
	_cleanup_bitmap_ struct nb_bitmap ids = {0};

	strcpy(buf, "?");
	if (a->what & NB_CPU || nb_bitmap_empty(&a->mem_from)) {
		if (a->from < s->n_nodes)
			snprintf(buf, 32, "%" PRIu32, s->nodes[a->from].id);
		return;
	}
	NB_BITMAP_FOREACH (k, &a->mem_from)
		if ((uint32_t)k < s->n_nodes && nb_bitmap_set(&ids, s->nodes[k].id) < 0)
			return;
	if (nb_bitmap_format_list(&ids, buf, 32) >= 32)
		strcpy(buf, "many");
}

int nb_movelog_started(struct nb_movelog *m, const struct nb_snapshot *s, const struct nb_action *a)
{
	struct move move = {
		.action = a->id,
		.key = a->key,
		.what = a->what,
		.release = a->release,
		.to = a->to < s->n_nodes ? s->nodes[a->to].id : NB_NO_NODE,
		.bytes = a->bytes,
		.gain_us = a->gain_us,
		.reason = a->reason,
	};

	memcpy(move.comm, a->comm, sizeof(move.comm));
	name_source(s, a, move.from);
	return add(&m->running, &move);
}

static bool same(const struct move *a, const struct move *b)
{
	return nb_key_equal(a->key, b->key) && a->what == b->what && a->release == b->release &&
	       strcmp(a->from, b->from) == 0 && a->to == b->to && a->reason == b->reason;
}

/* True if it was told already. */
static bool told(struct nb_movelog *m, struct move *move, uint64_t now_us)
{
	bool found = false;

	for (size_t i = m->said.n; i-- > 0;) {
		struct move *said = &m->said.items[i];

		if (now_us - said->said_us > FORGET_US) {
			drop(&m->said, i);
		} else if (same(said, move)) {
			said->said_us = now_us;
			found = true;
		}
	}
	if (!found) {
		move->said_us = now_us;
		add(&m->said, move);
	}
	return found;
}

static void number(char buf[24], int64_t n)
{
	snprintf(buf, 24, "%" PRId64, n);
}

static void node_name(char buf[24], uint32_t id)
{
	if (id == NB_NO_NODE)
		strcpy(buf, "?");
	else
		snprintf(buf, 24, "%" PRIu32, id);
}

static void write_entry(struct nb_movelog *m, const struct move *move, const struct nb_outcome *o,
			const char *verb, const char *tail)
{
	char comm[4 * NB_COMM_MAX + 1], pid[24], to[24], bytes[24], gain[24], text[1024];
	char gain_text[NB_UNIT_MAX];
	uint64_t shown = o->error == ECANCELED ? move->bytes : o->bytes_moved;
	const struct nb_log_field fields[] = {
		{"NUMABALANCED_PID", pid},
		{"NUMABALANCED_COMM", comm},
		{"NUMABALANCED_FROM", move->from},
		{"NUMABALANCED_TO", to},
		{"NUMABALANCED_BYTES", bytes},
		{"NUMABALANCED_GAIN_US", gain},
		{"NUMABALANCED_REASON", nb_reason_name(move->reason)},
	};

	nb_text_show(move->comm, strnlen(move->comm, NB_COMM_MAX), comm, sizeof(comm));
	number(pid, move->key.pid);
	node_name(to, move->to);
	number(bytes, (int64_t)shown);
	number(gain, move->gain_us);
	snprintf(text, sizeof(text), "%s %s \"%s\" from node %s to node %s: %s, gain %s, %s: %s",
		 verb, pid, comm, move->from, to, tail, nb_unit_time(gain_text, move->gain_us),
		 nb_reason_name(move->reason), nb_reason_sentence(move->reason));
	nb_log_entry(m->log, LOG_INFO, text, fields, sizeof(fields) / sizeof(*fields));
}

static void describe(const struct move *move, const struct nb_outcome *o, char *buf, size_t size)
{
	char done[NB_UNIT_MAX], asked[NB_UNIT_MAX], took[NB_UNIT_MAX];
	uint64_t us = o->ended_us > o->started_us ? o->ended_us - o->started_us : 0;

	if (move->release)
		snprintf(buf, size, "it may use its own CPUs again");
	else if (!(move->what & NB_MEMORY))
		snprintf(buf, size, "CPUs only");
	else if (o->error == ECANCELED && !o->bytes_moved)
		snprintf(buf, size, "%s%s", nb_unit_bytes(asked, move->bytes),
			 move->what & NB_CPU ? " and CPUs" : "");
	else
		snprintf(buf, size, "%s of %s%s in %s", nb_unit_bytes(done, o->bytes_moved),
			 nb_unit_bytes(asked, move->bytes), move->what & NB_CPU ? " and CPUs" : "",
			 nb_unit_time(took, (int64_t)us));
}

static void log_failure(struct nb_movelog *m, const struct move *move, const struct nb_outcome *o,
			uint64_t now_us)
{
	const char *name = strerrorname_np(o->error);
	char comm[4 * NB_COMM_MAX + 1], to[24];

	nb_text_show(move->comm, strnlen(move->comm, NB_COMM_MAX), comm, sizeof(comm));
	node_name(to, move->to);
	nb_log_limited(m->log, name ? name : "errno", now_us, LOG_WARNING,
		       "could not move %d \"%s\" to node %s: %s (%s)", move->key.pid, comm, to,
		       name ? name : "?",
		       strerrordesc_np(o->error) ? strerrordesc_np(o->error) : "?");
}

void nb_movelog_ended(struct nb_movelog *m, const struct nb_outcome *o, uint64_t now_us,
		      const char *cancelled)
{
	struct move move = {.key = o->key, .what = o->what, .from = "?", .to = NB_NO_NODE};
	char tail[128];

	for (size_t i = 0; i < m->running.n; i++) {
		if (m->running.items[i].action != o->action)
			continue;
		move = m->running.items[i];
		drop(&m->running, i);
		break;
	}
	describe(&move, o, tail, sizeof(tail));
	if (!o->error)
		write_entry(m, &move, o, "moved", tail);
	else if (o->error == ECANCELED) {
		if (!told(m, &move, now_us))
			write_entry(m, &move, o, cancelled, tail);
	} else if (o->error != ESRCH && o->error != ENOENT) {
		/* Of those that ended meanwhile the totals tell. */
		log_failure(m, &move, o, now_us);
	}
}
