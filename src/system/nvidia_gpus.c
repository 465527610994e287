/* SPDX-License-Identifier: Apache-2.0 */
/* nvidia_gpus.c - the NVIDIA GPUs that the PCI bus of this node has, and which of them this process may use
 *
 * What is known of each GPU, in the order of the questions (describe, judge_nvidia):
 *
 *    no driver is bound, or another one                        OURS: the node should be able to use it, with the reason
 *    a driver for virtual machines (vfio-pci)                  SET_ASIDE
 *    /proc/driver/nvidia/gpus/BUS-ID/information is missing    HIDDEN: a container covers it
 *    "GPU Excluded: Yes" there                                 SET_ASIDE
 *    /dev/nvidiaN cannot be used                               HIDDEN: another job may have the GPU
 *    /dev/nvidiaN is missing, and this is no container         OURS, with the reason: no job can use the GPU
 *    none of these                                             OURS
 *
 * A GPU that is hidden proves no fault of the node. One that is OURS and that NVML does not show is missing.
 *
 * Slurm's device cgroup refuses /dev/nvidiaN with EPERM, a container lacks the file, file modes exclude the user.
 */
#include "system/nvidia_gpus.h"

#include "system/mounts.h"
#include "system/sysfs.h"
#include "util/text.h"
#include "muster/arena.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NVIDIA = 0x10de, VGA = 0x0300, CONTROLLER_3D = 0x0302 };

/* Display controllers of NVIDIA, without the virtual functions of a host for vGPUs: these have a link `physfn` to their
 * GPU. Only the upper two bytes of the class are compared; the last one is the programming interface. */
static bool is_gpu(const char *directory)
{
	char path[PATH_MAX];
	long vendor, class_code;
	snprintf(path, sizeof path, "%s/vendor", directory);
	if (muster_sysfs_number(path, &vendor, NULL) < 0 || vendor != NVIDIA)
		return false;
	snprintf(path, sizeof path, "%s/class", directory);
	if (muster_sysfs_number(path, &class_code, NULL) < 0 ||
		(class_code >> 8 != VGA && class_code >> 8 != CONTROLLER_3D))
		return false;
	snprintf(path, sizeof path, "%s/physfn", directory);
	return access(path, F_OK) < 0; /* the link from a virtual function to its GPU */
}

static void __attribute__((format(printf, 3, 4)))
judge(struct muster_nvidia_gpu *gpu, enum muster_nvidia_access access, const char *format, ...)
{
	va_list args;
	gpu->access = access;
	va_start(args, format);
	vsnprintf(gpu->why, sizeof gpu->why, format, args);
	va_end(args);
}

/* A container has no files of GPUs that it was not given; elsewhere a missing file keeps a GPU from every job. */
static bool is_lost(const char *root, int error)
{
	char container[64];
	return error == ENOENT && strcmp(muster_container_name(root, container, sizeof container), "none") == 0;
}

/* A GPU of the NVIDIA driver. The driver makes its directory in /proc when it takes the GPU, and keeps it for a GPU
 * that it cannot start; containers cover the directories of GPUs that they were not given. */
static void judge_nvidia(const char *root, struct muster_nvidia_gpu *gpu)
{
	char path[PATH_MAX], text[64];
	long minor;
	snprintf(path, sizeof path, "%s/proc/driver/nvidia/gpus/%s/information", root, gpu->bus_id);
	if (muster_sysfs_line(path, "Device Minor", text, sizeof text, NULL) < 0 ||
		muster_parse_int(text, 0, INT_MAX, &minor, "Device Minor", NULL) < 0) {
		judge(gpu, MUSTER_NVIDIA_HIDDEN, "/proc/driver/nvidia/gpus/%s/information cannot be read", gpu->bus_id);
		return;
	}
	gpu->minor = (int)minor;
	if (muster_sysfs_line(path, "GPU Excluded", text, sizeof text, NULL) == 0 && strcmp(text, "Yes") == 0) {
		judge(gpu, MUSTER_NVIDIA_SET_ASIDE, "the NVIDIA driver excludes it (NVreg_ExcludedGpus)");
		return;
	}
	snprintf(path, sizeof path, "%s/dev/nvidia%d", root, gpu->minor);
	if (access(path, R_OK | W_OK) < 0)
		judge(gpu, is_lost(root, errno) ? MUSTER_NVIDIA_OURS : MUSTER_NVIDIA_HIDDEN, "/dev/nvidia%d: %s",
			gpu->minor, strerror(errno));
}

