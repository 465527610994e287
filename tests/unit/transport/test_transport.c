/* SPDX-License-Identifier: Apache-2.0 */
/* test_transport.c - what all transports share, and the one in a single process with a virtual clock */
#include "coord/transport_loop.h"
#include "muster/arena.h"

#include "check_main.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS = 4, TAG = 7, MESSAGES = 200 };

static struct muster_loop *loop;
static struct muster_loop_hooks hooks;
static struct muster_error err;

static void start(void)
{
	loop = muster_loop_new(RANKS, 0, &hooks);
}

static void setup(void)
{
	hooks = (struct muster_loop_hooks){ 0 };
	loop = NULL;
}

static void teardown(void)
{
	muster_loop_free(loop);
}

static struct muster_transport *endpoint(int rank)
{
	return muster_loop_endpoint(loop, rank);
}

static void send_text(int from, int to, const char *text)
{
	ck_assert_msg(muster_transport_send(endpoint(from), to, TAG, text, strlen(text), &err) == 0, "%s", err.text);
}

static double now(int rank)
{
	return muster_clock_now(endpoint(rank)->clock);
}

/* ---- what all transports share ---- */

TEST(a_message_that_is_too_large_names_both_ranks)
{
	char bytes[11] = "";
	start();
	ck_assert_uint_eq(endpoint(1)->bytes_max, MUSTER_MESSAGE_BYTES_MAX);
	for (int to = 0; to < RANKS; to++) { /* to oneself too */
		char words[64];
		endpoint(1)->bytes_max = 10;
		ck_assert_int_eq(muster_transport_send(endpoint(1), to, TAG, bytes, 10, &err), 0);
		ck_assert_int_eq(muster_transport_send(endpoint(1), to, TAG, bytes, 11, &err), -1);
		ck_assert_int_eq(err.code, MUSTER_EPROTOCOL);
		snprintf(words, sizeof words, "rank 1 cannot send to rank %d", to);
		ck_assert_msg(strstr(err.text, words) && strstr(err.text, "11 bytes") && strstr(err.text, "at most 10"),
			"%s", err.text);
	}
}

TEST(there_is_no_rank_beyond_the_job)
{
	static const int none[] = { -1, RANKS, RANKS + 1 };
	start();
	for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
		char words[64];
		ck_assert_int_eq(muster_transport_send(endpoint(2), none[i], TAG, "", 0, &err), -1);
		ck_assert_int_eq(err.code, MUSTER_EPROTOCOL);
		snprintf(words, sizeof words, "rank 2 cannot send to rank %d: the job has 4 ranks", none[i]);
		ck_assert_str_eq(err.text, words);
	}
	ck_assert_uint_eq(muster_loop_messages(loop), 0);
}

TEST(messages_to_oneself_come_in_their_order)
{
	struct muster_message message;
	char text[8];
	start();
	ck_assert(!muster_transport_receive(endpoint(3), &message));
	for (int round = 0; round < 2; round++) { /* also after none was left */
		for (int i = 0; i < 3; i++) {
			snprintf(text, sizeof text, "m%d", i);
			send_text(3, 3, text);
		}
		for (int i = 0; i < 3; i++) {
			snprintf(text, sizeof text, "m%d", i);
			ck_assert(muster_transport_receive(endpoint(3), &message));
			ck_assert_int_eq(message.from, 3);
			ck_assert_int_eq(message.tag, TAG);
			ck_assert_uint_eq(message.length, 2);
			ck_assert_str_eq(message.bytes, text);
			ck_assert_ptr_null(message.next);
			muster_message_done(&message);
			ck_assert_ptr_null(message.bytes);
		}
		ck_assert(!muster_transport_receive(endpoint(3), &message));
	}
	ck_assert_uint_eq(muster_loop_messages(loop), 0);
	send_text(3, 3, "left");
	muster_transport_close(endpoint(3), 0); /* frees it */
	ck_assert_ptr_null(endpoint(3)->own);
}

TEST(who_has_a_message_to_itself_does_not_sleep)
{
	start();
	send_text(3, 3, "a");
	muster_transport_wait(endpoint(3), -1, 1e9); /* outside of muster_loop_run, a sleep would crash */
}

