/* hardware.c - read a machine type's hardware description
 *
 * Every key is required and none is unknown: a simulated machine has no property that nobody wrote down. "source" may
 * stand in every object and is for people.
 */
#include "sim/hardware.h"

#include "core/json.h"
#include "core/text.h"

#include <dirent.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define FILE_LIMIT (1 << 20)
#define KEYS_MAX 64

enum kind { TEXT, NUMBER, WHOLE, TRUTH };

struct field {
	const char *key;
	enum kind kind;
	size_t offset;
};

#define FIELD(type, kind, member)                                                                                      \
	{                                                                                                              \
#member, kind, offsetof(struct type, member)                                                           \
	}
#define COUNT(array) (sizeof(array) / sizeof *(array))

static const struct field host_fields[] = {
	FIELD(muster_sim_node, TEXT, os_name),
	FIELD(muster_sim_node, TEXT, kernel),
	FIELD(muster_sim_node, TEXT, cpu_model),
	FIELD(muster_sim_node, TEXT, architecture),
	FIELD(muster_sim_node, WHOLE, sockets),
};

static const struct field software_fields[] = {
	FIELD(muster_sim_node, TEXT, driver_version),
	FIELD(muster_sim_node, TEXT, nvml_version),
	FIELD(muster_sim_node, WHOLE, cuda_driver),
	FIELD(muster_sim_node, WHOLE, nccl_version),
};

static const struct field numa_fields[] = {
	FIELD(muster_sim_numa, WHOLE, os_index),
	FIELD(muster_sim_numa, WHOLE, socket),
	FIELD(muster_sim_numa, TEXT, cpu_list),
	FIELD(muster_sim_numa, NUMBER, memory_mib),
};

static const struct field gpu_fields[] = {
	FIELD(muster_sim_gpu, TEXT, name),
	FIELD(muster_sim_gpu, TEXT, vbios),
	FIELD(muster_sim_gpu, NUMBER, memory_mib),
	FIELD(muster_sim_gpu, WHOLE, compute_major),
	FIELD(muster_sim_gpu, WHOLE, compute_minor),
	FIELD(muster_sim_gpu, TRUTH, ecc),
	FIELD(muster_sim_gpu, TRUTH, persistence),
	FIELD(muster_sim_gpu, TRUTH, mig_supported),
	FIELD(muster_sim_gpu, TRUTH, mig),
	FIELD(muster_sim_gpu, WHOLE, pcie_gen),
	FIELD(muster_sim_gpu, WHOLE, pcie_gen_max),
	FIELD(muster_sim_gpu, WHOLE, pcie_width),
	FIELD(muster_sim_gpu, WHOLE, pcie_width_max),
	FIELD(muster_sim_gpu, WHOLE, nvlinks),
	FIELD(muster_sim_gpu, NUMBER, nvlink_mbps),
	FIELD(muster_sim_gpu, WHOLE, sm_clock_mhz),
	FIELD(muster_sim_gpu, WHOLE, sm_clock_max_mhz),
	FIELD(muster_sim_gpu, WHOLE, mem_clock_mhz),
	FIELD(muster_sim_gpu, WHOLE, mem_clock_max_mhz),
	FIELD(muster_sim_gpu, WHOLE, temperature_celsius),
	FIELD(muster_sim_gpu, NUMBER, power_watts),
	FIELD(muster_sim_gpu, NUMBER, power_limit_watts),
	FIELD(muster_sim_gpu, NUMBER, h2d_gbps),
	FIELD(muster_sim_gpu, NUMBER, d2h_gbps),
	FIELD(muster_sim_gpu, NUMBER, h2d_together_gbps),
	FIELD(muster_sim_gpu, NUMBER, d2h_together_gbps),
};

static const struct field gpu_device_fields[] = {
	FIELD(muster_sim_gpu, TEXT, bus_id),
	FIELD(muster_sim_gpu, WHOLE, numa_node),
};

