/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_memory.c - libcuda.so.1 for the simulation: device memory and pinned host memory
 *
 * Device addresses are numbers that point nowhere: a program that reads one dies, as it would on a real machine.
 *
 * An allocation is a range of such numbers, and no number is given twice in the life of the process: a stale pointer is
 * in no allocation. What the range holds is a list of pieces (cuda_contents.c), so 80 GB of a GPU need no memory here.
 * What is free is the GPU's memory less what this process has allocated and what other programs hold (memory_held_mib).
 */
#include "sim/standins/cuda.h"

#include "muster/arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_ADDRESS 0x7000000000000000u /* no process of x86-64 or aarch64 has user memory there */
#define GRANULE ((size_t)2 << 20)         /* each allocation begins at a multiple of this */

/* Pinned host memory: the bytes from `from` up to, and without, `to`. Ranges do not overlap. */
struct registered {
	struct registered *next;
	uintptr_t from, to;
};

static struct muster_simcuda_allocation *allocations;
static struct registered *registrations;
static CUdeviceptr next_address = FIRST_ADDRESS;

/* -- places -- */

/* False when the range is in no allocation, or not all of it in one. */
bool muster_simcuda_range_find(CUdeviceptr pointer, size_t bytes, struct muster_simcuda_range *ret)
{
	for (struct muster_simcuda_allocation *a = allocations; a; a = a->next) {
		if (pointer < a->base || pointer - a->base >= a->bytes)
			continue;
		size_t offset = (size_t)(pointer - a->base);
		if (bytes > a->bytes - offset)
			return false;
		*ret = (struct muster_simcuda_range){ a, offset };
		return true;
	}
	return false;
}

bool muster_standin_cuda_check(CUdeviceptr pointer, size_t bytes)
{
	struct muster_simcuda_range place;
	return muster_simcuda_range_find(pointer, bytes, &place);
}

void muster_standin_cuda_read(void *to, CUdeviceptr from, size_t bytes)
{
	struct muster_simcuda_range place;
	if (muster_simcuda_range_find(from, bytes, &place))
		muster_simcuda_get(place, to, bytes);
}

void muster_standin_cuda_write(CUdeviceptr to, size_t bytes, const void *data, size_t length)
{
	struct muster_simcuda_range place;
	if (!muster_simcuda_range_find(to, bytes, &place))
		return;
	if (length < bytes)
		muster_simcuda_lay(place, bytes, data, length);
	else
		muster_simcuda_put(place, data, bytes);
}

void muster_standin_cuda_flip(CUdeviceptr word)
{
	struct muster_simcuda_range place;
	if (muster_simcuda_range_find(word, sizeof(uint64_t), &place))
		muster_simcuda_flip(place);
}

unsigned long long muster_standin_cuda_sum(CUdeviceptr from, size_t bytes)
{
	struct muster_simcuda_range place;
	return muster_simcuda_range_find(from, bytes, &place) ? muster_simcuda_sum(place, bytes) : 0;
}

void muster_standin_cuda_fill(CUdeviceptr to, size_t bytes, const struct muster_standin_pattern *what)
{
	struct muster_simcuda_range place;
	if (!muster_simcuda_range_find(to, bytes, &place))
		return;
	muster_simcuda_fill(place, bytes, &what->words);
	place.offset += what->flipped;
	if (what->flipped != MUSTER_SIMCUDA_NOWHERE)
		muster_simcuda_flip(place);
}

/* -- device memory -- */

size_t muster_simcuda_free_bytes(const struct CUctx_st *context)
{
	size_t total = (size_t)(muster_sim_memory_mib(context->gpu) * 1048576);
	size_t taken = context->used + (size_t)(context->gpu->memory_held_mib * 1048576);
	return taken < total ? total - taken : 0;
}

/* From this size on, the allocations of a context count as one range, in the order in which they were made: the bad
 * word of the fault memory-bad has one place in it (`before` says where an allocation begins there). In each smaller
 * allocation the place counts from the allocation's own start. */
#define LARGE ((size_t)1 << 30)

static size_t large_bytes(const struct CUctx_st *context)
{
	size_t bytes = 0;
	for (const struct muster_simcuda_allocation *a = allocations; a; a = a->next)
		bytes += a->context == context && a->bytes >= LARGE ? a->bytes : 0;
	return bytes;
}

