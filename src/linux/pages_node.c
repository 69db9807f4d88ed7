/* SPDX-License-Identifier: MIT */
/* The target of a page move: is it allowed, and is there room? */
#include <errno.h>
#include <stdio.h>

#include "linux/pages.h"
#include "linux/parse.h"

#define PMY 10000

static int check_room(const struct nb_page_move *p, uint64_t bytes)
{
	_cleanup_text_ struct nb_text text = {};
	struct nb_meminfo info;
	uint64_t reserve, usable;
	char path[64];
	int r;

	snprintf(path, sizeof(path), "devices/system/node/node%u/meminfo", p->to);
	r = nb_text_read(&text, p->fs->sys_fd, path);
	if (r < 0)
		return r == -ENOMEM ? r : -ENODEV;
	r = nb_parse_meminfo(text.data, text.len, &info);
	if (r < 0 || info.total_bytes == 0)
		return -ENODEV;
	/* Half of what the kernel could drop: the rest is in use by somebody. */
	usable = info.free_bytes + info.clean_bytes / 2;
	reserve = info.total_bytes / PMY * p->settings->reserve_pmy;
	return usable < reserve || usable - reserve < bytes ? -ENOMEM : 0;
}

static int check_mems_allowed(const struct nb_page_move *p)
{
	_cleanup_text_ struct nb_text text = {};
	struct nb_status status = {};
	int r;

	r = nb_text_read(&text, p->task_fd, "status");
	if (r < 0)
		return nb_gone(r) ? -ESRCH : r;
	r = nb_parse_status(text.data, text.len, &status);
	if (r == 0 && status.valid & NB_STATUS_MEMS && !nb_bitmap_test(&status.mems, p->to))
		r = -EINVAL;
	nb_status_done(&status);
	return r;
}

int nb_pages_check_target(const struct nb_page_move *p, uint64_t bytes)
{
	int r = check_mems_allowed(p);

	return r < 0 ? r : check_room(p, bytes);
}
