/* SPDX-License-Identifier: Apache-2.0 */
/* ib_link.c - state, speed and width of every RDMA port
 *
 * Yields samples only. A port that is down is a fact here; whether it should be up is the expectation file's business.
 * sysfs says which ports there are; libibverbs, joined by device name, adds what only it knows.
 *
 * run reads the files of sysfs of all ports first, then opens each device by libibverbs: a device that hangs there does
 * not hide what sysfs says. finish reads the error counters again; their increase is what is judged, since life-time
 * totals of healthy ports are not 0. In a container without /dev/infiniband sysfs still shows the ports, and libibverbs
 * lists none.
 *
 * The order in run, all in the worker of the node's leader:
 *
 *   1. ports.c        list the ports; wait for those that the subnet manager has not activated yet
 *   2. this file      files with one line each, PCI address, NUMA node
 *   3. ports.c        rate and limit; gids.c: GIDs and partition keys; ports.c: counters, kept for finish
 *   4. nics.c         ports of each adapter; adapters.c: adapters without a device
 *   5. attributes.c   libibverbs: speed, width, MTU, and whether sysfs agrees
 *
 * A missing libibverbs is an error of the probe only where there are ports; the samples of sysfs are kept.
 */
#include "probes/ib_link/ports.h"
#include "system/sysfs.h"
#include "probes/metrics.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define NIC_METRIC(name, better, ...) NUMBER(NODE, name, NONE, better, __VA_ARGS__, .labels = { "nic", "link_layer" })

static const struct muster_metric metrics[] = {
	NODE_NUMBER("node.ib_ports", NONE, MORE, "RDMA ports whose link layer is InfiniBand",
		.counts = MUSTER_COUNTS_PORTS, SHOWN(IN(NETWORK, 10, "InfiniBand ports"))),
	NODE_NUMBER("node.ethernet_ports", NONE, FACT, "RDMA ports whose link layer is Ethernet",
		SHOWN(IN(NETWORK, 20, "Ethernet ports (RDMA)"))),
	NODE_NUMBER("node.other_rdma_ports", NONE, FACT, "RDMA ports of another link layer, such as those of EFA"),
	NODE_TEXT("node.rdma_adapters_unused", FACT, NOTHING,
		"adapters of NVIDIA's (15b3) on the PCI bus without an RDMA device, and a module that is not loaded; "
		"\"none\""),
	NIC_METRIC("node.ports_per_nic", FACT, "ports of the network adapter"),
	NIC_METRIC("node.nic_ports_up", MORE,
		"ACTIVE ports of a network adapter with several; one without a value when no adapter has several"),
	NIC_METRIC("node.nic_share", MORE,
		"share of the adapter's full rate that its ACTIVE ports have; one without a value when no adapter "
		"has several"),
	PORT_TEXT("port.state", FACT, NOTHING, "logical state: ACTIVE, INIT, ARMED, DOWN",
		SHOWN(IN(PORTS, 20, "state", .second = "port.phys_state", .between = ", ", .unless = "LinkUp"),
			IN(PAGE_PORTS, 10, "state"))),
	PORT_TEXT("port.phys_state", FACT, NOTHING, "physical state: LinkUp, Polling, Disabled ...",
		SHOWN(IN(PAGE_PORTS, 20, "physical state"))),
	PORT_NUMBER("port.rate_gbps", GBIT_PER_S, MORE, "rate as sysfs names it (\"200 Gb/sec (4X HDR)\")",
		SHOWN(IN(PORTS, 30, "Gb/s", .bare = true), IN(PAGE_PORTS, 30, "Gb/s"))),
	PORT_NUMBER("port.rate_verbs_gbps", GBIT_PER_S, MORE, "speed times width as libibverbs gives them"),
	PORT_FLAG("port.rate_agrees", FACT, "sysfs and libibverbs give the same rate"),
	PORT_NUMBER("port.limit_gbps", GB_PER_S, DRIFTS,
		"what the link can carry in one direction after encoding; no value where the port is not ACTIVE"),
	PORT_TEXT("port.speed", FACT, NOTHING, "speed of one lane by name: HDR, NDR ..."),
	PORT_NUMBER("port.width", LANES, MORE, "lanes",
		SHOWN(IN(PORTS, 40, "link", .second = "port.speed", .is_link = true), IN(PAGE_PORTS, 40, "lanes"))),
	PORT_NUMBER("port.mtu_bytes", BYTES, FACT, "active MTU", SHOWN(IN(PORTS, 50, "MTU", .bare = true))),
	PORT_NUMBER("port.lid", NONE, DRIFTS, "local identifier", .identifies = MUSTER_IDENTIFIES_LID,
		SHOWN(IN(PORTS, 60, "LID", .own = true))),
	PORT_TEXT("port.gid", FACT, ADDRESS, "GID 0"),
	PORT_NUMBER("port.gid_roce_v2", NONE, FACT,
		"index of a RoCE v2 GID: of an IPv4 address, else of another that is routed, else any"),
	PORT_FLAG("port.roce_v2", FACT, "the Ethernet port has a RoCE v2 GID; no value while it is down"),
	PORT_TEXT("port.guid", FACT, ADDRESS, "node GUID",
		SHOWN(IN(PORTS, 70, "node GUID", .own = true), IN(TICKET, 130, "node GUID"))),
	PORT_TEXT("port.firmware", FACT, NOTHING, "firmware version",
		SHOWN(IN(NETWORK, 40, "firmware"), IN(PAGE_PORTS, 50, "firmware"))),
	PORT_TEXT("port.board_id", FACT, NOTHING, "board id"),
	PORT_TEXT("port.hca_type", FACT, NOTHING, "adapter type",
		SHOWN(IN(NETWORK, 30, "adapters by port", .second = "port.board_id", .between = " (", .after = ")",
			.counted = true))),
	PORT_TEXT("port.pci", FACT, NOTHING, "PCI address", SHOWN(IN(TICKET, 120, "PCI address"))),
	NUMBER(PORT, "port.numa_node", NONE, FACT, "NUMA node from sysfs; no value when the kernel does not know (-1)",
		.labels = { "port", "link_layer", "pci" }, SHOWN(IN(PORTS, 80, "NUMA"))),
	PORT_TEXT("port.pkeys", FACT, PARTITIONS, "valid P_Keys in the table's order, separated by spaces; \"none\""),
	PORT_FLAG("port.full_member", FACT,
		"at least one P_Key other than the default is a full-member key (0x8000 bit set)"),
	PORT_TEXT("port.partitions", FACT, PARTITIONS,
		"partitions of these P_Keys, whatever their order and membership; \"default\" when there is no other"),
	NUMBER(PORT, "port.counter", NONE, DRIFTS,
		"error counter at the start of the run; one without a value when the port has none",
		.labels = { "port", "link_layer", "counter" }, .counts_errors = true, .exported_as = "port.errors",
		SHOWN(IN(PORTS, 100, "before", .own = true))),
	NUMBER(PORT, "port.counter_increase", NONE, LESS, "increase of the error counter during the run",
		.labels = { "port", "link_layer", "counter" }, .counts_errors = true,
		.exported_as = "port.errors_increase", SHOWN(IN(PORTS, 90, "new errors"))),
};

