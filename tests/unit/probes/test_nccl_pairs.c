/* test_nccl_pairs.c - one rank of a pair against a scripted NCCL that plays the other one */
#include "probes/nccl/session.c"
#include "probes/nccl_pairs.c"
#include "kernel_fakes.h"
#include "nccl_fakes.h"
#include "check_main.h"
#include "probe_fake.h"

#include <limits.h>

#define OWN_RANK 5 /* of the job; number 3 of the ring */
#define PEER 7     /* number in the ring */

static struct {
	struct hello other;
	double fixed_us, us_per_mib; /* of one exchange */
	double slow_repeat;          /* the first timed exchanges take so many times as long; 0: they do not */
	double other_us[2];          /* what the other rank brings to the two agreements */
	size_t agreements;
	const void *send;
	size_t send_count;
	void *receive;
	int checked, timed;   /* exchanges so far */
	size_t timed_of_size; /* values of the last timed exchange */
	int wrong_round;      /* of this checked exchange `wrong` values are wrong; -1: of none */
	size_t wrong;
	int wrong_copies; /* of the first message */
	bool refuses;
} nccl;
static struct muster_error err;
static struct probe_fake *context;
static const struct hello own = { .rank = OWN_RANK };

static ncclResult_t fake_send(
	const void *send, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, cudaStream_t stream)
{
	ck_assert(comm == &the_comm && stream && type == ncclFloat32 && peer == PEER && the_comm.depth == 1);
	nccl.send = send;
	nccl.send_count = count;
	return nccl.refuses ? ncclInvalidUsage : ncclSuccess;
}

static ncclResult_t fake_receive(
	void *receive, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, cudaStream_t stream)
{
	ck_assert(comm == &the_comm && stream && type == ncclFloat32 && peer == PEER && the_comm.depth == 1);
	ck_assert_uint_eq(count, nccl.send_count);
	ck_assert_ptr_ne(receive, nccl.send);
	nccl.receive = receive;
	return ncclSuccess;
}

static void answer_hello(void)
{
	unsigned char *copies = nccl.receive;
	ck_assert_mem_eq(nccl.send, (const char *)nccl.send + sizeof(struct hello), 2 * sizeof(struct hello));
	ck_assert_int_eq(((const struct hello *)nccl.send)->rank, OWN_RANK);
	for (int i = 0; i < COPIES; i++) {
		memcpy(copies + (size_t)i * sizeof nccl.other, &nccl.other, sizeof nccl.other);
		if (i < nccl.wrong_copies)
			memset(copies + (size_t)i * sizeof nccl.other + offsetof(struct hello, node), 'x',
				sizeof nccl.other.node);
	}
}

/* Data of one checked exchange, both ways. */
static void answer_data(size_t bytes)
{
	const struct muster_pattern sent = { seed_of(&own, &nccl.other, nccl.checked), UINT64_MAX, 0, 0 };
	const struct muster_pattern comes = { seed_of(&nccl.other, &own, nccl.checked), UINT64_MAX, 0, 0 };
	uint64_t *words = nccl.receive;
	size_t other = 0;
	for (size_t i = 0; i < bytes / sizeof *words; i++) {
		other += ((const uint64_t *)nccl.send)[i] != muster_pattern_word(&sent, i);
		words[i] = muster_pattern_word(&comes, i);
	}
	ck_assert_uint_eq(other, 0);
	for (size_t i = 0; nccl.checked == nccl.wrong_round && i < nccl.wrong; i++)
		((uint32_t *)nccl.receive)[bytes / 4 - 1 - 3 * i] ^= 1u << 7;
	nccl.checked++;
}

static ncclResult_t fake_end(void)
{
	size_t bytes = nccl.send_count * sizeof(float);
	ck_assert_int_eq(--the_comm.depth, 0);
	if (nccl.refuses) /* there are no messages to answer */
		return ncclInvalidUsage;
	queued.to = NULL;
	double us = nccl.fixed_us + nccl.us_per_mib * (double)bytes / (double)MIB;
	bool timed = *(const uint64_t *)nccl.send == 0 || nccl.checked == 4;
	if (bytes == COPIES * sizeof(struct hello)) {
		answer_hello();
	} else if (bytes == COPIES * sizeof(double)) {
		ck_assert_uint_lt(nccl.agreements, 2);
		for (int i = 0; i < COPIES; i++)
			memcpy((double *)nccl.receive + i, &nccl.other_us[nccl.agreements], sizeof(double));
		nccl.agreements++;
	} else if (timed) {
		us *= nccl.slow_repeat > 0 && nccl.timed <= TIMED_MAX ? nccl.slow_repeat : 1;
		nccl.timed++;
		nccl.timed_of_size = nccl.send_count;
	} else {
		answer_data(bytes);
	}
	fake.now_ms += us / 1e3;
	return fake_take();
}

