/* peers.c - the nodes or ranks that a check with same_across compares with each other, and their values
 *
 * Nodes are compared by the sorted values on each node and how many there are of each, or, with `within`, by those with
 * the same value of that label.
 */
#include "eval/peers.h"

#include "muster/arena.h"
#include "util/array.h"
#include "util/sort.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct search {
	struct muster_eval *eval;
	size_t check_at;
	const struct muster_check *check;
	bool of_ranks; /* ranks are compared; else nodes */
	struct muster_cursor cursor;
	struct muster_across_peer *peers;
	size_t peer_count, peer_room;
	struct muster_seen *seen; /* at the place at hand */
	size_t seen_count, seen_room;
	struct muster_block block; /* at the place at hand, unless it blocks more than warnings */
};

/* Order of two texts of the arena, either of which may be NULL. */
static int by_text(const void *a, const void *b)
{
	const struct muster_seen *x = a, *y = b;
	int order = muster_text_order(x->within, y->within);
	return order ? order : muster_text_order(x->key, y->key);
}

/* What a value is compared by: a VM size is the same in upper and lower case, and by each name that the file of the
 * machine type lists. */
static const char *key_of(const struct search *s, const char *value)
{
	const struct muster_expect *expect = s->eval->expect;
	struct muster_arena *arena = s->eval->report->arena;
	if (strcmp(s->check->metric->name, "node.vm_size") != 0)
		return value;
	for (size_t i = 0; i < expect->vm_size_count; i++)
		if (strcasecmp(expect->vm_sizes[i], value) == 0)
			return muster_arena_string(arena, expect->vm_sizes[0]);
	char *lower = muster_arena_alloc(arena, strlen(value) + 1);
	for (size_t i = 0; i == 0 || value[i - 1]; i++)
		lower[i] = (char)tolower((unsigned char)value[i]);
	return muster_arena_string(arena, lower);
}

/* The value of the label within which samples are compared; NULL for all of them. */
static const char *within_of(const struct search *s, const struct muster_sample *sample)
{
	const struct muster_value *label = s->check->within ? muster_sample_label(sample, s->check->within) : NULL;
	return label ? muster_describe_value(*label, s->eval->report->arena) : NULL;
}

/* See the values at a place. Returns how many samples there are, null ones included. */
static size_t take_values(struct search *s, uint32_t node, uint32_t rank)
{
	struct muster_arena *arena = s->eval->report->arena;
	const struct muster_entry *entry;
	size_t samples = 0;
	for (; (entry = muster_cursor_next(&s->cursor, s->check, node, rank)); samples++) {
		struct muster_place place = muster_entry_place(entry);
		if (muster_result_blocked(s->eval, s->check_at, place, MUSTER_INCONCLUSIVE))
			continue;
		if (s->block.status == MUSTER_PASS)
			s->block = muster_block_find(s->eval, s->check_at, place);
		if (entry->sample->value.type == MUSTER_NULL) {
			muster_result_take(s->eval, s->check_at, place, entry->sample,
				muster_judge_sample(
					s->check, &s->eval->states[s->check_at], entry->sample, NULL, arena));
			continue;
		}
		muster_result_value(s->eval, s->check_at, entry->sample, NULL);
		const char *value = muster_describe_value(entry->sample->value, arena);
		MUSTER_ARRAY_PUSH(s->seen, s->seen_count, s->seen_room,
			((struct muster_seen){
				within_of(s, entry->sample), value, key_of(s, value), place, entry->sample }));
	}
	return samples;
}

/* "100, 7 x 200"; of one value how often it stands there says nothing of the node. */
static void set_value(const struct search *s, struct muster_across_peer *peer)
{
	struct muster_arena *arena = s->eval->report->arena;
	const struct muster_seen *seen = peer->seen;
	bool several = seen[0].key != seen[peer->seen_count - 1].key;
	peer->value = peer->key = "";
	for (size_t i = 0, next; i < peer->seen_count; i = next) {
		for (next = i + 1; next < peer->seen_count && seen[next].key == seen[i].key;)
			next++;
		const char *joint = i ? ", " : "";
		const char *times = several && next > i + 1 ? muster_arena_printf(arena, "%zu x ", next - i) : "";
		peer->value = muster_arena_printf(arena, "%s%s%s%s", peer->value, joint, times, seen[i].value);
		peer->key = muster_arena_printf(arena, "%s%s%s%s", peer->key, joint, times, seen[i].key);
	}
}

