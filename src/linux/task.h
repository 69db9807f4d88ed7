/* SPDX-License-Identifier: MIT */
/*
 * A task that is about to be changed. The directory that nb_task_open() opens
 * belongs to one process for ever: when that process is gone every read below it
 * fails, even if its number was given to another one.
 */
#pragma once

#include <stdint.h>

#include "linux/parse.h"
#include "linux/procfs.h"
#include "nb/snapshot.h"

/* A directory of proc_fd, if it is still the process of this key; -ESRCH else. */
int nb_task_open(int proc_fd, struct nb_key key, int *ret_fd);

/* stat of a task below dir_fd: path is "stat", "PID/stat" or "task/TID/stat".
 * -ESRCH: gone. */
int nb_task_stat(int dir_fd, const char *path, struct nb_stat *ret);

/* The same for a thread of a process; -ESRCH too if it is another one by now. */
int nb_task_thread_stat(int task_fd, struct nb_key thread, struct nb_stat *ret);

/* Clock ticks since boot, as in the start times of stat. */
uint64_t nb_task_now_ticks(void);
