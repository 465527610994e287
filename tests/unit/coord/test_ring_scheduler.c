/* SPDX-License-Identifier: Apache-2.0 */
/* test_ring_scheduler.c - which ranks share a ring in the next round, for how long, and what the report hears of trials
 *
 * Nodes have one rank each. A round is a barrier that all ranks have entered; the answer to rank 0 tells its place.
 */
#include "check_main.h"
#include "muster/run_data.h"
#include "scheduler_fixture.h"

#include <math.h>

static char said[200];
/* the answer to rank 0, with what place.why points to */
static struct muster_ring_place place;
static char why[200];

static void say(void *arg, const char *text)
{
	(void)arg;
	snprintf(said, sizeof said, "%s", text);
}

static void start(int nodes, double scale)
{
	*said = '\0';
	job_start(nodes, 1, scale);
	context.say = say;
	scheduler_start();
}

/* The last message to rank 0 becomes `place`. */
static void read_answer(void)
{
	struct muster_message message;
	struct muster_parts parts;
	struct muster_bytes bytes;
	int rank;
	ck_assert(muster_transport_receive(context.transport, &message));
	ck_assert_int_eq(message.tag, MUSTER_TAG_SCATTER);
	ck_assert(muster_unpack_parts(message.bytes, message.length, &parts));
	ck_assert(muster_unpack_part(&parts, &rank, &bytes) && rank == 0);
	ck_assert(muster_unpack_ring_place(bytes.bytes, bytes.length, &place));
	snprintf(why, sizeof why, "%s", place.why);
	muster_message_done(&message);
}

/* All ranks enter the next round with `ready`. */
static void play_round(double now_ms)
{
	struct muster_barrier_entry *entries = calloc((size_t)ranks, sizeof *entries);
	struct muster_barrier barrier = {
		.id = { MUSTER_BARRIER_RING, probe_index, scheduler->round + 1, 0 },
		.complete = true,
		.entered = (size_t)ranks,
		.entries = entries,
	};
	ck_assert_ptr_nonnull(entries);
	for (int rank = 0; rank < ranks; rank++) {
		struct muster_packer p = { 0 };
		muster_pack_parts(&p, barrier.id);
		add_part(&p, rank);
		entries[rank] = (struct muster_barrier_entry){ .here = true, .bytes = p.bytes, .length = p.length };
	}
	muster_ring_scheduler_complete(scheduler, &barrier, now_ms);
	for (int rank = 0; rank < ranks; rank++)
		free(entries[rank].bytes);
	free(entries);
	read_answer();
}

/* How the last ring ended, for every rank. */
static void all_ended(enum muster_ring_end end, double seconds)
{
	for (int rank = 0; rank < ranks; rank++) {
		ready[rank].end = end;
		ready[rank].seconds = seconds;
		ready[rank].detail = end == MUSTER_RING_OK ? "" : "remote error";
	}
}

/* The same, and the rounds of traffic that follow the rings of several nodes. The first ring begins, and goes on. */
static void play(double now_ms)
{
	do
		play_round(now_ms);
	while (place.role == MUSTER_ROLE_TRAFFIC || place.role == MUSTER_ROLE_NO_TRAFFIC ||
		place.role == MUSTER_ROLE_WAITS);
	if (place.role != MUSTER_ROLE_MEMBER || place.ring.part != MUSTER_RING_BEGIN)
		return;
	all_ended(MUSTER_RING_OK, 0);
	play_round(now_ms);
	ck_assert_int_eq(place.ring.part, MUSTER_RING_REST);
}

/* A full ring, and then trials because it failed. */
static void fail_full_ring(void)
{
	play(0);
	ck_assert_int_eq(place.role, MUSTER_ROLE_MEMBER);
	ck_assert(!place.ring.trial);
	ck_assert_int_eq(place.ring.ranks, ranks);
	all_ended(MUSTER_RING_REMOTE, 1);
	play(1000);
	ck_assert_str_eq(said, ranks == 1 ? "" : "localisation all-reduces: 4");
	ck_assert(place.ring.trial);
	ck_assert_int_eq(place.ring.ranks, 1);
	ck_assert_int_eq(place.deadline_ms, (int)deadlines.trial);
}

TEST(a_round_after_slow_trials_gets_more_than_the_usual_ten_seconds)
{
	start(4, 1);
	fail_full_ring();
	all_ended(MUSTER_RING_OK, 5);
	play(6000); /* four times 5 s, and a second more than the workers */
	ck_assert(place.ring.trial);
	ck_assert_int_eq(place.ring.ranks, 2);
	ck_assert_int_eq(place.deadline_ms, 21000);
	all_ended(MUSTER_RING_OK, 0.5); /* the slowest one counts */
	play(7000);
	ck_assert(place.ring.trial);
	ck_assert_int_eq(place.deadline_ms, 21000);
}

TEST_LOOP(a_round_that_slow_trials_leave_no_time_for_is_not_begun, 0, 2)
{
	start(4, 1);
	fail_full_ring();
	all_ended(MUSTER_RING_OK, 5);
	play(LIMIT_MS - deadlines.last_ring - (_i ? 21000 : 20999));
	ck_assert_int_eq(place.role, _i ? MUSTER_ROLE_MEMBER : MUSTER_ROLE_OVER);
	ck_assert(place.ring.trial == (_i == 1));
}

