/* SPDX-License-Identifier: Apache-2.0 */
/* main.c - muster-sim: the program that `muster sim` executes
 *
 * The first word of its command line says what the process is. A simulation starts one of the first kind, and for each
 * rank one of the second and one of the third:
 *
 *   sim OPTIONS...                          write the files, start the ranks, wait for them (command.c, launch.c)
 *   sim-rank DIRECTORY -- COMMAND...        one process of mpirun: set what srun would set, run COMMAND (rank.c)
 *   sim-worker DIRECTORY RANK COMMAND...    put the stand-ins in front of the libraries, become COMMAND (worker_env.c)
 *
 *   muster-sim sim -> mpirun -> muster-sim sim-rank -> muster run -> muster-sim sim-worker, which becomes muster worker
 *
 * The supervisor (`muster run`) starts sim-worker because MUSTER_WORKER_WRAPPER says so. So the supervisor and its MPI
 * see the real machine, and only the worker sees the simulated one.
 */
#include "sim/command.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* sim-rank: be one rank of the simulated job. The exit status is 0 whatever the run's exit code is, because mpirun
 * takes any other status for a broken job; rank 0 leaves the exit code in a file (rank.c). When a signal ended the
 * command, this process ends by the same signal. */
static int be_rank(int argc, char **argv)
{
	struct muster_error err = { 0 };
	int status;
	if (argc < 4 || strcmp(argv[2], "--") != 0) {
		muster_fail(&err, MUSTER_EUSAGE, "usage: muster sim-rank DIRECTORY -- COMMAND...");
		return muster_cli_usage(&err);
	}
	if (muster_sim_rank_run(argv[1], argv + 3, &status, &err) < 0)
		return muster_cli_usage(&err);
	if (WIFSIGNALED(status)) {
		signal(WTERMSIG(status), SIG_DFL);
		raise(WTERMSIG(status));
	}
	return 0;
}

/* sim-worker: be a worker on its simulated node, started through MUSTER_WORKER_WRAPPER. The words are
 * DIRECTORY RANK [--] COMMAND...; returns only when the command cannot be executed. */
static int be_worker(int argc, char **argv)
{
	struct muster_error err = { 0 };
	struct muster_paths paths;
	int command = argc > 3 && strcmp(argv[3], "--") == 0 ? 4 : 3;
	if (argc <= command) {
		muster_fail(&err, MUSTER_EUSAGE, "usage: muster sim-worker DIRECTORY RANK COMMAND...");
	} else if (muster_paths_find(&paths, &err) == 0 &&
		   muster_sim_worker_enter(argv[1], argv[2], paths.standins, &err) == 0) {
		execvp(argv[command], argv + command);
		muster_fail(&err, MUSTER_EIO, "%s: %s", argv[command], strerror(errno));
	}
	return muster_cli_usage(&err);
}

int main(int argc, char **argv)
{
	static const struct muster_command commands[] = {
		{ "sim", NULL, muster_sim_command },
		{ "sim-rank", NULL, be_rank },
		{ "sim-worker", NULL, be_worker },
	};
	signal(SIGXFSZ, SIG_IGN); /* as in muster */
	for (size_t i = 0; argc > 1 && i < sizeof commands / sizeof *commands; i++)
		if (strcmp(argv[1], commands[i].name) == 0)
			return commands[i].main(argc - 1, argv + 1);
	struct muster_error err = { 0 };
	muster_fail(&err, MUSTER_EUSAGE, "muster-sim is started by `muster sim`");
	return muster_cli_usage(&err);
}
