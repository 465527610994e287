/* SPDX-License-Identifier: Apache-2.0 */
/* test_setting_names.c - files and devices that variables name, there and not there */
#include "check_main.h"
#include "system/setting_names.h"
#include "unit/system/tree.h"

static const struct {
	const char *name, *value, *lacks; /* lacks NULL: nothing to look for */
} cases[] = {
	{ "NCCL_TOPO_FILE", "/opt/topo.xml", "none" },
	{ "NCCL_TOPO_FILE", "opt/topo.xml", "none" },
	{ "NCCL_TOPO_FILE", "/opt/none.xml", "/opt/none.xml: No such file or directory" },
	{ "NCCL_TOPO_FILE", "", NULL },
	{ "NCCL_TOPO_FILE", NULL, NULL },
	{ "NCCL_NET_PLUGIN", "aws-ofi", NULL },
	{ "NCCL_NET_PLUGIN", "/opt/libnccl-net.so", "/opt/libnccl-net.so: No such file or directory" },
	{ "NCCL_DEBUG_FILE", "/none/%h.log", NULL }, /* one that is made */
	{ "NCCL_ALGO", "Ring", NULL },
	{ "NCCL_SOCKET_IFNAME", "eth", "none" },
	{ "NCCL_SOCKET_IFNAME", "=eth", "eth" },
	{ "NCCL_SOCKET_IFNAME", "=eth0", "none" },
	{ "NCCL_SOCKET_IFNAME", "ens1,eth0,ib", "ens1, ib" },
	{ "NCCL_SOCKET_IFNAME", "^docker,ens9", NULL },
	{ "GLOO_SOCKET_IFNAME", "eth", "eth" },
	{ "NCCL_IB_HCA", "mlx5", "none" },
	{ "NCCL_IB_HCA", "=mlx5_0:1,mlx5_10:1", "none" },
	{ "NCCL_IB_HCA", "=mlx5_1:1", "mlx5_1" },
	{ "NCCL_IB_HCA", "mlx5_0,,mlx5_8,", "mlx5_8" },
	{ "NCCL_IB_HCA", "eth0", "eth0" },
	{ "UCX_NET_DEVICES", "mlx5_0:1,eth0", "none" },
	{ "UCX_NET_DEVICES", "all", "none" },
	{ "UCX_NET_DEVICES", "mlx5_*:1,mlx4_0:1", "mlx4_0" },
	{ "UCX_NET_DEVICES", "mlx5:1", "mlx5" },
};

TEST_EACH(what_a_variable_names_is_looked_for, cases)
{
	struct muster_arena *arena = muster_arena_new();
	const struct muster_setting setting = { cases[_i].name, cases[_i].value, "environment" };
	put("opt/topo.xml", "<system/>");
	put("sys/class/net/eth0/mtu", "1500");
	put("sys/class/infiniband/mlx5_0/node_type", "1");
	put("sys/class/infiniband/mlx5_10/node_type", "1");
	ck_assert_pstr_eq(muster_setting_lacks(root, &setting, arena), cases[_i].lacks);
	muster_arena_free(arena);
}

/* A process without a view of the devices knows nothing of them. */
TEST(without_a_list_of_interfaces_nothing_is_missing)
{
	struct muster_arena *arena = muster_arena_new();
	const struct muster_setting setting = { "NCCL_SOCKET_IFNAME", "eth0", "environment" };
	ck_assert_ptr_null(muster_setting_lacks(root, &setting, arena));
	muster_arena_free(arena);
}

TEST_MAIN(.setup = tree_make, .teardown = tree_remove)
