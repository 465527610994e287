/* SPDX-License-Identifier: Apache-2.0 */
/* machine_draw.c - the picture of a node: ports on the left, CPUs in the middle, GPUs on the right, and their links
 *
 * In the manner of hwloc's lstopo: a NUMA node is a box with its CPUs as one bar, and below them the CPUs that each
 * rank may use.
 *
 *   MARGIN       cpu_x                          gpu_x                                width - MARGIN
 *   | port      |    | CPU package 0           |       | GPU 0, rank 0             |  NVLink 12 x 25 GB/s  |
 *   | ACTIVE    |----| NUMA node 0: CPUs 0-23  |-------| 0001:00:00.0 A100         |-----------------------|
 *   |           |    | [ all CPUs of it      ] | PCIe  |                           |                       |
 *   | port      |----| [ those of rank 0  ]    |-------| GPU 1, rank 1             |-----------------------|
 *   PORT_WIDTH  LINK  CPU_WIDTH                 LINK    GPU_WIDTH                    BRIDGE, a line a clique
 *
 * NUMA nodes are below each other. The ports and GPUs of a NUMA node begin at its upper edge, one below the other, and
 * box_height() makes the box high enough for the longer column and for its own texts. So the vertical place of all
 * parts follows from top_of() of their NUMA node, and every function computes it from there. All measures are in units
 * of the SVG's viewBox.
 */
#include "muster/run_data.h"
#include "report/html/html.h"
#include "report/html/machine_parts.h"
#include "report/print_escaped.h"

#include <stdlib.h>
#include <string.h>

enum {
	MARGIN = 10,
	PORT_WIDTH = 190,
	PORT_LINK = 44,
	CPU_WIDTH = 376,
	LABEL = 104, /* of a bar */
	GPU_LINK = 158,
	GPU_WIDTH = 296,
	BRIDGE = 168,
	LINE = 18,  /* of text, and of a bar */
	PART = 40,  /* a port or a GPU */
	SPACE = 12, /* between parts, and between NUMA nodes */
	TICKS_MAX = 64,
	PORT_TEXT = 29, /* columns that fit */
	GPU_TEXT = 45,
	LIST_TEXT = 38,
};

/* One picture: where its columns begin, and its size. */
struct drawing {
	const struct muster_html *page;
	const struct muster_machine *m;
	int cpu_x, gpu_x, width, height;
};

/* ---- texts ---- */

/* At most `columns` characters of a text; what is cut off ends in dots. */
static void put_cut(const struct muster_html *page, const char *text, size_t columns)
{
	char *escaped = muster_escaped(text);
	if (muster_print_escaped(NULL, escaped) > columns) {
		size_t at = 0;
		for (size_t shown = 0; escaped[at] && shown + 2 < columns; shown++)
			for (at++; ((unsigned char)escaped[at] & 0xc0) == 0x80;)
				at++;
		escaped[at] = '\0';
		muster_html_within(page, "", escaped, "...");
	} else {
		muster_html_put(page, escaped);
	}
	free(escaped);
}

static const char *plural(size_t count)
{
	return count == 1 ? "" : "s";
}

/* A sign for what is not a pass, and the columns that it takes. */
static int put_sign(const struct drawing *d, int x, int y, enum muster_status status)
{
	if (muster_status_weight(status) == 0)
		return 0;
	fprintf(d->page->out, "<use href='#s-%s' x='0' y='0' transform='translate(%d %d) scale(.75)' class='sign'/>",
		muster_status_name(status), x, y - 10);
	return 16;
}

/* ---- CPUs ---- */

/* The height of the rows of draw_masks(): ranks that follow each other with the same CPUs share a row. */
static int masks_height(const struct muster_machine_numa *numa)
{
	size_t rows = 0;
	for (size_t i = 0; i < numa->mask_count; i++)
		rows += i == 0 || !hwloc_bitmap_isequal(numa->masks[i].cpus, numa->masks[i - 1].cpus) ||
			numa->masks[i].near != numa->masks[i - 1].near;
	return (int)rows * LINE;
}

