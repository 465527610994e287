/* SPDX-License-Identifier: Apache-2.0 */
/* signals.h - a run ends early after a signal, or when MPI_Init does not return */
#ifndef MUSTER_COORD_SIGNALS_H
#define MUSTER_COORD_SIGNALS_H

#include <stdbool.h>

/* From now on the first SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2 or SIGXCPU is only recorded, and another one more
 * than a second later ends the process at once with MUSTER_EXIT_INCONCLUSIVE. (Launchers may deliver one request
 * twice.) Ignored signals stay ignored. */
void muster_signals_listen(void);

/* The first signal received, or 0; *ret_ms (may be NULL): when, by muster_now_ms. */
int muster_signals_received(double *ret_ms);

/* Until muster_signals_watch_end, a thread waits for a signal or for until_ms and then calls late(arg, signal or 0),
 * which must end the process. For the time of a call in which the main thread may hang. */
void muster_signals_watch(double until_ms, void (*late)(void *arg, int signal_number), void *arg);
/* Does not return when late() was called already. */
void muster_signals_watch_end(void);

#endif
