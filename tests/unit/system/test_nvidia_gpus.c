/* SPDX-License-Identifier: Apache-2.0 */
/* test_nvidia_gpus.c - which GPUs the bus of a small tree has, and which of them a process there may use */
#include "check_main.h"
#include "unit/system/tree.h"
#include "system/nvidia_gpus.h"
#include "muster/arena.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BUS_ID "0001:00:00.0"

static struct muster_nvidia_gpus gpus;

static void teardown(void)
{
	muster_nvidia_gpus_done(&gpus);
	tree_remove();
}

static void put_device(const char *bus_id, const char *vendor, const char *class_code)
{
	char path[256];
	snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/vendor", bus_id);
	put(path, vendor);
	snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/class", bus_id);
	put(path, class_code);
}

static void put_driver(const char *bus_id, const char *driver)
{
	char path[256], target[256];
	snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/driver", bus_id);
	snprintf(target, sizeof target, "../../../../bus/pci/drivers/%s", driver);
	put_link(path, target);
}

static void list(void)
{
	struct muster_error err;
	muster_nvidia_gpus_done(&gpus);
	ck_assert_msg(muster_nvidia_gpus_list(root, &gpus, &err) == 0, "%s", err.text);
}

static const struct {
	const char *vendor, *class_code;
	bool gpu;
} devices[] = {
	{ "0x10de\n", "0x030200\n", true },
	{ "0x10de\n", "0x030000\n", true },
	{ "0x10de\n", "0x030100\n", false },
	{ "0x10de\n", "0x040300\n", false }, /* its audio function */
	{ "0x10de\n", "0x068000\n", false }, /* an NVSwitch */
	{ "0x1002\n", "0x030200\n", false },
	{ "0x10de\n", "display\n", false },
	{ "nvidia\n", "0x030200\n", false },
};

TEST_EACH(a_gpu_is_a_display_controller_of_nvidia, devices)
{
	put_device(BUS_ID, devices[_i].vendor, devices[_i].class_code);
	list();
	ck_assert_uint_eq(gpus.count, devices[_i].gpu);
}

TEST(a_virtual_function_is_no_gpu_of_its_own)
{
	put_device("0000:41:00.0", "0x10de\n", "0x030200\n");
	put_device("0000:41:00.4", "0x10de\n", "0x030200\n");
	put("/sys/bus/pci/devices/0000:41:00.4/physfn/vendor", "0x10de\n");
	list();
	ck_assert_uint_eq(gpus.count, 1);
	ck_assert_str_eq(gpus.items[0].bus_id, "0000:41:00.0");
}

TEST(a_node_without_a_pci_bus_has_none)
{
	list();
	ck_assert_uint_eq(gpus.count, 0);
	ck_assert_ptr_null(muster_nvidia_gpus_find(&gpus, BUS_ID));
}

TEST(a_directory_that_cannot_be_read_is_an_error)
{
	struct muster_error err;
	put("/sys/bus/pci/devices", "no directory");
	ck_assert_int_eq(muster_nvidia_gpus_list(root, &gpus, &err), -1);
	ck_assert_ptr_nonnull(strstr(err.text, "/sys/bus/pci/devices: "));
}

