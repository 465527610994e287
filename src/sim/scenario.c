/* SPDX-License-Identifier: Apache-2.0 */
/* scenario.c - build the simulated cluster from a scenario
 *
 * The rules of muster_sim_scenario_build, in the order in which they act:
 *
 *   1. A node is a copy of the description's node (hardware.h) with a name, identities and volumes of its own. GPUs and
 *      ports are copied, because faults change them; the lists of NUMA nodes, disks and counters are still shared by
 *      all nodes, so a fault copies such a list before it changes an element (muster_sim_copy).
 *   2. Each node has one rank for each GPU of the description. Rank r is on node r / GPUs, with local rank r % GPUs.
 *   3. A rank may use the CPUs of its GPU's NUMA node, unless the scenario has masks. With `alone` it may use all CPUs,
 *      and no job script has set variables.
 *   4. Faults are applied in the order given (fault.c). The rank of a missing GPU is there
 *      all the same, as srun starts the ranks that the job asked for.
 *
 * Identities (UUIDs, GUIDs, LIDs, GIDs) are functions of the SKU, the node and the index in the node: the same
 * scenario gives the same cluster on every machine, and all devices have different identities.
 */
#include "sim/scenario.h"

#include "util/text.h"
#include "json/object.h"
#include "sim/fault.h"
#include "util/array.h"
#include "util/cpuset.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_LIMIT (1 << 20)

void muster_sim_scenario_init(struct muster_sim_scenario *scenario)
{
	*scenario = (struct muster_sim_scenario){ .arena = muster_arena_new() };
}

void muster_sim_scenario_done(struct muster_sim_scenario *scenario)
{
	free(scenario->faults);
	muster_arena_free(scenario->arena);
	*scenario = (struct muster_sim_scenario){ 0 };
}

void muster_sim_scenario_add_fault(struct muster_sim_scenario *scenario, const char *fault)
{
	MUSTER_ARRAY_PUSH(scenario->faults, scenario->fault_count, scenario->fault_room,
		muster_arena_string(scenario->arena, fault));
}

static const struct muster_field fields[] = {
	{ MUSTER_FIELD(muster_sim_scenario, sku, TEXT), .optional = true },
	{ MUSTER_FIELD(muster_sim_scenario, nodes, INT), .low = 1, .high = MUSTER_SIM_NODES_MAX, .optional = true },
	{ MUSTER_FIELD(muster_sim_scenario, faults, TEXT), MUSTER_FIELD_MANY(muster_sim_scenario, fault_count),
		.optional = true },
	{ MUSTER_FIELD(muster_sim_scenario, cpu_masks, TEXT), .optional = true },
};
static const struct muster_object_type scenario_type = MUSTER_OBJECT_TYPE(muster_sim_scenario, fields);

int muster_sim_scenario_read(struct muster_sim_scenario *scenario, const char *path, struct muster_error *err)
{
	struct muster_json_reader reader = { .arena = scenario->arena, .err = err };
	struct muster_sim_scenario read = { 0 };
	struct muster_json *root;
	if (muster_json_parse_file(path, FILE_LIMIT, &root, err) < 0) {
		err->code = MUSTER_EUSAGE;
		return -1;
	}
	int rc = muster_object_read(&reader, root, &scenario_type, &read);
	muster_json_free(root);
	if (rc < 0)
		return muster_wrap(err, "%s", path);
	scenario->sku = scenario->sku ? scenario->sku : read.sku;
	scenario->nodes = scenario->nodes ? scenario->nodes : read.nodes;
	scenario->cpu_masks = scenario->cpu_masks ? scenario->cpu_masks : read.cpu_masks;
	for (size_t i = 0; i < read.fault_count; i++)
		muster_sim_scenario_add_fault(scenario, read.faults[i]);
	return 0;
}

/* A 64-bit number for a thing of a node: a hash of "SKU WHAT NODE INDEX". The same on every machine. */
static uint64_t identity(const char *sku, const char *what, size_t node, size_t index)
{
	char text[256];
	snprintf(text, sizeof text, "%s %s %zu %zu", sku, what, node, index);
	return muster_hash(text, strlen(text));
}

/* A UUID in its usual form, five groups of 8, 4, 4, 4 and 12 hexadecimal digits: the first three are a, the others b.
 */
static const char *uuid(struct muster_arena *arena, const char *prefix, uint64_t a, uint64_t b)
{
	return muster_arena_printf(arena, "%s%08" PRIx64 "-%04" PRIx64 "-%04" PRIx64 "-%04" PRIx64 "-%012" PRIx64,
		prefix, a >> 32, a >> 16 & 0xffff, a & 0xffff, b >> 48, b & 0xffffffffffff);
}

