/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_spool.c - what the ranks of two nodes left on disk: whatever it is, the run made of it can be judged, written
 * and read again
 */
#include "fuzz.h"

#include "muster/arena.h"
#include "spool/read.h"
#include "muster/run.h"

#include <stdlib.h>

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
	struct muster_spool_set spooled = { 0 };
	struct muster_run run, back;
	struct muster_error err;
	size_t second, first = fuzz_split(bytes, size, &second), length;
	const char *folder = fuzz_folder_put("a.jsonl", bytes, first);
	fuzz_folder_put("b.jsonl", bytes + second, size - second);
	muster_run_init(&run);
	if (muster_spool_set_read(folder, NULL, run.arena, &spooled, &err) < 0) {
		fuzz_check_error(&err);
	} else {
		FUZZ_CHECK(spooled.rank_count > 0 && (size_t)spooled.job_ranks >= spooled.rank_count, "%zu of %d ranks",
			spooled.rank_count, spooled.job_ranks);
		muster_spool_set_make(&spooled, &run);
		char *text = write_run(&run, &length);
		FUZZ_CHECK(muster_report_read(fuzz_file(0, text, length), &back, &err) == 0, "%s", err.text);
		muster_run_done(&back);
		free(text);
	}
	muster_spool_set_done(&spooled);
	muster_run_done(&run);
	return 0;
}
