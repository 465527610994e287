/* text_figures.c - print the measured and the expected bandwidths
 *
 * A machine type without thresholds has no check of a bandwidth: then the samples are shown.
 */
#include "report/text_summary.h"

#include "model/share.h"
#include "util/text.h"
#include "report/print_escaped.h"
#include "muster/probe.h"

#include <string.h>

static const struct {
	const char *metric, *title;
} figures[] = {
	{ "gpu.h2d_gbps", "H2D" },
	{ "gpu.d2h_gbps", "D2H" },
	{ "gpu.h2d_together_gbps", "H2D, all GPUs of a node at once" },
	{ "gpu.d2h_together_gbps", "D2H, all GPUs of a node at once" },
	{ "nccl.allreduce_busbw_gbps", "all-reduce busbw" },
};

/* What the samples of one metric show. Where there are message sizes, only the largest: a mean over sizes says nothing.
 */
struct range {
	double lowest, highest, bytes;
	size_t count;
	struct muster_share share;
};

static void range_add(struct range *range, const struct muster_samples *samples, const struct muster_metric *metric)
{
	for (size_t i = 0; i < samples->count; i++) {
		const struct muster_sample *sample = &samples->items[i];
		if (sample->metric != metric || sample->value.type != MUSTER_NUMBER)
			continue;
		const struct muster_value *bytes = muster_sample_label(sample, "bytes");
		double size = bytes && bytes->type == MUSTER_NUMBER ? bytes->number : 0;
		if (size < range->bytes)
			continue;
		double number = sample->value.number;
		if (range->count == 0 || size > range->bytes)
			*range = (struct range){ .lowest = number, .highest = number, .bytes = size };
		range->lowest = number < range->lowest ? number : range->lowest;
		range->highest = number > range->highest ? number : range->highest;
		range->count++;
		muster_share_add(&range->share, number, muster_limit_among(samples, sample));
	}
}

static struct range range_of(const struct muster_run *run, const struct muster_metric *metric)
{
	struct range range = { 0 };
	if (metric->scope == MUSTER_SCOPE_JOB)
		range_add(&range, &run->job.samples, metric);
	for (size_t i = 0; i < run->node_count && metric->scope != MUSTER_SCOPE_JOB; i++)
		for (size_t j = 0; j < run->nodes[i].rank_count; j++)
			range_add(&range, &run->nodes[i].ranks[j].samples, metric);
	return range;
}

/* Figures of a ring that not all ranks were in say so. */
static void print_ring(const struct muster_text_page *page)
{
	const struct muster_run *run = page->report->run;
	for (size_t i = 0; i < run->job.samples.count; i++) {
		const struct muster_sample *sample = &run->job.samples.items[i];
		if (strcmp(sample->metric->name, "nccl.ring_ranks") == 0 && sample->value.type == MUSTER_NUMBER &&
			sample->value.number < run->job.ranks)
			fprintf(page->out, " in a ring of %.0f of %d ranks", sample->value.number, run->job.ranks);
	}
}

/* "25.9 to 26.1 GB/s at 8 GiB on 16 GPUs" */
static void print_range(
	const struct muster_text_page *page, const struct muster_metric *metric, const struct range *range)
{
	static const char *const things[] = {
		[MUSTER_SCOPE_NODE] = "node",
		[MUSTER_SCOPE_RANK] = "rank",
		[MUSTER_SCOPE_GPU] = "GPU",
		[MUSTER_SCOPE_PORT] = "port",
	};
	_Static_assert(sizeof things / sizeof *things == MUSTER_SCOPE_COUNT, "every scope has its word");
	char lowest[64], highest[64], count[64], bytes[64], share[MUSTER_SHARE_TEXT_MAX];
	muster_value_text(muster_number(range->lowest), lowest, sizeof lowest);
	muster_value_text(muster_number(range->highest), highest, sizeof highest);
	fprintf(page->out, "%s%s%s%s%s", lowest, strcmp(lowest, highest) == 0 ? "" : " to ",
		strcmp(lowest, highest) == 0 ? "" : highest, *metric->unit ? " " : "", metric->unit);
	if (range->bytes > 0 && range->bytes < 0x1p63)
		fprintf(page->out, " at %s", muster_bytes_text((uint64_t)range->bytes, bytes, sizeof bytes));
	if (metric->scope == MUSTER_SCOPE_JOB)
		print_ring(page);
	if (things[metric->scope])
		fprintf(page->out, " on %s", muster_text_plural(count, range->count, things[metric->scope]));
	if (range->share.known)
		muster_print_text(page->out, ", %s", muster_share_text(&range->share, metric->unit, false, share));
}

