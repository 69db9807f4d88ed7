/* SPDX-License-Identifier: MIT */
#include "linux/parse.h"

#include <errno.h>
#include <string.h>

static bool kilobytes(struct nb_cursor value, uint64_t *ret)
{
	struct nb_cursor word;
	uint64_t v;

	if (!nb_take_word(&value, &word) || !nb_take_u64(&word, &v) || word.p != word.end)
		return false;
	if (!nb_take_word(&value, &word) || !nb_cursor_is(&word, "kB"))
		return false;
	return !__builtin_mul_overflow(v, 1024, ret);
}

static bool effective_uid(struct nb_cursor value, uint32_t *ret)
{
	struct nb_cursor real, effective;
	uint64_t v;

	if (!nb_take_word(&value, &real) || !nb_take_word(&value, &effective))
		return false;
	if (!nb_take_u64(&effective, &v) || effective.p != effective.end || v > UINT32_MAX)
		return false;
	*ret = (uint32_t)v;
	return true;
}

int nb_parse_status(const char *text, size_t len, struct nb_status *s)
{
	struct nb_cursor c = {.p = text, .end = text + len}, line;
	/* The name comes first and is escaped, so no process can forge a line. */
	struct {
		const char *key;
		uint64_t *bytes;
		uint32_t bit;
	} sizes[] = {
		{"VmRSS:", &s->rss_bytes, NB_STATUS_RSS},
		{"RssAnon:", &s->anon_bytes, NB_STATUS_ANON},
		{"RssFile:", &s->file_bytes, 0},
		{"RssShmem:", &s->shmem_bytes, 0},
		{"HugetlbPages:", &s->huge_bytes, NB_STATUS_HUGE},
	};

	s->valid = 0;
	s->uid = 0;
	s->rss_bytes = s->anon_bytes = s->file_bytes = s->shmem_bytes = s->huge_bytes = 0;
	nb_bitmap_zero(&s->cpus);
	nb_bitmap_zero(&s->mems);
	while (nb_take_line(&c, &line)) {
		struct nb_bitmap *list = NULL;
		uint32_t bit = 0;

		if (line.end == text + len) /* no newline: cut off */
			break;
		if (nb_take_text(&line, "Uid:")) {
			if (effective_uid(line, &s->uid))
				s->valid |= NB_STATUS_UID;
			continue;
		}
		if (nb_take_text(&line, "Cpus_allowed_list:")) {
			list = &s->cpus;
			bit = NB_STATUS_CPUS;
		} else if (nb_take_text(&line, "Mems_allowed_list:")) {
			list = &s->mems;
			bit = NB_STATUS_MEMS;
		}
		if (list) {
			int r = nb_bitmap_parse_list(list, line.p, (size_t)(line.end - line.p));

			if (r == -ENOMEM)
				return r;
			if (r == 0)
				s->valid |= bit;
			continue;
		}
		for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
			if (nb_take_text(&line, sizes[i].key)) {
				if (kilobytes(line, sizes[i].bytes))
					s->valid |= sizes[i].bit;
				break;
			}
	}
	return 0;
}

void nb_status_done(struct nb_status *s)
{
	nb_bitmap_done(&s->cpus);
	nb_bitmap_done(&s->mems);
	*s = (struct nb_status){};
}
