/* SPDX-License-Identifier: Apache-2.0 */
/* fs_topology.c - a simulated node as hwloc's XML, version 2
 *
 * hwloc takes memory and PCI locality from the nesting: what hangs on a Group is local to the Group's NUMA node. The
 * threads of a core have neighbouring CPU numbers. The objects, for a node with one GPU and one adapter on the first of
 * two NUMA nodes:
 *
 *   Machine
 *     Package 0
 *       Group
 *         NUMANode 0
 *         Core 0 (PU 0), Core 1 (PU 1), ...
 *         Bridge, PCIDev 0001:00:00.0
 *         Bridge, PCIDev 0101:00:00.0, OSDev mlx5_ib0
 *     Package 1
 *       Group
 *         NUMANode 1
 *         Core 24 (PU 24), ...
 *
 * worker_env.c lets hwloc read the file, and `lstopo -i topology.xml` draws it. GPUs that no library shows are left
 * out.
 */
#include "sim/fs.h"

#include "util/text.h"

#include <hwloc.h>
#include <stdlib.h>
#include <string.h>

struct printer {
	FILE *out;
	int depth;
	unsigned int next; /* gp_index: any number, once */
};

static void indent(struct printer *p)
{
	fprintf(p->out, "%*s", 2 * p->depth, "");
}

static void info(struct printer *p, const char *name, const char *value)
{
	indent(p);
	fprintf(p->out, "<info name=\"%s\" value=\"", name);
	for (; *value; value++)
		switch (*value) {
		case '&': fputs("&amp;", p->out); break;
		case '<': fputs("&lt;", p->out); break;
		case '>': fputs("&gt;", p->out); break;
		case '"': fputs("&quot;", p->out); break;
		default: fputc(*value, p->out);
		}
	fputs("\"/>\n", p->out);
}

/* The opening tag up to its sets; the caller adds attributes and closes it. cpus, nodes: those of the object, with all
 * that is below it. */
static void open_object(struct printer *p, const char *type, hwloc_const_bitmap_t cpus, hwloc_const_bitmap_t nodes)
{
	char *cpu_text = NULL, *node_text = NULL;
	hwloc_bitmap_asprintf(&cpu_text, cpus);
	hwloc_bitmap_asprintf(&node_text, nodes);
	indent(p);
	fprintf(p->out,
		"<object type=\"%s\" cpuset=\"%s\" complete_cpuset=\"%s\" nodeset=\"%s\" complete_nodeset=\"%s\" "
		"gp_index=\"%u\"",
		type, cpu_text, cpu_text, node_text, node_text, ++p->next);
	free(cpu_text);
	free(node_text);
	p->depth++;
}

static void close_object(struct printer *p)
{
	p->depth--;
	indent(p);
	fputs("</object>\n", p->out);
}

/* Data rate of a PCIe link in GB/s, as hwloc computes it: of 10 bits 8 are data in generations 1 and 2, of 130 bits 128
 * from generation 3 on, and of 256 bytes 242 in generation 6. 0: no such generation. */
static double link_speed(int generation, int width)
{
	static const double transfers[] = { 0, 2.5 * 0.8, 5 * 0.8, 8 * 128 / 130.0, 16 * 128 / 130.0, 32 * 128 / 130.0,
		64 * 242 / 256.0 };
	return generation >= 1 && generation <= 6 ? transfers[generation] * width / 8 : 0;
}

/* A PCI device behind a host bridge of its own, as a guest on Hyper-V sees it. speed in GB/s, 0: not known.
 * rdma_device: name of the RDMA device that it is; NULL: none. */
static void print_pci(struct printer *p, const struct muster_sim_pci *pci, double speed, const char *rdma_device)
{
	unsigned int domain = (unsigned int)strtoul(pci->bus_id, NULL, 16);
	unsigned int bus = (unsigned int)strtoul(pci->bus_id + strcspn(pci->bus_id, ":") + 1, NULL, 16);
	indent(p);
	fprintf(p->out,
		"<object type=\"Bridge\" gp_index=\"%u\" bridge_type=\"0-1\" depth=\"0\" "
		"bridge_pci=\"%04x:[%02x-%02x]\">\n",
		++p->next, domain, bus, bus);
	p->depth++;
	indent(p);
	fprintf(p->out,
		"<object type=\"PCIDev\" gp_index=\"%u\" pci_busid=\"%s\" pci_type=\"%.4s [%s:%s] [0000:0000] 00\" "
		"pci_link_speed=\"%f\">\n",
		++p->next, pci->bus_id, pci->class_code + 2, pci->vendor + 2, pci->device + 2, speed);
	p->depth++;
	if (rdma_device) {
		indent(p);
		fprintf(p->out, "<object type=\"OSDev\" gp_index=\"%u\" name=\"%s\" osdev_type=\"3\"/>\n", ++p->next,
			rdma_device);
	}
	close_object(p);
	close_object(p);
}

