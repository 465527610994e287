/* test_host.c - settings of a kernel, from a root of our own making */
#include "check_main.h"
#include "probe_fake.h"

#include "system/container.h"
#include "vendor_fakes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

extern const struct muster_probe muster_probe_host;

#define SHM "27 22 0:24 / /dev/shm rw,nosuid shared:4 - tmpfs tmpfs rw"
#define LIMIT "Max locked memory         %-20s unlimited            bytes\n"

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

static void setup(void)
{
	context = fake_new(&muster_probe_host);
	fake_gpu(context, "0001:00:00.0", "GPU-1");
	context->gpu.cuda_device = 0;
	cuda_missing = false;
	script.result = CUDA_SUCCESS;
	script.dma_buf = 1;
	scripted_cuda.cuDeviceGetAttribute = give_attribute;
	fake_file(context, "/proc/meminfo", "MemTotal:       104857600 kB\n");
	fake_file(context, "/proc/self/limits",
		"Limit                     Soft Limit           Hard Limit           Units\n"
		"Max locked memory         8388608              unlimited            bytes\n");
	fake_file(context, "/proc/self/mountinfo", "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n" SHM ",inode64\n");
	fake_file(context, "/proc/loadavg", "12.50 8.01 4.00 3/1810 4711\n");
}

static void teardown(void)
{
	fake_free(context);
}

static void measure(void)
{
	struct muster_error err;
	fake_forget(context);
	ck_assert_msg(muster_probe_host.run(&context->ctx, &err) == 0, "%s", err.text);
	fake_complete(context, NULL);
	ck_assert_str_eq(context->steps, "read files of the kernel\ncuDeviceGetAttribute\n");
}

TEST(a_plain_kernel_has_a_value_for_everything)
{
	measure();
	ck_assert_double_eq(fake_number(context, "node.memlock_mib", NULL), 8);
	ck_assert_double_eq(fake_number(context, "node.shm_mib", NULL), 51200);
	ck_assert_double_eq(fake_number(context, "node.load_average", NULL), 12.5);
	ck_assert_str_eq(fake_string(context, "node.hugepages", NULL), "none");
	ck_assert_str_eq(fake_string(context, "node.transparent_hugepages", NULL), "none");
	ck_assert_str_eq(fake_string(context, "node.cpu_governor", NULL), "none");
	ck_assert_str_eq(fake_string(context, "node.acs_enabled", NULL), "none");
	ck_assert_str_eq(fake_string(context, "node.ofed_version", NULL), "none");
	ck_assert_str_eq(fake_string(context, "node.container", NULL), "none");
	ck_assert_str_eq(fake_string(context, "node.gdr_path", NULL), "dma-buf");
	ck_assert_ptr_nonnull(strstr(fake_reason(context, "node.iommu", NULL), "shows no NVIDIA GPU"));
}

static const struct {
	const char *soft;
	double mib; /* -1: null */
} limits[] = {
	{ "unlimited", 102400 },
	{ "65536", 0.0625 },
	{ "0", 0 },
	{ "much", -1 },
	{ "-5", -1 },
	{ "12x", -1 },
};

TEST_EACH(a_limit_of_locked_memory_is_a_number_or_the_whole_memory, limits)
{
	char text[128];
	snprintf(text, sizeof text, LIMIT, limits[_i].soft);
	fake_file(context, "/proc/self/limits", text);
	measure();
	if (limits[_i].mib >= 0)
		ck_assert_double_eq(fake_number(context, "node.memlock_mib", NULL), limits[_i].mib);
	else
		ck_assert_ptr_nonnull(strstr(fake_reason(context, "node.memlock_mib", NULL), "not a limit"));
}

static const struct {
	const char *mounts;
	double mib;
	const char *why;
} mounts[] = {
	{ SHM ",size=65536k\n", 64, NULL },
	{ SHM ",size=65536k,inode64\n", 64, NULL },
	{ SHM ",size=0k\n", 102400, NULL },
	{ SHM ",nr_inodes=5\n" SHM ",size=1024k\n", 1, NULL }, /* the last one is on top */
	{ SHM ",size=lots\n", 0, "not in KiB" },
	{ SHM ",size=12m\n", 0, "not in KiB" },
	{ "27 22 0:24 / /dev/shm/more rw - tmpfs tmpfs rw,size=1024k\n", 0, "nothing is mounted on /dev/shm" },
	{ "27 22 0:24 / /dev/shm rw - ext4 /dev/sda1 rw\n", 0, "/dev/shm is a ext4, not a tmpfs" },
	{ "27 22 0:24 / /dev/shm\n", 0, "nothing is mounted on /dev/shm" },
	{ "", 0, "nothing is mounted on /dev/shm" },
};

