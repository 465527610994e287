/* SPDX-License-Identifier: Apache-2.0 */
/* unreached.c - which rank did not come, when an all-to-all could not connect all ranks
 *
 * Each rank lists the ranks that its last round of connections was with (rank.alltoall_unreached): it waited for one of
 * them, and has the others in its list only because they are of the same round. Rounds grow, so the shortest lists are
 * of the ranks that stopped first; all others wait for one of these. Two ranks that stopped first and list each other
 * may both be waiting. A rank that two of them list, and that lists both, is the one that did not come, unless there
 * are more such ranks: a rank that waits holds up its own neighbours too.
 *
 * An example: of eight ranks, rank 3 did not come. Ranks 2 and 4 have rank 3 in their first round and stop there: their
 * lists are "1,3" and "3,5". The others come further and have longer lists; rank 3 has none. Both shortest lists name
 * rank 3, so two ranks wait for rank 3, and it is the only rank of the core. No rank waits for ranks 1 and 5, which
 * went on.
 */
#include "eval/answers.h"
#include "eval/exchange_peers.h"

#include <stdlib.h>
#include <string.h>

#define NODES_SHOWN 4

static const char lists_of_ranks[] = "rank.alltoall_unreached";

/* What one rank lists. */
struct list {
	uint32_t node, rank; /* its place in the run */
	bool known;
	int *peers;
	size_t count; /* 0: it has no list */
};

/* All lists, by the rank's number in the job. */
struct lists {
	const struct muster_run *run;
	struct list *items;
	size_t count;    /* ranks of the job */
	size_t shortest; /* of all lists */
	size_t *waits;   /* for each rank: how many others may wait for it, and it for them */
	bool *core;
};

/* "5,8-15". Returns how many ranks the text has; 0 when it is no such list. peers: NULL, or room for all of them. */
static size_t read_list(const char *text, size_t ranks, int *peers)
{
	size_t count = 0;
	while (*text) {
		char *end;
		long first = strtol(text, &end, 10), last = first;
		if (end == text)
			return 0;
		if (*end == '-')
			last = strtol(end + 1, &end, 10);
		if (first < 0 || last < first || (size_t)last >= ranks || count > ranks || (*end && *end != ','))
			return 0;
		for (long rank = first; rank <= last; rank++, count++)
			if (peers)
				peers[count] = (int)rank;
		text = end + (*end == ',');
	}
	return count;
}

static void find_list(struct lists *lists, uint32_t n, uint32_t r)
{
	const struct muster_rank *rank = &lists->run->nodes[n].ranks[r];
	const char *text = rank->missing ? "" : muster_sample_text(&rank->samples, lists_of_ranks, "");
	if (rank->rank < 0 || (size_t)rank->rank >= lists->count)
		return;
	struct list *list = &lists->items[rank->rank];
	*list = (struct list){ .node = n, .rank = r, .known = true };
	list->count = read_list(text, lists->count, NULL);
	if (list->count == 0)
		return;
	list->peers = muster_calloc(list->count, sizeof *list->peers);
	read_list(text, lists->count, list->peers);
	lists->shortest = list->count < lists->shortest ? list->count : lists->shortest;
}

static bool names(const struct list *list, size_t rank)
{
	for (size_t i = 0; i < list->count; i++)
		if ((size_t)list->peers[i] == rank)
			return true;
	return false;
}

static bool stopped_first(const struct lists *lists, size_t rank)
{
	return lists->items[rank].count == lists->shortest;
}

/* Whether a, which stopped first, may wait for b, and b for a. A rank without a list may wait for any. */
static bool wait_for_each_other(const struct lists *lists, size_t a, size_t b)
{
	const struct list *other = &lists->items[b];
	return a != b && (other->count == 0 || (stopped_first(lists, b) && names(other, a)));
}

/* Find the core: the ranks that hold up ranks which only wait. Returns how many they are. The first pass counts for
 * each rank with how many others it may wait (`waits`). The second pass finds two ranks that wait with nothing but each
 * other: of these it is unknown which one did not come, so both are of the core. Each rank that waits with two others
 * or more is of the core too. */
static size_t find_core(struct lists *lists)
{
	size_t core = 0;
	for (int pass = 0; pass < 2; pass++)
		for (size_t a = 0; a < lists->count; a++)
			for (size_t i = 0; stopped_first(lists, a) && i < lists->items[a].count; i++) {
				size_t b = (size_t)lists->items[a].peers[i];
				if (!wait_for_each_other(lists, a, b))
					continue;
				if (pass == 0) {
					lists->waits[a]++;
					lists->waits[b] += lists->items[b].count == 0;
				} else if (lists->waits[a] == 1 && lists->waits[b] == 1) {
					lists->core[a] = lists->core[b] = true;
				}
			}
	for (size_t rank = 0; rank < lists->count; rank++) {
		lists->core[rank] = lists->core[rank] || lists->waits[rank] > 1;
		core += lists->core[rank];
	}
	return core;
}

