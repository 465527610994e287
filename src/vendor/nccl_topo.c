/* SPDX-License-Identifier: Apache-2.0 */
/* nccl_topo.c - what an NCCL topology file (NCCL_TOPO_FILE) says of NUMA nodes and GPUs
 *
 *    <system version="1">
 *      <cpu numaid="1" affinity="00000000,0000ffff,ff000000" arch="x86_64" ...>
 *        <pci busid="ffff:ff:02.0" class="0x060400" ...>       a bridge, often one that no machine has
 *          <pci busid="0001:00:00.0" class="0x030200" .../>    a GPU
 *
 * A GPU belongs to the cpu element that it stands in. end_element forgets the NUMA node at the end of each cpu.
 *
 * Read by expat, where muster was built with it. The file comes from a user or an image: its size, its depth, and the
 * number of its elements are bounded, and a DOCTYPE is refused.
 */
#include "vendor/nccl_topo.h"
#include "system/sysfs.h"
#include "util/text.h"
#include "muster/arena.h"

#include <stdlib.h>
#include <string.h>

#ifndef MUSTER_HAVE_EXPAT

int muster_nccl_topo_parse(const char *text, size_t length, struct muster_nccl_topo *ret, struct muster_error *err)
{
	(void)text, (void)length, (void)ret;
	return muster_fail(err, MUSTER_ELIB, "this muster was built without expat");
}

#else

#include <expat.h>
#include <stdbool.h>

/* No handler for entities is set, so nothing but the text itself is ever read. */
struct reader {
	XML_Parser parser;
	struct muster_nccl_topo *topo;
	int depth, numa_node;
	bool stopped; /* expat may still call a handler or two */
	struct muster_error *err;
};

static const char *attribute(const XML_Char **attributes, const char *name)
{
	for (; attributes[0]; attributes += 2)
		if (strcmp(attributes[0], name) == 0)
			return attributes[1];
	return NULL;
}

/* One NUMA node. "affinity" may be absent, and "numaid" may be -1. */
static int read_cpu(struct reader *r, const XML_Char **attributes)
{
	const char *numa = attribute(attributes, "numaid"), *affinity = attribute(attributes, "affinity");
	struct muster_nccl_topo_node *node = &r->topo->nodes[r->topo->node_count];
	long number;
	if (r->topo->node_count == MUSTER_NCCL_TOPO_NODES_MAX)
		return muster_fail(r->err, MUSTER_EUSAGE, "more than %d elements cpu", MUSTER_NCCL_TOPO_NODES_MAX);
	if (!numa)
		return muster_fail(r->err, MUSTER_EUSAGE, "a cpu without numaid");
	if (muster_parse_int(numa, -1, 65535, &number, "numaid", r->err) < 0)
		return -1;
	*node = (struct muster_nccl_topo_node){ .numa_node = (int)number };
	if (affinity && !(node->cpus = muster_cpuset_parse_words(affinity, r->err)))
		return muster_wrap(r->err, "affinity");
	r->topo->node_count++;
	r->numa_node = (int)number;
	return 0;
}

/* A GPU is a pci element of class 0x03..., or one without a class: then it may be any device, and its bus id decides
 * later whether it is a GPU of the node. Bridges have class 0x0604.. and only their children count. */
static int read_pci(struct reader *r, const XML_Char **attributes)
{
	const char *class_code = attribute(attributes, "class"), *bus_id = attribute(attributes, "busid");
	struct muster_nccl_topo_gpu *gpu = &r->topo->gpus[r->topo->gpu_count];
	/* NCCL finds its GPUs by their busid and fills in what an element lacks (src/graph/xml.cc, ncclTopoFillGpu) */
	if (!class_code && bus_id && r->topo->gpu_count < MUSTER_NCCL_TOPO_GPUS_MAX &&
		muster_bus_id_normalise(bus_id, gpu->bus_id, sizeof gpu->bus_id, NULL) == 0) {
		gpu->numa_node = r->numa_node;
		r->topo->gpu_count++;
	}
	if (!class_code || strncmp(class_code, "0x03", 4) != 0)
		return 0;
	if (r->topo->gpu_count == MUSTER_NCCL_TOPO_GPUS_MAX)
		return muster_fail(r->err, MUSTER_EUSAGE, "more than %d GPUs", MUSTER_NCCL_TOPO_GPUS_MAX);
	if (!bus_id)
		return muster_fail(r->err, MUSTER_EUSAGE, "a pci without busid");
	if (muster_bus_id_normalise(bus_id, gpu->bus_id, sizeof gpu->bus_id, NULL) < 0)
		return muster_fail(r->err, MUSTER_EUSAGE, "busid \"%.40s\" is no PCI address", bus_id);
	gpu->numa_node = r->numa_node;
	r->topo->gpu_count++;
	return 0;
}

