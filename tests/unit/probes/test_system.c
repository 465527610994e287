/* SPDX-License-Identifier: Apache-2.0 */
/* test_system.c - a node's software and hardware, from a root of our own making */
#include "check_main.h"
#include "probe_fake.h"

#include "sim_fixture.h"
#include "vendor/library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const struct muster_probe muster_probe_system;

static struct probe_fake *context;

/* Two packages with two NUMA nodes, four CPUs and a name. */
static const char topology[] =
	"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n<topology "
	"version=\"2.0\">\n"
	"<object type=\"Machine\" os_index=\"0\" cpuset=\"0xf\" complete_cpuset=\"0xf\" nodeset=\"0x3\" "
	"complete_nodeset=\"0x3\" gp_index=\"1\">\n%s"
	"<object type=\"Package\" os_index=\"0\" cpuset=\"0x3\" complete_cpuset=\"0x3\" nodeset=\"0x1\" "
	"complete_nodeset=\"0x1\" gp_index=\"2\"><info name=\"CPUModel\" value=\"Model of hwloc\"/>"
	"<object type=\"NUMANode\" os_index=\"0\" cpuset=\"0x3\" complete_cpuset=\"0x3\" nodeset=\"0x1\" "
	"complete_nodeset=\"0x1\" gp_index=\"3\" local_memory=\"1073741824\"/>"
	"<object type=\"PU\" os_index=\"0\" cpuset=\"0x1\" complete_cpuset=\"0x1\" nodeset=\"0x1\" "
	"complete_nodeset=\"0x1\" gp_index=\"4\"/>"
	"<object type=\"PU\" os_index=\"1\" cpuset=\"0x2\" complete_cpuset=\"0x2\" nodeset=\"0x1\" "
	"complete_nodeset=\"0x1\" gp_index=\"5\"/></object>\n"
	"<object type=\"Package\" os_index=\"1\" cpuset=\"0xc\" complete_cpuset=\"0xc\" nodeset=\"0x2\" "
	"complete_nodeset=\"0x2\" gp_index=\"6\">"
	"<object type=\"NUMANode\" os_index=\"1\" cpuset=\"0xc\" complete_cpuset=\"0xc\" nodeset=\"0x2\" "
	"complete_nodeset=\"0x2\" gp_index=\"7\" local_memory=\"1073741824\"/>"
	"<object type=\"PU\" os_index=\"2\" cpuset=\"0x4\" complete_cpuset=\"0x4\" nodeset=\"0x2\" "
	"complete_nodeset=\"0x2\" gp_index=\"8\"/>"
	"<object type=\"PU\" os_index=\"3\" cpuset=\"0x8\" complete_cpuset=\"0x8\" nodeset=\"0x2\" "
	"complete_nodeset=\"0x2\" gp_index=\"9\"/></object>\n"
	"</object>\n</topology>\n";

static void write_xml(const char *text)
{
	char path[512];
	fake_file(context, "/topology.xml", text);
	snprintf(path, sizeof path, "%s/topology.xml", context->root);
	setenv("HWLOC_XMLFILE", path, 1);
	setenv("HWLOC_THISSYSTEM", "1", 1);
}

static void write_topology(const char *information)
{
	char *text = muster_asprintf(topology, information);
	write_xml(text);
	free(text);
}

static void setup(void)
{
	context = fake_new(&muster_probe_system);
	fake_given(context, "/etc/os-release=NAME=\"Ubuntu\"\nPRETTY_NAME=\"Ubuntu 22.04.5 LTS\"\nID=ubuntu | "
			    "/proc/sys/kernel/osrelease=5.15.0-1089-azure | /proc/sys/kernel/tainted=12289 | "
			    "/proc/cpuinfo=processor\t: 0\nmodel name\t: AMD EPYC 7V12 64-Core Processor | "
			    "/proc/meminfo=MemTotal:       928858112 kB\nMemFree:        1 kB");
	write_topology("<info name=\"Architecture\" value=\"x86_64\"/>");
}

static void teardown(void)
{
	fake_free(context);
}

static void play(const struct fake_row *row)
{
	fake_given(context, row->given);
	fake_run(context);
	fake_complete(context, NULL);
	fake_expect(context, row->expected, row->name);
	fake_expect(context,
		"steps 'hwloc: load the topology; NVML: count and list the GPUs; open libcuda.so.1; "
		"open libnvidia-ml.so.1; open libnccl.so.2; open libibverbs.so.1",
		row->name);
}

static void measure(void)
{
	play(&(struct fake_row){ "any", NULL, "" });
}

#define OS "/etc/os-release="
#define MODE "/proc/driver/nvidia/params="
#define MEMORY(total)                                                                                                  \
	{                                                                                                              \
		"memory in kB alone", "/proc/meminfo=MemTotal: " total,                                                \
			"node.memory_mib -*is not in kB: \"" total "\""                                                \
	}
