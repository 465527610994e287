/* SPDX-License-Identifier: Apache-2.0 */
/* presence.c - the GPUs of the PCI bus that NVML or CUDA lacks, the services that GPUs need, and other jobs of the node
 *
 * A GPU that NVML does not show may have been kept from this job: then it is hidden, and not missing.
 *
 * Three lists of GPUs are compared: the PCI bus (sysfs, nvidia_gpus.h), NVML, CUDA. A GPU of the bus that NVML lacks is
 * missing unless it is hidden from this process, held for a virtual machine, or another model for a display. A GPU of
 * NVML that CUDA lacks counts only where no variable, MPS or MIG restricts CUDA.
 *
 * What node.gpus_missing is, by the first row that fits:
 *
 *   the bus cannot be read, or NVML cannot list its GPUs     null with that error
 *   the bus shows no NVIDIA GPU, and NVML shows some         null
 *   no GPU is missing                                        "none"
 *   some are missing, and some are hidden from the job       null that names them: they may be another job's
 *   some are missing                                         the text of list_missing
 *
 * Services and other jobs are found by the names of processes. What the list of processes does not show is false or
 * "none" only if the list is complete, and for a service only outside a container.
 */
#include "system/mounts.h"
#include "system/nvidia_gpus.h"
#include "system/processes.h"
#include "vendor/cuda.h"
#include "vendor/nvml_gpus.h"
#include "util/text.h"
#include "muster/arena.h"
#include "probes/metrics.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PROCESSES_MS = 40 }; /* at most, for the list of processes; that of 10,000 takes about 70 */

static const struct muster_metric metrics[] = {
	NODE_NUMBER("node.gpus_on_pci", NONE, MORE, "NVIDIA GPUs on the PCI bus that this process may use"),
	NODE_NUMBER("node.gpus_present", NONE, MORE,
		"GPUs that NVML shows, and GPUs that are hidden from the job; not measured but derived",
		.counts = MUSTER_COUNTS_GPUS),
	NODE_TEXT("node.gpus_missing", FACT, NOTHING,
		"GPUs that are on the PCI bus and not in NVML, each with what is known of the cause; \"none\"",
		SHOWN(IN(GPUS, 20, "GPUs not in NVML"))),
	NODE_TEXT("node.gpu_order", FACT, NOTHING,
		"PCI bus ids of all GPUs of the node in the order of nvidia-smi, which counts from 0; GPUs that are "
		"hidden from the job are in it; separated by spaces, \"?\" for a GPU that NVML counts and cannot reach",
		.gpu_index = MUSTER_GPU_ORDER),
	NODE_TEXT("node.gpus_withheld", FACT, NOTHING,
		"GPUs of the bus that a driver, a setting or a missing file keeps from all jobs, and why; \"none\""),
	NODE_TEXT("node.gpus_not_in_cuda", FACT, NOTHING,
		"bus ids of GPUs that are in NVML and not in CUDA, where nothing restricts CUDA; \"none\""),
	NODE_FLAG("node.fabric_manager", FACT, "a process of NVIDIA's Fabric Manager runs",
		SHOWN(IN(SOFTWARE, 100, "Fabric Manager runs"))),
	NODE_FLAG("node.persistenced", FACT, "a process nvidia-persistenced runs",
		SHOWN(IN(SOFTWARE, 110, "nvidia-persistenced runs"))),
	NODE_FLAG(
		"node.imex_service", FACT, "a process nvidia-imex runs", SHOWN(IN(SOFTWARE, 120, "IMEX service runs"))),
	NODE_FLAG("node.dcgm_service", FACT, "a process nv-hostengine of DCGM runs"),
	NODE_TEXT("node.other_jobs", DRIFTS, JOBS,
		"ids of other Slurm jobs that have a step on the node, separated by spaces; \"none\""),
};

/* -- the bus and NVML -- */

