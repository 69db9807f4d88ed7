/* SPDX-License-Identifier: MIT */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "exact.h"
#include "linux/numa_sum.h"
#include "linux/parse.h"

#define _cleanup_line_ __attribute__((cleanup(nb_numa_line_done)))
#define _cleanup_sum_ __attribute__((cleanup(nb_numa_sum_done)))

static int parse(const char *text, struct nb_numa_line *l)
{
	EXACT(e, text);

	return nb_parse_numa_line(e.p, e.len, l);
}

static uint64_t pages_on(const struct nb_numa_line *l, uint32_t node)
{
	uint64_t n = 0;

	for (size_t i = 0; i < l->n_nodes; i++)
		if (l->nodes[i].node == node)
			n += l->nodes[i].pages;
	return n;
}

/* A01, A02, and all other names, with and without flags and nodes. */
TEST(policies)
{
	static const struct {
		const char *text;
		enum nb_vma_policy policy;
		uint32_t flags;
	} cases[] = {
		{"default", NB_POLICY_DEFAULT, 0},
		{"local", NB_POLICY_LOCAL, 0},
		{"local=static", NB_POLICY_LOCAL, NB_POLICY_STATIC},
		{"prefer:1", NB_POLICY_PREFER, 0},
		{"prefer=relative:1", NB_POLICY_PREFER, NB_POLICY_RELATIVE},
		{"prefer (many):0-1", NB_POLICY_PREFER_MANY, 0},
		{"prefer (many)=static:0-1", NB_POLICY_PREFER_MANY, NB_POLICY_STATIC},
		{"bind:0,8,252-255", NB_POLICY_BIND, 0},
		{"bind=balancing:0-1,3", NB_POLICY_BIND, NB_POLICY_BALANCING},
		{"bind=static|balancing:0", NB_POLICY_BIND, NB_POLICY_STATIC | NB_POLICY_BALANCING},
		{"bind=relative:0-1", NB_POLICY_BIND, NB_POLICY_RELATIVE},
		{"bind=later|static:0", NB_POLICY_BIND, NB_POLICY_FLAG_UNKNOWN | NB_POLICY_STATIC},
		{"interleave:0-3", NB_POLICY_INTERLEAVE, 0},
		{"interleave=static:0-3", NB_POLICY_INTERLEAVE, NB_POLICY_STATIC},
		{"weighted interleave:0-1", NB_POLICY_WEIGHTED_INTERLEAVE, 0},
		{"weighted interleave=static:0", NB_POLICY_WEIGHTED_INTERLEAVE, NB_POLICY_STATIC},
		{"unknown", NB_POLICY_UNKNOWN, 0},
		{"prefer_far:3", NB_POLICY_UNKNOWN, 0},
		{"some thing:0-1", NB_POLICY_UNKNOWN, 0},
		{"binder:0", NB_POLICY_UNKNOWN, 0},
	};
	_cleanup_line_ struct nb_numa_line l = {};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char text[256];

		snprintf(text, sizeof(text),
			 "7f5aa8d57000 %s anon=5 dirty=4 active=0 N0=4 N1=1 kernelpagesize_kB=4",
			 cases[i].text);
		REQUIRE(parse(text, &l) == 0);
		CHECK_INT(l.policy, cases[i].policy);
		CHECK_INT(l.policy_flags, cases[i].flags);
		CHECK_INT(l.anon, 5);
		CHECK_INT(l.dirty, 4);
		CHECK_INT(pages_on(&l, 0), 4);
		CHECK_INT(pages_on(&l, 1), 1);
		/* alone on the line, as of a mapping that holds nothing */
		snprintf(text, sizeof(text), "7f5aa8d57000 %s", cases[i].text);
		REQUIRE(parse(text, &l) == 0);
		CHECK_INT(l.policy, cases[i].policy);
		CHECK_INT(l.pages, 0);
	}
}

