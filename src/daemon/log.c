/* SPDX-License-Identifier: MIT */
#include "daemon/log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <systemd/sd-journal.h>

#define SUMMARY_US (UINT64_C(3600) * 1000000)
#define N_FIELDS_MAX 16

struct limit {
	const char *name;
	uint64_t since_us; /* of the last line that was written */
	uint64_t held;     /* not written since then */
	bool armed;        /* write the next one */
};

struct nb_log {
	nb_log_sink sink;
	void *user;
	struct limit *limits;
	size_t n_limits;
};

/* stderr is the journal's if the device and inode that JOURNAL_STREAM names are its. */
static bool stderr_is_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	uintmax_t device, inode;
	struct stat st;

	return stream && sscanf(stream, "%ju:%ju", &device, &inode) == 2 && fstat(2, &st) == 0 &&
	       st.st_dev == device && st.st_ino == inode;
}

static void to_stderr(void *user, int priority, const char *message,
		      const struct nb_log_field *fields, size_t n_fields)
{
	(void)user, (void)fields, (void)n_fields;
	fprintf(stderr, "numabalanced: %s%s\n",
		priority <= LOG_ERR       ? "error: "
		: priority == LOG_WARNING ? "warning: "
					  : "",
		message);
}

static void to_journal(void *user, int priority, const char *message,
		       const struct nb_log_field *fields, size_t n_fields)
{
	struct iovec iov[N_FIELDS_MAX + 3];
	char *text[N_FIELDS_MAX + 3];
	int n = 0, len;

	if ((len = asprintf(&text[n], "MESSAGE=%s", message)) >= 0)
		iov[n] = (struct iovec){text[n], (size_t)len}, n++;
	if ((len = asprintf(&text[n], "PRIORITY=%d", priority)) >= 0)
		iov[n] = (struct iovec){text[n], (size_t)len}, n++;
	if ((len = asprintf(&text[n], "SYSLOG_IDENTIFIER=numabalanced")) >= 0)
		iov[n] = (struct iovec){text[n], (size_t)len}, n++;
	for (size_t i = 0; i < n_fields && i < N_FIELDS_MAX; i++) {
		len = asprintf(&text[n], "%s=%s", fields[i].name, fields[i].value);
		if (len >= 0)
			iov[n] = (struct iovec){text[n], (size_t)len}, n++;
	}
	if (sd_journal_sendv(iov, n) < 0)
		to_stderr(user, priority, message, fields, n_fields);
	while (n > 0)
		free(text[--n]);
}

int nb_log_new(nb_log_sink sink, void *user, struct nb_log **ret)
{
	struct nb_log *l = calloc(1, sizeof(*l));

	if (!l)
		return -ENOMEM;
	l->sink = sink ? sink : stderr_is_journal() ? to_journal : to_stderr;
	l->user = user;
	*ret = l;
	return 0;
}

struct nb_log *nb_log_free(struct nb_log *l)
{
	if (!l)
		return NULL;
	free(l->limits);
	free(l);
	return NULL;
}

void nb_log_entry(struct nb_log *l, int priority, const char *message,
		  const struct nb_log_field *fields, size_t n_fields)
{
	int saved = errno;

	if (l)
		l->sink(l->user, priority, message, fields, n_fields);
	else
		to_stderr(NULL, priority, message, fields, n_fields);
	errno = saved;
}

static void log_va(struct nb_log *l, int priority, const char *suffix, const char *fmt, va_list ap)
{
	char text[1024];
	int saved = errno, len;

	len = vsnprintf(text, sizeof(text), fmt, ap);
	if (len >= 0 && (size_t)len < sizeof(text))
		snprintf(text + len, sizeof(text) - (size_t)len, "%s", suffix);
	errno = saved;
	nb_log_entry(l, priority, text, NULL, 0);
}

void nb_log(struct nb_log *l, int priority, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_va(l, priority, "", fmt, ap);
	va_end(ap);
}

static struct limit *find(struct nb_log *l, const char *name)
{
	struct limit *limits;

	for (size_t i = 0; i < l->n_limits; i++)
		if (strcmp(l->limits[i].name, name) == 0)
			return &l->limits[i];
	limits = reallocarray(l->limits, l->n_limits + 1, sizeof(*limits));
	if (!limits)
		return NULL;
	l->limits = limits;
	limits[l->n_limits] = (struct limit){.name = name, .armed = true};
	return &limits[l->n_limits++];
}

void nb_log_limited(struct nb_log *l, const char *name, uint64_t now_us, int priority,
		    const char *fmt, ...)
{
	struct limit *limit = find(l, name);
	char suffix[64] = "";
	va_list ap;

	/* Without memory for the count silence is better than a flood. */
	if (!limit)
		return;
	if (!limit->armed && now_us - limit->since_us < SUMMARY_US) {
		limit->held++;
		return;
	}
	if (limit->held)
		snprintf(suffix, sizeof(suffix), " (and %" PRIu64 " times before)", limit->held);
	limit->armed = false;
	limit->held = 0;
	limit->since_us = now_us;
	va_start(ap, fmt);
	log_va(l, priority, suffix, fmt, ap);
	va_end(ap);
}

void nb_log_rearm(struct nb_log *l, const char *name)
{
	for (size_t i = 0; i < l->n_limits; i++)
		if (strcmp(l->limits[i].name, name) == 0)
			l->limits[i].armed = true;
}
