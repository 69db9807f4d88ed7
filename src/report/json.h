/* SPDX-License-Identifier: MIT */
/*
 * A report as JSON objects: the parameters of the replies that
 * io.numabalance.varlink describes. Equal reports give equal bytes.
 */
#pragma once

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>

#include "nb/report.h"

enum nb_mode {
	NB_MODE_BALANCING,
	NB_MODE_DRY_RUN,
	NB_MODE_OBSERVE_ONLY,
	NB_MODE_PAUSED,
	NB_MODE_IDLE,
	NB_MODE_COUNT,
};
const char *nb_mode_name(enum nb_mode m); /* "dry_run" */

/* What is known beside the report: of the program that acts. */
struct nb_status {
	enum nb_mode mode;
	const char *why;
	const char *version;
	uint64_t uptime_us;
	uint64_t interval_us;
	int kernel_balancing; /* negative: the kernel has none */
	uint64_t lost_ticks;
	const char *config_file;  /* NULL: none was read */
	const char *reload_error; /* NULL: the last reload went well */
};

/* All return 0 and a new object, or -ENOMEM. */
int nb_json_status(const struct nb_report *r, const struct nb_status *s, struct json_object **ret);
int nb_json_nodes(const struct nb_report *r, struct json_object **ret);
int nb_json_tasks(const struct nb_report *r, bool all, struct json_object **ret);
int nb_json_task(const struct nb_report *r, int32_t pid, struct json_object **ret); /* -ESRCH */
int nb_json_plan(const struct nb_report *r, bool acts, struct json_object **ret);

/* {"status":…,"tasks":[…],"plan":…}: everything, for a run without a daemon. */
int nb_json_all(const struct nb_report *r, const struct nb_status *s, bool all,
		struct json_object **ret);

struct nb_writer;
/* The array of tasks as a part of a larger document. */
struct json_object *nb_json_task_list(struct nb_writer *w, const struct nb_report *r, bool all);

static inline void nb_json_putp(struct json_object **o)
{
	json_object_put(*o);
}
#define _cleanup_json_ __attribute__((cleanup(nb_json_putp)))
