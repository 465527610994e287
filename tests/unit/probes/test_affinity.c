/* SPDX-License-Identifier: Apache-2.0 */
/* test_affinity.c - masks, NUMA nodes and NICs on machines of our own making
 *
 * hwloc loads each machine from XML and asks the kernel for the mask; sched_getaffinity below is that kernel.
 */
#include "check_main.h"
#include "probe_fake.h"
#include "util/cpuset.h"

#include "system/topology.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

extern const struct muster_probe muster_probe_affinity;

static struct probe_fake *context;
static const char *scripted_mask;

__attribute__((visibility("default"))) int sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set)
{
	(void)pid;
	if (size < 128) { /* as the kernel does for a set smaller than its own */
		errno = EINVAL;
		return -1;
	}
	CPU_ZERO_S(size, set);
	hwloc_bitmap_t cpus = muster_cpuset_parse_mask(scripted_mask, NULL);
	ck_assert_ptr_nonnull(cpus);
	for (unsigned int cpu = 0; cpu < size * 8; cpu++)
		if (hwloc_bitmap_isset(cpus, cpu))
			CPU_SET_S(cpu, size, set);
	hwloc_bitmap_free(cpus);
	return 0;
}

/* What the kernel says of this thread's memory: a policy by its number in linux/mempolicy.h, and its nodes as a mask. A
 * negative policy: the call is forbidden, as in many containers (-1), or the kernel lacks it (-2). */
enum { POLICY_DEFAULT = 0, POLICY_BIND = 2, POLICY_INTERLEAVE = 3 };
static struct {
	int policy;
	unsigned long nodes;
} scripted_memory;

/* hwloc makes this call by its number. */
__attribute__((visibility("default"))) long syscall(long number, ...)
{
	long a[6];
	va_list list;
	va_start(list, number);
	for (size_t i = 0; i < sizeof a / sizeof *a; i++)
		a[i] = va_arg(list, long);
	va_end(list);
	if (number != SYS_get_mempolicy) {
		long (*real)(long, ...) = (long (*)(long, ...))(uintptr_t)dlsym(RTLD_NEXT, "syscall");
		return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
	}
	if (scripted_memory.policy < 0) {
		errno = scripted_memory.policy == -1 ? EPERM : ENOSYS;
		return -1;
	}
	int *policy = (int *)(uintptr_t)a[0];
	unsigned long *nodes = (unsigned long *)(uintptr_t)a[1];
	if (policy)
		*policy = scripted_memory.policy;
	if (nodes)
		nodes[0] = scripted_memory.nodes;
	return 0;
}

/* A policy that hwloc names in place of the kernel's; INT_MIN: none. */
static int scripted_policy = INT_MIN;

__attribute__((visibility("default"))) int hwloc_get_membind(
	hwloc_topology_t topology, hwloc_bitmap_t set, hwloc_membind_policy_t *policy, int flags)
{
	int (*real)(hwloc_topology_t, hwloc_bitmap_t, hwloc_membind_policy_t *, int) = (int (*)(hwloc_topology_t,
		hwloc_bitmap_t, hwloc_membind_policy_t *, int))(uintptr_t)dlsym(RTLD_NEXT, "hwloc_get_membind");
	if (scripted_policy == INT_MIN)
		return real(topology, set, policy, flags);
	hwloc_bitmap_only(set, 1);
	*policy = (hwloc_membind_policy_t)scripted_policy;
	return 0;
}

/* What hwloc says of this thread's CPUs: the kernel's answer, an error, or a CPU beyond the last that muster knows. */
static enum cpus_answer { CPUS_OF_KERNEL, CPUS_REFUSED, CPUS_BEYOND } scripted_cpus;

__attribute__((visibility("default"))) int hwloc_get_cpubind(hwloc_topology_t topology, hwloc_bitmap_t set, int flags)
{
	int (*real)(hwloc_topology_t, hwloc_bitmap_t, int) =
		(int (*)(hwloc_topology_t, hwloc_bitmap_t, int))(uintptr_t)dlsym(RTLD_NEXT, "hwloc_get_cpubind");
	if (scripted_cpus == CPUS_OF_KERNEL)
		return real(topology, set, flags);
	hwloc_bitmap_only(set, MUSTER_CPUS_MAX);
	errno = EPERM;
	return scripted_cpus == CPUS_REFUSED ? -1 : 0;
}

