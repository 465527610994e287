/* SPDX-License-Identifier: Apache-2.0 */
/* topology.c - the node's hwloc topology, loaded once in a process: what is near what in it, and what may be used
 *
 * Where a device is (muster_topology_device_node), by two sources:
 *
 *    kernel's numa_node file    hwloc's place in the PCI tree    result
 *    a node with CPUs           near the same CPUs               that node
 *    a node without CPUs        near the CPUs of the nearest     the nearest node with CPUs
 *    a node                     near other CPUs                  an error: the two contradict each other
 *    -1, or no file             near one node                    hwloc's node
 *    -1, or no file             near several nodes               an error: not known
 *
 * The kernel's file is believed before hwloc, which derives places from the PCI tree. A node without CPUs (HBM of Grace
 * Hopper, CXL) stands for the nearest one with CPUs, by the kernel's distances, else by the hierarchy of hwloc.
 *
 * The CPUs of the node are compared with the kernel's list as well (check_cpus).
 */
#include "system/topology.h"

#include "system/sysfs.h"
#include "util/cpuset.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* All components that would open a driver of an accelerator are switched off. INCLUDE_DISALLOWED: with CPUs that a
 * cgroup forbids, so that a NUMA node keeps its real set. */
static int load(hwloc_topology_t *ret, struct muster_error *err)
{
	/* hwloc's plugins for accelerators open the drivers by themselves: slow, and no deadline of ours would name
	 * them. */
	static const char *const plugins[] = { "cuda", "nvml", "opencl", "gl", "rsmi", "levelzero" };
	hwloc_topology_t topology;
	if (hwloc_topology_init(&topology) < 0)
		return muster_fail(err, MUSTER_EIO, "hwloc_topology_init: %s", strerror(errno));
	for (size_t i = 0; i < sizeof plugins / sizeof *plugins; i++)
		hwloc_topology_set_components(topology, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, plugins[i]);
	hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
	hwloc_topology_set_flags(topology, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
	if (hwloc_topology_load(topology) < 0) {
		int why = errno;
		hwloc_topology_destroy(topology);
		return muster_fail(err, MUSTER_EIO, "hwloc_topology_load: %s", strerror(why));
	}
	*ret = topology;
	return 0;
}

hwloc_topology_t muster_topology(struct muster_error *err)
{
	static hwloc_topology_t topology;
	static struct muster_error failure;
	static bool tried;
	if (!tried)
		load(&topology, &failure);
	tried = true;
	if (!topology && err)
		*err = failure;
	return topology;
}

/* The NUMA node with the fewest CPUs that contains the CPU, of equal ones the lowest index. */
static hwloc_obj_t home_of(hwloc_topology_t topology, unsigned int cpu)
{
	hwloc_obj_t node = NULL, home = NULL;
	while ((node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node)) != NULL) {
		if (!hwloc_bitmap_isset(node->cpuset, cpu))
			continue;
		int smaller = home ? hwloc_bitmap_weight(node->cpuset) - hwloc_bitmap_weight(home->cpuset) : -1;
		if (smaller < 0 || (smaller == 0 && node->os_index < home->os_index))
			home = node;
	}
	return home;
}

void muster_topology_homes(hwloc_topology_t topology, hwloc_const_cpuset_t cpus, hwloc_nodeset_t ret)
{
	hwloc_const_cpuset_t all = hwloc_topology_get_complete_cpuset(topology);
	int cpu = -1;
	hwloc_bitmap_zero(ret);
	while ((cpu = hwloc_bitmap_next(all, cpu)) >= 0) {
		hwloc_obj_t home =
			hwloc_bitmap_isset(cpus, (unsigned int)cpu) ? home_of(topology, (unsigned int)cpu) : NULL;
		if (home)
			hwloc_bitmap_set(ret, home->os_index);
	}
}

/* The only home of the CPUs, or NULL with how many there are. */
static hwloc_obj_t only_home(hwloc_topology_t topology, hwloc_const_cpuset_t cpus, int *ret_count)
{
	hwloc_nodeset_t homes = hwloc_bitmap_alloc();
	muster_topology_homes(topology, cpus, homes);
	*ret_count = hwloc_bitmap_weight(homes);
	hwloc_obj_t home = NULL;
	if (*ret_count == 1)
		home = hwloc_get_numanode_obj_by_os_index(topology, (unsigned int)hwloc_bitmap_first(homes));
	hwloc_bitmap_free(homes);
	return home;
}

