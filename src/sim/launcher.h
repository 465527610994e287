/* launcher.h - start the ranks of a simulation on this machine with Open MPI's mpirun, 4 or 5, and wait for their end
 */
#ifndef MUSTER_SIM_LAUNCHER_H
#define MUSTER_SIM_LAUNCHER_H

#include "muster/arena.h"
#include "muster/error.h"

#include <signal.h>
#include <stdbool.h>

struct muster_sim_launcher {
	const char *directory; /* where rank 0 leaves its pid and its exit code (rank.h) */
	struct muster_arena *arena;
	size_t ranks;
	bool alone;              /* no mpirun: one process */
	const sigset_t *signals; /* blocked in this process: SIGCHLD, and the signals that end a simulation */
	const sigset_t *blocked; /* in the processes that are started */
};

/* Run the command with each rank. The exit code of rank 0; -1 with err, which says what ended and how, when there is
 * none. *ret_signal: the signal that ended the simulation before there was one; 0: none, or rank 0 has ended well in
 * spite of it. */
int muster_sim_launcher_run(const struct muster_sim_launcher *launcher, const char *const *command, size_t words,
	int *ret_signal, struct muster_error *err);

#endif
