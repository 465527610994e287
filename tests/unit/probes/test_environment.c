/* test_environment.c - what steers a rank, and NCCL topology files against a machine of two NUMA nodes */
#include "check_main.h"
#include "probe_fake.h"

#include "system/settings.h"
#include "util/cpuset.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern const struct muster_probe muster_probe_environment;

static struct probe_fake *context;
static const char *environment_block; /* what the worker was started with; '|' stands for NUL */

int muster_environment_read(char **ret_block, size_t *ret_length, struct muster_error *err)
{
	if (!environment_block)
		return muster_fail(err, MUSTER_EIO, "/proc/self/environ: not here");
	*ret_length = strlen(environment_block);
	*ret_block = muster_strdup(environment_block);
	for (char *at = *ret_block; *at; at++)
		if (*at == '|')
			*at = '\0';
	return 0;
}

/* Two NUMA nodes with two CPUs each. */
#define SETS(cpus, node)                                                                                               \
	" cpuset=\"" cpus "\" complete_cpuset=\"" cpus "\" nodeset=\"" node "\" complete_nodeset=\"" node "\" "
#define PU(index, cpus, node, id)                                                                                      \
	"<object type=\"PU\" os_index=\"" index "\" gp_index=\"" id "\"" SETS(cpus, node) "/>\n"
#define PACKAGE(index, cpus, node, id, pus)                                                                            \
	"<object type=\"Package\" os_index=\"" index "\" gp_index=\"1" id                                              \
	"\"" SETS(cpus, node) ">\n<object type=\"NUMANode\" os_index=\"" index "\" gp_index=\"2" id                    \
			      "\" local_memory=\"1073741824\"" SETS(cpus, node) "/>\n" pus "</object>\n"

/* clang-format off */
static const char topology[] =
	"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n"
	"<topology version=\"2.0\">\n<object type=\"Machine\" os_index=\"0\" gp_index=\"1\"" SETS("0xf", "0x3") ">\n"
	PACKAGE("0", "0x3", "0x1", "0", PU("0", "0x1", "0x1", "3") PU("1", "0x2", "0x1", "4"))
	PACKAGE("1", "0xc", "0x2", "1", PU("2", "0x4", "0x2", "5") PU("3", "0x8", "0x2", "6"))
	"</object>\n</topology>\n";
/* clang-format on */

static void put_pci(const char *bus_id, const char *vendor, const char *class_code, const char *numa_node)
{
	char path[256];
	const char *const files[][2] = { { "vendor", vendor }, { "class", class_code }, { "numa_node", numa_node } };
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/%s", bus_id, files[i][0]);
		fake_file(context, path, files[i][1]);
	}
}

static void put_machine(const char *xml)
{
	char path[512];
	fake_file(context, "/topology.xml", xml);
	snprintf(path, sizeof path, "%s/topology.xml", context->root);
	setenv("HWLOC_XMLFILE", path, 1);
	setenv("HWLOC_THISSYSTEM", "1", 1);
}

static void setup(void)
{
	context = fake_new(&muster_probe_environment);
	put_machine(topology);
	put_pci("0001:00:00.0", "0x10de\n", "0x030200\n", "0\n");
	put_pci("000b:00:00.0", "0x10de\n", "0x030000\n", "1\n");
	put_pci("0002:00:00.0", "0x1414\n", "0x030000\n", "1\n"); /* the console of a virtual machine */
	put_pci("0101:00:00.0", "0x15b3\n", "0x020700\n", "1\n");
	environment_block = "";
}

static void teardown(void)
{
	fake_free(context);
}

static void measure(void)
{
	static const char *const only_when_set[] = { "rank.setting_from", NULL };
	struct muster_error err;
	ck_assert_msg(muster_probe_environment.run(&context->ctx, &err) == 0, "%s", err.text);
	fake_complete(context, only_when_set);
}

TEST(what_nobody_sets_is_not_set_and_that_is_a_fact)
{
	measure();
	ck_assert_uint_eq(fake_count(context, "rank.setting"), MUSTER_SETTINGS_NAMED);
	ck_assert_str_eq(fake_string(context, "rank.setting", "CUDA_DEVICE_ORDER"), "not set");
	ck_assert_str_eq(fake_string(context, "rank.setting", "UCX_TLS"), "not set");
	ck_assert_uint_eq(fake_count(context, "rank.setting_from"), 0);
	ck_assert_double_eq(fake_number(context, "rank.settings_left_out", NULL), 0);
	ck_assert_str_eq(fake_reason(context, "node.topo_file", NULL), "NCCL_TOPO_FILE is not set");
	ck_assert_str_eq(fake_reason(context, "node.topo_file_agrees", NULL), "NCCL_TOPO_FILE is not set");
	ck_assert_str_eq(fake_reason(context, "node.topo_file_differs", NULL), "NCCL_TOPO_FILE is not set");
}

