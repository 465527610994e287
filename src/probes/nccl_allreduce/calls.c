/* calls.c - what a ring asks of NCCL and of its stream, none of which is waited for without a deadline */
#include "probes/nccl_allreduce/parts.h"

#include "util/text.h"

#include <sched.h>
#include <string.h>
#include <time.h>

/* Short waits spin, so that they end when what they wait for ends; long ones leave the CPU to others. */
#define POLLS_SPINNING 256
#define POLLS_SHORT 4096

static void pause_poll(unsigned int *polls)
{
	const struct timespec pause = { .tv_nsec = *polls < POLLS_SHORT ? 20000 : 1000000 };
	if ((*polls)++ < POLLS_SPINNING)
		sched_yield();
	else
		nanosleep(&pause, NULL);
}

/* Whether to go on waiting. */
static int check_deadline(const struct session *s, unsigned int polls, const char *what, struct muster_error *err)
{
	if (polls > POLLS_SPINNING && muster_called_off(s->ctx, err) < 0)
		return -1;
	if (muster_now_ms() < s->deadline_ms)
		return 0;
	return muster_fail(err, MUSTER_ETIME, "%s did not end within %d ms", what, s->ring->timeout_ms);
}

int session_settle(const struct session *s, ncclResult_t result, const char *call, struct muster_error *err)
{
	const struct gear *gear = s->gear;
	unsigned int polls = 0;
	for (;;) {
		if (muster_nccl_check(gear->nccl, result, s->comm, err, call) < 0)
			return -1;
		if (result == ncclSuccess)
			return 0;
		if (check_deadline(s, polls, call, err) < 0)
			return -1;
		pause_poll(&polls);
		ncclResult_t asked = gear->nccl->ncclCommGetAsyncError(s->comm, &result);
		if (muster_nccl_check(gear->nccl, asked, s->comm, err, "ncclCommGetAsyncError") < 0)
			return -1;
	}
}

int session_wait(const struct session *s, CUevent event, const char *what, struct muster_error *err)
{
	const struct gear *gear = s->gear;
	unsigned int polls = 0;
	for (;;) {
		CUresult reached = gear->cuda->cuEventQuery(event);
		if (reached != CUDA_ERROR_NOT_READY)
			return muster_cuda_check(gear->cuda, reached, err, what);
		ncclResult_t result = ncclSuccess;
		ncclResult_t asked = gear->nccl->ncclCommGetAsyncError(s->comm, &result);
		if (muster_nccl_check(gear->nccl, asked, s->comm, err, "ncclCommGetAsyncError") < 0 ||
			muster_nccl_check(gear->nccl, result, s->comm, err, what) < 0 ||
			check_deadline(s, polls, what, err) < 0)
			return -1;
		pause_poll(&polls);
	}
}

int session_record(const struct session *s, CUevent event, struct muster_error *err)
{
	const struct gear *gear = s->gear;
	return muster_cuda_check(gear->cuda, gear->cuda->cuEventRecord(event, gear->stream), err, "cuEventRecord");
}

int session_elapsed_us(const struct session *s, double *ret, struct muster_error *err)
{
	const struct gear *gear = s->gear;
	float ms = 0;
	if (muster_cuda_check(gear->cuda, gear->cuda->cuEventElapsedTime(&ms, gear->start, gear->end), err,
		    "cuEventElapsedTime") < 0)
		return -1;
	*ret = (double)ms * 1e3;
	return 0;
}

int session_reduce(const struct session *s, CUdeviceptr at, size_t values, ncclRedOp_t op, struct muster_error *err)
{
	void *buffer = (void *)(uintptr_t)at;
	return session_settle(s,
		s->gear->nccl->ncclAllReduce(buffer, buffer, values, ncclFloat32, op, s->comm, s->gear->stream),
		"ncclAllReduce", err);
}

int session_agree(const struct session *s, float *values, size_t count, struct muster_error *err)
{
	const struct gear *gear = s->gear;
	const struct muster_cuda *cuda = gear->cuda;
	size_t bytes = count * sizeof *values;
	memcpy(gear->chunks.data, values, bytes);
	if (muster_cuda_check(cuda, cuda->cuMemcpyHtoDAsync_v2(gear->agreed, gear->chunks.data, bytes, gear->stream),
		    err, "cuMemcpyHtoDAsync_v2") < 0 ||
		session_reduce(s, gear->agreed, count, ncclMax, err) < 0 ||
		muster_cuda_check(cuda,
			cuda->cuMemcpyDtoHAsync_v2(gear->chunks.data, gear->agreed, bytes, gear->stream), err,
			"cuMemcpyDtoHAsync_v2") < 0 ||
		session_record(s, gear->end, err) < 0 || session_wait(s, gear->end, "the ranks' agreement", err) < 0)
		return -1;
	memcpy(values, gear->chunks.data, bytes);
	return 0;
}
