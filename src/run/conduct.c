/* conduct.c - one rank's way through the run, top to bottom
 *
 * worker started → MPI → layout → GPU taken → probes alone → in turns and together → ring → record sent → report.
 * While a rank waits for anything it serves everything: its worker, its node's gates, rank 0's office (serve()).
 */
#include "conduct.h"

#include "core/file.h"
#include "core/json.h"
#include "core/text.h"
#include "eval/choose.h"
#include "run/crew.h"
#include "run/gates.h"
#include "run/leader.h"
#include "run/parcel.h"
#include "run/root.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
	OPEN_DEADLINE_MS = 30000, /* dlopen, nvmlInit, cuInit, primary context */
	SHORT_DEADLINE_MS = 5000, /* commands that only pass something on */
	GATHER_RESERVE_MS = 5000, /* of the whole deadline, kept for records and the report */
	HELLO_SHARE = 3,          /* a third of the whole deadline for ranks to appear */
	LEAST_DEADLINE_MS = 500,
	IDLE_POLL_MS = 2,
	/* who waits how long before the run's end: leaders settle gates, then rank 0, then members stop waiting */
	GATE_LEADER_MS = 5000,
	GATE_ROOT_MS = 4500,
	GATE_MEMBER_MS = 4000,
	RECORD_LEADER_MS = 3000,
	RECORD_ROOT_MS = 1000,
	GOODBYE_MS = 3000, /* after it: the report is being written */
};

