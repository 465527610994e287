/* SPDX-License-Identifier: Apache-2.0 */
/* nccl_pairs.c - what two ranks exchange by themselves, all pairs at once: each GPU with the next one, each NIC with
 * the NIC of the next node
 *
 * A collective makes the fast ranks wait for the slow ones, so its time names no part. An exchange is between two GPUs
 * over one link, or over two NICs, and each rank times its own.
 *
 * A round, which both ranks of a pair go through in the same order, each side of an exchange sending and receiving at
 * once:
 *
 *   1. hello: who the other one is, and how many bytes it has room for; this message also connects the two
 *   2. checked exchanges of 1 MiB (an odd size), then of the full size, each time and each way with other data
 *   3. windows of the full size, and, but for the profile quick, of 8 bytes
 *
 * The full size is 64 MiB, or less where memory is short or the small exchange shows that it would take more than 60 ms
 * (5 ms in quick); both ranks take the larger of their two times for that decision. What the first visit has found out
 * is kept by partner, since later visits only repeat step 3.
 *
 * pair.exchange_gbps is bytes sent by time while as many come back: the rate of one direction.
 */
#include "util/text.h"
#include "probes/metrics.h"
#include "probes/nccl/session.h"
#include "vendor/nccl_log.h"
#include "muster/arena.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAIR_METRIC(name, unit, better, ...)                                                                           \
	NUMBER(RANK, name, unit, better, __VA_ARGS__, .labels = { "kind", "peer_node", "peer_gpu", "nic", "transport" })

static const struct muster_metric metrics[] = {
	PAIR_METRIC("pair.exchange_gbps", GB_PER_S, MORE,
		"what this rank sends to another one while as much comes back: each way", .windows = "exchanges",
		.is_exchange = true,
		SHOWN(IN(SPEEDS, 190, "exchange within the node", .key = "kind", .value = "edge",
			      .limit = "pair.exchange_limit_gbps"),
			IN(SPEEDS, 200, "exchange with the next node", .key = "kind", .value = "rail",
				.limit = "pair.exchange_limit_gbps"),
			IN(SLOWEST, 10, "exchange within the node", .key = "kind", .value = "edge"),
			IN(SLOWEST, 20, "exchange with the next node", .key = "kind", .value = "rail"))),
	PAIR_METRIC("pair.exchange_bytes", BYTES, DRIFTS, "message size of pair.exchange_gbps"),
	PAIR_METRIC(
		"pair.exchange_us", US, DRIFTS, "time of one exchange of 8 bytes", .windows = "", .is_exchange = true),
	PAIR_METRIC("pair.exchange_wrong", NONE, LESS,
		"4-byte values that came other than they were sent; every value of every checked exchange is checked",
		.counts_wrong = true, .is_exchange = true),
	PAIR_METRIC("pair.channels", NONE, DRIFTS,
		"channels over which the two ranks send to each other, from NCCL's own log; no value where the log "
		"does not say and the communicator spans several nodes"),
	NUMBER(RANK, "rank.slow_windows", RATIO, DRIFTS,
		"share of the windows that are below 80 % of the best one; not measured but derived",
		.labels = { "part", "range" }, .is_steadiness = true),
	NUMBER(RANK, "pair.exchange_limit_gbps", GB_PER_S, DRIFTS,
		"what pair.exchange_gbps can be on the path between the two; not measured but derived from what nodes "
		"and ranks say of their links",
		.labels = { "kind", "peer_node", "peer_gpu", "nic", "transport", "path", "link" }),
	NUMBER(RANK, "pair.exchange_usual_gbps", GB_PER_S, DRIFTS,
		"median of pair.exchange_gbps over the exchanges of one kind and path, the best of each rank; "
		"not measured but derived",
		.labels = { "kind", "peer_node", "peer_gpu", "nic", "transport", "path", "link" }, .is_usual = true),
};

