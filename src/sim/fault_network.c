/* SPDX-License-Identifier: Apache-2.0 */
/* fault_network.c - adapters, and what nodes and GPUs reach of each other
 *
 * Three kinds of trouble, which different parts of the simulation show:
 *
 *   a port       its state, rate and counters: sysfs (fs.c), verbs and NCCL's choice of adapters (standins/)
 *   a barrier    nodes of both sides cannot be in one ring: NCCL hangs, fails or is slow (nccl_ring.c)
 *   a link       two GPUs exchange data slowly, and no counter says so (nccl_paths.c)
 */
#include "sim/fault.h"

#include "sim/scenario.h"
#include "util/text.h"

#include <stdint.h>
#include <string.h>

/* -- RDMA devices, their links and their counters -- */

/* A port that no subnet manager has configured has no address; mlx5 then shows the LID 0xffff. */
static void forget_address(struct muster_sim_port *port)
{
	port->lid = 0xffff;
	port->sm_lid = 0;
}

/* speed and width as verbs encodes them (active_speed: 64 is HDR, 128 NDR; active_width: 1 is 1X, 2 is 4X, 16 is 2X),
 * and the text that sysfs has for both. */
static void set_rate(struct muster_sim_port *port, int speed, int width, const char *text)
{
	port->active_speed = speed;
	port->active_width = width;
	port->rate = text;
}

/* A port without a link shows the lowest speed there is. */
void muster_fault_ib_down(const struct muster_fault_target *t)
{
	t->port->state = "DOWN";
	t->port->phys_state = "Polling";
	set_rate(t->port, 1, 2, "10 Gb/sec (4X SDR)");
	forget_address(t->port);
}

/* VALUE is the number of a port. WHERE names a device, and has led to its first port; ports with one name are ports of
 * one device. */
int muster_fault_nic_port_down(const struct muster_fault_target *t, struct muster_error *err)
{
	for (size_t i = 0; i < t->node->port_count; i++)
		if (strcmp(t->node->ports[i].device, t->port->device) == 0 &&
			t->node->ports[i].port == (int)t->number) {
			muster_fault_ib_down(&(struct muster_fault_target){ .port = &t->node->ports[i] });
			return 0;
		}
	return muster_fail(err, MUSTER_EUSAGE, "%s has no port %d", t->port->device, (int)t->number);
}

/* Each InfiniBand adapter becomes a RoCE adapter with VALUE ports of 100 Gb/s. Ethernet adapters stay as they are. The
 * node gets a new list, in which every port of a new adapter has a GUID and a GID by its place there. */
void muster_fault_roce(const struct muster_fault_target *t)
{
	static const char *pkeys[] = { "0xffff" };
	struct muster_sim_node *node = t->node;
	size_t count = 0, ports = (size_t)t->number;
	struct muster_sim_port *more = muster_arena_alloc(t->cluster->arena, node->port_count * ports * sizeof *more);
	for (size_t i = 0; i < node->port_count; i++) {
		bool infiniband = strcmp(node->ports[i].link_layer, "InfiniBand") == 0;
		for (int number = 1; number <= (infiniband ? (int)ports : 1); number++) {
			struct muster_sim_port *port = &more[count++];
			*port = node->ports[i];
			if (!infiniband)
				continue;
			port->port = number;
			port->link_layer = "Ethernet";
			set_rate(port, 64, 16, "100 Gb/sec (2X HDR)"); /* two lanes of 50 Gb/s */
			port->sm_lid = 0;
			port->pkeys = pkeys;
			port->pkey_count = 1;
			muster_sim_port_identify(
				port, t->cluster->arena, (size_t)(node - t->cluster->nodes), count - 1);
		}
	}
	node->ports = more;
	node->port_count = count;
}

void muster_fault_ib_init(const struct muster_fault_target *t)
{
	t->port->state = "INIT";
	forget_address(t->port);
}

int muster_fault_ib_rate(const struct muster_fault_target *t, struct muster_error *err)
{
	static const struct {
		double gbps;
		int speed, width;
		const char *text;
	} rates[] = {
		{ 10, 1, 2, "10 Gb/sec (4X SDR)" },
		{ 20, 2, 2, "20 Gb/sec (4X DDR)" },
		{ 40, 4, 2, "40 Gb/sec (4X QDR)" },
		{ 50, 64, 1, "50 Gb/sec (1X HDR)" },
		{ 56, 16, 2, "56 Gb/sec (4X FDR)" },
		{ 100, 32, 2, "100 Gb/sec (4X EDR)" },
		{ 200, 64, 2, "200 Gb/sec (4X HDR)" },
		{ 400, 128, 2, "400 Gb/sec (4X NDR)" },
		{ 800, 256, 2, "800 Gb/sec (4X XDR)" },
	};
	for (size_t i = 0; i < sizeof rates / sizeof *rates; i++)
		if (t->number >= rates[i].gbps && t->number <= rates[i].gbps) {
			set_rate(t->port, rates[i].speed, rates[i].width, rates[i].text);
			return 0;
		}
	return muster_fail(
		err, MUSTER_EUSAGE, "VALUE must be one of 10, 20, 40, 50, 56, 100, 200, 400, 800, not %s", t->value);
}

