/* SPDX-License-Identifier: Apache-2.0 */
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
	.noise = "",
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
	struct muster_sim_gpu *gpu = &gpus[node][index];
	*gpu = muster_sim_gpu_default;
	gpu->bus_id = bus_ids[node][index];
	gpu->uuid = uuids[node][index];
	gpu->name = "Example GPU";
	gpu->vbios = "92.00.45.00.03";
	gpu->memory_mib = 1024;
	gpu->compute_major = 8;
	gpu->numa_node = index / 2 * 3;
	gpu->cuda_index = EXAMPLE_GPUS - 1 - index;
	gpu->nvml_index = index;
	gpu->ecc = true;
	gpu->persistence = true;
	gpu->mig_supported = index != 3;
	gpu->pcie_gen = 3;
	gpu->pcie_gen_max = 4;
	gpu->pcie_width = 8;
	gpu->pcie_width_max = 16;
	gpu->nvlinks = 12;
	gpu->nvlinks_active = 11;
	gpu->nvlink_mbps = 25781;
	gpu->nvlink_group = 2;
	gpu->multiprocessors = 108;
	gpu->memory_bus_bits = 5120;
	gpu->sm_clock_mhz = 210;
	gpu->sm_clock_max_mhz = 1410;
	gpu->mem_clock_mhz = 1215;
	gpu->mem_clock_max_mhz = 1216;
	gpu->throttle_reasons = 0x20;
	gpu->temperature_celsius = 33;
	gpu->power_watts = 55.25;
	gpu->power_limit_watts = 400;
	gpu->ecc_corrected_volatile = 1;
	gpu->ecc_uncorrected_volatile = 2;
	gpu->ecc_corrected_aggregate = 3;
	gpu->ecc_uncorrected_aggregate = 4;
	gpu->remap_correctable = 5;
	gpu->remap_uncorrectable = 6;
	gpu->remap_failed = true;
	gpu->h2d_gbps = 25;
	gpu->d2h_gbps = 20;
	gpu->h2d_together_gbps = 16;
	gpu->d2h_together_gbps = 10;
	gpu->sm_clock_app_mhz = 1095;
	gpu->memory_write_gbps = 1000;
	gpu->memory_read_gbps = 2000;
	gpu->gemm_bf16_tflops = 100;
	gpu->gemm_fp64_tflops = 10;
	gpu->sm_clock_loaded_mhz = 1300;
	gpu->temperature_loaded_celsius = 61;
	gpu->memory_temperature_celsius = 72;
	gpu->power_loaded_watts = 390.5;
	gpu->throttle_reasons_loaded = 0x44;
	gpu->temperature_slowdown_celsius = 89;
	gpu->memory_temperature_max_celsius = 95;
	gpu->fabric_cluster = "00000000-0000-0000-0000-000000000000";
	gpu->p2p = true;
	gpu->virtualization = "passthrough";
}

static void fill_node(int node)
{
	for (int i = 0; i < EXAMPLE_GPUS; i++)
		fill_gpu(node, i);
	for (int i = 0; i < 3; i++) {
		struct muster_sim_port *port = &ports[node][i];
		*port = muster_sim_port_default;
		port->device = i < 2 ? "mlx5_ib0" : "mlx5_an0";
		port->port = i < 2 ? i + 1 : 1;
		port->pci = "0101:00:00.0";
		port->link_layer = i < 2 ? "InfiniBand" : "Ethernet";
		port->state = i == 1 ? "INIT" : "ACTIVE";
		port->phys_state = i == 1 ? "Polling" : "LinkUp";
		port->active_speed = 64;
		port->active_width = 2;
		port->active_mtu = 5;
		port->rate = "200 Gb/sec (4X HDR)";
		port->lid = 17 + i;
		port->sm_lid = 1;
		port->gid = "fe80:0000:0000:0000:0015:5dff:fe33:ff1e";
		port->guid = "0015:5dff:fe33:ff1e";
		port->firmware = "20.31.1014";
		port->board_id = "MT_0000000223";
		port->hca_type = "MT4124";
		port->pkeys = pkeys;
		port->pkey_count = 2;
		port->numa_node = 0;
		port->counters = counters;
		port->counter_count = 1;
	}
	struct muster_sim_node *made = &nodes[node];
	*made = muster_sim_node_default;
	made->name = node == 0 ? "sim-1" : "sim-2";
	made->directory = directory;
	made->os_name = "Example OS";
	made->kernel = "5.15.0";
	made->cpu_model = "Example CPU";
	made->architecture = "x86_64";
	made->sockets = 2;
	made->vm_size = "example";
	made->memlock = "unlimited";
	made->numas = numas;
	made->numa_count = 2;
	made->driver_version = "580.126.16";
	made->cuda_driver = 13000;
	made->nvml_version = "13.580.126.16";
	made->nccl_version = 22809;
	made->gpus = gpus[node];
	made->gpu_count = EXAMPLE_GPUS;
	made->ports = ports[node];
	made->port_count = 3;
}

struct muster_sim_cluster *example_cluster(void)
{
	for (int i = 0; i < EXAMPLE_NODES; i++)
		fill_node(i);
	for (int i = 0; i < EXAMPLE_RANKS; i++) {
		ranks[i] = muster_sim_rank_default;
		ranks[i].node = i / EXAMPLE_GPUS;
		ranks[i].local_rank = i % EXAMPLE_GPUS;
		ranks[i].cpu_mask = "f0";
	}
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

static void *open_library(const char *soname, int scope)
{
	char path[PATH_MAX];
	snprintf(path, sizeof path, "%s/lib/muster/sim/%s", MUSTER_BUILD_DIR, soname);
	void *library = dlopen(path, RTLD_NOW | scope);
	ck_assert_msg(library != NULL, "%s", dlerror());
	return library;
}

void *example_open(const char *soname)
{
	open_library("libmuster-preload.so", RTLD_GLOBAL); /* it has the clock */
	return open_library(soname, RTLD_LOCAL);
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
