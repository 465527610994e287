/* SPDX-License-Identifier: Apache-2.0 */
/* derive.h - values that no rank can measure: they follow from what several nodes say */
#ifndef MUSTER_EVAL_DERIVE_H
#define MUSTER_EVAL_DERIVE_H

#include "eval/exchange_peers.h"

struct muster_run;

/* All steps below, and for each number of nodes and ranks that was measured nccl.allreduce_limit_gbps and
 * nccl.alltoall_limit_gbps: null with a reason where it is not known. The step between the last sample of a run and its
 * judgement; a run that has a metric already keeps what it has. No I/O. */
void muster_run_derive(struct muster_run *run);

void muster_run_derive_steady(struct muster_run *run);    /* *.slow_windows, of what was measured in windows */
void muster_run_derive_imex(struct muster_run *run);      /* node.imex_state, of node.imex_channels */
void muster_run_derive_disabled(struct muster_run *run);  /* rank.link_disabled, of ranks whose settings are known */
void muster_run_derive_placement(struct muster_run *run); /* rank.cores_each, and a node's lowest values of its ranks */
void muster_run_derive_disk(struct muster_run *run);      /* node.disk_to_gpu_gbps, of ranks that read from the disk */
void muster_run_derive_racks(struct muster_run *run);     /* job.step_spread of each rack or of all, job.rack_order */
void muster_run_derive_data_path(struct muster_run *run); /* of a shared folder, and of data that one node read */

/* pair.exchange_limit_gbps, and pair.exchange_usual_gbps for exchanges that have others like them on three nodes. */
void muster_run_derive_exchanges(struct muster_run *run, const struct muster_exchange_peers *peers);
void muster_run_derive_usual(struct muster_run *run, const struct muster_exchange_peers *peers);

#endif
