/* SPDX-License-Identifier: Apache-2.0 */
/* printed.h - a run, the report on it, and what was printed of the report last; a fixture owns all three
 *
 * TEST_MAIN(.teardown = printed_done)
 */
#ifndef MUSTER_TESTS_PRINTED_H
#define MUSTER_TESTS_PRINTED_H

#include "muster/report.h"
#include "muster/run.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct muster_run run;
static struct muster_report report;
static char *text;

static inline void printed_done(void)
{
	free(text);
	text = NULL;
	muster_run_done(&run);
}

static inline const char *print_with(void (*printer)(const struct muster_report *, FILE *))
{
	size_t length = 0;
	free(text);
	FILE *out = open_memstream(&text, &length);
	printer(&report, out);
	fclose(out);
	return text;
}

/* The report has these findings and no others. */
static inline void only_findings(struct muster_finding *findings, size_t count)
{
	report.findings = findings;
	report.finding_count = count;
}

static inline void has(const char *wanted)
{
	ck_assert_msg(strstr(text, wanted) != NULL, "\"%s\" is not in:\n%.3000s", wanted, text);
}

static inline void lacks(const char *unwanted)
{
	ck_assert_msg(strstr(text, unwanted) == NULL, "\"%s\" is in:\n%.3000s", unwanted, text);
}

static inline void begins(const char *wanted)
{
	ck_assert_msg(strncmp(text, wanted, strlen(wanted)) == 0, "\"%s\" is not the begin of:\n%.3000s", wanted, text);
}

static inline size_t count_of(const char *wanted)
{
	size_t count = 0;
	for (const char *at = text; (at = strstr(at, wanted)); at += strlen(wanted))
		count++;
	return count;
}

static inline void has_count(const char *wanted, size_t count)
{
	ck_assert_msg(count_of(wanted) == count, "\"%s\" is %zu times in:\n%.3000s", wanted, count_of(wanted), text);
}

#endif
