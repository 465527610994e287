/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_users.c - who else uses the rank's GPU
 *
 * The first reading is taken before CUDA has a context on the GPU: nothing of this run is there then, except of ranks
 * that share the GPU. The second one follows everything else. Processes of this user that execute muster's own file are
 * no strangers.
 *
 * How long begin takes: nothing on a free GPU. Where memory is in use, or the GPU is busy, readings go on every 0.1 s:
 * the memory of a job that has just ended comes back within 2 s, and NVML's utilisation is that of up to the last
 * second. They end when the GPU is free, or when the memory has not become less for 0.5 s: then another program has it.
 *
 * A process in NVML's list is a stranger unless it is this one, or runs the same executable file as the same user
 * (another rank of this node). In a container the PIDs may be those of another PID namespace: at the end of the run
 * this process must be in the list, or the PIDs say nothing.
 *
 * The callbacks, in their order:
 *
 *   begin    the first reading, which stays in `first`; gpu->why_shared for the probes that would disturb others
 *   run      yields the first reading
 *   finish   a second list of processes, and yields which of them came later
 *
 * On a GPU that is shared on purpose (find_sharing) the values that checks use are null with that reason, and
 * gpu.foreign_process still names the programs. A worker that replaced another one takes its first reading in its own
 * begin, and at the end it counts all strangers: which of them came later is not known.
 */
#include "probes/gpu/device.h"
#include "probes/metrics.h"
#include "system/sysfs.h"
#include "util/text.h"
#include "vendor/cuda.h"
#include "vendor/nvml.h"

#include <ctype.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the processes that NVML lists on a GPU, and what /proc says of each ---- */

#define PROCESSES_MAX 256 /* more on one GPU are an error */

struct process {
	unsigned int pid; /* in the PID namespace of this process, or of another one */
	double mib;       /* of the GPU's memory; -1: not known */
	bool ours;        /* this process, or another of the same executable file */
	bool gone;        /* /proc has no such process, although it would show every process */
	long uid;         /* of its user; -1: not known */
	char name[32];    /* what the kernel calls it, without spaces; "?" when not known */
};

struct processes {
	struct process items[PROCESSES_MAX];
	size_t count;
	bool lists_us; /* this process is among them */
};

#define DISPLAY_MIB 256 /* what a display server without users has at most */

/* The common form of NVML's three lists. *count: in, the room; out, how many there are. */
typedef nvmlReturn_t list_function(nvmlDevice_t device, unsigned int *count, nvmlProcessInfo_v2_t *processes);

/* With hidepid=2, /proc shows a user no process of others; the first process is one of others, except to root. */
static bool proc_shows_all(const char *proc)
{
	char path[PATH_MAX];
	struct stat state;
	snprintf(path, sizeof path, "%s/1", proc);
	return stat(path, &state) == 0;
}

/* Whether the process runs the executable file that this process runs. */
static bool runs_our_file(const char *proc, unsigned int pid)
{
	char path[PATH_MAX];
	struct stat ours, other;
	snprintf(path, sizeof path, "%s/%u/exe", proc, pid);
	return stat("/proc/self/exe", &ours) == 0 && stat(path, &other) == 0 && ours.st_dev == other.st_dev &&
	       ours.st_ino == other.st_ino;
}

/* What /proc says of the process: user, name, whether it is ours or gone. The same file alone is not enough: any user
 * may execute muster's. A name is made one printable word, because any user chooses the names of his processes. */
static void describe(const char *proc, struct process *process)
{
	char path[PATH_MAX];
	struct stat state;
	process->uid = -1;
	snprintf(process->name, sizeof process->name, "?");
	snprintf(path, sizeof path, "%s/%u", proc, process->pid);
	if (stat(path, &state) == 0)
		process->uid = (long)state.st_uid;
	else
		process->gone = proc_shows_all(proc);
	process->ours = process->pid == (unsigned int)getpid() ||
			(process->uid == (long)geteuid() && runs_our_file(proc, process->pid));
	snprintf(path, sizeof path, "%s/%u/comm", proc, process->pid);
	(void)muster_read_line(path, process->name, sizeof process->name, NULL);
	for (char *at = process->name; *at; at++)
		if (!isgraph((unsigned char)*at))
			*at = '_';
}

