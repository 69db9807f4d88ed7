/* SPDX-License-Identifier: MIT */
/*
 * The configuration: what every key means, its default and its range are in
 * one table (src/core/config_keys.c), from which the shipped file, the manual
 * page and the error texts are made.
 *
 * The core parses text; whoever owns the files reads them. A configuration is
 * built by nb_config_new() (all defaults), any number of nb_config_parse()
 * (one a file, in order) and one nb_config_finish(), and is not changed later.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "nb/bitmap.h"

enum nb_kernel_balancing { NB_KB_LEAVE, NB_KB_OFF };
enum nb_busier_node { NB_BUSIER_NEVER, NB_BUSIER_PREFERRED, NB_BUSIER_ALLOW };
enum nb_hold { NB_HOLD_PIN, NB_HOLD_NUDGE };
enum nb_wide { NB_WIDE_SPREAD, NB_WIDE_LEAVE };
enum nb_group_by { NB_GROUP_BY_PROCESS, NB_GROUP_BY_CGROUP, NB_GROUP_BY_SHARED_MEMORY };
enum nb_ownership { NB_OWNERSHIP_AUTO, NB_OWNERSHIP_OFF };
enum nb_mover { NB_MOVER_AUTO, NB_MOVER_MIGRATE_PAGES, NB_MOVER_MOVE_PAGES };
enum nb_rate_scope { NB_RATE_NODE, NB_RATE_PROCESS, NB_RATE_ALL };
enum nb_group_action { NB_GROUP_BALANCE, NB_GROUP_OBSERVE, NB_GROUP_IGNORE };

enum nb_list_kind {
	NB_LIST_COMM,   /* the kernel cuts the names of commands at 15 bytes */
	NB_LIST_USER,
	NB_LIST_CGROUP, /* a control group holds those below it */
};

/* A list of names or shell patterns; empty matches nothing. */
struct nb_list {
	char **items;
	size_t n;
	enum nb_list_kind kind;
};

/* What can be set for all units in [policy] and [migrate], and anew in a group. */
struct nb_settings {
	bool one_per_node;
	uint32_t movers_per_node;
	enum nb_busier_node busier_node;
	bool swap;
	uint32_t min_gain_pmy; /* permyriad of the unit's present cost */
	uint64_t horizon_us;
	uint32_t remote_penalty_pmy;
	uint64_t cooldown_us;
	enum nb_hold hold;
	enum nb_wide wide;
	enum nb_group_by group_by;
	enum nb_ownership ownership;
	uint64_t ownership_max_bytes;

	enum nb_mover mover;
	uint32_t mover_threads;
	uint64_t whole_limit_bytes;
	uint64_t chunk_time_us;
	uint64_t rate_limit_bps; /* bytes per second; 0: none */
	enum nb_rate_scope rate_limit_scope;
	uint32_t reserve_pmy;
	bool file_pages;
	bool huge_pages;
};

struct nb_group {
	char *name;
	struct nb_list match_cgroup, match_comm, match_user;
	enum nb_group_action action;
	bool nodes_set;
	struct nb_bitmap nodes; /* kernel ids */
	struct nb_settings settings; /* complete: [policy] and [migrate] with the group's own on top */
};

struct nb_config {
	struct {
		uint64_t interval_us, max_interval_us;
		bool dry_run, restore_on_exit;
		enum nb_kernel_balancing kernel_balancing;
		char *socket_group; /* NULL: none */
	} daemon;
	struct {
		uint64_t half_life_us;
		uint32_t imbalance_pct;
	} estimator;
	struct {
		uint32_t min_cpu_pmy; /* permyriad of one CPU */
		uint64_t min_memory_bytes;
		struct nb_list exclude_comm, include_comm, exclude_user, exclude_cgroup;
		struct nb_bitmap exclude_nodes; /* kernel ids */
		uint64_t numa_maps_limit_bytes;
	} select;
	struct nb_settings settings;
	struct nb_group *groups; /* in order of first appearance */
	size_t n_groups;

	struct nb_config_builder *builder; /* private: where each value came from */
};

/* Where and why a text was refused, for people:
 * "FILE:LINE: [section] key: what is wrong (allowed: …)". */
struct nb_config_error {
	char text[512];
};

int nb_config_new(struct nb_config **ret);
struct nb_config *nb_config_free(struct nb_config *c); /* NULL-safe, returns NULL */

/* One file's whole text. On -EINVAL err tells the first mistake; c is then only
 * good for nb_config_free(). -ENOMEM leaves err empty. name is what errors and
 * the origins of values show. */
int nb_config_parse(struct nb_config *c, const char *name, const char *text, size_t len,
		    struct nb_config_error *ret_err);

/* Fills the groups' settings, checks what can be checked only across keys. */
int nb_config_finish(struct nb_config *c, struct nb_config_error *ret_err);

/* All sections and keys with their values, as a file that parses to the same
 * configuration. With origins, each line is preceded by a comment that says
 * which file and line it came from, or "default". */
int nb_config_print(const struct nb_config *c, bool origins, FILE *out);

/* The commented file that is shipped in conf/: every key at its default. */
int nb_config_print_shipped(FILE *out);

/* The group that a unit belongs to: the first whose patterns of every given kind
 * match, or NULL. user is the name, or the number where there is no name. */
const struct nb_group *nb_config_group(const struct nb_config *c, const char *comm,
				       const char *user, const char *cgroup);

/* True if one of the patterns matches; * and ? stand for any byte, also a slash.
 * A comm longer than the kernel's 15 bytes is cut as the kernel cuts it before it is
 * compared, in the text and in the pattern (there up to its first star). A cgroup
 * pattern with a slash matches that path and all below it, one without a slash
 * matches any part of the path: "/system.slice", "nginx.service". */
bool nb_list_match(const struct nb_list *list, const char *text);

static inline void nb_config_freep(struct nb_config **c)
{
	nb_config_free(*c);
}
#define _cleanup_config_ __attribute__((cleanup(nb_config_freep)))
