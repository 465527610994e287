/* SPDX-License-Identifier: Apache-2.0 */
/* strips.c - which values are drawn together, and which of them are outliers
 *
 * muster_strips_make(): find_wanted() says which metrics matter at all; one walk over the run puts their values into
 * strips (take_samples); complete() sorts the values of each strip and adds thresholds, median and outliers; strips
 * that say nothing (is_worth_it) are dropped, the others sorted.
 */
#include "report/html/strips.h"

#include "muster/probe.h"
#include "muster/run_data.h"
#include "report/html/places.h"
#include "report/text_summary.h"
#include "util/array.h"
#include "util/text.h"

#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* A value is an outlier when its modified z-score, 0.6745 * |value - median| / MAD, is beyond 3.5: Iglewicz and
 * Hoaglin, "How to Detect and Handle Outliers" (1993). The factor makes the MAD comparable with a standard deviation.
 * Values that differ by less than the share are equal for a reader, however small the MAD is. */
#define OUTLIER_SCORE 3.5
#define OUTLIER_SHARE 0.03
#define SCORE_FACTOR 0.6745

static bool is_variant(const struct muster_label *label)
{
	const struct muster_label_row *row = muster_label_find(label->key);
	return row && row->variant;
}

/* The values of the labels that tell the sample's strip from others of the metric, "8 GiB, P2P"; malloc'd. Not the
 * label that the title of the figure has already, and not the number of nodes, which is that of the run. */
static char *variant_of(const struct muster_sample *sample, const struct muster_shown *figure)
{
	char *text;
	size_t length;
	FILE *out = muster_memory_open(&text, &length);
	const char *before = "";
	for (size_t i = 0; i < sample->label_count; i++) {
		if (!is_variant(&sample->labels[i]) || strcmp(sample->labels[i].key, "nodes") == 0 ||
			(figure && figure->key && strcmp(sample->labels[i].key, figure->key) == 0))
			continue;
		fputs(before, out);
		muster_text_label(out, &sample->labels[i]);
		before = ", ";
	}
	muster_memory_close(out);
	return text;
}

/* Whether two samples of one metric, which have the same keys in one order, belong to one strip. */
static bool same_variant(const struct muster_sample *a, const struct muster_sample *b)
{
	if (a->label_count != b->label_count)
		return false;
	for (size_t i = 0; i < a->label_count; i++)
		if (is_variant(&a->labels[i]) && !muster_value_equal(a->labels[i].value, b->labels[i].value))
			return false;
	return true;
}

/* ---- which metrics ---- */

/* By the metric's index in the catalogue: whether it may have strips. These are the speeds of the summary, and numbers
 * that a check of this run reads, but not those of a node, which has one value of them. malloc'd */
static bool *find_wanted(const struct muster_report *report)
{
	size_t figure_count;
	const struct muster_shown_metric *figures = muster_metrics_shown(MUSTER_SHOWN_SPEEDS, &figure_count);
	bool *wanted = muster_calloc(muster_metric_count(), sizeof *wanted);
	for (size_t i = 0; i < figure_count; i++)
		wanted[muster_metric_index(figures[i].metric)] = true;
	for (size_t i = 0; i < report->tally_count; i++) {
		const struct muster_tally *tally = &report->tallies[i];
		const struct muster_metric *metric = tally->skipped ? NULL : muster_metric_find(tally->metric);
		if (metric && metric->type == MUSTER_NUMBER && metric->scope != MUSTER_SCOPE_NODE)
			wanted[muster_metric_index(metric)] = true;
	}
	return wanted;
}

/* ---- values ---- */

struct collector {
	const struct muster_html *page;
	struct muster_strips *strips;
	bool *wanted; /* by the metric's place in the catalogue */
};

static struct muster_strip *strip_of(struct muster_strips *strips, const struct muster_sample *sample)
{
	for (size_t i = 0; i < strips->count; i++)
		if (strips->items[i].metric == sample->metric &&
			same_variant(strips->items[i].values[0].sample, sample))
			return &strips->items[i];
	const struct muster_shown *figure = muster_figure_of(sample);
	MUSTER_ARRAY_PUSH(strips->items, strips->count, strips->room,
		((struct muster_strip){ .metric = sample->metric,
			.figure = figure,
			.variant = variant_of(sample, figure),
			.lowest_limit = NAN,
			.highest_limit = NAN,
			.bounds = { NAN, NAN, NAN, NAN } }));
	return &strips->items[strips->count - 1];
}

static bool same_labels(const struct muster_finding *finding, const struct muster_sample *sample)
{
	return finding->label_count == 0 ||
	       muster_labels_equal(finding->labels, finding->label_count, sample->labels, sample->label_count, NULL);
}

