/* SPDX-License-Identifier: MIT */
/*
 * Lines for the operator: to the journal with fields when the service manager
 * connected stderr to it, else to stderr. A message that would come again and
 * again is given a name: then it is written once, counted after that, and summed
 * up once an hour.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <syslog.h>

struct nb_log;

/* A field of the journal's entry; its name is in capitals. */
struct nb_log_field {
	const char *name;
	const char *value;
};

/* Where lines go; fields are those of the caller. */
typedef void (*nb_log_sink)(void *user, int priority, const char *message,
			    const struct nb_log_field *fields, size_t n_fields);

/* sink NULL: journal or stderr, as described above. */
int nb_log_new(nb_log_sink sink, void *user, struct nb_log **ret);
struct nb_log *nb_log_free(struct nb_log *l); /* NULL-safe, returns NULL */

/* l NULL: to stderr. errno is left as it is. */
void nb_log(struct nb_log *l, int priority, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* With fields; the message is written as it is. */
void nb_log_entry(struct nb_log *l, int priority, const char *message,
		  const struct nb_log_field *fields, size_t n_fields);

/* Limited. name lives as long as the log. */
void nb_log_limited(struct nb_log *l, const char *name, uint64_t now_us, int priority,
		    const char *fmt, ...) __attribute__((format(printf, 5, 6)));

/* The condition is over: the next time it is written again. */
void nb_log_rearm(struct nb_log *l, const char *name);

static inline void nb_log_freep(struct nb_log **l)
{
	nb_log_free(*l);
}
#define _cleanup_log_ __attribute__((cleanup(nb_log_freep)))
