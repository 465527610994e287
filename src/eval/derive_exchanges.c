/* SPDX-License-Identifier: Apache-2.0 */
/* derive_exchanges.c - what an exchange between two ranks can reach at most: the lower limit of its two ends
 *
 * Within a node or an NVLink domain the limit is that of all NVLinks of a GPU, where switches join the GPUs or there
 * are only two of them, or NVLink joins the GPU to this one alone: then all links lead to the peer. Between nodes it is
 * the live rate of the NIC that NCCL names for the rank, shared by all ranks of the node that use the NIC. Through the
 * host's memory it is PCIe.
 *
 * By numbers: eight GPUs of a node behind NVSwitches, with 18 NVLinks of 26.6 GB/s each: an exchange of two of them can
 * reach 478 GB/s. Through an adapter of 50 GB/s that two ranks share, each of the two can reach 25 GB/s. Where one end
 * has 50 and the other 25, the exchange has 25: the limit is that of the slower end.
 */
#include "eval/derive.h"

#include "muster/probe.h"
#include "muster/run_data.h"
#include "util/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SWITCHED_GPUS 8 /* so many GPUs of a node, each joined to all others, have NVSwitches between them */

/* What a rank says of its links. */
struct rank_facts {
	bool known;
	bool fabric;           /* switches join its GPU to others */
	double links, peers;   /* NVLinks that are up, below 0: not known; GPUs of the node that they reach */
	const char *peer_gpus; /* bus ids of these, separated by spaces; NULL: not known */
	struct muster_limit nvlink, pcie;
	const char *nic; /* as NCCL names it: "mlx5_ib3:1", several joined by "+"; NULL when it uses none */
	struct muster_limit nic_limit; /* its share of them; gbps is 0 and why NULL: not known yet */
};

struct node_facts {
	size_t first_rank; /* its number in the run */
	double gpus;
};

struct derivation {
	struct muster_run *run;
	const struct muster_exchange_peers *peers;
	const struct muster_metric *exchange, *limit, *port_limit;
	struct node_facts *nodes;
	struct rank_facts *ranks;
};

static struct rank_facts *facts_of(struct derivation *d, struct muster_exchange_end end)
{
	struct rank_facts *rank = &d->ranks[d->nodes[end.node].first_rank + end.rank];
	const struct muster_samples *samples = &d->run->nodes[end.node].ranks[end.rank].samples;
	if (rank->known)
		return rank;
	const char *fabric = muster_sample_text(samples, "gpu.fabric_state", NULL);
	*rank = (struct rank_facts){ .known = true,
		.fabric = fabric && strcmp(fabric, "completed") == 0,
		.links = muster_sample_number(samples, "gpu.nvlinks", -1),
		.peers = muster_sample_number(samples, "gpu.nvlink_peers", 0),
		.peer_gpus = muster_sample_text(samples, "gpu.nvlink_peer_gpus", NULL),
		.nvlink = muster_limit_of(samples, "gpu.nvlink_limit_gbps", d->run->arena),
		.pcie = muster_limit_of(samples, "gpu.pcie_limit_gbps", d->run->arena) };
	for (size_t i = 0; i < samples->count && !rank->nic; i++)
		if (samples->items[i].metric == d->exchange && muster_exchange_is_network(d->peers, &samples->items[i]))
			rank->nic = muster_sample_label_text(&samples->items[i], "nic");
	return rank;
}

/* The limit of one end, towards the other one, of an exchange that does not go through network adapters:
 *   NVLink    the GPU has NVLinks, and all of them lead to the peer: see the top of this file
 *   PCIe      the GPU has no NVLink; or it is unknown whether it has one, and the data go through the host's memory
 *             (by_host); or its NVLinks are known, and none leads to the peer
 *   unknown   the GPU has NVLinks, and how many of them lead to the peer is not known; or whether it has NVLinks is not
 *             known */
