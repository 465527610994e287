/* SPDX-License-Identifier: Apache-2.0 */
/* nvidia_gpus.h - the NVIDIA GPUs that the PCI bus of this node has, and which of them this process may use
 *
 * Files only: no driver and no library is asked, and no device node is opened, so nothing starts on a GPU.
 */
#ifndef MUSTER_SYSTEM_NVIDIA_GPUS_H
#define MUSTER_SYSTEM_NVIDIA_GPUS_H

#include "muster/error.h"

#include <stddef.h>

enum muster_nvidia_access {
	/* Nothing keeps it from this process: NVML should show it. Also a GPU without a driver. */
	MUSTER_NVIDIA_OURS = 0,
	/* A cgroup (Slurm's ConstrainDevices), a container or file modes keep it from this process, so other jobs may
	 * use it. */
	MUSTER_NVIDIA_HIDDEN,
	/* It is no GPU of this operating system: a virtual machine has it, or the NVIDIA driver was told to ignore it.
	 */
	MUSTER_NVIDIA_SET_ASIDE,
};

struct muster_nvidia_gpu {
	char bus_id[32]; /* sysfs form, lower case: "0001:00:00.0" */
	char driver[32]; /* the kernel driver that is bound: "nvidia", "vfio-pci"; "" for none */
	int minor;       /* of /dev/nvidia<minor>; -1 when it is not known */
	long model;      /* PCI device id: 0x2335; -1 when it is not known */
	enum muster_nvidia_access access;
	char why[192]; /* why it is hidden or set aside, or that no driver or a foreign one is bound, or that its file
			* is missing; "" otherwise */
};

struct muster_nvidia_gpus {
	struct muster_nvidia_gpu *items; /* in order of bus ids */
	size_t count;
};

/* All display controllers (class 0x0300 and 0x0302) of vendor 0x10de in /sys/bus/pci/devices, without the virtual
 * functions of a vGPU host. root is the prefix of /sys, /proc and /dev. A node without a PCI bus has none. -1 with err
 * when the directory cannot be read. The caller releases ret with muster_nvidia_gpus_done.
 *
 * Whether the process may use a GPU of the NVIDIA driver follows from /proc/driver/nvidia/gpus/<bus id>/information
 * ("Device Minor", "GPU Excluded") and access(2) of /dev/nvidia<minor>, which asks file modes and both versions of
 * device cgroups, as open(2) would. */
int muster_nvidia_gpus_list(const char *root, struct muster_nvidia_gpus *ret, struct muster_error *err);
void muster_nvidia_gpus_done(struct muster_nvidia_gpus *gpus);

/* How many of them are of this kind. */
size_t muster_nvidia_gpus_count(const struct muster_nvidia_gpus *gpus, enum muster_nvidia_access access);

/* NULL when it is not on the bus. */
const struct muster_nvidia_gpu *muster_nvidia_gpus_find(const struct muster_nvidia_gpus *gpus, const char *bus_id);

#endif
