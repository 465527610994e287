/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint.c - all ranks write GPU memory to a shared folder at once, read it back and compare
 *
 * The first round writes, the second one reads, so that no rank reads while others write. Each rank is by itself: the
 * communicator has no part in it, and a rank that fails or stalls takes nothing from the others.
 *
 * A round of traffic has no communicator (MUSTER_TRAFFIC_EACH): the barrier before it lets all ranks begin together.
 * `work` is made in the first round and lives until the second one has read the file back; a rank that fails frees it
 * at once. The file has no name, so nothing remains however the process ends.
 *
 * Rates: bytes by the time from the first request to the end of fsync (write), or of the last read. Each round ends by
 * itself after 12 s, with what was written or read until then.
 *
 *   round 0    space check, open_work, write_work: kernel fills a piece on the GPU, copy to pinned memory, write; fsync
 *   round 1    read_work: read into pinned memory, compare on the host; end_work
 *
 * What is compared on the host was made by a kernel on the GPU: the content of a place in the file is the same function
 * of seed and place on both (storage/pattern.h). A worker that replaced another one has no `work`, and its second round
 * does nothing. The job's metrics are derived when the run is complete.
 */
#include "probes/gpu/kernels.h"
#include "probes/metrics.h"
#include "storage/file.h"
#include "storage/io.h"
#include "storage/pattern.h"
#include "storage/folder.h"
#include "util/clock.h"
#include "util/text.h"
#include "vendor/cuda.h"
#include "vendor/pinned.h"
#include "muster/probe.h"

#include <stdbool.h>
#include <stdio.h>

/* ---- what copies GPU memory to the file of a rank ---- */

/* Each piece is filled on the GPU, copied to pinned memory and written from there, while other pieces are on their way.
 * No call here ends while the file system stalls: the step says which request it waits for, and the supervisor ends the
 * worker at its deadline. */
#define PIECE_BYTES ((size_t)4 << 20)
#define SLOTS 8 /* pieces on their way at once */

/* A place for one piece, on the GPU and in pinned memory. */
struct slot {
	uint64_t offset; /* of its piece in the file */
	size_t bytes;    /* of its piece: PIECE_BYTES, less at the end of the file */
	bool asked;      /* its request is under way */
};

struct work {
	struct muster_probe_ctx *ctx;
	const struct muster_cuda *cuda;
	const char *folder;
	struct muster_storage_file file;
	bool open;
	uint64_t seed, bytes; /* of the file's content; how many bytes of it are written, from its beginning on */
	struct muster_io *io;
	CUstream stream;
	CUdeviceptr memory; /* a piece for each slot */
	struct muster_pinned host;
	struct slot slots[SLOTS];
	CUevent copied[SLOTS]; /* from the GPU */
};

#define BEHIND (SLOTS / 2) /* pieces that are copied from the GPU while the others are written */
#define SAY_AFTER_MS 1000  /* of waiting for a request */
#define REST_MS 2000       /* after a failure, for requests that are under way */
#define COPY_MS 10000      /* more than any copy of a piece from a GPU takes */

/* A file of `bytes` in the folder, memory and a stream: 0, or -1 with err. Either way the caller ends it with end_work.
 */
static int open_work(
	struct work *ret, struct muster_probe_ctx *ctx, const char *folder, uint64_t bytes, struct muster_error *err)
{
	const struct muster_probe_env *env = muster_probe_env(ctx);
	const struct muster_cuda *cuda = muster_cuda(err);
	*ret = (struct work){ .ctx = ctx, .cuda = cuda, .folder = folder };
	if (!cuda)
		return -1;
	muster_step(ctx, "opening a file in %s", folder);
	if (muster_storage_file_open(folder, bytes, &ret->file, err) < 0)
		return -1;
	ret->open = true;
	ret->seed = muster_storage_seed();
	ret->io = muster_io_new(SLOTS, err);
	if (!ret->io || MUSTER_CUDA(cuda, err, cuStreamCreate, &ret->stream, CU_STREAM_NON_BLOCKING) < 0)
		return -1;
	muster_step(ctx, "cuMemHostRegister_v2 of %zu MiB", SLOTS * PIECE_BYTES >> 20);
	if (muster_pinned_alloc(cuda, SLOTS * PIECE_BYTES, env->root, env->gpu->bus_id, &ret->host, err) < 0 ||
		MUSTER_CUDA(cuda, err, cuMemAlloc_v2, &ret->memory, SLOTS * PIECE_BYTES) < 0)
		return -1;
	return muster_cuda_events_make(cuda, ret->copied, SLOTS, err);
}

