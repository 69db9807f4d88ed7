/* SPDX-License-Identifier: MIT */
#include "test.h"

#include "fake_machine.h"

static struct nb_settings settings;
static struct nb_page_move move;
static struct nb_syscalls sys;
static struct nb_procfs fs;
static struct nb_bitmap from;
static struct nb_page_result res;

/* Everything from node 0 to node 1; what a test wants otherwise it changes. */
static void setup(unsigned n)
{
	fake_start(n);
	sys = (struct nb_syscalls){
		.move_pages = fake_move_pages,
		.now_us = fake_now,
		.cpu_us = fake_cpu,
		.sleep_us = fake_sleep,
	};
	settings = (struct nb_settings){
		.mover_threads = 1, .chunk_time_us = 50000, .reserve_pmy = 500};
	move = (struct nb_page_move){
		.sys = &sys,
		.fs = &fs,
		.key = {.pid = PID, .start = START},
		.from = &from,
		.to = 1,
		.settings = &settings,
	};
	res = (struct nb_page_result){};
	if (nb_procfs_open(fake.root, &fs) < 0 || nb_bitmap_set(&from, 0) < 0 ||
	    nb_task_open(fs.proc_fd, move.key, &move.task_fd) < 0)
		abort();
}

static void teardown(void)
{
	close(move.task_fd);
	nb_procfs_close(&fs);
	nb_bitmap_done(&from);
	fake_end();
}

static int run(void)
{
	_cleanup_ranges_ struct nb_ranges ranges = {};
	int r;

	fake_maps();
	r = nb_ranges_read(move.task_fd, &(struct nb_range_options){.from = &from}, &ranges);
	return r < 0 ? r : nb_pages_move(&move, &ranges, &res);
}

static uint64_t refused(void)
{
	uint64_t n = 0;

	for (int i = 0; i < NB_REFUSED_COUNT; i++)
		n += res.pages_refused[i];
	return n;
}

TEST(pages_small)
{
	setup(5000);
	CHECK_INT(run(), 0);
	CHECK_INT(fake_on(1), 5000);
	CHECK_INT(res.bytes_moved, 5000 * PAGE);
	CHECK_INT(refused(), 0);
	CHECK_INT(fake.flags, MPOL_MF_MOVE); /* C05, C15: never MOVE_ALL */
	teardown();
}

/* One address a huge page. */
TEST(pages_huge)
{
	setup(20 * HUGE_PAGES);
	memset(fake.huge, true, sizeof(fake.huge));
	CHECK_INT(run(), 0);
	CHECK_INT(fake_on(1), 20 * HUGE_PAGES);
	CHECK_INT(res.bytes_moved, 20 * HUGE_PAGES * PAGE);
	CHECK_INT(fake.addresses_moved, 20);
	CHECK_INT(refused(), 0);
	teardown();
}

TEST(pages_mixed)
{
	setup(33 * HUGE_PAGES + 77);
	for (unsigned b = 0; b < 33; b++)
		fake.huge[b] = b % 3 == 0;
	CHECK_INT(run(), 0);
	CHECK_INT(fake_on(1), fake.n_pages);
	CHECK_INT(res.bytes_moved, fake.n_pages * PAGE);
	CHECK_INT(refused(), 0);
	teardown();
}

/* Pages that are at the target already, or elsewhere, or nowhere, do not count. */
TEST(pages_some_are_there)
{
	setup(4000);
	for (unsigned i = 0; i < 4000; i++)
		fake.node[i] = i % 4 == 0 ? 0 : i % 4 == 1 ? 1 : i % 4 == 2 ? 5 : ABSENT;
	CHECK_INT(run(), 0);
	CHECK_INT(res.bytes_moved, 1000 * PAGE);
	CHECK_INT(fake_on(0), 0);
	CHECK_INT(fake_on(1), 2000);
	CHECK_INT(fake_on(5), 1000);
	CHECK_INT(refused(), 0);
	teardown();
}

