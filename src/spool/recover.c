/* SPDX-License-Identifier: Apache-2.0 */
/* recover.c - spools become a run
 *
 * Two uses: rank 0 completes its run with the spools of ranks whose records did not come (muster_spool_set_add), and
 * `muster assemble` makes the whole run of them when rank 0 itself did not live (muster_spool_set_make). A record that
 * came as a message is whole, so it wins over the spool of the same rank.
 *
 *   rank in the run    its spool                       in the run after it
 *   with a record      whatever                        the record
 *   missing, none      an end line, and a record       the spool's record
 *   missing, none      no end line, or no record       what the spool has, unfinished: why, and its last message
 *   missing            none                            missing
 *   none               none                            missing, on the node "?" (muster_spool_set_make)
 */
#include "spool/read.h"

#include "model/windows.h"
#include "muster/arena.h"
#include "muster/run.h"

#include <stdlib.h>
#include <string.h>

#define LAST_DEATHS_S 1.0 /* before the last line of all: a crash that may be part of the end of the whole run */

/* The node with this name, which is added when the run does not have it. Ranks come by blocks or in turn over the
 * nodes: the search begins at the node of the rank before. */
static size_t node_of(struct muster_run *run, const char *name, size_t before)
{
	for (size_t i = 0; i < run->node_count; i++) {
		size_t at = (before + i) % run->node_count;
		if (run->nodes[at].name == name) /* strings of one arena */
			return at;
	}
	muster_run_add_node(run, name);
	return run->node_count - 1;
}

/* The last step names what the process was about to do when it died. */
static const char *last_message(const struct muster_spool_process *process, struct muster_arena *arena)
{
	if (process->step)
		return muster_arena_printf(arena, "its last message, %.0f s after its start: %.*s", process->step_s,
			MUSTER_SPOOL_SHOWN, process->step);
	return muster_arena_printf(
		arena, "its last message, %.0f s after its start, came before the first step", process->last_s);
}

/* Put the rank of this process into the run. Its record is moved. */
static void put(struct muster_spool_process *process, struct muster_run *run, size_t node)
{
	const char *why = process->end && *process->end ? process->end
			  : process->missing            ? process->missing
							: "the rank did not finish";
	bool whole = process->end && process->has_record;
	if (!process->has_record)
		muster_record_parts_init(&process->record, process->header.rank);
	struct muster_rank *rank = muster_record_merge(run, node, &process->record);
	process->has_record = false;
	if (!whole)
		rank->unfinished = muster_arena_printf(run->arena, "%s; %s", why, last_message(process, run->arena));
}

/* Remove from the run the missing ranks that have a spool, and from the spools the ranks that the run has. */
static void replace_missing(struct muster_run *run, struct muster_spool_process **spools, int count)
{
	for (size_t n = 0; n < run->node_count; n++) {
		struct muster_node *node = &run->nodes[n];
		size_t kept = 0;
		for (size_t i = 0; i < node->rank_count; i++) {
			struct muster_rank *rank = &node->ranks[i];
			struct muster_spool_process **spool = rank->rank < count ? &spools[rank->rank] : NULL;
			if (spool && *spool && rank->missing) {
				(*spool)->missing = rank->missing;
				continue;
			}
			if (spool)
				*spool = NULL;
			node->ranks[kept++] = *rank;
		}
		node->rank_count = kept;
	}
}

size_t muster_spool_set_add(struct muster_spool_set *set, struct muster_run *run)
{
	struct muster_spool_process **spools = muster_calloc((size_t)set->job_ranks, sizeof *spools);
	size_t count = 0, node = 0;
	for (size_t i = 0; i < set->rank_count; i++)
		spools[set->ranks[i].header.rank] = &set->ranks[i];
	replace_missing(run, spools, set->job_ranks);
	for (int rank = 0; rank < set->job_ranks; rank++) {
		struct muster_spool_process *process = spools[rank];
		if (!process)
			continue;
		bool named = process->has_record && process->record.node;
		node = node_of(run, named ? process->record.node : process->header.node, node);
		put(process, run, node);
		count++;
	}
	free(spools);
	/* the spool of rank 0 has all trials of the run, those that the run has already first */
	for (size_t i = run->trial_count; i < set->told.trial_count; i++)
		muster_run_add_trial(run, set->told.trials[i]);
	muster_run_sort(run);
	return count;
}

/* When a run is ended from outside, some supervisors live long enough to note that their workers were killed first. A
 * crash of a worker in the last second of all, in a process without an end line, is therefore no crash of the probe,
 * but an error with the code of an interruption. Only called when no process has finished. */
static void excuse_last_deaths(struct muster_spool_set *set)
{
	for (size_t i = 0; i < set->rank_count; i++) {
		struct muster_spool_process *process = &set->ranks[i];
		if (process->end || !process->died || set->elapsed_s - process->died_s > LAST_DEATHS_S)
			continue;
		struct muster_outcome *last = muster_outcomes_find(&process->record.rank.outcomes, process->died);
		if (last) {
			last->status = MUSTER_OUTCOME_ERROR;
			last->code = muster_code_name(MUSTER_EINTERRUPTED);
		}
	}
}

/* Ranks that no process on disk had are missing, on a node without a name. */
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

void muster_spool_set_make(struct muster_spool_set *set, struct muster_run *run)
{
	const char *interrupted = NULL;
	bool finished = false;
	for (size_t i = set->rank_count; i-- > 0;) {
		const char *end = set->ranks[i].end;
		finished = finished || (end && !*end);
		interrupted = end && *end ? end : interrupted;
	}
	if (!interrupted && !finished)
		interrupted = "no rank finished: the run was ended from outside";
	run->job = (struct muster_job){
		.id = set->header->job,
		.started = set->header->started,
		.elapsed_s = set->elapsed_s,
		.profile = set->header->profile,
		.ranks = set->job_ranks,
		.version = set->header->version,
		.beside_jobs = set->header->beside_jobs,
		.interrupted = interrupted,
		.assembled = true,
		.repeats = set->header->repeats,
		.measures = set->header->measures,
	};
	if (!finished)
		excuse_last_deaths(set);
	muster_spool_set_add(set, run);
	muster_run_fold(run);
	add_missing(run);
}
