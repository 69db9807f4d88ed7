/* SPDX-License-Identifier: MIT */
#include <getopt.h>
#include <stdio.h>

#include "ctl/command.h"

#define SOCKET_DEFAULT "/run/numabalanced/control.sock"

static const struct option long_options[] = {
	{"socket", required_argument, NULL, 's'},
	{"json", no_argument, NULL, 'j'},
	{"all", no_argument, NULL, 'a'},
	{"version", no_argument, NULL, 'V'},
	{"help", no_argument, NULL, 'h'},
	{0},
};

static void help(FILE *out)
{
	fputs("Usage: numabalancectl [--socket PATH] [--json] COMMAND\n\n", out);
	for (const struct nb_command *c = nb_commands; c->name; c++)
		fprintf(out, "  %-7s %-8s %s\n", c->name, c->arguments, c->purpose);
	fputs("\n  --socket PATH   the daemon's socket (" SOCKET_DEFAULT ")\n"
	      "  --json          the reply as it came, with the field names of io.numabalance\n"
	      "  --version, --help\n\n"
	      "Exit status: 0; 1 the daemon refused; 2 wrong usage; 3 the daemon cannot be "
	      "reached.\n",
	      out);
}

int main(int argc, char **argv)
{
	struct nb_context context = {.socket = SOCKET_DEFAULT, .out = stdout, .err = stderr};
	int c;

	while ((c = getopt_long(argc, argv, "hV", long_options, NULL)) != -1) {
		switch (c) {
		case 's':
			context.socket = optarg;
			break;
		case 'j':
			context.json = true;
			break;
		case 'a':
			context.all = true;
			break;
		case 'V':
			puts("numabalancectl " NB_VERSION);
			return NB_EXIT_OK;
		case 'h':
			help(stdout);
			return NB_EXIT_OK;
		default: /* getopt told what is wrong */
			fputs("Try numabalancectl --help.\n", stderr);
			return NB_EXIT_USAGE;
		}
	}
	if (optind == argc) {
		fputs("numabalancectl: which command?\n", stderr);
		help(stderr);
		return NB_EXIT_USAGE;
	}
	return nb_command_run(&context, argc - optind, argv + optind);
}