TEST(without_a_job_only_nccls_files_could_have_set_it)
{
	context->ctx.env.in_job = false;
	environment_block = "UCX_TLS=tcp";
	measure();
	ck_assert_str_eq(fake_reason(context, "rank.setting", "CUDA_DEVICE_ORDER"),
		"only a job's environment sets this variable, and this is not a job");
	ck_assert_str_eq(fake_string(context, "rank.setting", "UCX_TLS"), "tcp");
	ck_assert_str_eq(fake_string(context, "rank.setting", "NCCL_TOPO_FILE"), "not set");
}

TEST(the_process_own_changes_do_not_count)
{
	setenv("NCCL_DEBUG", "INFO", 1);
	setenv("UCX_TLS", "tcp,self", 1);
	setenv("OMPI_MCA_coll_hcoll_enable", "0", 1);
	measure();
	ck_assert_str_eq(fake_string(context, "rank.setting", "NCCL_DEBUG"), "not set");
	ck_assert_str_eq(fake_string(context, "rank.setting", "UCX_TLS"), "not set");
	ck_assert_str_eq(fake_string(context, "rank.setting", "OMPI_MCA_coll_hcoll_enable"), "not set");
}

static void check_setting(const char *name, const char *value, const char *from)
{
	ck_assert_str_eq(fake_string(context, "rank.setting", name), value);
	ck_assert_str_eq(fake_string(context, "rank.setting_from", name), from);
}

static void put_home_conf(const char *text)
{
	char path[512];
	const struct passwd *user = getpwuid(getuid());
	ck_assert_ptr_nonnull(user);
	snprintf(path, sizeof path, "%s/.nccl.conf", user->pw_dir);
	fake_file(context, path, text);
}

TEST(the_environment_goes_before_the_users_file_and_that_before_the_systems)
{
	char home_conf[512];
	snprintf(home_conf, sizeof home_conf, "%s/.nccl.conf", getpwuid(getuid())->pw_dir);
	environment_block = "NCCL_DEBUG=WARN|OMPI_MCA_coll_hcoll_enable=0|NCCL_MIN_NCHANNELS=32";
	put_home_conf("NCCL_DEBUG=INFO\nNCCL_NET=IB\n");
	fake_file(context, "/etc/nccl.conf", "NCCL_DEBUG=TRACE\nNCCL_NET=Socket\nNCCL_ALGO=Ring\n");
	measure();
	check_setting("NCCL_DEBUG", "WARN", "environment");
	check_setting("OMPI_MCA_coll_hcoll_enable", "0", "environment");
	check_setting("NCCL_MIN_NCHANNELS", "32", "environment");
	check_setting("NCCL_NET", "IB", home_conf);
	check_setting("NCCL_ALGO", "Ring", "/etc/nccl.conf");
	ck_assert_uint_eq(fake_count(context, "rank.setting_from"), 5);
}

TEST(a_named_file_takes_the_place_of_the_users_own)
{
	environment_block = "NCCL_CONF_FILE=/opt/nccl.conf";
	put_home_conf("NCCL_DEBUG=INFO\nNCCL_PROTO=LL\n");
	fake_file(context, "/opt/nccl.conf", "NCCL_DEBUG=VERSION\n");
	fake_file(context, "/etc/nccl.conf", "NCCL_ALGO=Ring\n");
	measure();
	check_setting("NCCL_DEBUG", "VERSION", "/opt/nccl.conf");
	check_setting("NCCL_ALGO", "Ring", "/etc/nccl.conf");
	check_setting("NCCL_CONF_FILE", "/opt/nccl.conf", "environment");
	ck_assert_str_eq(fake_string(context, "rank.setting", "NCCL_PROTO"), "not set");
}

TEST(a_file_that_is_too_long_leaves_unknown_what_it_may_set)
{
	char *text = muster_calloc(MUSTER_SETTINGS_FILE_MAX + 2, 1);
	memset(text, '#', MUSTER_SETTINGS_FILE_MAX + 1);
	fake_file(context, "/etc/nccl.conf", text);
	free(text);
	environment_block = "NCCL_DEBUG=WARN";
	measure();
	check_setting("NCCL_DEBUG", "WARN", "environment");
	ck_assert_str_eq(fake_string(context, "rank.setting", "UCX_TLS"), "not set");
	ck_assert_ptr_nonnull(
		strstr(fake_reason(context, "rank.setting", "NCCL_NET"), "/etc/nccl.conf: has 65537 bytes"));
	ck_assert_ptr_nonnull(strstr(fake_reason(context, "node.topo_file", NULL), "/etc/nccl.conf: has 65537 bytes"));
}

