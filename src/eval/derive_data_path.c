/* SPDX-License-Identifier: Apache-2.0 */
/* derive_data_path.c - what ranks together did with disks, with a shared folder, and with data that one node read for
 * all
 *
 * Each rank tells its own rate and how many bytes that was; the slowest rank's time is that of the job. Where a rank
 * that should have a value has none, the job has none either: the reason names the rank. Ranks share the disks of a
 * node, so the best windows of two ranks are not at the same time: the means are added up.
 *
 * By numbers: four ranks write 10 GB each, at 2, 2, 2 and 1 GB/s. The slowest takes 10 s, in which 40 GB are written:
 * the job has 4 GB/s, not the 7 GB/s that the sum of the rates would say.
 *
 * What is derived, and from which metrics of ranks (rates in GB/s):
 *   node.disk_to_gpu_gbps                   gpu.stream_gbps from the disk, with an idle GPU
 *   job.checkpoint_write_gbps, _read_gbps   rank.checkpoint_write_gbps, _read_gbps, rank.checkpoint_mib
 *   job.checkpoint_slowest                  the same: the rank that took longest to write, as a text
 *   node.broadcast_stored_gbps              rank.broadcast_stored_gbps
 *   node.broadcast_hash                     rank.broadcast_hash
 *   job.broadcast_gbps                      rank.broadcast_gbps: the slowest node
 *   job.shared_read_gbps                    rank.shared_read_gbps of the node that read
 *   rank.broadcast_wrong,                   rank.broadcast_hash: whether a rank has what the reader of its shard had
 *   job.broadcast_wrong
 *   job.broadcast_transport                 rank.nccl_transport
 *
 * In a broadcast the data are cut into shards, which ranks of one node read and send. A sample of a shard has its
 * number as the label `shard`, and says with the label `role` whether its rank reads or receives.
 */
#include "eval/derive.h"

#include "muster/probe.h"
#include "muster/run_data.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define GIGA 1e9
#define MIB 1048576.0

static bool has_number(const struct muster_sample *sample)
{
	return sample && sample->value.type == MUSTER_NUMBER;
}

static void add_text(struct muster_samples *samples, const char *metric, const char *text, const char *reason)
{
	muster_samples_add(samples, (struct muster_sample){ .metric = muster_metric_find(metric),
					    .value = text ? muster_string(text) : muster_null(),
					    .reason = reason });
}

static void add_number(struct muster_samples *samples, const char *metric, double number, const char *reason)
{
	muster_derived_add(samples, muster_metric_find(metric), NULL, 0, number, reason, NULL);
}

static const char *why_none(const struct muster_run *run, const struct muster_node *node,
	const struct muster_rank *rank, const char *reason)
{
	return muster_arena_printf(
		run->arena, "node %s, rank %d: %s", node->name, rank->rank, reason ? reason : "no value");
}

/* ---- the disks of a node: the sum over its ranks, which read at the same time ---- */

/* From the disk, while the GPU has nothing else to do. */
static bool is_from_disk(const struct muster_sample *sample)
{
	return strcmp(muster_sample_label_text(sample, "source"), "disk") == 0 &&
	       strcmp(muster_sample_label_text(sample, "load"), "alone") == 0;
}

static const struct muster_sample *find_stream(const struct muster_rank *rank, const struct muster_metric *metric)
{
	for (size_t i = 0; i < rank->samples.count; i++)
		if (rank->samples.items[i].metric == metric && is_from_disk(&rank->samples.items[i]))
			return &rank->samples.items[i];
	return NULL;
}

/* The mean rate of windows with equal bytes: all bytes / the time of all, which is the harmonic mean of the rates. */
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
		const struct muster_sample *sample = find_stream(&node->ranks[i], stream);
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

/* ---- checkpoint ---- */

/* Bytes of all ranks, the longest time, and the rank that took it. The same for reading. */
struct written {
	double bytes, seconds, slowest_gbps; /* seconds and slowest_gbps: of the slowest rank */
	const struct muster_node *node;
	const struct muster_rank *rank;
	const char *reason; /* why there is no sum; NULL */
	bool any;           /* a rank took part */
};

static struct written sum_ranks(const struct muster_run *run, const struct muster_metric *rate)
{
	const struct muster_metric *mib = muster_metric_find("rank.checkpoint_mib");
	struct written all = { 0 };
	for (size_t n = 0; n < run->node_count; n++) {
		const struct muster_node *node = &run->nodes[n];
		for (size_t r = 0; r < node->rank_count; r++) {
			const struct muster_rank *rank = &node->ranks[r];
			const struct muster_sample *sample = muster_samples_find(&rank->samples, rate),
						   *size = muster_samples_find(&rank->samples, mib);
			all.any |= sample != NULL;
			if (!has_number(sample) || !has_number(size) || sample->value.number <= 0) {
				if (!all.reason)
					all.reason = why_none(run, node, rank, sample ? sample->reason : NULL);
				continue;
			}
			double bytes = size->value.number * MIB, gbps = sample->value.number;
			double seconds = bytes / (gbps * GIGA);
			all.bytes += bytes;
			if (seconds <= all.seconds)
				continue;
			all.seconds = seconds;
			all.slowest_gbps = gbps;
			all.node = node;
			all.rank = rank;
		}
	}
	return all;
}

