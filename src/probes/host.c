/* SPDX-License-Identifier: Apache-2.0 */
/* host.c - the settings of the node's kernel that slow down or stop a job
 *
 * What a kernel does not have is a value of its own ("none", "off"), so that nodes can be compared.
 *
 * In a container /proc and /sys are the host's, so that kernel settings are those of the node, but limits, /dev/shm and
 * the name of the container are this process's own. Nothing is written, and only the ACS registers need root.
 *
 * The leader runs it once. Each value is null on its own where its file cannot be read; only a PCI bus that cannot be
 * listed fails the probe, because ACS and IOMMU are about the GPUs on it.
 */
#include "system/acs.h"
#include "system/mounts.h"
#include "system/nvidia_gpus.h"
#include "system/start.h"
#include "system/sysfs.h"
#include "vendor/cuda.h"
#include "util/text.h"
#include "muster/arena.h"
#include "probes/metrics.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WORDS_MAX = 16 }; /* different words of one value: governors, kinds of IOMMU */

static const struct muster_metric metrics[] = {
	NODE_NUMBER("node.memlock_mib", MEBIBYTES, FACT,
		"limit on locked memory (RLIMIT_MEMLOCK); the whole memory of the node when there is no limit",
		SHOWN(IN(MACHINE, 130, "locked memory limit", .close = true))),
	NODE_NUMBER("node.shm_mib", MEBIBYTES, FACT, "size of /dev/shm",
		SHOWN(IN(MACHINE, 140, "/dev/shm", .close = true))),
	NODE_TEXT("node.hugepages", FACT, NOTHING,
		"huge pages that are reserved, by size: \"2048 kB x 1024\"; \"none\"",
		SHOWN(IN(MACHINE, 150, "huge pages"))),
	NODE_TEXT("node.transparent_hugepages", FACT, NOTHING,
		"setting of transparent huge pages: \"always\", \"madvise\", \"never\"; \"none\" without them",
		SHOWN(IN(MACHINE, 160, "transparent huge pages"))),
	NODE_TEXT("node.cpu_governor", FACT, NOTHING,
		"driver and governors of the CPU frequency: \"acpi-cpufreq: performance\", with the number of CPU "
		"groups of each where they differ; \"none\" when the kernel controls no frequency",
		SHOWN(IN(MACHINE, 110, "CPU frequency"))),
	NODE_TEXT("node.acs_enabled", FACT, NOTHING,
		"bridges of PCIe switches above GPUs and RDMA adapters whose ACS sends traffic between devices to the "
		"root complex; \"none\"",
		SHOWN(IN(MACHINE, 200, "bridges with ACS"))),
	NODE_TEXT("node.iommu", FACT, NOTHING, "IOMMU of the GPUs: \"off\", \"passthrough\", \"translated\"",
		SHOWN(IN(MACHINE, 190, "IOMMU of the GPUs"))),
	NODE_TEXT("node.gdr_path", FACT, NOTHING,
		"how network adapters can reach GPU memory: \"dma-buf\", \"peermem\", \"dma-buf and peermem\", "
		"\"none\"",
		SHOWN(IN(SOFTWARE, 90, "path of GPUDirect RDMA"))),
	NODE_TEXT("node.ofed_version", FACT, NOTHING,
		"version of the module mlx5_core of MLNX_OFED or DOCA; \"inbox\" for the kernel's own, \"none\" when "
		"it is not loaded",
		SHOWN(IN(SOFTWARE, 80, "MLNX_OFED or DOCA"))),
	NODE_TEXT("node.container", FACT, NOTHING, "container that muster runs in: \"docker\"; \"none\"",
		SHOWN(IN(MACHINE, 210, "container"))),
	NODE_NUMBER("node.up_hours", HOURS, DRIFTS, "time since the node booted"),
	NODE_NUMBER("node.load_average", NONE, DRIFTS, "load average of the last minute, at the start of the run"),
};

/* -- limits -- */

