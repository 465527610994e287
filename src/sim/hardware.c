/* hardware.c - read a machine type's hardware description
 *
 * Every key is required and none is unknown: a simulated machine has no property that nobody wrote down. "source" may
 * stand in every object and is for people. A description that "extends" another is a merge patch (RFC 7386) of it.
 */
#include "sim/hardware.h"

#include "util/file.h"
#include "json/json.h"
#include "util/text.h"
#include "sim/struct_json.h"
#include "util/cpuset.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define FILE_LIMIT (1 << 20)

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define F(type, name, kind_)                                                                                           \
	{                                                                                                              \
		.key = #name, .kind = MUSTER_SIM_##kind_, .offset = offsetof(struct type, name)                        \
	}
#define LAYOUT(type, table)                                                                                            \
	{                                                                                                              \
		.size = sizeof(struct type), .fields = (table), .count = COUNT(table)                                  \
	}

/* Of the fields that the cluster's structs have, those that a description gives. */
static const char *const host_keys[] = { "os_name", "kernel", "cpu_model", "architecture", "sockets",
	"threads_per_core", "coherent_memory_mode", "imex_channels", "temp_disk_gb", "environment", "nccl_conf",
	"topo_file", NULL };
static const char *const software_keys[] = { "driver_version", "nvml_version", "cuda_driver", "nccl_version", NULL };
static const char *const numa_keys[] = { "os_index", "socket", "cpu_list", "memory_mib", NULL };
static const char *const disk_keys[] = { "device", "model", "gb", NULL };
static const char *const gpu_keys[] = { "name", "vbios", "memory_mib", "compute_major", "compute_minor", "ecc",
	"persistence", "mig_supported", "mig", "pcie_gen", "pcie_gen_max", "pcie_width", "pcie_width_max", "nvlinks",
	"nvlink_mbps", "sm_clock_mhz", "sm_clock_app_mhz", "sm_clock_max_mhz", "mem_clock_mhz", "mem_clock_max_mhz",
	"temperature_celsius", "power_watts", "power_limit_watts", "h2d_gbps", "d2h_gbps", "h2d_together_gbps",
	"d2h_together_gbps", "fabric_state", "fabric_status", "fabric_clique", "fabric_health", "c2c_links", "c2c_mbps",
	"p2p", "virtualization", "vgpu_product", "vgpu_licensed", "unsupported", NULL };
static const char *const device_keys[] = { "devices", "pci_class", "pci_vendor", "pci_device", NULL };
static const char *const gpu_device_keys[] = { "bus_id", "numa_node", NULL };
static const char *const adapter_keys[] = { "link_layer", "active_speed", "active_width", "active_mtu", "rate",
	"sm_lid", "firmware", "board_id", "hca_type", "pkeys", NULL };
static const char *const adapter_device_keys[] = { "device", "pci", "numa_node", NULL };
static const char *const bandwidth_keys[] = { "domains", "nodes", "bytes", "busbw_gbps", NULL };

static const struct muster_sim_field pci_fields[] = {
	{ .key = "pci_class", .kind = MUSTER_SIM_STRING, .offset = offsetof(struct muster_sim_pci, class_code) },
	{ .key = "pci_vendor", .kind = MUSTER_SIM_STRING, .offset = offsetof(struct muster_sim_pci, vendor) },
	{ .key = "pci_device", .kind = MUSTER_SIM_STRING, .offset = offsetof(struct muster_sim_pci, device) },
};
static const struct muster_sim_struct pci_layout = LAYOUT(muster_sim_pci, pci_fields);

static const struct muster_sim_field nccl_fields[] = {
	F(muster_sim_hardware, intra_transport, STRING),
	F(muster_sim_hardware, inter_transport, STRING),
};
static const char *const nccl_keys[] = { "intra_transport", "inter_transport", NULL };
static const struct muster_sim_struct nccl_layout = LAYOUT(muster_sim_hardware, nccl_fields);

