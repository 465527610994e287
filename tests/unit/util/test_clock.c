/* SPDX-License-Identifier: Apache-2.0 */
/* test_clock.c - how long a thread has waited for a CPU */
#include "util/clock.h"
#include "check_main.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

static atomic_bool over;

static void *spin(void *arg)
{
	while (!over)
		;
	return arg;
}

TEST(a_thread_that_shares_its_cpu_waits_for_it)
{
	cpu_set_t cpus;
	pthread_t other;
	CPU_ZERO(&cpus);
	CPU_SET((size_t)sched_getcpu(), &cpus);
	ck_assert_int_eq(sched_setaffinity(0, sizeof cpus, &cpus), 0);
	double before = muster_starved_ms("thread-self");
	ck_assert_int_eq(pthread_create(&other, NULL, spin, NULL), 0);
	while (muster_starved_ms("thread-self") < before + 20) /* the test's deadline ends it */
		;
	over = true;
	pthread_join(other, NULL);
}

TEST(of_an_unknown_thread_nothing_is_known)
{
	ck_assert_double_eq(muster_starved_ms("none"), 0);
}

TEST_MAIN(.timeout = 60)
