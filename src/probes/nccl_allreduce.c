/* SPDX-License-Identifier: Apache-2.0 */
/* nccl_allreduce.c - a ring all-reduce over every rank that can take part
 *
 * Every rank's copy of every sum is checked, value by value, before the same size is timed. Whatever makes a rank go on
 * or stop (iterations, room on the GPU, time left) is agreed by an all-reduce of the maximum, so that all ranks make
 * the same calls. No call waits without a deadline: stream and communicator are polled.
 *
 *   run      the version of NCCL that this process has: ranks with different ones are not put into one ring
 *   ring_id  on the ring's first rank, and on some others of a large ring: ncclGetUniqueId, which opens a socket
 *   ring     communicator, all sizes of the profile, roster; NCCL's log says which transport was used
 *   traffic  later visits: windows of the sizes that the ring has measured
 *
 * A trial ring, which finds out who disturbs a ring that failed, has one modest size and no roster.
 *
 * What the callback ring does in each part (enum muster_ring_part). The first ring of a run may have the parts
 * BEGIN to REST, between which other probes work; all other rings are WHOLE:
 *
 *   part    session       communicator          measures   kept as
 *   WHOLE   new           start, then wait      yes        standing
 *   BEGIN   new           start                 no         begun
 *   AWAIT   as begun      wait                  no         begun
 *   REST    as begun      wait                  yes        standing
 */
#include "util/clock.h"
#include "util/text.h"
#include "probes/metrics.h"
#include "probes/nccl_allreduce/allreduce.h"

#include <string.h>

static const struct muster_metric metrics[] = {
	NUMBER(JOB, "nccl.allreduce_busbw_gbps", GB_PER_S, MORE,
		"bus bandwidth: algbw times 2(n-1)/n; the slowest rank's time", .labels = { "bytes", "nodes", "ranks" },
		.windows = "all-reduce", .limits = { "nccl.allreduce_limit_gbps" },
		SHOWN(IN(SPEEDS, 150, "all-reduce busbw"))),
	/* busbw says the same, and is comparable between rings of different sizes */
	NUMBER(JOB, "nccl.allreduce_algbw_gbps", GB_PER_S, DRIFTS, "bytes divided by time; the slowest rank's time",
		.labels = { "bytes", "nodes", "ranks" }, .windows = ""),
	NUMBER(JOB, "nccl.allreduce_us", US, DRIFTS, "time of one all-reduce, on the slowest rank",
		.labels = { "bytes", "nodes", "ranks" }, .windows = ""),
	NUMBER(JOB, "nccl.allreduce_limit_gbps", GB_PER_S, DRIFTS,
		"what busbw can be on the slowest path of the ring; not measured but derived from what nodes and ranks "
		"say of their links",
		.labels = { "nodes", "ranks", "path", "link" }),
	NODE_TEXT("node.imex_state", FACT, NOTHING,
		"\"channel\" when the node has an IMEX channel, \"works without a channel\" when the all-reduce used "
		"NVLink to other nodes anyway, else \"no channel\"; not measured but derived"),
	NUMBER(JOB, "job.slow_windows", RATIO, DRIFTS,
		"share of the windows that are below 80 % of the best one; not measured but derived",
		.labels = { "part", "range" }, .is_steadiness = true),
	NUMBER(JOB, "nccl.ring_ranks", NONE, MORE, "ranks that took part in the all-reduce"),
	NUMBER(JOB, "nccl.ring_nodes", NONE, MORE, "nodes that took part in the all-reduce"),
	RANK_TEXT("rank.nccl_version", FACT, NOTHING,
		"NCCL version that this rank's process loads; ranks with different versions cannot share an "
		"all-reduce"),
	RANK_NUMBER("rank.nccl_init_ms", MS, DRIFTS, "time to build the communicator"),
	NUMBER(RANK, "rank.allreduce_us", US, DRIFTS, "this rank's time of one all-reduce", .labels = { "bytes" },
		.windows = ""),
	NUMBER(RANK, "rank.allreduce_wrong", NONE, LESS,
		"wrong values in this rank's copy of the sum; every value is checked", .labels = { "bytes" },
		.counts_wrong = true),
	RANK_TEXT("rank.nccl_transport", FACT, NOTHING,
		"transports of this rank's channels, from NCCL's own log: \"P2P/CUMEM NET/IB/GDRDMA\""),
	RANK_FLAG("rank.nccl_gdr", FACT, "this rank's network channels use GPUDirect RDMA; no value when it has none"),
	RANK_TEXT("rank.nccl_hcas", FACT, NOTHING, "network devices that NCCL uses, from its own log"),
	RANK_TEXT("rank.nccl_plugin", FACT, TEXT,
		"network plugin that NCCL uses, and its file: \"IBext_v8 /opt/.../libnccl-net.so\"; \"none\"",
		SHOWN(IN(SOFTWARE, 60, "NCCL network plugin"))),
	RANK_TEXT("rank.nccl_collnet", FACT, NOTHING,
		"CollNet, for SHARP: \"used\" by the ring, \"loaded\" from the plugin and not used, \"none\""),
	RANK_NUMBER("rank.nccl_nvls", NONE, FACT, "channels of NVLink SHARP (NVLS) in the ring"),
	RANK_TEXT("rank.nccl_algo", FACT, NOTHING,
		"algorithm and protocol of each message size, on the ring's first rank: \"67108864:NVLS/SIMPLE\""),
};

