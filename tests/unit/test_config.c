/* SPDX-License-Identifier: MIT */
#include "nb/config.h"
#include "test.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIXTURES "tests/fixtures/config/"

static char *slurp(const char *path, size_t *ret_len)
{
	FILE *f = fopen(path, "rb");
	char *text = NULL;
	size_t size = 0, n = 0;

	if (!f) {
		test_fail(__FILE__, __LINE__, "cannot open %s", path);
		return NULL;
	}
	do {
		size += 65536;
		text = realloc(text, size);
		n += fread(text + n, 1, size - n - 1, f);
	} while (n == size - 1);
	fclose(f);
	text[n] = '\0';
	*ret_len = n;
	return text;
}

static char *print(const struct nb_config *c, bool origins)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	CHECK_INT(nb_config_print(c, origins, f), 0);
	fclose(f);
	return text;
}

/* Parses texts as files "1", "2", … and finishes. */
static int load(const char *const *texts, struct nb_config **ret, struct nb_config_error *err)
{
	_cleanup_config_ struct nb_config *c = NULL;
	char name[2] = "1";
	int r;

	err->text[0] = '\0';
	r = nb_config_new(&c);
	for (; r == 0 && *texts; texts++, name[0]++)
		r = nb_config_parse(c, name, *texts, strlen(*texts), err);
	if (r == 0)
		r = nb_config_finish(c, err);
	if (r < 0)
		return r;
	*ret = c;
	c = NULL;
	return 0;
}
#define LOAD(ret, err, ...) load((const char *const[]){__VA_ARGS__, NULL}, ret, err)

static struct nb_config *load_one(const char *text)
{
	struct nb_config *c = NULL;
	struct nb_config_error err;

	if (LOAD(&c, &err, text) < 0)
		test_fail(__FILE__, __LINE__, "refused: %s", err.text);
	return c;
}

static char **conf_files(const char *folder, size_t *ret_n)
{
	struct dirent **entries;
	int n = scandir(folder, &entries, NULL, alphasort);
	char **names = calloc(n > 0 ? (size_t)n : 1, sizeof(*names));

	*ret_n = 0;
	for (int i = 0; i < n; i++) {
		char *dot = strrchr(entries[i]->d_name, '.');

		if (dot && strcmp(dot, ".conf") == 0)
			names[(*ret_n)++] = strdup(entries[i]->d_name);
		free(entries[i]);
	}
	if (n >= 0)
		free(entries);
	return names;
}

static void free_names(char **names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(names[i]);
	free(names);
}

TEST(config_defaults)
{
	_cleanup_config_ struct nb_config *c = load_one("");

	REQUIRE(c);
	CHECK_INT(c->daemon.interval_us, 1000000);
	CHECK_INT(c->daemon.max_interval_us, 5000000);
	CHECK(!c->daemon.dry_run && c->daemon.restore_on_exit);
	CHECK(c->daemon.kernel_balancing == NB_KB_LEAVE && !c->daemon.socket_group);
	CHECK_INT(c->estimator.half_life_us, 2000000);
	CHECK_INT(c->estimator.imbalance_pct, 112);
	CHECK_INT(c->select.min_cpu_pmy, 1000);
	CHECK_INT(c->select.min_memory_bytes, 64 << 20);
	CHECK_INT(c->select.numa_maps_limit_bytes, 8LL << 30);
	CHECK(!c->select.exclude_comm.n && nb_bitmap_empty(&c->select.exclude_nodes));
	CHECK(c->settings.one_per_node && c->settings.swap);
	CHECK_INT(c->settings.movers_per_node, 4);
	CHECK(c->settings.busier_node == NB_BUSIER_NEVER);
	CHECK_INT(c->settings.min_gain_pmy, 500);
	CHECK_INT(c->settings.horizon_us, 60000000);
	CHECK_INT(c->settings.remote_penalty_pmy, 3000);
	CHECK_INT(c->settings.cooldown_us, 10000000);
	CHECK(c->settings.hold == NB_HOLD_PIN && c->settings.wide == NB_WIDE_SPREAD);
	CHECK(c->settings.group_by == NB_GROUP_BY_PROCESS);
	CHECK(c->settings.ownership == NB_OWNERSHIP_AUTO);
	CHECK_INT(c->settings.ownership_max_bytes, 16LL << 30);
	CHECK(c->settings.mover == NB_MOVER_AUTO);
	CHECK_INT(c->settings.mover_threads, 1);
	CHECK_INT(c->settings.whole_limit_bytes, 64 << 20);
	CHECK_INT(c->settings.chunk_time_us, 50000);
	CHECK_INT(c->settings.rate_limit_bps, 0);
	CHECK(c->settings.rate_limit_scope == NB_RATE_NODE);
	CHECK_INT(c->settings.reserve_pmy, 500);
	CHECK(!c->settings.file_pages && !c->settings.huge_pages);
	CHECK_INT(c->n_groups, 0);
}

