/* SPDX-License-Identifier: Apache-2.0 */
/* diff.c - `muster diff`: what differs between two saved reports of the same machines, or between a report and what was
 * learned of its machine type
 *
 * Three ways to say what "before" is; report/compare.h has the comparison itself:
 *
 *    muster diff BEFORE AFTER           two reports (compare_reports)
 *    muster diff AFTER --baseline FILE  the checks that `muster baseline` learned (compare_learned, read_overlay)
 *    muster diff AFTER --db FILE        the values of the runs in a history that began before this one (read_history)
 *
 * The last two come to the same struct: a list of values with a median, the usual distance from it, and how many values
 * they are of.
 */
#include "cli/baseline.h"
#include "cli/cli.h"
#include "muster/arena.h"
#include "muster/expect.h"
#include "muster/run.h"
#include "report/compare.h"

#include <stdio.h>

/* Print the comparison and return the exit code: 3 when the two cannot be compared, 1 when something is worse. inputs:
 * the names of what came before and of the report after. before: NULL for what was learned. */
static int print_comparison(const struct muster_comparison *comparison, const char *const *inputs,
	const struct muster_report *before, const struct muster_report *after, bool json)
{
	struct muster_layout layout = muster_cli_list_layout();
	if (json)
		muster_comparison_print_json(comparison, before, inputs[0], after, inputs[1], stdout);
	else
		muster_comparison_print_text(comparison, inputs[0], inputs[1], &layout, stdout);
	return muster_cli_printed(comparison->incomparable                     ? MUSTER_EXIT_INCONCLUSIVE
				  : comparison->count[MUSTER_CHANGE_WORSE] > 0 ? MUSTER_EXIT_FAIL
									       : MUSTER_EXIT_PASS);
}

static int compare_reports(const char *const *inputs, bool json)
{
	struct muster_report reports[2];
	struct muster_run runs[2];
	struct muster_comparison comparison;
	struct muster_error err;
	size_t loaded = 0;
	int code;
	while (loaded < 2 && muster_report_load(inputs[loaded], &runs[loaded], &reports[loaded], &err) == 0)
		loaded++;
	if (loaded == 2) {
		muster_compare(&reports[0], &reports[1], &comparison);
		code = print_comparison(&comparison, inputs, &reports[0], &reports[1], json);
		muster_comparison_done(&comparison);
	} else {
		code = muster_cli_usage(&err);
	}
	while (loaded-- > 0) {
		muster_report_done(&reports[loaded]);
		muster_run_done(&runs[loaded]);
	}
	return code;
}

/* ---- a report, and what was learned ---- */

/* What "before" is, of a baseline or a history. All zeros is an empty one; free_learned() releases it. */
struct learned {
	struct muster_learned_value *values; /* the arena's */
	size_t count;
	/* what the values point to */
	struct muster_arena *arena;
	struct muster_expect expect;
	struct muster_lesson lesson;
};

static void free_learned(struct learned *learned)
{
	if (learned->expect.arena)
		muster_expect_done(&learned->expect);
	if (learned->lesson.arena)
		muster_lesson_done(&learned->lesson);
	muster_arena_free(learned->arena);
}

/* Fill in *ret with the checks of an overlay of muster baseline that are for a run like `after`. -1 with err, also when
 * there is none. What was taken before an error is released by the caller. */
static int read_overlay(const char *configs, const char *path, const struct muster_report *after, struct learned *ret,
	struct muster_error *err)
{
	if (muster_expect_load(configs, after->sku, path, &ret->expect, err) < 0)
		return -1;
	ret->count = muster_learned_of(&ret->expect, after, ret->arena, &ret->values);
	return ret->count ? 0
			  : muster_fail(err, MUSTER_EUSAGE,
				    "%s: no baseline for a run like this one: %s, profile %s, %zu nodes", path,
				    after->sku, after->run->job.profile, after->run->node_count);
}

/* Fill in *ret from a history, with the same rules as muster baseline: values of nodes that passed, by key, at least
 * MUSTER_BASELINE_LEAST of each. o->before leaves out the run itself and all that came after it, so that a report that
 * is in the history is not compared with itself. -1 with err when nothing is left. */
