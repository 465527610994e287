/* SPDX-License-Identifier: Apache-2.0 */
/* test_collectives.c - what the shipped expectations make of the collectives of a whole job, and of uneven ones */
#include "check_main.h"
#include "run_text.h"

#define TWO_RANKS "a/0 = 0001:00:00.0 u0\na/1 = 0002:00:00.0 u1\n"
#define TWO_NODES "a/0 = 0001:00:00.0 u0\nb/1 = 0001:00:00.0 u1\n"
/* Of 100 all-reduces of 8 MiB: the median and the time that 99 do not exceed. */
#define TIMES(nodes, p50, p99)                                                                                         \
	"job nccl.allreduce_p50_us bytes=8388608 nodes=" nodes " ranks=2 " p50 "\n"                                    \
	"job nccl.allreduce_p99_us bytes=8388608 nodes=" nodes " ranks=2 " p99 "\n"

/* A collective's bus bandwidth at 128 MiB over so many nodes and ranks. */
#define SPEED(collective, nodes, ranks, gbps)                                                                          \
	"job nccl." collective "_busbw_gbps bytes=134217728 nodes=" nodes " ranks=" ranks " " gbps "\n"
#define LIMIT(collective, nodes, ranks, path, gbps)                                                                    \
	"job nccl." collective "_limit_gbps nodes=" nodes " ranks=" ranks " path=" path " link=" path " " gbps "\n"

/* An exchange with the other GPU of node a, of 478 GB/s at most. */
#define PEER(gpu) "kind=edge peer_node=a peer_gpu=" gpu " nic=none transport=P2P/CUMEM"
#define EDGE(place, gpu, gbps)                                                                                         \
	place " pair.exchange_gbps " PEER(gpu) " " gbps "\n" place                                                     \
					       " pair.exchange_limit_gbps " PEER(gpu) " path=NVLink link=NVLink 478\n"

