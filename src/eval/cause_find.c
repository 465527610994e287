/* cause_find.c - which finding about a probe or a rank explains that there is no sample at a place
 */
#include "eval/eval.h"
#include "muster/probe.h"
#include "muster/run_data.h"

#include <string.h>

uint32_t muster_node_leader(const struct muster_node *node)
{
	for (size_t r = 0; r < node->rank_count; r++)
		if (!node->ranks[r].missing)
			return (uint32_t)r;
	return MUSTER_NOWHERE;
}

size_t muster_probe_number(const char *name)
{
	size_t i = 0;
	while (i < muster_probe_count() && strcmp(muster_probe_at(i)->name, name) != 0)
		i++;
	return i;
}

size_t *muster_cause_of(const struct muster_eval *eval, size_t node, size_t rank)
{
	return &eval->causes[(eval->first_rank[node] + rank) * eval->cause_width];
}

size_t *muster_cause_of_missing(const struct muster_eval *eval, size_t node, size_t rank)
{
	return muster_cause_of(eval, node, rank) + muster_probe_count();
}

const struct muster_outcome *muster_rank_outcome(const struct muster_rank *rank, const char *probe)
{
	for (size_t i = 0; i < rank->outcomes.count; i++)
		if (strcmp(rank->outcomes.items[i].probe, probe) == 0)
			return &rank->outcomes.items[i];
	return NULL;
}

/* Did this rank, the first one that is left, have the probe's facts about the node to tell? A probe of the node runs on
 * its leader alone. One that runs on every rank tells them on the leader, who was the first of all ranks. */
static bool reports_node_facts(const struct muster_node *node, uint32_t rank, const struct muster_probe *probe)
{
	return (probe->scope == MUSTER_SCOPE_NODE || rank == 0) && muster_rank_outcome(&node->ranks[rank], probe->name);
}

/* The node's own facts come from its leader. A leader that died took them along. */
static size_t find_node_cause(const struct muster_eval *eval, uint32_t n, size_t probe)
{
	const struct muster_node *node = &eval->run->nodes[n];
	uint32_t leader = muster_node_leader(node);
	if (leader != MUSTER_NOWHERE && muster_cause_of(eval, n, leader)[probe])
		return muster_cause_of(eval, n, leader)[probe];
	if (leader != MUSTER_NOWHERE && reports_node_facts(node, leader, muster_probe_at(probe)))
		return 0;
	for (size_t r = 0; r < node->rank_count; r++)
		if (*muster_cause_of_missing(eval, n, r))
			return *muster_cause_of_missing(eval, n, r);
	return 0;
}

/* Any rank of nodes [first, end) will do: a failed probe first, then one that did not run, then a missing rank. */
static size_t find_any_cause(const struct muster_eval *eval, size_t first, size_t end, size_t probe)
{
	size_t other = 0, missing = 0;
	for (size_t n = first; n < end; n++) {
		for (size_t r = 0; r < eval->run->nodes[n].rank_count; r++) {
			size_t found = muster_cause_of(eval, n, r)[probe];
			if (found && eval->drafts[found - 1].finding.status == MUSTER_FAIL)
				return found;
			other = other ? other : found;
			missing = missing ? missing : *muster_cause_of_missing(eval, n, r);
		}
	}
	return other ? other : missing;
}

size_t muster_cause_find(
	const struct muster_eval *eval, const struct muster_metric *metric, uint32_t node, uint32_t rank)
{
	size_t probe = muster_probe_number(muster_metric_probe(metric));
	if (node == MUSTER_NOWHERE)
		return find_any_cause(eval, 0, eval->run->node_count, probe);
	if (rank != MUSTER_NOWHERE && muster_cause_of(eval, node, rank)[probe])
		return muster_cause_of(eval, node, rank)[probe];
	if (rank != MUSTER_NOWHERE)
		return *muster_cause_of_missing(eval, node, rank);
	if (metric->scope == MUSTER_SCOPE_NODE || metric->scope == MUSTER_SCOPE_PORT)
		return find_node_cause(eval, node, probe);
	return find_any_cause(eval, node, (size_t)node + 1, probe);
}
