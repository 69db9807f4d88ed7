/* SPDX-License-Identifier: MIT */
/* JSON of a report, and the tables of that JSON. */
#include "report/field.h"
#include "report/interface.h"
#include "report/json.h"
#include "report/table.h"
#include "test.h"

#include <errno.h>
#include <stdlib.h>

#define GiB (UINT64_C(1) << 30)

struct machine {
	struct nb_report report;
	struct nb_report_node nodes[2];
	struct nb_report_task tasks[4];
	uint32_t distance[4];
	uint64_t bytes[4][2];
	uint32_t cpu[4][2];
	struct nb_action action;
};

/* Nodes 0 and 8; one misplaced process with a hostile name, one idle, one pinned and
 * busy, one kernel thread. */
static void setup(struct machine *m)
{
	memset(m, 0, sizeof(*m));
	for (unsigned i = 0; i < 2; i++) {
		m->nodes[i] = (struct nb_report_node){.id = 8 * i,
						      .n_cpus = 2,
						      .capacity_cap = 2048,
						      .util_cap = 1024,
						      .runnable_cap = 1567,
						      .class = NB_FULLY_BUSY,
						      .nr_running = 2,
						      .mem_valid = true,
						      .mem_total_bytes = 64 * GiB,
						      .mem_free_bytes = 3 * GiB};
		nb_bitmap_set(&m->nodes[i].cpus, 2 * i);
		nb_bitmap_set(&m->nodes[i].cpus, 2 * i + 1);
		m->distance[3 * i] = 10;
		m->distance[1 + i] = 21;
	}
	m->nodes[1].in_flight = (struct nb_key){4242, 9000};
	m->nodes[1].n_in_flight = 1;
	for (unsigned i = 0; i < 4; i++)
		m->tasks[i] = (struct nb_report_task){.key = {100 + (int)i, 5},
						      .comm = "x",
						      .n_threads = 1,
						      .rates_valid = true,
						      .runnable_cap = 512,
						      .util_cap = 512,
						      .node_bytes = m->bytes[i],
						      .node_cpu_pmy = m->cpu[i],
						      .best_node_id = NB_NO_NODE,
						      .last_from_id = NB_NO_NODE,
						      .last_to_id = NB_NO_NODE};
	memcpy(m->tasks[0].comm, "a\xff\xfe\x1b[2J\"\\\nb", 11);
	m->tasks[0].reason = NB_REASON_SWAP;
	m->tasks[0].best_node_id = 8;
	m->tasks[0].mem_source = NB_MEM_NUMA_MAPS;
	m->tasks[0].local_valid = true;
	m->tasks[0].local_share_pmy = 1234;
	m->tasks[0].gain_us = 3200000;
	m->tasks[0].total_bytes = GiB;
	m->bytes[0][1] = GiB;
	m->cpu[0][0] = 10000;
	m->tasks[1].reason = NB_REASON_IDLE;
	m->tasks[1].runnable_cap = 1;
	m->tasks[2].reason = NB_REASON_PINNED;
	m->tasks[3].reason = NB_REASON_KERNEL_THREAD;
	m->action = (struct nb_action){.id = 7,
				       .key = {100, 5},
				       .comm = "x",
				       .what = NB_CPU | NB_MEMORY,
				       .from = 0,
				       .to = 8,
				       .mem_to = 8,
				       .bytes = GiB,
				       .gain_us = 3200000,
				       .price_us = 50000,
				       .reason = NB_REASON_BOTH_TO_THIRD,
				       .takes_slot = true};
	nb_bitmap_set(&m->action.cpu_nodes, 8);
	nb_bitmap_set(&m->action.mem_from, 0);
	m->report = (struct nb_report){.at_us = 5000000,
				       .source = NB_SOURCE_SCHEDSTAT,
				       .n_nodes = 2,
				       .n_tasks = 4,
				       .nodes = m->nodes,
				       .distance = m->distance,
				       .tasks = m->tasks,
				       .local_valid = true,
				       .local_share_pmy = 9712,
				       .n_actions = 1,
				       .actions = &m->action};
}

static void done(struct machine *m)
{
	for (unsigned i = 0; i < 2; i++)
		nb_bitmap_done(&m->nodes[i].cpus);
	nb_action_done(&m->action);
}

