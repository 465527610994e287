/* text_lines.h - lines that fit a terminal */
#ifndef MUSTER_REPORT_TEXT_LINES_H
#define MUSTER_REPORT_TEXT_LINES_H

#include <stddef.h>
#include <stdio.h>

enum { MUSTER_TEXT_WIDTH = 120 }; /* columns of the summary */

/* Print text, escaped, and a newline, with breaks at blanks so that no line has more than MUSTER_TEXT_WIDTH columns; a
 * word that is longer than a line is broken too. used: columns that the first line has already; further lines begin
 * with indent blanks. */
void muster_text_lines(FILE *out, const char *text, size_t used, size_t indent);

#endif
