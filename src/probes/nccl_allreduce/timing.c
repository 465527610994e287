/* timing.c - how long the all-reduces of one size take */
#include "probes/nccl_allreduce/allreduce.h"

#include "util/text.h"

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

double muster_allreduce_projected_ms(uint64_t bytes, uint64_t smaller, double smaller_us)
{
	double once_us = smaller_us * (double)bytes / (double)smaller;
	return once_us * (iterations(once_us) + 2) / 1e3 + (double)bytes / CHECKED_PER_MS;
}

int muster_allreduce_time(const struct muster_nccl_session *s, uint64_t bytes, const float *expected,
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

	float once = (float)once_us;
	if (muster_nccl_agree(s, &once, 1, err) < 0)
		return muster_wrap(err, "all-reduce of %s", size);
	int count = iterations((double)once);
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
