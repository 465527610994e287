/* ib_link.c - state, speed and width of every RDMA port
 *
 * Yields samples only. A port that is down is a fact here; whether it should be up is the expectation file's business.
 */
#include "muster/probe.h"

static const struct muster_metric metrics[] = {
	{ .name = "node.ib_ports", .type = MUSTER_NUMBER, .scope = MUSTER_SCOPE_NODE, .unit = "",
		.meaning = "RDMA ports whose link layer is InfiniBand" },
	{ .name = "node.ethernet_ports", .type = MUSTER_NUMBER, .scope = MUSTER_SCOPE_NODE, .unit = "",
		.meaning = "RDMA ports whose link layer is Ethernet" },
	{ .name = "port.state", .type = MUSTER_STRING, .scope = MUSTER_SCOPE_PORT, .unit = "", .labels = { "port", "link_layer" },
		.meaning = "logical state: ACTIVE, INIT, ARMED, DOWN" },
	{ .name = "port.phys_state", .type = MUSTER_STRING, .scope = MUSTER_SCOPE_PORT, .unit = "", .labels = { "port", "link_layer" },
		.meaning = "physical state: LinkUp, Polling, Disabled ..." },
	{ .name = "port.rate_gbps", .type = MUSTER_NUMBER, .scope = MUSTER_SCOPE_PORT, .unit = "Gb/s", .labels = { "port", "link_layer" },
		.meaning = "rate as sysfs names it (\"200 Gb/sec (4X HDR)\")" },
	{ .name = "port.rate_verbs_gbps", .type = MUSTER_NUMBER, .scope = MUSTER_SCOPE_PORT, .unit = "Gb/s", .labels = { "port", "link_layer" },
		.meaning = "speed times width as libibverbs gives them" },
	{ .name = "port.rate_agrees", .type = MUSTER_BOOLEAN, .scope = MUSTER_SCOPE_PORT, .unit = "", .labels = { "port", "link_layer" },
		.meaning = "sysfs and libibverbs give the same rate" },
	{ .name = "port.speed", .type = MUSTER_STRING, .scope = MUSTER_SCOPE_PORT, .unit = "", .labels = { "port", "link_layer" },
		.meaning = "speed of one lane by name: HDR, NDR ..." },
	{ .name = "port.width", .type = MUSTER_NUMBER, .scope = MUSTER_SCOPE_PORT, .unit = "lanes", .labels = { "port", "link_layer" },
		.meaning = "lanes" },
	{ .name = "port.mtu_bytes", .type = MUSTER_NUMBER, .scope = MUSTER_SCOPE_PORT, .unit = "bytes", .labels = { "port", "link_layer" },
		.meaning = "active MTU" },
	{ .name = "port.lid", .type = MUSTER_NUMBER, .scope = MUSTER_SCOPE_PORT, .unit = "", .labels = { "port", "link_layer" },
		.meaning = "local identifier" },
	{ .name = "port.gid", .type = MUSTER_STRING, .scope = MUSTER_SCOPE_PORT, .unit = "", .labels = { "port", "link_layer" },
		.meaning = "GID 0" },
	{ .name = "port.guid", .type = MUSTER_STRING, .scope = MUSTER_SCOPE_PORT, .unit = "", .labels = { "port", "link_layer" },
		.meaning = "node GUID" },
	{ .name = "port.firmware", .type = MUSTER_STRING, .scope = MUSTER_SCOPE_PORT, .unit = "", .labels = { "port", "link_layer" },
		.meaning = "firmware version" },
	{ .name = "port.board_id", .type = MUSTER_STRING, .scope = MUSTER_SCOPE_PORT, .unit = "", .labels = { "port", "link_layer" },
		.meaning = "board id" },
	{ .name = "port.hca_type", .type = MUSTER_STRING, .scope = MUSTER_SCOPE_PORT, .unit = "", .labels = { "port", "link_layer" },
		.meaning = "adapter type" },
	{ .name = "port.pci", .type = MUSTER_STRING, .scope = MUSTER_SCOPE_PORT, .unit = "", .labels = { "port", "link_layer" },
		.meaning = "PCI address" },
	{ .name = "port.numa_node", .type = MUSTER_NUMBER, .scope = MUSTER_SCOPE_PORT, .unit = "", .labels = { "port", "link_layer" },
		.meaning = "NUMA node from sysfs; null when the kernel does not know (-1)" },
	{ .name = "port.pkeys", .type = MUSTER_STRING, .scope = MUSTER_SCOPE_PORT, .unit = "", .labels = { "port", "link_layer" },
		.meaning = "valid P_Keys, as the table holds them, separated by spaces" },
	{ .name = "port.full_member", .type = MUSTER_BOOLEAN, .scope = MUSTER_SCOPE_PORT, .unit = "", .labels = { "port", "link_layer" },
		.meaning = "at least one P_Key other than the default is a full-member key (0x8000 bit set)" },
	{ .name = "port.counter", .type = MUSTER_NUMBER, .scope = MUSTER_SCOPE_PORT, .unit = "", .labels = { "port", "link_layer", "counter" },
		.meaning = "error counter at the start of the run" },
	{ .name = "port.counter_increase", .type = MUSTER_NUMBER, .scope = MUSTER_SCOPE_PORT, .unit = "", .labels = { "port", "link_layer", "counter" },
		.meaning = "what the run added to the error counter" },
};

static int run(struct muster_probe_ctx *ctx, struct muster_error *err)
{
	(void)ctx;
	return muster_fail(err, MUSTER_ENOTSUPPORTED, "not written yet");
}

const struct muster_probe muster_probe_ib_link = {
	.name = "ib_link",
	.summary = "state, speed and width of every RDMA port",
	.scope = MUSTER_SCOPE_NODE,
	.needs_gpu = false,
	.deadline_ms = 10000,
	.order = 50,
	.metrics = metrics,
	.metric_count = sizeof metrics / sizeof *metrics,
	.run = run,
};