static bool is_listed(const struct processes *list, unsigned int pid)
{
	for (size_t i = 0; i < list->count; i++)
		if (list->items[i].pid == pid)
			return true;
	return false;
}

/* Add the processes of one list of NVML that are not in ours yet and have at least so much memory; -1 takes them all. A
 * process whose memory NVML does not know (all ones) counts as having -1. */
static nvmlReturn_t add(
	list_function *function, nvmlDevice_t device, const char *proc, double least_mib, struct processes *list)
{
	nvmlProcessInfo_v2_t found[PROCESSES_MAX];
	unsigned int count = PROCESSES_MAX;
	memset(found, 0, sizeof found);
	nvmlReturn_t result = function(device, &count, found);
	for (unsigned int i = 0; result == NVML_SUCCESS && i < count; i++) {
		struct process process = { .pid = found[i].pid, .mib = -1 };
		if (found[i].usedGpuMemory != ~0ull)
			process.mib = (double)found[i].usedGpuMemory / (1 << 20);
		if (is_listed(list, process.pid) || list->count == PROCESSES_MAX || process.mib < least_mib)
			continue;
		describe(proc, &process);
		list->lists_us = list->lists_us || process.pid == (unsigned int)getpid();
		list->items[list->count++] = process;
	}
	return result;
}

/* The processes that compute on the device, through MPS too, and the processes that draw on it with more than 256 MiB
 * (a display server has less). proc is the folder /proc, under the root prefix. 0, or -1 with err. */
static int read_processes(const struct muster_nvml *nvml, nvmlDevice_t device, const char *proc, struct processes *ret,
	struct muster_error *err)
{
	ret->count = 0;
	ret->lists_us = false;
	nvmlReturn_t result = add(nvml->nvmlDeviceGetComputeRunningProcesses_v2, device, proc, -1, ret);
	if (muster_nvml_check(nvml, result, err, "nvmlDeviceGetComputeRunningProcesses_v2") < 0)
		return -1;
	/* not every device has these two lists */
	add(nvml->nvmlDeviceGetMPSComputeRunningProcesses_v2, device, proc, -1, ret);
	add(nvml->nvmlDeviceGetGraphicsRunningProcesses_v2, device, proc, DISPLAY_MIB, ret);
	return 0;
}

/* The process in words: "4242 python3 (uid1001) 20480 MiB". Returns out. */
static const char *process_text(const struct process *process, char *out, size_t size)
{
	char user[32] = "", memory[48] = "memory not known";
	if (process->uid >= 0)
		snprintf(user, sizeof user, " (uid%ld)", process->uid);
	if (process->mib >= 0)
		snprintf(memory, sizeof memory, "%.0f MiB", process->mib);
	snprintf(out, size, "%u %s%s %s", process->pid, process->name, user, memory);
	return out;
}

static const struct muster_metric metrics[] = {
	RANK_TEXT("rank.gpu_sharing", FACT, NOTHING,
		"how the GPU is shared with others: exclusive, asked (--shared), mig, mps, shard"),
	GPU_NUMBER("gpu.memory_used_mib", MEBIBYTES, DRIFTS,
		"memory in use before muster used the GPU, without the driver's reserve"),
	GPU_NUMBER("gpu.foreign_memory_mib", MEBIBYTES, DRIFTS,
		"the part of it that no listed process has; no value on a shared GPU"),
	GPU_NUMBER("gpu.utilisation_before", RATIO, FACT,
		"share of time in which a kernel ran before muster used the GPU; no value on a shared GPU"),
	NUMBER(GPU, "gpu.foreign_processes", NONE, LESS,
		"programs of others on the GPU: before muster used it (start); at the end of the run the programs that "
		"came later (end); no value on a shared GPU",
		.labels = { "gpu", "when" }, .identifies = MUSTER_IDENTIFIES_PROCESSES),
	TEXT(GPU, "gpu.foreign_process", DRIFTS, PROCESSES,
		"the programs of others that were there, on a shared GPU too: PID, name, user and memory of each; "
		"\"none\"",
		.labels = { "gpu", "when" }),
};

