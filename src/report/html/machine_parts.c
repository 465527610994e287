/* SPDX-License-Identifier: Apache-2.0 */
/* machine_parts.c - what is on a node: NUMA nodes, GPUs, ports, and which GPUs reach each other
 *
 * muster_machine_make() goes in this order, because each step looks into what the one before found: NUMA nodes with
 * their CPUs, GPUs with their links and NUMA nodes, cliques of GPUs, ports, and the CPUs of the ranks on each NUMA
 * node. Everything is read from samples; what a report does not have is not known, which the picture says.
 */
#include "report/html/machine_parts.h"

#include "muster/probe.h"
#include "muster/run_data.h"
#include "report/html/places.h"
#include "report/inventory_build.h"
#include "util/cpuset.h"
#include "util/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char gpu_numa_node[] = "rank.gpu_numa_node";

/* ---- NUMA nodes ---- */

/* A small number of a label, as of a NUMA node; 0 for what is none, since a report from outside may say anything. */
static double label_number(const struct muster_sample *sample, const char *key)
{
	const struct muster_value *value = muster_sample_label(sample, key);
	return value && value->type == MUSTER_NUMBER && value->number >= 0 && value->number < MUSTER_CPUS_MAX
		       ? value->number
		       : 0;
}

/* A NUMA node with the CPUs of a list such as "24-47"; nothing when there is one of this index, or the list is none. */
static void add_numa(struct muster_machine *m, int index, int package, const char *list)
{
	hwloc_bitmap_t cpus = muster_cpuset_parse_list(list, NULL);
	for (size_t i = 0; i < m->numa_count; i++)
		if (m->numas[i].index == index) {
			hwloc_bitmap_free(cpus);
			return;
		}
	if (cpus)
		m->numas[m->numa_count++] = (struct muster_machine_numa){
			.known = true, .index = index, .package = package, .cpus = cpus, .list = list
		};
}

static int by_package(const void *a, const void *b)
{
	const struct muster_machine_numa *x = a, *y = b;
	if (x->package != y->package)
		return x->package < y->package ? -1 : 1;
	return (x->index > y->index) - (x->index < y->index);
}

/* Of reports without the CPUs of each NUMA node: those of the GPUs. */
static void find_numas_of_gpus(struct muster_machine *m)
{
	for (size_t r = 0; r < m->node->rank_count; r++) {
		const struct muster_samples *samples = &m->node->ranks[r].samples;
		double index = muster_sample_number(samples, gpu_numa_node, -1);
		const char *list = muster_sample_text(samples, "rank.gpu_cpu_list", NULL);
		if (list && index >= 0 && index < MUSTER_CPUS_MAX)
			add_numa(m, (int)index, -1, list);
	}
}

/* The NUMA nodes with CPUs, by package and number. There is room for those of all samples, or of all ranks, and for the
 * one that is not known (place_of). */
static void find_numas(struct muster_machine *m)
{
	const struct muster_metric *metric = muster_metric_find("node.numa_cpu_list");
	m->numas = muster_calloc(m->node->samples.count + m->node->rank_count + 1, sizeof *m->numas);
	for (size_t i = 0; i < m->node->samples.count; i++) {
		const struct muster_sample *sample = &m->node->samples.items[i];
		if (sample->metric == metric && sample->value.type == MUSTER_STRING)
			add_numa(m, (int)label_number(sample, "numa_node"), (int)label_number(sample, "package"),
				sample->value.string);
	}
	if (m->numa_count == 0)
		find_numas_of_gpus(m);
	qsort(m->numas, m->numa_count, sizeof *m->numas, by_package);
}

/* The index in numas of the NUMA node that the metric names at the place. Of one that is not known: the only one there
 * is, or the one that is not known, which is added here the first time. find_numas() left room for it. */
