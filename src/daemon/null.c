/* SPDX-License-Identifier: MIT */
#include "daemon/null.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* More than any plan holds at once; a full queue is drained before the next start. */
#define QUEUE_MAX 4096

struct null {
	struct nb_platform base;
	struct nb_platform *below;
	struct nb_outcome *queue; /* a ring */
	size_t first, n, cap;
};

static int null_sample(struct nb_platform *p, const struct nb_config *c, struct nb_snapshot *s)
{
	struct null *n = (struct null *)p;

	return n->below->ops->sample(n->below, c, s);
}

static int grow(struct null *n)
{
	size_t cap = n->cap ? 2 * n->cap : 16;
	struct nb_outcome *queue;

	if (cap > QUEUE_MAX)
		return -EAGAIN;
	queue = calloc(cap, sizeof(*queue));
	if (!queue)
		return -ENOMEM;
	for (size_t i = 0; i < n->n; i++)
		queue[i] = n->queue[(n->first + i) % n->cap];
	free(n->queue);
	n->queue = queue;
	n->cap = cap;
	n->first = 0;
	return 0;
}

static int null_start(struct nb_platform *p, const struct nb_config *c, const struct nb_snapshot *s,
		      const struct nb_action *a)
{
	struct null *n = (struct null *)p;

	(void)c;
	if (n->n == n->cap) {
		int r = grow(n);

		if (r < 0)
			return r;
	}
	n->queue[(n->first + n->n++) % n->cap] = (struct nb_outcome){
		.action = a->id,
		.key = a->key,
		.what = a->what,
		.to = a->to,
		.error = ECANCELED,
		.started_us = s->at_us,
		.ended_us = s->at_us,
	};
	return 0;
}

static int null_next_outcome(struct nb_platform *p, struct nb_outcome *ret)
{
	struct null *n = (struct null *)p;

	if (!n->n)
		return n->below->ops->next_outcome(n->below, ret);
	*ret = n->queue[n->first];
	n->first = (n->first + 1) % n->cap;
	n->n--;
	return 1;
}

/* Its own outcomes are there as soon as start() returns: nobody waits for them. */
static int null_event_fd(struct nb_platform *p)
{
	struct null *n = (struct null *)p;

	return n->below->ops->event_fd(n->below);
}

static int null_restore(struct nb_platform *p)
{
	struct null *n = (struct null *)p;

	return n->below->ops->restore(n->below);
}

static struct nb_platform *null_free(struct nb_platform *p)
{
	if (p) {
		struct nb_platform *below = nb_null_unwrap(p);

		below->ops->free(below);
	}
	return NULL;
}

static const struct nb_platform_ops null_ops = {
	.name = "null",
	.sample = null_sample,
	.start = null_start,
	.next_outcome = null_next_outcome,
	.event_fd = null_event_fd,
	.restore = null_restore,
	.free = null_free,
};

int nb_null_new(struct nb_platform *below, struct nb_platform **ret)
{
	struct null *n = calloc(1, sizeof(*n));

	if (!n)
		return -ENOMEM;
	n->base.ops = &null_ops;
	n->below = below;
	*ret = &n->base;
	return 0;
}

struct nb_platform *nb_null_unwrap(struct nb_platform *p)
{
	struct null *n = (struct null *)p;
	struct nb_platform *below = n->below;

	free(n->queue);
	free(n);
	return below;
}
