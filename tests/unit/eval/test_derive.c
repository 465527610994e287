/* SPDX-License-Identifier: Apache-2.0 */
/* test_derive.c - what an all-reduce and an all-to-all can reach, from what nodes and ranks say of their links */
#include "check_main.h"
#include "run_text.h"

#include "eval/derive.h"
#include "muster/run_data.h"

#define RING(nodes, ranks) "job nccl.allreduce_busbw_gbps bytes=64 nodes=" nodes " ranks=" ranks " 100\n"
/* A rank that took part, with NVLink to `peers` of its node's GPUs. */
#define RANK(place, limit, peers)                                                                                      \
	place " rank.allreduce_us bytes=64 5\n" place " gpu.nvlinks gpu=g 12\n" place                                  \
	      " gpu.nvlink_limit_gbps gpu=g link=NVLink_of_" limit " " limit "\n" place                                \
	      " gpu.nvlink_peers gpu=g " peers "\n" place " gpu.pcie_limit_gbps gpu=g link=PCIe_4.0_x16 31.5\n" place  \
	      " rank.nccl_transport P2P/CUMEM\n"
#define NODE(name, first, second, limit)                                                                               \
	name " node.gpu_count 2\n" RANK(name "/" first, limit, "1") RANK(name "/" second, limit, "1")
#define PORT(node, port, layer, gbps) node " port.limit_gbps port=" port "/1 link_layer=" layer " " gbps "\n"
#define OTHER_RACK(place) place " gpu.fabric_clique gpu=g cluster=a0 8\n"
/* Four nodes of one GPU and one port. */
#define SINGLE(node, place, nvlink, port)                                                                              \
	node " node.gpu_count 1\n" RANK(place, nvlink, "0") PORT(node, "mlx5_0", "InfiniBand", port)
#define FOUR(nvlink, port)                                                                                             \
	SINGLE("a", "a/0", nvlink, port)                                                                               \
	SINGLE("b", "b/1", nvlink, port) SINGLE("c", "c/2", nvlink, port) SINGLE("d", "d/3", nvlink, port)
#define RACK(place) place " gpu.fabric_clique gpu=g cluster=a0 7\n"

