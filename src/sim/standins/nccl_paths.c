/* SPDX-License-Identifier: Apache-2.0 */
/* nccl_paths.c - libnccl.so.2 for the simulation: which way leads from one rank to another, and how wide it is
 *
 * Everything here follows from cluster.json and from what each rank has said of itself (struct muster_simring_member),
 * so each process finds the same. The ways of all ranks and the number of channels are found once for a ring, with the
 * first question after it is complete.
 *
 *   the two ranks are                            path       limit, GB/s each way
 *   in different domains of NVLink               NETWORK    the slower of their adapters' parts
 *   on different nodes of one domain             NVLINK     active links times the rate of one, of the slower GPU
 *   on one node, NVLink between them, P2P used   NVLINK     the same
 *   on one node otherwise                        HOST       the slowest of their copies from and to the host
 *
 * The adapter of a rank: of those that NCCL uses, one on the GPU's NUMA node, else any; GPUs take turns.
 */
#include "sim/standins/nccl_shared.h"

#include "muster/arena.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct muster_sim_node *node_of(const struct muster_simring *ring, int rank)
{
	return &muster_sim_cluster()->nodes[muster_simring_member(ring, rank)->node];
}

/* The rank's GPU, by the bus id that it has told the others. */
static const struct muster_sim_gpu *find_gpu(const struct muster_simring *ring, int rank)
{
	const struct muster_sim_node *node = node_of(ring, rank);
	for (size_t i = 0; i < node->gpu_count; i++)
		if (strcmp(node->gpus[i].bus_id, muster_simring_member(ring, rank)->bus_id) == 0)
			return &node->gpus[i];
	muster_standin_end("rank %d has a GPU that its node does not have", rank);
}

/* -- the way -- */

enum muster_simring_path muster_simring_path(const struct muster_simring *ring, int a, int b)
{
	const struct muster_simring_member *from = muster_simring_member(ring, a), *to = muster_simring_member(ring, b);
	if (from->domain != to->domain)
		return MUSTER_SIMRING_NETWORK;
	if (from->node != to->node)
		return MUSTER_SIMRING_NVLINK;
	bool joined = muster_standin_is_joined(muster_simring_way(ring, a)->gpu, muster_simring_way(ring, b)->gpu);
	return joined && !from->no_p2p && !to->no_p2p ? MUSTER_SIMRING_NVLINK : MUSTER_SIMRING_HOST;
}

/* -- adapters -- */

static bool has_infiniband(const struct muster_sim_node *node)
{
	for (size_t i = 0; i < node->port_count; i++)
		if (strcmp(node->ports[i].link_layer, "InfiniBand") == 0)
			return true;
	return false;
}

/* Where the network is RDMA and there is no InfiniBand, it is RoCE. */
bool muster_simring_uses(const struct muster_sim_node *node, const struct muster_sim_port *port)
{
	bool roce = strncmp(muster_sim_cluster()->inter_transport, "NET/IB", 6) == 0 && !has_infiniband(node);
	return strcmp(port->state, "ACTIVE") == 0 && strcmp(port->link_layer, roce ? "Ethernet" : "InfiniBand") == 0;
}

/* Which of the GPUs with its NUMA node it is; of all GPUs when numa_node is negative. */
static size_t place_among(const struct muster_sim_node *node, const struct muster_sim_gpu *gpu, int numa_node)
{
	size_t place = 0;
	for (size_t i = 0; i < node->gpu_count && &node->gpus[i] != gpu; i++)
		place += numa_node < 0 || node->gpus[i].numa_node == numa_node;
	return place;
}

/* The adapters of the GPU's own NUMA node are nearest, and GPUs take turns with them: the GPU that is number p of its
 * NUMA node has adapter p modulo their count. Without one there, all adapters and all GPUs of the node are looked at.
 * *ret_index: the adapter's place among all that NCCL uses on the node. NULL: NCCL uses sockets.
 */
