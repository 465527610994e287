/* sweep.c - the message sizes to measure, how long each takes, and the job's values for each size */
#include "probes/nccl_allreduce/allreduce.h"

#include "util/text.h"

#include <stdio.h>

#define TRIAL_BYTES (64 * MIB) /* of a trial ring */

/* The one size of a trial: the ladder's largest that is modest, or else its smallest. */
static size_t trial_size(uint64_t sizes[SIZES_MAX], size_t count)
{
	for (size_t i = 1; i < count && sizes[i] <= TRIAL_BYTES; i++)
		sizes[0] = sizes[i];
	return 1;
}

/* The job's values for one size, from the time of the slowest rank; null with a reason. */
static void emit_job(const struct muster_nccl_session *s, uint64_t bytes, double slowest_us, const char *reason)
{
	struct muster_probe_ctx *ctx = s->ctx;
	int n = s->ring.ranks;
	struct muster_value labels[] = { muster_number((double)bytes), muster_number(s->ring.nodes), muster_number(n) };
	if (s->ring.rank != 0)
		return;
	muster_emit_result_with(
		ctx, "nccl.allreduce_us", labels, 3, reason ? -1 : 0, muster_number(slowest_us), reason);
	if (!reason && n == 1)
		reason = "an all-reduce of one rank moves no data";
	if (!reason && !(slowest_us > 0))
		reason = "no time between the events of the GPU";
	int result = reason ? -1 : 0;
	double algbw = reason ? 0 : (double)bytes / 1e3 / slowest_us;
	muster_emit_result_with(ctx, "nccl.allreduce_algbw_gbps", labels, 3, result, muster_number(algbw), reason);
	muster_emit_result_with(
		ctx, "nccl.allreduce_busbw_gbps", labels, 3, result, muster_number(algbw * 2 * (n - 1) / n), reason);
}

/* ---- how long the all-reduces of one size take ---- */

#define TIMED_MS 30.0 /* of all-reduces for each size, within these counts */
#define TIMED_MIN 2
#define TIMED_MAX 20
#define CHECKED_PER_MS 2e6     /* bytes of a sum that a slow host brings back and compares in a millisecond */
#define SMALL_BYTES (64 * MIB) /* up to here an all-reduce may be shorter than its launch */

/* One all-reduce whose result is checked; *ret_us is its time. */
static int checked_reduce(const struct muster_nccl_session *s, uint64_t bytes, const float *expected, double *ret_us,
	struct muster_nccl_mismatch *ret_wrong, struct muster_error *err)
{
	struct muster_nccl_range all = { s->resources->data, bytes };
	if (muster_nccl_data_fill(s, s->ring.rank, bytes, err) < 0 ||
		muster_nccl_time_one(s, muster_nccl_reduce, &all, "the checked all-reduce", ret_us, err) < 0)
		return -1;
	return muster_nccl_data_check(s, s->resources->data, bytes, expected, ret_wrong, err);
}

static int iterations(double once_us)
{
	return muster_nccl_count(TIMED_MS, once_us, TIMED_MIN, TIMED_MAX);
}

/* What a size will take at most, from the time of a smaller one: its all-reduces and the check of the sum. */
static double projected_ms(uint64_t bytes, uint64_t smaller, double smaller_us)
{
	double once_us = smaller_us * (double)bytes / (double)smaller;
	return once_us * (iterations(once_us) + 2) / 1e3 + (double)bytes / CHECKED_PER_MS;
}

/* Check and time one size. */
static int time_size(const struct muster_nccl_session *s, uint64_t bytes, const float *expected,
	struct muster_allreduce_timing *ret, struct muster_error *err)
{
	struct muster_probe_ctx *ctx = s->ctx;
	struct muster_value label = muster_number((double)bytes);
	struct muster_nccl_range all = { s->resources->data, bytes };
	struct muster_nccl_mismatch wrong;
	double once_us, own_us;
	char size[32];
	muster_bytes_text(bytes, size, sizeof size);
	muster_step(ctx, "checked all-reduce of %s", size);
	if (checked_reduce(s, bytes, expected, &once_us, &wrong, err) < 0)
		return muster_wrap(err, "all-reduce of %s", size);
	muster_emit(ctx, "rank.allreduce_wrong", &label, 1, muster_number((double)wrong.count));
	if (wrong.count > 0)
		muster_step(ctx, "all-reduce of %s gave %llu wrong values, the first at %llu: %g instead of %g", size,
			(unsigned long long)wrong.count, (unsigned long long)wrong.first, (double)wrong.got,
			(double)wrong.expected);
	if (wrong.count > 0 && s->ring.trial)
		return muster_fail(err, MUSTER_EVENDOR, "all-reduce of %s: %llu wrong values in this rank's copy", size,
			(unsigned long long)wrong.count);

