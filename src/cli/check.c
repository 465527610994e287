/* check.c - `muster check`: judge a saved report again
 *
 * Only the measurements are taken from the report; its findings are made anew from the expectations given here.
 */
#include "cli/cli.h"
#include "muster/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct check_options {
	const char *sku, *overlay, *report, *input;
	bool strict;
};

static int options_parse(int argc, char **argv, struct check_options *o, const char *configs, struct muster_error *err)
{
	const struct muster_option table[] = {
		{ .name = "--sku",
			.argument = "NAME",
			.text = &o->sku,
			.help = "what machine this must be: the name of an expectation file, a path, or \"observe\"" },
		{ .name = "--overlay",
			.argument = "FILE",
			.text = &o->overlay,
			.help = "a site's changes to the expectations (a JSON merge patch)" },
		{ .name = "--report",
			.argument = "FILE",
			.text = &o->report,
			.help = "write the new report; - for stdout" },
		{ .name = "--strict", .flag = &o->strict, .help = "warnings fail the run" },
	};
	const char *operands[1] = { NULL };
	size_t count = 0;
	int rest = argc;
	int parsed = muster_cli_parse(argc, argv, "muster check REPORT --sku NAME [options]", table,
		sizeof table / sizeof *table,
		"Measures nothing: judges the measurements in REPORT.\n"
		"Exit codes: 0 pass, 1 fail, 2 usage or configuration, 3 inconclusive.\n",
		operands, 1, &count, &rest, err);

	if (parsed != 0)
		return parsed;
	if (rest < argc)
		return muster_fail(err, MUSTER_EUSAGE, "check: unexpected argument \"%.60s\" behind --", argv[rest]);
	if (count == 0)
		return muster_fail(
			err, MUSTER_EUSAGE, "check: the report to judge is needed: muster check REPORT --sku NAME");
	if (!o->sku)
		return muster_fail(err, MUSTER_EUSAGE,
			"check: --sku is needed: a machine type (a file name under %s), a file, or \"observe\"",
			configs);
	o->input = operands[0];
	return 0;
}

static int judge(const struct check_options *o, const struct muster_run *run, const struct muster_expect *expect)
{
	bool to_stdout = o->report && strcmp(o->report, "-") == 0;
	FILE *out = to_stdout ? stderr : stdout;
	struct muster_report report;
	struct muster_error err;
	int code;

	muster_evaluate(run, expect, o->strict, &report);
	code = (int)muster_report_exit(&report);
	if (o->report && muster_report_write_json(&report, o->report, &err) < 0) {
		fprintf(stderr, "muster: %s\n", err.text);
		if (code == MUSTER_EXIT_PASS)
			code = MUSTER_EXIT_INCONCLUSIVE; /* whoever waits for the report does not have it */
	}
	muster_report_print_text(&report, out, isatty(fileno(out)) && !getenv("NO_COLOR"));
	muster_report_print_line(&report, o->report ? o->report : o->input, out);
	muster_report_done(&report);
	return code;
}

int muster_cmd_check(int argc, char **argv)
{
	struct check_options options = { 0 };
	struct muster_paths paths;
	struct muster_expect expect = { 0 };
	struct muster_run run;
	struct muster_error err;
	bool known;
	int code;

	if (muster_paths_find(&paths, &err) < 0)
		return muster_cli_usage(&err);
	int parsed = options_parse(argc, argv, &options, paths.configs, &err);
	if (parsed == 1)
		return MUSTER_EXIT_PASS;
	if (parsed < 0)
		return muster_cli_usage(&err);
	known = muster_expect_load(paths.configs, options.sku, options.overlay, &expect, &err) == 0;
	if (!known && err.code != MUSTER_ENOTSUPPORTED)
		return muster_cli_usage(&err);
	if (!known) /* nothing to hold the run against: inconclusive, never a pass */
		fprintf(stderr, "muster: %s\n", err.text);
	if (muster_report_read(options.input, &run, &err) < 0) {
		muster_expect_done(&expect);
		return muster_cli_usage(&err);
	}
	code = judge(&options, &run, known ? &expect : NULL);
	muster_run_done(&run);
	muster_expect_done(&expect);
	return code;
}