/* The table of answers: statuses. */
TEST(pages_statuses)
{
	static const struct {
		int status;
		enum nb_refused why;
		int end;
	} rows[] = {
		{-EACCES, NB_REFUSED_SHARED, 0},      {-EBUSY, NB_REFUSED_BUSY, 0},
		{-EFAULT, NB_REFUSED_ABSENT, 0},      {-ENOENT, NB_REFUSED_ABSENT, 0},
		{-EIO, NB_REFUSED_OTHER, 0},          {-ENOSYS, NB_REFUSED_OTHER, 0},
		{-ENOMEM, NB_REFUSED_NOMEM, -ENOMEM},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		setup(1000);
		for (unsigned p = 0; p < 1000; p += 10)
			fake.refuse[p] = rows[i].status;
		CHECK_INT(run(), rows[i].end);
		if (rows[i].end < 0) { /* it ends at the first chunk that says so */
			CHECK(res.pages_refused[rows[i].why] > 0);
			CHECK_INT(res.bytes_moved, fake_on(1) * PAGE);
			teardown();
			continue;
		}
		CHECK_INT(res.pages_refused[rows[i].why], 100);
		CHECK_INT(refused(), 100);
		CHECK_INT(res.bytes_moved, 900 * PAGE);
		CHECK_INT(fake_on(1), 900);
		teardown();
	}
}

/* The table of answers: errors of the whole call. */
TEST(pages_call_errors)
{
	static const int errors[] = {-ENODEV, -EINVAL, -EPERM, -ESRCH, -ENOSYS, -ENOMEM, -EFAULT};

	for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++) {
		setup(9000);
		fake.error = errors[i];
		CHECK_INT(run(), errors[i]);
		CHECK_INT(res.bytes_moved, 0);
		CHECK_INT(fake.move_calls, 1); /* no storm */
		teardown();
	}
	/* Old kernels: nothing of it is there (any more). */
	setup(100);
	fake.error = -ENOENT;
	CHECK_INT(run(), 0);
	CHECK_INT(res.pages_refused[NB_REFUSED_ABSENT], 100);
	teardown();
}

/* C05: a positive answer is partial. Pages that the kernel did not come to are moved. */
TEST(pages_positive_answer)
{
	setup(3000);
	fake.pinned[100] = true;
	fake.refuse[200] = -EACCES;
	fake.pinned[1500] = true;
	fake.refuse[2500] = -EBUSY;
	CHECK_INT(run(), 0);
	CHECK_INT(fake_on(1), 2996);
	CHECK_INT(res.bytes_moved, 2996 * PAGE);
	CHECK_INT(res.pages_refused[NB_REFUSED_SHARED], 1);
	CHECK_INT(res.pages_refused[NB_REFUSED_BUSY], 3);
	teardown();
}

/* C11: nothing of it can be moved; that is seen soon. */
TEST(pages_all_busy)
{
	setup(60000);
	for (unsigned p = 0; p < 60000; p++)
		fake.refuse[p] = -EBUSY;
	CHECK_INT(run(), -EBUSY);
	CHECK_INT(res.bytes_moved, 0);
	CHECK(res.pages_refused[NB_REFUSED_BUSY] < 10000);
	CHECK_INT(res.pages_refused[NB_REFUSED_BUSY], refused());
	teardown();
	setup(60000);
	memset(fake.pinned, true, sizeof(fake.pinned));
	CHECK_INT(run(), -EBUSY);
	CHECK(fake.move_calls < 100);
	teardown();
}

/* C09: a call takes about as long as the goal says. */
TEST(pages_chunks)
{
	setup(60000);
	fake.us_per_page = 1000; /* 4 MB/s */
	CHECK_INT(run(), 0);
	CHECK_INT(fake_on(1), 60000);
	/* The first chunk is a guess; the rest is not beyond twice the goal. */
	CHECK(fake.longest_call <= 1024);
	CHECK(fake.move_calls >= 60000 / 100);
	teardown();
	/* Fast, but each call is dear: few, larger ones. */
	setup(60000);
	fake.us_per_page = 1;
	fake.us_per_call = 5000;
	CHECK_INT(run(), 0);
	CHECK(fake.move_calls < 30);
	teardown();
}

static unsigned stop_after;

static bool stop_now(void *arg)
{
	(void)arg;
	return fake.move_calls >= stop_after;
}

