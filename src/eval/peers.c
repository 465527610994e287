/* SPDX-License-Identifier: Apache-2.0 */
/* peers.c - the values that a check compares a value with: of which places, their median, and how far they are from it
 *
 * The ways to say who is odd, by operator:
 *   min_of_median      below a share of the median of all values, the own one among them
 *                      0.9: 44 among seven of 50
 *   max_of_median      above a multiple of this median
 *                      1.2: 61 us among seven of 50 us
 *   slower_than_peers  worse than the median of the other ranks with the GPU's model, by a share and by so many MAD
 *                      fail 0.1, mad 3: 11.2 ms where the others have 10 ms with a MAD of 0.1 ms
 *   outlier            the same by a share and a z-score, on nodes of one VM size; not where a group of these is as
 *                      low, or of the same GPU on other nodes (alike)
 *                      share 0.05, z 3.5: 47 among 31 of 49.8 to 50.2
 *   min of a share_of  below a share of the median of exchanges that are alike (derive_usual.c)
 *                      0.7: 30 where the best exchanges of twelve ranks have 45
 *   same_across        another value than most nodes or ranks have (same_across.c)
 *                      570.86 on one of four nodes, 580.95 on three
 *
 * All values of a group are sorted once; a rank's others are these without its own, so that each rank costs a few
 * binary searches. expect/peers.c has what the operators say of them.
 *
 * MAD is the median distance from the median: of 9, 10, 10, 10, 11 and 30 the median is 10, the distances are 1, 0, 0,
 * 0, 1 and 20, and the MAD is 0.5. Unlike a standard deviation it is not moved by the value 30, which is to be found.
 *
 * Two never judge each other: which one is wrong is unknown. Three warn, six may fail one of them, which counts too.
 * The six are for speeds and times, which scatter; a fact, such as a number of links, is one with three as well.
 * Other ranks that are as slow do not count: half of eight ranks, such as all of one node, may have the usual speed.
 */
#include "eval/answers.h"
#include "eval/exchange_peers.h"

#include "util/array.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WARN_LEAST 3
#define FAIL_LEAST 6

struct member {
	const struct muster_sample *sample;
	double value;    /* with share_of its share */
	const char *key; /* what those have in common that are compared: equal texts are equal pointers */
	size_t group;
};

/* The values of the members with one key, ascending. */
struct group {
	const char *key;
	double *values;
	size_t count;
	double mean_deviation; /* the mean distance of all values from their median */
};

struct grouping {
	struct member *members; /* by address of the sample */
	struct group *groups;
	double *values;
};

/* Groupings. OTHERS: by GPU model, and of an outlier by VM size too. ALIKE: by the bus ids of the GPUs besides
 * (key_of). */
enum { OTHERS = 0, ALIKE };

struct muster_peers {
	const struct muster_check *check;
	const struct muster_operand *operand;
	enum muster_operator_kind kind;
	struct grouping groupings[2]; /* ALIKE: of an outlier only */
	size_t count;                 /* of members */
	size_t places;                /* ranks, or values of nodes and ports */
	struct muster_arena *arena;
};

static int by_sample(const void *a, const void *b)
{
	const struct member *x = a, *y = b;
	return ((uintptr_t)x->sample > (uintptr_t)y->sample) - ((uintptr_t)x->sample < (uintptr_t)y->sample);
}

static int by_key(const void *a, const void *b)
{
	const struct member *x = a, *y = b;
	if (x->key != y->key)
		return (uintptr_t)x->key > (uintptr_t)y->key ? 1 : -1;
	return (x->value > y->value) - (x->value < y->value);
}

/* "2 GPUs" */
static const char *places_text(const struct muster_check *check, size_t places, struct muster_arena *arena)
{
	enum muster_scope scope = check->metric->scope;
	const char *name = scope == MUSTER_SCOPE_GPU    ? "GPU"
			   : scope == MUSTER_SCOPE_NODE ? "value"
							: muster_scope_name(scope);
	return muster_arena_printf(arena, "%zu %s%s", places, name, places == 1 ? "" : "s");
}

