/* SPDX-License-Identifier: Apache-2.0 */
/* select.c - choose the expectations of a run
 *
 * Files are loaded before the run (muster_selection_load), so that a mistake in a file ends muster before it measures.
 * Which file fits is known after the run (muster_selection_evaluate):
 *   --sku NAME or FILE   this file, whatever the machine is
 *   auto                 the file of the machine type that recognise.c finds
 *   auto, not found      common.json alone, and the finding sku.unknown: such a run may fail, but it can never pass.
 *                        The same where the overlay does not fit the machine type that was found
 */
#include "eval/select.h"

#include "expect/load.h"
#include "muster/arena.h"

#include <string.h>

#define COMMON "common"
#define AUTOMATIC "auto"

static const char ways_out[] =
	"set the machine type with --sku NAME (muster skus lists all names), or write an expectation file with "
	"\"identify\" and use --sku FILE, or check only what holds on every NVIDIA machine with --sku generic-nvidia";

/* A folder without common.json is no error: an unknown machine type is then evaluated without any check. A file that
 * was named and has no check is refused here; such files are parts for others to extend (parse.c). */
int muster_selection_load(const char *config_dir, const char *name, const char *overlay, struct muster_selection *ret,
	struct muster_error *err)
{
	struct muster_selection choice = { .automatic = strcmp(name, AUTOMATIC) == 0 };
	if (overlay && muster_overlay_check(overlay, err) < 0)
		return -1;
	if (choice.automatic) {
		if (muster_candidates_load(config_dir, overlay, &choice.candidates, err) < 0)
			return -1;
		/* an overlay for a machine type may name checks that common.json does not have */
		choice.has_common = muster_expect_load(config_dir, COMMON, overlay, &choice.common, err) == 0 ||
				    muster_expect_load(config_dir, COMMON, NULL, &choice.common, err) == 0;
	} else if (muster_expect_load(config_dir, name, overlay, &choice.named, err) < 0) {
		return -1;
	} else if (choice.named.check_count == 0) {
		muster_fail(err, MUSTER_EUSAGE, "%s: $: no checks: every run would pass", choice.named.files[0]);
		muster_selection_done(&choice);
		return -1;
	}
	if (choice.automatic && !choice.has_common && err->code != MUSTER_ENOTSUPPORTED) {
		muster_selection_done(&choice);
		return -1;
	}
	*ret = choice;
	return 0;
}

void muster_selection_done(struct muster_selection *choice)
{
	muster_expect_done(&choice->named);
	muster_expect_done(&choice->common);
	muster_candidates_done(&choice->candidates);
	*choice = (struct muster_selection){ 0 };
}

/* Insert a finding about the whole job, after the failed findings. */
static void add_finding(struct muster_report *report, struct muster_finding finding)
{
	size_t before = report->count[MUSTER_FAIL], behind = report->finding_count - before;
	struct muster_finding *all =
		muster_arena_alloc(report->arena, (report->finding_count + 1) * sizeof *report->findings);
	memcpy(all, report->findings, before * sizeof *all);
	all[before] = finding;
	memcpy(all + before + 1, report->findings + before, behind * sizeof *all);
	report->findings = all;
	report->finding_count++;
	report->count[finding.status]++;
}

/* The expectations of the run's machine type: the one that was named, or the one that is recognised. *ret_how is then a
 * phrase of the run's arena, else NULL. NULL with a sentence in err when it is not known, or the overlay does not fit
 * it. No I/O. */
static const struct muster_expect *find_expectations(const struct muster_selection *choice,
	const struct muster_run *run, const char **ret_how, struct muster_error *err)
{
	size_t index = 0;
	*ret_how = NULL;
	if (!choice->automatic)
		return &choice->named;
	if (muster_recognise(run, &choice->candidates, &index, ret_how, err) < 0)
		return NULL;
	const struct muster_candidate *found = &choice->candidates.items[index];
	if (found->misfit.code == MUSTER_OK)
		return &found->expect;
	*err = found->misfit;
	muster_wrap(err, "detected as %s by %s, but the overlay does not fit this machine type", found->expect.name,
		*ret_how);
	return NULL;
}

/* why: a sentence, which is copied. */
static void evaluate_unknown(const struct muster_selection *choice, const struct muster_run *run,
	enum muster_strictness strict, const char *why, struct muster_report *ret)
{
	muster_evaluate(run, choice->has_common ? &choice->common : NULL, strict, ret);
	ret->sku = "unknown";
	add_finding(ret, (struct muster_finding){
				 .check = "sku.unknown",
				 .status = MUSTER_INCONCLUSIVE,
				 .rank = -1,
				 .gpu_index = -1,
				 .expected = "one machine type with an expectation file",
				 .observed = muster_arena_string(ret->arena, why),
				 .unit = "",
				 .action_code = "fix-settings",
				 .advice = ways_out,
			 });
	if (ret->verdict != MUSTER_FAIL)
		ret->verdict = MUSTER_INCONCLUSIVE;
}

void muster_selection_evaluate(struct muster_selection *choice, const struct muster_run *run,
	enum muster_strictness strict, struct muster_report *ret)
{
	struct muster_error err;
	const char *how;
	const struct muster_expect *expect = find_expectations(choice, run, &how, &err);
	if (!expect) {
		evaluate_unknown(choice, run, strict, err.text, ret);
		return;
	}
	muster_evaluate(run, expect, strict, ret);
	if (how)
		ret->sku_origin = muster_arena_printf(ret->arena, "%s (detected by %s)", ret->sku_origin, how);
}
