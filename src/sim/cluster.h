/* SPDX-License-Identifier: Apache-2.0 */
/* cluster.h - the simulated cluster as the stand-in libraries see it: plain facts, faults already applied
 *
 * `muster sim` makes it from a hardware description and the faults, writes it as cluster.json into the simulation's
 * directory, and every stand-in reads it from there. Stand-ins know nothing of faults or SKUs.
 *
 * Environment of a simulated worker: MUSTER_SIM_CLUSTER (path of cluster.json), MUSTER_SIM_RANK (index into ranks), and
 * MUSTER_SIM_CPU_MASK (what a real launcher bound the rank to, in place of the scenario's cpu_mask).
 *
 * Each struct is one list of fields below, and the macros make of a row such as X(INT, port, NONE, 1) of the list
 * "port"
 *
 *   in cluster.h    the member `int port` of struct muster_sim_port (MUSTER_SIM_MEMBER_INT)
 *   in cluster.c    a row of the table that reads and writes the key "port" in cluster.json (FIELD_INT)
 *   in cluster.c    `.port = 1` in muster_sim_port_default
 *
 * So a new field is one row here, plus the code that sets the field and the code that reads it.
 */
#ifndef MUSTER_SIM_CLUSTER_H
#define MUSTER_SIM_CLUSTER_H

#include "muster/error.h"
#include "muster/arena.h"

#include <stdbool.h>
#include <stddef.h>

/* Fields of the structs, which cluster.json has under the same names: X(kind, name, part, default). A kind is one of
 * MUSTER_SIM_MEMBER_ below. Arrays are A(TEXTS, name, part, count) and A(OBJECTS, name, struct, count) with the member
 * that counts their elements. part: where a hardware description (hardware.c) has the field too; a field with
 * MUSTER_SIM_NONE is set by the scenario, by a fault or by its default. A description gives all fields of a NUMA node,
 * a disk and a bandwidth, so these name no part. */
enum {
	MUSTER_SIM_NONE = 0,
	MUSTER_SIM_DESCRIBED = 1 << 0, /* of a GPU, a port or a volume: what all GPUs, or all ports of an adapter, have
					* in common; what is known of a volume */
	MUSTER_SIM_DEVICE = 1 << 1,    /* of a GPU or a port: its own */
	MUSTER_SIM_HOST = 1 << 2,      /* of a node */
	MUSTER_SIM_SOFTWARE = 1 << 3,
};

