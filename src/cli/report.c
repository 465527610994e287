/* SPDX-License-Identifier: Apache-2.0 */
/* report.c - `muster report`: print a saved report in another form
 *
 * Prints the content of the file; nothing is evaluated again. The exit code says only whether the report could be
 * printed. Each form is a row of `forms`: the function that prints a report, and for some forms one that prints an
 * inventory.
 */
#include "cli/cli.h"
#include "muster/run.h"
#include "muster/report.h"
#include "report/anonymous.h"

#include <stdio.h>

static void print_json(const struct muster_report *report, FILE *out)
{
	struct muster_error ignored; /* muster_cli_printed() finds a write error in the stream */
	(void)muster_report_print_json(report, out, &ignored);
}

/* A form for people needs the terminal's size and the path of the report, one for programs does not. */
static const struct form {
	const char *name;
	struct printer {
		void (*print)(const struct muster_report *report, FILE *out);
		void (*print_laid_out)(
			const struct muster_report *report, const struct muster_layout *layout, FILE *out);
	} summary, inventory; /* both functions NULL: the form has no inventory */
} forms[] = {
	{ "text", { .print_laid_out = muster_report_print_text },
		{ .print_laid_out = muster_report_print_inventory_text } }, /* the default */
	{ "json", { .print = print_json }, { .print = NULL } },
	{ "junit", { .print = muster_report_print_junit }, { .print = NULL } },
	{ "markdown", { .print = muster_report_print_markdown }, { .print = muster_report_print_inventory_markdown } },
	{ "html", { .print = muster_report_print_html }, { .print = muster_report_print_inventory_html } },
	{ "prometheus", { .print = muster_report_print_prometheus }, { .print = NULL } },
};
enum { FORM_COUNT = sizeof forms / sizeof *forms };

/* Print the report or its inventory. A form that is laid out is for people, and the last line for automation follows
 * it. path: of the saved report, which the text names; NULL: the text must not name it (--anonymous). */
static void print_form(const struct printer *printer, const struct muster_report *report, const char *path, FILE *out)
{
	if (!printer->print_laid_out) {
		printer->print(report, out);
		return;
	}
	struct muster_layout layout = muster_cli_layout(out, path);
	printer->print_laid_out(report, &layout, out);
	muster_report_print_line(report, path, out);
}

int muster_cmd_report(int argc, char **argv)
{
	const char *input, *textfile = NULL;
	const char *form_names[FORM_COUNT];
	unsigned int form = 0;
	bool anonymous = false, inventory = false;
	for (size_t i = 0; i < FORM_COUNT; i++)
		form_names[i] = forms[i].name;
	const struct muster_option options[] = {
		{ "--format", "FORMAT",
			"text (default), json, junit (XML for CI servers), markdown (for a ticket), html (a page) or "
			"prometheus (text format)",
			MUSTER_CLI_CHOICE(&form, form_names) },
		{ "--inventory", NULL,
			"what the nodes have instead of the summary: GPU, NUMA node and CPUs of each rank, hardware "
			"and software, RDMA ports",
			.flag = &inventory },
		{ "--textfile", "DIR",
			"print nothing, write DIR/muster.prom for the textfile collector of Prometheus's node_exporter",
			.text = &textfile },
		{ "--anonymous", NULL,
			"replace hosts, job, paths, UUIDs, addresses, P_Keys, virtual machines "
			"(docs/reference/machine-types.md)",
			.flag = &anonymous },
	};
	struct muster_cli cli = {
		.usage = "muster report REPORT [options]",
		MUSTER_CLI_OPTIONS(options),
		.epilogue = "Prints a saved report; nothing is evaluated again.\nExit codes: 0 printed (with any "
			    "verdict), 2 usage, or no readable report.\n",
		.prints = true,
		MUSTER_CLI_OPERANDS(&input, 1),
		.words = muster_words_files,
		.needed = "no report given: muster report REPORT",
	};
	struct muster_report report;
	struct muster_run run;
	struct muster_error err;
	int code;
	if (!muster_cli_begin(&cli, argc, argv, NULL, &code))
		return code;
	if (textfile && (form != 0 || inventory || cli.output)) {
		muster_fail(&err, MUSTER_EUSAGE,
			"report: --textfile has a format and a file of its own: use it without "
			"--format, --inventory and --output");
		return muster_cli_usage(&err);
	}
	if (inventory && !forms[form].inventory.print && !forms[form].inventory.print_laid_out) {
		muster_fail(&err, MUSTER_EUSAGE, "report: --inventory needs --format text, markdown or html");
		return muster_cli_usage(&err);
	}
	if (muster_report_load(input, &run, &report, &err) < 0)
		return muster_cli_usage(&err);
	if (anonymous)
		muster_report_anonymise(&run, &report);
	code = MUSTER_EXIT_PASS;
	if (!textfile)
		print_form(inventory ? &forms[form].inventory : &forms[form].summary, &report, anonymous ? NULL : input,
			stdout);
	else if (muster_report_write_textfile(&report, textfile, &err) < 0)
		code = muster_cli_unwritten(&err);
	muster_report_done(&report);
	muster_run_done(&run);
	return textfile ? code : muster_cli_printed(code);
}
