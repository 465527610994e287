/* host_memory.c - the bandwidth of the host's memory, on all NUMA nodes at once
 *
 * The leader of the node measures before any rank copies to its GPU: ranks wait for each other before the first copy.
 * The memory of a GPU that the kernel shows as a NUMA node has no CPUs, and stays out of this.
 */
#include "probes/host_memory/triad.h"

#include "muster/arena.h"
#include "probes/metrics.h"
#include "system/cgroup.h"
#include "system/memory_left.h"
#include "system/topology.h"
#include "util/text.h"

#include <stdio.h>
#include <stdlib.h>

#define MIB ((uint64_t)1 << 20)
#define ARRAY_MAX (1024 * MIB)    /* of a NUMA node, each of three */
#define ARRAY_UNKNOWN (256 * MIB) /* where the topology shows no caches */
#define ARRAY_SIMULATED (2 * MIB) /* no caches, and no time that depends on real memory */
#define CACHES 4                  /* STREAM's rule: each array has at least the size of so many last-level caches */
enum { FREE_PART = 20 };          /* all arrays together: at most this part of the memory that is left */

static const struct muster_metric metrics[] = {
	NODE_METRIC("node.stream_triad_gbps", MUSTER_NUMBER, "GB/s",
		"bandwidth of the host's memory on all NUMA nodes at once: STREAM's triad, 24 bytes for each element"),
	MUSTER_METRIC(MUSTER_SCOPE_NODE, "node.stream_triad_numa_gbps", MUSTER_NUMBER, "GB/s",
		"the same of one NUMA node, while all of them work", "numa_node"),
};

/* Sizes of the last-level caches that the CPUs of the NUMA node use; 0: the topology shows no cache. */
static uint64_t cache_bytes(hwloc_topology_t topology, hwloc_obj_t node)
{
	static const hwloc_obj_type_t levels[] = { HWLOC_OBJ_L5CACHE, HWLOC_OBJ_L4CACHE, HWLOC_OBJ_L3CACHE,
		HWLOC_OBJ_L2CACHE, HWLOC_OBJ_L1CACHE };
	uint64_t bytes = 0;
	for (size_t i = 0; i < sizeof levels / sizeof *levels && bytes == 0; i++) {
		hwloc_obj_t cache = NULL;
		while ((cache = hwloc_get_next_obj_by_type(topology, levels[i], cache)) != NULL)
			if (hwloc_bitmap_intersects(cache->cpuset, node->cpuset))
				bytes += cache->attr->cache.size;
	}
	return bytes;
}

/* At most what the caches ask for, and what is left allows; 0 with the reason in the part. */
static uint64_t array_bytes(
	struct muster_probe_ctx *ctx, hwloc_topology_t topology, struct muster_triad_part *part, uint64_t left)
{
	const char *root = muster_probe_env(ctx)->root;
	uint64_t caches = cache_bytes(topology, part->node), left_here = left;
	char needed[32], had[32];
	struct muster_error why;
	if (*root)
		return ARRAY_SIMULATED;
	uint64_t bytes = caches == 0 ? ARRAY_UNKNOWN : CACHES * caches;
	bytes = bytes < ARRAY_MAX ? bytes : ARRAY_MAX;
	if (3 * bytes < CACHES * caches) {
		snprintf(part->why, sizeof part->why, "%s of cache on NUMA node %u: the arrays would have to be larger",
			muster_bytes_text(caches, had, sizeof had), part->node->os_index);
		return 0;
	}
	if (muster_memory_left_on(root, part->node->os_index, &left_here, &why) < 0)
		left_here = left;
	left_here = left < left_here ? left : left_here;
	if (3 * bytes <= left_here / FREE_PART)
		return bytes;
	snprintf(part->why, sizeof part->why, "arrays of %s on NUMA node %u are more than 5 %% of the %s that are free",
		muster_bytes_text(3 * bytes, needed, sizeof needed), part->node->os_index,
		muster_bytes_text(left_here, had, sizeof had));
	return 0;
}