TEST(config_values)
{
	size_t len;
	char *text = slurp(FIXTURES "good/all-set.conf", &len);
	_cleanup_config_ struct nb_config *c = load_one(text ?: "");
	const struct nb_group *g;

	free(text);
	REQUIRE(c);
	CHECK_INT(c->daemon.interval_us, 250000);
	CHECK_INT(c->daemon.max_interval_us, 600000000);
	CHECK(c->daemon.dry_run && !c->daemon.restore_on_exit);
	CHECK_STR(c->daemon.socket_group, "adm");
	CHECK_INT(c->estimator.half_life_us, 1500000);
	CHECK_INT(c->estimator.imbalance_pct, 125);
	CHECK_INT(c->select.min_cpu_pmy, 25);
	CHECK_INT(c->select.min_memory_bytes, 1LL << 30);
	REQUIRE(c->select.exclude_comm.n == 5);
	CHECK_STR(c->select.exclude_comm.items[0], "qemu*");
	CHECK_STR(c->select.exclude_comm.items[1], "Web Content");
	CHECK_STR(c->select.exclude_comm.items[2], "#hash");
	CHECK_INT(c->select.exclude_user.n, 3);
	CHECK_INT(nb_bitmap_weight(&c->select.exclude_nodes), 5);
	CHECK_INT(c->settings.min_gain_pmy, 725);
	CHECK_INT(c->settings.ownership_max_bytes, 16LL << 30);
	CHECK_INT(c->settings.rate_limit_bps, 1280LL << 20);
	CHECK(c->settings.busier_node == NB_BUSIER_ALLOW && !c->settings.swap);
	REQUIRE(c->n_groups == 3);
	g = &c->groups[0];
	CHECK_STR(g->name, "web");
	CHECK(g->action == NB_GROUP_OBSERVE && !g->nodes_set);
	REQUIRE(g->match_comm.n == 2);
	CHECK_STR(g->match_comm.items[1], "php-fpm: pool");
	CHECK_INT(g->match_cgroup.n, 1); /* the group goes on further down the file */
	CHECK_INT(g->settings.cooldown_us, 60000000);
	CHECK_INT(g->settings.min_gain_pmy, 725); /* of [policy] */
	g = &c->groups[1];
	CHECK_STR(g->name, "db.main@x:1-2");
	CHECK(g->nodes_set && nb_bitmap_test(&g->nodes, 9) && nb_bitmap_weight(&g->nodes) == 3);
	CHECK(g->settings.swap && g->settings.hold == NB_HOLD_PIN);
	CHECK_INT(g->settings.rate_limit_bps, 201LL << 19);
	CHECK(c->groups[2].action == NB_GROUP_IGNORE && !c->groups[2].nodes_set);
}

TEST(config_lines)
{
	size_t len;
	char *text = slurp(FIXTURES "good/traps.conf", &len);
	_cleanup_config_ struct nb_config *c = load_one(text ?: "");

	free(text);
	REQUIRE(c);
	CHECK_INT(c->daemon.interval_us, 500000);
	CHECK_INT(c->daemon.max_interval_us, 120000000);
	CHECK(c->daemon.dry_run);
	CHECK_STR(c->daemon.socket_group, "wheel");
	CHECK_INT(c->select.min_memory_bytes, 0);
	REQUIRE(c->select.exclude_comm.n == 7);
	CHECK_STR(c->select.exclude_comm.items[0], "a#b");
	CHECK_STR(c->select.exclude_comm.items[1], "x;y");
	CHECK_STR(c->select.exclude_comm.items[2], "tmux: server");
	CHECK_STR(c->select.exclude_comm.items[4], "k=v");
	CHECK_STR(c->select.exclude_comm.items[5], "[kw]*");
	CHECK_STR(c->select.exclude_comm.items[6], "a:b");
	CHECK_INT(nb_bitmap_weight(&c->select.exclude_nodes), 5 + 8);
}

