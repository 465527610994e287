/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_expect.c - an expectation file of any bytes: refused with one line, or taken, and then a run is judged by it */
#include "fuzz.h"

#include "muster/expect.h"
#include "synthetic_run.h"

#include <stdlib.h>

static void take_problem(void *arg, const char *problem)
{
	(void)arg;
	fuzz_check_plain(problem, strlen(problem), false);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static struct muster_run run;
	struct muster_expect expect;
	struct muster_error err;
	const char *path = fuzz_file(0, bytes, size);
	if (!run.arena)
		synthetic_run(&run, SYNTHETIC_PER_NODE + 1);

	size_t problems = muster_expect_lint("", path, NULL, take_problem, NULL);
	if (muster_expect_load("", path, NULL, &expect, &err) < 0) {
		fuzz_check_error(&err);
		FUZZ_CHECK(err.code == MUSTER_EUSAGE, "%s", err.text);
		FUZZ_CHECK(strstr(err.text, "/proc/self/fd/"), "no file is named: %s", err.text);
		FUZZ_CHECK(problems > 0, "lint finds nothing, and yet: %s", err.text);
		return 0;
	}
	struct muster_report report;
	size_t length;
	muster_evaluate(&run, &expect, false, &report);
	free(fuzz_report_json(&report, &length));
	fuzz_report_text(&report);
	FUZZ_CHECK(report.tally_count == expect.check_count, "%zu tallies of %zu checks", report.tally_count,
		expect.check_count);
	muster_report_done(&report);
	muster_expect_done(&expect);
	return 0;
}
