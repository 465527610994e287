/* plan.c - which small rings to try next, to find what breaks or slows the ring of all */
#include "localize/plan.h"

#include "muster/arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void muster_plan_init(struct muster_plan *scout, size_t nodes)
{
	*scout = (struct muster_plan){ .nodes = nodes, .rounds_max = 4 };
	for (size_t reach = 1; reach < nodes; reach *= 2)
		scout->rounds_max += 2;
}

void muster_plan_done(struct muster_plan *scout)
{
	for (size_t i = 0; i < scout->group_count; i++)
		free(scout->groups[i].has);
	free(scout->groups);
	free(scout->attempts);
	*scout = (struct muster_plan){ 0 };
}

void muster_plan_note(struct muster_plan *scout, const size_t *nodes, size_t count, bool ok, bool slow, double gbps)
{
	if (count == 1 || count == 2) {
		if (scout->attempt_count == scout->attempt_room) {
			scout->attempt_room = scout->attempt_room ? scout->attempt_room * 2 : 64;
			scout->attempts = muster_realloc(scout->attempts, scout->attempt_room, sizeof *scout->attempts);
		}
		scout->attempts[scout->attempt_count++] =
			(struct muster_attempt){ .nodes = { nodes[0], nodes[count - 1] }, .ok = ok, .gbps = gbps };
		return;
	}
	struct muster_plan_group group = {
		.has = muster_calloc(scout->nodes + 1, sizeof *group.has), .ok = ok, .slow = slow
	};
	for (size_t i = 0; i < count; i++) {
		group.count += nodes[i] < scout->nodes && !group.has[nodes[i]];
		group.has[nodes[i]] = true;
	}
	scout->groups = muster_realloc(scout->groups, scout->group_count + 1, sizeof *scout->groups);
	scout->groups[scout->group_count++] = group;
}

static bool blamed(const struct muster_suspects *s, size_t node)
{
	return s->nodes[node].blame != MUSTER_BLAME_NONE;
}

/* Whether what is known to be bad is in the group. */
static bool band_explained(const struct muster_plan_group *group, const struct muster_suspects *s)
{
	size_t part = SIZE_MAX;
	for (size_t i = 0; i < s->node_count; i++) {
		if (!group->has[i])
			continue;
		if (blamed(s, i) || (s->split && part != SIZE_MAX && s->nodes[i].part != part))
			return true;
		part = s->nodes[i].part;
	}
	for (size_t i = 0; i < s->edge_count; i++)
		if (s->links[i] && group->has[s->edges[i].a] && group->has[s->edges[i].b])
			return true;
	return false;
}

static bool is_explained(const struct muster_plan *scout, const struct muster_suspects *s)
{
	for (size_t i = 0; i < scout->group_count; i++) {
		const struct muster_plan_group *group = &scout->groups[i];
		if ((!group->ok || group->slow) && !band_explained(group, s))
			return false;
	}
	return s->unexplained == 0;
}

bool muster_plan_explained(const struct muster_plan *scout)
{
	struct muster_suspects s;
	muster_suspects_find(scout->attempts, scout->attempt_count, scout->nodes, &s);
	bool explained = is_explained(scout, &s);
	muster_suspects_done(&s);
	return explained;
}

/* ---- pairs ---- */

/* A round in the making. */
struct round {
	const struct muster_suspects *s;
	size_t *teams, count;
};

static bool is_free(const struct round *round, size_t node)
{
	return round->teams[node] == MUSTER_NO_GROUP && !blamed(round->s, node);
}

static void pair_up(struct round *round, size_t a, size_t b)
{
	round->teams[a] = round->teams[b] = round->count++;
}

/* The first free node that was not tried with this one; good: one that is known to be, of a part whose nodes this one
 * has not failed with. */
static bool pair_with_any(struct round *round, size_t node, bool good)
{
	const struct muster_suspects *s = round->s;
	for (size_t other = 0; other < s->node_count; other++) {
		if (other == node || !is_free(round, other) || muster_suspects_edge(s, node, other) ||
			(good && (!muster_suspects_good(s, other) ||
					 muster_suspects_failed_with(s, node, s->nodes[other].part))))
			continue;
		pair_up(round, node, other);
		return true;
	}
	return false;
}

