/* SPDX-License-Identifier: Apache-2.0 */
/* test_traffic_participant.c - one rank in rounds of traffic: what its worker is told, what rank 0 hears, and the
 * outcome of each probe
 *
 * The rank is not the leader of its node. The leader's answers are scripted, and so is the worker.
 */
#include "check_main.h"
#include "one_rank.h"

#include "muster/report.h"

enum { END = 600000, LEADER = 4, RANK = 5, RANKS = 8 };

static struct muster_ring_place rounds[8]; /* OVER at the end; a later visit has its own */
static int answered;                       /* so many rounds are answered; then the leader is silent */
static const char *cancel;                 /* why each round of traffic is cancelled when it has begun; NULL */
static int pairs, all; /* the first probes with traffic of these shapes and without a ring, in the registry */

static void answer(struct recorder *to, const struct recorded *sent)
{
	struct muster_enter enter;
	struct muster_packer place = { 0 }, p = { 0 }, why = { 0 };
	if (sent->tag != MUSTER_TAG_ENTER)
		return;
	ck_assert(muster_unpack_enter(sent->bytes, sent->length, &enter));
	struct muster_barrier_id id = enter.barrier;
	if (id.kind == MUSTER_BARRIER_RING_ID) {
		answer_barrier(id, LEADER, MUSTER_TAG_RELEASE, "abcd", 4);
		return;
	}
	if (id.round >= answered)
		return;
	if (cancel && rounds[id.round].role == MUSTER_ROLE_TRAFFIC) {
		muster_pack_parts(&p, id);
		muster_pack_text(&why, cancel);
		muster_pack_part(&p, RANK, why.bytes, why.length);
		muster_packer_done(&why);
		recorder_deliver(to, LEADER, MUSTER_TAG_CANCEL_RANK, &p);
	}
	muster_pack_ring_place(&place, &rounds[id.round]);
	answer_barrier(id, LEADER, MUSTER_TAG_RELEASE, place.bytes, place.length);
	muster_packer_done(&place);
}

static int find_probe(enum muster_traffic_shape shape)
{
	int i = 0;
	while (!muster_probe_at((size_t)i)->traffic || muster_probe_at((size_t)i)->ring ||
		muster_probe_at((size_t)i)->traffic_shape != shape)
		i++;
	return i;
}

static struct muster_ring_place pair(int round)
{
	return (struct muster_ring_place){ .role = MUSTER_ROLE_TRAFFIC,
		.probe = pairs,
		.kind = MUSTER_TRAFFIC_KIND_RAIL,
		.traffic.peer = 3,
		.peer_rank = 7,
		.traffic.round = round,
		.traffic.rounds = 2,
		.deadline_ms = 10000 };
}

static struct muster_ring_place round_of_all(void)
{
	return (struct muster_ring_place){ .role = MUSTER_ROLE_TRAFFIC,
		.probe = all,
		.traffic.peer = -1,
		.peer_rank = -1,
		.traffic.rounds = 1,
		.deadline_ms = 30000 };
}

static void forget_rounds(void)
{
	for (int i = 0; i < LENGTH(rounds); i++)
		rounds[i] = (struct muster_ring_place){ .role = MUSTER_ROLE_OVER, .why = "" };
}

static void setup(void)
{
	one_rank_start(RANK, RANKS, END);
	options.profile = MUSTER_STANDARD;
	r.answer = answer;
	pairs = find_probe(MUSTER_TRAFFIC_PAIRS);
	all = find_probe(MUSTER_TRAFFIC_ALL);
	forget_rounds();
	rounds[0] = (struct muster_ring_place){
		.role = MUSTER_ROLE_MEMBER, .ring.rank = 2, .ring.ranks = 6, .ring.nodes = 3, .deadline_ms = 20000
	};
	answered = LENGTH(rounds);
	cancel = NULL;
	one_rank_join((const int[]){ LEADER, RANK }, 2);
	s.nodes = 4;
	muster_supervisor_start_worker(&s);
	muster_probe_runner_take(&s);
}

static const struct muster_outcome *outcome(int probe)
{
	return muster_outcomes_find(&s.facts.outcomes, muster_probe_at((size_t)probe)->name);
}

