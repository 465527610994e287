/* SPDX-License-Identifier: Apache-2.0 */
/* test_derive_exchanges.c - what an exchange between two ranks can reach: the lower limit of its two ends */
#include "check_main.h"
#include "derived_text.h"

#define GPU(place, gpu, links, limit, peers)                                                                           \
	place " = " gpu " GPU-" gpu "\n" place " gpu.nvlinks gpu=x " links "\n" place                                  \
	      " gpu.nvlink_limit_gbps gpu=x link=NVLink_of_" limit " " limit "\n" place                                \
	      " gpu.nvlink_peers gpu=x " peers "\n" place " gpu.pcie_limit_gbps gpu=x link=PCIe_of_" gpu " 31.5\n"
#define EDGE(place, node, gpu) EXCHANGE(place, "edge", node, gpu, "none", "P2P/CUMEM", "9")
#define BYTES(value)                                                                                                   \
	"a/0 pair.exchange_bytes kind=edge peer_node=a peer_gpu=g1 nic=none transport=P2P/CUMEM " value "\n"
#define RAIL(place, node, gpu, nic, transport) EXCHANGE(place, "rail", node, gpu, nic, transport, "9")
#define PORT(node, port, gbps) node " port.limit_gbps port=" port " link_layer=InfiniBand " gbps "\n"
#define TWO GPU("a/0", "g0", "18", "478", "1") GPU("a/1", "g1", "18", "450", "1")
#define RACK(place) place " gpu.fabric_state gpu=x completed\n" place " gpu.fabric_clique gpu=x cluster=a0 1\n"
#define RAILS_OF(nic, transport) RAIL("a/0", "b", "g1", nic, transport) RAIL("b/1", "a", "g0", nic, transport)
#define RAILS(nic) RAILS_OF(nic, "NET/IB/GDRDMA")
#define ENDS "a/0 = g0 GPU-0\nb/1 = g1 GPU-1\n"
#define JOINED(place, gpus) place " gpu.nvlink_peer_gpus gpu=x " gpus "\n"
#define FOUR(peers) "a node.gpu_count 4\n" GPU("a/0", "g0", "12", "300", peers) GPU("a/1", "g1", "12", "300", peers)

