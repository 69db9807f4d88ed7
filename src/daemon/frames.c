/* SPDX-License-Identifier: MIT */
#include "daemon/frames.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A reply buffer that a large reply made large is not kept for ever. */
#define OUT_KEEP (64u * 1024)

void nb_frames_done(struct nb_frames *f)
{
	free(f->in);
	free(f->out);
	*f = (struct nb_frames){0};
}

static int reserve(char **buf, size_t *cap, size_t want)
{
	size_t size = *cap ? *cap : 1024;
	char *grown;

	if (want <= *cap)
		return 0;
	while (size < want)
		size *= 2;
	grown = realloc(*buf, size);
	if (!grown)
		return -ENOMEM;
	*buf = grown;
	*cap = size;
	return 0;
}

int nb_frames_room(struct nb_frames *f, char **ret_buf, size_t *ret_size)
{
	int r;

	if (f->in_len > NB_REQUEST_MAX)
		return -EMSGSIZE;
	if (f->in_len == f->in_cap) {
		r = reserve(&f->in, &f->in_cap, f->in_len + 1);
		if (r < 0)
			return r;
	}
	*ret_buf = f->in + f->in_len;
	*ret_size = f->in_cap - f->in_len;
	if (*ret_size > NB_REQUEST_MAX + 1 - f->in_len)
		*ret_size = NB_REQUEST_MAX + 1 - f->in_len;
	return 0;
}

void nb_frames_filled(struct nb_frames *f, size_t n)
{
	f->in_len += n;
}

int nb_frames_peek(struct nb_frames *f, const char **ret, size_t *ret_len)
{
	const char *end;

	if (f->scanned < f->in_len) {
		end = memchr(f->in + f->scanned, 0, f->in_len - f->scanned);
		f->scanned = end ? (size_t)(end - f->in) : f->in_len;
	}
	if (f->scanned == f->in_len)
		return f->in_len > NB_REQUEST_MAX ? -EMSGSIZE : 0;
	*ret = f->in;
	*ret_len = f->scanned;
	return 1;
}

void nb_frames_drop(struct nb_frames *f)
{
	f->in_len -= f->scanned + 1;
	memmove(f->in, f->in + f->scanned + 1, f->in_len);
	f->scanned = 0;
}

int nb_frames_reply(struct nb_frames *f, const char *text, size_t len)
{
	int r = reserve(&f->out, &f->out_cap, f->out_len + len + 1);

	if (r < 0)
		return r;
	memcpy(f->out + f->out_len, text, len);
	f->out[f->out_len + len] = '\0';
	f->out_len += len + 1;
	return 0;
}

size_t nb_frames_pending(const struct nb_frames *f, const char **ret)
{
	*ret = f->out ? f->out + f->out_sent : NULL;
	return f->out_len - f->out_sent;
}

void nb_frames_sent(struct nb_frames *f, size_t n)
{
	f->out_sent += n;
	if (f->out_sent < f->out_len)
		return;
	f->out_sent = f->out_len = 0;
	if (f->out_cap > OUT_KEEP) {
		free(f->out);
		f->out = NULL;
		f->out_cap = 0;
	}
}
