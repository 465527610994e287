/* SPDX-License-Identifier: Apache-2.0 */
/* synthetic_run.h - a run of any number of ranks, as a healthy ND96asr_v4 cluster would give it
 *
 * Every metric of the catalogue is there, on everything that it fits. Figures differ from rank to rank and have as many
 * digits as measured ones do.
 */
#ifndef MUSTER_TESTS_SYNTHETIC_RUN_H
#define MUSTER_TESTS_SYNTHETIC_RUN_H

#include "muster/probe.h"
#include "muster/run.h"

#include <stdio.h>
#include <string.h>

enum { SYNTHETIC_PER_NODE = 8, SYNTHETIC_PORTS = 9 };

/* Values that are not the same as their type's default (1, "text", true). */
struct synthetic_value {
	const char *metric;
	double number;
	const char *text;
};

static const struct synthetic_value synthetic_values[] = {
	{ "gpu.compute_capability", 0, "8.0" },
	{ "gpu.copy_mib", 256, NULL },
	{ "gpu.d2h_gbps", 25.1, NULL },
	{ "gpu.d2h_together_gbps", 24.1, NULL },
	{ "gpu.ecc_corrected_volatile", 0, NULL },
	{ "gpu.ecc_uncorrected_aggregate", 0, NULL },
	{ "gpu.ecc_uncorrected_volatile", 0, NULL },
	{ "gpu.gemm_bf16_tflops", 253.7, NULL },
	{ "gpu.gemm_checksum", 0, "3587c3c2ecc6578c" },
	{ "gpu.gemm_fp64_tflops", 18.9, NULL },
	{ "gpu.gemm_fp8_tflops", 500, NULL },
	{ "gpu.gemm_sustained_tflops", 250, NULL },
	{ "gpu.gemm_wrong", 0, NULL },
	{ "gpu.h2d_gbps", 26.1, NULL },
	{ "gpu.h2d_together_gbps", 25.1, NULL },
	{ "gpu.matmul_bf16_limit_tflops", 312, NULL },
	{ "gpu.mem_clock_max_mhz", 1215, NULL },
	{ "gpu.mem_clock_mhz", 1215, NULL },
	{ "gpu.memory_limit_gbps", 1555.2, NULL },
	{ "gpu.memory_mib", 40960, NULL },
	{ "gpu.memory_read_gbps", 1400, NULL },
	{ "gpu.memory_write_gbps", 1350, NULL },
	{ "gpu.memory_wrong", 0, NULL },
	{ "gpu.memory_wrong_at", 0, "none" },
	{ "gpu.mig", 0, "false" },
	{ "gpu.name", 0, "NVIDIA A100-SXM4-40GB" },
	{ "gpu.nvlink_gbps", 25, NULL },
	{ "gpu.nvlink_limit_gbps", 300, NULL },
	{ "gpu.nvlink_peers", 7, NULL },
	{ "gpu.nvlinks", 12, NULL },
	{ "gpu.pcie_gen", 4, NULL },
	{ "gpu.pcie_gen_loaded", 4, NULL },
	{ "gpu.pcie_gen_max", 4, NULL },
	{ "gpu.pcie_limit_gbps", 31.5, NULL },
	{ "gpu.pcie_width", 16, NULL },
	{ "gpu.pcie_width_loaded", 16, NULL },
	{ "gpu.pcie_width_max", 16, NULL },
	{ "gpu.power_limit_watts", 400, NULL },
	{ "gpu.power_watts", 61.2, NULL },
	{ "gpu.remap_failed", 0, "false" },
	{ "gpu.remap_pending", 0, "false" },
	{ "gpu.remapped_correctable", 0, NULL },
	{ "gpu.remapped_uncorrectable", 0, NULL },
	{ "gpu.sm_clock_max_mhz", 1410, NULL },
	{ "gpu.sm_clock_mhz", 1410, NULL },
	{ "gpu.temperature_celsius", 34, NULL },
	{ "gpu.temperature_loaded_celsius", 58, NULL },
	{ "gpu.temperature_margin_celsius", 34, NULL },
	{ "gpu.throttle_reasons", 0, "none" },
	{ "nccl.allgather_busbw_gbps", 143.5, NULL },
	{ "nccl.allreduce_algbw_gbps", 122.4, NULL },
	{ "nccl.allreduce_busbw_gbps", 229.5, NULL },
	{ "nccl.allreduce_limit_gbps", 300, NULL },
	{ "nccl.allreduce_us", 70164.9, NULL },
	{ "nccl.alltoall_busbw_gbps", 164, NULL },
	{ "nccl.alltoall_limit_gbps", 300, NULL },
	{ "nccl.reducescatter_busbw_gbps", 141.6, NULL },
	{ "node.architecture", 0, "x86_64" },
	{ "node.cpu_model", 0, "AMD EPYC 7V12 64-Core Processor" },
	{ "node.cpus", 96, NULL },
	{ "node.cuda_driver_api", 0, "13.0" },
	{ "node.driver_version", 0, "580.126.16" },
	{ "node.gpu_bus_ids", 0,
		"0001:00:00.0 0002:00:00.0 0003:00:00.0 0004:00:00.0 000b:00:00.0 000c:00:00.0 000d:00:00.0 "
		"000e:00:00.0" },
	{ "node.gpu_count", 8, NULL },
	{ "node.ib_ports", 8, NULL },
	{ "node.kernel", 0, "5.15.0-1089-azure" },
	{ "node.memory_mib", 885824, NULL },
	{ "node.nccl_version", 0, "2.28.9" },
	{ "node.numa_nodes", 4, NULL },
	{ "node.os", 0, "Ubuntu 22.04.5 LTS" },
	{ "node.ranks", 8, NULL },
	{ "node.sockets", 2, NULL },
	{ "port.counter", 0, NULL },
	{ "port.counter_increase", 0, NULL },
	{ "port.firmware", 0, "20.31.1014" },
	{ "port.hca_type", 0, "MT4124" },
	{ "port.limit_gbps", 25, NULL },
	{ "port.mtu_bytes", 4096, NULL },
	{ "port.phys_state", 0, "LinkUp" },
	{ "port.pkeys", 0, "0x8012 0x7fff" },
	{ "port.rate_gbps", 200, NULL },
	{ "port.rate_verbs_gbps", 200, NULL },
	{ "port.speed", 0, "HDR" },
	{ "port.state", 0, "ACTIVE" },
	{ "port.width", 4, NULL },
	{ "rank.allreduce_us", 70164.9, NULL },
	{ "rank.allreduce_wrong", 0, NULL },
	{ "rank.cpu_locality", 0, "inside" },
	{ "rank.cpus", 24, NULL },
	{ "rank.gpu_choice", 0, "local-rank" },
	{ "rank.memory_policy", 0, "default" },
	{ "rank.nccl_algo", 0, "67108864:RING/SIMPLE 536870912:RING/SIMPLE" },
	{ "rank.nccl_collnet", 0, "none" },
	{ "rank.nccl_init_ms", 431.7, NULL },
	{ "rank.nccl_plugin", 0, "none" },
	{ "rank.nccl_transport", 0, "P2P/CUMEM NET/IB/GDRDMA" },
	{ "rank.visible_gpus", 8, NULL },
};