/* Free all of it; the file is gone. What a request that did not end still uses is left. */
static void end_work(struct work *work)
{
	const struct muster_cuda *cuda = work->cuda;
	if (work->io && muster_io_running(work->io) > 0) { /* their memory stays for as long as the process lives */
		*work = (struct work){ 0 };
		return;
	}
	muster_io_free(work->io);
	muster_cuda_events_free(cuda, work->copied, SLOTS);
	if (work->stream)
		cuda->cuStreamDestroy_v2(work->stream);
	if (work->memory)
		cuda->cuMemFree_v2(work->memory);
	muster_pinned_free(cuda, &work->host);
	if (work->open)
		muster_storage_file_close(&work->file);
	*work = (struct work){ 0 };
}

/* ---- one piece ---- */

static unsigned char *data_of(const struct work *work, size_t slot)
{
	return (unsigned char *)work->host.data + slot * PIECE_BYTES;
}

/* Queue on the GPU: the file's content for the slot's place, copied to the host; the slot's event comes behind. The
 * seed of a piece is that of the file plus the piece's place in 8-byte words. */
static int copy(struct work *work, size_t at, struct muster_error *err)
{
	struct slot *slot = &work->slots[at];
	const struct muster_kernels *kernels = muster_kernels(work->cuda, err);
	const struct muster_pattern content = muster_storage_pattern(work->seed + slot->offset / sizeof(uint64_t));
	CUdeviceptr memory = work->memory + at * PIECE_BYTES;
	if (!kernels || muster_kernel_fill(work->cuda, kernels, memory, slot->bytes, &content, work->stream, err) < 0 ||
		MUSTER_CUDA(work->cuda, err, cuMemcpyDtoHAsync_v2, data_of(work, at), memory, slot->bytes,
			work->stream) < 0)
		return -1;
	return MUSTER_CUDA(work->cuda, err, cuEventRecord, work->copied[at], work->stream);
}

/* Until the stream has passed the event, or COPY_MS. Polled, because a call of the driver that waits may never return.
 */
static int wait_copied(struct work *work, CUevent copied, struct muster_error *err)
{
	double until_ms = muster_now_ms() + COPY_MS;
	for (;;) {
		CUresult reached = work->cuda->cuEventQuery(copied);
		if (reached != CUDA_ERROR_NOT_READY)
			return muster_cuda_check(work->cuda, reached, err, "copies from the GPU");
		if (muster_now_ms() > until_ms)
			return muster_fail(
				err, MUSTER_ETIME, "a copy from the GPU did not finish within %d s", COPY_MS / 1000);
		muster_sleep_ms(0.02);
	}
}

/* The step says which request may hang: "write of 4 MiB at 512 MiB of the rank's file in /shared/x". */
static void say(struct work *work, enum muster_io_way way, const struct slot *slot)
{
	char bytes[32], offset[32];
	muster_step(work->ctx, "%s of %s at %s of the rank's file in %s", way == MUSTER_IO_WRITE ? "write" : "read",
		muster_bytes_text(slot->bytes, bytes, sizeof bytes),
		muster_bytes_text(slot->offset, offset, sizeof offset), work->folder);
}

