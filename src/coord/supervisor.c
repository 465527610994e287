/* supervisor.c - one rank's way through the run, top to bottom
 *
 * worker started → MPI → layout → GPU taken → probes alone → in turns and together → ring → record sent → report.
 * While a rank waits for anything it serves everything: its worker, its node's barriers, rank 0's office (serve()).
 */
#include "coord/supervisor_internal.h"

#include "util/log.h"
#include "util/text.h"
#include "coord/message.h"
#include "coord/signals.h"
#include "util/env.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
	HELLO_SHARE = 3, /* a third of the whole deadline for ranks to appear */
	/* who waits how long before the run's end: leaders complete barriers, then rank 0, then members stop waiting */
	GATE_LEADER_MS = 5000,
	GATE_ROOT_MS = 4500,
	RECORD_LEADER_MS = 3000,
	RECORD_ROOT_MS = 1000,
	SPOOL_MS = 1000, /* for what is not on disk yet */
	/* after the run's end */
	LEAVE_MS = 4500,
	FINALIZE_MS = 5000,
	FINALIZE_LEAST_MS = 500,
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
static const char *node_name(struct muster_arena *arena)
{
	const char *slurm = getenv("SLURMD_NODENAME");
	char name[256] = "unknown";
	if (slurm && *slurm)
		return muster_arena_string(arena, slurm);
	gethostname(name, sizeof name - 1);
	return muster_arena_string(arena, name);
}

static void trace(const struct muster_supervisor *c, const char *what)
{
	if (muster_env(MUSTER_ENV_TRACE))
		muster_log(MUSTER_LOG_DEBUG, &(struct muster_log_place){ .rank = c->rank }, "%.3f s: %s",
			(muster_now_ms() - c->start_ms) / 1e3, what);
}

/* Say hello to rank 0, learn who else is on this node. false: the run was called off, with this exit code. */
static bool find_place(struct muster_supervisor *c, int *ret_exit)
{
	char host[64] = "";
	(void)muster_read_line("/proc/sys/kernel/random/boot_id", host, sizeof host, NULL);
	char *hello = muster_asprintf("%s\n%s", host, c->node);
	muster_link_send(0, MUSTER_TAG_HELLO, hello, strlen(hello));
	free(hello);
	while (!c->layout.bytes && muster_now_ms() < c->end_ms)
		muster_supervisor_poll(c);
	int numbers[3] = { MUSTER_EXIT_INCONCLUSIVE, 0, 0 }, rank;
	size_t at, length;
	const char *bytes;
	if (!c->layout.bytes || !muster_message_header(c->layout.bytes, c->layout.length, numbers, 3, &at) ||
		numbers[0] != 0) {
		*ret_exit = numbers[0] > 0 ? numbers[0] : MUSTER_EXIT_INCONCLUSIVE;
		muster_journal_end(c->spool, "the run was called off");
		return false;
	}
	c->node_index = numbers[1];
	c->nodes = numbers[2];
	c->members = muster_calloc((size_t)c->ranks, sizeof *c->members);
	while (c->member_count < (size_t)c->ranks &&
		muster_message_part(c->layout.bytes, c->layout.length, &at, &rank, &bytes, &length)) {
		if (c->member_count == 0) /* two hosts of one name have two names from now on */
			c->node = c->record.nodes[0].name = muster_arena_string_n(c->record.arena, bytes, length);
		if (rank == c->rank)
			c->local_rank = (int)c->member_count;
		c->members[c->member_count++] = rank;
	}
	muster_log_who(c->node, c->rank);
	c->record.nodes[0].ranks[0].local_rank = c->local_rank;
	c->aggregator_heartbeat_ms = muster_now_ms();
	if (c->members[0] == c->rank) {
		c->leader = muster_calloc(1, sizeof *c->leader);
		muster_node_aggregator_init(c->leader, c->members, c->member_count, c->node, c->ranks,
			c->end_ms - GATE_LEADER_MS, c->end_ms - RECORD_LEADER_MS);
		for (size_t i = 0; i < c->early_count; i++) {
			muster_node_aggregator_message(c->leader, &c->early[i]);
			muster_message_done(&c->early[i]);
		}
		c->early_count = 0;
	}
	return true;
}