static const struct muster_sim_port *find_adapter(
	const struct muster_simring *ring, int rank, const struct muster_sim_gpu *gpu, int *ret_index)
{
	const struct muster_sim_node *node = node_of(ring, rank);
	if (muster_simring_member(ring, rank)->no_ib ||
		strncmp(muster_sim_cluster()->inter_transport, "NET/IB", 6) != 0)
		return NULL;
	for (int numa_node = gpu->numa_node;; numa_node = -1) {
		size_t count = 0, place = place_among(node, gpu, numa_node);
		for (size_t i = 0; i < node->port_count; i++)
			count += muster_simring_uses(node, &node->ports[i]) &&
				 (numa_node < 0 || node->ports[i].numa_node == numa_node);
		int index = 0;
		for (size_t i = 0, k = 0; i < node->port_count && count > 0; i++) {
			if (!muster_simring_uses(node, &node->ports[i]))
				continue;
			if ((numa_node < 0 || node->ports[i].numa_node == numa_node) && k++ == place % count) {
				*ret_index = index;
				return &node->ports[i];
			}
			index++;
		}
		if (numa_node < 0)
			return NULL;
	}
}

/* What sockets use where there is no InfiniBand: the first Ethernet port; NULL: none that the scenario has. */
static const struct muster_sim_port *socket_port(const struct muster_sim_node *node)
{
	for (size_t i = 0; i < node->port_count; i++)
		if (strcmp(node->ports[i].link_layer, "Ethernet") == 0)
			return &node->ports[i];
	return NULL;
}

/* What sockets carry: the best bus bandwidth of two domains in the machine type's table, which is all that a
 * description says of its network. */
static double socket_gbps(void)
{
	const struct muster_sim_cluster *cluster = muster_sim_cluster();
	double gbps = 0;
	for (size_t i = 0; i < cluster->bandwidth_count; i++)
		if (cluster->bandwidths[i].domains == 2)
			gbps = fmax(gbps, cluster->bandwidths[i].busbw_gbps);
	return gbps;
}

/* Ranks of a node share an adapter, or its sockets: each has an equal part of the rate, and of what a fault slows it
 * to. */
static void share_adapters(struct muster_simring *ring)
{
	for (int rank = 0; rank < ring->ranks; rank++) {
		struct muster_simring_way *way = &ring->ways[rank];
		const struct muster_sim_port *slowed = way->adapter ? way->adapter : socket_port(node_of(ring, rank));
		int sharing = 0;
		for (int i = 0; i < ring->ranks; i++)
			sharing += ring->ways[i].adapter == way->adapter &&
				   muster_simring_member(ring, i)->node == muster_simring_member(ring, rank)->node;
		way->adapter_gbps = (way->adapter ? strtod(way->adapter->rate, NULL) / 8 : socket_gbps()) / sharing;
		way->adapter_cap = slowed && slowed->rail_gbps > 0 ? slowed->rail_gbps / sharing : (double)INFINITY;
	}
}

const struct muster_simring_way *muster_simring_way(const struct muster_simring *complete, int rank)
{
	struct muster_simring *ring = (struct muster_simring *)complete;
	if (!ring->ways) {
		ring->ways = muster_calloc((size_t)ring->ranks, sizeof *ring->ways);
		for (int i = 0; i < ring->ranks; i++) {
			ring->ways[i].gpu = find_gpu(ring, i);
			ring->ways[i].adapter = find_adapter(ring, i, ring->ways[i].gpu, &ring->ways[i].adapter_index);
		}
		share_adapters(ring);
	}
	return &ring->ways[rank];
}

/* -- channels -- */

static int count_adapters(const struct muster_sim_node *node)
{
	int count = 0;
	for (size_t i = 0; i < node->port_count; i++)
		count += muster_simring_uses(node, &node->ports[i]);
	return count;
}

/* The smallest numbers over all ranks and pairs, as the rule of nccl_channels.c needs them. Variables are those of this
 * process. */
