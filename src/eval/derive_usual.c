/* SPDX-License-Identifier: Apache-2.0 */
/* derive_usual.c - what the exchanges of a run that are alike reach: a measure where no limit is known
 *
 * Within a node, or through adapters that NCCL's log does not name, an exchange is like those of the same two GPUs, by
 * bus id, on other nodes: other pairs of GPUs may have another path. Else between nodes it is like all exchanges over
 * NVLink, or through a network adapter or an interface of the same name, with as many ranks on both nodes. Of each rank
 * only its best exchange counts, since a slow part slows down both exchanges of its own rank, but only one of the two
 * of each neighbour.
 *
 * By numbers: four nodes in a cycle of rails, and the adapter of node 2 is slow. Rails 0-1 and 3-0 have 45 GB/s, 1-2
 * and 2-3 have 30. The best of each rank are 45, 45, 30, 45: the median is 45, and both slow rails are at 67 % of it.
 * With all values in place of the best ones the median would be 37.5.
 */
#include "eval/derive.h"

#include "muster/probe.h"
#include "muster/run_data.h"
#include "util/array.h"

#include <stdlib.h>
#include <string.h>

#define USUAL "pair.exchange_usual_gbps"
#define NODES_LEAST 3 /* of two it is not known which one is usual; peers.c says how many may fail one */

enum { KIND, TRANSPORT, NIC, OWN_GPU, PEER_GPU, TEXTS };

struct exchange {
	const char *texts[TEXTS];
	size_t sizes[2]; /* ranks of its own node and of the other one */
	size_t place[2]; /* its node and rank */
	size_t at;
	double gbps;
	const char *path;
};

struct exchanges {
	struct exchange *items;
	size_t count, room;
};

static int by_likeness(const struct exchange *a, const struct exchange *b)
{
	int order = muster_sizes_order(a->sizes, b->sizes, 2);
	for (size_t i = 0; i < TEXTS && order == 0; i++)
		order = strcmp(a->texts[i], b->texts[i]);
	return order;
}

/* Exchanges that are alike, by ranks, the best one of each rank first. */
static int in_order(const void *left, const void *right)
{
	const struct exchange *a = left, *b = right;
	int order = by_likeness(a, b);
	if (order == 0)
		order = muster_sizes_order(a->place, b->place, 2);
	if (order == 0)
		order = (a->gbps < b->gbps) - (a->gbps > b->gbps);
	return order ? order : muster_sizes_order(&a->at, &b->at, 1);
}

static const char *path_of(const char *transport, bool network)
{
	if (!network)
		return "node";
	if (strncmp(transport, "NET/", 4) != 0)
		return "unknown";
	return strncmp(transport, "NET/Socket", 10) == 0 ? "sockets" : "network";
}

static void gather(const struct muster_exchange_peers *peers, struct exchanges *ret)
{
	const struct muster_run *run = peers->run;
	const struct muster_metric *metric = muster_metric_find("pair.exchange_gbps");
	struct muster_exchange_end peer;
	for (size_t n = 0; n < run->node_count; n++)
		for (size_t r = 0; r < run->nodes[n].rank_count; r++) {
			const struct muster_rank *rank = &run->nodes[n].ranks[r];
			for (size_t i = 0; i < rank->samples.count; i++) {
				const struct muster_sample *sample = &rank->samples.items[i];
				if (sample->metric != metric || sample->value.type != MUSTER_NUMBER ||
					muster_exchange_why_small(&rank->samples, i, run->arena) ||
					!muster_exchange_peer_find(peers, sample, &peer))
					continue;
				bool network = muster_exchange_is_network(peers, sample);
				bool by_gpu = peer.node == n || (network && !muster_exchange_nic(sample));
				const char *transport = muster_sample_label_text(sample, "transport");
				struct exchange exchange = {
					.texts = { [KIND] = muster_sample_label_text(sample, "kind"),
						[TRANSPORT] = transport,
						[NIC] = muster_sample_label_text(sample, "nic"),
						[OWN_GPU] = by_gpu && rank->gpu ? rank->gpu : "",
						[PEER_GPU] =
							by_gpu ? muster_sample_label_text(sample, "peer_gpu") : "" },
					.sizes = { run->nodes[n].rank_count, run->nodes[peer.node].rank_count },
					.place = { n, r },
					.at = i,
					.gbps = sample->value.number,
					.path = path_of(transport, network),
				};
				MUSTER_ARRAY_PUSH(ret->items, ret->count, ret->room, exchange);
			}
		}
}

/* Exchanges that are alike. */
static void emit_all(struct muster_run *run, const struct exchange *items, size_t count, double *bests)
{
	const struct muster_metric *metric = muster_metric_find(USUAL);
	size_t ranks = 0, nodes = 0;
	for (size_t i = 0; i < count; i++) {
		bool same_node = i > 0 && items[i].place[0] == items[i - 1].place[0];
		nodes += !same_node;
		if (!same_node || items[i].place[1] != items[i - 1].place[1])
			bests[ranks++] = items[i].gbps;
	}
	if (nodes < NODES_LEAST)
		return;
	const char *words = muster_arena_printf(run->arena, "the median of %zu ranks", ranks);
	const struct muster_limit usual = { .gbps = muster_median_of(bests, ranks), .words = words };
	for (size_t i = 0; i < count && usual.gbps > 0; i++)
		muster_exchange_limit_add(run, (struct muster_exchange_end){ items[i].place[0], items[i].place[1] },
			items[i].at, metric, items[i].path, usual);
}

void muster_run_derive_usual(struct muster_run *run, const struct muster_exchange_peers *peers)
{
	struct exchanges all = { 0 };
	if (run->node_count < NODES_LEAST || muster_exchange_is_measured(run, muster_metric_find(USUAL)))
		return;
	gather(peers, &all);
	double *bests = muster_calloc(all.count + 1, sizeof *bests);
	if (all.count > 0)
		qsort(all.items, all.count, sizeof *all.items, in_order);
	for (size_t i = 0, next; i < all.count; i = next) {
		for (next = i + 1; next < all.count && by_likeness(&all.items[i], &all.items[next]) == 0;)
			next++;
		emit_all(run, &all.items[i], next - i, bests);
	}
	free(bests);
	free(all.items);
}
