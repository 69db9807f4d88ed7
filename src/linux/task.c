/* SPDX-License-Identifier: MIT */
#include "linux/task.h"

#include <fcntl.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static int gone_is_esrch(int r)
{
	return nb_gone(r) ? -ESRCH : r;
}

int nb_task_stat(int dir_fd, const char *path, struct nb_stat *ret)
{
	_cleanup_text_ struct nb_text text = {};
	int r = nb_text_read(&text, dir_fd, path);

	if (r < 0)
		return gone_is_esrch(r);
	return nb_parse_stat(text.data, text.len, ret);
}

int nb_task_open(int proc_fd, struct nb_key key, int *ret_fd)
{
	_cleanup_close_ int fd = -1;
	struct nb_stat stat;
	char name[16];
	int r;

	snprintf(name, sizeof(name), "%d", key.pid);
	fd = openat(proc_fd, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return gone_is_esrch(-errno);
	r = nb_task_stat(fd, "stat", &stat);
	if (r < 0)
		return r;
	if (stat.start != key.start)
		return -ESRCH;
	*ret_fd = fd;
	fd = -1;
	return 0;
}

int nb_task_thread_stat(int task_fd, struct nb_key thread, struct nb_stat *ret)
{
	struct nb_stat stat;
	char path[40];
	int r;

	snprintf(path, sizeof(path), "task/%d/stat", thread.pid);
	r = nb_task_stat(task_fd, path, &stat);
	if (r < 0)
		return r;
	if (stat.start != thread.start)
		return -ESRCH;
	*ret = stat;
	return 0;
}

uint64_t nb_task_now_ticks(void)
{
	uint64_t hz = (uint64_t)sysconf(_SC_CLK_TCK);
	struct timespec ts;

	clock_gettime(CLOCK_BOOTTIME, &ts);
	return (uint64_t)ts.tv_sec * hz + (uint64_t)ts.tv_nsec * hz / 1000000000;
}
