/* SPDX-License-Identifier: Apache-2.0 */
/* cuda.h - the parts of libcuda.so.1's stand-in and what they know of each other
 *
 * cuda.c has the devices and contexts, cuda_memory.c the memory, cuda_stream.c the streams and events, cuda_copies.c
 * the copies, cuda_kernels.c the kernels, cuda_contents.c what memory holds, cuda_compare.c what kernels find that read
 * it. Every exported function runs between an _enter_ and leave, which hold the one lock.
 */
#ifndef MUSTER_SIM_STANDINS_CUDA_H
#define MUSTER_SIM_STANDINS_CUDA_H

#include "sim/cluster.h"
#include "probes/gpu/kernels.h"
#include "sim/standins/base.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define X(symbol, parameters) MUSTER_STANDIN_EXPORT CUresult symbol parameters;
MUSTER_CUDA_FUNCTIONS(X)
#undef X
#define X(type, symbol, parameters) MUSTER_STANDIN_EXPORT type symbol parameters;
MUSTER_STANDIN_CUDA_FUNCTIONS(X)
#undef X

/* Codes of cuda.h that the stand-in gives and muster only prints. */
#define CUDA_ERROR_INVALID_IMAGE_ ((CUresult)200)
#define CUDA_ERROR_NOT_FOUND_ ((CUresult)500)
#define CUDA_ERROR_ILLEGAL_ADDRESS_ ((CUresult)700)
#define CUDA_ERROR_CONTEXT_IS_DESTROYED_ ((CUresult)709)
#define CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED_ ((CUresult)712)
#define CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED_ ((CUresult)713)
#define CUDA_ERROR_MISALIGNED_ADDRESS_ ((CUresult)716)
#define CUDA_ERROR_DEVICE_UNAVAILABLE_ ((CUresult)46)
#define CUDA_ERROR_SYSTEM_DRIVER_MISMATCH_ ((CUresult)803)

struct muster_simcuda_piece;

struct muster_simcuda_allocation {
	struct muster_simcuda_allocation *next; /* of all contexts, the newest first */
	struct CUctx_st *context;
	CUdeviceptr base;
	size_t bytes;
	size_t before;                       /* bytes of the other large allocations when a large one was made; 0 */
	struct muster_simcuda_piece *pieces; /* what was written; the rest holds whatever */
};

/* A place in device memory. */
struct muster_simcuda_range {
	struct muster_simcuda_allocation *allocation;
	size_t offset;
};

struct muster_simcuda_operation;

struct CUstream_st {
	struct CUstream_st *next;
	struct CUctx_st *context;
	struct muster_simcuda_operation *first, **last; /* the queue; last: where the next one is linked in */
	double now; /* seconds of virtual time: when the last operation that was carried out has ended */
};

/* A device, and its primary context. */
struct CUctx_st {
	const struct muster_sim_gpu *gpu;
	unsigned int retained; /* how often, less releases; 0: there is no primary context */
	CUresult broken;       /* what every call that needs the context gives once work has failed; CUDA_SUCCESS */
	struct CUmod_st *modules;
	bool worked;                       /* something in a stream was done */
	double loaded_seconds;             /* of work while there were modules; kept when the context goes */
	size_t used;                       /* bytes allocated */
	struct CUstream_st default_stream; /* first of the list of streams; created streams follow */
	struct CUevent_st *events;
	size_t copies_alone;    /* from or to the host, that were queued at once the first time; see cuda_copies.c */
	double copied_until[2]; /* copies to the device, to the host: when the last one ended */
};

/* Take the lock, and say whether the call may go on: the driver must be initialised, and with _context a live context
 * must be current. Whatever the answer, leave must follow. */
CUresult muster_simcuda_enter(void);
CUresult muster_simcuda_enter_context(struct CUctx_st **ret);
CUresult muster_simcuda_leave(CUresult result); /* drops the lock, returns result */
/* The call ends here when it cannot go on, or its other arguments are not as they should be. */
#define ENTER(entered, arguments_ok)                                                                                   \
	do {                                                                                                           \
		CUresult answer = (entered);                                                                           \
		if (answer == CUDA_SUCCESS && !(arguments_ok))                                                         \
			answer = CUDA_ERROR_INVALID_VALUE;                                                             \
		if (answer != CUDA_SUCCESS)                                                                            \
			return muster_simcuda_leave(answer);                                                           \
	} while (0)
void muster_simcuda_pause(void); /* sleep a moment without the lock */

/* The devices that this process may see, in CUDA's order. */
size_t muster_simcuda_device_count(void);
struct CUctx_st *muster_simcuda_device(size_t ordinal);
struct CUctx_st *muster_simcuda_current(void); /* NULL: none */

/* -- memory -- */
size_t muster_simcuda_free_bytes(const struct CUctx_st *context);
bool muster_simcuda_range_find(CUdeviceptr pointer, size_t bytes, struct muster_simcuda_range *ret);
void muster_simcuda_put(struct muster_simcuda_range to, const void *from, size_t bytes);
void muster_simcuda_get(struct muster_simcuda_range from, void *to, size_t bytes);
bool muster_simcuda_pinned(const void *pointer, size_t bytes);
void muster_simcuda_forget_memory(struct CUctx_st *context);

