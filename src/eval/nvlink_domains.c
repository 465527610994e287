/* SPDX-License-Identifier: Apache-2.0 */
/* nvlink_domains.c - how many NVLink domains the GPUs of a run span
 *
 * GPUs of one fabric carry the same cluster UUID and the same clique. A node without such a fabric (its GPUs are linked
 * inside it, or not at all) is a domain of its own. The driver numbers cliques within a cluster: NVLink joins only GPUs
 * of one clique, so that a rack whose fabric is partitioned in two is two domains.
 */
#include "eval/nvlink_domains.h"

#include "muster/arena.h"
#include "muster/run_data.h"
#include "util/array.h"

#include <stdlib.h>
#include <string.h>

/* A UUID of zeros alone stands for no fabric. */
static bool is_cluster(const char *uuid)
{
	return uuid && uuid[strspn(uuid, "0-")];
}

const char *muster_nvlink_fabric(
	const struct muster_rank *rank, const struct muster_metric *clique, struct muster_arena *arena)
{
	for (size_t i = 0; clique && !rank->missing && i < rank->samples.count; i++) {
		const struct muster_sample *sample = &rank->samples.items[i];
		const char *cluster = muster_label_string(sample->labels, sample->label_count, "cluster");
		if (sample->metric == clique && sample->value.type == MUSTER_NUMBER && is_cluster(cluster))
			return muster_arena_printf(arena, "%s/%.17g", cluster, sample->value.number);
	}
	return "";
}

struct member {
	size_t node;        /* of the rank, by index */
	const char *fabric; /* as of muster_nvlink_fabric */
};

static int by_fabric(const void *a, const void *b)
{
	const struct member *x = a, *y = b;
	int order = strcmp(x->fabric, y->fabric);
	return order ? order : (x->node > y->node) - (x->node < y->node);
}

static void count_domain(struct muster_nvlink_domains *domains, size_t nodes)
{
	domains->fewest_nodes = domains->count == 0 || nodes < domains->fewest_nodes ? nodes : domains->fewest_nodes;
	domains->count++;
}

struct muster_nvlink_domains muster_nvlink_domains_of(const struct muster_run *run, const struct muster_metric *clique)
{
	struct muster_nvlink_domains domains = { 0 };
	size_t count = 0, ranks = 0;
	for (size_t n = 0; n < run->node_count; n++)
		ranks += run->nodes[n].rank_count;
	struct member *members = muster_calloc(ranks + 1, sizeof *members);
	for (size_t n = 0; n < run->node_count; n++) {
		bool any = false, joined = false;
		for (size_t r = 0; r < run->nodes[n].rank_count; r++) {
			const struct muster_rank *rank = &run->nodes[n].ranks[r];
			struct member member = { n, muster_nvlink_fabric(rank, clique, run->arena) };
			any = any || !rank->missing;
			joined = joined || *member.fabric;
			if (*member.fabric)
				members[count++] = member;
		}
		if (any && !joined)
			count_domain(&domains, 1);
	}
	qsort(members, count, sizeof *members, by_fabric);
	for (size_t i = 0, next; i < count; i = next) {
		size_t nodes = 1;
		for (next = i + 1; next < count && strcmp(members[next].fabric, members[i].fabric) == 0; next++)
			nodes += members[next].node != members[next - 1].node;
		count_domain(&domains, nodes);
	}
	free(members);
	return domains;
}
