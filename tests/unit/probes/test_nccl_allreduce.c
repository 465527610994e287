/* SPDX-License-Identifier: Apache-2.0 */
/* test_nccl_allreduce.c - one rank of the ring against a scripted NCCL that plays all the others */
#include "probes/nccl/session.c"
#include "probes/nccl_allreduce.c"
#include "probes/nccl_allreduce/sweep.c"
#include "kernel_fakes.h"
#include "nccl_fakes.h"
#include "check_main.h"
#include "probe_fake.h"

#include <math.h>

static struct {
	int ranks, rank;             /* of the ring */
	double us_per_mib, fixed_us; /* of one all-reduce */
	double connect_us;           /* by so much longer takes the first one of data */
	double others[AGREED_MAX];   /* what the other ranks bring to an agreement, by its place in turn */
	size_t agreements;           /* which agreement the values are for; 0: all */
	size_t agreed;
	size_t spoiled;    /* 1 + a copy of each agreed value that comes wrong; 0: none */
	size_t wrong_at;   /* a value of the sum that is wrong; SIZE_MAX: none */
	bool adds_nothing; /* each rank's sum is what it brought */
	size_t sums;       /* all-reduces with ncclSum */
	bool never_connects;
	int version;
} nccl;
static struct muster_error err;
static struct probe_fake *context;
static int of, number, ring_ms; /* the ring's ranks, this one, and its time */
static bool trial;
static const char *log_text;

#define KNOB(field) FAKE_KNOB(#field, nccl.field)

static const struct fake_knob knobs[] = { KNOB(us_per_mib), KNOB(connect_us), KNOB(agreements), KNOB(wrong_at),
	KNOB(sums), KNOB(never_connects), KNOB(version), FAKE_KNOB("other0", nccl.others[0]),
	FAKE_KNOB("other1", nccl.others[1]), FAKE_KNOB("pending_each", the_comm.pending_each),
	FAKE_KNOB("broken", the_comm.broken), FAKE_KNOB("aborted", the_comm.aborted), FAKE_KNOB("stuck", fake.stuck),
	FAKE_KNOB("free_bytes", fake.free_bytes), FAKE_KNOB("held", fake.held), FAKE_KNOB("of", of),
	FAKE_KNOB("number", number), FAKE_KNOB("timeout_ms", ring_ms), FAKE_KNOB("trial", trial),
	FAKE_KNOB("log", log_text), FAKE_KNOB("first_ms", known.first_ms), { .name = NULL } };

static ncclResult_t fake_init(ncclComm_t *comm, int ranks, ncclUniqueId id, int rank, ncclConfig_t *config)
{
	ck_assert_int_eq(config->blocking, 0);
	ck_assert_uint_eq(config->size, sizeof *config);
	ck_assert_int_eq(id.internal[5], 42);
	nccl.ranks = ranks;
	nccl.rank = rank;
	*comm = &the_comm;
	if (nccl.never_connects) {
		the_comm.pending = INT32_MAX;
		return ncclInProgress;
	}
	return fake_take();
}

static ncclResult_t fake_reduce(const void *send, void *receive, size_t count, ncclDataType_t type, ncclRedOp_t op,
	ncclComm_t comm, cudaStream_t stream)
{
	float *data = receive;
	(void)stream;
	ck_assert_ptr_eq(send, receive);
	ck_assert_ptr_eq(comm, &the_comm);
	ck_assert_int_eq(type, ncclFloat32);
	if (op == ncclMax) {
		queued.to = NULL;
		nccl.agreed++;
		for (size_t i = 0; i < count && (!nccl.agreements || nccl.agreements == nccl.agreed); i++)
			data[i] = fmaxf(data[i], (float)nccl.others[i % (count / MUSTER_NCCL_COPIES)]);
		for (size_t i = 0; nccl.spoiled && i < count / MUSTER_NCCL_COPIES; i++)
			data[(nccl.spoiled - 1) * (count / MUSTER_NCCL_COPIES) + i] += 4711;
		return fake_take();
	}
	ck_assert_int_eq(op, ncclSum);
	nccl.sums++;
	double bytes = (double)count * sizeof *data;
	fake.now_ms += (nccl.fixed_us + nccl.us_per_mib * bytes / (1 << 20) + nccl.connect_us) / 1e3;
	nccl.connect_us = 0;
	if (data[0] == 0 && memcmp(data, data + 1, (count - 1) * sizeof *data) == 0) /* all are */
		return fake_take();
	queued.to = NULL;
	float own[TILE_VALUES], sums[TILE_VALUES] = { 0 };
	for (size_t place = 0; place < TILE_VALUES; place++) {
		own[place] = muster_nccl_data_value(nccl.rank, place);
		for (int rank = 0; rank < nccl.ranks; rank++)
			sums[place] += muster_nccl_data_value(rank, place);
	}
	for (size_t i = 0; i < count; i += TILE_VALUES) {
		size_t here = count - i < TILE_VALUES ? count - i : TILE_VALUES;
		ck_assert_mem_eq(data + i, own, here * sizeof *own);
		memcpy(data + i, sums, here * sizeof *sums);
	}
	for (size_t i = 0; nccl.adds_nothing && i < count; i++)
		data[i] = own[i % TILE_VALUES];
	if (nccl.wrong_at < count)
		data[nccl.wrong_at] += 1;
	return fake_take();
}