/* VALUE is NAME:NUMBER, where NAME may have a colon itself: "hw:out_of_sequence:7". The ports of a node share one array
 * of counters, so this port gets a copy first. nccl.c raises the counter's file with the first traffic. */
int muster_fault_counter(const struct muster_fault_target *t, struct muster_error *err)
{
	struct muster_sim_port *port = t->port;
	const char *colon = strrchr(t->value, ':'), *name = muster_fault_until(t, t->value, colon);
	long increase = 0;
	if (!colon)
		return muster_fail(err, MUSTER_EUSAGE, "VALUE must be NAME:NUMBER, not \"%s\"", t->value);
	if (muster_parse_int(colon + 1, 1, INT32_MAX, &increase, "NUMBER", err) < 0)
		return -1;
	port->counters =
		muster_sim_copy(t->cluster->arena, port->counters, port->counter_count, sizeof *port->counters);
	for (size_t i = 0; i < port->counter_count; i++)
		if (strcmp(port->counters[i].name, name) == 0) {
			port->counters[i].increase = (double)increase;
			return 0;
		}
	return muster_fail(err, MUSTER_EUSAGE, "the port has no counter \"%s\"", name);
}

/* An InfiniBand device like those of other machine types, at the end of the list. */
int muster_fault_ib_extra(const struct muster_fault_target *t, struct muster_error *err)
{
	static const char *pkeys[] = { "0x8001", "0x7fff" };
	static struct muster_sim_counter counters[] = { { .name = "symbol_error" }, { .name = "link_downed" },
		{ .name = "port_rcv_errors" }, { .name = "hw:out_of_sequence" } };
	struct muster_sim_node *node = t->node;
	struct muster_sim_port port = muster_sim_port_default;
	for (size_t i = 0; i < node->port_count; i++)
		if (strcmp(node->ports[i].device, MUSTER_FAULT_EXTRA_DEVICE) == 0)
			return muster_fail(err, MUSTER_EUSAGE, "the node already has this device");
	port.device = MUSTER_FAULT_EXTRA_DEVICE;
	port.pci = "0f01:00:00.0";
	port.link_layer = "InfiniBand";
	port.active_mtu = 5;
	set_rate(&port, 64, 2, "200 Gb/sec (4X HDR)");
	port.sm_lid = 1;
	port.firmware = "20.31.1014";
	port.board_id = "MT_0000000223";
	port.hca_type = "MT4124";
	port.pkeys = pkeys;
	port.pkey_count = sizeof pkeys / sizeof *pkeys;
	port.numa_node = node->numas[0].os_index;
	port.counters = counters;
	port.counter_count = sizeof counters / sizeof *counters;
	muster_sim_port_identify(&port, t->cluster->arena, (size_t)(node - t->cluster->nodes), node->port_count);
	node->ports = muster_sim_copy(t->cluster->arena, node->ports, node->port_count, sizeof port);
	node->ports[node->port_count++] = port;
	return 0;
}

/* -- nodes that cannot work in one ring, though each of them is well -- */

/* Add a barrier that concerns no node yet. Returns its sides, a letter for each node and all '-', which the caller
 * changes to 'a' and 'b'. mode: "hang", "error" or "slow", else NULL with err. name: for messages. */
static char *add_barrier(
	const struct muster_fault_target *t, const char *mode, const char *name, struct muster_error *err)
{
	static const char *const modes[] = { "hang", "error", "slow" };
	struct muster_sim_cluster *cluster = t->cluster;
	int found = muster_parse_name(mode, modes, 3, "VALUE", err);
	if (found < 0)
		return NULL;
	cluster->barriers =
		muster_sim_copy(cluster->arena, cluster->barriers, cluster->barrier_count, sizeof *cluster->barriers);
	char *sides = muster_arena_alloc(cluster->arena, cluster->node_count + 1);
	memset(sides, '-', cluster->node_count);
	cluster->barriers[cluster->barrier_count++] =
		(struct muster_sim_partition){ .name = name, .mode = modes[found], .sides = sides };
	return sides;
}

/* This node is side a, and every other node is side b: rings of other nodes alone work. */
int muster_fault_net_bad(const struct muster_fault_target *t, struct muster_error *err)
{
	char *sides = add_barrier(
		t, t->value, muster_arena_printf(t->cluster->arena, "%s and all others", t->node->name), err);
	if (!sides)
		return -1;
	memset(sides, 'b', t->cluster->node_count);
	sides[t->node - t->cluster->nodes] = 'a';
	return 0;
}