/* The first number of "Max locked memory         8388608              8388608              bytes", the soft limit,
 * which is the one that mlock obeys. Without a limit it is the memory of the node, so that checks can compare numbers.
 */
static int read_memlock(struct muster_probe_ctx *ctx, double *ret_mib, struct muster_error *err)
{
	char path[PATH_MAX], text[256], word[64] = "", *end;
	muster_root_path(ctx, path, sizeof path, "/proc/self/limits");
	if (muster_sysfs_line(path, "Max locked memory", text, sizeof text, err) < 0)
		return -1;
	sscanf(text, "%63s", word);
	if (strcmp(word, "unlimited") == 0)
		return muster_memory_mib(muster_probe_env(ctx)->root, ret_mib, err);
	double bytes = strtod(word, &end);
	if (end == word || *end || !isdigit((unsigned char)*word))
		return muster_fail(err, MUSTER_EIO, "%s: not a limit of locked memory: \"%s\"", path, text);
	*ret_mib = bytes / (1 << 20);
	return 0;
}

/* The size of the tmpfs on /dev/shm: its option `size`, or half of the memory. Anything else mounted there is null. */
static int read_shm(struct muster_probe_ctx *ctx, double *ret_mib, struct muster_error *err)
{
	struct muster_mount mount;
	double memory_mib;
	if (muster_mount_find(muster_probe_env(ctx)->root, "/dev/shm", &mount, err) < 0 ||
		muster_memory_mib(muster_probe_env(ctx)->root, &memory_mib, err) < 0)
		return -1;
	if (strcmp(mount.type, "tmpfs") != 0)
		return muster_fail(err, MUSTER_ENOTSUPPORTED, "/dev/shm is a %s, not a tmpfs", mount.type);
	return muster_mount_tmpfs_mib(&mount, memory_mib, ret_mib, err);
}

static void measure_limits(struct muster_probe_ctx *ctx)
{
	struct muster_error why;
	double mib = 0;
	int result = read_memlock(ctx, &mib, &why);
	muster_emit_read(ctx, "node.memlock_mib", NULL, result, muster_number(mib), &why);
	result = read_shm(ctx, &mib, &why);
	muster_emit_read(ctx, "node.shm_mib", NULL, result, muster_number(mib), &why);
	char path[PATH_MAX], text[128], *end = text;
	result = muster_read_line(muster_root_path(ctx, path, sizeof path, "/proc/loadavg"), text, sizeof text, &why);
	double load = result == 0 ? strtod(text, &end) : 0;
	if (result == 0 && (end == text || *end != ' '))
		result = muster_fail(&why, MUSTER_EIO, "%s is no load average: \"%s\"", path, text);
	muster_emit_read(ctx, "node.load_average", NULL, result, muster_number(load), &why);
	double up_s = 0;
	result = muster_node_up_s(muster_probe_env(ctx)->root, &up_s, &why);
	muster_emit_read(ctx, "node.up_hours", NULL, result, muster_number(up_s / 3600), &why);
}

/* -- huge pages -- */

/* "2048 kB x 1024, 1048576 kB x 4", the sizes of which pages are reserved; "none". */
static int read_hugepages(struct muster_probe_ctx *ctx, char *ret, size_t size, struct muster_error *err)
{
	char path[PATH_MAX];
	struct muster_names sizes;
	size_t used = 0;
	int result = 0;
	snprintf(ret, size, "none");
	if (muster_sysfs_names(muster_root_path(ctx, path, sizeof path, "/sys/kernel/mm/hugepages"), &sizes, err) < 0)
		return -1;
	for (size_t i = 0; i < sizes.count && result == 0; i++) {
		unsigned long kib;
		long pages;
		if (sscanf(sizes.items[i], "hugepages-%lukB", &kib) != 1)
			continue;
		muster_root_path(ctx, path, sizeof path, "/sys/kernel/mm/hugepages/%s/nr_hugepages", sizes.items[i]);
		result = muster_sysfs_number(path, &pages, err);
		if (result == 0 && pages > 0 && used < size)
			used += (size_t)snprintf(
				ret + used, size - used, "%s%lu kB x %ld", used ? ", " : "", kib, pages);
	}
	muster_names_done(&sizes);
	return result;
}

