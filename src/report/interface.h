/* SPDX-License-Identifier: MIT */
/* The texts of the Varlink interfaces, as the files *.varlink beside this one. */
#pragma once

extern const char nb_interface_numabalance[];
extern const char nb_interface_service[];