static ncclResult_t fake_version(int *version)
{
	*version = nccl.version;
	return nccl.version ? ncclSuccess : ncclInternalError;
}

static ncclResult_t fake_id(ncclUniqueId *id)
{
	memset(id, 42, sizeof *id);
	return ncclSuccess;
}

static int id_count; /* of the ring */

static void set_up(void)
{
	of = 4;
	number = 0;
	ring_ms = 60000;
	trial = false;
	id_count = 1;
	log_text = NULL;
	standing.comm = NULL;
	memset(&known, 0, sizeof known);
	fake_gpu_reset();
	fake_nccl_reset();
	scripted_nccl.ncclGetVersion = fake_version;
	scripted_nccl.ncclGetUniqueId = fake_id;
	scripted_nccl.ncclCommInitRankConfig = fake_init;
	scripted_nccl.ncclAllReduce = fake_reduce;
	context = fake_gpu_new(&muster_probe_nccl_allreduce);
	context->knobs = knobs;
	memset(&nccl, 0, sizeof nccl);
	nccl.wrong_at = SIZE_MAX;
	for (size_t i = 0; i < AGREED_MAX; i++)
		nccl.others[i] = -INFINITY;
	nccl.us_per_mib = 100;
	nccl.version = 22809;
	context->ctx.env.min_bytes = (uint64_t)1 << 20;
	context->ctx.env.max_bytes = (uint64_t)2 << 20;
	err = (struct muster_error){ 0 };
}

static void tear_down(void)
{
	muster_nccl_resources_release();
	fake_free(context);
}

/* The only sample of a metric for a size; bytes 0 for metrics without. */
static const struct muster_sample *of_size(const char *metric, double bytes)
{
	for (size_t i = 0; i < context->samples.count; i++) {
		const struct muster_sample *sample = &context->samples.items[i];
		if (strcmp(sample->metric->name, metric) == 0 &&
			(bytes == 0 || muster_value_equal(sample->labels[0].value, muster_number(bytes))))
			return sample;
	}
	ck_abort_msg("no sample of %s for %g bytes", metric, bytes);
}
static double number_of(const char *metric, double bytes)
{
	const struct muster_sample *sample = of_size(metric, bytes);
	ck_assert_msg(sample->value.type == MUSTER_NUMBER, "%s is null: %s", metric, sample->reason);
	return sample->value.number;
}
static const char *reason_of(const char *metric, double bytes)
{
	const struct muster_sample *sample = of_size(metric, bytes);
	ck_assert_msg(sample->value.type == MUSTER_NULL, "%s is not null", metric);
	return sample->reason;
}

static int play(int ranks, int rank, int ms)
{
	struct muster_ring dealt = {
		.rank = rank, .ranks = ranks, .nodes = 2, .timeout_ms = ms, .trial = trial, .id_count = id_count
	};
	ck_assert_msg(run(&context->ctx, &err) == 0, "%s", err.text);
	ck_assert_int_eq(ring_id(&context->ctx, dealt.ids[0], &err), 0);
	return ring(&context->ctx, &dealt, &err);
}

TEST_LOOP(right_sums_are_checked_and_timed_on_every_rank, 0, 16)
{
	the_comm.pending_each = 3;
	ck_assert_msg(play(16, _i, 60000) == 0, "%s", err.text);
	ck_assert_double_eq(number_of("rank.allreduce_wrong", 1 << 20), 0);
	ck_assert_double_eq(number_of("rank.allreduce_wrong", 2 << 20), 0);
	ck_assert_double_eq_tol(number_of("rank.allreduce_us", 1 << 20), 100, 0.1);
	ck_assert_double_eq_tol(number_of("rank.allreduce_us", 2 << 20), 200, 0.1);
	ck_assert_double_ge(number_of("rank.nccl_init_ms", 0), 0);
	ck_assert_int_eq(the_comm.aborted, 0);
}

static int ids_came;

static ncclResult_t fake_init_by_ids(
	ncclComm_t *comm, int ranks, int rank, int count, ncclUniqueId *ids, ncclConfig_t *config)
{
	ids_came = count;
	ck_assert_int_eq(ids[0].internal[5], 42);
	return fake_init(comm, ranks, ids[0], rank, config);
}

/* Whether the library has the function (since 2.23), how many ids a ring has, and how many the library gets by it. */
static const struct {
	bool has;
	int ids, came;
} inits[] = { { true, 1, 0 }, { true, 3, 3 }, { false, 3, 0 } };

