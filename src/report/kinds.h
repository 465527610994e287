/* SPDX-License-Identifier: Apache-2.0 */
/* kinds.h - kinds of faults: the findings of one check, status and action as one row, for every writer
 *
 * A fault on a thousand nodes is a thousand findings and one row. Text, HTML, Markdown, JUnit and JSON have these rows;
 * each makes them by muster_kinds_find(), which evaluates nothing.
 */
#ifndef MUSTER_REPORT_KINDS_H
#define MUSTER_REPORT_KINDS_H

#include "muster/arena.h"
#include "muster/evaluate.h"

#include <stdbool.h>

struct muster_kind {
	const char *check;
	enum muster_status status; /* FAIL, INCONCLUSIVE or WARN */
	const char *what;          /* the check's title, or what was expected; what was seen first */
	const char *action_code;   /* NULL when its findings have none */
	const char *action;        /* what to do, without the code; NULL when there is none */
	size_t count;              /* of findings */
	const char **nodes;        /* known nodes that have them, gpu-9 before gpu-10, each once */
	size_t node_count;         /* 0: findings about the whole job */
	const char *node_list;     /* of nodes, as Slurm writes it; NULL: none, or a name cannot be in a list */
	const struct muster_finding **items; /* its findings, in the report's order */
};

struct muster_kinds {
	struct muster_kind *items; /* FAIL, INCONCLUSIVE, WARN; of one status the one with most nodes first */
	size_t count;
	size_t node_count; /* of nodes that have any finding of these kinds */
};

/* Whether a finding of the report is of this kind. */
bool muster_kind_has(const struct muster_kind *kind, const struct muster_finding *finding);

/* The kinds of the report's failed findings, inconclusive findings and warnings. All of *ret lives in arena, and
 * borrows from the report. Where the findings of a kind differ in node, GPU or port, action says "each node", and * in
 * place of the name of a GPU or a port; other values in it are those of the first finding. */
void muster_kinds_find(const struct muster_report *report, struct muster_arena *arena, struct muster_kinds *ret);

/* Whether a list of them says more than the findings alone: several nodes of more than two have findings. */
bool muster_kinds_are_listed(const struct muster_kinds *kinds, const struct muster_report *report);

#endif
