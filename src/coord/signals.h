/* signals.h - what ends a run early: a signal, or an MPI_Init that does not come to its end */
#ifndef MUSTER_COORD_SIGNALS_H
#define MUSTER_COORD_SIGNALS_H

#include <stdbool.h>

/* From now on the first SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2 or SIGXCPU is only noted, and one that comes more
 * than a second later ends the process at once with MUSTER_EXIT_INCONCLUSIVE: launchers send theirs on ways that cross,
 * so the same request may arrive twice. Those that are ignored stay so. */
void muster_signals_listen(void);

/* The first signal that came, or 0; *ret_ms is when, by muster_now_ms. */
int muster_signals_received(double *ret_ms);

/* "SIGTERM" */
const char *muster_signals_name(int signal_number);

/* Until muster_signals_watch_end, a thread waits for a signal or for until_ms and then calls late(arg, signal or 0),
 * which must end the process. For as long as the main thread may be stuck where it cannot look for itself. */
void muster_signals_watch(double until_ms, void (*late)(void *arg, int signal_number), void *arg);
/* Does not return when late() is at work already. */
void muster_signals_watch_end(void);

#endif
