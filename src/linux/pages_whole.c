/* SPDX-License-Identifier: MIT */
/* migrate_pages: a whole process in one call. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "linux/pages.h"

/* The kernel reads one bit less than it is told (it takes maxnode for a number of bits
 * that counts one more), so with an exact number the last node would be lost. */
static int call(const struct nb_page_move *p, long *ret)
{
	_cleanup_bitmap_ struct nb_bitmap to = {};
	unsigned long *from_longs = NULL, *to_longs = NULL;
	size_t bits, to_bits;
	int r;

	r = nb_bitmap_set(&to, p->to);
	if (r == 0)
		r = nb_bitmap_to_longs(p->from, p->to + 1, &from_longs, &bits);
	if (r == 0)
		r = nb_bitmap_to_longs(&to, bits, &to_longs, &to_bits);
	if (r == 0)
		*ret = p->sys->migrate_pages(p->key.pid, bits + 1, from_longs, to_longs);
	free(from_longs);
	free(to_longs);
	return r;
}

int nb_pages_migrate(const struct nb_page_move *p, struct nb_page_result *res)
{
	uint64_t from = 0, to = 0, from_after = 0, to_after = 0,
		 page = (uint64_t)sysconf(_SC_PAGESIZE);
	long left = 0;
	int dropped, r;

	r = nb_ranges_count(p->task_fd, p->from, p->to, &from, &to);
	if (r < 0)
		return r;
	dropped = p->sys->set_nice_cap(false);
	if (dropped < 0)
		return dropped;
	r = call(p, &left);
	if (dropped > 0)
		(void)p->sys->set_nice_cap(true);
	if (r < 0)
		return r;
	if (left > 0)
		res->pages_refused[NB_REFUSED_BUSY] += (uint64_t)left;
	if (nb_ranges_count(p->task_fd, p->from, p->to, &from_after, &to_after) == 0) {
		uint64_t gone = from > from_after ? from - from_after : 0;
		uint64_t come = to_after > to ? to_after - to : 0;

		/* It may have freed or touched memory meanwhile: the smaller is sure. */
		res->bytes_moved += gone < come ? gone : come;
	} else if (left >= 0 && from > (uint64_t)left * page) {
		/* It ended since: all that the call did not report. */
		res->bytes_moved += from - (uint64_t)left * page;
	}
	return left < 0 ? (int)left : 0;
}
