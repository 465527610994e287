/* cluster.c - cluster.json: the tables of fields of the cluster's structs */
#include "sim/cluster.h"

#include "util/file.h"
#include "json/object.h"
#include "util/env.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CLUSTER_BYTES_MAX ((size_t)256 << 20)

#define F(tag, name, kind)                                                                                             \
	{                                                                                                              \
		MUSTER_FIELD(tag, name, kind)                                                                          \
	}
/* A field that a hardware description gives, in the object of that part. */
#define D(tag, name, kind, in)                                                                                         \
	{                                                                                                              \
		MUSTER_FIELD(tag, name, kind), .part = MUSTER_SIM_##in                                                 \
	}
#define TEXTS(tag, name, count, in)                                                                                    \
	{                                                                                                              \
		MUSTER_FIELD(tag, name, TEXT), MUSTER_FIELD_MANY(tag, count), .part = (in)                             \
	}
#define OBJECTS(tag, name, count, type_)                                                                               \
	{                                                                                                              \
		MUSTER_FIELD(tag, name, OBJECT), MUSTER_FIELD_MANY(tag, count), .object = (type_)                      \
	}

static const struct muster_field gpu_fields[] = {
	D(muster_sim_gpu, bus_id, TEXT, DEVICE),
	F(muster_sim_gpu, uuid, TEXT),
	D(muster_sim_gpu, name, TEXT, DESCRIBED),
	D(muster_sim_gpu, vbios, TEXT, DESCRIBED),
	D(muster_sim_gpu, memory_mib, NUMBER, DESCRIBED),
	D(muster_sim_gpu, compute_major, INT, DESCRIBED),
	D(muster_sim_gpu, compute_minor, INT, DESCRIBED),
	D(muster_sim_gpu, numa_node, INT, DEVICE),
	F(muster_sim_gpu, cuda_index, INT),
	F(muster_sim_gpu, nvml_index, INT),
	D(muster_sim_gpu, ecc, BOOLEAN, DESCRIBED),
	D(muster_sim_gpu, persistence, BOOLEAN, DESCRIBED),
	D(muster_sim_gpu, mig_supported, BOOLEAN, DESCRIBED),
	D(muster_sim_gpu, mig, BOOLEAN, DESCRIBED),
	F(muster_sim_gpu, mig_slices, INT),
	F(muster_sim_gpu, mig_gb, INT),
	D(muster_sim_gpu, pcie_gen, INT, DESCRIBED),
	D(muster_sim_gpu, pcie_gen_max, INT, DESCRIBED),
	D(muster_sim_gpu, pcie_width, INT, DESCRIBED),
	D(muster_sim_gpu, pcie_width_max, INT, DESCRIBED),
	D(muster_sim_gpu, nvlinks, INT, DESCRIBED),
	F(muster_sim_gpu, nvlinks_active, INT),
	D(muster_sim_gpu, nvlink_mbps, NUMBER, DESCRIBED),
	D(muster_sim_gpu, nvlink_group, INT, DESCRIBED),
	D(muster_sim_gpu, multiprocessors, INT, DESCRIBED),
	D(muster_sim_gpu, memory_bus_bits, INT, DESCRIBED),
	D(muster_sim_gpu, sm_clock_mhz, INT, DESCRIBED),
	D(muster_sim_gpu, sm_clock_max_mhz, INT, DESCRIBED),
	D(muster_sim_gpu, mem_clock_mhz, INT, DESCRIBED),
	D(muster_sim_gpu, mem_clock_max_mhz, INT, DESCRIBED),
	F(muster_sim_gpu, throttle_reasons, WORD),
	D(muster_sim_gpu, temperature_celsius, INT, DESCRIBED),
	D(muster_sim_gpu, power_watts, NUMBER, DESCRIBED),
	D(muster_sim_gpu, power_limit_watts, NUMBER, DESCRIBED),
	F(muster_sim_gpu, ecc_corrected_volatile, NUMBER),
	F(muster_sim_gpu, ecc_uncorrected_volatile, NUMBER),
	F(muster_sim_gpu, ecc_corrected_aggregate, NUMBER),
	F(muster_sim_gpu, ecc_uncorrected_aggregate, NUMBER),
	F(muster_sim_gpu, remap_correctable, INT),
	F(muster_sim_gpu, remap_uncorrectable, INT),
	F(muster_sim_gpu, remap_pending, BOOLEAN),
	F(muster_sim_gpu, remap_failed, BOOLEAN),
	F(muster_sim_gpu, sram_exceeded, BOOLEAN),
	F(muster_sim_gpu, recovery_action, INT),
	F(muster_sim_gpu, nvlink_replays, NUMBER),
	F(muster_sim_gpu, nvlink_recoveries, NUMBER),
	F(muster_sim_gpu, nvlink_crc_errors, NUMBER),
	F(muster_sim_gpu, pcie_replays, NUMBER),
	D(muster_sim_gpu, h2d_gbps, NUMBER, DESCRIBED),
	D(muster_sim_gpu, d2h_gbps, NUMBER, DESCRIBED),
	D(muster_sim_gpu, h2d_together_gbps, NUMBER, DESCRIBED),
	D(muster_sim_gpu, d2h_together_gbps, NUMBER, DESCRIBED),
	D(muster_sim_gpu, sm_clock_app_mhz, INT, DESCRIBED),
	D(muster_sim_gpu, memory_write_gbps, NUMBER, DESCRIBED),
	D(muster_sim_gpu, memory_read_gbps, NUMBER, DESCRIBED),
	F(muster_sim_gpu, memory_held_mib, NUMBER),
	F(muster_sim_gpu, stranger_pid, INT),
	F(muster_sim_gpu, stranger_mib, NUMBER),
	F(muster_sim_gpu, stranger_late, BOOLEAN),
	F(muster_sim_gpu, busy_percent, INT),
	F(muster_sim_gpu, memory_bad_bit, INT),
	F(muster_sim_gpu, memory_bad_at, WORD),
	D(muster_sim_gpu, gemm_bf16_tflops, NUMBER, DESCRIBED),
	D(muster_sim_gpu, gemm_fp64_tflops, NUMBER, DESCRIBED),
	D(muster_sim_gpu, gemm_fp8_tflops, NUMBER, DESCRIBED),
	F(muster_sim_gpu, gemm_wrong, INT),
	F(muster_sim_gpu, gemm_drift, NUMBER),
	D(muster_sim_gpu, sm_clock_loaded_mhz, INT, DESCRIBED),
	D(muster_sim_gpu, temperature_loaded_celsius, INT, DESCRIBED),
	D(muster_sim_gpu, memory_temperature_celsius, INT, DESCRIBED),
	D(muster_sim_gpu, power_loaded_watts, NUMBER, DESCRIBED),
	F(muster_sim_gpu, throttle_reasons_loaded, WORD),
	D(muster_sim_gpu, temperature_slowdown_celsius, INT, DESCRIBED),
	D(muster_sim_gpu, memory_temperature_max_celsius, INT, DESCRIBED),
	D(muster_sim_gpu, fabric_state, INT, DESCRIBED),
	D(muster_sim_gpu, fabric_status, INT, DESCRIBED),
	F(muster_sim_gpu, fabric_cluster, TEXT),
	D(muster_sim_gpu, fabric_clique, INT, DESCRIBED),
	D(muster_sim_gpu, fabric_health, WORD, DESCRIBED),
	F(muster_sim_gpu, edge_gbps, NUMBER),
	D(muster_sim_gpu, c2c_links, INT, DESCRIBED),
	D(muster_sim_gpu, c2c_mbps, NUMBER, DESCRIBED),
	D(muster_sim_gpu, p2p, BOOLEAN, DESCRIBED),
	D(muster_sim_gpu, virtualization, TEXT, DESCRIBED),
	D(muster_sim_gpu, vgpu_product, TEXT, DESCRIBED),
	D(muster_sim_gpu, vgpu_licensed, BOOLEAN, DESCRIBED),
	F(muster_sim_gpu, off_the_bus, BOOLEAN),
	F(muster_sim_gpu, hidden, BOOLEAN),
	TEXTS(muster_sim_gpu, unsupported, unsupported_count, MUSTER_SIM_DESCRIBED),
};
const struct muster_object_type muster_sim_gpu_type = MUSTER_OBJECT_TYPE(muster_sim_gpu, gpu_fields);