#define FULL_BYTES (64 * MIB)
#define ODD_BYTES ((uint64_t)16 * 65537) /* 16 times a prime: no whole number of any library's chunks */
#define LATENCY_BYTES 8
#define SLOW_MS 60.0      /* an exchange that would take longer is made smaller */
#define QUICK_SLOW_MS 5.0 /* in the profile quick: some ten of them take 0.05 s */
#define CHECKED 2         /* exchanges of each of the two sizes */

/* What a rank says of itself first. */
struct hello {
	int32_t rank; /* of the job */
	char node[128], gpu[32];
	uint64_t room; /* bytes that it has for messages */
};

struct pair {
	const struct muster_nccl_session *s;
	int peer; /* in the ring */
	struct muster_nccl_between between;
	size_t round_at; /* where in NCCL's log this round begins, which connects the two */
	char who[160];   /* "rank 12 on gpu-4" */
	struct hello own, other;
	uint64_t bytes;     /* of the message that is exchanged now */
	CUdeviceptr from;   /* where that message is */
	CUdeviceptr buffer; /* where data to send is written; decisions are sent from resources->agreed */
	/* measured */
	uint64_t full, wrong; /* the full size in bytes; 4-byte values that came wrong, in all checks */
	double once_us;       /* an exchange of the full size, on the slower rank of the two */
	struct muster_nccl_windows exchanges, shortest; /* of the full size, and of LATENCY_BYTES */
};

/* What the first visit found out; known: by a partner's number in the ring. */
struct known {
	uint64_t full;
	double once_us;
	struct muster_nccl_way way;
	int channels; /* -1: not known */
};
static struct known *known;
static int known_count;

/* A muster_nccl_operation_fn: send pair->bytes and receive as many, at the same time. */
static int exchange(const struct muster_nccl_session *s, void *arg, struct muster_error *err)
{
	const struct pair *pair = arg;
	if (muster_nccl_group_start(s, err) < 0 ||
		muster_nccl_send(s, pair->from, pair->bytes, pair->between.peer, err) < 0 ||
		muster_nccl_receive(s, s->resources->received, pair->bytes, pair->between.peer, err) < 0)
		return -1;
	return muster_nccl_group_end(s, err);
}

/* ---- small messages that decide ---- */

/* Swap messages of so many bytes, a multiple of 4, and wait for the other one. Each is sent MUSTER_NCCL_COPIES times,
 * and a vote over the copies is what came: a link with wrong data must not make the two ranks decide differently.
 * Changes pair->from and pair->bytes. */
static int swap(
	struct pair *pair, const void *own, void *ret_other, size_t bytes, const char *what, struct muster_error *err)
{
	const struct muster_nccl_session *s = pair->s;
	const struct muster_nccl_resources *resources = s->resources;
	unsigned char *host = resources->chunks.data;
	size_t all = MUSTER_NCCL_COPIES * bytes;
	for (size_t i = 0; i < MUSTER_NCCL_COPIES; i++)
		memcpy(host + i * bytes, own, bytes);
	pair->from = resources->agreed;
	pair->bytes = all;
	if (MUSTER_CUDA(resources->cuda, err, cuMemcpyHtoDAsync_v2, pair->from, host, all, resources->stream) < 0 ||
		exchange(s, pair, err) < 0 ||
		MUSTER_CUDA(resources->cuda, err, cuMemcpyDtoHAsync_v2, host, resources->received, all,
			resources->stream) < 0 ||
		muster_nccl_finish(s, what, err) < 0)
		return -1;
	muster_nccl_vote(host, bytes, ret_other);
	return 0;
}

/* The larger of the two ranks' values. */
static int agree(struct pair *pair, double *value, struct muster_error *err)
{
	double other;
	if (swap(pair, value, &other, sizeof other, "agreement of the two ranks", err) < 0)
		return -1;
	*value = other > *value ? other : *value;
	return 0;
}

/* The buffers, and the first message. Nothing says before what that message must be, so only its form is checked: its
 * names must be strings. From then on `who` is made of what the other rank says of itself. */