TEST(the_worker_is_told_the_round)
{
	static const char *const parts[] = { "\"kind\": \"rail\"", "\"peer\": 3", "\"round\": 1", "\"rounds\": 2",
		"\"timeout_ms\": 9000" };
	enum muster_phase ended;
	rounds[1] = pair(0);
	rounds[2] = (struct muster_ring_place){ .role = MUSTER_ROLE_WAITS };
	rounds[3] = pair(1);
	rounds[4] = round_of_all();
	muster_ring_participate(&s, 0);
	const char *told = command_number("traffic", 1);
	ck_assert_ptr_nonnull(told);
	ck_assert_ptr_nonnull(strstr(told, muster_probe_at((size_t)pairs)->name));
	for (int i = 0; i < LENGTH(parts); i++)
		ck_assert_msg(strstr(told, parts[i]) != NULL, "no %s in %s", parts[i], told);
	told = command_number("traffic", 2);
	ck_assert_ptr_nonnull(strstr(told, "\"kind\": \"all\""));
	ck_assert_ptr_nonnull(strstr(told, "\"peer\": -1"));
	ck_assert_ptr_null(command_number("traffic", 3));
	/* full reports around the ring, brief ones after traffic; the first of these ends the phase of the rings */
	ck_assert(!entered_with(0, &ended).brief);
	ck_assert(!entered_with(1, &ended).brief);
	ck_assert_int_eq(ended, MUSTER_PHASE_RING);
	for (int round = 2; round <= 5; round++) {
		struct muster_ring_ready said = entered_with(round, &ended);
		ck_assert(said.brief && said.can);
		ck_assert_int_eq(said.end, round == 3 ? MUSTER_RING_NONE : MUSTER_RING_OK);
		ck_assert_int_eq(ended, MUSTER_PHASE_NONE);
	}
	ck_assert_int_eq(outcome(pairs)->status, MUSTER_OUTCOME_OK);
	ck_assert_int_eq(outcome(pairs)->ring, 2);
	ck_assert_int_eq(outcome(pairs)->partner, 8);
	ck_assert_int_eq(outcome(all)->ring, 6);
	ck_assert_int_eq(outcome(all)->partner, 0);
}

static const struct {
	const char *line; /* as struct answer has it */
	enum muster_ring_end end;
	enum muster_outcome_status status;
	bool told, can;
} ends[] = {
	{ NULL, MUSTER_RING_CRASHED, MUSTER_OUTCOME_CRASHED, true, false },
	{ "", MUSTER_RING_HUNG, MUSTER_OUTCOME_HUNG, true, false },
	{ "{\"done\":{\"code\":\"vendor\",\"error\":\"ncclSend\"}}", MUSTER_RING_ERROR, MUSTER_OUTCOME_ERROR, true,
		true },
	{ "{\"done\":{\"code\":\"time\",\"error\":\"late\"}}", MUSTER_RING_LATE, MUSTER_OUTCOME_ERROR, false, true },
};

TEST_EACH(rank_0_hears_of_a_failure_at_once, ends)
{
	const struct answer answers[] = { { "traffic", ends[_i].line }, { NULL, NULL } };
	struct muster_ring_failed failed;
	enum muster_phase ended;
	script.answers = answers;
	rounds[1] = pair(0);
	rounds[2] = (struct muster_ring_place){ .role = MUSTER_ROLE_WAITS };
	rounds[3] = (struct muster_ring_place){ .role = MUSTER_ROLE_NO_TRAFFIC, .probe = all, .why = "all are needed" };
	muster_ring_participate(&s, 0);
	struct muster_ring_ready said = entered_with(2, &ended);
	ck_assert_int_eq(said.end, ends[_i].end);
	ck_assert_int_eq(said.can, ends[_i].can);
	ck_assert_str_ne(said.detail, "");
	ck_assert_int_eq(outcome(pairs)->status, ends[_i].status);
	ck_assert_int_eq(outcome(all)->status, MUSTER_OUTCOME_NOT_RUN);
	ck_assert_str_eq(outcome(all)->detail, "all are needed");
	ck_assert_int_eq(muster_outcomes_find(&s.facts.outcomes, "nccl_allreduce")->status, MUSTER_OUTCOME_OK);
	const struct recorded *sent = recorder_sent(&r, MUSTER_TAG_RING_FAILED, 0);
	ck_assert_int_eq(sent != NULL, ends[_i].told);
	if (!sent)
		return;
	ck_assert(muster_unpack_ring_failed(sent->bytes, sent->length, &failed));
	ck_assert_int_eq(failed.rank, RANK);
	ck_assert_int_eq(failed.ring.round, 1);
}

TEST(a_cancelled_round_is_no_failure_of_this_rank)
{
	const struct answer answers[] = { { "traffic", "" },
		{ "abort", "{\"done\":{\"code\":\"called_off\",\"error\":\"cancelled: rank 7 died\"}}" },
		{ NULL, NULL } };
	enum muster_phase ended;
	script.answers = answers;
	cancel = "rank 7 died";
	rounds[1] = pair(0);
	muster_ring_participate(&s, 0);
	ck_assert_ptr_nonnull(command("abort"));
	ck_assert_int_eq(entered_with(2, &ended).end, MUSTER_RING_CANCELLED);
	ck_assert_ptr_null(recorder_sent(&r, MUSTER_TAG_RING_FAILED, 0));
	ck_assert_uint_eq(script.started, 1);
}

