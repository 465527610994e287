/* protocol.h - the messages between a supervisor and its worker
 *
 * One JSON object a line. To the worker:
 *   {"do":"open"}                        load the drivers; with "skip":true do not use CUDA, which has crashed before
 *   {"do":"count"}                       the number of GPUs of the node, by NVML; nothing else follows
 *   {"do":"take", rank, ranks, ...}      the job; take a GPU
 *   {"do":"peers","peers":[...]}         the GPUs of the other ranks of the node
 *   {"do":"run"|"together"|"ring_id"|"ring"|"finish","probe":NAME, ...}
 *   {"do":"abort","why":TEXT}            during "ring": cancel it; has no answer of its own
 *   {"do":"quit"}
 * From the worker, for each command any number of
 *   {"step":TEXT}                        the next step, before a call that may crash or hang
 *   {"sample":{metric,labels,value,reason}}
 *   {"evidence":TEXT}                    may explain the error that follows: the end of a library's log
 *   {"failing":{"code":CODE,"error":TEXT}} the error of the answer, also when the worker hangs or crashes before it
 * and then one
 *   {"done":{"code":"ok"|CODE,"error":TEXT, ...answers}}
 */
#ifndef MUSTER_WORKER_PROTOCOL_H
#define MUSTER_WORKER_PROTOCOL_H

/* The worker's descriptors for the lines that it receives, and for those that it sends. */
enum { MUSTER_WORKER_COMMANDS = 3, MUSTER_WORKER_RESULTS = 4 };

/* Exit status of a worker that met a broken protocol; the last line of its stderr says what was wrong. */
enum { MUSTER_WORKER_BROKEN = 71 };

/* Most figures in an answer. */
enum { MUSTER_FIGURES_MAX = 64 };

/* Most bytes of a command, and of all that a worker may send for one command; far above what any probe sends. */
#define MUSTER_PROTOCOL_COMMAND_MAX (8 * 1024 * 1024)

#endif
