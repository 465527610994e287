/* SPDX-License-Identifier: Apache-2.0 */
/* test_nccl_collectives.c - one rank of the ring against a scripted NCCL that plays all the others */
#include "probes/nccl/exchange.c"
#include "probes/nccl/roster.c"
#include "probes/nccl/session.c"
#include "probes/nccl_collectives.c"
#include "probes/nccl_collectives/connect.c"
#include "probes/nccl_collectives/measure.c"
#include "kernel_fakes.h"
#include "nccl_fakes.h"
#include "check_main.h"
#include "probe_fake.h"

#include <limits.h>
#include <unistd.h>

#define MESSAGES_MAX 2048

static struct {
	double us[MUSTER_COLLECTIVES], reduce_us;
	double odd_us;  /* of every tenth all-reduce of data; 0: as the others */
	double fill_us; /* of memory, each time */
	int late;       /* all-reduces of data that the host launches slowly */
	struct {
		size_t number; /* of the agreement, from 1 */
		double value;  /* that another rank brings to its place 0 */
	} other[2];
	size_t agreements, reduces;
	size_t calls[MUSTER_COLLECTIVES];
	int wrong_round; /* of this collective two values are wrong in this round; -1: in none */
	enum muster_collective wrong_in;
	bool forgets; /* an all-to-all that moves nothing */
	bool breaks;  /* the second all-gather fails */
	struct message {
		bool sends;
		char *at;
		size_t bytes;
		int peer;
	} messages[MESSAGES_MAX];
	size_t message_count;
	int silent_distance; /* ranks so far away never connect; 0: all do */
	bool hangs;
	bool met[1024];
} nccl;
static struct muster_error err;
static struct probe_fake *context;

static struct work fake_work(enum muster_collective collective, size_t part)
{
	return (struct work){ .s = &standing, .collective = collective, .kind = &kinds[collective], .part = part };
}

/* Whether this is one of the checked ones, which number it has; -1: it is timed. */
static int round_of(enum muster_collective collective, const void *send)
{
	size_t call = nccl.calls[collective]++;
	fake.now_ms += nccl.us[collective] / 1e3;
	queued.to = NULL;
	if (call < ROUNDS)
		return (int)call;
	ck_assert_uint_eq(*(const uint64_t *)send, 0);
	return -1;
}

static void spoil(enum muster_collective collective, int round, void *receive, size_t bytes)
{
	if (collective != nccl.wrong_in || round != nccl.wrong_round)
		return;
	((uint32_t *)receive)[1] ^= 1u << 9;
	((uint32_t *)receive)[bytes / 4 - 1] ^= 1u << 3;
}

static void write_words(uint64_t seed, void *at, size_t bytes)
{
	const struct muster_pattern pattern = { seed, UINT64_MAX, 0, 0 };
	for (size_t i = 0; i < bytes / sizeof(uint64_t); i++)
		((uint64_t *)at)[i] = muster_pattern_word(&pattern, i);
}

static bool are_words(uint64_t seed, const void *at, size_t bytes)
{
	const struct muster_pattern pattern = { seed, UINT64_MAX, 0, 0 };
	for (size_t i = 0; i < bytes / sizeof(uint64_t); i++)
		if (((const uint64_t *)at)[i] != muster_pattern_word(&pattern, i))
			return false;
	return true;
}

/* While all-reduces are late, the GPU is not busy meanwhile. */
static CUresult slow_fill(CUdeviceptr to, unsigned int value, size_t words, CUstream stream)
{
	fake.now_ms += nccl.late > 0 ? 0 : nccl.fill_us / 1e3;
	return fake_set(to, value, words, stream);
}

static ncclResult_t fake_reduce(const void *send, void *receive, size_t count, ncclDataType_t type, ncclRedOp_t op,
	ncclComm_t comm, cudaStream_t stream)
{
	float *data = receive;
	ck_assert(send == receive && type == ncclFloat32 && comm == &the_comm && stream);
	queued.to = NULL;
	if (op == ncclMax) {
		nccl.agreements++;
		for (size_t i = 0; i < LENGTH(nccl.other); i++)
			if (nccl.other[i].number == nccl.agreements && nccl.other[i].value > (double)data[0])
				for (size_t copy = 0; copy < MUSTER_NCCL_COPIES; copy++)
					data[copy * (count / MUSTER_NCCL_COPIES)] = (float)nccl.other[i].value;
		return fake_take();
	}
	ck_assert_uint_le(count * sizeof *data, 8 * MIB);
	if (nccl.late > 0 && nccl.late-- > 0)
		usleep(600);
	fake.now_ms += (nccl.odd_us > 0 && nccl.reduces++ % 10 == 5 ? nccl.odd_us : nccl.reduce_us) / 1e3;
	return fake_take();
}

