/* SPDX-License-Identifier: Apache-2.0 */
/* ring_participant.c - a rank's side of the rings and of the rounds of traffic after them
 *
 * Each round of a ring has two barriers (place, id) and then the ring itself. A round of traffic has the first barrier
 * only. How a round ended is told with the entry into the next RING barrier, and a failure at once besides
 * (RING_FAILED), so that rank 0 can cancel the ring for the ranks that still wait in it.
 *
 * A course lasts from the first visit to the end of the run; its rounds are counted from 0 in each visit. Without an
 * answer of rank 0 (the leader is silent, or there is no time) the rank takes the visit for over. If the answer comes
 * after all and expects this rank in a ring, muster_ring_late_answer reports that it will not come.
 *
 * Several full rings may run, each without the ranks that failed before, and trials after them: in the record the
 * samples of the last full ring alone count (drop_samples).
 *
 * What a rank does with its place in a round:
 *
 *   role         what follows                     its outcome
 *   MEMBER       RING_ID barrier, then the ring   of this ring; after a trial: unchanged
 *   IDLE         RING_ID barrier                  unchanged
 *   EXCLUDED     RING_ID barrier                  not run, and why
 *   EXCLUDED,    the next RING barrier            unchanged
 *     between rounds of traffic
 *   TRAFFIC      the round of traffic             of the probe of the traffic
 *   WAITS        the next RING barrier            unchanged
 *   NO_TRAFFIC   the next RING barrier            of the probe of the traffic: not run, and why
 *   OVER         the end of the visit             of probes without a round: OK, or not run, and why
 *
 * The first ring has two parts. muster_ring_begin (round 0) begins it, muster_ring_await waits for its communicator,
 * and muster_ring_participate goes on with it in round 1. A rank whose worker was lost in between has no part of the
 * communicator: its end is NONE, on which rank 0 begins the ring anew.
 */
#include "coord/send.h"
#include "coord/supervisor.h"
#include "muster/arena.h"

#include <stdlib.h>
#include <string.h>

enum { STEP_MS = 20, STEPS_SAID = 1000 }; /* of a long step, about; as many steps as need lines of progress */

/* How the last round ended; all 0: this rank took no part. */
struct last_round {
	enum muster_ring_end end;
	double seconds;
	const char *detail;
	bool first; /* this rank was the ring's first: the worker's figures are the ring's */
	bool full;  /* it was a full ring */
};

/* The rings of one probe and the traffic after them, as one rank sees them. */
struct muster_ring_course {
	struct muster_supervisor *s;
	const struct muster_probe *probe; /* of the rings */
	int index, visit, round;
	bool can;            /* at the first ring, and no worker has crashed or hung since */
	int replaced;        /* workers before the first ring, as in struct muster_supervisor */
	const char *why_not; /* how a worker crashed or hung */
	bool begun;          /* the first ring, in this round: its communicator is being made; not awaited yet ... */
	struct muster_barrier_id begun_in;
	struct muster_ring_place begun_place;
	bool left;       /* the rounds of visit 0 ended when the first ring was to begin */
	bool was_in;     /* in a full ring that measured, or that failed when it began ... */
	int ranks;       /* ... of so many ranks */
	size_t from, to; /* the samples of the last such ring */
	struct last_round last;
	struct muster_outcome rounds; /* of a probe's rounds of traffic so far, all of them OK; without a probe: none */
	bool traffic;                 /* the last round was one of traffic */
};

/* What no other rank of a ring may have: NCCL takes one MIG instance of a GPU. */
static const char *gpu_of(const struct muster_worker_answer *answer)
{
	return strncmp(answer->uuid, "MIG-", strlen("MIG-")) == 0 ? answer->gpu : answer->uuid;
}

/* What this rank enters a RING barrier with: whether it can be in a ring, and if not why; and how its last round ended.
 * The figures of a ring are those of its first rank, so that no other rank sends any. */
