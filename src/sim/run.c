/* SPDX-License-Identifier: MIT */
#include "sim/run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim/platform.h"

#define LOCAL_PMY 9500 /* what counts as converged */

struct run {
	struct nb_machine *machine;
	struct nb_platform *platform;
	const struct nb_config *config;
	struct nb_model *model;
	struct nb_snapshot *snapshot;
	struct nb_plan *plan;
	struct nb_action *started; /* that were not answered yet; bitmaps not kept */
	uint32_t n_started, cap_started;
	struct nb_sim_result *result;
	struct nb_sim_tally third; /* of the last third */
};

static int grow(void **array, uint32_t *cap, uint32_t n, size_t size)
{
	uint32_t more = *cap ? 2 * *cap : 16;
	void *new;

	if (n < *cap)
		return 0;
	new = reallocarray(*array, more, size);
	if (!new)
		return -ENOMEM;
	*array = new;
	*cap = more;
	return 0;
}

/* --- the daemon's part ------------------------------------------------------- */

static int plan_and_start(struct run *run)
{
	int r = nb_policy_plan(run->model, run->snapshot, run->config, run->plan);

	if (r == -EAGAIN)
		return 0;
	if (r < 0)
		return r;
	run->result->plans++;
	for (uint32_t i = 0; i < run->plan->n_actions; i++) {
		const struct nb_action *a = &run->plan->actions[i];

		r = grow((void **)&run->started, &run->cap_started, run->n_started,
			 sizeof(*run->started));
		if (r < 0)
			return r;
		r = run->platform->ops->start(run->platform, run->config, run->snapshot, a);
		if (r == -EAGAIN)
			continue;
		if (r == 0)
			r = nb_model_started(run->model, a, NB_SIM_EPOCH_US + run->machine->now_us);
		if (r < 0)
			return r;
		run->started[run->n_started] = *a;
		run->started[run->n_started].cpu_nodes = (struct nb_bitmap){0};
		run->started[run->n_started++].mem_from = (struct nb_bitmap){0};
	}
	return 0;
}

static int tick(struct run *run)
{
	int r = run->platform->ops->sample(run->platform, run->config, run->snapshot);

	if (r == 0)
		r = nb_model_update(run->model, run->snapshot, run->config);
	return r < 0 ? r : plan_and_start(run);
}

static int note_move(struct run *run, const struct nb_action *a, const struct nb_outcome *o)
{
	struct nb_sim_result *res = run->result;
	struct nb_sim_move *move;
	int r = grow((void **)&res->list, &res->cap_list, res->n_list, sizeof(*res->list));

	if (r < 0)
		return r;
	move = &res->list[res->n_list++];
	*move = (struct nb_sim_move){
		.at_us = o->ended_us - NB_SIM_EPOCH_US,
		.took_us = o->ended_us - o->started_us,
		.pid = a->key.pid,
		.what = a->what,
		.from = a->from,
		.to = a->release ? NB_NO_NODE : a->to,
		.bytes = o->bytes_moved,
		.gain_us = a->gain_us,
		.price_us = a->price_us,
		.exchange = a->exchange,
		.reason = a->reason,
		.error = o->error,
	};
	memcpy(move->comm, a->comm, sizeof(move->comm) - 1);
	res->bytes_moved += o->bytes_moved;
	if (o->error)
		res->failed++;
	else if (!a->exchange)
		res->moves++;
	return 0;
}

/* Members of an exchange, less one, once the last of them was answered. */
static uint64_t exchange_done(const struct run *run, const struct nb_action *a)
{
	for (uint32_t i = 0; i < run->n_started; i++)
		if (run->started[i].exchange == a->exchange)
			return 0;
	return a->exchange_size - 1;
}

