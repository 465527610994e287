/* plan.c - which small rings to try next, to find what breaks or slows the ring of all */
#include "localize/plan.h"

#include "util/array.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void muster_plan_init(struct muster_plan *plan, size_t nodes)
{
	*plan = (struct muster_plan){ .nodes = nodes, .rounds_max = 4 };
	for (size_t reach = 1; reach < nodes; reach *= 2)
		plan->rounds_max += 2;
}

void muster_plan_done(struct muster_plan *plan)
{
	for (size_t i = 0; i < plan->group_count; i++)
		free(plan->groups[i].has);
	free(plan->groups);
	free(plan->attempts);
	muster_suspects_done(&plan->suspects);
	*plan = (struct muster_plan){ 0 };
}

void muster_plan_note(struct muster_plan *plan, const size_t *nodes, size_t count, struct muster_plan_result result)
{
	if (count == 1 || count == 2) {
		plan->judged = false;
		MUSTER_ARRAY_PUSH(plan->attempts, plan->attempt_count, plan->attempt_room,
			((struct muster_attempt){
				.nodes = { nodes[0], nodes[count - 1] },
				.status = result.status,
				.seconds = result.seconds,
				.gbps = result.gbps,
				.least = result.least,
			}));
		return;
	}
	struct muster_plan_group group = { .count = count, .result = result };
	group.has = muster_calloc(plan->nodes + 1, sizeof *group.has);
	for (size_t i = 0; i < count; i++)
		group.has[nodes[i]] = true;
	plan->judged = false;
	plan->groups = muster_realloc(plan->groups, plan->group_count + 1, sizeof *plan->groups);
	plan->groups[plan->group_count++] = group;
}

/* Whether a ring after the first one, which was without suspects, did not work either. */
static bool is_rest_bad(const struct muster_plan *plan)
{
	for (size_t i = 1; i < plan->group_count; i++)
		if (plan->groups[i].result.status != MUSTER_TRIAL_OK)
			return true;
	return false;
}

/* The suspects by the results so far. */
static const struct muster_suspects *suspects_of(struct muster_plan *plan)
{
	if (!plan->judged) {
		muster_suspects_done(&plan->suspects);
		muster_suspects_find(
			plan->attempts, plan->attempt_count, plan->nodes, is_rest_bad(plan), &plan->suspects);
		plan->judged = true;
	}
	return &plan->suspects;
}

/* The seconds of the slowest trial that passed and was not slow, of any number of nodes; 0: none. */
static double slowest_of(const struct muster_plan *plan, const struct muster_suspects *s)
{
	double slowest = s->slowest;
	for (size_t i = 0; i < plan->group_count; i++) {
		const struct muster_plan_result *result = &plan->groups[i].result;
		if (result->status == MUSTER_TRIAL_OK && !result->slow && result->seconds > slowest)
			slowest = result->seconds;
	}
	return slowest;
}

/* How a larger ring went; MUSTER_TRIAL_LATE: it had too little time, and counts as not tried. */
static enum muster_trial_status status_of(
	const struct muster_plan *plan, const struct muster_suspects *s, const struct muster_plan_group *group)
{
	bool late = group->result.status == MUSTER_TRIAL_LATE;
	return late && group->result.seconds >= muster_late_seconds(slowest_of(plan, s)) ? MUSTER_TRIAL_FAILED
											 : group->result.status;
}

double muster_plan_least_ms(struct muster_plan *plan)
{
	const struct muster_suspects *s = suspects_of(plan);
	double slowest = slowest_of(plan, s);
	bool late = s->not_tried > 0;
	for (size_t i = 0; i < plan->group_count; i++)
		late = late || plan->groups[i].result.status == MUSTER_TRIAL_LATE;
	return slowest > 0 ? MUSTER_ROUND_FACTOR * slowest * 1e3 : late ? MUSTER_LATE_FULL_SECONDS * 1e3 : 0;
}

double muster_plan_round_ms(struct muster_plan *plan, double wanted_ms, double left_ms)
{
	double least_ms = muster_plan_least_ms(plan), ms = wanted_ms > least_ms ? wanted_ms : least_ms;
	return ms <= left_ms ? ms : 0;
}

static bool is_explained(const struct muster_plan *plan, const struct muster_suspects *s)
{
	for (size_t i = 0; i < plan->group_count; i++) {
		const struct muster_plan_group *group = &plan->groups[i];
		bool wrong = group->result.slow || status_of(plan, s, group) == MUSTER_TRIAL_FAILED;
		if (wrong && !muster_suspects_explain_ring(s, group->has))
			return false;
	}
	return s->unexplained == 0;
}

bool muster_plan_explained(struct muster_plan *plan)
{
	return is_explained(plan, suspects_of(plan));
}

/* ---- pairs ---- */

