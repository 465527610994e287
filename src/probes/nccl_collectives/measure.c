/* SPDX-License-Identifier: Apache-2.0 */
/* measure.c - a collective's result, checked, and its time
 *
 * A rank's part is the size by the number of ranks, in whole words of 16 bytes, as nccl-tests has it. Data that is only
 * moved is one range on each receiver, of which each sender has written its part.
 *
 * What is where, with n ranks; `part` is a rank's part, r this rank, part i of a range the i-th from its start:
 *
 *   collective       data                                  received
 *   all-gather       own part of the range for all         n parts: part i is from rank i
 *   all-to-all       n parts: part i is for rank i         n parts: part i is from rank i
 *   reduce-scatter   n parts of floats to be added up      1 part: the sum of part r of all ranks
 *
 * Three rounds are checked, each with other data, before anything is timed; timed operations move zeros. Seeds of the
 * moved data: collective (4 bits), round (8 bits), receiver (24 bits), word of the range (28 bits), so that no two
 * ranges of a run have a word in common, and data of another round, rank or place is wrong.
 */
#include "probes/nccl_collectives/collectives.h"

#include "util/text.h"

#include <string.h>

#define ROUNDS 3 /* checked: one check often misses a bad part */
#define WORD 16
#define LADDER_MOST 4

/* One collective of one size. */
struct work {
	const struct muster_nccl_session *s;
	enum muster_collective collective;
	const struct kind *kind;
	uint64_t bytes; /* of the size */
	uint64_t part;  /* of one rank */
};

/* What differs between collectives. fill: write this rank's data of a round; run: the collective, enqueued when it
 * returns; check: count the wrong 4-byte values of the result. */
struct kind {
	const char *name, *busbw, *wrong; /* in words; the names of its metrics */
	int (*fill)(const struct work *work, int round, struct muster_error *err);
	muster_nccl_operation_fn *run;
	int (*check)(const struct work *work, int round, uint64_t *ret_wrong, struct muster_error *err);
};

/* The seed of a receiver's range, which has less than 2^28 words. The range of an all-gather is the same for all
 * receivers, and counts as that of receiver 0. */
static uint64_t seed_of(const struct work *work, int round, int receiver)
{
	return ((uint64_t)work->collective << 60) + ((uint64_t)(round + 1) << 52) +
	       ((uint64_t)(unsigned int)receiver << 28);
}

/* The 8-byte words of a range before the part of this sender. Seed plus this number is the seed of the part. */
static uint64_t words_before(const struct work *work, int rank)
{
	return (uint64_t)(unsigned int)rank * work->part / sizeof(uint64_t);
}

/* ---- all-gather ---- */

static int gather_fill(const struct work *work, int round, struct muster_error *err)
{
	const struct muster_nccl_session *s = work->s;
	return muster_nccl_pattern_fill(
		s, s->resources->data, work->part, seed_of(work, round, 0) + words_before(work, s->ring.rank), err);
}

static int gather_run(const struct muster_nccl_session *s, void *arg, struct muster_error *err)
{
	const struct work *work = arg;
	const struct muster_nccl_resources *resources = s->resources;
	return muster_nccl_settle(s,
		resources->nccl->ncclAllGather((const void *)(uintptr_t)resources->data,
			(void *)(uintptr_t)resources->received, (size_t)work->part / sizeof(float), ncclFloat32,
			s->comm, resources->stream),
		"ncclAllGather", err);
}

static int gather_check(const struct work *work, int round, uint64_t *ret_wrong, struct muster_error *err)
{
	const struct muster_nccl_session *s = work->s;
	return muster_nccl_pattern_check(s, s->resources->received, work->part * (uint64_t)s->ring.ranks,
		seed_of(work, round, 0), ret_wrong, err);
}

/* ---- all-to-all ---- */

static int alltoall_fill(const struct work *work, int round, struct muster_error *err)
{
	const struct muster_nccl_session *s = work->s;
	for (int rank = 0; rank < s->ring.ranks; rank++)
		if (muster_nccl_pattern_fill(s, s->resources->data + (uint64_t)rank * work->part, work->part,
			    seed_of(work, round, rank) + words_before(work, s->ring.rank), err) < 0)
			return -1;
	return 0;
}

/* A rank's part for itself goes the same way. */
static int alltoall_run(const struct muster_nccl_session *s, void *arg, struct muster_error *err)
{
	const struct work *work = arg;
	const struct muster_nccl_resources *resources = s->resources;
	if (muster_nccl_group_start(s, err) < 0)
		return -1;
	for (int rank = 0; rank < s->ring.ranks; rank++) {
		uint64_t at = (uint64_t)rank * work->part;
		if (muster_nccl_send(s, resources->data + at, work->part, rank, err) < 0 ||
			muster_nccl_receive(s, resources->received + at, work->part, rank, err) < 0)
			return -1;
	}
	return muster_nccl_group_end(s, err);
}

