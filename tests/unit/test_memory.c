/* SPDX-License-Identifier: MIT */
#include "test.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "linux/memory.h"
#include "tree.h"

#define MB(n) ((uint64_t)(n) << 20)

static void memory_donep(struct nb_memory **m)
{
	nb_memory_free(*m);
}
#define _cleanup_memory_ __attribute__((cleanup(memory_donep)))
#define _cleanup_procfs_ __attribute__((cleanup(nb_procfs_close)))

static struct nb_topology two_nodes = {.gen = 1,
				       .n_nodes = 2,
				       .n_ids = 9,
				       .dense_of_id =
					       (uint32_t[]){0, [1 ... 7] = NB_NO_NODE, [8] = 1}};

static struct nb_config config = {
	.select = {.min_memory_bytes = MB(64), .numa_maps_limit_bytes = MB(8192)}};

/* A snapshot with one process of that size, and a thread on a CPU of node 0. */
static struct nb_process *one_process(struct nb_snapshot *s, uint64_t at_us, struct nb_key key,
				      uint64_t anon_bytes)
{
	struct nb_process *p;
	struct nb_thread *t;

	CHECK_INT(nb_snapshot_begin(s, at_us, 2, 1), 0);
	s->cpus[0].online = true;
	CHECK_INT(nb_snapshot_add_process(s, &p), 0);
	CHECK_INT(nb_snapshot_add_thread(s, &t), 0);
	t->valid = NB_VALID_LAST_CPU;
	t->state = 'R';
	p->key = key;
	p->anon_bytes = p->rss_bytes = anon_bytes;
	return p;
}

/* --- queries -------------------------------------------------------------------- */

static int answers[4], n_answers;
static uint64_t asked_sum;
static unsigned calls;

static long fake_query(pid_t pid, unsigned long n, void **pages, int *status)
{
	(void)pid;
	calls++;
	if (n_answers < 0)
		return n_answers;
	for (unsigned long i = 0; i < n; i++) {
		asked_sum = asked_sum * 31 + (uintptr_t)pages[i];
		status[i] = answers[i % (unsigned)n_answers];
	}
	return 0;
}

#define MAPS \
	"10000000-20000000 rw-p 00000000 00:00 0 \n" \
	"30000000-f0000000 ---p 00000000 00:00 0 \n" \
	"f0000000-f0010000 r-xp 00000000 08:01 77 /usr/bin/app\n" \
	"f1000000-f1002000 r-xp 00000000 00:00 0 [vdso]\n" \
	"f2000000-f2100000 rw-s 00000000 00:01 9 /dev/zero (deleted)\n" \
	"f3000000-f3100000 rw-p 00000000 00:00 0 [heap]\n"

static int ask(struct nb_query *q, uint64_t seed, const int *with, int n)
{
	_cleanup_tree_ struct tree t = tree_new();
	_cleanup_procfs_ struct nb_procfs fs = {};
	__attribute__((cleanup(nb_lines_done))) struct nb_lines lines = {.fd = -1};

	if (with)
		memcpy(answers, with, (size_t)n * sizeof(*with));
	n_answers = n;
	asked_sum = calls = 0;
	tree_put(&t, "proc/4242/maps", "%s", MAPS);
	tree_put(&t, "sys/x", "1");
	if (nb_procfs_open(t.dir, &fs) < 0)
		return -EIO;
	return nb_query_read(q, &two_nodes, &lines, fs.proc_fd, 4242, seed, fake_query);
}

#define _cleanup_query_ __attribute__((cleanup(nb_query_done)))