static void derive_checkpoint(struct muster_run *run)
{
	struct muster_samples *job = &run->job.samples;
	if (muster_sample_named(job, "job.checkpoint_write_gbps"))
		return;
	struct written wrote = sum_ranks(run, muster_metric_find("rank.checkpoint_write_gbps"));
	struct written read = sum_ranks(run, muster_metric_find("rank.checkpoint_read_gbps"));
	if (!wrote.any)
		return;
	add_number(job, "job.checkpoint_write_gbps", wrote.bytes / GIGA / wrote.seconds, wrote.reason);
	add_number(job, "job.checkpoint_read_gbps", read.bytes / GIGA / read.seconds, read.reason);
	const char *slowest = NULL;
	if (!wrote.reason && wrote.rank)
		slowest = muster_arena_printf(run->arena, "node %s, rank %d: %.3g GB/s", wrote.node->name,
			wrote.rank->rank, wrote.slowest_gbps);
	add_text(job, "job.checkpoint_slowest", slowest, wrote.reason);
}

/* ---- broadcast ---- */

/* The shard that a rank's sample is of. */
static double shard_of(const struct muster_sample *sample)
{
	return muster_label_number(sample->labels, sample->label_count, "shard");
}

static bool has_role(const struct muster_sample *hash, const char *role)
{
	return hash && strcmp(muster_sample_label_text(hash, "role"), role) == 0;
}

/* The rate of a node, from those of its ranks: the slowest rank's rate times the number of different shards, since all
 * shards are done when the slowest is. Two ranks with one shard count once. Below 0: no rank has a number. *ret_reason
 * is set where a rank has a null. */
static double node_rate(const struct muster_run *run, const struct muster_node *node, const struct muster_metric *rate,
	const char **ret_reason)
{
	double slowest = -1, shards = 0;
	for (size_t r = 0; r < node->rank_count; r++) {
		const struct muster_sample *sample = muster_samples_find(&node->ranks[r].samples, rate);
		bool again = false;
		if (!sample)
			continue;
		if (!has_number(sample)) {
			*ret_reason = why_none(run, node, &node->ranks[r], sample->reason);
			continue;
		}
		for (size_t i = 0; i < r; i++) {
			const struct muster_sample *before = muster_samples_find(&node->ranks[i].samples, rate);
			again |= has_number(before) && shard_of(before) == shard_of(sample);
		}
		shards += !again;
		slowest = slowest < 0 ? sample->value.number : fmin(slowest, sample->value.number);
	}
	return slowest < 0 ? -1 : slowest * shards;
}

/* One text for all data that the node has: FNV-1a, 64 bits, of the hashes of the shards in the ranks' order; of one
 * shard its own hash. After the first hash, those of shard 0 are passed over: a single shard is that of all ranks. */
static const char *node_hash(const struct muster_run *run, const struct muster_node *node)
{
	const struct muster_metric *metric = muster_metric_find("rank.broadcast_hash");
	const char *only = NULL, *all = "";
	size_t count = 0;
	for (size_t r = 0; r < node->rank_count; r++) {
		const struct muster_sample *sample = muster_samples_find(&node->ranks[r].samples, metric);
		if (!sample || sample->value.type != MUSTER_STRING || (count > 0 && shard_of(sample) == 0))
			continue;
		only = sample->value.string;
		count++;
		all = muster_arena_printf(run->arena, "%s%s", all, only);
	}
	return count > 1 ? muster_arena_printf(run->arena, "%016" PRIx64, muster_hash(all, strlen(all))) : only;
}

/* The hash of the rank that read the same shard as `got`; NULL: it is not known. */
static const struct muster_sample *find_sent(const struct muster_run *run, const struct muster_sample *got)
{
	for (size_t n = 0; n < run->node_count; n++) {
		bool reads = false;
		for (size_t r = 0; r < run->nodes[n].rank_count; r++) {
			const struct muster_sample *one =
				muster_samples_find(&run->nodes[n].ranks[r].samples, got->metric);
			reads |= has_role(one, "reads");
			if (has_role(one, "reads") && shard_of(one) == shard_of(got))
				return one;
		}
		if (reads) /* all readers are on one node */
			break;
	}
	return NULL;
}

