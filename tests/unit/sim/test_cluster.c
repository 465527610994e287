/* SPDX-License-Identifier: Apache-2.0 */
/* test_cluster.c - cluster.json is read as it was written, and nothing is taken for granted
 */
#include "util/file.h"
#include "sim/cluster.h"

#include "check_main.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *pkeys[] = { "0xffff", "0x8012" };
static const char *missing[] = { "libnccl.so.2" };
static struct muster_sim_counter counters[] = { { "hw:out_of_sequence", 7, 0.5 } };
static struct muster_sim_gpu gpus[2];
static struct muster_sim_port port;
static struct muster_sim_numa numas[] = { { 1, "0-23", 1024, 0, 50 } };
static struct muster_sim_disk disks[] = { { "nvme0n1", "m", 960 } };
static struct muster_sim_node node;
static struct muster_sim_rank ranks[2];
static struct muster_sim_bandwidth bandwidths[] = { { 1, 1, 8, 0.1 }, { 2, 2, 1073741824, 170 } };
static struct muster_sim_partition barriers[] = { { "sim-1 and all others", "hang", "a" } };
static struct muster_sim_link links[] = { { "a and b", 0, 0, "0001:00:00.0", "0002:00:00.0", 2.5 } };
static struct muster_sim_cluster example;

static char path[] = "/tmp/muster-cluster-XXXXXX";

static void make_node(void)
{
	gpus[0] = gpus[1] = muster_sim_gpu_default;
	gpus[0].uuid = "GPU-1";
	gpus[0].name = "A \"quoted\" name";
	gpus[0].memory_mib = 40536.5;
	gpus[0].cuda_index = 1;
	gpus[0].ecc = true;
	gpus[0].throttle_reasons = 0x8000000000001;
	gpus[0].h2d_gbps = 26.1;
	gpus[1].uuid = "GPU-2";
	gpus[1].vbios = "v";
	gpus[1].remap_failed = true;
	port = muster_sim_port_default;
	port.pkeys = pkeys;
	port.pkey_count = 2;
	port.numa_node = -1;
	port.counters = counters;
	port.counter_count = 1;
	node = muster_sim_node_default;
	node.disks = disks;
	node.disk_count = 1;
	node.environment = pkeys;
	node.environment_count = 2;
	node.numas = numas;
	node.numa_count = 1;
	node.nccl_version = 22809;
	node.missing_libraries = missing;
	node.missing_library_count = 1;
	node.gpus = gpus;
	node.gpu_count = 2;
	node.ports = &port;
	node.port_count = 1;
}

static void make_example(void)
{
	make_node();
	ranks[0] = ranks[1] = muster_sim_rank_default;
	ranks[0].nccl_slow = 1.5;
	ranks[0].nccl_jitter = 2.5;
	ranks[0].exchange_wrong = ranks[0].nccl_wrong_sum = ranks[0].nccl_async_error = true;
	ranks[0].nccl_hang = "init";
	ranks[1].visible_gpus = "0";
	example = (struct muster_sim_cluster){
		.sku = "example",
		.directory = "/d",
		.intra_transport = "P2P/CUMEM",
		.inter_transport = "",
		.noise = "",
		.nodes = &node,
		.node_count = 1,
		.ranks = ranks,
		.rank_count = 2,
		.bandwidths = bandwidths,
		.bandwidth_count = 2,
		.barriers = barriers,
		.barrier_count = 1,
		.links = links,
		.link_count = 1,
	};
}

static void start(void)
{
	int file = mkstemp(path);
	ck_assert_int_ge(file, 0);
	close(file);
	make_example();
}

static void end(void)
{
	unlink(path);
}

static void write_example(void)
{
	struct muster_error err;
	ck_assert_msg(muster_sim_cluster_write(&example, path, &err) == 0, "%s", err.text);
}

TEST(what_was_written_is_read)
{
	struct muster_sim_cluster read;
	struct muster_error err;
	write_example();
	ck_assert_msg(muster_sim_cluster_read(path, &read, &err) == 0, "%s", err.text);
	ck_assert_str_eq(read.sku, "example");
	ck_assert_str_eq(read.inter_transport, "");
	ck_assert_uint_eq(read.node_count, 1);
	const struct muster_sim_node *first = &read.nodes[0];
	ck_assert_str_eq(first->missing_libraries[0], "libnccl.so.2");
	ck_assert_int_eq(first->nccl_version, 22809);
	ck_assert_uint_eq(first->gpu_count, 2);
	ck_assert_str_eq(first->gpus[0].name, "A \"quoted\" name");
	ck_assert_double_eq(first->gpus[0].memory_mib, 40536.5);
	ck_assert_double_eq(first->gpus[0].h2d_gbps, 26.1);
	ck_assert_uint_eq(first->gpus[0].throttle_reasons, 0x8000000000001);
	ck_assert(first->gpus[0].ecc && !first->gpus[1].ecc && first->gpus[1].remap_failed);
	ck_assert_uint_eq(first->ports[0].pkey_count, 2);
	ck_assert_str_eq(first->ports[0].pkeys[1], "0x8012");
	ck_assert_int_eq(first->ports[0].numa_node, -1);
	ck_assert_double_eq(first->ports[0].counters[0].increase, 0.5);
	ck_assert_str_eq(first->numas[0].cpu_list, "0-23");
	ck_assert_ptr_null(read.ranks[0].visible_gpus);
	ck_assert_str_eq(read.ranks[1].visible_gpus, "0");
	ck_assert(read.ranks[0].nccl_wrong_sum && read.ranks[0].nccl_async_error);
	ck_assert_str_eq(read.ranks[0].nccl_hang, "init");
	ck_assert_str_eq(read.barriers[0].mode, "hang");
	ck_assert_str_eq(read.barriers[0].sides, "a");
	ck_assert_double_eq(read.ranks[0].nccl_slow, 1.5);
	ck_assert_double_eq(read.ranks[0].nccl_jitter, 2.5);
	ck_assert(read.ranks[0].exchange_wrong && !read.ranks[1].exchange_wrong);
	ck_assert_uint_eq(read.link_count, 1);
	ck_assert_str_eq(read.links[0].to_gpu, "0002:00:00.0");
	ck_assert_double_eq(read.links[0].gbps, 2.5);
	ck_assert_double_eq(read.bandwidths[1].bytes, 1073741824);
	muster_sim_cluster_done(&read);
	ck_assert_ptr_null(read.nodes);
}

