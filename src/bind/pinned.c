/* pinned.c - host memory on a chosen NUMA node that the GPU's copy engine can reach
 *
 * The node is bound and the pages are touched before the driver pins them: pinning fixes pages where they are.
 */
#include "bind/pinned.h"
#include "core/text.h"

#include <errno.h>
#include <hwloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

/* The machine's NUMA nodes, loaded on first use and kept: every allocation of the process needs the same. NULL when
 * hwloc cannot load it. */
static hwloc_topology_t machine(void)
{
	static hwloc_topology_t topology;
	static bool tried;
	if (tried)
		return topology;
	tried = true;
	if (hwloc_topology_init(&topology) < 0) {
		topology = NULL;
		return NULL;
	}
	/* Caches, cores and devices are of no use here, and finding them takes time. */
	hwloc_topology_set_all_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_NONE);
	if (hwloc_topology_load(topology) < 0) {
		hwloc_topology_destroy(topology);
		topology = NULL;
	}
	return topology;
}

/* Has the node CPUs and memory? A sysfs that does not say so is believed. */
static bool node_usable(const char *root, int node)
{
	char path[4096], text[4096];
	snprintf(path, sizeof path, "%s/sys/devices/system/node/node%d/cpulist", root, node);
	if (muster_read_line(path, text, sizeof text, NULL) == 0 && text[0] == '\0')
		return false;
	struct muster_cpus nodes;
	snprintf(path, sizeof path, "%s/sys/devices/system/node/has_memory", root);
	if (muster_read_line(path, text, sizeof text, NULL) < 0 || muster_cpus_parse_list(text, &nodes, NULL) < 0)
		return true;
	return muster_cpus_has(&nodes, (unsigned int)node);
}

/* GPU memory may appear as a NUMA node without CPUs: take the usable one with the shortest distance from it. */
static int nearest_usable(const char *root, int node)
{
	char path[4096], text[4096];
	struct muster_cpus online;
	snprintf(path, sizeof path, "%s/sys/devices/system/node/online", root);
	if (muster_read_line(path, text, sizeof text, NULL) < 0 || muster_cpus_parse_list(text, &online, NULL) < 0)
		return -1;
	snprintf(path, sizeof path, "%s/sys/devices/system/node/node%d/distance", root, node);
	if (muster_read_line(path, text, sizeof text, NULL) < 0)
		return -1;
	int best = -1;
	long shortest = 0;
	char *at = text;
	for (unsigned int other = 0; other < MUSTER_CPUS_MAX; other++) {
		if (!muster_cpus_has(&online, other))
			continue;
		char *end;
		long distance = strtol(at, &end, 10); /* one for each online node, in their order */
		if (end == at)
			break;
		at = end;
		if ((best < 0 || distance < shortest) && node_usable(root, (int)other)) {
			best = (int)other;
			shortest = distance;
		}
	}
	return best;
}

int muster_numa_near(const char *root, const char *bus_id, int *ret_node, struct muster_error *err)
{
	char path[4096], text[64];
	long node;
	snprintf(path, sizeof path, "%s/sys/bus/pci/devices/%s/numa_node", root, bus_id);
	if (muster_read_line(path, text, sizeof text, err) < 0)
		return -1;
	if (muster_parse_int(text, -1, MUSTER_CPUS_MAX - 1, &node, path, err) < 0)
		return -1;
	if (node < 0)
		return muster_fail(err, MUSTER_ENOTSUPPORTED, "the kernel does not know the NUMA node of %s", bus_id);
	int usable = node_usable(root, (int)node) ? (int)node : nearest_usable(root, (int)node);
	if (usable < 0)
		return muster_fail(err, MUSTER_ENOTSUPPORTED,
			"NUMA node %ld of %s has no CPUs or memory, and none near it has", node, bus_id);
	*ret_node = usable;
	return 0;
}

static void *alloc_bound(size_t bytes, int numa_node, char *why, size_t size)
{
	hwloc_topology_t topology = machine();
	if (!topology) {
		snprintf(why, size, "hwloc could not read this machine");
		return NULL;
	}
	hwloc_bitmap_t nodes = hwloc_bitmap_alloc();
	if (!nodes)
		return NULL;
	hwloc_bitmap_only(nodes, (unsigned int)numa_node);
	void *data = NULL;
	if (!hwloc_bitmap_isincluded(nodes, hwloc_topology_get_allowed_nodeset(topology))) {
		snprintf(why, size, "NUMA node %d is not among those that this process may use", numa_node);
	} else {
		data = hwloc_alloc_membind(
			topology, bytes, nodes, HWLOC_MEMBIND_BIND, HWLOC_MEMBIND_STRICT | HWLOC_MEMBIND_BYNODESET);
		if (!data)
			snprintf(why, size, "memory cannot be bound to NUMA node %d: %s", numa_node, strerror(errno));
	}
	hwloc_bitmap_free(nodes);
	return data;
}

int muster_pinned_alloc(const struct muster_cuda *cuda, size_t bytes, int numa_node, struct muster_pinned *ret,
	struct muster_error *err)
{
	struct muster_pinned pinned = { .bytes = bytes, .numa_node = -1 };
	if (numa_node >= 0)
		pinned.data = alloc_bound(bytes, numa_node, pinned.why, sizeof pinned.why);
	else
		snprintf(pinned.why, sizeof pinned.why, "no NUMA node is known");
	if (pinned.data) {
		pinned.bound = true;
		pinned.numa_node = numa_node;
	} else {
		pinned.data = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (pinned.data == MAP_FAILED)
			return muster_fail(err, MUSTER_ENOMEM, "mmap of %zu bytes: %s", bytes, strerror(errno));
	}
	/* Huge pages make touching and pinning several times faster; without them it works as well. */
	madvise(pinned.data, bytes, MADV_HUGEPAGE);
	memset(pinned.data, 0, bytes);
	if (muster_cuda_check(cuda, cuda->cuMemHostRegister_v2(pinned.data, bytes, CU_MEMHOSTREGISTER_PORTABLE), err,
		    "cuMemHostRegister_v2") < 0) {
		muster_pinned_free(cuda, &pinned);
		return -1;
	}
	pinned.registered = true;
	*ret = pinned;
	return 0;
}

void muster_pinned_free(const struct muster_cuda *cuda, struct muster_pinned *pinned)
{
	if (!pinned->data)
		return;
	if (pinned->registered)
		cuda->cuMemHostUnregister(pinned->data);
	if (pinned->bound)
		hwloc_free(machine(), pinned->data, pinned->bytes);
	else
		munmap(pinned->data, pinned->bytes);
	*pinned = (struct muster_pinned){ .numa_node = -1 };
}
