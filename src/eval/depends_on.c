/* depends_on.c - skip a check where its prerequisite failed
 */
#include "eval/eval.h"
#include "muster/arena.h"
#include "util/array.h"

#include <stdlib.h>
#include <string.h>

void muster_failed_at_add(struct muster_check_state *state, struct muster_place place)
{
	if (!state->has_dependents)
		return;
	MUSTER_ARRAY_PUSH(state->failed_at, state->failed_count, state->failed_room, place);
}

static int by_place(const void *a, const void *b)
{
	const struct muster_place *x = a, *y = b;
	return (x->node > y->node) - (x->node < y->node); /* the whole job, nowhere, comes last */
}

void muster_failed_at_sort(struct muster_check_state *state)
{
	if (state->failed_count)
		qsort(state->failed_at, state->failed_count, sizeof *state->failed_at, by_place);
}

/* True when one place on a node holds the other. */
static bool overlap(const struct muster_place *a, const struct muster_place *b)
{
	if (a->rank != b->rank && a->rank != MUSTER_NOWHERE && b->rank != MUSTER_NOWHERE)
		return false;
	return !a->key || !b->key || strcmp(a->key, b->key) == 0;
}

bool muster_place_failed(const struct muster_eval *eval, size_t at, struct muster_place place)
{
	int after = eval->expect->checks[at].after;
	const struct muster_check_state *state = after < 0 ? NULL : &eval->states[after];
	size_t low = 0, high = state ? state->failed_count : 0;
	if (high == 0)
		return false;
	if (place.node == MUSTER_NOWHERE || state->failed_at[high - 1].node == MUSTER_NOWHERE)
		return true;
	while (low < high) { /* the first of the node's */
		size_t middle = low + (high - low) / 2;
		if (state->failed_at[middle].node < place.node)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < state->failed_count && state->failed_at[low].node == place.node; low++)
		if (overlap(&state->failed_at[low], &place))
			return true;
	return false;
}

bool muster_result_skipped(struct muster_eval *eval, size_t at, struct muster_place place)
{
	struct muster_check_state *state = &eval->states[at];
	if (!muster_place_failed(eval, at, place))
		return false;
	state->tally->count[MUSTER_SKIP]++;
	eval->report->count[MUSTER_SKIP]++;
	muster_failed_at_add(state, place);
	return true;
}