static ncclResult_t fake_gather(
	const void *send, void *receive, size_t count, ncclDataType_t type, ncclComm_t comm, cudaStream_t stream)
{
	struct work work = fake_work(MUSTER_ALLGATHER, count * sizeof(float));
	ck_assert(type == ncclFloat32 && comm == &the_comm && stream);
	int round = round_of(MUSTER_ALLGATHER, send);
	if (round < 0)
		return fake_take();
	ck_assert(are_words(seed_of(&work, round, 0) + words_before(&work, standing.ring.rank), send, work.part));
	write_words(seed_of(&work, round, 0), receive, work.part * (size_t)standing.ring.ranks);
	spoil(MUSTER_ALLGATHER, round, receive, work.part * (size_t)standing.ring.ranks);
	return nccl.breaks && round == 1 ? ncclSystemError : fake_take();
}

static ncclResult_t fake_scatter(const void *send, void *receive, size_t count, ncclDataType_t type, ncclRedOp_t op,
	ncclComm_t comm, cudaStream_t stream)
{
	ck_assert(type == ncclFloat32 && op == ncclSum && comm == &the_comm && stream);
	int round = round_of(MUSTER_REDUCESCATTER, send), ranks = standing.ring.ranks, rank = standing.ring.rank;
	for (size_t i = 0; round >= 0 && i < count; i++) {
		float sum = 0;
		for (int other = 0; other < ranks; other++)
			sum += muster_nccl_data_value(round * ranks + other, (size_t)rank * count + i);
		((float *)receive)[i] = sum;
	}
	spoil(MUSTER_REDUCESCATTER, round, receive, count * sizeof(float));
	return fake_take();
}

static ncclResult_t fake_start(void)
{
	nccl.message_count = 0;
	return fake_group_start();
}

static ncclResult_t note(bool sends, const void *at, size_t count, int peer)
{
	ck_assert_int_eq(the_comm.depth, 1);
	ck_assert_uint_lt(nccl.message_count, MESSAGES_MAX);
	ck_assert(peer >= 0 && peer < standing.ring.ranks);
	nccl.messages[nccl.message_count++] =
		(struct message){ sends, (char *)(uintptr_t)at, count * sizeof(float), peer };
	return ncclSuccess;
}

static ncclResult_t fake_send(
	const void *send, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, cudaStream_t stream)
{
	ck_assert(type == ncclFloat32 && comm == &the_comm && stream);
	return note(true, send, count, peer);
}

static ncclResult_t fake_receive(
	void *receive, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, cudaStream_t stream)
{
	ck_assert(type == ncclFloat32 && comm == &the_comm && stream);
	return note(false, receive, count, peer);
}

/* Of each rank one message, both ways. */
static void all_to_all(void)
{
	struct work work = fake_work(MUSTER_ALLTOALL, nccl.messages[0].bytes);
	size_t all = work.part * (size_t)standing.ring.ranks;
	char *receive = NULL;
	int round = round_of(MUSTER_ALLTOALL, nccl.messages[0].at);
	for (size_t i = 0; i < nccl.message_count && round >= 0; i++) {
		const struct message *one = &nccl.messages[i];
		ck_assert_uint_eq(one->bytes, work.part);
		if (one->sends)
			ck_assert(are_words(seed_of(&work, round, one->peer) + words_before(&work, standing.ring.rank),
				one->at, work.part));
		else if (!nccl.forgets)
			write_words(seed_of(&work, round, standing.ring.rank) + words_before(&work, one->peer), one->at,
				work.part);
		receive = !one->sends && one->peer == 0 ? one->at : receive;
	}
	if (round >= 0)
		spoil(MUSTER_ALLTOALL, round, receive, all);
}

