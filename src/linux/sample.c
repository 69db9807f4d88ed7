/* SPDX-License-Identifier: MIT */
#include "linux/sample.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "linux/sample_parts.h"
#include "linux/sysctl.h"

/* Clock ticks of /proc are 100 a second on every architecture that Linux has had
 * since 2.6; sysconf() says so, too. */
static uint64_t clock_tick_ns(void)
{
	long hz = sysconf(_SC_CLK_TCK);

	return 1000000000u / (uint64_t)(hz > 0 ? hz : 100);
}

/* Half of the files that the process may open; the rest is for everybody else. */
static uint32_t files_to_keep(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return 0;
	return limit.rlim_cur / 2 < 32768 ? (uint32_t)(limit.rlim_cur / 2) : 32768;
}

int nb_sampler_new(const char *root, struct nb_masks *masks, struct nb_sampler **ret)
{
	_cleanup_sampler_ struct nb_sampler *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	s->masks = masks;
	s->mask_owner = nb_masks_original;
	r = nb_procfs_open(root, &s->fs);
	if (r == 0)
		r = nb_cgroups_new(&s->fs, &s->cgroups);
	if (r == 0)
		r = nb_memory_new(&s->memory);
	if (r < 0)
		return r;
	s->page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	s->tick_ns = clock_tick_ns();
	s->own_pid = s->fs.live ? (int)getpid() : 0;
	s->users.numbers = !s->fs.live;
	s->seen.max_open_files = s->fs.live ? files_to_keep() : 0;
	*ret = s;
	s = NULL;
	return 0;
}

struct nb_sampler *nb_sampler_free(struct nb_sampler *s)
{
	if (!s)
		return NULL;
	nb_seen_done(&s->seen);
	nb_users_done(&s->users);
	nb_memory_free(s->memory);
	nb_cgroups_free(s->cgroups);
	nb_topology_done(&s->topology);
	nb_text_done(&s->text);
	nb_text_done(&s->cgroup_text);
	nb_ids_done(&s->pids);
	nb_ids_done(&s->tids);
	nb_status_done(&s->status);
	nb_schedstat_done(&s->schedstat);
	nb_proc_stat_done(&s->proc_stat);
	nb_bitmap_done(&s->init_mask);
	nb_bitmap_done(&s->current);
	nb_bitmap_done(&s->original);
	nb_bitmap_done(&s->allowed);
	nb_bitmap_done(&s->wide);
	nb_bitmap_done(&s->thread_allowed);
	nb_bitmap_done(&s->all);
	nb_procfs_close(&s->fs);
	free(s->units);
	free(s->affinity);
	free(s);
	return NULL;
}

struct nb_memory *nb_sampler_memory(struct nb_sampler *s)
{
	return s->memory;
}

static uint64_t time_of_sample(struct nb_sampler *s)
{
	struct timespec ts;
	uint64_t at_us;

	if (s->fs.live) {
		clock_gettime(CLOCK_MONOTONIC, &ts);
		return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
	}
	if (nb_text_read(&s->text, s->fs.root_fd, "at_us") < 0)
		return 0;
	return nb_parse_u64(s->text.data, s->text.len, &at_us) < 0 ? 0 : at_us;
}

/* The mask of PID 1, or the empty set when it is not to be seen. */
static int read_init_mask(struct nb_sampler *s)
{
	int r = nb_sample_affinity(s, 1, 1, &s->init_mask);

	if (r == -ENOMEM)
		return r;
	if (r != 0)
		nb_bitmap_zero(&s->init_mask);
	return 0;
}

static int sample(struct nb_sampler *s)
{
	uint64_t at_us = time_of_sample(s);
	int r, kernel;

	r = nb_cgroups_begin(s->cgroups);
	if (r < 0)
		return r;
	r = nb_topology_refresh(&s->topology, &s->fs, nb_cgroups_partitions(s->cgroups));
	/* One that is just changing is read in the next tick. */
	if (r < 0 && (r == -ENOMEM || s->topology.gen == 0))
		return r;
	r = nb_snapshot_begin(s->snap, at_us, s->topology.n_nodes, s->topology.n_cpus);
	if (r < 0)
		return r;
	s->snap->topology_gen = s->topology.gen;
	/* bit 0: placement; 2 alone is memory tiering, which leaves ordinary nodes alone */
	s->snap->kernel_balances = nb_sysctl_balancing(&s->fs, &kernel) == 0 && kernel & 1;
	r = nb_sample_machine(s);
	if (r == 0)
		r = read_init_mask(s);
	if (r == 0)
		r = nb_ids_read(&s->pids, s->fs.proc_fd, ".");
	for (size_t i = 0; i < s->pids.n && r == 0; i++)
		r = nb_sample_process(s, &s->pids.items[i]);
	if (r < 0)
		return r;
	nb_seen_forget(&s->seen, s->tick);
	return nb_memory_fill(s->memory, &s->fs, &s->topology, s->config, s->snap, s->units,
			      s->n_units);
}

int nb_sampler_sample(struct nb_sampler *s, const struct nb_config *c, struct nb_snapshot *snap)
{
	int r;

	s->tick++;
	s->n_units = 0;
	s->config = c;
	s->snap = snap;
	r = sample(s);
	s->config = NULL;
	s->snap = NULL;
	return r;
}
