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
	fake_file(context, "/etc/os-release", "NAME=\"Ubuntu\"\nPRETTY_NAME=\"Ubuntu 22.04.5 LTS\"\nID=ubuntu\n");
	fake_file(context, "/proc/sys/kernel/osrelease", "5.15.0-1089-azure\n");
	fake_file(context, "/proc/cpuinfo", "processor\t: 0\nmodel name\t: AMD EPYC 7V12 64-Core Processor\n");
	fake_file(context, "/proc/meminfo", "MemTotal:       928858112 kB\nMemFree:        1 kB\n");
	write_topology("<info name=\"Architecture\" value=\"x86_64\"/>");
}

static void teardown(void)
{
	fake_free(context);
}

static void measure(void)
{
	struct muster_error err;
	ck_assert_msg(muster_probe_system.run(&context->ctx, &err) == 0, "%s", err.text);
	fake_complete(context, NULL);
	ck_assert_str_eq(context->steps,
		"hwloc: load the topology\nNVML: count and list the GPUs\nopen libcuda.so.1\nopen libnvidia-ml.so.1\n"
		"open libnccl.so.2\nopen libibverbs.so.1\n");
}

TEST(the_root_tells_what_the_node_is)
{
	measure();
	ck_assert_str_eq(fake_string(context, "node.os", NULL), "Ubuntu 22.04.5 LTS");
	ck_assert_str_eq(fake_string(context, "node.kernel", NULL), "5.15.0-1089-azure");
	ck_assert_str_eq(fake_string(context, "node.architecture", NULL), "x86_64");
	ck_assert_str_eq(fake_string(context, "node.cpu_model", NULL), "AMD EPYC 7V12 64-Core Processor");
	ck_assert_double_eq(fake_number(context, "node.memory_mib", NULL), 907088);
	ck_assert_double_eq(fake_number(context, "node.cpus", NULL), 4);
	ck_assert_double_eq(fake_number(context, "node.sockets", NULL), 2);
	ck_assert_double_eq(fake_number(context, "node.numa_nodes", NULL), 2);
}

/* "0/0: 0-1, 1/1: 2-3": NUMA node / package: CPUs */
static const char *numa_text(void)
{
	static char text[256];
	size_t used = 0;
	*text = '\0';
	for (size_t i = 0; i < context->samples.count; i++) {
		const struct muster_sample *sample = &context->samples.items[i];
		if (strcmp(sample->metric->name, "node.numa_cpu_list") == 0)
			used += (size_t)snprintf(text + used, sizeof text - used, "%s%g/%g: %s", used ? ", " : "",
				sample->labels[0].value.number, sample->labels[1].value.number, sample->value.string);
	}
	return text;
}

TEST(each_numa_node_has_its_cpus_and_its_package)
{
	measure();
	ck_assert_str_eq(numa_text(), "0/0: 0-1, 1/1: 2-3");
}

static const struct {
	const char *file, *text, *metric, *expected; /* expected: the value, or the end of the reason */
	bool null;
} odd_files[] = {
	{ "/etc/os-release", "PRETTY_NAME='Alma \"9\"'\n", "node.os", "Alma \"9\"", false },
	{ "/etc/os-release", "PRETTY_NAME=Plain\n", "node.os", "Plain", false },
	{ "/etc/os-release", "PRETTY_NAME=\"a \\\"b\\\" \\$c\"", "node.os", "a \"b\" $c", false },
	{ "/etc/os-release", "XPRETTY_NAME=no\n", "node.os", "/etc/os-release has no line \"PRETTY_NAME\"", true },
	{ "/proc/cpuinfo", "processor : 0\nCPU part : 0xd4f\n", "node.cpu_model", "Model of hwloc", false },
	{ "/proc/driver/nvidia/params", "EnableMSI: 1\nCoherentGPUMemoryMode: \"driver\"\nRmMsg: \"\"\n",
		"node.coherent_memory_mode", "driver", false },
	{ "/proc/driver/nvidia/params", "CoherentGPUMemoryMode: \"\"\n", "node.coherent_memory_mode", "", false },
	{ "/proc/driver/nvidia/params", "EnableMSI: 1\n", "node.coherent_memory_mode",
		"/proc/driver/nvidia/params has no line \"CoherentGPUMemoryMode\"", true },
	{ "/proc/meminfo", "MemTotal: 12 MB\n", "node.memory_mib", "is not in kB: \"12 MB\"", true },
	{ "/proc/meminfo", "MemTotal: kB\n", "node.memory_mib", "is not in kB: \"kB\"", true },
	{ "/proc/meminfo", "MemTotal: -5 kB\n", "node.memory_mib", "is not in kB: \"-5 kB\"", true },
	{ "/proc/meminfo", "MemTotal: nan kB\n", "node.memory_mib", "is not in kB: \"nan kB\"", true },
	{ "/proc/meminfo", "MemTotal: 1e999 kB\n", "node.memory_mib", "is not in kB: \"1e999 kB\"", true },
	{ "/proc/meminfo", "MemTotalFree: 12 kB\n", "node.memory_mib", "/proc/meminfo has no line \"MemTotal\"", true },
};

