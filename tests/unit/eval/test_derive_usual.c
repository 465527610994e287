/* SPDX-License-Identifier: Apache-2.0 */
/* test_derive_usual.c - what the exchanges of a run that are alike reach */
#include "check_main.h"
#include "derived_text.h"

#define GPUS3 "a/0 = g0 x\na/1 = g1 x\nb/2 = g0 x\nb/3 = g1 x\nc/4 = g0 x\nc/5 = g1 x\n"
#define EDGE(place, node, gpu, transport, gbps) EXCHANGE(place, "edge", node, gpu, "none", transport, gbps)
#define RAIL(place, node, nic, transport, gbps) EXCHANGE(place, "rail", node, "g0", nic, transport, gbps)
#define SHM(place, node, gpu, gbps) EDGE(place, node, gpu, "SHM", gbps)
#define ONES "a/0 = g0 x\nb/1 = g0 x\nc/2 = g0 x\n"
/* three nodes in a ring: the rates of a-b, b-c and c-a */
#define RING(nic, transport, ab, bc, ca)                                                                               \
	RAIL("a/0", "b", nic, transport, ab)                                                                           \
	RAIL("b/1", "a", nic, transport, ab)                                                                           \
	RAIL("b/1", "c", nic, transport, bc)                                                                           \
	RAIL("c/2", "b", nic, transport, bc) RAIL("c/2", "a", nic, transport, ca) RAIL("a/0", "c", nic, transport, ca)

/* Each value as "NODE/RANK path, link: GB/s". */
static const struct {
	const char *run, *usual;
} cases[] = {
	/* each GPU with the same GPU of other nodes */
	{ GPUS3 SHM("a/0", "a", "g1", "40") SHM("a/1", "a", "g0", "30") SHM("b/2", "b", "g1", "5")
			SHM("b/3", "b", "g0", "6") SHM("c/4", "c", "g1", "42") SHM("c/5", "c", "g0", "32"),
		"a/0 node, the median of 3 ranks: 40\na/1 node, the median of 3 ranks: 30\n"
		"b/2 node, the median of 3 ranks: 40\nb/3 node, the median of 3 ranks: 30\n"
		"c/4 node, the median of 3 ranks: 40\nc/5 node, the median of 3 ranks: 30\n" },
	/* another transport, or another GPU, is not alike */
	{ GPUS3 SHM("a/0", "a", "g1", "40") SHM("b/2", "b", "g1", "5") EDGE("c/4", "c", "g1", "P2P/CUMEM", "90"), "" },
	{ GPUS3 SHM("a/0", "a", "g1", "40") SHM("b/2", "b", "g1", "5") SHM("c/5", "c", "g0", "42"), "" },
	/* the network of b is slow, as are two of three exchanges */
	{ ONES RING("eth0", "NET/Socket", "1.5", "1.4", "3"),
		"a/0 sockets, the median of 3 ranks: 3\na/0 sockets, the median of 3 ranks: 3\n"
		"b/1 sockets, the median of 3 ranks: 3\nb/1 sockets, the median of 3 ranks: 3\n"
		"c/2 sockets, the median of 3 ranks: 3\nc/2 sockets, the median of 3 ranks: 3\n" },
	{ ONES RING("m0:1", "NET/IB", "20", "20", "20"),
		"a/0 network, the median of 3 ranks: 20\na/0 network, the median of 3 ranks: 20\n"
		"b/1 network, the median of 3 ranks: 20\nb/1 network, the median of 3 ranks: 20\n"
		"c/2 network, the median of 3 ranks: 20\nc/2 network, the median of 3 ranks: 20\n" },
	/* through unknown adapters: each GPU with the same GPU of other nodes */
	{ GPUS3 RAIL("a/0", "b", "unknown", "unknown", "3") RAIL("b/2", "c", "unknown", "unknown", "4") RAIL(
		  "c/4", "a", "unknown", "unknown", "5") EXCHANGE("a/1", "rail", "b", "g1", "unknown", "unknown", "9"),
		"a/0 unknown, the median of 3 ranks: 4\nb/2 unknown, the median of 3 ranks: 4\n"
		"c/4 unknown, the median of 3 ranks: 4\n" },
	/* over the NVLinks of a rack all GPUs are alike */
	{ GPUS3 RAIL("a/0", "b", "none", "P2P/MNNVL", "3") RAIL("c/4", "a", "none", "P2P/MNNVL", "5")
			EXCHANGE("b/3", "rail", "c", "g1", "none", "P2P/MNNVL", "4"),
		"a/0 node, the median of 3 ranks: 4\nb/3 node, the median of 3 ranks: 4\n"
		"c/4 node, the median of 3 ranks: 4\n" },
	/* each rank counts, also two of one node */
	{ GPUS3 RAIL("a/0", "b", "none", "P2P/MNNVL", "3") EXCHANGE("a/1", "rail", "b", "g1", "none", "P2P/MNNVL", "4")
			RAIL("b/2", "c", "none", "P2P/MNNVL", "5") RAIL("c/4", "a", "none", "P2P/MNNVL", "6"),
		"a/0 node, the median of 4 ranks: 4.5\na/1 node, the median of 4 ranks: 4.5\n"
		"b/2 node, the median of 4 ranks: 4.5\nc/4 node, the median of 4 ranks: 4.5\n" },
	/* nothing to compare with: other interfaces, other numbers of ranks, two nodes, small messages */
	{ ONES RAIL("a/0", "b", "eth0", "NET/Socket", "3") RAIL("b/1", "c", "eth0", "NET/Socket", "4")
			RAIL("c/2", "a", "eth1", "NET/Socket", "5"),
		"" },
	{ ONES "c/3 = g1 x\n" RING("eth0", "NET/Socket", "1.5", "1.4", "3"), "" },
	{ "a/0 = g0 x\nb/1 = g0 x\n" RAIL("a/0", "b", "eth0", "NET/Socket", "3")
			RAIL("b/1", "a", "eth0", "NET/Socket", "3"),
		"" },
	{ ONES "a/0 pair.exchange_bytes 1048576\nb/1 pair.exchange_bytes 1048576\nc/2 pair.exchange_bytes "
	       "1048576\n" RING("eth0", "NET/Socket", "1.5", "1.4", "3"),
		"" },
};

TEST_EACH(exchanges_that_are_alike_have_a_median, cases)
{
	derived_text_check(cases[_i].run, "pair.exchange_usual_gbps", 7, cases[_i].usual);
}

TEST_MAIN(.teardown = fixture_done)
