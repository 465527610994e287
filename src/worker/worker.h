/* SPDX-License-Identifier: Apache-2.0 */
/* worker.h - the process that runs the probes: `muster worker`, which only a supervisor starts; implemented by main.c
 */
#ifndef MUSTER_WORKER_WORKER_H
#define MUSTER_WORKER_WORKER_H

/* Take commands until the supervisor sends "quit" or exits (protocol.h). Does not return then. Otherwise the exit
 * status. */
int muster_cmd_worker(int argc, char **argv);

#endif