static size_t gpus_on(const struct muster_machine *m, size_t numa)
{
	size_t count = 0;
	for (size_t i = 0; i < m->gpu_count; i++)
		count += m->gpus[i].numa == numa;
	return count;
}

static size_t ports_on(const struct muster_machine *m, size_t numa)
{
	size_t count = 0;
	for (size_t i = 0; i < m->port_count; i++)
		count += m->ports[i].numa == numa;
	return count;
}

/* Of the box of a NUMA node: as high as its ports, its GPUs or its CPUs, whichever need most. */
static int box_height(const struct muster_machine *m, size_t numa)
{
	size_t parts = gpus_on(m, numa) > ports_on(m, numa) ? gpus_on(m, numa) : ports_on(m, numa);
	int of_parts = (int)parts * (PART + SPACE) - SPACE;
	int of_cpus = m->numas[numa].known ? 2 * LINE + 14 + masks_height(&m->numas[numa]) : LINE + 14;
	return of_parts > of_cpus ? of_parts : of_cpus;
}

/* Bars for the CPUs of the NUMA node that are in `set`: neighbours in the list of its CPUs make one bar. Each CPU of
 * the NUMA node has the same width, whatever its number is, so the bars of different sets can be compared. The loop
 * goes on once behind the last CPU, to end the bar that is open. */
static void draw_bar(const struct drawing *d, const struct muster_machine_numa *numa, hwloc_const_cpuset_t set, int y,
	const char *class)
{
	double step = (double)(CPU_WIDTH - LABEL - 16) / hwloc_bitmap_weight(numa->cpus);
	int at = 0, first = -1, cpu = -1;
	do {
		cpu = hwloc_bitmap_next(numa->cpus, cpu);
		bool in = cpu >= 0 && hwloc_bitmap_isset(set, (unsigned int)cpu);
		if (in && first < 0)
			first = at;
		if (!in && first >= 0) {
			fprintf(d->page->out, "<rect class='%s' x='%.1f' y='%d' width='%.1f' height='11'/>", class,
				d->cpu_x + LABEL + 8 + first * step, y, (at - first) * step);
			first = -1;
		}
		at++;
	} while (cpu >= 0);
}

/* Marks between the CPUs of the bar, or between 2, 4, 8, ... of them, so that there are at most TICKS_MAX. */
static void draw_ticks(const struct drawing *d, const struct muster_machine_numa *numa, int y)
{
	int count = hwloc_bitmap_weight(numa->cpus), apart = 1;
	while (count / apart > TICKS_MAX)
		apart *= 2;
	double step = (double)(CPU_WIDTH - LABEL - 16) / count;
	fputs("<path class='ticks' d='", d->page->out);
	for (int i = apart; i < count; i += apart)
		fprintf(d->page->out, "M%.1f %dv11", d->cpu_x + LABEL + 8 + i * step, y);
	fputs("'/>", d->page->out);
}

/* "rank 4", "ranks 0, 1", "ranks 0 ... 7" */
static void put_ranks(const struct drawing *d, const struct muster_machine_mask *masks, size_t count)
{
	muster_html_print(d->page, "rank%s %d", plural(count), masks[0].rank->rank);
	if (count > 1)
		muster_html_print(d->page, "%s %d", count == 2 ? "," : " ...", masks[count - 1].rank->rank);
}

static void draw_masks(const struct drawing *d, const struct muster_machine_numa *numa, int y)
{
	for (size_t i = 0, end; i < numa->mask_count; i = end, y += LINE) {
		const struct muster_machine_mask *mask = &numa->masks[i];
		for (end = i + 1; end < numa->mask_count && numa->masks[end].near == mask->near &&
				  hwloc_bitmap_isequal(numa->masks[end].cpus, mask->cpus);)
			end++;
		fprintf(d->page->out, "<text class='small%s' x='%d' y='%d'>", mask->near ? "" : " far", d->cpu_x + 8,
			y + 10);
		put_ranks(d, mask, end - i);
		fputs("</text>", d->page->out);
		draw_bar(d, numa, mask->cpus, y, mask->near ? "mask" : "mask far");
	}
}

