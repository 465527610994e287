/* SPDX-License-Identifier: Apache-2.0 */
/* step.c - training steps: products of one layer, all-reduces of its gradients, and copies from and to the host
 *
 * A step is as fast as the slowest rank, so its time is that of the job. What a rank does by itself, alone and within
 * steps, is the products: their time names a rank that is slow, whether its GPU, its host or another program is the
 * cause. Whatever decides which calls follow (tokens, gradients, whether all can take part) is agreed by all ranks.
 *
 * The order:
 *
 *   1. all ranks agree whether everyone can take part, and on the most tokens that every GPU has room for
 *   2. products for a first number of tokens; by the slowest rank's time, the number that makes 5 or 20 ms
 *   3. products alone, three rounds: rank.compute_ms
 *   4. all-reduces alone: gradients are halved until they take at most half as long as the products; then copies
 *      alone, as many as fit beside the products
 *   5. the steps: one is always queued ahead, so that the GPU never waits for the host between two of them
 *   6. products alone once more
 *
 * job.overlap is the longest of the three parts alone by the median step: 1 when the others hide behind the longest
 * one.
 */
#include "probes/step/work.h"

#include "util/array.h"
#include "probes/metrics.h"
#include "probes/windows.h"
#include "muster/arena.h"

#include <stdlib.h>
#include <string.h>

static const struct muster_metric metrics[] = {
	/* for as many tokens as the slowest rank allows */
	RANK_NUMBER("rank.compute_ms", MS, DRIFTS,
		"the products of a step in BF16, launched one after the other, without traffic: the best of three "
		"rounds before the steps and one after them",
		.windows = "products", .within_gpu = true, SHOWN(IN(SLOWEST, 30, "products of a step, alone"))),
	RANK_NUMBER("rank.step_p50_ms", MS, DRIFTS, "a training step: median", SHOWN(IN(SLOWEST, 40, "step, median"))),
	RANK_NUMBER("rank.step_p99_ms", MS, DRIFTS, "a training step: 99th percentile",
		SHOWN(IN(SLOWEST, 50, "step, 99th percentile"))),
	RANK_NUMBER("rank.step_compute_ms", MS, DRIFTS,
		"the products of a step, the rank's own part, while all-reduces and copies go on: the best step",
		.windows = "steps"),
	GPU_NUMBER("gpu.h2d_loaded_gbps", GB_PER_S, MORE, "host to device while steps run: the best step",
		.windows = "copies beside steps", .varies = true),
	GPU_NUMBER("gpu.d2h_loaded_gbps", GB_PER_S, MORE, "device to host while steps run: the best step",
		.windows = "copies beside steps", .varies = true),
	NUMBER(JOB, "job.overlap", RATIO, DRIFTS,
		"the longest of products, all-reduces and copies alone / a whole step; 1 is perfect"),
	NUMBER(JOB, "job.step_tokens", NONE, DRIFTS, "tokens of a step, on each rank"),
	NUMBER(JOB, "job.step_gradient_mib", MEBIBYTES, DRIFTS,
		"gradients that a step reduces; 416 are all of a layer"),
	NUMBER(JOB, "job.step_spread", RATIO, DRIFTS,
		"(slowest - fastest) / median of rank.step_compute_ms of GPUs of one model, in a rack or in the whole "
		"job; not measured but derived",
		.labels = { "kind", "among" }),
};

#define ROUNDS 3 /* and one more after the steps: what disturbs a host or a GPU for a moment is over then */
#define SAMPLE_BYTES ((uint64_t)32 << 20) /* an all-reduce of them says how long those of all gradients take */
/* The first gradient is made after four tenths of the products. Where all-reduces take no longer than this share of the
 * time of all products, nearly all of them can go on beside products. */
#define REDUCES_SHARE 0.5
#define SAY_EVERY 50 /* steps */

/* A step's products take about ms on the slowest GPU. The time of first_tokens, which are right for an H100 or H200,
 * says how many tokens that are: at most tokens_most. */
struct length {
	double ms;
	size_t first_tokens, tokens_most;
};
static const struct length short_step = { 5, 2048, 8192 };
static const struct length long_step = { 20, 8192, MUSTER_STEP_TOKENS_MOST };

static const struct length *length_of(const struct muster_probe_env *env)
{
	return env->long_steps ? &long_step : &short_step;
}