/* Memory without CPUs, as the node after the others: beside node 1, or beside the whole machine with the kernel's
 * distances to say more. */
enum hbm { HBM_NONE, HBM_BESIDE_1, HBM_NEAR_2, HBM_NEAR_NONE };

/* A machine of NUMA nodes with so many CPUs each. Each node holds one GPU, whose PCI domain is the node's number plus
 * one. */
struct machine {
	unsigned int nodes, cpus;
	unsigned int package_nodes; /* NUMA nodes of a package; 0: there are no packages */
	const char *allowed_nodes;  /* what a cgroup leaves, as hwloc's mask; NULL: all */
	enum hbm hbm;
	bool at_root; /* hwloc does not know where the PCI devices are */
	bool wrong;   /* hwloc thinks that they are all at node 0 */
};

static void print_object(
	FILE *out, const char *type, unsigned int index, hwloc_bitmap_t cpus, unsigned int nodes, const char *more)
{
	static unsigned int unique = 1;
	char *set = NULL;
	hwloc_bitmap_asprintf(&set, cpus);
	fprintf(out,
		"<object type=\"%s\" os_index=\"%u\" cpuset=\"%s\" complete_cpuset=\"%s\" nodeset=\"0x%08x\" "
		"complete_nodeset=\"0x%08x\" gp_index=\"%u\" %s>\n",
		type, index, set, set, nodes, nodes, unique++, more);
	free(set);
}

/* The node without CPUs is 15 from node 2 and 40 from the others; or as far from all. */
static void print_distances(FILE *out, const struct machine *m)
{
	char indexes[256] = "", values[1024] = "";
	for (unsigned int row = 0; row <= m->nodes; row++) {
		snprintf(indexes + strlen(indexes), sizeof indexes - strlen(indexes), "%u ", row);
		for (unsigned int column = 0; column <= m->nodes; column++) {
			bool near = row + column == m->nodes + 2 && (row == 2 || column == 2);
			int value = row == column ? 10 : near && m->hbm == HBM_NEAR_2 ? 15 : 40;
			snprintf(values + strlen(values), sizeof values - strlen(values), "%d ", value);
		}
	}
	fprintf(out,
		"<distances2 type=\"NUMANode\" nbobjs=\"%u\" kind=\"5\" name=\"NUMALatency\" indexing=\"os\">\n"
		"<indexes length=\"%zu\">%s</indexes>\n<u64values length=\"%zu\">%s</u64values>\n</distances2>\n",
		m->nodes + 1, strlen(indexes), indexes, strlen(values), values);
}

static void print_gpu(FILE *out, unsigned int number)
{
	fprintf(out,
		"<object type=\"Bridge\" gp_index=\"%u\" bridge_type=\"0-1\" depth=\"0\" bridge_pci=\"%04x:[00-00]\">\n"
		"<object type=\"PCIDev\" gp_index=\"%u\" pci_busid=\"%04x:00:00.0\" "
		"pci_type=\"0302 [10de:20b0] [10de:134f] a1\" pci_link_speed=\"0\"/>\n</object>\n",
		10000 + number, number, 20000 + number, number);
}

