/* SPDX-License-Identifier: Apache-2.0 */
/* protocol.h - the messages between a supervisor and its worker
 *
 * One JSON object a line. To the worker:
 *   {"do":"open"}                        load the drivers; with "skip":true do not use CUDA, which has crashed before
 *   {"do":"count"}                       the number of GPUs of the node, by NVML; nothing else follows
 *   {"do":"take", rank, ranks, ...}      the job; take a GPU
 *   {"do":"peers","peers":[...]}         the GPUs of the other ranks of the node
 *   {"do":"run"|"together"|"ring_id"|"ring"|"traffic"|"finish","probe":NAME, ...}
 *   {"do":"abort","why":TEXT}            during "ring" or "traffic": cancel it; has no answer of its own
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

#include "muster/probe.h"

/* The worker's descriptors for the lines that it receives, and for those that it sends. */
enum { MUSTER_WORKER_COMMANDS = 3, MUSTER_WORKER_RESULTS = 4 };

/* Exit status of a worker that met a broken protocol; the last line of its stderr says what was wrong. */
enum { MUSTER_WORKER_BROKEN = 71 };

/* Most bytes of a command, and of all that a worker may send for one command; far above what any probe sends. */
#define MUSTER_PROTOCOL_COMMAND_MAX (8 * 1024 * 1024)

struct muster_ring_figure {
	uint64_t bytes; /* of a message */
	double rate;    /* the probe's ring_rate, in the metric's unit */
};
enum { MUSTER_RING_FIGURES_MAX = 64 }; /* in an answer */

/* "done". As a supervisor has it, texts are in an arena. Each command changes only what its answer has, but for code,
 * error, ring_id and figures, which are the last command's. */
struct muster_worker_answer {
	const char *code;    /* "" without an answer; "ok" or an error's code name */
	const char *error;   /* NULL: none */
	const char *ring_id; /* NULL: none */
	int gpus;            /* of the node, after the command "count"; -1 is not written */
	const char *gpu, *uuid, *path, *agree;
	const char *why_none;               /* why it has no GPU; NULL */
	bool simulated;                     /* a worker has loaded a stand-in library */
	struct muster_ring_figure *figures; /* at most MUSTER_RING_FIGURES_MAX */
	size_t figure_count;
};
extern const struct muster_object_type muster_worker_answer_type;

/* ---- what commands have beside "do" and "probe" ---- */

struct muster_take {
	struct muster_probe_env env; /* but for the peers, which are a command of their own, the root and the GPU */
	const char *why_skipped;     /* why the worker was opened with "skip"; "" */
	const char *skipped_at;      /* the step at which the worker before died; "" when it is not known */
};

struct muster_ring_command {
	struct muster_ring ring; /* without its ids */
	const char *ids;         /* one after the other, hexadecimal; "" where the ring's part needs none */
};

/* Of struct muster_take, muster_probe_env (two), muster_ring_command and muster_traffic. */
extern const struct muster_object_type muster_take_type, muster_peers_type, muster_visit_type, muster_ring_type,
	muster_traffic_type;

#endif
