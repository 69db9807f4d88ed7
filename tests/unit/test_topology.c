/* SPDX-License-Identifier: MIT */
#include "test.h"

#include "linux/topology.h"
#include "tree.h"

#define _cleanup_topology_ __attribute__((cleanup(nb_topology_done)))
#define _cleanup_procfs_ __attribute__((cleanup(nb_procfs_close)))

static const char *list(const struct nb_bitmap *b)
{
	static char buf[256];

	nb_bitmap_format_list(b, buf, sizeof(buf));
	return buf;
}

static uint32_t distance(const struct nb_topology *t, uint32_t from, uint32_t to)
{
	return t->distance[from * t->n_nodes + to];
}

static uint32_t node_of(const struct nb_topology *t, uint32_t cpu)
{
	for (uint32_t i = 0; i < t->n_cpus; i++)
		if (t->cpus[i].id == cpu)
			return t->cpus[i].node;
	return NB_NO_NODE;
}

static int read_machine(const char *name, struct nb_topology *ret)
{
	_cleanup_tree_ struct tree tree = {};
	_cleanup_procfs_ struct nb_procfs fs = {};
	char root[96];
	int r;

	r = tree_machine(&tree, name, root, sizeof(root));
	if (r == 0)
		r = nb_procfs_open(root, &fs);
	return r < 0 ? r : nb_topology_refresh(ret, &fs, NULL);
}

/* F14 */
TEST(single)
{
	_cleanup_topology_ struct nb_topology t = {};

	REQUIRE(read_machine("single", &t) == 1);
	CHECK_INT(t.source, NB_TOPOLOGY_HWLOC);
	REQUIRE(t.n_nodes == 1);
	CHECK_STR(list(&t.nodes[0].cpus), "0-7");
	CHECK_INT(distance(&t, 0, 0), 10);
	CHECK_INT(t.n_cpus, 8);
}

/* D16: second ranges of a list. */
TEST(two)
{
	_cleanup_topology_ struct nb_topology t = {};

	REQUIRE(read_machine("two", &t) == 1);
	CHECK_INT(t.source, NB_TOPOLOGY_HWLOC);
	REQUIRE(t.n_nodes == 2);
	CHECK_STR(list(&t.nodes[0].cpus), "0-15,32-47");
	CHECK_STR(list(&t.nodes[1].cpus), "16-31,48-63");
	CHECK_INT(distance(&t, 0, 1), 21);
	CHECK_INT(node_of(&t, 47), 0);
	CHECK_INT(node_of(&t, 48), 1);
	CHECK_INT(t.gen, 1);
}

/* D01: sparse ids; D06: hwloc lends the nodes without CPUs their neighbours' ones. */
TEST(power9)
{
	_cleanup_topology_ struct nb_topology t = {};

	REQUIRE(read_machine("power9", &t) == 1);
	CHECK_INT(t.source, NB_TOPOLOGY_HWLOC);
	REQUIRE(t.n_nodes == 6);
	CHECK_INT(t.nodes[1].id, 8);
	CHECK_INT(t.nodes[5].id, 255);
	CHECK_STR(list(&t.nodes[1].cpus), "64-127");
	CHECK_STR(list(&t.nodes[2].cpus), "");
	CHECK_INT(nb_topology_dense(&t, 8), 1);
	CHECK_INT(nb_topology_dense(&t, 252), 2);
	CHECK_INT(nb_topology_dense(&t, 1), NB_NO_NODE);
	CHECK_INT(nb_topology_dense(&t, 256), NB_NO_NODE);
	CHECK_INT(distance(&t, 0, 1), 40);
	CHECK_INT(distance(&t, 5, 0), 80);
	CHECK_INT(distance(&t, 5, 5), 10);
}

/* D02: no node 0. */
TEST(lpar4_7)
{
	_cleanup_topology_ struct nb_topology t = {};

	REQUIRE(read_machine("lpar4-7", &t) == 1);
	REQUIRE(t.n_nodes == 4);
	CHECK_INT(t.nodes[0].id, 4);
	CHECK_STR(list(&t.nodes[3].cpus), "32-39");
	CHECK_INT(nb_topology_dense(&t, 0), NB_NO_NODE);
	CHECK_INT(node_of(&t, 16), 1);
}

/* D05: nodes without memory have their CPUs; the only node with CPUs has none. */
TEST(memoryless)
{
	_cleanup_topology_ struct nb_topology t = {}, mixed = {};

	REQUIRE(read_machine("threadripper-2of4", &t) == 1);
	REQUIRE(t.n_nodes == 4);
	CHECK_STR(list(&t.nodes[0].cpus), "0-5,24-29");
	CHECK_INT(node_of(&t, 42), 3);
	REQUIRE(read_machine("lpar-mixed", &mixed) == 1);
	REQUIRE(mixed.n_nodes == 4);
	CHECK_STR(list(&mixed.nodes[2].cpus), "0-7");
	CHECK_STR(list(&mixed.nodes[0].cpus), "");
	CHECK_INT(node_of(&mixed, 5), 2);
}

