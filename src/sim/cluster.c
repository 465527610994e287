/* cluster.c - cluster.json: the tables of fields of the cluster's structs */
#include "sim/cluster.h"

#include "util/file.h"
#include "sim/struct_json.h"
#include "util/env.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CLUSTER_BYTES_MAX ((size_t)256 << 20)

#define F(type, name, kind_)                                                                                           \
	{                                                                                                              \
		.key = #name, .kind = MUSTER_SIM_##kind_, .offset = offsetof(struct type, name)                        \
	}
#define F_MANY(type, name, kind_, count_name, items_)                                                                  \
	{                                                                                                              \
		.key = #name, .kind = MUSTER_SIM_##kind_, .offset = offsetof(struct type, name),                       \
		.count_offset = offsetof(struct type, count_name), .items = (items_)                                   \
	}
#define LAYOUT(type, table)                                                                                            \
	{                                                                                                              \
		.size = sizeof(struct type), .fields = (table), .count = sizeof(table) / sizeof *(table)               \
	}

static const struct muster_sim_field gpu_fields[] = {
	F(muster_sim_gpu, bus_id, STRING),
	F(muster_sim_gpu, uuid, STRING),
	F(muster_sim_gpu, name, STRING),
	F(muster_sim_gpu, vbios, STRING),
	F(muster_sim_gpu, memory_mib, NUMBER),
	F(muster_sim_gpu, compute_major, INT),
	F(muster_sim_gpu, compute_minor, INT),
	F(muster_sim_gpu, numa_node, INT),
	F(muster_sim_gpu, cuda_index, INT),
	F(muster_sim_gpu, nvml_index, INT),
	F(muster_sim_gpu, ecc, BOOLEAN),
	F(muster_sim_gpu, persistence, BOOLEAN),
	F(muster_sim_gpu, mig_supported, BOOLEAN),
	F(muster_sim_gpu, mig, BOOLEAN),
	F(muster_sim_gpu, pcie_gen, INT),
	F(muster_sim_gpu, pcie_gen_max, INT),
	F(muster_sim_gpu, pcie_width, INT),
	F(muster_sim_gpu, pcie_width_max, INT),
	F(muster_sim_gpu, nvlinks, INT),
	F(muster_sim_gpu, nvlinks_active, INT),
	F(muster_sim_gpu, nvlink_mbps, NUMBER),
	F(muster_sim_gpu, sm_clock_mhz, INT),
	F(muster_sim_gpu, sm_clock_max_mhz, INT),
	F(muster_sim_gpu, mem_clock_mhz, INT),
	F(muster_sim_gpu, mem_clock_max_mhz, INT),
	F(muster_sim_gpu, throttle_reasons, WORD),
	F(muster_sim_gpu, temperature_celsius, INT),
	F(muster_sim_gpu, power_watts, NUMBER),
	F(muster_sim_gpu, power_limit_watts, NUMBER),
	F(muster_sim_gpu, ecc_corrected_volatile, NUMBER),
	F(muster_sim_gpu, ecc_uncorrected_volatile, NUMBER),
	F(muster_sim_gpu, ecc_corrected_aggregate, NUMBER),
	F(muster_sim_gpu, ecc_uncorrected_aggregate, NUMBER),
	F(muster_sim_gpu, remap_correctable, INT),
	F(muster_sim_gpu, remap_uncorrectable, INT),
	F(muster_sim_gpu, remap_pending, BOOLEAN),
	F(muster_sim_gpu, remap_failed, BOOLEAN),
	F(muster_sim_gpu, h2d_gbps, NUMBER),
	F(muster_sim_gpu, d2h_gbps, NUMBER),
	F(muster_sim_gpu, h2d_together_gbps, NUMBER),
	F(muster_sim_gpu, d2h_together_gbps, NUMBER),
	F(muster_sim_gpu, sm_clock_app_mhz, INT),
	F(muster_sim_gpu, fabric_state, INT),
	F(muster_sim_gpu, fabric_status, INT),
	F(muster_sim_gpu, fabric_cluster, STRING),
	F(muster_sim_gpu, fabric_clique, INT),
	F(muster_sim_gpu, fabric_health, WORD),
	F(muster_sim_gpu, c2c_links, INT),
	F(muster_sim_gpu, c2c_mbps, NUMBER),
	F(muster_sim_gpu, p2p, BOOLEAN),
	F(muster_sim_gpu, virtualization, STRING),
	F(muster_sim_gpu, vgpu_product, STRING),
	F(muster_sim_gpu, vgpu_licensed, BOOLEAN),
	F_MANY(muster_sim_gpu, unsupported, STRINGS, unsupported_count, NULL),
};
const struct muster_sim_struct muster_sim_gpu_struct = LAYOUT(muster_sim_gpu, gpu_fields);