static void write_machine(const struct machine *m)
{
	static const char memory[] = "local_memory=\"1073741824\"";
	char path[4096];
	snprintf(path, sizeof path, "%s/topology.xml", context->root);
	FILE *out = fopen(path, "we");
	ck_assert_ptr_nonnull(out);
	hwloc_bitmap_t all = hwloc_bitmap_alloc(), some = hwloc_bitmap_alloc();
	unsigned int hbm = m->hbm ? 1u << m->nodes : 0, every = (1u << m->nodes) - 1 + hbm;
	hwloc_bitmap_set_range(all, 0, (int)(m->nodes * m->cpus) - 1);
	fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n"
	      "<topology version=\"2.0\">\n",
		out);
	char allowed[80] = "";
	if (m->allowed_nodes)
		snprintf(allowed, sizeof allowed, "allowed_nodeset=\"%s\"", m->allowed_nodes);
	print_object(out, "Machine", 0, all, every, allowed);
	if (m->hbm > HBM_BESIDE_1) {
		print_object(out, "NUMANode", m->nodes, all, hbm, memory);
		fputs("</object>\n", out);
	}
	for (unsigned int node = 0; node < m->nodes; node++) {
		unsigned int first = node * m->cpus, own = 1u << node;
		unsigned int local = own | (m->hbm > HBM_BESIDE_1 || (m->hbm && node == 1) ? hbm : 0);
		if (m->package_nodes && node % m->package_nodes == 0) {
			hwloc_bitmap_zero(some);
			hwloc_bitmap_set_range(some, first, (int)(first + m->package_nodes * m->cpus) - 1);
			print_object(out, "Package", node / m->package_nodes, some,
				((1u << m->package_nodes) - 1) << node, "");
		}
		hwloc_bitmap_zero(some);
		hwloc_bitmap_set_range(some, first, (int)(first + m->cpus) - 1);
		print_object(out, "Group", node, some, local, "kind=\"0\" subkind=\"0\"");
		print_object(out, "NUMANode", node, some, own, memory);
		fputs("</object>\n", out);
		if (m->hbm == HBM_BESIDE_1 && node == 1) {
			print_object(out, "NUMANode", m->nodes, some, hbm, memory);
			fputs("</object>\n", out);
		}
		for (unsigned int cpu = first; cpu < first + m->cpus; cpu++) {
			hwloc_bitmap_only(some, cpu);
			print_object(out, "PU", cpu, some, local, "");
			fputs("</object>\n", out);
		}
		if (!m->at_root && !m->wrong)
			print_gpu(out, node + 1);
		for (unsigned int gpu = 1; m->wrong && node == 0 && gpu <= m->nodes; gpu++)
			print_gpu(out, gpu);
		fputs("</object>\n", out);
		if (m->package_nodes && (node + 1) % m->package_nodes == 0)
			fputs("</object>\n", out);
	}
	for (unsigned int gpu = 1; m->at_root && gpu <= m->nodes; gpu++)
		print_gpu(out, gpu);
	fputs("</object>\n", out);
	if (m->hbm > HBM_BESIDE_1)
		print_distances(out, m);
	fputs("</topology>\n", out);
	ck_assert_int_eq(fclose(out), 0);
	hwloc_bitmap_free(all);
	hwloc_bitmap_free(some);
	setenv("HWLOC_XMLFILE", path, 1);
	setenv("HWLOC_THISSYSTEM", "1", 1);
}

/* Standard_ND96asr_v4 as far as CPUs go, unless a row changes it. */
static struct machine machine;

#define MACHINE(field) FAKE_KNOB(#field, machine.field)

static const struct fake_knob knobs[] = { FAKE_KNOB("hwloc_nodes", machine.nodes), MACHINE(cpus), MACHINE(hbm),
	MACHINE(package_nodes), MACHINE(allowed_nodes), MACHINE(at_root), MACHINE(wrong),
	FAKE_KNOB("mask", scripted_mask), FAKE_KNOB("policy", scripted_memory.policy),
	FAKE_KNOB("policy_nodes", scripted_memory.nodes), FAKE_KNOB("named_policy", scripted_policy),
	FAKE_KNOB("cpus_answer", scripted_cpus), { .name = NULL } };

static void setup(void)
{
	context = fake_new(&muster_probe_affinity);
	context->knobs = knobs;
	machine = (struct machine){ .nodes = 4, .cpus = 24 };
	scripted_mask = "1";
	scripted_memory.policy = POLICY_DEFAULT;
	scripted_memory.nodes = 0;
	scripted_policy = INT_MIN;
	scripted_cpus = CPUS_OF_KERNEL;
}

