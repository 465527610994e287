/* SPDX-License-Identifier: Apache-2.0 */
/* context.h - the interface between a probe and the receiver of its samples
 *
 * A probe emits through muster/probe.h; the context checks each sample against the probe's own table and hands it to a
 * sink. The worker's sink writes lines to its supervisor, a test's sink keeps the samples.
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
	const struct muster_probe *probe; /* the one that runs now */
	struct muster_probe_env env;
	const struct muster_probe_sink *sink;
	void *arg; /* of the sink's functions */
};

#endif
