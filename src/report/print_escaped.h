/* SPDX-License-Identifier: Apache-2.0 */
/* print_escaped.h - printing of texts that a machine gave: host names, GPU names, library messages */
#ifndef MUSTER_REPORT_PRINT_ESCAPED_H
#define MUSTER_REPORT_PRINT_ESCAPED_H

#include <stddef.h>
#include <stdio.h>

/* Print text so that it cannot drive a terminal: control characters (C0, DEL, C1), line separators, marks that turn the
 * writing direction, and bytes that are not UTF-8 appear as escapes (\n, \x1b, \u202e). Returns the columns taken,
 * counting one for each character. NULL prints "-". With out NULL only the columns are counted. */
size_t muster_print_escaped(FILE *out, const char *text);

/* Print a formatted text in the same way; no argument of %s is NULL. */
void muster_print_text(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The text that muster_print_escaped prints, malloc'd. */
char *muster_escaped(const char *text);

#endif
