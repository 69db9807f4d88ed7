/* SPDX-License-Identifier: MIT */
#include "test.h"

#include <poll.h>
#include <semaphore.h>

#include "fake_machine.h"
#include "kid.h"
#include "linux/mover.h"
#include "linux/perform.h"

static struct nb_settings default_settings(void)
{
	return (struct nb_settings){
		.one_per_node = true,
		.movers_per_node = 4,
		.mover_threads = 1,
		.whole_limit_bytes = 64 << 20,
		.chunk_time_us = 50000,
		.reserve_pmy = 500,
	};
}

static struct nb_job *job_of(struct nb_key key, uint32_t what, uint32_t to)
{
	static uint64_t id;
	struct nb_job *j = calloc(1, sizeof(*j));

	j->action = (struct nb_action){
		.id = ++id, .key = key, .what = what, .to = to, .mem_to = to, .takes_slot = true};
	j->settings = default_settings();
	j->mem_to = to;
	if (nb_bitmap_set(&j->mem_from, 0) < 0)
		abort();
	return j;
}

static struct nb_job *cpu_job(struct nb_key key, const char *cpus)
{
	struct nb_job *j = job_of(key, NB_CPU, 0);

	j->cpus = set_of(cpus);
	j->action.release = !*cpus;
	return j;
}

/* The next outcome; one that never comes fails the test by an error of its own. */
static struct nb_outcome wait_for(struct nb_mover_pool *m)
{
	struct pollfd p = {.fd = nb_mover_event_fd(m), .events = POLLIN};
	struct nb_outcome o = {.error = ETIMEDOUT};

	if (poll(&p, 1, 20000) == 1 && nb_mover_outcome(m, &o) != 1)
		o.error = ENOMSG;
	return o;
}

struct live {
	struct nb_procfs fs;
	struct nb_masks *masks;
	struct nb_mover_pool *mover;
};

static void live_start(struct live *l)
{
	*l = (struct live){};
	if (nb_procfs_open("", &l->fs) < 0 || nb_masks_new("", NULL, &l->masks) < 0 ||
	    nb_mover_new(&l->fs, l->masks, NULL, &l->mover) < 0)
		abort();
}

static void live_end(struct live *l)
{
	CHECK_INT(nb_mover_free(l->mover), 0);
	nb_masks_free(l->masks);
	nb_procfs_close(&l->fs);
}

TEST(mover_cpu)
{
	struct live l;
	struct kid k = kid_start();
	struct nb_key key = key_of(k.pid, k.pid);
	struct nb_outcome o;
	pid_t t = kid_tell(&k, 't');

	live_start(&l);
	if (!have_two_cpus()) {
		test_skip("needs CPUs 0 and 1, and no others");
	} else {
		CHECK_INT(nb_mover_outcome(l.mover, &o), 0);
		CHECK_INT(nb_mover_start(l.mover, cpu_job(key, "0")), 0);
		o = wait_for(l.mover);
		CHECK_INT(o.error, 0);
		CHECK_INT(o.threads_set, 2);
		CHECK_INT(o.threads_failed, 0);
		CHECK(o.ended_us >= o.started_us && o.started_us > 0);
		CHECK(nb_key_equal(o.key, key));
		CHECK_STR(mask_of(k.pid), "0");
		CHECK_STR(mask_of(t), "0");
		CHECK_INT(nb_mover_outcome(l.mover, &o), 0);
		CHECK_INT(nb_mover_start(l.mover, cpu_job(key, "")), 0);
		CHECK_INT(wait_for(l.mover).error, 0);
		CHECK_STR(mask_of(k.pid), "0-1");
		CHECK_STR(mask_of(t), "0-1");
	}
	kid_end(&k);
	live_end(&l);
}

/* hold = nudge: it is there, and its mask is its own again. */
TEST(mover_nudge)
{
	struct live l;
	struct kid k = kid_start();
	struct nb_restore_counts counts;
	struct nb_key key = key_of(k.pid, k.pid);
	struct nb_job *j = cpu_job(key, "1");
	struct nb_outcome o;

	live_start(&l);
	j->settings.hold = NB_HOLD_NUDGE;
	if (!have_two_cpus()) {
		nb_job_free(j);
		test_skip("needs CPUs 0 and 1, and no others");
	} else {
		CHECK_INT(nb_mover_start(l.mover, j), 0);
		o = wait_for(l.mover);
		CHECK_INT(o.error, 0);
		CHECK_INT(o.threads_set, 1);
		CHECK_STR(mask_of(k.pid), "0-1");
		CHECK_INT(nb_masks_restore_all(l.masks, &counts), 0);
		CHECK_INT(counts.restored, 0);
	}
	kid_end(&k);
	live_end(&l);
}

