/* SPDX-License-Identifier: MIT */
#include "ctl/client.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "report/json.h"

/* A machine of 256 nodes and 10,000 tasks fills some 200 MB. */
#define REPLY_MAX (1u << 30)

static uint64_t now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static int wait_for(int fd, short events, uint64_t until_us)
{
	struct pollfd p = {.fd = fd, .events = events};
	uint64_t now = now_us();
	int r;

	if (now >= until_us)
		return -ETIMEDOUT;
	r = poll(&p, 1, (int)((until_us - now) / 1000) + 1);
	if (r < 0)
		return errno == EINTR ? 0 : -errno;
	return 0;
}

static int open_socket(const char *path)
{
	struct sockaddr_un sa = {.sun_family = AF_UNIX};
	int fd;

	if (strlen(path) >= sizeof(sa.sun_path))
		return -ENAMETOOLONG;
	strcpy(sa.sun_path, path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	/* EAGAIN: the backlog is full, which is no reason to wait. */
	if (connect(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0) {
		int r = -errno;

		close(fd);
		return r;
	}
	return fd;
}

static int send_all(int fd, const char *text, size_t len, uint64_t until_us)
{
	while (len > 0) {
		ssize_t n = send(fd, text, len, MSG_NOSIGNAL);

		if (n >= 0) {
			text += n;
			len -= (size_t)n;
		} else if (errno == EAGAIN) {
			int r = wait_for(fd, POLLOUT, until_us);

			if (r < 0)
				return r;
		} else if (errno != EINTR) {
			return -errno;
		}
	}
	return 0;
}

/* Up to the first NUL. */
static int receive(int fd, uint64_t until_us, char **ret)
{
	size_t len = 0, cap = 0;
	char *buf = NULL;
	int r = 0;

	for (;;) {
		ssize_t n;

		if (len == cap) {
			size_t want = cap ? 2 * cap : 4096;
			char *grown = want > REPLY_MAX ? NULL : realloc(buf, want);

			if (!grown) {
				r = -ENOMEM;
				break;
			}
			buf = grown;
			cap = want;
		}
		n = recv(fd, buf + len, cap - len, 0);
		if (n > 0) {
			bool whole = memchr(buf + len, 0, (size_t)n);

			len += (size_t)n;
			if (whole) {
				*ret = buf;
				return 0;
			}
		} else if (n == 0) {
			r = -ECONNRESET;
			break;
		} else if (errno == EAGAIN) {
			r = wait_for(fd, POLLIN, until_us);
			if (r < 0)
				break;
		} else if (errno != EINTR) {
			r = -errno;
			break;
		}
	}
	free(buf);
	return r;
}

static int converse(int fd, const char *text, uint64_t until_us, struct json_object **ret)
{
	struct json_object *reply;
	char *answer = NULL;
	int r = send_all(fd, text, strlen(text) + 1, until_us);

	if (r == 0)
		r = receive(fd, until_us, &answer);
	if (r < 0)
		return r;
	reply = json_tokener_parse(answer);
	free(answer);
	if (!json_object_is_type(reply, json_type_object)) {
		json_object_put(reply);
		return -EPROTO;
	}
	*ret = reply;
	return 0;
}

static void explain(const char *path, bool connected, int error, struct nb_client_error *err)
{
	const char *hint = "";

	if (!connected && (error == -ENOENT || error == -ECONNREFUSED))
		hint = "; is numabalanced running? (systemctl status numabalanced; another socket: "
		       "--socket PATH)";
	else if (!connected && error == -EACCES)
		hint = "; the folders above it must be open to you";
	else if (connected && error == -ECONNRESET)
		hint = ": the daemon closed the connection; it may have too many clients";
	else if (error == -EPROTO)
		hint = ": what answers there is not numabalanced";
	snprintf(err->text, sizeof(err->text), "%s: %s%s", path, strerror(-error), hint);
}

int nb_client_call(const char *socket_path, const char *method, struct json_object *parameters,
		   uint64_t timeout_us, struct json_object **ret_reply, struct nb_client_error *err)
{
	_cleanup_json_ struct json_object *call = json_object_new_object();
	uint64_t until_us = now_us() + timeout_us;
	const char *text;
	int fd, r;

	if (!parameters)
		parameters = json_object_new_object();
	if (!call || json_object_object_add(call, "method", json_object_new_string(method)) < 0 ||
	    json_object_object_add(call, "parameters", parameters) < 0)
		goto nomem;
	text = json_object_to_json_string_ext(call, JSON_C_TO_STRING_PLAIN);
	if (!text)
		goto nomem;
	fd = open_socket(socket_path);
	if (fd < 0) {
		explain(socket_path, false, fd, err);
		return fd;
	}
	r = converse(fd, text, until_us, ret_reply);
	close(fd);
	if (r < 0)
		explain(socket_path, true, r, err);
	return r;
nomem:
	snprintf(err->text, sizeof(err->text), "%s", strerror(ENOMEM));
	return -ENOMEM;
}
