/* SPDX-License-Identifier: Apache-2.0 */
/* slow_pairs.c - which part makes exchanges of pairs of ranks slow
 *
 * Exchanges within a node or an NVLink domain come first: they name GPUs. A GPU that is slow there is slow through its
 * NIC too, so its exchanges through NICs say nothing of the NIC. What is slow in an NVLink domain between nodes alone
 * is a node, or a GPU's way to other nodes, and comes second.
 *
 * For each medium these steps, but name_left once for both kinds of NVLink. For NVLink within a node suspect_by_rails
 * comes after suspect:
 *   look           what the exchanges say of each rank: any good one, any slow one, with how many others
 *   suspect        a rank without a good exchange, slow with two others, one of which is well elsewhere
 *   name_suspects  suspected ranks become GPUs; all ranks of a NIC the NIC; all NICs of a node the node
 *   name_left      what no rank explains: links between two GPUs, NICs or nodes
 *
 * By numbers, with edges around a node of four GPUs, 0-1, 1-2, 2-3 and 3-0, of usually 470 GB/s:
 *   0-1 83, 1-2 84, others 470   GPU 1: both of its exchanges are slow, and GPUs 0 and 2 are well with GPU 3
 *   1-2 84, others 470           the link between GPUs 1 and 2: each of the two is well with another GPU
 *   0-1 83, 1-2 84, 2-3 85       GPUs 1 and 2, which are slow with GPUs 0 and 3, and these are well with each other.
 *                                The exchange 1-2 is told with GPU 1, the lower number
 *   all four slow                no GPU is well, and more than half are slow: no part is named, but the run (ALL)
 *
 * With three nodes of eight GPUs, rails 0-8, 8-16 and 16-0, and so on for the seven other GPUs of each node:
 *   0-8 20, 8-16 21, 16-0 45     the NIC of rank 8
 *   all rails of node 1 slow     each NIC of node 1 is suspected, so the node is named, once
 *   0-8 20, others 45            the link between the NICs of ranks 0 and 8
 *
 * With two nodes there is no third one that tells: a link that is `undecided`, because either end may be the cause.
 */
#include "localize/slow_pairs.h"

#include "muster/arena.h"
#include "util/array.h"

#include <stdint.h>
#include <stdlib.h>

#define NONE SIZE_MAX

/* What the exchanges of one medium say of a rank. Slow or doubtful ones count for `other` and `several`. */
struct view {
	bool used, good, doubtful, slow;
	size_t other; /* the first one that it is slow with */
	bool several; /* slow with another one too */
	bool suspected;
	size_t nic; /* of its first exchange */
};

/* Of a NIC, by its number: its ranks. Of a node, by its number: its NICs. */
struct fold {
	size_t members, suspected; /* how many are used, and how many of these are suspected */
	size_t part;               /* 1 + the part that all of them became; 0: none yet */
};

struct search {
	struct muster_pair *pairs;
	size_t count;
	const size_t *nodes;
	size_t rank_count;
	struct muster_slow_parts *parts;
	struct view *views, *rails; /* of each rank: in the medium at hand, and through NICs */
	struct fold *nics, *nodes_of_nics;
	size_t *named_as; /* for each rank: 1 + its part */
};

/* In this order. BETWEEN: of those of NVLINK, the ones of two nodes. */
enum medium { NVLINK, BETWEEN, NETWORK, MEDIUM_COUNT };

static bool is_in(const struct search *s, const struct muster_pair *pair, enum medium medium)
{
	return pair->network == (medium == NETWORK) && pair->state != MUSTER_PAIR_UNUSED && pair->part == 0 &&
	       (medium != BETWEEN || s->nodes[pair->ranks[0]] != s->nodes[pair->ranks[1]]);
}