static const char *const synthetic_gpus[SYNTHETIC_PER_NODE] = {
	"0001:00:00.0",
	"0002:00:00.0",
	"0003:00:00.0",
	"0004:00:00.0",
	"000b:00:00.0",
	"000c:00:00.0",
	"000d:00:00.0",
	"000e:00:00.0",
};
static const char *const synthetic_numa_masks[] = { "ffffff", "ffffff000000", "ffffff000000000000",
	"ffffff000000000000000000" };
static const char *const synthetic_numa_lists[] = { "0-23", "24-47", "48-71", "72-95" };
static const int synthetic_numa[SYNTHETIC_PER_NODE] = { 1, 1, 0, 0, 3, 3, 2, 2 };

/* What a sample is about: the values of labels, and what makes figures differ. */
struct synthetic_place {
	struct muster_run *run;
	int rank, ranks, nodes, port; /* port: -1 when it is not one */
	struct muster_label labels[MUSTER_LABELS_MAX];
};

/* Measured figures differ a little from rank to rank, so that they are no round numbers. */
static inline double synthetic_wobble(const struct synthetic_place *place)
{
	return 1.0 - (double)(place->rank % 97) / 9973.0;
}

static inline struct muster_value synthetic_string(struct synthetic_place *place, const char *name)
{
	struct muster_arena *arena = place->run->arena;
	int local = place->rank % SYNTHETIC_PER_NODE, node = place->rank / SYNTHETIC_PER_NODE,
	    numa = synthetic_numa[local];
	if (strcmp(name, "gpu.uuid") == 0)
		return muster_string(
			muster_arena_printf(arena, "GPU-%08x-5b1d-4c7e-9f00-%012x", place->rank, place->rank));
	if (strcmp(name, "port.guid") == 0)
		return muster_string(muster_arena_printf(arena, "0015:5dff:%04x:%04x", node, place->port));
	if (strcmp(name, "port.gid") == 0)
		return muster_string(
			muster_arena_printf(arena, "fe80:0000:0000:0000:0015:5dff:%04x:%04x", node, place->port));
	if (strcmp(name, "rank.cpu_mask") == 0 || strcmp(name, "rank.gpu_cpu_mask") == 0)
		return muster_string(synthetic_numa_masks[numa]);
	if (strcmp(name, "rank.cpu_list") == 0 || strcmp(name, "rank.gpu_cpu_list") == 0)
		return muster_string(synthetic_numa_lists[numa]);
	return muster_string("text");
}

