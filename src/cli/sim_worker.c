/* sim_worker.c - the subcommand sim-worker: a worker on its simulated node, started through MUSTER_WORKER_WRAPPER */
#include "cli/cli.h"
#include "sim/worker_env.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

int muster_cmd_sim_worker(int argc, char **argv)
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