TEST_EACH(several_ids_go_to_a_library_that_takes_them, inits)
{
	scripted_nccl.ncclCommInitRankScalable = inits[_i].has ? fake_init_by_ids : NULL;
	id_count = inits[_i].ids;
	ids_came = 0;
	ck_assert_msg(play(4, 0, 60000) == 0, "%s", err.text);
	ck_assert_int_eq(ids_came, inits[_i].came);
}

/* One of the copies of what ranks agree on comes wrong: this rank takes the same way as the others. */
TEST_LOOP(a_wrong_copy_of_an_agreement_is_outvoted, 1, 1 + MUSTER_NCCL_COPIES)
{
	nccl.spoiled = (size_t)_i;
	ck_assert_msg(play(4, 0, 60000) == 0, "%s", err.text);
	ck_assert_double_eq_tol(number_of("nccl.allreduce_us", 1 << 20), 100, 0.1);
	ck_assert_double_eq_tol(number_of("nccl.allreduce_us", 2 << 20), 200, 0.1);
}

#define ONE " bytes=1048576 "
#define TWO " bytes=2097152 "
#define UP_TO_ONE "max_bytes=1048576 | "
#define GOOD_NIC "NET/IB : Using [0]mlx5_ib0:1/IB [RO]; OOB eth0:10.0.0.4<0>\n"