static void pack_ready(const struct muster_ring_course *course, struct muster_packer *p)
{
	struct muster_supervisor *s = course->s;
	const struct muster_outcome *before = muster_outcomes_find(&s->facts.outcomes, course->probe->name);
	bool unfit = s->no_worker || (s->take_error && *s->take_error);
	const char *why = unfit                      ? s->take_error
			  : course->why_not          ? course->why_not
			  : before && before->detail ? before->detail
						     : "the rank could not take part";
	bool can = course->can && !unfit && *s->worker.answer.uuid;
	struct muster_ring_ready ready = {
		.brief = course->traffic,
		.can = can,
		.uuid = can ? gpu_of(&s->worker.answer) : "",
		.agree = can ? s->worker.answer.agree : "",
		.why = can   ? ""
		       : why ? why
			     : "",
		.end = course->last.end,
		.seconds = course->last.seconds,
		.detail = course->last.detail ? course->last.detail : "",
		.figures = s->worker.answer.figures,
		.figure_count = course->last.first ? s->worker.answer.figure_count : 0,
	};
	muster_pack_ring_ready(p, &ready);
}

/* How strong the evidence is that the outcome gives against this rank (message.h). The code of an error decides; an
 * error with any other code is the rank's own. */
static enum muster_ring_end end_of(const struct muster_outcome *outcome)
{
	static const struct {
		enum muster_code code;
		enum muster_ring_end end;
	} by_code[] = {
		{ MUSTER_ECALLEDOFF, MUSTER_RING_CANCELLED },
		{ MUSTER_EINTERRUPTED, MUSTER_RING_CANCELLED }, /* all ranks are */
		{ MUSTER_EREMOTE, MUSTER_RING_REMOTE }, { MUSTER_ETIME, MUSTER_RING_LATE },
		{ MUSTER_ESTALLED, MUSTER_RING_LATE }, /* for all ranks alike: no evidence against this one */
	};
	switch (outcome->status) {
	case MUSTER_OUTCOME_OK: return MUSTER_RING_OK;
	case MUSTER_OUTCOME_HUNG: return MUSTER_RING_HUNG;
	case MUSTER_OUTCOME_CRASHED: return MUSTER_RING_CRASHED;
	case MUSTER_OUTCOME_NOT_RUN: return MUSTER_RING_CANCELLED;
	default: break;
	}
	for (size_t i = 0; outcome->code && i < sizeof by_code / sizeof *by_code; i++)
		if (strcmp(outcome->code, muster_code_name(by_code[i].code)) == 0)
			return by_code[i].end;
	return MUSTER_RING_ERROR;
}

/* The samples of a ring, from `from` to before `to`, no longer count, except with `job` those of scope job. */
static void drop_samples(struct muster_supervisor *s, size_t from, size_t to, bool job)
{
	if (to > from)
		muster_record_line_add(s, muster_record_kept_line(from, to == s->record.samples ? SIZE_MAX : to, job));
}

/* Report it to rank 0 at once, so that no other rank waits for this one. */
static void report_failure(
	struct muster_supervisor *s, struct muster_barrier_id ring, enum muster_ring_end end, const char *detail)
{
	char *why = end == MUSTER_RING_CRASHED ? muster_asprintf("the worker of rank %d crashed", s->rank)
		    : end == MUSTER_RING_HUNG  ? muster_asprintf("the worker of rank %d hung", s->rank)
					       : muster_asprintf("rank %d: %s", s->rank, detail ? detail : "");
	struct muster_packer p = { 0 };
	muster_pack_ring_failed(&p, &(struct muster_ring_failed){ ring, s->rank, why });
	muster_send_packed(s->transport, 0, MUSTER_TAG_RING_FAILED, &p);
	free(why);
}

/* Send the worker a command of this round for a probe and wait for the outcome. A worker that does not answer is
 * replaced; a failure is reported to rank 0 at once. ranks: how many share the round. */
