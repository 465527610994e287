/* test_transport_socket.c - the ranks of a node: what they say comes through, and so does their death */
#include "util/text.h"
#include "muster/arena.h"
#include "coord/message.h"
#include "transport/transport_socket.h"

#include <check.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <poll.h>
#include <unistd.h>

enum { PATIENCE_MS = 20000 };

/* The next message, or a failed test. */
static struct muster_message await(struct muster_transport *t)
{
	struct muster_message message = { 0 };
	double until = muster_now_ms() + PATIENCE_MS;
	while (!muster_transport_receive(t, &message)) {
		ck_assert_msg(muster_now_ms() < until, "no message came");
		poll(NULL, 0, 1);
	}
	return message;
}

START_TEST(a_rank_that_dies_is_the_last_that_is_heard_of_it)
{
	struct muster_error err;
	struct muster_transport *t;
	ck_assert_int_eq(muster_transport_socket_start(3, &muster_clock_monotonic, &t, &err), 0);
	int rank = t->rank;
	if (rank == 1) {
		muster_transport_send(t, 0, MUSTER_TAG_HELLO, "one", 3, &err);
		raise(SIGKILL);
	}
	if (rank == 2) { /* stays until it is asked to go */
		struct muster_message message = await(t);
		_exit(message.tag == MUSTER_TAG_CANCEL ? 0 : 1);
	}
	ck_assert_int_eq(rank, 0);
	struct muster_message message = await(t);
	ck_assert_int_eq(message.tag, MUSTER_TAG_HELLO);
	ck_assert_int_eq(message.from, 1);
	ck_assert_str_eq(message.bytes, "one");
	muster_message_done(&message);
	message = await(t);
	ck_assert_int_eq(message.tag, MUSTER_TAG_PEER_DIED);
	ck_assert_int_eq(message.from, 1);
	muster_message_done(&message);
	ck_assert_int_eq(muster_transport_send(t, 1, MUSTER_TAG_CANCEL, "", 0, &err), 0); /* to a rank that has died */
	ck_assert(!muster_transport_receive(t, &message));
	muster_transport_send(t, 2, MUSTER_TAG_CANCEL, "", 0, &err);
	message = await(t);
	ck_assert_int_eq(message.tag, MUSTER_TAG_PEER_DIED);
	ck_assert_int_eq(message.from, 2);
	muster_message_done(&message);
	muster_transport_close(t, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("transport_socket");
	TCase *tcase = tcase_create("ranks");
	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, a_rank_that_dies_is_the_last_that_is_heard_of_it);
	suite_add_tcase(suite, tcase);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
