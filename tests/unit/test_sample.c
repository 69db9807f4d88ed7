/* SPDX-License-Identifier: MIT */
#include "test.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "linux/sample.h"
#include "linux/sample_parts.h"
#include "tree.h"

#define MB(n) ((uint64_t)(n) << 20)

static struct nb_config config = {
	.select = {.min_memory_bytes = MB(64), .numa_maps_limit_bytes = MB(8192)}};

static const char *list(const struct nb_snapshot *s, uint32_t mask)
{
	static char buf[256];

	nb_bitmap_format_list(nb_snapshot_mask(s, mask), buf, sizeof(buf));
	return buf;
}

static const struct nb_process *find(const struct nb_snapshot *s, int pid)
{
	uint32_t i = nb_snapshot_process_by_pid(s, pid);

	return i == UINT32_MAX ? NULL : &s->processes[i];
}

static uint64_t bytes_on(const struct nb_snapshot *s, const struct nb_process *p, uint32_t node)
{
	return nb_snapshot_bytes(s, (uint32_t)(p - s->processes))[node];
}

static int sample_root(const char *root, struct nb_snapshot *s)
{
	_cleanup_sampler_ struct nb_sampler *sampler = NULL;
	int r = nb_sampler_new(root, NULL, &sampler);

	return r < 0 ? r : nb_sampler_sample(sampler, &config, s);
}

static struct nb_snapshot *sample_machine(const char *name)
{
	_cleanup_tree_ struct tree t = {};
	struct nb_snapshot *s = NULL;
	char root[96];

	CHECK_INT(tree_machine(&t, name, root, sizeof(root)), 0);
	CHECK_INT(nb_snapshot_new(&s), 0);
	CHECK_INT(sample_root(root, s), 0);
	return s;
}

TEST(two)
{
	_cleanup_snapshot_ struct nb_snapshot *s = sample_machine("two");
	const struct nb_process *p;
	const struct nb_cpu *cpu;

	CHECK_INT(s->at_us, 0);
	CHECK_INT(s->rejected_rows, 0);
	CHECK_INT(s->gone_tasks, 0);
	REQUIRE(s->n_nodes == 2);
	CHECK_STR(list(s, s->nodes[1].cpus), "16-31,48-63");
	CHECK_INT(s->nodes[1].n_cpus, 32);
	CHECK(s->nodes[1].mem_target);
	CHECK_INT(s->nodes[1].mem_total_bytes, MB(96000));
	CHECK_INT(s->nodes[1].mem_free_bytes, MB(48000));
	CHECK_INT(s->nodes[1].mem_clean_bytes, MB(10500));
	CHECK_INT(nb_snapshot_distance(s, 0, 1), 21);
	CHECK_INT(s->n_cpus, 64);
	cpu = nb_snapshot_cpu(s, 48);
	REQUIRE(cpu);
	CHECK_INT(cpu->node, 1);
	CHECK_INT(cpu->valid, NB_VALID_RUN | NB_VALID_WAIT | NB_VALID_BUSY);
	CHECK_INT(cpu->run_ns, 5000000048);
	CHECK_INT(cpu->wait_ns, 700000048);
	CHECK_INT(cpu->busy_ns, (1048 + 20 + 300 + 6 + 7) * 10000000ll);
	CHECK(cpu->online && !cpu->isolated);

	CHECK_INT(s->n_processes, 7);
	p = find(s, 1000);
	REQUIRE(p);
	CHECK_STR(p->comm, "unit");
	CHECK_INT(p->key.start, 1011);
	CHECK_INT(p->flags, 0);
	CHECK_STR(nb_snapshot_str(s, p->user), "1000");
	CHECK_STR(nb_snapshot_str(s, p->cgroup), "/apps.slice");
	CHECK_INT(p->anon_bytes, MB(100));
	CHECK_INT(p->file_bytes, MB(2));
	CHECK_INT(p->rss_bytes, MB(102));
	CHECK_INT(p->mem_source, NB_MEM_NUMA_MAPS);
	CHECK_INT(bytes_on(s, p, 0), MB(75) + (4 << 12));
	CHECK_INT(bytes_on(s, p, 1), MB(25));
	CHECK_STR(list(s, p->mems), "0-1");
	CHECK_STR(list(s, p->allowed), "0-63");
	REQUIRE(p->n_threads == 2);
	CHECK_INT(s->threads[p->first_thread].key.pid, 1000);
	CHECK_INT(s->threads[p->first_thread + 1].key.pid, 1001);
	CHECK_INT(s->threads[p->first_thread + 1].key.start, 1012);
	CHECK_INT(s->threads[p->first_thread + 1].run_ns, 1000000001);
	CHECK_INT(s->threads[p->first_thread + 1].wait_ns, 20000001);
	CHECK_INT(s->threads[p->first_thread].last_cpu, 1);
	CHECK_INT(s->threads[p->first_thread].state, 'R');
	CHECK_INT(s->threads[p->first_thread].valid,
		  NB_VALID_RUN | NB_VALID_WAIT | NB_VALID_LAST_CPU | NB_VALID_MASK);
	CHECK_STR(list(s, s->threads[p->first_thread].mask), "0-63");
}

