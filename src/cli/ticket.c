/* SPDX-License-Identifier: Apache-2.0 */
/* ticket.c - `muster ticket`: what a cloud's support desk asks for about one node of a saved report; sends nothing
 *
 * A cloud's provider asks for facts of one node: which machine it is, what failed, and since when. report/ticket.c
 * collects them from the report, as text for a form on a page, or as the bodies of requests to Azure's Guest Health
 * Reporting.
 */
#include "cli/cli.h"
#include "muster/report.h"
#include "muster/run.h"

static const char *const format_names[] = { "text", "azure-ghr" };

int muster_cmd_ticket(int argc, char **argv)
{
	const char *input, *node = NULL;
	unsigned int format = 0; /* a place in format_names */
	const struct muster_option options[] = {
		{ "--node", "NAME", "the node that failed (needed)", .text = &node },
		{ "--format", "FORMAT",
			"text (default), or azure-ghr: bodies of requests to Azure's Guest Health Reporting",
			MUSTER_CLI_CHOICE(&format, format_names) },
	};
	struct muster_cli cli = {
		.usage = "muster ticket REPORT --node NAME [options]",
		MUSTER_CLI_OPTIONS(options),
		.epilogue = "Prints what a cloud's support desk asks for about a failed node, and sends nothing: "
			    "docs/reference/ticket.md.\nExit codes: 0 printed, 2 usage, no readable report, or nothing "
			    "failed on the node.\n",
		.prints = true,
		MUSTER_CLI_OPERANDS(&input, 1),
		.needed = "no report given: muster ticket REPORT --node NAME",
		.words = muster_words_files,
	};
	struct muster_report report;
	struct muster_run run;
	struct muster_error err;
	int code;
	if (!muster_cli_begin(&cli, argc, argv, NULL, &code))
		return code;
	if (!node)
		muster_fail(&err, MUSTER_EUSAGE, "ticket: give the node: --node NAME");
	else if (muster_report_load(input, &run, &report, &err) == 0) {
		code = muster_report_print_ticket(&report, node, format == 1, stdout, &err) < 0
			       ? muster_cli_usage(&err)
			       : muster_cli_printed(MUSTER_EXIT_PASS);
		muster_report_done(&report);
		muster_run_done(&run);
		return code;
	}
	return muster_cli_usage(&err);
}