/* Fill one view of each rank. */
static void look(const struct search *s, enum medium medium, struct view *views)
{
	for (size_t rank = 0; rank < s->rank_count; rank++)
		views[rank] = (struct view){ .other = NONE, .nic = NONE };
	for (size_t i = 0; i < s->count; i++) {
		const struct muster_pair *pair = &s->pairs[i];
		for (size_t end = 0; end < 2 && is_in(s, pair, medium); end++) {
			struct view *view = &views[pair->ranks[end]];
			size_t other = pair->ranks[1 - end];
			view->used = true;
			view->good |= pair->state == MUSTER_PAIR_GOOD;
			view->doubtful |= pair->state == MUSTER_PAIR_DOUBTFUL;
			view->slow |= pair->state == MUSTER_PAIR_SLOW;
			view->several |= pair->state != MUSTER_PAIR_GOOD && view->other != NONE && view->other != other;
			if (pair->state != MUSTER_PAIR_GOOD && view->other == NONE)
				view->other = other;
			if (view->nic == NONE)
				view->nic = medium == NETWORK ? pair->nics[end] : pair->ranks[end];
		}
	}
}

/* All exchanges of a rank are slow, and one of the other ranks is well elsewhere. Doubtful exchanges clear the other
 * rank where the rank itself has none. */
static void suspect(struct search *s, enum medium medium)
{
	for (size_t i = 0; i < s->count; i++) {
		const struct muster_pair *pair = &s->pairs[i];
		if (!is_in(s, pair, medium) || pair->state != MUSTER_PAIR_SLOW)
			continue;
		for (size_t end = 0; end < 2; end++) {
			struct view *view = &s->views[pair->ranks[end]];
			const struct view *other = &s->views[pair->ranks[1 - end]];
			bool well = other->good || (other->doubtful && !view->doubtful);
			view->suspected |= !view->good && view->several && well;
		}
	}
}

static size_t add_part(struct search *s, struct muster_part part)
{
	MUSTER_ARRAY_PUSH(s->parts->items, s->parts->count, s->parts->room, part);
	return s->parts->count;
}

/* Of two GPUs of which no other GPU tells which is slow, their exchanges through NICs may tell. */
static void suspect_by_rails(struct search *s)
{
	for (size_t i = 0; i < s->count; i++) {
		const struct muster_pair *pair = &s->pairs[i];
		size_t a = pair->ranks[0], b = pair->ranks[1];
		if (!is_in(s, pair, NVLINK) || pair->state != MUSTER_PAIR_SLOW || s->views[a].good ||
			s->views[b].good || s->views[a].several || s->views[b].several)
			continue;
		bool a_slow = s->rails[a].slow && !s->rails[a].good, b_slow = s->rails[b].slow && !s->rails[b].good;
		s->views[a].suspected |= a_slow && s->rails[b].good;
		s->views[b].suspected |= b_slow && s->rails[a].good;
	}
}

/* Parts for the ranks that are suspected: GPUs, or what they share. Where all NICs of a node are suspected, two at
 * least, the node; else where all ranks of the NIC are, the NIC; else the GPU. In the medium BETWEEN each GPU has the
 * place of a NIC. In NVLINK there is only the GPU. Then the exchanges of these ranks that are slow or doubtful get the
 * part. */
