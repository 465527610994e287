/* SPDX-License-Identifier: Apache-2.0 */
/* prometheus_values.c - the values of a run as series
 *
 * What would be too many series (peers of exchanges, parts of many nodes, error counters that are 0) is folded or only
 * counted. A value that is not known has no series, and is counted too.
 *
 *   sample                                          is
 *   a text                                          nothing: a series is a number
 *   a fact about a rank's launch                    counted as not exported
 *   of a node, in a run of more than 16 nodes       counted as not exported
 *   null                                            counted as unavailable
 *   an error counter that is 0                      counted as zero_errors
 *   else: a number, true (1) or false (0)           a series, and counted as a number
 */
#include "report/prometheus.h"

#include "muster/run_data.h"
#include "util/text.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { DETAILED_NODES = 16 }; /* of a larger run, only values of the whole job */

/* The values of the label "state" of muster_values. */
enum state { STATE_NUMBER, STATE_ZERO, STATE_UNAVAILABLE, STATE_NOT_EXPORTED, STATE_COUNT };
static const char *const state_names[STATE_COUNT] = { "number", "zero_errors", "unavailable", "not_exported" };

/* "gpu.h2d_gbps" becomes "muster_gpu_h2d_bytes_per_second". "node.gpu_count" becomes "muster_node_gpus": to Prometheus,
 * a name with the ending "_count" is part of a histogram or a summary. */
struct muster_prometheus_name muster_prometheus_name_of(const struct muster_metric *metric)
{
	const struct muster_unit_row *unit = &muster_units[metric->unit];
	struct muster_prometheus_name ret = { .unit = unit->base, .factor = unit->factor };
	const char *name = metric->exported_as ? metric->exported_as : metric->name;
	bool cut = *unit->ending && muster_text_ends_in(name, unit->ending);
	int kept = (int)(strlen(name) - (cut ? strlen(unit->ending) : 0));
	bool counts = cut && metric->unit == MUSTER_UNIT_NONE;
	snprintf(ret.text, sizeof ret.text, "muster_%.*s%s%s%s", kept, name, counts ? "s" : "", *ret.unit ? "_" : "",
		ret.unit);
	for (char *at = ret.text; *at; at++)
		if (!isalnum((unsigned char)*at))
			*at = '_';
	return ret;
}

/* Of a metric that names a peer, labels that would make as many series as there are pairs of GPUs: they are left out,
 * and the worst value of the series that then have equal labels stays (muster_prometheus_fold). */
static bool is_of_peer(const struct muster_metric *metric, const char *key)
{
	enum muster_role role = muster_label_role(key);
	return muster_metric_has_peer(metric) && (role == MUSTER_ROLE_PEER || role == MUSTER_ROLE_PART ||
							 role == MUSTER_ROLE_ROUTE || role == MUSTER_ROLE_NOTE);
}

/* MIG: ranks that share a GPU have values of their own. */
static bool is_shared(const struct muster_node *node, const struct muster_rank *rank)
{
	for (size_t i = 0; rank->gpu && i < node->rank_count; i++)
		if (&node->ranks[i] != rank && node->ranks[i].gpu && strcmp(node->ranks[i].gpu, rank->gpu) == 0)
			return true;
	return false;
}

/* The labels of a sample's series: the node, the rank where the sample is of a rank or its GPU is shared, then the
 * sample's own labels. */
static const char *labels_of(const struct muster_prometheus *page, const struct muster_sample *sample,
	const struct muster_node *node, const struct muster_rank *rank)
{
	char number[32];
	struct muster_prometheus_labels labels = { 0 };
	muster_prometheus_label(&labels, "node", node ? node->name : NULL);
	if (rank && (sample->metric->scope == MUSTER_SCOPE_RANK || is_shared(node, rank))) {
		snprintf(number, sizeof number, "%d", rank->rank);
		muster_prometheus_label(&labels, "rank", number);
	}
	for (size_t i = 0; i < sample->label_count; i++) {
		const struct muster_label *each = &sample->labels[i];
		bool is_text = each->value.type == MUSTER_STRING;
		if (is_of_peer(sample->metric, each->key))
			continue;
		if (!is_text)
			snprintf(number, sizeof number, "%.15g", each->value.number);
		muster_prometheus_label(&labels, each->key, is_text ? each->value.string : number);
	}
	return muster_prometheus_labels_end(&labels, page->arena);
}

/* What becomes of a sample that is no text. node NULL: it is of the job. */
static enum state state_of(
	const struct muster_prometheus *page, const struct muster_sample *sample, const struct muster_node *node)
{
	bool of_launch = sample->metric->scope == MUSTER_SCOPE_RANK &&
			 sample->metric->better == MUSTER_BETTER_FACT; /* checks look at these */
	if (of_launch || (node && page->report->run->node_count > DETAILED_NODES))
		return STATE_NOT_EXPORTED;
	if (sample->value.type == MUSTER_NULL)
		return STATE_UNAVAILABLE;
	bool is_zero = sample->value.type == MUSTER_NUMBER && fpclassify(sample->value.number) == FP_ZERO;
	return is_zero && sample->metric->counts_errors ? STATE_ZERO : STATE_NUMBER;
}

static void take_samples(struct muster_prometheus *page, const struct muster_run_walk *at, size_t states[STATE_COUNT])
{
	for (size_t i = 0; i < at->samples->count; i++) {
		const struct muster_sample *sample = &at->samples->items[i];
		const struct muster_value *value = &sample->value;
		if (sample->metric->type == MUSTER_STRING)
			continue;
		enum state state = state_of(page, sample, at->node);
		states[state]++;
		if (state != STATE_NUMBER)
			continue;
		muster_prometheus_add(
			page, (struct muster_prometheus_series){
				      .name = sample->metric->name,
				      .metric = sample->metric,
				      .labels = labels_of(page, sample, at->node, at->rank),
				      .value = value->type == MUSTER_BOOLEAN ? value->boolean : value->number,
			      });
	}
}

void muster_prometheus_values(struct muster_prometheus *page)
{
	size_t states[STATE_COUNT] = { 0 };
	page->count = 0;
	for (struct muster_run_walk at = { 0 }; muster_run_next(page->report->run, &at);)
		take_samples(page, &at, states);
	muster_prometheus_fold(page);
	const struct muster_metric *last = NULL;
	struct muster_prometheus_name name = { .factor = 1 };
	for (size_t i = 0; i < page->count; i++) {
		const struct muster_prometheus_series *series = &page->series[i];
		if (series->metric != last) {
			name = muster_prometheus_name_of(series->metric);
			muster_prometheus_begin(page, name.text, name.unit, series->metric->meaning);
		}
		last = series->metric;
		muster_prometheus_put(page, name.text, series->labels, series->value * name.factor);
	}
	muster_prometheus_begin(page, "muster_values", "",
		"Values of the run: written here (number), error counters that are 0, unavailable (the report has the "
		"reasons), or not exported.");
	for (int state = 0; state < STATE_COUNT; state++)
		muster_prometheus_put_of(page, "muster_values", "state", state_names[state], (double)states[state]);
}
