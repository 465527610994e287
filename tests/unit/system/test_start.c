/* SPDX-License-Identifier: Apache-2.0 */
/* test_start.c - a node that has just booted, and a driver that nothing keeps loaded */
#include "check_main.h"
#include "unit/system/tree.h"
#include "system/start.h"

static void setup(void)
{
	tree_make();
	put("proc/2/comm", "kthreadd\n");
	put("proc/1/comm", "systemd\n");
	put("proc/40/comm", "nvidia-persiste\n");
}

static const struct {
	const char *uptime;
	bool young;
} cases[] = {
	{ "599.99 1200.00\n", true },
	{ "600.00 1200.00\n", false },
	{ "432000.00 1.00\n", false },
	{ "-1 1\n", false },
	{ "soon\n", false },
};

TEST_EACH(a_node_is_young_for_ten_minutes, cases)
{
	put("proc/uptime", cases[_i].uptime);
	ck_assert_int_eq(muster_node_is_young(root), cases[_i].young);
	ck_assert_int_eq(muster_driver_may_be_cold(root), cases[_i].young);
}

TEST(without_persistence_the_driver_may_have_to_start)
{
	put("proc/uptime", "432000.00 1.00\n");
	put("proc/40/comm", "nvidia-smi\n");
	ck_assert(muster_driver_may_be_cold(root));
}

TEST_MAIN(.setup = setup, .teardown = tree_remove)
