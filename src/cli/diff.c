/* diff.c - `muster diff`: what differs between two saved reports of the same machines */
#include "cli/cli.h"
#include "report/compare.h"

#include <stdio.h>
#include <string.h>

struct diff_options {
	const char *inputs[2]; /* before, after */
	bool json;
};

static int parse_format(void *arg, const char *text, struct muster_error *err)
{
	bool json = strcmp(text, "json") == 0;
	if (!json && strcmp(text, "text") != 0)
		return muster_fail(err, MUSTER_EUSAGE, "--format: text or json is needed, found \"%.60s\"", text);
	*(bool *)arg = json;
	return 0;
}

static int options_parse(int argc, char **argv, struct diff_options *o, struct muster_error *err)
{
	const struct muster_option table[] = {
		{ .name = "--format",
			.argument = "FORMAT",
			.each = parse_format,
			.arg = &o->json,
			.help = "text (default) or json" },
	};
	struct muster_cli cli = {
		.usage = "muster diff BEFORE AFTER [options]",
		MUSTER_CLI_OPTIONS(table),
		.epilogue =
			"A value counts as changed if it differs by more than the variation measured with --repeat; "
			"without --repeat, by\nmore than 5 % (25 % for copies of all GPUs at once).\nExit codes: 0 "
			"nothing is worse, 1 something is worse, 2 usage, or no readable report, 3 not comparable.\n",
		.operands = o->inputs,
		.operands_least = 2,
		.operands_most = 2,
		.needed = "give two reports: muster diff BEFORE AFTER",
	};
	return muster_cli_parse(&cli, argc, argv, err);
}

static int compare(const struct diff_options *o, const struct muster_report *before, const struct muster_report *after)
{
	struct muster_comparison comparison;
	muster_compare(before, after, &comparison);
	int code = comparison.incomparable                     ? MUSTER_EXIT_INCONCLUSIVE
		   : comparison.count[MUSTER_CHANGE_WORSE] > 0 ? MUSTER_EXIT_FAIL
							       : MUSTER_EXIT_PASS;
	if (o->json)
		muster_comparison_print_json(&comparison, before, o->inputs[0], after, o->inputs[1], stdout);
	else
		muster_comparison_print_text(&comparison, o->inputs[0], o->inputs[1], stdout);
	muster_comparison_done(&comparison);
	return muster_cli_printed(code);
}

int muster_cmd_diff(int argc, char **argv)
{
	struct diff_options options = { 0 };
	struct muster_report reports[2];
	struct muster_run runs[2];
	struct muster_error err;
	int parsed = options_parse(argc, argv, &options, &err);
	if (parsed == 1)
		return MUSTER_EXIT_PASS;
	if (parsed < 0 || muster_report_load(options.inputs[0], &runs[0], &reports[0], &err) < 0)
		return muster_cli_usage(&err);
	int code;
	if (muster_report_load(options.inputs[1], &runs[1], &reports[1], &err) < 0) {
		code = muster_cli_usage(&err);
	} else {
		code = compare(&options, &reports[0], &reports[1]);
		muster_report_done(&reports[1]);
		muster_run_done(&runs[1]);
	}
	muster_report_done(&reports[0]);
	muster_run_done(&runs[0]);
	return code;
}
