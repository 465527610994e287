/* SPDX-License-Identifier: Apache-2.0 */
/* placement.c - which nodes are in which switch or block, as far as Slurm has said it
 *
 * Slurm tells each job step where its node is, as "s0.s1" from the highest switch to the lowest; probes/launch.c
 * records that as node.slurm_topology. Nodes with equal texts are one place. The text summary and the Markdown report
 * print the places:
 *
 *    run: gpu-1 "s0.s1", gpu-2 "s0.s1", gpu-3 "s0.s2", gpu-4 null
 *    places: { "s0.s1", "gpu-[1-2]" }, { "s0.s2", "gpu-3" }, { NULL, "gpu-4" }
 */
#include "slurm/placement.h"

#include "muster/probe.h"
#include "muster/run_data.h"
#include "slurm/hostlist.h"
#include "util/text.h"

#include <stdlib.h>
#include <string.h>

struct placed {
	const char *place, *node;
};

static const char *place_of(const struct muster_node *node)
{
	const struct muster_sample *sample = muster_sample_named(&node->samples, "node.slurm_topology");
	return sample && sample->value.type == MUSTER_STRING ? sample->value.string : NULL;
}

/* By place, in natural order (s2 before s10); nodes without a place last. */
static int by_place(const void *a, const void *b)
{
	const struct placed *x = a, *y = b;
	if (!x->place || !y->place)
		return !x->place - !y->place;
	return strverscmp(x->place, y->place);
}

/* The nodes are sorted by place, and each run of equal places becomes a row. Where no node has a place, there is no row
 * at all. The node "?", to which ranks of an unknown node belong, is not counted. */
void muster_placement_make(const struct muster_run *run, struct muster_placement *ret)
{
	struct placed *all = muster_calloc(run->node_count, sizeof *all);
	const char **names = muster_calloc(run->node_count, sizeof *names);
	size_t count = 0;
	for (size_t i = 0; i < run->node_count; i++)
		if (strcmp(run->nodes[i].name, "?") != 0)
			all[count++] = (struct placed){ place_of(&run->nodes[i]), run->nodes[i].name };
	if (count > 0)
		qsort(all, count, sizeof *all, by_place);
	*ret = (struct muster_placement){ 0 };
	if (count > 0 && all[0].place)
		ret->places = muster_calloc(count, sizeof *ret->places);
	for (size_t first = 0, end; ret->places && first < count; first = end) {
		for (end = first; end < count && by_place(&all[first], &all[end]) == 0; end++)
			names[end - first] = all[end].node;
		ret->places[ret->count++] = (struct muster_node_block){
			.name = all[first].place,
			.nodes = muster_hostlist_compress(names, end - first),
		};
	}
	free(names);
	free(all);
}

void muster_placement_done(struct muster_placement *placement)
{
	for (size_t i = 0; i < placement->count; i++)
		free(placement->places[i].nodes);
	free(placement->places);
	*placement = (struct muster_placement){ 0 };
}
