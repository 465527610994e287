/* ring_participant.c - measurements over all ranks: round after round, who can take part, where in which ring, its id,
 * the ring */
#include "coord/supervisor_internal.h"

#include "util/text.h"
#include "coord/ring_scheduler.h"

#include <stdlib.h>
#include <string.h>

/* This rank's way through the rings of one probe. */
struct course {
	struct muster_supervisor *c;
	const struct muster_probe *probe;
	int index, round;
	bool can;            /* it could when the first ring was made, and no worker of its has crashed or hung since */
	const char *why_not; /* of one that has */
	bool was_in;         /* a ring of all ... */
	int ranks;           /* ... that had so many */
	size_t samples;      /* of this rank, before the last ring of all */
	/* how the last round ended */
	enum muster_ring_end end;
	double seconds;
	const char *detail;
	char *facts; /* JSON, or NULL */
};

/* Where a ring's samples go: those of the job too are its first rank's to bring along. */
static struct muster_samples *samples_of(const struct course *course)
{
	return &course->c->record.nodes[0].ranks[0].samples;
}

/* Its value of the metric that ranks of one ring must agree on; "" when there is none. */
static const char *kind_of(const struct course *course)
{
	const struct muster_samples *samples = samples_of(course);
	for (size_t i = 0; i < samples->count; i++)
		if (strcmp(samples->items[i].metric->name, course->probe->ring_agree) == 0 &&
			samples->items[i].value.type == MUSTER_STRING)
			return samples->items[i].value.string;
	return "";
}

static char *hand_of(const struct course *course)
{
	struct muster_supervisor *c = course->c;
	const struct muster_outcome *before = muster_probe_runner_outcome(c, course->probe->name);
	const char *why = course->why_not            ? course->why_not
			  : before && before->detail ? before->detail
						     : "it could not take part";
	char *can = course->can && !c->no_worker && *c->crew.uuid
			    ? muster_asprintf("+%s %s", c->crew.uuid, kind_of(course))
			    : muster_asprintf("-%s", c->no_worker ? c->take_error : why);
	char *detail = muster_strdup(course->detail ? course->detail : "");
	for (char *at = can; *at; at++)
		*at = *at == '\n' ? ' ' : *at;
	for (char *at = detail; *at; at++)
		*at = *at == '\n' ? ' ' : *at;
	char *hand = muster_asprintf("%s\n%d %.3f %s\n%s", can, (int)course->end, course->seconds, detail,
		course->facts ? course->facts : "");
	free(can);
	free(detail);
	return hand;
}

static enum muster_ring_end end_of(const struct muster_outcome *outcome)
{
	static const struct {
		enum muster_code code;
		enum muster_ring_end end;
	} by_code[] = {
		{ MUSTER_ECALLEDOFF, MUSTER_RING_OFF },
		{ MUSTER_EREMOTE, MUSTER_RING_REMOTE },
		{ MUSTER_ETIME, MUSTER_RING_LATE },
	};
	switch (outcome->status) {
	case MUSTER_OUTCOME_OK: return MUSTER_RING_OK;
	case MUSTER_OUTCOME_HUNG: return MUSTER_RING_HUNG;
	case MUSTER_OUTCOME_CRASHED: return MUSTER_RING_CRASHED;
	case MUSTER_OUTCOME_NOT_RUN: return MUSTER_RING_OFF;
	default: break;
	}
	for (size_t i = 0; outcome->code && i < sizeof by_code / sizeof *by_code; i++)
		if (strcmp(outcome->code, muster_code_name(by_code[i].code)) == 0)
			return by_code[i].end;
	return MUSTER_RING_ERROR;
}

/* What was measured about the job since the list had `from` samples, for rank 0 to look at at once. */
static char *facts_since(const struct course *course, size_t from)
{
	const struct muster_samples *samples = samples_of(course);
	struct muster_rank rank = { .rank = course->c->rank, .local_rank = -1 };
	struct muster_node node = { .name = course->c->node, .ranks = &rank, .rank_count = 1 };
	for (size_t i = from; i < samples->count; i++)
		if (samples->items[i].metric->scope == MUSTER_SCOPE_JOB)
			muster_samples_add(&rank.samples, samples->items[i]);
	char *text = rank.samples.count > 0 ? muster_node_to_json(&node, NULL) : NULL;
	muster_samples_done(&rank.samples);
	return text;
}

