/* index.c - find the samples of each check's metric in two passes over the run
 *
 * One pass counts, the other fills: the cost is that of reading the run twice, for any number of checks. Samples at a
 * place that does not fit their metric's scope, and samples of missing ranks, are ignored.
 */
#include "eval/eval.h"
#include "muster/arena.h"

#include <stdlib.h>

/* Metrics are known by their address in the catalogue: a small open-addressing table turns it into a slot. */
struct slots {
	const struct muster_metric **metrics;
	size_t *slot_of;
	size_t mask;
	struct muster_range *ranges;
	size_t count;
};

static size_t slot_place(const struct slots *slots, const struct muster_metric *metric)
{
	size_t at = (size_t)(((uintptr_t)metric >> 3) * 0x9e3779b97f4a7c15u >> 20) & slots->mask;
	while (slots->metrics[at] && slots->metrics[at] != metric)
		at = (at + 1) & slots->mask;
	return at;
}

static void slots_make(struct slots *slots, const struct muster_expect *expect)
{
	size_t room = 64;
	while (room < 4 * expect->check_count)
		room *= 2;
	slots->mask = room - 1;
	slots->metrics = muster_calloc(room, sizeof *slots->metrics);
	slots->slot_of = muster_calloc(room, sizeof *slots->slot_of);
	slots->ranges = muster_calloc(expect->check_count, sizeof *slots->ranges);
	for (size_t i = 0; i < expect->check_count; i++) {
		size_t at = slot_place(slots, expect->checks[i].metric);

		if (slots->metrics[at])
			continue;
		slots->metrics[at] = expect->checks[i].metric;
		slots->slot_of[at] = slots->count++;
	}
}

/* Take the samples of one place. Without entries they are only counted. */
static void take(struct slots *slots, struct muster_entry *entries, const struct muster_samples *samples,
	unsigned int scopes, uint32_t node, uint32_t rank)
{
	for (size_t i = 0; i < samples->count; i++) {
		const struct muster_sample *sample = &samples->items[i];
		size_t at = slot_place(slots, sample->metric);
		struct muster_range *range;

		if (!slots->metrics[at] || !(scopes & 1u << sample->metric->scope))
			continue;
		range = &slots->ranges[slots->slot_of[at]];
		if (entries)
			entries[range->start + range->count] = (struct muster_entry){ sample, node, rank };
		range->count++;
	}
}

static void walk(struct slots *slots, struct muster_entry *entries, const struct muster_run *run)
{
	const unsigned int of_node = 1u << MUSTER_SCOPE_NODE | 1u << MUSTER_SCOPE_PORT;
	const unsigned int of_rank = 1u << MUSTER_SCOPE_RANK | 1u << MUSTER_SCOPE_GPU;
	take(slots, entries, &run->job.samples, 1u << MUSTER_SCOPE_JOB, MUSTER_NOWHERE, MUSTER_NOWHERE);
	for (size_t n = 0; n < run->node_count; n++) {
		const struct muster_node *node = &run->nodes[n];

		take(slots, entries, &node->samples, of_node, (uint32_t)n, MUSTER_NOWHERE);
		for (size_t r = 0; r < node->rank_count; r++)
			if (!node->ranks[r].missing)
				take(slots, entries, &node->ranks[r].samples, of_rank, (uint32_t)n, (uint32_t)r);
	}
}

void muster_index_make(struct muster_index *index, const struct muster_run *run, const struct muster_expect *expect)
{
	struct slots slots = { 0 };
	size_t total = 0;
	slots_make(&slots, expect);
	walk(&slots, NULL, run);
	for (size_t i = 0; i < slots.count; i++) {
		slots.ranges[i].start = total;
		total += slots.ranges[i].count;
		slots.ranges[i].count = 0;
	}
	index->entries = muster_calloc(total + 1, sizeof *index->entries);
	walk(&slots, index->entries, run);
	index->of_check = muster_calloc(expect->check_count, sizeof *index->of_check);
	for (size_t i = 0; i < expect->check_count; i++)
		index->of_check[i] = slots.ranges[slots.slot_of[slot_place(&slots, expect->checks[i].metric)]];
	free(slots.metrics);
	free(slots.slot_of);
	free(slots.ranges);
}

void muster_index_done(struct muster_index *index)
{
	free(index->entries);
	free(index->of_check);
}
