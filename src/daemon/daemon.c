/* SPDX-License-Identifier: MIT */
#include "daemon/daemon.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-daemon.h>

#include "daemon/clock.h"
#include "daemon/movelog.h"
#include "daemon/null.h"
#include "linux/linux.h"

/* A machine of one node is only watched for a second one. */
#define IDLE_INTERVAL_US (60 * UINT64_C(1000000))

struct nb_daemon {
	struct nb_daemon_options options;
	struct nb_loaded loaded;
	struct nb_platform *platform;
	bool dry; /* platform is the one of a dry run */
	struct nb_log *log;
	struct nb_model *model;
	struct nb_snapshot *snapshot, *next; /* the last good one; where the next is read into */
	bool sampled, rated;                 /* once; twice, so that there are rates */
	struct nb_plan *plan;
	struct nb_movelog *moves;
	struct nb_report *report; /* NULL: to be built */
	bool paused, stopped;
	uid_t paused_by;
	uint64_t started_us, lost_ticks;
	char why[320];
	char reload_error[sizeof(((struct nb_config_error *)0)->text)];
};

static const struct nb_config *config(const struct nb_daemon *d)
{
	return d->loaded.config;
}

/* Nodes that a thread can be on. Memory without CPUs is nothing to balance between. */
static uint32_t places(const struct nb_daemon *d)
{
	uint32_t n = 0;

	for (uint32_t i = 0; d->sampled && i < d->snapshot->n_nodes; i++)
		n += d->snapshot->nodes[i].n_cpus > 0;
	return n;
}

static bool lacks_rights(const struct nb_daemon *d)
{
	return d->options.missing && d->options.missing[0] && !d->dry;
}

static enum nb_mode mode(const struct nb_daemon *d)
{
	if (d->sampled && places(d) < 2)
		return NB_MODE_IDLE;
	if (d->paused)
		return NB_MODE_PAUSED;
	if (lacks_rights(d))
		return NB_MODE_OBSERVE_ONLY;
	return d->dry ? NB_MODE_DRY_RUN : NB_MODE_BALANCING;
}

static void explain(struct nb_daemon *d)
{
	switch (mode(d)) {
	case NB_MODE_BALANCING:
		snprintf(d->why, sizeof(d->why),
			 "tasks and memory are moved between %" PRIu32 " nodes", places(d));
		break;
	case NB_MODE_DRY_RUN:
		snprintf(d->why, sizeof(d->why), "%s: nothing is moved",
			 d->options.dry_run ? "asked for by option"
					    : "asked for by the configuration");
		break;
	case NB_MODE_OBSERVE_ONLY:
		snprintf(d->why, sizeof(d->why), "%s", d->options.missing);
		break;
	case NB_MODE_PAUSED:
		snprintf(d->why, sizeof(d->why), "paused by uid %u; numabalancectl resume goes on",
			 (unsigned)d->paused_by);
		break;
	case NB_MODE_IDLE:
		snprintf(d->why, sizeof(d->why), "one node with CPUs only: nothing to balance");
		break;
	case NB_MODE_COUNT:
		break;
	}
}

/* The mode is new, or may be: says so where it is looked for. */
static void mode_changed(struct nb_daemon *d)
{
	char before[sizeof(d->why)];

	memcpy(before, d->why, sizeof(before));
	explain(d);
	nb_model_hold(d->model, d->paused         ? NB_REASON_PAUSED
				: lacks_rights(d) ? NB_REASON_NO_RIGHTS
						  : NB_REASON_NONE);
	if (strcmp(before, d->why) == 0)
		return;
	nb_log(d->log, LOG_NOTICE, "%s: %s", nb_mode_name(mode(d)), d->why);
	sd_notifyf(0, "STATUS=%s: %s", nb_mode_name(mode(d)), d->why);
}

static void forget_report(struct nb_daemon *d)
{
	d->report = nb_report_free(d->report);
}

/* The one place that knows of dry runs: which platform the actions go to. */
static int choose_platform(struct nb_daemon *d)
{
	bool dry = d->options.dry_run || config(d)->daemon.dry_run;
	int r = 0;

	if (dry && !d->dry)
		r = nb_null_new(d->platform, &d->platform);
	else if (!dry && d->dry)
		d->platform = nb_null_unwrap(d->platform);
	if (r == 0)
		d->dry = dry;
	return r;
}

