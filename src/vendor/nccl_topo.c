/* nccl_topo.c - what an NCCL topology file (NCCL_TOPO_FILE) says of NUMA nodes and GPUs
 *
 *   <system version="1">
 *     <cpu numaid="1" affinity="00000000,0000ffff,ff000000" arch="x86_64" ...>
 *       <pci busid="ffff:ff:02.0" class="0x060400" ...>       a bridge, often one that no machine has
 *         <pci busid="0001:00:00.0" class="0x030200" .../>    a GPU
 */
#include "vendor/nccl_topo.h"
#include "system/xml.h"
#include "system/sysfs.h"
#include "util/text.h"
#include "muster/arena.h"

#include <stdlib.h>
#include <string.h>

struct reader {
	struct muster_nccl_topo *topo;
	bool inside; /* the root element was seen, and is the right one */
	int numa_node;
};

static int read_cpu(struct reader *r, const char *const *attributes, struct muster_error *err)
{
	const char *numa = muster_xml_attribute(attributes, "numaid");
	const char *affinity = muster_xml_attribute(attributes, "affinity");
	struct muster_nccl_topo_node *node = &r->topo->nodes[r->topo->node_count];
	long number;
	if (r->topo->node_count == MUSTER_NCCL_TOPO_NODES_MAX)
		return muster_fail(err, MUSTER_EUSAGE, "more than %d elements cpu", MUSTER_NCCL_TOPO_NODES_MAX);
	if (!numa)
		return muster_fail(err, MUSTER_EUSAGE, "a cpu without numaid");
	if (muster_parse_int(numa, -1, 65535, &number, "numaid", err) < 0)
		return -1;
	*node = (struct muster_nccl_topo_node){ .numa_node = (int)number };
	if (affinity && !(node->cpus = muster_cpuset_parse_words(affinity, err)))
		return muster_wrap(err, "affinity");
	r->topo->node_count++;
	r->numa_node = (int)number;
	return 0;
}

static int read_pci(struct reader *r, const char *const *attributes, struct muster_error *err)
{
	const char *class_code = muster_xml_attribute(attributes, "class");
	const char *bus_id = muster_xml_attribute(attributes, "busid");
	struct muster_nccl_topo_gpu *gpu = &r->topo->gpus[r->topo->gpu_count];
	if (!class_code || strncmp(class_code, "0x03", 4) != 0)
		return 0;
	if (r->topo->gpu_count == MUSTER_NCCL_TOPO_GPUS_MAX)
		return muster_fail(err, MUSTER_EUSAGE, "more than %d GPUs", MUSTER_NCCL_TOPO_GPUS_MAX);
	if (!bus_id)
		return muster_fail(err, MUSTER_EUSAGE, "a pci without busid");
	if (muster_bus_id_normalise(bus_id, gpu->bus_id, sizeof gpu->bus_id, err) < 0)
		return muster_fail(err, MUSTER_EUSAGE, "busid \"%.40s\" is no PCI address", bus_id);
	gpu->numa_node = r->numa_node;
	r->topo->gpu_count++;
	return 0;
}

static int open_element(void *arg, const char *name, const char *const *attributes, struct muster_error *err)
{
	struct reader *r = arg;
	if (!r->inside && strcmp(name, "system") != 0)
		return muster_fail(err, MUSTER_EUSAGE,
			"it is no NCCL topology: the first element is \"%.40s\", not \"system\"", name);
	r->inside = true;
	if (strcmp(name, "cpu") == 0)
		return read_cpu(r, attributes, err);
	return strcmp(name, "pci") == 0 ? read_pci(r, attributes, err) : 0;
}

static void close_element(void *arg, const char *name)
{
	struct reader *r = arg;
	if (strcmp(name, "cpu") == 0)
		r->numa_node = -1;
}

int muster_nccl_topo_parse(const char *text, size_t length, struct muster_nccl_topo *ret, struct muster_error *err)
{
	struct muster_nccl_topo *topo = muster_calloc(1, sizeof *topo);
	struct reader r = { .topo = topo, .numa_node = -1 };
	const struct muster_xml_walk walk = { .open = open_element, .close = close_element, .arg = &r };
	int result = muster_xml_read(text, length, &walk, err);
	if (result == 0)
		*ret = *topo;
	else
		muster_nccl_topo_done(topo);
	free(topo);
	return result;
}

void muster_nccl_topo_done(struct muster_nccl_topo *topo)
{
	for (size_t i = 0; i < topo->node_count; i++)
		hwloc_bitmap_free(topo->nodes[i].cpus);
	topo->node_count = 0;
}
