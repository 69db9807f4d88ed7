/* SPDX-License-Identifier: MIT */
/* Which names a list of patterns matches, and which group a process belongs to. */
#include "nb/config.h"

#include <string.h>

#define COMM_LEN 15 /* TASK_COMM_LEN less its NUL */

/* One element of a pattern that stands for one byte. Returns where the next element
 * begins, or NULL if ch does not match; a [ that is never closed is an ordinary byte. */
static const char *match_one(const char *pattern, char ch)
{
	const char *p = pattern;
	bool negated, hit = false;
	unsigned char c = (unsigned char)ch;

	switch (*p) {
	case '?':
		return p + 1;
	case '\\':
		if (p[1])
			p++;
		return *p == ch ? p + 1 : NULL;
	case '[':
		break;
	default:
		return *p == ch ? p + 1 : NULL;
	}
	p++;
	negated = *p == '!' || *p == '^';
	if (negated)
		p++;
	for (const char *first = p; *p && (*p != ']' || p == first);) {
		unsigned char lo, hi;

		if (*p == '\\' && p[1])
			p++;
		lo = hi = (unsigned char)*p++;
		if (*p == '-' && p[1] && p[1] != ']') {
			p++;
			if (*p == '\\' && p[1])
				p++;
			hi = (unsigned char)*p++;
		}
		hit |= lo <= c && c <= hi;
	}
	if (*p != ']')
		return ch == '[' ? pattern + 1 : NULL;
	return hit != negated ? p + 1 : NULL;
}

/* Shell patterns over bytes, the same in every locale. With cut, text is what the
 * kernel left of a longer name: what stands in the pattern behind it, and before
 * its first star, does not count. */
static bool match_pattern(const char *pattern, const char *text, size_t len, bool cut)
{
	const char *star = NULL, *next;
	size_t at = 0, star_at = 0;

	for (;;) {
		if (*pattern == '*') {
			star = ++pattern;
			star_at = at;
			continue;
		}
		if (at == len) {
			if (!*pattern)
				return true;
			return cut && !star;
		}
		next = *pattern ? match_one(pattern, text[at]) : NULL;
		if (next) {
			pattern = next;
			at++;
		} else if (star) {
			pattern = star;
			at = ++star_at;
		} else {
			return false;
		}
	}
}

static bool match_comm(const char *pattern, const char *text)
{
	size_t len = strlen(text);

	if (len < COMM_LEN)
		return match_pattern(pattern, text, len, false);
	return match_pattern(pattern, text, COMM_LEN, true);
}

/* A control group holds those below it. A pattern with a slash is held against the
 * path and each that leads to it; one without against each name in the path. */
static bool match_cgroup(const char *pattern, const char *path)
{
	bool whole = strchr(pattern, '/');
	const char *start, *end;
	size_t n = strlen(pattern);
	char trimmed[256];

	while (n > 1 && pattern[n - 1] == '/')
		n--;
	if (n >= sizeof(trimmed))
		return false;
	memcpy(trimmed, pattern, n);
	trimmed[n] = '\0';
	pattern = whole && *trimmed == '/' ? trimmed + 1 : trimmed;
	if (whole && !*pattern)
		return true; /* "/" holds all */
	while (*path == '/')
		path++;
	start = path;
	for (end = path;; end++) {
		if (*end && *end != '/')
			continue;
		if (match_pattern(pattern, start, (size_t)(end - start), false))
			return true;
		if (!*end)
			return false;
		if (!whole)
			start = end + 1;
	}
}

bool nb_list_match(const struct nb_list *list, const char *text)
{
	bool hit = false;

	for (size_t i = 0; i < list->n && !hit; i++)
		switch (list->kind) {
		case NB_LIST_COMM:
			hit = match_comm(list->items[i], text);
			break;
		case NB_LIST_USER:
			hit = match_pattern(list->items[i], text, strlen(text), false);
			break;
		case NB_LIST_CGROUP:
			hit = match_cgroup(list->items[i], text);
			break;
		}
	return hit;
}

const struct nb_group *nb_config_group(const struct nb_config *c, const char *comm,
				       const char *user, const char *cgroup)
{
	for (size_t i = 0; i < c->n_groups; i++) {
		const struct nb_group *g = &c->groups[i];

		if (!g->match_comm.n && !g->match_user.n && !g->match_cgroup.n)
			continue; /* not finished */
		if ((!g->match_comm.n || nb_list_match(&g->match_comm, comm)) &&
		    (!g->match_user.n || nb_list_match(&g->match_user, user)) &&
		    (!g->match_cgroup.n || nb_list_match(&g->match_cgroup, cgroup)))
			return g;
	}
	return NULL;
}
