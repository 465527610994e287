/* sim_rank.c - the subcommand sim-rank: be one rank of the simulated job
 *
 * It ends well whatever the run's exit code is, because mpirun would take anything else for a broken job.
 */
#include "cli/cli.h"
#include "sim/rank.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>

int muster_cmd_sim_rank(int argc, char **argv)
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
