/* SPDX-License-Identifier: MIT */
/*
 * A test file holds TEST(name) { … CHECK(…); } blocks; test_main.c runs them all
 * and prints one line each: "ok NAME", "not ok NAME", "skip NAME: reason".
 */
#pragma once

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct test {
	const char *name;
	void (*run)(void);
	struct test *next;
};

void test_register(struct test *t);
void test_fail(const char *file, int line, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void test_skip(const char *reason);

#define TEST(id) \
	static void test_##id(void); \
	static struct test entry_##id = {.name = #id, .run = test_##id}; \
	__attribute__((constructor)) static void register_##id(void) \
	{ \
		test_register(&entry_##id); \
	} \
	static void test_##id(void)

/* A failed check is reported and the test goes on; a failed REQUIRE ends the test. */
#define CHECK(cond) \
	do { \
		if (!(cond)) \
			test_fail(__FILE__, __LINE__, "%s", #cond); \
	} while (0)
#define REQUIRE(cond) \
	do { \
		if (!(cond)) { \
			test_fail(__FILE__, __LINE__, "%s", #cond); \
			return; \
		} \
	} while (0)
#define CHECK_INT(got, want) \
	do { \
		long long got_ = (long long)(got), want_ = (long long)(want); \
		if (got_ != want_) \
			test_fail(__FILE__, __LINE__, "%s is %lld, not %lld", #got, got_, want_); \
	} while (0)
#define CHECK_STR(got, want) \
	do { \
		const char *got_ = (got), *want_ = (want); \
		if (!got_ || strcmp(got_, want_) != 0) \
			test_fail(__FILE__, __LINE__, "%s is \"%s\", not \"%s\"", #got, \
				  got_ ? got_ : "(null)", want_); \
	} while (0)
