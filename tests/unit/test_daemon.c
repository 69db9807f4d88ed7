/* SPDX-License-Identifier: MIT */
/* The daemon without its loop, on a machine of cards: ticks, outcomes, dry run,
 * pause, reload, and the methods of the socket. */
#include "cards.h"
#include "daemon/methods.h"
#include "daemon/movelog.h"
#include "daemon/null.h"
#include "report/field.h"
#include "test.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

struct lines {
	char text[64][1024];
	char pid[64][32];
	unsigned n;
};

static void keep(void *user, int priority, const char *message, const struct nb_log_field *fields,
		 size_t n_fields)
{
	struct lines *l = user;

	(void)priority;
	if (l->n == 64)
		return;
	snprintf(l->text[l->n], sizeof(l->text[0]), "%s", message);
	l->pid[l->n][0] = '\0';
	for (size_t i = 0; i < n_fields; i++)
		if (strcmp(fields[i].name, "NUMABALANCED_PID") == 0)
			snprintf(l->pid[l->n], sizeof(l->pid[0]), "%s", fields[i].value);
	l->n++;
}

static unsigned count(const struct lines *l, const char *what)
{
	unsigned n = 0;

	for (unsigned i = 0; i < l->n; i++)
		n += strstr(l->text[i], what) != NULL;
	return n;
}

struct bench {
	struct cards *cards;
	struct nb_daemon *daemon;
	struct nb_log *log;
	struct lines lines;
	char config[64];
	bool freed;
};

static void write_config(struct bench *b, const char *text)
{
	FILE *f = fopen(b->config, "w");

	if (!f)
		abort();
	fputs(text, f);
	fclose(f);
}

static void bench_start(struct bench *b, const char *config, bool dry_run, const char *missing)
{
	struct nb_daemon_options o = {.config_must_exist = true,
				      .dry_run = dry_run,
				      .missing = missing,
				      .root = "/nonexistent"};
	struct nb_config_error err;
	struct nb_loaded loaded;

	memset(b, 0, sizeof(*b));
	strcpy(b->config, "/tmp/nb-test-XXXXXX");
	close(mkstemp(b->config));
	write_config(b, config);
	o.config_path = b->config;
	b->cards = cards_new();
	b->cards->freed = &b->freed;
	nb_log_new(keep, &b->lines, &b->log);
	if (nb_config_load_files(b->config, true, &loaded, &err) < 0 ||
	    nb_daemon_new(&o, &loaded, &b->cards->base, b->log, &b->daemon) < 0)
		abort();
}

static void bench_stop(struct bench *b)
{
	nb_daemon_free(b->daemon);
	CHECK(b->freed);
	nb_log_free(b->log);
	unlink(b->config);
}

static struct nb_status status_of(const struct bench *b)
{
	struct nb_status s;

	nb_daemon_status(b->daemon, &s);
	return s;
}

TEST(daemon_plans_and_acts)
{
	const struct nb_report *r;
	struct bench b;

	bench_start(&b, "", false, NULL);
	CHECK_INT(nb_daemon_report(b.daemon, &r), -EAGAIN);
	CHECK_INT(nb_daemon_tick(b.daemon), 0);
	CHECK_INT(b.cards->n_started, 0); /* one sample says nothing of rates */
	CHECK_INT(nb_daemon_tick(b.daemon), 0);
	CHECK_INT(b.cards->n_started, 4);
	CHECK_INT(status_of(&b).mode, NB_MODE_BALANCING);
	b.cards->end_at_once = true;
	nb_daemon_outcomes(b.daemon);
	CHECK_INT(b.cards->n_started, 4);
	CHECK_INT(nb_daemon_report(b.daemon, &r), 0);
	CHECK_INT(r->totals.swaps, 2);
	CHECK_INT(count(&b.lines, "moved 1"), 4);
	CHECK_INT(count(&b.lines, "\x1b"), 0);
	CHECK_INT(
		count(&b.lines, "moved 100 \"task\\x1b0\" from node 0 to node 1: CPUs only, gain "),
		1);
	CHECK_INT(count(&b.lines, "swap"), 4);
	nb_daemon_tick(b.daemon);
	CHECK_INT(b.cards->n_started, 4);
	bench_stop(&b);
}

