/* fault_kinds.c - the table of faults, and which function or field each of them is */
#include "sim/fault.h"

#include "sim/fs.h"

#include <limits.h>
#include <stdint.h>
#include <string.h>

#define SETS(type, member, kind_)                                                                                      \
	.set = SET_##kind_, .offset = offsetof(struct type, member), .size = sizeof(((struct type *)0)->member)
/* apply() is given a number within bounds. */
#define READS(kind_, low_, high_) .set = SET_##kind_, .low = (low_), .high = (high_)
#define APPENDS(type, member, count) SETS(type, member, APPENDED), .count_offset = offsetof(struct type, count)
#define WORDS(array) .words = (array), .word_count = sizeof(array) / sizeof *(array)

/* By nvmlGpuFabricState_t. */
static const char *const fabric_states[] = { "not-supported", "not-started", "in-progress", "completed" };
/* By nvmlDeviceGpuRecoveryAction_t. */
static const char *const recovery_actions[] = { "none", "gpu-reset", "node-reboot", "drain-p2p", "drain-and-reset" };
static const char *const hangs[] = { "init", "reduce", "exchange", "alltoall", "step" };
static const char *const sonames[] = { "libcuda.so.1", "libnvidia-ml.so.1", "libnccl.so.2", "libibverbs.so.1",
	"libcurl.so.4" };

static int needs_fabric(const struct muster_fault_target *t, struct muster_error *err)
{
	return t->gpu->fabric_state > 0 ? 0 : muster_fail(err, MUSTER_EUSAGE, "this GPU joins no NVLink fabric");
}

/* Whether NVLink goes on to other nodes; each node of such a machine type has the cluster UUID of its rack. */
static int needs_rack(const struct muster_fault_target *t, struct muster_error *err)
{
	const char *cluster = t->node->gpus[0].fabric_cluster;
	if (strspn(cluster, "0-") == strlen(cluster))
		return muster_fail(err, MUSTER_EUSAGE, "NVLink ends at the node on this machine type");
	return 0;
}

static int needs_neighbours(const struct muster_fault_target *t, struct muster_error *err)
{
	const char *cluster = t->gpu->fabric_cluster;
	if (t->node->gpu_count > 1 || strspn(cluster, "0-") != strlen(cluster))
		return 0;
	return muster_fail(err, MUSTER_EUSAGE, "this GPU has no neighbours: its node has one GPU");
}

static int needs_peers(const struct muster_fault_target *t, struct muster_error *err)
{
	return t->gpu->p2p && t->node->gpu_count > 1
		       ? 0
		       : muster_fail(err, MUSTER_EUSAGE, "this GPU has no access to other GPUs on this machine type");
}

static int needs_imex(const struct muster_fault_target *t, struct muster_error *err)
{
	return t->node->imex_channels ? 0 : muster_fail(err, MUSTER_EUSAGE, "this machine type has no IMEX channel");
}

static int needs_licence(const struct muster_fault_target *t, struct muster_error *err)
{
	return t->gpu->vgpu_licensed ? 0 : muster_fail(err, MUSTER_EUSAGE, "this GPU has no vGPU licence");
}

static int needs_coherence(const struct muster_fault_target *t, struct muster_error *err)
{
	return *t->node->coherent_memory_mode
		       ? 0
		       : muster_fail(err, MUSTER_EUSAGE, "GPU memory is not coherent on this machine type");
}

static int needs_topo_file(const struct muster_fault_target *t, struct muster_error *err)
{
	if (*t->node->topo_file == '\0')
		return muster_fail(err, MUSTER_EUSAGE, "this machine type has no NCCL topology file");
	if (t->node->numa_count < 2)
		return muster_fail(err, MUSTER_EUSAGE, "this machine type has only one NUMA node");
	return 0;
}

static int needs_plugin(const struct muster_fault_target *t, struct muster_error *err)
{
	const char *transport = t->cluster->inter_transport;
	return strncmp(transport, "NET/IB", 6) == 0 && transport[6] && transport[6] != '/'
		       ? 0
		       : muster_fail(err, MUSTER_EUSAGE, "NCCL uses no plugin on this machine type");
}

