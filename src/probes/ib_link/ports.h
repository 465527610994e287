/* SPDX-License-Identifier: Apache-2.0 */
/* ports.h - the RDMA ports of the node; the parts of the probe ib_link
 *
 * ports.c lists them and reads their files in sysfs, attributes.c asks libibverbs; each other file measures one subject
 * of a port. What cannot be read is emitted as null with the reason.
 */
#ifndef MUSTER_PROBES_IB_LINK_PORTS_H
#define MUSTER_PROBES_IB_LINK_PORTS_H

#include "vendor/verbs.h"
#include "muster/arena.h"
#include "probes/context.h"

#include <stdbool.h>
#include <stddef.h>

struct muster_rdma_port {
	char device[256], label[272], link_layer[32]; /* "mlx5_ib0", "mlx5_ib0/1", "InfiniBand" */
	int number;                                   /* of the device's ports, from 1 */
	bool asked;                                   /* libibverbs answered */
	struct ibv_port_attr attr;                    /* all zero unless it did */
	char why[MUSTER_ERROR_TEXT_MAX];              /* why it did not */
};

struct muster_rdma_ports {
	struct muster_rdma_port *items; /* the caller frees */
	size_t count;
};

/* All ports of all devices, without virtual functions of a device that is there as well. -1 with err. */
int muster_rdma_ports_find(struct muster_probe_ctx *ctx, struct muster_rdma_ports *ports, struct muster_error *err);
/* A port in INIT has a link but no answer from the subnet manager yet: give it some time before it is called so. */
void muster_rdma_ports_wait(struct muster_probe_ctx *ctx, const struct muster_rdma_ports *ports);
/* Fill in what libibverbs says of each port, or why it says nothing. */
void muster_rdma_ports_ask(
	struct muster_probe_ctx *ctx, const struct muster_verbs *verbs, struct muster_rdma_ports *ports);

/* The path of a file of the port's device, or with of_port of the port itself. Returns buf. */
const char *muster_rdma_path(struct muster_probe_ctx *ctx, const struct muster_rdma_port *port, bool of_port,
	const char *file, char *buf, size_t size);
/* The first line of such a file; an empty one is an error. */
int muster_rdma_line(struct muster_probe_ctx *ctx, const struct muster_rdma_port *port, bool of_port, const char *file,
	char *ret, size_t size, struct muster_error *err);
/* "ACTIVE" of "4: ACTIVE". */
const char *muster_rdma_after_colon(const char *text);
/* The rate as sysfs has it, in its words ("200 Gb/sec (4X HDR)") and as a number of Gb/s. */
int muster_rdma_rate_read(struct muster_probe_ctx *ctx, const struct muster_rdma_port *port, char text[128],
	double *ret, struct muster_error *err);

/* The value with the port's labels, or null with why when result is negative. third: the metric's third label. */
void muster_rdma_emit_with(struct muster_probe_ctx *ctx, const struct muster_rdma_port *port, const char *metric,
	const char *third, int result, struct muster_value value, const struct muster_error *why);
void muster_rdma_emit(struct muster_probe_ctx *ctx, const struct muster_rdma_port *port, const char *metric, int result,
	struct muster_value value, const struct muster_error *why);

void muster_rdma_rate_measure(struct muster_probe_ctx *ctx, const struct muster_rdma_port *port);
void muster_rdma_attributes_measure(struct muster_probe_ctx *ctx, const struct muster_rdma_port *port);
void muster_rdma_pkeys_measure(struct muster_probe_ctx *ctx, const struct muster_rdma_port *port);
void muster_rdma_gids_measure(struct muster_probe_ctx *ctx, const struct muster_rdma_port *port);
void muster_rdma_nics_measure(struct muster_probe_ctx *ctx, const struct muster_rdma_ports *ports);
void muster_rdma_adapters_measure(struct muster_probe_ctx *ctx, const struct muster_rdma_ports *ports);

enum { MUSTER_RDMA_COUNTERS = 14 };
/* Without `again`: read every counter that the port has into start, and emit port.counter. With `again`: emit
 * port.counter_increase, which is the value minus that in start; null for each counter when start is NULL, because
 * another worker has read the start. Drivers differ in which counters they have, so a missing file has no sample. */
void muster_rdma_counters_measure(struct muster_probe_ctx *ctx, const struct muster_rdma_port *port, bool again,
	long start[MUSTER_RDMA_COUNTERS]);

#endif