static const struct field adapter_fields[] = {
	FIELD(muster_sim_port, TEXT, link_layer),
	FIELD(muster_sim_port, WHOLE, active_speed),
	FIELD(muster_sim_port, WHOLE, active_width),
	FIELD(muster_sim_port, WHOLE, active_mtu),
	FIELD(muster_sim_port, TEXT, rate),
	FIELD(muster_sim_port, WHOLE, sm_lid),
	FIELD(muster_sim_port, TEXT, firmware),
	FIELD(muster_sim_port, TEXT, board_id),
	FIELD(muster_sim_port, TEXT, hca_type),
};

static const struct field adapter_device_fields[] = {
	FIELD(muster_sim_port, TEXT, device),
	FIELD(muster_sim_port, TEXT, pci),
	FIELD(muster_sim_port, WHOLE, numa_node),
};

static const struct field pci_fields[] = {
	{ "pci_class", TEXT, offsetof(struct muster_sim_pci, class_code) },
	{ "pci_vendor", TEXT, offsetof(struct muster_sim_pci, vendor) },
	{ "pci_device", TEXT, offsetof(struct muster_sim_pci, device) },
};

static const struct field nccl_fields[] = {
	FIELD(muster_sim_hardware, TEXT, intra_transport),
	FIELD(muster_sim_hardware, TEXT, inter_transport),
};

static const struct field bandwidth_fields[] = {
	FIELD(muster_sim_bandwidth, WHOLE, nodes),
	FIELD(muster_sim_bandwidth, NUMBER, bytes),
	FIELD(muster_sim_bandwidth, NUMBER, busbw_gbps),
};

struct reader {
	struct muster_pool *pool;
	struct muster_error *err;
};

static int missing(const struct reader *r, const char *path, const char *key)
{
	return muster_fail(r->err, MUSTER_EUSAGE, "%s.%s: missing", path, key);
}

/* Every field of the table from the object into the struct at base. */
static int read_fields(const struct reader *r, const struct muster_json *object, const char *path,
	const struct field *fields, size_t count, void *base)
{
	for (size_t i = 0; i < count; i++) {
		const struct field *f = &fields[i];
		void *to = (char *)base + f->offset;
		const char *text = NULL;
		int found = -1;
		switch (f->kind) {
		case TEXT:
			found = muster_json_get_string(object, path, f->key, &text, r->err);
			if (found == 1)
				*(const char **)to = muster_pool_string(r->pool, text);
			break;
		case NUMBER: found = muster_json_get_number(object, path, f->key, to, r->err); break;
		case WHOLE: found = muster_json_get_int(object, path, f->key, to, r->err); break;
		case TRUTH: found = muster_json_get_boolean(object, path, f->key, to, r->err); break;
		}
		if (found < 0)
			return -1;
		if (found == 0)
			return missing(r, path, f->key);
	}
	return 0;
}

/* The keys allowed in an object: those of up to two tables, the NULL-terminated others, and "source". */
static int check_keys(const struct reader *r, const struct muster_json *object, const char *path, const struct field *a,
	size_t a_count, const struct field *b, size_t b_count, const char *const *others)
{
	const char *keys[KEYS_MAX];
	size_t n = 0;
	if (muster_json_type(object) != MUSTER_JSON_OBJECT)
		return muster_fail(r->err, MUSTER_EUSAGE, "%s: must be an object, not %s", path,
			muster_json_type_name(muster_json_type(object)));
	for (size_t i = 0; i < a_count; i++)
		keys[n++] = a[i].key;
	for (size_t i = 0; i < b_count; i++)
		keys[n++] = b[i].key;
	for (; others && *others; others++)
		keys[n++] = *others;
	keys[n++] = "source";
	keys[n] = NULL;
	return muster_json_only_keys(object, path, keys, r->err);
}

/* An object that holds exactly the fields of one table. */
static int read_record(const struct reader *r, const struct muster_json *object, const char *path,
	const struct field *fields, size_t count, void *base)
{
	if (check_keys(r, object, path, fields, count, NULL, 0, NULL) < 0)
		return -1;
	return read_fields(r, object, path, fields, count, base);
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
	const struct field *fields, size_t count, void *base)
{
	const struct muster_json *object = NULL;
	if (get_object(r, root, "$", key, &object) < 0)
		return -1;
	return read_record(r, object, muster_pool_printf(r->pool, "$.%s", key), fields, count, base);
}

