/* SPDX-License-Identifier: Apache-2.0 */
/* broadcast.c - one reader for all: data is read once, and NCCL carries it to the memory and the scratch of every node
 *
 * Each stage is timed by itself, so that a slow file is not taken for a slow network: read, broadcast from memory to
 * memory, write to scratch.
 *
 * One round of traffic, which all ranks of the ring make together (who reads what is in broadcast/send.h):
 *
 *   1. plan      agreed by all: shards, readers, bytes of a shard
 *   2. prepare   each rank with a shard: pinned memory; a reader also reads its part of the file, or generates data
 *   3. settle    agreed by all: the smallest shard, and whether step 2 has failed on any rank; then the round ends here
 *   4. send      all shards at once, from the readers' memory to the receivers' memory
 *   5. emit      each rank with a shard: its hash; a receiver also rates, and the time of writing to its scratch
 *
 * A failure of step 2 is no error of the probe: the rank that failed yields a null with the reason, the others nothing.
 * An error of steps 1, 3 or 4 ends the communicator (muster_nccl_session_fail). Whether a receiver has what its reader
 * sent is derived from the hashes when the run is complete.
 */
#include "probes/broadcast/send.h"
#include "probes/metrics.h"
#include "storage/io.h"
#include "storage/pattern.h"
#include "system/scratch.h"
#include "util/clock.h"
#include "util/text.h"
#include "util/xxh64.h"
#include "muster/probe.h"

#include <inttypes.h>
#include <stdio.h>

/* ---- copies between host memory and a file ---- */

/* Memory and a file that are to be the same: the file from `offset` on. */
struct copy {
	enum muster_io_way way; /* read: from the file to the memory; write: the other way */
	const struct muster_storage_file *file;
	const char *name; /* of the file, or of its folder */
	struct muster_pinned *memory;
	uint64_t bytes, offset;
};

#define PIECE ((uint64_t)4 << 20)
#define DEPTH 8
#define SAY_AFTER_MS 1000 /* of waiting for a request */
#define REST_MS 2000      /* after a failure, for requests that are under way */

/* A copy that goes on: pieces of PIECE bytes, DEPTH of them at once, in the order of the file. */
struct requests {
	struct muster_probe_ctx *ctx;
	const struct copy *copy;
	struct muster_io *io;
	size_t next, count;  /* the piece that is asked for next; pieces in all */
	size_t asked[DEPTH]; /* by slot: the number of the piece that is under way, counted from 1; 0: none */
	uint64_t done;       /* bytes of all pieces that have ended */
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

/* The step says which request may hang: "read of 4 MiB at 512 MiB of /data/x". */
static void say(const struct requests *r, size_t piece)
{
	char bytes[32], offset[32];
	muster_step(r->ctx, "%s of %s at %s of %s", verb(r),
		muster_bytes_text(piece_bytes(r, piece), bytes, sizeof bytes),
		muster_bytes_text(r->copy->offset + piece * PIECE, offset, sizeof offset), r->copy->name);
}

/* Start the request of the next piece. The call itself may hang, so the step comes before. */
static int ask(struct requests *r, size_t slot, struct muster_error *err)
{
	const struct copy *copy = r->copy;
	size_t piece = r->next++;
	say(r, piece);
	r->asked[slot] = piece + 1;
	if (muster_io_start(r->io, copy->way, copy->file, (char *)copy->memory->data + piece * PIECE,
		    (size_t)piece_bytes(r, piece), copy->offset + piece * PIECE, slot, err) < 0)
		return muster_wrap(err, "%s", copy->name);
	return 0;
}

/* The request that has been under way for the longest is that of the lowest piece. */
static void say_oldest(const struct requests *r)
{
	size_t oldest = SIZE_MAX;
	for (size_t i = 0; i < DEPTH; i++)
		if (r->asked[i] > 0 && r->asked[i] - 1 < oldest)
			oldest = r->asked[i] - 1;
	if (oldest < SIZE_MAX)
		say(r, oldest);
}

/* Wait for any request to end, for as long as the supervisor lets the worker. 0 with its slot, or -1 with err. */
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

/* All pieces, or as many as are started before until_ms; those under way then are waited for, so that what was copied
 * has no gap. At least DEPTH pieces are copied whatever the time. */
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

/* Read or write all of it, or as much as most_ms allow: *ret_bytes, from the beginning on, and how long that took, with
 * fsync where it is a write. 0, or -1 with err. Where the file system stalls the step says which request does, and the
 * supervisor ends the worker at its deadline. A request that does not end after a failure still uses the memory and the
 * file: they stay for as long as the process lives, and *copy->memory is empty then. */
static int copy_all(struct muster_probe_ctx *ctx, const struct copy *copy, double most_ms, uint64_t *ret_bytes,
	double *ret_ms, struct muster_error *err)
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
	if (muster_io_running(r.io) > 0)
		*copy->memory = (struct muster_pinned){ 0 };
	else
		muster_io_free(r.io);
	return failed;
}

