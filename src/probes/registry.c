/* SPDX-License-Identifier: Apache-2.0 */
/* registry.c - all probes in running order, and all their metrics by name
 *
 * The tables are constant and in the probes' own files; what is made here once in a process are views of them: the
 * probes by order and name, all metrics by name (bsearch), and the rows of each table for people by their places. A row
 * that lacks an answer ends every process at its first look, so that no test can miss it.
 *
 *   probe_table   made by CMake: one entry for each probe's file in src/probes/ (probe_table.h.in)
 *   probes        the same, sorted by .order, then by name
 *   entries       one for each metric of each probe, sorted by the metric's name
 *   shown         one for each SHOWN(IN(...)) of each metric, sorted by table and place
 *
 * Every public function that uses a view calls prepare, which makes them on the first call; an exit handler frees them.
 * The place of a metric in `entries` is its number in this process (muster_metric_index): arrays by metric use it.
 */
#include "muster/arena.h"
#include "muster/probe.h"
#include "util/array.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe_table.h"

enum { PROBE_COUNT = sizeof probe_table / sizeof *probe_table };

struct entry {
	const char *name; /* the metric's; the first member, because muster_by_text compares what begins with a text */
	const struct muster_metric *metric;
	const struct muster_probe *probe;
};

static const struct muster_probe *probes[PROBE_COUNT];
static struct entry *entries;
static size_t entry_count;
static struct muster_shown_metric *shown; /* the rows of one table follow each other */
static size_t shown_count;

static int by_order(const void *a, const void *b)
{
	const struct muster_probe *x = *(const struct muster_probe *const *)a,
				  *y = *(const struct muster_probe *const *)b;
	return x->order != y->order ? (x->order > y->order) - (x->order < y->order) : strcmp(x->name, y->name);
}

/* The first answer that is missing or contradicts another one: meaning, .better, .identifies of a text; a unit only of
 * a number, and at the end of the name; labels that src/model/label.c lists; limits that are metrics. prepare calls
 * this when `entries` is complete and sorted, so that muster_metric_find already works here. */
int muster_registry_check(const struct muster_metric *metric, struct muster_error *err)
{
	const struct muster_unit_row *unit = &muster_units[metric->unit];
	const char *lacks = NULL;
	size_t length = strlen(metric->name), end = strlen(unit->ending);
	if (!metric->meaning || !*metric->meaning)
		lacks = "what it means";
	else if (metric->better == MUSTER_BETTER_NOT_SAID)
		lacks = "which values are better (.better)";
	else if (metric->type == MUSTER_STRING && metric->identifies == MUSTER_IDENTIFIES_NOT_SAID)
		lacks = "what its text identifies (.identifies)";
	if (lacks)
		return muster_fail(err, MUSTER_EUSAGE, "metric %s does not say %s", metric->name, lacks);
	if (metric->type != MUSTER_NUMBER && metric->unit != MUSTER_UNIT_NONE)
		return muster_fail(err, MUSTER_EUSAGE, "metric %s has a unit and is no number", metric->name);
	if (*unit->text && (length < end || strcmp(metric->name + length - end, unit->ending) != 0))
		return muster_fail(err, MUSTER_EUSAGE, "metric %s is in %s, so that its name must end in %s",
			metric->name, unit->text, unit->ending);
	for (size_t i = 0; i < MUSTER_LABELS_MAX && metric->labels[i]; i++)
		if (!muster_label_find(metric->labels[i]))
			return muster_fail(err, MUSTER_EUSAGE,
				"metric %s has the label %s, which src/model/label.c does not list", metric->name,
				metric->labels[i]);
	for (size_t i = 0; metric->limits[i]; i++)
		if (!muster_metric_find(metric->limits[i]))
			return muster_fail(err, MUSTER_EUSAGE, "metric %s has the limit %s, which is no metric",
				metric->name, metric->limits[i]);
	return 0;
}

static void release(void)
{
	free(entries);
	free(shown);
	entries = NULL;
	shown = NULL;
	entry_count = shown_count = 0;
}

static int by_place(const void *a, const void *b)
{
	const struct muster_shown_metric *x = a, *y = b;
	if (x->as->table != y->as->table)
		return x->as->table > y->as->table ? 1 : -1;
	return (x->as->place > y->as->place) - (x->as->place < y->as->place);
}

