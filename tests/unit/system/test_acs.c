/* SPDX-License-Identifier: Apache-2.0 */
/* test_acs.c - bridges of a small tree of PCIe devices */
#include "check_main.h"
#include "unit/system/tree.h"
#include "system/acs.h"
#include "muster/arena.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ROOT_PORT "devices/pci0000:00/0000:00:01.0"
#define SWITCH_UP ROOT_PORT "/0000:01:00.0"
#define SWITCH_DOWN SWITCH_UP "/0000:02:08.0"
#define GPU SWITCH_DOWN "/0000:03:00.0"

enum { WHOLE = 4096 };

static struct muster_acs_bridges bridges;

static void setup(void)
{
	tree_make();
	ck_assert_int_eq(chdir(root), 0);
	ck_assert_int_eq(mkdir(in_tree(GPU), 0777), 0);
	ck_assert_int_eq(symlink(GPU, "gpu"), 0);
}

static void teardown(void)
{
	muster_acs_done(&bridges);
	ck_assert_int_eq(chdir("/"), 0);
	tree_remove();
}

/* A configuration space of so many bytes, with these bytes at 0x100 and 0x200. */
static void put_config(const char *bridge, size_t length, const unsigned char *first, const unsigned char *second)
{
	char path[256];
	unsigned char config[WHOLE] = { 0 };
	memcpy(config + 0x100, first, 8);
	if (second)
		memcpy(config + 0x200, second, 8);
	snprintf(path, sizeof path, "%s/config", bridge);
	FILE *out = fopen(path, "we");
	ck_assert_ptr_nonnull(out);
	ck_assert_uint_eq(fwrite(config, 1, length, out), length);
	ck_assert_int_eq(fclose(out), 0);
}

static const unsigned char nothing[8] = { 0 };

static const struct {
	unsigned char first[8], second[8];
	size_t length;
	size_t count;
} rows[] = {
	/* ACS: source validation; request redirect; both; only completion redirect and upstream forwarding; off */
	{ { 0x0d, 0, 1, 0, 0xff, 0, 0x01, 0 }, { 0 }, WHOLE, 1 },
	{ { 0x0d, 0, 1, 0, 0xff, 0, 0x04, 0 }, { 0 }, WHOLE, 1 },
	{ { 0x0d, 0, 1, 0, 0xff, 0, 0x1d, 0 }, { 0 }, WHOLE, 1 },
	{ { 0x0d, 0, 1, 0, 0xff, 0, 0x18, 0 }, { 0 }, WHOLE, 0 },
	{ { 0x0d, 0, 1, 0, 0xff, 0, 0x00, 0 }, { 0 }, WHOLE, 0 },
	/* behind another capability, at 0x200 */
	{ { 0x01, 0, 1, 0x20, 0x0d, 0, 0x1d, 0 }, { 0x0d, 0, 1, 0, 0xff, 0, 0x1d, 0 }, WHOLE, 1 },
	{ { 0x01, 0, 1, 0x00, 0x0d, 0, 0x1d, 0 }, { 0x0d, 0, 1, 0, 0xff, 0, 0x1d, 0 }, WHOLE, 0 },
	/* a list that turns in a circle, one that leaves the space, a device that does not answer */
	{ { 0x01, 0, 1, 0x10, 0, 0, 0, 0 }, { 0 }, WHOLE, 0 },
	{ { 0x01, 0, 0xc1, 0xff, 0, 0, 0, 0 }, { 0 }, WHOLE, 0 },
	{ { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff }, { 0 }, WHOLE, 0 },
	/* a PCI device without extended capabilities */
	{ { 0 }, { 0 }, 256, 0 },
};

TEST_EACH(a_bridge_of_a_switch_redirects_or_does_not, rows)
{
	struct muster_error err;
	put_config(SWITCH_UP, WHOLE, nothing, NULL);
	put_config(SWITCH_DOWN, rows[_i].length, rows[_i].first, rows[_i].second);
	ck_assert_msg(muster_acs_add("gpu", &bridges, &err) == 0, "%s", err.text);
	ck_assert_msg(muster_acs_add("gpu", &bridges, &err) == 0, "%s", err.text);
	ck_assert_uint_eq(bridges.count, rows[_i].count);
	if (bridges.count)
		ck_assert_str_eq(bridges.items[0], "0000:02:08.0");
}

TEST(a_root_port_is_no_bridge_of_a_switch)
{
	struct muster_error err;
	put_config(ROOT_PORT, WHOLE, rows[0].first, NULL);
	put_config(SWITCH_UP, WHOLE, nothing, NULL);
	put_config(SWITCH_DOWN, WHOLE, nothing, NULL);
	ck_assert_msg(muster_acs_add("gpu", &bridges, &err) == 0, "%s", err.text);
	ck_assert_uint_eq(bridges.count, 0);
	/* and on its root port a device needs no switch to be read */
	ck_assert_int_eq(muster_acs_add(SWITCH_UP, &bridges, &err), 0);
}

TEST(without_root_the_registers_are_not_known)
{
	struct muster_error err = { 0 };
	put_config(SWITCH_UP, 64, nothing, NULL);
	ck_assert_int_eq(muster_acs_add("gpu", &bridges, &err), -1);
	ck_assert_int_eq(err.code, MUSTER_ENOPERMISSION);
	ck_assert_str_eq(err.text, "only root can read the ACS registers of PCI bridges: 64 bytes of 0000:01:00.0");
}

TEST(a_bridge_without_a_configuration_space_and_no_device_are_errors)
{
	struct muster_error err = { 0 };
	ck_assert_int_eq(muster_acs_add("gpu", &bridges, &err), -1);
	ck_assert_str_eq(err.text, "PCI bridge 0000:01:00.0: config: No such file or directory");
	ck_assert_int_eq(muster_acs_add("other", &bridges, &err), -1);
	ck_assert_str_eq(err.text, "other: No such file or directory");
}

TEST_MAIN(.setup = setup, .teardown = teardown)
