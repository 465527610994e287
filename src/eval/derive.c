/* SPDX-License-Identifier: Apache-2.0 */
/* derive.c - what an all-reduce and an all-to-all can reach at most, from what nodes and ranks say of their links
 *
 * Bus bandwidth is what each GPU sends and receives, so a ring is as fast as the slowest link that it must take:
 * NVLink within a node or an NVLink domain, the network adapters between nodes, PCIe where NVLink does not join the
 * GPUs of a node. Links that are there count, whether NCCL uses them or not: a ring that falls back to sockets is slow.
 * A domain's nodes carry together what leaves it. The switches between nodes are not known. A reduction in switches
 * (NVLS, SHARP) may exceed the limit.
 *
 * In an all-to-all each rank sends equal parts to all others. Its bus bandwidth counts them all, and only those for
 * other nodes go through the network: with n ranks, of which a node or NVLink domain has g, a rank's share of the
 * network times (n-1)/(n-g), and its NVLinks times (n-1)/(g-1).
 *
 * By numbers: two nodes with eight GPUs each, NVLink 450 GB/s for each GPU, eight adapters of 50 GB/s for each node.
 * All-reduce: a ring leaves each node through all adapters together, 8 x 50 = 400 GB/s, which is less than 450: 400.
 * All-to-all: n = 16, g = 8. A rank has 50 GB/s of the network, times 15 / 8: 93.75. Its NVLinks carry 450 x 15 / 7 =
 * 964. The network sets the limit: 93.75 GB/s.
 */
#include "eval/derive.h"

#include "eval/nvlink_domains.h"
#include "muster/probe.h"
#include "muster/run_data.h"
#include "util/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char gpus_shown[] = "node.gpu_count";

enum joined { JOINED, APART, UNKNOWN }; /* whether NVLink joins GPUs of a node */

struct derivation {
	struct muster_arena *arena;
	enum joined joined;               /* the GPUs of each node that has several in the ring */
	const char *why_unknown;          /* joined is UNKNOWN */
	struct muster_limit nvlink, pcie; /* the lowest of all ranks */
	struct muster_limit network;      /* the lowest of all nodes */
	struct muster_limit share;        /* of one rank: the lowest of all nodes */
	struct muster_nvlink_domains domains;
	size_t nodes; /* that took part */
};

/* Keep the lower one; what is not known stays not known. A limit that was never set (gbps 0, no reason) takes any
 * other. */
static void lower(struct muster_limit *limit, struct muster_limit other)
{
	if (!limit->why && (other.why || limit->gbps <= 0 || other.gbps < limit->gbps))
		*limit = other;
}

static bool took_part(const struct muster_rank *rank)
{
	return !rank->missing && muster_sample_number(&rank->samples, "rank.allreduce_us", 0) > 0;
}

/* Whether NVLink joins the rank's GPU to the other `others` GPUs of its node. A fabric that has completed is one of
 * switches. */
static enum joined joined_to(const struct muster_samples *samples, double others)
{
	double peers = muster_sample_number(samples, "gpu.nvlink_peers", -1),
	       links = muster_sample_number(samples, "gpu.nvlinks", -1);
	const char *transport = muster_sample_text(samples, "rank.nccl_transport", "");
	if (links > 0 && (strcmp(muster_sample_text(samples, "gpu.fabric_state", ""), "completed") == 0 ||
				 strstr(transport, "NVLS")))
		return JOINED;
	if (peers >= 0)
		return peers >= others ? JOINED : APART;
	if (links == 0)
		return APART;
	/* without a direct path between GPUs the data goes through the host's memory */
	return strstr(transport, "SHM/") && !strstr(transport, "P2P/") ? APART : UNKNOWN;
}

/* A network adapter with one or more ports. */
struct adapter {
	const char *device;
	size_t length; /* of the device's name, which more may follow */
	double gbps;   /* of all its ports */
};

static int by_speed(const void *a, const void *b)
{
	double x = ((const struct adapter *)a)->gbps, y = ((const struct adapter *)b)->gbps;
	return (x < y) - (x > y);
}

/* The adapter with this device; a new one behind the others when there is none. */
static struct adapter *adapter_of(struct adapter *adapters, size_t *count, const char *device, size_t length)
{
	for (size_t i = 0; i < *count; i++)
		if (adapters[i].length == length && strncmp(adapters[i].device, device, length) == 0)
			return &adapters[i];
	adapters[*count] = (struct adapter){ .device = device, .length = length };
	return &adapters[(*count)++];
}