static ncclResult_t fake_end(void)
{
	ck_assert_int_eq(--the_comm.depth, 0);
	if (nccl.messages[0].bytes != MESSAGE || nccl.message_count == 2 * (size_t)standing.ring.ranks) {
		all_to_all();
		return fake_take();
	}
	for (size_t i = 0; i < nccl.message_count; i++) {
		int ranks = standing.ring.ranks, peer = nccl.messages[i].peer;
		int distance = (peer - standing.ring.rank + ranks) % ranks;
		nccl.met[peer] = true;
		nccl.hangs |= nccl.silent_distance > 0 && distance == nccl.silent_distance;
	}
	fake.stuck = nccl.hangs;
	return fake_take();
}

static void stand(int rank, int ranks)
{
	const struct muster_nccl_resources *resources = muster_nccl_resources_make(&context->ctx, &err);
	ck_assert_msg(resources != NULL, "%s", err.text);
	standing = (struct muster_nccl_session){ .ctx = &context->ctx,
		.ring = { .rank = rank, .ranks = ranks, .nodes = 2 },
		.resources = resources,
		.comm = &the_comm };
	free(roster);
	roster = muster_calloc((size_t)ranks, sizeof *roster);
	roster_count = ranks;
	for (int i = 0; i < ranks; i++)
		roster[i].rank = 100 + i;
}

static int of, number, ring_ms; /* the ring's ranks, this one, and its time */

#define KNOB(field) FAKE_KNOB(#field, nccl.field)

static const struct fake_knob knobs[] = { FAKE_GPU_KNOBS, KNOB(reduce_us), KNOB(odd_us), KNOB(fill_us), KNOB(late),
	KNOB(forgets), KNOB(breaks), KNOB(wrong_round), KNOB(silent_distance), KNOB(agreements),
	FAKE_KNOB("agreement", nccl.other[0].number), FAKE_KNOB("other", nccl.other[0].value),
	FAKE_KNOB("agreement2", nccl.other[1].number), FAKE_KNOB("other2", nccl.other[1].value),
	FAKE_KNOB("gathers", nccl.calls[MUSTER_ALLGATHER]), FAKE_KNOB("aborted", the_comm.aborted),
	FAKE_KNOB("met_1", nccl.met[1]), FAKE_KNOB("of", of), FAKE_KNOB("number", number),
	FAKE_KNOB("timeout_ms", ring_ms), { .name = NULL } };

static void set_up(void)
{
	fake_gpu_reset();
	fake_kernels_add(&scripted_cuda);
	fake_nccl_reset();
	scripted_nccl.ncclAllReduce = fake_reduce;
	scripted_nccl.ncclAllGather = fake_gather;
	scripted_nccl.ncclReduceScatter = fake_scatter;
	scripted_nccl.ncclGroupStart = fake_start;
	scripted_nccl.ncclGroupEnd = fake_end;
	scripted_nccl.ncclSend = fake_send;
	scripted_nccl.ncclRecv = fake_receive;
	context = fake_gpu_new(&muster_probe_nccl_collectives);
	context->knobs = knobs;
	of = 4;
	number = 0;
	ring_ms = 60000;
	context->ctx.env.profile = MUSTER_STANDARD;
	context->ctx.env.min_bytes = context->ctx.env.max_bytes = MIB;
	memset(&nccl, 0, sizeof nccl);
	nccl.us[MUSTER_ALLGATHER] = 100;
	nccl.us[MUSTER_REDUCESCATTER] = 200;
	nccl.us[MUSTER_ALLTOALL] = 400;
	nccl.reduce_us = 50;
	nccl.fill_us = 60e6; /* no host is late after a minute, however busy this machine is */
	scripted_cuda.cuMemsetD32Async = slow_fill;
	nccl.wrong_round = -1;
	err = (struct muster_error){ 0 };
}

static void tear_down(void)
{
	standing.comm = NULL;
	muster_nccl_resources_release();
	free(roster);
	roster = NULL;
	roster_count = 0;
	fake_free(context);
}

static int play(int rank, int ranks, int timeout_ms)
{
	const struct muster_traffic round = { .kind = "all", .peer = -1, .rounds = 1, .timeout_ms = timeout_ms };
	stand(rank, ranks);
	return traffic(&context->ctx, &round, &err);
}

