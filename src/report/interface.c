/* SPDX-License-Identifier: MIT */
#include "report/interface.h"

const char nb_interface_numabalance[] =
#include "io.numabalance.varlink.inc"
	;

const char nb_interface_service[] =
#include "org.varlink.service.varlink.inc"
	;
