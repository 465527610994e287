/* work.c - what copies GPU memory to the file of a rank, and its memory */
#include "probes/checkpoint/work.h"

#include "probes/gpu/kernels.h"
#include "storage/pattern.h"
#include "util/clock.h"
#include "util/text.h"

#include <time.h>

#define SLOTS MUSTER_CHECKPOINT_SLOTS
#define BEHIND (SLOTS / 2) /* pieces that are copied from the GPU while the others are written */
#define SAY_AFTER_MS 1000  /* of waiting for a request */
#define REST_MS 2000       /* after a failure, for requests that are under way */
#define COPY_MS 10000      /* more than any copy of a piece from a GPU takes */

int muster_checkpoint_open(struct muster_checkpoint_work *ret, struct muster_probe_ctx *ctx, const char *folder,
	uint64_t bytes, struct muster_error *err)
{
	const struct muster_probe_env *env = muster_probe_env(ctx);
	const struct muster_cuda *cuda = muster_cuda(err);
	*ret = (struct muster_checkpoint_work){ .ctx = ctx, .cuda = cuda, .folder = folder };
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
	muster_step(ctx, "cuMemHostRegister_v2 of %zu MiB", SLOTS * MUSTER_CHECKPOINT_PIECE >> 20);
	if (muster_pinned_alloc(cuda, SLOTS * MUSTER_CHECKPOINT_PIECE, env->root, env->gpu->bus_id, &ret->host, err) <
			0 ||
		MUSTER_CUDA(cuda, err, cuMemAlloc_v2, &ret->memory, SLOTS * MUSTER_CHECKPOINT_PIECE) < 0)
		return -1;
	for (size_t i = 0; i < SLOTS; i++)
		if (MUSTER_CUDA(cuda, err, cuEventCreate, &ret->slots[i].copied, CU_EVENT_DEFAULT) < 0)
			return -1;
	return 0;
}

void muster_checkpoint_done(struct muster_checkpoint_work *work)
{
	const struct muster_cuda *cuda = work->cuda;
	if (work->io && muster_io_running(work->io) > 0) { /* their memory stays for as long as the process lives */
		*work = (struct muster_checkpoint_work){ 0 };
		return;
	}
	muster_io_free(work->io);
	for (size_t i = 0; i < SLOTS; i++)
		if (work->slots[i].copied)
			cuda->cuEventDestroy_v2(work->slots[i].copied);
	if (work->stream)
		cuda->cuStreamDestroy_v2(work->stream);
	if (work->memory)
		cuda->cuMemFree_v2(work->memory);
	if (work->host.data)
		muster_pinned_free(cuda, &work->host);
	if (work->open)
		muster_storage_file_close(&work->file);
	*work = (struct muster_checkpoint_work){ 0 };
}

/* ---- one piece ---- */

static unsigned char *data_of(const struct muster_checkpoint_work *work, size_t slot)
{
	return (unsigned char *)work->host.data + slot * MUSTER_CHECKPOINT_PIECE;
}

/* Queue on the GPU: the file's content for the slot's place, copied to the host. */
static int copy(struct muster_checkpoint_work *work, size_t at, struct muster_error *err)
{
	struct muster_checkpoint_slot *slot = &work->slots[at];
	const struct muster_kernels *kernels = muster_kernels(work->cuda, err);
	const struct muster_pattern content = muster_storage_pattern(work->seed + slot->offset / sizeof(uint64_t));
	CUdeviceptr memory = work->memory + at * MUSTER_CHECKPOINT_PIECE;
	if (!kernels || muster_kernel_fill(work->cuda, kernels, memory, slot->bytes, &content, work->stream, err) < 0 ||
		MUSTER_CUDA(work->cuda, err, cuMemcpyDtoHAsync_v2, data_of(work, at), memory, slot->bytes,
			work->stream) < 0)
		return -1;
	return MUSTER_CUDA(work->cuda, err, cuEventRecord, slot->copied, work->stream);
}

static int wait_copied(struct muster_checkpoint_work *work, CUevent copied, struct muster_error *err)
{
	const struct timespec pause = { .tv_nsec = 20000 };
	double until_ms = muster_now_ms() + COPY_MS;
	for (;;) {
		CUresult reached = work->cuda->cuEventQuery(copied);
		if (reached != CUDA_ERROR_NOT_READY)
			return muster_cuda_check(work->cuda, reached, err, "copies from the GPU");
		if (muster_now_ms() > until_ms)
			return muster_fail(
				err, MUSTER_ETIME, "a copy from the GPU did not finish within %d s", COPY_MS / 1000);
		nanosleep(&pause, NULL);
	}
}

