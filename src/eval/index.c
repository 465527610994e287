/* index.c - find the samples of each check's metric in two passes over the run
 *
 * One pass counts, the other fills: the cost is that of reading the run twice, for any number of checks. Samples at a
 * place that does not fit their metric's scope, and samples of missing ranks, are ignored.
 */
#include "eval/eval.h"
#include "muster/arena.h"

#include <stdlib.h>

/* The metrics of the checks, each with its samples; open addressing by the metric's address in the catalogue. */
struct slot {
	const struct muster_metric *metric; /* NULL: free */
	struct muster_range range;
};
struct slots {
	struct slot *items;
	size_t mask;
};

/* The metric's slot, or the free one where it would be. */
static struct slot *find_slot(const struct slots *slots, const struct muster_metric *metric)
{
	size_t at = (size_t)(((uintptr_t)metric >> 3) * 0x9e3779b97f4a7c15u >> 20) & slots->mask;
	while (slots->items[at].metric && slots->items[at].metric != metric)
		at = (at + 1) & slots->mask;
	return &slots->items[at];
}

static struct slots make_slots(const struct muster_expect *expect)
{
	size_t room = 64;
	while (room < 4 * expect->check_count)
		room *= 2;
	struct slots slots = { .items = muster_calloc(room, sizeof *slots.items), .mask = room - 1 };
	for (size_t i = 0; i < expect->check_count; i++)
		find_slot(&slots, expect->checks[i].metric)->metric = expect->checks[i].metric;
	return slots;
}

/* Take the samples of one place. Without entries they are only counted. */
static void take(const struct slots *slots, struct muster_entry *entries, const struct muster_samples *samples,
	unsigned int scopes, uint32_t node, uint32_t rank)
{
	for (size_t i = 0; i < samples->count; i++) {
		const struct muster_sample *sample = &samples->items[i];
		struct slot *slot = find_slot(slots, sample->metric);
		if (!slot->metric || !(scopes & 1u << sample->metric->scope))
			continue;
		if (entries)
			entries[slot->range.start + slot->range.count] = (struct muster_entry){ sample, node, rank };
		slot->range.count++;
	}
}

static void walk(const struct slots *slots, struct muster_entry *entries, const struct muster_run *run)
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
	struct slots slots = make_slots(expect);
	size_t total = 0;
	walk(&slots, NULL, run);
	for (size_t i = 0; i <= slots.mask; i++) {
		struct muster_range *range = &slots.items[i].range;
		range->start = total;
		total += range->count;
		range->count = 0;
	}
	index->entries = muster_calloc(total + 1, sizeof *index->entries);
	walk(&slots, index->entries, run);
	index->of_check = muster_calloc(expect->check_count, sizeof *index->of_check);
	for (size_t i = 0; i < expect->check_count; i++)
		index->of_check[i] = find_slot(&slots, expect->checks[i].metric)->range;
	free(slots.items);
}

void muster_index_done(struct muster_index *index)
{
	free(index->entries);
	free(index->of_check);
}

struct muster_cursor muster_cursor_make(const struct muster_index *index, size_t check)
{
	const struct muster_entry *first = &index->entries[index->of_check[check].start];
	return (struct muster_cursor){ .at = first, .end = first + index->of_check[check].count };
}

const struct muster_entry *muster_cursor_next(
	struct muster_cursor *cursor, const struct muster_check *check, uint32_t node, uint32_t rank)
{
	while (cursor->at < cursor->end) {
		const struct muster_entry *entry = cursor->at;
		if (entry->node > node || (entry->node == node && entry->rank > rank))
			return NULL;
		cursor->at++;
		if (entry->node == node && entry->rank == rank && muster_sample_chosen(check, entry->sample))
			return entry;
	}
	return NULL;
}
