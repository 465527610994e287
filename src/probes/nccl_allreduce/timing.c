/* timing.c - how long the all-reduces of one size take */
#include "probes/nccl_allreduce/allreduce.h"

#include "util/text.h"

#include <math.h>

#define TIMED_MS 30.0 /* of all-reduces for each size, within these counts */
#define TIMED_MIN 2
#define TIMED_MAX 20
#define CHECKED_PER_MS 2e6     /* bytes of a sum that a slow host brings back and compares in a millisecond */
#define LAUNCH_US 300.0        /* more than the CPU needs to launch an all-reduce on a non-blocking communicator */
#define SMALL_BYTES (64 * MIB) /* up to here an all-reduce may be shorter than that */
#define FILL_PER_US 5e6        /* bytes that no GPU's memory fills in a microsecond */
#define FILLS_MAX 512          /* of a small buffer */

/* One all-reduce whose result is checked; *ret_us is its time. */
static int checked_reduce(const struct muster_nccl_session *s, uint64_t bytes, const float *expected, double *ret_us,
	struct muster_nccl_mismatch *ret_wrong, struct muster_error *err)
{
	const struct muster_nccl_resources *resources = s->resources;
	if (muster_nccl_data_fill(s, bytes, err) < 0 || muster_nccl_record(s, resources->start, err) < 0 ||
		muster_nccl_sum(s, resources->data, (size_t)bytes / sizeof(float), ncclSum, err) < 0 ||
		muster_nccl_record(s, resources->end, err) < 0 ||
		muster_nccl_wait(s, resources->end, "the checked all-reduce", err) < 0 ||
		muster_nccl_elapsed_us(s, ret_us, err) < 0)
		return -1;
	return muster_nccl_data_check(s, bytes, expected, ret_wrong, err);
}

/* Zero the buffer, and where all-reduces are shorter than their launch as often as it takes to launch all of them
 * meanwhile: on a non-blocking communicator each launch waits for a thread of NCCL's, and without this head start it is
 * the CPU that is timed (66 instead of 212 GB/s at 8 MiB on four H200). */
static int zero_data(const struct muster_nccl_session *s, uint64_t bytes, int count, struct muster_error *err)
{
	const struct muster_nccl_resources *resources = s->resources;
	double needed = bytes <= SMALL_BYTES ? LAUNCH_US * FILL_PER_US * count : 0;
	double filled = 0;
	int fills = 0;
	do {
		if (MUSTER_CUDA(resources->cuda, err, cuMemsetD32Async, resources->data, 0,
			    (size_t)resources->room / sizeof(float), resources->stream) < 0)
			return -1;
		filled += (double)resources->room;
	} while (filled < needed && ++fills < FILLS_MAX);
	return 0;
}

/* The mean of `count` all-reduces of zeros (sums of sums would overflow), the first of which follows another at once.
 */
static int timed_reduce(
	const struct muster_nccl_session *s, uint64_t bytes, int count, double *ret_us, struct muster_error *err)
{
	const struct muster_nccl_resources *resources = s->resources;
	size_t values = (size_t)bytes / sizeof(float);
	double us = 0;
	if (zero_data(s, bytes, count, err) < 0)
		return -1;
	for (int i = -1; i < count; i++) {
		if (i == 0 && muster_nccl_record(s, resources->start, err) < 0)
			return -1;
		if (muster_nccl_sum(s, resources->data, values, ncclSum, err) < 0)
			return -1;
	}
	if (muster_nccl_record(s, resources->end, err) < 0 ||
		muster_nccl_wait(s, resources->end, "the timed all-reduces", err) < 0 ||
		muster_nccl_elapsed_us(s, &us, err) < 0)
		return -1;
	*ret_us = us / count;
	return 0;
}

static int iterations(double once_us)
{
	double wanted = once_us > 0 ? ceil(TIMED_MS * 1e3 / once_us) : TIMED_MAX;
	return wanted < TIMED_MIN ? TIMED_MIN : wanted > TIMED_MAX ? TIMED_MAX : (int)wanted;
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
	if (timed_reduce(s, bytes, count, &own_us, err) < 0)
		return muster_wrap(err, "all-reduce of %s", size);
	muster_emit(ctx, "rank.allreduce_us", &label, 1, muster_number(own_us));

	float agreed[] = { (float)own_us, (float)(muster_now_ms() - s->started_ms) };
	if (muster_nccl_agree(s, agreed, sizeof agreed / sizeof *agreed, err) < 0)
		return muster_wrap(err, "all-reduce of %s", size);
	*ret = (struct muster_allreduce_timing){ (double)agreed[0], (double)agreed[1] };
	return 0;
}