/* ---- the loop ---- */

/* Wait for the next message of another rank, until the virtual time. */
static bool await(int rank, double until_ms, struct muster_message *ret)
{
	while (now(rank) < until_ms) {
		if (muster_transport_receive(endpoint(rank), ret))
			return true;
		muster_transport_wait(endpoint(rank), -1, until_ms);
	}
	return false;
}

static uint32_t random_state;

static double random_delay(void *arg, int from, int to, int tag, size_t length, int *copies)
{
	(void)arg;
	(void)length;
	ck_assert(from > 0 && to == 0 && tag == TAG && *copies == 1);
	random_state = random_state * 1664525 + 1013904223; /* Numerical Recipes' generator */
	return (random_state >> 16) % 1000;
}

static void order_main(void *arg, int rank)
{
	struct muster_message message;
	int next[RANKS] = { 0 };
	double last_ms = 0;
	int *ret_count = arg, changes = 0, previous = 0;
	for (int i = 0; rank > 0 && i < MESSAGES; i++) {
		int number[2] = { rank, i };
		ck_assert_int_eq(
			muster_transport_send(endpoint(rank), 0, TAG, (const char *)number, sizeof number, &err), 0);
	}
	while (rank == 0 && *ret_count < (RANKS - 1) * MESSAGES) {
		int number[2];
		ck_assert(await(0, 1e6, &message));
		ck_assert_double_ge(now(0), last_ms);
		last_ms = now(0);
		memcpy(number, message.bytes, sizeof number);
		ck_assert_int_eq(number[0], message.from);
		ck_assert_int_eq(number[1], next[message.from]++);
		changes += message.from != previous;
		previous = message.from;
		muster_message_done(&message);
		++*ret_count;
	}
	ck_assert(rank > 0 || changes > RANKS); /* the senders' messages are mixed */
}

TEST_LOOP(messages_of_one_rank_keep_their_order_whatever_each_takes, 0, 5)
{
	int count = 0;
	random_state = (uint32_t)_i;
	hooks.send = random_delay;
	start();
	double end_ms = muster_loop_run(loop, NULL, order_main, &count);
	ck_assert_int_eq(count, (RANKS - 1) * MESSAGES);
	ck_assert_uint_eq(muster_loop_messages(loop), (RANKS - 1) * MESSAGES);
	ck_assert(end_ms > 900 && end_ms < 1001);
	ck_assert_double_eq(end_ms, muster_loop_now(loop));
}

enum { MANY = 40 };

/* The later a message is sent, the less time it would take. */
static double shrinking_delay(void *arg, int from, int to, int tag, size_t length, int *copies)
{
	(void)arg;
	(void)from;
	(void)to;
	(void)length;
	(void)copies;
	return 300 - 100 * tag;
}

static void mesh_main(void *arg, int rank)
{
	int *received = arg, next[MANY] = { 0 };
	struct muster_message message;
	for (int tag = 0; tag < 3; tag++)
		for (int to = 0; to < MANY; to++)
			if (to != rank)
				ck_assert_int_eq(muster_transport_send(endpoint(rank), to, tag, "", 0, &err), 0);
	while (await(rank, 1000, &message)) {
		ck_assert_int_eq(message.tag, next[message.from]++);
		muster_message_done(&message);
		++*received;
	}
}

TEST(every_pair_of_many_ranks_keeps_its_order)
{
	int received = 0;
	hooks.send = shrinking_delay;
	loop = muster_loop_new(MANY, 0, &hooks);
	muster_loop_run(loop, NULL, mesh_main, &received);
	ck_assert_int_eq(received, 3 * MANY * (MANY - 1));
}

static double fixed_delay(void *arg, int from, int to, int tag, size_t length, int *copies)
{
	int *wanted = arg;
	(void)from;
	(void)to;
	(void)tag;
	ck_assert_uint_eq(length, 3);
	*copies = *wanted;
	return 25;
}