static struct muster_limit gpu_limit(struct derivation *d, struct muster_exchange_end end,
	struct muster_exchange_end other, bool by_host, const char **ret_path)
{
	const struct rank_facts *rank = facts_of(d, end);
	const char *gpu = d->run->nodes[other.node].ranks[other.rank].gpu;
	double gpus = d->nodes[end.node].gpus;
	bool same_node = end.node == other.node, known = same_node && gpu && rank->peer_gpus;
	bool joined = known && muster_text_has_word(rank->peer_gpus, gpu);
	bool all_joined = rank->peers >= gpus - 1 && (gpus <= 2 || gpus >= SWITCHED_GPUS);
	*ret_path = "NVLink";
	if (rank->links > 0 && (rank->fabric || !same_node || all_joined || (joined && rank->peers <= 1)))
		return rank->nvlink;
	*ret_path = "PCIe";
	if ((rank->links < 1 && (rank->links >= 0 || by_host)) || (known && !joined))
		return rank->pcie;
	*ret_path = "unknown";
	return (struct muster_limit){ .why = rank->links > 0
						     ? "how many of its NVLinks lead to the other GPU is not known"
						     : "whether NVLink joins the two GPUs is not known" };
}

/* The first part of a list of NCCL, "mlx5_0:1+mlx5_1:1", and its length. *list moves behind it. False at the end. */
static bool next_part(const char **list, const char **ret, size_t *ret_length)
{
	*ret = *list;
	*ret_length = strcspn(*list, "+");
	*list += *ret_length + ((*list)[*ret_length] == '+');
	return *ret_length > 0;
}

static bool uses(const char *nics, const char *nic, size_t length)
{
	const char *one;
	size_t one_length;
	while (nics && next_part(&nics, &one, &one_length))
		if (one_length == length && strncmp(one, nic, length) == 0)
			return true;
	return false;
}

/* The live rate of a port, by the name that NCCL has for it: "mlx5_0:1" is the sample with the port "mlx5_0/1". */
static struct muster_limit port_limit(
	const struct derivation *d, const struct muster_node *node, const char *nic, size_t length)
{
	size_t colon = strcspn(nic, ":");
	for (size_t i = 0; i < node->samples.count && colon < length; i++) {
		const struct muster_sample *sample = &node->samples.items[i];
		const char *port = sample->metric == d->port_limit ? muster_sample_label_text(sample, "port") : "";
		if (strncmp(port, nic, colon) != 0 || port[colon] != '/' ||
			strncmp(port + colon + 1, nic + colon + 1, length - colon - 1) != 0 || port[length])
			continue;
		if (sample->value.type == MUSTER_NUMBER && sample->value.number > 0)
			return (struct muster_limit){ .gbps = sample->value.number };
		return (struct muster_limit){ .why = muster_arena_printf(d->run->arena,
						      "port.limit_gbps of %s on %s: %s", port, node->name,
						      sample->reason ? sample->reason : "not measured"),
			.unread = muster_sample_unread(sample) };
	}
	return (struct muster_limit){ .why = muster_arena_printf(
					      d->run->arena, "the rate of %.*s is not known", (int)length, nic) };
}

/* The rank's share of what its network adapters carry: of each adapter the rate divided by the ranks of the node whose
 * exchanges use it, all adapters together. */
static struct muster_limit sum_nics(struct derivation *d, struct muster_exchange_end end)
{
	const struct muster_node *node = &d->run->nodes[end.node];
	const char *nics = facts_of(d, end)->nic, *nic;
	struct muster_limit sum = { .words = nics };
	size_t length, most = 1;
	if (!nics || !*nics || strcmp(nics, "none") == 0 || strcmp(nics, "unknown") == 0)
		return (struct muster_limit){ .why = "which network adapter NCCL uses is not known",
			.unread = nics && strcmp(nics, "unknown") == 0 ? muster_code_name(MUSTER_EPROTOCOL) : NULL };
	while (next_part(&nics, &nic, &length)) {
		struct muster_limit port = port_limit(d, node, nic, length);
		size_t sharers = 0;
		for (size_t r = 0; r < node->rank_count; r++)
			sharers += uses(facts_of(d, (struct muster_exchange_end){ end.node, r })->nic, nic, length);
		if (port.why)
			return port;
		sum.gbps += port.gbps / (double)(sharers ? sharers : 1);
		most = sharers > most ? sharers : most;
	}
	if (most > 1)
		sum.words = muster_arena_printf(d->run->arena, "%s, shared by %zu ranks", sum.words, most);
	return sum;
}