TEST(mover_gone_and_stale)
{
	struct live l;
	struct kid k = kid_start();
	struct nb_key key = key_of(k.pid, k.pid), other = {.pid = k.pid, .start = 1};
	struct nb_job *j;

	live_start(&l);
	CHECK_INT(nb_mover_start(l.mover, cpu_job(other, "0")), 0);
	CHECK_INT(wait_for(l.mover).error, ESRCH);
	CHECK_INT(nb_mover_start(l.mover, job_of(other, NB_MEMORY, 1)), 0);
	CHECK_INT(wait_for(l.mover).error, ESRCH);
	/* The nodes changed since it was planned. */
	nb_mover_set_topology(l.mover, 7);
	CHECK_INT(nb_mover_start(l.mover, cpu_job(key, "0")), 0);
	CHECK_INT(wait_for(l.mover).error, ESTALE);
	j = cpu_job(key, "0-1");
	j->topology_gen = 7;
	CHECK_INT(nb_mover_start(l.mover, j), 0);
	CHECK_INT(wait_for(l.mover).error, 0);
	/* Giving back needs no node. */
	CHECK_INT(nb_mover_start(l.mover, cpu_job(key, "")), 0);
	CHECK_INT(wait_for(l.mover).error, 0);
	/* No CPU of the set is its own. */
	j = cpu_job(key, "60000");
	j->topology_gen = 7;
	CHECK_INT(nb_mover_start(l.mover, j), 0);
	CHECK_INT(wait_for(l.mover).error, EINVAL);
	kid_end(&k);
	CHECK_INT(nb_mover_start(l.mover, cpu_job(key, "")), 0);
	CHECK_INT(wait_for(l.mover).error, ESRCH);
	live_end(&l);
}

/* --- a machine whose page moves wait until the test lets them go ------------------ */

static sem_t entered, gate;

static long gated_move_pages(pid_t pid, unsigned long n, void **pages, const int *nodes,
			     int *status, int flags)
{
	if (nodes) {
		sem_post(&entered);
		sem_wait(&gate);
	}
	return fake_move_pages(pid, n, pages, nodes, status, flags);
}

static const struct nb_syscalls gated = {.move_pages = gated_move_pages,
					 .now_us = fake_now,
					 .cpu_us = fake_cpu,
					 .sleep_us = fake_sleep};

static const struct nb_key fake_key = {.pid = PID, .start = START};
static struct nb_procfs fake_fs;

static struct nb_mover_pool *gated_start(void)
{
	struct nb_mover_pool *m = NULL;

	fake_start(1000);
	fake_meminfo(2, 64ul << 20, 32ul << 20);
	sem_init(&entered, 0, 0);
	sem_init(&gate, 0, 0);
	if (nb_procfs_open(fake.root, &fake_fs) < 0 || nb_mover_new(&fake_fs, NULL, &gated, &m) < 0)
		abort();
	return m;
}

static void gated_end(void)
{
	nb_procfs_close(&fake_fs);
	fake_end();
}

static struct nb_job *page_job(uint32_t to)
{
	struct nb_job *j = job_of(fake_key, NB_MEMORY, to);

	j->settings.mover = NB_MOVER_MOVE_PAGES;
	return j;
}

static void open_gate(void)
{
	for (int i = 0; i < 1000; i++)
		sem_post(&gate);
}

static int n_entered(void)
{
	int n;

	sem_getvalue(&entered, &n);
	return n;
}

/* One at a time to a node; another node does not wait for it; nor does an exchange. */
TEST(mover_one_per_node)
{
	struct nb_mover_pool *m = gated_start();
	struct nb_job *a = page_job(1), *b = page_job(1), *c = page_job(2), *d = page_job(1);
	uint64_t ids[4] = {a->action.id, b->action.id, c->action.id, d->action.id};
	uint64_t seen = 0;

	d->action.exchange = 5;
	d->action.exchange_size = 2;
	d->action.takes_slot = false;
	CHECK_INT(nb_mover_start(m, a), 0);
	sem_wait(&entered); /* a is in its call */
	CHECK_INT(nb_mover_start(m, b), 0);
	CHECK_INT(nb_mover_start(m, c), 0);
	CHECK_INT(nb_mover_start(m, d), 0);
	sem_wait(&entered); /* c and d, in any order; would b come in, too, */
	sem_wait(&entered);
	usleep(50000); /* it had the time for it */
	CHECK_INT(n_entered(), 0);
	open_gate();
	for (int i = 0; i < 4; i++) {
		struct nb_outcome o = wait_for(m);

		CHECK_INT(o.error, 0);
		for (int k = 0; k < 4; k++)
			seen |= o.action == ids[k] ? UINT64_C(1) << k : 0;
	}
	CHECK_INT(seen, 15);
	CHECK_INT(nb_mover_free(m), 0);
	gated_end();
}

