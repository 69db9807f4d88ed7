/* SPDX-License-Identifier: MIT */
/* Framing, and the connections of the control socket over socketpairs. */
#include "daemon/control.h"
#include "daemon/frames.h"
#include "daemon/varlink.h"
#include "test.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

/* --- frames --- */

static void feed(struct nb_frames *f, const char *bytes, size_t len)
{
	while (len > 0) {
		char *buf;
		size_t size;

		if (nb_frames_room(f, &buf, &size) < 0)
			return;
		if (size > len)
			size = len;
		memcpy(buf, bytes, size);
		nb_frames_filled(f, size);
		bytes += size;
		len -= size;
	}
}

TEST(frames_split_and_joined)
{
	struct nb_frames f = {0};
	const char *text;
	size_t len;

	for (const char *c = "{\"a\":1}"; *c; c++) {
		feed(&f, c, 1);
		CHECK_INT(nb_frames_peek(&f, &text, &len), 0);
	}
	feed(&f, "\0two\0\0thr", 9);
	CHECK_INT(nb_frames_peek(&f, &text, &len), 1);
	CHECK_STR(text, "{\"a\":1}");
	CHECK_INT(nb_frames_peek(&f, &text, &len), 1); /* peeking takes nothing */
	CHECK_INT(len, 7);
	nb_frames_drop(&f);
	CHECK_INT(nb_frames_peek(&f, &text, &len), 1);
	CHECK_STR(text, "two");
	nb_frames_drop(&f);
	CHECK_INT(nb_frames_peek(&f, &text, &len), 1);
	CHECK_INT(len, 0);
	nb_frames_drop(&f);
	CHECK_INT(nb_frames_peek(&f, &text, &len), 0);
	feed(&f, "ee", 3);
	CHECK_INT(nb_frames_peek(&f, &text, &len), 1);
	CHECK_STR(text, "three");
	nb_frames_done(&f);
}

/* A request of just the limit is taken, one byte more is not. */
TEST(frames_limit)
{
	char *big = malloc(NB_REQUEST_MAX + 2), *room;
	struct nb_frames f = {0};
	const char *text;
	size_t len;

	memset(big, 'x', NB_REQUEST_MAX + 1);
	big[NB_REQUEST_MAX] = '\0';
	feed(&f, big, NB_REQUEST_MAX + 1);
	CHECK_INT(nb_frames_peek(&f, &text, &len), 1);
	CHECK_INT(len, NB_REQUEST_MAX);
	nb_frames_drop(&f);
	big[NB_REQUEST_MAX] = 'x';
	feed(&f, big, NB_REQUEST_MAX + 1);
	CHECK_INT(nb_frames_peek(&f, &text, &len), -EMSGSIZE);
	CHECK_INT(nb_frames_room(&f, &room, &len), -EMSGSIZE);
	CHECK(f.in_cap <= 2 * NB_REQUEST_MAX);
	nb_frames_done(&f);
	free(big);
}

TEST(frames_replies_queue_and_shrink)
{
	struct nb_frames f = {0};
	const char *bytes;
	char *big = calloc(1, 1 << 20);

	memset(big, 'y', (1 << 20) - 1);
	CHECK_INT(nb_frames_reply(&f, "one", 3), 0);
	CHECK_INT(nb_frames_reply(&f, big, (1 << 20) - 1), 0);
	CHECK_INT(nb_frames_pending(&f, &bytes), 4 + (1 << 20));
	CHECK_STR(bytes, "one");
	nb_frames_sent(&f, 4);
	CHECK_INT(nb_frames_pending(&f, &bytes), 1 << 20);
	CHECK(bytes[0] == 'y');
	nb_frames_sent(&f, 1 << 20);
	CHECK_INT(nb_frames_pending(&f, &bytes), 0);
	CHECK_INT(f.out_cap, 0);
	nb_frames_done(&f);
	free(big);
}

/* --- calls --- */

static int parse(const char *text)
{
	struct nb_call c = {0};
	int r = nb_call_parse(text, strlen(text), &c);

	nb_call_done(&c);
	return r;
}

