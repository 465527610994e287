/* run_merge.c - many ranks' records become one run */
#include "run_merge.h"

#include "muster/report.h"

#include <stdlib.h>
#include <string.h>

static struct muster_node *find_node(struct muster_run *run, const char *name)
{
	for (size_t i = 0; i < run->node_count; i++)
		if (strcmp(run->nodes[i].name, name) == 0)
			return &run->nodes[i];
	return NULL;
}

/* The last node of the run becomes part of an earlier one of the same name, if there is one. */
static void fold(struct muster_run *run)
{
	struct muster_node *last = &run->nodes[run->node_count - 1];
	struct muster_node *first = find_node(run, last->name);
	if (first == last)
		return;
	first->simulated |= last->simulated;
	for (size_t i = 0; i < last->samples.count; i++)
		muster_samples_add(&first->samples, last->samples.items[i]);
	for (size_t i = 0; i < last->rank_count; i++)
		*muster_node_add_rank(first, last->ranks[i].rank) = last->ranks[i];
	muster_samples_done(&last->samples);
	free(last->ranks);
	run->node_count--;
}

int muster_run_merge(
	struct muster_run *run, const char *text, size_t length, bool *here, int ranks, struct muster_error *err)
{
	if (muster_node_from_json(run, text, length, err) < 0)
		return -1;
	const struct muster_node *node = &run->nodes[run->node_count - 1];
	for (size_t i = 0; i < node->rank_count; i++) {
		int rank = node->ranks[i].rank;
		if (rank >= ranks || here[rank])
			return muster_fail(err, MUSTER_EPROTOCOL, "a record of rank %d, which %s", rank,
				rank >= ranks ? "this job does not have" : "has sent one already");
		here[rank] = true;
	}
	run->job.simulated |= node->simulated;
	fold(run);
	return 0;
}

void muster_run_add_missing(struct muster_run *run, const struct muster_hello *hellos, const bool *here, int ranks)
{
	for (int rank = 0; rank < ranks; rank++) {
		if (here[rank])
			continue;
		const char *name = hellos[rank].node ? hellos[rank].node : "?";
		struct muster_node *node = find_node(run, name);
		if (!node)
			node = muster_run_add_node(run, name);
		struct muster_rank *missing = muster_node_add_rank(node, rank);
		missing->missing = hellos[rank].node ? "it had started, and then nothing came from it any more"
						     : "it never reported after MPI had started";
	}
	muster_run_sort(run);
}
