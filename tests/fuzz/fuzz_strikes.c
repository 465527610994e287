/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_strikes.c - what is kept of first strikes and passes: whatever it is, it is refused with one line, or written as
 * it was read, and a second strike is one only after a minute
 */
#include "fuzz.h"

#include "slurm/strikes.h"

#include <stdio.h>
#include <string.h>

static void check_same(const struct muster_strike *a, const struct muster_strike *b)
{
	FUZZ_CHECK(strcmp(a->node, b->node) == 0 && strcmp(a->check, b->check) == 0 && strcmp(a->part, b->part) == 0 &&
			   strcmp(a->first, b->first) == 0 && a->by == b->by,
		"%s %s %s", a->node, a->check, a->part);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static const struct muster_finding finding = { .check = "copy.h2d", .status = MUSTER_FAIL, .gpu = "g0" };
	struct muster_strikes first, second;
	struct muster_error err;
	char report[128];
	const char *since;
	snprintf(report, sizeof report, "%s/report.json", fuzz_folder_put("muster-strikes.json", bytes, size));
	if (muster_strikes_read(report, &first, &err) < 0) {
		fuzz_check_error(&err);
		return 0;
	}
	first.changed = true;
	FUZZ_CHECK(muster_strikes_write(report, &first, &err) == 0, "%s", err.text);
	FUZZ_CHECK(muster_strikes_read(report, &second, &err) == 0, "%s", err.text);
	FUZZ_CHECK(first.strike_count == second.strike_count && first.pass_count == second.pass_count, "%zu and %zu",
		first.strike_count, first.pass_count);
	for (size_t i = 0; i < first.strike_count; i++)
		check_same(&first.strikes[i], &second.strikes[i]);
	for (size_t i = 0; i < first.pass_count; i++)
		check_same(&first.passes[i], &second.passes[i]);
	bool again = muster_strikes_take(&first, &finding, "n1", 1764384010, MUSTER_DRAINED_BY_PROLOG, &since);
	FUZZ_CHECK(!again || since, "a second strike without a first one");
	FUZZ_CHECK(!muster_strikes_take(&second, &finding, "n2", 1764384010, MUSTER_DRAINED_BY_PROLOG, &since) || since,
		"a second strike without a first one");
	muster_strikes_done(&first);
	muster_strikes_done(&second);
	return 0;
}
