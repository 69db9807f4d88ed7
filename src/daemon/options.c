/* SPDX-License-Identifier: MIT */
#include "daemon/options.h"

#include <errno.h>
#include <getopt.h>
#include <string.h>

#include "daemon/config_file.h"
#include "daemon/listener.h"

#define STATE_DIR_DEFAULT "/run/numabalanced"

enum {
	OPT_CONFIG = 256,
	OPT_SOCKET,
	OPT_STATE_DIR,
	OPT_DRY_RUN,
	OPT_ONCE,
	OPT_JSON,
	OPT_SYSROOT,
	OPT_CHECK_CONFIG,
	OPT_RESTORE,
};

static const struct option long_options[] = {
	{"config", required_argument, NULL, OPT_CONFIG},
	{"socket", required_argument, NULL, OPT_SOCKET},
	{"state-dir", required_argument, NULL, OPT_STATE_DIR},
	{"dry-run", no_argument, NULL, OPT_DRY_RUN},
	{"once", no_argument, NULL, OPT_ONCE},
	{"json", no_argument, NULL, OPT_JSON},
	{"sysroot", required_argument, NULL, OPT_SYSROOT},
	{"check-config", no_argument, NULL, OPT_CHECK_CONFIG},
	{"restore", no_argument, NULL, OPT_RESTORE},
	{"version", no_argument, NULL, 'V'},
	{"help", no_argument, NULL, 'h'},
	{0},
};

void nb_options_help(FILE *out)
{
	fputs("Usage: numabalanced [OPTION]…\n"
	      "Keeps tasks near their memory on machines of several NUMA nodes.\n\n"
	      "  --config FILE     read FILE, then FILE.d/*.conf (" NB_CONFIG_DEFAULT ")\n"
	      "  --socket PATH     control socket (" NB_SOCKET_DEFAULT ")\n"
	      "  --state-dir DIR   where changed masks are recorded (" STATE_DIR_DEFAULT ")\n"
	      "  --dry-run         plan, and do nothing\n"
	      "  --once            look twice, print what is and what would be done, and end\n"
	      "  --json            with --once: as JSON\n"
	      "  --sysroot DIR     look at a dump of /proc and /sys in place of this machine\n"
	      "  --check-config    read the configuration, say what is wrong with it, and end\n"
	      "  --restore         put back what a daemon that died has changed, and end\n"
	      "  --version, --help\n\n"
	      "Exit status: 0, 1 on failure, 2 when options or configuration are wrong.\n",
	      out);
}

static int wrong(FILE *err, const char *what)
{
	fprintf(err, "numabalanced: %s\nTry numabalanced --help.\n", what);
	return -EINVAL;
}

static int check(const struct nb_options *o, FILE *err)
{
	if (o->once + o->check_config + o->restore > 1)
		return wrong(err, "--once, --check-config and --restore exclude one another");
	if (o->json && !o->once)
		return wrong(err, "--json goes with --once only");
	if (o->sysroot && o->restore)
		return wrong(err, "--restore works on this machine, not on a --sysroot");
	if (!*o->socket || !*o->state_dir || (o->config && !*o->config) ||
	    (o->sysroot && !*o->sysroot))
		return wrong(err, "an empty path");
	return 0;
}

int nb_options_parse(int argc, char **argv, struct nb_options *ret, FILE *err)
{
	struct nb_options o = {.socket = NB_SOCKET_DEFAULT, .state_dir = STATE_DIR_DEFAULT};
	char text[256];
	int c, r;

	optind = 0; /* glibc: start anew, for callers that parse more than once */
	opterr = 0;
	while ((c = getopt_long(argc, argv, "+:hV", long_options, NULL)) != -1) {
		switch (c) {
		case OPT_CONFIG:
			o.config = optarg;
			break;
		case OPT_SOCKET:
			o.socket = optarg;
			break;
		case OPT_STATE_DIR:
			o.state_dir = optarg;
			break;
		case OPT_DRY_RUN:
			o.dry_run = true;
			break;
		case OPT_ONCE:
			o.once = true;
			break;
		case OPT_JSON:
			o.json = true;
			break;
		case OPT_SYSROOT:
			o.sysroot = optarg;
			break;
		case OPT_CHECK_CONFIG:
			o.check_config = true;
			break;
		case OPT_RESTORE:
			o.restore = true;
			break;
		case 'V':
			o.version = true;
			break;
		case 'h':
			o.help = true;
			break;
		case ':':
			snprintf(text, sizeof(text), "%.200s needs a value", argv[optind - 1]);
			return wrong(err, text);
		default:
			snprintf(text, sizeof(text), "unknown option %.200s", argv[optind - 1]);
			return wrong(err, text);
		}
	}
	if (optind < argc) {
		snprintf(text, sizeof(text), "unexpected argument %.200s", argv[optind]);
		return wrong(err, text);
	}
	r = o.help || o.version ? 0 : check(&o, err);
	if (r == 0)
		*ret = o;
	return r;
}
