/* SPDX-License-Identifier: Apache-2.0 */
/* ask_values.c - a metric over time
 *
 * A row for each series (timeline.h): each part of the nodes that --node names, and without --node each node with all
 * its parts together. A row has the lowest value and its day, the median, the newest value, and a line of bars from
 * oldest to newest, each bar the median of values that follow each other. The lowest series of a machine type and
 * profile is first.
 */
#include "history/questions.h"
#include "history/timeline.h"

#include "muster/arena.h"
#include "util/array.h"

#include <stdlib.h>
#include <string.h>

enum { BARS = 20 }; /* at most, of one row */

static int by_group_and_lowest(const void *x, const void *y)
{
	const struct muster_timeline *a = x, *b = y;
	int order = muster_text_order(a->machine_type, b->machine_type);
	order = order ? order : strcmp(a->profile, b->profile);
	if (order)
		return order;
	double left = a->points[muster_timeline_lowest(a)].value, right = b->points[muster_timeline_lowest(b)].value;
	return left < right ? -1 : left > right ? 1 : muster_text_order(a->node, b->node);
}

/* For muster_timelines_read(): a row for each series of one key. */
static void print_series(void *arg, struct muster_timeline *series, size_t count)
{
	struct muster_table *table = arg;
	qsort(series, count, sizeof *series, by_group_and_lowest);
	for (size_t i = 0; i < count; i++) {
		const struct muster_timeline *s = &series[i];
		const struct muster_point *lowest = &s->points[muster_timeline_lowest(s)];
		double bars[BARS];
		size_t bar_count = muster_timeline_thin(s, bars, BARS);
		const struct muster_value cells[] = {
			muster_string(s->key),
			MUSTER_SERIES_CELLS(s),
			muster_number((double)s->count),
			muster_cell_rounded(lowest->value),
			muster_cell_day(table->arena, lowest->started),
			muster_cell_rounded(muster_timeline_median(s, 0, s->count)),
			muster_cell_rounded(s->points[s->count - 1].value),
			muster_string(muster_table_sparkline(table->arena, bars, bar_count)),
		};
		muster_table_row(table, cells, MUSTER_PASS);
	}
}

int muster_ask_values(struct muster_history *history, const struct muster_history_question *question,
	struct muster_table *ret, struct muster_error *err)
{
	static const struct muster_table_column columns[] = {
		{ "key", "key" },
		MUSTER_SERIES_COLUMNS,
		{ "values", "values" },
		{ "lowest", "lowest" },
		{ "lowest_at", "lowest on" },
		{ "median", "median" },
		{ "newest", "newest" },
		{ "over_time", "over time" },
	};
	*ret = (struct muster_table){ .arena = ret->arena,
		.title = muster_arena_printf(ret->arena, "%s over time", question->filter.metric),
		MUSTER_TABLE_COLUMNS(columns),
		.group_count = 3,
		.empty = "the history has no such value" };
	muster_table_note(ret,
		"%s, oldest to newest from left to right; each row has a scale of its own; the lowest value is on top",
		question->filter.metric);
	return muster_timelines_read(history, &question->filter, !question->filter.nodes, print_series, ret, err);
}
