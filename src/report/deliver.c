/* deliver.c - a finished report to everybody who waits for it: file, people, scripts */
#include "muster/report.h"

#include <errno.h>
#include <string.h>

int muster_report_deliver(struct muster_report *report, const char *path, const char *named, bool colour)
{
	FILE *out = path && strcmp(path, "-") == 0 ? stderr : stdout;
	struct muster_error err;

	if (path && muster_report_write_json(report, path, &err) < 0) {
		fprintf(stderr, "muster: the report could not be written: %s\n", err.text);
		report->unwritten = err.text;
		if (report->verdict == MUSTER_PASS)
			report->verdict = MUSTER_INCONCLUSIVE; /* whoever waits for the report does not have it */
		named = "none";
	}
	muster_report_print_text(report, out, colour);
	muster_report_print_line(report, named, out);
	report->unwritten = NULL;
	if (fflush(out) != 0 || ferror(out)) {
		fprintf(stderr, "muster: the summary could not be printed: %s\n", strerror(errno));
		if (report->verdict == MUSTER_PASS)
			report->verdict = MUSTER_INCONCLUSIVE;
	}
	return (int)muster_report_exit(report);
}