/* A07: names are opaque and end at the first plain blank. */
TEST(file_names)
{
	static const char *const names[] = {
		"/usr/bin/app",
		"/srv/sp\\040ace.bin\\040(deleted)",
		"/srv/new\\012line.bin",
		"/srv/tab\\011x",
		"/memfd:my\\040fd\\040N0\\0757\\040(deleted)",
		"/srv/eq\\075N3\\0759.bin",
		"/srv/\xc3\xa4\xff",
		"/a\rhuge",
		"/back\\slash",
		"",
	};
	_cleanup_line_ struct nb_numa_line l = {};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		char text[256];

		snprintf(text, sizeof(text),
			 "7f5aa9340000 default file=%s mapped=9 dirty=1 mapmax=3 N63=9 "
			 "kernelpagesize_kB=4",
			 names[i]);
		REQUIRE(parse(text, &l) == 0);
		CHECK_INT(l.file.end - l.file.p, strlen(names[i]));
		CHECK_INT(l.pages, 9);
		CHECK_INT(pages_on(&l, 63), 9);
		CHECK_INT(pages_on(&l, 3), 0);
		CHECK_INT(l.mapmax, 3);
		CHECK(!l.huge);
	}
}

/* A10, and the other marks. */
TEST(marks)
{
	_cleanup_line_ struct nb_numa_line l = {};

	REQUIRE(parse("7f00 default stack:4711 anon=3 dirty=3 active=1 N0=3 kernelpagesize_kB=4",
		      &l) == 0);
	CHECK(l.stack);
	CHECK_INT(l.pages, 3);
	CHECK_INT(l.address, 0x7f00);
	REQUIRE(parse("560fa8114000 default heap anon=2 N0=2 kernelpagesize_kB=64", &l) == 0);
	CHECK(l.heap && !l.stack);
	CHECK_INT(l.page_bytes, 65536);
	REQUIRE(parse("ffffffffff600000 default file=/x huge anon=1 N1=1 kernelpagesize_kB=1048576 "
		      "new=7",
		      &l) == 0);
	CHECK(l.huge);
	CHECK_INT(l.page_bytes, 1 << 30);
}

TEST(bad_lines)
{
	static const char *const lines[] = {
		"",
		" ",
		"default",
		"7f00",
		"7f00 ",
		"7f00  default",
		"xyz default",
		"7F00 default",
		"11112222333344445 default",
		"7f00 default anon=1 N0=1", /* no page size */
		"7f00 default N0=1 kernelpagesize_kB=0",
		"7f00 default N0= kernelpagesize_kB=4",
		"7f00 default N0=1x kernelpagesize_kB=4",
		"7f00 default N99999999=1 kernelpagesize_kB=4",
		"7f00 default N0=-1 kernelpagesize_kB=4",
		"7f00 default anon=1e3 N0=1 kernelpagesize_kB=4",
		"7f00 default N0=18446744073709551615 kernelpagesize_kB=4",
		"7f00 default N0=18446744073709551615 N1=1 kernelpagesize_kB=4",
		"7f00 default N0=1 kernelpagesize_kB=18446744073709551615",
	};
	_cleanup_line_ struct nb_numa_line l = {};

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		CHECK_INT(parse(lines[i], &l), -EINVAL);
}

/* --- sums ------------------------------------------------------------------------ */

static struct nb_topology nodes_0_to_3 = {
	.n_nodes = 4, .n_ids = 4, .dense_of_id = (uint32_t[]){0, 1, 2, 3}};

