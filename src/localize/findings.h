/* SPDX-License-Identifier: Apache-2.0 */
/* findings.h - findings from trial rings: which node, link or partition breaks the full ring */
#ifndef MUSTER_LOCALIZE_FINDINGS_H
#define MUSTER_LOCALIZE_FINDINGS_H

#include "muster/arena.h"
#include "muster/finding.h"
#include "muster/probe.h"

struct muster_run;

/* Called for each finding about the rings of a probe (its index), the strongest first. One that failed is a cause; one
 * that is skipped says that no cause was found. */
typedef void muster_trial_finding_fn(void *arg, size_t probe, struct muster_finding finding);

/* Tell what the run's trials show. Pure; the findings' strings are the arena's or the run's. */
void muster_localize_findings(
	const struct muster_run *run, struct muster_arena *arena, muster_trial_finding_fn *tell, void *arg);

/* Whether the check's findings come from here. */
bool muster_is_trial_finding(const char *check);

#endif
