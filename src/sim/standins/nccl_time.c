/* SPDX-License-Identifier: Apache-2.0 */
/* nccl_time.c - libnccl.so.2 for the simulation: how long collectives and exchanges take
 *
 * An all-reduce has the bandwidths of the machine type's table. Everything else follows from the links and adapters
 * between the ranks, and from the share of them that nccl-tests reach on two H200.
 *
 * Words: a limit is what a link or adapter can carry, of which a share is reached; a cap is what a fault lets it carry,
 * in full; "slow" is a factor by which a time is longer. Rates are in GB/s (10^9 bytes), each way, sizes in bytes.
 *
 *   all-reduce, S bytes, n ranks   S / (busbw / (2 (n - 1) / n)), which is how nccl-tests defines the bus bandwidth;
 *                                  busbw from the table, at most ring_cap()
 *   all-gather, reduce-scatter     S (n - 1) / n over the slowest edge of the ring
 *   broadcast                      S over the slowest edge, but for the one that leads to the root
 *   all-to-all                     the slowest rank: S / n to each other rank; they share its links and its adapter
 *   two ranks                      S over the way between them, at most what its channels carry
 *
 * All of it is longer by the factor of the slowest rank, and by that of a slow network.
 */
#include "sim/standins/nccl.h"

#include <math.h>
#include <string.h>

#define BARRIER_SLOW 20    /* this many times as long, over a slow network */
#define SOCKETS_SLOW 10    /* over sockets in place of InfiniBand: 17 GB/s where 169 is normal */
#define SHM_SLOW 8         /* through host memory in place of NVLink */
#define ALONE_SECONDS 5e-6 /* one rank: nothing is sent */

#define MIB 1048576.0

/* The bandwidth at `bytes` among table[0 .. count - 1], which are of one number of nodes. Below the smallest size the
 * time stays that of the smallest; above the largest the bandwidth stays. */
static double busbw_gbps(const struct muster_sim_bandwidth *table, size_t count, double bytes)
{
	if (bytes <= table[0].bytes)
		return table[0].busbw_gbps * bytes / table[0].bytes;
	for (size_t i = 1; i < count; i++) {
		if (bytes > table[i].bytes)
			continue;
		double share = log(bytes / table[i - 1].bytes) / log(table[i].bytes / table[i - 1].bytes);
		return table[i - 1].busbw_gbps + share * (table[i].busbw_gbps - table[i - 1].busbw_gbps);
	}
	return table[count - 1].busbw_gbps;
}

/* True when a row for that many domains and nodes is at most what the ring spans, domains first. */
static bool is_within(const struct muster_sim_bandwidth *row, int domains, int nodes)
{
	return row->domains < domains || (row->domains == domains && row->nodes <= nodes);
}

/* The rows for a ring over so many NVLink domains and nodes: those of the largest numbers that are not larger, or the
 * first ones. */
static const struct muster_sim_bandwidth *find_table(int domains, int nodes, size_t *ret_count)
{
	const struct muster_sim_cluster *cluster = muster_sim_cluster();
	const struct muster_sim_bandwidth *first = cluster->bandwidths, *end = first + cluster->bandwidth_count;
	if (first == end)
		muster_standin_end("the scenario has no bandwidths for an all-reduce");
	for (const struct muster_sim_bandwidth *row = first; row < end && is_within(row, domains, nodes); row++)
		if (row->domains != first->domains || row->nodes != first->nodes)
			first = row;
	*ret_count = 0;
	while (first + *ret_count < end && first[*ret_count].domains == first->domains &&
		first[*ret_count].nodes == first->nodes)
		++*ret_count;
	return first;
}

/* The bus bandwidth of a ring for so many bytes where nothing is slow. Between racks each node of a rack carries a
 * part, up to what a rack reaches by itself: 197 GB/s with one node of each rack, 393 with two (NCCL issue 1801), 793
 * with 18 (README of coreweave/nccl-tests). Racks have equally many nodes here. */