static void draw_numa(const struct drawing *d, size_t place, int y)
{
	const struct muster_machine_numa *numa = &d->m->numas[place];
	FILE *out = d->page->out;
	fprintf(out, "<rect class='box' x='%d' y='%d' width='%d' height='%d' rx='3'/><text x='%d' y='%d'>", d->cpu_x, y,
		CPU_WIDTH, box_height(d->m, place), d->cpu_x + 8, y + 17);
	if (!numa->known) {
		fputs("NUMA node not known</text>\n", out);
		return;
	}
	fprintf(out, "NUMA node %d: CPUs ", numa->index);
	put_cut(d->page, numa->list, LIST_TEXT);
	fprintf(out, "</text><text class='small' x='%d' y='%d'>%d CPUs</text>", d->cpu_x + 8, y + LINE + 16,
		hwloc_bitmap_weight(numa->cpus));
	draw_bar(d, numa, numa->cpus, y + LINE + 6, "cpus");
	draw_ticks(d, numa, y + LINE + 6);
	draw_masks(d, numa, y + 2 * LINE + 8);
	fputc('\n', out);
}

/* ---- ports and GPUs ---- */

/* A line from the edge of the box of a NUMA node: across, up or down to the height of the part, and across to it. */
static void draw_link(const struct drawing *d, int from_x, int from_y, int to_x, int to_y, const char *class)
{
	int bend = from_x + (to_x > from_x ? 20 : -20);
	fprintf(d->page->out, "<path class='%s' d='M%d %dH%dV%dH%d'/>", class, from_x, from_y, bend, to_y, to_x);
}

/* The box of a port or a GPU. It leaves the element <g> open, which the caller closes behind the texts of the part. */
static void draw_part(const struct drawing *d, int x, int y, int width, enum muster_status status)
{
	bool plain = muster_status_weight(status) == 0;
	fprintf(d->page->out, "<g class='%s'><rect class='part' x='%d' y='%d' width='%d' height='%d' rx='3'/>",
		plain ? "fine" : muster_status_name(status), x, y, width, PART);
}

static void draw_ports(const struct drawing *d, size_t numa, int y)
{
	int from = y + box_height(d->m, numa) / 2;
	for (size_t i = 0; i < d->m->port_count; i++) {
		const struct muster_machine_port *port = &d->m->ports[i];
		if (port->numa != numa)
			continue;
		draw_link(d, d->cpu_x, from, MARGIN + PORT_WIDTH, y + PART / 2, "pcie");
		draw_part(d, MARGIN, y, PORT_WIDTH, port->status);
		int sign = put_sign(d, MARGIN + 8, y + 17, port->status);
		fprintf(d->page->out, "<text x='%d' y='%d'>", MARGIN + 8 + sign, y + 17);
		put_cut(d->page, port->name, PORT_TEXT - 9);
		fprintf(d->page->out, "</text><text class='small' x='%d' y='%d'>", MARGIN + 8, y + 33);
		put_cut(d->page, port->state, PORT_TEXT);
		fputs("</text></g>\n", d->page->out);
		y += PART + SPACE;
	}
}

/* NVLink from the GPU to the line that joins its clique. A GPU that reaches fewer GPUs than its clique has is drawn as
 * `far`, with both numbers. */
