/* SPDX-License-Identifier: Apache-2.0 */
/* exchange_peers.h - the other end of an exchange between two ranks; limits, and other values that no rank measures
 *
 * A sample of an exchange names its peer by node and GPU, not by rank: names are what stays true in a saved report. To
 * find the rank of a peer takes a binary search over the nodes and a walk over the ranks of one of them.
 */
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

/* The network adapters of the exchange, as NCCL names them; NULL: it uses none, or NCCL's log does not say which. */
const char *muster_exchange_nic(const struct muster_sample *sample);

/* Why the rate at this place says little of a share: the all-reduce's buffers had no room for a full message. NULL: it
 * does. */
const char *muster_exchange_why_small(const struct muster_samples *samples, size_t at, struct muster_arena *arena);

/* Whether any rank of the run has a sample of the metric. */
bool muster_exchange_is_measured(const struct muster_run *run, const struct muster_metric *metric);

/* A limit in GB/s and its words; or why it is not known, then gbps is 0. */
struct muster_limit {
	double gbps;
	const char *words, *why;
	const char *unread; /* beside why: as in a sample */
	size_t members;     /* that share it; 0: it is not shared */
};

/* What a sample with a label "link" says. */
struct muster_limit muster_limit_of(
	const struct muster_samples *samples, const char *metric, struct muster_arena *arena);

/* Add a number, or null where there is a reason. */
void muster_derived_add(struct muster_samples *samples, const struct muster_metric *metric,
	const struct muster_label *labels, size_t label_count, double number, const char *reason, const char *unread);

/* Add a sample of the metric to the rank at `end`, of what its exchange should reach: it has the labels of the
 * exchange, which is the rank's sample number `at`, then path and link (the limit's words, else the path). */
void muster_exchange_limit_add(struct muster_run *run, struct muster_exchange_end end, size_t at,
	const struct muster_metric *metric, const char *path, struct muster_limit limit);

#endif