struct reader {
	struct muster_arena *arena;
	struct muster_error *err;
};

static int missing(const struct reader *r, const char *path, const char *key)
{
	return muster_fail(r->err, MUSTER_EUSAGE, "%s.%s: missing", path, key);
}

/* The keys allowed in an object: those of up to three NULL-terminated lists, and "source". */
static int check_keys(
	const struct reader *r, const struct muster_json *object, const char *path, const char *const *const lists[3])
{
	const char *keys[MUSTER_SIM_KEYS_MAX];
	size_t n = 0;
	if (muster_json_type(object) != MUSTER_JSON_OBJECT)
		return muster_fail(r->err, MUSTER_EUSAGE, "%s: must be an object, not %s", path,
			muster_json_type_name(muster_json_type(object)));
	for (size_t i = 0; i < 3; i++)
		for (const char *const *key = lists[i]; key && *key && n < COUNT(keys) - 2; key++)
			keys[n++] = *key;
	keys[n++] = "source";
	keys[n] = NULL;
	return muster_json_only_keys(object, path, keys, r->err);
}

/* An object that holds exactly these fields of the struct at base. */
static int read_record(const struct reader *r, const struct muster_json *object, const char *path,
	const struct muster_sim_struct *layout, const char *const *keys, void *base)
{
	if (check_keys(r, object, path, (const char *const *const[3]){ keys }) < 0)
		return -1;
	return muster_sim_fields_read(r->arena, object, path, layout, keys, base, r->err);
}

static int get_object(const struct reader *r, const struct muster_json *object, const char *path, const char *key,
	const struct muster_json **ret)
{
	int found = muster_json_get_object(object, path, key, ret, r->err);
	return found == 0 ? missing(r, path, key) : found < 0 ? -1 : 0;
}

/* A member that is a list with something in it. */
static int get_list(const struct reader *r, const struct muster_json *object, const char *path, const char *key,
	const struct muster_json **ret)
{
	const struct muster_json *list = NULL;
	int found = muster_json_get_array(object, path, key, &list, r->err);
	if (found <= 0)
		return found == 0 ? missing(r, path, key) : -1;
	if (muster_json_size(list) == 0)
		return muster_fail(r->err, MUSTER_EUSAGE, "%s.%s: must not be empty", path, key);
	*ret = list;
	return 0;
}

static int read_member(const struct reader *r, const struct muster_json *root, const char *key,
	const struct muster_sim_struct *layout, const char *const *keys, void *base)
{
	const struct muster_json *object = NULL;
	if (get_object(r, root, "$", key, &object) < 0)
		return -1;
	return read_record(r, object, muster_arena_printf(r->arena, "$.%s", key), layout, keys, base);
}

/* The error counters that every port has, by name; at 0. A machine type without adapters needs none. */
static int read_counters(const struct reader *r, const struct muster_json *root, struct muster_sim_port *ret)
{
	const struct muster_json *list = NULL;
	int found = muster_json_get_array(root, "$", "counters", &list, r->err);
	if (found <= 0)
		return found == 0 ? missing(r, "$", "counters") : -1;
	struct muster_sim_counter *counters =
		muster_arena_alloc(r->arena, (muster_json_size(list) + 1) * sizeof *counters);
	size_t n = 0;
	for (const struct muster_json *e = muster_json_first(list); e; e = muster_json_next(e)) {
		if (muster_json_type(e) != MUSTER_JSON_STRING)
			return muster_fail(r->err, MUSTER_EUSAGE, "$.counters[%zu]: must be a string, not %s", n,
				muster_json_type_name(muster_json_type(e)));
		counters[n++] =
			(struct muster_sim_counter){ .name = muster_arena_string(r->arena, muster_json_string(e)) };
	}
	ret->counters = counters;
	ret->counter_count = n;
	return 0;
}

