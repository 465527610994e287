/* diff.c - `muster diff`: what differs between two saved reports of the same machines */
#include "cli/cli.h"
#include "report/compare.h"

#include <stdio.h>
#include <string.h>

static const char *const format_names[] = { "text", "json" };

/* Names of the files and what they hold: before, after. */
static int compare(const char *const *inputs, const struct muster_report *reports, bool json)
{
	struct muster_comparison comparison;
	muster_compare(&reports[0], &reports[1], &comparison);
	int code = comparison.incomparable                     ? MUSTER_EXIT_INCONCLUSIVE
		   : comparison.count[MUSTER_CHANGE_WORSE] > 0 ? MUSTER_EXIT_FAIL
							       : MUSTER_EXIT_PASS;
	if (json)
		muster_comparison_print_json(&comparison, &reports[0], inputs[0], &reports[1], inputs[1], stdout);
	else
		muster_comparison_print_text(&comparison, inputs[0], inputs[1], stdout);
	muster_comparison_done(&comparison);
	return muster_cli_printed(code);
}

int muster_cmd_diff(int argc, char **argv)
{
	const char *inputs[2];
	unsigned int format = 0;
	const struct muster_option options[] = {
		{ "--format", "FORMAT", "text (default) or json", MUSTER_CLI_CHOICE(&format, format_names) },
	};
	struct muster_cli cli = {
		.usage = "muster diff BEFORE AFTER [options]",
		MUSTER_CLI_OPTIONS(options),
		.epilogue =
			"A value counts as changed if it differs by more than the variation measured with --repeat; "
			"without --repeat, by\nmore than 5 % (25 % for copies of all GPUs at once).\nExit codes: 0 "
			"nothing is worse, 1 something is worse, 2 usage, or no readable report, 3 not comparable.\n",
		MUSTER_CLI_OPERANDS(inputs, 2),
		.words = muster_words_files,
		.needed = "give two reports: muster diff BEFORE AFTER",
	};
	struct muster_report reports[2];
	struct muster_run runs[2];
	struct muster_error err;
	size_t loaded = 0;
	int code;
	if (!muster_cli_begin(&cli, argc, argv, NULL, &code))
		return code;
	while (loaded < 2 && muster_report_load(inputs[loaded], &runs[loaded], &reports[loaded], &err) == 0)
		loaded++;
	code = loaded == 2 ? compare(inputs, reports, format == 1) : muster_cli_usage(&err);
	while (loaded-- > 0) {
		muster_report_done(&reports[loaded]);
		muster_run_done(&runs[loaded]);
	}
	return code;
}
