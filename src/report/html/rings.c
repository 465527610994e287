/* SPDX-License-Identifier: Apache-2.0 */
/* rings.c - the all-reduce over all ranks, and the smaller ones that look for the cause of a slow one
 *
 * Two tables at the top of the section of exchanges: a row for each message size of the all-reduce, with the limit
 * among the job's samples, and a row for each trial of the localisation (muster/trial.h).
 */
#include "report/html/html.h"

#include "model/share.h"
#include "muster/probe.h"
#include "muster/run_data.h"
#include "util/text.h"

#include <math.h>

enum { TRIALS_MAX = 40, NAMES_MAX = 4 };

/* Three digits below 100 GB/s, a whole number from there on. */
const char *muster_html_gbps(double value, char out[32])
{
	snprintf(out, 32, "%.*g", value < 100 ? 3 : 6, value < 100 ? value : round(value));
	return out;
}

/* A number that fits an integer; 0 for what is none, since a report from outside may say anything. */
static double label_number(const struct muster_sample *sample, const char *key)
{
	const struct muster_value *value = muster_sample_label(sample, key);
	return value && value->type == MUSTER_NUMBER && value->number >= 0 && value->number < 0x1p63 ? value->number
												     : 0;
}

static void print_ring(const struct muster_html *page, const struct muster_sample *ring)
{
	struct muster_share share = { 0 };
	char bytes[64], value[32], text[MUSTER_SHARE_TEXT_MAX];
	bool known = ring->value.type == MUSTER_NUMBER;
	if (known)
		muster_share_add(&share, ring->value.number, muster_limit_among(&page->report->run->job.samples, ring));
	muster_share_text(&share, "GB/s", true, text);
	fprintf(page->out, "<tr><th scope='row'>%s</th><td>%.0f</td><td>%.0f</td><td>",
		muster_bytes_text((uint64_t)label_number(ring, "bytes"), bytes, sizeof bytes),
		label_number(ring, "nodes"), label_number(ring, "ranks"));
	if (known)
		fprintf(page->out, "%s GB/s", muster_html_gbps(ring->value.number, value));
	else
		muster_html_print(page, "unknown: %s", ring->reason ? ring->reason : "no reason is given");
	muster_html_within(page, "</td><td>", *text ? text : "limit unknown", "</td></tr>\n");
}

static void print_rings(const struct muster_html *page)
{
	static const char *const headings[] = { "message", "nodes", "ranks", "bus bandwidth", "share of the limit" };
	const struct muster_samples *samples = &page->report->run->job.samples;
	const struct muster_metric *metric = muster_metric_find("nccl.allreduce_busbw_gbps");
	bool any = false;
	for (size_t i = 0; i < samples->count; i++) {
		if (samples->items[i].metric != metric)
			continue;
		if (!any) {
			muster_html_rows_begin(
				page, "All-reduce over all ranks", headings, sizeof headings / sizeof *headings);
		}
		any = true;
		print_ring(page, &samples->items[i]);
	}
	if (any) {
		fputs("</tbody>\n", page->out);
		muster_html_table_end(page);
	}
}

static void print_trials(const struct muster_html *page)
{
	static const char *const headings[] = { "nodes", "result", "bus bandwidth", "why" };
	const struct muster_run *run = page->report->run;
	char value[32];
	if (run->trial_count == 0)
		return;
	muster_html_rows_begin(
		page, "Smaller all-reduces, to find the cause", headings, sizeof headings / sizeof *headings);
	for (size_t i = 0; i < run->trial_count && i < TRIALS_MAX; i++) {
		const struct muster_trial *trial = &run->trials[i];
		fputs("<tr><th scope='row'>", page->out);
		for (size_t n = 0; n < trial->node_count && n < NAMES_MAX; n++)
			muster_html_print(page, "%s%s", n ? ", " : "", trial->nodes[n]);
		if (trial->node_count > NAMES_MAX)
			fprintf(page->out, " and %zu more", trial->node_count - NAMES_MAX);
		fprintf(page->out, "</th><td>%s</td><td>", muster_trial_status_names[trial->status]);
		if (trial->busbw_gbps > 0)
			fprintf(page->out, "%s GB/s", muster_html_gbps(trial->busbw_gbps, value));
		else
			fputs("not measured", page->out);
		muster_html_within(page, "</td><td>", trial->why ? trial->why : "", "</td></tr>\n");
	}
	fputs("</tbody>\n", page->out);
	muster_html_table_end(page);
	if (run->trial_count > TRIALS_MAX)
		fprintf(page->out, "<p class='note'>%zu more are in the JSON report.</p>\n",
			run->trial_count - TRIALS_MAX);
}

void muster_html_rings(const struct muster_html *page)
{
	print_rings(page);
	print_trials(page);
}