/* The communicator that is being made. NCCL does that in a thread of its own. After each command the callback between
 * asks whether NCCL has ended, so that the time is at most one command too long. */
static struct {
	const struct muster_nccl *nccl;
	ncclComm_t comm;           /* NULL: none is being made, or it is there */
	const char *call;          /* the name of NCCL's function, for errors */
	double began_ms, ended_ms; /* by muster_clock_raw */
} making;

static void note_end_of_start(void)
{
	making.ended_ms = muster_clock_now(&muster_clock_raw);
	making.comm = NULL;
}

static void between(void)
{
	ncclResult_t result = ncclSuccess;
	if (making.comm &&
		(making.nccl->ncclCommGetAsyncError(making.comm, &result) != ncclSuccess || result != ncclInProgress))
		note_end_of_start(); /* an error is met again by await_communicator */
}

/* Begin to make the communicator: nothing of it is there when this returns. Several ids let a large ring meet at
 * several of its ranks (NCCL 2.23); an older NCCL uses the first id alone. */
static int start_communicator(struct muster_nccl_session *s, struct muster_error *err)
{
	struct muster_nccl_config config = {
		.size = sizeof config,
		.magic = MUSTER_NCCL_CONFIG_MAGIC,
		.version = MUSTER_NCCL_CONFIG_VERSION,
		.blocking = 0,
	};
	static ncclComm_t made; /* up to 2.17 NCCL's thread reads it while it makes the communicator */
	const struct muster_nccl *nccl = s->resources->nccl;
	ncclUniqueId ids[MUSTER_RING_IDS_MAX];
	made = NULL;
	memcpy(ids, s->ring.ids, sizeof ids);
	/* all ranks have the same version, and so either all have it or none */
	bool several = s->ring.id_count > 1 && nccl->ncclCommInitRankScalable;
	making.call = several ? "ncclCommInitRankScalable" : "ncclCommInitRankConfig";
	muster_step(s->ctx, "%s: %d of %d", making.call, s->ring.rank, s->ring.ranks);
	making.began_ms = muster_clock_now(&muster_clock_raw);
	ncclResult_t result =
		several ? nccl->ncclCommInitRankScalable(
				  &made, s->ring.ranks, s->ring.rank, s->ring.id_count, ids, &config)
			: nccl->ncclCommInitRankConfig(&made, s->ring.ranks, ids[0], s->ring.rank, &config);
	making.nccl = nccl;
	making.comm = s->comm = made;
	return muster_nccl_check(nccl, result, s->comm, err, making.call);
}

/* Wait until the communicator is there. */
static int await_communicator(const struct muster_nccl_session *s, struct muster_error *err)
{
	if (muster_nccl_settle(s, ncclInProgress, making.call, err) < 0)
		return -1;
	if (making.comm)
		note_end_of_start();
	return 0;
}

/* The version of NCCL that this process loads, by which ranks are put into rings (.ring_agree). */
static int run(struct muster_probe_ctx *ctx, struct muster_error *err)
{
	int version = 0;
	char text[32];
	const struct muster_nccl_resources *resources = muster_nccl_resources_make(ctx, err);
	if (!resources)
		return -1;
	ncclResult_t result = resources->nccl->ncclGetVersion(&version);
	if (result == ncclSuccess)
		muster_emit_for(ctx, "rank.nccl_version", NULL,
			muster_string(muster_nccl_version_text(version, text, sizeof text)));
	else
		muster_emit_null_for(ctx, "rank.nccl_version", NULL, "ncclGetVersion: result %d", (int)result);
	return 0;
}