/* A metric that is shown in several tables has an entry for each. The last element of metric->shown has no title. */
static void prepare_tables(void)
{
	size_t room = 0;
	for (size_t i = 0; i < entry_count; i++)
		for (const struct muster_shown *as = entries[i].metric->shown; as && as->title; as++)
			MUSTER_ARRAY_PUSH(
				shown, shown_count, room, ((struct muster_shown_metric){ entries[i].metric, as }));
	qsort(shown, shown_count, sizeof *shown, by_place);
}

/* Makes the views on the first use, from constant tables: what is refused is a mistake in the source, so that the
 * process aborts. Two probes with one metric are refused here, because a name must lead to one row. */
static void prepare(void)
{
	if (entries)
		return;
	memcpy(probes, probe_table, sizeof probes);
	qsort(probes, PROBE_COUNT, sizeof *probes, by_order);
	for (size_t i = 0; i < PROBE_COUNT; i++)
		entry_count += probes[i]->metric_count;
	entries = muster_calloc(entry_count, sizeof *entries);
	size_t at = 0;
	for (size_t i = 0; i < PROBE_COUNT; i++)
		for (size_t j = 0; j < probes[i]->metric_count; j++)
			entries[at++] = (struct entry){ probes[i]->metrics[j].name, &probes[i]->metrics[j], probes[i] };
	qsort(entries, entry_count, sizeof *entries, muster_by_text);
	for (size_t i = 0; i < entry_count; i++) {
		struct muster_error err;
		if (i > 0 && strcmp(entries[i - 1].name, entries[i].name) == 0)
			muster_fail(&err, MUSTER_EUSAGE, "two probes list the metric %s", entries[i].name);
		else if (muster_registry_check(entries[i].metric, &err) == 0)
			continue;
		fprintf(stderr, "muster: %s\n", err.text);
		abort();
	}
	prepare_tables();
	atexit(release);
}

size_t muster_probe_count(void)
{
	return PROBE_COUNT;
}

const struct muster_probe *muster_probe_at(size_t index)
{
	prepare();
	return index < PROBE_COUNT ? probes[index] : NULL;
}

const struct muster_probe *muster_probe_find(const char *name)
{
	prepare();
	for (size_t i = 0; i < PROBE_COUNT; i++)
		if (strcmp(probes[i]->name, name) == 0)
			return probes[i];
	return NULL;
}

bool muster_probe_has_traffic(const struct muster_probe *probe, enum muster_profile profile, int nodes)
{
	return probe->traffic && !probe->ring && (profile != MUSTER_QUICK || (probe->quick_between_nodes && nodes > 1));
}

size_t muster_metric_count(void)
{
	prepare();
	return entry_count;
}

const struct muster_metric *muster_metric_at(size_t index)
{
	prepare();
	return index < entry_count ? entries[index].metric : NULL;
}

static const struct entry *find(const char *name)
{
	prepare();
	return !name ? NULL : bsearch(&name, entries, entry_count, sizeof *entries, muster_by_text);
}

const struct muster_metric *muster_metric_find(const char *name)
{
	const struct entry *entry = find(name);
	return entry ? entry->metric : NULL;
}

/* The part of `shown` that is of this table: borrowed, *ret_count elements. */
const struct muster_shown_metric *muster_metrics_shown(enum muster_shown_table table, size_t *ret_count)
{
	size_t first = 0, end;
	prepare();
	while (first < shown_count && shown[first].as->table != table)
		first++;
	for (end = first; end < shown_count && shown[end].as->table == table;)
		end++;
	*ret_count = end - first;
	return &shown[first];
}

const struct muster_sample *muster_sample_named(const struct muster_samples *samples, const char *metric)
{
	return muster_samples_find(samples, muster_metric_find(metric));
}

double muster_sample_number(const struct muster_samples *samples, const char *metric, double otherwise)
{
	const struct muster_sample *sample = muster_sample_named(samples, metric);
	return sample && sample->value.type == MUSTER_NUMBER ? sample->value.number : otherwise;
}

const char *muster_sample_text(const struct muster_samples *samples, const char *metric, const char *otherwise)
{
	const struct muster_sample *sample = muster_sample_named(samples, metric);
	return sample && sample->value.type == MUSTER_STRING ? sample->value.string : otherwise;
}

size_t muster_metric_index(const struct muster_metric *metric)
{
	return (size_t)(find(metric->name) - entries);
}

const char *muster_metric_probe(const struct muster_metric *metric)
{
	const struct entry *entry = find(metric->name);
	return entry ? entry->probe->name : "";
}
