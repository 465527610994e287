/* SPDX-License-Identifier: Apache-2.0 */
/* test_nccl_setup.c - plugins, NVLS and algorithms as versions of NCCL from 2.14 on name them in their log */
#include "check_main.h"
#include "vendor/nccl_setup.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AT "gpu-1:2187:2301 [0] NCCL INFO "
#define HPCX "/opt/hpcx/nccl_rdma_sharp_plugin/lib/libnccl-net.so"

/* algorithms: "BYTES:NAME BYTES:NAME" */
static const struct {
	const char *log, *network, *file, *collnet;
	int nvls;
	const char *algorithms;
} logs[] = {
	{ "", "", "", "none", -1, "" },
	/* 2.10 to 2.21 without a plugin */
	{ AT "NET/Plugin : No plugin found (libnccl-net.so), using internal implementation\n" AT
	     "NET/Socket : Using [0]lo:127.0.0.1<0>\n" AT "Using network Socket\n",
		"Socket", "", "none", -1, "" },
	{ AT "NET/Plugin: No plugin found (libnccl-net.so)\n" AT
	     "NET/Plugin: Plugin load returned 2 : libnccl-net.so: cannot open shared object file: No such file or "
	     "directory : when loading libnccl-net.so\n" AT "NET/Plugin: Using internal network plugin.\n" AT
	     "Using network IB\n",
		"IB", "", "none", -1, "" },
	/* 2.16 with the plugin of HPC-X */
	{ AT "NET/Plugin: Failed to find ncclNetPlugin_v6 symbol.\n" AT
	     "NET/Plugin: Loaded net plugin NCCL RDMA Plugin (v4)\n" AT
	     "NET/Plugin: Failed to find ncclCollNetPlugin_v6 symbol.\n" AT
	     "NET/Plugin: Loaded coll plugin SHARP (v4)\n" AT "Plugin Path : " HPCX "\n" AT "P2P plugin IBext\n" AT
	     "NET/IB : Using [0]mlx5_4:1/RoCE ; OOB eth1:10.84.27.22<0>\n" AT "Using network IBext\n",
		"IBext", HPCX, "loaded", -1, "" },
	/* 2.20, and its ring */
	{ AT "NET/Plugin: Failed to find ncclNetPlugin_v8 symbol.\n" AT
	     "NET/Plugin: Loaded net plugin NCCL RDMA Plugin v6 (v6)\n" AT
	     "NET/Plugin: Loaded collnet plugin SHARP (v6)\n" AT "Plugin Path : " HPCX "\n" AT
	     "Using network IBext\n" AT "CollNet 00/0 : 0 [receive] via COLLNET/SHARP/0/GDRDMA\n" AT
	     "rank 0 Connected CollNet\n" AT
	     "24 coll channels, 4 collnet channels, 16 nvls channels, 32 p2p channels, 32 p2p channels per peer\n" AT
	     "805306368 Bytes -> Algo 1 proto 2 time 3970.683594\n" AT
	     "262144 Bytes -> Algo 0 proto 1 time 54.707825\n",
		"IBext", HPCX, "used", 16, "805306368:RING/SIMPLE 262144:TREE/LL128" },
	{ AT "Connected collnet + chain\n", "", "", "used", -1, "" },
	/* another plugin, named by NCCL_NET_PLUGIN; its name has a blank */
	{ AT "NET/Plugin: Plugin name set by env to libnccl-net-ofi.so\n" AT
	     "NET/Plugin: Failed to find ncclCollNetPlugin symbol (>= v5). ncclCollNetPlugin symbols v4 and lower are "
	     "not supported.\n" AT "NET/OFI Using aws-ofi-nccl 1.9.2aws\n" AT "Using network AWS Libfabric\n",
		"AWS Libfabric", "libnccl-net-ofi.so", "none", -1, "" },
	/* one that was named and could not be loaded */
	{ AT "Plugin name set by env to libnccl-net-x.so\n" AT "Using network IB\n", "IB", "libnccl-net-x.so", "none",
		-1, "" },
	/* 2.28: the path */
	{ AT "NET/Plugin: Loaded net plugin IBext_v10 (v10)\n" AT "NET/Plugin: Loaded collnet plugin SHARP (v10)\n" AT
	     "Successfully loaded external network plugin /usr/lib/libnccl-net.so\n" AT
	     "Initialized NET plugin IBext_v10\n" AT "Assigned NET plugin IBext_v10 to comm\n" AT
	     "Using network IBext_v10\r\n" AT
	     "24 coll channels, 24 collnet channels, 0 nvls channels, 32 p2p channels, 32 p2p channels per peer\n" AT
	     "AllReduce: 67108864 Bytes -> Algo NVLS proto SIMPLE channel{Lo..Hi}={0..15}\n" AT
	     "AllReduce: 8388608 Bytes -> Algo RING proto LL128 channel{Lo..Hi}={0..23}\n" AT
	     "AllReduce: 67108864 Bytes -> Algo NVLS_TREE proto SIMPLE channel{Lo..Hi}={0..15}\n" AT
	     "AllGather: 1024 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..1}\n",
		"IBext_v10", "/usr/lib/libnccl-net.so", "loaded", 0, "67108864:NVLS_TREE/SIMPLE 8388608:RING/LL128" },
	/* 2.27: a name first, and then the plugin's own path */
	{ AT "Successfully loaded external plugin libnccl-net.so\n" AT "Plugin Path : " HPCX "\n" AT
	     "Successfully loaded external plugin libnccl-net.so\n",
		"", HPCX, "none", -1, "" },
	/* 2.23 */
	{ AT "AllReduce: 1024 Bytes -> Algo 4 proto 2 time 12.5\n" AT
	     "ReduceScatter: 9 Bytes -> Algo 6 proto 2 time 1\n",
		"", "", "none", -1, "1024:NVLS/SIMPLE" },
	/* numbers without a name, and lines that only look like it */
	{ AT "8 Bytes -> Algo 77 proto 3 time 1\n" AT "9 Bytes -> Algo  proto 1 time 1\n" AT
	     "9 Bytes -> Algo 1 proto \n" AT "9 Bytes -> Algo 1 prot\n" AT "Bytes -> Algo 1 proto 1\n" AT
	     " nvls channels\n" AT "123456789 nvls channels\n" AT "Plugin Path : \n" AT
	     "TUNER/Plugin: Plugin name set by env to x.so\n" AT "Successfully loaded external env plugin y.so\n"
	     "Using network IB\n",
		"", "", "none", -1, "8:77/3" },
};