static bool nvml_has(const struct muster_nvml_gpus *nvml, const char *bus_id)
{
	for (size_t i = 0; i < nvml->count; i++)
		if (strcmp(nvml->items[i].bus_id, bus_id) == 0)
			return true;
	return false;
}

/* The next GPU, from *at on, that NVML counts and cannot reach; *at moves behind it. NULL: there is none. A GPU that
 * NVML may not show to this user (MUSTER_ENOPERMISSION) is hidden, and not lost. */
static const struct muster_nvml_gpu *next_lost(const struct muster_nvml_gpus *nvml, size_t *at)
{
	while (*at < nvml->count) {
		const struct muster_nvml_gpu *gpu = &nvml->items[(*at)++];
		if (!*gpu->bus_id && gpu->error.code != MUSTER_ENOPERMISSION)
			return gpu;
	}
	return NULL;
}

/* A GPU without the NVIDIA driver, of a model of which NVML shows no GPU, in a node where NVML shows GPUs of other
 * models: such a GPU is for a display, perhaps too old for the driver. */
static bool is_for_display(
	const struct muster_nvidia_gpus *bus, const struct muster_nvml_gpus *nvml, const struct muster_nvidia_gpu *gpu)
{
	bool any = false;
	for (size_t i = 0; i < bus->count; i++) {
		const struct muster_nvidia_gpu *other = &bus->items[i];
		if (!nvml_has(nvml, other->bus_id))
			continue;
		if (other->model == gpu->model)
			return false;
		any = true;
	}
	return any && strcmp(gpu->driver, "nvidia") != 0;
}

/* "0001:00:00.0 is on the bus and not in NVML: no driver is bound; ...". NVML does not name the GPUs that it cannot
 * reach, but its order is that of the bus ids: so its errors go, in this order, to the missing GPUs for which the bus
 * gives no reason. Errors that are left over stand alone at the end. NULL: none is missing. The caller frees. */
static char *list_missing(const struct muster_nvidia_gpus *bus, const struct muster_nvml_gpus *nvml)
{
	char *missing = NULL;
	size_t at = 0;
	const struct muster_nvml_gpu *lost;
	for (size_t i = 0; i < bus->count; i++) {
		const struct muster_nvidia_gpu *gpu = &bus->items[i];
		if (gpu->access != MUSTER_NVIDIA_OURS || nvml_has(nvml, gpu->bus_id) || is_for_display(bus, nvml, gpu))
			continue;
		const char *why = gpu->why;
		if (!*why && (lost = next_lost(nvml, &at)))
			why = lost->error.text;
		muster_list_add(
			&missing, "; ", "%s is on the bus and not in NVML%s%s", gpu->bus_id, *why ? ": " : "", why);
	}
	while ((lost = next_lost(nvml, &at)))
		muster_list_add(&missing, "; ", "%s", lost->error.text);
	return missing;
}

static bool is_driven(const struct muster_nvidia_gpu *gpu)
{
	return strcmp(gpu->driver, "nvidia") == 0 && gpu->access != MUSTER_NVIDIA_SET_ASIDE;
}

/* The GPUs in the order of nvidia-smi on the node, outside of any job. nvidia-smi counts the GPUs that the NVIDIA
 * driver has started, in the order of their bus ids. The list of the bus is the same, and has the hidden GPUs too. Only
 * where NVML counts another number and no GPU is hidden, a GPU of the bus did not start: then the list is NVML's. NULL:
 * there are none. The caller frees. */
static char *list_in_order(const struct muster_nvidia_gpus *bus, const struct muster_nvml_gpus *nvml)
{
	char *list = NULL;
	size_t driven = 0;
	for (size_t i = 0; i < bus->count; i++)
		driven += is_driven(&bus->items[i]);
	bool by_bus = !nvml || nvml->count == driven || muster_nvidia_gpus_count(bus, MUSTER_NVIDIA_HIDDEN) > 0;
	for (size_t i = 0; i < bus->count && by_bus; i++)
		if (is_driven(&bus->items[i]))
			muster_list_add(&list, " ", "%s", bus->items[i].bus_id);
	for (size_t i = 0; !by_bus && i < nvml->count; i++)
		muster_list_add(&list, " ", "%s", *nvml->items[i].bus_id ? nvml->items[i].bus_id : "?");
	return list;
}