static int meet(struct pair *pair, struct muster_error *err)
{
	const struct muster_nccl_session *s = pair->s;
	const struct muster_probe_env *env = muster_probe_env(s->ctx);
	const struct muster_nccl_resources *resources = s->resources;
	_Static_assert(sizeof(struct hello) <= AGREED_MAX * sizeof(float), "it fits");
	/* With --max-bytes the all-reduce's buffer may be tiny: then the second half of `received` is sent from. */
	bool halves = resources->room < FULL_BYTES;
	if (muster_nccl_received_make(s->ctx, halves ? 2 * FULL_BYTES : FULL_BYTES, err) < 0)
		return -1;
	uint64_t room = halves ? resources->received_room / 32 * 16 : resources->received_room;
	pair->buffer = halves ? resources->received + room : resources->data;
	pair->own = (struct hello){ .rank = env->rank, .room = room };
	snprintf(pair->own.node, sizeof pair->own.node, "%s", env->node_name);
	snprintf(pair->own.gpu, sizeof pair->own.gpu, "%s", env->gpu->bus_id);
	muster_step(s->ctx, "first message to and from %s", pair->who);
	if (swap(pair, &pair->own, &pair->other, sizeof pair->other, "the first message, which connects the two", err) <
		0)
		return -1;
	struct hello *other = &pair->other;
	if (!memchr(other->node, 0, sizeof other->node) || !memchr(other->gpu, 0, sizeof other->gpu))
		return muster_fail(err, MUSTER_EVENDOR, "its first message came wrong");
	snprintf(pair->who, sizeof pair->who, "rank %d on %s", (int)other->rank, other->node);
	return 0;
}

/* ---- checked exchanges ---- */

/* A seed for each round and direction: round (4 bits), sender (18 bits), receiver (18 bits), word (24 bits). A message
 * has less than 2^24 words, so no two messages of a run have a word in common. */
static uint64_t seed_of(const struct hello *sender, const struct hello *receiver, int round)
{
	return ((uint64_t)round << 60) + ((uint64_t)(uint32_t)sender->rank << 42) +
	       ((uint64_t)(uint32_t)receiver->rank << 24);
}

/* `count` exchanges of one size, each with other data; round: the number of the first one. ret_us: the time of the last
 * one on this rank. Wrong values are added to pair->wrong. */
static int check(struct pair *pair, uint64_t bytes, int round, int count, double *ret_us, struct muster_error *err)
{
	const struct muster_nccl_session *s = pair->s;
	char size[32];
	muster_step(s->ctx, "%d checked exchanges of %s with %s", count, muster_bytes_text(bytes, size, sizeof size),
		pair->who);
	for (int i = 0; i < count; i++, round++) {
		uint64_t wrong;
		pair->from = pair->buffer;
		pair->bytes = bytes;
		if (muster_nccl_pattern_fill(s, pair->from, bytes, seed_of(&pair->own, &pair->other, round), err) < 0 ||
			muster_nccl_time_one(s, exchange, pair, "a checked exchange", ret_us, err) < 0 ||
			muster_nccl_pattern_check(s, s->resources->received, bytes,
				seed_of(&pair->other, &pair->own, round), &wrong, err) < 0)
			return -1;
		pair->wrong += wrong;
	}
	return 0;
}

/* The full size: what both have room for, and smaller where a small exchange shows that it would take too long. In
 * quick the full size is checked once, and takes little time over sockets too. */
static int check_both_sizes(struct pair *pair, bool quick, struct muster_error *err)
{
	const double slow_us = (quick ? QUICK_SLOW_MS : SLOW_MS) * 1e3;
	const int count = quick ? 1 : CHECKED;
	uint64_t full = pair->own.room < pair->other.room ? pair->own.room : pair->other.room;
	full = full < FULL_BYTES ? full / 16 * 16 : FULL_BYTES;
	uint64_t small = full < ODD_BYTES ? full : ODD_BYTES;
	double small_us;
	if (check(pair, small, 0, count, &small_us, err) < 0 || agree(pair, &small_us, err) < 0)
		return -1;
	while (full > small && small_us * (double)full / (double)small > slow_us)
		full = full / 2 < small ? small : full / 2 / 16 * 16;
	pair->full = full;
	return check(pair, full, count, count, &pair->once_us, err) < 0 ? -1 : agree(pair, &pair->once_us, err);
}

