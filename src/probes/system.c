/* SPDX-License-Identifier: Apache-2.0 */
/* system.c - what software and host hardware the node has
 *
 * A vendor library that is missing is a fact here, a null with the loader's own words; the probes that need it to do
 * their work are the ones that fail.
 *
 * Versions come from the libraries themselves, the file of each from the loader (dlinfo), links resolved: two nodes
 * that load different files of one version differ in node.library_path. A library that the
 * worker has not opened yet is opened here, so the step names it, in case its constructor hangs.
 *
 * The order: files of /etc and /proc; CPUs and NUMA nodes by hwloc; GPUs by NVML; the vendor libraries, one by one.
 * None of them fails the probe. measure_compat comes last, because it needs the path that measure_libraries has made
 * known.
 */
#include "vendor/cuda.h"
#include "vendor/library.h"
#include "vendor/nccl.h"
#include "vendor/nvml_gpus.h"
#include "system/nvidia_gpus.h"
#include "system/topology.h"
#include "vendor/verbs.h"
#include "system/sysfs.h"
#include "util/cpuset.h"
#include "util/text.h"
#include "util/version.h"
#include "muster/arena.h"
#include "probes/metrics.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct muster_metric metrics[] = {
	NODE_TEXT("node.os", FACT, NOTHING, "PRETTY_NAME of os-release", SHOWN(IN(SOFTWARE, 10, "operating system"))),
	NODE_TEXT("node.kernel", FACT, NOTHING, "kernel release",
		SHOWN(IN(SOFTWARE, 20, "kernel"), IN(TICKET, 70, "kernel"))),
	NODE_TEXT("node.muster_version", FACT, NOTHING, "muster that measures here: \"0.2.0+g1a2b3c4d\""),
	NODE_TEXT("node.kernel_taint", FACT, NOTHING,
		"what flags of the kernel say of faults since boot, separated by spaces: \"machine-check\", "
		"\"bad-page\", \"oops\"; \"none\""),
	NODE_TEXT("node.architecture", FACT, NOTHING, "machine architecture, as uname -m prints it",
		SHOWN(IN(MACHINE, 100, "architecture"))),
	NODE_TEXT("node.cpu_model", FACT, NOTHING, "CPU model of /proc/cpuinfo", SHOWN(IN(MACHINE, 60, "CPU model"))),
	NODE_NUMBER("node.cpus", NONE, FACT, "logical CPUs online", SHOWN(IN(MACHINE, 70, "CPUs"))),
	NODE_NUMBER("node.sockets", NONE, FACT, "CPU packages", SHOWN(IN(MACHINE, 80, "CPU packages"))),
	NODE_NUMBER("node.numa_nodes", NONE, FACT, "NUMA nodes that have CPUs", SHOWN(IN(MACHINE, 90, "NUMA nodes"))),
	NODE_TEXT("node.numa_conflict", FACT, NOTHING,
		"what the kernel and hwloc say differently of the NUMA node of a GPU; \"none\""),
	TEXT(NODE, "node.numa_cpu_list", FACT, NOTHING,
		"CPUs of each of these NUMA nodes: \"0-23\"; package: the CPU package of the first of them",
		.labels = { "numa_node", "package" }),
	NODE_NUMBER("node.memory_mib", MEBIBYTES, FACT, "MemTotal of /proc/meminfo",
		SHOWN(IN(MACHINE, 120, "memory", .close = true))),
	NODE_NUMBER("node.gpu_count", NONE, MORE, "GPUs of the node that NVML can reach", .counts = MUSTER_COUNTS_GPUS,
		SHOWN(IN(GPUS, 10, "GPUs in NVML"))),
	NODE_TEXT("node.gpu_bus_ids", FACT, NOTHING, "PCI bus ids of these GPUs, in NVML order, separated by spaces"),
	NODE_TEXT("node.driver_version", FACT, NOTHING, "NVIDIA driver, as NVML gives it",
		SHOWN(IN(SOFTWARE, 30, "NVIDIA driver"), IN(TICKET, 60, "NVIDIA driver"))),
	NODE_TEXT("node.cuda_driver_api", FACT, NOTHING, "newest CUDA version that the driver supports: \"13.0\"",
		SHOWN(IN(SOFTWARE, 40, "CUDA of the driver"))),
	NODE_TEXT("node.cuda_compat", FACT, NOTHING,
		"CUDA driver library of another version than the driver (forward compatibility); \"none\"",
		SHOWN(IN(SOFTWARE, 45, "CUDA forward compatibility"))),
	NODE_TEXT("node.nccl_version", FACT, NOTHING, "NCCL version that the library reports: \"2.28.9\"",
		SHOWN(IN(SOFTWARE, 50, "NCCL"))),
	TEXT(NODE, "node.library_path", FACT, TEXT, "file that was loaded for this vendor library",
		.labels = { "library" }),
	TEXT(NODE, "node.library_version", FACT, NOTHING,
		"version of the loaded library, from the library or its file name", .labels = { "library" }),
	NODE_TEXT("node.coherent_memory_mode", FACT, NOTHING,
		"CoherentGPUMemoryMode of the driver: \"driver\", \"numa\", \"\" when not set"),
	NODE_NUMBER("node.imex_channels", NONE, FACT, "IMEX channels in /dev/nvidia-caps-imex-channels",
		SHOWN(IN(SOFTWARE, 130, "IMEX channels"))),
};

