/* SPDX-License-Identifier: Apache-2.0 */
/* unevaluated.c - what no result says anything about, and why: blocked checks, inconclusive ones, probes without a
 * result, checks that do not apply
 *
 * Five tables, each only where it has rows. Those of probes and of findings (print_reasons) have a row for what and
 * why, with the first place and how often it occurs; those of checks (print_causes) have a row for a cause with all its
 * checks, since one cause, such as "only for runs of 1 node", holds for many checks.
 */
#include "report/html/html.h"

#include "muster/run_data.h"
#include "util/array.h"

#include <stdlib.h>
#include <string.h>

enum { ROWS_MAX = 200 };

/* A row: things that have one reason, and how many they are. In print_causes() `what` is the reason itself, and `why`
 * is empty. */
struct reason {
	const char *what, *why; /* the report's */
	const char *node;       /* the first one; NULL */
	const char *cause;      /* further details of a probe's end; NULL */
	size_t count;
};

struct reasons {
	struct reason *items;
	size_t count, room, more; /* more: of things that have no room */
};

/* Count a thing; a row of its own if no row has the same what, why and cause. A cause that is not known fits each. */
static void take(struct reasons *reasons, struct reason one)
{
	for (size_t i = 0; i < reasons->count; i++) {
		struct reason *other = &reasons->items[i];
		if (strcmp(other->what, one.what) == 0 && strcmp(other->why, one.why) == 0 &&
			(!one.cause || !other->cause || strcmp(other->cause, one.cause) == 0)) {
			other->count++;
			return;
		}
	}
	if (reasons->count == ROWS_MAX) {
		reasons->more++;
		return;
	}
	one.count = 1;
	MUSTER_ARRAY_PUSH(reasons->items, reasons->count, reasons->room, one);
}

static void put_more(const struct muster_html *page, const struct reasons *reasons)
{
	if (reasons->more > 0)
		fprintf(page->out, "<p>and %zu more, all of them in the JSON report</p>\n", reasons->more);
}

/* A table of what, why, (the cause,) the first place and how often. With five headings the third one is of the cause;
 * with four there is no such column. */
static void print_reasons(const struct muster_html *page, const struct reasons *reasons, const char *title,
	const char *caption, const char *const *headings, size_t heading_count)
{
	if (reasons->count == 0)
		return;
	fprintf(page->out, "<h3>%s</h3>\n", title);
	muster_html_rows_begin(page, caption, headings, heading_count);
	for (size_t i = 0; i < reasons->count; i++) {
		const struct reason *reason = &reasons->items[i];
		fputs("<tr><th scope='row'>", page->out);
		muster_html_check(page, reason->what);
		muster_html_within(page, "</th><td>", reason->why, "</td>");
		if (heading_count == 5)
			muster_html_within(page, "<td>", reason->cause, "</td>");
		fputs("<td>", page->out);
		if (reason->node)
			muster_html_node(page, reason->node);
		else
			fputs("whole job", page->out);
		fprintf(page->out, "</td><td class='number'>%zu</td></tr>\n", reason->count);
	}
	muster_html_rows_end(page);
	put_more(page, reasons);
}

/* Probes that did not end well on some rank. */
static void print_probes(const struct muster_html *page)
{
	static const char *const headings[] = { "probe", "how it ended", "why", "where, first of all", "ranks" };
	const struct muster_run *run = page->report->run;
	struct reasons reasons = { 0 };
	for (size_t n = 0; n < run->node_count; n++)
		for (size_t r = 0; r < run->nodes[n].rank_count; r++) {
			const struct muster_outcomes *outcomes = &run->nodes[n].ranks[r].outcomes;
			for (size_t i = 0; i < outcomes->count; i++) {
				enum muster_outcome_status status = outcomes->items[i].status;
				if (status != MUSTER_OUTCOME_OK)
					take(&reasons, (struct reason){ .what = outcomes->items[i].probe,
							       .why = status == MUSTER_OUTCOME_NOT_RUN
									      ? "not run"
									      : muster_outcome_name(status),
							       .cause = outcomes->items[i].detail,
							       .node = run->nodes[n].name });
			}
		}
	print_reasons(page, &reasons, "Probes without a result", "Probes that did not finish, and why", headings,
		sizeof headings / sizeof *headings);
	free(reasons.items);
}

/* Findings of one status by check and by what was observed, which is the reason here. */
static void print_findings(const struct muster_html *page, enum muster_status status, const char *title)
{
	static const char *const headings[] = { "check", "why there is no result", "where, first of all", "times" };
	const struct muster_report *report = page->report;
	struct reasons reasons = { 0 };
	for (size_t i = 0; i < report->finding_count; i++) {
		const struct muster_finding *finding = &report->findings[i];
		if (finding->status == status)
			take(&reasons, (struct reason){ .what = finding->check,
					       .why = finding->observed ? finding->observed : "no value",
					       .node = finding->node });
	}
	print_reasons(page, &reasons, title, title, headings, sizeof headings / sizeof *headings);
	free(reasons.items);
}

/* ---- by cause ---- */

static const char *skipped(const struct muster_tally *tally)
{
	return tally->skipped;
}

static const char *blocked_by(const struct muster_tally *tally)
{
	return tally->blocked_by;
}

/* Each cause, and the checks that have it: one cause holds for many checks. */
static void print_causes(const struct muster_html *page, const char *(*cause_of)(const struct muster_tally *tally),
	const char *title, const char *heading)
{
	const struct muster_report *report = page->report;
	struct reasons reasons = { 0 };
	size_t checks = 0;
	char text[64];
	for (size_t i = 0; i < report->tally_count; i++) {
		const char *cause = cause_of(&report->tallies[i]);
		checks += cause != NULL;
		if (cause)
			take(&reasons, (struct reason){ .what = cause, .why = "" });
	}
	if (reasons.count > 0) {
		const char *const headings[] = { heading, "checks" };
		fprintf(page->out, "<details><summary>%s: %s</summary>\n", title,
			muster_html_plural(text, checks, "check"));
		muster_html_rows_begin(page, title, headings, 2);
	}
	for (size_t i = 0; i < reasons.count; i++) {
		const char *before = "";
		muster_html_within(page, "<tr><th scope='row'>", reasons.items[i].what, "</th><td>");
		for (size_t j = 0; j < report->tally_count; j++) {
			const char *cause = cause_of(&report->tallies[j]);
			if (!cause || strcmp(cause, reasons.items[i].what) != 0)
				continue;
			fputs(before, page->out);
			muster_html_check(page, report->tallies[j].check);
			before = ", ";
		}
		fputs("</td></tr>\n", page->out);
	}
	if (reasons.count > 0)
		muster_html_rows_end(page);
	put_more(page, &reasons);
	fputs(reasons.count > 0 ? "</details>\n" : "", page->out);
	free(reasons.items);
}

void muster_html_unevaluated(const struct muster_html *page)
{
	print_findings(page, MUSTER_INCONCLUSIVE, "Inconclusive");
	print_causes(page, blocked_by, "Blocked by a finding", "finding");
	print_probes(page);
	print_findings(page, MUSTER_SKIP, "Not applicable at some places");
	print_causes(page, skipped, "Not for this run", "reason");
}
