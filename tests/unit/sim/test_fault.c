/* SPDX-License-Identifier: Apache-2.0 */
/* test_fault.c - each fault changes what it says, and nothing else */
#include "check_main.h"
#include "sim_fixture.h"

#include "sim/fault.h"
#include "json/object.h"

#include <stdlib.h>
#include <string.h>

/* What differs between two clusters, by the tables of fields: "sim-1/0001:00:00.0.name" for a field, "-sim-1/mlx5_ib5"
 * and "+sim-1/mlx5_extra" for what only the first or only the second has. */
struct differences {
	struct muster_arena *arena;
	const char *text;
};

static void differ(struct differences *d, const char *what)
{
	d->text = *d->text ? muster_arena_printf(d->arena, "%s %s", d->text, what) : what;
}

struct items {
	const void *first;
	size_t count;
};

static struct items items_of(const struct muster_field *field, const void *base)
{
	struct items items;
	memcpy(&items.first, (const char *)base + field->offset, sizeof items.first);
	memcpy(&items.count, (const char *)base + field->count_offset, sizeof items.count);
	return items;
}

static const void *item_at(const struct muster_field *field, struct items items, size_t index)
{
	return (const char *)items.first + index * field->object->size;
}

/* An element is called what its first field says, or, where that is a number, by its place. */
static const char *item_name(
	struct muster_arena *arena, const struct muster_field *field, struct items items, size_t index)
{
	const struct muster_field *first = &field->object->fields[0];
	if (first->type != MUSTER_FIELD_TEXT)
		return muster_arena_printf(arena, "%s[%zu]", field->key, index);
	return *(const char *const *)((const char *)item_at(field, items, index) + first->offset);
}