static struct muster_outcome run_command(struct muster_ring_course *course, const struct muster_probe *probe,
	char *command, int deadline_ms, struct muster_barrier_id ring, int ranks)
{
	struct muster_supervisor *s = course->s;
	/* Steps that were taken count, however many there are. */
	s->soaking = probe->traffic_ms_per_step > 0;
	muster_command_start(s, command, deadline_ms);
	s->ring = ring;
	if (muster_barrier_same(s->cancelled, ring))
		muster_worker_client_cancel(&s->worker, s->cancelled_why);
	if (s->soaking && s->options->long_steps && s->options->steps >= STEPS_SAID)
		muster_probe_say_time_left(s, "training steps", s->options->steps / (1000 / STEP_MS));
	enum muster_worker_state state = muster_command_wait(s);
	s->soaking = false;
	s->ring = (struct muster_barrier_id){ 0 };
	struct muster_outcome outcome = muster_worker_client_outcome(&s->worker, probe->name);
	outcome.ring = ranks;
	enum muster_ring_end end = end_of(&outcome);
	if (end > MUSTER_RING_CANCELLED && end != MUSTER_RING_LATE) /* late: so are the others */
		report_failure(s, ring, end, outcome.detail);
	if (state != MUSTER_WORKER_DONE)
		muster_probe_runner_again(s);
	return outcome;
}

/* The time that the worker has of the deadline, in ms: so much less that the worker can end the ring and answer by
 * itself before its supervisor would have to end the worker. */
static int worker_ms(const struct muster_ring_course *course, int deadline_ms)
{
	double margin = course->s->deadlines.worker_margin;
	return (int)(deadline_ms > 2 * margin ? deadline_ms - margin : deadline_ms / 2.0);
}

/* Remember how the round ended, for the next entry. A rank whose worker crashed or hung in a round is in no
 * further one. */
static void note_end(struct muster_ring_course *course, const struct muster_outcome *outcome)
{
	course->last.end = end_of(outcome);
	course->last.seconds = outcome->elapsed_ms / 1e3;
	course->last.detail =
		outcome->evidence ? muster_arena_printf(course->s->arena, "%s; %s", outcome->detail, outcome->evidence)
				  : outcome->detail;
	if (course->last.end >= MUSTER_RING_HUNG) {
		course->can = false;
		course->why_not = outcome->detail;
	}
}

/* As one of the ranks that make an id of the ring, have the worker create it: *ret; NULL when it failed. */
static struct muster_outcome make_ring_id(struct muster_ring_course *course, const struct muster_ring_place *place,
	struct muster_barrier_id ring, const char **ret)
{
	struct muster_outcome outcome = run_command(course, course->probe,
		muster_command_text("ring_id", "probe", muster_string(course->probe->name), NULL, NULL),
		muster_supervisor_bounded(course->s, place->deadline_ms), ring, place->ring.ranks);
	*ret = outcome.status == MUSTER_OUTCOME_OK ? course->s->worker.answer.ring_id : NULL;
	return outcome;
}

/* Have the worker run its part of the ring. ids: hexadecimal, "" where the part needs none. */
static struct muster_outcome send_place(struct muster_ring_course *course, const struct muster_ring_place *place,
	struct muster_barrier_id ring, const char *ids)
{
	int deadline_ms = muster_supervisor_bounded(course->s, place->deadline_ms);
	struct muster_ring_command more = { .ring = place->ring, .ids = ids };
	more.ring.timeout_ms = worker_ms(course, deadline_ms);
	return run_command(course, course->probe,
		muster_command_text("ring", "probe", muster_string(course->probe->name), &muster_ring_type, &more),
		deadline_ms, ring, place->ring.ranks);
}