/* The leader answers a rank that is too late; it must not take that for a place in a ring. */
TEST(a_rank_that_is_too_late_for_a_round_keeps_what_the_ring_showed)
{
	enum muster_phase ended;
	rounds[1] = pair(0);
	rounds[2] = (struct muster_ring_place){ .role = MUSTER_ROLE_EXCLUDED, .why = "the rank was too late" };
	muster_ring_participate(&s, 0);
	ck_assert_int_eq(muster_outcomes_find(&s.facts.outcomes, "nccl_allreduce")->status, MUSTER_OUTCOME_OK);
	ck_assert_int_eq(outcome(pairs)->status, MUSTER_OUTCOME_OK);
	ck_assert(!times_recorded(&s.record, "\"kept\""));
	ck_assert(entered_with(3, &ended).brief);
}

/* how the rings went → the outcome of a probe with traffic */
TEST_LOOP(every_probe_with_traffic_has_an_outcome, 0, 5)
{
	static const struct {
		enum muster_profile profile;
		struct muster_ring_place first, over;
		const char *detail; /* NULL: ok; "-": there is none */
		const char *of_all; /* where it differs for a probe whose rounds join all ranks */
	} cases[] = {
		{ MUSTER_STANDARD, { .role = MUSTER_ROLE_MEMBER, .ring.ranks = 1 }, { .why = "" }, NULL, NULL },
		{ MUSTER_STANDARD, { .role = MUSTER_ROLE_MEMBER, .ring.ranks = 1 }, { .why = "no ring" }, "no ring",
			NULL },
		{ MUSTER_STANDARD, { .role = MUSTER_ROLE_EXCLUDED, .why = "twice" }, { .why = "no ring" }, "twice",
			NULL },
		{ MUSTER_QUICK, { .role = MUSTER_ROLE_EXCLUDED, .why = "twice" }, { .why = "" }, "twice", "-" },
		{ MUSTER_QUICK, { .role = MUSTER_ROLE_MEMBER, .ring.ranks = 1 }, { .why = "" }, NULL, "-" },
	};
	options.profile = cases[_i].profile;
	rounds[0] = cases[_i].first;
	rounds[0].deadline_ms = 20000;
	rounds[1] = cases[_i].over;
	muster_ring_participate(&s, 0);
	for (int i = 0; i < 2; i++) {
		const struct muster_outcome *found = outcome(i ? all : pairs);
		const char *detail = i && cases[_i].of_all ? cases[_i].of_all : cases[_i].detail;
		ck_assert_int_eq(found == NULL, detail && strcmp(detail, "-") == 0);
		if (!found)
			continue;
		ck_assert_int_eq(found->status, detail ? MUSTER_OUTCOME_NOT_RUN : MUSTER_OUTCOME_OK);
		ck_assert_str_eq(found->detail ? found->detail : "", detail ? detail : "");
	}
}

TEST(a_rank_whose_leader_falls_silent_goes_on_without_traffic)
{
	rounds[1] = pair(0);
	answered = 2;
	muster_ring_participate(&s, 0);
	ck_assert_int_eq(outcome(pairs)->status, MUSTER_OUTCOME_OK);
	ck_assert_int_eq(outcome(all)->status, MUSTER_OUTCOME_NOT_RUN);
	ck_assert_str_eq(outcome(all)->detail, "no answer from rank 0");
	ck_assert_int_eq(muster_outcomes_find(&s.facts.outcomes, "nccl_allreduce")->status, MUSTER_OUTCOME_OK);
	/* a place that comes later is given back */
	struct muster_packer place = { 0 };
	muster_pack_ring_place(&place, &(struct muster_ring_place){ .role = MUSTER_ROLE_TRAFFIC, .traffic.rounds = 1 });
	answer_barrier(s.unanswered, LEADER, MUSTER_TAG_RELEASE, place.bytes, place.length);
	muster_packer_done(&place);
	muster_supervisor_receive(&s);
	ck_assert_ptr_nonnull(recorder_sent(&r, MUSTER_TAG_RING_FAILED, 0));
}

/* ring, traffic, trial, ring: the samples of the first ring and of the trial are dropped, those between them stay */
TEST(another_ring_drops_the_samples_of_the_ring_before_and_not_those_of_the_traffic)
{
	struct muster_worker_ops ops = worker_ops;
	ops.next_line = next_line_with_sample;
	s.worker.ops = &ops;
	rounds[1] = pair(0);
	rounds[2] = pair(1);
	rounds[3] = rounds[4] = rounds[0];
	rounds[3].ring.trial = true;
	muster_ring_participate(&s, 0);
	ck_assert_uint_eq(s.record.samples, 5);
	ck_assert_int_eq(times_recorded(&s.record, "\"kept\""), 2);
	ck_assert_int_eq(times_recorded(&s.record, "{\"kept\": 3, \"job\": false}"), 1);
	ck_assert_int_eq(times_recorded(&s.record, "{\"kept\": 0, \"until\": 1, \"job\": false}"), 1);
	s.worker.ops = &worker_ops;
}

