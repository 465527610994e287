/* SPDX-License-Identifier: Apache-2.0 */
/* strikes.h - soft findings of nodes and when they were first seen: one run drains no node for them
 *
 * A strike is a soft finding of a run: a check at a part of a node. It drains the node when a run that begins at least
 * a minute later finds it again, and is forgotten when that check passes there. In the same way, a node that was
 * drained for a soft finding comes back after passes of two runs that are ten minutes apart: the first of them is kept.
 * Both are in a file beside the report, muster-strikes.json, or follow from a history (history/past.h).
 */
#ifndef MUSTER_SLURM_STRIKES_H
#define MUSTER_SLURM_STRIKES_H

#include "slurm/drain.h"
#include "slurm/node_selection.h"

#include <stdint.h>
#include <sys/stat.h>

enum {
	MUSTER_STRIKE_GAP_S = 60,         /* from the first strike to the second */
	MUSTER_RETURN_GAP_S = 600,        /* from the first pass to the second */
	MUSTER_STRIKE_KEPT_S = 7 * 86400, /* a job between the two may take days */
};

struct muster_strike {
	const char *node, *check, *part; /* part: GPU or port, or "" */
	const char *first;               /* when the run began, "2026-11-29T02:40:10Z" */
	enum muster_drained_by by;       /* who looked */
};

struct muster_strikes { /* {0}: none */
	struct muster_arena *arena;
	struct muster_strike *strikes, *passes; /* passes: of nodes that are drained */
	size_t strike_count, pass_count;
	bool changed;
	struct stat file; /* the open file, for who owns it; all zeros: there was none */
};

/* Read the file beside the report; none is an empty one. -1 with err (MUSTER_EUSAGE) when it is no such file. */
int muster_strikes_read(const char *report, struct muster_strikes *ret, struct muster_error *err);
/* Write it, if something has changed. Without anything to keep, the file is removed. */
int muster_strikes_write(const char *report, const struct muster_strikes *strikes, struct muster_error *err);
void muster_strikes_done(struct muster_strikes *strikes);

/* Whether the finding of a run that began at `at` drains the node: a hard one does, a soft one as the second strike.
 * *ret_first: since when a soft one is known, NULL when it was not; then it becomes the first strike. Passes of this
 * check on the node are forgotten. */
bool muster_strikes_take(struct muster_strikes *strikes, const struct muster_finding *finding, const char *node,
	int64_t at, enum muster_drained_by by, const char **ret_first);

/* Whether a strike or pass still counts for a run that begins at `at`: it does not when it is too old, or
 * later than the run. */
bool muster_strike_counts(const struct muster_strike *one, int64_t at);

/* Forget the strikes that are gone in a run that began at `at`. */
typedef bool muster_strike_gone_fn(const void *run, const struct muster_strike *strike);
void muster_strikes_forgive(
	struct muster_strikes *strikes, muster_strike_gone_fn *is_gone, const void *run, int64_t at);
/* Of a struct muster_report: its check passes there. */
muster_strike_gone_fn muster_strike_is_gone;

/* Whether the fault of a drained node, which is gone in a run that began at `at`, was gone ten minutes before too. If
 * not, this is the first pass. */
bool muster_strikes_passed(
	struct muster_strikes *strikes, const char *node, const struct muster_drain_reason *reason, int64_t at);

#endif
