/* SPDX-License-Identifier: MIT */
/* The event loop in a child process, seen as the service manager and a client see it. */
#include "cards.h"
#include "daemon/listener.h"
#include "daemon/loop.h"
#include "test.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

/* Longer than any step takes; a test that has to wait so long has failed. */
#define PATIENCE_MS 20000

struct service {
	char dir[32], path[128], config[128], notify_path[128];
	int notify_fd;
	pid_t pid;
};

static void child(struct service *s, const char *watchdog_usec)
{
	struct nb_listener l = NB_LISTENER_NONE;
	struct nb_daemon_options o = {
		.config_path = s->config, .config_must_exist = true, .root = "/nonexistent"};
	struct nb_listener_error listener_err;
	struct nb_config_error err;
	struct nb_loaded loaded;
	struct nb_daemon *d;
	struct nb_log *log;
	int r;

	setenv("NOTIFY_SOCKET", s->notify_path, 1);
	if (watchdog_usec)
		setenv("WATCHDOG_USEC", watchdog_usec, 1);
	if (!freopen("/dev/null", "w", stderr) || nb_loop_block_signals() < 0 ||
	    nb_listener_open(s->path, &l, &listener_err) < 0 || nb_log_new(NULL, NULL, &log) < 0 ||
	    nb_config_load_files(s->config, true, &loaded, &err) < 0 ||
	    nb_daemon_new(&o, &loaded, &cards_new()->base, log, &d) < 0)
		_exit(99);
	r = nb_loop_run(d, l.fd, log);
	nb_daemon_free(d);
	nb_log_free(log);
	nb_listener_close(&l);
	_exit(r < 0 ? 98 : 0);
}

static void write_config(const struct service *s, const char *text)
{
	FILE *f = fopen(s->config, "w");

	if (!f)
		abort();
	fputs(text, f);
	fclose(f);
}

static void service_start(struct service *s, const char *config, const char *watchdog_usec)
{
	struct sockaddr_un sa = {.sun_family = AF_UNIX};

	strcpy(s->dir, "/tmp/nb-test-XXXXXX");
	if (!mkdtemp(s->dir))
		abort();
	snprintf(s->path, sizeof(s->path), "%s/s", s->dir);
	snprintf(s->config, sizeof(s->config), "%s/c", s->dir);
	snprintf(s->notify_path, sizeof(s->notify_path), "%s/n", s->dir);
	write_config(s, config);
	strcpy(sa.sun_path, s->notify_path);
	s->notify_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (bind(s->notify_fd, (struct sockaddr *)&sa, sizeof(sa)) < 0)
		abort();
	fflush(NULL);
	s->pid = fork();
	if (s->pid == 0)
		child(s, watchdog_usec);
}

/* The next message that is not about the status or, unless it is wanted, the watchdog. */
static const char *notified(struct service *s, bool watchdog)
{
	static char text[1024];
	struct pollfd p = {.fd = s->notify_fd, .events = POLLIN};

	while (poll(&p, 1, PATIENCE_MS) > 0) {
		ssize_t n = recv(s->notify_fd, text, sizeof(text) - 1, 0);

		text[n < 0 ? 0 : n] = '\0';
		if (strncmp(text, "STATUS=", 7) != 0 &&
		    (watchdog || strcmp(text, "WATCHDOG=1") != 0))
			return text;
	}
	return "nothing";
}

