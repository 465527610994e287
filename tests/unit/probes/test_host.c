/* SPDX-License-Identifier: Apache-2.0 */
/* test_host.c - settings of a kernel, from a root of our own making */
#include "check_main.h"
#include "probe_fake.h"

#include "system/mounts.h"
#include "vendor_fakes.h"

#include <stdlib.h>

extern const struct muster_probe muster_probe_host;

#define SHM "27 22 0:24 / /dev/shm rw,nosuid shared:4 - tmpfs tmpfs rw"
#define LIMIT(soft) "Max locked memory         " soft "              unlimited            bytes"

static struct probe_fake *context;
static struct {
	CUresult result;
	int dma_buf;
} script;

static CUresult give_attribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
	ck_assert_int_eq((int)attribute, CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED);
	ck_assert_int_eq(device, 0);
	*value = script.dma_buf;
	return script.result;
}

static const struct fake_knob knobs[] = { FAKE_KNOB("result", script.result), FAKE_KNOB("dma_buf", script.dma_buf),
	FAKE_KNOB("cuda_missing", cuda_missing), { .name = NULL } };

static void setup(void)
{
	context = fake_new(&muster_probe_host);
	context->knobs = knobs;
	fake_gpu(context, "0001:00:00.0", "GPU-1");
	scripted_cuda.cuDeviceGetAttribute = give_attribute;
	fake_given(context,
		"cuda_device=0 | cuda_missing=0 | result=0 | dma_buf=1 | /proc/meminfo=MemTotal:       104857600 kB | "
		"/proc/self/limits=Limit                     Soft Limit           Hard Limit           Units\n" LIMIT(
			"8388608") " | /proc/self/mountinfo=22 1 8:1 / / rw - ext4 /dev/sda1 rw\n" SHM ",inode64 | "
				   "/proc/loadavg=12.50 8.01 4.00 3/1810 4711 | "
				   /* of this process, not of the other root */
				   "APPTAINER_CONTAINER=1");
}

static void teardown(void)
{
	fake_free(context);
}

#define LIMITED(soft) "/proc/self/limits=" LIMIT(soft)
#define MOUNTED "/proc/self/mountinfo="
#define NO_SHM "node.shm_mib -*nothing is mounted on /dev/shm*"
#define PAGES "/sys/kernel/mm/hugepages/hugepages-"
#define CPUFREQ "/sys/devices/system/cpu/cpufreq/"
#define POLICY(number, governor)                                                                                       \
	CPUFREQ "policy" number "/scaling_governor=" governor " | " CPUFREQ "policy" number                            \
		"/scaling_driver=acpi-cpufreq | "
#define GPU_AT(bus_id)                                                                                                 \
	"/sys/bus/pci/devices/" bus_id "/vendor=0x10de | /sys/bus/pci/devices/" bus_id "/class=0x030200 | "
#define IOMMU(first, second)                                                                                           \
	GPU_AT("0001:00:00.0")                                                                                         \
	GPU_AT("0002:00:00.0")                                                                                         \
	"/sys/bus/pci/devices/0001:00:00.0/iommu_group/type=" first                                                    \
	" | /sys/bus/pci/devices/0002:00:00.0/iommu_group/type=" second
#define BRIDGE "/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0"
/* Of the two adapters, rxe0 is one of software: it has no device. */
#define ADAPTERS                                                                                                       \
	GPU_AT("0001:00:00.0")                                                                                         \
	BRIDGE "/0000:02:00.0/vendor=0x15b3 | /sys/class/infiniband/rxe0/node_type=1: CA | "                           \
	       "/sys/class/infiniband/mlx5_0/node_type=1: CA | "                                                       \
	       "/sys/class/infiniband/mlx5_0/device->../../../devices/pci0000:00/0000:00:01.0/0000:01:00.0/"           \
	       "0000:02:00.0 | "

