/* ring_scheduler.c - rank 0 assigns ranks to rings, round after round */
#include "coord/ring_scheduler.h"

#include "coord/send.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FULLS_MAX = 6 };

struct muster_ring_scheduler *muster_ring_scheduler_new(
	const struct muster_ring_context *context, const struct muster_probe *probe, int index)
{
	struct muster_ring_scheduler *s = muster_calloc(1, sizeof *s);
	s->probe = probe;
	s->index = index;
	s->round = -1;
	s->group = muster_calloc((size_t)context->members->ranks, sizeof *s->group);
	s->in = muster_calloc(context->members->node_count + 1, sizeof *s->in);
	return s;
}

void muster_ring_scheduler_free(struct muster_ring_scheduler *s)
{
	if (!s)
		return;
	muster_plan_done(&s->plan);
	free(s->plan_nodes);
	free(s->plan_groups);
	free(s->group);
	free(s->in);
	free(s->groups);
	free(s);
}

static void say(const struct muster_ring_context *context, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void say(const struct muster_ring_context *context, const char *format, ...)
{
	char text[MUSTER_ERROR_TEXT_MAX];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	context->say(context->say_arg, text);
}

/* ---- the results of the last round ---- */

struct result {
	bool ok, fallen; /* fallen: one of its ranks can be in no further ring */
	bool late;       /* it failed, and the only reason of any rank is that its time ran out */
	double seconds;
	int cause; /* the rank with the highest end; -1: none */
	enum muster_ring_end end;
	const char *detail;
	const struct muster_ring_ready *first; /* of the ring's first rank; NULL */
};

static void result_add(
	const struct muster_ring_scheduler *s, struct result *result, int rank, const struct muster_ring_entry *entry)
{
	enum muster_ring_end end = entry ? entry->ready.end : MUSTER_RING_GONE;
	result->ok = result->ok && end == MUSTER_RING_OK;
	result->late =
		result->late && (end == MUSTER_RING_OK || end == MUSTER_RING_LATE || end == MUSTER_RING_CANCELLED);
	result->fallen = result->fallen || !entry || entry->why || end >= MUSTER_RING_HUNG;
	if (entry && entry->ready.seconds > result->seconds)
		result->seconds = entry->ready.seconds;
	if (entry && rank == s->groups[s->group[rank]].first)
		result->first = &entry->ready;
	if (end > MUSTER_RING_OK && end > result->end) {
		result->cause = rank;
		result->end = end;
		result->detail = entry ? entry->ready.detail : "no further message from this rank";
	}
}

/* Of every ring of this round; malloc'd. */
static struct result *results_of(const struct muster_ring_scheduler *s, const struct muster_membership *members,
	const struct muster_ring_entries *entries)
{
	struct result *results = muster_calloc(s->group_count + 1, sizeof *results);
	for (size_t i = 0; i < s->group_count; i++)
		results[i] = (struct result){
			.ok = s->groups[i].ranks > 0, .late = true, .cause = -1, .end = MUSTER_RING_OK, .detail = ""
		};
	for (int rank = 0; rank < members->ranks; rank++)
		if (s->group[rank] >= 0)
			result_add(s, &results[s->group[rank]], rank, entries->by_rank[rank]);
	for (size_t i = 0; i < s->group_count; i++)
		results[i].late = results[i].late && !results[i].ok && s->groups[i].ranks > 0;
	return results;
}

/* The rate of the largest message that was measured; 0: none. */
static double rate_of(const struct result *result)
{
	return result->first && result->first->figure_count > 0
		       ? muster_ring_figure_at(result->first, result->first->figure_count - 1).rate
		       : 0;
}

static bool is_slow(const struct muster_floors *floors, const struct result *result)
{
	for (size_t i = 0; result->first && i < result->first->figure_count; i++) {
		struct muster_ring_figure figure = muster_ring_figure_at(result->first, i);
		for (size_t f = 0; f < floors->count; f++)
			if ((floors->items[f].bytes == 0 || floors->items[f].bytes == figure.bytes) &&
				figure.rate < floors->items[f].least)
				return true;
	}
	return false;
}

static void note_trial(struct muster_ring_scheduler *s, const struct muster_ring_context *context,
	const struct result *result, const size_t *nodes, size_t count)
{
	struct muster_run *run = context->run;
	/* unscaled, as the report has it, and as localize/ compares it with its constants */
	double seconds = result->seconds / context->deadlines->scale;
	struct muster_trial trial = {
		.probe = s->probe->name,
		.status = result->ok     ? MUSTER_TRIAL_OK
			  : result->late ? MUSTER_TRIAL_LATE
					 : MUSTER_TRIAL_FAILED,
		.busbw_gbps = rate_of(result),
		.seconds = seconds,
		.node_count = count,
		.kind = count == 1   ? MUSTER_TRIAL_ALONE
			: count == 2 ? MUSTER_TRIAL_PAIR
				     : MUSTER_TRIAL_GROUP,
	};
	trial.nodes = muster_arena_alloc(run->arena, (count + 1) * sizeof *trial.nodes);
	for (size_t i = 0; i < count; i++)
		trial.nodes[i] = context->members->names[s->plan_nodes[nodes[i]]];
	if (!result->ok)
		trial.why = result->cause < 0
				    ? "none of its ranks can take part"
				    : muster_arena_printf(run->arena, "rank %d: %s", result->cause, result->detail);
	muster_run_add_trial(run, trial);
	muster_plan_note(&s->plan, nodes, count,
		(struct muster_plan_result){
			.status = trial.status, .seconds = trial.seconds, .gbps = trial.busbw_gbps });
}

/* All trials of this round, in the order of their numbers. */
static void note_trials(struct muster_ring_scheduler *s, const struct muster_ring_context *context,
	const struct muster_ring_entries *entries)
{
	struct result *results = results_of(s, context->members, entries);
	size_t *nodes = muster_calloc(s->plan.nodes + 1, sizeof *nodes);
	size_t *first = muster_calloc(s->group_count + 2, sizeof *first);
	for (size_t i = 0; i < s->plan.nodes; i++) /* count, then place: nodes by their group */
		if (s->plan_groups[i] != MUSTER_NO_GROUP)
			first[s->plan_groups[i] + 2]++;
	for (size_t i = 2; i < s->group_count + 2; i++)
		first[i] += first[i - 1];
	for (size_t i = 0; i < s->plan.nodes; i++)
		if (s->plan_groups[i] != MUSTER_NO_GROUP)
			nodes[first[s->plan_groups[i] + 1]++] = i;
	for (size_t group = 0; group < s->group_count; group++)
		note_trial(s, context, &results[group], nodes + first[group], first[group + 1] - first[group]);
	free(first);
	free(nodes);
	free(results);
}

/* ---- answers ---- */

struct muster_packer *muster_answers_begin(const struct muster_membership *members, struct muster_barrier_id barrier)
{
	struct muster_packer *answers = muster_calloc(members->node_count + 1, sizeof *answers);
	for (size_t i = 0; i < members->node_count; i++)
		muster_pack_parts(&answers[i], barrier);
	return answers;
}

void muster_answers_send(const struct muster_membership *members, struct muster_transport *transport,
	enum muster_tag tag, struct muster_packer *answers)
{
	for (size_t i = 0; i < members->node_count; i++)
		muster_send_packed(transport, members->leaders[i], tag, &answers[i]);
	free(answers);
}

static void add_place(
	struct muster_packer *answers, const struct muster_ring_entry *entry, struct muster_ring_place place)
{
	struct muster_packer p = { 0 };
	muster_pack_ring_place(&p, &place);
	muster_pack_part(&answers[entry->node], entry->rank, p.bytes, p.length);
	muster_packer_done(&p);
}

/* ---- scheduling ---- */

static double time_left(const struct muster_ring_context *context, double now_ms)
{
	return context->limit_ms - now_ms - context->deadlines->last_ring;
}

static double full_deadline(
	const struct muster_ring_scheduler *s, const struct muster_ring_context *context, double now_ms)
{
	double left = time_left(context, now_ms), wanted = s->probe->deadline_ms;
	double share = context->localise == MUSTER_LOCALISE_OFF || context->members->ranks == 1 ? wanted
		       : s->localised                                                           ? left
				      : context->deadlines->ring_share * left;
	return share < wanted ? (share > 0 ? share : 0) : wanted;
}

/* Start a round, without rings so far. */
static void begin_round(
	struct muster_ring_scheduler *s, const struct muster_ring_context *context, bool trial, size_t groups)
{
	s->round++;
	s->trial = trial;
	free(s->groups);
	s->groups = muster_calloc(groups + 1, sizeof *s->groups);
	s->group_count = groups;
	for (int rank = 0; rank < context->members->ranks; rank++)
		s->group[rank] = -1;
}

static void count_groups(struct muster_ring_scheduler *s, const struct muster_ring_entries *entries)
{
	for (size_t i = 0; i < entries->count; i++) {
		const struct muster_ring_entry *entry = &entries->items[i];
		if (s->group[entry->rank] < 0)
			continue;
		struct muster_ring_group *group = &s->groups[s->group[entry->rank]];
		if (group->ranks++ == 0)
			group->first = entry->rank;
	}
}

/* How many nodes each group spans: a node counts once, whatever the order of its ranks. */
static void count_nodes(struct muster_ring_scheduler *s, const struct muster_membership *members,
	const struct muster_ring_entries *entries)
{
	for (size_t node = 0; node < members->node_count; node++) {
		size_t count;
		int last = -1;
		const int *ranks = muster_membership_ranks(members, node, &count);
		for (size_t i = 0; i < count; i++) {
			int group = entries->by_rank[ranks[i]] ? s->group[ranks[i]] : -1;
			if (group >= 0 && group != last) /* the ranks of a node are all of one group */
				s->groups[group].nodes++;
			last = group >= 0 ? group : last;
		}
	}
}

/* Give each rank its place by s->group; ranks without a group are idle, or excluded. */
static void send_places(struct muster_ring_scheduler *s, const struct muster_ring_context *context,
	struct muster_barrier_id barrier, const struct muster_ring_entries *entries, double deadline_ms)
{
	struct muster_packer *answers = muster_answers_begin(context->members, barrier);
	int *places = muster_calloc(s->group_count + 1, sizeof *places);
	count_groups(s, entries);
	count_nodes(s, context->members, entries);
	for (size_t i = 0; i < entries->count; i++) {
		const struct muster_ring_entry *entry = &entries->items[i];
		int group = s->group[entry->rank];
		struct muster_ring_place place = {
			.role = s->trial ? MUSTER_ROLE_IDLE : MUSTER_ROLE_EXCLUDED,
			.why = entry->why ? entry->why : "",
		};
		if (group >= 0)
			place = (struct muster_ring_place){
				.role = MUSTER_ROLE_MEMBER,
				.rank = places[group]++,
				.ranks = s->groups[group].ranks,
				.nodes = s->groups[group].nodes,
				.trial = s->trial,
				.deadline_ms = (int)deadline_ms,
				.why = "",
			};
		add_place(answers, entry, place);
	}
	muster_answers_send(context->members, context->transport, MUSTER_TAG_SCATTER, answers);
	free(places);
}

/* A ring of all ranks that can take part; nodes (NULL: all): by index, only of these. */
static void schedule_full(struct muster_ring_scheduler *s, const struct muster_ring_context *context,
	struct muster_barrier_id barrier, struct muster_ring_entries *entries, const bool *nodes, double now_ms)
{
	begin_round(s, context, false, 1);
	s->fulls++;
	memset(s->in, 0, context->members->node_count * sizeof *s->in);
	for (size_t i = 0; i < entries->count; i++) {
		struct muster_ring_entry *entry = &entries->items[i];
		if (!entry->why && nodes && !nodes[entry->node])
			muster_ring_exclude(entry, "excluded from the last all-reduce, which fails with this node");
		if (entry->why)
			continue;
		s->group[entry->rank] = 0;
		s->in[entry->node] = true;
	}
	send_places(s, context, barrier, entries, full_deadline(s, context, now_ms));
}

static void schedule_nothing(struct muster_ring_scheduler *s, const struct muster_ring_context *context,
	struct muster_barrier_id barrier, const struct muster_ring_entries *entries)
{
	struct muster_packer *answers = muster_answers_begin(context->members, barrier);
	for (size_t i = 0; i < entries->count; i++)
		add_place(
			answers, &entries->items[i], (struct muster_ring_place){ .role = MUSTER_ROLE_OVER, .why = "" });
	muster_answers_send(context->members, context->transport, MUSTER_TAG_SCATTER, answers);
	s->over = true;
}

/* Trials are over: a last full ring of the nodes that work, unless that ring was already run. */
static void schedule_rest(struct muster_ring_scheduler *s, const struct muster_ring_context *context,
	struct muster_barrier_id barrier, struct muster_ring_entries *entries, double now_ms)
{
	bool *rest = muster_calloc(s->plan.nodes + 1, sizeof *rest),
	     *nodes = muster_calloc(context->members->node_count + 1, sizeof *nodes);
	size_t left = muster_plan_rest(&s->plan, rest);
	bool other = false;
	s->localised = true;
	for (size_t i = 0; i < s->plan.nodes; i++) {
		nodes[s->plan_nodes[i]] = rest[i];
		other = other || rest[i] != s->in[s->plan_nodes[i]];
	}
	if (left > 0 && other && s->fulls < FULLS_MAX &&
		time_left(context, now_ms) >= context->deadlines->trial_least) {
		say(context, "an all-reduce of the remaining %zu nodes", left);
		schedule_full(s, context, barrier, entries, nodes, now_ms);
	} else {
		schedule_nothing(s, context, barrier, entries);
	}
	free(rest);
	free(nodes);
}

/* The time for a round of trials. */
static double trial_deadline(const struct muster_ring_context *context, double now_ms)
{
	double share = time_left(context, now_ms) / 5;
	return share < context->deadlines->trial ? share : context->deadlines->trial;
}

/* The least time for a round of trials: with less, only the deadline would be measured. The worker gets a little less
 * than its deadline. */
static double trial_least(struct muster_ring_scheduler *s, const struct muster_ring_context *context)
{
	double scale = context->deadlines->scale, needed = muster_plan_least_ms(&s->plan) * scale,
	       margin = 1000 * scale;
	double least = needed > 0 ? needed + margin : 0;
	return least > context->deadlines->trial_least ? least : context->deadlines->trial_least;
}

static void schedule_trials(struct muster_ring_scheduler *s, const struct muster_ring_context *context,
	struct muster_barrier_id barrier, struct muster_ring_entries *entries, double now_ms)
{
	double deadline_ms = trial_deadline(context, now_ms);
	size_t groups = deadline_ms < trial_least(s, context) || s->round + 2 >= MUSTER_RING_ROUNDS_MAX
				? 0
				: muster_plan_next(&s->plan, s->plan_groups);
	if (groups == 0) {
		schedule_rest(s, context, barrier, entries, now_ms);
		return;
	}
	size_t *group_of_node = muster_calloc(context->members->node_count + 1, sizeof *group_of_node);
	for (size_t i = 0; i < context->members->node_count; i++)
		group_of_node[i] = MUSTER_NO_GROUP;
	for (size_t i = 0; i < s->plan.nodes; i++)
		group_of_node[s->plan_nodes[i]] = s->plan_groups[i];
	begin_round(s, context, true, groups);
	for (size_t i = 0; i < entries->count; i++) {
		const struct muster_ring_entry *entry = &entries->items[i];
		if (!entry->why && group_of_node[entry->node] != MUSTER_NO_GROUP)
			s->group[entry->rank] = (int)group_of_node[entry->node];
	}
	say(context, "localisation all-reduces: %zu", groups);
	send_places(s, context, barrier, entries, deadline_ms);
	free(group_of_node);
}

/* Trials use the nodes of the last full ring. */
static void start_localising(struct muster_ring_scheduler *s, const struct muster_membership *members)
{
	size_t nodes = 0;
	s->plan_nodes = muster_calloc(members->node_count + 1, sizeof *s->plan_nodes);
	s->plan_groups = muster_calloc(members->node_count + 1, sizeof *s->plan_groups);
	for (size_t i = 0; i < members->node_count; i++)
		if (s->in[i])
			s->plan_nodes[nodes++] = i;
	muster_plan_init(&s->plan, nodes);
	s->localising = true;
}

static void note_full(struct muster_ring_scheduler *s, bool ok, bool slow)
{
	size_t *nodes = muster_calloc(s->plan.nodes + 1, sizeof *nodes), count = 0;
	for (size_t i = 0; i < s->plan.nodes; i++)
		if (s->in[s->plan_nodes[i]])
			nodes[count++] = i;
	if (count > 2) /* one or two have trials of their own */
		muster_plan_note(&s->plan, nodes, count,
			(struct muster_plan_result){
				.status = ok ? MUSTER_TRIAL_OK : MUSTER_TRIAL_FAILED, .slow = slow });
	free(nodes);
}

/* After a full ring. */
static void go_on(struct muster_ring_scheduler *s, const struct muster_ring_context *context,
	struct muster_barrier_id barrier, struct muster_ring_entries *entries, double now_ms)
{
	struct result *results = results_of(s, context->members, entries), result = results[0];
	size_t nodes = 0;
	for (size_t i = 0; i < context->members->node_count; i++)
		nodes += s->in[i];
	bool slow = result.ok && context->localise != MUSTER_LOCALISE_OFF && is_slow(&context->floors, &result);
	bool curious = context->localise == MUSTER_LOCALISE_ALWAYS && !s->localising;
	if (!result.ok && s->groups[0].ranks > 0)
		say(context, "the all-reduce of %d ranks failed: rank %d: %s", s->groups[0].ranks, result.cause,
			result.detail);
	else if (slow)
		say(context, "the all-reduce of %d ranks is slow", s->groups[0].ranks);
	if (!result.ok && result.fallen && s->fulls < FULLS_MAX &&
		time_left(context, now_ms) >= context->deadlines->trial_least) {
		bool *before = muster_calloc(context->members->node_count + 1, sizeof *before);
		memcpy(before, s->in, context->members->node_count * sizeof *before);
		schedule_full(s, context, barrier, entries, before, now_ms);
		free(before);
	} else if ((s->localising || nodes > 1) && context->localise != MUSTER_LOCALISE_OFF &&
		   (!result.ok || slow || curious)) {
		if (!s->localising)
			start_localising(s, context->members);
		note_full(s, result.ok, slow);
		schedule_trials(s, context, barrier, entries, now_ms);
	} else {
		schedule_nothing(s, context, barrier, entries);
	}
	free(results);
}

static void schedule(struct muster_ring_scheduler *s, const struct muster_ring_context *context,
	const struct muster_barrier *barrier, double now_ms)
{
	struct muster_ring_entries entries;
	muster_ring_entries_read(&entries, context->members, barrier, true);
	muster_ring_exclude_duplicate_gpus(&entries);
	muster_ring_exclude_version_mismatches(s->probe, &entries);
	if (s->round < 0) {
		schedule_full(s, context, barrier->id, &entries, NULL, now_ms);
	} else if (!s->trial) {
		go_on(s, context, barrier->id, &entries, now_ms);
	} else {
		note_trials(s, context, &entries);
		schedule_trials(s, context, barrier->id, &entries, now_ms);
	}
	muster_ring_entries_done(&entries);
}

/* Each ring's id to all of its ranks. */
static void send_ids(const struct muster_ring_scheduler *s, const struct muster_ring_context *context,
	const struct muster_barrier *barrier)
{
	struct muster_ring_entries entries;
	struct muster_packer *answers = muster_answers_begin(context->members, barrier->id);
	muster_ring_entries_read(&entries, context->members, barrier, false);
	for (size_t i = 0; i < entries.count; i++) {
		const struct muster_ring_entry *entry = &entries.items[i];
		int group = s->group[entry->rank];
		const struct muster_ring_entry *first = group < 0 ? NULL : entries.by_rank[s->groups[group].first];
		muster_pack_part(&answers[entry->node], entry->rank, first ? first->payload.bytes : "",
			first ? first->payload.length : 0);
	}
	muster_answers_send(context->members, context->transport, MUSTER_TAG_SCATTER, answers);
	muster_ring_entries_done(&entries);
}

void muster_ring_scheduler_complete(struct muster_ring_scheduler *s, const struct muster_ring_context *context,
	const struct muster_barrier *barrier, double now_ms)
{
	if (barrier->id.kind == MUSTER_BARRIER_RING_ID)
		send_ids(s, context, barrier);
	else
		schedule(s, context, barrier, now_ms);
}

void muster_ring_scheduler_late_answer(
	const struct muster_ring_scheduler *s, struct muster_barrier_id barrier, struct muster_packer *p)
{
	if (barrier.kind != MUSTER_BARRIER_RING)
		return;
	bool over = s && s->over && barrier.round > s->round;
	const struct muster_ring_place place = {
		.role = over ? MUSTER_ROLE_OVER : MUSTER_ROLE_EXCLUDED,
		.why = over ? "" : "excluded from the all-reduce: its node was too late",
	};
	muster_pack_ring_place(p, &place);
}

/* ---- rings that have failed ---- */

static void cancel(
	struct muster_ring_scheduler *s, const struct muster_ring_context *context, int rank, const char *why)
{
	int group = s->group[rank];
	const struct muster_barrier_id id = { MUSTER_BARRIER_RING, s->index, s->round };
	if (group < 0 || s->groups[group].cancelled)
		return;
	struct muster_packer *answers = muster_answers_begin(context->members, id), text = { 0 };
	muster_pack_text(&text, why);
	s->groups[group].cancelled = true;
	for (int other = 0; other < context->members->ranks; other++)
		if (other != rank && s->group[other] == group)
			muster_pack_part(
				&answers[context->members->members[other].node_index], other, text.bytes, text.length);
	muster_packer_done(&text);
	muster_answers_send(context->members, context->transport, MUSTER_TAG_CANCEL, answers);
}

void muster_ring_scheduler_failed(struct muster_ring_scheduler *s, const struct muster_ring_context *context,
	const struct muster_ring_failed *failed)
{
	if (failed->rank < context->members->ranks && !s->over && failed->ring.round == s->round)
		cancel(s, context, failed->rank, failed->why);
}

void muster_ring_scheduler_lost_node(
	struct muster_ring_scheduler *s, const struct muster_ring_context *context, size_t node, const char *why)
{
	size_t count;
	const int *ranks = muster_membership_ranks(context->members, node, &count);
	for (size_t i = 0; s->round >= 0 && !s->over && i < count; i++)
		if (s->group[ranks[i]] >= 0)
			cancel(s, context, ranks[i], why);
}