static double healthy_gbps(const struct muster_simring *ring, double bytes)
{
	int domains = muster_simring_domains(ring), side_by_side = muster_simring_nodes(ring) / domains;
	size_t count;
	const struct muster_sim_bandwidth *table = find_table(domains, muster_simring_nodes(ring), &count);
	double gbps = busbw_gbps(table, count, bytes);
	if (domains == 1 || side_by_side <= 1)
		return gbps;
	table = find_table(1, muster_simring_nodes(ring), &count);
	return fmin(gbps * side_by_side, busbw_gbps(table, count, bytes));
}

/* -- until it works -- */

double muster_simring_start_seconds(int ranks, bool split)
{
	return split ? 0.032 : 0.35 + 0.04 * ranks;
}

double muster_simring_connect_seconds(const struct muster_simring *ring, bool message)
{
	return message ? 0.0055 * muster_simring_channels(ring)->per_peer : 0.15;
}

void muster_simnccl_pass(double seconds)
{
	muster_standin_host_wait_until(muster_standin_host_now() + seconds);
}

/* -- what slows a ring down -- */

/* How many times longer it takes because a rank may not use InfiniBand, or NVLink to a rank of its node. */
static double disabled_slow(const struct muster_simring *ring)
{
	const struct muster_sim_cluster *cluster = muster_sim_cluster();
	int ranks = muster_simring_ranks(ring);
	bool no_ib = false, no_p2p = false;
	for (int i = 0; i < ranks; i++) {
		no_ib = no_ib || muster_simring_member(ring, i)->no_ib;
		no_p2p = no_p2p || muster_simring_member(ring, i)->no_p2p;
	}
	no_ib = no_ib && muster_simring_domains(ring) > 1 && strncmp(cluster->inter_transport, "NET/IB", 6) == 0;
	no_p2p = no_p2p && ranks > muster_simring_nodes(ring) && strncmp(cluster->intra_transport, "P2P", 3) == 0;
	return fmax(no_ib ? SOCKETS_SLOW : 1, no_p2p ? SHM_SLOW : 1);
}

/* The slowest rank's factor, and that of the network between the nodes. */
static double ring_slow(const struct muster_simring *ring)
{
	double slow = 1;
	for (int i = 0; i < muster_simring_ranks(ring); i++)
		slow = fmax(slow, muster_simring_member(ring, i)->slow);
	return slow * (muster_simring_is_broken(ring, "slow") ? BARRIER_SLOW : 1);
}

/* On the average. */
static double ranks_of_node(const struct muster_simring *ring)
{
	return (double)muster_simring_ranks(ring) / muster_simring_nodes(ring);
}

/* What the scenario slows the ring's bus bandwidth down to; infinity: nothing is slow. Each channel of a ring goes
 * through one adapter, and waits for the slowest. */
static double ring_cap(const struct muster_simring *ring)
{
	double cap = (double)INFINITY;
	int ranks = muster_simring_ranks(ring);
	bool leaves = muster_simring_domains(ring) > 1;
	int side_by_side = muster_simring_nodes(ring) / muster_simring_domains(ring);
	for (int i = 0; i < ranks && ranks > 1; i++) {
		int next = (i + 1) % ranks;
		bool network = muster_simring_path(ring, i, next) == MUSTER_SIMRING_NETWORK;
		cap = fmin(cap, muster_simring_cap(ring, i, next) * (network ? ranks_of_node(ring) * side_by_side : 1));
		if (leaves)
			cap = fmin(cap, muster_simring_way(ring, i)->adapter_cap * ranks_of_node(ring) * side_by_side);
	}
	return cap;
}

#define JITTER_EVERY 50 /* all-reduces, of which one is late */

/* How many times longer this all-reduce takes because a rank of the ring is late now and then. */
static double jitter(const struct muster_simring *ring, uint64_t number)
{
	double slow = 1;
	for (int i = 0; i < muster_simring_ranks(ring) && number % JITTER_EVERY == JITTER_EVERY / 2; i++)
		slow = fmax(slow, muster_simring_member(ring, i)->jitter);
	return slow;
}