/* ---- timed exchanges ---- */

static struct known *known_of(const struct pair *pair)
{
	int ranks = pair->s->ring.ranks;
	if (known_count < ranks) {
		free(known);
		known = muster_calloc((size_t)ranks, sizeof *known);
		known_count = ranks;
	}
	return &known[pair->peer];
}

/* The windows of one size. once_us must be the same on both ranks, because the number of windows follows from it. */
static int time_windows(
	struct pair *pair, uint64_t bytes, double once_us, struct muster_nccl_windows *ret, struct muster_error *err)
{
	char size[32];
	muster_step(
		pair->s->ctx, "timed exchanges of %s with %s", muster_bytes_text(bytes, size, sizeof size), pair->who);
	pair->from = pair->buffer;
	pair->bytes = bytes;
	return muster_nccl_windows(pair->s, exchange, pair, once_us, "the timed exchanges", ret, err);
}

/* Steps 1 to 3 of the head of this file; later visits, with the size of the first one, only 1 and 3. The 8 bytes have
 * once_us 0: the most operations in a window, and a head start for each. */
static int measure(struct pair *pair, int visit, struct muster_error *err)
{
	struct known *of = known_of(pair);
	if (visit > 0 && of->full == 0) /* the two have not come so far */
		return 0;
	bool quick = muster_probe_env(pair->s->ctx)->profile == MUSTER_QUICK;
	if (meet(pair, err) < 0 || (visit == 0 && check_both_sizes(pair, quick, err) < 0))
		return -1;
	if (visit == 0)
		*of = (struct known){ .full = pair->full, .once_us = pair->once_us };
	pair->full = of->full;
	if (time_windows(pair, of->full, of->once_us, &pair->exchanges, err) < 0)
		return -1;
	return quick ? 0 : time_windows(pair, LATENCY_BYTES, 0, &pair->shortest, err);
}

/* ---- what is yielded ---- */

static size_t log_length(void)
{
	size_t length;
	return muster_nccl_log_read(&length, NULL) ? length : 0;
}

/* How the two send to each other, from NCCL's log. NCCL names the ranks of a communicator from 0, so lines of the
 * ring's communicator and lines of the near one cannot be told apart by their numbers. A connection is made at the
 * first message of two ranks, and written to the log then. So what is read is:
 *
 *   communicator of the exchange        lines of the log
 *   the ring's, no near one is there    from the ring's start on
 *   the ring's                          from the ring's start to the split, and those of this round
 *   the near one                        those of this round
 *
 * The number of channels is read from the communicator's start on. "unknown" and -1 are what the log does not say. */
static void read_log(const struct pair *pair, struct known *ret)
{
	struct muster_error err;
	const struct muster_nccl_between *between = &pair->between;
	size_t length;
	const char *text = muster_nccl_log_read(&length, &err);
	struct muster_nccl_way *way = &ret->way;
	snprintf(way->transport, sizeof way->transport, "unknown");
	snprintf(way->nic, sizeof way->nic, "unknown");
	ret->channels = -1;
	if (!text || between->log_at >= length)
		return;
	char *lines = NULL; /* without those of other rounds, where two communicators are mixed */
	if (between->log_mixed < pair->round_at)
		lines = muster_asprintf("%.*s%s", (int)between->log_mixed, text, text + pair->round_at);
	muster_nccl_log_parse_way(lines ? lines : text, lines ? strlen(lines) : length, between->log_at, between->own,
		between->peer, way);
	free(lines);
	ret->channels = muster_nccl_log_parse_channels(text, length, between->log_at);
}

/* The samples of one visit; the checks and what the log says only in the first visit. A window without time makes all
 * windows of its size null. failed: of an exchange that came no further than its checks only what was wrong. */
