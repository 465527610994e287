/* SPDX-License-Identifier: Apache-2.0 */
/* job.c - a whole job in one process: what is drawn, how it is played, what must hold afterwards */
#include "job.h"

#include "worker_script.h"

#include "util/text.h"
#include "muster/arena.h"
#include "muster/report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	SIGNAL = 15,
	SLACK_MS = 3000, /* of a rank's end: what is on its way, and a turn */
};

struct player { /* a rank and its script */
	struct job *job;
	struct muster_supervisor supervisor;
	struct worker_script script;
	uint64_t turns;
	int code;
	bool ended, sent_record;  /* sent_record: before it died */
	double ended_ms, fate_ms; /* fate_ms: when its fate came; 0: it did not */
	struct random random;
	char node[32];
};

struct seen { /* of a rank, in the report */
	int times;
	bool missing;
	size_t samples;
	double sum;
	size_t outcomes;
};

struct job {
	const struct job_plan *plan;
	struct muster_loop *loop;
	struct muster_options options;
	struct muster_supervisor_host *hosts;
	struct player *players;
	struct script_job scripts;
	struct random random;
	struct seen *seen;  /* by rank */
	struct seen *nodes; /* node's samples, by node */
	bool reported, dumped;
	size_t trials, missing;
	job_finalize_fn *finalize;
	void *finalize_arg;
};

static int node_of(const struct job_plan *plan, int rank)
{
	return plan->cyclic ? rank % plan->nodes : rank / plan->per_node;
}

static int leader_of(const struct job_plan *plan, int rank)
{
	int node = node_of(plan, rank);
	return plan->cyclic ? node : node * plan->per_node;
}

/* ---- plans ---- */

void job_plan_healthy(struct job_plan *plan, int nodes, int per_node, int samples)
{
	*plan = (struct job_plan){
		.nodes = nodes,
		.per_node = per_node,
		.ranks = nodes * per_node,
		.deadline_s = 120,
		.delay_ms = 0.2,
		.jitter_ms = 0.2,
		.localise = MUSTER_LOCALISE_AUTO,
		.profile = MUSTER_STANDARD,
		.bad_node = -1,
		.interrupt_rank = -1,
		.samples = samples,
	};
	plan->rank = muster_calloc((size_t)plan->ranks, sizeof *plan->rank);
	for (int rank = 0; rank < plan->ranks; rank++)
		plan->rank[rank] = (struct rank_plan){ .at_command = -1, .slow = 1 };
}

static void draw_rank(struct job_plan *plan, struct random *r, int rank, double trouble)
{
	struct rank_plan *one = &plan->rank[rank];
	one->slow = random_chance(r, trouble) ? random_between(r, 1, 20) : random_between(r, 0.5, 2);
	one->start_ms = random_chance(r, trouble) ? random_between(r, 0, 8000) : random_between(r, 0, 300);
	if (random_chance(r, trouble)) {
		one->worker = (enum worker_fate)random_int(r, WORKER_CRASHES, WORKER_ERROR);
		one->at_command = random_int(r, 0, 24);
	}
	if (!random_chance(r, trouble))
		return;
	one->fate = (enum fate)random_int(r, FATE_DIES, FATE_SILENT);
	one->at_turn = (uint64_t)random_size(r, 1, 400);
	one->pause_ms = one->fate == FATE_PAUSES ? random_between(r, 100, 10000) : random_between(r, 16000, 30000);
}

