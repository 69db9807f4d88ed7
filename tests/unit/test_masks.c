/* SPDX-License-Identifier: MIT */
#include "test.h"

#include "kid.h"
#include "linux/affinity.h"
#include "linux/bounds.h"
#include "linux/masks.h"

#define NEED_TWO_CPUS() \
	do { \
		if (!have_two_cpus()) { \
			test_skip("needs CPUs 0 and 1, and no others"); \
			return; \
		} \
	} while (0)

static enum nb_mask_owner ask(struct nb_masks *m, pid_t pid, pid_t tid, char *ret, size_t size)
{
	_cleanup_bitmap_ struct nb_bitmap now = {}, original = {};
	struct nb_stat stat = {};
	enum nb_mask_owner owner;
	int fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	char path[64];

	snprintf(path, sizeof(path), "%d/stat", pid);
	nb_task_stat(fd, path, &stat);
	close(fd);
	nb_affinity_get(&nb_syscalls_live, tid, &now);
	owner = nb_masks_original(m, key_of(pid, pid), stat.ppid, key_of(pid, tid), &now,
				  &original);
	nb_bitmap_format_list(&original, ret, size);
	return owner;
}

#define CHECK_OWNER(m, pid, tid, want, list) \
	do { \
		char text_[256]; \
		CHECK_INT(ask((m), (pid), (tid), text_, sizeof(text_)), (want)); \
		if (list) \
			CHECK_STR(text_, (list)); \
	} while (0)
#define NO_LIST ((const char *)NULL)

TEST(masks_set_and_release)
{
	struct nb_bitmap zero = set_of("0");
	char *dir = new_dir();
	struct nb_masks *m = NULL;
	struct kid k;
	struct nb_key key;

	NEED_TWO_CPUS();
	k = kid_start();
	key = key_of(k.pid, k.pid);
	REQUIRE(nb_masks_new("", dir, &m) == 0);
	CHECK(!file_exists(dir, "masks.state"));
	CHECK_OWNER(m, k.pid, k.pid, NB_MASK_OWN, NO_LIST);
	CHECK_INT(nb_masks_set(m, key, key, &zero), 0);
	CHECK_STR(mask_of(k.pid), "0");
	CHECK(file_exists(dir, "masks.state"));
	CHECK_OWNER(m, k.pid, k.pid, NB_MASK_OURS, "0-1");
	CHECK_INT(nb_masks_release(m, key), 0);
	CHECK_STR(mask_of(k.pid), "0-1");
	CHECK_OWNER(m, k.pid, k.pid, NB_MASK_OWN, NO_LIST);
	CHECK_INT(nb_masks_release(m, key), 0); /* nothing to do */
	kid_end(&k);
	nb_masks_free(m);
	nb_bitmap_done(&zero);
	remove_dir(dir);
}

/* A set that takes nothing away is no mask of ours. */
TEST(masks_whole_set_is_a_release)
{
	struct nb_bitmap zero = set_of("0"), all = set_of("0-1");
	struct nb_restore_counts counts;
	struct nb_masks *m = NULL;
	struct kid k;
	struct nb_key key;

	NEED_TWO_CPUS();
	k = kid_start();
	key = key_of(k.pid, k.pid);
	REQUIRE(nb_masks_new("", NULL, &m) == 0);
	CHECK_INT(nb_masks_set(m, key, key, &all), 0);
	CHECK_OWNER(m, k.pid, k.pid, NB_MASK_OWN, NO_LIST);
	CHECK_INT(nb_masks_set(m, key, key, &zero), 0);
	CHECK_INT(nb_masks_set(m, key, key, &all), 0);
	CHECK_STR(mask_of(k.pid), "0-1");
	CHECK_OWNER(m, k.pid, k.pid, NB_MASK_OWN, NO_LIST);
	CHECK_INT(nb_masks_restore_all(m, &counts), 0);
	CHECK_INT(counts.restored, 0);
	kid_end(&k);
	nb_masks_free(m);
	nb_bitmap_done(&zero);
	nb_bitmap_done(&all);
}

