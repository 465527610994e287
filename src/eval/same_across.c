/* same_across.c - check that a value is equal on all nodes or on all ranks
 *
 * When more than half agree, each other node is a finding, which names the port or the GPU that differs; without a
 * majority, one finding lists all values. With `uniform`, the values on one node are compared with each other too.
 */
#include "eval/eval.h"
#include "muster/arena.h"
#include "muster/run_data.h"
#include "util/array.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Nodes are compared by the sorted values on each node and how many there are of each, or, with `within`, by those with
 * the same value of that label. */

#define GROUPS_SHOWN 6

/* A value seen at one peer, within a label's value. Texts are the arena's: equal ones are equal pointers. */
struct seen_value {
	const char *within;      /* NULL when all are compared */
	const char *value, *key; /* as it is shown, and as it is compared */
	struct muster_place place;
	const struct muster_sample *sample;
};

/* A node or a rank that is compared with the others. */
struct across_peer {
	uint32_t node, rank; /* rank is MUSTER_NOWHERE when nodes are compared */
	const char *within, *value, *key;
	const struct seen_value *seen; /* the arena's */
	size_t seen_count;
	struct muster_block block; /* of a warning about one of its values */
};

struct across {
	struct muster_eval *eval;
	size_t check_at;
	const struct muster_check *check;
	bool of_ranks; /* ranks are compared; else nodes */
	struct muster_cursor cursor;
	struct across_peer *peers;
	size_t peer_count, peer_room;
	struct seen_value *seen; /* at the place at hand */
	size_t seen_count, seen_room;
	struct muster_block block; /* at the place at hand, unless it blocks more than warnings */
};

/* Order of two texts of the arena, either of which may be NULL. */
static int by_text(const void *a, const void *b)
{
	const struct seen_value *x = a, *y = b;
	int order = muster_text_order(x->within, y->within);
	return order ? order : muster_text_order(x->key, y->key);
}

/* What a value is compared by: a VM size is the same in upper and lower case, and by each name that the file of the
 * machine type lists. */
static const char *key_of(const struct across *a, const char *value)
{
	const struct muster_expect *expect = a->eval->expect;
	struct muster_arena *arena = a->eval->report->arena;
	if (strcmp(a->check->metric->name, "node.vm_size") != 0)
		return value;
	for (size_t i = 0; i < expect->vm_size_count; i++)
		if (strcasecmp(expect->vm_sizes[i], value) == 0)
			return muster_arena_string(arena, expect->vm_sizes[0]);
	char *lower = muster_arena_alloc(arena, strlen(value) + 1);
	for (size_t i = 0; i == 0 || value[i - 1]; i++)
		lower[i] = (char)tolower((unsigned char)value[i]);
	return muster_arena_string(arena, lower);
}

/* The value of the label within which samples are compared; NULL for all of them. On one node, GPUs are compared with
 * those of their model. */
static const char *within_of(const struct across *a, const struct muster_entry *entry)
{
	struct muster_arena *arena = a->eval->report->arena;
	const struct muster_value *label =
		a->check->within ? muster_sample_label(entry->sample, a->check->within) : NULL;
	if (a->check->uniform && a->check->metric->scope == MUSTER_SCOPE_GPU)
		return muster_arena_string(
			arena, muster_gpu_model(&a->eval->run->nodes[entry->node].ranks[entry->rank], arena));
	return label ? muster_describe_value(*label, arena) : NULL;
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
				muster_judge_sample(a->eval, a->check_at, entry->sample, NULL));
			continue;
		}
		muster_result_value(a->eval, a->check_at, entry->sample, NULL);
		const char *value = muster_describe_value(entry->sample->value, arena);
		MUSTER_ARRAY_PUSH(a->seen, a->seen_count, a->seen_room,
			((struct seen_value){ within_of(a, entry), value, key_of(a, value), place, entry->sample }));
	}
	return samples;
}

