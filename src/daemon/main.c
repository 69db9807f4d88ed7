/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/daemon.h"
#include "daemon/dump.h"
#include "daemon/listener.h"
#include "daemon/loop.h"
#include "daemon/once.h"
#include "daemon/options.h"
#include "linux/linux.h"

#define EXIT_USAGE 2

static int restore(const struct nb_options *o, struct nb_log *log)
{
	struct nb_restore_counts n = {0};
	int r;

	if (nb_listener_taken(o->socket)) {
		nb_log(log, LOG_ERR,
		       "%s: a daemon is running; stop it, and it puts everything back", o->socket);
		return EXIT_FAILURE;
	}
	r = nb_linux_restore(o->state_dir, &n);
	if (r < 0) {
		nb_log(log, LOG_ERR, "%s: %s", o->state_dir,
		       r == -EBUSY ? "a daemon is running; stop it, and it puts everything back"
				   : strerror(-r));
		return EXIT_FAILURE;
	}
	printf("%u threads have their own CPUs again, %u ended, %u were changed by others, %u "
	       "failed\n",
	       n.restored, n.gone, n.foreign, n.failed);
	return n.failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int check_config(const struct nb_loaded *l, const char *path)
{
	printf("%s: good, %zu files read\n", l->file ? l->file : path, l->n_files);
	return EXIT_SUCCESS;
}

/* The machine, or its dump. missing says which rights the daemon lacks. */
static int make_platform(const struct nb_options *o, const struct nb_rights *rights,
			 struct nb_platform **ret)
{
	/* What only looks needs no record of changes, and starts no workers. */
	bool act = !o->dry_run && !o->once && !rights->missing;
	struct nb_linux_options linux_options = {
		.root = "", .state_dir = act ? o->state_dir : NULL, .act = act};

	return o->sysroot ? nb_dump_new(o->sysroot, ret) : nb_linux_new(&linux_options, ret);
}

static int once(const struct nb_options *o, const struct nb_loaded *l, const char *missing,
		struct nb_platform *p, struct nb_log *log)
{
	struct nb_once_options once_options = {
		.root = o->sysroot ? nb_dump_root(p) : "",
		.config_file = l->file,
		.missing = missing,
		.json = o->json,
		.wait = !o->sysroot,
	};
	int r = nb_once_run(&once_options, l->config, p, stdout);

	p->ops->free(p);
	if (r < 0)
		nb_log(log, LOG_ERR, "%s", strerror(-r));
	return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* Without a socket the daemon still works; only a wrong or taken path is an end. */
static int open_listener(const char *path, struct nb_listener *l, struct nb_log *log)
{
	struct nb_listener_error err = {0};
	int r = nb_listener_open(path, l, &err);

	if (r == 0)
		return 0;
	if (r == -EADDRINUSE || r == -EEXIST || r == -ENAMETOOLONG || r == -EINVAL) {
		nb_log(log, LOG_ERR, "%s", err.text);
		return r;
	}
	nb_log(log, LOG_WARNING, "no control socket, so no status: %s", err.text);
	return 0;
}

static void tell_no_platform(const struct nb_options *o, int error, struct nb_log *log)
{
	if (o->sysroot)
		nb_log(log, LOG_ERR, "%s: %s", o->sysroot, strerror(-error));
	else if (error == -EBUSY)
		nb_log(log, LOG_ERR, "%s: already running: another daemon keeps its record there",
		       o->state_dir);
	else
		nb_log(log, LOG_ERR, "this machine cannot be read, or %s not be written: %s",
		       o->state_dir, strerror(-error));
}

/* What a daemon that died had left behind was put back when the platform was made. */
static void tell_recovered(const struct nb_platform *p, struct nb_log *log)
{
	struct nb_restore_counts n;

	if (nb_linux_recovered(p, &n) == 0 && (n.restored || n.failed))
		nb_log(log, LOG_NOTICE,
		       "a daemon that died had changed the CPUs of threads: %u have their own "
		       "again, %u "
		       "failed",
		       n.restored, n.failed);
}

static int serve(const struct nb_options *o, const char *config_path, struct nb_loaded *l,
		 const char *missing, struct nb_platform *p, int listen_fd, struct nb_log *log)
{
	_cleanup_daemon_ struct nb_daemon *d = NULL;
	struct nb_daemon_options options = {
		.config_path = config_path,
		.config_must_exist = o->config != NULL,
		.dry_run = o->dry_run || o->sysroot,
		.missing = missing,
		.root = o->sysroot ? nb_dump_root(p) : "",
	};
	int r = nb_daemon_new(&options, l, p, log, &d);

	if (r == 0)
		r = nb_loop_run(d, listen_fd, log);
	else
		nb_log(log, LOG_ERR, "%s", strerror(-r));
	return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int run(const struct nb_options *o, struct nb_log *log)
{
	const char *config_path = o->config ? o->config : NB_CONFIG_DEFAULT;
	struct nb_listener listener = NB_LISTENER_NONE;
	_cleanup_loaded_ struct nb_loaded loaded = {0};
	struct nb_config_error config_error;
	struct nb_rights rights = {0};
	struct nb_platform *p;
	int r;

	if (nb_config_load_files(config_path, o->config != NULL, &loaded, &config_error) < 0) {
		nb_log(log, LOG_ERR, "%s", config_error.text);
		return EXIT_USAGE;
	}
	if (o->check_config)
		return check_config(&loaded, config_path);

	/* Before the platform: it puts back what a dead daemon left, so that none may live. */
	if (!o->once && open_listener(o->socket, &listener, log) < 0)
		return EXIT_FAILURE;
	if (!loaded.file && !o->once)
		nb_log(log, LOG_NOTICE, "%s is not there: the defaults hold", config_path);
	r = o->once ? 0 : nb_loop_block_signals();
	if (!o->sysroot)
		nb_linux_rights(&rights);
	if (r == 0)
		r = make_platform(o, &rights, &p);
	if (r < 0) {
		tell_no_platform(o, r, log);
		r = EXIT_FAILURE;
	} else if (o->once) {
		r = once(o, &loaded, rights.text, p, log);
	} else {
		if (!o->sysroot)
			tell_recovered(p, log);
		r = serve(o, config_path, &loaded, rights.text, p, listener.fd, log);
	}
	nb_listener_close(&listener);
	return r;
}

int main(int argc, char **argv)
{
	_cleanup_log_ struct nb_log *log = NULL;
	struct nb_options o;

	if (nb_options_parse(argc, argv, &o, stderr) < 0)
		return EXIT_USAGE;
	if (o.help || o.version) {
		if (o.help)
			nb_options_help(stdout);
		else
			puts("numabalanced " NB_VERSION);
		return EXIT_SUCCESS;
	}
	if (nb_log_new(NULL, NULL, &log) < 0) {
		nb_log(NULL, LOG_ERR, "%s", strerror(ENOMEM));
		return EXIT_FAILURE;
	}
	return o.restore ? restore(&o, log) : run(&o, log);
}
