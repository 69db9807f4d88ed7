/* SPDX-License-Identifier: MIT */
#include "daemon/config_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define SIZE_LIMIT (1u << 20) /* nobody writes a megabyte by hand: it is the wrong file */

static int fail(struct nb_config_error *err, const char *path, const char *what, int error)
{
	snprintf(err->text, sizeof(err->text), "%s: %s", path, what ? what : strerror(-error));
	return error;
}

/* The whole file. A device or a pipe is not waited for. */
static int read_file(const char *path, char **ret, size_t *ret_len, struct nb_config_error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	size_t len = 0;
	char *text = NULL;
	int r;

	if (fd < 0)
		return fail(err, path, NULL, -errno);
	if (fstat(fd, &st) < 0) {
		r = fail(err, path, NULL, -errno);
		goto out;
	}
	/* /dev/null masks a file, and reads as empty. */
	if (!S_ISREG(st.st_mode) && !(S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3))) {
		r = fail(err, path, "not a regular file", -EINVAL);
		goto out;
	}
	text = malloc(SIZE_LIMIT + 1);
	if (!text) {
		r = -ENOMEM;
		goto out;
	}
	for (;;) {
		ssize_t n = read(fd, text + len, SIZE_LIMIT + 1 - len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			r = fail(err, path, NULL, -errno);
			goto out;
		}
		if (n == 0)
			break;
		len += (size_t)n;
		if (len > SIZE_LIMIT) {
			r = fail(err, path, "larger than 1 MiB", -EFBIG);
			goto out;
		}
	}
	*ret = text;
	*ret_len = len;
	text = NULL;
	r = 0;
out:
	free(text);
	close(fd);
	return r;
}

static int parse_file(struct nb_config *c, const char *path, struct nb_config_error *err)
{
	char *text;
	size_t len;
	int r = read_file(path, &text, &len, err);

	if (r < 0)
		return r;
	r = nb_config_parse(c, path, text, len, err);
	free(text);
	return r;
}

static int is_drop_in(const struct dirent *d)
{
	size_t len = strlen(d->d_name);

	return d->d_name[0] != '.' && len > 5 && strcmp(d->d_name + len - 5, ".conf") == 0;
}

/* By bytes, so that the locale does not change what holds. */
static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int parse_drop_ins(struct nb_loaded *l, const char *path, struct nb_config_error *err)
{
	struct dirent **names;
	char *dir;
	int n, r = 0;

	if (asprintf(&dir, "%s.d", path) < 0)
		return -ENOMEM;
	n = scandir(dir, &names, is_drop_in, by_name);
	if (n < 0) {
		r = errno == ENOENT ? 0 : fail(err, dir, NULL, -errno);
		free(dir);
		return r;
	}
	for (int i = 0; i < n; i++) {
		char *file;

		if (r == 0 && asprintf(&file, "%s/%s", dir, names[i]->d_name) < 0)
			r = -ENOMEM;
		else if (r == 0) {
			r = parse_file(l->config, file, err);
			l->n_files++;
			free(file);
		}
		free(names[i]);
	}
	free(names);
	free(dir);
	return r;
}

static int find_group(struct nb_loaded *l, const char *path, struct nb_config_error *err)
{
	const char *name = l->config->daemon.socket_group;
	struct group *g;

	if (!name || !*name)
		return 0;
	errno = 0;
	g = getgrnam(name);
	if (!g) {
		snprintf(err->text, sizeof(err->text),
			 "%s: [daemon] socket_group: there is no group \"%.64s\" (allowed: the "
			 "name of "
			 "a group, or empty)",
			 path, name);
		return -EINVAL;
	}
	l->group_set = true;
	l->group = g->gr_gid;
	return 0;
}

int nb_config_load_files(const char *path, bool must_exist, struct nb_loaded *ret,
			 struct nb_config_error *err)
{
	_cleanup_loaded_ struct nb_loaded l = {0};
	int r;

	err->text[0] = '\0';
	r = nb_config_new(&l.config);
	if (r < 0)
		goto out;
	r = parse_file(l.config, path, err);
	if (r == 0) {
		l.n_files = 1;
		l.file = strdup(path);
		if (!l.file)
			r = -ENOMEM;
	} else if (r == -ENOENT && !must_exist) {
		err->text[0] = '\0';
		r = 0;
	}
	if (r == 0)
		r = parse_drop_ins(&l, path, err);
	if (r == 0)
		r = nb_config_finish(l.config, err);
	if (r == 0)
		r = find_group(&l, path, err);
out:
	if (r < 0) {
		if (!err->text[0])
			fail(err, path, NULL, r);
		return r;
	}
	*ret = l;
	l = (struct nb_loaded){0};
	return 0;
}

void nb_loaded_done(struct nb_loaded *l)
{
	nb_config_free(l->config);
	free(l->file);
	*l = (struct nb_loaded){0};
}
