/* SPDX-License-Identifier: Apache-2.0 */
/* passes.h - a file that several threads write, and read and verify, at once
 *
 * One thread cannot make enough data for eight disks: each thread fills the blocks that it writes and verifies those
 * that it reads, while its other requests are in flight. The threads take the blocks of the file in their order.
 *
 * 4 threads, or 8 on nodes with many CPUs, each with 16 requests of 1 MiB in flight and 16 MiB of memory. One thread
 * fills or verifies about 8 GB/s. The memory is made once for all passes. A pass after one that failed with
 * MUSTER_ETIME must not be made: a request may still run.
 */
#ifndef MUSTER_PROBES_SCRATCH_PASSES_H
#define MUSTER_PROBES_SCRATCH_PASSES_H

#include "storage/io.h"

#define MUSTER_PASS_BLOCK (UINT64_C(1) << 20)

struct muster_passes;

/* 4 threads' memory, or 8 where the job has 16 CPUs or more: 64 or 128 MiB. The threads themselves begin with each
 * pass. NULL with err. */
struct muster_passes *muster_passes_new(struct muster_error *err);
/* Memory of requests that never ended stays. */
void muster_passes_free(struct muster_passes *passes);

/* How requests are carried: "io_uring", or "threads: " and why (storage/io.h). */
const char *muster_passes_method(const struct muster_passes *passes);
/* CPUs that the threads may use: those of the job, not only those of this rank. */
int muster_passes_cpus(const struct muster_passes *passes);

struct muster_pass {
	uint64_t blocks; /* without a gap, from the first one on: written, or read and verified */
	double seconds;
	uint64_t wrong; /* 8-byte words that were read other than written */
};

/* Write or read `blocks` blocks from block `first` on, with the content that belongs to seed; no more requests are
 * started after limit_ms. A buffered file is on the disk before the time ends. -1 with err: the code is that of
 * muster_io_wait, or MUSTER_ENOMEM. */
int muster_passes_run(struct muster_passes *passes, enum muster_io_way way, const struct muster_storage_file *file,
	uint64_t first, uint64_t blocks, uint64_t seed, double limit_ms, struct muster_pass *ret,
	struct muster_error *err);

#endif
