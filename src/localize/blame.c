/* SPDX-License-Identifier: Apache-2.0 */
/* blame.c - which nodes, links or partitions explain the localisation all-reduces that failed
 *
 * To slow_pairs.c, which names slow parts by the exchanges of pairs, a node here is what a GPU is there, and a pair
 * that fails is an infinitely slow one. It must not see what may be a switch or a partition between nodes that work
 * together: the pairs across two components.
 *
 * The order matters (muster_suspects_find):
 *   1. results   late trials are compared with the slowest one that passed, so that one is found first
 *   2. nodes that fail alone, as all their pairs fail too, and prove nothing of the others
 *   3. components, of the nodes that are left
 *   4. nodes that work with no other one, then nodes that work with some; pairs across two components are left out
 *   5. components again, without these nodes: a suspected node may have joined two of them
 *   6. gaps between components, and whether all of them together are a split
 *   7. links, of the pairs that no node and no gap explains
 */
#include "localize/blame.h"

#include "localize/slow_pairs.h"
#include "muster/run_data.h"
#include "util/array.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* The seconds that a late trial must have had to count as failed. slowest: seconds of the slowest that passed; 0: none
 */
static double late_from(double slowest)
{
	return slowest > 0 ? MUSTER_LATE_FACTOR * slowest : MUSTER_LATE_FULL_SECONDS;
}

size_t muster_edge_other(const struct muster_edge *edge, size_t node)
{
	return edge->a == node ? edge->b : edge->a;
}

bool muster_suspects_suspected(const struct muster_suspects *suspects, size_t node)
{
	return suspects->nodes[node].blame != MUSTER_BLAME_NONE;
}

static int by_nodes(const void *x, const void *y)
{
	const struct muster_edge *a = x, *b = y;
	int order = muster_sizes_order(&a->a, &b->a, 1);
	return order ? order : muster_sizes_order(&a->b, &b->b, 1);
}

static int by_nodes_then_last(const void *x, const void *y)
{
	const struct muster_edge *a = x, *b = y;
	int order = by_nodes(a, b);
	return order ? order : muster_sizes_order(&b->trial, &a->trial, 1);
}

const struct muster_edge *muster_suspects_edge(const struct muster_suspects *suspects, size_t a, size_t b)
{
	const struct muster_edge key = { .a = a < b ? a : b, .b = a < b ? b : a };
	return suspects->edge_count
		       ? bsearch(&key, suspects->edges, suspects->edge_count, sizeof *suspects->edges, by_nodes)
		       : NULL;
}

bool muster_suspects_good(const struct muster_suspects *suspects, size_t node)
{
	const struct muster_suspect *one = &suspects->nodes[node];
	return one->alone <= MUSTER_PASSED && one->passed > 0 && one->blame == MUSTER_BLAME_NONE;
}

/* ---- the trials ---- */

/* Keep the last trial of each node and of each pair: pairs are sorted with their last trial first, and the first of
 * equal ones stays. A late trial that had late_seconds or more failed; one that had less counts as not tried. Trials of
 * nodes with a number above the last one are ignored. */
static void take_attempts(
	const struct muster_attempt *attempts, size_t count, double late_seconds, struct muster_suspects *s)
{
	size_t kept = 0;
	memset(s->nodes, 0, s->node_count * sizeof *s->nodes);
	s->edge_count = s->counted = s->not_tried = 0;
	for (size_t i = 0; i < count; i++) {
		size_t a = attempts[i].nodes[0], b = attempts[i].nodes[1];
		bool failed = attempts[i].status != MUSTER_TRIAL_OK;
		if (a >= s->node_count || b >= s->node_count)
			continue;
		if (attempts[i].status == MUSTER_TRIAL_LATE && attempts[i].seconds < late_seconds) {
			s->not_tried++;
			continue;
		}
		s->counted++;
		if (a == b) {
			s->nodes[a].alone = failed ? MUSTER_BROKEN : MUSTER_PASSED;
			s->nodes[a].trial = i;
		} else {
			s->edges[s->edge_count++] =
				(struct muster_edge){ a < b ? a : b, a < b ? b : a, failed, .trial = i };
		}
	}
	if (s->edge_count)
		qsort(s->edges, s->edge_count, sizeof *s->edges, by_nodes_then_last);
	for (size_t i = 0; i < s->edge_count; i++)
		if (kept == 0 || by_nodes(&s->edges[kept - 1], &s->edges[i]) != 0)
			s->edges[kept++] = s->edges[i];
	s->edge_count = kept;
}

