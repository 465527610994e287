/* SPDX-License-Identifier: Apache-2.0 */
/* test_text_explain.c - the command that explains the checks of a report */
#include "report/text_summary.h"

#include "unit/report/printed_fixture.h"

#include "check_main.h"

static void print_command(const struct muster_report *what, FILE *out)
{
	const struct muster_text_page page = { .report = what, .out = out };
	muster_text_explain(&page);
}

#define EVENT(metric_, key_, code)                                                                                     \
	.metric = metric_, .labels = (struct muster_label[]){ { key_, { MUSTER_STRING, .string = code } } },           \
	.label_count = 1

static const struct {
	const char *sku;
	struct muster_finding findings[12];
	const char *command;
} cases[] = {
	{ "x", { { 0 } }, "" },
	{ "x", { FINDING(SKIP, "gpu.ecc", NULL, -1, NULL, NULL, "") }, "" },
	/* each id once, at most eight */
	{ "Standard_ND96asr_v4",
		{ FINDING(FAIL, "c1", NULL, -1, NULL, NULL, ""), FINDING(FAIL, "c1", NULL, -1, NULL, NULL, ""),
			FINDING(INCONCLUSIVE, "c2", NULL, -1, NULL, NULL, ""),
			FINDING(WARN, "c3", NULL, -1, NULL, NULL, ""), FINDING(WARN, "c4", NULL, -1, NULL, NULL, ""),
			FINDING(WARN, "c5", NULL, -1, NULL, NULL, ""), FINDING(WARN, "c6", NULL, -1, NULL, NULL, ""),
			FINDING(WARN, "c7", NULL, -1, NULL, NULL, ""), FINDING(WARN, "c8", NULL, -1, NULL, NULL, ""),
			FINDING(WARN, "c9", NULL, -1, NULL, NULL, "") },
		"\nwhat it means:\n  muster explain c1 c2 c3 c4 c5 c6 c7 c8 --sku Standard_ND96asr_v4\n" },
	{ "unknown", { FINDING(FAIL, "rank.missing", NULL, -1, NULL, NULL, "") },
		"\nwhat it means:\n  muster explain rank.missing\n" },
	/* of an event the event itself */
	{ NULL,
		{ FINDING(FAIL, "history.xid", NULL, -1, NULL, NULL, "",
			  EVENT("node.xid_age_hours", "code", "149-fatal")),
			FINDING(FAIL, "history.sxid", NULL, -1, NULL, NULL, "",
				EVENT("node.sxid_age_hours", "code", "12028")),
			FINDING(FAIL, "history.kernel", NULL, -1, NULL, NULL, "",
				EVENT("node.kernel_event_age_hours", "kind", "link-flaps")) },
		"\nwhat it means:\n  muster explain xid-149-fatal sxid-12028 link-flaps\n" },
	/* a report comes from outside, and a shell reads the command */
	{ "a;b",
		{ FINDING(FAIL, "$(reboot)", NULL, -1, NULL, NULL, ""),
			FINDING(FAIL, "--list", NULL, -1, NULL, NULL, "") },
		"" },
	{ "`a`", { FINDING(FAIL, "ib.state", NULL, -1, NULL, NULL, "") },
		"\nwhat it means:\n  muster explain ib.state\n" },
};

TEST_EACH(the_command_names_what_is_wrong, cases)
{
	struct muster_finding findings[12];
	memcpy(findings, cases[_i].findings, sizeof findings);
	report = (struct muster_report){ .sku = cases[_i].sku, .findings = findings };
	while (report.finding_count < 12 && findings[report.finding_count].check)
		report.finding_count++;
	ck_assert_str_eq(print_with(print_command), cases[_i].command);
}

TEST_MAIN(.setup = NULL)