/* As an A100's: instances have a little less than their part of the memory, and of 108 multiprocessors 14 each. */
double muster_sim_memory_mib(const struct muster_sim_gpu *gpu)
{
	return gpu->mig_slices > 0 ? gpu->mig_gb * 0.96 * 1024 : gpu->memory_mib;
}

int muster_sim_multiprocessors(const struct muster_sim_gpu *gpu)
{
	return gpu->mig_slices > 0 ? gpu->multiprocessors * 10 / 77 * gpu->mig_slices : gpu->multiprocessors;
}

const char *muster_sim_uuid(const struct muster_sim_gpu *gpu, char ret[MUSTER_SIM_UUID_SIZE])
{
	if (gpu->mig_slices == 0 || strlen(gpu->uuid) < 5)
		snprintf(ret, MUSTER_SIM_UUID_SIZE, "%s", gpu->uuid);
	else
		snprintf(ret, MUSTER_SIM_UUID_SIZE, "MIG-%c%s", gpu->uuid[4] == 'f' ? 'e' : 'f', gpu->uuid + 5);
	return ret;
}

static const struct muster_field counter_fields[] = {
	F(muster_sim_counter, name, TEXT),
	F(muster_sim_counter, value, NUMBER),
	F(muster_sim_counter, increase, NUMBER),
};
static const struct muster_object_type counter_type = MUSTER_OBJECT_TYPE(muster_sim_counter, counter_fields);