static const struct fake_row rows[] = {
	{ "the ring's first rank gives the job's figures", "of=16",
		"nccl.allreduce_us bytes=1048576 nodes=2 ranks=16 100~0.1 | nccl.allreduce_algbw_gbps" ONE
		"10.48576~0.01 | nccl.allreduce_busbw_gbps" ONE
		"19.6608~0.02 | nccl.ring_ranks 16 | nccl.ring_nodes 2" },
	/* microseconds of two of the second size's three all-reduces, on another rank */
	{ "the slowest rank's time counts", "us_per_mib=200 | other0=900 | other1=900 | agreements=6",
		"rank.allreduce_us" TWO "400~0.1 | nccl.allreduce_us" TWO "900~0.1" },
	/* of two windows of one all-reduce each; the second one is not late */
	{ "the best window counts", UP_TO_ONE "repeats=2 | us_per_mib=20000 | other0=80000 | agreements=3",
		"nccl.allreduce_us" ONE "[80000 20000] | nccl.allreduce_us" ONE "20000~1 | rank.allreduce_us" ONE
		"[20000 20000] | nccl.allreduce_busbw_gbps" ONE "[0.0196608 0.0786432]" },
	{ "one rank has a time but no bandwidth", "of=1",
		"nccl.allreduce_us" ONE ">0 | nccl.allreduce_busbw_gbps" ONE
		"-an all-reduce of one rank moves no data" },
	/* half of it stays free */
	{ "a size that has no room here is null with the reason", "free_bytes=3145728",
		"nccl.allreduce_us" ONE ">0 | nccl.allreduce_busbw_gbps" TWO "-*3 of 3 MiB are free*" },
	{ "a size that has no room elsewhere is null with the reason", "other0=1 | agreements=1",
		"nccl.allreduce_us" ONE ">0 | nccl.allreduce_busbw_gbps" TWO "-*another rank*" },
	/* milliseconds that had passed on another rank after the first size */
	{ "sizes that no time is left for are null on all ranks", "other0=59999.5 | agreements=4",
		"nccl.allreduce_us" ONE ">0 | nccl.allreduce_us" TWO "-*no time left*" },
	/* first, warm-up, timed, checked */
	{ "a fast size has seven all-reduces in a window", UP_TO_ONE "us_per_mib=10", "sums 10" },
	{ "a slower size has three", UP_TO_ONE "us_per_mib=3000", "sums 6" },
	{ "a slow size has one", UP_TO_ONE "us_per_mib=20000", "sums 4" },
	{ "ranks that connect slowly cost one window", "connect_us=40e6",
		"nccl.allreduce_us" ONE "[100] | nccl.allreduce_us" TWO "[200] | sums 10" },
	{ "a standard run has three windows", UP_TO_ONE "us_per_mib=3000 | profile=1",
		"sums 12 | nccl.allreduce_us" ONE "[3000 3000 3000]" },
	{ "more than 200 ms of windows are one", UP_TO_ONE "us_per_mib=100000 | profile=1",
		"sums 4 | nccl.allreduce_us" ONE "[100000]" },
	{ "a ring that works is not given up", NULL, "given_up 0 | aborted 0" },
	{ "ranks that never connect end at the deadline with NCCL's own words",
		"never_connects=1 | timeout_ms=50 | log=" AT
		"hello\ngpu-1:1:2 [0] socket.cc:1 NCCL WARN peer refused\n",
		"error 'ncclCommInitRankConfig did not finish within 50 ms | code 'time | "
		"evidence 'NCCL's log ends: peer refused | aborted 1" },
	{ "a communicator that breaks while waited for ends at once", "broken=6 | pending_each=1",
		"error '*result 6* | aborted 1" },
	{ "a stream that never ends is left at the deadline", "stuck=1 | timeout_ms=50",
		"error '?* | code 'time | aborted 1" },
	{ "a ring that is cancelled while it connects ends at once and says why",
		"cancelled=rank 2's worker crashed | never_connects=1",
		"error '*cancelled: rank 2's worker crashed* | code 'called_off | aborted 1 | given_up 1 | held 0" },
	{ "a ring that is cancelled while it works ends at once and says why",
		"cancelled=rank 2's worker crashed | stuck=1",
		"error '*cancelled: rank 2's worker crashed* | code 'called_off | aborted 1 | given_up 1 | held 0" },
	/* a few all-reduces will do */
	{ "a trial is one modest size", "trial=1 | max_bytes=134217728 | us_per_mib=100000",
		"nccl.allreduce_busbw_gbps bytes=67108864 >0 | nccl.allreduce_busbw_gbps #1" },
	{ "a wrong sum fails a trial", "trial=1 | wrong_at=5 | number=1",
		"error '*1 wrong values in this rank's copy*" },
	{ "every rank says which NCCL it has", "number=2", "rank.nccl_version '2.28.9" },
	{ "or why it does not know", "number=2 | version=0", "rank.nccl_version -ncclGetVersion: result 3" },
	{ "NCCL's log names the transport",
		"log=" AT GOOD_NIC AT "Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM/read\n" AT
		"Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA\n",
		"rank.nccl_transport 'P2P/CUMEM NET/IB/GDRDMA | rank.nccl_hcas 'mlx5_ib0:1 | rank.nccl_gdr true" },
	/* lines of the log hold no " | " */
	{ "NCCL's log names plugin, NVLS and algorithms",
		"min_bytes=1024 | max_bytes=4096 | log=" AT "Plugin Path : /opt/hpcx/lib/libnccl-net.so\n" AT
		"NET/Plugin: Loaded collnet plugin SHARP (v8)\n" AT "Using network IBext_v8\n" AT
		"24 coll channels, 24 collnet channels, 16 nvls channels, 32 p2p\n" AT
		"AllReduce: 4096 Bytes -> Algo NVLS proto SIMPLE channel{Lo..Hi}={0..15}\n" AT
		"AllReduce: 16 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..0}\n" AT
		"AllReduce: 2048 Bytes -> Algo RING proto LL128 channel{Lo..Hi}={0..23}\n",
		"rank.nccl_plugin 'IBext_v8 /opt/hpcx/lib/libnccl-net.so | rank.nccl_collnet 'loaded | "
		"rank.nccl_nvls 16 | rank.nccl_algo '2048:RING/LL128 4096:NVLS/SIMPLE" },
	{ "NCCL's own network is no plugin",
		"log=" AT "Plugin name set by env to libnccl-net-x.so\n" AT "Using network IB\n",
		"rank.nccl_plugin 'none | "
		"rank.nccl_collnet -NCCL_COLLNET_ENABLE is not set, so NCCL looks for no CollNet" },
	{ "an empty log is null with the reason", NULL,
		"rank.nccl_plugin -NCCL's log names no network | rank.nccl_collnet -NCCL's log names no network | "
		"rank.nccl_transport -NCCL's log names no channel | rank.nccl_gdr -NCCL's log names no channel" },
	{ "what the log of a ring that failed does not name would have come later",
		"stuck=1 | timeout_ms=50 | log=" AT "Using network IB\n",
		"error '?* | rank.nccl_plugin 'none | rank.nccl_transport #0 | rank.nccl_gdr #0 | rank.nccl_algo #0" },
	{ "each step of a ring is named", "number=1",
		"steps 'loading NCCL; cuMemHostRegister_v2 of 2 MiB; cuMemAlloc_v2 of 2097152 bytes; ncclGetUniqueId; "
		"ncclCommInitRankConfig: 1 of 4; the first all-reduce, which connects the ranks; "
		"timed all-reduces of 1 MiB; checked all-reduce of 1 MiB; timed all-reduces of 2 MiB; "
		"checked all-reduce of 2 MiB" },
};

TEST_EACH(a_ring_is_played, rows)
{
	static const char *const derived[] = { "nccl.allreduce_limit_gbps", "node.imex_state", "job.slow_windows",
		NULL };
	fake_given(context, rows[_i].given);
	if (log_text)
		fake_log("w", log_text);
	context->result = play(of, number, ring_ms);
	context->error = err;
	if (context->result == 0 && number == 0)
		fake_complete(context, derived); /* but what all ranks say together */
	fake_expect(context, rows[_i].expected, rows[_i].name);
}

TEST(other_ranks_leave_the_jobs_figures_alone)
{
	ck_assert_int_eq(play(4, 3, 60000), 0);
	for (size_t i = 0; i < context->samples.count; i++)
		ck_assert_int_ne(context->samples.items[i].metric->scope, MUSTER_SCOPE_JOB);
}