static int read_numas(const struct reader *r, const struct muster_json *root, struct muster_sim_node *node)
{
	const struct muster_json *list = NULL;
	if (get_list(r, root, "$", "numa_nodes", &list) < 0)
		return -1;
	node->numas = muster_arena_alloc(r->arena, muster_json_size(list) * sizeof *node->numas);
	for (const struct muster_json *e = muster_json_first(list); e; e = muster_json_next(e)) {
		const char *path = muster_arena_printf(r->arena, "$.numa_nodes[%zu]", node->numa_count);
		struct muster_sim_numa *numa = &node->numas[node->numa_count++];
		if (read_record(r, e, path, &muster_sim_numa_struct, numa_keys, numa) < 0)
			return -1;
		hwloc_bitmap_t set = muster_cpuset_parse_list(numa->cpu_list, r->err);
		if (!set)
			return muster_wrap(r->err, "%s.cpu_list", path);
		int cpus = hwloc_bitmap_weight(set);
		hwloc_bitmap_free(set);
		if (cpus % node->threads_per_core != 0)
			return muster_fail(r->err, MUSTER_EUSAGE,
				"%s.cpu_list: %d CPUs are not whole cores of %d threads", path, cpus,
				node->threads_per_core);
		if (numa->socket < 0 || numa->socket >= node->sockets)
			return muster_fail(
				r->err, MUSTER_EUSAGE, "%s.socket: there are sockets 0 to %d", path, node->sockets - 1);
	}
	return 0;
}

/* A machine type without local disks has an empty list. */
static int read_disks(const struct reader *r, const struct muster_json *root, struct muster_sim_node *node)
{
	const struct muster_json *list = NULL;
	int found = muster_json_get_array(root, "$", "disks", &list, r->err);
	if (found <= 0)
		return found == 0 ? missing(r, "$", "disks") : -1;
	node->disks = muster_arena_alloc(r->arena, (muster_json_size(list) + 1) * sizeof *node->disks);
	for (const struct muster_json *e = muster_json_first(list); e; e = muster_json_next(e)) {
		const char *path = muster_arena_printf(r->arena, "$.disks[%zu]", node->disk_count);
		struct muster_sim_disk *disk = &node->disks[node->disk_count++];
		if (read_record(r, e, path, &muster_sim_disk_struct, disk_keys, disk) < 0)
			return -1;
	}
	return 0;
}

static int read_rack(const struct reader *r, const struct muster_json *root, struct muster_sim_hardware *hw)
{
	int found = muster_json_get_int(root, "$", "rack_nodes", &hw->rack_nodes, r->err);
	if (found <= 0)
		return found == 0 ? missing(r, "$", "rack_nodes") : -1;
	if (hw->rack_nodes < 0)
		return muster_fail(r->err, MUSTER_EUSAGE, "$.rack_nodes: must be 0 or more");
	return 0;
}

static int read_host(const struct reader *r, const struct muster_json *root, struct muster_sim_node *node)
{
	if (read_member(r, root, "host", &muster_sim_node_struct, host_keys, node) < 0)
		return -1;
	if (node->sockets < 1)
		return muster_fail(r->err, MUSTER_EUSAGE, "$.host.sockets: must be 1 or more");
	if (node->threads_per_core < 1)
		return muster_fail(r->err, MUSTER_EUSAGE, "$.host.threads_per_core: must be 1 or more");
	return 0;
}

static int check_numa(const struct reader *r, const struct muster_sim_node *node, int os_index, const char *path)
{
	for (size_t i = 0; i < node->numa_count; i++)
		if (node->numas[i].os_index == os_index)
			return 0;
	return muster_fail(r->err, MUSTER_EUSAGE, "%s.numa_node: there is no NUMA node %d", path, os_index);
}

static void add_pci(struct muster_sim_hardware *hw, const struct muster_sim_pci *kind, const char *bus_id)
{
	hw->pci[hw->pci_count] = *kind;
	hw->pci[hw->pci_count++].bus_id = bus_id;
}