static const struct nb_status status = {.mode = NB_MODE_DRY_RUN,
					.why = "asked for",
					.version = "1",
					.uptime_us = 9,
					.interval_us = 1000000,
					.kernel_balancing = 1};

static char *render(int (*table)(struct json_object *, FILE *), struct json_object *o)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	CHECK_INT(table(o, out), 0);
	fclose(out);
	return text;
}

/* Only printable characters and line ends reach the terminal. */
static bool harmless(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < 0x20 && *text != '\n')
			return false;
	return true;
}

TEST(json_b05_names_survive_a_round_trip)
{
	struct json_object *o = NULL, *again;
	struct machine m;
	const char *text;
	char buf[NB_FIELD_MAX];

	setup(&m);
	REQUIRE(nb_json_task(&m.report, 100, &o) == 0);
	text = json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN);
	CHECK(harmless(text));
	CHECK(!strchr(text, '\n') && !strchr(text, '\xff'));
	again = json_tokener_parse(text);
	CHECK_STR(json_object_get_string(nb_field(nb_field(again, "task"), "comm")),
		  "a\xef\xbf\xbd\xef\xbf\xbd\x1b[2J\"\\\nb");
	CHECK_STR(nb_field_text(nb_field(again, "task"), "comm", buf),
		  "a\xef\xbf\xbd\xef\xbf\xbd\\x1b[2J\\\"\\\\\\x0ab");
	json_object_put(again);
	json_object_put(o);
	CHECK_INT(nb_json_task(&m.report, 99, &o), -ESRCH);
	done(&m);
}

TEST(json_numbers_in_base_units)
{
	struct json_object *o = NULL, *task, *node;
	struct machine m;
	const char *text;

	setup(&m);
	m.nodes[0].n_cpus = 0;
	REQUIRE(nb_json_status(&m.report, &status, &o) == 0);
	text = json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN);
	CHECK(strstr(text, "\"mode\":\"dry_run\""));
	CHECK(strstr(text, "\"local_share\":0.9712"));
	CHECK(strstr(text, "\"runnable\":1.530"));
	CHECK(strstr(text, "\"kernel_balancing\":1"));
	CHECK(!strstr(text, "reload_error") && !strstr(text, "config_file"));
	/* D06: no CPUs: load is not there, rather than 0. */
	node = nb_field_item(o, "nodes", 0);
	CHECK(!nb_field(node, "util") && !nb_field(node, "runnable"));
	node = nb_field_item(o, "nodes", 1);
	CHECK_INT(nb_field_int(node, "id", -1), 8);
	CHECK_INT(nb_field_int(node, "in_flight_pid", -1), 4242);
	CHECK_INT(nb_field_int(nb_field(o, "memory_read"), "numa_maps", -1), 1);
	json_object_put(o);

	REQUIRE(nb_json_task(&m.report, 100, &o) == 0);
	task = nb_field(o, "task");
	CHECK_INT(nb_field_int(nb_field_item(task, "nodes", 1), "bytes", -1), GiB);
	CHECK_INT(nb_field_int(task, "best_node", -1), 8);
	CHECK(!nb_field(task, "last_action"));
	json_object_put(o);
	done(&m);
}

/* Shown by default: what is moved or placed, and what is busy and left alone. */
TEST(json_tasks_worth_a_line)
{
	struct json_object *o = NULL;
	struct machine m;

	setup(&m);
	REQUIRE(nb_json_tasks(&m.report, false, &o) == 0);
	CHECK_INT(nb_field_count(o, "tasks"), 2);
	CHECK_INT(nb_field_int(nb_field_item(o, "tasks", 1), "pid", -1), 102);
	json_object_put(o);
	REQUIRE(nb_json_tasks(&m.report, true, &o) == 0);
	CHECK_INT(nb_field_count(o, "tasks"), 4);
	json_object_put(o);
	m.tasks[1].n_moves = 1;
	m.tasks[2].runnable_cap = 0;
	REQUIRE(nb_json_tasks(&m.report, false, &o) == 0);
	CHECK_INT(nb_field_count(o, "tasks"), 2);
	CHECK_INT(nb_field_int(nb_field_item(o, "tasks", 1), "pid", -1), 101);
	json_object_put(o);
	done(&m);
}