/* Tell the node which GPU this rank took, and hear of the others. Returns the number of turns; *ret_turn is mine. */
static int meet_peers(struct muster_supervisor *c, int *ret_turn)
{
	char *mine = muster_asprintf("%d %s %s %s", c->local_rank, *c->crew.gpu ? c->crew.gpu : "-",
		*c->crew.uuid ? c->crew.uuid : "-", *c->crew.path ? c->crew.path : "-");
	char *answer = muster_barrier_pass(c, MUSTER_BARRIER_PEERS, MUSTER_PHASE_DRIVERS, mine, strlen(mine));
	free(mine);
	int turns = 1;
	*ret_turn = 0;
	struct muster_command command;
	muster_command_begin(&command, "peers");
	muster_json_writer_key(&command.w, "peers");
	muster_json_writer_array(&command.w);
	char *rest = answer, *line = strsep(&rest, "\n");
	if (!line || sscanf(line, "%d %d", ret_turn, &turns) != 2)
		turns = 1;
	while (rest && (line = strsep(&rest, "\n")) != NULL) {
		int rank, local_rank;
		char gpu[32], uuid[48];
		if (sscanf(line, "%d %d %31s %47s", &rank, &local_rank, gpu, uuid) != 4)
			continue;
		muster_json_writer_object(&command.w);
		muster_command_number(&command, "rank", rank);
		muster_command_number(&command, "local_rank", local_rank);
		muster_command_text(&command, "gpu", *gpu == '-' ? "" : gpu);
		muster_command_text(&command, "uuid", *uuid == '-' ? "" : uuid);
		muster_json_writer_object_end(&command.w);
	}
	free(answer);
	muster_json_writer_array_end(&command.w);
	muster_json_writer_object_end(&command.w);
	if (fclose(command.out) != 0)
		abort(); /* out of memory */
	c->peers = command.text;
	if (!c->no_worker) {
		muster_worker_client_command(
			&c->crew, c->peers, muster_supervisor_bounded(c, MUSTER_SHORT_DEADLINE_MS));
		if (muster_command_wait(c) != MUSTER_WORKER_CLIENT_DONE)
			muster_probe_runner_again(c);
	}
	return turns;
}

static void run_alone(struct muster_supervisor *c)
{
	for (size_t i = 0; i < muster_probe_count(); i++) {
		const struct muster_probe *probe = muster_probe_at(i);
		if (!probe->together && probe->run)
			muster_probe_runner_run(c, probe, "run");
	}
}

/* GPUs that share a path go one after the other, then all at once. */
static void run_in_turns(struct muster_supervisor *c, int turn, int turns)
{
	int phase = MUSTER_PHASE_INVENTORY;
	for (size_t i = 0; i < muster_probe_count(); i++) {
		const struct muster_probe *probe = muster_probe_at(i);
		int id = MUSTER_BARRIER_TURN + 100 * (int)i;
		if (!probe->together)
			continue;
		bool mine = muster_probe_runner_may_run(c, probe);
		for (int now = 0; now < turns && now < 99; now++) {
			free(muster_barrier_pass(c, id + now, phase, "", 0));
			phase = -1;
			if (mine && now == turn)
				mine = muster_probe_runner_run(c, probe, "run");
		}
		free(muster_barrier_pass(c, id + 99, -1, "", 0));
		if (mine)
			muster_probe_runner_run(c, probe, "together");
	}
}

static void finish(struct muster_supervisor *c)
{
	for (size_t i = 0; i < muster_probe_count(); i++)
		if (muster_probe_at(i)->finish)
			muster_probe_runner_run(c, muster_probe_at(i), "finish");
}

/* Send the record through the leader and wait for the goodbye; past a dead leader it goes to rank 0 at once. Returns
 * whether rank 0 said goodbye: it alone answers for the run with its exit code. */
static bool send_record(struct muster_supervisor *c)
{
	size_t length;
	muster_journal_end(c->spool, c->interrupted ? c->interrupted : "");
	char *text = muster_node_to_json(&c->record.nodes[0], &length);
	char *answer = muster_barrier_wait(
		c, MUSTER_BARRIER_RECORD, MUSTER_PHASE_RING, text, length, c->end_ms + muster_finalize_limit_ms(c));
	if (!answer && muster_aggregator_is_dead(c)) {
		struct muster_message_writer parcel;
		muster_message_begin(&parcel, (int[]){ MUSTER_BARRIER_RECORD }, 1);
		muster_message_add(&parcel, c->rank, text, length);
		muster_message_end(&parcel);
		muster_link_send(0, MUSTER_TAG_REDUCE, parcel.bytes, parcel.length);
		free(parcel.bytes);
		double until = muster_now_ms() + MUSTER_SILENCE_MS; /* after it rank 0, too, has given this node up */
		while (c->members[0] != 0 && muster_link_owes(0) && muster_now_ms() < until &&
			muster_now_ms() < c->end_ms)
			muster_supervisor_poll(c);
	}
	bool said = answer != NULL;
	free(answer);
	free(text);
	return said;
}