TEST(without_an_environment_there_is_nothing_to_tell)
{
	struct muster_error err;
	environment_block = NULL;
	ck_assert_int_eq(muster_probe_environment.run(&context->ctx, &err), -1);
	ck_assert_str_eq(err.text, "/proc/self/environ: not here");
}

TEST(only_the_leader_speaks_for_the_node)
{
	struct muster_error err;
	context->ctx.env.leader = false;
	environment_block = "NCCL_TOPO_FILE=/topo.xml";
	ck_assert_int_eq(muster_probe_environment.run(&context->ctx, &err), 0);
	ck_assert_uint_eq(fake_count(context, "rank.setting"), MUSTER_SETTINGS_NAMED);
	ck_assert_uint_eq(fake_count(context, "node.topo_file"), 0);
	ck_assert_uint_eq(fake_count(context, "node.topo_file_agrees"), 0);
}

#define CPU(numa, mask, gpu) "<cpu numaid=\"" numa "\" affinity=\"" mask "\">" gpu "</cpu>"
#define GPU(id) "<pci busid=\"ffff:ff:01.0\" class=\"0x060400\"><pci busid=\"" id "\" class=\"0x030200\"/></pci>"
#define GPU_0 GPU("0001:00:00.0")
#define GPU_1 GPU("000B:00:00.0")

static const struct {
	const char *text, *differs; /* differs NULL: it agrees */
} files[] = {
	{ CPU("0", "00000003", GPU_0) CPU("1", "0000000c", GPU_1), NULL },
	{ CPU("1", "c", GPU_1) CPU("0", "00000000,00000003", GPU_0 GPU("0009:00:00.0")), NULL },
	{ CPU("-1", "f", "") CPU("1", "c", GPU_1) CPU("0", "3", GPU_0), NULL },
	{ "<cpu numaid=\"0\">" GPU_0 "</cpu><cpu numaid=\"1\">" GPU_1 "</cpu>", NULL },
	{ CPU("0", "3", GPU_1) CPU("1", "c", GPU_0), "GPU 0001:00:00.0: NUMA node 1 in the file, 0 in the kernel; "
						     "GPU 000b:00:00.0: NUMA node 0 in the file, 1 in the kernel" },
	{ CPU("0", "c", GPU_0) CPU("1", "3", GPU_1), "NUMA node 0: CPUs 2-3 in the file, 0-1 in the kernel; "
						     "NUMA node 1: CPUs 0-1 in the file, 2-3 in the kernel" },
	{ CPU("0", "3,3", GPU_0) CPU("1", "0", GPU_1), "NUMA node 0: CPUs 0-1,32-33 in the file, 0-1 in the kernel; "
						       "NUMA node 1: CPUs none in the file, 2-3 in the kernel" },
	{ CPU("0", "3", GPU_0) CPU("1", "c", ""), "GPU 000b:00:00.0 is not in the file" },
	{ CPU("0", "3", GPU_0) CPU("1", "c", GPU_1) CPU("2", "f", ""),
		"NUMA node 2 is in the file but not in the kernel" },
	{ CPU("0", "3", GPU_0) CPU("1", "c", "") GPU_1, "GPU 000b:00:00.0: no NUMA node in the file, 1 in the kernel" },
	{ "</system><system>", "it cannot be read: line 1: junk after document element" },
};

static void put_topo(const char *text)
{
	char *whole = muster_asprintf("<system version=\"1\">%s</system>", text);
	fake_file(context, "/opt/topo.xml", whole);
	free(whole);
	environment_block = "NCCL_TOPO_FILE=/opt/topo.xml";
}

TEST_WITH(a_topology_file_agrees_with_the_kernel_or_says_where_it_does_not, .end = LENGTH(files), .skip = !WITH_EXPAT)
{
	put_topo(files[_i].text);
	measure();
	ck_assert_str_eq(fake_string(context, "node.topo_file", NULL), "/opt/topo.xml");
	if (files[_i].differs)
		ck_assert_str_eq(fake_string(context, "node.topo_file_differs", NULL), files[_i].differs);
	else
		ck_assert_str_eq(fake_reason(context, "node.topo_file_differs", NULL), "the file agrees");
	ck_assert(fake_boolean(context, "node.topo_file_agrees", NULL) == !files[_i].differs);
}

