/* SPDX-License-Identifier: MIT */
#include "core/config_internal.h"

#include <string.h>

#define MS UINT64_C(1000)
#define SEC (1000 * MS)
#define MIN (60 * SEC)
#define KIB UINT64_C(1024)
#define MIB (1024 * KIB)
#define GIB (1024 * MIB)
#define PERCENT UINT64_C(100) /* in permyriad */

const char *const nb_section_names[NB_SECTION_COUNT] = {
	[NB_SECTION_DAEMON] = "daemon",   [NB_SECTION_ESTIMATOR] = "estimator",
	[NB_SECTION_SELECT] = "select",   [NB_SECTION_POLICY] = "policy",
	[NB_SECTION_MIGRATE] = "migrate", [NB_SECTION_GROUP] = "group",
};

static const struct nb_choice kernel_balancing[] = {
	[NB_KB_LEAVE] = {"leave", false}, [NB_KB_OFF] = {"off", true}, {NULL, false}};
static const struct nb_choice busier_node[] = {[NB_BUSIER_NEVER] = {"never", false},
					       [NB_BUSIER_PREFERRED] = {"preferred", false},
					       [NB_BUSIER_ALLOW] = {"allow", false},
					       {NULL, false}};
static const struct nb_choice hold[] = {
	[NB_HOLD_PIN] = {"pin", false}, [NB_HOLD_NUDGE] = {"nudge", false}, {NULL, false}};
static const struct nb_choice wide[] = {
	[NB_WIDE_SPREAD] = {"spread", false}, [NB_WIDE_LEAVE] = {"leave", false}, {NULL, false}};
static const struct nb_choice group_by[] = {[NB_GROUP_BY_PROCESS] = {"process", false},
					    [NB_GROUP_BY_CGROUP] = {"cgroup", true},
					    [NB_GROUP_BY_SHARED_MEMORY] = {"shared_memory", true},
					    {NULL, false}};
static const struct nb_choice ownership[] = {
	[NB_OWNERSHIP_AUTO] = {"auto", false}, [NB_OWNERSHIP_OFF] = {"off", false}, {NULL, false}};
static const struct nb_choice mover[] = {[NB_MOVER_AUTO] = {"auto", false},
					 [NB_MOVER_MIGRATE_PAGES] = {"migrate_pages", false},
					 [NB_MOVER_MOVE_PAGES] = {"move_pages", false},
					 {NULL, false}};
static const struct nb_choice rate_scope[] = {[NB_RATE_NODE] = {"node", false},
					      [NB_RATE_PROCESS] = {"process", false},
					      [NB_RATE_ALL] = {"all", false},
					      {NULL, false}};
static const struct nb_choice action[] = {[NB_GROUP_BALANCE] = {"balance", false},
					  [NB_GROUP_OBSERVE] = {"observe", false},
					  [NB_GROUP_IGNORE] = {"ignore", false},
					  {NULL, false}};

/* Which struct a section's offsets count from: see nb_config_field(). */
#define BASE_DAEMON struct nb_config
#define BASE_ESTIMATOR struct nb_config
#define BASE_SELECT struct nb_config
#define BASE_POLICY struct nb_settings
#define BASE_MIGRATE struct nb_settings
#define BASE_GROUP struct nb_group

#define KEY(s, t, n, f) \
	.section = NB_SECTION_##s, .type = NB_TYPE_##t, .name = n, .offset = offsetof(BASE_##s, f)