static void draw_bridge(const struct drawing *d, const struct muster_machine_gpu *gpu, int y)
{
	FILE *out = d->page->out;
	size_t others = gpu->clique >= 0 ? d->m->clique_sizes[gpu->clique] - 1 : 0;
	int x = d->gpu_x + GPU_WIDTH, to = d->width - MARGIN - 12 * (d->m->cliques - 1 - gpu->clique);
	if (gpu->clique < 0)
		return;
	bool less = gpu->peers < others;
	fprintf(out, "<path class='nvlink%s' d='M%d %dH%d'/>", less ? " far" : "", x, y + PART / 2, to);
	if (!gpu->bridge)
		return;
	fprintf(out, "<text class='small%s' x='%d' y='%d'>", less ? " far" : "", x + 8, y + PART / 2 - 5);
	muster_html_print(d->page, "NVLink %s", gpu->bridge);
	fputs("</text>", out);
	if (less)
		fprintf(out, "<text class='small far' x='%d' y='%d'>to %zu of %zu GPUs</text>", x + 8,
			y + PART / 2 + 14, gpu->peers, others);
}

static void draw_gpu(const struct drawing *d, const struct muster_machine_gpu *gpu, int from, int y)
{
	FILE *out = d->page->out;
	bool c2c = gpu->link && strncmp(gpu->link, "C2C", 3) == 0;
	draw_link(d, d->cpu_x + CPU_WIDTH, from, d->gpu_x, y + PART / 2, c2c ? "c2c" : "pcie");
	if (gpu->link) {
		fprintf(out, "<text class='small end' x='%d' y='%d'>", d->gpu_x - 6, y + PART / 2 - 5);
		muster_html_put(d->page, gpu->link);
		fputs("</text>", out);
	}
	if (gpu->now && !c2c) {
		fprintf(out, "<text class='small end far' x='%d' y='%d'>", d->gpu_x - 6, y + PART / 2 + 14);
		muster_html_print(d->page, "now %s", gpu->now);
		fputs("</text>", out);
	}
	draw_bridge(d, gpu, y);
	draw_part(d, d->gpu_x, y, GPU_WIDTH, gpu->status);
	int sign = put_sign(d, d->gpu_x + 8, y + 17, gpu->status);
	fprintf(out, "<text x='%d' y='%d'>", d->gpu_x + 8 + sign, y + 17);
	if (gpu->index >= 0)
		fprintf(out, "GPU %d, ", gpu->index);
	else
		fputs("GPU, ", out);
	if (gpu->rank)
		muster_html_print(d->page, "rank %d", gpu->rank->rank);
	else
		fputs("of no rank", out);
	fprintf(out, "</text><text class='small' x='%d' y='%d'>", d->gpu_x + 8, y + 33);
	char *text = muster_asprintf("%s %s", gpu->bus_id, gpu->name ? gpu->name : "");
	put_cut(d->page, text, GPU_TEXT);
	free(text);
	fputs("</text></g>\n", out);
}

static void draw_gpus(const struct drawing *d, size_t numa, int y)
{
	int from = y + box_height(d->m, numa) / 2;
	for (size_t i = 0; i < d->m->gpu_count; i++)
		if (d->m->gpus[i].numa == numa) {
			draw_gpu(d, &d->m->gpus[i], from, y);
			y += PART + SPACE;
		}
}

/* ---- the whole picture ---- */

/* Above the first NUMA node of a package there is room for its name. */
static bool begins_package(const struct muster_machine *m, size_t numa)
{
	return m->numas[numa].known && m->numas[numa].package >= 0 &&
	       (numa == 0 || m->numas[numa].package != m->numas[numa - 1].package);
}

/* The upper edge of the box of a NUMA node; with the number of NUMA nodes, the lower end of the picture. */
static int top_of(const struct muster_machine *m, size_t numa)
{
	int y = MARGIN;
	for (size_t i = 0; i < m->numa_count; i++) {
		y += begins_package(m, i) ? LINE + 8 : 0;
		if (i == numa)
			break;
		y += box_height(m, i) + SPACE;
	}
	return y;
}

/* A frame around the NUMA nodes of each package, which follow each other. NUMA nodes of an unknown package have none.
 */
