/* SPDX-License-Identifier: MIT */
#include "daemon/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG 64

static int fail(struct nb_listener_error *err, int error, const char *path, const char *what)
{
	snprintf(err->text, sizeof(err->text), "%s: %s", path, what ? what : strerror(-error));
	return error;
}

static int address(const char *path, struct sockaddr_un *ret, socklen_t *ret_len)
{
	size_t len = strlen(path);

	if (len == 0)
		return -EINVAL;
	if (len >= sizeof(ret->sun_path))
		return -ENAMETOOLONG;
	*ret = (struct sockaddr_un){.sun_family = AF_UNIX};
	memcpy(ret->sun_path, path, len + 1);
	*ret_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len + 1);
	return 0;
}

/* All missing folders above path, readable by all whatever the umask says. */
static int make_folders(const char *path)
{
	char *copy = strdup(path);
	int r = 0;

	if (!copy)
		return -ENOMEM;
	for (char *slash = strchr(copy + 1, '/'); slash && r == 0; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(copy, 0755) == 0)
			r = chmod(copy, 0755) < 0 ? -errno : 0;
		else if (errno != EEXIST)
			r = -errno;
		*slash = '/';
	}
	free(copy);
	return r;
}

static char *lock_path(const char *path)
{
	char *lock;

	return asprintf(&lock, "%s.lock", path) < 0 ? NULL : lock;
}

/* flock: it goes away with the process, so that no file of a dead one counts. */
static int take_lock(const char *path, int *ret)
{
	char *lock = lock_path(path);
	int fd, r = 0;

	if (!lock)
		return -ENOMEM;
	fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
	free(lock);
	if (fd < 0)
		return -errno;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		r = errno == EWOULDBLOCK ? -EADDRINUSE : -errno;
		close(fd);
		return r;
	}
	*ret = fd;
	return 0;
}

/* 0: nobody listens any more. -EADDRINUSE: somebody does, or may. */
static int probe(const struct sockaddr_un *sa, socklen_t len)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), r;

	if (fd < 0)
		return -errno;
	r = connect(fd, (const struct sockaddr *)sa, len) == 0 ? 0 : -errno;
	close(fd);
	/* A full backlog (EAGAIN) or a socket of another type (EPROTOTYPE) is alive too. */
	return r == -ECONNREFUSED || r == -ENOENT ? 0 : -EADDRINUSE;
}

static int clear_path(const char *path, const struct sockaddr_un *sa, socklen_t len,
		      struct nb_listener_error *err)
{
	struct stat st;
	int r;

	if (lstat(path, &st) < 0)
		return errno == ENOENT ? 0 : fail(err, -errno, path, NULL);
	if (!S_ISSOCK(st.st_mode))
		return fail(err, -EEXIST, path,
			    "is there already and is not a socket; remove it, or choose another "
			    "path by --socket");
	r = probe(sa, len);
	if (r < 0)
		return fail(err, r, path,
			    r == -EADDRINUSE ? "already running: a program answers there" : NULL);
	if (unlink(path) < 0 && errno != ENOENT)
		return fail(err, -errno, path, NULL);
	return 0;
}

static int bind_path(const char *path, const struct sockaddr_un *sa, socklen_t len, int *ret)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), r;

	if (fd < 0)
		return -errno;
	if (bind(fd, (const struct sockaddr *)sa, len) < 0) {
		r = -errno;
		close(fd);
		return r;
	}
	if (chmod(path, 0666) < 0 || listen(fd, BACKLOG) < 0) {
		r = -errno;
		unlink(path);
		close(fd);
		return r;
	}
	*ret = fd;
	return 0;
}

int nb_listener_open(const char *path, struct nb_listener *ret, struct nb_listener_error *err)
{
	struct nb_listener l = NB_LISTENER_NONE;
	struct sockaddr_un sa;
	socklen_t len;
	int r = address(path, &sa, &len);

	if (r == -ENAMETOOLONG)
		return fail(err, r, path, "too long for a socket (107 bytes at most)");
	if (r < 0)
		return fail(err, r, path, NULL);
	r = make_folders(path);
	if (r < 0)
		return fail(err, r, path, NULL);
	r = take_lock(path, &l.lock_fd);
	if (r < 0)
		return fail(err, r, path,
			    r == -EADDRINUSE ? "already running: another daemon holds its lock"
					     : NULL);
	r = clear_path(path, &sa, len, err);
	if (r < 0)
		goto out;
	l.path = strdup(path);
	r = l.path ? bind_path(path, &sa, len, &l.fd) : -ENOMEM;
	if (r < 0) {
		fail(err, r, path, NULL);
		goto out;
	}
	*ret = l;
	return 0;
out:
	free(l.path);
	close(l.lock_fd);
	return r;
}

void nb_listener_close(struct nb_listener *l)
{
	/* The lock is ours, so is what stands at the path. The lock file stays: to remove
	 * it would let two daemons lock two files of the same name. */
	if (l->fd >= 0) {
		unlink(l->path);
		close(l->fd);
	}
	if (l->lock_fd >= 0)
		close(l->lock_fd);
	free(l->path);
	*l = NB_LISTENER_NONE;
}

bool nb_listener_taken(const char *path)
{
	char *lock = lock_path(path);
	bool taken;
	int fd;

	if (!lock)
		return false;
	fd = open(lock, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	free(lock);
	if (fd < 0)
		return false;
	taken = flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK;
	close(fd);
	return taken;
}