/* Which request may hang. */
static void say(struct muster_checkpoint_work *work, enum muster_io_way way, const struct muster_checkpoint_slot *slot)
{
	char bytes[32], offset[32];
	muster_step(work->ctx, "%s of %s at %s of the rank's file in %s", way == MUSTER_IO_WRITE ? "write" : "read",
		muster_bytes_text(slot->bytes, bytes, sizeof bytes),
		muster_bytes_text(slot->offset, offset, sizeof offset), work->folder);
}

/* Ask for the slot's write or read, which may hang at once. */
static int ask(struct muster_checkpoint_work *work, size_t at, enum muster_io_way way, struct muster_error *err)
{
	struct muster_checkpoint_slot *slot = &work->slots[at];
	say(work, way, slot);
	if (muster_io_start(work->io, way, &work->file, data_of(work, at), slot->bytes, slot->offset, at, err) < 0)
		return muster_wrap(err, "%s", work->folder);
	slot->asked = true;
	return 0;
}

/* The request that is under way for the longest: its place is the first. */
static void say_oldest(struct muster_checkpoint_work *work, enum muster_io_way way, uint64_t *said)
{
	const struct muster_checkpoint_slot *oldest = NULL;
	for (size_t i = 0; i < SLOTS; i++)
		if (work->slots[i].asked && (!oldest || work->slots[i].offset < oldest->offset))
			oldest = &work->slots[i];
	if (!oldest || *said == oldest->offset)
		return;
	*said = oldest->offset;
	say(work, way, oldest);
}

/* Wait for a request, for as long as the supervisor lets the worker. */
static int wait_one(
	struct muster_checkpoint_work *work, enum muster_io_way way, size_t *ret_slot, struct muster_error *err)
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

static int wait_slot(struct muster_checkpoint_work *work, enum muster_io_way way, size_t at, struct muster_error *err)
{
	size_t ended;
	while (work->slots[at].asked)
		if (wait_one(work, way, &ended, err) < 0)
			return -1;
	return 0;
}

/* The next piece takes the slot. */
static void place(struct muster_checkpoint_work *work, size_t at, size_t piece, uint64_t bytes)
{
	struct muster_checkpoint_slot *slot = &work->slots[at];
	slot->offset = (uint64_t)piece * MUSTER_CHECKPOINT_PIECE;
	uint64_t left = bytes - slot->offset;
	slot->bytes = left < MUSTER_CHECKPOINT_PIECE ? (size_t)left : MUSTER_CHECKPOINT_PIECE;
}

/* ---- writing ---- */

/* Piece by piece: while one is copied from the GPU, those that were copied before are written. */
static int write_pieces(struct muster_checkpoint_work *work, uint64_t bytes, double until_ms, struct muster_error *err)
{
	size_t pieces = (size_t)((bytes + MUSTER_CHECKPOINT_PIECE - 1) / MUSTER_CHECKPOINT_PIECE), copied = 0;
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
		if (wait_copied(work, work->slots[slot].copied, err) < 0 || ask(work, slot, MUSTER_IO_WRITE, err) < 0)
			return -1;
		work->bytes = work->slots[slot].offset + work->slots[slot].bytes;
	}
	for (size_t i = 0; i < SLOTS; i++)
		if (wait_slot(work, MUSTER_IO_WRITE, i, err) < 0)
			return -1;
	return 0;
}

int muster_checkpoint_write(
	struct muster_checkpoint_work *work, uint64_t bytes, double most_ms, double *ret_ms, struct muster_error *err)
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

static int read_pieces(struct muster_checkpoint_work *work, double until_ms, uint64_t *ret_bytes, uint64_t *ret_wrong,
	struct muster_error *err)
{
	size_t pieces = (size_t)((work->bytes + MUSTER_CHECKPOINT_PIECE - 1) / MUSTER_CHECKPOINT_PIECE), next = 0,
	       under_way = 0;
	for (; next < pieces && next < SLOTS; next++, under_way++) {
		place(work, next, next, work->bytes);
		if (ask(work, next, MUSTER_IO_READ, err) < 0)
			return -1;
	}
	for (; under_way > 0; under_way--) {
		size_t at;
		if (wait_one(work, MUSTER_IO_READ, &at, err) < 0)
			return -1;
		struct muster_checkpoint_slot *slot = &work->slots[at];
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

int muster_checkpoint_read(struct muster_checkpoint_work *work, double most_ms, double *ret_ms, uint64_t *ret_bytes,
	uint64_t *ret_wrong, struct muster_error *err)
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