/* The home node at the smallest distance that the kernel gives; NULL when it gives none, or two are as near. */
static hwloc_obj_t nearest_by_distance(hwloc_topology_t topology, hwloc_obj_t from, hwloc_const_nodeset_t homes)
{
	struct hwloc_distances_s *distances = NULL;
	unsigned int count = 1;
	hwloc_obj_t best = NULL;
	hwloc_uint64_t least = UINT64_MAX;
	if (hwloc_distances_get_by_type(topology, HWLOC_OBJ_NUMANODE, &count, &distances,
		    HWLOC_DISTANCES_KIND_FROM_OS | HWLOC_DISTANCES_KIND_MEANS_LATENCY, 0) < 0 ||
		count < 1)
		return NULL;
	int row = hwloc_distances_obj_index(distances, from);
	for (unsigned int i = 0; row >= 0 && i < distances->nbobjs; i++) {
		hwloc_uint64_t distance = distances->values[(unsigned int)row * distances->nbobjs + i];
		if (!hwloc_bitmap_isset(homes, distances->objs[i]->os_index) || distance > least)
			continue;
		best = distance < least ? distances->objs[i] : NULL;
		least = distance;
	}
	hwloc_distances_release(topology, distances);
	return best;
}

/* The node itself when it is a home of CPUs; else the nearest home by the kernel's distances; else the only home of the
 * first object above the node that has CPUs. NULL when none of these decides. */
static hwloc_obj_t nearest_with_cpus(hwloc_topology_t topology, hwloc_obj_t node)
{
	hwloc_nodeset_t homes = hwloc_bitmap_alloc();
	muster_topology_homes(topology, hwloc_topology_get_complete_cpuset(topology), homes);
	hwloc_obj_t nearest =
		hwloc_bitmap_isset(homes, node->os_index) ? node : nearest_by_distance(topology, node, homes);
	hwloc_bitmap_free(homes);
	for (hwloc_obj_t around = node; !nearest && around; around = around->parent) {
		int count;
		if (!hwloc_bitmap_iszero(around->cpuset)) {
			nearest = only_home(topology, around->cpuset, &count);
			break;
		}
	}
	return nearest;
}

/* A batch script has no step id, an interactive one a reserved id (slurm.h, SLURM_BATCH_SCRIPT and those below). */
static bool is_job_script(void)
{
	const char *step = getenv("SLURM_STEP_ID");
	return getenv("SLURM_JOB_ID") && (!step || strtoull(step, NULL, 10) >= 0xfffffff0);
}

/* hwloc's allowed set; in a job's script also limited to the process's own mask, see topology.h. */
int muster_topology_usable(hwloc_topology_t topology, hwloc_cpuset_t ret, struct muster_error *err)
{
	hwloc_bitmap_copy(ret, hwloc_topology_get_allowed_cpuset(topology));
	if (!is_job_script())
		return 0;
	hwloc_cpuset_t mine = hwloc_bitmap_alloc();
	int failed = hwloc_get_cpubind(topology, mine, HWLOC_CPUBIND_PROCESS);
	if (failed)
		muster_fail(err, MUSTER_EIO, "hwloc_get_cpubind: %s", strerror(errno));
	else
		hwloc_bitmap_and(ret, ret, mine);
	hwloc_bitmap_free(mine);
	return failed ? -1 : 0;
}

/* A node whose CPUs are all those of the machine, in several packages, says nothing: NUMA is off there. */
int muster_topology_package(hwloc_topology_t topology, hwloc_obj_t node, hwloc_cpuset_t ret, struct muster_error *err)
{
	hwloc_const_cpuset_t all = hwloc_topology_get_topology_cpuset(topology);
	hwloc_obj_t package = NULL;
	int count = 0;
	hwloc_bitmap_zero(ret);
	while ((package = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_PACKAGE, package)) != NULL) {
		if (!hwloc_bitmap_intersects(package->cpuset, node->cpuset))
			continue;
		hwloc_bitmap_or(ret, ret, package->cpuset);
		count++;
	}
	if (count == 0)
		hwloc_bitmap_copy(ret, all);
	if (count <= 1 || !hwloc_bitmap_isincluded(all, node->cpuset))
		return 0;
	return muster_fail(err, MUSTER_ENOTSUPPORTED,
		"NUMA node %u has the CPUs of %d packages (NUMA is off, or this is a guest without NUMA nodes): which "
		"of them are near the GPU is not known",
		node->os_index, count);
}