/* C03: negative answers are no sample; nodes that are not known are none either. */
TEST(query_answers)
{
	_cleanup_query_ struct nb_query q = {};
	uint64_t first;

	REQUIRE(ask(&q, 1, (int[]){0, 8, 8, 8}, 4) == 0 && q.hits);
	CHECK_INT(q.hits[0] * 3, q.hits[1]);
	CHECK_INT(q.samples, q.hits[0] + q.hits[1]);
	CHECK_INT(ask(&q, 1, (int[]){8, -2, -14, 5}, 4), 0);
	CHECK_INT(q.hits[0], 0);
	CHECK_INT(q.samples * 4, q.asked);
	CHECK(q.samples >= 384);
	/* the same pages for the same seed, others for another */
	first = asked_sum;
	CHECK_INT(ask(&q, 1, (int[]){8, -2, -14, 5}, 4), 0);
	CHECK(asked_sum == first);
	CHECK_INT(ask(&q, 2, (int[]){8, -2, -14, 5}, 4), 0);
	CHECK(asked_sum != first);
}

TEST(query_too_few)
{
	_cleanup_query_ struct nb_query q = {};

	CHECK_INT(ask(&q, 1, (int[]){-2, -14}, 2), -ENODATA);
	CHECK_INT(calls, 16);
	CHECK_INT(ask(&q, 1, NULL, -ESRCH), -ESRCH);
	CHECK_INT(ask(&q, 1, NULL, -EPERM), -EPERM);
}

/* Only what may hold private pages is asked for. */
static long range_query(pid_t pid, unsigned long n, void **pages, int *status)
{
	(void)pid;
	for (unsigned long i = 0; i < n; i++) {
		uintptr_t p = (uintptr_t)pages[i];

		CHECK((p >= 0x10000000 && p < 0x20000000) || (p >= 0xf3000000 && p < 0xf3100000));
		CHECK_INT(p % (uintptr_t)sysconf(_SC_PAGESIZE), 0);
		status[i] = 0;
	}
	return 0;
}

TEST(query_ranges)
{
	_cleanup_query_ struct nb_query q = {};
	_cleanup_tree_ struct tree t = tree_new();
	_cleanup_procfs_ struct nb_procfs fs = {};
	__attribute__((cleanup(nb_lines_done))) struct nb_lines lines = {.fd = -1};

	tree_put(&t, "proc/7/maps", "%s", MAPS);
	tree_put(&t, "proc/8/maps", "%s", "");
	tree_put(&t, "sys/x", "1");
	REQUIRE(nb_procfs_open(t.dir, &fs) == 0);
	for (uint64_t seed = 0; seed < 20; seed++)
		CHECK_INT(nb_query_read(&q, &two_nodes, &lines, fs.proc_fd, 7, seed, range_query),
			  0);
	CHECK_INT(nb_query_read(&q, &two_nodes, &lines, fs.proc_fd, 8, 1, range_query), -ENODATA);
	CHECK_INT(nb_query_read(&q, &two_nodes, &lines, fs.proc_fd, 9, 1, range_query), -ENOENT);
}

/* Our own pages, by the real call. */
TEST(query_live)
{
	_cleanup_query_ struct nb_query q = {};
	_cleanup_procfs_ struct nb_procfs fs = {};
	__attribute__((cleanup(nb_lines_done))) struct nb_lines lines = {.fd = -1};
	struct nb_topology all = {.n_nodes = 1, .n_ids = 1024};
	static uint32_t dense[1024];
	size_t size = MB(64);
	char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int r;

	REQUIRE(p != MAP_FAILED);
	memset(p, 1, size);
	all.dense_of_id = dense;
	REQUIRE(nb_procfs_open("", &fs) == 0);
	r = nb_query_read(&q, &all, &lines, fs.proc_fd, getpid(), 1, nb_query_live);
	munmap(p, size);
	if (r == -ENOSYS || r == -EPERM) {
		test_skip("move_pages is refused here");
		return;
	}
	/* Under a sanitizer the address space is almost empty, and too few pages are hit. */
	CHECK(r == 0 || r == -ENODATA);
	CHECK(r < 0 || q.hits[0] >= 64);
}

/* --- the cache ------------------------------------------------------------------ */