const struct nb_config_key nb_config_keys[NB_CONFIG_N_KEYS] = {
	{KEY(DAEMON, TIME, "interval", daemon.interval_us), .min = 100 * MS, .max = 60 * SEC,
	 .dflt = "1s", .meaning = "Time between two samples."},
	{KEY(DAEMON, TIME, "max_interval", daemon.max_interval_us), .min = 100 * MS,
	 .max = 10 * MIN, .dflt = "5s",
	 .meaning = "How far reads of numa_maps stretch while nothing changes."},
	{KEY(DAEMON, BOOL, "dry_run", daemon.dry_run), .max = 1, .dflt = "no",
	 .meaning = "Decide and report, but change nothing."},
	{KEY(DAEMON, BOOL, "restore_on_exit", daemon.restore_on_exit), .max = 1, .dflt = "yes",
	 .meaning = "Put back every changed CPU mask when the daemon stops."},
	{KEY(DAEMON, ENUM, "kernel_balancing", daemon.kernel_balancing),
	 .choices = kernel_balancing, .dflt = "leave",
	 .meaning =
		 "The kernel's own NUMA balancing: left as it is, or off while the daemon runs."},
	{KEY(DAEMON, NAME, "socket_group", daemon.socket_group), .dflt = "",
	 .meaning = "Members of this group may change things by the control socket."},

	{KEY(ESTIMATOR, TIME, "half_life", estimator.half_life_us), .min = 100 * MS,
	 .max = 10 * MIN, .dflt = "2s", .meaning = "After this time a measurement counts half."},
	{KEY(ESTIMATOR, UINT, "imbalance_pct", estimator.imbalance_pct), .min = 100, .max = 400,
	 .dflt = "112",
	 .meaning = "Load that makes a node overloaded, in percent of its capacity."},

	{KEY(SELECT, SHARE, "min_cpu", select.min_cpu_pmy), .max = 10000 * PERCENT, .dflt = "10%",
	 .meaning = "Processes that use less of one CPU are left alone."},
	{KEY(SELECT, SIZE, "min_memory", select.min_memory_bytes), .max = 1024 * GIB, .dflt = "64M",
	 .meaning = "Processes with less memory are left alone."},
	{KEY(SELECT, LIST, "exclude_comm", select.exclude_comm), .list_kind = NB_LIST_COMM,
	 .dflt = "", .meaning = "Commands that are never touched."},
	{KEY(SELECT, LIST, "include_comm", select.include_comm), .list_kind = NB_LIST_COMM,
	 .dflt = "",
	 .meaning = "Commands that are balanced although they are service managers, shells or "
		    "excluded."},
	{KEY(SELECT, LIST, "exclude_user", select.exclude_user), .list_kind = NB_LIST_USER,
	 .dflt = "", .meaning = "Users whose processes are never touched."},
	{KEY(SELECT, LIST, "exclude_cgroup", select.exclude_cgroup), .list_kind = NB_LIST_CGROUP,
	 .dflt = "", .meaning = "Control groups whose processes are never touched."},
	{KEY(SELECT, NODES, "exclude_nodes", select.exclude_nodes), .dflt = "",
	 .meaning = "Nodes to which nothing is ever moved."},
	{KEY(SELECT, SIZE, "numa_maps_limit", select.numa_maps_limit_bytes), .max = 16384 * GIB,
	 .dflt = "8G",
	 .meaning = "Larger processes are sampled instead of reading their whole numa_maps."},

	{KEY(POLICY, BOOL, "one_per_node", one_per_node), .max = 1, .dflt = "yes",
	 .meaning = "At most one process is on its way to a node."},
	{KEY(POLICY, UINT, "movers_per_node", movers_per_node), .min = 1, .max = 64, .dflt = "4",
	 .meaning = "How many are with one_per_node = no."},
	{KEY(POLICY, ENUM, "busier_node", busier_node), .choices = busier_node, .dflt = "never",
	 .meaning = "Moving to a busier node: never, only to the preferred one, or by gain alone."},
	{KEY(POLICY, BOOL, "swap", swap), .max = 1, .dflt = "yes",
	 .meaning = "Let processes change places when the nodes are busy."},
	{KEY(POLICY, SHARE, "min_gain", min_gain_pmy), .max = 100 * PERCENT, .dflt = "5%",
	 .meaning = "Least gain of a move, as a share of what the present place costs."},
	{KEY(POLICY, TIME, "horizon", horizon_us), .min = SEC, .max = 60 * MIN, .dflt = "60s",
	 .meaning = "A move has to pay for itself within this time."},
	{KEY(POLICY, SHARE, "remote_penalty", remote_penalty_pmy), .max = 1000 * PERCENT,
	 .dflt = "30%", .meaning = "How much slower work is whose memory is remote."},
	{KEY(POLICY, TIME, "cooldown", cooldown_us), .max = 60 * MIN, .dflt = "10s",
	 .meaning = "Time during which a moved process is not moved again."},
	{KEY(POLICY, ENUM, "hold", hold), .choices = hold, .dflt = "pin",
	 .meaning = "Keep the CPU mask after a move (pin), or put it back at once (nudge)."},
	{KEY(POLICY, ENUM, "wide", wide), .choices = wide, .dflt = "spread",
	 .meaning = "Processes larger than a node: spread over the closest nodes, or left alone."},
	{KEY(POLICY, ENUM, "group_by", group_by), .choices = group_by, .dflt = "process",
	 .meaning = "What is placed as one unit."},
	{KEY(POLICY, ENUM, "ownership", ownership), .choices = ownership, .dflt = "auto",
	 .meaning = "Learn by write faults which thread owns which pages."},
	{KEY(POLICY, SIZE, "ownership_max", ownership_max_bytes), .max = 16384 * GIB, .dflt = "16G",
	 .unsupported = true, .meaning = "Not for processes with more memory than this."},

	{KEY(MIGRATE, ENUM, "mover", mover), .choices = mover, .dflt = "auto",
	 .meaning = "The kernel's call that moves pages."},
	{KEY(MIGRATE, UINT, "mover_threads", mover_threads), .min = 1, .max = 64, .dflt = "1",
	 .unsupported = true, .meaning = "Threads that move the pages of one process."},
	{KEY(MIGRATE, SIZE, "whole_limit", whole_limit_bytes), .max = 1024 * GIB, .dflt = "64M",
	 .meaning = "Up to this size a process is moved by one call."},
	{KEY(MIGRATE, TIME, "chunk_time", chunk_time_us), .min = MS, .max = 10 * SEC,
	 .dflt = "50ms", .meaning = "Larger ones are moved in pieces that take about this long."},
	{KEY(MIGRATE, RATE, "rate_limit", rate_limit_bps), .min = MIB, .max = 1024 * GIB,
	 .dflt = "none", .meaning = "Upper bound for moving pages."},
	{KEY(MIGRATE, ENUM, "rate_limit_scope", rate_limit_scope), .choices = rate_scope,
	 .dflt = "node",
	 .meaning = "What the bound is for: each node, each process, or all together."},
	{KEY(MIGRATE, SHARE, "reserve", reserve_pmy), .max = 90 * PERCENT, .dflt = "5%",
	 .meaning = "Share of a node's memory that stays free."},
	{KEY(MIGRATE, BOOL, "file_pages", file_pages), .max = 1, .dflt = "no", .unsupported = true,
	 .meaning = "Move pages of files too."},
	{KEY(MIGRATE, BOOL, "huge_pages", huge_pages), .max = 1, .dflt = "no", .unsupported = true,
	 .meaning = "Move hugetlb pages too."},

	{KEY(GROUP, LIST, "match_cgroup", match_cgroup), .list_kind = NB_LIST_CGROUP, .dflt = "",
	 .meaning = "Control groups whose processes belong to the group."},
	{KEY(GROUP, LIST, "match_comm", match_comm), .list_kind = NB_LIST_COMM, .dflt = "",
	 .meaning = "Commands that belong to the group."},
	{KEY(GROUP, LIST, "match_user", match_user), .list_kind = NB_LIST_USER, .dflt = "",
	 .meaning = "Users whose processes belong to the group."},
	{KEY(GROUP, ENUM, "action", action), .choices = action, .dflt = "balance",
	 .meaning = "Balance them, only observe them, or ignore them."},
	{KEY(GROUP, NODES, "nodes", nodes), .dflt = "",
	 .meaning = "They are kept on these nodes; none given: any node."},
};