/* The ranks that list a rank; how many there are. */
static size_t find_namers(const struct lists *lists, size_t rank, int *ret)
{
	size_t count = 0;
	for (size_t other = 0; other < lists->count; other++)
		if (other != rank && names(&lists->items[other], rank))
			ret[count++] = (int)other;
	return count;
}

/* "rank 3 of sim-1, ranks 4-5 of sim-2"; ret_nodes: on how many nodes, and the first of them. */
static const char *core_text(
	const struct lists *lists, struct muster_arena *arena, size_t *ret_nodes, uint32_t *ret_node)
{
	int *ranks = muster_calloc(lists->count + 1, sizeof *ranks);
	const char *text = "";
	*ret_nodes = 0;
	for (uint32_t n = 0; n < lists->run->node_count; n++) {
		size_t count = 0;
		for (size_t rank = 0; rank < lists->count; rank++)
			if (lists->core[rank] && lists->items[rank].known && lists->items[rank].node == n)
				ranks[count++] = (int)rank;
		if (count == 0)
			continue;
		if (*ret_nodes == 0)
			*ret_node = n;
		if (++*ret_nodes <= NODES_SHOWN)
			text = muster_arena_printf(arena, "%s%srank%s %s of %s", text, *text ? ", " : "",
				count > 1 ? "s" : "", muster_describe_ranks(ranks, count, arena),
				lists->run->nodes[n].name);
	}
	free(ranks);
	return *ret_nodes > NODES_SHOWN
		       ? muster_arena_printf(arena, "%s and ranks of %zu more nodes", text, *ret_nodes - NODES_SHOWN)
		       : text;
}

/* One rank did not come. */
static struct muster_unreached tell_one(const struct lists *lists, struct muster_arena *arena)
{
	struct muster_unreached found = { MUSTER_NOWHERE, MUSTER_NOWHERE, NULL, NULL };
	int *namers = muster_calloc(lists->count + 1, sizeof *namers);
	size_t rank = 0;
	while (!lists->core[rank])
		rank++;
	size_t count = find_namers(lists, rank, namers);
	if (lists->items[rank].known) {
		found.node = lists->items[rank].node;
		found.rank = lists->items[rank].rank;
	}
	found.observed =
		muster_arena_printf(arena, "all-to-all: rank %zu did not connect: %zu other rank%s waited for it (%s)",
			rank, count, count == 1 ? "" : "s", muster_describe_ranks(namers, count, arena));
	found.advice = "run again without the node (srun --exclude); if the all-to-all then connects, check this node: "
		       "dmesg for Xid and mlx5 lines, and the network adapter of the GPU";
	free(namers);
	return found;
}

static struct muster_unreached tell_several(const struct lists *lists, struct muster_arena *arena)
{
	struct muster_unreached found = { MUSTER_NOWHERE, MUSTER_NOWHERE, NULL, NULL };
	size_t nodes;
	uint32_t node = MUSTER_NOWHERE;
	const char *ranks = core_text(lists, arena, &nodes, &node);
	found.node = nodes == 1 ? node : MUSTER_NOWHERE;
	found.observed = muster_arena_printf(arena,
		"all-to-all: ranks waited for each other, and no rank stands out%s%s", *ranks ? ": " : "", ranks);
	found.advice = "check that each of these ranks reaches the others: routing and partition keys between all "
		       "network adapters, not only between adapters of the same rail; run again without one of the "
		       "nodes to find out which one is the cause";
	return found;
}

size_t muster_unreached_probe(void)
{
	return muster_probe_number(muster_metric_probe(muster_metric_find(lists_of_ranks)));
}

struct muster_unreached muster_unreached_find(const struct muster_run *run, struct muster_arena *arena)
{
	struct muster_unreached found = { MUSTER_NOWHERE, MUSTER_NOWHERE, NULL, NULL };
	struct lists lists = { .run = run, .shortest = SIZE_MAX };
	bool any = muster_exchange_is_measured(run, muster_metric_find(lists_of_ranks));
	lists.count = any && run->job.ranks > 0 ? (size_t)run->job.ranks : 0;
	lists.items = muster_calloc(lists.count + 1, sizeof *lists.items);
	lists.waits = muster_calloc(lists.count + 1, sizeof *lists.waits);
	lists.core = muster_calloc(lists.count + 1, sizeof *lists.core);
	for (uint32_t n = 0; any && n < run->node_count; n++)
		for (uint32_t r = 0; r < run->nodes[n].rank_count; r++)
			find_list(&lists, n, r);
	if (lists.shortest != SIZE_MAX)
		found = find_core(&lists) == 1 ? tell_one(&lists, arena) : tell_several(&lists, arena);
	for (size_t rank = 0; rank < lists.count; rank++)
		free(lists.items[rank].peers);
	free(lists.items);
	free(lists.waits);
	free(lists.core);
	return found;
}
