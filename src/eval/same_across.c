/* same_across.c - check that a value is equal on all nodes or on all ranks
 *
 * Nodes are compared by the sorted set of values on each node, or, with `within`, by the set of values with the same
 * value of that label. When more than half agree, each other node is a finding; without a majority, one finding lists
 * all values.
 */
#include "eval/eval.h"
#include "muster/arena.h"
#include "util/array.h"
#include "util/sort.h"

#include <stdlib.h>
#include <string.h>

#define GROUPS_SHOWN 6

/* A node or a rank that is compared with the others. */
struct peer {
	uint32_t node, rank;                /* rank is MUSTER_NOWHERE when nodes are compared */
	const char *value;                  /* the arena's: equal values are equal pointers */
	const char *within;                 /* the label's value, likewise; NULL when all are compared */
	const struct muster_sample *sample; /* the only sample of the value, if it is about the whole node or rank */
	struct muster_block block;          /* of a warning about one of its values */
};

/* Values seen at one peer, each within a label's value. */
struct seen {
	const char *within, *value;
};
struct across {
	struct muster_eval *eval;
	size_t check_at;
	const struct muster_check *check;
	bool of_ranks; /* ranks are compared; else nodes */
	struct muster_cursor cursor;
	struct peer *peers;
	size_t peer_count, peer_room;
	struct seen *seen; /* at the place at hand */
	size_t seen_count, seen_room;
	const struct muster_sample *last; /* the latest sample that was seen */
	struct muster_block block;        /* at the place at hand, unless it blocks more than warnings */
};

/* Order of two texts of the arena, either of which may be NULL. */
static int by_text(const void *a, const void *b)
{
	const struct seen *x = a, *y = b;
	int order = muster_text_order(x->within, y->within);
	return order ? order : muster_text_order(x->value, y->value);
}

/* The value of the label within which samples are compared; NULL for all of them. */
static const char *within_of(const struct across *a, const struct muster_sample *sample)
{
	const struct muster_value *label = a->check->within ? muster_sample_label(sample, a->check->within) : NULL;
	return label ? muster_describe_value(*label, a->eval->report->arena) : NULL;
}

/* See the values at a place. Returns how many samples there are, null ones included. */
static size_t take_values(struct across *a, uint32_t node, uint32_t rank)
{
	struct muster_arena *arena = a->eval->report->arena;
	const struct muster_entry *entry;
	size_t samples = 0;
	for (; (entry = muster_cursor_next(&a->cursor, a->check, node, rank)); samples++) {
		struct muster_place place = muster_entry_place(entry);
		if (muster_result_blocked(a->eval, a->check_at, place, MUSTER_INCONCLUSIVE))
			continue;
		if (a->block.status == MUSTER_PASS)
			a->block = muster_block_find(a->eval, a->check_at, place);
		if (entry->sample->value.type == MUSTER_NULL) {
			muster_result_take(a->eval, a->check_at, place, entry->sample,
				muster_judge_sample(
					a->check, &a->eval->states[a->check_at], entry->sample, NULL, arena));
			continue;
		}
		muster_result_value(a->eval, a->check_at, entry->sample, NULL);
		MUSTER_ARRAY_PUSH(a->seen, a->seen_count, a->seen_room,
			((struct seen){
				within_of(a, entry->sample), muster_describe_value(entry->sample->value, arena) }));
		a->last = entry->sample;
	}
	return samples;
}

/* One peer, or one for each of the label's values seen there. */
static void add_peers(struct across *a, uint32_t node, uint32_t rank)
{
	bool whole = a->check->metric->scope == MUSTER_SCOPE_NODE || rank != MUSTER_NOWHERE;
	const struct seen *seen = a->seen;
	if (a->seen_count)
		qsort(a->seen, a->seen_count, sizeof *a->seen, by_text);
	for (size_t i = 0, next; i < a->seen_count; i = next) {
		const char *text = seen[i].value;
		for (next = i + 1; next < a->seen_count && seen[next].within == seen[i].within; next++)
			if (seen[next].value != seen[next - 1].value)
				text = muster_arena_printf(a->eval->report->arena, "%s, %s", text, seen[next].value);
		MUSTER_ARRAY_PUSH(a->peers, a->peer_count, a->peer_room,
			(struct peer){ node, rank, text, seen[i].within, whole ? a->last : NULL, a->block });
	}
	a->seen_count = 0;
	a->block = (struct muster_block){ .status = MUSTER_PASS };
}

