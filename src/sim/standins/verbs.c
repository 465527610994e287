/* SPDX-License-Identifier: Apache-2.0 */
/* verbs.c - libibverbs.so.1 for the simulation: devices, and what can be asked about their ports
 *
 * The structs are those of infiniband/verbs.h. A context is a real struct verbs_context, as ibv_query_port's inline
 * part in that header expects: it calls the context's own operation with the struct's full size. The exported
 * ibv_query_port is for programs older than port_cap_flags2 and must not write that far.
 *
 * Only what muster asks for is here: a list of devices, their names, and the attributes of a port. A device is made
 * once for each name among the ports of the node (cluster.h) and lives as long as the process.
 */
#include "sim/cluster.h"
#include "sim/standins/base.h"

#include "muster/arena.h"

#include <infiniband/verbs.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#undef ibv_get_device_list
#undef ibv_query_port

MUSTER_STANDIN_EXPORT struct ibv_device **ibv_get_device_list(int *count);
MUSTER_STANDIN_EXPORT void ibv_free_device_list(struct ibv_device **list);
MUSTER_STANDIN_EXPORT const char *ibv_get_device_name(struct ibv_device *device);
MUSTER_STANDIN_EXPORT struct ibv_context *ibv_open_device(struct ibv_device *device);
MUSTER_STANDIN_EXPORT int ibv_close_device(struct ibv_context *context);
MUSTER_STANDIN_EXPORT int ibv_query_port(struct ibv_context *context, uint8_t port, struct _compat_ibv_port_attr *attr);

MUSTER_STANDIN_MARK;

#define COMPAT_PORT_BYTES offsetof(struct ibv_port_attr, port_cap_flags2)

/* -- devices: ports with the same name are ports of one device -- */

/* number: of the port in its device, from 1; negative: the device's first one. NULL: there is none. */
static const struct muster_sim_port *find_port(const char *device, int number)
{
	const struct muster_sim_node *node = muster_sim_this_node();
	for (size_t i = 0; i < node->port_count; i++)
		if (strcmp(node->ports[i].device, device) == 0 && (number < 0 || node->ports[i].port == number))
			return &node->ports[i];
	return NULL;
}

static const struct muster_sim_port *first_port(const struct ibv_device *device)
{
	const struct muster_sim_port *port = find_port(device->name, -1);
	if (!port)
		muster_standin_end("libibverbs was given a device that is not its own");
	return port;
}

static struct ibv_device *device_new(const char *name, size_t index)
{
	struct ibv_device *device = muster_calloc(1, sizeof *device);
	device->node_type = IBV_NODE_CA;
	device->transport_type = IBV_TRANSPORT_IB;
	snprintf(device->name, sizeof device->name, "%s", name);
	snprintf(device->dev_name, sizeof device->dev_name, "uverbs%zu", index);
	snprintf(device->dev_path, sizeof device->dev_path, "/sys/class/infiniband_verbs/uverbs%zu", index);
	snprintf(device->ibdev_path, sizeof device->ibdev_path, "/sys/class/infiniband/%s", name);
	return device;
}

/* Made once: an open device outlives the list that it was found in. */
static struct ibv_device **all_devices(size_t *ret_count)
{
	static struct ibv_device **devices;
	static size_t count;
	const struct muster_sim_node *node = muster_sim_this_node();
	if (!devices) {
		devices = muster_calloc(node->port_count + 1, sizeof(struct ibv_device *));
		for (size_t i = 0; i < node->port_count; i++) {
			if (find_port(node->ports[i].device, -1) != &node->ports[i])
				continue; /* not the device's first port */
			devices[count] = device_new(node->ports[i].device, count);
			count++;
		}
	}
	*ret_count = count;
	return devices;
}

struct ibv_device **ibv_get_device_list(int *count)
{
	size_t found;
	struct ibv_device **devices = all_devices(&found);
	struct ibv_device **list = muster_calloc(found + 1, sizeof(struct ibv_device *));
	memcpy(list, devices, found * sizeof(struct ibv_device *));
	if (count)
		*count = (int)found;
	return list;
}

void ibv_free_device_list(struct ibv_device **list)
{
	free(list);
}

const char *ibv_get_device_name(struct ibv_device *device)
{
	return device->name;
}

/* -- contexts -- */

static int query_port(struct ibv_context *context, uint8_t number, struct ibv_port_attr *attr, size_t size);

struct ibv_context *ibv_open_device(struct ibv_device *device)
{
	struct verbs_context *verbs = muster_calloc(1, sizeof *verbs);
	first_port(device);
	verbs->sz = sizeof *verbs;
	verbs->query_port = query_port;
	verbs->context.device = device;
	verbs->context.cmd_fd = -1;
	verbs->context.async_fd = -1;
	verbs->context.num_comp_vectors = 1;
	verbs->context.abi_compat = __VERBS_ABI_IS_EXTENDED;
	pthread_mutex_init(&verbs->context.mutex, NULL);
	return &verbs->context;
}

int ibv_close_device(struct ibv_context *context)
{
	struct verbs_context *verbs = verbs_get_ctx(context);
	pthread_mutex_destroy(&verbs->context.mutex);
	free(verbs);
	return 0;
}

/* -- ports -- */

static uint8_t number_of(enum muster_sim_port_word kind, const char *word)
{
	int number = muster_sim_port_word_number(kind, word);
	if (number < 0)
		muster_standin_end("\"%s\" is not a state or link layer of a port", word);
	return (uint8_t)number;
}

/* The context's operation: 0 or an error number. size: how many bytes of the struct the caller's version has. */
static int query_port(struct ibv_context *context, uint8_t number, struct ibv_port_attr *attr, size_t size)
{
	const struct muster_sim_port *port = find_port(context->device->name, number);
	if (!port)
		return EINVAL;
	const struct ibv_port_attr full = {
		.state = (enum ibv_port_state)number_of(MUSTER_SIM_PORT_STATE, port->state),
		.max_mtu = IBV_MTU_4096,
		.active_mtu = (enum ibv_mtu)port->active_mtu,
		.gid_tbl_len = 1,
		.max_msg_sz = 1u << 30,
		.pkey_tbl_len = (uint16_t)port->pkey_count,
		.lid = (uint16_t)port->lid,
		.sm_lid = (uint16_t)port->sm_lid,
		.active_width = (uint8_t)port->active_width,
		.active_speed = (uint8_t)port->active_speed,
		.phys_state = number_of(MUSTER_SIM_PORT_PHYS_STATE, port->phys_state),
		.link_layer = number_of(MUSTER_SIM_PORT_LINK_LAYER, port->link_layer),
	};
	memcpy(attr, &full, size < sizeof full ? size : sizeof full);
	return 0;
}

int ibv_query_port(struct ibv_context *context, uint8_t port, struct _compat_ibv_port_attr *attr)
{
	return query_port(context, port, (struct ibv_port_attr *)attr, COMPAT_PORT_BYTES);
}
