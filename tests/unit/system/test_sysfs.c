/* SPDX-License-Identifier: Apache-2.0 */
/* test_sysfs.c - numbers, directories and PCI links of a small tree */
#include "check_main.h"
#include "unit/system/tree.h"
#include "system/sysfs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct muster_error err;

static void setup(void)
{
	tree_make();
	ck_assert_int_eq(chdir(root), 0);
}

static void teardown(void)
{
	ck_assert_int_eq(chdir("/"), 0);
	tree_remove();
}

static const struct {
	const char *text;
	int result;
	long number;
} lines[] = {
	{ "7\n", 0, 7 },
	{ "-1\n", 0, -1 },
	{ "0x1a4\n", 0, 420 },
	{ "0x8001\n", 0, 0x8001 },
	{ "010\n", 0, 10 },
	{ "7\nmore\n", 0, 7 },
	{ "", -1, 0 },
	{ "\n", -1, 0 },
	{ "0x\n", -1, 0 },
	{ "7 apples\n", -1, 0 },
	{ "1a\n", -1, 0 },
	{ "99999999999999999999\n", -1, 0 },
};

TEST_EACH(a_number_is_the_whole_first_line, lines)
{
	long number = 0;
	put("file", lines[_i].text);
	ck_assert_int_eq(muster_sysfs_number("file", &number, &err), lines[_i].result);
	ck_assert_int_eq(number, lines[_i].number);
	if (lines[_i].result < 0)
		ck_assert_ptr_nonnull(strstr(err.text, "file"));
}

TEST(a_negative_number_stands_for_what_is_not_known)
{
	long number = 7;
	put("file", "-1\n");
	ck_assert_int_eq(muster_sysfs_natural("file", &number, &err), -1);
	ck_assert_int_eq(err.code, MUSTER_ENOTSUPPORTED);
	ck_assert_str_eq(err.text, "file is -1");
	ck_assert_int_eq(number, 7);
	put("file", "0\n");
	ck_assert_int_eq(muster_sysfs_natural("file", &number, &err), 0);
	ck_assert_int_eq(number, 0);
	ck_assert_int_eq(muster_sysfs_natural("absent", &number, &err), -1);
	ck_assert_int_eq(err.code, MUSTER_EABSENT);
}

static const struct {
	const char *text, *value; /* value NULL: there is no such line */
} keyed[] = {
	{ "MemTotal:   16 kB  \nMemFree: 1 kB\n", "16 kB" },
	{ "MemTotalled: 1\nMemTotal\t: 2\n", "2" },
	{ "MemTotal=\"a b\"\n", "\"a b\"" },
	{ " MemTotal: 1\n", NULL },
	{ "MemTotal: 1\nMemTotal: 2\n", "1" },
	{ "MemTotal:\n", "" },
	{ "", NULL },
};

TEST_EACH(a_line_is_found_by_its_whole_key, keyed)
{
	char value[16] = "untouched";
	put("file", keyed[_i].text);
	ck_assert_int_eq(muster_sysfs_line("file", "MemTotal", value, sizeof value, &err), keyed[_i].value ? 0 : -1);
	ck_assert_str_eq(value, keyed[_i].value ? keyed[_i].value : "untouched");
	if (!keyed[_i].value)
		ck_assert_str_eq(err.text, "file has no line \"MemTotal\"");
	ck_assert_int_eq(muster_sysfs_line("absent", "MemTotal", value, sizeof value, &err), -1);
	ck_assert_str_eq(err.text, "absent: No such file or directory");
	ck_assert_int_eq(err.code, MUSTER_EIO);
}

TEST(names_come_in_natural_order)
{
	static const char *const expected[] = { "mlx5_an0", "mlx5_ib0", "mlx5_ib2", "mlx5_ib10" };
	struct muster_names names;
	mkdir("d", 0755);
	put("d/mlx5_ib10", "");
	put("d/mlx5_ib2", "");
	put("d/mlx5_an0", "");
	put("d/mlx5_ib0", "");
	put("d/.hidden", "");
	ck_assert_int_eq(muster_sysfs_names("d", &names, &err), 0);
	ck_assert_uint_eq(names.count, 4);
	for (size_t i = 0; i < 4; i++)
		ck_assert_str_eq(names.items[i], expected[i]);
	muster_names_done(&names);
	ck_assert_uint_eq(names.count, 0);
}