/* Rank 0: its own record, then everybody's, then the report, then the goodbye. */
static int collect(struct muster_supervisor *c)
{
	size_t length;
	muster_journal_end(c->spool, c->interrupted ? c->interrupted : "");
	char *text = muster_node_to_json(&c->record.nodes[0], &length);
	muster_barrier_enter(c, MUSTER_BARRIER_RECORD, MUSTER_PHASE_RING, text, length);
	free(text);
	while (!c->root->gathered && muster_now_ms() < c->end_ms)
		muster_supervisor_poll(c);
	muster_coordinator_give_up(c->root);
	int code = muster_finalize(c);
	muster_coordinator_release(c->root, code);
	muster_supervisor_receive(c);
	return code;
}

/* Everything that ranks measure, up to their record. */
static void measure(struct muster_supervisor *c)
{
	muster_probe_runner_take(c);
	int turn, turns = meet_peers(c, &turn);
	run_alone(c);
	run_in_turns(c, turn, turns);
	muster_ring_participate(c);
	finish(c);
}

static _Noreturn void leave(struct muster_supervisor *c, int code)
{
	muster_supervisor_limit(c, code); /* what has been decided and printed holds, whatever hangs now */
	fflush(stdout);
	trace(c, "ending the worker");
	muster_worker_client_dismiss(&c->crew);
	const char *trouble = muster_journal_trouble(c->spool);
	if (trouble)
		muster_log(MUSTER_LOG_WARN, &(struct muster_log_place){ .node = c->node, .rank = c->rank },
			"--spool: %s", trouble);
	muster_journal_close(c->spool, SPOOL_MS);
	trace(c, "leaving MPI");
	/* with a rank missing MPI_Finalize does not end by itself, and the run is to be over by then */
	double left = c->end_ms + LEAVE_MS - muster_now_ms();
	int finalize = left > FINALIZE_MS ? FINALIZE_MS : left > FINALIZE_LEAST_MS ? (int)left : FINALIZE_LEAST_MS;
	muster_link_exit(code, FINALIZE_LEAST_MS, finalize);
}

/* A path that means the same wherever it is read; names stay as they are. */
static const char *absolute(const char *name, bool path)
{
	size_t length = name ? strlen(name) : 0;
	if (!name || (!path && !strchr(name, '/') && (length < 5 || strcmp(name + length - 5, ".json") != 0)))
		return name;
	char *whole = realpath(name, NULL); /* lives as long as the process */
	return whole ? whole : name;
}

/* A spool that cannot be opened calls the run off when rank 0 says so; another rank goes on without. */
static bool open_spool(struct muster_supervisor *c)
{
	const struct muster_options *o = c->options;
	const char *nodes = getenv("SLURM_STEP_NODELIST");
	struct muster_error err;
	if (!o->spool)
		return true;
	c->run_name = muster_journal_run_name(c->started);
	const struct muster_journal_header header = {
		.run = c->run_name,
		.job = getenv("SLURM_JOB_ID"),
		.rank = muster_link_early_rank(),
		.ranks = muster_link_early_size(),
		.node = c->node,
		.nodelist = nodes ? nodes : getenv("SLURM_JOB_NODELIST"),
		.started = c->started,
		.sku = absolute(o->sku, false),
		.overlay = absolute(o->overlay, true),
		.profile = muster_profile_names[o->profile],
		.strict = o->strict,
		.repeats = o->repeats,
	};
	if (muster_journal_open(&c->spool, o->spool, &header, c->start_ms, &err) == 0)
		return true;
	muster_log(MUSTER_LOG_ERROR, &(struct muster_log_place){ .node = c->node, .rank = header.rank }, "--spool %s",
		err.text);
	return false;
}

