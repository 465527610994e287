/* SPDX-License-Identifier: Apache-2.0 */
/* test_storage.c - disks of nodes of our own making */
#include "check_main.h"
#include "probe_fake.h"

#include "system/sysfs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

extern const struct muster_probe muster_probe_storage;

#define LOCAL "Microsoft NVMe Direct Disk v2         "

static struct probe_fake *context;

static void setup(void)
{
	context = fake_new(&muster_probe_storage);
	fake_file(context, "/sys/block", NULL);
}

static void teardown(void)
{
	fake_free(context);
}

#define DISK(name, size, model) "/sys/block/" name "/size=" size " | /sys/block/" name "/device/model=" model " | "
#define OVER(name, transport) "/sys/block/" name "/device/transport=" transport " | "
#define LOCAL_DISK(name) DISK(name, "1875000000", LOCAL)
#define TEMPORARY(link, target) DISK("sdb", "5871093750", "Virtual Disk") link "->" target
#define AZURE "/dev/disk/azure/resource"
#define CLOUD "/dev/disk/cloud/azure_resource"
#define MOUNTS "/proc/self/mountinfo="
#define A63 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define NAMED(name) DISK(name, "1953125", "Virtual Disk") AZURE "->../../" name
#define NO_MODEL "-*/sys/block/nvme1n1/device/model*"
#define NO_BLOCK "-*/sys/block: No such file*"

static const struct fake_row rows[] = {
	{ "a node without NVMe has none", DISK("sda", "2048", "Virtual Disk"),
		"node.nvme_disks 0 | node.nvme_gb 0 | node.temp_disk_gb -there is no link /dev/disk/azure/resource or "
		"/dev/disk/cloud/azure_resource" },
	{ "local disks are counted and remote ones are not",
		DISK("nvme0n1", "62500000", "MSFT NVMe Accelerator v1.0              ") OVER("nvme0n1", "pcie")
			LOCAL_DISK("nvme1n1") OVER("nvme1n1", "pcie") DISK("nvme10n1", "1875000000",
				"Microsoft NVMe Direct Disk") DISK("nvme2n1", "3750000000", "A shelf in the next room")
				OVER("nvme2n1", "rdma") DISK("nvme3n1", "1875000000", "Amazon Elastic Block Store")
					OVER("nvme3n1", "pcie"),
		"node.nvme_disks 2 | node.nvme_gb 1920" },
	{ "a disk that the kernel has given up does not count",
		LOCAL_DISK("nvme0n1") "/sys/block/nvme0n1/device/state=live | " LOCAL_DISK(
			"nvme1n1") "/sys/block/nvme1n1/device/state=dead | " DISK("nvme2n1", "0", LOCAL)
			LOCAL_DISK("nvme3n1") "/sys/block/nvme3n1/device/state=deleting (no IO) | " LOCAL_DISK(
				"nvme4n1") "/sys/block/nvme4n1/device/state=resetting",
		"node.nvme_disks 2 | node.nvme_gb 1920" },
	{ "partitions and paths are no disks",
		LOCAL_DISK("nvme0n1p1") LOCAL_DISK("nvme0c0n1") LOCAL_DISK("nvme0") LOCAL_DISK("nvmen1")
			LOCAL_DISK("nvme0n") LOCAL_DISK("nvme-n1") LOCAL_DISK("nvm0n1") LOCAL_DISK("nvme0n1x")
				LOCAL_DISK("nvme0n1") LOCAL_DISK("nvme0n2"),
		"node.nvme_disks 2" },
	{ "a disk without a model leaves the count open", LOCAL_DISK("nvme0n1") "/sys/block/nvme1n1/size=1875000000",
		"node.nvme_disks " NO_MODEL " | node.nvme_gb " NO_MODEL },
	{ "a disk without a size leaves the total open", LOCAL_DISK("nvme0n1") DISK("nvme1n1", "-8", LOCAL),
		"node.nvme_disks 2 | node.nvme_gb -size of nvme1n1: not a count of sectors: \"-8\"" },
	{ "a node that does not show its disks is not one without any", "-/sys/block",
		"node.nvme_disks " NO_BLOCK " | node.nvme_gb " NO_BLOCK },

	{ "the temporary disk is where the link leads", TEMPORARY(AZURE, "../../sdb"), "node.temp_disk_gb 3006" },
	{ "the other link", TEMPORARY(CLOUD, "../../sdb"), "node.temp_disk_gb 3006" },
	/* only its name is taken: it is looked for in the root */
	{ "a whole path", TEMPORARY(AZURE, "/dev/sdb"), "node.temp_disk_gb 3006" },
	{ "a link to nothing", TEMPORARY(AZURE, "../../sdz"), "node.temp_disk_gb -*there is no device sdz in *" },
	{ "a link to a folder above", TEMPORARY(AZURE, "../../.."),
		"node.temp_disk_gb -*points to \"..\", which is not a disk*" },
	{ "a link that ends in a slash", TEMPORARY(AZURE, "../../"), "node.temp_disk_gb -*which is not a disk*" },
	{ "of two links to a temporary disk the first counts",
		DISK("sdc", "1953125", "Virtual Disk") AZURE "->../../sdc | " TEMPORARY(CLOUD, "../../sdb"),
		"node.temp_disk_gb 1" },
	{ "the name of a disk has at most 63 bytes", NAMED(A63), "node.temp_disk_gb 1" },
	{ "64 bytes are too many", NAMED(A63 "a"), "node.temp_disk_gb -*which is not a disk*" },

	/* its size and what is free are those of the machine that the test runs on */
	{ "the scratch is described",
		LOCAL_DISK("nvme0n1") "/sys/dev/block/259:3->../../block/nvme0n1 | /data/ | " MOUNTS
				      "31 22 259:3 / /data rw - xfs /dev/nvme0n1 ro,attr2",
		"node.scratch_path '/data | node.scratch_filesystem 'xfs | node.scratch_raid 'none | "
		"node.scratch_members raid=none 1 | node.scratch_missing_members 0 | node.scratch_read_only true | "
		"node.scratch_size_gb >0" },
	{ "a node without scratch says what was looked for", MOUNTS "22 1 8:1 / / rw - ext4 /dev/sda1 rw",
		"node.scratch_path -*no scratch: * | node.scratch_free_share -*no scratch: *" },
	{ "a given folder takes the place of the scratch",
		"storage_path=/shared/me | " MOUNTS "31 22 0:44 / /shared rw - nfs4 server:/export rw",
		"node.scratch_path '/shared/me | node.scratch_filesystem 'nfs4 | "
		"node.scratch_raid -nfs4 is on no disk of this node | node.scratch_size_gb -*No such file*" },
};