static const void *item_find(
	struct muster_arena *arena, const struct muster_field *field, struct items items, const char *name)
{
	for (size_t i = 0; i < items.count; i++)
		if (strcmp(item_name(arena, field, items, i), name) == 0)
			return item_at(field, items, i);
	return NULL;
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same_texts(struct items a, struct items b)
{
	bool same = a.count == b.count;
	for (size_t i = 0; same && i < a.count; i++)
		same = same_text(((const char *const *)a.first)[i], ((const char *const *)b.first)[i]);
	return same;
}

static void compare(
	struct differences *d, const struct muster_object_type *type, const char *path, const void *a, const void *b);

static void compare_items(
	struct differences *d, const struct muster_field *field, const char *path, struct items a, struct items b)
{
	const char *slash = *path ? "/" : "";
	for (size_t i = 0; i < a.count; i++) {
		const char *name = item_name(d->arena, field, a, i);
		const void *other = item_find(d->arena, field, b, name);
		const char *item_path = muster_arena_printf(d->arena, "%s%s%s", path, slash, name);
		if (other)
			compare(d, field->object, item_path, item_at(field, a, i), other);
		else
			differ(d, muster_arena_printf(d->arena, "-%s", item_path));
	}
	for (size_t i = 0; i < b.count; i++) {
		const char *name = item_name(d->arena, field, b, i);
		if (!item_find(d->arena, field, a, name))
			differ(d, muster_arena_printf(d->arena, "+%s%s%s", path, slash, name));
	}
}

static bool same_field(const struct muster_field *field, const void *a, const void *b)
{
	const void *x = (const char *)a + field->offset, *y = (const char *)b + field->offset;
	if (field->many)
		return same_texts(items_of(field, a), items_of(field, b));
	switch (field->type) {
	case MUSTER_FIELD_INT: return memcmp(x, y, sizeof(int)) == 0;
	case MUSTER_FIELD_NUMBER: return memcmp(x, y, sizeof(double)) == 0;
	case MUSTER_FIELD_BOOLEAN: return memcmp(x, y, sizeof(bool)) == 0;
	case MUSTER_FIELD_WORD: return memcmp(x, y, sizeof(unsigned long long)) == 0;
	case MUSTER_FIELD_TEXT: return same_text(*(const char *const *)x, *(const char *const *)y);
	default: break;
	}
	ck_abort_msg("%s is of no kind that can be compared", field->key);
	return false;
}

static void compare(
	struct differences *d, const struct muster_object_type *type, const char *path, const void *a, const void *b)
{
	for (const struct muster_field *field = type->fields; field < type->fields + type->count; field++)
		if (field->type == MUSTER_FIELD_OBJECT)
			compare_items(d, field, path, items_of(field, a), items_of(field, b));
		else if (!same_field(field, a, b))
			differ(d, muster_arena_printf(d->arena, "%s.%s", path, field->key));
}

static const struct muster_sim_gpu *gpu_in(const struct muster_sim_node *node, const char *bus_id)
{
	for (size_t i = 0; i < node->gpu_count; i++)
		if (strcmp(node->gpus[i].bus_id, bus_id) == 0)
			return &node->gpus[i];
	return NULL;
}

/* What a RoCE adapter in place of an InfiniBand one changes. */
#define ROCE(device)                                                                                                   \
	"sim-2/" device ".link_layer sim-2/" device ".active_speed sim-2/" device ".active_width sim-2/" device        \
	".rate sim-2/" device ".lid sim-2/" device ".sm_lid sim-2/" device ".pkeys"

#define SCRATCH(node, field) node "//mnt/resource_nvme." field

/* Sorted by SKU, then as `muster sim --list-faults` has them. */
#define LAST_8(what)                                                                                                   \
	"ranks[8]." what " ranks[9]." what " ranks[10]." what " ranks[11]." what " ranks[12]." what " ranks[13]." what \
	" ranks[14]." what " ranks[15]." what

static const struct {
	const char *sku, *fault, *changes;
} table[] = {
	{ SIM_SKU, "acs@node2", "sim-2.acs" },
	{ SIM_SKU, "aer@node1=corrected:2h", "sim-1.kernel_log" },
	{ SIM_SKU, "counter@node2/mlx5_ib3", "sim-2/mlx5_ib3/symbol_error.increase" },
	{ SIM_SKU, "counter@node1/mlx5_ib0=hw:out_of_sequence:7", "sim-1/mlx5_ib0/hw:out_of_sequence.increase" },
	{ SIM_SKU, "cpu-mask@rank12", "ranks[12].cpu_mask" },
	{ SIM_SKU, "cpu-mask@rank3=f", "ranks[3].cpu_mask" },
	{ SIM_SKU, "cublas-missing@node2", "sim-2.missing_libraries" },
	{ SIM_SKU, "cufile-missing@node2", "sim-2.missing_libraries" },
	{ SIM_SKU, "cut@node1", "+sim-1 and those before it, and those behind it" },
	{ SIM_SKU, "d2h-slow@node2/gpu7", "sim-2/000e:00:00.0.d2h_gbps sim-2/000e:00:00.0.d2h_together_gbps" },
	{ SIM_SKU, "dies@rank5=ncclAllReduce#3:segv", "ranks[5].deaths" },
	{ SIM_SKU, "cuda-error@node2=cuInit:803", LAST_8("deaths") },
	{ SIM_SKU, "cuda-slow@node2/gpu1=cuMemAlloc_v2#2:40s", LAST_8("deaths") },
	{ SIM_SKU, "nvml-error@node2/gpu1=nvmlDeviceGetName:15", LAST_8("deaths") },
	{ SIM_SKU, "nvml-slow@node2=nvmlInit_v2:0.5s", LAST_8("deaths") },
	{ SIM_SKU, "bit-rot@node2=4097", SCRATCH("sim-2", "flipped_at") },
	{ SIM_SKU, "booted@node2=120", "sim-2.up_s" },
	{ SIM_SKU, "broadcast-slow@node2=3", "sim-2.broadcast_gbps" },
	{ SIM_SKU, "checkpoint-slow@node2=0.5", "sim-2//shared.read_gbps sim-2//shared.write_gbps" },
	{ SIM_SKU, "checkpoint-stall@node1=read", "sim-1//shared.stalls" },
	{ SIM_SKU, "checkpoint-wrong@node1=4097", "sim-1//shared.flipped_at" },
	{ SIM_SKU, "disk-missing@node1=nvme6n1",
		"-sim-1/nvme6n1 " SCRATCH("sim-1", "gb") " " SCRATCH("sim-1", "free_gb") " " SCRATCH(
			"sim-1", "read_gbps") " " SCRATCH("sim-1", "write_gbps") },
	{ SIM_SKU, "disk-slow@node2=0.5", SCRATCH("sim-2", "read_gbps") " " SCRATCH("sim-2", "write_gbps") },
	{ SIM_SKU, "io-uring-refused@node1", "sim-1.io_uring_refused" },
	{ SIM_SKU, "raid-degraded@node1=2", SCRATCH("sim-1", "missing_members") },
	{ SIM_SKU, "scratch-full@node1=95", SCRATCH("sim-1", "free_gb") },
	{ SIM_SKU, "scratch-missing@node1", "-sim-1//mnt/resource_nvme" },
	{ SIM_SKU, "scratch-read-only@node1", SCRATCH("sim-1", "read_only") },
	{ SIM_SKU, "stall@node1=write", SCRATCH("sim-1", "stalls") },
	{ SIM_SKU, "driver-drift@node2", "sim-2.driver_version sim-2.nvml_version" },
	{ SIM_SKU, "duplicate-gpu@rank5", "ranks[5].visible_gpus" },
	{ SIM_SKU, "ecc-uncorrected@node1/gpu1=5",
		"sim-1/0002:00:00.0.ecc_uncorrected_volatile sim-1/0002:00:00.0.ecc_uncorrected_aggregate" },
	{ SIM_SKU, "bar1-small@node1/gpu0", "sim-1/0001:00:00.0.bar1_mib" },
	{ SIM_SKU, "clock-locked@node1/gpu0=660",
		"sim-1/0001:00:00.0.gemm_bf16_tflops sim-1/0001:00:00.0.gemm_fp64_tflops "
		"sim-1/0001:00:00.0.sm_clock_loaded_mhz sim-1/0001:00:00.0.power_loaded_watts "
		"sim-1/0001:00:00.0.throttle_reasons_loaded" },
	{ SIM_SKU, "clock-locked@node1/gpu0=1400", "" }, /* above what load reaches */
	{ SIM_SKU, "compute-mode@node1/gpu1=exclusive-process", "sim-1/0002:00:00.0.compute_mode" },
	{ SIM_SKU, "ecc-pending@node1/gpu1", "sim-1/0002:00:00.0.ecc_changes" },
	{ SIM_SKU, "inforom-bad@node1/gpu1", "sim-1/0002:00:00.0.inforom_bad" },
	{ SIM_SKU, "mig-pending@node1/gpu1", "sim-1/0002:00:00.0.mig_changes" },
	{ SIM_SKU, "power-bmc@node1/gpu0=300", "sim-1/0001:00:00.0.power_limit_watts" },
	{ SIM_SKU, "power-default@node1/gpu0", "sim-1/0001:00:00.0.power_default_watts" },
	{ SIM_SKU, "repair-pending@node1/gpu0", "sim-1/0001:00:00.0.repair_pending" },
	{ SIM_SKU, "vbios@node1/gpu0", "sim-1/0001:00:00.0.vbios" },
	{ SIM_SKU, "device-missing@node1", "sim-1.files_missing" },
	{ SIM_SKU, "driver-library@node1", "sim-1.nvml_version" },
	{ SIM_SKU, "edge-slow@node1/gpu3=60", "sim-1/0004:00:00.0.edge_gbps" },
	{ SIM_SKU, "env@node1", "sim-1.nccl_conf" },
	{ SIM_SKU, "env@node2=NCCL_TOPO_FILE", "sim-2.nccl_conf" },
	{ SIM_SKU, "env@node2=NCCL_TOPO_FILE=/tmp/mine.xml", "sim-2.environment sim-2.nccl_conf" },
	{ SIM_SKU, "exchange-wrong@rank5", "ranks[5].exchange_wrong" },
	{ SIM_SKU, "eager-modules@node1/gpu0", "sim-1/0001:00:00.0.module_mib" },
	{ SIM_SKU, "fabric-manager-dead@node2", "sim-2.daemons" },
	{ SIM_SKU, "flap@node2", "sim-2.kernel_log" },
	{ SIM_SKU, "gemm-slow@node1/gpu0", "sim-1/0001:00:00.0.gemm_bf16_tflops sim-1/0001:00:00.0.gemm_fp64_tflops" },
	{ SIM_SKU, "gemm-wrong@node1/gpu0", "sim-1/0001:00:00.0.gemm_wrong" },
	{ SIM_SKU, "governor@node2", "sim-2.cpu_governor" },
	{ SIM_SKU, "gpu-driver@node2/gpu7", "-sim-2/000e:00:00.0 +sim-2/000e:00:00.0" },
	{ SIM_SKU, "gpu-excluded@node2/gpu7", "-sim-2/000e:00:00.0 +sim-2/000e:00:00.0" },
	{ SIM_SKU, "gpu-hidden@node2/gpu7", "-sim-2/000e:00:00.0 +sim-2/000e:00:00.0" },
	{ SIM_SKU, "gpu-memory@node1/gpu3=40536", "sim-1/0004:00:00.0.memory_mib" },
	{ SIM_SKU, "gpu-missing@node2/gpu7", "-sim-2/000e:00:00.0" },
	{ SIM_SKU, "gpu-missing@node2/gpu6",
		"-sim-2/000d:00:00.0 sim-2/000e:00:00.0.cuda_index sim-2/000e:00:00.0.nvml_index" },
	{ SIM_SKU, "gpu-name@node1/gpu0", "sim-1/0001:00:00.0.name" },
	{ SIM_SKU, "h2d-slow@node1/gpu4=11.2", "sim-1/000b:00:00.0.h2d_gbps sim-1/000b:00:00.0.h2d_together_gbps" },
	{ SIM_SKU, "h2d-slow@node1/gpu4=20", "sim-1/000b:00:00.0.h2d_gbps" },
	{ SIM_SKU, "hbm-slow@node2/gpu0", "sim-2/0001:00:00.0.memory_write_gbps sim-2/0001:00:00.0.memory_read_gbps" },
	{ SIM_SKU, "hot@node1/gpu0",
		"sim-1/0001:00:00.0.gemm_bf16_tflops sim-1/0001:00:00.0.gemm_fp64_tflops "
		"sim-1/0001:00:00.0.sm_clock_loaded_mhz sim-1/0001:00:00.0.temperature_loaded_celsius "
		"sim-1/0001:00:00.0.memory_temperature_celsius sim-1/0001:00:00.0.throttle_reasons_loaded" },
	{ SIM_SKU, "host-name@node2=twin", "-sim-2 +twin" },
	{ SIM_SKU, "ib-down@node1/mlx5_ib3",
		"sim-1/mlx5_ib3.state sim-1/mlx5_ib3.phys_state sim-1/mlx5_ib3.active_speed sim-1/mlx5_ib3.rate "
		"sim-1/mlx5_ib3.lid sim-1/mlx5_ib3.sm_lid" },
	{ SIM_SKU, "ib-extra@node2", "+sim-2/mlx5_extra" },
	{ SIM_SKU, "ib-init@node2/mlx5_ib0", "sim-2/mlx5_ib0.state sim-2/mlx5_ib0.lid sim-2/mlx5_ib0.sm_lid" },
	{ SIM_SKU, "ib-missing@node2/mlx5_ib5", "-sim-2/mlx5_ib5" },
	{ SIM_SKU, "ib-rate@node1/mlx5_ib7", "sim-1/mlx5_ib7.active_speed sim-1/mlx5_ib7.rate" },
	{ SIM_SKU, "ib-rate@node1/mlx5_ib7=50", "sim-1/mlx5_ib7.active_width sim-1/mlx5_ib7.rate" },
	{ SIM_SKU, "lib-missing@node1", "sim-1.missing_libraries" },
	{ SIM_SKU, "nic-port-down@node1/mlx5_ib3",
		"sim-1/mlx5_ib3.state sim-1/mlx5_ib3.phys_state sim-1/mlx5_ib3.active_speed sim-1/mlx5_ib3.rate "
		"sim-1/mlx5_ib3.lid sim-1/mlx5_ib3.sm_lid" },
	{ SIM_SKU, "roce-v1@node2/mlx5_an0", "sim-2/mlx5_an0.roce_v1" },
	{ SIM_SKU, "link-bad@node2", "+sim-2 and sim-1" },
	{ SIM_SKU, "link-bad@node1=2:error", "+sim-1 and sim-2" },
	{ SIM_SKU, "link-slow@node1/gpu3=gpu4:40", "+sim-1/0004:00:00.0 and sim-1/000b:00:00.0" },
	{ SIM_SKU, "link-slow@node1/gpu3=node2:5", "+sim-1/0004:00:00.0 and sim-2/0004:00:00.0" },
	{ SIM_SKU, "link-slow@node2/gpu3=node1/gpu0:5", "+sim-2/0004:00:00.0 and sim-1/0001:00:00.0" },
	{ SIM_SKU, "log-unreadable@node1", "sim-1.kernel_log_hidden" },
	{ SIM_SKU, "memlock@node1", "sim-1.memlock" },
	{ SIM_SKU, "module-proprietary@node2", "sim-2.module_proprietary" },
	{ SIM_SKU, "numa-balancing@node1", "sim-1.numa_balancing" },
	{ SIM_SKU, "memory-channel@node2/numa3=0.8", "sim-2/numas[3].triad_gbps" },
	{ SIM_SKU, "memory-bad@node1/gpu0", "sim-1/0001:00:00.0.memory_bad_bit sim-1/0001:00:00.0.memory_bad_at" },
	{ SIM_SKU, "memory-bad@node1/gpu0=0:63", "sim-1/0001:00:00.0.memory_bad_bit" },
	{ SIM_SKU, "memory-held@node1/gpu0", "sim-1/0001:00:00.0.memory_held_mib" },
	{ SIM_SKU, "mig@node1/gpu5", "sim-1/000c:00:00.0.mig" },
	{ SIM_SKU, "mig@node1/gpu5=3g.20gb",
		"sim-1/000c:00:00.0.mig sim-1/000c:00:00.0.mig_slices sim-1/000c:00:00.0.mig_gb" },
	{ SIM_SKU, "nccl-async-error@rank2", "ranks[2].nccl_async_error" },
	{ SIM_SKU, "nccl-hang@rank2=reduce", "ranks[2].nccl_hang" },
	{ SIM_SKU, "nccl-hang@rank2=step", "ranks[2].nccl_hang" },
	{ SIM_SKU, "nccl-jitter@rank3", "ranks[3].nccl_jitter" },
	{ SIM_SKU, "nccl-slow@rank3=4", "ranks[3].nccl_slow" },
	{ SIM_SKU, "nccl-version@node2", "sim-2.nccl_version" },
	{ SIM_SKU, "nccl-wrong-sum@rank9", "ranks[9].nccl_wrong_sum" },
	{ SIM_SKU, "net-bad@node2=slow", "+sim-2 and all others" },
	{ SIM_SKU, "busy@node1/gpu0", "sim-1/0001:00:00.0.busy_percent" },
	{ SIM_SKU, "nvlink-errors@node1/gpu2", "sim-1/0003:00:00.0.nvlink_recoveries" },
	{ SIM_SKU, "nvlink-errors@node1/gpu2=replay:5", "sim-1/0003:00:00.0.nvlink_replays" },
	{ SIM_SKU, "nvlink-errors@node1/gpu2=crc:5", "sim-1/0003:00:00.0.nvlink_crc_errors" },
	{ SIM_SKU, "pcie-replays@node1/gpu2", "sim-1/0003:00:00.0.pcie_replays" },
	{ SIM_SKU, "recovery-action@node1/gpu2=drain-p2p", "sim-1/0003:00:00.0.recovery_action" },
	{ SIM_SKU, "sram-threshold@node1/gpu2", "sim-1/0003:00:00.0.sram_exceeded" },
	{ SIM_SKU, "stranger@node1/gpu2",
		"sim-1/0003:00:00.0.memory_held_mib sim-1/0003:00:00.0.stranger_pid sim-1/0003:00:00.0.stranger_mib" },
	{ SIM_SKU, "stranger-late@node1/gpu2=9",
		"sim-1/0003:00:00.0.stranger_pid sim-1/0003:00:00.0.stranger_mib sim-1/0003:00:00.0.stranger_late" },
	{ SIM_SKU, "nvlink-down@node1/gpu2=3", "sim-1/0003:00:00.0.nvlinks_active" },
	{ SIM_SKU, "off-the-bus@node2/gpu6",
		"-sim-2/000d:00:00.0 sim-2/000e:00:00.0.cuda_index sim-2/000e:00:00.0.nvml_index "
		"+sim-2/000d:00:00.0" },
	{ SIM_SKU, "kernel-line@node2", "sim-2.kernel_log" },
	{ SIM_SKU, "module-missing@node2=mlx5_ib", "sim-2.files_missing" },
	{ SIM_SKU, "oom@node2=now", "sim-2.kernel_log" },
	{ SIM_SKU, "logged@node2=firmware:5m", "sim-2.kernel_log" },
	{ SIM_SKU, "disk-dead@node1", "sim-1/nvme0n1.gb " SCRATCH("sim-1", "missing_members") " sim-1.kernel_log" },
	{ SIM_SKU, "forged-log@node1", "sim-1.kernel_log" },
	{ SIM_SKU, "p2p-off@node1/gpu3", "sim-1/0004:00:00.0.p2p" },
	{ SIM_SKU, "path-differs@node1=/shared/apps", "sim-1.paths_other" },
	{ SIM_SKU, "path-missing@node2", "sim-2.paths_missing" },
	{ SIM_SKU, "placement-group@node2", "sim-2.placement_group" },
	{ SIM_SKU, "power-brake@node1/gpu0",
		"sim-1/0001:00:00.0.gemm_bf16_tflops sim-1/0001:00:00.0.gemm_fp64_tflops "
		"sim-1/0001:00:00.0.sm_clock_loaded_mhz sim-1/0001:00:00.0.power_loaded_watts "
		"sim-1/0001:00:00.0.throttle_reasons_loaded" },
	{ SIM_SKU, "power-cap@node1/gpu0",
		"sim-1/0001:00:00.0.power_loaded_watts sim-1/0001:00:00.0.throttle_reasons_loaded" },
	{ SIM_SKU, "power-limit@node1/gpu0",
		"sim-1/0001:00:00.0.power_requested_watts sim-1/0001:00:00.0.power_limit_watts "
		"sim-1/0001:00:00.0.power_loaded_watts" },
	{ SIM_SKU, "rail-slow@node2/mlx5_ib3=5", "sim-2/mlx5_ib3.rail_gbps" },
	{ SIM_SKU, "read-only@node1=90m", "sim-1.kernel_log" },
	{ SIM_SKU, "shm-small@node1", "sim-1.shm_mib" },
	{ SIM_SKU, "sm-clock@node1/gpu0", "sim-1/0001:00:00.0.sm_clock_app_mhz" },
	{ SIM_SKU, "soak-drift@node1/gpu0", "sim-1/0001:00:00.0.gemm_drift" },
	{ SIM_SKU, "sxid@node2=20034:30s", "sim-2.kernel_log" },
	{ SIM_SKU, "together-slow@node2/gpu0=4", "sim-2/0001:00:00.0.h2d_together_gbps" },
	{ SIM_SKU, "topo-stale@node1", "sim-1.topo_file_swapped" },
	{ SIM_SKU, "vm-size@node1", "sim-1.vm_size" },
	{ SIM_SKU, "xid@node2/gpu4=94:1d", "sim-2.kernel_log" },
	{ "Standard_ND96isr_H100_v5", "nccl-plugin-missing@node2", "sim-2.nccl_plugin_missing" },
	{ SIM_SKU_RACK, "c2c-down@node1/gpu3=2", "sim-1/0019:01:00.0.c2c_links" },
	{ SIM_SKU_RACK, "clique@node2",
		"sim-2/0008:01:00.0.fabric_clique sim-2/0009:01:00.0.fabric_clique sim-2/0018:01:00.0.fabric_clique "
		"sim-2/0019:01:00.0.fabric_clique" },
	{ SIM_SKU_RACK, "compute-mode@node2", /* of all its GPUs */
		"sim-2/0008:01:00.0.compute_mode sim-2/0009:01:00.0.compute_mode sim-2/0018:01:00.0.compute_mode "
		"sim-2/0019:01:00.0.compute_mode" },
	{ SIM_SKU_RACK, "coherent-mode@node2", "sim-2.coherent_memory_mode" },
	{ SIM_SKU_RACK, "fabric-health@node1/gpu0", "sim-1/0008:01:00.0.fabric_health" },
	{ SIM_SKU_RACK, "fabric-state@node1/gpu1", "sim-1/0009:01:00.0.fabric_state" },
	{ SIM_SKU_RACK, "fabric-status@node1/gpu2", "sim-1/0018:01:00.0.fabric_status" },
	{ SIM_SKU_RACK, "gemm-slow@node1/gpu0=0.5",
		"sim-1/0008:01:00.0.gemm_bf16_tflops sim-1/0008:01:00.0.gemm_fp64_tflops "
		"sim-1/0008:01:00.0.gemm_fp8_tflops" },
	{ SIM_SKU_RACK, "imex-hidden@node1", "sim-1.imex_hidden" },
	{ SIM_SKU_RACK, "imex-missing@node1", "sim-1.imex_channels" },
	{ SIM_SKU_RACK, "roce@node2", ROCE("mlx5_ib0") " " ROCE("mlx5_ib1") " " ROCE("mlx5_ib2") " " ROCE("mlx5_ib3") },
	{ SIM_SKU_RACK, "rack@node2",
		"sim-2/0008:01:00.0.fabric_cluster sim-2/0009:01:00.0.fabric_cluster "
		"sim-2/0018:01:00.0.fabric_cluster sim-2/0019:01:00.0.fabric_cluster" },
	{ SIM_SKU_VGPU, "hbm-slow@node1/gpu0=900",
		"sim-1/0001:00:00.0.memory_write_gbps sim-1/0001:00:00.0.memory_read_gbps" },
	{ SIM_SKU_VGPU, "ib-extra@node1", "+sim-1/mlx5_extra" },
	{ SIM_SKU_VGPU, "mig@node1/gpu1=off", "sim-1/0002:00:00.0.mig" },
	{ SIM_SKU_VGPU, "unlicensed@node2/gpu0", "sim-2/0001:00:00.0.vgpu_licensed" },
};

TEST_EACH(a_fault_changes_just_this, table)
{
	struct muster_sim_cluster healthy, broken;
	struct differences d = { muster_arena_new(), "" };
	struct muster_error err = { 0 };
	ck_assert_msg(sim_two_of(table[_i].sku, NULL, NULL, &healthy, &err) == 0, "%s", err.text);
	ck_assert_msg(sim_two_of(table[_i].sku, table[_i].fault, NULL, &broken, &err) == 0, "%s", err.text);
	compare(&d, &muster_sim_cluster_type, "", &healthy, &broken);
	ck_assert_str_eq(d.text, table[_i].changes);
	muster_sim_cluster_done(&healthy);
	muster_sim_cluster_done(&broken);
	muster_arena_free(d.arena);
}

TEST(every_fault_of_the_table_is_tested)
{
	for (size_t k = 0; k < muster_fault_kind_count; k++) {
		const char *name = muster_fault_kinds[k].name;
		bool found = false;
		for (size_t i = 0; i < sizeof table / sizeof *table; i++)
			found = found || (strncmp(table[i].fault, name, strlen(name)) == 0 &&
						 table[i].fault[strlen(name)] == '@');
		ck_assert_msg(found, "no test for %s", name);
	}
}

TEST(values_are_what_was_asked_for)
{
	struct muster_sim_scenario s;
	struct muster_sim_hardware hw;
	struct muster_sim_cluster c;
	struct muster_error err;
	static const char *const faults[] = { "h2d-slow@node1/gpu4=11.2", "nvlink-down@node1/gpu4=3",
		"gpu-name@node1/gpu4=Tesla = old", "nccl-slow@rank3=4", "duplicate-gpu@rank5", "nccl-jitter@rank3=6",
		"edge-slow@node1/gpu4", "rail-slow@node2/mlx5_ib3", "link-slow@node1/gpu0=node2/gpu1:2.5",
		"lib-missing@node2=libcuda.so.1", "lib-missing@node2=libibverbs.so.1", "driver-drift@node2=570.1",
		"cpu-mask@rank4", "memory-bad@node1/gpu4=0x18:63", "memory-held@node1/gpu4=1000",
		"memory-held@node1/gpu5", "hbm-slow@node1/gpu4=700", "hbm-slow@node1/gpu5", "gemm-wrong@node1/gpu4=9",
		"gemm-slow@node1/gpu4=0.5", "soak-drift@node1/gpu4=0.25", "hot@node1/gpu5", "power-cap@node1/gpu6",
		"cublas-missing@node2" };
	muster_sim_scenario_init(&s);
	s.sku = SIM_SKU;
	s.nodes = 2;
	for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
		muster_sim_scenario_add_fault(&s, faults[i]);
	ck_assert_int_eq(sim_build(&s, "/nowhere", &hw, &c, &err), 0);
	const struct muster_sim_gpu *gpu = &c.nodes[0].gpus[4];
	ck_assert_double_eq(gpu->h2d_gbps, 11.2);
	ck_assert_double_eq(gpu->h2d_together_gbps, 11.2);
	ck_assert_int_eq(gpu->nvlinks_active, 9);
	ck_assert_str_eq(gpu->name, "Tesla = old");
	ck_assert_double_eq(c.ranks[3].nccl_slow, 4);
	ck_assert_double_eq(c.ranks[3].nccl_jitter, 6);
	ck_assert_double_eq(gpu->edge_gbps, 40);
	ck_assert_double_eq(c.nodes[1].ports[3].rail_gbps, 5);
	ck_assert_uint_eq(c.link_count, 1);
	ck_assert_int_eq(c.links[0].from_node, 0);
	ck_assert_int_eq(c.links[0].to_node, 1);
	ck_assert_str_eq(c.links[0].from_gpu, "0001:00:00.0");
	ck_assert_str_eq(c.links[0].to_gpu, "0002:00:00.0");
	ck_assert_double_eq(c.links[0].gbps, 2.5);
	ck_assert_str_eq(c.ranks[5].visible_gpus, "4");
	ck_assert_str_ne(c.ranks[4].cpu_mask, "ffffff000000000000000000");
	ck_assert_uint_eq(gpu->memory_bad_at, 24);
	ck_assert_int_eq(gpu->memory_bad_bit, 64);
	ck_assert_double_eq(gpu->memory_held_mib, 1000);
	ck_assert_double_eq(gpu[1].memory_held_mib, 20480);
	ck_assert_double_eq(gpu->memory_write_gbps, 700);
	ck_assert_double_eq(gpu->memory_read_gbps, 700);
	ck_assert_double_eq(gpu[1].memory_write_gbps, gpu[2].memory_write_gbps / 2);
	ck_assert_int_eq(gpu->gemm_wrong, 9);
	ck_assert_double_eq(gpu->gemm_bf16_tflops, gpu[2].gemm_bf16_tflops / 2);
	ck_assert_double_eq(gpu->gemm_drift, 0.25);
	ck_assert_int_eq(gpu[1].temperature_loaded_celsius, gpu[1].temperature_slowdown_celsius);
	ck_assert_uint_eq(gpu[1].throttle_reasons_loaded, 0x68);
	ck_assert_double_eq(gpu[2].power_loaded_watts, gpu[2].power_limit_watts);
	ck_assert_uint_eq(gpu[2].throttle_reasons_loaded, 0x4);
	ck_assert_uint_eq(c.nodes[1].missing_library_count, 3);
	ck_assert_str_eq(c.nodes[1].missing_libraries[0], "libcuda.so.1");
	ck_assert_str_eq(c.nodes[1].missing_libraries[1], "libibverbs.so.1");
	ck_assert_str_eq(c.nodes[1].missing_libraries[2], "libcublasLt.so.13");
	ck_assert_str_eq(c.nodes[1].driver_version, "570.1");
	ck_assert_str_eq(c.nodes[1].nvml_version, "13.570.1");
	muster_sim_cluster_done(&c);
	muster_sim_scenario_done(&s);
}

TEST(places_count_in_the_healthy_cluster_and_indices_close_up)
{
	struct muster_sim_scenario s;
	struct muster_sim_hardware hw;
	struct muster_sim_cluster c;
	struct muster_error err;
	muster_sim_scenario_init(&s);
	s.sku = SIM_SKU;
	s.nodes = 1;
	muster_sim_scenario_add_fault(&s, "gpu-missing@node1/gpu2");
	muster_sim_scenario_add_fault(&s, "gpu-name@node1/gpu4=this one");
	ck_assert_int_eq(sim_build(&s, "/nowhere", &hw, &c, &err), 0);
	const struct muster_sim_node *node = &c.nodes[0];
	ck_assert_uint_eq(node->gpu_count, 7);
	ck_assert_str_eq(gpu_in(node, "000b:00:00.0")->name, "this one");
	for (size_t i = 0; i < 7; i++) {
		ck_assert_int_eq(node->gpus[i].cuda_index, (int)i);
		ck_assert_int_eq(node->gpus[i].nvml_index, (int)i);
	}
	ck_assert_uint_eq(c.rank_count, 8);
	muster_sim_cluster_done(&c);
	muster_sim_scenario_done(&s);
}

TEST(lines_of_the_kernels_log_have_their_age_and_text)
{
	struct muster_sim_scenario s;
	struct muster_sim_hardware hw;
	struct muster_sim_cluster c;
	struct muster_error err;
	static const char *const faults[] = { "xid@node1/gpu4=79:3h", "xid@node1/gpu0=4095:now", "flap@node1=1h" };
	static const char *const lines[] = {
		"10800.000 NVRM: Xid (PCI:000b:00:00): 79, pid=4711, name=train, GPU has fallen off the bus.",
		"now NVRM: Xid (PCI:0001:00:00): 4095, pid=4711, name=train, no details",
		"3600.000 mlx5_core 0101:00:00.0 mlx5_ib0: Port: 1 Link DOWN",
		"3596.000 mlx5_core 0101:00:00.0 mlx5_ib0: Port: 1 Link ACTIVE",
	};
	muster_sim_scenario_init(&s);
	s.sku = SIM_SKU;
	s.nodes = 1;
	for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
		muster_sim_scenario_add_fault(&s, faults[i]);
	ck_assert_msg(sim_build(&s, "/nowhere", &hw, &c, &err) == 0, "%s", err.text);
	ck_assert_uint_eq(c.nodes[0].kernel_log_count, sizeof lines / sizeof *lines);
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
		ck_assert_str_eq(c.nodes[0].kernel_log[i], lines[i]);
	muster_sim_cluster_done(&c);
	muster_sim_scenario_done(&s);
}

static const char *const late[] = { "aer@node1", "xid@node1/gpu0", "logged@node1=oops", "link-slow@node1/gpu0=gpu1:40",
	"link-slow@node1/gpu1=gpu0:40", "nvml-error@node1/gpu0=nvmlDeviceGetName:15", "scratch-full@node1" };

TEST_EACH(a_fault_of_what_is_gone_already_is_refused, late)
{
	struct muster_sim_scenario s;
	struct muster_sim_hardware hw;
	struct muster_sim_cluster c;
	struct muster_error err;
	muster_sim_scenario_init(&s);
	s.sku = SIM_SKU;
	s.nodes = 1;
	muster_sim_scenario_add_fault(&s, "gpu-missing@node1/gpu0");
	muster_sim_scenario_add_fault(&s, "scratch-missing@node1");
	muster_sim_scenario_add_fault(&s, late[_i]);
	ck_assert_int_eq(sim_build(&s, "/nowhere", &hw, &c, &err), -1);
	ck_assert_ptr_nonnull(strstr(err.text, "must come before"));
	muster_sim_scenario_done(&s);
}

static const struct {
	const char *sku, *fault, *said;
} wrong[] = {
	{ SIM_SKU, "h2d-slo@node1/gpu4", "no such fault; did you mean \"h2d-slow\", \"d2h-slow\" or" },
	{ SIM_SKU, "nccl@rank1", "did you mean \"nccl-hang\", \"nccl-slow\" or \"nccl-jitter\"?" },
	{ SIM_SKU, "banana@node1", "no such fault (muster sim --list-faults shows all)" },
	{ SIM_SKU, "@node1", "no such fault" },
	{ SIM_SKU, "h2d-slow", "KIND@WHERE" },
	{ SIM_SKU, "", "KIND@WHERE" },
	{ SIM_SKU, "ib-down@node1", "\"node1\" is not a place for this fault: use the form node1/mlx5_ib3" },
	{ SIM_SKU, "h2d-slow@rank3", "use the form node1[/gpu4]" },
	{ SIM_SKU_VGPU, "bar1-small@node1", "does not support nvmlDeviceGetBAR1MemoryInfo" },
	{ SIM_SKU, "driver-drift@node1/gpu4", "use the form node1" },
	{ SIM_SKU, "nccl-slow@node1", "use the form rank5" },
	{ SIM_SKU, "ib-down@mlx5_ib3", "use the form node1/mlx5_ib3" },
	{ SIM_SKU, "h2d-slow@node3/gpu1", "node3 does not exist: nodes are node1 to node2" },
	{ SIM_SKU, "h2d-slow@node0/gpu1", "node0 does not exist" },
	{ SIM_SKU, "h2d-slow@node1x/gpu1", "\"node1x\" is not a node" },
	{ SIM_SKU, "h2d-slow@sim-1/gpu1", "\"sim-1\" is not a node" },
	{ SIM_SKU, "h2d-slow@node1/gpu8", "gpu8 does not exist: GPUs are gpu0 to gpu7" },
	{ SIM_SKU, "h2d-slow@node1/4", "\"4\" is not a GPU" },
	{ SIM_SKU, "h2d-slow@node1/gpu-1", "\"gpu-1\" is not a GPU" },
	{ SIM_SKU, "ib-down@node1/mlx5_ib8", "the node has no RDMA device \"mlx5_ib8\"" },
	{ SIM_SKU, "memory-channel@node1", "use the form node1/numa0" },
	{ SIM_SKU, "memory-channel@node1/gpu0", "\"gpu0\" is not a NUMA node: use the form numa0" },
	{ SIM_SKU, "memory-channel@node1/numa4", "numa4 does not exist: the node has 4 NUMA nodes" },
	{ SIM_SKU, "memory-channel@node1/numa0=2", "VALUE must be from 0.01 to 1" },
	{ SIM_SKU, "path-missing@node1=/apps", "/shared/apps, /shared/apps/pytorch_env or /shared" },
	{ SIM_SKU, "nccl-slow@rank16", "rank16 does not exist: ranks are rank0 to rank15" },
	{ SIM_SKU, "nccl-slow@rank", "\"rank\" is not a rank" },
	{ SIM_SKU, "h2d-slow@node1/gpu4=fast", "a number is needed" },
	{ SIM_SKU, "h2d-slow@node1/gpu4=-1", "VALUE must be from" },
	{ SIM_SKU, "h2d-slow@node1/gpu4=nan", "number" },
	{ SIM_SKU, "h2d-slow@node1/gpu4=", "VALUE (GB/s) is empty" },
	{ SIM_SKU, "ib-down@node1/mlx5_ib3=1", "takes no VALUE" },
	{ SIM_SKU, "ib-rate@node1/mlx5_ib3=77", "VALUE must be one of 10," },
	{ SIM_SKU, "nvlink-down@node1/gpu4=13", "from 1 to 12" },
	{ SIM_SKU, "nvlink-down@node1/gpu4=0", "from 1 to 12" },
	{ SIM_SKU, "nvlink-errors@node1/gpu4=recovery", "KIND:ERRORS" },
	{ SIM_SKU, "nvlink-errors@node1/gpu4=ecc:5", "replay, recovery or crc" },
	{ SIM_SKU, "nvlink-errors@node1/gpu4=replay:0", "from 1 to" },
	{ SIM_SKU, "recovery-action@node1/gpu4=reset", "none, gpu-reset, node-reboot" },
	{ SIM_SKU, "stranger@node1/gpu4=50000", "from 0 to 40960" },
	{ SIM_SKU, "mig@node1/gpu0=8g.5gb", "off or on" },
	{ SIM_SKU, "ecc-uncorrected@node1/gpu4=1.5", "whole number" },
	{ SIM_SKU, "nccl-slow@rank1=0.5", "VALUE must be from 1" },
	{ SIM_SKU, "cpu-mask@rank1=xyz", "mask" },
	{ SIM_SKU, "cuda-error@node1=cuInut:803", "did you mean \"cuInit\"?" },
	{ SIM_SKU, "cuda-error@node1=cuInit:40s", "a function and a code: cuInit:803" },
	{ SIM_SKU, "cuda-slow@node1=cuInit:segv", "a function and a time: cuInit:40s" },
	{ SIM_SKU, "cuda-slow@node1=nvmlInit_v2:1s", "nvmlInit_v2 is of another library" },
	{ SIM_SKU, "cuda-error@node1/gpu1=cuInit:1", "cuInit is not about one GPU" },
	{ SIM_SKU, "cuda-error@rank1=cuInit:1", "use the form node1[/gpu4]" },
	{ SIM_SKU, "nvml-error@node1", "VALUE must be a function and a code" },
	{ SIM_SKU, "nvml-error@node1=ncclSend:1", "only functions of CUDA and NVML" },
	{ SIM_SKU, "nvml-error@node1=nvmlInit_v2:0", "CODE: a whole number from 1" },
	{ SIM_SKU, "nvml-slow@node1=nvmlInit_v2:-1s", "HOW: segv" },
	{ SIM_SKU, "cpu-mask@rank1=0", "contains no CPU" },
	{ SIM_SKU, "cpu-mask@rank1=1000000000000000000000000", "CPUs that the node does not have: 96" },
	{ SIM_SKU, "duplicate-gpu@rank8", "the first rank of its node" },
	{ SIM_SKU, "cut@node2", "there is no node after the last one" },
	{ SIM_SKU, "cut@node1=often", "hang, error or slow is needed, found \"often\"" },
	{ SIM_SKU, "net-bad@node1=2", "hang, error or slow is needed, found \"2\"" },
	{ SIM_SKU, "link-bad@node1=1", "a link has two nodes" },
	{ SIM_SKU, "link-bad@node1=3", "from 1 to 2" },
	{ SIM_SKU, "link-bad@node1=2:never", "hang, error or slow is needed, found \"never\"" },
	{ SIM_SKU, "link-slow@node1/gpu0", "VALUE must be PEER:GB/s" },
	{ SIM_SKU, "link-slow@node1/gpu0=gpu1", "VALUE must be PEER:GB/s" },
	{ SIM_SKU, "link-slow@node1/gpu0=gpu1:0", "VALUE must be from 0.001" },
	{ SIM_SKU, "link-slow@node1/gpu0=gpu0:5", "a link has two GPUs" },
	{ SIM_SKU, "link-slow@node1/gpu0=node1:5", "a link has two GPUs" },
	{ SIM_SKU, "link-slow@node1/gpu0=gpu8:5", "from 0 to 7" },
	{ SIM_SKU, "link-slow@node1/gpu0=node3:5", "from 1 to 2" },
	{ SIM_SKU, "link-slow@node1/gpu0=node2/ib0:5", "\"ib0\" is not a GPU" },
	{ SIM_SKU, "rail-slow@node1/mlx5_ib0=0", "VALUE must be from 1" },
	{ SIM_SKU, "nccl-hang@rank1=later", "VALUE: init, reduce, exchange, alltoall or step is needed" },
	{ SIM_SKU, "lib-missing@node1=libfoo.so", "VALUE: libcuda.so.1, " },
	{ SIM_SKU, "driver-drift@node1=new", "VALUE must be a version" },
	{ SIM_SKU, "counter@node1/mlx5_ib3=symbol_error", "must be NAME:NUMBER" },
	{ SIM_SKU, "counter@node1/mlx5_ib3=symbol_errors:5", "no counter \"symbol_errors\"" },
	{ SIM_SKU, "counter@node1/mlx5_ib3=symbol_error:0", "from 1 to" },
	{ SIM_SKU, "clique@node2", "NVLink ends at the node" },
	{ SIM_SKU, "rack@node2", "NVLink ends at the node" },
	{ SIM_SKU, "fabric-state@node1/gpu0", "joins no NVLink fabric" },
	{ SIM_SKU, "fabric-status@node1/gpu0", "joins no NVLink fabric" },
	{ SIM_SKU, "fabric-health@node1/gpu0", "joins no NVLink fabric" },
	{ SIM_SKU, "c2c-down@node1/gpu0", "no C2C links" },
	{ SIM_SKU, "imex-missing@node1", "no IMEX channel" },
	{ SIM_SKU, "unlicensed@node1/gpu0", "no vGPU licence" },
	{ SIM_SKU, "coherent-mode@node1", "not coherent on this machine type" },
	{ SIM_SKU_VGPU, "ecc-uncorrected@node1/gpu0", "does not support nvmlDeviceGetTotalEccErrors" },
	{ SIM_SKU_VGPU, "fabric-manager-dead@node1", "no process \"nv-fabricmanager\" runs" },
	{ SIM_SKU_VGPU, "power-limit@node1/gpu0", "does not support nvmlDeviceGetEnforcedPowerLimit" },
	{ SIM_SKU_VGPU, "sm-clock@node1/gpu0", "so the fault cannot show" },
	{ SIM_SKU_VGPU, "hot@node1/gpu0", "does not support nvmlDeviceGetCurrentClocksThrottleReasons" },
	{ SIM_SKU_VGPU, "power-brake@node1/gpu0", "does not support nvmlDeviceGetCurrentClocksThrottleReasons" },
	{ SIM_SKU_VGPU, "power-cap@node1/gpu0", "does not support nvmlDeviceGetCurrentClocksThrottleReasons" },
	{ SIM_SKU, "memory-bad@node1/gpu0=5", "VALUE must be ADDRESS:BIT, not \"5\"" },
	{ SIM_SKU, "memory-bad@node1/gpu0=-8:1", "VALUE must be ADDRESS:BIT" },
	{ SIM_SKU, "memory-bad@node1/gpu0=8:64", "from 0 to 63" },
	{ SIM_SKU, "memory-bad@node1/gpu0=4:1", "ADDRESS must be a multiple of 8" },
	{ SIM_SKU, "memory-bad@node1/gpu0=0xa00000000:1", "less than the 40960 MiB" },
	{ SIM_SKU, "memory-held@node1/gpu0=40961", "VALUE must be from 1 to 40960" },
	{ SIM_SKU, "hbm-slow@node1/gpu0=0", "VALUE must be from" },
	{ SIM_SKU, "gemm-slow@node1/gpu0=1.5", "to 1, not 1.5" },
	{ SIM_SKU, "gemm-wrong@node1/gpu0=0", "from 1 to" },
	{ SIM_SKU, "soak-drift@node1/gpu0=1", "to 0.9, not 1" },
	{ SIM_SKU, "cublas-missing@node1=libcublas.so", "takes no VALUE" },
	{ SIM_SKU, "mig@node1/gpu0=off", "MIG is off in the healthy GPU" },
	{ SIM_SKU, "mig@node1/gpu0=yes", "VALUE: off or on is needed" },
	{ SIM_SKU, "xid@node1/gpu0=many", "CODE: a whole number" },
	{ SIM_SKU, "xid@node1/gpu0=79:", "AGE must be a number and s, m, h or d, or \"now\", not \"\"" },
	{ SIM_SKU, "xid@node1/gpu0=79:5", "AGE must be a number and s, m, h or d, or \"now\", not \"5\"" },
	{ SIM_SKU, "xid@node1/gpu0=79:-5m", "not \"-5m\"" },
	{ SIM_SKU, "xid@node1/gpu0=79:6d", "AGE 6d is before the node's boot 120 hours ago" },
	{ SIM_SKU, "kernel-line@node1=20m TEXT", "found \"20m\"" },
	{ SIM_SKU, "kernel-line@node1=9999999 TEXT", "VALUE must be from 0 to 432000" },
	{ SIM_SKU, "aer@node1=bad", "VALUE: fatal, nonfatal or corrected is needed" },
	{ SIM_SKU, "aer@node1=fatal:soon", "not \"soon\"" },
	{ SIM_SKU, "logged@node1=nothing", "there are no lines \"nothing\"" },
	{ SIM_SKU, "disk-dead@node1=sda", "the node has no disk \"sda\"" },
	{ SIM_SKU, "disk-missing@node1=sda", "the node has no disk \"sda\"" },
	{ SIM_SKU, "disk-slow@node1=2", "VALUE must be from 0.0001 to 1" },
	{ SIM_SKU, "raid-degraded@node1=8", "VALUE must be from 1 to 7" },
	{ "Standard_NC24ads_A100_v4", "raid-degraded@node1", "is on one disk" },
	{ SIM_SKU, "stall@node1=both", "VALUE must be read or write, not \"both\"" },
	{ SIM_SKU, "env@node1=NCCL", "neither the ranks' environment nor nccl.conf has NCCL" },
	{ SIM_SKU, "governor@node1=performance", "VALUE must be DRIVER: GOVERNOR" },
	{ SIM_SKU, "env@node1==1", "VALUE must be NAME or NAME=TEXT" },
	{ SIM_SKU, "nccl-version@node1=2.18", "VALUE: a whole number from 2000 to 99999" },
	{ SIM_SKU, "gpu-memory@node1/gpu0=0", "VALUE must be from 1 to" },
	{ SIM_SKU_RACK, "rack@node1=0", "from 1 to 1000" },
	{ SIM_SKU_RACK, "c2c-down@node1/gpu0=6", "from 1 to 5" },
	{ SIM_SKU_RACK, "fabric-state@node1/gpu0=done",
		"VALUE: not-supported, not-started, in-progress or completed is needed" },
	{ SIM_SKU_RACK, "fabric-status@node1/gpu0=-1", "from 0 to 999" },
	{ SIM_SKU_RACK, "topo-stale@node1", "no NCCL topology file" },
	{ SIM_SKU_VGPU, "nvlink-down@node1/gpu0", "no NVLinks" },
	{ SIM_SKU_VGPU, "mig@node1/gpu0", "MIG is on in the healthy GPU" },
};

TEST_EACH(a_wrong_fault_is_a_usage_error_that_names_it, wrong)
{
	struct muster_sim_cluster c;
	struct muster_error err;
	ck_assert_int_eq(sim_two_of(wrong[_i].sku, wrong[_i].fault, NULL, &c, &err), -1);
	ck_assert_int_eq(err.code, MUSTER_EUSAGE);
	ck_assert_msg(strstr(err.text, wrong[_i].said), "%s", err.text);
	ck_assert_msg(strstr(err.text, wrong[_i].fault), "%s", err.text);
	ck_assert_ptr_null(strchr(err.text, '\n'));
}

TEST_MAIN(.setup = NULL)