TEST(mover_several_per_node)
{
	struct nb_mover_pool *m = gated_start();

	for (int i = 0; i < 5; i++) {
		struct nb_job *j = page_job(1);

		j->settings.one_per_node = false;
		j->settings.movers_per_node = 3;
		CHECK_INT(nb_mover_start(m, j), 0);
	}
	for (int i = 0; i < 3; i++)
		sem_wait(&entered);
	usleep(50000);
	CHECK_INT(n_entered(), 0);
	open_gate();
	for (int i = 0; i < 5; i++)
		CHECK_INT(wait_for(m).error, 0);
	CHECK_INT(nb_mover_free(m), 0);
	gated_end();
}

/* A group may say otherwise than the rest: the one that waits says how many may run. */
TEST(mover_mixed_limits)
{
	struct nb_mover_pool *m = gated_start();

	for (int i = 0; i < 3; i++) {
		struct nb_job *j = page_job(1);

		j->settings.one_per_node = false;
		j->settings.movers_per_node = 3;
		CHECK_INT(nb_mover_start(m, j), 0);
		sem_wait(&entered);
	}
	open_gate();
	for (int i = 0; i < 3; i++)
		CHECK_INT(wait_for(m).error, 0);
	while (sem_trywait(&gate) == 0)
		;
	while (sem_trywait(&entered) == 0)
		;
	/* Three workers are there; the next come one by one. What they move is there already
	 * unless it is put back. */
	for (unsigned i = 0; i < fake.n_pages; i++)
		fake.node[i] = 0;
	fake_maps();
	CHECK_INT(nb_mover_start(m, page_job(1)), 0);
	CHECK_INT(nb_mover_start(m, page_job(1)), 0);
	sem_wait(&entered);
	usleep(50000);
	CHECK_INT(n_entered(), 0);
	open_gate();
	for (int i = 0; i < 2; i++)
		CHECK_INT(wait_for(m).error, 0);
	CHECK_INT(nb_mover_free(m), 0);
	gated_end();
}

TEST(mover_stop)
{
	struct nb_mover_pool *m = gated_start();
	unsigned cancelled = 0;
	struct nb_outcome o;

	for (int i = 0; i < 10; i++)
		CHECK_INT(nb_mover_start(m, page_job(1)), 0);
	sem_wait(&entered);
	/* The first hangs in the kernel: the stop does not wait for it. */
	CHECK_INT(nb_mover_stop(m), -EBUSY);
	CHECK_INT(nb_mover_free(m), 1);
	{
		struct nb_job *j = page_job(1);

		CHECK_INT(nb_mover_start(m, j), -EAGAIN);
		nb_job_free(j);
	}
	open_gate();
	for (int i = 0; i < 10; i++) {
		o = wait_for(m);
		CHECK(o.error == 0 || o.error == ECANCELED);
		cancelled += o.error == ECANCELED;
	}
	CHECK(cancelled >= 9);
	/* It came back: now it can be freed, or go on. */
	CHECK_INT(nb_mover_stop(m), 0);
	CHECK_INT(nb_mover_start(m, page_job(1)), 0);
	CHECK_INT(wait_for(m).error, 0);
	CHECK_INT(nb_mover_free(m), 0);
	gated_end();
}

TEST(mover_queue_is_bounded)
{
	struct nb_mover_pool *m = gated_start();
	struct nb_job *j;
	unsigned n = 0;
	int r = 0;

	while (n < 5000) {
		j = page_job(1);
		r = nb_mover_start(m, j);
		if (r < 0) {
			nb_job_free(j);
			break;
		}
		n++;
	}
	CHECK_INT(r, -EAGAIN);
	CHECK(n >= 100 && n < 5000);
	open_gate();
	for (unsigned i = 0; i < n; i++)
		CHECK_INT(wait_for(m).error, 0);
	CHECK_INT(nb_mover_free(m), 0);
	gated_end();
}

