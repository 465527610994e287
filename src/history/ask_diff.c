/* SPDX-License-Identifier: Apache-2.0 */
/* ask_diff.c - what changed at a date
 *
 * Each series is cut at the date, and its medians before and after are compared. What counts as noise is the larger of
 * two shares: by how much runs of such a metric differ anyway (muster_metric_noise), and how far the values before were
 * spread on the side to which the median moved. So a part whose values varied must move by more than they varied.
 *
 * An example: 20 values before have a median of 50 GB/s, and the lowest tenth of them ends at 46 GB/s, 8 % below. A
 * median after of 47 GB/s, 6 % below, is no change; one of 45 GB/s is.
 */
#include "history/questions.h"
#include "history/timeline.h"

#include "util/array.h"

#include <math.h>
#include <stdlib.h>

struct change {
	struct muster_timeline series; /* without its points, which are gone after the walk */
	/* The two medians; their difference, and what counts as noise, as shares of the first one. */
	double before, after, share, noise;
	size_t before_count, after_count;
	bool worse;
};

/* Compare the points before `since` with the others, and fill in *ret. False when one side has none, or nothing changed
 * by more than its noise; the counts are filled in all the same. Fewer than three values before say nothing about their
 * spread. */
static bool compare(const struct muster_timeline *s, int64_t since, struct change *ret)
{
	enum muster_better better = s->metric->better;
	size_t before = 0;
	while (before < s->count && s->points[before].started < since)
		before++;
	*ret = (struct change){ .series = *s, .before_count = before, .after_count = s->count - before };
	if (before == 0 || before == s->count)
		return false;
	ret->before = muster_timeline_median(s, 0, before);
	ret->after = muster_timeline_median(s, before, s->count - before);
	double difference = ret->after - ret->before, size = fabs(ret->before);
	if (muster_metric_is_speed(s->metric) || muster_metric_scatters(s->metric))
		ret->noise = muster_metric_noise(s->metric, true);
	if (before >= 3 && size > 0)
		ret->noise = fmax(ret->noise,
			fabs(muster_timeline_percentile(s, before, difference < 0 ? 0.1 : 0.9) - ret->before) / size);
	ret->share = size > 0 ? difference / size : 0;
	if (fabs(difference) <= ret->noise * size)
		return false;
	ret->worse = (difference < 0) == (better == MUSTER_BETTER_MORE);
	return true;
}

static int worse_first(const void *x, const void *y)
{
	const struct change *a = x, *b = y;
	if (a->worse != b->worse)
		return a->worse ? -1 : 1;
	double left = fabs(a->share), right = fabs(b->share);
	return left > right ? -1 : left < right ? 1 : muster_text_order(a->series.node, b->series.node);
}

/* Whether more or less of the metric is better, so that a change is worse or better. Of the job only speeds: how many
 * nodes it had is nothing that became better or worse. */
static bool has_direction(const struct muster_metric *metric)
{
	enum muster_better better = metric->better;
	return (better == MUSTER_BETTER_MORE || better == MUSTER_BETTER_LESS) &&
	       (metric->scope != MUSTER_SCOPE_JOB || muster_metric_is_speed(metric));
}

struct diff {
	int64_t since;
	struct change *changes;
	size_t count, room, both;
};

/* For muster_timelines_read(): keep the series of one key that changed, and count those with values on both sides. */
static void find_changes(void *arg, struct muster_timeline *series, size_t count)
{
	struct diff *diff = arg;
	for (size_t i = 0; i < count; i++) {
		struct change change;
		if (compare(&series[i], diff->since, &change))
			MUSTER_ARRAY_PUSH(diff->changes, diff->count, diff->room, change);
		diff->both += change.before_count && change.after_count;
	}
}

static void add_change(struct muster_table *table, const struct change *change)
{
	const struct muster_timeline *s = &change->series;
	const struct muster_value cells[] = {
		muster_string(change->worse ? "worse" : "better"),
		MUSTER_SERIES_CELLS(s),
		muster_string(s->key),
		muster_cell_rounded(change->before),
		muster_cell_rounded(change->after),
		change->before < 0 || change->before > 0 ? muster_cell_rounded(change->share * 100) : muster_null(),
		muster_cell_rounded(change->noise * 100),
		muster_number((double)change->before_count),
		muster_number((double)change->after_count),
	};
	muster_table_row(table, cells, change->worse ? MUSTER_FAIL : MUSTER_PASS);
}

int muster_ask_diff(struct muster_history *history, const struct muster_history_question *question,
	struct muster_table *ret, struct muster_error *err)
{
	static const struct muster_table_column columns[] = {
		{ "change", "change" },
		MUSTER_SERIES_COLUMNS,
		{ "key", "key" },
		{ "before", "before" },
		{ "after", "after" },
		{ "change_percent", "%" },
		{ "noise_percent", "noise %" },
		{ "values_before", "n before" },
		{ "values_after", "n after" },
	};
	struct diff diff = { .since = question->filter.since };
	struct muster_history_filter filter = question->filter;
	struct muster_history_use use = { 0 };
	size_t worse = 0;
	char from[MUSTER_UTC_SIZE], at[MUSTER_UTC_SIZE];
	filter.since = question->before_from;
	filter.split = question->filter.since;
	filter.wanted = has_direction;
	filter.use = &use;
	*ret = (struct muster_table){ .arena = ret->arena,
		.title = "Before and after",
		MUSTER_TABLE_COLUMNS(columns),
		.empty = "nothing changed by more than its noise" };
	int rc = muster_timelines_read(history, &filter, false, find_changes, &diff, err);
	if (diff.count)
		qsort(diff.changes, diff.count, sizeof *diff.changes, worse_first);
	for (size_t i = 0; i < diff.count; i++) {
		worse += diff.changes[i].worse;
		add_change(ret, &diff.changes[i]);
	}
	muster_table_note(ret,
		"medians from %s to %s, and after that: %zu of %zu that were measured in both are worse, %zu better",
		muster_utc_text(question->before_from, from), muster_utc_text(question->filter.since, at), worse,
		diff.both, diff.count - worse);
	muster_cell_note_use(ret, &use);
	if (diff.both == 0)
		ret->empty =
			"no node was measured both before and after that date, with the same machine type and profile";
	free(diff.changes);
	return rc;
}
