/* SPDX-License-Identifier: MIT */
/* numabalancectl's commands against a server that plays one answer. */
#include "ctl/client.h"
#include "ctl/command.h"
#include "report/field.h"
#include "test.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

struct server {
	char dir[32], path[64];
	int fd;
	const char *answer; /* up to its NUL; NULL: the connection is closed */
	size_t len;
	char asked[4096];
	pthread_t thread;
};

static void *serve(void *user)
{
	struct server *s = user;
	int fd = accept(s->fd, NULL, NULL);
	size_t len = 0;
	ssize_t n;

	while ((n = recv(fd, s->asked + len, sizeof(s->asked) - len, 0)) > 0) {
		len += (size_t)n;
		if (!s->asked[len - 1])
			break;
	}
	/* In two pieces, as a stream may come. */
	if (s->answer && (send(fd, s->answer, s->len / 2, MSG_NOSIGNAL) < 0 ||
			  send(fd, s->answer + s->len / 2, s->len - s->len / 2, MSG_NOSIGNAL) < 0))
		test_fail(__FILE__, __LINE__, "the client left");
	close(fd);
	return NULL;
}

static void server_listen(struct server *s)
{
	struct sockaddr_un sa = {.sun_family = AF_UNIX};

	memset(s, 0, sizeof(*s));
	strcpy(s->dir, "/tmp/nb-test-XXXXXX");
	if (!mkdtemp(s->dir))
		abort();
	snprintf(s->path, sizeof(s->path), "%s/s", s->dir);
	strcpy(sa.sun_path, s->path);
	s->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(s->fd, (struct sockaddr *)&sa, sizeof(sa)) < 0 || listen(s->fd, 4) < 0)
		abort();
}

static void server_close(struct server *s)
{
	close(s->fd);
	unlink(s->path);
	rmdir(s->dir);
}

struct result {
	int status;
	char *out, *err;
	char asked[4096];
};

/* One command; answer NULL: no daemon is asked, or it just closes. */
static struct result run(const char *answer, bool serving, bool json, bool all, const char *command,
			 const char *argument)
{
	char *argv[] = {(char *)command, (char *)argument, NULL};
	struct nb_context c = {.json = json, .all = all};
	struct server s;
	struct result r = {0};
	size_t len;

	server_listen(&s);
	s.answer = answer;
	s.len = answer ? strlen(answer) + 1 : 0;
	c.socket = s.path;
	c.out = open_memstream(&r.out, &len);
	c.err = open_memstream(&r.err, &len);
	if (serving)
		pthread_create(&s.thread, NULL, serve, &s);
	r.status = nb_command_run(&c, argument ? 2 : 1, argv);
	if (serving)
		pthread_join(s.thread, NULL);
	memcpy(r.asked, s.asked, sizeof(r.asked));
	fclose(c.out);
	fclose(c.err);
	server_close(&s);
	return r;
}

static void done(struct result *r)
{
	free(r->out);
	free(r->err);
}

TEST(ctl_asks_and_shows)
{
	static const struct {
		const char *command, *argument, *method;
		bool all;
	} cases[] = {
		{"status", NULL, "{\"method\":\"io.numabalance.GetStatus\",\"parameters\":{}}",
		 false},
		{"nodes", NULL, "{\"method\":\"io.numabalance.GetNodes\",\"parameters\":{}}",
		 false},
		{"plan", NULL, "{\"method\":\"io.numabalance.GetPlan\",\"parameters\":{}}", false},
		{"tasks", NULL, "{\"method\":\"io.numabalance.ListTasks\",\"parameters\":{}}",
		 false},
		{"tasks", NULL,
		 "{\"method\":\"io.numabalance.ListTasks\",\"parameters\":{\"all\":true}}", true},
		{"task", "12",
		 "{\"method\":\"io.numabalance.GetTask\",\"parameters\":{\"pid\":12}}", false},
		{"pause", NULL, "{\"method\":\"io.numabalance.Pause\",\"parameters\":{}}", false},
		{"resume", NULL, "{\"method\":\"io.numabalance.Resume\",\"parameters\":{}}", false},
		{"reload", NULL, "{\"method\":\"io.numabalance.Reload\",\"parameters\":{}}", false},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct result r = run("{\"parameters\":{}}", true, false, cases[i].all,
				      cases[i].command, cases[i].argument);

		CHECK_INT(r.status, NB_EXIT_OK);
		CHECK_STR(r.asked, cases[i].method);
		CHECK_STR(r.err, "");
		done(&r);
	}
}

