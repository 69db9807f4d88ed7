/* SPDX-License-Identifier: MIT */
/* The machine's own files: /proc/stat, meminfo, mountinfo. */
#include "linux/parse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int add_busy(struct nb_proc_stat *s, uint32_t cpu, uint64_t busy)
{
	if (s->n == s->cap) {
		size_t cap = s->cap ? s->cap * 2 : 64;
		struct nb_busy *p = reallocarray(s->cpus, cap, sizeof(*p));

		if (!p)
			return -ENOMEM;
		s->cpus = p;
		s->cap = cap;
	}
	s->cpus[s->n++] = (struct nb_busy){.cpu = cpu, .busy = busy};
	return 0;
}

/* user nice system idle iowait irq softirq steal guest guest_nice; old kernels have
 * fewer. Guests are inside user, steal ran somebody else. */
static int busy_line(struct nb_proc_stat *s, struct nb_cursor line)
{
	static const bool counts[7] = {true, true, true, false, false, true, true};
	uint64_t cpu, v, busy = 0;
	struct nb_cursor word;
	unsigned n = 0;

	if (!nb_take_u64(&line, &cpu) || cpu >= NB_BITMAP_MAX_BITS)
		return -EINVAL;
	for (; n < 7 && nb_take_word(&line, &word); n++) {
		if (!nb_take_u64(&word, &v) || word.p != word.end)
			return -EINVAL;
		if (counts[n] && __builtin_add_overflow(busy, v, &busy))
			return -EINVAL;
	}
	return n < 4 ? -EINVAL : add_busy(s, (uint32_t)cpu, busy);
}

int nb_parse_proc_stat(const char *text, size_t len, struct nb_proc_stat *s)
{
	struct nb_cursor c = {.p = text, .end = text + len}, line;

	s->n = 0;
	s->rejected = 0;
	while (nb_take_line(&c, &line)) {
		int r;

		if (!nb_take_text(&line, "cpu"))
			break; /* the CPUs come first; the interrupts after them are long */
		if (line.p < line.end && *line.p == ' ')
			continue; /* the sum */
		r = line.end == text + len ? -EINVAL : busy_line(s, line);
		if (r == -ENOMEM) {
			s->n = 0;
			return r;
		}
		s->rejected += r < 0;
	}
	return s->n ? 0 : -EINVAL;
}

void nb_proc_stat_done(struct nb_proc_stat *s)
{
	free(s->cpus);
	*s = (struct nb_proc_stat){};
}

int nb_parse_meminfo(const char *text, size_t len, struct nb_meminfo *ret)
{
	struct nb_cursor c = {.p = text, .end = text + len}, line;
	uint64_t inactive_file = 0, dirty = 0, writeback = 0, total = 0, free_ = 0;
	bool have_total = false, have_free = false;

	while (nb_take_line(&c, &line)) {
		struct nb_cursor word, unit;
		uint64_t v;

		if (nb_take_text(&line, "Node ") && !nb_take_word(&line, &word))
			continue;
		if (!nb_take_word(&line, &word))
			continue;
		if (!nb_take_word(&line, &unit) || !nb_take_u64(&unit, &v) || unit.p != unit.end)
			continue;
		if (!nb_take_word(&line, &unit) || !nb_cursor_is(&unit, "kB") ||
		    __builtin_mul_overflow(v, 1024, &v))
			continue;
		if (nb_cursor_is(&word, "MemTotal:")) {
			total = v;
			have_total = true;
		} else if (nb_cursor_is(&word, "MemFree:")) {
			free_ = v;
			have_free = true;
		} else if (nb_cursor_is(&word, "Inactive(file):")) {
			inactive_file = v;
		} else if (nb_cursor_is(&word, "Dirty:")) {
			dirty = v;
		} else if (nb_cursor_is(&word, "Writeback:")) {
			writeback = v;
		}
	}
	if (!have_total || !have_free)
		return -EINVAL;
	ret->total_bytes = total;
	ret->free_bytes = free_ < total ? free_ : total;
	/* Dirty pages may be active ones: taking all of them off errs to the safe side. */
	ret->clean_bytes = inactive_file > dirty ? inactive_file - dirty : 0;
	ret->clean_bytes -= ret->clean_bytes < writeback ? ret->clean_bytes : writeback;
	return 0;
}

/* ID PARENT MAJOR:MINOR ROOT POINT OPTIONS [OPTIONAL …] - TYPE SOURCE SUPEROPTIONS */
int nb_parse_mountinfo_line(const char *text, size_t len, struct nb_mount *ret)
{
	struct nb_cursor c = {.p = text, .end = text + len}, word;
	struct nb_mount m;

	for (unsigned i = 0; i < 3; i++)
		if (!nb_take_word(&c, &word))
			return -EINVAL;
	if (!nb_take_word(&c, &m.root) || !nb_take_word(&c, &m.point) || !nb_take_word(&c, &word))
		return -EINVAL;
	do {
		if (!nb_take_word(&c, &word))
			return -EINVAL;
	} while (!nb_cursor_is(&word, "-"));
	if (!nb_take_word(&c, &m.type) || !nb_take_word(&c, &word))
		return -EINVAL;
	if (!nb_take_word(&c, &m.options))
		return -EINVAL;
	*ret = m;
	return 0;
}

bool nb_mount_has_option(const struct nb_mount *m, const char *option)
{
	const char *p = m->options.p;

	while (p < m->options.end) {
		const char *comma = memchr(p, ',', (size_t)(m->options.end - p));
		struct nb_cursor one = {.p = p, .end = comma ? comma : m->options.end};

		if (nb_cursor_is(&one, option))
			return true;
		p = one.end + 1;
	}
	return false;
}
