/* SPDX-License-Identifier: Apache-2.0 */
/* text_summary.h - the parts of the summary for people
 *
 * muster_report_print_text() prints the parts in the order in which they stand here. Each part is a function that gets
 * the page, most in a file of their own, and prints nothing where it has nothing to say. The HTML page uses some of the
 * parts, and the other writers use the helpers.
 */
#ifndef MUSTER_REPORT_TEXT_SUMMARY_H
#define MUSTER_REPORT_TEXT_SUMMARY_H

#include "muster/report.h"
#include "report/kinds.h"

#include <stddef.h>
#include <stdio.h>

struct muster_text_page {
	const struct muster_report *report; /* NULL: a page of lines alone, such as those of a comparison */
	FILE *out;
	struct muster_layout layout;
	const struct muster_kinds *kinds; /* of the report; NULL: the page does not list them */
};

enum muster_paint {
	MUSTER_PAINT_OK,
	MUSTER_PAINT_WARN,
	MUSTER_PAINT_FAIL,
	MUSTER_PAINT_DOUBT,
	MUSTER_PAINT_DIM,
	MUSTER_PAINT_STRONG,
	MUSTER_PAINT_PLAIN
};

/* Print text in a colour when the page has colours. text is our own, never a machine's. */
void muster_text_paint(const struct muster_text_page *page, enum muster_paint paint, const char *text);

/* What stands for a status: "FAIL", "n/a", "warn"; and print text, or that mark when text is NULL, in its colour. */
const char *muster_text_mark(enum muster_status status);
void muster_text_paint_status(const struct muster_text_page *page, enum muster_status status, const char *text);

/* "1 rank", "16 ranks" */
const char *muster_text_plural(char out[64], size_t count, const char *noun);

/* "gpu-1, GPU 000b:00:00.0, rank 4, bytes 8 GiB" or "whole job, ..."; escaped, malloc'd */
char *muster_text_where(const struct muster_finding *finding);

/* The value of a label, escaped; "bytes" as people say it: "8 GiB". */
void muster_text_label(FILE *out, const struct muster_label *label);

void muster_text_head(const struct muster_text_page *page);      /* the verdict and what was looked at */
void muster_text_kinds(const struct muster_text_page *page);     /* what is wrong, where several nodes have findings */
bool muster_text_has_kinds(const struct muster_text_page *page); /* whether that prints anything */
void muster_text_findings(const struct muster_text_page *page);  /* the same by place, each finding in full */
void muster_text_explain(const struct muster_text_page *page);   /* the command that explains these */
void muster_text_table(const struct muster_text_page *page);     /* nodes x probes */
void muster_text_notes(const struct muster_text_page *page);     /* events of the kernel's log without a finding */
void muster_text_others(const struct muster_text_page *page);    /* who else used the nodes */
void muster_text_figures(const struct muster_text_page *page);   /* the bandwidths that were measured */
void muster_text_steps(const struct muster_text_page *page);     /* the training steps */
void muster_text_slowest(const struct muster_text_page *page);   /* the slowest ranks */

/* ---- lines that fit a terminal ---- */

/* Columns of a line. */
size_t muster_text_width(const struct muster_text_page *page);

/* Print text, escaped, and a newline, with breaks at blanks so that no line is wider than the page; a word that is
 * longer than a line is broken after a comma, or anywhere when it has none. used: columns that the first line has
 * already; further lines begin with indent blanks. */
void muster_text_lines(const struct muster_text_page *page, const char *text, size_t used, size_t indent);
/* The same on so many lines at most: what does not fit ends with dots. */
void muster_text_few_lines(
	const struct muster_text_page *page, const char *text, size_t used, size_t indent, size_t lines);

#endif
