/* worker_process.h - a worker that is a process: `<program> worker`, with a pipe for each direction */
#ifndef MUSTER_COORD_WORKER_PROCESS_H
#define MUSTER_COORD_WORKER_PROCESS_H

#include "coord/worker_client.h"
#include "util/subprocess.h"

struct muster_worker_process {
	const char *program;
	char **environment; /* of every worker: a copy of ours before MPI_Init, which adds variables to it */
	struct muster_subprocess process;
};

/* Its worker is a struct muster_worker_process. */
extern const struct muster_worker_ops muster_worker_process_ops;

/* Keep a copy of this process's environment. program is borrowed. */
void muster_worker_process_init(struct muster_worker_process *worker, const char *program);
void muster_worker_process_done(struct muster_worker_process *worker);

#endif