/* The report has full time whatever the scale: 1.8 s of 2 s at a scale of 0.2 are 9 s of 10, which is enough to count
 * as a failure of trials that ran out of time when none passed. */
TEST_LOOP(trials_are_reported_in_full_time, 0, 2)
{
	static const double scales[] = { 1, 0.2 };
	double scale = scales[_i];
	start(4, scale);
	fail_full_ring();
	all_ended(MUSTER_RING_LATE, 9 * scale);
	play(11000);
	ck_assert_uint_eq(run.trial_count, 4);
	for (size_t i = 0; i < 4; i++) {
		ck_assert_int_eq(run.trials[i].status, MUSTER_TRIAL_LATE);
		ck_assert_double_eq_tol(run.trials[i].seconds, 9, 1e-9);
		ck_assert_int_eq(run.trials[i].kind, MUSTER_TRIAL_ALONE);
		ck_assert_str_eq(run.trials[i].nodes[0], members.names[i]);
	}
	ck_assert_str_eq(run.trials[2].why, "rank 2: remote error");
	/* all of them failed: no ring of other nodes is left to try */
	ck_assert_int_eq(place.role, MUSTER_ROLE_OVER);
}

TEST(trials_that_had_too_little_time_are_tried_again)
{
	start(4, 0.2);
	fail_full_ring();
	all_ended(MUSTER_RING_LATE, 8.9 * 0.2);
	play(11000);
	ck_assert_int_eq(place.role, MUSTER_ROLE_MEMBER);
	ck_assert(place.ring.trial);
	ck_assert_int_eq(place.ring.ranks, 1);
}

TEST_LOOP(the_nodes_that_failed_alone_are_not_in_the_last_ring, 0, 4)
{
	start(4, 1);
	fail_full_ring();
	all_ended(MUSTER_RING_OK, 1);
	ready[_i].end = MUSTER_RING_ERROR;
	play(3000);
	while (place.ring.trial || place.role == MUSTER_ROLE_IDLE) {
		all_ended(MUSTER_RING_OK, 1);
		play(4000);
	}
	ck_assert_str_eq(said, "an all-reduce of the remaining 3 nodes");
	ck_assert_int_eq(place.role, _i == 0 ? MUSTER_ROLE_EXCLUDED : MUSTER_ROLE_MEMBER);
	ck_assert_int_eq(place.ring.ranks, _i == 0 ? 0 : 3);
	ck_assert_str_eq(why, _i == 0 ? "excluded from the last all-reduce, which fails with this node" : "");
	all_ended(MUSTER_RING_OK, 1);
	play(5000);
	ck_assert_int_eq(place.role, MUSTER_ROLE_OVER);
}

/* The ring of those that are left is in the report, at the size of the trials, and when it fails its nodes are tried
 * again. */
TEST_LOOP(the_last_ring_is_evidence, 0, 2)
{
	static const struct muster_ring_figure trial[] = { { 4096, 80 } },
					       full[] = { { 1024, 40 }, { 4096, 70 }, { 8192, 90 } };
	start(3, 1);
	play(0);
	all_ended(MUSTER_RING_REMOTE, 1);
	play(1000);
	all_ended(MUSTER_RING_OK, 1);
	ready[2].end = MUSTER_RING_ERROR;
	ready[0].figures = ready[1].figures = trial;
	ready[0].figure_count = ready[1].figure_count = 1;
	play(2000);
	ck_assert_str_eq(said, "an all-reduce of the remaining 2 nodes");
	ck_assert_double_eq(run.trials[0].bytes, 4096);
	ck_assert_uint_eq(run.trial_count, 3);
	all_ended(_i ? MUSTER_RING_REMOTE : MUSTER_RING_OK, 20);
	ready[0].figures = full;
	ready[0].figure_count = _i ? 0 : 3;
	play(3000);
	ck_assert_uint_eq(run.trial_count, 4);
	const struct muster_trial *rest = &run.trials[3];
	ck_assert_int_eq(rest->kind, MUSTER_TRIAL_REST);
	ck_assert_int_eq(rest->status, _i ? MUSTER_TRIAL_FAILED : MUSTER_TRIAL_OK);
	ck_assert_uint_eq(rest->node_count, 2);
	ck_assert_str_eq(rest->nodes[0], "n0");
	ck_assert_str_eq(rest->nodes[1], "n1");
	ck_assert_double_eq(rest->bytes, _i ? 0 : 4096);
	ck_assert_double_eq(rest->busbw_gbps, _i ? 0 : 70);
	ck_assert_double_eq(rest->seconds, 20);
	ck_assert_int_eq(place.role, MUSTER_ROLE_OVER);
}

TEST(a_ring_is_repeated_without_the_rank_that_crashed)
{
	start(4, 1);
	play(0);
	all_ended(MUSTER_RING_CANCELLED, 1);
	ready[3].end = MUSTER_RING_CRASHED;
	ready[3].can = false;
	ready[3].why = "signal 11";
	play(1000);
	ck_assert_int_eq(place.role, MUSTER_ROLE_MEMBER);
	ck_assert(!place.ring.trial);
	ck_assert_int_eq(place.ring.ranks, 3);
	ck_assert_int_eq(place.ring.nodes, 3);
	ck_assert_str_eq(said, "the all-reduce of 4 ranks failed: rank 3: remote error");
}

