/* SPDX-License-Identifier: Apache-2.0 */
/* io.c - requests to files: what a request is, and when it is done
 *
 * A request lives in a slot from muster_io_start to the muster_io_wait that answers for it:
 *
 *    muster_io_start --> back end --> muster_io_wait --> all was done, or an error: the slot is free,
 *                            ^               |           and the caller gets the tag
 *                            +-- the rest <--+           a part was done
 *
 * The index of the slot is what the back end knows the request by. The tag is what the caller knows it by.
 *
 * The kernel may do a part of a request and end it (a "short" read or write). The rest is asked for again, until the
 * kernel has done all or gives an error.
 *
 * A request that failed has ended too. Only requests that never come back, after MUSTER_ETIME, keep their slot, and the
 * kernel may still write to their memory: the caller must not free that memory.
 *
 * Direct reads are asked for in whole blocks, of which the file's end may lack the last bytes: `wanted` counts the
 * bytes that must come, `left.bytes` those that are asked for.
 */
#include "storage/io_backend.h"
#include "util/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct slot {
	bool used;
	struct muster_io_request left; /* what is left of it */
	size_t wanted, done;           /* bytes; it is done when as many are */
	size_t block;                  /* of a direct file; else 1 */
	size_t tag;
};

struct muster_io {
	const struct muster_io_backend *backend;
	void *state;
	unsigned depth, running;
	char method[256];
	struct slot slots[];
};

/* A muster_io with the back end's state. The table of slots is a part of the struct. */
static struct muster_io *make(
	const struct muster_io_backend *backend, unsigned depth, const char *method, struct muster_error *err)
{
	if (depth < 1 || depth > MUSTER_IO_DEPTH_MAX) {
		muster_fail(err, MUSTER_EUSAGE, "%u requests at once: 1 to %d can be", depth, MUSTER_IO_DEPTH_MAX);
		return NULL;
	}
	struct muster_io *io = calloc(1, sizeof *io + depth * sizeof *io->slots);
	if (!io) {
		muster_fail(err, MUSTER_ENOMEM, "memory for %u requests: %s", depth, strerror(errno));
		return NULL;
	}
	io->backend = backend;
	io->depth = depth;
	snprintf(io->method, sizeof io->method, "%s", method);
	io->state = backend->make(depth, err);
	if (io->state)
		return io;
	free(io);
	return NULL;
}

struct muster_io *muster_io_new_threads(unsigned depth, const char *why, struct muster_error *err)
{
	char method[256];
	snprintf(method, sizeof method, "threads: %s", why);
	return make(&muster_io_threads, depth, method, err);
}

/* io_uring when the kernel lets us, else threads; the error of io_uring is then a part of the method's name, and not an
 * error of the caller. */
struct muster_io *muster_io_new(unsigned depth, struct muster_error *err)
{
#ifdef MUSTER_HAVE_LIBURING
	struct muster_error why;
	struct muster_io *io = make(&muster_io_uring, depth, "io_uring", &why);
	return io ? io : muster_io_new_threads(depth, why.text, err);
#else
	return muster_io_new_threads(depth, "this muster was built without liburing", err);
#endif
}

/* Requests that still run get one second in all. Their results are dropped, and short ones are not continued. */
void muster_io_free(struct muster_io *io)
{
	if (!io)
		return;
	double until = muster_now_ms() + 1000;
	unsigned index;
	long result;
	while (io->running > 0 && muster_now_ms() < until &&
		io->backend->wait(io->state, (int)(until - muster_now_ms()) + 1, &index, &result, NULL) == 0)
		io->running--;
	io->backend->free(io->state, io->running);
	free(io);
}

const char *muster_io_method(const struct muster_io *io)
{
	return io->method;
}

unsigned muster_io_running(const struct muster_io *io)
{
	return io->running;
}

/* The checks before the request are for errors of the caller: alignment, a read behind the end of the file, too many
 * requests. Of a buffered file the block is 1, so that every alignment is right. */