static void draw_packages(const struct drawing *d)
{
	const struct muster_machine *m = d->m;
	for (size_t first = 0, end; first < m->numa_count; first = end) {
		for (end = first + 1; end < m->numa_count && m->numas[end].known && !begins_package(m, end);)
			end++;
		int y = top_of(m, first) - LINE - 6, bottom = top_of(m, end - 1) + box_height(m, end - 1) + 6;
		if (begins_package(m, first))
			fprintf(d->page->out,
				"<rect class='package' x='%d' y='%d' width='%d' height='%d' rx='5'/><text "
				"class='small' x='%d' y='%d'>CPU package %d</text>\n",
				d->cpu_x - 6, y, CPU_WIDTH + 12, bottom - y, d->cpu_x, y + 15, m->numas[first].package);
	}
}

/* The line that joins the GPUs of each clique, from its first to its last. */
static void draw_cliques(const struct drawing *d)
{
	for (int clique = 0; clique < d->m->cliques; clique++) {
		int top = d->height, bottom = 0, x = d->width - MARGIN - 12 * (d->m->cliques - 1 - clique);
		for (size_t numa = 0; numa < d->m->numa_count; numa++) {
			int y = top_of(d->m, numa) + PART / 2;
			for (size_t i = 0; i < d->m->gpu_count; i++) {
				if (d->m->gpus[i].numa != numa)
					continue;
				if (d->m->gpus[i].clique == clique) {
					top = y < top ? y : top;
					bottom = y > bottom ? y : bottom;
				}
				y += PART + SPACE;
			}
		}
		fprintf(d->page->out, "<path class='nvlink' d='M%d %dV%d'/>\n", x, top - 2, bottom + 2);
	}
}

/* The picture in words, for screen readers. */
static void put_description(const struct drawing *d)
{
	const struct muster_machine *m = d->m;
	size_t known = 0;
	for (size_t i = 0; i < m->numa_count; i++)
		known += m->numas[i].known;
	muster_html_print(d->page, "%zu NUMA node%s with CPUs, %zu GPU%s, %zu RDMA port%s.", known, plural(known),
		m->gpu_count, plural(m->gpu_count), m->port_count, plural(m->port_count));
	for (size_t i = 0; i < m->numa_count; i++)
		if (m->numas[i].known)
			muster_html_print(d->page, " NUMA node %d: %zu GPU%s, %zu port%s.", m->numas[i].index,
				gpus_on(m, i), plural(gpus_on(m, i)), ports_on(m, i), plural(ports_on(m, i)));
	for (int clique = 0; clique < m->cliques; clique++)
		muster_html_print(d->page, " %zu GPUs reach each other over NVLink.", m->clique_sizes[clique]);
}

void muster_machine_draw(const struct muster_machine *m, const struct muster_html *page, size_t index)
{
	struct drawing d = { .page = page, .m = m, .cpu_x = MARGIN + (m->port_count ? PORT_WIDTH + PORT_LINK : 6) };
	d.gpu_x = d.cpu_x + CPU_WIDTH + GPU_LINK;
	d.width = d.gpu_x + GPU_WIDTH + (m->cliques ? BRIDGE + 12 * (m->cliques - 1) : 0) + MARGIN;
	d.height = top_of(m, m->numa_count) + MARGIN;
	fprintf(page->out,
		"<svg class='machine' viewBox='0 0 %d %d' width='%d' height='%d' role='img' "
		"aria-labelledby='m%zu-title m%zu-text'><title id='m%zu-title'>",
		d.width, d.height, d.width, d.height, index, index, index);
	muster_html_print(page, "Picture of %s", m->node->name);
	fprintf(page->out, "</title><desc id='m%zu-text'>", index);
	put_description(&d);
	fputs("</desc>\n", page->out);
	draw_packages(&d);
	draw_cliques(&d);
	for (size_t i = 0; i < m->numa_count; i++) {
		int y = top_of(m, i);
		draw_ports(&d, i, y);
		draw_gpus(&d, i, y);
		draw_numa(&d, i, y);
	}
	fputs("</svg>\n", page->out);
}