/* Takes the quotes and backslashes of a shell-like assignment off, in place: "Ubuntu \"24.04\"" becomes Ubuntu "24.04".
 * Between single quotes a backslash is an ordinary character (os-release(5)). */
static void unquote(char *text)
{
	char *to = text, quote = '\0';
	for (const char *at = text; *at; at++) {
		if (!quote && (*at == '"' || *at == '\''))
			quote = *at;
		else if (*at == quote)
			quote = '\0';
		else if (*at == '\\' && quote != '\'' && at[1])
			*to++ = *++at;
		else
			*to++ = *at;
	}
	*to = '\0';
}

/* Where neither os-release has the name, the reason is that of /etc/os-release. */
static void measure_software(struct muster_probe_ctx *ctx)
{
	char path[PATH_MAX], text[4096];
	struct muster_error why;
	int result = muster_sysfs_line(
		muster_root_path(ctx, path, sizeof path, "/etc/os-release"), "PRETTY_NAME", text, sizeof text, &why);
	if (result < 0)
		result = muster_sysfs_line(muster_root_path(ctx, path, sizeof path, "/usr/lib/os-release"),
			"PRETTY_NAME", text, sizeof text, NULL);
	if (result == 0)
		unquote(text);
	muster_emit_read(ctx, "node.os", NULL, result, muster_string(text), &why);
	muster_root_path(ctx, path, sizeof path, "/proc/sys/kernel/osrelease");
	result = muster_read_line(path, text, sizeof text, &why);
	muster_emit_read(ctx, "node.kernel", NULL, result, muster_string(text), &why);
	muster_emit_for(ctx, "node.muster_version", NULL, muster_string(muster_version));
}

/* Bits of Documentation/admin-guide/tainted-kernels.rst. The others are of modules, which every node with NVIDIA's has,
 * of settings, and of warnings and lockups that a busy host of virtual machines brings about. */
static void measure_taint(struct muster_probe_ctx *ctx)
{
	static const struct {
		long bit;
		const char *name;
	} flags[] = { { 1L << 4, "machine-check" }, { 1L << 5, "bad-page" }, { 1L << 7, "oops" } };
	char path[PATH_MAX], *text = NULL;
	struct muster_error why;
	long taint = 0;
	int result =
		muster_sysfs_number(muster_root_path(ctx, path, sizeof path, "/proc/sys/kernel/tainted"), &taint, &why);
	for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
		if (taint & flags[i].bit)
			muster_list_add(&text, " ", "%s", flags[i].name);
	muster_emit_read(ctx, "node.kernel_taint", NULL, result, muster_string(text ? text : "none"), &why);
	free(text);
}

static void measure_memory(struct muster_probe_ctx *ctx)
{
	struct muster_error why;
	double mib = 0;
	int result = muster_memory_mib(muster_probe_env(ctx)->root, &mib, &why);
	muster_emit_read(ctx, "node.memory_mib", NULL, result, muster_number(mib), &why);
}

/* The NUMA nodes that are the home of a CPU, each with its CPUs and, as a label, the package of the first of these.
 * Without a topology there is one null, whose labels are "unknown". topology: NULL with the reason. */
