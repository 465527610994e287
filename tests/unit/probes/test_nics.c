/* SPDX-License-Identifier: Apache-2.0 */
/* test_nics.c - network adapters with several ports, and the RoCE v2 GIDs of ports, in small sysfs trees */
#include "check_main.h"
#include "probe_fake.h"

#include "vendor/verbs.h"

#include <stdio.h>
#include <string.h>

extern const struct muster_probe muster_probe_ib_link;

static struct probe_fake *context;

const struct muster_verbs *muster_verbs(struct muster_error *err)
{
	muster_fail(err, MUSTER_ELIB, "libibverbs: libibverbs.so.1 cannot be opened");
	return NULL;
}

int muster_verbs_query_port(
	const struct muster_verbs *verbs, struct ibv_context *opened, uint8_t port, struct ibv_port_attr *attr)
{
	(void)verbs, (void)opened, (void)port, (void)attr;
	ck_abort_msg("there is no library to ask");
	return -1;
}

static void setup(void)
{
	context = fake_new(&muster_probe_ib_link);
	fake_file(context, "/sys/class", NULL);
}

static void teardown(void)
{
	fake_free(context);
}

static void put(const char *device, int port, const char *file, const char *text)
{
	char path[256];
	if (port)
		snprintf(path, sizeof path, "/sys/class/infiniband/%s/ports/%d/%s", device, port, file);
	else
		snprintf(path, sizeof path, "/sys/class/infiniband/%s/%s", device, file);
	fake_file(context, path, text);
}

/* guid: of the system image; pci: NULL for none. */
static void add_device(const char *device, const char *board, const char *guid, const char *pci)
{
	char uevent[64];
	put(device, 0, "hca_type", "MT4131\n");
	put(device, 0, "board_id", board);
	if (guid)
		put(device, 0, "sys_image_guid", guid);
	snprintf(uevent, sizeof uevent, "PCI_SLOT_NAME=%s\n", pci ? pci : "none");
	put(device, 0, "device/uevent", uevent);
}

static void add_port(const char *device, int port, const char *layer, const char *state, const char *rate)
{
	put(device, port, "link_layer", layer);
	put(device, port, "state", state);
	put(device, port, "rate", rate);
}

#define UP "4: ACTIVE\n"
#define DOWN "1: DOWN\n"
#define FAST "100 Gb/sec (2X HDR)\n"
#define SLOW "10 Gb/sec (1X SDR)\n"

static void measure(void)
{
	struct muster_error err;
	muster_probe_ib_link.run(&context->ctx, &err);
}

static void check_nic(const char *nic, double ports, double up, double share)
{
	ck_assert_double_eq(fake_number(context, "node.ports_per_nic", nic), ports);
	ck_assert_double_eq(fake_number(context, "node.nic_ports_up", nic), up);
	ck_assert_double_eq_tol(fake_number(context, "node.nic_share", nic), share, 1e-9);
}

/* An adapter with 8 ports, each of which may be down; beside it another of the model that is whole. */
TEST_LOOP(ports_of_one_device_are_one_adapter, 0, 9)
{
	static const char *const devices[] = { "mlx5_0", "mlx5_1" };
	for (int d = 0; d < 2; d++) {
		add_device(devices[d], "BOARD1\n", d ? "0000:0000:0000:0002\n" : "0000:0000:0000:0001\n", NULL);
		for (int i = 1; i <= 8; i++)
			add_port(devices[d], i, "Ethernet\n", d == 0 && i <= _i ? DOWN : UP,
				d == 0 && i <= _i ? SLOW : FAST);
	}
	measure();
	check_nic("mlx5_0", 8, 8 - _i, (8 - _i) / 8.0);
	check_nic("mlx5_1", 8, 8, 1);
	ck_assert_str_eq(
		muster_sample_label(fake_sample(context, "node.nic_share", "mlx5_0", NULL), "link_layer")->string,
		"Ethernet");
}

static const struct {
	const char *guid[2], *pci[2], *name; /* NULL: two adapters */
} groups[] = {
	{ { "a:1\n", "a:1\n" }, { "0000:17:00.0", "0000:18:00.0" }, "mlx5_0+mlx5_1" },
	{ { "a:1\n", "a:2\n" }, { "0000:17:00.0", "0000:17:00.1" }, NULL },
	{ { NULL, NULL }, { "0000:17:00.0", "0000:17:00.1" }, "mlx5_0+mlx5_1" },
	{ { "0000:0000:0000:0000\n", "0000:0000:0000:0000\n" }, { "0000:17:00.0", "0000:18:00.0" }, NULL },
	{ { "0000:0000:0000:0000\n", NULL }, { "0000:17:00.0", "0000:17:00.1" }, "mlx5_0+mlx5_1" },
	{ { NULL, NULL }, { NULL, NULL }, NULL },
};