TEST(varlink_calls)
{
	struct nb_call c = {0};

	CHECK_INT(nb_call_parse("{\"method\":\"a.b\",\"oneway\":true,\"parameters\":{\"x\":1}} \n",
				53, &c),
		  0);
	CHECK_STR(c.method, "a.b");
	CHECK(c.oneway && c.parameters);
	nb_call_done(&c);
	CHECK_INT(parse("{\"method\":\"a\",\"parameters\":null,\"more\":null}"), 0);
	CHECK_INT(parse("{\"method\":\"a\",\"upgrade\":false,\"more\":true}"), 0);
}

TEST(varlink_garbage_is_no_call)
{
	static const char *const bad[] = {
		"",
		" ",
		"{}",
		"[]",
		"7",
		"null",
		"\"x\"",
		"{\"method\":7}",
		"{\"method\":\"a\"",
		"{\"method\":\"a\"}}",
		"{\"method\":\"a\"} x",
		"{'method':'a'}",
		"{\"method\":\"a\",\"parameters\":[]}",
		"{\"method\":\"a\",\"oneway\":1}",
		"{\"method\":\"a\\u0000b\"}",
		"{\"method\":\"\xff\"}",
		"\x01\x02\xff",
		"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		if (parse(bad[i]) != -EBADMSG)
			test_fail(__FILE__, __LINE__, "taken for a call: %s", bad[i]);
}

/* --- clients --- */

struct server {
	sd_event *event;
	struct nb_control *control;
	unsigned calls;
	size_t reply_size;
};

/* Echoes the method; "big" is answered at length, "oneway" not at all. */
static int echo(void *user, const struct nb_peer *peer, const char *text, size_t len,
		struct json_object **ret)
{
	struct server *s = user;
	struct nb_call c = {0};
	char *filler;
	int r = nb_call_parse(text, len, &c);

	if (r < 0)
		return r;
	s->calls++;
	CHECK_INT(peer->uid, getuid());
	if (c.oneway) {
		nb_call_done(&c);
		return 0;
	}
	filler = calloc(1, s->reply_size + 1);
	memset(filler, 'z', s->reply_size);
	r = nb_reply_error_text(c.method, "filler", s->reply_size ? "x" : "", ret);
	if (r == 0 && s->reply_size)
		json_object_object_add(*ret, "big", json_object_new_string(filler));
	free(filler);
	nb_call_done(&c);
	return r < 0 ? r : 1;
}

static void server_start(struct server *s, const struct nb_control_limits *limits)
{
	memset(s, 0, sizeof(*s));
	sd_event_new(&s->event);
	nb_control_new(s->event, -1, limits, echo, s, &s->control);
}

static void server_stop(struct server *s)
{
	nb_control_free(s->control);
	sd_event_unref(s->event);
}

static int connect_client(struct server *s)
{
	int fd[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fd) < 0)
		return -1;
	nb_control_add(s->control, fd[0]);
	return fd[1];
}

/* Lets the loop do all that it can do now. */
static void turn(struct server *s)
{
	while (sd_event_run(s->event, 0) > 0)
		;
}

/* What came, with NULs shown as '|'; "EOF" at the end of a closed one. */
static char *received(int fd)
{
	static char buf[1 << 20];
	size_t len = 0;
	ssize_t n;

	while ((n = recv(fd, buf + len, sizeof(buf) - len - 8, 0)) > 0)
		len += (size_t)n;
	for (size_t i = 0; i < len; i++)
		if (!buf[i])
			buf[i] = '|';
	strcpy(buf + len, n == 0 ? "EOF" : "");
	return buf;
}

static void say(int fd, const char *bytes, size_t len)
{
	CHECK_INT(send(fd, bytes, len, MSG_NOSIGNAL), len);
}

/* A literal without its final NUL. */
#define SAY(fd, text) say(fd, text, sizeof(text) - 1)

#define A "{\"error\":\"a\",\"parameters\":{\"filler\":\"\"}}|"
#define B "{\"error\":\"b\",\"parameters\":{\"filler\":\"\"}}|"

