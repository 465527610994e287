/* markdown.h - what the Markdown writers share */
#ifndef MUSTER_REPORT_MARKDOWN_H
#define MUSTER_REPORT_MARKDOWN_H

#include "muster/report.h"

/* One line of text, for a table's cell too: printable, and nothing in it is Markdown or HTML. NULL writes nothing. */
void muster_markdown_put(FILE *out, const char *text);

/* The heading with the verdict, and what was looked at. */
void muster_markdown_head(const struct muster_report *report, FILE *out);

#endif
