/* SPDX-License-Identifier: MIT */
#include "linux/state_file.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "linux/parse.h"
#include "linux/procfs.h"

#define NAME "masks.state"
#define NAME_NEW "masks.state.new"
#define NAME_BAD "masks.state.bad"
#define MAGIC "numabalanced masks "
#define VERSION 1

void nb_state_done(struct nb_state *s)
{
	for (size_t i = 0; i < s->n_sets; i++)
		nb_bitmap_done(&s->sets[i]);
	free(s->sets);
	free(s->threads);
	free(s->given);
	*s = (struct nb_state){};
}

/* Room for one more element. */
static int grow(void **array, size_t *cap, size_t n, size_t element)
{
	size_t wanted = *cap ? *cap * 2 : 16;
	void *p;

	if (n < *cap)
		return 0;
	p = reallocarray(*array, wanted, element);
	if (!p)
		return -ENOMEM;
	*array = p;
	*cap = wanted;
	return 0;
}

static int append_set(struct nb_state *s, const struct nb_bitmap *b)
{
	struct nb_bitmap copy = {};
	int r;

	r = grow((void **)&s->sets, &s->cap_sets, s->n_sets, sizeof(*s->sets));
	if (r < 0)
		return r;
	r = nb_bitmap_copy(&copy, b);
	if (r < 0)
		return r;
	s->sets[s->n_sets++] = copy;
	return 0;
}

int nb_state_add_set(struct nb_state *s, const struct nb_bitmap *b, uint32_t *ret)
{
	int r;

	/* From the end: the set that was added last is the likeliest. */
	for (size_t i = s->n_sets; i-- > 0;)
		if (nb_bitmap_equal(&s->sets[i], b)) {
			*ret = (uint32_t)i;
			return 0;
		}
	r = append_set(s, b);
	if (r < 0)
		return r;
	*ret = (uint32_t)(s->n_sets - 1);
	return 0;
}

int nb_state_add_thread(struct nb_state *s, const struct nb_state_thread *t)
{
	int r = grow((void **)&s->threads, &s->cap_threads, s->n_threads, sizeof(*t));

	if (r < 0)
		return r;
	s->threads[s->n_threads++] = *t;
	return 0;
}

int nb_state_add_given(struct nb_state *s, const struct nb_state_given *g)
{
	int r = grow((void **)&s->given, &s->cap_given, s->n_given, sizeof(*g));

	if (r < 0)
		return r;
	s->given[s->n_given++] = *g;
	return 0;
}

static uint64_t fnv1a(const char *text, size_t len)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < len; i++)
		h = (h ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
	return h;
}

static int print_set(FILE *f, const struct nb_bitmap *b)
{
	int len = nb_bitmap_format_list(b, NULL, 0);
	char *list = malloc((size_t)len + 1);

	if (!list)
		return -ENOMEM;
	nb_bitmap_format_list(b, list, (size_t)len + 1);
	fprintf(f, "set %s\n", list);
	free(list);
	return 0;
}

int nb_state_encode(const struct nb_state *s, char **ret, size_t *ret_len)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);
	int r = 0;

	if (!f)
		return -ENOMEM;
	fprintf(f, MAGIC "%d\nboot %s\n", VERSION, s->boot_id);
	for (size_t i = 0; r == 0 && i < s->n_sets; i++)
		r = print_set(f, &s->sets[i]);
	for (size_t i = 0; i < s->n_threads; i++) {
		const struct nb_state_thread *t = &s->threads[i];

		fprintf(f, "thread %d %" PRIu64 " %d %" PRIu64 " %u %u %d %" PRIu64 "\n",
			t->process.pid, t->process.start, t->thread.pid, t->thread.start,
			t->original, t->given, t->whole, t->since);
	}
	for (size_t i = 0; i < s->n_given; i++) {
		const struct nb_state_given *g = &s->given[i];

		fprintf(f, "given %d %" PRIu64 " %u %u %d %" PRIu64 "\n", g->process.pid,
			g->process.start, g->mask, g->original, g->whole, g->since);
	}
	if (r == 0 && fflush(f) == 0)
		fprintf(f, "sum %016" PRIx64 "\n", fnv1a(text, len));
	if (ferror(f))
		r = -ENOMEM;
	if (fclose(f) != 0 && r == 0)
		r = -ENOMEM;
	if (r < 0) {
		free(text);
		return r;
	}
	*ret = text;
	*ret_len = len;
	return 0;
}

/* The next number of a line. */
static bool take(struct nb_cursor *c, uint64_t max, uint64_t *ret)
{
	struct nb_cursor word;

	return nb_take_word(c, &word) && nb_take_u64(&word, ret) && word.p == word.end &&
	       *ret <= max;
}

static bool take_key(struct nb_cursor *c, struct nb_key *ret)
{
	uint64_t pid, start;

	if (!take(c, INT32_MAX, &pid) || pid == 0 || !take(c, UINT64_MAX, &start))
		return false;
	*ret = (struct nb_key){.pid = (int32_t)pid, .start = start};
	return true;
}

static bool take_set(struct nb_cursor *c, const struct nb_state *s, uint32_t *ret)
{
	uint64_t n;

	if (s->n_sets == 0 || !take(c, s->n_sets - 1, &n))
		return false;
	*ret = (uint32_t)n;
	return true;
}

static bool take_flag(struct nb_cursor *c, bool *ret)
{
	uint64_t n;

	if (!take(c, 1, &n))
		return false;
	*ret = n == 1;
	return true;
}

static bool at_end(const struct nb_cursor *c)
{
	return c->p == c->end;
}