static int service_end(struct service *s)
{
	char lock[160];
	int status;

	waitpid(s->pid, &status, 0);
	close(s->notify_fd);
	snprintf(lock, sizeof(lock), "%s.lock", s->path);
	unlink(lock);
	unlink(s->config);
	unlink(s->notify_path);
	CHECK(access(s->path, F_OK) < 0); /* the daemon removed it */
	CHECK_INT(rmdir(s->dir), 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static const char *ask(const struct service *s, const char *text)
{
	static char reply[65536];
	struct sockaddr_un sa = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	size_t len = 0;

	reply[0] = '\0';
	strcpy(sa.sun_path, s->path);
	if (connect(fd, (struct sockaddr *)&sa, sizeof(sa)) == 0 &&
	    send(fd, text, strlen(text) + 1, MSG_NOSIGNAL) > 0) {
		struct pollfd p = {.fd = fd, .events = POLLIN};
		ssize_t n;

		while (poll(&p, 1, PATIENCE_MS) > 0 &&
		       (n = recv(fd, reply + len, sizeof(reply) - 1 - len, 0)) > 0) {
			len += (size_t)n;
			reply[len] = '\0';
			if (!reply[len - 1])
				break;
		}
	}
	close(fd);
	return reply;
}

#define STATUS "{\"method\":\"io.numabalance.GetStatus\"}"

TEST(loop_ready_and_stopping)
{
	static const int signals[] = {SIGTERM, SIGINT};

	for (size_t i = 0; i < 2; i++) {
		struct service s;

		service_start(&s, "", NULL);
		CHECK_STR(notified(&s, true), "READY=1");
		/* READY=1 means that it answers. */
		CHECK(strstr(ask(&s, STATUS), "\"mode\":\"balancing\""));
		kill(s.pid, signals[i]);
		CHECK_STR(notified(&s, true), "STOPPING=1");
		CHECK_INT(service_end(&s), 0);
	}
}

/* F10: RELOADING=1 with the time, READY=1 also when the file is bad. */
TEST(loop_f10_reload)
{
	struct service s;

	service_start(&s, "", NULL);
	CHECK_STR(notified(&s, false), "READY=1");
	for (unsigned i = 0; i < 2; i++) {
		write_config(&s, i ? "" : "[daemon]\nfrob = 1\n");
		kill(s.pid, SIGHUP);
		CHECK(strncmp(notified(&s, false), "RELOADING=1\nMONOTONIC_USEC=", 27) == 0);
		CHECK_STR(notified(&s, false), "READY=1");
		CHECK((strstr(ask(&s, STATUS), "\"reload_error\"") == NULL) == (i == 1));
	}
	kill(s.pid, SIGTERM);
	CHECK_STR(notified(&s, false), "STOPPING=1");
	CHECK_INT(service_end(&s), 0);
}

/* A reload takes the new interval at once, though the tick that is armed is far off. */
TEST(loop_reload_takes_the_interval)
{
	struct service s;

	service_start(&s, "[daemon]\ninterval = 60s\nmax_interval = 60s\n", NULL);
	CHECK_STR(notified(&s, false), "READY=1");
	CHECK(strstr(ask(&s, STATUS), "\"samples\":1,"));
	write_config(&s, "[daemon]\ninterval = 100ms\n");
	CHECK_STR(ask(&s, "{\"method\":\"io.numabalance.Reload\"}"), "{\"parameters\":{}}");
	for (unsigned i = 0; i < PATIENCE_MS / 20 && strstr(ask(&s, STATUS), "\"samples\":1,"); i++)
		poll(NULL, 0, 20);
	CHECK(!strstr(ask(&s, STATUS), "\"samples\":1,"));
	kill(s.pid, SIGTERM);
	service_end(&s);
}

/* F09: also where seconds would round to 0. */
TEST(loop_f09_watchdog)
{
	struct service s;

	service_start(&s, "[daemon]\ninterval = 60s\nmax_interval = 60s\n", "300000");
	CHECK_STR(notified(&s, false), "READY=1");
	for (unsigned i = 0; i < 3; i++)
		CHECK_STR(notified(&s, true), "WATCHDOG=1");
	kill(s.pid, SIGTERM);
	CHECK_STR(notified(&s, false), "STOPPING=1");
	CHECK_INT(service_end(&s), 0);
}

/* F03: a client that closes before its reply is sent does not end the daemon. */
TEST(loop_f03_hasty_clients)
{
	struct sockaddr_un sa = {.sun_family = AF_UNIX};
	struct service s;

	service_start(&s, "", NULL);
	CHECK_STR(notified(&s, false), "READY=1");
	strcpy(sa.sun_path, s.path);
	for (unsigned i = 0; i < 200; i++) {
		int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

		if (connect(fd, (struct sockaddr *)&sa, sizeof(sa)) == 0)
			send(fd, STATUS, sizeof(STATUS), MSG_NOSIGNAL);
		close(fd);
	}
	CHECK(strstr(ask(&s, STATUS), "\"mode\":\"balancing\""));
	kill(s.pid, SIGTERM);
	CHECK_STR(notified(&s, false), "STOPPING=1");
	CHECK_INT(service_end(&s), 0);
}
