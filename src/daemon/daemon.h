/* SPDX-License-Identifier: MIT */
/*
 * The daemon without its event loop: configuration, platform, model, the last
 * snapshot, plan and report; and what happens in a tick. The loop calls it, the
 * control socket asks it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "daemon/config_file.h"
#include "daemon/log.h"
#include "nb/platform.h"
#include "nb/report.h"
#include "report/json.h"

struct nb_daemon;

struct nb_daemon_options {
	const char *config_path;
	bool config_must_exist;
	bool dry_run;        /* whatever the configuration says */
	const char *missing; /* which right is missing, for people; NULL or empty: none */
	const char *root;    /* of /proc and /sys */
};

/* Takes over platform and what is in loaded, also on failure. The strings of the
 * options and the log are the caller's and live longer. */
int nb_daemon_new(const struct nb_daemon_options *o, struct nb_loaded *loaded,
		  struct nb_platform *platform, struct nb_log *log, struct nb_daemon **ret);
struct nb_daemon *nb_daemon_free(struct nb_daemon *d); /* NULL-safe, returns NULL */

/* Outcomes that are there, a sample, the model, a plan, its start. A failure
 * (-ENOMEM and others) costs this tick only: it is counted and logged. */
int nb_daemon_tick(struct nb_daemon *d);

/* The platform's descriptor is readable: outcomes go into the model, and the next
 * actions start on the same snapshot. */
void nb_daemon_outcomes(struct nb_daemon *d);

int nb_daemon_event_fd(const struct nb_daemon *d);         /* -1: poll by ticks */
uint64_t nb_daemon_interval_us(const struct nb_daemon *d); /* to the next tick */

/* The files again. On an error everything stays as it was; err says why, and so
 * does the status from then on. Tells the service manager. */
int nb_daemon_reload(struct nb_daemon *d, struct nb_config_error *err);
void nb_daemon_pause(struct nb_daemon *d, bool paused, uid_t by);

/* Puts everything back, unless restore_on_exit is off. Nothing is started after it. */
int nb_daemon_stop(struct nb_daemon *d);

/* What people see. The report is built when it is asked for; it lives until the
 * next call that changes anything. -EAGAIN before the first sample, -ENOMEM. */
int nb_daemon_report(struct nb_daemon *d, const struct nb_report **ret);
void nb_daemon_status(const struct nb_daemon *d, struct nb_status *ret);
bool nb_daemon_may_change(const struct nb_daemon *d, uid_t uid, const gid_t *groups,
			  size_t n_groups);

static inline void nb_daemon_freep(struct nb_daemon **d)
{
	nb_daemon_free(*d);
}
#define _cleanup_daemon_ __attribute__((cleanup(nb_daemon_freep)))