/* D16: a node is the kernel's, not a package. */
TEST(sub_numa)
{
	_cleanup_topology_ struct nb_topology nps = {}, snc = {};

	REQUIRE(read_machine("nps4", &nps) == 1);
	CHECK_INT(nps.source, NB_TOPOLOGY_HWLOC);
	REQUIRE(nps.n_nodes == 8);
	CHECK_STR(list(&nps.nodes[7].cpus), "56-63");
	CHECK_INT(distance(&nps, 0, 3), 12);
	CHECK_INT(distance(&nps, 0, 4), 32);
	REQUIRE(read_machine("snc-asym", &snc) == 1);
	CHECK_INT(distance(&snc, 0, 2), 28);
	CHECK_INT(distance(&snc, 2, 0), 21);
}

/* D06, D07 */
TEST(memory_only)
{
	_cleanup_topology_ struct nb_topology cxl = {}, hbm = {}, gb = {};

	REQUIRE(read_machine("cxl", &cxl) == 1);
	CHECK_INT(cxl.source, NB_TOPOLOGY_HWLOC);
	REQUIRE(cxl.n_nodes == 3);
	CHECK_STR(list(&cxl.nodes[2].cpus), "");
	CHECK_STR(list(&cxl.nodes[1].cpus), "16-31");
	CHECK_INT(distance(&cxl, 2, 1), 24);
	REQUIRE(read_machine("hbm-flat", &hbm) == 1);
	CHECK_STR(list(&hbm.nodes[1].cpus), "8-15");
	CHECK_STR(list(&hbm.nodes[3].cpus), "");
	REQUIRE(read_machine("gb200-like", &gb) == 1);
	REQUIRE(gb.n_nodes == 30);
	CHECK_INT(gb.nodes[2].id, 3);
	CHECK_INT(gb.nodes[29].id, 33);
	CHECK_INT(distance(&gb, 0, 1), 40);
	CHECK_INT(distance(&gb, 2, 0), 80);
}

TEST(unreachable)
{
	_cleanup_topology_ struct nb_topology t = {};

	REQUIRE(read_machine("unreachable", &t) == 1);
	CHECK_INT(distance(&t, 0, 1), 255);
}

/* D01, D12: more than 1,024 CPUs, where hwloc cannot start. */
TEST(big)
{
	_cleanup_topology_ struct nb_topology t = {};

	REQUIRE(read_machine("big", &t) == 1);
	CHECK_INT(t.source, NB_TOPOLOGY_SYSFS);
	CHECK_INT(t.n_nodes, 128);
	CHECK_INT(t.n_cpus, 2000);
	CHECK_STR(list(&t.nodes[124].cpus), "1984-1999");
	CHECK_STR(list(&t.nodes[125].cpus), "");
	CHECK_INT(node_of(&t, 1999), 124);
	CHECK_INT(distance(&t, 0, 127), 23);
}

/* D14, E06 */
TEST(offline_and_isolated)
{
	_cleanup_topology_ struct nb_topology t = {};

	REQUIRE(read_machine("offline-cpus", &t) == 1);
	CHECK_STR(list(&t.nodes[0].cpus), "0-3");
	CHECK_STR(list(&t.nodes[1].cpus), "8-11");
	CHECK_STR(list(&t.isolated), "12-15");
	CHECK_STR(list(&t.online), "0-3,8-15");
	CHECK_STR(list(&t.usable), "0-3,8-11");
	CHECK_INT(node_of(&t, 12), 1);
}

TEST(bad_distances)
{
	_cleanup_topology_ struct nb_topology t = {};

	REQUIRE(read_machine("bad-distances", &t) == 1);
	for (uint32_t i = 0; i < 3; i++)
		for (uint32_t j = 0; j < 3; j++)
			CHECK_INT(distance(&t, i, j), i == j ? 10 : 20);
}

TEST(no_numa)
{
	_cleanup_topology_ struct nb_topology t = {};

	REQUIRE(read_machine("flat", &t) == 1);
	CHECK_INT(t.source, NB_TOPOLOGY_FLAT);
	REQUIRE(t.n_nodes == 1);
	CHECK_STR(list(&t.nodes[0].cpus), "0-3");
	CHECK_INT(node_of(&t, 3), 0);
}

