/* SPDX-License-Identifier: MIT */
#include <limits.h>

#include "linux/linux.h"
#include "linux/parse.h"
#include "linux/procfs.h"
#include "linux/sysctl.h"

int nb_sysctl_balancing(const struct nb_procfs *fs, int *ret)
{
	_cleanup_text_ struct nb_text text = {};
	uint64_t value;
	int r;

	r = nb_text_read(&text, fs->proc_fd, "sys/kernel/numa_balancing");
	if (r < 0)
		return r;
	r = nb_parse_u64(text.data, text.len, &value);
	if (r < 0)
		return r;
	if (value > INT_MAX)
		return -EINVAL;
	*ret = (int)value;
	return 0;
}

int nb_linux_kernel_balancing(const char *root, int *ret)
{
	__attribute__((cleanup(nb_procfs_close))) struct nb_procfs fs = {};
	int r = nb_procfs_open(root, &fs);

	return r < 0 ? r : nb_sysctl_balancing(&fs, ret);
}