/* clang-format off */
#define MUSTER_SIM_FIELDS_gpu(X, A) \
	X(TEXT, bus_id, DEVICE, "") /* "0001:00:00.0" */ \
	X(TEXT, uuid, NONE, "") /* "GPU-..." */ \
	X(TEXT, name, DESCRIBED, "") \
	X(TEXT, vbios, DESCRIBED, "") \
	X(NUMBER, memory_mib, DESCRIBED, 0) \
	X(INT, compute_major, DESCRIBED, 0) \
	X(INT, compute_minor, DESCRIBED, 0) \
	X(INT, numa_node, DEVICE, 0) \
	X(INT, cuda_index, NONE, 0) \
	X(INT, nvml_index, NONE, 0) \
	X(BOOLEAN, ecc, DESCRIBED, false) \
	X(BOOLEAN, persistence, DESCRIBED, false) \
	X(BOOLEAN, mig_supported, DESCRIBED, false) \
	X(BOOLEAN, mig, DESCRIBED, false) \
	X(INT, mig_slices, NONE, 0) /* the rank's instance: sevenths of the multiprocessors; 0: the whole GPU */ \
	X(INT, mig_gb, NONE, 0) /* the instance's memory */ \
	X(INT, pcie_gen, DESCRIBED, 0) \
	X(INT, pcie_gen_max, DESCRIBED, 0) \
	X(INT, pcie_width, DESCRIBED, 0) \
	X(INT, pcie_width_max, DESCRIBED, 0) \
	X(INT, nvlinks, DESCRIBED, 0) /* links that there are */ \
	X(INT, nvlinks_active, NONE, 0) /* links that are up: the first ones */ \
	X(NUMBER, nvlink_mbps, DESCRIBED, 0) /* of each link, as NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON reports it */ \
	X(INT, nvlink_group, DESCRIBED, 0) /* so many neighbours in NVML's order are joined by NVLink; 1: none */ \
	X(INT, multiprocessors, DESCRIBED, 0) \
	X(INT, memory_bus_bits, DESCRIBED, 0) \
	X(INT, sm_clock_mhz, DESCRIBED, 0) \
	X(INT, sm_clock_max_mhz, DESCRIBED, 0) \
	X(INT, mem_clock_mhz, DESCRIBED, 0) \
	X(INT, mem_clock_max_mhz, DESCRIBED, 0) \
	X(WORD, throttle_reasons, NONE, 0) \
	/* what it boots with, and what was asked of it: as described, until a fault changes them */ \
	X(INT, sm_clock_app_default_mhz, NONE, 0) \
	X(NUMBER, power_default_watts, NONE, 0) \
	X(NUMBER, power_requested_watts, NONE, 0) \
	X(NUMBER, bar1_mib, NONE, 0) /* from the first power of 2 that holds its memory */ \
	X(INT, compute_mode, NONE, 0) /* nvmlComputeMode_t */ \
	X(BOOLEAN, ecc_changes, NONE, false) /* with the next reset */ \
	X(BOOLEAN, mig_changes, NONE, false) \
	X(INT, repair_pending, NONE, 0) /* 1: of a memory channel, 2: of a TPC */ \
	X(BOOLEAN, inforom_bad, NONE, false) \
	X(TEXT, inforom, NONE, "G500.0000.00.01") \
	X(INT, temperature_celsius, DESCRIBED, 0) \
	X(NUMBER, power_watts, DESCRIBED, 0) \
	X(NUMBER, power_limit_watts, DESCRIBED, 0) \
	X(NUMBER, ecc_corrected_volatile, NONE, 0) \
	X(NUMBER, ecc_uncorrected_volatile, NONE, 0) \
	X(NUMBER, ecc_corrected_aggregate, NONE, 0) \
	X(NUMBER, ecc_uncorrected_aggregate, NONE, 0) \
	X(INT, remap_correctable, NONE, 0) \
	X(INT, remap_uncorrectable, NONE, 0) \
	X(BOOLEAN, remap_pending, NONE, false) \
	X(BOOLEAN, remap_failed, NONE, false) \
	X(BOOLEAN, sram_exceeded, NONE, false) \
	X(INT, recovery_action, NONE, 0) /* nvmlDeviceGpuRecoveryAction_t */ \
	/* what the work of a process adds to counters of errors */ \
	X(NUMBER, nvlink_replays, NONE, 0) \
	X(NUMBER, nvlink_recoveries, NONE, 0) \
	X(NUMBER, nvlink_crc_errors, NONE, 0) \
	X(NUMBER, pcie_replays, NONE, 0) \
	X(NUMBER, h2d_gbps, DESCRIBED, 0) /* alone */ \
	X(NUMBER, d2h_gbps, DESCRIBED, 0) \
	X(NUMBER, h2d_together_gbps, DESCRIBED, 0) /* with all GPUs of the node busy */ \
	X(NUMBER, d2h_together_gbps, DESCRIBED, 0) \
	X(INT, sm_clock_app_mhz, DESCRIBED, 0) /* application clock */ \
	X(NUMBER, memory_write_gbps, DESCRIBED, 0) /* of its own memory, by a kernel */ \
	X(NUMBER, memory_read_gbps, DESCRIBED, 0) \
	X(NUMBER, memory_held_mib, NONE, 0) /* of its memory, by other programs */ \
	X(INT, stranger_pid, NONE, 0) /* another program that NVML lists; 0: none */ \
	X(NUMBER, stranger_mib, NONE, 0) /* what the program has of the memory, as NVML lists it */ \
	X(BOOLEAN, stranger_late, NONE, false) /* the program begins while muster runs */ \
	X(INT, busy_percent, NONE, 0) /* how busy other programs keep it, that NVML does not list */ \
	X(INT, memory_bad_bit, NONE, 0) /* kernels read this bit of an 8-byte word as 1, counted from 1; 0: none */ \
	/* where this word is: bytes from the start of each small allocation that is so long, and of the \
	 * large ones (1 GiB and more) as if they followed each other */ \
	X(WORD, memory_bad_at, NONE, 0) \
	X(NUMBER, gemm_bf16_tflops, DESCRIBED, 0) /* matrix products; 0: not supported */ \
	X(NUMBER, gemm_fp64_tflops, DESCRIBED, 0) \
	X(NUMBER, gemm_fp8_tflops, DESCRIBED, 0) \
	X(NUMBER, module_mib, NONE, 0) /* of its memory, taken by the code of the library with its first product */ \
	X(INT, gemm_wrong, NONE, 0) /* about one product in so many is wrong; 0: none */ \
	X(NUMBER, gemm_drift, NONE, 0) /* share of the rate lost from the first to the last tenth of a long load */ \
	/* while a program has kernels loaded; a sensor or a limit that is 0 is not supported */ \
	X(INT, sm_clock_loaded_mhz, DESCRIBED, 0) \
	X(INT, temperature_loaded_celsius, DESCRIBED, 0) \
	X(INT, memory_temperature_celsius, DESCRIBED, 0) \
	X(NUMBER, power_loaded_watts, DESCRIBED, 0) \
	X(WORD, throttle_reasons_loaded, NONE, 0) \
	X(INT, temperature_slowdown_celsius, DESCRIBED, 0) \
	X(INT, memory_temperature_max_celsius, DESCRIBED, 0) \
	X(INT, fabric_state, DESCRIBED, 0) /* nvmlGpuFabricState_t */ \
	X(INT, fabric_status, DESCRIBED, 0) /* nvmlReturn_t */ \
	X(TEXT, fabric_cluster, NONE, "") /* UUID; all zeros: none */ \
	X(INT, fabric_clique, DESCRIBED, 0) \
	X(WORD, fabric_health, DESCRIBED, 0) /* mask of nvmlGpuFabricInfo_v2_t */ \
	X(NUMBER, edge_gbps, NONE, 0) /* what NCCL's exchanges with its neighbours reach; 0: what NVLink allows */ \
	X(INT, c2c_links, DESCRIBED, 0) /* to the CPU's side of the chip; 0: none */ \
	X(NUMBER, c2c_mbps, DESCRIBED, 0) /* of each */ \
	X(BOOLEAN, p2p, DESCRIBED, false) /* CUDA lets it reach the node's other GPUs */ \
	X(TEXT, virtualization, DESCRIBED, "") /* "none", "passthrough", "vgpu" */ \
	X(TEXT, vgpu_product, DESCRIBED, "") /* licensed product, "" when there is none */ \
	X(BOOLEAN, vgpu_licensed, DESCRIBED, false) \
	X(BOOLEAN, off_the_bus, NONE, false) /* the kernel still shows it, and no library does: it broke */ \
	X(BOOLEAN, hidden, NONE, false) /* the same: the job may not use it */ \
	X(TEXT, driver, NONE, "") /* of the kernel, that has it in place of nvidia; "none": none has */ \
	X(BOOLEAN, excluded, NONE, false) /* by NVreg_ExcludedGpus */ \
	/* NVML functions that answer NVML_ERROR_NOT_SUPPORTED for it */ \
	A(TEXTS, unsupported, DESCRIBED, unsupported_count)

