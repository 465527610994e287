/* SPDX-License-Identifier: Apache-2.0 */
/* verdict.c - the verdict, what to do next, what was run, and how many results there are of each status
 *
 * The head of the page. Its words are those of the text summary (report/verdict.h).
 */
#include "report/html/html.h"
#include "report/html/places.h"

#include "muster/run_data.h"
#include "report/verdict.h"
#include "util/utc.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The option to copy; names of nodes that cannot be in a host list are links instead. */
static void print_excluded(const struct muster_html *page, const struct muster_failed *failed)
{
	FILE *out = page->out;
	fputs("<p class='exclude'>Nodes to exclude: ", out);
	if (failed->list) {
		fputs("<code class='copy'>", out);
		muster_html_hosts(page, "--exclude=", failed->list);
		fputs("</code></p>\n", out);
		return;
	}
	for (size_t i = 0; i < failed->count; i++) {
		fputs(i ? ", " : "", out);
		muster_html_node(page, failed->names[i]);
	}
	fputs("</p>\n", out);
}

/* What to do next where nothing failed and the run proves nothing: what the worst kind asks for, or to repeat the run.
 */
static void print_next(const struct muster_html *page)
{
	const struct muster_kinds *kinds = &page->places->kinds;
	fputs("<p class='exclude'>Next: ", page->out);
	if (kinds->count > 0 && kinds->items[0].action)
		muster_html_put(page, kinds->items[0].action);
	else
		fprintf(page->out, "%s has the reasons: remove them, then run muster again.",
			page->inventory ? "The whole report" : "<a href='#unevaluated'>Not evaluated</a>");
	fputs("</p>\n", page->out);
}

/* ---- what was run ---- */

/* "2026-11-23 23:46:53 UTC (2026-11-24 00:46:53 +0100 where this page was written)": when the run started; as it stands
 * where it is no time. */
static void put_started(const struct muster_html *page, const char *started)
{
	int64_t at;
	struct tm utc, local;
	char text[64];
	if (muster_utc_read(started, &at) < 0 || !gmtime_r(&at, &utc) || !localtime_r(&at, &local)) {
		muster_html_within(page, "<li>started ", started, "</li>\n");
		return;
	}
	strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &utc);
	fprintf(page->out, "<li>started <time datetime='%s'>%s</time>", started, text);
	if (local.tm_gmtoff != 0) {
		strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S %z", &local);
		fprintf(page->out, " (%s where this page was written)", text);
	}
	fputs("</li>\n", page->out);
}

static void print_facts(const struct muster_html *page)
{
	const struct muster_report *report = page->report;
	const struct muster_job *job = &report->run->job;
	char text[64];
	fputs("<ul class='facts'>\n", page->out);
	muster_html_within(page, "<li>", muster_html_sku(report), "</li>\n");
	fprintf(page->out, "<li>%s</li>\n", muster_html_plural(text, muster_run_known_nodes(report->run), "node"));
	fprintf(page->out, "<li>%s</li>\n", muster_html_plural(text, (size_t)job->ranks, "rank"));
	if (job->profile)
		muster_html_within(page, "<li>profile ", job->profile, "</li>\n");
	if (job->id)
		muster_html_within(page, "<li>job ", job->id, "</li>\n");
	if (job->started)
		put_started(page, job->started);
	fprintf(page->out, "<li>took %.1f s</li>\n", job->elapsed_s);
	if (job->version)
		muster_html_within(page, "<li>muster ", job->version, "</li>\n");
	fputs("</ul>\n", page->out);
}

/* ---- results ---- */

static void put_count(const struct muster_html *page, enum muster_status status, size_t count, const char *text)
{
	if (count == 0)
		return;
	const char *class = muster_status_name(status);
	char number[32];
	fprintf(page->out,
		"<li class='%s'><svg aria-hidden='true' viewBox='0 0 16 16'><use href='#s-%s'/></svg><b>%s</b> "
		"%s</li>\n",
		class, class, muster_html_count(count, number), text);
}

static void print_counts(const struct muster_html *page)
{
	const size_t *count = page->report->count;
	size_t recorded = muster_report_recorded(page->report), passed = count[MUSTER_PASS];
	fputs("<ul class='counts'>\n", page->out);
	put_count(page, MUSTER_FAIL, count[MUSTER_FAIL], "failed");
	put_count(page, MUSTER_INCONCLUSIVE, count[MUSTER_INCONCLUSIVE], "inconclusive");
	put_count(page, MUSTER_WARN, count[MUSTER_WARN], "warned");
	put_count(page, MUSTER_BLOCKED, count[MUSTER_BLOCKED], "blocked");
	put_count(page, MUSTER_PASS, passed - recorded, "passed");
	put_count(page, MUSTER_SKIP, recorded, "recorded only (no threshold)");
	put_count(page, MUSTER_SKIP, count[MUSTER_SKIP], "not applicable");
	fputs("</ul>\n", page->out);
}

void muster_html_verdict(const struct muster_html *page)
{
	const struct muster_report *report = page->report;
	const char *remarks[MUSTER_REMARKS_MOST];
	char *unmeasured[MUSTER_UNMEASURED_MOST];
	size_t remark_count = muster_report_remarks(report, remarks);
	size_t unmeasured_count = muster_report_unmeasured(report, unmeasured);
	struct muster_failed failed;
	bool some_to_exclude = muster_failed_find(report, &failed);
	char *text = muster_verdict_text(report);
	fprintf(page->out, "<div class='banner %s'>\n<h1>", muster_status_name(report->verdict));
	muster_html_badge(page, report->verdict);
	fprintf(page->out, " %s%s</h1>\n", report->verdict == MUSTER_PASS && *text ? "with " : "", text);
	if (some_to_exclude)
		print_excluded(page, &failed);
	else if (report->verdict == MUSTER_INCONCLUSIVE)
		print_next(page);
	fputs("</div>\n", page->out);
	print_facts(page);
	for (size_t i = 0; i < remark_count; i++)
		fprintf(page->out, "<p class='remark'>%s.</p>\n", remarks[i]);
	for (size_t i = 0; i < unmeasured_count; i++) {
		muster_html_within(page, "<p class='remark'>Not measured: ", unmeasured[i], "</p>\n");
		free(unmeasured[i]);
	}
	if (report->run->job.interrupted) {
		muster_html_within(
			page, "<p class='remark'>The run ended early: ", report->run->job.interrupted, ".</p>\n");
	}
	print_counts(page);
	free(text);
	muster_failed_done(&failed);
}