void job_plan_draw(struct job_plan *plan, uint64_t seed)
{
	struct random r = { .state = seed };
	bool one_node = random_chance(&r, 0.15);
	int nodes = one_node ? 1 : random_size(&r, 1, random_chance(&r, 0.05) ? 512 : 24);
	job_plan_healthy(plan, nodes, random_size(&r, 1, 8), random_int(&r, 0, 3));
	plan->seed = seed;
	plan->cyclic = random_chance(&r, 0.3);
	plan->tells_of_deaths = one_node && random_chance(&r, 0.5);
	plan->deadline_s = random_int(&r, 60, 200);
	plan->localise = (enum muster_localise)random_int(&r, MUSTER_LOCALISE_OFF, MUSTER_LOCALISE_ALWAYS);
	plan->delay_ms = random_between(&r, 0.05, 20);
	plan->jitter_ms = random_chance(&r, 0.5) ? random_between(&r, 0, 400) : 1;
	plan->duplicates = random_chance(&r, 0.3) ? random_between(&r, 0, 0.1) : 0;
	plan->garbage = random_chance(&r, 0.3) ? random_between(&r, 0, 0.02) : 0;
	plan->bad_node = random_chance(&r, 0.2) ? random_int(&r, 0, nodes - 1) : -1;
	if (random_chance(&r, 0.1)) {
		plan->interrupt_ms = random_between(&r, 100, 40000);
		plan->interrupt_rank = random_int(&r, 0, plan->ranks - 1);
	}
	/* about as many troubles in a large job as in a small one */
	double trouble = random_chance(&r, 0.2) ? 0 : random_between(&r, 0, 3) / plan->ranks;
	trouble = trouble > 0.5 ? 0.5 : trouble;
	for (int rank = 0; rank < plan->ranks; rank++) {
		draw_rank(plan, &r, rank, trouble);
		plan->rank[rank].bad_node = plan->bad_node == node_of(plan, rank);
	}
	plan->profile = (enum muster_profile)random_int(&r, MUSTER_QUICK, MUSTER_FULL);
	if (random_chance(&r, 0.5)) {
		struct rank_plan *one = &plan->rank[random_int(&r, 0, plan->ranks - 1)];
		one->in_traffic = (enum worker_fate)random_int(&r, WORKER_CRASHES, WORKER_TAKES_RANK_ALONG);
		one->at_traffic = random_int(&r, 0, 8);
	}
}

void job_plan_done(struct job_plan *plan)
{
	free(plan->rank);
	*plan = (struct job_plan){ 0 };
}

void job_plan_print(const struct job_plan *plan)
{
	static const char *const fates[] = { "lives", "dies", "pauses", "silent" };
	static const char *const workers[] = { "", "worker crashes", "worker hangs", "worker fails", "rank dies" };
	printf("seed %llu: %d nodes of %d ranks%s%s, deadline %d s, delay %.2f+%.1f ms, duplicates %.3f, garbage %.3f, "
	       "localise %d, profile %d, bad node %d, interrupt at %.0f ms on rank %d\n",
		(unsigned long long)plan->seed, plan->nodes, plan->per_node, plan->cyclic ? ", cyclic" : "",
		plan->tells_of_deaths ? ", deaths are told" : "", plan->deadline_s, plan->delay_ms, plan->jitter_ms,
		plan->duplicates, plan->garbage, (int)plan->localise, (int)plan->profile, plan->bad_node,
		plan->interrupt_ms, plan->interrupt_rank);
	for (int rank = 0; rank < plan->ranks; rank++) {
		const struct rank_plan *one = &plan->rank[rank];
		if (one->fate == FATE_LIVES && one->worker == WORKER_LIVES && one->in_traffic == WORKER_LIVES &&
			one->slow < 3 && one->start_ms < 400)
			continue;
		printf("  rank %d (node %d): starts at %.0f ms, %.1f times slower, %s", rank, node_of(plan, rank),
			one->start_ms, one->slow, fates[one->fate]);
		if (one->fate != FATE_LIVES)
			printf(" at turn %llu (%.0f ms)", (unsigned long long)one->at_turn, one->pause_ms);
		if (one->worker != WORKER_LIVES)
			printf(", %s at command %d", workers[one->worker], one->at_command);
		if (one->in_traffic != WORKER_LIVES)
			printf(", %s in round %d of traffic", workers[one->in_traffic], one->at_traffic);
		putchar('\n');
	}
}

/* ---- what a real process would do ---- */