#define NOTABLE_MIB 1024  /* less is what drivers and monitors have */
#define NOTABLE_SHARE 0.1 /* an unused GPU is at 0 */
#define PAUSE_MS 100      /* between two readings */
#define READINGS_MOST 20  /* 2 s: the memory of a job that has just ended is free by then */
#define READINGS_SAME 5   /* with as much memory in use: it is not going to be free */
#define READINGS_BUSY 12  /* NVML's utilisation is that of up to the last second */
#define PROCESSES_TOLD 16
#define MPS_SERVER "nvidia-cuda-mps" /* as the kernel cuts the name nvidia-cuda-mps-server */

/* One look at the GPU: processes, memory, utilisation. Each has a result, 0 or -1, and then the reason. */
struct reading {
	bool taken; /* false: begin did not run, or NVML does not show the GPU */
	bool told;  /* run was called: this is no worker that replaced another one */
	int processes_result, memory_result, busy_result;
	struct processes processes;
	double used_mib, busy_share; /* busy_share: 0 to 1 */
	struct muster_error no_processes, no_memory, no_busy;
};

static struct reading first; /* the last one that read_first took before CUDA had a context on the GPU */

/* ---- reading ---- */

/* The device that the rank uses: of a MIG instance its own, so that other users of the GPU do not count. */
static nvmlDevice_t device_of(const struct muster_nvml *nvml, const struct muster_gpu *gpu)
{
	nvmlDevice_t device = gpu->nvml_device;
	if (strncmp(gpu->uuid, "MIG-", 4) == 0)
		(void)muster_nvml_mig_instance(nvml, gpu->nvml_device, gpu->uuid, &device, NULL);
	return device;
}

/* Where the kernel keeps pages in the GPU's memory, memory in use says nothing about programs: in the driver's mode
 * "numa", and on a coherent GPU unless the mode is "driver". So a coherent GPU without a mode counts, too. */
static bool is_of_the_system(struct muster_probe_ctx *ctx)
{
	char path[PATH_MAX], mode[64] = "";
	const struct muster_cuda *cuda = muster_cuda(NULL);
	bool coherent = cuda && muster_gpu_is_coherent(cuda, muster_probe_env(ctx)->gpu);
	muster_root_path(ctx, path, sizeof path, "/proc/driver/nvidia/params");
	(void)muster_sysfs_line(path, "CoherentGPUMemoryMode", mode, sizeof mode, NULL);
	return strstr(mode, "numa") || (coherent && !strstr(mode, "driver"));
}

/* Memory in use in MiB, without what the driver keeps for itself. The second form of the call counts that apart;
 * drivers that lack this form do not count it at all. */
static int read_used(const struct muster_nvml *nvml, nvmlDevice_t device, double *ret_mib, struct muster_error *err)
{
	nvmlMemory_v2_t memory = { .version = nvmlMemory_v2 };
	nvmlMemory_t older = { 0 };
	nvmlReturn_t result = nvml->nvmlDeviceGetMemoryInfo_v2(device, &memory);
	if (result == NVML_ERROR_FUNCTION_NOT_FOUND) { /* drivers before R510 do not count their reserve */
		result = nvml->nvmlDeviceGetMemoryInfo(device, &older);
		memory.used = older.used;
	}
	*ret_mib = (double)memory.used / (1 << 20);
	return muster_nvml_check(nvml, result, err, "nvmlDeviceGetMemoryInfo_v2");
}