/* The node's own facts and its ports. A node without any port is a peer too, unless its probe failed. */
static void collect_node(struct across *a, uint32_t n)
{
	if (take_values(a, n, MUSTER_NOWHERE) > 0) {
		add_peers(a, n, MUSTER_NOWHERE);
	} else if (a->check->metric->scope == MUSTER_SCOPE_NODE) {
		muster_result_missing(a->eval, a->check_at, n, MUSTER_NOWHERE);
	} else if (!muster_result_explained(a->eval, a->check_at, n, MUSTER_NOWHERE) && !a->check->within) {
		MUSTER_ARRAY_PUSH(a->peers, a->peer_count, a->peer_room,
			(struct peer){ .node = n,
				.rank = MUSTER_NOWHERE,
				.value = muster_arena_string(a->eval->report->arena, "none") });
	}
}

static void collect_ranks(struct across *a, uint32_t n)
{
	const struct muster_node *node = &a->eval->run->nodes[n];
	for (uint32_t r = 0; r < node->rank_count; r++) {
		if (take_values(a, n, r) == 0)
			muster_result_missing(a->eval, a->check_at, n, r);
		if (a->of_ranks)
			add_peers(a, n, r);
	}
	if (!a->of_ranks)
		add_peers(a, n, MUSTER_NOWHERE);
}

static int by_value(const void *a, const void *b)
{
	const struct peer *x = *(const struct peer *const *)a, *y = *(const struct peer *const *)b;
	int order = muster_text_order(x->within, y->within);
	if (!order)
		order = muster_text_order(x->value, y->value);
	if (!order)
		order = (x->node > y->node) - (x->node < y->node);
	return order ? order : (x->rank > y->rank) - (x->rank < y->rank);
}

/* Peers of one value, side by side. */
struct group {
	size_t start, count;
};

static int by_size(const void *a, const void *b)
{
	const struct group *x = a, *y = b;
	if (x->count != y->count)
		return x->count < y->count ? 1 : -1;
	return (x->start > y->start) - (x->start < y->start);
}

/* "sim-[1-3]" or "ranks 0-7" */
static const char *group_text(const struct across *a, struct peer *const *sorted, struct group group)
{
	const struct muster_node *nodes = a->eval->run->nodes;
	struct muster_arena *arena = a->eval->report->arena;
	const char **names = muster_calloc(group.count, sizeof *names), *text;
	int *ranks = muster_calloc(group.count, sizeof *ranks);
	for (size_t i = 0; i < group.count; i++) {
		const struct peer *peer = sorted[group.start + i];
		names[i] = nodes[peer->node].name;
		ranks[i] = a->of_ranks ? nodes[peer->node].ranks[peer->rank].rank : -1;
	}
	if (a->of_ranks)
		text = muster_arena_printf(arena, "rank%s %s", group.count == 1 ? "" : "s",
			muster_describe_ranks(ranks, group.count, arena));
	else
		text = muster_describe_nodes(names, group.count, arena);
	free(names);
	free(ranks);
	return text;
}

/* What is expected of peers that are compared with each other, but for the value. */
static const char *expected_text(const struct across *a, const struct peer *peer)
{
	const char *who = a->of_ranks ? "ranks" : "nodes";
	struct muster_arena *arena = a->eval->report->arena;
	if (!peer->within)
		return muster_arena_printf(arena, "the same on all %s", who);
	return muster_arena_printf(arena, "the same on all %s within %s %s", who, a->check->within, peer->within);
}

/* Most agree: those who do not are the findings. */
static void judge_majority(struct across *a, struct peer *const *sorted, size_t count, struct group group)
{
	struct muster_arena *arena = a->eval->report->arena;
	const char *value = sorted[group.start]->value, *unit = a->check->metric->unit;
	const char *expected = muster_arena_printf(arena, "%s: %s%s%s (%zu of %zu)", expected_text(a, sorted[0]), value,
		*unit ? " " : "", unit, group.count, count);
	for (size_t i = 0; i < count; i++) {
		const struct peer *peer = sorted[i];
		struct muster_place place = { .node = peer->node, .rank = peer->rank };
		struct muster_verdict verdict = { .status = MUSTER_PASS };
		if (peer->value != value)
			verdict = (struct muster_verdict){
				.status = muster_check_status(a->check), .expected = expected, .observed = peer->value
			};
		if (muster_block_stops(peer->block, verdict.status))
			muster_result_block(a->eval, a->check_at, peer->block.draft);
		else
			muster_result_take(a->eval, a->check_at, place, peer->sample, verdict);
	}
}

