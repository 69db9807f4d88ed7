/* SPDX-License-Identifier: MIT */
#include "sim/scenario.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nb/ini.h"

#define MS UINT64_C(1000)
#define SEC (1000 * MS)
#define DAY (24 * 3600 * SEC)
#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)
#define TIB (UINT64_C(1) << 40)

enum section { MACHINE, RUN, EXPECT, PROCESS, CONFIG };
enum form { ONE, LIST, YES_NO };

struct key {
	enum section section;
	enum form form;
	enum nb_measure measure;
	const char *name;
	size_t offset; /* within the section's struct */
	uint64_t min, max;
};

#define M(f) offsetof(struct nb_sim_machine_spec, f)
#define R(f) offsetof(struct nb_sim_run_spec, f)
#define E(f) offsetof(struct nb_sim_expect, f)
#define P(f) offsetof(struct nb_sim_process_spec, f)
#define NUMBER NB_MEASURE_NUMBER
#define TIME NB_MEASURE_TIME
#define SIZE NB_MEASURE_SIZE
#define SHARE NB_MEASURE_SHARE

static const struct key keys[] = {
	{MACHINE, ONE, NUMBER, "nodes", M(nodes), 1, NB_SIM_NODES_MAX},
	{MACHINE, LIST, NUMBER, "cpus", M(cpus), 0, 1024},
	{MACHINE, LIST, SIZE, "memory", M(memory), 0, 16 * TIB},
	{MACHINE, ONE, NUMBER, "distance", M(distance_remote), 10, 254},
	{MACHINE, ONE, NB_MEASURE_RATE, "migration_speed", M(migration_bps), MIB, TIB},
	{RUN, ONE, TIME, "duration", R(duration_us), 100 * MS, DAY},
	{RUN, ONE, TIME, "step", R(step_us), MS, SEC},
	{RUN, ONE, TIME, "window", R(window_us), MS, DAY},
	{RUN, ONE, NUMBER, "seed", R(seed), 0, UINT64_MAX},
	{RUN, YES_NO, NUMBER, "balancer", R(balancer), 0, 1},
	{EXPECT, ONE, TIME, "local_within", E(local_within_us), 0, DAY},
	{EXPECT, ONE, SHARE, "last_third", E(last_third_pmy), 0, 10000},
	{EXPECT, ONE, SIZE, "min_bytes", E(min_bytes), 0, 1024 * TIB},
	{EXPECT, ONE, SIZE, "max_bytes", E(max_bytes), 0, 1024 * TIB},
	{EXPECT, ONE, NUMBER, "max_moves", E(max_moves), 0, 1000000},
	{EXPECT, ONE, NUMBER, "max_swaps", E(max_swaps), 0, 1000000},
	{EXPECT, ONE, SHARE, "max_wait", E(max_wait_pmy), 0, 10000},
	{PROCESS, ONE, NUMBER, "count", P(count), 1, 4096},
	{PROCESS, ONE, NUMBER, "threads", P(threads), 1, 4096},
	{PROCESS, ONE, SIZE, "memory", P(memory_bytes), 0, 16 * TIB},
	{PROCESS, LIST, NUMBER, "memory_node", P(memory_node), 0, NB_SIM_NODES_MAX - 1},
	{PROCESS, LIST, NUMBER, "start_node", P(start_node), 0, NB_SIM_NODES_MAX - 1},
	{PROCESS, ONE, SHARE, "duty", P(duty_pmy), 1, 10000},
	{PROCESS, ONE, TIME, "period", P(period_us), MS, 60 * SEC},
	{PROCESS, ONE, TIME, "arrival", P(arrival_us), 0, DAY},
	{PROCESS, ONE, TIME, "end", P(end_us), 0, DAY},
	{PROCESS, ONE, TIME, "bound_until", P(bound_until_us), 0, DAY},
};
#define N_KEYS (sizeof(keys) / sizeof(keys[0]))

/* Which keys a section has been given already, for the two kinds that may repeat: a
 * bit for each key, and one for each row of distances. */
struct given {
	uint64_t keys, rows;
};

struct parser {
	struct nb_scenario *s;
	enum section section;
	struct nb_sim_process_spec *process;
	struct given machine, run, expect, *processes;
	bool overriding;
	/* The lines of the daemon's sections, at their line numbers. */
	FILE *config;
	uint32_t config_lines;
};

static int value_error(struct nb_ini *i, const char *key, const char *why)
{
	const struct parser *p = i->user;
	static const char *const names[] = {"machine", "run", "expect", "process ", "config"};

	return nb_ini_fail(i, "[%s%s] %s: %s", names[p->section],
			   p->section == PROCESS ? p->process->name : "", key, why);
}

static void *section_base(struct parser *p)
{
	switch (p->section) {
	case MACHINE:
		return &p->s->machine;
	case RUN:
		return &p->s->run;
	case EXPECT:
		return &p->s->expect;
	case PROCESS:
		return p->process;
	case CONFIG:
		break;
	}
	return NULL;
}