double muster_simring_seconds(const struct muster_simring *ring, const struct muster_simring_work *work)
{
	double ranks = muster_simring_ranks(ring), bytes = (double)work->count * sizeof(float);
	double slow = ring_slow(ring) * jitter(ring, work->number);
	if (muster_simring_ranks(ring) == 1)
		return ALONE_SECONDS * slow;
	slow *= disabled_slow(ring);
	double busbw = fmin(healthy_gbps(ring, bytes), ring_cap(ring));
	return bytes / (busbw / (2 * (ranks - 1) / ranks) * 1e9) * slow;
}

/* -- exchanges and other collectives -- */

/* Shares of NVLink at sizes in bytes, as sendrecv_perf, alltoall_perf, all_gather_perf and reduce_scatter_perf find
 * them on two H200 (478 GB/s each way); below 8 MiB made up. */
#define SIZES 4
static const double sizes[SIZES] = { MIB, 8 * MIB, 64 * MIB, 512 * MIB };
static const double pair_shares[SIZES] = { 0.11, 168 / 478.1, 265 / 478.1, 354 / 478.1 };
static const double traffic_shares[][SIZES] = {
	[MUSTER_SIMRING_MESSAGES] = { 0.08, 134 / 478.1, 244 / 478.1, 296 / 478.1 },
	[MUSTER_SIMRING_ALLGATHER] = { 0.07, 113 / 478.1, 215 / 478.1, 256 / 478.1 },
	[MUSTER_SIMRING_REDUCESCATTER] = { 0.07, 119 / 478.1, 210 / 478.1, 257 / 478.1 },
};
#define HOST_SHARE 0.8
#define NETWORK_SHARE 0.965

/* Of the smallest message, in seconds. Over NVLink: 8 bytes between two H200 (docs/dev/measurements.md). */
static const double latencies[] = {
	[MUSTER_SIMRING_NVLINK] = 6.4e-6,
	[MUSTER_SIMRING_HOST] = 15e-6,
	[MUSTER_SIMRING_NETWORK] = 20e-6,
};

/* The share at that size: between two sizes linear in its logarithm, constant above the largest; below the smallest the
 * time goes down to the latency with the size. */
static double share_at(const double shares[SIZES], double bytes)
{
	for (size_t i = 1; i < SIZES; i++)
		if (bytes <= sizes[i])
			return shares[i - 1] + fmax(log(bytes / sizes[i - 1]), 0) / log(sizes[i] / sizes[i - 1]) *
						       (shares[i] - shares[i - 1]);
	return shares[SIZES - 1];
}

/* The seconds of `bytes` each way, which are all or a part of a call about `size` bytes. */
static double path_seconds(
	enum muster_simring_path path, double limit, double cap, const double shares[SIZES], double size, double bytes)
{
	if (path != MUSTER_SIMRING_NVLINK) {
		double share = path == MUSTER_SIMRING_HOST ? HOST_SHARE : NETWORK_SHARE;
		return latencies[path] + bytes / (fmin(limit * share, cap) * 1e9);
	}
	double whole = fmax(size, MIB), latency = latencies[path];
	double seconds = bytes * whole / size / (fmin(limit * share_at(shares, whole), cap) * 1e9);
	return size < whole ? latency + fmax(seconds - latency, 0) * size / whole : seconds;
}

/* GB/s each way of so many channels, 1, 2, 4 to 32. Over NVLink: measured on two H100 with NCCL 2.28.9 at 64 MiB; more
 * are not the limit. Over a network: NCCL's issue 1272 has 18.3 with one channel. */
static double channels_gbps(enum muster_simring_path path, int channels)
{
	static const double nvlink[] = { 21.6, 43.3, 83.6, 83.1, 158 };
	size_t power = 0;
	while (1 << power < channels)
		power++;
	if (path == MUSTER_SIMRING_NVLINK && power < sizeof nvlink / sizeof *nvlink)
		return nvlink[power];
	return path == MUSTER_SIMRING_NETWORK ? 18.3 * channels : (double)INFINITY;
}

double muster_simring_pair_seconds(const struct muster_simring *ring, int a, int b, size_t bytes)
{
	double slow = fmax(muster_simring_member(ring, a)->slow, muster_simring_member(ring, b)->slow);
	if (muster_simring_is_barred(ring, a, b, "slow"))
		slow *= BARRIER_SLOW;
	enum muster_simring_path path = muster_simring_path(ring, a, b);
	double cap = fmin(muster_simring_cap(ring, a, b), channels_gbps(path, muster_simring_channels(ring)->per_peer));
	return slow *
	       path_seconds(path, muster_simring_limit(ring, a, b), cap, pair_shares, (double)bytes, (double)bytes);
}