static int alltoall_check(const struct work *work, int round, uint64_t *ret_wrong, struct muster_error *err)
{
	const struct muster_nccl_session *s = work->s;
	return muster_nccl_pattern_check(s, s->resources->received, work->part * (uint64_t)s->ring.ranks,
		seed_of(work, round, s->ring.rank), ret_wrong, err);
}

/* ---- reduce-scatter ---- */

/* Each round has numbers of its own for muster_nccl_data_value: round x ranks + rank. */
static int scatter_fill(const struct work *work, int round, struct muster_error *err)
{
	const struct muster_ring *ring = &work->s->ring;
	return muster_nccl_data_fill(
		work->s, round * ring->ranks + ring->rank, work->part * (uint64_t)ring->ranks, err);
}

static int scatter_run(const struct muster_nccl_session *s, void *arg, struct muster_error *err)
{
	const struct work *work = arg;
	const struct muster_nccl_resources *resources = s->resources;
	return muster_nccl_settle(s,
		resources->nccl->ncclReduceScatter((const void *)(uintptr_t)resources->data,
			(void *)(uintptr_t)resources->received, (size_t)work->part / sizeof(float), ncclFloat32,
			ncclSum, s->comm, resources->stream),
		"ncclReduceScatter", err);
}

/* This rank's part of the sum begins within a tile: `turned` is the expected tile, begun there. */
static int scatter_check(const struct work *work, int round, uint64_t *ret_wrong, struct muster_error *err)
{
	static float tile[TILE_VALUES], turned[TILE_VALUES];
	const struct muster_nccl_session *s = work->s;
	struct muster_nccl_mismatch wrong;
	size_t first = (size_t)((uint64_t)s->ring.rank * work->part / sizeof *tile % TILE_VALUES);
	muster_nccl_data_expect(round * s->ring.ranks, s->ring.ranks, tile);
	memcpy(turned, tile + first, (TILE_VALUES - first) * sizeof *tile);
	memcpy(turned + TILE_VALUES - first, tile, first * sizeof *tile);
	if (muster_nccl_data_check(s, s->resources->received, work->part, turned, &wrong, err) < 0)
		return -1;
	*ret_wrong = wrong.count;
	return 0;
}

/* ---- all of them ---- */

static const struct kind kinds[MUSTER_COLLECTIVES] = {
	[MUSTER_ALLGATHER] = { "all-gather", "nccl.allgather_busbw_gbps", "rank.allgather_wrong", gather_fill,
		gather_run, gather_check },
	[MUSTER_REDUCESCATTER] = { "reduce-scatter", "nccl.reducescatter_busbw_gbps", "rank.reducescatter_wrong",
		scatter_fill, scatter_run, scatter_check },
	[MUSTER_ALLTOALL] = { "all-to-all", "nccl.alltoall_busbw_gbps", "rank.alltoall_wrong", alltoall_fill,
		alltoall_run, alltoall_check },
};

/* On the ring's first rank: busbw of each window, by the slowest rank. Without windows null with a reason. The bytes
 * are those of all parts, which may be a little less than the size. */
static void emit_busbw(const struct work *work, const struct muster_nccl_windows *windows, const char *reason)
{
	const struct muster_ring *ring = &work->s->ring;
	double n = ring->ranks, bytes = (double)work->part * n, busbw[MUSTER_WINDOWS_MOST];
	const struct muster_value labels[] = { muster_number((double)work->bytes), muster_number(ring->nodes),
		muster_number(n) };
	if (ring->rank != 0)
		return;
	size_t count = windows ? windows->count : 0;
	for (size_t i = 0; !reason && i < count; i++) {
		if (!(windows->slowest_us[i] > 0))
			reason = "no time between the events of the GPU";
		busbw[i] = bytes / 1e3 / windows->slowest_us[i] * (n - 1) / n;
	}
	muster_windows_emit(work->s->ctx, work->kind->busbw, labels, 3, busbw, reason ? 0 : count, reason);
}

static void emit_none(const struct work *work, const char *reason)
{
	const struct muster_value label = muster_number((double)work->bytes);
	emit_busbw(work, NULL, reason);
	muster_emit_null(work->s->ctx, work->kind->wrong, &label, 1, "%s", reason);
}

/* ROUNDS collectives, each checked, and how many values were wrong, also where a later round fails. ret_us: the time of
 * the last one, on the slowest rank; the first one may be longer, since NCCL connects ranks when they need it. */
static int check(struct work *work, double *ret_us, struct muster_error *err)
{
	const struct muster_nccl_session *s = work->s;
	const struct muster_value label = muster_number((double)work->bytes);
	uint64_t wrong = 0, more;
	bool failed = false;
	for (int round = 0; !failed && round < ROUNDS; round++) {
		failed = work->kind->fill(work, round, err) < 0 ||
			 muster_nccl_time_one(s, work->kind->run, work, "a checked collective", ret_us, err) < 0 ||
			 work->kind->check(work, round, &more, err) < 0;
		wrong += failed ? 0 : more;
	}
	if (!failed || wrong > 0)
		muster_emit(s->ctx, work->kind->wrong, &label, 1, muster_number((double)wrong));
	return failed ? -1 : muster_nccl_slowest(s, ret_us, err);
}