static void take_reading(struct muster_probe_ctx *ctx, const struct muster_nvml *nvml, struct reading *ret)
{
	char proc[PATH_MAX];
	nvmlUtilization_t rates = { 0 };
	nvmlDevice_t device = device_of(nvml, muster_probe_env(ctx)->gpu);
	muster_root_path(ctx, proc, sizeof proc, "/proc");
	ret->processes_result = read_processes(nvml, device, proc, &ret->processes, &ret->no_processes);
	ret->memory_result = read_used(nvml, device, &ret->used_mib, &ret->no_memory);
	ret->busy_result = MUSTER_NVML(nvml, &ret->no_busy, nvmlDeviceGetUtilizationRates, device, &rates);
	ret->busy_share = rates.gpu / 100.0;
	ret->taken = true;
}

/* ---- what is a stranger's ---- */

static size_t count_strangers(const struct reading *reading)
{
	size_t count = 0;
	for (size_t i = 0; reading->processes_result == 0 && i < reading->processes.count; i++)
		count += !reading->processes.items[i].ours;
	return count;
}

/* Memory that no listed process has; 0 when the memory of one is not known. */
static double unlisted_mib(const struct reading *reading)
{
	double mib = reading->memory_result == 0 ? reading->used_mib : 0;
	for (size_t i = 0; reading->processes_result == 0 && i < reading->processes.count; i++) {
		double its = reading->processes.items[i].mib;
		mib = its < 0 ? 0 : mib - its;
	}
	return mib > 0 ? mib : 0;
}

/* Read until the GPU is free, or until it is clear that it will not be. What a job that has just ended leaves goes away
 * by itself: only then does this take time. After the first reading, another one every PAUSE_MS as long as
 *
 *   - there are strangers, or more than NOTABLE_MIB that no process has, and the memory has become less within the last
 *     READINGS_SAME readings; or
 *   - the GPU is busy without a stranger, up to READINGS_BUSY readings;
 *
 * but READINGS_MOST in all. */
static void read_first(struct muster_probe_ctx *ctx, const struct muster_nvml *nvml)
{
	muster_step(ctx, "NVML: who uses GPU %s", muster_probe_env(ctx)->gpu->bus_id);
	take_reading(ctx, nvml, &first);
	int same = 0;
	for (int i = 1; i < READINGS_MOST; i++) {
		double used_mib = first.used_mib;
		bool taken =
			(unlisted_mib(&first) > NOTABLE_MIB || count_strangers(&first) > 0) && same < READINGS_SAME;
		bool busy = first.busy_result == 0 && first.busy_share > NOTABLE_SHARE &&
			    count_strangers(&first) == 0 && i < READINGS_BUSY;
		if (!taken && !busy)
			return;
		muster_sleep_ms(PAUSE_MS);
		take_reading(ctx, nvml, &first);
		same = first.used_mib < used_mib ? 0 : same + 1;
	}
}

static bool is_set(const char *variable)
{
	const char *value = getenv(variable);
	return value && *value;
}

/* Whether the daemon of MPS is there: it has a pipe of this name in its folder. The variable alone says nothing. */
static bool has_mps_pipe(struct muster_probe_ctx *ctx)
{
	char path[PATH_MAX];
	struct stat state;
	if (!is_set("CUDA_MPS_PIPE_DIRECTORY"))
		return false;
	muster_root_path(ctx, path, sizeof path, "%s/control", getenv("CUDA_MPS_PIPE_DIRECTORY"));
	return stat(path, &state) == 0;
}

static bool has_mps_server(const struct processes *processes)
{
	for (size_t i = 0; i < processes->count; i++)
		if (strncmp(processes->items[i].name, MPS_SERVER, strlen(MPS_SERVER)) == 0)
			return true;
	return false;
}

