/* SPDX-License-Identifier: Apache-2.0 */
/* storage.c - the node's local NVMe disks, its temporary disk, and the file system that jobs may fill
 *
 * Reads what the kernel says: no disk is touched. The leader runs it in every run; the probe scratch is the one that
 * writes.
 *
 * Which disks are the node's own follows from sysfs (system/disks.h): a network disk of a cloud shows as NVMe too. A
 * disk whose controller has failed is still listed by the kernel, and is not counted. statvfs may hang where a network
 * file system was given by --storage; the step says so.
 */
#include "system/disks.h"
#include "system/scratch.h"
#include "system/sysfs.h"
#include "probes/metrics.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

static const struct muster_metric metrics[] = {
	NODE_NUMBER("node.nvme_disks", NONE, MORE, "local NVMe disks that work",
		SHOWN(IN(MACHINE, 170, "NVMe disks", .second = "node.nvme_gb", .between = ", together "))),
	NODE_NUMBER("node.nvme_gb", GB, FACT, "size of all local NVMe disks together; 1 GB is 10^9 bytes"),
	NODE_NUMBER("node.temp_disk_gb", GB, FACT, "size of the cloud's temporary disk; no value when there is none",
		SHOWN(IN(MACHINE, 180, "temporary disk"))),
	NODE_TEXT("node.scratch_path", FACT, FOLDER,
		"folder of the scratch: where a file system on the node's local disks is mounted, or that of "
		"--storage"),
	NODE_TEXT("node.scratch_filesystem", FACT, NOTHING, "its file system, such as xfs, ext4 or btrfs"),
	NODE_TEXT("node.scratch_raid", FACT, NOTHING,
		"how its disks are joined (raid0, raid10, linear, lvm-striped), or none"),
	NUMBER(NODE, "node.scratch_members", NONE, MORE, "disks of its array that are there; without an array, 1",
		.labels = { "raid" }),
	NODE_NUMBER("node.scratch_missing_members", NONE, LESS, "disks that its array has lost"),
	NODE_FLAG("node.scratch_read_only", FACT, "the file system is mounted read-only"),
	NODE_NUMBER("node.scratch_size_gb", GB, FACT, "size of the file system"),
	NODE_NUMBER("node.scratch_free_gb", GB, DRIFTS, "of it, free for users"),
	NODE_NUMBER("node.scratch_free_share", RATIO, DRIFTS, "share of the file system that is free for users"),
};

/* Number and total size of the local NVMe disks that work. Where it is not known of one disk whether it is local, the
 * number is null, and the size too; where one size is not known, the size alone. */
static void measure_nvme(struct muster_probe_ctx *ctx)
{
	const char *root = muster_probe_env(ctx)->root;
	char path[PATH_MAX];
	struct muster_names disks = { 0 };
	struct muster_error why, no_size;
	size_t count = 0;
	double total = 0;
	int sized = 0;
	muster_root_path(ctx, path, sizeof path, "/sys/block");
	muster_step(ctx, "list %s", path);
	int result = access(path, R_OK) < 0 ? muster_fail(&why, MUSTER_EIO, "%s: %s", path, strerror(errno))
					    : muster_sysfs_names(path, &disks, &why);
	for (size_t i = 0; result == 0 && i < disks.count; i++) {
		bool local = false;
		double gb = 0;
		if (muster_disk_is_nvme(disks.items[i]))
			result = muster_disk_is_local(root, disks.items[i], &local, &why);
		local = local && !muster_disk_is_dead(root, disks.items[i]);
		if (local && muster_disk_gb(root, disks.items[i], &gb, &no_size) < 0)
			sized = -1;
		count += local;
		total += gb;
	}
	muster_names_done(&disks);
	muster_emit_read(ctx, "node.nvme_disks", NULL, result, muster_number((double)count), &why);
	if (result == 0 && sized < 0)
		why = no_size;
	muster_emit_read(ctx, "node.nvme_gb", NULL, result < 0 ? result : sized, muster_number(total), &why);
}