/* An outcome makes room: the next action starts at once, on the same snapshot. */
TEST(daemon_plans_again_on_an_outcome)
{
	struct bench b;
	uint64_t at_us;

	bench_start(&b, "[policy]\nswap = no\n", false, NULL);
	b.cards->n_processes = 2;
	b.cards->cpu_node[0] = b.cards->cpu_node[1] = 0;
	b.cards->mem_node[0] = b.cards->mem_node[1] = 1;
	nb_daemon_tick(b.daemon);
	nb_daemon_tick(b.daemon);
	CHECK_INT(b.cards->n_started, 1); /* one at a time for a node */
	at_us = b.cards->at_us;
	b.cards->end_at_once = true;
	nb_daemon_outcomes(b.daemon);
	CHECK_INT(b.cards->n_started, 2);
	CHECK_INT(b.cards->at_us, at_us);
	bench_stop(&b);
}

TEST(daemon_dry_run_says_it_once)
{
	const struct nb_report *r;
	struct bench b;

	bench_start(&b, "", true, NULL);
	for (unsigned i = 0; i < 20; i++)
		CHECK_INT(nb_daemon_tick(b.daemon), 0);
	CHECK_INT(b.cards->n_started, 0);
	CHECK_INT(status_of(&b).mode, NB_MODE_DRY_RUN);
	CHECK_INT(count(&b.lines, "would move"), 4);
	CHECK_INT(count(&b.lines, "moved"), 1); /* "nothing is moved" */
	CHECK_INT(nb_daemon_report(b.daemon, &r), 0);
	CHECK_INT(r->n_actions, 4); /* still to be seen in the status */
	CHECK_INT(r->totals.moves + r->totals.swaps + r->totals.bytes_moved, 0);
	CHECK(r->totals.cancelled >= 4);
	bench_stop(&b);
}

/* The configuration decides anew at each reload. */
TEST(daemon_dry_run_by_reload)
{
	struct nb_config_error err;
	struct bench b;

	bench_start(&b, "[daemon]\ndry_run = yes\n", false, NULL);
	nb_daemon_tick(b.daemon);
	nb_daemon_tick(b.daemon);
	CHECK_INT(b.cards->n_started, 0);
	write_config(&b, "");
	CHECK_INT(nb_daemon_reload(b.daemon, &err), 0);
	CHECK_INT(status_of(&b).mode, NB_MODE_BALANCING);
	CHECK_INT(b.cards->n_started, 4);
	write_config(&b, "[daemon]\ndry_run = yes\n");
	CHECK_INT(nb_daemon_reload(b.daemon, &err), 0);
	/* What was on its way is still answered. */
	b.cards->end_at_once = true;
	nb_daemon_outcomes(b.daemon);
	CHECK_INT(count(&b.lines, "moved 1"), 4);
	bench_stop(&b);
}

/* F11: a bad file changes nothing but the status. */
TEST(daemon_f11_reload_fails)
{
	struct nb_config_error err;
	struct bench b;

	bench_start(&b, "[daemon]\ninterval = 2s\n", true, NULL);
	nb_daemon_tick(b.daemon);
	CHECK(!status_of(&b).reload_error);
	write_config(&b, "[daemon]\ninterval = 3s\nfrob = 1\n");
	CHECK_INT(nb_daemon_reload(b.daemon, &err), -EINVAL);
	CHECK(strstr(err.text, ":3:") && strstr(err.text, "frob"));
	CHECK_INT(nb_daemon_interval_us(b.daemon), 2000000);
	CHECK_STR(status_of(&b).reload_error, err.text);
	CHECK_INT(count(&b.lines, "reload failed"), 1);
	unlink(b.config);
	CHECK_INT(nb_daemon_reload(b.daemon, &err), -ENOENT);
	CHECK_INT(nb_daemon_interval_us(b.daemon), 2000000);
	write_config(&b, "[daemon]\ninterval = 3s\n");
	CHECK_INT(nb_daemon_reload(b.daemon, &err), 0);
	CHECK_INT(nb_daemon_interval_us(b.daemon), 3000000);
	CHECK(!status_of(&b).reload_error);
	bench_stop(&b);
}