/* What the network adapters of the node carry together. InfiniBand: every active port counts. Ethernet: only a port
 * that NCCL uses counts, as any other port may not be for RDMA. When the node has more such adapters than GPUs in the
 * ring, the fastest count, one for each GPU: the others may be for storage. */
static struct muster_limit network_of(
	const struct derivation *d, const struct muster_node *node, size_t gpus, const char *used)
{
	const struct muster_metric *port_limit = muster_metric_find("port.limit_gbps");
	struct adapter *adapters = muster_calloc(node->samples.count + 1, sizeof *adapters);
	double sum = 0;
	struct muster_limit limit = { 0 };
	size_t count = 0;
	for (size_t i = 0; i < node->samples.count; i++) {
		const struct muster_sample *sample = &node->samples.items[i];
		if (sample->metric != port_limit || sample->value.type != MUSTER_NUMBER)
			continue;
		const char *layer = muster_label_string(sample->labels, sample->label_count, "link_layer"),
			   *name = muster_label_string(sample->labels, sample->label_count, "port");
		char port[272];
		size_t slash = name ? strcspn(name, "/") : 0;
		if (!layer || slash == 0 || !name[slash])
			continue;
		snprintf(port, sizeof port, "%.*s:%s", (int)slash, name, name + slash + 1);
		if (strcmp(layer, "InfiniBand") == 0 || muster_text_has_word(used, port)) /* NCCL says mlx5_0:1 */
			adapter_of(adapters, &count, name, slash)->gbps += sample->value.number;
	}
	qsort(adapters, count, sizeof *adapters, by_speed);
	size_t taken = count < gpus ? count : gpus;
	for (size_t i = 0; i < taken; i++)
		sum += adapters[i].gbps;
	if (taken == 0)
		limit.why = muster_arena_printf(d->arena,
			"%s has no active InfiniBand port, and the speed of what NCCL uses%s%s%s is not known",
			node->name, *used ? " (" : "", used, *used ? ")" : "");
	else if (adapters[0].gbps > adapters[taken - 1].gbps)
		limit.words = muster_arena_printf(d->arena, "network (%zu adapters, %.4g GB/s)", taken, sum);
	else
		limit.words = muster_arena_printf(d->arena, "network (%zu x %.4g)", taken, adapters[0].gbps);
	limit.gbps = sum;
	free(adapters);
	return limit;
}

/* Take a node's part in: the lowest limits of its ranks, and of the node its network adapters, as a whole and divided
 * by its ranks in the ring. A node of which no rank took part counts for nothing. A rank counts as joined when NVLink
 * reaches all other GPUs that the node shows, or as many as it has ranks in the ring, if that is more. */
static void add_node(struct derivation *d, const struct muster_node *node)
{
	size_t members = 0;
	const char *used = "";
	for (size_t i = 0; i < node->rank_count; i++)
		members += took_part(&node->ranks[i]);
	if (members == 0)
		return;
	d->nodes++;
	double gpus = muster_sample_number(&node->samples, gpus_shown, 0);
	gpus = gpus < (double)members ? (double)members : gpus;
	for (size_t i = 0; i < node->rank_count; i++) {
		const struct muster_samples *samples = &node->ranks[i].samples;
		if (!took_part(&node->ranks[i]))
			continue;
		used = *used ? used : muster_sample_text(samples, "rank.nccl_hcas", "");
		lower(&d->nvlink, muster_limit_of(samples, "gpu.nvlink_limit_gbps", d->arena));
		lower(&d->pcie, muster_limit_of(samples, "gpu.pcie_limit_gbps", d->arena));
		enum joined joined = members > 1 ? joined_to(samples, gpus - 1) : JOINED;
		if (joined == UNKNOWN && !d->why_unknown) {
			const struct muster_sample *peers = muster_sample_named(samples, "gpu.nvlink_peers");
			d->why_unknown =
				muster_arena_printf(d->arena, "whether NVLink joins the GPUs of %s is not known: %s",
					node->name, peers && peers->reason ? peers->reason : "not measured");
		}
		if (joined == APART || (joined == UNKNOWN && d->joined == JOINED))
			d->joined = joined;
	}
	struct muster_limit network = network_of(d, node, members, used), share = network;
	share.gbps /= (double)members;
	share.members = members;
	if (share.words && members > 1)
		share.words = muster_arena_printf(d->arena, "%s for %zu ranks", share.words, members);
	lower(&d->network, network);
	lower(&d->share, share);
}