enum list { STEP_MS, COMPUTE_MS, IN_GBPS, OUT_GBPS, LISTS };

/* What was measured so far; 0 where nothing was. */
struct results {
	double rounds_ms[ROUNDS + 1], compute_ms; /* the products alone; the median of those before the steps */
	size_t rounds;
	double longest_ms;    /* of the parts alone, on any rank */
	double *lists[LISTS]; /* a value for each step; STEP_MS is sorted in the end */
	size_t count;         /* steps */
	double slowest_p50_ms;
};

/* Of the steps' times, which are sorted. */
static double percentile(const struct results *results, double share)
{
	return muster_percentile_of(results->lists[STEP_MS], results->count, share);
}

/* ---- measuring ---- */

/* The same number of tokens for every rank, at most `most`, which is a power of two that all ranks have room for. The
 * slowest rank's time decides, so that its products take about length->ms; on faster ranks they take less. */
static int choose_tokens(
	struct muster_step_work *work, const struct length *length, size_t most, struct muster_error *err)
{
	size_t first = most < length->first_tokens ? most : length->first_tokens;
	double ms;
	if (muster_step_prepare(work, first, err) < 0 || muster_step_products_alone(work, &ms, err) < 0)
		return -1;
	if (muster_nccl_slowest(work->session, &ms, err) < 0)
		return -1;
	return muster_step_prepare(work, muster_step_tokens(first, ms, length->ms, most), err);
}

/* The products alone, ROUNDS times. compute_ms is their median; what is emitted are all rounds (emit_all). */
static int measure_compute(struct muster_step_work *work, struct results *results, struct muster_error *err)
{
	double sorted[ROUNDS];
	float nothing = 0;
	muster_step(work->session->ctx, "products without traffic");
	if (muster_nccl_agree(work->session, &nothing, 1, err) < 0) /* so that all ranks begin at once */
		return -1;
	for (results->rounds = 0; results->rounds < ROUNDS; results->rounds++)
		if (muster_step_products_alone(work, &results->rounds_ms[results->rounds], err) < 0)
			return -1;
	memcpy(sorted, results->rounds_ms, sizeof sorted);
	results->compute_ms = muster_median_of(sorted, ROUNDS);
	return 0;
}

/* How often gradients are halved, so that they can be reduced beside the products. An all-reduce of SAMPLE_BYTES says
 * how long those of all gradients take. By the slowest rank of each: all ranks must reduce the same bytes. */
static int choose_gradients(struct muster_step_work *work, double compute_ms, struct muster_error *err)
{
	double ms = 0;
	muster_step(work->session->ctx, "all-reduces of gradients alone");
	for (int i = 0; i < 2; i++) /* the first one warms up */
		if (muster_step_reduce_alone(work, SAMPLE_BYTES, &ms, err) < 0)
			return -1;
	float slowest[] = { (float)compute_ms, (float)ms };
	if (muster_nccl_agree(work->session, slowest, 2, err) < 0)
		return -1;
	work->halvings =
		muster_step_halvings((double)SAMPLE_BYTES, (double)slowest[1], REDUCES_SHARE * (double)slowest[0]);
	return 0;
}

/* Each part alone: results->longest_ms, the time of the longest part on the slowest rank, for job.overlap; and
 * work->copy_count, which each rank chooses by its own times, since copies are no communication. */
static int measure_alone(struct muster_step_work *work, struct results *results, struct muster_error *err)
{
	double reduces_ms = 0, copy_ms;
	if (work->session->ring.ranks > 1 && (choose_gradients(work, results->compute_ms, err) < 0 ||
						     muster_step_gradients_alone(work, &reduces_ms, err) < 0))
		return -1;
	muster_step(work->session->ctx, "copies both ways at once");
	if (muster_step_copies_alone(work, &copy_ms, err) < 0)
		return -1;
	work->copy_count = muster_step_copies(copy_ms, results->compute_ms, MUSTER_STEP_COPIES_MOST);
	float slowest[] = { (float)results->compute_ms, (float)reduces_ms,
		(float)(copy_ms * (double)work->copy_count) };
	if (muster_nccl_agree(work->session, slowest, 3, err) < 0)
		return -1;
	for (size_t i = 0; i < sizeof slowest / sizeof *slowest; i++)
		if ((double)slowest[i] > results->longest_ms)
			results->longest_ms = (double)slowest[i];
	return 0;
}