static size_t place_of(struct muster_machine *m, const struct muster_inventory_place *place, const char *metric)
{
	struct muster_inventory_value numa = muster_inventory_read(m->arena, place, muster_metric_find(metric), true);
	for (size_t i = 0; numa.is_number && i < m->numa_count; i++)
		if (m->numas[i].known && (double)m->numas[i].index == numa.number)
			return i;
	if (m->numa_count == 1)
		return 0;
	if (m->numa_count == 0 || m->numas[m->numa_count - 1].known)
		m->numas[m->numa_count++] = (struct muster_machine_numa){ .cpus = hwloc_bitmap_alloc() };
	return m->numa_count - 1;
}

/* ---- GPUs ---- */

static const char *text_or_null(struct muster_inventory_value value)
{
	return value.why ? NULL : value.text;
}

/* Name and links of a GPU that a rank took. C2C takes the place of PCIe where it is up. `now` is the PCIe link under
 * load, if that is another one than the best the GPU can have. */
static void read_gpu(struct muster_machine *m, const struct muster_run *run, struct muster_machine_gpu *gpu)
{
	static const struct {
		const char *metric;
		struct muster_shown as;
	} links[] = {
		{ "gpu.pcie_gen_max", { .second = "gpu.pcie_width_max", .between = ".0 x" } },
		{ "gpu.pcie_gen_loaded", { .second = "gpu.pcie_width_loaded", .between = ".0 x" } },
		{ "gpu.nvlinks", { .second = "gpu.nvlink_gbps", .between = " x " } },
		{ "gpu.c2c_links", { .second = "gpu.c2c_gbps", .between = " x " } },
	};
	const struct muster_inventory_place place = {
		.run = run, .node = m->node, .rank = gpu->rank, .gpu = gpu->bus_id
	};
	const char *text[4];
	for (size_t i = 0; i < 4; i++)
		text[i] = text_or_null(muster_inventory_read_shown(
			m->arena, &place, muster_metric_find(links[i].metric), &links[i].as));
	gpu->name = text_or_null(muster_inventory_read(m->arena, &place, muster_metric_find("gpu.name"), true));
	if (text[3] && strcmp(text[3], "0") != 0)
		gpu->link = muster_arena_printf(m->arena, "C2C %s", text[3]);
	else if (text[0])
		gpu->link = muster_arena_printf(m->arena, "PCIe %s", text[0]);
	if (text[0] && text[1] && strcmp(text[0], text[1]) != 0)
		gpu->now = text[1];
	if (text[2] && strcmp(text[2], "0") != 0)
		gpu->bridge = text[2];
}

static bool reaches(const struct muster_machine_gpu *gpu, const char *bus_id)
{
	return gpu->rank &&
	       muster_text_has_word(muster_sample_text(&gpu->rank->samples, "gpu.nvlink_peer_gpus", ""), bus_id);
}

/* Every GPU that the clique reaches, or that reaches the clique, belongs to it. As deep as the clique is large. */
static void spread(struct muster_machine *m, size_t from, int clique)
{
	m->gpus[from].clique = clique;
	m->clique_sizes[clique]++;
	for (size_t i = 0; i < m->gpu_count; i++)
		if (m->gpus[i].clique < 0 &&
			(reaches(&m->gpus[from], m->gpus[i].bus_id) || reaches(&m->gpus[i], m->gpus[from].bus_id)))
			spread(m, i, clique);
}

/* Groups of GPUs that NVLink joins, and for each GPU how many others it reaches itself. A GPU may reach fewer than its
 * clique has: the picture then says so. */
static void find_cliques(struct muster_machine *m)
{
	m->clique_sizes = muster_calloc(m->gpu_count + 1, sizeof *m->clique_sizes);
	for (size_t i = 0; i < m->gpu_count; i++) {
		struct muster_machine_gpu *gpu = &m->gpus[i];
		for (size_t j = 0; j < m->gpu_count; j++)
			gpu->peers += j != i && reaches(gpu, m->gpus[j].bus_id);
		if (gpu->clique < 0 && gpu->peers > 0)
			spread(m, i, m->cliques++);
	}
}