/* Start the slot's write or read. The call itself may hang, so the step comes before. */
static int ask(struct work *work, size_t at, enum muster_io_way way, struct muster_error *err)
{
	struct slot *slot = &work->slots[at];
	say(work, way, slot);
	if (muster_io_start(work->io, way, &work->file, data_of(work, at), slot->bytes, slot->offset, at, err) < 0)
		return muster_wrap(err, "%s", work->folder);
	slot->asked = true;
	return 0;
}

/* Makes the step name the request that has been under way for the longest, once for each (*said is its offset). Pieces
 * are asked for in the order of the file, so it is the one with the lowest offset. */
static void say_oldest(struct work *work, enum muster_io_way way, uint64_t *said)
{
	const struct slot *oldest = NULL;
	for (size_t i = 0; i < SLOTS; i++)
		if (work->slots[i].asked && (!oldest || work->slots[i].offset < oldest->offset))
			oldest = &work->slots[i];
	if (!oldest || *said == oldest->offset)
		return;
	*said = oldest->offset;
	say(work, way, oldest);
}

/* Wait for any request to end, for as long as the supervisor lets the worker: a wait that took SAY_AFTER_MS only renews
 * the step. 0 with its slot, or -1 with err. */
static int wait_one(struct work *work, enum muster_io_way way, size_t *ret_slot, struct muster_error *err)
{
	uint64_t said = UINT64_MAX;
	while (muster_io_wait(work->io, SAY_AFTER_MS, ret_slot, err) < 0) {
		if (err->code != MUSTER_ETIME)
			return muster_wrap(err, "%s", work->folder);
		say_oldest(work, way, &said);
	}
	work->slots[*ret_slot].asked = false;
	return 0;
}

static int wait_slot(struct work *work, enum muster_io_way way, size_t at, struct muster_error *err)
{
	size_t ended;
	while (work->slots[at].asked)
		if (wait_one(work, way, &ended, err) < 0)
			return -1;
	return 0;
}

/* The slot gets a piece of the file, which has `bytes` bytes in all. */
static void place(struct work *work, size_t at, size_t piece, uint64_t bytes)
{
	struct slot *slot = &work->slots[at];
	slot->offset = (uint64_t)piece * PIECE_BYTES;
	uint64_t left = bytes - slot->offset;
	slot->bytes = left < PIECE_BYTES ? (size_t)left : PIECE_BYTES;
}

/* ---- writing ---- */

/* Piece by piece, two positions in one ring of slots: i is the piece that the GPU fills and copies to the host next, i
 * - BEHIND the one that is written next. So half of the slots are with the GPU and half with the file system. After the
 * last piece, or when the time is over, i goes on until the writer has come as far as the copies. */
static int write_pieces(struct work *work, uint64_t bytes, double until_ms, struct muster_error *err)
{
	size_t pieces = (size_t)((bytes + PIECE_BYTES - 1) / PIECE_BYTES), copied = 0;
	for (size_t i = 0; i < pieces + BEHIND && (i < pieces || i - BEHIND < copied); i++) {
		if (i < pieces && muster_clock_now(&muster_clock_raw) >= until_ms)
			pieces = i;
		if (i < pieces) {
			if (wait_slot(work, MUSTER_IO_WRITE, i % SLOTS, err) < 0)
				return -1;
			place(work, i % SLOTS, i, bytes);
			if (copy(work, i % SLOTS, err) < 0)
				return -1;
			copied = i + 1;
		}
		if (i < BEHIND || i - BEHIND >= copied)
			continue;
		size_t slot = (i - BEHIND) % SLOTS;
		if (wait_copied(work, work->copied[slot], err) < 0 || ask(work, slot, MUSTER_IO_WRITE, err) < 0)
			return -1;
		work->bytes = work->slots[slot].offset + work->slots[slot].bytes;
	}
	for (size_t i = 0; i < SLOTS; i++)
		if (wait_slot(work, MUSTER_IO_WRITE, i, err) < 0)
			return -1;
	return 0;
}