TEST_EACH(devices_of_one_board_are_one_adapter, groups)
{
	add_device("mlx5_0", "BOARD1\n", groups[_i].guid[0], groups[_i].pci[0]);
	add_device("mlx5_1", "BOARD1\n", groups[_i].guid[1], groups[_i].pci[1]);
	add_port("mlx5_0", 1, "Ethernet\n", UP, FAST);
	add_port("mlx5_1", 1, "Ethernet\n", UP, FAST);
	measure();
	if (groups[_i].name) {
		check_nic(groups[_i].name, 2, 2, 1);
		ck_assert_uint_eq(fake_count(context, "node.nic_share"), 1);
		return;
	}
	ck_assert_double_eq(fake_number(context, "node.ports_per_nic", "mlx5_0"), 1);
	ck_assert_double_eq(fake_number(context, "node.ports_per_nic", "mlx5_1"), 1);
	ck_assert_str_eq(fake_reason(context, "node.nic_share", "none"), "each network adapter has one port");
	ck_assert_str_eq(fake_reason(context, "node.nic_ports_up", "none"), "each network adapter has one port");
}

/* Adapters with a second port that has no cable, as storage networks have them: a loss only where another adapter of
 * the model has more. */
TEST_LOOP(a_port_that_no_adapter_of_the_model_uses_is_no_loss, 0, 2)
{
	add_device("mlx5_0", "BOARD1\n", "a:1\n", NULL);
	add_port("mlx5_0", 1, "Ethernet\n", UP, FAST);
	add_port("mlx5_0", 2, "Ethernet\n", DOWN, SLOW);
	add_device("mlx5_1", _i == 0 ? "BOARD2\n" : "BOARD1\n", "a:2\n", NULL);
	add_port("mlx5_1", 1, "Ethernet\n", UP, FAST);
	add_port("mlx5_1", 2, "Ethernet\n", UP, FAST);
	measure();
	check_nic("mlx5_0", 2, 1, _i == 0 ? 1 : 0.5);
	check_nic("mlx5_1", 2, 2, 1);
}

TEST(a_slow_port_counts_with_its_rate)
{
	add_device("mlx5_0", "BOARD1\n", "a:1\n", NULL);
	add_port("mlx5_0", 1, "InfiniBand\n", UP, FAST);
	add_port("mlx5_0", 2, "InfiniBand\n", UP, "50 Gb/sec (1X HDR)\n");
	measure();
	check_nic("mlx5_0", 2, 2, 0.75);
}

TEST(an_adapter_without_any_link_has_no_share)
{
	add_device("mlx5_0", "BOARD1\n", "a:1\n", NULL);
	add_port("mlx5_0", 1, "Ethernet\n", DOWN, SLOW);
	add_port("mlx5_0", 2, "Ethernet\n", DOWN, SLOW);
	measure();
	ck_assert_double_eq(fake_number(context, "node.nic_ports_up", "mlx5_0"), 0);
	ck_assert_ptr_nonnull(strstr(fake_reason(context, "node.nic_share", "mlx5_0"), "ACTIVE"));
}

/* Ports of one card, one for InfiniBand and one for Ethernet, do not replace each other. */
TEST(link_layers_are_apart)
{
	add_device("mlx5_0", "BOARD1\n", "a:1\n", NULL);
	add_port("mlx5_0", 1, "InfiniBand\n", UP, FAST);
	add_port("mlx5_0", 2, "Ethernet\n", DOWN, SLOW);
	measure();
	ck_assert_uint_eq(fake_count(context, "node.ports_per_nic"), 2);
	ck_assert_uint_eq(fake_count(context, "node.nic_share"), 1);
	ck_assert_str_eq(fake_reason(context, "node.nic_share", "none"), "each network adapter has one port");
}