/* Why so few places, the own one counted, judge none of them; NULL: they do. */
static const char *why_few(const struct muster_check *check, size_t places, struct muster_arena *arena)
{
	return places >= WARN_LEAST ? NULL
				    : muster_arena_printf(arena, "only %s to compare, and %d are needed",
					      places_text(check, places, arena), WARN_LEAST);
}

/* Whether a value counts for the others: not where it is null, excused, or explained by a finding. *ret: the value, or
 * with share_of its share. */
static bool takes(const struct muster_eval *eval, size_t at, const struct muster_entry *entry, double *ret)
{
	const struct muster_check *check = &eval->checks[at];
	const struct muster_sample *sample = entry->sample;
	const struct muster_sample *limit = check->share_of ? muster_index_limit(&eval->index, at, entry) : NULL;
	if (sample->value.type != MUSTER_NUMBER || !muster_sample_chosen(check, sample) ||
		muster_node_leader(&eval->run->nodes[entry->node]) == MUSTER_NOWHERE ||
		muster_check_excuse(check, sample->value) || (check->share_of && !muster_limit_counts(check, limit)))
		return false;
	*ret = sample->value.number / (limit ? limit->value.number : 1);
	return true;
}

/* Whether the entry is a place of its own: samples of one rank, such as exchanges with two partners, are one place. */
static bool is_next(const struct muster_entry *last, const struct muster_entry *entry)
{
	return !last || entry->rank == MUSTER_NOWHERE || entry->rank != last->rank || entry->node != last->node;
}

/* The model of its GPU; of an outlier with the VM size; and for those alike with the GPU, and the GPU of the other end
 * of an exchange. */
static const char *key_of(
	const struct muster_eval *eval, const struct muster_entry *entry, enum muster_operator_kind kind, bool alike)
{
	const struct muster_node *node = &eval->run->nodes[entry->node];
	if (kind == MUSTER_OF_MEDIAN)
		return NULL;
	const struct muster_rank *rank = &node->ranks[entry->rank];
	const char *model = muster_gpu_model(rank, eval->arena),
		   *peer = muster_sample_label_text(entry->sample, "peer_gpu");
	if (kind == MUSTER_OF_OTHERS)
		return muster_arena_string(eval->arena, model);
	const char *size = muster_sample_text(&node->samples, "node.vm_size", "");
	return muster_arena_printf(
		eval->arena, "%s\n%s\n%s\n%s", model, size, alike && rank->gpu ? rank->gpu : "", alike ? peer : "");
}

/* Equal keys become groups; then members lie by sample. */
static void make_groups(struct grouping *grouping, size_t count)
{
	struct group *group = grouping->groups - 1;
	qsort(grouping->members, count, sizeof *grouping->members, by_key);
	for (size_t i = 0; i < count; i++) {
		struct member *member = &grouping->members[i];
		grouping->values[i] = member->value;
		if (i == 0 || member->key != member[-1].key)
			*++group = (struct group){ .key = member->key, .values = &grouping->values[i] };
		member->group = (size_t)(group - grouping->groups);
		group->count++;
	}
	for (size_t i = 0; i < count; i++) {
		group = &grouping->groups[grouping->members[i].group];
		double median = (group->values[(group->count - 1) / 2] + group->values[group->count / 2]) / 2;
		group->mean_deviation += fabs(grouping->members[i].value - median);
		if (&group->values[group->count - 1] == &grouping->values[i])
			group->mean_deviation /= (double)group->count;
	}
	qsort(grouping->members, count, sizeof *grouping->members, by_sample);
}