static const struct muster_metric metrics[] = {
	RANK_NUMBER("rank.shared_read_gbps", GB_PER_S, MORE,
		"a reader's part of the file of --broadcast-file, while all readers read"),
	NUMBER(RANK, "rank.broadcast_gbps", GB_PER_S, MORE,
		"a receiver's shard, from the reader's memory to its own, while all shards are broadcast",
		.labels = { "shard" }),
	NUMBER(RANK, "rank.broadcast_stored_gbps", GB_PER_S, MORE,
		"the same with the time of writing the shard to scratch (fsync)", .labels = { "shard" }),
	TEXT(RANK, "rank.broadcast_hash", DRIFTS, NOTHING,
		"XXH64 of the shard in this rank's memory; role: \"reads\" or \"receives\"",
		.labels = { "shard", "role" }),
	RANK_NUMBER("rank.broadcast_wrong", NONE, LESS,
		"1 where a receiver's shard is not what its reader sent, else 0; derived from the hashes",
		.counts_wrong = true),
	RANK_NUMBER("rank.broadcast_mib", MEBIBYTES, DRIFTS, "size of a shard"),
	NODE_NUMBER("node.broadcast_stored_gbps", GB_PER_S, MORE,
		"all shards of the node, with the time of writing them to scratch; not measured but derived"),
	NODE_TEXT("node.broadcast_hash", DRIFTS, NOTHING, "hash of all shards of the node; not measured but derived"),
	NUMBER(JOB, "job.shared_read_gbps", GB_PER_S, MORE,
		"the file, read by all readers together; not measured but derived"),
	NUMBER(JOB, "job.broadcast_gbps", GB_PER_S, MORE,
		"what the slowest node receives (of one node: the slowest rank); not measured but derived"),
	NUMBER(JOB, "job.broadcast_wrong", NONE, LESS,
		"ranks that received something else than was sent; not measured but derived", .counts_wrong = true),
	TEXT(JOB, "job.broadcast_transport", FACT, NOTHING,
		"what carried the data between nodes; not measured but derived"),
};

/* Generated data of a node, in all its shards: more data gives the same rates. */
#define GENERATED (512 * MIB)
#define READ_MS 15000  /* the most; what was read until then is broadcast */
#define STORE_MS 15000 /* the most */

/* This rank's part in the round. */
struct share {
	struct muster_nccl_session *s;
	struct muster_probe_ctx *ctx;
	const struct muster_probe_env *env;
	struct muster_broadcast_plan plan;
	struct muster_pinned host; /* the shard; of a rank that only passes data on, no memory */
	double read_ms;            /* of a reader of a file: how long it took; else 0 */
	double us;                 /* of the broadcast: as muster_broadcast_send gives it */
};

/* ---- what the readers have ---- */

/* A reader's part of the file: reader i has the bytes from i x `most` on, where `most` is the file's size divided by
 * the readers, in whole MiB. It may read fewer, because memory is limited or the time is over: plan->bytes says how
 * many, and the agreement that follows cuts all shards to the smallest. */
