/* SPDX-License-Identifier: MIT */
#include "report/json.h"

#include <errno.h>

#include "report/writer.h"

/* Busy enough that people ask why it is left alone: a tenth of a CPU. */
static bool busy(const struct nb_report_task *t)
{
	return t->rates_valid && t->runnable_cap >= NB_CPU_CAP / 10;
}

/* Something to say of it beyond that it is small. */
static bool notable(const struct nb_report_task *t)
{
	if (t->n_moves || t->last_action_us)
		return true;
	switch (t->reason) {
	case NB_REASON_CPU_TO_MEMORY:
	case NB_REASON_MEMORY_TO_CPU:
	case NB_REASON_BOTH_TO_THIRD:
	case NB_REASON_SWAP:
	case NB_REASON_ROTATE:
	case NB_REASON_RELIEVE:
	case NB_REASON_GROUP_NODES:
	case NB_REASON_SPREAD:
	case NB_REASON_LOCAL:
	case NB_REASON_SMALL_GAIN:
	case NB_REASON_WIDE:
	case NB_REASON_OBSERVED:
	case NB_REASON_IN_FLIGHT:
	case NB_REASON_SLOT_TAKEN:
	case NB_REASON_BUSIER_NODE:
	case NB_REASON_NO_CPU_ROOM:
	case NB_REASON_NO_MEMORY_ROOM:
	case NB_REASON_COOLDOWN:
	case NB_REASON_BACKOFF:
	case NB_REASON_SETTLING:
		return true;
	case NB_REASON_NONE:
	case NB_REASON_ONE_NODE:
	case NB_REASON_NO_MEMORY_INFO:
	case NB_REASON_DENIED:
	case NB_REASON_NO_AFFINITY:
	case NB_REASON_REALTIME:
	case NB_REASON_PINNED:
	case NB_REASON_BOUND:
	case NB_REASON_INTERLEAVED:
	case NB_REASON_ONE_NODE_ALLOWED:
	case NB_REASON_SERVICE:
	case NB_REASON_EXCLUDED:
	case NB_REASON_IGNORED:
	case NB_REASON_SMALL_MEMORY:
	case NB_REASON_PAUSED:
	case NB_REASON_NO_RIGHTS:
		return busy(t);
	case NB_REASON_IDLE:
	case NB_REASON_NEW:
	case NB_REASON_KERNEL_THREAD:
	case NB_REASON_EXITING:
	case NB_REASON_SELF:
	case NB_REASON_COUNT:
		return false;
	}
	return false;
}

static const char *mem_source_name(enum nb_mem_source s)
{
	switch (s) {
	case NB_MEM_NONE:
		return "none";
	case NB_MEM_NUMA_MAPS:
		return "numa_maps";
	case NB_MEM_QUERY:
		return "query";
	}
	return "none";
}

static struct json_object *last_action(struct nb_writer *w, const struct nb_report *r,
				       const struct nb_report_task *t)
{
	struct json_object *o = json_object_new_object();

	nb_put_u64(w, o, "at_us", t->last_action_us);
	nb_put_u64(w, o, "ago_us", r->at_us > t->last_action_us ? r->at_us - t->last_action_us : 0);
	nb_put_reason(w, o, t->last_reason);
	if (t->last_from_id != NB_NO_NODE)
		nb_put_u64(w, o, "from_node", t->last_from_id);
	if (t->last_to_id != NB_NO_NODE)
		nb_put_u64(w, o, "to_node", t->last_to_id);
	nb_put_u64(w, o, "bytes", t->last_bytes);
	if (t->last_error)
		nb_put_errno(w, o, "error", t->last_error);
	return o;
}

static struct json_object *task(struct nb_writer *w, const struct nb_report *r,
				const struct nb_report_task *t)
{
	struct json_object *o = json_object_new_object(), *nodes = json_object_new_array();

	nb_put_i64(w, o, "pid", t->key.pid);
	nb_put_u64(w, o, "start", t->key.start);
	nb_put_str(w, o, "comm", t->comm);
	nb_put_u64(w, o, "uid", t->uid);
	nb_put_u64(w, o, "threads", t->n_threads);
	if (t->rates_valid) {
		nb_put_cpus(w, o, "util", t->util_cap);
		nb_put_cpus(w, o, "runnable", t->runnable_cap);
	}
	if (t->local_valid)
		nb_put_share(w, o, "local_share", t->local_share_pmy);
	nb_put_str(w, o, "mem_source", mem_source_name(t->mem_source));
	nb_put_u64(w, o, "rss_bytes", t->rss_bytes);
	nb_put_u64(w, o, "placed_bytes", t->total_bytes);
	for (uint32_t i = 0; i < r->n_nodes; i++) {
		struct json_object *n;

		if (!t->node_bytes[i] && !t->node_cpu_pmy[i])
			continue;
		n = json_object_new_object();
		nb_put_u64(w, n, "id", r->nodes[i].id);
		nb_put_u64(w, n, "bytes", t->node_bytes[i]);
		nb_put_share(w, n, "cpu_share", t->node_cpu_pmy[i]);
		nb_append(w, nodes, n);
	}
	nb_put(w, o, "nodes", nodes);
	if (t->reason != NB_REASON_NONE)
		nb_put_reason(w, o, t->reason);
	if (t->best_node_id != NB_NO_NODE)
		nb_put_u64(w, o, "best_node", t->best_node_id);
	nb_put_i64(w, o, "cost_us", t->cost_us);
	nb_put_i64(w, o, "gain_us", t->gain_us);
	nb_put_i64(w, o, "price_us", t->price_us);
	nb_put_u64(w, o, "moves", t->n_moves);
	if (t->last_action_us)
		nb_put(w, o, "last_action", last_action(w, r, t));
	return o;
}

struct json_object *nb_json_task_list(struct nb_writer *w, const struct nb_report *r, bool all)
{
	struct json_object *array = json_object_new_array();

	for (uint32_t i = 0; i < r->n_tasks && !w->nomem; i++)
		if (all || notable(&r->tasks[i]))
			nb_append(w, array, task(w, r, &r->tasks[i]));
	return array;
}

int nb_json_tasks(const struct nb_report *r, bool all, struct json_object **ret)
{
	struct nb_writer w = {0};
	struct json_object *o = json_object_new_object();

	nb_put_u64(&w, o, "at_us", r->at_us);
	nb_put(&w, o, "tasks", nb_json_task_list(&w, r, all));
	return nb_finish(&w, o, ret);
}

int nb_json_task(const struct nb_report *r, int32_t pid, struct json_object **ret)
{
	for (uint32_t i = 0; i < r->n_tasks; i++) {
		struct nb_writer w = {0};
		struct json_object *o;

		if (r->tasks[i].key.pid != pid)
			continue;
		o = json_object_new_object();
		nb_put(&w, o, "task", task(&w, r, &r->tasks[i]));
		return nb_finish(&w, o, ret);
	}
	return -ESRCH;
}
