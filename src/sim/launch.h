/* launch.h - start a simulation: its files, its ranks under mpirun, its end */
#ifndef MUSTER_SIM_LAUNCH_H
#define MUSTER_SIM_LAUNCH_H

#include "sim/scenario.h"

struct muster_sim_launch {
	const struct muster_sim_scenario *scenario;
	const char *program, *simulator; /* the binaries muster and muster-sim */
	const char *hardware;            /* the folder of hardware descriptions */
	const char *report, *html;       /* of `muster run`; NULL for its own choice */
	const char *prepare;             /* make this directory, write the files into it, and start nothing; NULL */
	bool alone;                      /* `muster node` in place of mpirun and `muster run` */
	bool keep;                       /* leave the files, and say where they are */
	char *const *more;               /* further arguments of `muster run` */
	size_t more_count;
};

/* The exit code of `muster run` on rank 0, or -1 with err. *ret_signal is the signal that ended the simulation before
 * there was one; 0 when there was none. Nothing is left behind but the report, or what was asked for. */
int muster_sim_launch(const struct muster_sim_launch *launch, int *ret_signal, struct muster_error *err);

#endif
