/* SPDX-License-Identifier: Apache-2.0 */
/* exchange.c - messages between ranks of the ring, and how long operations take
 *
 * How operations are timed. Everything is in one stream: a head start (zeros written to memory for some time), one
 * operation that is not timed, since ranks come to it at different moments, and then the operations with an event after
 * each. All of it is launched before the head start ends, so that the GPU never waits for the host between two
 * operations; ret_late_us says when that was not so. Each operation's own time is known, and not only their sum: one
 * stall of 2.7 ms in twenty all-reduces of 67 us would make the mean three times the median.
 *
 *   stream   | zeros ...... | operation | operation | ... | operation |
 *   events   start                      0           1                 count
 *   times                               | time 0    | time 1 ...      |
 *
 * The host is late when its launches, from start to the last event, take longer than the GPU from start to event 0.
 * Windows are made of these times: with 3 operations in a window, operations 0 to 2 are the first window, and so on.
 */
#include "probes/nccl/session.h"

#include "util/array.h"
#include "util/text.h"

#include <math.h>

#define FILLS_MAX 512 /* of a small buffer */

int muster_nccl_group_start(const struct muster_nccl_session *s, struct muster_error *err)
{
	const struct muster_nccl *nccl = s->resources->nccl;
	return muster_nccl_check(nccl, nccl->ncclGroupStart(), s->comm, err, "ncclGroupStart");
}

/* A call between start and end. NCCL collects errors of calls in a group until the group ends, but some are told at
 * once; the group is then ended, for a group that is left open would swallow every later call of this thread. */
static int in_group(
	const struct muster_nccl_session *s, ncclResult_t result, const char *call, struct muster_error *err)
{
	const struct muster_nccl *nccl = s->resources->nccl;
	int failed = muster_nccl_check(nccl, result, s->comm, err, call);
	if (failed < 0)
		nccl->ncclGroupEnd();
	return failed;
}

int muster_nccl_send(
	const struct muster_nccl_session *s, CUdeviceptr from, uint64_t bytes, int peer, struct muster_error *err)
{
	const struct muster_nccl_resources *resources = s->resources;
	return in_group(s,
		resources->nccl->ncclSend((const void *)(uintptr_t)from, (size_t)bytes / sizeof(float), ncclFloat32,
			peer, s->comm, resources->stream),
		"ncclSend", err);
}

int muster_nccl_receive(
	const struct muster_nccl_session *s, CUdeviceptr into, uint64_t bytes, int peer, struct muster_error *err)
{
	const struct muster_nccl_resources *resources = s->resources;
	return in_group(s,
		resources->nccl->ncclRecv((void *)(uintptr_t)into, (size_t)bytes / sizeof(float), ncclFloat32, peer,
			s->comm, resources->stream),
		"ncclRecv", err);
}

int muster_nccl_broadcast(
	const struct muster_nccl_session *s, CUdeviceptr at, uint64_t bytes, int root, struct muster_error *err)
{
	const struct muster_nccl_resources *resources = s->resources;
	void *buffer = (void *)(uintptr_t)at;
	return in_group(s,
		resources->nccl->ncclBroadcast(
			buffer, buffer, (size_t)bytes / sizeof(float), ncclFloat32, root, s->comm, resources->stream),
		"ncclBroadcast", err);
}

/* Only from here on the calls of the group are in the stream: an event that is recorded earlier comes before them. */
int muster_nccl_group_end(const struct muster_nccl_session *s, struct muster_error *err)
{
	return muster_nccl_settle(s, s->resources->nccl->ncclGroupEnd(), "ncclGroupEnd", err);
}

int muster_nccl_finish(const struct muster_nccl_session *s, const char *what, struct muster_error *err)
{
	CUevent end = s->resources->end;
	return muster_nccl_record(s, end, err) < 0 ? -1 : muster_nccl_wait(s, end, what, err);
}

int muster_nccl_reduce(const struct muster_nccl_session *s, void *range, struct muster_error *err)
{
	const struct muster_nccl_range *sum = range;
	return muster_nccl_sum(s, sum->at, (size_t)sum->bytes / sizeof(float), ncclSum, err);
}

int muster_nccl_time_one(const struct muster_nccl_session *s, muster_nccl_operation_fn *operation, void *arg,
	const char *what, double *ret_us, struct muster_error *err)
{
	if (muster_nccl_record(s, s->resources->start, err) < 0 || operation(s, arg, err) < 0 ||
		muster_nccl_finish(s, what, err) < 0)
		return -1;
	return muster_nccl_elapsed_us(s, ret_us, err);
}

/* Fills the larger of the two buffers, data and received, again and again until at `fill_per_us` that takes `us`, or
 * FILLS_MAX fills are queued. The GPU fills no faster than that rate, so the head start is not shorter than it claims.
 * The first fill is always that of data, also with us 0: callers need its zeros, because sums of anything else might
 * overflow. */
int muster_nccl_head_start(const struct muster_nccl_session *s, double us, struct muster_error *err)
{
	const struct muster_nccl_resources *resources = s->resources;
	CUdeviceptr at = resources->data;
	uint64_t room = resources->room;
	double needed = us * resources->fill_per_us, filled = 0;
	int fills = 0;
	do {
		if (room > 0 && MUSTER_CUDA(resources->cuda, err, cuMemsetD32Async, at, 0, (size_t)room / sizeof(float),
					resources->stream) < 0)
			return -1;
		filled += (double)room;
		if (resources->received_room > room) {
			at = resources->received;
			room = resources->received_room;
		}
	} while (filled < needed && ++fills < FILLS_MAX);
	return 0;
}