TEST_WITH(of_many_differences_the_first_eight_are_told, .end = 1, .skip = !WITH_EXPAT)
{
	char text[1024] = "";
	for (int i = 2; i < 13; i++)
		snprintf(text + strlen(text), sizeof text - strlen(text), "<cpu numaid=\"%d\"/>", i);
	put_topo(text);
	measure();
	const char *differs = fake_string(context, "node.topo_file_differs", NULL);
	ck_assert_ptr_nonnull(strstr(differs, "NUMA node 9 is in the file but not in the kernel; and 5 more"));
	ck_assert_ptr_null(strstr(differs, "NUMA node 10"));
}

TEST_WITH(a_gpu_whose_node_nobody_knows_leaves_it_open_unless_something_else_differs, .end = 1, .skip = !WITH_EXPAT)
{
	put_pci("000c:00:00.0", "0x10de\n", "0x030200\n", "-1\n");
	put_topo(CPU("0", "3", GPU_0) CPU("1", "c", GPU_1 GPU("000c:00:00.0")));
	measure();
	ck_assert_ptr_nonnull(strstr(fake_reason(context, "node.topo_file_agrees", NULL), "GPU 000c:00:00.0: "));
	ck_assert_str_eq(fake_reason(context, "node.topo_file_differs", NULL),
		fake_reason(context, "node.topo_file_agrees", NULL));
	ck_assert_str_eq(fake_string(context, "node.topo_file", NULL), "/opt/topo.xml");
	fake_forget(context);
	put_topo(CPU("0", "3", GPU_1) CPU("1", "c", GPU_0 GPU("000c:00:00.0")));
	measure();
	ck_assert(!fake_boolean(context, "node.topo_file_agrees", NULL));
}

static const struct {
	const char *value, *why;
} paths[] = {
	{ "", "NCCL_TOPO_FILE is empty (environment)" },
	{ "/opt/absent.xml", "/opt/absent.xml: No such file or directory" },
	{ "/opt", "/opt: is not a regular file" },
};

TEST_EACH(a_file_that_cannot_be_read_is_no_file, paths)
{
	char block[128];
	snprintf(block, sizeof block, "NCCL_TOPO_FILE=%s", paths[_i].value);
	put_topo("");
	environment_block = block;
	measure();
	ck_assert_ptr_nonnull(strstr(fake_reason(context, "node.topo_file", NULL), paths[_i].why));
	ck_assert_ptr_nonnull(strstr(fake_reason(context, "node.topo_file_agrees", NULL), paths[_i].why));
	check_setting("NCCL_TOPO_FILE", paths[_i].value, "environment");
}

TEST(a_file_that_is_too_long_is_there_but_not_judged)
{
	char *text = muster_calloc((1 << 20) + 2, 1);
	memset(text, ' ', (1 << 20) + 1);
	fake_file(context, "/opt/topo.xml", text);
	free(text);
	environment_block = "NCCL_TOPO_FILE=opt/topo.xml"; /* as seen from the root */
	measure();
	ck_assert_str_eq(fake_string(context, "node.topo_file", NULL), "opt/topo.xml");
	ck_assert_ptr_nonnull(strstr(fake_reason(context, "node.topo_file_agrees", NULL), "has 1048577 bytes"));
}

TEST_WITH(without_gpus_there_is_nothing_to_agree_with, .end = 1, .skip = !WITH_EXPAT)
{
	put_topo(CPU("0", "3", GPU_0));
	ck_assert_int_eq(chdir(context->root), 0);
	ck_assert_int_eq(rename("sys/bus/pci", "pci"), 0);
	measure();
	ck_assert_str_eq(fake_reason(context, "node.topo_file_agrees", NULL),
		"the kernel shows no NVIDIA GPU to compare with the file");
}

TEST(each_file_that_is_read_is_a_step)
{
	char *steps = muster_asprintf("getpwuid: look up the home directory\nread %s/.nccl.conf\nread /etc/nccl.conf\n",
		getpwuid(getuid())->pw_dir);
	measure();
	ck_assert_str_eq(context->steps, steps);
	free(steps);
	fake_forget(context);
	put_topo(CPU("0", "3", GPU_0) CPU("1", "c", GPU_1));
	environment_block = "NCCL_CONF_FILE=/opt/nccl.conf|NCCL_TOPO_FILE=/opt/topo.xml";
	measure();
	ck_assert_str_eq(context->steps,
		WITH_EXPAT ? "read /opt/nccl.conf\nread /etc/nccl.conf\nread /opt/topo.xml\nhwloc: load the topology\n"
			   : "read /opt/nccl.conf\nread /etc/nccl.conf\nread /opt/topo.xml\n");
}

