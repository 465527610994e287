/* blame.c - which nodes, links or partitions explain the localisation all-reduces that failed */
#include "localize/split.h"

#include "util/sort.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

bool muster_edge_failed(const struct muster_edge *edge)
{
	return edge && edge->result > MUSTER_PASSED;
}

double muster_late_seconds(double slowest)
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

static int compare(size_t a, size_t b)
{
	return (a > b) - (a < b);
}

static int by_nodes(const void *x, const void *y)
{
	const struct muster_edge *a = x, *b = y;
	return a->a != b->a ? compare(a->a, b->a) : compare(a->b, b->b);
}

static int by_nodes_then_last(const void *x, const void *y)
{
	int order = by_nodes(x, y);
	return order ? order : compare(((const struct muster_edge *)y)->trial, ((const struct muster_edge *)x)->trial);
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

/* The last trial of each node and of each pair. late_seconds: from so many on a late trial failed. */
static void take_attempts(
	const struct muster_attempt *attempts, size_t count, double late_seconds, struct muster_suspects *s)
{
	size_t kept = 0;
	memset(s->nodes, 0, s->node_count * sizeof *s->nodes);
	s->edge_count = s->counted = s->not_tried = 0;
	for (size_t i = 0; i < count; i++) {
		size_t a = attempts[i].nodes[0], b = attempts[i].nodes[1];
		enum muster_result result = attempts[i].status == MUSTER_TRIAL_OK ? MUSTER_PASSED : MUSTER_BROKEN;
		if (a >= s->node_count || b >= s->node_count)
			continue;
		if (attempts[i].status == MUSTER_TRIAL_LATE && attempts[i].seconds < late_seconds) {
			s->not_tried++;
			continue;
		}
		s->counted++;
		if (a == b) {
			s->nodes[a].alone = result;
			s->nodes[a].alone_gbps = attempts[i].gbps;
			s->nodes[a].alone_least = attempts[i].least;
			s->nodes[a].trial = i;
		} else {
			s->edges[s->edge_count++] = (struct muster_edge){
				.a = a < b ? a : b,
				.b = a < b ? b : a,
				.result = result,
				.gbps = attempts[i].gbps,
				.least = attempts[i].least,
				.trial = i,
			};
		}
	}
	if (s->edge_count)
		qsort(s->edges, s->edge_count, sizeof *s->edges, by_nodes_then_last);
	for (size_t i = 0; i < s->edge_count; i++)
		if (kept == 0 || by_nodes(&s->edges[kept - 1], &s->edges[i]) != 0)
			s->edges[kept++] = s->edges[i];
	s->edge_count = kept;
}

/* List the edges of each node. */
static void list_edges(struct muster_suspects *s)
{
	size_t *next = s->first_edge +
		       1; /* where the next edge of a node goes; in the end that is where the next node's begin */
	for (size_t i = 0; i < s->edge_count; i++) {
		next[s->edges[i].a + 1]++;
		next[s->edges[i].b + 1]++;
	}
	for (size_t i = 1; i <= s->node_count; i++)
		next[i] += next[i - 1];
	for (size_t i = 0; i < s->edge_count; i++) {
		s->node_edges[next[s->edges[i].a]++] = i;
		s->node_edges[next[s->edges[i].b]++] = i;
	}
}

/* The median of what each node showed at best; 0 when fewer than three showed anything. */
static double median_of_best(struct muster_suspects *s, const double *best, size_t *ret_count)
{
	double *values = muster_arena_alloc(s->arena, s->node_count * sizeof *values);
	size_t count = 0;
	for (size_t i = 0; i < s->node_count; i++)
		if (best[i] > 0)
			values[count++] = best[i];
	qsort(values, count, sizeof *values, muster_by_double);
	*ret_count = count;
	return count >= 3 ? values[count / 2] : 0;
}

static void find_slow(struct muster_suspects *s)
{
	double *best = muster_arena_alloc(s->arena, s->node_count * sizeof *best);
	for (size_t i = 0; i < s->node_count; i++)
		if (s->nodes[i].alone == MUSTER_PASSED)
			best[i] = s->nodes[i].alone_gbps;
	s->medians[0] = median_of_best(s, best, &s->compared[0]);
	memset(best, 0, s->node_count * sizeof *best);
	for (size_t i = 0; i < s->edge_count; i++) {
		const struct muster_edge *edge = &s->edges[i];
		if (edge->result != MUSTER_PASSED)
			continue;
		best[edge->a] = edge->gbps > best[edge->a] ? edge->gbps : best[edge->a];
		best[edge->b] = edge->gbps > best[edge->b] ? edge->gbps : best[edge->b];
	}
	s->medians[1] = median_of_best(s, best, &s->compared[1]);
	for (size_t i = 0; i < s->node_count; i++) {
		struct muster_suspect *node = &s->nodes[i];
		double least = fmax(node->alone_least, MUSTER_SLOW_SHARE * s->medians[0]);
		if (node->alone == MUSTER_PASSED && node->alone_gbps > 0 && node->alone_gbps < least)
			node->alone = MUSTER_SLOW;
	}
	for (size_t i = 0; i < s->edge_count; i++) {
		struct muster_edge *edge = &s->edges[i];
		double least = fmax(edge->least, MUSTER_SLOW_SHARE * s->medians[1]);
		if (edge->result == MUSTER_PASSED && edge->gbps > 0 && edge->gbps < least)
			edge->result = MUSTER_SLOW;
	}
}

static double slowest_passed(const struct muster_attempt *attempts, const struct muster_suspects *s)
{
	double slowest = 0;
	for (size_t i = 0; i < s->node_count; i++)
		if (s->nodes[i].alone == MUSTER_PASSED && attempts[s->nodes[i].trial].seconds > slowest)
			slowest = attempts[s->nodes[i].trial].seconds;
	for (size_t i = 0; i < s->edge_count; i++)
		if (s->edges[i].result == MUSTER_PASSED && attempts[s->edges[i].trial].seconds > slowest)
			slowest = attempts[s->edges[i].trial].seconds;
	return slowest;
}

/* How each node and each pair did: what ran out of time is compared with those that passed, so they are found first. */
static void find_results(const struct muster_attempt *attempts, size_t count, struct muster_suspects *s)
{
	take_attempts(attempts, count, INFINITY, s);
	find_slow(s);
	s->slowest = slowest_passed(attempts, s);
	if (s->not_tried == 0)
		return;
	take_attempts(attempts, count, muster_late_seconds(s->slowest), s);
	find_slow(s);
}

static size_t find_root(struct muster_suspect *nodes, size_t node)
{
	while (nodes[node].part != node) {
		nodes[node].part = nodes[nodes[node].part].part; /* halves the way for the next one */
		node = nodes[node].part;
	}
	return node;
}

/* Nodes that passed together belong to one part; its number is that of its lowest node. */
static void find_parts(struct muster_suspects *s)
{
	size_t *sizes = s->part_sizes;
	for (size_t i = 0; i < s->node_count; i++) {
		s->nodes[i].part = i;
		sizes[i] = 0;
	}
	for (size_t i = 0; i < s->edge_count; i++) {
		const struct muster_edge *edge = &s->edges[i];
		if (muster_edge_failed(edge) || muster_suspects_suspected(s, edge->a) ||
			muster_suspects_suspected(s, edge->b))
			continue;
		size_t a = find_root(s->nodes, edge->a), b = find_root(s->nodes, edge->b);
		s->nodes[a > b ? a : b].part = a < b ? a : b;
	}
	for (size_t i = 0; i < s->node_count; i++) {
		s->nodes[i].part = find_root(s->nodes, i);
		sizes[s->nodes[i].part] += !muster_suspects_suspected(s, i);
	}
	s->part_count = 0;
	for (size_t i = 0; i < s->node_count; i++) {
		s->is_part[i] = sizes[i] > 1;
		if (sizes[i] > 1)
			s->parts[s->part_count++] = i;
	}
}

static void count_partners(struct muster_suspects *s)
{
	for (size_t i = 0; i < s->edge_count; i++) {
		const struct muster_edge *edge = &s->edges[i];
		bool failed = muster_edge_failed(edge);
		s->nodes[edge->a].failed += failed;
		s->nodes[edge->b].failed += failed;
		s->nodes[edge->a].passed += !failed;
		s->nodes[edge->b].passed += !failed;
	}
}

/* Of the partners of each node how many work alone, and how many are good. To a node that failed with all of them these
 * are its failures. */
static void count_working(const struct muster_suspects *s, size_t *all, size_t *good)
{
	for (size_t i = 0; i < s->edge_count; i++) {
		const struct muster_edge *edge = &s->edges[i];
		size_t ends[] = { edge->a, edge->b };
		for (size_t end = 0; end < 2; end++) {
			size_t node = ends[end], other = ends[1 - end];
			if (s->nodes[other].blame == MUSTER_BLAME_ALONE)
				continue; /* which explains the failure */
			all[node]++;
			good[node] += muster_suspects_good(s, other);
		}
	}
}

/* Nodes that work with no other node, and failed with two at least, of which one is good. When they are many they may
 * work with each other, behind a switch of their own: then each must have been tried with all the others of them. */
static void blame_isolated(struct muster_suspects *s)
{
	size_t isolated = 0, *failed = muster_arena_alloc(s->arena, s->node_count * sizeof *failed);
	size_t *all = muster_arena_alloc(s->arena, s->node_count * sizeof *all);
	size_t *good = muster_arena_alloc(s->arena, s->node_count * sizeof *good);
	count_working(s, all, good);
	for (size_t i = 0; i < s->node_count; i++)
		isolated += !muster_suspects_suspected(s, i) && s->nodes[i].passed == 0;
	for (size_t i = 0; i < s->edge_count; i++) {
		const struct muster_edge *edge = &s->edges[i];
		failed[edge->a] += s->nodes[edge->b].passed == 0 && !muster_suspects_suspected(s, edge->b);
		failed[edge->b] += s->nodes[edge->a].passed == 0 && !muster_suspects_suspected(s, edge->a);
	}
	for (size_t i = 0; i < s->node_count; i++) {
		struct muster_suspect *one = &s->nodes[i];
		bool few = isolated * 3 <= s->node_count || failed[i] + 1 >= isolated;
		if (one->blame == MUSTER_BLAME_NONE && one->passed == 0 && all[i] >= 2 && good[i] > 0 && few)
			failed[i] = SIZE_MAX; /* all suspects are found before any is marked, because a mark makes its
						 partners' evidence weaker */
	}
	for (size_t i = 0; i < s->node_count; i++)
		if (failed[i] == SIZE_MAX)
			s->nodes[i].blame = MUSTER_BLAME_PARTNERS;
}

static bool failed_inside(const struct muster_suspects *s, const struct muster_edge *edge)
{
	return muster_edge_failed(edge) && s->nodes[edge->a].part == s->nodes[edge->b].part &&
	       !muster_suspects_suspected(s, edge->a) && !muster_suspects_suspected(s, edge->b);
}

/* The node is a suspect: its failures count no more for its partners. */
static void blame_for_partners(struct muster_suspects *s, size_t node, size_t *all)
{
	for (size_t i = s->first_edge[node]; i < s->first_edge[node + 1]; i++) {
		const struct muster_edge *edge = &s->edges[s->node_edges[i]];
		all[muster_edge_other(edge, node)] -= failed_inside(s, edge);
	}
	s->nodes[node].blame = MUSTER_BLAME_PARTNERS;
}

/* Nodes that work with some and fail with others of the same part, which are good because they are of a part: the one
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

bool muster_suspects_explain(const struct muster_suspects *s, size_t i)
{
	const struct muster_edge *edge = &s->edges[i];
	return !muster_edge_failed(edge) || muster_suspects_suspected(s, edge->a) ||
	       muster_suspects_suspected(s, edge->b) || s->links[i] || (s->split && muster_suspects_across(s, edge));
}

bool muster_suspects_explain_ring(const struct muster_suspects *s, const bool *in)
{
	size_t part = SIZE_MAX;
	for (size_t i = 0; i < s->node_count; i++) {
		if (!in[i])
			continue;
		if (muster_suspects_suspected(s, i) || (s->split && part != SIZE_MAX && s->nodes[i].part != part))
			return true;
		part = s->nodes[i].part;
	}
	for (size_t i = 0; i < s->edge_count; i++)
		if (s->links[i] && in[s->edges[i].a] && in[s->edges[i].b])
			return true;
	return false;
}

static void explain_edges(struct muster_suspects *s)
{
	for (size_t i = 0; i < s->edge_count; i++) {
		const struct muster_edge *edge = &s->edges[i];
		s->links[i] = muster_edge_failed(edge) && s->nodes[edge->a].part == s->nodes[edge->b].part &&
			      muster_suspects_good(s, edge->a) && muster_suspects_good(s, edge->b);
		s->link_count += s->links[i];
		s->unexplained += !muster_suspects_explain(s, i);
	}
}

void muster_suspects_find(const struct muster_attempt *attempts, size_t count, size_t nodes, bool rest_failed,
	struct muster_suspects *ret)
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
		.part_sizes = muster_arena_alloc(arena, nodes * sizeof *s.part_sizes),
		.parts = muster_arena_alloc(arena, nodes * sizeof *s.parts),
		.is_part = muster_arena_alloc(arena, nodes * sizeof *s.is_part),
		.gaps = muster_arena_alloc(arena, count * sizeof *s.gaps),
	};
	find_results(attempts, count, &s);
	list_edges(&s);
	count_partners(&s);
	for (size_t i = 0; i < nodes; i++)
		if (s.nodes[i].alone > MUSTER_PASSED)
			s.nodes[i].blame = MUSTER_BLAME_ALONE;
	blame_isolated(&s);
	find_parts(&s);
	blame_unsteady(&s);
	find_parts(&s);
	muster_suspects_find_split(&s, rest_failed);
	explain_edges(&s);
	for (size_t i = 0; i < nodes; i++)
		s.suspected += muster_suspects_suspected(&s, i);
	*ret = s;
}

void muster_suspects_done(struct muster_suspects *suspects)
{
	muster_arena_free(suspects->arena);
	*suspects = (struct muster_suspects){ 0 };
}