/* A metric of the job, whose row names its limit. */
struct bound {
	const char *speed;
	bool to_all; /* each rank sends to all others, not to the next one only */
};

static const struct bound bounds[] = {
	{ "nccl.allreduce_busbw_gbps", false },
	{ "nccl.alltoall_busbw_gbps", true },
};
enum { BOUNDS = sizeof bounds / sizeof *bounds };

static const struct muster_metric *limit_metric(const struct bound *bound)
{
	return muster_metric_find(muster_metric_find(bound->speed)->limits[0]);
}

/* The limit between nodes of an all-to-all: that of the network. *nvlink: that of NVLink within nodes or domains. */
static struct muster_limit spread(const struct derivation *d, double nodes, double ranks, struct muster_limit *nvlink)
{
	struct muster_limit network = d->share;
	double near = (double)network.members; /* ranks that NVLink joins, the rank itself among them */
	if ((double)d->domains.count < nodes && ranks / (double)d->domains.count > near)
		near = ranks / (double)d->domains.count;
	if (near < ranks)
		network.gbps *= (ranks - 1) / (ranks - near);
	if (near > 1)
		nvlink->gbps *= (ranks - 1) / (near - 1);
	return network;
}

/* Between NVLink domains each node of a domain carries a part of what leaves it, so the domain with the fewest nodes
 * sets the limit. Of GB200, 197 GB/s were measured with one node of each rack, 393 with two (NCCL issue 1801). */
static void side_by_side(const struct derivation *d, struct muster_limit *network)
{
	network->gbps *= (double)d->domains.fewest_nodes;
	if (network->words)
		network->words =
			muster_arena_printf(d->arena, "%s of %zu nodes", network->words, d->domains.fewest_nodes);
}

/* The limit of so many nodes and ranks, and the kind of path that sets it (*ret_path, the label "path"):
 *   one rank                                 none: no data move
 *   one node, or one NVLink domain           NVLink, where it joins the GPUs
 *   one node without NVLink between GPUs     PCIe
 *   several nodes                            the network; or NVLink within the nodes, where that is lower
 *   several nodes without NVLink             the network or PCIe, the lower one; the path is PCIe
 * Where it is not known whether NVLink joins the GPUs, there is a reason in place of a limit. */
static struct muster_limit limit_over(
	const struct derivation *d, double nodes, double ranks, const struct bound *bound, const char **ret_path)
{
	bool one_domain = nodes > 1 && d->domains.count == 1;
	struct muster_limit limit, nvlink = d->nvlink;
	*ret_path = "unknown";
	if (ranks <= 1)
		return (struct muster_limit){ .why = "one rank alone moves no data" };
	if (d->joined == UNKNOWN && !one_domain)
		return (struct muster_limit){ .why = d->why_unknown };
	*ret_path = "NVLink";
	if (one_domain || (nodes <= 1 && d->joined == JOINED))
		return d->nvlink;
	*ret_path = "PCIe";
	if (nodes <= 1)
		return d->pcie;
	limit = bound->to_all ? spread(d, nodes, ranks, &nvlink) : d->network;
	if (!bound->to_all && nodes >= (double)d->nodes && d->domains.fewest_nodes > 1)
		side_by_side(d, &limit);
	if (d->joined == APART) {
		lower(&limit, d->pcie);
		return limit;
	}
	*ret_path = "network";
	if (ranks > nodes || (double)d->domains.count < nodes) /* some node or domain has several */
		lower(&limit, nvlink);
	return limit;
}

/* One sample of the job with the labels nodes, ranks, path and link. */
static void emit(struct derivation *d, struct muster_run *run, const struct bound *bound, double nodes, double ranks)
{
	const char *path;
	struct muster_limit limit = limit_over(d, nodes, ranks, bound, &path);
	struct muster_label *labels = muster_arena_alloc(run->arena, 4 * sizeof *labels);
	labels[0] = (struct muster_label){ "nodes", muster_number(nodes) };
	labels[1] = (struct muster_label){ "ranks", muster_number(ranks) };
	labels[2] = (struct muster_label){ "path", muster_string(path) };
	labels[3] = (struct muster_label){ "link", muster_string(limit.words ? limit.words : path) };
	muster_derived_add(&run->job.samples, limit_metric(bound), labels, 4, limit.gbps, limit.why, limit.unread);
}