/* Facts that are one line of one file, of the port or of its device. */
static const struct {
	const char *metric, *file;
	bool of_port;
} texts[] = {
	{ "port.state", "state", true },           /* "4: ACTIVE" */
	{ "port.phys_state", "phys_state", true }, /* "5: LinkUp" */
	{ "port.gid", "gids/0", true },
	{ "port.guid", "node_guid", false },
	{ "port.firmware", "fw_ver", false },
	{ "port.board_id", "board_id", false },
	{ "port.hca_type", "hca_type", false },
};

/* A device's name says nothing of its place: the NUMA node goes with the PCI address, "unknown" when there is none. */
static void measure_place(struct muster_probe_ctx *ctx, const struct muster_rdma_port *port)
{
	char address[64], path[PATH_MAX];
	struct muster_error why;
	long node = 0;
	muster_rdma_path(ctx, port, false, "device", path, sizeof path);
	int result = muster_sysfs_pci_address(path, address, sizeof address, &why);
	muster_rdma_emit(ctx, port, "port.pci", result, muster_string(address), &why);
	const char *pci = result == 0 ? address : "unknown";
	result = muster_sysfs_natural(
		muster_rdma_path(ctx, port, false, "device/numa_node", path, sizeof path), &node, &why);
	muster_rdma_emit_with(ctx, port, "port.numa_node", pci, result, muster_number((double)node), &why);
}

/* The rows of texts[] and the LID. Of a text with a number in front, "4: ACTIVE", only the name is emitted. A GID has
 * colons too, but none with a blank behind it. */
