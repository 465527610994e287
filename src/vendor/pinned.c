/* SPDX-License-Identifier: Apache-2.0 */
/* pinned.c - host memory on a device's NUMA node that the GPU's copy engine can reach
 *
 * The order matters: bind to the NUMA node, touch the pages, pin them. Pinning fixes pages where they are, and a page
 * gets its place when it is touched first. With a stand-in library the pages are not touched.
 */
#include "vendor/pinned.h"
#include "system/topology.h"
#include "vendor/library.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

size_t muster_pinned_bytes(size_t bytes)
{
	return muster_library_any_standin() ? bytes / 8 : bytes;
}

/* Memory that can only lie on the device's node; -1 with the reason in err. */
static int alloc_bound(const char *root, const char *bus_id, struct muster_pinned *pinned, struct muster_error *err)
{
	hwloc_topology_t topology = muster_topology(err);
	hwloc_obj_t node;
	if (!topology || muster_topology_gpu_node(topology, root, bus_id, &node, err) < 0)
		return -1;
	void *data = hwloc_alloc_membind(topology, pinned->bytes, node->nodeset, HWLOC_MEMBIND_BIND,
		HWLOC_MEMBIND_STRICT | HWLOC_MEMBIND_BYNODESET);
	if (!data)
		return muster_fail(err, MUSTER_ENOTSUPPORTED, "memory cannot be bound to NUMA node %u: %s",
			node->os_index, strerror(errno));
	pinned->data = data;
	pinned->bound = true;
	pinned->numa_node = (int)node->os_index;
	return 0;
}

/* Memory that cannot be bound to the node is ordinary memory, with the reason in `why`: a copy from a farther node is
 * slower, and the report can say so. */
int muster_pinned_alloc(const struct muster_cuda *cuda, size_t bytes, const char *root, const char *bus_id,
	struct muster_pinned *ret, struct muster_error *err)
{
	struct muster_pinned pinned = { .bytes = bytes, .numa_node = -1 };
	struct muster_error why = { 0 };
	if (alloc_bound(root, bus_id, &pinned, &why) < 0) {
		memcpy(pinned.why, why.text, sizeof pinned.why);
		pinned.data = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (pinned.data == MAP_FAILED)
			return muster_fail(err, MUSTER_ENOMEM, "mmap of %zu bytes: %s", bytes, strerror(errno));
	}
	/* Huge pages make touching and pinning several times faster; without them it works as well. */
	madvise(pinned.data, bytes, MADV_HUGEPAGE);
	if (!muster_library_any_standin()) /* whose pages need not be there */
		memset(pinned.data, 0, bytes);
	if (MUSTER_CUDA(cuda, err, cuMemHostRegister_v2, pinned.data, bytes, CU_MEMHOSTREGISTER_PORTABLE) < 0) {
		muster_pinned_free(cuda, &pinned);
		return -1;
	}
	pinned.registered = true;
	*ret = pinned;
	return 0;
}

/* hwloc's memory and that of mmap are released by different functions; `bound` tells which one it is. */
void muster_pinned_free(const struct muster_cuda *cuda, struct muster_pinned *pinned)
{
	if (!pinned->data)
		return;
	if (pinned->registered)
		cuda->cuMemHostUnregister(pinned->data);
	if (pinned->bound)
		hwloc_free(muster_topology(NULL), pinned->data, pinned->bytes);
	else
		munmap(pinned->data, pinned->bytes);
	*pinned = (struct muster_pinned){ .numa_node = -1 };
}