/* The same, found once for each rank. */
static struct muster_limit nic_limit(struct derivation *d, struct muster_exchange_end end)
{
	struct rank_facts *rank = facts_of(d, end);
	if (!rank->nic_limit.why && !(rank->nic_limit.gbps > 0))
		rank->nic_limit = sum_nics(d, end);
	return rank->nic_limit;
}

/* Whether network adapters read and write the GPU's memory in all channels of a transport as NCCL names it, whichever
 * plugin it is: "NET/IB/GDRDMA", "NET/IBext_v10/GDRDMA". */
static bool is_direct(const char *transport)
{
	static const char direct[] = "/GDRDMA";
	const size_t tail = sizeof direct - 1;
	const char *one;
	size_t length;
	while (next_part(&transport, &one, &length))
		if (length < tail || memcmp(one + length - tail, direct, tail) != 0)
			return false;
	return true;
}

/* Add the limit of the exchange that is sample number `at` of the rank `own`: that of the slower end, with the path of
 * this end. Paths: NVLink, PCIe, "network" where adapters reach the GPU's memory themselves, "network, host memory"
 * where they do not, unknown. */
static void emit(struct derivation *d, struct muster_exchange_end own, size_t at)
{
	const struct muster_samples *samples = &d->run->nodes[own.node].ranks[own.rank].samples;
	const struct muster_sample *sample = &samples->items[at];
	bool network = muster_exchange_is_network(d->peers, sample);
	struct muster_exchange_end ends[2] = { own, own };
	const char *path = "unknown";
	struct muster_limit limit = { .why = "the other rank is not in the run" };
	const char *transport = muster_sample_label_text(sample, "transport");
	bool by_host = strncmp(transport, "SHM", 3) == 0;
	if (muster_exchange_peer_find(d->peers, sample, &ends[1]))
		limit = (struct muster_limit){ .why = muster_exchange_why_small(samples, at, d->run->arena) };
	for (size_t end = 0; end < 2 && !limit.why; end++) {
		const char *its_path = is_direct(transport) ? "network" : "network, host memory";
		struct muster_limit other =
			network ? nic_limit(d, ends[end]) : gpu_limit(d, ends[end], ends[1 - end], by_host, &its_path);
		if (end == 0 || other.why || other.gbps < limit.gbps) {
			limit = other;
			path = its_path;
		}
	}
	muster_exchange_limit_add(d->run, own, at, d->limit, path, limit);
}

/* The number of each node's first rank, and of its GPUs: no fewer than it has ranks. Returns how many ranks there are.
 */
static size_t find_nodes(const struct muster_run *run, struct node_facts *nodes)
{
	size_t ranks = 0;
	for (size_t n = 0; n < run->node_count; n++) {
		const struct muster_node *node = &run->nodes[n];
		double counted = muster_sample_number(&node->samples, "node.gpu_count", 0),
		       least = (double)node->rank_count;
		nodes[n] = (struct node_facts){ ranks, counted > least ? counted : least };
		ranks += node->rank_count;
	}
	return ranks;
}

void muster_run_derive_exchanges(struct muster_run *run, const struct muster_exchange_peers *peers)
{
	struct derivation d = {
		.run = run,
		.peers = peers,
		.exchange = muster_metric_find("pair.exchange_gbps"),
		.limit = muster_metric_find("pair.exchange_limit_gbps"),
		.port_limit = muster_metric_find("port.limit_gbps"),
	};
	if (muster_exchange_is_measured(run, d.limit))
		return;
	d.nodes = muster_calloc(run->node_count + 1, sizeof *d.nodes);
	d.ranks = muster_calloc(find_nodes(run, d.nodes) + 1, sizeof *d.ranks);
	for (size_t n = 0; n < run->node_count; n++)
		for (size_t r = 0; r < run->nodes[n].rank_count; r++) {
			size_t count = run->nodes[n].ranks[r].samples.count; /* that grow below */
			for (size_t i = 0; i < count; i++)
				if (run->nodes[n].ranks[r].samples.items[i].metric == d.exchange)
					emit(&d, (struct muster_exchange_end){ n, r }, i);
		}
	free(d.nodes);
	free(d.ranks);
}
