/* SPDX-License-Identifier: MIT */
#include "linux/cgroup.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "linux/cgroup_mount.h"
#include "linux/parse.h"

#define N_BUCKETS 1024
#define FORGET_TICKS 64
#define LOOK_AGAIN_TICKS 64 /* for a mount where there was none */

struct entry {
	struct nb_cgroup group;
	char *key; /* the path of version 2, NUL, the path of cpuset's own hierarchy, NUL */
	size_t key_len, v2_len;
	uint64_t used, read; /* ticks */
	struct entry *next;
};

struct nb_cgroups {
	const struct nb_procfs *fs;
	struct nb_cgroup_mount mount;
	uint64_t tick, looked;
	struct nb_bitmap partitions;
	struct entry *buckets[N_BUCKETS];
	struct nb_text text;
	char *path; /* scratch */
	size_t path_cap;
};

int nb_cgroups_new(const struct nb_procfs *fs, struct nb_cgroups **ret)
{
	struct nb_cgroups *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->fs = fs;
	c->mount.fd = -1;
	*ret = c;
	return 0;
}

static void entry_free(struct entry *e)
{
	nb_bitmap_done(&e->group.cpus);
	nb_bitmap_done(&e->group.mems);
	free(e->key);
	free(e);
}

struct nb_cgroups *nb_cgroups_free(struct nb_cgroups *c)
{
	if (!c)
		return NULL;
	for (size_t i = 0; i < N_BUCKETS; i++)
		while (c->buckets[i]) {
			struct entry *e = c->buckets[i];

			c->buckets[i] = e->next;
			entry_free(e);
		}
	nb_cgroup_mount_done(&c->mount);
	nb_bitmap_done(&c->partitions);
	nb_text_done(&c->text);
	free(c->path);
	free(c);
	return NULL;
}

enum nb_cgroup_mode nb_cgroups_mode(const struct nb_cgroups *c)
{
	return c->mount.mode;
}

const struct nb_bitmap *nb_cgroups_partitions(const struct nb_cgroups *c)
{
	return &c->partitions;
}

static void forget(struct nb_cgroups *c)
{
	for (size_t i = 0; i < N_BUCKETS; i++)
		for (struct entry **p = &c->buckets[i]; *p;) {
			struct entry *e = *p;

			if (e->used + FORGET_TICKS > c->tick) {
				p = &e->next;
				continue;
			}
			*p = e->next;
			entry_free(e);
		}
}

static int read_list(struct nb_cgroups *c, const char *path, struct nb_bitmap *ret)
{
	int r = nb_text_read(&c->text, c->mount.fd, path);

	return r < 0 ? r : nb_bitmap_parse_list(ret, c->text.data, c->text.len);
}

int nb_cgroups_begin(struct nb_cgroups *c)
{
	int r;

	c->tick++;
	if (c->tick % FORGET_TICKS == 0)
		forget(c);
	if (c->mount.mode == NB_CGROUP_NONE &&
	    (c->looked == 0 || c->looked + LOOK_AGAIN_TICKS <= c->tick)) {
		c->looked = c->tick;
		r = nb_cgroup_mount_find(c->fs, &c->mount);
		if (r < 0)
			return r;
	}
	if (c->mount.mode == NB_CGROUP_V2) {
		r = read_list(c, "cpuset.cpus.isolated", &c->partitions);
		if (r == -ENOMEM)
			return r;
		if (r < 0)
			nb_bitmap_zero(&c->partitions);
	}
	return 0;
}

/* The path below the mount point, or NULL: it lies outside of what is mounted here,
 * or outside of our namespace. */
static const char *below_mount(const struct nb_cgroups *c, const char *path)
{
	size_t len = strlen(c->mount.root);

	if (strncmp(path, "/..", 3) == 0)
		return NULL;
	if (strcmp(c->mount.root, "/") == 0)
		return path + 1;
	if (strncmp(path, c->mount.root, len) != 0 || (path[len] && path[len] != '/'))
		return NULL;
	return path[len] ? path + len + 1 : path + len;
}

/* The first of the files that exists in the group, or in its nearest ancestor. A
 * group without the file is limited by its ancestors only. 1, 0: nowhere. */
static int read_nearest(struct nb_cgroups *c, const char *group, const char *const *files,
			struct nb_bitmap *ret)
{
	size_t len = strlen(group), need = len + 64;

