/* SPDX-License-Identifier: MIT */
/* What the daemon does in the file system: its socket's path, its configuration. */
#include "daemon/config_file.h"
#include "daemon/listener.h"
#include "daemon/options.h"
#include "test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static char dir[64];

static void enter(void)
{
	strcpy(dir, "/tmp/nb-test-XXXXXX");
	if (!mkdtemp(dir) || chmod(dir, 0755) < 0)
		abort();
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *f)
{
	(void)st, (void)flag, (void)f;
	return remove(path);
}

static void leave(void)
{
	nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* A path below the folder of the test. */
static const char *at(const char *name)
{
	static char path[4][256];
	static unsigned next;
	char *p = path[next++ % 4];

	snprintf(p, sizeof(path[0]), "%s/%s", dir, name);
	return p;
}

static void put(const char *name, const char *text)
{
	FILE *f = fopen(at(name), "w");

	if (!f)
		abort();
	fputs(text, f);
	fclose(f);
}

static struct sockaddr_un address(const char *path)
{
	struct sockaddr_un sa = {.sun_family = AF_UNIX};

	snprintf(sa.sun_path, sizeof(sa.sun_path), "%s", path);
	return sa;
}

static int bound(const char *path, int type)
{
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
	struct sockaddr_un sa = address(path);

	if (bind(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0)
		abort();
	return fd;
}

static int can_connect(const char *path)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), r;
	struct sockaddr_un sa = address(path);

	r = connect(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0 ? -errno : 0;
	close(fd);
	return r;
}

static unsigned mode_of(const char *path)
{
	struct stat st;

	return lstat(path, &st) < 0 ? 0 : st.st_mode & 07777;
}

/* --- the socket --- */

/* F01, F05: a path, not an abstract name; readable by all; folders are made. */
TEST(listener_f01_f05_path_and_modes)
{
	struct nb_listener l = NB_LISTENER_NONE;
	struct nb_listener_error err;
	struct sockaddr_un sa;
	socklen_t len = sizeof(sa);
	mode_t mask = umask(077);

	enter();
	REQUIRE(nb_listener_open(at("run/deep/s"), &l, &err) == 0);
	umask(mask);
	CHECK_INT(mode_of(at("run/deep/s")), 0666);
	CHECK_INT(mode_of(at("run")), 0755);
	CHECK_INT(mode_of(at("run/deep")), 0755);
	CHECK_INT(getsockname(l.fd, (struct sockaddr *)&sa, &len), 0);
	CHECK_STR(sa.sun_path, at("run/deep/s"));
	CHECK_INT(len, offsetof(struct sockaddr_un, sun_path) + strlen(sa.sun_path) + 1);
	CHECK_INT(can_connect(at("run/deep/s")), 0);
	nb_listener_close(&l);
	CHECK_INT(can_connect(at("run/deep/s")), -ENOENT);
	CHECK_INT(l.fd, -1);
	nb_listener_close(&l); /* twice does no harm */
	leave();
}

TEST(listener_f04_dead_socket_is_replaced)
{
	struct nb_listener l = NB_LISTENER_NONE;
	struct nb_listener_error err;

	enter();
	close(bound(at("s"), SOCK_STREAM));
	CHECK_INT(can_connect(at("s")), -ECONNREFUSED);
	CHECK_INT(nb_listener_open(at("s"), &l, &err), 0);
	CHECK_INT(can_connect(at("s")), 0);
	nb_listener_close(&l);
	leave();
}

/* Somebody's socket without our lock: a live program, of another kind even. */
TEST(listener_f04_live_socket_is_left)
{
	static const int types[] = {SOCK_STREAM, SOCK_SEQPACKET, SOCK_DGRAM};

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
		struct nb_listener l = NB_LISTENER_NONE;
		struct nb_listener_error err;
		int fd;

		enter();
		fd = bound(at("s"), types[i]);
		if (types[i] != SOCK_DGRAM)
			listen(fd, 0);
		CHECK_INT(nb_listener_open(at("s"), &l, &err), -EADDRINUSE);
		CHECK(strstr(err.text, "already running"));
		CHECK_INT(l.fd, -1);
		CHECK(mode_of(at("s")) != 0);
		close(fd);
		leave();
	}
}

