/* SPDX-License-Identifier: Apache-2.0 */
/* fault_node.c - the software, the settings and the disks of a node
 *
 * A node has its own array of volumes, whose elements may be changed where they are. Its lists of disks, daemons,
 * variables and NUMA nodes are the description's, which all nodes share: a function here makes a copy first.
 */
#include "sim/fault.h"

#include "sim/scenario.h"

#include <string.h>

/* VALUE is the driver's version, "580.105.08". The library is updated with the driver, so both change. */
int muster_fault_driver_drift(const struct muster_fault_target *t, struct muster_error *err)
{
	if (strspn(t->value, "0123456789.") != strlen(t->value))
		return muster_fail(err, MUSTER_EUSAGE, "VALUE must be a version, not \"%s\"", t->value);
	t->node->driver_version = t->value;
	return muster_fault_driver_library(t, err);
}

/* VALUE is NVML's version without CUDA's. NVML gives CUDA's major version in front of the driver's: "13.580.126.16".
 * Alone this is a library that was updated while the old module of the kernel stayed loaded.
 */
int muster_fault_driver_library(const struct muster_fault_target *t, struct muster_error *err)
{
	(void)err;
	t->node->nvml_version = muster_arena_printf(t->cluster->arena, "%d.%s", t->node->cuda_driver / 1000, t->value);
	return 0;
}

/* Without the module there is nothing of what it makes: the table has the files and folders of each module, and those
 * of the modules that need it. Without nvidia no GPU has a driver. */
int muster_fault_module_missing(const struct muster_fault_target *t, struct muster_error *err)
{
	static const char *const paths[][2] = { { "nvidia", "/proc/driver/nvidia" }, { "nvidia", "/dev/nvidiactl" },
		{ "nvidia", "/dev/nvidia-uvm" }, { "nvidia", "/sys/module/nvidia" },
		{ "nvidia", "/sys/module/nvidia_uvm" }, { "nvidia_uvm", "/sys/module/nvidia_uvm" },
		{ "nvidia_uvm", "/dev/nvidia-uvm" }, { "mlx5_core", "/sys/module/mlx5_core" },
		{ "mlx5_core", "/sys/module/mlx5_ib" }, { "mlx5_core", "/sys/class/infiniband" },
		{ "mlx5_ib", "/sys/module/mlx5_ib" }, { "mlx5_ib", "/sys/class/infiniband" } };
	(void)err;
	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
		if (strcmp(paths[i][0], t->value) == 0)
			muster_fault_append(t, &t->node->files_missing, &t->node->file_missing_count, paths[i][1]);
	for (size_t i = 0; strcmp(t->value, "nvidia") == 0 && i < t->node->gpu_count; i++)
		t->node->gpus[i].driver = "none";
	return 0;
}

/* Take NAME, or NAME=TEXT, out of a list: every element whose text is `name`, or begins with it and '='. list: the
 * address of the list's pointer, which then leads to a copy without these elements, because nodes share their lists;
 * size: of an element, which is a text, or a struct with a text as its first member. Whether there was such an element.
 */
static bool take_out(const struct muster_fault_target *t, void *list, size_t *count, size_t size, const char *name)
{
	size_t length = strlen(name), all = *count;
	char *from, *to;
	memcpy(&from, list, sizeof from);
	to = muster_arena_alloc(t->cluster->arena, (all + 1) * size);
	memcpy(list, &to, sizeof to);
	*count = 0;
	for (size_t i = 0; i < all; i++, from += size) {
		const char *text;
		memcpy(&text, from, sizeof text);
		if (strncmp(text, name, length) != 0 || (text[length] && text[length] != '='))
			memcpy(to + (*count)++ * size, from, size);
	}
	return *count < all;
}

#define TAKE_OUT(t, list, count, name) take_out(t, &(list), &(count), sizeof *(list), name)

