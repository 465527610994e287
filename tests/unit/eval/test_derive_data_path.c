/* SPDX-License-Identifier: Apache-2.0 */
/* test_derive_data_path.c - what the ranks' parts of a checkpoint and of a broadcast say together */
#include "check_main.h"
#include "run_text.h"

#include "eval/derive.h"
#include "muster/run_data.h"

#include <string.h>

#define WROTE(rank, gbps) rank " rank.checkpoint_write_gbps " gbps "\n" rank " rank.checkpoint_mib 1024\n"
#define READ(rank, gbps) rank " rank.checkpoint_read_gbps " gbps "\n"
#define SENT(rank, shard, hash) rank " rank.broadcast_hash shard=" shard " role=reads " hash "\n"
#define GOT(rank, shard, hash, gbps)                                                                                   \
	rank " rank.broadcast_hash shard=" shard " role=receives " hash "\n" rank " rank.broadcast_gbps shard=" shard  \
	     " " gbps "\n"

/* The job's samples that were derived. */
static const struct {
	const char *run, *job;
} cases[] = {
	{ "a/0 rank.step_p50_ms 1\n", "" },
	/* all bytes by the slowest rank's time */
	{ WROTE("a/0", "2") WROTE("b/1", "1") READ("a/0", "4") READ("b/1", "4"),
		"job.checkpoint_write_gbps 2\njob.checkpoint_read_gbps 8\n"
		"job.checkpoint_slowest node b, rank 1: 1 GB/s\n" },
	/* a rank without a value is named */
	{ WROTE("a/0", "2") WROTE("b/1", "-") READ("a/0", "4"),
		"job.checkpoint_write_gbps no value: node b, rank 1: not supported here\njob.checkpoint_read_gbps no "
		"value: node b, rank 1: no "
		"value\njob.checkpoint_slowest no value: node b, rank 1: not supported here\n" },
	/* shards of a node add up; the slowest node counts */
	{ SENT("a/0", "0", "x") SENT("a/1", "1", "y") GOT("b/2", "0", "x", "3") GOT("b/3", "1", "y", "2")
			GOT("c/4", "0", "x", "5") GOT("c/5", "1", "y", "5"),
		"job.broadcast_gbps 4\njob.broadcast_wrong 0\n" },
	/* of one node all ranks receive the same */
	{ SENT("a/0", "0", "x") GOT("a/1", "0", "x", "3") GOT("a/2", "0", "x", "2"),
		"job.broadcast_gbps 2\njob.broadcast_wrong 0\n" },
	/* another content */
	{ SENT("a/0", "0", "x") SENT("a/1", "1", "y") GOT("b/2", "0", "x", "3") GOT("b/3", "1", "x", "3"),
		"job.broadcast_gbps 6\njob.broadcast_wrong 1\n" },
	/* why there is none */
	{ "a/0 rank.broadcast_gbps shard=0 -\n", "job.broadcast_gbps no value: node a, rank 0: not supported here\n" },
	/* what carried it */
	{ SENT("a/0", "0", "x") GOT("b/1", "0", "x", "1") "a/0 rank.nccl_transport P2P/CUMEM+NET/IB/GDRDMA\n",
		"job.broadcast_gbps 1\njob.broadcast_wrong 0\njob.broadcast_transport NET/IB/GDRDMA\n" },
	{ SENT("a/0", "0", "x") GOT("b/1", "0", "x", "1") "a/0 rank.nccl_transport NET/Socket\n",
		"job.broadcast_gbps 1\njob.broadcast_wrong 0\njob.broadcast_transport over sockets\n" },
	{ SENT("a/0", "0", "x") GOT("b/1", "0", "x", "1") "a/0 rank.nccl_transport NET/Socket\n"
							  "a port.rate_gbps port=mlx5_0/1 "
							  "link_layer=InfiniBand 200\n",
		"job.broadcast_gbps 1\njob.broadcast_wrong 0\njob.broadcast_transport over sockets: the fabric was not "
		"used\n" },
	/* a run that has them keeps them */
	{ WROTE("a/0", "2") READ("a/0", "4") "job job.checkpoint_write_gbps 7\n", "job.checkpoint_write_gbps 7\n" },
};

TEST_EACH(the_job_follows_from_its_ranks, cases)
{
	char text[1024] = "";
	size_t used = 0;
	struct muster_run *run = run_text_new(cases[_i].run);
	muster_run_derive_data_path(run);
	for (size_t i = 0; i < run->job.samples.count; i++) {
		const struct muster_sample *sample = &run->job.samples.items[i];
		char value[256];
		used += (size_t)snprintf(text + used, sizeof text - used, "%s %s%s%s\n", sample->metric->name,
			muster_value_text(sample->value, value, sizeof value), sample->reason ? ": " : "",
			sample->reason ? sample->reason : "");
	}
	ck_assert_str_eq(text, cases[_i].job);
}

static const char *text_of(const struct muster_samples *samples, const char *metric)
{
	const struct muster_sample *sample = muster_samples_find(samples, muster_metric_find(metric));
	return sample && sample->value.type == MUSTER_STRING ? sample->value.string : "";
}

TEST(nodes_with_the_same_data_have_the_same_hash)
{
	struct muster_run *run = run_text_new(SENT("a/0", "0", "x") SENT("a/1", "1", "y") GOT("b/2", "0", "x", "3")
			GOT("b/3", "1", "y", "3") GOT("c/4", "0", "x", "3") GOT("c/5", "1", "z", "3"));
	muster_run_derive_data_path(run);
	const char *sent = text_of(&run->nodes[0].samples, "node.broadcast_hash");
	ck_assert_uint_eq(strlen(sent), 16);
	ck_assert_str_eq(sent, text_of(&run->nodes[1].samples, "node.broadcast_hash"));
	ck_assert_str_ne(sent, text_of(&run->nodes[2].samples, "node.broadcast_hash"));
	const struct muster_metric *wrong = muster_metric_find("rank.broadcast_wrong");
	for (size_t n = 0; n < run->node_count; n++)
		for (size_t r = 0; r < 2; r++)
			ck_assert(muster_samples_find(&run->nodes[n].ranks[r].samples, wrong)->value.number ==
				  (n == 2 && r == 1));
}

TEST_MAIN(.teardown = fixture_done)
