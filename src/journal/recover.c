/* recover.c - journals become a run */
#include "journal/read.h"

#include "model/trend.h"
#include "muster/arena.h"
#include "journal/left.h"

#include <stdlib.h>
#include <string.h>

#define LAST_DEATHS_S 1.0 /* before the last line of all: a crash that may be part of the end of the whole run */

size_t muster_journal_set_ended(const struct muster_journal_set *spooled)
{
	size_t count = 0;
	for (size_t i = 0; i < spooled->rank_count; i++)
		count += spooled->ranks[i].end && !*spooled->ranks[i].end;
	return count;
}

const char *muster_journal_set_interrupted(const struct muster_journal_set *spooled)
{
	for (size_t i = 0; i < spooled->rank_count; i++)
		if (spooled->ranks[i].end && *spooled->ranks[i].end)
			return spooled->ranks[i].end;
	return NULL;
}

static size_t node_of(struct muster_run *run, const char *name)
{
	for (size_t i = run->node_count; i-- > 0;)
		if (strcmp(run->nodes[i].name, name) == 0)
			return i;
	muster_run_add_node(run, name);
	return run->node_count - 1;
}

/* Remove a missing rank from the run. Returns why it was missing; NULL when the rank is not there. */
static const char *take_out(struct muster_run *run, int number)
{
	for (size_t n = 0; n < run->node_count; n++) {
		struct muster_node *node = &run->nodes[n];
		for (size_t i = 0; i < node->rank_count; i++) {
			struct muster_rank *rank = &node->ranks[i];
			if (rank->rank != number || !rank->missing)
				continue;
			const char *why = rank->missing;
			memmove(rank, rank + 1, (node->rank_count - i - 1) * sizeof *rank);
			node->rank_count--;
			return why;
		}
	}
	return NULL;
}

static const char *last_message(const struct muster_journal_process *left, struct muster_arena *arena)
{
	if (left->step)
		return muster_arena_printf(arena, "its last message, %.0f s after its start: %.*s", left->step_s,
			MUSTER_JOURNAL_SHOWN, left->step);
	return muster_arena_printf(
		arena, "its last message, %.0f s after its start, came before the first step", left->last_s);
}

static void put(struct muster_journal_process *left, struct muster_run *run, const char *why)
{
	size_t node = node_of(run, left->has_record && left->record.node ? left->record.node : left->node);
	bool whole = left->end && left->has_record;
	if (!left->has_record)
		muster_record_parts_init(&left->record, left->rank);
	muster_record_merge(run, node, &left->record);
	left->has_record = false;
	if (whole)
		return;
	struct muster_node *at = &run->nodes[node];
	for (size_t i = 0; i < at->rank_count; i++)
		if (at->ranks[i].rank == left->rank)
			at->ranks[i].unfinished = muster_arena_printf(run->arena, "%s; %s",
				left->end && *left->end ? left->end : why, last_message(left, run->arena));
}

size_t muster_journal_set_add(struct muster_journal_set *spooled, struct muster_run *run, const char *why)
{
	enum { ABSENT, MISSING, HERE };
	char *known = muster_calloc((size_t)spooled->job_ranks, sizeof *known);
	size_t count = 0;
	for (size_t n = 0; n < run->node_count; n++)
		for (size_t i = 0; i < run->nodes[n].rank_count; i++)
			if (run->nodes[n].ranks[i].rank < spooled->job_ranks)
				known[run->nodes[n].ranks[i].rank] = run->nodes[n].ranks[i].missing ? MISSING : HERE;
	for (size_t i = 0; i < spooled->rank_count; i++) {
		struct muster_journal_process *left = &spooled->ranks[i];
		if (known[left->rank] == HERE)
			continue;
		const char *reason = known[left->rank] == MISSING ? take_out(run, left->rank) : NULL;
		put(left, run, reason ? reason : why);
		count++;
	}
	free(known);
	/* the journal of rank 0 has all trials of the run, those that the run has already first */
	for (size_t i = run->trial_count; i < spooled->told.trial_count; i++)
		muster_run_add_trial(run, spooled->told.trials[i]);
	muster_run_sort(run);
	return count;
}

/* When a run is ended from outside, some supervisors live long enough to note that their workers were killed first. */
static void excuse_last_deaths(struct muster_journal_set *spooled)
{
	for (size_t i = 0; i < spooled->rank_count; i++) {
		struct muster_journal_process *left = &spooled->ranks[i];
		if (left->end || !left->died || spooled->elapsed_s - left->died_s > LAST_DEATHS_S)
			continue;
		struct muster_outcomes *outcomes = &left->record.rank.outcomes;
		for (size_t o = 0; o < outcomes->count; o++) {
			if (strcmp(outcomes->items[o].probe, left->died) != 0)
				continue;
			outcomes->items[o].status = MUSTER_OUTCOME_ERROR;
			outcomes->items[o].code = muster_code_name(MUSTER_EINTERRUPTED);
		}
	}
}

static void add_missing(struct muster_run *run)
{
	bool *here = muster_calloc((size_t)run->job.ranks, sizeof *here);
	struct muster_node *nowhere = NULL;
	for (size_t n = 0; n < run->node_count; n++)
		for (size_t r = 0; r < run->nodes[n].rank_count; r++)
			here[run->nodes[n].ranks[r].rank] = true;
	for (int rank = 0; rank < run->job.ranks; rank++) {
		if (here[rank])
			continue;
		if (!nowhere)
			nowhere = muster_run_add_node(run, "?");
		muster_node_add_rank(nowhere, rank)->missing = "there is no result of this rank on disk";
	}
	free(here);
	muster_run_sort(run);
}

/* NULL when a rank proves that the run went on to its end. Otherwise the run was ended as a whole, and a rank that did
 * not finish is not at fault. */
static const char *interruption(const struct muster_journal_set *spooled)
{
	const char *why = muster_journal_set_interrupted(spooled);
	return why                                     ? why
	       : muster_journal_set_ended(spooled) > 0 ? NULL
						       : "no rank finished: the run was ended from outside";
}

void muster_journal_set_make(struct muster_journal_set *spooled, struct muster_run *run)
{
	run->job = (struct muster_job){
		.id = spooled->job,
		.started = spooled->started,
		.elapsed_s = spooled->elapsed_s,
		.profile = spooled->profile,
		.ranks = spooled->job_ranks,
		.version = spooled->version,
		.interrupted = interruption(spooled),
		.assembled = true,
		.repeats = spooled->repeats,
	};
	if (muster_journal_set_ended(spooled) == 0)
		excuse_last_deaths(spooled);
	muster_journal_set_add(spooled, run, "the rank did not finish");
	if (run->job.repeats > 1)
		muster_run_fold_repeats(run);
	add_missing(run);
}
