/* SPDX-License-Identifier: Apache-2.0 */
/* hardware.c - read the hardware description of a machine type
 *
 * Every key is required and an unknown key is an error, so every property of a simulated machine is written down.
 * Every object may have a "source", which is not evaluated.
 *
 * The order: system/hardware.c loads the file and merges it into the one that it "extends"; the tables below read the
 * result into struct description; NUMA nodes and bandwidths are checked; and make_devices() makes whole GPUs and ports,
 * each of the common part and of its own. Errors name the JSON path and, in front of it, the file.
 */
#include "sim/hardware.h"

#include "system/hardware.h"
#include "util/text.h"
#include "json/object.h"
#include "util/cpuset.h"

#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <math.h>
#include <string.h>

/* The object "gpu", and an element of "adapters". The keys of what all devices have in common stand beside "devices":
 *
 *   { "name": "NVIDIA A100", "pci_class": "0x030200", "devices": [ { "bus_id": "0001:00:00.0", "numa_node": 1 } ] }
 *
 * `model` must be the first member, because the table of its fields is the base of this one (json/object.h). */
struct gpus {
	struct muster_sim_gpu model;
	struct muster_sim_pci pci;      /* without bus_id */
	struct muster_sim_gpu *devices; /* a file sets only their fields with the part DEVICE */
	size_t count;
};

struct adapter {
	struct muster_sim_port model;
	struct muster_sim_pci pci;
	struct muster_sim_port *devices;
	size_t count;
};

struct description {
	struct muster_sim_hardware hw;
	int version;
	const char *extends; /* not used here: the file is merged already */
	struct gpus gpus;
	struct adapter *adapters;
	size_t adapter_count;
	const char **counters;
	size_t counter_count;
};

/* An object, and an array of `least` or more objects, of whose fields those in `part` are keys (0: all of them). */
#define OBJECT(tag, name, member, type, part)                                                                          \
	MUSTER_FIELD_AS(tag, name, member, OBJECT), .object = (type), .object_part = (part)
#define LIST(tag, name, member, count, least_, type, part)                                                             \
	OBJECT(tag, name, member, type, part), MUSTER_FIELD_MANY(tag, count), .least = (least_)

/* The keys of struct gpus, and of struct adapter: those of `of`, and these. */
#define DEVICES(tag, of)                                                                                               \
	static const struct muster_field tag##_fields[] = {                                                            \
		{ MUSTER_FIELD_AS(tag, "pci_class", pci.class_code, TEXT) },                                           \
		{ MUSTER_FIELD_AS(tag, "pci_vendor", pci.vendor, TEXT) },                                              \
		{ MUSTER_FIELD_AS(tag, "pci_device", pci.device, TEXT) },                                              \
		{ LIST(tag, "devices", devices, count, 1, &muster_sim_##of##_type, MUSTER_SIM_DEVICE) },               \
	};                                                                                                             \
	static const struct muster_object_type tag##_type = { .fields = tag##_fields,                                  \
		.count = sizeof tag##_fields / sizeof *tag##_fields,                                                   \
		.size = sizeof(struct tag),                                                                            \
		.base = &muster_sim_##of##_type,                                                                       \
		.base_part = MUSTER_SIM_DESCRIBED }
DEVICES(gpus, gpu);
DEVICES(adapter, port);

static const struct muster_field nccl_fields[] = {
	{ MUSTER_FIELD(muster_sim_hardware, intra_transport, TEXT) },
	{ MUSTER_FIELD(muster_sim_hardware, inter_transport, TEXT) },
};
static const struct muster_object_type nccl_type = MUSTER_OBJECT_TYPE(muster_sim_hardware, nccl_fields);

/* A machine type without local disks, RDMA adapters or counters has empty lists of them. */
static const struct muster_field description_fields[] = {
	{ MUSTER_FIELD_AS(description, "schema_version", version, INT), .low = 1, .high = 1 },
	{ MUSTER_FIELD_AS(description, "name", hw.sku, TEXT) },
	{ MUSTER_FIELD(description, extends, TEXT), .optional = true },
	{ OBJECT(description, "host", hw.node, &muster_sim_node_type, MUSTER_SIM_HOST) },
	{ OBJECT(description, "software", hw.node, &muster_sim_node_type, MUSTER_SIM_SOFTWARE) },
	{ LIST(description, "numa_nodes", hw.node.numas, hw.node.numa_count, 1, &muster_sim_numa_type, 0) },
	{ LIST(description, "disks", hw.node.disks, hw.node.disk_count, 0, &muster_sim_disk_type, 0) },
	{ OBJECT(description, "scratch", hw.scratch, &muster_sim_volume_type, MUSTER_SIM_DESCRIBED) },
	{ MUSTER_FIELD_AS(description, "rack_nodes", hw.rack_nodes, INT), .high = INT_MAX },
	{ OBJECT(description, "gpu", gpus, &gpus_type, 0) },
	{ LIST(description, "adapters", adapters, adapter_count, 0, &adapter_type, 0) },
	{ MUSTER_FIELD(description, counters, TEXT), MUSTER_FIELD_MANY(description, counter_count) },
	{ OBJECT(description, "nccl", hw, &nccl_type, 0) },
	{ LIST(description, "allreduce", hw.bandwidths, hw.bandwidth_count, 1, &muster_sim_bandwidth_type, 0) },
};
static const struct muster_object_type description_type = MUSTER_OBJECT_TYPE(description, description_fields);