static const struct {
	const char *title, *run;
	double gbps;             /* 0: null */
	const char *path, *link; /* no value: the reason */
} rings[] = {
	{ "NVLink within a node: the lowest of the ranks",
		RING("1", "2") "a node.gpu_count 2\n" RANK("a/0", "300", "1") RANK("a/1", "275", "1"), 275, "NVLink",
		"NVLink_of_275" },
	{ "one rank", RING("1", "1") "a node.gpu_count 1\n" RANK("a/0", "300", "0"), 0, "unknown",
		"one rank alone moves no data" },
	{ "bridges between pairs: the other hops are PCIe",
		RING("1", "2") "a node.gpu_count 4\n" RANK("a/0", "300", "1") RANK("a/1", "300", "1"), 31.5, "PCIe",
		"PCIe_4.0_x16" },
	{ "a container shows each rank one GPU: as many as there are ranks",
		RING("1", "2") "a node.gpu_count 1\n" RANK("a/0", "300", "0") RANK("a/1", "300", "0"), 31.5, "PCIe",
		"PCIe_4.0_x16" },
	{ "the same, in a fabric of switches",
		RING("1", "2") "a node.gpu_count 1\n" RANK("a/0", "300", "-") RANK("a/1", "300",
			"-") "a/0 gpu.fabric_state gpu=g completed\na/1 gpu.fabric_state gpu=g completed\n",
		300, "NVLink", "NVLink_of_300" },
	{ "nobody says whether NVLink joins the GPUs",
		RING("1", "2") "a node.gpu_count 2\n" RANK("a/0", "300", "-") RANK("a/1", "300", "-"), 0, "unknown",
		"whether NVLink joins the GPUs of a is not known: not supported here" },
	{ "no NVLink at all",
		RING("1", "2") "a/0 rank.allreduce_us bytes=64 5\na/0 gpu.nvlinks gpu=g 0\n"
			       "a/0 gpu.pcie_limit_gbps gpu=g link=PCIe 31.5\n"
			       "a/1 rank.allreduce_us bytes=64 5\na/1 gpu.nvlinks gpu=g 0\n"
			       "a/1 gpu.pcie_limit_gbps gpu=g link=PCIe_x8 15.75\n",
		15.75, "PCIe", "PCIe_x8" },
	{ "a vGPU through shared memory says nothing of PCIe",
		RING("1", "2") "a/0 rank.allreduce_us bytes=64 5\na/0 rank.nccl_transport SHM/direct\n"
			       "a/0 gpu.pcie_limit_gbps gpu=g link=PCIe -\n"
			       "a/1 rank.allreduce_us bytes=64 5\na/1 rank.nccl_transport SHM/direct\n",
		0, "PCIe", "gpu.pcie_limit_gbps: not supported here" },
	{ "an old report", RING("1", "2") "a/0 rank.allreduce_us bytes=64 5\na/1 rank.allreduce_us bytes=64 5\n", 0,
		"unknown", "whether NVLink joins the GPUs of a is not known: not measured" },
	{ "two nodes: one adapter for each GPU, the others are for storage",
		RING("2", "4") NODE("a", "0", "1", "300") NODE("b", "2", "3", "300") PORT("a", "mlx5_0", "InfiniBand",
			"25") PORT("a", "mlx5_1", "InfiniBand", "25") PORT("a", "mlx5_2", "InfiniBand", "12.5")
			PORT("b", "mlx5_0", "InfiniBand", "25") PORT("b", "mlx5_1", "InfiniBand", "25"),
		50, "network", "network (2 x 25)" },
	{ "the slowest node counts, and a port that is down does not",
		RING("2", "4") NODE("a", "0", "1", "300") NODE("b", "2", "3", "300")
			PORT("a", "mlx5_0", "InfiniBand", "25") PORT("a", "mlx5_1", "InfiniBand", "25")
				PORT("b", "mlx5_0", "InfiniBand", "-") PORT("b", "mlx5_1", "InfiniBand", "25"),
		25, "network", "network (1 x 25)" },
	{ "Ethernet counts where NCCL uses it",
		RING("2", "4") NODE("a", "0", "1", "300") NODE("b", "2", "3", "300") PORT(
			"a", "mlx5_0", "Ethernet", "50") PORT("a", "mlx5_1", "Ethernet", "12.5") PORT("b", "mlx5_0",
			"Ethernet", "50") "a/0 rank.nccl_hcas mlx5_0:1\nb/2 rank.nccl_hcas mlx5_0:1\n",
		50, "network", "network (1 x 50)" },
	{ "an adapter has the rate of all its ports",
		RING("2", "2") "a node.gpu_count 1\nb node.gpu_count 1\n" RANK("a/0", "300", "0")
			RANK("b/1", "300", "0") PORT("a", "mlx5_0", "InfiniBand", "100")
				PORT("b", "mlx5_0", "InfiniBand", "12.5") PORT("b", "mlx5_10", "InfiniBand",
					"12.5") "b port.limit_gbps port=mlx5_0/2 link_layer=InfiniBand 12.5\n",
		25, "network", "network (1 x 25)" },
	{ "sockets",
		RING("2", "4") NODE("a", "0", "1", "300") NODE("b", "2", "3", "300") PORT("a", "mlx5_0", "Ethernet",
			"50") PORT("b", "mlx5_0", "Ethernet", "50") "a/0 rank.nccl_hcas eth0\n",
		0, "network", "a has no active InfiniBand port, and the speed of what NCCL uses (eth0) is not known" },
	{ "sockets beside InfiniBand that is up: the limit is that of InfiniBand",
		RING("2", "4") NODE("a", "0", "1", "300") NODE("b", "2", "3", "300")
			PORT("a", "mlx5_0", "InfiniBand", "25") PORT(
				"b", "mlx5_0", "InfiniBand", "25") "a/0 rank.nccl_hcas eth0\nb/2 rank.nccl_hcas eth0\n",
		25, "network", "network (1 x 25)" },
	{ "NVLink is slower than the network",
		RING("2", "4") NODE("a", "0", "1", "40") NODE("b", "2", "3", "40") PORT("a", "mlx5_0", "InfiniBand",
			"25") PORT("a", "mlx5_1", "InfiniBand", "50") PORT("b", "mlx5_0", "InfiniBand", "100"),
		40, "network", "NVLink_of_40" },
	{ "one rank on each node takes no NVLink",
		RING("2", "2") "a node.gpu_count 2\nb node.gpu_count 2\n" RANK("a/0", "20", "1") RANK("b/1", "20", "1")
			PORT("a", "mlx5_0", "InfiniBand", "25") PORT("b", "mlx5_0", "InfiniBand", "25"),
		25, "network", "network (1 x 25)" },
	{ "PCIe within the nodes",
		RING("2", "4") "a node.gpu_count 2\nb node.gpu_count 2\n" RANK("a/0", "300", "0")
			RANK("a/1", "300", "0") RANK("b/2", "300", "1") RANK("b/3", "300", "1")
				PORT("a", "mlx5_0", "InfiniBand", "50") PORT("b", "mlx5_0", "InfiniBand", "50"),
		31.5, "PCIe", "PCIe_4.0_x16" },
	{ "ports of different speeds",
		RING("2", "4") NODE("a", "0", "1", "300") NODE("b", "2", "3", "300") PORT("a", "mlx5_0", "InfiniBand",
			"25") PORT("a", "mlx5_1", "InfiniBand", "50") PORT("b", "mlx5_0", "InfiniBand", "100"),
		75, "network", "network (2 adapters, 75 GB/s)" },
	{ "an NVLink domain of two nodes, whatever NCCL uses",
		RING("2", "4") NODE("a", "0", "1", "900") NODE("b", "2", "3", "900") RACK("a/0") RACK("a/1") RACK("b/2")
			RACK("b/3") PORT("a", "mlx5_0", "InfiniBand", "50") PORT("b", "mlx5_0", "InfiniBand", "50"),
		900, "NVLink", "NVLink_of_900" },
	{ "two racks of two nodes: the ports of both nodes carry what leaves a rack",
		RING("4", "4") FOUR("900", "50") RACK("a/0") RACK("b/1") OTHER_RACK("c/2") OTHER_RACK("d/3"), 100,
		"network", "network (1 x 50) of 2 nodes" },
	{ "two racks of one and three nodes: the smaller one counts",
		RING("4", "4") FOUR("900", "50") RACK("a/0") OTHER_RACK("b/1") OTHER_RACK("c/2") OTHER_RACK("d/3"), 50,
		"network", "network (1 x 50)" },
	{ "two racks whose NVLinks are slower",
		RING("4", "4") FOUR("80", "50") RACK("a/0") RACK("b/1") OTHER_RACK("c/2") OTHER_RACK("d/3"), 80,
		"network", "NVLink_of_80" },
	{ "a ring of fewer nodes: how many of each rack is not known",
		RING("3", "3") FOUR("900", "50") RACK("a/0") RACK("b/1") OTHER_RACK("c/2") OTHER_RACK("d/3"), 50,
		"network", "network (1 x 50)" },
	{ "a rank that was left out says nothing",
		RING("1", "2") "a node.gpu_count 2\n" RANK("a/0", "300", "1")
			RANK("a/1", "300", "1") "a/2 gpu.nvlink_limit_gbps gpu=g link=NVLink 25\na/3 missing\n",
		300, "NVLink", "NVLink_of_300" },
};