TEST(config_files_in_order)
{
	_cleanup_config_ struct nb_config *c = NULL;
	struct nb_config_error err;

	CHECK_INT(LOAD(&c, &err,
		       "[policy]\nswap = no\nhorizon = 2min\n[select]\nexclude_comm = a\n"
		       "exclude_user = x\nexclude_nodes = 1\n[daemon]\nsocket_group = adm\n"
		       "[group b]\nmatch_comm = b\nswap = yes\nnodes = 3\n",
		       "[policy]\nhorizon = 3min\n[select]\nexclude_comm = b\nexclude_user =\n"
		       "exclude_user = y\nexclude_nodes =\n[daemon]\nsocket_group =\n"
		       "[group a]\nmatch_comm = *\n[group b]\ncooldown = 1s\nnodes =\n"),
		  0);
	REQUIRE(c);
	CHECK(!c->settings.swap);
	CHECK_INT(c->settings.horizon_us, 180000000);
	CHECK_INT(c->select.exclude_comm.n, 2); /* a list grows over files */
	REQUIRE(c->select.exclude_user.n == 1); /* unless it was emptied */
	CHECK_STR(c->select.exclude_user.items[0], "y");
	CHECK(nb_bitmap_empty(&c->select.exclude_nodes));
	CHECK(!c->daemon.socket_group);
	REQUIRE(c->n_groups == 2);
	CHECK_STR(c->groups[0].name, "b"); /* first appearance */
	CHECK(c->groups[0].settings.swap && !c->groups[1].settings.swap);
	CHECK_INT(c->groups[0].settings.cooldown_us, 1000000);
	CHECK_INT(c->groups[0].settings.horizon_us, 180000000);
	CHECK(!c->groups[0].nodes_set);
}

TEST(config_errors_name_their_file)
{
	_cleanup_config_ struct nb_config *c = NULL;
	struct nb_config_error err;

	CHECK_INT(LOAD(&c, &err, "[policy]\nswap = no\n", "[policy]\n\nswap = 2\n"), -EINVAL);
	CHECK_STR(err.text, "2:3: [policy] swap: unknown value \"2\" (allowed: yes, no)");
	CHECK_INT(LOAD(&c, &err, "[group a]\nswap = no\n", "[group a]\nswap = yes\n"), -EINVAL);
	CHECK_STR(err.text, "1:1: [group a]: matches nothing (allowed: with at least one of "
			    "match_cgroup, match_comm, match_user)");
	CHECK_INT(LOAD(&c, &err, "[daemon]\nmax_interval = 2s\n", "[daemon]\ninterval = 3s\n"),
		  -EINVAL);
	CHECK_STR(err.text, "1:2: [daemon] max_interval: \"2s\" is less than interval "
			    "(allowed: 3s to 10min)");
	CHECK(!c);
}

TEST(config_default_max_interval_gives_way)
{
	_cleanup_config_ struct nb_config *c = load_one("[daemon]\ninterval = 30s\n");

	REQUIRE(c);
	CHECK_INT(c->daemon.max_interval_us, 30000000);
}

TEST(config_is_closed_by_finish)
{
	_cleanup_config_ struct nb_config *c = load_one("");
	struct nb_config_error err = {0};

	REQUIRE(c);
	CHECK_INT(nb_config_parse(c, "late", "", 0, &err), -EINVAL);
	CHECK(err.text[0]);
	CHECK_INT(nb_config_parse(c, "late", "", 0, NULL), -EINVAL);
	CHECK(nb_config_free(NULL) == NULL);
}

static void check_bad(const char *name)
{
	_cleanup_config_ struct nb_config *c = NULL;
	struct nb_config_error err = {0};
	char path[512];
	size_t len = 0, want_len = 0;
	char *text, *want;
	int r;

	snprintf(path, sizeof(path), FIXTURES "bad/%s", name);
	text = slurp(path, &len);
	memcpy(strrchr(path, '.'), ".err", 5);
	want = slurp(path, &want_len);
	REQUIRE(text && want && nb_config_new(&c) == 0);
	want[strcspn(want, "\n")] = '\0';
	r = nb_config_parse(c, name, text, len, &err);
	if (r == 0)
		r = nb_config_finish(c, &err);
	if (r != -EINVAL || strcmp(err.text, want) != 0)
		test_fail(__FILE__, __LINE__, "bad/%s: %d\n#  got %s\n# want %s", name, r, err.text,
			  want);
	else
		printf("ok config_bad %s\n", name);
	free(text);
	free(want);
}