#define CHANNELS "/dev/nvidia-caps-imex-channels"
#define GPU "/sys/bus/pci/devices/0001:00:00.0/"
#define GPU_ON(node) GPU "vendor=0x10de | " GPU "class=0x030200 | " GPU "numa_node=" node " | "
#define NUMA(node, package, cpus) "node.numa_cpu_list numa_node=" node " package=" package " '" cpus " | "
#define ONE_CPU "cpuset=\"0x1\" complete_cpuset=\"0x1\" nodeset=\"0x1\" complete_nodeset=\"0x1\" "
#define NO_TOPOLOGY "-hwloc_topology_load: *"
#define MEASURED_OS(text) "node.os '" text

static const struct fake_row rows[] = {
	{ "the root tells what the node is", NULL,
		"node.os 'Ubuntu 22.04.5 LTS | node.kernel '5.15.0-1089-azure | node.architecture 'x86_64 | "
		"node.muster_version '" MUSTER_VERSION " | "
		"node.cpu_model 'AMD EPYC 7V12 64-Core Processor | node.memory_mib 907088 | node.cpus 4 | "
		"node.sockets 2 | node.numa_nodes 2" },
	{ "each NUMA node has its CPUs and its package", NULL,
		NUMA("0", "0", "0-1") NUMA("1", "1", "2-3") "node.numa_cpu_list #2" },
	{ "a name in single quotes", OS "PRETTY_NAME='Alma \"9\"'", MEASURED_OS("Alma \"9\"") },
	{ "a name without quotes", OS "PRETTY_NAME=Plain", MEASURED_OS("Plain") },
	{ "a name with escapes", OS "PRETTY_NAME=\"a \\\"b\\\" \\$c\"", MEASURED_OS("a \"b\" $c") },
	{ "another name", OS "XPRETTY_NAME=no", "node.os -*/etc/os-release has no line \"PRETTY_NAME\"" },
	{ "os-release may lie in /usr/lib", "-/etc/os-release | /usr/lib/os-release=PRETTY_NAME=\"Elsewhere\"",
		MEASURED_OS("Elsewhere") },
	{ "a processor without a name has hwloc's", "/proc/cpuinfo=processor : 0\nCPU part : 0xd4f",
		"node.cpu_model 'Model of hwloc" },
	{ "the memory mode of a driver", MODE "EnableMSI: 1\nCoherentGPUMemoryMode: \"driver\"\nRmMsg: \"\"",
		"node.coherent_memory_mode 'driver" },
	{ "an empty memory mode", MODE "CoherentGPUMemoryMode: \"\"", "node.coherent_memory_mode '" },
	{ "a driver without a memory mode", MODE "EnableMSI: 1",
		"node.coherent_memory_mode -*/proc/driver/nvidia/params has no line \"CoherentGPUMemoryMode\"" },
	MEMORY("12 MB"),
	MEMORY("kB"),
	MEMORY("-5 kB"),
	MEMORY("nan kB"),
	MEMORY("1e999 kB"),
	{ "another line of the memory", "/proc/meminfo=MemTotalFree: 12 kB",
		"node.memory_mib -*/proc/meminfo has no line \"MemTotal\"" },
	{ "without an NVIDIA driver there is no memory mode and no IMEX channel", NULL,
		"node.coherent_memory_mode -*No such file* | node.imex_channels 0" },
	{ "IMEX channels are counted and nothing beside them",
		CHANNELS "/channel0= | " CHANNELS "/channel11= | " CHANNELS "/other=", "node.imex_channels 2" },
	{ "IMEX channels that cannot be listed are unknown and not none", CHANNELS "=a file where the folder should be",
		"node.imex_channels -*nvidia-caps-imex-channels*" },
	{ "without a topology the reason is hwloc's own",
		"HWLOC_XMLFILE=/nowhere/topology.xml | HWLOC_COMPONENTS=xml,stop",
		"node.cpus " NO_TOPOLOGY " | node.sockets " NO_TOPOLOGY " | node.numa_nodes " NO_TOPOLOGY
		" | node.architecture " NO_TOPOLOGY " | node.numa_cpu_list " NO_TOPOLOGY
		" | node.cpu_model 'AMD EPYC 7V12 64-Core Processor" },
	{ "a machine of one CPU and no package is told as it is",
		"-/proc/cpuinfo | /topology.xml=<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n<topology version=\"2.0\">"
		"<object type=\"Machine\" os_index=\"0\" " ONE_CPU "gp_index=\"1\">"
		"<object type=\"NUMANode\" os_index=\"0\" " ONE_CPU "gp_index=\"2\" local_memory=\"1073741824\"/>"
		"<object type=\"PU\" os_index=\"0\" " ONE_CPU "gp_index=\"3\"/></object></topology>",
		"node.cpus 1 | node.numa_nodes 1 | node.numa_cpu_list numa_node=0 package=0 '0 | "
		"node.numa_cpu_list #1 | node.sockets -hwloc shows no package | "
		"node.cpu_model -*/proc/cpuinfo: No such file*" },
	{ "kernel and hwloc agree about a GPU", GPU_ON("1") "/sys/devices/system/node/node1/cpulist=2-3",
		"node.numa_conflict 'none" },
	{ "kernel and hwloc give its node other CPUs", GPU_ON("1") "/sys/devices/system/node/node1/cpulist=3",
		"node.numa_conflict 'NUMA node 1 has CPUs 3 for the kernel and 2-3 for hwloc: *" },
	{ "a node that hwloc does not have", GPU_ON("5") "/etc/hostname=vm",
		"node.numa_conflict '*numa_node is 5, and hwloc knows no such NUMA node" },
	{ "a GPU that nobody can place is no conflict", GPU_ON("-1") "/etc/hostname=vm", "node.numa_conflict 'none" },
	{ "flags of modules, warnings and soft lockups are no fault", "/proc/sys/kernel/tainted=29185",
		"node.kernel_taint 'none" },
	{ "flags of an oops, a bad page and a machine check are", "/proc/sys/kernel/tainted=12465",
		"node.kernel_taint 'machine-check bad-page oops" },
	{ "a kernel that hides its flags", "-/proc/sys/kernel/tainted",
		"node.kernel_taint -*/proc/sys/kernel/tainted: No such file*" },
	{ "a kernel without a release is null and names the file", "-/proc/sys/kernel/osrelease",
		"node.kernel -*/proc/sys/kernel/osrelease: No such file*" },
};

