/* supervisor.h - one rank's way through the run */
#ifndef MUSTER_COORD_SUPERVISOR_H
#define MUSTER_COORD_SUPERVISOR_H

#include "muster/expect.h"
#include "muster/report.h"
#include "coord/options.h"

/* Measure with all ranks, and on rank 0 judge and write. Every rank of the job calls it; it does not return. */
_Noreturn void muster_supervise(const struct muster_options *options, int argc, char **argv);

#endif
