/* SPDX-License-Identifier: MIT */
/* Processes and threads to act on: a child that does what it is told over a pipe. */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "linux/syscalls.h"
#include "linux/task.h"

struct kid {
	pid_t pid;
	int to, from;
};

static inline void *kid_thread(void *arg)
{
	pid_t tid = gettid();

	if (write(*(int *)arg, &tid, sizeof(tid)) < 0)
		_exit(1);
	for (;;)
		pause();
}

/* 't' starts a thread, 'f' forks a child that pauses; both answer with its number.
 * A digit pins the main thread to that CPU, 'a' gives it CPUs 0 and 1; 'x' ends. */
static inline void kid_run(int in, int out)
{
	pthread_t thread;
	char c;

	while (read(in, &c, 1) == 1) {
		pid_t answer = 0;
		cpu_set_t set;

		CPU_ZERO(&set);
		if (c == 't') {
			if (pthread_create(&thread, NULL, kid_thread, &out) != 0)
				_exit(1);
			continue;
		}
		if (c == 'f') {
			answer = fork();
			if (answer == 0)
				for (;;)
					pause();
		} else if (c >= '0' && c <= '9') {
			CPU_SET(c - '0', &set);
			answer = sched_setaffinity(0, sizeof(set), &set);
		} else if (c == 'a') {
			CPU_SET(0, &set);
			CPU_SET(1, &set);
			answer = sched_setaffinity(0, sizeof(set), &set);
		}
		if (write(out, &answer, sizeof(answer)) < 0)
			_exit(1);
	}
	_exit(0);
}

static inline struct kid kid_start(void)
{
	int to[2], from[2];
	struct kid k = {};

	if (pipe2(to, O_CLOEXEC) < 0 || pipe2(from, O_CLOEXEC) < 0)
		abort();
	k.pid = fork();
	if (k.pid == 0) {
		close(to[1]);
		close(from[0]);
		kid_run(to[0], from[1]);
	}
	close(to[0]);
	close(from[1]);
	k.to = to[1];
	k.from = from[0];
	return k;
}

static inline pid_t kid_tell(struct kid *k, char c)
{
	pid_t answer = -1;

	if (write(k->to, &c, 1) != 1 || read(k->from, &answer, sizeof(answer)) != sizeof(answer))
		return -1;
	return answer;
}

static inline void kid_end(struct kid *k)
{
	kill(k->pid, SIGKILL);
	waitpid(k->pid, NULL, 0);
	close(k->to);
	close(k->from);
}

static inline struct nb_key key_of(pid_t pid, pid_t tid)
{
	int fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct nb_stat stat = {};
	char path[64];

	snprintf(path, sizeof(path), "%d/task/%d/stat", pid, tid);
	nb_task_stat(fd, path, &stat);
	close(fd);
	return (struct nb_key){.pid = tid, .start = stat.start};
}

/* Another clock tick: what is born now is told apart from what was there. */
static inline void next_tick(void)
{
	usleep(25000);
}

/* The mask as a list, in a static buffer; "" when the task is gone. */
static inline const char *mask_of(pid_t tid)
{
	static char text[4][256];
	static int turn;
	_cleanup_bitmap_ struct nb_bitmap b = {};

	turn = (turn + 1) % 4;
	text[turn][0] = '\0';
	if (nb_affinity_get(&nb_syscalls_live, tid, &b) == 0)
		nb_bitmap_format_list(&b, text[turn], sizeof(text[turn]));
	return text[turn];
}

static inline struct nb_bitmap set_of(const char *list)
{
	struct nb_bitmap b = {};

	if (nb_bitmap_parse_list(&b, list, strlen(list)) < 0)
		abort();
	return b;
}

static inline bool have_two_cpus(void)
{
	return strcmp(mask_of(0), "0-1") == 0;
}

/* A folder below /tmp; remove_dir() takes its files with it. */
static inline char *new_dir(void)
{
	char *path = strdup("/tmp/nb-test-XXXXXX");

	if (!path || !mkdtemp(path))
		abort();
	return path;
}

static inline void remove_dir(char *path)
{
	static const char *const names[] = {"masks.state", "masks.state.new", "masks.state.bad",
					    "masks.lock"};
	char name[128];

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		snprintf(name, sizeof(name), "%s/%s", path, names[i]);
		unlink(name);
	}
	rmdir(path);
	free(path);
}

static inline bool file_exists(const char *dir, const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return access(path, F_OK) == 0;
}