TEST(pages_stop)
{
	setup(60000);
	move.stop = stop_now;
	stop_after = 3;
	CHECK_INT(run(), -ECANCELED);
	CHECK(fake.move_calls >= 3 && fake.move_calls <= 6);
	CHECK_INT(res.bytes_moved, fake_on(1) * PAGE);
	CHECK(fake_on(1) > 0 && fake_on(1) < 60000);
	teardown();
}

static void fill_target(void)
{
	fake_meminfo(1, 64ul << 20, 1ul << 20);
}

/* C13: the room is looked at between chunks. */
TEST(pages_room)
{
	setup(60000);
	fake.after_move = fill_target;
	CHECK_INT(run(), -ENOMEM);
	CHECK(fake.move_calls <= 8);
	CHECK(res.bytes_moved > 0);
	CHECK_INT(res.bytes_moved, fake_on(1) * PAGE);
	teardown();

	setup(100);
	fake_meminfo(1, 1000 << 10, 60 << 10); /* 60 MB of 1,000 MB free, 50 MB are reserved */
	CHECK_INT(nb_pages_check_target(&move, 9 << 20), 0);
	CHECK_INT(nb_pages_check_target(&move, 11 << 20), -ENOMEM);
	fake_meminfo(1, 0, 0); /* without memory */
	CHECK_INT(nb_pages_check_target(&move, 0), -ENODEV);
	move.to = 7; /* no such node */
	CHECK_INT(nb_pages_check_target(&move, 0), -ENODEV);
	teardown();
}

/* C06: not a node of its cpuset. */
TEST(pages_target_not_allowed)
{
	setup(100);
	fake_file("proc/4242/status", "Name:\tfake\nMems_allowed_list:\t0,2-7\n");
	CHECK_INT(nb_pages_check_target(&move, 0), -EINVAL);
	CHECK_INT(run(), -EINVAL);
	CHECK_INT(fake.move_calls, 0);
	teardown();
}

static void replace_process(void)
{
	fake_stat(START + 8000);
}

/* B06: the process ended and its number is another's. */
TEST(pages_identity)
{
	setup(60000);
	fake.after_move = replace_process;
	CHECK_INT(run(), -ESRCH);
	CHECK(fake.move_calls <= 8); /* of one chunk */
	teardown();
}

TEST(pages_rate_limit)
{
	struct nb_bucket bucket = NB_BUCKET_INIT;

	setup(10000);
	fake.us_per_page = 1;
	settings.rate_limit_bps = 10000000;
	move.bucket = &bucket;
	CHECK_INT(run(), 0);
	CHECK_INT(res.bytes_moved, 10000 * PAGE);
	/* 41 MB at 10 MB a second, less the last slice, which nobody waits for. */
	CHECK(fake.now_us > 3700000);
	CHECK(fake.now_us < 4300000);
	teardown();
}

TEST(pages_budget)
{
	setup(60000);
	move.budget_bytes = 16 << 20;
	CHECK_INT(run(), 0);
	CHECK(res.bytes_moved >= 16 << 20);
	CHECK(res.bytes_moved <= 40 << 20); /* and the chunk in which it is reached */
	teardown();
}

TEST(pages_several_threads)
{
	setup(60000);
	for (unsigned b = 0; b < 100; b++)
		fake.huge[b] = b % 2;
	settings.mover_threads = 3;
	CHECK_INT(run(), 0);
	CHECK_INT(fake_on(1), 60000);
	CHECK_INT(res.bytes_moved, 60000 * PAGE);
	teardown();
}

/* A mapping of which little is there is not searched to its end. */
TEST(pages_sparse)
{
	setup(60000);
	for (unsigned p = 0; p < 60000; p++)
		fake.node[p] = p >= 1024 && p < 2000 ? 0 : ABSENT;
	CHECK_INT(run(), 0);
	CHECK_INT(fake_on(1), 976);
	CHECK_INT(res.bytes_moved, 976 * PAGE);
	CHECK(fake.queries < 20);
	teardown();
}

