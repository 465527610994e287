/* SPDX-License-Identifier: Apache-2.0 */
/* io.h - many requests to files at once: io_uring, or threads where the kernel refuses that or muster was built without
 *
 * One thread uses a muster_io. The memory of a request must stay until the request is done: after a wait that failed
 * with MUSTER_ETIME, for as long as the process lives.
 */
#ifndef MUSTER_STORAGE_IO_H
#define MUSTER_STORAGE_IO_H

#include "storage/file.h"

enum muster_io_way { MUSTER_IO_READ, MUSTER_IO_WRITE };

/* At most `depth` requests in flight; 1 to MUSTER_IO_DEPTH_MAX. NULL with err. */
#define MUSTER_IO_DEPTH_MAX 256
struct muster_io *muster_io_new(unsigned depth, struct muster_error *err);
/* Waits for requests that still run, for a second at most; NULL does nothing. */
void muster_io_free(struct muster_io *io);

/* "io_uring", or "threads: " and why: "threads: io_uring_queue_init: Operation not permitted". */
const char *muster_io_method(const struct muster_io *io);

/* Start a request; of a direct file, data and offset are multiples of its block. A read that goes past the end of the
 * file (file->bytes) ends there: `bytes` need not be a multiple of the block, and data has room for them rounded up to
 * whole blocks. -1 with err: `depth` requests run already, the alignment is wrong, the kernel takes none. */
int muster_io_start(struct muster_io *io, enum muster_io_way way, const struct muster_storage_file *file, void *data,
	size_t bytes, uint64_t offset, size_t tag, struct muster_error *err);

/* The next request that is done: its tag. -1 with err: a request failed or the file ended before it ("write of 1 MiB at
 * 12 MiB: No space left on device"; *ret_tag is its tag), or MUSTER_ETIME: none was done within timeout_ms. MUSTER_EIO
 * is what the disk or the file system did, MUSTER_ENOTSUPPORTED a full or read-only one. */
int muster_io_wait(struct muster_io *io, int timeout_ms, size_t *ret_tag, struct muster_error *err);

/* After a failure: take what is still in flight, each within timeout_ms, whatever became of it. */
void muster_io_drain(struct muster_io *io, int timeout_ms);

/* Requests that were started and for which no wait has answered. */
unsigned muster_io_running(const struct muster_io *io);

#endif