/* The word in brackets of "always [madvise] never"; "none" where the kernel has no such file. */
static int read_transparent(struct muster_probe_ctx *ctx, char *ret, size_t size, struct muster_error *err)
{
	char path[PATH_MAX], text[128];
	snprintf(ret, size, "none");
	if (access(muster_root_path(ctx, path, sizeof path, "/sys/kernel/mm/transparent_hugepage/enabled"), F_OK) < 0)
		return 0;
	if (muster_read_line(path, text, sizeof text, err) < 0)
		return -1;
	char *open = strchr(text, '['), *close = open ? strchr(open, ']') : NULL;
	if (!close)
		return muster_fail(err, MUSTER_EIO, "%s names no setting: \"%s\"", path, text);
	snprintf(ret, size, "%.*s", (int)(close - open - 1), open + 1);
	return 0;
}

/* -- CPU frequency -- */

/* Different words and how often each came, in the order of their first coming. A word beyond WORDS_MAX is dropped. */
struct words {
	char names[WORDS_MAX][32];
	int counts[WORDS_MAX];
	size_t count;
};

static void add_word(struct words *words, const char *word)
{
	size_t i = 0;
	while (i < words->count && strcmp(words->names[i], word) != 0)
		i++;
	if (i == WORDS_MAX)
		return;
	if (i == words->count)
		snprintf(words->names[words->count++], sizeof *words->names, "%.31s", word);
	words->counts[i]++;
}

/* Whether sysfs still has the policy of CPUs that were switched off, as of second threads without SMT: the kernel then
 * answers EBUSY for its files (drivers/cpufreq/cpufreq.c, show). A policy has the number of its first CPU. */
static bool is_offline(struct muster_probe_ctx *ctx, const char *policy)
{
	char path[PATH_MAX];
	long online;
	muster_root_path(ctx, path, sizeof path, "/sys/devices/system/cpu/cpu%s/online", policy + strlen("policy"));
	return muster_sysfs_number(path, &online, NULL) == 0 && online == 0;
}

/* Driver and governors of all policies, a policy being the CPUs that have one frequency:
 *
 *   no policy                    "none"
 *   all with one governor        "acpi-cpufreq: performance"
 *   with several                 "acpi-cpufreq: performance 2, powersave 1", with the number of policies of each
 *
 * The driver belongs to the value: powersave holds the lowest frequency with acpi-cpufreq, and is only a preference
 * with intel_pstate and amd-pstate-epp. The driver is that of the first policy that has a governor. */
static int read_governor(struct muster_probe_ctx *ctx, char *ret, size_t size, struct muster_error *err)
{
	char path[PATH_MAX], text[64], driver[64] = "";
	struct muster_names policies;
	struct words words = { .count = 0 };
	int result = 0;
	muster_root_path(ctx, path, sizeof path, "/sys/devices/system/cpu/cpufreq");
	if (muster_sysfs_names(path, &policies, err) < 0)
		return -1;
	for (size_t i = 0; i < policies.count && result == 0; i++) {
		if (strncmp(policies.items[i], "policy", strlen("policy")) != 0)
			continue;
		muster_root_path(ctx, path, sizeof path, "/sys/devices/system/cpu/cpufreq/%s/scaling_governor",
			policies.items[i]);
		result = muster_read_line(path, text, sizeof text, err);
		if (result < 0 && is_offline(ctx, policies.items[i])) {
			result = 0;
			continue;
		}
		if (result == 0)
			add_word(&words, text);
		muster_root_path(
			ctx, path, sizeof path, "/sys/devices/system/cpu/cpufreq/%s/scaling_driver", policies.items[i]);
		if (result == 0 && !*driver)
			result = muster_read_line(path, driver, sizeof driver, err);
	}
	muster_names_done(&policies);
	size_t used = (size_t)snprintf(ret, size, words.count ? "%s:" : "none", driver);
	for (size_t i = 0; i < words.count && used < size; i++)
		used += (size_t)snprintf(ret + used, size - used, words.count > 1 ? "%s %s %d" : "%s %s", i ? "," : "",
			words.names[i], words.counts[i]);
	return result;
}

