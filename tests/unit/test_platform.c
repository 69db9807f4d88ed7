/* SPDX-License-Identifier: MIT */
#include "test.h"

#include <poll.h>

#include "kid.h"
#include "linux/linux.h"
#include "linux/masks.h"

static struct nb_config *config(void)
{
	struct nb_config_error error;
	struct nb_config *c = NULL;

	if (nb_config_new(&c) < 0 || nb_config_finish(c, &error) < 0)
		abort();
	return c;
}

static struct nb_outcome next(struct nb_platform *p)
{
	struct pollfd fd = {.fd = p->ops->event_fd(p), .events = POLLIN};
	struct nb_outcome o = {.error = ETIMEDOUT};

	if (poll(&fd, 1, 20000) == 1 && p->ops->next_outcome(p, &o) != 1)
		o.error = ENOMSG;
	return o;
}

static struct nb_action action_of(struct nb_key key)
{
	struct nb_action a = {.id = 77, .key = key, .what = NB_CPU, .takes_slot = true};

	if (nb_bitmap_set(&a.cpu_nodes, 0) < 0)
		abort();
	return a;
}

TEST(platform_verbs)
{
	struct nb_config *c = config();
	struct nb_platform *p = NULL, *second = NULL;
	struct nb_snapshot *s = NULL;
	struct nb_restore_counts counts;
	char *dir = new_dir();
	struct kid k = kid_start();
	struct nb_action a = action_of(key_of(k.pid, k.pid));
	struct nb_linux_options o = {.root = "", .state_dir = dir, .act = true};
	struct nb_outcome out;

	REQUIRE(nb_linux_new(&o, &p) == 0);
	CHECK_INT(nb_linux_new(&o, &second), -EBUSY); /* one daemon a folder */
	CHECK_INT(nb_linux_recovered(p, &counts), 0);
	CHECK_INT(counts.restored, 0);
	REQUIRE(nb_snapshot_new(&s) == 0);
	REQUIRE(p->ops->sample(p, c, s) == 0);
	CHECK(s->n_processes > 1);
	CHECK_INT(p->ops->next_outcome(p, &out), 0);

	CHECK_INT(p->ops->start(p, c, s, &a), 0);
	out = next(p);
	CHECK_INT(out.error, 0);
	CHECK_INT(out.action, 77);
	CHECK_INT(out.threads_set, 1);

	/* A plan that names a node which is not there. */
	nb_bitmap_set(&a.cpu_nodes, 500);
	CHECK_INT(p->ops->start(p, c, s, &a), -ESTALE);
	nb_bitmap_clear(&a.cpu_nodes, 500);

	/* A plan of another topology. */
	s->topology_gen++;
	CHECK_INT(p->ops->start(p, c, s, &a), 0);
	CHECK_INT(next(p).error, ESTALE);
	s->topology_gen--;

	/* To its own node there is nothing to move. */
	a.what = NB_MEMORY;
	nb_bitmap_set(&a.mem_from, 0);
	CHECK_INT(p->ops->start(p, c, s, &a), 0);
	out = next(p);
	CHECK_INT(out.error, 0);
	CHECK_INT(out.bytes_moved, 0);
	CHECK_INT(p->ops->restore(p), 0);
	nb_action_done(&a);
	nb_snapshot_free(s);
	p->ops->free(p);
	nb_config_free(c);
	kid_end(&k);
	remove_dir(dir);
}

/* Without the right to act nothing is started and no folder is needed. */
TEST(platform_observes)
{
	struct nb_config *c = config();
	struct nb_platform *p = NULL;
	struct nb_snapshot *s = NULL;
	struct nb_action a = action_of((struct nb_key){.pid = 1, .start = 1});
	struct nb_linux_options o = {.root = "", .state_dir = "/nonexistent/folder", .act = false};
	struct nb_outcome out;

	REQUIRE(nb_linux_new(&o, &p) == 0);
	REQUIRE(nb_snapshot_new(&s) == 0);
	CHECK_INT(p->ops->sample(p, c, s), 0);
	CHECK_INT(p->ops->start(p, c, s, &a), -EPERM);
	CHECK_INT(p->ops->next_outcome(p, &out), 0);
	CHECK_INT(p->ops->event_fd(p), -1);
	CHECK_INT(p->ops->restore(p), 0);
	nb_action_done(&a);
	nb_snapshot_free(s);
	p->ops->free(p);
	nb_config_free(c);
	o.root = "/nonexistent/dump";
	CHECK_INT(nb_linux_new(&o, &p), -ENOENT);
}

/* A mask that an earlier daemon left is put back when the next one starts. */
TEST(platform_recovers)
{
	struct nb_restore_counts counts = {};
	struct nb_platform *p = NULL;
	char *dir = new_dir();
	struct nb_linux_options o = {.root = "", .state_dir = dir, .act = true};
	struct kid k = kid_start();
	pid_t pid;

	if (have_two_cpus()) {
		pid = fork();
		if (pid == 0) {
			struct nb_key key = key_of(k.pid, k.pid);
			struct nb_bitmap zero = set_of("0");
			struct nb_masks *m;

			_exit(nb_masks_new("", dir, &m) < 0 ||
			      nb_masks_set(m, key, key, &zero) < 0);
		}
		waitpid(pid, NULL, 0);
		CHECK_STR(mask_of(k.pid), "0");
		REQUIRE(nb_linux_new(&o, &p) == 0);
		CHECK_INT(nb_linux_recovered(p, &counts), 0);
		CHECK_INT(counts.restored, 1);
		CHECK_STR(mask_of(k.pid), "0-1");
		p->ops->free(p);
	} else {
		test_skip("needs CPUs 0 and 1, and no others");
	}
	kid_end(&k);
	remove_dir(dir);
}
