/* SPDX-License-Identifier: Apache-2.0 */
/* cluster.c - cluster.json: the tables of fields of the cluster's structs
 *
 * The simulator writes the file once, with all faults applied (fs.c). Each stand-in library has this file linked in. It
 * reads cluster.json with the first question about the cluster, and keeps the cluster until its process ends.
 *
 * Every key is required and no other is allowed, and check() refuses an index that leads nowhere: a stand-in
 * indexes nodes, ranks and the sides of a barrier without a further look.
 */
#include "sim/cluster.h"

#include "util/file.h"
#include "json/object.h"
#include "util/env.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CLUSTER_BYTES_MAX ((size_t)256 << 20)

/* The lists of cluster.h are expanded here for the second and the third time: FIELD_kind makes a row of the table that
 * json/object.h reads and writes by, VALUE makes a default. FIELD_gpu and so on put the struct's tag in front of a
 * row's parts. An arena has no key, an array no default. */
/* clang-format off */
#define FIELD_BOOLEAN(tag, name, in, value) { MUSTER_FIELD(tag, name, BOOLEAN), .part = MUSTER_SIM_##in },
#define FIELD_INT(tag, name, in, value) { MUSTER_FIELD(tag, name, INT), .part = MUSTER_SIM_##in },
#define FIELD_COUNT(tag, name, in, value) { MUSTER_FIELD(tag, name, INT), .part = MUSTER_SIM_##in, .low = 1 },
#define FIELD_WORD(tag, name, in, value) { MUSTER_FIELD(tag, name, WORD), .part = MUSTER_SIM_##in },
#define FIELD_NUMBER(tag, name, in, value) { MUSTER_FIELD(tag, name, NUMBER), .part = MUSTER_SIM_##in },
#define FIELD_TEXT(tag, name, in, value) { MUSTER_FIELD(tag, name, TEXT), .part = MUSTER_SIM_##in },
#define FIELD_OR_NULL(tag, name, in, value) { MUSTER_FIELD(tag, name, TEXT), .part = MUSTER_SIM_##in, .or_null = true },
#define FIELD_TEXTS(tag, name, in, count) \
	{ MUSTER_FIELD(tag, name, TEXT), MUSTER_FIELD_MANY(tag, count), .part = MUSTER_SIM_##in },
#define FIELD_OBJECTS(tag, name, of, count) \
	{ MUSTER_FIELD(tag, name, OBJECT), MUSTER_FIELD_MANY(tag, count), .object = &muster_sim_##of##_type },
#define FIELD_ARENA(tag, name, in, value)

#define FIELD_gpu(kind, ...) FIELD_##kind(muster_sim_gpu, __VA_ARGS__)
#define FIELD_counter(kind, ...) FIELD_##kind(muster_sim_counter, __VA_ARGS__)
#define FIELD_port(kind, ...) FIELD_##kind(muster_sim_port, __VA_ARGS__)
#define FIELD_numa(kind, ...) FIELD_##kind(muster_sim_numa, __VA_ARGS__)
#define FIELD_disk(kind, ...) FIELD_##kind(muster_sim_disk, __VA_ARGS__)
#define FIELD_volume(kind, ...) FIELD_##kind(muster_sim_volume, __VA_ARGS__)
#define FIELD_node(kind, ...) FIELD_##kind(muster_sim_node, __VA_ARGS__)
#define FIELD_rank(kind, ...) FIELD_##kind(muster_sim_rank, __VA_ARGS__)
#define FIELD_bandwidth(kind, ...) FIELD_##kind(muster_sim_bandwidth, __VA_ARGS__)
#define FIELD_partition(kind, ...) FIELD_##kind(muster_sim_partition, __VA_ARGS__)
#define FIELD_link(kind, ...) FIELD_##kind(muster_sim_link, __VA_ARGS__)
#define FIELD_cluster(kind, ...) FIELD_##kind(muster_sim_cluster, __VA_ARGS__)

#define VALUE(kind, name, in, value) .name = value,
#define NO_VALUE(kind, name, in, count)

#define STRUCT(name) \
	static const struct muster_field name##_fields[] = { MUSTER_SIM_FIELDS_##name(FIELD_##name, FIELD_##name) }; \
	const struct muster_sim_##name muster_sim_##name##_default = { MUSTER_SIM_FIELDS_##name(VALUE, NO_VALUE) }; \
	const struct muster_object_type muster_sim_##name##_type = { .fields = name##_fields, \
		.count = sizeof name##_fields / sizeof *name##_fields, .size = sizeof(struct muster_sim_##name), \
		.initial = &muster_sim_##name##_default };
MUSTER_SIM_STRUCTS(STRUCT)
/* clang-format on */

/* As an A100's: instances have a little less than their part of the memory, and of 108 multiprocessors 14 for each of
 * the seven slices (108 * 10 / 77 in whole numbers). */
double muster_sim_memory_mib(const struct muster_sim_gpu *gpu)
{
	return gpu->mig_slices > 0 ? gpu->mig_gb * 0.96 * 1024 : gpu->memory_mib;
}

int muster_sim_multiprocessors(const struct muster_sim_gpu *gpu)
{
	return gpu->mig_slices > 0 ? gpu->multiprocessors * 10 / 77 * gpu->mig_slices : gpu->multiprocessors;
}

/* An instance's UUID is the GPU's with another first digit, so that the two differ: "GPU-1..." gives "MIG-f...". */
const char *muster_sim_uuid(const struct muster_sim_gpu *gpu, char ret[MUSTER_SIM_UUID_SIZE])
{
	if (gpu->mig_slices == 0 || strlen(gpu->uuid) < 5)
		snprintf(ret, MUSTER_SIM_UUID_SIZE, "%s", gpu->uuid);
	else
		snprintf(ret, MUSTER_SIM_UUID_SIZE, "MIG-%c%s", gpu->uuid[4] == 'f' ? 'e' : 'f', gpu->uuid + 5);
	return ret;
}

bool muster_sim_port_is_first(const struct muster_sim_node *node, size_t index)
{
	for (size_t i = 0; i < index; i++)
		if (strcmp(node->ports[i].device, node->ports[index].device) == 0)
			return false;
	return true;
}

/* The place of a name in the row is its number: enum ibv_port_state, the physical states of the InfiniBand
 * specification, and IBV_LINK_LAYER_ of verbs. Number 0 has no name that a port may have. */
int muster_sim_port_word_number(enum muster_sim_port_word kind, const char *name)
{
	static const char *const names[][8] = {
		[MUSTER_SIM_PORT_STATE] = { NULL, "DOWN", "INIT", "ARMED", "ACTIVE", "ACTIVE_DEFER" },
		[MUSTER_SIM_PORT_PHYS_STATE] = { NULL, "Sleep", "Polling", "Disabled", "PortConfigurationTraining",
			"LinkUp", "LinkErrorRecovery", "Phy Test" },
		[MUSTER_SIM_PORT_LINK_LAYER] = { NULL, "InfiniBand", "Ethernet" },
	};
	for (int i = 1; i < 8 && names[kind][i]; i++)
		if (strcmp(names[kind][i], name) == 0)
			return i;
	return -1;
}

/* Refuse indexes of nodes that are not there, and a barrier whose sides are not one letter for each node. */
static int check(const struct muster_sim_cluster *cluster, struct muster_error *err)
{
	for (size_t i = 0; i < cluster->rank_count; i++)
		if (cluster->ranks[i].node < 0 || (size_t)cluster->ranks[i].node >= cluster->node_count)
			return muster_fail(err, MUSTER_EUSAGE, "$.ranks[%zu].node: there is no node %d", i,
				cluster->ranks[i].node);
	for (size_t i = 0; i < cluster->link_count; i++) {
		const struct muster_sim_link *link = &cluster->links[i];
		if (link->from_node < 0 || (size_t)link->from_node >= cluster->node_count || link->to_node < 0 ||
			(size_t)link->to_node >= cluster->node_count)
			return muster_fail(err, MUSTER_EUSAGE, "$.links[%zu]: there are nodes 0 to %zu", i,
				cluster->node_count - 1);
	}
	for (size_t i = 0; i < cluster->barrier_count; i++)
		if (strlen(cluster->barriers[i].sides) != cluster->node_count)
			return muster_fail(
				err, MUSTER_EUSAGE, "$.barriers[%zu].sides: a letter for each node is needed", i);
	return 0;
}

int muster_sim_cluster_read(const char *path, struct muster_sim_cluster *ret, struct muster_error *err)
{
	struct muster_sim_cluster cluster = { .arena = NULL };
	struct muster_json_reader reader = { .err = err };
	struct muster_json *json;
	if (muster_json_parse_file(path, CLUSTER_BYTES_MAX, &json, err) < 0)
		return -1;
	cluster.arena = reader.arena = muster_arena_new();
	int rc = muster_object_read(&reader, json, &muster_sim_cluster_type, &cluster);
	if (rc == 0)
		rc = check(&cluster, err);
	muster_json_free(json);
	if (rc < 0) {
		muster_arena_free(cluster.arena);
		return muster_wrap(err, "%s", path);
	}
	*ret = cluster;
	return 0;
}

void muster_sim_cluster_done(struct muster_sim_cluster *cluster)
{
	muster_arena_free(cluster->arena);
	*cluster = (struct muster_sim_cluster){ .arena = NULL };
}

/* -- writing -- */

/* A text without a value (NULL in a field that is not OR_NULL) is an error, and leaves no file: what a fault has
 * cleared must have been taken out of the lists by then (sweep() in fault.c). */
int muster_sim_cluster_write(const struct muster_sim_cluster *cluster, const char *path, struct muster_error *err)
{
	struct muster_file file;
	struct muster_json_writer w;
	if (muster_file_open(&file, path, err) < 0)
		return -1;
	muster_json_writer_init(&w, file.out, 4);
	muster_object_write(&w, &muster_sim_cluster_type, cluster);
	if (w.incomplete) {
		muster_file_abandon(&file);
		return muster_fail(err, MUSTER_EUSAGE, "%s: \"%s\" has no value", path, w.incomplete);
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

/* Runs once in a process. MUSTER_SIM_CPU_MASK replaces the rank's mask: a launcher that binds for real has set it, and
 * so has the preloaded library for a program that this process executes (preload.c). */
static void read_environment(void)
{
	const char *path = muster_env(MUSTER_ENV_SIM_CLUSTER);
	const char *rank = muster_env(MUSTER_ENV_SIM_RANK);
	const char *mask = muster_env(MUSTER_ENV_SIM_CPU_MASK);
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
	if (mask && *mask)
		self.cluster.ranks[self.rank].cpu_mask = mask;
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