#define MUSTER_SIM_FIELDS_counter(X, A) \
	X(TEXT, name, NONE, "") /* "link_downed"; in counters/, or "hw:out_of_sequence" in hw_counters/ */ \
	X(NUMBER, value, NONE, 0) /* at the start */ \
	X(NUMBER, increase, NONE, 0) /* what an all-reduce adds to it */

#define MUSTER_SIM_FIELDS_port(X, A) \
	X(TEXT, device, DEVICE, "") /* "mlx5_ib0" */ \
	X(INT, port, NONE, 1) \
	X(TEXT, pci, DEVICE, "") /* "0101:00:00.0" */ \
	X(TEXT, link_layer, DESCRIBED, "") /* "InfiniBand" or "Ethernet" */ \
	X(TEXT, state, NONE, "ACTIVE") /* verbs name without prefix: "ACTIVE", "INIT", "DOWN" */ \
	X(TEXT, phys_state, NONE, "LinkUp") /* "LinkUp", "Polling", "Disabled" */ \
	X(INT, active_speed, DESCRIBED, 0) /* as verbs has it */ \
	X(INT, active_width, DESCRIBED, 0) \
	X(INT, active_mtu, DESCRIBED, 0) \
	X(TEXT, rate, DESCRIBED, "") /* sysfs text: "200 Gb/sec (4X HDR)" */ \
	X(INT, lid, NONE, 0) \
	X(INT, sm_lid, DESCRIBED, 0) \
	X(TEXT, gid, NONE, "") /* "fe80:0000:..." */ \
	X(TEXT, guid, NONE, "") /* node guid, sysfs text */ \
	X(BOOLEAN, roce_v1, NONE, false) /* an Ethernet port without RoCE v2 */ \
	X(TEXT, firmware, DESCRIBED, "") \
	X(TEXT, board_id, DESCRIBED, "") \
	X(TEXT, hca_type, DESCRIBED, "") \
	A(TEXTS, pkeys, DESCRIBED, pkey_count) \
	X(INT, numa_node, DEVICE, 0) \
	X(NUMBER, rail_gbps, NONE, 0) /* what NCCL's exchanges through it reach; 0: what its rate allows */ \
	A(OBJECTS, counters, counter, counter_count)

