/* SPDX-License-Identifier: MIT */
#include "nb/model.h"

enum nb_class nb_classify(uint32_t n_cpus, uint64_t util_cap, uint64_t runnable_cap,
			  uint32_t nr_running, uint32_t imbalance_pct)
{
	uint64_t capacity = (uint64_t)n_cpus * NB_CPU_CAP, pct = imbalance_pct;

	if (n_cpus == 0)
		return NB_CLASS_NONE;
	if (nr_running > n_cpus &&
	    (capacity * 100 < util_cap * pct || capacity * pct < runnable_cap * 100))
		return NB_OVERLOADED;
	if (nr_running < n_cpus ||
	    (capacity * 100 > util_cap * pct && capacity * pct > runnable_cap * 100))
		return NB_HAS_SPARE;
	return NB_FULLY_BUSY;
}
