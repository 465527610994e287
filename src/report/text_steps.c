/* SPDX-License-Identifier: Apache-2.0 */
/* text_steps.c - the training steps in the summary, on one line
 *
 * "training steps: median 5.446 to 6.345 ms, 99th percentile 6.1 to 7.2 ms, overlap 93 %, products differ by 1.2 %":
 * the range over all ranks, then two values of the whole job. A run without steps has no such line.
 */
#include "report/text_summary.h"

#include "muster/probe.h"
#include "muster/run_data.h"
#include "util/text.h"

#include <stdlib.h>

struct range {
	double lowest, highest;
	size_t count;
};

static void take_samples(struct range *range, const struct muster_samples *samples, const struct muster_metric *metric)
{
	for (size_t i = 0; i < samples->count; i++) {
		const struct muster_value *value = &samples->items[i].value;
		if (samples->items[i].metric != metric || value->type != MUSTER_NUMBER)
			continue;
		range->lowest = range->count == 0 || value->number < range->lowest ? value->number : range->lowest;
		range->highest = range->count == 0 || value->number > range->highest ? value->number : range->highest;
		range->count++;
	}
}

static struct range range_of(const struct muster_run *run, const char *name)
{
	struct range range = { 0 };
	const struct muster_metric *metric = muster_metric_find(name);
	for (struct muster_run_walk at = { 0 }; muster_run_next(run, &at);)
		take_samples(&range, at.samples, metric);
	return range;
}

/* "5.446 to 6.345" */
static const char *range_text(const struct range *range, char out[160])
{
	char lowest[64], highest[64];
	muster_value_text(muster_number(range->lowest), lowest, sizeof lowest);
	muster_value_text(muster_number(range->highest), highest, sizeof highest);
	if (range->lowest < range->highest)
		snprintf(out, 160, "%s to %s", lowest, highest);
	else
		snprintf(out, 160, "%s", lowest);
	return out;
}

void muster_text_steps(const struct muster_text_page *page)
{
	const struct muster_run *run = page->report->run;
	struct range median = range_of(run, "rank.step_p50_ms"), slow = range_of(run, "rank.step_p99_ms"),
		     overlap = range_of(run, "job.overlap"), spread = range_of(run, "job.step_spread");
	char text[160], *line;
	size_t length;
	if (median.count == 0)
		return;
	FILE *out = muster_memory_open(&line, &length);
	fprintf(out, "training steps: median %s ms", range_text(&median, text));
	if (slow.count > 0)
		fprintf(out, ", 99th percentile %s ms", range_text(&slow, text));
	if (overlap.count > 0)
		fprintf(out, ", overlap %.0f %%", overlap.lowest * 100);
	if (spread.count > 0)
		fprintf(out, ", products differ by %.1f %%", spread.highest * 100);
	muster_memory_close(out);
	fputc('\n', page->out);
	muster_text_lines(page, line, 0, 2);
	free(line);
}