/* Emits what the bus says: counts, withheld GPUs, order, missing GPUs. nvml: NULL with the error no_nvml. GPUs that are
 * withheld and not hidden are kept from all jobs. */
static void measure_bus(
	struct muster_probe_ctx *ctx, const struct muster_nvml_gpus *nvml, const struct muster_error *no_nvml)
{
	struct muster_nvidia_gpus bus;
	struct muster_error why;
	int result = muster_nvidia_gpus_list(muster_probe_env(ctx)->root, &bus, &why);
	size_t ours = result == 0 ? muster_nvidia_gpus_count(&bus, MUSTER_NVIDIA_OURS) : 0;
	size_t hidden = result == 0 ? muster_nvidia_gpus_count(&bus, MUSTER_NVIDIA_HIDDEN) : 0;
	muster_emit_read(ctx, "node.gpus_on_pci", NULL, result, muster_number((double)ours), &why);
	char *withheld = NULL;
	for (size_t i = 0; result == 0 && i < bus.count; i++)
		if (*bus.items[i].why && bus.items[i].access != MUSTER_NVIDIA_HIDDEN)
			muster_list_add(&withheld, "; ", "%s: %s", bus.items[i].bus_id, bus.items[i].why);
	muster_emit_read(ctx, "node.gpus_withheld", NULL, result, muster_string(withheld ? withheld : "none"), &why);
	free(withheld);
	char *order = result == 0 ? list_in_order(&bus, nvml) : NULL;
	if (result == 0 && !order)
		muster_fail(&why, MUSTER_ENOTSUPPORTED, "the NVIDIA driver has no GPU of the bus");
	muster_emit_read(ctx, "node.gpu_order", NULL, order ? 0 : -1, muster_string(order), &why);
	free(order);
	if (result < 0 || !nvml) {
		muster_emit_read(ctx, "node.gpus_missing", NULL, -1, muster_null(), result < 0 ? &why : no_nvml);
	} else if (bus.count == 0 && nvml->count > 0) {
		muster_fail(&why, MUSTER_EABSENT, "/sys/bus/pci/devices shows no NVIDIA GPU, and NVML shows %zu",
			nvml->count);
		muster_emit_read(ctx, "node.gpus_missing", NULL, -1, muster_null(), &why);
	} else {
		char *missing = list_missing(&bus, nvml);
		if (missing && hidden > 0)
			muster_emit_null_for(ctx, "node.gpus_missing", NULL,
				"%zu GPUs are hidden from this job, so a missing one may be another job's: %s", hidden,
				missing);
		else
			muster_emit_for(ctx, "node.gpus_missing", NULL, muster_string(missing ? missing : "none"));
		free(missing);
	}
	if (result == 0)
		muster_nvidia_gpus_done(&bus);
}

/* -- NVML and CUDA -- */

/* Why CUDA is not asked, or may show fewer GPUs than NVML on a healthy node; NULL when nothing is known. */
static const char *find_restriction(struct muster_probe_ctx *ctx, const struct muster_nvml_gpus *nvml)
{
	char path[PATH_MAX];
	struct muster_error err;
	const struct muster_nvml *functions = muster_nvml(&err);
	unsigned int mode, pending;
	if (muster_probe_env(ctx)->gpu->cuda_device < 0) /* CUDA may be what failed */
		return "CUDA gave the rank no GPU";
	if (getenv("CUDA_VISIBLE_DEVICES"))
		return "CUDA_VISIBLE_DEVICES chooses the GPUs that CUDA shows";
	if (getenv("CUDA_MPS_PIPE_DIRECTORY") ||
		access(muster_root_path(ctx, path, sizeof path, "/tmp/nvidia-mps/control"), F_OK) == 0)
		return "CUDA's Multi-Process Service chooses the GPUs that CUDA shows";
	for (size_t i = 0; functions && i < nvml->count; i++)
		if (*nvml->items[i].bus_id &&
			functions->nvmlDeviceGetMigMode(nvml->items[i].device, &mode, &pending) == NVML_SUCCESS &&
			mode == NVML_DEVICE_MIG_ENABLE)
			return "a GPU is in MIG mode, and CUDA shows a single MIG instance";
	return NULL;
}