static int read_file(struct share *share, struct muster_error *err)
{
	const char *path = share->env->broadcast_file;
	struct muster_broadcast_plan *plan = &share->plan;
	struct muster_storage_file file;
	uint64_t done;
	muster_step(share->ctx, "opening %s", path);
	if (muster_storage_file_open_existing(path, &file, err) < 0)
		return -1;
	uint64_t most = file.bytes / (uint64_t)plan->shards / MIB * MIB;
	struct copy copy = {
		.way = MUSTER_IO_READ,
		.file = &file,
		.name = path,
		.memory = &share->host,
		.bytes = most < plan->bytes ? most : plan->bytes,
		.offset = (uint64_t)plan->shard * most,
	};
	int failed = most == 0 ? muster_fail(err, MUSTER_ENOTSUPPORTED,
					 "%s: at least %d MiB are needed, one for each reader", path, plan->shards)
			       : copy_all(share->ctx, &copy, READ_MS, &done, &share->read_ms, err);
	if (share->host.data)
		muster_storage_file_close(&file);
	if (failed)
		return -1;
	plan->bytes = done / MIB * MIB;
	double gbps = share->read_ms > 0 ? (double)done / 1e6 / share->read_ms : 0;
	muster_emit_result(share->ctx, "rank.shared_read_gbps", NULL, share->read_ms > 0 ? 0 : -1, muster_number(gbps),
		"no time passed while it was read");
	return 0;
}

/* Memory for the shard; of a reader, with what is to be sent. */
static int prepare(struct share *share, struct muster_error *err)
{
	const struct muster_probe_env *env = share->env;
	const struct muster_broadcast_plan *plan = &share->plan;
	if (plan->shard < 0)
		return 0;
	muster_step(share->ctx, "cuMemHostRegister_v2 of %zu MiB", (size_t)(plan->bytes / MIB));
	if (muster_pinned_alloc(
		    share->s->resources->cuda, (size_t)plan->bytes, env->root, env->gpu->bus_id, &share->host, err) < 0)
		return -1;
	if (!plan->reads)
		return 0;
	if (env->broadcast_file)
		return read_file(share, err);
	muster_storage_fill(share->host.data, (size_t)plan->bytes, 0, muster_storage_seed());
	return 0;
}

/* ---- what the receivers do with it ---- */

/* Write the shard to a file without a name in the node's scratch: 0 with the time, fsync included; -1 with err, also
 * where it was not written completely in STORE_MS. All receivers of the node do this at once. */
static int store(struct share *share, double *ret_ms, struct muster_error *err)
{
	struct muster_scratch scratch;
	struct muster_storage_file file;
	uint64_t done = 0;
	if (muster_scratch_choose(share->env->root, share->env->storage_path, &scratch, err) < 0)
		return -1;
	if (scratch.read_only)
		return muster_fail(err, MUSTER_ENOTSUPPORTED, "%s is mounted read-only", scratch.path);
	const char *folder = scratch.folder;
	muster_step(share->ctx, "opening a file in %s", folder);
	if (muster_storage_file_open(folder, share->plan.bytes, &file, err) < 0)
		return -1;
	const struct copy copy = {
		.way = MUSTER_IO_WRITE,
		.file = &file,
		.name = folder,
		.memory = &share->host,
		.bytes = share->plan.bytes,
	};
	int failed = copy_all(share->ctx, &copy, STORE_MS, &done, ret_ms, err);
	if (share->host.data)
		muster_storage_file_close(&file);
	if (failed == 0 && done < share->plan.bytes)
		return muster_fail(err, MUSTER_ETIME, "%s took %" PRIu64 " of %" PRIu64 " MiB in %d s", folder,
			done / MIB, share->plan.bytes / MIB, STORE_MS / 1000);
	return failed;
}

/* ---- what is emitted ---- */

/* GB/s: the shard's bytes by the time of its broadcast and `ms` more. Null with why where result is negative, or where
 * the GPU's clock gave no time. */
static void emit_rate(struct share *share, const char *metric, int result, double ms, const char *why)
{
	const struct muster_value shard = muster_number(share->plan.shard);
	double us = share->us + ms * 1e3;
	muster_emit_result_with(share->ctx, metric, &shard, 1, share->us > 0 ? result : -1,
		muster_number(us > 0 ? (double)share->plan.bytes / 1e3 / us : 0), why);
}

