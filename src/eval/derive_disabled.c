/* derive_disabled.c - whether a variable keeps NCCL from using links that the node has
 *
 * The same variable does nothing where there are no such links, and is then no reason for a finding.
 */
#include "eval/derive.h"

#include "muster/probe.h"
#include "muster/run_data.h"

#include <stdlib.h>
#include <string.h>

static const struct {
	const char *variable, *links; /* links: the metric that counts them */
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