static const struct muster_field port_fields[] = {
	D(muster_sim_port, device, TEXT, DEVICE),
	F(muster_sim_port, port, INT),
	D(muster_sim_port, pci, TEXT, DEVICE),
	D(muster_sim_port, link_layer, TEXT, DESCRIBED),
	F(muster_sim_port, state, TEXT),
	F(muster_sim_port, phys_state, TEXT),
	D(muster_sim_port, active_speed, INT, DESCRIBED),
	D(muster_sim_port, active_width, INT, DESCRIBED),
	D(muster_sim_port, active_mtu, INT, DESCRIBED),
	D(muster_sim_port, rate, TEXT, DESCRIBED),
	F(muster_sim_port, lid, INT),
	D(muster_sim_port, sm_lid, INT, DESCRIBED),
	F(muster_sim_port, gid, TEXT),
	F(muster_sim_port, guid, TEXT),
	F(muster_sim_port, roce_v1, BOOLEAN),
	D(muster_sim_port, firmware, TEXT, DESCRIBED),
	D(muster_sim_port, board_id, TEXT, DESCRIBED),
	D(muster_sim_port, hca_type, TEXT, DESCRIBED),
	TEXTS(muster_sim_port, pkeys, pkey_count, MUSTER_SIM_DESCRIBED),
	D(muster_sim_port, numa_node, INT, DEVICE),
	F(muster_sim_port, rail_gbps, NUMBER),
	OBJECTS(muster_sim_port, counters, counter_count, &counter_type),
};
const struct muster_object_type muster_sim_port_type = MUSTER_OBJECT_TYPE(muster_sim_port, port_fields);

bool muster_sim_port_is_first(const struct muster_sim_node *node, size_t index)
{
	for (size_t i = 0; i < index; i++)
		if (strcmp(node->ports[i].device, node->ports[index].device) == 0)
			return false;
	return true;
}