TEST_EACH(a_ring_is_as_fast_as_the_slowest_link_that_it_must_take, rings)
{
	const struct muster_sample *limit = NULL;
	struct muster_run *run = run_text_new(rings[_i].run);
	muster_run_derive(run);
	for (size_t i = 0; i < run->job.samples.count; i++)
		if (strcmp(run->job.samples.items[i].metric->name, "nccl.allreduce_limit_gbps") == 0)
			limit = &run->job.samples.items[i];
	ck_assert_msg(limit != NULL, "%s", rings[_i].title);
	ck_assert_msg(strcmp(muster_sample_label(limit, "path")->string, rings[_i].path) == 0, "%s: %s",
		rings[_i].title, muster_sample_label(limit, "path")->string);
	if (rings[_i].gbps > 0) {
		ck_assert_msg(limit->value.type == MUSTER_NUMBER, "%s: %s", rings[_i].title, limit->reason);
		ck_assert_double_eq_tol(limit->value.number, rings[_i].gbps, 1e-9);
		ck_assert_str_eq(muster_sample_label(limit, "link")->string, rings[_i].link);
	} else {
		ck_assert_msg(limit->value.type == MUSTER_NULL, "%s", rings[_i].title);
		ck_assert_str_eq(limit->reason, rings[_i].link);
	}
}

#define ALLTOALL(nodes, ranks) "job nccl.alltoall_busbw_gbps bytes=64 nodes=" nodes " ranks=" ranks " 100\n"
#define TWO_PORTS(node, gbps) PORT(node, "mlx5_0", "InfiniBand", gbps) PORT(node, "mlx5_1", "InfiniBand", gbps)