struct muster_peers *muster_peers_make(const struct muster_eval *eval, size_t at, muster_explained_fn *is_explained)
{
	const struct muster_range range = eval->index.of_check[at];
	struct muster_peers *peers = muster_calloc(1, sizeof *peers);
	const struct muster_entry *last = NULL;
	peers->check = &eval->checks[at];
	peers->operand = muster_check_comparing(peers->check);
	peers->kind = peers->operand->operator->kind;
	peers->arena = eval->arena;
	for (size_t g = 0; g < (peers->kind == MUSTER_OF_FLEET ? 2 : 1); g++) {
		struct grouping *grouping = &peers->groupings[g];
		grouping->members = muster_calloc(range.count + 1, sizeof *grouping->members);
		grouping->groups = muster_calloc(range.count + 1, sizeof *grouping->groups);
		grouping->values = muster_calloc(range.count + 1, sizeof *grouping->values);
		peers->count = peers->places = 0;
		for (size_t i = 0; i < range.count; i++) {
			const struct muster_entry *entry = &eval->index.entries[range.start + i];
			struct member *member = &grouping->members[peers->count];
			if (!takes(eval, at, entry, &member->value) ||
				is_explained(eval, at, muster_entry_place(entry)))
				continue;
			peers->count++;
			peers->places += is_next(last, entry);
			last = entry;
			member->sample = entry->sample;
			member->key = key_of(eval, entry, peers->kind, g == ALIKE);
		}
		make_groups(grouping, peers->count);
	}
	return peers;
}

/* The value at a place among a group's values without the one at `own`. */
static double value_at(const struct group *group, size_t own, size_t place)
{
	return group->values[place < own ? place : place + 1];
}

/* The distance from the middle of the one that is number `rank` (from 0) by that distance. */
static double distance_of(const struct group *group, size_t own, double middle, size_t rank)
{
	size_t count = rank + 1, low = 0, high = group->count - 1 - count;
	while (low < high) { /* the first of the `count` values that are next to the middle */
		size_t first = low + (high - low) / 2;
		if (middle - value_at(group, own, first) > value_at(group, own, first + count) - middle)
			low = first + 1;
		else
			high = first;
	}
	return fmax(fabs(middle - value_at(group, own, low)), fabs(value_at(group, own, low + rank) - middle));
}

/* How many values of the group are lower than this one. */
static size_t below(const struct group *group, double value)
{
	return muster_array_before(&value, group->values, group->count, sizeof value, muster_by_double);
}

/* How many of the others are, by the share and the MAD at which the operator first speaks, worse than the median. */
static size_t count_bad(
	const struct muster_peers *peers, const struct group *group, const struct muster_others *others, double own)
{
	const struct muster_operand *operand = peers->operand;
	bool slower = operand->operator->kind == MUSTER_OF_OTHERS;
	double share = slower ? operand->value.number : operand->warn,
	       away = fmax(share * others->median, operand->mad * others->deviation), above = others->median + away;
	if (slower && muster_units[peers->check->metric->unit].time)
		return group->count - below(group, nextafter(above, INFINITY)) - (own > above);
	return below(group, others->median - away) - (own < others->median - away);
}

struct muster_others muster_peers_all(const struct muster_peers *peers)
{
	const struct group *all = &peers->groupings[OTHERS].groups[0];
	struct muster_others found = { .count = peers->count, .places = peers->places };
	if (peers->count > 0)
		found.median = all->values[(all->count - 1) / 2] / 2 + all->values[all->count / 2] / 2;
	found.why_none = peers->count == 0  ? "no value"
			 : found.median < 0 ? "the median is below 0" /* a share of it would lie above it */
					    : why_few(peers->check, peers->places, peers->arena);
	return found;
}

static struct muster_others find(
	const struct muster_peers *peers, const struct grouping *grouping, const struct muster_sample *sample)
{
	const struct member key = { .sample = sample };
	const struct member *member = bsearch(&key, grouping->members, peers->count, sizeof key, by_sample);
	if (!member)
		return (struct muster_others){ .why_none = "its own value does not count" };
	const struct group *group = &grouping->groups[member->group];
	size_t count = group->count - 1;
	size_t low = below(group, member->value); /* its own place: any that has the same value will do */
	struct muster_others found = {
		.count = count, .model = group->key, .lower = low, .mean_deviation = group->mean_deviation
	};
	if (count == 0) {
		found.why_none = "no other rank has this GPU model, so there is nothing to compare with";
		return found;
	}
	found.median = (value_at(group, low, (count - 1) / 2) + value_at(group, low, count / 2)) / 2;
	found.deviation = (distance_of(group, low, found.median, (count - 1) / 2) +
				  distance_of(group, low, found.median, count / 2)) /
			  2;
	found.bad = count_bad(peers, group, &found, member->value);
	found.places = count + 1 - found.bad;
	if (!(found.median > 0))
		found.why_none = "the median of the other ranks is not above 0";
	else if (peers->kind == MUSTER_OF_OTHERS)
		found.why_none = why_few(peers->check, count + 1, peers->arena);
	return found;
}

