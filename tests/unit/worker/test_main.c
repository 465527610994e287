/* SPDX-License-Identifier: Apache-2.0 */
/* test_main.c - a worker sees that its command is called off, however the words come in */
#include "worker/main.c"

#include "check_main.h"

static struct worker worker;
static int commands; /* the supervisor's end */

static void start(void)
{
	int ends[2];
	ck_assert_int_eq(pipe(ends), 0);
	ck_assert_int_eq(dup2(ends[0], MUSTER_WORKER_COMMANDS), MUSTER_WORKER_COMMANDS);
	commands = ends[1] == MUSTER_WORKER_COMMANDS ? -1 : ends[1];
	ck_assert_int_ge(commands, 0);
	worker = (struct worker){ .ctx = { .sink = &sink, .arg = &worker } };
	fcntl(MUSTER_WORKER_COMMANDS, F_SETFL, O_NONBLOCK);
	muster_line_reader_init(&worker.commands, MUSTER_WORKER_COMMANDS, MUSTER_PROTOCOL_COMMAND_MAX);
}

static void say(const char *text)
{
	ck_assert_int_eq(write(commands, text, strlen(text)), (ssize_t)strlen(text));
}

static void expect_command(const char *text)
{
	const char *got;
	size_t length;
	ck_assert_int_eq(next_command(&worker, -1, &got, &length), 1);
	ck_assert_uint_eq(length, strlen(text));
	ck_assert_str_eq(got, text);
}

static void expect_called_off(const char *why)
{
	struct muster_error err = { 0 };
	ck_assert_int_eq(muster_cancelled(&worker.ctx, &err), why ? -1 : 0);
	if (why) {
		ck_assert_int_eq(err.code, MUSTER_ECALLEDOFF);
		ck_assert_str_eq(err.text, why);
	}
}

#define ABORT "{\"do\": \"abort\", \"why\": \"rank 2's worker crashed\"}\n"

TEST(it_may_come_later)
{
	say("{\"do\": \"ring\"}\n");
	expect_command("{\"do\": \"ring\"}");
	expect_called_off(NULL);
	say(ABORT);
	expect_called_off("cancelled: rank 2's worker crashed");
	expect_called_off("cancelled: rank 2's worker crashed");
	say("{\"do\": \"next\"}\n");
	expect_command("{\"do\": \"next\"}");
}

TEST(it_may_come_with_the_command)
{
	say("{\"do\": \"ring\"}\n" ABORT "{\"do\": \"next\"}\n");
	expect_command("{\"do\": \"ring\"}");
	expect_called_off("cancelled: rank 2's worker crashed");
	expect_command("{\"do\": \"next\"}");
}

TEST(it_may_come_in_pieces)
{
	say("{\"do\": \"ring\"}\n{\"do\": \"ab");
	expect_command("{\"do\": \"ring\"}");
	expect_called_off(NULL);
	say("ort\", \"why\": \"x\"}");
	expect_called_off(NULL);
	say("\n");
	expect_called_off("cancelled: x");
}

TEST(it_may_come_too_late)
{
	const char *text;
	size_t length;
	say(ABORT "{\"do\": \"quit\"}\n");
	ck_assert_int_eq(next_command(&worker, -1, &text, &length), 1);
	ck_assert(obey(&worker, text, length));
	ck_assert_int_eq(next_command(&worker, -1, &text, &length), 1);
	ck_assert(!obey(&worker, text, length));
}

TEST(a_supervisor_that_is_gone_needs_nothing_any_more)
{
	say("{\"do\": \"ring\"}\n");
	expect_command("{\"do\": \"ring\"}");
	close(commands);
	expect_called_off("cancelled: the supervisor has exited");
	const char *text;
	size_t length;
	ck_assert_int_eq(next_command(&worker, -1, &text, &length), -1);
}

TEST(a_command_longer_than_what_is_read_at_once_is_whole)
{
	static char text[60000];
	const char *got;
	size_t length;
	memset(text, 'x', sizeof text - 2);
	text[sizeof text - 2] = '\n';
	say(text);
	ck_assert_int_eq(next_command(&worker, -1, &got, &length), 1);
	ck_assert_uint_eq(length, sizeof text - 2);
}

TEST_MAIN(.setup = start)