TEST(control_split_and_several_in_one)
{
	struct server s;
	int fd;

	server_start(&s, &NB_CONTROL_LIMITS);
	fd = connect_client(&s);
	say(fd, "{\"meth", 6);
	turn(&s);
	CHECK_STR(received(fd), "");
	SAY(fd, "od\":\"a\"}\0{\"method\":\"b\"}\0{\"method\":\"c\",\"oneway\":true}\0");
	SAY(fd, "{\"method\":\"a\"}");
	turn(&s);
	CHECK_STR(received(fd), A B);
	CHECK_INT(s.calls, 3);
	say(fd, "", 1);
	turn(&s);
	CHECK_STR(received(fd), A);
	CHECK_INT(nb_control_clients(s.control), 1);
	close(fd);
	turn(&s);
	CHECK_INT(nb_control_clients(s.control), 0);
	server_stop(&s);
}

/* One request a turn: a client that sends many does not hold up the loop. */
TEST(control_one_request_a_turn)
{
	struct server s;
	int fd;

	server_start(&s, &NB_CONTROL_LIMITS);
	fd = connect_client(&s);
	for (unsigned i = 0; i < 20; i++)
		say(fd, "{\"method\":\"a\"}", 15);
	for (unsigned i = 1; i <= 20; i++) {
		unsigned before = s.calls;

		while (s.calls == before && sd_event_run(s.event, 0) > 0)
			;
		CHECK_INT(s.calls, before + 1);
	}
	turn(&s);
	CHECK_INT(s.calls, 20);
	close(fd);
	server_stop(&s);
}

/* Half closed: it has said all, and still gets its answers. */
TEST(control_half_closed)
{
	struct server s;
	int fd;

	server_start(&s, &NB_CONTROL_LIMITS);
	fd = connect_client(&s);
	say(fd, "{\"method\":\"a\"}\0{\"method\":\"b\"}", 30);
	shutdown(fd, SHUT_WR);
	turn(&s);
	CHECK_STR(received(fd), A B "EOF");
	CHECK_INT(nb_control_clients(s.control), 0);
	close(fd);
	server_stop(&s);
}

static const char refused[] = "{\"error\":\"org.varlink.service.InvalidParameter\","
			      "\"parameters\":{\"parameter\":\"method\"}}|EOF";

TEST(control_garbage_is_refused_and_closed)
{
	static const struct {
		const char *bytes;
		size_t len;
	} bad[] = {{"nonsense", 9},
		   {"", 1},
		   {"\0\0\0", 4},
		   {"\x01\xff\xfe\x80", 5},
		   {"[]\0{\"method\":\"a\"}", 18}};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct server s;
		int fd;

		server_start(&s, &NB_CONTROL_LIMITS);
		fd = connect_client(&s);
		say(fd, bad[i].bytes, bad[i].len);
		turn(&s);
		CHECK_STR(received(fd), refused);
		CHECK_INT(s.calls, 0);
		CHECK_INT(nb_control_clients(s.control), 0);
		close(fd);
		server_stop(&s);
	}
}

/* F02: more than 64 KiB without an end is not kept. */
TEST(control_f02_oversized)
{
	struct server s;
	char chunk[4096], *text;
	int fd;

	memset(chunk, 'x', sizeof(chunk));
	server_start(&s, &NB_CONTROL_LIMITS);
	fd = connect_client(&s);
	for (unsigned i = 0; i < 32; i++) {
		if (send(fd, chunk, sizeof(chunk), MSG_NOSIGNAL) < 0)
			break;
		turn(&s);
	}
	text = received(fd);
	CHECK(strstr(text, "InvalidParameter") && strstr(text, "request"));
	CHECK_INT(s.calls, 0);
	CHECK_INT(nb_control_clients(s.control), 0);
	close(fd);
	server_stop(&s);
}

/* F03: whoever does not read gets no more work done, and others are served meanwhile. */
TEST(control_f03_no_reader)
{
	struct server s;
	size_t total = 0;
	int lazy, fd;

	server_start(&s, &NB_CONTROL_LIMITS);
	s.reply_size = 500000;
	lazy = connect_client(&s);
	for (unsigned i = 0; i < 10; i++)
		say(lazy, "{\"method\":\"a\"}", 15);
	turn(&s);
	CHECK(s.calls < 5);
	s.reply_size = 0;
	fd = connect_client(&s);
	say(fd, "{\"method\":\"b\"}", 15);
	turn(&s);
	CHECK_STR(received(fd), B);
	/* Now it reads: nothing was lost. */
	for (unsigned i = 0; i < 100; i++) {
		total += strlen(received(lazy));
		turn(&s);
	}
	CHECK_INT(s.calls, 11);
	CHECK(total > 500000);
	close(fd);
	close(lazy);
	server_stop(&s);
}

