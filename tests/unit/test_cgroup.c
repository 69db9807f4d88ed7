/* SPDX-License-Identifier: MIT */
#include "test.h"

#include <errno.h>

#include "linux/cgroup.h"
#include "tree.h"

#define _cleanup_procfs_ __attribute__((cleanup(nb_procfs_close)))
static void cgroups_donep(struct nb_cgroups **c)
{
	nb_cgroups_free(*c);
}
#define _cleanup_cgroups_ __attribute__((cleanup(cgroups_donep)))

#define V2 "30 25 0:26 / /sys/fs/cgroup rw shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"
#define V1 "34 31 0:31 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
#define UNIFIED "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"

static const char *list(const struct nb_bitmap *b)
{
	static char buf[256];

	nb_bitmap_format_list(b, buf, sizeof(buf));
	return buf;
}

static int start(const struct tree *t, struct nb_procfs *fs, struct nb_cgroups **c)
{
	int r = nb_procfs_open(t->dir, fs);

	if (r == 0)
		r = nb_cgroups_new(fs, c);
	return r < 0 ? r : nb_cgroups_begin(*c);
}

static const struct nb_cgroup *get(struct nb_cgroups *c, const char *text)
{
	const struct nb_cgroup *g = NULL;

	CHECK_INT(nb_cgroups_get(c, text, strlen(text), &g), 0);
	return g;
}

static struct tree empty_tree(const char *mountinfo)
{
	struct tree t = tree_new();

	tree_put(&t, "proc/self/mountinfo", "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n%s", mountinfo);
	tree_put(&t, "sys/kernel/x", "1\n");
	return t;
}

/* F17: version 2. A group without the controller has the sets of its nearest ancestor. */
TEST(version_2)
{
	_cleanup_tree_ struct tree t = empty_tree(V2);
	_cleanup_procfs_ struct nb_procfs fs = {};
	_cleanup_cgroups_ struct nb_cgroups *c = NULL;
	const struct nb_cgroup *g;

	tree_put(&t, "sys/fs/cgroup/cpuset.cpus.effective", "0-15\n");
	tree_put(&t, "sys/fs/cgroup/cpuset.mems.effective", "0-1\n");
	tree_put(&t, "sys/fs/cgroup/cpuset.cpus.isolated", "14-15\n");
	tree_put(&t, "sys/fs/cgroup/a.slice/cpuset.cpus.effective", "2-5\n");
	tree_put(&t, "sys/fs/cgroup/a.slice/cpuset.mems.effective", "1\n");
	tree_put(&t, "sys/fs/cgroup/a.slice/b/c/cgroup.procs", "\n");
	REQUIRE(start(&t, &fs, &c) == 0);
	CHECK_INT(nb_cgroups_mode(c), NB_CGROUP_V2);
	CHECK_STR(list(nb_cgroups_partitions(c)), "14-15");
	g = get(c, "0::/a.slice\n");
	CHECK_STR(g->path, "/a.slice");
	CHECK(g->cpus_known && g->mems_known && !g->unlimited);
	CHECK_STR(list(&g->cpus), "2-5");
	CHECK_STR(list(&g->mems), "1");
	g = get(c, "0::/a.slice/b/c\n");
	CHECK_STR(g->path, "/a.slice/b/c");
	CHECK_STR(list(&g->cpus), "2-5");
	g = get(c, "0::/other\n");
	CHECK_STR(list(&g->cpus), "0-15");
	CHECK_STR(list(&g->mems), "0-1");
	g = get(c, "0::/\n");
	CHECK_STR(list(&g->cpus), "0-15");
	/* a group that was removed while somebody is still in it */
	g = get(c, "0::/a.slice/x (deleted)\n");
	CHECK_STR(list(&g->cpus), "2-5");
	/* outside of our namespace */
	g = get(c, "0::/../elsewhere\n");
	CHECK(!g->cpus_known && !g->unlimited);
}

/* Values are read once a tick, and anew in the next. */
TEST(read_each_tick)
{
	_cleanup_tree_ struct tree t = empty_tree(V2);
	_cleanup_procfs_ struct nb_procfs fs = {};
	_cleanup_cgroups_ struct nb_cgroups *c = NULL;

	tree_put(&t, "sys/fs/cgroup/a/cpuset.cpus.effective", "2-5\n");
	REQUIRE(start(&t, &fs, &c) == 0);
	CHECK_STR(list(&get(c, "0::/a\n")->cpus), "2-5");
	tree_put(&t, "sys/fs/cgroup/a/cpuset.cpus.effective", "7\n");
	CHECK_STR(list(&get(c, "0::/a\n")->cpus), "2-5");
	for (unsigned i = 0; i < 200; i++)
		CHECK_INT(nb_cgroups_begin(c), 0);
	CHECK_STR(list(&get(c, "0::/a\n")->cpus), "7");
}

/* Version 2 without the controller anywhere: nothing limits. */
TEST(version_2_without_cpuset)
{
	_cleanup_tree_ struct tree t = empty_tree(V2);
	_cleanup_procfs_ struct nb_procfs fs = {};
	_cleanup_cgroups_ struct nb_cgroups *c = NULL;
	const struct nb_cgroup *g;

	tree_put(&t, "sys/fs/cgroup/a/cgroup.procs", "\n");
	REQUIRE(start(&t, &fs, &c) == 0);
	g = get(c, "0::/a\n");
	CHECK(g->unlimited && !g->cpus_known);
}

