/* SPDX-License-Identifier: Apache-2.0 */
/* test_child.c - a program is run to its end or to its deadline, and what it printed is kept
 *
 * This program has a poll of its own, which may say that there is always more to read.
 */
#include "util/child.h"
#include "util/text.h"

#include "check_main.h"
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct muster_child_output output;
static struct muster_error err;

static bool endless; /* each pipe has something to read at any time */

int poll(struct pollfd *fds, nfds_t count, int ms)
{
	const struct timespec time = { .tv_nsec = ms * 1000000L };
	int ready = ppoll(fds, count, &time, NULL);
	for (nfds_t i = 0; endless && i < count; i++)
		fds[i].revents = POLLIN;
	return endless && count > 0 ? (int)count : ready;
}

static void teardown(void)
{
	muster_child_output_done(&output);
}

static int sh(const char *script, int deadline_ms)
{
	const char *const argv[] = { "/bin/sh", "-c", script, NULL };
	return muster_child_run(argv, deadline_ms, &output, &err);
}

static void ends(const char *script)
{
	ck_assert_msg(sh(script, 60000) == 0, "%s", err.text);
}

static const struct {
	const char *script, *out, *error;
	int exit_code;
} cases[] = {
	{ "echo one; echo two >&2; exit 7", "one\n", "two\n", 7 }, { "exit 0", "", "", 0 },
	{ "cat", "", "", 0 }, /* nothing to read */
	{ "kill -9 $$", "", "", 137 }, { "echo a; sleep 0.1; echo b", "a\nb\n", "", 0 },
	{ "echo here; sleep 150 & exit 3", "here\n", "", 3 }, /* who inherits the pipe is not waited for */
};

TEST_EACH(what_a_program_prints_and_how_it_ends_are_told, cases)
{
	ends(cases[_i].script);
	ck_assert_str_eq(output.out, cases[_i].out);
	ck_assert_str_eq(output.error, cases[_i].error);
	ck_assert_int_eq(output.exit_code, cases[_i].exit_code);
	ck_assert(!output.cut);
}

/* The end may be seen before the last output or after it: often enough for both. */
TEST(no_end_is_missed)
{
	for (int i = 0; i < 200; i++) {
		const char *const argv[] = { "echo", "x", NULL };
		ck_assert_msg(muster_child_run(argv, 60000, &output, &err) == 0, "%s", err.text);
		ck_assert_str_eq(output.out, "x\n");
		muster_child_output_done(&output);
	}
}

TEST(a_program_past_its_deadline_is_killed_with_its_children)
{
	ck_assert_int_eq(sh("trap '' TERM; sleep 1000 & wait", 200), -1);
	ck_assert_int_eq(err.code, MUSTER_ETIME);
	ck_assert_str_eq(err.text, "/bin/sh gave no answer within 0.2 s");
}

TEST(a_flood_is_cut)
{
	ends("head -c 70000000 /dev/zero | tr '\\0' x");
	ck_assert_uint_eq(strlen(output.out), MUSTER_CHILD_OUTPUT_MAX);
	ck_assert(output.cut);
}

TEST(a_child_that_writes_without_end_is_read_until_the_deadline)
{
	endless = true;
	ck_assert_msg(sh("sleep 150 & exit 3", 3000) == 0, "%s", err.text);
	ck_assert_int_eq(output.exit_code, 3);
}

static const struct {
	const char *program, *said;
} absent[] = { { "muster-has-none", "muster-has-none is not in PATH" },
	{ "/usr/none/x", "/usr/none/x: No such file or directory" } };

TEST_EACH(a_program_that_is_not_there_is_named, absent)
{
	const char *const argv[] = { absent[_i].program, NULL };
	ck_assert_int_eq(muster_child_run(argv, 1000, &output, &err), -1);
	ck_assert_int_eq(err.code, MUSTER_ENOTSUPPORTED);
	ck_assert_str_eq(err.text, absent[_i].said);
}

/* As after muster has lost a race: the kernel forgets a child at once. */
TEST(one_that_somebody_else_reaped_is_gone)
{
	int status = 0;
	pid_t pid;
	ck_assert_int_eq(muster_child_fork(false, &pid, &err), 0);
	if (pid == 0)
		_exit(3);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	ck_assert(muster_child_ended(pid, 60000, &status));
	ck_assert_int_eq(status, MUSTER_CHILD_STATUS_UNKNOWN);
	ck_assert_int_eq(muster_child_exit_code(status), 255);
}

TEST(one_that_ended_before_it_is_killed_keeps_its_status)
{
	int status = 0;
	siginfo_t info;
	pid_t pid;
	ck_assert_int_eq(muster_child_fork(true, &pid, &err), 0);
	if (pid == 0)
		_exit(3);
	ck_assert_int_eq(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	ck_assert(muster_child_kill(pid, 60000, &status));
	ck_assert_int_eq(muster_child_exit_code(status), 3);
}

TEST(the_end_is_seen_when_whoever_started_us_ignores_sigchld)
{
	signal(SIGCHLD, SIG_IGN);
	ends("kill -9 $$");
	ck_assert_int_eq(output.exit_code, 137);
}

TEST(a_program_gets_the_descriptors_named_and_no_other)
{
	int ends[2], status = -1;
	char text[256] = "";
	pid_t pid;
	ck_assert_int_eq(pipe(ends), 0);
	ck_assert_int_ge(fcntl(ends[0], F_DUPFD, 100), 100);
	const char *const argv[] = { "sh", "-c", "cd /proc/self/fd && echo * >&3; read x || echo empty >&3", NULL };
	/* 1 and 2 change places with what is not there, and the pipe's end may be any of these numbers */
	const struct muster_child how = { .argv = argv,
		.descriptors = { -1, 2, 1, ends[1] },
		.descriptor_count = 4,
		.flags = MUSTER_CHILD_CLOSED | MUSTER_CHILD_BOUND };
	ck_assert_int_eq(muster_child_start(&how, &pid, &err), 0);
	ck_assert(muster_child_ended(pid, 60000, &status));
	ck_assert_int_eq(status, 0);
	ck_assert_int_gt(read(ends[0], text, sizeof text - 1), 0);
	/* the shell's own descriptor of the folder is 4 or none */
	ck_assert_msg(strcmp(text, "0 1 2 3\nempty\n") == 0 || strcmp(text, "0 1 2 3 4\nempty\n") == 0, "%s", text);
}

TEST(a_bound_program_does_not_outlive_its_starter)
{
	int ends[2];
	char byte;
	pid_t pid, inner;
	ck_assert_int_eq(pipe(ends), 0);
	ck_assert_int_eq(muster_child_fork(false, &pid, &err), 0);
	if (pid == 0) {
		const char *const argv[] = { "sleep", "1000", NULL };
		const struct muster_child how = { .argv = argv, .flags = MUSTER_CHILD_BOUND | MUSTER_CHILD_AWAITED };
		_exit(muster_child_start(&how, &inner, &err) < 0);
	}
	close(ends[1]);
	ck_assert_int_eq(read(ends[0], &byte, 1), 0); /* when nobody has the other end any more */
	int status = -1;
	ck_assert(muster_child_ended(pid, 60000, &status));
	ck_assert_int_eq(status, 0);
}

TEST_MAIN(.teardown = teardown, .timeout = 200)
