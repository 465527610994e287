/* SPDX-License-Identifier: Apache-2.0 */
/* placement.c - which nodes are in which switch or block, as far as Slurm has said it */
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

static int by_place(const void *a, const void *b)
{
	const struct placed *x = a, *y = b;
	if (!x->place || !y->place)
		return !x->place - !y->place;
	return strverscmp(x->place, y->place);
}

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