/* A CPU list must be of whole cores, because fs_topology.c makes a core of each so many CPUs in a row. The socket must
 * be one of the host's. */
static int check_numas(const struct muster_sim_node *node, struct muster_error *err)
{
	for (size_t i = 0; i < node->numa_count; i++) {
		const struct muster_sim_numa *numa = &node->numas[i];
		hwloc_bitmap_t set = muster_cpuset_parse_list(numa->cpu_list, err);
		if (!set)
			return muster_wrap(err, "$.numa_nodes[%zu].cpu_list", i);
		int cpus = hwloc_bitmap_weight(set);
		hwloc_bitmap_free(set);
		if (cpus % node->threads_per_core != 0)
			return muster_fail(err, MUSTER_EUSAGE,
				"$.numa_nodes[%zu].cpu_list: %d CPUs are not whole cores of %d threads", i, cpus,
				node->threads_per_core);
		if (numa->socket < 0 || numa->socket >= node->sockets)
			return muster_fail(err, MUSTER_EUSAGE, "$.numa_nodes[%zu].socket: there are sockets 0 to %d", i,
				node->sockets - 1);
	}
	return 0;
}

static int check_numa(const struct muster_sim_node *node, int os_index, struct muster_error *err)
{
	for (size_t i = 0; i < node->numa_count; i++)
		if (node->numas[i].os_index == os_index)
			return 0;
	return muster_fail(err, MUSTER_EUSAGE, "there is no NUMA node %d", os_index);
}

/* Whether row b may stand behind row a: sorted by domains, then nodes, then bytes, and no two rows equal. */
static bool is_behind(const struct muster_sim_bandwidth *a, const struct muster_sim_bandwidth *b)
{
	if (a->domains != b->domains)
		return a->domains < b->domains;
	return a->nodes != b->nodes ? a->nodes < b->nodes : a->bytes < b->bytes;
}

/* nccl_time.c finds rows by their order, divides by bytes and by busbw_gbps, and takes logarithms of bytes. */
static int check_bandwidths(const struct muster_sim_hardware *hw, struct muster_error *err)
{
	for (size_t i = 0; i < hw->bandwidth_count; i++) {
		const struct muster_sim_bandwidth *now = &hw->bandwidths[i];
		if (i > 0 && !is_behind(&now[-1], now))
			return muster_fail(err, MUSTER_EUSAGE,
				"$.allreduce[%zu]: must be sorted by domains, nodes, then bytes", i);
		if (now->domains < 1 || now->nodes < now->domains || now->bytes < 1 || now->busbw_gbps <= 0)
			return muster_fail(err, MUSTER_EUSAGE,
				"$.allreduce[%zu]: domains, nodes, bytes and busbw_gbps must be above 0, and nodes at "
				"least domains",
				i);
	}
	return 0;
}

static void add_pci(struct muster_sim_hardware *hw, const struct muster_sim_pci *kind, const char *bus_id)
{
	hw->pci[hw->pci_count] = *kind;
	hw->pci[hw->pci_count++].bus_id = bus_id;
}

/* GPU i of the node: the common part, and its own bus id and NUMA node. A healthy GPU has all of its NVLinks up, boots
 * with the settings that it has, and has the same number for CUDA and NVML: its place in "devices". BAR1 is the first
 * power of 2 that holds the GPU's memory. */
static int add_gpus(struct muster_sim_hardware *hw, const struct gpus *gpus, struct muster_error *err)
{
	struct muster_sim_node *node = &hw->node;
	node->gpus = gpus->devices;
	node->gpu_count = gpus->count;
	for (size_t i = 0; i < gpus->count; i++) {
		const char *bus_id = gpus->devices[i].bus_id;
		int numa_node = gpus->devices[i].numa_node;
		if (check_numa(node, numa_node, err) < 0)
			return muster_wrap(err, "$.gpu.devices[%zu].numa_node", i);
		node->gpus[i] = gpus->model;
		node->gpus[i].bus_id = bus_id;
		node->gpus[i].numa_node = numa_node;
		node->gpus[i].cuda_index = node->gpus[i].nvml_index = (int)i;
		node->gpus[i].nvlinks_active = gpus->model.nvlinks;
		node->gpus[i].sm_clock_app_default_mhz = gpus->model.sm_clock_app_mhz;
		node->gpus[i].power_default_watts = node->gpus[i].power_requested_watts = gpus->model.power_limit_watts;
		node->gpus[i].bar1_mib = exp2(ceil(log2(gpus->model.memory_mib)));
		add_pci(hw, &gpus->pci, bus_id);
	}
	return 0;
}