#define LOCAL "fe80:0000:0000:0000:0015:5dff:fe33:ff00\n"
#define ROUTED "2001:0db8:0000:0000:0015:5dff:fe33:ff00\n"
#define IPV4 "0000:0000:0000:0000:0000:ffff:0a00:0004\n"
#define EMPTY "0000:0000:0000:0000:0000:0000:0000:0000\n"

/* The types and the GIDs of entries 0 to 3; NULL: an entry that cannot be read. index -1: there is none. */
static const struct {
	const char *layer, *state, *types[4], *gids[4];
	int index, roce_v2; /* roce_v2 -1: null */
	const char *why, *node_type;
} tables[] = {
	{ "Ethernet\n", UP, { "IB/RoCE v1\n", "RoCE v2\n", "IB/RoCE v1\n", "RoCE v2\n" }, { LOCAL, LOCAL, IPV4, IPV4 },
		3, 1, NULL, NULL },
	{ "Ethernet\n", UP, { "RoCE v2\n", "RoCE v2\n", "RoCE v2\n", "RoCE v2\n" }, { LOCAL, ROUTED, IPV4, IPV4 }, 2, 1,
		NULL, NULL },
	{ "Ethernet\n", UP, { "RoCE v2\n", "RoCE v2\n" }, { LOCAL, ROUTED }, 1, 1, NULL, NULL },
	{ "Ethernet\n", UP, { "IB/RoCE v1\n", "RoCE v2\n" }, { LOCAL, LOCAL }, 1, 1, NULL, NULL },
	{ "Ethernet\n", UP, { "RoCE v2\n", "RoCE v2\n" }, { EMPTY, LOCAL }, 1, 1, NULL, NULL },
	{ "Ethernet\n", UP, { NULL, NULL, NULL, "RoCE v2\n" }, { EMPTY, EMPTY, EMPTY, IPV4 }, 3, 1, NULL, NULL },
	{ "Ethernet\n", UP, { "IB/RoCE v1\n", NULL, "IB/RoCE v1\n" }, { LOCAL, EMPTY, IPV4 }, -1, 0,
		"no GID of the port is of RoCE v2", NULL },
	{ "Ethernet\n", DOWN, { "IB/RoCE v1\n" }, { LOCAL }, -1, -1, "no GID of the port is of RoCE v2", NULL },
	{ "Ethernet\n", DOWN, { "RoCE v2\n" }, { LOCAL }, 0, 1, NULL, NULL },
	/* another network namespace: every entry fails */
	{ "Ethernet\n", UP, { NULL }, { EMPTY }, -1, -1, "no entry that can be read", NULL },
	{ "InfiniBand\n", UP, { "IB/RoCE v1\n" }, { LOCAL }, -1, -1, "this port is InfiniBand", NULL },
	{ "Ethernet\n", UP, { "IB/RoCE v1\n" }, { LOCAL }, -1, -1, "iWARP", "4: RNIC\n" },
	{ "Ethernet\n", UP, { "RoCE v2\n" }, { LOCAL }, 0, 1, NULL, "1: CA\n" },
};

TEST_EACH(the_roce_v2_gid_is_the_one_that_is_reached_best, tables)
{
	add_device("mlx5_0", "BOARD1\n", "a:1\n", NULL);
	add_port("mlx5_0", 1, tables[_i].layer, tables[_i].state, FAST);
	if (tables[_i].node_type)
		put("mlx5_0", 0, "node_type", tables[_i].node_type);
	for (int i = 0; i < 4 && tables[_i].gids[i]; i++) {
		char file[64];
		snprintf(file, sizeof file, "gid_attrs/types/%d", i);
		put("mlx5_0", 1, file, tables[_i].types[i] ? tables[_i].types[i] : "");
		snprintf(file, sizeof file, "gids/%d", i);
		put("mlx5_0", 1, file, tables[_i].gids[i]);
	}
	measure();
	if (tables[_i].index >= 0)
		ck_assert_double_eq(fake_number(context, "port.gid_roce_v2", "mlx5_0/1"), tables[_i].index);
	else
		ck_assert_ptr_nonnull(strstr(fake_reason(context, "port.gid_roce_v2", "mlx5_0/1"), tables[_i].why));
	if (tables[_i].roce_v2 >= 0)
		ck_assert_int_eq(fake_boolean(context, "port.roce_v2", "mlx5_0/1"), tables[_i].roce_v2);
	else
		fake_reason(context, "port.roce_v2", "mlx5_0/1");
}

TEST_MAIN(.setup = setup, .teardown = teardown)
