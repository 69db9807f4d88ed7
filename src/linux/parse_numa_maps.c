/* SPDX-License-Identifier: MIT */
/*
 * One line of numa_maps, as show_numa_map() of the kernel's fs/proc/task_mmu.c
 * writes it:
 *
 *   ADDRESS POLICY[=FLAGS][:NODES] [file=NAME|heap|stack[:TID]] [huge] [anon=n]
 *   [dirty=n] [mapped=n] [mapmax=n] [swapcache=n] [active=n] [writeback=n]
 *   [N<id>=n …] [kernelpagesize_kB=n]
 *
 * Counts are in pages of kernelpagesize_kB. Transparent huge pages are counted in
 * base pages. Blanks in names are octal, so an item ends at the first plain blank.
 */
#include "linux/parse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Two of the names hold a blank. A longer name stands before its own beginning. */
static const struct {
	const char *name;
	enum nb_vma_policy policy;
} policies[] = {
	{"default", NB_POLICY_DEFAULT},
	{"local", NB_POLICY_LOCAL},
	{"bind", NB_POLICY_BIND},
	{"prefer (many)", NB_POLICY_PREFER_MANY},
	{"prefer", NB_POLICY_PREFER},
	{"interleave", NB_POLICY_INTERLEAVE},
	{"weighted interleave", NB_POLICY_WEIGHTED_INTERLEAVE},
};

static bool ends_name(const struct nb_cursor *c)
{
	return c->p == c->end || *c->p == ' ' || *c->p == '=' || *c->p == ':';
}

static uint32_t one_flag(struct nb_cursor word)
{
	if (nb_cursor_is(&word, "static"))
		return NB_POLICY_STATIC;
	if (nb_cursor_is(&word, "relative"))
		return NB_POLICY_RELATIVE;
	if (nb_cursor_is(&word, "balancing"))
		return NB_POLICY_BALANCING;
	return NB_POLICY_FLAG_UNKNOWN;
}

static void take_policy(struct nb_cursor *c, struct nb_numa_line *l)
{
	l->policy = NB_POLICY_UNKNOWN;
	l->policy_flags = 0;
	for (size_t i = 0; i < sizeof(policies) / sizeof(*policies); i++) {
		struct nb_cursor rest = *c;

		if (nb_take_text(&rest, policies[i].name) && ends_name(&rest)) {
			l->policy = policies[i].policy;
			*c = rest;
			break;
		}
	}
	if (l->policy != NB_POLICY_UNKNOWN && nb_take_text(c, "=")) {
		const char *start = c->p;

		for (;; c->p++) {
			bool end = c->p == c->end || *c->p == ' ' || *c->p == ':';

			if (end || *c->p == '|') {
				l->policy_flags |= one_flag((struct nb_cursor){start, c->p});
				start = c->p + 1;
			}
			if (end)
				break;
		}
	}
	/* The node list, or the name of a policy of a kernel to come. */
	while (c->p < c->end && *c->p != ' ')
		c->p++;
}

static int add_node(struct nb_numa_line *l, uint64_t node, uint64_t pages)
{
	if (node >= NB_BITMAP_MAX_BITS || __builtin_add_overflow(l->pages, pages, &l->pages))
		return -EINVAL;
	if (l->n_nodes == l->cap_nodes) {
		size_t cap = l->cap_nodes ? l->cap_nodes * 2 : 8;
		struct nb_node_pages *p = reallocarray(l->nodes, cap, sizeof(*p));

		if (!p)
			return -ENOMEM;
		l->nodes = p;
		l->cap_nodes = cap;
	}
	l->nodes[l->n_nodes++] = (struct nb_node_pages){.node = (uint32_t)node, .pages = pages};
	return 0;
}

static bool take_count(struct nb_cursor *word, const char *key, uint64_t *ret, bool *bad)
{
	uint64_t v;

	if (!nb_take_text(word, key))
		return false;
	if (nb_take_u64(word, &v) && word->p == word->end)
		*ret = v;
	else
		*bad = true;
	return true;
}

static int take_item(struct nb_cursor word, struct nb_numa_line *l)
{
	uint64_t node, v = 0;
	bool bad = false;

	if (word.end - word.p > 2 && word.p[0] == 'N' && word.p[1] >= '0' && word.p[1] <= '9') {
		word.p++;
		if (!nb_take_u64(&word, &node) || !nb_take_text(&word, "=") ||
		    !nb_take_u64(&word, &v) || word.p != word.end)
			return -EINVAL;
		return add_node(l, node, v);
	}
	if (take_count(&word, "kernelpagesize_kB=", &v, &bad)) {
		if (bad || v == 0 || __builtin_mul_overflow(v, 1024, &l->page_bytes))
			return -EINVAL;
		return 0;
	}
	if (take_count(&word, "anon=", &l->anon, &bad) ||
	    take_count(&word, "dirty=", &l->dirty, &bad) ||
	    take_count(&word, "mapmax=", &l->mapmax, &bad))
		return bad ? -EINVAL : 0;
	if (nb_cursor_is(&word, "huge"))
		l->huge = true;
	else if (nb_cursor_is(&word, "heap"))
		l->heap = true;
	else if (nb_cursor_is(&word, "stack") || nb_take_text(&word, "stack:"))
		l->stack = true; /* with a thread's id on kernels 3.4 to 4.4 */
	else if (nb_take_text(&word, "file="))
		l->file = word;
	return 0; /* an item of a kernel to come means nothing to us */
}

int nb_parse_numa_line(const char *line, size_t len, struct nb_numa_line *l)
{
	struct nb_cursor c = {.p = line, .end = line + len}, word;
	uint64_t bytes;

	*l = (struct nb_numa_line){
		.address = 0, .mapmax = 1, .nodes = l->nodes, .cap_nodes = l->cap_nodes};
	if (!nb_take_hex(&c, &l->address) || !nb_take_text(&c, " ") || c.p == c.end || *c.p == ' ')
		return -EINVAL;
	take_policy(&c, l);
	while (nb_take_word(&c, &word)) {
		int r = take_item(word, l);

		if (r < 0)
			return r;
	}
	/* The page size is the last item of every mapping that holds something. */
	if (l->n_nodes && !l->page_bytes)
		return -EINVAL;
	if (__builtin_mul_overflow(l->pages, l->page_bytes, &bytes))
		return -EINVAL;
	return 0;
}

void nb_numa_line_done(struct nb_numa_line *l)
{
	free(l->nodes);
	*l = (struct nb_numa_line){};
}
