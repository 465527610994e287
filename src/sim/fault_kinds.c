/* SPDX-License-Identifier: Apache-2.0 */
/* fault_kinds.c - the table of faults: which function or field each of them is, and what it needs of the machine
 *
 * fault.c looks a kind up in the table by its name, and fault.h explains a row. Rows are sorted by name, and
 * `muster sim --list-faults` prints them in this order. A new kind needs a row here, and a row in
 * tests/unit/sim/test_fault.c that says what it changes; a test refuses a kind without one.
 */
#include "sim/fault.h"

#include "sim/fs.h"

#include <limits.h>
#include <stdint.h>
#include <string.h>

/* The parts of a row. SETS(gpu, ecc_changes, TRUE): the fault sets `ecc_changes` of struct muster_sim_gpu, as SET_TRUE
 * says; the tag must be the struct that the row's AT_ names. SETS_WITHIN has bounds for VALUE. */
#define SETS(tag, member, kind_)                                                                                       \
	.set = SET_##kind_, .offset = offsetof(struct muster_sim_##tag, member),                                       \
	.size = sizeof(((struct muster_sim_##tag *)0)->member)
#define SETS_WITHIN(tag, member, kind, low_, high_) SETS(tag, member, kind), .low = (low_), .high = (high_)
/* change() and apply() are given a number within bounds. */
#define READS(kind_, low_, high_) .set = SET_##kind_, .low = (low_), .high = (high_)
/* VALUE becomes one more text of the list `member`, which has `count` of them. */
#define APPENDS(tag, member, count)                                                                                    \
	SETS(tag, member, APPENDED), .count_offset = offsetof(struct muster_sim_##tag, count)
/* A run shows the fault only when it has measured the metric, for which it needs the option. */
#define SHOWN_BY(metric, option) .shown_by = (metric), .asks = (option)
#define WORDS(array) .words = (array), .word_count = sizeof(array) / sizeof *(array)

/* Words for VALUE. Where a row sets an INT, the word's place here is the number: by nvmlGpuFabricState_t. */
static const char *const fabric_states[] = { "not-supported", "not-started", "in-progress", "completed" };
/* By nvmlDeviceGpuRecoveryAction_t. */
static const char *const recovery_actions[] = { "none", "gpu-reset", "node-reboot", "drain-p2p", "drain-and-reset",
	"recover-imex-domain", "bus-reset", "system-reboot", "action-8" };
static const char *const balancing[] = { "0", "1", "2" };
/* By nvmlComputeMode_t. */
static const char *const compute_modes[] = { "default", "exclusive-thread", "prohibited", "exclusive-process" };
static const char *const repairs[] = { "none", "channel", "tpc" };
static const char *const hangs[] = { "init", "reduce", "exchange", "alltoall", "step" };
static const char *const modules[] = { "nvidia", "nvidia_uvm", "mlx5_core", "mlx5_ib" };
static const char *const sonames[] = { "libcuda.so.1", "libnvidia-ml.so.1", "libnccl.so.2", "libibverbs.so.1",
	"libcurl.so.4" };

/* Whether NVLink goes on to other nodes: such GPUs have the cluster UUID of their rack. */
static bool joins_rack(const struct muster_sim_gpu *gpu)
{
	return strspn(gpu->fabric_cluster, "0-") != strlen(gpu->fabric_cluster);
}

/* A bus id or a PCI address that is NULL belongs to a GPU or an adapter that an earlier fault took away (sweep() in
 * fault.c comes only after all faults): what names it in a text must come before. */
const char *muster_fault_lack(const struct muster_fault_target *t)
{
	const struct muster_sim_node *node = t->node;
	const struct muster_sim_gpu *gpu = t->gpu;
	const char *transport = t->cluster->inter_transport;
	static const char missing[] = "the GPU is missing: this fault must come before gpu-missing";
	switch (t->fault->needs) {
	case NEEDS_NOTHING: return NULL;
	case NEEDS_ADAPTER: return node->port_count > 0 && node->ports->pci ? NULL : "the node has no RDMA device";
	case NEEDS_C2C: return gpu->c2c_links > 0 ? NULL : "this GPU has no C2C links";
	case NEEDS_COHERENCE:
		return *node->coherent_memory_mode ? NULL : "GPU memory is not coherent on this machine type";
	case NEEDS_FABRIC: return gpu->fabric_state > 0 ? NULL : "this GPU joins no NVLink fabric";
	case NEEDS_FIRST_GPU: return node->gpus->bus_id ? NULL : missing;
	case NEEDS_GPU: return !gpu || gpu->bus_id ? NULL : missing;
	case NEEDS_IMEX: return node->imex_channels ? NULL : "this machine type has no IMEX channel";
	case NEEDS_LICENCE: return gpu->vgpu_licensed ? NULL : "this GPU has no vGPU licence";
	case NEEDS_MIG: return gpu->mig_supported ? NULL : "this GPU has no MIG";
	case NEEDS_NEIGHBOURS:
		return node->gpu_count > 1 || joins_rack(gpu) ? NULL
							      : "this GPU has no neighbours: its node has one GPU";
	case NEEDS_NVLINKS: return gpu->nvlinks > 0 ? NULL : "this GPU has no NVLinks";
	case NEEDS_PEERS:
		return gpu->p2p && node->gpu_count > 1 ? NULL
						       : "this GPU has no access to other GPUs on this machine type";
		/* "NET/IB/GDRDMA" is NCCL's own network; a plugin's name goes on after IB */
	case NEEDS_PLUGIN:
		return strncmp(transport, "NET/IB", 6) == 0 && transport[6] && transport[6] != '/'
			       ? NULL
			       : "NCCL uses no plugin on this machine type";
	case NEEDS_RACK: return joins_rack(node->gpus) ? NULL : "NVLink ends at the node on this machine type";
	case NEEDS_STRIPES:
		return strcmp(t->volume->layout, "none") == 0 ? "the scratch of this machine type is on one disk"
							      : NULL;
	case NEEDS_TOPO_FILE:
		if (*node->topo_file == '\0')
			return "this machine type has no NCCL topology file";
		return node->numa_count > 1 ? NULL : "this machine type has only one NUMA node";
	}
	return NULL;
}

const struct muster_fault muster_fault_kinds[] = {
	{ "acs", AT_NODE, NULL, NULL, "a PCIe switch above the first GPU has ACS enabled", SETS(node, acs, TRUE) },
	{ "aer", AT_NODE, "SEVERITY[:AGE]", "fatal:20m",
		"a PCIe error (fatal, nonfatal, corrected) of the node's first GPU is in the kernel's log",
		.needs = NEEDS_FIRST_GPU, .apply = muster_fault_aer },
	{ "bar1-small", AT_GPU, "MiB", "256", "the size of the GPU's BAR1", .answer = "nvmlDeviceGetBAR1MemoryInfo",
		SETS_WITHIN(gpu, bar1_mib, NUMBER, 1, 10000000) },
	{ "bit-rot", AT_SCRATCH, "BYTE", "1048579",
		"one bit is wrong in this byte of each file that is read from the scratch",
		SETS_WITHIN(volume, flipped_at, WHOLE, 1, 1e15), SHOWN_BY("node.scratch_wrong", "--storage") },
	{ "booted", AT_NODE, "SECONDS", "120", "the node has booted so long ago",
		SETS_WITHIN(node, up_s, NUMBER, 1, 1e9) },
	{ "broadcast-slow", AT_NODE, "GB/s", "1",
		"NCCL broadcasts between this node and others as slowly as TCP would carry them",
		SETS_WITHIN(node, broadcast_gbps, NUMBER, 1, 10000),
		SHOWN_BY("rank.broadcast_gbps", "--profile standard --storage") },
	{ "busy", AT_GPU, "%", "99", "something that NVML does not list computes on the GPU",
		.answer = "nvmlDeviceGetUtilizationRates", SETS_WITHIN(gpu, busy_percent, INT, 1, 100) },
	{ "c2c-down", AT_GPU, "LINKS", "1", "this many C2C links of the GPU are down", .needs = NEEDS_C2C,
		.apply = muster_fault_c2c_down },
	{ "checkpoint-slow", AT_FOLDER, "SHARE", "0.1", "the shared folder has this share of its rate on the node",
		READS(NUMBER, 0.0001, 1), .change = muster_fault_volume_slow,
		SHOWN_BY("rank.checkpoint_mib", "--profile standard --checkpoint DIR") },
	{ "checkpoint-stall", AT_FOLDER, "read|write", "write",
		"reads or writes of the shared folder never end on the node", .apply = muster_fault_volume_stalls,
		SHOWN_BY("rank.checkpoint_mib", "--profile standard --checkpoint DIR") },
	{ "checkpoint-wrong", AT_FOLDER, "BYTE", "1048579",
		"one bit is wrong in this byte of each file that the node reads from the shared folder",
		SETS_WITHIN(volume, flipped_at, WHOLE, 1, 1e15),
		SHOWN_BY("rank.checkpoint_mib", "--profile standard --checkpoint DIR") },
	{ "clique", AT_NODE, "NUMBER", "7", "the node's GPUs are in another NVLink clique", .needs = NEEDS_RACK,
		READS(INT, 0, 1000000), .change = muster_fault_clique },
	{ "clock-locked", AT_GPU, "MHz", "1410", "the clock of the GPU's SMs is locked (nvidia-smi -lgc)",
		.answer = "nvmlDeviceGetClockInfo", READS(INT, 1, 10000), .change = muster_fault_clock_locked },
	{ "coherent-mode", AT_NODE, "TEXT", "numa", "the driver's CoherentGPUMemoryMode", .needs = NEEDS_COHERENCE,
		SETS(node, coherent_memory_mode, TEXT) },
	{ "compute-mode", AT_GPU, "MODE", "prohibited", "who may use the GPU (nvidia-smi -c)",
		SETS(gpu, compute_mode, INT), WORDS(compute_modes) },
	{ "counter", AT_PORT, "NAME:NUMBER", "symbol_error:5",
		"the error counter rises by this much when the node's ranks join an all-reduce",
		.apply = muster_fault_counter },
	{ "cpu-mask", AT_RANK, "MASK", NULL,
		"the rank may use only these CPUs (hex; default: a NUMA node that its GPU is not on)",
		.apply = muster_fault_cpu_mask },
	{ "cublas-missing", AT_NODE, NULL, "libcublasLt.so.13", "the node lacks cuBLASLt",
		APPENDS(node, missing_libraries, missing_library_count),
		SHOWN_BY("gpu.memory_tested_mib", "--profile standard") },
	{ "cuda-error", AT_NODE_OR_GPU, "FUNCTION[#CALL]:CODE", NULL, "this function of CUDA returns this code",
		.needs = NEEDS_GPU, .library = "cuda", .how = MUSTER_SIM_RETURNS, .apply = muster_fault_answer },
	{ "cuda-slow", AT_NODE_OR_GPU, "FUNCTION[#CALL]:TIME", NULL, "this function of CUDA takes this time",
		.needs = NEEDS_GPU, .library = "cuda", .how = MUSTER_SIM_WAITS, .apply = muster_fault_answer },
	{ "cufile-missing", AT_NODE, NULL, "libcufile.so.0", "the node lacks cuFile",
		APPENDS(node, missing_libraries, missing_library_count), SHOWN_BY("gpu.stream_gbps", "--storage") },
	{ "cut", AT_NODE, "hang|error|slow", "hang",
		"NCCL fails, or is slow, between nodes 1..N and nodes N+1.. (N is this node)",
		.apply = muster_fault_cut },
	{ "d2h-slow", AT_GPU, "GB/s", "11.2", "copies from this GPU to the host have this bandwidth",
		SETS_WITHIN(gpu, d2h_gbps, NUMBER, 0.001, 10000), .change = muster_fault_copies_slow },
	{ "device-missing", AT_NODE, "PATH", "/dev/nvidia-uvm", "this file of the kernel is not there",
		APPENDS(node, files_missing, file_missing_count) },
	{ "dies", AT_RANK, "FUNCTION[#CALL]:HOW", NULL,
		"the rank's worker misbehaves in this function of a vendor library", .apply = muster_fault_dies },
	{ "disk-dead", AT_NODE, "DEVICE", "nvme0n1", "the controller of this disk has failed, and the kernel logged it",
		.apply = muster_fault_disk_dead },
	{ "disk-missing", AT_NODE, "DEVICE", "nvme0n1", "this disk is missing", .apply = muster_fault_disk_missing },
	{ "disk-slow", AT_SCRATCH, "SHARE", "0.3", "the scratch reads and writes with this share of its rates",
		READS(NUMBER, 0.0001, 1), .change = muster_fault_volume_slow,
		SHOWN_BY("node.scratch_tested_mib", "--storage") },
	{ "driver-drift", AT_NODE, "VERSION", "580.105.08", "the node has another NVIDIA driver version",
		.apply = muster_fault_driver_drift },
	{ "driver-library", AT_NODE, "VERSION", "580.95.05", "NVML is of another version than the NVIDIA driver",
		.apply = muster_fault_driver_library },
	{ "duplicate-gpu", AT_RANK, NULL, NULL, "the rank sees only the GPU of the rank before it",
		.apply = muster_fault_duplicate_gpu },
	{ "eager-modules", AT_GPU, "MiB", "600",
		"the code of cuBLASLt takes so much of the GPU's memory with its first product",
		SETS_WITHIN(gpu, module_mib, NUMBER, 1, 10000000),
		SHOWN_BY("gpu.gemm_bf16_tflops", "--profile standard") },
	{ "ecc-pending", AT_GPU, NULL, NULL, "the GPU's ECC mode will change with the next reset",
		.answer = "nvmlDeviceGetEccMode", SETS(gpu, ecc_changes, TRUE) },
	{ "ecc-uncorrected", AT_GPU, "ERRORS", "1", "this GPU has counted uncorrected ECC errors",
		.answer = "nvmlDeviceGetTotalEccErrors", READS(INT, 1, 1000000000),
		.change = muster_fault_ecc_uncorrected },
	{ "edge-slow", AT_GPU, "GB/s", "40", "NCCL's exchanges between this GPU and others over NVLink are slow",
		.needs = NEEDS_NEIGHBOURS, SETS_WITHIN(gpu, edge_gbps, NUMBER, 1, 10000) },
	{ "env", AT_NODE, "NAME[=TEXT]", "NCCL_TOPO_FILE",
		"set or remove a variable of the node's ranks (removes it from nccl.conf too)",
		.apply = muster_fault_env },
	{ "exchange-wrong", AT_RANK, NULL, NULL, "one value of each message that the rank receives is wrong",
		SETS(rank, exchange_wrong, TRUE), SHOWN_BY("pair.exchange_wrong", "--profile standard") },
	{ "fabric-health", AT_GPU, "MASK", "169", "the GPU's fabric health mask, as a decimal number",
		.needs = NEEDS_FABRIC, SETS_WITHIN(gpu, fabric_health, INT, 0, INT_MAX) },
	{ "fabric-manager-dead", AT_NODE, NULL, "nv-fabricmanager", "NVIDIA's Fabric Manager does not run",
		.apply = muster_fault_daemon_dead },
	{ "fabric-state", AT_GPU, "STATE", "in-progress", "the progress of the GPU in joining its fabric",
		.needs = NEEDS_FABRIC, SETS(gpu, fabric_state, INT), WORDS(fabric_states) },
	{ "fabric-status", AT_GPU, "CODE", "999", "the NVML result code of joining the fabric", .needs = NEEDS_FABRIC,
		SETS_WITHIN(gpu, fabric_status, INT, 0, 999) },
	{ "flap", AT_NODE, "AGE", "20m", "the link of the node's first RDMA device went down and up again",
		.needs = NEEDS_ADAPTER, .apply = muster_fault_flap },
	{ "forged-log", AT_NODE, "AGE", "5m",
		"a user's programs crashed, whose names are lines of faults, in the kernel's log",
		.apply = muster_fault_logged },
	{ "gemm-slow", AT_GPU, "SHARE", "0.8", "matrix products on this GPU have this share of their rate",
		READS(NUMBER, 0.0001, 1), .change = muster_fault_gemm_slow,
		SHOWN_BY("gpu.gemm_bf16_tflops", "--profile standard") },
	{ "gemm-wrong", AT_GPU, "PRODUCTS", "4", "about one in so many matrix products on this GPU has a wrong bit",
		SETS_WITHIN(gpu, gemm_wrong, INT, 1, 1000000), SHOWN_BY("gpu.gemm_wrong", "--profile standard") },
	{ "governor", AT_NODE, "DRIVER: GOVERNOR", "acpi-cpufreq: powersave", "what sets the CPU frequency",
		SETS(node, cpu_governor, TEXT), .apply = muster_fault_governor },
	{ "gpu-driver", AT_GPU, "NAME", "vfio-pci",
		"this driver of the kernel has the GPU in place of nvidia; or \"none\"", SETS(gpu, driver, TEXT) },
	{ "gpu-excluded", AT_GPU, NULL, NULL, "the NVIDIA driver leaves the GPU out, as NVreg_ExcludedGpus says",
		SETS(gpu, excluded, TRUE) },
	{ "gpu-hidden", AT_GPU, NULL, NULL, "the job may not use this GPU, as another job has it",
		SETS(gpu, hidden, TRUE) },
	{ "gpu-memory", AT_GPU, "MiB", "98304", "this GPU has this memory size",
		SETS_WITHIN(gpu, memory_mib, NUMBER, 1, 10000000) },
	{ "gpu-missing", AT_GPU, NULL, NULL, "this GPU has fallen off the bus", SETS(gpu, bus_id, CLEARED) },
	{ "gpu-name", AT_GPU, "NAME", "NVIDIA A100-SXM4-80GB", "this GPU is another model", SETS(gpu, name, TEXT) },
	{ "h2d-slow", AT_GPU, "GB/s", "11.2", "copies from the host to this GPU have this bandwidth",
		SETS_WITHIN(gpu, h2d_gbps, NUMBER, 0.001, 10000), .change = muster_fault_copies_slow },
	{ "hbm-slow", AT_GPU, "GB/s", NULL, "kernels reach this bandwidth of the GPU's memory (default: half)",
		READS(NUMBER, 0.001, 100000), .change = muster_fault_hbm_slow,
		SHOWN_BY("gpu.memory_read_gbps", "--profile standard") },
	{ "host-name", AT_NODE, "NAME", "sim-1", "the node has this host name, which another node may have too",
		SETS(node, name, TEXT) },
	{ "hot", AT_GPU, NULL, NULL, "the GPU is so hot under load that it slows down",
		.answer = "nvmlDeviceGetCurrentClocksThrottleReasons", .change = muster_fault_hot,
		SHOWN_BY("gpu.throttled_share", "--profile standard") },
	{ "ib-down", AT_PORT, NULL, NULL, "the port is DOWN and polling for a link", .change = muster_fault_ib_down },
	{ "ib-extra", AT_NODE, NULL, NULL, "there is an additional InfiniBand device, " MUSTER_FAULT_EXTRA_DEVICE,
		.apply = muster_fault_ib_extra },
	{ "ib-init", AT_PORT, NULL, NULL, "the port has a link, but no subnet manager has responded yet",
		.change = muster_fault_ib_init },
	{ "ib-missing", AT_PORT, NULL, NULL, "the device is missing", SETS(port, pci, CLEARED) },
	{ "ib-rate", AT_PORT, "Gb/s", "100", "the link runs at another rate", READS(NUMBER, 0, 1000),
		.apply = muster_fault_ib_rate },
	{ "imex-hidden", AT_NODE, NULL, NULL, "the node's IMEX channel works, and has no file in /dev",
		.needs = NEEDS_IMEX, SETS(node, imex_hidden, TRUE) },
	{ "imex-missing", AT_NODE, NULL, NULL, "the node has no IMEX channel", .needs = NEEDS_IMEX,
		SETS(node, imex_channels, CLEARED) },
	{ "inforom-bad", AT_GPU, NULL, NULL, "the checksums of the GPU's InfoROM are wrong",
		.answer = "nvmlDeviceValidateInforom", SETS(gpu, inforom_bad, TRUE),
		SHOWN_BY("gpu.inforom_valid", "--profile standard") },
	{ "io-uring-refused", AT_NODE, NULL, NULL, "the kernel refuses io_uring, as in a container",
		SETS(node, io_uring_refused, TRUE), SHOWN_BY("node.scratch_tested_mib", "--storage") },
	{ "kernel-line", AT_NODE, "SECONDS TEXT", "1200 Loading of unsigned module is rejected",
		"the kernel logged this line so long ago", APPENDS(node, kernel_log, kernel_log_count),
		.apply = muster_fault_kernel_line },
	{ "lib-missing", AT_NODE, "SONAME", "libnccl.so.2", "the node lacks this library",
		APPENDS(node, missing_libraries, missing_library_count), WORDS(sonames) },
	{ "link-bad", AT_NODE, "NODE[:hang|error|slow]", "1",
		"NCCL fails, or is slow, between this node and node NUMBER", .apply = muster_fault_link_bad },
	{ "link-slow", AT_GPU, "PEER:GB/s", NULL,
		"NCCL's exchanges between this GPU and another one are slow (PEER: gpu2, node2 or node2/gpu3)",
		.needs = NEEDS_GPU, .apply = muster_fault_link_slow,
		SHOWN_BY("pair.exchange_gbps", "--profile standard") },
	{ "log-unreadable", AT_NODE, NULL, NULL, "the node's kernel log cannot be read",
		SETS(node, kernel_log_hidden, TRUE) },
	{ "logged", AT_NODE, "NAME[:AGE]", "xfs:20m",
		"the kernel logged a fault: xfs, io-wait, stuck, iommu, firmware, adapter, efa, oops, flaps",
		.needs = NEEDS_FIRST_GPU, .apply = muster_fault_lines },
	{ "memlock", AT_NODE, "BYTES", "65536", "the limit on locked memory", SETS(node, memlock, TEXT) },
	{ "memory-bad", AT_GPU, "ADDRESS:BIT", "0x100000000:5",
		"kernels read this bit of the GPU's memory as 1 (ADDRESS in bytes, a multiple of 8)",
		.apply = muster_fault_memory_bad, SHOWN_BY("gpu.memory_tested_mib", "--profile standard") },
	{ "memory-channel", AT_NUMA, "SHARE", "0.5",
		"the host's memory on this NUMA node has this share of its bandwidth, as without some of its channels",
		READS(NUMBER, 0.01, 1), .change = muster_fault_memory_channel,
		SHOWN_BY("node.stream_triad_numa_gbps", "--storage") },
	{ "memory-held", AT_GPU, "MiB", NULL, "other programs hold this much of the GPU's memory (default: half)",
		.apply = muster_fault_memory_held },
	{ "mig", AT_GPU, "on|off|PROFILE", "on", "the GPU's MIG mode, or the profile of the rank's instance (3g.20gb)",
		.needs = NEEDS_MIG, .apply = muster_fault_mig },
	{ "mig-pending", AT_GPU, NULL, NULL, "the GPU's MIG mode will change with the next reset", .needs = NEEDS_MIG,
		SETS(gpu, mig_changes, TRUE) },
	{ "module-missing", AT_NODE, "MODULE", "nvidia", "this module of the kernel is not loaded", WORDS(modules),
		.apply = muster_fault_module_missing },
	{ "module-proprietary", AT_NODE, NULL, NULL, "the driver's kernel modules are the proprietary ones",
		SETS(node, module_proprietary, TRUE) },
	{ "nccl-async-error", AT_RANK, NULL, NULL, "NCCL reports an asynchronous error on this rank",
		SETS(rank, nccl_async_error, TRUE) },
	{ "nccl-hang", AT_RANK, "init|reduce|exchange|alltoall|step", "init",
		"NCCL of the rank never returns from its init, or never finishes an all-reduce, an exchange of two "
		"ranks, an all-to-all, or an all-reduce beside other work",
		SETS(rank, nccl_hang, TEXT), WORDS(hangs) },
	{ "nccl-jitter", AT_RANK, "FACTOR", "4",
		"one in fifty all-reduces takes this many times longer because of the rank",
		SETS_WITHIN(rank, nccl_jitter, NUMBER, 1, 1000000),
		SHOWN_BY("nccl.allreduce_p99_us", "--profile standard") },
	{ "nccl-plugin-missing", AT_NODE, NULL, NULL, "NCCL finds no network plugin on the node", .needs = NEEDS_PLUGIN,
		SETS(node, nccl_plugin_missing, TRUE) },
	{ "nccl-slow", AT_RANK, "FACTOR", "4", "collectives and exchanges of the rank take this many times longer",
		SETS_WITHIN(rank, nccl_slow, NUMBER, 1, 1000000) },
	{ "nccl-version", AT_NODE, "NUMBER", "21805", "the node has this NCCL version, in the form of ncclGetVersion",
		SETS_WITHIN(node, nccl_version, INT, 2000, 99999) },
	{ "nccl-wrong-sum", AT_RANK, NULL, NULL, "one value in the rank's result of every sum is wrong",
		SETS(rank, nccl_wrong_sum, TRUE) },
	{ "net-bad", AT_NODE, "hang|error|slow", "hang", "NCCL fails, or is slow, between this node and other nodes",
		.apply = muster_fault_net_bad },
	{ "nic-port-down", AT_PORT, "PORT", "1", "this port of a device with several ports is DOWN",
		READS(INT, 1, UINT8_MAX), .apply = muster_fault_nic_port_down },
	{ "numa-balancing", AT_NODE, "0|1|2", "1", "the kernel's setting numa_balancing",
		SETS(node, numa_balancing, TEXT), WORDS(balancing) },
	{ "nvlink-down", AT_GPU, "LINKS", "1", "this many NVLinks of the GPU are down", .needs = NEEDS_NVLINKS,
		.apply = muster_fault_nvlink_down },
	{ "nvlink-errors", AT_GPU, "KIND:ERRORS", "recovery:1",
		"one NVLink of the GPU counts so many errors while the ranks work (KIND: replay, recovery, crc)",
		.needs = NEEDS_NVLINKS, .apply = muster_fault_nvlink_errors,
		SHOWN_BY("gpu.nvlink_errors_increase", "--profile standard") },
	{ "nvml-error", AT_NODE_OR_GPU, "FUNCTION[#CALL]:CODE", NULL, "this function of NVML returns this code",
		.needs = NEEDS_GPU, .library = "nvml", .how = MUSTER_SIM_RETURNS, .apply = muster_fault_answer },
	{ "nvml-slow", AT_NODE_OR_GPU, "FUNCTION[#CALL]:TIME", NULL, "this function of NVML takes this time",
		.needs = NEEDS_GPU, .library = "nvml", .how = MUSTER_SIM_WAITS, .apply = muster_fault_answer },
	{ "off-the-bus", AT_GPU, NULL, NULL, "the kernel shows this GPU, and NVML and CUDA do not",
		SETS(gpu, off_the_bus, TRUE) },
	{ "oom", AT_NODE, "AGE", "20m", "the kernel killed a process because the node's memory had run out",
		.apply = muster_fault_logged },
	{ "p2p-off", AT_GPU, NULL, NULL, "CUDA gives this GPU no access to the node's other GPUs", .needs = NEEDS_PEERS,
		SETS(gpu, p2p, CLEARED) },
	{ "path-differs", AT_NODE, "PATH", "/shared/apps/pytorch_env",
		"this file or folder has another content on the node", APPENDS(node, paths_other, path_other_count),
		WORDS(muster_sim_paths), SHOWN_BY("node.path_hash", "--expect-path PATH") },
	{ "path-missing", AT_NODE, "PATH", "/shared/apps/pytorch_env", "this file or folder is not there on the node",
		APPENDS(node, paths_missing, path_missing_count), WORDS(muster_sim_paths),
		SHOWN_BY("node.path_type", "--expect-path PATH") },
	{ "pcie-replays", AT_GPU, "REPLAYS", "500", "the GPU repeats so many PCIe packets while the ranks work",
		.answer = "nvmlDeviceGetPcieReplayCounter", SETS_WITHIN(gpu, pcie_replays, NUMBER, 1, 1000000000) },
	{ "placement-group", AT_NODE, "NAME", "elsewhere", "the node is in another placement group",
		SETS(node, placement_group, TEXT) },
	{ "power-bmc", AT_GPU, "W", "500", "the BMC limits the GPU's power, whatever was requested",
		.answer = "nvmlDeviceGetEnforcedPowerLimit", SETS_WITHIN(gpu, power_limit_watts, NUMBER, 1, 10000) },
	{ "power-brake", AT_GPU, NULL, NULL, "an external power brake slows the GPU down under load",
		.answer = "nvmlDeviceGetCurrentClocksThrottleReasons", .change = muster_fault_power_brake,
		SHOWN_BY("gpu.throttled_share", "--profile standard") },
	{ "power-cap", AT_GPU, NULL, NULL, "the GPU is at its power limit under load, which is normal",
		.answer = "nvmlDeviceGetCurrentClocksThrottleReasons", .change = muster_fault_power_cap,
		SHOWN_BY("gpu.throttled_share", "--profile standard") },
	{ "power-default", AT_GPU, "W", "750", "the power limit that the GPU boots with",
		.answer = "nvmlDeviceGetPowerManagementDefaultLimit",
		SETS_WITHIN(gpu, power_default_watts, NUMBER, 1, 10000) },
	{ "power-limit", AT_GPU, "W", "250", "the power limit of the GPU (nvidia-smi -pl)",
		.answer = "nvmlDeviceGetEnforcedPowerLimit", SETS_WITHIN(gpu, power_limit_watts, NUMBER, 1, 10000),
		.change = muster_fault_power_limit },
	{ "rack", AT_NODE, "NUMBER", "2", "the node is in this rack, which has its own NVLink fabric",
		.needs = NEEDS_RACK, READS(INT, 1, 1000), .change = muster_fault_rack },
	{ "raid-degraded", AT_SCRATCH, "DISKS", "1", "the RAID of the scratch has lost so many disks",
		.needs = NEEDS_STRIPES, .apply = muster_fault_raid_degraded },
	{ "rail-slow", AT_PORT, "GB/s", "5", "NCCL's exchanges between nodes through this device are slow",
		SETS_WITHIN(port, rail_gbps, NUMBER, 1, 10000), SHOWN_BY("pair.exchange_gbps", "--profile standard") },
	{ "read-only", AT_NODE, "AGE", "20m", "a file system went read-only after an error",
		.apply = muster_fault_logged },
	{ "recovery-action", AT_GPU, "ACTION", "gpu-reset", "what the driver says the GPU needs to recover",
		SETS(gpu, recovery_action, INT), WORDS(recovery_actions) },
	{ "repair-pending", AT_GPU, "channel|tpc", "channel", "the GPU has a repair that waits for a reset",
		.answer = "nvmlDeviceGetRepairStatus", SETS(gpu, repair_pending, INT), WORDS(repairs) },
	{ "roce", AT_NODE, "PORTS", "1",
		"the node's InfiniBand adapters are RoCE adapters with so many ports of 100 Gb/s each",
		READS(INT, 1, 16), .change = muster_fault_roce },
	{ "roce-v1", AT_PORT, NULL, NULL, "the Ethernet port has no GID of RoCE v2", SETS(port, roce_v1, TRUE) },
	{ "scratch-full", AT_SCRATCH, "%", "99.9", "so much of the scratch is in use", READS(NUMBER, 0, 100),
		.change = muster_fault_scratch_full },
	{ "scratch-missing", AT_SCRATCH, NULL, NULL, "the scratch is not mounted",
		.change = muster_fault_scratch_missing },
	{ "scratch-read-only", AT_SCRATCH, NULL, NULL, "the scratch is mounted read-only",
		SETS(volume, read_only, TRUE) },
	{ "shm-small", AT_NODE, "MiB", "64", "the size of /dev/shm", SETS_WITHIN(node, shm_mib, NUMBER, 1, 10000000) },
	{ "sm-clock", AT_GPU, "MHz", "900", "the GPU's application clock", .answer = "nvmlDeviceGetApplicationsClock",
		SETS_WITHIN(gpu, sm_clock_app_mhz, INT, 1, 10000) },
	{ "soak-drift", AT_GPU, "SHARE", "0.3",
		"matrix products lose this share of their rate from the first to the last tenth of a soak",
		SETS_WITHIN(gpu, gemm_drift, NUMBER, 0.0001, 0.9),
		SHOWN_BY("gpu.gemm_drift", "--profile standard --soak SECONDS") },
	{ "sram-threshold", AT_GPU, NULL, NULL, "the GPU's SRAM has had more errors than it may have",
		.answer = "nvmlDeviceGetTotalEccErrors", SETS(gpu, sram_exceeded, TRUE) },
	{ "stall", AT_SCRATCH, "read|write", "read", "reads or writes of the scratch never end",
		.apply = muster_fault_volume_stalls, SHOWN_BY("node.scratch_tested_mib", "--storage") },
	{ "stranger", AT_GPU, "MiB", NULL,
		"another program computes on the GPU and has so much of its memory (default: half)",
		.apply = muster_fault_stranger },
	{ "stranger-late", AT_GPU, "MiB", "700",
		"the same, but the program begins while muster runs, and leaves muster its memory",
		SETS(gpu, stranger_late, TRUE), .apply = muster_fault_stranger_late },
	{ "sxid", AT_NODE, "CODE[:AGE]", "12028:5m", "an NVSwitch's error is in the kernel's log",
		.apply = muster_fault_xid },
	{ "together-slow", AT_GPU, "GB/s", "3",
		"copies to this GPU have this bandwidth while all GPUs of the node copy",
		SETS_WITHIN(gpu, h2d_together_gbps, NUMBER, 1, 10000) },
	{ "topo-stale", AT_NODE, NULL, NULL, "the NCCL topology file has two NUMA nodes swapped",
		.needs = NEEDS_TOPO_FILE, SETS(node, topo_file_swapped, TRUE) },
	{ "unlicensed", AT_GPU, NULL, NULL, "the vGPU has no licence", .needs = NEEDS_LICENCE,
		SETS(gpu, vgpu_licensed, CLEARED) },
	{ "vbios", AT_GPU, "VERSION", "96.00.5E.00.01", "the GPU has this VBIOS", SETS(gpu, vbios, TEXT) },
	{ "vm-size", AT_NODE, "NAME", "Standard_D2s_v5", "the instance metadata gives this VM size",
		SETS(node, vm_size, TEXT) },
	{ "xid", AT_GPU, "CODE[:AGE]", "79:5m",
		"an Xid of this GPU is in the kernel's log (AGE: 20m, 3h, or \"now\": during the run)",
		.needs = NEEDS_GPU, .apply = muster_fault_xid },
};
const size_t muster_fault_kind_count = sizeof muster_fault_kinds / sizeof *muster_fault_kinds;
