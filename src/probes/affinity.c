/* SPDX-License-Identifier: Apache-2.0 */
/* affinity.c - which CPUs and memory the rank may use, and which its GPU is near
 *
 * Sets are compared as sets: a mask may be inside the GPU's NUMA node, cover it, overlap it or lie outside. How near it
 * is, in three steps, is said by the shares of its CPUs on the GPU's node and package. When the GPU's node is not
 * known, nothing is compared: on a machine of several nodes, everything would be "inside" the whole.
 *
 * The mask is that of the thread that runs the probes, after the worker has bound itself, or kept what the launcher has
 * chosen; hwloc's whole machine, with CPUs that a cgroup forbids, is what it is compared with. Docker's default seccomp
 * profile refuses get_mempolicy: then the memory policy is null for a lack of rights, and the rest goes on.
 *
 * Example: a rank with the CPUs 44-67, whose GPU is near NUMA node 2 with the CPUs 48-71; one package has two NUMA
 * nodes, 48-95 here:
 *
 *   rank.cpu_mask        "ffffff00000000000"    rank.gpu_cpu_list    "48-71"
 *   rank.cpu_locality    "overlaps"             rank.near_share      20 / 24 (48-67 of 44-67)
 *   rank.package_share   20 / 24
 *
 * LOWEST metrics and rank.cores_each are not measured here: they are derived when the run is complete.
 */
#include "system/topology.h"
#include "system/sysfs.h"
#include "util/text.h"
#include "muster/arena.h"
#include "probes/metrics.h"
#include "util/cpuset.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* What the worst rank of a node has, and which ranks those are. */
#define LOWEST(name, rank, unit)                                                                                       \
	NODE_NUMBER(                                                                                                   \
		name, unit, FACT, "the lowest " rank " of the node; not measured but derived", .lowest_of = (rank)),   \
		NODE_TEXT(name "_ranks", FACT, NOTHING, "local ranks that have it; not measured but derived",          \
			.lowest_of = (rank))

static const struct muster_metric metrics[] = {
	RANK_TEXT("rank.cpu_mask", FACT, NOTHING,
		"CPUs that the rank may use, as the hex mask of srun --cpu-bind=mask_cpu"),
	RANK_TEXT("rank.cpu_list", FACT, NOTHING, "these CPUs as a list: \"24-47\"",
		SHOWN(IN(RANKS, 60, "CPUs of the rank"))),
	RANK_NUMBER("rank.cpus", NONE, FACT, "number of these CPUs"),
	RANK_NUMBER("rank.cores", NONE, FACT, "number of cores that these CPUs are threads of"),
	RANK_NUMBER("rank.cpu_numa_nodes", NONE, FACT, "NUMA nodes of these CPUs"),
	RANK_NUMBER("rank.gpu_numa_node", NONE, FACT,
		"NUMA node of the rank's GPU, the nearest one with CPUs; no value when unknown",
		SHOWN(IN(RANKS, 50, "NUMA"))),
	RANK_TEXT("rank.gpu_cpu_mask", FACT, NOTHING, "CPUs of the GPU's NUMA node, as a hex mask"),
	RANK_TEXT("rank.gpu_cpu_list", FACT, NOTHING, "these CPUs as a list"),
	RANK_TEXT("rank.cpu_locality", FACT, NOTHING,
		"the rank's CPUs compared with the GPU's: inside, covers (all of these and others), overlaps, outside",
		SHOWN(IN(RANKS, 70, "locality"))),
	RANK_NUMBER("rank.near_share", RATIO, FACT, "share of the rank's CPUs that are on the NUMA node of its GPU"),
	RANK_NUMBER("rank.package_share", RATIO, FACT, "share of the rank's CPUs that are on the package of its GPU"),
	RANK_NUMBER("rank.cores_each", NONE, FACT,
		"the rank's cores, divided by the ranks of the node that may use some of its CPUs; no value where "
		"the node has fewer than two cores for each rank. Not measured but derived"),
	RANK_TEXT(
		"rank.memory_policy", FACT, NOTHING, "memory policy: \"default\", \"bind:1\", \"interleave:0-3\" ..."),
	RANK_TEXT("rank.memory_locality", FACT, NOTHING,
		"NUMA nodes that the policy and the cgroup leave, compared with the GPU's: inside, covers, overlaps, "
		"outside; \"any\" when neither names any"),
	RANK_NUMBER("rank.memory_near", NONE, FACT, "1 where the memory may come from the GPU's NUMA node, else 0"),
	RANK_TEXT("rank.near_nics", FACT, NOTHING,
		"RDMA devices on the GPU's NUMA node, separated by spaces, with a \"?\" where theirs is not known; "
		"\"none\"",
		SHOWN(IN(RANKS, 80, "nearest RDMA devices"))),
	LOWEST("node.near_share", "rank.near_share", RATIO),
	LOWEST("node.package_share", "rank.package_share", RATIO),
	LOWEST("node.cores_each", "rank.cores_each", NONE),
	LOWEST("node.memory_near", "rank.memory_near", NONE),
};

