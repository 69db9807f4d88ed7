/* SPDX-License-Identifier: MIT */
#include "test.h"

#include <errno.h>
#include <stdlib.h>

#include "exact.h"
#include "linux/parse.h"

/* What follows the name: ppid 1264, flags, times, start 67514, … */
#define TAIL \
	" S 1264 5 6 0 -1 4194304 364 0 7 0 11 22 0 0 20 -5 3 0 67514 9936896 606 " \
	"18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 9 3 2 0 0 0 0 0 0 0 0 0 0 0\n"

static int parse(const char *text, struct nb_stat *ret)
{
	EXACT(e, text);

	return nb_parse_stat(e.p, e.len, ret);
}

TEST(stat_fields)
{
	struct nb_stat s;

	REQUIRE(parse("4242 (app)" TAIL, &s) == 0);
	CHECK_INT(s.pid, 4242);
	CHECK_STR(s.comm, "app");
	CHECK_INT(s.state, 'S');
	CHECK_INT(s.ppid, 1264);
	CHECK_INT(s.flags, 4194304);
	CHECK_INT(s.utime, 11);
	CHECK_INT(s.stime, 22);
	CHECK_INT(s.n_threads, 3);
	CHECK_INT(s.start, 67514);
	CHECK_INT(s.vsize_bytes, 9936896);
	CHECK_INT(s.rss_pages, 606);
	CHECK_INT(s.processor, 9);
	CHECK_INT(s.rt_priority, 3);
	CHECK_INT(s.policy, 2);
}

/* B01, B02: blanks, brackets and newlines in the name. */
TEST(stat_names)
{
	static const struct {
		const char *text, *comm;
	} cases[] = {
		{"5768 (Media New Transc)" TAIL, "Media New Transc"},
		{"1467 ((sd-pam))" TAIL, "(sd-pam)"},
		{"83875 (sleep (2) .sh)" TAIL, "sleep (2) .sh"},
		{"7 (a) R 1 (b)" TAIL, "a) R 1 (b"},
		{"7 ()" TAIL, ""},
		{"16163 (a) R 1 (b\nx)" TAIL, "a) R 1 (b\nx"},
		{"7 (\xff\xfe\x1b[2J)" TAIL, "\xff\xfe\x1b[2J"},
	};
	struct nb_stat s;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		REQUIRE(parse(cases[i].text, &s) == 0);
		CHECK_STR(s.comm, cases[i].comm);
		CHECK_INT(s.state, 'S');
		CHECK_INT(s.ppid, 1264);
		CHECK_INT(s.policy, 2);
	}
}

TEST(stat_long_name_is_cut)
{
	char text[512];
	struct nb_stat s;

	snprintf(text, sizeof(text), "7 (%0100d)%s", 0, TAIL);
	REQUIRE(parse(text, &s) == 0);
	CHECK_INT(strlen(s.comm), NB_COMM_MAX - 1);
	CHECK_INT(s.ppid, 1264);
}

/* B08 */
TEST(stat_flags)
{
	struct nb_stat s;

	REQUIRE(parse("10 (kworker/0:0H-events_highpri) I 2 0 0 0 -1 69238880 0 0 0 0 0 0 0 0 0 "
		      "-20 1 0 42 0 0 18446744073709551615 0 0 0 0 0 0 2147483647 0 0 0 0 0 17 0 0 "
		      "0 0 0 0 0 0 0 0 0 0 0 0\n",
		      &s) == 0);
	CHECK(s.flags & NB_PF_KTHREAD);
	CHECK(s.flags & NB_PF_NO_SETAFFINITY);
	CHECK_STR(s.comm, "kworker/0:0H-events_highpri");
	CHECK_INT(s.vsize_bytes, 0);
}

/* B02, A09: whatever is cut off anywhere before the policy is refused, and ret kept. */
TEST(stat_cut_anywhere)
{
	const char *text = "7 (a b)" TAIL;
	size_t policy = (size_t)(strstr(text, " 9 3 2 ") - text) + strlen(" 9 3 2");
	struct nb_stat s = {.pid = 99};

	for (size_t len = 0; len < strlen(text); len++) {
		EXACT_N(e, text, len);
		int r = nb_parse_stat(e.p, e.len, &s);

		CHECK_INT(r, len > policy ? 0 : -EINVAL);
		CHECK_INT(s.pid, len > policy ? 7 : 99);
	}
}