/* Workers have names, and no signal reaches them. */
TEST(mover_threads)
{
	struct nb_mover_pool *m = gated_start();
	_cleanup_text_ struct nb_text text = {};
	struct nb_ids ids = {};
	bool found = false;
	char path[64];

	CHECK_INT(nb_mover_start(m, page_job(2)), 0);
	sem_wait(&entered);
	CHECK_INT(nb_ids_read(&ids, AT_FDCWD, "/proc/self/task"), 0);
	for (size_t i = 0; i < ids.n; i++) {
		snprintf(path, sizeof(path), "/proc/self/task/%d/status", ids.items[i].id);
		if (nb_text_read(&text, AT_FDCWD, path) < 0 ||
		    strncmp(text.data, "Name:\tnb-node2\n", 15) != 0)
			continue;
		found = true;
		CHECK(strstr(text.data, "SigBlk:\tfffffffe"));
	}
	CHECK(found);
	nb_ids_done(&ids);
	open_gate();
	CHECK_INT(wait_for(m).error, 0);
	CHECK_INT(nb_mover_free(m), 0);
	gated_end();
}

/* --- which way memory goes ----------------------------------------------------------- */

static unsigned n_migrations;

static long counting_migrate(pid_t pid, unsigned long maxnode, const unsigned long *old,
			     const unsigned long *new)
{
	(void)pid;
	(void)maxnode;
	(void)old;
	(void)new;
	n_migrations++;
	return 0;
}

static int any_nice(bool on)
{
	(void)on;
	return 1;
}

/* True if migrate_pages was called, false if move_pages was. */
static bool goes_whole(void (*change)(struct nb_job *j))
{
	struct nb_syscalls sys = {.move_pages = fake_move_pages,
				  .migrate_pages = counting_migrate,
				  .set_nice_cap = any_nice,
				  .now_us = fake_now,
				  .cpu_us = fake_cpu,
				  .sleep_us = fake_sleep};
	struct nb_bucket bucket = NB_BUCKET_INIT;
	struct nb_job *j = job_of(fake_key, NB_MEMORY, 1);
	struct nb_procfs fs = {};
	struct nb_outcome o = {};

	fake_start(1000);
	n_migrations = 0;
	if (change)
		change(j);
	if (nb_procfs_open(fake.root, &fs) < 0)
		abort();
	nb_perform(
		&(struct nb_perform){
			.fs = &fs, .sys = &sys, .node_bucket = &bucket, .all_bucket = &bucket},
		j, &o);
	CHECK_INT(o.error, 0);
	CHECK_INT(n_migrations + (fake.move_calls > 0), 1);
	nb_procfs_close(&fs);
	nb_job_free(j);
	fake_end();
	return n_migrations > 0;
}

static void larger_than_limit(struct nb_job *j)
{
	j->settings.whole_limit_bytes = 999 * PAGE;
}

static void rate_limited(struct nb_job *j)
{
	j->settings.rate_limit_bps = 1 << 30;
}

static void by_move_pages(struct nb_job *j)
{
	j->settings.mover = NB_MOVER_MOVE_PAGES;
}

static void by_migrate_pages(struct nb_job *j)
{
	j->settings.mover = NB_MOVER_MIGRATE_PAGES;
	j->settings.whole_limit_bytes = 0;
}

static void part_of_it(struct nb_job *j)
{
	j->action.bytes = 300 * PAGE;
}

static void with_files(const char *attributes, unsigned pages)
{
	fake_file("proc/4242/numa_maps",
		  "%llx default anon=1000 dirty=1000 N0=1000 kernelpagesize_kB=4\n"
		  "7fff00000000 default file=/srv/data %s N0=%u kernelpagesize_kB=4\n",
		  BASE, attributes, pages);
}

static void few_files(struct nb_job *j)
{
	(void)j;
	with_files("mapped=9", 9);
}

static void many_files(struct nb_job *j)
{
	(void)j;
	with_files("mapped=30", 30);
}

/* C10 */
static void dirty_file(struct nb_job *j)
{
	(void)j;
	with_files("dirty=1", 1);
}

static void hugetlb(struct nb_job *j)
{
	(void)j;
	fake_file("proc/4242/numa_maps",
		  "%llx default anon=1000 dirty=1000 N0=1000 kernelpagesize_kB=4\n"
		  "7fff00000000 default file=/anon_hugepage\\040(deleted) huge anon=1 dirty=1 N0=1 "
		  "kernelpagesize_kB=2048\n",
		  BASE);
}

TEST(perform_whole_or_chunks)
{
	CHECK(goes_whole(NULL));
	CHECK(goes_whole(few_files));
	CHECK(goes_whole(by_migrate_pages));
	CHECK(!goes_whole(larger_than_limit));
	CHECK(!goes_whole(rate_limited));
	CHECK(!goes_whole(by_move_pages));
	CHECK(!goes_whole(part_of_it));
	CHECK(!goes_whole(many_files));
	CHECK(!goes_whole(dirty_file));
	CHECK(!goes_whole(hugetlb));
}

