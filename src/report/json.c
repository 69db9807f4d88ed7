/* SPDX-License-Identifier: MIT */
#include "report/json.h"

#include <errno.h>
#include <stdlib.h>

#include "report/writer.h"

const char *nb_mode_name(enum nb_mode m)
{
	static const char *const names[NB_MODE_COUNT] = {
		[NB_MODE_BALANCING] = "balancing",
		[NB_MODE_DRY_RUN] = "dry_run",
		[NB_MODE_OBSERVE_ONLY] = "observe_only",
		[NB_MODE_PAUSED] = "paused",
		[NB_MODE_IDLE] = "idle",
	};

	return m < NB_MODE_COUNT ? names[m] : "unknown";
}

/* --- nodes --- */

static struct json_object *node(struct nb_writer *w, const struct nb_report *r, uint32_t i)
{
	const struct nb_report_node *n = &r->nodes[i];
	struct json_object *o = json_object_new_object(), *distance = json_object_new_array();
	int len = nb_bitmap_format_list(&n->cpus, NULL, 0);
	char *cpus = len < 0 ? NULL : malloc((size_t)len + 1);

	nb_put_u64(w, o, "id", n->id);
	if (cpus) {
		nb_bitmap_format_list(&n->cpus, cpus, (size_t)len + 1);
		nb_put(w, o, "cpus", json_object_new_string(cpus));
		free(cpus);
	} else {
		w->nomem = true;
	}
	nb_put_u64(w, o, "n_cpus", n->n_cpus);
	nb_put_cpus(w, o, "capacity", n->capacity_cap);
	if (n->n_cpus && r->source != NB_SOURCE_UNKNOWN) {
		nb_put_cpus(w, o, "util", n->util_cap);
		nb_put_cpus(w, o, "runnable", n->runnable_cap);
		nb_put_u64(w, o, "nr_running", n->nr_running);
	}
	nb_put_str(w, o, "class", nb_class_name(n->class));
	if (n->mem_valid) {
		nb_put_u64(w, o, "mem_total_bytes", n->mem_total_bytes);
		nb_put_u64(w, o, "mem_free_bytes", n->mem_free_bytes);
	}
	nb_put_u64(w, o, "in_flight", n->n_in_flight);
	if (n->in_flight.pid) {
		nb_put_i64(w, o, "in_flight_pid", n->in_flight.pid);
		nb_put_u64(w, o, "in_flight_since_us", n->in_flight_since_us);
	}
	for (uint32_t k = 0; k < r->n_nodes; k++)
		nb_append(w, distance, json_object_new_int64(r->distance[i * r->n_nodes + k]));
	nb_put(w, o, "distance", distance);
	return o;
}

static struct json_object *node_list(struct nb_writer *w, const struct nb_report *r)
{
	struct json_object *array = json_object_new_array();

	for (uint32_t i = 0; i < r->n_nodes; i++)
		nb_append(w, array, node(w, r, i));
	return array;
}

int nb_json_nodes(const struct nb_report *r, struct json_object **ret)
{
	struct nb_writer w = {0};
	struct json_object *o = json_object_new_object();

	nb_put(&w, o, "nodes", node_list(&w, r));
	return nb_finish(&w, o, ret);
}

/* --- plan --- */

static struct json_object *action(struct nb_writer *w, const struct nb_action *a)
{
	struct json_object *o = json_object_new_object();
	bool cpu = a->what & NB_CPU, memory = a->what & NB_MEMORY;

	nb_put_u64(w, o, "id", a->id);
	nb_put_i64(w, o, "pid", a->key.pid);
	nb_put_u64(w, o, "start", a->key.start);
	nb_put_str(w, o, "comm", a->comm);
	nb_put_str(w, o, "what", cpu && memory ? "both" : memory ? "memory" : "cpu");
	if (a->from != NB_NO_NODE)
		nb_put_u64(w, o, "from_node", a->from);
	if (a->to != NB_NO_NODE)
		nb_put_u64(w, o, "to_node", a->to);
	nb_put_set(w, o, "cpu_nodes", &a->cpu_nodes);
	nb_put_bool(w, o, "release", a->release);
	nb_put_set(w, o, "mem_from", &a->mem_from);
	if (memory && a->mem_to != NB_NO_NODE)
		nb_put_u64(w, o, "mem_to", a->mem_to);
	nb_put_u64(w, o, "bytes", a->bytes);
	nb_put_i64(w, o, "gain_us", a->gain_us);
	nb_put_i64(w, o, "price_us", a->price_us);
	nb_put_reason(w, o, a->reason);
	if (a->exchange) {
		nb_put_u64(w, o, "exchange", a->exchange);
		nb_put_u64(w, o, "exchange_size", a->exchange_size);
	}
	nb_put_bool(w, o, "takes_slot", a->takes_slot);
	return o;
}

static struct json_object *reasons(struct nb_writer *w, const struct nb_report *r)
{
	struct json_object *array = json_object_new_array();
	uint32_t count[NB_REASON_COUNT] = {0};

	for (uint32_t i = 0; i < r->n_tasks; i++)
		if (r->tasks[i].reason < NB_REASON_COUNT)
			count[r->tasks[i].reason]++;
	count[NB_REASON_NONE] = 0;
	for (;;) {
		struct json_object *o;
		unsigned most = 0;

		for (unsigned k = 0; k < NB_REASON_COUNT; k++)
			if (count[k] > count[most])
				most = k;
		if (!count[most])
			break;
		o = json_object_new_object();
		nb_put_reason(w, o, most);
		nb_put_u64(w, o, "tasks", count[most]);
		nb_append(w, array, o);
		count[most] = 0;
	}
	return array;
}