static const struct muster_sim_field counter_fields[] = {
	F(muster_sim_counter, name, STRING),
	F(muster_sim_counter, value, NUMBER),
	F(muster_sim_counter, increase, NUMBER),
};
static const struct muster_sim_struct counter_layout = LAYOUT(muster_sim_counter, counter_fields);

static const struct muster_sim_field port_fields[] = {
	F(muster_sim_port, device, STRING),
	F(muster_sim_port, port, INT),
	F(muster_sim_port, pci, STRING),
	F(muster_sim_port, link_layer, STRING),
	F(muster_sim_port, state, STRING),
	F(muster_sim_port, phys_state, STRING),
	F(muster_sim_port, active_speed, INT),
	F(muster_sim_port, active_width, INT),
	F(muster_sim_port, active_mtu, INT),
	F(muster_sim_port, rate, STRING),
	F(muster_sim_port, lid, INT),
	F(muster_sim_port, sm_lid, INT),
	F(muster_sim_port, gid, STRING),
	F(muster_sim_port, guid, STRING),
	F(muster_sim_port, firmware, STRING),
	F(muster_sim_port, board_id, STRING),
	F(muster_sim_port, hca_type, STRING),
	F_MANY(muster_sim_port, pkeys, STRINGS, pkey_count, NULL),
	F(muster_sim_port, numa_node, INT),
	F_MANY(muster_sim_port, counters, STRUCTS, counter_count, &counter_layout),
};
const struct muster_sim_struct muster_sim_port_struct = LAYOUT(muster_sim_port, port_fields);

static const struct muster_sim_field numa_fields[] = {
	F(muster_sim_numa, os_index, INT),
	F(muster_sim_numa, cpu_list, STRING),
	F(muster_sim_numa, memory_mib, NUMBER),
	F(muster_sim_numa, socket, INT),
};
const struct muster_sim_struct muster_sim_numa_struct = LAYOUT(muster_sim_numa, numa_fields);

static const struct muster_sim_field disk_fields[] = {
	F(muster_sim_disk, device, STRING),
	F(muster_sim_disk, model, STRING),
	F(muster_sim_disk, gb, NUMBER),
};
const struct muster_sim_struct muster_sim_disk_struct = LAYOUT(muster_sim_disk, disk_fields);

