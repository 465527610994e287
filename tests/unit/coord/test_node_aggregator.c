/* SPDX-License-Identifier: Apache-2.0 */
/* test_node_aggregator.c - what a node's leader makes of the messages of its members and of rank 0 */
#include "coord/node_aggregator.h"

#include "check_main.h"
#include "recorder.h"

#include <math.h>

enum { END = 600000, LEADER = 4, FIRST = 5, LAST = 7, OTHER = 6 /* a rank of another node */ };

static const int members[] = { LEADER, FIRST, LAST };
static const struct muster_barrier_id peers = { .kind = MUSTER_BARRIER_PEERS };
static const struct muster_barrier_id turn = { MUSTER_BARRIER_TURN, 3, 1, 0 };
static const struct muster_barrier_id ring = { MUSTER_BARRIER_RING, 9, 0, 0 };
static const struct muster_barrier_id next_ring = { MUSTER_BARRIER_RING, 9, 1, 0 };
static const struct muster_barrier_id record_barrier = { .kind = MUSTER_BARRIER_RECORD };

static struct recorder r;
static struct muster_deadlines deadlines;
static struct muster_node_aggregator a;
static struct muster_error err;

static void setup(void)
{
	recorder_init(&r, LEADER, 12);
	muster_deadlines_init(&deadlines, 1);
	muster_node_aggregator_init(&a, &r.transport, &deadlines, members, LENGTH(members), END);
}

static void teardown(void)
{
	muster_node_aggregator_done(&a);
	recorder_done(&r);
}

static int came(enum muster_tag tag, int from, struct muster_packer *p)
{
	struct muster_message message = { .tag = (int)tag, .from = from, .bytes = p->bytes, .length = p->length };
	int rc = muster_node_aggregator_message(&a, &message, &err);
	muster_packer_done(p);
	return rc;
}

static void enter(int rank, struct muster_barrier_id id, enum muster_phase ended, const char *payload)
{
	struct muster_packer p = { 0 };
	muster_pack_enter(&p, &(struct muster_enter){ id, ended, { payload, strlen(payload) } });
	ck_assert_int_eq(came(MUSTER_TAG_ENTER, rank, &p), 0);
}

static void poll_at(double now_ms)
{
	r.now_ms = now_ms;
	muster_node_aggregator_poll(&a, now_ms);
}

static void heartbeats(void)
{
	for (int i = 0; i < LENGTH(members); i++)
		muster_barrier_heartbeat(&a.barriers, members[i], r.now_ms);
}

/* The message holds these parts and no other: ranks and texts in turn. */
static void check_parts(const struct recorded *sent, int to, struct muster_barrier_id id, int count, const int *ranks,
	const char **texts)
{
	struct muster_parts parts;
	struct muster_bytes bytes;
	int rank;
	ck_assert_ptr_nonnull(sent);
	ck_assert_int_eq(sent->to, to);
	ck_assert(muster_unpack_parts(sent->bytes, sent->length, &parts));
	ck_assert(muster_barrier_same(parts.barrier, id));
	for (int i = 0; i < count; i++) {
		ck_assert(muster_unpack_part(&parts, &rank, &bytes));
		ck_assert_int_eq(rank, ranks[i]);
		ck_assert_uint_eq(bytes.length, strlen(texts[i]));
		ck_assert_str_eq(bytes.bytes, texts[i]);
	}
	ck_assert(!muster_unpack_part(&parts, &rank, &bytes));
	ck_assert(!parts.rest.bad);
}

TEST(a_barrier_of_the_job_goes_to_rank_0_in_one_message_and_unchanged)
{
	enter(LAST, ring, MUSTER_PHASE_NONE, "c");
	enter(OTHER, ring, MUSTER_PHASE_NONE, "x");
	enter(FIRST, ring, MUSTER_PHASE_NONE, "");
	poll_at(1);
	ck_assert_int_eq(r.count, 0); /* one is missing */
	enter(LEADER, ring, MUSTER_PHASE_NONE, "a");
	poll_at(2);
	ck_assert_int_eq(r.count, 1);
	check_parts(recorder_sent(&r, MUSTER_TAG_REDUCE, 0), 0, ring, 3, members, (const char *[]){ "a", "", "c" });
}