TEST(config_bad_files)
{
	size_t n;
	char **names = conf_files(FIXTURES "bad", &n);

	CHECK(n >= 90);
	for (size_t i = 0; i < n; i++)
		check_bad(names[i]);
	free_names(names, n);
}

/* The texts are the same already; so may wrong ones be. */
static bool same_values(const struct nb_config *a, const struct nb_config *b)
{
	bool same = memcmp(&a->settings, &b->settings, sizeof(a->settings)) == 0 &&
		    a->daemon.interval_us == b->daemon.interval_us &&
		    a->daemon.max_interval_us == b->daemon.max_interval_us &&
		    a->estimator.half_life_us == b->estimator.half_life_us &&
		    a->select.min_cpu_pmy == b->select.min_cpu_pmy &&
		    a->select.min_memory_bytes == b->select.min_memory_bytes &&
		    a->select.numa_maps_limit_bytes == b->select.numa_maps_limit_bytes &&
		    a->select.exclude_comm.n == b->select.exclude_comm.n &&
		    nb_bitmap_equal(&a->select.exclude_nodes, &b->select.exclude_nodes);

	for (size_t i = 0; same && i < a->select.exclude_comm.n; i++)
		same = strcmp(a->select.exclude_comm.items[i], b->select.exclude_comm.items[i]) ==
		       0;
	for (size_t i = 0; same && i < a->n_groups; i++)
		same = memcmp(&a->groups[i].settings, &b->groups[i].settings,
			      sizeof(a->groups[i].settings)) == 0 &&
		       nb_bitmap_equal(&a->groups[i].nodes, &b->groups[i].nodes);
	return same;
}

/* Printed, parsed and printed again: the same text; with origins the same values. */
static bool round_trip(const char *name, const struct nb_config *c)
{
	_cleanup_config_ struct nb_config *again = NULL, *with_origins = NULL;
	struct nb_config_error err;
	char *one = print(c, false), *two = print(c, true), *three = NULL, *four = NULL;
	bool same = false;

	if (LOAD(&again, &err, one) < 0 || LOAD(&with_origins, &err, two) < 0) {
		test_fail(__FILE__, __LINE__, "%s: printed text refused: %s\n%s", name, err.text,
			  two);
	} else {
		three = print(again, false);
		four = print(with_origins, false);
		same = strcmp(one, three) == 0 && strcmp(one, four) == 0;
		if (!same)
			test_fail(__FILE__, __LINE__, "%s: differs:\n%s---\n%s---\n%s", name, one,
				  three, four);
		if (same && !same_values(c, again)) {
			test_fail(__FILE__, __LINE__, "%s: values differ", name);
			same = false;
		}
	}
	free(one);
	free(two);
	free(three);
	free(four);
	return same;
}

TEST(config_good_files_round_trip)
{
	size_t n, len;
	char **names = conf_files(FIXTURES "good", &n), *text, path[512];

	CHECK(n >= 10);
	for (size_t i = 0; i < n; i++) {
		_cleanup_config_ struct nb_config *c = NULL;
		struct nb_config_error err;

		snprintf(path, sizeof(path), FIXTURES "good/%s", names[i]);
		text = slurp(path, &len);
		if (LOAD(&c, &err, text ?: "") < 0)
			test_fail(__FILE__, __LINE__, "good/%s: %s", names[i], err.text);
		else if (round_trip(names[i], c))
			printf("ok config_good %s\n", names[i]);
		free(text);
	}
	free_names(names, n);
}

/* Every scalar key at every text that its own message calls allowed is taken; what is
 * printed for the extremes parses back. */
