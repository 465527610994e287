/* slowest.c - the slowest ranks of a run by each of its own times and speeds
 *
 * A collective is as slow as its slowest rank; these are what each rank measures of itself.
 */
#include "report/slowest.h"

#include "muster/arena.h"
#include "muster/probe.h"

#include <stdlib.h>
#include <string.h>

static const struct {
	const char *title, *key, *metric, *kind; /* kind: the label's value; NULL for any */
	bool less;                               /* the lower, the slower */
} figures[MUSTER_SLOWEST_FIGURES] = {
	{ "exchange within the node", "pair.exchange_gbps.edge", "pair.exchange_gbps", "edge", true },
	{ "exchange with the next node", "pair.exchange_gbps.rail", "pair.exchange_gbps", "rail", true },
	{ "products of a step, alone", "rank.compute_ms", "rank.compute_ms", NULL, false },
	{ "step, median", "rank.step_p50_ms", "rank.step_p50_ms", NULL, false },
	{ "step, 99th percentile", "rank.step_p99_ms", "rank.step_p99_ms", NULL, false },
	{ "all-reduce, 99th percentile", "rank.allreduce_p99_us", "rank.allreduce_p99_us", NULL, false },
};

#define SPREAD_SHOWN 0.02 /* a rank that is slower by less is as fast as the fastest one */

static bool is_slower(size_t figure, double a, double b)
{
	return figures[figure].less ? a < b : a > b;
}

static bool is_slow(size_t figure, double value, double fastest)
{
	return (figures[figure].less ? fastest / value : value / fastest) > 1 + SPREAD_SHOWN;
}

/* The rank's slowest value of a figure. False when it has none. */
static bool find_value(
	const struct muster_rank *rank, const struct muster_metric *metric, size_t figure, double *ret_value)
{
	bool found = false;
	for (size_t i = 0; i < rank->samples.count; i++) {
		const struct muster_sample *sample = &rank->samples.items[i];
		if (sample->metric != metric || sample->value.type != MUSTER_NUMBER || !(sample->value.number > 0))
			continue;
		const char *kind = muster_label_string(sample->labels, sample->label_count, "kind");
		if (figures[figure].kind && (!kind || strcmp(kind, figures[figure].kind) != 0))
			continue;
		if (!found || is_slower(figure, sample->value.number, *ret_value))
			*ret_value = sample->value.number;
		found = true;
	}
	return found;
}

static void take(struct muster_slowest *slowest, size_t figure, struct muster_slow_rank rank)
{
	size_t at = slowest->count < MUSTER_SLOWEST_SHOWN ? slowest->count++ : MUSTER_SLOWEST_SHOWN;
	for (; at > 0 && is_slower(figure, rank.value, slowest->ranks[at - 1].value); at--)
		if (at < MUSTER_SLOWEST_SHOWN)
			slowest->ranks[at] = slowest->ranks[at - 1];
	if (at < MUSTER_SLOWEST_SHOWN)
		slowest->ranks[at] = rank;
}

static void find_figure(const struct muster_run *run, size_t figure, struct muster_slowest *ret)
{
	const struct muster_metric *metric = muster_metric_find(figures[figure].metric);
	double value = 0;
	*ret = (struct muster_slowest){
		.title = figures[figure].title, .key = figures[figure].key, .unit = muster_metric_unit(metric)
	};
	for (size_t n = 0; n < run->node_count; n++)
		for (size_t r = 0; r < run->nodes[n].rank_count; r++) {
			const struct muster_rank *rank = &run->nodes[n].ranks[r];
			if (!find_value(rank, metric, figure, &value))
				continue;
			ret->fastest = ret->all == 0 || is_slower(figure, ret->fastest, value) ? value : ret->fastest;
			ret->all++;
			take(ret, figure, (struct muster_slow_rank){ &run->nodes[n], rank, value });
		}
	while (ret->slow < ret->count && is_slow(figure, ret->ranks[ret->slow].value, ret->fastest))
		ret->slow++;
}

size_t muster_slowest_find(const struct muster_run *run, struct muster_slowest ret[MUSTER_SLOWEST_FIGURES])
{
	size_t count = 0;
	for (size_t figure = 0; figure < MUSTER_SLOWEST_FIGURES; figure++) {
		find_figure(run, figure, &ret[count]);
		count += ret[count].all > 1;
	}
	return count;
}

char *muster_slowest_text(const struct muster_slowest *slowest)
{
	char value[64];
	char *text = muster_asprintf("%s", "");
	for (size_t i = 0; i < slowest->slow; i++) {
		const struct muster_slow_rank *slow = &slowest->ranks[i];
		char *longer = muster_asprintf("%s%s rank %d (%s), ", text,
			muster_value_text(muster_number(slow->value), value, sizeof value), slow->rank->rank,
			slow->node->name);
		free(text);
		text = longer;
	}
	char *whole = muster_asprintf(
		"%sfastest %s", text, muster_value_text(muster_number(slowest->fastest), value, sizeof value));
	free(text);
	return whole;
}
