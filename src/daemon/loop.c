/* SPDX-License-Identifier: MIT */
#include "daemon/loop.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-event.h>

#include "daemon/clock.h"
#include "daemon/control.h"
#include "daemon/methods.h"

/* Sampling never waits for clients; signals wait for nothing. */
#define PRIORITY_SIGNAL (SD_EVENT_PRIORITY_NORMAL - 30)
#define PRIORITY_OUTCOME (SD_EVENT_PRIORITY_NORMAL - 20)
#define PRIORITY_TICK (SD_EVENT_PRIORITY_NORMAL - 10)

struct loop {
	struct nb_daemon *daemon;
	struct nb_log *log;
	struct nb_control *control;
	sd_event *event;
	sd_event_source *tick, *outcomes;
	int outcome_fd;
	uint64_t due_us;      /* when the armed tick is due */
	uint64_t interval_us; /* from the tick before it */
};

int nb_loop_block_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	if (signal(SIGPIPE, SIG_IGN) == SIG_ERR)
		return -errno;
	return -pthread_sigmask(SIG_BLOCK, &set, NULL);
}

/* due_us may be in the past: then now is the time. Ticks that were missed, by a
 * suspended machine or a slow one, are not made up for. */
static int arm(struct loop *l, uint64_t from_us)
{
	uint64_t now_us = nb_now_us();
	int r;

	l->interval_us = nb_daemon_interval_us(l->daemon);
	l->due_us = from_us + l->interval_us;
	if (l->due_us <= now_us)
		l->due_us = now_us + l->interval_us;
	r = sd_event_source_set_time(l->tick, l->due_us);
	return r < 0 ? r : sd_event_source_set_enabled(l->tick, SD_EVENT_ONESHOT);
}

static int on_outcomes(sd_event_source *s, int fd, uint32_t events, void *user)
{
	struct loop *l = user;

	(void)s, (void)fd, (void)events;
	nb_daemon_outcomes(l->daemon);
	return 0;
}

/* A reload may change the platform that is used; its descriptor is looked at anew. */
static int watch_outcomes(struct loop *l)
{
	int fd = nb_daemon_event_fd(l->daemon), r;

	if (fd == l->outcome_fd)
		return 0;
	l->outcomes = sd_event_source_disable_unref(l->outcomes);
	l->outcome_fd = fd;
	if (fd < 0)
		return 0;
	r = sd_event_add_io(l->event, &l->outcomes, fd, EPOLLIN, on_outcomes, l);
	return r < 0 ? r : sd_event_source_set_priority(l->outcomes, PRIORITY_OUTCOME);
}

/* A new configuration may want another interval, and one node more wakes the idle. */
static int adapt(struct loop *l)
{
	int r = watch_outcomes(l);

	if (r < 0 || nb_daemon_interval_us(l->daemon) == l->interval_us)
		return r;
	return arm(l, nb_now_us());
}

static int on_tick(sd_event_source *s, uint64_t usec, void *user)
{
	struct loop *l = user;
	int r;

	(void)s, (void)usec;
	nb_daemon_tick(l->daemon);
	nb_control_refresh(l->control);
	r = watch_outcomes(l);
	return r < 0 ? r : arm(l, l->due_us);
}

static int on_call(void *user, const struct nb_peer *peer, const char *text, size_t len,
		   struct json_object **ret)
{
	struct loop *l = user;
	int r = nb_methods_call(l->daemon, peer, text, len, ret), adapted = adapt(l);

	if (adapted < 0)
		sd_event_exit(l->event, adapted);
	return r;
}

static int on_signal(sd_event_source *s, const struct signalfd_siginfo *info, void *user)
{
	struct loop *l = user;
	struct nb_config_error err;

	(void)s;
	if (info->ssi_signo != SIGHUP)
		return sd_event_exit(l->event, 0);
	nb_daemon_reload(l->daemon, &err);
	return adapt(l);
}

static int add_signal(struct loop *l, int signo)
{
	sd_event_source *s;
	int r = sd_event_add_signal(l->event, &s, signo, on_signal, l);

	if (r < 0)
		return r;
	r = sd_event_source_set_priority(s, PRIORITY_SIGNAL);
	if (r >= 0)
		r = sd_event_source_set_floating(s, true);
	sd_event_source_unref(s);
	return r;
}

static int prepare(struct loop *l, int listen_fd)
{
	static const int signals[] = {SIGTERM, SIGINT, SIGHUP};
	int r = sd_event_new(&l->event);

	for (size_t i = 0; r >= 0 && i < sizeof(signals) / sizeof(*signals); i++)
		r = add_signal(l, signals[i]);
	if (r >= 0) /* 1: the most exact; the default lets ticks wander by 250 ms */
		r = sd_event_add_time(l->event, &l->tick, CLOCK_MONOTONIC, 0, 1000, on_tick, l);
	if (r >= 0)
		r = sd_event_source_set_priority(l->tick, PRIORITY_TICK);
	if (r >= 0 && listen_fd >= 0)
		r = nb_control_new(l->event, listen_fd, &NB_CONTROL_LIMITS, on_call, l,
				   &l->control);
	if (r >= 0) /* pings between a half and three quarters of WATCHDOG_USEC */
		r = sd_event_set_watchdog(l->event, true);
	return r;
}

int nb_loop_run(struct nb_daemon *d, int listen_fd, struct nb_log *log)
{
	struct loop l = {.daemon = d, .log = log, .outcome_fd = -1};
	uint64_t now_us;
	int r = prepare(&l, listen_fd);

	if (r >= 0) {
		/* The first sample before READY=1: whoever waits for it can ask at once. */
		now_us = nb_now_us();
		nb_daemon_tick(d);
		r = watch_outcomes(&l);
		if (r >= 0)
			r = arm(&l, now_us);
	}
	if (r >= 0) {
		sd_notify(0, "READY=1");
		r = sd_event_loop(l.event);
	}
	sd_notify(0, "STOPPING=1");
	if (r < 0)
		nb_log(log, LOG_ERR, "the event loop failed: %s", strerror(-r));
	nb_daemon_stop(d);
	nb_control_free(l.control);
	sd_event_source_disable_unref(l.tick);
	sd_event_source_disable_unref(l.outcomes);
	sd_event_unref(l.event);
	return r < 0 ? r : 0;
}