static const struct {
	const char *title, *run;
	double gbps; /* 0: null */
	const char *path, *link;
} alltoalls[] = {
	{ "within a node all goes over NVLink",
		ALLTOALL("1", "2") "a node.gpu_count 2\n" RANK("a/0", "300", "1") RANK("a/1", "275", "1"), 275,
		"NVLink", "NVLink_of_275" },
	/* of three others, two are on the other node: 25 GB/s carry two thirds */
	{ "only what goes to other nodes needs the network",
		ALLTOALL("2", "4") NODE("a", "0", "1", "300") NODE("b", "2", "3", "300") TWO_PORTS("a", "25")
			TWO_PORTS("b", "25"),
		37.5, "network", "network (2 x 25) for 2 ranks" },
	{ "ranks that share an adapter",
		ALLTOALL("2", "4") NODE("a", "0", "1", "300") NODE("b", "2", "3", "300") TWO_PORTS("a", "25")
			PORT("b", "mlx5_0", "InfiniBand", "25"),
		18.75, "network", "network (1 x 25) for 2 ranks" },
	{ "one rank on each node",
		ALLTOALL("2", "2") "a node.gpu_count 2\nb node.gpu_count 2\n" RANK("a/0", "20", "1") RANK("b/1", "20",
			"1") PORT("a", "mlx5_0", "InfiniBand", "25") PORT("b", "mlx5_0", "InfiniBand", "25"),
		25, "network", "network (1 x 25)" },
	{ "NVLink within the nodes is slower: it carries a third",
		ALLTOALL("2", "4") NODE("a", "0", "1", "10") NODE("b", "2", "3", "10") TWO_PORTS("a", "25")
			TWO_PORTS("b", "25"),
		30, "network", "NVLink_of_10" },
	{ "PCIe within the nodes carries all of it",
		ALLTOALL("2", "4") "a node.gpu_count 2\nb node.gpu_count 2\n" RANK("a/0", "300", "0") RANK("a/1", "300",
			"0") RANK("b/2", "300", "0") RANK("b/3", "300", "0") TWO_PORTS("a", "50") TWO_PORTS("b", "50"),
		31.5, "PCIe", "PCIe_4.0_x16" },
	{ "an NVLink domain of both nodes",
		ALLTOALL("2", "4") NODE("a", "0", "1", "900") NODE("b", "2", "3", "900") RACK("a/0") RACK("a/1")
			RACK("b/2") RACK("b/3") TWO_PORTS("a", "50") TWO_PORTS("b", "50"),
		900, "NVLink", "NVLink_of_900" },
	/* of three others, two are outside the domain of a and b, or of the domain c */
	{ "two domains of three nodes: two ranks of each, as a mean",
		ALLTOALL("3", "4") "a node.gpu_count 1\nb node.gpu_count 1\n" RANK("a/0", "900", "0") RANK("b/1", "900",
			"0") NODE("c", "2", "3", "900") RACK("a/0") RACK("b/1") PORT("a", "mlx5_0", "InfiniBand", "50")
			PORT("b", "mlx5_0", "InfiniBand", "50") TWO_PORTS("c", "50"),
		75, "network", "network (1 x 50)" },
	{ "sockets", ALLTOALL("2", "4") NODE("a", "0", "1", "300") NODE("b", "2", "3", "300"), 0, "network",
		"a has no active InfiniBand port, and the speed of what NCCL uses is not known" },
	{ "one rank", ALLTOALL("1", "1") "a node.gpu_count 1\n" RANK("a/0", "300", "0"), 0, "unknown",
		"one rank alone moves no data" },
};

TEST_EACH(an_all_to_all_uses_the_network_for_other_nodes_only, alltoalls)
{
	struct muster_run *run = run_text_new(alltoalls[_i].run);
	muster_run_derive(run);
	muster_run_derive(run); /* what a saved report has is not derived again */
	ck_assert_uint_eq(run->job.samples.count, 2);
	const struct muster_sample *limit = &run->job.samples.items[1];
	ck_assert_str_eq(limit->metric->name, "nccl.alltoall_limit_gbps");
	ck_assert_msg(strcmp(muster_sample_label(limit, "path")->string, alltoalls[_i].path) == 0, "%s: %s",
		alltoalls[_i].title, muster_sample_label(limit, "path")->string);
	if (alltoalls[_i].gbps > 0) {
		ck_assert_msg(limit->value.type == MUSTER_NUMBER, "%s: %s", alltoalls[_i].title, limit->reason);
		ck_assert_double_eq_tol(limit->value.number, alltoalls[_i].gbps, 1e-9);
		ck_assert_str_eq(muster_sample_label(limit, "link")->string, alltoalls[_i].link);
	} else {
		ck_assert_msg(limit->value.type == MUSTER_NULL, "%s", alltoalls[_i].title);
		ck_assert_str_eq(limit->reason, alltoalls[_i].link);
	}
}