/* Memory does not follow threads that could not go. */
static unsigned n_page_calls;

static long counting_move_pages(pid_t pid, unsigned long n, void **pages, const int *nodes,
				int *status, int flags)
{
	n_page_calls++;
	return nb_syscalls_live.move_pages(pid, n, pages, nodes, status, flags);
}

TEST(perform_cpu_part_first)
{
	struct nb_syscalls sys = nb_syscalls_live;
	struct nb_bucket bucket = NB_BUCKET_INIT;
	struct live l;
	struct kid k = kid_start();
	struct nb_job *j = cpu_job(key_of(k.pid, k.pid), "60000");

	live_start(&l);
	sys.move_pages = counting_move_pages;
	j->action.what = NB_CPU | NB_MEMORY;
	j->settings.mover = NB_MOVER_MOVE_PAGES;
	for (int possible = 0; possible < 2; possible++) {
		struct nb_outcome o = {};

		n_page_calls = 0;
		if (possible && nb_bitmap_set(&j->cpus, 0) < 0)
			abort();
		nb_perform(&(struct nb_perform){.fs = &l.fs,
						.masks = l.masks,
						.sys = &sys,
						.node_bucket = &bucket,
						.all_bucket = &bucket},
			   j, &o);
		CHECK_INT(o.error, possible ? 0 : EINVAL);
		CHECK_INT(n_page_calls > 0, possible);
	}
	nb_job_free(j);
	kid_end(&k);
	live_end(&l);
}

/* Short-lived processes: each job has its one outcome, and nothing is left. */
TEST(mover_short_lived_processes)
{
	struct live l;
	struct nb_restore_counts counts;
	unsigned started = 0, ended = 0;
	struct nb_outcome o;
	pid_t pids[200];

	live_start(&l);
	for (unsigned i = 0; i < 200; i++) {
		struct nb_job *j;
		struct nb_key key;

		pids[i] = fork();
		if (pids[i] == 0) {
			for (volatile unsigned spin = 0; spin < i * 3000; spin++)
				;
			_exit(0);
		}
		key = key_of(pids[i], pids[i]);
		j = cpu_job(key, i % 3 == 0 ? "0" : i % 3 == 1 ? "1" : "");
		j->action.to = i % 2;
		j->action.takes_slot = i % 5 != 0;
		if (i % 7 == 0)
			j->action.what |= NB_MEMORY;
		if (nb_mover_start(l.mover, j) == 0)
			started++;
		else
			nb_job_free(j);
		while (nb_mover_outcome(l.mover, &o) == 1)
			ended++;
	}
	while (ended < started && wait_for(l.mover).error != ETIMEDOUT)
		ended++;
	CHECK_INT(ended, started);
	for (unsigned i = 0; i < 200; i++)
		waitpid(pids[i], NULL, 0);
	CHECK_INT(nb_mover_stop(l.mover), 0);
	CHECK_INT(nb_masks_restore_all(l.masks, &counts), 0);
	CHECK_INT(counts.failed, 0);
	live_end(&l);
}

/* It ended while its pages moved: gone, not a mistake of ours. */
TEST(perform_ending_process)
{
	struct nb_syscalls sys = {.move_pages = fake_move_pages,
				  .now_us = fake_now,
				  .cpu_us = fake_cpu,
				  .sleep_us = fake_sleep};
	struct nb_bucket bucket = NB_BUCKET_INIT;
	struct nb_job *j = page_job(1);
	struct nb_procfs fs = {};

	fake_start(1000);
	fake.error = -EINVAL;
	REQUIRE(nb_procfs_open(fake.root, &fs) == 0);
	for (int zombie = 0; zombie < 2; zombie++) {
		struct nb_outcome o = {};

		fake_stat(START);
		if (zombie)
			fake_file("proc/4242/stat",
				  "4242 (fake) Z 1 1 1 0 -1 4194304 0 0 0 0 0 0 0 0 20 "
				  "0 1 0 %d 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 "
				  "0 0 0\n",
				  START);
		nb_perform(&(struct nb_perform){.fs = &fs,
						.sys = &sys,
						.node_bucket = &bucket,
						.all_bucket = &bucket},
			   j, &o);
		CHECK_INT(o.error, zombie ? ESRCH : EINVAL);
	}
	nb_procfs_close(&fs);
	nb_job_free(j);
	fake_end();
}