static void note(struct results *results, const struct muster_step_times *times)
{
	results->lists[STEP_MS][results->count] = times->step_ms;
	results->lists[COMPUTE_MS][results->count] = times->compute_ms;
	results->lists[IN_GBPS][results->count] = times->copy_gbps[MUSTER_STEP_IN];
	results->lists[OUT_GBPS][results->count] = times->copy_gbps[MUSTER_STEP_OUT];
	results->count++;
}

/* steps + 1 steps, of which number 0 warms up and does not count. While step i is waited for, step i + 1 is queued, and
 * slot (i - 1) % 3 still has the end of the step before. The ranks need not agree after each step: their all-reduces
 * keep them together. A cancelled command is seen once a step. */
static int take_steps(struct muster_step_work *work, size_t steps, struct results *results, struct muster_error *err)
{
	struct muster_step_times times;
	struct muster_step_slot *slots = work->slots;
	muster_step(work->session->ctx, "%zu training steps", steps);
	if (muster_step_queue(work, &slots[0], err) < 0)
		return -1;
	for (size_t i = 0; i <= steps; i++) {
		const struct muster_step_slot *before = i > 0 ? &slots[(i - 1) % MUSTER_STEP_SLOTS] : NULL;
		if (i < steps && muster_step_queue(work, &slots[(i + 1) % MUSTER_STEP_SLOTS], err) < 0)
			return -1;
		if (muster_step_collect(work, &slots[i % MUSTER_STEP_SLOTS], before, &times, err) < 0 ||
			muster_cancelled(work->session->ctx, err) < 0)
			return -1;
		if (i > 0)
			note(results, &times);
		if (i > 0 && i % SAY_EVERY == 0)
			muster_step(work->session->ctx, "training step %zu of %zu", i, steps);
	}
	return 0;
}

/* Whether all ranks can take part: 0, and ret_most, the most tokens that every GPU has room for; 1 with why, when this
 * rank or another one cannot; -1 with err. A rank without library, units or memory must still enter the agreement,
 * since the others wait there: its part is "cannot" and no limit of tokens. */
static int can_all(struct muster_step_work *work, struct muster_nccl_session *session, size_t wanted, size_t *ret_most,
	struct muster_error *why, struct muster_error *err)
{
	bool able = muster_step_work_init(work, session, wanted, why) == 0;
	if (!able && why->code != MUSTER_ENOTSUPPORTED && why->code != MUSTER_ELIB) {
		*err = *why;
		return -1;
	}
	float worst[] = { able ? 0 : 1, able ? -(float)work->tokens_most : -(float)wanted };
	if (muster_nccl_agree(session, worst, 2, err) < 0)
		return -1;
	*ret_most = (size_t)-worst[1];
	if (worst[0] > 0 && able)
		muster_fail(why, MUSTER_ENOTSUPPORTED, "another rank cannot multiply the matrices of a step");
	return worst[0] > 0;
}

/* Steps 2 to 6 of the head of this file. lists[STEP_MS] is sorted also after a failure, for emit_all takes percentiles
 * of the steps that there are. */
static int measure(struct muster_step_work *work, size_t most, struct results *results, struct muster_error *err)
{
	const struct muster_probe_env *env = muster_probe_env(work->session->ctx);
	if (choose_tokens(work, length_of(env), most, err) < 0 || measure_compute(work, results, err) < 0 ||
		measure_alone(work, results, err) < 0)
		return -1;
	int failed = take_steps(work, (size_t)env->steps, results, err);
	qsort(results->lists[STEP_MS], results->count, sizeof *results->lists[STEP_MS], muster_by_double);
	if (failed < 0 || muster_step_products_alone(work, &results->rounds_ms[results->rounds], err) < 0)
		return -1;
	results->rounds++;
	double slowest_ms = percentile(results, 0.5);
	if (muster_nccl_slowest(work->session, &slowest_ms, err) < 0)
		return -1;
	results->slowest_p50_ms = slowest_ms;
	return 0;
}

/* ---- what is emitted ---- */

/* Null for all metrics: of the job on the first rank alone. Metrics with two labels are derived, and not this probe's
 * to emit. */
