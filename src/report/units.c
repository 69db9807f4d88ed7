/* SPDX-License-Identifier: MIT */
#include "report/units.h"

#include <stdio.h>

const char *nb_unit_bytes(char buf[NB_UNIT_MAX], uint64_t bytes)
{
	static const char units[] = "KMGTPE";
	double n = (double)bytes;
	int unit = -1;

	/* 999.5 would be printed as a fourth digit. */
	while (n >= 999.5 && unit < 5) {
		n /= 1024;
		unit++;
	}
	if (unit < 0)
		snprintf(buf, NB_UNIT_MAX, "%d", (int)bytes);
	else
		snprintf(buf, NB_UNIT_MAX, n < 9.95 ? "%.1f%c" : "%.0f%c", n, units[unit]);
	return buf;
}

const char *nb_unit_time(char buf[NB_UNIT_MAX], int64_t us)
{
	uint64_t n = us < 0 ? -(uint64_t)us : (uint64_t)us;
	const char *sign = us < 0 ? "-" : "";

	if (n == 0)
		snprintf(buf, NB_UNIT_MAX, "0");
	else if (n < 1000)
		snprintf(buf, NB_UNIT_MAX, "%s%d us", sign, (int)n);
	else if (n < 1000000)
		snprintf(buf, NB_UNIT_MAX, "%s%d ms", sign, (int)(n / 1000));
	else if (n < 60000000)
		snprintf(buf, NB_UNIT_MAX, "%s%d.%02d s", sign, (int)(n / 1000000),
			 (int)(n / 10000 % 100));
	else if (n < 3600000000)
		snprintf(buf, NB_UNIT_MAX, "%s%d min %d s", sign, (int)(n / 60000000),
			 (int)(n / 1000000 % 60));
	else if (n < 86400000000)
		snprintf(buf, NB_UNIT_MAX, "%s%d h %d min", sign, (int)(n / 3600000000),
			 (int)(n / 60000000 % 60));
	else
		snprintf(buf, NB_UNIT_MAX, "%s%llu d %d h", sign,
			 (unsigned long long)(n / 86400000000), (int)(n / 3600000000 % 24));
	return buf;
}

const char *nb_unit_cpus(char buf[NB_UNIT_MAX], double cpus)
{
	snprintf(buf, NB_UNIT_MAX, "%.2f", cpus);
	return buf;
}

const char *nb_unit_share(char buf[NB_UNIT_MAX], double share)
{
	/* Neither all nor nothing is said of what is only nearly so. */
	if (share > 0.99 && share < 1)
		share = 0.99;
	else if (share > 0 && share < 0.01)
		share = 0.01;
	snprintf(buf, NB_UNIT_MAX, "%.0f %%", share * 100);
	return buf;
}