struct muster_others muster_peers_others(
	const struct muster_peers *peers, const struct muster_sample *sample, struct muster_others *ret_like)
{
	*ret_like = (struct muster_others){ 0 };
	if (peers->kind == MUSTER_OF_MEDIAN)
		return muster_peers_all(peers);
	if (peers->kind == MUSTER_OF_FLEET)
		*ret_like = find(peers, &peers->groupings[ALIKE], sample);
	return find(peers, &peers->groupings[OTHERS], sample);
}

void muster_peers_free(struct muster_peers *peers)
{
	if (!peers)
		return;
	for (size_t i = 0; i < 2; i++) {
		free(peers->groupings[i].members);
		free(peers->groupings[i].groups);
		free(peers->groupings[i].values);
	}
	free(peers);
}

/* ---- how many it takes to fail one ---- */

static bool has_same(const char *label, const struct muster_sample *a, const struct muster_sample *b)
{
	return strcmp(muster_sample_label_text(a, label), muster_sample_label_text(b, label)) == 0;
}

/* The ranks whose exchanges the limit is the median of, FAIL_LEAST at most; 0: it is no such limit. Exchanges that are
 * alike have the same median and, within a node or through an unknown NIC, the same GPU; path "node" is NVLink, also
 * between nodes (derive_usual.c). */
static size_t usual_ranks(const struct muster_eval *eval, size_t at, const struct muster_sample *limit)
{
	const struct muster_range range = eval->index.limits[at][0];
	const struct muster_entry *one = &eval->index.entries[range.start], *end = one + range.count, *own = one,
				  *last = NULL;
	size_t ranks = 0;
	if (!limit || !limit->metric->is_usual)
		return 0;
	while (own->sample != limit)
		own++;
	const struct muster_node *node = &eval->run->nodes[own->node];
	const char *gpu = node->ranks[own->rank].gpu;
	bool by_gpu = strcmp(muster_sample_label_text(limit, "peer_node"), node->name) == 0 ||
		      (strcmp(muster_sample_label_text(limit, "path"), "node") != 0 && !muster_exchange_nic(limit));
	for (; one < end && ranks < FAIL_LEAST; one++) {
		if (!muster_value_equal(one->sample->value, limit->value) || !has_same("path", one->sample, limit) ||
			!has_same("kind", one->sample, limit) || !has_same("nic", one->sample, limit) ||
			(by_gpu && muster_text_order(eval->run->nodes[one->node].ranks[one->rank].gpu, gpu) != 0))
			continue;
		ranks += is_next(last, one);
		last = one;
	}
	return ranks;
}

const char *muster_peers_few(const struct muster_eval *eval, size_t at, const struct muster_question *question,
	const struct muster_sample *limit)
{
	const enum muster_operator_kind kind = question->operand->operator->kind;
	bool compared = kind == MUSTER_OF_MEDIAN || kind == MUSTER_OF_OTHERS;
	size_t places = compared ? question->others->places : usual_ranks(eval, at, limit);
	if (places == 0 || places >= FAIL_LEAST || muster_check_status(question->check) != MUSTER_FAIL ||
		!muster_metric_scatters(question->check->metric))
		return NULL;
	return muster_arena_printf(question->arena, "only a warning among %s: %d are needed to fail one",
		places_text(question->check, places, question->arena), FAIL_LEAST);
}
