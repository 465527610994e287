/* derive_imex.c - whether a node can use NVLink to GPUs of other nodes, by what the all-reduce did
 *
 * NCCL calls a channel "P2P/MNNVL" only where it has shared memory with other nodes through IMEX. A node whose device
 * files are somewhere else, as in a container, then needs no file to prove it.
 */
#include "eval/derive.h"

#include "muster/arena.h"
#include "muster/probe.h"
#include "muster/run_data.h"

#include <string.h>

static bool crossed_nodes(const struct muster_node *node)
{
	for (size_t i = 0; i < node->rank_count; i++)
		if (strstr(muster_sample_text(&node->ranks[i].samples, "rank.nccl_transport", ""), "P2P/MNNVL"))
			return true;
	return false;
}

void muster_run_derive_imex(struct muster_run *run)
{
	const struct muster_metric *channels = muster_metric_find("node.imex_channels"),
				   *imex = muster_metric_find("node.imex_state");
	for (size_t i = 0; i < run->node_count; i++) {
		struct muster_node *node = &run->nodes[i];
		const struct muster_sample *found = muster_samples_find(&node->samples, channels);
		if (!found || muster_samples_find(&node->samples, imex))
			continue;
		struct muster_sample sample = { .metric = imex };
		if (found->value.type == MUSTER_NUMBER && found->value.number > 0)
			sample.value = muster_string("channel");
		else if (crossed_nodes(node))
			sample.value = muster_string("works without a channel");
		else if (found->value.type == MUSTER_NUMBER)
			sample.value = muster_string("no channel");
		else
			sample.reason = found->reason, sample.unread = muster_sample_unread(found);
		muster_samples_add(&node->samples, sample);
	}
}
