/* storage.c - the node's local NVMe disks and its temporary disk
 *
 * Local is what is lost with the virtual machine. Clouds show their network disks as NVMe too: those do not count.
 */
#include "system/sysfs.h"
#include "util/text.h"
#include "probes/metrics.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct muster_metric metrics[] = {
	NODE_METRIC("node.nvme_disks", MUSTER_NUMBER, "", "local NVMe disks"),
	NODE_METRIC("node.nvme_gb", MUSTER_NUMBER, "GB", "size of all local NVMe disks together; 1 GB is 10^9 bytes"),
	NODE_METRIC("node.temp_disk_gb", MUSTER_NUMBER, "GB",
		"size of the cloud's temporary disk; null when there is none"),
};

/* Parts of the model of NVMe disks that are at the other end of a network. */
static const char *const remote_models[] = {
	"MSFT NVMe Accelerator",                      /* Azure's managed disks */
	"Amazon Elastic Block Store", "nvme_card-pd", /* Google's persistent disks; the local ones are "nvme_card" */
};

/* A link in a root that was copied or mounted must not lead out of it, to the machine that muster runs on. */
static int stay_inside(struct muster_probe_ctx *ctx, const char *path, struct muster_error *err)
{
	char root[PATH_MAX], real[PATH_MAX];
	if (!*muster_probe_env(ctx)->root)
		return 0;
	if (!realpath(muster_probe_env(ctx)->root, root) || !realpath(path, real))
		return muster_fail(err, MUSTER_EIO, "%s: %s", path, strerror(errno));
	size_t length = strlen(root);
	if (strncmp(real, root, length) != 0 || real[length] != '/')
		return muster_fail(err, MUSTER_EIO, "%s points outside the root", path);
	return 0;
}

/* A file of /sys/block/<disk>. */
static int read_fact(struct muster_probe_ctx *ctx, const char *disk, const char *file, char *ret, size_t size,
	struct muster_error *err)
{
	char path[PATH_MAX];
	muster_root_path(ctx, path, sizeof path, "/sys/block/%s/%s", disk, file);
	return stay_inside(ctx, path, err) < 0 ? -1 : muster_read_line(path, ret, size, err);
}

static int read_gb(struct muster_probe_ctx *ctx, const char *disk, double *ret, struct muster_error *err)
{
	char text[64];
	if (read_fact(ctx, disk, "size", text, sizeof text, err) < 0)
		return -1;
	if (muster_sectors_gb(text, strlen(text), ret, err) < 0)
		return muster_wrap(err, "size of %s", disk);
	return 0;
}

/* nvme0n1, but neither nvme0n1p1 nor nvme0c1n1, which is one of the paths to nvme0n1. */
static bool is_nvme_disk(const char *name)
{
	int used = 0;
	return sscanf(name, "nvme%*[0-9]n%*[0-9]%n", &used) == 0 && used > 0 && !name[used];
}

/* -1 with err when that is not known. */
static int find_out_local(struct muster_probe_ctx *ctx, const char *disk, bool *ret, struct muster_error *err)
{
	char model[256], transport[64];
	if (read_fact(ctx, disk, "device/model", model, sizeof model, err) < 0)
		return -1;
	bool local = true;
	for (size_t i = 0; i < sizeof remote_models / sizeof *remote_models; i++)
		local = local && !strstr(model, remote_models[i]);
	/* disks with several paths have it elsewhere */
	if (read_fact(ctx, disk, "device/transport", transport, sizeof transport, NULL) == 0)
		local = local && strcmp(transport, "pcie") == 0;
	*ret = local;
	return 0;
}

static void measure_nvme(struct muster_probe_ctx *ctx)
{
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
		if (is_nvme_disk(disks.items[i]))
			result = find_out_local(ctx, disks.items[i], &local, &why);
		if (local && read_gb(ctx, disks.items[i], &gb, &no_size) < 0)
			sized = -1;
		count += local;
		total += gb;
	}
	muster_names_done(&disks);
	muster_emit_result(ctx, "node.nvme_disks", NULL, result, muster_number((double)count), why.text);
	if (result == 0 && sized < 0)
		why = no_size;
	muster_emit_result(ctx, "node.nvme_gb", NULL, result < 0 ? result : sized, muster_number(total), why.text);
}

/* The block device that the distribution's rules call the temporary one. The link is read and not followed: its last
 * part is the device's name in sysfs. */
static int find_temp_disk(struct muster_probe_ctx *ctx, char *ret, size_t size, struct muster_error *err)
{
	static const char *const links[] = { "/dev/disk/azure/resource", "/dev/disk/cloud/azure_resource" };
	char path[PATH_MAX], target[PATH_MAX];
	for (size_t i = 0; i < sizeof links / sizeof *links; i++) {
		muster_root_path(ctx, path, sizeof path, "%s", links[i]);
		ssize_t length = readlink(path, target, sizeof target - 1);
		if (length < 0)
			continue;
		target[length] = '\0';
		const char *slash = strrchr(target, '/'), *name = slash ? slash + 1 : target;
		if (!*name || strlen(name) >= size ||
			name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789")] != '\0')
			return muster_fail(
				err, MUSTER_EIO, "%s points to \"%.60s\", which is not a disk", links[i], target);
		memcpy(ret, name, strlen(name) + 1);
		return 0;
	}
	return muster_fail(err, MUSTER_ENOTSUPPORTED, "there is no link %s or %s", links[0], links[1]);
}

static void measure_temp_disk(struct muster_probe_ctx *ctx)
{
	struct muster_error why;
	char disk[64];
	double gb = 0;
	muster_step(ctx, "look for the temporary disk");
	int result = find_temp_disk(ctx, disk, sizeof disk, &why);
	if (result == 0)
		result = read_gb(ctx, disk, &gb, &why);
	muster_emit_result(ctx, "node.temp_disk_gb", NULL, result, muster_number(gb), why.text);
}

static int run(struct muster_probe_ctx *ctx, struct muster_error *err)
{
	(void)err;
	measure_nvme(ctx);
	measure_temp_disk(ctx);
	return 0;
}

const struct muster_probe muster_probe_storage = {
	.name = "storage",
	.summary = "local NVMe disks and the temporary disk of the node",
	.scope = MUSTER_SCOPE_NODE,
	.deadline_ms = 5000,
	.order = 25,
	.metrics = metrics,
	.metric_count = sizeof metrics / sizeof *metrics,
	.run = run,
};