/* What is not a unit is read as a whole, what is somebody's is left alone. */
TEST(kinds_of_processes)
{
	_cleanup_snapshot_ struct nb_snapshot *s = sample_machine("two");
	const struct nb_process *p;
	const struct nb_thread *t;

	p = find(s, 1);
	REQUIRE(p);
	CHECK_INT(p->flags, NB_PROC_SERVICE);
	p = find(s, 40);
	REQUIRE(p);
	CHECK_INT(p->flags, NB_PROC_KTHREAD);
	CHECK_STR(p->comm, "kworker/0:0H-events_highpri");
	CHECK_INT(p->n_threads, 0);
	p = find(s, 700);
	REQUIRE(p);
	CHECK_INT(p->flags, 0);
	CHECK_INT(p->valid & NB_VALID_MEM, 0);
	CHECK_INT(p->mem_source, NB_MEM_NONE);
	CHECK_INT(p->anon_bytes, MB(2));
	REQUIRE(p->n_threads == 1);
	t = &s->threads[p->first_thread];
	CHECK_INT(t->key.pid, -700);
	CHECK_INT(t->key.start, 711);
	CHECK_INT(t->run_ns, (5700 + 5) * 10000000ll);
	CHECK_INT(t->valid, NB_VALID_RUN | NB_VALID_LAST_CPU);
	p = find(s, 1100);
	REQUIRE(p);
	CHECK_INT(p->flags, NB_PROC_PINNED);
	CHECK_STR(list(s, p->allowed), "0-3");
	p = find(s, 1200);
	REQUIRE(p);
	CHECK_INT(p->flags, NB_PROC_BOUND);
}