static void emit_all(const struct pair *pair, const char *kind, int visit, bool failed)
{
	struct muster_probe_ctx *ctx = pair->s->ctx;
	struct known *of = known_of(pair);
	const struct muster_nccl_way *way = &of->way;
	if (visit == 0) /* the log of a large job is long */
		read_log(pair, of);
	const struct muster_value labels[] = { muster_string(kind), muster_string(pair->other.node),
		muster_string(pair->other.gpu), muster_string(way->nic), muster_string(way->transport) };
	const size_t count = sizeof labels / sizeof *labels;
	if (visit == 0)
		muster_emit(ctx, "pair.exchange_wrong", labels, count, muster_number((double)pair->wrong));
	if (failed)
		return;
	double gbps[MUSTER_WINDOWS_MOST];
	size_t counts[] = { pair->exchanges.count, pair->shortest.count };
	for (size_t i = 0; i < counts[0]; i++) {
		gbps[i] = (double)pair->full / 1e3 / pair->exchanges.own_us[i];
		if (!(pair->exchanges.own_us[i] > 0))
			counts[0] = 0;
	}
	for (size_t i = 0; i < counts[1]; i++)
		if (!(pair->shortest.own_us[i] > 0))
			counts[1] = 0;
	const char *why = "no time between the events of the GPU";
	muster_windows_emit(ctx, "pair.exchange_gbps", labels, count, gbps, counts[0], why);
	if (muster_probe_env(ctx)->profile != MUSTER_QUICK)
		muster_windows_emit(ctx, "pair.exchange_us", labels, count, pair->shortest.own_us, counts[1], why);
	if (visit > 0)
		return;
	muster_emit(ctx, "pair.exchange_bytes", labels, count, muster_number((double)pair->full));
	if (of->channels > 0)
		muster_emit(ctx, "pair.channels", labels, count, muster_number(of->channels));
	else if (!pair->between.near) /* near ranks have all channels that there are */
		muster_emit_null(ctx, "pair.channels", labels, count, "NCCL's log does not say");
}

/* One exchange of this rank with round->peer. s.comm is the communicator that the two share with the fewest ranks: the
 * near one where there is one. After a failure all communicators are ended, whichever of them it was. */
static int traffic(struct muster_probe_ctx *ctx, const struct muster_traffic *round, struct muster_error *err)
{
	struct muster_nccl_session s;
	static struct pair pair;
	pair = (struct pair){ .s = &s, .peer = round->peer };
	if (muster_nccl_session_standing(ctx, round->timeout_ms, &s, err) < 0)
		return -1;
	s.bytes = FULL_BYTES;
	pair.between = muster_nccl_between(&s, round->peer);
	s.comm = pair.between.comm;
	if (round->visit == 0)
		pair.round_at = log_length();
	int rank = muster_nccl_rank_of_job(round->peer);
	if (rank >= 0)
		snprintf(pair.who, sizeof pair.who, "rank %d", rank);
	else
		snprintf(pair.who, sizeof pair.who, "number %d of the ring", round->peer);
	if (measure(&pair, round->visit, err) < 0) {
		if (pair.wrong > 0)
			emit_all(&pair, round->kind, round->visit, true);
		muster_wrap(err, "exchange with %s", pair.who);
		return muster_nccl_session_fail(&s, err);
	}
	if (round->visit == 0 || pair.exchanges.count > 0) /* else the pair had nothing to measure */
		emit_all(&pair, round->kind, round->visit, false);
	return 0;
}

const struct muster_probe muster_probe_nccl_pairs = {
	.name = "nccl_pairs",
	.summary = "exchanges between two ranks: every GPU with the next one, every NIC with the next node's",
	.scope = MUSTER_SCOPE_RANK,
	.needs_gpu = true,
	.deadline_ms = 10000,
	.order = 72,
	METRICS(metrics),
	.windows = true,
	.traffic = traffic,
	.traffic_shape = MUSTER_TRAFFIC_PAIRS,
	.quick_between_nodes = true,
};