/* Take part in a ring, from its ids to the end. A ring that has begun needs no id any more. */
static struct muster_outcome run_allreduce(
	struct muster_ring_course *course, const struct muster_ring_place *place, struct muster_barrier_id ring)
{
	struct muster_supervisor *s = course->s;
	const struct muster_barrier_id id_barrier = { MUSTER_BARRIER_RING_ID, ring.probe, ring.round, ring.visit };
	struct muster_outcome outcome = { .probe = course->probe->name, .ring = place->ring.ranks };
	const char *mine = NULL;
	bool begun = place->ring.part == MUSTER_RING_REST;
	if (!begun && muster_ring_maker_index(place->ring.rank, place->ring.ranks) >= 0)
		outcome = make_ring_id(course, place, ring, &mine);
	struct muster_answer shared =
		muster_barrier_wait(s, id_barrier, MUSTER_PHASE_NONE, mine ? mine : "", mine ? strlen(mine) : 0);
	if (outcome.status != MUSTER_OUTCOME_OK) {
		/* already reported */
	} else if (begun || (shared.here && *shared.bytes.bytes)) {
		double before_ms = outcome.elapsed_ms;
		outcome = send_place(course, place, ring, begun ? "" : shared.bytes.bytes);
		outcome.elapsed_ms += before_ms;
	} else {
		outcome.status = MUSTER_OUTCOME_NOT_RUN;
		outcome.detail = "a rank that creates an NCCL id of the ring could not";
	}
	muster_answer_done(&shared);
	return outcome;
}

/* This rank could take part, but the full ring runs without it. */
static void skip_allreduce(struct muster_ring_course *course, const char *why)
{
	struct muster_outcome outcome = {
		.probe = course->probe->name,
		.status = MUSTER_OUTCOME_NOT_RUN,
		.detail = muster_arena_string(course->s->arena, why),
	};
	if (!course->can || course->visit > 0) /* what the first visit has measured stays */
		return;
	outcome.ring = course->ranks;
	muster_probe_replace_outcome(course->s, outcome);
}

/* What this rank has begun well does not go on. It has measured nothing, so that its outcome becomes this one. */
static void end_begun(
	struct muster_ring_course *course, enum muster_outcome_status status, enum muster_code code, const char *detail)
{
	const struct muster_outcome *begun = muster_outcomes_find(&course->s->facts.outcomes, course->probe->name);
	if (course->was_in || !begun || begun->status != MUSTER_OUTCOME_OK || begun->ring == 0)
		return;
	struct muster_outcome outcome = *begun;
	outcome.status = status;
	outcome.code = code ? muster_code_name(code) : NULL;
	outcome.detail = muster_arena_string(course->s->arena, detail);
	muster_probe_replace_outcome(course->s, outcome);
}

/* Another rank has failed in the ring that has begun, or the run ends: it is a ring that is cancelled. */
static void give_up_begun(struct muster_ring_course *course)
{
	const struct muster_supervisor *s = course->s;
	char *why = muster_asprintf("cancelled: %s", muster_barrier_same(s->cancelled, course->begun_in)
							     ? s->cancelled_why
							     : "the all-reduce did not go on");
	end_begun(course, MUSTER_OUTCOME_ERROR, MUSTER_ECALLEDOFF, why);
	free(why);
}

/* The samples from `from` on are those of this ring. */
static void own_samples(struct muster_ring_course *course, size_t from)
{
	course->was_in = true;
	course->from = from;
	course->to = course->s->record.samples;
}

/* Take part in a ring as one of its ranks. Samples of a trial are not kept. */
static void be_member(
	struct muster_ring_course *course, const struct muster_ring_place *place, struct muster_barrier_id ring)
{
	struct muster_supervisor *s = course->s;
	size_t from = s->record.samples;
	struct muster_outcome outcome = run_allreduce(course, place, ring);
	course->replaced = s->replaced; /* a worker that had to be killed in it has a successor for the next one */
	note_end(course, &outcome);
	course->last.first = place->ring.rank == 0;
	course->last.full = !place->ring.trial;
	course->begun = place->ring.part == MUSTER_RING_BEGIN && course->last.end == MUSTER_RING_OK;
	course->begun_in = ring;
	course->begun_place = *place;
	if (place->ring.trial) {
		drop_samples(s, from, s->record.samples, false);
		return;
	}
	muster_probe_replace_outcome(s, outcome);
	if (!course->begun)
		own_samples(course, from);
}

/* ---- the rounds of traffic that follow the full ring ---- */

