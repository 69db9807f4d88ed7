/* SPDX-License-Identifier: MIT */
#include "daemon/control.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/frames.h"
#include "daemon/varlink.h"

struct client {
	struct nb_control *control;
	struct client *next, **link;
	int fd;
	struct nb_peer peer;
	struct nb_frames frames;
	sd_event_source *io, *turn, *deadline;
	bool ended;   /* it sends no more */
	bool closing; /* after what is still to be sent */
};

struct nb_control {
	sd_event *event;
	sd_event_source *accept;
	struct nb_control_limits limits;
	nb_control_call call;
	void *user;
	struct client *clients;
	unsigned n_clients;
};

static void drop(struct client *c)
{
	*c->link = c->next;
	if (c->next)
		c->next->link = c->link;
	c->control->n_clients--;
	sd_event_source_disable_unref(c->io);
	sd_event_source_disable_unref(c->turn);
	sd_event_source_disable_unref(c->deadline);
	nb_frames_done(&c->frames);
	nb_peer_done(&c->peer);
	close(c->fd);
	free(c);
}

static int extend(struct client *c)
{
	return sd_event_source_set_time_relative(c->deadline, c->control->limits.deadline_us);
}

/* 0, or negative: the connection is of no use any more. */
static int send_pending(struct client *c)
{
	const char *bytes;
	size_t n;

	while ((n = nb_frames_pending(&c->frames, &bytes)) > 0) {
		ssize_t sent = send(c->fd, bytes, n, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0)
			return errno == EAGAIN ? 0 : -errno;
		nb_frames_sent(&c->frames, (size_t)sent);
		if (nb_frames_pending(&c->frames, &bytes) == 0)
			return extend(c);
	}
	return 0;
}

/* A refusal, after which the connection is closed. */
static int refuse(struct client *c, const char *parameter)
{
	struct json_object *reply;
	const char *text;
	size_t len;
	int r = nb_reply_error_text(NB_ERROR_PARAMETER, "parameter", parameter, &reply);

	if (r < 0)
		return r;
	text = json_object_to_json_string_length(reply, JSON_C_TO_STRING_PLAIN, &len);
	r = text ? nb_frames_reply(&c->frames, text, len) : -ENOMEM;
	json_object_put(reply);
	c->closing = true;
	return r;
}

static int answer(struct client *c, const char *text, size_t len)
{
	struct json_object *reply = NULL;
	const char *out;
	size_t out_len;
	int r = c->control->call(c->control->user, &c->peer, text, len, &reply);

	nb_frames_drop(&c->frames);
	if (r == -EBADMSG)
		return refuse(c, "method");
	if (r <= 0)
		return r < 0 ? r : extend(c);
	out = json_object_to_json_string_length(
		reply, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE, &out_len);
	r = out ? nb_frames_reply(&c->frames, out, out_len) : -ENOMEM;
	json_object_put(reply);
	return r < 0 ? r : extend(c);
}

/* Answers at most one request, and arranges for what comes next. */
static int advance(struct client *c)
{
	const char *text, *bytes;
	size_t len;
	uint32_t events = 0;
	int r = send_pending(c), more = 0;

	if (r < 0)
		return r;
	if (!c->closing && nb_frames_pending(&c->frames, &bytes) == 0) {
		more = nb_frames_peek(&c->frames, &text, &len);
		if (more == 1)
			r = answer(c, text, len);
		else if (more == -EMSGSIZE)
			r = refuse(c, "request");
		if (r >= 0)
			r = send_pending(c);
		if (r < 0)
			return r;
		more = c->closing ? 0 : nb_frames_peek(&c->frames, &text, &len);
	}
	/* Who does not read what he asked for is not read from either. */
	if (nb_frames_pending(&c->frames, &bytes) > 0)
		events = EPOLLOUT;
	else if (c->closing || c->ended)
		return -ECONNRESET;
	else if (more != 0)
		r = sd_event_source_set_enabled(c->turn, SD_EVENT_ONESHOT);
	else
		events = EPOLLIN;
	if (r >= 0)
		r = sd_event_source_set_io_events(c->io, events);
	return r;
}