/* E08: a thread with its own narrower mask keeps it. */
TEST(masks_own_narrower_mask)
{
	struct nb_bitmap zero = set_of("0"), one = set_of("1");
	struct nb_affinity_result res = {};
	struct nb_procfs fs = {};
	struct nb_masks *m = NULL;
	struct kid k;
	struct nb_key key;
	pid_t t;

	NEED_TWO_CPUS();
	k = kid_start();
	key = key_of(k.pid, k.pid);
	t = kid_tell(&k, 't');
	kid_tell(&k, '1'); /* the main thread; the other has none */
	next_tick();
	REQUIRE(nb_procfs_open("", &fs) == 0);
	REQUIRE(nb_masks_new("", NULL, &m) == 0);
	CHECK_INT(nb_masks_set(m, key, key, &zero), -EINVAL);
	CHECK_INT(nb_affinity_apply(m, &fs, key, &zero, &res), 0);
	CHECK_INT(res.threads_set, 1);
	CHECK_INT(res.threads_failed, 1);
	CHECK_INT(res.error, EINVAL);
	CHECK_STR(mask_of(k.pid), "1");
	CHECK_STR(mask_of(t), "0");
	CHECK_INT(nb_affinity_apply(m, &fs, key, &one, &res), 0);
	CHECK_INT(res.threads_set, 2);
	CHECK_INT(nb_affinity_apply(m, &fs, key, NULL, &res), 0);
	CHECK_STR(mask_of(k.pid), "1");
	CHECK_STR(mask_of(t), "0-1");
	kid_end(&k);
	nb_masks_free(m);
	nb_procfs_close(&fs);
	nb_bitmap_done(&zero);
	nb_bitmap_done(&one);
}

TEST(masks_overruled)
{
	struct nb_bitmap zero = set_of("0");
	struct nb_restore_counts counts;
	struct nb_masks *m = NULL;
	struct kid k;
	struct nb_key key;

	NEED_TWO_CPUS();
	k = kid_start();
	key = key_of(k.pid, k.pid);
	REQUIRE(nb_masks_new("", NULL, &m) == 0);
	CHECK_INT(nb_masks_set(m, key, key, &zero), 0);
	kid_tell(&k, '1');
	CHECK_OWNER(m, k.pid, k.pid, NB_MASK_OVERRULED, NO_LIST);
	CHECK_OWNER(m, k.pid, k.pid, NB_MASK_OWN, NO_LIST);
	CHECK_STR(mask_of(k.pid), "1");
	/* Overruled, and nobody sampled it in between. */
	kid_tell(&k, 'a');
	CHECK_INT(nb_masks_set(m, key, key, &zero), 0);
	kid_tell(&k, '1');
	CHECK_INT(nb_masks_set(m, key, key, &zero), -EBUSY);
	CHECK_STR(mask_of(k.pid), "1");
	kid_tell(&k, 'a');
	CHECK_INT(nb_masks_set(m, key, key, &zero), 0);
	kid_tell(&k, '1');
	CHECK_INT(nb_masks_restore_all(m, &counts), 0);
	CHECK_INT(counts.foreign, 1);
	CHECK_INT(counts.restored, 0);
	CHECK_STR(mask_of(k.pid), "1");
	kid_end(&k);
	nb_masks_free(m);
	nb_bitmap_done(&zero);
}

