/* SPDX-License-Identifier: Apache-2.0 */
/* test_installed.c - what an update can change without a version, from a root of our own making */
#include "check_main.h"
#include "probe_fake.h"

extern const struct muster_probe muster_probe_installed;

static struct probe_fake *context;

static void setup(void)
{
	context = fake_new(&muster_probe_installed);
}

static void teardown(void)
{
	fake_free(context);
}

static const struct fake_row rows[] = {
	{ "a host without any of it", NULL,
		"node.driver_parameter #0 | node.package #0 | node.module name=nvidia_uvm 'not loaded | "
		"node.module name=gdrdrv 'not loaded | node.kernel_command_line -*No such file* | "
		"node.kernel_setting name=kernel.numa_balancing -*No such file* | "
		"node.file_content name=/etc/nccl.conf 'no file" },
	{ "parameters, one by one", "/proc/driver/nvidia/params=EnableGpuFirmware: 18\nRegistryDwords: \"\"\n:\nnone",
		"node.driver_parameter #2 | node.driver_parameter name=EnableGpuFirmware '18 | "
		"node.driver_parameter name=RegistryDwords '\"\"" },
	{ "modules with a version and without",
		"/sys/module/nvidia_uvm/version=580.126.16 | /sys/module/mlx5_ib/refcnt=3",
		"node.module name=nvidia_uvm '580.126.16 | node.module name=mlx5_ib 'loaded" },
	{ "the kernel", "/proc/cmdline=root=UUID=7 iommu=pt | /proc/sys/kernel/numa_balancing=1",
		"node.kernel_command_line 'root=UUID=7 iommu=pt | node.kernel_setting name=kernel.numa_balancing '1" },
	{ "a configuration file", "/etc/nccl.conf=NCCL_DEBUG=INFO",
		"node.file_content name=/etc/nccl.conf '16 bytes, 927592d00b97492e" },
	{ "a configuration file that cannot be looked at", "/etc/nccl.conf->nccl.conf",
		"node.file_content name=/etc/nccl.conf !*Too many levels of symbolic links*" },
	{ "packages: of those that are installed, the services of GPUs and networks",
		"/var/lib/dpkg/status="
		"Package: nvidia-fabricmanager-570\nStatus: install ok installed\nVersion: 570.124.06-1\n\n"
		"Package: datacenter-gpu-manager-4-core\nStatus: install ok installed\nArchitecture: amd64\n"
		"Version: 1:4.2.3-1\nDescription: Version: 9\n Package: rdma-core\n\n"
		"Package: nvidia-imex-570\nStatus: deinstall ok config-files\nVersion: 570.124.06-1\n\n"
		"Package: bash\nStatus: install ok installed\nVersion: 5.1-6ubuntu1.1\n",
		"node.package #2 | node.package name=nvidia-fabricmanager-570 '570.124.06-1 | "
		"node.package name=datacenter-gpu-manager-4-core '1:4.2.3-1" },
};

TEST_EACH(files_tell_what_is_installed, rows)
{
	static const char *const only_when_set[] = { "node.driver_parameter", "node.package", NULL };
	fake_case(context, &rows[_i]);
	fake_complete(context, only_when_set);
	fake_expect(context, "steps 'read files of the kernel; read configuration files", rows[_i].name);
}

TEST_MAIN(.setup = setup, .teardown = teardown)