/* One peer, or one for each of the label's values seen there. */
static void add_peers(struct search *s, uint32_t node, uint32_t rank)
{
	struct muster_arena *arena = s->eval->report->arena;
	struct muster_seen *seen = s->seen_count ? muster_arena_alloc(arena, s->seen_count * sizeof *seen) : NULL;
	if (s->seen_count) {
		qsort(s->seen, s->seen_count, sizeof *s->seen, by_text);
		memcpy(seen, s->seen, s->seen_count * sizeof *seen);
	}
	for (size_t i = 0, next; i < s->seen_count; i = next) {
		for (next = i + 1; next < s->seen_count && seen[next].within == seen[i].within;)
			next++;
		struct muster_across_peer peer = {
			.node = node,
			.rank = rank,
			.within = seen[i].within,
			.seen = &seen[i],
			.seen_count = next - i,
			.block = s->block,
		};
		set_value(s, &peer);
		MUSTER_ARRAY_PUSH(s->peers, s->peer_count, s->peer_room, peer);
	}
	s->seen_count = 0;
	s->block = (struct muster_block){ .status = MUSTER_PASS };
}

/* The node's own facts and its ports. A node without any port is a peer too, unless its probe failed. */
static void collect_node(struct search *s, uint32_t n)
{
	if (take_values(s, n, MUSTER_NOWHERE) > 0) {
		add_peers(s, n, MUSTER_NOWHERE);
	} else if (s->check->metric->scope == MUSTER_SCOPE_NODE) {
		muster_result_missing(s->eval, s->check_at, n, MUSTER_NOWHERE);
	} else if (!muster_result_explained(s->eval, s->check_at, n, MUSTER_NOWHERE) && !s->check->within) {
		const char *none = muster_arena_string(s->eval->report->arena, "none");
		MUSTER_ARRAY_PUSH(s->peers, s->peer_count, s->peer_room,
			((struct muster_across_peer){ .node = n, .rank = MUSTER_NOWHERE, .value = none, .key = none }));
	}
}

static void collect_ranks(struct search *s, uint32_t n)
{
	const struct muster_node *node = &s->eval->run->nodes[n];
	for (uint32_t r = 0; r < node->rank_count; r++) {
		if (take_values(s, n, r) == 0)
			muster_result_missing(s->eval, s->check_at, n, r);
		if (s->of_ranks)
			add_peers(s, n, r);
	}
	if (!s->of_ranks)
		add_peers(s, n, MUSTER_NOWHERE);
}

struct muster_across_peer *muster_peers_find(
	struct muster_eval *eval, size_t check_at, bool of_ranks, size_t *ret_count)
{
	struct search s = {
		.eval = eval,
		.check_at = check_at,
		.check = &eval->expect->checks[check_at],
		.of_ranks = of_ranks,
		.cursor = muster_cursor_make(&eval->index, check_at),
	};
	enum muster_scope scope = s.check->metric->scope;
	for (uint32_t n = 0; n < eval->run->node_count; n++) {
		if (muster_node_leader(&eval->run->nodes[n]) == MUSTER_NOWHERE) {
			muster_result_node_missing(eval, check_at, n);
			continue;
		}
		muster_finding_draft_fold_here(eval);
		if (scope == MUSTER_SCOPE_NODE || scope == MUSTER_SCOPE_PORT)
			collect_node(&s, n);
		else
			collect_ranks(&s, n);
	}
	muster_finding_draft_fold_here(eval);
	free(s.seen);
	*ret_count = s.peer_count;
	return s.peers;
}