static void put_maps(const struct tree *t, int pid, unsigned pages_0, unsigned pages_8)
{
	char path[64];

	snprintf(path, sizeof(path), "proc/%d/numa_maps", pid);
	tree_put(t, path,
		 "7f00 default anon=%u dirty=%u N0=%u N8=%u kernelpagesize_kB=4\n"
		 "7f01 default file=/srv/x dirty=3 N8=30 mapped=30 kernelpagesize_kB=4\n",
		 pages_0 + pages_8, pages_0 + pages_8, pages_0, pages_8);
}

/* A tree that is taken for the live machine: then time and holds count. */
static int open_as_live(const struct tree *t, struct nb_procfs *fs)
{
	int r;

	tree_put(t, "proc/x", "1");
	tree_put(t, "sys/x", "1");
	r = nb_procfs_open(t->dir, fs);
	fs->live = true;
	return r;
}

static int fill(struct nb_memory *m, const struct nb_procfs *fs, struct nb_snapshot *s)
{
	return nb_memory_fill(m, fs, &two_nodes, &config, s, (uint32_t[]){0}, 1);
}

TEST(read_then_remembered)
{
	_cleanup_tree_ struct tree t = tree_new();
	_cleanup_procfs_ struct nb_procfs fs = {};
	_cleanup_memory_ struct nb_memory *m = NULL;
	_cleanup_snapshot_ struct nb_snapshot *s = NULL;
	_cleanup_bitmap_ struct nb_bitmap nodes = {};
	struct nb_key key = {.pid = 4242, .start = 1000}, reused = {.pid = 4242, .start = 9000};
	struct nb_memory_files files;
	struct nb_process *p;

	REQUIRE(nb_memory_new(&m) == 0 && nb_snapshot_new(&s) == 0);
	put_maps(&t, 4242, 25600, 6400);
	REQUIRE(open_as_live(&t, &fs) == 0);
	CHECK_INT(nb_memory_files(m, key, &nodes, &files), -ENODATA);
	p = one_process(s, 1000000, key, MB(125));
	REQUIRE(fill(m, &fs, s) == 0);
	CHECK(p->valid & NB_VALID_MEM);
	CHECK(p->valid & NB_VALID_POLICY);
	CHECK_INT(p->flags, 0);
	CHECK_INT(p->mem_source, NB_MEM_NUMA_MAPS);
	CHECK_INT(p->mem_at_us, 1000000);
	CHECK_INT(nb_snapshot_bytes(s, 0)[0], MB(100));
	CHECK_INT(nb_snapshot_bytes(s, 0)[1], MB(25) + (30 << 12));
	CHECK_INT(nb_memory_cost(m).n_maps, 1);

	REQUIRE(nb_bitmap_set(&nodes, 1) == 0);
	REQUIRE(nb_memory_files(m, key, &nodes, &files) == 0);
	CHECK_INT(files.at_us, 1000000);
	CHECK_INT(files.anon_bytes, MB(25));
	CHECK_INT(files.file_bytes, 30 << 12);
	CHECK(files.dirty);

	/* the next tick shows the same, and says how old it is */
	put_maps(&t, 4242, 0, 32000);
	p = one_process(s, 2000000, key, MB(125));
	REQUIRE(fill(m, &fs, s) == 0);
	CHECK_INT(nb_memory_cost(m).n_maps, 1);
	CHECK(p->flags & NB_PROC_MEM_STALE);
	CHECK_INT(p->mem_at_us, 1000000);
	CHECK_INT(nb_snapshot_bytes(s, 0)[0], MB(100));

	/* B06: another process with this number is new */
	one_process(s, 3000000, reused, MB(125));
	REQUIRE(fill(m, &fs, s) == 0);
	CHECK_INT(nb_memory_cost(m).n_maps, 2);
	CHECK_INT(nb_snapshot_bytes(s, 0)[0], 0);
	CHECK_INT(nb_memory_files(m, reused, &nodes, &files), 0);
}