static double slowest_passed(const struct muster_attempt *attempts, const struct muster_suspects *s)
{
	double slowest = 0;
	for (size_t i = 0; i < s->node_count; i++)
		if (s->nodes[i].alone == MUSTER_PASSED)
			slowest = fmax(slowest, attempts[s->nodes[i].trial].seconds);
	for (size_t i = 0; i < s->edge_count; i++)
		if (!s->edges[i].failed)
			slowest = fmax(slowest, attempts[s->edges[i].trial].seconds);
	return slowest;
}

/* How each node and each pair did: what ran out of time is compared with those that passed, so they are found first. */
static void find_results(const struct muster_attempt *attempts, size_t count, struct muster_suspects *s)
{
	take_attempts(attempts, count, INFINITY, s);
	s->slowest = slowest_passed(attempts, s);
	if (s->not_tried > 0)
		take_attempts(attempts, count, late_from(s->slowest), s);
}

/* List the edges of each node, and count its partners. A counting sort: first the number of edges of each node, then
 * the sums, then each edge goes to the next free place of both of its nodes. */
static void list_edges(struct muster_suspects *s)
{
	/* where the next edge of a node goes; in the end that is where the next node's begin */
	size_t *next = s->first_edge + 1;
	for (size_t i = 0; i < s->edge_count; i++) {
		const struct muster_edge *edge = &s->edges[i];
		next[edge->a + 1]++;
		next[edge->b + 1]++;
		s->nodes[edge->a].failed += edge->failed;
		s->nodes[edge->b].failed += edge->failed;
		s->nodes[edge->a].passed += !edge->failed;
		s->nodes[edge->b].passed += !edge->failed;
	}
	for (size_t i = 1; i <= s->node_count; i++)
		next[i] += next[i - 1];
	for (size_t i = 0; i < s->edge_count; i++) {
		s->node_edges[next[s->edges[i].a]++] = i;
		s->node_edges[next[s->edges[i].b]++] = i;
	}
}

/* ---- connected components ---- */

static size_t find_root(struct muster_suspect *nodes, size_t node)
{
	while (nodes[node].component != node) {
		nodes[node].component = nodes[nodes[node].component].component; /* halves the way of later searches */
		node = nodes[node].component;
	}
	return node;
}

/* Nodes that passed together belong to one component; its number is that of its lowest node. */
static void find_components(struct muster_suspects *s)
{
	size_t *sizes = s->component_sizes;
	for (size_t i = 0; i < s->node_count; i++) {
		s->nodes[i].component = i;
		sizes[i] = 0;
	}
	for (size_t i = 0; i < s->edge_count; i++) {
		const struct muster_edge *edge = &s->edges[i];
		if (edge->failed || muster_suspects_suspected(s, edge->a) || muster_suspects_suspected(s, edge->b))
			continue;
		size_t a = find_root(s->nodes, edge->a), b = find_root(s->nodes, edge->b);
		s->nodes[a > b ? a : b].component = a < b ? a : b;
	}
	for (size_t i = 0; i < s->node_count; i++) {
		s->nodes[i].component = find_root(s->nodes, i);
		sizes[s->nodes[i].component] += !muster_suspects_suspected(s, i);
	}
	s->component_count = 0;
	for (size_t i = 0; i < s->node_count; i++)
		if (sizes[i] > 1)
			s->components[s->component_count++] = i;
}

