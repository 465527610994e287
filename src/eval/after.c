/* after.c - where a check is silent, because the one that it comes after has condemned the place already
 */
#include "eval/eval.h"
#include "muster/arena.h"

#include <stdlib.h>
#include <string.h>

void muster_spot_add(struct muster_check_state *state, struct muster_place place)
{
	if (!state->awaited)
		return;
	if (state->spot_count == state->spot_room) {
		state->spot_room = state->spot_room ? state->spot_room * 2 : 16;
		state->spots = muster_realloc(state->spots, state->spot_room, sizeof *state->spots);
	}
	state->spots[state->spot_count++] = place;
}

static int by_place(const void *a, const void *b)
{
	const struct muster_place *x = a, *y = b;

	return (x->node > y->node) - (x->node < y->node); /* the whole job, nowhere, comes last */
}

void muster_spots_sort(struct muster_check_state *state)
{
	if (state->spot_count)
		qsort(state->spots, state->spot_count, sizeof *state->spots, by_place);
}

/* True when one place on a node holds the other. */
static bool overlap(const struct muster_place *a, const struct muster_place *b)
{
	if (a->rank != b->rank && a->rank != MUSTER_NOWHERE && b->rank != MUSTER_NOWHERE)
		return false;
	return !a->key || !b->key || strcmp(a->key, b->key) == 0;
}

/* True when the check failed or warned at that place. Its spots are sorted. */
static bool is_spotted(const struct muster_check_state *state, const struct muster_place *place)
{
	size_t low = 0, high = state->spot_count;

	if (high == 0)
		return false;
	if (place->node == MUSTER_NOWHERE || state->spots[high - 1].node == MUSTER_NOWHERE)
		return true;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (state->spots[middle].node < place->node)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < state->spot_count && state->spots[low].node == place->node; low++)
		if (overlap(&state->spots[low], place))
			return true;
	return false;
}

bool muster_place_condemned(const struct muster_eval *eval, size_t at, struct muster_place place)
{
	int after = eval->expect->checks[at].after;

	return after >= 0 && is_spotted(&eval->states[after], &place);
}

bool muster_result_preempted(struct muster_eval *eval, size_t at, struct muster_place place)
{
	struct muster_check_state *state = &eval->states[at];

	if (!muster_place_condemned(eval, at, place))
		return false;
	state->tally->count[MUSTER_SKIP]++;
	eval->report->count[MUSTER_SKIP]++;
	muster_spot_add(state, place);
	return true;
}
