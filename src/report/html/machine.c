/* machine.c - pictures of nodes: of those with findings, and of one without any to compare with */
#include "muster/run_data.h"
#include "report/html/html.h"
#include "report/html/machine_parts.h"
#include "report/html/places.h"

enum { DRAWN_MAX = 12 }; /* nodes with findings */

/* In words, the ranks with CPUs of other NUMA nodes than that of their GPU: "Rank 5: NUMA nodes 0, 1". */
static void put_far_ranks(const struct muster_html *page, const struct muster_machine *m)
{
	for (size_t r = 0; r < m->node->rank_count; r++) {
		size_t count = 0;
		for (size_t i = 0; i < m->numa_count; i++)
			for (size_t j = 0; j < m->numas[i].mask_count; j++)
				if (m->numas[i].masks[j].rank == &m->node->ranks[r] && !m->numas[i].masks[j].near) {
					if (count++ == 0)
						fprintf(page->out,
							"<li>Rank %d may use CPUs that are not near its GPU: of NUMA "
							"node ",
							m->node->ranks[r].rank);
					fprintf(page->out, "%s%d", count > 1 ? ", " : "", m->numas[i].index);
				}
		fputs(count > 0 ? "</li>\n" : "", page->out);
	}
}

static void print_node(const struct muster_html *page, size_t index)
{
	const struct muster_html_node *place = &page->places->nodes[index];
	struct muster_machine machine;
	muster_machine_make(page->report->run, place, &machine);
	fprintf(page->out, "<figure id='m%zu'><figcaption><h3>", index);
	muster_html_node(page, place->node->name);
	fputc(' ', page->out);
	muster_html_badge(page, place->status);
	muster_html_within(page,
		"</h3></figcaption>\n<div class='wide' role='group' tabindex='0' aria-label='Picture of ",
		place->node->name, "'>\n");
	muster_machine_draw(&machine, page, index);
	fputs("</div>\n<ul class='note'>\n", page->out);
	put_far_ranks(page, &machine);
	fputs("</ul></figure>\n", page->out);
	muster_machine_done(&machine);
}

/* Of both kinds, the first ones of the run are drawn. */
static bool has_findings(const struct muster_html_node *node)
{
	return muster_status_weight(node->status) > 0;
}

static bool has_parts(const struct muster_html_node *node)
{
	return node->gpus.count > 0 || node->ports.count > 0;
}

bool muster_html_is_drawn(const struct muster_html *page, size_t index)
{
	const struct muster_html_places *places = page->places;
	size_t like = 0;
	if (!has_parts(&places->nodes[index]))
		return false;
	for (size_t i = 0; i < index; i++)
		like += has_parts(&places->nodes[i]) &&
			has_findings(&places->nodes[i]) == has_findings(&places->nodes[index]);
	return like < (has_findings(&places->nodes[index]) ? DRAWN_MAX : 1);
}

/* The nodes with findings, or those without. Returns how many there are, drawn or not. */
static size_t print_nodes(const struct muster_html *page, bool findings)
{
	const struct muster_html_places *places = page->places;
	size_t count = 0;
	for (size_t i = 0; i < places->count; i++) {
		if (!has_parts(&places->nodes[i]) || has_findings(&places->nodes[i]) != findings)
			continue;
		count++;
		if (muster_html_is_drawn(page, i))
			print_node(page, i);
	}
	return count;
}

void muster_html_machines(const struct muster_html *page)
{
	bool any = false;
	for (size_t i = 0; i < page->places->count; i++)
		any = any || has_parts(&page->places->nodes[i]);
	if (!any)
		return;
	fputs("<p>RDMA ports are on the left, CPUs in the middle, GPUs on the right. The line on the far right joins "
	      "GPUs that reach each other over NVLink. The bars in the box of a NUMA node are its CPUs and, below, "
	      "the CPUs that each rank may use; a dashed bar is a rank whose GPU is on another NUMA node.</p>\n",
		page->out);
	size_t bad = print_nodes(page, true);
	if (bad > DRAWN_MAX)
		fprintf(page->out, "<p class='note'>%zu more nodes with findings are not drawn.</p>\n",
			bad - DRAWN_MAX);
	if (bad > 0 && bad < page->places->count)
		fputs("<p>For comparison, a node without findings:</p>\n", page->out);
	print_nodes(page, false);
}