/* Nodes that nobody has worked with yet; those that failed with somebody come first. */
static void pair_strangers(struct round *round, bool failed, bool good)
{
	for (size_t node = 0; node < round->s->node_count; node++) {
		const struct muster_suspect *one = &round->s->nodes[node];
		if (is_free(round, node) && one->passed == 0 && (one->failed > 0) == failed)
			pair_with_any(round, node, good);
	}
}

/* The next free node of the part from `from` on; node_count when there is none. */
static size_t next_of_part(const struct round *round, size_t part, size_t from)
{
	while (from < round->s->node_count && (round->s->nodes[from].part != part || !is_free(round, from)))
		from++;
	return from;
}

static bool touches(const struct muster_edge *edge, size_t node)
{
	return edge && (edge->a == node || edge->b == node);
}

/* Two parts of which it is not known whether they work together: two pairs across, or one more. */
static void pair_parts(struct round *round, size_t part, size_t other)
{
	const struct muster_edge *known[2] = { NULL, NULL };
	size_t a = next_of_part(round, part, 0), nodes = round->s->node_count;
	if (a == nodes || next_of_part(round, other, 0) == nodes)
		return;
	size_t wanted = 2 - muster_suspects_across(round->s, part, other, known);
	for (; wanted > 0 && a < nodes; a = next_of_part(round, part, a + 1)) {
		size_t b = next_of_part(round, other, 0);
		while (b < nodes && (muster_suspects_edge(round->s, a, b) || touches(known[0], b)))
			b = next_of_part(round, other, b + 1);
		if (b == nodes || touches(known[0], a))
			continue;
		pair_up(round, a, b);
		wanted--;
	}
}

static size_t next_pairs(const struct muster_suspects *s, size_t *teams)
{
	struct round round = { .s = s, .teams = teams };
	pair_strangers(&round, true, true);
	pair_strangers(&round, true, false);
	pair_strangers(&round, false, true);
	pair_strangers(&round, false, false);
	for (size_t i = 0; i < s->part_count; i++)
		for (size_t j = i + 1; j < s->part_count; j++)
			pair_parts(&round, s->parts[i], s->parts[j]);
	return round.count;
}

/* ---- halves ---- */

/* Nodes in ascending order. */
struct set {
	size_t *nodes, count;
};

static struct set set_of(const struct muster_plan *scout, const struct muster_plan_group *group)
{
	struct set set = { .nodes = muster_calloc(scout->nodes + 1, sizeof *set.nodes) };
	for (size_t i = 0; i < scout->nodes; i++)
		if (group->has[i])
			set.nodes[set.count++] = i;
	return set;
}

static bool band_holds(const struct muster_plan_group *group, const size_t *const halves[2], const size_t counts[2])
{
	for (size_t h = 0; h < 2; h++)
		for (size_t i = 0; i < counts[h]; i++)
			if (!group->has[halves[h][i]])
				return false;
	return true;
}

/* A ring of these two lists of nodes: it passed, as itself or as part of a larger one; or it was tried at least. */
static bool is_known(const struct muster_plan *scout, const size_t *const halves[2], const size_t counts[2])
{
	size_t count = counts[0] + counts[1];
	for (size_t i = 0; i < scout->attempt_count && count == 2; i++) {
		const size_t *tried = scout->attempts[i].nodes;
		size_t a = halves[counts[0] == 0][0], b = counts[0] == 1 ? halves[1][0] : halves[counts[0] == 0][1];
		if ((tried[0] == a && tried[1] == b) || (tried[0] == b && tried[1] == a))
			return true;
	}
	for (size_t i = 0; i < scout->group_count; i++)
		if (scout->groups[i].count >= count && (scout->groups[i].ok || scout->groups[i].count == count) &&
			band_holds(&scout->groups[i], halves, counts))
			return true;
	return count < 2;
}

