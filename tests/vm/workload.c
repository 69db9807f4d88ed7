/* SPDX-License-Identifier: MIT */
/*
 * A misplaced workload that measures itself.
 *
 * Each process fills its memory on some nodes and starts its threads on others. Then it
 * releases itself: no policy, every CPU allowed, so that to an onlooker nobody placed it.
 * Its threads write through their memory for ever, and look at the place of some of the
 * pages that they write: local is the share of those on the node of the writing CPU.
 *
 * Output, one "sample" line a process and one for all every half second:
 *   start proc=0 pid=71 misplaced=51200
 *   sample t=0.50 proc=0 local=0.000 passes=1.25
 *   sample t=0.50 proc=all local=0.000 passes=5.00
 *   process proc=0 pid=71 last_third=1.000 passes=70.50 threads=35.00,35.50
 *   summary procs=4 threads=1 misplaced=204800 before=0.000 mark=3.01 reach95=1.49
 *           last_third=0.998 passes=282.00 pace_before=31.0 pace=30.5    (one line)
 * t counts from the common start; a pass is one thread once through what it uses. mark is
 * when the marked file appeared, and what follows is of the span from there; before is the
 * mean until then; reach95 the time from the
 * mark (else from the start) to the end of the first half second that was 95 % local, or
 * -1: never. What was not seen is "-".
 */
#include "workload.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define WINDOW_NS 500000000ull
#define SETTLE_NS 600000000ull

struct options opt = {
	.procs = 1,
	.threads = 1,
	.mb = 200,
	.duration_s = 30,
	.busy_pct = 100,
};
struct shared *shared;

static const char usage_text[] =
	"workload [OPTION…]\n"
	"  --procs P, --threads T    processes, and threads of each (1, 1)\n"
	"  --mb M                    MiB of each process (200)\n"
	"  --shared, --private       threads share all of it (the default), or have a slice each\n"
	"  --place SET[,SET…]        nodes of each process' memory, as 0 or 0+1: in equal parts "
	"(0)\n"
	"  --run SET[,SET…]          nodes where its threads start, in turn (0)\n"
	"  --release-after S[,S…]    seconds until each process releases itself (0)\n"
	"  --duration S              seconds from the common start (30)\n"
	"  --span S                  what the summary looks at, from the mark (all the rest)\n"
	"  --think PERCENT           how busy each thread is (100)\n"
	"  --grow S                  begins with a quarter of the memory, has all after S seconds\n"
	"  --spawn S                 after S seconds each has a thread and a child more, that "
	"sleep\n"
	"  --thp                     huge pages\n"
	"  --mark FILE               the span begins when this file appears\n"
	"  --ready FILE              gets the pids, when all have started\n";

