/* SPDX-License-Identifier: Apache-2.0 */
/* test_transport_socket.c - the ranks of a node: what they say comes through, and so does their death */
#include "util/text.h"
#include "muster/arena.h"
#include "coord/message.h"
#include "transport/transport_socket.h"

#include "check_main.h"
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static struct muster_error err;

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

/* _i: rank 0 also writes to it before it reads */
TEST_LOOP(a_rank_that_dies_is_the_last_that_is_heard_of_it, 0, 2)
{
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
	ck_assert_int_eq(waitid(P_ALL, 0, &(siginfo_t){ 0 }, WEXITED | WNOWAIT), 0);
	if (_i)
		ck_assert_int_eq(muster_transport_send(t, 1, MUSTER_TAG_CANCEL, "", 0, &err), 0);
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

/* More than a socket holds, both ways at once: neither end waits for the other. */
TEST(large_messages_come_whole_and_in_their_order)
{
	enum { LARGE = 3000000, TIMES = 3 };
	struct muster_transport *t;
	char *bytes = muster_calloc(LARGE, 1);
	ck_assert_int_eq(muster_transport_socket_start(2, &muster_clock_monotonic, &t, &err), 0);
	for (int i = 0; i < TIMES; i++) {
		memset(bytes, 'a' + i + t->rank, LARGE);
		ck_assert_int_eq(muster_transport_send(t, 1 - t->rank, 1 + i, bytes, (size_t)(LARGE - i), &err), 0);
	}
	for (int i = 0; i < TIMES; i++) {
		struct muster_message message = await(t);
		memset(bytes, 'a' + i + 1 - t->rank, LARGE);
		ck_assert_int_eq(message.tag, 1 + i);
		ck_assert_uint_eq(message.length, (size_t)(LARGE - i));
		ck_assert_int_eq(memcmp(message.bytes, bytes, message.length), 0);
		ck_assert_int_eq(message.bytes[message.length], '\0');
		muster_message_done(&message);
	}
	free(bytes);
	int rank = t->rank;
	muster_transport_close(t, PATIENCE_MS);
	if (rank == 1)
		_exit(0);
}

/* The socket of this process to rank 0. */
static int socket_of_this_process(void)
{
	for (int fd = 0; fd < 256; fd++) {
		struct stat status;
		if (fstat(fd, &status) == 0 && S_ISSOCK(status.st_mode))
			return fd;
	}
	return -1;
}

TEST_LOOP(a_rank_that_sends_no_messages_counts_as_dead, 0, 2)
{
	const uint32_t headers[][2] = { { MUSTER_TAG_HELLO, MUSTER_MESSAGE_BYTES_MAX + 1 }, { 0, 0xffffffff } };
	struct muster_transport *t;
	ck_assert_int_eq(muster_transport_socket_start(2, &muster_clock_monotonic, &t, &err), 0);
	if (t->rank == 1) {
		ck_assert_int_eq(write(socket_of_this_process(), headers[_i], sizeof headers[_i]), sizeof headers[_i]);
		sleep(60); /* until it is ended */
	}
	struct muster_message message = await(t);
	ck_assert_int_eq(message.tag, MUSTER_TAG_PEER_DIED);
	ck_assert_int_eq(message.from, 1);
	muster_message_done(&message);
	ck_assert(!muster_transport_receive(t, &message));
	ck_assert_int_eq(muster_transport_send(t, 1, MUSTER_TAG_CANCEL, "", 0, &err), 0);
	muster_transport_close(t, 0);
}

TEST(ranks_other_than_0_reach_only_rank_0)
{
	struct muster_transport *t;
	ck_assert_int_eq(muster_transport_socket_start(3, &muster_clock_monotonic, &t, &err), 0);
	if (t->rank > 0) {
		const char *name = getenv("MUSTER_LOCAL_RANK");
		bool right = name && strtol(name, NULL, 10) == t->rank &&
			     muster_transport_send(t, 3 - t->rank, MUSTER_TAG_HELLO, "", 0, &err) < 0 &&
			     strstr(err.text, "only rank 0 can send to every rank of the node");
		muster_transport_send(t, 0, right ? MUSTER_TAG_HELLO : MUSTER_TAG_CANCEL, "", 0, &err);
		muster_transport_close(t, PATIENCE_MS);
		_exit(0);
	}
	ck_assert_ptr_null(getenv("MUSTER_LOCAL_RANK"));
	for (int i = 0; i < 4; i++) { /* two messages, two deaths */
		struct muster_message message = await(t);
		ck_assert(message.tag == MUSTER_TAG_HELLO || message.tag == MUSTER_TAG_PEER_DIED);
		muster_message_done(&message);
	}
	muster_transport_close(t, PATIENCE_MS);
}

static int open_descriptors(void)
{
	int count = 0;
	for (int fd = 0; fd < 256; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

/* A rank that held the end of another one's socket would keep that rank from seeing its death. */
TEST(a_rank_has_no_socket_but_its_own)
{
	struct muster_transport *t;
	int before = open_descriptors();
	ck_assert_int_eq(muster_transport_socket_start(4, &muster_clock_monotonic, &t, &err), 0);
	int more = open_descriptors() - before;
	if (t->rank > 0) {
		muster_transport_send(t, 0, MUSTER_TAG_HELLO, (const char *)&more, sizeof more, &err);
		muster_transport_close(t, PATIENCE_MS);
		_exit(0);
	}
	ck_assert_int_eq(more, 3);
	for (int i = 0; i < 3; i++) {
		struct muster_message message = await(t);
		while (message.tag != MUSTER_TAG_HELLO) {
			muster_message_done(&message);
			message = await(t);
		}
		memcpy(&more, message.bytes, sizeof more);
		ck_assert_int_eq(more, 1);
		muster_message_done(&message);
	}
	muster_transport_close(t, PATIENCE_MS);
}

TEST(ranks_that_do_not_end_are_killed_at_the_close)
{
	struct muster_transport *t;
	ck_assert_int_eq(muster_transport_socket_start(4, &muster_clock_monotonic, &t, &err), 0);
	if (t->rank > 0) {
		pid_t own = getpid();
		muster_transport_send(t, 0, MUSTER_TAG_HELLO, (const char *)&own, sizeof own, &err);
		if (t->rank == 3) /* this one ends */
			_exit(0);
		for (;;)
			muster_transport_wait(t, -1, muster_now_ms() + 1000);
	}
	pid_t pids[2];
	for (int i = 0; i < 2;) {
		struct muster_message message = await(t);
		if (message.tag == MUSTER_TAG_HELLO && message.from < 3) {
			memcpy(&pids[i], message.bytes, sizeof pids[i]);
			ck_assert_int_eq(kill(pids[i++], 0), 0);
		}
		muster_message_done(&message);
	}
	double began_ms = muster_now_ms();
	muster_transport_close(t, 30);
	ck_assert_double_ge(muster_now_ms() - began_ms, 30);
	for (int i = 0; i < 2; i++)
		ck_assert_int_ne(kill(pids[i], 0), 0);
}

TEST_MAIN(.timeout = 200)
