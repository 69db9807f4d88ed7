/* SPDX-License-Identifier: MIT */
#include "daemon/methods.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "daemon/varlink.h"
#include "report/interface.h"
#include "report/json.h"

#define SERVICE "org.varlink.service"
#define NUMABALANCE "io.numabalance"
#define ERROR_NO_TASK NUMABALANCE ".NoSuchTask"
#define ERROR_RELOAD NUMABALANCE ".ReloadFailed"
#define ERROR_NOT_READY NUMABALANCE ".NotReady"

struct arguments {
	struct nb_daemon *daemon;
	const struct nb_peer *peer;
	struct json_object *parameters; /* NULL: none */
};

/* Each answers by a whole reply, or -ENOMEM. */
typedef int (*method_call)(const struct arguments *a, struct json_object **ret);

static int invalid(const char *parameter, struct json_object **ret)
{
	return nb_reply_error_text(NB_ERROR_PARAMETER, "parameter", parameter, ret);
}

/* The parameters of a reply, or what went wrong on the way to them. */
static int finish(int r, struct json_object *parameters, struct json_object **ret)
{
	if (r == -EAGAIN)
		return nb_reply_error(ERROR_NOT_READY, NULL, ret);
	return r < 0 ? r : nb_reply_new(parameters, ret);
}

static int get_status(const struct arguments *a, struct json_object **ret)
{
	const struct nb_report *report;
	struct json_object *o = NULL;
	struct nb_status status;
	int r = nb_daemon_report(a->daemon, &report);

	if (r == 0) {
		nb_daemon_status(a->daemon, &status);
		r = nb_json_status(report, &status, &o);
	}
	return finish(r, o, ret);
}

static int get_nodes(const struct arguments *a, struct json_object **ret)
{
	const struct nb_report *report;
	struct json_object *o = NULL;
	int r = nb_daemon_report(a->daemon, &report);

	if (r == 0)
		r = nb_json_nodes(report, &o);
	return finish(r, o, ret);
}

static int list_tasks(const struct arguments *a, struct json_object **ret)
{
	const struct nb_report *report;
	struct json_object *o = NULL, *all = NULL;
	int r;

	if (json_object_object_get_ex(a->parameters, "all", &all) && all &&
	    !json_object_is_type(all, json_type_boolean))
		return invalid("all", ret);
	r = nb_daemon_report(a->daemon, &report);
	if (r == 0)
		r = nb_json_tasks(report, json_object_get_boolean(all), &o);
	return finish(r, o, ret);
}

static int get_task(const struct arguments *a, struct json_object **ret)
{
	const struct nb_report *report;
	struct json_object *o = NULL, *pid;
	int64_t n;
	int r;

	if (!json_object_object_get_ex(a->parameters, "pid", &pid) ||
	    !json_object_is_type(pid, json_type_int))
		return invalid("pid", ret);
	n = json_object_get_int64(pid);
	if (n <= 0 || n > INT_MAX)
		return invalid("pid", ret);
	r = nb_daemon_report(a->daemon, &report);
	if (r == 0)
		r = nb_json_task(report, (int32_t)n, &o);
	if (r == -ESRCH) {
		o = json_object_new_object();
		if (!o || json_object_object_add(o, "pid", json_object_get(pid)) < 0) {
			json_object_put(o);
			return -ENOMEM;
		}
		return nb_reply_error(ERROR_NO_TASK, o, ret);
	}
	return finish(r, o, ret);
}

static int get_plan(const struct arguments *a, struct json_object **ret)
{
	const struct nb_report *report;
	struct json_object *o = NULL;
	struct nb_status status;
	int r = nb_daemon_report(a->daemon, &report);

	if (r == 0) {
		nb_daemon_status(a->daemon, &status);
		r = nb_json_plan(report, status.mode == NB_MODE_BALANCING, &o);
	}
	return finish(r, o, ret);
}

static int reload(const struct arguments *a, struct json_object **ret)
{
	struct nb_config_error err;

	if (nb_daemon_reload(a->daemon, &err) < 0)
		return nb_reply_error_text(ERROR_RELOAD, "message", err.text, ret);
	return nb_reply_new(NULL, ret);
}

static int pause_(const struct arguments *a, struct json_object **ret)
{
	nb_daemon_pause(a->daemon, true, a->peer->uid);
	return nb_reply_new(NULL, ret);
}

static int resume(const struct arguments *a, struct json_object **ret)
{
	nb_daemon_pause(a->daemon, false, a->peer->uid);
	return nb_reply_new(NULL, ret);
}