static void emit_nothing(struct muster_probe_ctx *ctx, bool first, const char *why)
{
	for (size_t i = 0; i < sizeof metrics / sizeof *metrics; i++)
		if (!metrics[i].labels[1] && (first || metrics[i].scope != MUSTER_SCOPE_JOB)) /* two: derived */
			muster_emit_null_for(ctx, metrics[i].name,
				metrics[i].labels[0] ? muster_probe_env(ctx)->gpu->bus_id : NULL, "%s", why);
}

static void emit_steps(struct muster_probe_ctx *ctx, const struct results *results)
{
	static const char *const best[] = { [COMPUTE_MS] = "rank.step_compute_ms",
		[IN_GBPS] = "gpu.h2d_loaded_gbps",
		[OUT_GBPS] = "gpu.d2h_loaded_gbps" };
	const struct muster_value gpu = muster_string(muster_probe_env(ctx)->gpu->bus_id);
	muster_emit_for(ctx, "rank.step_p50_ms", NULL, muster_number(percentile(results, 0.5)));
	muster_emit_for(ctx, "rank.step_p99_ms", NULL, muster_number(percentile(results, 0.99)));
	for (size_t i = COMPUTE_MS; i < LISTS; i++)
		muster_windows_emit(ctx, best[i], &gpu, i != COMPUTE_MS, results->lists[i], results->count, NULL);
}

/* Also after a failure: what was measured before it stays. */
static void emit_all(struct muster_step_work *work, const struct results *results)
{
	struct muster_probe_ctx *ctx = work->session->ctx;
	if (results->compute_ms > 0)
		muster_windows_emit(ctx, "rank.compute_ms", NULL, 0, results->rounds_ms, results->rounds, NULL);
	if (results->count == 0)
		return;
	emit_steps(ctx, results);
	if (work->session->ring.rank != 0)
		return;
	bool reduces = work->session->ring.ranks > 1;
	double p50_ms = results->slowest_p50_ms > 0 ? results->slowest_p50_ms : percentile(results, 0.5);
	double mib = (double)muster_step_gradients(work->halvings) / (1 << 20);
	muster_emit_for(ctx, "job.overlap", NULL, muster_number(results->longest_ms / p50_ms));
	muster_emit_for(ctx, "job.step_tokens", NULL, muster_number((double)work->tokens));
	muster_emit_for(ctx, "job.step_gradient_mib", NULL, muster_number(reduces ? mib : 0));
}

static void make_room(struct results *results, size_t steps)
{
	for (size_t i = 0; i < LISTS; i++)
		results->lists[i] = muster_calloc(steps, sizeof *results->lists[i]);
}

static void forget(struct results *results)
{
	for (size_t i = 0; i < LISTS; i++)
		free(results->lists[i]);
}

/* work is of this callback alone: made, used and freed. After a failure the session goes first, since an abort of the
 * communicator may end the all-reduces for which the streams of work wait. */
static int traffic(struct muster_probe_ctx *ctx, const struct muster_traffic *round, struct muster_error *err)
{
	const struct muster_probe_env *env = muster_probe_env(ctx);
	struct muster_nccl_session session;
	struct muster_step_work work = { 0 };
	struct muster_error why = { 0 };
	struct results results = { 0 };
	size_t most;
	if (env->steps == 0)
		return 0;
	if (muster_nccl_session_standing(ctx, round->timeout_ms, &session, err) < 0)
		return -1;
	int cannot = can_all(&work, &session, length_of(env)->tokens_most, &most, &why, err);
	int failed = cannot < 0 ? -1 : 0;
	if (cannot > 0) {
		emit_nothing(ctx, session.ring.rank == 0, why.text);
		if (work.compute) /* memory that is still filled would not be freed */
			(void)muster_cuda_wait(work.cuda, work.compute, 1000, &why);
	}
	if (cannot == 0) {
		make_room(&results, (size_t)env->steps);
		failed = measure(&work, most, &results, err);
		emit_all(&work, &results);
		forget(&results);
	}
	if (failed)
		muster_nccl_session_fail(&session, err);
	muster_step_work_done(&work);
	return failed;
}

const struct muster_probe muster_probe_step = {
	.name = "step",
	.summary = "training steps: products, all-reduces of gradients and copies at once",
	.scope = MUSTER_SCOPE_RANK,
	.needs_gpu = true,
	.deadline_ms = 30000,
	.order = 76,
	METRICS(metrics),
	.traffic = traffic,
	.traffic_shape = MUSTER_TRAFFIC_ALL,
	.traffic_ms_per_step = 40,
};