/* -- paths to the GPUs -- */

/* The bridges above all GPUs of this operating system, those of other jobs too, and above all RDMA adapters. */
static int read_acs(struct muster_probe_ctx *ctx, const struct muster_nvidia_gpus *gpus,
	struct muster_acs_bridges *bridges, struct muster_error *err)
{
	char path[PATH_MAX];
	struct muster_names adapters;
	int result = 0;
	for (size_t i = 0; i < gpus->count && result == 0; i++)
		if (gpus->items[i].access != MUSTER_NVIDIA_SET_ASIDE)
			result = muster_acs_add(muster_root_path(ctx, path, sizeof path, "/sys/bus/pci/devices/%s",
							gpus->items[i].bus_id),
				bridges, err);
	muster_root_path(ctx, path, sizeof path, "/sys/class/infiniband");
	if (result < 0 || muster_sysfs_names(path, &adapters, err) < 0)
		return -1;
	for (size_t i = 0; i < adapters.count && result == 0; i++) {
		muster_root_path(ctx, path, sizeof path, "/sys/class/infiniband/%s/device", adapters.items[i]);
		if (access(path, F_OK) == 0) /* a device of software has no such link */
			result = muster_acs_add(path, bridges, err);
	}
	muster_names_done(&adapters);
	return result;
}

static void measure_acs(struct muster_probe_ctx *ctx, const struct muster_nvidia_gpus *gpus)
{
	struct muster_acs_bridges bridges = { .count = 0 };
	struct muster_error why;
	char *text = NULL;
	int result = read_acs(ctx, gpus, &bridges, &why);
	for (size_t i = 0; i < bridges.count; i++)
		muster_list_add(&text, " ", "%s", bridges.items[i]);
	muster_emit_read(ctx, "node.acs_enabled", NULL, result, muster_string(text ? text : "none"), &why);
	free(text);
	muster_acs_done(&bridges);
}

/* One word for each kind of IOMMU that the GPUs have, "off and passthrough" where they differ. Without a group the
 * IOMMU is off. Names of the types are Linux's (drivers/iommu/iommu.c): an identity domain passes addresses on, the
 * others translate them. */
static void measure_iommu(struct muster_probe_ctx *ctx, const struct muster_nvidia_gpus *gpus)
{
	char path[PATH_MAX], type[64], text[256] = "";
	struct muster_error why;
	struct words words = { .count = 0 };
	int result = gpus->count > muster_nvidia_gpus_count(gpus, MUSTER_NVIDIA_SET_ASIDE)
			     ? 0
			     : muster_fail(&why, MUSTER_ENOTSUPPORTED,
				       "/sys/bus/pci/devices shows no NVIDIA GPU whose IOMMU could be read");
	for (size_t i = 0; i < gpus->count && result == 0; i++) {
		if (gpus->items[i].access == MUSTER_NVIDIA_SET_ASIDE)
			continue;
		muster_root_path(ctx, path, sizeof path, "/sys/bus/pci/devices/%s/iommu_group", gpus->items[i].bus_id);
		if (access(path, F_OK) < 0) {
			add_word(&words, "off");
			continue;
		}
		muster_root_path(
			ctx, path, sizeof path, "/sys/bus/pci/devices/%s/iommu_group/type", gpus->items[i].bus_id);
		result = muster_read_line(path, type, sizeof type, &why);
		if (result == 0)
			add_word(&words, strcmp(type, "identity") == 0 ? "passthrough" : "translated");
	}
	for (size_t i = 0, used = 0; i < words.count && used < sizeof text; i++)
		used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", i ? " and " : "", words.names[i]);
	muster_emit_read(ctx, "node.iommu", NULL, result, muster_string(text), &why);
}