/* Write the file up to `bytes`, or as much as most_ms allow, and have the file system keep it: work->bytes, and how
 * long that took. */
static int write_work(struct work *work, uint64_t bytes, double most_ms, double *ret_ms, struct muster_error *err)
{
	double began_ms = muster_clock_now(&muster_clock_raw);
	muster_step(work->ctx, "writing to %s", work->folder);
	if (write_pieces(work, bytes, began_ms + most_ms, err) < 0) {
		muster_io_drain(work->io, REST_MS);
		return -1;
	}
	muster_step(work->ctx, "fsync of the rank's file in %s", work->folder);
	if (muster_storage_file_settle(&work->file, err) < 0)
		return muster_wrap(err, "%s", work->folder);
	*ret_ms = muster_clock_now(&muster_clock_raw) - began_ms;
	return 0;
}

/* ---- reading ---- */

/* All slots are asked for at once; each that ends is compared and asked for its next piece, until all that was written
 * is read or until_ms is over. Requests that are under way then are waited for and count. */
static int read_pieces(
	struct work *work, double until_ms, uint64_t *ret_bytes, uint64_t *ret_wrong, struct muster_error *err)
{
	size_t pieces = (size_t)((work->bytes + PIECE_BYTES - 1) / PIECE_BYTES), next = 0, under_way = 0;
	for (; next < pieces && next < SLOTS; next++, under_way++) {
		place(work, next, next, work->bytes);
		if (ask(work, next, MUSTER_IO_READ, err) < 0)
			return -1;
	}
	for (; under_way > 0; under_way--) {
		size_t at;
		if (wait_one(work, MUSTER_IO_READ, &at, err) < 0)
			return -1;
		struct slot *slot = &work->slots[at];
		*ret_wrong += muster_storage_wrong(data_of(work, at), slot->bytes, slot->offset, work->seed);
		*ret_bytes += slot->bytes;
		if (next == pieces || muster_clock_now(&muster_clock_raw) >= until_ms)
			continue;
		place(work, at, next, work->bytes);
		if (ask(work, at, MUSTER_IO_READ, err) < 0)
			return -1;
		next++;
		under_way++;
	}
	return 0;
}

/* Read back what was written, or as much of it as most_ms allow, and count the 8-byte words that differ. */
static int read_work(struct work *work, double most_ms, double *ret_ms, uint64_t *ret_bytes, uint64_t *ret_wrong,
	struct muster_error *err)
{
	double began_ms = muster_clock_now(&muster_clock_raw);
	uint64_t bytes = 0, wrong = 0;
	muster_step(work->ctx, "reading back from %s", work->folder);
	if (read_pieces(work, began_ms + most_ms, &bytes, &wrong, err) < 0) {
		muster_io_drain(work->io, REST_MS);
		return -1;
	}
	*ret_ms = muster_clock_now(&muster_clock_raw) - began_ms;
	*ret_bytes = bytes;
	*ret_wrong = wrong;
	return 0;
}

static const struct muster_metric metrics[] = {
	RANK_NUMBER("rank.checkpoint_write_gbps", GB_PER_S, MORE,
		"GPU memory to the shared folder while all ranks write, until the file system has it (fsync)"),
	RANK_NUMBER("rank.checkpoint_read_gbps", GB_PER_S, MORE, "read back while all ranks read"),
	RANK_NUMBER("rank.checkpoint_wrong", NONE, LESS, "8-byte words that are not as they were written",
		.counts_wrong = true),
	RANK_NUMBER("rank.checkpoint_mib", MEBIBYTES, DRIFTS,
		"how much was written: less than was asked for where it would have taken too long"),
	RANK_TEXT("rank.checkpoint_file", FACT, NOTHING,
		"how the file was written and read: \"direct\", or \"buffered\" and why; and what carried the "
		"requests"),
	NUMBER(JOB, "job.checkpoint_write_gbps", GB_PER_S, MORE,
		"all ranks at once write to the shared folder: bytes / the slowest rank's time; not measured but "
		"derived"),
	NUMBER(JOB, "job.checkpoint_read_gbps", GB_PER_S, MORE,
		"all ranks at once read back from the shared folder: bytes / the slowest rank's time; not measured but "
		"derived"),
	TEXT(JOB, "job.checkpoint_slowest", DRIFTS, TEXT, "the rank that wrote most slowly; not measured but derived"),
};