/* E03: threads and children that are born with our mask. */
TEST(masks_inherited)
{
	struct nb_bitmap zero = set_of("0");
	struct nb_restore_counts counts;
	struct nb_masks *m = NULL;
	pid_t older, old_thread, younger, young_thread;
	struct kid k, stranger;
	struct nb_key key;

	NEED_TWO_CPUS();
	k = kid_start();
	key = key_of(k.pid, k.pid);
	old_thread = kid_tell(&k, 't');
	kid_tell(&k, '0');
	older = kid_tell(&k, 'f'); /* pinned by its owner to the very CPU */
	kid_tell(&k, 'a');
	next_tick();
	REQUIRE(nb_masks_new("", NULL, &m) == 0);
	CHECK_INT(nb_masks_set(m, key, key, &zero), 0);
	next_tick();
	young_thread = kid_tell(&k, 't');
	younger = kid_tell(&k, 'f');
	stranger = kid_start();
	kid_tell(&stranger, '0');
	CHECK_STR(mask_of(young_thread), "0");
	CHECK_STR(mask_of(younger), "0");
	CHECK_OWNER(m, k.pid, young_thread, NB_MASK_OURS, "0-1");
	CHECK_OWNER(m, younger, younger, NB_MASK_OURS, "0-1");
	CHECK_OWNER(m, k.pid, old_thread, NB_MASK_OWN, NO_LIST);
	CHECK_OWNER(m, older, older, NB_MASK_OWN, NO_LIST);
	CHECK_OWNER(m, stranger.pid, stranger.pid, NB_MASK_OWN, NO_LIST);
	CHECK_INT(nb_masks_restore_all(m, &counts), 0);
	CHECK_INT(counts.restored, 3);
	CHECK_STR(mask_of(k.pid), "0-1");
	CHECK_STR(mask_of(young_thread), "0-1");
	CHECK_STR(mask_of(younger), "0-1");
	CHECK_STR(mask_of(older), "0");
	CHECK_STR(mask_of(stranger.pid), "0");
	kill(older, SIGKILL);
	kill(younger, SIGKILL);
	kid_end(&k);
	kid_end(&stranger);
	nb_masks_free(m);
	nb_bitmap_done(&zero);
}

/* A child that nobody saw before the end is found by looking for it. */
TEST(masks_unseen_heirs)
{
	struct nb_bitmap zero = set_of("0");
	struct nb_restore_counts counts;
	struct nb_masks *m = NULL;
	pid_t child, thread;
	struct kid k;
	struct nb_key key;

	NEED_TWO_CPUS();
	k = kid_start();
	key = key_of(k.pid, k.pid);
	REQUIRE(nb_masks_new("", NULL, &m) == 0);
	CHECK_INT(nb_masks_set(m, key, key, &zero), 0);
	next_tick();
	thread = kid_tell(&k, 't');
	child = kid_tell(&k, 'f');
	CHECK_INT(nb_masks_release(m, key), 0); /* the parent only */
	CHECK_STR(mask_of(child), "0");
	CHECK_INT(nb_masks_restore_all(m, &counts), 0);
	CHECK_INT(counts.restored, 2);
	CHECK_STR(mask_of(child), "0-1");
	CHECK_STR(mask_of(thread), "0-1");
	kill(child, SIGKILL);
	kid_end(&k);
	nb_masks_free(m);
	nb_bitmap_done(&zero);
}

/* B06: the number is another process by now. */
TEST(masks_identity)
{
	struct nb_bitmap zero = set_of("0");
	struct nb_masks *m = NULL;
	struct kid k = kid_start();
	struct nb_key key = key_of(k.pid, k.pid), other = {.pid = k.pid, .start = key.start - 1};

	REQUIRE(nb_masks_new("", NULL, &m) == 0);
	CHECK_INT(nb_masks_set(m, other, key, &zero), -ESRCH);
	CHECK_INT(nb_masks_set(m, key, other, &zero), -ESRCH);
	if (have_two_cpus())
		CHECK_STR(mask_of(k.pid), "0-1");
	kid_end(&k);
	CHECK_INT(nb_masks_set(m, key, key, &zero), -ESRCH);
	nb_masks_free(m);
	nb_bitmap_done(&zero);
}

