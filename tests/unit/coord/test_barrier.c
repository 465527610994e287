/* SPDX-License-Identifier: Apache-2.0 */
/* test_barrier.c - who is waited for at a barrier, and until when */
#include "coord/barrier.h"

#include "check_main.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SILENCE = 1000, LIMIT = 50000, RECORD_LIMIT = 60000 };

static const int ranks[] = { 2, 5, 9 };
static const struct muster_barrier_id peers = { MUSTER_BARRIER_PEERS, 0, 0, 0 },
				      turn = { MUSTER_BARRIER_TURN, 1, 0, 0 },
				      record = { MUSTER_BARRIER_RECORD, 0, 0, 0 };

static struct muster_barrier_set set;
static int completed, late;           /* how often each callback was called */
static char payloads[64];             /* of the last completed barrier: "-" for who is not there, a space after each */
static struct muster_barrier_id last; /* that was completed */
static size_t late_member;
static char late_payload[16];

static void complete(void *arg, struct muster_barrier *barrier, double now_ms)
{
	ck_assert_ptr_eq(arg, &set);
	ck_assert(barrier->complete);
	ck_assert_double_ge(now_ms, 0);
	completed++;
	last = barrier->id;
	size_t length = 0;
	for (size_t i = 0; i < set.count; i++) {
		const struct muster_barrier_entry *entry = &barrier->entries[i];
		length += (size_t)snprintf(
			payloads + length, sizeof payloads - length, "%s ", entry->here ? entry->bytes : "-");
		ck_assert(!entry->here || strlen(entry->bytes) == entry->length);
	}
}

static void late_entry(void *arg, struct muster_barrier *barrier, size_t member)
{
	ck_assert_ptr_eq(arg, &set);
	ck_assert(barrier->complete);
	late++;
	late_member = member;
	snprintf(late_payload, sizeof late_payload, "%s", barrier->entries[member].bytes);
}

static void setup(void)
{
	muster_barrier_set_init(&set, ranks, 3, 100);
	set.silence_ms = SILENCE;
	set.limit_ms = LIMIT;
	set.record_limit_ms = RECORD_LIMIT;
	set.complete = complete;
	set.late_entry = late_entry;
	set.arg = &set;
	completed = late = 0;
	*late_payload = '\0';
}

static void teardown(void)
{
	muster_barrier_set_done(&set);
	ck_assert_ptr_null(set.barriers);
}

static void enter(struct muster_barrier_id id, int rank, const char *text, double now_ms)
{
	muster_barrier_enter(&set, id, rank, text, strlen(text), now_ms);
}

static void all_alive(double now_ms)
{
	for (size_t i = 0; i < 3; i++)
		muster_barrier_heartbeat(&set, ranks[i], now_ms);
}

TEST(members_are_found_by_rank)
{
	static const int none[] = { -1, 0, 1, 3, 4, 6, 8, 10 };
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(muster_barrier_member(&set, ranks[i]), i);
	for (size_t i = 0; i < sizeof none / sizeof *none; i++)
		ck_assert_int_eq(muster_barrier_member(&set, none[i]), -1);
}

TEST(a_barrier_is_complete_when_all_have_entered)
{
	enter(peers, 9, "c", 101);
	enter(peers, 2, "a", 102);
	muster_barrier_poll(&set, 102);
	ck_assert_int_eq(completed, 0);
	enter(peers, 5, "", 103);
	ck_assert_int_eq(completed, 0); /* the owner is told in its turn */
	muster_barrier_poll(&set, 103);
	ck_assert_int_eq(completed, 1);
	ck_assert_str_eq(payloads, "a  c ");
	ck_assert(muster_barrier_same(last, peers));
	muster_barrier_poll(&set, 104);
	muster_barrier_poll(&set, LIMIT + 1);
	ck_assert_int_eq(completed, 1);
}

/* A job has hundreds of barriers, and rank 0 an entry of each node at each of them. */
TEST(a_barrier_that_all_have_entered_takes_no_more_memory)
{
	for (int i = 0; i < 6; i++)
		enter(i < 3 ? peers : turn, ranks[i % 3], "a", 101);
	muster_barrier_poll(&set, 101);
	ck_assert_int_eq(completed, 2);
	ck_assert_ptr_null(set.barriers);
	enter(peers, 9, "z", 102); /* a duplicate */
	enter(turn, 9, "z", 102);
	muster_barrier_poll(&set, LIMIT + 1);
	ck_assert_int_eq(completed + late, 2);
}