static int signal_of(const struct muster_supervisor *s, double *ret_ms)
{
	const struct player *p = s->host->arg;
	const struct job_plan *plan = p->job->plan;
	*ret_ms = plan->interrupt_ms;
	return plan->interrupt_rank == p->supervisor.transport->rank && plan->interrupt_ms > 0 &&
			       muster_clock_now(p->supervisor.clock) >= plan->interrupt_ms
		       ? SIGNAL
		       : 0;
}

static int prepare(struct muster_supervisor *s)
{
	(void)s;
	return 0;
}

static void add_numbers(struct seen *seen, const struct muster_samples *samples)
{
	for (size_t i = 0; i < samples->count; i++) {
		const struct muster_sample *sample = &samples->items[i];
		if (muster_probe_find(muster_metric_probe(sample->metric))->ring)
			continue;
		size_t count = sample->value_count ? sample->value_count : 1; /* of a speed: those of all visits */
		const double *values = sample->value_count ? sample->values : &sample->value.number;
		seen->samples += count;
		for (size_t v = 0; v < count && sample->value.type == MUSTER_NUMBER; v++)
			seen->sum += values[v];
	}
}

static int finalize(struct muster_supervisor *s)
{
	struct job *job = ((struct player *)s->host->arg)->job;
	struct muster_run *run = &s->coordinator->run;
	muster_loop_turn_pause(job->loop); /* in a real run, too, the report does not stop the turns */
	job->reported = true;
	job->trials = run->trial_count;
	for (size_t n = 0; n < run->node_count; n++) {
		const struct muster_node *node = &run->nodes[n];
		int index = strcmp(node->name, "?") == 0 ? -1 : (int)strtol(node->name + strlen("node-"), NULL, 10);
		if (index >= 0 && index < job->plan->nodes)
			add_numbers(&job->nodes[index], &node->samples);
		for (size_t i = 0; i < node->rank_count; i++) {
			const struct muster_rank *rank = &node->ranks[i];
			struct seen *seen = &job->seen[rank->rank];
			seen->times++;
			seen->missing = rank->missing != NULL;
			seen->outcomes = rank->outcomes.count;
			job->missing += rank->missing != NULL;
			add_numbers(seen, &rank->samples);
		}
	}
	int code = job->finalize  ? job->finalize(job->finalize_arg, run)
		   : job->missing ? MUSTER_EXIT_FAIL
				  : MUSTER_EXIT_PASS;
	muster_loop_turn_count(job->loop);
	return code;
}

/* ---- the loop's hooks ---- */

static double on_send(void *arg, int from, int to, int tag, size_t length, int *copies)
{
	struct job *job = arg;
	const struct job_plan *plan = job->plan;
	(void)from;
	(void)to;
	(void)length;
	if (tag != MUSTER_TAG_PEER_DIED && random_chance(&job->random, plan->duplicates))
		*copies = 2;
	return plan->delay_ms + random_unit(&job->random) * plan->jitter_ms;
}

/* Something that no supervisor says, from one that lives. */
static void send_garbage(struct player *p)
{
	char bytes[64];
	struct muster_error err;
	struct muster_supervisor *s = &p->supervisor;
	size_t length = (size_t)random_int(&p->random, 0, sizeof bytes - 1);
	for (size_t i = 0; i < length; i++)
		bytes[i] = (char)random_int(&p->random, 0, random_chance(&p->random, 0.5) ? 255 : 2);
	int to = random_chance(&p->random, 0.5) || s->member_count == 0 ? 0 : s->members[0];
	if (s->rank == 0 && s->member_count > 0)
		to = s->members[random_int(&p->random, 0, (int)s->member_count - 1)];
	(void)muster_transport_send(s->transport, to, random_int(&p->random, MUSTER_TAG_HELLO, MUSTER_TAG_GOODBYE + 1),
		bytes, length, &err);
}

static double real_ms(void)
{
	return muster_now_ms();
}

