/* derive.h - values that no rank can measure: they follow from what several nodes say */
#ifndef MUSTER_EVAL_DERIVE_H
#define MUSTER_EVAL_DERIVE_H

#include "eval/exchange_peers.h"

struct muster_run;

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

/* Add node.imex_state to each node that has node.imex_channels, unless the node has it already. */
void muster_run_derive_imex(struct muster_run *run);

/* Add rank.link_disabled to each rank whose settings are known, unless the rank has the metric already. */
void muster_run_derive_disabled(struct muster_run *run);

/* Add rank.cores_each to each rank whose CPUs are known, and to each node the metrics that are the lowest value of its
 * ranks (lowest_of in metric.h), unless the rank or the node has them already. */
void muster_run_derive_placement(struct muster_run *run);

/* Add pair.exchange_limit_gbps to each rank, for each of its exchanges, unless the run has the metric already. */
void muster_run_derive_exchanges(struct muster_run *run, const struct muster_exchange_peers *peers);

/* Add pair.exchange_usual_gbps to each rank, for each of its exchanges that has others like it on three nodes or more,
 * unless the run has the metric already. */
void muster_run_derive_usual(struct muster_run *run, const struct muster_exchange_peers *peers);

/* Add job.step_spread for each rack, or for all ranks where no rack is known; and job.rack_order, where the ranks of
 * some rack do not follow each other. A run that has the metric already keeps what it has. */
void muster_run_derive_racks(struct muster_run *run);

/* Add node.disk_to_gpu_gbps to each node with ranks that have read from the disk, unless the node has it already. */
void muster_run_derive_disk(struct muster_run *run);

/* Add job.checkpoint_* and job.broadcast_*, job.shared_read_gbps, node.broadcast_stored_gbps, node.broadcast_hash and
 * rank.broadcast_wrong where ranks wrote to a shared folder, or received data that one node read. A run that has them
 * keeps them. */
void muster_run_derive_data_path(struct muster_run *run);

/* Add job., node., rank. and gpu.slow_windows for what was measured in windows, unless the run has them already. */
void muster_run_derive_steady(struct muster_run *run);

/* All of these, and for each number of nodes and ranks that was measured nccl.allreduce_limit_gbps and
 * nccl.alltoall_limit_gbps: null with a reason where it is not known. The step between the last sample of a run and its
 * judgement; a run that has the metric already stays as it is. No I/O. */
void muster_run_derive(struct muster_run *run);

#endif