static int read_strings(const struct reader *r, const struct muster_json *object, const char *path, const char *key,
	const char ***ret, size_t *ret_count)
{
	const struct muster_json *list = NULL;
	if (get_list(r, object, path, key, &list) < 0)
		return -1;
	const char **texts = muster_pool_alloc(r->pool, muster_json_size(list) * sizeof *texts);
	size_t n = 0;
	for (const struct muster_json *e = muster_json_first(list); e; e = muster_json_next(e)) {
		if (muster_json_type(e) != MUSTER_JSON_STRING)
			return muster_fail(r->err, MUSTER_EUSAGE, "%s.%s[%zu]: must be a string, not %s", path, key, n,
				muster_json_type_name(muster_json_type(e)));
		texts[n++] = muster_pool_string(r->pool, muster_json_string(e));
	}
	*ret = texts;
	*ret_count = n;
	return 0;
}

static int read_numas(const struct reader *r, const struct muster_json *root, struct muster_sim_node *node)
{
	const struct muster_json *list = NULL;
	if (get_list(r, root, "$", "numa_nodes", &list) < 0)
		return -1;
	node->numas = muster_pool_alloc(r->pool, muster_json_size(list) * sizeof *node->numas);
	for (const struct muster_json *e = muster_json_first(list); e; e = muster_json_next(e)) {
		const char *path = muster_pool_printf(r->pool, "$.numa_nodes[%zu]", node->numa_count);
		struct muster_sim_numa *numa = &node->numas[node->numa_count++];
		struct muster_cpus cpus;
		if (read_record(r, e, path, numa_fields, COUNT(numa_fields), numa) < 0)
			return -1;
		if (muster_cpus_parse_list(numa->cpu_list, &cpus, r->err) < 0)
			return muster_wrap(r->err, "%s.cpu_list", path);
		if (numa->socket < 0 || numa->socket >= node->sockets)
			return muster_fail(
				r->err, MUSTER_EUSAGE, "%s.socket: there are sockets 0 to %d", path, node->sockets - 1);
	}
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
	static const char *const others[] = { "devices", NULL };
	struct muster_sim_node *node = &hw->node;
	struct muster_sim_gpu model = { 0 };
	struct muster_sim_pci pci = { 0 };
	const struct muster_json *gpu = NULL, *list = NULL;
	if (get_object(r, root, "$", "gpu", &gpu) < 0 || get_list(r, gpu, "$.gpu", "devices", &list) < 0 ||
		check_keys(r, gpu, "$.gpu", gpu_fields, COUNT(gpu_fields), pci_fields, COUNT(pci_fields), others) < 0 ||
		read_fields(r, gpu, "$.gpu", gpu_fields, COUNT(gpu_fields), &model) < 0 ||
		read_fields(r, gpu, "$.gpu", pci_fields, COUNT(pci_fields), &pci) < 0)
		return -1;
	model.nvlinks_active = model.nvlinks;
	node->gpus = muster_pool_alloc(r->pool, muster_json_size(list) * sizeof *node->gpus);
	for (const struct muster_json *e = muster_json_first(list); e; e = muster_json_next(e)) {
		const char *path = muster_pool_printf(r->pool, "$.gpu.devices[%zu]", node->gpu_count);
		struct muster_sim_gpu *to = &node->gpus[node->gpu_count];
		*to = model;
		to->cuda_index = to->nvml_index = (int)node->gpu_count++;
		if (read_record(r, e, path, gpu_device_fields, COUNT(gpu_device_fields), to) < 0 ||
			check_numa(r, node, to->numa_node, path) < 0)
			return -1;
		add_pci(hw, &pci, to->bus_id);
	}
	return 0;
}