static void measure_numa_cpus(
	struct muster_probe_ctx *ctx, hwloc_topology_t topology, hwloc_const_nodeset_t homes, const char *why)
{
	const struct muster_value unknown[] = { muster_string("unknown"), muster_string("unknown") };
	if (!topology) {
		muster_emit_null(ctx, "node.numa_cpu_list", unknown, 2, "%s", why);
		return;
	}
	int index = -1;
	while ((index = hwloc_bitmap_next(homes, index)) >= 0) {
		hwloc_obj_t node = hwloc_get_numanode_obj_by_os_index(topology, (unsigned int)index), package = NULL;
		struct muster_error err;
		do
			package = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_PACKAGE, package);
		while (package && !hwloc_bitmap_isset(package->cpuset, (unsigned int)hwloc_bitmap_first(node->cpuset)));
		const struct muster_value labels[] = { muster_number(index),
			muster_number(package ? package->os_index : 0) };
		if (muster_cpuset_check(node->cpuset, &err) < 0) {
			muster_emit_null(ctx, "node.numa_cpu_list", labels, 2, "%s", err.text);
			continue;
		}
		char *list = muster_cpuset_list(node->cpuset);
		muster_emit(ctx, "node.numa_cpu_list", labels, 2, muster_string(list));
		free(list);
	}
}

/* What kernel and hwloc say differently of the NUMA node of a GPU, in the words of muster_topology_gpu_node, whose code
 * for that is MUSTER_EIO. A NUMA node that is not known (MUSTER_ENOTSUPPORTED) is no conflict. Of the first such GPU
 * alone: all have the same cause. */
static void measure_conflict(struct muster_probe_ctx *ctx, hwloc_topology_t topology)
{
	const char *root = muster_probe_env(ctx)->root;
	struct muster_error why, conflict = { 0 };
	struct muster_nvidia_gpus gpus = { 0 };
	hwloc_obj_t node;
	int result = muster_nvidia_gpus_list(root, &gpus, &why);
	for (size_t i = 0; result == 0 && conflict.code != MUSTER_EIO && i < gpus.count; i++)
		if (muster_topology_gpu_node(topology, root, gpus.items[i].bus_id, &node, &conflict) == 0)
			conflict.code = MUSTER_OK;
	muster_emit_read(ctx, "node.numa_conflict", NULL, result,
		muster_string(conflict.code == MUSTER_EIO ? conflict.text : "none"), &why);
	muster_nvidia_gpus_done(&gpus);
}

/* What hwloc knows of the machine. Without a topology each value is null with the reason why there is none, except the
 * CPU model, which /proc/cpuinfo has. */
static void measure_cpus(struct muster_probe_ctx *ctx)
{
	char path[PATH_MAX], text[256];
	struct muster_error why = { 0 }, no_topology = { 0 };
	muster_step(ctx, "hwloc: load the topology");
	hwloc_topology_t topology = muster_topology(&no_topology);
	hwloc_obj_t root = topology ? hwloc_get_root_obj(topology) : NULL;
	hwloc_nodeset_t homes = hwloc_bitmap_alloc();
	if (root)
		muster_topology_homes(topology, root->cpuset, homes);
	const struct {
		const char *metric, *what;
		int count;
	} counts[] = {
		{ "node.cpus", "CPU", root ? hwloc_bitmap_weight(root->cpuset) : 0 },
		{ "node.sockets", "package", root ? hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PACKAGE) : 0 },
		{ "node.numa_nodes", "NUMA node", hwloc_bitmap_weight(homes) },
	};
	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
		if (!root)
			muster_emit_read(ctx, counts[i].metric, NULL, -1, muster_null(), &no_topology);
		else if (counts[i].count < 1)
			muster_emit_null_for(ctx, counts[i].metric, NULL, "hwloc shows no %s", counts[i].what);
		else
			muster_emit_for(ctx, counts[i].metric, NULL, muster_number(counts[i].count));
	measure_numa_cpus(ctx, topology, homes, no_topology.text);
	if (root)
		measure_conflict(ctx, topology);
	else
		muster_emit_read(ctx, "node.numa_conflict", NULL, -1, muster_null(), &no_topology);
	hwloc_bitmap_free(homes);

	const char *architecture = root ? hwloc_obj_get_info_by_name(root, "Architecture") : NULL;
	if (root && !architecture)
		muster_fail(&no_topology, MUSTER_EIO, "hwloc gives no Architecture");
	muster_emit_read(
		ctx, "node.architecture", NULL, architecture ? 0 : -1, muster_string(architecture), &no_topology);

	/* Arm kernels name no model in cpuinfo; hwloc may know it from elsewhere. */
	hwloc_obj_t package = root ? hwloc_get_obj_by_type(topology, HWLOC_OBJ_PACKAGE, 0) : NULL;
	const char *model = package ? hwloc_obj_get_info_by_name(package, "CPUModel") : NULL;
	if (muster_sysfs_line(muster_root_path(ctx, path, sizeof path, "/proc/cpuinfo"), "model name", text,
		    sizeof text, &why) == 0)
		model = text;
	muster_emit_read(ctx, "node.cpu_model", NULL, model ? 0 : -1, muster_string(model), &why);
}