static void teardown(void)
{
	fake_free(context);
}

#define NODE_OF(gpu, node) "/sys/bus/pci/devices/000" gpu ":00:00.0/numa_node=" node
#define TASK(mask, gpu, node, locality, list, cpus, nodes)                                                             \
	{                                                                                                              \
		"the mask is compared with the GPU's node as a set: " locality, gpu,                                   \
			"mask=" mask " | " NODE_OF(gpu, node),                                                         \
			"rank.cpu_mask '" mask " | rank.cpu_list '" list " | rank.cpus " cpus                          \
			" | rank.cpu_numa_nodes " nodes " | rank.cpu_locality '" locality                              \
			" | rank.gpu_numa_node " node                                                                  \
	}
#define UNKNOWN(why)                                                                                                   \
	"rank.gpu_numa_node -*" why "* | rank.gpu_cpu_mask -*" why "* | rank.gpu_cpu_list -*" why                      \
	"* | rank.cpu_locality -*" why "* | rank.near_nics -*" why "* | rank.cpu_mask '1"
#define NIC(name, node) "/sys/class/infiniband/" name "/device/numa_node=" node " | "
#define POLICY(policy, nodes, gpu, text, locality)                                                                     \
	{                                                                                                              \
		"the memory policy is compared with the GPU's node", gpu,                                              \
			"policy=" policy " | policy_nodes=" nodes " | " NODE_OF("2", "1"),                             \
			"rank.memory_policy " text " | rank.memory_locality " locality                                 \
	}
#define SHARES(list, mask, node, package)                                                                              \
	{                                                                                                              \
		"the shares of CPUs on the GPU's node and package: " list, "2",                                        \
			"package_nodes=2 | mask=" mask " | " NODE_OF("2", "1"),                                        \
			"rank.near_share " node " | rank.package_share " package                                       \
	}
#define NAMED(policy, text)                                                                                            \
	{                                                                                                              \
		"each policy of hwloc has its name or is null", "2", "named_policy=" policy " | " NODE_OF("2", "1"),   \
			"rank.memory_policy " text                                                                     \
	}

