/* asked.c - what the user asked for with an option, and no check could evaluate: it is never a silent pass */
#include "eval/eval.h"
#include "muster/arena.h"
#include "muster/run_data.h"

#include <string.h>

static const char *why_skipped(const struct muster_eval *eval, const struct muster_tally *tally)
{
	if (tally->skipped)
		return tally->skipped;
	for (size_t i = 0; i < eval->draft_count; i++)
		if (strcmp(eval->drafts[i].finding.check, tally->check) == 0)
			return eval->drafts[i].finding.observed;
	return NULL;
}

void muster_judge_asked(struct muster_eval *eval)
{
	const struct muster_place nowhere = { MUSTER_NOWHERE, MUSTER_NOWHERE, NULL };
	for (size_t m = 0; m < MUSTER_MEASURE_COUNT; m++) {
		const struct muster_tally *first = NULL;
		const char *why = NULL;
		bool any = false;
		for (size_t i = 0; eval->run->job.measures & 1 << m && i < eval->expect->check_count; i++) {
			const struct muster_tally *tally = eval->states[i].tally;
			if (!(eval->expect->checks[i].when_measures & 1 << m))
				continue;
			for (size_t status = 0; status < MUSTER_STATUS_COUNT; status++)
				any = any || (status != MUSTER_SKIP && tally->count[status] > 0);
			first = first ? first : tally;
			why = why ? why : why_skipped(eval, tally);
		}
		if (first && !any)
			(void)muster_finding_draft_add(eval,
				(struct muster_finding){ .check = first->check,
					.status = MUSTER_SKIP,
					.rank = -1,
					.unread = true,
					.metric = first->metric,
					.expected = first->expected,
					.observed = muster_arena_printf(eval->report->arena,
						"the run was asked to measure %s, and nothing of it was: %s",
						muster_measure_names[m], why ? why : "no probe tells why"),
					.unit = first->unit },
				nowhere, MUSTER_NO_CHECK, NULL);
	}
}
