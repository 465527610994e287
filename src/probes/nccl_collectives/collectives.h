/* SPDX-License-Identifier: Apache-2.0 */
/* collectives.h - the parts of the probe nccl_collectives */
#ifndef MUSTER_PROBES_NCCL_COLLECTIVES_COLLECTIVES_H
#define MUSTER_PROBES_NCCL_COLLECTIVES_COLLECTIVES_H

#include "probes/nccl/session.h"

enum muster_collective { MUSTER_ALLGATHER, MUSTER_REDUCESCATTER, MUSTER_ALLTOALL, MUSTER_COLLECTIVES };

/* ---- measure.c ---- */

/* Check and time one collective at every size that all ranks have room and time for: at most `limit` bytes, a power of
 * two that is the same on all ranks. */
int muster_collective_measure(const struct muster_nccl_session *s, enum muster_collective collective, uint64_t limit,
	struct muster_error *err);
/* The windows of a later visit, of the sizes that muster_collective_measure has measured. */
int muster_collective_windows(
	const struct muster_nccl_session *s, enum muster_collective collective, struct muster_error *err);
/* Null for all of a collective's metrics, at the first size. */
void muster_collective_emit_none(
	const struct muster_nccl_session *s, enum muster_collective collective, const char *reason);

/* ---- connect.c ---- */

/* Exchange a first message with every other rank, and yield how long that took on the slowest. A share of the session's
 * time is for that. When it runs out, the ranks that this rank waits for are yielded and named in err. */
int muster_collective_connect(const struct muster_nccl_session *s, struct muster_error *err);

/* ---- jitter.c ---- */

/* Time 100 all-reduces one by one, of at most `limit` bytes. */
int muster_collective_jitter(const struct muster_nccl_session *s, uint64_t limit, struct muster_error *err);
void muster_collective_jitter_none(const struct muster_nccl_session *s, const char *reason);
/* Of times in any order, which it sorts: the median, the time that 99 of 100 do not exceed, and the share of times that
 * exceed 1.5 times the median. */
void muster_collective_jitter_of(double *times, size_t count, double *ret_p50, double *ret_p99, double *ret_outliers);

#endif