/* The message size that a check is about, or 0. */
static double bytes_of(const struct muster_tally *tally)
{
	for (size_t i = 0; i < tally->where_count; i++)
		if (strcmp(tally->where[i].key, "bytes") == 0 && tally->where[i].value.type == MUSTER_NUMBER)
			return tally->where[i].value.number;
	return 0;
}

static struct range range_checked(const struct muster_tally *tally)
{
	return (struct range){
		.lowest = tally->lowest,
		.highest = tally->highest,
		.bytes = bytes_of(tally),
		.count = tally->count[MUSTER_PASS] + tally->count[MUSTER_WARN] + tally->count[MUSTER_FAIL],
		.share = tally->share,
	};
}

/* One line for each check on the metric; how many there were. all: what the samples show. */
static size_t print_checked(const struct muster_text_page *page, const char *title, const struct muster_metric *metric,
	const struct range *all)
{
	size_t printed = 0;
	for (size_t i = 0; i < page->report->tally_count; i++) {
		const struct muster_tally *tally = &page->report->tallies[i];
		if (!tally->metric || strcmp(tally->metric, metric->name) != 0 || tally->skipped || !tally->has_numbers)
			continue;
		/* one that observes every message size at once says no more than the samples do */
		bool sizes = tally->uncalibrated && tally->where_count == 0 && all->bytes > 0;
		const struct range range = sizes ? *all : range_checked(tally);
		fprintf(page->out, "  %s: ", title);
		print_range(page, metric, &range);
		muster_print_text(page->out, "; %s%s%s", tally->check,
			!tally->expected      ? ""
			: tally->uncalibrated ? ": "
					      : " expects ",
			tally->expected ? tally->expected : "");
		fputc('\n', page->out);
		printed++;
	}
	return printed;
}

/* A value without a result: its check is blocked, or no check of this run is about it. */
static void print_why_unchecked(const struct muster_text_page *page, const struct muster_metric *metric, double bytes)
{
	const struct muster_tally *found = NULL;
	for (size_t i = 0; i < page->report->tally_count && !found; i++) {
		const struct muster_tally *tally = &page->report->tallies[i];
		if (tally->metric && strcmp(tally->metric, metric->name) == 0 && !tally->skipped &&
			(bytes_of(tally) <= 0 || bytes_of(tally) == bytes)) /* sizes are whole numbers */
			found = tally;
	}
	if (found && found->blocked_by)
		muster_print_text(page->out, "; %s is blocked by %s", found->check, found->blocked_by);
	else if (found)
		muster_print_text(page->out, "; not evaluated: a check before %s failed", found->check);
	else
		fputs("; no check", page->out);
	fputc('\n', page->out);
}

static bool anything(const struct muster_text_page *page)
{
	for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
		const struct muster_metric *metric = muster_metric_find(figures[i].metric);
		if (metric && range_of(page->report->run, metric).count > 0)
			return true;
	}
	return false;
}

void muster_text_figures(const struct muster_text_page *page)
{
	if (!anything(page))
		return;
	fputs("\nbandwidth\n", page->out);
	for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
		const struct muster_metric *metric = muster_metric_find(figures[i].metric);
		if (!metric)
			continue;
		const struct range all = range_of(page->report->run, metric);
		if (print_checked(page, figures[i].title, metric, &all) > 0 || all.count == 0)
			continue;
		fprintf(page->out, "  %s: ", figures[i].title);
		print_range(page, metric, &all);
		print_why_unchecked(page, metric, all.bytes);
	}
}
