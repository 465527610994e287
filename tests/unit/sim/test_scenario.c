/* SPDX-License-Identifier: Apache-2.0 */
/* test_scenario.c - scenario files, hardware descriptions, and the cluster made of both */
#include "check_main.h"
#include "sim_fixture.h"

#include "vendor/nvml_abi.h"
#include "util/file.h"
#include "util/text.h"
#include "system/hardware.h"
#include "util/cpuset.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char directory[64];

static void make_directory(void)
{
	snprintf(directory, sizeof directory, "/tmp/muster-test-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(directory));
}

static void remove_directory(void)
{
	char path[256];
	const char *const files[] = { "scenario.json", SIM_SKU ".json", "child.json", "grandchild.json" };
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		snprintf(path, sizeof path, "%s/%s", directory, files[i]);
		unlink(path);
	}
	ck_assert_int_eq(rmdir(directory), 0);
}

static const char *write_file(const char *name, const char *text)
{
	static char path[256];
	snprintf(path, sizeof path, "%s/%s", directory, name);
	FILE *out = fopen(path, "w");
	ck_assert_ptr_nonnull(out);
	fputs(text, out);
	ck_assert_int_eq(fclose(out), 0);
	return path;
}

static const struct test_fixture other_fixture = { .setup = make_directory, .teardown = remove_directory };

TEST_WITH(a_scenario_file_is_taken_over, .end = 1, .fixture = &other_fixture)
{
	struct muster_sim_scenario s;
	struct muster_error err;
	muster_sim_scenario_init(&s);
	const char *path =
		write_file("scenario.json", "{\"sku\":\"" SIM_SKU "\",\"nodes\":3,\"cpu_masks\":\"ff,f0\","
					    "\"faults\":[\"ib-down@node1/mlx5_ib0\",\"nccl-slow@rank2=3\"]}");
	ck_assert_int_eq(muster_sim_scenario_read(&s, path, &err), 0);
	ck_assert_str_eq(s.sku, SIM_SKU);
	ck_assert_int_eq(s.nodes, 3);
	ck_assert_str_eq(s.cpu_masks, "ff,f0");
	ck_assert_uint_eq(s.fault_count, 2);
	ck_assert_str_eq(s.faults[1], "nccl-slow@rank2=3");
	muster_sim_scenario_done(&s);
}

static const struct {
	const char *text, *said;
} bad_files[] = {
	{ "{\"sku\":\"a\",\"node\":2}",
		"$.node: unknown key; did you mean \"nodes\"? Allowed are sku, nodes, faults, cpu_masks" },
	{ "{\"nodes\":0}", "$.nodes: a whole number from 1 to 128 is needed, found 0" },
	{ "{\"nodes\":1.5}", "nodes" },
	{ "{\"nodes\":\"2\"}", "nodes" },
	{ "{\"faults\":\"x\"}", "faults" },
	{ "{\"faults\":[1]}", "$.faults[0]: a string is needed, found 1" },
	{ "[]", "$: an object is needed, found an array" },
	{ "{", "line 1" },
};

TEST_WITH(
	a_bad_scenario_file_is_a_usage_error_that_names_the_place, .end = LENGTH(bad_files), .fixture = &other_fixture)
{
	struct muster_sim_scenario s;
	struct muster_error err;
	muster_sim_scenario_init(&s);
	const char *path = write_file("scenario.json", bad_files[_i].text);
	ck_assert_int_eq(muster_sim_scenario_read(&s, path, &err), -1);
	ck_assert_int_eq(err.code, MUSTER_EUSAGE);
	ck_assert_msg(strstr(err.text, bad_files[_i].said), "%s", err.text);
	ck_assert_msg(strstr(err.text, "scenario.json"), "%s", err.text);
	muster_sim_scenario_done(&s);
}

TEST_WITH(a_missing_scenario_file_is_a_usage_error, .end = 1, .fixture = &other_fixture)
{
	struct muster_sim_scenario s;
	struct muster_error err;
	muster_sim_scenario_init(&s);
	ck_assert_int_eq(muster_sim_scenario_read(&s, "/nowhere/scenario.json", &err), -1);
	ck_assert_int_eq(err.code, MUSTER_EUSAGE);
	muster_sim_scenario_done(&s);
}

