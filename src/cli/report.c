/* report.c - `muster report`: print a saved report in another form
 *
 * Prints the content of the file; nothing is evaluated again. The exit code says only whether the report could be
 * printed.
 */
#include "cli/cli.h"
#include "util/file.h"
#include "muster/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void print_text(const struct muster_report *report, FILE *out)
{
	muster_report_print_text(report, out, isatty(fileno(out)) && !getenv("NO_COLOR"));
}

static void print_json(const struct muster_report *report, FILE *out)
{
	struct muster_error ignored; /* the stream remembers */
	(void)muster_report_print_json(report, out, &ignored);
}

static const struct form {
	const char *name;
	void (*print)(const struct muster_report *report, FILE *out);
} forms[] = {
	{ "text", print_text },
	{ "json", print_json },
	{ "junit", muster_report_print_junit },
	{ "markdown", muster_report_print_markdown },
};

struct report_options {
	const char *input, *output;
	const struct form *form;
};

static int parse_form(void *arg, const char *text, struct muster_error *err)
{
	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
		if (strcmp(text, forms[i].name) == 0) {
			*(const struct form **)arg = &forms[i];
			return 0;
		}
	}
	return muster_fail(
		err, MUSTER_EUSAGE, "--format: text, json, junit or markdown is needed, found \"%.60s\"", text);
}

static int options_parse(int argc, char **argv, struct report_options *o, struct muster_error *err)
{
	const struct muster_option table[] = {
		{ .name = "--format",
			.argument = "FORMAT",
			.each = parse_form,
			.arg = &o->form,
			.help = "text (default), json, junit (XML for CI servers) or markdown (for a ticket)" },
		{ .name = "--output",
			.argument = "FILE",
			.text = &o->output,
			.help = "write to FILE, completely or not at all (default: standard output)" },
	};
	struct muster_cli cli = {
		.usage = "muster report REPORT [options]",
		MUSTER_CLI_OPTIONS(table),
		.epilogue = "Prints a saved report; nothing is evaluated again.\nExit codes: 0 printed (with any "
			    "verdict), 2 usage, or no readable report.\n",
		.operands = &o->input,
		.operands_least = 1,
		.operands_most = 1,
		.needed = "no report given: muster report REPORT",
	};
	int parsed = muster_cli_parse(&cli, argc, argv, err);
	return parsed;
}

int muster_cmd_report(int argc, char **argv)
{
	struct report_options options = { .output = "-", .form = &forms[0] };
	struct muster_report report;
	struct muster_run run;
	struct muster_file file;
	struct muster_error err;
	int parsed = options_parse(argc, argv, &options, &err);
	if (parsed == 1)
		return MUSTER_EXIT_PASS;
	if (parsed < 0 || muster_report_load(options.input, &run, &report, &err) < 0)
		return muster_cli_usage(&err);
	int rc = muster_file_open(&file, options.output, &err);
	if (rc == 0) {
		options.form->print(&report, file.out);
		rc = muster_file_commit(&file, &err);
	}
	if (rc < 0)
		fprintf(stderr, "muster: %s\n", err.text);
	muster_report_done(&report);
	muster_run_done(&run);
	return rc < 0 ? MUSTER_EXIT_INCONCLUSIVE : MUSTER_EXIT_PASS;
}
