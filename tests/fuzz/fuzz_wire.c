/* fuzz_wire.c - a worker that sends anything: no line of it keeps the supervisor's record from being read by rank 0
 *
 * The linker puts the start of a worker below in place of the real one.
 */
#include "fuzz.h"

#include "util/text.h"
#include "muster/arena.h"
#include "coord/worker_client.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int __wrap_muster_subprocess_start(
	struct muster_subprocess *proc, const char *program, char *const *environment, struct muster_error *err);

int __wrap_muster_subprocess_start(
	struct muster_subprocess *proc, const char *program, char *const *environment, struct muster_error *err)
{
	(void)program, (void)environment, (void)err;
	*proc = (struct muster_subprocess){ .commands = -1, .results = -1, .noise = -1, .lines.most = 1 << 20 };
	return 0;
}

/* The record as the leader sends it and rank 0 takes it. */
static void check_record(const struct muster_node *node)
{
	struct muster_run back;
	struct muster_error err;
	size_t length, length_again;
	char *text = muster_node_to_json(node, &length);
	muster_run_init(&back);
	FUZZ_CHECK(muster_node_from_json(&back, text, length, &err) == 0, "%s", err.text);
	char *again = muster_node_to_json(&back.nodes[0], &length_again);
	/* a rank brings facts of its job along, which then stand with the job */
	FUZZ_CHECK(back.job.samples.count > 0 || (length == length_again && memcmp(text, again, length) == 0),
		"it changed on the way");
	free(again);
	free(text);
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
	struct muster_run record;
	struct muster_worker_client crew = { 0 };
	struct muster_error err;
	muster_run_init(&record);
	struct muster_node *node = muster_run_add_node(&record, "node-1");
	struct muster_rank *rank = muster_node_add_rank(node, 0);
	rank->local_rank = 0;

	FUZZ_CHECK(muster_worker_client_start(&crew, "worker", &record, &err) == 0, "%s", err.text);
	crew.proc.noise = open(fuzz_file(0, bytes, noise), O_RDONLY | O_CLOEXEC);
	crew.proc.results = open(fuzz_file(1, bytes + second, size - second), O_RDONLY | O_CLOEXEC);
	FUZZ_CHECK(crew.proc.noise >= 0 && crew.proc.results >= 0, "no pipes");
	do {
		muster_worker_client_command(&crew, "{\"do\": \"run\"}", 1000000);
		muster_worker_client_poll(&crew);
		FUZZ_CHECK(crew.state == MUSTER_WORKER_CLIENT_DONE || crew.state == MUSTER_WORKER_CLIENT_CRASHED,
			"state %d", (int)crew.state);
		muster_outcomes_add(&rank->outcomes, muster_worker_client_outcome(&crew, "gpu"));
	} while (crew.state == MUSTER_WORKER_CLIENT_DONE && rank->outcomes.count < 100);
	rank->gpu = *crew.gpu ? muster_arena_string(record.arena, crew.gpu) : NULL;
	rank->gpu_uuid = *crew.uuid ? muster_arena_string(record.arena, crew.uuid) : NULL;
	check_record(node);
	muster_worker_client_dismiss(&crew);
	muster_run_done(&record);
	return 0;
}
