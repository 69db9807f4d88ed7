/* SPDX-License-Identifier: MIT */
/*
 * Text that others chose (names of tasks, paths), made fit to be shown. Both
 * functions take bytes that need not end in NUL, write at most size bytes with
 * the NUL, cut between characters if that is too small, and return the length
 * that was written.
 */
#pragma once

#include <stddef.h>

/* For JSON: valid UTF-8. A byte that is not part of a valid character becomes
 * U+FFFD. Up to 3 bytes for each one. Control characters are left to the writer
 * of the JSON, which escapes them. */
size_t nb_text_utf8(const char *in, size_t len, char *out, size_t size);

/* For terminals and lines of a log, within double quotes: quotes and backslashes
 * get a backslash; bytes that are no character, control characters, and those
 * that turn the direction or break the line of a text become \xNN. Up to 4 bytes
 * for each one. */
size_t nb_text_show(const char *in, size_t len, char *out, size_t size);

/* How many columns a valid UTF-8 text takes, if each character takes one. */
size_t nb_text_columns(const char *text);
