/* run.c - `muster run`: measure this job's nodes and judge them */
#include "cli/cli.h"
#include "cli/run_options.h"
#include "coord/supervisor.h"
#include "transport/transport_mpi.h"

int muster_cmd_run(int argc, char **argv)
{
	static struct muster_options options = {
		.sku = "auto",
		.report = "muster-report.json",
		.profile = MUSTER_STANDARD,
		.deadline_s = 120,
		.localise = MUSTER_LOCALISE_AUTO,
	};
	/* every rank reads the same command line: rank 0 speaks for all */
	bool speaks = muster_link_early_rank() == 0;
	int code;
	if (muster_run_options_parse(argc, argv, "muster run [options]",
		    "Started by srun or mpirun with one rank per GPU; alone it is one rank.\n"
		    "Exit codes: 0 pass, 1 fail, 2 usage or configuration, 3 inconclusive.\n",
		    speaks, &options, &code))
		return code;
	muster_supervise(&options, argc, argv);
}
