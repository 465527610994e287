/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_wire.c - a worker that sends anything: no line of it keeps the supervisor's record from being read by rank 0
 */
#include "fuzz.h"

#include "muster/run.h"
#include "util/text.h"
#include "muster/arena.h"
#include "coord/worker_process.h"
#include "muster/probe.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* In place of a process: its pipes are files. */
static int start(void *arg, struct muster_error *err)
{
	struct muster_worker_process *process = arg;
	(void)err;
	process->lines = (struct muster_line_reader){ .most = 1 << 20 };
	process->output_length = 0;
	return 0;
}

/* The record as rank 0 takes it: read it, and write and read what was read. */
static void check_record(const struct muster_record *record)
{
	struct muster_run run, back;
	struct muster_record_parts parts;
	struct muster_error err;
	struct muster_report report;
	size_t length;
	muster_run_init(&run);
	run.job.profile = muster_profile_names[MUSTER_QUICK];
	run.job.ranks = 1;
	muster_run_add_node(&run, "node-1");
	struct muster_record_reader *reader = muster_record_reader_new(run.arena, muster_metric_find);
	muster_record_parts_init(&parts, 0);
	muster_record_read(reader, record->bytes, record->length, &parts);
	muster_record_merge(&run, 0, &parts);
	muster_record_reader_free(reader);
	muster_evaluate(&run, NULL, false, &report);
	char *text = fuzz_report_json(&report, &length);
	muster_report_done(&report);
	FUZZ_CHECK(muster_report_read(fuzz_file(2, text, length), &back, &err) == 0, "%s", err.text);
	free(text);
	muster_run_done(&run);
	muster_run_done(&back);
}

/* Before a line "---" what it prints, behind it what it sends; a line "{"do":..." of ours is due after each answer. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	size_t second, noise = fuzz_split(bytes, size, &second);
	if (second == size) {
		second = 0;
		noise = 0;
	}
	struct muster_record record = { 0 };
	struct muster_deadlines deadlines;
	struct muster_worker_process process;
	struct muster_arena *arena = muster_arena_new();
	struct muster_error err;
	muster_deadlines_init(&deadlines, 1);
	muster_worker_process_init(&process, "worker");
	struct muster_worker_ops ops = muster_worker_process_ops;
	ops.start = start;
	struct muster_worker_client client = {
		.ops = &ops,
		.worker = &process,
		.clock = &muster_clock_monotonic,
		.deadlines = &deadlines,
		.arena = arena,
		.record = &record,
	};
	struct muster_rank rank = { .rank = 0, .local_rank = 0 };
	size_t outcomes = 0;

	FUZZ_CHECK(muster_worker_client_start(&client, &err) == 0, "%s", err.text);
	process.noise = open(fuzz_file(0, bytes, noise), O_RDONLY | O_CLOEXEC);
	process.results = open(fuzz_file(1, bytes + second, size - second), O_RDONLY | O_CLOEXEC);
	FUZZ_CHECK(process.noise >= 0 && process.results >= 0, "no pipes");
	do {
		muster_worker_client_command(&client, "{\"do\": \"run\"}", 1000000);
		muster_worker_client_poll(&client);
		FUZZ_CHECK(client.state == MUSTER_WORKER_DONE || client.state == MUSTER_WORKER_CRASHED, "state %d",
			(int)client.state);
		struct muster_outcome outcome = muster_worker_client_outcome(&client, "gpu");
		char *line = muster_record_outcome_line(&outcome);
		muster_record_add(&record, line, strlen(line));
		free(line);
	} while (client.state == MUSTER_WORKER_DONE && ++outcomes < 100);
	rank.gpu = *client.answer.gpu ? client.answer.gpu : NULL;
	rank.gpu_uuid = *client.answer.uuid ? client.answer.uuid : NULL;
	char *line = muster_record_rank_line(&rank, "node-1", client.answer.simulated);
	muster_record_add(&record, line, strlen(line));
	free(line);
	check_record(&record);
	muster_worker_client_done(&client, 0);
	muster_worker_process_done(&process);
	muster_record_done(&record);
	muster_arena_free(arena);
	return 0;
}
