/* SPDX-License-Identifier: MIT */
#include "linux/cgroup_mount.h"

#include <fcntl.h>
#include <libcgroup.h>
#include <stdlib.h>
#include <string.h>

#include "linux/parse.h"

void nb_cgroup_mount_done(struct nb_cgroup_mount *m)
{
	if (m->root)
		nb_closep(&m->fd);
	free(m->root);
	*m = (struct nb_cgroup_mount){.fd = -1};
}

static void freep(char **p)
{
	free(*p);
}

/* A path of mountinfo: blanks, newlines and backslashes are octal. */
static char *unescape(struct nb_cursor from)
{
	char *path = malloc((size_t)(from.end - from.p) + 1), *to = path;

	if (!path)
		return NULL;
	while (from.p < from.end) {
		if (*from.p == '\\' && from.end - from.p >= 4) {
			*to++ = (char)((from.p[1] - '0') << 6 | (from.p[2] - '0') << 3 |
				       (from.p[3] - '0'));
			from.p += 4;
		} else {
			*to++ = *from.p++;
		}
	}
	*to = '\0';
	return path;
}

/* libcgroup knows the mounts of this machine and which of several is in use. NULL:
 * it does not serve here; the mount table is searched instead. */
static char *ask_library(const struct nb_procfs *fs)
{
	char *point = NULL;

	if (!fs->live || cgroup_init() != 0)
		return NULL;
	if (cgroup_get_subsys_mount_point("cpuset", &point) != 0)
		return NULL;
	return point;
}

static int open_mount(const struct nb_procfs *fs, const struct nb_mount *m, const char *point,
		      struct nb_cgroup_mount *found)
{
	enum nb_cgroup_mode mode = nb_cursor_is(&m->type, "cgroup2") ? NB_CGROUP_V2 : NB_CGROUP_V1;
	char *root;
	int fd;

	while (*point == '/')
		point++;
	fd = openat(fs->root_fd, *point ? point : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return 0; /* mounted over, or out of our sight: look further */
	root = unescape(m->root);
	if (!root) {
		nb_closep(&fd);
		return -ENOMEM;
	}
	nb_cgroup_mount_done(found);
	*found = (struct nb_cgroup_mount){.mode = mode, .root = root, .fd = fd};
	return 1;
}

/* 0: no hierarchy that could limit CPUs; else the larger, the better. */
static unsigned rank(const struct nb_mount *m, const char *point, const char *library)
{
	unsigned points = 0;

	/* Mixed mounts: a version 1 hierarchy that has cpuset is the one that limits. */
	if (nb_cursor_is(&m->type, "cgroup") && nb_mount_has_option(m, "cpuset"))
		points = 3;
	else if (nb_cursor_is(&m->type, "cgroup2"))
		points = 1;
	else
		return 0;
	/* A part of it may be mounted once more for a container. */
	points += nb_cursor_is(&m->root, "/");
	if (library && strcmp(point, library) == 0)
		points += 4;
	return points;
}

/* Takes a mount that is better than the best so far. 0 or -ENOMEM. */
static int consider(const struct nb_procfs *fs, const struct nb_mount *m, const char *library,
		    struct nb_cgroup_mount *found, unsigned *best)
{
	char *point = unescape(m->point);
	unsigned points;
	int r = 0;

	if (!point)
		return -ENOMEM;
	points = rank(m, point, library);
	if (points > *best)
		r = open_mount(fs, m, point, found);
	free(point);
	if (r > 0)
		*best = points;
	return r < 0 ? r : 0;
}

int nb_cgroup_mount_find(const struct nb_procfs *fs, struct nb_cgroup_mount *ret)
{
	__attribute__((cleanup(freep))) char *library = ask_library(fs);
	__attribute__((cleanup(nb_lines_done))) struct nb_lines lines = {.fd = -1};
	struct nb_cgroup_mount found = {.fd = -1};
	unsigned best = 0;
	size_t len;
	char *line;
	int r;

	r = nb_lines_open(&lines, fs->proc_fd, "self/mountinfo");
	if (r < 0) {
		*ret = found;
		return r == -ENOMEM ? r : 0;
	}
	while ((r = nb_lines_next(&lines, &line, &len)) > 0) {
		struct nb_mount m;

		if (nb_parse_mountinfo_line(line, len, &m) < 0)
			continue;
		r = consider(fs, &m, library, &found, &best);
		if (r < 0)
			break;
	}
	nb_lines_close(&lines);
	if (r == -ENOMEM) {
		nb_cgroup_mount_done(&found);
		return r;
	}
	*ret = found;
	return 0;
}