/* The ports of all adapters, one port for each device. They share one array of counters, which are at 0: a fault copies
 * the array before it changes a counter (fault_network.c). */
static int add_ports(struct muster_arena *arena, struct description *d, struct muster_error *err)
{
	struct muster_sim_hardware *hw = &d->hw;
	struct muster_sim_counter *counters = muster_arena_alloc(arena, d->counter_count * sizeof *counters);
	for (size_t i = 0; i < d->counter_count; i++)
		counters[i].name = d->counters[i];
	for (size_t a = 0; a < d->adapter_count; a++) {
		const struct adapter *adapter = &d->adapters[a];
		for (size_t i = 0; i < adapter->count; i++) {
			const struct muster_sim_port *device = &adapter->devices[i];
			struct muster_sim_port *port = &hw->node.ports[hw->node.port_count++];
			if (check_numa(&hw->node, device->numa_node, err) < 0)
				return muster_wrap(err, "$.adapters[%zu].devices[%zu].numa_node", a, i);
			*port = adapter->model;
			port->device = device->device;
			port->pci = device->pci;
			port->numa_node = device->numa_node;
			port->counters = counters;
			port->counter_count = d->counter_count;
			add_pci(hw, &adapter->pci, port->pci);
		}
	}
	return 0;
}

/* From the description to the node: devices that are whole, each with its place on the PCI bus. */
static int make_devices(struct muster_arena *arena, struct description *d, struct muster_error *err)
{
	size_t ports = 0;
	for (size_t i = 0; i < d->adapter_count; i++)
		ports += d->adapters[i].count;
	d->hw.pci = muster_arena_alloc(arena, (d->gpus.count + ports) * sizeof *d->hw.pci);
	d->hw.node.ports = muster_arena_alloc(arena, ports * sizeof *d->hw.node.ports);
	return add_gpus(&d->hw, &d->gpus, err) < 0 ? -1 : add_ports(arena, d, err);
}

/* Read and check a merged description. *ret is written only on success; its texts and arrays are the arena's. */
static int read_all(struct muster_arena *arena, const struct muster_json *root, const char *sku,
	struct muster_sim_hardware *ret, struct muster_error *err)
{
	struct muster_json_reader reader = { .arena = arena, .err = err, .note = "source" };
	struct description d = {
		.hw = { .node = muster_sim_node_default, .scratch = muster_sim_volume_default },
		.gpus.model = muster_sim_gpu_default,
	};
	if (muster_object_read(&reader, root, &description_type, &d) < 0)
		return -1;
	if (strcmp(d.hw.sku, sku) != 0)
		return muster_fail(err, MUSTER_EUSAGE, "$.name: must be \"%s\", the name of the file", sku);
	if (check_numas(&d.hw.node, err) < 0 || check_bandwidths(&d.hw, err) < 0 || make_devices(arena, &d, err) < 0)
		return -1;
	*ret = d.hw;
	return 0;
}

int muster_sim_hardware_read(const char *directory, const char *sku, struct muster_arena *arena,
	struct muster_sim_hardware *ret, struct muster_error *err)
{
	struct muster_json *root = NULL;
	if (muster_hardware_load(directory, sku, &root, err) < 0)
		return -1;
	int rc = read_all(arena, root, sku, ret, err);
	muster_json_free(root);
	return rc < 0 ? muster_wrap(err, "%s/%s.json", directory, sku) : 0;
}

hwloc_bitmap_t muster_sim_cpus(const struct muster_sim_node *node, int numa_node)
{
	hwloc_bitmap_t all = hwloc_bitmap_alloc();
	for (size_t i = 0; i < node->numa_count; i++) {
		hwloc_bitmap_t set = numa_node < 0 || node->numas[i].os_index == numa_node
					     ? muster_cpuset_parse_list(node->numas[i].cpu_list, NULL)
					     : NULL;
		if (set)
			hwloc_bitmap_or(all, all, set);
		hwloc_bitmap_free(set);
	}
	return all;
}

/* The set of CPUs must have at least one CPU and no CPU that the node does not have. -1 with err, MUSTER_EUSAGE. */
int muster_sim_mask_check(const struct muster_sim_node *node, const char *mask, struct muster_error *err)
{
	hwloc_bitmap_t wanted = muster_cpuset_parse_mask(mask, err), there = muster_sim_cpus(node, -1);
	int rc = -1;
	if (wanted && hwloc_bitmap_iszero(wanted)) {
		muster_fail(err, MUSTER_EUSAGE, "\"%s\" contains no CPU", mask);
	} else if (wanted && !hwloc_bitmap_isincluded(wanted, there)) {
		hwloc_bitmap_andnot(wanted, wanted, there);
		char *list = muster_cpuset_list(wanted);
		muster_fail(err, MUSTER_EUSAGE, "\"%s\" contains CPUs that the node does not have: %s", mask, list);
		free(list);
	} else if (wanted) {
		rc = 0;
	}
	hwloc_bitmap_free(wanted);
	hwloc_bitmap_free(there);
	return rc;
}