static void name_suspects(struct search *s, enum medium medium)
{
	struct fold *nics = s->nics, *nodes = s->nodes_of_nics;
	for (size_t rank = 0; rank < s->rank_count; rank++) {
		nics[rank] = nodes[rank] = (struct fold){ 0 };
		s->named_as[rank] = 0;
	}
	for (size_t rank = 0; rank < s->rank_count && medium != NVLINK; rank++) {
		const struct view *view = &s->views[rank];
		if (!view->used)
			continue;
		nics[view->nic].members++;
		nics[view->nic].suspected += view->suspected;
	}
	for (size_t nic = 0; nic < s->rank_count; nic++) {
		nodes[s->nodes[nic]].members += nics[nic].members > 0;
		nodes[s->nodes[nic]].suspected += nics[nic].members > 0 && nics[nic].suspected == nics[nic].members;
	}
	for (size_t rank = 0; rank < s->rank_count; rank++) {
		const struct view *view = &s->views[rank];
		struct fold *node = &nodes[s->nodes[rank]],
			    *nic = medium != NVLINK && view->used ? &nics[view->nic] : NULL;
		if (!view->suspected)
			continue;
		bool all = nic && node->members > 1 && node->suspected == node->members;
		bool whole = medium == NETWORK && nic && nic->suspected == nic->members;
		struct fold *shared = all ? node : whole ? nic : NULL;
		if (!shared || !shared->part) {
			struct muster_part part = { .kind = all     ? MUSTER_PART_NODE
							    : whole ? MUSTER_PART_NIC
								    : MUSTER_PART_GPU,
				.network = medium == NETWORK,
				.between_nodes = medium == BETWEEN,
				.ends = { all     ? s->nodes[rank]
					  : whole ? view->nic
						  : rank } };
			s->named_as[rank] = add_part(s, part);
			if (shared)
				shared->part = s->named_as[rank];
		} else {
			s->named_as[rank] = shared->part;
		}
	}
	for (size_t i = 0; i < s->count; i++) {
		struct muster_pair *pair = &s->pairs[i];
		bool theirs = pair->state == MUSTER_PAIR_SLOW || pair->state == MUSTER_PAIR_DOUBTFUL;
		size_t part = s->named_as[pair->ranks[0]] ? s->named_as[pair->ranks[0]] : s->named_as[pair->ranks[1]];
		/* a GPU that is slow explains all its exchanges; a NIC, or all those of a node, what goes through it */
		if (theirs && pair->part == 0 && part > 0 &&
			(is_in(s, pair, medium) ||
				(medium != BETWEEN && s->parts->items[part - 1].kind == MUSTER_PART_GPU)))
			pair->part = part;
	}
}

/* ---- what no single rank explains ---- */

/* An exchange that is left, slow or not, and the numbers of its two nodes and its two NICs, or GPUs without NICs: those
 * of the node with the lower number first. */
struct left {
	size_t pair, nodes[2], nics[2];
	bool slow;
};

static void order(size_t ends[2], size_t a, size_t b)
{
	ends[0] = a < b ? a : b;
	ends[1] = a < b ? b : a;
}

static int by_ends(const void *a, const void *b)
{
	const struct left *x = a, *y = b;
	int result = muster_sizes_order(x->nodes, y->nodes, 2);
	if (!result)
		result = muster_sizes_order(x->nics, y->nics, 2);
	return result ? result : muster_sizes_order(&x->pair, &y->pair, 1);
}

static bool same(const size_t a[2], const size_t b[2])
{
	return a[0] == b[0] && a[1] == b[1];
}

static bool is_well(const struct view *view)
{
	return view->good || view->doubtful;
}

/* The slow ones of these exchanges become one part. A link is undecided where an end of a slow exchange has neither a
 * good nor a doubtful exchange: this end may be the cause as well. */
static void take(struct search *s, const struct left *items, size_t count, struct muster_part part)
{
	size_t made = 0;
	for (size_t i = 0; i < count; i++) {
		const struct muster_pair *pair = &s->pairs[items[i].pair];
		if (items[i].slow)
			part.undecided |= !is_well(&s->views[pair->ranks[0]]) || !is_well(&s->views[pair->ranks[1]]);
	}
	part.undecided = part.link && part.undecided;
	for (size_t i = 0; i < count; i++) {
		if (!items[i].slow)
			continue;
		made = made ? made : add_part(s, part);
		s->pairs[items[i].pair].part = made;
	}
}

/* All exchanges between two nodes, or within one. All of them are slow, over two links or more; or more than half of
 * them, over three links or more: the part is the node, or the link between the two nodes. Otherwise each link between
 * two NICs or GPUs is a part. */
static void name_between(struct search *s, bool network, const struct left *items, size_t count)
{
	const struct left *last = NULL; /* the last slow one */
	size_t slow = 0, links = 0;
	bool inside = items[0].nodes[0] == items[0].nodes[1];
	for (size_t i = 0; i < count; i++) {
		if (!items[i].slow)
			continue;
		slow++;
		links += !last || !same(items[i].nics, last->nics);
		last = &items[i];
	}
	if (slow == 0)
		return;
	if ((slow == count && links > 1) || (slow > count / 2 && links > 2)) {
		struct muster_part part = { .kind = MUSTER_PART_NODE,
			.link = !inside,
			.network = network,
			.ends = { items[0].nodes[0], items[0].nodes[1] } };
		take(s, items, count, part);
		return;
	}
	for (size_t i = 0, next; i < count; i = next) {
		for (next = i + 1; next < count && same(items[i].nics, items[next].nics);)
			next++;
		struct muster_part part = { .kind = network ? MUSTER_PART_NIC : MUSTER_PART_GPU,
			.link = true,
			.network = network,
			.ends = { items[i].nics[0], items[i].nics[1] } };
		take(s, &items[i], next - i, part);
	}
}