static const struct muster_sim_field node_fields[] = {
	F(muster_sim_node, name, STRING),
	F(muster_sim_node, directory, STRING),
	F(muster_sim_node, os_name, STRING),
	F(muster_sim_node, kernel, STRING),
	F(muster_sim_node, cpu_model, STRING),
	F(muster_sim_node, architecture, STRING),
	F(muster_sim_node, sockets, INT),
	F(muster_sim_node, threads_per_core, INT),
	F(muster_sim_node, vm_size, STRING),
	F(muster_sim_node, placement_group, STRING),
	F(muster_sim_node, coherent_memory_mode, STRING),
	F(muster_sim_node, imex_channels, INT),
	F_MANY(muster_sim_node, disks, STRUCTS, disk_count, &muster_sim_disk_struct),
	F(muster_sim_node, temp_disk_gb, NUMBER),
	F_MANY(muster_sim_node, environment, STRINGS, environment_count, NULL),
	F_MANY(muster_sim_node, nccl_conf, STRINGS, nccl_conf_count, NULL),
	F(muster_sim_node, topo_file, STRING),
	F(muster_sim_node, topo_file_swapped, BOOLEAN),
	F_MANY(muster_sim_node, numas, STRUCTS, numa_count, &muster_sim_numa_struct),
	F(muster_sim_node, driver_version, STRING),
	F(muster_sim_node, cuda_driver, INT),
	F(muster_sim_node, nvml_version, STRING),
	F(muster_sim_node, nccl_version, INT),
	F_MANY(muster_sim_node, missing_libraries, STRINGS, missing_library_count, NULL),
	F_MANY(muster_sim_node, gpus, STRUCTS, gpu_count, &muster_sim_gpu_struct),
	F_MANY(muster_sim_node, ports, STRUCTS, port_count, &muster_sim_port_struct),
};
const struct muster_sim_struct muster_sim_node_struct = LAYOUT(muster_sim_node, node_fields);

static const struct muster_sim_field rank_fields[] = {
	F(muster_sim_rank, node, INT),
	F(muster_sim_rank, local_rank, INT),
	F(muster_sim_rank, cpu_mask, STRING),
	F(muster_sim_rank, visible_gpus, STRING_OR_NULL),
	F(muster_sim_rank, nccl_slow, NUMBER),
	F(muster_sim_rank, nccl_wrong_sum, BOOLEAN),
	F(muster_sim_rank, nccl_hang, STRING),
	F(muster_sim_rank, nccl_async_error, BOOLEAN),
	F_MANY(muster_sim_rank, deaths, STRINGS, death_count, NULL),
};
static const struct muster_sim_struct rank_layout = LAYOUT(muster_sim_rank, rank_fields);

static const struct muster_sim_field bandwidth_fields[] = {
	F(muster_sim_bandwidth, domains, INT),
	F(muster_sim_bandwidth, nodes, INT),
	F(muster_sim_bandwidth, bytes, NUMBER),
	F(muster_sim_bandwidth, busbw_gbps, NUMBER),
};
const struct muster_sim_struct muster_sim_bandwidth_struct = LAYOUT(muster_sim_bandwidth, bandwidth_fields);

static const struct muster_sim_field barrier_fields[] = {
	F(muster_sim_partition, name, STRING),
	F(muster_sim_partition, mode, STRING),
	F(muster_sim_partition, sides, STRING),
};
static const struct muster_sim_struct barrier_layout = LAYOUT(muster_sim_partition, barrier_fields);

static const struct muster_sim_field cluster_fields[] = {
	F(muster_sim_cluster, sku, STRING),
	F(muster_sim_cluster, directory, STRING),
	F(muster_sim_cluster, intra_transport, STRING),
	F(muster_sim_cluster, inter_transport, STRING),
	F_MANY(muster_sim_cluster, nodes, STRUCTS, node_count, &muster_sim_node_struct),
	F_MANY(muster_sim_cluster, ranks, STRUCTS, rank_count, &rank_layout),
	F_MANY(muster_sim_cluster, bandwidths, STRUCTS, bandwidth_count, &muster_sim_bandwidth_struct),
	F_MANY(muster_sim_cluster, barriers, STRUCTS, barrier_count, &barrier_layout),
};
const struct muster_sim_struct muster_sim_cluster_struct = LAYOUT(muster_sim_cluster, cluster_fields);

static int check(const struct muster_sim_cluster *cluster, struct muster_error *err)
{
	for (size_t i = 0; i < cluster->rank_count; i++)
		if (cluster->ranks[i].node < 0 || (size_t)cluster->ranks[i].node >= cluster->node_count)
			return muster_fail(err, MUSTER_EUSAGE, "$.ranks[%zu].node: there is no node %d", i,
				cluster->ranks[i].node);
	for (size_t i = 0; i < cluster->barrier_count; i++)
		if (strlen(cluster->barriers[i].sides) != cluster->node_count)
			return muster_fail(
				err, MUSTER_EUSAGE, "$.barriers[%zu].sides: a letter for each node is needed", i);
	return 0;
}

