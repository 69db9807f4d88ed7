/* SPDX-License-Identifier: MIT */
#include "test.h"

#include <stdarg.h>
#include <stdlib.h>

static struct test *first, **last = &first;
static unsigned failures;
static const char *skipped;

void test_register(struct test *t)
{
	*last = t;
	last = &t->next;
}

void test_fail(const char *file, int line, const char *fmt, ...)
{
	va_list ap;

	failures++;
	printf("# %s:%d: ", file, line);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
}

void test_skip(const char *reason)
{
	skipped = reason;
}

int main(int argc, char **argv)
{
	unsigned failed = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (struct test *t = first; t; t = t->next) {
		if (argc > 1 && !strstr(t->name, argv[1]))
			continue;
		failures = 0;
		skipped = NULL;
		t->run();
		if (failures)
			printf("not ok %s\n", t->name);
		else if (skipped)
			printf("skip %s: %s\n", t->name, skipped);
		else
			printf("ok %s\n", t->name);
		failed += failures > 0;
	}
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
