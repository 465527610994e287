/* SPDX-License-Identifier: Apache-2.0 */
/* context.h - the interface between a probe and the receiver of its samples
 *
 * A probe emits through muster/probe.h; the context checks each sample against the probe's own table and hands it to a
 * sink. The worker's sink writes lines to its supervisor, a test's sink keeps the samples.
 *
 * The life of a probe in one run, all in the worker process of a rank, and on its main thread:
 *
 *   begin        once, when the GPU is chosen and before CUDA has a context on it
 *   run          visit 0: alone; probes with `together` take turns with GPUs of the same path to the host
 *   together     visit 0: with all ranks of the node, after a barrier
 *   ring         with the ranks of the communicator, after a barrier of the job; so is traffic
 *   ...          visits 1 and 2, and 3 for a speed that is too low: the same callbacks of probes with .windows
 *   finish       once, after all other probes: what changed during the run
 *
 * The current CUDA context is the primary one of the rank's GPU from before the first run on; no probe makes, switches
 * or destroys a context. A callback that fails does not end the run: later callbacks of the probe are still called, in
 * this worker or in one that has replaced it after a crash or an overrun deadline. State that a probe keeps in static
 * variables is lost then, so that each callback must cope with state that is all zeros.
 */
#ifndef MUSTER_PROBES_CONTEXT_H
#define MUSTER_PROBES_CONTEXT_H

#include "muster/probe.h"

struct muster_probe_sink {
	/* A sample that keeps to the table. Its labels, strings and reason are borrowed for the call. */
	void (*sample)(void *arg, const struct muster_sample *sample);
	/* What comes next. */
	void (*step)(void *arg, const char *text);
	/* What may explain how the callback is going to fail; plain, as the text of an error is. */
	void (*evidence)(void *arg, const char *text);
	/* How the callback is going to fail. */
	void (*failing)(void *arg, const struct muster_error *err);
	/* -1 with err (MUSTER_ECALLEDOFF) when the callback's work is of no use any more. */
	int (*cancelled)(void *arg, struct muster_error *err);
	/* The probe broke a promise; does not return. */
	void (*broken)(void *arg, const char *why);
};

struct muster_probe_ctx {
	const struct muster_probe *probe; /* the one that runs now; NULL before the first one, so in `begin` */
	struct muster_probe_env env;
	const struct muster_probe_sink *sink;
	void *arg; /* of the sink's functions */
};

#endif