TEST(daemon_f14_one_node_is_idle)
{
	struct bench b;

	bench_start(&b, "", false, NULL);
	b.cards->n_nodes = 1;
	for (uint32_t i = 0; i < 4; i++)
		b.cards->cpu_node[i] = b.cards->mem_node[i] = 0;
	for (unsigned i = 0; i < 5; i++)
		nb_daemon_tick(b.daemon);
	CHECK_INT(status_of(&b).mode, NB_MODE_IDLE);
	CHECK_INT(count(&b.lines, "one node"), 1);
	CHECK(nb_daemon_interval_us(b.daemon) > 10000000);
	/* A second node appears. */
	b.cards->n_nodes = 2;
	nb_daemon_tick(b.daemon);
	CHECK_INT(status_of(&b).mode, NB_MODE_BALANCING);
	CHECK_INT(nb_daemon_interval_us(b.daemon), 1000000);
	bench_stop(&b);
}

TEST(daemon_c01_no_rights_observes)
{
	struct nb_config_error err;
	struct bench b;

	bench_start(&b, "", false, "CAP_SYS_NICE is missing");
	for (unsigned i = 0; i < 5; i++)
		nb_daemon_tick(b.daemon);
	CHECK_INT(b.cards->n_started, 0);
	CHECK_INT(status_of(&b).mode, NB_MODE_OBSERVE_ONLY);
	CHECK_STR(status_of(&b).why, "CAP_SYS_NICE is missing");
	CHECK_INT(count(&b.lines, "CAP_SYS_NICE"), 1);
	/* A dry run needs no rights. */
	write_config(&b, "[daemon]\ndry_run = yes\n");
	CHECK_INT(nb_daemon_reload(b.daemon, &err), 0);
	CHECK_INT(status_of(&b).mode, NB_MODE_DRY_RUN);
	CHECK_INT(count(&b.lines, "would move"), 4);
	bench_stop(&b);
}

TEST(daemon_pause_and_resume)
{
	struct bench b;

	bench_start(&b, "", false, NULL);
	nb_daemon_pause(b.daemon, true, 0);
	nb_daemon_tick(b.daemon);
	nb_daemon_tick(b.daemon);
	CHECK_INT(b.cards->n_started, 0);
	CHECK_INT(status_of(&b).mode, NB_MODE_PAUSED);
	nb_daemon_pause(b.daemon, false, 0);
	CHECK_INT(b.cards->n_started, 4); /* at once */
	bench_stop(&b);
}

/* A failed sample costs a tick; what was known stays, and one line says it. */
TEST(daemon_lost_ticks)
{
	const struct nb_report *r;
	struct bench b;

	bench_start(&b, "", true, NULL);
	nb_daemon_tick(b.daemon);
	nb_daemon_tick(b.daemon);
	b.cards->sample_error = -ENOMEM;
	for (unsigned i = 0; i < 5; i++)
		CHECK_INT(nb_daemon_tick(b.daemon), -ENOMEM);
	CHECK_INT(status_of(&b).lost_ticks, 5);
	CHECK_INT(count(&b.lines, "tick lost"), 1);
	CHECK_INT(nb_daemon_report(b.daemon, &r), 0);
	CHECK_INT(r->n_tasks, 4);
	b.cards->sample_error = 0;
	CHECK_INT(nb_daemon_tick(b.daemon), 0);
	bench_stop(&b);
}

/* F15: refused at once, again and again: a back-off in the model, one line in the log. */
TEST(daemon_f15_refused_actions)
{
	const struct nb_report *r;
	struct bench b;

	bench_start(&b, "", false, NULL);
	b.cards->start_error = -EPERM;
	for (unsigned i = 0; i < 60; i++)
		CHECK_INT(nb_daemon_tick(b.daemon), 0);
	CHECK_INT(nb_daemon_report(b.daemon, &r), 0);
	CHECK(r->totals.failed_rights >= 4 && r->totals.failed_rights < 60);
	CHECK_INT(count(&b.lines, "could not move"), 1);
	bench_stop(&b);
}