static int read_gpus(const struct reader *r, const struct muster_json *root, struct muster_sim_hardware *hw)
{
	struct muster_sim_node *node = &hw->node;
	struct muster_sim_gpu model = { 0 };
	struct muster_sim_pci pci = { 0 };
	const struct muster_json *gpu = NULL, *list = NULL;
	if (get_object(r, root, "$", "gpu", &gpu) < 0 || get_list(r, gpu, "$.gpu", "devices", &list) < 0 ||
		check_keys(r, gpu, "$.gpu", (const char *const *const[3]){ gpu_keys, device_keys }) < 0 ||
		muster_sim_fields_read(r->arena, gpu, "$.gpu", &muster_sim_gpu_struct, gpu_keys, &model, r->err) < 0 ||
		muster_sim_fields_read(r->arena, gpu, "$.gpu", &pci_layout, NULL, &pci, r->err) < 0)
		return -1;
	model.nvlinks_active = model.nvlinks;
	node->gpus = muster_arena_alloc(r->arena, muster_json_size(list) * sizeof *node->gpus);
	for (const struct muster_json *e = muster_json_first(list); e; e = muster_json_next(e)) {
		const char *path = muster_arena_printf(r->arena, "$.gpu.devices[%zu]", node->gpu_count);
		struct muster_sim_gpu *to = &node->gpus[node->gpu_count];
		*to = model;
		to->cuda_index = to->nvml_index = (int)node->gpu_count++;
		if (read_record(r, e, path, &muster_sim_gpu_struct, gpu_device_keys, to) < 0 ||
			check_numa(r, node, to->numa_node, path) < 0)
			return -1;
		add_pci(hw, &pci, to->bus_id);
	}
	return 0;
}

static int read_adapter(const struct reader *r, const struct muster_json *adapter, const char *path,
	struct muster_sim_port model, struct muster_sim_hardware *hw)
{
	struct muster_sim_node *node = &hw->node;
	struct muster_sim_pci pci = { 0 };
	const struct muster_json *list = NULL;
	if (check_keys(r, adapter, path, (const char *const *const[3]){ adapter_keys, device_keys }) < 0 ||
		get_list(r, adapter, path, "devices", &list) < 0 ||
		muster_sim_fields_read(r->arena, adapter, path, &muster_sim_port_struct, adapter_keys, &model, r->err) <
			0 ||
		muster_sim_fields_read(r->arena, adapter, path, &pci_layout, NULL, &pci, r->err) < 0)
		return -1;
	for (const struct muster_json *e = muster_json_first(list); e; e = muster_json_next(e)) {
		const char *device = muster_arena_printf(r->arena, "%s.devices", path);
		struct muster_sim_port *to = &node->ports[node->port_count++];
		*to = model;
		if (read_record(r, e, device, &muster_sim_port_struct, adapter_device_keys, to) < 0 ||
			check_numa(r, node, to->numa_node, device) < 0)
			return -1;
		add_pci(hw, &pci, to->pci);
	}
	return 0;
}

/* A machine type without RDMA devices has an empty list of adapters. The ports share their counters. */
static int read_adapters(const struct reader *r, const struct muster_json *root, struct muster_sim_hardware *hw)
{
	struct muster_sim_port model = { .port = 1, .state = "ACTIVE", .phys_state = "LinkUp" };
	const struct muster_json *list = NULL;
	size_t index = 0;
	int found = muster_json_get_array(root, "$", "adapters", &list, r->err);
	if (found <= 0)
		return found == 0 ? missing(r, "$", "adapters") : -1;
	if (read_counters(r, root, &model) < 0)
		return -1;
	for (const struct muster_json *e = muster_json_first(list); e; e = muster_json_next(e))
		if (read_adapter(r, e, muster_arena_printf(r->arena, "$.adapters[%zu]", index++), model, hw) < 0)
			return -1;
	return 0;
}

static bool is_behind(const struct muster_sim_bandwidth *a, const struct muster_sim_bandwidth *b)
{
	if (a->domains != b->domains)
		return a->domains < b->domains;
	return a->nodes != b->nodes ? a->nodes < b->nodes : a->bytes < b->bytes;
}