/* What the last ring of all measured: all of it, or only what it says about the job. */
static void forget(const struct course *course, bool all)
{
	struct muster_samples *samples = samples_of(course);
	size_t kept = course->samples;
	for (size_t i = kept; i < samples->count && !all; i++)
		if (samples->items[i].metric->scope != MUSTER_SCOPE_JOB)
			samples->items[kept++] = samples->items[i];
	samples->count = kept;
}

/* Tell rank 0 at once, so that nobody waits for this rank. */
static void say_broken(struct muster_supervisor *c, int barrier, enum muster_ring_end end, const char *detail)
{
	char *text = muster_asprintf("%d %d\n%s%d%s%s", barrier, c->rank, "rank ", c->rank,
		end == MUSTER_RING_CRASHED ? "'s worker crashed"
		: end == MUSTER_RING_HUNG  ? "'s worker hung"
					   : ": ",
		end < MUSTER_RING_HUNG && detail ? detail : "");
	muster_link_send(0, MUSTER_TAG_RING_FAILED, text, strlen(text));
	free(text);
}

/* Have the worker do this, and see how it ended. A worker that does not come back is replaced. */
static struct muster_outcome send_worker(
	struct course *course, struct muster_command *command, int deadline_ms, int barrier, int ranks)
{
	struct muster_supervisor *c = course->c;
	muster_command_start(c, command, deadline_ms);
	c->ring_gate = barrier;
	if (c->stopped_gate == barrier)
		muster_worker_client_cancel(&c->crew, c->stopped_why);
	enum muster_worker_client_state state = muster_command_wait(c);
	c->ring_gate = 0;
	struct muster_outcome outcome = muster_worker_client_outcome(&c->crew, course->probe->name);
	outcome.ring = ranks;
	enum muster_ring_end end = end_of(&outcome);
	if (end > MUSTER_RING_OFF && end != MUSTER_RING_LATE) /* the others' time is out as well */
		say_broken(c, barrier, end, outcome.detail);
	if (state != MUSTER_WORKER_CLIENT_DONE)
		muster_probe_runner_again(c);
	return outcome;
}

/* Ask the ring's first rank's worker for an id; "" when it has none. */
static struct muster_outcome make_ring_id(struct course *course, int barrier, int ranks, char *ret, size_t size)
{
	struct muster_command command;
	*ret = '\0';
	muster_command_begin(&command, "ring_id");
	muster_command_text(&command, "probe", course->probe->name);
	struct muster_outcome outcome = send_worker(
		course, &command, muster_supervisor_bounded(course->c, course->probe->deadline_ms), barrier, ranks);
	if (outcome.status == MUSTER_OUTCOME_OK)
		snprintf(ret, size, "%s", course->c->crew.ring_id);
	return outcome;
}

static struct muster_outcome take_part(
	struct course *course, const struct muster_ring *ring, int barrier, int deadline_ms, const char *id)
{
	struct muster_command command;
	muster_command_begin(&command, "ring");
	muster_command_text(&command, "probe", course->probe->name);
	muster_command_text(&command, "ring_id", id);
	muster_command_number(&command, "ring_rank", ring->rank);
	muster_command_number(&command, "ring_ranks", ring->ranks);
	muster_command_number(&command, "ring_nodes", ring->nodes);
	muster_command_number(&command, "ring_trial", ring->trial);
	muster_command_number(&command, "timeout_ms", deadline_ms > 2000 ? deadline_ms - 1000 : deadline_ms / 2);
	return send_worker(course, &command, deadline_ms, barrier, ring->ranks);
}

