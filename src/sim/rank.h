/* rank.h - be one rank of a simulated job */
#ifndef MUSTER_SIM_RANK_H
#define MUSTER_SIM_RANK_H

#include "muster/error.h"

/* Files in the simulation's directory: the pid of rank 0's sim-rank, which passes signals on, and rank 0's exit code.
 */
#define MUSTER_SIM_RANK_0 "rank-0"
#define MUSTER_SIM_EXIT "exit"

/* In a process that mpirun has started: give the command (argv, NULL at its end) the environment that srun would give
 * it on the simulated node, and run it to its end. directory is the simulation's; rank 0's exit code is left there for
 * muster_sim_launch. *ret_status is as waitpid(2) gives it. -1 with err when the command could not be run. */
int muster_sim_rank_run(const char *directory, char *const *command, int *ret_status, struct muster_error *err);

#endif