/* Where every rank stands, once, for whoever looks for what holds a run up: $JOB_DUMP is the moment. */
static void dump(struct job *job)
{
	static const char *const kinds[] = { "none", "peers", "turn", "ring", "ring id", "record" };
	const char *text = getenv("JOB_DUMP");
	if (!text || job->dumped || muster_loop_now(job->loop) < strtod(text, NULL))
		return;
	job->dumped = true;
	for (int rank = 0; rank < job->plan->ranks; rank++) {
		const struct player *p = &job->players[rank];
		const struct muster_supervisor *s = &p->supervisor;
		printf("rank %d: entered %s %d.%d, worker state %d, %d commands, heard of its leader at %.0f%s\n", rank,
			kinds[s->at.kind], s->at.probe, s->at.round, (int)s->worker.state, p->script.commands,
			s->leader_heartbeat_ms, p->ended ? ", ended" : "");
	}
}

static double on_turn(void *arg, int rank)
{
	struct job *job = arg;
	dump(job);
	struct player *p = &job->players[rank];
	const struct rank_plan *plan = &job->plan->rank[rank];
	if (job->plan->garbage > 0 && p->turns > 0 && random_chance(&p->random, job->plan->garbage))
		send_garbage(p);
	if (p->turns++ != plan->at_turn || plan->fate == FATE_LIVES)
		return 0;
	p->sent_record = p->supervisor.at.kind == MUSTER_BARRIER_RECORD;
	p->fate_ms = muster_loop_now(job->loop);
	return plan->fate == FATE_DIES ? -1 : plan->pause_ms;
}

/* ---- playing ---- */

static void play(void *arg, int rank)
{
	struct job *job = arg;
	struct player *p = &job->players[rank];
	struct muster_supervisor *s = &p->supervisor;
	s->options = &job->options;
	s->host = &job->hosts[rank];
	s->transport = muster_loop_endpoint(job->loop, rank);
	s->clock = s->transport->clock;
	muster_deadlines_init(&s->deadlines, 1);
	muster_supervisor_init(s);
	snprintf(p->node, sizeof p->node, "node-%d", node_of(job->plan, rank));
	s->node = muster_arena_string(s->arena, p->node);
	s->boot_id = "boot";
	s->start_ms = muster_clock_now(s->clock);
	s->end_ms = s->start_ms + job->options.deadline_s * 1e3;
	snprintf(s->started, sizeof s->started, "2026-01-01T00:00:00Z");
	p->script.clock = s->clock;
	s->worker.ops = &worker_script_ops;
	s->worker.worker = &p->script;
	muster_supervisor_start_worker(s);
	p->code = muster_supervisor_run(s, muster_clock_now(s->clock));
	p->ended = !muster_loop_is_dead(job->loop, rank);
	p->ended_ms = muster_loop_now(job->loop);
	muster_worker_client_done(&s->worker, 0);
	muster_supervisor_done(s);
}

struct job *job_new(const struct job_plan *plan)
{
	struct job *job = muster_calloc(1, sizeof *job);
	size_t ranks = (size_t)plan->ranks;
	const struct muster_loop_hooks hooks = {
		.send = on_send,
		.turn = on_turn,
		.arg = job,
		.memory = plan->memory,
		.tells_of_deaths = plan->tells_of_deaths,
	};
	job->plan = plan;
	job->random.state = plan->seed ^ 0x5eed;
	job->options = (struct muster_options){
		.sku = "none",
		.profile = plan->profile,
		.deadline_s = plan->deadline_s,
		.localise = plan->localise,
	};
	job->loop = muster_loop_new(plan->ranks, 0, &hooks);
	job->scripts.loop = job->loop;
	job->players = muster_calloc(ranks, sizeof *job->players);
	job->hosts = muster_calloc(ranks, sizeof *job->hosts);
	job->seen = muster_calloc(ranks, sizeof *job->seen);
	job->nodes = muster_calloc((size_t)plan->nodes, sizeof *job->nodes);
	for (int rank = 0; rank < plan->ranks; rank++) {
		struct player *p = &job->players[rank];
		p->job = job;
		p->code = -1;
		p->random.state = plan->seed * 31 + (uint64_t)rank;
		p->script = (struct worker_script){
			.job = &job->scripts,
			.plan = &plan->rank[rank],
			.rank = rank,
			.node = node_of(plan, rank),
			.samples_each = plan->samples,
			.random = { .state = plan->seed * 17 + (uint64_t)rank },
		};
		job->hosts[rank] = (struct muster_supervisor_host){
			.arg = p,
			.signal = signal_of,
			.prepare = prepare,
			.finalize = finalize,
			.in_job = true,
			.quiet = !getenv("JOB_TRACE"),
		};
	}
	return job;
}

