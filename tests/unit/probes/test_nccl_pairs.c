/* SPDX-License-Identifier: Apache-2.0 */
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
	double slow_window;          /* the first one's exchanges take so many times as long; 0: they do not */
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
	int refuses;      /* all exchanges after so many checked ones; -1: none */
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
	return nccl.checked == nccl.refuses ? ncclInvalidUsage : ncclSuccess;
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
	for (int i = 0; i < MUSTER_NCCL_COPIES; i++) {
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
	if (nccl.checked == nccl.refuses) /* there are no messages to answer */
		return ncclInvalidUsage;
	queued.to = NULL;
	double us = nccl.fixed_us + nccl.us_per_mib * (double)bytes / (double)MIB;
	bool timed = *(const uint64_t *)nccl.send == 0 || nccl.checked == 4;
	if (bytes == MUSTER_NCCL_COPIES * sizeof(struct hello)) {
		answer_hello();
	} else if (bytes == MUSTER_NCCL_COPIES * sizeof(double)) {
		ck_assert_uint_lt(nccl.agreements, 2);
		for (int i = 0; i < MUSTER_NCCL_COPIES; i++)
			memcpy((double *)nccl.receive + i, &nccl.other_us[nccl.agreements], sizeof(double));
		nccl.agreements++;
	} else if (timed) {
		us *= nccl.slow_window > 0 && nccl.timed <= MUSTER_WINDOW_OPERATIONS ? nccl.slow_window : 1;
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

static int round_ms;
static const char *log_text;

#define KNOB(field) FAKE_KNOB(#field, nccl.field)

static const struct fake_knob knobs[] = { FAKE_GPU_KNOBS, KNOB(slow_window), KNOB(checked), KNOB(timed),
	KNOB(timed_of_size), KNOB(agreements), KNOB(wrong_round), KNOB(wrong), KNOB(wrong_copies), KNOB(refuses),
	FAKE_KNOB("room", nccl.other.room), FAKE_KNOB("other_us", nccl.other_us[0]),
	FAKE_KNOB("other_full_us", nccl.other_us[1]), FAKE_KNOB("pending_each", the_comm.pending_each),
	FAKE_KNOB("aborted", the_comm.aborted), FAKE_KNOB("depth", the_comm.depth), FAKE_KNOB("timeout_ms", round_ms),
	FAKE_KNOB("log", log_text), { .name = NULL } };

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
	context->knobs = knobs;
	round_ms = 60000;
	log_text = NULL;
	context->ctx.env.rank = OWN_RANK;
	context->ctx.env.node_name = "gpu-1";
	context->ctx.env.profile = MUSTER_STANDARD;
	memset(&nccl, 0, sizeof nccl);
	free(known);
	known = NULL;
	known_count = 0;
	nccl.other = (struct hello){ .rank = 12, .node = "gpu-4", .gpu = "000b:00:00.0", .room = 4 * MIB };
	nccl.fixed_us = 10;
	nccl.us_per_mib = 50;
	nccl.wrong_round = nccl.refuses = -1;
	err = (struct muster_error){ 0 };
	stand(4 * MIB);
}

static void tear_down(void)
{
	standing.comm = NULL;
	muster_nccl_resources_release();
	fake_free(context);
}

static void play(const struct fake_row *row)
{
	fake_given(context, row->given);
	if (log_text)
		fake_log("w", log_text);
	const struct muster_traffic round = {
		.kind = "rail", .peer = PEER, .rounds = 2, .visit = context->ctx.env.visit, .timeout_ms = round_ms
	};
	context->result = traffic(&context->ctx, &round, &context->error);
	fake_expect(context, row->expected, row->name);
}

#define RATE "pair.exchange_gbps kind=rail [19.9728 19.9728 19.9728]"
#define WRONG(round, number)                                                                                           \
	{                                                                                                              \
		"wrong values are counted in each checked exchange", "wrong_round=" round " | wrong=" number,          \
			"pair.exchange_wrong kind=rail " number " | pair.exchange_gbps kind=rail >0"                   \
	}
/* A tolerance of 1 % of a MiB. */
#define SIZE(name, given, bytes)                                                                                       \
	{                                                                                                              \
		"both ranks take the size that the slower one can: " name, given,                                      \
			"pair.exchange_bytes kind=rail " bytes "~10486"                                                \
	}
/* With a warm-up for each size, and 3 x 7 exchanges of 8 bytes. */
#define TIMED(us, timed)                                                                                               \
	{                                                                                                              \
		"a slow exchange is timed less often", "other_full_us=" us, "timed " timed                             \
	}
#define EXCHANGE "exchange with number 7 of the ring: "
#define WITH "with rank 12 on gpu-4"

static const struct fake_row rows[] = {
	{ "every value is checked and both sizes are timed, the last one 8 bytes", "pending_each=2",
		"checked 4 | pair.exchange_wrong kind=rail 0 | pair.exchange_bytes kind=rail 4194304 | " RATE
		" | pair.exchange_us kind=rail [10 10 10] | timed_of_size 2 | aborted 0" },
	{ "labels say who the other is and how the data goes",
		"log=" AT "NET/IB : Using [0]mlx5_ib0:1/IB [1]mlx5_ib1:1/IB [RO]; OOB eth0:10.0.0.4<0>\n" AT
		"Channel 00/1 : 3[3] -> 7[4] [send] via NET/IB/1/GDRDMA\n",
		"pair.exchange_gbps kind=rail peer_node=gpu-4 peer_gpu=000b:00:00.0 nic=mlx5_ib1:1 "
		"transport=NET/IB/GDRDMA >0 | pair.channels kind=rail -NCCL's log does not say" },
	{ "the channels are those of the log",
		"log=" AT
		"16 coll channels, 0 collnet channels, 0 nvls channels, 16 p2p channels, 2 p2p channels per peer\n",
		"pair.channels kind=rail 2" },
	WRONG("0", "3"),
	WRONG("1", "3"),
	WRONG("2", "3"),
	WRONG("3", "3"),
	WRONG("2", "1000"), /* more than a kernel keeps */
	SIZE("much room", "room=1073741824", "67108864"),
	SIZE("little room", "room=3145728", "3145728"),
	SIZE("4 MiB would take 80 ms", "other_us=20000", "2097152"),
	SIZE("the least", "room=1073741824 | other_us=1e6", "1048576"),
	SIZE("known too late", "other_full_us=1e6", "4194304"),
	TIMED("0", "32"),
	TIMED("9999", "32"),
	TIMED("10000", "26"),
	TIMED("66000", "26"),
	TIMED("67000", "24"),
	{ "the best window counts", "slow_window=5",
		"pair.exchange_gbps kind=rail [3.99457 19.9728 19.9728] | pair.exchange_gbps kind=rail 19.9728~1e-3" },
	{ "the first message", "wrong_copies=0", "pair.exchange_gbps kind=rail peer_node=gpu-4 >0" },
	{ "one wrong copy of the first message is outvoted", "wrong_copies=1",
		"pair.exchange_gbps kind=rail peer_node=gpu-4 >0" },
	{ "two are not", "wrong_copies=2", "error '*its first message came wrong*" },
	{ "a call that NCCL refuses leaves no group open", "refuses=0",
		"error '" EXCHANGE "ncclSend: result 5 | depth 0 | aborted 1" },
	{ "wrong values count where a later exchange fails", "wrong_round=0 | wrong=3 | refuses=2",
		"error '?* | pair.exchange_wrong kind=rail peer_node=gpu-4 transport=unknown 3 | "
		"pair.exchange_gbps #0" },
	{ "a round that is cancelled ends at once", "cancelled=rank 12's worker crashed | stuck=1",
		"error '?* | code 'called_off | aborted 1" },
	{ "each step names the peer", NULL,
		"steps '*first message to and from number 7 of the ring; 2 checked exchanges of 1048592 B " WITH
		"; 2 checked exchanges of 4 MiB " WITH "; timed exchanges of 4 MiB " WITH
		"; timed exchanges of 8 B " WITH "*" },
};

TEST_EACH(two_ranks_exchange_data, rows)
{
	play(&rows[_i]);
}

TEST(the_communicator_stands_for_the_next_round)
{
	static const char *const derived[] = { "pair.exchange_limit_gbps", "pair.exchange_usual_gbps",
		"rank.slow_windows", NULL };
	play(&rows[0]);
	fake_complete(context, derived);
	fake_forget(context);
	nccl.checked = 0;
	nccl.agreements = 0;
	play(&rows[0]);
}

/* Of the first visit's size, though the other rank says that it has more room now. */
TEST_LOOP(a_later_visit_yields_windows_alone, 1, 1 + MUSTER_VISITS)
{
	play(&(struct fake_row){ "first", "room=3145728", "pair.exchange_bytes kind=rail 3145728" });
	fake_forget(context);
	context->ctx.env.visit = _i;
	play(&(struct fake_row){ "later", "room=4194304",
		"samples 2 | pair.exchange_gbps kind=rail peer_node=gpu-4 [19.6608 19.6608 19.6608] | "
		"pair.exchange_us kind=rail [10 10 10] | checked 4 | agreements 2 | timed 64 | steps "
		"'first message to and from number 7 of the ring; timed exchanges of 3 MiB " WITH
		"; timed exchanges of 8 B " WITH "*" });
}

TEST(in_quick_less_is_checked_and_nothing_is_timed_of_8_bytes)
{
	static const struct fake_row row = { "quick", "pending_each=2",
		"checked 2 | pair.exchange_wrong kind=rail 0 | pair.exchange_bytes kind=rail 4194304 | "
		"pair.exchange_gbps kind=rail [19.9728] | aborted 0" };
	context->ctx.env.profile = MUSTER_QUICK;
	play(&row);
	ck_assert_uint_eq(fake_count(context, "pair.exchange_us"), 0);
}

TEST(in_quick_a_slow_pair_sends_little)
{
	static const struct fake_row row = { "sockets", "room=1073741824 | other_us=700",
		"pair.exchange_bytes kind=rail 4194304~1048576" };
	context->ctx.env.profile = MUSTER_QUICK;
	play(&row);
}

TEST(a_pair_that_did_not_meet_before_has_no_later_visit)
{
	play(&(struct fake_row){ "never met", "forget | visit=1", "samples 0 | timed 0 | steps '" });
}

/* The size does not depend on --max-bytes: the rate is held against what the link can do. */
TEST(the_size_is_the_same_beside_small_all_reduces)
{
	tear_down();
	set_up();
	standing.comm = NULL;
	muster_nccl_resources_release();
	stand(4);
	play(&(struct fake_row){ "small all-reduces", NULL, "pair.exchange_bytes kind=rail 4194304" });
}

TEST(a_peer_that_never_comes_costs_the_deadline_and_the_communicator)
{
	struct muster_nccl_session s;
	play(&(struct fake_row){ "no peer", "stuck=1 | timeout_ms=50",
		"error '" EXCHANGE
		"the first message, which connects the two did not finish within 50 ms | code 'time | "
		"aborted 1 | given_up 1 | held 0" });
	ck_assert_int_eq(muster_nccl_session_standing(&context->ctx, 50, &s, &err), -1);
	play(&(struct fake_row){ "no communicator", NULL, "error '?* | code 'notsupported | aborted 1" });
}

TEST_MAIN(.setup = set_up, .teardown = tear_down, .timeout = 200)
