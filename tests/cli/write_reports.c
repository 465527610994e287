/* SPDX-License-Identifier: Apache-2.0 */
/* write_reports.c - write reports of several kinds into a directory, for the schema's validator */
#include "muster/report.h"

#include "muster/run.h"
#include "report_fixture.h"

#include <stdlib.h>

static int write_report(const char *directory, const char *name, const struct muster_report *report)
{
	struct muster_error err;
	char *path = muster_asprintf("%s/%s.json", directory, name);
	int rc = muster_report_write_json(report, path, &err);
	if (rc < 0)
		fprintf(stderr, "write_reports: %s\n", err.text);
	free(path);
	return rc;
}

/* Everything that a report can hold, with each verdict. */
static int write_fixture(const char *directory)
{
	static const struct {
		const char *name;
		enum muster_status verdict;
	} kinds[] = { { "fail", MUSTER_FAIL }, { "inconclusive", MUSTER_INCONCLUSIVE }, { "pass", MUSTER_PASS } };
	struct muster_run run;
	struct muster_report report;
	int rc = 0;
	fixture_run(&run);
	fixture_report(&report, &run);
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		report.verdict = kinds[i].verdict;
		rc |= write_report(directory, kinds[i].name, &report);
	}
	run.job.assembled = run.job.beside_jobs = true;
	muster_run_add_node(&run, "sim-3"); /* nothing came from it */
	rc |= write_report(directory, "assembled", &report);
	muster_run_done(&run);
	return rc;
}

/* What evaluate makes of a synthetic run without expectations. */
static int write_judged(const char *directory, const char *name, int ranks)
{
	struct muster_run run;
	struct muster_report report;
	synthetic_run(&run, ranks);
	muster_evaluate(&run, NULL, true, &report);
	int rc = write_report(directory, name, &report);
	muster_report_done(&report);
	muster_run_done(&run);
	return rc;
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fputs("usage: write_reports DIRECTORY\n", stderr);
		return 2;
	}
	int rc = write_judged(argv[1], "alone", 1);
	rc |= write_judged(argv[1], "many", 40);
	rc |= write_fixture(argv[1]);
	return rc == 0 ? 0 : 1;
}
