/* conduct.c - one rank's way through the run, top to bottom
 *
 * worker started → MPI → layout → GPU taken → probes alone → in turns and together → ring → record sent → report.
 * While a rank waits for anything it serves everything: its worker, its node's gates, rank 0's office (serve()).
 */
#include "run/conductor.h"

#include "core/text.h"
#include "run/parcel.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
	HELLO_SHARE = 3, /* a third of the whole deadline for ranks to appear */
	/* who waits how long before the run's end: leaders settle gates, then rank 0, then members stop waiting */
	GATE_LEADER_MS = 5000,
	GATE_ROOT_MS = 4500,
	RECORD_LEADER_MS = 3000,
	RECORD_ROOT_MS = 1000,
	GOODBYE_MS = 3000, /* after it: the report is being written */
};

/* RFC 3339, UTC. */
static void now_text(char *out, size_t size)
{
	struct tm parts;
	time_t now = time(NULL);
	gmtime_r(&now, &parts);
	strftime(out, size, "%Y-%m-%dT%H:%M:%SZ", &parts);
}

/* Slurm's name for the node where there is one: host names of a site need not be its node names. */
static const char *node_name(struct muster_pool *pool)
{
	const char *slurm = getenv("SLURMD_NODENAME");
	char name[256] = "unknown";
	if (slurm && *slurm)
		return muster_pool_string(pool, slurm);
	gethostname(name, sizeof name - 1);
	return muster_pool_string(pool, name);
}

static void trace(const struct muster_conductor *c, const char *what)
{
	if (getenv("MUSTER_TRACE"))
		fprintf(stderr, "muster: rank %d: %.3f s: %s\n", c->rank, (muster_now_ms() - c->start_ms) / 1e3, what);
}

/* Say hello to rank 0, learn who else is on this node. false: the run was called off, with this exit code. */
static bool find_place(struct muster_conductor *c, int *ret_exit)
{
	muster_link_send(0, MUSTER_TAG_HELLO, c->node, strlen(c->node));
	while (!c->layout.bytes && muster_now_ms() < c->end_ms)
		muster_serve(c);
	int numbers[3] = { MUSTER_EXIT_INCONCLUSIVE, 0, 0 }, rank;
	size_t at, length;
	const char *bytes;
	if (!c->layout.bytes || !muster_parcel_header(c->layout.bytes, c->layout.length, numbers, 3, &at) ||
		numbers[0] != 0) {
		*ret_exit = numbers[0] > 0 ? numbers[0] : MUSTER_EXIT_INCONCLUSIVE;
		return false;
	}
	c->node_index = numbers[1];
	c->nodes = numbers[2];
	c->members = muster_calloc((size_t)c->ranks, sizeof *c->members);
	while (c->member_count < (size_t)c->ranks &&
		muster_parcel_part(c->layout.bytes, c->layout.length, &at, &rank, &bytes, &length)) {
		if (rank == c->rank)
			c->local_rank = (int)c->member_count;
		c->members[c->member_count++] = rank;
	}
	c->record.nodes[0].ranks[0].local_rank = c->local_rank;
	c->leader_heard_ms = muster_now_ms();
	if (c->members[0] == c->rank) {
		c->leader = muster_calloc(1, sizeof *c->leader);
		muster_leader_init(c->leader, c->members, c->member_count, c->node, c->ranks,
			c->end_ms - GATE_LEADER_MS, c->end_ms - RECORD_LEADER_MS);
		for (size_t i = 0; i < c->early_count; i++) {
			muster_leader_message(c->leader, &c->early[i]);
			muster_message_done(&c->early[i]);
		}
		c->early_count = 0;
	}
	return true;
}