TEST_WITH(an_unknown_sku_is_a_usage_error_that_says_where_to_look, .end = 1, .fixture = &other_fixture)
{
	static const char *const unknown[] = { "Standard_HB120", "", "../hardware/Standard_ND96asr_v4", "." };
	struct muster_arena *arena = muster_arena_new();
	struct muster_sim_hardware hw;
	struct muster_error err;
	for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
		ck_assert_int_eq(muster_sim_hardware_read(SIM_HARDWARE_DIR, unknown[i], arena, &hw, &err), -1);
		ck_assert_int_eq(err.code, MUSTER_EUSAGE);
		ck_assert_msg(strstr(err.text, "muster sim --list-skus lists all"), "%s", err.text);
	}
	muster_arena_free(arena);
}

/* Each row changes the first place where `from` stands in the true description to `to`. */
static const struct {
	const char *from, *to, *said;
} bad_hardware[] = {
	{ "\"vbios\"", "\"vbois\"", "$.gpu.vbois: unknown key" },
	{ "\"vbios\": \"92.00.36.00.04\",", "", "$.gpu: the key \"vbios\" is missing" },
	{ "\"ecc\": true", "\"ecc\": 1", "ecc" },
	{ "\"numa_node\": 1", "\"numa_node\": 7", "$.gpu.devices[0].numa_node: there is no NUMA node 7" },
	{ "\"socket\": 1", "\"socket\": 2", "$.numa_nodes[2].socket: there are sockets 0 to 1" },
	{ "\"0-23\"", "\"0-\"", "$.numa_nodes[0].cpu_list" },
	{ "\"bytes\": 8388608", "\"bytes\": 1048576", "$.allreduce[1]: must be sorted" },
	{ "\"busbw_gbps\": 90.0", "\"busbw_gbps\": 0", "$.allreduce[1]" },
	{ "\"schema_version\": 1", "\"schema_version\": 2", "$.schema_version: 1 is needed, found 2" },
	{ "\"name\": \"Standard_ND96asr_v4\"", "\"name\": \"other\"", "$.name: must be \"" SIM_SKU "\"" },
	{ "\"0x8001\"", "1", "$.adapters[0].pkeys[0]: a string is needed, found 1" },
	{ "\"host\": {", "\"hots\": {", "$.hots: unknown key" },
	{ "\"threads_per_core\": 1", "\"threads_per_core\": 0",
		"$.host.threads_per_core: a whole number from 1 is needed, found 0" },
	{ "\"threads_per_core\": 1", "\"threads_per_core\": 7",
		"$.numa_nodes[0].cpu_list: 24 CPUs are not whole cores of 7 threads" },
	{ "\"sockets\": 2", "\"sockets\": 0", "$.host.sockets: a whole number from 1 is needed, found 0" },
	{ "\"symbol_error\"", "5", "$.counters[0]: a string is needed, found 5" },
	{ "\"rack_nodes\": 0", "\"rack_nodes\": -1", "$.rack_nodes: a whole number from 0 is needed, found -1" },
};

TEST_WITH(a_bad_hardware_description_is_a_usage_error_that_names_the_place, .end = LENGTH(bad_hardware),
	.fixture = &other_fixture)
{
	struct muster_arena *arena = muster_arena_new();
	struct muster_sim_hardware hw;
	struct muster_error err;
	char *text = NULL;
	size_t length = 0;
	ck_assert_int_eq(muster_file_read(SIM_HARDWARE_DIR "/" SIM_SKU ".json", 1 << 20, &text, &length, &err), 0);
	char *at = strstr(text, bad_hardware[_i].from);
	ck_assert_ptr_nonnull(at);
	char *changed = muster_asprintf(
		"%.*s%s%s", (int)(at - text), text, bad_hardware[_i].to, at + strlen(bad_hardware[_i].from));
	write_file(SIM_SKU ".json", changed);
	ck_assert_int_eq(muster_sim_hardware_read(directory, SIM_SKU, arena, &hw, &err), -1);
	ck_assert_int_eq(err.code, MUSTER_EUSAGE);
	ck_assert_msg(strstr(err.text, bad_hardware[_i].said), "%s", err.text);
	free(changed);
	free(text);
	muster_arena_free(arena);
}

/* Copy the true description into the directory, for others to extend. */
static void write_parent(void)
{
	struct muster_error err;
	char *text = NULL;
	size_t length = 0;
	ck_assert_int_eq(muster_file_read(SIM_HARDWARE_DIR "/" SIM_SKU ".json", 1 << 20, &text, &length, &err), 0);
	write_file(SIM_SKU ".json", text);
	free(text);
}