TEST(a_barrier_of_the_node_is_answered_here)
{
	struct muster_message own;
	enter(LEADER, peers, MUSTER_PHASE_NONE, "a");
	enter(FIRST, peers, MUSTER_PHASE_NONE, "b");
	enter(LAST, peers, MUSTER_PHASE_NONE, "c");
	poll_at(1);
	ck_assert_int_eq(r.count, 2);
	for (int i = 0; i < 2; i++) {
		/* the answer of one rank: a part whose bytes are the parts of all */
		struct muster_parts parts;
		struct muster_bytes all;
		int rank;
		const struct recorded *sent = recorder_sent(&r, MUSTER_TAG_RELEASE, i);
		ck_assert(muster_unpack_parts(sent->bytes, sent->length, &parts));
		ck_assert(muster_unpack_part(&parts, &rank, &all));
		ck_assert_int_eq(rank, members[i + 1]);
		check_parts(&(struct recorded){ sent->to, sent->tag, (char *)(uintptr_t)all.bytes, all.length }, rank,
			peers, 3, members, (const char *[]){ "a", "b", "c" });
	}
	ck_assert(muster_transport_receive(&r.transport, &own));
	ck_assert_int_eq(own.tag, MUSTER_TAG_RELEASE);
	muster_message_done(&own);
	recorder_clear(&r);
	for (int i = 0; i < LENGTH(members); i++)
		enter(members[i], turn, MUSTER_PHASE_NONE, "never forwarded");
	poll_at(2);
	ck_assert_int_eq(r.count, 2);
	check_parts(recorder_sent(&r, MUSTER_TAG_RELEASE, 0), FIRST, turn, 1, members + 1, (const char *[]){ "" });
}

TEST(who_is_silent_is_not_waited_for)
{
	enter(LEADER, ring, MUSTER_PHASE_NONE, "a");
	enter(FIRST, ring, MUSTER_PHASE_NONE, "b");
	poll_at(deadlines.silence - 1);
	ck_assert_int_eq(r.count, 0);
	muster_barrier_heartbeat(&a.barriers, LEADER, r.now_ms);
	muster_barrier_heartbeat(&a.barriers, FIRST, r.now_ms);
	poll_at(deadlines.silence + 1000);
	check_parts(recorder_sent(&r, MUSTER_TAG_REDUCE, 0), 0, ring, 2, members, (const char *[]){ "a", "b" });
}

TEST(every_message_is_a_sign_of_life_but_one_of_death)
{
	struct muster_packer p = { 0 };
	enter(LEADER, ring, MUSTER_PHASE_NONE, "a");
	r.now_ms = deadlines.silence - 1;
	muster_barrier_heartbeat(&a.barriers, LEADER, r.now_ms);
	muster_barrier_heartbeat(&a.barriers, FIRST, r.now_ms);
	ck_assert_int_eq(came(MUSTER_TAG_HEARTBEAT, LAST, &p), 0);
	poll_at(deadlines.silence + 1000);
	ck_assert_int_eq(r.count, 0);
	ck_assert_int_eq(came(MUSTER_TAG_PEER_DIED, LAST, &p), 0);
	ck_assert_int_eq(came(MUSTER_TAG_PEER_DIED, FIRST, &p), 0);
	poll_at(r.now_ms + 1);
	check_parts(recorder_sent(&r, MUSTER_TAG_REDUCE, 0), 0, ring, 1, members, (const char *[]){ "a" });
}

TEST(at_its_limit_a_barrier_is_complete_without_the_late)
{
	double limit = END - deadlines.barrier_aggregator;
	r.now_ms = limit - 2;
	heartbeats();
	enter(LEADER, ring, MUSTER_PHASE_NONE, "a");
	poll_at(limit - 1);
	ck_assert_int_eq(r.count, 0);
	ck_assert_double_le(muster_node_aggregator_next(&a, limit - 1), limit);
	poll_at(limit);
	check_parts(recorder_sent(&r, MUSTER_TAG_REDUCE, 0), 0, ring, 1, members, (const char *[]){ "a" });
}