/* Between nodes 1 to this one, and the nodes after it. */
int muster_fault_cut(const struct muster_fault_target *t, struct muster_error *err)
{
	size_t before = (size_t)(t->node - t->cluster->nodes) + 1;
	if (before == t->cluster->node_count)
		return muster_fail(err, MUSTER_EUSAGE, "there is no node after the last one");
	char *sides = add_barrier(t, t->value,
		muster_arena_printf(t->cluster->arena, "%s and those before it, and those behind it", t->node->name),
		err);
	if (!sides)
		return -1;
	memset(sides, 'a', before);
	memset(sides + before, 'b', t->cluster->node_count - before);
	return 0;
}

/* VALUE is NODE or NODE:MODE, "2:error"; without MODE it is "hang". Only rings with both nodes are concerned. */
int muster_fault_link_bad(const struct muster_fault_target *t, struct muster_error *err)
{
	const struct muster_sim_cluster *cluster = t->cluster;
	const char *colon = strchr(t->value, ':'), *number = muster_fault_until(t, t->value, colon);
	long other = 0;
	if (muster_parse_int(number, 1, (long)cluster->node_count, &other, "NODE", err) < 0)
		return -1;
	if (&cluster->nodes[other - 1] == t->node)
		return muster_fail(err, MUSTER_EUSAGE, "a link has two nodes");
	char *sides = add_barrier(t, colon ? colon + 1 : "hang",
		muster_arena_printf(cluster->arena, "%s and %s", t->node->name, cluster->nodes[other - 1].name), err);
	if (!sides)
		return -1;
	sides[t->node - cluster->nodes] = 'a';
	sides[other - 1] = 'b';
	return 0;
}

/* -- exchanges of data between GPUs that are slow, though every part of the machine says that it is well -- */

/* Read a peer: "gpu2" of the target's node, "node2" for the GPU with the same number on that node, or "node2/gpu3".
 * *node (from 1) and *gpu (from 0) are the target's own when called, and what the text does not name stays. */
static int find_peer(
	const struct muster_fault_target *t, const char *text, long *node, long *gpu, struct muster_error *err)
{
	const char *slash = strchr(text, '/'), *part = text;
	if (strncmp(text, "node", 4) == 0) {
		const char *number = muster_fault_until(t, text + 4, slash);
		part = slash ? slash + 1 : NULL;
		if (muster_parse_int(number, 1, (long)t->cluster->node_count, node, "node", err) < 0)
			return -1;
	}
	if (part && strncmp(part, "gpu", 3) != 0)
		return muster_fail(err, MUSTER_EUSAGE, "\"%s\" is not a GPU: use gpu2, node2 or node2/gpu3", part);
	return part ? muster_parse_int(part + 3, 0, (long)t->node->gpu_count - 1, gpu, "gpu", err) : 0;
}

/* VALUE is PEER:GB/s, "node2/gpu3:5". The link works in both directions, so it is kept once. Links name GPUs by bus id,
 * which sweep() does not change. */
int muster_fault_link_slow(const struct muster_fault_target *t, struct muster_error *err)
{
	struct muster_sim_cluster *cluster = t->cluster;
	const char *colon = t->value ? strrchr(t->value, ':') : NULL;
	long from = t->node - cluster->nodes, to = from + 1, number = t->gpu - t->node->gpus;
	double gbps = 0;
	if (!colon)
		return muster_fail(err, MUSTER_EUSAGE, "VALUE must be PEER:GB/s, for example gpu2:40 or node2:5");
	if (muster_fault_number(colon + 1, 0.001, 10000, &gbps, err) < 0 ||
		find_peer(t, muster_fault_until(t, t->value, colon), &to, &number, err) < 0)
		return -1;
	const struct muster_sim_node *node = &cluster->nodes[to - 1];
	const struct muster_sim_gpu *gpu = &node->gpus[number];
	if (!gpu->bus_id)
		return muster_fail(err, MUSTER_EUSAGE, "the peer is missing: this fault must come before gpu-missing");
	if (gpu == t->gpu)
		return muster_fail(err, MUSTER_EUSAGE, "a link has two GPUs");
	cluster->links = muster_sim_copy(cluster->arena, cluster->links, cluster->link_count, sizeof *cluster->links);
	cluster->links[cluster->link_count++] = (struct muster_sim_link){
		.name = muster_arena_printf(
			cluster->arena, "%s/%s and %s/%s", t->node->name, t->gpu->bus_id, node->name, gpu->bus_id),
		.from_node = (int)from,
		.to_node = (int)to - 1,
		.from_gpu = t->gpu->bus_id,
		.to_gpu = gpu->bus_id,
		.gbps = gbps,
	};
	return 0;
}
