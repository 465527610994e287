/* SPDX-License-Identifier: Apache-2.0 */
/* same_across.c - whether a value is equal on all nodes or on all ranks, and who is odd
 *
 * Nodes are compared by the sorted values on each node and how many there are of each, or, with `within`, by those with
 * the same value of that label. What should be, in the order in which it is looked for, and an example:
 *   parts     what more than half of all ports or GPUs have, and more than half of those of each node
 *             one port of sim-2 has 100, 31 have 200: this port is odd
 *   mixed     with `uniform`: one value on each node
 *             each node has two firmware versions: each node is odd
 *   majority  the value of more than half of the nodes or ranks
 *             580.95 on three of four nodes: the fourth is odd
 *   known     the one value that another check of the metric expects
 *             100 on two nodes, 200 on two, and another check asks for 200: the first two are odd
 *   split     it is not known: one finding for the job lists all values
 * Parts and mixed count where there is no majority, and always with `uniform`, which compares the values on one node
 * with each other too.
 *
 * What the words here mean: a value that was seen (seen_value) belongs to a peer, which is a node or a rank. A peer's
 * key is all its values in words, "100, 7 x 200": peers with one key form a group. With `within`, a peer has a key for
 * each value of that label, and only peers of the same one are compared.
 */
#include "eval/answers.h"

#include "util/array.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

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
	size_t seen_count, tag;
};

struct across {
	const struct muster_eval *eval;
	size_t check_at;
	const struct muster_check *check;
	struct muster_arena *arena;
	bool of_ranks;             /* ranks are compared; else nodes */
	struct across_peer *peers; /* no more than there are values */
	size_t peer_count;
	muster_compared_fn *tell;
	void *arg;
};

/* Order of two texts of the arena, either of which may be NULL. */
static int by_text(const void *a, const void *b)
{
	const struct seen_value *x = a, *y = b;
	int order = muster_text_order(x->within, y->within);
	return order ? order : muster_text_order(x->key, y->key);
}

/* What a value is compared by: the name of a machine type is the same in upper and lower case, and by each name that
 * the file of the machine type lists. */
static const char *key_of(const struct across *a, const char *value)
{
	const struct muster_expect *expect = a->eval->expect;
	if (!a->check->metric->is_machine_type)
		return value;
	for (size_t i = 0; i < expect->vm_size_count; i++)
		if (strcasecmp(expect->vm_sizes[i], value) == 0)
			return muster_arena_string(a->arena, expect->vm_sizes[0]);
	char *lower = muster_arena_alloc(a->arena, strlen(value) + 1);
	for (size_t i = 0; i == 0 || value[i - 1]; i++)
		lower[i] = (char)tolower((unsigned char)value[i]);
	return muster_arena_string(a->arena, lower);
}

/* The value of the label within which samples are compared; NULL for all of them. On one node, GPUs are compared with
 * those of their model. */
static const char *within_of(const struct across *a, const struct muster_entry *entry)
{
	const struct muster_value *label =
		a->check->within ? muster_sample_label(entry->sample, a->check->within) : NULL;
	if (a->check->uniform && a->check->metric->scope == MUSTER_SCOPE_GPU)
		return muster_arena_string(
			a->arena, muster_gpu_model(&a->eval->run->nodes[entry->node].ranks[entry->rank], a->arena));
	return label ? muster_describe_value(*label, a->arena) : NULL;
}

/* "100, 7 x 200"; of one value how often it stands there says nothing of the node. */
static void set_value(const struct across *a, struct across_peer *peer)
{
	const struct seen_value *seen = peer->seen;
	bool several = seen[0].key != seen[peer->seen_count - 1].key;
	peer->value = peer->key = "";
	for (size_t i = 0, next; i < peer->seen_count; i = next) {
		for (next = i + 1; next < peer->seen_count && seen[next].key == seen[i].key;)
			next++;
		const char *joint = i ? ", " : "";
		const char *times = several && next > i + 1 ? muster_arena_printf(a->arena, "%zu x ", next - i) : "";
		peer->value = muster_arena_printf(a->arena, "%s%s%s%s", peer->value, joint, times, seen[i].value);
		peer->key = muster_arena_printf(a->arena, "%s%s%s%s", peer->key, joint, times, seen[i].key);
	}
}

/* Make peers of the values of one node or rank, which have one tag: one peer, or one for each value of the label
 * `within` that was seen there. values[0] without a sample stands for a node that has none: its peer has the value
 * "none". */