/* CPUs are collected until there are as many as a core has threads; hardware.c has checked that no CPU is left over. */
static void print_cores(struct printer *p, hwloc_const_bitmap_t cpus, hwloc_const_bitmap_t nodes, int threads)
{
	hwloc_bitmap_t core = hwloc_bitmap_alloc(), one = hwloc_bitmap_alloc();
	for (int last = hwloc_bitmap_first(cpus); last >= 0; last = hwloc_bitmap_next(cpus, last)) {
		hwloc_bitmap_set(core, (unsigned int)last);
		if (hwloc_bitmap_weight(core) < threads)
			continue;
		open_object(p, "Core", core, nodes);
		fprintf(p->out, " os_index=\"%d\">\n", hwloc_bitmap_first(core) / threads);
		for (int cpu = hwloc_bitmap_first(core); cpu >= 0; cpu = hwloc_bitmap_next(core, cpu)) {
			hwloc_bitmap_only(one, (unsigned int)cpu);
			open_object(p, "PU", one, nodes);
			fprintf(p->out, " os_index=\"%d\"/>\n", cpu);
			p->depth--;
		}
		close_object(p);
		hwloc_bitmap_zero(core);
	}
	hwloc_bitmap_free(core);
	hwloc_bitmap_free(one);
}

/* A NUMA node in a group with its cores and PCI devices. */
static void print_numa(struct printer *p, const struct muster_sim_node *node, const struct muster_sim_hardware *hw,
	const struct muster_sim_numa *numa)
{
	hwloc_bitmap_t cpus = muster_sim_cpus(node, numa->os_index), nodes = hwloc_bitmap_alloc();
	hwloc_bitmap_only(nodes, (unsigned int)numa->os_index);

	open_object(p, "Group", cpus, nodes);
	fputs(" kind=\"0\" subkind=\"0\">\n", p->out);
	open_object(p, "NUMANode", cpus, nodes);
	fprintf(p->out, " os_index=\"%d\" local_memory=\"%.0f\">\n", numa->os_index, numa->memory_mib * 1048576);
	indent(p);
	fprintf(p->out, "<page_type size=\"4096\" count=\"%.0f\"/>\n", numa->memory_mib * 256);
	close_object(p);
	print_cores(p, cpus, nodes, node->threads_per_core);
	for (size_t i = 0; i < node->gpu_count; i++) {
		const struct muster_sim_gpu *gpu = &node->gpus[i];
		if (gpu->numa_node == numa->os_index)
			print_pci(p, muster_sim_pci_find(hw, gpu->bus_id), link_speed(gpu->pcie_gen, gpu->pcie_width),
				NULL);
	}
	for (size_t i = 0; i < node->port_count; i++)
		if (node->ports[i].numa_node == numa->os_index && muster_sim_port_is_first(node, i))
			print_pci(p, muster_sim_pci_find(hw, node->ports[i].pci), 0, node->ports[i].device);
	close_object(p);
	hwloc_bitmap_free(cpus);
	hwloc_bitmap_free(nodes);
}

/* What the NUMA nodes of a socket span; socket -1 is the whole machine. */
static void span(const struct muster_sim_node *node, int socket, hwloc_bitmap_t cpus, hwloc_bitmap_t nodes)
{
	hwloc_bitmap_t some = hwloc_bitmap_alloc();
	hwloc_bitmap_zero(cpus);
	hwloc_bitmap_zero(nodes);
	for (size_t i = 0; i < node->numa_count; i++) {
		if (socket >= 0 && node->numas[i].socket != socket)
			continue;
		hwloc_bitmap_list_sscanf(some, node->numas[i].cpu_list);
		hwloc_bitmap_or(cpus, cpus, some);
		hwloc_bitmap_set(nodes, (unsigned int)node->numas[i].os_index);
	}
	hwloc_bitmap_free(some);
}

void muster_sim_topology_print(
	const struct muster_sim_node *node, const struct muster_sim_hardware *hardware, FILE *out)
{
	struct printer p = { .out = out };
	hwloc_bitmap_t cpus = hwloc_bitmap_alloc(), nodes = hwloc_bitmap_alloc();
	char *cpu_text = NULL, *node_text = NULL;
	fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n"
	      "<topology version=\"2.0\">\n",
		out);
	p.depth++;
	span(node, -1, cpus, nodes);
	hwloc_bitmap_asprintf(&cpu_text, cpus);
	hwloc_bitmap_asprintf(&node_text, nodes);
	open_object(&p, "Machine", cpus, nodes);
	fprintf(out, " os_index=\"0\" allowed_cpuset=\"%s\" allowed_nodeset=\"%s\">\n", cpu_text, node_text);
	info(&p, "OSName", "Linux");
	info(&p, "OSRelease", node->kernel);
	info(&p, "HostName", node->name);
	info(&p, "Architecture", node->architecture);
	for (int socket = 0; socket < node->sockets; socket++) {
		span(node, socket, cpus, nodes);
		open_object(&p, "Package", cpus, nodes);
		fprintf(out, " os_index=\"%d\">\n", socket);
		info(&p, "CPUModel", node->cpu_model);
		for (size_t i = 0; i < node->numa_count; i++)
			if (node->numas[i].socket == socket)
				print_numa(&p, node, hardware, &node->numas[i]);
		close_object(&p);
	}
	close_object(&p);
	fputs("  <support name=\"discovery.pu\"/>\n  <support name=\"discovery.numa\"/>\n"
	      "  <support name=\"discovery.numa_memory\"/>\n  <support name=\"cpubind.get_thisproc_cpubind\"/>\n"
	      "</topology>\n",
		out);
	free(cpu_text);
	free(node_text);
	hwloc_bitmap_free(cpus);
	hwloc_bitmap_free(nodes);
}