/* D01, D05, D06, D07: who may be given memory. */
TEST(memory_targets)
{
	static const struct {
		const char *machine, *targets;
	} cases[] = {
		{"power9", "110000"},   {"lpar4-7", "1111"},
		{"lpar-mixed", "0000"}, {"threadripper-2of4", "0110"},
		{"cxl", "110"},         {"hbm-flat", "1100"},
		{"single", "1"},        {"flat", "1"},
		{"unreachable", "11"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		_cleanup_snapshot_ struct nb_snapshot *s = sample_machine(cases[i].machine);
		char got[32] = "";

		for (uint32_t node = 0; node < s->n_nodes; node++) {
			got[node] = s->nodes[node].mem_target ? '1' : '0';
			CHECK(s->nodes[node].valid & NB_VALID_MEM);
		}
		CHECK_STR(got, cases[i].targets);
	}
}

/* Sparse ids: bytes and sets are by dense index. */
TEST(power9)
{
	_cleanup_snapshot_ struct nb_snapshot *s = sample_machine("power9");
	const struct nb_process *p = find(s, 1000);

	REQUIRE(p && s->n_nodes == 6);
	CHECK_STR(list(s, p->mems), "0-5");
	CHECK_INT(bytes_on(s, p, 1), MB(75) + (4 << 12));
	CHECK_INT(bytes_on(s, p, 0), MB(25));
	CHECK_INT(nb_snapshot_node_by_id(s, 252), 2);
}

/* D14, E06: offline and isolated CPUs are in no mask, and a pin to them is a pin. */
TEST(offline_and_isolated)
{
	_cleanup_snapshot_ struct nb_snapshot *s = sample_machine("offline-cpus");
	const struct nb_process *p = find(s, 1000);

	REQUIRE(p);
	CHECK_STR(list(s, p->allowed), "0-3,8-11");
	CHECK_INT(p->flags, 0);
	p = find(s, 1100);
	REQUIRE(p);
	CHECK_STR(list(s, p->allowed), "2-3");
	CHECK_INT(p->flags, NB_PROC_PINNED);
	CHECK(!nb_snapshot_cpu(s, 5));
	CHECK(nb_snapshot_cpu(s, 12)->isolated);
}

/* --- one machine, many odd processes ----------------------------------------------- */

static void put_task(const struct tree *t, const char *dir, int pid, const char *comm,
		     const char *state, unsigned long flags, unsigned rss_mb, unsigned policy)
{
	char path[96];

	snprintf(path, sizeof(path), "two/proc/%s/stat", dir);
	tree_put(t, path,
		 "%d (%s) %s 1 1 1 0 -1 %lu 9 0 0 0 100 5 0 0 20 0 1 0 9000 900000000 %u "
		 "18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 1 0 %u 0 0 0 0 0 0 0 0 0 0 0\n",
		 pid, comm, state, flags, rss_mb * 256, policy);
}

static void put_status(const struct tree *t, const char *dir, unsigned anon_mb, const char *cpus,
		       const char *mems)
{
	char path[96];

	snprintf(path, sizeof(path), "two/proc/%s/status", dir);
	tree_put(t, path,
		 "Name:\tx\nUid:\t0\t0\t0\t0\nVmRSS:\t%u kB\nRssAnon:\t%u kB\n"
		 "HugetlbPages:\t0 kB\nCpus_allowed_list:\t%s\nMems_allowed_list:\t%s\n",
		 anon_mb * 1024, anon_mb * 1024, cpus, mems);
}

/* A unit of one thread with that mask in that cgroup. */
static void put_unit(const struct tree *t, int pid, const char *comm, const char *cpus,
		     const char *cgroup)
{
	char dir[64], path[96];

	snprintf(dir, sizeof(dir), "%d", pid);
	put_task(t, dir, pid, comm, "S", 4194304, 100, 0);
	put_status(t, dir, 100, cpus, "0-1");
	snprintf(path, sizeof(path), "two/proc/%d/cgroup", pid);
	tree_put(t, path, "%s\n", cgroup);
	snprintf(path, sizeof(path), "two/proc/%d/numa_maps", pid);
	tree_put(t, path, "7f00 default anon=25600 dirty=25600 N1=25600 kernelpagesize_kB=4\n");
	snprintf(dir, sizeof(dir), "%d/task/%d", pid, pid);
	put_task(t, dir, pid, comm, "S", 4194304, 100, 0);
	put_status(t, dir, 100, cpus, "0-1");
	snprintf(path, sizeof(path), "two/proc/%s/schedstat", dir);
	tree_put(t, path, "1000 2000 3\n");
	snprintf(path, sizeof(path), "two/proc/%s/cgroup", dir);
	tree_put(t, path, "%s\n", cgroup);
}

static struct tree two(char *root, size_t size)
{
	struct tree t = {};

	CHECK_INT(tree_machine(&t, "two", root, size), 0);
	return t;
}

static uint32_t flags_of(const struct nb_snapshot *s, int pid)
{
	const struct nb_process *p = find(s, pid);

	return p ? p->flags : UINT32_MAX;
}

/* B01, B02, B04, B05, B08, E07, A13 */
TEST(odd_processes)
{
	char root[96];
	_cleanup_tree_ struct tree t = two(root, sizeof(root));
	_cleanup_snapshot_ struct nb_snapshot *s = NULL;

	put_task(&t, "2000", 2000, "a) R 1 (b\n\xff\x1b[2J", "S", 4194304, 1, 0);
	tree_put(&t, "two/proc/2001/stat", "2001 (abc");
	tree_put(&t, "two/proc/2002/stat", "%s", "");
	tree_put(&t, "two/proc/2003/comm", "gone\n");
	put_task(&t, "2004", 9, "liar", "S", 4194304, 1, 0);
	put_task(&t, "2005", 2005, "zombie", "Z", 4194316, 0, 0);
	put_task(&t, "2006", 2006, "rt", "S", 4194304, 1, 1);
	put_task(&t, "2007", 2007, "iou-wrk-1", "S", 0x04000000 | 64, 1, 0);
	put_status(&t, "2000", 1, "0-63", "0-1");
	for (int pid = 2005; pid <= 2007; pid++) {
		char dir[16];

		snprintf(dir, sizeof(dir), "%d", pid);
		put_status(&t, dir, 1, "0-63", "0-1");
	}
	put_unit(&t, 2008, "deadline", "0-63", "0::/apps.slice");
	put_task(&t, "2008/task/2009", 2009, "deadline", "S", 4194304, 100, 6);
	put_unit(&t, 2010, "io", "0-63", "0::/apps.slice");
	put_task(&t, "2010/task/2011", 2011, "iou-wrk", "S", 0x04000000, 100, 0);
	put_unit(&t, 2020, "denied", "0-63", "0::/apps.slice");
	tree_remove(&t, "two/proc/2020/task");
	tree_put(&t, "two/proc/notanumber/stat", "x");
	tree_put(&t, "two/at_us", "123456789\n");
	REQUIRE(nb_snapshot_new(&s) == 0);
	REQUIRE(sample_root(root, s) == 0);
	CHECK_INT(s->at_us, 123456789);
	CHECK_STR(find(s, 2000) ? find(s, 2000)->comm : "", "a) R 1 (b\n\xff\x1b[2J");
	CHECK(!find(s, 2001) && !find(s, 2002) && !find(s, 2004));
	CHECK_INT(s->rejected_rows, 3);
	CHECK(!find(s, 2003) && !find(s, 2020));
	CHECK_INT(s->gone_tasks, 2);
	CHECK_INT(flags_of(s, 2005), NB_PROC_EXITING);
	CHECK_INT(flags_of(s, 2006), NB_PROC_REALTIME);
	CHECK_INT(flags_of(s, 2007), NB_PROC_NO_AFFINITY);
	CHECK_INT(flags_of(s, 2008), NB_PROC_REALTIME);
	CHECK_INT(flags_of(s, 2010), NB_PROC_NO_AFFINITY);
	REQUIRE(s->processes);
	for (uint32_t i = 1; i < s->n_processes; i++)
		CHECK(s->processes[i - 1].key.pid < s->processes[i].key.pid);
}

/* E05, F17: what is a pin, and what only looks like one. */
TEST(pins)
{
	char root[96];
	_cleanup_tree_ struct tree t = two(root, sizeof(root));
	_cleanup_snapshot_ struct nb_snapshot *s = NULL;

	tree_put(&t, "two/sys/fs/cgroup/box/cpuset.cpus.effective", "2-5\n");
	tree_put(&t, "two/sys/fs/cgroup/box/vcpu0/cpuset.cpus.effective", "3\n");
	put_unit(&t, 2001, "taskset", "2-5", "0::/apps.slice");
	put_unit(&t, 2002, "in-box", "2-5", "0::/box");
	put_unit(&t, 2003, "pin-in-box", "2-3", "0::/box");
	/* a thread in a cgroup of its own, below the one of its process */
	put_unit(&t, 2004, "qemu", "2-5", "0::/box");
	put_task(&t, "2004/task/2005", 2005, "CPU 0/KVM", "S", 4194304, 100, 0);
	put_status(&t, "2004/task/2005", 100, "3", "0-1");
	tree_put(&t, "two/proc/2004/task/2005/cgroup", "0::/box/vcpu0\n");
	REQUIRE(nb_snapshot_new(&s) == 0);
	REQUIRE(sample_root(root, s) == 0);
	CHECK_INT(flags_of(s, 2001), NB_PROC_PINNED);
	CHECK_INT(flags_of(s, 2002), 0);
	CHECK_STR(list(s, find(s, 2002)->allowed), "2-5");
	CHECK_INT(flags_of(s, 2003), NB_PROC_PINNED);
	CHECK_INT(flags_of(s, 2004), 0);
	CHECK_STR(list(s, find(s, 2004)->allowed), "2-5");
	CHECK_STR(list(s, s->threads[find(s, 2004)->first_thread + 1].mask), "3");

	/* init itself was started so: everybody inherits it */
	put_status(&t, "1", 3, "2-5", "0-1");
	REQUIRE(sample_root(root, s) == 0);
	CHECK_INT(flags_of(s, 2001), 0);
	CHECK_STR(list(s, find(s, 2001)->allowed), "2-5");
	CHECK_INT(flags_of(s, 1100), NB_PROC_PINNED);
	CHECK_INT(flags_of(s, 2003), NB_PROC_PINNED);
	CHECK_INT(flags_of(s, 1000), 0);
	CHECK_STR(list(s, find(s, 1000)->allowed), "0-63");

	/* no cgroup to be seen: PID 1's mask is what is allowed */
	tree_remove(&t, "two/proc/self/mountinfo");
	put_status(&t, "1", 3, "0-31", "0-1");
	put_unit(&t, 2006, "as-init", "0-31", "0::/apps.slice");
	put_unit(&t, 2007, "wider", "0-63", "0::/apps.slice");
	REQUIRE(sample_root(root, s) == 0);
	CHECK_INT(flags_of(s, 2006), 0);
	CHECK_INT(flags_of(s, 2007), 0);
	CHECK_STR(list(s, find(s, 2007)->allowed), "0-31");
	CHECK_INT(flags_of(s, 2001), NB_PROC_PINNED);
}

/* A task whose CPUs are all isolated is left where it is. */
TEST(on_isolated_cpus)
{
	char root[96];
	_cleanup_tree_ struct tree t = two(root, sizeof(root));
	_cleanup_snapshot_ struct nb_snapshot *s = NULL;

	tree_put(&t, "two/sys/devices/system/cpu/isolated", "60-63\n");
	put_unit(&t, 2001, "isolated", "62-63", "0::/apps.slice");
	put_unit(&t, 2002, "all", "0-63", "0::/apps.slice");
	REQUIRE(nb_snapshot_new(&s) == 0);
	REQUIRE(sample_root(root, s) == 0);
	CHECK_INT(flags_of(s, 2001), NB_PROC_PINNED);
	CHECK_STR(list(s, find(s, 2001)->allowed), "62-63");
	CHECK_INT(flags_of(s, 2002), 0);
	CHECK_STR(list(s, find(s, 2002)->allowed), "0-59");
}

/* Kernels without schedstat, without RssAnon: G01, G09. */
TEST(missing_files)
{
	char root[96];
	_cleanup_tree_ struct tree t = two(root, sizeof(root));
	_cleanup_snapshot_ struct nb_snapshot *s = NULL;
	const struct nb_process *p;

	tree_remove(&t, "two/proc/schedstat");
	tree_remove(&t, "two/proc/1000/task/1000/schedstat");
	tree_remove(&t, "two/proc/1000/task/1001/schedstat");
	tree_remove(&t, "two/proc/1000/cgroup");
	tree_remove(&t, "two/sys/devices/system/node/node1/meminfo");
	tree_put(&t, "two/proc/1200/status", "Name:\tbound\nVmRSS:\t204800 kB\n");
	REQUIRE(nb_snapshot_new(&s) == 0);
	REQUIRE(sample_root(root, s) == 0);
	CHECK_INT(nb_snapshot_cpu(s, 0)->valid, NB_VALID_BUSY);
	CHECK_INT(s->nodes[1].valid & NB_VALID_MEM, 0);
	CHECK(!s->nodes[1].mem_target);
	p = find(s, 1000);
	REQUIRE(p && p->n_threads == 2);
	CHECK_INT(p->cgroup, NB_NO_STR);
	CHECK_INT(s->threads[p->first_thread].run_ns, 2005 * 10000000ll);
	CHECK_INT(s->threads[p->first_thread].valid,
		  NB_VALID_RUN | NB_VALID_LAST_CPU | NB_VALID_MASK);
	p = find(s, 1200);
	REQUIRE(p);
	CHECK_STR(list(s, p->mems), "0-1"); /* its cgroup says it, too */
	CHECK_INT(p->anon_bytes, MB(202));  /* at most: what is resident */
	CHECK_INT(p->user, NB_NO_STR);
}

TEST(not_a_tree)
{
	_cleanup_tree_ struct tree t = tree_new();
	struct nb_sampler *s = NULL;

	CHECK_INT(nb_sampler_new("build/there/is/none", NULL, &s), -ENOENT);
	CHECK_INT(nb_sampler_new(t.dir, NULL, &s), -ENOENT);
	CHECK(!s);
}

/* --- whose mask it is ---------------------------------------------------------------- */

static enum nb_mask_owner fake_owner(struct nb_masks *m, struct nb_key process, int32_t ppid,
				     struct nb_key thread, const struct nb_bitmap *current,
				     struct nb_bitmap *ret_original)
{
	(void)m;
	(void)current;
	CHECK_INT(ppid, 1);
	CHECK_INT(process.start, 9000);
	switch (thread.pid) {
	case 2001:
		nb_bitmap_parse_list(ret_original, "0-63", 4);
		return NB_MASK_OURS;
	case 2002:
		nb_bitmap_parse_list(ret_original, "8-23", 4);
		return NB_MASK_OURS;
	case 2003:
		return NB_MASK_OVERRULED;
	}
	return NB_MASK_OWN;
}

TEST(our_masks)
{
	char root[96];
	_cleanup_tree_ struct tree t = two(root, sizeof(root));
	_cleanup_snapshot_ struct nb_snapshot *s = NULL;
	_cleanup_sampler_ struct nb_sampler *sampler = NULL;
	const struct nb_thread *thread;

	tree_remove(&t, "two/proc/1000");
	tree_remove(&t, "two/proc/1100");
	tree_remove(&t, "two/proc/1200");
	put_unit(&t, 2001, "ours", "0-15", "0::/apps.slice");
	put_unit(&t, 2002, "ours-of-pinned", "16-23", "0::/apps.slice");
	put_unit(&t, 2003, "overruled", "0-7", "0::/apps.slice");
	REQUIRE(nb_snapshot_new(&s) == 0);
	REQUIRE(nb_sampler_new(root, (struct nb_masks *)s, &sampler) == 0); /* only handed on */
	sampler->mask_owner = fake_owner;
	REQUIRE(nb_sampler_sample(sampler, &config, s) == 0);
	thread = &s->threads[find(s, 2001)->first_thread];
	CHECK_INT(flags_of(s, 2001), 0);
	CHECK_STR(list(s, thread->mask), "0-63");
	CHECK_STR(list(s, thread->current), "0-15");
	thread = &s->threads[find(s, 2002)->first_thread];
	CHECK_INT(flags_of(s, 2002), NB_PROC_PINNED);
	CHECK_STR(list(s, thread->mask), "8-23");
	CHECK_STR(list(s, thread->current), "16-23");
	thread = &s->threads[find(s, 2003)->first_thread];
	CHECK_INT(flags_of(s, 2003), NB_PROC_PINNED);
	CHECK_STR(list(s, thread->mask), "0-7");
}

/* --- what is remembered from tick to tick ---------------------------------------------- */

/* Numbers that no real task can have: the calls on them answer that there is none. */
#define PID 5000001

static void put_stat(const struct tree *t, const char *dir, int pid, unsigned long flags,
		     unsigned utime, unsigned n_threads, unsigned start)
{
	char path[96];

	snprintf(path, sizeof(path), "two/proc/%s/stat", dir);
	tree_put(t, path,
		 "%d (x) S 1 1 1 0 -1 %lu 9 0 0 0 %u 5 0 0 20 0 %u 0 %u 900000000 25600 "
		 "18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 1 0 0 0 0 0 0 0 0 0 0 0 0 0\n",
		 pid, flags, utime, n_threads, start);
}

static void put_thread(const struct tree *t, int tid, unsigned start, unsigned run_ns)
{
	char dir[64], path[96];

	snprintf(dir, sizeof(dir), "%d/task/%d", PID, tid);
	put_stat(t, dir, tid, 4194304, 1, 1, start);
	snprintf(path, sizeof(path), "two/proc/%s/schedstat", dir);
	tree_put(t, path, "%u 2000 3\n", run_ns);
}

static uint64_t run_of(const struct nb_snapshot *s, uint32_t index)
{
	const struct nb_process *p = find(s, PID);

	return p && index < p->n_threads ? s->threads[p->first_thread + index].run_ns : 0;
}

TEST(sleepers_are_not_read)
{
	char root[96];
	_cleanup_tree_ struct tree t = two(root, sizeof(root));
	_cleanup_snapshot_ struct nb_snapshot *s = NULL;
	_cleanup_sampler_ struct nb_sampler *sampler = NULL;

	tree_remove(&t, "two/proc/1000");
	tree_remove(&t, "two/proc/1100");
	tree_remove(&t, "two/proc/1200");
	put_unit(&t, PID, "x", "0-63", "0::/apps.slice");
	put_stat(&t, "5000001", PID, 4194304, 100, 1, 9000);
	put_thread(&t, PID, 9000, 1000);
	REQUIRE(nb_snapshot_new(&s) == 0);
	REQUIRE(nb_sampler_new(root, NULL, &sampler) == 0);
	sampler->fs.live = true;
	sampler->seen.max_open_files = 3;
	REQUIRE(nb_sampler_sample(sampler, &config, s) == 0);
	CHECK_INT(run_of(s, 0), 1000);
	CHECK_INT(sampler->seen.open_files, 0);

	/* its process used no time: neither did it */
	put_thread(&t, PID, 9000, 7000);
	REQUIRE(nb_sampler_sample(sampler, &config, s) == 0);
	CHECK_INT(run_of(s, 0), 1000);
	put_stat(&t, "5000001", PID, 4194304, 101, 1, 9000);
	REQUIRE(nb_sampler_sample(sampler, &config, s) == 0);
	CHECK_INT(run_of(s, 0), 7000);
	CHECK_INT(sampler->seen.open_files, 2);

	/* a thread more, and no more files than there may be */
	put_stat(&t, "5000001", PID, 4194304, 102, 2, 9000);
	put_thread(&t, PID + 1, 9100, 300);
	REQUIRE(nb_sampler_sample(sampler, &config, s) == 0);
	CHECK_INT(run_of(s, 0), 7000);
	CHECK_INT(run_of(s, 1), 300);
	CHECK_INT(sampler->seen.open_files, 3);

	/* E08, B04: it ends, and its number goes to another one: seen in the tick after */
	put_stat(&t, "5000001", PID, 4194304, 103, 2, 9000);
	put_thread(&t, PID + 1, 9200, 50);
	REQUIRE(nb_sampler_sample(sampler, &config, s) == 0);
	CHECK_INT(find(s, PID)->n_threads, 1);
	CHECK_INT(s->gone_tasks, 2); /* and the mask of the fake one that is left */
	REQUIRE(nb_sampler_sample(sampler, &config, s) == 0);
	CHECK_INT(run_of(s, 1), 50);
	CHECK_INT(s->threads[find(s, PID)->first_thread + 1].key.start, 9200);

	/* it is gone: nothing is left of it */
	tree_remove(&t, "two/proc/5000001");
	REQUIRE(nb_sampler_sample(sampler, &config, s) == 0);
	CHECK(!find(s, PID));
	CHECK(!nb_seen_find(&sampler->seen, PID));
	CHECK_INT(sampler->seen.open_files, 0);
}

/* B06: a number is not an identity. */
TEST(numbers_are_reused)
{
	char root[96], from[128], to[128];
	_cleanup_tree_ struct tree t = two(root, sizeof(root));
	_cleanup_snapshot_ struct nb_snapshot *s = NULL;
	_cleanup_sampler_ struct nb_sampler *sampler = NULL;

	put_unit(&t, PID, "x", "0-63", "0::/apps.slice");
	put_stat(&t, "5000001", PID, 4194304, 100, 1, 9000);
	put_stat(&t, "5000009", 5000009, NB_PF_KTHREAD, 1, 1, 9001);
	REQUIRE(nb_snapshot_new(&s) == 0);
	REQUIRE(nb_sampler_new(root, NULL, &sampler) == 0);
	sampler->fs.live = true;
	REQUIRE(nb_sampler_sample(sampler, &config, s) == 0);
	CHECK_INT(find(s, PID)->key.start, 9000);
	CHECK_INT(flags_of(s, 5000009), NB_PROC_KTHREAD);
	CHECK_INT(bytes_on(s, find(s, PID), 1), MB(100));

	/* a kernel thread's file is not read again while its directory is the same */
	put_stat(&t, "5000009", 5000009, 4194304, 1, 1, 9500);
	put_status(&t, "5000009", 1, "0-63", "0-1");
	/* the same time used, the same threads, another process */
	put_stat(&t, "5000001", PID, 4194304, 100, 1, 9300);
	put_thread(&t, PID, 9300, 77);
	tree_put(&t, "two/proc/5000001/numa_maps",
		 "7f00 default anon=25600 dirty=25600 N0=25600 kernelpagesize_kB=4\n");
	REQUIRE(nb_sampler_sample(sampler, &config, s) == 0);
	CHECK_INT(flags_of(s, 5000009), NB_PROC_KTHREAD);
	CHECK_INT(find(s, PID)->key.start, 9300);
	CHECK_INT(run_of(s, 0), 77);
	CHECK_INT(bytes_on(s, find(s, PID), 1), 0);
	CHECK_INT(bytes_on(s, find(s, PID), 0), MB(100));

	tree_path(&t, "two/proc/5000009", from, sizeof(from));
	tree_path(&t, "two/proc/old", to, sizeof(to));
	REQUIRE(rename(from, to) == 0);
	put_stat(&t, "5000009", 5000009, 4194304, 1, 1, 9500);
	put_status(&t, "5000009", 1, "0-63", "0-1");
	REQUIRE(nb_sampler_sample(sampler, &config, s) == 0);
	CHECK_INT(flags_of(s, 5000009), 0);
	CHECK_INT(find(s, 5000009)->key.start, 9500);
}

TEST(service_names)
{
	static const char *const yes[] = {
		"systemd",    "systemd-journal",
		"(sd-pam)",   "dockerd",
		"containerd", "containerd-shim",
		"runc",       "runc:[2:INIT]",
		"crun",       "conmon",
		"crio",       "kubelet",
		"sshd",       "sshd-session",
		"bash",       "-bash",
		"dash",       "sh",
		"zsh",        "ash",
		"fish",       "dbus-daemon",
		"libvirtd",
	};
	static const char *const no[] = {
		"qemu-system-x86", "java", "postgres", "mysqld", "shell", "bashful", "nginx", "",
	};

	for (size_t i = 0; i < sizeof(yes) / sizeof(*yes); i++)
		CHECK(nb_is_service(100, yes[i]));
	for (size_t i = 0; i < sizeof(no) / sizeof(*no); i++)
		CHECK(!nb_is_service(100, no[i]));
	CHECK(nb_is_service(1, "anything"));
}

TEST(user_names)
{
	__attribute__((cleanup(nb_users_done))) struct nb_users live = {}, dump = {.numbers = true};
	const char *name = NULL;

	CHECK_INT(nb_users_name(&live, 0, &name), 0);
	CHECK_STR(name, "root");
	CHECK_INT(nb_users_name(&live, 4000000001, &name), 0);
	CHECK_STR(name, "4000000001");
	CHECK_INT(nb_users_name(&dump, 0, &name), 0);
	CHECK_STR(name, "0");
	CHECK_INT(live.n, 2);
	CHECK_INT(nb_users_name(&live, 0, &name), 0);
	CHECK_INT(live.n, 2);
}

/* --- this machine ------------------------------------------------------------------- */

static void *wait_for_end(void *pipe_fd)
{
	char c;

	if (read(*(int *)pipe_fd, &c, 1) < 0)
		perror("read");
	return NULL;
}

/* A child of two threads and 80 MB that waits until it is told to end. */
static pid_t start_child(int *ret_end, int *ret_ready)
{
	int end[2], ready[2];
	pid_t pid;

	if (pipe(end) < 0 || pipe(ready) < 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		char *p = mmap(NULL, MB(80), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			       -1, 0);
		pthread_t thread;

		close(end[1]);
		memset(p, 1, MB(80));
		prctl(PR_SET_NAME, "nb test) R (");
		pthread_create(&thread, NULL, wait_for_end, &end[0]);
		if (write(ready[1], "x", 1) != 1)
			_exit(1);
		pthread_join(thread, NULL);
		_exit(0);
	}
	close(end[0]);
	close(ready[1]);
	*ret_end = end[1];
	*ret_ready = ready[0];
	return pid;
}

TEST(live)
{
	_cleanup_sampler_ struct nb_sampler *sampler = NULL;
	_cleanup_snapshot_ struct nb_snapshot *s = NULL;
	const struct nb_process *p;
	uint64_t start, at_us;
	int end, ready;
	pid_t pid;
	char c;

	pid = start_child(&end, &ready);
	REQUIRE(pid > 0 && read(ready, &c, 1) == 1);
	REQUIRE(nb_snapshot_new(&s) == 0);
	REQUIRE(nb_sampler_new("", NULL, &sampler) == 0);
	nb_memory_test(nb_sampler_memory(sampler), true, NULL);
	REQUIRE(nb_sampler_sample(sampler, &config, s) == 0);
	at_us = s->at_us;
	CHECK(at_us > 0);
	CHECK_INT(flags_of(s, getpid()) & NB_PROC_SELF, NB_PROC_SELF);
	p = find(s, pid);
	REQUIRE(p);
	CHECK_STR(p->comm, "nb test) R (");
	CHECK_INT(p->flags & ~(uint32_t)NB_PROC_DENIED, 0);
	CHECK_INT(p->n_threads, 2);
	CHECK_INT(s->threads[p->first_thread].key.pid, pid);
	CHECK(s->threads[p->first_thread].valid & NB_VALID_MASK);
	CHECK(p->anon_bytes >= MB(80));
	if (p->mem_source == NB_MEM_NUMA_MAPS) {
		uint64_t sum = 0;

		for (uint32_t i = 0; i < s->n_nodes; i++)
			sum += bytes_on(s, p, i);
		CHECK(sum >= MB(80));
	}
	start = p->key.start;

	/* again: what did not run is not read again, and is the same */
	REQUIRE(nb_sampler_sample(sampler, &config, s) == 0);
	CHECK(s->at_us > at_us);
	p = find(s, pid);
	REQUIRE(p);
	CHECK_INT(p->key.start, start);
	CHECK_INT(p->n_threads, 2);
	CHECK(nb_key_equal(s->threads[p->first_thread].key, p->key));

	if (write(end, "x", 1) != 1)
		perror("write");
	close(end);
	close(ready);
	waitpid(pid, NULL, 0);
	REQUIRE(nb_sampler_sample(sampler, &config, s) == 0);
	CHECK(!find(s, pid));
}

/* A capture of this machine reads as the machine does, but for the names. */
TEST(captured)
{
	_cleanup_tree_ struct tree t = tree_new();
	_cleanup_snapshot_ struct nb_snapshot *s = NULL;
	const struct nb_process *p;
	int end, ready;
	char c, command[128];
	pid_t pid;

	pid = start_child(&end, &ready);
	REQUIRE(pid > 0 && read(ready, &c, 1) == 1);
	snprintf(command, sizeof(command), "tests/mkfixture %s/m %d >/dev/null", t.dir, (int)pid);
	CHECK_INT(system(command), 0);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(end);
	close(ready);
	snprintf(command, sizeof(command), "%s/m", t.dir);
	REQUIRE(nb_snapshot_new(&s) == 0);
	REQUIRE(sample_root(command, s) == 0);
	CHECK(s->at_us > 0);
	CHECK_INT(s->rejected_rows, 0);
	p = find(s, pid);
	REQUIRE(p);
	CHECK(strncmp(p->comm, "task", 4) == 0);
	CHECK_INT(p->n_threads, 2);
	CHECK(p->anon_bytes >= MB(80));
	CHECK(p->valid & NB_VALID_MASK);
}

/* B08: a pin of one thread on this machine is seen, if it has two CPUs. */
TEST(live_pin)
{
	_cleanup_snapshot_ struct nb_snapshot *s = NULL;
	cpu_set_t all, one;
	int end, ready, first = 0;
	pid_t pid;
	char c;

	CPU_ZERO(&all);
	if (sched_getaffinity(0, sizeof(all), &all) < 0 || CPU_COUNT(&all) < 2) {
		test_skip("one CPU");
		return;
	}
	while (!CPU_ISSET(first, &all))
		first++;
	CPU_ZERO(&one);
	CPU_SET(first, &one);
	pid = start_child(&end, &ready);
	REQUIRE(pid > 0 && read(ready, &c, 1) == 1);
	CHECK_INT(sched_setaffinity(pid, sizeof(one), &one), 0);
	REQUIRE(nb_snapshot_new(&s) == 0);
	CHECK_INT(sample_root("", s), 0);
	CHECK_INT(flags_of(s, pid) & NB_PROC_PINNED, NB_PROC_PINNED);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(end);
	close(ready);
}