static void add_peers(struct across *a, const struct muster_compared *values, size_t count)
{
	struct seen_value *seen = muster_arena_alloc(a->arena, count * sizeof *seen);
	struct across_peer peer = { .node = values->entry.node,
		.rank = a->of_ranks ? values->entry.rank : MUSTER_NOWHERE,
		.tag = values->tag };
	for (size_t i = 0; i < count && values->entry.sample; i++) {
		const char *value = muster_describe_value(values[i].entry.sample->value, a->arena);
		seen[i] = (struct seen_value){ within_of(a, &values[i].entry), value, key_of(a, value),
			muster_entry_place(&values[i].entry), values[i].entry.sample };
	}
	if (!values->entry.sample) {
		peer.value = peer.key = muster_arena_string(a->arena, "none");
		a->peers[a->peer_count++] = peer;
		return;
	}
	qsort(seen, count, sizeof *seen, by_text);
	for (size_t i = 0, next; i < count; i = next) {
		for (next = i + 1; next < count && seen[next].within == seen[i].within;)
			next++;
		peer.within = seen[i].within;
		peer.seen = &seen[i];
		peer.seen_count = next - i;
		set_value(a, &peer);
		a->peers[a->peer_count++] = peer;
	}
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

/* Peers that are compared with each other, sorted by value, and what they should have: the value of a usual peer, else
 * the common one of their parts, else one value on each peer. */
struct compared {
	struct across_peer *const *peers;
	size_t count;
	const struct across_peer *usual;
	const char *common;
};

/* "sim-[1-3]" or "ranks 0-7" */
static const char *group_text(const struct across *a, const struct compared *all, struct group group)
{
	const struct muster_node *nodes = a->eval->run->nodes;
	const char **names = muster_calloc(group.count, sizeof *names), *text;
	int *ranks = muster_calloc(group.count, sizeof *ranks);
	for (size_t i = 0; i < group.count; i++) {
		const struct across_peer *peer = all->peers[group.start + i];
		names[i] = nodes[peer->node].name;
		ranks[i] = a->of_ranks ? nodes[peer->node].ranks[peer->rank].rank : -1;
	}
	text = a->of_ranks ? muster_arena_printf(a->arena, "rank%s %s", group.count == 1 ? "" : "s",
				     muster_describe_ranks(ranks, group.count, a->arena))
			   : muster_describe_nodes(names, group.count, a->arena);
	free(names);
	free(ranks);
	return text;
}

/* What is expected of peers that are compared with each other, but for the value. */
static const char *expected_text(const struct across *a, const struct compared *all)
{
	const char *who = a->of_ranks ? "ranks" : "nodes";
	return a->check->within ? muster_arena_printf(a->arena, "the same on all %s within %s %s", who,
					  a->check->within, all->peers[0]->within)
				: muster_arena_printf(a->arena, "the same on all %s", who);
}

/* The parts of the peer are to have one value, and have several. */
static bool is_mixed(const struct across *a, const struct across_peer *peer)
{
	return a->check->uniform && peer->seen_count > 0 && peer->seen[0].key != peer->seen[peer->seen_count - 1].key;
}

static size_t count_of(const struct across_peer *peer, const char *key)
{
	size_t count = 0;
	for (size_t i = 0; i < peer->seen_count; i++)
		count += peer->seen[i].key == key;
	return count;
}

/* Whether the value is another one than that of the same port or GPU of a usual node, or, where that has none of this
 * name, one that the usual node has not. */
static bool differs(const struct seen_value *seen, const struct across_peer *usual)
{
	for (size_t i = 0; i < usual->seen_count; i++) {
		const char *name = usual->seen[i].place.key;
		if (seen->place.key && name && strcmp(name, seen->place.key) == 0)
			return usual->seen[i].key != seen->key;
	}
	return count_of(usual, seen->key) == 0;
}

/* Another value than the common one; one that each of the peers has is of another kind of part. */
static bool is_uncommon(const struct across *a, const struct compared *all, const struct seen_value *seen)
{
	bool all_have = !a->check->uniform;
	for (size_t i = 0; i < all->count && all_have && seen->key != all->common; i++)
		all_have = count_of(all->peers[i], seen->key) > 0;
	return seen->key != all->common && !all_have;
}

/* The parts of the peer that are odd, by what all should have: the value of a usual peer, else the common value, else
 * one value on each peer. Writes them to ret, which has room for all parts, and returns how many they are. */
static size_t find_odd(const struct across *a, const struct compared *all, const struct across_peer *peer,
	const struct seen_value **ret)
{
	size_t count = 0;
	for (size_t i = 0; i < peer->seen_count; i++)
		if (all->usual        ? peer->key != all->usual->key && differs(&peer->seen[i], all->usual)
			: all->common ? is_uncommon(a, all, &peer->seen[i])
				      : is_mixed(a, peer))
			ret[count++] = &peer->seen[i];
	return count;
}

/* A finding names the parts that are odd, unless those are all of them. */
static void tell_odd(const struct across *a, const struct across_peer *peer, const char *expected,
	const struct seen_value *const *odd, size_t odd_count)
{
	struct muster_compared_result result = { .place = { peer->node, peer->rank, NULL },
		.answer = { .status = muster_check_status(a->check), .expected = expected, .observed = peer->value },
		.tags = &peer->tag,
		.tag_count = 1 };
	if (odd_count == 1) {
		result.place = odd[0]->place;
		result.sample = odd[0]->sample;
		result.answer.observed = odd[0]->value;
	} else if (odd_count > 0 && (odd_count < peer->seen_count || is_mixed(a, peer))) {
		const char *text = "";
		for (size_t i = 0; i < odd_count && i < GROUPS_SHOWN; i++)
			text = muster_arena_printf(a->arena, "%s%s%s on %s", text, i ? ", " : "", odd[i]->value,
				odd[i]->place.key ? odd[i]->place.key : "a part without a name");
		if (odd_count > GROUPS_SHOWN)
			text = muster_arena_printf(a->arena, "%s and %zu more", text, odd_count - GROUPS_SHOWN);
		result.answer.observed = text;
	}
	a->tell(a->arg, &result);
}

/* Each peer's result: a pass, or a finding. With a usual peer there is always a result. Without one: false, and no
 * result, where no part of any peer is odd. */
static bool tell_all(const struct across *a, const struct compared *all, const char *expected)
{
	size_t most = 1, any = all->usual != NULL;
	for (size_t i = 0; i < all->count; i++)
		most = all->peers[i]->seen_count > most ? all->peers[i]->seen_count : most;
	const struct seen_value **odd = muster_calloc(most, sizeof(*odd));
	for (size_t i = 0; i < all->count && !any; i++)
		any = find_odd(a, all, all->peers[i], odd);
	for (size_t i = 0; i < all->count && any; i++) {
		const struct across_peer *peer = all->peers[i];
		size_t count = find_odd(a, all, peer, odd);
		if (all->usual ? peer->key != all->usual->key : count > 0)
			tell_odd(a, peer, expected, odd, count);
		else
			a->tell(a->arg, &(struct muster_compared_result){ .place = { peer->node, peer->rank, NULL } });
	}
	free(odd);
	return any > 0;
}

/* usual has the value that all should have, and why says how that is known. */
static void judge_by(const struct across *a, struct compared *all, const struct across_peer *usual, const char *why)
{
	const char *unit = muster_metric_unit(a->check->metric);
	all->usual = usual;
	(void)tell_all(a, all,
		muster_arena_printf(
			a->arena, "%s: %s%s%s (%s)", expected_text(a, all), usual->value, *unit ? " " : "", unit, why));
}

/* Without a majority, another check of the metric may tell which value is right: the only group whose values all pass
 * that check, or NULL. A check without a threshold, with share_of or with same_across cannot tell. */
static const struct group *known_group(const struct across *a, const struct compared *all, const struct group *groups,
	size_t count, const char **ret_check)
{
	const struct muster_expect *expect = a->eval->expect;
	for (size_t i = 0; i < expect->check_count; i++) {
		const struct muster_check *check = &expect->checks[i];
		const struct group *right = NULL;
		size_t passed = 0;
		if (check->metric != a->check->metric || a->eval->tallies[i].skipped ||
			!muster_check_calibrated(check) || check->share_of ||
			muster_check_operand(check, MUSTER_OF_PEERS))
			continue;
		for (size_t g = 0; g < count; g++) {
			const struct across_peer *peer = all->peers[groups[g].start];
			bool pass = peer->seen_count > 0;
			for (size_t j = 0; j < peer->seen_count && pass; j++)
				pass = muster_sample_chosen(check, peer->seen[j].sample) &&
				       muster_answer_find(a->eval, i, peer->seen[j].sample, NULL).status == MUSTER_PASS;
			passed += pass;
			right = pass ? &groups[g] : right;
		}
		*ret_check = a->eval->tallies[i].check;
		if (passed == 1)
			return right;
	}
	return NULL;
}

/* The value that more than half of all ports or GPUs have, and more than half of those of each node; NULL when none
 * does. A value that outvotes all others is the only one that can be it. */
static const struct seen_value *common_part(
	const struct across *a, const struct compared *all, size_t *ret_have, size_t *ret_parts)
{
	const struct seen_value *common = NULL;
	size_t votes = 0;
	*ret_have = *ret_parts = 0;
	for (size_t i = 0; i < all->count && !a->of_ranks; i++)
		for (size_t j = 0; j < all->peers[i]->seen_count; j++, ++*ret_parts) {
			const struct seen_value *seen = &all->peers[i]->seen[j];
			common = votes == 0 ? seen : common;
			votes = seen->key == common->key ? votes + 1 : votes - 1;
		}
	for (size_t i = 0; i < all->count && common; i++)
		*ret_have += count_of(all->peers[i], common->key);
	bool most = *ret_have > *ret_parts / 2;
	for (size_t i = 0; i < all->count && most; i++)
		most = count_of(all->peers[i], common->key) > all->peers[i]->seen_count / 2;
	return most ? common : NULL;
}

/* Single ports or GPUs that differ from most others. False when there is no such picture. */
static bool judge_parts(const struct across *a, struct compared *all)
{
	static const char *const parts[MUSTER_SCOPE_COUNT] = {
		[MUSTER_SCOPE_PORT] = "ports", [MUSTER_SCOPE_GPU] = "GPUs"
	};
	const char *unit = muster_metric_unit(a->check->metric), *name = parts[a->check->metric->scope];
	size_t have, count;
	const struct seen_value *common = name ? common_part(a, all, &have, &count) : NULL;
	if (!common)
		return false;
	all->common = common->key;
	bool any = tell_all(a, all,
		muster_arena_printf(a->arena, "%s: %s%s%s (%zu of %zu %s)", expected_text(a, all), common->value,
			*unit ? " " : "", unit, have, count, name));
	all->common = NULL;
	return any;
}

/* No majority: one finding for the job. */
static void judge_split(const struct across *a, const struct compared *all, const struct group *groups, size_t count)
{
	const char *text = "";
	size_t *tags = muster_calloc(all->count, sizeof *tags);
	for (size_t i = 0; i < all->count; i++)
		tags[i] = all->peers[i]->tag;
	for (size_t i = 0; i < count && i < GROUPS_SHOWN; i++)
		text = muster_arena_printf(a->arena, "%s%s%s on %s", text, i ? "; " : "",
			all->peers[groups[i].start]->value, group_text(a, all, groups[i]));
	if (count > GROUPS_SHOWN)
		text = muster_arena_printf(a->arena, "%s; and %zu more value%s", text, count - GROUPS_SHOWN,
			count == GROUPS_SHOWN + 1 ? "" : "s");
	a->tell(a->arg, &(struct muster_compared_result){ .place = { MUSTER_NOWHERE, MUSTER_NOWHERE, NULL },
				.answer = { .status = muster_check_status(a->check),
					.expected = expected_text(a, all),
					.observed = text },
				.tags = tags,
				.tag_count = all->count });
	free(tags);
}

/* Judge peers that are compared with each other, sorted by value: by the order of the table at the top. groups: room
 * for as many groups as peers. */
static void judge_peers(const struct across *a, struct compared *all, struct group *groups)
{
	const struct group *known;
	const char *check;
	size_t count = 0;
	for (size_t i = 0; i < all->count; i++) {
		if (i == 0 || all->peers[i]->key != all->peers[i - 1]->key)
			groups[count++] = (struct group){ .start = i };
		groups[count - 1].count++;
	}
	qsort(groups, count, sizeof *groups, by_size);
	bool majority = groups[0].count > all->count / 2;
	if ((a->check->uniform || !majority) &&
		(judge_parts(a, all) || tell_all(a, all, "the same on each part of the node")))
		return;
	if (majority)
		judge_by(a, all, all->peers[groups[0].start],
			muster_arena_printf(a->arena, "%zu of %zu", groups[0].count, all->count));
	else if ((known = known_group(a, all, groups, count, &check)))
		judge_by(a, all, all->peers[known->start], muster_arena_printf(a->arena, "as %s expects", check));
	else
		judge_split(a, all, groups, count);
}

void muster_compare_all(const struct muster_eval *eval, size_t at, const struct muster_compared *values, size_t count,
	muster_compared_fn *tell, void *arg)
{
	const struct muster_check *check = &eval->checks[at];
	struct across a = { .eval = eval,
		.check_at = at,
		.check = check,
		.arena = eval->arena,
		.of_ranks = muster_check_operand(check, MUSTER_OF_PEERS)->peers == MUSTER_SCOPE_RANK,
		.peers = muster_calloc(count + 1, sizeof *a.peers),
		.tell = tell,
		.arg = arg };
	struct across_peer **sorted = muster_calloc(count + 1, sizeof *sorted);
	struct group *groups = muster_calloc(count + 1, sizeof *groups);
	for (size_t i = 0, next; i < count; i = next) {
		for (next = i + 1; next < count && values[next].tag == values[i].tag;)
			next++;
		add_peers(&a, &values[i], next - i);
	}
	for (size_t i = 0; i < a.peer_count; i++)
		sorted[i] = &a.peers[i];
	qsort(sorted, a.peer_count, sizeof *sorted, by_value);
	for (size_t i = 0, next; i < a.peer_count; i = next) {
		for (next = i + 1; next < a.peer_count && sorted[next]->within == sorted[i]->within;)
			next++;
		judge_peers(&a, &(struct compared){ .peers = &sorted[i], .count = next - i }, groups);
	}
	free(a.peers);
	free(sorted);
	free(groups);
}