TEST(config_extremes_round_trip)
{
	static const char *const texts[] = {
		"[daemon]\ninterval = 100ms\nmax_interval = 100ms\n[estimator]\nhalf_life = 100ms\n"
		"imbalance_pct = 100\n[select]\nmin_cpu = 0%\nmin_memory = 0\nnuma_maps_limit = 0\n"
		"[policy]\nmovers_per_node = 1\nmin_gain = 0%\nhorizon = 1s\nremote_penalty = 0%\n"
		"cooldown = 0\n[migrate]\nwhole_limit = 1K\nchunk_time = 1ms\n"
		"rate_limit = 1M/s\nreserve = 0.01%\n",
		"[daemon]\ninterval = 60s\nmax_interval = 10min\n[estimator]\nhalf_life = 10min\n"
		"imbalance_pct = 400\n[select]\nmin_cpu = 10000%\nmin_memory = 1024G\n"
		"numa_maps_limit = 16384G\n[policy]\nmovers_per_node = 64\nmin_gain = 100%\n"
		"horizon = 60min\nremote_penalty = 1000%\ncooldown = 60min\n"
		"[migrate]\nwhole_limit = 1024G\nchunk_time = 10s\nrate_limit = 1024G/s\nreserve = "
		"90%\n",
		("[estimator]\nhalf_life = 61.001s\n[select]\nmin_cpu = 0.1%\nmin_memory = 1025K\n"
		 "[policy]\nmin_gain = 10.05%\ncooldown = 61s\n[migrate]\nrate_limit = 1025K/s\n"),
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		_cleanup_config_ struct nb_config *c = load_one(texts[i]);

		REQUIRE(c);
		round_trip("extremes", c);
	}
}

TEST(config_print_origins)
{
	_cleanup_config_ struct nb_config *c = NULL;
	struct nb_config_error err;
	char *text;

	CHECK_INT(LOAD(&c, &err, "[policy]\nswap = no\n[select]\nexclude_comm = a b\n",
		       "\n[select]\nexclude_comm = c\n[group g]\nmatch_comm = x\nhold = nudge\n"),
		  0);
	REQUIRE(c);
	text = print(c, true);
	CHECK(strstr(text, "# 1:2\nswap = no\n"));
	CHECK(strstr(
		text,
		"# 1:4\nexclude_comm = a\n# 1:4\nexclude_comm = b\n# 2:3\nexclude_comm = c\n"));
	CHECK(strstr(text, "# default\ninterval = 1s\n"));
	CHECK(strstr(text, "# 2:4\n[group g]\n"));
	CHECK(strstr(text, "# 2:6\nhold = nudge\n"));
	CHECK(strstr(text, "horizon = 60s\n"));
	free(text);
	text = print(c, false);
	CHECK(!strchr(text, '#'));
	free(text);
}

TEST(config_shipped_file)
{
	char *made = NULL, *shipped;
	size_t made_len = 0, len = 0, n = 0;
	FILE *f = open_memstream(&made, &made_len);

	CHECK_INT(nb_config_print_shipped(f), 0);
	fclose(f);
	shipped = slurp("conf/numabalanced.conf", &len);
	REQUIRE(shipped);
	if (len != made_len || memcmp(made, shipped, len) != 0)
		test_fail(__FILE__, __LINE__, "conf/numabalanced.conf is stale: make conf");
	free(shipped);

	/* As it is, and with every commented setting made active, it says the defaults. */
	for (int active = 0; active < 2; active++) {
		_cleanup_config_ struct nb_config *c = load_one(""), *s = NULL;
		struct nb_config_error err;
		char *one, *two, *group = strstr(made, "#[group NAME]");

		REQUIRE(c && group);
		if (active)
			for (char *p = made; (p = strchr(p, '\n')) && p < group; p++)
				if (p[1] == '#' && p[2] >= 'a' && p[2] <= 'z') {
					p[1] = ' ';
					n++;
				}
		if (LOAD(&s, &err, made) < 0) {
			test_fail(__FILE__, __LINE__, "refused: %s", err.text);
			break;
		}
		one = print(c, false);
		two = print(s, false);
		CHECK_STR(two, one);
		free(one);
		free(two);
	}
	CHECK_INT(n, 38); /* all keys but those of groups */
	free(made);
}

static bool match(enum nb_list_kind kind, const char *pattern, const char *text)
{
	char other[] = "never-this", *items[] = {other, (char *)pattern};
	struct nb_list l = {items, 2, kind};

	return nb_list_match(&l, text);
}