TEST(stat_nonsense)
{
	struct nb_stat s;

	CHECK_INT(parse("", &s), -EINVAL);
	CHECK_INT(parse("7 (abc", &s), -EINVAL);
	CHECK_INT(parse(")(", &s), -EINVAL);
	CHECK_INT(parse("7)x(" TAIL, &s), -EINVAL);
	CHECK_INT(parse("99999999999999999999 (a)" TAIL, &s), -EINVAL);
	CHECK_INT(parse("4294967295 (a)" TAIL, &s), -EINVAL);
	CHECK_INT(parse("-7 (a)" TAIL, &s), -EINVAL);
	CHECK_INT(parse("7 (a) SS 1 2 3\n", &s), -EINVAL);
}

TEST(status_lines)
{
	__attribute__((cleanup(nb_status_done))) struct nb_status s = {};
	char buf[64];
	EXACT(e, "Name:\ta) R 1 (b\\nx\nUmask:\t0022\nState:\tR "
		 "(running)\nUid:\t1000\t1001\t1002\t1003\n"
		 "VmRSS:\t    1616 kB\nRssAnon:\t     112 kB\nRssFile:\t    1504 kB\n"
		 "RssShmem:\t       4 kB\nHugetlbPages:\t    2048 kB\n"
		 "Cpus_allowed:\tff\nCpus_allowed_list:\t0-15,32-47\n"
		 "Mems_allowed:\t00000101\nMems_allowed_list:\t0,8\n");

	REQUIRE(nb_parse_status(e.p, e.len, &s) == 0);
	CHECK_INT(s.valid, NB_STATUS_UID | NB_STATUS_RSS | NB_STATUS_ANON | NB_STATUS_HUGE |
				   NB_STATUS_CPUS | NB_STATUS_MEMS);
	CHECK_INT(s.uid, 1001);
	CHECK_INT(s.rss_bytes, 1616 << 10);
	CHECK_INT(s.anon_bytes, 112 << 10);
	CHECK_INT(s.file_bytes, 1504 << 10);
	CHECK_INT(s.shmem_bytes, 4 << 10);
	CHECK_INT(s.huge_bytes, 2 << 20);
	nb_bitmap_format_list(&s.cpus, buf, sizeof(buf));
	CHECK_STR(buf, "0-15,32-47");
	nb_bitmap_format_list(&s.mems, buf, sizeof(buf));
	CHECK_STR(buf, "0,8");
}

/* A kernel thread has no memory lines; numbers that overflow or lack their unit are no
 * numbers; what an earlier text said is forgotten. */
TEST(status_missing_is_not_zero)
{
	__attribute__((cleanup(nb_status_done))) struct nb_status s = {};
	EXACT(full, "Uid:\t5\t5\t5\t5\nVmRSS:\t1 kB\nCpus_allowed_list:\t3\n");
	EXACT(kthread, "Name:\tkthreadd\nUid:\t0\t0\t0\t0\nCpus_allowed_list:\t0-1\n");
	EXACT(bad, "Uid:\tx\nVmRSS:\t99999999999999999999 kB\nRssAnon:\t18446744073709551615 kB\n"
		   "HugetlbPages:\t12\nCpus_allowed_list:\t3-1\nMems_allowed_list:\t0");

	REQUIRE(nb_parse_status(full.p, full.len, &s) == 0);
	REQUIRE(nb_parse_status(kthread.p, kthread.len, &s) == 0);
	CHECK_INT(s.valid, NB_STATUS_UID | NB_STATUS_CPUS);
	CHECK_INT(s.rss_bytes, 0);
	CHECK(!nb_bitmap_test(&s.cpus, 3));
	REQUIRE(nb_parse_status(bad.p, bad.len, &s) == 0);
	CHECK_INT(s.valid, 0);
	REQUIRE(nb_parse_status("", 0, &s) == 0);
	CHECK_INT(s.valid, 0);
}
