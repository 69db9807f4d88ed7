/* SPDX-License-Identifier: MIT */
/* A look at dumps of machines: two instants, the same bytes each time. */
#include "daemon/dump.h"
#include "daemon/once.h"
#include "report/field.h"
#include "test.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define MAKE_TREES "tests/fixtures/make-trees"

static bool shell(const char *command)
{
	int status = system(command);

	if (status != 0)
		test_fail(__FILE__, __LINE__, "%s: %d", command, status);
	return status == 0;
}

/* Runs script with $d, a new folder, and $make; the folder is named by ret. */
static bool make(char ret[32], const char *script)
{
	char *command;
	bool good;

	if (access(MAKE_TREES, X_OK) < 0) {
		test_skip("run it from the top of the tree");
		return false;
	}
	strcpy(ret, "/tmp/nb-test-XXXXXX");
	if (!mkdtemp(ret) ||
	    asprintf(&command, "set -e; d=%s make=" MAKE_TREES "; %s", ret, script) < 0)
		abort();
	good = shell(command);
	free(command);
	return good;
}

static void clean(const char *dir)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -rf %s", dir);
	shell(command);
}

static char *look(const char *dir, bool json)
{
	_cleanup_config_ struct nb_config *c = NULL;
	struct nb_config_error err;
	struct nb_platform *p = NULL;
	struct nb_once_options o = {.json = json};
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	int r = nb_config_new(&c);

	if (r == 0)
		r = nb_config_finish(c, &err);
	if (r == 0)
		r = nb_dump_new(dir, &p);
	if (r == 0) {
		o.root = nb_dump_root(p);
		r = nb_once_run(&o, c, p, out);
	}
	if (p)
		p->ops->free(p);
	fclose(out);
	CHECK_INT(r, 0);
	return text;
}

/* The unit's two threads run for the whole second on node 1, where a quarter of its
 * memory is. */
#define MISPLACED \
	"$make $d two; mv $d/two $d/0; cd $d; sed -i 's/ 17 1 0 / 17 20 0 /' " \
	"0/proc/1000/task/*/stat; " \
	"cp -r 0 1; for t in 1000 1001; do echo 2000000000 20000000 31 " \
	">1/proc/1000/task/$t/schedstat; " \
	"done; mkdir -p 0/proc/sys/kernel; echo 1 >0/proc/sys/kernel/numa_balancing"

static struct json_object *find_task(struct json_object *all, int pid)
{
	for (size_t i = 0; i < nb_field_count(all, "tasks"); i++)
		if (nb_field_int(nb_field_item(all, "tasks", i), "pid", 0) == pid)
			return nb_field_item(all, "tasks", i);
	return NULL;
}

TEST(once_two_instants)
{
	struct json_object *all, *task;
	char dir[32], *text, buf[NB_FIELD_MAX];

	if (!make(dir, MISPLACED))
		return;
	text = look(dir, true);
	all = json_tokener_parse(text);
	task = find_task(all, 1000);
	CHECK_STR(nb_field_cpus(task, "util", buf), "2.00");
	CHECK_STR(nb_field_share(task, "local_share", buf), "25 %");
	CHECK_INT(nb_field_int(task, "best_node", -1), 0);
	CHECK_STR(nb_field_text(find_task(all, 1200), "reason", buf), "bound");
	CHECK_INT(nb_field_int(nb_field(all, "status"), "kernel_balancing", -1), 1);
	CHECK_INT(nb_field_int(nb_field(all, "status"), "at_us", -1), 2000000);
	CHECK(!json_object_get_boolean(nb_field(nb_field(all, "plan"), "acts")));
	json_object_put(all);
	free(text);
	clean(dir);
}

TEST(once_same_bytes_each_time)
{
	char dir[32], *first, *second;

	if (!make(dir, MISPLACED))
		return;
	for (unsigned json = 0; json < 2; json++) {
		first = look(dir, json);
		second = look(dir, json);
		CHECK_STR(second, first);
		free(first);
		free(second);
	}
	clean(dir);
}

/* A guest of the lab, captured by tests/mkfixture: two processes, each on the node of the
 * other's memory. */
TEST(once_captured_guest)
{
	static const char dir[] = "tests/fixtures/captured/crossed";
	char *first = look(dir, true), *second = look(dir, true), buf[NB_FIELD_MAX];
	struct json_object *all = json_tokener_parse(first);

	CHECK_STR(second, first);
	CHECK_STR(nb_field_text(find_task(all, 106), "reason", buf), "swap");
	CHECK_STR(nb_field_text(find_task(all, 107), "reason", buf), "swap");
	CHECK_STR(nb_field_share(find_task(all, 106), "local_share", buf), "1 %");
	json_object_put(all);
	free(first);
	free(second);
}

/* When each instant says when it was, that holds. */
TEST(once_instants_with_a_time)
{
	struct json_object *all;
	char dir[32], *text, buf[NB_FIELD_MAX];

	if (!make(dir, MISPLACED "; echo 5000000 >0/at_us; echo 9000000 >1/at_us"))
		return;
	text = look(dir, true);
	all = json_tokener_parse(text);
	CHECK_INT(nb_field_int(nb_field(all, "status"), "at_us", -1), 9000000);
	CHECK_STR(nb_field_cpus(find_task(all, 1000), "util", buf), "0.50");
	json_object_put(all);
	free(text);
	clean(dir);
}

/* One instant, read twice: facts and places, and nothing runs. */
TEST(once_one_instant)
{
	char dir[32], *text;

	if (!make(dir, "$make $d power9; mv $d/power9/* $d"))
		return;
	text = look(dir, false);
	CHECK(strstr(text, "\n   8  64-127 "));
	CHECK(strstr(text, "\n 252  - "));
	CHECK(strstr(text, "Nothing is to be moved now."));
	free(text);
	clean(dir);
}

/* D15: a node goes away between two instants, and numbering starts at 1. */
TEST(once_d15_node_goes)
{
	char dir[32], *text;

	if (!make(dir, "$make $d gone; mv $d/gone/[12] $d"))
		return;
	text = look(dir, false);
	CHECK(strstr(text, "\n   0  0-15,32-47 "));
	CHECK(!strstr(text, "\n   1  16-31"));
	free(text);
	clean(dir);
}

TEST(dump_that_is_not_there)
{
	struct nb_platform *p;

	CHECK_INT(nb_dump_new("/nonexistent", &p), -ENOENT);
}