/* Circular lists of nodes, each in ascending order with a head of its own: heads are numbers from the nodes' count on.
 */
struct lists {
	size_t *next, *before;
};

static struct lists make_lists(struct muster_arena *arena, size_t nodes, size_t heads)
{
	struct lists lists = {
		.next = muster_arena_alloc(arena, (nodes + heads) * sizeof *lists.next),
		.before = muster_arena_alloc(arena, (nodes + heads) * sizeof *lists.before),
	};
	for (size_t i = 0; i < heads; i++)
		lists.next[nodes + i] = lists.before[nodes + i] = nodes + i;
	return lists;
}

static void list_append(struct lists *lists, size_t head, size_t node)
{
	size_t last = lists->before[head];
	lists->next[last] = lists->before[head] = node;
	lists->before[node] = last;
	lists->next[node] = head;
}

static void list_remove(struct lists *lists, size_t node)
{
	lists->next[lists->before[node]] = lists->next[node];
	lists->before[lists->next[node]] = lists->before[node];
}

/* A round in the making. Free nodes are those without a team and without blame. */
struct round {
	struct muster_arena *arena; /* owns lists and heap */
	const struct muster_suspects *s;
	size_t *teams, count;
	struct lists all;   /* the free nodes; the head is node_count */
	struct lists parts; /* the free nodes of each part; the head is node_count + the part's number */
	size_t *heap;       /* parts of good nodes, the one with the lowest free node first */
	size_t heap_count;
};

static void make_round(struct round *round, const struct muster_suspects *s, size_t *teams)
{
	struct muster_arena *arena = muster_arena_new();
	size_t nodes = s->node_count;
	*round = (struct round){
		.arena = arena,
		.s = s,
		.teams = teams,
		.all = make_lists(arena, nodes, 1),
		.parts = make_lists(arena, nodes, nodes),
		.heap = muster_arena_alloc(arena, nodes * sizeof *round->heap),
	};
	for (size_t i = 0; i < nodes; i++)
		if (!muster_suspects_suspected(s, i)) {
			list_append(&round->all, nodes, i);
			list_append(&round->parts, nodes + s->nodes[i].part, i);
		}
}

static bool is_free(const struct round *round, size_t node)
{
	return round->teams[node] == MUSTER_NO_GROUP && !muster_suspects_suspected(round->s, node);
}

/* The part's lowest free node; a head's number, higher than any node's, when there is none. */
static size_t first_of_part(const struct round *round, size_t part)
{
	return round->parts.next[round->s->node_count + part];
}

static void pair_up(struct round *round, size_t a, size_t b)
{
	size_t both[] = { a, b };
	for (size_t i = 0; i < 2; i++) {
		list_remove(&round->all, both[i]);
		list_remove(&round->parts, both[i]);
		round->teams[both[i]] = round->count;
	}
	round->count++;
}

/* All nodes of a part are good, or none is: nodes that passed together are, and others are alone in their part. */
static void heap_fill(struct round *round)
{
	const struct muster_suspects *s = round->s;
	round->heap_count = 0;
	for (size_t i = round->all.next[s->node_count]; i < s->node_count; i = round->all.next[i])
		if (muster_suspects_good(s, i) && first_of_part(round, s->nodes[i].part) == i)
			round->heap[round->heap_count++] = s->nodes[i].part;
}

/* The part at this place of the heap has a higher lowest free node than before, or none. */
static void heap_sink(struct round *round, size_t at)
{
	for (;;) {
		size_t low = 2 * at + 1, part = round->heap[at];
		if (low + 1 < round->heap_count &&
			first_of_part(round, round->heap[low + 1]) < first_of_part(round, round->heap[low]))
			low++;
		if (low >= round->heap_count || first_of_part(round, part) <= first_of_part(round, round->heap[low]))
			return;
		round->heap[at] = round->heap[low];
		round->heap[low] = part;
		at = low;
	}
}

/* The place in the heap, from `at` on, of the part with the lowest free node that the node has not failed with;
 * heap_count when there is none. It looks below those parts only that the node has failed with. */
static size_t heap_find(const struct round *round, size_t at, size_t node)
{
	size_t none = round->heap_count;
	if (at >= none || first_of_part(round, round->heap[at]) >= round->s->node_count)
		return none;
	if (!muster_suspects_failed_with(round->s, node, round->heap[at]))
		return at;
	size_t one = heap_find(round, 2 * at + 1, node), two = heap_find(round, 2 * at + 2, node);
	if (one == none || two == none)
		return one == none ? two : one;
	return first_of_part(round, round->heap[one]) < first_of_part(round, round->heap[two]) ? one : two;
}

/* With the first free node that is known to be good and of a part whose nodes this one has not failed with. */
static void pair_with_good(struct round *round, size_t node)
{
	size_t at = heap_find(round, 0, node);
	if (at == round->heap_count)
		return;
	pair_up(round, node, first_of_part(round, round->heap[at]));
	heap_sink(round, at);
}