TEST(hold_and_touch)
{
	_cleanup_tree_ struct tree t = tree_new();
	_cleanup_procfs_ struct nb_procfs fs = {};
	_cleanup_memory_ struct nb_memory *m = NULL;
	_cleanup_snapshot_ struct nb_snapshot *s = NULL;
	struct nb_key key = {.pid = 4242, .start = 1000};
	struct nb_process *p;

	REQUIRE(nb_memory_new(&m) == 0 && nb_snapshot_new(&s) == 0);
	put_maps(&t, 4242, 25600, 6400);
	REQUIRE(open_as_live(&t, &fs) == 0);
	nb_memory_touch(m, key); /* never seen: nothing to do */
	one_process(s, 1000000, key, MB(125));
	REQUIRE(fill(m, &fs, s) == 0);
	CHECK_INT(nb_memory_cost(m).n_maps, 1);

	/* in flight: not even when it is old, and grew */
	nb_memory_hold(m, key, true);
	nb_memory_hold(m, key, true);
	for (unsigned tick = 2; tick < 40; tick++) {
		p = one_process(s, tick * 1000000, key, MB(500));
		REQUIRE(fill(m, &fs, s) == 0);
		CHECK(p->flags & NB_PROC_MEM_STALE);
	}
	CHECK_INT(nb_memory_cost(m).n_maps, 1);
	nb_memory_hold(m, key, false);
	one_process(s, 40000000, key, MB(125));
	REQUIRE(fill(m, &fs, s) == 0);
	CHECK_INT(nb_memory_cost(m).n_maps, 1);

	/* the end of the last one: looked at in the next tick, and the ones after it */
	put_maps(&t, 4242, 0, 32000);
	nb_memory_hold(m, key, false);
	p = one_process(s, 41000000, key, MB(125));
	REQUIRE(fill(m, &fs, s) == 0);
	CHECK_INT(nb_memory_cost(m).n_maps, 2);
	CHECK(!(p->flags & NB_PROC_MEM_STALE));
	CHECK_INT(nb_snapshot_bytes(s, 0)[0], 0);
	one_process(s, 42000000, key, MB(125));
	REQUIRE(fill(m, &fs, s) == 0);
	CHECK_INT(nb_memory_cost(m).n_maps, 3);
	nb_memory_hold(m, key, false); /* once too often: ignored */
	for (unsigned tick = 43; tick < 60; tick++) {
		one_process(s, tick * 1000000, key, MB(125));
		REQUIRE(fill(m, &fs, s) == 0);
	}
	/* A hold of a process that was never read, and is then gone, is forgotten. */
	nb_memory_hold(m, (struct nb_key){.pid = 1, .start = 1}, true);
	nb_memory_hold(m, (struct nb_key){.pid = 1, .start = 1}, false);
}

