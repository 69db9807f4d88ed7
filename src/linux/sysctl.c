/* SPDX-License-Identifier: MIT */
#include <limits.h>

#include "linux/linux.h"
#include "linux/parse.h"
#include "linux/procfs.h"

int nb_linux_kernel_balancing(const char *root, int *ret)
{
	__attribute__((cleanup(nb_procfs_close))) struct nb_procfs fs = {};
	_cleanup_text_ struct nb_text text = {};
	uint64_t value;
	int r;

	r = nb_procfs_open(root, &fs);
	if (r == 0)
		r = nb_text_read(&text, fs.proc_fd, "sys/kernel/numa_balancing");
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
