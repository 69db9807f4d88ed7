/* SPDX-License-Identifier: MIT */
/* A process' cgroups and mappings. */
#include "linux/parse.h"

#include <errno.h>
#include <string.h>

static bool has_controller(struct nb_cursor list, const char *name)
{
	while (list.p < list.end) {
		const char *comma = memchr(list.p, ',', (size_t)(list.end - list.p));
		struct nb_cursor one = {.p = list.p, .end = comma ? comma : list.end};

		if (nb_cursor_is(&one, name))
			return true;
		list.p = one.end < list.end ? one.end + 1 : list.end;
	}
	return false;
}

/* ID:CONTROLLERS:PATH, where the path may hold colons. */
int nb_parse_cgroup(const char *text, size_t len, struct nb_cgroup_paths *ret)
{
	struct nb_cursor c = {.p = text, .end = text + len}, line;
	struct nb_cgroup_paths paths = {};

	while (nb_take_line(&c, &line)) {
		struct nb_cursor controllers;
		const char *colon;
		uint64_t id;

		if (line.end == text + len) /* cut off */
			break;
		if (!nb_take_u64(&line, &id) || !nb_take_text(&line, ":"))
			continue;
		colon = memchr(line.p, ':', (size_t)(line.end - line.p));
		if (!colon || colon + 1 == line.end || colon[1] != '/')
			continue;
		controllers = (struct nb_cursor){.p = line.p, .end = colon};
		line.p = colon + 1;
		if (id == 0 && controllers.p == controllers.end)
			paths.v2 = line;
		else if (has_controller(controllers, "cpuset"))
			paths.cpuset = line;
	}
	if (!paths.v2.p && !paths.cpuset.p)
		return -EINVAL;
	*ret = paths;
	return 0;
}

/* START-END PERMS OFFSET DEV INODE [NAME] */
int nb_parse_maps_line(const char *line, size_t len, struct nb_map *ret)
{
	struct nb_cursor c = {.p = line, .end = line + len}, perms, word, inode;
	struct nb_map m = {};

	if (!nb_take_hex(&c, &m.start) || !nb_take_text(&c, "-") || !nb_take_hex(&c, &m.end))
		return -EINVAL;
	if (m.start >= m.end || !nb_take_word(&c, &perms) || perms.end - perms.p != 4)
		return -EINVAL;
	if (!nb_take_word(&c, &word) || !nb_take_word(&c, &word) || !nb_take_word(&c, &inode))
		return -EINVAL;
	m.readable = perms.p[0] == 'r';
	m.writable = perms.p[1] == 'w';
	m.shared = perms.p[3] == 's';
	m.anonymous = nb_cursor_is(&inode, "0");
	if (m.anonymous && nb_take_word(&c, &word))
		m.special = nb_take_text(&word, "[v");
	*ret = m;
	return 0;
}