static void emit_cpus(
	struct muster_probe_ctx *ctx, const char *mask_metric, const char *list_metric, hwloc_const_cpuset_t cpus)
{
	char *mask = muster_cpuset_mask(cpus), *list = muster_cpuset_list(cpus);
	muster_emit_for(ctx, mask_metric, NULL, muster_string(mask));
	muster_emit_for(ctx, list_metric, NULL, muster_string(list));
	free(mask);
	free(list);
}

/* How many cores the CPUs are threads of; as many as CPUs where hwloc knows no cores. */
static int count_cores(hwloc_topology_t topology, hwloc_const_cpuset_t cpus)
{
	int count = 0;
	for (hwloc_obj_t core = NULL; (core = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_CORE, core)) != NULL;)
		count += hwloc_bitmap_intersects(core->cpuset, cpus);
	return count > 0 ? count : hwloc_bitmap_weight(cpus);
}

/* The CPUs of the thread that runs the probe, which ret_set gets; libraries may have pinned threads of their own
 * elsewhere. Without them nothing can be compared: -1 with err, and the probe fails. */
static int measure_cpus(
	struct muster_probe_ctx *ctx, hwloc_topology_t topology, hwloc_cpuset_t ret_set, struct muster_error *err)
{
	if (hwloc_get_cpubind(topology, ret_set, HWLOC_CPUBIND_THREAD) < 0)
		return muster_fail(err, MUSTER_EIO, "hwloc_get_cpubind: %s", strerror(errno));
	if (muster_cpuset_check(ret_set, err) < 0)
		return -1;
	emit_cpus(ctx, "rank.cpu_mask", "rank.cpu_list", ret_set);
	muster_emit_for(ctx, "rank.cpus", NULL, muster_number(hwloc_bitmap_weight(ret_set)));
	muster_emit_for(ctx, "rank.cores", NULL, muster_number(count_cores(topology, ret_set)));
	hwloc_nodeset_t homes = hwloc_bitmap_alloc();
	muster_topology_homes(topology, ret_set, homes);
	muster_emit_for(ctx, "rank.cpu_numa_nodes", NULL, muster_number(hwloc_bitmap_weight(homes)));
	hwloc_bitmap_free(homes);
	return 0;
}

/* The name of a policy: "default" for those that bind to no nodes, NULL for one without a name here. */
static const char *policy_name(hwloc_membind_policy_t policy)
{
	static const char *const names[] = {
		[HWLOC_MEMBIND_DEFAULT] = "default",
		[HWLOC_MEMBIND_FIRSTTOUCH] =
			"default", /* what hwloc makes of the kernel's default and local policies */
		[HWLOC_MEMBIND_BIND] = "bind",
		[HWLOC_MEMBIND_INTERLEAVE] = "interleave",
		[HWLOC_MEMBIND_NEXTTOUCH] = "next-touch",
	};
	/* a mixed policy is -1, which is beyond the names as well */
	return (size_t)policy < sizeof names / sizeof *names ? names[policy] : NULL;
}

/* How the set `mine` lies to the set `theirs`. Equal sets are "inside". */
static const char *locality_of(hwloc_const_bitmap_t mine, hwloc_const_bitmap_t theirs)
{
	if (hwloc_bitmap_isincluded(mine, theirs))
		return "inside";
	if (hwloc_bitmap_isincluded(theirs, mine))
		return "covers";
	return hwloc_bitmap_intersects(mine, theirs) ? "overlaps" : "outside";
}

/* The nodes that memory may come from, and the policy's name: "default" and no nodes where nothing limits them. */
static int read_memory(
	hwloc_topology_t topology, hwloc_nodeset_t ret_nodes, const char **ret_name, struct muster_error *err)
{
	hwloc_membind_policy_t policy;
	hwloc_const_nodeset_t allowed = hwloc_topology_get_allowed_nodeset(topology),
			      all = hwloc_topology_get_topology_nodeset(topology);
	if (hwloc_get_membind(topology, ret_nodes, &policy, HWLOC_MEMBIND_THREAD | HWLOC_MEMBIND_BYNODESET) < 0)
		return muster_fail(err, errno == ENOSYS ? MUSTER_ENOTSUPPORTED : muster_errno_code(errno),
			"hwloc_get_membind: %s", strerror(errno)); /* EPERM: get_mempolicy in Docker's containers */
	*ret_name = policy_name(policy);
	if (!*ret_name)
		return muster_fail(err, MUSTER_EIO, "hwloc_get_membind: policy %d has no name", (int)policy);
	if (strcmp(*ret_name, "default") != 0)
		return 0;
	hwloc_bitmap_zero(ret_nodes);
	if (!hwloc_bitmap_isincluded(all, allowed)) /* cpuset.mems of a cgroup */
		hwloc_bitmap_copy(ret_nodes, allowed);
	return 0;
}