#define MUSTER_SIM_FIELDS_numa(X, A) \
	X(INT, os_index, NONE, 0) \
	X(TEXT, cpu_list, NONE, "") /* "24-47" */ \
	X(NUMBER, memory_mib, NONE, 0) \
	X(INT, socket, NONE, 0) \
	X(NUMBER, triad_gbps, NONE, 0) /* what its CPUs reach of its memory, all at once */

#define MUSTER_SIM_FIELDS_disk(X, A) \
	X(TEXT, device, NONE, "") /* "nvme0n1" */ \
	X(TEXT, model, NONE, "") /* "Microsoft NVMe Direct Disk v2" */ \
	X(NUMBER, gb, NONE, 0) /* 10^9 bytes */

/* A file system that the ranks of the node may write to. */
#define MUSTER_SIM_FIELDS_volume(X, A) \
	X(TEXT, path, DESCRIBED, "") /* where it is mounted: "/mnt/resource_nvme" */ \
	X(TEXT, filesystem, DESCRIBED, "") /* "xfs" */ \
	/* of the kernel: "md127", "dm-0", "sdb1"; or "nfs.sim:/shared", of another machine */ \
	X(TEXT, device, DESCRIBED, "") \
	X(TEXT, layout, DESCRIBED, "") /* "raid0" or "lvm-striped" over all NVMe disks; "none" */ \
	X(NUMBER, gb, NONE, 0) /* 10^9 bytes */ \
	X(NUMBER, free_gb, NONE, 0) \
	X(NUMBER, read_gbps, DESCRIBED, 0) \
	X(NUMBER, write_gbps, DESCRIBED, 0) \
	X(NUMBER, latency_us, DESCRIBED, 0) /* of a small request */ \
	X(INT, missing_members, NONE, 0) /* disks that the RAID has lost; nothing can be read or written then */ \
	X(BOOLEAN, read_only, NONE, false) \
	X(TEXT, stalls, NONE, "") /* "read" or "write": such requests never end; "": none does */ \
	X(WORD, flipped_at, NONE, 0) /* what is read has a wrong bit in this byte of each file; 0: it has not */

