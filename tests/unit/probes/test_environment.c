/* SPDX-License-Identifier: Apache-2.0 */
/* test_environment.c - what steers a rank, and NCCL topology files against a machine of two NUMA nodes */
#include "check_main.h"
#include "probe_fake.h"

#include "system/settings.h"
#include "util/cpuset.h"
#include "vendor/nccl.h"

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

static int nccl; /* its version; 0: there is none */
static const char *home;

static ncclResult_t tell_version(int *version)
{
	*version = nccl;
	return ncclSuccess;
}

const struct muster_nccl *muster_nccl(struct muster_error *err)
{
	static const struct muster_nccl scripted = { .ncclGetVersion = tell_version };
	if (nccl)
		return &scripted;
	muster_fail(err, MUSTER_ELIB, "libnccl.so.2: not here");
	return NULL;
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

static void put_machine(const char *xml)
{
	char path[512];
	fake_file(context, "/topology.xml", xml);
	snprintf(path, sizeof path, "%s/topology.xml", context->root);
	setenv("HWLOC_XMLFILE", path, 1);
	setenv("HWLOC_THISSYSTEM", "1", 1);
}

static const struct fake_knob knobs[] = { FAKE_KNOB("started_with", environment_block), FAKE_KNOB("nccl", nccl),
	FAKE_KNOB("home", home), { .name = NULL } };

#define DEVICE(bus_id, vendor, class_code, numa_node)                                                                  \
	"/sys/bus/pci/devices/" bus_id "/vendor=" vendor " | /sys/bus/pci/devices/" bus_id "/class=" class_code        \
	" | /sys/bus/pci/devices/" bus_id "/numa_node=" numa_node " | "

static void setup(void)
{
	context = fake_new(&muster_probe_environment);
	context->knobs = knobs;
	put_machine(topology);
	fake_given(context,
		DEVICE("0001:00:00.0", "0x10de", "0x030200", "0") DEVICE("000b:00:00.0", "0x10de", "0x030000", "1")
			DEVICE("0002:00:00.0", "0x1414", "0x030000", "1") /* the console of a virtual machine */
		DEVICE("0101:00:00.0", "0x15b3", "0x020700", "1") "started_with=");
}

static void teardown(void)
{
	fake_free(context);
}

/* "HOME" stands for the user's home, and "LONG" for a line that is as long as a file of NCCL's settings may be. */
static const char *at_home(const char *text)
{
	static char longest[MUSTER_SETTINGS_FILE_MAX + 1];
	memset(longest, '#', MUSTER_SETTINGS_FILE_MAX);
	while (text) {
		const char *mine = strstr(text, "HOME"), *at = mine ? mine : strstr(text, "LONG");
		if (!at)
			break;
		text = muster_arena_printf(context->arena, "%.*s%s%s", (int)(at - text), text,
			mine ? getpwuid(getuid())->pw_dir : longest, at + 4);
	}
	return text;
}

#define CPU(numa, mask, gpu) "<cpu numaid=\"" numa "\" affinity=\"" mask "\">" gpu "</cpu>"
#define GPU(id) "<pci busid=\"ffff:ff:01.0\" class=\"0x060400\"><pci busid=\"" id "\" class=\"0x030200\"/></pci>"
#define GPU_0 GPU("0001:00:00.0")
#define GPU_1 GPU("000B:00:00.0")
#define RIGHT CPU("0", "3", GPU_0) CPU("1", "c", GPU_1)
#define TOPO(content)                                                                                                  \
	"/opt/topo.xml=<system version=\"1\">" content "</system> | started_with=NCCL_TOPO_FILE=/opt/topo.xml | "
#define AGREES(content)                                                                                                \
	{                                                                                                              \
		"a topology file agrees with the kernel", TOPO(content),                                               \
			"node.topo_file '/opt/topo.xml | node.topo_file_differs -the file agrees | "                   \
			"node.topo_file_agrees true"                                                                   \
	}
#define DIFFERS(content, how)                                                                                          \
	{                                                                                                              \
		"a topology file says where it does not agree", TOPO(content),                                         \
			"node.topo_file '/opt/topo.xml | node.topo_file_differs '" how                                 \
			" | node.topo_file_agrees false"                                                               \
	}
#define EMPTY_CPU(numa) "<cpu numaid=\"" numa "\"/>"
#define TWO_TO_SEVEN EMPTY_CPU("2") EMPTY_CPU("3") EMPTY_CPU("4") EMPTY_CPU("5") EMPTY_CPU("6") EMPTY_CPU("7")
#define UP_TO_TWELVE EMPTY_CPU("8") EMPTY_CPU("9") EMPTY_CPU("10") EMPTY_CPU("11") EMPTY_CPU("12")
#define NODE_OF_FILE(number) "NUMA node " number " is in the file but not in the kernel; "
#define NO_PLACE DEVICE("000c:00:00.0", "0x10de", "0x030200", "-1")
#define ADDED(vendor, class_code, agrees)                                                                              \
	{                                                                                                              \
		"a GPU of NVIDIA is known by vendor and class",                                                        \
			DEVICE("000d:00:00.0", vendor, class_code, "0") TOPO(RIGHT), "node.topo_file_agrees " agrees   \
	}

/* Rows that read a topology file, which needs expat. */
static const struct fake_row topology_rows[] = {
	AGREES(CPU("0", "00000003", GPU_0) CPU("1", "0000000c", GPU_1)),
	AGREES(CPU("1", "c", GPU_1) CPU("0", "00000000,00000003", GPU_0 GPU("0009:00:00.0"))),
	AGREES(CPU("-1", "f", "") CPU("1", "c", GPU_1) CPU("0", "3", GPU_0)),
	AGREES("<cpu numaid=\"0\">" GPU_0 "</cpu><cpu numaid=\"1\">" GPU_1 "</cpu>"),
	DIFFERS(CPU("0", "3", GPU_1) CPU("1", "c", GPU_0),
		"GPU 0001:00:00.0: NUMA node 1 in the file, 0 in the kernel; "
		"GPU 000b:00:00.0: NUMA node 0 in the file, 1 in the kernel"),
	DIFFERS(CPU("0", "c", GPU_0) CPU("1", "3", GPU_1), "NUMA node 0: CPUs 2-3 in the file, 0-1 in the kernel; "
							   "NUMA node 1: CPUs 0-1 in the file, 2-3 in the kernel"),
	DIFFERS(CPU("0", "3,3", GPU_0) CPU("1", "0", GPU_1),
		"NUMA node 0: CPUs 0-1,32-33 in the file, 0-1 in the kernel; "
		"NUMA node 1: CPUs none in the file, 2-3 in the kernel"),
	DIFFERS(CPU("0", "3", GPU_0) CPU("1", "c", ""), "GPU 000b:00:00.0 is not in the file"),
	DIFFERS(RIGHT CPU("2", "f", ""), "NUMA node 2 is in the file but not in the kernel"),
	DIFFERS(CPU("0", "3", GPU_0) CPU("1", "c", "") GPU_1,
		"GPU 000b:00:00.0: no NUMA node in the file, 1 in the kernel"),
	DIFFERS("</system><system>", "it cannot be read: line 1: junk after document element"),
	DIFFERS(TWO_TO_SEVEN UP_TO_TWELVE,
		NODE_OF_FILE("2") NODE_OF_FILE("3") NODE_OF_FILE("4") NODE_OF_FILE("5") NODE_OF_FILE("6")
			NODE_OF_FILE("7") NODE_OF_FILE("8") NODE_OF_FILE("9") "and 5 more"),
	DIFFERS(TWO_TO_SEVEN, "*; GPU 0001:00:00.0 is not in the file; GPU 000b:00:00.0 is not in the file"),
	{ "a GPU whose node nobody knows leaves it open",
		NO_PLACE TOPO(CPU("0", "3", GPU_0) CPU("1", "c", GPU_1 GPU("000c:00:00.0"))),
		"node.topo_file_agrees -*GPU 000c:00:00.0: * | node.topo_file_differs -*GPU 000c:00:00.0: * | "
		"node.topo_file '/opt/topo.xml" },
	{ "unless something else differs", NO_PLACE TOPO(CPU("0", "3", GPU_1) CPU("1", "c", GPU_0 GPU("000c:00:00.0"))),
		"node.topo_file_agrees false" },
	{ "a GPU of a virtual machine need not be in the file",
		DEVICE("000d:00:00.0", "0x10de", "0x030200", "0") "/sys/bus/pci/devices/000d:00:00.0/driver->vfio-pci "
								  "| " TOPO(RIGHT),
		"node.topo_file_agrees true" },
	ADDED("0x10de", "0x030200", "false"),
	ADDED("0x10de", "0x030000", "false"),
	ADDED("0x10de", "0x030100", "true"),
	ADDED("0x10de", "0x068000", "true"), /* an NVSwitch */
	ADDED("0x1002", "0x030200", "true"),
	ADDED("0x10de", "display", "true"),
	ADDED("nvidia", "0x030200", "true"),
};

static void play(const struct fake_row *row)
{
	static const char *const only_when_set[] = { "rank.setting_from", "rank.link_disabled", "node.setting_lacks",
		NULL };
	home = getpwuid(getuid())->pw_dir;
	fake_given(context, at_home(row->given));
	setenv("HOME", home, 1);
	fake_run(context);
	if (context->result == 0 && context->ctx.env.leader)
		fake_complete(context, only_when_set);
	fake_expect(context, at_home(row->expected), row->name);
}

TEST_WITH(a_topology_file_is_compared_with_the_kernel, .end = LENGTH(topology_rows), .skip = !WITH_EXPAT)
{
	play(&topology_rows[_i]);
}

#define IS(name, value) "rank.setting name=" name " '" value " | "
#define SETTING(name, value, from) IS(name, value) "rank.setting_from name=" name " '" from " | "
#define NO_FILE(path, why)                                                                                             \
	{                                                                                                              \
		"a file that cannot be read is no file", TOPO("") "started_with=NCCL_TOPO_FILE=" path,                 \
			SETTING("NCCL_TOPO_FILE", path, "environment") "node.topo_file -*" why                         \
								       "* | node.topo_file_agrees -*" why "*"          \
	}
#ifdef MUSTER_HAVE_EXPAT
#define LOADS "; hwloc: load the topology"
#else
#define LOADS
#endif
#define TWO_HOMES "/HOME/.nccl.conf=NCCL_NET=IB | /elsewhere/.nccl.conf=NCCL_NET=Socket"
#define TOO_LONG "nccl.conf: has 65537 bytes"

static const struct fake_row rows[] = {
	{ "what nobody sets is not set, and that is a fact", NULL,
		IS("CUDA_DEVICE_ORDER", "not set")
			IS("UCX_TLS", "not set") "rank.setting_from #0 | rank.settings_left_out 0 | node.topo_file "
						 "-NCCL_TOPO_FILE is not set | "
						 "node.topo_file_agrees -NCCL_TOPO_FILE is not set | "
						 "node.topo_file_differs -NCCL_TOPO_FILE is not set" },
	{ "without a job only NCCL's files could have set it", "in_job=0 | started_with=UCX_TLS=tcp",
		"rank.setting name=CUDA_DEVICE_ORDER -only a job's environment sets this variable, and this is not a "
		"job | " IS("UCX_TLS", "tcp") IS("NCCL_TOPO_FILE", "not set") },
	{ "the process' own changes do not count", "NCCL_DEBUG=INFO | UCX_TLS=tcp,self | OMPI_MCA_coll_hcoll_enable=0",
		IS("NCCL_DEBUG", "not set") IS("UCX_TLS", "not set") IS("OMPI_MCA_coll_hcoll_enable", "not set") },
	{ "the environment goes before the user's file, and that before the system's",
		"started_with=NCCL_DEBUG=WARN|OMPI_MCA_coll_hcoll_enable=0|NCCL_MIN_NCHANNELS=32 | "
		"/HOME/.nccl.conf=NCCL_DEBUG=INFO\nNCCL_NET=IB | "
		"/etc/nccl.conf=NCCL_DEBUG=TRACE\nNCCL_NET=Socket\nNCCL_ALGO=Ring",
		SETTING("NCCL_DEBUG", "WARN", "environment") SETTING("OMPI_MCA_coll_hcoll_enable", "0", "environment")
			SETTING("NCCL_MIN_NCHANNELS", "32", "environment") SETTING("NCCL_NET", "IB", "HOME/.nccl.conf")
				SETTING("NCCL_ALGO", "Ring", "/etc/nccl.conf") "rank.setting_from #5" },
	{ "a named file takes the place of the user's own",
		"started_with=NCCL_CONF_FILE=/opt/nccl.conf | /HOME/.nccl.conf=NCCL_DEBUG=INFO\nNCCL_PROTO=LL | "
		"/opt/nccl.conf=NCCL_DEBUG=VERSION | /etc/nccl.conf=NCCL_ALGO=Ring",
		SETTING("NCCL_DEBUG", "VERSION", "/opt/nccl.conf") SETTING("NCCL_ALGO", "Ring", "/etc/nccl.conf")
			SETTING("NCCL_CONF_FILE", "/opt/nccl.conf", "environment") IS("NCCL_PROTO", "not set") },
	{ "a relative name counts from the root",
		"started_with=NCCL_CONF_FILE=opt/nccl.conf | /opt/nccl.conf=NCCL_DEBUG=VERSION",
		SETTING("NCCL_DEBUG", "VERSION", "opt/nccl.conf") },
	{ "numbers as NCCL reads them",
		"started_with=NCCL_IB_DISABLE=0x1|NCCL_P2P_DISABLE=false|NCCL_NET= | "
		"/etc/nccl.conf=NCCL_IB_PCI_RELAXED_ORDERING=1\r\nNCCL_SHM_DISABLE=010\nNCCL_ALGO=Ring",
		SETTING("NCCL_IB_DISABLE", "1", "environment") SETTING("NCCL_P2P_DISABLE", "false", "environment")
			IS("NCCL_NET", "not set") SETTING("NCCL_IB_PCI_RELAXED_ORDERING", "1", "/etc/nccl.conf")
				SETTING("NCCL_SHM_DISABLE", "8", "/etc/nccl.conf")
					SETTING("NCCL_ALGO", "Ring", "/etc/nccl.conf") "rank.setting_from #5" },
	{ "up to 2.29 the user's file lies in the home of the password database",
		"nccl=22907 | home=/elsewhere | " TWO_HOMES, SETTING("NCCL_NET", "IB", "HOME/.nccl.conf") },
	{ "since 2.30 it lies in $HOME", "nccl=23003 | home=/elsewhere | " TWO_HOMES,
		SETTING("NCCL_NET", "Socket", "/elsewhere/.nccl.conf") },
	{ "where both are one, the version does not matter", TWO_HOMES, SETTING("NCCL_NET", "IB", "HOME/.nccl.conf") },
	{ "else an unknown version leaves the settings unknown", "home=/elsewhere | " TWO_HOMES,
		"rank.setting name=NCCL_NET -*up to 2.29 reads HOME/.nccl.conf, later ones /elsewhere/.nccl.conf, "
		"and the version is not known: libnccl.so.2: not here*" },
	{ "unless there is no such file", "home=/elsewhere | /etc/nccl.conf=NCCL_NET=IB",
		SETTING("NCCL_NET", "IB", "/etc/nccl.conf") },
	{ "a carriage return belongs to the value up to 2.29", "nccl=22907 | /etc/nccl.conf=NCCL_NET=IB\r",
		IS("NCCL_NET", "IB\r") },
	{ "and to the end of the line since 2.30", "nccl=23003 | /etc/nccl.conf=NCCL_NET=IB\r", IS("NCCL_NET", "IB") },
	{ "an empty name of a file is no name", "started_with=NCCL_CONF_FILE= | /HOME/.nccl.conf=NCCL_DEBUG=INFO",
		IS("NCCL_DEBUG", "INFO") },
	{ "a file that is too long leaves unknown what it may set",
		"started_with=NCCL_DEBUG=WARN | /etc/nccl.conf=LONG",
		SETTING("NCCL_DEBUG", "WARN", "environment")
			IS("UCX_TLS", "not set") "rank.setting name=NCCL_NET -*/etc/" TOO_LONG
						 "* | node.topo_file -*/etc/" TOO_LONG "*" },
	{ "a named file that is too long", "started_with=NCCL_CONF_FILE=/opt/nccl.conf | /opt/nccl.conf=LONG",
		"rank.setting name=NCCL_NET -*" TOO_LONG "*" },
	{ "a user's file that is too long", "/HOME/.nccl.conf=LONG", "rank.setting name=NCCL_NET -*" TOO_LONG "*" },
	{ "only the leader speaks for the node", "leader=0 | started_with=NCCL_TOPO_FILE=/topo.xml",
		"node.topo_file #0 | node.topo_file_agrees #0" },
	{ "an empty variable is no file", TOPO("") "started_with=NCCL_TOPO_FILE=",
		IS("NCCL_TOPO_FILE", "not set") "node.topo_file -*NCCL_TOPO_FILE is empty (environment)*" },
	NO_FILE("/opt/absent.xml", "/opt/absent.xml: No such file or directory"),
	NO_FILE("/opt", "/opt: is not a regular file"),
	{ "each file that is read is a step", NULL,
		"steps 'getpwuid: look up the home directory; read HOME/.nccl.conf; read /etc/nccl.conf" },
	{ "each file of a name that is read is a step",
		TOPO(RIGHT) "started_with=NCCL_CONF_FILE=/opt/nccl.conf|NCCL_TOPO_FILE=/opt/topo.xml",
		"steps 'read /opt/nccl.conf; read /etc/nccl.conf; read /opt/topo.xml" LOADS },
};

TEST_EACH(the_environment_and_nccls_files_are_told, rows)
{
	play(&rows[_i]);
	if (_i == 0 || !context->ctx.env.leader)
		ck_assert_uint_eq(fake_count(context, "rank.setting"), MUSTER_SETTINGS_NAMED);
}

TEST(without_an_environment_there_is_nothing_to_tell)
{
	environment_block = NULL;
	play(&(struct fake_row){ "no environment", NULL, "error '/proc/self/environ: not here" });
}

TEST(a_file_that_is_too_long_is_there_but_not_judged)
{
	char *text = muster_calloc((1 << 20) + 2, 1);
	memset(text, ' ', (1 << 20) + 1);
	fake_file(context, "/opt/topo.xml", text);
	free(text);
	/* as seen from the root */
	play(&(struct fake_row){ "too long", "started_with=NCCL_TOPO_FILE=opt/topo.xml",
		"node.topo_file 'opt/topo.xml | node.topo_file_agrees -*has 1048577 bytes*" });
}

TEST_WITH(without_gpus_there_is_nothing_to_agree_with, .end = 1, .skip = !WITH_EXPAT)
{
	ck_assert_int_eq(chdir(context->root), 0);
	ck_assert_int_eq(rename("sys/bus/pci", "pci"), 0);
	play(&(struct fake_row){ "no GPUs", TOPO(CPU("0", "3", GPU_0)),
		"node.topo_file_agrees -the kernel shows no NVIDIA GPU to compare with the file" });
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
	play(&(struct fake_row){ "too many CPUs", TOPO(CPU("0", "3", GPU_0 GPU_1)),
		"node.topo_file_agrees -a CPU set of hwloc goes beyond 4096 CPUs | node.topo_file '/opt/topo.xml" });
}

TEST_MAIN(.setup = setup, .teardown = teardown)