static int drain(struct run *run)
{
	struct nb_outcome o;
	bool again = false;
	int r;

	while ((r = run->platform->ops->next_outcome(run->platform, &o)) > 0) {
		struct nb_action a;
		uint32_t i;

		for (i = 0; i < run->n_started && run->started[i].id != o.action; i++)
			;
		if (i == run->n_started)
			return -ENOENT;
		a = run->started[i];
		run->started[i] = run->started[--run->n_started];
		r = note_move(run, &a, &o);
		if (r < 0)
			return r;
		if (a.exchange)
			run->result->swaps += exchange_done(run, &a);
		r = nb_model_outcome(run->model, &o, run->config);
		if (r < 0)
			return r;
		again |= r > 0;
	}
	return r < 0 || !again ? r : plan_and_start(run);
}

/* --- measuring --------------------------------------------------------------- */

static uint32_t share_pmy(uint64_t part, uint64_t whole)
{
	return whole ? (uint32_t)((unsigned __int128)part * 10000 / whole) : NB_SIM_UNKNOWN;
}

static void end_window(struct run *run, struct nb_sim_tally *sum)
{
	struct nb_sim_result *res = run->result;
	const struct nb_scenario *s = run->machine->scenario;
	struct nb_sim_tally *t = &run->machine->tally;
	uint32_t pmy = share_pmy(t->local_ns, t->run_ns);

	res->local_pmy[res->n_windows++] = pmy;
	if (pmy != NB_SIM_UNKNOWN && pmy >= LOCAL_PMY && res->local_at_us == UINT64_MAX)
		res->local_at_us = run->machine->now_us;
	sum->run_ns += t->run_ns;
	sum->wait_ns += t->wait_ns;
	if (run->machine->now_us > s->run.duration_us / 3 * 2) {
		run->third.run_ns += t->run_ns;
		run->third.local_ns += t->local_ns;
	}
	*t = (struct nb_sim_tally){0};
}

static int loop(struct run *run)
{
	const struct nb_scenario *s = run->machine->scenario;
	struct nb_sim_tally sum = {0};
	int r = 0;

	while (r == 0 && run->machine->now_us < s->run.duration_us) {
		r = nb_machine_step(run->machine);
		if (r == 0 && s->run.balancer)
			r = drain(run);
		if (r == 0 && s->run.balancer &&
		    run->machine->now_us % s->config->daemon.interval_us == 0)
			r = tick(run);
		if (run->machine->now_us % s->run.window_us == 0)
			end_window(run, &sum);
	}
	run->result->last_third_pmy = share_pmy(run->third.local_ns, run->third.run_ns);
	run->result->wait_pmy = share_pmy(sum.wait_ns, sum.run_ns + sum.wait_ns);
	run->result->run_us = sum.run_ns / 1000;
	return r;
}

int nb_sim_run(const struct nb_scenario *s, uint64_t seed, struct nb_sim_result **ret)
{
	_cleanup_result_ struct nb_sim_result *result = calloc(1, sizeof(*result));
	struct run run = {.config = s->config, .result = result};
	int r;

	if (!result)
		return -ENOMEM;
	result->seed = seed;
	result->window_us = s->run.window_us;
	result->local_at_us = UINT64_MAX;
	result->local_pmy =
		calloc(s->run.duration_us / s->run.window_us + 1, sizeof(*result->local_pmy));
	r = result->local_pmy ? nb_machine_new(s, seed, &run.machine) : -ENOMEM;
	if (r == 0)
		r = nb_sim_platform_new(run.machine, &run.platform);
	if (r == 0)
		r = nb_model_new(&run.model);
	if (r == 0)
		r = nb_snapshot_new(&run.snapshot);
	if (r == 0)
		r = nb_plan_new(&run.plan);
	if (r == 0)
		r = loop(&run);
	nb_plan_free(run.plan);
	nb_snapshot_free(run.snapshot);
	nb_model_free(run.model);
	if (run.platform)
		run.platform->ops->free(run.platform);
	nb_machine_free(run.machine);
	free(run.started);
	if (r < 0)
		return r;
	*ret = result;
	result = NULL;
	return 0;
}

struct nb_sim_result *nb_sim_result_free(struct nb_sim_result *r)
{
	if (!r)
		return NULL;
	free(r->local_pmy);
	free(r->list);
	free(r);
	return NULL;
}