/* Drivers that hold a device for a virtual machine: vfio-pci and its variants for some devices
 * (nvgrace_gpu_vfio_pci), and those that only keep other drivers away from it. */
static bool is_for_guests(const char *driver)
{
	return strstr(driver, "vfio") || strcmp(driver, "pci-stub") == 0 || strcmp(driver, "pciback") == 0 ||
	       strcmp(driver, "xen-pciback") == 0;
}

/* Fill one GPU in. `access` stays OURS (0) unless something keeps the GPU away. */
static void describe(const char *root, const char *directory, struct muster_nvidia_gpu *gpu)
{
	char path[PATH_MAX];
	gpu->minor = -1;
	snprintf(path, sizeof path, "%s/device", directory);
	if (muster_sysfs_number(path, &gpu->model, NULL) < 0)
		gpu->model = -1;
	snprintf(path, sizeof path, "%s/driver", directory);
	if (muster_sysfs_link(path, gpu->driver, sizeof gpu->driver) < 0)
		judge(gpu, MUSTER_NVIDIA_OURS, "no driver is bound");
	else if (is_for_guests(gpu->driver))
		judge(gpu, MUSTER_NVIDIA_SET_ASIDE, "driver %s holds it for a virtual machine", gpu->driver);
	else if (strcmp(gpu->driver, "nvidia") != 0)
		judge(gpu, MUSTER_NVIDIA_OURS, "driver %s is bound, not nvidia", gpu->driver);
	else
		judge_nvidia(root, gpu);
}

int muster_nvidia_gpus_list(const char *root, struct muster_nvidia_gpus *ret, struct muster_error *err)
{
	char path[PATH_MAX];
	struct muster_names devices;
	snprintf(path, sizeof path, "%s/sys/bus/pci/devices", root);
	if (muster_sysfs_names(path, &devices, err) < 0)
		return -1;
	struct muster_nvidia_gpus gpus = { .items = muster_calloc(devices.count, sizeof *gpus.items) };
	for (size_t i = 0; i < devices.count; i++) {
		struct muster_nvidia_gpu *gpu = &gpus.items[gpus.count];
		snprintf(path, sizeof path, "%s/sys/bus/pci/devices/%s", root, devices.items[i]);
		if (!is_gpu(path) ||
			muster_bus_id_normalise(devices.items[i], gpu->bus_id, sizeof gpu->bus_id, NULL) < 0)
			continue;
		describe(root, path, gpu);
		gpus.count++;
	}
	muster_names_done(&devices);
	*ret = gpus;
	return 0;
}

void muster_nvidia_gpus_done(struct muster_nvidia_gpus *gpus)
{
	free(gpus->items);
	*gpus = (struct muster_nvidia_gpus){ 0 };
}

const struct muster_nvidia_gpu *muster_nvidia_gpus_find(const struct muster_nvidia_gpus *gpus, const char *bus_id)
{
	for (size_t i = 0; i < gpus->count; i++)
		if (strcmp(gpus->items[i].bus_id, bus_id) == 0)
			return &gpus->items[i];
	return NULL;
}

size_t muster_nvidia_gpus_count(const struct muster_nvidia_gpus *gpus, enum muster_nvidia_access access)
{
	size_t count = 0;
	for (size_t i = 0; i < gpus->count; i++)
		count += gpus->items[i].access == access;
	return count;
}