static void load_kernels(void)
{
	fake_kernels_add(&scripted_cuda);
	ck_assert_ptr_nonnull(muster_kernels(&scripted_cuda, &err));
	ck_assert_ptr_nonnull(muster_kernels_loaded());
}

/* By the host alone, and where the GPU has said that something is. */
TEST_LOOP(a_wrong_value_anywhere_is_counted, 0, 8)
{
	static const size_t places[] = { 0, TILE_VALUES, 2 * TILE_VALUES, (1 << 18) - 1 };
	if (_i >= LENGTH(places))
		load_kernels();
	nccl.wrong_at = places[_i % LENGTH(places)];
	context->ctx.env.max_bytes = context->ctx.env.min_bytes;
	ck_assert_int_eq(play(4, 1, 60000), 0);
	ck_assert_double_eq(number_of("rank.allreduce_wrong", 1 << 20), 1);
}

/* A sum that is wrong everywhere repeats itself as a right one does. _i: whether the kernels are loaded. */
TEST_LOOP(all_values_of_a_sum_that_is_wrong_everywhere_are_counted, 0, 2)
{
	if (_i)
		load_kernels();
	nccl.adds_nothing = true;
	context->ctx.env.max_bytes = context->ctx.env.min_bytes;
	ck_assert_int_eq(play(4, 1, 60000), 0);
	ck_assert_double_ge(
		number_of("rank.allreduce_wrong", 1 << 20), 0.98 * (1 << 18)); /* by chance some are right */
}

static uint64_t to_host; /* bytes */

static CUresult count_to_host(void *to, CUdeviceptr from, size_t bytes, CUstream stream)
{
	to_host += bytes;
	return fake_d2h(to, from, bytes, stream);
}

/* _i: whether the kernels are loaded. */
TEST_LOOP(of_a_right_sum_the_host_sees_one_period_when_the_gpu_has_compared_the_rest, 0, 2)
{
	scripted_cuda.cuMemcpyDtoHAsync_v2 = count_to_host;
	if (_i)
		load_kernels();
	context->ctx.env.max_bytes = context->ctx.env.min_bytes;
	ck_assert_int_eq(play(4, 1, 60000), 0);
	ck_assert_double_eq(number_of("rank.allreduce_wrong", 1 << 20), 0);
	ck_assert_int_eq(to_host >= 1 << 20, !_i);
	ck_assert_uint_ge(to_host, 2 * TILE_BYTES);
}

TEST(the_first_wrong_value_is_kept)
{
	static float expected[TILE_VALUES], got[3 * TILE_VALUES];
	struct muster_nccl_mismatch wrong = { 0 };
	muster_nccl_data_expect(0, 4, expected);
	for (size_t i = 0; i < 3 * TILE_VALUES; i++)
		got[i] = expected[i % TILE_VALUES];
	muster_nccl_data_compare(got, expected, 3 * TILE_VALUES - 5, 1000, &wrong);
	ck_assert_uint_eq(wrong.count, 0);
	got[TILE_VALUES + 7] = -1;
	got[3 * TILE_VALUES - 6] = -2;
	got[3 * TILE_VALUES - 5] = -3; /* behind the end */
	muster_nccl_data_compare(got, expected, 3 * TILE_VALUES - 5, 1000, &wrong);
	ck_assert_uint_eq(wrong.count, 2);
	ck_assert_uint_eq(wrong.first, 1000 + TILE_VALUES + 7);
	ck_assert_float_eq(wrong.got, -1);
	ck_assert_float_eq(wrong.expected, expected[7]);
}

/* How many all-reduces a rank with so much time makes, when another one has so much. The largest size needs 26 s, the
 * one before 13 s. */
static size_t sums_of(int timeout_ms, int others_ms)
{
	context->ctx.env.max_bytes = 4 * MIB;
	nccl.us_per_mib = 2200000;
	nccl.others[1] = -others_ms;
	nccl.agreements = 1;
	ck_assert_msg(play(4, 0, timeout_ms) == 0, "%s", err.text);
	return nccl.sums;
}

TEST(ranks_with_different_time_outs_make_the_same_calls)
{
	size_t of_both = sums_of(60000, 60000);
	ck_assert_double_gt(number_of("nccl.allreduce_us", 4 * MIB), 0);
	tear_down();
	set_up();
	size_t of_short = sums_of(20000, 60000);
	ck_assert_ptr_nonnull(strstr(reason_of("nccl.allreduce_us", 4 * MIB), "of 20000 ms had passed"));
	tear_down();
	set_up();
	size_t of_long = sums_of(60000, 20000);
	ck_assert_ptr_nonnull(strstr(reason_of("nccl.allreduce_us", 4 * MIB), "of 20000 ms had passed"));
	ck_assert_uint_eq(of_long, of_short);
	ck_assert_uint_lt(of_short, of_both);
}