static const struct {
	const char *title, *sku, *run;
	const char *check, *judged; /* its one result; "": none */
} rows[] = {
	{ "two H200", "Standard_ND96isr_H200_v5", TWO_RANKS TIMES("1", "49.6", "52"), "collectives.jitter", "pass" },
	{ "late by half, as healthy ones at times", "Standard_ND96isr_H200_v5", TWO_RANKS TIMES("1", "49.6", "80"),
		"collectives.jitter", "pass" },
	{ "more than three times as long", "Standard_ND96isr_H200_v5", TWO_RANKS TIMES("1", "49.6", "150"),
		"collectives.jitter", "warn" },
	{ "the same through the memory of a host", "generic-nvidia", TWO_RANKS TIMES("1", "350", "1060"),
		"collectives.jitter", "warn" },
	{ "sockets between nodes are uneven anyway", "generic-nvidia", TWO_NODES TIMES("2", "9000", "40000"),
		"collectives.jitter", "" },
	{ "other sizes are", "generic-nvidia",
		TWO_RANKS "job nccl.allreduce_p50_us bytes=65536 nodes=1 ranks=2 12\n"
			  "job nccl.allreduce_p99_us bytes=65536 nodes=1 ranks=2 60\n",
		"collectives.jitter", "skip" },
	{ "too slow to be timed", "generic-nvidia", TWO_RANKS TIMES("1", "-", "-"), "collectives.jitter", "skip" },
	{ "InfiniBand beside other jobs", "Standard_ND96asr_v4", TWO_NODES TIMES("2", "200", "580"),
		"collectives.jitter_network", "pass" },
	{ "InfiniBand where something is late", "Standard_ND96asr_v4", TWO_NODES TIMES("2", "200", "620"),
		"collectives.jitter_network", "warn" },
	{ "all-to-all of two H200", "generic-nvidia",
		TWO_RANKS SPEED("alltoall", "1", "2", "267") LIMIT("alltoall", "1", "2", "NVLink", "478"),
		"collectives.alltoall.nvlink.128m", "pass" },
	{ "at half of its speed", "generic-nvidia",
		TWO_RANKS SPEED("alltoall", "1", "2", "133") LIMIT("alltoall", "1", "2", "NVLink", "478"),
		"collectives.alltoall.nvlink.128m", "warn" },
	{ "all-gather of two H200", "generic-nvidia",
		TWO_RANKS SPEED("allgather", "1", "2", "233") LIMIT("allreduce", "1", "2", "NVLink", "478"),
		"collectives.allgather.nvlink.128m", "pass" },
	{ "at half of its speed", "generic-nvidia",
		TWO_RANKS SPEED("allgather", "1", "2", "116") LIMIT("allreduce", "1", "2", "NVLink", "478"),
		"collectives.allgather.nvlink.128m", "warn" },
	{ "reduce-scatter of two H200", "generic-nvidia",
		TWO_RANKS SPEED("reducescatter", "1", "2", "228") LIMIT("allreduce", "1", "2", "NVLink", "478"),
		"collectives.reducescatter.nvlink.128m", "pass" },
	{ "at half of its speed", "generic-nvidia",
		TWO_RANKS SPEED("reducescatter", "1", "2", "114") LIMIT("allreduce", "1", "2", "NVLink", "478"),
		"collectives.reducescatter.nvlink.128m", "warn" },
	{ "an all-to-all at a fifth of the network", "Standard_ND96asr_v4",
		TWO_NODES SPEED("alltoall", "2", "2", "5") LIMIT("alltoall", "2", "2", "network", "25"),
		"collectives.alltoall.network.128m", "warn" },
	{ "one that is well", "Standard_ND96asr_v4",
		TWO_NODES SPEED("alltoall", "2", "2", "12") LIMIT("alltoall", "2", "2", "network", "25"),
		"collectives.alltoall.network.128m", "pass" },
	{ "a slow part explains it", "generic-nvidia",
		TWO_RANKS SPEED("alltoall", "1", "2", "50") LIMIT("alltoall", "1", "2", "NVLink", "478")
			EDGE("a/0", "0002:00:00.0", "50") EDGE("a/1", "0001:00:00.0", "50"),
		"collectives.alltoall.nvlink.128m", "blocked" },
	{ "exchanges that are well do not", "generic-nvidia",
		TWO_RANKS SPEED("alltoall", "1", "2", "50") LIMIT("alltoall", "1", "2", "NVLink", "478")
			EDGE("a/0", "0002:00:00.0", "270") EDGE("a/1", "0001:00:00.0", "270"),
		"collectives.alltoall.nvlink.128m", "warn" },
	{ "one slow collective hides no other", "generic-nvidia",
		TWO_RANKS SPEED("alltoall", "1", "2", "50") LIMIT("alltoall", "1", "2", "NVLink", "478")
			SPEED("allgather", "1", "2", "50") LIMIT("allreduce", "1", "2", "NVLink", "478"),
		"collectives.allgather.nvlink.128m", "warn" },
	{ "a network is not held against the share of NVLink", "Standard_ND96asr_v4",
		TWO_NODES SPEED("alltoall", "2", "2", "5") LIMIT("alltoall", "2", "2", "network", "25"),
		"collectives.alltoall.nvlink.128m", "" },
	{ "an all-gather between nodes", "Standard_ND96asr_v4",
		TWO_NODES SPEED("allgather", "2", "2", "3") LIMIT("allreduce", "2", "2", "network", "25"),
		"collectives.allgather.network.128m", "warn" },
	{ "sockets have no limit", "generic-nvidia",
		TWO_NODES SPEED("alltoall", "2", "2", "0.1") LIMIT("alltoall", "2", "2", "network", "-"),
		"collectives.alltoall.network.128m", "skip" },
	{ "PCIe has no share that is known", "generic-nvidia",
		TWO_RANKS SPEED("alltoall", "1", "2", "2") LIMIT("alltoall", "1", "2", "PCIe", "63"),
		"collectives.alltoall.nvlink.128m", "skip" },
};

TEST_EACH(collectives_of_a_job_are_judged, rows)
{
	struct muster_report *report = run_text_judge(rows[_i].sku, rows[_i].run, false);
	ck_assert_msg(strcmp(run_text_result(report, rows[_i].check), rows[_i].judged) == 0, "%s: %s", rows[_i].title,
		run_text_result(report, rows[_i].check));
}

TEST(beside_other_jobs_a_late_all_reduce_says_nothing)
{
	struct muster_report *report = run_text_judge("generic-nvidia", TWO_RANKS TIMES("1", "350", "1400"), true);
	ck_assert_str_eq(run_text_result(report, "collectives.jitter"), "inconclusive");
}

/* Exchanges that are well say nothing of a rank that is late now and then. */
TEST(no_part_is_excused_by_exchanges)
{
	const char *advice = NULL;
	struct muster_report *report = run_text_judge("generic-nvidia",
		TWO_RANKS TIMES("1", "350", "1400") "a/0 pair.exchange_gbps kind=edge peer_node=a "
						    "peer_gpu=0002:00:00.0 nic=none transport=P2P 300\n"
						    "a/1 pair.exchange_gbps kind=edge peer_node=a "
						    "peer_gpu=0001:00:00.0 nic=none transport=P2P 300\n",
		false);
	for (size_t i = 0; i < report->finding_count; i++)
		if (strcmp(report->findings[i].check, "collectives.jitter") == 0)
			advice = report->findings[i].advice;
	ck_assert_ptr_nonnull(advice);
	ck_assert_msg(strncmp(advice, "some all-reduces", strlen("some all-reduces")) == 0, "%s", advice);
}

TEST_MAIN(.teardown = fixture_done)