static const char *memory_locality(hwloc_topology_t topology, hwloc_const_nodeset_t nodes, hwloc_obj_t near)
{
	hwloc_nodeset_t there = hwloc_bitmap_alloc();
	muster_topology_near_memory(topology, near, there);
	const char *locality = locality_of(nodes, there);
	hwloc_bitmap_free(there);
	return locality;
}

/* rank.memory_policy, "bind:1", and where its nodes lie compared with those near the GPU:
 *
 *   the policy cannot be read              all three null, with the error's code
 *   no nodes are named                     "any", memory_near 1
 *   nodes are named, near is known         "inside", "covers", "overlaps": memory_near 1; "outside": 0
 *   nodes are named, near is not known     locality and memory_near null with why
 *
 * near: the GPU's node; NULL with the reason when it is not known. */
static void measure_memory(
	struct muster_probe_ctx *ctx, hwloc_topology_t topology, hwloc_obj_t near, const struct muster_error *why)
{
	static const char *const all[] = { "rank.memory_policy", "rank.memory_locality", "rank.memory_near" };
	struct muster_error err;
	hwloc_nodeset_t nodes = hwloc_bitmap_alloc();
	const char *name, *locality = "any";
	if (read_memory(topology, nodes, &name, &err) < 0) {
		for (size_t i = 0; i < sizeof all / sizeof *all; i++)
			muster_emit_read(ctx, all[i], NULL, -1, muster_null(), &err);
	} else {
		char *list = NULL;
		bool limited = !hwloc_bitmap_iszero(nodes);
		hwloc_bitmap_list_asprintf(&list, nodes);
		char *text = muster_asprintf("%s%s%s", name, limited ? ":" : "", limited && list ? list : "");
		muster_emit_for(ctx, "rank.memory_policy", NULL, muster_string(text));
		free(text);
		free(list);
		if (limited)
			locality = near ? memory_locality(topology, nodes, near) : NULL;
		muster_emit_result(
			ctx, "rank.memory_locality", NULL, locality ? 0 : -1, muster_string(locality), why->text);
		muster_emit_result(ctx, "rank.memory_near", NULL, locality ? 0 : -1,
			muster_number(locality && strcmp(locality, "outside") != 0), why->text);
	}
	hwloc_bitmap_free(nodes);
}

/* Names of the RDMA devices whose nearest NUMA node is this one, separated by spaces; "none". By NUMA node and never by
 * index or name: the order of probing, of naming and of the GPUs differ. A device whose node is not known is
 * listed too, with a "?" behind its name, since it may be near. Where no device has a known node the value is null with
 * the last reason. */
static void measure_nics(struct muster_probe_ctx *ctx, hwloc_topology_t topology, hwloc_obj_t near)
{
	char path[PATH_MAX], address[32];
	struct muster_names devices;
	struct muster_error why;
	if (muster_sysfs_names(muster_root_path(ctx, path, sizeof path, "/sys/class/infiniband"), &devices, &why) < 0) {
		muster_emit_read(ctx, "rank.near_nics", NULL, -1, muster_null(), &why);
		return;
	}
	char *list = NULL;
	size_t unknown = 0;
	for (size_t i = 0; i < devices.count; i++) {
		hwloc_obj_t node;
		char directory[PATH_MAX];
		snprintf(directory, sizeof directory, "/sys/class/infiniband/%s/device", devices.items[i]);
		bool addressed = muster_sysfs_pci_address(muster_root_path(ctx, path, sizeof path, "%s", directory),
					 address, sizeof address, NULL) == 0;
		bool known = muster_topology_device_node(topology, muster_probe_env(ctx)->root, directory,
				     addressed ? address : NULL, &node, &why) == 0;
		unknown += !known;
		if (!known || node == near)
			muster_list_add(&list, " ", "%s%s", devices.items[i], known ? "" : "?");
	}
	if (unknown > 0 && unknown == devices.count)
		muster_emit_null_for(ctx, "rank.near_nics", NULL, "%s", why.text);
	else
		muster_emit_for(ctx, "rank.near_nics", NULL, muster_string(list ? list : "none"));
	free(list);
	muster_names_done(&devices);
}

