/* run_options.h - the options that `muster run` and `muster node` share */
#ifndef MUSTER_CLI_RUN_OPTIONS_H
#define MUSTER_CLI_RUN_OPTIONS_H

#include "coord/options.h"

/* Read the command line into options, which hold the defaults. 0 when the run can begin; else 1, and *ret_code is the
 * exit code. speaks: whether this process is the one that prints. */
int muster_run_options_parse(int argc, char **argv, const char *usage, const char *epilogue, bool speaks,
	struct muster_options *options, int *ret_code);

#endif
