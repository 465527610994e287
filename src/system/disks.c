/* SPDX-License-Identifier: Apache-2.0 */
/* disks.c - block devices and their disks in sysfs
 *
 * What sysfs has of a block device:
 *
 *    /sys/block/md0/slaves/                  links to the devices that md0 consists of
 *    /sys/block/nvme0n1/nvme0n1p1/partition  a partition is a folder below that of its disk
 *    /sys/dev/block/259:3                    a link to the device of that number
 *
 * walk() goes down from a device through slaves to whole disks, at most eight levels. On the way it notes what the
 * device is:
 *
 *    partition                        its disk
 *    no slaves                        a whole disk
 *    md/level                         an array of md: level, members, how many are missing
 *    dm/uuid "CRYPT-..."              encrypted
 *    dm/uuid "LVM-...", two slaves    a volume of LVM on two or more devices: striped or linear
 *
 * Local is what is lost with the virtual machine. Clouds show their network disks as NVMe too: those do not count.
 */
#include "system/disks.h"
#include "system/sysfs.h"
#include "util/text.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Parts of the model of NVMe disks that are at the other end of a network. */
static const char *const remote_models[] = {
	"MSFT NVMe Accelerator",                      /* Azure's managed disks */
	"Amazon Elastic Block Store", "nvme_card-pd", /* Google's persistent disks; the local ones are "nvme_card" */
};

/* A link in a root that was copied or mounted must not lead out of it, to the machine that muster runs on. */
static int stay_inside(const char *root_path, const char *path, struct muster_error *err)
{
	char root[PATH_MAX], real[PATH_MAX];
	if (!*root_path)
		return 0;
	if (!realpath(root_path, root) || !realpath(path, real))
		return muster_fail(err, MUSTER_EIO, "%s: %s", path, strerror(errno));
	size_t length = strlen(root);
	if (strncmp(real, root, length) != 0 || real[length] != '/')
		return muster_fail(err, MUSTER_EIO, "%s points outside the root", path);
	return 0;
}

static int names_in(const char *folder, const char *part, struct muster_names *ret, struct muster_error *err)
{
	char path[PATH_MAX];
	snprintf(path, sizeof path, "%.*s/%s", PATH_MAX - 32, folder, part);
	return muster_sysfs_names(path, ret, err);
}

/* The folder of a device: a partition's is below that of its disk. /sys/block has whole disks only. For a partition,
 * the disk is the one whose name the partition's name begins with. */
static int find_folder(const char *root, const char *device, char *ret, size_t size, struct muster_error *err)
{
	struct muster_names disks = { 0 };
	int written = snprintf(ret, size, "%s/sys/block/%s", root, device);
	if (written < 0 || (size_t)written >= size)
		return muster_fail(err, MUSTER_EIO, "%s: the path is too long", device);
	if (access(ret, F_OK) == 0)
		return 0;
	char folder[PATH_MAX];
	bool found = false;
	snprintf(folder, sizeof folder, "%s/sys/block", root);
	if (muster_sysfs_names(folder, &disks, err) < 0)
		return -1;
	for (size_t i = 0; i < disks.count && !found; i++) {
		if (strncmp(device, disks.items[i], strlen(disks.items[i])) != 0)
			continue;
		written = snprintf(ret, size, "%s/%s/%s", folder, disks.items[i], device);
		found = written > 0 && (size_t)written < size && access(ret, F_OK) == 0;
	}
	muster_names_done(&disks);
	return found ? 0 : muster_fail(err, MUSTER_EIO, "there is no device %s in %s", device, folder);
}

/* A file of the device's folder. */
static int read_fact(
	const char *root, const char *device, const char *file, char *ret, size_t size, struct muster_error *err)
{
	char path[PATH_MAX];
	if (find_folder(root, device, path, sizeof path, err) < 0)
		return -1;
	size_t length = strlen(path);
	snprintf(path + length, sizeof path - length, "/%s", file);
	return stay_inside(root, path, err) < 0 ? -1 : muster_read_line(path, ret, size, err);
}