bool muster_suspects_across(const struct muster_suspects *s, const struct muster_edge *edge)
{
	size_t a = s->nodes[edge->a].component, b = s->nodes[edge->b].component;
	return a != b && s->component_sizes[a] > 1 && s->component_sizes[b] > 1;
}

static int by_components(const void *x, const void *y)
{
	return muster_sizes_order(
		((const struct muster_gap *)x)->components, ((const struct muster_gap *)y)->components, 2);
}

/* Take one more failed pair, as a gap of its own, into the gap between the same components. */
static void add_to_gap(struct muster_gap *gap, const struct muster_gap *one)
{
	gap->failed++;
	for (size_t side = 0; side < 2; side++) {
		if (one->lowest[side] < gap->lowest[side])
			gap->lowest[side] = one->lowest[side];
		if (one->highest[side] > gap->highest[side])
			gap->highest[side] = one->highest[side];
	}
}

/* One gap for each two components with a failed pair across them: first each such pair is a gap of its own, then those
 * of equal components are joined. */
static void find_gaps(struct muster_suspects *s)
{
	size_t count = 0;
	for (size_t i = 0; i < s->edge_count; i++) {
		const struct muster_edge *edge = &s->edges[i];
		bool swap = s->nodes[edge->a].component > s->nodes[edge->b].component;
		size_t low = swap ? edge->b : edge->a, high = swap ? edge->a : edge->b;
		if (edge->failed && muster_suspects_across(s, edge))
			s->gaps[count++] = (struct muster_gap){
				.components = { s->nodes[low].component, s->nodes[high].component },
				.failed = 1,
				.lowest = { low, high },
				.highest = { low, high },
			};
	}
	if (count)
		qsort(s->gaps, count, sizeof *s->gaps, by_components);
	for (size_t i = 0; i < count; i++)
		if (s->gap_count > 0 && by_components(&s->gaps[s->gap_count - 1], &s->gaps[i]) == 0)
			add_to_gap(&s->gaps[s->gap_count - 1], &s->gaps[i]);
		else
			s->gaps[s->gap_count++] = s->gaps[i];
}

/* Enough pairs failed across the gap, and not all of them with one node: its other nodes may work across. */
static bool is_sure(const struct muster_suspects *s, const struct muster_gap *gap)
{
	size_t pairs = s->component_sizes[gap->components[0]] * s->component_sizes[gap->components[1]];
	bool several = gap->lowest[0] != gap->highest[0] && gap->lowest[1] != gap->highest[1];
	return gap->failed == pairs || (several && gap->failed >= MUSTER_SPLIT_PAIRS);
}

/* All gaps are sure. A node that was tried with no other one may connect two components. */
static void find_split(struct muster_suspects *s)
{
	size_t sure = 0;
	bool tried = true;
	for (size_t i = 0; i < s->gap_count; i++)
		sure += is_sure(s, &s->gaps[i]);
	for (size_t i = 0; i < s->node_count; i++)
		tried = tried && (s->nodes[i].passed + s->nodes[i].failed > 0 || muster_suspects_suspected(s, i));
	s->split = s->component_count > 1 && sure == s->component_count * (s->component_count - 1) / 2 && tried;
}

/* ---- nodes and links ---- */

/* Give each edge to slow_pairs.c; *ret: what it names. The pairs are the arena's. */
static struct muster_pair *name_pairs(struct muster_suspects *s, struct muster_slow_parts *ret)
{
	struct muster_pair *pairs = muster_arena_alloc(s->arena, (s->edge_count + 1) * sizeof *pairs);
	size_t *nodes = muster_arena_alloc(s->arena, (s->node_count + 1) * sizeof *nodes);
	for (size_t i = 0; i < s->node_count; i++)
		nodes[i] = i;
	for (size_t i = 0; i < s->edge_count; i++) {
		const struct muster_edge *edge = &s->edges[i];
		bool explained = muster_suspects_suspected(s, edge->a) || muster_suspects_suspected(s, edge->b);
		pairs[i] = (struct muster_pair){
			.ranks = { edge->a, edge->b },
			.state = explained || muster_suspects_across(s, edge) ? MUSTER_PAIR_UNUSED
				 : edge->failed                               ? MUSTER_PAIR_SLOW
									      : MUSTER_PAIR_GOOD,
		};
	}
	muster_slow_pairs_name(pairs, s->edge_count, nodes, s->node_count, ret);
	return pairs;
}

