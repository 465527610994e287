/* SPDX-License-Identifier: Apache-2.0 */
/* supervisor.c - one rank of a run, top to bottom
 *
 * hello → membership → GPU taken → probes alone → in turns and together → rings → record sent → goodbye.
 * Each wait is a turn of event_loop.c, which handles the worker, the node's barriers and the coordinator too.
 */
#include "coord/supervisor.h"

#include "coord/send.h"
#include "muster/report.h"

#include <stdlib.h>
#include <string.h>

#define AGAIN_AFTER_MS 500.0 /* after the record was sent */

static double now(const struct muster_supervisor *s)
{
	return muster_clock_now(s->clock);
}

void muster_supervisor_init(struct muster_supervisor *s)
{
	s->arena = muster_arena_new();
	s->open_status = MUSTER_OUTCOME_NOT_RUN;
	s->take_code = "";
	s->worker.deadlines = &s->deadlines;
	s->worker.arena = s->arena;
	s->worker.record = &s->record;
	s->worker.rank = -1;
}

void muster_supervisor_done(struct muster_supervisor *s)
{
	if (s->coordinator)
		muster_coordinator_done(s->coordinator);
	free(s->coordinator);
	if (s->aggregator)
		muster_node_aggregator_done(s->aggregator);
	free(s->aggregator);
	muster_message_done(&s->membership);
	muster_message_done(&s->released);
	muster_message_done(&s->goodbye);
	for (size_t i = 0; i < s->early_count; i++)
		muster_message_done(&s->early[i]);
	free(s->early);
	free(s->members);
	free(s->peers);
	free(s->facts.outcomes.items);
	free(s->courses);
	muster_record_done(&s->record);
	muster_arena_free(s->arena);
}

void muster_supervisor_start_worker(struct muster_supervisor *s)
{
	struct muster_error err;
	s->worker.clock = s->clock;
	s->worker.node = s->node;
	if (muster_worker_client_start(&s->worker, &err) == 0) {
		muster_probe_runner_open(s);
		return;
	}
	s->take_error = muster_arena_string(s->arena, err.text);
	s->no_worker = true;
}

/* ---- membership ---- */

/* Become the node's leader; take the messages that members have sent before. */
static void lead(struct muster_supervisor *s)
{
	struct muster_error err;
	s->aggregator = muster_calloc(1, sizeof *s->aggregator);
	muster_node_aggregator_init(s->aggregator, s->transport, &s->deadlines, s->members, s->member_count, s->end_ms);
	for (size_t i = 0; i < s->early_count; i++) {
		(void)muster_node_aggregator_message(s->aggregator, &s->early[i], &err);
		muster_message_done(&s->early[i]);
	}
	s->early_count = 0;
}

/* Take over the place that rank 0 has assigned. The run's end is counted from came_ms, a moment at which the news had
 * not arrived yet: time for which this rank was stopped before it read them must not move the end to later. The end may
 * be too early instead, by end_error_ms at most. */
static void join_node(struct muster_supervisor *s, const struct muster_membership_news *news, double came_ms)
{
	double end_ms = came_ms + news->left_ms;
	s->end_error_ms = now(s) - came_ms;
	s->node_index = news->node_index;
	s->nodes = news->nodes;
	s->node = muster_arena_string(s->arena, news->node);
	s->worker.node = s->node;
	s->members = muster_calloc(news->member_count + 1, sizeof *s->members);
	for (size_t i = 0; i < news->member_count; i++) {
		s->members[i] = muster_member_at(news, i);
		if (s->members[i] == s->rank)
			s->local_rank = (int)i;
	}
	s->member_count = news->member_count;
	s->facts.local_rank = s->local_rank;
	s->leader_heartbeat_ms = now(s);
	if (!s->interrupted && s->rank != 0) { /* the run ends at the same time for all ranks */
		s->end_ms = end_ms;
		muster_supervisor_limit(s, MUSTER_EXIT_INCONCLUSIVE);
	}
	if (s->members[0] == s->rank)
		lead(s);
}

/* Say hello to rank 0, get the members of this node. False: the run was cancelled, with this exit code. */
static bool find_node(struct muster_supervisor *s, int *ret_exit)
{
	struct muster_packer p = { 0 };
	struct muster_membership_news news;
	muster_pack_hello(&p, &(struct muster_hello){ .host = s->boot_id, .node = s->node });
	muster_send_packed(s->transport, 0, MUSTER_TAG_HELLO, &p);
	/* in short steps: a process that was stopped meanwhile must not take its end for later than the others' */
	double came_ms;
	do {
		came_ms = now(s);
		muster_supervisor_poll(s, came_ms + s->deadlines.progress_every);
	} while (!s->membership.bytes && now(s) < s->end_ms);
	*ret_exit = MUSTER_EXIT_INCONCLUSIVE;
	if (!s->membership.bytes || !muster_unpack_membership(s->membership.bytes, s->membership.length, &news))
		return false;
	*ret_exit = news.exit_code;
	if (news.exit_code != 0 || news.member_count == 0)
		return false;
	join_node(s, &news, came_ms);
	return true;
}