/* What a fork left shared is given up after one call. */
TEST(pages_shared_mapping)
{
	setup(30000);
	for (unsigned p = 0; p < 30000; p++)
		fake.refuse[p] = -EACCES;
	fake_maps();
	fake_file("proc/4242/numa_maps",
		  "%llx default anon=30000 dirty=30000 mapmax=9 N0=30000 kernelpagesize_kB=4\n",
		  BASE);
	_cleanup_ranges_ struct nb_ranges ranges = {};
	REQUIRE(nb_ranges_read(move.task_fd, &(struct nb_range_options){.from = &from}, &ranges) ==
		0);
	CHECK_INT(nb_pages_move(&move, &ranges, &res), 0);
	CHECK(fake.move_calls < 8);
	CHECK_INT(res.bytes_moved, 0);
	teardown();
}

/* Which mappings are moved: anonymous memory, and what only looks like a file. */
TEST(ranges_choice)
{
	_cleanup_ranges_ struct nb_ranges r = {};
	struct nb_range_options o = {.from = &from};

	setup(1);
	fake_file("proc/4242/numa_maps",
		  "1000 default file=/usr/bin/app mapped=3 mapmax=2 N0=3 kernelpagesize_kB=4\n"
		  "2000000 default heap anon=2 dirty=2 active=0 N0=2 kernelpagesize_kB=4\n"
		  "3000000 default anon=5 dirty=5 N1=5 kernelpagesize_kB=4\n"
		  "4000000 default file=/srv/data\\040base dirty=7 N0=7 kernelpagesize_kB=4\n"
		  "5000000 default file=/memfd:java_heap\\040(deleted) dirty=9 N0=8 N1=1 "
		  "kernelpagesize_kB=4\n"
		  "6000000 default file=/dev/shm/seg dirty=9 mapmax=2 N0=9 kernelpagesize_kB=4\n"
		  "7000000 default file=/anon_hugepage\\040(deleted) huge anon=3 dirty=3 N0=3 "
		  "kernelpagesize_kB=2048\n"
		  "8000000 default\n"
		  "9000000 default anon=4 dirty=4 mapmax=3 N0=4 kernelpagesize_kB=4\n"
		  "a000000 default stack anon=1 dirty=1 N0=1 kernelpagesize_kB=4\n");
	fake_file("proc/4242/maps",
		  "1000-5000 r-xp 00000000 08:01 1 /usr/bin/app\n"
		  "2000000-2004000 rw-p 00000000 00:00 0 [heap]\n"
		  "3000000-3010000 rw-p 00000000 00:00 0 \n"
		  "4000000-4010000 rw-s 00000000 08:01 2 /srv/data base\n"
		  "5000000-5010000 rw-s 00000000 00:01 3 /memfd:java_heap (deleted)\n"
		  "6000000-6010000 rw-s 00000000 00:01 4 /dev/shm/seg\n"
		  "7000000-7800000 rw-p 00000000 00:0f 5 /anon_hugepage (deleted)\n"
		  "8000000-8010000 rw-p 00000000 00:00 0 \n"
		  /* 9000000 is gone since */
		  "a000000-a021000 rw-p 00000000 00:00 0 [stack]\n");
	REQUIRE(nb_ranges_read(move.task_fd, &o, &r) == 0);
	REQUIRE(r.n == 3);
	CHECK_INT(r.items[0].start, 0x2000000);
	CHECK_INT(r.items[0].end, 0x2004000);
	CHECK_INT(r.items[1].start, 0x5000000);
	CHECK_INT(r.items[1].pages, 8);
	CHECK_INT(r.items[2].start, 0xa000000);
	CHECK_INT(r.file_bytes, 10 * PAGE);
	CHECK_INT(r.hugetlb_bytes, 3 << 21);
	CHECK(r.dirty_files);
	o.file_pages = o.huge_pages = true;
	REQUIRE(nb_ranges_read(move.task_fd, &o, &r) == 0);
	REQUIRE(r.n == 5);
	CHECK_INT(r.items[1].start, 0x4000000);
	CHECK_INT(r.items[3].page_bytes, 1 << 21);
	CHECK(r.items[3].hugetlb);
	/* A13: a kernel thread's or zombie's is empty. */
	fake_file("proc/4242/numa_maps", "%s", "");
	CHECK_INT(nb_ranges_read(move.task_fd, &o, &r), 0);
	CHECK_INT(r.n, 0);
	teardown();
}

static struct {
	unsigned long maxnode, from[20], to[20];
	bool nice, nice_in_call;
	int nice_calls, nice_error;
	long answer;
} seen;

