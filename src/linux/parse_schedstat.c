/* SPDX-License-Identifier: MIT */
/*
 * Run and wait time from schedstat. Only the three last numbers of a CPU's line
 * are used: they come from sched_info and count with kernel.sched_schedstats at 0.
 * They are nanoseconds, whatever the kernel's document says.
 */
#include "linux/parse.h"

#include <errno.h>
#include <stdlib.h>

/* 14 has three yield counters more in front; 15 dropped them. The lines of 15, 16
 * and 17 are alike; only the domain lines differ. */
#define OLDEST 14
#define NEWEST 17
#define COLUMNS_14 12
#define COLUMNS 9

static int add(struct nb_schedstat *s, uint32_t cpu, uint64_t run_ns, uint64_t wait_ns)
{
	if (s->n == s->cap) {
		size_t cap = s->cap ? s->cap * 2 : 64;
		struct nb_run_wait *p = reallocarray(s->cpus, cap, sizeof(*p));

		if (!p)
			return -ENOMEM;
		s->cpus = p;
		s->cap = cap;
	}
	s->cpus[s->n++] = (struct nb_run_wait){.cpu = cpu, .run_ns = run_ns, .wait_ns = wait_ns};
	return 0;
}

/* -EINVAL: not a good line. */
static int cpu_line(struct nb_schedstat *s, struct nb_cursor line)
{
	unsigned columns = s->version == 14 ? COLUMNS_14 : COLUMNS;
	uint64_t cpu, v[COLUMNS_14 + 1];
	struct nb_cursor word;

	if (!nb_take_u64(&line, &cpu) || cpu >= NB_BITMAP_MAX_BITS)
		return -EINVAL;
	for (unsigned i = 1; i <= columns; i++)
		if (!nb_take_word(&line, &word) || !nb_take_u64(&word, &v[i]) || word.p != word.end)
			return -EINVAL;
	return add(s, (uint32_t)cpu, v[columns - 2], v[columns - 1]);
}

int nb_parse_schedstat(const char *text, size_t len, struct nb_schedstat *s)
{
	struct nb_cursor c = {.p = text, .end = text + len}, line;
	uint64_t version;

	s->n = 0;
	s->version = 0;
	s->newer = false;
	s->rejected = 0;
	if (!nb_take_line(&c, &line) || !nb_take_text(&line, "version ") ||
	    !nb_take_u64(&line, &version) || line.p != line.end || version > UINT32_MAX)
		return -EINVAL;
	if (version < OLDEST)
		return -EOPNOTSUPP;
	s->version = (uint32_t)version;
	s->newer = version > NEWEST;
	while (nb_take_line(&c, &line)) {
		int r;

		if (!nb_take_text(&line, "cpu"))
			continue;
		/* Without its newline the line was cut off. */
		r = line.end == text + len ? -EINVAL : cpu_line(s, line);
		if (r == -ENOMEM) {
			s->n = 0;
			return r;
		}
		s->rejected += r < 0;
	}
	return 0;
}

void nb_schedstat_done(struct nb_schedstat *s)
{
	free(s->cpus);
	*s = (struct nb_schedstat){};
}

int nb_parse_task_schedstat(const char *text, size_t len, uint64_t *ret_run_ns,
			    uint64_t *ret_wait_ns)
{
	struct nb_cursor c = {.p = text, .end = text + len}, word;
	uint64_t v[3];

	for (unsigned i = 0; i < 3; i++)
		if (!nb_take_word(&c, &word) || !nb_take_u64(&word, &v[i]) || word.p != word.end)
			return -EINVAL;
	*ret_run_ns = v[0];
	*ret_wait_ns = v[1];
	return 0;
}
