/* verdict.c - the verdict, which nodes to exclude, what was run, and how many results there are of each kind */
#include "report/html/html.h"

#include "muster/run_data.h"
#include "report/verdict.h"

#include <stdlib.h>
#include <string.h>

static void print_excluded(const struct muster_html *page, const struct muster_failed *failed)
{
	FILE *out = page->out;
	if (failed->count == 0 || muster_run_known_nodes(page->report->run) < 2)
		return;
	fputs("<p class='exclude'>Nodes to exclude: ", out);
	if (failed->list) {
		muster_html_within(page, "<code class='copy'>--exclude=", failed->list, "</code></p>\n");
		return;
	}
	for (size_t i = 0; i < failed->count; i++) {
		fputs(i ? ", " : "", out);
		muster_html_node(page, failed->names[i]);
	}
	fputs("</p>\n", out);
}

/* ---- what was run ---- */

static void put_fact(const struct muster_html *page, const char *name, const char *value)
{
	if (!value)
		return;
	fprintf(page->out, "<div><dt>%s</dt>", name);
	muster_html_within(page, "<dd>", value, "</dd></div>\n");
}

/* The expectation files of "/a/b.json < /a/c.json", without their directories. */
static void put_files(const struct muster_html *page, const char *origin)
{
	if (!origin)
		return;
	fputs("<div><dt>expectations</dt><dd>", page->out);
	for (const char *at = origin; *at;) {
		size_t length = strcspn(at, "<"), base = 0;
		for (size_t i = 0; i < length; i++)
			base = at[i] == '/' ? i + 1 : base;
		muster_html_print(page, "%.*s", (int)(length - base), at + base);
		at += length;
		if (*at && *++at)
			fputs("&lt; ", page->out);
	}
	fputs("</dd></div>\n", page->out);
}

static void print_facts(const struct muster_html *page)
{
	const struct muster_report *report = page->report;
	const struct muster_job *job = &report->run->job;
	char nodes[64], ranks[64], seconds[64];
	snprintf(nodes, sizeof nodes, "%zu", muster_run_known_nodes(report->run));
	snprintf(ranks, sizeof ranks, "%d", job->ranks);
	snprintf(seconds, sizeof seconds, "%.1f s", job->elapsed_s);
	fputs("<dl class='facts'>\n", page->out);
	put_fact(page, "machine type", report->sku ? report->sku : "unknown");
	put_fact(page, "nodes", nodes);
	put_fact(page, "ranks", ranks);
	put_fact(page, "profile", job->profile);
	put_fact(page, "started", job->started);
	put_fact(page, "took", seconds);
	put_fact(page, "job", job->id);
	put_fact(page, "muster", job->version);
	put_files(page, report->sku_origin);
	fputs("</dl>\n", page->out);
}

/* ---- results ---- */

static void put_count(const struct muster_html *page, enum muster_status status, size_t count, const char *text)
{
	if (count == 0)
		return;
	const char *class = muster_status_name(status);
	fprintf(page->out,
		"<li class='%s'><svg aria-hidden='true' viewBox='0 0 16 16'><use href='#s-%s'/></svg><b>%zu</b> "
		"%s</li>\n",
		class, class, count, text);
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
	put_count(page, MUSTER_PASS, recorded, "recorded only (no threshold)");
	put_count(page, MUSTER_SKIP, count[MUSTER_SKIP], "not applicable");
	fputs("</ul>\n", page->out);
}

void muster_html_verdict(const struct muster_html *page)
{
	const struct muster_report *report = page->report;
	const char *remarks[MUSTER_REMARKS_MOST];
	size_t remark_count = muster_report_remarks(report, remarks);
	struct muster_failed failed;
	muster_failed_find(report, &failed);
	char *text = muster_verdict_text(report, &failed);
	fprintf(page->out, "<div class='banner %s'>\n<p class='result'>", muster_status_name(report->verdict));
	muster_html_badge(page, report->verdict);
	fprintf(page->out, " %s%s</p>\n", report->verdict == MUSTER_PASS && *text ? "with " : "", text);
	if (report->verdict == MUSTER_FAIL)
		print_excluded(page, &failed);
	fputs("</div>\n", page->out);
	for (size_t i = 0; i < remark_count; i++)
		fprintf(page->out, "<p class='remark'>%s.</p>\n", remarks[i]);
	if (report->strict)
		fputs("<p class='remark'>Strict: warnings and inconclusive results fail the run.</p>\n", page->out);
	if (report->run->job.interrupted) {
		muster_html_within(
			page, "<p class='remark'>The run ended early: ", report->run->job.interrupted, ".</p>\n");
	}
	print_facts(page);
	print_counts(page);
	free(text);
	muster_failed_done(&failed);
}