static int read_element(struct reader *r, const char *name, const XML_Char **attributes)
{
	if (++r->depth > MUSTER_NCCL_TOPO_DEPTH_MAX)
		return muster_fail(
			r->err, MUSTER_EUSAGE, "elements are nested more than %d deep", MUSTER_NCCL_TOPO_DEPTH_MAX);
	if (r->depth == 1 && strcmp(name, "system") != 0)
		return muster_fail(r->err, MUSTER_EUSAGE,
			"it is no NCCL topology: the first element is \"%.40s\", not \"system\"", name);
	if (strcmp(name, "cpu") == 0)
		return read_cpu(r, attributes);
	return strcmp(name, "pci") == 0 ? read_pci(r, attributes) : 0;
}

/* Put the line before the error, and end the parse. expat may still call handlers that it has already begun: r->stopped
 * makes them do nothing. */
static void stop(struct reader *r)
{
	muster_wrap(r->err, "line %lu", XML_GetCurrentLineNumber(r->parser));
	r->stopped = true;
	XML_StopParser(r->parser, XML_FALSE);
}

static void start_element(void *data, const XML_Char *name, const XML_Char **attributes)
{
	struct reader *r = data;
	if (!r->stopped && read_element(r, name, attributes) < 0)
		stop(r);
}

static void end_element(void *data, const XML_Char *name)
{
	struct reader *r = data;
	r->depth--;
	if (strcmp(name, "cpu") == 0)
		r->numa_node = -1;
}

/* With a DOCTYPE, a few bytes can stand for gigabytes, or for another file. */
static void start_doctype(
	void *data, const XML_Char *name, const XML_Char *system_id, const XML_Char *public_id, int internal_subset)
{
	struct reader *r = data;
	(void)name, (void)system_id, (void)public_id, (void)internal_subset;
	if (r->stopped)
		return;
	muster_fail(r->err, MUSTER_EUSAGE, "it has a DOCTYPE, which is not allowed");
	stop(r);
}

/* The result is made on the heap (it has several KiB) and copied only on success. */
int muster_nccl_topo_parse(const char *text, size_t length, struct muster_nccl_topo *ret, struct muster_error *err)
{
	struct muster_error own;
	struct reader r = { .numa_node = -1, .err = err ? err : &own };
	if (length > MUSTER_NCCL_TOPO_BYTES_MAX)
		return muster_fail(err, MUSTER_EUSAGE, "it has %zu bytes, at most %d are allowed", length,
			MUSTER_NCCL_TOPO_BYTES_MAX);
	r.parser = XML_ParserCreate(NULL);
	if (!r.parser)
		return muster_fail(err, MUSTER_ENOMEM, "XML_ParserCreate: out of memory");
	r.topo = muster_calloc(1, sizeof *r.topo);
	XML_SetUserData(r.parser, &r);
	XML_SetElementHandler(r.parser, start_element, end_element);
	XML_SetStartDoctypeDeclHandler(r.parser, start_doctype);
	bool read = XML_Parse(r.parser, text, (int)length, 1) == XML_STATUS_OK && !r.stopped;
	if (!read && !r.stopped) {
		enum XML_Error code = XML_GetErrorCode(r.parser);
		muster_fail(r.err, code == XML_ERROR_NO_MEMORY ? MUSTER_ENOMEM : MUSTER_EUSAGE, "line %lu: %s",
			XML_GetCurrentLineNumber(r.parser), XML_ErrorString(code));
	}
	XML_ParserFree(r.parser);
	if (read)
		*ret = *r.topo;
	else
		muster_nccl_topo_done(r.topo);
	free(r.topo);
	return read ? 0 : -1;
}

#endif

void muster_nccl_topo_done(struct muster_nccl_topo *topo)
{
	for (size_t i = 0; i < topo->node_count; i++)
		hwloc_bitmap_free(topo->nodes[i].cpus);
	topo->node_count = 0;
}