bool muster_disk_is_dead(const char *root, const char *disk)
{
	char text[64];
	if (read_fact(root, disk, "size", text, sizeof text, NULL) == 0 && strcmp(text, "0") == 0)
		return true;
	/* live, new, resetting, connecting, deleting, "deleting (no IO)", dead (Linux, drivers/nvme/host/sysfs.c) */
	return read_fact(root, disk, "device/state", text, sizeof text, NULL) == 0 &&
	       (strncmp(text, "deleting", strlen("deleting")) == 0 || strcmp(text, "dead") == 0);
}

/* A number of such a file; `otherwise` where there is no such file or it has no number. */
static long read_number(const char *root, const char *device, const char *file, long otherwise)
{
	char text[64];
	long number;
	if (read_fact(root, device, file, text, sizeof text, NULL) < 0 ||
		muster_parse_int(text, 0, LONG_MAX, &number, file, NULL) < 0)
		return otherwise;
	return number;
}

bool muster_disk_is_nvme(const char *name)
{
	int used = 0;
	return sscanf(name, "nvme%*[0-9]n%*[0-9]%n", &used) == 0 && used > 0 && !name[used];
}

/* A disk is not local when its model is that of a cloud's network disk, or its transport is another one than PCIe (NVMe
 * over fabrics). */
int muster_disk_is_local(const char *root, const char *disk, bool *ret, struct muster_error *err)
{
	char model[256], transport[64];
	if (read_fact(root, disk, "device/model", model, sizeof model, err) < 0)
		return -1;
	bool local = true;
	for (size_t i = 0; i < sizeof remote_models / sizeof *remote_models; i++)
		local = local && !strstr(model, remote_models[i]);
	/* disks with several paths have it elsewhere */
	if (read_fact(root, disk, "device/transport", transport, sizeof transport, NULL) == 0)
		local = local && strcmp(transport, "pcie") == 0;
	*ret = local;
	return 0;
}

int muster_disk_gb(const char *root, const char *device, double *ret, struct muster_error *err)
{
	char text[64];
	if (read_fact(root, device, "size", text, sizeof text, err) < 0)
		return -1;
	if (muster_sectors_gb(text, strlen(text), ret, err) < 0)
		return muster_wrap(err, "size of %s", device);
	return 0;
}

static bool is_device_name(const char *name)
{
	return *name && strlen(name) < MUSTER_DISK_NAME &&
	       name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")] == '\0';
}

/* The device that a link names: 0, 1 with errno when there is no such link, -1 with err when it names no `what`. */
static int read_link(
	const char *root, const char *path, const char *what, char *ret, size_t size, struct muster_error *err)
{
	char whole[PATH_MAX], name[PATH_MAX];
	snprintf(whole, sizeof whole, "%s%s", root, path);
	if (muster_sysfs_link(whole, name, sizeof name) < 0)
		return 1;
	if (!is_device_name(name) || strlen(name) >= size)
		return muster_fail(err, MUSTER_EIO, "%s points to \"%.60s\", which is not a %s", path, name, what);
	memcpy(ret, name, strlen(name) + 1);
	return 0;
}

/* The links that udev rules of Azure's agent and of cloud-init make. */
int muster_disk_temporary(const char *root, char *ret, size_t size, struct muster_error *err)
{
	static const char *const links[] = { "/dev/disk/azure/resource", "/dev/disk/cloud/azure_resource" };
	for (size_t i = 0; i < sizeof links / sizeof *links; i++) {
		int result = read_link(root, links[i], "disk", ret, size, err);
		if (result <= 0)
			return result;
	}
	return muster_fail(err, MUSTER_ENOTSUPPORTED, "there is no link %s or %s", links[0], links[1]);
}

int muster_disk_by_number(const char *root, const char *number, char *ret, size_t size, struct muster_error *err)
{
	char path[PATH_MAX];
	snprintf(path, sizeof path, "/sys/dev/block/%s", number);
	int result = read_link(root, path, "device", ret, size, err);
	return result > 0 ? muster_fail(err, MUSTER_ENOTSUPPORTED, "%s: %s", path, strerror(errno)) : result;
}

/* ---- what a device consists of ---- */

