/* SPDX-License-Identifier: Apache-2.0 */
/* html.h - what the sections of the HTML page share: escaping, statuses, anchors
 *
 * The page is one file without scripts that loads nothing. A section writes its body to page->out; a section that
 * writes nothing is absent. Markup of our own goes to page->out as it is, with single literals; whatever a machine, a
 * user or a file gave goes through muster_html_put or muster_html_print.
 *
 * Anchors: "f3" is the finding of index 3 of the report; "n3" the details of the node of index 3 of the run, or its
 * tile on the map where it has no details; "n3-g1" and "n3-p1" its GPU and its port of these indices (places.h), "m3"
 * its picture; "explain-copy.h2d" what a check means. The id of a section is in the table of page.c.
 */
#ifndef MUSTER_REPORT_HTML_H
#define MUSTER_REPORT_HTML_H

#include "muster/report.h"

struct muster_html_places;

struct muster_html {
	const struct muster_report *report;
	const struct muster_html_places *places;
	FILE *out;
	bool inventory; /* the page has the inventory alone: no check is explained */
};

/* All until </head>: a policy that forbids scripts and requests, and the style. */
void muster_html_head(const struct muster_html *page, const char *title);

/* The text, escaped: as content, or within a quoted attribute. Nothing in it is markup, and characters that do
 * something (controls, marks that turn the writing direction, invisible ones) appear as \x1b or \u202e. NULL writes
 * "-". */
void muster_html_put(const struct muster_html *page, const char *text);
/* The same between markup of our own. */
void muster_html_within(const struct muster_html *page, const char *before, const char *text, const char *after);
/* A formatted text, escaped as a whole; no argument of %s is NULL. */
void muster_html_print(const struct muster_html *page, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* "<span class="badge fail">", a sign of its own shape, "FAIL": a status in colour, shape and word. Its
 * class in style.css, and that of its sign in signs.svg, is its name. */
void muster_html_badge(const struct muster_html *page, enum muster_status status);

/* A table that may be wider than the page: it scrolls by itself, by keyboard too. caption is our own text. */
void muster_html_table_begin(const struct muster_html *page, const char *caption);
void muster_html_table_end(const struct muster_html *page);
/* The row of headings; the texts are our own. */
void muster_html_headings(const struct muster_html *page, const char *const *texts, size_t count);
/* The same with headings, until the first row; and from behind the last row on. */
void muster_html_rows_begin(
	const struct muster_html *page, const char *caption, const char *const *headings, size_t count);
void muster_html_rows_end(const struct muster_html *page);

/* "n3", "n3-g1" or "n3-p1": the most exact anchor of the place that a finding is about. False: it has none, since it is
 * about the whole job. */
bool muster_html_anchor(const struct muster_html *page, const struct muster_finding *finding, char out[64]);
/* Where a finding is, "gpu-1, GPU 000b:00:00.0, rank 4", as a link to the values there. */
void muster_html_where(const struct muster_html *page, const struct muster_finding *finding);
/* The id of a check, as a link to what it means where the page explains it. */
void muster_html_check(const struct muster_html *page, const char *check);
/* A list of hosts that breaks only behind a comma, and never at a hyphen: names stay whole. before: our own text in
 * front of it, which stays there. */
void muster_html_hosts(const struct muster_html *page, const char *before, const char *list);
/* The name of a node, as a link to its details or its tile; plain text when the page has neither. */
void muster_html_node(const struct muster_html *page, const char *name);

/* Radio buttons that show all nodes of the section, or only those of one status: the items of .filtered, whose class is
 * the status. name: of the group, our own. sums: how many nodes there are of each status. Nothing where all nodes have
 * the same one. */
void muster_html_filter(const struct muster_html *page, const char *name, const size_t sums[MUSTER_STATUS_COUNT]);

/* The machine type in words. */
const char *muster_html_sku(const struct muster_report *report);

/* "1,257,162"; "4,096 nodes". Returns out. */
const char *muster_html_count(size_t count, char out[32]);
const char *muster_html_plural(char out[64], size_t count, const char *noun);

/* "60", "23.9": a speed in GB/s. Returns out. */
const char *muster_html_gbps(double value, char out[32]);

/* The sections, in the order of the page; each is a file of this folder. */
void muster_html_verdict(const struct muster_html *page);
void muster_html_findings(const struct muster_html *page);
void muster_html_map(const struct muster_html *page);
void muster_html_machines(const struct muster_html *page);
void muster_html_values(const struct muster_html *page);
void muster_html_rings(const struct muster_html *page); /* first in the next one */
void muster_html_matrix(const struct muster_html *page);
void muster_html_notes(const struct muster_html *page);
void muster_html_unevaluated(const struct muster_html *page);
void muster_html_inventory(const struct muster_html *page);
void muster_html_nodes(const struct muster_html *page);
void muster_html_explain(const struct muster_html *page);

#endif