static int fake_nice(bool on)
{
	seen.nice_calls++;
	if (seen.nice_error)
		return seen.nice_error;
	if (seen.nice == on)
		return 0;
	seen.nice = on;
	return 1;
}

static long fake_migrate_pages(pid_t pid, unsigned long maxnode, const unsigned long *old,
			       const unsigned long *new)
{
	size_t bytes = (maxnode - 1 + 63) / 64 * 8; /* what the kernel reads */

	(void)pid;
	seen.maxnode = maxnode;
	memset(seen.from, 0, sizeof(seen.from));
	memset(seen.to, 0, sizeof(seen.to));
	memcpy(seen.from, old, bytes);
	memcpy(seen.to, new, bytes);
	seen.nice_in_call = seen.nice;
	if (seen.answer < 0)
		return seen.answer;
	for (unsigned i = 0; i < fake.n_pages; i++)
		if (fake.node[i] == 0 && i >= (unsigned)seen.answer)
			fake.node[i] = (int)move.to;
	fake_maps();
	return seen.answer;
}

static bool bit(const unsigned long *longs, unsigned i)
{
	return longs[i / 64] >> (i % 64) & 1;
}

/* C07: the last node reaches the kernel. C10: only private pages are asked for. */
TEST(pages_migrate)
{
	static const unsigned nodes[] = {1, 7, 63, 64, 127, 128, 255};

	for (size_t i = 0; i < sizeof(nodes) / sizeof(*nodes); i++) {
		setup(500);
		memset(&seen, 0, sizeof(seen));
		seen.nice = true;
		sys.migrate_pages = fake_migrate_pages;
		sys.set_nice_cap = fake_nice;
		fake_maps();
		move.to = nodes[i];
		CHECK_INT(nb_pages_migrate(&move, &res), 0);
		CHECK(seen.maxnode - 1 > nodes[i]);
		CHECK(bit(seen.from, 0) && !bit(seen.from, nodes[i]));
		CHECK(bit(seen.to, nodes[i]) && !bit(seen.to, 0));
		CHECK(!seen.nice_in_call);
		CHECK(seen.nice);
		CHECK_INT(res.bytes_moved, 500 * PAGE);
		CHECK_INT(refused(), 0);
		teardown();
	}
	/* The last node is a source, the first the target. */
	setup(10);
	nb_bitmap_clear(&from, 0);
	nb_bitmap_set(&from, 64);
	sys.migrate_pages = fake_migrate_pages;
	sys.set_nice_cap = fake_nice;
	move.to = 0;
	nb_pages_migrate(&move, &res);
	CHECK(bit(seen.from, 64) && bit(seen.to, 0));
	teardown();
}

TEST(pages_migrate_answers)
{
	static const int errors[] = {-EINVAL, -EPERM, -ESRCH, -ENOSYS, -ENOMEM};

	setup(500);
	memset(&seen, 0, sizeof(seen));
	seen.nice = true;
	seen.answer = 37;
	sys.migrate_pages = fake_migrate_pages;
	sys.set_nice_cap = fake_nice;
	fake_maps();
	CHECK_INT(nb_pages_migrate(&move, &res), 0); /* partial, not an error */
	CHECK_INT(res.bytes_moved, 463 * PAGE);
	CHECK_INT(res.pages_refused[NB_REFUSED_BUSY], 37);
	for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++) {
		res = (struct nb_page_result){};
		seen.answer = errors[i];
		CHECK_INT(nb_pages_migrate(&move, &res), errors[i]);
		CHECK_INT(res.bytes_moved, 0);
		CHECK(seen.nice); /* given back */
	}
	/* It cannot be dropped: then the call is not made, as it would move shared pages. */
	seen.maxnode = 0;
	seen.nice_error = -EPERM;
	CHECK_INT(nb_pages_migrate(&move, &res), -EPERM);
	CHECK_INT(seen.maxnode, 0);
	/* A thread that never had it does not get it. */
	seen.nice_error = 0;
	seen.nice = false;
	seen.answer = 0;
	CHECK_INT(nb_pages_migrate(&move, &res), 0);
	CHECK(!seen.nice);
	teardown();
}