/* The events: one before the first operation that is timed, and one after each. */
static int time_each(const struct muster_nccl_session *s, muster_nccl_operation_fn *operation, void *arg,
	CUevent *events, size_t count, double head_us, const char *what, double *times_us, double *ret_late_us,
	struct muster_error *err)
{
	const struct muster_nccl_resources *resources = s->resources;
	double began_ms = muster_now_ms(), launched_us, ms;
	if (muster_nccl_record(s, resources->start, err) < 0 || muster_nccl_head_start(s, head_us, err) < 0)
		return -1;
	for (size_t i = 0; i <= count; i++) /* operation 0 is not timed: ranks come to it at different times */
		if (operation(s, arg, err) < 0 || muster_nccl_record(s, events[i], err) < 0)
			return -1;
	launched_us = (muster_now_ms() - began_ms) * 1e3;
	if (muster_nccl_wait(s, events[count], what, err) < 0 ||
		muster_cuda_elapsed(resources->cuda, resources->start, events[0], &ms, err) < 0)
		return -1;
	*ret_late_us = launched_us > ms * 1e3 ? launched_us : 0;
	for (size_t i = 0; i < count; i++) {
		if (muster_cuda_elapsed(resources->cuda, events[i], events[i + 1], &ms, err) < 0)
			return -1;
		times_us[i] = ms * 1e3;
	}
	return 0;
}

int muster_nccl_time_each(const struct muster_nccl_session *s, muster_nccl_operation_fn *operation, void *arg,
	size_t count, double head_us, const char *what, double *times_us, double *ret_late_us, struct muster_error *err)
{
	CUevent events[AGREED_MAX + 1] = { NULL };
	int failed = muster_cuda_events_make(s->resources->cuda, events, count + 1, err);
	if (failed == 0)
		failed = time_each(s, operation, arg, events, count, head_us, what, times_us, ret_late_us, err);
	muster_cuda_events_free(s->resources->cuda, events, count + 1);
	return failed;
}

/* A launch takes the host at most MUSTER_NCCL_LAUNCH_US. Operations of twice that or more are longer than the launch of
 * the next one, so the GPU does not run out of them. */
double muster_nccl_head_us(int count, double once_us)
{
	return once_us < 2 * MUSTER_NCCL_LAUNCH_US ? MUSTER_NCCL_LAUNCH_US * count : 0;
}

/* How many operations make a window, by the time of one: the first row whose below_us is larger. NCCL's own times
 * scatter, so a window of very short operations has more of them. */
static const struct {
	double below_us;
	size_t operations;
} shortest[] = { { 150, 7 }, { 10000, MUSTER_WINDOW_OPERATIONS }, { INFINITY, 1 } };
#define VISIT_US 2e5 /* longer windows are one in a visit */

/* How many windows of how many operations. A trial ring has one window: it only asks whether the ring works. Windows of
 * one size that would take more than VISIT_US in a visit are one. Depends only on once_us and on what all ranks have
 * alike (profile, repeats, trial), so ranks with the same once_us make the same calls. */
static size_t plan(const struct muster_nccl_session *s, double once_us, size_t *ret_operations)
{
	size_t windows = s->ring.trial ? 1 : muster_windows_count(s->ctx), i = 0;
	while (once_us >= shortest[i].below_us)
		i++;
	size_t operations = shortest[i].operations, most = AGREED_MAX / operations;
	*ret_operations = operations;
	windows = windows < most ? windows : most;
	return (double)(windows * operations) * once_us > VISIT_US ? 1 : windows;
}

double muster_nccl_windows_us(const struct muster_nccl_session *s, double once_us)
{
	size_t operations, windows = plan(s, once_us, &operations);
	return once_us * (double)(windows * operations + 1);
}

/* The median of each window; sorts the times of each. */
static void fold_windows(double *times_us, size_t windows, size_t operations, double *ret_us)
{
	for (size_t i = 0; i < windows; i++)
		ret_us[i] = muster_median_of(times_us + i * operations, operations);
}

/* slowest_us: the maximum over the ranks is taken of each operation before the median, since the time of an operation
 * of all ranks is that of its slowest rank. */
int muster_nccl_windows(const struct muster_nccl_session *s, muster_nccl_operation_fn *operation, void *arg,
	double once_us, const char *what, struct muster_nccl_windows *ret, struct muster_error *err)
{
	static double times_us[AGREED_MAX];
	static float slowest[AGREED_MAX];
	size_t operations, windows = plan(s, once_us, &operations), count = windows * operations;
	double late_us;
	if (muster_nccl_time_each(s, operation, arg, count, muster_nccl_head_us((int)count, once_us), what, times_us,
		    &late_us, err) < 0)
		return -1;
	for (size_t i = 0; i < count; i++)
		slowest[i] = (float)times_us[i];
	ret->count = windows;
	fold_windows(times_us, windows, operations, ret->own_us);
	if (!ret->of_all)
		return 0;
	if (muster_nccl_agree(s, slowest, count, err) < 0)
		return -1;
	for (size_t i = 0; i < count; i++)
		times_us[i] = (double)slowest[i];
	fold_windows(times_us, windows, operations, ret->slowest_us);
	return 0;
}

int muster_nccl_has_time(const struct muster_nccl_session *s, double needed_us, bool *ret, struct muster_error *err)
{
	double left_ms = -(s->deadline_ms - muster_now_ms()); /* the maximum is that of the rank with the least time */
	if (muster_nccl_slowest(s, &left_ms, err) < 0)
		return -1;
	*ret = needed_us / 1e3 < -left_ms;
	return 0;
}
