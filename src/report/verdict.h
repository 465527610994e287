/* SPDX-License-Identifier: Apache-2.0 */
/* verdict.h - the verdict in words, the nodes to exclude, and what must be known about the run: for every writer */
#ifndef MUSTER_REPORT_VERDICT_H
#define MUSTER_REPORT_VERDICT_H

#include "muster/report.h"

/* The nodes that failed, and what can be done without them. */
struct muster_failed {
	const char **names;     /* nodes that a job should exclude; the report's */
	size_t count, launched; /* launched: nodes where only the launch of the job is wrong */
	char *list;             /* as Slurm writes it; NULL where a name cannot be in such a list */
};

/* Find the nodes that failed; the caller ends ret with muster_failed_done in any case. Whether a job should exclude
 * them: a check failed, not only a warning of a strict run, and other nodes are left to run on. */
bool muster_failed_find(const struct muster_report *report, struct muster_failed *ret);
void muster_failed_done(struct muster_failed *failed);

/* What follows the verdict's name: "1 of 16 nodes failed.", "2 warnings"; "" for a plain pass. malloc'd. */
char *muster_verdict_text(const struct muster_report *report);

/* Sentences about the run as a whole, our own text without a full stop: simulated, beside other jobs, assembled, no
 * expectations, strict. Every summary prints all of them. Returns how many of ret are set. */
enum { MUSTER_REMARKS_MOST = 8 };
size_t muster_report_remarks(const struct muster_report *report, const char *ret[MUSTER_REMARKS_MOST]);

/* Whether the run was told that other programs may use the GPUs (--shared). */
bool muster_report_is_shared(const struct muster_report *report);

/* "load.bf16 and 7 more checks on sim-2: libcublasLt.so.13 cannot be opened": what had no value because its source
 * could not be read, where that alone is no finding. Returns how many of ret are set, malloc'd. */
enum { MUSTER_UNMEASURED_MOST = 6 };
size_t muster_report_unmeasured(const struct muster_report *report, char *ret[MUSTER_UNMEASURED_MOST]);

/* Passes of checks without a threshold: some of report->count[MUSTER_PASS]. */
size_t muster_report_recorded(const struct muster_report *report);

/* The findings that are failed, inconclusive or a warning: those of a place together, the worst place first, at a place
 * the worst first. malloc'd; the findings are the report's. */
const struct muster_finding **muster_findings_by_place(const struct muster_report *report, size_t *ret_count);

#endif
