/* nccl_pairs.c - what two ranks exchange by themselves, all pairs at once: each GPU with the next one, each NIC with
 * the NIC of the next node
 *
 * A collective makes the fast ranks wait for the slow ones, so its time names no part. An exchange is between two GPUs
 * over one link, or over two NICs, and each rank times its own.
 */
#include "probes/metrics.h"
#include "probes/nccl/session.h"

#define PAIR_METRIC(name, unit, meaning)                                                                               \
	MUSTER_METRIC(MUSTER_SCOPE_RANK, name, MUSTER_NUMBER, unit, meaning, "kind", "peer_node", "peer_gpu", "nic",   \
		"transport")

static const struct muster_metric metrics[] = {
	PAIR_METRIC("pair.exchange_gbps", "GB/s",
		"what this rank sends to another one while as much comes back: each way; the best of the repeats"),
	PAIR_METRIC("pair.exchange_bytes", "bytes", "message size of pair.exchange_gbps"),
	PAIR_METRIC("pair.exchange_us", "us", "time of one exchange of 8 bytes"),
	PAIR_METRIC("pair.exchange_wrong", "",
		"4-byte values that came other than they were sent; every value of every checked exchange is checked"),
	MUSTER_METRIC(MUSTER_SCOPE_RANK, "pair.exchange_limit_gbps", MUSTER_NUMBER, "GB/s",
		"what pair.exchange_gbps can be on the path between the two; not measured but derived from what nodes "
		"and ranks say of their links",
		"kind", "peer_node", "peer_gpu", "nic", "transport", "path", "link"),
};

const struct muster_probe muster_probe_nccl_pairs = {
	.name = "nccl_pairs",
	.summary = "exchanges between two ranks: every GPU with the next one, every NIC with the next node's",
	.scope = MUSTER_SCOPE_RANK,
	.needs_gpu = true,
	.deadline_ms = 10000,
	.order = 72,
	.metrics = metrics,
	.metric_count = sizeof metrics / sizeof *metrics,
	.traffic_shape = MUSTER_TRAFFIC_PAIRS,
};
