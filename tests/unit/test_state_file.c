/* SPDX-License-Identifier: MIT */
#include "test.h"

#include "kid.h"
#include "linux/state_file.h"

static struct nb_state example(void)
{
	struct nb_state s = {.boot_id = "11111111-2222-3333-4444-555555555555"};
	struct nb_bitmap all = set_of("0-2047"), some = set_of("0-3,64,1024-1027");
	uint32_t a = 0, b = 0;

	nb_state_add_set(&s, &all, &a);
	nb_state_add_set(&s, &some, &b);
	for (int i = 0; i < 3; i++)
		nb_state_add_thread(&s,
				    &(struct nb_state_thread){
					    .process = {.pid = 100, .start = 5000},
					    .thread = {.pid = 100 + i, .start = 5000 + (uint64_t)i},
					    .original = a,
					    .given = b,
					    .whole = i != 1,
					    .since = 70000});
	nb_state_add_given(&s, &(struct nb_state_given){.process = {.pid = 100, .start = 5000},
							.mask = b,
							.original = a,
							.whole = true,
							.since = 70000});
	nb_bitmap_done(&all);
	nb_bitmap_done(&some);
	return s;
}

TEST(state_round_trip)
{
	struct nb_state s = example(), t = {};
	char *text = NULL, *again = NULL;
	size_t len = 0, again_len = 0;

	REQUIRE(nb_state_encode(&s, &text, &len) == 0);
	CHECK_INT(nb_state_decode(text, len, &t), 0);
	CHECK_STR(t.boot_id, s.boot_id);
	CHECK_INT(t.n_threads, 3);
	CHECK_INT(t.n_given, 1);
	REQUIRE(t.n_sets == 2);
	CHECK_INT(nb_bitmap_weight(&t.sets[t.threads[2].original]), 2048);
	CHECK_INT(nb_bitmap_weight(&t.sets[t.threads[2].given]), 9);
	CHECK_INT(t.threads[1].whole, false);
	CHECK_INT(t.threads[2].thread.start, 5002);
	REQUIRE(nb_state_encode(&t, &again, &again_len) == 0);
	CHECK(len == again_len && memcmp(text, again, len) == 0);
	free(text);
	free(again);
	nb_state_done(&s);
	nb_state_done(&t);
}

/* Cut off anywhere, or with any one byte changed, it is refused. */
TEST(state_damaged)
{
	struct nb_state s = example(), t = {};
	char *text = NULL, *copy;
	size_t len = 0;

	REQUIRE(nb_state_encode(&s, &text, &len) == 0);
	copy = malloc(len); /* exactly: a read beyond the end is seen by the sanitizer */
	for (size_t n = 0; n < len; n++) {
		char *cut = malloc(n + 1);

		memcpy(cut, text, n);
		if (nb_state_decode(cut, n, &t) == 0)
			test_fail(__FILE__, __LINE__, "cut after %zu bytes and accepted", n);
		free(cut);
	}
	for (size_t i = 0; i < len; i++)
		for (int bit = 0; bit < 8; bit++) {
			memcpy(copy, text, len);
			copy[i] ^= (char)(1 << bit);
			if (nb_state_decode(copy, len, &t) == 0)
				test_fail(__FILE__, __LINE__, "byte %zu changed and accepted", i);
		}
	CHECK_INT(t.n_threads, 0);
	free(copy);
	free(text);
	nb_state_done(&s);
}

static uint64_t sum_of(const char *text)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
	return h;
}