/* What the first visit has measured; later visits measure the same. Equal on all ranks. */
static struct {
	uint64_t bytes; /* 0: no such size */
	double once_us; /* one collective, on the slowest rank */
} known[MUSTER_COLLECTIVES][LADDER_MOST];

/* The windows of this visit. */
static int time_windows(struct work *work, double once_us, struct muster_error *err)
{
	static struct muster_nccl_windows windows = { .of_all = true };
	if (muster_nccl_windows(work->s, work->kind->run, work, once_us, "the timed collectives", &windows, err) < 0)
		return -1;
	emit_busbw(work, &windows, NULL);
	return 0;
}

/* One size in this visit: the check in the first visit only, then windows. ret_us: in a later visit the time that the
 * first one has found. */
static int measure_size(struct work *work, double *ret_us, struct muster_error *err)
{
	struct muster_probe_ctx *ctx = work->s->ctx;
	bool checks = muster_probe_env(ctx)->visit == 0;
	char size[32];
	muster_bytes_text(work->bytes, size, sizeof size);
	muster_step(ctx, "%s of %s", work->kind->name, size);
	if ((checks && check(work, ret_us, err) < 0) || time_windows(work, *ret_us, err) < 0)
		return muster_wrap(err, "%s of %s", work->kind->name, size);
	return 0;
}

/* The profile's sizes up to limit; limit itself when they are all larger. */
static size_t make_sizes(const struct muster_probe_env *env, uint64_t limit, uint64_t sizes[LADDER_MOST])
{
	static const uint64_t ladder[] = { 8 * MIB, 64 * MIB, 256 * MIB, GIB }, one[] = { 128 * MIB };
	bool full = env->profile == MUSTER_FULL;
	const uint64_t *wanted = full ? ladder : one;
	size_t count = full ? sizeof ladder / sizeof *ladder : 1, kept = 0;
	for (size_t i = 0; i < count; i++)
		if (wanted[i] <= limit)
			sizes[kept++] = wanted[i];
	if (kept == 0)
		sizes[kept++] = limit;
	return kept;
}

static struct work work_of(const struct muster_nccl_session *s, enum muster_collective collective, uint64_t bytes)
{
	return (struct work){ .s = s,
		.collective = collective,
		.kind = &kinds[collective],
		.bytes = bytes,
		.part = bytes / (uint64_t)s->ring.ranks / WORD * WORD };
}

/* The time of a size is projected from the size before, as proportional to the bytes; the first size begins if any
 * time is left. Whether there is time is agreed by all ranks (muster_nccl_has_time). */
int muster_collective_measure(const struct muster_nccl_session *s, enum muster_collective collective, uint64_t limit,
	struct muster_error *err)
{
	uint64_t sizes[LADDER_MOST];
	size_t count = make_sizes(muster_probe_env(s->ctx), limit, sizes);
	double us = 0;
	memset(known[collective], 0, sizeof known[collective]);
	for (size_t i = 0; i < count; i++) {
		struct work work = work_of(s, collective, sizes[i]);
		double once_us = i > 0 ? us * (double)sizes[i] / (double)sizes[i - 1] : 0;
		bool time;
		if (muster_nccl_has_time(s, once_us * ROUNDS + muster_nccl_windows_us(s, once_us), &time, err) < 0)
			return -1;
		if (work.part == 0) {
			emit_none(&work, "less than 16 bytes for each rank");
		} else if (!time) {
			emit_none(&work, "no time left for this size");
		} else if (measure_size(&work, &us, err) < 0) {
			return -1;
		} else {
			known[collective][i].bytes = sizes[i];
			known[collective][i].once_us = us;
		}
	}
	return 0;
}

int muster_collective_windows(
	const struct muster_nccl_session *s, enum muster_collective collective, struct muster_error *err)
{
	for (size_t i = 0; i < LADDER_MOST; i++) {
		struct work work = work_of(s, collective, known[collective][i].bytes);
		double once_us = known[collective][i].once_us;
		bool time = false;
		if (work.bytes == 0)
			continue;
		if (muster_nccl_has_time(s, 2 * muster_nccl_windows_us(s, once_us), &time, err) < 0 ||
			(time && measure_size(&work, &once_us, err) < 0))
			return -1;
	}
	return 0;
}

void muster_collective_emit_none(
	const struct muster_nccl_session *s, enum muster_collective collective, const char *reason)
{
	uint64_t sizes[LADDER_MOST];
	make_sizes(muster_probe_env(s->ctx), UINT64_MAX, sizes);
	emit_none(&(struct work){ .s = s, .kind = &kinds[collective], .bytes = sizes[0] }, reason);
}
