/* SPDX-License-Identifier: MIT */
/*
 * Private to the configuration: the table of keys, the conversion of one value,
 * and where each value came from.
 */
#pragma once

#include "nb/ini.h"

#define NB_CONFIG_ITEM_MAX 128  /* bytes of one list item, so that it fits a line with its key */
#define NB_CONFIG_NODE_MAX 1023 /* the kernel's MAX_NUMNODES is 1,024 at most */

enum nb_section {
	NB_SECTION_DAEMON,
	NB_SECTION_ESTIMATOR,
	NB_SECTION_SELECT,
	NB_SECTION_POLICY,
	NB_SECTION_MIGRATE,
	NB_SECTION_GROUP,
	NB_SECTION_COUNT,
};

enum nb_type {
	NB_TYPE_BOOL,
	NB_TYPE_UINT,
	NB_TYPE_TIME,  /* µs, in whole ms */
	NB_TYPE_SIZE,  /* bytes, in whole K */
	NB_TYPE_RATE,  /* bytes per second, in whole K; 0: none */
	NB_TYPE_SHARE, /* permyriad */
	NB_TYPE_ENUM,
	NB_TYPE_NAME,  /* one name, or nothing */
	NB_TYPE_LIST,  /* struct nb_list */
	NB_TYPE_NODES, /* struct nb_bitmap of kernel ids */
};

struct nb_choice {
	const char *name; /* NULL ends the row of choices; they stand in the order of the enum */
	bool unsupported; /* known, but what it asks for is not there yet */
};

struct nb_config_key {
	enum nb_section section;
	enum nb_type type;
	const char *name;
	size_t offset; /* within the struct of nb_config_base() */
	uint64_t min, max;
	const struct nb_choice *choices;
	enum nb_list_kind list_kind;
	bool unsupported; /* only the default is accepted: what it asks for is not there yet */
	const char *dflt; /* as it stands in the file */
	const char *meaning;
};

#define NB_CONFIG_N_KEYS 43
extern const struct nb_config_key nb_config_keys[NB_CONFIG_N_KEYS];
extern const char *const nb_section_names[NB_SECTION_COUNT];

/* The index of a key, or -1. */
int nb_config_key_find(enum nb_section section, const char *name);
/* True if [section] takes the key: a group takes those of policy and migrate too. */
bool nb_config_key_fits(const struct nb_config_key *k, enum nb_section section);
bool nb_config_key_repeats(const struct nb_config_key *k);

/* Where the key's value lies: in the configuration, or with group in that. */
void *nb_config_field(struct nb_config *c, struct nb_group *group, const struct nb_config_key *k);
const void *nb_config_field_const(const struct nb_config *c, const struct nb_group *group,
				  const struct nb_config_key *k);

/* Scalars (bool, numbers, enums) pass through one 64-bit value. */
bool nb_config_key_scalar(const struct nb_config_key *k);
void nb_config_store(void *field, const struct nb_config_key *k, uint64_t v);
uint64_t nb_config_load(const void *field, const struct nb_config_key *k);

/* The value of a scalar's text, or -EINVAL with what is wrong with it. */
int nb_config_value_parse(const struct nb_config_key *k, const char *text, uint64_t *ret, char *why,
			  size_t why_size);
/* Writes a scalar so that it parses to the same value. */
void nb_config_value_format(const struct nb_config_key *k, uint64_t v, char *buf, size_t size);
/* "100ms to 1min", "yes, no", … */
void nb_config_value_allowed(const struct nb_config_key *k, char *buf, size_t size);

/* --- where values came from ------------------------------------------------ */

struct nb_origin {
	uint32_t file; /* 1-based index of builder->files; 0: default */
	uint32_t line;
};

/* The main sections, or one group. */
struct nb_config_scope {
	struct nb_origin header; /* a group's first section line */
	struct nb_origin key[NB_CONFIG_N_KEYS];
	struct nb_origin *items[NB_CONFIG_N_KEYS]; /* one for each item of an NB_TYPE_LIST */
};

struct nb_config_builder {
	char **files;
	size_t n_files;
	struct nb_config_scope main;
	struct nb_config_scope *groups; /* as nb_config.groups */
	bool finished;
};

/* --- one file being parsed ------------------------------------------------- */

struct nb_config_parser {
	struct nb_config *c;
	uint32_t file;
	enum nb_section section;
	size_t group; /* index, with NB_SECTION_GROUP */
};

/* "[section] key: why (allowed: …)" */
int nb_config_value_error(struct nb_ini *i, const char *key, const char *why, const char *allowed);
struct nb_config_scope *nb_config_scope_of(struct nb_config_parser *p);
/* Gives a key of the present section the value of a text. */
int nb_config_set(struct nb_ini *i, int key, const char *text);