TEST_LOOP(trials_are_reported_with_their_end_and_their_rate, 0, 6)
{
	static const struct muster_ring_figure figures[] = { { 1024, 40 }, { 4096, 80 } };
	static const struct {
		enum muster_ring_end end;
		enum muster_trial_status status;
	} cases[] = {
		{ MUSTER_RING_OK, MUSTER_TRIAL_OK },
		{ MUSTER_RING_LATE, MUSTER_TRIAL_LATE },
		{ MUSTER_RING_CANCELLED, MUSTER_TRIAL_LATE },
		{ MUSTER_RING_REMOTE, MUSTER_TRIAL_FAILED },
		{ MUSTER_RING_ERROR, MUSTER_TRIAL_FAILED },
		{ MUSTER_RING_CRASHED, MUSTER_TRIAL_FAILED },
	};
	start(4, 1);
	fail_full_ring();
	all_ended(MUSTER_RING_OK, 9);
	ready[2].end = cases[_i].end;
	ready[2].figures = ready[1].figures = figures;
	ready[1].figure_count = 2;
	ready[2].figure_count = cases[_i].end == MUSTER_RING_OK ? 1 : 0;
	play(11000);
	ck_assert_uint_eq(run.trial_count, 4);
	ck_assert_int_eq(run.trials[2].status, cases[_i].status);
	ck_assert_double_eq(run.trials[2].busbw_gbps, cases[_i].end == MUSTER_RING_OK ? 40 : 0);
	ck_assert_int_eq(run.trials[1].status, MUSTER_TRIAL_OK);
	ck_assert_double_eq(run.trials[1].busbw_gbps, 80); /* of the largest message */
	ck_assert_ptr_null(run.trials[1].why);
}

/* Of an odd number of nodes one is in no pair. */
TEST_LOOP(a_node_that_is_idle_is_in_no_trial, 0, 2)
{
	start(3 + 2 * _i, 1);
	play(0);
	all_ended(MUSTER_RING_REMOTE, 1);
	play(1000);
	while (place.ring.trial || place.role == MUSTER_ROLE_IDLE) {
		size_t before = run.trial_count;
		int idle = 0;
		all_ended(MUSTER_RING_OK, 1);
		for (int rank = 0; rank < ranks; rank++)
			idle += scheduler->group[rank] < 0;
		play(2000);
		for (size_t i = before; i < run.trial_count; i++) {
			const struct muster_trial *trial = &run.trials[i];
			ck_assert_uint_ge(trial->node_count, 1);
			idle += (int)trial->node_count;
			for (size_t j = 0; j < trial->node_count; j++)
				for (size_t k = 0; k < j; k++)
					ck_assert_str_ne(trial->nodes[j], trial->nodes[k]);
		}
		ck_assert_int_eq(idle, ranks);
	}
	ck_assert_uint_gt(run.trial_count, (size_t)ranks);
}

/* ---- rings that have failed ---- */

/* The part for this rank of the last message with this tag; "-": there is none. */
static const char *told(enum muster_tag tag, int rank)
{
	const char *found = "-", *text;
	for (int i = 0; i < r.count; i++) {
		struct muster_parts parts;
		struct muster_bytes bytes;
		int to;
		if (r.sent[i].tag != (int)tag)
			continue;
		ck_assert(muster_unpack_parts(r.sent[i].bytes, r.sent[i].length, &parts));
		while (muster_unpack_part(&parts, &to, &bytes))
			if (to == rank && muster_unpack_text(bytes.bytes, bytes.length, &text))
				found = text;
	}
	return found;
}

/* What rank 0, a rank itself, is told. */
static const char *told_rank_0(enum muster_tag tag)
{
	struct muster_message message;
	while (muster_transport_receive(&r.transport, &message))
		r.sent[r.count++] = (struct recorded){ 0, message.tag, message.bytes, message.length };
	return told(tag, 0);
}

static void ring_failed(int rank, int round)
{
	muster_ring_scheduler_failed(
		scheduler, &(struct muster_ring_failed){
				   { MUSTER_BARRIER_RING, probe_index, round, 0 }, rank, "the worker crashed" });
}

TEST(a_failed_ring_is_cancelled_once_for_its_other_ranks)
{
	start(4, 1);
	play(0);
	ring_failed(2, scheduler->round);
	ck_assert_str_eq(told_rank_0(MUSTER_TAG_CANCEL), "the worker crashed");
	ck_assert_str_eq(told(MUSTER_TAG_CANCEL, 1), "the worker crashed");
	ck_assert_str_eq(told(MUSTER_TAG_CANCEL, 2), "-");
	ck_assert_str_eq(told(MUSTER_TAG_CANCEL, 3), "the worker crashed");
	int before = r.count;
	ring_failed(3, scheduler->round);
	ck_assert_int_eq(r.count, before);
}

TEST(a_failure_that_comes_too_late_cancels_nothing)
{
	start(4, 1);
	play(0);
	int before = r.count;
	ring_failed(2, scheduler->round + 1);
	ring_failed(4, scheduler->round); /* there is no such rank */
	ck_assert_int_eq(r.count, before);
	all_ended(MUSTER_RING_OK, 1);
	play(1000);
	ck_assert_int_eq(place.role, MUSTER_ROLE_OVER);
	before = r.count;
	ring_failed(2, scheduler->round); /* the last round */
	muster_ring_scheduler_lost_node(scheduler, 2, "dead");
	ck_assert_int_eq(r.count, before);
}

