/* SPDX-License-Identifier: Apache-2.0 */
/* derive_links.c - whether links that a node has can be used: NVLink to other nodes, and links that a variable turns
 * off
 */
#include "eval/derive.h"

#include "muster/arena.h"
#include "muster/probe.h"
#include "muster/run_data.h"

#include <stdlib.h>
#include <string.h>

/* NCCL calls a channel "P2P/MNNVL" only where it has shared memory with other nodes through IMEX. A node whose device
 * files are somewhere else, as in a container, then needs no file to prove it. */
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

/* Variables that keep NCCL from using links, and the metric that counts these links. rank.link_disabled is true where
 * the variable is set and the rank or its node has such links. Where there are no links, the variable does nothing:
 * false. */
static const struct {
	const char *variable, *links;
} rows[] = { { "NCCL_P2P_DISABLE", "gpu.nvlinks" }, { "NCCL_IB_DISABLE", "node.ib_ports" } };

static void derive_rank(
	const struct muster_metric *disabled, struct muster_samples *samples, const struct muster_samples *of_node)
{
	const struct muster_metric *metric = muster_metric_find("rank.setting");
	for (size_t i = 0, count = samples->count; i < count; i++)
		for (size_t row = 0; row < sizeof rows / sizeof *rows; row++) {
			const struct muster_sample setting = samples->items[i];
			if (setting.metric != metric ||
				strcmp(muster_sample_label_text(&setting, "name"), rows[row].variable) != 0)
				continue;
			const struct muster_metric *of = muster_metric_find(rows[row].links);
			const struct muster_sample *links =
				muster_samples_find(of->scope == MUSTER_SCOPE_NODE ? of_node : samples, of);
			/* as NCCL reads it: "false" is 0 */
			bool set = setting.value.type == MUSTER_STRING && strtoll(setting.value.string, NULL, 0) != 0;
			const char *reason = !set ? setting.reason : links ? links->reason : "no link was counted";
			muster_samples_add(
				samples, (struct muster_sample){ .metric = disabled,
						 .labels = setting.labels,
						 .label_count = setting.label_count,
						 .value = reason ? muster_null()
								 : muster_boolean(set && links->value.number > 0),
						 .reason = reason,
						 .unread = !reason ? NULL
							   : !set  ? setting.unread
							   : links ? muster_sample_unread(links)
								   : NULL });
		}
}

void muster_run_derive_disabled(struct muster_run *run)
{
	const struct muster_metric *disabled = muster_metric_find("rank.link_disabled");
	for (size_t n = 0; n < run->node_count; n++)
		for (size_t r = 0; r < run->nodes[n].rank_count; r++)
			if (!muster_samples_find(&run->nodes[n].ranks[r].samples, disabled))
				derive_rank(disabled, &run->nodes[n].ranks[r].samples, &run->nodes[n].samples);
}