TEST(barriers_are_told_apart)
{
	struct muster_barrier_id next = turn;
	next.round++;
	enter(turn, 2, "a", 101);
	enter(turn, 5, "b", 101);
	enter(next, 9, "x", 101);
	all_alive(101);
	enter(peers, 9, "y", 101); /* earlier than what rank 9 is at */
	muster_barrier_poll(&set, 101);
	ck_assert_int_eq(completed, 0);
	enter(turn, 9, "c", 102);
	muster_barrier_poll(&set, 102);
	ck_assert_int_eq(completed, 1);
	ck_assert(muster_barrier_same(last, turn));
	ck_assert_str_eq(payloads, "a b c ");
}

TEST(a_member_that_lives_is_waited_for_until_the_limit)
{
	enter(turn, 2, "a", 101);
	enter(turn, 5, "b", 101);
	for (double now = 200; now < LIMIT; now += 200) {
		all_alive(now);
		muster_barrier_poll(&set, now);
		ck_assert_int_eq(completed, 0);
	}
	all_alive(LIMIT - 0.5);
	muster_barrier_poll(&set, LIMIT - 0.5);
	ck_assert_int_eq(completed, 0);
	muster_barrier_poll(&set, LIMIT);
	ck_assert_int_eq(completed, 1);
	ck_assert_str_eq(payloads, "a b - ");
}

TEST(the_last_barrier_has_a_limit_of_its_own)
{
	enter(record, 2, "a", LIMIT - 1);
	all_alive(LIMIT + 1);
	muster_barrier_poll(&set, LIMIT + 1);
	ck_assert_int_eq(completed, 0);
	ck_assert_double_le(muster_barrier_next(&set, LIMIT + 1), RECORD_LIMIT);
	all_alive(RECORD_LIMIT - 1);
	muster_barrier_poll(&set, RECORD_LIMIT - 1);
	ck_assert_int_eq(completed, 0);
	muster_barrier_poll(&set, RECORD_LIMIT);
	ck_assert_int_eq(completed, 1);
}

TEST(a_barrier_that_nobody_has_entered_is_none)
{
	muster_barrier_poll(&set, LIMIT + 1);
	ck_assert_int_eq(completed, 0);
	ck_assert(isinf(muster_barrier_next(&set, LIMIT + 1)));
}

TEST(a_member_that_was_silent_is_not_waited_for)
{
	enter(turn, 2, "a", 500);
	enter(turn, 5, "b", 500);
	muster_barrier_poll(&set, 1099);
	ck_assert(!muster_barrier_is_dead(&set, 2, 1099));
	ck_assert_int_eq(completed, 0);
	ck_assert(muster_barrier_is_dead(&set, 2, 1100)); /* it was last heard of at 100 */
	muster_barrier_poll(&set, 1110);
	ck_assert_int_eq(completed, 1);
	ck_assert_str_eq(payloads, "a b - ");
}

TEST(what_comes_from_a_member_shows_that_it_lives)
{
	enter(turn, 2, "a", 500);
	enter(turn, 5, "b", 500);
	muster_barrier_heartbeat(&set, 9, 1050);
	muster_barrier_heartbeat(&set, 2, 1400);
	muster_barrier_heartbeat(&set, 5, 1400);
	muster_barrier_heartbeat(&set, 7, 9000); /* no member */
	muster_barrier_poll(&set, 1500);
	ck_assert_int_eq(completed, 0);
	ck_assert(!muster_barrier_is_dead(&set, 2, 2049));
	enter(peers, 9, "", 1600); /* so does an entry */
	ck_assert(!muster_barrier_is_dead(&set, 2, 2599));
	ck_assert(muster_barrier_is_dead(&set, 2, 2600));
}