/* What the kernel shows of a GPU, and what follows. NULL: there is no such file. */
static const struct {
	const char *driver, *information, *node;
	enum muster_nvidia_access access;
	int minor;
	const char *why;
} rows[] = {
	{ "nvidia", "Model: \t\t NVIDIA H200\nDevice Minor: \t 3\nGPU Excluded:\t No\n", "/dev/nvidia3",
		MUSTER_NVIDIA_OURS, 3, "" },
	/* drivers before R470 have no line about exclusion */
	{ "nvidia", "Device Minor: \t 12\n", "/dev/nvidia12", MUSTER_NVIDIA_OURS, 12, "" },
	{ "nvidia", "Device Minor: \t 3\n", "/dev/nvidia30", MUSTER_NVIDIA_OURS, 3,
		"/dev/nvidia3: No such file or directory" },
	{ "nvidia", NULL, "/dev/nvidia0", MUSTER_NVIDIA_HIDDEN, -1,
		"/proc/driver/nvidia/gpus/" BUS_ID "/information cannot be read" },
	{ "nvidia", "Model: \t\t NVIDIA H200\n", "/dev/nvidia0", MUSTER_NVIDIA_HIDDEN, -1,
		"/proc/driver/nvidia/gpus/" BUS_ID "/information cannot be read" },
	{ "nvidia", "Device Minor: \t -1\n", "/dev/nvidia0", MUSTER_NVIDIA_HIDDEN, -1,
		"/proc/driver/nvidia/gpus/" BUS_ID "/information cannot be read" },
	{ "nvidia", "Device Minor: \t 3\nGPU Excluded:\t Yes\n", "/dev/nvidia3", MUSTER_NVIDIA_SET_ASIDE, 3,
		"the NVIDIA driver excludes it (NVreg_ExcludedGpus)" },
	{ NULL, NULL, NULL, MUSTER_NVIDIA_OURS, -1, "no driver is bound" },
	{ "nouveau", NULL, NULL, MUSTER_NVIDIA_OURS, -1, "driver nouveau is bound, not nvidia" },
	{ "vfio-pci", NULL, NULL, MUSTER_NVIDIA_SET_ASIDE, -1, "driver vfio-pci holds it for a virtual machine" },
	{ "nvgrace_gpu_vfio_pci", NULL, NULL, MUSTER_NVIDIA_SET_ASIDE, -1,
		"driver nvgrace_gpu_vfio_pci holds it for a virtual machine" },
	{ "pci-stub", NULL, NULL, MUSTER_NVIDIA_SET_ASIDE, -1, "driver pci-stub holds it for a virtual machine" },
};

TEST_EACH(driver_and_device_node_say_whether_a_process_may_use_a_gpu, rows)
{
	put_device(BUS_ID, "0x10de\n", "0x030200\n");
	if (rows[_i].driver)
		put_driver(BUS_ID, rows[_i].driver);
	if (rows[_i].information)
		put("/proc/driver/nvidia/gpus/" BUS_ID "/information", rows[_i].information);
	if (rows[_i].node)
		put(rows[_i].node, "");
	list();
	const struct muster_nvidia_gpu *gpu = muster_nvidia_gpus_find(&gpus, BUS_ID);
	ck_assert_ptr_nonnull(gpu);
	ck_assert_str_eq(gpu->driver, rows[_i].driver ? rows[_i].driver : "");
	ck_assert_int_eq(gpu->access, rows[_i].access);
	ck_assert_int_eq(gpu->minor, rows[_i].minor);
	if (*rows[_i].why == '/') /* the root stands in front of a path */
		ck_assert_ptr_nonnull(strstr(gpu->why, rows[_i].why));
	else
		ck_assert_str_eq(gpu->why, rows[_i].why);
}

TEST(a_node_that_may_not_be_opened_hides_a_gpu)
{
	char path[256];
	put_device(BUS_ID, "0x10de\n", "0x030200\n");
	put_driver(BUS_ID, "nvidia");
	put("/proc/driver/nvidia/gpus/" BUS_ID "/information", "Device Minor: \t 0\n");
	put("/dev/nvidia0", "");
	snprintf(path, sizeof path, "%s/dev/nvidia0", root);
	ck_assert_int_eq(chmod(path, 0444), 0);
	ck_assert_int_eq(chmod(root, 0755), 0);
	bool privileged = getuid() == 0;
	if (privileged) /* to whom all files are open */
		ck_assert_int_eq(setresuid(65534, 65534, 0), 0);
	list();
	if (privileged)
		ck_assert_int_eq(setresuid(0, 0, 0), 0);
	ck_assert_int_eq(gpus.items[0].access, MUSTER_NVIDIA_HIDDEN);
	ck_assert_str_eq(gpus.items[0].why, "/dev/nvidia0: Permission denied");
}

TEST(gpus_are_in_order_of_their_bus_ids)
{
	put_device("0000:9a:00.0", "0x10de\n", "0x030200\n");
	put_device("0000:1a:00.0", "0x10de\n", "0x030200\n");
	put_device("10000:01:00.0", "0x10de\n", "0x030200\n");
	list();
	ck_assert_uint_eq(gpus.count, 3);
	ck_assert_str_eq(gpus.items[0].bus_id, "0000:1a:00.0");
	ck_assert_str_eq(gpus.items[1].bus_id, "0000:9a:00.0");
	ck_assert_str_eq(gpus.items[2].bus_id, "10000:01:00.0");
}

TEST_MAIN(.setup = tree_make, .teardown = teardown)