/* Resources with a buffer of so many bytes. */
static void stand(uint64_t bytes)
{
	context->ctx.env.min_bytes = context->ctx.env.max_bytes = bytes;
	const struct muster_nccl_resources *resources = muster_nccl_resources_make(&context->ctx, &err);
	ck_assert_msg(resources != NULL, "%s", err.text);
	standing = (struct muster_nccl_session){ .ctx = &context->ctx,
		.ring = { .rank = 3, .ranks = 16, .nodes = 2 },
		.resources = resources,
		.comm = &the_comm };
}

static void set_up(void)
{
	muster_nccl_resources_release();
	fake_gpu_reset();
	fake_kernels_add(&scripted_cuda);
	fake_nccl_reset();
	scripted_nccl.ncclGroupEnd = fake_end;
	scripted_nccl.ncclSend = fake_send;
	scripted_nccl.ncclRecv = fake_receive;
	context = fake_gpu_new(&muster_probe_nccl_pairs);
	context->ctx.env.rank = OWN_RANK;
	context->ctx.env.node_name = "gpu-1";
	context->ctx.env.profile = MUSTER_STANDARD;
	memset(&nccl, 0, sizeof nccl);
	nccl.other = (struct hello){ .rank = 12, .node = "gpu-4", .gpu = "000b:00:00.0", .room = 4 * MIB };
	nccl.fixed_us = 10;
	nccl.us_per_mib = 50;
	nccl.wrong_round = -1;
	err = (struct muster_error){ 0 };
	stand(4 * MIB);
}

static void tear_down(void)
{
	standing.comm = NULL;
	muster_nccl_resources_release();
	fake_free(context);
}

static int play(int timeout_ms)
{
	const struct muster_traffic round = { .kind = "rail", .peer = PEER, .rounds = 2, .timeout_ms = timeout_ms };
	return traffic(&context->ctx, &round, &err);
}

TEST(every_value_is_checked_and_both_sizes_are_timed)
{
	the_comm.pending_each = 2;
	ck_assert_msg(play(60000) == 0, "%s", err.text);
	ck_assert_int_eq(nccl.checked, 4);
	ck_assert_double_eq(fake_number(context, "pair.exchange_wrong", "rail"), 0);
	ck_assert_double_eq(fake_number(context, "pair.exchange_bytes", "rail"), 4 * MIB);
	ck_assert_double_eq_tol(fake_number(context, "pair.exchange_gbps", "rail"), 4 * 1048576 / 210e3, 1e-3);
	ck_assert_double_eq_tol(fake_number(context, "pair.exchange_us", "rail"), 10, 1e-3);
	ck_assert_uint_eq(nccl.timed_of_size, 2); /* 8 bytes */
	ck_assert_int_eq(the_comm.aborted, 0);
	static const char *const derived[] = { "pair.exchange_limit_gbps", "pair.exchange_usual_gbps", NULL };
	fake_complete(context, derived);
	fake_forget(context);
	nccl.checked = 0;
	nccl.agreements = 0;
	ck_assert_int_eq(play(60000), 0); /* the communicator stands for the next round */
}

TEST(labels_say_who_the_other_is_and_how_the_data_goes)
{
	fake_log("w", AT "NET/IB : Using [0]mlx5_ib0:1/IB [1]mlx5_ib1:1/IB [RO]; OOB eth0:10.0.0.4<0>\n" AT
			 "Channel 00/1 : 3[3] -> 7[4] [send] via NET/IB/1/GDRDMA\n");
	ck_assert_int_eq(play(60000), 0);
	const struct muster_sample *sample = fake_sample(context, "pair.exchange_gbps", "rail", NULL);
	ck_assert_str_eq(sample->labels[1].value.string, "gpu-4");
	ck_assert_str_eq(sample->labels[2].value.string, "000b:00:00.0");
	ck_assert_str_eq(sample->labels[3].value.string, "mlx5_ib1:1");
	ck_assert_str_eq(sample->labels[4].value.string, "NET/IB/GDRDMA");
}

TEST_LOOP(wrong_values_are_counted_in_each_checked_exchange, 0, 4)
{
	nccl.wrong_round = _i;
	nccl.wrong = 3;
	ck_assert_int_eq(play(60000), 0);
	ck_assert_double_eq(fake_number(context, "pair.exchange_wrong", "rail"), 3);
	ck_assert_double_gt(fake_number(context, "pair.exchange_gbps", "rail"), 0);
}

/* More than a kernel keeps. */
TEST(many_wrong_values_are_all_counted)
{
	nccl.wrong_round = 2;
	nccl.wrong = 1000;
	ck_assert_int_eq(play(60000), 0);
	ck_assert_double_eq(fake_number(context, "pair.exchange_wrong", "rail"), 1000);
}