int muster_sim_port_word_number(enum muster_sim_port_word kind, const char *name)
{
	static const char *const names[][8] = {
		[MUSTER_SIM_PORT_STATE] = { NULL, "DOWN", "INIT", "ARMED", "ACTIVE", "ACTIVE_DEFER" },
		[MUSTER_SIM_PORT_PHYS_STATE] = { NULL, "Sleep", "Polling", "Disabled", "PortConfigurationTraining",
			"LinkUp", "LinkErrorRecovery", "Phy Test" },
		[MUSTER_SIM_PORT_LINK_LAYER] = { NULL, "InfiniBand", "Ethernet" },
	};
	for (int i = 1; i < 8 && names[kind][i]; i++)
		if (strcmp(names[kind][i], name) == 0)
			return i;
	return -1;
}

static const struct muster_field numa_fields[] = {
	F(muster_sim_numa, os_index, INT),
	F(muster_sim_numa, cpu_list, TEXT),
	F(muster_sim_numa, memory_mib, NUMBER),
	F(muster_sim_numa, socket, INT),
	F(muster_sim_numa, triad_gbps, NUMBER),
};
const struct muster_object_type muster_sim_numa_type = MUSTER_OBJECT_TYPE(muster_sim_numa, numa_fields);

static const struct muster_field disk_fields[] = {
	F(muster_sim_disk, device, TEXT),
	F(muster_sim_disk, model, TEXT),
	F(muster_sim_disk, gb, NUMBER),
};
const struct muster_object_type muster_sim_disk_type = MUSTER_OBJECT_TYPE(muster_sim_disk, disk_fields);

static const struct muster_field volume_fields[] = {
	D(muster_sim_volume, path, TEXT, DESCRIBED),
	D(muster_sim_volume, filesystem, TEXT, DESCRIBED),
	D(muster_sim_volume, device, TEXT, DESCRIBED),
	D(muster_sim_volume, layout, TEXT, DESCRIBED),
	F(muster_sim_volume, gb, NUMBER),
	F(muster_sim_volume, free_gb, NUMBER),
	D(muster_sim_volume, read_gbps, NUMBER, DESCRIBED),
	D(muster_sim_volume, write_gbps, NUMBER, DESCRIBED),
	D(muster_sim_volume, latency_us, NUMBER, DESCRIBED),
	F(muster_sim_volume, missing_members, INT),
	F(muster_sim_volume, read_only, BOOLEAN),
	F(muster_sim_volume, stalls, TEXT),
	F(muster_sim_volume, flipped_at, WORD),
};
const struct muster_object_type muster_sim_volume_type = MUSTER_OBJECT_TYPE(muster_sim_volume, volume_fields);

