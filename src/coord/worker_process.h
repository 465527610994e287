/* SPDX-License-Identifier: Apache-2.0 */
/* worker_process.h - a worker that is a process: `<program> worker`, with a pipe for each direction
 *
 * It dies with the thread that started it. The words of $MUSTER_WORKER_WRAPPER come before its command line.
 */
#ifndef MUSTER_COORD_WORKER_PROCESS_H
#define MUSTER_COORD_WORKER_PROCESS_H

#include "coord/worker_client.h"
#include "util/line_reader.h"

#include <sys/types.h>

enum { MUSTER_WORKER_OUTPUT_KEPT = 2048 };

struct muster_worker_process {
	const char *program;
	char **environment; /* of every worker: a copy of ours before MPI_Init, which adds variables to it */
	pid_t pid;          /* 0 when there is none */
	int commands;       /* write end; -1 */
	int results, noise; /* read ends, non-blocking; -1 after their end */
	struct muster_line_reader lines;            /* of results */
	char output[MUSTER_WORKER_OUTPUT_KEPT + 1]; /* the end of its standard output and error, also after its end */
	size_t output_length;
};

/* Its worker is a struct muster_worker_process. */
extern const struct muster_worker_ops muster_worker_process_ops;

/* Keep a copy of this process's environment. program is borrowed. */
void muster_worker_process_init(struct muster_worker_process *worker, const char *program);
void muster_worker_process_done(struct muster_worker_process *worker);

#endif