TEST_EACH(odd_files_are_read_right_or_not_at_all, odd_files)
{
	fake_file(context, odd_files[_i].file, odd_files[_i].text);
	measure();
	const char *found = odd_files[_i].null ? fake_reason(context, odd_files[_i].metric, NULL)
					       : fake_string(context, odd_files[_i].metric, NULL);
	size_t length = strlen(found), wanted = strlen(odd_files[_i].expected);
	ck_assert_msg(length >= wanted && strcmp(found + length - wanted, odd_files[_i].expected) == 0, "%s: \"%s\"",
		odd_files[_i].metric, found);
	ck_assert_msg(odd_files[_i].null || length == wanted, "%s: \"%s\"", odd_files[_i].metric, found);
}

TEST(without_an_nvidia_driver_its_memory_mode_is_unknown_and_there_is_no_imex_channel)
{
	measure();
	ck_assert_ptr_nonnull(strstr(fake_reason(context, "node.coherent_memory_mode", NULL), "No such file"));
	ck_assert_double_eq(fake_number(context, "node.imex_channels", NULL), 0);
}

TEST(imex_channels_are_counted_and_nothing_beside_them)
{
	fake_file(context, "/dev/nvidia-caps-imex-channels/channel0", "");
	fake_file(context, "/dev/nvidia-caps-imex-channels/channel11", "");
	fake_file(context, "/dev/nvidia-caps-imex-channels/other", "");
	measure();
	ck_assert_double_eq(fake_number(context, "node.imex_channels", NULL), 2);
}

TEST(imex_channels_that_cannot_be_listed_are_unknown_and_not_none)
{
	fake_file(context, "/dev/nvidia-caps-imex-channels", "a file where the folder should be");
	measure();
	ck_assert_ptr_nonnull(strstr(fake_reason(context, "node.imex_channels", NULL), "nvidia-caps-imex-channels"));
}

TEST(os_release_may_lie_in_usr_lib)
{
	char path[512];
	snprintf(path, sizeof path, "%s/etc/os-release", context->root);
	ck_assert_int_eq(remove(path), 0);
	fake_file(context, "/usr/lib/os-release", "PRETTY_NAME=\"Elsewhere\"\n");
	measure();
	ck_assert_str_eq(fake_string(context, "node.os", NULL), "Elsewhere");
}

