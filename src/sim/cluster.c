/* cluster.c - cluster.json: one table of fields for each struct, and a reader and a writer that walk the tables
 *
 * A key that the table does not have, and a field that the file does not have, are errors: a simulation that quietly
 * ran with a default would prove nothing.
 */
#include "sim/cluster.h"

#include "core/file.h"
#include "core/json.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CLUSTER_BYTES_MAX ((size_t)256 << 20)

enum kind { K_INT, K_NUMBER, K_BOOLEAN, K_WORD, K_STRING, K_STRING_OR_NULL, K_STRINGS, K_STRUCTS };

struct field {
	const char *key;
	enum kind kind;
	size_t offset;
	size_t count_offset;        /* K_STRINGS, K_STRUCTS: where the number of elements goes */
	const struct layout *items; /* K_STRUCTS */
};

struct layout {
	size_t size;
	const struct field *fields;
	size_t count;
};

#define F(type, name, kind_)                                                                                           \
	{                                                                                                              \
		.key = #name, .kind = (kind_), .offset = offsetof(struct type, name)                                   \
	}
#define F_MANY(type, name, kind_, count_name, items_)                                                                  \
	{                                                                                                              \
		.key = #name, .kind = (kind_), .offset = offsetof(struct type, name),                                  \
		.count_offset = offsetof(struct type, count_name), .items = (items_)                                   \
	}
#define LAYOUT(type, table)                                                                                            \
	{                                                                                                              \
		.size = sizeof(struct type), .fields = (table), .count = sizeof(table) / sizeof *(table)               \
	}

static const struct field gpu_fields[] = {
	F(muster_sim_gpu, bus_id, K_STRING),
	F(muster_sim_gpu, uuid, K_STRING),
	F(muster_sim_gpu, name, K_STRING),
	F(muster_sim_gpu, vbios, K_STRING),
	F(muster_sim_gpu, memory_mib, K_NUMBER),
	F(muster_sim_gpu, compute_major, K_INT),
	F(muster_sim_gpu, compute_minor, K_INT),
	F(muster_sim_gpu, numa_node, K_INT),
	F(muster_sim_gpu, cuda_index, K_INT),
	F(muster_sim_gpu, nvml_index, K_INT),
	F(muster_sim_gpu, ecc, K_BOOLEAN),
	F(muster_sim_gpu, persistence, K_BOOLEAN),
	F(muster_sim_gpu, mig_supported, K_BOOLEAN),
	F(muster_sim_gpu, mig, K_BOOLEAN),
	F(muster_sim_gpu, pcie_gen, K_INT),
	F(muster_sim_gpu, pcie_gen_max, K_INT),
	F(muster_sim_gpu, pcie_width, K_INT),
	F(muster_sim_gpu, pcie_width_max, K_INT),
	F(muster_sim_gpu, nvlinks, K_INT),
	F(muster_sim_gpu, nvlinks_active, K_INT),
	F(muster_sim_gpu, nvlink_mbps, K_NUMBER),
	F(muster_sim_gpu, sm_clock_mhz, K_INT),
	F(muster_sim_gpu, sm_clock_max_mhz, K_INT),
	F(muster_sim_gpu, mem_clock_mhz, K_INT),
	F(muster_sim_gpu, mem_clock_max_mhz, K_INT),
	F(muster_sim_gpu, throttle_reasons, K_WORD),
	F(muster_sim_gpu, temperature_celsius, K_INT),
	F(muster_sim_gpu, power_watts, K_NUMBER),
	F(muster_sim_gpu, power_limit_watts, K_NUMBER),
	F(muster_sim_gpu, ecc_corrected_volatile, K_NUMBER),
	F(muster_sim_gpu, ecc_uncorrected_volatile, K_NUMBER),
	F(muster_sim_gpu, ecc_corrected_aggregate, K_NUMBER),
	F(muster_sim_gpu, ecc_uncorrected_aggregate, K_NUMBER),
	F(muster_sim_gpu, remap_correctable, K_INT),
	F(muster_sim_gpu, remap_uncorrectable, K_INT),
	F(muster_sim_gpu, remap_pending, K_BOOLEAN),
	F(muster_sim_gpu, remap_failed, K_BOOLEAN),
	F(muster_sim_gpu, h2d_gbps, K_NUMBER),
	F(muster_sim_gpu, d2h_gbps, K_NUMBER),
	F(muster_sim_gpu, h2d_together_gbps, K_NUMBER),
	F(muster_sim_gpu, d2h_together_gbps, K_NUMBER),
};
static const struct layout gpu_layout = LAYOUT(muster_sim_gpu, gpu_fields);

