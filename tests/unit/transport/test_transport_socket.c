/* test_transport_socket.c - the ranks of a node: what they say comes through, and so does their death; gates wait for
 * the living */
#include "util/text.h"
#include "muster/arena.h"
#include "coord/barrier.h"
#include "transport/transport_socket.h"

#include <check.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <poll.h>
#include <unistd.h>

enum { PATIENCE_MS = 20000 };

/* The next message, or a failed test. */
static struct muster_message await(void)
{
	struct muster_message message = { 0 };
	double until = muster_now_ms() + PATIENCE_MS;
	while (!muster_local_receive(&message)) {
		ck_assert_msg(muster_now_ms() < until, "no message came");
		poll(NULL, 0, 1);
	}
	return message;
}

START_TEST(a_rank_that_dies_is_the_last_that_is_heard_of_it)
{
	struct muster_error err;
	int rank = muster_local_start(3, &err);
	if (rank == 1) {
		muster_local_send(0, MUSTER_TAG_HELLO, "one", 3);
		raise(SIGKILL);
	}
	if (rank == 2) { /* stays until it is asked to go */
		struct muster_message message = await();
		_exit(message.tag == MUSTER_TAG_CANCEL ? 0 : 1);
	}
	ck_assert_int_eq(rank, 0);
	struct muster_message message = await();
	ck_assert_int_eq(message.tag, MUSTER_TAG_HELLO);
	ck_assert_int_eq(message.from, 1);
	ck_assert_str_eq(message.bytes, "one");
	muster_message_done(&message);
	message = await();
	ck_assert_int_eq(message.tag, MUSTER_TAG_PEER_DIED);
	ck_assert_int_eq(message.from, 1);
	muster_local_send(1, MUSTER_TAG_CANCEL, "", 0); /* to nobody */
	ck_assert(!muster_local_receive(&message));
	muster_local_send(2, MUSTER_TAG_CANCEL, "", 0);
	message = await();
	ck_assert_int_eq(message.tag, MUSTER_TAG_PEER_DIED);
	ck_assert_int_eq(message.from, 2);
	muster_local_end(0);
}
END_TEST

static void complete(void *arg, struct muster_barrier_set *barriers, struct muster_barrier *gate)
{
	(void)barriers;
	*(int *)arg = gate->id;
}

START_TEST(a_gate_does_not_wait_for_a_member_that_died)
{
	static const int members[] = { 4, 5, 6 };
	struct muster_barrier_set barriers;
	int settled = 0;
	double now = muster_now_ms();
	muster_barrier_set_init(&barriers, members, 3, now + 1e9);
	barriers.complete = complete;
	barriers.arg = &settled;
	muster_barrier_set_enter(&barriers, 7, 4, "", 0);
	muster_barrier_set_lost(&barriers, 5);
	muster_barrier_set_lost(&barriers, 99); /* no member */
	muster_barrier_set_poll(&barriers, now);
	ck_assert_int_eq(settled, 0);
	muster_barrier_set_enter(&barriers, 7, 6, "", 0);
	muster_barrier_set_poll(&barriers, now);
	ck_assert_int_eq(settled, 7);
	muster_barrier_set_done(&barriers);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("run_local");
	TCase *tcase = tcase_create("ranks and gates");
	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, a_rank_that_dies_is_the_last_that_is_heard_of_it);
	tcase_add_test(tcase, a_gate_does_not_wait_for_a_member_that_died);
	suite_add_tcase(suite, tcase);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
