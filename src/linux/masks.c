/* SPDX-License-Identifier: MIT */
#include "linux/masks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "linux/masks_priv.h"
#include "linux/task.h"

#define PRUNE_AT_LEAST 256

static int read_boot_id(struct nb_masks *m)
{
	_cleanup_text_ struct nb_text text = {};
	struct nb_cursor all, word;
	int r;

	r = nb_text_read(&text, m->fs.proc_fd, "sys/kernel/random/boot_id");
	if (r < 0)
		return r;
	all = (struct nb_cursor){.p = text.data, .end = text.data + text.len};
	if (!nb_take_word(&all, &word) || word.end - word.p >= NB_BOOT_ID_MAX)
		return -EINVAL;
	memcpy(m->boot_id, word.p, (size_t)(word.end - word.p));
	m->boot_id[word.end - word.p] = '\0';
	return 0;
}

/* The folder belongs to one live daemon: two would undo each other's work. */
static int open_state_dir(struct nb_masks *m, const char *path)
{
	if (mkdir(path, 0755) < 0 && errno != EEXIST)
		return -errno;
	m->dir_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (m->dir_fd < 0)
		return -errno;
	m->lock_fd =
		openat(m->dir_fd, "masks.lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (m->lock_fd < 0)
		return -errno;
	if (flock(m->lock_fd, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK ? -EBUSY : -errno;
	return 0;
}

/* What an earlier daemon left is put back. A file that cannot be trusted or read is
 * told, not fatal: it must not keep the daemon from starting. */
static int recover(struct nb_masks *m)
{
	_cleanup_state_ struct nb_state state = {};
	int r;

	r = nb_state_read(m->dir_fd, m->boot_id, &state);
	if (r == -ENOENT)
		return 0;
	if (r == -ENOMEM)
		return r;
	if (r < 0) {
		m->recover_error = r;
		return 0;
	}
	r = nb_mask_table_import(&m->table, &state);
	return r < 0 ? r : nb_masks_restore_all(m, &m->recovered);
}

int nb_masks_new(const char *root, const char *state_dir, struct nb_masks **ret)
{
	struct nb_masks *m = calloc(1, sizeof(*m));
	int r;

	if (!m)
		return -ENOMEM;
	m->dir_fd = m->lock_fd = -1;
	m->sys = &nb_syscalls_live;
	m->prune_at = PRUNE_AT_LEAST;
	pthread_mutex_init(&m->lock, NULL);
	r = nb_procfs_open(root, &m->fs);
	if (r == 0 && state_dir) {
		r = read_boot_id(m);
		if (r == 0)
			r = open_state_dir(m, state_dir);
		if (r == 0)
			r = recover(m);
	}
	if (r < 0) {
		nb_masks_free(m);
		return r;
	}
	*ret = m;
	return 0;
}

struct nb_masks *nb_masks_free(struct nb_masks *m)
{
	if (!m)
		return NULL;
	nb_mask_table_done(&m->table);
	nb_procfs_close(&m->fs);
	nb_closep(&m->lock_fd);
	nb_closep(&m->dir_fd);
	pthread_mutex_destroy(&m->lock);
	free(m);
	return NULL;
}

int nb_masks_recovered(const struct nb_masks *m, struct nb_restore_counts *ret)
{
	if (m->recover_error < 0)
		return m->recover_error;
	*ret = m->recovered;
	return 0;
}

void nb_masks_set_syscalls(struct nb_masks *m, const struct nb_syscalls *sys)
{
	m->sys = sys;
}

static bool alive(struct nb_key process, struct nb_key thread, void *arg)
{
	const struct nb_masks *m = arg;
	struct nb_stat stat;
	char path[64];
	int r;

	if (thread.pid > 0)
		snprintf(path, sizeof(path), "%d/task/%d/stat", process.pid, thread.pid);
	else
		snprintf(path, sizeof(path), "%d/stat", process.pid);
	r = nb_task_stat(m->fs.proc_fd, path, &stat);
	/* What cannot be read now is kept. */
	if (r < 0)
		return r != -ESRCH;
	return stat.start == (thread.pid > 0 ? thread.start : process.start);
}

int nb_masks_write(struct nb_masks *m)
{
	_cleanup_state_ struct nb_state state = {};
	int r;

	if (m->table.threads.n + m->table.processes.n >= m->prune_at && m->n_batches == 0) {
		r = nb_mask_table_prune(&m->table, alive, m);
		if (r < 0)
			return r;
		m->prune_at = 2 * (m->table.threads.n + m->table.processes.n);
		if (m->prune_at < PRUNE_AT_LEAST)
			m->prune_at = PRUNE_AT_LEAST;
	}
	if (m->dir_fd < 0 || m->in_bulk)
		return 0;
	if (m->table.threads.n == 0 && m->table.processes.n == 0)
		return nb_state_remove(m->dir_fd);
	r = nb_mask_table_export(&m->table, &state);
	if (r < 0)
		return r;
	memcpy(state.boot_id, m->boot_id, sizeof(state.boot_id));
	return nb_state_write(m->dir_fd, &state);
}

const struct nb_state_given *nb_masks_inherited(struct nb_masks *m, struct nb_key process,
						int32_t ppid, struct nb_key thread,
						const struct nb_bitmap *current)
{
	struct nb_mask_process *p = nb_mask_table_process(&m->table, process.pid);
	const struct nb_state_given *g;

	if (p && p->key.start == process.start)
		return nb_mask_table_inherited(&m->table, p, thread.start, current);
	p = ppid > 0 ? nb_mask_table_process(&m->table, ppid) : NULL;
	if (!p)
		return NULL;
	/* The child as a whole was born after the mask was given: its later threads have
	 * their masks from its own, not from the parent's. */
	g = nb_mask_table_inherited(&m->table, p, process.start, current);
	/* ppid names the parent of today. */
	return g && alive(p->key, (struct nb_key){}, m) ? g : NULL;
}

/* Looks at the thread itself, as the sample may be older than our last change, and
 * at its cpuset, as that changes masks, too. */
static bool still_ours(struct nb_masks *m, const struct nb_state_thread *t)
{
	_cleanup_bounds_ struct nb_bounds bounds = {};
	_cleanup_bitmap_ struct nb_bitmap now = {};
	_cleanup_close_ int fd = -1;

	if (nb_task_open(m->fs.proc_fd, t->process, &fd) < 0 ||
	    nb_bounds_read(&m->fs, fd, &bounds) < 0 ||
	    nb_affinity_get(m->sys, t->thread.pid, &now) < 0)
		return true; /* gone, or no way to tell: it is looked at again */
	return nb_bounds_explain(&bounds, nb_mask_table_bits(&m->table, t->given), &now);
}

/* A record for a thread that was born with our mask. */
static int adopt(struct nb_masks *m, struct nb_key process, struct nb_key thread,
		 const struct nb_state_given *g)
{
	struct nb_state_given own = *g;
	struct nb_mask_thread *added;
	int r;

	own.process = process;
	r = nb_mask_table_give(&m->table, &own);
	if (r < 0)
		return r;
	return nb_mask_table_add(&m->table,
				 &(struct nb_state_thread){
					 .process = process,
					 .thread = thread,
					 .original = own.original,
					 .given = own.mask,
					 .whole = own.whole,
					 .since = own.since,
				 },
				 &added);
}

static enum nb_mask_owner original_locked(struct nb_masks *m, struct nb_key process, int32_t ppid,
					  struct nb_key thread, const struct nb_bitmap *current,
					  struct nb_bitmap *ret_original)
{
	struct nb_mask_thread *known = nb_mask_table_thread(&m->table, process, thread);
	_cleanup_bitmap_ struct nb_bitmap now = {};
	const struct nb_state_given *g;

	if (known) {
		if (!known->pending &&
		    !nb_bitmap_equal(nb_mask_table_bits(&m->table, known->t.given), current) &&
		    !still_ours(m, &known->t)) {
			nb_mask_table_forget(&m->table, known);
			return NB_MASK_OVERRULED;
		}
		return nb_bitmap_copy(ret_original,
				      nb_mask_table_bits(&m->table, known->t.original)) < 0
			       ? NB_MASK_OWN
			       : NB_MASK_OURS;
	}
	g = nb_masks_inherited(m, process, ppid, thread, current);
	if (!g)
		return NB_MASK_OWN;
	/* If it was given its own mask back since it was sampled, that is the original. */
	if (nb_affinity_get(m->sys, thread.pid, &now) == 0 && !nb_bitmap_equal(&now, current))
		return nb_bitmap_copy(ret_original, &now) < 0 ? NB_MASK_OWN : NB_MASK_OURS;
	if (nb_bitmap_copy(ret_original, nb_mask_table_bits(&m->table, g->original)) < 0 ||
	    adopt(m, process, thread, g) < 0)
		return NB_MASK_OWN; /* out of memory: as if it was not seen */
	return NB_MASK_OURS;
}

enum nb_mask_owner nb_masks_original(struct nb_masks *m, struct nb_key process, int32_t ppid,
				     struct nb_key thread, const struct nb_bitmap *current,
				     struct nb_bitmap *ret_original)
{
	enum nb_mask_owner owner;

	pthread_mutex_lock(&m->lock);
	owner = original_locked(m, process, ppid, thread, current, ret_original);
	pthread_mutex_unlock(&m->lock);
	return owner;
}