static void check_kernel(struct nb_daemon *d)
{
	int value;

	if (nb_linux_kernel_balancing(d->options.root, &value) == 0 && value != 0)
		nb_log(d->log, LOG_WARNING,
		       "kernel.numa_balancing is %d: the kernel moves pages too, and may undo what "
		       "is "
		       "done here",
		       value);
}

int nb_daemon_new(const struct nb_daemon_options *o, struct nb_loaded *loaded,
		  struct nb_platform *platform, struct nb_log *log, struct nb_daemon **ret)
{
	_cleanup_daemon_ struct nb_daemon *d = calloc(1, sizeof(*d));
	int r;

	if (!d) {
		platform->ops->free(platform);
		nb_loaded_done(loaded);
		return -ENOMEM;
	}
	d->options = *o;
	d->loaded = *loaded;
	*loaded = (struct nb_loaded){0};
	d->platform = platform;
	d->log = log;
	d->started_us = nb_now_us();
	r = nb_model_new(&d->model);
	if (r == 0)
		r = nb_snapshot_new(&d->snapshot);
	if (r == 0)
		r = nb_snapshot_new(&d->next);
	if (r == 0)
		r = nb_plan_new(&d->plan);
	if (r == 0)
		r = nb_movelog_new(log, &d->moves);
	if (r == 0)
		r = choose_platform(d);
	if (r < 0)
		return r;
	check_kernel(d);
	*ret = d;
	d = NULL;
	return 0;
}

struct nb_daemon *nb_daemon_free(struct nb_daemon *d)
{
	if (!d)
		return NULL;
	forget_report(d);
	if (d->platform)
		d->platform->ops->free(d->platform);
	nb_movelog_free(d->moves);
	nb_plan_free(d->plan);
	nb_snapshot_free(d->snapshot);
	nb_snapshot_free(d->next);
	nb_model_free(d->model);
	nb_loaded_done(&d->loaded);
	free(d);
	return NULL;
}

/* --- a tick --- */

static int lost(struct nb_daemon *d, const char *what, int error)
{
	d->lost_ticks++;
	nb_log_limited(d->log, what, nb_now_us(), LOG_WARNING, "tick lost: %s: %s", what,
		       strerror(-error));
	return error;
}

/* True if it pays to plan again. */
static bool outcome(struct nb_daemon *d, const struct nb_outcome *o)
{
	nb_movelog_ended(d->moves, o, nb_now_us(), d->dry ? "would move" : "cancelled the move of");
	forget_report(d);
	return nb_model_outcome(d->model, o, config(d)) == 1;
}

static bool drain(struct nb_daemon *d)
{
	struct nb_outcome o;
	bool again = false;

	while (d->platform->ops->next_outcome(d->platform, &o) == 1)
		again |= outcome(d, &o);
	return again;
}

static void start(struct nb_daemon *d, const struct nb_action *a)
{
	int r = d->platform->ops->start(d->platform, config(d), d->snapshot, a);
	struct nb_outcome o = {.action = a->id, .key = a->key, .what = a->what, .to = a->to};

	/* Planned again by a later tick. */
	if (r == -EAGAIN || r == -ENOMEM)
		return;
	nb_movelog_started(d->moves, d->snapshot, a);
	nb_model_started(d->model, a, d->snapshot->at_us);
	if (r == 0)
		return;
	/* Refused at once: the model learns it as it learns other failures. */
	o.error = -r;
	o.started_us = o.ended_us = d->snapshot->at_us;
	outcome(d, &o);
}

static int plan(struct nb_daemon *d)
{
	/* Actions that end at once make room for others; a machine has so many places to
	 * fill, and after that the next tick is soon enough. */
	unsigned rounds = 8 + 4 * d->snapshot->n_nodes;

	for (unsigned i = 0; i < rounds; i++) {
		int r = nb_policy_plan(d->model, d->snapshot, config(d), d->plan);

		forget_report(d);
		if (r == -EAGAIN)
			return 0;
		if (r < 0)
			return lost(d, "plan", r);
		for (uint32_t k = 0; k < d->plan->n_actions; k++)
			start(d, &d->plan->actions[k]);
		if (!d->plan->n_actions || !drain(d))
			break;
	}
	return 0;
}

