/* exchange_peers.h - the other end of an exchange between two ranks, and values that follow from several exchanges */
#ifndef MUSTER_EVAL_EXCHANGE_PEERS_H
#define MUSTER_EVAL_EXCHANGE_PEERS_H

#include "muster/arena.h"
#include "muster/sample.h"

#include <stddef.h>

struct muster_run;

/* A rank of the run, by the places of its node and of the rank there. */
struct muster_exchange_end {
	size_t node, rank;
};

struct muster_exchange_peers {
	const struct muster_run *run;
	struct muster_exchange_name *names; /* of the nodes, sorted */
	bool one_domain;                    /* NVLink joins all nodes */
};

/* domains: the NVLink domains of the run. */
struct muster_exchange_peers muster_exchange_peers_make(const struct muster_run *run, size_t domains);
void muster_exchange_peers_done(struct muster_exchange_peers *peers);

/* The rank with the node and the GPU that the labels peer_node and peer_gpu name. False when the run has none. */
bool muster_exchange_peer_find(
	const struct muster_exchange_peers *peers, const struct muster_sample *sample, struct muster_exchange_end *ret);

/* Whether the exchange goes through network adapters: what NCCL's log says of the transport (label transport); where
 * the log does not say it, an exchange between nodes does that NVLink does not join. */
bool muster_exchange_is_network(const struct muster_exchange_peers *peers, const struct muster_sample *sample);

/* Why the rate at this place says little of a share: the all-reduce's buffers had no room for a full message. NULL: it
 * does. */
const char *muster_exchange_why_small(const struct muster_samples *samples, size_t at, struct muster_arena *arena);

/* Whether any rank of the run has a sample of the metric. */
bool muster_exchange_is_measured(const struct muster_run *run, const struct muster_metric *metric);

/* What an exchange should reach, in GB/s, and its labels path and link; or why it is not known. */
struct muster_exchange_limit {
	const char *path, *link;
	double gbps;
	const char *why, *unread;
};

/* Add a sample of the metric to the rank at `end`: it has the labels of the exchange, which is the rank's sample number
 * `at`, then path and link. */
void muster_exchange_limit_add(struct muster_run *run, struct muster_exchange_end end, size_t at,
	const struct muster_metric *metric, struct muster_exchange_limit limit);

#endif