static double job_number(const char *metric)
{
	const struct muster_sample *sample = fake_sample(context, metric, NULL, NULL);
	ck_assert_msg(sample->value.type == MUSTER_NUMBER, "%s is null: %s", metric, sample->reason);
	return sample->value.number;
}

#define NO_TIME "-no time left for this size"
#define NO_ROOM "-a rank has no room on its GPU for the smallest size"
#define UNREACHED(distance, list)                                                                                      \
	{                                                                                                              \
		"ranks that do not connect are named",                                                                 \
			"of=29 | number=5 | timeout_ms=600 | silent_distance=" distance,                               \
			"error '*all-to-all: no connection to all of the ranks *" list "* | code 'time | aborted 1 | " \
			"rank.alltoall_unreached '" list " | rank.allgather_wrong 0"                                   \
	}

static const struct fake_row rows[] = {
	{ "bus bandwidth is that of nccl-tests", NULL,
		"nccl.allgather_busbw_gbps 7.86432~1e-4 | nccl.reducescatter_busbw_gbps 3.93216~1e-4 | "
		"nccl.alltoall_busbw_gbps bytes=1048576 nodes=2 ranks=4 1.96608~1e-4 | aborted 0" },
	{ "wrong values count where a later round fails", "breaks=1 | wrong_round=0",
		"error '?* | rank.allgather_wrong 2 | aborted 1" },
	{ "right values of some rounds do not", "breaks=1", "error '?* | rank.allgather_wrong #0" },
	{ "an all-to-all that moves nothing is wrong everywhere", "forgets=1", "rank.alltoall_wrong 786432" },
	/* agreements: limit, one all-reduce, a late host, all of them, time left, the checked all-gather, the timed
	 * ones; another rank was slow in the first window alone */
	{ "of the slowest rank's windows the best one counts",
		"agreement=6 | other=10000 | agreement2=7 | other2=20000",
		"nccl.allgather_busbw_gbps [0.0393216 7.86432 7.86432] | nccl.allgather_busbw_gbps 7.86432~1e-4 | "
		"gathers 7" },
	/* three rounds that are checked, a warm-up, and three windows */
	{ "a slow one is timed less often", "agreement=6 | other=5000", "gathers 13" },
	{ "a fast one is timed more often", NULL, "gathers 25" },
	/* 256 KiB on another rank */
	{ "all ranks take a size that each has room for", "agreement=1 | other=-18",
		"nccl.allgather_busbw_gbps bytes=262144 #1 | nccl.allgather_busbw_gbps #1 | "
		"nccl.allreduce_p50_us bytes=262144 #1 | nccl.allreduce_p50_us #1" },
	{ "sizes that no time is left for are null", "agreement=5 | other=1",
		"nccl.allgather_busbw_gbps " NO_TIME " | rank.allgather_wrong " NO_TIME
		" | nccl.reducescatter_busbw_gbps >0" },
	{ "where another rank has no room there is nothing to exchange", "agreement=1 | other=0",
		"nccl.allgather_busbw_gbps " NO_ROOM " | nccl.alltoall_connect_ms " NO_ROOM
		" | nccl.allreduce_p50_us " NO_ROOM " | agreements 1" },
	{ "so it is where this rank has none", "free_bytes=1048576 | min_bytes=1073741824 | max_bytes=1073741824",
		"nccl.allgather_busbw_gbps " NO_ROOM " | agreements 1" },
	{ "one rank exchanges nothing", "of=1", "nccl.alltoall_busbw_gbps -*no other rank* | agreements 0" },
	{ "many ranks make no all-to-all", "of=513 | min_bytes=32768 | max_bytes=32768",
		"nccl.alltoall_busbw_gbps -*more than 512 ranks* | met_1 0" },
	{ "many ranks make an all-to-all in the profile full alone",
		"profile=2 | of=513 | min_bytes=32768 | max_bytes=32768", "nccl.alltoall_busbw_gbps >0 | met_1 1" },
	UNREACHED("1", "104,106"),
	UNREACHED("2", "102-103,107-108"),
	UNREACHED("4", "100-101,109-112,127-128"),
	UNREACHED("20", "113-126"),
	{ "a cancelled round names no one", "of=8 | cancelled=rank 2's worker crashed | silent_distance=1",
		"error '?* | code 'called_off | rank.alltoall_unreached #0" },
	/* one of ten */
	{ "all-reduces are timed one by one", "odd_us=500",
		"nccl.allreduce_p50_us 50~0.1 | nccl.allreduce_p99_us 500~0.1 | nccl.allreduce_outliers 0.1~1e-6 | "
		"rank.allreduce_p99_us 500~0.1" },
	/* a host that launches slowly at first: its times are not those of the all-reduces */
	{ "all-reduces of a slow host are timed again", "late=80", "late 0 | nccl.allreduce_p99_us 50~0.1" },
	/* the start never lasts long enough */
	{ "all-reduces of a slow host have no times", "fill_us=0 | late=2147483647",
		"nccl.allreduce_p99_us -*us to launch an all-reduce: the GPU waits* | "
		"rank.allreduce_p99_us -*the host of a rank takes*" },
	{ "too slow all-reduces are not timed one by one", "reduce_us=30000",
		"nccl.allreduce_p50_us -*longer than 2 s* | rank.allreduce_p99_us -*longer than 2 s*" },
};