TEST(a_lost_member_is_not_waited_for_at_once)
{
	enter(turn, 2, "a", 101);
	muster_barrier_lost(&set, 7); /* no member */
	muster_barrier_lost(&set, 5);
	ck_assert(muster_barrier_is_dead(&set, 1, 101));
	ck_assert_double_le(muster_barrier_next(&set, 101), 101);
	muster_barrier_poll(&set, 101);
	ck_assert_int_eq(completed, 0); /* rank 9 lives */
	muster_barrier_lost(&set, 9);
	muster_barrier_poll(&set, 101);
	ck_assert_int_eq(completed, 1);
	ck_assert_str_eq(payloads, "a - - ");
}

TEST(what_a_member_brought_before_it_died_counts)
{
	enter(turn, 2, "a", 101);
	enter(turn, 5, "b", 101);
	muster_barrier_lost(&set, 5);
	enter(turn, 9, "c", 102);
	muster_barrier_poll(&set, 102);
	ck_assert_int_eq(completed, 1);
	ck_assert_str_eq(payloads, "a b c ");
}

TEST(a_member_that_is_further_on_is_not_waited_for)
{
	enter(turn, 2, "a", 101);
	enter(turn, 5, "b", 101);
	enter(peers, 9, "c", 101); /* where the others are further on */
	all_alive(111);
	muster_barrier_poll(&set, 111);
	ck_assert_int_eq(completed, 1);
	ck_assert(muster_barrier_same(last, peers));
	ck_assert_str_eq(payloads, "- - c ");
	enter(record, 9, "d", 112);
	enter((struct muster_barrier_id){ MUSTER_BARRIER_PEERS, 0, 1, 0 }, 9, "c", 113); /* does not put it back */
	all_alive(125);
	muster_barrier_poll(&set, 125);
	ck_assert_int_eq(completed, 3);
	ck_assert(muster_barrier_same(set.barriers->next->id, peers));
	ck_assert(muster_barrier_same(set.barriers->id, turn));
	ck_assert(set.barriers->complete && set.barriers->entries[0].here && !set.barriers->entries[2].here);
}

TEST(who_enters_a_complete_barrier_is_late)
{
	enter(turn, 2, "a", 101);
	muster_barrier_lost(&set, 5);
	muster_barrier_lost(&set, 9);
	muster_barrier_poll(&set, 101);
	ck_assert_int_eq(completed, 1);
	ck_assert_int_eq(late, 0);
	enter(turn, 9, "c", 102);
	ck_assert_int_eq(late, 1);
	ck_assert_uint_eq(late_member, 2);
	ck_assert_str_eq(late_payload, "c");
	ck_assert_ptr_null(set.barriers->entries[2].bytes);
	ck_assert_uint_eq(set.barriers->entered, 2);
	enter(turn, 9, "d", 103);
	ck_assert_int_eq(late, 1);
	enter(turn, 5, "b", 103);
	ck_assert_int_eq(late, 2);
	muster_barrier_poll(&set, 200);
	ck_assert_int_eq(completed, 1);
	ck_assert_ptr_null(set.barriers);
}

TEST(the_first_entry_of_a_member_counts)
{
	enter(turn, 2, "a", 101);
	enter(turn, 2, "z", 101);
	enter(turn, 2, "z", 101);
	muster_barrier_poll(&set, 101);
	ck_assert_int_eq(completed, 0);
	enter(turn, 5, "b", 101);
	enter(turn, 9, "c", 101);
	muster_barrier_poll(&set, 101);
	ck_assert_str_eq(payloads, "a b c ");
}

TEST(who_is_no_member_cannot_enter)
{
	enter(turn, 3, "x", 101);
	enter(turn, -1, "x", 101);
	ck_assert_ptr_null(set.barriers);
}

TEST(payloads_are_copied_with_a_nul_behind_them)
{
	char bytes[] = { 'a', '\0', 'b' };
	muster_barrier_enter(&set, turn, 5, bytes, sizeof bytes, 101);
	memset(bytes, 'x', sizeof bytes);
	const struct muster_barrier_entry *entry = &set.barriers->entries[1];
	ck_assert(entry->here);
	ck_assert_uint_eq(entry->length, 3);
	ck_assert_mem_eq(entry->bytes, "a\0b", 4);
}