/* gpu_count is the number of GPUs that NVML gives a handle and a bus id of, not the number that it counts: a GPU that
 * has fallen off the bus is still counted. */
static void measure_gpus(struct muster_probe_ctx *ctx)
{
	struct muster_error why;
	struct muster_nvml_gpus gpus = { .count = 0 };
	char version[128];
	muster_step(ctx, "NVML: count and list the GPUs");
	const struct muster_nvml *nvml = muster_nvml(&why);
	int result = nvml ? muster_nvml_gpus_list(&gpus, &why) : -1;
	char *list = muster_nvml_gpus_text(&gpus);
	muster_emit_read(ctx, "node.gpu_count", NULL, result, muster_number((double)gpus.reached), &why);
	muster_emit_read(ctx, "node.gpu_bus_ids", NULL, result, muster_string(list), &why);
	free(list);
	muster_nvml_gpus_done(&gpus);
	result = nvml ? MUSTER_NVML(nvml, &why, nvmlSystemGetDriverVersion, version, sizeof version) : -1;
	muster_emit_read(ctx, "node.driver_version", NULL, result, muster_string(version), &why);
}

/* How the driver was set up to share memory: with the CPU (CoherentGPUMemoryMode, "" where no mode is set), and with
 * the GPUs of other nodes (IMEX channels, 0 without their folder in /dev). */
static void measure_sharing(struct muster_probe_ctx *ctx)
{
	char path[PATH_MAX], text[256] = "";
	struct muster_error why;
	struct muster_names channels;
	size_t count = 0;
	muster_root_path(ctx, path, sizeof path, "/proc/driver/nvidia/params");
	int result = muster_sysfs_line(path, "CoherentGPUMemoryMode", text, sizeof text, &why);
	unquote(text);
	muster_emit_read(ctx, "node.coherent_memory_mode", NULL, result, muster_string(text), &why);

	muster_root_path(ctx, path, sizeof path, "/dev/nvidia-caps-imex-channels");
	result = muster_sysfs_names(path, &channels, &why);
	for (size_t i = 0; i < channels.count; i++)
		count += strncmp(channels.items[i], "channel", strlen("channel")) == 0;
	muster_names_done(&channels);
	muster_emit_read(ctx, "node.imex_channels", NULL, result, muster_number((double)count), &why);
}

/* The four functions below open their library if that is not open yet. 0, or -1 with err, which has the loader's words
 * where the library is missing. CUDA's number 12040 is "12.4". */
static int cuda_version(char *ret, size_t size, struct muster_error *err)
{
	int version;
	const struct muster_cuda *cuda = muster_cuda(err);
	if (!cuda || MUSTER_CUDA(cuda, err, cuDriverGetVersion, &version) < 0)
		return -1;
	snprintf(ret, size, "%d.%d", version / 1000, version % 1000 / 10);
	return 0;
}

static int nvml_version(char *ret, size_t size, struct muster_error *err)
{
	const struct muster_nvml *nvml = muster_nvml(err);
	return nvml ? MUSTER_NVML(nvml, err, nvmlSystemGetNVMLVersion, ret, (unsigned int)size) : -1;
}

static int nccl_version(char *ret, size_t size, struct muster_error *err)
{
	int version;
	const struct muster_nccl *nccl = muster_nccl(err);
	if (!nccl || MUSTER_NCCL(nccl, NULL, err, ncclGetVersion, &version) < 0)
		return -1;
	muster_nccl_version_text(version, ret, size);
	return 0;
}

