/* SPDX-License-Identifier: Apache-2.0 */
/* io_backend.h - what carries requests to the kernel: one table of functions for each way
 */
#ifndef MUSTER_STORAGE_IO_BACKEND_H
#define MUSTER_STORAGE_IO_BACKEND_H

#include "storage/io.h"

/* What the kernel is asked for: a whole request, or what is left of one. */
struct muster_io_request {
	enum muster_io_way way;
	int fd;
	void *data;
	size_t bytes;
	uint64_t offset;
};

struct muster_io_backend {
	/* NULL with err */
	void *(*make)(unsigned depth, struct muster_error *err);
	/* running: requests that have not ended */
	void (*free)(void *state, unsigned running);
	/* At most `depth` at once; index says which one it is. */
	int (*submit)(void *state, const struct muster_io_request *request, unsigned index, struct muster_error *err);
	/* One that ended: its index, and its bytes or -errno. -1 with err (MUSTER_ETIME: none within the time). */
	int (*wait)(void *state, int timeout_ms, unsigned *ret_index, long *ret_result, struct muster_error *err);
};

#ifdef MUSTER_HAVE_LIBURING
extern const struct muster_io_backend muster_io_uring;
#endif
extern const struct muster_io_backend muster_io_threads;

/* muster_io_new with threads; why: the reason, for the name of the method. */
struct muster_io *muster_io_new_threads(unsigned depth, const char *why, struct muster_error *err);

#endif