static const struct {
	const char *name, *gpu, *given, *expected; /* gpu: the digit of its PCI domain; NULL: there is none */
} rows[] = {
	/* the masks of srun's mask_cpu for the eight tasks of a node, and where each task's GPU is */
	TASK("ffffff000000", "2", "1", "inside", "24-47", "24", "1"),
	TASK("ffffff", "1", "0", "inside", "0-23", "24", "1"),
	TASK("ffffff000000000000000000", "4", "3", "inside", "72-95", "24", "1"),
	TASK("ffffff000000000000", "3", "2", "inside", "48-71", "24", "1"),
	/* the widely copied mask that lost a zero */
	TASK("ffffff00000000000", "3", "2", "overlaps", "44-67", "24", "2"),
	/* GPU and mask of different sockets */
	TASK("ffffff", "4", "3", "outside", "0-23", "24", "1"),
	/* no binding at all */
	TASK("ffffffffffffffffffffffff", "1", "0", "covers", "0-95", "96", "4"),
	TASK("1000000", "2", "1", "inside", "24", "1", "1"),
	{ "the right mask is told as srun takes it", "3", "mask=ffffff00000000000 | " NODE_OF("3", "2"),
		"rank.gpu_cpu_mask 'ffffff000000000000 | rank.gpu_cpu_list '48-71" },
	{ "without a GPU the CPUs are still told", NULL, NULL, UNKNOWN("CUDA shows no GPU") },
	{ "an unknown node is taken from where hwloc places the GPU", "3", NODE_OF("3", "-1"), "rank.gpu_numa_node 2" },
	{ "a GPU that nobody can place is inside of nothing", "3", "at_root=1 | " NODE_OF("3", "-1"),
		UNKNOWN("numa_node is -1, and hwloc places it near 4 NUMA nodes") },
	/* neither sysfs nor hwloc knows it */
	{ "on a machine of one node every GPU is at it", "9", "hwloc_nodes=1 | cpus=4 | at_root=1",
		"rank.gpu_numa_node 0 | rank.gpu_cpu_mask 'f | rank.cpu_locality 'inside" },
	{ "kernel and hwloc in contradiction leave it open", "3", "wrong=1 | " NODE_OF("3", "2"),
		UNKNOWN("numa_node is 2, but hwloc places 0003:00:00.0 near other CPUs") },
	{ "a node that hwloc does not have leaves it open", "3", NODE_OF("3", "7"),
		UNKNOWN("numa_node is 7, and hwloc knows no such NUMA node") },
	{ "a GPU's node with too many CPUs is unknown", "1", "hwloc_nodes=1 | cpus=4097 | " NODE_OF("1", "0"),
		UNKNOWN("a CPU set of hwloc goes beyond 4096 CPUs") },
	/* two nodes a package: the mask of node 1's neighbour, of the other package, and of no binding */
	SHARES("24-47", "ffffff000000", "1", "1"),
	SHARES("0-23", "ffffff", "0", "1"),
	SHARES("48-71", "ffffff000000000000", "0", "0"),
	SHARES("0-95", "ffffffffffffffffffffffff", "0.25", "0.5"),
	{ "what the kernel and hwloc say of the node's CPUs must agree", "2",
		"/sys/devices/system/node/node1/cpulist=0-23,48-71 | " NODE_OF("2", "1"),
		UNKNOWN("NUMA node 1 has CPUs 0-23,48-71 for the kernel and 24-47 for hwloc") },
	{ "hwloc may know fewer CPUs than the kernel", "2",
		"/sys/devices/system/node/node1/cpulist=24-59 | " NODE_OF("2", "1"), "rank.gpu_numa_node 1" },
	{ "a cgroup that leaves memory of other nodes only is told", "2", "allowed_nodes=0xd | " NODE_OF("2", "1"),
		"rank.memory_policy 'default:0,2-3 | rank.memory_locality 'outside | rank.memory_near 0" },
	{ "a cgroup that leaves the memory of the node is no reason", "2", "allowed_nodes=0x2 | " NODE_OF("2", "1"),
		"rank.memory_policy 'default:1 | rank.memory_locality 'inside | rank.memory_near 1" },
	/* hbm: 1 beside node 1, 2 near node 2, 3 near none */
	{ "memory without CPUs leads to the node beside it", "2", "hbm=1 | mask=ffffff000000 | " NODE_OF("2", "4"),
		"rank.gpu_numa_node 1 | rank.cpu_locality 'inside | rank.cpu_numa_nodes 1" },
	{ "memory without CPUs leads to the nearest node by distance", "3", "hbm=2 | " NODE_OF("3", "4"),
		"rank.gpu_numa_node 2 | rank.gpu_cpu_list '48-71" },
	{ "memory as far from every node leads nowhere", "4", "hbm=3 | " NODE_OF("4", "4"),
		UNKNOWN("which has no CPUs") },
	/* the order in which a kernel really found them once: 3 3 2 0 2 1 0 1 */
	{ "near NICs are found by NUMA node and not by name", "1",
		NIC("mlx5_0", "3") NIC("mlx5_1", "3") NIC("mlx5_2", "2") NIC("mlx5_3", "0") NIC("mlx5_4", "2")
			NIC("mlx5_5", "1") NIC("mlx5_6", "0") NIC("mlx5_7", "1") NIC("mlx5_10", "0")
				NIC("mlx5_11", "-1") NODE_OF("1", "0"),
		"rank.near_nics 'mlx5_3 mlx5_6 mlx5_10 mlx5_11?" },
	{ "NICs all of whose nodes are unknown are not none", "1", NIC("mlx5_0", "-1") NODE_OF("1", "0"),
		"rank.near_nics -*numa_node is -1*" },
	{ "no NIC nearby is a fact", "1", NODE_OF("1", "0"), "rank.near_nics 'none" },
	{ "NICs that cannot be listed are unknown and the rest is told", "1",
		"/sys/class/infiniband=a file where the folder should be | " NODE_OF("1", "0"),
		"rank.near_nics -*/sys/class/infiniband: * | rank.gpu_numa_node 0" },

	/* of linux/mempolicy.h: 0 default, 2 bind, 3 interleave */
	POLICY("0", "0", "2", "'default", "'any"),
	POLICY("0", "0", NULL, "'default", "'any"),
	POLICY("2", "0x2", "2", "'bind:1", "'inside"),
	POLICY("2", "0x1", "2", "'bind:0", "'outside"),
	POLICY("2", "0x6", "2", "'bind:1-2", "'covers"),
	POLICY("3", "0xf", "2", "'interleave:0-3", "'covers"),
	POLICY("3", "0xc", "2", "'interleave:2-3", "'outside"),
	POLICY("2", "0x2", NULL, "'bind:1", "-*CUDA shows no GPU*"),
	POLICY("-1", "0", "2", "-*hwloc_get_membind*", "-*hwloc_get_membind*"),
	/* of hwloc: 0 default, 1 first touch, 4 next touch, -1 mixed */
	NAMED("0", "'default"),
	NAMED("1", "'default"),
	NAMED("4", "'next-touch:1"),
	NAMED("5", "-*has no name*"),
	NAMED("-1", "-*has no name*"),
};

