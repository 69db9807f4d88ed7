/* SPDX-License-Identifier: MIT */
/* Against a real kernel with two nodes, and with cpusets: in the lab. Skipped elsewhere. */
#include "test.h"

#include <numaif.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "kid.h"
#include "linux/mover.h"
#include "linux/perform.h"
#include "linux/ranges.h"

#define MB (1ull << 20)
#define PAGE 4096ull

static bool two_nodes(void)
{
	return access("/sys/devices/system/node/node1/meminfo", R_OK) == 0;
}

#define NEED_TWO_NODES() \
	do { \
		if (!two_nodes()) { \
			test_skip("needs nodes 0 and 1"); \
			return; \
		} \
	} while (0)

/* A process with memory on node 0. */
struct holder {
	pid_t pid;
	char *memory, *shared;
	size_t size, shared_size;
	int quit; /* closed: it ends */
};

static void hold(struct holder *h, int ready, int quit, int advice, bool busy)
{
	unsigned long node0 = 1;
	char c = 0;

	if (syscall(SYS_set_mempolicy, MPOL_BIND, &node0, 8 * sizeof(node0)) < 0)
		_exit(1);
	madvise(h->memory, h->size, advice);
	memset(h->memory, 1, h->size);
	if (syscall(SYS_set_mempolicy, MPOL_DEFAULT, NULL, 0) < 0 || write(ready, &c, 1) != 1)
		_exit(1);
	if (busy) {
		fcntl(quit, F_SETFL, O_NONBLOCK);
		while (read(quit, &c, 1) < 0)
			for (size_t i = 0; i < h->size; i += PAGE)
				((volatile char *)h->memory)[i]++;
	}
	while (read(quit, &c, 1) < 0 && errno == EINTR)
		;
	_exit(0);
}

/* shared: so much is written before the fork, and shared by both since. */
static struct holder holder_start(size_t size, size_t shared, int advice, bool busy)
{
	struct holder h = {.size = size, .shared_size = shared};
	int ready[2], quit[2];
	char *map;