/* libibverbs has no call for it: "1.14.44.0" of libibverbs.so.1.14.44.0, the file behind the links. */
static int verbs_version(char *ret, size_t size, struct muster_error *err)
{
	if (!muster_verbs(err))
		return -1;
	const char *name = strrchr(muster_verbs_library.path, '/');
	const char *suffix = name ? strstr(name, ".so.") : NULL;
	if (!suffix)
		return muster_fail(
			err, MUSTER_ENOTSUPPORTED, "the name of %s contains no version", muster_verbs_library.path);
	snprintf(ret, size, "%s", suffix + strlen(".so."));
	return 0;
}

static const struct {
	struct muster_library *library;
	int (*version)(char *ret, size_t size, struct muster_error *err);
	const char *metric; /* another metric of the same value, or NULL */
} libraries[] = {
	{ &muster_cuda_library, cuda_version, "node.cuda_driver_api" },
	{ &muster_nvml_library, nvml_version, NULL },
	{ &muster_nccl_library, nccl_version, "node.nccl_version" },
	{ &muster_verbs_library, verbs_version, NULL },
};
_Static_assert(sizeof libraries / sizeof *libraries == MUSTER_LIBRARY_COUNT, "every vendor library has a version");

/* Version and file of each library. The version is asked for first, because that opens the library and sets its path.
 */
static void measure_libraries(struct muster_probe_ctx *ctx)
{
	for (size_t i = 0; i < MUSTER_LIBRARY_COUNT; i++) {
		const struct muster_library *library = libraries[i].library;
		struct muster_error why;
		char version[128];
		muster_step(ctx, "open %s", library->soname);
		int result = libraries[i].version(version, sizeof version, &why);
		muster_emit_read(ctx, "node.library_version", library->soname, result, muster_string(version), &why);
		if (libraries[i].metric)
			muster_emit_read(ctx, libraries[i].metric, NULL, result, muster_string(version), &why);
		muster_emit_result(ctx, "node.library_path", library->soname,
			library->handle && library->path[0] ? 0 : -1, muster_string(library->path),
			library->handle ? "dlinfo does not know its file" : library->error.text);
	}
}

/* The file of a driver's library ends in the driver's version, that of the package cuda-compat in a later one:
 * "580.65.06 on driver 535.183.01, of another branch". The branch is the number before the first dot. A name that ends
 * in less than 100, such as libcuda.so.1 that is no link, has no version of a driver. */
static void measure_compat(struct muster_probe_ctx *ctx)
{
	const char *end = strstr(muster_cuda_library.path, "/libcuda.so."),
		   *ours = end ? end + strlen("/libcuda.so.") : "";
	char driver[96] = "", text[256] = "none";
	struct muster_error why;
	const struct muster_nvml *nvml = muster_nvml(&why);
	int result = nvml ? MUSTER_NVML(nvml, &why, nvmlSystemGetDriverVersion, driver, sizeof driver) : -1;
	long branch = strtol(ours, NULL, 10);
	if (result == 0 && branch < 100)
		result = muster_fail(&why, MUSTER_ENOTSUPPORTED, "\"%s\" does not end in a driver's version",
			muster_cuda_library.path);
	if (strcmp(ours, driver) != 0)
		snprintf(text, sizeof text, "%.64s on driver %s%s", ours, driver,
			branch == strtol(driver, NULL, 10) ? "" : ", of another branch");
	muster_emit_read(ctx, "node.cuda_compat", NULL, result, muster_string(text), &why);
}

static int run(struct muster_probe_ctx *ctx, struct muster_error *err)
{
	(void)err;
	measure_software(ctx);
	measure_taint(ctx);
	measure_memory(ctx);
	measure_cpus(ctx);
	measure_gpus(ctx);
	measure_sharing(ctx);
	measure_libraries(ctx);
	measure_compat(ctx);
	return 0;
}

const struct muster_probe muster_probe_system = {
	.name = "system",
	.summary = "operating system, CPU, memory, driver and vendor libraries of the node",
	.scope = MUSTER_SCOPE_NODE,
	.deadline_ms = 10000,
	.order = 20,
	METRICS(metrics),
	.run = run,
};
