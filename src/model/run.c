/* SPDX-License-Identifier: Apache-2.0 */
/* run.c - the nodes, ranks and outcomes of a run */
#include "muster/run.h"

#include "muster/profile.h"
#include "util/array.h"

#include <stdlib.h>
#include <string.h>

const char *const muster_measure_names[MUSTER_MEASURE_COUNT] = {
	[MUSTER_MEASURE_STORAGE] = "storage",
	[MUSTER_MEASURE_CHECKPOINT] = "checkpoint",
	[MUSTER_MEASURE_BROADCAST] = "broadcast",
	[MUSTER_MEASURE_PATHS] = "paths",
};
const char *const muster_profile_names[MUSTER_PROFILE_COUNT] = {
	[MUSTER_QUICK] = "quick",
	[MUSTER_STANDARD] = "standard",
	[MUSTER_FULL] = "full",
};

const char *const muster_outcome_names[MUSTER_OUTCOME_COUNT] = {
	[MUSTER_OUTCOME_OK] = "ok",
	[MUSTER_OUTCOME_ERROR] = "error",
	[MUSTER_OUTCOME_CRASHED] = "crashed",
	[MUSTER_OUTCOME_HUNG] = "hung",
	[MUSTER_OUTCOME_NOT_RUN] = "not_run",
};

const char *muster_outcome_name(enum muster_outcome_status status)
{
	return (unsigned int)status < MUSTER_OUTCOME_COUNT ? muster_outcome_names[status] : "unknown";
}

const char *const muster_trial_kind_names[MUSTER_TRIAL_KIND_COUNT] = {
	[MUSTER_TRIAL_ALONE] = "alone",
	[MUSTER_TRIAL_PAIR] = "pair",
	[MUSTER_TRIAL_GROUP] = "group",
	[MUSTER_TRIAL_REST] = "rest",
};

const char *const muster_trial_status_names[MUSTER_TRIAL_STATUS_COUNT] = {
	[MUSTER_TRIAL_FAILED] = "failed",
	[MUSTER_TRIAL_OK] = "ok",
	[MUSTER_TRIAL_LATE] = "late",
};

void muster_run_add_trial(struct muster_run *run, struct muster_trial trial)
{
	MUSTER_ARRAY_PUSH(run->trials, run->trial_count, run->trial_room, trial);
}

void muster_run_init(struct muster_run *run)
{
	*run = (struct muster_run){ .arena = muster_arena_new() };
}

void muster_run_done(struct muster_run *run)
{
	for (size_t i = 0; i < run->node_count; i++) {
		struct muster_node *node = &run->nodes[i];
		for (size_t j = 0; j < node->rank_count; j++) {
			muster_samples_done(&node->ranks[j].samples);
			free(node->ranks[j].outcomes.items);
		}
		free(node->ranks);
		muster_samples_done(&node->samples);
	}
	free(run->nodes);
	free(run->trials);
	muster_samples_done(&run->job.samples);
	muster_arena_free(run->arena);
	*run = (struct muster_run){ 0 };
}

struct muster_node *muster_run_add_node(struct muster_run *run, const char *name)
{
	MUSTER_ARRAY_GROW(run->nodes, run->node_count, run->node_room);
	struct muster_node *node = &run->nodes[run->node_count++];
	*node = (struct muster_node){ .name = muster_arena_string(run->arena, name) };
	return node;
}

/* Insert the rank so that ranks stay in ascending order: records come in any order. */
struct muster_rank *muster_node_add_rank(struct muster_node *node, int rank)
{
	MUSTER_ARRAY_GROW(node->ranks, node->rank_count, node->rank_room);
	size_t at = node->rank_count++;
	for (; at > 0 && node->ranks[at - 1].rank > rank; at--)
		node->ranks[at] = node->ranks[at - 1];
	node->ranks[at] = (struct muster_rank){ .rank = rank, .local_rank = -1 };
	return &node->ranks[at];
}

struct muster_outcome *muster_outcomes_find(const struct muster_outcomes *outcomes, const char *probe)
{
	for (size_t i = 0; i < outcomes->count; i++)
		if (strcmp(outcomes->items[i].probe, probe) == 0)
			return &outcomes->items[i];
	return NULL;
}

void muster_outcomes_add(struct muster_outcomes *outcomes, struct muster_outcome outcome)
{
	MUSTER_ARRAY_PUSH(outcomes->items, outcomes->count, outcomes->room, outcome);
}

/* Nodes without ranks first (-1), then by lowest rank; nodes without ranks by their names. */
static int by_lowest_rank(const void *a, const void *b)
{
	const struct muster_node *x = a, *y = b;
	int first = x->rank_count ? x->ranks[0].rank : -1, second = y->rank_count ? y->ranks[0].rank : -1;
	int order = (first > second) - (first < second);
	return order ? order : strcmp(x->name, y->name);
}

/* A node "?" without ranks stands for nothing, and is dropped. */
void muster_run_sort(struct muster_run *run)
{
	size_t kept = 0;
	for (size_t i = 0; i < run->node_count; i++) {
		struct muster_node *node = &run->nodes[i];
		if (node->rank_count == 0 && strcmp(node->name, "?") == 0)
			free(node->ranks);
		else
			run->nodes[kept++] = *node;
	}
	run->node_count = kept;
	if (kept > 0)
		qsort(run->nodes, kept, sizeof *run->nodes, by_lowest_rank);
}

size_t muster_run_known_nodes(const struct muster_run *run)
{
	size_t count = 0;
	for (size_t i = 0; i < run->node_count; i++)
		count += strcmp(run->nodes[i].name, "?") != 0;
	return count;
}

/* The next list: samples of the job, then of each node its own and those of its ranks. at->samples is NULL before the
 * first one. `node` and `rank` are the places that come next. */
bool muster_run_next(const struct muster_run *run, struct muster_run_walk *at)
{
	size_t node = at->node ? (size_t)(at->node - run->nodes) + 1 : 0;
	size_t rank = at->node && at->rank ? (size_t)(at->rank - at->node->ranks) + 1 : 0;
	if (!at->samples) {
		at->samples = &run->job.samples;
	} else if (at->node && rank < at->node->rank_count) {
		at->rank = &at->node->ranks[rank];
		at->samples = &at->rank->samples;
	} else if (node < run->node_count) {
		at->node = &run->nodes[node];
		at->rank = NULL;
		at->samples = &at->node->samples;
	} else {
		return false;
	}
	return true;
}
