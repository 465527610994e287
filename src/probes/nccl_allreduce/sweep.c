/* SPDX-License-Identifier: Apache-2.0 */
/* sweep.c - the message sizes to measure, how long each takes, and the job's values for each size
 *
 * For each size, in ascending order:
 *
 *   1. zeros into the buffer and one all-reduce: the slowest rank's time decides how many windows there are
 *   2. the windows, which yield nccl.allreduce_* (rank 0 of the ring, by the slowest rank of each operation) and
 *      rank.allreduce_us (each rank, its own time)
 *   3. data of this rank's own, one all-reduce, and the whole result compared with the expected sum
 *   4. agreement on how much time has passed, so that all ranks skip the larger sizes alike
 *
 * busbw is algbw x 2 (n - 1) / n, as nccl-tests define it (doc/PERFORMANCE.md there): what each link carries in a ring.
 */
#include "probes/nccl_allreduce/allreduce.h"

#include "util/text.h"

#include <stdio.h>

#define TRIAL_BYTES (64 * MIB) /* of a trial ring */

/* The one size of a trial, in sizes[0]: the ladder's largest up to TRIAL_BYTES, or else its smallest. Returns how many
 * sizes there are. */
static size_t trial_size(uint64_t sizes[SIZES_MAX], size_t count)
{
	for (size_t i = 1; i < count && sizes[i] <= TRIAL_BYTES; i++)
		sizes[0] = sizes[i];
	return 1;
}

/* The job's values for one size, from the times of the slowest rank; without windows null with a reason. */
static void emit_job(const struct muster_nccl_session *s, uint64_t bytes, const struct muster_nccl_windows *windows,
	const char *reason)
{
	double n = s->ring.ranks, busbw[MUSTER_WINDOWS_MOST], algbw[MUSTER_WINDOWS_MOST];
	struct muster_value labels[] = { muster_number((double)bytes), muster_number(s->ring.nodes), muster_number(n) };
	size_t count = reason ? 0 : windows->count;
	if (s->ring.rank != 0)
		return;
	muster_windows_emit(s->ctx, "nccl.allreduce_us", labels, 3, windows->slowest_us, count, reason);
	if (!reason && s->ring.ranks == 1)
		reason = "an all-reduce of one rank moves no data";
	for (size_t i = 0; !reason && i < count; i++) {
		if (!(windows->slowest_us[i] > 0))
			reason = "no time between the events of the GPU";
		algbw[i] = (double)bytes / 1e3 / windows->slowest_us[i];
		busbw[i] = algbw[i] * 2 * (n - 1) / n;
	}
	count = reason ? 0 : count;
	muster_windows_emit(s->ctx, "nccl.allreduce_algbw_gbps", labels, 3, algbw, count, reason);
	muster_windows_emit(s->ctx, "nccl.allreduce_busbw_gbps", labels, 3, busbw, count, reason);
}

/* ---- how long the all-reduces of one size take ---- */

#define CHECKED_PER_MS 2e6 /* bytes of a sum that a slow host brings back and compares in a millisecond */

/* What the first visit has measured; later visits measure the same sizes. */
static struct {
	uint64_t bytes[SIZES_MAX];
	double once_us[SIZES_MAX];
	size_t count;
	double first_ms;
} known;

/* One all-reduce whose result is checked. Wrong values are a sample and no error, so that the run goes on and finds all
 * of them; only in a trial ring they are an error, because its result must say by itself whether the ring works. */
static int check(const struct muster_nccl_session *s, uint64_t bytes, const float *expected, struct muster_error *err)
{
	const struct muster_value label = muster_number((double)bytes);
	struct muster_nccl_range all = { s->resources->data, bytes };
	struct muster_nccl_mismatch wrong;
	double once_us;
	char size[32];
	muster_bytes_text(bytes, size, sizeof size);
	muster_step(s->ctx, "checked all-reduce of %s", size);
	if (muster_nccl_data_fill(s, s->ring.rank, bytes, err) < 0 ||
		muster_nccl_time_one(s, muster_nccl_reduce, &all, "the checked all-reduce", &once_us, err) < 0 ||
		muster_nccl_data_check(s, s->resources->data, bytes, expected, &wrong, err) < 0)
		return -1;
	muster_emit(s->ctx, "rank.allreduce_wrong", &label, 1, muster_number((double)wrong.count));
	if (wrong.count > 0)
		muster_step(s->ctx, "all-reduce of %s gave %llu wrong values, the first at %llu: %g instead of %g",
			size, (unsigned long long)wrong.count, (unsigned long long)wrong.first, (double)wrong.got,
			(double)wrong.expected);
	if (wrong.count > 0 && s->ring.trial)
		return muster_fail(
			err, MUSTER_EVENDOR, "%llu wrong values in this rank's copy", (unsigned long long)wrong.count);
	return 0;
}

/* What a size will take at most in milliseconds, from the time of a smaller one: its first all-reduce, the windows, and
 * the check of the sum. The time is taken as proportional to the bytes, which is rather too long: a smaller message
 * takes longer per byte. */