/* No majority: one finding for the job. A warning is blocked if another one warned about one of the peers before. */
static void judge_split(
	struct across *a, struct peer *const *sorted, size_t peers, const struct group *groups, size_t count)
{
	struct muster_arena *arena = a->eval->report->arena;
	struct muster_place everywhere = { .node = MUSTER_NOWHERE, .rank = MUSTER_NOWHERE };
	const char *text = "";
	for (size_t i = 0; i < peers; i++) {
		if (!muster_block_stops(sorted[i]->block, muster_check_status(a->check)))
			continue;
		muster_result_block(a->eval, a->check_at, sorted[i]->block.draft);
		return;
	}
	for (size_t i = 0; i < count && i < GROUPS_SHOWN; i++)
		text = muster_arena_printf(arena, "%s%s%s on %s", text, i ? "; " : "", sorted[groups[i].start]->value,
			group_text(a, sorted, groups[i]));
	if (count > GROUPS_SHOWN)
		text = muster_arena_printf(arena, "%s; and %zu more value%s", text, count - GROUPS_SHOWN,
			count == GROUPS_SHOWN + 1 ? "" : "s");
	muster_result_take(a->eval, a->check_at, everywhere, NULL,
		(struct muster_verdict){ .status = muster_check_status(a->check),
			.expected = expected_text(a, sorted[0]),
			.observed = text });
}

/* Peers that are compared with each other, sorted by value. There is room for as many groups as peers. */
static void judge_peers(struct across *a, struct peer *const *sorted, size_t count, struct group *groups)
{
	size_t groups_count = 0;
	for (size_t i = 0; i < count; i++) {
		if (i == 0 || sorted[i]->value != sorted[i - 1]->value)
			groups[groups_count++] = (struct group){ .start = i };
		groups[groups_count - 1].count++;
	}
	qsort(groups, groups_count, sizeof *groups, by_size);
	if (groups[0].count > count / 2)
		judge_majority(a, sorted, count, groups[0]);
	else
		judge_split(a, sorted, count, groups, groups_count);
}

static void judge_all(struct across *a)
{
	size_t count = a->peer_count;
	struct peer **sorted = muster_calloc(count + 1, sizeof *sorted);
	struct group *groups = muster_calloc(count + 1, sizeof *groups);
	for (size_t i = 0; i < count; i++)
		sorted[i] = &a->peers[i];
	qsort(sorted, count, sizeof *sorted, by_value);
	for (size_t i = 0, next; i < count; i = next) {
		for (next = i + 1; next < count && sorted[next]->within == sorted[i]->within;)
			next++;
		memset(groups, 0, (next - i) * sizeof *groups);
		judge_peers(a, &sorted[i], next - i, groups);
	}
	free(sorted);
	free(groups);
}

void muster_judge_across(struct muster_eval *eval, size_t check_at)
{
	struct across a = {
		.eval = eval,
		.check_at = check_at,
		.check = &eval->expect->checks[check_at],
		.of_ranks = muster_check_operand(&eval->expect->checks[check_at], MUSTER_OF_PEERS)->peers ==
			    MUSTER_SCOPE_RANK,
		.cursor = muster_cursor_make(&eval->index, check_at),
	};
	enum muster_scope scope = a.check->metric->scope;
	for (uint32_t n = 0; n < eval->run->node_count; n++) {
		if (muster_node_leader(&eval->run->nodes[n]) == MUSTER_NOWHERE) {
			muster_result_node_missing(eval, check_at, n);
			continue;
		}
		muster_finding_draft_fold_here(eval);
		if (scope == MUSTER_SCOPE_NODE || scope == MUSTER_SCOPE_PORT)
			collect_node(&a, n);
		else
			collect_ranks(&a, n);
	}
	muster_finding_draft_fold_here(eval);
	judge_all(&a);
	free(a.peers);
	free(a.seen);
}