/* -- what it holds -- */
/* The range holds the pattern, whose place 0 is the range's first byte. It begins and ends at whole 8-byte words. */
void muster_simcuda_fill(struct muster_simcuda_range to, size_t bytes, const struct muster_pattern *pattern);
/* The range holds the data, again and again: length is bytes, or a window. */
void muster_simcuda_lay(struct muster_simcuda_range to, size_t bytes, const void *data, size_t length);
void muster_simcuda_flip(struct muster_simcuda_range word); /* the lowest bit of a word that was filled or laid */
/* It holds whatever from now on. */
void muster_simcuda_drop(struct muster_simcuda_range to, size_t bytes);
/* What kernels do, as the scenario's GPU does it: see kernels.h. threads: how many there are. */
void muster_simcuda_verify(struct muster_simcuda_range range, size_t bytes, const struct muster_pattern *pattern,
	size_t threads, struct muster_kernel_report *report);
void muster_simcuda_compare(struct muster_simcuda_range range, struct muster_simcuda_range expected, size_t bytes,
	size_t threads, struct muster_kernel_report *report);
/* Of a range that is not folded, what the kernel computes; of a longer one, another number of the same nature. */
uint64_t muster_simcuda_sum(struct muster_simcuda_range range, size_t bytes);

/* -- kernels -- */
void muster_simcuda_forget_modules(struct CUctx_st *context);

/* -- streams -- */
void muster_simcuda_wait_idle(void); /* wait until no stream has work, as calls that free memory do */
void muster_simcuda_forget_streams(struct CUctx_st *context);

/* -- what an allocation holds -- */

#define MUSTER_SIMCUDA_NOWHERE SIZE_MAX

/* Bytes that repeat. */
struct muster_simcuda_tile {
	size_t references, length; /* references: pieces that have it */
	unsigned char data[];
};

/* The pieces of an allocation are sorted and do not overlap. */
struct muster_simcuda_piece {
	struct muster_simcuda_piece *next;
	size_t from, to;                  /* bytes of the allocation */
	struct muster_pattern pattern;    /* without or_mask */
	struct muster_simcuda_tile *tile; /* in place of the pattern; NULL: none */
	size_t begin;                     /* where the tile begins: bytes of the allocation */
	size_t flipped;                   /* where a word is that has one wrong bit; NOWHERE: there is none */
};

/* The same words by another rule: or_mask is 0, and a pattern that has the same word at each place has seed 0. */
struct muster_pattern muster_simcuda_normalise(const struct muster_pattern *given, size_t offset);
/* The piece that holds the byte at `from`, NULL when none does, and how far that goes, `to` at most. */
struct muster_simcuda_piece *muster_simcuda_piece_find(
	const struct muster_simcuda_allocation *allocation, size_t from, size_t to, size_t *ret_to);

/* -- what a queue holds -- */

enum muster_simcuda_kind {
	MUSTER_SIMCUDA_TO_DEVICE,
	MUSTER_SIMCUDA_TO_HOST,
	MUSTER_SIMCUDA_WITHIN_DEVICE,
	MUSTER_SIMCUDA_FILL,
	MUSTER_SIMCUDA_RECORD,
	MUSTER_SIMCUDA_WAIT,
	MUSTER_SIMCUDA_EXTERNAL
};

/* One call of cuEventRecord. An operation that waits for it still waits for this call when the event is recorded again.
 */
struct muster_simcuda_moment {
	size_t references;
	bool happened;
	double time; /* seconds of virtual time */
};

/* An entry of a stream's queue. It is carried out when it is the first one, and freed then. */
struct muster_simcuda_operation {
	struct muster_simcuda_operation *next;
	enum muster_simcuda_kind kind;
	double queued;                        /* the host's time: nothing begins before it is asked for */
	double asked;                         /* the same by CLOCK_MONOTONIC */
	double seconds;                       /* how long it takes, on the virtual clock */
	bool untimed;                         /* a copy from or to the host whose seconds are not known yet */
	double share;                         /* of the bandwidth, of such a copy */
	struct muster_simcuda_range to, from; /* on the device */
	const void *source;                   /* TO_DEVICE */
	void *target;                         /* TO_HOST */
	size_t bytes;
	unsigned int value;
	struct muster_simcuda_moment *moment; /* RECORD, WAIT */
	struct muster_standin_operation external;
};

/* Put a copy of it at the end of the queue. */
void muster_simcuda_enqueue(struct CUstream_st *stream, const struct muster_simcuda_operation *operation);
/* How long the operation takes that begins at stream->now, with the noise of that moment. */
double muster_simcuda_disturbed(const struct CUstream_st *stream, const struct muster_simcuda_operation *operation,
	enum muster_sim_noise_kind kind);
/* Do what can be done in the stream. */
void muster_simcuda_progress(struct CUstream_st *stream);
/* muster_simcuda_enter, for a call about a stream. */
CUresult muster_simcuda_enter_stream(CUstream stream, struct CUstream_st **ret);
/* Whether another stream of the device is at work at that time, or has work in its queue. */
bool muster_simcuda_is_beside(const struct CUstream_st *stream, double time);

/* -- copies -- */
/* Carry out a copy or a fill that is the first in its queue, and begins at stream->now. */
void muster_simcuda_copy(struct CUstream_st *stream, struct muster_simcuda_operation *operation);

#endif