static int read_bandwidths(const struct reader *r, const struct muster_json *root, struct muster_sim_hardware *hw)
{
	const struct muster_json *list = NULL;
	if (get_list(r, root, "$", "allreduce", &list) < 0)
		return -1;
	hw->bandwidths = muster_arena_alloc(r->arena, muster_json_size(list) * sizeof *hw->bandwidths);
	for (const struct muster_json *e = muster_json_first(list); e; e = muster_json_next(e)) {
		const char *path = muster_arena_printf(r->arena, "$.allreduce[%zu]", hw->bandwidth_count);
		struct muster_sim_bandwidth *now = &hw->bandwidths[hw->bandwidth_count];
		if (read_record(r, e, path, &muster_sim_bandwidth_struct, bandwidth_keys, now) < 0)
			return -1;
		if (hw->bandwidth_count++ > 0 && !is_behind(&now[-1], now))
			return muster_fail(
				r->err, MUSTER_EUSAGE, "%s: must be sorted by domains, nodes, then bytes", path);
		if (now->domains < 1 || now->nodes < now->domains || now->bytes < 1 || now->busbw_gbps <= 0)
			return muster_fail(r->err, MUSTER_EUSAGE,
				"%s: domains, nodes, bytes and busbw_gbps must be above 0, and nodes at least domains",
				path);
	}
	return 0;
}

/* How many devices all the adapters or the GPU have, for one allocation each. Shapes are checked later. */
static size_t count_devices(const struct muster_json *holder)
{
	const struct muster_json *devices = NULL;
	if (!holder || muster_json_type(holder) != MUSTER_JSON_OBJECT)
		return 0;
	devices = muster_json_member(holder, "devices");
	return devices && muster_json_type(devices) == MUSTER_JSON_ARRAY ? muster_json_size(devices) : 0;
}

static int read_all(
	const struct reader *r, const struct muster_json *root, const char *sku, struct muster_sim_hardware *hw)
{
	static const char *const keys[] = { "schema_version", "name", "extends", "host", "numa_nodes", "disks",
		"software", "rack_nodes", "gpu", "adapters", "counters", "nccl", "allreduce", NULL };
	const char *name = NULL;
	int version = 0;
	if (check_keys(r, root, "$", (const char *const *const[3]){ keys }) < 0 ||
		muster_json_get_int(root, "$", "schema_version", &version, r->err) < 0 ||
		muster_json_get_string(root, "$", "name", &name, r->err) < 0)
		return -1;
	if (version != 1)
		return muster_fail(r->err, MUSTER_EUSAGE, "$.schema_version: must be 1");
	if (!name || strcmp(name, sku) != 0)
		return muster_fail(r->err, MUSTER_EUSAGE, "$.name: must be \"%s\", as the file is called", sku);
	hw->sku = muster_arena_string(r->arena, name);

	const struct muster_json *adapters = muster_json_member(root, "adapters");
	size_t ports = 0;
	if (adapters && muster_json_type(adapters) == MUSTER_JSON_ARRAY)
		for (const struct muster_json *e = muster_json_first(adapters); e; e = muster_json_next(e))
			ports += count_devices(e);
	size_t devices = ports + count_devices(muster_json_member(root, "gpu"));
	hw->pci = muster_arena_alloc(r->arena, (devices + 1) * sizeof *hw->pci);
	hw->node.ports = muster_arena_alloc(r->arena, (ports + 1) * sizeof *hw->node.ports);

	if (read_host(r, root, &hw->node) < 0 ||
		read_member(r, root, "software", &muster_sim_node_struct, software_keys, &hw->node) < 0 ||
		read_member(r, root, "nccl", &nccl_layout, nccl_keys, hw) < 0 || read_rack(r, root, hw) < 0 ||
		read_numas(r, root, &hw->node) < 0 || read_disks(r, root, &hw->node) < 0 ||
		read_gpus(r, root, hw) < 0 || read_adapters(r, root, hw) < 0)
		return -1;
	return read_bandwidths(r, root, hw);
}