TEST_EACH(a_rank_is_placed_beside_its_gpu_or_not, rows)
{
	char bus_id[] = "000N:00:00.0";
	if (rows[_i].gpu) {
		bus_id[3] = *rows[_i].gpu;
		fake_gpu(context, bus_id, "GPU-1");
	}
	fake_given(context, rows[_i].given);
	write_machine(&machine);
	fake_run(context);
	fake_complete(context, (const char *const[]){ "rank.cores_each", NULL });
	fake_expect(context, rows[_i].expected, rows[_i].name);
	fake_expect(context, "steps 'hwloc: load the topology; hwloc: CPUs and memory policy of this thread",
		rows[_i].name);
}

TEST(a_rank_without_a_gpu_may_have_no_reason)
{
	context->gpu.why_none[0] = '\0';
	write_machine(&machine);
	fake_case(context, &(struct fake_row){ "no reason", NULL, UNKNOWN("the rank has no GPU") });
}

/* What a user may not read on a healthy machine is no sign of a fault: a check that is optional does not apply then. */
static const struct {
	const char *policy, *unread;
} refusals[] = { { "policy=-1", "permission" }, { "policy=-2", NULL } };

TEST_EACH(a_container_may_forbid_to_ask_for_the_memory_policy, refusals)
{
	fake_gpu(context, "0002:00:00.0", "GPU-1");
	fake_given(context, refusals[_i].policy);
	fake_given(context, NODE_OF("2", "1"));
	write_machine(&machine);
	fake_run(context);
	const char *unread = muster_sample_unread(fake_sample(context, "rank.memory_near", NULL, NULL));
	ck_assert_pstr_eq(unread, refusals[_i].unread);
}

/* As srun writes it. */
TEST(a_mask_may_begin_with_0x)
{
	write_machine(&machine);
	fake_case(context, &(struct fake_row){ "0x", "mask=0xffffff000000000000000000",
				   "rank.cpu_mask 'ffffff000000000000000000" });
}

static const struct fake_row errors[] = {
	{ "CPUs that may not be asked", "cpus_answer=1", "error 'hwloc_get_cpubind: Operation not permitted" },
	{ "CPUs beyond the last", "cpus_answer=2", "error 'a CPU set of hwloc goes beyond 4096 CPUs" },
	{ "without a topology the error is hwloc's own",
		"HWLOC_XMLFILE=/nowhere/topology.xml | HWLOC_COMPONENTS=xml,stop", "error 'hwloc_topology_load: *" },
};

TEST_EACH(without_cpus_there_is_an_error_and_no_sample, errors)
{
	write_machine(&machine);
	fake_case(context, &errors[_i]);
	ck_assert_uint_eq(context->samples.count, 0);
}

TEST_MAIN(.setup = setup, .teardown = teardown)
