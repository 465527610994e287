/* SPDX-License-Identifier: Apache-2.0 */
/* nccl_channels.h - how many channels two ranks of a communicator exchange over
 *
 * NCCL splits data over several channels, which work side by side. With few channels the rate is lower (nccl_time.c),
 * and NCCL's log says how many there are (nccl_log.c). This part knows no ring: nccl_paths.c collects the facts, so
 * that a table of cases from logs can test the rule alone (tests/standins/test_nccl_channels.c).
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

/* As NCCL logs them: "24 coll channels, ... 32 p2p channels, 32 p2p channels per peer". */
struct muster_simchannels {
	int collectives, p2p, per_peer;
};

struct muster_simchannels muster_simchannels_find(const struct muster_simchannels_facts *facts);

#endif
