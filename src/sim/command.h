/* SPDX-License-Identifier: Apache-2.0 */
/* command.h - the parts of muster-sim: its command line, the start of a simulation, and what the processes of it do */
#ifndef MUSTER_SIM_COMMAND_H
#define MUSTER_SIM_COMMAND_H

#include "cli/cli.h"
#include "sim/scenario.h"

/* command.c: argv[0] is "sim". Returns the exit code. */
int muster_sim_command(int argc, char **argv);

/* complete.c: what a shell offers as a fault. */
muster_words muster_sim_words_faults;
/* The names of recorded noise, and files. */
muster_words muster_sim_words_noise;

/* -- launch.c: start a simulation: its files, its ranks under mpirun, its end -- */

struct muster_sim_launch {
	struct muster_sim_scenario scenario;
	struct muster_paths paths;
	const char *report, *html; /* of `muster run`; NULL for its own choice */
	const char *prepare;       /* make this directory, write the files into it, and start nothing; NULL */
	bool keep;                 /* leave the files, and say where they are */
	const char **more;         /* further arguments of `muster run`, or with scenario.alone of `muster node` */
	size_t more_count;
};

/* The exit code of `muster run` on rank 0, or -1 with err. *ret_signal is the signal that ended the simulation before
 * there was one; 0 when there was none. Nothing is left behind but the report, or what was asked for. */
int muster_sim_launch(const struct muster_sim_launch *launch, int *ret_signal, struct muster_error *err);

/* -- rank.c: be one rank of a simulated job -- */

/* Files in the simulation's directory: the pid of rank 0's sim-rank, which passes signals on, and rank 0's exit code.
 */
#define MUSTER_SIM_RANK_0 "rank-0"
#define MUSTER_SIM_EXIT "exit"

/* In a process that mpirun has started: give the command (argv, NULL at its end) the environment that srun would give
 * it on the simulated node, and run it to its end. directory is the simulation's; rank 0's exit code is left there for
 * muster_sim_launch. *ret_status is as waitpid(2) gives it. -1 with err when the command could not be run. */
int muster_sim_rank_run(const char *directory, char *const *command, int *ret_status, struct muster_error *err);

/* -- worker_env.c: put a rank's worker on its simulated node -- */

/* An environment variable whose parts are separated by colons: first, and then what there was before. */
void muster_sim_put_before(struct muster_arena *arena, const char *name, const char *first);

/* Give this process the environment of the rank's worker: the stand-ins before the real libraries, the simulated node's
 * files and topology. directory is the simulation's, standins the folder of the stand-in libraries. -1 with err, and
 * then nothing is set. */
int muster_sim_worker_enter(
	const char *directory, const char *rank_text, const char *standins, struct muster_error *err);

#endif