/* A report of before has the limit of the ring alone. */
TEST(a_report_with_one_limit_gets_the_other)
{
	struct muster_run *run = run_text_new(RING("1", "2") ALLTOALL("1", "2") NODE(
		"a", "0", "1", "300") "job nccl.allreduce_limit_gbps nodes=1 ranks=2 path=NVLink link=NVLink 299\n");
	muster_run_derive(run);
	ck_assert_uint_eq(run->job.samples.count, 4);
	ck_assert_str_eq(run->job.samples.items[3].metric->name, "nccl.alltoall_limit_gbps");
}

/* Sizes share a limit, rings do not; and what a saved report has is not derived again. */
TEST(each_ring_has_one_limit)
{
	struct muster_run *run = run_text_new(RING("1", "2") RING("1", "2") RING("1", "1") NODE("a", "0", "1", "300"));
	muster_run_derive(run);
	ck_assert_uint_eq(run->job.samples.count, 5);
	muster_run_derive(run);
	ck_assert_uint_eq(run->job.samples.count, 5);
	run = run_text_new(NODE("a", "0", "1", "300"));
	muster_run_derive(run); /* no ring, no limit */
	ck_assert_uint_eq(run->job.samples.count, 0);
}

static const struct {
	const char *run, *imex; /* of node a; NULL: no such sample */
	bool null;
} channels[] = {
	{ "a node.imex_channels 1\n", "channel", false },
	{ "a node.imex_channels 0\n", "no channel", false },
	{ "a node.imex_channels 0\na/0 rank.nccl_transport P2P/CUMEM\n", "no channel", false },
	{ "a node.imex_channels 0\na/0 rank.nccl_transport -\nb/1 rank.nccl_transport P2P/MNNVL\n", "no channel",
		false },
	{ "a node.imex_channels 0\na/0 rank.nccl_transport P2P/CUMEM\na/1 rank.nccl_transport P2P/MNNVL\n",
		"works without a channel", false },
	{ "a node.imex_channels -\na/0 rank.nccl_transport P2P/MNNVL\n", "works without a channel", false },
	{ "a node.imex_channels -\n", "not supported here", true },
	{ "a node.gpu_count 4\na/0 rank.nccl_transport P2P/MNNVL\n", NULL, false },
};

TEST_EACH(imex_works_by_a_channel_or_by_what_the_ring_did, channels)
{
	const struct muster_sample *imex = NULL;
	size_t count = 0;
	struct muster_run *run = run_text_new(channels[_i].run);
	muster_run_derive(run);
	muster_run_derive(run); /* what a saved report has is not derived again */
	for (size_t i = 0; i < run->nodes[0].samples.count; i++)
		if (strcmp(run->nodes[0].samples.items[i].metric->name, "node.imex_state") == 0) {
			imex = &run->nodes[0].samples.items[i];
			count++;
		}
	ck_assert_uint_eq(count, channels[_i].imex != NULL);
	if (imex && channels[_i].null)
		ck_assert_str_eq(imex->reason, channels[_i].imex);
	else if (imex)
		ck_assert_str_eq(imex->value.string, channels[_i].imex);
}

/* A variable of NCCL leaves links unused where it is set and there are such links; other variables say nothing. */
static const struct {
	const char *run, *disabled;
} variables[] = {
	{ "a/0 gpu.nvlinks gpu=g 18\na/0 rank.setting name=NCCL_P2P_DISABLE '1\n", "true" },
	{ "a/0 gpu.nvlinks gpu=g 18\na/0 rank.setting name=NCCL_P2P_DISABLE '0\n", "false" },
	{ "a/0 gpu.nvlinks gpu=g 0\na/0 rank.setting name=NCCL_P2P_DISABLE '1\n", "false" },
	{ "a node.ib_ports 8\na/0 rank.setting name=NCCL_IB_DISABLE '1\n", "true" },
	{ "a/0 gpu.nvlinks gpu=g 18\na/0 rank.setting name=NCCL_DEBUG '1\n", "none" },
};

TEST_EACH(a_variable_leaves_links_unused_where_there_are_some, variables)
{
	char text[16];
	struct muster_run *run = run_text_new(variables[_i].run);
	muster_run_derive(run);
	const struct muster_sample *sample =
		muster_samples_find(&run->nodes[0].ranks[0].samples, muster_metric_find("rank.link_disabled"));
	ck_assert_str_eq(sample ? muster_value_text(sample->value, text, sizeof text) : "none", variables[_i].disabled);
}

TEST_MAIN(.teardown = fixture_done)