TEST(json_last_action_and_reasons)
{
	struct json_object *o = NULL, *last;
	struct machine m;
	char buf[NB_FIELD_MAX];

	setup(&m);
	m.tasks[0].last_action_us = 3000000;
	m.tasks[0].last_error = ENOMEM;
	m.tasks[0].last_to_id = 8;
	m.tasks[1].reason = NB_REASON_PINNED;
	REQUIRE(nb_json_task(&m.report, 100, &o) == 0);
	last = nb_field(nb_field(o, "task"), "last_action");
	CHECK_INT(nb_field_int(last, "ago_us", -1), 2000000);
	CHECK_STR(nb_field_text(last, "error", buf), "ENOMEM");
	CHECK_INT(nb_field_int(last, "to_node", -1), 8);
	CHECK(!nb_field(last, "from_node"));
	json_object_put(o);
	REQUIRE(nb_json_plan(&m.report, false, &o) == 0);
	CHECK_STR(nb_field_text(nb_field_item(o, "reasons", 0), "reason", buf), "pinned");
	CHECK_INT(nb_field_int(nb_field_item(o, "reasons", 0), "tasks", -1), 2);
	CHECK_STR(nb_field_text(nb_field_item(o, "actions", 0), "what", buf), "both");
	CHECK_STR(nb_field_list(nb_field_item(o, "actions", 0), "cpu_nodes", buf), "8");
	json_object_put(o);
	done(&m);
}

TEST(json_same_report_same_bytes)
{
	struct json_object *a = NULL, *b = NULL;
	struct machine m;

	setup(&m);
	REQUIRE(nb_json_all(&m.report, &status, true, &a) == 0);
	REQUIRE(nb_json_all(&m.report, &status, true, &b) == 0);
	CHECK_STR(json_object_to_json_string(a), json_object_to_json_string(b));
	json_object_put(a);
	json_object_put(b);
	done(&m);
}

/* Every field that is written is described, and nothing else is called a field. */
static void check_described(struct json_object *o)
{
	char line[128];

	if (json_object_is_type(o, json_type_array))
		for (size_t i = 0; i < json_object_array_length(o); i++)
			check_described(json_object_array_get_idx(o, i));
	if (!json_object_is_type(o, json_type_object))
		return;
	json_object_object_foreach(o, key, value)
	{
		snprintf(line, sizeof(line), "%s: ", key);
		if (!strstr(nb_interface_numabalance, line))
			test_fail(__FILE__, __LINE__, "io.numabalance.varlink does not describe %s",
				  key);
		check_described(value);
	}
}

TEST(json_fields_are_in_the_interface)
{
	struct json_object *o = NULL;
	struct machine m;

	setup(&m);
	m.tasks[0].last_action_us = 1;
	m.action.exchange = 3;
	REQUIRE(nb_json_status(&m.report, &status, &o) == 0);
	check_described(o);
	json_object_put(o);
	REQUIRE(nb_json_tasks(&m.report, true, &o) == 0);
	check_described(o);
	json_object_put(o);
	REQUIRE(nb_json_plan(&m.report, true, &o) == 0);
	check_described(o);
	json_object_put(o);
	done(&m);
}

/* Codes that the interface lists are those that exist. */
TEST(json_reasons_are_in_the_interface)
{
	for (unsigned r = NB_REASON_NONE + 1; r < NB_REASON_COUNT; r++)
		if (!strstr(nb_interface_numabalance, nb_reason_name(r)))
			test_fail(__FILE__, __LINE__, "io.numabalance.varlink does not list %s",
				  nb_reason_name(r));
	for (unsigned m = 0; m < NB_MODE_COUNT; m++)
		CHECK(strstr(nb_interface_numabalance, nb_mode_name(m)));
}