static int receive(struct client *c)
{
	char *buf;
	size_t size;
	ssize_t n;
	int r = nb_frames_room(&c->frames, &buf, &size);

	if (r < 0)
		return r == -EMSGSIZE ? 0 : r;
	n = recv(c->fd, buf, size, MSG_DONTWAIT);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	if (n == 0)
		c->ended = true;
	nb_frames_filled(&c->frames, (size_t)n);
	return 0;
}

static int on_io(sd_event_source *s, int fd, uint32_t events, void *user)
{
	struct client *c = user;
	int r = 0;

	(void)s, (void)fd;
	if (events & EPOLLIN)
		r = receive(c);
	else if (events & (EPOLLHUP | EPOLLERR))
		r = -ECONNRESET;
	if (r >= 0)
		r = advance(c);
	if (r < 0)
		drop(c);
	return 0;
}

static int on_turn(sd_event_source *s, void *user)
{
	struct client *c = user;

	(void)s;
	if (advance(c) < 0)
		drop(c);
	return 0;
}

static int on_deadline(sd_event_source *s, uint64_t usec, void *user)
{
	(void)s, (void)usec;
	drop(user);
	return 0;
}

int nb_control_add(struct nb_control *control, int fd)
{
	struct client *c = calloc(1, sizeof(*c));
	uint64_t slack = control->limits.deadline_us / 16 + 1;
	int r;

	if (!c) {
		close(fd);
		return -ENOMEM;
	}
	c->control = control;
	c->fd = fd;
	c->link = &control->clients;
	c->next = control->clients;
	if (c->next)
		c->next->link = &c->next;
	control->clients = c;
	control->n_clients++;
	r = nb_peer_get(fd, &c->peer);
	if (r >= 0 && control->n_clients + (c->peer.uid ? control->limits.for_root : 0) >
			      control->limits.clients)
		r = -EBUSY;
	if (r >= 0)
		r = sd_event_add_io(control->event, &c->io, fd, EPOLLIN, on_io, c);
	if (r >= 0)
		r = sd_event_add_defer(control->event, &c->turn, on_turn, c);
	if (r >= 0)
		r = sd_event_source_set_enabled(c->turn, SD_EVENT_OFF);
	if (r >= 0)
		r = sd_event_add_time_relative(control->event, &c->deadline, CLOCK_MONOTONIC,
					       control->limits.deadline_us, slack, on_deadline, c);
	if (r < 0)
		drop(c);
	return r < 0 ? r : 0;
}

static int on_accept(sd_event_source *s, int fd, uint32_t events, void *user)
{
	struct nb_control *control = user;
	int client = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	(void)s, (void)events;
	/* Out of descriptors: the peer stays in the backlog, and the loop must not spin
	 * on it. The source is put on again by the next tick. */
	if (client < 0 &&
	    (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM))
		return sd_event_source_set_enabled(control->accept, SD_EVENT_OFF);
	if (client < 0)
		return 0;
	nb_control_add(control, client);
	return 0;
}

void nb_control_refresh(struct nb_control *c)
{
	if (c && c->accept)
		sd_event_source_set_enabled(c->accept, SD_EVENT_ON);
}

int nb_control_new(sd_event *event, int listen_fd, const struct nb_control_limits *limits,
		   nb_control_call call, void *user, struct nb_control **ret)
{
	struct nb_control *c = calloc(1, sizeof(*c));
	int r = 0;

	if (!c)
		return -ENOMEM;
	c->event = sd_event_ref(event);
	c->limits = *limits;
	c->call = call;
	c->user = user;
	if (listen_fd >= 0)
		r = sd_event_add_io(event, &c->accept, listen_fd, EPOLLIN, on_accept, c);
	if (r < 0) {
		nb_control_free(c);
		return r;
	}
	*ret = c;
	return 0;
}

struct nb_control *nb_control_free(struct nb_control *c)
{
	if (!c)
		return NULL;
	while (c->clients)
		drop(c->clients);
	sd_event_source_disable_unref(c->accept);
	sd_event_unref(c->event);
	free(c);
	return NULL;
}

unsigned nb_control_clients(const struct nb_control *c)
{
	return c->n_clients;
}