/* Of one round; with fsync, and requests that are under way at that moment, still far below the deadline. */
#define MOST_MS 12000

static struct work work; /* from the first round to the second */

static void emit_file(struct muster_probe_ctx *ctx)
{
	char text[512];
	const struct muster_storage_file *file = &work.file;
	snprintf(text, sizeof text, "%s%s, %s",
		file->direct ? "direct" : "buffered: ", file->direct ? "" : file->why_buffered,
		muster_io_method(work.io));
	muster_emit_for(ctx, "rank.checkpoint_file", NULL, muster_string(text));
}

static void emit_rate(struct muster_probe_ctx *ctx, const char *metric, uint64_t bytes, double ms)
{
	muster_emit_result(ctx, metric, NULL, ms > 0 ? 0 : -1, muster_number(ms > 0 ? (double)bytes / 1e6 / ms : 0),
		"no time passed between its beginning and its end");
}

static int write_all(struct muster_probe_ctx *ctx, struct muster_error *err)
{
	const struct muster_probe_env *env = muster_probe_env(ctx);
	double ms = 0;
	muster_step(ctx, "free space of %s", env->checkpoint_path);
	if (muster_storage_space_check(env->checkpoint_path, env->ranks, env->checkpoint_bytes, err) < 0 ||
		open_work(&work, ctx, env->checkpoint_path, env->checkpoint_bytes, err) < 0)
		return -1;
	emit_file(ctx);
	if (write_work(&work, env->checkpoint_bytes, MOST_MS, &ms, err) < 0)
		return -1;
	emit_rate(ctx, "rank.checkpoint_write_gbps", work.bytes, ms);
	muster_emit_for(ctx, "rank.checkpoint_mib", NULL, muster_number((double)work.bytes / 1048576));
	return 0;
}

static int read_all(struct muster_probe_ctx *ctx, struct muster_error *err)
{
	double ms;
	uint64_t bytes, wrong;
	work.ctx = ctx;
	if (read_work(&work, MOST_MS, &ms, &bytes, &wrong, err) < 0)
		return -1;
	emit_rate(ctx, "rank.checkpoint_read_gbps", bytes, ms);
	muster_emit_for(ctx, "rank.checkpoint_wrong", NULL, muster_number((double)wrong));
	return 0;
}

/* Round 0 writes, round 1 reads. A rank whose first round failed has no open file, and its second round does nothing.
 */
static int traffic(struct muster_probe_ctx *ctx, const struct muster_traffic *round, struct muster_error *err)
{
	bool writes = round->round == 0;
	if (!muster_probe_env(ctx)->checkpoint_path || (!writes && !work.open))
		return 0;
	int failed = writes ? write_all(ctx, err) : read_all(ctx, err);
	if (failed)
		muster_failing(ctx, err); /* closing the file may hang, too */
	if (failed || !writes)
		end_work(&work);
	return failed;
}

const struct muster_probe muster_probe_checkpoint = {
	.name = "checkpoint",
	.summary = "all ranks write GPU memory to a shared folder at once, and read it back",
	.scope = MUSTER_SCOPE_RANK,
	.needs_gpu = true,
	.of_job = true,
	.deadline_ms = 30000,
	.order = 78,
	METRICS(metrics),
	.traffic = traffic,
	.traffic_shape = MUSTER_TRAFFIC_EACH,
	.traffic_rounds = 2,
	.hang_advice = "the file system of the folder did not answer: check its servers and the mount on this node "
		       "(stat of the folder with a timeout, dmesg); the nodes themselves may be healthy",
};
