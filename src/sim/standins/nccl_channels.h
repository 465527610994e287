/* SPDX-License-Identifier: Apache-2.0 */
/* nccl_channels.h - how many channels two ranks of a communicator exchange over
 */
#ifndef MUSTER_SIM_STANDINS_NCCL_CHANNELS_H
#define MUSTER_SIM_STANDINS_NCCL_CHANNELS_H

#include <stdbool.h>

struct muster_simchannels_facts {
	int version;         /* as ncclGetVersion has it */
	int ranks, domains;  /* domains: of NVLink, or nodes without it */
	bool near_peers;     /* two of the ranks are in one domain */
	int nvlinks;         /* that join two ranks of a domain, of the pair that has the fewest; 0: a pair has none */
	int adapters;        /* to the network, of the node that has the fewest */
	double adapter_gbps; /* of one rank's, each way */
	/* NCCL_MIN_NCHANNELS and so on; 0: not set */
	int min, max, p2p_min, p2p_max, per_net_peer;
};

struct muster_simchannels {
	int collectives, p2p, per_peer;
};

struct muster_simchannels muster_simchannels_find(const struct muster_simchannels_facts *facts);

#endif