TEST(a_long_wait_is_a_stall_if_the_slowest_network_is_faster)
{
	ck_assert(!muster_nccl_is_stalled(0, 9999));
	ck_assert(muster_nccl_is_stalled(0, 10000));
	ck_assert(muster_nccl_is_stalled(64 * MIB, 10000));
	ck_assert(!muster_nccl_is_stalled(8 * GIB, 200000));
	ck_assert(muster_nccl_is_stalled(8 * GIB, 300000));
}

TEST(a_second_ring_in_the_same_process_ends_the_first_ones_communicator)
{
	ck_assert_int_eq(play(4, 0, 60000), 0);
	ck_assert_int_eq(the_comm.aborted, 0);
	fake_forget(context);
	ck_assert_int_eq(play(3, 1, 60000), 0);
	ck_assert_int_eq(the_comm.aborted, 1);
}

/* ---- later visits ---- */

/* The first visit, in which the ranks connect slowly, and then this one. */
static void play_visit(const struct fake_row *row)
{
	fake_given(context, "first_ms=1 | connect_us=50000");
	ck_assert_msg(play(of, number, 60000) == 0, "%s", err.text);
	fake_forget(context);
	nccl.sums = nccl.agreed = 0;
	fake_given(context, row->given);
	const struct muster_traffic round = { .kind = "all", .peer = -1, .rounds = 1, .timeout_ms = ring_ms };
	context->result = traffic(&context->ctx, &round, &context->error);
	fake_expect(context, row->expected, row->name);
}

static const struct fake_row visits[] = {
	{ "windows of both sizes and nothing else", "visit=1",
		"nccl.allreduce_us" ONE "[100] | nccl.allreduce_busbw_gbps" TWO
		"[15.72864] | nccl.allreduce_algbw_gbps" ONE ">0 | rank.allreduce_us" TWO
		"[200] | samples 8 | sums 12 | "
		"steps 'timed all-reduces of 1 MiB; timed all-reduces of 2 MiB" },
	{ "so does the last visit", "visit=2", "nccl.allreduce_us" ONE "[100] | samples 8" },
	{ "and one at the end", "visit=3 | profile=1 | wrong_at=5",
		"rank.allreduce_us" ONE "[100 100 100] | samples 8" },
	/* milliseconds that are left to another rank */
	{ "without time on any rank there are none", "visit=1 | other0=-2 | agreements=1", "samples 0 | sums 0" },
	{ "a communicator that breaks fails the rank", "visit=1 | broken=6 | pending_each=1",
		"error '*result 6* | aborted 1 | given_up 1" },
};

TEST_EACH(a_later_visit_yields_windows, visits)
{
	play_visit(&visits[_i]);
}

TEST(a_later_visit_of_other_ranks_yields_their_own_times)
{
	number = 3;
	play_visit(&(struct fake_row){ "rank 3", "visit=1", "rank.allreduce_us" ONE "[100] | samples 2 | sums 12" });
}

TEST(a_ring_of_one_rank_has_no_later_windows)
{
	of = 1;
	play_visit(&(struct fake_row){ "alone", "visit=1", "samples 0 | sums 0" });
}

TEST(sizes_that_were_not_measured_have_no_later_windows)
{
	context->ctx.env.max_bytes = 2 * MIB;
	fake.free_bytes = 3 * MIB;
	play_visit(&(struct fake_row){ "no room", "visit=1", "rank.allreduce_us" ONE "[100] | samples 4" });
}

/* For probes with traffic of their own. */
TEST_LOOP(a_good_rings_communicator_stands, 0, 3)
{
	static const enum muster_profile profiles[] = { MUSTER_QUICK, MUSTER_STANDARD, MUSTER_FULL };
	struct muster_nccl_session s;
	context->ctx.env.profile = profiles[_i];
	context->ctx.env.rank = 17;
	ck_assert_int_eq(play(4, 2, 60000), 0);
	ck_assert_msg(muster_nccl_session_standing(&context->ctx, 700, &s, &err) == 0, "%s", err.text);
	ck_assert_ptr_eq(s.comm, &the_comm);
	ck_assert_int_eq(s.ring.rank, 2);
	ck_assert_int_eq(s.ring.timeout_ms, 700);
	ck_assert_double_eq_tol(s.deadline_ms - s.started_ms, 700, 1e-6);
	ck_assert_uint_ne(s.resources->data, 0);
	float values[] = { 3, 4 };
	ck_assert_msg(muster_nccl_agree(&s, values, 2, &err) == 0, "%s", err.text);
	if (profiles[_i] == MUSTER_QUICK) /* nothing asks there */
		return;
	ck_assert_int_eq(muster_nccl_rank_of_job(2), 17);
	ck_assert_int_eq(muster_nccl_rank_of_job(1), -1); /* the fake knows this rank alone */
	ck_assert_int_eq(muster_nccl_rank_of_job(4), -1);
	muster_nccl_resources_release();
	ck_assert_int_eq(fake.held, 0);
}