/* A full queue is no failure: the same is planned by the next tick. */
TEST(daemon_full_queue)
{
	const struct nb_report *r;
	struct bench b;

	bench_start(&b, "", false, NULL);
	b.cards->start_error = -EAGAIN;
	for (unsigned i = 0; i < 5; i++)
		nb_daemon_tick(b.daemon);
	CHECK_INT(nb_daemon_report(b.daemon, &r), 0);
	CHECK_INT(r->totals.actions, 0);
	b.cards->start_error = 0;
	nb_daemon_tick(b.daemon);
	CHECK_INT(b.cards->n_started, 4);
	bench_stop(&b);
}

/* Tasks that ended meanwhile are counted, and no line is lost on them. */
TEST(daemon_gone_tasks_are_counted)
{
	const struct nb_report *r;
	struct bench b;

	bench_start(&b, "", false, NULL);
	b.cards->end_at_once = true;
	b.cards->end_error = ESRCH;
	nb_daemon_tick(b.daemon);
	nb_daemon_tick(b.daemon);
	CHECK_INT(nb_daemon_report(b.daemon, &r), 0);
	CHECK(r->totals.failed_gone >= 4);
	CHECK_INT(count(&b.lines, "move 1") + count(&b.lines, "ESRCH"), 0);
	bench_stop(&b);
}

TEST(daemon_stop_restores)
{
	struct bench b;

	bench_start(&b, "", false, NULL);
	nb_daemon_tick(b.daemon);
	CHECK_INT(nb_daemon_stop(b.daemon), 0);
	CHECK_INT(b.cards->n_restored, 1);
	nb_daemon_tick(b.daemon);
	nb_daemon_tick(b.daemon);
	CHECK_INT(b.cards->n_started, 0);
	bench_stop(&b);
	bench_start(&b, "[daemon]\nrestore_on_exit = no\n", false, NULL);
	CHECK_INT(nb_daemon_stop(b.daemon), 0);
	CHECK_INT(b.cards->n_restored, 0);
	bench_stop(&b);
}

/* --- methods --- */

static const struct nb_peer root = {.uid = 0}, nobody = {.uid = 65534, .gid = 65534};

/* The reply's text, or "" if there is none. */
static const char *call(struct bench *b, const struct nb_peer *peer, const char *text)
{
	static char buf[65536];
	struct json_object *reply;

	buf[0] = '\0';
	if (nb_methods_call(b->daemon, peer, text, strlen(text), &reply) == 1) {
		snprintf(buf, sizeof(buf), "%s",
			 json_object_to_json_string_ext(reply, JSON_C_TO_STRING_PLAIN));
		json_object_put(reply);
	}
	return buf;
}

#define CALL(method) "{\"method\":\"" method "\"}"
#define CALL_WITH(method, parameters) "{\"method\":\"" method "\",\"parameters\":" parameters "}"
#define EMPTY "{\"parameters\":{}}"

TEST(methods_read)
{
	struct bench b;

	bench_start(&b, "", true, NULL);
	CHECK_STR(call(&b, &nobody, CALL("io.numabalance.GetStatus")),
		  "{\"error\":\"io.numabalance.NotReady\",\"parameters\":{}}");
	nb_daemon_tick(b.daemon);
	nb_daemon_tick(b.daemon);
	CHECK(strstr(call(&b, &nobody, CALL("io.numabalance.GetStatus")), "\"mode\":\"dry_run\""));
	CHECK(strstr(call(&b, &nobody, CALL("io.numabalance.GetNodes")), "\"distance\":["));
	CHECK(strstr(call(&b, &nobody, CALL("io.numabalance.ListTasks")), "\"pid\":103"));
	CHECK(strstr(call(&b, &nobody, CALL_WITH("io.numabalance.ListTasks", "{\"all\":null}")),
		     "\"pid\":103"));
	CHECK(strstr(call(&b, &nobody, CALL_WITH("io.numabalance.GetTask", "{\"pid\":101}")),
		     "\"reason\":\"swap\""));
	CHECK(strstr(call(&b, &nobody, CALL("io.numabalance.GetPlan")), "\"acts\":false"));
	bench_stop(&b);
}