static const struct field counter_fields[] = {
	F(muster_sim_counter, name, K_STRING),
	F(muster_sim_counter, value, K_NUMBER),
	F(muster_sim_counter, increase, K_NUMBER),
};
static const struct layout counter_layout = LAYOUT(muster_sim_counter, counter_fields);

static const struct field port_fields[] = {
	F(muster_sim_port, device, K_STRING),
	F(muster_sim_port, port, K_INT),
	F(muster_sim_port, pci, K_STRING),
	F(muster_sim_port, link_layer, K_STRING),
	F(muster_sim_port, state, K_STRING),
	F(muster_sim_port, phys_state, K_STRING),
	F(muster_sim_port, active_speed, K_INT),
	F(muster_sim_port, active_width, K_INT),
	F(muster_sim_port, active_mtu, K_INT),
	F(muster_sim_port, rate, K_STRING),
	F(muster_sim_port, lid, K_INT),
	F(muster_sim_port, sm_lid, K_INT),
	F(muster_sim_port, gid, K_STRING),
	F(muster_sim_port, guid, K_STRING),
	F(muster_sim_port, firmware, K_STRING),
	F(muster_sim_port, board_id, K_STRING),
	F(muster_sim_port, hca_type, K_STRING),
	F_MANY(muster_sim_port, pkeys, K_STRINGS, pkey_count, NULL),
	F(muster_sim_port, numa_node, K_INT),
	F_MANY(muster_sim_port, counters, K_STRUCTS, counter_count, &counter_layout),
};
static const struct layout port_layout = LAYOUT(muster_sim_port, port_fields);

static const struct field numa_fields[] = {
	F(muster_sim_numa, os_index, K_INT),
	F(muster_sim_numa, cpu_list, K_STRING),
	F(muster_sim_numa, memory_mib, K_NUMBER),
	F(muster_sim_numa, socket, K_INT),
};
static const struct layout numa_layout = LAYOUT(muster_sim_numa, numa_fields);

static const struct field node_fields[] = {
	F(muster_sim_node, name, K_STRING),
	F(muster_sim_node, directory, K_STRING),
	F(muster_sim_node, os_name, K_STRING),
	F(muster_sim_node, kernel, K_STRING),
	F(muster_sim_node, cpu_model, K_STRING),
	F(muster_sim_node, architecture, K_STRING),
	F(muster_sim_node, sockets, K_INT),
	F_MANY(muster_sim_node, numas, K_STRUCTS, numa_count, &numa_layout),
	F(muster_sim_node, driver_version, K_STRING),
	F(muster_sim_node, cuda_driver, K_INT),
	F(muster_sim_node, nvml_version, K_STRING),
	F(muster_sim_node, nccl_version, K_INT),
	F_MANY(muster_sim_node, missing_libraries, K_STRINGS, missing_library_count, NULL),
	F_MANY(muster_sim_node, gpus, K_STRUCTS, gpu_count, &gpu_layout),
	F_MANY(muster_sim_node, ports, K_STRUCTS, port_count, &port_layout),
};
static const struct layout node_layout = LAYOUT(muster_sim_node, node_fields);

static const struct field rank_fields[] = {
	F(muster_sim_rank, node, K_INT),
	F(muster_sim_rank, local_rank, K_INT),
	F(muster_sim_rank, cpu_mask, K_STRING),
	F(muster_sim_rank, visible_gpus, K_STRING_OR_NULL),
	F(muster_sim_rank, nccl_slow, K_NUMBER),
	F(muster_sim_rank, nccl_wrong_sum, K_BOOLEAN),
};
static const struct layout rank_layout = LAYOUT(muster_sim_rank, rank_fields);

