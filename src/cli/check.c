/* SPDX-License-Identifier: Apache-2.0 */
/* check.c - `muster check`: evaluate a saved report again
 *
 * Only the measurements of the report are used; the findings are computed from the expectations given here. The
 * machine type is that of the report, unless the user names another.
 */
#include "cli/cli.h"
#include "eval/select.h"
#include "muster/report.h"
#include "muster/run.h"
#include "util/text.h"

#include <stdio.h>
#include <string.h>

/* Whether the name of a machine type in a report may be looked up. A report may come from anywhere: what it names must
 * be a name in the folder of expectation files, and never a path, so it has no "/" and does not end in ".json". */
static bool is_plain_name(const char *name)
{
	size_t length = strlen(name);
	return muster_text_is_plain(name) && length <= 100 && (length < 5 || strcmp(name + length - 5, ".json") != 0);
}

/* Load the expectations without --sku: those of the machine type that the report was evaluated as; when that is
 * unknown, no plain name, or has no file, the machine type is detected from the measurements. -1 with err when a file
 * is wrong. before: the machine type of the report, or NULL. */
static int choose(const char *configs, const char *before, const char *overlay, struct muster_selection *ret,
	struct muster_error *err)
{
	if (before && is_plain_name(before) && strcmp(before, "unknown") != 0) {
		if (muster_selection_load(configs, before, overlay, ret, err) == 0)
			return 0;
		if (err->code != MUSTER_ENOTSUPPORTED)
			return -1;
		fprintf(stderr, "muster: the machine type of the report, %s, has no file in %s: detecting it\n", before,
			configs);
	}
	return muster_selection_load(configs, "auto", overlay, ret, err);
}

int muster_cmd_check(int argc, char **argv)
{
	const char *sku = NULL, *overlay = NULL, *report = NULL, *input;
	enum muster_strictness strict = MUSTER_LENIENT;
	enum muster_form form = MUSTER_FORM_TEXT;
	const struct muster_option options[] = {
		{ "--sku", "NAME",
			"expected machine type: NAME, FILE or auto (detect); default: that of the report, otherwise "
			"auto",
			.text = &sku, .words = muster_words_skus_auto },
		{ "--overlay", "FILE", "overlay with the thresholds of your site (a JSON merge patch)",
			.text = &overlay },
		{ "--report", "FILE", "write the new report to FILE; - is standard output", .text = &report },
		MUSTER_CLI_FORMAT(&form),
		MUSTER_CLI_STRICT(&strict, ""),
	};
	struct muster_cli cli = {
		.usage = "muster check REPORT [options]",
		MUSTER_CLI_OPTIONS(options),
		.epilogue = "Evaluates the saved measurements of REPORT again; nothing is measured.\nExit codes: 0 "
			    "pass, 1 fail, 2 usage or configuration, 3 inconclusive.\n",
		.prints = true,
		MUSTER_CLI_OPERANDS(&input, 1),
		.words = muster_words_files,
		.needed = "no report given: muster check REPORT",
	};
	struct muster_paths paths;
	struct muster_selection choice = { 0 };
	struct muster_run run = { 0 };
	struct muster_error err;
	int code;
	if (!muster_cli_begin(&cli, argc, argv, &paths, &code))
		return code;
	if (form == MUSTER_FORM_JSON && !report)
		report = "-";
	if (sku && muster_selection_load(paths.configs, sku, overlay, &choice, &err) < 0)
		return muster_cli_usage(&err);
	if (muster_report_read(input, &run, &err) < 0 ||
		(!sku && choose(paths.configs, run.judged_as, overlay, &choice, &err) < 0))
		code = muster_cli_usage(&err);
	else
		code = muster_cli_judge(&choice, &run, strict, report, input);
	muster_selection_done(&choice);
	muster_run_done(&run);
	return code;
}
