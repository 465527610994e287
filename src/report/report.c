/* SPDX-License-Identifier: Apache-2.0 */
/* report.c - the exit code, and the last line that scripts rely on
 *
 *   MUSTER FAIL sku=Standard_ND96asr_v4 nodes=2 ranks=16 failed=1 warned=0 report=my%20report.json
 *
 * Values are encoded so that a script can split the line at blanks, and each word at its first "=".
 */
#include "muster/report.h"
#include "muster/run_data.h"

#include <ctype.h>

/* Whatever is neither a clear pass nor a clear fail must not look like one. */
enum muster_exit muster_report_exit(const struct muster_report *report)
{
	switch (report->verdict) {
	case MUSTER_PASS: return MUSTER_EXIT_PASS;
	case MUSTER_FAIL: return MUSTER_EXIT_FAIL;
	default: return MUSTER_EXIT_INCONCLUSIVE;
	}
}

/* A value of the last line: printable ASCII without blanks; everything else, and '%' itself, percent-encoded byte by
 * byte. NULL is "unknown". */
static void print_encoded(FILE *out, const char *text)
{
	for (const unsigned char *at = (const unsigned char *)(text ? text : "unknown"); *at; at++) {
		if (*at > 0x20 && *at < 0x7f && *at != '%')
			fputc(*at, out);
		else
			fprintf(out, "%%%02X", (unsigned int)*at);
	}
}

void muster_report_print_line(const struct muster_report *report, const char *report_path, FILE *out)
{
	fputs("MUSTER ", out);
	for (const char *at = muster_status_name(report->verdict); *at; at++)
		fputc(toupper((unsigned char)*at), out);
	fputs(" sku=", out);
	print_encoded(out, report->sku);
	fprintf(out, " nodes=%zu ranks=%d failed=%zu warned=%zu report=", muster_run_known_nodes(report->run),
		report->run->job.ranks, report->count[MUSTER_FAIL], report->count[MUSTER_WARN]);
	print_encoded(out, report_path);
	fputc('\n', out);
}
