/* split.c - whether the nodes are separate parts: nodes of one part work together, nodes of two parts do not
 */
#include "localize/split.h"

#include <stdlib.h>

static int compare(size_t a, size_t b)
{
	return (a > b) - (a < b);
}

bool muster_suspects_failed_with(const struct muster_suspects *s, size_t node, size_t part)
{
	for (size_t i = s->first_edge[node]; i < s->first_edge[node + 1]; i++) {
		const struct muster_edge *edge = &s->edges[s->node_edges[i]];
		size_t other = muster_edge_other(edge, node);
		if (muster_edge_failed(edge) && s->nodes[other].part == part)
			return true;
	}
	return false;
}

static int by_parts(const void *x, const void *y)
{
	const size_t *a = ((const struct muster_gap *)x)->parts, *b = ((const struct muster_gap *)y)->parts;
	return a[0] != b[0] ? compare(a[0], b[0]) : compare(a[1], b[1]);
}

static int by_parts_then_edge(const void *x, const void *y)
{
	int order = by_parts(x, y);
	return order ? order
		     : compare(((const struct muster_gap *)x)->edges[0], ((const struct muster_gap *)y)->edges[0]);
}

const struct muster_gap *muster_suspects_gap(const struct muster_suspects *s, size_t part, size_t other)
{
	const struct muster_gap key = { .parts = { part < other ? part : other, part < other ? other : part } };
	return s->gap_count ? bsearch(&key, s->gaps, s->gap_count, sizeof *s->gaps, by_parts) : NULL;
}

static bool have_common_node(const struct muster_edge *one, const struct muster_edge *two)
{
	return one->a == two->a || one->b == two->b || one->a == two->b || one->b == two->a;
}

/* One gap of those of one edge each between the same two parts. Of two edges without a node in common one is the first
 * or the second of all: otherwise all have a node in common with the first, and the same one. */
static struct muster_gap join_gaps(const struct muster_suspects *s, const struct muster_gap *gaps, size_t count)
{
	struct muster_gap joined = gaps[count - 1];
	joined.failed = count;
	for (size_t i = 0; i < 2 && i < count; i++)
		for (size_t j = i + 1; j < count; j++)
			if (!have_common_node(&s->edges[gaps[i].edges[0]], &s->edges[gaps[j].edges[0]])) {
				joined.edges[0] = gaps[i].edges[0];
				joined.edges[1] = gaps[j].edges[0];
				joined.edge_count = 2;
				return joined;
			}
	return joined;
}

bool muster_suspects_across(const struct muster_suspects *s, const struct muster_edge *edge)
{
	size_t a = s->nodes[edge->a].part, b = s->nodes[edge->b].part;
	return a != b && s->is_part[a] && s->is_part[b];
}

static void find_gaps(struct muster_suspects *s)
{
	size_t count = 0;
	for (size_t i = 0; i < s->edge_count; i++) {
		size_t a = s->nodes[s->edges[i].a].part, b = s->nodes[s->edges[i].b].part;
		if (muster_edge_failed(&s->edges[i]) && muster_suspects_across(s, &s->edges[i]))
			s->gaps[count++] = (struct muster_gap){
				.parts = { a < b ? a : b, a < b ? b : a }, .edges = { i }, .edge_count = 1
			};
	}
	if (count)
		qsort(s->gaps, count, sizeof *s->gaps, by_parts_then_edge);
	for (size_t from = 0, to; from < count; from = to) {
		for (to = from + 1; to < count && by_parts(&s->gaps[from], &s->gaps[to]) == 0;)
			to++;
		s->gaps[s->gap_count++] = join_gaps(s, &s->gaps[from], to - from);
	}
}

size_t muster_gap_needs(const struct muster_suspects *s, const struct muster_gap *gap)
{
	size_t pairs = s->part_sizes[gap->parts[0]] * s->part_sizes[gap->parts[1]];
	size_t wanted = pairs < MUSTER_SPLIT_PAIRS ? pairs : MUSTER_SPLIT_PAIRS;
	if (gap->failed < wanted)
		return wanted - gap->failed;
	return gap->edge_count < 2 && gap->failed < pairs;
}

/* A node that was tried with no other one may connect two parts. */
static bool all_were_tried(const struct muster_suspects *s)
{
	for (size_t i = 0; i < s->node_count; i++)
		if (s->nodes[i].passed + s->nodes[i].failed == 0 && !muster_suspects_suspected(s, i))
			return false;
	return true;
}

/* Any two parts have failed in two pairs without a node in common: perhaps a split. It is one if they have failed in
 * enough pairs. Returns whether it may be one. */
static bool find_split(struct muster_suspects *s)
{
	size_t wide = 0, sure = 0, all = s->part_count * (s->part_count - 1) / 2;
	for (size_t i = 0; i < s->gap_count; i++) {
		wide += s->gaps[i].edge_count == 2;
		sure += s->gaps[i].edge_count == 2 && muster_gap_needs(s, &s->gaps[i]) == 0;
	}
	s->split = s->part_count > 1 && sure == all && all_were_tried(s);
	return s->part_count > 1 && wide == all;
}

/* Where the nodes may be separate parts, a node that works with no other node may belong to a part that it was not
 * tried with: it is a suspect only after it failed with all parts. */
static void clear_isolated(struct muster_suspects *s)
{
	for (size_t i = 0; i < s->node_count; i++) {
		struct muster_suspect *one = &s->nodes[i];
		size_t failed = 0;
		if (one->blame != MUSTER_BLAME_PARTNERS || one->passed > 0)
			continue;
		while (failed < s->part_count && muster_suspects_failed_with(s, i, s->parts[failed]))
			failed++;
		if (failed < s->part_count)
			one->blame = MUSTER_BLAME_NONE;
	}
}

void muster_suspects_find_split(struct muster_suspects *s, bool rest_failed)
{
	find_gaps(s);
	if (find_split(s) || rest_failed)
		clear_isolated(s);
}