TEST(what_hwloc_does_not_say_is_null)
{
	write_topology("");
	measure();
	ck_assert_str_eq(fake_reason(context, "node.architecture", NULL), "hwloc gives no Architecture");
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

TEST(the_driver_tells_its_versions_and_every_gpu_in_its_order)
{
	put_driver(NULL);
	measure();
	ck_assert_uint_eq(fake_count(context, "node.gpu_count"), 1);
	ck_assert_double_eq(fake_number(context, "node.gpu_count", NULL), 8);
	ck_assert_str_eq(fake_string(context, "node.gpu_bus_ids", NULL),
		"0001:00:00.0 0002:00:00.0 0003:00:00.0 0004:00:00.0 000b:00:00.0 000c:00:00.0 000d:00:00.0 "
		"000e:00:00.0");
	ck_assert_str_eq(fake_string(context, "node.driver_version", NULL), "580.126.16");
	ck_assert_str_eq(fake_string(context, "node.cuda_driver_api", NULL), "12.8");
	ck_assert_str_eq(fake_string(context, "node.nccl_version", NULL), "2.28.9");
	ck_assert_str_eq(fake_string(context, "node.library_version", "libnccl.so.2"), "2.28.9");
	ck_assert_str_eq(fake_string(context, "node.library_version", "libcuda.so.1"), "12.8");
	ck_assert_str_eq(fake_string(context, "node.library_version", "libnvidia-ml.so.1"), "13.580.126.16");
	ck_assert_str_eq(fake_string(context, "node.library_version", "libibverbs.so.1"), "1");
	ck_assert(muster_library_any_standin());
}

TEST(a_gpu_that_the_driver_does_not_see_is_not_counted)
{
	put_driver("gpu-missing@node1/gpu7");
	measure();
	ck_assert_double_eq(fake_number(context, "node.gpu_count", NULL), 7);
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

TEST(without_a_topology_the_reason_is_hwlocs_own)
{
	static const char *const of_hwloc[] = { "node.cpus", "node.sockets", "node.numa_nodes", "node.architecture",
		"node.numa_cpu_list" };
	setenv("HWLOC_XMLFILE", "/nowhere/topology.xml", 1);
	setenv("HWLOC_COMPONENTS", "xml,stop", 1);
	measure();
	for (size_t i = 0; i < LENGTH(of_hwloc); i++)
		ck_assert_msg(strncmp(fake_reason(context, of_hwloc[i], NULL), "hwloc_topology_load: ", 21) == 0,
			"%s is null: %s", of_hwloc[i], fake_reason(context, of_hwloc[i], NULL));
	ck_assert_str_eq(fake_string(context, "node.cpu_model", NULL), "AMD EPYC 7V12 64-Core Processor");
}

TEST(a_machine_of_one_cpu_and_no_package_is_told_as_it_is)
{
	char path[512];
	write_xml("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n"
		  "<topology version=\"2.0\"><object type=\"Machine\" os_index=\"0\" cpuset=\"0x1\" "
		  "complete_cpuset=\"0x1\" "
		  "nodeset=\"0x1\" complete_nodeset=\"0x1\" gp_index=\"1\">"
		  "<object type=\"NUMANode\" os_index=\"0\" cpuset=\"0x1\" complete_cpuset=\"0x1\" nodeset=\"0x1\" "
		  "complete_nodeset=\"0x1\" gp_index=\"2\" local_memory=\"1073741824\"/>"
		  "<object type=\"PU\" os_index=\"0\" cpuset=\"0x1\" complete_cpuset=\"0x1\" nodeset=\"0x1\" "
		  "complete_nodeset=\"0x1\" gp_index=\"3\"/></object></topology>\n");
	snprintf(path, sizeof path, "%s/proc/cpuinfo", context->root);
	ck_assert_int_eq(remove(path), 0);
	measure();
	ck_assert_double_eq(fake_number(context, "node.cpus", NULL), 1);
	ck_assert_double_eq(fake_number(context, "node.numa_nodes", NULL), 1);
	ck_assert_str_eq(numa_text(), "0/0: 0");
	ck_assert_str_eq(fake_reason(context, "node.sockets", NULL), "hwloc shows no package");
	ck_assert_ptr_nonnull(strstr(fake_reason(context, "node.cpu_model", NULL), "/proc/cpuinfo: No such file"));
}

TEST(a_kernel_without_a_release_is_null_and_names_the_file)
{
	char path[512];
	snprintf(path, sizeof path, "%s/proc/sys/kernel/osrelease", context->root);
	ck_assert_int_eq(remove(path), 0);
	measure();
	ck_assert_ptr_nonnull(
		strstr(fake_reason(context, "node.kernel", NULL), "/proc/sys/kernel/osrelease: No such file"));
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
