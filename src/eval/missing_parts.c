/* SPDX-License-Identifier: Apache-2.0 */
/* missing_parts.c - which GPUs and ports a node lacks, and what that explains on its ranks
 *
 * A complete list of names comes from the expectations (equals_by), or from another node of the run. It is believed
 * only when it has as many names as there should be, and all that are there.
 *
 * What a missing GPU explains: of eight ranks on a node that has lost GPU 2, rank 2 gets GPU 3, rank 3 GPU 4 and so on,
 * and the last rank shares one. So a check of affinity or of the launch fails on healthy ranks. Such a failure is
 * blocked by the finding about the number of GPUs, if the rank has another GPU than the one with its number in the
 * complete list.
 */
#include "eval/answers.h"

#include "util/text.h"

#include <string.h>

enum { NODES_LOOKED_AT = 64 };

/* Names of GPUs or ports, in arena. */
struct names {
	const char **items;
	size_t count;
};

static void add(struct names *names, struct muster_arena *arena, const char *name)
{
	const char **items = muster_arena_alloc(arena, (names->count + 1) * sizeof *items);
	if (names->count)
		memcpy(items, names->items, names->count * sizeof *items);
	items[names->count++] = name;
	names->items = items;
}

static struct names gpus_of(const struct muster_node *node, struct muster_arena *arena)
{
	struct names names = { 0 };
	const char *at = muster_sample_text(&node->samples, "node.gpu_bus_ids", "");
	while (*(at += strspn(at, " "))) {
		size_t length = strcspn(at, " ");
		add(&names, arena, muster_arena_string_n(arena, at, length));
		at += length;
	}
	return names;
}

static struct names ports_of(const struct muster_node *node, struct muster_arena *arena)
{
	const struct muster_metric *metric = muster_metric_find("port.state");
	struct names names = { 0 };
	for (size_t i = 0; i < node->samples.count; i++) {
		const struct muster_sample *sample = &node->samples.items[i];
		const char *port = muster_sample_label_text(sample, "port");
		if (sample->metric == metric && *port &&
			strcmp(muster_sample_label_text(sample, "link_layer"), "InfiniBand") == 0)
			add(&names, arena, port);
	}
	return names;
}

/* What a metric counts: the label of its parts in equals_by, and how their names are found on a node. */
static const struct part {
	const char *label;
	struct names (*of)(const struct muster_node *node, struct muster_arena *arena);
} parts[] = { [MUSTER_COUNTS_GPUS] = { "gpu", gpus_of }, [MUSTER_COUNTS_PORTS] = { "port", ports_of } };

/* Whether `all` is the list of a complete node to which `here` belongs. */
static bool is_complete(const struct names *all, const struct names *here, double wanted)
{
	for (size_t i = 0; i < here->count; i++)
		if (!muster_text_among(here->items[i], all->items, all->count))
			return false;
	return (double)all->count == wanted;
}

/* The names of all parts of a complete node like this one, `wanted` of them: from the list of an equals_by, else from
 * one of the first NODES_LOOKED_AT nodes of the run that has as many. None when neither is known, and when the names
 * seen on this node are not as many as its metric counts: then the names are no basis. */
static struct names find_all(
	const struct muster_eval *eval, const struct muster_metric *metric, uint32_t node, double wanted)
{
	const struct muster_expect *expect = eval->expect;
	const struct part *part = &parts[metric->counts];
	struct names here = part->of(&eval->run->nodes[node], eval->arena);
	if ((double)here.count != muster_sample_number(&eval->run->nodes[node].samples, metric->name, -1))
		return (struct names){ 0 };
	for (size_t i = 0; i < expect->check_count; i++) {
		const struct muster_operand *by = muster_check_operand(&expect->checks[i], MUSTER_OF_LABEL);
		struct names all = { 0 };
		if (!by || strcmp(by->label, part->label) != 0 || (double)by->list_count != wanted)
			continue;
		for (size_t j = 0; j < by->list_count; j++)
			add(&all, eval->arena, muster_arena_string(eval->arena, by->list[j].label_value));
		if (is_complete(&all, &here, wanted))
			return all;
	}
	for (size_t n = 0; n < eval->run->node_count && n < NODES_LOOKED_AT; n++) {
		if (muster_sample_number(&eval->run->nodes[n].samples, metric->name, -1) != wanted)
			continue;
		struct names all = part->of(&eval->run->nodes[n], eval->arena);
		if (is_complete(&all, &here, wanted))
			return all;
	}
	return (struct names){ 0 };
}