static struct json_object *plan(struct nb_writer *w, const struct nb_report *r, bool acts)
{
	struct json_object *o = json_object_new_object(), *actions = json_object_new_array();

	for (uint32_t i = 0; i < r->n_actions; i++)
		nb_append(w, actions, action(w, &r->actions[i]));
	nb_put_u64(w, o, "at_us", r->at_us);
	nb_put_bool(w, o, "acts", acts);
	nb_put(w, o, "actions", actions);
	nb_put(w, o, "reasons", reasons(w, r));
	return o;
}

int nb_json_plan(const struct nb_report *r, bool acts, struct json_object **ret)
{
	struct nb_writer w = {0};

	return nb_finish(&w, plan(&w, r, acts), ret);
}

/* --- status --- */

static struct json_object *totals(struct nb_writer *w, const struct nb_report *r,
				  uint64_t lost_ticks)
{
	const struct nb_totals *t = &r->totals;
	struct json_object *o = json_object_new_object(), *failures = json_object_new_object(),
			   *refused = json_object_new_object();

	nb_put_u64(w, o, "samples", t->samples);
	nb_put_u64(w, o, "plans", t->plans);
	nb_put_u64(w, o, "actions", t->actions);
	nb_put_u64(w, o, "moves", t->moves);
	nb_put_u64(w, o, "swaps", t->swaps);
	nb_put_u64(w, o, "bytes_moved", t->bytes_moved);
	nb_put_u64(w, failures, "gone", t->failed_gone);
	nb_put_u64(w, failures, "rights", t->failed_rights);
	nb_put_u64(w, failures, "memory", t->failed_memory);
	nb_put_u64(w, failures, "busy", t->failed_busy);
	nb_put_u64(w, failures, "invalid", t->failed_invalid);
	nb_put_u64(w, failures, "other", t->failed_other);
	nb_put(w, o, "failures", failures);
	nb_put_u64(w, o, "cancelled", t->cancelled);
	for (unsigned i = 0; i < NB_REFUSED_COUNT; i++)
		nb_put_u64(w, refused, nb_refused_name(i), t->pages_refused[i]);
	nb_put(w, o, "pages_refused", refused);
	nb_put_u64(w, o, "rejected_rows", t->rejected_rows);
	nb_put_u64(w, o, "gone_tasks", t->gone_tasks);
	nb_put_u64(w, o, "lost_ticks", lost_ticks);
	return o;
}

static struct json_object *memory_read(struct nb_writer *w, const struct nb_report *r)
{
	struct json_object *o = json_object_new_object();
	uint64_t none = 0, numa_maps = 0, query = 0;

	for (uint32_t i = 0; i < r->n_tasks; i++) {
		switch (r->tasks[i].mem_source) {
		case NB_MEM_NONE:
			none++;
			break;
		case NB_MEM_NUMA_MAPS:
			numa_maps++;
			break;
		case NB_MEM_QUERY:
			query++;
			break;
		}
	}
	nb_put_u64(w, o, "none", none);
	nb_put_u64(w, o, "numa_maps", numa_maps);
	nb_put_u64(w, o, "query", query);
	return o;
}

static struct json_object *status(struct nb_writer *w, const struct nb_report *r,
				  const struct nb_status *s)
{
	struct json_object *o = json_object_new_object();

	nb_put_str(w, o, "mode", nb_mode_name(s->mode));
	nb_put_str(w, o, "why", s->why);
	nb_put_str(w, o, "version", s->version);
	nb_put_u64(w, o, "uptime_us", s->uptime_us);
	nb_put_u64(w, o, "at_us", r->at_us);
	nb_put_u64(w, o, "interval_us", s->interval_us);
	if (s->kernel_balancing >= 0)
		nb_put_i64(w, o, "kernel_balancing", s->kernel_balancing);
	nb_put_str(w, o, "source", nb_source_name(r->source));
	if (r->local_valid)
		nb_put_share(w, o, "local_share", r->local_share_pmy);
	nb_put(w, o, "nodes", node_list(w, r));
	nb_put_u64(w, o, "tasks", r->n_tasks);
	nb_put(w, o, "memory_read", memory_read(w, r));
	nb_put_u64(w, o, "actions", r->n_actions);
	nb_put(w, o, "reasons", reasons(w, r));
	nb_put(w, o, "totals", totals(w, r, s->lost_ticks));
	if (s->config_file)
		nb_put_str(w, o, "config_file", s->config_file);
	if (s->reload_error)
		nb_put_str(w, o, "reload_error", s->reload_error);
	return o;
}

int nb_json_status(const struct nb_report *r, const struct nb_status *s, struct json_object **ret)
{
	struct nb_writer w = {0};

	return nb_finish(&w, status(&w, r, s), ret);
}

int nb_json_all(const struct nb_report *r, const struct nb_status *s, bool all,
		struct json_object **ret)
{
	struct nb_writer w = {0};
	struct json_object *o = json_object_new_object();

	nb_put(&w, o, "status", status(&w, r, s));
	nb_put(&w, o, "tasks", nb_json_task_list(&w, r, all));
	nb_put(&w, o, "plan", plan(&w, r, false));
	return nb_finish(&w, o, ret);
}
