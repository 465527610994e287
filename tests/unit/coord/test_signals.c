/* SPDX-License-Identifier: Apache-2.0 */
/* test_signals.c - a run ends early after a signal, or when a call hangs; each case is a process of its own */
#include "coord/signals.h"

#include "check_main.h"
#include "muster/report.h"
#include "util/text.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const int known[] = { SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2, SIGXCPU };

TEST_EACH(the_first_signal_is_recorded_with_its_time, known)
{
	double at_ms = -1, before_ms = muster_now_ms();
	muster_signals_listen();
	ck_assert_int_eq(muster_signals_received(&at_ms), 0);
	ck_assert_double_eq(at_ms, 0);
	raise(known[_i]);
	ck_assert_int_eq(muster_signals_received(&at_ms), known[_i]);
	ck_assert(at_ms >= before_ms && at_ms <= muster_now_ms());
	double first_ms = at_ms;
	raise(SIGINT); /* at once: the same request by another way */
	raise(SIGTERM);
	ck_assert_int_eq(muster_signals_received(&at_ms), known[_i]);
	ck_assert_double_eq(at_ms, first_ms);
}

TEST(a_signal_that_is_ignored_stays_so)
{
	signal(SIGHUP, SIG_IGN);
	muster_signals_listen();
	raise(SIGHUP);
	ck_assert_int_eq(muster_signals_received(NULL), 0);
}

/* Expected to exit with MUSTER_EXIT_INCONCLUSIVE. */
TEST_WITH(another_signal_after_more_than_a_second_ends_the_process, .end = 1, .status = MUSTER_EXIT_INCONCLUSIVE)
{
	muster_signals_listen();
	raise(SIGTERM);
	for (double until_ms = muster_now_ms() + 1100; muster_now_ms() < until_ms;)
		usleep(10000);
	raise(SIGTERM);
	_exit(0);
}

/* ---- the watch ---- */

static double began_ms;

/* Ends the process with its signal, or 100 when the time was over; 101 when that was too early. */
static void late(void *arg, int signal_number)
{
	if (arg != &began_ms)
		_exit(102);
	_exit(signal_number ? signal_number : muster_now_ms() - began_ms >= 199 ? 100 : 101);
}

/* Expected to exit with 100. */
TEST_WITH(a_call_that_hangs_is_late_at_its_time, .end = 1, .status = 100)
{
	muster_signals_listen();
	began_ms = muster_now_ms();
	muster_signals_watch(began_ms + 200, late, &began_ms);
	sleep(20);
	_exit(0);
}

/* Expected to exit with SIGUSR1. */
TEST_WITH(a_call_that_hangs_is_late_when_a_signal_comes, .end = 2, .status = SIGUSR1)
{
	muster_signals_listen();
	began_ms = muster_now_ms();
	muster_signals_watch(began_ms + 20000, late, &began_ms);
	if (_i == 0)
		raise(SIGUSR1);
	else
		kill(getpid(), SIGUSR1);
	for (;;)
		sleep(20);
}

TEST(a_call_that_returns_in_time_is_not_late)
{
	muster_signals_listen();
	muster_signals_watch_end(); /* without a watch: nothing */
	for (int i = 0; i < 2; i++) {
		began_ms = muster_now_ms();
		muster_signals_watch(began_ms + 300, late, &began_ms);
		muster_signals_watch_end();
		ck_assert_double_lt(muster_now_ms() - began_ms, 299); /* it does not wait for the time either */
	}
	usleep(400000);
	raise(SIGTERM);
	ck_assert_int_eq(muster_signals_received(NULL), SIGTERM);
}

TEST_MAIN(.timeout = 200)