/* Replace the first `from` behind `after` by `to` in the example's text, and give what reading says; "" for success. */
static void read_edited(const char *after, const char *from, const char *to, char *said, size_t size)
{
	struct muster_sim_cluster read;
	struct muster_error err;
	char *text;
	size_t length;
	write_example();
	ck_assert_int_eq(muster_file_read(path, 1 << 20, &text, &length, &err), 0);
	char *begin = strstr(text, after), *at = begin ? strstr(begin, from) : NULL;
	ck_assert_msg(at != NULL, "\"%s\" is not in the example", from);
	FILE *file = fopen(path, "w");
	ck_assert_ptr_nonnull(file);
	fprintf(file, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
	fclose(file);
	free(text);
	said[0] = '\0';
	if (muster_sim_cluster_read(path, &read, &err) == 0) {
		muster_sim_cluster_done(&read);
		return;
	}
	ck_assert_int_eq(err.code, MUSTER_EUSAGE);
	ck_assert_msg(strncmp(err.text, path, strlen(path)) == 0, "%s", err.text);
	snprintf(said, size, "%s", err.text + strlen(path));
}

static const struct {
	const char *after, *from, *to, *says; /* says: "" when it must be read */
} edits[] = {
	{ "", "\"sku\"", "\"sku\"", "" },
	{ "", "\"sku\": \"example\"", "\"SKU\": \"example\"", "SKU" },
	{ "", "\"sku\": \"example\",", "", "$: the key \"sku\" is missing" },
	{ "", "\"sku\": \"example\"", "\"sku\": 5", "$.sku" },
	{ "", "\"sku\": \"example\"", "\"sku\": null", "$.sku" },
	{ "GPU-2", "\"vbios\": \"v\"", "\"vbios\": 1", "$.nodes[0].gpus[1].vbios" },
	{ "GPU-2", "\"vbios\": \"v\",", "", "$.nodes[0].gpus[1]: the key \"vbios\" is missing" },
	{ "GPU-2", "\"vbios\"", "\"vbois\"", "$.nodes[0].gpus[1]" },
	{ "GPU-1", "\"ecc\": true", "\"ecc\": 1", "$.nodes[0].gpus[0].ecc" },
	{ "GPU-1", "\"cuda_index\": 1", "\"cuda_index\": 1.5", "$.nodes[0].gpus[0].cuda_index" },
	{ "GPU-2", "\"throttle_reasons\": 0", "\"throttle_reasons\": -1", "$.nodes[0].gpus[1].throttle_reasons" },
	{ "GPU-2", "\"throttle_reasons\": 0", "\"throttle_reasons\": 0.5", "$.nodes[0].gpus[1].throttle_reasons" },
	{ "\"environment\"", "\"0xffff\"", "null", "$.nodes[0].environment[0]: a string is needed, found null" },
	{ "\"pkeys\"", "\"0x8012\"", "8012", "$.nodes[0].ports[0].pkeys[1]" },
	{ "", "\"increase\": 0.5", "\"increase\": \"0.5\"", "$.nodes[0].ports[0].counters[0].increase" },
	{ "", "\"cpu_list\": \"0-23\",", "", "$.nodes[0].numas[0]: the key \"cpu_list\" is missing" },
	{ "", "\"visible_gpus\": null", "\"visible_gpus\": 0", "$.ranks[0].visible_gpus" },
	{ "", "\"visible_gpus\": null,", "", "$.ranks[0]: the key \"visible_gpus\" is missing" },
	{ "\"ranks\"", "\"node\": 0", "\"node\": 1", "$.ranks[0].node: there is no node 1" },
	{ "\"ranks\"", "\"node\": 0", "\"node\": -1", "$.ranks[0].node: there is no node -1" },
	{ "\"links\"", "\"to_node\": 0", "\"to_node\": 1", "$.links[0]: there are nodes 0 to 0" },
	{ "\"bandwidths\"", "[", "7, \"x\": [", "$" },
};

TEST_EACH(what_is_unknown_missing_or_wrong_is_named_by_its_path, edits)
{
	char said[MUSTER_ERROR_TEXT_MAX];
	read_edited(edits[_i].after, edits[_i].from, edits[_i].to, said, sizeof said);
	if (*edits[_i].says)
		ck_assert_msg(strstr(said, edits[_i].says) != NULL, "\"%s\" does not say \"%s\"", said, edits[_i].says);
	else
		ck_assert_str_eq(said, "");
}

TEST(a_text_without_a_value_is_not_written)
{
	struct muster_sim_cluster broken = example;
	struct muster_error err;
	broken.sku = NULL;
	ck_assert_int_eq(muster_sim_cluster_write(&broken, path, &err), -1);
	ck_assert_msg(strstr(err.text, "\"sku\" has no value") != NULL, "%s", err.text);
}

TEST_MAIN(.setup = start, .teardown = end)
