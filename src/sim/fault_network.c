/* fault_network.c - adapters, and what nodes and GPUs reach of each other */
#include "sim/fault.h"

#include "sim/scenario.h"
#include "util/text.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* -- RDMA devices, their links and their counters -- */

/* Without a subnet manager's word a port has no address; mlx5 then shows the highest LID. */
static void forget_address(struct muster_sim_port *port)
{
	port->lid = 0xffff;
	port->sm_lid = 0;
}

/* A port without a link shows the lowest speed there is. */
int muster_fault_ib_down(const struct muster_fault_target *t, const char *value, struct muster_error *err)
{
	(void)value, (void)err;
	t->port->state = "DOWN";
	t->port->phys_state = "Polling";
	t->port->active_speed = 1;
	t->port->active_width = 2;
	t->port->rate = "10 Gb/sec (4X SDR)";
	forget_address(t->port);
	return 0;
}

/* Ports with one name are ports of one device. */
int muster_fault_nic_port_down(const struct muster_fault_target *t, const char *value, struct muster_error *err)
{
	struct muster_fault_target other = *t;
	int number = (int)t->number;
	(void)value;
	other.port = NULL;
	for (size_t i = 0; i < t->node->port_count && !other.port; i++)
		if (strcmp(t->node->ports[i].device, t->port->device) == 0 && t->node->ports[i].port == number)
			other.port = &t->node->ports[i];
	if (!other.port)
		return muster_fail(err, MUSTER_EUSAGE, "%s has no port %d", t->port->device, number);
	return muster_fault_ib_down(&other, NULL, err);
}

/* Each InfiniBand adapter becomes a RoCE adapter with VALUE ports of 100 Gb/s. */
int muster_fault_roce(const struct muster_fault_target *t, const char *value, struct muster_error *err)
{
	static const char *pkeys[] = { "0xffff" };
	struct muster_sim_node *node = t->node;
	size_t count = 0, ports = (size_t)t->number;
	(void)value, (void)err;
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
			port->active_speed = 64; /* two lanes of 50 Gb/s */
			port->active_width = 16;
			port->rate = "100 Gb/sec (2X HDR)";
			port->sm_lid = 0;
			port->pkeys = pkeys;
			port->pkey_count = 1;
			muster_sim_port_identify(
				port, t->cluster->arena, (size_t)(node - t->cluster->nodes), count - 1);
		}
	}
	node->ports = more;
	node->port_count = count;
	return 0;
}

int muster_fault_ib_init(const struct muster_fault_target *t, const char *value, struct muster_error *err)
{
	(void)value, (void)err;
	t->port->state = "INIT";
	forget_address(t->port);
	return 0;
}

/* Speeds and widths as verbs encodes them, with the text of sysfs. */
int muster_fault_ib_rate(const struct muster_fault_target *t, const char *value, struct muster_error *err)
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
			t->port->active_speed = rates[i].speed;
			t->port->active_width = rates[i].width;
			t->port->rate = rates[i].text;
			return 0;
		}
	return muster_fail(
		err, MUSTER_EUSAGE, "VALUE must be one of 10, 20, 40, 50, 56, 100, 200, 400, 800, not %s", value);
}

/* VALUE is NAME:NUMBER. The counters of a port may be another port's too: it gets its own. */
int muster_fault_counter(const struct muster_fault_target *t, const char *value, struct muster_error *err)
{
	struct muster_sim_port *port = t->port;
	const char *colon = strrchr(value, ':');
	long increase = 0;
	if (!colon)
		return muster_fail(err, MUSTER_EUSAGE, "VALUE must be NAME:NUMBER, not \"%s\"", value);
	if (muster_parse_int(colon + 1, 1, INT32_MAX, &increase, "NUMBER", err) < 0)
		return -1;
	struct muster_sim_counter *own =
		muster_sim_copy(t->cluster->arena, port->counters, port->counter_count, sizeof *own);
	bool found = false;
	for (size_t i = 0; i < port->counter_count; i++) {
		size_t length = strlen(own[i].name);
		if (length != (size_t)(colon - value) || strncmp(own[i].name, value, length) != 0)
			continue;
		own[i].increase = (double)increase;
		found = true;
	}
	if (!found)
		return muster_fail(err, MUSTER_EUSAGE, "the port has no counter \"%.*s\"", (int)(colon - value), value);
	port->counters = own;
	return 0;
}

