/* SPDX-License-Identifier: MIT */
/* What a run came to: for people, as JSON, and against what was expected of it. */
#include <inttypes.h>
#include <string.h>

#include "sim/run.h"

/* 9876 as "98.76"; integers only, so that every machine prints the same. */
static const char *percent(uint32_t pmy, char *buf, size_t size)
{
	if (pmy == NB_SIM_UNKNOWN)
		snprintf(buf, size, "-");
	else
		snprintf(buf, size, "%u.%02u", pmy / 100, pmy % 100);
	return buf;
}

static const char *seconds(uint64_t us, char *buf, size_t size)
{
	if (us == UINT64_MAX)
		snprintf(buf, size, "never");
	else
		snprintf(buf, size, "%" PRIu64 ".%03" PRIu64, us / 1000000, us / 1000 % 1000);
	return buf;
}

static const char *node(uint32_t n, char *buf, size_t size)
{
	if (n == NB_NO_NODE)
		snprintf(buf, size, "-");
	else
		snprintf(buf, size, "%u", n);
	return buf;
}

static const char *what_name(uint32_t what)
{
	if (what == (NB_CPU | NB_MEMORY))
		return "both";
	return what == NB_CPU ? "cpu" : "memory";
}

void nb_sim_print(const struct nb_sim_result *r, FILE *out)
{
	char a[32], b[32];

	fprintf(out, "seed %" PRIu64 "\n", r->seed);
	fprintf(out, "95 %% local after %s s, last third %s %%\n",
		seconds(r->local_at_us, a, sizeof(a)), percent(r->last_third_pmy, b, sizeof(b)));
	fprintf(out,
		"%" PRIu64 " moves, %" PRIu64 " swaps, %" PRIu64 " failed, %" PRIu64
		" MiB moved, %" PRIu64 " plans\n",
		r->moves, r->swaps, r->failed, r->bytes_moved >> 20, r->plans);
	fprintf(out, "%s s of CPU time, %s %% waiting\n", seconds(r->run_us, a, sizeof(a)),
		percent(r->wait_pmy, b, sizeof(b)));
	fputs("local %:", out);
	for (uint32_t i = 0; i < r->n_windows; i++)
		fprintf(out, " %s", percent(r->local_pmy[i], a, sizeof(a)));
	fputc('\n', out);
	if (r->n_list)
		fputs("\n   time s   pid name            what   from to      MiB  gain ms price ms "
		      "reason\n",
		      out);
	for (uint32_t i = 0; i < r->n_list; i++) {
		const struct nb_sim_move *m = &r->list[i];
		char from[12], to[12];

		fprintf(out, "%9s %5d %-15s %-6s %4s %2s %8" PRIu64 " %8" PRId64 " %8" PRId64 " %s",
			seconds(m->at_us, a, sizeof(a)), m->pid, m->comm, what_name(m->what),
			node(m->from, from, sizeof(from)), node(m->to, to, sizeof(to)),
			m->bytes >> 20, m->gain_us / 1000, m->price_us / 1000,
			nb_reason_name(m->reason));
		if (m->exchange)
			fprintf(out, " (%u)", m->exchange);
		if (m->error)
			fprintf(out, ": %s", strerrorname_np(m->error));
		fputc('\n', out);
	}
}

static void json_number(FILE *out, const char *name, uint64_t v, bool known)
{
	if (known)
		fprintf(out, "\"%s\":%" PRIu64 ",", name, v);
	else
		fprintf(out, "\"%s\":null,", name);
}

static void json_pmy(FILE *out, const char *name, uint32_t pmy)
{
	json_number(out, name, pmy, pmy != NB_SIM_UNKNOWN);
}

static void json_move(const struct nb_sim_move *m, FILE *out)
{
	fputc('{', out);
	json_number(out, "at_us", m->at_us, true);
	json_number(out, "took_us", m->took_us, true);
	json_number(out, "pid", (uint64_t)m->pid, true);
	/* Names of scenarios hold nothing that JSON would have to escape. */
	fprintf(out, "\"comm\":\"%s\",\"what\":\"%s\",\"reason\":\"%s\",", m->comm,
		what_name(m->what), nb_reason_name(m->reason));
	json_number(out, "from", m->from, m->from != NB_NO_NODE);
	json_number(out, "to", m->to, m->to != NB_NO_NODE);
	json_number(out, "bytes", m->bytes, true);
	fprintf(out, "\"gain_us\":%" PRId64 ",\"price_us\":%" PRId64 ",", m->gain_us, m->price_us);
	json_number(out, "exchange", m->exchange, m->exchange != 0);
	fprintf(out, "\"error\":%d}", m->error);
}

void nb_sim_print_json(const struct nb_sim_result *r, FILE *out)
{
	fputc('{', out);
	json_number(out, "seed", r->seed, true);
	json_number(out, "local_at_us", r->local_at_us, r->local_at_us != UINT64_MAX);
	json_pmy(out, "last_third_pmy", r->last_third_pmy);
	json_pmy(out, "wait_pmy", r->wait_pmy);
	json_number(out, "run_us", r->run_us, true);
	json_number(out, "moves", r->moves, true);
	json_number(out, "swaps", r->swaps, true);
	json_number(out, "failed", r->failed, true);
	json_number(out, "bytes_moved", r->bytes_moved, true);
	json_number(out, "plans", r->plans, true);
	json_number(out, "window_us", r->window_us, true);
	fputs("\"local_pmy\":[", out);
	for (uint32_t i = 0; i < r->n_windows; i++)
		if (r->local_pmy[i] == NB_SIM_UNKNOWN)
			fprintf(out, "%snull", i ? "," : "");
		else
			fprintf(out, "%s%u", i ? "," : "", r->local_pmy[i]);
	fputs("],\"list\":[", out);
	for (uint32_t i = 0; i < r->n_list; i++) {
		if (i)
			fputc(',', out);
		json_move(&r->list[i], out);
	}
	fputs("]}\n", out);
}

bool nb_sim_expected(const struct nb_scenario *s, const struct nb_sim_result *r, char *why,
		     size_t size)
{
	const struct nb_sim_expect *e = &s->expect;
	/* What nothing is known of is as bad as it can be. */
	uint64_t third = r->last_third_pmy == NB_SIM_UNKNOWN ? 0 : r->last_third_pmy;
	uint64_t wait = r->wait_pmy == NB_SIM_UNKNOWN ? 0 : r->wait_pmy;
	const struct {
		const char *name;
		uint64_t got, bound;
		bool at_least;
	} rules[] = {
		{"local_within (us)", r->local_at_us, e->local_within_us, false},
		{"last_third (permyriad)", third, e->last_third_pmy, true},
		{"min_bytes", r->bytes_moved, e->min_bytes, true},
		{"max_bytes", r->bytes_moved, e->max_bytes, false},
		{"max_moves", r->moves, e->max_moves, false},
		{"max_swaps", r->swaps, e->max_swaps, false},
		{"max_wait (permyriad)", wait, e->max_wait_pmy, false},
	};

	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		if (rules[i].bound == UINT64_MAX ||
		    (rules[i].at_least ? rules[i].got >= rules[i].bound
				       : rules[i].got <= rules[i].bound))
			continue;
		snprintf(why, size, "seed %" PRIu64 ": %s is %" PRIu64 ", expected %s %" PRIu64,
			 r->seed, rules[i].name, rules[i].got,
			 rules[i].at_least ? "at least" : "at most", rules[i].bound);
		return false;
	}
	return true;
}