TEST(a_missing_directory_has_no_names_and_a_file_is_an_error)
{
	struct muster_names names;
	ck_assert_int_eq(muster_sysfs_names("absent", &names, &err), 0);
	ck_assert_uint_eq(names.count, 0);
	muster_names_done(&names);
	put("file", "");
	ck_assert_int_eq(muster_sysfs_names("file", &names, &err), -1);
	ck_assert_ptr_nonnull(strstr(err.text, "file: Not a directory"));
}

static const struct {
	const char *from, *to; /* NULL: no bus id */
} bus_ids[] = {
	{ "00000001:00:00.0", "0001:00:00.0" },
	{ "0000:3B:00.0", "0000:3b:00.0" },
	{ "0001:00:00.0", "0001:00:00.0" },
	{ "1:00:00.0", "0001:00:00.0" },
	{ "00010000:00:00.0", "10000:00:00.0" },
	{ "FFFFFFFF:FF:1F.7", "ffffffff:ff:1f.7" },
	{ "", NULL },
	{ "0001", NULL },
	{ "00:00.0", NULL },
	{ "0001:00:00", NULL },
	{ "0001:00:00.", NULL },
	{ "0001:00:00.8", NULL },
	{ "0001:00:20.0", NULL },
	{ "0001:0:00.0", NULL },
	{ "0001:000:00.0", NULL },
	{ "0001:00:000.0", NULL },
	{ "0001:00:0.0", NULL },
	{ ":00:00.0", NULL },
	{ "000000001:00:00.0", NULL },
	{ "0001:00:00.0 ", NULL },
	{ " 0001:00:00.0", NULL },
	{ "0x01:00:00.0", NULL },
	{ "-001:00:00.0", NULL },
	{ "000g:00:00.0", NULL },
};

TEST_EACH(bus_ids_become_as_sysfs_spells_them, bus_ids)
{
	char text[32] = "untouched";
	int result = muster_bus_id_normalise(bus_ids[_i].from, text, sizeof text, &err);
	ck_assert_int_eq(result, bus_ids[_i].to ? 0 : -1);
	ck_assert_str_eq(text, bus_ids[_i].to ? bus_ids[_i].to : "untouched");
	if (result < 0) {
		ck_assert_int_eq(err.code, MUSTER_EVENDOR);
		ck_assert_ptr_nonnull(strstr(err.text, "is no PCI bus id"));
	}
}

TEST(a_bus_id_is_never_cut)
{
	char text[13] = "untouched";
	ck_assert_int_eq(muster_bus_id_normalise("00010000:00:00.0", text, sizeof text, &err), -1);
	ck_assert_str_eq(text, "untouched");
	ck_assert_int_eq(muster_bus_id_normalise("00000001:00:00.0", text, sizeof text, &err), 0);
	ck_assert_str_eq(text, "0001:00:00.0");
}

/* `device` of a class, as a link to somewhere, or a directory with a uevent. */
static const struct {
	const char *target, *uevent, *address; /* address NULL: an error */
} devices[] = {
	{ "0101:00:00.0", NULL, "0101:00:00.0" },
	{ "0000:A1:1F.7", NULL, "0000:a1:1f.7" },
	{ "10000:01:00.0", NULL, "10000:01:00.0" },
	{ "virtual", NULL, NULL },
	{ "0101:00:00", NULL, NULL },
	{ "0101:00:00.0.1", NULL, NULL },
	{ NULL, "DRIVER=mlx5_core\nPCI_SLOT_NAME=0101:00:00.0\nMODALIAS=pci\n", "0101:00:00.0" },
	{ NULL, "DRIVER=mlx5_core\n", NULL },
	{ NULL, "PCI_SLOT_NAME=elsewhere\n", NULL },
};

TEST_EACH(a_pci_address_comes_from_the_link_or_from_uevent, devices)
{
	char address[32];
	if (devices[_i].target) {
		ck_assert_int_eq(mkdir(devices[_i].target, 0755), 0);
		ck_assert_int_eq(symlink(devices[_i].target, "device"), 0);
	} else {
		ck_assert_int_eq(mkdir("device", 0755), 0);
		put("device/uevent", devices[_i].uevent);
	}
	int result = muster_sysfs_pci_address("device", address, sizeof address, &err);
	ck_assert_int_eq(result, devices[_i].address ? 0 : -1);
	if (devices[_i].address)
		ck_assert_str_eq(address, devices[_i].address);
	else
		ck_assert_str_eq(err.text, "device is not the link to a PCI device");
}

TEST_MAIN(.setup = setup, .teardown = teardown)
