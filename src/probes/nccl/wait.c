/* SPDX-License-Identifier: Apache-2.0 */
/* wait.c - what a session asks of NCCL and of its stream, none of which is waited for without a deadline
 *
 * A wait ends in one of these ways, whichever comes first: the event is reached; the communicator has an error of its
 * own (a peer closed its connection, a network error); another rank has failed and rank 0 has cancelled the command
 * (MUSTER_ECALLEDOFF); the deadline of the callback passed (MUSTER_ETIME, or MUSTER_ESTALLED where even a slow network
 * would have been done). A blocking cuStreamSynchronize would know none of the last three.
 *
 * Polls: 256 with sched_yield, then each 0.02 ms, and from 4,096 polls on each 1 ms, so that a long wait leaves the CPU
 * to the threads of NCCL, which may be bound to the same CPU.
 */
#include "probes/nccl/session.h"

#include "util/text.h"

#include <sched.h>
#include <string.h>

/* Short waits spin, so that they end when what they wait for ends; long waits leave the CPU to others. */
#define POLLS_SPINNING 256
#define POLLS_SHORT 4096

#define STALLED_MS 10000.0     /* of a wait: the first all-reduce, which connects the ranks, needs a few seconds */
#define STALLED_PER_MS 30000.0 /* bytes; 30 MB/s, where the slowest networks reach some hundred */

static void pause_poll(unsigned int *polls)
{
	if ((*polls)++ < POLLS_SPINNING)
		sched_yield();
	else
		muster_sleep_ms(*polls < POLLS_SHORT ? 0.02 : 1);
}

/* Whether to go on waiting: 0, or -1 with err. A cancellation costs a system call, so it is asked for only once the
 * wait no longer spins. The message names the time of the whole callback, of which this wait had what was left. */
static int check_deadline(
	const struct muster_nccl_session *s, unsigned int polls, const char *what, struct muster_error *err)
{
	if (polls > POLLS_SPINNING && muster_cancelled(s->ctx, err) < 0)
		return -1;
	if (muster_now_ms() < s->deadline_ms)
		return 0;
	return muster_fail(err, MUSTER_ETIME, "%s did not finish within %d ms", what, s->ring.timeout_ms);
}

/* Until NCCL has taken the call whose result is given. `call` is its name in errors. A blocking communicator would
 * answer ncclSuccess at once, so this works with any. */
int muster_nccl_settle(
	const struct muster_nccl_session *s, ncclResult_t result, const char *call, struct muster_error *err)
{
	const struct muster_nccl *nccl = s->resources->nccl;
	unsigned int polls = 0;
	for (;;) {
		if (muster_nccl_check(nccl, result, s->comm, err, call) < 0)
			return -1;
		if (result == ncclSuccess)
			return 0;
		if (check_deadline(s, polls, call, err) < 0)
			return -1;
		pause_poll(&polls);
		if (MUSTER_NCCL(nccl, s->comm, err, ncclCommGetAsyncError, s->comm, &result) < 0)
			return -1;
	}
}

bool muster_nccl_is_stalled(uint64_t bytes, double waited_ms)
{
	return waited_ms >= STALLED_MS && waited_ms >= (double)bytes / STALLED_PER_MS;
}

/* MUSTER_ETIME becomes MUSTER_ESTALLED where the wait was so long that the exchange does not end: s->bytes is the size
 * that is measured. */
int muster_nccl_wait(const struct muster_nccl_session *s, CUevent event, const char *what, struct muster_error *err)
{
	const struct muster_nccl_resources *resources = s->resources;
	double began_ms = muster_now_ms();
	unsigned int polls = 0;
	for (;;) {
		CUresult reached = resources->cuda->cuEventQuery(event);
		if (reached != CUDA_ERROR_NOT_READY)
			return muster_cuda_check(resources->cuda, reached, err, what);
		ncclResult_t result = ncclSuccess;
		if (MUSTER_NCCL(resources->nccl, s->comm, err, ncclCommGetAsyncError, s->comm, &result) < 0 ||
			muster_nccl_check(resources->nccl, result, s->comm, err, what) < 0 ||
			check_deadline(s, polls, what, err) < 0) {
			if (err->code == MUSTER_ETIME && muster_nccl_is_stalled(s->bytes, muster_now_ms() - began_ms))
				err->code = MUSTER_ESTALLED;
			return -1;
		}
		pause_poll(&polls);
	}
}

int muster_nccl_record(const struct muster_nccl_session *s, CUevent event, struct muster_error *err)
{
	return MUSTER_CUDA(s->resources->cuda, err, cuEventRecord, event, s->resources->stream);
}

int muster_nccl_elapsed_us(const struct muster_nccl_session *s, double *ret, struct muster_error *err)
{
	const struct muster_nccl_resources *resources = s->resources;
	double ms;
	if (muster_cuda_elapsed(resources->cuda, resources->start, resources->end, &ms, err) < 0)
		return -1;
	*ret = ms * 1e3;
	return 0;
}

int muster_nccl_sum(
	const struct muster_nccl_session *s, CUdeviceptr at, size_t values, ncclRedOp_t op, struct muster_error *err)
{
	void *buffer = (void *)(uintptr_t)at;
	return muster_nccl_settle(s,
		s->resources->nccl->ncclAllReduce(
			buffer, buffer, values, ncclFloat32, op, s->comm, s->resources->stream),
		"ncclAllReduce", err);
}

/* Byte by byte, two of three. Where all three differ the first copy stays, and what it says is then checked by its
 * user. */
void muster_nccl_vote(const unsigned char *copies, size_t bytes, void *ret)
{
	for (size_t i = 0; i < bytes; i++) {
		unsigned char a = copies[i], b = copies[bytes + i], c = copies[2 * bytes + i];
		((unsigned char *)ret)[i] = b == c ? b : a;
	}
}

/* The copies lie one behind the other: copy 0 of all values, copy 1, copy 2. */
int muster_nccl_agree(const struct muster_nccl_session *s, float *values, size_t count, struct muster_error *err)
{
	const struct muster_nccl_resources *resources = s->resources;
	const struct muster_cuda *cuda = resources->cuda;
	unsigned char *host = resources->chunks.data;
	size_t bytes = count * sizeof *values, all = MUSTER_NCCL_COPIES * bytes;
	for (size_t i = 0; i < MUSTER_NCCL_COPIES; i++)
		memcpy(host + i * bytes, values, bytes);
	if (MUSTER_CUDA(cuda, err, cuMemcpyHtoDAsync_v2, resources->agreed, host, all, resources->stream) < 0 ||
		muster_nccl_sum(s, resources->agreed, MUSTER_NCCL_COPIES * count, ncclMax, err) < 0 ||
		MUSTER_CUDA(cuda, err, cuMemcpyDtoHAsync_v2, host, resources->agreed, all, resources->stream) < 0 ||
		muster_nccl_finish(s, "agreement of the ranks", err) < 0)
		return -1;
	muster_nccl_vote(host, bytes, values);
	return 0;
}

int muster_nccl_slowest(const struct muster_nccl_session *s, double *value, struct muster_error *err)
{
	float agreed = (float)*value;
	int failed = muster_nccl_agree(s, &agreed, 1, err);
	*value = (double)agreed;
	return failed;
}
