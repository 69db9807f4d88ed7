/* SPDX-License-Identifier: MIT */
#include "test.h"

#include <errno.h>

#include "exact.h"
#include "linux/parse.h"

#define _cleanup_schedstat_ __attribute__((cleanup(nb_schedstat_done)))
#define _cleanup_proc_stat_ __attribute__((cleanup(nb_proc_stat_done)))

/* G03, G06: lines of 15, 16 and 17, in nanoseconds. */
TEST(schedstat_versions)
{
	static const struct {
		unsigned version;
		const char *domain;
	} cases[] = {
		{15, "domain0 00000000,00000003 950 8313 3517 614 1408"},
		{16, "domain0 00000003 1533 4422 7767 1064 994"},
		{17, "domain0 SMT 00000003 674 238 12 496 851"},
	};

	for (size_t i = 0; i < 3; i++) {
		_cleanup_schedstat_ struct nb_schedstat s = {};
		char text[512];

		snprintf(text, sizeof(text),
			 "version %u\ntimestamp 4295892012\n"
			 "cpu0 0 0 439563 29772 514002 95319 177516799952 5699252753 711097\n%s\n"
			 "cpu2 0 0 709851 84868 769949 34624 204678650371 9859611191 162496\n%s\n",
			 cases[i].version, cases[i].domain, cases[i].domain);
		EXACT(e, text);
		REQUIRE(nb_parse_schedstat(e.p, e.len, &s) == 0);
		CHECK_INT(s.version, cases[i].version);
		CHECK(!s.newer);
		CHECK_INT(s.rejected, 0);
		REQUIRE(s.n == 2);
		CHECK_INT(s.cpus[0].cpu, 0);
		CHECK_INT(s.cpus[0].run_ns, 177516799952);
		CHECK_INT(s.cpus[0].wait_ns, 5699252753);
		CHECK_INT(s.cpus[1].cpu, 2);
		CHECK_INT(s.cpus[1].run_ns, 204678650371);
	}
}

/* Version 14 has three more counters in front. */
TEST(schedstat_version_14)
{
	_cleanup_schedstat_ struct nb_schedstat s = {};
	EXACT(e, "version 14\ntimestamp 1\ncpu0 1 2 3 4 5 6 7 8 9 1000 2000 30\ncpu1 1 2 3 4 5 6 7 "
		 "8 9\n");

	REQUIRE(nb_parse_schedstat(e.p, e.len, &s) == 0);
	REQUIRE(s.n == 1);
	CHECK_INT(s.cpus[0].run_ns, 1000);
	CHECK_INT(s.cpus[0].wait_ns, 2000);
	CHECK_INT(s.rejected, 1);
}

/* G03: a version to come, more fields, lines of a vendor, holes in the numbers. */
TEST(schedstat_newer)
{
	_cleanup_schedstat_ struct nb_schedstat s = {};
	EXACT(e, "version 99\ntimestamp 1\n"
		 "cpu3 0 0 129294 46623 595179 43970 861040910084 6773642615 947842 17 18 19 20\n"
		 "eas 50510 0 0 29148 0 21362\n"
		 "cpu11 0 0 858254 55812 482348 20556 212616028160 6269262716 306261\n"
		 "domain0 0f 1 2 3\ncpu12 1 2 3\ncpux 1 2 3 4 5 6 7 8 9\n"
		 "cpu13 0 0 858254 55812 482348 20556 212616028160 62692627");

	REQUIRE(nb_parse_schedstat(e.p, e.len, &s) == 0);
	CHECK(s.newer);
	REQUIRE(s.n == 2);
	CHECK_INT(s.cpus[0].cpu, 3);
	CHECK_INT(s.cpus[0].wait_ns, 6773642615);
	CHECK_INT(s.cpus[1].cpu, 11);
	CHECK_INT(s.rejected, 3);
}

TEST(schedstat_refused)
{
	_cleanup_schedstat_ struct nb_schedstat s = {};

	CHECK_INT(nb_parse_schedstat("", 0, &s), -EINVAL);
	EXACT(none, "timestamp 1\ncpu0 0 0 1 1 1 1 5 5 5\n");
	CHECK_INT(nb_parse_schedstat(none.p, none.len, &s), -EINVAL);
	EXACT(old, "version 12\ncpu0 0 0 1 1 1 1 5 5 5\n");
	CHECK_INT(nb_parse_schedstat(old.p, old.len, &s), -EOPNOTSUPP);
	CHECK_INT(s.n, 0);
	EXACT(big, "version 15\ncpu0 0 0 1 1 1 1 99999999999999999999 5 5\n"
		   "cpu4000000000 0 0 1 1 1 1 1 5 5\n");
	CHECK_INT(nb_parse_schedstat(big.p, big.len, &s), 0);
	CHECK_INT(s.n, 0);
	CHECK_INT(s.rejected, 2);
}