int nb_config_key_find(enum nb_section section, const char *name)
{
	for (int i = 0; i < NB_CONFIG_N_KEYS; i++)
		if (nb_config_key_fits(&nb_config_keys[i], section) &&
		    strcmp(nb_config_keys[i].name, name) == 0)
			return i;
	return -1;
}

bool nb_config_key_fits(const struct nb_config_key *k, enum nb_section section)
{
	return k->section == section ||
	       (section == NB_SECTION_GROUP &&
		(k->section == NB_SECTION_POLICY || k->section == NB_SECTION_MIGRATE));
}

bool nb_config_key_repeats(const struct nb_config_key *k)
{
	return k->type == NB_TYPE_LIST || k->type == NB_TYPE_NODES;
}

const void *nb_config_field_const(const struct nb_config *c, const struct nb_group *group,
				  const struct nb_config_key *k)
{
	const char *base = NULL;

	switch (k->section) {
	case NB_SECTION_DAEMON:
	case NB_SECTION_ESTIMATOR:
	case NB_SECTION_SELECT:
		base = (const char *)c;
		break;
	case NB_SECTION_POLICY:
	case NB_SECTION_MIGRATE:
		base = group ? (const char *)&group->settings : (const char *)&c->settings;
		break;
	case NB_SECTION_GROUP:
	case NB_SECTION_COUNT:
		base = (const char *)group;
		break;
	}
	return base + k->offset;
}

void *nb_config_field(struct nb_config *c, struct nb_group *group, const struct nb_config_key *k)
{
	return (void *)nb_config_field_const(c, group, k);
}