/* In how many components the node failed with a node, and with how many nodes that work with no other one. */
static void count_failed_with(
	const struct muster_suspects *s, size_t node, size_t *seen, size_t *ret_components, size_t *ret_isolated)
{
	*ret_components = *ret_isolated = 0;
	for (size_t i = s->first_edge[node]; i < s->first_edge[node + 1]; i++) {
		const struct muster_edge *edge = &s->edges[s->node_edges[i]];
		size_t other = muster_edge_other(edge, node), component = s->nodes[other].component;
		if (!edge->failed || muster_suspects_suspected(s, other))
			continue;
		*ret_isolated += s->nodes[other].passed == 0;
		if (s->component_sizes[component] > 1 && seen[component] != node + 1) {
			seen[component] = node + 1;
			++*ret_components;
		}
	}
}

/* Nodes that work with no other one. Such a node is suspected when slow_pairs.c names it and it failed with a node of
 * every component (with a component that it was not tried with, it may still work), in one of these cases:
 *   it failed with all other nodes of its kind
 *   its kind are more than MUSTER_ISOLATED_FEW nodes, which are not tried with each other, and at most a third of all
 * More than a third may work with each other, behind a switch of their own. */
static void blame_isolated(struct muster_suspects *s)
{
	struct muster_slow_parts parts;
	size_t with_components, with_isolated;
	size_t *seen = muster_arena_alloc(s->arena, (s->node_count + 1) * sizeof *seen);
	bool *suspected = muster_arena_alloc(s->arena, (s->node_count + 1) * sizeof *suspected);
	name_pairs(s, &parts);
	for (size_t i = 0; i < s->node_count; i++)
		s->isolated += !muster_suspects_suspected(s, i) && s->nodes[i].passed == 0;
	bool few = s->isolated > MUSTER_ISOLATED_FEW && 3 * s->isolated <= s->node_count;
	for (size_t i = 0; i < parts.count; i++) {
		const struct muster_part *part = &parts.items[i];
		if (part->link || part->kind != MUSTER_PART_GPU)
			continue;
		count_failed_with(s, part->ends[0], seen, &with_components, &with_isolated);
		suspected[part->ends[0]] =
			with_components == s->component_count && (few || with_isolated + 1 >= s->isolated);
	}
	for (size_t i = 0; i < s->node_count; i++)
		if (suspected[i])
			s->nodes[i].blame = MUSTER_BLAME_PARTNERS;
	free(parts.items);
}

/* Whether the edge failed between two nodes of one component, neither of which is suspected yet. */
static bool failed_inside(const struct muster_suspects *s, const struct muster_edge *edge)
{
	return edge->failed && s->nodes[edge->a].component == s->nodes[edge->b].component &&
	       !muster_suspects_suspected(s, edge->a) && !muster_suspects_suspected(s, edge->b);
}

/* The node becomes a suspect: its failures are taken off the counts of its partners. all: for each node, its failures
 * within its component. */
static void blame_for_partners(struct muster_suspects *s, size_t node, size_t *all)
{
	for (size_t i = s->first_edge[node]; i < s->first_edge[node + 1]; i++) {
		const struct muster_edge *edge = &s->edges[s->node_edges[i]];
		all[muster_edge_other(edge, node)] -= failed_inside(s, edge);
	}
	s->nodes[node].blame = MUSTER_BLAME_PARTNERS;
}

/* Nodes that work with some and fail with others of the same component, which are good because they are of one: the one
 * with the most failures first, since it explains those of its partners. Counts only fall here, so each number of
 * failures is looked for once. */