/* Name what is left in the medium: the run (ALL) where more than half of all its exchanges are slow and left, unless
 * all that is left lies between two nodes, which then are named; else links. Equal pairs of nodes lie side by side. */
static void name_left(struct search *s, bool network)
{
	struct left *items = muster_calloc(s->count + 1, sizeof *items);
	size_t count = 0, slow = 0, all = 0;
	for (size_t i = 0; i < s->count; i++) {
		const struct muster_pair *pair = &s->pairs[i];
		all += pair->network == network && pair->state != MUSTER_PAIR_UNUSED;
		if (!is_in(s, pair, network ? NETWORK : NVLINK))
			continue;
		struct left *left = &items[count++];
		*left = (struct left){ .pair = i, .slow = pair->state == MUSTER_PAIR_SLOW };
		bool swap = s->nodes[pair->ranks[0]] > s->nodes[pair->ranks[1]];
		order(left->nodes, s->nodes[pair->ranks[0]], s->nodes[pair->ranks[1]]);
		left->nics[swap] = network ? pair->nics[0] : pair->ranks[0];
		left->nics[!swap] = network ? pair->nics[1] : pair->ranks[1];
		if (left->nodes[0] == left->nodes[1])
			order(left->nics, left->nics[0], left->nics[1]);
		slow += left->slow;
	}
	qsort(items, count, sizeof *items, by_ends);
	bool one_place = count > 0 && same(items[0].nodes, items[count - 1].nodes); /* they are sorted */
	bool two = one_place && items[0].nodes[0] != items[0].nodes[1];             /* of two nodes both are known */
	if (slow > all / 2 && slow > 1 && !two) {
		take(s, items, count, (struct muster_part){ .kind = MUSTER_PART_ALL, .network = network });
		count = 0;
	}
	for (size_t i = 0, next; i < count; i = next) {
		for (next = i + 1; next < count && same(items[next].nodes, items[i].nodes);)
			next++;
		name_between(s, network, &items[i], next - i);
	}
	free(items);
}

void muster_slow_pairs_name(
	struct muster_pair *pairs, size_t count, const size_t *nodes, size_t rank_count, struct muster_slow_parts *ret)
{
	struct muster_slow_parts parts = { 0 };
	struct search s = { .pairs = pairs, .count = count, .nodes = nodes, .rank_count = rank_count, .parts = &parts };
	s.views = muster_calloc(rank_count + 1, sizeof *s.views);
	s.rails = muster_calloc(rank_count + 1, sizeof *s.rails);
	struct view *within = s.views, *between = muster_calloc(rank_count + 1, sizeof *between);
	s.nics = muster_calloc(rank_count + 1, sizeof *s.nics);
	s.nodes_of_nics = muster_calloc(rank_count + 1, sizeof *s.nodes_of_nics);
	s.named_as = muster_calloc(rank_count + 1, sizeof *s.named_as);
	for (size_t i = 0; i < count; i++)
		pairs[i].part = 0;
	look(&s, NETWORK, s.rails);
	for (enum medium medium = NVLINK; medium < MEDIUM_COUNT; medium++) {
		s.views = medium == BETWEEN ? between : within;
		look(&s, medium, s.views);
		suspect(&s, medium);
		if (medium == NVLINK)
			suspect_by_rails(&s);
		name_suspects(&s, medium);
		s.views = within;
		if (medium != NVLINK)
			name_left(&s, medium == NETWORK);
	}
	free(between);
	free(s.views);
	free(s.rails);
	free(s.nics);
	free(s.nodes_of_nics);
	free(s.named_as);
	*ret = parts;
}
