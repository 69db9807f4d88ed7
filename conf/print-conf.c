/* SPDX-License-Identifier: MIT */
/* Prints conf/numabalanced.conf from the table of keys: `make conf`. */
#include <stdlib.h>

#include "nb/config.h"

int main(void)
{
	if (nb_config_print_shipped(stdout) < 0 || fclose(stdout) != 0)
		return EXIT_FAILURE;
	return EXIT_SUCCESS;
}