TEST(nothing_stands_after_a_failure)
{
	struct muster_nccl_session s;
	context->ctx.env.profile = MUSTER_STANDARD;
	ck_assert_int_eq(play(4, 2, 60000), 0);
	ck_assert_int_eq(muster_nccl_session_standing(&context->ctx, 700, &s, &err), 0);
	muster_fail(&err, MUSTER_ETIME, "too late");
	ck_assert_int_eq(muster_nccl_session_fail(&s, &err), -1);
	ck_assert_int_eq(the_comm.aborted, 1);
	ck_assert_int_eq(fake.held, 0);
	ck_assert_int_eq(muster_nccl_session_standing(&context->ctx, 700, &s, &err), -1);
	ck_assert_int_eq(err.code, MUSTER_ENOTSUPPORTED);
	fake_forget(context);
	context->ctx.env.profile = MUSTER_QUICK;
	ck_assert_msg(play(3, 1, 60000) == 0, "%s", err.text); /* another ring is possible, and has nothing to end */
	ck_assert_int_eq(the_comm.aborted, 1);
}

TEST(the_second_rings_transport_is_not_the_firsts)
{
	fake_log("w", AT "NET/IB : Using [0]mlx5_ib0:1/IB [RO]; OOB eth0:10.0.0.4<0>\n" AT
			 "Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA\n");
	ck_assert_int_eq(play(4, 0, 60000), 0);
	fake_forget(context);
	/* the second ring first notes how long the log is, and then adds to it: here that has to come before */
	ck_assert_msg(muster_nccl_resources_make(&context->ctx, &err) != NULL, "%s", err.text);
	leave_ring_before(&context->ctx, &scripted_nccl);
	fake_log("a", AT "Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM/read\n");
	ck_assert_int_eq(play(2, 0, 60000), 0);
	ck_assert_str_eq(fake_string(context, "rank.nccl_transport", NULL), "P2P/CUMEM");
	ck_assert_str_eq(fake_string(context, "rank.nccl_hcas", NULL), "mlx5_ib0:1");
}

/* The load before the ring tests the memory that is free: 8 GiB of it must not be muster's own. */
TEST(large_buffers_wait_for_the_ring)
{
	context->ctx.env.max_bytes = (uint64_t)512 << 20;
	ck_assert_uint_ne(muster_nccl_resources_make(&context->ctx, &err)->data, 0);
	muster_nccl_resources_release();
	context->ctx.env.max_bytes = (uint64_t)1 << 30;
	const struct muster_nccl_resources *made = muster_nccl_resources_make(&context->ctx, &err);
	ck_assert_uint_eq(made->data, 0);
	ck_assert_int_eq(muster_nccl_buffer_make(&context->ctx, false, &err), 0);
	ck_assert_uint_ne(made->data, 0);
	muster_nccl_resources_release();
}

/* A later ring's log says nothing of what was loaded before it, and the first ring's CollNet is not its own. */
TEST(the_second_rings_plugin_is_the_process_s)
{
	fake_log("w", AT "Plugin Path : /opt/hpcx/lib/libnccl-net.so\n" AT "Using network IBext_v8\n" AT
			 "rank 0 Connected CollNet\n" AT "8 nvls channels\n");
	ck_assert_int_eq(play(4, 1, 60000), 0);
	ck_assert_str_eq(fake_string(context, "rank.nccl_collnet", NULL), "used");
	ck_assert_str_eq(fake_reason(context, "rank.nccl_algo", NULL),
		"NCCL names algorithms only in the log of the ring's first rank");
	fake_forget(context);
	ck_assert_msg(muster_nccl_resources_make(&context->ctx, &err) != NULL, "%s", err.text);
	leave_ring_before(&context->ctx, &scripted_nccl);
	fake_log("a", AT "Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM/read\n");
	ck_assert_int_eq(play(2, 0, 60000), 0);
	ck_assert_str_eq(fake_string(context, "rank.nccl_plugin", NULL), "IBext_v8 /opt/hpcx/lib/libnccl-net.so");
	ck_assert_str_eq(fake_string(context, "rank.nccl_collnet", NULL), "loaded");
	ck_assert_ptr_nonnull(strstr(fake_reason(context, "rank.nccl_nvls", NULL), "no number of NVLS channels"));
	ck_assert_ptr_nonnull(strstr(fake_reason(context, "rank.nccl_algo", NULL), "NCCL before 2.20"));
}

static const struct {
	enum muster_profile profile;
	uint64_t low_mib, high_mib;
	const char *mib;
} ladders[] = {
	{ MUSTER_QUICK, 0, 0, "64" },
	{ MUSTER_STANDARD, 0, 0, "8 64 256 512" },
	{ MUSTER_FULL, 0, 0, "8 64 256 512 1024 2048 4096 8192" },
	{ MUSTER_STANDARD, 1, 16, "1 2 4 8 16" },
	{ MUSTER_STANDARD, 3, 16, "3 6 12" },
	{ MUSTER_STANDARD, 64, 64, "64" },
	{ MUSTER_STANDARD, 64, 0, "64 256 512" },
	{ MUSTER_STANDARD, 0, 100, "8 64" },
	{ MUSTER_QUICK, 256, 0, "256" },
	{ MUSTER_QUICK, 0, 4, "4" },
};

