/* publish.c - a finished report to everybody who waits for it: file, people, scripts */
#include "muster/report.h"
#include "util/log.h"
#include "util/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The last line as a line of the log. */
static void log_line(const struct muster_report *report, const char *named)
{
	char *line = NULL;
	size_t length = 0;
	FILE *out = muster_memory_open(&line, &length);
	muster_report_print_line(report, named, out);
	muster_memory_close(out);
	muster_log(MUSTER_LOG_INFO, NULL, "%.*s", (int)strcspn(line, "\n"), line);
	free(line);
}

int muster_report_publish(struct muster_report *report, const char *path, const char *named, bool colour)
{
	FILE *out = path && strcmp(path, "-") == 0 ? stderr : stdout;
	struct muster_error err;
	if (path && muster_report_write_json(report, path, &err) < 0) {
		muster_log(MUSTER_LOG_ERROR, NULL, "the report could not be written: %s", err.text);
		report->unwritten = err.text;
		if (report->verdict == MUSTER_PASS)
			report->verdict = MUSTER_INCONCLUSIVE; /* the report is missing for its reader */
		named = "none";
	}
	if (out == stdout || !muster_log_is_json()) {
		muster_report_print_text(report, out, colour);
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