static int decode_set(struct nb_cursor *c, struct nb_state *s)
{
	_cleanup_bitmap_ struct nb_bitmap b = {};
	int r;

	r = nb_bitmap_parse_list(&b, c->p, (size_t)(c->end - c->p));
	if (r == -ENOMEM)
		return r;
	/* Nothing can be given an empty set. */
	return r < 0 || nb_bitmap_empty(&b) ? -EBADMSG : append_set(s, &b);
}

static int decode_thread(struct nb_cursor *c, struct nb_state *s)
{
	struct nb_state_thread t;

	if (!take_key(c, &t.process) || !take_key(c, &t.thread) || !take_set(c, s, &t.original) ||
	    !take_set(c, s, &t.given) || !take_flag(c, &t.whole) ||
	    !take(c, UINT64_MAX, &t.since) || !at_end(c))
		return -EBADMSG;
	return nb_state_add_thread(s, &t);
}

static int decode_given(struct nb_cursor *c, struct nb_state *s)
{
	struct nb_state_given g;

	if (!take_key(c, &g.process) || !take_set(c, s, &g.mask) || !take_set(c, s, &g.original) ||
	    !take_flag(c, &g.whole) || !take(c, UINT64_MAX, &g.since) || !at_end(c))
		return -EBADMSG;
	return nb_state_add_given(s, &g);
}

/* All lines between the header and the sum. */
static int decode_lines(struct nb_cursor body, struct nb_state *s)
{
	struct nb_cursor line;
	int r = 0;

	if (!nb_take_line(&body, &line) || !nb_take_text(&line, "boot ") ||
	    line.end - line.p >= NB_BOOT_ID_MAX)
		return -EBADMSG;
	memcpy(s->boot_id, line.p, (size_t)(line.end - line.p));
	s->boot_id[line.end - line.p] = '\0';
	while (r == 0 && body.p < body.end && nb_take_line(&body, &line)) {
		if (nb_take_text(&line, "set "))
			r = decode_set(&line, s);
		else if (nb_take_text(&line, "thread "))
			r = decode_thread(&line, s);
		else if (nb_take_text(&line, "given "))
			r = decode_given(&line, s);
		else
			r = -EBADMSG;
	}
	return r;
}

int nb_state_decode(const char *text, size_t len, struct nb_state *ret)
{
	_cleanup_state_ struct nb_state s = {};
	struct nb_cursor body = {.p = text, .end = text + len}, line;
	const size_t sum_len = strlen("sum 0123456789abcdef\n");
	uint64_t version;
	char sum[32];
	int r;

	if (!nb_take_line(&body, &line) || !nb_take_text(&line, MAGIC) ||
	    !nb_take_u64(&line, &version) || !at_end(&line))
		return -EBADMSG;
	if (version != VERSION)
		return -EPROTONOSUPPORT;
	if ((size_t)(body.end - body.p) < sum_len)
		return -EBADMSG;
	body.end -= sum_len;
	snprintf(sum, sizeof(sum), "sum %016" PRIx64 "\n", fnv1a(text, len - sum_len));
	if (memcmp(body.end, sum, sum_len) != 0)
		return -EBADMSG;
	r = decode_lines(body, &s);
	if (r < 0)
		return r;
	*ret = s;
	s = (struct nb_state){};
	return 0;
}

static int write_all(int fd, const char *text, size_t len)
{
	while (len > 0) {
		ssize_t n = write(fd, text, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		text += n;
		len -= (size_t)n;
	}
	return 0;
}

int nb_state_write(int dir_fd, const struct nb_state *s)
{
	_cleanup_close_ int fd = -1;
	char *text;
	size_t len;
	int r;

	r = nb_state_encode(s, &text, &len);
	if (r < 0)
		return r;
	/* A new file each time: what somebody left or linked there is not written to. */
	if (unlinkat(dir_fd, NAME_NEW, 0) < 0 && errno != ENOENT)
		r = -errno;
	if (r == 0) {
		fd = openat(dir_fd, NAME_NEW, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			    0600);
		r = fd < 0 ? -errno : write_all(fd, text, len);
	}
	free(text);
	if (r == 0 && renameat(dir_fd, NAME_NEW, dir_fd, NAME) < 0)
		r = -errno;
	if (r < 0)
		unlinkat(dir_fd, NAME_NEW, 0);
	return r;
}

int nb_state_read(int dir_fd, const char *boot_id, struct nb_state *ret)
{
	_cleanup_text_ struct nb_text text = {};
	_cleanup_state_ struct nb_state s = {};
	_cleanup_close_ int fd = -1;
	struct stat st;
	int r;

	fd = openat(dir_fd, NAME, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return -ENOENT;
	if (fd < 0 || fstat(fd, &st) < 0)
		r = -errno;
	else
		r = S_ISREG(st.st_mode) ? nb_text_pread(&text, fd) : -EBADMSG;
	if (r == 0)
		r = nb_state_decode(text.data, text.len, &s);
	if (r == 0 && strcmp(s.boot_id, boot_id) != 0)
		r = -ESTALE;
	if (r == -ELOOP || r == -EFBIG)
		r = -EBADMSG;
	if ((r == -EBADMSG || r == -EPROTONOSUPPORT || r == -ESTALE) &&
	    renameat(dir_fd, NAME, dir_fd, NAME_BAD) < 0)
		unlinkat(dir_fd, NAME, 0);
	if (r < 0)
		return r;
	*ret = s;
	s = (struct nb_state){};
	return 0;
}

int nb_state_remove(int dir_fd)
{
	return unlinkat(dir_fd, NAME, 0) < 0 && errno != ENOENT ? -errno : 0;
}
