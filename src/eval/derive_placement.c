/* SPDX-License-Identifier: Apache-2.0 */
/* derive_placement.c - how the ranks of a node are placed beside their GPUs
 *
 * A launcher places all ranks of a node, so a wrong launch is one finding of the node: the value of its worst rank, and
 * the local ranks that have this value.
 *
 * By numbers: ranks 0 and 1 may both use CPUs 0-3 of two cores, ranks 2 and 3 have four cores each. rank.cores_each is
 * 1, 1, 4 and 4: the node's value is 1, of the local ranks "0, 1".
 */
#include "eval/derive.h"

#include "muster/arena.h"
#include "muster/probe.h"
#include "muster/run_data.h"
#include "util/cpuset.h"

#include <math.h>
#include <stdlib.h>

#define CORES_WANTED 2 /* for each rank: for its own thread, and NCCL's, which polls */

/* Cores of each rank, divided by the ranks that may use some of its CPUs, the rank itself among them. Where the node
 * has fewer than CORES_WANTED cores for each rank, no launch could do better: the value is null, with this as the
 * reason. The cores of the node are its CPUs times the rank's own ratio of cores to CPUs. */
static void share_cores(struct muster_run *run, struct muster_node *node)
{
	const struct muster_metric *each = muster_metric_find("rank.cores_each");
	hwloc_bitmap_t *sets = muster_calloc(node->rank_count + 1, sizeof *sets);
	for (size_t i = 0; i < node->rank_count; i++) {
		const char *list = muster_sample_text(&node->ranks[i].samples, "rank.cpu_list", NULL);
		sets[i] = list ? muster_cpuset_parse_list(list, NULL) : NULL;
	}
	for (size_t i = 0; i < node->rank_count; i++) {
		size_t sharers = 0;
		for (size_t j = 0; sets[i] && j < node->rank_count; j++)
			sharers += sets[j] && hwloc_bitmap_intersects(sets[i], sets[j]);
		double cpus = sets[i] ? hwloc_bitmap_weight(sets[i]) : 0,
		       cores = muster_sample_number(&node->ranks[i].samples, "rank.cores", cpus),
		       all = muster_sample_number(&node->samples, "node.cpus", INFINITY) * cores / cpus;
		if (sharers > 0 && !muster_samples_find(&node->ranks[i].samples, each))
			muster_derived_add(&node->ranks[i].samples, each, NULL, 0, cores / (double)sharers,
				all >= CORES_WANTED * (double)node->rank_count
					? NULL
					: muster_arena_printf(run->arena, "the node has %.0f cores for %zu ranks", all,
						  node->rank_count),
				NULL);
	}
	for (size_t i = 0; i < node->rank_count; i++)
		hwloc_bitmap_free(sets[i]);
	free(sets);
}

/* Add the lowest value of the node's ranks, or, where the metric is a text, the local ranks that have this value. Ranks
 * with a null are passed over unless no rank has a value: then the node's value is null for the same reason. */
static void derive_lowest(struct muster_run *run, struct muster_node *node, const struct muster_metric *metric)
{
	const struct muster_metric *of = muster_metric_find(metric->lowest_of);
	const struct muster_sample *lowest = NULL;
	const char *ranks = "";
	for (size_t i = 0; i < node->rank_count; i++) {
		const struct muster_sample *sample = muster_samples_find(&node->ranks[i].samples, of);
		bool known = sample && !sample->reason, had = lowest && !lowest->reason;
		if (!sample || (had && (!known || sample->value.number > lowest->value.number)))
			continue;
		if (!had || sample->value.number < lowest->value.number)
			lowest = sample, ranks = "";
		ranks = muster_arena_printf(run->arena, "%s%s%d", ranks, *ranks ? ", " : "", node->ranks[i].local_rank);
	}
	if (lowest)
		muster_samples_add(
			&node->samples, (struct muster_sample){ .metric = metric,
						.value = lowest->reason                  ? muster_null()
							 : metric->type == MUSTER_STRING ? muster_string(ranks)
											 : lowest->value,
						.reason = lowest->reason,
						.unread = muster_sample_unread(lowest) });
}

void muster_run_derive_placement(struct muster_run *run)
{
	const struct muster_metric *metric;
	for (size_t n = 0; n < run->node_count; n++)
		share_cores(run, &run->nodes[n]);
	for (size_t i = 0; (metric = muster_metric_at(i)) != NULL; i++)
		for (size_t n = 0; metric->lowest_of && n < run->node_count; n++)
			if (!muster_samples_find(&run->nodes[n].samples, metric))
				derive_lowest(run, &run->nodes[n], metric);
}
