/* check.c - `muster check`: evaluate a saved report again
 *
 * Only the measurements of the report are used; the findings are computed from the expectations given here. The
 * machine type is that of the report, unless the user names another.
 */
#include "cli/cli.h"
#include "eval/select.h"
#include "muster/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct check_options {
	const char *sku, *overlay, *report, *input;
	bool strict;
};

static int options_parse(int argc, char **argv, struct check_options *o, struct muster_error *err)
{
	const struct muster_option table[] = {
		{ .name = "--sku",
			.argument = "NAME",
			.text = &o->sku,
			.help = "expected machine type: NAME, FILE or auto (detect); default: that of the report, "
				"otherwise auto" },
		{ .name = "--overlay",
			.argument = "FILE",
			.text = &o->overlay,
			.help = "overlay with the thresholds of your site (a JSON merge patch)" },
		{ .name = "--report",
			.argument = "FILE",
			.text = &o->report,
			.help = "write the new report to FILE; - is standard output" },
		{ .name = "--strict", .flag = &o->strict, .help = "warnings fail the run" },
	};
	struct muster_cli cli = {
		.usage = "muster check REPORT [options]",
		MUSTER_CLI_OPTIONS(table),
		.epilogue = "Evaluates the saved measurements of REPORT again; nothing is measured.\nExit codes: 0 "
			    "pass, 1 fail, 2 usage or configuration, 3 inconclusive.\n",
		.operands = &o->input,
		.operands_least = 1,
		.operands_most = 1,
		.needed = "no report given: muster check REPORT",
	};
	int parsed = muster_cli_parse(&cli, argc, argv, err);
	return parsed;
}

/* A report may come from anywhere: what it names is looked up as a plain name, and never as a path. */
static bool is_plain_name(const char *name)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
	size_t length = strlen(name);
	return length > 0 && length <= 100 && strspn(name, allowed) == length &&
	       (length < 5 || strcmp(name + length - 5, ".json") != 0);
}

/* The machine type without --sku: that of the report; when unknown, detected from the measurements. */
static int choose(const struct check_options *o, const char *configs, const char *before, struct muster_selection *ret,
	struct muster_error *err)
{
	if (before && is_plain_name(before) && strcmp(before, "unknown") != 0) {
		if (muster_selection_load(configs, before, o->overlay, ret, err) < 0)
			return -1;
		if (ret->known)
			return 0;
		fprintf(stderr, "muster: the machine type of the report, %s, has no file in %s: detecting it\n", before,
			configs);
		muster_selection_done(ret);
	}
	return muster_selection_load(configs, "auto", o->overlay, ret, err);
}

static int judge(const struct check_options *o, const struct muster_run *run, struct muster_selection *choice)
{
	bool to_stdout = o->report && strcmp(o->report, "-") == 0;
	struct muster_report report;
	muster_selection_evaluate(choice, run, o->strict, &report);
	int code = muster_report_publish(&report, o->report, o->report ? o->report : o->input,
		isatty(fileno(to_stdout ? stderr : stdout)) && !getenv("NO_COLOR"));
	muster_report_done(&report);
	return code;
}

int muster_cmd_check(int argc, char **argv)
{
	struct check_options options = { 0 };
	struct muster_paths paths;
	struct muster_selection choice = { 0 };
	struct muster_run run = { 0 };
	struct muster_error err;
	int code;
	if (muster_paths_find(&paths, &err) < 0)
		return muster_cli_usage(&err);
	int parsed = options_parse(argc, argv, &options, &err);
	if (parsed == 1)
		return MUSTER_EXIT_PASS;
	if (parsed < 0 ||
		(options.sku && muster_selection_load(paths.configs, options.sku, options.overlay, &choice, &err) < 0))
		return muster_cli_usage(&err);
	if (muster_report_read(options.input, &run, &err) < 0 ||
		(!options.sku && choose(&options, paths.configs, run.judged_as, &choice, &err) < 0))
		code = muster_cli_usage(&err);
	else
		code = judge(&options, &run, &choice);
	muster_selection_done(&choice);
	muster_run_done(&run);
	return code;
}
