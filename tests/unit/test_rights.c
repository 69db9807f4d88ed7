/* SPDX-License-Identifier: MIT */
#include "test.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "linux/linux.h"
#include "tree.h"

/* Asks in a child that has given something up. */
static int rights_after(void (*give_up)(void), struct nb_rights *ret)
{
	int fds[2], status = 0;
	ssize_t n;
	pid_t pid;

	if (pipe(fds) < 0)
		return -errno;
	pid = fork();
	if (pid == 0) {
		struct nb_rights rights;

		give_up();
		nb_linux_rights(&rights);
		_exit(write(fds[1], &rights, sizeof(rights)) == sizeof(rights) ? 0 : 1);
	}
	close(fds[1]);
	n = read(fds[0], ret, sizeof(*ret));
	close(fds[0]);
	waitpid(pid, &status, 0);
	return n == sizeof(*ret) && status == 0 ? 0 : -EIO;
}

static void drop(cap_value_t value)
{
	cap_t caps = cap_get_proc();

	cap_set_flag(caps, CAP_EFFECTIVE, 1, &value, CAP_CLEAR);
	cap_set_proc(caps);
	cap_free(caps);
}

static void nothing(void)
{
}

static void drop_nice(void)
{
	drop(CAP_SYS_NICE);
}

static void drop_ptrace(void)
{
	drop(CAP_SYS_PTRACE);
}

/* C01, F08: as the default profile of a container does: EPERM, also for root. */
static void refuse_moves(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_move_pages, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
	};
	struct sock_fprog program = {.len = 4, .filter = code};

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

TEST(rights)
{
	struct nb_rights all = {}, some = {};
	cap_t caps = cap_get_proc();
	cap_flag_value_t nice = CAP_CLEAR, ptrace = CAP_CLEAR;

	cap_get_flag(caps, CAP_SYS_NICE, CAP_EFFECTIVE, &nice);
	cap_get_flag(caps, CAP_SYS_PTRACE, CAP_EFFECTIVE, &ptrace);
	cap_free(caps);
	REQUIRE(rights_after(nothing, &all) == 0);
	CHECK((all.missing == 0) == (*all.text == '\0'));
	REQUIRE(rights_after(drop_nice, &some) == 0);
	CHECK_INT(some.missing & (NB_RIGHT_AFFINITY | NB_RIGHT_MOVE),
		  NB_RIGHT_AFFINITY | NB_RIGHT_MOVE);
	CHECK(strstr(some.text, "CAP_SYS_NICE"));
	REQUIRE(rights_after(drop_ptrace, &some) == 0);
	CHECK_INT(some.missing & (NB_RIGHT_READ | NB_RIGHT_MOVE), NB_RIGHT_READ | NB_RIGHT_MOVE);
	CHECK(strstr(some.text, "CAP_SYS_PTRACE"));
	REQUIRE(rights_after(refuse_moves, &some) == 0);
	CHECK(some.missing & NB_RIGHT_MOVE);
	CHECK(strstr(some.text, "move_pages"));
	CHECK(strstr(some.text, "seccomp"));
	if (all.missing || nice != CAP_SET || ptrace != CAP_SET)
		return;
	/* What was not given up is still there. */
	CHECK_INT(some.missing, NB_RIGHT_MOVE);
	CHECK(!strstr(some.text, "CAP_SYS"));
}

/* Asking must leave no trace: a mask that was asked for would stick to us. */
TEST(rights_change_nothing)
{
	char before[128], after[128];
	struct nb_rights rights;
	long n, m;

	n = syscall(SYS_sched_getaffinity, 0, sizeof(before), before);
	nb_linux_rights(&rights);
	m = syscall(SYS_sched_getaffinity, 0, sizeof(after), after);
	CHECK_INT(n, m);
	CHECK(n <= 0 || memcmp(before, after, (size_t)n) == 0);
}

/* E02 */
TEST(kernel_balancing)
{
	_cleanup_tree_ struct tree t = tree_new();
	int value = -7;

	tree_put(&t, "sys/x", "1");
	tree_put(&t, "proc/x", "1");
	CHECK_INT(nb_linux_kernel_balancing(t.dir, &value), -ENOENT);
	CHECK_INT(value, -7);
	for (int i = 0; i < 3; i++) {
		tree_put(&t, "proc/sys/kernel/numa_balancing", "%d\n", i);
		CHECK_INT(nb_linux_kernel_balancing(t.dir, &value), 0);
		CHECK_INT(value, i);
	}
	tree_put(&t, "proc/sys/kernel/numa_balancing", "many\n");
	CHECK_INT(nb_linux_kernel_balancing(t.dir, &value), -EINVAL);
	CHECK_INT(value, 2);
}
