/* SPDX-License-Identifier: Apache-2.0 */
/* machine.c - pictures of nodes: of those with findings, and of one without any to compare with
 *
 * places.c has chosen which nodes have a picture (`drawn`). Of nodes that did not pass, the first OPEN_MAX can be seen
 * at once, and one click opens the others; the picture of the node that passed comes last.
 */
#include "muster/run_data.h"
#include "report/html/html.h"
#include "report/html/machine_parts.h"
#include "report/html/places.h"

enum { OPEN_MAX = 3 }; /* pictures that can be seen without a click */

/* In words, the ranks with CPUs of other NUMA nodes than that of their GPU: "Rank 5 may use CPUs that are not near its
 * GPU: of NUMA node 0, 1". */
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

/* The pictures of the nodes that did not pass, in the order of the details. Returns how many there are. */
static size_t print_bad(const struct muster_html *page)
{
	const struct muster_html_places *places = page->places;
	size_t drawn = 0;
	char text[64];
	for (size_t i = 0; i < places->worst_count; i++) {
		if (!places->nodes[places->worst[i]].drawn)
			continue;
		if (drawn++ == OPEN_MAX)
			fputs("<details><summary>Pictures of more nodes with findings</summary>\n", page->out);
		print_node(page, places->worst[i]);
	}
	fputs(drawn > OPEN_MAX ? "</details>\n" : "", page->out);
	if (drawn < places->worst_count && drawn == MUSTER_HTML_DRAWN_MAX)
		fprintf(page->out, "<p class='note'>Not drawn: %s with findings.</p>\n",
			muster_html_plural(text, places->worst_count - drawn, "more node"));
	return drawn;
}

void muster_html_machines(const struct muster_html *page)
{
	const struct muster_html_places *places = page->places;
	size_t healthy = 0, drawn = 0;
	for (size_t i = places->count; i-- > 0;) {
		drawn += places->nodes[i].drawn;
		if (places->nodes[i].drawn && places->nodes[i].status == MUSTER_PASS)
			healthy = i;
	}
	if (drawn == 0)
		return;
	fputs("<p>RDMA ports are on the left, CPUs in the middle, GPUs on the right. The line on the far right joins "
	      "GPUs that reach each other over NVLink. The bars in the box of a NUMA node are its CPUs and, below, "
	      "the CPUs that each rank may use; a dashed bar is a rank whose GPU is on another NUMA node.</p>\n",
		page->out);
	size_t bad = print_bad(page);
	if (bad == drawn)
		return;
	fputs(bad > 0 ? "<details><summary>For comparison, a node without findings</summary>\n" : "", page->out);
	print_node(page, healthy);
	fputs(bad > 0 ? "</details>\n" : "", page->out);
}