int muster_sim_cluster_read(const char *path, struct muster_sim_cluster *ret, struct muster_error *err)
{
	char *text;
	size_t length;
	struct muster_json *json = NULL;
	struct muster_sim_cluster cluster = { .arena = NULL };
	int result = -1;

	if (muster_file_read(path, CLUSTER_BYTES_MAX, &text, &length, err) < 0)
		return -1;
	if (muster_json_parse(text, length, &json, err) < 0)
		goto out;
	if (muster_json_type(json) != MUSTER_JSON_OBJECT) {
		muster_fail(err, MUSTER_EUSAGE, "$: must be an object, not %s",
			muster_json_type_name(muster_json_type(json)));
		goto out;
	}
	cluster.arena = muster_arena_new();
	if (muster_sim_struct_read(cluster.arena, json, "$", &muster_sim_cluster_struct, &cluster, err) < 0 ||
		check(&cluster, err) < 0)
		goto out;
	*ret = cluster;
	result = 0;
out:
	if (result < 0) {
		muster_wrap(err, "%s", path);
		muster_arena_free(cluster.arena);
	}
	muster_json_free(json);
	free(text);
	return result;
}

void muster_sim_cluster_done(struct muster_sim_cluster *cluster)
{
	muster_arena_free(cluster->arena);
	*cluster = (struct muster_sim_cluster){ .arena = NULL };
}

/* -- writing -- */

int muster_sim_cluster_write(const struct muster_sim_cluster *cluster, const char *path, struct muster_error *err)
{
	struct muster_file file;
	struct muster_json_writer w;
	if (muster_file_open(&file, path, err) < 0)
		return -1;
	muster_json_writer_init(&w, file.out, 4);
	if (muster_sim_struct_write(&w, &muster_sim_cluster_struct, cluster, err) < 0) {
		muster_file_abandon(&file);
		return muster_wrap(err, "%s", path);
	}
	return muster_file_commit(&file, err);
}

/* -- the stand-in's own process -- */

#define EXIT_UNSCRIPTED 70 /* EX_SOFTWARE of sysexits.h */

static struct {
	pthread_once_t once;
	struct muster_sim_cluster cluster;
	size_t rank;
} self = { .once = PTHREAD_ONCE_INIT };

static void end_unscripted(const char *why)
{
	fprintf(stderr, "muster stand-in: %s; a stand-in library never runs outside a simulation\n", why);
	_Exit(EXIT_UNSCRIPTED);
}

static void read_environment(void)
{
	const char *path = muster_env(MUSTER_ENV_SIM_CLUSTER);
	const char *rank = muster_env(MUSTER_ENV_SIM_RANK);
	const char *mask = muster_env(MUSTER_ENV_SIM_CPU_MASK);
	struct muster_error err;
	char *end;

	if (!path || !*path)
		end_unscripted("MUSTER_SIM_CLUSTER is not set");
	if (!rank || *rank < '0' || *rank > '9')
		end_unscripted("MUSTER_SIM_RANK is not a rank");
	if (muster_sim_cluster_read(path, &self.cluster, &err) < 0)
		end_unscripted(err.text);
	self.rank = strtoul(rank, &end, 10);
	if (*end || self.rank >= self.cluster.rank_count)
		end_unscripted("MUSTER_SIM_RANK names no rank of the cluster");
	if (mask && *mask)
		self.cluster.ranks[self.rank].cpu_mask = mask;
}

const struct muster_sim_cluster *muster_sim_cluster(void)
{
	pthread_once(&self.once, read_environment);
	return &self.cluster;
}

const struct muster_sim_rank *muster_sim_this_rank(void)
{
	return &muster_sim_cluster()->ranks[self.rank];
}

const struct muster_sim_node *muster_sim_this_node(void)
{
	return &muster_sim_cluster()->nodes[muster_sim_this_rank()->node];
}
