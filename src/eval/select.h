/* SPDX-License-Identifier: Apache-2.0 */
/* select.h - choose the expectations of a run: the named file, the file of the detected machine type, or common.json
 */
#ifndef MUSTER_EVAL_SELECT_H
#define MUSTER_EVAL_SELECT_H

#include "expect/recognise.h"
#include "muster/evaluate.h"

struct muster_selection {
	bool automatic;             /* the name is "auto" */
	struct muster_expect named; /* otherwise */
	/* when automatic */
	struct muster_candidates candidates;
	bool has_common;
	struct muster_expect common; /* common.json, for an unknown machine type */
};

/* Load `name`: "auto", a name in config_dir, or a path. The overlay is a path or NULL; when it does not fit
 * common.json, common.json is used without it. On failure -1: MUSTER_ENOTSUPPORTED when the name has no file, else
 * MUSTER_EUSAGE with the file in err. */
int muster_selection_load(const char *config_dir, const char *name, const char *overlay, struct muster_selection *ret,
	struct muster_error *err);
void muster_selection_done(struct muster_selection *choice);

/* Judge the run. No I/O. When its machine type is not known, or its nodes are of several, one more finding says why and
 * what to do ("sku.unknown"), and the verdict is never a pass. The report borrows run. */
void muster_selection_evaluate(struct muster_selection *choice, const struct muster_run *run,
	enum muster_strictness strict, struct muster_report *ret);

#endif