static void blame_unsteady(struct muster_suspects *s)
{
	size_t most = 0, *all = muster_arena_alloc(s->arena, s->node_count * sizeof *all);
	for (size_t i = 0; i < s->edge_count; i++) {
		bool failed = failed_inside(s, &s->edges[i]);
		all[s->edges[i].a] += failed;
		all[s->edges[i].b] += failed;
	}
	for (size_t i = 0; i < s->node_count; i++)
		most = all[i] > most ? all[i] : most;
	for (; most >= 2; most--)
		for (size_t i = 0; i < s->node_count; i++)
			if (all[i] == most && !muster_suspects_suspected(s, i))
				blame_for_partners(s, i, all);
}

/* Links between two nodes of one component: both work with other nodes. */
static void find_links(struct muster_suspects *s)
{
	struct muster_slow_parts parts;
	const struct muster_pair *pairs = name_pairs(s, &parts);
	for (size_t i = 0; i < s->edge_count; i++) {
		const struct muster_part *part = pairs[i].part ? &parts.items[pairs[i].part - 1] : NULL;
		s->links[i] = part && part->link && !part->undecided;
		s->link_count += s->links[i];
		s->unexplained += !muster_suspects_explain(s, i);
	}
	free(parts.items);
}

/* ---- all of it ---- */

bool muster_suspects_explain(const struct muster_suspects *s, size_t i)
{
	const struct muster_edge *edge = &s->edges[i];
	return !edge->failed || muster_suspects_suspected(s, edge->a) || muster_suspects_suspected(s, edge->b) ||
	       s->links[i] || (s->split && muster_suspects_across(s, edge));
}

bool muster_suspects_explain_ring(const struct muster_suspects *s, const bool *in)
{
	size_t component = SIZE_MAX;
	for (size_t i = 0; i < s->node_count; i++) {
		if (!in[i])
			continue;
		if (muster_suspects_suspected(s, i) ||
			(s->split && component != SIZE_MAX && s->nodes[i].component != component))
			return true;
		component = s->nodes[i].component;
	}
	for (size_t i = 0; i < s->edge_count; i++)
		if (s->links[i] && in[s->edges[i].a] && in[s->edges[i].b])
			return true;
	return false;
}

void muster_suspects_find(
	const struct muster_attempt *attempts, size_t count, size_t nodes, struct muster_suspects *ret)
{
	struct muster_arena *arena = muster_arena_new();
	struct muster_suspects s = {
		.arena = arena,
		.nodes = muster_arena_alloc(arena, nodes * sizeof *s.nodes),
		.node_count = nodes,
		.edges = muster_arena_alloc(arena, count * sizeof *s.edges),
		.node_edges = muster_arena_alloc(arena, 2 * count * sizeof *s.node_edges),
		.first_edge = muster_arena_alloc(arena, (nodes + 2) * sizeof *s.first_edge),
		.links = muster_arena_alloc(arena, count * sizeof *s.links),
		.component_sizes = muster_arena_alloc(arena, nodes * sizeof *s.component_sizes),
		.components = muster_arena_alloc(arena, nodes * sizeof *s.components),
		.gaps = muster_arena_alloc(arena, count * sizeof *s.gaps),
	};
	find_results(attempts, count, &s);
	list_edges(&s);
	for (size_t i = 0; i < nodes; i++)
		if (s.nodes[i].alone == MUSTER_BROKEN)
			s.nodes[i].blame = MUSTER_BLAME_ALONE;
	find_components(&s);
	blame_isolated(&s);
	blame_unsteady(&s);
	find_components(&s);
	find_gaps(&s);
	find_split(&s);
	find_links(&s);
	for (size_t i = 0; i < nodes; i++)
		s.suspected += muster_suspects_suspected(&s, i);
	*ret = s;
}

void muster_suspects_done(struct muster_suspects *suspects)
{
	muster_arena_free(suspects->arena);
	*suspects = (struct muster_suspects){ 0 };
}