static struct given *section_given(struct parser *p)
{
	switch (p->section) {
	case MACHINE:
		return &p->machine;
	case RUN:
		return &p->run;
	case EXPECT:
		return &p->expect;
	case PROCESS:
		return &p->processes[p->process - p->s->processes];
	case CONFIG:
		break;
	}
	return NULL;
}

static int parse_list(struct nb_ini *i, const struct key *k, const char *text,
		      struct nb_sim_list *ret)
{
	struct nb_sim_list list = {0};
	char item[32], why[160];
	size_t n;

	for (;; text += n) {
		text += strspn(text, " \t,");
		if (!*text)
			break;
		n = strcspn(text, " \t,");
		if (list.n == NB_SIM_NODES_MAX || n >= sizeof(item))
			return value_error(i, k->name, "the list is too long");
		memcpy(item, text, n);
		item[n] = '\0';
		if (nb_measure_parse(k->measure, item, k->min, k->max, &list.values[list.n++], why,
				     sizeof(why)) < 0)
			return value_error(i, k->name, why);
	}
	if (list.n == 0)
		return value_error(i, k->name, "needs a value");
	*ret = list;
	return 0;
}

static int set_key(struct nb_ini *i, const struct key *k, const char *text)
{
	struct parser *p = i->user;
	char *field = (char *)section_base(p) + k->offset, why[160];
	uint64_t v;

	switch (k->form) {
	case LIST:
		return parse_list(i, k, text, (struct nb_sim_list *)field);
	case YES_NO:
		if (strcmp(text, "yes") != 0 && strcmp(text, "no") != 0)
			return value_error(i, k->name, "yes or no");
		v = strcmp(text, "yes") == 0;
		break;
	case ONE:
		if (nb_measure_parse(k->measure, text, k->min, k->max, &v, why, sizeof(why)) < 0)
			return value_error(i, k->name, *text ? why : "needs a value");
		break;
	}
	memcpy(field, &v, sizeof(v));
	return 0;
}

/* "distance_3 = 20 20 10 …" is row 3. */
static int set_row(struct nb_ini *i, const char *key, const char *text)
{
	struct parser *p = i->user;
	const struct key row = {MACHINE, LIST, NUMBER, key, 0, 10, 255};
	char why[64];
	uint64_t node;

	if (nb_measure_parse(NUMBER, key + strlen("distance_"), 0, NB_SIM_NODES_MAX - 1, &node, why,
			     sizeof(why)) < 0)
		return value_error(i, key, "unknown key");
	if (p->machine.rows & UINT64_C(1) << node && !p->overriding)
		return value_error(i, key, "set twice");
	p->machine.rows |= UINT64_C(1) << node;
	return parse_list(i, &row, text, &p->s->machine.distance[node]);
}

static int keep_for_config(struct parser *p, uint32_t line, const char *a, const char *b,
			   const char *c, const char *d)
{
	for (; p->config_lines + 1 < line; p->config_lines++)
		fputc('\n', p->config);
	fprintf(p->config, "%s%s%s%s\n", a, b, c, d);
	p->config_lines++;
	return ferror(p->config) ? -ENOMEM : 0;
}

static int setting(struct nb_ini *i, const char *key, const char *value)
{
	struct parser *p = i->user;

	if (p->section == CONFIG)
		return keep_for_config(p, i->line, key, "=", value, "");
	if (p->section == MACHINE && strncmp(key, "distance_", 9) == 0)
		return set_row(i, key, value);
	for (size_t k = 0; k < N_KEYS; k++) {
		struct given *g = section_given(p);

		if (keys[k].section != p->section || strcmp(keys[k].name, key) != 0)
			continue;
		if (g->keys & UINT64_C(1) << k && !p->overriding)
			return value_error(i, key, "set twice");
		g->keys |= UINT64_C(1) << k;
		return set_key(i, &keys[k], value);
	}
	return value_error(i, key, "unknown key");
}

