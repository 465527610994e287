/* protocol.h - what supervisors and their workers say to each other
 *
 * One JSON object a line. To the worker:
 *   {"do":"open"}                        load the drivers; {"do":"open","skip":true}: never touch CUDA (it crashed)
 *   {"do":"count"}                       in place of all that follows: how many GPUs the node has, by NVML
 *   {"do":"take", rank, ranks, ...}      the job; take a GPU
 *   {"do":"peers","peers":[...]}         which GPUs the other ranks of the node took
 *   {"do":"run"|"together"|"ring_id"|"ring"|"finish","probe":NAME, ...}
 *   {"do":"abort","why":TEXT}            while "ring" is under way: give up; has no answer of its own
 *   {"do":"quit"}
 * From the worker, for each command any number of
 *   {"step":TEXT}                        what comes next, before a call that may crash or hang
 *   {"sample":{metric,labels,value,reason}}
 *   {"evidence":TEXT}                    what may explain the error that follows: the end of a library's log
 *   {"failing":{"code":CODE,"error":TEXT}} the answer will be this, even if what comes before it hangs or crashes
 * and then one
 *   {"done":{"code":"ok"|CODE,"error":TEXT, ...answers}}
 */
#ifndef MUSTER_WORKER_PROTOCOL_H
#define MUSTER_WORKER_PROTOCOL_H

#include "util/subprocess.h"

/* The worker's end of the pipes. */
enum { MUSTER_WORKER_COMMANDS = MUSTER_SUBPROCESS_COMMANDS, MUSTER_WORKER_RESULTS = MUSTER_SUBPROCESS_RESULTS };

/* Exit status of a worker that met a broken promise (its last words on stderr say which). */
enum { MUSTER_WORKER_BROKEN = 71 };

/* Most figures in an answer. */
enum { MUSTER_FIGURES_MAX = 64 };

/* Most bytes that a worker may say to one command; far above what any probe has to say. */
#define MUSTER_PROTOCOL_COMMAND_MAX (8 * 1024 * 1024)

#endif