const struct muster_fault muster_fault_kinds[] = {
	{ "acs", MUSTER_SIM_NODE, NULL, NULL, "a PCIe switch above the first GPU has ACS enabled",
		SETS(muster_sim_node, acs, TRUE) },
	{ "aer", MUSTER_SIM_NODE, "SEVERITY[:AGE]", "fatal:20m",
		"a PCIe error (fatal, nonfatal, corrected) of the node's first GPU is in the kernel's log",
		.apply = muster_fault_aer },
	{ "bit-rot", MUSTER_SIM_SCRATCH, "BYTE", "1048579",
		"one bit is wrong in this byte of each file that is read from the scratch",
		SETS(muster_sim_volume, flipped_at, WHOLE), .low = 1, .high = 1e15 },
	{ "broadcast-slow", MUSTER_SIM_NODE, "GB/s", "1",
		"NCCL broadcasts between this node and others as slowly as TCP would carry them",
		SETS(muster_sim_node, broadcast_gbps, NUMBER), .low = 1, .high = 10000 },
	{ "busy", MUSTER_SIM_GPU, "%", "99", "something that NVML does not list computes on the GPU",
		.answer = "nvmlDeviceGetUtilizationRates", SETS(muster_sim_gpu, busy_percent, INT), .low = 1,
		.high = 100 },
	{ "c2c-down", MUSTER_SIM_GPU, "LINKS", "1", "this many C2C links of the GPU are down",
		.apply = muster_fault_c2c_down },
	{ "checkpoint-slow", MUSTER_SIM_FOLDER, "SHARE", "0.1",
		"the shared folder has this share of its rate on the node", READS(NUMBER, 0.0001, 1),
		.apply = muster_fault_volume_slow },
	{ "checkpoint-stall", MUSTER_SIM_FOLDER, "read|write", "write",
		"reads or writes of the shared folder never end on the node", .apply = muster_fault_volume_stalls },
	{ "checkpoint-wrong", MUSTER_SIM_FOLDER, "BYTE", "1048579",
		"one bit is wrong in this byte of each file that the node reads from the shared folder",
		SETS(muster_sim_volume, flipped_at, WHOLE), .low = 1, .high = 1e15 },
	{ "clique", MUSTER_SIM_NODE, "NUMBER", "7", "the node's GPUs are in another NVLink clique", .needs = needs_rack,
		READS(INT, 0, 1000000), .apply = muster_fault_clique },
	{ "coherent-mode", MUSTER_SIM_NODE, "TEXT", "numa", "the driver's CoherentGPUMemoryMode",
		.needs = needs_coherence, SETS(muster_sim_node, coherent_memory_mode, TEXT) },
	{ "counter", MUSTER_SIM_PORT, "NAME:NUMBER", "symbol_error:5",
		"the error counter rises by this much when the node's ranks join an all-reduce",
		.apply = muster_fault_counter },
	{ "cpu-mask", MUSTER_SIM_RANK, "MASK", NULL,
		"the rank may use only these CPUs (hex; default: a NUMA node that its GPU is not on)",
		.apply = muster_fault_cpu_mask },
	{ "cublas-missing", MUSTER_SIM_NODE, NULL, "libcublasLt.so.13", "the node lacks cuBLASLt",
		APPENDS(muster_sim_node, missing_libraries, missing_library_count) },
	{ "cuda-error", MUSTER_SIM_NODE_OR_GPU, "FUNCTION[#CALL]:CODE", NULL, "this function of CUDA returns this code",
		.library = "cuda", .how = MUSTER_SIM_RETURNS, .apply = muster_fault_answer },
	{ "cuda-slow", MUSTER_SIM_NODE_OR_GPU, "FUNCTION[#CALL]:TIME", NULL, "this function of CUDA takes this time",
		.library = "cuda", .how = MUSTER_SIM_WAITS, .apply = muster_fault_answer },
	{ "cufile-missing", MUSTER_SIM_NODE, NULL, "libcufile.so.0", "the node lacks cuFile",
		APPENDS(muster_sim_node, missing_libraries, missing_library_count) },
	{ "cut", MUSTER_SIM_NODE, "hang|error|slow", "hang",
		"NCCL fails, or is slow, between nodes 1..N and nodes N+1.. (N is this node)",
		.apply = muster_fault_cut },
	{ "d2h-slow", MUSTER_SIM_GPU, "GB/s", "11.2", "copies from this GPU to the host have this bandwidth",
		SETS(muster_sim_gpu, d2h_gbps, NUMBER), .low = 0.001, .high = 10000,
		.apply = muster_fault_copies_slow },
	{ "dies", MUSTER_SIM_RANK, "FUNCTION[#CALL]:HOW", NULL,
		"the rank's worker misbehaves in this function of a vendor library", .apply = muster_fault_dies },
	{ "disk-missing", MUSTER_SIM_NODE, "DEVICE", "nvme0n1", "this disk is missing",
		.apply = muster_fault_disk_missing },
	{ "disk-slow", MUSTER_SIM_SCRATCH, "SHARE", "0.3", "the scratch reads and writes with this share of its rates",
		READS(NUMBER, 0.0001, 1), .apply = muster_fault_volume_slow },
	{ "driver-drift", MUSTER_SIM_NODE, "VERSION", "580.105.08", "the node has another NVIDIA driver version",
		.apply = muster_fault_driver_drift },
	{ "duplicate-gpu", MUSTER_SIM_RANK, NULL, NULL, "the rank sees only the GPU of the rank before it",
		.apply = muster_fault_duplicate_gpu },
	{ "ecc-uncorrected", MUSTER_SIM_GPU, "ERRORS", "1", "this GPU has counted uncorrected ECC errors",
		.answer = "nvmlDeviceGetTotalEccErrors", READS(INT, 1, 1000000000),
		.apply = muster_fault_ecc_uncorrected },
	{ "edge-slow", MUSTER_SIM_GPU, "GB/s", "40",
		"NCCL's exchanges between this GPU and others over NVLink are slow", .needs = needs_neighbours,
		SETS(muster_sim_gpu, edge_gbps, NUMBER), .low = 1, .high = 10000 },
	{ "env", MUSTER_SIM_NODE, "NAME[=TEXT]", "CUDA_DEVICE_ORDER",
		"set or remove a variable of the node's ranks (removes it from nccl.conf too)",
		.apply = muster_fault_env },
	{ "exchange-wrong", MUSTER_SIM_RANK, NULL, NULL, "one value of each message that the rank receives is wrong",
		SETS(muster_sim_rank, exchange_wrong, TRUE) },
	{ "fabric-health", MUSTER_SIM_GPU, "MASK", "169", "the GPU's fabric health mask, as a decimal number",
		.needs = needs_fabric, SETS(muster_sim_gpu, fabric_health, INT), .high = INT_MAX },
	{ "fabric-manager-dead", MUSTER_SIM_NODE, NULL, "nv-fabricmanager", "NVIDIA's Fabric Manager does not run",
		.apply = muster_fault_daemon_dead },
	{ "fabric-state", MUSTER_SIM_GPU, "STATE", "in-progress", "the progress of the GPU in joining its fabric",
		.needs = needs_fabric, SETS(muster_sim_gpu, fabric_state, PLACE), WORDS(fabric_states) },
	{ "fabric-status", MUSTER_SIM_GPU, "CODE", "999", "the NVML result code of joining the fabric",
		.needs = needs_fabric, SETS(muster_sim_gpu, fabric_status, INT), .high = 999 },
	{ "flap", MUSTER_SIM_NODE, "AGE", "20m", "the link of the node's first RDMA device went down and up again",
		.apply = muster_fault_flap },
	{ "gemm-slow", MUSTER_SIM_GPU, "SHARE", "0.8", "matrix products on this GPU have this share of their rate",
		READS(NUMBER, 0.0001, 1), .apply = muster_fault_gemm_slow },
	{ "gemm-wrong", MUSTER_SIM_GPU, "PRODUCTS", "4",
		"about one in so many matrix products on this GPU has a wrong bit",
		SETS(muster_sim_gpu, gemm_wrong, INT), .low = 1, .high = 1000000 },
	{ "governor", MUSTER_SIM_NODE, "DRIVER: GOVERNOR", "acpi-cpufreq: powersave", "what sets the CPU frequency",
		SETS(muster_sim_node, cpu_governor, TEXT) },
	{ "gpu-hidden", MUSTER_SIM_GPU, NULL, NULL, "the job may not use this GPU, as another job has it",
		SETS(muster_sim_gpu, hidden, TRUE) },
	{ "gpu-memory", MUSTER_SIM_GPU, "MiB", "98304", "this GPU has this memory size",
		SETS(muster_sim_gpu, memory_mib, NUMBER), .low = 1, .high = 10000000 },
	{ "gpu-missing", MUSTER_SIM_GPU, NULL, NULL, "this GPU has fallen off the bus",
		SETS(muster_sim_gpu, bus_id, CLEARED) },
	{ "gpu-name", MUSTER_SIM_GPU, "NAME", "NVIDIA A100-SXM4-80GB", "this GPU is another model",
		SETS(muster_sim_gpu, name, TEXT) },
	{ "h2d-slow", MUSTER_SIM_GPU, "GB/s", "11.2", "copies from the host to this GPU have this bandwidth",
		SETS(muster_sim_gpu, h2d_gbps, NUMBER), .low = 0.001, .high = 10000,
		.apply = muster_fault_copies_slow },
	{ "hbm-slow", MUSTER_SIM_GPU, "GB/s", NULL, "kernels reach this bandwidth of the GPU's memory (default: half)",
		READS(NUMBER, 0.001, 100000), .apply = muster_fault_hbm_slow },
	{ "host-name", MUSTER_SIM_NODE, "NAME", "sim-1", "the node has this host name, which another node may have too",
		SETS(muster_sim_node, name, TEXT) },
	{ "hot", MUSTER_SIM_GPU, NULL, NULL, "the GPU is so hot under load that it slows down",
		.answer = "nvmlDeviceGetCurrentClocksThrottleReasons", .apply = muster_fault_hot },
	{ "ib-down", MUSTER_SIM_PORT, NULL, NULL, "the port is DOWN and polling for a link",
		.apply = muster_fault_ib_down },
	{ "ib-extra", MUSTER_SIM_NODE, NULL, NULL,
		"there is an additional InfiniBand device, " MUSTER_FAULT_EXTRA_DEVICE,
		.apply = muster_fault_ib_extra },
	{ "ib-init", MUSTER_SIM_PORT, NULL, NULL, "the port has a link, but no subnet manager has responded yet",
		.apply = muster_fault_ib_init },
	{ "ib-missing", MUSTER_SIM_PORT, NULL, NULL, "the device is missing", SETS(muster_sim_port, pci, CLEARED) },
	{ "ib-rate", MUSTER_SIM_PORT, "Gb/s", "100", "the link runs at another rate", READS(NUMBER, 0, 1000),
		.apply = muster_fault_ib_rate },
	{ "imex-hidden", MUSTER_SIM_NODE, NULL, NULL, "the node's IMEX channel works, and has no file in /dev",
		.needs = needs_imex, SETS(muster_sim_node, imex_hidden, TRUE) },
	{ "imex-missing", MUSTER_SIM_NODE, NULL, NULL, "the node has no IMEX channel", .needs = needs_imex,
		SETS(muster_sim_node, imex_channels, CLEARED) },
	{ "io-uring-refused", MUSTER_SIM_NODE, NULL, NULL, "the kernel refuses io_uring, as in a container",
		SETS(muster_sim_node, io_uring_refused, TRUE) },
	{ "lib-missing", MUSTER_SIM_NODE, "SONAME", "libnccl.so.2", "the node lacks this library",
		APPENDS(muster_sim_node, missing_libraries, missing_library_count), WORDS(sonames) },
	{ "link-bad", MUSTER_SIM_NODE, "NODE[:hang|error|slow]", "1",
		"NCCL fails, or is slow, between this node and node NUMBER", .apply = muster_fault_link_bad },
	{ "link-slow", MUSTER_SIM_GPU, "PEER:GB/s", NULL,
		"NCCL's exchanges between this GPU and another one are slow (PEER: gpu2, node2 or node2/gpu3)",
		.apply = muster_fault_link_slow },
	{ "log-unreadable", MUSTER_SIM_NODE, NULL, NULL, "the node's kernel log cannot be read",
		SETS(muster_sim_node, kernel_log_hidden, TRUE) },
	{ "memlock", MUSTER_SIM_NODE, "BYTES", "65536", "the limit on locked memory",
		SETS(muster_sim_node, memlock, TEXT) },
	{ "memory-bad", MUSTER_SIM_GPU, "ADDRESS:BIT", "0x100000000:5",
		"kernels read this bit of the GPU's memory as 1 (ADDRESS in bytes, a multiple of 8)",
		.apply = muster_fault_memory_bad },
	{ "memory-channel", MUSTER_SIM_NUMA, "SHARE", "0.5",
		"the host's memory on this NUMA node has this share of its bandwidth, as without some of its channels",
		READS(NUMBER, 0.01, 1), .apply = muster_fault_memory_channel },
	{ "memory-held", MUSTER_SIM_GPU, "MiB", NULL,
		"other programs hold this much of the GPU's memory (default: half)",
		.apply = muster_fault_memory_held },
	{ "mig", MUSTER_SIM_GPU, "on|off|PROFILE", "on",
		"the GPU's MIG mode, or the profile of the rank's instance (3g.20gb)", .apply = muster_fault_mig },
	{ "nccl-async-error", MUSTER_SIM_RANK, NULL, NULL, "NCCL reports an asynchronous error on this rank",
		SETS(muster_sim_rank, nccl_async_error, TRUE) },
	{ "nccl-hang", MUSTER_SIM_RANK, "init|reduce|exchange|alltoall|step", "init",
		"NCCL of the rank never returns from its init, or never finishes an all-reduce, an exchange of two "
		"ranks, an all-to-all, or an all-reduce beside other work",
		SETS(muster_sim_rank, nccl_hang, TEXT), WORDS(hangs) },
	{ "nccl-jitter", MUSTER_SIM_RANK, "FACTOR", "4",
		"one in fifty all-reduces takes this many times longer because of the rank",
		SETS(muster_sim_rank, nccl_jitter, NUMBER), .low = 1, .high = 1000000 },
	{ "nccl-plugin-missing", MUSTER_SIM_NODE, NULL, NULL, "NCCL finds no network plugin on the node",
		.needs = needs_plugin, SETS(muster_sim_node, nccl_plugin_missing, TRUE) },
	{ "nccl-slow", MUSTER_SIM_RANK, "FACTOR", "4",
		"collectives and exchanges of the rank take this many times longer",
		SETS(muster_sim_rank, nccl_slow, NUMBER), .low = 1, .high = 1000000 },
	{ "nccl-version", MUSTER_SIM_NODE, "NUMBER", "21805",
		"the node has this NCCL version, in the form of ncclGetVersion",
		SETS(muster_sim_node, nccl_version, INT), .low = 2000, .high = 99999 },
	{ "nccl-wrong-sum", MUSTER_SIM_RANK, NULL, NULL, "one value in the rank's result of every sum is wrong",
		SETS(muster_sim_rank, nccl_wrong_sum, TRUE) },
	{ "net-bad", MUSTER_SIM_NODE, "hang|error|slow", "hang",
		"NCCL fails, or is slow, between this node and other nodes", .apply = muster_fault_net_bad },
	{ "nic-port-down", MUSTER_SIM_PORT, "PORT", "1", "this port of a device with several ports is DOWN",
		READS(INT, 1, UINT8_MAX), .apply = muster_fault_nic_port_down },
	{ "nvlink-down", MUSTER_SIM_GPU, "LINKS", "1", "this many NVLinks of the GPU are down",
		.apply = muster_fault_nvlink_down },
	{ "nvlink-errors", MUSTER_SIM_GPU, "KIND:ERRORS", "recovery:1",
		"one NVLink of the GPU counts so many errors while the ranks work (KIND: replay, recovery, crc)",
		.apply = muster_fault_nvlink_errors },
	{ "nvml-error", MUSTER_SIM_NODE_OR_GPU, "FUNCTION[#CALL]:CODE", NULL, "this function of NVML returns this code",
		.library = "nvml", .how = MUSTER_SIM_RETURNS, .apply = muster_fault_answer },
	{ "nvml-slow", MUSTER_SIM_NODE_OR_GPU, "FUNCTION[#CALL]:TIME", NULL, "this function of NVML takes this time",
		.library = "nvml", .how = MUSTER_SIM_WAITS, .apply = muster_fault_answer },
	{ "off-the-bus", MUSTER_SIM_GPU, NULL, NULL, "the kernel shows this GPU, and NVML and CUDA do not",
		SETS(muster_sim_gpu, off_the_bus, TRUE) },
	{ "oom", MUSTER_SIM_NODE, "AGE", "20m", "the kernel killed a process because the node's memory had run out",
		.apply = muster_fault_logged },
	{ "p2p-off", MUSTER_SIM_GPU, NULL, NULL, "CUDA gives this GPU no access to the node's other GPUs",
		.needs = needs_peers, SETS(muster_sim_gpu, p2p, CLEARED) },
	{ "path-differs", MUSTER_SIM_NODE, "PATH", "/shared/apps/pytorch_env",
		"this file or folder has another content on the node",
		APPENDS(muster_sim_node, paths_other, path_other_count), WORDS(muster_sim_paths) },
	{ "path-missing", MUSTER_SIM_NODE, "PATH", "/shared/apps/pytorch_env",
		"this file or folder is not there on the node",
		APPENDS(muster_sim_node, paths_missing, path_missing_count), WORDS(muster_sim_paths) },
	{ "pcie-replays", MUSTER_SIM_GPU, "REPLAYS", "500", "the GPU repeats so many PCIe packets while the ranks work",
		.answer = "nvmlDeviceGetPcieReplayCounter", SETS(muster_sim_gpu, pcie_replays, NUMBER), .low = 1,
		.high = 1000000000 },
	{ "placement-group", MUSTER_SIM_NODE, "NAME", "elsewhere", "the node is in another placement group",
		SETS(muster_sim_node, placement_group, TEXT) },
	{ "power-brake", MUSTER_SIM_GPU, NULL, NULL, "an external power brake slows the GPU down under load",
		.answer = "nvmlDeviceGetCurrentClocksThrottleReasons", .apply = muster_fault_power_brake },
	{ "power-cap", MUSTER_SIM_GPU, NULL, NULL, "the GPU is at its power limit under load, which is normal",
		.answer = "nvmlDeviceGetCurrentClocksThrottleReasons", .apply = muster_fault_power_cap },
	{ "power-limit", MUSTER_SIM_GPU, "W", "250", "the power limit of the GPU",
		.answer = "nvmlDeviceGetEnforcedPowerLimit", SETS(muster_sim_gpu, power_limit_watts, NUMBER), .low = 1,
		.high = 10000 },
	{ "rack", MUSTER_SIM_NODE, "NUMBER", "2", "the node is in this rack, which has its own NVLink fabric",
		.needs = needs_rack, READS(INT, 1, 1000), .apply = muster_fault_rack },
	{ "raid-degraded", MUSTER_SIM_SCRATCH, "DISKS", "1", "the RAID of the scratch has lost so many disks",
		.apply = muster_fault_raid_degraded },
	{ "rail-slow", MUSTER_SIM_PORT, "GB/s", "5", "NCCL's exchanges between nodes through this device are slow",
		SETS(muster_sim_port, rail_gbps, NUMBER), .low = 1, .high = 10000 },
	{ "read-only", MUSTER_SIM_NODE, "AGE", "20m", "a file system went read-only after an error",
		.apply = muster_fault_logged },
	{ "recovery-action", MUSTER_SIM_GPU, "ACTION", "gpu-reset", "what the driver says the GPU needs to recover",
		SETS(muster_sim_gpu, recovery_action, PLACE), WORDS(recovery_actions) },
	{ "roce", MUSTER_SIM_NODE, "PORTS", "1",
		"the node's InfiniBand adapters are RoCE adapters with so many ports of 100 Gb/s each",
		READS(INT, 1, 16), .apply = muster_fault_roce },
	{ "roce-v1", MUSTER_SIM_PORT, NULL, NULL, "the Ethernet port has no GID of RoCE v2",
		SETS(muster_sim_port, roce_v1, TRUE) },
	{ "scratch-full", MUSTER_SIM_SCRATCH, "%", "99.9", "so much of the scratch is in use", READS(NUMBER, 0, 100),
		.apply = muster_fault_scratch_full },
	{ "scratch-missing", MUSTER_SIM_SCRATCH, NULL, NULL, "the scratch is not mounted",
		.apply = muster_fault_scratch_missing },
	{ "scratch-read-only", MUSTER_SIM_SCRATCH, NULL, NULL, "the scratch is mounted read-only",
		SETS(muster_sim_volume, read_only, TRUE) },
	{ "shm-small", MUSTER_SIM_NODE, "MiB", "64", "the size of /dev/shm", SETS(muster_sim_node, shm_mib, NUMBER),
		.low = 1, .high = 10000000 },
	{ "sm-clock", MUSTER_SIM_GPU, "MHz", "900", "the GPU's application clock",
		.answer = "nvmlDeviceGetApplicationsClock", SETS(muster_sim_gpu, sm_clock_app_mhz, INT), .low = 1,
		.high = 10000 },
	{ "soak-drift", MUSTER_SIM_GPU, "SHARE", "0.3",
		"matrix products lose this share of their rate from the first to the last tenth of a soak",
		SETS(muster_sim_gpu, gemm_drift, NUMBER), .low = 0.0001, .high = 0.9 },
	{ "sram-threshold", MUSTER_SIM_GPU, NULL, NULL, "the GPU's SRAM has had more errors than it may have",
		.answer = "nvmlDeviceGetTotalEccErrors", SETS(muster_sim_gpu, sram_exceeded, TRUE) },
	{ "stall", MUSTER_SIM_SCRATCH, "read|write", "read", "reads or writes of the scratch never end",
		.apply = muster_fault_volume_stalls },
	{ "stranger", MUSTER_SIM_GPU, "MiB", NULL,
		"another program computes on the GPU and has so much of its memory (default: half)",
		.apply = muster_fault_stranger },
	{ "stranger-late", MUSTER_SIM_GPU, "MiB", "700",
		"the same, but the program begins while muster runs, and leaves muster its memory",
		.apply = muster_fault_stranger_late },
	{ "sxid", MUSTER_SIM_NODE, "CODE[:AGE]", "12028:5m", "an NVSwitch's error is in the kernel's log",
		.apply = muster_fault_sxid },
	{ "together-slow", MUSTER_SIM_GPU, "GB/s", "3",
		"copies to this GPU have this bandwidth while all GPUs of the node copy",
		SETS(muster_sim_gpu, h2d_together_gbps, NUMBER), .low = 1, .high = 10000 },
	{ "topo-stale", MUSTER_SIM_NODE, NULL, NULL, "the NCCL topology file has two NUMA nodes swapped",
		.needs = needs_topo_file, SETS(muster_sim_node, topo_file_swapped, TRUE) },
	{ "unlicensed", MUSTER_SIM_GPU, NULL, NULL, "the vGPU has no licence", .needs = needs_licence,
		SETS(muster_sim_gpu, vgpu_licensed, CLEARED) },
	{ "vm-size", MUSTER_SIM_NODE, "NAME", "Standard_D2s_v5", "the instance metadata gives this VM size",
		SETS(muster_sim_node, vm_size, TEXT) },
	{ "xid", MUSTER_SIM_GPU, "CODE[:AGE]", "79:5m",
		"an Xid of this GPU is in the kernel's log (AGE: 20m, 3h, or \"now\": during the run)",
		.apply = muster_fault_xid },
};
const size_t muster_fault_kind_count = sizeof muster_fault_kinds / sizeof *muster_fault_kinds;