static int enter_process(struct nb_ini *i, const char *name)
{
	static const char allowed[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
	struct parser *p = i->user;
	struct nb_scenario *s = p->s;
	struct nb_sim_process_spec *specs;
	struct given *given;

	if (!*name || name[strspn(name, allowed)] || strlen(name) > 15)
		return nb_ini_fail(i, "[process %s]: not a name (1 to 15 letters, digits, _ . -)",
				   name);
	for (size_t k = 0; k < s->n_processes; k++)
		if (strcmp(s->processes[k].name, name) == 0) {
			p->process = &s->processes[k];
			return 0;
		}
	if (p->overriding)
		return nb_ini_fail(i, "[process %s]: the scenario has none", name);
	specs = reallocarray(s->processes, s->n_processes + 1, sizeof(*specs));
	if (!specs)
		return -ENOMEM;
	s->processes = specs;
	given = reallocarray(p->processes, s->n_processes + 1, sizeof(*given));
	if (!given)
		return -ENOMEM;
	p->processes = given;
	p->process = &specs[s->n_processes];
	*p->process = (struct nb_sim_process_spec){
		.name = strdup(name),
		.count = 1,
		.threads = 1,
		.duty_pmy = 10000,
		.period_us = 100 * MS,
	};
	given[s->n_processes] = (struct given){0};
	if (!p->process->name)
		return -ENOMEM;
	s->n_processes++;
	return 0;
}

static int section(struct nb_ini *i, const char *name)
{
	static const struct {
		const char *name;
		enum section section;
	} sections[] = {{"machine", MACHINE},  {"run", RUN},       {"expect", EXPECT},
			{"daemon", CONFIG},    {"select", CONFIG}, {"policy", CONFIG},
			{"estimator", CONFIG}, {"migrate", CONFIG}};
	struct parser *p = i->user;
	char shown[64];

	if (strncmp(name, "process ", 8) == 0) {
		p->section = PROCESS;
		return enter_process(i, name + 8);
	}
	if (strncmp(name, "group ", 6) == 0) {
		p->section = CONFIG;
		return keep_for_config(p, i->line, "[", name, "]", "");
	}
	for (size_t k = 0; k < sizeof(sections) / sizeof(sections[0]); k++)
		if (strcmp(name, sections[k].name) == 0) {
			p->section = sections[k].section;
			return p->section == CONFIG
				       ? keep_for_config(p, i->line, "[", name, "]", "")
				       : 0;
		}
	return nb_ini_fail(i,
			   "[%s]: unknown section (allowed: machine, run, expect, process NAME, "
			   "and those of the daemon's configuration)",
			   nb_ini_escape(name, shown, sizeof(shown)));
}

static const struct nb_ini_ops ops = {section, setting};

/* Parses what the callbacks see as a text of its own, for the daemon's configuration. */
static int parse_part(struct parser *p, const char *name, const char *text, size_t len,
		      struct nb_config_error *err)
{
	char *config = NULL;
	size_t config_len = 0;
	int r;

	p->config = open_memstream(&config, &config_len);
	p->config_lines = 0;
	if (!p->config)
		return -ENOMEM;
	r = nb_ini_parse(name, text, len, &ops, p, err);
	if (fclose(p->config) != 0 && r == 0)
		r = -ENOMEM;
	p->config = NULL;
	if (r == 0)
		r = nb_config_parse(p->s->config, name, config, config_len, err);
	free(config);
	return r;
}

static int override(struct parser *p, const char *text, struct nb_config_error *err)
{
	const char *eq = strchr(text, '='), *dot = NULL;
	char name[96], lines[512];
	int n;

	for (const char *s = text; eq && s < eq; s++)
		if (*s == '.')
			dot = s; /* the last one: names of groups have dots, keys have none */
	if (!dot) {
		snprintf(err->text, sizeof(err->text), "--set %.64s: not SECTION.KEY=VALUE", text);
		return -EINVAL;
	}
	n = snprintf(lines, sizeof(lines), "[%.*s]\n%s\n", (int)(dot - text), text, dot + 1);
	if (n < 0 || (size_t)n >= sizeof(lines)) {
		snprintf(err->text, sizeof(err->text), "--set %.64s…: too long", text);
		return -EINVAL;
	}
	snprintf(name, sizeof(name), "--set %.*s", (int)(eq - text), text);
	p->overriding = true;
	return parse_part(p, name, lines, (size_t)n, err);
}

int nb_scenario_parse(const char *name, const char *text, size_t len, const char *const *overrides,
		      size_t n_overrides, struct nb_scenario **ret, struct nb_config_error *ret_err)
{
	_cleanup_scenario_ struct nb_scenario *s = calloc(1, sizeof(*s));
	struct nb_config_error err = {0};
	struct parser p = {.s = s};
	int r;

	if (!s)
		return -ENOMEM;
	s->machine.distance_remote = 20;
	s->machine.migration_bps = 256 * MIB;
	s->run = (struct nb_sim_run_spec){
		.duration_us = 20 * SEC,
		.step_us = 10 * MS,
		.window_us = 500 * MS,
		.seed = 1,
		.balancer = 1,
	};
	memset(&s->expect, 0xff, sizeof(s->expect));
	r = nb_config_new(&s->config);
	if (r == 0)
		r = parse_part(&p, name, text, len, &err);
	for (size_t i = 0; r == 0 && i < n_overrides; i++)
		r = override(&p, overrides[i], &err);
	free(p.processes);
	if (r == 0)
		r = nb_config_finish(s->config, &err);
	if (r == 0)
		r = nb_scenario_check(name, s, &err);
	if (r < 0) {
		if (ret_err)
			*ret_err = err;
		return r;
	}
	*ret = s;
	s = NULL;
	return 0;
}

struct nb_scenario *nb_scenario_free(struct nb_scenario *s)
{
	if (!s)
		return NULL;
	for (size_t i = 0; i < s->n_processes; i++)
		free(s->processes[i].name);
	free(s->processes);
	nb_config_free(s->config);
	free(s);
	return NULL;
}
