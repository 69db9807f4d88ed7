/* SPDX-License-Identifier: MIT */
#include "report/grid.h"
#include "report/text.h"
#include "report/units.h"
#include "test.h"

#include <stdlib.h>

static const char *utf8(const char *in, size_t len)
{
	static char out[256];

	nb_text_utf8(in, len, out, sizeof(out));
	return out;
}

static const char *show(const char *in, size_t len)
{
	static char out[256];

	nb_text_show(in, len, out, sizeof(out));
	return out;
}

/* B05: the bytes of the case, and each kind of byte that is no character. */
TEST(text_b05_hostile_names)
{
	CHECK_STR(utf8("a\xff\xfe\x1b[2J\"\\\nb", 11), "a\xef\xbf\xbd\xef\xbf\xbd\x1b[2J\"\\\nb");
	CHECK_STR(show("a\xff\xfe\x1b[2J\"\\\nb", 11), "a\\xff\\xfe\\x1b[2J\\\"\\\\\\x0ab");
	CHECK_STR(show("\x7f\xc2\x9b"
		       "1m",
		       5),
		  "\\x7f\\xc2\\x9b1m");                        /* DEL, C1 */
	CHECK_STR(show("\xe2\x80\xae", 3), "\\xe2\\x80\\xae"); /* right-to-left override */
	CHECK_STR(show("\xe2\x80\xa8", 3), "\\xe2\\x80\\xa8"); /* line separator */
	CHECK_STR(show("gr\xc3\xbc\xc3\x9f", 6), "gr\xc3\xbc\xc3\x9f");
	CHECK_STR(show("a\0b", 3), "a\\x00b");
	CHECK_STR(show("", 0), "");
}

TEST(text_invalid_utf8)
{
	CHECK_STR(utf8("\xc0\x80", 2), "\xef\xbf\xbd\xef\xbf\xbd");                 /* overlong */
	CHECK_STR(utf8("\xed\xa0\x80", 3), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"); /* surrogate */
	CHECK_STR(utf8("\xf4\x90\x80\x80x", 5),
		  "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdx"); /* above U+10FFFF */
	CHECK_STR(utf8("a\xe2\x82", 3), "a\xef\xbf\xbd\xef\xbf\xbd");   /* cut short */
	CHECK_STR(utf8("\xf0\x9f\x98\x80", 4), "\xf0\x9f\x98\x80");
}

/* Cut between characters, always with a NUL, never beyond. */
TEST(text_small_buffers)
{
	for (size_t size = 0; size < 12; size++) {
		char *out = malloc(size + 1);

		out[size] = '!';
		size_t n = nb_text_show("\xc3\xbc\x01"
					"x",
					4, out, size);
		CHECK(out[size] == '!');
		CHECK(size == 0 ? n == 0 : n < size && out[n] == '\0');
		CHECK(n == 0 || n == 2 || n == 6 || n == 7);
		free(out);
	}
}

TEST(units_for_people)
{
	char b[NB_UNIT_MAX];

	CHECK_STR(nb_unit_bytes(b, 0), "0");
	CHECK_STR(nb_unit_bytes(b, 999), "999");
	CHECK_STR(nb_unit_bytes(b, 1000), "1.0K");
	CHECK_STR(nb_unit_bytes(b, UINT64_C(1288490189)), "1.2G");
	CHECK_STR(nb_unit_bytes(b, UINT64_C(64) << 30), "64G");
	CHECK_STR(nb_unit_bytes(b, (UINT64_C(1) << 20) - 1), "1.0M");
	CHECK_STR(nb_unit_bytes(b, UINT64_MAX), "16E");
	CHECK_STR(nb_unit_time(b, 0), "0");
	CHECK_STR(nb_unit_time(b, -15400), "-15 ms");
	CHECK_STR(nb_unit_time(b, 3204567), "3.20 s");
	CHECK_STR(nb_unit_time(b, 61000000), "1 min 1 s");
	CHECK_STR(nb_unit_time(b, INT64_C(7500000000)), "2 h 5 min");
	CHECK_STR(nb_unit_time(b, INT64_MIN), "-106751991 d 4 h");
	CHECK_STR(nb_unit_cpus(b, 0.534), "0.53");
	CHECK_STR(nb_unit_share(b, 0.97), "97 %");
	CHECK_STR(nb_unit_share(b, 1), "100 %");
	CHECK_STR(nb_unit_share(b, 0.9999), "99 %"); /* not quite all */
	CHECK_STR(nb_unit_share(b, 0.0001), "1 %");  /* not quite nothing */
	CHECK_STR(nb_unit_share(b, 0), "0 %");
}

TEST(grid_aligns_by_characters)
{
	struct nb_grid *g = nb_grid_new("rl");
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	nb_grid_cell(g, "N");
	nb_grid_cell(g, "NAME");
	nb_grid_cell(g, "%d", 100);
	nb_grid_cell(g, "\xc3\xbc");
	CHECK_INT(nb_grid_print(g, "", out), 0);
	fclose(out);
	CHECK_STR(text, "  N  NAME\n100  \xc3\xbc\n");
	free(text);
	nb_grid_free(g);
	CHECK_INT(nb_grid_print(NULL, "", stdout), -12);
}
