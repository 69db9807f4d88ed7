/* SPDX-License-Identifier: MIT */
/* Trees of files below build/fixtures, made for one test and taken away after it. */
#pragma once

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct tree {
	char dir[64];
};

__attribute__((unused)) static void tree_done(struct tree *t)
{
	char command[96];

	if (!*t->dir)
		return;
	snprintf(command, sizeof(command), "rm -rf %s", t->dir);
	if (system(command) != 0)
		perror(t->dir);
}
#define _cleanup_tree_ __attribute__((cleanup(tree_done)))

/* An empty one. */
__attribute__((unused)) static struct tree tree_new(void)
{
	struct tree t = {.dir = "build/fixtures/tmp-XXXXXX"};

	mkdir("build", 0777);
	mkdir("build/fixtures", 0777);
	if (!mkdtemp(t.dir))
		*t.dir = '\0';
	return t;
}

__attribute__((unused)) static void tree_path(const struct tree *t, const char *path, char *ret,
					      size_t size)
{
	snprintf(ret, size, "%s/%s", t->dir, path);
}

/* Writes a file, and the folders that it is in. */
__attribute__((unused, format(printf, 3, 4))) static void tree_put(const struct tree *t,
								   const char *path,
								   const char *fmt, ...)
{
	char full[512];
	va_list ap;
	FILE *f;

	tree_path(t, path, full, sizeof(full));
	for (char *p = strchr(full, '/'); p; p = strchr(p + 1, '/')) {
		*p = '\0';
		mkdir(full, 0777);
		*p = '/';
	}
	f = fopen(full, "w");
	if (!f) {
		perror(full);
		return;
	}
	va_start(ap, fmt);
	vfprintf(f, fmt, ap);
	va_end(ap);
	fclose(f);
}

__attribute__((unused)) static void tree_remove(const struct tree *t, const char *path)
{
	char command[600];

	snprintf(command, sizeof(command), "rm -rf %s/%s", t->dir, path);
	if (system(command) != 0)
		perror(command);
}

/* The invented machine of that name, in a tree of its own: its root is dir/NAME. */
__attribute__((unused)) static int tree_machine(struct tree *t, const char *name, char *ret_root,
						size_t size)
{
	char command[160];

	*t = tree_new();
	snprintf(command, sizeof(command), "tests/fixtures/make-trees %s %s", t->dir, name);
	snprintf(ret_root, size, "%s/%s", t->dir, name);
	return system(command) == 0 ? 0 : -EIO;
}
