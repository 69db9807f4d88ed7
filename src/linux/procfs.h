/* SPDX-License-Identifier: MIT */
/*
 * Reading files below a directory, whole or line by line, into buffers that grow.
 * Everything that reads /proc and /sys takes an nb_procfs, so that a dump of a
 * machine can be read in their place.
 */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct nb_procfs {
	int root_fd, proc_fd, sys_fd; /* directories, opened O_PATH */
	bool live;                    /* this machine: system calls answer for it, too */
	char *root;                   /* as given; never NULL */
};

/* -ENOENT, -EACCES, -ENOTDIR: there is no proc (or sys) below root. */
int nb_procfs_open(const char *root, struct nb_procfs *ret);
void nb_procfs_close(struct nb_procfs *fs); /* also of a zeroed one that was never opened */

/* A text of any length, always followed by a NUL. Zero-initialise; reuse at will. */
struct nb_text {
	char *data;
	size_t len, cap;
};

void nb_text_done(struct nb_text *t);
#define _cleanup_text_ __attribute__((cleanup(nb_text_done)))

/* The whole file. On failure t is empty. -EFBIG above 64 MiB: nothing that is
 * read whole comes near it. */
int nb_text_read(struct nb_text *t, int dir_fd, const char *path);

/* The same of a file that is already open, from its beginning. */
int nb_text_pread(struct nb_text *t, int fd);

/* One line after another. A last line without its newline was cut off: it is not
 * shown. */
struct nb_lines {
	int fd;
	char *buf;
	size_t cap, start, end;
};

int nb_lines_open(struct nb_lines *l, int dir_fd, const char *path); /* keeps l's buffer */
void nb_lines_close(struct nb_lines *l);                             /* keeps it, too */
void nb_lines_done(struct nb_lines *l);

/* 1 and a line (its newline not counted, replaced by a NUL), 0 at the end. */
int nb_lines_next(struct nb_lines *l, char **ret_line, size_t *ret_len);

/* The numbers that name entries of a directory: processes, threads. Ascending. */
struct nb_id {
	int id;
	ino_t inode; /* of the entry: another process with the same pid has another one */
};

struct nb_ids {
	struct nb_id *items;
	size_t n, cap;
};

int nb_ids_read(struct nb_ids *ids, int dir_fd, const char *path);
void nb_ids_done(struct nb_ids *ids);

/* The task is no more: not an error, skip and count. */
static inline bool nb_gone(int r)
{
	return r == -ENOENT || r == -ESRCH;
}

void nb_closep(int *fd);
#define _cleanup_close_ __attribute__((cleanup(nb_closep)))