#define MUSTER_SIM_FIELDS_node(X, A) \
	X(TEXT, name, NONE, "") /* "sim-1" */ \
	X(TEXT, directory, NONE, "") /* its root: sys/, proc/, etc/, dev/, topology.xml; written by the generator */ \
	X(TEXT, os_name, HOST, "") /* "Ubuntu 22.04.5 LTS" */ \
	X(TEXT, kernel, HOST, "") /* "5.15.0-..." */ \
	X(TEXT, cpu_model, HOST, "") \
	X(TEXT, architecture, HOST, "") /* "x86_64" */ \
	X(COUNT, sockets, HOST, 1) \
	X(COUNT, threads_per_core, HOST, 1) /* threads of a core have neighbouring CPU numbers, as on Hyper-V */ \
	X(TEXT, vm_size, NONE, "") /* what the instance metadata service says */ \
	X(TEXT, placement_group, NONE, "sim") \
	/* CoherentGPUMemoryMode of the driver's parameters; "": no such line */ \
	X(TEXT, coherent_memory_mode, HOST, "") \
	X(INT, imex_channels, HOST, 0) \
	X(BOOLEAN, imex_hidden, NONE, false) /* the channels work, and have no files in /dev */ \
	A(TEXTS, daemons, HOST, daemon_count) /* names of processes that run beside the job */ \
	X(NUMBER, shm_mib, NONE, 0) /* size of /dev/shm; 0: half of the memory, the default of Linux */ \
	X(TEXT, memlock, HOST, "") /* limit of locked memory, as /proc/PID/limits has it: "unlimited", or bytes */ \
	X(TEXT, numa_balancing, NONE, "0") /* kernel.numa_balancing */ \
	X(BOOLEAN, module_proprietary, NONE, false) /* the driver's modules are not the open ones */ \
	/* "acpi-cpufreq: performance", of all CPUs; "": the kernel controls no frequency */ \
	X(TEXT, cpu_governor, HOST, "") \
	X(NUMBER, up_s, NONE, 0) /* seconds since boot; 0: five days */ \
	X(TEXT, ofed_version, HOST, "") /* of the module mlx5_core; "": the kernel's own module */ \
	X(BOOLEAN, peermem, HOST, false) /* nvidia_peermem is loaded */ \
	X(BOOLEAN, dma_buf, HOST, false) /* CUDA gives out DMA buffers */ \
	X(BOOLEAN, acs, NONE, false) /* on the switch above a GPU */ \
	X(NUMBER, noise_at, NONE, 0) /* which second of the cluster's noise this machine's CLOCK_MONOTONIC is 0 at */ \
	A(OBJECTS, disks, disk, disk_count) /* NVMe, local and remote */ \
	X(NUMBER, temp_disk_gb, HOST, 0) /* 0: there is none */ \
	A(OBJECTS, volumes, volume, volume_count) /* the first one is the node's scratch */ \
	X(BOOLEAN, io_uring_refused, NONE, false) /* by the kernel, as in a container */ \
	X(NUMBER, broadcast_gbps, NONE, 0) /* NCCL's broadcasts to and from other nodes; 0: what the network allows */ \
	A(TEXTS, environment, HOST, environment_count) /* "NAME=value", in its ranks' environment */ \
	A(TEXTS, nccl_conf, HOST, nccl_conf_count) /* lines of /etc/nccl.conf; none: there is no such file */ \
	X(TEXT, topo_file, HOST, "") /* path of an NCCL topology file, written from what is true; "": none */ \
	X(TEXT, graph_file, HOST, "") /* path of NCCL's file of rings and trees; "": none */ \
	X(BOOLEAN, nccl_plugin_missing, NONE, false) /* NCCL's network plugin, where the machine type has one */ \
	/* with the first two NUMA nodes swapped, as an old copy has them */ \
	X(BOOLEAN, topo_file_swapped, NONE, false) \
	/* beside a healthy boot's: "AGE TEXT", AGE in seconds, or "now TEXT": logged when a rank of the \
	 * node makes its first copy or misbehaves */ \
	A(TEXTS, kernel_log, NONE, kernel_log_count) \
	X(BOOLEAN, kernel_log_hidden, NONE, false) /* there is no /dev/kmsg, as in a container */ \
	A(TEXTS, files_missing, NONE, file_missing_count) /* not there, nor what is in them */ \
	A(TEXTS, paths_missing, NONE, path_missing_count) /* of muster_sim_paths: that are not there */ \
	A(TEXTS, paths_other, NONE, path_other_count) /* that have another content */ \
	A(OBJECTS, numas, numa, numa_count) \
	X(TEXT, driver_version, SOFTWARE, "") /* "580.126.16" */ \
	X(INT, cuda_driver, SOFTWARE, 0) /* 13000 */ \
	X(TEXT, nvml_version, SOFTWARE, "") \
	X(INT, nccl_version, SOFTWARE, 0) /* 23004 as ncclGetVersion gives it */ \
	A(TEXTS, missing_libraries, NONE, missing_library_count) /* sonames that dlopen must not find */ \
	A(OBJECTS, gpus, gpu, gpu_count) /* by nvml_index */ \
	A(OBJECTS, unseen_gpus, gpu, unseen_gpu_count) /* off the bus, or hidden: no library shows them */ \
	A(OBJECTS, ports, port, port_count)