/* Two of ours: the lock decides, also when the socket file is gone. */
TEST(listener_f04_second_daemon_is_refused)
{
	struct nb_listener l = NB_LISTENER_NONE, second = NB_LISTENER_NONE;
	struct nb_listener_error err;

	enter();
	CHECK(!nb_listener_taken(at("s")));
	REQUIRE(nb_listener_open(at("s"), &l, &err) == 0);
	CHECK(nb_listener_taken(at("s")));
	CHECK_INT(nb_listener_open(at("s"), &second, &err), -EADDRINUSE);
	CHECK(strstr(err.text, "already running"));
	CHECK_INT(can_connect(at("s")), 0);
	unlink(at("s"));
	CHECK_INT(nb_listener_open(at("s"), &second, &err), -EADDRINUSE);
	nb_listener_close(&l);
	CHECK(!nb_listener_taken(at("s")));
	CHECK_INT(nb_listener_open(at("s"), &second, &err), 0);
	nb_listener_close(&second);
	leave();
}

static void check_refused(const char *what)
{
	struct nb_listener l = NB_LISTENER_NONE;
	struct nb_listener_error err;
	struct stat before, after;

	if (lstat(at("s"), &before) < 0)
		abort();
	if (nb_listener_open(at("s"), &l, &err) != -EEXIST || !strstr(err.text, "not a socket"))
		test_fail(__FILE__, __LINE__, "not refused: %s", what);
	CHECK(lstat(at("s"), &after) == 0 && before.st_ino == after.st_ino);
	nb_listener_close(&l);
}

TEST(listener_f04_not_a_socket_is_kept)
{
	enter();
	put("s", "precious");
	check_refused("regular file");
	leave();
	enter();
	mkdir(at("s"), 0755);
	check_refused("directory");
	leave();
	enter();
	close(bound(at("other"), SOCK_STREAM));
	if (symlink(at("other"), at("s")) < 0)
		abort();
	check_refused("symlink to a dead socket");
	CHECK(mode_of(at("other")) != 0);
	leave();
	enter();
	if (mkfifo(at("s"), 0600) < 0)
		abort();
	check_refused("fifo");
	leave();
}

TEST(listener_path_too_long)
{
	struct nb_listener l = NB_LISTENER_NONE;
	struct nb_listener_error err;
	char path[200];

	memset(path, 'x', sizeof(path));
	path[0] = '/';
	path[108] = '\0'; /* one byte more than fits with its NUL */
	CHECK_INT(nb_listener_open(path, &l, &err), -ENAMETOOLONG);
	CHECK_INT(nb_listener_open("", &l, &err), -EINVAL);
}

/* --- the configuration --- */

static int load(bool must_exist, struct nb_loaded *l, struct nb_config_error *err)
{
	*l = (struct nb_loaded){0};
	return nb_config_load_files(at("c.conf"), must_exist, l, err);
}

TEST(config_file_missing)
{
	struct nb_config_error err;
	struct nb_loaded l;

	enter();
	CHECK_INT(load(true, &l, &err), -ENOENT);
	CHECK(strstr(err.text, at("c.conf")));
	REQUIRE(load(false, &l, &err) == 0);
	CHECK(l.file == NULL && l.n_files == 0);
	CHECK_INT(l.config->daemon.interval_us, 1000000);
	nb_loaded_done(&l);
	leave();
}

TEST(config_file_drop_ins_by_name)
{
	struct nb_config_error err;
	struct nb_loaded l;

	enter();
	put("c.conf", "[daemon]\ninterval = 2s\ndry_run = yes\n");
	mkdir(at("c.conf.d"), 0755);
	put("c.conf.d/50-b.conf", "[daemon]\ninterval = 4s\n");
	put("c.conf.d/100-a.conf", "[daemon]\ninterval = 3s\n"); /* bytes, not numbers: before 50 */
	put("c.conf.d/.hidden.conf", "nonsense");
	put("c.conf.d/60-c.conf.bak", "nonsense");
	put("c.conf.d/.conf", "nonsense");
	if (symlink("/dev/null", at("c.conf.d/70-masked.conf")) < 0)
		abort();
	REQUIRE(load(true, &l, &err) == 0);
	CHECK_INT(l.config->daemon.interval_us, 4000000);
	CHECK(l.config->daemon.dry_run);
	CHECK_INT(l.n_files, 4);
	CHECK_STR(l.file, at("c.conf"));
	nb_loaded_done(&l);

	/* Drop-ins hold without the file they stand beside. */
	unlink(at("c.conf"));
	REQUIRE(load(false, &l, &err) == 0);
	CHECK_INT(l.config->daemon.interval_us, 4000000);
	CHECK(!l.file);
	nb_loaded_done(&l);
	leave();
}