TEST(an_empty_name_of_a_file_is_no_name)
{
	environment_block = "NCCL_CONF_FILE=";
	put_home_conf("NCCL_DEBUG=INFO\n");
	measure();
	ck_assert_str_eq(fake_string(context, "rank.setting", "NCCL_DEBUG"), "INFO");
}

TEST_LOOP(a_named_file_that_is_too_long_leaves_unknown_what_it_may_set, 0, 2)
{
	char *text = muster_calloc(MUSTER_SETTINGS_FILE_MAX + 2, 1);
	memset(text, '#', MUSTER_SETTINGS_FILE_MAX + 1);
	if (_i == 0) {
		fake_file(context, "/opt/nccl.conf", text);
		environment_block = "NCCL_CONF_FILE=/opt/nccl.conf";
	} else {
		put_home_conf(text);
	}
	free(text);
	measure();
	ck_assert_ptr_nonnull(strstr(fake_reason(context, "rank.setting", "NCCL_NET"), "nccl.conf: has 65537 bytes"));
}

TEST(a_relative_name_counts_from_the_root)
{
	environment_block = "NCCL_CONF_FILE=opt/nccl.conf";
	fake_file(context, "/opt/nccl.conf", "NCCL_DEBUG=VERSION\n");
	measure();
	check_setting("NCCL_DEBUG", "VERSION", "opt/nccl.conf");
}

TEST_WITH(of_exactly_eight_differences_all_are_told, .end = 1, .skip = !WITH_EXPAT)
{
	char text[1024] = "";
	for (int i = 2; i < 8; i++)
		snprintf(text + strlen(text), sizeof text - strlen(text), "<cpu numaid=\"%d\"/>", i);
	put_topo(text);
	measure();
	const char *differs = fake_string(context, "node.topo_file_differs", NULL);
	ck_assert_ptr_nonnull(strstr(differs, "; GPU 000b:00:00.0 is not in the file"));
	ck_assert_ptr_null(strstr(differs, "more"));
}

/* One NUMA node with one CPU, which is the first of those that muster does not know. */
TEST_WITH(a_node_with_too_many_cpus_cannot_be_compared, .end = 1, .skip = !WITH_EXPAT)
{
	char words[4 * (MUSTER_CPUS_MAX / 32) + 1], *xml;
	for (size_t i = 0; i < MUSTER_CPUS_MAX / 32; i++)
		memcpy(words + 4 * i, ",0x0", 5);
	xml = muster_asprintf(
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n"
		"<topology version=\"2.0\">\n<object type=\"Machine\" os_index=\"0\" gp_index=\"1\"" SETS(
			"0x1%s", "0x1") ">\n"
					"<object type=\"NUMANode\" os_index=\"0\" gp_index=\"2\" "
					"local_memory=\"1073741824\"" SETS("0x1%s",
						"0x1") "/>\n"
						       "<object type=\"PU\" os_index=\"%d\" gp_index=\"3\"" SETS(
							       "0x1%s", "0x1") "/>\n</object>\n</topology>\n",
		words, words, words, words, MUSTER_CPUS_MAX, words, words);
	put_machine(xml);
	free(xml);
	put_topo(CPU("0", "3", GPU_0 GPU_1));
	measure();
	ck_assert_str_eq(
		fake_reason(context, "node.topo_file_agrees", NULL), "a CPU set of hwloc goes beyond 4096 CPUs");
	ck_assert_str_eq(fake_string(context, "node.topo_file", NULL), "/opt/topo.xml");
}

static const struct {
	const char *vendor, *class_code;
	bool gpu;
} devices[] = {
	{ "0x10de\n", "0x030200\n", true },
	{ "0x10de\n", "0x030000\n", true },
	{ "0x10de\n", "0x030100\n", false },
	{ "0x10de\n", "0x068000\n", false }, /* an NVSwitch */
	{ "0x1002\n", "0x030200\n", false },
	{ "0x10de\n", "display\n", false },
	{ "nvidia\n", "0x030200\n", false },
};

TEST_WITH(a_gpu_of_nvidia_is_known_by_vendor_and_class, .end = LENGTH(devices), .skip = !WITH_EXPAT)
{
	put_pci("000d:00:00.0", devices[_i].vendor, devices[_i].class_code, "0\n");
	put_topo(CPU("0", "3", GPU_0) CPU("1", "c", GPU_1));
	measure();
	ck_assert(fake_boolean(context, "node.topo_file_agrees", NULL) == !devices[_i].gpu);
}

TEST_MAIN(.setup = setup, .teardown = teardown)