TEST(a_late_record_is_announced_and_then_forwarded_by_itself)
{
	struct muster_packer p = { 0 };
	double limit = END - deadlines.record_aggregator;
	r.now_ms = limit - 2;
	heartbeats();
	ck_assert_int_eq(came(MUSTER_TAG_PEER_DIED, FIRST, &p), 0);
	enter(LEADER, record_barrier, MUSTER_PHASE_NONE, "a");
	poll_at(limit);
	check_parts(recorder_sent(&r, MUSTER_TAG_REDUCE, 0), 0, record_barrier, 2, (int[]){ LEADER, LAST },
		(const char *[]){ "a", "" });
	enter(LAST, record_barrier, MUSTER_PHASE_NONE, "late");
	check_parts(recorder_sent(&r, MUSTER_TAG_RECORD, 0), 0, record_barrier, 1, (int[]){ LAST },
		(const char *[]){ "late" });
	ck_assert_ptr_null(recorder_sent(&r, MUSTER_TAG_RELEASE, 0)); /* rank 0 answers */
}

TEST(an_interrupted_run_has_its_limits_earlier)
{
	muster_node_aggregator_hasten(&a, 100000);
	r.now_ms = END - 100000 - deadlines.record_aggregator - 1;
	heartbeats();
	enter(LEADER, record_barrier, MUSTER_PHASE_NONE, "a");
	poll_at(r.now_ms);
	ck_assert_int_eq(r.count, 0);
	poll_at(r.now_ms + 1);
	ck_assert_int_eq(r.count, 1);
	heartbeats();
	enter(LEADER, ring, MUSTER_PHASE_NONE, "a"); /* its limit was before */
	poll_at(r.now_ms);
	ck_assert_int_eq(r.count, 2);
}

/* A ring's barrier is complete without LAST, which was late. */
static void without_last(struct muster_barrier_id id)
{
	r.now_ms = END - deadlines.barrier_aggregator;
	heartbeats();
	enter(LEADER, id, MUSTER_PHASE_NONE, "");
	enter(FIRST, id, MUSTER_PHASE_NONE, "");
	poll_at(r.now_ms);
	ck_assert_int_eq(r.count, 1);
	recorder_clear(&r);
}

static struct muster_ring_place place_for(int rank, int number)
{
	struct muster_parts parts;
	struct muster_bytes bytes;
	struct muster_ring_place place;
	int to;
	const struct recorded *sent = recorder_sent(&r, MUSTER_TAG_RELEASE, number);
	ck_assert_ptr_nonnull(sent);
	ck_assert_int_eq(sent->to, rank);
	ck_assert(muster_unpack_parts(sent->bytes, sent->length, &parts));
	ck_assert(muster_unpack_part(&parts, &to, &bytes));
	ck_assert_int_eq(to, rank);
	ck_assert(muster_unpack_ring_place(bytes.bytes, bytes.length, &place));
	return place;
}

/* Rank 0's answer at a ring's barrier. */
static void scatter(struct muster_barrier_id id, enum muster_ring_role role, const int *ranks, int count)
{
	struct muster_packer p = { 0 };
	muster_pack_parts(&p, id);
	for (int i = 0; i < count; i++) {
		struct muster_packer place = { 0 };
		muster_pack_ring_place(&place, &(struct muster_ring_place){ .role = role, .ring.ranks = 2, .why = "" });
		muster_pack_part(&p, ranks[i], place.bytes, place.length);
		muster_packer_done(&place);
	}
	ck_assert_int_eq(came(MUSTER_TAG_SCATTER, 0, &p), 0);
}

TEST(a_late_rank_is_told_that_the_ring_runs_without_it)
{
	without_last(ring);
	enter(LAST, ring, MUSTER_PHASE_NONE, "");
	struct muster_ring_place place = place_for(LAST, 0);
	ck_assert_int_eq(place.role, MUSTER_ROLE_EXCLUDED);
	ck_assert_str_eq(place.why, "the rank was too late");
	ck_assert_int_eq(r.count, 1);
}