TEST(the_next_moment_is_when_something_may_be_complete)
{
	ck_assert(isinf(muster_barrier_next(&set, 101)));
	enter(turn, 2, "a", 101);
	/* who is silent is looked up a hundred times in the silence that counts */
	ck_assert_double_eq_tol(muster_barrier_next(&set, 101), 100 + SILENCE / 100.0, 1e-9);
	muster_barrier_poll(&set, 105); /* too early to look */
	ck_assert_double_eq_tol(muster_barrier_next(&set, 105), 100 + SILENCE / 100.0, 1e-9);
	muster_barrier_poll(&set, 115);
	ck_assert_double_eq_tol(muster_barrier_next(&set, 115), 115 + SILENCE / 100.0, 1e-9);
	set.limit_ms = 120;
	ck_assert_double_eq_tol(muster_barrier_next(&set, 115), 120, 1e-9);
	enter(turn, 5, "b", 116);
	enter(turn, 9, "c", 116);
	ck_assert_double_eq_tol(muster_barrier_next(&set, 116), 116, 1e-9);
	muster_barrier_poll(&set, 116);
	ck_assert(isinf(muster_barrier_next(&set, 116)));
	enter(record, 9, "c", 117); /* the soonest of several barriers */
	set.record_limit_ms = 119;
	ck_assert_double_eq_tol(muster_barrier_next(&set, 117), 119, 1e-9);
	enter((struct muster_barrier_id){ MUSTER_BARRIER_RING, 1, 1, 0 }, 9, "c", 117);
	set.limit_ms = 118;
	ck_assert_double_eq_tol(muster_barrier_next(&set, 117), 118, 1e-9);
}

/* ---- their order ---- */

/* In the order in which every rank enters them. */
static const struct muster_barrier_id ordered[] = {
	{ MUSTER_BARRIER_NONE, 0, 0, 0 },
	{ MUSTER_BARRIER_PEERS, 0, 0, 0 },
	{ MUSTER_BARRIER_RING, 3, 0, 0 }, /* the first round of a ring only begins */
	{ MUSTER_BARRIER_RING_ID, 3, 0, 0 },
	{ MUSTER_BARRIER_RING, 4, 0, 0 },
	{ MUSTER_BARRIER_RING_ID, 4, 0, 0 },
	{ MUSTER_BARRIER_TURN, 1, 0, 0 },
	{ MUSTER_BARRIER_TURN, 1, 1, 0 },
	{ MUSTER_BARRIER_TURN, 2, 0, 0 },
	{ MUSTER_BARRIER_RING, 3, 1, 0 },
	{ MUSTER_BARRIER_RING_ID, 3, 1, 0 },
	{ MUSTER_BARRIER_RING, 4, 1, 0 },
	{ MUSTER_BARRIER_RING_ID, 4, 1, 0 },
	{ MUSTER_BARRIER_TURN, 1, 0, 1 },
	{ MUSTER_BARRIER_RING, 3, 0, 1 },
	{ MUSTER_BARRIER_RING, 3, 1, 1 },
	{ MUSTER_BARRIER_RECORD, 0, 0, 1 },
	{ MUSTER_BARRIER_TURN, 2, 0, 2 },
	{ MUSTER_BARRIER_RING, 3, 0, 2 },
	{ MUSTER_BARRIER_RECORD, 0, 0, 2 },
};

static const struct test_fixture bare = { 0 };

TEST_WITH(barriers_are_in_one_order, .end = 1, .fixture = &bare)
{
	for (size_t i = 0; i < sizeof ordered / sizeof *ordered; i++)
		for (size_t k = 0; k < sizeof ordered / sizeof *ordered; k++) {
			ck_assert_msg(muster_barrier_before(ordered[i], ordered[k]) == (i < k), "%zu, %zu", i, k);
			ck_assert_msg(muster_barrier_same(ordered[i], ordered[k]) == (i == k), "%zu, %zu", i, k);
		}
}

TEST_WITH(rings_and_records_are_of_the_job, .end = 1, .fixture = &bare)
{
	for (int kind = 0; kind < MUSTER_BARRIER_KIND_COUNT; kind++)
		ck_assert(muster_barrier_is_of_job((struct muster_barrier_id){
				  .kind = (enum muster_barrier_kind)kind }) == (kind >= MUSTER_BARRIER_RING));
}

TEST_MAIN(.setup = setup, .teardown = teardown)