/* NAME=TEXT sets the variable in the environment of the node's ranks, NAME alone takes it away, from nccl.conf too. */
int muster_fault_env(const struct muster_fault_target *t, struct muster_error *err)
{
	struct muster_sim_node *node = t->node;
	const char *equals = strchr(t->value, '='), *name = muster_fault_until(t, t->value, equals);
	if (!*name)
		return muster_fail(err, MUSTER_EUSAGE, "VALUE must be NAME or NAME=TEXT, not \"%s\"", t->value);
	bool found = TAKE_OUT(t, node->environment, node->environment_count, name);
	found = TAKE_OUT(t, node->nccl_conf, node->nccl_conf_count, name) || found;
	if (equals)
		muster_fault_append(t, &node->environment, &node->environment_count, t->value);
	else if (!found)
		return muster_fail(err, MUSTER_EUSAGE, "neither the ranks' environment nor nccl.conf has %s", name);
	return 0;
}

/* VALUE is a device, "nvme0n1". An array over all disks is made of the others, and so has their share of the size and
 * of the rates. Without a disk that is left, or where the scratch is on this disk alone, the node has no scratch. The
 * first volume is no scratch where an earlier fault took that away, and is on no such disk then. */
int muster_fault_disk_missing(const struct muster_fault_target *t, struct muster_error *err)
{
	struct muster_sim_node *node = t->node;
	double before = (double)node->disk_count;
	if (!TAKE_OUT(t, node->disks, node->disk_count, t->value))
		return muster_fail(err, MUSTER_EUSAGE, "the node has no disk \"%s\"", t->value);
	/* the RAID is made at boot, from the disks that are there */
	struct muster_sim_volume *scratch = node->volumes;
	double share = (double)node->disk_count / before;
	bool array = strcmp(scratch->layout, "none") != 0;
	if (array ? node->disk_count == 0 : strcmp(scratch->device, t->value) == 0) {
		muster_fault_scratch_missing(t);
	} else if (array) {
		scratch->gb *= share;
		scratch->free_gb *= share;
		scratch->read_gbps *= share;
		scratch->write_gbps *= share;
	}
	return 0;
}

int muster_fault_governor(const struct muster_fault_target *t, struct muster_error *err)
{
	return strstr(t->value, ": ")
		       ? 0
		       : muster_fail(err, MUSTER_EUSAGE, "VALUE must be DRIVER: GOVERNOR, not \"%s\"", t->value);
}

int muster_fault_daemon_dead(const struct muster_fault_target *t, struct muster_error *err)
{
	return TAKE_OUT(t, t->node->daemons, t->node->daemon_count, t->value)
		       ? 0
		       : muster_fail(err, MUSTER_EUSAGE, "no process \"%s\" runs on this machine type", t->value);
}

void muster_fault_memory_channel(const struct muster_fault_target *t)
{
	size_t index = (size_t)(t->numa - t->node->numas);
	/* healthy nodes have one list together */
	t->node->numas =
		muster_sim_copy(t->cluster->arena, t->node->numas, t->node->numa_count, sizeof *t->node->numas);
	t->node->numas[index].triad_gbps *= t->number;
}

/* -- the scratch of a node, and the folder that all nodes share, as one node sees it -- */

void muster_fault_volume_slow(const struct muster_fault_target *t)
{
	t->volume->read_gbps *= t->number;
	t->volume->write_gbps *= t->number;
}

int muster_fault_volume_stalls(const struct muster_fault_target *t, struct muster_error *err)
{
	if (strcmp(t->value, "read") != 0 && strcmp(t->value, "write") != 0)
		return muster_fail(err, MUSTER_EUSAGE, "VALUE must be read or write, not \"%s\"", t->value);
	t->volume->stalls = t->value;
	return 0;
}

/* VALUE is how many disks the array has lost; at least one is left. volume.c then fails every request with EIO. */
int muster_fault_raid_degraded(const struct muster_fault_target *t, struct muster_error *err)
{
	double disks;
	if (muster_fault_number(t->value, 1, (double)t->node->disk_count - 1, &disks, err) < 0)
		return -1;
	t->volume->missing_members = (int)disks;
	return 0;
}

void muster_fault_scratch_full(const struct muster_fault_target *t)
{
	t->volume->free_gb = t->volume->gb * (100 - t->number) / 100;
}

/* The scratch is the first volume, and the list now begins after it. */
void muster_fault_scratch_missing(const struct muster_fault_target *t)
{
	t->node->volumes++;
	t->node->volume_count--;
}
