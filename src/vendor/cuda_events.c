/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_events.c - events of a GPU: made, freed, and the time between two */
#include "vendor/cuda.h"

int muster_cuda_events_make(const struct muster_cuda *cuda, CUevent *events, size_t count, struct muster_error *err)
{
	for (size_t i = 0; i < count; i++)
		if (MUSTER_CUDA(cuda, err, cuEventCreate, &events[i], CU_EVENT_DEFAULT) < 0)
			return -1;
	return 0;
}

void muster_cuda_events_free(const struct muster_cuda *cuda, const CUevent *events, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (events[i])
			cuda->cuEventDestroy_v2(events[i]);
}

int muster_cuda_elapsed(
	const struct muster_cuda *cuda, CUevent from, CUevent to, double *ret_ms, struct muster_error *err)
{
	float ms = 0;
	if (MUSTER_CUDA(cuda, err, cuEventElapsedTime, &ms, from, to) < 0)
		return -1;
	*ret_ms = (double)ms;
	return 0;
}

int muster_cuda_worked(
	const struct muster_cuda *cuda, CUevent from, CUevent to, double *ret_ms, struct muster_error *err)
{
	double ms;
	if (muster_cuda_elapsed(cuda, from, to, &ms, err) < 0)
		return -1;
	if (!(ms > 0))
		return muster_fail(err, MUSTER_EVENDOR, "cuEventElapsedTime: work took %g ms", ms);
	*ret_ms = ms;
	return 0;
}