static void measure_files(struct muster_probe_ctx *ctx, const struct muster_rdma_port *port)
{
	char text[256], path[PATH_MAX];
	struct muster_error why;
	long lid = 0;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		int result = muster_rdma_line(ctx, port, texts[i].of_port, texts[i].file, text, sizeof text, &why);
		bool numbered = result == 0 && *text >= '0' && *text <= '9' && strstr(text, ": ");
		muster_rdma_emit(ctx, port, texts[i].metric, result,
			muster_string(numbered ? muster_rdma_after_colon(text) : text), &why);
	}
	int result = muster_sysfs_natural(muster_rdma_path(ctx, port, true, "lid", path, sizeof path), &lid, &why);
	muster_rdma_emit(ctx, port, "port.lid", result, muster_number((double)lid), &why);
}

/* What finish needs of run: the ports, and where their counters stood. It lives until the process ends. */
static struct {
	bool known; /* run came to its end, in this process */
	struct muster_rdma_ports ports;
	long (*counters)[MUSTER_RDMA_COUNTERS]; /* of each port, in the order of ports; -1: not read */
} start;

/* The order is that of the head of this file. The start is known only at the end: a failure before leaves finish
 * without it, and then finish lists the ports itself. */
static int run(struct muster_probe_ctx *ctx, struct muster_error *err)
{
	struct muster_rdma_ports ports = { 0 };
	muster_step(ctx, "sysfs: list the RDMA devices");
	if (muster_rdma_ports_find(ctx, &ports, err) < 0) {
		free(ports.items);
		return -1;
	}
	muster_rdma_ports_wait(ctx, &ports);

	size_t infiniband = 0, ethernet = 0, others = 0;
	start.counters = muster_realloc(start.counters, ports.count + 1, sizeof *start.counters);
	muster_step(ctx, "sysfs: read the ports");
	for (size_t i = 0; i < ports.count; i++) {
		struct muster_rdma_port *port = &ports.items[i];
		infiniband += strcmp(port->link_layer, "InfiniBand") == 0;
		ethernet += strcmp(port->link_layer, "Ethernet") == 0;
		others += strcmp(port->link_layer, "other") == 0;
		measure_files(ctx, port);
		measure_place(ctx, port);
		muster_rdma_rate_measure(ctx, port);
		muster_rdma_gids_measure(ctx, port);
		muster_rdma_pkeys_measure(ctx, port);
		muster_rdma_counters_measure(ctx, port, false, start.counters[i]);
	}
	muster_emit_for(ctx, "node.ib_ports", NULL, muster_number((double)infiniband));
	muster_emit_for(ctx, "node.ethernet_ports", NULL, muster_number((double)ethernet));
	muster_emit_for(ctx, "node.other_rdma_ports", NULL, muster_number((double)others));
	muster_rdma_nics_measure(ctx, &ports);
	muster_rdma_adapters_measure(ctx, &ports);

	/* after the files: a device that hangs when it is opened does not hide the state of its ports */
	muster_step(ctx, "open libibverbs");
	struct muster_error no_verbs;
	const struct muster_verbs *verbs = muster_verbs(&no_verbs);
	if (verbs)
		muster_rdma_ports_ask(ctx, verbs, &ports);
	for (size_t i = 0; i < ports.count; i++) {
		if (!verbs)
			snprintf(ports.items[i].why, sizeof ports.items[i].why, "%s", no_verbs.text);
		muster_rdma_attributes_measure(ctx, &ports.items[i]);
	}
	free(start.ports.items);
	start.ports = ports;
	start.known = true;
	if (!verbs && ports.count > 0) {
		if (err)
			*err = no_verbs;
		return -1;
	}
	return 0;
}

/* In a worker that replaced the worker of `run`, every increase is null with that reason. NCCL may hang on a healthy
 * node too, so the replacement is no fact about the port. */
static int finish(struct muster_probe_ctx *ctx, struct muster_error *err)
{
	if (!start.known && muster_rdma_ports_find(ctx, &start.ports, err) < 0)
		return -1;
	muster_step(ctx, "sysfs: read the error counters again");
	for (size_t i = 0; i < start.ports.count; i++)
		muster_rdma_counters_measure(ctx, &start.ports.items[i], true, start.known ? start.counters[i] : NULL);
	return 0;
}

const struct muster_probe muster_probe_ib_link = {
	.name = "ib_link",
	.summary = "state, speed and width of every RDMA port",
	.scope = MUSTER_SCOPE_NODE,
	.deadline_ms = 10000,
	.order = 50,
	METRICS(metrics),
	.run = run,
	.finish = finish,
};