	/* Room to align it to huge pages. */
	map = mmap(NULL, size + 2 * MB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (map == MAP_FAILED || pipe2(ready, O_CLOEXEC) < 0 || pipe2(quit, O_CLOEXEC) < 0)
		abort();
	h.memory = (char *)(((uintptr_t)map + 2 * MB - 1) & ~(uintptr_t)(2 * MB - 1));
	if (shared) {
		h.shared = mmap(NULL, shared, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				-1, 0);
		madvise(h.shared, shared, MADV_NOHUGEPAGE);
		mbind(h.shared, shared, MPOL_BIND, &(unsigned long){1}, 64, 0);
		memset(h.shared, 1, shared);
		mbind(h.shared, shared, MPOL_DEFAULT, NULL, 0, 0);
	}
	h.pid = fork();
	if (h.pid == 0) {
		close(quit[1]);
		hold(&h, ready[1], quit[0], advice, busy);
	}
	close(ready[1]);
	close(quit[0]);
	if (read(ready[0], &(char){0}, 1) != 1)
		abort();
	close(ready[0]);
	h.quit = quit[1];
	return h;
}

static void holder_end(struct holder *h)
{
	close(h->quit);
	waitpid(h->pid, NULL, 0);
	if (h->shared)
		munmap(h->shared, h->shared_size);
}

/* Pages of a stretch of its memory that are on a node. */
static unsigned pages_on(const struct holder *h, char *from, size_t size, int node)
{
	unsigned n = 0;

	for (size_t i = 0; i < size; i += PAGE) {
		void *address = from + i;
		int status = -1;

		if (nb_syscalls_live.move_pages(h->pid, 1, &address, NULL, &status, 0) == 0)
			n += status == node;
	}
	return n;
}

static uint64_t bytes_on_source(struct nb_procfs *fs, struct nb_key key)
{
	struct nb_bitmap from = set_of("0");
	uint64_t on_from = 0, on_to;
	int fd = -1;

	if (nb_task_open(fs->proc_fd, key, &fd) == 0)
		nb_ranges_count(fd, &from, 1, &on_from, &on_to);
	nb_closep(&fd);
	nb_bitmap_done(&from);
	return on_from;
}

static atomic_uint addresses, calls;

static long counting_move_pages(pid_t pid, unsigned long n, void **pages, const int *nodes,
				int *status, int flags)
{
	if (nodes) {
		calls++;
		addresses += (unsigned)n;
	}
	return nb_syscalls_live.move_pages(pid, n, pages, nodes, status, flags);
}

static struct nb_outcome move_it(struct nb_procfs *fs, struct nb_key key, enum nb_mover mover,
				 uint32_t threads)
{
	struct nb_syscalls sys = nb_syscalls_live;
	struct nb_bucket bucket = NB_BUCKET_INIT;
	struct nb_job j = {
		.action = {.key = key, .what = NB_MEMORY, .to = 1, .mem_to = 1},
		.settings = {.mover = mover,
			     .mover_threads = threads,
			     .chunk_time_us = 50000,
			     .whole_limit_bytes = 1 << 30},
		.mem_from = set_of("0"),
		.mem_to = 1,
	};
	struct nb_outcome o = {};

	addresses = calls = 0;
	sys.move_pages = counting_move_pages;
	nb_perform(
		&(struct nb_perform){
			.fs = fs, .sys = &sys, .node_bucket = &bucket, .all_bucket = &bucket},
		&j, &o);
	nb_bitmap_done(&j.mem_from);
	return o;
}

static unsigned huge_kb(pid_t pid)
{
	_cleanup_text_ struct nb_text text = {};
	char path[64], *p;

	snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", pid);
	if (nb_text_read(&text, AT_FDCWD, path) < 0 || !(p = strstr(text.data, "AnonHugePages:")))
		return 0;
	return (unsigned)strtoul(p + strlen("AnonHugePages:"), NULL, 10);
}

#define NEAR(a, b, by) ((a) <= (b) + (by) && (b) <= (a) + (by))

TEST(nodes_chunks_of_small_pages)
{
	struct nb_procfs fs = {};
	struct holder h;
	struct nb_key key;
	struct nb_outcome o;
	uint64_t before, after;

	NEED_TWO_NODES();
	REQUIRE(nb_procfs_open("", &fs) == 0);
	h = holder_start(48 * MB, 0, MADV_NOHUGEPAGE, false);
	key = key_of(h.pid, h.pid);
	CHECK_INT(pages_on(&h, h.memory, h.size, 0), 48 * 256);
	before = bytes_on_source(&fs, key);
	o = move_it(&fs, key, NB_MOVER_MOVE_PAGES, 1);
	after = bytes_on_source(&fs, key);
	CHECK_INT(o.error, 0);
	CHECK_INT(pages_on(&h, h.memory, h.size, 1), 48 * 256);
	/* What it says is what numa_maps says. */
	CHECK(NEAR(o.bytes_moved, before - after, 2 * PAGE));
	CHECK(o.bytes_moved >= 48 * MB);
	CHECK(calls > 3); /* more than one chunk */
	printf("# %u calls, %u addresses\n", calls, addresses);
	holder_end(&h);
	nb_procfs_close(&fs);
}

TEST(nodes_chunks_of_huge_pages)
{
	struct nb_procfs fs = {};
	struct holder h;
	struct nb_key key;
	struct nb_outcome o;
	uint64_t before, after;
	unsigned huge;

	NEED_TWO_NODES();
	REQUIRE(nb_procfs_open("", &fs) == 0);
	h = holder_start(64 * MB, 0, MADV_HUGEPAGE, false);
	key = key_of(h.pid, h.pid);
	huge = huge_kb(h.pid);
	if (huge < 64 << 10) {
		holder_end(&h);
		nb_procfs_close(&fs);
		test_skip("no transparent huge pages to be had");
		return;
	}
	before = bytes_on_source(&fs, key);
	o = move_it(&fs, key, NB_MOVER_MOVE_PAGES, 1);
	after = bytes_on_source(&fs, key);
	CHECK_INT(o.error, 0);
	CHECK_INT(pages_on(&h, h.memory, h.size, 1), 64 * 256);
	CHECK(NEAR(o.bytes_moved, before - after, 2 * PAGE));
	CHECK_INT(huge_kb(h.pid), huge); /* none was split */
	CHECK(addresses < 32 + 512);
	printf("# %u calls, %u addresses\n", calls, addresses);
	holder_end(&h);
	nb_procfs_close(&fs);
}

/* Written to while it moves, by several movers. */
TEST(nodes_busy_memory)
{
	struct nb_procfs fs = {};
	struct holder h;
	struct nb_outcome o;

	NEED_TWO_NODES();
	REQUIRE(nb_procfs_open("", &fs) == 0);
	h = holder_start(48 * MB, 0, MADV_HUGEPAGE, true);
	o = move_it(&fs, key_of(h.pid, h.pid), NB_MOVER_MOVE_PAGES, 2);
	CHECK_INT(o.error, 0);
	CHECK(pages_on(&h, h.memory, h.size, 1) >= 48 * 256 * 99 / 100);
	CHECK(o.bytes_moved >= 47 * MB);
	holder_end(&h);
	nb_procfs_close(&fs);
}

/* C10, C15: pages that are shared stay where they are, either way. */
TEST(nodes_shared_pages_stay)
{
	struct nb_procfs fs = {};
	struct nb_key key;
	struct holder h;
	struct nb_outcome o;
	uint64_t before, after;

	NEED_TWO_NODES();
	REQUIRE(nb_procfs_open("", &fs) == 0);
	for (int i = 0; i < 2; i++) {
		bool whole = i == 0;

		h = holder_start(16 * MB, 8 * MB, MADV_NOHUGEPAGE, false);
		key = key_of(h.pid, h.pid);
		before = bytes_on_source(&fs, key);
		o = move_it(&fs, key, whole ? NB_MOVER_MIGRATE_PAGES : NB_MOVER_MOVE_PAGES, 1);
		after = bytes_on_source(&fs, key);
		CHECK_INT(o.error, 0);
		CHECK_INT(calls > 0, !whole);
		CHECK_INT(pages_on(&h, h.memory, h.size, 1), 16 * 256);
		CHECK_INT(pages_on(&h, h.shared, h.shared_size, 0), 8 * 256);
		CHECK(NEAR(o.bytes_moved, before - after, 2 * PAGE));
		CHECK(o.bytes_moved >= 16 * MB && o.bytes_moved < 20 * MB);
		if (!whole)
			CHECK(o.pages_refused[NB_REFUSED_SHARED] > 0);
		holder_end(&h);
	}
	nb_procfs_close(&fs);
}

/* --- cpusets: kernels before and after 6.2 differ -------------------------------------- */

#define GROUP "/sys/fs/cgroup/nb-test"

static bool write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return ok;
}

