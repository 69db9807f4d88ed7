/* SPDX-License-Identifier: MIT */
/* Names and sentences of the closed lists, for machines and for people. */
#include "nb/model.h"
#include "nb/plan.h"

static const struct {
	const char *name, *sentence;
} reasons[NB_REASON_COUNT] = {
	[NB_REASON_NONE] = {"none", "nothing was decided yet"},
	[NB_REASON_CPU_TO_MEMORY] = {"cpu_to_memory", "its threads go to the node of its memory"},
	[NB_REASON_MEMORY_TO_CPU] = {"memory_to_cpu", "its memory goes to the node of its threads"},
	[NB_REASON_BOTH_TO_THIRD] = {"both_to_third", "threads and memory go to a node that has room for both"},
	[NB_REASON_SWAP] = {"swap", "it changes places with another task"},
	[NB_REASON_ROTATE] = {"rotate", "it changes places with several others in a ring"},
	[NB_REASON_RELIEVE] = {"relieve", "its node is overloaded, so its threads may use others again"},
	[NB_REASON_GROUP_NODES] = {"group_nodes", "its group is kept on the nodes that the configuration names"},
	[NB_REASON_SPREAD] = {"spread", "it is wider than a node and goes to the closest set that holds it"},
	[NB_REASON_LOCAL] = {"local", "it is where it costs least"},
	[NB_REASON_SMALL_GAIN] = {"small_gain", "what a move would gain is less than its price or than min_gain"},
	[NB_REASON_WIDE] = {"wide", "it is wider than a node, and spread as well as it can be"},
	[NB_REASON_ONE_NODE] = {"one_node", "the machine has one node only"},
	[NB_REASON_IDLE] = {"idle", "it uses less CPU time than min_cpu"},
	[NB_REASON_SMALL_MEMORY] = {"small_memory", "it has less memory than min_memory"},
	[NB_REASON_NEW] = {"new", "it was seen once so far; rates need two samples"},
	[NB_REASON_NO_MEMORY_INFO] = {"no_memory_info", "where its memory lies could not be read yet"},
	[NB_REASON_DENIED] = {"denied", "the kernel does not let us read where its memory lies"},
	[NB_REASON_KERNEL_THREAD] = {"kernel_thread", "it is a kernel thread"},
	[NB_REASON_NO_AFFINITY] = {"no_affinity", "the kernel does not allow its affinity to be set"},
	[NB_REASON_REALTIME] = {"realtime", "it has a real-time or deadline thread"},
	[NB_REASON_PINNED] = {"pinned", "its owner has pinned a thread of it to fewer CPUs than it may use"},
	[NB_REASON_BOUND] = {"bound", "its owner has bound its memory by a policy"},
	[NB_REASON_INTERLEAVED] = {"interleaved", "its owner has interleaved its memory on purpose"},
	[NB_REASON_ONE_NODE_ALLOWED] = {"one_node_allowed", "its cpuset or mask leaves it one node only"},
	[NB_REASON_EXITING] = {"exiting", "it is ending"},
	[NB_REASON_SELF] = {"self", "it is the daemon itself"},
	[NB_REASON_SERVICE] = {"service", "it starts other programs, which would inherit its mask"},
	[NB_REASON_EXCLUDED] = {"excluded", "the configuration excludes it"},
	[NB_REASON_OBSERVED] = {"observed", "its group is only observed"},
	[NB_REASON_IGNORED] = {"ignored", "its group is ignored"},
	[NB_REASON_IN_FLIGHT] = {"in_flight", "it is being moved now"},
	[NB_REASON_SLOT_TAKEN] = {"slot_taken", "another task is being moved to that node; it is next"},
	[NB_REASON_BUSIER_NODE] = {"busier_node", "that node is busier than its own"},
	[NB_REASON_NO_CPU_ROOM] = {"no_cpu_room", "its threads would wait for a CPU there longer than they gain"},
	[NB_REASON_NO_MEMORY_ROOM] = {"no_memory_room", "that node has too little free memory for it"},
	[NB_REASON_COOLDOWN] = {"cooldown", "it was moved a short while ago"},
	[NB_REASON_BACKOFF] = {"backoff", "moves of it failed or did not last, so it is left alone for a while"},
	[NB_REASON_SETTLING] = {"settling", "its pages are moved once the plan has been stable for a while"},
	[NB_REASON_PAUSED] = {"paused", "balancing is paused"},
	[NB_REASON_NO_RIGHTS] = {"no_rights", "the daemon has no right to move tasks"},
};

const char *nb_reason_name(enum nb_reason r)
{
	return (unsigned)r < NB_REASON_COUNT ? reasons[r].name : "unknown";
}

const char *nb_reason_sentence(enum nb_reason r)
{
	return (unsigned)r < NB_REASON_COUNT ? reasons[r].sentence : "unknown";
}

const char *nb_refused_name(enum nb_refused r)
{
	static const char *const names[NB_REFUSED_COUNT] = {
		[NB_REFUSED_SHARED] = "shared", [NB_REFUSED_BUSY] = "busy",
		[NB_REFUSED_NOMEM] = "no_memory", [NB_REFUSED_ABSENT] = "absent",
		[NB_REFUSED_OTHER] = "other",
	};

	return (unsigned)r < NB_REFUSED_COUNT ? names[r] : "unknown";
}

const char *nb_class_name(enum nb_class c)
{
	static const char *const names[] = {
		[NB_CLASS_NONE] = "none",
		[NB_HAS_SPARE] = "has_spare",
		[NB_FULLY_BUSY] = "fully_busy",
		[NB_OVERLOADED] = "overloaded",
	};

	return (unsigned)c < sizeof(names) / sizeof(*names) ? names[c] : "unknown";
}

const char *nb_source_name(enum nb_source s)
{
	static const char *const names[] = {
		[NB_SOURCE_SCHEDSTAT] = "schedstat",
		[NB_SOURCE_THREADS] = "threads",
		[NB_SOURCE_STAT] = "stat",
		[NB_SOURCE_UNKNOWN] = "unknown",
	};

	return (unsigned)s < sizeof(names) / sizeof(*names) ? names[s] : "unknown";
}