/* The number of GPUs or ports that the check asks for; 0: none. */
static double wanted_by(const struct muster_check *check)
{
	const struct muster_operand *wanted = muster_check_operand_named(check, "equals");
	return wanted && wanted->value.type == MUSTER_NUMBER ? wanted->value.number : 0;
}

static const char *describe_ranks_per_gpu(const struct muster_node *node, struct muster_arena *arena)
{
	double ranks = muster_sample_number(&node->samples, "node.ranks", -1),
	       gpus = muster_sample_number(&node->samples, "node.gpu_count", -1);
	return ranks > 0 && gpus > 0 ? muster_arena_printf(arena, "%g rank%s for %g GPU%s", ranks,
					       ranks == 1 ? "" : "s", gpus, gpus == 1 ? "" : "s")
				     : NULL;
}

/* "7" becomes "7, without 0003:00:00.0", or of ranks for each GPU "8 ranks for 7 GPUs". Other texts stay. */
const char *muster_describe_observed(
	const struct muster_eval *eval, const struct muster_check *check, uint32_t node, const char *observed)
{
	const struct muster_metric *metric = check->metric;
	const char *text = NULL;
	if (node == MUSTER_NOWHERE || metric->counts == MUSTER_COUNTS_OTHER)
		return observed;
	if (metric->counts == MUSTER_COUNTS_RANKS) {
		text = describe_ranks_per_gpu(&eval->run->nodes[node], eval->arena);
		return text ? text : observed;
	}
	struct names all = find_all(eval, metric, node, wanted_by(check));
	struct names here = parts[metric->counts].of(&eval->run->nodes[node], eval->arena);
	for (size_t j = 0; j < all.count; j++)
		if (!muster_text_among(all.items[j], here.items, here.count))
			text = muster_arena_printf(eval->arena, "%s%s%s", text ? text : observed,
				text ? ", " : ", without ", all.items[j]);
	return text ? text : observed;
}

/* ---- ranks of a node that lacks GPUs ---- */

static const char *gpu_of(const struct muster_rank *rank)
{
	const struct muster_metric *metric = muster_metric_find("rank.gpu_sharers");
	for (size_t i = 0; i < rank->samples.count; i++) {
		const struct muster_sample *sample = &rank->samples.items[i];
		const char *gpu = muster_label_string(sample->labels, sample->label_count, "gpu");
		if (sample->metric == metric && sample->value.type != MUSTER_NULL && gpu)
			return gpu;
	}
	return NULL;
}

/* More ranks of the node have a GPU than there are GPUs: some must share. */
static bool must_share(const struct muster_node *node)
{
	size_t ranks = 0;
	for (size_t i = 0; i < node->rank_count; i++)
		ranks += gpu_of(&node->ranks[i]) != NULL;
	return (double)ranks > muster_sample_number(&node->samples, "node.gpu_count", -1);
}

/* By what the probe's results follow from (enum muster_follows):
 *   NOTHING   never explained
 *   SHARING   where more ranks have a GPU than there are GPUs
 *   GPU       the same; else where the rank's GPU is not the one at its local rank in the complete list */
bool muster_missing_gpu_explains(const struct muster_eval *eval, size_t count_check, const struct muster_metric *metric,
	struct muster_place place)
{
	const enum muster_follows follows = muster_probe_find(muster_metric_probe(metric))->follows;
	if (place.node == MUSTER_NOWHERE || follows == MUSTER_FOLLOWS_NOTHING)
		return false; /* a GPU is what it is, whatever rank it has */
	const struct muster_node *node = &eval->run->nodes[place.node];
	if (place.rank == MUSTER_NOWHERE) { /* of affinity, a node's value is that of any of its ranks */
		for (size_t i = 0; follows == MUSTER_FOLLOWS_GPU && i < node->rank_count; i++)
			if (muster_missing_gpu_explains(eval, count_check, metric,
				    (struct muster_place){ .node = place.node, .rank = (uint32_t)i }))
				return true;
		return false;
	}
	const struct muster_rank *rank = &node->ranks[place.rank];
	const char *gpu = gpu_of(rank);
	if (!gpu || follows == MUSTER_FOLLOWS_SHARING || must_share(node))
		return gpu && must_share(node);
	struct names all =
		find_all(eval, muster_metric_find("node.gpu_count"), place.node, wanted_by(&eval->checks[count_check]));
	return rank->local_rank >= 0 && (size_t)rank->local_rank < all.count &&
	       strcmp(all.items[rank->local_rank], gpu) != 0;
}