TEST(version_1)
{
	_cleanup_tree_ struct tree t = empty_tree(V1);
	_cleanup_procfs_ struct nb_procfs fs = {};
	_cleanup_cgroups_ struct nb_cgroups *c = NULL;
	const struct nb_cgroup *g;

	tree_put(&t, "sys/fs/cgroup/cpuset/batch/cpuset.cpus", "0-7\n");
	tree_put(&t, "sys/fs/cgroup/cpuset/batch/cpuset.effective_cpus", "0-3\n");
	tree_put(&t, "sys/fs/cgroup/cpuset/batch/cpuset.effective_mems", "0\n");
	tree_put(&t, "sys/fs/cgroup/cpuset/old/cpuset.cpus", "4-5\n");
	tree_put(&t, "sys/fs/cgroup/cpuset/old/new/cpuset.cpus", "\n");
	tree_put(&t, "sys/fs/cgroup/cpuset/bare/cpus", "6\n");
	REQUIRE(start(&t, &fs, &c) == 0);
	CHECK_INT(nb_cgroups_mode(c), NB_CGROUP_V1);
	g = get(c, "3:cpuset:/batch\n2:memory:/x\n");
	CHECK_STR(g->path, "/batch");
	CHECK_STR(list(&g->cpus), "0-3");
	CHECK_STR(list(&g->mems), "0");
	CHECK_STR(list(&get(c, "3:cpuset,cpu:/old\n")->cpus), "4-5");
	CHECK_STR(list(&get(c, "3:cpuset:/old/new\n")->cpus), "4-5");
	CHECK_STR(list(&get(c, "3:cpuset:/bare\n")->cpus), "6");
	g = get(c, "3:cpuset:/nowhere\n");
	CHECK(!g->cpus_known && !g->unlimited);
}

/* cpuset limits by version 1, names are systemd's of version 2. */
TEST(hybrid)
{
	static const char *const orders[] = {V1 UNIFIED, UNIFIED V1};

	for (size_t i = 0; i < 2; i++) {
		_cleanup_tree_ struct tree t = empty_tree(orders[i]);
		_cleanup_procfs_ struct nb_procfs fs = {};
		_cleanup_cgroups_ struct nb_cgroups *c = NULL;
		const struct nb_cgroup *g;

		tree_put(&t, "sys/fs/cgroup/cpuset/cpuset.effective_cpus", "0-7\n");
		tree_put(&t, "sys/fs/cgroup/cpuset/job/cpuset.effective_cpus", "4-7\n");
		tree_put(&t, "sys/fs/cgroup/unified/web.service/cgroup.procs", "\n");
		REQUIRE(start(&t, &fs, &c) == 0);
		CHECK_INT(nb_cgroups_mode(c), NB_CGROUP_V1);
		g = get(c, "4:cpuset:/job\n1:name=systemd:/web.service\n0::/web.service\n");
		CHECK_STR(g->path, "/web.service");
		CHECK_STR(list(&g->cpus), "4-7");
		g = get(c, "4:cpuset:/job\n0::/\n");
		CHECK_STR(g->path, "/job");
		CHECK_STR(list(&g->cpus), "4-7");
	}
}

/* In a container only a part of the tree is mounted. */
TEST(part_of_the_tree)
{
	_cleanup_tree_ struct tree t =
		empty_tree("30 25 0:26 /box/1 /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
	_cleanup_procfs_ struct nb_procfs fs = {};
	_cleanup_cgroups_ struct nb_cgroups *c = NULL;

	tree_put(&t, "sys/fs/cgroup/cpuset.cpus.effective", "0-3\n");
	tree_put(&t, "sys/fs/cgroup/app/cpuset.cpus.effective", "1\n");
	REQUIRE(start(&t, &fs, &c) == 0);
	CHECK_STR(list(&get(c, "0::/box/1\n")->cpus), "0-3");
	CHECK_STR(list(&get(c, "0::/box/1/app\n")->cpus), "1");
	CHECK(!get(c, "0::/box/10\n")->cpus_known);
	CHECK(!get(c, "0::/box\n")->cpus_known);
}

TEST(no_cgroups)
{
	_cleanup_tree_ struct tree t = empty_tree("");
	_cleanup_procfs_ struct nb_procfs fs = {};
	_cleanup_cgroups_ struct nb_cgroups *c = NULL;
	const struct nb_cgroup *g;

	REQUIRE(start(&t, &fs, &c) == 0);
	CHECK_INT(nb_cgroups_mode(c), NB_CGROUP_NONE);
	g = get(c, "0::/a\n");
	CHECK(!g->cpus_known && !g->unlimited);
	CHECK_INT(nb_cgroups_get(c, "rubbish\n", 8, &g), -EINVAL);
	/* it is mounted later */
	tree_put(&t, "proc/self/mountinfo", "%s", V2);
	tree_put(&t, "sys/fs/cgroup/a/cpuset.cpus.effective", "2-5\n");
	for (unsigned i = 0; i < 100; i++)
		CHECK_INT(nb_cgroups_begin(c), 0);
	CHECK_STR(list(&get(c, "0::/a\n")->cpus), "2-5");
}

/* This machine's own hierarchy: what is known of us is not empty. */
TEST(live)
{
	_cleanup_procfs_ struct nb_procfs fs = {};
	_cleanup_cgroups_ struct nb_cgroups *c = NULL;
	_cleanup_text_ struct nb_text text = {};
	const struct nb_cgroup *g;

	REQUIRE(nb_procfs_open("", &fs) == 0);
	REQUIRE(nb_cgroups_new(&fs, &c) == 0);
	REQUIRE(nb_cgroups_begin(c) == 0);
	REQUIRE(nb_text_read(&text, fs.proc_fd, "self/cgroup") == 0);
	REQUIRE(nb_cgroups_get(c, text.data, text.len, &g) == 0);
	CHECK(g->path[0] == '/');
	CHECK(!g->cpus_known || !nb_bitmap_empty(&g->cpus));
}
