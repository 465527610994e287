/* SPDX-License-Identifier: Apache-2.0 */
/* publish.c - a finished report to everybody who waits for it: file, people, scripts
 *
 * Rank 0 and `muster check`, among others, call muster_report_publish() once, at the end. The order matters: the file
 * comes first, since the summary and the last line must say whether it could be written.
 *
 *   path            JSON report    summary and last line    where the log is JSON
 *   NULL            none           stdout                   the last line is a line of the log, too
 *   "report.json"   the file       stdout                   the same
 *   "-"             stdout         stderr                   a line of the log alone: stderr is that log
 */
#include "muster/report.h"
#include "report/text_summary.h"
#include "muster/run_data.h"
#include "util/log.h"
#include "util/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The last line as a line of the log, with its parts as fields of their own. */
static void log_line(const struct muster_report *report, const char *named)
{
	char *line = NULL;
	size_t length = 0;
	FILE *out = muster_memory_open(&line, &length);
	muster_report_print_line(report, named, out);
	muster_memory_close(out);
	const struct muster_label fields[] = {
		{ "verdict", muster_string(muster_status_name(report->verdict)) },
		{ "sku", muster_string(report->sku) },
		{ "nodes", muster_number((double)muster_run_known_nodes(report->run)) },
		{ "ranks", muster_number(report->run->job.ranks) },
		{ "failed", muster_number((double)report->count[MUSTER_FAIL]) },
		{ "warned", muster_number((double)report->count[MUSTER_WARN]) },
		{ "simulated", muster_boolean(report->run->job.simulated) },
		{ "report", muster_string(named) },
	};
	struct muster_log_place self = muster_log_self();
	self.fields = fields;
	self.field_count = sizeof fields / sizeof *fields;
	muster_log(MUSTER_LOG_INFO, &self, "%.*s", (int)strcspn(line, "\n"), line);
	free(line);
}

/* What cannot be written turns a pass into INCONCLUSIVE, because who reads the report would miss it. A fail stays a
 * fail: the nodes are bad in any case. */
int muster_report_publish(struct muster_report *report, const struct muster_publishing *how)
{
	const char *path = how->path, *named = how->named;
	FILE *out = path && strcmp(path, "-") == 0 ? stderr : stdout;
	struct muster_error err;
	if (path && muster_report_write_json(report, path, &err) < 0) {
		muster_log(MUSTER_LOG_ERROR, NULL, "the report could not be written: %s", err.text);
		report->unwritten = err.text;
		if (report->verdict == MUSTER_PASS)
			report->verdict = MUSTER_INCONCLUSIVE;
		named = "none";
	}
	if (out == stdout || !muster_log_is_json()) {
		struct muster_layout layout = how->layout;
		layout.path = out == stdout && !report->unwritten ? path : NULL;
		(how->inventory ? muster_report_print_inventory_text : muster_report_print_text)(report, &layout, out);
		if (how->hint && !how->inventory)
			muster_text_lines(&(struct muster_text_page){ .out = out, .layout = layout }, how->hint, 0, 2);
		muster_report_print_line(report, named, out);
	}
	if (muster_log_is_json())
		log_line(report, named);
	report->unwritten = NULL;
	if (fflush(out) != 0 || ferror(out)) {
		muster_log(MUSTER_LOG_ERROR, NULL, "the summary could not be printed: %s", strerror(errno));
		if (report->verdict == MUSTER_PASS)
			report->verdict = MUSTER_INCONCLUSIVE;
	}
	return (int)muster_report_exit(report);
}