/* How the GPU is shared on purpose: what the user has said comes first, then what the GPU and the environment say. A
 * MIG instance in a shared run is "asked". Needs the first reading for a server of MPS. */
static const char *find_sharing(struct muster_probe_ctx *ctx)
{
	const struct muster_probe_env *env = muster_probe_env(ctx);
	if (env->shared)
		return "asked";
	if (strncmp(env->gpu->uuid, "MIG-", 4) == 0)
		return "mig";
	if (is_set("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE") || has_mps_pipe(ctx) || has_mps_server(&first.processes))
		return "mps";
	return is_set("SLURM_SHARDS_ON_NODE") ? "shard" : "exclusive";
}

/* ---- what is told ---- */

/* The strangers of a reading as one text, at most PROCESSES_TOLD of them: "5 early (uid0) 100 MiB; 9 late (uid0) 1
 * MiB". Returns their number; in the last reading without those that the first one has, which are named all the same.
 * In the last reading NVML lists this process, so PIDs are of our own namespace, and a PID that /proc does not have was
 * a worker that has just ended. In the first reading such a PID counts. */
static size_t name_processes(const struct processes *processes, bool last, char *ret_names, size_t size)
{
	size_t count = 0, old = 0, used = 0;
	snprintf(ret_names, size, "none");
	for (size_t i = 0; i < processes->count; i++) {
		const struct process *process = &processes->items[i];
		char text[128];
		if (process->ours || (last && process->gone))
			continue;
		old += last && first.told && is_listed(&first.processes, process->pid);
		process_text(process, text, sizeof text);
		if (++count <= PROCESSES_TOLD && used < size)
			used += (size_t)snprintf(ret_names + used, size - used, "%s%s", used ? "; " : "", text);
	}
	if (count > PROCESSES_TOLD && used < size)
		snprintf(ret_names + used, size - used, "; and %zu more", count - PROCESSES_TOLD);
	return count - old;
}

/* Who else uses the GPU or may use it: probes that would disturb them ask for it. A MIG instance has memory and
 * multiprocessors of its own. */
static void say_shared(struct muster_probe_ctx *ctx)
{
	static char names[PROCESSES_TOLD * 80];
	struct muster_gpu *gpu = muster_probe_env(ctx)->gpu;
	const char *sharing = find_sharing(ctx);
	char *why = gpu->why_shared;
	if (first.processes_result == 0 && name_processes(&first.processes, false, names, sizeof names) > 0)
		snprintf(why, sizeof gpu->why_shared, "another program uses the GPU: %.200s", names);
	else if (unlisted_mib(&first) > NOTABLE_MIB && !is_of_the_system(ctx))
		snprintf(why, sizeof gpu->why_shared, "another program uses the GPU: %.0f MiB are in use",
			unlisted_mib(&first));
	else if (first.busy_result == 0 && first.busy_share > NOTABLE_SHARE)
		snprintf(why, sizeof gpu->why_shared, "another program uses the GPU: it is busy");
	else if (strcmp(sharing, "exclusive") != 0 && strcmp(sharing, "mig") != 0)
		snprintf(why, sizeof gpu->why_shared, "another program may use the GPU (%s)", sharing);
}

/* Before CUDA has a context on the GPU. */
static void begin(struct muster_probe_ctx *ctx)
{
	const struct muster_nvml *nvml = muster_nvml(NULL);
	if (nvml && muster_probe_env(ctx)->gpu->has_nvml)
		read_first(ctx, nvml);
	say_shared(ctx);
}

/* Yields a value that checks use, or null on a GPU that is shared on purpose. when: the second label; NULL for a metric
 * that has none. A value that could not be read keeps its own reason. */