static int ring_id(struct muster_probe_ctx *ctx, unsigned char id[MUSTER_RING_ID_BYTES], struct muster_error *err)
{
	ncclUniqueId unique;
	_Static_assert(sizeof unique.internal == MUSTER_RING_ID_BYTES, "NCCL's id fits the ring's");
	const struct muster_nccl_resources *resources = muster_nccl_resources_make(ctx, err);
	if (!resources)
		return -1;
	muster_step(ctx, "ncclGetUniqueId");
	if (MUSTER_NCCL(resources->nccl, NULL, err, ncclGetUniqueId, &unique) < 0) {
		muster_nccl_log_tell_tail(ctx);
		return -1;
	}
	memcpy(id, unique.internal, MUSTER_RING_ID_BYTES);
	return 0;
}

/* The sizes, and the roster for later probes, on the communicator that is there. The profile quick and trial rings have
 * no use for a roster. */
static int measure(struct muster_nccl_session *s, struct muster_error *err)
{
	muster_emit_for(s->ctx, "rank.nccl_init_ms", NULL, muster_number(making.ended_ms - making.began_ms));
	if (muster_allreduce_sweep(s, err) < 0)
		return -1;
	return s->ring.trial || muster_probe_env(s->ctx)->profile == MUSTER_QUICK ? 0 : muster_nccl_roster_make(s, err);
}

/* One part of a ring, as the head of this file has it. The log is read after a failure as well, before the communicator
 * is aborted: an abort may hang. */
static int ring(struct muster_probe_ctx *ctx, const struct muster_ring *ring, struct muster_error *err)
{
	struct muster_nccl_session s;
	const enum muster_ring_part part = ring->part;
	bool begins = part == MUSTER_RING_WHOLE || part == MUSTER_RING_BEGIN;
	bool measures = part == MUSTER_RING_WHOLE || part == MUSTER_RING_REST;
	if ((begins ? muster_nccl_session_begin : muster_nccl_session_begun)(ctx, ring, &s, err) < 0)
		return -1;
	if (measures && ring->rank == 0) {
		muster_emit_for(ctx, "nccl.ring_ranks", NULL, muster_number(ring->ranks));
		muster_emit_for(ctx, "nccl.ring_nodes", NULL, muster_number(ring->nodes));
	}
	int failed = begins ? start_communicator(&s, err) : 0;
	if (failed == 0 && part != MUSTER_RING_BEGIN)
		failed = await_communicator(&s, err);
	if (failed == 0 && measures)
		failed = measure(&s, err);
	if (failed < 0 || measures)
		muster_allreduce_log_emit(ctx, ring, failed < 0);
	if (failed < 0) {
		making.comm = NULL;
		return muster_nccl_session_fail(&s, err);
	}
	(measures ? muster_nccl_session_keep : muster_nccl_session_keep_begun)(&s);
	return 0;
}

/* The windows of a later visit. The first visit was the ring itself. One rank moves no data. */
static int traffic(struct muster_probe_ctx *ctx, const struct muster_traffic *round, struct muster_error *err)
{
	struct muster_nccl_session s;
	if (muster_nccl_session_standing(ctx, round->timeout_ms, &s, err) < 0)
		return -1;
	if (s.ring.ranks == 1 || muster_allreduce_windows(&s, err) == 0)
		return 0;
	return muster_nccl_session_fail(&s, err);
}

const struct muster_probe muster_probe_nccl_allreduce = {
	.name = "nccl_allreduce",
	.summary = "an NCCL all-reduce over all ranks: data, bandwidth, transport",
	.scope = MUSTER_SCOPE_RANK,
	.needs_gpu = true,
	.deadline_ms = 60000,
	.ring_agree = "rank.nccl_version",
	.ring_rate = "nccl.allreduce_busbw_gbps",
	.order = 70,
	.begins_before = 31, /* most of the GPU's inventory and the copies, beside which NCCL starts */
	METRICS(metrics),
	.run = run,
	.ring_id = ring_id,
	.ring = ring,
	.between = between,
	.windows = true,
	.traffic = traffic,
	.traffic_shape = MUSTER_TRAFFIC_ALL,
};
