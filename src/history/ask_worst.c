/* SPDX-License-Identifier: Apache-2.0 */
/* ask_worst.c - the parts of a fleet that are lowest among those of their machine type
 *
 * Each part has one number, the median of its values of a key, and is compared with the medians of all other parts of
 * the same machine type, profile and key (its population): a part that was slow in one run is not a slow part.
 *
 * The steps, for each key: find_worst() appends a member for each series behind those that are kept, sorts these by
 * population and median, scores each population of at least PEERS_LEAST members, and keeps the members that are worse
 * than its median. At the end all kept members, of all keys, are sorted by their score.
 *
 * An example: eight GPUs with medians of 26.0, 26.0, 26.1, 26.1, 26.1, 26.2, 26.2 and 24.0 GB/s have the median 26.1
 * and a median deviation of 0.1, so the last one has the score 0.6745 * (24.0 - 26.1) / 0.1 = -14.2.
 */
#include "history/questions.h"
#include "history/timeline.h"

#include "util/array.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PEERS_LEAST = 8 }; /* members of a population: fewer are not compared */

/* A series of one population with its median; the points are gone. */
struct member {
	struct muster_timeline series;
	double median;
	double score;  /* modified z-score; below 0 is worse */
	double share;  /* of the population that is worse, with this member itself counted */
	double middle; /* the median of the population */
	size_t peers;  /* how many members the population has */
};

struct worst {
	struct member *members; /* those kept, and behind them those of the key at hand */
	size_t count, room;
};

static int by_population(const void *x, const void *y)
{
	const struct member *a = x, *b = y;
	int order = muster_text_order(a->series.machine_type, b->series.machine_type);
	order = order ? order : strcmp(a->series.profile, b->series.profile);
	return order ? order : a->median < b->median ? -1 : a->median > b->median;
}

static bool same_population(const struct member *a, const struct member *b)
{
	return a->series.profile == b->series.profile && a->series.machine_type == b->series.machine_type;
}

/* Fill in score, share, middle and peers of the members of one population, which are sorted by their median. The
 * modified z-score of Iglewicz and Hoaglin (1993): 0.6745 times the distance from the median, over the median absolute
 * deviation, which here is at least 0.1 % of the median: values that agree better than that prove no more.
 *
 * The share is found from the worst member on: the lowest one, or of a metric of which less is better the highest one.
 * Members with equal medians have one share, that of the first of them. */
static void score(struct member *members, size_t count)
{
	double *values = muster_calloc(count, sizeof *values);
	for (size_t i = 0; i < count; i++)
		values[i] = members[i].median;
	double middle = muster_median_of(values, count);
	for (size_t i = 0; i < count; i++)
		values[i] = fabs(members[i].median - middle);
	qsort(values, count, sizeof *values, muster_by_double);
	double deviation = fmax(muster_median_of(values, count), fmax(fabs(middle) * 0.001, 1e-12));
	bool less = members[0].series.metric->better == MUSTER_BETTER_LESS;
	for (size_t i = 0, same = 0; i < count; i++) {
		struct member *member = &members[less ? count - 1 - i : i];
		const struct member *before = i ? &members[less ? count - i : i - 1] : NULL;
		same = before && !(before->median < member->median) && !(before->median > member->median) ? same : i;
		member->score = 0.6745 * (less ? middle - member->median : member->median - middle) / deviation;
		member->share = (double)(same + 1) / (double)count;
		member->middle = middle;
		member->peers = count;
	}
	free(values);
}

static int by_score(const void *x, const void *y)
{
	const struct member *a = x, *b = y;
	return a->score < b->score ? -1 : a->score > b->score;
}

/* For muster_timelines_read(): the members of one key. Values of the whole job are no part of a machine, and are passed
 * over. */
static void find_worst(void *arg, struct muster_timeline *series, size_t count)
{
	struct worst *worst = arg;
	size_t first = worst->count, kept = worst->count;
	for (size_t i = 0; i < count; i++)
		if (series[i].node)
			MUSTER_ARRAY_PUSH(worst->members, worst->count, worst->room,
				(struct member){ .series = series[i],
					.median = muster_timeline_median(&series[i], 0, series[i].count) });
	if (worst->count > first)
		qsort(worst->members + first, worst->count - first, sizeof *worst->members, by_population);
	for (size_t i = first, end; i < worst->count; i = end) {
		for (end = i; end < worst->count && same_population(&worst->members[i], &worst->members[end]);)
			end++;
		if (end - i < PEERS_LEAST)
			continue;
		score(worst->members + i, end - i);
		for (size_t m = i; m < end; m++)
			if (worst->members[m].score < 0)
				worst->members[kept++] = worst->members[m];
	}
	worst->count = kept;
}

static void add_worst(struct muster_table *table, const struct member *member)
{
	const struct muster_timeline *s = &member->series;
	const struct muster_value cells[] = {
		MUSTER_SERIES_CELLS(s),
		muster_string(s->key),
		muster_number((double)s->count),
		muster_cell_rounded(member->median),
		muster_cell_rounded(member->middle),
		muster_cell_rounded(member->share * 100),
		muster_number((double)member->peers),
		muster_cell_rounded(member->score),
	};
	muster_table_row(table, cells, MUSTER_PASS);
}

int muster_ask_worst(struct muster_history *history, const struct muster_history_question *question,
	struct muster_table *ret, struct muster_error *err)
{
	static const struct muster_table_column columns[] = {
		MUSTER_SERIES_COLUMNS,
		{ "key", "key" },
		{ "values", "values" },
		{ "median", "median" },
		{ "fleet_median", "fleet" },
		{ "percentile", "percentile" },
		{ "peers", "of" },
		{ "z", "z" },
	};
	struct worst worst = { 0 };
	struct muster_history_use use = { 0 };
	struct muster_history_filter filter = question->filter;
	filter.use = &use;
	if (!filter.metric)
		filter.wanted = muster_metric_is_speed;
	*ret = (struct muster_table){ .arena = ret->arena,
		.title = "Lowest of their machine type",
		MUSTER_TABLE_COLUMNS(columns),
		.empty = "no value is worse than the median of at least 8 of its machine type" };
	int rc = muster_timelines_read(history, &filter, false, find_worst, &worst, err);
	if (worst.count)
		qsort(worst.members, worst.count, sizeof *worst.members, by_score);
	for (size_t i = 0; i < worst.count; i++)
		add_worst(ret, &worst.members[i]);
	muster_table_note(ret, "medians of each part, compared with those of the same machine type, profile and key");
	muster_table_note(ret,
		"percentile: the share of these that is not better; z: modified z-score, -3.5 and below is an outlier");
	muster_cell_note_use(ret, &use);
	free(worst.members);
	return rc;
}