/* The worst status of the findings about this value: of the same metric and node, of the same rank where the value is
 * of a rank, and with equal labels or without labels. */
static enum muster_status status_of(const struct muster_html *page, const struct muster_strip_value *value)
{
	const struct muster_report *report = page->report;
	const struct muster_html_node *node = value->node == SIZE_MAX ? NULL : &page->places->nodes[value->node];
	size_t count = node ? node->finding_count : report->finding_count;
	enum muster_status worst = MUSTER_PASS;
	for (size_t i = 0; i < count; i++) {
		const struct muster_finding *finding = &report->findings[node ? node->findings[i] : i];
		if (finding->metric && strcmp(finding->metric, value->sample->metric->name) == 0 &&
			(node || !finding->node) && (!value->rank || finding->rank == value->rank->rank) &&
			same_labels(finding, value->sample) &&
			muster_status_weight(finding->status) > muster_status_weight(worst))
			worst = finding->status;
	}
	return worst;
}

/* Widen the range of the strip's limits by that of one value; NULL, null, and what is not above 0 count as none. */
static void take_limit(struct muster_strip *strip, const struct muster_sample *limit)
{
	if (!limit || limit->value.type != MUSTER_NUMBER || !(limit->value.number > 0))
		return;
	double number = limit->value.number;
	const char *link = muster_label_string(limit->labels, limit->label_count, "link");
	bool first = !strip->limit;
	if (first)
		strip->limit_of = link;
	else if (!link || !strip->limit_of || strcmp(link, strip->limit_of) != 0)
		strip->limit_of = NULL; /* of several links */
	strip->limit = limit->metric;
	strip->lowest_limit = fmin(strip->lowest_limit, number); /* of NAN and a number, the number */
	strip->highest_limit = fmax(strip->highest_limit, number);
}

static void take_samples(struct collector *collector, const struct muster_run_walk *at)
{
	const struct muster_samples *samples = at->samples;
	for (size_t i = 0; i < samples->count; i++) {
		const struct muster_sample *sample = &samples->items[i];
		if (sample->value.type != MUSTER_NUMBER || !isfinite(sample->value.number) ||
			!collector->wanted[muster_metric_index(sample->metric)])
			continue;
		struct muster_strip *strip = strip_of(collector->strips, sample);
		struct muster_strip_value value = {
			.value = sample->value.number,
			.node = at->node ? (size_t)(at->node - collector->page->report->run->nodes) : SIZE_MAX,
			.rank = at->rank,
			.sample = sample,
		};
		value.status = status_of(collector->page, &value);
		MUSTER_ARRAY_PUSH(strip->values, strip->count, strip->room, value);
		take_limit(strip, muster_figure_limit(strip->figure, samples, sample));
	}
}

/* ---- bounds ---- */

/* Whether the check takes such a sample: a label that the sample does not have excludes nothing. */
static bool fits_where(const struct muster_tally *tally, const struct muster_sample *sample)
{
	for (size_t i = 0; i < tally->where_count; i++) {
		const struct muster_value *value = muster_sample_label(sample, tally->where[i].key);
		if (value && !muster_value_equal(*value, tally->where[i].value))
			return false;
	}
	return true;
}

/* Take a threshold of a check (known: the check has it). Of several, the one that a value meets first counts: the
 * highest of those below, the lowest of those above. A threshold that is a share becomes a number only where all values
 * have the limit that the strip draws, and it is the same one: else it is another number for each value, and not drawn.
 * fmax() and fmin() of NAN and a number are the number. */
static void take_bound(
	struct muster_strip *strip, int which, bool known, double bound, const struct muster_tally *tally)
{
	bool below = which == MUSTER_STRIP_FAIL_BELOW || which == MUSTER_STRIP_WARN_BELOW;
	if (!known)
		return;
	if (tally->share_of && strip->limit && strcmp(strip->limit->name, tally->share_of) == 0 &&
		!(strip->lowest_limit < strip->highest_limit))
		bound *= strip->lowest_limit;
	else if (tally->share_of)
		bound = NAN;
	strip->bounds[which] = below ? fmax(strip->bounds[which], bound) : fmin(strip->bounds[which], bound);
}

static size_t evaluated(const struct muster_tally *tally)
{
	return tally->count[MUSTER_PASS] + tally->count[MUSTER_WARN] + tally->count[MUSTER_FAIL] +
	       tally->count[MUSTER_INCONCLUSIVE] + tally->count[MUSTER_BLOCKED];
}