/* The GPU's node, or why it is not known. */
static int find_gpu_node(
	struct muster_probe_ctx *ctx, hwloc_topology_t topology, hwloc_obj_t *ret_node, struct muster_error *err)
{
	const struct muster_gpu *gpu = muster_probe_env(ctx)->gpu;
	if (!gpu->bus_id[0])
		return muster_fail(
			err, MUSTER_ENOTSUPPORTED, "%s", gpu->why_none[0] ? gpu->why_none : "the rank has no GPU");
	return muster_topology_gpu_node(topology, muster_probe_env(ctx)->root, gpu->bus_id, ret_node, err);
}

/* How near the rank's CPUs are: their shares on the GPU's NUMA node and on its package, from 0 to 1, and how the sets
 * lie. Null where the package is not known, which means that NUMA is off: the node's CPUs are then not those near the
 * GPU. */
static void measure_nearness(
	struct muster_probe_ctx *ctx, hwloc_topology_t topology, hwloc_obj_t node, hwloc_const_cpuset_t mine)
{
	struct muster_error why;
	hwloc_cpuset_t package = hwloc_bitmap_alloc(), there = hwloc_bitmap_alloc();
	int result = muster_topology_package(topology, node, package, &why);
	const struct {
		const char *metric;
		hwloc_const_cpuset_t place;
	} steps[] = { { "rank.near_share", node->cpuset }, { "rank.package_share", package } };
	for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
		hwloc_bitmap_and(there, mine, steps[i].place);
		muster_emit_read(ctx, steps[i].metric, NULL, result,
			muster_number((double)hwloc_bitmap_weight(there) / (double)hwloc_bitmap_weight(mine)), &why);
	}
	muster_emit_read(ctx, "rank.cpu_locality", NULL, result, muster_string(locality_of(mine, node->cpuset)), &why);
	hwloc_bitmap_free(package);
	hwloc_bitmap_free(there);
}

/* All values about the GPU's place, or null for each with one reason. node: the GPU's; NULL with the reason when it is
 * not known. */
static void measure_gpu(struct muster_probe_ctx *ctx, hwloc_topology_t topology, hwloc_obj_t node,
	const struct muster_error *why, hwloc_const_cpuset_t mine)
{
	static const char *const of_gpu[] = { "rank.gpu_numa_node", "rank.gpu_cpu_mask", "rank.gpu_cpu_list",
		"rank.near_share", "rank.package_share", "rank.cpu_locality", "rank.near_nics" };
	struct muster_error err;
	if (node && muster_cpuset_check(node->cpuset, &err) < 0) {
		node = NULL;
		why = &err;
	}
	if (!node) {
		for (size_t i = 0; i < sizeof of_gpu / sizeof *of_gpu; i++)
			muster_emit_null_for(ctx, of_gpu[i], NULL, "%s", why->text);
		return;
	}
	muster_emit_for(ctx, "rank.gpu_numa_node", NULL, muster_number(node->os_index));
	emit_cpus(ctx, "rank.gpu_cpu_mask", "rank.gpu_cpu_list", node->cpuset);
	measure_nearness(ctx, topology, node, mine);
	measure_nics(ctx, topology, node);
}

static int run(struct muster_probe_ctx *ctx, struct muster_error *err)
{
	muster_step(ctx, "hwloc: load the topology");
	hwloc_topology_t topology = muster_topology(err);
	if (!topology)
		return -1;
	muster_step(ctx, "hwloc: CPUs and memory policy of this thread");
	hwloc_cpuset_t mine = hwloc_bitmap_alloc();
	int result = measure_cpus(ctx, topology, mine, err);
	if (result == 0) {
		struct muster_error why;
		hwloc_obj_t near = NULL;
		if (find_gpu_node(ctx, topology, &near, &why) < 0)
			near = NULL;
		measure_memory(ctx, topology, near, &why);
		measure_gpu(ctx, topology, near, &why, mine);
	}
	hwloc_bitmap_free(mine);
	return result;
}

const struct muster_probe muster_probe_affinity = {
	.name = "affinity",
	.summary = "CPUs and memory of the rank compared with the NUMA node of its GPU",
	.scope = MUSTER_SCOPE_RANK,
	.of_job = true,
	.follows = MUSTER_FOLLOWS_GPU,
	.deadline_ms = 10000,
	.order = 40,
	METRICS(metrics),
	.run = run,
};