TEST_LOOP(both_ranks_take_the_size_that_the_slower_one_can, 0, 5)
{
	static const struct {
		uint64_t room; /* of the other rank */
		double us[2];  /* the other's times of a small exchange and of a full one */
		double mib;
	} rows[] = {
		{ GIB, { 0, 0 }, 64 }, { 3 * MIB, { 0, 0 }, 3 },
		{ 4 * MIB, { 20000, 0 }, 2 },                       /* 4 MiB would take 80 ms */
		{ GIB, { 1e6, 0 }, 1 }, { 4 * MIB, { 0, 1e6 }, 4 }, /* known too late */
	};
	nccl.other.room = rows[_i].room;
	memcpy(nccl.other_us, rows[_i].us, sizeof nccl.other_us);
	ck_assert_msg(play(60000) == 0, "%s", err.text);
	double bytes = fake_number(context, "pair.exchange_bytes", "rail");
	ck_assert_double_eq_tol(bytes / (double)MIB, rows[_i].mib, 0.01);
}

TEST_LOOP(a_slow_exchange_is_timed_less_often, 0, 5)
{
	static const struct {
		double us;
		int timed; /* with a warm-up for each repeat; and the exchanges of 8 bytes */
	} rows[] = { { 0, 3 * 13 }, { 1000, 3 * 4 }, { 2999, 3 * 3 }, { 5000, 2 * 2 }, { 59000, 2 * 2 } };
	nccl.other_us[1] = rows[_i].us;
	ck_assert_int_eq(play(60000), 0);
	ck_assert_int_eq(nccl.timed, rows[_i].timed + 3 * 13);
}

TEST(the_best_repeat_counts)
{
	nccl.slow_repeat = 5; /* the first one's */
	ck_assert_int_eq(play(60000), 0);
	ck_assert_double_eq_tol(fake_number(context, "pair.exchange_gbps", "rail"), 4 * 1048576 / 210e3, 1e-3);
}

/* The size does not depend on --max-bytes: the rate is held against what the link can do. */
TEST(the_size_is_the_same_beside_small_all_reduces)
{
	tear_down();
	set_up();
	standing.comm = NULL;
	muster_nccl_resources_release();
	stand(4);
	ck_assert_msg(play(60000) == 0, "%s", err.text);
	ck_assert_double_eq(fake_number(context, "pair.exchange_bytes", "rail"), 4 * MIB);
}

TEST_LOOP(one_wrong_copy_of_the_first_message_is_outvoted, 0, 3)
{
	nccl.wrong_copies = _i;
	if (_i < 2) {
		ck_assert_msg(play(60000) == 0, "%s", err.text);
		ck_assert_str_eq(
			fake_sample(context, "pair.exchange_gbps", "rail", NULL)->labels[1].value.string, "gpu-4");
		return;
	}
	ck_assert_int_eq(play(60000), -1);
	ck_assert_ptr_nonnull(strstr(err.text, "its first message came wrong"));
}

TEST(a_peer_that_never_comes_costs_the_deadline_and_the_communicator)
{
	struct muster_nccl_session s;
	fake.stuck = true;
	ck_assert_int_eq(play(50), -1);
	ck_assert_int_eq(err.code, MUSTER_ETIME);
	ck_assert_str_eq(err.text, "exchange with number 7 of the ring: the first message, which connects the two did "
				   "not finish within 50 ms");
	ck_assert_int_eq(the_comm.aborted, 1);
	ck_assert_int_eq(context->given_up, 1);
	ck_assert_int_eq(fake.held, 0);
	ck_assert_int_eq(muster_nccl_session_standing(&context->ctx, 50, &s, &err), -1);
	ck_assert_int_eq(play(50), -1);
	ck_assert_int_eq(err.code, MUSTER_ENOTSUPPORTED);
	ck_assert_int_eq(the_comm.aborted, 1);
}

TEST(a_call_that_nccl_refuses_leaves_no_group_open)
{
	nccl.refuses = true;
	ck_assert_int_eq(play(60000), -1);
	ck_assert_str_eq(err.text, "exchange with number 7 of the ring: ncclSend: result 5");
	ck_assert_int_eq(the_comm.depth, 0);
	ck_assert_int_eq(the_comm.aborted, 1);
}

TEST(a_round_that_is_cancelled_ends_at_once)
{
	context->cancelled = "rank 12's worker crashed";
	fake.stuck = true;
	ck_assert_int_eq(play(60000), -1);
	ck_assert_int_eq(err.code, MUSTER_ECALLEDOFF);
	ck_assert_int_eq(the_comm.aborted, 1);
}

TEST(each_step_names_the_peer)
{
	ck_assert_int_eq(play(60000), 0);
	ck_assert_ptr_nonnull(strstr(context->steps, "first message to and from number 7 of the ring\n"
						     "2 checked exchanges of 1048592 B with rank 12 on gpu-4\n"
						     "2 checked exchanges of 4 MiB with rank 12 on gpu-4\n"
						     "3 times 12 timed exchanges of 4 MiB with rank 12 on gpu-4\n"
						     "3 times 12 timed exchanges of 8 B with rank 12 on gpu-4\n"));
}

TEST_MAIN(.setup = set_up, .teardown = tear_down, .timeout = 60)
