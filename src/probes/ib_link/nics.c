/* SPDX-License-Identifier: Apache-2.0 */
/* nics.c - network adapters with several ports: how many are up, and what share of the rate they carry
 *
 * Ports with one system image GUID are ports of one adapter, whether they are ports of one RDMA device, functions of
 * one PCI device, or several PCI devices on one board. Where the GUID is not known, the PCI device decides. Ports of
 * different link layers count as different adapters.
 *
 * An example: two adapters of one model, of two ports each, 200 Gb/s a port; the port of mlx5_1 is down.
 *
 *   devices            ports   ACTIVE   Gb/s   node.nic_share
 *   mlx5_0+mlx5_1      2       1        200    200 / (2 x 200) = 0.5
 *   mlx5_2+mlx5_3      2       2        400    400 / (2 x 200) = 1
 *
 * With mlx5_3 down as well, no adapter of the model has two ACTIVE ports, so the share of both is 200 / (1 x 200) = 1.
 */
#include "probes/ib_link/ports.h"

#include "system/sysfs.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct nic {
	/* key: a system image GUID, or a PCI address without its function, or a device's name; model: adapter type and
	 * board id of the first device */
	char key[300], model[600];
	const char *link_layer;
	char *name; /* its devices, joined by "+" */
	size_t ports, active;
	double gbps, port_gbps; /* of the ACTIVE ports: together, and of the fastest; Gb/s as in sysfs */
};

struct nics {
	struct nic *items;
	size_t count;
};

/* The key of the port's adapter. A GUID of zeros is not known, as a file that cannot be read. */
static void read_key(struct muster_probe_ctx *ctx, const struct muster_rdma_port *port, char *ret, size_t size)
{
	char path[PATH_MAX];
	if (muster_rdma_line(ctx, port, false, "sys_image_guid", ret, size, NULL) == 0 &&
		strspn(ret, "0:") != strlen(ret))
		return;
	muster_rdma_path(ctx, port, false, "device", path, sizeof path);
	if (muster_sysfs_pci_address(path, ret, size, NULL) == 0)
		ret[strcspn(ret, ".")] = '\0';
	else
		snprintf(ret, size, "%s", port->device);
}

static void read_model(struct muster_probe_ctx *ctx, const struct muster_rdma_port *port, char *ret, size_t size)
{
	char type[256], board[256];
	if (muster_rdma_line(ctx, port, false, "hca_type", type, sizeof type, NULL) < 0)
		*type = '\0';
	if (muster_rdma_line(ctx, port, false, "board_id", board, sizeof board, NULL) < 0)
		*board = '\0';
	snprintf(ret, size, "%s %s", type, board);
}

/* The port's adapter, added when the port is its first one. Valid until the next call, which may move the list. */
static struct nic *find_nic(struct muster_probe_ctx *ctx, struct nics *nics, const struct muster_rdma_port *port)
{
	char key[300];
	read_key(ctx, port, key, sizeof key);
	for (size_t i = 0; i < nics->count; i++)
		if (strcmp(nics->items[i].key, key) == 0 && strcmp(nics->items[i].link_layer, port->link_layer) == 0)
			return &nics->items[i];
	nics->items = muster_realloc(nics->items, nics->count + 1, sizeof *nics->items);
	struct nic *nic = &nics->items[nics->count++];
	*nic = (struct nic){ .link_layer = port->link_layer };
	snprintf(nic->key, sizeof nic->key, "%s", key);
	read_model(ctx, port, nic->model, sizeof nic->model);
	return nic;
}

/* Count a port for its adapter. first: the port is the first of its device, whose name is added to the adapter's. A
 * port that is not ACTIVE, or whose rate cannot be read, adds no rate: sysfs has the rate of the next attempt for a
 * link that is down. */
static void add_port(struct muster_probe_ctx *ctx, struct nics *nics, const struct muster_rdma_port *port, bool first)
{
	struct nic *nic = find_nic(ctx, nics, port);
	char state[64], text[128];
	double gbps = 0;
	nic->ports++;
	if (first || !nic->name)
		muster_list_add(&nic->name, "+", "%s", port->device);
	if (muster_rdma_line(ctx, port, true, "state", state, sizeof state, NULL) < 0 ||
		strcmp(muster_rdma_after_colon(state), "ACTIVE") != 0)
		return;
	nic->active++;
	if (muster_rdma_rate_read(ctx, port, text, &gbps, NULL) < 0)
		return;
	nic->gbps += gbps;
	nic->port_gbps = gbps > nic->port_gbps ? gbps : nic->port_gbps;
}

/* The rate of an adapter of this model that has all ports that are in use: as many as the adapter of the node with the
 * most ACTIVE ports has, each as fast as the fastest. A second port that no adapter of the model uses is no loss. */
static double full_gbps(const struct nics *nics, const struct nic *nic)
{
	size_t ports = 0;
	double gbps = 0;
	for (size_t i = 0; i < nics->count; i++) {
		const struct nic *other = &nics->items[i];
		if (strcmp(other->model, nic->model) != 0 || strcmp(other->link_layer, nic->link_layer) != 0)
			continue;
		ports = other->active > ports ? other->active : ports;
		gbps = other->port_gbps > gbps ? other->port_gbps : gbps;
	}
	return gbps * (double)(ports < nic->ports ? ports : nic->ports);
}

/* An adapter with a single port has no share: port.state and port.rate_gbps say the same. */
static void emit(struct muster_probe_ctx *ctx, const struct nics *nics, const struct nic *nic)
{
	const struct muster_value labels[] = { muster_string(nic->name), muster_string(nic->link_layer) };
	double full = full_gbps(nics, nic);
	muster_emit(ctx, "node.ports_per_nic", labels, 2, muster_number((double)nic->ports));
	if (nic->ports == 1)
		return;
	muster_emit(ctx, "node.nic_ports_up", labels, 2, muster_number((double)nic->active));
	if (full > 0)
		muster_emit(ctx, "node.nic_share", labels, 2, muster_number(nic->gbps / full));
	else
		muster_emit_null(ctx, "node.nic_share", labels, 2,
			"no port of an adapter of this model is ACTIVE with a rate on this node");
}

/* Where no adapter has several ports, one null for all of them says so, in place of metrics without any sample. */
void muster_rdma_nics_measure(struct muster_probe_ctx *ctx, const struct muster_rdma_ports *ports)
{
	struct nics nics = { 0 };
	bool several = false;
	for (size_t i = 0; i < ports->count; i++)
		add_port(ctx, &nics, &ports->items[i],
			i == 0 || strcmp(ports->items[i].device, ports->items[i - 1].device) != 0);
	for (size_t i = 0; i < nics.count; i++) {
		emit(ctx, &nics, &nics.items[i]);
		several = several || nics.items[i].ports > 1;
	}
	const struct muster_value none[] = { muster_string("none"), muster_string("none") };
	if (!several && ports->count > 0) {
		muster_emit_null(ctx, "node.nic_ports_up", none, 2, "each network adapter has one port");
		muster_emit_null(ctx, "node.nic_share", none, 2, "each network adapter has one port");
	}
	for (size_t i = 0; i < nics.count; i++)
		free(nics.items[i].name);
	free(nics.items);
}