#define MUSTER_SIM_FIELDS_rank(X, A) \
	X(INT, node, NONE, 0) /* index into nodes */ \
	X(INT, local_rank, NONE, 0) \
	X(TEXT, cpu_mask, NONE, "") /* hex, as srun's mask_cpu takes it */ \
	X(OR_NULL, visible_gpus, NONE, NULL) /* CUDA_VISIBLE_DEVICES for it; NULL: not set */ \
	X(NUMBER, nccl_slow, NONE, 1) /* its collectives take this many times as long; 1 is normal */ \
	X(NUMBER, nccl_jitter, NONE, 0) /* one all-reduce in fifty takes this many times as long; 0: none does */ \
	X(BOOLEAN, exchange_wrong, NONE, false) /* what it receives from others has one wrong value */ \
	X(BOOLEAN, nccl_wrong_sum, NONE, false) /* its copy of every sum has one wrong value */ \
	X(TEXT, nccl_hang, NONE, "") /* where its NCCL stops for ever: "init", "reduce"; "": nowhere */ \
	X(BOOLEAN, nccl_async_error, NONE, false) /* its communicators break while they work */ \
	/* "FUNCTION[#CALL]:HOW": how its worker misbehaves, and where; see fault_misbehave.h */ \
	A(TEXTS, deaths, NONE, death_count)

#define MUSTER_SIM_FIELDS_bandwidth(X, A) \
	X(INT, domains, NONE, 0) /* NVLink domains that the ring spans: racks, or nodes where NVLink ends there */ \
	X(INT, nodes, NONE, 0) /* how many nodes it spans */ \
	X(NUMBER, bytes, NONE, 0) /* sorted by domains, nodes, bytes; between two sizes: linear in log(bytes) */ \
	X(NUMBER, busbw_gbps, NONE, 0)

/* Nodes that the network does not connect as it should: rings that have nodes of both sides do not work. */
#define MUSTER_SIM_FIELDS_partition(X, A) \
	X(TEXT, name, NONE, "") /* "sim-3 and sim-5" */ \
	X(TEXT, mode, NONE, "") /* "hang": they never connect; "error": they fail; "slow": they are slow */ \
	X(TEXT, sides, NONE, "") /* a letter for each node: 'a', 'b', or '-' for nodes on neither side */

/* Two GPUs, by their bus ids, whose exchanges are slow, in both directions. */
#define MUSTER_SIM_FIELDS_link(X, A) \
	X(TEXT, name, NONE, "") /* "sim-1/0001:00:00.0 and sim-1/0002:00:00.0" */ \
	X(INT, from_node, NONE, 0) /* indexes */ \
	X(INT, to_node, NONE, 0) \
	X(TEXT, from_gpu, NONE, "") \
	X(TEXT, to_gpu, NONE, "") \
	X(NUMBER, gbps, NONE, 0)

#define MUSTER_SIM_FIELDS_cluster(X, A) \
	X(ARENA, arena, NONE, NULL) /* owns everything below */ \
	X(TEXT, sku, NONE, "") \
	X(TEXT, directory, NONE, "") \
	X(TEXT, intra_transport, NONE, "") /* what NCCL's log says inside a node: "P2P/CUMEM" */ \
	X(TEXT, inter_transport, NONE, "") /* between nodes: "NET/IB/GDRDMA"; "" when there is none */ \
	X(TEXT, noise, NONE, "") /* path of recorded noise (noise.h), which all GPUs play; "": none */ \
	A(OBJECTS, nodes, node, node_count) \
	A(OBJECTS, ranks, rank, rank_count) \
	A(OBJECTS, bandwidths, bandwidth, bandwidth_count) \
	A(OBJECTS, barriers, partition, barrier_count) \
	A(OBJECTS, links, link, link_count)