static int read_history(const struct muster_baseline_options *o, const struct muster_report *after, struct learned *ret,
	struct muster_error *err)
{
	ret->lesson.o = o;
	if (muster_lesson_take(&ret->lesson, NULL, 0, err) < 0)
		return -1;
	const struct muster_learning *learning = &ret->lesson.learning;
	ret->values = muster_arena_alloc(ret->arena, (learning->count + 1) * sizeof *ret->values);
	for (size_t i = 0; i < learning->count; i++) {
		const struct muster_learned *item = &learning->items[i];
		const struct muster_metric *metric;
		struct muster_label *labels = muster_arena_alloc(ret->arena, MUSTER_LABELS_MAX * sizeof *labels);
		size_t count = 0;
		if (!muster_learned_enough(item) ||
			muster_history_key_read(ret->arena, item->key, &metric, labels, &count, NULL) < 0)
			continue;
		ret->values[ret->count++] = (struct muster_learned_value){
			.metric = item->metric,
			.where = labels,
			.where_count = count,
			.baseline = { .median = item->median, .mad = item->mad, .count = item->count },
			.share = muster_learned_shares(item).warn,
			.mads = MUSTER_BASELINE_MAD,
		};
	}
	return ret->count ? 0
			  : muster_fail(err, MUSTER_EUSAGE,
				    "%s: no metric of %s, profile %s, has %d values from before this run", o->db,
				    after->sku, after->run->job.profile, MUSTER_BASELINE_LEAST);
}

/* Compare one report with an overlay, or with a history when db is not NULL. Returns the exit code. */
static int compare_learned(const char *path, const char *overlay, const char *db, const char *configs, bool json)
{
	struct muster_report after;
	struct muster_run run;
	struct muster_comparison comparison;
	struct learned learned = { 0 };
	struct muster_error err;
	int code;
	if (muster_report_load(path, &run, &after, &err) < 0)
		return muster_cli_usage(&err);
	const struct muster_baseline_options o = { .db = db,
		.sku = after.sku,
		.profile = run.job.profile,
		.before = run.job.started ? run.job.started : "", /* "": an error, for no time is the upper limit */
		.simulated = run.job.simulated };
	learned.arena = muster_arena_new();
	if ((db ? read_history(&o, &after, &learned, &err) : read_overlay(configs, overlay, &after, &learned, &err)) <
		0) {
		code = muster_cli_usage(&err);
	} else {
		const char *inputs[2] = { db ? db : overlay, path };
		muster_compare_learned(learned.values, learned.count, &after, &comparison);
		code = print_comparison(&comparison, inputs, NULL, &after, json);
		muster_comparison_done(&comparison);
	}
	free_learned(&learned);
	muster_report_done(&after);
	muster_run_done(&run);
	return code;
}

int muster_cmd_diff(int argc, char **argv)
{
	const char *inputs[2], *overlay = NULL, *db = NULL;
	enum muster_form form = MUSTER_FORM_TEXT;
	const struct muster_option options[] = {
		{ "--baseline", "FILE", "compare AFTER alone with this overlay of muster baseline", .text = &overlay },
		{ "--db", "FILE", "compare AFTER alone with earlier runs of this history (muster history)",
			.text = &db },
		MUSTER_CLI_FORMAT(&form),
	};
	struct muster_cli cli = {
		.usage = "muster diff BEFORE AFTER [options]\n       muster diff AFTER --baseline FILE [options]",
		MUSTER_CLI_OPTIONS(options),
		.epilogue =
			"Worse is a check that fails or warns and did not, and a speed that is lower by more than 8 % "
			"(5 % with --repeat) and what its windows vary. With --baseline or --db: by more than the "
			"baseline allows.\nExit codes: 0 "
			"nothing is worse, 1 something is worse, 2 usage, or no readable report, 3 not comparable.\n",
		.prints = true,
		.operands = inputs,
		.operands_least = 1,
		.operands_most = 2,
		.words = muster_words_files,
		.needed = "give two reports: muster diff BEFORE AFTER",
	};
	struct muster_paths paths;
	struct muster_error err;
	int code;
	if (!muster_cli_begin(&cli, argc, argv, &paths, &code))
		return code;
	if (overlay && db)
		muster_fail(&err, MUSTER_EUSAGE, "give --baseline or --db, not both");
	else if ((overlay || db) && cli.operand_count > 1)
		muster_fail(&err, MUSTER_EUSAGE, "with %s, give one report: muster diff AFTER",
			overlay ? "--baseline" : "--db");
	else if (overlay || db)
		return compare_learned(inputs[0], overlay, db, paths.configs, form == MUSTER_FORM_JSON);
	else if (cli.operand_count == 2)
		return compare_reports(inputs, form == MUSTER_FORM_JSON);
	else
		muster_fail(&err, MUSTER_EUSAGE,
			"give two reports: muster diff BEFORE AFTER, or one and --baseline or --db");
	return muster_cli_usage(&err);
}
