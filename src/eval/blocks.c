/* SPDX-License-Identifier: Apache-2.0 */
/* blocks.c - which finding explains what a check says of a place
 *
 * Where `after` failed, every answer but a pass is blocked; where `after` warned, only a warning is.
 *
 * Where one check that comes before this one failed or warned, and what of that this check finds (find_after):
 *   this check is of the job      the worst of all places
 *   this check has `anywhere`     the worst of all places, where that is worse than what was found at this place
 *   any other check               what was found for the whole job, or at a place of the node that overlaps this one:
 *                                 the worse of the two
 * Two places of a node overlap unless both name a rank and the ranks differ, or both name a GPU or port and these
 * differ. Of `after` and `also_after` the worse finding counts, of equal ones that of `after`.
 */
#include "eval/blocks.h"

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

/* Only checks that others come after, or that slow others, keep their places. Of equal places in a row, with one draft,
 * the first is kept. */
void muster_block_note(struct muster_eval *eval, size_t check, struct muster_place place, struct muster_block by)
{
	struct muster_failures *failures = &eval->failures[check];
	if (!failures->wanted)
		return;
	if (is_worse(by.status, failures->worst.status))
		failures->worst = by;
	if (failures->count && same_failure(&failures->at[failures->count - 1], &place, by))
		return; /* another size, or another kind of link */
	MUSTER_ARRAY_PUSH(failures->at, failures->count, failures->room, ((struct muster_failed_place){ place, by }));
}

static int by_place(const void *a, const void *b)
{
	const struct muster_failed_place *x = a, *y = b;
	/* the whole job, nowhere, comes last */
	return (x->place.node > y->place.node) - (x->place.node < y->place.node);
}

void muster_blocks_sort(struct muster_eval *eval, size_t check)
{
	struct muster_failures *failures = &eval->failures[check];
	if (failures->count)
		qsort(failures->at, failures->count, sizeof *failures->at, by_place);
}

/* Whether two places of one node may be the same thing: see the table at the top. */
static bool overlap(const struct muster_place *a, const struct muster_place *b)
{
	if (a->rank != b->rank && a->rank != MUSTER_NOWHERE && b->rank != MUSTER_NOWHERE)
		return false;
	return !a->key || !b->key || strcmp(a->key, b->key) == 0;
}

/* The worst of what failed on the node at this place, or, for node MUSTER_NOWHERE, for the whole job. */
static struct muster_block find_at(const struct muster_failures *failures, uint32_t node, struct muster_place place)
{
	struct muster_block worst = { .status = MUSTER_PASS };
	const struct muster_failed_place key = { .place.node = node };
	size_t at = muster_array_before(&key, failures->at, failures->count, sizeof key, by_place);
	for (; at < failures->count && failures->at[at].place.node == node; at++) {
		const struct muster_failed_place *failed = &failures->at[at];
		if (!is_worse(failed->by.status, worst.status) || !overlap(&failed->place, &place))
			continue;
		worst = failed->by;
		worst.wider = (failed->place.rank == MUSTER_NOWHERE && place.rank != MUSTER_NOWHERE) ||
			      (!failed->place.key && place.key);
	}
	return worst;
}

/* The index of the check named by `after`; -1: none. Checks of baselines and outliers between the two (expect/place.c)
 * that do not apply to the run are passed over. */
static int check_after(const struct muster_eval *eval, size_t at)
{
	const struct muster_check *checks = eval->expect->checks;
	int after = checks[at].after;
	while (after >= 0 && eval->tallies[after].skipped && (!checks[after].after_id || !checks[at].after_id))
		after = checks[after].after;
	return after;
}

/* What blocks the check at `at` at this place, by the check `after`; -1: none. */
static struct muster_block find_after(const struct muster_eval *eval, size_t at, int after, struct muster_place place)
{
	const struct muster_check *check = &eval->checks[at];
	const struct muster_failures *failures = after < 0 ? NULL : &eval->failures[after];
	if (!failures || failures->count == 0)
		return (struct muster_block){ .status = MUSTER_PASS };
	if (place.node == MUSTER_NOWHERE)
		return failures->worst;
	struct muster_place everywhere = { .node = place.node, .rank = MUSTER_NOWHERE };
	struct muster_block job = find_at(failures, MUSTER_NOWHERE, everywhere),
			    here = find_at(failures, place.node, place);
	job.wider = true;
	if (check->anywhere && is_worse(failures->worst.status, here.status))
		return failures->worst;
	return is_worse(job.status, here.status) ? job : here;
}