/* Adds rank.broadcast_wrong: 0 to a rank that read, 0 or 1 to a rank that received a shard whose reader is known.
 * Returns the number of ranks whose shard is not as its reader had it; below 0: no rank was compared. */
static double derive_wrong(struct muster_run *run)
{
	const struct muster_metric *hash = muster_metric_find("rank.broadcast_hash");
	double wrong = -1;
	for (size_t n = 0; n < run->node_count; n++) {
		for (size_t r = 0; r < run->nodes[n].rank_count; r++) {
			struct muster_rank *rank = &run->nodes[n].ranks[r];
			const struct muster_sample *got = muster_samples_find(&rank->samples, hash);
			const struct muster_sample *sent = has_role(got, "receives") ? find_sent(run, got) : NULL;
			if (has_role(got, "reads"))
				add_number(&rank->samples, "rank.broadcast_wrong", 0, NULL);
			if (!sent)
				continue;
			bool differs = !muster_value_equal(sent->value, got->value);
			wrong = fmax(wrong, 0) + differs;
			add_number(&rank->samples, "rank.broadcast_wrong", differs, NULL);
		}
	}
	return wrong;
}

static bool has_fabric(const struct muster_run *run)
{
	const struct muster_metric *limit = muster_metric_find("port.limit_gbps"),
				   *state = muster_metric_find("port.rate_gbps");
	for (size_t n = 0; n < run->node_count; n++)
		for (size_t i = 0; i < run->nodes[n].samples.count; i++) {
			const struct muster_sample *sample = &run->nodes[n].samples.items[i];
			if ((sample->metric == limit || sample->metric == state) && has_number(sample) &&
				strcmp(muster_sample_label_text(sample, "link_layer"), "InfiniBand") == 0)
				return true;
		}
	return false;
}

/* What the broadcast went over, by NCCL's words of the ranks' connections; NULL: NCCL does not say. One rank with
 * sockets is enough to say so, and on nodes with InfiniBand the text adds that the fabric was not used. Else the first
 * network transport of a rank, else NVLink between nodes. */
static const char *transport(const struct muster_run *run)
{
	const char *network = NULL, *link = NULL;
	for (size_t n = 0; n < run->node_count; n++)
		for (size_t r = 0; r < run->nodes[n].rank_count; r++) {
			const char *text =
				muster_sample_text(&run->nodes[n].ranks[r].samples, "rank.nccl_transport", "");
			if (strstr(text, "NET/Socket"))
				return has_fabric(run) ? "over sockets: the fabric was not used" : "over sockets";
			const char *net = strstr(text, "NET/");
			if (net && !network)
				network = muster_arena_printf(run->arena, "%.*s", (int)strcspn(net, "+ ,"), net);
			if (strstr(text, "P2P/MNNVL"))
				link = "NVLink between nodes";
		}
	return network ? network : link;
}

static void derive_broadcast(struct muster_run *run)
{
	const struct muster_metric *rate = muster_metric_find("rank.broadcast_gbps"),
				   *stored = muster_metric_find("rank.broadcast_stored_gbps"),
				   *read = muster_metric_find("rank.shared_read_gbps");
	struct muster_samples *job = &run->job.samples;
	double slowest = -1, wrong, shared = -1;
	const char *reason = NULL, *hash, *over;
	if (muster_sample_named(job, "job.broadcast_gbps"))
		return;
	for (size_t n = 0; n < run->node_count; n++) {
		struct muster_node *node = &run->nodes[n];
		const char *why = NULL, *ignored = NULL;
		double its = node_rate(run, node, rate, &reason), kept = node_rate(run, node, stored, &why);
		double readers = node_rate(run, node, read, &ignored), count = 0;
		for (size_t r = 0; r < node->rank_count; r++)
			count += has_number(muster_samples_find(&node->ranks[r].samples, read));
		if (readers >= 0)
			shared = readers * count;
		if (its >= 0)
			slowest = slowest < 0 ? its : fmin(slowest, its);
		if (kept >= 0 || why)
			add_number(&node->samples, "node.broadcast_stored_gbps", kept, why);
		if ((hash = node_hash(run, node)) != NULL)
			add_text(&node->samples, "node.broadcast_hash", hash, NULL);
	}
	if (shared >= 0)
		add_number(job, "job.shared_read_gbps", shared, NULL);
	if (slowest >= 0 || reason)
		add_number(job, "job.broadcast_gbps", slowest, reason);
	if ((wrong = derive_wrong(run)) >= 0)
		add_number(job, "job.broadcast_wrong", wrong, NULL);
	if (slowest >= 0 && run->node_count > 1 && (over = transport(run)) != NULL)
		add_text(job, "job.broadcast_transport", over, NULL);
}

void muster_run_derive_data_path(struct muster_run *run)
{
	derive_checkpoint(run);
	derive_broadcast(run);
}
