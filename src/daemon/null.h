/* SPDX-License-Identifier: MIT */
/*
 * The platform of a dry run: it samples through another one, and answers each
 * action by ECANCELED without doing anything. What the other still has on its way
 * is passed on.
 */
#pragma once

#include "nb/platform.h"

/* Takes over below on success. */
int nb_null_new(struct nb_platform *below, struct nb_platform **ret);

/* Ends the dry run: releases the platform and returns the one below. */
struct nb_platform *nb_null_unwrap(struct nb_platform *p);
