/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_report.c - a report: refused with one line, or what is written of it reads back as the same */
#include "fuzz.h"

#include "muster/arena.h"
#include "muster/probe.h"
#include "muster/run.h"

#include <stdlib.h>
#include <string.h>

/* Judged without expectations, and written. */
static char *write_run(const struct muster_run *run, size_t *ret_length)
{
	struct muster_report report;
	muster_evaluate(run, NULL, false, &report);
	char *text = fuzz_report_json(&report, ret_length);
	fuzz_report_text(&report);
	muster_report_done(&report);
	return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct muster_run run, back;
	struct muster_error err;
	size_t length, length_again;
	if (muster_report_read(fuzz_file(0, bytes, size), &run, &err) < 0) {
		fuzz_check_error(&err);
		FUZZ_CHECK(strstr(err.text, "/proc/self/fd/"), "no file is named: %s", err.text);
		return 0;
	}
	char *text = write_run(&run, &length);
	FUZZ_CHECK(muster_report_read(fuzz_file(1, text, length), &back, &err) == 0, "%s", err.text);
	char *again = write_run(&back, &length_again);
	FUZZ_CHECK(length == length_again && memcmp(text, again, length) == 0, "it changed on the way");
	free(again);
	free(text);
	muster_run_done(&back);
	muster_run_done(&run);
	return 0;
}