/* As one rank has it: its messages share its NVLinks and its adapter, and the slowest of the ways sets the pace. */
static double alltoall_seconds(const struct muster_simring *ring, int rank, double size)
{
	int ranks = muster_simring_ranks(ring), peers[3] = { 0 };
	double each = size / ranks, limit[3], seconds = 0;
	for (int peer = 0; peer < ranks; peer++) {
		enum muster_simring_path path = muster_simring_path(ring, rank, peer);
		if (peer == rank)
			continue;
		double width = muster_simring_limit(ring, rank, peer);
		limit[path] = peers[path]++ == 0 ? width : fmin(limit[path], width);
		seconds = fmax(seconds, each / (muster_simring_cap(ring, rank, peer) * 1e9));
	}
	const struct muster_simring_way *way = muster_simring_way(ring, rank);
	double edge = muster_simring_edge_cap(way->gpu);
	for (enum muster_simring_path path = 0; path < 3; path++)
		if (peers[path] > 0)
			seconds = fmax(
				seconds, path_seconds(path, limit[path],
						 path == MUSTER_SIMRING_NETWORK ? way->adapter_cap : edge,
						 traffic_shares[MUSTER_SIMRING_MESSAGES], size, each * peers[path]));
	return seconds;
}

/* From one rank of a ring to the next, `bytes` of a call about `size`; where it leaves a node all adapters of the node
 * carry it. */
static double edge_seconds(
	const struct muster_simring *ring, int rank, enum muster_simring_traffic traffic, double size, double bytes)
{
	int next = (rank + 1) % muster_simring_ranks(ring);
	enum muster_simring_path path = muster_simring_path(ring, rank, next);
	double all = path == MUSTER_SIMRING_NETWORK ? ranks_of_node(ring) : 1;
	return path_seconds(path, all * muster_simring_limit(ring, rank, next),
		all * muster_simring_cap(ring, rank, next), traffic_shares[traffic], size, bytes);
}

double muster_simring_traffic_seconds(
	const struct muster_simring *ring, enum muster_simring_traffic traffic, size_t bytes)
{
	double seconds = 0, size = (double)bytes, slow = ring_slow(ring);
	int ranks = muster_simring_ranks(ring);
	if (ranks == 1)
		return ALONE_SECONDS * slow;
	for (int rank = 0; rank < ranks; rank++)
		seconds = fmax(seconds, traffic == MUSTER_SIMRING_MESSAGES
						? alltoall_seconds(ring, rank, size)
						: edge_seconds(ring, rank, traffic, size, size * (ranks - 1) / ranks));
	if (traffic != MUSTER_SIMRING_MESSAGES)
		seconds = fmax(seconds, size * (ranks - 1) / ranks / (ring_cap(ring) * 1e9));
	return seconds * slow;
}

/* What the scenario lets a node take part in a broadcast with; infinity: it does not say. */
static double broadcast_cap(const struct muster_simring *ring, int rank)
{
	double gbps = muster_sim_cluster()->nodes[muster_simring_member(ring, rank)->node].broadcast_gbps;
	return gbps > 0 && muster_simring_nodes(ring) > 1 ? gbps : (double)INFINITY;
}

/* From the root around the ring. */
double muster_simring_broadcast_seconds(const struct muster_simring *ring, int root, size_t bytes)
{
	double seconds = 0, size = (double)bytes, cap = ring_cap(ring);
	int ranks = muster_simring_ranks(ring);
	for (int rank = 0; rank < ranks; rank++) {
		cap = fmin(cap, broadcast_cap(ring, rank));
		if ((rank + 1) % ranks != root)
			seconds = fmax(seconds, edge_seconds(ring, rank, MUSTER_SIMRING_ALLGATHER, size, size));
	}
	return fmax(seconds, size / (cap * 1e9)) * ring_slow(ring);
}
