/* fault_infiniband.c - RDMA devices, their links and their counters */
#include "sim/fault_kinds.h"

#include "util/text.h"
#include "sim/scenario.h"

#include <stdint.h>
#include <string.h>

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
	long number = 0;
	other.port = NULL;
	if (muster_parse_int(value, 1, UINT8_MAX, &number, "VALUE", err) < 0)
		return -1;
	for (size_t i = 0; i < t->node->port_count && !other.port; i++)
		if (strcmp(t->node->ports[i].device, t->port->device) == 0 && t->node->ports[i].port == number)
			other.port = &t->node->ports[i];
	if (!other.port)
		return muster_fail(err, MUSTER_EUSAGE, "%s has no port %ld", t->port->device, number);
	return muster_fault_ib_down(&other, NULL, err);
}

/* Each InfiniBand adapter becomes a RoCE adapter with VALUE ports of 100 Gb/s. */
int muster_fault_roce(const struct muster_fault_target *t, const char *value, struct muster_error *err)
{
	static const char *pkeys[] = { "0xffff" };
	struct muster_sim_node *node = t->node;
	long ports = 0;
	size_t count = 0;
	if (muster_parse_int(value, 1, 16, &ports, "VALUE", err) < 0)
		return -1;
	struct muster_sim_port *more =
		muster_arena_alloc(t->cluster->arena, node->port_count * (size_t)ports * sizeof *more);
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
	double gbps = 0;
	if (muster_fault_number(value, 0, 1000, &gbps, err) < 0)
		return -1;
	for (size_t i = 0; i < sizeof rates / sizeof *rates; i++)
		if (gbps >= rates[i].gbps && gbps <= rates[i].gbps) {
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