TEST_EACH(the_size_of_shared_memory_is_that_of_its_mount, mounts)
{
	fake_file(context, "/proc/self/mountinfo", mounts[_i].mounts);
	measure();
	if (mounts[_i].why)
		ck_assert_ptr_nonnull(strstr(fake_reason(context, "node.shm_mib", NULL), mounts[_i].why));
	else
		ck_assert_double_eq(fake_number(context, "node.shm_mib", NULL), mounts[_i].mib);
}

TEST(huge_pages_have_sizes_and_a_setting)
{
	fake_file(context, "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "1024\n");
	fake_file(context, "/sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages", "2\n");
	fake_file(context, "/sys/kernel/mm/hugepages/hugepages-64kB/nr_hugepages", "0\n");
	fake_file(context, "/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
	measure();
	ck_assert_str_eq(fake_string(context, "node.hugepages", NULL), "2048 kB x 1024, 1048576 kB x 2");
	ck_assert_str_eq(fake_string(context, "node.transparent_hugepages", NULL), "madvise");
	fake_file(context, "/sys/kernel/mm/transparent_hugepage/enabled", "always\n");
	measure();
	ck_assert_ptr_nonnull(strstr(fake_reason(context, "node.transparent_hugepages", NULL), "names no setting"));
}

static void put_policy(int number, const char *governor)
{
	char path[128];
	snprintf(path, sizeof path, "/sys/devices/system/cpu/cpufreq/policy%d/scaling_governor", number);
	fake_file(context, path, governor);
	snprintf(path, sizeof path, "/sys/devices/system/cpu/cpufreq/policy%d/scaling_driver", number);
	fake_file(context, path, "acpi-cpufreq\n");
}

TEST(governors_are_counted_where_they_differ)
{
	fake_file(context, "/sys/devices/system/cpu/cpufreq/ondemand/rate", "1\n");
	put_policy(0, "performance\n");
	put_policy(1, "performance\n");
	measure();
	ck_assert_str_eq(fake_string(context, "node.cpu_governor", NULL), "acpi-cpufreq: performance");
	put_policy(2, "powersave\n");
	measure();
	ck_assert_str_eq(fake_string(context, "node.cpu_governor", NULL), "acpi-cpufreq: performance 2, powersave 1");
}

static void put_gpu(const char *bus_id, const char *iommu_type)
{
	char path[128];
	snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/vendor", bus_id);
	fake_file(context, path, "0x10de\n");
	snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/class", bus_id);
	fake_file(context, path, "0x030200\n");
	snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/iommu_group/type", bus_id);
	if (iommu_type)
		fake_file(context, path, iommu_type);
}

static const struct {
	const char *first, *second, *text;
} iommus[] = {
	{ NULL, NULL, "off" },
	{ "identity\n", "identity\n", "passthrough" },
	{ "DMA-FQ\n", "DMA\n", "translated" },
	{ "DMA\n", "identity\n", "translated and passthrough" },
};

TEST_EACH(the_iommu_is_that_of_the_gpus, iommus)
{
	put_gpu("0001:00:00.0", iommus[_i].first);
	put_gpu("0002:00:00.0", iommus[_i].second);
	measure();
	ck_assert_str_eq(fake_string(context, "node.iommu", NULL), iommus[_i].text);
}

TEST(acs_is_read_above_gpus_and_adapters)
{
	char path[512];
	put_gpu("0001:00:00.0", NULL);
	fake_file(context, "/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:00.0/vendor", "0x15b3\n");
	fake_file(context, "/sys/class/infiniband/rxe0/node_type", "1: CA\n"); /* of software: no device */
	fake_file(context, "/sys/class/infiniband/mlx5_0/node_type", "1: CA\n");
	snprintf(path, sizeof path, "%s/sys/class/infiniband/mlx5_0/device", context->root);
	ck_assert_int_eq(symlink("../../../devices/pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:00.0", path), 0);
	measure();
	ck_assert_ptr_nonnull(strstr(fake_reason(context, "node.acs_enabled", NULL), "PCI bridge 0000:01:00.0: "));
	fake_file(context, "/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0/config",
		"64 bytes for those who are "
		"not root");
	measure();
	ck_assert_ptr_nonnull(strstr(fake_reason(context, "node.acs_enabled", NULL), "only root can read"));
}

static const struct {
	const char *module;
	CUresult result;
	int dma_buf;
	const char *path;
} paths[] = {
	{ NULL, CUDA_SUCCESS, 1, "dma-buf" },
	{ NULL, CUDA_SUCCESS, 0, "none" },
	{ "/sys/module/nvidia_peermem/refcnt", CUDA_SUCCESS, 0, "peermem" },
	{ "/sys/module/nv_peer_mem/refcnt", CUDA_SUCCESS, 1, "dma-buf and peermem" },
	{ NULL, CUDA_ERROR_INVALID_VALUE, 1, "none" },
	{ NULL, CUDA_ERROR_UNKNOWN, 0, NULL },
};

TEST_EACH(network_adapters_reach_gpu_memory_by_dma_buf_or_a_module, paths)
{
	script.result = paths[_i].result;
	script.dma_buf = paths[_i].dma_buf;
	if (paths[_i].module)
		fake_file(context, paths[_i].module, "0\n");
	measure();
	if (paths[_i].path)
		ck_assert_str_eq(fake_string(context, "node.gdr_path", NULL), paths[_i].path);
	else
		ck_assert_str_eq(fake_reason(context, "node.gdr_path", NULL), "cuDeviceGetAttribute: result 999");
}

TEST(without_a_gpu_or_cuda_the_path_is_not_known)
{
	context->gpu.cuda_device = -1;
	measure();
	ck_assert_ptr_nonnull(strstr(fake_reason(context, "node.gdr_path", NULL), "no GPU"));
	context->gpu.cuda_device = 0;
	cuda_missing = true;
	measure();
	ck_assert_ptr_nonnull(strstr(fake_reason(context, "node.gdr_path", NULL), "libcuda.so.1"));
}

TEST(the_module_of_the_adapters_tells_where_it_comes_from)
{
	fake_file(context, "/sys/module/mlx5_core/refcnt", "1\n");
	measure();
	ck_assert_str_eq(fake_string(context, "node.ofed_version", NULL), "inbox");
	fake_file(context, "/sys/module/mlx5_core/version", "24.10-1.1.4\n");
	measure();
	ck_assert_str_eq(fake_string(context, "node.ofed_version", NULL), "24.10-1.1.4");
}

static const struct {
	const char *file, *text, *name;
} containers[] = {
	{ "/.dockerenv", "", "docker" },
	{ "/run/.containerenv", "", "podman" },
	{ "/.singularity.d/runscript", "", "apptainer" },
	{ "/run/systemd/container", "lxc\n", "lxc" },
	{ "/run/systemd/container", "\n", "none" },
	{ "/proc/self/mountinfo", "22 1 8:1 /var/lib/enroot/data/pytorch / rw - xfs /dev/sda1 rw\n", "enroot" },
	{ "/proc/self/mountinfo", "22 1 0:40 / / rw - overlay overlay rw,lowerdir=/run/enroot/1000/a\n", "enroot" },
	{ "/proc/self/mountinfo", "22 1 8:1 / /srv/enroot rw - xfs /dev/sda1 rw\n", "none" },
};

TEST_EACH(a_container_is_known_by_what_it_leaves, containers)
{
	fake_file(context, containers[_i].file, containers[_i].text);
	setenv("APPTAINER_CONTAINER", "1", 1); /* of this process, not of the other root */
	measure();
	ck_assert_str_eq(fake_string(context, "node.container", NULL), containers[_i].name);
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

TEST(a_load_that_is_no_number_is_null)
{
	fake_file(context, "/proc/loadavg", "high\n");
	measure();
	ck_assert_ptr_nonnull(strstr(fake_reason(context, "node.load_average", NULL), "is no load average"));
}

TEST_MAIN(.setup = setup, .teardown = teardown)
