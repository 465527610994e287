/* SPDX-License-Identifier: Apache-2.0 */
/* disk.c - from a file through pinned buffers to the GPU: while one buffer is copied, the others are read
 *
 * Every block of the file has a place of its own in the GPU's memory, and is compared there when the time is taken.
 *
 * A slot goes round: UNUSED, READS (the kernel reads into it), COPIES (the GPU reads from it), UNUSED. One thread does
 * all: it starts reads in free slots, waits for one read, queues its copy, and looks which copies are done.
 *
 * What ends a pass, whichever comes first:
 *
 *   the end of the file, or of the GPU's buffer where that is smaller
 *   READ_MS after its start: no further read begins, and reads and copies under way are waited for
 *   STALLED_MS without the end of a request, which is an error
 *
 * A window is 256 MiB of the file. It begins when its first read starts and ends when its last copy is done, and no
 * read of the next one is in flight before: what the disk reads ahead while the host stands still would count twice.
 */
#include "probes/gpu_stream/stream.h"
#include "probes/windows.h"

#include "storage/pattern.h"
#include "util/clock.h"
#include "util/text.h"

#define WRITE_MS 8000.0 /* no new request begins after that */
#define READ_MS 5000.0
#define STALLED_MS 10000 /* one request */

/* Write the file slot by slot, as many requests at once as there are slots, then have it brought to the disk
 * (muster_storage_file_settle). Where WRITE_MS are over first, ret->bytes is less than `bytes`; one slot is always
 * written. The words of the file follow from the seed and their offset, so that nothing of it is kept in memory. */
int muster_stream_file_init(struct muster_stream *stream, const char *folder, size_t bytes,
	struct muster_stream_file *ret, struct muster_error *err)
{
	double end = muster_now_ms() + WRITE_MS;
	*ret = (struct muster_stream_file){ .file = { .fd = -1 }, .seed = muster_storage_seed() };
	bytes -= bytes % stream->slot_bytes;
	muster_step(stream->ctx, "write of %zu MiB to %s", bytes >> 20, folder);
	if (muster_storage_file_open(folder, bytes, &ret->file, err) < 0)
		return -1;
	ret->io = muster_io_new((unsigned)stream->slots, err);
	if (!ret->io)
		return -1;
	size_t next = 0, slot;
	for (; next < bytes && (next == 0 || muster_now_ms() < end); next += stream->slot_bytes) {
		slot = next / stream->slot_bytes; /* each slot once, and then the slot whose request is done first */
		if (slot >= stream->slots && muster_io_wait(ret->io, STALLED_MS, &slot, err) < 0)
			return -1;
		void *data = (char *)stream->host.data + slot * stream->slot_bytes;
		muster_storage_fill(data, stream->slot_bytes, next, ret->seed);
		if (muster_io_start(ret->io, MUSTER_IO_WRITE, &ret->file, data, stream->slot_bytes, next, slot, err) <
			0)
			return -1;
	}
	while (muster_io_running(ret->io) > 0)
		if (muster_io_wait(ret->io, STALLED_MS, &slot, err) < 0)
			return -1;
	ret->bytes = next;
	return muster_storage_file_settle(&ret->file, err);
}

/* After an error requests may still run: the slots then belong to the kernel, and muster_stream_done frees nothing. */
void muster_stream_file_done(struct muster_stream *stream, struct muster_stream_file *file)
{
	stream->lent = file->io && muster_io_running(file->io) > 0;
	muster_io_free(file->io);
	muster_storage_file_close(&file->file);
	file->io = NULL;
}

/* A window of a pass over the file. */
struct pipeline {
	struct muster_stream *stream;
	const struct muster_stream_file *file;
	enum { UNUSED, READS, COPIES } slots[MUSTER_STREAM_SLOTS_MOST];
	size_t at[MUSTER_STREAM_SLOTS_MOST]; /* where in the file and in the GPU's memory */
	size_t first, started, most;         /* bytes: where it begins; of which the read has begun; where it ends */
	size_t busy;                         /* slots */
	double end;                          /* no new read begins after it, by muster_now_ms */
};

/* Begin a read in every slot that is free. After the end of the pass's time none begins, but for the first read of a
 * window: a window without a read would have no rate. */
