/* SPDX-License-Identifier: Apache-2.0 */
/* findings.c - the kinds of faults, the worst first: what is wrong, where, and what to do; one click shows each finding
 *
 * A kind is one row, however many nodes have it. Of a report with few findings all of them can be seen at once.
 *
 * The row is the <summary> of a <details>. Behind a click, a kind with one finding has it as fields; with several, each
 * is a row of a table, and what they share stands below: the expected value if all have the same, and blocked checks
 * and source of the first one. A finding has the anchor "f" and its index in the report.
 */
#include "report/html/html.h"

#include "model/share.h"
#include "report/html/places.h"
#include "report/text_summary.h"
#include "util/array.h"

#include <stdint.h>
#include <stdlib.h>

enum {
	OPEN_MAX = 8,     /* findings in all; more of them are folded */
	ROWS_OF_ONE = 64, /* findings of one kind; others are counted */
	ROWS_MAX = 512,   /* of all kinds */
	BLOCKED_MAX = 24, /* ids of blocked checks */
};

/* ---- what the findings of a kind share ---- */

static void put_field(const struct muster_html *page, const char *name, const char *text)
{
	if (!text || !*text)
		return;
	fprintf(page->out, "<div class='%s'><dt>%s</dt>", name, name);
	muster_html_within(page, "<dd>", text, "</dd></div>\n");
}

static void put_source(const struct muster_html *page, const struct muster_finding *finding)
{
	if (!finding->source)
		return;
	fputs("<div class='source'><dt>source</dt><dd>", page->out);
	muster_html_put(page, finding->source);
	if (finding->certainty)
		muster_html_print(page, " (%s)", finding->certainty);
	fputs("</dd></div>\n", page->out);
}

static void put_blocked(const struct muster_html *page, const struct muster_finding *finding)
{
	char count[64];
	if (finding->blocked_count == 0)
		return;
	fprintf(page->out, "<div class='blocked-by'><dt>blocked</dt><dd>%s not evaluated because of this: ",
		muster_html_plural(count, finding->blocked_count, "check"));
	for (size_t i = 0; i < finding->blocked_count && i < BLOCKED_MAX; i++) {
		fputs(i ? ", " : "", page->out);
		muster_html_check(page, finding->blocked[i]);
	}
	if (finding->blocked_count > BLOCKED_MAX)
		fprintf(page->out, " and %zu more", finding->blocked_count - BLOCKED_MAX);
	fputs("</dd></div>\n", page->out);
}

/* Whether the findings of a kind expect the same. */
static bool expects_one(const struct muster_kind *kind)
{
	for (size_t i = 1; i < kind->count; i++)
		if (muster_text_order(kind->items[0]->expected, kind->items[i]->expected) != 0)
			return false;
	return true;
}

/* ---- each finding ---- */

static void put_place(const struct muster_html *page, const struct muster_finding *finding)
{
	size_t node = muster_html_place_of(page->places, finding->node);
	muster_html_where(page, finding);
	if (node == SIZE_MAX || !page->places->nodes[node].drawn)
		return;
	fprintf(page->out, " <a href='#m%zu'>picture", node);
	muster_html_within(page, "<span class='hidden'> of ", finding->node, "</span></a>");
}

/* A finding as a row of the table of its kind. expected: the table has a column of what was expected. */
static void put_row(const struct muster_html *page, const struct muster_finding *finding, bool expected)
{
	char *observed = muster_finding_observed(finding);
	fprintf(page->out, "<tr id='f%zu'><th scope='row'>", (size_t)(finding - page->report->findings));
	put_place(page, finding);
	muster_html_within(page, "</th><td>", observed, "");
	if (finding->evidence)
		muster_html_within(page, "<br><code>", finding->evidence, "</code>");
	fputs("</td>", page->out);
	if (expected)
		muster_html_within(page, "<td>", finding->expected, "</td>");
	fputs("</tr>\n", page->out);
	free(observed);
}