/* The probe of the place; NULL when it has no traffic. */
static const struct muster_probe *probe_of(const struct muster_ring_place *place)
{
	const struct muster_probe *probe =
		(size_t)place->probe < muster_probe_count() ? muster_probe_at((size_t)place->probe) : NULL;
	return probe && probe->traffic ? probe : NULL;
}

/* Whether the place is one of a round of traffic, or comes while such rounds last. */
static bool is_traffic(const struct muster_ring_course *course, const struct muster_ring_place *place)
{
	return place->role == MUSTER_ROLE_TRAFFIC || place->role == MUSTER_ROLE_WAITS ||
	       place->role == MUSTER_ROLE_NO_TRAFFIC ||
	       (course->traffic && place->role == MUSTER_ROLE_EXCLUDED); /* the rank was too late */
}

/* One line in the record for all rounds of a probe: rank 0 reads the lines of all ranks. */
static void end_rounds(struct muster_ring_course *course)
{
	if (course->rounds.probe)
		muster_probe_add_outcome(course->s, course->rounds);
	course->rounds = (struct muster_outcome){ 0 };
}

static void add_round(struct muster_ring_course *course, struct muster_outcome outcome)
{
	if (course->rounds.probe && strcmp(course->rounds.probe, outcome.probe) != 0)
		end_rounds(course);
	outcome.elapsed_ms += course->rounds.elapsed_ms;
	course->rounds = outcome;
	if (outcome.status != MUSTER_OUTCOME_OK)
		end_rounds(course);
}

/* How many ranks share a round that has no pairs; 0: each is by itself. */
static int ranks_of(const struct muster_ring_course *course, const struct muster_probe *probe)
{
	return probe->traffic_shape == MUSTER_TRAFFIC_EACH ? 0 : course->ranks;
}

/* One round of traffic on the worker. The outcome has how many ranks share the round and who the partner is, plus 1 (0:
 * none). */
static void exchange(struct muster_ring_course *course, const struct muster_probe *probe,
	const struct muster_ring_place *place, struct muster_barrier_id ring)
{
	int deadline_ms = muster_supervisor_bounded(course->s, place->deadline_ms);
	struct muster_traffic traffic = place->traffic;
	traffic.kind = muster_traffic_kind_names[place->kind];
	traffic.timeout_ms = worker_ms(course, deadline_ms);
	struct muster_outcome outcome = run_command(course, probe,
		muster_command_text("traffic", "probe", muster_string(probe->name), &muster_traffic_type, &traffic),
		deadline_ms, ring, traffic.peer >= 0 ? 2 : ranks_of(course, probe));
	outcome.partner = place->peer_rank + 1;
	add_round(course, outcome);
	note_end(course, &outcome);
}

static void not_run(struct muster_ring_course *course, const struct muster_probe *probe, const char *why)
{
	end_rounds(course);
	muster_probe_add_outcome(course->s, (struct muster_outcome){
						    .probe = probe->name,
						    .status = MUSTER_OUTCOME_NOT_RUN,
						    .detail = muster_arena_string(course->s->arena, why),
						    .ring = ranks_of(course, probe),
					    });
}

static void take_part_in_traffic(
	struct muster_ring_course *course, const struct muster_ring_place *place, struct muster_barrier_id ring)
{
	const struct muster_probe *probe = probe_of(place);
	course->traffic = true;
	if (place->role == MUSTER_ROLE_TRAFFIC && probe)
		exchange(course, probe, place, ring);
	else if (place->role == MUSTER_ROLE_NO_TRAFFIC && probe && course->visit == 0)
		not_run(course, probe, place->why);
}

/* The rounds are over: an outcome for each probe with traffic that has none yet. A rank that was in the rings and had
 * nothing to do, such as one without any partner, is OK. why: as in struct muster_ring_place. */
