/* SPDX-License-Identifier: Apache-2.0 */
/* report.h - reports are written in several formats, and read back; implemented by the files of src/report/
 *
 * evaluate.h makes a report. Writers only write: each draws from the same members of struct muster_report, and none
 * evaluates. What more than one writer says is found once:
 *
 *   verdict.h      the verdict in words, nodes to exclude, remarks on the run, what was not measured
 *   kinds.h        findings of one check, status and action as one row
 *   slowest.h      ranks that are slower than the others
 *   inventory.h    what the nodes have
 *   slurm/node_selection.h  which nodes are good, bad, inconclusive or missing
 *
 * The way of one finding, report->findings[i], into each format:
 *
 * - JSON: write_json.c writes an object of `findings` by muster_finding_type, by which read_findings.c reads it.
 * - Text: text_kinds.c counts it in its kind where several nodes have findings; text_findings.c prints it in full,
 *   in the order of muster_findings_by_place; text_table.c counts it in the row of its node and the column of the
 *   probe that yields its metric.
 * - Page: html/places.c takes the worst status of each node, GPU and port from it; the map, the tables of machines
 *   and all links have colours and anchors from there; html/findings.c prints it in full, below its kind.
 * - JUnit: junit.c makes it a part of the suite of its node (or "job") and the case of its check: fail is a failure,
 *   inconclusive an error, skip and blocked are skipped; a warning passes unless muster_finding_fails.
 * - Prometheus: prometheus.c counts it in muster_findings, and its node has muster_node_failed or
 *   muster_node_inconclusive.
 * - Markdown: markdown.c has a row for it, the worst status first, and a row for its kind.
 *
 * Only JSON has everything: each other format ends a long list with how many are left out.
 */
#ifndef MUSTER_REPORT_H
#define MUSTER_REPORT_H

#include "muster/error.h"
#include "muster/evaluate.h"

#include <stdio.h>

enum muster_exit { MUSTER_EXIT_PASS = 0, MUSTER_EXIT_FAIL = 1, MUSTER_EXIT_USAGE = 2, MUSTER_EXIT_INCONCLUSIVE = 3 };

enum muster_exit muster_report_exit(const struct muster_report *report);

/* Write the JSON report whole: temporary file beside path, fsync, rename. "-" writes to stdout. */
int muster_report_write_json(const struct muster_report *report, const char *path, struct muster_error *err);
/* The same to a stream, for tests; -1 when the stream has an error. */
int muster_report_print_json(const struct muster_report *report, FILE *out, struct muster_error *err);

/* Read the run and the machine type of a saved report (the findings are not read: they can be computed again). Input
 * from outside: every malformed report is MUSTER_EUSAGE with the file and the JSON path. */
int muster_report_read(const char *path, struct muster_run *ret, struct muster_error *err);

/* The same, and verdict, findings and checks as in the file. ret borrows *ret_run. */
int muster_report_load(
	const char *path, struct muster_run *ret_run, struct muster_report *ret, struct muster_error *err);

/* The same of a report that is open for reading, and stays open: path is only its name in errors. */
int muster_report_load_open(
	int fd, const char *path, struct muster_run *ret_run, struct muster_report *ret, struct muster_error *err);

/* How text for people is laid out. */
struct muster_layout {
	bool colour;      /* ANSI colours */
	size_t columns;   /* of a line; 0: as many as usual, 120 */
	size_t lines;     /* of the terminal: a longer text ends with its verdict; 0: the text goes to no terminal */
	const char *path; /* of the JSON report, for commands that read it; NULL: there is none */
};

/* The summary for people, failures first. */
void muster_report_print_text(const struct muster_report *report, const struct muster_layout *layout, FILE *out);

/* JUnit XML for CI servers: a test suite for each node and one for the job, a test case for each probe and check. A
 * failed finding is a failure, an inconclusive one an error, what does not apply is skipped. A check for other runs has
 * no case. The suite of the job has a property for each kind of fault. */
void muster_report_print_junit(const struct muster_report *report, FILE *out);

/* A short summary for a pull request or a ticket. */
void muster_report_print_markdown(const struct muster_report *report, FILE *out);

/* One HTML file for people: no script, no request; every text from outside is escaped. */
void muster_report_print_html(const struct muster_report *report, FILE *out);
/* The same to a file: temporary file beside path, fsync, rename. */
int muster_report_write_html(const struct muster_report *report, const char *path, struct muster_error *err);
/* The inventory (report/inventory.h) in place of the summary: the verdict and three tables. */
void muster_report_print_inventory_text(
	const struct muster_report *report, const struct muster_layout *layout, FILE *out);
void muster_report_print_inventory_markdown(const struct muster_report *report, FILE *out);
void muster_report_print_inventory_html(const struct muster_report *report, FILE *out);

/* What a cloud's support desk asks for about a node that failed (docs/reference/ticket.md): in plain English, or for
 * Azure's Guest Health Reporting. -1 with err where the report has no such node, or nothing failed on the node. */
int muster_report_print_ticket(
	const struct muster_report *report, const char *node, bool azure, FILE *out, struct muster_error *err);

/* Prometheus's text format: docs/reference/prometheus.md. */
void muster_report_print_prometheus(const struct muster_report *report, FILE *out);

/* The same to muster.prom in a directory, for node_exporter's textfile collector: whole, and readable for everybody.
 * What is there before it has its name, the collector does not read. */
int muster_report_write_textfile(const struct muster_report *report, const char *directory, struct muster_error *err);
/* Whether the directory can take it; no file remains. */
int muster_report_check_textfile(const char *directory, struct muster_error *err);

/* The stable last line, with its newline. report_path is what the user gave. */
void muster_report_print_line(const struct muster_report *report, const char *report_path, FILE *out);

/* How a finished report is published. */
struct muster_publishing {
	const char *path;            /* of the JSON report; NULL: none is wanted */
	const char *named;           /* the report's name in the last line */
	struct muster_layout layout; /* of the summary; its path is set here */
	bool inventory;              /* the inventory in place of the summary */
	const char *hint;            /* a line below the summary; NULL */
};

/* All of the above: the JSON report, the summary or the inventory, and the last line to stdout, or to stderr when path
 * is "-". Returns the exit code. A report that was asked for and cannot be written leaves no pass: the last line then
 * says report=none. */
int muster_report_publish(struct muster_report *report, const struct muster_publishing *how);

#endif