/* Whether the driver gives out DMA buffers of GPU memory, which network adapters need without peermem. A driver that
 * does not know the attribute (before CUDA 11.7) answers INVALID_VALUE and gives out none. */
static int read_dma_buf(struct muster_probe_ctx *ctx, bool *ret, struct muster_error *err)
{
	const struct muster_gpu *gpu = muster_probe_env(ctx)->gpu;
	int yes = 0;
	if (gpu->cuda_device < 0) /* CUDA may be what failed */
		return muster_fail(err, MUSTER_ENOTSUPPORTED, "the rank has no GPU to ask about DMA-BUF");
	const struct muster_cuda *cuda = muster_cuda(err);
	if (!cuda)
		return -1;
	CUresult result =
		cuda->cuDeviceGetAttribute(&yes, CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED, (CUdevice)gpu->cuda_device);
	*ret = result == CUDA_SUCCESS && yes;
	return result == CUDA_ERROR_INVALID_VALUE ? 0 : muster_cuda_check(cuda, result, err, "cuDeviceGetAttribute");
}

/* The path from network adapters to GPU memory, and the kind of mlx5 driver: only the module of MLNX_OFED or DOCA has a
 * version file, the kernel's own has none. */
static void measure_network(struct muster_probe_ctx *ctx)
{
	char path[PATH_MAX], version[128] = "none";
	struct muster_error why;
	const char *root = muster_probe_env(ctx)->root;
	bool dma_buf = false,
	     peermem = muster_module_is_loaded(root, "nvidia_peermem") || muster_module_is_loaded(root, "nv_peer_mem");
	muster_step(ctx, "cuDeviceGetAttribute");
	int result = read_dma_buf(ctx, &dma_buf, &why);
	const char *text = dma_buf && peermem ? "dma-buf and peermem"
			   : dma_buf          ? "dma-buf"
			   : peermem          ? "peermem"
					      : "none";
	muster_emit_read(ctx, "node.gdr_path", NULL, result, muster_string(text), &why);

	result = 0;
	if (access(muster_root_path(ctx, path, sizeof path, "/sys/module/mlx5_core/version"), F_OK) == 0)
		result = muster_read_line(path, version, sizeof version, &why);
	else if (muster_module_is_loaded(root, "mlx5_core"))
		snprintf(version, sizeof version, "inbox");
	muster_emit_read(ctx, "node.ofed_version", NULL, result, muster_string(version), &why);
}

static int run(struct muster_probe_ctx *ctx, struct muster_error *err)
{
	static const struct {
		const char *metric;
		int (*read)(struct muster_probe_ctx *ctx, char *ret, size_t size, struct muster_error *err);
	} texts[] = {
		{ "node.hugepages", read_hugepages },
		{ "node.transparent_hugepages", read_transparent },
		{ "node.cpu_governor", read_governor },
	};
	struct muster_nvidia_gpus gpus;
	struct muster_error why;
	char text[512];
	muster_step(ctx, "read files of the kernel");
	if (muster_nvidia_gpus_list(muster_probe_env(ctx)->root, &gpus, err) < 0)
		return -1;
	measure_limits(ctx);
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		int result = texts[i].read(ctx, text, sizeof text, &why);
		muster_emit_read(ctx, texts[i].metric, NULL, result, muster_string(text), &why);
	}
	measure_acs(ctx, &gpus);
	measure_iommu(ctx, &gpus);
	muster_emit_for(ctx, "node.container", NULL,
		muster_string(muster_container_name(muster_probe_env(ctx)->root, text, sizeof text)));
	muster_nvidia_gpus_done(&gpus);
	measure_network(ctx);
	return 0;
}

const struct muster_probe muster_probe_host = {
	.name = "host",
	.summary = "settings of the node's kernel that slow down or stop a job",
	.scope = MUSTER_SCOPE_NODE,
	.deadline_ms = 10000,
	.order = 23,
	METRICS(metrics),
	.run = run,
};
