/* SPDX-License-Identifier: MIT */
#include "linux/ranges.h"

#include <errno.h>
#include <stdlib.h>

#include "linux/parse.h"
#include "linux/procfs.h"

void nb_ranges_done(struct nb_ranges *r)
{
	free(r->items);
	*r = (struct nb_ranges){};
}

static int open_lines(struct nb_lines *l, int task_fd, const char *path)
{
	int r = nb_lines_open(l, task_fd, path);

	return nb_gone(r) ? -ESRCH : r;
}

/* Pages of one mapping on a set of nodes. */
static uint64_t pages_on(const struct nb_numa_line *l, const struct nb_bitmap *nodes)
{
	uint64_t pages = 0;

	for (size_t i = 0; i < l->n_nodes; i++)
		if (nb_bitmap_test(nodes, l->nodes[i].node))
			pages += l->nodes[i].pages;
	return pages;
}

static bool has_prefix(const struct nb_cursor *c, const char *prefix)
{
	struct nb_cursor copy = *c;

	return nb_take_text(&copy, prefix);
}

/* Memory that only looks like a file: it is swapped like anonymous memory, and no
 * file system has a say in its migration. */
static bool is_shared_memory(const struct nb_cursor *file)
{
	return has_prefix(file, "/memfd:") || has_prefix(file, "/dev/shm/") ||
	       has_prefix(file, "/dev/zero") || has_prefix(file, "/SYSV");
}

/* Pages of widely shared files and of shared memory belong to nobody in particular. */
static bool wanted(const struct nb_numa_line *l, const struct nb_range_options *o)
{
	bool file = l->file.p != l->file.end;

	if (l->huge)
		return o->huge_pages && l->mapmax <= 1;
	if (!file)
		return true;
	return l->mapmax <= 1 && (o->file_pages || is_shared_memory(&l->file));
}

static int add(struct nb_ranges *r, const struct nb_range *range)
{
	if (r->n == r->cap) {
		size_t cap = r->cap ? r->cap * 2 : 128;
		struct nb_range *items = reallocarray(r->items, cap, sizeof(*items));

		if (!items)
			return -ENOMEM;
		r->items = items;
		r->cap = cap;
	}
	r->items[r->n++] = *range;
	r->bytes += range->pages * range->page_bytes;
	return 0;
}

/* One line of numa_maps; its end is found later. */
static int take_line(const struct nb_numa_line *l, const struct nb_range_options *o,
		     struct nb_ranges *r)
{
	uint64_t pages = pages_on(l, o->from), bytes = pages * l->page_bytes;
	bool file = l->file.p != l->file.end && !is_shared_memory(&l->file) && !l->huge;

	/* dirty counts anonymous pages, too: of a file only what is more than those. */
	if (file && l->dirty > l->anon)
		r->dirty_files = true;
	if (pages == 0)
		return 0;
	r->all_bytes += bytes;
	if (file)
		r->file_bytes += bytes;
	if (l->huge)
		r->hugetlb_bytes += bytes;
	if (!wanted(l, o))
		return 0;
	return add(r, &(struct nb_range){
			      .start = l->address,
			      .page_bytes = l->page_bytes,
			      .pages = pages,
			      .hugetlb = l->huge,
			      .shared = l->mapmax > 1,
		      });
}

static int read_numa_maps(int task_fd, const struct nb_range_options *o, struct nb_ranges *ret)
{
	struct nb_lines lines = {.fd = -1};
	struct nb_numa_line l = {};
	char *line;
	size_t len;
	int r;

	r = open_lines(&lines, task_fd, "numa_maps");
	if (r == 0)
		while ((r = nb_lines_next(&lines, &line, &len)) > 0) {
			r = nb_parse_numa_line(line, len, &l);
			if (r == 0)
				r = take_line(&l, o, ret);
			if (r == -ENOMEM)
				break;
		}
	nb_lines_close(&lines);
	nb_lines_done(&lines);
	nb_numa_line_done(&l);
	return r;
}

/* Both lists ascend. A range whose mapping changed between the two reads has no end,
 * and is dropped. */
static int find_ends(int task_fd, struct nb_ranges *ret)
{
	struct nb_lines lines = {.fd = -1};
	size_t i = 0, kept = 0;
	char *line;
	size_t len;
	int r;

	r = open_lines(&lines, task_fd, "maps");
	if (r == 0)
		while (i < ret->n && (r = nb_lines_next(&lines, &line, &len)) > 0) {
			struct nb_map map;

			if (nb_parse_maps_line(line, len, &map) < 0)
				continue;
			while (i < ret->n && ret->items[i].start < map.start)
				i++;
			if (i == ret->n || ret->items[i].start != map.start || map.special)
				continue;
			ret->items[i].end = map.end;
			ret->items[i].sparse =
				(map.end - map.start) / 2 / ret->items[i].page_bytes >
				ret->items[i].pages;
			ret->items[kept++] = ret->items[i++];
		}
	nb_lines_close(&lines);
	nb_lines_done(&lines);
	ret->n = kept;
	return r < 0 ? r : 0;
}

int nb_ranges_read(int task_fd, const struct nb_range_options *o, struct nb_ranges *r)
{
	int e;

	*r = (struct nb_ranges){.items = r->items, .cap = r->cap};
	e = read_numa_maps(task_fd, o, r);
	if (e == 0 && r->n > 0)
		e = find_ends(task_fd, r);
	if (e == -ENOENT)
		e = -ESRCH;
	if (e < 0)
		r->n = 0;
	return e;
}

int nb_ranges_count(int task_fd, const struct nb_bitmap *nodes, unsigned node,
		    uint64_t *ret_nodes_bytes, uint64_t *ret_node_bytes)
{
	_cleanup_bitmap_ struct nb_bitmap one = {};
	struct nb_lines lines = {.fd = -1};
	uint64_t on_nodes = 0, on_node = 0;
	struct nb_numa_line l = {};
	char *line;
	size_t len;
	int r;

	r = nb_bitmap_set(&one, node);
	if (r == 0)
		r = open_lines(&lines, task_fd, "numa_maps");
	if (r == 0)
		while ((r = nb_lines_next(&lines, &line, &len)) > 0) {
			r = nb_parse_numa_line(line, len, &l);
			if (r == -ENOMEM)
				break;
			if (r < 0)
				continue;
			on_nodes += pages_on(&l, nodes) * l.page_bytes;
			on_node += pages_on(&l, &one) * l.page_bytes;
		}
	nb_lines_close(&lines);
	nb_lines_done(&lines);
	nb_numa_line_done(&l);
	if (r < 0)
		return r;
	*ret_nodes_bytes = on_nodes;
	*ret_node_bytes = on_node;
	return 0;
}
