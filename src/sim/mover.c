/* SPDX-License-Identifier: MIT */
/* One mover for each destination node; its jobs wait in line. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim/machine.h"

int nb_machine_answer(struct nb_machine *m, const struct nb_action *a, int error,
		      uint64_t started_us, uint64_t moved_bytes, uint32_t threads_set)
{
	struct nb_outcome *o;

	if (m->n_outcomes == m->cap_outcomes) {
		uint32_t cap = m->cap_outcomes ? 2 * m->cap_outcomes : 16;

		o = reallocarray(m->outcomes, cap, sizeof(*o));
		if (!o)
			return -ENOMEM;
		m->outcomes = o;
		m->cap_outcomes = cap;
	}
	m->outcomes[m->n_outcomes++] = (struct nb_outcome){
		.action = a->id,
		.key = a->key,
		.what = a->what,
		.to = a->to,
		.error = error,
		.threads_set = threads_set,
		.bytes_moved = moved_bytes,
		.started_us = NB_SIM_EPOCH_US + started_us,
		.ended_us = NB_SIM_EPOCH_US + m->now_us,
	};
	return 0;
}

int nb_movers_add(struct nb_machine *m, const struct nb_action *a, uint32_t process,
		  uint32_t threads_set)
{
	struct nb_sim_mover *mover = &m->movers[a->mem_to];
	struct nb_sim_job job = {
		.process = process,
		.threads_set = threads_set,
		.started_us = m->now_us,
	};
	int r;

	if (mover->n_jobs == NB_SIM_QUEUE_MAX)
		return -EAGAIN;
	r = nb_action_copy(&job.action, a);
	if (r < 0)
		return r;
	mover->jobs[mover->n_jobs++] = job;
	return 0;
}

static int end_job(struct nb_machine *m, struct nb_sim_mover *mover, int error)
{
	struct nb_sim_job job = mover->jobs[0];
	int r = nb_machine_answer(m, &job.action, error, job.started_us, job.moved_bytes,
				  job.threads_set);

	nb_action_done(&job.action);
	mover->n_jobs--;
	memmove(mover->jobs, mover->jobs + 1, mover->n_jobs * sizeof(mover->jobs[0]));
	return r;
}

/* Carries up to so many bytes; true if nothing is left to carry. */
static bool carry(struct nb_machine *m, struct nb_sim_job *job, uint64_t *budget, int *ret_error)
{
	struct nb_sim_process *p = &m->processes[job->process];
	uint32_t to = job->action.mem_to;

	NB_BITMAP_FOREACH (from, &job->action.mem_from) {
		uint64_t n = p->bytes[from];

		if ((uint32_t)from == to || n == 0)
			continue;
		if (n > m->free_bytes[to])
			n = m->free_bytes[to];
		if (n > *budget)
			n = *budget / NB_SIM_PAGE * NB_SIM_PAGE;
		p->bytes[from] -= n;
		p->bytes[to] += n;
		m->free_bytes[from] += n;
		m->free_bytes[to] -= n;
		job->moved_bytes += n;
		*budget -= n;
		if (p->bytes[from] == 0)
			continue;
		if (m->free_bytes[to] == 0) {
			*ret_error = ENOMEM;
			return true;
		}
		return false;
	}
	return true;
}

/* Bytes a second of one mover, under the rate limit; several at work share one for all. */
static uint64_t speed(const struct nb_machine *m, uint32_t busy)
{
	const struct nb_settings *s = &m->config->settings;
	uint64_t bps = m->scenario->machine.migration_bps, limit = s->rate_limit_bps;

	if (limit == 0)
		return bps;
	if (s->rate_limit_scope == NB_RATE_ALL)
		limit /= busy;
	return limit < bps ? limit : bps;
}

int nb_movers_step(struct nb_machine *m)
{
	uint32_t busy = 0;

	for (uint32_t k = 0; k < m->n_nodes; k++)
		busy += m->movers[k].n_jobs > 0;
	for (uint32_t k = 0; k < m->n_nodes; k++) {
		struct nb_sim_mover *mover = &m->movers[k];
		uint64_t budget;

		if (mover->n_jobs == 0) {
			mover->credit = 0;
			continue;
		}
		mover->credit += speed(m, busy) * m->scenario->run.step_us;
		budget = mover->credit / 1000000;
		mover->credit -= budget * 1000000;
		while (mover->n_jobs > 0) {
			struct nb_sim_job *job = &mover->jobs[0];
			int error = 0, r;

			if (!m->processes[job->process].alive)
				error = ESRCH;
			else if (!carry(m, job, &budget, &error))
				break;
			r = end_job(m, mover, error);
			if (r < 0)
				return r;
		}
		if (mover->n_jobs > 0)
			mover->credit += budget * 1000000; /* less than a page */
	}
	return 0;
}

void nb_movers_done(struct nb_machine *m)
{
	for (uint32_t k = 0; k < m->n_nodes; k++)
		for (uint32_t i = 0; i < m->movers[k].n_jobs; i++)
			nb_action_done(&m->movers[k].jobs[i].action);
}