static void sum(struct nb_numa_sum *s, const char *text)
{
	char *copy = strdup(text), *save = NULL;

	CHECK_INT(nb_numa_sum_begin(s, 4), 0);
	for (char *line = strtok_r(copy, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		CHECK_INT(nb_numa_sum_line(s, &nodes_0_to_3, line, strlen(line)), 0);
	nb_numa_sum_end(s);
	free(copy);
}

#define MB(n) ((uint64_t)(n) << 20)

/* A04, A05: each line's own page size; transparent huge pages come in small ones. */
TEST(sum_page_sizes)
{
	_cleanup_sum_ struct nb_numa_sum s = {};

	sum(&s, "7f2000000000 default file=/anon_hugepage\\040(deleted) huge anon=10 dirty=10 N0=5 "
		"N1=5 kernelpagesize_kB=2048\n"
		"7f3000000000 default file=/mnt/x huge dirty=1 N3=1 kernelpagesize_kB=1048576\n"
		"7f0850a00000 default anon=2048 dirty=2048 active=0 N2=2048 kernelpagesize_kB=4\n");
	CHECK_INT(s.place[0], MB(10));
	CHECK_INT(s.place[1], MB(10));
	CHECK_INT(s.place[2], MB(8));
	CHECK_INT(s.place[3], MB(1024));
	CHECK_INT(s.huge_bytes, MB(1044));
	CHECK_INT(s.anon[0], 0);
	CHECK_INT(s.anon[2], MB(8));
	CHECK(!s.dirty_files);
}

/* A11: what others map, too, does not count; what only it maps does. */
TEST(sum_shared_files)
{
	_cleanup_sum_ struct nb_numa_sum s = {};

	sum(&s,
	    "7f00 default file=/usr/lib/libc.so.6 mapped=251 mapmax=47 N3=251 kernelpagesize_kB=4\n"
	    "7f01 default anon=512 dirty=512 N1=512 kernelpagesize_kB=4\n"
	    "7f02 default file=/srv/own.db mapped=256 N2=256 kernelpagesize_kB=4\n");
	CHECK_INT(s.place[3], 0);
	CHECK_INT(s.file[3], 251 << 12);
	CHECK_INT(s.place[1], MB(2));
	CHECK_INT(s.place[2], MB(1));
	CHECK(!s.dirty_files);
}

/* A private file mapping that was written to in part. */
TEST(sum_mixed_line)
{
	_cleanup_sum_ struct nb_numa_sum s = {};

	sum(&s, "7f00 default file=/x anon=100 dirty=100 mapped=400 mapmax=2 N0=300 N1=100 "
		"kernelpagesize_kB=4\n");
	CHECK_INT(s.anon[0], 75 << 12);
	CHECK_INT(s.anon[1], 25 << 12);
	CHECK_INT(s.file[0], 225 << 12);
	CHECK_INT(s.place[0], 75 << 12);
	CHECK_INT(s.place[1], 25 << 12);
	CHECK(!s.dirty_files);
	sum(&s, "7f00 default file=/x anon=100 dirty=101 mapped=400 N0=400 kernelpagesize_kB=4\n");
	CHECK(s.dirty_files);
	sum(&s, "7f00 default file=/dev/shm/x dirty=400 N0=400 kernelpagesize_kB=4\n");
	CHECK(!s.dirty_files);
}

/* A12: a heap that is mapped three times is there once; one that others map, too, is
 * not the process' own. */
TEST(sum_heap_mapped_thrice)
{
	_cleanup_sum_ struct nb_numa_sum s = {};

	sum(&s, "7f00 default file=/memfd:java_heap\\040(deleted) dirty=65536 mapmax=3 N0=65536 "
		"kernelpagesize_kB=4\n"
		"7f01 default file=/memfd:java_heap\\040(deleted) dirty=65536 mapmax=3 N0=65536 "
		"kernelpagesize_kB=4\n"
		"7f02 default file=/memfd:java_heap\\040(deleted) dirty=65536 mapmax=3 N0=65536 "
		"kernelpagesize_kB=4\n");
	CHECK_INT(s.place[0], MB(256));
	CHECK_INT(s.own_shared_bytes, MB(256));
	sum(&s, "7f00 default file=/SYSV00000000\\040(deleted) dirty=65536 mapmax=300 N0=65536 "
		"kernelpagesize_kB=4\n");
	CHECK_INT(s.place[0], 0);
	CHECK_INT(s.own_shared_bytes, 0);
	sum(&s,
	    "7f00 default file=/memfd:own\\040(deleted) dirty=256 N2=256 kernelpagesize_kB=4\n");
	CHECK_INT(s.place[2], MB(1));
	CHECK_INT(s.own_shared_bytes, MB(1));
}

/* A02, E12 */
TEST(sum_policies)
{
	_cleanup_sum_ struct nb_numa_sum s = {};

	sum(&s, "7f00 default anon=1 N0=1 kernelpagesize_kB=4\n");
	CHECK(!s.bound && !s.interleaved);
	sum(&s, "7f00 default anon=1 N0=1 kernelpagesize_kB=4\n7f01 weighted interleave:0-1\n");
	CHECK(!s.bound && s.interleaved);
	sum(&s, "7f00 prefer (many):0 anon=1 N0=1 kernelpagesize_kB=4\n");
	CHECK(s.bound && !s.interleaved);
	sum(&s, "7f00 local\n");
	CHECK(s.bound);
	sum(&s, "7f00 futuristic:0\n");
	CHECK(s.bound);
}

/* A node that went away, a broken line, a sum that would overflow. */
TEST(sum_hostile)
{
	_cleanup_sum_ struct nb_numa_sum s = {};

	sum(&s, "7f00 default anon=3 N0=1 N900=2 kernelpagesize_kB=4\nrubbish\n");
	CHECK_INT(s.place[0], 4096);
	CHECK_INT(s.elsewhere, 2);
	CHECK_INT(s.rejected, 1);
	CHECK(!s.empty);
	sum(&s, "7f00 default anon=4503599627370495 N0=4503599627370495 kernelpagesize_kB=4\n"
		"7f01 default anon=4503599627370495 N0=4503599627370495 kernelpagesize_kB=4\n");
	CHECK(s.place[0] == UINT64_MAX);
	sum(&s, "");
	CHECK(s.empty);
}

/* A09: a very long line, and a last one that was cut. A13: an empty file. */
TEST(sum_of_a_file)
{
	_cleanup_sum_ struct nb_numa_sum s = {};
	__attribute__((cleanup(nb_lines_done))) struct nb_lines lines = {.fd = -1};
	char dir[] = "/tmp/nb-numa-XXXXXX", path[64];
	int dir_fd;
	FILE *f;

	REQUIRE(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/m", dir);
	f = fopen(path, "w");
	REQUIRE(f);
	fputs("7f00 default anon=1 N1=1 kernelpagesize_kB=4\n7f01 default file=/", f);
	for (int i = 0; i < 4000; i++)
		fputs("\\040", f);
	for (int i = 0; i < 256; i++)
		fprintf(f, " N%d=1", i);
	fputs(" kernelpagesize_kB=4\n7f02 default anon=7 N0=7 kernelpagesize_kB=4", f);
	fclose(f);
	dir_fd = open(dir, O_RDONLY | O_DIRECTORY);
	CHECK_INT(nb_numa_sum_read(&s, &nodes_0_to_3, &lines, dir_fd, "m"), 0);
	CHECK_INT(s.place[0], 1 << 12);
	CHECK_INT(s.place[1], 2 << 12);
	CHECK_INT(s.place[3], 1 << 12);
	CHECK_INT(s.elsewhere, 252);
	CHECK_INT(s.rejected, 0);
	CHECK_INT(truncate(path, 0), 0);
	CHECK_INT(nb_numa_sum_read(&s, &nodes_0_to_3, &lines, dir_fd, "m"), 0);
	CHECK(s.empty);
	unlink(path);
	CHECK_INT(nb_numa_sum_read(&s, &nodes_0_to_3, &lines, dir_fd, "m"), -ENOENT);
	close(dir_fd);
	rmdir(dir);
}
