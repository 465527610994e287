/* SPDX-License-Identifier: Apache-2.0 */
/* slowest.c - the slowest ranks of a run by each of its own times and speeds
 *
 * A collective is as slow as its slowest rank; these are what each rank measures of itself: exchanges, products, steps.
 * A figure is a row `shown` of a metric in the table MUSTER_SHOWN_SLOWEST; a metric may have several, one for each kind
 * of exchange. Of each figure the slowest ranks are kept while the run is walked once, so nothing is sorted.
 */
#include "report/slowest.h"

#include "model/gpu.h"
#include "muster/probe.h"
#include "muster/run_data.h"
#include "util/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SPREAD_SHOWN 0.02 /* a rank that is slower by less is as fast as the fastest one */

static bool is_slower(const struct muster_metric *metric, double a, double b)
{
	return muster_metric_worse(metric) == MUSTER_WORSE_BELOW ? a < b : a > b;
}

/* Both are above 0; which of them is larger depends on whether the figure is a speed or a time. */
static bool is_slow(double value, double fastest)
{
	return fmax(value / fastest, fastest / value) > 1 + SPREAD_SHOWN;
}

/* The rank's slowest value of a figure, above 0. False when the rank has none. */
static bool find_value(
	const struct muster_samples *samples, const struct muster_shown_metric *figure, double *ret_value)
{
	bool found = false;
	for (size_t i = 0; i < samples->count; i++) {
		const struct muster_sample *sample = &samples->items[i];
		if (sample->metric != figure->metric || sample->value.type != MUSTER_NUMBER ||
			!(sample->value.number > 0))
			continue;
		const char *key = figure->as->key;
		const char *value = key ? muster_label_string(sample->labels, sample->label_count, key) : NULL;
		if (key && (!value || strcmp(value, figure->as->value) != 0))
			continue;
		if (!found || is_slower(figure->metric, sample->value.number, *ret_value))
			*ret_value = sample->value.number;
		found = true;
	}
	return found;
}

/* Insert the rank behind those that are as slow or slower; one that is beyond the end of the array is dropped. */
static void take(struct muster_slowest *slowest, struct muster_slow_rank rank)
{
	size_t at = slowest->count < MUSTER_SLOWEST_SHOWN ? slowest->count++ : MUSTER_SLOWEST_SHOWN;
	for (; at > 0 && is_slower(slowest->metric, rank.value, slowest->ranks[at - 1].value); at--)
		if (at < MUSTER_SLOWEST_SHOWN)
			slowest->ranks[at] = slowest->ranks[at - 1];
	if (at < MUSTER_SLOWEST_SHOWN)
		slowest->ranks[at] = rank;
}

static void take_rank(
	const struct muster_run_walk *at, const struct muster_shown_metric *figure, struct muster_slowest *slowest)
{
	double value = 0;
	if (!find_value(at->samples, figure, &value))
		return;
	if (slowest->all == 0 || is_slower(slowest->metric, slowest->fastest, value))
		slowest->fastest = value;
	slowest->all++;
	take(slowest, (struct muster_slow_rank){ at->node, at->rank, value });
}

/* A figure that only one rank has is left out: the rank can be compared with no other. */
size_t muster_slowest_find(const struct muster_run *run, struct muster_slowest ret[MUSTER_SLOWEST_FIGURES])
{
	size_t count = 0, figures;
	const struct muster_shown_metric *figure = muster_metrics_shown(MUSTER_SHOWN_SLOWEST, &figures);
	struct muster_slowest *all = muster_calloc(figures, sizeof *all);
	for (size_t i = 0; i < figures; i++)
		all[i] = (struct muster_slowest){ .metric = figure[i].metric, .as = figure[i].as };
	for (struct muster_run_walk at = { 0 }; muster_run_next(run, &at);)
		for (size_t i = 0; at.rank && i < figures; i++)
			take_rank(&at, &figure[i], &all[i]);
	for (size_t i = 0; i < figures && count < MUSTER_SLOWEST_FIGURES; i++) {
		struct muster_slowest *one = &all[i];
		while (one->slow < one->count && is_slow(one->ranks[one->slow].value, one->fastest))
			one->slow++;
		if (one->all > 1)
			ret[count++] = *one;
	}
	free(all);
	return count;
}

char *muster_slowest_text(const struct muster_slowest *slowest)
{
	char value[64], *text;
	size_t length;
	FILE *out = muster_memory_open(&text, &length);
	for (size_t i = 0; i < slowest->slow; i++) {
		const struct muster_slow_rank *slow = &slowest->ranks[i];
		int gpu = muster_node_gpu_index(slow->node, slow->rank->gpu);
		fprintf(out, "%s rank %d (%s", muster_value_text(muster_number(slow->value), value, sizeof value),
			slow->rank->rank, slow->node->name);
		if (gpu >= 0)
			fprintf(out, " GPU %d", gpu);
		fputs("), ", out);
	}
	fprintf(out, "fastest %s", muster_value_text(muster_number(slowest->fastest), value, sizeof value));
	muster_memory_close(out);
	return text;
}