void job_run(struct job *job, job_finalize_fn *with, void *arg, struct job_result *ret)
{
	double *start_ms = muster_calloc((size_t)job->plan->ranks, sizeof *start_ms), began_ms = real_ms();
	for (int rank = 0; rank < job->plan->ranks; rank++)
		start_ms[rank] = job->plan->rank[rank].start_ms;
	job->finalize = with;
	job->finalize_arg = arg;
	ret->virtual_ms = muster_loop_run(job->loop, start_ms, play, job);
	ret->total_ms = real_ms() - began_ms;
	ret->messages = muster_loop_messages(job->loop);
	ret->turns = muster_loop_turns(job->loop);
	ret->longest_turn_ms = muster_loop_longest_turn_ms(job->loop);
	ret->memory_peak = muster_loop_memory_peak(job->loop);
	ret->missing = job->missing;
	ret->code = job->players[0].ended ? job->players[0].code : -1;
	free(start_ms);
}

int job_traffic_done(const struct job *job, int rank)
{
	return job->players[rank].script.traffic_done;
}

void job_free(struct job *job)
{
	for (int rank = 0; rank < job->plan->ranks; rank++)
		worker_script_done(&job->players[rank].script);
	script_job_done(&job->scripts);
	muster_loop_free(job->loop);
	free(job->players);
	free(job->hosts);
	free(job->seen);
	free(job->nodes);
	free(job);
}

/* ---- what must hold ---- */

/* The rank's supervisor lived, and was never silent for so long that others may give it up. After an interruption there
 * are only 5 s left: only ranks that do not pause and are not slow must make it. */
static bool is_sound(const struct job *job, int rank)
{
	const struct rank_plan *plan = &job->plan->rank[rank];
	bool hasty = job->plan->interrupt_ms > 0;
	return job->players[rank].ended && plan->fate != FATE_SILENT &&
	       !(hasty && (plan->fate != FATE_LIVES || plan->slow > 3 || plan->start_ms > 400));
}

/* The run ended while the rank stood still, or before its leader's silence could be noticed and its record sent past
 * it. */
static bool had_no_time(const struct job *job, int rank)
{
	const struct job_plan *plan = job->plan;
	const struct player *p = &job->players[rank], *leader = &job->players[leader_of(plan, rank)];
	struct muster_deadlines d;
	muster_deadlines_init(&d, 1);
	double end_ms = plan->rank[0].start_ms + plan->deadline_s * 1e3;
	double still_until_ms = p->fate_ms + plan->rank[rank].pause_ms;
	double silent_ms = fmax(leader->fate_ms, leader->script.died_ms);
	double noticed_ms = silent_ms + d.silence + d.heartbeat_every;
	return (p->fate_ms > 0 && still_until_ms > end_ms - d.gather_reserve) ||
	       (leader != p && silent_ms > 0 && noticed_ms > end_ms - d.gather_reserve);
}

/* Nothing stood in the way of the rank's record: its own supervisor, its leader, rank 0. */
static bool must_be_there(const struct job *job, int rank)
{
	bool hasty = job->plan->interrupt_ms > 0; /* no time to find out that the leader is silent */
	return is_sound(job, rank) && is_sound(job, 0) && !had_no_time(job, rank) && !had_no_time(job, 0) &&
	       (!hasty || is_sound(job, leader_of(job->plan, rank)));
}

static bool same_sum(double a, double b)
{
	double difference = a - b;
	return difference < 1e-6 && difference > -1e-6;
}