TEST(methods_typed_errors)
{
	static const char invalid_pid[] = "{\"error\":\"org.varlink.service.InvalidParameter\","
					  "\"parameters\":{\"parameter\":\"pid\"}}";
	struct bench b;

	bench_start(&b, "", true, NULL);
	nb_daemon_tick(b.daemon);
	CHECK_STR(call(&b, &root, CALL_WITH("io.numabalance.GetTask", "{\"pid\":4}")),
		  "{\"error\":\"io.numabalance.NoSuchTask\",\"parameters\":{\"pid\":4}}");
	CHECK_STR(call(&b, &root, CALL("io.numabalance.GetTask")), invalid_pid);
	CHECK_STR(call(&b, &root, CALL_WITH("io.numabalance.GetTask", "{\"pid\":\"1\"}")),
		  invalid_pid);
	CHECK_STR(call(&b, &root, CALL_WITH("io.numabalance.GetTask", "{\"pid\":4294967397}")),
		  invalid_pid);
	CHECK_STR(call(&b, &root, CALL_WITH("io.numabalance.GetTask", "{\"pid\":-1}")),
		  invalid_pid);
	CHECK(strstr(call(&b, &root, CALL_WITH("io.numabalance.GetStatus", "{\"x\":1}")),
		     "InvalidParameter\",\"parameters\":{\"parameter\":\"x\"}"));
	CHECK(strstr(call(&b, &root, CALL_WITH("io.numabalance.ListTasks", "{\"all\":1}")),
		     "InvalidParameter"));
	CHECK_STR(call(&b, &root, CALL("io.numabalance.Frob")),
		  "{\"error\":\"org.varlink.service.MethodNotFound\",\"parameters\":{\"method\":"
		  "\"io.numabalance.Frob\"}}");
	CHECK_STR(call(&b, &root, CALL("io.other.Frob")),
		  "{\"error\":\"org.varlink.service.InterfaceNotFound\",\"parameters\":{"
		  "\"interface\":\"io.other\"}}");
	CHECK(strstr(call(&b, &root, CALL("x")), "InterfaceNotFound"));
	bench_stop(&b);
}

/* F02: everybody reads; only root and the members of the group change. */
TEST(methods_f02_who_may_change)
{
	static const char *const calls[] = {CALL("io.numabalance.Pause"),
					    CALL("io.numabalance.Resume"),
					    CALL("io.numabalance.Reload")};
	gid_t groups[] = {7, 0};
	struct nb_peer first = {.uid = 5, .gid = 0},
		       other = {.uid = 5, .gid = 9, .groups = groups, .n_groups = 2};
	struct bench b;

	bench_start(&b, "[daemon]\nsocket_group = root\n", true, NULL);
	nb_daemon_tick(b.daemon);
	for (size_t i = 0; i < 3; i++) {
		CHECK_STR(call(&b, &nobody, calls[i]),
			  "{\"error\":\"org.varlink.service.PermissionDenied\",\"parameters\":{}}");
		CHECK_STR(call(&b, &root, calls[i]), EMPTY);
		CHECK_STR(call(&b, &first, calls[i]), EMPTY);
		CHECK_STR(call(&b, &other, calls[i]), EMPTY);
	}
	/* Without a group not even its own gid 0 helps. */
	write_config(&b, "");
	CHECK_STR(call(&b, &root, CALL("io.numabalance.Reload")), EMPTY);
	CHECK(strstr(call(&b, &other, CALL("io.numabalance.Pause")), "PermissionDenied"));
	write_config(&b, "[bad");
	CHECK(strstr(call(&b, &root, CALL("io.numabalance.Reload")),
		     "io.numabalance.ReloadFailed"));
	bench_stop(&b);
}

TEST(methods_of_the_service)
{
	struct bench b;

	bench_start(&b, "", true, NULL);
	CHECK(strstr(call(&b, &nobody, CALL("org.varlink.service.GetInfo")),
		     "\"io.numabalance\"]"));
	CHECK(strstr(call(&b, &nobody,
			  CALL_WITH("org.varlink.service.GetInterfaceDescription",
				    "{\"interface\":\"io.numabalance\"}")),
		     "method GetTask(pid: int)"));
	CHECK(strstr(call(&b, &nobody,
			  CALL_WITH("org.varlink.service.GetInterfaceDescription",
				    "{\"interface\":\"org.varlink.service\"}")),
		     "method GetInfo()"));
	CHECK(strstr(call(&b, &nobody,
			  CALL_WITH("org.varlink.service.GetInterfaceDescription",
				    "{\"interface\":\"x.y\"}")),
		     "InterfaceNotFound"));
	CHECK_STR(call(&b, &root, "{\"method\":\"io.numabalance.Pause\",\"oneway\":true}"), "");
	nb_daemon_tick(b.daemon);
	CHECK_INT(status_of(&b).mode, NB_MODE_PAUSED);
	bench_stop(&b);
}