static inline struct muster_value synthetic_value_of(struct synthetic_place *place, const struct muster_metric *metric)
{
	const struct synthetic_value *known = NULL;
	for (size_t i = 0; i < sizeof synthetic_values / sizeof *synthetic_values && !known; i++)
		if (strcmp(synthetic_values[i].metric, metric->name) == 0)
			known = &synthetic_values[i];
	if (metric->type == MUSTER_BOOLEAN)
		return muster_boolean(!known);
	if (metric->type == MUSTER_STRING)
		return known ? muster_string(known->text) : synthetic_string(place, metric->name);
	double number = known ? known->number : 1;
	if (strstr(metric->name, "numa_node") && metric->scope != MUSTER_SCOPE_NODE)
		number = synthetic_numa[place->rank % SYNTHETIC_PER_NODE];
	if (strcmp(metric->name, "rank.mpi_size") == 0 || strcmp(metric->name, "nccl.ring_ranks") == 0)
		number = place->ranks;
	if (strcmp(metric->name, "nccl.ring_nodes") == 0)
		number = place->nodes;
	if (strcmp(metric->name, "rank.cpu_numa_nodes") == 0)
		number = 1;
	if (strcmp(metric->name, "rank.local_rank") == 0)
		number = place->rank % SYNTHETIC_PER_NODE;
	bool measured = muster_units[metric->unit].transfer || metric->unit == MUSTER_UNIT_MS ||
			metric->unit == MUSTER_UNIT_WATTS;
	if (measured && !strstr(metric->name, "_limit_") && strcmp(metric->name, "gpu.nvlink_gbps") != 0 &&
		strcmp(metric->name, "gpu.power_limit_watts") != 0)
		number *= synthetic_wobble(place);
	return muster_number(number);
}

static inline const char *synthetic_link(const char *metric)
{
	return strstr(metric, "pcie") ? "PCIe 4.0 x16" : strstr(metric, "c2c") ? "C2C" : "NVLink (12 x 25.0)";
}

