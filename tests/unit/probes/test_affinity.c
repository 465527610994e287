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
 * negative policy: the call is forbidden, as in many containers. */
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
		errno = EPERM;
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
	print_object(out, "Machine", 0, all, every, "");
	if (m->hbm > HBM_BESIDE_1) {
		print_object(out, "NUMANode", m->nodes, all, hbm, memory);
		fputs("</object>\n", out);
	}
	for (unsigned int node = 0; node < m->nodes; node++) {
		unsigned int first = node * m->cpus, own = 1u << node;
		unsigned int local = own | (m->hbm > HBM_BESIDE_1 || (m->hbm && node == 1) ? hbm : 0);
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

/* Standard_ND96asr_v4 as far as CPUs go. */
static const struct machine nd = { .nodes = 4, .cpus = 24 };

static void setup(void)
{
	context = fake_new(&muster_probe_affinity);
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

static void place_gpu(const char *bus_id, const char *numa_node)
{
	char path[256], text[32];
	fake_gpu(context, bus_id, "GPU-1");
	snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/numa_node", bus_id);
	snprintf(text, sizeof text, "%s\n", numa_node);
	fake_file(context, path, text);
}

static void measure(void)
{
	struct muster_error err;
	ck_assert_msg(muster_probe_affinity.run(&context->ctx, &err) == 0, "%s", err.text);
	fake_complete(context, NULL);
	ck_assert_str_eq(context->steps, "hwloc: load the topology\nhwloc: CPUs and memory policy of this thread\n");
}

/* The masks of srun's mask_cpu for the eight tasks of a node, and where each task's GPU is. */
static const struct {
	const char *mask, *gpu, *numa_node, *locality, *list;
	double cpus, nodes;
} tasks[] = {
	{ "ffffff000000", "0002:00:00.0", "1", "inside", "24-47", 24, 1 },
	{ "ffffff", "0001:00:00.0", "0", "inside", "0-23", 24, 1 },
	{ "0xffffff000000000000000000", "0004:00:00.0", "3", "inside", "72-95", 24, 1 },
	{ "ffffff000000000000", "0003:00:00.0", "2", "inside", "48-71", 24, 1 },
	/* the widely copied mask that lost a zero */
	{ "ffffff00000000000", "0003:00:00.0", "2", "overlaps", "44-67", 24, 2 },
	/* GPU and mask of different sockets */
	{ "ffffff", "0004:00:00.0", "3", "outside", "0-23", 24, 1 },
	/* no binding at all */
	{ "ffffffffffffffffffffffff", "0001:00:00.0", "0", "covers", "0-95", 96, 4 },
	{ "1000000", "0002:00:00.0", "1", "inside", "24", 1, 1 },
};

TEST_EACH(the_mask_is_compared_with_the_gpus_node_as_a_set, tasks)
{
	write_machine(&nd);
	scripted_mask = tasks[_i].mask;
	place_gpu(tasks[_i].gpu, tasks[_i].numa_node);
	measure();
	const char *plain = strncmp(tasks[_i].mask, "0x", 2) == 0 ? tasks[_i].mask + 2 : tasks[_i].mask;
	ck_assert_str_eq(fake_string(context, "rank.cpu_mask", NULL), plain);
	ck_assert_str_eq(fake_string(context, "rank.cpu_list", NULL), tasks[_i].list);
	ck_assert_double_eq(fake_number(context, "rank.cpus", NULL), tasks[_i].cpus);
	ck_assert_double_eq(fake_number(context, "rank.cpu_numa_nodes", NULL), tasks[_i].nodes);
	ck_assert_str_eq(fake_string(context, "rank.cpu_locality", NULL), tasks[_i].locality);
	ck_assert_double_eq(fake_number(context, "rank.gpu_numa_node", NULL), strtod(tasks[_i].numa_node, NULL));
}

TEST(the_right_mask_is_told_as_srun_takes_it)
{
	write_machine(&nd);
	scripted_mask = "ffffff00000000000";
	place_gpu("0003:00:00.0", "2");
	measure();
	ck_assert_str_eq(fake_string(context, "rank.gpu_cpu_mask", NULL), "ffffff000000000000");
	ck_assert_str_eq(fake_string(context, "rank.gpu_cpu_list", NULL), "48-71");
}

static void expect_unknown(const char *part)
{
	static const char *const of_gpu[] = { "rank.gpu_numa_node", "rank.gpu_cpu_mask", "rank.gpu_cpu_list",
		"rank.cpu_locality", "rank.near_nics" };
	for (size_t i = 0; i < sizeof of_gpu / sizeof *of_gpu; i++)
		ck_assert_msg(strstr(fake_reason(context, of_gpu[i], NULL), part) != NULL, "%s is null: %s", of_gpu[i],
			fake_reason(context, of_gpu[i], NULL));
	ck_assert_str_eq(fake_string(context, "rank.cpu_mask", NULL), "1");
}

TEST(without_a_gpu_the_cpus_are_still_told)
{
	write_machine(&nd);
	measure();
	expect_unknown("CUDA shows no GPU");
	fake_forget(context);
	context->gpu.why_none[0] = '\0';
	measure();
	expect_unknown("the rank has no GPU");
}

TEST(an_unknown_node_is_taken_from_where_hwloc_places_the_gpu)
{
	write_machine(&nd);
	place_gpu("0003:00:00.0", "-1");
	measure();
	ck_assert_double_eq(fake_number(context, "rank.gpu_numa_node", NULL), 2);
}

TEST(a_gpu_that_nobody_can_place_is_inside_of_nothing)
{
	struct machine m = nd;
	m.at_root = true;
	write_machine(&m);
	place_gpu("0003:00:00.0", "-1");
	measure();
	expect_unknown("numa_node is -1, and hwloc places it near 4 NUMA nodes");
}

TEST(on_a_machine_of_one_node_every_gpu_is_at_it)
{
	struct machine m = { .nodes = 1, .cpus = 4, .at_root = true };
	write_machine(&m);
	fake_gpu(context, "0009:00:00.0", "GPU-1"); /* neither sysfs nor hwloc knows it */
	measure();
	ck_assert_double_eq(fake_number(context, "rank.gpu_numa_node", NULL), 0);
	ck_assert_str_eq(fake_string(context, "rank.gpu_cpu_mask", NULL), "f");
	ck_assert_str_eq(fake_string(context, "rank.cpu_locality", NULL), "inside");
}

TEST(kernel_and_hwloc_in_contradiction_leave_it_open)
{
	struct machine m = nd;
	m.wrong = true;
	write_machine(&m);
	place_gpu("0003:00:00.0", "2");
	measure();
	expect_unknown("numa_node is 2, but hwloc places 0003:00:00.0 near other CPUs");
}

TEST(a_node_that_hwloc_does_not_have_leaves_it_open)
{
	write_machine(&nd);
	place_gpu("0003:00:00.0", "7");
	measure();
	expect_unknown("numa_node is 7, and hwloc knows no such NUMA node");
}

TEST(memory_without_cpus_leads_to_the_node_beside_it)
{
	struct machine m = nd;
	m.hbm = HBM_BESIDE_1;
	write_machine(&m);
	place_gpu("0002:00:00.0", "4");
	scripted_mask = "ffffff000000";
	measure();
	ck_assert_double_eq(fake_number(context, "rank.gpu_numa_node", NULL), 1);
	ck_assert_str_eq(fake_string(context, "rank.cpu_locality", NULL), "inside");
	ck_assert_double_eq(fake_number(context, "rank.cpu_numa_nodes", NULL), 1);
}

TEST(memory_without_cpus_leads_to_the_nearest_node_by_distance)
{
	struct machine m = nd;
	m.hbm = HBM_NEAR_2;
	write_machine(&m);
	place_gpu("0003:00:00.0", "4");
	measure();
	ck_assert_double_eq(fake_number(context, "rank.gpu_numa_node", NULL), 2);
	ck_assert_str_eq(fake_string(context, "rank.gpu_cpu_list", NULL), "48-71");
}

TEST(memory_as_far_from_every_node_leads_nowhere)
{
	struct machine m = nd;
	m.hbm = HBM_NEAR_NONE;
	write_machine(&m);
	place_gpu("0004:00:00.0", "4");
	measure();
	expect_unknown("which has no CPUs");
}

TEST(near_nics_are_found_by_numa_node_and_not_by_name)
{
	/* the order in which a kernel really found them once: 3 3 2 0 2 1 0 1 */
	static const char *const nodes[] = { "3", "3", "2", "0", "2", "1", "0", "1" };
	write_machine(&nd);
	place_gpu("0001:00:00.0", "0");
	for (size_t i = 0; i < 8; i++) {
		char path[256];
		snprintf(path, sizeof path, "/sys/class/infiniband/mlx5_%zu/device/numa_node", i);
		fake_file(context, path, nodes[i]);
	}
	fake_file(context, "/sys/class/infiniband/mlx5_10/device/numa_node", "0\n");
	fake_file(context, "/sys/class/infiniband/mlx5_11/device/numa_node", "-1\n");
	measure();
	ck_assert_str_eq(fake_string(context, "rank.near_nics", NULL), "mlx5_3 mlx5_6 mlx5_10");
}

TEST(no_nic_nearby_is_a_fact)
{
	write_machine(&nd);
	place_gpu("0001:00:00.0", "0");
	measure();
	ck_assert_str_eq(fake_string(context, "rank.near_nics", NULL), "none");
}

static const struct {
	int policy;
	unsigned long nodes;
	const char *numa_node; /* of the GPU; NULL: there is no GPU */
	const char *text, *locality;
} policies[] = {
	{ POLICY_DEFAULT, 0, "1", "default", "any" },
	{ POLICY_DEFAULT, 0, NULL, "default", "any" },
	{ POLICY_BIND, 1 << 1, "1", "bind:1", "inside" },
	{ POLICY_BIND, 1 << 0, "1", "bind:0", "outside" },
	{ POLICY_BIND, 1 << 1 | 1 << 2, "1", "bind:1-2", "covers" },
	{ POLICY_INTERLEAVE, 0xf, "1", "interleave:0-3", "covers" },
	{ POLICY_INTERLEAVE, 0xc, "1", "interleave:2-3", "outside" },
	{ POLICY_BIND, 1 << 1, NULL, "bind:1", NULL },
	{ -1, 0, "1", NULL, NULL },
};

TEST_EACH(the_memory_policy_is_compared_with_the_gpus_node, policies)
{
	write_machine(&nd);
	scripted_memory.policy = policies[_i].policy;
	scripted_memory.nodes = policies[_i].nodes;
	if (policies[_i].numa_node)
		place_gpu("0002:00:00.0", policies[_i].numa_node);
	measure();
	if (policies[_i].text)
		ck_assert_str_eq(fake_string(context, "rank.memory_policy", NULL), policies[_i].text);
	else
		ck_assert_ptr_nonnull(strstr(fake_reason(context, "rank.memory_policy", NULL), "hwloc_get_membind"));
	if (policies[_i].locality)
		ck_assert_str_eq(fake_string(context, "rank.memory_locality", NULL), policies[_i].locality);
	else
		ck_assert_ptr_nonnull(strstr(fake_reason(context, "rank.memory_locality", NULL),
			policies[_i].text ? "CUDA shows no GPU" : "hwloc_get_membind"));
}

static const struct {
	int policy;
	const char *text; /* NULL: it has no name */
} named[] = {
	{ HWLOC_MEMBIND_DEFAULT, "default" },
	{ HWLOC_MEMBIND_FIRSTTOUCH, "default" },
	{ HWLOC_MEMBIND_NEXTTOUCH, "next-touch:1" },
	{ HWLOC_MEMBIND_NEXTTOUCH + 1, NULL },
	{ HWLOC_MEMBIND_MIXED, NULL },
};

TEST_EACH(each_policy_of_hwloc_has_its_name_or_is_null, named)
{
	write_machine(&nd);
	place_gpu("0002:00:00.0", "1");
	scripted_policy = named[_i].policy;
	measure();
	if (named[_i].text)
		ck_assert_str_eq(fake_string(context, "rank.memory_policy", NULL), named[_i].text);
	else
		ck_assert_ptr_nonnull(strstr(fake_reason(context, "rank.memory_policy", NULL), "has no name"));
}

TEST(nics_that_cannot_be_listed_are_unknown_and_the_rest_is_told)
{
	write_machine(&nd);
	place_gpu("0001:00:00.0", "0");
	fake_file(context, "/sys/class/infiniband", "a file where the folder should be");
	measure();
	ck_assert_ptr_nonnull(strstr(fake_reason(context, "rank.near_nics", NULL), "/sys/class/infiniband: "));
	ck_assert_double_eq(fake_number(context, "rank.gpu_numa_node", NULL), 0);
}

static const struct {
	enum cpus_answer cpus;
	const char *why;
} no_cpus[] = {
	{ CPUS_REFUSED, "hwloc_get_cpubind: Operation not permitted" },
	{ CPUS_BEYOND, "a CPU set of hwloc goes beyond 4096 CPUs" },
};

TEST_EACH(cpus_that_are_not_known_are_an_error, no_cpus)
{
	struct muster_error err;
	write_machine(&nd);
	scripted_cpus = no_cpus[_i].cpus;
	ck_assert_int_eq(muster_probe_affinity.run(&context->ctx, &err), -1);
	ck_assert_str_eq(err.text, no_cpus[_i].why);
	ck_assert_uint_eq(context->samples.count, 0);
}

TEST(without_a_topology_the_error_is_hwlocs_own)
{
	struct muster_error err;
	setenv("HWLOC_XMLFILE", "/nowhere/topology.xml", 1);
	setenv("HWLOC_COMPONENTS", "xml,stop", 1);
	ck_assert_int_eq(muster_probe_affinity.run(&context->ctx, &err), -1);
	ck_assert_msg(strncmp(err.text, "hwloc_topology_load: ", 21) == 0, "%s", err.text);
}

TEST(a_gpus_node_with_too_many_cpus_is_unknown)
{
	struct machine m = { .nodes = 1, .cpus = MUSTER_CPUS_MAX + 1 };
	write_machine(&m);
	place_gpu("0001:00:00.0", "0");
	measure();
	expect_unknown("a CPU set of hwloc goes beyond 4096 CPUs");
}

TEST_MAIN(.setup = setup, .teardown = teardown)