TEST(ctl_json_is_the_reply)
{
	struct result r = run("{\"parameters\":{\"mode\":\"idle\",\"x\":[1,\"a/b\"]}}", true, true,
			      false, "status", NULL);
	struct json_object *o = json_tokener_parse(r.out);

	CHECK_INT(r.status, NB_EXIT_OK);
	CHECK_STR(json_object_get_string(nb_field(o, "mode")), "idle");
	CHECK(strstr(r.out, "\"a/b\""));
	json_object_put(o);
	done(&r);
}

TEST(ctl_exit_codes)
{
	static const struct {
		const char *answer, *says;
	} refused[] = {
		{"{\"error\":\"io.numabalance.NoSuchTask\",\"parameters\":{\"pid\":7}}",
		 "no process 7"},
		{"{\"error\":\"org.varlink.service.PermissionDenied\",\"parameters\":{}}",
		 "socket_group"},
		{"{\"error\":\"io.numabalance.ReloadFailed\",\"parameters\":{\"message\":\"f:3: "
		 "\\u001bx\"}}",
		 "f:3: \\x1bx"},
		{"{\"error\":\"org.varlink.service.MethodNotFound\"}", "another version"},
		{"{\"error\":\"io.numabalance.New\",\"parameters\":{\"a\":1}}",
		 "io.numabalance.New {\"a\":1}"},
	};
	struct result r;

	for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
		r = run(refused[i].answer, true, false, false, "status", NULL);
		CHECK_INT(r.status, NB_EXIT_REFUSED);
		CHECK(strstr(r.err, refused[i].says));
		CHECK_STR(r.out, "");
		done(&r);
	}
	r = run(NULL, true, false, false, "status", NULL);
	CHECK_INT(r.status, NB_EXIT_NO_DAEMON);
	CHECK(strstr(r.err, "too many clients"));
	done(&r);
	r = run("SSH-2.0-x", true, false, false, "status", NULL);
	CHECK_INT(r.status, NB_EXIT_NO_DAEMON);
	CHECK(strstr(r.err, "not numabalanced"));
	done(&r);
}

TEST(ctl_wrong_usage)
{
	static const struct {
		const char *command, *argument;
		bool all;
	} wrong[] = {{"frob", NULL, false},         {"task", NULL, false}, {"task", "x", false},
		     {"task", "0", false},          {"task", "-1", false}, {"task", "12x", false},
		     {"task", "4294967297", false}, {"task", "", false},   {"status", "x", false},
		     {"pause", "x", false},         {"tasks", "x", false}, {"nodes", NULL, true}};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		struct result r =
			run(NULL, false, false, wrong[i].all, wrong[i].command, wrong[i].argument);

		if (r.status != NB_EXIT_USAGE || !strstr(r.err, "--help"))
			test_fail(__FILE__, __LINE__, "%s %s: %d", wrong[i].command,
				  wrong[i].argument ? wrong[i].argument : "", r.status);
		done(&r);
	}
}

TEST(ctl_no_daemon)
{
	struct nb_client_error err;
	struct json_object *reply;
	char path[200];
	struct server s;

	CHECK_INT(nb_client_call("/nonexistent/s", "a.b", NULL, 1000000, &reply, &err), -ENOENT);
	CHECK(strstr(err.text, "is numabalanced running?"));
	memset(path, 'x', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	CHECK_INT(nb_client_call(path, "a.b", NULL, 1000000, &reply, &err), -ENAMETOOLONG);
	/* It takes the connection and says nothing. */
	server_listen(&s);
	CHECK_INT(nb_client_call(s.path, "a.b", NULL, 20000, &reply, &err), -ETIMEDOUT);
	close(s.fd);
	CHECK_INT(nb_client_call(s.path, "a.b", NULL, 1000000, &reply, &err), -ECONNREFUSED);
	unlink(s.path);
	rmdir(s.dir);
}
