/* SPDX-License-Identifier: Apache-2.0 */
/* entries.c - find the samples of each check's metric in two passes over the run, and facts of ranks
 *
 * One pass counts, the other fills: the cost is that of reading the run twice, for any number of checks. Samples at a
 * place that does not fit their metric's scope, and samples of missing ranks, are ignored.
 *
 * The index is one array, in which the samples of a metric lie side by side, in order of node (n) and rank (r):
 *
 *   entries    gpu.h2d_gbps: n0 r0, n0 r1, n1 r0, n1 r1 | gpu.pcie_limit_gbps: n0 r0, ... | nccl.allreduce_busbw_gbps
 *   of_check   copy.h2d and copy.h2d_outlier have the first range, ring.busbw the last one
 *   limits     copy.h2d, with share_of, has the second range as its first one of limits
 *
 * A hash table maps each metric that a check names to its range: first the samples of each slot are counted, then each
 * range gets its start, and the second pass fills it.
 */
#include "eval/entries.h"

#include "util/array.h"

#include <stdlib.h>
#include <string.h>

/* The metrics of the checks, each with its samples; open addressing by the metric's address in the catalogue. */
struct slot {
	const struct muster_metric *metric; /* NULL: free */
	struct muster_range range;
};
struct slots {
	struct slot *items;
	size_t mask;
};

/* The metric's slot, or the free one where it would be. The factor is 2^64 divided by the golden ratio (Fibonacci
 * hashing): it spreads addresses that lie side by side. make_slots leaves slots free, so the search ends. */
static struct slot *find_slot(const struct slots *slots, const struct muster_metric *metric)
{
	size_t at = (size_t)(((uintptr_t)metric >> 3) * 0x9e3779b97f4a7c15u >> 20) & slots->mask;
	while (slots->items[at].metric && slots->items[at].metric != metric)
		at = (at + 1) & slots->mask;
	return &slots->items[at];
}

enum { PER = MUSTER_LIMITS_MOST, RANGES }; /* PER: the range of limit_per, behind those of the limits */

/* The metrics that a value of the check is divided by or shown with, and at ret[PER] the one that counts parts of the
 * limit (limit_per); NULL for none. share_of takes the place of all limits that the metric itself names. */
static void find_limits(const struct muster_check *check, const struct muster_metric *ret[RANGES])
{
	const char *const *names = check->metric->limits;
	for (size_t i = 0; i < MUSTER_LIMITS_MOST; i++)
		ret[i] = NULL;
	ret[0] = check->share_of;
	ret[PER] = check->limit_per.metric;
	for (size_t i = 0; !check->share_of && names[i]; i++)
		ret[i] = muster_metric_find(names[i]);
}

/* Slots of all metrics that checks name. The number of slots is a power of two, for the mask, and at least four times
 * that of the metrics. The caller frees the items. */
static struct slots make_slots(const struct muster_expect *expect)
{
	size_t room = 64;
	while (room < 4 * (1 + RANGES) * expect->check_count)
		room *= 2;
	struct slots slots = { .items = muster_calloc(room, sizeof *slots.items), .mask = room - 1 };
	for (size_t i = 0; i < expect->check_count; i++) {
		const struct muster_metric *limits[RANGES];
		find_limits(&expect->checks[i], limits);
		find_slot(&slots, expect->checks[i].metric)->metric = expect->checks[i].metric;
		for (size_t j = 0; j < RANGES; j++)
			if (limits[j])
				find_slot(&slots, limits[j])->metric = limits[j];
	}
	return slots;
}

/* Take the samples of one place, of metrics with one of these scopes (bits of enum muster_scope). With entries NULL
 * they are only counted: this is the first pass. */
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

static void make_index(struct muster_index *index, const struct muster_run *run, const struct muster_expect *expect)
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
	index->limits = muster_calloc(expect->check_count, sizeof *index->limits);
	for (size_t i = 0; i < expect->check_count; i++) {
		const struct muster_metric *limits[RANGES];
		find_limits(&expect->checks[i], limits);
		index->of_check[i] = find_slot(&slots, expect->checks[i].metric)->range;
		for (size_t j = 0; j < RANGES; j++)
			if (limits[j])
				index->limits[i][j] = find_slot(&slots, limits[j])->range;
	}
	free(slots.items);
}

void muster_entries_make(struct muster_eval *eval)
{
	const struct muster_run *run = eval->run;
	eval->first_rank = muster_calloc(run->node_count + 1, sizeof *eval->first_rank);
	for (size_t n = 0; n < run->node_count; n++) {
		eval->first_rank[n] = eval->rank_count;
		eval->rank_count += run->nodes[n].rank_count;
	}
	if (eval->expect)
		make_index(&eval->index, run, eval->expect);
}

void muster_entries_done(struct muster_eval *eval)
{
	free(eval->index.entries);
	free(eval->index.of_check);
	free(eval->index.limits);
	free(eval->first_rank);
}

static int by_place(const void *a, const void *b)
{
	const struct muster_entry *x = a, *y = b;
	return x->node != y->node ? (x->node < y->node ? -1 : 1) : (x->rank > y->rank) - (x->rank < y->rank);
}