static void end_traffic(struct muster_ring_course *course, const char *why)
{
	struct muster_supervisor *s = course->s;
	end_rounds(course);
	const struct muster_outcome *ring = muster_outcomes_find(&s->facts.outcomes, course->probe->name);
	const char *of_ring = ring && ring->status != MUSTER_OUTCOME_OK ? ring->detail : NULL;
	for (size_t i = 0; i < muster_probe_count(); i++) {
		const struct muster_probe *probe = muster_probe_at(i);
		if (!muster_probe_has_traffic(probe, s->options->profile, s->nodes) ||
			muster_outcomes_find(&s->facts.outcomes, probe->name))
			continue;
		if (of_ring || *why)
			not_run(course, probe, of_ring ? of_ring : why);
		else if (muster_probe_may_run(s, probe))
			muster_probe_add_outcome(s, (struct muster_outcome){ .probe = probe->name });
	}
}

/* ---- the rounds ---- */

/* This rank's place in the round; OVER without an answer. */
static struct muster_ring_place place_of(const struct muster_answer *answer)
{
	struct muster_ring_place place;
	if (answer->here && muster_unpack_ring_place(answer->bytes.bytes, answer->bytes.length, &place))
		return place;
	return (struct muster_ring_place){ .role = MUSTER_ROLE_OVER, .why = "" };
}

/* One round, as the table above has it. done: the phase that ends with it. False: it was the last. Before the next full
 * ring begins, the samples of the last one are dropped; a rank that is excluded from it keeps those of the job. */
static bool next_round(struct muster_ring_course *course, enum muster_phase done)
{
	struct muster_supervisor *s = course->s;
	const struct muster_barrier_id ring = { MUSTER_BARRIER_RING, course->index, course->round, course->visit };
	const struct muster_barrier_id id_barrier = { MUSTER_BARRIER_RING_ID, course->index, course->round,
		course->visit };
	struct muster_packer ready = { 0 };
	pack_ready(course, &ready);
	struct muster_answer answer = muster_barrier_wait(s, ring, done, ready.bytes, ready.length);
	muster_packer_done(&ready);
	struct muster_ring_place place = place_of(&answer);
	if (is_traffic(course, &place)) {
		course->last = (struct last_round){ 0 };
		take_part_in_traffic(course, &place, ring);
		muster_answer_done(&answer);
		return true;
	}
	bool in = place.role == MUSTER_ROLE_MEMBER, over = place.role == MUSTER_ROLE_OVER;
	if (!answer.here)
		s->unanswered = ring;
	if (over && !answer.here && !course->was_in) {
		course->ranks = 0; /* no ring has run, whatever has begun */
		skip_allreduce(course, "no member list from rank 0");
	}
	if (place.role == MUSTER_ROLE_EXCLUDED)
		skip_allreduce(course, place.why);
	bool full = place.role == MUSTER_ROLE_EXCLUDED || (in && !place.ring.trial);
	if (!full)
		give_up_begun(course);
	if (full && course->was_in) /* only the last full ring counts */
		drop_samples(s, course->from, course->to, !in);
	if (in && !place.ring.trial)
		course->ranks = place.ring.ranks;
	course->traffic = false;
	course->last = (struct last_round){ 0 };
	if (in) {
		be_member(course, &place, ring);
	} else if (!over) {
		struct muster_answer id = muster_barrier_wait(s, id_barrier, MUSTER_PHASE_NONE, "", 0);
		muster_answer_done(&id);
	}
	if (over)
		end_traffic(course, answer.here ? place.why : "no answer from rank 0");
	muster_answer_done(&answer);
	return !over;
}

void muster_ring_late_answer(struct muster_supervisor *s, const struct muster_message *message)
{
	struct muster_parts parts;
	struct muster_answer answer = { .here = true };
	int rank;
	if (muster_unpack_parts(message->bytes, message->length, &parts) &&
		muster_barrier_same(parts.barrier, s->unanswered) && muster_unpack_part(&parts, &rank, &answer.bytes) &&
		(place_of(&answer).role == MUSTER_ROLE_MEMBER || place_of(&answer).role == MUSTER_ROLE_TRAFFIC))
		report_failure(s, parts.barrier, MUSTER_RING_ERROR, "it did not wait any longer for its silent leader");
}