/* G09 */
TEST(task_schedstat)
{
	uint64_t run = 7, wait = 8;
	EXACT(good, "3979410 6710607 2\n");
	EXACT(zero, "0 0 0\n");
	EXACT(two, "1 2\n");

	CHECK_INT(nb_parse_task_schedstat(good.p, good.len, &run, &wait), 0);
	CHECK_INT(run, 3979410);
	CHECK_INT(wait, 6710607);
	CHECK_INT(nb_parse_task_schedstat(two.p, two.len, &run, &wait), -EINVAL);
	CHECK_INT(nb_parse_task_schedstat("", 0, &run, &wait), -EINVAL);
	CHECK_INT(run, 3979410);
	CHECK_INT(nb_parse_task_schedstat(zero.p, zero.len, &run, &wait), 0);
	CHECK_INT(run, 0);
}

/* Not idle, iowait, steal; guests are inside user. Old kernels have four columns. */
TEST(proc_stat)
{
	_cleanup_proc_stat_ struct nb_proc_stat s = {};
	EXACT(e, "cpu  9 9 9 9 9 9 9 9 9 9\ncpu0 1000 200 30 5000000 70000 4 5 600 800 900\n"
		 "cpu3 1 2 3 4\ncpu4 1 2\ncpu5 1 x 3 4\nintr 1 2 3\ncpu6 1 2 3 4\n");

	REQUIRE(nb_parse_proc_stat(e.p, e.len, &s) == 0);
	REQUIRE(s.n == 2);
	CHECK_INT(s.cpus[0].cpu, 0);
	CHECK_INT(s.cpus[0].busy, 1239);
	CHECK_INT(s.cpus[1].cpu, 3);
	CHECK_INT(s.cpus[1].busy, 6);
	CHECK_INT(s.rejected, 2);
	CHECK_INT(nb_parse_proc_stat("", 0, &s), -EINVAL);
	EXACT(over, "cpu0 18446744073709551615 1 3 4\n");
	CHECK_INT(nb_parse_proc_stat(over.p, over.len, &s), -EINVAL);
	CHECK_INT(s.rejected, 1);
}

TEST(meminfo)
{
	struct nb_meminfo m = {};
	EXACT(node, "\nNode 8 MemTotal:       100000 kB\nNode 8 MemFree:        40000 kB\n"
		    "Node 8 Inactive:        9999 kB\nNode 8 Inactive(file):   5000 kB\n"
		    "Node 8 Dirty:            700 kB\nNode 8 Writeback:        300 kB\n"
		    "Node 8 HugePages_Total:     5\n");
	EXACT(whole, "MemTotal: 100 kB\nMemFree: 40 kB\nInactive(file): 5 kB\nDirty: 7 kB\n");
	EXACT(cut, "Node 0 MemTotal: 100 kB\n");
	EXACT(bad, "MemTotal: 100 MB\nMemFree: 1 kB\n");

	REQUIRE(nb_parse_meminfo(node.p, node.len, &m) == 0);
	CHECK_INT(m.total_bytes, 100000 << 10);
	CHECK_INT(m.free_bytes, 40000 << 10);
	CHECK_INT(m.clean_bytes, 4000 << 10);
	REQUIRE(nb_parse_meminfo(whole.p, whole.len, &m) == 0);
	CHECK_INT(m.total_bytes, 100 << 10);
	CHECK_INT(m.clean_bytes, 0);
	CHECK_INT(nb_parse_meminfo(cut.p, cut.len, &m), -EINVAL);
	CHECK_INT(nb_parse_meminfo(bad.p, bad.len, &m), -EINVAL);
	CHECK_INT(m.total_bytes, 100 << 10);
}

static bool is(struct nb_cursor c, const char *text)
{
	return nb_cursor_is(&c, text);
}