#define MUSTER_SIM_STRUCTS(S) \
	S(gpu) S(counter) S(port) S(numa) S(disk) S(volume) S(node) S(rank) S(bandwidth) S(partition) S(link) S(cluster)

#define MUSTER_SIM_MEMBER_BOOLEAN(name, part, value) bool name;
#define MUSTER_SIM_MEMBER_INT(name, part, value) int name;
#define MUSTER_SIM_MEMBER_COUNT(name, part, value) int name; /* at least 1 */
#define MUSTER_SIM_MEMBER_WORD(name, part, value) unsigned long long name;
#define MUSTER_SIM_MEMBER_NUMBER(name, part, value) double name;
#define MUSTER_SIM_MEMBER_TEXT(name, part, value) const char *name;
#define MUSTER_SIM_MEMBER_OR_NULL(name, part, value) const char *name;
#define MUSTER_SIM_MEMBER_TEXTS(name, part, count) const char **name; size_t count;
#define MUSTER_SIM_MEMBER_OBJECTS(name, object, count) struct muster_sim_##object *name; size_t count;
#define MUSTER_SIM_MEMBER_ARENA(name, part, value) struct muster_arena *name; /* not in cluster.json */
/* clang-format on */

struct muster_object_type;
#define MUSTER_SIM_MEMBER(kind, name, part, value) MUSTER_SIM_MEMBER_##kind(name, part, value)
#define MUSTER_SIM_STRUCT(name)                                                                                        \
	struct muster_sim_##name {                                                                                     \
		MUSTER_SIM_FIELDS_##name(MUSTER_SIM_MEMBER, MUSTER_SIM_MEMBER)                                         \
	};                                                                                                             \
	extern const struct muster_sim_##name muster_sim_##name##_default;                                             \
	extern const struct muster_object_type muster_sim_##name##_type;
MUSTER_SIM_STRUCTS(MUSTER_SIM_STRUCT)

/* What a process sees of the GPU: the instance, where the GPU is divided. */
double muster_sim_memory_mib(const struct muster_sim_gpu *gpu);
int muster_sim_multiprocessors(const struct muster_sim_gpu *gpu);
/* "GPU-...", or "MIG-..." of the instance. */
#define MUSTER_SIM_UUID_SIZE 64
const char *muster_sim_uuid(const struct muster_sim_gpu *gpu, char ret[MUSTER_SIM_UUID_SIZE]);

/* What a port says of itself has a number in the InfiniBand specification and in verbs, and a name in sysfs. */
enum muster_sim_port_word { MUSTER_SIM_PORT_STATE, MUSTER_SIM_PORT_PHYS_STATE, MUSTER_SIM_PORT_LINK_LAYER };

/* The number of a name; -1 when there is none. */
int muster_sim_port_word_number(enum muster_sim_port_word kind, const char *name);

#define MUSTER_SIM_SHARED "/shared" /* where all nodes have mounted one folder of another machine */

enum { MUSTER_SIM_UPTIME_S = 5 * 86400 }; /* of every node */

/* Whether no port before this one is of its device: ports with one name are ports of one device. */
bool muster_sim_port_is_first(const struct muster_sim_node *node, size_t index);

/* Read cluster.json. Unknown and missing keys are errors that name the JSON path. */
int muster_sim_cluster_read(const char *path, struct muster_sim_cluster *ret, struct muster_error *err);
int muster_sim_cluster_write(const struct muster_sim_cluster *cluster, const char *path, struct muster_error *err);
void muster_sim_cluster_done(struct muster_sim_cluster *cluster);

/* For a stand-in: the cluster, this process's rank and its node, read once from the environment. Without them, or with
 * a broken file, it says so on stderr and ends the process with status 70: a stand-in never runs unscripted. */
const struct muster_sim_cluster *muster_sim_cluster(void);
const struct muster_sim_rank *muster_sim_this_rank(void);
const struct muster_sim_node *muster_sim_this_node(void);

#endif
