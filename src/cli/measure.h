/* measure.h - the options that `muster run` and `muster node` share */
#ifndef MUSTER_CLI_MEASURE_H
#define MUSTER_CLI_MEASURE_H

#include "coord/options.h"

/* Read the command line into options, which hold the defaults. 0 when the run can begin; else 1, and *ret_code is the
 * exit code. speaks: whether this process is the one that prints. */
int muster_measure_options(int argc, char **argv, const char *usage, const char *epilogue, bool speaks,
	struct muster_options *options, int *ret_code);

#endif
