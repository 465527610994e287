/* SPDX-License-Identifier: Apache-2.0 */
/* timeline.c - values over time: one series for each key on each part of a node
 *
 * A walk gives values key by key. The series of the key at hand are in r->items; when the key changes, finish_key()
 * hands them to the caller and empties the list, but keeps the memory of their points for the next key.
 *
 * Within a key, values come report by report, and the parts of a report in one order. So the series of the next value
 * is most often that of the last value or the one behind it; else it is looked up in a hash table with open addressing,
 * whose slots hold 1 + the index of a series, and 0 for none.
 */
#include "history/timeline.h"

#include "muster/arena.h"
#include "util/array.h"

#include <stdlib.h>
#include <string.h>

struct reader {
	struct muster_timeline *items; /* of the key at hand; those behind count keep their room for points */
	size_t count, made, room;      /* made: how many of the items have points to be freed */
	size_t last;                   /* index of the series that the last value went to */
	size_t *slots;                 /* a hash table of 1 + index in items */
	size_t slot_count;
	bool by_node;
	muster_timelines_fn *each;
	void *arg;
};

/* The hash of the pointers: equal texts of a history are one pointer. */
static size_t hash_of(const struct muster_timeline *s)
{
	const char *const texts[] = { s->machine_type, s->profile, s->node, s->part };
	return (size_t)muster_hash(texts, sizeof texts);
}

static bool same_series(const struct muster_timeline *a, const struct muster_timeline *b)
{
	return a->part == b->part && a->node == b->node && a->profile == b->profile &&
	       a->machine_type == b->machine_type;
}

/* The slot of the series, or the free slot where it belongs. The table is never full. */
static size_t *slot_of(const struct reader *r, const struct muster_timeline *series)
{
	size_t at = hash_of(series) % r->slot_count;
	while (r->slots[at] && !same_series(&r->items[r->slots[at] - 1], series))
		at = (at + 1) % r->slot_count;
	return &r->slots[at];
}

/* Make the table larger, and put all series into it anew. */
static void grow(struct reader *r)
{
	free(r->slots);
	r->slot_count = r->slot_count * 2 + 1021;
	r->slots = muster_calloc(r->slot_count, sizeof *r->slots);
	for (size_t i = 0; i < r->count; i++)
		*slot_of(r, &r->items[i]) = i + 1;
}

/* The series like `wanted`, which is added without points when there is none. The pointer is good until the next one is
 * added. */
static struct muster_timeline *find_or_add(struct reader *r, const struct muster_timeline *wanted)
{
	for (size_t i = r->last; i < r->count && i < r->last + 2; i++)
		if (same_series(&r->items[i], wanted))
			return &r->items[r->last = i];
	if (r->count >= r->slot_count / 2)
		grow(r);
	size_t *slot = slot_of(r, wanted);
	if (!*slot) {
		struct muster_timeline fresh = *wanted;
		if (r->count < r->made) {
			fresh.points = r->items[r->count].points;
			fresh.room = r->items[r->count].room;
		} else {
			MUSTER_ARRAY_GROW(r->items, r->count, r->room);
			r->made++;
		}
		r->items[r->count++] = fresh;
		*slot = r->count;
	}
	r->last = *slot - 1;
	return &r->items[r->last];
}

static int by_time(const void *x, const void *y)
{
	const struct muster_point *a = x, *b = y;
	return a->started < b->started ? -1 : a->started > b->started;
}

/* Hand the series of the key to the caller, and empty the list. Reports are mostly added in the order of their time, so
 * points are sorted only where two of them are not in order. */
static void finish_key(struct reader *r)
{
	for (size_t i = 0; i < r->count; i++) {
		struct muster_timeline *series = &r->items[i];
		for (size_t p = 1; p < series->count; p++)
			if (series->points[p].started < series->points[p - 1].started) {
				qsort(series->points, series->count, sizeof *series->points, by_time);
				break;
			}
	}
	if (r->count)
		r->each(r->arg, r->items, r->count);
	if (r->slots)
		memset(r->slots, 0, r->slot_count * sizeof *r->slots);
	r->count = r->last = 0;
}

/* For muster_history_each_value(): append the value to its series. A new key ends the one before. */
static int take(void *arg, const struct muster_history_value *value, struct muster_error *err)
{
	struct reader *r = arg;
	const struct muster_timeline wanted = {
		.metric = value->metric,
		.machine_type = value->report->machine_type,
		.profile = value->report->profile,
		.key = value->key,
		.node = value->node,
		.part = r->by_node ? NULL : value->part,
	};
	(void)err;
	if (r->count && r->items[0].key != value->key)
		finish_key(r);
	struct muster_timeline *series = find_or_add(r, &wanted);
	MUSTER_ARRAY_PUSH(series->points, series->count, series->room,
		(struct muster_point){ value->report->started, value->value });
	return 0;
}

int muster_timelines_read(struct muster_history *history, const struct muster_history_filter *filter, bool by_node,
	muster_timelines_fn *each, void *arg, struct muster_error *err)
{
	struct reader r = { .by_node = by_node, .each = each, .arg = arg };
	int rc = muster_history_each_value(history, filter, take, &r, err);
	if (rc == 0)
		finish_key(&r);
	for (size_t i = 0; i < r.made; i++)
		free(r.items[i].points);
	free(r.items);
	free(r.slots);
	return rc;
}

/* The values of points in ascending order, malloc'd. */
static double *sorted_of(const struct muster_timeline *series, size_t from, size_t count)
{
	double *values = muster_calloc(count, sizeof *values);
	for (size_t i = 0; i < count; i++)
		values[i] = series->points[from + i].value;
	qsort(values, count, sizeof *values, muster_by_double);
	return values;
}

double muster_timeline_median(const struct muster_timeline *series, size_t from, size_t count)
{
	double *values = sorted_of(series, from, count);
	double median = muster_median_of(values, count);
	free(values);
	return median;
}

double muster_timeline_percentile(const struct muster_timeline *series, size_t count, double share)
{
	double *values = sorted_of(series, 0, count);
	double percentile = muster_percentile_of(values, count, share);
	free(values);
	return percentile;
}

size_t muster_timeline_thin(const struct muster_timeline *series, double *ret, size_t bars)
{
	size_t count = series->count < bars ? series->count : bars;
	for (size_t i = 0; i < count; i++) {
		size_t from = i * series->count / count, until = (i + 1) * series->count / count;
		ret[i] = muster_timeline_median(series, from, until - from);
	}
	return count;
}

size_t muster_timeline_lowest(const struct muster_timeline *series)
{
	size_t lowest = 0;
	for (size_t i = 1; i < series->count; i++)
		if (series->points[i].value < series->points[lowest].value)
			lowest = i;
	return lowest;
}