static CUresult allocate(struct CUctx_st *context, CUdeviceptr *ret, size_t bytes)
{
	if (!ret || bytes == 0)
		return CUDA_ERROR_INVALID_VALUE;
	if (bytes > muster_simcuda_free_bytes(context))
		return CUDA_ERROR_OUT_OF_MEMORY;
	struct muster_simcuda_allocation *a = muster_calloc(1, sizeof *a);
	a->context = context;
	a->base = next_address;
	a->bytes = bytes;
	a->before = bytes >= LARGE ? large_bytes(context) : 0;
	a->next = allocations;
	allocations = a;
	context->used += bytes;
	next_address += (bytes + GRANULE) / GRANULE * GRANULE; /* at least a byte between two */
	*ret = a->base;
	return CUDA_SUCCESS;
}

/* Memory that nothing frees before the context ends: the code of a library (the fault eager-modules). */
bool muster_standin_cuda_take(size_t bytes)
{
	struct CUctx_st *context;
	CUdeviceptr pointer;
	CUresult result = muster_simcuda_enter_context(&context);
	return muster_simcuda_leave(result == CUDA_SUCCESS ? allocate(context, &pointer, bytes) : result) ==
	       CUDA_SUCCESS;
}

CUresult cuMemAlloc_v2(CUdeviceptr *pointer, size_t bytes)
{
	struct CUctx_st *context;
	CUresult result = muster_simcuda_enter_context(&context);
	return muster_simcuda_leave(result == CUDA_SUCCESS ? allocate(context, pointer, bytes) : result);
}

static void forget(struct muster_simcuda_allocation **at)
{
	struct muster_simcuda_allocation *gone = *at;
	muster_simcuda_drop((struct muster_simcuda_range){ gone, 0 }, gone->bytes);
	*at = gone->next;
	gone->context->used -= gone->bytes;
	free(gone);
}

/* Waits for the work in all streams, as the real call does. NULL is no error. */
CUresult cuMemFree_v2(CUdeviceptr pointer)
{
	struct CUctx_st *context;
	CUresult result = muster_simcuda_enter_context(&context);
	if (result != CUDA_SUCCESS || pointer == 0)
		return muster_simcuda_leave(result);
	muster_simcuda_wait_idle();
	for (struct muster_simcuda_allocation **at = &allocations; *at; at = &(*at)->next) {
		if ((*at)->base == pointer) {
			forget(at);
			return muster_simcuda_leave(CUDA_SUCCESS);
		}
	}
	return muster_simcuda_leave(CUDA_ERROR_INVALID_VALUE);
}

void muster_simcuda_forget_memory(struct CUctx_st *context)
{
	for (struct muster_simcuda_allocation **at = &allocations; *at;) {
		if ((*at)->context == context)
			forget(at);
		else
			at = &(*at)->next;
	}
}

/* -- pinned host memory -- */

/* The link to the first range that overlaps; it is NULL when none does. */
static struct registered **find_registered(uintptr_t from, uintptr_t to)
{
	struct registered **at = &registrations;
	while (*at && (to <= (*at)->from || from >= (*at)->to))
		at = &(*at)->next;
	return at;
}

bool muster_simcuda_pinned(const void *pointer, size_t bytes)
{
	uintptr_t from = (uintptr_t)pointer;
	struct registered *found = *find_registered(from, from + bytes);
	return found && from >= found->from && from + bytes <= found->to;
}

bool muster_standin_cuda_pinned(const void *pointer, size_t bytes)
{
	muster_standin_cuda_lock();
	bool pinned = muster_simcuda_pinned(pointer, bytes);
	muster_standin_cuda_unlock();
	return pinned;
}

CUresult cuMemHostRegister_v2(void *pointer, size_t bytes, unsigned int flags)
{
	struct CUctx_st *context;
	uintptr_t from = (uintptr_t)pointer;
	ENTER(muster_simcuda_enter_context(&context),
		pointer && bytes > 0 && bytes <= UINTPTR_MAX - from && flags <= 0xf);
	if (*find_registered(from, from + bytes))
		return muster_simcuda_leave(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED_);
	struct registered *new = muster_calloc(1, sizeof *new);
	*new = (struct registered){ registrations, from, from + bytes };
	registrations = new;
	return muster_simcuda_leave(CUDA_SUCCESS);
}

CUresult cuMemHostUnregister(void *pointer)
{
	struct CUctx_st *context;
	ENTER(muster_simcuda_enter_context(&context), pointer != NULL);
	muster_simcuda_wait_idle();
	struct registered **at = find_registered((uintptr_t)pointer, (uintptr_t)pointer + 1);
	if (!*at || (*at)->from != (uintptr_t)pointer)
		return muster_simcuda_leave(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED_);
	struct registered *gone = *at;
	*at = gone->next;
	free(gone);
	return muster_simcuda_leave(CUDA_SUCCESS);
}

void muster_standin_cuda_pin(void *pointer, size_t bytes)
{
	if (bytes > 0)
		cuMemHostRegister_v2(pointer, bytes, 0);
	else
		cuMemHostUnregister(pointer);
}