/* The run cannot begin: what there is becomes the report. In a thread of its own, while MPI_Init is stuck. */
static void never_began(void *arg, int signal_number)
{
	struct muster_supervisor *c = arg;
	int code = MUSTER_EXIT_INCONCLUSIVE, rank = muster_link_early_rank();
	double seconds = (muster_now_ms() - c->start_ms) / 1e3;
	char *why = signal_number
			    ? muster_asprintf("%s came to rank %d after %.1f s, while MPI_Init had not ended",
				      muster_signals_name(signal_number), rank, seconds)
			    : muster_asprintf("MPI_Init did not end within %.0f s: a rank of this job never started "
					      "or has died",
				      seconds);
	c->interrupted = why;
	muster_journal_end(c->spool, why);
	muster_journal_close(c->spool, SPOOL_MS);
	if (rank == 0) {
		c->ranks = muster_link_early_size();
		c->root = muster_calloc(1, sizeof *c->root);
		muster_coordinator_init(c->root, c->ranks, 0, 0, 0);
		code = muster_finalize_prepare(c) ? muster_finalize_alone(c) : MUSTER_EXIT_USAGE;
	} else {
		muster_log(MUSTER_LOG_ERROR, &(struct muster_log_place){ .node = c->node, .rank = rank }, "%s", why);
	}
	fflush(NULL);
	_exit(code);
}

/* A launcher that MPI does not know, or a wrong --mpi, starts many jobs of one rank: every one would write the same
 * report. The first does; the others measure and judge as it does, so that none ends before it for another reason, and
 * leave with their exit code. */
static void tell_worlds_apart(struct muster_supervisor *c, int early_rank, int early_size)
{
	if (c->ranks > 1)
		return;
	c->silent = early_rank > 0;
	if (!c->silent && early_size > 1)
		muster_log(MUSTER_LOG_WARN, NULL,
			"the launcher started %d processes, and MPI knows of one: this is a job of one rank",
			early_size);
	int nowhere = c->silent ? open("/dev/null", O_WRONLY | O_CLOEXEC) : -1;
	if (nowhere < 0)
		return;
	dup2(nowhere, STDOUT_FILENO);
	dup2(nowhere, STDERR_FILENO);
	close(nowhere);
}

_Noreturn void muster_supervise(const struct muster_options *options, int argc, char **argv)
{
	struct muster_supervisor *c = muster_calloc(1, sizeof *c);
	struct muster_error err;
	int code = MUSTER_EXIT_INCONCLUSIVE, early_rank = muster_link_early_rank(),
	    early_size = muster_link_early_size();
	signal(SIGPIPE, SIG_IGN);
	muster_signals_listen();
	c->options = options;
	c->open_status = MUSTER_OUTCOME_NOT_RUN;
	now_text(c->started, sizeof c->started);
	c->start_ms = muster_now_ms();
	c->end_ms = c->start_ms + options->deadline_s * 1e3;
	muster_run_init(&c->record);
	c->node = node_name(c->record.arena);
	muster_log_who(c->node, early_rank);
	struct muster_node *node = muster_run_add_node(&c->record, c->node);
	bool good = open_spool(c);

	/* the driver's slow start runs beside MPI's */
	if (muster_worker_client_start(&c->crew, options->program, &c->record, &err) < 0) {
		snprintf(c->take_error, sizeof c->take_error, "%s", err.text);
		c->no_worker = true;
	} else {
		muster_probe_runner_open(c);
	}
	muster_signals_watch(c->start_ms + options->deadline_s * 1e3 / HELLO_SHARE, never_began, c);
	int failed = muster_link_open(&argc, &argv, &err);
	muster_signals_watch_end();
	if (failed) {
		muster_log(MUSTER_LOG_ERROR, &(struct muster_log_place){ .rank = early_rank }, "%s", err.text);
		_exit(MUSTER_EXIT_INCONCLUSIVE);
	}
	c->rank = muster_link_rank();
	c->ranks = muster_link_size();
	muster_supervisor_limit(c, MUSTER_EXIT_INCONCLUSIVE);
	tell_worlds_apart(c, early_rank, early_size);
	muster_node_add_rank(node, c->rank);
	muster_journal_place(c->spool, c->rank, c->ranks);
	if (c->rank == 0) {
		c->root = muster_calloc(1, sizeof *c->root);
		muster_coordinator_init(c->root, c->ranks, c->start_ms + options->deadline_s * 1e3 / HELLO_SHARE,
			c->end_ms - GATE_ROOT_MS, c->end_ms - RECORD_ROOT_MS);
		c->root->localise = options->localise;
		c->root->is_slow = muster_finalize_is_slow;
		c->root->is_slow_arg = c;
		if (!good || !muster_finalize_prepare(c))
			muster_coordinator_cancel(c->root, MUSTER_EXIT_USAGE);
	}
	if (!find_place(c, &code))
		leave(c, code);
	measure(c);
	if (!c->root)
		leave(c, send_record(c) ? 0 : MUSTER_EXIT_INCONCLUSIVE);

	/* rank 0 arrives like everyone, and then waits for the others' records where they wait for its goodbye */
	code = collect(c);
	leave(c, code);
}
