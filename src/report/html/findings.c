/* findings.c - what is wrong and what to do, the worst place first
 *
 * As in the summary, one frequent fault leaves room for other faults: what is not shown in full is a row of a table,
 * and what is too much for that is counted.
 */
#include "report/html/html.h"

#include "model/share.h"
#include "report/text_summary.h"
#include "report/verdict.h"

#include <stdlib.h>
#include <string.h>

enum {
	FULL_MAX = 60,    /* findings shown in full */
	FULL_OF_ONE = 8,  /* of these, findings of one check and status */
	ROWS_MAX = 1000,  /* rows of the table of the others */
	BLOCKED_MAX = 24, /* ids of blocked checks */
	SHORT_MAX = 60,   /* bytes; observed and expected values stand beside each other */
};

static void put_field(const struct muster_html *page, const char *name, const char *text, const char *class)
{
	if (!text || !*text)
		return;
	fprintf(page->out, "<div class='%s'><dt>%s</dt>", class, name);
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
	fprintf(page->out, "<div class='source'><dt>blocked</dt><dd>%s not evaluated because of this: ",
		muster_text_plural(count, finding->blocked_count, "check"));
	for (size_t i = 0; i < finding->blocked_count && i < BLOCKED_MAX; i++) {
		muster_html_within(page, i ? ", <code>" : "<code>", finding->blocked[i], "</code>");
	}
	if (finding->blocked_count > BLOCKED_MAX)
		fprintf(page->out, " and %zu more", finding->blocked_count - BLOCKED_MAX);
	fputs("</dd></div>\n", page->out);
}

static size_t index_of(const struct muster_html *page, const struct muster_finding *finding)
{
	return (size_t)(finding - page->report->findings);
}

static void put_picture_link(const struct muster_html *page, const struct muster_finding *finding)
{
	char anchor[64];
	if (!muster_html_anchor(page, finding, anchor))
		return;
	size_t node = strtoul(anchor + 1, NULL, 10);
	if (!muster_html_is_drawn(page, node))
		return;
	fprintf(page->out, " <a href='#m%zu'>picture", node);
	muster_html_within(page, "<span class='hidden'> of ", finding->node, "</span></a>");
}

static void put_whole(const struct muster_html *page, const struct muster_finding *finding)
{
	const struct muster_tally *tally = muster_report_tally(page->report, finding->check);
	char *observed = muster_finding_observed(finding);
	size_t index = index_of(page, finding);
	fprintf(page->out, "<article class='finding %s' id='f%zu' aria-labelledby='f%zu-title'>\n<h3 id='f%zu-title'>",
		muster_status_name(finding->status), index, index, index);
	muster_html_badge(page, finding->status);
	fputc(' ', page->out);
	muster_html_where(page, finding);
	if (tally && tally->title)
		muster_html_print(page, ": %s", tally->title);
	muster_html_within(page, " <code>", finding->check, "</code>");
	put_picture_link(page, finding);
	fputs("</h3>\n<dl>\n", page->out);
	bool is_long = strlen(observed) > SHORT_MAX || (finding->expected && strlen(finding->expected) > SHORT_MAX);
	put_field(page, "observed", observed, is_long ? "long" : "value");
	put_field(page, "expected", finding->expected, is_long ? "long" : "value");
	char *action = muster_finding_action(finding);
	put_field(page, "action", action, "action");
	free(action);
	put_field(page, "evidence", finding->evidence, "evidence");
	put_blocked(page, finding);
	put_source(page, finding);
	fputs("</dl>\n</article>\n", page->out);
	free(observed);
}

static void put_row(const struct muster_html *page, const struct muster_finding *finding)
{
	char *observed = muster_finding_observed(finding);
	fprintf(page->out, "<tr id='f%zu'><td>", index_of(page, finding));
	muster_html_badge(page, finding->status);
	fputs("</td><th scope='row'>", page->out);
	muster_html_where(page, finding);
	muster_html_within(page, "</th><td><code>", finding->check, "</code></td>");
	muster_html_within(page, "<td>", observed, "</td>");
	muster_html_within(page, "<td>", finding->expected, "</td></tr>\n");
	free(observed);
}

/* ---- how many of one check ---- */

static void print_rest(const struct muster_html *page, const struct muster_finding_groups *groups, size_t rest)
{
	static const char *const headings[] = { "result", "check", "findings" };
	if (rest == 0)
		return;
	fprintf(page->out, "<p>%zu more findings are only counted here; the JSON report has all of them.</p>\n", rest);
	muster_html_rows_begin(page, "Findings that are only counted", headings, sizeof headings / sizeof *headings);
	for (size_t i = 0; i < groups->count; i++) {
		if (groups->items[i].hidden == 0)
			continue;
		fputs("<tr><td>", page->out);
		muster_html_badge(page, groups->items[i].status);
		muster_html_within(page, "</td><th scope='row'><code>", groups->items[i].check, "</code></th>");
		fprintf(page->out, "<td class='number'>%zu</td></tr>\n", groups->items[i].hidden);
	}
	muster_html_rows_end(page);
}

void muster_html_findings(const struct muster_html *page)
{
	static const char *const headings[] = { "result", "where", "check", "observed", "expected" };
	struct muster_finding_groups groups = { 0 };
	size_t count, whole = 0, rows = 0;
	const struct muster_finding **findings = muster_findings_by_place(page->report, &count);
	const struct muster_finding **others = muster_calloc(count + 1, sizeof(*others));
	for (size_t i = 0; i < count; i++) {
		struct muster_finding_group *group = muster_finding_group_of(&groups, findings[i]);
		if (whole < FULL_MAX && group->shown < FULL_OF_ONE) {
			put_whole(page, findings[i]);
			group->shown++;
			whole++;
		} else if (rows < ROWS_MAX) {
			others[rows++] = findings[i];
		} else {
			group->hidden++;
		}
	}
	if (rows > 0) {
		muster_html_rows_begin(page, "More findings", headings, sizeof headings / sizeof *headings);
		for (size_t i = 0; i < rows; i++)
			put_row(page, others[i]);
		muster_html_rows_end(page);
	}
	print_rest(page, &groups, count - whole - rows);
	free(others);
	free(findings);
	free(groups.items);
}