static const struct field bandwidth_fields[] = {
	F(muster_sim_bandwidth, nodes, K_INT),
	F(muster_sim_bandwidth, bytes, K_NUMBER),
	F(muster_sim_bandwidth, busbw_gbps, K_NUMBER),
};
static const struct layout bandwidth_layout = LAYOUT(muster_sim_bandwidth, bandwidth_fields);

static const struct field cluster_fields[] = {
	F(muster_sim_cluster, sku, K_STRING),
	F(muster_sim_cluster, directory, K_STRING),
	F(muster_sim_cluster, intra_transport, K_STRING),
	F(muster_sim_cluster, inter_transport, K_STRING),
	F_MANY(muster_sim_cluster, nodes, K_STRUCTS, node_count, &node_layout),
	F_MANY(muster_sim_cluster, ranks, K_STRUCTS, rank_count, &rank_layout),
	F_MANY(muster_sim_cluster, bandwidths, K_STRUCTS, bandwidth_count, &bandwidth_layout),
};
static const struct layout cluster_layout = LAYOUT(muster_sim_cluster, cluster_fields);

/* -- reading -- */

static int read_struct(struct muster_pool *pool, const struct muster_json *json, const char *path,
	const struct layout *layout, char *ret, struct muster_error *err);

static int wrong_type(
	const char *path, size_t index, const char *wanted, const struct muster_json *json, struct muster_error *err)
{
	return muster_fail(err, MUSTER_EUSAGE, "%s[%zu]: must be %s, not %s", path, index, wanted,
		muster_json_type_name(muster_json_type(json)));
}

static int read_strings(struct muster_pool *pool, const struct muster_json *array, const char *path, const char **ret,
	struct muster_error *err)
{
	size_t i = 0;
	for (const struct muster_json *item = muster_json_first(array); item; item = muster_json_next(item), i++) {
		if (muster_json_type(item) != MUSTER_JSON_STRING)
			return wrong_type(path, i, "a string", item, err);
		ret[i] = muster_pool_string(pool, muster_json_string(item));
	}
	return 0;
}

static int read_structs(struct muster_pool *pool, const struct muster_json *array, const char *path,
	const struct layout *layout, char *ret, struct muster_error *err)
{
	size_t i = 0;
	for (const struct muster_json *item = muster_json_first(array); item; item = muster_json_next(item), i++) {
		const char *item_path = muster_pool_printf(pool, "%s[%zu]", path, i);
		if (muster_json_type(item) != MUSTER_JSON_OBJECT)
			return wrong_type(path, i, "an object", item, err);
		if (read_struct(pool, item, item_path, layout, ret + i * layout->size, err) < 0)
			return -1;
	}
	return 0;
}

static int read_many(struct muster_pool *pool, const struct muster_json *object, const char *path,
	const struct field *field, char *ret, struct muster_error *err)
{
	const struct muster_json *array;
	int found = muster_json_get_array(object, path, field->key, &array, err);
	if (found <= 0)
		return found;
	const char *array_path = muster_pool_printf(pool, "%s.%s", path, field->key);
	size_t count = muster_json_size(array);
	size_t size = field->kind == K_STRUCTS ? field->items->size : sizeof(const char *);
	void *items = muster_pool_alloc(pool, count * size);
	if ((field->kind == K_STRUCTS ? read_structs(pool, array, array_path, field->items, items, err)
				      : read_strings(pool, array, array_path, items, err)) < 0)
		return -1;
	memcpy(ret + field->offset, &items, sizeof items);
	memcpy(ret + field->count_offset, &count, sizeof count);
	return 1;
}