static void yield_judged(struct muster_probe_ctx *ctx, const char *metric, const char *when, int result,
	struct muster_value value, const struct muster_error *why)
{
	const char *sharing = find_sharing(ctx);
	const struct muster_value labels[] = { muster_string(muster_probe_env(ctx)->gpu->bus_id), muster_string(when) };
	const size_t count = when ? 2 : 1;
	if (result == 0 && strcmp(sharing, "exclusive") != 0)
		muster_emit_null(ctx, metric, labels, count, "the GPU is shared on purpose (%s)", sharing);
	else
		muster_emit_read_with(ctx, metric, labels, count, result, value, why);
}

static void yield_processes(struct muster_probe_ctx *ctx, const char *when, int result, const struct reading *reading)
{
	const struct muster_value labels[] = { muster_string(muster_probe_env(ctx)->gpu->bus_id), muster_string(when) };
	char names[PROCESSES_TOLD * 80];
	size_t count = 0;
	if (result == 0)
		count = name_processes(&reading->processes, reading != &first, names, sizeof names);
	yield_judged(ctx, "gpu.foreign_processes", when, result, muster_number((double)count), &reading->no_processes);
	muster_emit_read_with(
		ctx, "gpu.foreign_process", labels, 2, result, muster_string(names), &reading->no_processes);
}

static int run(struct muster_probe_ctx *ctx, struct muster_error *err)
{
	muster_emit_for(ctx, "rank.gpu_sharing", NULL, muster_string(find_sharing(ctx)));
	if (!muster_gpu_nvml(muster_probe_env(ctx)->gpu, err))
		return -1;
	if (!first.taken)
		return muster_fail(err, MUSTER_EVENDOR, "nothing was read before muster used the GPU");
	first.told = true;
	if (first.memory_result == 0 && is_of_the_system(ctx))
		first.memory_result = muster_fail(&first.no_memory, MUSTER_ENOTSUPPORTED,
			"the memory of the GPU is the system's as well, and the kernel may have pages in it");
	muster_emit_read(ctx, "gpu.memory_used_mib", muster_probe_env(ctx)->gpu->bus_id, first.memory_result,
		muster_number(first.used_mib), &first.no_memory);
	yield_judged(ctx, "gpu.foreign_memory_mib", NULL, first.memory_result, muster_number(unlisted_mib(&first)),
		&first.no_memory);
	yield_judged(ctx, "gpu.utilisation_before", NULL, first.busy_result, muster_number(first.busy_share),
		&first.no_busy);
	yield_processes(ctx, "start", first.processes_result, &first);
	return 0;
}

/* After all other probes. Without this process in the list the PIDs cannot be compared with /proc, so both values of
 * the end are null. */
static int finish(struct muster_probe_ctx *ctx, struct muster_error *err)
{
	static struct reading last; /* processes only: muster itself is busy on the GPU */
	char proc[PATH_MAX];
	const struct muster_nvml *nvml = muster_gpu_nvml(muster_probe_env(ctx)->gpu, err);
	if (!nvml)
		return -1;
	muster_step(ctx, "NVML: who uses GPU %s at the end", muster_probe_env(ctx)->gpu->bus_id);
	last.processes_result = read_processes(nvml, device_of(nvml, muster_probe_env(ctx)->gpu),
		muster_root_path(ctx, proc, sizeof proc, "/proc"), &last.processes, &last.no_processes);
	if (last.processes_result == 0 && !last.processes.lists_us)
		last.processes_result = muster_fail(&last.no_processes, MUSTER_ENOTSUPPORTED,
			"NVML does not list this process, which uses the GPU: the PIDs are those of another PID "
			"namespace");
	yield_processes(ctx, "end", last.processes_result, &last);
	return 0;
}

const struct muster_probe muster_probe_gpu_users = {
	.name = "gpu_users",
	.summary = "other programs on the rank's GPU, before muster uses the GPU and at the end",
	.scope = MUSTER_SCOPE_RANK,
	.needs_gpu = true,
	.by_nvml = true,
	.deadline_ms = 10000,
	.order = 12,
	METRICS(metrics),
	.begin = begin,
	.run = run,
	.finish = finish,
};