/* ---- later visits ---- */

/* The first visit goes well, and the next one is about to begin. */
static void visit_first(void)
{
	rounds[1] = pair(0);
	rounds[2] = round_of_all();
	muster_ring_participate(&s, 0);
	recorder_clear(&r);
	forget_rounds();
}

static int ring_probe(void)
{
	int i = 0;
	while (!muster_probe_at((size_t)i)->ring)
		i++;
	return i;
}

TEST(a_later_visit_is_rounds_of_traffic_alone)
{
	enum muster_phase ended;
	visit_first();
	rounds[0] = round_of_all();
	rounds[0].probe = ring_probe();
	rounds[0].traffic.visit = 2;
	rounds[1] = pair(0);
	muster_ring_participate(&s, 2);
	struct muster_ring_ready said = entered_with(0, &ended);
	ck_assert(!said.brief && said.can);
	ck_assert_int_eq(ended, MUSTER_PHASE_NONE);
	ck_assert(entered_with(1, &ended).brief);
	ck_assert_int_eq(entered_with(1, &ended).end, MUSTER_RING_OK);
	ck_assert_ptr_null(command_number("ring", 1));
	ck_assert_ptr_nonnull(strstr(command_number("traffic", 2), "\"nccl_allreduce\""));
	ck_assert_ptr_nonnull(strstr(command_number("traffic", 2), "\"visit\": 2"));
	ck_assert_ptr_nonnull(command_number("traffic", 3));
	ck_assert_int_eq(outcome(ring_probe())->status, MUSTER_OUTCOME_OK);
	ck_assert_int_eq(outcome(ring_probe())->ring, 6);
}

/* What the first visit has measured is not taken back. The last one: the leader is silent. */
TEST_LOOP(what_does_not_run_in_a_later_visit_changes_no_outcome, 0, 3)
{
	visit_first();
	if (_i == 0)
		rounds[0] = (struct muster_ring_place){ .role = MUSTER_ROLE_NO_TRAFFIC, .probe = all, .why = "lost" };
	rounds[_i == 0].why = "no ring";
	answered = _i == 2 ? 0 : answered;
	muster_ring_participate(&s, 1);
	ck_assert_int_eq(outcome(pairs)->status, MUSTER_OUTCOME_OK);
	ck_assert_int_eq(outcome(all)->status, MUSTER_OUTCOME_OK);
	ck_assert_int_eq(outcome(ring_probe())->status, MUSTER_OUTCOME_OK);
	ck_assert_int_eq(s.unanswered.visit, _i == 2 ? 1 : 0);
}

/* The leader is silent in a later visit. */
TEST(a_rank_without_a_ring_keeps_the_reason)
{
	rounds[0] = (struct muster_ring_place){ .role = MUSTER_ROLE_EXCLUDED, .why = "its GPU is in use" };
	muster_ring_participate(&s, 0);
	answered = 0;
	muster_ring_participate(&s, 1);
	ck_assert_str_eq(outcome(ring_probe())->detail, "its GPU is in use");
}

TEST(a_crash_in_a_later_visit_is_told_as_any_other)
{
	const struct answer answers[] = { { "traffic", NULL }, { NULL, NULL } };
	struct muster_ring_failed failed;
	visit_first();
	script.answers = answers;
	rounds[0] = round_of_all();
	rounds[0].probe = ring_probe();
	muster_ring_participate(&s, 1);
	ck_assert_int_eq(outcome(ring_probe())->status, MUSTER_OUTCOME_CRASHED);
	const struct recorded *sent = recorder_sent(&r, MUSTER_TAG_RING_FAILED, 0);
	ck_assert(muster_unpack_ring_failed(sent->bytes, sent->length, &failed));
	ck_assert_int_eq(failed.ring.visit, 1);
}

/* Its communicator went with the worker that crashed in another probe. */
TEST(a_rank_whose_worker_was_replaced_between_visits_takes_no_part)
{
	visit_first();
	muster_probe_runner_again(&s);
	muster_ring_participate(&s, 1);
	struct muster_ring_ready said = entered_with(0, NULL);
	ck_assert(!said.can);
	ck_assert_str_eq(said.why, "the worker that was in the all-reduce has ended");
}

TEST_MAIN(.setup = setup, .teardown = one_rank_done)