/* 1 when read, 0 when absent, -1 on error. */
static int read_field(struct muster_pool *pool, const struct muster_json *object, const char *path,
	const struct field *field, char *ret, struct muster_error *err)
{
	void *to = ret + field->offset;
	const struct muster_json *member;
	const char *text;
	double number;
	int found;

	switch (field->kind) {
	case K_INT: return muster_json_get_int(object, path, field->key, to, err);
	case K_NUMBER: return muster_json_get_number(object, path, field->key, to, err);
	case K_BOOLEAN: return muster_json_get_boolean(object, path, field->key, to, err);
	case K_WORD:
		found = muster_json_get_number(object, path, field->key, &number, err);
		if (found <= 0)
			return found;
		if (number < 0 || number > 9007199254740992.0 || number != floor(number))
			return muster_fail(
				err, MUSTER_EUSAGE, "%s.%s: must be a whole number from 0 to 2^53", path, field->key);
		*(unsigned long long *)to = (unsigned long long)number;
		return 1;
	case K_STRING_OR_NULL:
		member = muster_json_member(object, field->key);
		if (member && muster_json_type(member) == MUSTER_JSON_NULL) {
			*(const char **)to = NULL;
			return 1;
		}
		/* fallthrough */
	case K_STRING:
		found = muster_json_get_string(object, path, field->key, &text, err);
		if (found > 0)
			*(const char **)to = muster_pool_string(pool, text);
		return found;
	case K_STRINGS:
	case K_STRUCTS: return read_many(pool, object, path, field, ret, err);
	}
	return muster_fail(err, MUSTER_EUSAGE, "%s.%s: a field of no known kind", path, field->key);
}

static int read_struct(struct muster_pool *pool, const struct muster_json *json, const char *path,
	const struct layout *layout, char *ret, struct muster_error *err)
{
	const char *keys[64] = { NULL };
	for (size_t i = 0; i < layout->count && i < sizeof keys / sizeof *keys - 1; i++)
		keys[i] = layout->fields[i].key;
	if (muster_json_only_keys(json, path, keys, err) < 0)
		return -1;
	for (size_t i = 0; i < layout->count; i++) {
		int found = read_field(pool, json, path, &layout->fields[i], ret, err);
		if (found < 0)
			return -1;
		if (found == 0)
			return muster_fail(err, MUSTER_EUSAGE, "%s: \"%s\" is missing", path, layout->fields[i].key);
	}
	return 0;
}

static int check(const struct muster_sim_cluster *cluster, struct muster_error *err)
{
	for (size_t i = 0; i < cluster->rank_count; i++)
		if (cluster->ranks[i].node < 0 || (size_t)cluster->ranks[i].node >= cluster->node_count)
			return muster_fail(err, MUSTER_EUSAGE, "$.ranks[%zu].node: there is no node %d", i,
				cluster->ranks[i].node);
	return 0;
}

int muster_sim_cluster_read(const char *path, struct muster_sim_cluster *ret, struct muster_error *err)
{
	char *text;
	size_t length;
	struct muster_json *json = NULL;
	struct muster_sim_cluster cluster = { .pool = NULL };
	int result = -1;

	if (muster_file_read(path, CLUSTER_BYTES_MAX, &text, &length, err) < 0)
		return -1;
	if (muster_json_parse(text, length, &json, err) < 0)
		goto out;
	if (muster_json_type(json) != MUSTER_JSON_OBJECT) {
		muster_fail(err, MUSTER_EUSAGE, "$: must be an object, not %s",
			muster_json_type_name(muster_json_type(json)));
		goto out;
	}
	cluster.pool = muster_pool_new();
	if (read_struct(cluster.pool, json, "$", &cluster_layout, (char *)&cluster, err) < 0 ||
		check(&cluster, err) < 0)
		goto out;
	*ret = cluster;
	result = 0;
out:
	if (result < 0) {
		muster_wrap(err, "%s", path);
		muster_pool_free(cluster.pool);
	}
	muster_json_free(json);
	free(text);
	return result;
}

void muster_sim_cluster_done(struct muster_sim_cluster *cluster)
{
	muster_pool_free(cluster->pool);
	*cluster = (struct muster_sim_cluster){ .pool = NULL };
}

/* -- writing -- */

static int write_struct(
	struct muster_writer *w, const struct layout *layout, const char *from, struct muster_error *err);

