/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fnmatch.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "linux/sample_parts.h"

/* Patterns on comm, which has at most 15 bytes. What they start inherits a mask. */
static const char *const services[] = {
	"systemd*",    "(sd-*",     "init",        "openrc*",      "runit",       "s6-*",
	"supervisord", "dockerd",   "containerd*", "docker-proxy", "docker-init", "runc*",
	"crun",        "conmon*",   "crio",        "crio-*",       "kubelet",     "tini",
	"libvirtd",    "virtqemud", "virtlogd",    "lxc*",         "sshd*",       "login",
	"agetty",      "bash",      "-bash",       "dash",         "sh",          "-sh",
	"zsh",         "-zsh",      "ash",         "fish",         "dbus-daemon", "dbus-broker*",
	"cron",        "crond",     "atd",
};

bool nb_is_service(int pid, const char *comm)
{
	if (pid == 1)
		return true;
	for (size_t i = 0; i < sizeof(services) / sizeof(*services); i++)
		if (fnmatch(services[i], comm, 0) == 0)
			return true;
	return false;
}

/* NULL: it has no name, or the directory service is out of order. */
static char *look_up(uint32_t uid)
{
	struct passwd entry, *found = NULL;
	size_t size = 1024;
	char *name = NULL;

	for (;;) {
		char *buf = malloc(size);
		int r;

		if (!buf)
			return NULL;
		r = getpwuid_r(uid, &entry, buf, size, &found);
		if (r == 0 && found)
			name = strdup(found->pw_name);
		free(buf);
		if (r != ERANGE || size > 1 << 20)
			return name;
		size *= 2;
	}
}

/* Names are asked for once: a directory service may be slow, and a user's name does
 * not change under a running machine. */
int nb_users_name(struct nb_users *u, uint32_t uid, const char **ret)
{
	char *name;

	for (uint32_t i = 0; i < u->n; i++)
		if (u->items[i].uid == uid) {
			*ret = u->items[i].name;
			return 0;
		}
	if (u->n == u->cap) {
		uint32_t cap = u->cap ? u->cap * 2 : 16;
		struct nb_user *p = reallocarray(u->items, cap, sizeof(*p));

		if (!p)
			return -ENOMEM;
		u->items = p;
		u->cap = cap;
	}
	name = u->numbers ? NULL : look_up(uid);
	if (!name && asprintf(&name, "%u", (unsigned)uid) < 0)
		return -ENOMEM;
	u->items[u->n++] = (struct nb_user){.uid = uid, .name = name};
	*ret = name;
	return 0;
}

void nb_users_done(struct nb_users *u)
{
	for (uint32_t i = 0; i < u->n; i++)
		free(u->items[i].name);
	free(u->items);
	*u = (struct nb_users){};
}
