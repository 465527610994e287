/* SPDX-License-Identifier: Apache-2.0 */
/* jitter.c - how even one all-reduce is with the next
 *
 * All of them are in the stream before the first one begins, so that the GPU never waits for the host: until then the
 * stream fills memory. A host may launch more slowly than that lasts (a thread of NCCL launches each all-reduce of a
 * communicator that does not block). Then the times are the host's, and all ranks measure again with a longer start.
 *
 * The head start of the first attempt is what launches take longer than the all-reduces, at LAUNCH_US a launch. The
 * next ones are 2 and 4 times the time that the slowest host took for its launches. After ATTEMPTS attempts, or above
 * HEAD_MOST_US, the values are null with the reason.
 */
#include "probes/nccl_collectives/collectives.h"

#include "util/array.h"
#include "util/text.h"

#include <stdio.h>

#define ROUNDS 100
#define BYTES (8 * MIB)
#define OUTLIER 1.5     /* times the median */
#define LAUNCH_US 200.0 /* that the CPU needs to launch one, as a mean of many */
#define LONGEST_US 2e6  /* of all of them */
#define ATTEMPTS 3
#define HEAD_MOST_US 5e5 /* of the time before the first one */
_Static_assert(ROUNDS <= AGREED_MAX, "one agreement is enough");

void muster_collective_jitter_of(double *times, size_t count, double *ret_p50, double *ret_p99, double *ret_outliers)
{
	size_t outliers = 0;
	double median = muster_median_of(times, count);
	for (size_t i = 0; i < count; i++)
		outliers += times[i] > OUTLIER * median;
	*ret_p50 = median;
	*ret_p99 = muster_percentile_of(times, count, 0.99);
	*ret_outliers = (double)outliers / (double)count;
}

/* As often as the host of any rank is late, which all ranks agree on. ret_late_us: the time that the slowest rank's
 * host took to launch all, in the last attempt; 0: no host was late. times_us: this rank's own. */
static int measure(const struct muster_nccl_session *s, uint64_t bytes, double once_us, double times_us[ROUNDS],
	double *ret_late_us, struct muster_error *err)
{
	struct muster_nccl_range all = { s->resources->data, bytes };
	double head_us = once_us < LAUNCH_US ? (LAUNCH_US - once_us) * ROUNDS : 0;
	for (int attempt = 0; attempt < ATTEMPTS && head_us <= HEAD_MOST_US; attempt++) {
		if (muster_nccl_time_each(s, muster_nccl_reduce, &all, ROUNDS, head_us,
			    "all-reduces that are timed one by one", times_us, ret_late_us, err) < 0 ||
			muster_nccl_slowest(s, ret_late_us, err) < 0)
			return -1;
		if (!(*ret_late_us > 0))
			break;
		head_us = *ret_late_us * (2 << attempt);
	}
	return 0;
}

/* The rank's own p99, and on the ring's first rank the job's values. reason NULL: the values; else null for all of
 * them. times_us: of each round the slowest rank's, which are sorted here; NULL: there are none. */
static void emit(
	const struct muster_nccl_session *s, uint64_t bytes, double own_p99, double *times_us, const char *reason)
{
	const struct muster_value labels[] = { muster_number((double)bytes), muster_number(s->ring.nodes),
		muster_number(s->ring.ranks) };
	static const char *const metrics[] = { "nccl.allreduce_p50_us", "nccl.allreduce_p99_us",
		"nccl.allreduce_outliers" };
	double values[3] = { 0 };
	int result = reason ? -1 : 0;
	muster_emit_result_with(s->ctx, "rank.allreduce_p99_us", labels, 1, result, muster_number(own_p99), reason);
	if (s->ring.rank != 0)
		return;
	if (times_us)
		muster_collective_jitter_of(times_us, ROUNDS, &values[0], &values[1], &values[2]);
	for (size_t i = 0; i < sizeof metrics / sizeof *metrics; i++)
		muster_emit_result_with(s->ctx, metrics[i], labels, 3, result, muster_number(values[i]), reason);
}

void muster_collective_jitter_none(const struct muster_nccl_session *s, const char *reason)
{
	emit(s, BYTES, 0, NULL, reason);
}

/* One all-reduce decides the size of the head start and whether 100 fit into 2 s; both from the slowest rank's time, so
 * that all ranks make the same calls. The percentiles of the job are those of the slowest rank in each round, the
 * rank's own p99 says which rank it was. */
int muster_collective_jitter(const struct muster_nccl_session *s, uint64_t limit, struct muster_error *err)
{
	uint64_t bytes = limit < BYTES ? limit : BYTES;
	struct muster_nccl_range all = { s->resources->data, bytes };
	float slowest[ROUNDS];
	double times_us[ROUNDS], once_us, late_us = 0, p50, p99, outliers;
	muster_step(s->ctx, "%d all-reduces that are timed one by one", ROUNDS);
	if (muster_nccl_head_start(s, 0, err) < 0 ||
		muster_nccl_time_one(s, muster_nccl_reduce, &all, "an all-reduce", &once_us, err) < 0 ||
		muster_nccl_slowest(s, &once_us, err) < 0)
		return -1;
	if (once_us * ROUNDS > LONGEST_US) {
		emit(s, bytes, 0, NULL, "100 all-reduces would take longer than 2 s");
		return 0;
	}
	if (measure(s, bytes, once_us, times_us, &late_us, err) < 0)
		return muster_wrap(err, "all-reduces that are timed one by one");
	if (late_us > 0) {
		char why[128];
		snprintf(why, sizeof why,
			"the host of a rank takes %.0f us to launch an all-reduce: the GPU waits for it",
			late_us / (ROUNDS + 1));
		emit(s, bytes, 0, NULL, why);
		return 0;
	}
	for (size_t i = 0; i < ROUNDS; i++)
		slowest[i] = (float)times_us[i];
	if (muster_nccl_agree(s, slowest, ROUNDS, err) < 0)
		return -1;
	muster_collective_jitter_of(times_us, ROUNDS, &p50, &p99, &outliers);
	for (size_t i = 0; i < ROUNDS; i++)
		times_us[i] = (double)slowest[i];
	emit(s, bytes, p99, times_us, p50 > 0 ? NULL : "no time between the events of the GPU");
	return 0;
}
