/* SPDX-License-Identifier: Apache-2.0 */
/* signals.c - a run ends early after a signal, or when MPI_Init does not return
 *
 * The handler notes the first signal and its time, and posts a semaphore (sem_post is allowed in a handler). A further
 * signal more than ECHO_MS later ends the process at once. The first signal has two readers: event_loop.c asks in each
 * turn (muster_signals_received); while MPI_Init runs in the main thread and cannot ask, a thread waits for the
 * semaphore. That thread and the main one agree by one atomic state, which leaves WATCHING once:
 *
 *   WATCHING ── a signal, or until_ms ──▶ LATE    late() ends the process; the main thread, should it come, waits
 *            └─ MPI_Init has returned ──▶ ENDED   the thread ends without calling late()
 */
#include "coord/signals.h"

#include "util/clock.h"
#include "util/text.h"
#include "muster/report.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

enum { ECHO_MS = 1000 }; /* a second signal within this time is the same request */

static const int signals[] = { SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2, SIGXCPU };

static atomic_int first_signal; /* 0: none yet */
static _Atomic double first_ms; /* when it came; 0: none yet */
static sem_t bell;              /* posted at the first signal, and when the watch is over */

enum watch_state { WATCHING, ENDED, LATE };
static struct {
	pthread_t thread;
	bool running;
	double until_ms;
	void (*late)(void *arg, int signal_number);
	void *arg;
	atomic_int state;
} watch;

/* The time is set before the number, so that a reader that sees the number finds the time. */
static void on_signal(int number)
{
	int none = 0, saved = errno;
	double now = muster_now_ms(), never = 0; /* clock_gettime: may be called here */
	atomic_compare_exchange_strong(&first_ms, &never, now);
	if (atomic_compare_exchange_strong(&first_signal, &none, number)) {
		sem_post(&bell);
	} else if (now - atomic_load(&first_ms) > ECHO_MS) {
		_exit(MUSTER_EXIT_INCONCLUSIVE); /* the worker dies with us */
	}
	errno = saved;
}

void muster_signals_listen(void)
{
	struct sigaction action = { .sa_handler = on_signal };
	sem_init(&bell, 0, 0);
	for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) /* two of them do not run at once */
		sigaddset(&action.sa_mask, signals[i]);
	for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
		struct sigaction before;
		if (sigaction(signals[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
			sigaction(signals[i], &action, NULL);
	}
}

int muster_signals_received(double *ret_ms)
{
	if (ret_ms)
		*ret_ms = atomic_load(&first_ms);
	return atomic_load(&first_signal);
}

static void *watch_over(void *unused)
{
	(void)unused;
	const struct timespec until = muster_clock_after(watch.until_ms - muster_now_ms());
	int watching = WATCHING;
	while (sem_clockwait(&bell, CLOCK_MONOTONIC, &until) < 0 && errno == EINTR)
		;
	if (atomic_compare_exchange_strong(&watch.state, &watching, LATE))
		watch.late(watch.arg, muster_signals_received(NULL));
	return NULL;
}

/* The thread blocks all signals, so that they are handled by the main thread. */
void muster_signals_watch(double until_ms, void (*late)(void *arg, int signal_number), void *arg)
{
	sigset_t all, before;
	watch.until_ms = until_ms;
	watch.late = late;
	watch.arg = arg;
	atomic_store(&watch.state, WATCHING);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	watch.running = pthread_create(&watch.thread, NULL, watch_over, NULL) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void muster_signals_watch_end(void)
{
	int watching = WATCHING;
	if (!watch.running)
		return;
	if (!atomic_compare_exchange_strong(&watch.state, &watching, ENDED))
		for (;;)
			pause(); /* late() ends the process */
	sem_post(&bell);
	pthread_join(watch.thread, NULL);
	watch.running = false;
}