/* Each disk once, also when several partitions of it belong to the volume. Only NVMe disks can be local here. */
static int add_disk(const char *root, const char *disk, struct muster_volume *volume, struct muster_error *err)
{
	bool local = false;
	for (size_t i = 0; i < volume->disk_count; i++)
		if (strcmp(volume->disks[i], disk) == 0)
			return 0;
	if (volume->disk_count == MUSTER_DISKS_MAX || !is_device_name(disk))
		return muster_fail(
			err, MUSTER_EIO, "%s: more than %d disks, or no name of one", disk, MUSTER_DISKS_MAX);
	if (muster_disk_is_nvme(disk) && muster_disk_is_local(root, disk, &local, err) < 0)
		return -1;
	snprintf(volume->disks[volume->disk_count++], MUSTER_DISK_NAME, "%s", disk);
	volume->nvme_count += local;
	return 0;
}

/* How many members an md array has lost. Three sources, since none of them knows all cases:
 *
 *    md/raid_disks minus the members that are there and work    a member that is gone, or marked faulty
 *    md/array_state "broken"                                    an array without redundancy: no member becomes faulty
 *    md/degraded                                                what md itself counts, but only while it is idle
 *
 * While an array is being built (sync_action is not "idle"), all members are there and some do not count yet:
 * md/degraded would count those. */
static size_t missing_of_md(const char *root, const char *device, const struct muster_names *slaves)
{
	char path[PATH_MAX], state[256];
	size_t there = 0, wanted = (size_t)read_number(root, device, "md/raid_disks", 0);
	for (size_t i = 0; i < slaves->count; i++) {
		snprintf(path, sizeof path, "md/dev-%s/state", slaves->items[i]);
		bool faulty = read_fact(root, device, path, state, sizeof state, NULL) == 0 && strstr(state, "faulty");
		there += !faulty && !muster_disk_is_dead(root, slaves->items[i]);
	}
	size_t missing = wanted > there ? wanted - there : 0;
	/* of an array without redundancy no member becomes faulty */
	if (missing == 0 && read_fact(root, device, "md/array_state", state, sizeof state, NULL) == 0)
		missing = strcmp(state, "broken") == 0;
	size_t degraded = (size_t)read_number(root, device, "md/degraded", 0);
	if (read_fact(root, device, "md/sync_action", state, sizeof state, NULL) == 0 && strcmp(state, "idle") != 0)
		return missing;
	return degraded > missing ? degraded : missing;
}

/* LVM does not tell sysfs whether a volume is striped, but a striped one asks for requests of a whole stripe. */
static const char *layout_of_lvm(const char *root, const char *device, size_t slaves)
{
	long least = read_number(root, device, "queue/minimum_io_size", -1);
	long best = read_number(root, device, "queue/optimal_io_size", -1);
	if (slaves < 2)
		return "none";
	return best < 0 || least < 0 || (best >= 2 * least && best % least == 0) ? "lvm-striped" : "linear";
}

static int walk(
	const char *root, const char *device, int depth, struct muster_volume *volume, struct muster_error *err);

/* An array of md, or a device of the mapper: note what it is, and walk on through its slaves. */
static int walk_slaves(const char *root, const char *device, const struct muster_names *slaves, int depth,
	struct muster_volume *volume, struct muster_error *err)
{
	char text[256];
	if (read_fact(root, device, "md/level", text, sizeof text, NULL) == 0) {
		snprintf(volume->raid, sizeof volume->raid, "%.31s", text);
		volume->members = slaves->count;
		volume->members_missing += missing_of_md(root, device, slaves);
	} else if (read_fact(root, device, "dm/uuid", text, sizeof text, NULL) == 0) {
		volume->encrypted |= strncmp(text, "CRYPT-", 6) == 0;
		if (strncmp(text, "LVM-", 4) == 0 && slaves->count > 1) {
			snprintf(volume->raid, sizeof volume->raid, "%s", layout_of_lvm(root, device, slaves->count));
			volume->members = slaves->count;
		}
	}
	for (size_t i = 0; i < slaves->count; i++)
		if (walk(root, slaves->items[i], depth + 1, volume, err) < 0)
			return -1;
	return 0;
}

/* Down to add_disk at the end of each path. The kernel has no devices in a circle; the limit is for a copied or damaged
 * tree. */