TEST_EACH(a_node_is_what_its_root_says, rows)
{
	play(&rows[_i]);
}

TEST(what_hwloc_does_not_say_is_null)
{
	write_topology("");
	play(&(struct fake_row){ "no architecture", NULL, "node.architecture -hwloc gives no Architecture" });
}

TEST(every_vendor_library_has_a_path_and_a_version_or_the_loaders_words)
{
	measure();
	ck_assert_uint_eq(fake_count(context, "node.library_path"), MUSTER_LIBRARY_COUNT);
	ck_assert_uint_eq(fake_count(context, "node.library_version"), MUSTER_LIBRARY_COUNT);
	for (size_t i = 0; i < MUSTER_LIBRARY_COUNT; i++) {
		const struct muster_library *library = muster_libraries[i];
		if (library->handle)
			ck_assert_str_eq(fake_string(context, "node.library_path", library->soname), library->path);
		else
			ck_assert_str_eq(
				fake_reason(context, "node.library_path", library->soname), library->error.text);
		if (!library->handle)
			ck_assert_str_eq(
				fake_reason(context, "node.library_version", library->soname), library->error.text);
	}
	static const char *const of_nvml[] = { "node.gpu_count", "node.gpu_bus_ids", "node.driver_version" };
	for (size_t i = 0; !muster_nvml_library.handle && i < LENGTH(of_nvml); i++)
		ck_assert_ptr_nonnull(strstr(fake_reason(context, of_nvml[i], NULL), "libnvidia-ml.so.1"));
}

/* Stand-ins are loaded before the probe asks for their sonames; each test is a process of its own. */
static void put_driver(const char *fault)
{
	static const char *const files[] = { "libcuda.so.1", "libnvidia-ml.so.1", "libnccl.so.2", "libibverbs.so.1" };
	struct muster_sim_cluster cluster;
	struct muster_error err;
	char path[512];
	ck_assert_msg(sim_two_nodes(fault, NULL, &cluster, &err) == 0, "%s", err.text);
	cluster.nodes[0].cuda_driver = 12080;
	cluster.nodes[0].nccl_version = 22809;
	snprintf(path, sizeof path, "%s/cluster.json", context->root);
	ck_assert_msg(muster_sim_cluster_write(&cluster, path, &err) == 0, "%s", err.text);
	muster_sim_cluster_done(&cluster);
	setenv("MUSTER_SIM_CLUSTER", path, 1);
	setenv("MUSTER_SIM_RANK", "0", 1);
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		snprintf(path, sizeof path, "%s/lib/muster/sim/%s", MUSTER_BUILD_DIR, files[i]);
		ck_assert_msg(dlopen(path, RTLD_NOW | RTLD_LOCAL) != NULL, "%s", dlerror());
	}
}

#define VERSION(soname, version) "node.library_version library=" soname " '" version " | "

