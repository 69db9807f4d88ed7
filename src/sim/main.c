/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nb/ini.h"
#include "sim/run.h"

#define EXIT_USAGE 2
#define OVERRIDES_MAX 64

struct options {
	const char *file;
	uint64_t seed, runs;
	bool seed_set, json, check;
	const char *set[OVERRIDES_MAX];
	size_t n_set;
};

static void usage(FILE *out)
{
	fputs("Usage: numabalance-sim [OPTION]... SCENARIO.ini\n"
	      "Runs the balancer on a simulated machine.\n\n"
	      "  --seed N                 of what the machine leaves to chance\n"
	      "  --runs N                 with the seeds from there on\n"
	      "  --set SECTION.KEY=VALUE  instead of what the scenario says\n"
	      "  --check                  fail unless what the scenario expects came true\n"
	      "  --json                   one object a run, one a line\n"
	      "  --version, --help\n",
	      out);
}

static int number(const char *text, uint64_t min, uint64_t *ret)
{
	char why[160];
	int r = nb_measure_parse(NB_MEASURE_NUMBER, text, min, UINT64_MAX - 1, ret, why,
				 sizeof(why));

	if (r < 0)
		fprintf(stderr, "numabalance-sim: %s\n", why);
	return r;
}

/* 1: go on; 0: all was said; -EINVAL: the usage is wrong. */
static int parse_options(int argc, char **argv, struct options *o)
{
	enum { SEED = 256, RUNS, SET, CHECK, JSON, VERSION, HELP };
	static const struct option longs[] = {
		{"seed", required_argument, NULL, SEED}, {"runs", required_argument, NULL, RUNS},
		{"set", required_argument, NULL, SET},   {"check", no_argument, NULL, CHECK},
		{"json", no_argument, NULL, JSON},       {"version", no_argument, NULL, VERSION},
		{"help", no_argument, NULL, HELP},       {NULL, 0, NULL, 0},
	};
	int opt;

	while ((opt = getopt_long(argc, argv, "h", longs, NULL)) != -1)
		switch (opt) {
		case SEED:
			if (number(optarg, 0, &o->seed) < 0)
				return -EINVAL;
			o->seed_set = true;
			break;
		case RUNS:
			if (number(optarg, 1, &o->runs) < 0)
				return -EINVAL;
			break;
		case SET:
			if (o->n_set == OVERRIDES_MAX) {
				fputs("numabalance-sim: too many --set\n", stderr);
				return -EINVAL;
			}
			o->set[o->n_set++] = optarg;
			break;
		case CHECK:
			o->check = true;
			break;
		case JSON:
			o->json = true;
			break;
		case VERSION:
			puts("numabalance-sim " NB_VERSION);
			return 0;
		case HELP:
		case 'h':
			usage(stdout);
			return 0;
		default:
			return -EINVAL;
		}
	if (optind + 1 != argc) {
		fputs(optind == argc ? "numabalance-sim: no scenario\n"
				     : "numabalance-sim: one scenario at a time\n",
		      stderr);
		return -EINVAL;
	}
	o->file = argv[optind];
	return 1;
}

static int read_file(const char *path, char **ret, size_t *ret_len)
{
	FILE *f = fopen(path, "re");
	char *text = NULL;
	size_t len = 0;
	ssize_t n;

	if (!f)
		return -errno;
	errno = 0;
	n = getdelim(&text, &len, -1, f); /* all of it: no byte is -1 */
	if (n < 0 && (ferror(f) || errno == ENOMEM)) {
		int r = errno ? -errno : -EIO;

		free(text);
		fclose(f);
		return r;
	}
	fclose(f);
	*ret = text;
	*ret_len = n > 0 ? (size_t)n : 0;
	return 0;
}

static int run_all(const struct nb_scenario *s, const struct options *o)
{
	uint64_t first = o->seed_set ? o->seed : s->run.seed;
	bool good = true;
	char why[160];

	for (uint64_t i = 0; i < o->runs; i++) {
		_cleanup_result_ struct nb_sim_result *result = NULL;
		int r = nb_sim_run(s, first + i, &result);

		if (r < 0) {
			fprintf(stderr, "numabalance-sim: %s\n",
				r == -ENOMEM ? "the processes do not fit the memory"
					     : strerror(-r));
			return r;
		}
		if (o->json)
			nb_sim_print_json(result, stdout);
		else
			nb_sim_print(result, stdout);
		if (o->check && !nb_sim_expected(s, result, why, sizeof(why))) {
			fprintf(stderr, "numabalance-sim: %s\n", why);
			good = false;
		}
	}
	return good ? 0 : -ERANGE;
}

int main(int argc, char **argv)
{
	_cleanup_scenario_ struct nb_scenario *s = NULL;
	struct nb_config_error err = {0};
	struct options o = {.runs = 1};
	char *text = NULL;
	size_t len = 0;
	int r = parse_options(argc, argv, &o);

	if (r <= 0) {
		if (r < 0)
			usage(stderr);
		return r < 0 ? EXIT_USAGE : EXIT_SUCCESS;
	}
	r = read_file(o.file, &text, &len);
	if (r < 0) {
		fprintf(stderr, "numabalance-sim: %s: %s\n", o.file, strerror(-r));
		return EXIT_FAILURE;
	}
	r = nb_scenario_parse(o.file, text ? text : "", len, o.set, o.n_set, &s, &err);
	free(text);
	if (r < 0) {
		fprintf(stderr, "%s\n", err.text[0] ? err.text : strerror(-r));
		return EXIT_USAGE;
	}
	r = run_all(s, &o);
	if (fflush(stdout) != 0)
		r = -EIO;
	return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