/* F17 */
TEST(cgroup_text)
{
	struct nb_cgroup_paths p = {};
	EXACT(v2, "0::/system.slice/a:b.service\n");
	EXACT(hybrid,
	      "9:name=systemd:/x\n3:cpu,cpuset:/batch/job 1\n2:cpusets:/no\n0::/init.scope\n");
	EXACT(bad, "0:/x\nfoo\n1:cpuset:relative\n");
	EXACT(cut, "0::/half");

	REQUIRE(nb_parse_cgroup(v2.p, v2.len, &p) == 0);
	CHECK(is(p.v2, "/system.slice/a:b.service"));
	CHECK(!p.cpuset.p);
	REQUIRE(nb_parse_cgroup(hybrid.p, hybrid.len, &p) == 0);
	CHECK(is(p.cpuset, "/batch/job 1"));
	CHECK(is(p.v2, "/init.scope"));
	CHECK_INT(nb_parse_cgroup(bad.p, bad.len, &p), -EINVAL);
	CHECK_INT(nb_parse_cgroup(cut.p, cut.len, &p), -EINVAL);
	CHECK_INT(nb_parse_cgroup("", 0, &p), -EINVAL);
}

TEST(mountinfo_line)
{
	struct nb_mount m;
	EXACT(e, "34 31 0:31 / /sys/fs/cgroup/cpu\\040set rw,relatime shared:4 master:1 - cgroup "
		 "cgroup "
		 "rw,cpuset,clone_children");
	EXACT(cut, "34 31 0:31 / /sys rw shared:4");

	REQUIRE(nb_parse_mountinfo_line(e.p, e.len, &m) == 0);
	CHECK(is(m.root, "/"));
	CHECK(is(m.point, "/sys/fs/cgroup/cpu\\040set"));
	CHECK(is(m.type, "cgroup"));
	CHECK(nb_mount_has_option(&m, "cpuset"));
	CHECK(nb_mount_has_option(&m, "clone_children"));
	CHECK(!nb_mount_has_option(&m, "cpu"));
	CHECK_INT(nb_parse_mountinfo_line(cut.p, cut.len, &m), -EINVAL);
}

TEST(maps_line)
{
	struct nb_map m;
	EXACT(anon, "7f5aa8a57000-7f5aa8b57000 rw-p 00000000 00:00 0 ");
	EXACT(heap, "560fa8114000-560fa8135000 rw-p 00000000 00:00 0                  [heap]");
	EXACT(file, "560f7da36000-560f7da38000 r--s 00000000 08:01 1234   /usr/bin/a b");
	EXACT(vdso, "7ffe3c0b8000-7ffe3c0ba000 r-xp 00000000 00:00 0 [vdso]");
	EXACT(none, "7f5aa8a57000-7f5aa8b57000 ---p 00000000 00:00 0");
	EXACT(bad, "7f5aa8b57000-7f5aa8a57000 rw-p 0 0:0 0");

	REQUIRE(nb_parse_maps_line(anon.p, anon.len, &m) == 0);
	CHECK_INT(m.end - m.start, 1 << 20);
	CHECK(m.anonymous && m.readable && m.writable && !m.shared && !m.special);
	REQUIRE(nb_parse_maps_line(heap.p, heap.len, &m) == 0);
	CHECK(m.anonymous && !m.special);
	REQUIRE(nb_parse_maps_line(file.p, file.len, &m) == 0);
	CHECK(!m.anonymous && m.shared && !m.writable);
	REQUIRE(nb_parse_maps_line(vdso.p, vdso.len, &m) == 0);
	CHECK(m.special);
	REQUIRE(nb_parse_maps_line(none.p, none.len, &m) == 0);
	CHECK(!m.readable && !m.writable);
	CHECK_INT(nb_parse_maps_line(bad.p, bad.len, &m), -EINVAL);
	CHECK_INT(nb_parse_maps_line("", 0, &m), -EINVAL);
}

TEST(whole_number)
{
	uint64_t v = 5;

	CHECK_INT(nb_parse_u64(" 42\n", 4, &v), 0);
	CHECK_INT(v, 42);
	CHECK_INT(nb_parse_u64("18446744073709551615", 20, &v), 0);
	CHECK(v == UINT64_MAX);
	CHECK_INT(nb_parse_u64("18446744073709551616", 20, &v), -EINVAL);
	CHECK_INT(nb_parse_u64("4 2", 3, &v), -EINVAL);
	CHECK_INT(nb_parse_u64("4x", 2, &v), -EINVAL);
	CHECK_INT(nb_parse_u64("-4", 2, &v), -EINVAL);
	CHECK_INT(nb_parse_u64("", 0, &v), -EINVAL);
	CHECK(v == UINT64_MAX);
}