/* With a right sum, but lines that make no sense. */
TEST(state_nonsense)
{
	static const char *const bodies[] = {
		"boot x\nset 0-1\nthread 5 1 5 1 0 1 1 9\n", /* no set 1 */
		"boot x\nthread 5 1 5 1 0 0 1 9\n",          /* no set at all */
		"boot x\nset 0-1\nthread 0 1 5 1 0 0 1 9\n", /* pid 0 is ourselves */
		"boot x\nset 0-1\nthread -5 1 5 1 0 0 1 9\n",
		"boot x\nset 0-1\nthread 99999999999 1 5 1 0 0 1 9\n",
		"boot x\nset 0-1\nthread 5 1 5 1 0 0 2 9\n",
		"boot x\nset 0-1\nthread 5 1 5 1 0 0 1\n",
		"boot x\nset 0-1\nthread 5 1 5 1 0 0 1 9 9\n",
		"boot x\nset \n",
		"boot x\nset 3-1\n",
		"boot x\nset 0-99999999\n",
		"boot x\nmask 0\n",
		"boot x\n\n",
		"set 0-1\n",
		"",
		"boot 0123456789012345678901234567890123456789012345678901234567890123456789\n",
		"boot x\nset 0-1\ngiven 5 1 0 1 1 9\n",
	};
	struct nb_state s = {};
	char text[512], body[400];

	snprintf(body, sizeof(body), "numabalanced masks 1\nboot x\nset 0-1\ngiven 5 1 0 0 1 9\n");
	snprintf(text, sizeof(text), "%ssum %016" PRIx64 "\n", body, sum_of(body));
	CHECK_INT(nb_state_decode(text, strlen(text), &s), 0);
	nb_state_done(&s);
	for (size_t i = 0; i < sizeof(bodies) / sizeof(*bodies); i++) {
		snprintf(body, sizeof(body), "numabalanced masks 1\n%s", bodies[i]);
		snprintf(text, sizeof(text), "%ssum %016" PRIx64 "\n", body, sum_of(body));
		if (nb_state_decode(text, strlen(text), &s) != -EBADMSG)
			test_fail(__FILE__, __LINE__, "accepted: %s", bodies[i]);
	}
	snprintf(body, sizeof(body), "numabalanced masks 2\nboot x\n");
	snprintf(text, sizeof(text), "%ssum %016" PRIx64 "\n", body, sum_of(body));
	CHECK_INT(nb_state_decode(text, strlen(text), &s), -EPROTONOSUPPORT);
}

TEST(state_files)
{
	char *dir = new_dir();
	int fd = open(dir, O_RDONLY | O_DIRECTORY), file;
	struct nb_state s = example(), t = {};

	CHECK_INT(nb_state_read(fd, "x", &t), -ENOENT);
	CHECK_INT(nb_state_write(fd, &s), 0);
	CHECK(!file_exists(dir, "masks.state.new"));
	CHECK_INT(nb_state_read(fd, s.boot_id, &t), 0);
	CHECK_INT(t.n_threads, 3);
	nb_state_done(&t);
	CHECK(file_exists(dir, "masks.state"));

	/* Of another boot: the numbers name other tasks. */
	CHECK_INT(nb_state_read(fd, "x", &t), -ESTALE);
	CHECK(!file_exists(dir, "masks.state"));
	CHECK(file_exists(dir, "masks.state.bad"));

	/* Empty, as after a power cut; a folder; a link to somebody else's file. */
	file = openat(fd, "masks.state", O_CREAT | O_WRONLY, 0600);
	close(file);
	CHECK_INT(nb_state_read(fd, s.boot_id, &t), -EBADMSG);
	CHECK(!file_exists(dir, "masks.state"));
	REQUIRE(symlinkat("/etc/hostname", fd, "masks.state") == 0);
	CHECK_INT(nb_state_read(fd, s.boot_id, &t), -EBADMSG);
	CHECK(!file_exists(dir, "masks.state"));
	REQUIRE(symlinkat("victim", fd, "masks.state.new") == 0);
	CHECK_INT(nb_state_write(fd, &s), 0);
	CHECK(!file_exists(dir, "victim"));
	CHECK_INT(nb_state_remove(fd), 0);
	CHECK_INT(nb_state_remove(fd), 0);
	close(fd);
	nb_state_done(&s);
	remove_dir(dir);
}