/* Tell the node which GPU this rank took, and hear of the others. Returns the number of turns; *ret_turn is mine. */
static int meet_peers(struct muster_conductor *c, int *ret_turn)
{
	char *mine = muster_asprintf("%d %s %s %s", c->local_rank, *c->crew.gpu ? c->crew.gpu : "-",
		*c->crew.uuid ? c->crew.uuid : "-", *c->crew.path ? c->crew.path : "-");
	char *answer = muster_pass_gate(c, MUSTER_GATE_PEERS, MUSTER_PHASE_DRIVERS, mine, strlen(mine));
	free(mine);
	int turns = 1;
	*ret_turn = 0;
	struct muster_command command;
	muster_command_begin(&command, "peers");
	muster_writer_key(&command.w, "peers");
	muster_writer_array(&command.w);
	char *rest = answer, *line = strsep(&rest, "\n");
	if (!line || sscanf(line, "%d %d", ret_turn, &turns) != 2)
		turns = 1;
	while (rest && (line = strsep(&rest, "\n")) != NULL) {
		int rank, local_rank;
		char gpu[32], uuid[48];
		if (sscanf(line, "%d %d %31s %47s", &rank, &local_rank, gpu, uuid) != 4)
			continue;
		muster_writer_object(&command.w);
		muster_command_number(&command, "rank", rank);
		muster_command_number(&command, "local_rank", local_rank);
		muster_command_text(&command, "gpu", *gpu == '-' ? "" : gpu);
		muster_command_text(&command, "uuid", *uuid == '-' ? "" : uuid);
		muster_writer_object_end(&command.w);
	}
	free(answer);
	muster_writer_array_end(&command.w);
	muster_writer_object_end(&command.w);
	if (fclose(command.out) != 0)
		abort(); /* out of memory */
	c->peers = command.text;
	if (!c->hopeless) {
		muster_crew_command(&c->crew, c->peers, muster_bounded(c, MUSTER_SHORT_DEADLINE_MS));
		if (muster_command_wait(c) != MUSTER_CREW_DONE)
			muster_errand_again(c);
	}
	return turns;
}

static void run_alone(struct muster_conductor *c)
{
	for (size_t i = 0; i < muster_probe_count(); i++) {
		const struct muster_probe *probe = muster_probe_at(i);
		if (!probe->together && probe->run)
			muster_errand_run(c, probe, "run");
	}
}

/* GPUs that share a path go one after the other, then all at once. */
static void run_in_turns(struct muster_conductor *c, int turn, int turns)
{
	int phase = MUSTER_PHASE_INVENTORY;
	for (size_t i = 0; i < muster_probe_count(); i++) {
		const struct muster_probe *probe = muster_probe_at(i);
		int id = MUSTER_GATE_TURN + 100 * (int)i;
		if (!probe->together)
			continue;
		bool mine = muster_errand_may_run(c, probe);
		for (int now = 0; now < turns && now < 99; now++) {
			free(muster_pass_gate(c, id + now, phase, "", 0));
			phase = -1;
			if (mine && now == turn)
				mine = muster_errand_run(c, probe, "run");
		}
		free(muster_pass_gate(c, id + 99, -1, "", 0));
		if (mine)
			muster_errand_run(c, probe, "together");
	}
}

static void finish(struct muster_conductor *c)
{
	for (size_t i = 0; i < muster_probe_count(); i++)
		if (muster_probe_at(i)->finish)
			muster_errand_run(c, muster_probe_at(i), "finish");
}

/* Send the record through the leader and wait for the goodbye; past a dead leader it goes to rank 0 at once. Returns
 * whether rank 0 said goodbye: it alone answers for the run with its exit code. */
static bool send_record(struct muster_conductor *c)
{
	size_t length;
	char *text = muster_node_to_json(&c->record.nodes[0], &length);
	char *answer = muster_wait_at(c, MUSTER_GATE_RECORD, MUSTER_PHASE_RING, text, length, c->end_ms + GOODBYE_MS);
	if (!answer && muster_leader_is_dead(c)) {
		struct muster_parcel parcel;
		muster_parcel_begin(&parcel, (int[]){ MUSTER_GATE_RECORD }, 1);
		muster_parcel_add(&parcel, c->rank, text, length);
		muster_parcel_end(&parcel);
		muster_link_send(0, MUSTER_TAG_BUNDLE, parcel.bytes, parcel.length);
		free(parcel.bytes);
	}
	bool said = answer != NULL;
	free(answer);
	free(text);
	return said;
}

