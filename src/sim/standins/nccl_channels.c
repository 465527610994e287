/* SPDX-License-Identifier: Apache-2.0 */
/* nccl_channels.c - libnccl.so.2 for the simulation: how many channels two ranks exchange over
 *
 * All pairs of ranks of a communicator have the smallest number that NCCL finds for any pair. The rule is that of
 * github.com/NVIDIA/nccl: src/graph/paths.cc, ncclTopoGetNchannels and ncclTopoComputeP2pChannels, at the tags
 * v2.18.6-1, v2.21.5-1, v2.28.9-1 and v2.29.7-1; src/graph/connect.cc, ncclTopoPostset, for those of collectives.
 */
#include "sim/standins/nccl_channels.h"

#define MOST 32                   /* p2p channels */
#define NEAR_CHANNELS 24          /* of collectives in one NVLink domain: 8 H100 or A100 */
#define SCALED_VERSION 22000      /* since then fewer channels over a network where there are many ranks */
#define BY_RATE_VERSION 22900     /* since then as many as the rate of the network needs: one over a slow one */
#define CHANNEL_GBPS 14           /* NCCL_P2P_PER_CHANNEL_NET_BW */
#define PEERS_OF_A_BATCH 8        /* NCCL_MAX_DEV_WORK_P2P_PER_BATCH */
#define OPERATIONS_OF_A_CHANNEL 4 /* ncclTopoGetNchannels, up to 2.28 */

static int least(int a, int b)
{
	return a < b ? a : b;
}

static int most(int a, int b)
{
	return a > b ? a : b;
}

/* The smallest power of 2 that is not below the value. */
static int power_of_2(int least_value)
{
	int power = 1;
	while (power < least_value)
		power *= 2;
	return power;
}

/* Two for each search channel: in ND types one for each adapter of a node. */
static int collective_channels(const struct muster_simchannels_facts *f)
{
	int channels = f->domains > 1 ? 2 * most(f->adapters, 1) : f->nvlinks > 0 ? NEAR_CHANNELS : 2;
	channels = f->max > 0 ? least(channels, f->max) : channels;
	return least(most(channels, f->min), MOST);
}

/* To a rank over the network. */
static int far_channels(const struct muster_simchannels_facts *f, int p2p)
{
	int channels = 2;
	if (f->per_net_peer > 0)
		return f->per_net_peer;
	if (f->version >= BY_RATE_VERSION)
		return most(1, ((int)f->adapter_gbps + CHANNEL_GBPS - 1) / CHANNEL_GBPS);
	while (f->version >= SCALED_VERSION && channels * f->ranks > p2p * OPERATIONS_OF_A_CHANNEL && channels > 1)
		channels /= 2;
	return channels;
}

/* In NCCL's order: collectives; then the p2p channels of the process, by NCCL_MIN_ and NCCL_MAX_P2P_NCHANNELS; then the
 * channels to a peer, at most two for each NVLink in a domain and as many as far_channels() over the network; powers
 * of 2. Since 2.29, over a network, the channels to a peer are halved until the batches of all peers fit into the p2p
 * channels. */
struct muster_simchannels muster_simchannels_find(const struct muster_simchannels_facts *f)
{
	struct muster_simchannels ret = { .collectives = collective_channels(f) };
	int p2p = f->p2p_max > 0 ? least(ret.collectives, f->p2p_max) : ret.collectives;
	p2p = most(p2p, f->p2p_min);
	int channels = f->version < BY_RATE_VERSION ? p2p : 2 * MOST;
	if (f->near_peers)
		channels = least(channels, 2 * most(f->nvlinks, 1));
	if (f->domains > 1)
		channels = least(channels, far_channels(f, p2p));
	ret.p2p = least(power_of_2(p2p), MOST);
	ret.per_peer = power_of_2(channels);
	int batches = (f->ranks + PEERS_OF_A_BATCH - 1) / PEERS_OF_A_BATCH;
	if (f->version >= BY_RATE_VERSION && f->domains > 1 && f->per_net_peer <= 0)
		while (ret.per_peer * batches > ret.p2p && ret.per_peer > 1)
			ret.per_peer /= 2;
	else
		ret.per_peer = least(ret.per_peer, ret.p2p);
	return ret;
}