/* Each limit as "NODE/RANK path, link: GB/s" or "NODE/RANK path, link: no value: reason". */
static const struct {
	const char *run, *limits;
} cases[] = {
	{ TWO, "" },
	{ TWO EDGE("a/0", "a", "g1") EDGE("a/1", "a", "g0"),
		"a/0 NVLink, NVLink_of_450: 450\na/1 NVLink, NVLink_of_450: 450\n" },
	{ TWO EDGE("a/0", "a", "g7"), "a/0 unknown, unknown: no value: the other rank is not in the run\n" },
	{ TWO EDGE("a/0", "c", "g1"), "a/0 unknown, unknown: no value: the other rank is not in the run\n" },
	/* a share is for 64 MiB: smaller messages prove nothing, unless they are small because the exchange is slow */
	{ TWO EDGE("a/0", "a", "g1") BYTES("8388608"),
		"a/0 unknown, unknown: no value: messages of 8 MiB only, and a share is for 64 MiB\n" },
	{ TWO EDGE("a/0", "a", "g1") BYTES("67108864"), "a/0 NVLink, NVLink_of_450: 450\n" },
	{ TWO "a/0 pair.exchange_gbps kind=edge peer_node=a peer_gpu=g1 nic=none transport=P2P/CUMEM 1\n" BYTES(
		  "8388608"),
		"a/0 NVLink, NVLink_of_450: 450\n" },
	{ TWO "a/0 pair.exchange_gbps kind=edge peer_node=a peer_gpu=g1 nic=none transport=P2P/CUMEM 1\n" BYTES(
		  "65536"),
		"a/0 unknown, unknown: no value: messages of 0.0625 MiB only, and a share is for 64 MiB\n" },
	/* of several GPUs: all links of each lead to switches, or it is not known where they lead */
	{ FOUR("3") EDGE("a/0", "a", "g1"),
		"a/0 unknown, unknown: no value: how many of its NVLinks lead to the other GPU is not known\n" },
	{ FOUR("3") "a/0 gpu.fabric_state gpu=x completed\na/1 gpu.fabric_state gpu=x completed\n" EDGE(
		  "a/0", "a", "g1"),
		"a/0 NVLink, NVLink_of_300: 300\n" },
	{ FOUR("1") EDGE("a/0", "a", "g1"),
		"a/0 unknown, unknown: no value: how many of its NVLinks lead to the other GPU is not known\n" },
	{ "a node.gpu_count 8\n" GPU("a/0", "g0", "12", "300", "7") GPU("a/1", "g1", "11", "275", "7")
			EDGE("a/0", "a", "g1"),
		"a/0 NVLink, NVLink_of_275: 275\n" },
	/* bridges join pairs of GPUs: all links lead to the one that is joined, and to others there is PCIe */
	{ FOUR("1") JOINED("a/0", "g1") JOINED("a/1", "g0") EDGE("a/0", "a", "g1"),
		"a/0 NVLink, NVLink_of_300: 300\n" },
	{ FOUR("1") JOINED("a/0", "g10") JOINED("a/1", "g2") EDGE("a/0", "a", "g1"), "a/0 PCIe, PCIe_of_g0: 31.5\n" },
	{ FOUR("0") JOINED("a/0", "none") JOINED("a/1", "none") EDGE("a/0", "a", "g1"),
		"a/0 PCIe, PCIe_of_g0: 31.5\n" },
	{ FOUR("2") JOINED("a/0", "g2~g1") JOINED("a/1", "g0~g3") EDGE("a/0", "a", "g1"),
		"a/0 unknown, unknown: no value: how many of its NVLinks lead to the other GPU is not known\n" },
	/* no NVLink */
	{ GPU("a/0", "g0", "0", "-", "0") GPU("a/1", "g1", "0", "-", "0") EDGE("a/0", "a", "g1"),
		"a/0 PCIe, PCIe_of_g0: 31.5\n" },
	{ "a/0 = g0 GPU-0\na/1 = g1 GPU-1\na/0 gpu.pcie_limit_gbps gpu=x link=PCIe 63\na/1 gpu.pcie_limit_gbps "
	  "gpu=x link=PCIe 31.5\na/0 pair.exchange_gbps kind=edge peer_node=a peer_gpu=g1 nic=none "
	  "transport=SHM/direct 9\n",
		"a/0 PCIe, PCIe: 31.5\n" },
	{ "a/0 = g0 GPU-0\na/1 = g1 GPU-1\n" EDGE("a/0", "a", "g1"),
		"a/0 unknown, unknown: no value: whether NVLink joins the two GPUs is not known\n" },
	{ GPU("a/0", "g0", "18", "-", "1") GPU("a/1", "g1", "18", "450", "1") EDGE("a/0", "a", "g1"),
		"a/0 NVLink, NVLink: no value: gpu.nvlink_limit_gbps: not supported here\n" },
	/* the NIC that NCCL names, and its live rate: the lower one of both ends */
	{ ENDS RAILS("m0:1") PORT("a", "m0/1", "50") PORT("b", "m0/1", "25") PORT("b", "m1/1", "12"),
		"a/0 network, m0:1: 25\nb/1 network, m0:1: 25\n" },
	{ ENDS RAILS("m0:1+m1:1") PORT("a", "m0/1", "50") PORT("a", "m1/1", "50") PORT("b", "m0/1", "50")
			PORT("b", "m1/1", "25"),
		"a/0 network, m0:1+m1:1: 75\nb/1 network, m0:1+m1:1: 75\n" },
	{ ENDS RAILS("m0:1") PORT("a", "m0/1", "50") PORT("b", "m0/1", "-"),
		"a/0 network, network: no value: port.limit_gbps of m0/1 on b: not supported here\n"
		"b/1 network, network: no value: port.limit_gbps of m0/1 on b: not supported here\n" },
	{ ENDS RAILS("m0:1") PORT("a", "m0/1", "50") PORT("b", "m0/11", "50"),
		"a/0 network, network: no value: the rate of m0:1 is not known\n"
		"b/1 network, network: no value: the rate of m0:1 is not known\n" },
	{ ENDS RAILS("eth0") PORT("a", "m0/1", "50"),
		"a/0 network, network: no value: the rate of eth0 is not known\n"
		"b/1 network, network: no value: the rate of eth0 is not known\n" },
	{ ENDS RAILS("unknown"), "a/0 network, network: no value: which network adapter NCCL uses is not known\n"
				 "b/1 network, network: no value: which network adapter NCCL uses is not known\n" },
	/* by any plugin of NCCL; without GPUDirect RDMA on all channels it is another path */
	{ ENDS RAILS_OF("m0:1", "NET/IBext_v10/GDRDMA") PORT("a", "m0/1", "50") PORT("b", "m0/1", "50"),
		"a/0 network, m0:1: 50\nb/1 network, m0:1: 50\n" },
	{ ENDS RAILS_OF("m0:1", "NET/IB/GDRDMA+NET/IB") PORT("a", "m0/1", "50") PORT("b", "m0/1", "50"),
		"a/0 network, host memory, m0:1: 50\nb/1 network, host memory, m0:1: 50\n" },
	/* two ranks of a node share it */
	{ "a/0 = g0 GPU-0\na/1 = g1 GPU-1\nb/2 = g0 GPU-2\nb/3 = g1 GPU-3\n" RAIL(
		  "a/0", "b", "g0", "m0:1", "NET/IB/GDRDMA") RAIL("a/1", "b", "g1", "m0:1", "NET/IB/GDRDMA")
			RAIL("b/2", "a", "g0", "m0:1", "NET/IB/GDRDMA") RAIL("b/3", "a", "g1", "m0:1", "NET/IB/GDRDMA")
				PORT("a", "m0/1", "50") PORT("b", "m0/1", "50"),
		"a/0 network, m0:1, shared by 2 ranks: 25\na/1 network, m0:1, shared by 2 ranks: 25\n"
		"b/2 network, m0:1, shared by 2 ranks: 25\nb/3 network, m0:1, shared by 2 ranks: 25\n" },
	/* a rack: rails go over NVLink, whatever the log says or does not say */
	{ GPU("a/0", "g0", "18", "900", "3") GPU("b/1", "g1", "18", "900", "3") RACK("a/0") RACK("b/1")
			RAIL("a/0", "b", "g1", "none", "P2P/MNNVL") RAIL("b/1", "a", "g0", "unknown", "unknown"),
		"a/0 NVLink, NVLink_of_900: 900\nb/1 NVLink, NVLink_of_900: 900\n" },
};

TEST_EACH(an_exchange_has_the_lower_limit_of_its_ends, cases)
{
	derived_text_check(cases[_i].run, "pair.exchange_limit_gbps", 7, cases[_i].limits);
}

TEST_MAIN(.setup = NULL)