void muster_topology_near_memory(hwloc_topology_t topology, hwloc_obj_t node, hwloc_nodeset_t ret)
{
	hwloc_obj_t other = NULL;
	hwloc_bitmap_zero(ret);
	while ((other = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, other)) != NULL)
		if (hwloc_bitmap_isequal(other->cpuset, node->cpuset))
			hwloc_bitmap_set(ret, other->os_index);
}

/* hwloc ignores what the kernel says of NUMA nodes where it contradicts the kernel's cores and packages, and gives the
 * nodes other CPUs. It may know fewer: a container can hide CPUs from it. */
static int check_cpus(const char *root, hwloc_obj_t node, struct muster_error *err)
{
	char path[PATH_MAX], text[4096];
	snprintf(path, sizeof path, "%s/sys/devices/system/node/node%u/cpulist", root, node->os_index);
	hwloc_bitmap_t cpus = muster_read_line(path, text, sizeof text, NULL) < 0 || !*text
				      ? NULL
				      : muster_cpuset_parse_list(text, NULL);
	int result = 0;
	if (cpus && !hwloc_bitmap_isincluded(node->cpuset, cpus)) {
		char *list = muster_cpuset_list(node->cpuset);
		result = muster_fail(err, MUSTER_EIO,
			"NUMA node %u has CPUs %s for the kernel and %s for hwloc: NUMA cells and threads of this "
			"machine (of a guest, by its hypervisor's settings) do not fit each other",
			node->os_index, text, list);
		free(list);
	}
	hwloc_bitmap_free(cpus);
	return result;
}

/* The place of a device that hwloc does not know is the whole machine, which contradicts no node. */
int muster_topology_device_node(hwloc_topology_t topology, const char *root, const char *directory, const char *bus_id,
	hwloc_obj_t *ret_node, struct muster_error *err)
{
	hwloc_obj_t device = bus_id ? hwloc_get_pcidev_by_busidstring(topology, bus_id) : NULL;
	hwloc_obj_t place = device ? hwloc_get_non_io_ancestor_obj(topology, device) : hwloc_get_root_obj(topology);
	struct muster_error kernel;
	char numa_file[PATH_MAX];
	long index;
	snprintf(numa_file, sizeof numa_file, "%s%s/numa_node", root, directory);
	if (muster_sysfs_natural(numa_file, &index, &kernel) < 0) {
		int count;
		hwloc_obj_t home = only_home(topology, place->cpuset, &count);
		if (!home)
			return muster_fail(err, MUSTER_ENOTSUPPORTED, "%s, and hwloc places it near %d NUMA nodes",
				kernel.text, count);
		*ret_node = home;
		return check_cpus(root, home, err);
	}
	hwloc_obj_t named = index <= INT_MAX ? hwloc_get_numanode_obj_by_os_index(topology, (unsigned int)index) : NULL;
	if (!named)
		return muster_fail(err, MUSTER_EIO, "%s is %ld, and hwloc knows no such NUMA node", numa_file, index);
	if (check_cpus(root, named, err) < 0)
		return -1;
	hwloc_obj_t nearest = nearest_with_cpus(topology, named);
	if (!nearest)
		return muster_fail(err, MUSTER_ENOTSUPPORTED,
			"%s is %ld, which has no CPUs, and hwloc does not say which node with CPUs is nearest",
			numa_file, index);
	if (!hwloc_bitmap_intersects(place->cpuset, nearest->cpuset))
		return muster_fail(
			err, MUSTER_EIO, "%s is %ld, but hwloc places %s near other CPUs", numa_file, index, bus_id);
	*ret_node = nearest;
	return 0;
}

int muster_topology_gpu_node(hwloc_topology_t topology, const char *root, const char *bus_id, hwloc_obj_t *ret_node,
	struct muster_error *err)
{
	char directory[64];
	snprintf(directory, sizeof directory, "/sys/bus/pci/devices/%s", bus_id);
	return muster_topology_device_node(topology, root, directory, bus_id, ret_node, err);
}
