/* SPDX-License-Identifier: Apache-2.0 */
/* printed_fixture.h - reports of report_fixture.h, and what was printed of them last */
#ifndef MUSTER_TESTS_PRINTED_FIXTURE_H
#define MUSTER_TESTS_PRINTED_FIXTURE_H

#include "report_fixture.h"
#include "unit/report/printed.h"

/* Two nodes with one of everything. */
static inline void with_everything(void)
{
	fixture_run(&run);
	fixture_report(&report, &run);
}

/* Healthy nodes of eight ranks, and findings on the first two. */
static inline void with_ranks(int ranks)
{
	synthetic_run(&run, ranks);
	fixture_report(&report, &run);
}

#endif