static void join(const struct muster_nccl_setup *setup, char *text, size_t size)
{
	size_t used = 0;
	*text = '\0';
	for (size_t i = 0; i < setup->algorithm_count && used < size; i++)
		used += (size_t)snprintf(text + used, size - used, "%s%" PRIu64 ":%s", i ? " " : "",
			setup->algorithms[i].bytes, setup->algorithms[i].name);
}

TEST_EACH(a_log_names_plugin_nvls_and_algorithms, logs)
{
	struct muster_nccl_setup setup;
	char text[1024];
	muster_nccl_setup_parse(logs[_i].log, strlen(logs[_i].log), &setup);
	join(&setup, text, sizeof text);
	ck_assert_str_eq(setup.network, logs[_i].network);
	ck_assert_str_eq(setup.plugin_file, logs[_i].file);
	ck_assert_str_eq(setup.collnet, logs[_i].collnet);
	ck_assert_int_eq(setup.nvls_channels, logs[_i].nvls);
	ck_assert_str_eq(text, logs[_i].algorithms);
}

TEST_EACH(every_cut_of_a_log_is_read_without_harm, logs)
{
	for (size_t cut = 0, length = strlen(logs[_i].log); cut <= length; cut++) {
		struct muster_nccl_setup setup;
		char *exact =
			malloc(cut + (cut == 0)); /* no NUL behind it: reading on is an error that sanitizers see */
		memcpy(exact, logs[_i].log, cut);
		muster_nccl_setup_parse(exact, cut, &setup);
		free(exact);
	}
}

TEST(of_many_sizes_the_first_are_kept)
{
	char text[64 * 100] = "";
	struct muster_nccl_setup setup;
	for (int i = 1; i <= 64; i++) {
		size_t used = strlen(text);
		snprintf(text + used, sizeof text - used, AT "AllReduce: %d Bytes -> Algo RING proto LL x\n", i);
	}
	muster_nccl_setup_parse(text, strlen(text), &setup);
	ck_assert_uint_eq(setup.algorithm_count, MUSTER_NCCL_ALGORITHMS);
	ck_assert_uint_eq(setup.algorithms[0].bytes, 1);
	ck_assert_uint_eq(setup.algorithms[MUSTER_NCCL_ALGORITHMS - 1].bytes, MUSTER_NCCL_ALGORITHMS);
}

TEST_MAIN(.setup = NULL)
