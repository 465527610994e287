/* traffic_participant.c - a rank's side of the rounds of traffic that follow its full ring */
#include "coord/ring_course.h"

#include "muster/arena.h"

#include <string.h>

/* The probe of the place; NULL when it has no traffic. */
static const struct muster_probe *probe_of(const struct muster_ring_place *place)
{
	const struct muster_probe *probe =
		(size_t)place->probe < muster_probe_count() ? muster_probe_at((size_t)place->probe) : NULL;
	return probe && probe->traffic ? probe : NULL;
}

bool muster_traffic_is_place(const struct muster_ring_course *course, const struct muster_ring_place *place)
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

static void exchange(struct muster_ring_course *course, const struct muster_probe *probe,
	const struct muster_ring_place *place, struct muster_barrier_id ring)
{
	struct muster_json_writer_text command;
	int deadline_ms = muster_supervisor_bounded(course->s, place->deadline_ms);
	muster_command_begin(&command, "traffic");
	muster_json_writer_pair(&command.w, "probe", muster_string(probe->name));
	muster_json_writer_pair(&command.w, "kind", muster_string(muster_traffic_kind_names[place->kind]));
	muster_json_writer_pair(&command.w, "peer", muster_number(place->peer));
	muster_json_writer_pair(&command.w, "round", muster_number(place->round));
	muster_json_writer_pair(&command.w, "rounds", muster_number(place->rounds));
	muster_json_writer_pair(&command.w, "timeout_ms", muster_number(muster_ring_worker_ms(course, deadline_ms)));
	struct muster_outcome outcome = muster_ring_command(
		course, probe, &command, deadline_ms, ring, place->peer >= 0 ? 2 : ranks_of(course, probe));
	outcome.partner = place->peer_rank + 1;
	add_round(course, outcome);
	muster_ring_note_end(course, &outcome);
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

void muster_traffic_take_part(
	struct muster_ring_course *course, const struct muster_ring_place *place, struct muster_barrier_id ring)
{
	const struct muster_probe *probe = probe_of(place);
	course->traffic = true;
	if (place->role == MUSTER_ROLE_TRAFFIC && probe)
		exchange(course, probe, place, ring);
	else if (place->role == MUSTER_ROLE_NO_TRAFFIC && probe)
		not_run(course, probe, place->why);
}

/* A rank that was in the rings and had nothing to do, such as one without any partner, is OK. */
void muster_traffic_end(struct muster_ring_course *course, const char *why)
{
	struct muster_supervisor *s = course->s;
	end_rounds(course);
	const struct muster_outcome *ring = muster_probe_outcome(s, course->probe->name);
	const char *of_ring = ring && ring->status != MUSTER_OUTCOME_OK ? ring->detail : NULL;
	for (size_t i = 0; s->options->profile != MUSTER_QUICK && i < muster_probe_count(); i++) {
		const struct muster_probe *probe = muster_probe_at(i);
		if (!probe->traffic || muster_probe_outcome(s, probe->name))
			continue;
		if (of_ring || *why)
			not_run(course, probe, of_ring ? of_ring : why);
		else if (muster_probe_may_run(s, probe))
			muster_probe_add_outcome(s, (struct muster_outcome){ .probe = probe->name });
	}
}