static void take_checks(struct muster_strip *strip, const struct muster_report *report)
{
	for (size_t i = 0; i < report->tally_count; i++) {
		const struct muster_tally *tally = &report->tallies[i];
		if (!tally->metric || tally->skipped || strcmp(tally->metric, strip->metric->name) != 0 ||
			evaluated(tally) == 0 || !fits_where(tally, strip->values[0].sample))
			continue;
		take_bound(strip, MUSTER_STRIP_FAIL_BELOW, tally->has_least, tally->least, tally);
		take_bound(strip, MUSTER_STRIP_WARN_BELOW, tally->has_warn_below, tally->warn_below, tally);
		take_bound(strip, MUSTER_STRIP_WARN_ABOVE, tally->has_warn_above, tally->warn_above, tally);
		take_bound(strip, MUSTER_STRIP_FAIL_ABOVE, tally->has_most, tally->most, tally);
	}
}

/* ---- outliers ---- */

static int by_value(const void *a, const void *b)
{
	const struct muster_strip_value *x = a, *y = b;
	return (x->value > y->value) - (x->value < y->value);
}

static double median_of(const struct muster_strip_value *values, size_t count)
{
	return (values[(count - 1) / 2].value + values[count / 2].value) / 2;
}

/* Mark values with a finding, and, of at least eight values, those that are far from the median. Of a speed only the
 * slow ones are: a fast one is no fault. */
static void find_outliers(struct muster_strip *strip)
{
	double *distances = muster_calloc(strip->count, sizeof *distances);
	for (size_t i = 0; i < strip->count; i++)
		distances[i] = fabs(strip->values[i].value - strip->median);
	double spread = muster_median_of(distances, strip->count);
	bool speed = muster_metric_is_speed(strip->metric);
	for (size_t i = 0; i < strip->count; i++) {
		struct muster_strip_value *value = &strip->values[i];
		double distance = value->value - strip->median;
		bool far = fabs(distance) > OUTLIER_SHARE * fabs(strip->median) &&
			   SCORE_FACTOR * fabs(distance) > OUTLIER_SCORE * spread;
		value->outlier = muster_status_weight(value->status) > 0 ||
				 (far && strip->count >= 8 && (!speed || distance < 0));
	}
	free(distances);
}

/* ---- all strips ---- */

/* Whether the strip is shown: it has a finding, is of a speed, or its values differ. Of facts and of the whole job, a
 * difference alone is no reason. */
static bool is_worth_it(const struct muster_strip *strip)
{
	bool finding = false;
	for (size_t i = 0; i < strip->count; i++)
		finding = finding || muster_status_weight(strip->values[i].status) > 0;
	bool differ = strip->values[strip->count - 1].value > strip->values[0].value;
	return finding || muster_metric_is_speed(strip->metric) ||
	       (differ && strip->metric->scope != MUSTER_SCOPE_JOB && strip->metric->better != MUSTER_BETTER_FACT);
}

static int by_order(const void *a, const void *b)
{
	const struct muster_strip *x = a, *y = b;
	if (x->order != y->order)
		return x->order > y->order ? 1 : -1;
	int order = strcmp(x->metric->name, y->metric->name);
	return order ? order : strverscmp(x->variant, y->variant);
}

static void complete(struct muster_strip *strip, const struct muster_report *report)
{
	qsort(strip->values, strip->count, sizeof *strip->values, by_value);
	strip->median = median_of(strip->values, strip->count);
	take_checks(strip, report);
	find_outliers(strip);
	strip->order = strip->figure                           ? strip->figure->place
		       : muster_metric_is_speed(strip->metric) ? INT_MAX - 1
							       : INT_MAX;
	strip->title = strip->figure ? strip->figure->title : strip->metric->meaning;
}

static void strip_done(struct muster_strip *strip)
{
	free(strip->values);
	free(strip->variant);
}

void muster_strips_make(const struct muster_html *page, struct muster_strips *ret)
{
	struct collector collector = { page, ret, find_wanted(page->report) };
	size_t kept = 0;
	*ret = (struct muster_strips){ 0 };
	for (struct muster_run_walk at = { 0 }; muster_run_next(page->report->run, &at);)
		take_samples(&collector, &at);
	free(collector.wanted);
	for (size_t i = 0; i < ret->count; i++) {
		complete(&ret->items[i], page->report);
		if (is_worth_it(&ret->items[i]))
			ret->items[kept++] = ret->items[i];
		else
			strip_done(&ret->items[i]);
	}
	ret->count = kept;
	if (kept > 0)
		qsort(ret->items, kept, sizeof *ret->items, by_order);
}

void muster_strips_done(struct muster_strips *strips)
{
	for (size_t i = 0; i < strips->count; i++)
		strip_done(&strips->items[i]);
	free(strips->items);
	*strips = (struct muster_strips){ 0 };
}