static void keep_gen(struct nb_topology *t, struct nb_procfs *fs)
{
	uint64_t gen = t->gen;

	CHECK_INT(nb_topology_refresh(t, fs, NULL), 0);
	CHECK_INT(t->gen, gen);
}

/* D15: one topology that sees three moments. */
TEST(nodes_come_and_go)
{
	_cleanup_topology_ struct nb_topology t = {};
	_cleanup_tree_ struct tree tree = {};
	char root[96], moment[128];

	REQUIRE(tree_machine(&tree, "gone", root, sizeof(root)) == 0);
	for (unsigned i = 1; i <= 3; i++) {
		_cleanup_procfs_ struct nb_procfs fs = {};

		snprintf(moment, sizeof(moment), "%s/%u", root, i);
		REQUIRE(nb_procfs_open(moment, &fs) == 0);
		CHECK_INT(nb_topology_refresh(&t, &fs, NULL), 1);
		CHECK_INT(t.gen, i);
		keep_gen(&t, &fs);
		switch (i) {
		case 1:
			CHECK_INT(t.n_nodes, 2);
			break;
		case 2:
			CHECK_INT(t.n_nodes, 1);
			CHECK_STR(list(&t.online), "0-15,32-47");
			break;
		case 3:
			REQUIRE(t.n_nodes == 2);
			CHECK_INT(t.nodes[1].id, 2);
			CHECK_INT(distance(&t, 0, 1), 31);
			CHECK_INT(nb_topology_dense(&t, 1), NB_NO_NODE);
			break;
		}
	}
}

/* D04: the kernel lists a node whose directory has just gone. A change that cannot be
 * read leaves what was known. */
TEST(vanishing)
{
	_cleanup_topology_ struct nb_topology t = {};
	_cleanup_procfs_ struct nb_procfs fs = {};
	_cleanup_tree_ struct tree tree = {};
	char root[96];

	REQUIRE(tree_machine(&tree, "two", root, sizeof(root)) == 0);
	tree_remove(&tree, "two/sys/devices/system/node/node1");
	REQUIRE(nb_procfs_open(root, &fs) == 0);
	CHECK_INT(nb_topology_refresh(&t, &fs, NULL), 1);
	CHECK_INT(t.source, NB_TOPOLOGY_SYSFS);
	CHECK_INT(t.n_nodes, 2);
	CHECK_STR(list(&t.nodes[0].cpus), "0-15,32-47");
	CHECK_STR(list(&t.nodes[1].cpus), "");
	CHECK_INT(distance(&t, 0, 1), 21);
	CHECK_INT(distance(&t, 1, 0), 20);
	tree_put(&tree, "two/sys/devices/system/cpu/online", "rubbish");
	tree_remove(&tree, "two/sys/devices/system/node");
	CHECK(nb_topology_refresh(&t, &fs, NULL) < 0);
	CHECK_INT(t.n_nodes, 2);
	CHECK_INT(t.gen, 1);
}

/* Isolated partitions come from elsewhere; nohz_full may read "(null)". */
TEST(partitions)
{
	_cleanup_topology_ struct nb_topology t = {};
	_cleanup_bitmap_ struct nb_bitmap partition = {};
	_cleanup_procfs_ struct nb_procfs fs = {};
	_cleanup_tree_ struct tree tree = {};
	char root[96];

	REQUIRE(tree_machine(&tree, "unreachable", root, sizeof(root)) == 0);
	tree_put(&tree, "unreachable/sys/devices/system/cpu/nohz_full", "  (null)\n");
	REQUIRE(nb_procfs_open(root, &fs) == 0);
	CHECK_INT(nb_topology_refresh(&t, &fs, &partition), 1);
	CHECK_STR(list(&t.usable), "0-15");
	REQUIRE(nb_bitmap_parse_list(&partition, "6-9", 3) == 0);
	CHECK_INT(nb_topology_refresh(&t, &fs, &partition), 1);
	CHECK_STR(list(&t.usable), "0-5,10-15");
	CHECK_STR(list(&t.nodes[1].cpus), "10-15");
	CHECK_INT(nb_topology_refresh(&t, &fs, &partition), 0);
}

/* This machine, whatever it is. */
TEST(live)
{
	_cleanup_topology_ struct nb_topology t = {};
	_cleanup_procfs_ struct nb_procfs fs = {};

	REQUIRE(nb_procfs_open("", &fs) == 0);
	REQUIRE(nb_topology_refresh(&t, &fs, NULL) == 1);
	CHECK(t.n_nodes >= 1);
	CHECK(t.n_cpus >= 1);
	CHECK(!nb_bitmap_empty(&t.usable));
	keep_gen(&t, &fs);
}
