/* depends_on.c - block a check where the check named by its `after` failed
 *
 * Where `after` failed, every result but a pass is blocked; where `after` warned, only a warning is.
 */
#include "eval/eval.h"
#include "muster/arena.h"
#include "util/array.h"

#include <stdlib.h>
#include <string.h>

static bool is_worse(enum muster_status a, enum muster_status b)
{
	return (a == MUSTER_FAIL && b != MUSTER_FAIL) || (a == MUSTER_WARN && b == MUSTER_PASS);
}

static bool same_failure(const struct muster_failed_place *a, const struct muster_place *place, struct muster_block by)
{
	return a->place.node == place->node && a->place.rank == place->rank && a->place.key == place->key &&
	       a->by.draft == by.draft;
}

void muster_failed_at_add(struct muster_check_state *state, struct muster_place place, struct muster_block by)
{
	if (!state->has_dependents)
		return;
	if (is_worse(by.status, state->worst.status))
		state->worst = by;
	if (state->failed_count && same_failure(&state->failed_at[state->failed_count - 1], &place, by))
		return; /* another size, or another kind of link */
	MUSTER_ARRAY_PUSH(
		state->failed_at, state->failed_count, state->failed_room, ((struct muster_failed_place){ place, by }));
}

static int by_place(const void *a, const void *b)
{
	const struct muster_failed_place *x = a, *y = b;
	/* the whole job, nowhere, comes last */
	return (x->place.node > y->place.node) - (x->place.node < y->place.node);
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

/* The worst of what failed on the node at this place, or, for node MUSTER_NOWHERE, for the whole job. */
static struct muster_block find_at(const struct muster_check_state *state, uint32_t node, struct muster_place place)
{
	struct muster_block worst = { .status = MUSTER_PASS };
	size_t low = 0, high = state->failed_count;
	while (low < high) { /* the first of the node's */
		size_t middle = low + (high - low) / 2;
		if (state->failed_at[middle].place.node < node)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < state->failed_count && state->failed_at[low].place.node == node; low++) {
		const struct muster_failed_place *failed = &state->failed_at[low];
		if (!is_worse(failed->by.status, worst.status) || !overlap(&failed->place, &place))
			continue;
		worst = failed->by;
		worst.wider = (failed->place.rank == MUSTER_NOWHERE && place.rank != MUSTER_NOWHERE) ||
			      (!failed->place.key && place.key);
	}
	return worst;
}

int muster_check_after(const struct muster_eval *eval, size_t at)
{
	const struct muster_check *checks = eval->expect->checks;
	int after = checks[at].after;
	while (after >= 0 && eval->states[after].tally->skipped && (!checks[after].after_id || !checks[at].after_id))
		after = checks[after].after;
	return after;
}

/* What blocks the check at `at` at this place, by the check `after`; -1: none. */
static struct muster_block find_after(const struct muster_eval *eval, size_t at, int after, struct muster_place place)
{
	const struct muster_check *check = &eval->expect->checks[at];
	const struct muster_check_state *state = after < 0 ? NULL : &eval->states[after];
	if (!state || state->failed_count == 0)
		return (struct muster_block){ .status = MUSTER_PASS };
	if (place.node == MUSTER_NOWHERE)
		return state->worst;
	struct muster_place everywhere = { .node = place.node, .rank = MUSTER_NOWHERE };
	struct muster_block job = find_at(state, MUSTER_NOWHERE, everywhere), here = find_at(state, place.node, place);
	job.wider = true;
	if (check->anywhere && is_worse(state->worst.status, here.status))
		return state->worst;
	return is_worse(job.status, here.status) ? job : here;
}

struct muster_block muster_block_slowing(const struct muster_eval *eval, struct muster_place place)
{
	struct muster_block worst = { .status = MUSTER_PASS };
	for (size_t i = 0; i < eval->expect->check_count; i++) {
		const struct muster_check_state *state = &eval->states[i];
		struct muster_block block = { .status = MUSTER_PASS };
		if (eval->expect->checks[i].slows && state->failed_count > 0)
			block = place.node == MUSTER_NOWHERE ? state->worst : find_at(state, place.node, place);
		if (is_worse(block.status, worst.status))
			worst = block;
	}
	return worst;
}

struct muster_block muster_block_find(const struct muster_eval *eval, size_t at, struct muster_place place)
{
	struct muster_block first = find_after(eval, at, muster_check_after(eval, at), place);
	struct muster_block second = find_after(eval, at, eval->expect->checks[at].also_after, place);
	return is_worse(second.status, first.status) ? second : first;
}

bool muster_block_stops(struct muster_block block, enum muster_status status)
{
	return block.status == MUSTER_FAIL ? status != MUSTER_PASS
					   : block.status == MUSTER_WARN && status == MUSTER_WARN;
}

/* Where the number of GPUs failed at the head of the chain, though the checks between passed at this place, and
 * explains what this check says of the rank. */
static struct muster_block find_missing_gpu(
	const struct muster_eval *eval, size_t at, struct muster_place place, enum muster_status status)
{
	const struct muster_check *checks = eval->expect->checks;
	const struct muster_metric *metric = checks[at].metric;
	struct muster_place node = { place.node, MUSTER_NOWHERE, NULL };
	while (status != MUSTER_PASS && place.rank != MUSTER_NOWHERE && checks[at].after >= 0) {
		at = (size_t)checks[at].after;
		if (!muster_counts_gpus(checks[at].metric))
			continue;
		struct muster_block block = find_at(&eval->states[at], place.node, node);
		if (block.status == MUSTER_FAIL && muster_missing_gpu_explains(eval, at, metric, place))
			return block;
	}
	return (struct muster_block){ .status = MUSTER_PASS };
}

bool muster_result_blocked(struct muster_eval *eval, size_t at, struct muster_place place, enum muster_status status)
{
	struct muster_block block = muster_block_find(eval, at, place);
	if (block.status == MUSTER_PASS)
		block = find_missing_gpu(eval, at, place, status);
	if (block.status == MUSTER_PASS)
		return false;
	if (status != MUSTER_PASS)
		block.check = at;
	if (!block.wider || status != MUSTER_PASS)
		muster_failed_at_add(&eval->states[at], place, block);
	if (!muster_block_stops(block, status))
		return false;
	muster_result_block(eval, at, block.draft);
	return true;
}
