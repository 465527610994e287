/* processes.c - the processes that NVML lists on a GPU, and what /proc says of each */
#include "probes/gpu_users/processes.h"

#include "util/text.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DISPLAY_MIB 256 /* what a display server without users has at most */

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

static void describe(const char *proc, struct muster_gpu_process *process)
{
	char path[PATH_MAX];
	struct muster_error why;
	struct stat state;
	process->ours = process->pid == (unsigned int)getpid() || runs_our_file(proc, process->pid);
	process->uid = -1;
	snprintf(process->name, sizeof process->name, "?");
	snprintf(path, sizeof path, "%s/%u", proc, process->pid);
	if (stat(path, &state) == 0)
		process->uid = (long)state.st_uid;
	else
		process->gone = proc_shows_all(proc);
	snprintf(path, sizeof path, "%s/%u/comm", proc, process->pid);
	if (muster_read_line(path, process->name, sizeof process->name, &why) < 0)
		snprintf(process->name, sizeof process->name, "?");
	for (char *at = process->name; *at; at++)
		if (!isgraph((unsigned char)*at))
			*at = '_';
}

static bool is_listed(const struct muster_gpu_processes *list, unsigned int pid)
{
	for (size_t i = 0; i < list->count; i++)
		if (list->items[i].pid == pid)
			return true;
	return false;
}

/* Add those of one list of NVML that are not there yet and have as much memory. */
static nvmlReturn_t add(list_function *function, nvmlDevice_t device, const char *proc, double least_mib,
	struct muster_gpu_processes *list)
{
	nvmlProcessInfo_v2_t found[MUSTER_GPU_PROCESSES_MAX];
	unsigned int count = MUSTER_GPU_PROCESSES_MAX;
	memset(found, 0, sizeof found);
	nvmlReturn_t result = function(device, &count, found);
	for (unsigned int i = 0; result == NVML_SUCCESS && i < count; i++) {
		struct muster_gpu_process process = { .pid = found[i].pid, .mib = -1 };
		if (found[i].usedGpuMemory != ~0ull)
			process.mib = (double)found[i].usedGpuMemory / (1 << 20);
		if (is_listed(list, process.pid) || list->count == MUSTER_GPU_PROCESSES_MAX || process.mib < least_mib)
			continue;
		describe(proc, &process);
		list->lists_us = list->lists_us || process.pid == (unsigned int)getpid();
		list->items[list->count++] = process;
	}
	return result;
}

int muster_gpu_processes_read(const struct muster_nvml *nvml, nvmlDevice_t device, const char *proc,
	struct muster_gpu_processes *ret, struct muster_error *err)
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

const char *muster_gpu_process_text(const struct muster_gpu_process *process, char *out, size_t size)
{
	char user[32] = "", memory[48] = "memory not known";
	if (process->uid >= 0)
		snprintf(user, sizeof user, " (uid%ld)", process->uid);
	if (process->mib >= 0)
		snprintf(memory, sizeof memory, "%.0f MiB", process->mib);
	snprintf(out, size, "%u %s%s %s", process->pid, process->name, user, memory);
	return out;
}
