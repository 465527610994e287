/* worker_env.h - put a rank's worker on its simulated node */
#ifndef MUSTER_SIM_WORKER_ENV_H
#define MUSTER_SIM_WORKER_ENV_H

#include "muster/error.h"

/* Give this process the environment of the rank's worker: the stand-ins before the real libraries, the simulated node's
 * files and topology. directory is the simulation's, standins the folder of the stand-in libraries. -1 with err, and
 * then nothing is set. */
int muster_sim_worker_enter(
	const char *directory, const char *rank_text, const char *standins, struct muster_error *err);

#endif