/* Of a ring that has begun, 2 of 4 ranks are as the row says when it would go on. */
static const struct {
	enum muster_ring_end others, end; /* of the other two, and of these */
	bool can;
	enum muster_ring_part part; /* of the round that follows */
	int ranks;
	const char *said;
} begun[] = {
	{ MUSTER_RING_OK, MUSTER_RING_OK, true, MUSTER_RING_REST, 4, "" },
	/* their workers have died in the copies, once or for good: what has begun is of no use */
	{ MUSTER_RING_OK, MUSTER_RING_NONE, true, MUSTER_RING_WHOLE, 4, "" },
	{ MUSTER_RING_OK, MUSTER_RING_NONE, false, MUSTER_RING_WHOLE, 2, "" },
	{ MUSTER_RING_OK, MUSTER_RING_CANCELLED, true, MUSTER_RING_WHOLE, 4, "" },
	/* NCCL reports the end of these workers to the ranks that were still making the communicator */
	{ MUSTER_RING_REMOTE, MUSTER_RING_NONE, true, MUSTER_RING_WHOLE, 4, "" },
	{ MUSTER_RING_ERROR, MUSTER_RING_NONE, false, MUSTER_RING_WHOLE, 2, "" },
	{ MUSTER_RING_OK, MUSTER_RING_HUNG, false, MUSTER_RING_WHOLE, 2,
		"the all-reduce of 4 ranks failed: rank 2: in the start" },
	/* as a whole ring that fails */
	{ MUSTER_RING_OK, MUSTER_RING_ERROR, true, MUSTER_RING_WHOLE, 1, "localisation all-reduces: 4" },
};

TEST_EACH(a_ring_that_has_begun_goes_on_with_the_same_ranks_or_not_at_all, begun)
{
	start(4, 1);
	play_round(0);
	ck_assert_int_eq(place.ring.part, MUSTER_RING_BEGIN);
	all_ended(begun[_i].others, 0);
	for (int rank = 2; rank < 4; rank++) {
		ready[rank].end = begun[_i].end;
		ready[rank].can = begun[_i].can;
		ready[rank].why = "worker gone";
		ready[rank].detail = "in the start";
	}
	play_round(1000);
	ck_assert_int_eq(place.role, MUSTER_ROLE_MEMBER);
	ck_assert_int_eq(place.ring.part, begun[_i].part);
	ck_assert_int_eq(place.ring.ranks, begun[_i].ranks);
	ck_assert_str_eq(said, begun[_i].said);
}

/* _i: of the first one, the beginning fails, or the rest */
TEST_LOOP(a_ring_that_begins_anew_has_the_node_that_was_late_for_the_first_one, 0, 2)
{
	start(4, 1);
	ready[3].can = false;
	ready[3].why = "too late";
	play_round(0);
	ck_assert_int_eq(place.ring.ranks, 3);
	all_ended(MUSTER_RING_OK, 0);
	ready[3].end = MUSTER_RING_NONE;
	ready[3].can = true;
	if (_i)
		play_round(500);
	ready[2].end = _i ? MUSTER_RING_CRASHED : MUSTER_RING_NONE;
	play_round(1000);
	ck_assert_int_eq(place.ring.part, MUSTER_RING_WHOLE);
	ck_assert_int_eq(place.ring.ranks, 4);
}

/* _i: before the first ring, in the first ring, in trials of one node each */
TEST_LOOP(a_dead_leader_fails_the_ring_of_its_ranks, 0, 3)
{
	start(4, 1);
	if (_i == 1)
		play(0);
	if (_i == 2)
		fail_full_ring();
	recorder_clear(&r);
	muster_ring_scheduler_lost_node(scheduler, 3, "no further message from rank 3");
	ck_assert_str_eq(told_rank_0(MUSTER_TAG_CANCEL), _i == 1 ? "no further message from rank 3" : "-");
	ck_assert_str_eq(told(MUSTER_TAG_CANCEL, 1), _i == 1 ? "no further message from rank 3" : "-");
}

/* ---- time ---- */

TEST(without_localisation_a_ring_has_its_full_deadline)
{
	start(4, 1);
	context.localise = MUSTER_LOCALISE_OFF;
	play(LIMIT_MS - deadlines.last_ring - 1000); /* no other ring follows that it could take the time from */
	ck_assert_int_eq(place.deadline_ms, scheduler->probe->deadline_ms + 4 * 10);
}

static const struct {
	double left_ms;         /* for rings */
	int nodes, deadline_ms; /* 0: that of the probe; -1: there is no ring */
} first_rings[] = {
	{ 500000, 4, 0 },
	{ 10000, 4, 6000 },
	{ 10000, 1, 0 }, /* no trials can follow */
	{ 2000, 4, 1200 },
	{ 1999, 4, -1 },
};

TEST_EACH(a_first_ring_leaves_time_for_trials, first_rings)
{
	start(first_rings[_i].nodes, 1);
	play(LIMIT_MS - deadlines.last_ring - first_rings[_i].left_ms);
	int wanted = first_rings[_i].deadline_ms, own = scheduler->probe->deadline_ms + first_rings[_i].nodes * 10;
	ck_assert_int_eq(place.deadline_ms, wanted == 0 ? own : wanted < 0 ? 0 : wanted);
	ck_assert_int_eq(place.role, wanted < 0 ? MUSTER_ROLE_EXCLUDED : MUSTER_ROLE_MEMBER);
	ck_assert_str_eq(why, wanted < 0 ? "no time left before the run's deadline" : "");
}

