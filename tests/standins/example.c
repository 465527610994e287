/* example.c - a small simulated cluster for the tests of the stand-ins
 */
#include "standins/example.h"

#include <check.h>
#include <dirent.h>
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char directory[PATH_MAX];

static struct muster_sim_gpu gpus[EXAMPLE_NODES][EXAMPLE_GPUS];
static char bus_ids[EXAMPLE_NODES][EXAMPLE_GPUS][32], uuids[EXAMPLE_NODES][EXAMPLE_GPUS][64];

static const char *pkeys[] = { "0xffff", "0x8012" };
static struct muster_sim_counter counters[] = { { "link_downed", 3, 0 } };
static struct muster_sim_port ports[EXAMPLE_NODES][3];
static struct muster_sim_numa numas[] = { { 0, "0-3", 1024, 0, 40 }, { 3, "4-7", 2048, 1, 20 } };
static struct muster_sim_node nodes[EXAMPLE_NODES];
static struct muster_sim_rank ranks[EXAMPLE_RANKS];
static struct muster_sim_bandwidth bandwidths[] = {
	{ 1, 1, 1e6, 100 },
	{ 1, 1, 1e8, 200 },
	{ 2, 2, 1e6, 10 },
	{ 2, 2, 1e8, 50 },
};
static struct muster_sim_cluster cluster = {
	.sku = "example",
	.directory = directory,
	.intra_transport = "P2P/CUMEM",
	.inter_transport = "NET/IB/GDRDMA",
	.nodes = nodes,
	.node_count = EXAMPLE_NODES,
	.ranks = ranks,
	.rank_count = EXAMPLE_RANKS,
	.bandwidths = bandwidths,
	.bandwidth_count = sizeof bandwidths / sizeof *bandwidths,
};

/* CUDA counts the GPUs backwards: 3, 2, 1, 0. */
static void fill_gpu(int node, int index)
{
	snprintf(bus_ids[node][index], sizeof *bus_ids[node], "%04x:0a:00.0", index + 1);
	snprintf(uuids[node][index], sizeof *uuids[node], "GPU-%08x-0123-4567-89ab-cdef0000%04x",
		0xabc00000u + (unsigned)index, (unsigned)node);
	gpus[node][index] = (struct muster_sim_gpu){
		.bus_id = bus_ids[node][index],
		.uuid = uuids[node][index],
		.name = "Example GPU",
		.vbios = "92.00.45.00.03",
		.memory_mib = 1024,
		.compute_major = 8,
		.numa_node = index / 2 * 3,
		.cuda_index = EXAMPLE_GPUS - 1 - index,
		.nvml_index = index,
		.ecc = true,
		.persistence = true,
		.mig_supported = index != 3,
		.pcie_gen = 3,
		.pcie_gen_max = 4,
		.pcie_width = 8,
		.pcie_width_max = 16,
		.nvlinks = 12,
		.nvlinks_active = 11,
		.nvlink_mbps = 25781,
		.nvlink_group = 2,
		.multiprocessors = 108,
		.memory_bus_bits = 5120,
		.sm_clock_mhz = 210,
		.sm_clock_max_mhz = 1410,
		.mem_clock_mhz = 1215,
		.mem_clock_max_mhz = 1216,
		.throttle_reasons = 0x20,
		.temperature_celsius = 33,
		.power_watts = 55.25,
		.power_limit_watts = 400,
		.ecc_corrected_volatile = 1,
		.ecc_uncorrected_volatile = 2,
		.ecc_corrected_aggregate = 3,
		.ecc_uncorrected_aggregate = 4,
		.remap_correctable = 5,
		.remap_uncorrectable = 6,
		.remap_failed = true,
		.h2d_gbps = 25,
		.d2h_gbps = 20,
		.h2d_together_gbps = 16,
		.d2h_together_gbps = 10,
		.sm_clock_app_mhz = 1095,
		.memory_write_gbps = 1000,
		.memory_read_gbps = 2000,
		.gemm_bf16_tflops = 100,
		.gemm_fp64_tflops = 10,
		.sm_clock_loaded_mhz = 1300,
		.temperature_loaded_celsius = 61,
		.memory_temperature_celsius = 72,
		.power_loaded_watts = 390.5,
		.throttle_reasons_loaded = 0x44,
		.temperature_slowdown_celsius = 89,
		.memory_temperature_max_celsius = 95,
		.fabric_cluster = "00000000-0000-0000-0000-000000000000",
		.p2p = true,
		.virtualization = "passthrough",
		.vgpu_product = "",
	};
}