TEST(the_driver_tells_its_versions_and_every_gpu_in_its_order)
{
	put_driver(NULL);
	play(&(struct fake_row){ "a driver", NULL,
		"node.gpu_count #1 | node.gpu_count 8 | "
		"node.gpu_bus_ids '0001:00:00.0 0002:00:00.0 0003:00:00.0 0004:00:00.0 000b:00:00.0 000c:00:00.0 "
		"000d:00:00.0 000e:00:00.0 | node.driver_version '580.126.16 | node.cuda_driver_api '12.8 | "
		"node.nccl_version '2.28.9 | " VERSION("libnccl.so.2", "2.28.9") VERSION("libcuda.so.1", "12.8")
			VERSION("libnvidia-ml.so.1", "13.580.126.16") VERSION("libibverbs.so.1", "1") });
	ck_assert(muster_library_any_standin());
}

TEST(a_library_of_another_version_is_forward_compatibility)
{
	static const struct {
		const char *file, *expected;
	} rows_of_files[] = {
		{ "/usr/lib/libcuda.so.580.126.16", "node.cuda_compat 'none" },
		{ "/usr/local/cuda/compat/libcuda.so.580.65.06", "node.cuda_compat '580.65.06 on driver 580.126.16" },
		{ "/usr/local/cuda/compat/libcuda.so.590.44.01",
			"node.cuda_compat '590.44.01 on driver 580.126.16, of another branch" },
		{ "/usr/lib/wsl/lib/libcuda.so.1.1", "node.cuda_compat -*does not end in a driver's version" },
	};
	put_driver(NULL);
	ck_assert_int_eq(muster_library_open(&muster_cuda_library, NULL), 0);
	for (size_t i = 0; i < sizeof rows_of_files / sizeof *rows_of_files; i++) {
		snprintf(muster_cuda_library.path, sizeof muster_cuda_library.path, "%s", rows_of_files[i].file);
		fake_forget(context);
		play(&(struct fake_row){ rows_of_files[i].file, NULL, rows_of_files[i].expected });
	}
}

TEST(a_gpu_that_the_driver_does_not_see_is_not_counted)
{
	put_driver("gpu-missing@node1/gpu7");
	play(&(struct fake_row){ "seven GPUs", NULL, "node.gpu_count 7" });
	ck_assert_uint_eq(strlen(fake_string(context, "node.gpu_bus_ids", NULL)), 7 * strlen("0001:00:00.0 ") - 1);
}

TEST(the_version_of_libibverbs_is_the_one_of_its_file)
{
	measure();
	const struct muster_sample *version = fake_sample(context, "node.library_version", "libibverbs.so.1", NULL);
	if (version->value.type == MUSTER_NULL) {
		ck_assert_ptr_null(muster_verbs_library.handle);
		return;
	}
	char end[256];
	snprintf(end, sizeof end, "/libibverbs.so.%s", version->value.string);
	const char *path = fake_string(context, "node.library_path", "libibverbs.so.1");
	ck_assert_msg(strlen(path) > strlen(end) && strcmp(path + strlen(path) - strlen(end), end) == 0, "%s", path);
}

static const struct {
	const char *path, *version, *why; /* why: of the version when there is none */
} verbs_files[] = {
	{ "/usr/lib/libibverbs.so.1.14.44.0", "1.14.44.0", NULL },
	{ "/usr/lib.so.2/libibverbs.so.1", "1", NULL },
	{ "/usr/lib.so.2/libibverbs.so", NULL, "the name of /usr/lib.so.2/libibverbs.so contains no version" },
	{ "libibverbs.so.1", NULL, "the name of libibverbs.so.1 contains no version" },
	{ "", NULL, "the name of  contains no version" },
};

TEST_EACH(the_version_of_libibverbs_is_what_follows_so_in_the_last_part_of_its_path, verbs_files)
{
	put_driver(NULL);
	measure();
	fake_forget(context);
	snprintf(muster_verbs_library.path, sizeof muster_verbs_library.path, "%s", verbs_files[_i].path);
	measure();
	if (verbs_files[_i].version)
		ck_assert_str_eq(
			fake_string(context, "node.library_version", "libibverbs.so.1"), verbs_files[_i].version);
	else
		ck_assert_str_eq(fake_reason(context, "node.library_version", "libibverbs.so.1"), verbs_files[_i].why);
	if (*verbs_files[_i].path)
		ck_assert_str_eq(fake_string(context, "node.library_path", "libibverbs.so.1"), verbs_files[_i].path);
	else
		ck_assert_str_eq(
			fake_reason(context, "node.library_path", "libibverbs.so.1"), "dlinfo does not know its file");
}

TEST_MAIN(.setup = setup, .teardown = teardown)