int nb_daemon_tick(struct nb_daemon *d)
{
	struct nb_snapshot *previous = d->snapshot;
	int r;

	if (d->stopped)
		return 0;
	drain(d);
	r = d->platform->ops->sample(d->platform, config(d), d->next);
	if (r < 0)
		return lost(d, "sample", r);
	r = nb_model_update(d->model, d->next, config(d));
	if (r < 0)
		return lost(d, "model", r);
	d->snapshot = d->next;
	d->next = previous;
	d->rated = d->sampled;
	d->sampled = true;
	forget_report(d);
	mode_changed(d);
	return plan(d);
}

void nb_daemon_outcomes(struct nb_daemon *d)
{
	if (drain(d) && d->sampled && !d->stopped)
		plan(d);
}

int nb_daemon_event_fd(const struct nb_daemon *d)
{
	return d->platform->ops->event_fd(d->platform);
}

uint64_t nb_daemon_interval_us(const struct nb_daemon *d)
{
	uint64_t interval_us = config(d)->daemon.interval_us;

	if (mode(d) == NB_MODE_IDLE && d->rated && interval_us < IDLE_INTERVAL_US)
		return IDLE_INTERVAL_US;
	return interval_us;
}

/* --- what is asked of it --- */

int nb_daemon_reload(struct nb_daemon *d, struct nb_config_error *err)
{
	_cleanup_loaded_ struct nb_loaded new = {0};
	struct nb_loaded old;
	int r;

	sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%" PRIu64, nb_now_us());
	r = nb_config_load_files(d->options.config_path, d->options.config_must_exist, &new, err);
	if (r == 0) {
		old = d->loaded;
		d->loaded = new;
		new = old;
		drain(d);
		r = choose_platform(d);
		if (r < 0) {
			snprintf(err->text, sizeof(err->text), "%s", strerror(-r));
			new = d->loaded;
			d->loaded = old;
		}
	}
	if (r == 0) {
		d->reload_error[0] = '\0';
		nb_log(d->log, LOG_NOTICE, "configuration read again: %zu files",
		       d->loaded.n_files);
		mode_changed(d);
		if (d->sampled)
			plan(d);
	} else {
		snprintf(d->reload_error, sizeof(d->reload_error), "%s", err->text);
		nb_log(d->log, LOG_ERR, "reload failed, the old configuration stays: %s",
		       err->text);
	}
	/* Also after a failure: the service runs, and the reload is over. */
	sd_notify(0, "READY=1");
	return r;
}

void nb_daemon_pause(struct nb_daemon *d, bool paused, uid_t by)
{
	d->paused = paused;
	d->paused_by = by;
	mode_changed(d);
	if (d->sampled)
		plan(d);
}

int nb_daemon_stop(struct nb_daemon *d)
{
	int r;

	d->stopped = true;
	if (!config(d)->daemon.restore_on_exit) {
		nb_log(d->log, LOG_NOTICE, "what was changed stays so: restore_on_exit is off");
		return 0;
	}
	r = d->platform->ops->restore(d->platform);
	drain(d);
	if (r < 0)
		nb_log(d->log, LOG_ERR, "not everything could be put back: %s", strerror(-r));
	return r;
}

int nb_daemon_report(struct nb_daemon *d, const struct nb_report **ret)
{
	int r;

	if (!d->sampled)
		return -EAGAIN;
	if (!d->report) {
		r = nb_report_build(d->model, d->snapshot, d->plan, &d->report);
		if (r < 0)
			return r;
	}
	*ret = d->report;
	return 0;
}

void nb_daemon_status(const struct nb_daemon *d, struct nb_status *ret)
{
	int kernel;

	*ret = (struct nb_status){
		.mode = mode(d),
		.why = d->why,
		.version = NB_VERSION,
		.uptime_us = nb_now_us() - d->started_us,
		.interval_us = nb_daemon_interval_us(d),
		.kernel_balancing = -1,
		.lost_ticks = d->lost_ticks,
		.config_file = d->loaded.file,
		.reload_error = d->reload_error[0] ? d->reload_error : NULL,
	};
	if (nb_linux_kernel_balancing(d->options.root, &kernel) == 0)
		ret->kernel_balancing = kernel;
}

bool nb_daemon_may_change(const struct nb_daemon *d, uid_t uid, const gid_t *groups,
			  size_t n_groups)
{
	if (uid == 0)
		return true;
	for (size_t i = 0; d->loaded.group_set && i < n_groups; i++)
		if (groups[i] == d->loaded.group)
			return true;
	return false;
}
