/* SPDX-License-Identifier: MIT */
#include "daemon/once.h"

#include <errno.h>
#include <time.h>

#include "linux/linux.h"
#include "nb/report.h"
#include "report/json.h"
#include "report/table.h"

static void pause_us(uint64_t us)
{
	struct timespec t = {.tv_sec = (time_t)(us / 1000000),
			     .tv_nsec = (long)(us % 1000000) * 1000};

	while (clock_nanosleep(CLOCK_MONOTONIC, 0, &t, &t) == EINTR)
		;
}

static int sample(const struct nb_config *c, struct nb_platform *p, struct nb_model *m,
		  struct nb_snapshot *s)
{
	int r = p->ops->sample(p, c, s);

	return r < 0 ? r : nb_model_update(m, s, c);
}

static int print(const struct nb_once_options *o, const struct nb_config *c,
		 const struct nb_report *report, FILE *out)
{
	_cleanup_json_ struct json_object *all = NULL;
	struct nb_status status = {
		.mode = NB_MODE_DRY_RUN,
		.why = o->missing && o->missing[0] ? o->missing : "one look: nothing is moved",
		.version = NB_VERSION,
		.interval_us = c->daemon.interval_us,
		.kernel_balancing = -1,
		.config_file = o->config_file,
	};
	int kernel, r;

	if (nb_linux_kernel_balancing(o->root, &kernel) == 0)
		status.kernel_balancing = kernel;
	/* Machines want all of it, people what there is to say. */
	r = nb_json_all(report, &status, o->json, &all);
	if (r < 0)
		return r;
	if (!o->json)
		r = nb_table_all(all, out);
	else if (json_object_to_json_string_ext(all, JSON_C_TO_STRING_PRETTY |
							     JSON_C_TO_STRING_NOSLASHESCAPE))
		fprintf(out, "%s\n",
			json_object_to_json_string_ext(
				all, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE));
	else
		r = -ENOMEM;
	if (r == 0 && (fflush(out) != 0 || ferror(out)))
		r = -EIO;
	return r;
}

int nb_once_run(const struct nb_once_options *o, const struct nb_config *c, struct nb_platform *p,
		FILE *out)
{
	_cleanup_snapshot_ struct nb_snapshot *s = NULL;
	_cleanup_report_ struct nb_report *report = NULL;
	struct nb_model *m = NULL;
	struct nb_plan *plan = NULL;
	int r = nb_snapshot_new(&s);

	if (r == 0)
		r = nb_model_new(&m);
	if (r == 0)
		r = nb_plan_new(&plan);
	if (r == 0)
		r = sample(c, p, m, s);
	if (r == 0 && o->wait)
		pause_us(c->daemon.interval_us);
	if (r == 0)
		r = sample(c, p, m, s);
	if (r == 0)
		r = nb_policy_plan(m, s, c, plan);
	/* Without a second sample there is no plan, but there are facts. */
	if (r == -EAGAIN)
		r = 0;
	if (r == 0)
		r = nb_report_build(m, s, plan, &report);
	if (r == 0)
		r = print(o, c, report, out);
	nb_plan_free(plan);
	nb_model_free(m);
	return r;
}