/* 0015:5d is the start of every address that Hyper-V assigns. A GUID has two bytes for the node and one for the port;
 * the LID is node * 32 + port, both counted from 1, which is unique while no node has more than 32 ports. An Ethernet
 * port has no LID. */
void muster_sim_port_identify(struct muster_sim_port *port, struct muster_arena *arena, size_t node, size_t index)
{
	unsigned int n = (unsigned int)node + 1, p = (unsigned int)index + 1;
	port->guid = muster_arena_printf(arena, "0015:5dff:fe%02x:%02x%02x", n >> 8 & 0xff, n & 0xff, p);
	port->gid = muster_arena_printf(arena, "fe80:0000:0000:0000:%s", port->guid);
	port->lid = strcmp(port->link_layer, "InfiniBand") == 0 ? (int)(n * 32 + p) : 0;
}

/* What NVML gives as the cluster of a GPU whose NVLink ends at the node. */
#define NO_CLUSTER "00000000-0000-0000-0000-000000000000"

/* Nodes of one rack have one fabric. */
const char *muster_sim_fabric_cluster(struct muster_arena *arena, const char *sku, size_t rack)
{
	return uuid(arena, "", identity(sku, "rack", rack, 0), identity(sku, "rack", rack, 1));
}

void *muster_sim_copy(struct muster_arena *arena, const void *from, size_t count, size_t size)
{
	void *to = muster_arena_alloc(arena, (count + 1) * size);
	if (count > 0)
		memcpy(to, from, count * size);
	return to;
}

/* The volumes of a healthy node, in this order: the scratch, the temporary disk where the machine type has one, and the
 * folder that all nodes share. find_volume() of fault.c relies on the scratch as the first and the folder as the last.
 * The scratch is as large as all disks together. Made up: all but what is described. */
static void make_volumes(
	struct muster_sim_node *node, struct muster_arena *arena, const struct muster_sim_volume *scratch)
{
	const double used = 0.01; /* of a new file system */
	const struct muster_sim_volume temp_disk = { .path = "/mnt",
		.filesystem = "ext4",
		.device = "sdb1",
		.layout = "none",
		.gb = node->temp_disk_gb,
		.read_gbps = 0.8,
		.write_gbps = 0.4,
		.latency_us = 400,
		.stalls = "" };
	const struct muster_sim_volume shared = { .path = MUSTER_SIM_SHARED,
		.filesystem = "nfs4",
		.device = "nfs.sim:/export",
		.layout = "none",
		.gb = 50000,
		.read_gbps = 20,
		.write_gbps = 10,
		.latency_us = 800,
		.stalls = "" };
	node->volumes = muster_arena_alloc(arena, 3 * sizeof *node->volumes);
	node->volumes[node->volume_count++] = *scratch;
	for (size_t i = 0; i < node->disk_count; i++)
		node->volumes[0].gb += node->disks[i].gb;
	if (node->temp_disk_gb > 0)
		node->volumes[node->volume_count++] = temp_disk;
	node->volumes[node->volume_count++] = shared;
	for (size_t i = 0; i < node->volume_count; i++)
		node->volumes[i].free_gb = node->volumes[i].gb * (1 - used);
}

/* The node at `index`, counted from 0, of the simulation in `directory`: named sim-1 for index 0. */
static void make_node(struct muster_sim_node *node, struct muster_arena *arena, const struct muster_sim_hardware *hw,
	const char *directory, size_t index)
{
	*node = hw->node;
	node->name = muster_arena_printf(arena, "sim-%zu", index + 1);
	node->directory = muster_arena_printf(arena, "%s/%s", directory, node->name);
	node->gpus = muster_sim_copy(arena, hw->node.gpus, hw->node.gpu_count, sizeof *node->gpus);
	node->ports = muster_sim_copy(arena, hw->node.ports, hw->node.port_count, sizeof *node->ports);
	make_volumes(node, arena, &hw->scratch);
	node->vm_size = hw->sku;
	const char *cluster = NO_CLUSTER;
	if (hw->rack_nodes > 0)
		cluster = muster_sim_fabric_cluster(arena, hw->sku, index / (size_t)hw->rack_nodes);
	for (size_t i = 0; i < node->gpu_count; i++) {
		node->gpus[i].uuid =
			uuid(arena, "GPU-", identity(hw->sku, "gpu", index, i), identity(hw->sku, "gpu too", index, i));
		node->gpus[i].fabric_cluster = cluster;
	}
	for (size_t i = 0; i < node->port_count; i++)
		muster_sim_port_identify(&node->ports[i], arena, index, i);
}