TEST_EACH(all_ranks_exchange_data, rows)
{
	static const char *const others[] = { "rank.alltoall_unreached", "nccl.alltoall_limit_gbps", NULL };
	fake_given(context, rows[_i].given);
	context->result = play(number, of, ring_ms);
	context->error = err;
	if (context->result == 0)
		fake_complete(context, others); /* only after a failure; derived */
	fake_expect(context, rows[_i].expected, rows[_i].name);
}

/* agreements: of each collective the time left, and its windows */
static const struct fake_row visits[] = {
	{ "windows and nothing else", "visit=1",
		"samples 3 | nccl.allgather_busbw_gbps [7.86432 7.86432 7.86432] | nccl.alltoall_busbw_gbps >0 | "
		"nccl.reducescatter_busbw_gbps >0 | agreements 6 | gathers 22 | "
		"steps 'all-gather of 1 MiB; reduce-scatter of 1 MiB; all-to-all of 1 MiB" },
	{ "so does a visit at the end", "visit=3", "samples 3 | gathers 22" },
	{ "what no time is left for", "visit=2 | agreement=1 | other=1",
		"samples 2 | nccl.reducescatter_busbw_gbps [3.93216 3.93216 3.93216] | gathers 0" },
	{ "a rank that is cancelled", "visit=1 | cancelled=rank 2's worker crashed | stuck=1",
		"error '?* | code 'called_off | aborted 1" },
};

TEST_EACH(a_later_visit_yields_windows, visits)
{
	ck_assert_msg(play(0, 4, 60000) == 0, "%s", err.text);
	fake_forget(context);
	nccl.agreements = 0;
	size_t before = nccl.calls[MUSTER_ALLGATHER];
	fake_given(context, visits[_i].given);
	const struct muster_traffic round = { .kind = "all", .peer = -1, .rounds = 1, .visit = 1, .timeout_ms = 60000 };
	context->result = traffic(&context->ctx, &round, &context->error);
	nccl.calls[MUSTER_ALLGATHER] -= before;
	fake_expect(context, visits[_i].expected, visits[_i].name);
}

TEST_LOOP(every_rank_checks_all_values_of_three_rounds, 0, 5)
{
	ck_assert_msg(play(_i, 5, 60000) == 0, "%s", err.text);
	ck_assert_double_eq(job_number("rank.allgather_wrong"), 0);
	ck_assert_double_eq(job_number("rank.reducescatter_wrong"), 0);
	ck_assert_double_eq(job_number("rank.alltoall_wrong"), 0);
	for (size_t i = 0; i < context->samples.count && _i > 0; i++)
		ck_assert_int_ne(context->samples.items[i].metric->scope, MUSTER_SCOPE_JOB);
}

TEST_LOOP(wrong_values_are_counted_in_each_round, 0, MUSTER_COLLECTIVES *ROUNDS)
{
	static const char *const wrongs[] = { "rank.allgather_wrong", "rank.reducescatter_wrong",
		"rank.alltoall_wrong" };
	nccl.wrong_in = (enum muster_collective)(_i / ROUNDS);
	nccl.wrong_round = _i % ROUNDS;
	ck_assert_msg(play(2, 4, 60000) == 0, "%s", err.text);
	for (int i = 0; i < MUSTER_COLLECTIVES; i++)
		ck_assert_double_eq(job_number(wrongs[i]), i == _i / ROUNDS ? 2 : 0);
}