/* "100, 7 x 200"; of one value how often it stands there says nothing of the node. */
static void set_value(const struct across *a, struct across_peer *peer)
{
	struct muster_arena *arena = a->eval->report->arena;
	const struct seen_value *seen = peer->seen;
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
static void add_peers(struct across *a, uint32_t node, uint32_t rank)
{
	struct muster_arena *arena = a->eval->report->arena;
	struct seen_value *seen = a->seen_count ? muster_arena_alloc(arena, a->seen_count * sizeof *seen) : NULL;
	if (a->seen_count) {
		qsort(a->seen, a->seen_count, sizeof *a->seen, by_text);
		memcpy(seen, a->seen, a->seen_count * sizeof *seen);
	}
	for (size_t i = 0, next; i < a->seen_count; i = next) {
		for (next = i + 1; next < a->seen_count && seen[next].within == seen[i].within;)
			next++;
		struct across_peer peer = {
			.node = node,
			.rank = rank,
			.within = seen[i].within,
			.seen = &seen[i],
			.seen_count = next - i,
			.block = a->block,
		};
		set_value(a, &peer);
		MUSTER_ARRAY_PUSH(a->peers, a->peer_count, a->peer_room, peer);
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
		const char *none = muster_arena_string(a->eval->report->arena, "none");
		MUSTER_ARRAY_PUSH(a->peers, a->peer_count, a->peer_room,
			((struct across_peer){ .node = n, .rank = MUSTER_NOWHERE, .value = none, .key = none }));
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

/* The peers of the check, in order of node and rank. Values that prove nothing, or are missing or blocked, are taken in
 * as results of the check here. */
static void find_peers(struct across *a)
{
	enum muster_scope scope = a->check->metric->scope;
	for (uint32_t n = 0; n < a->eval->run->node_count; n++) {
		if (muster_node_leader(&a->eval->run->nodes[n]) == MUSTER_NOWHERE) {
			muster_result_node_missing(a->eval, a->check_at, n);
			continue;
		}
		muster_finding_draft_fold_here(a->eval);
		if (scope == MUSTER_SCOPE_NODE || scope == MUSTER_SCOPE_PORT)
			collect_node(a, n);
		else
			collect_ranks(a, n);
	}
	muster_finding_draft_fold_here(a->eval);
}

static int by_value(const void *a, const void *b)
{
	const struct across_peer *x = *(const struct across_peer *const *)a, *y = *(const struct across_peer *const *)b;
	int order = muster_text_order(x->within, y->within);
	if (!order)
		order = muster_text_order(x->key, y->key);
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
static const char *group_text(const struct across *a, struct across_peer *const *sorted, struct group group)
{
	const struct muster_node *nodes = a->eval->run->nodes;
	struct muster_arena *arena = a->eval->report->arena;
	const char **names = muster_calloc(group.count, sizeof *names), *text;
	int *ranks = muster_calloc(group.count, sizeof *ranks);
	for (size_t i = 0; i < group.count; i++) {
		const struct across_peer *peer = sorted[group.start + i];
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
static const char *expected_text(const struct across *a, const struct across_peer *peer)
{
	const char *who = a->of_ranks ? "ranks" : "nodes";
	struct muster_arena *arena = a->eval->report->arena;
	if (!a->check->within)
		return muster_arena_printf(arena, "the same on all %s", who);
	return muster_arena_printf(arena, "the same on all %s within %s %s", who, a->check->within, peer->within);
}

/* The parts of the peer are to have one value, and have several. */
static bool is_mixed(const struct across *a, const struct across_peer *peer)
{
	return a->check->uniform && peer->seen_count > 0 && peer->seen[0].key != peer->seen[peer->seen_count - 1].key;
}

/* One peer's result: a pass, or a finding that names its parts that are odd, unless those are all of them. */
static void take_peer(struct across *a, const struct across_peer *peer, const char *expected,
	const struct seen_value *const *odd, size_t odd_count)
{
	struct muster_arena *arena = a->eval->report->arena;
	struct muster_place place = { .node = peer->node, .rank = peer->rank };
	struct muster_verdict verdict = { .status = MUSTER_PASS };
	const struct muster_sample *sample = NULL;
	if (expected)
		verdict = (struct muster_verdict){
			.status = muster_check_status(a->check), .expected = expected, .observed = peer->value
		};
	if (expected && odd_count == 1) {
		place = odd[0]->place;
		sample = odd[0]->sample;
		verdict.observed = odd[0]->value;
	} else if (expected && (odd_count < peer->seen_count || is_mixed(a, peer))) {
		const char *text = "";
		for (size_t i = 0; i < odd_count && i < GROUPS_SHOWN; i++)
			text = muster_arena_printf(arena, "%s%s%s on %s", text, i ? ", " : "", odd[i]->value,
				odd[i]->place.key ? odd[i]->place.key : "a part without a name");
		if (odd_count > GROUPS_SHOWN)
			text = muster_arena_printf(arena, "%s and %zu more", text, odd_count - GROUPS_SHOWN);
		verdict.observed = odd_count ? text : peer->value;
	}
	if (muster_block_stops(peer->block, verdict.status))
		muster_result_block(a->eval, a->check_at, peer->block.draft);
	else
		muster_result_take(a->eval, a->check_at, place, sample, verdict);
}

/* Whether the value is another one than that of the same port or GPU of a usual node, or, where that has none of this
 * name, one that the usual node has not. */
static bool is_odd(const struct seen_value *seen, const struct across_peer *usual)
{
	bool known = false;
	for (size_t i = 0; i < usual->seen_count; i++) {
		const char *name = usual->seen[i].place.key;
		if (seen->place.key && name && strcmp(name, seen->place.key) == 0)
			return usual->seen[i].key != seen->key;
		known = known || usual->seen[i].key == seen->key;
	}
	return !known;
}

/* usual has the value that all should have, and why says how that is known. Each peer with another value is a finding.
 */
static void judge_by(struct across *a, struct across_peer *const *sorted, size_t count, const struct across_peer *usual,
	const char *why)
{
	struct muster_arena *arena = a->eval->report->arena;
	const char *unit = muster_metric_unit(a->check->metric);
	const char *expected = muster_arena_printf(
		arena, "%s: %s%s%s (%s)", expected_text(a, sorted[0]), usual->value, *unit ? " " : "", unit, why);
	for (size_t i = 0; i < count; i++) {
		const struct across_peer *peer = sorted[i];
		const struct seen_value **odd = muster_calloc(peer->seen_count + 1, sizeof(*odd));
		size_t odd_count = 0;
		for (size_t j = 0; j < peer->seen_count && peer->key != usual->key; j++)
			if (is_odd(&peer->seen[j], usual))
				odd[odd_count++] = &peer->seen[j];
		take_peer(a, peer, peer->key != usual->key ? expected : NULL, odd, odd_count);
		free(odd);
	}
}

/* Without a majority, a check that knows which value is right tells it: the group that passes it alone, or NULL. */
static const struct group *known_group(const struct across *a, struct across_peer *const *sorted,
	const struct group *groups, size_t count, const char **ret_check)
{
	const struct muster_expect *expect = a->eval->expect;
	for (size_t i = 0; i < expect->check_count; i++) {
		const struct muster_check *check = &expect->checks[i];
		const struct group *right = NULL;
		size_t passed = 0;
		if (check->metric != a->check->metric || a->eval->states[i].tally->skipped ||
			!muster_check_calibrated(check) || check->share_of ||
			muster_check_operand(check, MUSTER_OF_PEERS))
			continue;
		for (size_t g = 0; g < count; g++) {
			const struct across_peer *peer = sorted[groups[g].start];
			bool pass = peer->seen_count > 0;
			for (size_t j = 0; j < peer->seen_count && pass; j++)
				pass = muster_sample_chosen(check, peer->seen[j].sample) &&
				       muster_judge_sample(a->eval, i, peer->seen[j].sample, NULL).status ==
					       MUSTER_PASS;
			passed += pass;
			right = pass ? &groups[g] : right;
		}
		*ret_check = a->eval->states[i].tally->check;
		if (passed == 1)
			return right;
	}
	return NULL;
}

static int by_pointer(const void *a, const void *b)
{
	const char *x = *(const char *const *)a, *y = *(const char *const *)b;
	return ((uintptr_t)x > (uintptr_t)y) - ((uintptr_t)x < (uintptr_t)y);
}

/* The key that more than half of all ports or GPUs have, and how many have; NULL when none does. */
static const char *common_key(struct across_peer *const *sorted, size_t count, size_t *ret_have, size_t *ret_all)
{
	size_t all = 0, best = 0;
	const char *common = NULL;
	for (size_t i = 0; i < count; i++)
		all += sorted[i]->seen_count;
	const char **keys = muster_calloc(all + 1, sizeof(*keys));
	for (size_t i = 0, at = 0; i < count; i++)
		for (size_t j = 0; j < sorted[i]->seen_count; j++)
			keys[at++] = sorted[i]->seen[j].key;
	qsort(keys, all, sizeof(*keys), by_pointer);
	for (size_t i = 0, next; i < all; i = next) {
		for (next = i + 1; next < all && keys[next] == keys[i];)
			next++;
		if (next - i > best) {
			best = next - i;
			common = keys[i];
		}
	}
	free(keys);
	*ret_have = best;
	*ret_all = all;
	return best > all / 2 ? common : NULL;
}

static size_t count_of(const struct across_peer *peer, const char *key)
{
	size_t count = 0;
	for (size_t i = 0; i < peer->seen_count; i++)
		count += peer->seen[i].key == key;
	return count;
}

/* The value is on each of the peers: another kind of part, that all have. */
static bool all_have(struct across_peer *const *sorted, size_t count, const char *key)
{
	for (size_t i = 0; i < count; i++)
		if (count_of(sorted[i], key) == 0)
			return false;
	return true;
}

/* Single ports or GPUs that differ from most others, on nodes most of whose parts have the common value. False when
 * there is no such picture: then nodes are compared as a whole. */
static bool judge_parts(struct across *a, struct across_peer *const *sorted, size_t count)
{
	static const char *const parts[MUSTER_SCOPE_COUNT] = {
		[MUSTER_SCOPE_PORT] = "ports", [MUSTER_SCOPE_GPU] = "GPUs"
	};
	struct muster_arena *arena = a->eval->report->arena;
	const char *unit = muster_metric_unit(a->check->metric), *name = parts[a->check->metric->scope], *value = NULL;
	size_t have, all, odd_count = 0;
	const char *common = name && !a->of_ranks ? common_key(sorted, count, &have, &all) : NULL;
	for (size_t i = 0; i < count && common; i++)
		if (count_of(sorted[i], common) <= sorted[i]->seen_count / 2)
			common = NULL;
	if (!common)
		return false;
	const struct seen_value **odd = muster_calloc(all + 1, sizeof(*odd));
	size_t *ends = muster_calloc(count + 1, sizeof *ends);
	for (size_t i = 0; i < count; i++) {
		for (size_t j = 0; j < sorted[i]->seen_count; j++) {
			const struct seen_value *seen = &sorted[i]->seen[j];
			if (seen->key == common)
				value = seen->value;
			else if (a->check->uniform || !all_have(sorted, count, seen->key))
				odd[odd_count++] = seen;
		}
		ends[i] = odd_count;
	}
	const char *expected = muster_arena_printf(arena, "%s: %s%s%s (%zu of %zu %s)", expected_text(a, sorted[0]),
		value, *unit ? " " : "", unit, have, all, name);
	for (size_t i = 0, from = 0; i < count && odd_count; from = ends[i++])
		take_peer(a, sorted[i], ends[i] > from ? expected : NULL, &odd[from], ends[i] - from);
	free(odd);
	free(ends);
	return odd_count > 0;
}

/* Which part is right is not known where no value is that of most: each node whose parts differ is a finding. */
static bool judge_mixed(struct across *a, struct across_peer *const *sorted, size_t count)
{
	bool any = false;
	for (size_t i = 0; i < count; i++)
		any = any || is_mixed(a, sorted[i]);
	for (size_t i = 0; i < count && any; i++) {
		size_t parts = sorted[i]->seen_count;
		const struct seen_value **all = muster_calloc(parts + 1, sizeof(*all));
		for (size_t j = 0; j < parts; j++)
			all[j] = &sorted[i]->seen[j];
		take_peer(
			a, sorted[i], is_mixed(a, sorted[i]) ? "the same on each part of the node" : NULL, all, parts);
		free(all);
	}
	return any;
}

/* No majority: one finding for the job. A warning is blocked if another one warned about one of the peers before. */
static void judge_split(
	struct across *a, struct across_peer *const *sorted, size_t peers, const struct group *groups, size_t count)
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
static void judge_peers(struct across *a, struct across_peer *const *sorted, size_t count, struct group *groups)
{
	struct muster_arena *arena = a->eval->report->arena;
	const struct group *known;
	const char *check;
	size_t groups_count = 0;
	for (size_t i = 0; i < count; i++) {
		if (i == 0 || sorted[i]->key != sorted[i - 1]->key)
			groups[groups_count++] = (struct group){ .start = i };
		groups[groups_count - 1].count++;
	}
	qsort(groups, groups_count, sizeof *groups, by_size);
	bool majority = groups[0].count > count / 2;
	if ((a->check->uniform || !majority) && (judge_parts(a, sorted, count) || judge_mixed(a, sorted, count)))
		return;
	if (majority)
		judge_by(a, sorted, count, sorted[groups[0].start],
			muster_arena_printf(arena, "%zu of %zu", groups[0].count, count));
	else if ((known = known_group(a, sorted, groups, groups_count, &check)))
		judge_by(a, sorted, count, sorted[known->start], muster_arena_printf(arena, "as %s expects", check));
	else
		judge_split(a, sorted, count, groups, groups_count);
}

static void judge_all(struct across *a)
{
	size_t count = a->peer_count;
	struct across_peer **sorted = muster_calloc(count + 1, sizeof *sorted);
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
	const struct muster_check *check = &eval->expect->checks[check_at];
	struct across a = {
		.eval = eval,
		.check_at = check_at,
		.check = check,
		.of_ranks = muster_check_operand(check, MUSTER_OF_PEERS)->peers == MUSTER_SCOPE_RANK,
		.cursor = muster_cursor_make(&eval->index, check_at),
	};
	find_peers(&a);
	judge_all(&a);
	free(a.seen);
	free(a.peers);
}