TEST_WITH(a_description_that_extends_another_says_only_what_differs, .end = 1, .fixture = &other_fixture)
{
	struct muster_arena *arena = muster_arena_new();
	struct muster_sim_hardware hw;
	struct muster_error err;
	write_parent();
	write_file("child.json",
		"{\"name\":\"child\",\"extends\":\"" SIM_SKU "\",\"host\":{\"temp_disk_gb\":7},"
		"\"gpu\":{\"name\":\"other\",\"devices\":[{\"bus_id\":\"0009:00:00.0\",\"numa_node\":2}]},"
		"\"adapters\":[],\"counters\":[]}");
	ck_assert_msg(muster_sim_hardware_read(directory, "child", arena, &hw, &err) == 0, "%s", err.text);
	ck_assert_str_eq(hw.sku, "child");
	ck_assert_double_eq(hw.node.temp_disk_gb, 7);
	ck_assert_str_eq(hw.node.cpu_model, "AMD EPYC 7V12 64-Core Processor");
	ck_assert_uint_eq(hw.node.gpu_count, 1);
	ck_assert_str_eq(hw.node.gpus[0].name, "other");
	ck_assert_str_eq(hw.node.gpus[0].bus_id, "0009:00:00.0");
	ck_assert_double_eq(hw.node.gpus[0].memory_mib, 40960);
	ck_assert_uint_eq(hw.node.port_count, 0);
	ck_assert_uint_eq(hw.node.numa_count, 4);
	muster_arena_free(arena);
}

/* What reading grandchild.json says, with child.json beside it. */
static const struct {
	const char *child, *grandchild, *said;
} bad_parents[] = {
	{ "{\"name\":\"child\",\"extends\":\"" SIM_SKU "\"}", "{\"name\":\"grandchild\",\"extends\":\"child\"}",
		"$.extends: \"child\" extends another itself" },
	{ "{}", "{\"name\":\"grandchild\",\"extends\":\"grandchild\"}",
		"$.extends: \"grandchild\" extends another itself" },
	{ "{}", "{\"extends\":\"nobody\"}", "$.extends: no hardware description of the machine type \"nobody\"" },
	{ "{}", "{\"extends\":\"../child\"}", "$.extends: no hardware description of the machine type \"../child\"" },
	{ "{}", "{\"extends\":7}", "$.extends" },
	{ "{", "{\"extends\":\"child\"}", "child.json: line 1" },
	{ "[]", "{\"name\":\"grandchild\",\"extends\":\"child\"}", "$: the key \"schema_version\" is missing" },
	{ "{}", "{\"name\":\"grandchild\",\"extends\":\"" SIM_SKU "\",\"host\":{\"kernel\":null}}",
		"$.host: the key \"kernel\" is missing" },
	{ "{}", "{\"extends\":\"" SIM_SKU "\"}", "$.name: must be \"grandchild\"" },
	{ "{}", "[]", "$: an object is needed, found an array" },
};

TEST_WITH(what_a_description_extends_must_be_whole, .end = LENGTH(bad_parents), .fixture = &other_fixture)
{
	struct muster_arena *arena = muster_arena_new();
	struct muster_sim_hardware hw;
	struct muster_error err;
	write_parent();
	write_file("child.json", bad_parents[_i].child);
	write_file("grandchild.json", bad_parents[_i].grandchild);
	ck_assert_int_eq(muster_sim_hardware_read(directory, "grandchild", arena, &hw, &err), -1);
	ck_assert_int_eq(err.code, MUSTER_EUSAGE);
	ck_assert_msg(strstr(err.text, bad_parents[_i].said), "%s", err.text);
	ck_assert_msg(strstr(err.text, "grandchild"), "%s", err.text);
	muster_arena_free(arena);
}

static void check_devices_differ(const struct muster_sim_node *node)
{
	for (size_t i = 0; i < node->gpu_count; i++)
		for (size_t j = 0; j < i; j++)
			ck_assert_str_ne(node->gpus[i].bus_id, node->gpus[j].bus_id);
	for (size_t i = 0; i < node->port_count; i++)
		for (size_t j = 0; j < i; j++) {
			ck_assert_str_ne(node->ports[i].pci, node->ports[j].pci);
			ck_assert_str_ne(node->ports[i].device, node->ports[j].device);
		}
	for (size_t i = 0; i < node->disk_count; i++)
		for (size_t j = 0; j < i; j++)
			ck_assert_str_ne(node->disks[i].device, node->disks[j].device);
}

/* Each name is that of an NVML function that muster calls: another would have no effect. */
static void check_unsupported_are_called(const struct muster_sim_node *node)
{
	static const char *const functions[] = {
#define X(symbol, parameters) #symbol,
		MUSTER_NVML_FUNCTIONS(X) MUSTER_NVML_OPTIONAL_FUNCTIONS(X)
#undef X
	};
	for (size_t i = 0; i < node->gpus[0].unsupported_count; i++) {
		bool called = false;
		for (size_t f = 0; f < sizeof functions / sizeof *functions; f++)
			called = called || strcmp(functions[f], node->gpus[0].unsupported[i]) == 0;
		ck_assert_msg(called, "unsupported: %s", node->gpus[0].unsupported[i]);
	}
}