/* Rank 0: its own record, then everybody's, then the report, then the goodbye. */
static int collect(struct muster_conductor *c)
{
	size_t length;
	char *text = muster_node_to_json(&c->record.nodes[0], &length);
	muster_arrive(c, MUSTER_GATE_RECORD, MUSTER_PHASE_RING, text, length);
	free(text);
	while (!c->root->gathered && muster_now_ms() < c->end_ms)
		muster_serve(c);
	muster_root_give_up(c->root);
	int code = muster_conclude(c);
	muster_root_goodbye(c->root, code);
	muster_serve_receive(c);
	return code;
}

/* Everything that ranks measure, up to their record. */
static void measure(struct muster_conductor *c)
{
	muster_errand_take(c);
	int turn, turns = meet_peers(c, &turn);
	run_alone(c);
	run_in_turns(c, turn, turns);
	muster_rings_run(c);
	finish(c);
}

static _Noreturn void leave(struct muster_conductor *c, int code, bool all_well)
{
	trace(c, "ending the worker");
	muster_crew_dismiss(&c->crew);
	trace(c, "leaving MPI");
	muster_link_exit(code, all_well, 1000);
}

_Noreturn void muster_conduct(const struct muster_options *options, int argc, char **argv)
{
	struct muster_conductor *c = muster_calloc(1, sizeof *c);
	struct muster_error err;
	bool good = true;
	int code = MUSTER_EXIT_INCONCLUSIVE;
	signal(SIGPIPE, SIG_IGN);
	c->options = options;
	c->open_status = MUSTER_OUTCOME_NOT_RUN;
	now_text(c->started, sizeof c->started);
	c->start_ms = muster_now_ms();
	c->end_ms = c->start_ms + options->deadline_s * 1e3;
	muster_run_init(&c->record);
	c->node = node_name(c->record.pool);
	struct muster_node *node = muster_run_add_node(&c->record, c->node);

	/* the driver's slow start runs beside MPI's */
	if (muster_crew_start(&c->crew, options->program, &c->record, &err) < 0) {
		snprintf(c->take_error, sizeof c->take_error, "%s", err.text);
		c->hopeless = true;
	} else {
		muster_errand_open(c);
	}
	if (muster_link_open(&argc, &argv, options->deadline_s / HELLO_SHARE, &err) < 0) {
		fprintf(stderr, "muster: rank %d: %s\n", muster_link_early_rank(), err.text);
		_exit(MUSTER_EXIT_INCONCLUSIVE);
	}
	c->rank = muster_link_rank();
	c->ranks = muster_link_size();
	muster_node_add_rank(node, c->rank);
	if (c->rank == 0) {
		c->root = muster_calloc(1, sizeof *c->root);
		muster_root_init(c->root, c->ranks, c->start_ms + options->deadline_s * 1e3 / HELLO_SHARE,
			c->end_ms - GATE_ROOT_MS, c->end_ms - RECORD_ROOT_MS);
		c->root->localise = options->localise;
		c->root->is_slow = muster_conclude_is_slow;
		c->root->is_slow_arg = c;
		good = muster_conclude_prepare(c);
		if (!good)
			muster_root_call_off(c->root, MUSTER_EXIT_USAGE);
	}
	if (!find_place(c, &code))
		leave(c, code, true);
	measure(c);
	if (!c->root)
		leave(c, send_record(c) ? 0 : MUSTER_EXIT_INCONCLUSIVE, true);

	/* rank 0 arrives like everyone, and then waits for the others' records where they wait for its goodbye */
	code = collect(c);
	muster_choice_done(&c->choice);
	leave(c, code, true);
}