static int read_adapter(
	const struct reader *r, const struct muster_json *adapter, const char *path, struct muster_sim_hardware *hw)
{
	static const char *const others[] = { "pkeys", "devices", NULL };
	struct muster_sim_node *node = &hw->node;
	struct muster_sim_port model = { .port = 1, .state = "ACTIVE", .phys_state = "LinkUp" };
	struct muster_sim_pci pci = { 0 };
	const struct muster_json *list = NULL;
	if (check_keys(r, adapter, path, adapter_fields, COUNT(adapter_fields), pci_fields, COUNT(pci_fields), others) <
			0 ||
		get_list(r, adapter, path, "devices", &list) < 0 ||
		read_fields(r, adapter, path, adapter_fields, COUNT(adapter_fields), &model) < 0 ||
		read_fields(r, adapter, path, pci_fields, COUNT(pci_fields), &pci) < 0 ||
		read_strings(r, adapter, path, "pkeys", &model.pkeys, &model.pkey_count) < 0)
		return -1;
	for (const struct muster_json *e = muster_json_first(list); e; e = muster_json_next(e)) {
		const char *device = muster_pool_printf(r->pool, "%s.devices", path);
		struct muster_sim_port *to = &node->ports[node->port_count++];
		*to = model;
		if (read_record(r, e, device, adapter_device_fields, COUNT(adapter_device_fields), to) < 0 ||
			check_numa(r, node, to->numa_node, device) < 0)
			return -1;
		add_pci(hw, &pci, to->pci);
	}
	return 0;
}

/* A machine type without RDMA devices has an empty list of adapters. */
static int read_adapters(const struct reader *r, const struct muster_json *root, struct muster_sim_hardware *hw)
{
	struct muster_sim_node *node = &hw->node;
	const struct muster_json *list = NULL;
	const char **names = NULL;
	size_t index = 0, name_count = 0;
	int found = muster_json_get_array(root, "$", "adapters", &list, r->err);
	if (found <= 0)
		return found == 0 ? missing(r, "$", "adapters") : -1;
	for (const struct muster_json *e = muster_json_first(list); e; e = muster_json_next(e))
		if (read_adapter(r, e, muster_pool_printf(r->pool, "$.adapters[%zu]", index++), hw) < 0)
			return -1;
	if (read_strings(r, root, "$", "counters", &names, &name_count) < 0)
		return -1;
	for (size_t i = 0; i < node->port_count; i++) {
		struct muster_sim_port *port = &node->ports[i];
		port->counters = muster_pool_alloc(r->pool, name_count * sizeof *port->counters);
		port->counter_count = name_count;
		for (size_t c = 0; c < name_count; c++)
			port->counters[c].name = names[c];
	}
	return 0;
}