static char *check_rank(const struct job *job, int rank)
{
	const struct player *p = &job->players[rank];
	const struct seen *seen = &job->seen[rank];
	const struct script_account *of_rank = &p->script.account[MUSTER_SCOPE_RANK],
				    *of_gpu = &p->script.account[MUSTER_SCOPE_GPU];
	size_t samples = of_rank->samples + of_gpu->samples;
	double sum = of_rank->sum + of_gpu->sum;
	if (seen->times != 1)
		return muster_asprintf("rank %d stands %d times in the report", rank, seen->times);
	if (!must_be_there(job, rank))
		return NULL;
	if (seen->missing)
		return muster_asprintf("rank %d lived, and is named as missing", rank);
	if (seen->samples != samples || !same_sum(seen->sum, sum))
		return muster_asprintf("rank %d measured %zu samples (sum %.0f), the report has %zu (%.0f)", rank,
			samples, sum, seen->samples, seen->sum);
	return NULL;
}

static char *check_end(const struct job *job, int rank)
{
	const struct player *p = &job->players[rank];
	const struct job_plan *plan = job->plan;
	struct muster_deadlines d;
	muster_deadlines_init(&d, 1);
	double pause_ms = plan->rank[rank].fate == FATE_LIVES ? 0 : plan->rank[rank].pause_ms;
	double start_ms =
		plan->rank[rank].start_ms > plan->rank[0].start_ms ? plan->rank[rank].start_ms : plan->rank[0].start_ms;
	double late_ms =
		start_ms + plan->deadline_s * 1e3 + muster_deadlines_report(&d, plan->ranks) + pause_ms + SLACK_MS;
	if (!p->ended)
		return NULL;
	if (p->ended_ms > late_ms)
		return muster_asprintf(
			"rank %d ended after %.0f ms, its deadline was at %.0f", rank, p->ended_ms, late_ms);
	if (rank == 0 || !must_be_there(job, rank))
		return NULL;
	/* rank 0 alone answers for the run */
	if (p->code != 0)
		return muster_asprintf("rank %d ended with %d, though rank 0 said goodbye", rank, p->code);
	return NULL;
}

/* Died before it sent its record. */
static char *check_dead(const struct job *job, int rank)
{
	const struct player *p = &job->players[rank];
	if (p->ended || p->sent_record || job->seen[rank].missing || !job->players[0].ended)
		return NULL;
	return muster_asprintf("rank %d died before it sent its record, and is not missing", rank);
}

static char *check_nodes(const struct job *job)
{
	for (int node = 0; node < job->plan->nodes; node++) {
		int leader = job->plan->cyclic ? node : node * job->plan->per_node;
		const struct script_account *account = job->players[leader].script.account;
		size_t samples = account[MUSTER_SCOPE_NODE].samples + account[MUSTER_SCOPE_PORT].samples;
		double sum = account[MUSTER_SCOPE_NODE].sum + account[MUSTER_SCOPE_PORT].sum;
		bool all = must_be_there(job, leader);
		for (int rank = 0; rank < job->plan->ranks; rank++)
			all = all && (node_of(job->plan, rank) != node || rank == leader || is_sound(job, rank));
		if (all && (job->nodes[node].samples != samples || !same_sum(job->nodes[node].sum, sum)))
			return muster_asprintf("node %d has %zu samples in the report, its leader measured %zu", node,
				job->nodes[node].samples, samples);
	}
	return NULL;
}

char *job_check(struct job *job)
{
	char *wrong = NULL;
	bool reported = is_sound(job, 0);
	if (reported && !job->reported)
		return muster_asprintf("rank 0 lived, and there is no report");
	for (int rank = 0; rank < job->plan->ranks && !wrong; rank++) {
		wrong = check_end(job, rank);
		if (!wrong && reported)
			wrong = check_rank(job, rank);
		if (!wrong && reported)
			wrong = check_dead(job, rank);
	}
	return !wrong && reported ? check_nodes(job) : wrong;
}