TEST_EACH(profile_and_bounds_make_the_ladder, ladders)
{
	uint64_t sizes[SIZES_MAX];
	char text[256] = "";
	struct muster_probe_env env = { .profile = ladders[_i].profile,
		.min_bytes = ladders[_i].low_mib * MIB,
		.max_bytes = ladders[_i].high_mib * MIB };
	size_t count = muster_nccl_sizes(&env, sizes);
	for (size_t i = 0; i < count; i++) {
		size_t used = strlen(text);
		snprintf(text + used, sizeof text - used, "%s%zu", i ? " " : "", (size_t)(sizes[i] / MIB));
	}
	ck_assert_str_eq(text, ladders[_i].mib);
}

TEST(the_ladder_is_bounded_and_of_whole_values)
{
	uint64_t sizes[SIZES_MAX];
	struct muster_probe_env env = { .min_bytes = 1, .max_bytes = UINT64_MAX };
	size_t count = muster_nccl_sizes(&env, sizes);
	ck_assert_uint_le(count, SIZES_MAX);
	for (size_t i = 0; i < count; i++)
		ck_assert_uint_eq(sizes[i] % sizeof(float), 0);
	ck_assert_uint_eq(sizes[0], sizeof(float));
}

TEST_LOOP(the_expected_sum_is_exact_for_many_ranks, 0, 4)
{
	static float tile[TILE_VALUES];
	static const int ranks[] = { 1, 61, 3661, 131072 };
	muster_nccl_data_expect(0, ranks[_i], tile);
	for (size_t place = 0; place < TILE_VALUES; place += 1021) {
		uint64_t sum = 0;
		for (int rank = 0; rank < ranks[_i]; rank++)
			sum += (uint64_t)(double)muster_nccl_data_value(rank, place);
		ck_assert_uint_lt(sum, 1 << 24);
		ck_assert_double_eq((double)tile[place], (double)sum);
	}
}

/* The places whose sum is that of the place so many values further on, of all that a tile has. */
static double share_alike(const float *tile, size_t shift)
{
	size_t alike = 0;
	for (size_t place = 0; place < TILE_VALUES; place++)
		alike += tile[place] == tile[(place + shift) % TILE_VALUES];
	return (double)alike / TILE_VALUES;
}

/* However many ranks there are and whatever chunks a library makes, a chunk at another's place is seen. */
TEST_LOOP(a_chunk_at_the_wrong_place_has_wrong_sums, 0, 11)
{
	static const int ranks[] = { 2, 8, 16, 60, 61, 122, 488, 976, 3660, 4096, 14884 };
	static float tile[TILE_VALUES];
	muster_nccl_data_expect(0, ranks[_i], tile);
	for (size_t shift = 1; shift <= (size_t)1 << 33; shift *= 2)
		ck_assert_msg(share_alike(tile, shift) < 0.1, "%d ranks, %zu values: %g", ranks[_i], shift,
			share_alike(tile, shift));
	for (int n = 2; n <= 1024; n++) { /* the n-th part of all sizes of the ladder, in whole lines of 128 bytes */
		size_t chunk = ((size_t)GIB / sizeof(float) / (size_t)n + 31) / 32 * 32;
		ck_assert_msg(share_alike(tile, chunk) < 0.1, "%d ranks, a part of %d: %g", ranks[_i], n,
			share_alike(tile, chunk));
	}
}

/* A rank whose data is taken twice, and another's not at all. */
TEST(no_two_ranks_have_the_same_data)
{
	static const int ranks[] = { 0, 1, 7, 60, 61, 122, 3659, 3660, 3661, 7320, 100000 };
	for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++)
		for (int step = 1; step <= 200000; step += step < 5000 ? 1 : 3660 - step % 3660 + (step % 7) * 61) {
			int differ = 0;
			for (size_t place = 0; place < 64; place++)
				differ += muster_nccl_data_value(ranks[i], place) !=
					  muster_nccl_data_value(ranks[i] + step, place);
			if (ranks[i] + step < 223260)
				ck_assert_msg(differ > 48, "ranks %d and %d: %d", ranks[i], ranks[i] + step, differ);
		}
}

TEST(each_step_after_a_failure_is_named)
{
	ck_assert_int_eq(play(4, 0, 60000), 0);
	fake_forget(context);
	nccl.never_connects = true;
	ck_assert_int_eq(play(4, 0, 50), -1);
	char *end = muster_asprintf("ncclCommAbort after: %s\nfreeing the buffers of NCCL's traffic\n", err.text);
	ck_assert_ptr_nonnull(strstr(context->steps, "ncclCommAbort of the previous communicator\n"));
	ck_assert_ptr_nonnull(strstr(context->steps, end));
	ck_assert_int_eq(the_comm.aborted, 2);
	free(end);
}

TEST_MAIN(.setup = set_up, .teardown = tear_down, .timeout = 200)
