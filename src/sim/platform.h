/* SPDX-License-Identifier: MIT */
/* The simulated machine behind the daemon's platform verbs. */
#pragma once

#include "nb/platform.h"
#include "sim/machine.h"

/* The machine stays the caller's, who lets it step and outlives the platform. */
int nb_sim_platform_new(struct nb_machine *m, struct nb_platform **ret);
