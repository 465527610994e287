/* SPDX-License-Identifier: Apache-2.0 */
/* explain.c - what the checks with a finding mean: what they read, their threshold and why, and what to do
 *
 * Only from what the report and the catalogue of metrics have. Each id of such a check on the page is a link to here.
 *
 * A check may have several kinds (failed on some nodes, a warning on others): it is explained once, with the action of
 * its worst kind. An id comes from a file: one with other characters than ids of muster is neither linked nor
 * explained, so an anchor needs no escaping.
 */
#include "report/html/html.h"
#include "report/html/places.h"

#include "muster/probe.h"
#include "util/text.h"

#include <string.h>

/* The worst kind of the check; NULL: the page does not explain it. */
static const struct muster_kind *kind_of(const struct muster_html *page, const char *check)
{
	const struct muster_kinds *kinds = &page->places->kinds;
	for (size_t i = 0; i < kinds->count && muster_text_is_plain(check); i++)
		if (strcmp(kinds->items[i].check, check) == 0)
			return &kinds->items[i];
	return NULL;
}

void muster_html_check(const struct muster_html *page, const char *check)
{
	if (!page->inventory && kind_of(page, check))
		fprintf(page->out, "<a href='#explain-%s'><code>%s</code></a>", check, check);
	else
		muster_html_within(page, "<code>", check, "</code>");
}

static void put_field(const struct muster_html *page, const char *name, const char *text)
{
	if (!text || !*text)
		return;
	fprintf(page->out, "<div><dt>%s</dt>", name);
	muster_html_within(page, "<dd>", text, "</dd></div>\n");
}

/* "gpu.h2d_gbps: host to device, one GPU at a time (GB/s); measured by the probe gpu_copy" */
static void put_metric(const struct muster_html *page, const char *name, const char *probe)
{
	const struct muster_metric *metric = name ? muster_metric_find(name) : NULL;
	if (!name)
		return;
	muster_html_within(page, "<div><dt>reads</dt><dd><code>", name, "</code>");
	if (metric) {
		const char *unit = muster_metric_unit(metric);
		muster_html_print(page, ": %s%s%s%s", metric->meaning, *unit ? " (" : "", unit, *unit ? ")" : "");
	}
	if (probe)
		muster_html_print(page, "; measured by the probe %s", probe);
	fputs("</dd></div>\n", page->out);
}

/* "8 fail, 504 pass", over all places. */
static void put_results(const struct muster_html *page, const struct muster_tally *tally)
{
	char text[32];
	const char *before = "<div><dt>results</dt><dd>";
	for (size_t i = 0; i < MUSTER_STATUS_COUNT; i++) {
		if (tally->count[i] == 0)
			continue;
		fprintf(page->out, "%s%s %s", before, muster_html_count(tally->count[i], text),
			muster_status_name((enum muster_status)i));
		before = ", ";
	}
	fputs(before[0] == ',' ? "</dd></div>\n" : "", page->out);
}

static void put_check(const struct muster_html *page, const struct muster_kind *kind)
{
	const struct muster_finding *finding = kind->items[0];
	const struct muster_tally *tally = muster_report_tally(page->report, kind->check);
	const char *source = tally && tally->source ? tally->source : finding->source,
		   *certainty = tally && tally->certainty ? tally->certainty : finding->certainty;
	fprintf(page->out, "<article id='explain-%s' class='explained' aria-label='%s'>\n<h3><code>%s</code> ",
		kind->check, kind->check, kind->check);
	muster_html_put(page, tally && tally->title ? tally->title : "");
	fputs("</h3>\n<dl>\n", page->out);
	put_metric(page, tally ? tally->metric : finding->metric, tally ? tally->probe : NULL);
	put_field(page, "threshold", tally && tally->expected ? tally->expected : finding->expected);
	put_field(page, "why", source);
	put_field(page, "how sure", certainty);
	put_field(page, "what to do", kind->action);
	if (tally)
		put_results(page, tally);
	fputs("</dl>\n</article>\n", page->out);
}

void muster_html_explain(const struct muster_html *page)
{
	const struct muster_kinds *kinds = &page->places->kinds;
	for (size_t i = 0; i < kinds->count; i++)
		if (kind_of(page, kinds->items[i].check) == &kinds->items[i])
			put_check(page, &kinds->items[i]);
}
