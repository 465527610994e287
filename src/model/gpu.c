/* SPDX-License-Identifier: Apache-2.0 */
/* gpu.c - which GPU of its node a bus id is, and how people read it
 *
 * Two sources, in this order: the node's list of the bus ids of all its GPUs in the order of nvidia-smi (a metric with
 * MUSTER_GPU_ORDER), in which the place is the index; or the index that NVML gave the GPU of each rank
 * (MUSTER_GPU_INDEX). Reports of an older muster have only the second one.
 */
#include "model/gpu.h"

#include <stdlib.h>
#include <string.h>

static const struct muster_sample *find(const struct muster_samples *samples, enum muster_gpu_index_as as)
{
	for (size_t i = 0; i < samples->count; i++)
		if (samples->items[i].metric->gpu_index == as)
			return &samples->items[i];
	return NULL;
}

/* The place of a word in a list; -1: the list does not have the word. */
static int place_in(const char *list, const char *word)
{
	size_t length = strlen(word);
	int place = 0;
	for (const char *at = list; *(at += strspn(at, " ")); at += strcspn(at, " "), place++)
		if (strcspn(at, " ") == length && strncmp(at, word, length) == 0)
			return place;
	return -1;
}

int muster_node_gpu_index(const struct muster_node *node, const char *bus_id)
{
	if (!node || !bus_id || !*bus_id)
		return -1;
	const struct muster_sample *order = find(&node->samples, MUSTER_GPU_ORDER);
	if (order && order->value.type == MUSTER_STRING)
		return place_in(order->value.string, bus_id);
	for (size_t r = 0; r < node->rank_count; r++) {
		const struct muster_sample *own = find(&node->ranks[r].samples, MUSTER_GPU_INDEX);
		if (own && own->value.type == MUSTER_NUMBER && own->value.number >= 0 && own->value.number < 1024 &&
			strcmp(muster_sample_label_text(own, "gpu"), bus_id) == 0)
			return (int)own->value.number;
	}
	return -1;
}

char *muster_gpu_text(const char *bus_id, int index)
{
	if (!bus_id)
		bus_id = "?";
	return index < 0 ? muster_asprintf("GPU %s", bus_id) : muster_asprintf("GPU %d (%s)", index, bus_id);
}

const char *muster_node_gpu_text(struct muster_arena *arena, const struct muster_node *node, const char *bus_id)
{
	char *text = muster_gpu_text(bus_id, muster_node_gpu_index(node, bus_id));
	const char *kept = muster_arena_string(arena, text);
	free(text);
	return kept;
}