/* Ranks 1 to 3 leave the rings before the trials of pairs. */
TEST(a_trial_that_nobody_is_in_says_so)
{
	start(4, 1);
	fail_full_ring();
	all_ended(MUSTER_RING_OK, 1);
	for (int rank = 1; rank < 4; rank++) {
		ready[rank].can = false;
		ready[rank].why = "no GPU";
	}
	play(2000);
	all_ended(MUSTER_RING_NONE, 0);
	ready[0].end = MUSTER_RING_ERROR;
	ready[0].detail = "no memory";
	play(3000);
	ck_assert_uint_eq(run.trial_count, 6); /* of four single nodes and two pairs */
	for (size_t i = 4; i < 6; i++) {
		const struct muster_trial *trial = &run.trials[i];
		ck_assert_int_eq(trial->status, MUSTER_TRIAL_FAILED);
		ck_assert_str_eq(trial->why,
			strcmp(trial->nodes[0], "n0") == 0 ? "rank 0: no memory" : "none of its ranks can take part");
	}
}

/* ---- which rings follow ---- */

static const struct {
	enum muster_localise localise;
	int nodes;
	bool fails, trials;
	const char *said;
} wanted[] = {
	{ MUSTER_LOCALISE_AUTO, 4, false, false, "" },
	{ MUSTER_LOCALISE_AUTO, 4, true, true, "localisation all-reduces: 4" },
	{ MUSTER_LOCALISE_AUTO, 1, true, false, "the all-reduce of 1 ranks failed: rank 0: remote error" },
	{ MUSTER_LOCALISE_AUTO, 2, true, true, "localisation all-reduces: 2" },
	{ MUSTER_LOCALISE_ALWAYS, 4, false, true, "localisation all-reduces: 4" },
	{ MUSTER_LOCALISE_OFF, 4, true, false, "the all-reduce of 4 ranks failed: 4 ranks: remote error" },
};

TEST_EACH(localisation_is_as_wanted, wanted)
{
	start(wanted[_i].nodes, 1);
	context.localise = wanted[_i].localise;
	play(0);
	all_ended(wanted[_i].fails ? MUSTER_RING_REMOTE : MUSTER_RING_OK, 1);
	play(1000);
	ck_assert_int_eq(place.role, wanted[_i].trials ? MUSTER_ROLE_MEMBER : MUSTER_ROLE_OVER);
	ck_assert(place.ring.trial == wanted[_i].trials);
	ck_assert_str_eq(said, wanted[_i].said);
}

/* Of ranks that only waited for others none is named, unless it is the only one; a rank that says more of itself is. */
TEST_LOOP(a_failed_ring_names_a_rank_only_with_evidence_against_it, 0, 5)
{
	static const struct {
		enum muster_ring_end ends[4];
		const char *said;
	} cases[] = {
		{ { MUSTER_RING_LATE, MUSTER_RING_LATE, MUSTER_RING_LATE, MUSTER_RING_LATE }, "4 ranks: detail 0" },
		{ { MUSTER_RING_OK, MUSTER_RING_OK, MUSTER_RING_LATE, MUSTER_RING_LATE }, "2 ranks: detail 2" },
		{ { MUSTER_RING_OK, MUSTER_RING_OK, MUSTER_RING_LATE, MUSTER_RING_OK }, "rank 2: detail 2" },
		{ { MUSTER_RING_REMOTE, MUSTER_RING_LATE, MUSTER_RING_REMOTE, MUSTER_RING_LATE }, "2 ranks: detail 1" },
		{ { MUSTER_RING_REMOTE, MUSTER_RING_ERROR, MUSTER_RING_REMOTE, MUSTER_RING_ERROR },
			"rank 1: detail 1" },
	};
	static const char *const details[] = { "detail 0", "detail 1", "detail 2", "detail 3" };
	char text[100];
	start(4, 1);
	context.localise = MUSTER_LOCALISE_OFF;
	play(0);
	for (int rank = 0; rank < 4; rank++) {
		ready[rank].end = cases[_i].ends[rank];
		ready[rank].detail = details[rank];
	}
	play(1000);
	snprintf(text, sizeof text, "the all-reduce of 4 ranks failed: %s", cases[_i].said);
	ck_assert_str_eq(said, text);
}

static const struct {
	bool over;
	enum muster_barrier_kind kind;
	int round, visit;
	enum muster_ring_role role;
	const char *why;
} late[] = {
	{ false, MUSTER_BARRIER_RING, 0, 0, MUSTER_ROLE_EXCLUDED,
		"excluded from the all-reduce: its node was too late" },
	{ true, MUSTER_BARRIER_RING, 0, 0, MUSTER_ROLE_EXCLUDED,
		"excluded from the all-reduce: its node was too late" },
	{ true, MUSTER_BARRIER_RING, 1, 0, MUSTER_ROLE_OVER, "" },
	{ true, MUSTER_BARRIER_RING, 0, 1, MUSTER_ROLE_OVER, "" },      /* what the rank measured before stays */
	{ true, MUSTER_BARRIER_RING_ID, 0, 0, MUSTER_ROLE_OVER, NULL }, /* no place, but no id */
};

