/* SPDX-License-Identifier: Apache-2.0 */
/* test_nccl_channels.c - two ranks have as many channels as in NCCL's logs and source
 */
#include "sim/standins/nccl_channels.h"

#include "check_main.h"

static const struct {
	struct muster_simchannels_facts facts;
	struct muster_simchannels expected;
} rows[] = {
	/* { version, ranks, domains, near peers, NVLinks, adapters, ... }, { collectives, p2p, per peer } */
	/* "24 coll channels, 16 nvls channels, 32 p2p channels, 32 p2p channels per peer" of one p5.48xlarge, and of
	 * two "16 coll channels, 16 nvls channels, 16 p2p channels, 2 p2p channels per peer": README of the NCCL tests
	 * on EKS by AWS samples. Other logs of two nodes of 8 H100, or 8 A100, say the same. */
	{ { 21805, 8, 1, true, 18, 8, .adapter_gbps = 50 }, { 24, 32, 32 } },
	{ { 21805, 16, 2, true, 18, 8, .adapter_gbps = 50 }, { 16, 16, 2 } },
	{ { 22106, 8, 1, true, 12, 8, .adapter_gbps = 50 }, { 24, 32, 32 } },
	{ { 22106, 16, 2, true, 12, 8, .adapter_gbps = 25 }, { 16, 16, 2 } },
	/* github.com/NVIDIA/nccl/issues/1189: two nodes of two H20: "8 coll channels, 0 collnet channels, 0 nvls
	 * channels, 8 p2p channels, 2 p2p channels per peer" */
	{ { 21903, 4, 2, true, 18, 4, .adapter_gbps = 50 }, { 8, 8, 2 } },
	/* issue 1680: two GPUs without NVLink: "32 p2p channels, 2 p2p channels per peer" with MIN_P2P_NCHANNELS=32 */
	{ { 22106, 2, 1, true, 0, 0, .adapter_gbps = 50, .min = 16, .p2p_min = 32 }, { 16, 32, 2 } },
	/* issue 892: one node of 8 H800, with 8 NVLinks: "16 p2p channels, 16 p2p channels per peer" */
	{ { 21803, 8, 1, true, 8, 8, .adapter_gbps = 50, .max = 16 }, { 16, 16, 16 } },
	/* From here on the source alone: many ranks have fewer channels since 2.20 ... */
	{ { 21903, 64, 8, true, 18, 8, .adapter_gbps = 50 }, { 16, 16, 2 } },
	{ { 22203, 32, 4, true, 18, 8, .adapter_gbps = 50 }, { 16, 16, 2 } },
	{ { 22203, 64, 8, true, 18, 8, .adapter_gbps = 50 }, { 16, 16, 1 } },
	{ { 22203, 64, 8, true, 18, 8, .adapter_gbps = 50, .min = 32 }, { 32, 32, 2 } },
	{ { 22809, 512, 64, true, 18, 8, .adapter_gbps = 50, .min = 32 }, { 32, 32, 1 } },
	{ { 22809, 4096, 512, true, 18, 8, .adapter_gbps = 50, .per_net_peer = 4 }, { 16, 16, 4 } },
	/* ... and since 2.29 as many as the rate of the network needs */
	{ { 23004, 8, 1, true, 18, 8, .adapter_gbps = 50 }, { 24, 32, 32 } },
	{ { 23004, 16, 2, true, 18, 8, .adapter_gbps = 50 }, { 16, 16, 4 } },
	{ { 23004, 16, 2, true, 18, 8, .adapter_gbps = 25 }, { 16, 16, 2 } },
	{ { 22809, 4, 2, true, 12, 1, .adapter_gbps = 12.5 }, { 2, 2, 2 } },
	{ { 22907, 4, 2, true, 12, 1, .adapter_gbps = 12.5 }, { 2, 2, 1 } },
	{ { 22907, 2, 2, false, 0, 1, .adapter_gbps = 0.5 }, { 2, 2, 1 } },
	{ { 22907, 16, 2, true, 18, 8, .adapter_gbps = 50, .per_net_peer = 8 }, { 16, 16, 8 } },
	{ { 22907, 64, 8, true, 18, 8, .adapter_gbps = 50 }, { 16, 16, 2 } },
	{ { 22907, 64, 8, true, 18, 8, .adapter_gbps = 50, .min = 32 }, { 32, 32, 4 } },
	{ { 22907, 512, 64, true, 18, 8, .adapter_gbps = 50 }, { 16, 16, 1 } },
	{ { 22907, 4096, 512, true, 18, 8, .adapter_gbps = 50, .min = 32 }, { 32, 32, 1 } },
	{ { 23004, 8, 1, true, 18, 8, .adapter_gbps = 50, .p2p_max = 4 }, { 24, 4, 4 } },
};

TEST_EACH(channels_follow_the_rule, rows)
{
	struct muster_simchannels found = muster_simchannels_find(&rows[_i].facts), expected = rows[_i].expected;
	ck_assert_int_eq(found.collectives, expected.collectives);
	ck_assert_int_eq(found.p2p, expected.p2p);
	ck_assert_int_eq(found.per_peer, expected.per_peer);
}

TEST_MAIN(.timeout = 10)