/* The rings of each probe that has some, in the order of the probes. */
static struct muster_ring_course *courses_of(struct muster_supervisor *s)
{
	size_t rings = 0;
	if (s->courses)
		return s->courses;
	for (size_t i = 0; i < muster_probe_count(); i++)
		rings += muster_probe_at(i)->ring != NULL;
	s->courses = muster_calloc(rings + 1, sizeof *s->courses); /* each has room for the ids of a ring */
	struct muster_ring_course *course = s->courses;
	for (size_t i = 0; i < muster_probe_count(); i++) {
		const struct muster_probe *probe = muster_probe_at(i);
		if (probe->ring)
			*course++ = (struct muster_ring_course){
				.s = s,
				.probe = probe,
				.index = (int)i,
				.can = muster_probe_may_run(s, probe),
				.replaced = s->replaced,
			};
	}
	return s->courses;
}

void muster_ring_begin(struct muster_supervisor *s, const struct muster_probe *probe)
{
	struct muster_ring_course *course = courses_of(s);
	while (course->probe != probe)
		course++;
	course->left = !next_round(course, MUSTER_PHASE_NONE);
	course->round++;
}

/* A communicator that is there changes nothing: the outcome is still that of the beginning. One that failed is this
 * rank's outcome, and its end is told with the next entry. */
void muster_ring_await(struct muster_supervisor *s)
{
	for (struct muster_ring_course *course = courses_of(s); course->probe; course++) {
		bool begun = course->begun;
		course->begun = false;
		if (begun && s->replaced > course->replaced) { /* no rank may wait for a worker that is gone */
			report_failure(s, course->begun_in, MUSTER_RING_ERROR, "its worker has ended");
		} else if (begun) {
			course->begun_place.ring.part = MUSTER_RING_AWAIT;
			size_t from = s->record.samples;
			struct muster_outcome outcome = send_place(course, &course->begun_place, course->begun_in, "");
			course->replaced = s->replaced;
			note_end(course, &outcome);
			if (course->last.end == MUSTER_RING_OK)
				continue;
			muster_probe_replace_outcome(s, outcome);
			own_samples(course, from);
		}
	}
}

bool muster_ring_is_starting(const struct muster_supervisor *s)
{
	const struct muster_ring_course *course = s->courses;
	while (course && course->probe && !(course->begun && course->replaced == s->replaced))
		course++;
	return course && course->probe;
}

/* From the beginning to the rest of the ring. lost: the worker that has begun it. */
static void go_on(struct muster_ring_course *course, bool lost)
{
	struct muster_supervisor *s = course->s;
	course->can = course->can && muster_probe_may_run(s, course->probe);
	course->last.end = lost ? MUSTER_RING_NONE : MUSTER_RING_OK; /* a new worker begins anew */
	if (!course->can)
		end_begun(course, MUSTER_OUTCOME_NOT_RUN, MUSTER_OK,
			s->no_worker && s->take_error ? s->take_error : "no time left before the run's deadline");
}

void muster_ring_participate(struct muster_supervisor *s, int visit)
{
	for (struct muster_ring_course *course = courses_of(s); course->probe; course++) {
		bool lost = s->replaced > course->replaced;
		if (visit == 0 && course->last.end == MUSTER_RING_OK) /* the ring has begun */
			go_on(course, lost);
		else if (visit > 0 && course->can && lost) { /* by another probe, between two visits */
			course->can = false;
			course->why_not = "the worker that was in the all-reduce has ended";
		}
		if (visit == 0)
			course->replaced = s->replaced;
		course->visit = visit;
		if (visit > 0) {
			course->round = 0;
			course->last = (struct last_round){ 0 };
		}
		enum muster_phase done = visit == 0 ? MUSTER_PHASE_LOAD : MUSTER_PHASE_NONE;
		while (!(visit == 0 && course->left) && course->round < MUSTER_RING_ROUNDS_MAX &&
			next_round(course, done)) {
			course->round++;
			done = visit == 0 && course->last.full && course->last.end == MUSTER_RING_OK
				       ? MUSTER_PHASE_RING
				       : MUSTER_PHASE_NONE;
		}
	}
}