static void measure_temp_disk(struct muster_probe_ctx *ctx)
{
	const char *root = muster_probe_env(ctx)->root;
	struct muster_error why;
	char disk[MUSTER_DISK_NAME];
	double gb = 0;
	muster_step(ctx, "look for the temporary disk");
	int result = muster_disk_temporary(root, disk, sizeof disk, &why);
	if (result == 0)
		result = muster_disk_gb(root, disk, &gb, &why);
	muster_emit_read(ctx, "node.temp_disk_gb", NULL, result, muster_number(gb), &why);
}

/* The array that the scratch is on, or "none" with one member; null where the volume is not known, as of a file system
 * of the network. */
static void measure_volume(struct muster_probe_ctx *ctx, const struct muster_scratch *scratch)
{
	bool known = scratch->members > 0;
	muster_emit_result(
		ctx, "node.scratch_raid", NULL, known ? 0 : -1, muster_string(scratch->raid), scratch->why_no_members);
	muster_emit_result(ctx, "node.scratch_members", known ? scratch->raid : "unknown", known ? 0 : -1,
		muster_number((double)scratch->members), scratch->why_no_members);
	muster_emit_result(ctx, "node.scratch_missing_members", NULL, known ? 0 : -1,
		muster_number((double)scratch->missing), scratch->why_no_members);
}

/* f_bavail is what others than root may use: a file system with 5 % kept for root is full when that is 0. */
static void measure_space(struct muster_probe_ctx *ctx, const struct muster_scratch *scratch)
{
	struct statvfs space;
	struct muster_error why;
	muster_step(ctx, "statvfs of %s", scratch->path);
	int result = statvfs(scratch->folder, &space) < 0
			     ? muster_fail(&why, MUSTER_EIO, "statvfs of %s: %s", scratch->path, strerror(errno))
			     : 0;
	if (result == 0 && space.f_blocks == 0)
		result = muster_fail(&why, MUSTER_ENOTSUPPORTED, "%s has no size", scratch->path);
	double unit = result < 0 ? 0 : (double)(space.f_frsize ? space.f_frsize : space.f_bsize) / 1e9;
	double size = result < 0 ? 0 : (double)space.f_blocks * unit,
	       left = result < 0 ? 0 : (double)space.f_bavail * unit;
	muster_emit_read(ctx, "node.scratch_size_gb", NULL, result, muster_number(size), &why);
	muster_emit_read(ctx, "node.scratch_free_gb", NULL, result, muster_number(left), &why);
	muster_emit_read(ctx, "node.scratch_free_share", NULL, result, muster_number(left / size), &why);
}

/* The scratch, as system/scratch.h chooses it. Without one every metric of this name is null with the reason: they are
 * found by the beginning of their name, so that no list has to be kept here. */
static void measure_scratch(struct muster_probe_ctx *ctx)
{
	static const char prefix[] = "node.scratch_";
	const struct muster_probe_env *env = muster_probe_env(ctx);
	struct muster_scratch scratch;
	struct muster_error why;
	muster_step(ctx, "look for the scratch");
	int result = muster_scratch_choose(env->root, env->storage_path, &scratch, &why);
	for (size_t i = 0; result < 0 && i < sizeof metrics / sizeof *metrics; i++)
		if (strncmp(metrics[i].name, prefix, strlen(prefix)) == 0)
			muster_emit_read(
				ctx, metrics[i].name, metrics[i].labels[0] ? "none" : NULL, -1, muster_null(), &why);
	if (result < 0)
		return;
	muster_emit_for(ctx, "node.scratch_path", NULL, muster_string(scratch.path));
	muster_emit_for(ctx, "node.scratch_filesystem", NULL, muster_string(scratch.filesystem));
	measure_volume(ctx, &scratch);
	muster_emit_for(ctx, "node.scratch_read_only", NULL, muster_boolean(scratch.read_only));
	measure_space(ctx, &scratch);
}

static int run(struct muster_probe_ctx *ctx, struct muster_error *err)
{
	(void)err;
	measure_nvme(ctx);
	measure_temp_disk(ctx);
	measure_scratch(ctx);
	return 0;
}

const struct muster_probe muster_probe_storage = {
	.name = "storage",
	.summary = "local disks of the node, and the file system on them",
	.scope = MUSTER_SCOPE_NODE,
	.deadline_ms = 5000,
	.order = 25,
	METRICS(metrics),
	.run = run,
};