	if (need > c->path_cap) {
		char *p = realloc(c->path, need);

		if (!p)
			return -ENOMEM;
		c->path = p;
		c->path_cap = need;
	}
	memcpy(c->path, group, len + 1);
	for (;;) {
		for (size_t i = 0; files[i]; i++) {
			int r;

			if (len > 0)
				c->path[len] = '/';
			strcpy(c->path + len + (len > 0), files[i]);
			r = read_list(c, c->path, ret);
			if (r == -ENOMEM)
				return r;
			/* Effective sets are never empty; an empty one is of a file that says
			 * what was asked for, not what is. */
			if (r == 0 && !nb_bitmap_empty(ret))
				return 1;
		}
		if (len == 0)
			return 0;
		while (len > 0 && c->path[len - 1] != '/')
			len--;
		if (len > 0)
			len--;
	}
}

static int read_values(struct nb_cgroups *c, struct entry *e)
{
	static const char *const v2_cpus[] = {"cpuset.cpus.effective", NULL};
	static const char *const v2_mems[] = {"cpuset.mems.effective", NULL};
	/* Before 3.17 there are no effective sets; without a prefix when mounted so. */
	static const char *const v1_cpus[] = {"cpuset.effective_cpus", "effective_cpus",
					      "cpuset.cpus", "cpus", NULL};
	static const char *const v1_mems[] = {"cpuset.effective_mems", "effective_mems",
					      "cpuset.mems", "mems", NULL};
	bool v2 = c->mount.mode == NB_CGROUP_V2;
	const char *group = v2 ? e->key : e->key + e->v2_len + 1;
	int r;

	e->group.unlimited = e->group.cpus_known = e->group.mems_known = false;
	e->read = c->tick;
	if (c->mount.mode == NB_CGROUP_NONE || !*group)
		return 0;
	group = below_mount(c, group);
	if (!group)
		return 0;
	r = read_nearest(c, group, v2 ? v2_cpus : v1_cpus, &e->group.cpus);
	if (r < 0)
		return r;
	e->group.cpus_known = r > 0;
	e->group.unlimited = v2 && r == 0;
	r = read_nearest(c, group, v2 ? v2_mems : v1_mems, &e->group.mems);
	if (r < 0)
		return r;
	e->group.mems_known = r > 0;
	return 0;
}

static uint64_t hash_bytes(const char *p, size_t len)
{
	uint64_t h = 0xcbf29ce484222325u; /* FNV-1a */

	for (size_t i = 0; i < len; i++)
		h = (h ^ (unsigned char)p[i]) * 0x100000001b3u;
	return h;
}

/* Takes the key. */
static int entry_new(char *key, size_t key_len, size_t v2_len, struct entry **ret)
{
	struct entry *e = calloc(1, sizeof(*e));
	const char *cpuset = key + v2_len + 1;

	if (!e) {
		free(key);
		return -ENOMEM;
	}
	e->key = key;
	e->key_len = key_len;
	e->v2_len = v2_len;
	/* systemd's tree is the one with names; a bare "/" there says less than cpuset's. */
	e->group.path = v2_len > 1 || !*cpuset ? key : cpuset;
	*ret = e;
	return 0;
}

int nb_cgroups_get(struct nb_cgroups *c, const char *text, size_t len, const struct nb_cgroup **ret)
{
	struct nb_cgroup_paths paths;
	size_t v2_len, cpuset_len, key_len;
	struct entry *e, **bucket;
	char *key;
	int r;

	r = nb_parse_cgroup(text, len, &paths);
	if (r < 0)
		return r;
	v2_len = (size_t)(paths.v2.end - paths.v2.p);
	cpuset_len = (size_t)(paths.cpuset.end - paths.cpuset.p);
	key_len = v2_len + cpuset_len + 2;
	key = calloc(1, key_len);
	if (!key)
		return -ENOMEM;
	if (v2_len)
		memcpy(key, paths.v2.p, v2_len);
	if (cpuset_len)
		memcpy(key + v2_len + 1, paths.cpuset.p, cpuset_len);

	bucket = &c->buckets[hash_bytes(key, key_len) % N_BUCKETS];
	for (e = *bucket; e; e = e->next)
		if (e->key_len == key_len && memcmp(e->key, key, key_len) == 0)
			break;
	if (e) {
		free(key);
	} else {
		r = entry_new(key, key_len, v2_len, &e);
		if (r < 0)
			return r;
		e->next = *bucket;
		*bucket = e;
	}
	e->used = c->tick;
	if (e->read != c->tick) {
		r = read_values(c, e);
		if (r < 0)
			return r;
	}
	*ret = &e->group;
	return 0;
}