static void fill_node(int node)
{
	for (int i = 0; i < EXAMPLE_GPUS; i++)
		fill_gpu(node, i);
	for (int i = 0; i < 3; i++) {
		ports[node][i] = (struct muster_sim_port){
			.device = i < 2 ? "mlx5_ib0" : "mlx5_an0",
			.port = i < 2 ? i + 1 : 1,
			.pci = "0101:00:00.0",
			.link_layer = i < 2 ? "InfiniBand" : "Ethernet",
			.state = i == 1 ? "INIT" : "ACTIVE",
			.phys_state = i == 1 ? "Polling" : "LinkUp",
			.active_speed = 64,
			.active_width = 2,
			.active_mtu = 5,
			.rate = "200 Gb/sec (4X HDR)",
			.lid = 17 + i,
			.sm_lid = 1,
			.gid = "fe80:0000:0000:0000:0015:5dff:fe33:ff1e",
			.guid = "0015:5dff:fe33:ff1e",
			.firmware = "20.31.1014",
			.board_id = "MT_0000000223",
			.hca_type = "MT4124",
			.pkeys = pkeys,
			.pkey_count = 2,
			.numa_node = 0,
			.counters = counters,
			.counter_count = 1,
		};
	}
	nodes[node] = (struct muster_sim_node){
		.name = node == 0 ? "sim-1" : "sim-2",
		.directory = directory,
		.os_name = "Example OS",
		.kernel = "5.15.0",
		.cpu_model = "Example CPU",
		.architecture = "x86_64",
		.sockets = 2,
		.threads_per_core = 1,
		.vm_size = "example",
		.placement_group = "sim",
		.coherent_memory_mode = "",
		.memlock = "unlimited",
		.cpu_governor = "",
		.ofed_version = "",
		.topo_file = "",
		.numas = numas,
		.numa_count = 2,
		.driver_version = "580.126.16",
		.cuda_driver = 13000,
		.nvml_version = "13.580.126.16",
		.nccl_version = 22809,
		.gpus = gpus[node],
		.gpu_count = EXAMPLE_GPUS,
		.ports = ports[node],
		.port_count = 3,
	};
}

struct muster_sim_cluster *example_cluster(void)
{
	for (int i = 0; i < EXAMPLE_NODES; i++)
		fill_node(i);
	for (int i = 0; i < EXAMPLE_RANKS; i++)
		ranks[i] = (struct muster_sim_rank){ .node = i / EXAMPLE_GPUS,
			.local_rank = i % EXAMPLE_GPUS,
			.cpu_mask = "f0",
			.nccl_slow = 1,
			.nccl_hang = "" };
	return &cluster;
}

void example_start(struct muster_sim_cluster *written, int rank)
{
	struct muster_error err;
	char path[PATH_MAX + 32], number[16];
	snprintf(directory, sizeof directory, "/tmp/muster-standins-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(directory));
	snprintf(path, sizeof path, "%s/cluster.json", directory);
	ck_assert_msg(muster_sim_cluster_write(written, path, &err) == 0, "%s", err.text);
	snprintf(number, sizeof number, "%d", rank);
	setenv("MUSTER_SIM_CLUSTER", path, 1);
	setenv("MUSTER_SIM_RANK", number, 1);
}

void example_end(void)
{
	DIR *listed = opendir(directory);
	ck_assert_ptr_nonnull(listed);
	for (struct dirent *entry; (entry = readdir(listed));)
		ck_assert_msg(entry->d_name[0] == '.' || strcmp(entry->d_name, "cluster.json") == 0,
			"%s is left behind", entry->d_name);
	closedir(listed);
	unlink(getenv("MUSTER_SIM_CLUSTER"));
	ck_assert_int_eq(rmdir(directory), 0);
}

void *example_open(const char *soname)
{
	char path[PATH_MAX];
	snprintf(path, sizeof path, "%s/lib/muster/sim/%s", MUSTER_BUILD_DIR, soname);
	void *library = dlopen(path, RTLD_NOW);
	ck_assert_msg(library != NULL, "%s", dlerror());
	return library;
}

void example_find(void *library, const char *name, void *ret, size_t size)
{
	void *function = dlsym(library, name);
	ck_assert_msg(function != NULL, "there is no %s", name);
	memcpy(ret, &function, size);
}

/* Under the emulator, when the program is another processor's. */
static void execute(const char *name)
{
	const char *wrapper = getenv("MUSTER_SIM_WRAPPER"); /* one word here */
	char self[PATH_MAX] = "";
	if (readlink("/proc/self/exe", self, sizeof self - 1) < 0)
		return;
	if (wrapper)
		execlp(wrapper, wrapper, self, name, (char *)NULL);
	else
		execl(self, self, name, (char *)NULL);
}

void example_preloaded(const char *name)
{
	int status;
	fflush(NULL);
	pid_t child = fork();
	if (child == 0) {
		setenv("LD_PRELOAD", MUSTER_BUILD_DIR "/lib/muster/sim/libmuster-preload.so", 1);
		setenv("ASAN_OPTIONS", "verify_asan_link_order=0", 1); /* matters in a sanitized build only */
		setenv("HWLOC_THISSYSTEM", "1", 1);
		execute(name);
		_exit(99);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "case %s: status %#x", name, (unsigned)status);
}

void example_ranks(int count, void (*rank_main)(int rank, void *arg), void *arg)
{
	pid_t processes[EXAMPLE_RANKS];
	for (int rank = 0; rank < count; rank++) {
		fflush(NULL);
		processes[rank] = fork();
		ck_assert_int_ge(processes[rank], 0);
		if (processes[rank] > 0)
			continue;
		char number[16];
		snprintf(number, sizeof number, "%d", rank);
		setenv("MUSTER_SIM_RANK", number, 1);
		rank_main(rank, arg);
		exit(0);
	}
	int bad = 0;
	for (int rank = 0; rank < count; rank++) {
		int status;
		ck_assert_int_eq(waitpid(processes[rank], &status, 0), processes[rank]);
		if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
			bad++;
	}
	ck_assert_msg(bad == 0, "%d of %d ranks failed", bad, count);
}