TEST_EACH(disks_are_read_from_the_root, rows)
{
	fake_case(context, &rows[_i]);
	fake_complete(context, NULL);
	const struct muster_sample *size = fake_sample(context, "node.scratch_size_gb", NULL, NULL);
	if (size->value.type == MUSTER_NULL)
		return;
	double left = fake_number(context, "node.scratch_free_gb", NULL);
	ck_assert_double_le(left, size->value.number);
	ck_assert_double_eq_tol(fake_number(context, "node.scratch_free_share", NULL), left / size->value.number, 1e-9);
}

/* A file of the node's own beside the root, or a neighbour whose name begins as the root's. */
TEST_LOOP(links_out_of_the_root_are_not_followed, 0, 2)
{
	char *outside = _i ? muster_asprintf("%s-beside", context->root)
			   : muster_asprintf("/tmp/muster-outside-%d", (int)getpid());
	FILE *out = fopen(outside, "we");
	ck_assert_ptr_nonnull(out);
	fputs("8000000000\n", out);
	fclose(out);
	fake_given(context,
		muster_arena_printf(context->arena,
			"/sys/devices/pci/nvme0n1/device/model=" LOCAL " | /sys/devices/pci/nvme0n1/size->%s | "
			"/sys/block/nvme0n1->../devices/pci/nvme0n1",
			outside));
	fake_run(context);
	fake_complete(context, NULL);
	ck_assert_int_eq(remove(outside), 0);
	free(outside);
	fake_expect(context, "node.nvme_disks 1 | node.nvme_gb -*/sys/block/nvme0n1/size points outside the root*",
		"a link out of the root");
}

static const struct {
	const char *text;
	double gb; /* negative: an error */
} sizes[] = {
	{ "0", 0 },
	{ "1953125", 1 },
	{ "0001953125", 1 },
	{ "36028797018963967", 18446744073.709551 }, /* just below 2^64 bytes */
	{ "36028797018963968", -1 },
	{ "99999999999999999999999", -1 },
	{ "", -1 },
	{ "-1", -1 },
	{ "+1", -1 },
	{ " 1", -1 },
	{ "1 ", -1 },
	{ "1.5", -1 },
	{ "0x10", -1 },
};

TEST_EACH(a_size_is_a_count_of_sectors_and_nothing_else, sizes)
{
	struct muster_error err;
	double gb = -1;
	size_t length = strlen(sizes[_i].text);
	char *text = muster_realloc(NULL, length + 1, 1); /* just its size, for the sanitizer to watch */
	memcpy(text + 1, sizes[_i].text, length);
	int result = muster_sectors_gb(text + 1, length, &gb, &err);
	free(text);
	ck_assert_int_eq(result, sizes[_i].gb < 0 ? -1 : 0);
	ck_assert_double_eq_tol(gb, sizes[_i].gb, 1e-6);
}

TEST(each_step_is_named)
{
	char *steps = muster_asprintf(
		"list %s/sys/block\nlook for the temporary disk\nlook for the scratch\n", context->root);
	fake_run(context);
	ck_assert_str_eq(context->steps, steps);
	free(steps);
}

TEST_MAIN(.setup = setup, .teardown = teardown)