static const struct muster_field node_fields[] = {
	F(muster_sim_node, name, TEXT),
	F(muster_sim_node, directory, TEXT),
	D(muster_sim_node, os_name, TEXT, HOST),
	D(muster_sim_node, kernel, TEXT, HOST),
	D(muster_sim_node, cpu_model, TEXT, HOST),
	D(muster_sim_node, architecture, TEXT, HOST),
	{ MUSTER_FIELD(muster_sim_node, sockets, INT), .low = 1, .part = MUSTER_SIM_HOST },
	{ MUSTER_FIELD(muster_sim_node, threads_per_core, INT), .low = 1, .part = MUSTER_SIM_HOST },
	F(muster_sim_node, vm_size, TEXT),
	F(muster_sim_node, placement_group, TEXT),
	D(muster_sim_node, coherent_memory_mode, TEXT, HOST),
	D(muster_sim_node, imex_channels, INT, HOST),
	F(muster_sim_node, imex_hidden, BOOLEAN),
	TEXTS(muster_sim_node, daemons, daemon_count, MUSTER_SIM_HOST),
	F(muster_sim_node, shm_mib, NUMBER),
	D(muster_sim_node, memlock, TEXT, HOST),
	D(muster_sim_node, cpu_governor, TEXT, HOST),
	D(muster_sim_node, ofed_version, TEXT, HOST),
	D(muster_sim_node, peermem, BOOLEAN, HOST),
	D(muster_sim_node, dma_buf, BOOLEAN, HOST),
	F(muster_sim_node, acs, BOOLEAN),
	OBJECTS(muster_sim_node, disks, disk_count, &muster_sim_disk_type),
	D(muster_sim_node, temp_disk_gb, NUMBER, HOST),
	OBJECTS(muster_sim_node, volumes, volume_count, &muster_sim_volume_type),
	F(muster_sim_node, io_uring_refused, BOOLEAN),
	F(muster_sim_node, broadcast_gbps, NUMBER),
	TEXTS(muster_sim_node, environment, environment_count, MUSTER_SIM_HOST),
	TEXTS(muster_sim_node, nccl_conf, nccl_conf_count, MUSTER_SIM_HOST),
	D(muster_sim_node, topo_file, TEXT, HOST),
	F(muster_sim_node, nccl_plugin_missing, BOOLEAN),
	F(muster_sim_node, topo_file_swapped, BOOLEAN),
	TEXTS(muster_sim_node, kernel_log, kernel_log_count, 0),
	F(muster_sim_node, kernel_log_hidden, BOOLEAN),
	TEXTS(muster_sim_node, paths_missing, path_missing_count, 0),
	TEXTS(muster_sim_node, paths_other, path_other_count, 0),
	OBJECTS(muster_sim_node, numas, numa_count, &muster_sim_numa_type),
	D(muster_sim_node, driver_version, TEXT, SOFTWARE),
	D(muster_sim_node, cuda_driver, INT, SOFTWARE),
	D(muster_sim_node, nvml_version, TEXT, SOFTWARE),
	D(muster_sim_node, nccl_version, INT, SOFTWARE),
	TEXTS(muster_sim_node, missing_libraries, missing_library_count, 0),
	OBJECTS(muster_sim_node, gpus, gpu_count, &muster_sim_gpu_type),
	OBJECTS(muster_sim_node, unseen_gpus, unseen_gpu_count, &muster_sim_gpu_type),
	OBJECTS(muster_sim_node, ports, port_count, &muster_sim_port_type),
};
const struct muster_object_type muster_sim_node_type = MUSTER_OBJECT_TYPE(muster_sim_node, node_fields);

static const struct muster_field rank_fields[] = {
	F(muster_sim_rank, node, INT),
	F(muster_sim_rank, local_rank, INT),
	F(muster_sim_rank, cpu_mask, TEXT),
	{ MUSTER_FIELD(muster_sim_rank, visible_gpus, TEXT), .or_null = true },
	F(muster_sim_rank, nccl_slow, NUMBER),
	F(muster_sim_rank, nccl_jitter, NUMBER),
	F(muster_sim_rank, exchange_wrong, BOOLEAN),
	F(muster_sim_rank, nccl_wrong_sum, BOOLEAN),
	F(muster_sim_rank, nccl_hang, TEXT),
	F(muster_sim_rank, nccl_async_error, BOOLEAN),
	TEXTS(muster_sim_rank, deaths, death_count, 0),
};
static const struct muster_object_type rank_type = MUSTER_OBJECT_TYPE(muster_sim_rank, rank_fields);

static const struct muster_field bandwidth_fields[] = {
	F(muster_sim_bandwidth, domains, INT),
	F(muster_sim_bandwidth, nodes, INT),
	F(muster_sim_bandwidth, bytes, NUMBER),
	F(muster_sim_bandwidth, busbw_gbps, NUMBER),
};
const struct muster_object_type muster_sim_bandwidth_type = MUSTER_OBJECT_TYPE(muster_sim_bandwidth, bandwidth_fields);

