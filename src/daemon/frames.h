/* SPDX-License-Identifier: MIT */
/*
 * The wire format of Varlink: JSON texts, each ended by one NUL. Two growing
 * buffers of one connection; no descriptor, no clock, so that tests can feed it
 * byte by byte.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define NB_REQUEST_MAX (64u * 1024) /* bytes of one request, without its NUL */

struct nb_frames {
	char *in, *out;
	size_t in_len, in_cap;
	size_t out_len, out_cap, out_sent;
	size_t scanned; /* bytes of in that hold no NUL */
};

void nb_frames_done(struct nb_frames *f);

/* Room for at least one more byte at *ret_buf. -EMSGSIZE: there is a whole limit of
 * bytes without a NUL. -ENOMEM. */
int nb_frames_room(struct nb_frames *f, char **ret_buf, size_t *ret_size);
void nb_frames_filled(struct nb_frames *f, size_t n);

/* 1: a whole message, of *ret_len bytes and a NUL, valid until the next call that
 * changes the buffer; 0: none yet; -EMSGSIZE: it is too long. */
int nb_frames_peek(struct nb_frames *f, const char **ret, size_t *ret_len);
void nb_frames_drop(struct nb_frames *f); /* the message that was peeked at */

/* Appends a text and its NUL. -ENOMEM leaves the buffer as it was. */
int nb_frames_reply(struct nb_frames *f, const char *text, size_t len);
size_t nb_frames_pending(const struct nb_frames *f, const char **ret);
void nb_frames_sent(struct nb_frames *f, size_t n);