/* F11: file, line and key of the mistake; nothing is returned. */
TEST(config_file_f11_errors_name_the_place)
{
	struct nb_config_error err;
	struct nb_loaded l;

	enter();
	put("c.conf", "[daemon]\ninterval = 2s\n");
	mkdir(at("c.conf.d"), 0755);
	put("c.conf.d/1.conf", "\n[daemon]\nintervall = 3s\n");
	CHECK_INT(load(true, &l, &err), -EINVAL);
	CHECK(strstr(err.text, at("c.conf.d/1.conf:3:")) && strstr(err.text, "intervall"));
	CHECK(!l.config && !l.file);
	put("c.conf.d/1.conf", "[daemon]\ninterval = 3 parsecs\n");
	CHECK_INT(load(true, &l, &err), -EINVAL);
	CHECK(strstr(err.text, "1.conf:2:") && strstr(err.text, "interval"));
	unlink(at("c.conf.d/1.conf"));
	mkdir(at("c.conf.d/2.conf"), 0755);
	CHECK_INT(load(true, &l, &err), -EINVAL);
	CHECK(strstr(err.text, "2.conf: not a regular file"));
	rmdir(at("c.conf.d/2.conf"));
	if (symlink("nowhere", at("c.conf.d/3.conf")) < 0 ||
	    mkfifo(at("c.conf.d/4.conf"), 0644) < 0)
		abort();
	CHECK(load(true, &l, &err) < 0);
	CHECK(strstr(err.text, "3.conf"));
	unlink(at("c.conf.d/3.conf"));
	CHECK(load(true, &l, &err) < 0); /* a pipe is not waited for */
	CHECK(strstr(err.text, "4.conf: not a regular file"));
	leave();
}

TEST(config_file_socket_group)
{
	struct nb_config_error err;
	struct nb_loaded l;

	enter();
	put("c.conf", "[daemon]\nsocket_group = root\n");
	REQUIRE(load(true, &l, &err) == 0);
	CHECK(l.group_set && l.group == 0);
	nb_loaded_done(&l);
	put("c.conf", "[daemon]\nsocket_group = no-such-group\n");
	CHECK_INT(load(true, &l, &err), -EINVAL);
	CHECK(strstr(err.text, "no-such-group"));
	put("c.conf", "[daemon]\nsocket_group =\n");
	REQUIRE(load(true, &l, &err) == 0);
	CHECK(!l.group_set);
	nb_loaded_done(&l);
	leave();
}

/* --- the command line --- */

static int parse(struct nb_options *o, const char **ret_text, ...)
{
	static char text[512];
	char *argv[8] = {(char *)"numabalanced"};
	FILE *err = fmemopen(text, sizeof(text), "w");
	int argc = 1, r;
	va_list ap;

	text[0] = '\0';
	va_start(ap, ret_text);
	while (argc < 7 && (argv[argc] = va_arg(ap, char *)))
		argc++;
	va_end(ap);
	r = nb_options_parse(argc, argv, o, err);
	fclose(err);
	*ret_text = text;
	return r;
}

TEST(options_good_and_bad)
{
	struct nb_options o = {0};
	const char *text;

	CHECK_INT(parse(&o, &text, NULL), 0);
	CHECK_STR(o.socket, "/run/numabalanced/control.sock");
	CHECK(!o.config && !o.sysroot && !o.once);
	CHECK_INT(parse(&o, &text, "--once", "--json", "--sysroot=/d", "--config", "f", NULL), 0);
	CHECK(o.once && o.json);
	CHECK_STR(o.sysroot, "/d");
	CHECK_STR(o.config, "f");
	CHECK_INT(parse(&o, &text, "--help", "--json", NULL), 0);
	CHECK_INT(parse(&o, &text, "--json", NULL), -EINVAL);
	CHECK(strstr(text, "--once"));
	CHECK_INT(parse(&o, &text, "--frob", NULL), -EINVAL);
	CHECK(strstr(text, "--frob"));
	CHECK_INT(parse(&o, &text, "--config", NULL), -EINVAL);
	CHECK(strstr(text, "--config needs a value"));
	CHECK_INT(parse(&o, &text, "extra", NULL), -EINVAL);
	CHECK(strstr(text, "extra"));
	CHECK_INT(parse(&o, &text, "--once", "--restore", NULL), -EINVAL);
	CHECK_INT(parse(&o, &text, "--socket=", NULL), -EINVAL);
	CHECK_INT(parse(&o, &text, "--json=yes", NULL), -EINVAL);
}