static void copies_main(void *arg, int rank)
{
	int *wanted = arg, came = 0;
	struct muster_message message;
	if (rank == 1)
		send_text(1, 0, "abc");
	if (rank != 0)
		return;
	while (await(0, 1000, &message)) {
		ck_assert_double_eq_tol(now(0), 25, 1e-9);
		ck_assert_str_eq(message.bytes, "abc");
		ck_assert_uint_eq(message.length, 3);
		muster_message_done(&message);
		came++;
	}
	ck_assert_int_eq(came, *wanted);
	ck_assert_double_eq_tol(now(0), 1000, 1e-9);
}

TEST_LOOP(a_message_comes_as_often_as_the_hook_says, 0, 4)
{
	hooks.send = fixed_delay;
	hooks.arg = &_i;
	start();
	muster_loop_run(loop, NULL, copies_main, &_i);
	ck_assert_uint_eq(muster_loop_messages(loop), 1);
}

/* Rank 2 dies at 100 ms by rank 1's hand, after it has sent one message; later ones do not count. */
static void kill_main(void *arg, int rank)
{
	struct muster_message message;
	int *ends = arg;
	if (rank == 2) {
		send_text(2, 0, "alive");
		while (now(2) < 1e12) /* each look at a dead rank's clock is later than each deadline */
			ck_assert(!await(2, now(2) + 1000, &message));
		send_text(2, 0, "dead");
		ck_assert(!muster_transport_receive(endpoint(2), &message));
	} else if (rank == 1) {
		await(1, 100, &message);
		ck_assert(!muster_loop_is_dead(loop, 2));
		muster_loop_kill(loop, 2);
		muster_loop_kill(loop, 2);
		ck_assert(muster_loop_is_dead(loop, 2));
		send_text(1, 2, "to nobody"); /* no error */
	} else if (rank == 0) {
		ck_assert(await(0, 1000, &message));
		ck_assert_str_eq(message.bytes, "alive");
		muster_message_done(&message);
		if (hooks.tells_of_deaths) {
			ck_assert(await(0, 1000, &message));
			ck_assert_int_eq(message.tag, MUSTER_TAG_PEER_DIED);
			ck_assert_int_eq(message.from, 2);
			ck_assert_uint_eq(message.length, 0);
			ck_assert(now(0) >= 100 && now(0) < 101);
			muster_message_done(&message);
		}
		ck_assert(!await(0, 1000, &message));
	}
	++*ends;
}

/* _i: whether the transport tells of deaths */
TEST_LOOP(nothing_comes_from_a_rank_that_died, 0, 2)
{
	int ends = 0;
	hooks.tells_of_deaths = _i;
	start();
	double end_ms = muster_loop_run(loop, NULL, kill_main, &ends);
	ck_assert_int_eq(ends, RANKS); /* the dead one's function too */
	ck_assert_double_eq_tol(end_ms, 1000, 1e-9);
}

static void orphans_main(void *arg, int rank)
{
	int *outlived = arg;
	struct muster_message message;
	if (rank == 0) {
		await(0, 50, &message);
		muster_loop_kill(loop, 0);
		return;
	}
	await(rank, 1000, &message);
	*outlived += !muster_loop_is_dead(loop, rank);
}

/* _i: whether the transport tells of deaths */
TEST_LOOP(ranks_that_rank_0_started_do_not_outlive_it, 0, 2)
{
	int outlived = 0;
	hooks.tells_of_deaths = _i;
	start();
	double end_ms = muster_loop_run(loop, NULL, orphans_main, &outlived);
	ck_assert_int_eq(outlived, _i ? 0 : RANKS - 1);
	ck_assert_double_eq_tol(end_ms, _i ? 50 : 1000, 1e-9);
}

static double stand_still(void *arg, int rank)
{
	int *turns = arg;
	turns[rank]++;
	return rank == 1 && turns[1] == 2 ? 500 : rank == 2 && turns[2] == 2 ? -1 : 0;
}

static void turns_main(void *arg, int rank)
{
	double *woke_ms = arg;
	struct muster_message message;
	if (rank == 0) { /* does not wake who stands still */
		await(0, 200, &message);
		send_text(0, 1, "a");
	}
	muster_transport_wait(endpoint(rank), -1, 100);
	woke_ms[rank] = now(rank);
	if (rank == 1)
		ck_assert(muster_transport_receive(endpoint(1), &message));
	if (rank == 1)
		muster_message_done(&message);
}