/* CPU numbers run along the NUMA nodes without a gap: each is on one of them, and bind counts cores by it. */
static void check_cpus_run_on(const struct muster_sim_node *node)
{
	unsigned int next = 0;
	for (size_t i = 0; i < node->numa_count; i++) {
		hwloc_bitmap_t cpus = muster_cpuset_parse_list(node->numas[i].cpu_list, NULL);
		ck_assert_ptr_nonnull(cpus);
		for (int left = hwloc_bitmap_weight(cpus); left > 0; left--)
			ck_assert_msg(hwloc_bitmap_isset(cpus, next++), "NUMA node %zu: no CPU %u", i, next - 1);
		hwloc_bitmap_free(cpus);
	}
}

TEST(every_description_makes_a_cluster)
{
	struct muster_arena *names = muster_arena_new();
	const char *list = muster_hardware_list(SIM_HARDWARE_DIR, names);
	size_t count = 0;
	while (*list) {
		size_t length = strcspn(list, "\n");
		const char *sku = muster_arena_string_n(names, list, length);
		struct muster_sim_cluster c;
		struct muster_error err;
		ck_assert_msg(sim_two_of(sku, NULL, NULL, &c, &err) == 0, "%s: %s", sku, err.text);
		ck_assert_str_eq(c.nodes[1].vm_size, sku);
		check_devices_differ(&c.nodes[0]);
		check_cpus_run_on(&c.nodes[0]);
		check_unsupported_are_called(&c.nodes[0]);
		muster_sim_cluster_done(&c);
		list += length + 1;
		count++;
	}
	ck_assert_uint_ge(count, 22);
	muster_arena_free(names);
}

TEST(nodes_of_one_rack_have_one_fabric_and_others_have_none)
{
	struct muster_sim_scenario s;
	struct muster_sim_hardware hw;
	struct muster_sim_cluster c;
	struct muster_error err;
	muster_sim_scenario_init(&s);
	s.sku = SIM_SKU_RACK;
	s.nodes = 19;
	ck_assert_int_eq(sim_build(&s, "/nowhere", &hw, &c, &err), 0);
	const char *first = c.nodes[0].gpus[0].fabric_cluster;
	ck_assert_uint_eq(strlen(first), 36);
	ck_assert_str_eq(c.nodes[17].gpus[3].fabric_cluster, first);
	ck_assert_str_ne(c.nodes[18].gpus[0].fabric_cluster, first);
	muster_sim_cluster_done(&c);
	muster_sim_scenario_done(&s);
	ck_assert_int_eq(sim_two_nodes(NULL, NULL, &c, &err), 0);
	ck_assert_str_eq(c.nodes[0].gpus[0].fabric_cluster, "00000000-0000-0000-0000-000000000000");
	muster_sim_cluster_done(&c);
}

TEST(a_healthy_node_has_the_hardware_of_nd96asr_v4)
{
	static const char *const bus_ids[] = { "0001:00:00.0", "0002:00:00.0", "0003:00:00.0", "0004:00:00.0",
		"000b:00:00.0", "000c:00:00.0", "000d:00:00.0", "000e:00:00.0" };
	static const int numa[] = { 1, 1, 0, 0, 3, 3, 2, 2 };
	struct muster_sim_cluster c;
	struct muster_error err;
	ck_assert_int_eq(sim_two_nodes(NULL, NULL, &c, &err), 0);
	ck_assert_uint_eq(c.node_count, 2);
	ck_assert_uint_eq(c.rank_count, 16);
	for (size_t n = 0; n < 2; n++) {
		const struct muster_sim_node *node = &c.nodes[n];
		ck_assert_uint_eq(node->gpu_count, 8);
		ck_assert_uint_eq(node->port_count, 9);
		ck_assert_uint_eq(node->numa_count, 4);
		for (size_t i = 0; i < 8; i++) {
			ck_assert_str_eq(node->gpus[i].bus_id, bus_ids[i]);
			ck_assert_int_eq(node->gpus[i].numa_node, numa[i]);
			ck_assert_int_eq(node->gpus[i].nvlinks_active, 12);
			ck_assert_str_eq(node->ports[i].link_layer, "InfiniBand");
			ck_assert_int_eq(node->ports[i].numa_node, numa[i]);
		}
		ck_assert_str_eq(node->ports[8].device, "mlx5_an0");
		ck_assert_str_eq(node->ports[8].link_layer, "Ethernet");
	}
	ck_assert_str_eq(c.nodes[0].name, "sim-1");
	ck_assert_str_eq(c.nodes[1].directory, "/nowhere/sim-2");
	muster_sim_cluster_done(&c);
}