	if (muster_nccl_slowest(s, &once_us, err) < 0)
		return muster_wrap(err, "all-reduce of %s", size);
	int count = iterations(once_us);
	muster_step(ctx, "%d timed all-reduces of %s", count, size);
	double head_us = bytes <= SMALL_BYTES ? MUSTER_NCCL_LAUNCH_US * count : 0;
	/* of zeros: sums of sums would overflow */
	if (muster_nccl_time(s, muster_nccl_reduce, &all, count, head_us, "the timed all-reduces", &own_us, err) < 0)
		return muster_wrap(err, "all-reduce of %s", size);
	muster_emit(ctx, "rank.allreduce_us", &label, 1, muster_number(own_us));

	float agreed[] = { (float)own_us, (float)(muster_now_ms() - s->started_ms) };
	if (muster_nccl_agree(s, agreed, sizeof agreed / sizeof *agreed, err) < 0)
		return muster_wrap(err, "all-reduce of %s", size);
	*ret = (struct muster_allreduce_timing){ (double)agreed[0], (double)agreed[1] };
	return 0;
}

int muster_allreduce_sweep(struct muster_nccl_session *s, struct muster_error *err)
{
	const struct muster_nccl_resources *resources = s->resources;
	static float expected[TILE_VALUES];
	uint64_t sizes[SIZES_MAX];
	size_t count = muster_nccl_sizes(muster_probe_env(s->ctx), sizes);
	if (s->ring.trial)
		count = trial_size(sizes, count);
	muster_nccl_data_expect(0, s->ring.ranks, expected);

	size_t absent = 0;
	while (absent < count && sizes[count - 1 - absent] > resources->room)
		absent++;
	muster_step(s->ctx, "the first all-reduce, which connects the ranks");
	/* What all ranks go by, so that they make the same calls: how many of the largest sizes some rank cannot hold,
	 * and the time that the rank with the least has, as a maximum. */
	float agreed[] = { (float)absent, -(float)s->ring.timeout_ms };
	if (muster_nccl_agree(s, agreed, sizeof agreed / sizeof *agreed, err) < 0)
		return -1;
	absent = (size_t)agreed[0];
	double least_ms = -(double)agreed[1];

	const char *reason = NULL;
	char text[256];
	struct muster_allreduce_timing timing = { 0 };
	int wanted = s->ring.trial ? 1 : muster_probe_env(s->ctx)->repeats;
	size_t repeats = wanted > 1 ? (size_t)wanted : 1;
	for (size_t turn = 0; turn < repeats * count; turn++) {
		size_t i = turn % count;
		reason = i == 0 ? NULL : reason;
		if (!reason && i + absent >= count) {
			snprintf(text, sizeof text, "no room on the GPU%s%s",
				resources->small[0] ? ": " : " of another rank", resources->small);
			reason = text;
		}
		double next_ms = i ? projected_ms(sizes[i], sizes[i - 1], timing.slowest_us) : 0;
		if (!reason && timing.elapsed_ms + next_ms > least_ms) {
			snprintf(text, sizeof text,
				"no time left: %.0f of %.0f ms had passed, and this size may take %.0f ms",
				timing.elapsed_ms, least_ms, next_ms);
			reason = text;
		}
		s->bytes = sizes[i];
		if (!reason && time_size(s, sizes[i], expected, &timing, err) < 0)
			return -1;
		emit_job(s, sizes[i], timing.slowest_us, reason);
	}
	return 0;
}