/* A13, E15 */
TEST(refused_and_gone)
{
	_cleanup_tree_ struct tree t = tree_new();
	_cleanup_procfs_ struct nb_procfs fs = {};
	_cleanup_memory_ struct nb_memory *m = NULL;
	_cleanup_snapshot_ struct nb_snapshot *s = NULL;
	struct nb_process *p;

	REQUIRE(nb_memory_new(&m) == 0 && nb_snapshot_new(&s) == 0);
	REQUIRE(open_as_live(&t, &fs) == 0);
	tree_put(&t, "proc/5/numa_maps", "%s", "");
	p = one_process(s, 1000000, (struct nb_key){.pid = 4, .start = 1}, MB(100));
	REQUIRE(fill(m, &fs, s) == 0);
	CHECK_INT(p->valid & NB_VALID_MEM, 0);
	CHECK_INT(s->gone_tasks, 1);
	p = one_process(s, 2000000, (struct nb_key){.pid = 5, .start = 1}, MB(100));
	REQUIRE(fill(m, &fs, s) == 0);
	CHECK_INT(p->valid & NB_VALID_MEM, 0);
	CHECK_INT(p->flags, 0);

	/* too large to read, and the query is refused */
	config.select.numa_maps_limit_bytes = MB(1);
	nb_memory_test(m, false, fake_query);
	n_answers = -EPERM;
	tree_put(&t, "proc/6/maps", "%s", MAPS);
	p = one_process(s, 3000000, (struct nb_key){.pid = 6, .start = 1}, MB(100));
	REQUIRE(fill(m, &fs, s) == 0);
	CHECK(p->flags & NB_PROC_DENIED);
	CHECK_INT(p->valid & NB_VALID_MEM, 0);
	CHECK_INT(nb_memory_cost(m).n_queries, 1);
	/* still so in the next tick, but not asked again */
	p = one_process(s, 4000000, (struct nb_key){.pid = 6, .start = 1}, MB(100));
	REQUIRE(fill(m, &fs, s) == 0);
	CHECK(p->flags & NB_PROC_DENIED);
	CHECK_INT(nb_memory_cost(m).n_queries, 1);
	/* later it is allowed */
	n_answers = 1;
	answers[0] = 8;
	p = one_process(s, 12000000, (struct nb_key){.pid = 6, .start = 1}, MB(100));
	REQUIRE(fill(m, &fs, s) == 0);
	CHECK_INT(p->flags, 0);
	CHECK_INT(p->mem_source, NB_MEM_QUERY);
	CHECK_INT(nb_snapshot_bytes(s, 0)[1], MB(100));
	CHECK_INT(p->valid, NB_VALID_MEM);
	/* C03: too few samples keep the old answer */
	answers[0] = -14;
	p = one_process(s, 22000000, (struct nb_key){.pid = 6, .start = 1}, MB(100));
	s->threads[0].run_ns = 1000000000; /* it does not sleep */
	REQUIRE(fill(m, &fs, s) == 0);
	CHECK_INT(nb_memory_cost(m).n_queries, 3);
	CHECK_INT(nb_snapshot_bytes(s, 0)[1], MB(100));
	CHECK(p->flags & NB_PROC_MEM_STALE);
	config.select.numa_maps_limit_bytes = MB(8192);
}

/* The dense indexes mean something else: what was read is worth nothing. */
TEST(new_topology)
{
	_cleanup_tree_ struct tree t = tree_new();
	_cleanup_procfs_ struct nb_procfs fs = {};
	_cleanup_memory_ struct nb_memory *m = NULL;
	_cleanup_snapshot_ struct nb_snapshot *s = NULL;
	struct nb_key key = {.pid = 4242, .start = 1000};
	struct nb_process *p;

	REQUIRE(nb_memory_new(&m) == 0 && nb_snapshot_new(&s) == 0);
	put_maps(&t, 4242, 25600, 6400);
	REQUIRE(open_as_live(&t, &fs) == 0);
	one_process(s, 1000000, key, MB(125));
	REQUIRE(fill(m, &fs, s) == 0);
	two_nodes.gen++;
	p = one_process(s, 2000000, key, MB(125));
	REQUIRE(fill(m, &fs, s) == 0);
	CHECK_INT(nb_memory_cost(m).n_maps, 2);
	CHECK_INT(p->mem_at_us, 2000000);
}

/* With one node there is nothing to look for. */
TEST(one_node)
{
	_cleanup_tree_ struct tree t = tree_new();
	_cleanup_procfs_ struct nb_procfs fs = {};
	_cleanup_memory_ struct nb_memory *m = NULL;
	_cleanup_snapshot_ struct nb_snapshot *s = NULL;
	struct nb_topology one = {
		.gen = 1, .n_nodes = 1, .n_ids = 1, .dense_of_id = (uint32_t[]){0}};
	struct nb_process *p;

	REQUIRE(nb_memory_new(&m) == 0 && nb_snapshot_new(&s) == 0);
	REQUIRE(open_as_live(&t, &fs) == 0);
	REQUIRE(nb_snapshot_begin(s, 5, 1, 1) == 0);
	REQUIRE(nb_snapshot_add_process(s, &p) == 0);
	p->anon_bytes = MB(100);
	REQUIRE(nb_memory_fill(m, &fs, &one, &config, s, (uint32_t[]){0}, 1) == 0);
	CHECK_INT(nb_snapshot_bytes(s, 0)[0], MB(100));
	CHECK(p->valid & NB_VALID_MEM);
	CHECK_INT(nb_memory_cost(m).n_maps, 0);
}