TEST(no_two_devices_of_a_cluster_share_an_identity)
{
	struct muster_sim_cluster c;
	struct muster_error err;
	const char *names[64];
	size_t count = 0;
	ck_assert_int_eq(sim_two_nodes(NULL, NULL, &c, &err), 0);
	for (size_t n = 0; n < 2; n++) {
		for (size_t i = 0; i < 8; i++)
			names[count++] = c.nodes[n].gpus[i].uuid;
		for (size_t i = 0; i < 9; i++) {
			names[count++] = c.nodes[n].ports[i].guid;
			for (size_t j = 0; j < 8; j++)
				if (n == 1 && i < 8)
					ck_assert_int_ne(c.nodes[1].ports[i].lid, c.nodes[0].ports[j].lid);
		}
	}
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < i; j++)
			ck_assert_str_ne(names[i], names[j]);
	ck_assert_uint_eq(strlen(c.nodes[0].gpus[0].uuid), 40);
	muster_sim_cluster_done(&c);
}

TEST(the_same_scenario_gives_the_same_identities)
{
	struct muster_sim_cluster a, b;
	struct muster_error err;
	ck_assert_int_eq(sim_two_nodes(NULL, NULL, &a, &err), 0);
	ck_assert_int_eq(sim_two_nodes("ib-down@node1/mlx5_ib0", NULL, &b, &err), 0);
	ck_assert_str_eq(a.nodes[1].gpus[5].uuid, b.nodes[1].gpus[5].uuid);
	ck_assert_str_eq(a.nodes[1].ports[5].gid, b.nodes[1].ports[5].gid);
	muster_sim_cluster_done(&a);
	muster_sim_cluster_done(&b);
}

/* The list for srun that is right for this machine type. */
static const char *const right_masks[] = { "ffffff000000", "ffffff000000", "ffffff", "ffffff",
	"ffffff000000000000000000", "ffffff000000000000000000", "ffffff000000000000", "ffffff000000000000" };

TEST(without_masks_each_rank_gets_the_cpus_of_its_gpus_numa_node)
{
	struct muster_sim_cluster c;
	struct muster_error err;
	ck_assert_int_eq(sim_two_nodes(NULL, NULL, &c, &err), 0);
	for (size_t i = 0; i < 16; i++) {
		ck_assert_str_eq(c.ranks[i].cpu_mask, right_masks[i % 8]);
		ck_assert_int_eq(c.ranks[i].node, (int)(i / 8));
		ck_assert_int_eq(c.ranks[i].local_rank, (int)(i % 8));
		ck_assert_ptr_null(c.ranks[i].visible_gpus);
		ck_assert(c.ranks[i].nccl_slow >= 1 && c.ranks[i].nccl_slow <= 1);
	}
	muster_sim_cluster_done(&c);
}

TEST(given_masks_go_to_the_local_ranks_of_every_node_and_start_again_when_too_few)
{
	struct muster_sim_cluster c;
	struct muster_error err;
	ck_assert_int_eq(sim_two_nodes(NULL, "1,0x2,4", &c, &err), 0);
	for (size_t i = 0; i < 16; i++) {
		static const char *const expected[] = { "1", "0x2", "4" };
		ck_assert_str_eq(c.ranks[i].cpu_mask, expected[i % 8 % 3]);
	}
	muster_sim_cluster_done(&c);
}

static const struct {
	const char *masks, *said;
} bad_masks[] = {
	{ "1,1,1,1,1,1,1,1,1", "more than the 8 ranks" },
	{ "1,,1", "local rank 1" },
	{ "", "local rank 0" },
	{ "1,xyz", "local rank 1" },
	{ "1,0", "local rank 1: \"0\" contains no CPU" },
	{ "1000000000000000000000000", "CPUs that the node does not have: 96" },
};

TEST_EACH(masks_that_cannot_be_are_a_usage_error, bad_masks)
{
	struct muster_sim_cluster c;
	struct muster_error err;
	ck_assert_int_eq(sim_two_nodes(NULL, bad_masks[_i].masks, &c, &err), -1);
	ck_assert_int_eq(err.code, MUSTER_EUSAGE);
	ck_assert_msg(strstr(err.text, bad_masks[_i].said), "%s", err.text);
}

TEST_MAIN(.setup = NULL)