/* An InfiniBand device like those of other machine types, at the end of the list. */
int muster_fault_ib_extra(const struct muster_fault_target *t, const char *value, struct muster_error *err)
{
	static const char *pkeys[] = { "0x8001", "0x7fff" };
	static struct muster_sim_counter counters[] = { { .name = "symbol_error" }, { .name = "link_downed" },
		{ .name = "port_rcv_errors" }, { .name = "hw:out_of_sequence" } };
	struct muster_sim_node *node = t->node;
	(void)value;
	for (size_t i = 0; i < node->port_count; i++)
		if (strcmp(node->ports[i].device, MUSTER_FAULT_EXTRA_DEVICE) == 0)
			return muster_fail(err, MUSTER_EUSAGE, "the node already has this device");
	struct muster_sim_port *ports =
		muster_sim_copy(t->cluster->arena, node->ports, node->port_count, sizeof *ports);
	ports[node->port_count] = (struct muster_sim_port){
		.device = MUSTER_FAULT_EXTRA_DEVICE,
		.port = 1,
		.pci = "0f01:00:00.0",
		.link_layer = "InfiniBand",
		.state = "ACTIVE",
		.phys_state = "LinkUp",
		.active_speed = 64,
		.active_width = 2,
		.active_mtu = 5,
		.rate = "200 Gb/sec (4X HDR)",
		.sm_lid = 1,
		.firmware = "20.31.1014",
		.board_id = "MT_0000000223",
		.hca_type = "MT4124",
		.pkeys = pkeys,
		.pkey_count = sizeof pkeys / sizeof *pkeys,
		.numa_node = node->numas[0].os_index,
		.counters = counters,
		.counter_count = sizeof counters / sizeof *counters,
	};
	muster_sim_port_identify(
		&ports[node->port_count], t->cluster->arena, (size_t)(node - t->cluster->nodes), node->port_count);
	node->ports = ports;
	node->port_count++;
	return 0;
}

/* -- nodes that cannot work in one ring, though each of them is well -- */

/* A new barrier that concerns no node yet: sides are the caller's to fill in. */
static char *add_barrier(
	const struct muster_fault_target *t, const char *mode, const char *name, struct muster_error *err)
{
	static const char *const modes[] = { "hang", "error", "slow" };
	struct muster_sim_cluster *cluster = t->cluster;
	int found = muster_parse_name(mode, modes, 3, "VALUE", err);
	if (found < 0)
		return NULL;
	struct muster_sim_partition *all =
		muster_sim_copy(cluster->arena, cluster->barriers, cluster->barrier_count, sizeof *all);
	char *sides = muster_arena_alloc(cluster->arena, cluster->node_count + 1);
	memset(sides, '-', cluster->node_count);
	all[cluster->barrier_count++] =
		(struct muster_sim_partition){ .name = name, .mode = modes[found], .sides = sides };
	cluster->barriers = all;
	return sides;
}

int muster_fault_net_bad(const struct muster_fault_target *t, const char *value, struct muster_error *err)
{
	char *sides =
		add_barrier(t, value, muster_arena_printf(t->cluster->arena, "%s and all others", t->node->name), err);
	if (!sides)
		return -1;
	memset(sides, 'b', t->cluster->node_count);
	sides[t->node - t->cluster->nodes] = 'a';
	return 0;
}

/* Between nodes 1 to this one, and the nodes after it. */
int muster_fault_cut(const struct muster_fault_target *t, const char *value, struct muster_error *err)
{
	size_t before = (size_t)(t->node - t->cluster->nodes) + 1;
	if (before == t->cluster->node_count)
		return muster_fail(err, MUSTER_EUSAGE, "there is no node after the last one");
	char *sides = add_barrier(t, value,
		muster_arena_printf(t->cluster->arena, "%s and those before it, and those behind it", t->node->name),
		err);
	if (!sides)
		return -1;
	memset(sides, 'a', before);
	memset(sides + before, 'b', t->cluster->node_count - before);
	return 0;
}

