/* test_host_memory.c - the triad on machines of hwloc's making, where this process may use only some of it */
#include "check_main.h"
#include "probe_fake.h"

#include <errno.h>
#include <hwloc.h>
#include <stdlib.h>
#include <string.h>

extern const struct muster_probe muster_probe_host_memory;

static struct probe_fake *context;

/* What the kernel says to threads of the probe. */
static struct {
	int barred_from; /* CPUs from this one on are of others; 0: none */
	int refusal;     /* errno of each binding of memory; 0: it works */
} scripted;

__attribute__((visibility("default"))) int hwloc_set_cpubind(
	hwloc_topology_t topology, hwloc_const_cpuset_t set, int flags)
{
	(void)topology;
	ck_assert_int_eq(flags, HWLOC_CPUBIND_THREAD);
	errno = EINVAL;
	return scripted.barred_from && hwloc_bitmap_first(set) >= scripted.barred_from ? -1 : 0;
}

__attribute__((visibility("default"))) int hwloc_get_cpubind(hwloc_topology_t topology, hwloc_bitmap_t set, int flags)
{
	(void)topology, (void)flags;
	hwloc_bitmap_fill(set);
	return 0;
}

__attribute__((visibility("default"))) void *hwloc_alloc_membind(
	hwloc_topology_t topology, size_t bytes, hwloc_const_nodeset_t set, hwloc_membind_policy_t policy, int flags)
{
	(void)topology;
	ck_assert_int_eq(hwloc_bitmap_weight(set), 1);
	ck_assert_int_eq(policy, HWLOC_MEMBIND_BIND);
	ck_assert_int_eq(flags, HWLOC_MEMBIND_STRICT | HWLOC_MEMBIND_BYNODESET);
	errno = scripted.refusal;
	return scripted.refusal ? NULL : hwloc_alloc(topology, bytes);
}

static void start(const char *machine)
{
	setenv("HWLOC_SYNTHETIC", machine, 1);
	setenv("HWLOC_THISSYSTEM", "1", 1);
	context = fake_new(&muster_probe_host_memory);
	context->ctx.env.storage = true;
	fake_file(context, "/proc/meminfo", "MemAvailable:  67108864 kB\n");
}

static void measure(void)
{
	struct muster_error err;
	ck_assert_int_eq(muster_probe_host_memory.run(&context->ctx, &err), 0);
	fake_complete(context, NULL);
}

/* label: of the first metric with this label of a number. */
static const struct muster_sample *numa(double number)
{
	for (size_t i = 0; i < context->samples.count; i++) {
		const struct muster_sample *sample = &context->samples.items[i];
		if (strcmp(sample->metric->name, "node.stream_triad_numa_gbps") == 0 &&
			sample->labels[0].value.number == number)
			return sample;
	}
	ck_abort_msg("no NUMA node %g", number);
}

TEST(every_numa_node_has_its_bandwidth)
{
	start("numa:2 core:3 pu:2");
	measure();
	double all = fake_number(context, "node.stream_triad_gbps", NULL);
	ck_assert_uint_eq(fake_count(context, "node.stream_triad_numa_gbps"), 2);
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(numa(i)->value.type, MUSTER_NUMBER);
		ck_assert_double_gt(numa(i)->value.number, 0);
	}
	ck_assert_double_gt(all, 0);
	ck_assert_ptr_nonnull(strstr(context->steps, "triad on 2 NUMA nodes\n"));
	fake_free(context);
}

TEST(cores_that_others_have_leave_one_numa_node_open)
{
	start("numa:2 core:2 pu:2");
	scripted.barred_from = 6;
	measure();
	ck_assert_int_eq(numa(0)->value.type, MUSTER_NUMBER);
	ck_assert_str_eq(numa(1)->reason, "this process may use 1 of the 2 cores of NUMA node 1");
	ck_assert_str_eq(fake_reason(context, "node.stream_triad_gbps", NULL), numa(1)->reason);
	fake_free(context);
}

TEST(memory_that_cannot_be_bound_is_no_measure)
{
	start("numa:2 core:1 pu:1");
	scripted.refusal = EPERM;
	measure();
	ck_assert_str_eq(numa(1)->reason, "memory cannot be bound to NUMA node 1: Operation not permitted");
	ck_assert_str_eq(numa(0)->reason, "memory cannot be bound to NUMA node 0: Operation not permitted");
	fake_free(context);
}

TEST(a_single_numa_node_needs_no_binding)
{
	start("numa:1 core:2 pu:1");
	scripted.refusal = EPERM;
	measure();
	ck_assert_double_gt(numa(0)->value.number, 0);
	ck_assert_double_gt(fake_number(context, "node.stream_triad_gbps", NULL), 0);
	fake_free(context);
}

TEST(cpus_without_cores_do_too)
{
	start("numa:1 pu:2");
	measure();
	ck_assert_double_gt(fake_number(context, "node.stream_triad_gbps", NULL), 0);
	fake_free(context);
}

TEST(with_others_on_the_node_nothing_is_measured)
{
	start("numa:1 core:1 pu:1");
	context->ctx.env.shared = true;
	measure();
	ck_assert_str_eq(numa(0)->reason, "other programs may use the memory of this node");
	fake_free(context);
}

TEST(a_limit_of_cpu_time_is_no_slow_memory)
{
	start("numa:2 core:2 pu:2");
	fake_file(context, "/proc/self/cgroup", "0::/job\n");
	fake_file(context, "/sys/fs/cgroup/job/cpu.max", "max 100000\n");
	fake_file(context, "/sys/fs/cgroup/cpu.max", "400000 100000\n");
	measure();
	ck_assert_double_gt(fake_number(context, "node.stream_triad_gbps", NULL), 0);
	fake_file(context, "/sys/fs/cgroup/job/cpu.max", "150000 100000\n");
	fake_forget(context);
	measure();
	ck_assert_str_eq(numa(1)->reason, "the cgroup of this process has the CPU time of 1.5 of 4 cores");
	fake_file(context, "/proc/self/cgroup", "3:cpuset:/x\n5:cpuacct,cpu:/job\n");
	fake_file(context, "/sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "-1\n");
	fake_file(context, "/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "100000\n");
	fake_file(context, "/sys/fs/cgroup/cpu/cpu.cfs_period_us", "50000\n");
	fake_forget(context);
	measure();
	ck_assert_str_eq(numa(0)->reason, "the cgroup of this process has the CPU time of 2 of 4 cores");
	fake_free(context);
}

TEST(only_a_run_that_measures_the_path_of_the_data_does)
{
	struct muster_error err;
	start("numa:1 core:1 pu:1");
	context->ctx.env.storage = false;
	ck_assert_int_eq(muster_probe_host_memory.run(&context->ctx, &err), 0);
	ck_assert_uint_eq(context->samples.count, 0);
	fake_free(context);
}

TEST(a_node_that_does_not_tell_its_memory_is_an_error)
{
	struct muster_error err;
	start("numa:1 core:1 pu:1");
	fake_file(context, "/proc/meminfo", "MemTotal:  67108864 kB\n");
	ck_assert_int_eq(muster_probe_host_memory.run(&context->ctx, &err), -1);
	ck_assert_ptr_nonnull(strstr(err.text, "MemAvailable"));
	fake_free(context);
}

TEST_MAIN(.setup = NULL)
