/* SPDX-License-Identifier: MIT */
/* The event loop: ticks, signals, outcomes, clients, the service manager. */
#pragma once

#include <stdint.h>

#include "daemon/daemon.h"

/* SIGTERM, SIGINT and SIGHUP for this thread and those it makes: blocked, so that
 * the loop gets them. Call it before a platform makes its workers. */
int nb_loop_block_signals(void);

/* Runs until SIGTERM or SIGINT, then puts everything back. listen_fd -1: without
 * clients. 0, or a negative errno when the loop itself failed. */
int nb_loop_run(struct nb_daemon *d, int listen_fd, struct nb_log *log);
