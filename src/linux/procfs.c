/* SPDX-License-Identifier: MIT */
#include "linux/procfs.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FIRST_CAP 8192
#define FILE_LIMIT (64u << 20)

void nb_closep(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static int open_dir(const char *root, const char *name)
{
	_cleanup_close_ int root_fd = -1;
	int fd;

	/* An empty root means "/" for the whole of the program. */
	root_fd = open(*root ? root : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root_fd < 0)
		return -errno;
	fd = openat(root_fd, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int nb_procfs_open(const char *root, struct nb_procfs *ret)
{
	struct nb_procfs fs = {.root_fd = -1, .proc_fd = -1, .sys_fd = -1};
	int r = 0;

	fs.live = !*root || strcmp(root, "/") == 0;
	fs.root = strdup(root);
	if (!fs.root)
		return -ENOMEM;
	fs.root_fd = open_dir(root, ".");
	fs.proc_fd = open_dir(root, "proc");
	fs.sys_fd = open_dir(root, "sys");
	if (fs.root_fd < 0)
		r = fs.root_fd;
	else if (fs.proc_fd < 0)
		r = fs.proc_fd;
	else if (fs.sys_fd < 0)
		r = fs.sys_fd;
	if (r < 0) {
		nb_procfs_close(&fs);
		return r;
	}
	*ret = fs;
	return 0;
}

void nb_procfs_close(struct nb_procfs *fs)
{
	if (!fs->root) /* never opened: its descriptors are not ours */
		return;
	nb_closep(&fs->root_fd);
	nb_closep(&fs->proc_fd);
	nb_closep(&fs->sys_fd);
	free(fs->root);
	fs->root = NULL;
}

void nb_text_done(struct nb_text *t)
{
	free(t->data);
	*t = (struct nb_text){};
}

static int grow(char **data, size_t *cap)
{
	size_t wanted = *cap ? *cap * 2 : FIRST_CAP;
	char *p;

	if (wanted > FILE_LIMIT)
		return -EFBIG;
	p = realloc(*data, wanted);
	if (!p)
		return -ENOMEM;
	*data = p;
	*cap = wanted;
	return 0;
}

int nb_text_pread(struct nb_text *t, int fd)
{
	int r;

	t->len = 0;
	for (;;) {
		ssize_t n;

		if (t->cap - t->len < 2) {
			r = grow(&t->data, &t->cap);
			if (r < 0)
				break;
		}
		n = pread(fd, t->data + t->len, t->cap - t->len - 1, (off_t)t->len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			r = -errno;
			break;
		}
		if (n == 0) {
			t->data[t->len] = '\0';
			return 0;
		}
		t->len += (size_t)n;
	}
	t->len = 0;
	if (t->data)
		t->data[0] = '\0';
	return r;
}

int nb_text_read(struct nb_text *t, int dir_fd, const char *path)
{
	_cleanup_close_ int fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

	if (fd < 0) {
		int r = -errno;

		t->len = 0;
		if (t->data)
			t->data[0] = '\0';
		return r;
	}
	return nb_text_pread(t, fd);
}

int nb_lines_open(struct nb_lines *l, int dir_fd, const char *path)
{
	int fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

	if (fd < 0)
		return -errno;
	l->fd = fd;
	l->start = l->end = 0;
	return 0;
}

void nb_lines_close(struct nb_lines *l)
{
	nb_closep(&l->fd);
}

void nb_lines_done(struct nb_lines *l)
{
	free(l->buf);
	*l = (struct nb_lines){.fd = -1};
}

int nb_lines_next(struct nb_lines *l, char **ret_line, size_t *ret_len)
{
	size_t searched = 0; /* of the bytes from start on */

	for (;;) {
		size_t have = l->end - l->start;
		char *line = l->buf + l->start, *newline;
		ssize_t n;

		newline = have > searched ? memchr(line + searched, '\n', have - searched) : NULL;
		if (newline) {
			*newline = '\0';
			*ret_line = line;
			*ret_len = (size_t)(newline - line);
			l->start += *ret_len + 1;
			return 1;
		}
		searched = have;
		if (l->start > 0) {
			memmove(l->buf, line, have);
			l->start = 0;
			l->end = have;
		}
		if (l->end == l->cap) {
			int r = grow(&l->buf, &l->cap);

			if (r < 0)
				return r;
		}
		n = read(l->fd, l->buf + l->end, l->cap - l->end);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return 0;
		l->end += (size_t)n;
	}
}

static int compare_ids(const void *a, const void *b)
{
	const struct nb_id *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

static int ids_add(struct nb_ids *ids, int id, ino_t inode)
{
	if (ids->n == ids->cap) {
		size_t cap = ids->cap ? ids->cap * 2 : 256;
		struct nb_id *p = reallocarray(ids->items, cap, sizeof(*p));

		if (!p)
			return -ENOMEM;
		ids->items = p;
		ids->cap = cap;
	}
	ids->items[ids->n++] = (struct nb_id){.id = id, .inode = inode};
	return 0;
}

int nb_ids_read(struct nb_ids *ids, int dir_fd, const char *path)
{
	bool sorted = true;
	int fd, r = 0;
	DIR *dir;

	ids->n = 0;
	fd = openat(dir_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	dir = fdopendir(fd);
	if (!dir) {
		r = -errno;
		close(fd);
		return r;
	}
	for (;;) {
		struct dirent *e;
		char *end;
		long id;

		errno = 0;
		e = readdir(dir);
		if (!e) {
			r = -errno;
			break;
		}
		if (e->d_name[0] < '1' || e->d_name[0] > '9')
			continue;
		id = strtol(e->d_name, &end, 10);
		if (*end || id > INT_MAX)
			continue;
		if (ids->n && ids->items[ids->n - 1].id > id)
			sorted = false;
		r = ids_add(ids, (int)id, e->d_ino);
		if (r < 0)
			break;
	}
	closedir(dir);
	if (r < 0) {
		ids->n = 0;
		return r;
	}
	if (!sorted)
		qsort(ids->items, ids->n, sizeof(*ids->items), compare_ids);
	return 0;
}

void nb_ids_done(struct nb_ids *ids)
{
	free(ids->items);
	*ids = (struct nb_ids){};
}