/* Runs a daemon that dies in the middle of its work; its kids live on. */
static void crash(const char *dir, struct kid *k, struct nb_key key, bool with_child,
		  pid_t *ret_child)
{
	struct nb_bitmap zero = set_of("0");
	pid_t pid = fork();

	if (pid == 0) {
		struct nb_masks *m;
		struct nb_key thread = key;

		if (nb_masks_new("", dir, &m) < 0 || nb_masks_set(m, key, thread, &zero) < 0)
			_exit(1);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	next_tick();
	if (with_child)
		*ret_child = kid_tell(k, 'f');
	nb_bitmap_done(&zero);
}

TEST(masks_restored_after_a_crash)
{
	struct nb_restore_counts counts = {};
	char *dir = new_dir();
	struct nb_masks *m = NULL;
	struct nb_key key;
	struct kid k;
	pid_t child = 0;

	NEED_TWO_CPUS();
	k = kid_start();
	key = key_of(k.pid, k.pid);
	crash(dir, &k, key, true, &child);
	CHECK_STR(mask_of(k.pid), "0");
	CHECK_STR(mask_of(child), "0");
	CHECK_INT(nb_linux_restore(dir, &counts), 0);
	CHECK_INT(counts.restored, 2);
	CHECK_STR(mask_of(k.pid), "0-1");
	CHECK_STR(mask_of(child), "0-1");
	CHECK(!file_exists(dir, "masks.state"));
	CHECK_INT(nb_linux_restore(dir, &counts), 0);
	CHECK_INT(counts.restored, 0);

	/* The next daemon does the same when it starts. */
	crash(dir, &k, key, false, &child);
	CHECK_STR(mask_of(k.pid), "0");
	REQUIRE(nb_masks_new("", dir, &m) == 0);
	CHECK_INT(nb_masks_recovered(m, &counts), 0);
	CHECK_INT(counts.restored, 1);
	CHECK_STR(mask_of(k.pid), "0-1");
	nb_masks_free(m);

	/* The owner had the last word. */
	crash(dir, &k, key, false, &child);
	kid_tell(&k, '1');
	CHECK_INT(nb_linux_restore(dir, &counts), 0);
	CHECK_INT(counts.foreign, 1);
	CHECK_STR(mask_of(k.pid), "1");
	kid_tell(&k, 'a');

	/* The process ended. */
	crash(dir, &k, key, false, &child);
	kill(child, SIGKILL);
	kid_end(&k);
	CHECK_INT(nb_linux_restore(dir, &counts), 0);
	CHECK_INT(counts.gone, 1);
	CHECK(!file_exists(dir, "masks.state"));
	remove_dir(dir);
}

TEST(masks_one_daemon_a_folder)
{
	struct nb_restore_counts counts = {.restored = 7};
	char *dir = new_dir();
	struct nb_masks *m = NULL, *second = NULL;

	REQUIRE(nb_masks_new("", dir, &m) == 0);
	CHECK_INT(nb_linux_restore(dir, &counts), -EBUSY);
	CHECK_INT(nb_masks_new("", dir, &second), -EBUSY);
	CHECK_INT(counts.restored, 7); /* untouched on failure */
	CHECK(!second);
	nb_masks_free(m);
	CHECK_INT(nb_linux_restore(dir, &counts), 0);
	remove_dir(dir);
	CHECK_INT(nb_linux_restore("/tmp/nb-test-no-such-folder", &counts), 0);
	CHECK_INT(counts.restored, 0);
}

TEST(masks_damaged_file)
{
	struct nb_restore_counts counts = {};
	char *dir = new_dir(), path[128];
	struct nb_masks *m = NULL;
	FILE *f;

	snprintf(path, sizeof(path), "%s/masks.state", dir);
	f = fopen(path, "w");
	fputs("numabalanced masks 1\nboot x\nset 0-1\nthr", f);
	fclose(f);
	CHECK_INT(nb_linux_restore(dir, &counts), -EBADMSG);
	CHECK(!file_exists(dir, "masks.state"));
	CHECK(file_exists(dir, "masks.state.bad"));
	f = fopen(path, "w");
	fputs("garbage", f);
	fclose(f);
	REQUIRE(nb_masks_new("", dir, &m) == 0); /* the daemon starts all the same, and tells */
	CHECK_INT(nb_masks_recovered(m, &counts), -EBADMSG);
	nb_masks_free(m);
	remove_dir(dir);
}

static const char *watched_dir;
static bool file_was_first;
static int answer;

/* A crash right here must find the record. */
static int watching_set_affinity(pid_t tid, size_t size, const unsigned long *mask)
{
	file_was_first = file_exists(watched_dir, "masks.state");
	return answer ? answer : nb_syscalls_live.set_affinity(tid, size, mask);
}

TEST(masks_file_comes_first)
{
	struct nb_bitmap zero = set_of("0");
	struct nb_syscalls sys = nb_syscalls_live;
	char *dir = new_dir();
	struct nb_masks *m = NULL;
	struct nb_key key;
	struct kid k;

	NEED_TWO_CPUS();
	k = kid_start();
	key = key_of(k.pid, k.pid);
	watched_dir = dir;
	file_was_first = false;
	sys.set_affinity = watching_set_affinity;
	REQUIRE(nb_masks_new("", dir, &m) == 0);
	nb_masks_set_syscalls(m, &sys);
	CHECK_INT(nb_masks_set(m, key, key, &zero), 0);
	CHECK(file_was_first);
	CHECK_INT(nb_masks_release(m, key), 0);

	/* C01, E07: refused, and then nothing of it is left in the record. */
	for (int i = 0; i < 4; i++) {
		static const int errors[] = {-EPERM, -EINVAL, -EBUSY, -ESRCH};

		answer = errors[i];
		CHECK_INT(nb_masks_set(m, key, key, &zero), errors[i]);
		CHECK_OWNER(m, k.pid, k.pid, NB_MASK_OWN, NO_LIST);
	}
	answer = 0;
	nb_masks_free(m);

	/* Without a record nothing is changed. */
	REQUIRE(nb_masks_new("", dir, &m) == 0);
	remove_dir(dir);
	CHECK(nb_masks_set(m, key, key, &zero) < 0);
	CHECK_STR(mask_of(k.pid), "0-1");
	CHECK_OWNER(m, k.pid, k.pid, NB_MASK_OWN, NO_LIST);
	kid_end(&k);
	nb_masks_free(m);
	nb_bitmap_done(&zero);
}

/* D12: a kernel with more CPUs than the usual mask has bits. */
static size_t needed_bytes;
static unsigned long fake_mask[NB_BITMAP_MAX_BITS / 64];

static long big_get_affinity(pid_t tid, size_t size, unsigned long *mask)
{
	(void)tid;
	if (size < needed_bytes)
		return -EINVAL;
	memcpy(mask, fake_mask, needed_bytes);
	return (long)needed_bytes;
}

static int big_set_affinity(pid_t tid, size_t size, const unsigned long *mask)
{
	(void)tid;
	memset(fake_mask, 0, sizeof(fake_mask));
	memcpy(fake_mask, mask, size < needed_bytes ? size : needed_bytes);
	return 0;
}

TEST(affinity_many_cpus)
{
	struct nb_syscalls sys = nb_syscalls_live;
	struct nb_bitmap b = {}, high = set_of("0,63,64,1023,1024,2047");
	char text[128];

	sys.get_affinity = big_get_affinity;
	sys.set_affinity = big_set_affinity;
	for (needed_bytes = 256; needed_bytes <= NB_BITMAP_MAX_BITS / 8; needed_bytes *= 2) {
		CHECK_INT(nb_affinity_set(&sys, 1, &high), 0);
		CHECK_INT(nb_affinity_get(&sys, 1, &b), 0);
		nb_bitmap_format_list(&b, text, sizeof(text));
		CHECK_STR(text, "0,63-64,1023-1024,2047");
	}
	CHECK_INT(nb_affinity_get(&sys, 1, &b), -EINVAL); /* it ends */
	nb_bitmap_done(&b);
	nb_bitmap_done(&high);
}

/* What the kernel makes of a mask under a cpuset that changes. */
TEST(bounds_explain)
{
	static const struct {
		const char *online, *cpuset, *given, *now;
		bool ours;
	} rows[] = {
		{"0-7", "0-7", "0-3", "0-3", true},
		{"0-7", "0-7", "0-3", "0-2", false}, /* narrowed by its owner */
		{"0-7", "0-7", "0-3", "0-7",
		 false}, /* wiped: by a cpuset before 6.2, or its owner */
		{"0-7", "2-5", "0-3", "2-3", true}, /* the cpuset narrowed it */
		{"0-7", "2-5", "0-3", "2", false},
		{"0-7", "2-5", "0-3", "2-5", false}, /* before 6.2 */
		{"0-7", "4-5", "0-3", "4-5", true},  /* nothing left of it: the whole cpuset */
		{"0-7", "4-5", "0-3", "4", false},
		{"0-1,4-7", "0-7", "0-3", "0-1", true}, /* CPUs went off line */
		{"0-1,4-7", "0-7", "0-3", "0-3", true},
		{"4-7", "4-7", "0-3", "4-7", true}, /* all of them did */
		{"0-7", "", "0-3", "0-3", true},
		{"0-7", "", "0-3", "1-3", false}, /* no cpuset to be had: owner's */
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct nb_bounds b = {.online = set_of(rows[i].online),
				      .cpuset = set_of(rows[i].cpuset),
				      .cpuset_known = *rows[i].cpuset != '\0'};
		struct nb_bitmap given = set_of(rows[i].given), now = set_of(rows[i].now);

		nb_bitmap_and(&b.cpuset, &b.online);
		if (nb_bounds_explain(&b, &given, &now) != rows[i].ours)
			test_fail(__FILE__, __LINE__, "row %zu is not %d", i, rows[i].ours);
		nb_bitmap_done(&given);
		nb_bitmap_done(&now);
		nb_bounds_done(&b);
	}
}

/* Short-lived processes, several workers, and a sampler that asks all the time. */
struct stress {
	struct nb_masks *m;
	struct nb_procfs *fs;
	unsigned n_set;
};

static void *stress_worker(void *arg)
{
	struct stress *s = arg;
	struct nb_bitmap zero = set_of("0"), one = set_of("1");

	for (int i = 0; i < 60; i++) {
		struct nb_affinity_result res = {};
		pid_t pid = fork();
		struct nb_key key;

		if (pid == 0) {
			/* Some end at once, some in the midst of it; no atexit handlers. */
			for (volatile int spin = 0; spin < i * 20000; spin++)
				;
			_exit(0);
		}
		key = key_of(pid, pid);
		if (nb_affinity_apply(s->m, s->fs, key, i % 2 ? &zero : &one, &res) == 0)
			s->n_set += res.threads_set;
		if (i % 3 == 0)
			nb_affinity_apply(s->m, s->fs, key, NULL, &res);
		waitpid(pid, NULL, 0);
	}
	nb_bitmap_done(&zero);
	nb_bitmap_done(&one);
	return NULL;
}

TEST(masks_short_lived_processes)
{
	char *dir = new_dir();
	struct nb_procfs fs = {};
	struct nb_masks *m = NULL;
	struct stress s[3] = {};
	pthread_t t[3];
	struct nb_restore_counts counts = {};
	struct nb_ids ids = {};

	REQUIRE(nb_procfs_open("", &fs) == 0);
	REQUIRE(nb_masks_new("", dir, &m) == 0);
	for (int i = 0; i < 3; i++) {
		s[i] = (struct stress){.m = m, .fs = &fs};
		pthread_create(&t[i], NULL, stress_worker, &s[i]);
	}
	for (int round = 0; round < 30; round++) {
		nb_ids_read(&ids, fs.proc_fd, ".");
		for (size_t i = ids.n > 40 ? ids.n - 40 : 0; i < ids.n; i++) {
			char text[256];

			ask(m, ids.items[i].id, ids.items[i].id, text, sizeof(text));
		}
	}
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	CHECK(s[0].n_set + s[1].n_set + s[2].n_set > 0);
	CHECK_INT(nb_masks_restore_all(m, &counts), 0);
	CHECK_INT(counts.failed, 0);
	CHECK_INT(counts.restored, 0); /* all of them ended */
	CHECK(!file_exists(dir, "masks.state"));
	nb_ids_done(&ids);
	nb_masks_free(m);
	nb_procfs_close(&fs);
	remove_dir(dir);
}