struct muster_block muster_block_slowing(const struct muster_eval *eval, size_t at, struct muster_place place)
{
	struct muster_block worst = { .status = MUSTER_PASS };
	struct muster_place reach;
	if (!muster_speed_reach(eval->checks[at].metric, place, &reach))
		return worst;
	for (size_t i = 0; i < eval->expect->check_count; i++) {
		const struct muster_failures *failures = &eval->failures[i];
		struct muster_block block = { .status = MUSTER_PASS };
		if (eval->checks[i].slows && failures->count > 0)
			block = reach.node == MUSTER_NOWHERE ? failures->worst : find_at(failures, reach.node, reach);
		if (is_worse(block.status, worst.status))
			worst = block;
	}
	return worst;
}

struct muster_block muster_block_find(const struct muster_eval *eval, size_t at, struct muster_place place)
{
	struct muster_block first = find_after(eval, at, check_after(eval, at), place);
	struct muster_block second = find_after(eval, at, eval->checks[at].also_after, place);
	return is_worse(second.status, first.status) ? second : first;
}

bool muster_block_stops(struct muster_block block, enum muster_status status)
{
	return block.status == MUSTER_FAIL ? status != MUSTER_PASS
					   : block.status == MUSTER_WARN && status == MUSTER_WARN;
}

/* Goes up the chain of `after`, past checks that passed at this place: the rank has a healthy GPU, though not the one
 * that it has on a complete node (missing_parts.c). */
struct muster_block muster_block_of_missing_gpu(
	const struct muster_eval *eval, size_t at, struct muster_place place, enum muster_status status)
{
	const struct muster_check *checks = eval->expect->checks;
	const struct muster_metric *metric = checks[at].metric;
	struct muster_place node = { place.node, MUSTER_NOWHERE, NULL };
	while (status != MUSTER_PASS && place.rank != MUSTER_NOWHERE && checks[at].after >= 0) {
		at = (size_t)checks[at].after;
		if (checks[at].metric->counts != MUSTER_COUNTS_GPUS)
			continue;
		struct muster_block block = find_at(&eval->failures[at], place.node, node);
		if (block.status == MUSTER_FAIL && muster_missing_gpu_explains(eval, at, metric, place))
			return block;
	}
	return (struct muster_block){ .status = MUSTER_PASS };
}

struct muster_block muster_block_of_unseen(const struct muster_eval *eval, size_t at, struct muster_place place)
{
	const struct muster_check *checks = eval->expect->checks;
	struct muster_place node = { place.node, MUSTER_NOWHERE, NULL };
	struct muster_block block = muster_block_find(eval, at, place);
	if (checks[at].metric->scope == MUSTER_SCOPE_PORT)
		return block;
	for (; block.status != MUSTER_FAIL && checks[at].after >= 0; at = (size_t)checks[at].after)
		block = muster_block_find(eval, at, node);
	return block;
}

/* A link or a port that is down costs an all-reduce a part of its bandwidth. An all-reduce below half of what is needed
 * has another cause too, so it is not blocked. By numbers: min is 228 GB/s and one port is down. 150 GB/s are blocked
 * by the finding about the port, 100 GB/s (below 114) are a finding of their own. Two kinds of findings may explain any
 * loss: those of the all-reduce's own probe (a smaller message size, the transport), and those of probes about how the
 * job was launched and set up (of_job). */
bool muster_block_falls_short(const struct muster_eval *eval, size_t at, const struct muster_entry *entry,
	const struct muster_check_answer *answer)
{
	const struct muster_check *check = &eval->checks[at];
	const struct muster_sample *sample = entry->sample;
	const struct muster_operand *least = muster_check_operand_named(check, "min");
	const struct muster_probe *probe = muster_probe_find(muster_metric_probe(check->metric));
	if (!least || !probe || !probe->ring || !muster_metric_is_transfer(check->metric) ||
		sample->value.type != MUSTER_NUMBER || answer->status == MUSTER_SKIP)
		return false;
	double whole = check->share_of && answer->limit ? answer->limit->value.number : 1;
	struct muster_block block = muster_block_find(eval, at, muster_entry_place(entry));
	if (block.status == MUSTER_PASS || sample->value.number >= least->value.number / 2 * whole)
		return false;
	const struct muster_probe *cause = muster_probe_find(muster_metric_probe(eval->checks[block.check].metric));
	return cause != probe && (!cause || !cause->of_job);
}

void muster_blocks_make(struct muster_eval *eval)
{
	size_t count = eval->expect ? eval->expect->check_count : 0;
	eval->failures = muster_calloc(count + 1, sizeof *eval->failures);
	for (size_t i = 0; i < count; i++) {
		int before[] = { check_after(eval, i), eval->checks[i].also_after };
		for (size_t j = 0; j < 2; j++)
			if (before[j] >= 0)
				eval->failures[before[j]].wanted = true;
		eval->failures[i].wanted |= eval->checks[i].slows;
	}
}

void muster_blocks_done(struct muster_eval *eval)
{
	for (size_t i = 0; eval->expect && i < eval->expect->check_count; i++)
		free(eval->failures[i].at);
	free(eval->failures);
}
