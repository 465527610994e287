/* SPDX-License-Identifier: Apache-2.0 */
/* run.c - `muster run`: measure and check the nodes of this job
 *
 * Every rank of the job is a process that begins here with the same command line. It adds 15 s
 * for each 1,000 ranks to the default deadline, reads the options, opens the MPI module, and hands all of that to
 * muster_process_run(), which does not return. A rank that fails before that has not started MPI, so only rank 0, as
 * the launcher's environment numbers it, prints the error.
 *
 * The module is opened for a process without a launcher, too, which is a job of one rank and does not use it: an
 * installation without MPI ends with an error that names `muster node`.
 */
#include "cli/cli.h"
#include "cli/run_options.h"
#include "coord/process.h"
#include "util/log.h"
#include "muster/report.h"
#include "transport/module.h"

int muster_cmd_run(int argc, char **argv)
{
	static struct muster_options options;
	/* every rank reads the same command line: rank 0 speaks for all */
	bool speaks = muster_launch_rank() == 0;
	int code;
	options = muster_run_defaults;
	/* NCCL's start and the first connections take longer with more ranks: minutes at 16,384 (NCCL, issue 1156) */
	options.deadline_s += muster_launch_size() * 15 / 1000;
	if (muster_run_options_parse(argc, argv, "muster run [options]",
		    "Start it with srun or mpirun, one rank per GPU; without a launcher it is one rank.\nExit codes: 0 "
		    "pass, 1 fail, 2 usage or configuration, 3 inconclusive.\n",
		    speaks, &options, &code))
		return code;
	const struct muster_mpi_module *mpi;
	struct muster_paths paths;
	struct muster_error err;
	if (muster_paths_find(&paths, &err) < 0 || muster_mpi_module_open(paths.mpi, &mpi, &err) < 0) {
		if (speaks)
			muster_log(MUSTER_LOG_ERROR, NULL, "%s", err.text);
		return MUSTER_EXIT_USAGE;
	}
	muster_process_run(&options, &(struct muster_process_job){
					     .mpi = muster_launched() ? mpi : NULL,
					     .argc = argc,
					     .argv = argv,
				     });
}
