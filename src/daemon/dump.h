/* SPDX-License-Identifier: MIT */
/*
 * A dump of /proc and /sys as a platform: DIR/0 (or 1), DIR/1, … are instants of one
 * machine, one interval apart unless each holds a file at_us with its time; a DIR
 * without them is one instant that lasts. After the last one it stays. Nothing can
 * be done to it.
 */
#pragma once

#include "nb/platform.h"

int nb_dump_new(const char *dir, struct nb_platform **ret);

/* The prefix of its first instant; lives as long as the platform. */
const char *nb_dump_root(const struct nb_platform *p);