TEST_EACH(a_node_that_is_too_late_gets_an_answer, late)
{
	struct muster_packer p = { 0 };
	struct muster_ring_place answer;
	start(4, 1);
	play(0);
	if (late[_i].over) {
		all_ended(MUSTER_RING_OK, 1);
		play(1000);
	}
	int round = late[_i].round > 0 ? scheduler->round + 1 : 0; /* behind the last one */
	muster_ring_scheduler_late_answer(
		scheduler, (struct muster_barrier_id){ late[_i].kind, probe_index, round, late[_i].visit }, &p);
	ck_assert_int_eq(p.length > 0, late[_i].why != NULL);
	if (late[_i].why) {
		ck_assert(muster_unpack_ring_place(p.bytes, p.length, &answer));
		ck_assert_int_eq(answer.role, late[_i].role);
		ck_assert_str_eq(answer.why, late[_i].why);
	}
	muster_packer_done(&p);
}

/* All ranks enter the round's id barrier with an id of their own: "<RANK>"; but for one, which could not make any. */
static void make_ids(int round, int all, int without)
{
	struct muster_barrier_entry *entries = muster_calloc((size_t)all, sizeof *entries);
	struct muster_barrier barrier = { .id = { MUSTER_BARRIER_RING_ID, 0, round, 0 }, .entries = entries };
	for (int rank = 0; rank < all; rank++) {
		struct muster_packer p = { 0 };
		char id[16];
		int length = rank == without ? 0 : snprintf(id, sizeof id, "<%d>", rank);
		muster_pack_parts(&p, barrier.id);
		muster_pack_part(&p, rank, id, (size_t)length);
		entries[rank] = (struct muster_barrier_entry){ .here = true, .bytes = p.bytes, .length = p.length };
	}
	recorder_clear(&r);
	muster_ring_scheduler_complete(scheduler, &barrier, 1000);
	(void)told_rank_0(MUSTER_TAG_SCATTER);
	for (int rank = 0; rank < all; rank++)
		free(entries[rank].bytes);
	free(entries);
}

/* What the rank got, which is no packed text. */
static const char *ids_of(int rank)
{
	static char ids[64];
	for (int i = 0; i < r.count; i++) {
		struct muster_parts parts;
		struct muster_bytes bytes;
		int to;
		ck_assert(muster_unpack_parts(r.sent[i].bytes, r.sent[i].length, &parts));
		while (muster_unpack_part(&parts, &to, &bytes))
			if (to == rank)
				snprintf(ids, sizeof ids, "%.*s", (int)bytes.length, bytes.bytes);
	}
	return ids;
}

/* Ranks, of which number 2 is out; who could make no id; what ranks of the ring get. */
static const struct {
	int ranks, without;
	const char *ids;
} made[] = {
	{ 4, -1, "<0>" }, { 4, 1, "<0>" }, { 4, 0, "" }, { 257, -1, "<0>" }, { 600, -1, "<0><201><401>" },
	{ 600, 401, "" }, /* not fewer ids: all ranks must have the same, and count the same */
};

TEST_EACH(ids_go_to_the_ranks_of_their_ring, made)
{
	start(made[_i].ranks, 1);
	ready[2].can = false;
	ready[2].why = "no GPU";
	play(0);
	ck_assert_int_eq(place.ring.ranks, made[_i].ranks - 1);
	make_ids(1, made[_i].ranks, made[_i].without);
	for (int rank = 0; rank < made[_i].ranks; rank++)
		ck_assert_str_eq(ids_of(rank), rank == 2 ? "" : made[_i].ids);
}

static const struct {
	int ranks, count;
	int makers[MUSTER_RING_IDS_MAX]; /* by their numbers in the ring */
} rings[] = {
	{ 1, 1, { 0 } },
	{ 256, 1, { 0 } },
	{ 257, 2, { 0, 129 } },
	{ 1024, 4, { 0, 256, 512, 768 } },
	{ 16386, 8, { 0, 2049, 4098, 6146, 8194, 10242, 12290, 14338 } },
};

/* As firstRankFromRoot of NCCL 2.28's bootstrap.cc: the maker of an id is the first of the ranks that come to it. */
TEST_EACH(a_large_ring_has_several_ids_from_as_many_ranks, rings)
{
	int count = 0;
	start(2, 1);
	for (int number = 0; number < rings[_i].ranks; number++) {
		int index = muster_ring_maker_index(number, rings[_i].ranks);
		if (index < 0)
			continue;
		ck_assert_int_eq(index, count);
		ck_assert_int_eq(number, rings[_i].makers[count++]);
	}
	ck_assert_int_eq(count, rings[_i].count);
}

/* ---- payloads ---- */