TEST(table_of_everything_is_harmless)
{
	struct json_object *o = NULL;
	struct machine m;
	char *text;

	setup(&m);
	REQUIRE(nb_json_all(&m.report, &status, true, &o) == 0);
	text = render(nb_table_all, o);
	CHECK(harmless(text));
	CHECK(strstr(text, "dry run: asked for"));
	CHECK(strstr(text, "97 %"));
	CHECK(strstr(text, "64G"));
	CHECK(strstr(text, "\\x1b[2J"));
	CHECK(strstr(text, "0:0/100% 8:1.0G"));
	free(text);
	json_object_put(o);
	REQUIRE(nb_json_task(&m.report, 100, &o) == 0);
	text = render(nb_table_task, o);
	CHECK(harmless(text));
	CHECK(strstr(text, "swap: it changes places with another task"));
	CHECK(strstr(text, "would gain 3.20 s"));
	free(text);
	json_object_put(o);
	done(&m);
}

/* F02: 10,000 tasks on 256 nodes of 4,096 CPUs: no buffer of a fixed size. */
TEST(json_f02_large_machine)
{
	enum { NODES = 256, TASKS = 10000 };
	struct nb_report r = {.n_nodes = NODES, .n_tasks = TASKS, .source = NB_SOURCE_SCHEDSTAT};
	struct json_object *o = NULL;
	uint64_t *bytes = calloc(NODES, sizeof(*bytes));
	char *text;

	r.nodes = calloc(NODES, sizeof(*r.nodes));
	r.distance = calloc(NODES * NODES, sizeof(*r.distance));
	r.tasks = calloc(TASKS, sizeof(*r.tasks));
	r.node_cpu_pmy = calloc(NODES, sizeof(*r.node_cpu_pmy));
	for (unsigned i = 0; i < NODES; i++)
		for (unsigned k = 0; k < 16; k++) /* every other: the longest list */
			nb_bitmap_set(&r.nodes[i].cpus, 2 * (16 * i + k));
	for (unsigned i = 0; i < NODES; i += 16)
		bytes[i] = i + 1;
	for (unsigned i = 0; i < TASKS; i++) {
		r.tasks[i] = (struct nb_report_task){.key = {(int)i + 1, 1},
						     .reason = NB_REASON_LOCAL,
						     .node_bytes = bytes,
						     .node_cpu_pmy = r.node_cpu_pmy};
		memset(r.tasks[i].comm, 0xff, NB_COMM_MAX - 1);
	}
	REQUIRE(nb_json_tasks(&r, false, &o) == 0);
	CHECK_INT(nb_field_count(o, "tasks"), TASKS);
	CHECK_INT(nb_field_count(nb_field_item(o, "tasks", TASKS - 1), "nodes"), NODES / 16);
	text = render(nb_table_tasks, o);
	CHECK(strlen(text) > 1000000);
	free(text);
	json_object_put(o);
	REQUIRE(nb_json_status(&r, &status, &o) == 0);
	CHECK_INT(nb_field_count(o, "nodes"), NODES);
	free(render(nb_table_status, o));
	json_object_put(o);
	for (unsigned i = 0; i < NODES; i++)
		nb_bitmap_done(&r.nodes[i].cpus);
	free(r.nodes);
	free(r.distance);
	free(r.tasks);
	free(r.node_cpu_pmy);
	free(bytes);
}

/* What another program answers may lack anything and hold anything. */
TEST(table_of_nonsense)
{
	static const char *const texts[] = {
		"{}",
		"{\"nodes\":7,\"tasks\":{},\"task\":[],\"actions\":null,\"reasons\":\"x\"}",
		"{\"nodes\":[null,{\"id\":\"x\",\"distance\":{}}],\"tasks\":[[],{\"nodes\":[1,2]}],"
		"\"task\":{\"nodes\":[{}]},\"actions\":[{}],\"reasons\":[0]}",
		"{\"nodes\":[{\"capacity\":1e308,\"util\":-1e308,\"mem_total_bytes\":-5}],"
		"\"why\":\"\\u001b[31m\\u0000x\"}",
		"[]",
	};
	int (*const tables[])(struct json_object *, FILE *) = {nb_table_status, nb_table_nodes,
							       nb_table_tasks,  nb_table_task,
							       nb_table_plan,   nb_table_all};

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct json_object *o = json_tokener_parse(texts[i]);

		for (size_t k = 0; k < sizeof(tables) / sizeof(*tables); k++) {
			char *text = render(tables[k], o);

			CHECK(harmless(text));
			free(text);
		}
		json_object_put(o);
	}
}
