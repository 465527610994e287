/* SPDX-License-Identifier: Apache-2.0 */
/* test_interfaces.c - which interface MPI's messages take on nodes with docker0 and IPoIB */
#include "check_main.h"
#include "transport/interfaces.h"

#include <arpa/inet.h>
#include <stdio.h>

static struct muster_interface all[] = { { .name = "lo" }, { .name = "docker0" }, { .name = "ib0", .infiniband = true },
	{ .name = "eth0" }, { .name = "ens9" }, { .name = "rdma3", .infiniband = true } };
enum { COUNT = sizeof all / sizeof *all };
static const char *const addresses[COUNT] = { "127.0.0.1", "172.17.0.1", "10.8.0.5", "10.0.0.5", "192.168.7.5",
	"10.8.1.5" };

static void setup(void)
{
	for (size_t i = 0; i < COUNT; i++)
		all[i].address = inet_addr(addresses[i]);
}

/* The kernel's choice: each network by its own interface, everything else by ens9. */
static unsigned int route(unsigned int to)
{
	const unsigned int net = inet_addr("255.255.255.0");
	for (size_t i = 0; i < COUNT; i++)
		if ((to & net) == (all[i].address & net))
			return all[i].address;
	return all[4].address;
}

static const char *name_of(const struct muster_interface *interface)
{
	return interface ? interface->name : "";
}

static const struct {
	const char *names, *first;
} named[] = { { NULL, "" }, { "", "" }, { "eth", "eth0" }, { "eth0,ens9", "eth0" }, { "=ens", "" }, { "=ens9", "ens9" },
	{ "wlan,ens", "ens9" }, { "^docker0", "" }, { "ib0", "ib0" } };

TEST_EACH(the_users_interface_is_taken, named)
{
	ck_assert_str_eq(name_of(muster_interface_named(all, COUNT, named[_i].names)), named[_i].first);
}

static const struct {
	const char *text, *interface;
} heads[] = {
	{ "10.0.0.4", "eth0" },
	{ "10.0.0.5", "eth0" }, /* this node itself */
	{ "10.8.0.4", "" },
	{ "7.0;tcp://172.17.0.1,10.8.0.4,10.0.0.4:41234;tcp6://[fe80::1]:5", "eth0" },
	{ "7.0;tcp://10.8.0.4,10.0.0.4:41234", "eth0" },
	{ "8.8.8.8", "ens9" },
	{ "300.1.2.3", "" },
	{ "node-1", "" },
	{ "", "" },
	{ NULL, "" },
};

TEST_EACH(the_interface_of_the_route_to_the_head_node_is_taken, heads)
{
	ck_assert_str_eq(name_of(muster_interface_to(all, COUNT, heads[_i].text, route)), heads[_i].interface);
}

TEST(bridges_ends_of_containers_and_ipoib_are_aside)
{
	static const char *const aside[] = { "lo", "docker0", "br-7f3a", "virbr0", "veth12", "cni0", "ib0", "ibp1s0" };
	static const char *const usable[] = { "eth0", "ens1", "bond0", "br0", "vlan7", "enp1s0f0" };
	struct muster_interface one = { .name = "" };
	for (size_t i = 0; i < sizeof aside / sizeof *aside; i++) {
		snprintf(one.name, sizeof one.name, "%s", aside[i]);
		ck_assert_msg(muster_interface_is_aside(&one), "%s", aside[i]);
	}
	for (size_t i = 0; i < sizeof usable / sizeof *usable; i++) {
		snprintf(one.name, sizeof one.name, "%s", usable[i]);
		ck_assert_msg(!muster_interface_is_aside(&one), "%s", usable[i]);
	}
	snprintf(one.name, sizeof one.name, "rdma3");
	one.infiniband = true;
	ck_assert(muster_interface_is_aside(&one));
}

TEST_MAIN(.setup = setup)
