/* SPDX-License-Identifier: MIT */
/* What the workload's parent measures and prints. */
#include "workload.h"

#include <stdio.h>
#include <sys/stat.h>

#define MAX_WINDOWS 4096u

struct share {
	uint64_t seen, local;
};

struct window {
	uint64_t end_ns; /* after the start */
	double passes;   /* of all, in this window */
	struct share all, proc[MAX_PROCS];
};

static struct window windows[MAX_WINDOWS];
static unsigned n_windows;
static struct share until_now[MAX_PROCS];
static double passes_until_now;

static double thread_passes(const struct proc *p, unsigned t)
{
	uint64_t bytes = opt.private ? slice_bytes() : (uint64_t)opt.mb << 20;

	return (double)atomic_load(&p->thread[t].pages) / (double)(bytes / PAGE_BYTES);
}

static double proc_passes(const struct proc *p)
{
	double sum = 0;

	for (unsigned t = 0; t < opt.threads; t++)
		sum += thread_passes(p, t);
	return sum;
}

static void print_share(const char *name, struct share s)
{
	if (s.seen > 0)
		printf(" %s=%.3f", name, (double)s.local / (double)s.seen);
	else
		printf(" %s=-", name);
}

static void print_pace(const char *name, double passes, double seconds)
{
	if (seconds > 0)
		printf(" %s=%.3f", name, passes / seconds);
	else
		printf(" %s=-", name);
}

static void add(struct share *to, struct share s)
{
	to->seen += s.seen;
	to->local += s.local;
}

/* What a process' threads have counted since it was last asked. */
static struct share take_share(unsigned i)
{
	const struct proc *p = &shared->proc[i];
	struct share now = {0}, since;

	for (unsigned t = 0; t < opt.threads; t++) {
		now.seen += atomic_load(&p->thread[t].seen);
		now.local += atomic_load(&p->thread[t].local);
	}
	since.seen = now.seen - until_now[i].seen;
	since.local = now.local - until_now[i].local;
	until_now[i] = now;
	return since;
}

void take_window(uint64_t elapsed_ns)
{
	struct window *w = &windows[n_windows];
	double t = (double)elapsed_ns / 1e9, passes = 0;

	*w = (struct window){.end_ns = elapsed_ns};
	for (unsigned i = 0; i < opt.procs; i++) {
		double mine = proc_passes(&shared->proc[i]);

		w->proc[i] = take_share(i);
		add(&w->all, w->proc[i]);
		printf("sample t=%.2f proc=%u", t, i);
		print_share("local", w->proc[i]);
		printf(" passes=%.2f\n", mine);
		passes += mine;
	}
	w->passes = passes - passes_until_now;
	passes_until_now = passes;
	printf("sample t=%.2f proc=all", t);
	print_share("local", w->all);
	printf(" passes=%.2f\n", passes);
	fflush(stdout);
	if (n_windows < MAX_WINDOWS - 1)
		n_windows++;
}

/* Seconds after the start at which the marked file was made, or -1. */
static double mark_seconds(uint64_t go_real_ns)
{
	struct stat st;
	double s;

	if (!opt.mark || stat(opt.mark, &st) < 0)
		return -1;
	s = (double)st.st_mtim.tv_sec + (double)st.st_mtim.tv_nsec / 1e9 - (double)go_real_ns / 1e9;
	return s > 0 ? s : 0;
}

void print_summary(uint64_t go_real_ns)
{
	double mark = mark_seconds(go_real_ns), from = mark > 0 ? mark : 0, reach = -1;
	double span = opt.span_s > 0 ? opt.span_s : opt.duration_s - from,
	       late_from = from + span * 2 / 3;
	double previous = 0, before_passes = 0, before_s = 0, late_passes = 0, late_s = 0;
	struct share before = {0}, late = {0}, late_proc[MAX_PROCS] = {0};
	uint64_t misplaced = 0;

	for (unsigned k = 0; k < n_windows; k++) {
		const struct window *w = &windows[k];
		double end = (double)w->end_ns / 1e9, length = end - previous;

		if (end <= from) {
			add(&before, w->all);
			before_passes += w->passes;
			before_s += length;
		} else if (end <= from + span + 0.25) { /* the last window may be a little late */
			if (reach < 0 && w->all.seen > 0 && w->all.local * 100 >= w->all.seen * 95)
				reach = end - from;
			if (previous >= late_from) {
				add(&late, w->all);
				for (unsigned i = 0; i < opt.procs; i++)
					add(&late_proc[i], w->proc[i]);
				late_passes += w->passes;
				late_s += length;
			}
		}
		previous = end;
	}
	for (unsigned i = 0; i < opt.procs; i++) {
		const struct proc *p = &shared->proc[i];

		printf("process proc=%u pid=%d", i, (int)p->pid);
		print_share("last_third", late_proc[i]);
		printf(" passes=%.2f threads=", proc_passes(p));
		for (unsigned t = 0; t < opt.threads; t++)
			printf("%s%.2f", t > 0 ? "," : "", thread_passes(p, t));
		putchar('\n');
		misplaced += p->misplaced;
	}
	printf("summary procs=%u threads=%u misplaced=%" PRIu64, opt.procs, opt.threads, misplaced);
	print_share("before", before);
	if (mark >= 0)
		printf(" mark=%.2f", mark);
	else
		printf(" mark=-");
	printf(reach >= 0 ? " reach95=%.2f" : " reach95=-1", reach);
	print_share("last_third", late);
	printf(" passes=%.2f", passes_until_now);
	print_pace("pace_before", before_passes, before_s);
	print_pace("pace", late_passes, late_s);
	putchar('\n');
}