/* The index of the first entry of a range at the place of an entry, or after it; the end of the range when there is
 * none. */
static size_t find_place(const struct muster_index *index, struct muster_range range, const struct muster_entry *entry)
{
	return range.start +
	       muster_array_before(entry, &index->entries[range.start], range.count, sizeof *entry, by_place);
}

bool muster_index_has(const struct muster_index *index, size_t check, uint32_t node, uint32_t rank)
{
	const struct muster_entry place = { .node = node, .rank = rank };
	struct muster_range range = index->of_check[check];
	size_t at = find_place(index, range, &place);
	return at < range.start + range.count && by_place(&place, &index->entries[at]) == 0;
}

/* The limit of one metric at the place of an entry. */
static const struct muster_sample *find_at(
	const struct muster_index *index, struct muster_range range, const struct muster_entry *entry)
{
	size_t low = find_place(index, range, entry), end = range.start + range.count;
	for (; low < end && by_place(entry, &index->entries[low]) == 0; low++)
		if (muster_limit_fits(index->entries[low].sample, entry->sample))
			return index->entries[low].sample;
	return NULL;
}

/* A metric may name several limits: of a copy, first that of NVLink-C2C and then that of PCIe. A GPU without
 * NVLink-C2C has no number for the first one. */
const struct muster_sample *muster_index_limit(
	const struct muster_index *index, size_t check, const struct muster_entry *entry)
{
	const struct muster_sample *unknown = NULL;
	for (size_t i = 0; i < MUSTER_LIMITS_MOST; i++) {
		const struct muster_sample *limit = find_at(index, index->limits[check][i], entry);
		if (limit && limit->value.type == MUSTER_NUMBER && limit->value.number > 0)
			return limit;
		unknown = unknown ? unknown : limit;
	}
	return unknown;
}

const struct muster_sample *muster_index_per(
	const struct muster_index *index, size_t check, const struct muster_entry *entry)
{
	return find_at(index, index->limits[check][PER], entry);
}

struct muster_place muster_entry_place(const struct muster_entry *entry)
{
	const struct muster_sample *sample = entry->sample;
	const char *gpu = muster_label_string(sample->labels, sample->label_count, "gpu");
	const char *port = muster_label_string(sample->labels, sample->label_count, "port");
	return (struct muster_place){ entry->node, entry->rank, gpu ? gpu : port };
}

const struct muster_label *muster_label_unmet(
	const struct muster_label *labels, size_t count, const struct muster_sample *sample)
{
	for (size_t i = 0; i < count; i++) {
		const struct muster_value *label = muster_sample_label(sample, labels[i].key);
		if (!label || !muster_value_equal(*label, labels[i].value))
			return &labels[i];
	}
	return NULL;
}

bool muster_sample_chosen(const struct muster_check *check, const struct muster_sample *sample)
{
	return !muster_label_unmet(check->where, check->where_count, sample);
}

enum muster_status muster_check_status(const struct muster_check *check)
{
	return check->severity == MUSTER_SEVERITY_WARN ? MUSTER_WARN : MUSTER_FAIL;
}

const char *muster_check_excuse(const struct muster_check *check, struct muster_value value)
{
	char text[256];
	if (check->inconclusive_on_count == 0)
		return NULL;
	muster_value_text(value, text, sizeof text);
	for (size_t i = 0; i < check->inconclusive_on_count; i++)
		if (strcmp(check->inconclusive_on[i].value, text) == 0)
			return check->inconclusive_on[i].why;
	return NULL;
}

bool muster_limit_counts(const struct muster_check *check, const struct muster_sample *limit)
{
	return limit && limit->value.type == MUSTER_NUMBER && limit->value.number > 0 &&
	       !muster_label_unmet(check->limit_where, check->limit_where_count, limit);
}

struct muster_cursor muster_cursor_make(const struct muster_index *index, size_t check)
{
	const struct muster_entry *first = &index->entries[index->of_check[check].start];
	return (struct muster_cursor){ .at = first, .end = first + index->of_check[check].count };
}

/* The cursor only moves forward, past all entries of earlier places: the caller asks for places in ascending order. */
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

uint32_t muster_node_leader(const struct muster_node *node)
{
	for (size_t r = 0; r < node->rank_count; r++)
		if (!node->ranks[r].missing)
			return (uint32_t)r;
	return MUSTER_NOWHERE;
}

size_t muster_probe_number(const char *name)
{
	size_t i = 0;
	while (i < muster_probe_count() && strcmp(muster_probe_at(i)->name, name) != 0)
		i++;
	return i;
}

const char *muster_gpu_model(const struct muster_rank *rank, struct muster_arena *arena)
{
	const char *model = muster_sample_text(&rank->samples, "gpu.name", "a GPU of unknown model");
	bool slice = rank->gpu_uuid && strncmp(rank->gpu_uuid, "MIG-", 4) == 0;
	return slice ? muster_arena_printf(arena, "%s, MIG %s", model,
			       muster_sample_text(&rank->samples, "gpu.mig_profile", "instance"))
		     : model;
}