/* The NUMA nodes that have CPUs and memory. */
static size_t list_parts(hwloc_topology_t topology, struct muster_triad_part **ret)
{
	hwloc_nodeset_t homes = hwloc_bitmap_alloc();
	hwloc_obj_t node = NULL;
	size_t count = 0;
	muster_topology_homes(topology, hwloc_topology_get_complete_cpuset(topology), homes);
	struct muster_triad_part *parts = muster_calloc((size_t)hwloc_bitmap_weight(homes) + 1, sizeof *parts);
	while ((node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node)) != NULL)
		if (hwloc_bitmap_isset(homes, node->os_index) && node->attr->numanode.local_memory > 0)
			parts[count++] =
				(struct muster_triad_part){ .node = node, .cores = muster_triad_cores(topology, node) };
	hwloc_bitmap_free(homes);
	*ret = parts;
	return count;
}

static void emit(struct muster_probe_ctx *ctx, const struct muster_triad *triad)
{
	const struct muster_triad_part *missing = NULL;
	size_t most = 0;
	for (size_t i = 0; i < triad->part_count; i++)
		most = triad->parts[i].cores > most ? triad->parts[i].cores : most;
	for (size_t i = 0; i < triad->part_count; i++) {
		const struct muster_triad_part *part = &triad->parts[i];
		struct muster_value label = muster_number(part->node->os_index);
		missing = !missing && *part->why ? part : missing;
		if (*part->why)
			muster_emit_null(ctx, "node.stream_triad_numa_gbps", &label, 1, "%s", part->why);
		else if (part->cores < most) /* few cores cannot use all channels: another NUMA node is no measure */
			muster_emit_null(ctx, "node.stream_triad_numa_gbps", &label, 1,
				"NUMA node %u has %zu cores and another one %zu: not comparable", part->node->os_index,
				part->cores, most);
		else
			muster_emit(ctx, "node.stream_triad_numa_gbps", &label, 1, muster_number(part->gbps));
	}
	muster_emit_result(ctx, "node.stream_triad_gbps", NULL, missing ? -1 : 0, muster_number(triad->gbps),
		missing ? missing->why : "");
}

static int run(struct muster_probe_ctx *ctx, struct muster_error *err)
{
	const struct muster_probe_env *env = muster_probe_env(ctx);
	struct muster_triad triad = { 0 };
	uint64_t left = 0;
	double cores = 0;
	if (!env->storage)
		return 0;
	double cpus = muster_cgroup_cpus(env->root);
	muster_step(ctx, "load the topology");
	triad.topology = muster_topology(err);
	if (!triad.topology || muster_memory_left(env->root, &left, err) < 0)
		return -1;
	triad.part_count = list_parts(triad.topology, &triad.parts);
	for (size_t i = 0; i < triad.part_count; i++)
		cores += (double)triad.parts[i].cores;
	for (size_t i = 0; i < triad.part_count; i++) {
		struct muster_triad_part *part = &triad.parts[i];
		if (cpus > 0 && cpus < cores)
			snprintf(part->why, sizeof part->why,
				"the cgroup of this process has the CPU time of %.3g of %.0f cores", cpus, cores);
		else if (env->shared)
			snprintf(part->why, sizeof part->why, "other programs may use the memory of this node");
		else
			part->array_bytes = array_bytes(ctx, triad.topology, part, left / triad.part_count);
	}
	muster_step(ctx, "triad on %zu NUMA nodes", triad.part_count);
	muster_triad_measure(&triad);
	emit(ctx, &triad);
	free(triad.parts);
	return 0;
}

const struct muster_probe muster_probe_host_memory = {
	.name = "host_memory",
	.summary = "bandwidth of the host's memory",
	.scope = MUSTER_SCOPE_NODE,
	.deadline_ms = 15000,
	.order = 55,
	.metrics = metrics,
	.metric_count = sizeof metrics / sizeof *metrics,
	.run = run,
};