static int start_reads(struct pipeline *p, struct muster_error *err)
{
	struct muster_stream *stream = p->stream;
	for (size_t slot = 0; slot < stream->slots && p->started < p->most; slot++) {
		if (p->slots[slot] != UNUSED || (p->started > p->first && muster_now_ms() > p->end))
			continue;
		if (muster_io_start(p->file->io, MUSTER_IO_READ, &p->file->file,
			    (char *)stream->host.data + slot * stream->slot_bytes, stream->slot_bytes, p->started, slot,
			    err) < 0)
			return -1;
		p->slots[slot] = READS;
		p->at[slot] = p->started;
		p->started += stream->slot_bytes;
		p->busy++;
	}
	return 0;
}

/* Free the slots whose copy is done. */
static int end_copies(struct pipeline *p, struct muster_error *err)
{
	for (size_t slot = 0; slot < p->stream->slots; slot++) {
		int done = p->slots[slot] == COPIES ? muster_stream_copied(p->stream, slot, err) : 0;
		if (done < 0)
			return -1;
		if (done == 0)
			continue;
		p->slots[slot] = UNUSED;
		p->busy--;
	}
	return 0;
}

/* Wait for a read and queue its copy. Where no read is under way, only copies are left: sleep a little, so that the
 * caller asks for them again. */
static int end_read(struct pipeline *p, struct muster_error *err)
{
	size_t slot;
	if (muster_io_running(p->file->io) == 0) {
		if (muster_now_ms() > p->end + STALLED_MS)
			return muster_fail(
				err, MUSTER_ETIME, "copies to the GPU were not done after %d s", STALLED_MS / 1000);
		muster_sleep_ms(0.01);
		return 0;
	}
	if (muster_io_wait(p->file->io, STALLED_MS, &slot, err) < 0)
		return -1;
	p->slots[slot] = COPIES;
	return muster_stream_copy(p->stream, slot, p->at[slot], p->stream->slot_bytes, err);
}

/* One window: until p->most or the time's end is reached, and every slot is free again. */
static int run_pipeline(struct pipeline *p, bool beside_products, struct muster_error *err)
{
	do {
		if ((beside_products && muster_stream_products_keep(p->stream, err) < 0) || start_reads(p, err) < 0 ||
			end_read(p, err) < 0 || end_copies(p, err) < 0)
			return -1;
	} while (p->busy > 0);
	return 0;
}

/* One pass in windows. The clock of the host times them, since a read by the kernel has no event of the GPU. A window
 * that did not reach its end (p.started < p.most) had no time left, so it is the last one. What was read has no gaps,
 * and is verified once, after the last window. */
int muster_stream_from_disk(struct muster_stream *stream, const struct muster_stream_file *file, bool beside_products,
	struct muster_stream_pass *ret, struct muster_error *err)
{
	size_t all = file->bytes < stream->bytes ? file->bytes : stream->bytes;
	struct pipeline p = { .stream = stream, .file = file, .end = muster_now_ms() + READ_MS };
	struct muster_stream_pass pass = { 0 };
	muster_step(stream->ctx, "%zu MiB from the disk to the GPU%s", file->bytes >> 20,
		beside_products ? " beside matrix products" : "");
	if (muster_stream_clear(stream, err) < 0 || (beside_products && muster_stream_products_keep(stream, err) < 0))
		return -1;
	do {
		double began = muster_clock_now(&muster_clock_raw);
		size_t size = all - p.started < MUSTER_WINDOW_BYTES ? all - p.started : MUSTER_WINDOW_BYTES;
		p.first = p.started;
		p.most = p.first + size;
		if (run_pipeline(&p, beside_products, err) < 0)
			return -1;
		muster_stream_keep(&pass, p.started - p.first, muster_clock_now(&muster_clock_raw) - began);
	} while (p.started == p.most && p.started < all && muster_now_ms() < p.end);
	if ((beside_products && muster_stream_products_stop(stream, err) < 0) ||
		muster_stream_verify(stream, pass.bytes, file->seed, &pass.wrong, err) < 0)
		return -1;
	if (pass.windows == 0)
		return muster_fail(err, MUSTER_EIO, "reads from the disk took no time");
	*ret = pass;
	return 0;
}