/* --- the log --- */

TEST(log_says_it_once_an_hour)
{
	struct lines l = {.n = 0};
	struct nb_log *log;

	nb_log_new(keep, &l, &log);
	for (uint64_t t = 0; t < 7300; t += 10)
		nb_log_limited(log, "x", t * 1000000, LOG_WARNING, "bad %d", 7);
	CHECK_INT(l.n, 3);
	CHECK_STR(l.text[0], "bad 7");
	CHECK_STR(l.text[1], "bad 7 (and 359 times before)");
	nb_log_limited(log, "y", 7300000000, LOG_WARNING, "other");
	CHECK_INT(l.n, 4);
	nb_log_rearm(log, "x");
	nb_log_limited(log, "x", 7300000001, LOG_WARNING, "bad 8");
	CHECK_INT(l.n, 5);
	nb_log_free(log);
}

/* Cancelled again and again: once, until it was away for a minute or is another. */
TEST(movelog_cancelled_moves)
{
	struct nb_node nodes[2] = {{.id = 3}, {.id = 9}};
	struct nb_snapshot s = {.n_nodes = 2, .nodes = nodes};
	struct nb_action a = {.key = {5, 1},
			      .comm = "x",
			      .what = NB_MEMORY,
			      .from = 1, /* its threads run where its pages go */
			      .to = 1,
			      .bytes = 3 * MiB,
			      .gain_us = 2000000,
			      .reason = NB_REASON_MEMORY_TO_CPU};
	struct lines l = {.n = 0};
	struct nb_movelog *m;
	struct nb_log *log;

	nb_bitmap_set(&a.mem_from, 0);
	nb_log_new(keep, &l, &log);
	nb_movelog_new(log, &m);
	for (unsigned i = 0; i < 300; i++) {
		struct nb_outcome o = {
			.action = ++a.id, .key = a.key, .what = a.what, .error = ECANCELED};

		if (i == 200)
			a.to = 0;
		nb_movelog_started(m, &s, &a);
		nb_movelog_ended(m, &o, i * UINT64_C(1000000), "would move");
	}
	CHECK_INT(l.n, 2);
	CHECK_STR(l.text[0],
		  "would move 5 \"x\" from node 3 to node 9: 3.0M, gain 2.00 s, memory_to_cpu: "
		  "its memory goes to the node of its threads");
	CHECK_STR(l.pid[0], "5");
	nb_movelog_started(m, &s, &a);
	nb_movelog_ended(m, &(struct nb_outcome){.action = a.id, .key = a.key, .error = ECANCELED},
			 UINT64_C(400000000), "would move");
	CHECK_INT(l.n, 3);
	nb_action_done(&a);
	nb_movelog_free(m);
	nb_log_free(log);
}

TEST(null_answers_in_order)
{
	struct cards *cards = cards_new();
	struct nb_snapshot s = {.at_us = 77};
	struct nb_platform *p;
	struct nb_outcome o;

	REQUIRE(nb_null_new(&cards->base, &p) == 0);
	for (unsigned round = 0; round < 3; round++) {
		for (uint64_t i = 1; i <= 100; i++)
			CHECK_INT(p->ops->start(p, NULL, &s, &(struct nb_action){.id = i}), 0);
		for (uint64_t i = 1; i <= 100; i++) {
			CHECK_INT(p->ops->next_outcome(p, &o), 1);
			CHECK_INT(o.action, i);
			CHECK_INT(o.error, ECANCELED);
			CHECK_INT(o.ended_us, 77);
		}
		CHECK_INT(p->ops->next_outcome(p, &o), 0);
	}
	CHECK_INT(cards->n_started, 0);
	p->ops->free(p);
}