/* ---- measuring ---- */

/* The entries of the node's ranks, ascending: at most member_count. Returns how many. */
static size_t read_peers(const struct muster_supervisor *s, const struct muster_answer *answer, struct muster_peer *ret)
{
	struct muster_parts parts;
	struct muster_bytes bytes;
	size_t count = 0;
	int rank;
	if (!answer->here || !muster_unpack_parts(answer->bytes.bytes, answer->bytes.length, &parts))
		return 0;
	while (count < s->member_count && muster_unpack_part(&parts, &rank, &bytes))
		if (muster_unpack_peer(bytes.bytes, bytes.length, &ret[count]))
			ret[count++].rank = rank;
	return count;
}

/* GPUs on one path take turns, in the order of their ranks. Returns the number of turns; *ret_turn is this rank's. With
 * the paths numa0 numa0 numa1 numa1 the ranks 0 and 2 have turn 0, the ranks 1 and 3 turn 1: two turns. Each rank of
 * the node counts for itself, from the same list. */
static int count_turns(const struct muster_peer *peers, size_t count, int rank, int *ret_turn)
{
	int turns = 1;
	*ret_turn = 0;
	for (size_t i = 0; i < count; i++) {
		int turn = 0;
		for (size_t j = 0; j < i; j++)
			turn += *peers[j].gpu_bus_id && strcmp(peers[j].gpu_path, peers[i].gpu_path) == 0;
		if (*peers[i].gpu_bus_id && turn + 1 > turns)
			turns = turn + 1;
		if (peers[i].rank == rank)
			*ret_turn = turn;
	}
	return turns;
}

/* Send the worker the peers command, and keep it. */
static void tell_worker_of_peers(struct muster_supervisor *s, const struct muster_peer *peers, size_t count)
{
	const struct muster_probe_env env = { .peers = peers, .peer_count = count };
	s->peers = muster_command_text("peers", NULL, muster_null(), &muster_peers_type, &env);
	if (s->no_worker)
		return;
	muster_worker_client_command(&s->worker, s->peers, muster_supervisor_bounded(s, s->deadlines.command_short));
	if (muster_command_wait(s) != MUSTER_WORKER_DONE)
		muster_probe_runner_again(s);
}

/* Exchange with the node which rank has which GPU. Returns the number of turns; *ret_turn is this rank's. */
static int meet_peers(struct muster_supervisor *s, int *ret_turn)
{
	const struct muster_barrier_id id = { .kind = MUSTER_BARRIER_PEERS };
	const struct muster_worker_answer *w = &s->worker.answer;
	struct muster_peer *peers = muster_calloc(s->member_count + 1, sizeof *peers);
	struct muster_packer p = { 0 };
	muster_pack_peer(&p, &(struct muster_peer){ s->rank, s->local_rank, w->gpu, w->uuid, w->path });
	struct muster_answer answer = muster_barrier_wait(s, id, MUSTER_PHASE_DRIVERS, p.bytes, p.length);
	size_t count = read_peers(s, &answer, peers);
	int turns = count_turns(peers, count, s->rank, ret_turn);
	tell_worker_of_peers(s, peers, count);
	muster_packer_done(&p);
	muster_answer_done(&answer);
	free(peers);
	return turns;
}

/* Whether this run has anything for the probe to measure, the same on every rank. */
static bool is_wanted(const struct muster_supervisor *s, const struct muster_probe *probe)
{
	return !probe->of_storage || s->options->storage;
}

/* Begin the rings that are due before probes of this order and not before those of the order `after`. */
static void begin_rings(struct muster_supervisor *s, int after, int order)
{
	for (size_t i = 0; i < muster_probe_count(); i++) {
		const struct muster_probe *probe = muster_probe_at(i);
		if (!probe->ring || probe->begins_before <= after || probe->begins_before > order)
			continue;
		muster_probe_run(s, probe, "run", 0);
		muster_ring_begin(s, probe);
	}
}

static void run_alone(struct muster_supervisor *s)
{
	int order = 0;
	for (size_t i = 0; i < muster_probe_count(); i++) {
		const struct muster_probe *probe = muster_probe_at(i);
		begin_rings(s, order, probe->order);
		order = probe->order;
		if (!probe->together && !probe->ring && probe->run && is_wanted(s, probe))
			muster_probe_run(s, probe, "run", 0);
	}
}