static void cpuset(const char *cpus)
{
	CHECK(write_text(GROUP "/cpuset.cpus", cpus));
}

/* A process in a cpuset of both CPUs, or false. */
static bool in_cpuset(struct kid *k)
{
	char pid[16];

	if (access("/sys/fs/cgroup/cgroup.subtree_control", W_OK) < 0 ||
	    !write_text("/sys/fs/cgroup/cgroup.subtree_control", "+cpuset") ||
	    (mkdir(GROUP, 0755) < 0 && errno != EEXIST))
		return false;
	*k = kid_start();
	snprintf(pid, sizeof(pid), "%d", k->pid);
	if (!write_text(GROUP "/cpuset.cpus", "0-1") || !write_text(GROUP "/cgroup.procs", pid)) {
		kid_end(k);
		rmdir(GROUP);
		return false;
	}
	return true;
}

static enum nb_mask_owner owner_of(struct nb_masks *m, struct nb_key key, char *ret, size_t size)
{
	_cleanup_bitmap_ struct nb_bitmap now = {}, original = {};
	enum nb_mask_owner owner;

	nb_affinity_get(&nb_syscalls_live, key.pid, &now);
	owner = nb_masks_original(m, key, 1, key, &now, &original);
	nb_bitmap_format_list(&original, ret, size);
	return owner;
}

#define CPUSET_TEST(id) \
	static void id(struct kid *k, struct nb_key key, struct nb_masks *m, \
		       const struct nb_bitmap *zero); \
	TEST(id) \
	{ \
		struct nb_bitmap zero = set_of("0"); \
		struct nb_masks *m = NULL; \
		struct kid k; \
\
		if (!have_two_cpus() || !in_cpuset(&k)) { \
			test_skip("needs two CPUs and the cpuset controller of cgroup version 2"); \
		} else { \
			REQUIRE(nb_masks_new("", NULL, &m) == 0); \
			id(&k, key_of(k.pid, k.pid), m, &zero); \
			kid_end(&k); \
			rmdir(GROUP); \
		} \
		nb_masks_free(m); \
		nb_bitmap_done(&zero); \
	} \
	static void id(struct kid *k, struct nb_key key, struct nb_masks *m, \
		       const struct nb_bitmap *zero)

