/* SPDX-License-Identifier: Apache-2.0 */
/* attributes.c - what libibverbs says of a port, and whether its rate is that of sysfs
 *
 * active_speed and active_width are codes with one bit set (InfiniBand Architecture Specification, PortInfo). The rate
 * of sysfs is the kernel's own product of both, so that a difference says that driver and library do not mean the same
 * port state: such as a link that changed between the two readings, or a library older than the driver.
 *
 * An example: speed 64 (HDR, 50 Gb/s a lane) and width 2 (4 lanes) are 200 Gb/s, for which sysfs has
 * "200 Gb/sec (4X HDR)".
 */
#include "probes/ib_link/ports.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Open one device of libibverbs and ask for all of the list's ports that have its name. Each call has a step before it:
 * a device that hangs there is then named in the report. open_device says why it failed by errno, query_port by its
 * result. */
static void ask_device(struct muster_probe_ctx *ctx, const struct muster_verbs *verbs, struct ibv_device *device,
	struct muster_rdma_ports *ports)
{
	const char *name = verbs->get_device_name(device);
	muster_step(ctx, "ibv_open_device of %s", name);
	struct ibv_context *context = verbs->open_device(device);
	int why = errno;
	for (size_t i = 0; i < ports->count; i++) {
		struct muster_rdma_port *port = &ports->items[i];
		if (strcmp(port->device, name) != 0)
			continue;
		if (!context) {
			snprintf(port->why, sizeof port->why, "ibv_open_device of %s: %s", name, strerror(why));
			continue;
		}
		muster_step(ctx, "ibv_query_port of %s", port->label);
		int result = muster_verbs_query_port(verbs, context, (uint8_t)port->number, &port->attr);
		port->asked = result == 0;
		if (result == 0)
			continue;
		memset(&port->attr, 0, sizeof port->attr);
		snprintf(port->why, sizeof port->why, "ibv_query_port of %s: %s", port->label, strerror(result));
	}
	if (context)
		verbs->close_device(context);
}

/* Each port first gets the reason of a device that libibverbs does not list. Where the device is listed, ask_device
 * sets `asked` or another reason. */
void muster_rdma_ports_ask(
	struct muster_probe_ctx *ctx, const struct muster_verbs *verbs, struct muster_rdma_ports *ports)
{
	int count = 0;
	muster_step(ctx, "ibv_get_device_list");
	struct ibv_device **devices = verbs->get_device_list(&count);
	int why = errno;
	for (size_t i = 0; i < ports->count; i++) {
		struct muster_rdma_port *port = &ports->items[i];
		if (devices)
			snprintf(port->why, sizeof port->why, "libibverbs does not list %s", port->device);
		else
			snprintf(port->why, sizeof port->why, "ibv_get_device_list: %s", strerror(why));
	}
	for (int i = 0; devices && i < count; i++)
		ask_device(ctx, verbs, devices[i], ports);
	if (devices)
		verbs->free_device_list(devices);
}

/* libibverbs' codes for the speed of a lane and the number of lanes. The rates are rounded
 * as in sysfs: FDR is 14 and not 14.0625, FDR10 is 10 and not 10.3125. */
static const struct speed {
	const char *name;
	double gbps;
} speeds[] = {
	[1] = { "SDR", 2.5 },
	[2] = { "DDR", 5 },
	[4] = { "QDR", 10 },
	[8] = { "FDR10", 10 },
	[16] = { "FDR", 14 },
	[32] = { "EDR", 25 },
	[64] = { "HDR", 50 },
	[128] = { "NDR", 100 },
};
static const int lanes_of[] = { [1] = 1, [2] = 4, [4] = 8, [8] = 12, [16] = 2 };

static const struct speed *find_speed(unsigned int code)
{
	return code < sizeof speeds / sizeof *speeds && speeds[code].name ? &speeds[code] : NULL;
}

static int find_lanes(unsigned int code)
{
	return code < sizeof lanes_of / sizeof *lanes_of && lanes_of[code] ? lanes_of[code] : -1;
}

/* Why libibverbs' attributes do not tell something: it was not asked, or the field holds a code without a meaning. */
static void why_not(const struct muster_rdma_port *port, const char *field, unsigned int code, struct muster_error *ret)
{
	if (port->asked)
		muster_fail(ret, MUSTER_ENOTSUPPORTED, "ibv_query_port of %s: %s is %u, which has no meaning here",
			port->label, field, code);
	else
		muster_fail(ret, MUSTER_ELIB, "%s", port->why);
}

/* What libibverbs says, and whether its rate agrees with that of sysfs. Each of MTU, width and speed is null by itself,
 * where its code has no meaning here or the port was not asked. port.rate_agrees needs width, speed and sysfs' rate;
 * its reason is that of sysfs where this is missing. */
void muster_rdma_attributes_measure(struct muster_probe_ctx *ctx, const struct muster_rdma_port *port)
{
	const struct ibv_port_attr *attr = &port->attr;
	char text[128];
	double rate;
	struct muster_error no_rate, why;
	int sysfs = muster_rdma_rate_read(ctx, port, text, &rate, &no_rate);
	int mtu = attr->active_mtu >= IBV_MTU_256 && attr->active_mtu <= IBV_MTU_4096 ? 128 << attr->active_mtu : -1;
	why_not(port, "active_mtu", attr->active_mtu, &why);
	muster_rdma_emit(ctx, port, "port.mtu_bytes", mtu, muster_number(mtu), &why);
	int lanes = find_lanes(attr->active_width);
	why_not(port, "active_width", attr->active_width, &why);
	muster_rdma_emit(ctx, port, "port.width", lanes, muster_number(lanes), &why);
	int verbs = lanes;
	/* active_speed has eight bits, of which NDR is the highest: for XDR the field holds no code of this table */
	const struct speed *speed = strstr(text, "XDR") ? NULL : find_speed(attr->active_speed);
	if (!speed) {
		why_not(port, "active_speed", attr->active_speed, &why);
		verbs = -1;
	}
	double product = speed ? speed->gbps * lanes : 0;
	muster_rdma_emit(ctx, port, "port.speed", speed ? 0 : -1, muster_string(speed ? speed->name : ""), &why);
	muster_rdma_emit(ctx, port, "port.rate_verbs_gbps", verbs, muster_number(product), &why);

	/* Half a per cent: the kernel rounds some speeds. A wrong speed or width is off by a fifth or more. */
	muster_rdma_emit(ctx, port, "port.rate_agrees", sysfs < 0 ? sysfs : verbs,
		muster_boolean(fabs(rate - product) <= 0.005 * rate), sysfs < 0 ? &no_rate : &why);
}