static void wait_for_turn(struct muster_supervisor *s, int visit, size_t probe, int turn, enum muster_phase phase)
{
	const struct muster_barrier_id id = { MUSTER_BARRIER_TURN, (int)probe, turn, visit };
	struct muster_answer answer = muster_barrier_wait(s, id, phase, "", 0);
	muster_answer_done(&answer);
}

/* Of these probes (1 << index), GPUs that share a path run one after the other, then all at once. Every rank enters
 * every barrier, with or without something to run:
 *
 *   TURN 0 ─ run of the ranks with turn 0 ─ TURN 1 ─ run of those with turn 1 ─ … ─ TURN turns ─ together, all ranks
 *
 * The first barrier of the first visit tells the progress that the phase before this probe's has ended. */
static void run_in_turns(struct muster_supervisor *s, int visit, uint64_t probes)
{
	for (size_t i = 0; i < muster_probe_count(); i++) {
		const struct muster_probe *probe = muster_probe_at(i);
		if (!probe->together || !is_wanted(s, probe) || (visit > 0 && !probe->windows) || !(probes >> i & 1))
			continue;
		if (visit == 0 && !probe->beside_ring_start)
			muster_ring_await(s);
		bool mine = muster_probe_may_run(s, probe);
		enum muster_phase phase =
			visit > 0 ? MUSTER_PHASE_NONE
				  : (enum muster_phase)(probe->phase - 1); /* NONE when it has no phase */
		for (int at = 0; probe->run && at < s->turns; at++) {
			wait_for_turn(s, visit, i, at, phase);
			phase = MUSTER_PHASE_NONE;
			if (mine && at == s->turn)
				mine = muster_probe_run(s, probe, "run", visit);
		}
		wait_for_turn(s, visit, i, s->turns, phase);
		if (mine)
			muster_probe_run(s, probe, "together", visit);
	}
}

/* The last callbacks of the probes with windows, or of those without. */
static void finish(struct muster_supervisor *s, bool windows)
{
	for (size_t i = 0; i < muster_probe_count(); i++) {
		const struct muster_probe *probe = muster_probe_at(i);
		if (probe->finish && probe->windows == windows && is_wanted(s, probe))
			muster_probe_run(s, probe, "finish", 0);
	}
}

/* Everything that ranks measure, up to their record. Each visit measures the speeds with windows again, so that the
 * windows are spread over the run (MUSTER_VISITS in muster/probe.h). */
static void measure(struct muster_supervisor *s)
{
	muster_probe_runner_take(s);
	s->turns = meet_peers(s, &s->turn);
	/* a quick run has little work to do between two visits: this is a part of it */
	int last_work = s->options->profile == MUSTER_QUICK ? MUSTER_VISITS - 2 : MUSTER_VISITS - 1;
	run_alone(s);
	for (int visit = 0; visit < MUSTER_VISITS; visit++) {
		run_in_turns(s, visit, UINT64_MAX);
		muster_ring_participate(s, visit);
		if (visit == last_work)
			finish(s, false);
	}
	finish(s, true);
	/* again at the end: a later worker may have reported more about the rank */
	muster_record_line_add(s, muster_record_rank_line(&s->facts, s->node, s->worker.answer.simulated));
}

/* The windows of these probes once more, when what disturbed them before is over. */
static void measure_again(struct muster_supervisor *s, uint64_t probes)
{
	const double pause_ms = AGAIN_AFTER_MS * s->deadlines.scale;
	bool traffic = false;
	while (now(s) < s->measured_ms + pause_ms)
		muster_supervisor_poll(s, s->measured_ms + pause_ms);
	for (size_t i = 0; i < muster_probe_count(); i++)
		traffic = traffic || (probes >> i & 1 && muster_probe_at(i)->traffic);
	run_in_turns(s, MUSTER_VISITS, probes);
	if (traffic)
		muster_ring_participate(s, MUSTER_VISITS);
	/* a record without a line would announce one that comes late */
	muster_record_line_add(s, muster_record_rank_line(&s->facts, s->node, s->worker.answer.simulated));
}

/* ---- the record ---- */

/* Of the visits up to this one. */
static struct muster_barrier_id record_barrier(int visit)
{
	return (struct muster_barrier_id){ .kind = MUSTER_BARRIER_RECORD, .visit = visit };
}

/* Enter the record barrier with all that was not sent yet. */
static void enter_record(struct muster_supervisor *s, int visit)
{
	muster_record_fit(&s->record);
	muster_enter(s, record_barrier(visit), MUSTER_PHASE_TRAFFIC, s->record.bytes + s->recorded,
		s->record.length - s->recorded);
	s->measured_ms = now(s);
}