TEST_LOOP(every_rank_is_met_once_and_both_ways, 0, 6)
{
	static const int ranks[] = { 2, 3, 9, 16, 17, 40 };
	ck_assert_msg(play(1, ranks[_i], 60000) == 0, "%s", err.text);
	for (int i = 0; i < ranks[_i]; i++)
		ck_assert_msg(nccl.met[i] == (i != 1), "%d", i);
}

static size_t filled; /* bytes */

static CUresult counting_set(CUdeviceptr to, unsigned int value, size_t words, CUstream stream)
{
	filled += words * sizeof value;
	ck_assert(to != 0);
	return fake_set(to, value, words, stream);
}

/* of an H200, a B200, and of a GPU whose memory's clock or bus is not known */
static const struct {
	int bits;
	unsigned int mhz;
	double per_us;
} memories[] = { { 6144, 3201, 4.917e6 }, { 8192, 3996, 8.184e6 }, { 8192, 0, 8e6 }, { 0, 3996, 8e6 } };

TEST_EACH(a_head_start_fills_what_the_memory_can_take_in_its_time, memories)
{
	fake.memory_bits = memories[_i].bits;
	fake.memory_mhz = memories[_i].mhz;
	stand(0, 4);
	scripted_cuda.cuMemsetD32Async = counting_set;
	filled = 0;
	ck_assert_int_eq(muster_nccl_head_start(&standing, 20, &err), 0);
	ck_assert_double_ge((double)filled, 20 * memories[_i].per_us);
	ck_assert_double_lt((double)filled, 20 * memories[_i].per_us + (double)MIB + 20e3);
}

TEST(a_head_start_without_the_all_reduces_buffer_fills_the_other_one)
{
	fake.free_bytes = MIB;
	context->ctx.env.min_bytes = context->ctx.env.max_bytes = GIB;
	stand(0, 4);
	ck_assert_int_eq(muster_nccl_received_make(&context->ctx, MIB, &err), 0);
	scripted_cuda.cuMemsetD32Async = counting_set;
	filled = 0;
	ck_assert_int_eq(muster_nccl_head_start(&standing, 20, &err), 0);
	ck_assert_double_gt((double)filled, 0);
}

TEST(percentiles_of_times_in_any_order)
{
	double times[] = { 4, 1, 3, 2 }, many[200];
	double p50, p99, outliers;
	muster_collective_jitter_of(times, 4, &p50, &p99, &outliers);
	ck_assert_double_eq(p50, 2.5);
	ck_assert_double_eq(p99, 4);
	ck_assert_double_eq(outliers, 0.25);
	for (size_t i = 0; i < LENGTH(many); i++)
		many[i] = (double)(LENGTH(many) - i);
	muster_collective_jitter_of(many, LENGTH(many), &p50, &p99, &outliers);
	ck_assert_double_eq(p50, 100.5);
	ck_assert_double_eq(p99, 198);
	ck_assert_double_eq(outliers, 0.25);
}

static const struct {
	enum muster_profile profile;
	uint64_t limit_mib;
	const char *mib;
} ladders[] = {
	{ MUSTER_STANDARD, 512, "128" },
	{ MUSTER_STANDARD, 128, "128" },
	{ MUSTER_STANDARD, 64, "64" },
	{ MUSTER_FULL, 8192, "8 64 256 1024" },
	{ MUSTER_FULL, 256, "8 64 256" },
	{ MUSTER_FULL, 4, "4" },
};

TEST_EACH(profile_and_room_make_the_sizes, ladders)
{
	uint64_t sizes[4];
	char text[64] = "";
	struct muster_probe_env env = { .profile = ladders[_i].profile };
	size_t count = make_sizes(&env, ladders[_i].limit_mib * MIB, sizes);
	for (size_t i = 0; i < count; i++) {
		size_t used = strlen(text);
		snprintf(text + used, sizeof text - used, "%s%zu", i ? " " : "", (size_t)(sizes[i] / MIB));
	}
	ck_assert_str_eq(text, ladders[_i].mib);
}

TEST_MAIN(.setup = set_up, .teardown = tear_down, .timeout = 200)