TEST(a_late_rank_is_told_that_there_are_no_more_rings)
{
	without_last(ring);
	scatter(ring, MUSTER_ROLE_OVER, (int[]){ FIRST }, 1);
	enter(LAST, ring, MUSTER_PHASE_NONE, "");
	ck_assert_int_eq(place_for(FIRST, 0).role, MUSTER_ROLE_OVER);
	ck_assert_int_eq(place_for(LAST, 1).role, MUSTER_ROLE_OVER);
}

TEST(a_rank_that_is_late_in_a_later_visit_goes_on_to_the_next)
{
	const struct muster_barrier_id later = { MUSTER_BARRIER_RING, 9, 0, 1 };
	without_last(later);
	enter(LAST, later, MUSTER_PHASE_NONE, "");
	ck_assert_int_eq(place_for(LAST, 0).role, MUSTER_ROLE_OVER);
}

TEST(the_end_of_one_ring_is_not_that_of_the_next)
{
	without_last(ring);
	scatter(next_ring, MUSTER_ROLE_OVER, (int[]){ FIRST }, 1);
	enter(LAST, ring, MUSTER_PHASE_NONE, "");
	ck_assert_int_eq(place_for(LAST, 1).role, MUSTER_ROLE_EXCLUDED);
}

TEST(answers_reach_members_alone_and_come_from_rank_0_alone)
{
	struct muster_packer p = { 0 };
	scatter(ring, MUSTER_ROLE_MEMBER, (int[]){ FIRST, OTHER, LAST }, 3);
	ck_assert_int_eq(r.count, 2);
	ck_assert_int_eq(place_for(FIRST, 0).ring.ranks, 2);
	place_for(LAST, 1);
	recorder_clear(&r);
	muster_pack_parts(&p, ring);
	muster_pack_part(&p, FIRST, "x", 1);
	ck_assert_int_eq(came(MUSTER_TAG_SCATTER, OTHER, &p), 0);
	muster_pack_parts(&p, ring);
	muster_pack_part(&p, FIRST, "x", 1);
	ck_assert_int_eq(came(MUSTER_TAG_CANCEL, LAST, &p), 0);
	ck_assert_int_eq(r.count, 0);
}

TEST(a_cancelled_ring_is_passed_on_to_the_ranks_in_it)
{
	struct muster_packer p = { 0 };
	muster_pack_parts(&p, ring);
	muster_pack_part(&p, LAST, "why", 3);
	muster_pack_part(&p, OTHER, "why", 3);
	ck_assert_int_eq(came(MUSTER_TAG_CANCEL, 0, &p), 0);
	ck_assert_int_eq(r.count, 1);
	check_parts(recorder_sent(&r, MUSTER_TAG_CANCEL_RANK, 0), LAST, ring, 1, (int[]){ LAST },
		(const char *[]){ "why" });
}

TEST(the_dead_of_a_ring_are_reported_once_a_ring)
{
	struct muster_packer none = { 0 };
	struct muster_ring_failed failed;
	ck_assert_int_eq(came(MUSTER_TAG_PEER_DIED, LAST, &none), 0);
	poll_at(1);
	ck_assert_int_eq(r.count, 0); /* no ring yet */
	scatter(ring, MUSTER_ROLE_MEMBER, NULL, 0);
	ck_assert_int_eq(a.progress.done[MUSTER_PHASE_TRAFFIC], 1); /* which waits for it no more */
	poll_at(2);
	poll_at(3);
	ck_assert_int_eq(r.count, 1);
	const struct recorded *sent = recorder_sent(&r, MUSTER_TAG_RING_FAILED, 0);
	ck_assert_int_eq(sent->to, 0);
	ck_assert(muster_unpack_ring_failed(sent->bytes, sent->length, &failed));
	ck_assert(muster_barrier_same(failed.ring, ring));
	ck_assert_int_eq(failed.rank, LAST);
	ck_assert_str_eq(failed.why, "no further message from rank 7");
	scatter(ring, MUSTER_ROLE_MEMBER, NULL, 0); /* the same ring again */
	poll_at(4);
	ck_assert_int_eq(r.count, 1);
	scatter(next_ring, MUSTER_ROLE_MEMBER, NULL, 0);
	poll_at(5);
	ck_assert_int_eq(r.count, 2);
}