/* Make a team of the two lists unless it is known how that goes. */
static void team_up(const struct muster_plan *scout, const size_t *a, size_t a_count, const size_t *b, size_t b_count,
	size_t *teams, size_t *count)
{
	const size_t *const halves[2] = { a, b };
	const size_t counts[2] = { a_count, b_count };
	if (is_known(scout, halves, counts))
		return;
	for (size_t h = 0; h < 2; h++)
		for (size_t i = 0; i < counts[h]; i++)
			teams[halves[h][i]] = *count;
	++*count;
}

/* The smallest ring that failed and that nothing explains. */
static struct muster_plan_group *find_riddle(const struct muster_plan *scout, const struct muster_suspects *s)
{
	struct muster_plan_group *riddle = NULL;
	for (size_t i = 0; i < scout->group_count; i++) {
		struct muster_plan_group *group = &scout->groups[i];
		if (!group->ok && !group->hopeless && !band_explained(group, s) &&
			(!riddle || group->count < riddle->count))
			riddle = group;
	}
	return riddle;
}

/* Its halves A and B; when both pass, the bad pair has one node in each: try quarters of one with quarters of the
 * other.
 */
static size_t next_halves(const struct muster_plan *scout, const struct muster_suspects *s, size_t *teams)
{
	struct muster_plan_group *riddle;
	size_t count = 0;
	while (count == 0 && (riddle = find_riddle(scout, s)) != NULL) {
		struct set set = set_of(scout, riddle);
		size_t half = set.count / 2, low = half / 2, high = (set.count - half) / 2;
		const size_t *a = set.nodes, *b = set.nodes + half;
		team_up(scout, a, half, NULL, 0, teams, &count);
		team_up(scout, b, set.count - half, NULL, 0, teams, &count);
		if (count == 0) {
			team_up(scout, a, low, b, high, teams, &count);
			team_up(scout, a + low, half - low, b + high, set.count - half - high, teams, &count);
		}
		if (count == 0) {
			team_up(scout, a, low, b + high, set.count - half - high, teams, &count);
			team_up(scout, a + low, half - low, b, high, teams, &count);
		}
		riddle->hopeless = count == 0;
		free(set.nodes);
	}
	return count;
}

/* ---- rounds ---- */

size_t muster_plan_next(struct muster_plan *scout, size_t *teams)
{
	struct muster_suspects s;
	size_t count = 0;
	for (size_t i = 0; i < scout->nodes; i++)
		teams[i] = scout->attempt_count ? MUSTER_NO_GROUP : i;
	if (!scout->attempt_count)
		return scout->nodes;
	muster_suspects_find(scout->attempts, scout->attempt_count, scout->nodes, &s);
	bool ring_cause = s.blamed > 0 || s.link_count > 0 || s.split;
	if (!ring_cause || !is_explained(scout, &s)) {
		if (scout->pair_rounds < scout->rounds_max)
			count = next_pairs(&s, teams);
		scout->pair_rounds += count > 0;
		if (count == 0 && s.unexplained == 0 && scout->half_rounds < scout->rounds_max) {
			count = next_halves(scout, &s, teams);
			scout->half_rounds += count > 0;
		}
	}
	muster_suspects_done(&s);
	return count;
}

size_t muster_plan_rest(const struct muster_plan *scout, bool *ret_in)
{
	struct muster_suspects s;
	muster_suspects_find(scout->attempts, scout->attempt_count, scout->nodes, &s);
	size_t *sizes = muster_calloc(scout->nodes + 1, sizeof *sizes), largest = SIZE_MAX, count = 0;
	for (size_t i = 0; i < scout->nodes; i++) {
		ret_in[i] = !blamed(&s, i);
		sizes[s.nodes[i].part] += ret_in[i];
	}
	for (size_t i = 0; i < scout->nodes; i++)
		if (sizes[i] > 0 && (largest == SIZE_MAX || sizes[i] > sizes[largest]))
			largest = i;
	for (size_t i = 0; s.split && i < scout->nodes; i++)
		ret_in[i] = ret_in[i] && s.nodes[i].part == largest;
	for (size_t i = 0; i < s.edge_count; i++)
		if (s.links[i] && ret_in[s.edges[i].a])
			ret_in[s.edges[i].b] = false;
	for (size_t i = 0; i < scout->nodes; i++)
		count += ret_in[i];
	free(sizes);
	muster_suspects_done(&s);
	return count;
}