/* With the first free node that was not tried with this one. */
static void pair_with_any(struct round *round, size_t node)
{
	size_t other = round->all.next[round->s->node_count];
	while (other == node || (other < round->s->node_count && muster_suspects_edge(round->s, node, other)))
		other = round->all.next[other];
	if (other < round->s->node_count)
		pair_up(round, node, other);
}

/* Nodes without a partner that they work with; nodes with a failed partner come first. */
static void pair_strangers(struct round *round, bool failed, bool good)
{
	heap_fill(round);
	for (size_t node = 0; node < round->s->node_count; node++) {
		const struct muster_suspect *one = &round->s->nodes[node];
		if (!is_free(round, node) || one->passed > 0 || (one->failed > 0) != failed)
			continue;
		if (good)
			pair_with_good(round, node);
		else
			pair_with_any(round, node);
	}
}

/* The part's first free node that was not tried with this one; a head's number when there is none. fresh: it must not
 * have failed with the node's part. */
static size_t find_across(const struct round *round, size_t node, size_t part, bool fresh)
{
	const struct muster_suspects *s = round->s;
	size_t other = first_of_part(round, part);
	while (other < s->node_count && (muster_suspects_edge(s, node, other) ||
						(fresh && muster_suspects_failed_with(s, other, s->nodes[node].part))))
		other = round->parts.next[other];
	return other;
}

/* Two parts of which it is not known whether they work together: two pairs across, or as many as a split still needs.
 * Nodes that have not failed with the other part come first. */
static void pair_parts(struct round *round, size_t part, size_t other)
{
	const struct muster_suspects *s = round->s;
	const struct muster_gap *gap = muster_suspects_gap(s, part, other);
	size_t wanted = gap ? muster_gap_needs(s, gap) : 2, none = s->node_count, next;
	for (int any = 0; any < 2; any++)
		for (size_t a = first_of_part(round, part); wanted > 0 && a < none; a = next) {
			next = round->parts.next[a];
			if (first_of_part(round, other) >= none)
				return;
			if (!any && muster_suspects_failed_with(s, a, other))
				continue;
			size_t b = find_across(round, a, other, !any);
			b = b < none || !any ? b : find_across(round, a, other, false);
			if (b >= none)
				continue;
			pair_up(round, a, b);
			wanted--;
		}
}

/* Every two parts that have a free node. Two parts that do not pair have a gap between them that is known, so there are
 * no more of these than of failed pairs. */
static void pair_all_parts(struct round *round)
{
	const struct muster_suspects *s = round->s;
	struct lists open = make_lists(round->arena, s->node_count, 1); /* numbers of parts that have a free node */
	size_t none = s->node_count, j;
	for (size_t i = 0; i < s->part_count; i++)
		if (first_of_part(round, s->parts[i]) < none)
			list_append(&open, none, s->parts[i]);
	for (size_t i = open.next[none]; i < none; i = open.next[i])
		for (j = open.next[i]; j < none && first_of_part(round, i) < none; j = open.next[j]) {
			pair_parts(round, i, j);
			if (first_of_part(round, j) >= none)
				list_remove(&open, j);
		}
}

static size_t next_pairs(const struct muster_suspects *s, size_t *teams)
{
	struct round round;
	make_round(&round, s, teams);
	pair_strangers(&round, true, true);
	pair_strangers(&round, true, false);
	pair_strangers(&round, false, true);
	pair_strangers(&round, false, false);
	pair_all_parts(&round);
	muster_arena_free(round.arena);
	return round.count;
}

/* ---- halves ---- */

/* Two lists of nodes that make one ring; the second may be empty. */
struct halves {
	const size_t *nodes[2];
	size_t counts[2];
};

static bool group_holds(const struct muster_plan_group *group, const struct halves *halves)
{
	for (size_t h = 0; h < 2; h++)
		for (size_t i = 0; i < halves->counts[h]; i++)
			if (!group->has[halves->nodes[h][i]])
				return false;
	return true;
}

/* Such a ring passed, as itself or as part of a larger one; or it failed at least. */
static bool is_known(const struct muster_plan *plan, const struct muster_suspects *s, const struct halves *halves)
{
	size_t count = halves->counts[0] + halves->counts[1];
	size_t first = halves->counts[0] == 0, last = halves->counts[1] > 0;
	if (count < 2 || (count == 2 && muster_suspects_edge(s, halves->nodes[first][0],
						halves->nodes[last][halves->counts[last] - 1])))
		return true;
	for (size_t i = 0; i < plan->group_count; i++) {
		const struct muster_plan_group *group = &plan->groups[i];
		enum muster_trial_status status = status_of(plan, s, group);
		bool tells = status == MUSTER_TRIAL_OK ? group->count >= count
						       : status == MUSTER_TRIAL_FAILED && group->count == count;
		if (tells && group_holds(group, halves))
			return true;
	}
	return false;
}