int muster_io_start(struct muster_io *io, enum muster_io_way way, const struct muster_storage_file *file, void *data,
	size_t bytes, uint64_t offset, size_t tag, struct muster_error *err)
{
	size_t block = file->direct ? file->block : 1;
	size_t asked = way == MUSTER_IO_READ ? (bytes + block - 1) / block * block : bytes, wanted = bytes;
	if ((uintptr_t)data % block != 0 || offset % block != 0 || asked % block != 0)
		return muster_fail(err, MUSTER_EUSAGE,
			"%zu bytes at %llu: direct access needs multiples of %zu, in memory too", bytes,
			(unsigned long long)offset, block);
	if (way == MUSTER_IO_READ && (offset >= file->bytes || file->bytes - offset < wanted))
		wanted = offset < file->bytes ? (size_t)(file->bytes - offset) : 0;
	if (wanted == 0)
		return muster_fail(err, MUSTER_EUSAGE, "%zu bytes at %llu: the file has %llu", bytes,
			(unsigned long long)offset, (unsigned long long)file->bytes);
	unsigned index = 0;
	while (index < io->depth && io->slots[index].used)
		index++;
	if (index == io->depth)
		return muster_fail(err, MUSTER_EUSAGE, "%u requests run already", io->depth);
	struct slot *slot = &io->slots[index];
	*slot = (struct slot){ .wanted = wanted, .block = block, .tag = tag };
	slot->left = (struct muster_io_request){ way, file->fd, data, asked, offset };
	if (io->backend->submit(io->state, &slot->left, index, err) < 0)
		return -1;
	slot->used = true;
	io->running++;
	return 0;
}

/* -1 with "write of 1 MiB at 12 MiB: why". The offset is where the request began: left.offset moves on as parts are
 * done. */
static int explain(const struct slot *slot, enum muster_code code, const char *why, struct muster_error *err)
{
	char size[32], place[32];
	uint64_t offset = slot->left.offset - slot->done;
	return muster_fail(err, code, "%s of %s at %s: %s", slot->left.way == MUSTER_IO_READ ? "read" : "write",
		muster_bytes_text(slot->wanted, size, sizeof size), muster_bytes_text(offset, place, sizeof place),
		why);
}

/* What a user or an administrator can mend is no fault of the disk. */
static enum muster_code code_of(int error)
{
	switch (error) {
	case ENOSPC:
	case EDQUOT:
	case EROFS:
	case EINVAL:
	case EOPNOTSUPP: return MUSTER_ENOTSUPPORTED;
	case EACCES:
	case EPERM: return MUSTER_ENOPERMISSION;
	case ENOMEM: return MUSTER_ENOMEM;
	default: return MUSTER_EIO;
	}
}

/* What the kernel did of a request: 1 when that was all, 0 when the rest was asked for, -1 with err. -EINTR and -EAGAIN
 * count as 0 bytes done. A part that is no multiple of the block cannot be continued with direct access. */
static int advance(struct muster_io *io, unsigned index, long result, struct muster_error *err)
{
	struct slot *slot = &io->slots[index];
	struct muster_io_request *left = &slot->left;
	if (result == -EINTR || result == -EAGAIN)
		result = 0;
	else if (result < 0)
		return explain(slot, code_of((int)-result), strerror((int)-result), err);
	else if (slot->done + (size_t)result >= slot->wanted)
		return 1;
	else if (result == 0)
		return explain(slot, MUSTER_EIO,
			left->way == MUSTER_IO_READ ? "the file ended before" : "nothing was written", err);
	else if ((size_t)result % slot->block != 0)
		return explain(slot, MUSTER_EIO, "only a part of a block was done", err);
	slot->done += (size_t)result;
	left->data = (char *)left->data + result;
	left->bytes -= (size_t)result;
	left->offset += (size_t)result;
	return io->backend->submit(io->state, left, index, err);
}

/* The time that is left shrinks with each part that was done, so that timeout_ms holds for the whole call. ret_tag is
 * set for a failed request too. */
int muster_io_wait(struct muster_io *io, int timeout_ms, size_t *ret_tag, struct muster_error *err)
{
	double until = muster_now_ms() + timeout_ms;
	for (;;) {
		unsigned index;
		long result;
		double left = until - muster_now_ms();
		if (io->running == 0)
			return muster_fail(err, MUSTER_EUSAGE, "no request runs");
		if (io->backend->wait(io->state, left > 0 ? (int)left + 1 : 0, &index, &result, err) < 0)
			return err && err->code == MUSTER_ETIME ? muster_wrap(err, "%u in flight", io->running) : -1;
		int done = advance(io, index, result, err);
		if (done == 0)
			continue;
		io->slots[index].used = false;
		io->running--;
		*ret_tag = io->slots[index].tag;
		return done > 0 ? 0 : -1;
	}
}

void muster_io_drain(struct muster_io *io, int timeout_ms)
{
	size_t ended;
	for (unsigned before = io->running + 1; io->running > 0 && io->running < before;) {
		before = io->running;
		(void)muster_io_wait(io, timeout_ms, &ended, NULL); /* -1 with none less: none comes any more */
	}
}