/* Who has entered without a payload that can be read is not ready, and who has not entered is not counted. */
TEST(ranks_that_have_not_entered_are_left_out)
{
	struct muster_barrier_entry entries[3] = { { .here = true }, { .here = false }, { .here = true } };
	struct muster_barrier barrier = { .id = { MUSTER_BARRIER_RING, 0, 0, 0 }, .entries = entries };
	struct muster_packer packed[2] = { 0 }, payload = { 0 };
	struct muster_ring_entries read;
	start(3, 1);
	ready[2].can = false;
	ready[2].why = "no GPU";
	muster_pack_ring_ready(&payload, &ready[2]);
	muster_pack_parts(&packed[0], barrier.id);
	muster_pack_parts(&packed[1], barrier.id);
	muster_pack_part(&packed[1], 2, payload.bytes, payload.length);
	for (size_t i = 0; i < 2; i++) {
		entries[2 * i].bytes = packed[i].bytes;
		entries[2 * i].length = packed[i].length;
	}
	muster_ring_entries_read(&read, &members, &barrier, true);
	ck_assert_uint_eq(read.count, 1);
	ck_assert_int_eq(read.items[0].rank, 2);
	ck_assert_str_eq(read.items[0].why, "no GPU");
	ck_assert_ptr_null(read.by_rank[0]);
	ck_assert_ptr_null(read.by_rank[1]);
	ck_assert_ptr_eq(read.by_rank[2], &read.items[0]);
	muster_ring_entries_done(&read);
	muster_packer_done(&payload);
	muster_packer_done(&packed[0]);
	muster_packer_done(&packed[1]);
}

/* Rank 0 takes each rank's payload once, from the leader of its own node. */
TEST_LOOP(a_leader_speaks_for_the_ranks_of_its_node, 0, 2)
{
	static const char hello[] = "hello", other[] = "other";
	struct muster_barrier_entry entries[2] = { { .here = true }, { .here = true } };
	struct muster_barrier barrier = { .id = { MUSTER_BARRIER_RING, 0, 0, 0 }, .entries = entries };
	struct muster_packer packed[2] = { 0 };
	struct muster_ring_entries read;
	start(2, 1);
	for (size_t i = 0; i < 2; i++)
		muster_pack_parts(&packed[i], barrier.id);
	muster_pack_part(&packed[0], 0, hello, 5);
	muster_pack_part(&packed[0], 0, other, 5);
	muster_pack_part(&packed[0], 1, other, 5); /* of node 1 */
	muster_pack_part(&packed[0], 2, other, 5); /* there is no such rank */
	muster_pack_part(&packed[1], 1, hello, 5);
	for (size_t i = 0; i < 2; i++) {
		entries[i].bytes = packed[i].bytes;
		entries[i].length = packed[i].length;
	}
	muster_ring_entries_read(&read, &members, &barrier, _i == 1);
	ck_assert_uint_eq(read.count, 2);
	for (size_t i = 0; i < 2; i++) {
		ck_assert_int_eq(read.items[i].rank, (int)i);
		ck_assert_uint_eq(read.items[i].node, i);
		ck_assert_mem_eq(read.items[i].payload.bytes, hello, 5);
		ck_assert_pstr_eq(read.items[i].why, _i == 1 ? "the rank did not report that it is ready" : NULL);
		muster_packer_done(&packed[i]);
	}
	muster_ring_entries_done(&read);
}

/* ---- ranks that are excluded ---- */

static const struct test_fixture bare = { 0 };

TEST_WITH(of_two_ranks_with_one_gpu_the_first_is_in_the_ring, .end = 1, .fixture = &bare)
{
	struct muster_ring_entry items[] = { { .rank = 4 }, { .rank = 5 }, { .rank = 6, .node = 1 } };
	struct muster_ring_entries entries = { .items = items, .count = 3 };
	for (size_t i = 0; i < 3; i++)
		items[i].ready.uuid = "GPU-7";
	muster_ring_exclude_duplicate_gpus(&entries);
	ck_assert_ptr_null(items[0].why);
	ck_assert_str_eq(items[1].why, "excluded from the all-reduce: the rank would share GPU GPU-7 with rank 4");
	ck_assert_ptr_null(items[2].why); /* another node */
}

static const struct {
	const char *versions; /* of each rank, one character; '-': none */
	const char *excluded; /* the ranks */
	const char *why;      /* of the first of them */
} mixtures[] = {
	{ "aaaa", "", NULL },
	{ "aaba", "2", "excluded from the all-reduce: rank.nccl_version b, other ranks a (1 : 3)" },
	{ "abbb", "0", "excluded from the all-reduce: rank.nccl_version a, other ranks b (1 : 3)" },
	{ "aabb", "23", "excluded from the all-reduce: rank.nccl_version b, other ranks a (2 : 2, no majority)" },
	{ "bacc", "01", "excluded from the all-reduce: rank.nccl_version b, other ranks c (1 : 2)" },
	{ "-ab-", "2", "excluded from the all-reduce: rank.nccl_version b, other ranks a (1 : 1, no majority)" },
	{ "----", "", NULL },
};

TEST_WITH(ranks_with_another_version_than_most_are_excluded, .end = LENGTH(mixtures), .fixture = &bare)
{
	static const char *const names[] = { "a", "b", "c" };
	struct muster_ring_entry items[4] = { { .rank = 0 }, { .rank = 1 }, { .rank = 2 }, { .rank = 3 } };
	struct muster_ring_entries entries = { .items = items, .count = 4 };
	const struct muster_probe *probe = muster_probe_find("nccl_allreduce");
	char excluded[8] = "";
	const char *first = NULL;
	for (size_t i = 0; i < 4; i++)
		items[i].ready.agree = mixtures[_i].versions[i] == '-' ? "" : names[mixtures[_i].versions[i] - 'a'];
	struct muster_ring_agreed agreed = { 0 };
	muster_ring_exclude_version_mismatches(probe, &entries, &agreed);
	for (size_t i = 0; i < 4; i++)
		items[i].why = NULL; /* the next round says the same */
	muster_ring_exclude_version_mismatches(probe, &entries, &agreed);
	for (size_t i = 0; i < 4; i++) {
		if (!items[i].why)
			continue;
		first = first ? first : items[i].why;
		snprintf(excluded + strlen(excluded), sizeof excluded - strlen(excluded), "%zu", i);
	}
	ck_assert_str_eq(excluded, mixtures[_i].excluded);
	ck_assert_pstr_eq(first, mixtures[_i].why);
}