static int read_file(const struct reader *r, const char *directory, const char *sku, struct muster_json **ret)
{
	const char *path = muster_arena_printf(r->arena, "%s/%s.json", directory, sku);
	char *text = NULL;
	size_t length = 0;
	int rc = -1;
	/* A SKU is a name, never a path out of the directory. */
	if (*sku == '\0' || *sku == '.' || strchr(sku, '/') ||
		muster_file_read(path, FILE_LIMIT, &text, &length, r->err) < 0)
		muster_fail(r->err, MUSTER_EUSAGE,
			"no hardware description of SKU \"%s\" in %s; muster sim --list-skus shows all", sku,
			directory);
	else if (muster_json_parse(text, length, ret, r->err) < 0)
		muster_wrap(r->err, "%s", path);
	else
		rc = 0;
	free(text);
	return rc;
}

/* What "extends" names is a whole machine type that extends none itself: there is one place to look, and no circle. */
static int extend(const struct reader *r, const char *directory, struct muster_json **root)
{
	const char *name = NULL;
	struct muster_json *parent = NULL;
	if (muster_json_type(*root) != MUSTER_JSON_OBJECT)
		return 0; /* and read_all says so */
	int found = muster_json_get_string(*root, "$", "extends", &name, r->err);
	if (found <= 0)
		return found;
	if (read_file(r, directory, name, &parent) < 0)
		return muster_wrap(r->err, "$.extends");
	if (muster_json_type(parent) == MUSTER_JSON_OBJECT && muster_json_member(parent, "extends")) {
		muster_json_free(parent);
		return muster_fail(r->err, MUSTER_EUSAGE, "$.extends: \"%s\" extends another itself", name);
	}
	parent = muster_json_merge(parent, *root);
	muster_json_free(*root);
	*root = parent;
	return 0;
}

int muster_sim_hardware_read(const char *directory, const char *sku, struct muster_arena *arena,
	struct muster_sim_hardware *ret, struct muster_error *err)
{
	const struct reader r = { arena, err };
	struct muster_sim_hardware hw = { 0 };
	struct muster_json *root = NULL;
	if (read_file(&r, directory, sku, &root) < 0)
		return -1;
	int rc = extend(&r, directory, &root);
	if (rc == 0)
		rc = read_all(&r, root, sku, &hw);
	muster_json_free(root);
	if (rc < 0)
		return muster_wrap(err, "%s/%s.json", directory, sku);
	*ret = hw;
	return 0;
}

const char *muster_sim_hardware_list(const char *directory, struct muster_arena *arena)
{
	struct muster_names names = { 0 };
	const char *list = "";
	muster_file_names(directory, ".json", alphasort, &names, NULL);
	for (size_t i = 0; i < names.count; i++)
		list = muster_arena_printf(
			arena, "%s%.*s\n", list, (int)(strlen(names.items[i]) - strlen(".json")), names.items[i]);
	muster_names_done(&names);
	return list;
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

int muster_sim_mask_check(const struct muster_sim_node *node, const char *mask, struct muster_error *err)
{
	hwloc_bitmap_t wanted = muster_cpuset_parse_mask(mask, err), there = muster_sim_cpus(node, -1);
	int rc = -1;
	if (wanted && hwloc_bitmap_iszero(wanted)) {
		muster_fail(err, MUSTER_EUSAGE, "\"%s\" holds no CPU", mask);
	} else if (wanted && !hwloc_bitmap_isincluded(wanted, there)) {
		hwloc_bitmap_andnot(wanted, wanted, there);
		char *list = muster_cpuset_list(wanted);
		muster_fail(err, MUSTER_EUSAGE, "\"%s\" holds CPUs that the node has not: %s", mask, list);
		free(list);
	} else if (wanted) {
		rc = 0;
	}
	hwloc_bitmap_free(wanted);
	hwloc_bitmap_free(there);
	return rc;
}