struct conductor {
	const struct muster_options *options;
	int rank, ranks;
	const char *node;
	double start_ms, end_ms; /* of the whole run, by this process's clock */
	char started[32];        /* the same moment, RFC 3339 */
	struct muster_run record;
	struct muster_crew crew;
	/* where this rank stands */
	int node_index, nodes, local_rank, *members;
	size_t member_count;
	struct muster_leader *leader; /* NULL unless this rank leads its node */
	struct muster_root *root;     /* NULL unless rank 0 */
	/* what the driver said when the GPU was taken */
	char take_code[32], take_error[1600];
	char *peers;                            /* the peers command, kept for a replaced worker */
	enum muster_outcome_status open_status; /* how the drivers ended a worker, when why_skipped says so */
	bool hopeless;                          /* no worker can be kept alive */
	/* messages that the straight line waits for */
	struct muster_message layout, passed;
	double alive_ms;        /* when this rank last gave a sign of life */
	double leader_heard_ms; /* when its leader did */
	/* ranks that heard of the layout before their leader did, and are at its first gate */
	struct muster_message *early;
	size_t early_count;
	struct muster_choice choice; /* rank 0: what to expect */
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

static void trace(const struct conductor *c, const char *what)
{
	if (getenv("MUSTER_TRACE"))
		fprintf(stderr, "muster: rank %d: %.3f s: %s\n", c->rank, (muster_now_ms() - c->start_ms) / 1e3, what);
}

static struct muster_outcomes *outcomes(struct conductor *c)
{
	return &c->record.nodes[0].ranks[0].outcomes;
}

static void receive(struct conductor *c)
{
	struct muster_message message;
	while (muster_link_receive(&message)) {
		if (c->member_count > 0 && message.from == c->members[0])
			c->leader_heard_ms = muster_now_ms();
		struct muster_message *slot = message.tag == MUSTER_TAG_LAYOUT ? &c->layout
					      : message.tag == MUSTER_TAG_PASS ? &c->passed
									       : NULL;
		if (slot) {
			muster_message_done(slot);
			*slot = message;
			continue; /* at most one of each is on its way */
		}
		if (c->root)
			muster_root_message(c->root, &message);
		if (!c->leader && message.tag == MUSTER_TAG_ARRIVE) {
			c->early = muster_realloc(c->early, c->early_count + 1, sizeof *c->early);
			c->early[c->early_count++] = message;
			continue;
		}
		if (c->leader)
			muster_leader_message(c->leader, &message);
		muster_message_done(&message);
	}
}

/* Members to their leader and back, leaders to rank 0. */
static void give_sign_of_life(struct conductor *c, double now_ms)
{
	if (c->member_count == 0 || now_ms - c->alive_ms < MUSTER_ALIVE_EVERY_MS)
		return;
	c->alive_ms = now_ms;
	if (!c->leader)
		muster_link_send(c->members[0], MUSTER_TAG_ALIVE, "", 0);
	for (size_t i = 1; c->leader && i < c->member_count; i++)
		muster_link_send(c->members[i], MUSTER_TAG_ALIVE, "", 0);
	if (c->leader && !c->root)
		muster_link_send(0, MUSTER_TAG_ALIVE, "", 0);
	if (c->root)
		muster_keeper_heard(&c->root->keeper, c->rank);
	if (c->leader)
		muster_keeper_heard(&c->leader->keeper, c->rank);
}

/* One round of everything that may have happened meanwhile; sleeps shortly when nothing has. */
static void serve(struct conductor *c)
{
	struct pollfd worker = { .fd = c->crew.proc.results, .events = POLLIN };
	bool waits = c->crew.state == MUSTER_CREW_BUSY && worker.fd >= 0;
	poll(&worker, waits ? 1 : 0, IDLE_POLL_MS);
	receive(c);
	double now = muster_now_ms();
	give_sign_of_life(c, now);
	if (c->leader)
		muster_leader_poll(c->leader, now);
	if (c->root)
		muster_root_poll(c->root, now);
	muster_crew_poll(&c->crew);
}

static int time_left(const struct conductor *c)
{
	double left = c->end_ms - GATHER_RESERVE_MS - muster_now_ms();
	return left > 0 ? (int)left : 0;
}

/* A command's deadline, cut to what is left of the run's; never so short that a live worker could not answer. */
static int bounded(const struct conductor *c, int wanted_ms)
{
	int left = time_left(c);
	return wanted_ms < left ? wanted_ms : left > LEAST_DEADLINE_MS ? left : LEAST_DEADLINE_MS;
}

/* A command object: {"do": action, ...}. */
struct command {
	char *text;
	size_t length;
	FILE *out;
	struct muster_writer w;
};

static void command_begin(struct command *command, const char *action)
{
	command->out = open_memstream(&command->text, &command->length);
	if (!command->out)
		abort(); /* out of memory */
	muster_writer_init(&command->w, command->out, 0);
	muster_writer_object(&command->w);
	muster_writer_pair(&command->w, "do", muster_string(action));
}

static void command_text(struct command *command, const char *key, const char *text)
{
	muster_writer_pair(&command->w, key, muster_string(text));
}

static void command_number(struct command *command, const char *key, double number)
{
	muster_writer_pair(&command->w, key, muster_number(number));
}

/* Begin it; the caller serves until the crew is no longer busy. */
static void command_start(struct conductor *c, struct command *command, int deadline_ms)
{
	muster_writer_object_end(&command->w);
	if (fclose(command->out) != 0)
		abort(); /* out of memory */
	muster_crew_command(&c->crew, command->text, deadline_ms);
	free(command->text);
}

static enum muster_crew_state command_wait(struct conductor *c)
{
	while (c->crew.state == MUSTER_CREW_BUSY)
		serve(c);
	return c->crew.state;
}

static void open_start(struct conductor *c)
{
	struct command command;
	command_begin(&command, "open");
	if (*c->crew.why_skipped)
		muster_writer_pair(&command.w, "skip", muster_boolean(true));
	command_start(c, &command, bounded(c, OPEN_DEADLINE_MS));
}

/* The drivers killed a worker: later ones leave them alone, and every probe that needs a GPU says why. */
static bool survived(struct conductor *c)
{
	if (command_wait(c) == MUSTER_CREW_DONE)
		return true;
	c->open_status = c->crew.state == MUSTER_CREW_HUNG ? MUSTER_OUTCOME_HUNG : MUSTER_OUTCOME_CRASHED;
	snprintf(c->crew.why_skipped, sizeof c->crew.why_skipped, "%s%s%s", c->crew.error,
		*c->crew.step ? "; last step: " : "", c->crew.step);
	return false;
}

static bool take(struct conductor *c)
{
	struct command command;
	command_begin(&command, "take");
	command_number(&command, "rank", c->rank);
	command_number(&command, "ranks", c->ranks);
	command_number(&command, "local_rank", c->local_rank);
	command_number(&command, "local_ranks", (double)c->member_count);
	command_number(&command, "node_index", c->node_index);
	command_number(&command, "nodes", c->nodes);
	command_number(&command, "leader", c->leader != NULL);
	command_number(&command, "profile", c->options->profile);
	command_number(&command, "min_bytes", (double)c->options->min_bytes);
	command_number(&command, "max_bytes", (double)c->options->max_bytes);
	command_text(&command, "node", c->node);
	command_text(&command, "why_skipped", c->crew.why_skipped);
	command_start(c, &command, bounded(c, OPEN_DEADLINE_MS));
	return survived(c);
}

/* The open command is under way; a worker that dies of it is replaced by one that skips the drivers. */
static void open_and_take(struct conductor *c)
{
	for (int attempt = 0; attempt < 2; attempt++) {
		if (survived(c) && take(c)) {
			struct muster_rank *rank = &c->record.nodes[0].ranks[0];
			snprintf(c->take_code, sizeof c->take_code, "%s", c->crew.code);
			snprintf(c->take_error, sizeof c->take_error, "%s",
				*c->crew.error ? c->crew.error : c->crew.why_none);
			if (*c->crew.gpu && !rank->gpu) {
				rank->gpu = muster_pool_string(c->record.pool, c->crew.gpu);
				rank->gpu_uuid = muster_pool_string(c->record.pool, c->crew.uuid);
			}
			return;
		}
		open_start(c);
	}
	c->hopeless = true;
	snprintf(c->take_error, sizeof c->take_error, "no worker stays alive: %s", c->crew.why_skipped);
}

/* After a crash or a hang: the new worker gets the same job. */
static void bring_back(struct conductor *c)
{
	open_start(c);
	open_and_take(c);
	if (!c->hopeless && c->peers) {
		muster_crew_command(&c->crew, c->peers, bounded(c, SHORT_DEADLINE_MS));
		if (command_wait(c) == MUSTER_CREW_DONE)
			return;
		/* its successor would run probes without knowing its job */
		c->hopeless = true;
		snprintf(c->take_error, sizeof c->take_error, "no worker stays alive: %s", c->crew.error);
	}
}

static struct muster_outcome *find_outcome(struct conductor *c, const char *probe)
{
	struct muster_outcomes *all = outcomes(c);
	for (size_t i = 0; i < all->count; i++)
		if (strcmp(all->items[i].probe, probe) == 0)
			return &all->items[i];
	return NULL;
}

/* A probe has one outcome: the first failure stays, times add up. */
static void note(struct conductor *c, struct muster_outcome outcome)
{
	struct muster_outcome *old = find_outcome(c, outcome.probe);
	if (!old) {
		muster_outcomes_add(outcomes(c), outcome);
		return;
	}
	double elapsed = old->elapsed_ms + outcome.elapsed_ms;
	if (old->status == MUSTER_OUTCOME_OK)
		*old = outcome;
	old->elapsed_ms = elapsed;
}

static void note_not_run(
	struct conductor *c, const char *probe, enum muster_outcome_status status, const char *code, const char *why)
{
	bool error = strcmp(code, "ok") != 0 && *code;
	note(c, (struct muster_outcome){
			.probe = probe,
			.status = error ? MUSTER_OUTCOME_ERROR : status,
			.code = error ? muster_pool_string(c->record.pool, code) : NULL,
			.detail = muster_pool_string(c->record.pool, why),
		});
}

/* Whether the probe can run now; otherwise its outcome is noted. */
static bool may_run(struct conductor *c, const struct muster_probe *probe)
{
	if (probe->scope == MUSTER_SCOPE_NODE && !c->leader)
		return false;
	const struct muster_outcome *before = find_outcome(c, probe->name);
	if (before && before->status != MUSTER_OUTCOME_OK)
		return false;
	if (before && (c->hopeless || time_left(c) == 0))
		return false; /* what it measured stands; only its later part is left out */
	if (c->hopeless)
		note_not_run(c, probe->name, c->open_status, "", c->take_error);
	else if (probe->needs_gpu && !*c->crew.gpu)
		note_not_run(c, probe->name, c->open_status, c->take_code, c->take_error);
	else if (time_left(c) == 0)
		note_not_run(c, probe->name, MUSTER_OUTCOME_NOT_RUN, "", "no time was left of the run's deadline");
	else
		return true;
	return false;
}

static void probe_start(struct conductor *c, const struct muster_probe *probe, const char *action)
{
	struct command command;
	command_begin(&command, action);
	command_text(&command, "probe", probe->name);
	command_start(c, &command, bounded(c, probe->deadline_ms));
}

/* Wait for the command of this probe and note how it ended. */
static bool probe_end(struct conductor *c, const struct muster_probe *probe)
{
	enum muster_crew_state state = command_wait(c);
	note(c, muster_crew_outcome(&c->crew, probe->name));
	if (state != MUSTER_CREW_DONE)
		bring_back(c);
	return state == MUSTER_CREW_DONE && strcmp(c->crew.code, "ok") == 0;
}

static bool probe_run(struct conductor *c, const struct muster_probe *probe, const char *action)
{
	if (!may_run(c, probe))
		return false;
	probe_start(c, probe, action);
	return probe_end(c, probe);
}

/* Tell the leader that this rank is at a gate; ended_phase is the phase of the run that ends with it, or -1. */
static void arrive(struct conductor *c, int id, int ended_phase, const char *payload, size_t length)
{
	char *text = muster_realloc(NULL, length + 64, 1);
	int used = snprintf(text, 64, "%d %d\n", id, ended_phase);
	memcpy(text + used, payload, length);
	muster_link_send(c->members[0], MUSTER_TAG_ARRIVE, text, (size_t)used + length);
	free(text);
}

static bool leader_is_dead(const struct conductor *c)
{
	return !c->leader && muster_now_ms() - c->leader_heard_ms > MUSTER_SILENCE_MS;
}

/* Arrive and wait until the gate opens. The answer's text, malloc'd; NULL when none came until until_ms or the leader
 * is dead. */
static char *wait_at(struct conductor *c, int id, int ended_phase, const char *payload, size_t length, double until_ms)
{
	char *answer = NULL;
	arrive(c, id, ended_phase, payload, length);
	while (!answer && muster_now_ms() < until_ms && !leader_is_dead(c)) {
		serve(c);
		int answered, rank;
		size_t at, size;
		const char *bytes;
		if (!c->passed.bytes)
			continue;
		if (muster_parcel_header(c->passed.bytes, c->passed.length, &answered, 1, &at) && answered == id &&
			muster_parcel_part(c->passed.bytes, c->passed.length, &at, &rank, &bytes, &size))
			answer = muster_asprintf("%.*s", (int)size, bytes);
		muster_message_done(&c->passed);
	}
	return answer;
}

/* The same for all gates but the last: "" when there is no answer, and the rank goes on alone. */
static char *gate(struct conductor *c, int id, int ended_phase, const char *payload, size_t length)
{
	char *answer = wait_at(c, id, ended_phase, payload, length, c->end_ms - GATE_MEMBER_MS);
	return answer ? answer : muster_strdup("");
}

/* Say hello to rank 0, learn who else is on this node. false: the run was called off, with this exit code. */
static bool find_place(struct conductor *c, int *ret_exit)
{
	muster_link_send(0, MUSTER_TAG_HELLO, c->node, strlen(c->node));
	while (!c->layout.bytes && muster_now_ms() < c->end_ms)
		serve(c);
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
static int meet_peers(struct conductor *c, int *ret_turn)
{
	char *mine = muster_asprintf("%d %s %s %s", c->local_rank, *c->crew.gpu ? c->crew.gpu : "-",
		*c->crew.uuid ? c->crew.uuid : "-", *c->crew.path ? c->crew.path : "-");
	char *answer = gate(c, MUSTER_GATE_PEERS, MUSTER_PHASE_DRIVERS, mine, strlen(mine));
	free(mine);
	int turns = 1;
	*ret_turn = 0;
	struct command command;
	command_begin(&command, "peers");
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
		command_number(&command, "rank", rank);
		command_number(&command, "local_rank", local_rank);
		command_text(&command, "gpu", *gpu == '-' ? "" : gpu);
		command_text(&command, "uuid", *uuid == '-' ? "" : uuid);
		muster_writer_object_end(&command.w);
	}
	free(answer);
	muster_writer_array_end(&command.w);
	muster_writer_object_end(&command.w);
	if (fclose(command.out) != 0)
		abort(); /* out of memory */
	c->peers = command.text;
	if (!c->hopeless) {
		muster_crew_command(&c->crew, c->peers, bounded(c, SHORT_DEADLINE_MS));
		if (command_wait(c) != MUSTER_CREW_DONE)
			bring_back(c);
	}
	return turns;
}

static void run_alone(struct conductor *c)
{
	for (size_t i = 0; i < muster_probe_count(); i++) {
		const struct muster_probe *probe = muster_probe_at(i);
		if (!probe->together && probe->run)
			probe_run(c, probe, "run");
	}
}

/* GPUs that share a path go one after the other, then all at once. */
static void run_in_turns(struct conductor *c, int turn, int turns)
{
	int phase = MUSTER_PHASE_INVENTORY;
	for (size_t i = 0; i < muster_probe_count(); i++) {
		const struct muster_probe *probe = muster_probe_at(i);
		int id = MUSTER_GATE_TURN + 100 * (int)i;
		if (!probe->together)
			continue;
		bool mine = may_run(c, probe);
		for (int now = 0; now < turns && now < 99; now++) {
			free(gate(c, id + now, phase, "", 0));
			phase = -1;
			if (mine && now == turn)
				mine = probe_run(c, probe, "run");
		}
		free(gate(c, id + 99, -1, "", 0));
		if (mine)
			probe_run(c, probe, "together");
	}
}

/* Ask the ring's first rank's worker for an id. */
static void make_ring_id(struct conductor *c, const struct muster_probe *probe, char *ret, size_t size)
{
	*ret = '\0';
	if (probe_run(c, probe, "ring_id"))
		snprintf(ret, size, "%s", c->crew.ring_id);
}

static void run_ring(struct conductor *c, const struct muster_probe *probe, size_t index, int phase)
{
	int id = MUSTER_GATE_RING + 10 * (int)index;
	const struct muster_outcome *before;
	bool can = may_run(c, probe);
	before = find_outcome(c, probe->name);
	char *mine = can ? muster_asprintf("+%s", c->crew.uuid)
			 : muster_asprintf("-%s", before && before->detail ? before->detail : "it could not take part");
	char *place = gate(c, id, phase, mine, strlen(mine));
	free(mine);
	struct muster_ring ring = { 0 };
	bool in = sscanf(place, "+%d %d %d", &ring.rank, &ring.ranks, &ring.nodes) == 3;
	char ring_id[2 * MUSTER_RING_ID_BYTES + 1] = "";
	if (in && ring.rank == 0)
		make_ring_id(c, probe, ring_id, sizeof ring_id);
	char *shared = gate(c, id + 1, -1, ring_id, strlen(ring_id));
	if (in && *shared && *shared != '-') {
		int deadline = bounded(c, probe->deadline_ms);
		struct command command;
		command_begin(&command, "ring");
		command_text(&command, "probe", probe->name);
		command_text(&command, "ring_id", shared);
		command_number(&command, "ring_rank", ring.rank);
		command_number(&command, "ring_ranks", ring.ranks);
		command_number(&command, "ring_nodes", ring.nodes);
		command_number(&command, "timeout_ms", deadline > 2000 ? deadline - 1000 : deadline / 2);
		command_start(c, &command, deadline);
		probe_end(c, probe);
	} else if (can) {
		note_not_run(c, probe->name, MUSTER_OUTCOME_NOT_RUN, "",
			in              ? "the ring's first rank could not make an id for it"
			: *place == '-' ? place + 1
					: "rank 0 did not say who takes part");
	}
	free(shared);
	free(place);
}

static void run_rings(struct conductor *c)
{
	int phase = MUSTER_PHASE_COPIES;
	for (size_t i = 0; i < muster_probe_count(); i++) {
		const struct muster_probe *probe = muster_probe_at(i);
		if (!probe->ring)
			continue;
		run_ring(c, probe, i, phase);
		phase = -1;
	}
}

static void finish(struct conductor *c)
{
	for (size_t i = 0; i < muster_probe_count(); i++)
		if (muster_probe_at(i)->finish)
			probe_run(c, muster_probe_at(i), "finish");
}

/* Send the record through the leader and wait for the goodbye; past a dead leader it goes to rank 0 at once. Returns
 * whether rank 0 said goodbye: it alone answers for the run with its exit code. */
static bool send_record(struct conductor *c)
{
	size_t length;
	char *text = muster_node_to_json(&c->record.nodes[0], &length);
	char *answer = wait_at(c, MUSTER_GATE_RECORD, MUSTER_PHASE_RING, text, length, c->end_ms + GOODBYE_MS);
	if (!answer && leader_is_dead(c)) {
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

/* Rank 0, once all records are in (or overdue): judge, write, print. Returns the exit code. */
static int conclude(struct conductor *c)
{
	struct muster_root *root = c->root;
	struct muster_run *run = &root->run;
	struct muster_report report;
	struct muster_error err;
	muster_progress_end(&root->progress);
	const char *job_id = getenv("SLURM_JOB_ID");
	run->job.id = muster_pool_string(run->pool, job_id);
	run->job.started = muster_pool_string(run->pool, c->started);
	run->job.elapsed_s = (muster_now_ms() - c->start_ms) / 1e3;
	run->job.profile = muster_profile_names[c->options->profile];
	run->job.ranks = c->ranks;
	run->job.version = MUSTER_VERSION;
	muster_choice_evaluate(&c->choice, run, c->options->strict, &report);
	int code = (int)muster_report_exit(&report);
	bool to_stdout = strcmp(c->options->report, "-") == 0;
	if (muster_report_write_json(&report, c->options->report, &err) < 0) {
		fprintf(stderr, "muster: the report could not be written: %s\n", err.text);
		if (code == MUSTER_EXIT_PASS)
			code = MUSTER_EXIT_INCONCLUSIVE;
	}
	FILE *out = to_stdout ? stderr : stdout;
	muster_report_print_text(&report, out, muster_on_terminal());
	muster_report_print_line(&report, c->options->report, out);
	fflush(NULL);
	muster_report_done(&report);
	return code;
}

/* Rank 0: its own record, then everybody's, then the report, then the goodbye. */
static int collect(struct conductor *c)
{
	size_t length;
	char *text = muster_node_to_json(&c->record.nodes[0], &length);
	arrive(c, MUSTER_GATE_RECORD, MUSTER_PHASE_RING, text, length);
	free(text);
	while (!c->root->gathered && muster_now_ms() < c->end_ms)
		serve(c);
	muster_root_give_up(c->root);
	int code = conclude(c);
	muster_root_goodbye(c->root, code);
	receive(c);
	return code;
}

/* Everything that ranks measure, up to their record. */
static void measure(struct conductor *c)
{
	open_and_take(c);
	int turn, turns = meet_peers(c, &turn);
	run_alone(c);
	run_in_turns(c, turn, turns);
	run_rings(c);
	finish(c);
}

/* Load what to expect. A machine type that nobody knows is measured all the same, and inconclusive; a bad file calls
 * the run off. */
static bool load_expectations(struct conductor *c)
{
	const struct muster_options *o = c->options;
	struct muster_error err;
	if (muster_choice_load(o->configs, o->sku, o->overlay, &c->choice, &err) < 0) {
		fprintf(stderr, "muster: %s\n", err.text);
		return false;
	}
	if (!c->choice.automatic && !c->choice.known)
		fprintf(stderr, "muster: %s\n", c->choice.unknown.text);
	return true;
}

/* A report that cannot be written should not cost a run. */
static bool can_write(const char *path)
{
	struct muster_file file;
	struct muster_error err;
	if (muster_file_open(&file, path, &err) < 0) {
		fprintf(stderr, "muster: --report %s\n", err.text);
		return false;
	}
	muster_file_abandon(&file);
	return true;
}

static _Noreturn void leave(struct conductor *c, int code, bool all_well)
{
	trace(c, "ending the worker");
	muster_crew_dismiss(&c->crew);
	trace(c, "leaving MPI");
	muster_link_exit(code, all_well, 1000);
}

_Noreturn void muster_conduct(const struct muster_options *options, int argc, char **argv)
{
	struct conductor *c = muster_calloc(1, sizeof *c);
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
		open_start(c);
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
		good = can_write(options->report) && load_expectations(c);
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
