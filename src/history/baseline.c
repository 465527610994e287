/* SPDX-License-Identifier: Apache-2.0 */
/* baseline.c - gather the values of earlier runs, and find median and MAD of each key
 *
 * Values come report by report, or key by key from a history. Each goes to the item of its machine type, profile and
 * key (find_item); at the end each item gets its median and MAD (muster_learning_end). All texts are interned in one
 * arena, so that items are found by comparing pointers.
 *
 * Within a report values come in the order of its samples, which is nearly the same in each report: the item of the
 * next value is most often the item of this value or the one behind it, and is looked for there first.
 */
#include "history/baseline.h"

#include "muster/arena.h"
#include "muster/probe.h"
#include "util/array.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool muster_baseline_wanted(const struct muster_metric *metric)
{
	const struct muster_probe *probe = muster_probe_find(muster_metric_probe(metric));
	return probe && (probe->together || probe->ring || probe->traffic) && muster_metric_scatters(metric) &&
	       muster_metric_worse(metric) == MUSTER_WORSE_BELOW;
}

bool muster_baseline_teaches(const struct muster_history_value *value, enum muster_status node)
{
	const struct muster_history_report *report = value->report;
	enum muster_status status = value->node ? node : report->verdict;
	return !report->beside_jobs && report->machine_type && report->profile &&
	       strcmp(report->machine_type, "unknown") != 0 && (status == MUSTER_PASS || status == MUSTER_WARN);
}

/* The item of a value, which is added when there is none. Pointers to items are good until the next one is added. */
static struct muster_learned *find_item(
	struct muster_learning *learning, const struct muster_history_value *value, const char *key)
{
	struct muster_arena *arena = learning->arena;
	const char *machine_type = muster_arena_string(arena, value->report->machine_type),
		   *profile = muster_arena_string(arena, value->report->profile);
	for (size_t i = 0; i < learning->count; i++) { /* most often the item of the last value, or the next one */
		size_t at = (learning->at + i) % learning->count;
		struct muster_learned *item = &learning->items[at];
		if (item->key != key || item->machine_type != machine_type || item->profile != profile)
			continue;
		learning->at = at;
		return item;
	}
	learning->at = learning->count;
	MUSTER_ARRAY_PUSH(learning->items, learning->count, learning->room,
		((struct muster_learned){ .machine_type = machine_type,
			.profile = profile,
			.key = key,
			.metric = value->metric,
			.first = MUSTER_HISTORY_NEVER,
			.last = MUSTER_HISTORY_NEVER }));
	return &learning->items[learning->at];
}

void muster_learning_report(struct muster_learning *learning)
{
	learning->another = true;
}

/* The value belongs to the report of the value before, unless muster_learning_report() was called between or the start
 * or job is another one. All values of one report count as one in item->reports. */
void muster_learning_take(struct muster_learning *learning, const struct muster_history_value *value)
{
	const struct muster_history_report *report = value->report;
	if (!learning->arena)
		learning->arena = muster_arena_new();
	const char *job = report->job ? muster_arena_string(learning->arena, report->job) : NULL;
	if (learning->report == 0 || learning->another || report->started != learning->started ||
		job != learning->job) {
		learning->report++;
		learning->another = false;
		learning->started = report->started;
		learning->job = job;
	}
	learning->simulated = learning->simulated || report->simulated;
	struct muster_learned *item = find_item(learning, value, muster_arena_string(learning->arena, value->key));
	MUSTER_ARRAY_PUSH(item->values, item->count, item->room, value->value);
	if (item->last_report == learning->report)
		return;
	item->last_report = learning->report;
	item->reports++;
	if (report->started == MUSTER_HISTORY_NEVER)
		return;
	if (item->first == MUSTER_HISTORY_NEVER || report->started < item->first)
		item->first = report->started;
	if (item->last == MUSTER_HISTORY_NEVER || report->started > item->last)
		item->last = report->started;
}

static int in_order(const void *a, const void *b)
{
	const struct muster_learned *x = a, *y = b;
	int order = strcmp(x->machine_type, y->machine_type);
	if (order == 0)
		order = strcmp(x->key, y->key);
	return order ? order : strcmp(x->profile, y->profile);
}

/* Median, MAD and tail of one item; the values are then sorted. MAD: the median of the distances from the median. Tail:
 * the distance of the worst hundredth, by nearest rank, from the median, as a share of the median; of up to 100 values
 * the worst hundredth is the worst value. */
static void find_middle(struct muster_learned *item)
{
	double *distances = muster_calloc(item->count, sizeof *distances);
	item->median = muster_median_of(item->values, item->count);
	for (size_t i = 0; i < item->count; i++)
		distances[i] = fabs(item->values[i] - item->median);
	item->mad = muster_median_of(distances, item->count);
	free(distances);
	size_t rank = (item->count + 99) / 100; /* of the worst hundredth, by nearest rank */
	bool above = muster_metric_worse(item->metric) == MUSTER_WORSE_ABOVE;
	double worst = item->values[above ? item->count - rank : rank - 1];
	item->tail = item->median > 0 ? fabs(worst - item->median) / item->median : 0;
}

/* The value, but at least `least` and at most `most`. */
static double within(double value, double least, double most)
{
	return fmin(fmax(value, least), most);
}

struct muster_baseline_shares muster_learned_shares(const struct muster_learned *item)
{
	return (struct muster_baseline_shares){
		.fail = within(2 * item->tail, MUSTER_BASELINE_FAIL, MUSTER_BASELINE_FAIL_MOST),
		.warn = within(1.5 * item->tail, MUSTER_BASELINE_WARN, MUSTER_BASELINE_WARN_MOST),
	};
}

void muster_learning_end(struct muster_learning *learning)
{
	for (size_t i = 0; i < learning->count; i++)
		find_middle(&learning->items[i]);
	if (learning->count)
		qsort(learning->items, learning->count, sizeof *learning->items, in_order);
	learning->at = 0;
}

void muster_learning_done(struct muster_learning *learning)
{
	for (size_t i = 0; i < learning->count; i++)
		free(learning->items[i].values);
	free(learning->items);
	muster_arena_free(learning->arena);
	*learning = (struct muster_learning){ 0 };
}

bool muster_learned_enough(const struct muster_learned *item)
{
	return item->count >= MUSTER_BASELINE_LEAST && item->median > 0;
}

const char *muster_learned_source(const struct muster_learning *learning, const struct muster_learned *item)
{
	char first[MUSTER_UTC_SIZE], last[MUSTER_UTC_SIZE];
	const char *reports = muster_arena_printf(learning->arena, "%zu %sreport%s", item->reports,
		learning->simulated ? "simulated " : "", item->reports == 1 ? "" : "s");
	if (item->first == MUSTER_HISTORY_NEVER)
		return reports;
	/* of "2026-11-23T12:24:01Z" the day */
	muster_utc_text(item->first, first);
	muster_utc_text(item->last, last);
	return strncmp(first, last, 10) == 0
		       ? muster_arena_printf(learning->arena, "%s, %.10s", reports, first)
		       : muster_arena_printf(learning->arena, "%s, %.10s to %.10s", reports, first, last);
}