/* Wait for the answer to the record barrier. Returns whether rank 0 gave one; *ret_again: the probes that it wants once
 * more, 0 for the goodbye. */
static bool wait_for_goodbye(struct muster_supervisor *s, int visit, uint64_t *ret_again)
{
	const struct muster_barrier_id barrier = record_barrier(visit);
	bool directly = false;
	for (;;) {
		struct muster_answer answer = muster_answer_of(&s->goodbye, barrier, s->rank);
		struct muster_again again = { 0 };
		bool said = answer.here;
		double until_ms = s->end_ms + s->end_error_ms + muster_deadlines_report(&s->deadlines, s->ranks);
		(void)muster_unpack_again(answer.bytes.bytes, answer.bytes.length, &again);
		*ret_again = again.probes;
		muster_answer_done(&answer);
		if (said || now(s) >= until_ms)
			return said;
		if (!directly && muster_aggregator_is_dead(s)) {
			muster_send_part(s->transport, 0, MUSTER_TAG_RECORD, barrier, s->rank,
				s->record.bytes + s->recorded, s->record.length - s->recorded);
			directly = true;
			if (s->members[0] == 0)
				return false; /* rank 0 itself is dead */
		}
		double silent_ms = s->leader_heartbeat_ms + s->deadlines.silence;
		muster_supervisor_poll(s, !directly && !s->aggregator && silent_ms < until_ms ? silent_ms : until_ms);
	}
}

/* Send the record through the leader and wait for the goodbye. Returns whether rank 0 said goodbye; the exit
 * code of the run is that of rank 0. */
static bool send_record(struct muster_supervisor *s)
{
	uint64_t again;
	bool said;
	for (int visit = MUSTER_VISITS - 1;; visit++) {
		enter_record(s, visit);
		said = wait_for_goodbye(s, visit, &again);
		s->recorded = s->record.length;
		if (!again || visit == MUSTER_VISITS)
			break;
		measure_again(s, again);
	}
	muster_worker_client_quit(&s->worker);
	return said;
}

/* Rank 0: its own record, then all others. */
static void gather(struct muster_supervisor *s, int visit)
{
	enter_record(s, visit);
	while (!s->coordinator->gathered && now(s) < s->end_ms)
		muster_supervisor_poll(s, s->end_ms);
	muster_coordinator_give_up(s->coordinator);
	s->recorded = s->record.length;
}

/* Rank 0: all records; what is too slow once more, if there is time; then the report, then the goodbye. This is the one
 * loop of a run. */
static int collect(struct muster_supervisor *s)
{
	uint64_t again;
	gather(s, MUSTER_VISITS - 1);
	bool may = s->host->too_slow && !s->interrupted && muster_supervisor_time_left(s) > s->deadlines.again_least;
	if (may && (again = s->host->too_slow(s)) != 0) {
		muster_coordinator_again(s->coordinator, again);
		measure_again(s, again);
		gather(s, MUSTER_VISITS);
	}
	muster_worker_client_quit(&s->worker);
	int code = s->host->finalize(s);
	muster_coordinator_goodbye(s->coordinator);
	return code;
}

/* ---- the run ---- */

int muster_supervisor_run(struct muster_supervisor *s, double ready_ms)
{
	int code;
	s->rank = s->facts.rank = s->worker.rank = s->transport->rank;
	s->ranks = s->transport->size;
	if (s->rank == 0) {
		double hello_until_ms = muster_deadlines_hello(
			&s->deadlines, s->start_ms, s->options->deadline_s * 1e3, ready_ms, s->ranks);
		s->coordinator = muster_calloc(1, sizeof *s->coordinator);
		muster_coordinator_init(
			s->coordinator, s->transport, &s->deadlines, s->end_ms, hello_until_ms, s->options);
		s->coordinator->progress.silent = s->coordinator->progress.silent || s->host->quiet;
		code = s->host->prepare(s);
		if (code)
			muster_coordinator_cancel(s->coordinator, code);
		else
			muster_progress_show(&s->coordinator->progress, s->coordinator->done, s->ranks);
	}
	if (!find_node(s, &code)) {
		muster_spool_end(s->spool, "the run was cancelled");
		return code;
	}
	measure(s);
	muster_spool_end(s->spool, s->interrupted ? s->interrupted : "");
	if (!s->coordinator)
		return send_record(s) ? MUSTER_EXIT_PASS : MUSTER_EXIT_INCONCLUSIVE;

	/* rank 0 enters the record barrier too, but waits for the other records instead of the goodbye */
	return collect(s);
}
