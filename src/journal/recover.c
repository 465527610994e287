/* recover.c - the run that what was left on disk makes */
#include "journal/read.h"

#include "model/trend.h"
#include "muster/arena.h"
#include "journal/left.h"

#include <stdlib.h>
#include <string.h>

#define LAST_DEATHS_S 1.0 /* before the last line of all: a death that may be part of everybody's end */

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

/* Take a missing rank out of the run; why it was said to be missing. */
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

static const char *last_sign(const struct muster_journal_process *left, struct muster_arena *arena)
{
	if (left->step)
		return muster_arena_printf(arena, "its last sign, %.0f s after its start, was: %.*s", left->step_s,
			MUSTER_JOURNAL_SHOWN, left->step);
	return muster_arena_printf(arena, "its last sign came %.0f s after its start, before any step", left->last_s);
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
				left->end && *left->end ? left->end : why, last_sign(left, run->arena));
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
	for (size_t i = run->trial_count; i < spooled->told.trial_count; i++) /* rank 0 has told them all, or none */
		muster_run_add_trial(run, spooled->told.trials[i]);
	muster_run_sort(run);
	return count;
}

/* When everything is ended from outside, some supervisors live long enough to note that their workers went first. */
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
		muster_node_add_rank(nowhere, rank)->missing = "it left nothing on disk";
	}
	free(here);
	muster_run_sort(run);
}

/* Does some rank prove that the run went on to its end? Otherwise it was ended as a whole, and that so many ranks did
 * not come to theirs says nothing about them. */
static const char *interruption(const struct muster_journal_set *spooled)
{
	const char *why = muster_journal_set_interrupted(spooled);
	return why                                     ? why
	       : muster_journal_set_ended(spooled) > 0 ? NULL
						       : "no rank came to its end: all were ended from outside";
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
	muster_journal_set_add(spooled, run, "it did not come to its end");
	if (run->job.repeats > 1)
		muster_run_fold_repeats(run);
	add_missing(run);
}