static struct muster_simchannels_facts channel_facts(const struct muster_simring *ring)
{
	struct muster_simchannels_facts facts = { .version = node_of(ring, 0)->nccl_version,
		.ranks = ring->ranks,
		.domains = muster_simring_domains(ring),
		.nvlinks = INT_MAX,
		.adapters = INT_MAX,
		.adapter_gbps = (double)INFINITY,
		.min = muster_simlog_setting("NCCL_MIN_NCHANNELS"),
		.max = muster_simlog_setting("NCCL_MAX_NCHANNELS"),
		.p2p_min = muster_simlog_setting("NCCL_MIN_P2P_NCHANNELS"),
		.p2p_max = muster_simlog_setting("NCCL_MAX_P2P_NCHANNELS"),
		.per_net_peer = muster_simlog_setting("NCCL_NCHANNELS_PER_NET_PEER") };
	for (int a = 0; a < ring->ranks; a++) {
		const struct muster_simring_way *way = muster_simring_way(ring, a);
		int adapters = way->adapter ? count_adapters(node_of(ring, a)) : 1;
		double gbps = way->adapter ? strtod(way->adapter->rate, NULL) / 8 : socket_gbps();
		facts.adapters = adapters < facts.adapters ? adapters : facts.adapters;
		facts.adapter_gbps = fmin(facts.adapter_gbps, gbps);
		for (int b = 0; b < ring->ranks; b++) {
			enum muster_simring_path path = muster_simring_path(ring, a, b);
			int links = path == MUSTER_SIMRING_NVLINK ? way->gpu->nvlinks_active : 0;
			if (a == b || path == MUSTER_SIMRING_NETWORK)
				continue;
			facts.near_peers = true;
			facts.nvlinks = links < facts.nvlinks ? links : facts.nvlinks;
		}
	}
	facts.nvlinks = facts.near_peers ? facts.nvlinks : 0;
	return facts;
}

const struct muster_simchannels *muster_simring_channels(const struct muster_simring *complete)
{
	struct muster_simring *ring = (struct muster_simring *)complete;
	if (ring->channels.per_peer == 0) {
		struct muster_simchannels_facts facts = channel_facts(ring);
		ring->channels = muster_simchannels_find(&facts);
	}
	return &ring->channels;
}

/* -- how wide -- */

/* A pair of GPUs with a link that the scenario slows down. */
static bool is_link(const struct muster_simring *ring, const struct muster_sim_link *link, int a, int b)
{
	const struct muster_simring_member *from = muster_simring_member(ring, a), *to = muster_simring_member(ring, b);
	return from->node == link->from_node && to->node == link->to_node &&
	       strcmp(from->bus_id, link->from_gpu) == 0 && strcmp(to->bus_id, link->to_gpu) == 0;
}

double muster_simring_edge_cap(const struct muster_sim_gpu *gpu)
{
	return gpu->edge_gbps > 0 ? gpu->edge_gbps : (double)INFINITY;
}

double muster_simring_cap(const struct muster_simring *ring, int a, int b)
{
	const struct muster_sim_cluster *cluster = muster_sim_cluster();
	const struct muster_simring_way *from = muster_simring_way(ring, a), *to = muster_simring_way(ring, b);
	double cap = (double)INFINITY;
	for (size_t i = 0; i < cluster->link_count; i++)
		if (is_link(ring, &cluster->links[i], a, b) || is_link(ring, &cluster->links[i], b, a))
			cap = fmin(cap, cluster->links[i].gbps);
	if (muster_simring_path(ring, a, b) == MUSTER_SIMRING_NETWORK)
		return fmin(cap, fmin(from->adapter_cap, to->adapter_cap));
	return fmin(cap, fmin(muster_simring_edge_cap(from->gpu), muster_simring_edge_cap(to->gpu)));
}

static double nvlink_gbps(const struct muster_sim_gpu *gpu)
{
	return gpu->nvlinks_active * gpu->nvlink_mbps / 1000;
}

static double host_gbps(const struct muster_sim_gpu *gpu)
{
	return fmin(gpu->h2d_gbps, gpu->d2h_gbps);
}

double muster_simring_limit(const struct muster_simring *ring, int a, int b)
{
	const struct muster_simring_way *from = muster_simring_way(ring, a), *to = muster_simring_way(ring, b);
	switch (muster_simring_path(ring, a, b)) {
	case MUSTER_SIMRING_NVLINK: return fmin(nvlink_gbps(from->gpu), nvlink_gbps(to->gpu));
	case MUSTER_SIMRING_HOST: return fmin(host_gbps(from->gpu), host_gbps(to->gpu));
	case MUSTER_SIMRING_NETWORK: break;
	}
	return fmin(from->adapter_gbps, to->adapter_gbps);
}

bool muster_simring_is_barred(const struct muster_simring *ring, int a, int b, const char *mode)
{
	const struct muster_sim_cluster *cluster = muster_sim_cluster();
	for (size_t i = 0; i < cluster->barrier_count; i++) {
		const struct muster_sim_partition *barrier = &cluster->barriers[i];
		char from = barrier->sides[muster_simring_member(ring, a)->node],
		     to = barrier->sides[muster_simring_member(ring, b)->node];
		if (from != to && from != '-' && to != '-' && strcmp(barrier->mode, mode) == 0)
			return true;
	}
	return false;
}