/* F03: closed before the reply was read: no SIGPIPE, no trace. */
TEST(control_f03_closed_early)
{
	struct server s;
	int fd;

	server_start(&s, &NB_CONTROL_LIMITS);
	s.reply_size = 500000;
	fd = connect_client(&s);
	say(fd, "{\"method\":\"a\"}", 15);
	close(fd);
	turn(&s);
	CHECK_INT(nb_control_clients(s.control), 0);
	server_stop(&s);
}

/* F03: the deadline runs from one whole request to the next, not from byte to byte. */
TEST(control_f03_slow_client_is_dropped)
{
	struct nb_control_limits limits = NB_CONTROL_LIMITS;
	struct server s;
	int silent, dripping;

	limits.deadline_us = 20000;
	server_start(&s, &limits);
	silent = connect_client(&s);
	dripping = connect_client(&s);
	for (unsigned i = 0; i < 5000 && nb_control_clients(s.control) > 0; i++) {
		send(dripping, "x", 1, MSG_NOSIGNAL);
		poll(NULL, 0, 1);
		turn(&s);
	}
	CHECK_INT(nb_control_clients(s.control), 0);
	CHECK_STR(received(silent), "EOF");
	close(silent);
	close(dripping);
	server_stop(&s);
}

/* Who goes on asking stays, however long that is. */
TEST(control_busy_client_stays)
{
	struct nb_control_limits limits = NB_CONTROL_LIMITS;
	struct server s;
	int fd;

	limits.deadline_us = 1000000;
	server_start(&s, &limits);
	fd = connect_client(&s);
	for (unsigned i = 0; i < 12; i++) {
		say(fd, "{\"method\":\"a\"}", 15);
		turn(&s);
		CHECK_STR(received(fd), A);
		poll(NULL, 0, 100);
	}
	close(fd);
	server_stop(&s);
}

/* F03: 50 silent ones, and the next is served; beyond the limit some stay free for root. */
TEST(control_f03_many_clients)
{
	struct nb_control_limits limits = NB_CONTROL_LIMITS;
	unsigned expected = getuid() == 0 ? limits.clients : limits.clients - limits.for_root;
	struct server s;
	int fd[80];

	server_start(&s, &limits);
	for (unsigned i = 0; i < 51; i++)
		fd[i] = connect_client(&s);
	say(fd[50], "{\"method\":\"a\"}", 15);
	turn(&s);
	CHECK_STR(received(fd[50]), A);
	for (unsigned i = 51; i < 80; i++)
		fd[i] = connect_client(&s);
	CHECK_INT(nb_control_clients(s.control), expected);
	CHECK_STR(received(fd[79]), "EOF");
	for (unsigned i = 0; i < 80; i++)
		close(fd[i]);
	turn(&s);
	CHECK_INT(nb_control_clients(s.control), 0);
	server_stop(&s);
}

TEST(peer_groups_are_seen)
{
	int fd[2], n = getgroups(0, NULL);
	gid_t *groups = calloc((size_t)n + 1, sizeof(*groups));
	struct nb_peer peer;

	getgroups(n, groups);
	socketpair(AF_UNIX, SOCK_STREAM, 0, fd);
	CHECK_INT(nb_peer_get(fd[0], &peer), 0);
	CHECK_INT(peer.pid, getpid());
	CHECK(nb_peer_in_group(&peer, getgid()));
	for (int i = 0; i < n; i++)
		CHECK(nb_peer_in_group(&peer, groups[i]));
	CHECK(!nb_peer_in_group(&peer, 0x7ffffff0));
	nb_peer_done(&peer);
	CHECK(nb_peer_get(-1, &peer) == -EBADF);
	close(fd[0]);
	close(fd[1]);
	free(groups);
}
