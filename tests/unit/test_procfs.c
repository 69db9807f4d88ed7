/* SPDX-License-Identifier: MIT */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/wait.h>

#include "linux/procfs.h"
#include "tree.h"

#define _cleanup_procfs_ __attribute__((cleanup(nb_procfs_close)))
#define _cleanup_lines_ __attribute__((cleanup(nb_lines_done)))
#define _cleanup_ids_ __attribute__((cleanup(nb_ids_done)))

static int open_tree(const struct tree *t, struct nb_procfs *fs)
{
	tree_put(t, "sys/x", "1");
	tree_put(t, "proc/x", "1");
	return nb_procfs_open(t->dir, fs);
}

TEST(whole_files)
{
	_cleanup_tree_ struct tree t = tree_new();
	_cleanup_procfs_ struct nb_procfs fs = {};
	_cleanup_text_ struct nb_text text = {};

	tree_put(&t, "proc/empty", "%s", "");
	tree_put(&t, "proc/large", "%0100000d", 7);
	REQUIRE(open_tree(&t, &fs) == 0);
	CHECK(!fs.live);
	REQUIRE(nb_text_read(&text, fs.proc_fd, "large") == 0);
	CHECK_INT(text.len, 100000);
	CHECK_INT(text.data[99999], '7');
	CHECK_INT(text.data[100000], '\0');
	/* what was read before is gone, also when the next one fails */
	CHECK_INT(nb_text_read(&text, fs.proc_fd, "none"), -ENOENT);
	CHECK_INT(text.len, 0);
	CHECK_STR(text.data, "");
	REQUIRE(nb_text_read(&text, fs.proc_fd, "x") == 0);
	CHECK_STR(text.data, "1");
	REQUIRE(nb_text_read(&text, fs.proc_fd, "empty") == 0);
	CHECK_STR(text.data, "");
	CHECK(nb_text_read(&text, fs.proc_fd, ".") < 0);
}

TEST(endless_file)
{
	_cleanup_text_ struct nb_text text = {};

	CHECK_INT(nb_text_read(&text, AT_FDCWD, "/dev/zero"), -EFBIG);
	CHECK_INT(text.len, 0);
}

/* A09: lines of any length; one without its newline was cut. */
TEST(lines)
{
	_cleanup_tree_ struct tree t = tree_new();
	_cleanup_procfs_ struct nb_procfs fs = {};
	_cleanup_lines_ struct nb_lines lines = {.fd = -1};
	size_t len;
	char *line;

	tree_put(&t, "proc/lines", "one\n\n%0*d\nlast\ncut", 50000, 8);
	REQUIRE(open_tree(&t, &fs) == 0);
	for (unsigned round = 0; round < 2; round++) {
		REQUIRE(nb_lines_open(&lines, fs.proc_fd, "lines") == 0);
		REQUIRE(nb_lines_next(&lines, &line, &len) == 1);
		CHECK_STR(line, "one");
		CHECK_INT(len, 3);
		REQUIRE(nb_lines_next(&lines, &line, &len) == 1);
		CHECK_STR(line, "");
		REQUIRE(nb_lines_next(&lines, &line, &len) == 1);
		CHECK_INT(len, 50000);
		CHECK_INT(line[49999], '8');
		REQUIRE(nb_lines_next(&lines, &line, &len) == 1);
		CHECK_STR(line, "last");
		CHECK_INT(nb_lines_next(&lines, &line, &len), 0);
		nb_lines_close(&lines);
	}
	CHECK_INT(nb_lines_open(&lines, fs.proc_fd, "none"), -ENOENT);
}

TEST(ids)
{
	_cleanup_tree_ struct tree t = tree_new();
	_cleanup_procfs_ struct nb_procfs fs = {};
	_cleanup_ids_ struct nb_ids ids = {};
	static const char *const names[] = {"100",         "7",  "0",    "12x", "x12",
					    "99999999999", "-5", "4242", "08"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		char path[64];

		snprintf(path, sizeof(path), "proc/%s/stat", names[i]);
		tree_put(&t, path, "1");
	}
	REQUIRE(open_tree(&t, &fs) == 0);
	REQUIRE(nb_ids_read(&ids, fs.proc_fd, ".") == 0);
	REQUIRE(ids.n == 3);
	CHECK_INT(ids.items[0].id, 7);
	CHECK_INT(ids.items[1].id, 100);
	CHECK_INT(ids.items[2].id, 4242);
	CHECK(ids.items[0].inode != ids.items[1].inode);
	CHECK_INT(nb_ids_read(&ids, fs.proc_fd, "none"), -ENOENT);
	CHECK_INT(ids.n, 0);
}

/* B04: of a process that has ended, a file that is still open fails, and one that is
 * not, too. */
TEST(task_that_ends)
{
	_cleanup_procfs_ struct nb_procfs fs = {};
	_cleanup_text_ struct nb_text text = {};
	_cleanup_close_ int fd = -1;
	int pipe_fds[2], r;
	char path[32];
	pid_t pid;

	REQUIRE(nb_procfs_open("", &fs) == 0);
	CHECK(fs.live);
	REQUIRE(pipe(pipe_fds) == 0);
	pid = fork();
	if (pid == 0) {
		char c;

		close(pipe_fds[1]);
		_exit(read(pipe_fds[0], &c, 1) < 0);
	}
	snprintf(path, sizeof(path), "%d/stat", (int)pid);
	fd = openat(fs.proc_fd, path, O_RDONLY | O_CLOEXEC);
	REQUIRE(fd >= 0);
	CHECK_INT(nb_text_pread(&text, fd), 0);
	close(pipe_fds[0]);
	close(pipe_fds[1]);
	waitpid(pid, NULL, 0);
	r = nb_text_pread(&text, fd);
	CHECK_INT(r, -ESRCH);
	CHECK(nb_gone(r));
	r = nb_text_read(&text, fs.proc_fd, path);
	CHECK_INT(r, -ENOENT);
	CHECK(nb_gone(r));
	CHECK(!nb_gone(-EACCES) && !nb_gone(0));
}

TEST(roots)
{
	struct nb_procfs fs = {};

	CHECK_INT(nb_procfs_open("no/such/root", &fs), -ENOENT);
	CHECK_INT(nb_procfs_open("/proc/version", &fs), -ENOTDIR);
	nb_procfs_close(&fs);
	CHECK_INT(nb_procfs_open("/", &fs), 0);
	CHECK(fs.live);
	nb_procfs_close(&fs);
	nb_procfs_close(&fs);
}
