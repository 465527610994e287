/* SPDX-License-Identifier: Apache-2.0 */
/* test_host_memory.c - the triad on machines of hwloc's making, where this process may use only some of it */
#include "probes/host_memory.c"
#include "check_main.h"
#include "probe_fake.h"

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

static const struct fake_knob knobs[] = { FAKE_KNOB("barred_from", scripted.barred_from),
	FAKE_KNOB("refusal", scripted.refusal), { .name = NULL } };

static void setup(void)
{
	context = fake_new(&muster_probe_host_memory);
	context->knobs = knobs;
	fake_given(context, "HWLOC_THISSYSTEM=1 | storage=1 | barred_from=0 | refusal=0 | "
			    "/proc/meminfo=MemAvailable:  67108864 kB");
}

static void teardown(void)
{
	fake_free(context);
}

#define MACHINE(text) "HWLOC_SYNTHETIC=" text " | "
#define NUMA(number, value) "node.stream_triad_numa_gbps numa_node=" number " " value " | "
#define MEASURED "node.stream_triad_gbps >0"
#define NOT_BOUND(node) "-memory cannot be bound to NUMA node " node ": Operation not permitted"
#define LIMITED(cores) "-the cgroup of this process has the CPU time of " cores " of 4 cores"
#define VERSION_2 "/proc/self/cgroup=0::/job | /sys/fs/cgroup/cpu.max=400000 100000 | /sys/fs/cgroup/job/cpu.max="
#define VERSION_1                                                                                                      \
	"/proc/self/cgroup=3:cpuset:/x\n5:cpuacct,cpu:/job | /sys/fs/cgroup/cpu/job/cpu.cfs_quota_us=-1 | "            \
	"/sys/fs/cgroup/cpu/cpu.cfs_quota_us=100000 | /sys/fs/cgroup/cpu/cpu.cfs_period_us=50000"
#define PART "-this process may use 1 of the 2 cores of NUMA node 1"

static const struct fake_row rows[] = {
	{ "every NUMA node has its bandwidth", MACHINE("numa:2 core:3 pu:2"),
		NUMA("0", ">0")
			NUMA("1", ">0") "node.stream_triad_numa_gbps #2 | steps '*triad on 2 NUMA nodes* | " MEASURED },
	{ "cores that others have leave one NUMA node open", MACHINE("numa:2 core:2 pu:2") "barred_from=6",
		NUMA("0", ">=0") NUMA("1", PART) "node.stream_triad_gbps " PART },
	{ "memory that cannot be bound is no measure", MACHINE("numa:2 core:1 pu:1") "refusal=1",
		NUMA("0", NOT_BOUND("0")) NUMA("1", NOT_BOUND("1")) "node.stream_triad_gbps -?*" },
	{ "a single NUMA node needs no binding", MACHINE("numa:1 core:2 pu:1") "refusal=1", NUMA("0", ">0") MEASURED },
	{ "CPUs without cores do too", MACHINE("numa:1 pu:2"), MEASURED },
	{ "too many cores for the arrays", MACHINE("numa:1 core:600 pu:1"),
		NUMA("0", "-less than a page of each array for a core") },
	{ "with others on the node nothing is measured", MACHINE("numa:1 core:1 pu:1") "shared=1",
		NUMA("0", "-other programs may use the memory of this node") "node.stream_triad_gbps -?*" },
	{ "without a limit of CPU time", MACHINE("numa:2 core:2 pu:2") VERSION_2 "max 100000", MEASURED },
	{ "a limit of CPU time is no slow memory", MACHINE("numa:2 core:2 pu:2") VERSION_2 "150000 100000",
		NUMA("1", LIMITED("1.5")) "node.stream_triad_gbps -?*" },
	{ "a limit of CPU time of the older kind", MACHINE("numa:2 core:2 pu:2") VERSION_1,
		NUMA("0", LIMITED("2")) "node.stream_triad_gbps -?*" },
	{ "only a run that measures the path of the data does", MACHINE("numa:1 core:1 pu:1") "storage=0",
		"node.stream_triad_gbps #0 | node.stream_triad_numa_gbps #0" },
	{ "a node that does not tell its memory is an error",
		MACHINE("numa:1 core:1 pu:1") "/proc/meminfo=MemTotal:  67108864 kB", "error '*MemAvailable*" },
};

TEST_EACH(the_triad_runs_where_it_may_use_all, rows)
{
	fake_case(context, &rows[_i]);
	if (context->result == 0 && context->ctx.env.storage)
		fake_complete(context, (const char *const[]){ "node.slow_windows", NULL });
	else
		ck_assert_uint_eq(context->samples.count, 0);
}

/* Only a node that is very slow has fewer rounds, and then a second has passed. */
TEST_LOOP(each_round_is_a_window, 0, 2)
{
	static const size_t least[] = { 3, 9 };
	context->ctx.env.profile = _i == 0 ? MUSTER_QUICK : MUSTER_STANDARD;
	double began = muster_now_ms();
	fake_given(context, MACHINE("numa:2 core:1 pu:1"));
	fake_run(context);
	ck_assert_uint_eq(context->samples.count, 3);
	for (size_t i = 0; i < context->samples.count; i++) {
		const struct muster_sample *sample = &context->samples.items[i];
		if (muster_now_ms() - began < BUSY_MS)
			ck_assert_uint_ge(sample->value_count, least[_i]);
		for (size_t j = 0; j < sample->value_count; j++)
			ck_assert_double_ge(sample->value.number, sample->values[j]);
	}
}

/* With the time of a node that others use: a round beside the first one is enough. */
TEST(rounds_end_with_the_time)
{
	struct triad triad = { .rounds_min = 10 };
	struct rounds r = { .triad = &triad };
	take_round(&r, 9, muster_now_ms() - ROUNDS_MS - 1);
	ck_assert(r.last);
	take_round(&r, 0, muster_now_ms() - BUSY_MS - 1);
	ck_assert(!r.last);
	take_round(&r, 1, muster_now_ms() - BUSY_MS - 1);
	ck_assert(r.last);
}

TEST_MAIN(.setup = setup, .teardown = teardown)