/* VALUE is NODE or NODE:MODE. */
int muster_fault_link_bad(const struct muster_fault_target *t, const char *value, struct muster_error *err)
{
	const struct muster_sim_cluster *cluster = t->cluster;
	const char *colon = strchr(value, ':');
	char *number = muster_asprintf("%.*s", colon ? (int)(colon - value) : (int)strlen(value), value);
	long other = 0;
	int rc = muster_parse_int(number, 1, (long)cluster->node_count, &other, "NODE", err);
	free(number);
	if (rc < 0)
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

struct peer {
	const struct muster_sim_node *node;
	const struct muster_sim_gpu *gpu;
};

/* "gpu2" of the target's node, "node2" for the GPU with the same number on that node, or "node2/gpu3". */
static int find_peer(const struct muster_fault_target *t, char *text, struct peer *ret, struct muster_error *err)
{
	const struct muster_sim_cluster *cluster = t->cluster;
	bool has_node = strncmp(text, "node", 4) == 0;
	char *slash = strchr(text, '/'), *gpu = has_node ? NULL : text;
	long node = t->node - cluster->nodes + 1, number = t->gpu->cuda_index;
	if (has_node && slash) {
		*slash = '\0';
		gpu = slash + 1;
	}
	if (has_node && muster_parse_int(text + 4, 1, (long)cluster->node_count, &node, "node", err) < 0)
		return -1;
	struct peer peer = { .node = &cluster->nodes[node - 1] };
	if (gpu && strncmp(gpu, "gpu", 3) != 0)
		return muster_fail(err, MUSTER_EUSAGE, "\"%s\" is not a GPU: use gpu2, node2 or node2/gpu3", gpu);
	if (gpu && muster_parse_int(gpu + 3, 0, (long)peer.node->gpu_count - 1, &number, "gpu", err) < 0)
		return -1;
	for (size_t i = 0; i < peer.node->gpu_count; i++)
		if (peer.node->gpus[i].cuda_index == number)
			peer.gpu = &peer.node->gpus[i];
	if (!peer.gpu || peer.gpu == t->gpu)
		return muster_fail(err, MUSTER_EUSAGE, "a link has two GPUs");
	*ret = peer;
	return 0;
}

/* VALUE is PEER:GB/s. */
int muster_fault_link_slow(const struct muster_fault_target *t, const char *value, struct muster_error *err)
{
	struct muster_sim_cluster *cluster = t->cluster;
	char *text = value ? muster_strdup(value) : NULL, *colon = text ? strrchr(text, ':') : NULL;
	struct peer peer = { 0 };
	double gbps = 0;
	int rc = -1;
	if (colon)
		*colon = '\0';
	if (!colon)
		muster_fail(err, MUSTER_EUSAGE, "VALUE must be PEER:GB/s, for example gpu2:40 or node2:5");
	else if (muster_fault_number(colon + 1, 0.001, 10000, &gbps, err) == 0)
		rc = find_peer(t, text, &peer, err);
	free(text);
	if (rc < 0)
		return -1;
	struct muster_sim_link *all = muster_sim_copy(cluster->arena, cluster->links, cluster->link_count, sizeof *all);
	all[cluster->link_count++] = (struct muster_sim_link){
		.name = muster_arena_printf(cluster->arena, "%s/%s and %s/%s", t->node->name, t->gpu->bus_id,
			peer.node->name, peer.gpu->bus_id),
		.from_node = (int)(t->node - cluster->nodes),
		.to_node = (int)(peer.node - cluster->nodes),
		.from_gpu = t->gpu->bus_id,
		.to_gpu = peer.gpu->bus_id,
		.gbps = gbps,
	};
	cluster->links = all;
	return 0;
}
