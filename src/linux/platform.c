/* SPDX-License-Identifier: MIT */
/* The Linux machine behind the verbs of nb/platform.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "linux/linux.h"
#include "linux/masks.h"
#include "linux/memory.h"
#include "linux/mover.h"
#include "linux/procfs.h"
#include "linux/sample.h"

struct nb_linux {
	struct nb_platform platform;
	struct nb_procfs fs;
	struct nb_masks *masks; /* NULL in a dump */
	struct nb_sampler *sampler;
	struct nb_mover_pool *mover; /* NULL: it only observes */
};

static struct nb_linux *linux_of(struct nb_platform *p)
{
	return (struct nb_linux *)p;
}

static int linux_sample(struct nb_platform *p, const struct nb_config *c, struct nb_snapshot *s)
{
	struct nb_linux *l = linux_of(p);
	int r = nb_sampler_sample(l->sampler, c, s);

	if (r == 0 && l->mover)
		nb_mover_set_topology(l->mover, s->topology_gen);
	return r;
}

/* Those that are in force now: a reload may replace the configuration while the action
 * waits. */
static const struct nb_settings *settings_of(const struct nb_config *c, const struct nb_snapshot *s,
					     struct nb_key key)
{
	uint32_t i = nb_snapshot_process_by_pid(s, key.pid);
	const struct nb_process *p;
	const struct nb_group *g;

	if (i == UINT32_MAX)
		return &c->settings;
	p = &s->processes[i];
	g = nb_config_group(c, p->comm, nb_snapshot_str(s, p->user), nb_snapshot_str(s, p->cgroup));
	return g ? &g->settings : &c->settings;
}

/* Dense indexes become the kernel's numbers. -ESTALE: the plan names a node that the
 * snapshot has not. */
static int resolve(const struct nb_snapshot *s, const struct nb_action *a, struct nb_job *j)
{
	int r;

	if (a->what & NB_CPU && !a->release)
		NB_BITMAP_FOREACH (n, &a->cpu_nodes) {
			if ((uint32_t)n >= s->n_nodes)
				return -ESTALE;
			r = nb_bitmap_or(&j->cpus, nb_snapshot_mask(s, s->nodes[n].cpus));
			if (r < 0)
				return r;
		}
	if (!(a->what & NB_MEMORY))
		return 0;
	if (a->mem_to >= s->n_nodes)
		return -ESTALE;
	j->mem_to = s->nodes[a->mem_to].id;
	NB_BITMAP_FOREACH (n, &a->mem_from) {
		if ((uint32_t)n >= s->n_nodes)
			return -ESTALE;
		if ((uint32_t)n == a->mem_to)
			continue;
		r = nb_bitmap_set(&j->mem_from, s->nodes[n].id);
		if (r < 0)
			return r;
	}
	return 0;
}

static int job_new(const struct nb_config *c, const struct nb_snapshot *s,
		   const struct nb_action *a, struct nb_job **ret)
{
	struct nb_job *j = calloc(1, sizeof(*j));
	int r;

	if (!j)
		return -ENOMEM;
	j->settings = *settings_of(c, s, a->key);
	j->topology_gen = s->topology_gen;
	r = nb_action_copy(&j->action, a);
	if (r == 0)
		r = resolve(s, a, j);
	if (r < 0) {
		nb_job_free(j);
		return r;
	}
	*ret = j;
	return 0;
}

static int linux_start(struct nb_platform *p, const struct nb_config *c,
		       const struct nb_snapshot *s, const struct nb_action *a)
{
	struct nb_linux *l = linux_of(p);
	struct nb_job *j;
	int r;

	if (!l->mover)
		return -EPERM;
	r = job_new(c, s, a, &j);
	if (r < 0)
		return r;
	r = nb_mover_start(l->mover, j);
	if (r < 0) {
		nb_job_free(j);
		return r;
	}
	/* Its numa_maps are not read while its pages move: that costs both sides dearly. */
	if (a->what & NB_MEMORY)
		nb_memory_hold(nb_sampler_memory(l->sampler), a->key, true);
	return 0;
}

static int linux_next_outcome(struct nb_platform *p, struct nb_outcome *ret)
{
	struct nb_linux *l = linux_of(p);
	int r = l->mover ? nb_mover_outcome(l->mover, ret) : 0;

	if (r <= 0)
		return r;
	if (ret->what & NB_MEMORY)
		nb_memory_hold(nb_sampler_memory(l->sampler), ret->key, false);
	else
		nb_memory_touch(nb_sampler_memory(l->sampler), ret->key);
	return r;
}

static int linux_event_fd(struct nb_platform *p)
{
	struct nb_linux *l = linux_of(p);

	return l->mover ? nb_mover_event_fd(l->mover) : -1;
}

static int linux_restore(struct nb_platform *p)
{
	struct nb_restore_counts counts;
	struct nb_linux *l = linux_of(p);
	int r;

	if (l->mover)
		(void)nb_mover_stop(
			l->mover); /* one that hangs does not keep masks from the rest */
	if (!l->masks)
		return 0;
	r = nb_masks_restore_all(l->masks, &counts);
	if (r < 0)
		return r;
	return counts.failed ? -EPERM : 0;
}

static struct nb_platform *linux_free(struct nb_platform *p)
{
	struct nb_linux *l = linux_of(p);

	if (!l)
		return NULL;
	/* A worker that hangs in the kernel still uses all of it when it wakes. */
	if (l->mover && nb_mover_free(l->mover) > 0)
		return NULL;
	nb_sampler_free(l->sampler);
	nb_masks_free(l->masks);
	nb_procfs_close(&l->fs);
	free(l);
	return NULL;
}

static const struct nb_platform_ops ops = {
	.name = "linux",
	.sample = linux_sample,
	.start = linux_start,
	.next_outcome = linux_next_outcome,
	.event_fd = linux_event_fd,
	.restore = linux_restore,
	.free = linux_free,
};

int nb_linux_new(const struct nb_linux_options *o, struct nb_platform **ret)
{
	struct nb_linux *l = calloc(1, sizeof(*l));
	int r;

	if (!l)
		return -ENOMEM;
	l->platform.ops = &ops;
	r = nb_procfs_open(o->root, &l->fs);
	if (r == 0 && l->fs.live)
		r = nb_masks_new(o->root, o->act ? o->state_dir : NULL, &l->masks);
	if (r == 0)
		r = nb_sampler_new(o->root, l->masks, &l->sampler);
	if (r == 0 && l->fs.live && o->act)
		r = nb_mover_new(&l->fs, l->masks, NULL, &l->mover);
	if (r < 0) {
		linux_free(&l->platform);
		return r;
	}
	*ret = &l->platform;
	return 0;
}

int nb_linux_recovered(const struct nb_platform *p, struct nb_restore_counts *ret)
{
	const struct nb_linux *l = (const struct nb_linux *)p;

	if (l->masks)
		return nb_masks_recovered(l->masks, ret);
	*ret = (struct nb_restore_counts){};
	return 0;
}