static int walk(const char *root, const char *device, int depth, struct muster_volume *volume, struct muster_error *err)
{
	char folder[PATH_MAX], text[64];
	struct muster_names slaves = { 0 };
	if (depth > 8)
		return muster_fail(err, MUSTER_EIO, "%s: devices on devices without end", device);
	if (find_folder(root, device, folder, sizeof folder, err) < 0)
		return -1;
	if (read_fact(root, device, "partition", text, sizeof text, NULL) == 0) {
		*strrchr(folder, '/') = '\0'; /* the folder above it is its disk's */
		return add_disk(root, strrchr(folder, '/') + 1, volume, err);
	}
	if (names_in(folder, "slaves", &slaves, err) < 0)
		return -1;
	int result = slaves.count > 0 ? walk_slaves(root, device, &slaves, depth, volume, err)
				      : add_disk(root, device, volume, err);
	muster_names_done(&slaves);
	return result;
}

int muster_volume_of(const char *root, const char *device, struct muster_volume *ret, struct muster_error *err)
{
	struct muster_volume volume = { .raid = "none", .members = 1 };
	if (walk(root, device, 0, &volume, err) < 0)
		return -1;
	*ret = volume;
	return 0;
}

/* ---- btrfs ---- */

/* The folder of the file system that has this device, below /sys/fs/btrfs. */
static int find_btrfs(const char *root, const char *device, char *ret, size_t size, struct muster_error *err)
{
	char folder[PATH_MAX], path[PATH_MAX];
	struct muster_names systems = { 0 };
	bool found = false;
	snprintf(folder, sizeof folder, "%s/sys/fs/btrfs", root);
	if (muster_sysfs_names(folder, &systems, err) < 0)
		return -1;
	for (size_t i = 0; i < systems.count && !found; i++) {
		snprintf(ret, size, "%.*s/%s", (int)size / 2, folder, systems.items[i]);
		snprintf(path, sizeof path, "%.*s/devices/%s", PATH_MAX / 2, ret, device);
		found = access(path, F_OK) == 0;
	}
	muster_names_done(&systems);
	return found ? 0 : muster_fail(err, MUSTER_EIO, "no file system in %s has the device %s", folder, device);
}

/* A btrfs may have several devices without md or LVM. `device` is one of them; sysfs lists the others. The file
 * system's folder has for each device devinfo/ID/missing, and for data the profile (allocation/data/raid0). With
 * several devices and no profile of RAID it is "single", which fills one device after the other: "linear". */
int muster_volume_of_btrfs(const char *root, const char *device, struct muster_volume *ret, struct muster_error *err)
{
	struct muster_volume volume = { .raid = "none", .members = 1 };
	struct muster_names devices = { 0 }, profiles = { 0 }, known = { 0 };
	char folder[PATH_MAX], path[PATH_MAX];
	int result = find_btrfs(root, device, folder, sizeof folder, err);
	if (result == 0)
		result = names_in(folder, "devices", &devices, err);
	if (result == 0)
		result = names_in(folder, "devinfo", &known, err);
	if (result == 0)
		result = names_in(folder, "allocation/data", &profiles, err);
	for (size_t i = 0; result == 0 && i < devices.count; i++)
		result = walk(root, devices.items[i], 0, &volume, err);
	for (size_t i = 0; i < known.count; i++) {
		long missing = 0;
		snprintf(path, sizeof path, "%.*s/devinfo/%s/missing", PATH_MAX / 2, folder, known.items[i]);
		volume.members_missing += muster_sysfs_number(path, &missing, NULL) == 0 && missing > 0;
	}
	if (devices.count + volume.members_missing > 1) {
		snprintf(volume.raid, sizeof volume.raid, "linear"); /* "single" is one after the other */
		volume.members = devices.count;
	}
	for (size_t i = 0; i < profiles.count; i++)
		if (strncmp(profiles.items[i], "raid", 4) == 0 && devices.count + volume.members_missing > 1)
			snprintf(volume.raid, sizeof volume.raid, "%.31s", profiles.items[i]);
	muster_names_done(&devices);
	muster_names_done(&profiles);
	muster_names_done(&known);
	if (result == 0)
		*ret = volume;
	return result;
}