/* The bus ids of NVML's GPUs that no device of CUDA has, in *ret_list; unchanged where there are none. GPUs that NVML
 * cannot reach have no bus id and are not compared. */
static int list_not_in_cuda(const struct muster_nvml_gpus *nvml, char **ret_list, struct muster_error *err)
{
	const struct muster_cuda *cuda = muster_cuda(err);
	int count;
	if (!cuda || MUSTER_CUDA(cuda, err, cuDeviceGetCount, &count) < 0)
		return -1;
	bool *found = muster_calloc(nvml->count, sizeof *found);
	int result = 0;
	for (int ordinal = 0; ordinal < count && result == 0; ordinal++) {
		CUdevice device;
		char bus_id[32];
		result = MUSTER_CUDA(cuda, err, cuDeviceGet, &device, ordinal);
		if (result == 0)
			result = muster_cuda_bus_id(cuda, device, bus_id, sizeof bus_id, err);
		for (size_t i = 0; i < nvml->count && result == 0; i++)
			found[i] |= strcmp(nvml->items[i].bus_id, bus_id) == 0;
	}
	for (size_t i = 0; i < nvml->count && result == 0; i++)
		if (*nvml->items[i].bus_id && !found[i])
			muster_list_add(ret_list, " ", "%s", nvml->items[i].bus_id);
	free(found);
	return result;
}

/* Emits the GPUs that CUDA lacks: null where NVML has no list, or where CUDA may show fewer GPUs on a healthy node. */
static void measure_cuda(
	struct muster_probe_ctx *ctx, const struct muster_nvml_gpus *nvml, const struct muster_error *no_nvml)
{
	struct muster_error why;
	const char *restriction = nvml ? find_restriction(ctx, nvml) : NULL;
	if (!nvml) {
		muster_emit_read(ctx, "node.gpus_not_in_cuda", NULL, -1, muster_null(), no_nvml);
		return;
	}
	if (restriction) {
		muster_emit_null_for(ctx, "node.gpus_not_in_cuda", NULL, "%s", restriction);
		return;
	}
	char *missing = NULL;
	int result = list_not_in_cuda(nvml, &missing, &why);
	muster_emit_read(ctx, "node.gpus_not_in_cuda", NULL, result, muster_string(missing ? missing : "none"), &why);
	free(missing);
}

/* -- processes -- */

/* process: as in /proc/PID/comm, which the kernel cuts off after 15 characters (muster_processes_find). */
static const struct {
	const char *metric, *process;
} services[] = {
	{ "node.fabric_manager", "nv-fabricmanager" },
	{ "node.persistenced", "nvidia-persistenced" },
	{ "node.imex_service", "nvidia-imex" },
	{ "node.dcgm_service", "nv-hostengine" },
};

/* The job of a step's process: 1234 of its command line "slurmstepd: [1234.0]"; 0 when that has no number. */
static long job_of_step(struct muster_probe_ctx *ctx, long pid)
{
	char path[PATH_MAX], text[128];
	const char *bracket;
	muster_root_path(ctx, path, sizeof path, "/proc/%ld/cmdline", pid);
	if (muster_read_line(path, text, sizeof text, NULL) < 0 || !(bracket = strchr(text, '[')))
		return 0;
	return strtol(bracket + 1, NULL, 10);
}

/* The ids of jobs that have a step on the node, each once, without this process's own job. NULL: there are none. A
 * list from an incomplete list of processes is not emitted. */
