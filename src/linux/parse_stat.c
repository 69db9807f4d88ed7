/* SPDX-License-Identifier: MIT */
/* /proc/PID/stat, numbered as in proc(5): 1 pid, 2 comm, 3 state … 41 policy. */
#include "linux/parse.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

/* A field that may be negative (priority, nice, tpgid …) and is not used. */
static bool number(struct nb_cursor word, uint64_t *ret)
{
	bool negative = nb_take_text(&word, "-");
	uint64_t v;

	if (!nb_take_u64(&word, &v) || word.p != word.end)
		return false;
	*ret = negative ? 0 : v;
	return true;
}

int nb_parse_stat(const char *text, size_t len, struct nb_stat *ret)
{
	struct nb_cursor c = {.p = text, .end = text + len}, word;
	const char *open, *close;
	struct nb_stat s = {};
	uint64_t v[42] = {};
	size_t n;

	/* comm holds anything, also ") R 1 (" and newlines; what follows it holds no
	 * bracket, so the last one ends it. */
	open = memchr(text, '(', len);
	close = memrchr(text, ')', len);
	if (!open || !close || close < open)
		return -EINVAL;
	if (!nb_take_u64(&c, &v[1]) || !nb_take_text(&c, " ") || c.p != open || v[1] > INT_MAX)
		return -EINVAL;
	n = (size_t)(close - open) - 1;
	if (n >= sizeof(s.comm))
		n = sizeof(s.comm) - 1;
	memcpy(s.comm, open + 1, n);

	c.p = close + 1;
	if (!nb_take_word(&c, &word) || word.end - word.p != 1)
		return -EINVAL;
	s.state = *word.p;
	for (unsigned i = 4; i <= 41; i++)
		if (!nb_take_word(&c, &word) || !number(word, &v[i]))
			return -EINVAL;
	/* A number at the very end may have been cut in the middle. */
	if (c.p == c.end)
		return -EINVAL;
	if (v[4] > INT_MAX || v[39] > UINT32_MAX || v[40] > UINT32_MAX || v[41] > UINT32_MAX)
		return -EINVAL;

	s.pid = (int32_t)v[1];
	s.ppid = (int32_t)v[4];
	s.flags = v[9];
	s.utime = v[14];
	s.stime = v[15];
	s.n_threads = v[20];
	s.start = v[22];
	s.vsize_bytes = v[23];
	s.rss_pages = v[24];
	s.processor = (uint32_t)v[39];
	s.rt_priority = (uint32_t)v[40];
	s.policy = (uint32_t)v[41];
	*ret = s;
	return 0;
}