/* After a release the cpuset rules alone, as if we had not been there. */
CPUSET_TEST(cpuset_follows_after_release)
{
	CHECK_INT(nb_masks_set(m, key, key, zero), 0);
	CHECK_STR(mask_of(k->pid), "0");
	CHECK_INT(nb_masks_release(m, key), 0);
	CHECK_STR(mask_of(k->pid), "0-1");
	cpuset("1");
	CHECK_STR(mask_of(k->pid), "1");
	cpuset("0-1");
	CHECK_STR(mask_of(k->pid), "0-1");
}

/* It was narrow when we began: a later, larger cpuset applies all the same. */
CPUSET_TEST(cpuset_widened_later)
{
	struct nb_restore_counts counts;
	struct nb_bitmap one = set_of("1");
	char text[64];

	cpuset("0");
	CHECK_INT(nb_masks_set(m, key, key, &one), -EINVAL); /* D14: not its CPU */
	CHECK_STR(mask_of(k->pid), "0");
	CHECK_INT(nb_masks_set(m, key, key, zero), 0); /* all it has: nothing of ours */
	CHECK_INT(owner_of(m, key, text, sizeof(text)), NB_MASK_OWN);
	cpuset("0-1");
	CHECK_STR(mask_of(k->pid), "0-1");
	CHECK_INT(nb_masks_set(m, key, key, &one), 0);
	CHECK_STR(mask_of(k->pid), "1");
	CHECK_INT(nb_masks_restore_all(m, &counts), 0);
	CHECK_INT(counts.restored, 1);
	CHECK_STR(mask_of(k->pid), "0-1");
	nb_bitmap_done(&one);
}

/* The cpuset leaves nothing of our mask. A newer kernel remembers it nevertheless. */
CPUSET_TEST(cpuset_takes_our_mask_away)
{
	struct nb_restore_counts counts;
	char text[64];

	CHECK_INT(nb_masks_set(m, key, key, zero), 0);
	cpuset("1");
	CHECK_STR(mask_of(k->pid), "1");
	CHECK_INT(owner_of(m, key, text, sizeof(text)), NB_MASK_OURS);
	CHECK_STR(text, "0-1");
	CHECK_INT(nb_masks_restore_all(m, &counts), 0);
	CHECK_INT(counts.restored, 1);
	CHECK_STR(mask_of(k->pid), "1");
	cpuset("0-1");
	CHECK_STR(mask_of(k->pid), "0-1");
}

/* Taken away and given again: an older kernel has forgotten our mask, a newer one not. */
CPUSET_TEST(cpuset_comes_back)
{
	struct nb_restore_counts counts;
	char text[64];

	CHECK_INT(nb_masks_set(m, key, key, zero), 0);
	cpuset("1");
	CHECK_INT(owner_of(m, key, text, sizeof(text)), NB_MASK_OURS);
	cpuset("0-1");
	if (strcmp(mask_of(k->pid), "0") == 0) {
		CHECK_INT(owner_of(m, key, text, sizeof(text)), NB_MASK_OURS);
		CHECK_STR(text, "0-1");
	} else {
		CHECK_STR(mask_of(k->pid), "0-1");
		CHECK_INT(owner_of(m, key, text, sizeof(text)), NB_MASK_OVERRULED);
	}
	CHECK_INT(nb_masks_restore_all(m, &counts), 0);
	CHECK_STR(mask_of(k->pid), "0-1");
	cpuset("1");
	cpuset("0-1");
	CHECK_STR(mask_of(k->pid), "0-1");
}

/* An owner's own mask stays the owner's. */
CPUSET_TEST(cpuset_and_owner)
{
	struct nb_bitmap one = set_of("1");
	char text[64];

	kid_tell(k, '0');
	CHECK_INT(nb_masks_set(m, key, key, &one), -EINVAL);
	CHECK_STR(mask_of(k->pid), "0");
	kid_tell(k, 'a');
	CHECK_INT(nb_masks_set(m, key, key, zero), 0);
	kid_tell(k, '1');
	CHECK_INT(owner_of(m, key, text, sizeof(text)), NB_MASK_OVERRULED);
	nb_bitmap_done(&one);
}