/* Add the metric's samples: one for each combination of the values that its labels take here. */
static inline void synthetic_add(
	struct synthetic_place *place, const struct muster_metric *metric, size_t label, struct muster_samples *samples)
{
	static const char *const libraries[] = { "libcuda.so.1", "libibverbs.so.1", "libnccl.so.2",
		"libnvidia-ml.so.1" };
	static const char *const counters[] = { "link_downed", "link_error_recovery", "port_rcv_errors",
		"port_xmit_discards", "symbol_error", "out_of_sequence" };
	static const double sizes[] = { 8, 1048576, 16777216, 536870912, 8589934592 };
	struct muster_arena *arena = place->run->arena;
	if (label == MUSTER_LABELS_MAX || !metric->labels[label]) {
		struct muster_label *labels = NULL;
		if (label > 0) {
			labels = muster_arena_alloc(arena, label * sizeof *labels);
			memcpy(labels, place->labels, label * sizeof *labels);
		}
		/* what only Slurm knows is null here */
		bool slurm = strstr(metric->name, "slurm") || strcmp(metric->name, "rank.cuda_visible_devices") == 0;
		bool absent = strcmp(metric->name, "gpu.c2c_limit_gbps") == 0; /* the machine has no C2C */
		muster_samples_add(
			samples, (struct muster_sample){ .metric = metric,
					 .labels = labels,
					 .label_count = (unsigned int)label,
					 .value = slurm || absent ? muster_null() : synthetic_value_of(place, metric),
					 .reason = slurm    ? "not started by Slurm"
						   : absent ? "no C2C link is up"
							    : NULL });
		return;
	}
	const char *key = metric->labels[label];
	struct muster_label *here = &place->labels[label];
	here->key = key;
	if (strcmp(key, "library") == 0) {
		for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++) {
			here->value = muster_string(libraries[i]);
			synthetic_add(place, metric, label + 1, samples);
		}
	} else if (strcmp(key, "counter") == 0) {
		for (size_t i = 0; i < sizeof counters / sizeof *counters; i++) {
			here->value = muster_string(counters[i]);
			synthetic_add(place, metric, label + 1, samples);
		}
	} else if (strcmp(key, "bytes") == 0) {
		for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
			here->value = muster_number(sizes[i]);
			synthetic_add(place, metric, label + 1, samples);
		}
	} else {
		here->value = strcmp(key, "gpu") == 0 ? muster_string(synthetic_gpus[place->rank % SYNTHETIC_PER_NODE])
			      : strcmp(key, "port") == 0
				      ? muster_string(place->port == SYNTHETIC_PORTS - 1
							      ? "mlx5_an0/1"
							      : muster_arena_printf(arena, "mlx5_ib%d/1", place->port))
			      : strcmp(key, "link_layer") == 0
				      ? muster_string(place->port == SYNTHETIC_PORTS - 1 ? "Ethernet" : "InfiniBand")
			      : strcmp(key, "nodes") == 0                     ? muster_number(place->nodes)
			      : strcmp(key, "ranks") == 0                     ? muster_number(place->ranks)
			      : muster_label_find(key)->type == MUSTER_NUMBER ? muster_number(0)
			      : strcmp(key, "path") == 0                      ? muster_string("NVLink")
			      : strcmp(key, "link") == 0 ? muster_string(synthetic_link(metric->name))
							 : muster_string("text");
		synthetic_add(place, metric, label + 1, samples);
	}
}

static inline void synthetic_scope(
	struct synthetic_place *place, enum muster_scope scope, struct muster_samples *samples)
{
	for (size_t i = 0; i < muster_metric_count(); i++)
		if (muster_metric_at(i)->scope == scope)
			synthetic_add(place, muster_metric_at(i), 0, samples);
}

/* All ranks are there, all probes ended well. muster_run_done releases it. */
static inline void synthetic_run(struct muster_run *run, int ranks)
{
	muster_run_init(run);
	struct synthetic_place place = { .run = run, .ranks = ranks, .port = -1 };
	place.nodes = (ranks + SYNTHETIC_PER_NODE - 1) / SYNTHETIC_PER_NODE;
	run->job.id = "4711";
	run->job.started = "2025-01-31T12:00:00Z";
	run->job.elapsed_s = 4.25;
	run->job.profile = "standard";
	run->job.ranks = ranks;
	run->job.simulated = true;
	run->job.version = MUSTER_VERSION;
	synthetic_scope(&place, MUSTER_SCOPE_JOB, &run->job.samples);
	struct muster_node *node = NULL;
	for (; place.rank < ranks; place.rank++) {
		int local = place.rank % SYNTHETIC_PER_NODE;
		if (local == 0) {
			char name[32];
			snprintf(name, sizeof name, "sim-%d", place.rank / SYNTHETIC_PER_NODE + 1);
			node = muster_run_add_node(run, name);
			node->simulated = true;
			synthetic_scope(&place, MUSTER_SCOPE_NODE, &node->samples);
			for (place.port = 0; place.port < SYNTHETIC_PORTS; place.port++)
				synthetic_scope(&place, MUSTER_SCOPE_PORT, &node->samples);
			place.port = -1;
		}
		struct muster_rank *rank = muster_node_add_rank(node, place.rank);
		rank->local_rank = local;
		rank->gpu = synthetic_gpus[local];
		rank->gpu_uuid = synthetic_string(&place, "gpu.uuid").string;
		synthetic_scope(&place, MUSTER_SCOPE_RANK, &rank->samples);
		synthetic_scope(&place, MUSTER_SCOPE_GPU, &rank->samples);
		for (size_t i = 0; i < muster_probe_count(); i++) {
			const struct muster_probe *probe = muster_probe_at(i);
			if (probe->scope == MUSTER_SCOPE_RANK || local == 0)
				muster_outcomes_add(
					&rank->outcomes, (struct muster_outcome){ .probe = probe->name,
								 .elapsed_ms = 12.5 * synthetic_wobble(&place) });
		}
	}
}

#endif