static int read_bandwidths(const struct reader *r, const struct muster_json *root, struct muster_sim_hardware *hw)
{
	const struct muster_json *list = NULL;
	if (get_list(r, root, "$", "allreduce", &list) < 0)
		return -1;
	hw->bandwidths = muster_pool_alloc(r->pool, muster_json_size(list) * sizeof *hw->bandwidths);
	for (const struct muster_json *e = muster_json_first(list); e; e = muster_json_next(e)) {
		const char *path = muster_pool_printf(r->pool, "$.allreduce[%zu]", hw->bandwidth_count);
		struct muster_sim_bandwidth *now = &hw->bandwidths[hw->bandwidth_count];
		if (read_record(r, e, path, bandwidth_fields, COUNT(bandwidth_fields), now) < 0)
			return -1;
		if (hw->bandwidth_count++ > 0 &&
			(now->nodes < now[-1].nodes || (now->nodes == now[-1].nodes && now->bytes <= now[-1].bytes)))
			return muster_fail(r->err, MUSTER_EUSAGE, "%s: must be sorted by nodes, then bytes", path);
		if (now->nodes < 1 || now->bytes < 1 || now->busbw_gbps <= 0)
			return muster_fail(
				r->err, MUSTER_EUSAGE, "%s: nodes, bytes and busbw_gbps must be above 0", path);
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
	static const char *const keys[] = { "schema_version", "name", "host", "numa_nodes", "software", "gpu",
		"adapters", "counters", "nccl", "allreduce", NULL };
	const char *name = NULL;
	int version = 0;
	if (check_keys(r, root, "$", NULL, 0, NULL, 0, keys) < 0 ||
		muster_json_get_int(root, "$", "schema_version", &version, r->err) < 0 ||
		muster_json_get_string(root, "$", "name", &name, r->err) < 0)
		return -1;
	if (version != 1)
		return muster_fail(r->err, MUSTER_EUSAGE, "$.schema_version: must be 1");
	if (!name || strcmp(name, sku) != 0)
		return muster_fail(r->err, MUSTER_EUSAGE, "$.name: must be \"%s\", as the file is called", sku);
	hw->sku = muster_pool_string(r->pool, name);

	const struct muster_json *adapters = muster_json_member(root, "adapters");
	size_t ports = 0;
	if (adapters && muster_json_type(adapters) == MUSTER_JSON_ARRAY)
		for (const struct muster_json *e = muster_json_first(adapters); e; e = muster_json_next(e))
			ports += count_devices(e);
	size_t devices = ports + count_devices(muster_json_member(root, "gpu"));
	hw->pci = muster_pool_alloc(r->pool, (devices + 1) * sizeof *hw->pci);
	hw->node.ports = muster_pool_alloc(r->pool, (ports + 1) * sizeof *hw->node.ports);

	if (read_member(r, root, "host", host_fields, COUNT(host_fields), &hw->node) < 0 ||
		read_member(r, root, "software", software_fields, COUNT(software_fields), &hw->node) < 0 ||
		read_member(r, root, "nccl", nccl_fields, COUNT(nccl_fields), hw) < 0 ||
		read_numas(r, root, &hw->node) < 0 || read_gpus(r, root, hw) < 0 || read_adapters(r, root, hw) < 0)
		return -1;
	return read_bandwidths(r, root, hw);
}

int muster_sim_hardware_read(const char *directory, const char *sku, struct muster_pool *pool,
	struct muster_sim_hardware *ret, struct muster_error *err)
{
	const struct reader r = { pool, err };
	const char *path = muster_pool_printf(pool, "%s/%s.json", directory, sku);
	struct muster_sim_hardware hw = { 0 };
	struct muster_json *root = NULL;
	char *text = NULL;
	size_t length = 0;
	int rc = -1;

	/* A SKU is a name, never a path out of the directory. */
	if (*sku == '\0' || *sku == '.' || strchr(sku, '/') ||
		muster_file_read(path, FILE_LIMIT, &text, &length, err) < 0) {
		muster_fail(err, MUSTER_EUSAGE, "no hardware description of SKU \"%s\" in %s; there are: %s", sku,
			directory, muster_sim_hardware_list(directory, pool));
		goto out;
	}
	if (muster_json_parse(text, length, &root, err) < 0 || read_all(&r, root, sku, &hw) < 0) {
		muster_wrap(err, "%s", path);
		goto out;
	}
	*ret = hw;
	rc = 0;
out:
	muster_json_free(root);
	free(text);
	return rc;
}

static int is_description(const struct dirent *entry)
{
	size_t length = strlen(entry->d_name);
	return length > 5 && entry->d_name[0] != '.' && strcmp(entry->d_name + length - 5, ".json") == 0;
}

const char *muster_sim_hardware_list(const char *directory, struct muster_pool *pool)
{
	struct dirent **entries = NULL;
	const char *list = "none";
	int count = scandir(directory, &entries, is_description, alphasort);
	for (int i = 0; i < count; i++) {
		const char *name = muster_pool_string_n(pool, entries[i]->d_name, strlen(entries[i]->d_name) - 5);
		list = i == 0 ? name : muster_pool_printf(pool, "%s, %s", list, name);
		free(entries[i]);
	}
	free(entries);
	return list;
}

int muster_sim_mask_check(const struct muster_sim_node *node, const char *mask, struct muster_error *err)
{
	struct muster_cpus wanted, there;
	if (muster_cpus_parse_mask(mask, &wanted, err) < 0)
		return -1;
	if (muster_cpus_count(&wanted) == 0)
		return muster_fail(err, MUSTER_EUSAGE, "\"%s\" holds no CPU", mask);
	for (size_t i = 0; i < node->numa_count; i++) {
		if (muster_cpus_parse_list(node->numas[i].cpu_list, &there, err) < 0)
			return -1;
		for (size_t w = 0; w < MUSTER_CPUS_MAX / 64; w++)
			wanted.bits[w] &= ~there.bits[w];
	}
	if (muster_cpus_count(&wanted) == 0)
		return 0;
	char *list = muster_cpus_list(&wanted);
	muster_fail(err, MUSTER_EUSAGE, "\"%s\" holds CPUs that the node has not: %s", mask, list);
	free(list);
	return -1;
}