/* A letter for each rank: its version in the first ring, then of those that are left; what the last one is told. */
static const struct {
	const char *first, *left, *why;
} votes[] = {
	{ "bba", "ba", "a, other ranks b (1 : 1, as in the first ring)" }, /* no vote that b could lose */
	{ "aabb", "abb", "b, other ranks a (2 : 1, as in the first ring)" },
	{ "aabb", "aabb", "b, other ranks a (2 : 2, no majority)" },
	{ "aaabc", "bc", "c, other ranks b (1 : 1, no majority)" },
};

TEST_WITH(the_version_of_the_first_ring_stays, .end = sizeof votes / sizeof *votes, .fixture = &bare)
{
	static const char *const names[] = { "a", "b", "c" };
	struct muster_ring_agreed agreed = { 0 };
	char expected[160];
	snprintf(expected, sizeof expected, "excluded from the all-reduce: rank.nccl_version %s", votes[_i].why);
	const char *const rounds[] = { votes[_i].first, votes[_i].left };
	for (int round = 0; round < 2; round++) {
		struct muster_ring_entry items[8] = { 0 };
		struct muster_ring_entries entries = { .items = items, .count = strlen(rounds[round]) };
		for (size_t i = 0; i < entries.count; i++) {
			items[i].rank = (int)i;
			items[i].ready.agree = names[rounds[round][i] - 'a'];
		}
		muster_ring_exclude_version_mismatches(muster_probe_find("nccl_allreduce"), &entries, &agreed);
		ck_assert_ptr_null(items[0].why);
		if (round == 1)
			ck_assert_pstr_eq(items[entries.count - 1].why, expected);
	}
}

/* An interrupted run has no trials, and what its last ring says is no evidence: 4 nodes fail in it. */
TEST(no_ring_follows_when_the_run_is_interrupted)
{
	start(4, 1);
	play(0);
	all_ended(MUSTER_RING_REMOTE, 1);
	context.ended = true;
	play_round(1000);
	ck_assert_int_eq(place.role, MUSTER_ROLE_OVER);
	ck_assert_uint_eq(run.trial_count, 0);
}

/* Ranks that were told to stay out before rank 0 knew better ask for the ids of a round that never was, or is over. */
TEST_LOOP(ids_of_a_round_that_is_not_under_way_are_sent_to_nobody, 0, 2)
{
	start(4, 1);
	if (_i == 1) {
		play_round(0);
		play_round(0);
	} else {
		context.ended = true;
		play_round(0);
		ck_assert_int_eq(place.role, MUSTER_ROLE_OVER);
	}
	make_ids(0, ranks, -1);
	ck_assert_str_eq(ids_of(1), "");
}

/* So many versions are no state of a cluster; those behind the 64th do not count. */
TEST_WITH(more_versions_than_anyone_has_are_not_counted, .end = 1, .fixture = &bare)
{
	enum { VERSIONS = 65, RANKS = 68 };
	static char names[VERSIONS][8];
	static struct muster_ring_entry items[RANKS];
	struct muster_ring_entries entries = { .items = items, .count = RANKS };
	for (int i = 0; i < VERSIONS; i++)
		snprintf(names[i], sizeof names[i], "v%d", i);
	for (int i = 0; i < RANKS; i++) { /* the first version twice, the last one three times */
		items[i].rank = i;
		items[i].ready.agree = names[i == 0 ? 0 : i - 1 < VERSIONS ? i - 1 : VERSIONS - 1];
	}
	struct muster_ring_agreed agreed = { 0 };
	muster_ring_exclude_version_mismatches(muster_probe_find("nccl_allreduce"), &entries, &agreed);
	ck_assert_ptr_null(items[1].why);
	ck_assert_str_eq(
		items[RANKS - 1].why, "excluded from the all-reduce: rank.nccl_version v64, other ranks v0 (1 : 2)");
}

/* _i: how far the two ranks are apart */
TEST_WITH(ranks_that_are_far_apart_may_share_a_gpu_too, .end = 4, .fixture = &bare)
{
	static const int distances[] = { 1, 64, 65, 1024 };
	static struct muster_ring_entry items[2048];
	struct muster_ring_entries entries = { .items = items, .count = 2048 };
	int first = 1023, second = 1023 + distances[_i];
	for (int i = 0; i < 2048; i++) {
		items[i].rank = i;
		items[i].ready.uuid = i == first || i == second ? "GPU-7" : "";
		items[i].why = i == first || i == second ? NULL : "no GPU";
	}
	muster_ring_exclude_duplicate_gpus(&entries);
	ck_assert_ptr_null(items[first].why);
	ck_assert_str_eq(
		items[second].why, "excluded from the all-reduce: the rank would share GPU GPU-7 with rank 1023");
}

TEST_MAIN(.teardown = teardown)