/* The only finding of a kind, as fields. */
static void put_single(const struct muster_html *page, const struct muster_finding *finding)
{
	char *observed = muster_finding_observed(finding);
	fprintf(page->out, "<div id='f%zu'><dt>where</dt><dd>", (size_t)(finding - page->report->findings));
	put_place(page, finding);
	fputs("</dd></div>\n", page->out);
	put_field(page, "observed", observed);
	put_field(page, "expected", finding->expected);
	put_field(page, "evidence", finding->evidence);
	free(observed);
}

/* As many rows as *room has. */
static void put_rows(const struct muster_html *page, const struct muster_kind *kind, bool expected, size_t *room)
{
	static const char *const headings[] = { "where", "observed", "expected" };
	size_t most = *room < ROWS_OF_ONE ? *room : ROWS_OF_ONE, rows = kind->count < most ? kind->count : most;
	*room -= rows;
	if (rows > 0) {
		muster_html_rows_begin(page, "Findings of this kind", headings, expected ? 3 : 2);
		for (size_t i = 0; i < rows; i++)
			put_row(page, kind->items[i], expected);
		muster_html_rows_end(page);
	}
	char text[32];
	if (rows < kind->count)
		fprintf(page->out,
			"<p>and %s more; <code>muster report REPORT --format json</code> has all of them</p>\n",
			muster_html_count(kind->count - rows, text));
}

/* ---- the kinds ---- */

/* The summary of a kind: a row of its own on a wide page. */
static void put_summary(const struct muster_html *page, const struct muster_kind *kind)
{
	FILE *out = page->out;
	char count[64];
	fputs("<summary>", out);
	muster_html_badge(page, kind->status);
	muster_html_within(page, "<span class='what'><b>", kind->what, "</b> ");
	muster_html_within(page, "<code>", kind->check, "</code></span><span class='hosts'>");
	if (kind->node_count == 0)
		fputs("whole job", out);
	else
		fprintf(out, "<b>%s</b>", muster_html_plural(count, kind->node_count, "node"));
	if (kind->count > kind->node_count && kind->count > 1)
		fprintf(out, ", %zu findings", kind->count);
	if (kind->node_list) {
		fputs(" <code>", out);
		muster_html_hosts(page, "", kind->node_list);
		fputs("</code>", out);
	}
	fputs("</span><span class='action'>", out);
	if (kind->action_code)
		muster_html_within(page, "<b>", kind->action_code, "</b> ");
	if (kind->action)
		muster_html_put(page, kind->action);
	fputs("</span></summary>\n", out);
}

/* A kind with all that a click shows. *room: rows that all kinds may still have. */
static void put_kind(const struct muster_html *page, const struct muster_kind *kind, bool open, size_t *room)
{
	bool same = expects_one(kind);
	fprintf(page->out, "<details class='kind %s'%s>", muster_status_name(kind->status), open ? " open" : "");
	put_summary(page, kind);
	fputs("<div class='findings'>\n", page->out);
	if (kind->count > 1)
		put_rows(page, kind, !same, room);
	fputs("<dl>\n", page->out);
	if (kind->count == 1)
		put_single(page, kind->items[0]);
	else if (same)
		put_field(page, "expected", kind->items[0]->expected);
	put_blocked(page, kind->items[0]);
	put_source(page, kind->items[0]);
	fputs("<div><dt>check</dt><dd>", page->out);
	muster_html_check(page, kind->check);
	fputs("</dd></div>\n", page->out);
	fputs("</dl></div></details>\n", page->out);
}

void muster_html_findings(const struct muster_html *page)
{
	const struct muster_kinds *kinds = &page->places->kinds;
	size_t room = ROWS_MAX, findings = 0;
	for (size_t i = 0; i < kinds->count; i++)
		findings += kinds->items[i].count;
	if (kinds->count > 0)
		fputs("<div class='kinds-head' aria-hidden='true'><span>result</span><span>what is "
		      "wrong</span><span>where</span><span>what to do</span></div>\n",
			page->out);
	for (size_t i = 0; i < kinds->count; i++)
		put_kind(page, &kinds->items[i], findings <= OPEN_MAX, &room);
}
