/* SPDX-License-Identifier: Apache-2.0 */
/* test_memory_left.c - limits of cgroups, and pages of files that the kernel gives back */
#include "check_main.h"
#include "unit/system/tree.h"

#include "system/memory_left.h"

static uint64_t left(void)
{
	struct muster_error err;
	uint64_t bytes = 0;
	ck_assert_msg(muster_memory_left(root, &bytes, &err) == 0, "%s", err.text);
	return bytes;
}

TEST(without_a_limit_all_that_is_available_is_left)
{
	put("/proc/meminfo", "MemTotal:  4096 kB\nMemAvailable:  2048 kB\n");
	ck_assert_uint_eq(left(), 2048 * 1024);
	put("/proc/self/cgroup", "0::/job\n1:name=systemd:/x\nnonsense\n");
	ck_assert_uint_eq(left(), 2048 * 1024);
	put("/sys/fs/cgroup/job/memory.max", "max\n");
	put("/sys/fs/cgroup/job/memory.current", "1000\n");
	ck_assert_uint_eq(left(), 2048 * 1024);
}

TEST(the_least_of_all_cgroups_above_counts)
{
	put("/proc/meminfo", "MemAvailable:  2048 kB\n");
	put("/proc/self/cgroup", "0::/slurm/job/step\n");
	put("/sys/fs/cgroup/slurm/job/step/memory.max", "1000000\n");
	put("/sys/fs/cgroup/slurm/job/step/memory.current", "100000\n");
	ck_assert_uint_eq(left(), 900000);
	put("/sys/fs/cgroup/slurm/memory.max", "800000\n");
	put("/sys/fs/cgroup/slurm/memory.current", "300000\n");
	ck_assert_uint_eq(left(), 500000);
	put("/sys/fs/cgroup/slurm/memory.stat", "anon 1\ninactive_file 200000\n");
	ck_assert_uint_eq(left(), 700000);
	put("/sys/fs/cgroup/memory.max", "5\n"); /* a container's own mount point */
	put("/sys/fs/cgroup/memory.current", "10\n");
	ck_assert_uint_eq(left(), 0);
}

TEST(version_1_has_limits_too)
{
	put("/proc/meminfo", "MemAvailable:  2048 kB\n");
	put("/proc/self/cgroup", "4:memory:/slurm\n3:cpu:/elsewhere\n");
	put("/sys/fs/cgroup/memory/slurm/memory.limit_in_bytes", "500000\n");
	put("/sys/fs/cgroup/memory/slurm/memory.usage_in_bytes", "200000\n");
	put("/sys/fs/cgroup/memory/slurm/memory.stat", "cache 5\ntotal_inactive_file 50000\n");
	put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
	put("/sys/fs/cgroup/memory/memory.usage_in_bytes", "200000\n");
	ck_assert_uint_eq(left(), 350000);
}

TEST(a_numa_node_has_its_own)
{
	struct muster_error err;
	uint64_t bytes = 0;
	put("/sys/devices/system/node/node3/meminfo",
		"Node 3 MemTotal:       100 kB\nNode 3 MemFree:       40 kB\nNode 3 Inactive(file):       8 kB\n");
	ck_assert_int_eq(muster_memory_left_on(root, 3, &bytes, &err), 0);
	ck_assert_uint_eq(bytes, 48 * 1024);
	ck_assert_int_eq(muster_memory_left_on(root, 1, &bytes, &err), -1);
	ck_assert_int_eq(muster_memory_left(root, &bytes, &err), -1);
	put("/proc/meminfo", "MemAvailable:  much\n");
	ck_assert_int_eq(muster_memory_left(root, &bytes, &err), -1);
	ck_assert_ptr_nonnull(strstr(err.text, "MemAvailable is no number: \"much\""));
}

TEST_MAIN(.setup = tree_make, .teardown = tree_remove)