TEST(config_patterns)
{
	CHECK(match(NB_LIST_USER, "abc", "abc") && !match(NB_LIST_USER, "abc", "abcd"));
	CHECK(!match(NB_LIST_USER, "abcd", "abc") && !match(NB_LIST_USER, "abc", ""));
	CHECK(match(NB_LIST_USER, "a*c", "ac") && match(NB_LIST_USER, "a*c", "abcbc"));
	CHECK(!match(NB_LIST_USER, "a*c", "abcb") && match(NB_LIST_USER, "*", ""));
	CHECK(match(NB_LIST_USER, "**b*", "ab") && !match(NB_LIST_USER, "?", ""));
	CHECK(match(NB_LIST_USER, "a?c", "abc") && !match(NB_LIST_USER, "a?c", "ac"));
	CHECK(match(NB_LIST_USER, "[a-c]x", "bx") && !match(NB_LIST_USER, "[a-c]x", "dx"));
	CHECK(match(NB_LIST_USER, "[!a-c]x", "dx") && !match(NB_LIST_USER, "[^a-c]x", "ax"));
	CHECK(match(NB_LIST_USER, "[]a]", "]") && match(NB_LIST_USER, "[a-]", "-"));
	CHECK(match(NB_LIST_USER, "[\\]]", "]") && match(NB_LIST_USER, "\\*", "*"));
	CHECK(!match(NB_LIST_USER, "\\*", "a") && match(NB_LIST_USER, "a\\", "a\\"));
	CHECK(match(NB_LIST_USER, "[x", "[x") && !match(NB_LIST_USER, "[x", "x"));
	CHECK(match(NB_LIST_USER, "[a-\xff]", "\xc3") && match(NB_LIST_USER, "\xc3?", "\xc3\xa9"));
	CHECK(!match(NB_LIST_USER, "Abc", "abc"));
	/* Many stars cost no exponential time. */
	CHECK(!match(NB_LIST_USER, "*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b",
		     "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"));
}

TEST(config_comm_is_cut)
{
	CHECK(match(NB_LIST_COMM, "gnome-session-binary", "gnome-session-b"));
	CHECK(match(NB_LIST_COMM, "gnome-session-binary", "gnome-session-binary"));
	CHECK(match(NB_LIST_COMM, "gnome-session-b", "gnome-session-binary"));
	CHECK(!match(NB_LIST_COMM, "gnome-session-binary", "gnome-session-"));
	CHECK(!match(NB_LIST_COMM, "gnome-session-binary", "gnome-session-c"));
	CHECK(match(NB_LIST_COMM, "gnome-session-bin*", "gnome-session-b"));
	CHECK(match(NB_LIST_COMM, "gnome-*", "gnome-session-b"));
	CHECK(match(NB_LIST_COMM, "g?ome-session-[a-c]inary", "gnome-session-b"));
	/* A star ends what may be cut: else *-helper would match every long name. */
	CHECK(!match(NB_LIST_COMM, "*-helper", "chrome-gpu-proc"));
	CHECK(!match(NB_LIST_COMM, "gnome*-binary", "gnome-session-b"));
	CHECK(match(NB_LIST_COMM, "*-b", "gnome-session-b"));
	/* Users and cgroups are not cut. */
	CHECK(!match(NB_LIST_USER, "a-user-of-20-letters", "a-user-of-20-le"));
	CHECK(!match(NB_LIST_CGROUP, "a-user-of-20-letters", "/a-user-of-20-le"));
}

TEST(config_cgroup_patterns)
{
	CHECK(match(NB_LIST_CGROUP, "/system.slice", "/system.slice"));
	CHECK(match(NB_LIST_CGROUP, "/system.slice", "/system.slice/nginx.service"));
	CHECK(match(NB_LIST_CGROUP, "/system.slice/", "/system.slice/nginx.service"));
	CHECK(match(NB_LIST_CGROUP, "system.slice/nginx*", "/system.slice/nginx.service/worker"));
	CHECK(!match(NB_LIST_CGROUP, "/system.slice", "/system.slices"));
	CHECK(!match(NB_LIST_CGROUP, "/nginx.service", "/system.slice/nginx.service"));
	CHECK(match(NB_LIST_CGROUP, "nginx.service", "/system.slice/nginx.service"));
	CHECK(match(NB_LIST_CGROUP, "*.slice", "/system.slice/nginx.service"));
	CHECK(!match(NB_LIST_CGROUP, "nginx", "/system.slice/nginx.service"));
	CHECK(!match(NB_LIST_CGROUP, "system.slice*", "/user.slice/system"));
	CHECK(match(NB_LIST_CGROUP, "/*/docker-*", "/system.slice/docker-1f.scope"));
	CHECK(match(NB_LIST_CGROUP, "/", "/a") && match(NB_LIST_CGROUP, "/", "/"));
	CHECK(match(NB_LIST_CGROUP, "*", "/") && match(NB_LIST_CGROUP, "*", ""));
	CHECK(!match(NB_LIST_CGROUP, "a", "/") && !match(NB_LIST_CGROUP, "a", ""));
}