TEST(progress_is_sent_when_there_is_some_and_not_too_often)
{
	struct muster_progress_news news;
	double every = deadlines.progress_every;
	enter(LEADER, turn, MUSTER_PHASE_INVENTORY, "");
	enter(FIRST, turn, MUSTER_PHASE_INVENTORY, "");
	enter(FIRST, ring, MUSTER_PHASE_COPIES, "");
	ck_assert_double_eq(muster_node_aggregator_next(&a, 0), fmin(every, deadlines.silence / 100));
	poll_at(every - 1);
	ck_assert_ptr_null(recorder_sent(&r, MUSTER_TAG_PROGRESS, 0));
	poll_at(every);
	const struct recorded *sent = recorder_sent(&r, MUSTER_TAG_PROGRESS, 0);
	ck_assert_int_eq(sent->to, 0);
	ck_assert(muster_unpack_progress(sent->bytes, sent->length, &news));
	ck_assert_int_eq(news.done[MUSTER_PHASE_INVENTORY], 2);
	ck_assert_int_eq(news.done[MUSTER_PHASE_COPIES], 1);
	ck_assert_int_eq(news.done[MUSTER_PHASE_RING], 0);
	heartbeats();
	enter(LAST, peers, MUSTER_PHASE_NONE, ""); /* ends no phase */
	poll_at(2 * every);
	ck_assert_ptr_null(recorder_sent(&r, MUSTER_TAG_PROGRESS, 1));
	enter(LAST, turn, MUSTER_PHASE_INVENTORY, "");
	poll_at(2 * every + 1);
	ck_assert_ptr_nonnull(recorder_sent(&r, MUSTER_TAG_PROGRESS, 1));
}

/* A rank may end several phases at one barrier, when nothing was to do in between; none counts twice. */
TEST(a_phase_ends_with_all_before_it)
{
	enter(LEADER, turn, MUSTER_PHASE_COPIES, "");
	enter(LEADER, ring, MUSTER_PHASE_COPIES, "");
	enter(FIRST, ring, MUSTER_PHASE_INVENTORY, "");
	enter(LEADER, record_barrier, MUSTER_PHASE_TRAFFIC, "");
	ck_assert_int_eq(a.progress.done[MUSTER_PHASE_START], 0); /* rank 0 knows that of the hellos */
	ck_assert_int_eq(a.progress.done[MUSTER_PHASE_INVENTORY], 2);
	ck_assert_int_eq(a.progress.done[MUSTER_PHASE_COPIES], 1);
	ck_assert_int_eq(a.progress.done[MUSTER_PHASE_LOAD], 1);
	ck_assert_int_eq(a.progress.done[MUSTER_PHASE_TRAFFIC], 1);
}

TEST(what_is_cut_is_refused)
{
	static const enum muster_tag tags[] = { MUSTER_TAG_ENTER, MUSTER_TAG_SCATTER, MUSTER_TAG_CANCEL };
	for (int i = 0; i < LENGTH(tags); i++) {
		struct muster_packer p = { 0 };
		if (tags[i] == MUSTER_TAG_ENTER) {
			muster_pack_enter(&p, &(struct muster_enter){ ring, MUSTER_PHASE_NONE, { "abc", 3 } });
		} else {
			muster_pack_parts(&p, ring);
			muster_pack_part(&p, FIRST, "abc", 3);
		}
		p.length--;
		ck_assert_int_eq(came(tags[i], tags[i] == MUSTER_TAG_ENTER ? FIRST : 0, &p), -1);
		ck_assert_msg(strstr(err.text, "malformed") != NULL, "%s", err.text);
		p = (struct muster_packer){ .bytes = calloc(1, 1), .length = 0 };
		ck_assert_int_eq(came(tags[i], tags[i] == MUSTER_TAG_ENTER ? FIRST : 0, &p), -1);
	}
	ck_assert_int_eq(r.count, 0);
}

TEST_MAIN(.setup = setup, .teardown = teardown)
