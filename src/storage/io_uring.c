/* SPDX-License-Identifier: Apache-2.0 */
/* io_uring.c - requests through io_uring
 *
 * Few functions of liburing, all of them in 2.1: what a simulation replaces.
 *
 * One submission for each request: batches would save system calls, but requests of 1 MiB and more need few of them.
 * Containers whose seccomp profile forbids io_uring, and hosts with kernel.io_uring_disabled, fail in make, and threads
 * take over (io.c). Leaving a ring with requests under way is safe: the kernel keeps their pages until they end.
 */
#include "storage/io_backend.h"

#ifdef MUSTER_HAVE_LIBURING
#include "util/text.h"

#include <errno.h>
#include <liburing.h>
#include <stdlib.h>
#include <string.h>

enum { NO_INDEX = MUSTER_IO_DEPTH_MAX }; /* of an entry that is no request any more */

static void *make(unsigned depth, struct muster_error *err)
{
	struct io_uring *ring = calloc(1, sizeof *ring);
	if (!ring) {
		muster_fail(err, MUSTER_ENOMEM, "memory for io_uring: %s", strerror(errno));
		return NULL;
	}
	int result = io_uring_queue_init(depth, ring, 0);
	if (result == 0)
		return ring;
	free(ring);
	muster_fail(err, MUSTER_ENOTSUPPORTED, "io_uring_queue_init: %s", strerror(-result));
	return NULL;
}

static void release(void *state, unsigned running)
{
	(void)running; /* the kernel cancels them, or ends them by itself */
	io_uring_queue_exit(state);
	free(state);
}

/* The kernel may be short of memory or of room for completions (EAGAIN, EBUSY): it is asked again for one second. An
 * entry that was not submitted goes out with the next one, and liburing cannot take it back: it is made to do nothing,
 * and wait_done passes over its end. */
static int submit(void *state, const struct muster_io_request *request, unsigned index, struct muster_error *err)
{
	struct io_uring_sqe *entry = io_uring_get_sqe(state);
	if (!entry && io_uring_submit(state) > 0) /* entries of refused requests fill the queue */
		entry = io_uring_get_sqe(state);
	if (!entry)
		return muster_fail(err, MUSTER_EIO, "io_uring has no room for a request");
	if (request->way == MUSTER_IO_READ)
		io_uring_prep_read(entry, request->fd, request->data, (unsigned)request->bytes, request->offset);
	else
		io_uring_prep_write(entry, request->fd, request->data, (unsigned)request->bytes, request->offset);
	entry->user_data = index;
	for (double until = muster_now_ms() + 1000;;) {
		int result = io_uring_submit(state);
		if (result > 0 && io_uring_sq_ready(state) == 0)
			return 0;
		if ((result > 0 || result == -EINTR || result == -EAGAIN || result == -EBUSY) &&
			muster_now_ms() <= until)
			continue;
		io_uring_prep_nop(entry);
		entry->user_data = NO_INDEX;
		return muster_fail(err, MUSTER_EIO, "io_uring_submit: %s",
			result < 0 ? strerror(-result) : "nothing was submitted");
	}
}

/* io_uring_wait_cqe_timeout may return before its time when a signal comes. It is called again with the time that is
 * left, which is rounded up to a millisecond, and at least once with 0: a completion that is there is then still taken.
 */
static int wait_done(void *state, int timeout_ms, unsigned *ret_index, long *ret_result, struct muster_error *err)
{
	double until = muster_now_ms() + timeout_ms;
	for (;;) {
		double left = until - muster_now_ms();
		long ms = left > 0 ? (long)left + 1 : 0;
		struct __kernel_timespec time = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };
		struct io_uring_cqe *entry = NULL;
		int result = io_uring_wait_cqe_timeout(state, &entry, &time);
		if (result == 0 && entry) {
			*ret_index = (unsigned)entry->user_data;
			*ret_result = entry->res;
			io_uring_cqe_seen(state, entry);
			if (*ret_index == NO_INDEX)
				continue;
			return 0;
		}
		if (result == -ETIME || ((result == -EINTR || result == -EAGAIN) && ms == 0))
			return muster_fail(err, MUSTER_ETIME, "none was done within %.1f s", timeout_ms / 1e3);
		if (result != -EINTR && result != -EAGAIN)
			return muster_fail(err, MUSTER_EIO, "io_uring_wait_cqe_timeout: %s", strerror(-result));
	}
}

const struct muster_io_backend muster_io_uring = {
	.make = make,
	.free = release,
	.submit = submit,
	.wait = wait_done,
};
#endif