static int write_many(struct muster_writer *w, const struct field *field, const char *from, struct muster_error *err)
{
	const void *items;
	size_t count;
	memcpy(&items, from + field->offset, sizeof items);
	memcpy(&count, from + field->count_offset, sizeof count);
	muster_writer_array(w);
	for (size_t i = 0; i < count; i++) {
		if (field->kind == K_STRINGS)
			muster_writer_string(w, ((const char *const *)items)[i]);
		else if (write_struct(w, field->items, (const char *)items + i * field->items->size, err) < 0)
			return -1;
	}
	muster_writer_array_end(w);
	return 0;
}

static int write_field(struct muster_writer *w, const struct field *field, const char *base, struct muster_error *err)
{
	const void *from = base + field->offset;
	const char *text;
	switch (field->kind) {
	case K_INT: muster_writer_number(w, *(const int *)from); return 0;
	case K_NUMBER: muster_writer_number(w, *(const double *)from); return 0;
	case K_BOOLEAN: muster_writer_boolean(w, *(const bool *)from); return 0;
	case K_WORD: muster_writer_number(w, (double)*(const unsigned long long *)from); return 0;
	case K_STRING:
	case K_STRING_OR_NULL:
		text = *(const char *const *)from;
		if (!text && field->kind == K_STRING)
			return muster_fail(err, MUSTER_EUSAGE, "\"%s\" has no value", field->key);
		muster_writer_string(w, text);
		return 0;
	case K_STRINGS:
	case K_STRUCTS: return write_many(w, field, base, err);
	}
	return muster_fail(err, MUSTER_EUSAGE, "\"%s\" is of no known kind", field->key);
}

static int write_struct(
	struct muster_writer *w, const struct layout *layout, const char *from, struct muster_error *err)
{
	muster_writer_object(w);
	for (size_t i = 0; i < layout->count; i++) {
		muster_writer_key(w, layout->fields[i].key);
		if (write_field(w, &layout->fields[i], from, err) < 0)
			return -1;
	}
	muster_writer_object_end(w);
	return 0;
}

int muster_sim_cluster_write(const struct muster_sim_cluster *cluster, const char *path, struct muster_error *err)
{
	struct muster_file file;
	struct muster_writer w;
	if (muster_file_open(&file, path, err) < 0)
		return -1;
	muster_writer_init(&w, file.out, 4);
	if (write_struct(&w, &cluster_layout, (const char *)cluster, err) < 0) {
		muster_file_abandon(&file);
		return muster_wrap(err, "%s", path);
	}
	return muster_file_commit(&file, err);
}

/* -- the stand-in's own process -- */

#define EXIT_UNSCRIPTED 70 /* EX_SOFTWARE of sysexits.h */

static struct {
	pthread_once_t once;
	struct muster_sim_cluster cluster;
	size_t rank;
} self = { .once = PTHREAD_ONCE_INIT };

static void end_unscripted(const char *why)
{
	fprintf(stderr, "muster stand-in: %s; a stand-in library never runs outside a simulation\n", why);
	_Exit(EXIT_UNSCRIPTED);
}

static void read_environment(void)
{
	const char *path = getenv("MUSTER_SIM_CLUSTER");
	const char *rank = getenv("MUSTER_SIM_RANK");
	struct muster_error err;
	char *end;

	if (!path || !*path)
		end_unscripted("MUSTER_SIM_CLUSTER is not set");
	if (!rank || *rank < '0' || *rank > '9')
		end_unscripted("MUSTER_SIM_RANK is not a rank");
	if (muster_sim_cluster_read(path, &self.cluster, &err) < 0)
		end_unscripted(err.text);
	self.rank = strtoul(rank, &end, 10);
	if (*end || self.rank >= self.cluster.rank_count)
		end_unscripted("MUSTER_SIM_RANK names no rank of the cluster");
}

const struct muster_sim_cluster *muster_sim_cluster(void)
{
	pthread_once(&self.once, read_environment);
	return &self.cluster;
}

const struct muster_sim_rank *muster_sim_this_rank(void)
{
	return &muster_sim_cluster()->ranks[self.rank];
}

const struct muster_sim_node *muster_sim_this_node(void)
{
	return &muster_sim_cluster()->nodes[muster_sim_this_rank()->node];
}