__attribute__((format(printf, 1, 2))) void die(const char *fmt, ...)
{
	va_list ap;

	fputs("workload: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(1);
}

static unsigned parse_number(const char *option, const char *text, unsigned low, unsigned high)
{
	char *end;
	unsigned long v = strtoul(text, &end, 10);

	if (end == text || *end || *text == '-' || v < low || v > high)
		die("%s %s: not a number of %u to %u", option, text, low, high);
	return (unsigned)v;
}

/* "0,1+2": an item a process. */
static void parse_sets(const char *option, char *text, struct set_list *ret)
{
	char *item, *save = NULL;

	ret->n = 0;
	for (item = strtok_r(text, ",", &save); item; item = strtok_r(NULL, ",", &save)) {
		struct set *s = &ret->set[ret->n];
		char *part, *inner = NULL;

		if (ret->n == MAX_PROCS)
			die("%s: more than %d items", option, MAX_PROCS);
		s->n = 0;
		for (part = strtok_r(item, "+", &inner); part; part = strtok_r(NULL, "+", &inner)) {
			if (s->n == MAX_NODES)
				die("%s: more than %d nodes", option, MAX_NODES);
			s->node[s->n++] = parse_number(option, part, 0, MAX_NODES - 1);
		}
		ret->n++;
	}
	if (ret->n == 0)
		die("%s: an empty list", option);
}

static void parse_times(const char *option, char *text)
{
	char *item, *save = NULL, *end;

	opt.n_release = 0;
	for (item = strtok_r(text, ",", &save); item; item = strtok_r(NULL, ",", &save)) {
		double s = strtod(item, &end);

		if (opt.n_release == MAX_PROCS || end == item || *end || !(s >= 0 && s < 86400))
			die("%s %s: not a list of seconds", option, item);
		opt.release_ns[opt.n_release++] = (uint64_t)(s * 1e9);
	}
	if (opt.n_release == 0)
		die("%s: an empty list", option);
}

static void parse_options(int argc, char **argv)
{
	static const struct option longs[] = {
		{"procs", required_argument, NULL, 'p'},
		{"threads", required_argument, NULL, 't'},
		{"mb", required_argument, NULL, 'm'},
		{"shared", no_argument, NULL, 's'},
		{"private", no_argument, NULL, 'P'},
		{"place", required_argument, NULL, 'l'},
		{"run", required_argument, NULL, 'r'},
		{"release-after", required_argument, NULL, 'R'},
		{"duration", required_argument, NULL, 'd'},
		{"spawn", required_argument, NULL, 'w'},
		{"span", required_argument, NULL, 'S'},
		{"think", required_argument, NULL, 'k'},
		{"grow", required_argument, NULL, 'g'},
		{"thp", no_argument, NULL, 'H'},
		{"mark", required_argument, NULL, 'M'},
		{"ready", required_argument, NULL, 'y'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	int c;

	opt.place.n = opt.run.n = opt.n_release = 1;
	opt.place.set[0].n = opt.run.set[0].n = 1;
	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		switch (c) {
		case 'p':
			opt.procs = parse_number("--procs", optarg, 1, MAX_PROCS);
			break;
		case 't':
			opt.threads = parse_number("--threads", optarg, 1, MAX_THREADS);
			break;
		case 'm':
			opt.mb = parse_number("--mb", optarg, 1, 1u << 20);
			break;
		case 's':
			opt.private = false;
			break;
		case 'P':
			opt.private = true;
			break;
		case 'l':
			parse_sets("--place", optarg, &opt.place);
			break;
		case 'r':
			parse_sets("--run", optarg, &opt.run);
			break;
		case 'R':
			parse_times("--release-after", optarg);
			break;
		case 'd':
			opt.duration_s = parse_number("--duration", optarg, 1, 2000);
			break;
		case 'w':
			opt.spawn_s = parse_number("--spawn", optarg, 1, 2000);
			break;
		case 'S':
			opt.span_s = parse_number("--span", optarg, 1, 2000);
			break;
		case 'k':
			opt.busy_pct = parse_number("--think", optarg, 1, 100);
			break;
		case 'g':
			opt.grow_s = parse_number("--grow", optarg, 1, 2000);
			break;
		case 'H':
			opt.thp = true;
			break;
		case 'M':
			opt.mark = optarg;
			break;
		case 'y':
			opt.ready = optarg;
			break;
		case 'h':
			fputs(usage_text, stdout);
			exit(0);
		default:
			fputs(usage_text, stderr);
			exit(2);
		}
	}
	if (optind < argc)
		die("%s: no arguments are taken", argv[optind]);
}

static void write_ready(void)
{
	char path[4096];
	FILE *f;

	if (snprintf(path, sizeof path, "%s.new", opt.ready) >= (int)sizeof path)
		die("--ready: too long");
	f = fopen(path, "w");
	if (!f)
		die("%s: %s", path, strerror(errno));
	for (unsigned i = 0; i < opt.procs; i++)
		fprintf(f, "%s%d", i > 0 ? " " : "", (int)shared->proc[i].pid);
	fputc('\n', f);
	if (fclose(f) != 0 || rename(path, opt.ready) < 0)
		die("%s: %s", opt.ready, strerror(errno));
}

/* A child that dies before its time ends the run. */
static void check_children(void)
{
	int status;

	if (waitpid(-1, &status, WNOHANG) > 0)
		die("a process ended early, status 0x%x", status);
}

int main(int argc, char **argv)
{
	uint64_t go_real_ns, go_ns, next_ns;
	int failed = 0;

	parse_options(argc, argv);
	read_topology();
	shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (shared == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	for (unsigned i = 0; i < opt.procs; i++) {
		pid_t pid = fork();

		if (pid < 0)
			die("fork: %s", strerror(errno));
		if (pid == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			run_process(i);
		}
		shared->proc[i].pid = pid;
	}
	for (unsigned i = 0; i < opt.procs; i++)
		while (atomic_load(&shared->proc[i].ready) < opt.threads) {
			check_children();
			sleep_ns(10000000);
		}
	for (unsigned i = 0; i < opt.procs; i++)
		printf("start proc=%u pid=%d misplaced=%" PRIu64 "\n", i, (int)shared->proc[i].pid,
		       shared->proc[i].misplaced);
	fflush(stdout);

	if (opt.ready)
		write_ready();
	/* Whoever waits for the file has time to come to rest: it would push threads about. */
	sleep_ns(SETTLE_NS);
	go_ns = next_ns = now_ns(CLOCK_MONOTONIC);
	go_real_ns = now_ns(CLOCK_REALTIME);
	start_all();
	while (next_ns - go_ns < opt.duration_s * 1000000000ull) {
		uint64_t now = now_ns(CLOCK_MONOTONIC);

		next_ns += WINDOW_NS;
		if (next_ns > now)
			sleep_ns(next_ns - now);
		check_children();
		take_window(now_ns(CLOCK_MONOTONIC) - go_ns);
	}
	atomic_store(&shared->stop, 1);
	for (unsigned i = 0; i < opt.procs; i++) {
		int status;

		if (waitpid(shared->proc[i].pid, &status, 0) < 0 || status != 0)
			failed = 1;
	}
	print_summary(go_real_ns);
	if (failed)
		die("a process failed");
	return 0;
}
