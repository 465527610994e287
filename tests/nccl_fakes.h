/* SPDX-License-Identifier: Apache-2.0 */
/* nccl_fakes.h - a scripted NCCL of one communicator, on the GPU of gpu_fakes.h
 *
 * Calls are taken at once, or after some polls as a non-blocking communicator takes them. A test adds the operations
 * that it needs to scripted_nccl.
 */
#ifndef MUSTER_TESTS_NCCL_FAKES_H
#define MUSTER_TESTS_NCCL_FAKES_H

#include "gpu_fakes.h"
#include "vendor/nccl.h"
#include "vendor/nccl_log.h"

#include <stdio.h>

#define AT "gpu-1:2187:2301 [0] NCCL INFO " /* before each line of NCCL's log */

static struct ncclComm {
	int pending, pending_each; /* polls until a call is taken */
	ncclResult_t broken;       /* what the communicator says while it is waited for */
	int depth;                 /* of groups */
	int aborted;
} the_comm;
static struct muster_nccl scripted_nccl;

/* The answer to a call of the communicator. */
static inline ncclResult_t fake_take(void)
{
	ck_assert_int_eq(the_comm.pending, 0);
	the_comm.pending = the_comm.pending_each;
	return the_comm.pending ? ncclInProgress : ncclSuccess;
}

static ncclResult_t fake_async(ncclComm_t comm, ncclResult_t *result)
{
	ck_assert_ptr_eq(comm, &the_comm);
	the_comm.pending -= the_comm.pending > 0;
	*result = the_comm.pending ? ncclInProgress : the_comm.broken;
	return ncclSuccess;
}

static ncclResult_t fake_abort(ncclComm_t comm)
{
	ck_assert_ptr_eq(comm, &the_comm);
	the_comm.aborted++;
	return ncclSuccess;
}

static ncclResult_t fake_group_start(void)
{
	ck_assert_int_eq(the_comm.depth++, 0);
	return ncclSuccess;
}

/* An event that is recorded before NCCL has taken the call measures nothing. */
static CUresult strict_record(CUevent event, CUstream stream)
{
	ck_assert_int_eq(the_comm.pending, 0);
	ck_assert_int_eq(the_comm.depth, 0);
	return fake_record(event, stream);
}

/* NVLink joins no GPU of these tests to another. */
static inline nvmlReturn_t fake_no_gpus(unsigned int *count)
{
	*count = 0;
	return NVML_ERROR_UNKNOWN;
}

/* After fake_gpu_reset. */
static void fake_nccl_reset(void)
{
	scripted_nvml.nvmlDeviceGetCount_v2 = fake_no_gpus;
	the_comm = (struct ncclComm){ 0 };
	scripted_nccl = (struct muster_nccl){
		.ncclCommGetAsyncError = fake_async,
		.ncclCommAbort = fake_abort,
		.ncclGroupStart = fake_group_start,
	};
	scripted_cuda.cuEventRecord = strict_record;
	unsetenv("NCCL_DEBUG_FILE");
}

/* Write to NCCL's log, as fopen's mode says. */
static inline void fake_log(const char *mode, const char *text)
{
	struct muster_error err;
	ck_assert_int_eq(muster_nccl_log_start(&err), 0);
	FILE *out = fopen(getenv("NCCL_DEBUG_FILE"), mode);
	ck_assert_ptr_nonnull(out);
	fputs(text, out);
	fclose(out);
}

const struct muster_nccl *muster_nccl(struct muster_error *err)
{
	(void)err;
	return &scripted_nccl;
}

const char *muster_nccl_version_text(int version, char *out, size_t size)
{
	snprintf(out, size, "%d.%d.%d", version / 10000, version / 100 % 100, version % 100);
	return out;
}

int muster_nccl_check(const struct muster_nccl *library, ncclResult_t result, ncclComm_t comm, struct muster_error *err,
	const char *call)
{
	(void)library;
	(void)comm;
	if (result == ncclSuccess || result == ncclInProgress)
		return 0;
	return muster_fail(err, MUSTER_EVENDOR, "%s: result %d", call, (int)result);
}

#endif