static void emit_received(struct share *share)
{
	struct muster_error err = { .text = "no time between the events of the GPU" };
	double ms = 0;
	emit_rate(share, "rank.broadcast_gbps", 0, 0, err.text);
	int stored = store(share, &ms, &err);
	emit_rate(share, "rank.broadcast_stored_gbps", stored, ms, err.text);
}

static void emit_all(struct share *share)
{
	const struct muster_broadcast_plan *plan = &share->plan;
	struct muster_xxh64 hash;
	char text[32];
	if (plan->shard < 0) {
		muster_emit_for(share->ctx, "rank.broadcast_wrong", NULL, muster_number(0));
		return;
	}
	const struct muster_value labels[] = { muster_number(plan->shard),
		muster_string(plan->reads ? "reads" : "receives") };
	muster_xxh64_init(&hash);
	muster_xxh64_add(&hash, share->host.data, (size_t)plan->bytes);
	snprintf(text, sizeof text, "%016" PRIx64, muster_xxh64_value(&hash));
	muster_emit(share->ctx, "rank.broadcast_hash", labels, 2, muster_string(text));
	muster_emit_for(share->ctx, "rank.broadcast_mib", NULL, muster_number((double)plan->bytes / (double)MIB));
	if (!plan->reads)
		emit_received(share);
}

/* Nothing was sent. The rank whose fault it is yields a null with why; the others have an empty why and yield nothing.
 */
static void emit_nothing(struct share *share, const char *why)
{
	const struct muster_value shard = muster_number(share->plan.shard < 0 ? 0 : share->plan.shard);
	if (*why)
		muster_emit_null(share->ctx, "rank.broadcast_gbps", &shard, 1, "%s", why);
}

/* ---- a rank's part ---- */

static int measure(struct share *share, struct muster_error *err)
{
	const struct muster_probe_env *env = share->env;
	struct muster_error why = { 0 };
	uint64_t most = env->broadcast_file || env->storage_bytes < GENERATED ? env->storage_bytes : GENERATED;
	bool failed;
	if (muster_broadcast_plan(share->s, most, &share->plan, err) < 0)
		return -1;
	/* muster_fail gives -1 */
	bool able =
		share->plan.bytes > 0 ||
		muster_fail(&why, MUSTER_ENOTSUPPORTED,
			"the data uses the memory of the largest all-reduce, %zu MiB on this GPU: too little on a rank "
			"(--max-bytes)",
			(size_t)(share->s->resources->room / MIB)) == 0;
	able = able && prepare(share, &why) == 0;
	muster_step(share->ctx, "agreement of the ranks before the broadcast");
	if (muster_broadcast_settle(share->s, &share->plan, !able, &failed, err) < 0)
		return -1;
	if (failed) {
		emit_nothing(share, able ? "" : why.text);
		return 0;
	}
	muster_step(share->ctx, "broadcast of %d times %zu MiB", share->plan.shards, (size_t)(share->plan.bytes / MIB));
	if (muster_broadcast_send(share->s, &share->plan, share->host.data, &share->us, err) < 0)
		return -1;
	emit_all(share);
	return 0;
}

static int traffic(struct muster_probe_ctx *ctx, const struct muster_traffic *round, struct muster_error *err)
{
	const struct muster_probe_env *env = muster_probe_env(ctx);
	struct muster_nccl_session session;
	struct share share = { .s = &session, .ctx = ctx, .env = env };
	if (!env->broadcast)
		return 0;
	if (muster_nccl_session_standing(ctx, round->timeout_ms, &session, err) < 0)
		return -1;
	if (session.ring.ranks == 1 || (session.ring.nodes == 1 && !env->broadcast_file))
		return 0;
	if (measure(&share, err) < 0) /* what never ends still uses the memory */
		return muster_nccl_session_fail(&session, err);
	muster_pinned_free(session.resources->cuda, &share.host);
	return 0;
}

const struct muster_probe muster_probe_broadcast = {
	.name = "broadcast",
	.summary = "one reader for all: data of one node to the memory and the scratch of every node",
	.scope = MUSTER_SCOPE_RANK,
	.needs_gpu = true,
	.deadline_ms = 60000,
	.order = 77,
	METRICS(metrics),
	.traffic = traffic,
	.traffic_shape = MUSTER_TRAFFIC_ALL,
};
