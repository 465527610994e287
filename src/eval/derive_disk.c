/* derive_disk.c - what the disks of a node bring to its GPUs: the sum over its ranks, which read at the same time
 *
 * The ranks share the disks, so the best windows of two ranks are not at the same time: the means are added up.
 */
#include "eval/derive.h"

#include "muster/probe.h"
#include "muster/run_data.h"

#include <string.h>

/* From the disk, while the GPU has nothing else to do. */
static bool is_from_disk(const struct muster_sample *sample)
{
	return strcmp(muster_sample_label_text(sample, "source"), "disk") == 0 &&
	       strcmp(muster_sample_label_text(sample, "load"), "alone") == 0;
}

static const struct muster_sample *find(const struct muster_rank *rank, const struct muster_metric *metric)
{
	for (size_t i = 0; i < rank->samples.count; i++)
		if (rank->samples.items[i].metric == metric && is_from_disk(&rank->samples.items[i]))
			return &rank->samples.items[i];
	return NULL;
}

/* Of windows with equal bytes: all bytes / the time of all. */
static double mean(const struct muster_sample *sample)
{
	double times = 0;
	for (size_t i = 0; i < sample->value_count; i++)
		times += 1 / sample->values[i];
	return sample->value_count > 0 ? (double)sample->value_count / times : sample->value.number;
}

/* The layout of the disks, as the probe of the scratch has found it. */
static void add_layout(const struct muster_node *node, struct muster_sample *sum)
{
	static const struct muster_label unknown = { "layout", { .type = MUSTER_STRING, .string = "unknown" } };
	const struct muster_sample *scratch = muster_sample_named(&node->samples, "node.scratch_read_gbps");
	sum->labels = scratch && scratch->label_count == 1 ? scratch->labels : &unknown;
	sum->label_count = 1;
}

/* Without a value of each rank that measured there is no sum: its reason is that of the first rank without one. */
static void derive_node(
	struct muster_node *node, const struct muster_metric *stream, const struct muster_metric *sum_metric)
{
	struct muster_sample sum = { .metric = sum_metric, .value = muster_number(0) };
	bool any = false;
	for (size_t i = 0; i < node->rank_count && !sum.reason; i++) {
		const struct muster_sample *sample = find(&node->ranks[i], stream);
		if (!sample)
			continue;
		any = true;
		if (sample->value.type == MUSTER_NUMBER)
			sum.value.number += mean(sample);
		else
			sum.reason = sample->reason ? sample->reason : "not measured",
			sum.unread = muster_sample_unread(sample);
	}
	if (sum.reason)
		sum.value = muster_null();
	add_layout(node, &sum);
	if (any)
		muster_samples_add(&node->samples, sum);
}

void muster_run_derive_disk(struct muster_run *run)
{
	const struct muster_metric *stream = muster_metric_find("gpu.stream_gbps"),
				   *sum = muster_metric_find("node.disk_to_gpu_gbps");
	for (size_t i = 0; i < run->node_count; i++)
		if (!muster_samples_find(&run->nodes[i].samples, sum))
			derive_node(&run->nodes[i], stream, sum);
}
