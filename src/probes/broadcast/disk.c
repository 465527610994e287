/* disk.c - copies between host memory and a file */
#include "probes/broadcast/disk.h"

#include "util/clock.h"
#include "util/text.h"

#define PIECE ((uint64_t)4 << 20)
#define DEPTH 8
#define SAY_AFTER_MS 1000 /* of waiting for a request */
#define REST_MS 2000      /* after a failure, for requests that are under way */

struct requests {
	struct muster_probe_ctx *ctx;
	const struct muster_broadcast_copy *copy;
	struct muster_io *io;
	size_t next, count;  /* pieces */
	size_t asked[DEPTH]; /* pieces that are under way, from 1; 0: none */
	uint64_t done;       /* bytes */
};

static uint64_t piece_bytes(const struct requests *r, size_t piece)
{
	uint64_t left = r->copy->bytes - piece * PIECE;
	return left < PIECE ? left : PIECE;
}

static const char *verb(const struct requests *r)
{
	return r->copy->way == MUSTER_IO_WRITE ? "write" : "read";
}

/* Which request may hang. */
static void say(const struct requests *r, size_t piece)
{
	char bytes[32], offset[32];
	muster_step(r->ctx, "%s of %s at %s of %s", verb(r),
		muster_bytes_text(piece_bytes(r, piece), bytes, sizeof bytes),
		muster_bytes_text(r->copy->offset + piece * PIECE, offset, sizeof offset), r->copy->name);
}

/* It may hang at once. */
static int ask(struct requests *r, size_t slot, struct muster_error *err)
{
	const struct muster_broadcast_copy *copy = r->copy;
	size_t piece = r->next++;
	say(r, piece);
	r->asked[slot] = piece + 1;
	if (muster_io_start(r->io, copy->way, copy->file, copy->data + piece * PIECE, (size_t)piece_bytes(r, piece),
		    copy->offset + piece * PIECE, slot, err) < 0)
		return muster_wrap(err, "%s", copy->name);
	return 0;
}

static void say_oldest(const struct requests *r)
{
	size_t oldest = SIZE_MAX;
	for (size_t i = 0; i < DEPTH; i++)
		if (r->asked[i] > 0 && r->asked[i] - 1 < oldest)
			oldest = r->asked[i] - 1;
	if (oldest < SIZE_MAX)
		say(r, oldest);
}

static int wait_one(struct requests *r, size_t *ret_slot, struct muster_error *err)
{
	while (muster_io_wait(r->io, SAY_AFTER_MS, ret_slot, err) < 0) {
		if (err->code != MUSTER_ETIME)
			return muster_wrap(err, "%s", r->copy->name);
		say_oldest(r);
	}
	r->done += piece_bytes(r, r->asked[*ret_slot] - 1);
	r->asked[*ret_slot] = 0;
	return 0;
}

static int copy_pieces(struct requests *r, double until_ms, struct muster_error *err)
{
	size_t under_way = 0, slot;
	for (; under_way < DEPTH && r->next < r->count; under_way++)
		if (ask(r, under_way, err) < 0)
			return -1;
	for (; under_way > 0; under_way--) {
		if (wait_one(r, &slot, err) < 0)
			return -1;
		if (r->next == r->count || muster_clock_now(&muster_clock_raw) >= until_ms)
			continue;
		if (ask(r, slot, err) < 0)
			return -1;
		under_way++;
	}
	return 0;
}

int muster_broadcast_copy(struct muster_probe_ctx *ctx, const struct muster_broadcast_copy *copy, double most_ms,
	uint64_t *ret_bytes, double *ret_ms, struct muster_error *err)
{
	struct requests r = { .ctx = ctx, .copy = copy, .count = (size_t)((copy->bytes + PIECE - 1) / PIECE) };
	muster_step(ctx, "%s of %s", verb(&r), copy->name);
	r.io = muster_io_new(DEPTH, err);
	if (!r.io)
		return -1;
	double began_ms = muster_clock_now(&muster_clock_raw);
	int failed = copy_pieces(&r, began_ms + most_ms, err);
	if (failed)
		muster_io_drain(r.io, REST_MS);
	if (!failed && copy->way == MUSTER_IO_WRITE) {
		muster_step(ctx, "fsync of %s", copy->name);
		failed = muster_storage_file_settle(copy->file, err);
	}
	*ret_ms = muster_clock_now(&muster_clock_raw) - began_ms;
	*ret_bytes = r.done;
	muster_io_free(r.io);
	return failed;
}
