/* nvlink_domains.c - how many NVLink domains the GPUs of a run span
 *
 * GPUs of one fabric carry the same cluster UUID and the same clique. A node without such a fabric (its GPUs are linked
 * inside it, or not at all) is a domain of its own.
 */
#include "eval/nvlink_domains.h"

#include "eval/eval.h"
#include "muster/arena.h"
#include "util/array.h"

#include <stdlib.h>
#include <string.h>

struct fabric {
	const char *cluster;
	double clique;
};

struct fabrics {
	struct fabric *items;
	size_t count, room;
};

static int by_fabric(const void *a, const void *b)
{
	const struct fabric *x = a, *y = b;
	int order = strcmp(x->cluster, y->cluster);
	return order ? order : (x->clique > y->clique) - (x->clique < y->clique);
}

/* The GPUs of a node are of one fabric, as a rule: the same one again is not kept. */
static void add_fabric(struct fabrics *fabrics, struct fabric fabric)
{
	if (fabrics->count && by_fabric(&fabrics->items[fabrics->count - 1], &fabric) == 0)
		return;
	MUSTER_ARRAY_PUSH(fabrics->items, fabrics->count, fabrics->room, fabric);
}

/* A UUID of zeros alone stands for no fabric. */
static bool is_cluster(const char *uuid)
{
	return uuid && uuid[strspn(uuid, "0-")];
}

/* Returns whether one of the rank's GPUs has a fabric. */
static bool collect_rank(struct fabrics *fabrics, const struct muster_rank *rank, const struct muster_metric *clique)
{
	bool found = false;
	for (size_t i = 0; !rank->missing && i < rank->samples.count; i++) {
		const struct muster_sample *sample = &rank->samples.items[i];
		if (sample->metric != clique || sample->value.type != MUSTER_NUMBER)
			continue;
		const char *cluster = muster_label_string(sample->labels, sample->label_count, "cluster");
		if (!is_cluster(cluster))
			continue;
		add_fabric(fabrics, (struct fabric){ cluster, sample->value.number });
		found = true;
	}
	return found;
}

size_t muster_nvlink_domains_count(const struct muster_run *run, const struct muster_metric *clique)
{
	struct fabrics fabrics = { 0 };
	size_t domains = 0;
	for (size_t n = 0; n < run->node_count; n++) {
		const struct muster_node *node = &run->nodes[n];
		bool found = false;
		if (muster_node_leader(node) == MUSTER_NOWHERE)
			continue;
		for (size_t r = 0; clique && r < node->rank_count; r++)
			found = collect_rank(&fabrics, &node->ranks[r], clique) || found;
		domains += !found;
	}
	if (fabrics.count)
		qsort(fabrics.items, fabrics.count, sizeof *fabrics.items, by_fabric);
	for (size_t i = 0; i < fabrics.count; i++)
		domains += i == 0 || by_fabric(&fabrics.items[i - 1], &fabrics.items[i]) != 0;
	free(fabrics.items);
	return domains;
}

const char *muster_nvlink_fabric(
	const struct muster_rank *rank, const struct muster_metric *clique, struct muster_arena *arena)
{
	struct fabrics fabrics = { 0 };
	const char *text = "";
	if (clique && collect_rank(&fabrics, rank, clique))
		text = muster_arena_printf(arena, "%s/%g", fabrics.items[0].cluster, fabrics.items[0].clique);
	free(fabrics.items);
	return text;
}