static double label_number(const struct muster_sample *sample, const char *key)
{
	return muster_label_number(sample->labels, sample->label_count, key);
}

static void derive_from_exchanges(struct muster_run *run, size_t domains)
{
	if (!muster_exchange_is_measured(run, muster_metric_find("pair.exchange_gbps")))
		return;
	struct muster_exchange_peers peers = muster_exchange_peers_make(run, domains);
	muster_run_derive_exchanges(run, &peers);
	muster_run_derive_usual(run, &peers);
	muster_exchange_peers_done(&peers);
}

/* A limit for each number of nodes and ranks that was measured. */
static void derive_bound(struct derivation *d, struct muster_run *run, const struct bound *bound)
{
	const struct muster_metric *speed = muster_metric_find(bound->speed);
	size_t count = run->job.samples.count;
	for (size_t i = 0; i < count; i++) {
		const struct muster_sample *sample = &run->job.samples.items[i];
		double nodes = label_number(sample, "nodes"), ranks = label_number(sample, "ranks");
		bool told = sample->metric != speed;
		for (size_t j = 0; j < i && !told; j++) {
			const struct muster_sample *before = &run->job.samples.items[j];
			told = before->metric == speed && label_number(before, "nodes") == nodes &&
			       label_number(before, "ranks") == ranks;
		}
		if (told)
			continue;
		emit(d, run, bound, nodes, ranks);
	}
}

/* node.gpus_present: a GPU that another job has is there. The GPUs that muster sees and those hidden from it add up. */
static void derive_present(struct muster_run *run)
{
	const struct muster_metric *present = muster_metric_find("node.gpus_present");
	for (size_t n = 0; n < run->node_count; n++) {
		struct muster_samples *samples = &run->nodes[n].samples;
		const struct muster_sample *shown = muster_sample_named(samples, gpus_shown);
		if (!shown || muster_samples_find(samples, present))
			continue;
		bool known = shown->value.type == MUSTER_NUMBER;
		double hidden = muster_sample_number(samples, "node.gpus_hidden", 0);
		muster_derived_add(samples, present, NULL, 0, known ? shown->value.number + hidden : 0, shown->reason,
			muster_sample_unread(shown));
	}
}

/* Rank 0 calls the second host of a name "gpu-1#2": no list of nodes can tell the two apart. */
static void derive_same_names(struct muster_run *run)
{
	const struct muster_metric *metric = muster_metric_find("job.same_names");
	const char *text = "";
	if (muster_samples_find(&run->job.samples, metric))
		return;
	for (size_t n = 0; n < run->node_count; n++) {
		const char *name = run->nodes[n].name, *second = strstr(name, "#2");
		if (second && !second[2])
			text = muster_arena_printf(
				run->arena, "%s%s%.*s", text, *text ? ", " : "", (int)(second - name), name);
	}
	if (*text)
		muster_samples_add(
			&run->job.samples, (struct muster_sample){ .metric = metric, .value = muster_string(text) });
}

/* Each step adds samples behind those that are there. No step uses a pointer to a sample after it has added one: the
 * array moves as it grows. The nodes are looked at (add_node) only where one of the bounds was measured. */
void muster_run_derive(struct muster_run *run)
{
	struct muster_nvlink_domains domains = muster_nvlink_domains_of(run, muster_metric_find("gpu.fabric_clique"));
	struct derivation d = { .arena = run->arena, .joined = JOINED, .domains = domains };
	bool needed[BOUNDS], any = false;
	derive_present(run);
	derive_same_names(run);
	muster_run_derive_steady(run);
	muster_run_derive_imex(run);
	muster_run_derive_disabled(run);
	muster_run_derive_placement(run);
	muster_run_derive_disk(run);
	derive_from_exchanges(run, domains.count);
	muster_run_derive_racks(run);
	muster_run_derive_data_path(run);
	for (size_t i = 0; i < BOUNDS; i++) {
		needed[i] = muster_sample_named(&run->job.samples, bounds[i].speed) &&
			    !muster_samples_find(&run->job.samples, limit_metric(&bounds[i]));
		any |= needed[i];
	}
	for (size_t n = 0; any && n < run->node_count; n++)
		add_node(&d, &run->nodes[n]);
	for (size_t i = 0; i < BOUNDS; i++)
		if (needed[i])
			derive_bound(&d, run, &bounds[i]);
}
