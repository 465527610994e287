/* processes.h - the processes that NVML lists on a GPU; a part of the probe gpu_users */
#ifndef MUSTER_PROBES_GPU_USERS_PROCESSES_H
#define MUSTER_PROBES_GPU_USERS_PROCESSES_H

#include "vendor/nvml.h"

#include <stdbool.h>
#include <stddef.h>

#define MUSTER_GPU_PROCESSES_MAX 256 /* more on one GPU are an error */

struct muster_gpu_process {
	unsigned int pid; /* in the PID namespace of this process, or of another one */
	double mib;       /* of the GPU's memory; -1: not known */
	bool ours;        /* this process, or another of the same executable file */
	bool gone;        /* /proc has no such process, although it would show every process */
	long uid;         /* of its user; -1: not known */
	char name[32];    /* what the kernel calls it, without spaces; "?" when not known */
};

struct muster_gpu_processes {
	struct muster_gpu_process items[MUSTER_GPU_PROCESSES_MAX];
	size_t count;
	bool lists_us; /* this process is among them */
};

/* The processes that compute on the device, through MPS too, and the processes that draw on it with more than 256 MiB
 * (a display server has less). proc is the folder /proc, under the root prefix. 0, or -1 with err. */
int muster_gpu_processes_read(const struct muster_nvml *nvml, nvmlDevice_t device, const char *proc,
	struct muster_gpu_processes *ret, struct muster_error *err);

/* The process in words: "4242 python3 (uid1001) 20480 MiB". Returns out. */
const char *muster_gpu_process_text(const struct muster_gpu_process *process, char *out, size_t size);

#endif