/* Make teams of those of two rings of which it is not known how they go. Returns how many. */
static size_t team_up(
	const struct muster_plan *plan, const struct muster_suspects *s, const struct halves rings[2], size_t *teams)
{
	size_t count = 0;
	for (size_t ring = 0; ring < 2; ring++) {
		if (is_known(plan, s, &rings[ring]))
			continue;
		for (size_t h = 0; h < 2; h++)
			for (size_t i = 0; i < rings[ring].counts[h]; i++)
				teams[rings[ring].nodes[h][i]] = count;
		count++;
	}
	return count;
}

/* The smallest ring that failed and that nothing explains. */
static struct muster_plan_group *find_unexplained(const struct muster_plan *plan, const struct muster_suspects *s)
{
	struct muster_plan_group *failed = NULL;
	for (size_t i = 0; i < plan->group_count; i++) {
		struct muster_plan_group *group = &plan->groups[i];
		if (!group->given_up && (!failed || group->count < failed->count) &&
			status_of(plan, s, group) == MUSTER_TRIAL_FAILED &&
			!muster_suspects_explain_ring(s, group->has))
			failed = group;
	}
	return failed;
}

/* Its halves A and B; when both pass, the bad pair has one node in each: try quarters of one with quarters of the
 * other.
 */
static size_t next_halves(const struct muster_plan *plan, const struct muster_suspects *s, size_t *teams)
{
	struct muster_plan_group *failed;
	size_t *list = muster_calloc(plan->nodes + 1, sizeof *list), count = 0; /* the group's nodes */
	while (count == 0 && (failed = find_unexplained(plan, s)) != NULL) {
		size_t nodes = 0;
		for (size_t i = 0; i < plan->nodes; i++)
			if (failed->has[i])
				list[nodes++] = i;
		size_t a = nodes / 2, b = nodes - a, low = a / 2, high = b / 2;
		const size_t *first = list, *second = list + a;
		const struct halves tries[][2] = {
			{ { { first, NULL }, { a, 0 } }, { { second, NULL }, { b, 0 } } },
			{ { { first, second }, { low, high } },
				{ { first + low, second + high }, { a - low, b - high } } },
			{ { { first, second + high }, { low, b - high } },
				{ { first + low, second }, { a - low, high } } },
		};
		for (size_t i = 0; i < sizeof tries / sizeof *tries && count == 0; i++)
			count = team_up(plan, s, tries[i], teams);
		failed->given_up = count == 0;
	}
	free(list);
	return count;
}

/* ---- rounds ---- */

size_t muster_plan_next(struct muster_plan *plan, size_t *teams)
{
	const struct muster_suspects *s = suspects_of(plan);
	size_t count = 0;
	bool alone = s->counted == 0 && plan->alone_rounds < plan->rounds_max;
	for (size_t i = 0; i < plan->nodes; i++)
		teams[i] = alone ? i : MUSTER_NO_GROUP;
	if (alone) {
		plan->alone_rounds++;
		return plan->nodes;
	}
	bool ring_cause = s->suspected > 0 || s->link_count > 0 || s->split;
	if (!ring_cause || !is_explained(plan, s)) {
		if (plan->pair_rounds < plan->rounds_max)
			count = next_pairs(s, teams);
		plan->pair_rounds += count > 0;
		if (count == 0 && s->unexplained == 0 && plan->half_rounds < plan->rounds_max) {
			count = next_halves(plan, s, teams);
			plan->half_rounds += count > 0;
		}
	}
	return count;
}

size_t muster_plan_rest(struct muster_plan *plan, bool *ret_in)
{
	const struct muster_suspects *s = suspects_of(plan);
	size_t *sizes = muster_calloc(plan->nodes + 1, sizeof *sizes), largest = SIZE_MAX, count = 0;
	for (size_t i = 0; i < plan->nodes; i++) {
		ret_in[i] = !muster_suspects_suspected(s, i);
		sizes[s->nodes[i].part] += ret_in[i];
	}
	for (size_t i = 0; i < plan->nodes; i++)
		if (sizes[i] > 0 && (largest == SIZE_MAX || sizes[i] > sizes[largest]))
			largest = i;
	for (size_t i = 0; s->split && i < plan->nodes; i++)
		ret_in[i] = ret_in[i] && s->nodes[i].part == largest;
	for (size_t i = 0; i < s->edge_count; i++)
		if (s->links[i] && ret_in[s->edges[i].a])
			ret_in[s->edges[i].b] = false;
	for (size_t i = 0; i < plan->nodes; i++)
		count += ret_in[i];
	free(sizes);
	return count;
}
