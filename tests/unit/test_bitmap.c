/* SPDX-License-Identifier: MIT */
#include "nb/bitmap.h"

#include <errno.h>

#include "test.h"

static const char *list(const struct nb_bitmap *b)
{
	static char buf[256];

	nb_bitmap_format_list(b, buf, sizeof(buf));
	return buf;
}

static int parse(struct nb_bitmap *b, const char *text)
{
	return nb_bitmap_parse_list(b, text, strlen(text));
}

/* D11: no shift wraps at 32 or 64. */
TEST(bitmap_d11_word_borders)
{
	static const unsigned bits[] = {0, 1, 31, 32, 63, 64, 127, 128, 255, 1023, 2047};
	_cleanup_bitmap_ struct nb_bitmap b = {0};

	for (size_t i = 0; i < sizeof(bits) / sizeof(*bits); i++) {
		CHECK(!nb_bitmap_test(&b, bits[i]));
		CHECK_INT(nb_bitmap_set(&b, bits[i]), 0);
		CHECK(nb_bitmap_test(&b, bits[i]));
		CHECK_INT(nb_bitmap_weight(&b), i + 1);
	}
	CHECK_STR(list(&b), "0-1,31-32,63-64,127-128,255,1023,2047");
	CHECK_INT(nb_bitmap_next(&b, 256), 1023);
	CHECK_INT(nb_bitmap_next(&b, 2048), -1);
	CHECK_INT(nb_bitmap_set(&b, NB_BITMAP_MAX_BITS), -ERANGE);
	nb_bitmap_clear(&b, 64);
	CHECK(!nb_bitmap_test(&b, 64) && nb_bitmap_test(&b, 63));
}

/* D16: second ranges and the stride form are read, not lost. */
TEST(bitmap_d16_lists)
{
	static const struct {
		const char *text, *want;
	} good[] = {
		{"", ""}, {"\n", ""}, {" 0-3 \n", "0-3"}, {"0-123,248-371\n", "0-123,248-371"},
		{"1,3,5,7-9", "1,3,5,7-9"}, {"0-7:2/4", "0-1,4-5"}, {"5,1", "1,5"}, {"0,8,252-255", "0,8,252-255"},
	};
	static const char *const bad[] = {"x", "1-", "-1", "3-1", "1,,2", "1,", ",1", "0-3:0/4", "0-3:2/0", "0-3:2", "1 2", "0x3"};
	_cleanup_bitmap_ struct nb_bitmap b = {0};

	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
		CHECK_INT(parse(&b, good[i].text), 0);
		CHECK_STR(list(&b), good[i].want);
	}
	CHECK_INT(parse(&b, "4"), 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		CHECK_INT(parse(&b, bad[i]), -EINVAL);
		CHECK_STR(list(&b), "4");
	}
	CHECK_INT(parse(&b, "99999999999999999999"), -ERANGE);
	CHECK_INT(parse(&b, "0-4294967296"), -ERANGE);
}

TEST(bitmap_set_operations)
{
	_cleanup_bitmap_ struct nb_bitmap a = {0}, b = {0}, c = {0};

	parse(&a, "0-3,100");
	parse(&b, "2-5");
	CHECK(nb_bitmap_intersects(&a, &b) && nb_bitmap_intersects(&b, &a));
	CHECK(!nb_bitmap_subset(&b, &a));
	nb_bitmap_copy(&c, &a);
	CHECK(nb_bitmap_equal(&c, &a));
	nb_bitmap_and(&c, &b);
	CHECK_STR(list(&c), "2-3");
	CHECK(nb_bitmap_subset(&c, &a) && nb_bitmap_subset(&c, &b));
	nb_bitmap_andnot(&a, &b);
	CHECK_STR(list(&a), "0-1,100");
	nb_bitmap_or(&b, &a);
	CHECK_STR(list(&b), "0-5,100");
	nb_bitmap_clear(&b, 100);
	parse(&a, "0-5");
	CHECK(nb_bitmap_equal(&a, &b)); /* b has more words than it uses */
	CHECK(nb_bitmap_hash(&a) == nb_bitmap_hash(&b));
	nb_bitmap_zero(&b);
	CHECK(nb_bitmap_empty(&b) && !nb_bitmap_equal(&a, &b));
}

TEST(bitmap_format_is_bounded)
{
	_cleanup_bitmap_ struct nb_bitmap b = {0};
	char small[4] = "zzz";

	parse(&b, "10,20,30");
	CHECK_INT(nb_bitmap_format_list(&b, small, sizeof(small)), 8);
	CHECK_INT(small[3], 0);
	CHECK_INT(nb_bitmap_format_list(&b, NULL, 0), 8);
}
