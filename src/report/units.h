/* SPDX-License-Identifier: MIT */
/* Numbers for people. Each function writes into buf and returns it. */
#pragma once

#include <stdint.h>

#define NB_UNIT_MAX 32

const char *nb_unit_bytes(char buf[NB_UNIT_MAX], uint64_t bytes); /* "1.2G", steps of 1,024 */
const char *nb_unit_time(char buf[NB_UNIT_MAX], int64_t us);  /* "3.20 s", "-15 ms", "2 h 5 min" */
const char *nb_unit_cpus(char buf[NB_UNIT_MAX], double cpus); /* "0.53" */
const char *nb_unit_share(char buf[NB_UNIT_MAX], double share); /* "97 %" */