static const struct muster_field barrier_fields[] = {
	F(muster_sim_partition, name, TEXT),
	F(muster_sim_partition, mode, TEXT),
	F(muster_sim_partition, sides, TEXT),
};
static const struct muster_object_type barrier_type = MUSTER_OBJECT_TYPE(muster_sim_partition, barrier_fields);

static const struct muster_field link_fields[] = {
	F(muster_sim_link, name, TEXT),
	F(muster_sim_link, from_node, INT),
	F(muster_sim_link, to_node, INT),
	F(muster_sim_link, from_gpu, TEXT),
	F(muster_sim_link, to_gpu, TEXT),
	F(muster_sim_link, gbps, NUMBER),
};
static const struct muster_object_type link_type = MUSTER_OBJECT_TYPE(muster_sim_link, link_fields);

static const struct muster_field cluster_fields[] = {
	F(muster_sim_cluster, sku, TEXT),
	F(muster_sim_cluster, directory, TEXT),
	F(muster_sim_cluster, intra_transport, TEXT),
	F(muster_sim_cluster, inter_transport, TEXT),
	OBJECTS(muster_sim_cluster, nodes, node_count, &muster_sim_node_type),
	OBJECTS(muster_sim_cluster, ranks, rank_count, &rank_type),
	OBJECTS(muster_sim_cluster, bandwidths, bandwidth_count, &muster_sim_bandwidth_type),
	OBJECTS(muster_sim_cluster, barriers, barrier_count, &barrier_type),
	OBJECTS(muster_sim_cluster, links, link_count, &link_type),
};
const struct muster_object_type muster_sim_cluster_type = MUSTER_OBJECT_TYPE(muster_sim_cluster, cluster_fields);

static int check(const struct muster_sim_cluster *cluster, struct muster_error *err)
{
	for (size_t i = 0; i < cluster->rank_count; i++)
		if (cluster->ranks[i].node < 0 || (size_t)cluster->ranks[i].node >= cluster->node_count)
			return muster_fail(err, MUSTER_EUSAGE, "$.ranks[%zu].node: there is no node %d", i,
				cluster->ranks[i].node);
	for (size_t i = 0; i < cluster->link_count; i++) {
		const struct muster_sim_link *link = &cluster->links[i];
		if (link->from_node < 0 || (size_t)link->from_node >= cluster->node_count || link->to_node < 0 ||
			(size_t)link->to_node >= cluster->node_count)
			return muster_fail(err, MUSTER_EUSAGE, "$.links[%zu]: there are nodes 0 to %zu", i,
				cluster->node_count - 1);
	}
	for (size_t i = 0; i < cluster->barrier_count; i++)
		if (strlen(cluster->barriers[i].sides) != cluster->node_count)
			return muster_fail(
				err, MUSTER_EUSAGE, "$.barriers[%zu].sides: a letter for each node is needed", i);
	return 0;
}

int muster_sim_cluster_read(const char *path, struct muster_sim_cluster *ret, struct muster_error *err)
{
	struct muster_sim_cluster cluster = { .arena = NULL };
	struct muster_json_reader reader = { .err = err };
	struct muster_json *json;
	if (muster_json_parse_file(path, CLUSTER_BYTES_MAX, &json, err) < 0)
		return -1;
	cluster.arena = reader.arena = muster_arena_new();
	int rc = muster_object_read(&reader, json, &muster_sim_cluster_type, &cluster);
	if (rc == 0)
		rc = check(&cluster, err);
	muster_json_free(json);
	if (rc < 0) {
		muster_arena_free(cluster.arena);
		return muster_wrap(err, "%s", path);
	}
	*ret = cluster;
	return 0;
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
	muster_object_write(&w, &muster_sim_cluster_type, cluster);
	if (w.incomplete) {
		muster_file_abandon(&file);
		return muster_fail(err, MUSTER_EUSAGE, "%s: \"%s\" has no value", path, w.incomplete);
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