TEST(config_first_group_wins)
{
	_cleanup_config_ struct nb_config *c =
		load_one("[group both]\nmatch_comm = java, node\nmatch_user = app*\n"
			 "[group app]\nmatch_user = app1\nmatch_user = app2\n"
			 "[group slice]\nmatch_cgroup = /system.slice\n");

	REQUIRE(c && c->n_groups == 3);
	CHECK(nb_config_group(c, "java", "app1", "/") == &c->groups[0]);
	CHECK(nb_config_group(c, "node", "app9", "/") == &c->groups[0]);
	CHECK(nb_config_group(c, "perl", "app2", "/system.slice/x") == &c->groups[1]);
	CHECK(nb_config_group(c, "java", "root", "/system.slice/x") == &c->groups[2]);
	CHECK(nb_config_group(c, "java", "root", "/user.slice") == NULL);
}

/* Damaged files are refused or understood, never worse; what is understood prints. */
TEST(config_mutations)
{
	static const char *const inserts[] = {"[",
					      "]",
					      "=",
					      "\n",
					      "\"",
					      ",",
					      " #",
					      "\r",
					      "\t",
					      "[group",
					      "18446744073709551615",
					      "%",
					      "\xff",
					      "*",
					      "nodes = 0-1023\n"};
	size_t n, len, n_inserts = sizeof(inserts) / sizeof(inserts[0]);
	char **names = conf_files(FIXTURES "good", &n), path[512];
	unsigned long long seed = 1;
	unsigned taken = 0, refused = 0;

#define RANDOM(below) ((seed = seed * 6364136223846793005ULL + 1), (seed >> 33) % (below))
	for (size_t i = 0; i < n; i++) {
		char *text, *work;

		snprintf(path, sizeof(path), FIXTURES "good/%s", names[i]);
		text = slurp(path, &len);
		REQUIRE(text);
		for (unsigned round = 0; round < 1500 && len; round++) {
			_cleanup_config_ struct nb_config *c = NULL;
			struct nb_config_error err = {0};
			size_t work_len = len;
			int r;

			work = malloc(len + 256);
			memcpy(work, text, len);
			for (size_t edits = RANDOM(4) + 1; edits && work_len; edits--) {
				size_t at = RANDOM(work_len), k;
				const char *insert = inserts[RANDOM(n_inserts)];

				switch (RANDOM(4)) {
				case 0:
					work[at] = (char)RANDOM(256);
					break;
				case 1: /* cut out */
					k = RANDOM(work_len - at) % 12 + (at < work_len);
					k = k > work_len - at ? work_len - at : k;
					memmove(work + at, work + at + k, work_len - at - k);
					work_len -= k;
					break;
				case 2:
					k = strlen(insert);
					memmove(work + at + k, work + at, work_len - at);
					memcpy(work + at, insert, k);
					work_len += k;
					break;
				case 3:
					work_len = at; /* torn off */
					break;
				}
			}
			/* Exactly as long as it is, so that a read beyond its end is seen. */
			work = realloc(work, work_len ?: 1);
			REQUIRE(nb_config_new(&c) == 0);
			r = nb_config_parse(c, "m", work, work_len, &err);
			if (r == 0)
				r = nb_config_finish(c, &err);
			CHECK(r == 0 || r == -EINVAL);
			CHECK((r == 0) == (err.text[0] == '\0'));
			if (r == 0 && !round_trip(names[i], c))
				test_fail(__FILE__, __LINE__, "of:\n%.*s", (int)work_len, work);
			r == 0 ? taken++ : refused++;
			free(work);
		}
		free(text);
	}
	CHECK(taken > 1000 && refused > 1000); /* else the test says little */
	free_names(names, n);
}