TEST(a_rank_stands_still_or_dies_at_a_turn)
{
	int turns[RANKS] = { 0 };
	double woke_ms[RANKS];
	hooks.turn = stand_still;
	hooks.arg = turns;
	start();
	muster_loop_run(loop, NULL, turns_main, woke_ms);
	ck_assert_double_eq_tol(woke_ms[0], 200, 1e-9);
	ck_assert_double_eq_tol(woke_ms[1], 600, 1e-9);
	ck_assert(muster_loop_is_dead(loop, 2) && woke_ms[2] > 1e12);
	ck_assert_double_eq_tol(woke_ms[3], 100, 1e-9);
	ck_assert_uint_eq(muster_loop_turns(loop), 8);
	ck_assert(!muster_loop_is_dead(loop, 1) && !muster_loop_is_dead(loop, 3));
}

static void wake_main(void *arg, int rank)
{
	double *woke_ms = arg;
	if (rank == 1) {
		muster_loop_wake(loop, 1, 30);
		muster_transport_wait(endpoint(1), -1, 200);
	} else if (rank == 2) { /* a wait that is over has its own end, and does not end the next one */
		muster_transport_wait(endpoint(2), -1, 20);
		muster_loop_wake(loop, 2, 60);
		muster_transport_wait(endpoint(2), -1, 40);
		muster_transport_wait(endpoint(2), -1, 90);
	} else if (rank == 3) {
		muster_transport_wait(endpoint(3), -1, 5); /* it started at 7: no wait at all */
	}
	woke_ms[rank] = now(rank);
}

TEST(a_wait_ends_at_the_earliest_of_its_moments)
{
	static const double starts[RANKS] = { 3, 0, 0, 7 };
	double woke_ms[RANKS];
	start();
	double end_ms = muster_loop_run(loop, starts, wake_main, woke_ms);
	ck_assert_double_eq_tol(woke_ms[0], 3, 1e-9);
	ck_assert_double_eq_tol(woke_ms[1], 30, 1e-9);
	ck_assert_double_eq_tol(woke_ms[2], 90, 1e-9);
	ck_assert_double_eq_tol(woke_ms[3], 7, 1e-9);
	ck_assert_double_eq_tol(end_ms, 90, 1e-9);
}

/* Rank 2 is dead from 10 ms on; rank 1 leaves a message unread. */
static void no_sleep_main(void *arg, int rank)
{
	int *ends = arg;
	if (rank == 0) {
		send_text(0, 1, "a");
		send_text(0, 1, "b");
	} else if (rank == 1) {
		struct muster_message message;
		muster_transport_wait(endpoint(1), -1, 50); /* until the first one comes */
		double came_ms = now(1);
		muster_transport_wait(endpoint(1), -1, 50);
		ck_assert_double_eq(now(1), came_ms);
		ck_assert(muster_transport_receive(endpoint(1), &message));
		muster_message_done(&message);
		muster_transport_wait(endpoint(1), -1, 10);
		muster_loop_kill(loop, 2);
	} else if (rank == 2) {
		muster_transport_wait(endpoint(2), -1, 100);
		muster_transport_wait(endpoint(2), -1, 1e9);
	}
	++*ends;
}

TEST(who_has_a_message_or_is_dead_does_not_sleep)
{
	int ends = 0;
	start();
	ck_assert_double_lt(muster_loop_run(loop, NULL, no_sleep_main, &ends), 11);
	ck_assert_int_eq(ends, RANKS);
}

static void left_main(void *arg, int rank)
{
	(void)arg;
	if (rank > 0)
		send_text(rank, 0, "nobody reads this");
	send_text(rank, rank, "nor this");
}

TEST(what_nobody_received_is_freed)
{
	start();
	muster_loop_run(loop, NULL, left_main, NULL); /* a leak checker sees what is not */
	ck_assert_uint_eq(muster_loop_messages(loop), RANKS - 1);
}

TEST_MAIN(.setup = setup, .teardown = teardown)