static char *list_other_jobs(struct muster_probe_ctx *ctx, const struct muster_processes *processes)
{
	const char *own = getenv("SLURM_JOB_ID");
	long own_job = own ? strtol(own, NULL, 10) : 0, *jobs = muster_calloc(processes->count, sizeof *jobs);
	size_t count = 0;
	char *list = NULL;
	for (size_t i = 0; i < processes->count; i++) {
		const struct muster_process *process = &processes->items[i];
		long job = strcmp(process->name, "slurmstepd") == 0 ? job_of_step(ctx, process->pid) : 0;
		size_t seen = 0;
		while (seen < count && jobs[seen] != job)
			seen++;
		if (job <= 0 || job == own_job || seen < count)
			continue;
		jobs[count++] = job;
		muster_list_add(&list, " ", "%ld", job);
	}
	free(jobs);
	return list;
}

/* A process that is there is true in any case. One that is not there is null where the list is not complete (why), or
 * in a container, beside which the service may run; else false. */
static void measure_services(
	struct muster_probe_ctx *ctx, const struct muster_processes *processes, const struct muster_error *why)
{
	char container[64];
	muster_container_name(muster_probe_env(ctx)->root, container, sizeof container);
	bool outside = strcmp(container, "none") != 0;
	for (size_t i = 0; i < sizeof services / sizeof *services; i++)
		if (muster_processes_find(processes, services[i].process))
			muster_emit_for(ctx, services[i].metric, NULL, muster_boolean(true));
		else if (!processes->complete)
			muster_emit_read(ctx, services[i].metric, NULL, -1, muster_null(), why);
		else if (outside)
			muster_emit_null_for(ctx, services[i].metric, NULL,
				"no process %s is seen, and it may run outside this container (%s)",
				services[i].process, container);
		else
			muster_emit_for(ctx, services[i].metric, NULL, muster_boolean(false));
}

/* One list of the node's processes serves services and jobs. It ends after PROCESSES_MS, and is then not complete.
 * Where /proc does not show all processes it is empty, and not complete. why: set in both cases. */
static void measure_processes(struct muster_probe_ctx *ctx)
{
	struct muster_processes processes = { .complete = false };
	struct muster_error why;
	muster_step(ctx, "list the processes");
	int result = muster_processes_list(muster_probe_env(ctx)->root, PROCESSES_MS, &processes, &why);
	if (result == 0 && !processes.complete)
		muster_fail(&why, MUSTER_ETIME, "only %zu processes of the node were looked at in %d ms",
			processes.count, PROCESSES_MS);
	measure_services(ctx, &processes, &why);
	char *jobs = list_other_jobs(ctx, &processes);
	muster_emit_read(
		ctx, "node.other_jobs", NULL, processes.complete ? 0 : -1, muster_string(jobs ? jobs : "none"), &why);
	free(jobs);
	muster_processes_done(&processes);
}

static int run(struct muster_probe_ctx *ctx, struct muster_error *err)
{
	struct muster_nvml_gpus nvml;
	struct muster_error no_nvml;
	(void)err;
	muster_step(ctx, "NVML: list the GPUs");
	bool has_nvml = muster_nvml_gpus_list(&nvml, &no_nvml) == 0;
	muster_step(ctx, "read /sys/bus/pci/devices");
	measure_bus(ctx, has_nvml ? &nvml : NULL, &no_nvml);
	muster_step(ctx, "CUDA: list the GPUs");
	measure_cuda(ctx, has_nvml ? &nvml : NULL, &no_nvml);
	if (has_nvml)
		muster_nvml_gpus_done(&nvml);
	measure_processes(ctx);
	return 0;
}

const struct muster_probe muster_probe_presence = {
	.name = "presence",
	.summary = "GPUs of the PCI bus that NVML or CUDA lacks, services that GPUs need, other jobs of the node",
	.scope = MUSTER_SCOPE_NODE,
	.deadline_ms = 10000,
	.order = 22,
	METRICS(metrics),
	.run = run,
};
