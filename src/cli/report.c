/* report.c - `muster report`: print a saved report in another form
 *
 * Prints the content of the file; nothing is evaluated again. The exit code says only whether the report could be
 * printed.
 */
#include "cli/cli.h"
#include "util/file.h"
#include "muster/report.h"
#include "report/anonymous.h"

#include <stdio.h>

static void print_text(const struct muster_report *report, FILE *out)
{
	muster_report_print_text(report, out, muster_cli_colours(out));
}

static void print_json(const struct muster_report *report, FILE *out)
{
	struct muster_error ignored; /* the stream remembers */
	(void)muster_report_print_json(report, out, &ignored);
}

enum form { FORM_TEXT, FORM_JSON, FORM_JUNIT, FORM_MARKDOWN, FORM_COUNT };

static const char *const form_names[FORM_COUNT] = { "text", "json", "junit", "markdown" };
static void (*const print[FORM_COUNT])(const struct muster_report *report, FILE *out) = {
	[FORM_TEXT] = print_text,
	[FORM_JSON] = print_json,
	[FORM_JUNIT] = muster_report_print_junit,
	[FORM_MARKDOWN] = muster_report_print_markdown,
};

int muster_cmd_report(int argc, char **argv)
{
	const char *input, *output = "-";
	enum form form = FORM_TEXT;
	bool anonymous = false;
	const struct muster_option options[] = {
		{ "--format", "FORMAT", "text (default), json, junit (XML for CI servers) or markdown (for a ticket)",
			MUSTER_CLI_CHOICE(&form, form_names) },
		{ "--output", "FILE", "write to FILE, completely or not at all (default: standard output)",
			.text = &output },
		{ "--anonymous", NULL,
			"replace names: hosts, job, paths, UUIDs, addresses, P_Keys, virtual machines (docs/skus.md)",
			.flag = &anonymous },
	};
	struct muster_cli cli = {
		.usage = "muster report REPORT [options]",
		MUSTER_CLI_OPTIONS(options),
		.epilogue = "Prints a saved report; nothing is evaluated again.\nExit codes: 0 printed (with any "
			    "verdict), 2 usage, or no readable report.\n",
		MUSTER_CLI_OPERANDS(&input, 1),
		.words = muster_words_files,
		.needed = "no report given: muster report REPORT",
	};
	struct muster_report report;
	struct muster_run run;
	struct muster_file file;
	struct muster_error err;
	int code;
	if (!muster_cli_begin(&cli, argc, argv, NULL, &code))
		return code;
	if (muster_report_load(input, &run, &report, &err) < 0)
		return muster_cli_usage(&err);
	if (anonymous)
		muster_report_anonymise(&run, &report);
	int rc = muster_file_open(&file, output, &err);
	if (rc == 0) {
		print[form](&report, file.out);
		rc = muster_file_commit(&file, &err);
	}
	if (rc < 0)
		fprintf(stderr, "muster: %s\n", err.text);
	muster_report_done(&report);
	muster_run_done(&run);
	return rc < 0 ? MUSTER_EXIT_INCONCLUSIVE : MUSTER_EXIT_PASS;
}