const char *muster_sim_numa_mask(struct muster_arena *arena, const struct muster_sim_node *node, int numa_node)
{
	hwloc_bitmap_t set = muster_sim_cpus(node, numa_node);
	char *text = muster_cpuset_mask(set);
	const char *mask = muster_arena_string(arena, text);
	free(text);
	hwloc_bitmap_free(set);
	return mask;
}

/* Where in the noise the node begins, in seconds: a number up to 2^32 / 10^4, the same for all GPUs of the node. The
 * recordings repeat themselves after a minute at most, so every moment of them can be drawn. */
static double draw_moment(int seed, size_t node)
{
	return (double)(identity("", "noise", node, (size_t)seed) >> 32) / 1e4;
}

/* The scenario's masks, one for each local rank; as with srun, a list that is too short starts again from its head.
 * list: "ffffff,ffffff000000"; masks: room for count of them, which are given to the ranks of every node. */
static int read_masks(const char *list, struct muster_arena *arena, const struct muster_sim_node *node,
	const char **masks, size_t count, struct muster_error *err)
{
	size_t given = 0;
	for (const char *at = list, *end; at; at = *end ? end + 1 : NULL, given++) {
		end = at + strcspn(at, ",");
		if (given == count)
			return muster_fail(err, MUSTER_EUSAGE, "cpu masks: more than the %zu ranks of a node", count);
		masks[given] = muster_arena_string_n(arena, at, (size_t)(end - at));
		if (muster_sim_mask_check(node, masks[given], err) < 0)
			return muster_wrap(err, "cpu masks: local rank %zu", given);
	}
	for (size_t i = given; i < count; i++)
		masks[i] = masks[i - given];
	return 0;
}

int muster_sim_scenario_build(const struct muster_sim_scenario *scenario, const struct muster_sim_hardware *hardware,
	struct muster_arena *arena, const char *directory, struct muster_sim_cluster *ret, struct muster_error *err)
{
	const struct muster_sim_node *model = &hardware->node;
	size_t nodes = (size_t)scenario->nodes, local_ranks = model->gpu_count;
	struct muster_sim_cluster cluster = {
		.arena = arena,
		.sku = hardware->sku,
		.directory = muster_arena_string(arena, directory),
		.intra_transport = hardware->intra_transport,
		.inter_transport = hardware->inter_transport,
		.noise = scenario->noise ? scenario->noise : "",
		.nodes = muster_arena_alloc(arena, nodes * sizeof *cluster.nodes),
		.node_count = nodes,
		.ranks = muster_arena_alloc(arena, nodes * local_ranks * sizeof *cluster.ranks),
		.rank_count = nodes * local_ranks,
		.bandwidths = hardware->bandwidths,
		.bandwidth_count = hardware->bandwidth_count,
	};
	const char **masks = muster_arena_alloc(arena, local_ranks * sizeof *masks);
	for (size_t i = 0; i < local_ranks; i++)
		masks[i] = muster_sim_numa_mask(arena, model, scenario->alone ? -1 : model->gpus[i].numa_node);
	if (scenario->cpu_masks && read_masks(scenario->cpu_masks, arena, model, masks, local_ranks, err) < 0)
		return -1;
	for (size_t i = 0; i < nodes; i++) {
		make_node(&cluster.nodes[i], arena, hardware, cluster.directory, i);
		if (scenario->noise)
			/* noise_at + CLOCK_MONOTONIC is the place in the noise: at this moment, the one that is drawn
			 */
			cluster.nodes[i].noise_at = draw_moment(scenario->noise_seed, i) - muster_now_ms() / 1e3;
	}
	for (size_t i = 0; scenario->alone && i < nodes; i++)
		cluster.nodes[i].environment_count = 0;
	for (size_t i = 0; i < cluster.rank_count; i++) {
		cluster.ranks[i] = muster_sim_rank_default;
		cluster.ranks[i].node = (int)(i / local_ranks);
		cluster.ranks[i].local_rank = (int)(i % local_ranks);
		cluster.ranks[i].cpu_mask = masks[i % local_ranks];
	}
	if (muster_sim_faults_apply(&cluster, scenario->faults, scenario->fault_count, err) < 0)
		return -1;
	*ret = cluster;
	return 0;
}