/* The GPUs of the node whose bus ids are known, with those that no rank took; of the latter nothing else is known. */
static void find_gpus(struct muster_machine *m, const struct muster_run *run, const struct muster_html_node *place)
{
	m->gpus = muster_calloc(place->gpus.count + 1, sizeof *m->gpus);
	for (size_t i = 0; i < place->gpus.count; i++) {
		const struct muster_html_part *part = &place->gpus.items[i];
		if (!part->name)
			continue;
		struct muster_machine_gpu *gpu = &m->gpus[m->gpu_count++];
		*gpu = (struct muster_machine_gpu){
			.bus_id = part->name,
			.index = part->gpu_index,
			.rank = part->rank,
			.status = part->status,
			.clique = -1,
		};
		if (part->rank)
			read_gpu(m, run, gpu);
		const struct muster_inventory_place of_rank = { .run = run, .node = m->node, .rank = part->rank };
		gpu->numa = place_of(m, &of_rank, gpu_numa_node);
	}
	find_cliques(m);
}

/* ---- ports ---- */

static void find_ports(struct muster_machine *m, const struct muster_run *run, const struct muster_html_node *node)
{
	static const struct muster_shown as = { .second = "port.rate_gbps", .between = ", " };
	const struct muster_metric *state = muster_metric_find("port.state");
	m->ports = muster_calloc(node->ports.count + 1, sizeof *m->ports);
	for (size_t i = 0; i < node->ports.count; i++) {
		const struct muster_html_part *part = &node->ports.items[i];
		const struct muster_inventory_place place = { .run = run, .node = m->node, .port = part->name };
		m->ports[m->port_count++] = (struct muster_machine_port){
			.name = part->name,
			.state = muster_inventory_read_shown(m->arena, &place, state, &as).text,
			.numa = place_of(m, &place, "port.numa_node"),
			.status = part->status,
		};
	}
}

/* ---- the CPUs of the ranks ---- */

/* For each rank and each NUMA node on which it may use CPUs, a mask. It is `near` where the rank's GPU is on that NUMA
 * node, and also where the GPU's NUMA node is not known: then nothing is known to be wrong. */
static void find_masks(struct muster_machine *m)
{
	m->sets = muster_calloc(m->node->rank_count + 1, sizeof(*m->sets));
	for (size_t i = 0; i < m->numa_count; i++)
		m->numas[i].masks = muster_calloc(m->node->rank_count + 1, sizeof *m->numas[i].masks);
	for (size_t r = 0; r < m->node->rank_count; r++) {
		const struct muster_rank *rank = &m->node->ranks[r];
		const char *list = muster_sample_text(&rank->samples, "rank.cpu_list", NULL);
		double numa = muster_sample_number(&rank->samples, gpu_numa_node, NAN);
		hwloc_bitmap_t cpus = list ? muster_cpuset_parse_list(list, NULL) : NULL;
		if (!cpus)
			continue;
		m->sets[m->set_count++] = cpus;
		for (size_t i = 0; i < m->numa_count; i++) {
			struct muster_machine_numa *at = &m->numas[i];
			if (hwloc_bitmap_intersects(cpus, at->cpus))
				at->masks[at->mask_count++] = (struct muster_machine_mask){ rank, cpus,
					isnan(numa) || numa == (double)at->index };
		}
	}
}

void muster_machine_make(const struct muster_run *run, const struct muster_html_node *place, struct muster_machine *ret)
{
	*ret = (struct muster_machine){ .arena = muster_arena_new(), .node = place->node };
	find_numas(ret);
	find_gpus(ret, run, place);
	find_ports(ret, run, place);
	find_masks(ret);
}

void muster_machine_done(struct muster_machine *m)
{
	for (size_t i = 0; i < m->numa_count; i++) {
		hwloc_bitmap_free(m->numas[i].cpus);
		free(m->numas[i].masks);
	}
	for (size_t i = 0; i < m->set_count; i++)
		hwloc_bitmap_free(m->sets[i]);
	free(m->sets);
	free(m->numas);
	free(m->gpus);
	free(m->ports);
	free(m->clique_sizes);
	muster_arena_free(m->arena);
	*m = (struct muster_machine){ 0 };
}