static int get_info(const struct arguments *a, struct json_object **ret)
{
	struct json_object *o = json_object_new_object(), *list = json_object_new_array();

	(void)a;
	if (!o || !list || json_object_array_add(list, json_object_new_string(SERVICE)) < 0 ||
	    json_object_array_add(list, json_object_new_string(NUMABALANCE)) < 0 ||
	    json_object_object_add(o, "vendor", json_object_new_string("numabalanced")) < 0 ||
	    json_object_object_add(o, "product", json_object_new_string("numabalanced")) < 0 ||
	    json_object_object_add(o, "version", json_object_new_string(NB_VERSION)) < 0 ||
	    json_object_object_add(o, "url", json_object_new_string("")) < 0 ||
	    json_object_object_add(o, "interfaces", json_object_get(list)) < 0) {
		json_object_put(o);
		json_object_put(list);
		return -ENOMEM;
	}
	json_object_put(list);
	return nb_reply_new(o, ret);
}

static int get_interface_description(const struct arguments *a, struct json_object **ret)
{
	struct json_object *name, *o;
	const char *text;

	if (!json_object_object_get_ex(a->parameters, "interface", &name) ||
	    !json_object_is_type(name, json_type_string))
		return invalid("interface", ret);
	if (strcmp(json_object_get_string(name), NUMABALANCE) == 0)
		text = nb_interface_numabalance;
	else if (strcmp(json_object_get_string(name), SERVICE) == 0)
		text = nb_interface_service;
	else
		return nb_reply_error_text(NB_ERROR_INTERFACE, "interface",
					   json_object_get_string(name), ret);
	o = json_object_new_object();
	if (!o || json_object_object_add(o, "description", json_object_new_string(text)) < 0) {
		json_object_put(o);
		return -ENOMEM;
	}
	return nb_reply_new(o, ret);
}

static const struct {
	const char *name;
	method_call call;
	bool changes;
	const char *parameter; /* the one that it may have */
} methods[] = {
	{NUMABALANCE ".GetStatus", get_status, false, NULL},
	{NUMABALANCE ".GetNodes", get_nodes, false, NULL},
	{NUMABALANCE ".ListTasks", list_tasks, false, "all"},
	{NUMABALANCE ".GetTask", get_task, false, "pid"},
	{NUMABALANCE ".GetPlan", get_plan, false, NULL},
	{NUMABALANCE ".Reload", reload, true, NULL},
	{NUMABALANCE ".Pause", pause_, true, NULL},
	{NUMABALANCE ".Resume", resume, true, NULL},
	{SERVICE ".GetInfo", get_info, false, NULL},
	{SERVICE ".GetInterfaceDescription", get_interface_description, false, "interface"},
};

static bool may_change(const struct arguments *a)
{
	return nb_daemon_may_change(a->daemon, a->peer->uid, &a->peer->gid, 1) ||
	       nb_daemon_may_change(a->daemon, a->peer->uid, a->peer->groups, a->peer->n_groups);
}

/* A method of an interface that is not here is another error than an unknown
 * method of one that is. */
static int unknown(const char *method, struct json_object **ret)
{
	const char *dot = strrchr(method, '.');
	size_t len = dot ? (size_t)(dot - method) : 0;
	char interface[256];

	if ((len == strlen(NUMABALANCE) && strncmp(method, NUMABALANCE, len) == 0) ||
	    (len == strlen(SERVICE) && strncmp(method, SERVICE, len) == 0))
		return nb_reply_error_text(NB_ERROR_METHOD, "method", method, ret);
	if (len >= sizeof(interface))
		return invalid("method", ret);
	memcpy(interface, method, len);
	interface[len] = '\0';
	return nb_reply_error_text(NB_ERROR_INTERFACE, "interface", interface, ret);
}

static int dispatch(const char *method, const struct arguments *a, struct json_object **ret)
{
	for (size_t i = 0; i < sizeof(methods) / sizeof(*methods); i++) {
		if (strcmp(method, methods[i].name) != 0)
			continue;
		if (methods[i].changes && !may_change(a))
			return nb_reply_error(NB_ERROR_PERMISSION, NULL, ret);
		if (a->parameters) {
			json_object_object_foreach(a->parameters, key, value)
			{
				(void)value;
				if (!methods[i].parameter || strcmp(key, methods[i].parameter) != 0)
					return invalid(key, ret);
			}
		}
		return methods[i].call(a, ret);
	}
	return unknown(method, ret);
}

int nb_methods_call(void *user, const struct nb_peer *peer, const char *text, size_t len,
		    struct json_object **ret)
{
	_cleanup_call_ struct nb_call call = {0};
	struct json_object *reply = NULL;
	int r = nb_call_parse(text, len, &call);

	if (r < 0)
		return r;
	r = dispatch(
		call.method,
		&(struct arguments){.daemon = user, .peer = peer, .parameters = call.parameters},
		&reply);
	if (r < 0)
		return r;
	if (call.oneway) {
		json_object_put(reply);
		return 0;
	}
	*ret = reply;
	return 1;
}