/* The rank's part in a ring, from its place to its end. */
static struct muster_outcome play(struct course *course, const struct muster_ring *ring, int barrier, int deadline_ms)
{
	struct muster_supervisor *c = course->c;
	char ring_id[2 * MUSTER_RING_ID_BYTES + 1] = "";
	struct muster_outcome outcome = { .probe = course->probe->name, .ring = ring->ranks };
	if (ring->rank == 0)
		outcome = make_ring_id(course, barrier, ring->ranks, ring_id, sizeof ring_id);
	char *shared = muster_barrier_pass(c, barrier + 1, -1, ring_id, strlen(ring_id));
	if (outcome.status != MUSTER_OUTCOME_OK) {
		/* it is said already */
	} else if (*shared && *shared != '-') {
		double before_ms = outcome.elapsed_ms;
		outcome = take_part(course, ring, barrier, muster_supervisor_bounded(c, deadline_ms), shared);
		outcome.elapsed_ms += before_ms;
	} else {
		outcome.status = MUSTER_OUTCOME_NOT_RUN;
		outcome.detail = "the ring's first rank could not make an id for it";
	}
	free(shared);
	return outcome;
}

/* A ring of all is made without this rank, though it could take part. */
static void stay_out(struct course *course, const char *why)
{
	struct muster_outcome outcome = {
		.probe = course->probe->name,
		.status = MUSTER_OUTCOME_NOT_RUN,
		.detail = muster_arena_string(course->c->record.arena, why),
	};
	if (!course->can)
		return;
	outcome.ring = course->ranks;
	muster_probe_runner_replace(course->c, outcome);
}

/* A ring as one of its ranks. Of a trial nothing stays but how it went. */
static void share(struct course *course, const struct muster_ring *ring, int barrier, int deadline_ms)
{
	struct muster_samples *samples = samples_of(course);
	size_t from = samples->count;
	struct muster_outcome outcome = play(course, ring, barrier, deadline_ms);
	course->end = end_of(&outcome);
	course->seconds = outcome.elapsed_ms / 1e3;
	course->detail = outcome.evidence ? muster_arena_printf(
						    course->c->record.arena, "%s; %s", outcome.detail, outcome.evidence)
					  : outcome.detail;
	course->facts = ring->rank == 0 ? facts_since(course, from) : NULL;
	if (ring->trial)
		samples->count = from;
	else
		muster_probe_runner_replace(course->c, outcome);
	if (course->end >= MUSTER_RING_HUNG) {
		course->can = false;
		course->why_not = outcome.detail;
	}
}

/* One round. False: there will be no more. */
static bool go_round(struct course *course, int phase)
{
	struct muster_supervisor *c = course->c;
	int barrier = muster_barrier_of_ring(course->index, course->round), trial = 0, deadline_ms = 0;
	char *mine = hand_of(course);
	char *place = muster_barrier_pass(c, barrier, phase, mine, strlen(mine));
	free(mine);
	struct muster_ring ring = { 0 };
	bool in = sscanf(place, "+%d %d %d %d %d", &ring.rank, &ring.ranks, &ring.nodes, &trial, &deadline_ms) == 5;
	bool over = !in && *place != '-' && *place != '=';
	ring.trial = trial != 0;
	if (over && *place != '.' && !course->was_in)
		stay_out(course, "rank 0 did not say who takes part");
	if (*place == '-')
		stay_out(course, place + 1);
	bool all = *place == '-' || (in && !ring.trial);
	free(place);
	if (all && course->was_in) /* the newest ring of all is the one that counts */
		forget(course, in);
	if (in && !ring.trial) {
		course->was_in = true;
		course->ranks = ring.ranks;
		course->samples = samples_of(course)->count;
	}
	course->end = MUSTER_RING_NONE;
	course->seconds = 0;
	course->detail = NULL;
	free(course->facts);
	course->facts = NULL;
	if (in)
		share(course, &ring, barrier, deadline_ms);
	else if (!over)
		free(muster_barrier_pass(c, barrier + 1, -1, "", 0));
	return !over;
}

void muster_ring_participate(struct muster_supervisor *c)
{
	int phase = MUSTER_PHASE_COPIES;
	for (size_t i = 0; i < muster_probe_count(); i++) {
		const struct muster_probe *probe = muster_probe_at(i);
		if (!probe->ring)
			continue;
		struct course course = { .c = c, .probe = probe, .index = (int)i };
		course.can = muster_probe_runner_may_run(c, probe);
		while (course.round < MUSTER_RING_ROUNDS_MAX && go_round(&course, phase)) {
			course.round++;
			phase = -1;
		}
		free(course.facts);
	}
}