static const struct fake_row rows[] = {
	{ "a plain kernel has a value for everything", NULL,
		"node.memlock_mib 8 | node.shm_mib 51200 | node.load_average 12.5 | node.hugepages 'none | "
		"node.transparent_hugepages 'none | node.cpu_governor 'none | node.acs_enabled 'none | "
		"node.ofed_version 'none | node.container 'none | node.gdr_path 'dma-buf | "
		"node.iommu -*shows no NVIDIA GPU*" },
	{ "two days since boot", "/proc/uptime=172800.00 9.00", "node.up_hours 48" },
	{ "a load that is no number is null", "/proc/loadavg=high", "node.load_average -*is no load average*" },

	{ "locked memory: the whole memory", LIMITED("unlimited"), "node.memlock_mib 102400" },
	{ "locked memory: a number", LIMITED("65536"), "node.memlock_mib 0.0625" },
	{ "locked memory: none", LIMITED("0"), "node.memlock_mib 0" },
	{ "locked memory: a word", LIMITED("much"), "node.memlock_mib -*not a limit*" },
	{ "locked memory: below zero", LIMITED("-5"), "node.memlock_mib -*not a limit*" },
	{ "locked memory: junk", LIMITED("12x"), "node.memlock_mib -*not a limit*" },

	{ "shared memory: a size", MOUNTED SHM ",size=65536k", "node.shm_mib 64" },
	{ "shared memory: an option behind", MOUNTED SHM ",size=65536k,inode64", "node.shm_mib 64" },
	{ "shared memory: no limit", MOUNTED SHM ",size=0k", "node.shm_mib 102400" },
	{ "shared memory: the last mount is on top", MOUNTED SHM ",nr_inodes=5\n" SHM ",size=1024k", "node.shm_mib 1" },
	{ "shared memory: a word", MOUNTED SHM ",size=lots", "node.shm_mib -*not in KiB*" },
	{ "shared memory: another unit", MOUNTED SHM ",size=12m", "node.shm_mib -*not in KiB*" },
	{ "shared memory: below it", MOUNTED "27 22 0:24 / /dev/shm/more rw - tmpfs tmpfs rw,size=1024k", NO_SHM },
	{ "shared memory: another file system", MOUNTED "27 22 0:24 / /dev/shm rw - ext4 /dev/sda1 rw",
		"node.shm_mib -*/dev/shm is a ext4, not a tmpfs*" },
	{ "shared memory: half a line", MOUNTED "27 22 0:24 / /dev/shm", NO_SHM },
	{ "shared memory: no mount", MOUNTED, NO_SHM },

	{ "huge pages have sizes and a setting",
		PAGES "2048kB/nr_hugepages=1024 | " PAGES "1048576kB/nr_hugepages=2 | " PAGES "64kB/nr_hugepages=0 | "
		      "/sys/kernel/mm/transparent_hugepage/enabled=always [madvise] never",
		"node.hugepages '2048 kB x 1024, 1048576 kB x 2 | node.transparent_hugepages 'madvise" },
	{ "no setting of huge pages is chosen", "/sys/kernel/mm/transparent_hugepage/enabled=always",
		"node.transparent_hugepages -*names no setting*" },
	{ "one governor", CPUFREQ "ondemand/rate=1 | " POLICY("0", "performance") POLICY("1", "performance"),
		"node.cpu_governor 'acpi-cpufreq: performance" },
	{ "second threads that are switched off have no governor",
		POLICY("0", "performance") CPUFREQ "policy1/ | /sys/devices/system/cpu/cpu1/online=0",
		"node.cpu_governor 'acpi-cpufreq: performance" },
	{ "one that cannot be read",
		POLICY("0", "performance") CPUFREQ "policy1/ | /sys/devices/system/cpu/cpu1/online=1",
		"node.cpu_governor -*policy1/scaling_governor*" },
	{ "governors are counted where they differ",
		POLICY("0", "performance") POLICY("1", "performance") POLICY("2", "powersave"),
		"node.cpu_governor 'acpi-cpufreq: performance 2, powersave 1" },

	{ "no IOMMU", GPU_AT("0001:00:00.0") GPU_AT("0002:00:00.0"), "node.iommu 'off" },
	{ "an IOMMU that translates nothing", IOMMU("identity", "identity"), "node.iommu 'passthrough" },
	{ "an IOMMU that translates", IOMMU("DMA-FQ", "DMA"), "node.iommu 'translated" },
	{ "GPUs that differ", IOMMU("DMA", "identity"), "node.iommu 'translated and passthrough" },
	{ "but for the GPU of a virtual machine",
		IOMMU("DMA", "identity") " | /sys/bus/pci/devices/0001:00:00.0/driver->vfio-pci",
		"node.iommu 'passthrough" },
	{ "an IOMMU without a type", GPU_AT("0001:00:00.0") "/sys/bus/pci/devices/0001:00:00.0/iommu_group/",
		"node.iommu !*iommu_group/type*" },
	{ "ACS is read above GPUs and adapters", ADAPTERS, "node.acs_enabled -*PCI bridge 0000:01:00.0: *" },
	{ "ACS needs root", ADAPTERS BRIDGE "/config=64 bytes for those who are not root!!!",
		"node.acs_enabled -*only root can read*" },

	{ "dma-buf", "dma_buf=1", "node.gdr_path 'dma-buf" },
	{ "no path", "dma_buf=0", "node.gdr_path 'none" },
	{ "a module", "dma_buf=0 | /sys/module/nvidia_peermem/refcnt=0", "node.gdr_path 'peermem" },
	{ "the older module", "/sys/module/nv_peer_mem/refcnt=0", "node.gdr_path 'dma-buf and peermem" },
	{ "a driver that does not know dma-buf", "result=1", "node.gdr_path 'none" },
	{ "a driver that fails", "result=999 | dma_buf=0", "node.gdr_path -cuDeviceGetAttribute: result 999" },
	{ "without a GPU the path is not known", "cuda_device=-1", "node.gdr_path -*no GPU*" },
	{ "without CUDA the path is not known", "cuda_missing=1", "node.gdr_path -*libcuda.so.1*" },
	{ "the kernel's own module", "/sys/module/mlx5_core/refcnt=1", "node.ofed_version 'inbox" },
	{ "the module of a package", "/sys/module/mlx5_core/refcnt=1 | /sys/module/mlx5_core/version=24.10-1.1.4",
		"node.ofed_version '24.10-1.1.4" },

	{ "docker", "/.dockerenv=", "node.container 'docker" },
	{ "podman", "/run/.containerenv=", "node.container 'podman" },
	{ "apptainer", "/.singularity.d/runscript=", "node.container 'apptainer" },
	{ "a container of systemd", "/run/systemd/container=lxc", "node.container 'lxc" },
	{ "no name", "/run/systemd/container=", "node.container 'none" },
	{ "a root of enroot", MOUNTED "22 1 8:1 /var/lib/enroot/data/pytorch / rw - xfs /dev/sda1 rw",
		"node.container 'enroot" },
	{ "a layer of enroot", MOUNTED "22 1 0:40 / / rw - overlay overlay rw,lowerdir=/run/enroot/1000/a",
		"node.container 'enroot" },
	{ "enroot's data elsewhere", MOUNTED "22 1 8:1 / /srv/enroot rw - xfs /dev/sda1 rw", "node.container 'none" },
};

TEST_EACH(files_of_the_kernel_tell_its_settings, rows)
{
	fake_case(context, &rows[_i]);
	fake_complete(context, NULL);
	fake_expect(context, "steps 'read files of the kernel; cuDeviceGetAttribute", rows[_i].name);
}

TEST(variables_tell_of_the_own_root)
{
	static const char *const variables[][2] = { { "KUBERNETES_SERVICE_HOST", "kubernetes" },
		{ "SINGULARITY_CONTAINER", "apptainer" }, { "APPTAINER_CONTAINER", "apptainer" } };
	char name[64];
	for (int i = 0; i < LENGTH(variables); i++)
		unsetenv(variables[i][0]);
	for (int i = 0; i < LENGTH(variables); i++) {
		setenv(variables[i][0], "1", 1);
		ck_assert_str_eq(muster_container_name("", name, sizeof name), variables[i][1]);
	}
}

TEST_MAIN(.setup = setup, .teardown = teardown)