static double projected_ms(const struct muster_nccl_session *s, uint64_t bytes, uint64_t smaller, double smaller_us)
{
	double once_us = smaller_us * (double)bytes / (double)smaller;
	return (once_us + muster_nccl_windows_us(s, once_us)) / 1e3 + (double)bytes / CHECKED_PER_MS;
}

/* The windows of this visit. ret_us: the time of one all-reduce in the best one. */
static int time_windows(
	const struct muster_nccl_session *s, uint64_t bytes, double once_us, double *ret_us, struct muster_error *err)
{
	static struct muster_nccl_windows windows = { .of_all = true };
	const struct muster_value label = muster_number((double)bytes);
	struct muster_nccl_range all = { s->resources->data, bytes };
	char size[32];
	muster_bytes_text(bytes, size, sizeof size);
	muster_step(s->ctx, "timed all-reduces of %s", size);
	if (muster_nccl_windows(s, muster_nccl_reduce, &all, once_us, "the timed all-reduces", &windows, err) < 0)
		return -1;
	muster_windows_emit(s->ctx, "rank.allreduce_us", &label, 1, windows.own_us, windows.count, NULL);
	emit_job(s, bytes, &windows, NULL);
	*ret_us = windows.slowest_us[0];
	for (size_t i = 1; i < windows.count; i++)
		*ret_us = windows.slowest_us[i] < *ret_us ? windows.slowest_us[i] : *ret_us;
	return 0;
}

/* Time one size and check it. The windows come first: other work of the run lies between them and those of the next
 * visit. The first all-reduce of a size may be much slower, since NCCL connects ranks when an algorithm needs it: what
 * comes next is planned by the windows. */
static int time_size(const struct muster_nccl_session *s, uint64_t bytes, const float *expected,
	struct muster_allreduce_timing *ret, struct muster_error *err)
{
	struct muster_nccl_range all = { s->resources->data, bytes };
	double once_us, elapsed_ms = 0;
	if (muster_nccl_head_start(s, 0, err) < 0 || /* of zeros: sums of anything else might overflow */
		muster_nccl_time_one(s, muster_nccl_reduce, &all, "an all-reduce", &once_us, err) < 0 ||
		muster_nccl_slowest(s, &once_us, err) < 0 || time_windows(s, bytes, once_us, &once_us, err) < 0 ||
		check(s, bytes, expected, err) < 0)
		return -1;
	elapsed_ms = muster_now_ms() - s->started_ms;
	if (muster_nccl_slowest(s, &elapsed_ms, err) < 0)
		return -1;
	known.bytes[known.count] = bytes;
	known.once_us[known.count++] = once_us;
	*ret = (struct muster_allreduce_timing){ once_us, elapsed_ms };
	return 0;
}

static int wrap_size(uint64_t bytes, struct muster_error *err)
{
	char size[32];
	return muster_wrap(err, "all-reduce of %s", muster_bytes_text(bytes, size, sizeof size));
}

/* All sizes in ascending order. A size is left out, with null and the reason, when some rank has no room for it, or
 * when it would not fit into the time of the rank with the least; so are all larger ones. Both follow from agreed
 * numbers, so all ranks leave out the same sizes. The first agreement is also the first use of the communicator, in
 * which NCCL connects the ranks. */
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
	known.count = 0;
	if (!s->ring.trial)
		muster_windows_wait(s->ctx, &known.first_ms);
	for (size_t i = 0; i < count; i++) {
		if (!reason && i + absent >= count) {
			snprintf(text, sizeof text, "no room on the GPU%s%s",
				resources->small[0] ? ": " : " of another rank", resources->small);
			reason = text;
		}
		double next_ms = i ? projected_ms(s, sizes[i], sizes[i - 1], timing.slowest_us) : 0;
		if (!reason && timing.elapsed_ms + next_ms > least_ms) {
			snprintf(text, sizeof text,
				"no time left: %.0f of %.0f ms had passed, and this size may take %.0f ms",
				timing.elapsed_ms, least_ms, next_ms);
			reason = text;
		}
		s->bytes = sizes[i];
		if (reason)
			emit_job(s, sizes[i], &(struct muster_nccl_windows){ .count = 0 }, reason);
		else if (time_size(s, sizes[i], expected, &timing, err) < 0)
			return wrap_size(sizes[i], err);
	}
	return 0;
}

/* A visit that has less than twice the time that its windows need measures nothing and is no error: the windows of the
 * other visits count. */
int muster_allreduce_windows(struct muster_nccl_session *s, struct muster_error *err)
{
	double needed_us = 0;
	bool time = false;
	muster_windows_wait(s->ctx, &known.first_ms);
	for (size_t i = 0; i < known.count; i++)
		needed_us += muster_nccl_windows_us(s, known.once_us[i]);
	if (muster_nccl_has_time(s, 2 * needed_us, &time, err) < 0)
		return -1;
	for (size_t i = 0; time && i < known.count; i++) {
		s->bytes = known.bytes[i];
		double us;
		if (time_windows(s, known.bytes[i], known.once_us[i], &us, err) < 0)
			return wrap_size(known.bytes[i], err);
	}
	return 0;
}
