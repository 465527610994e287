/* cuda_queue.h - what a stream's queue holds
 */
#ifndef MUSTER_SIM_STANDINS_CUDA_QUEUE_H
#define MUSTER_SIM_STANDINS_CUDA_QUEUE_H

#include "sim/standins/cuda.h"

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

struct muster_simcuda_operation {
	struct muster_simcuda_operation *next;
	enum muster_simcuda_kind kind;
	double queued; /* the host's time: nothing begins before it is asked for */
	double seconds;
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
/* Do what can be done in the stream. */
void muster_simcuda_progress(struct CUstream_st *stream);
/* muster_simcuda_enter, for a call about a stream. */
CUresult muster_simcuda_enter_stream(CUstream stream, struct CUstream_st **ret);
/* Whether another stream of the device is at work at that time, or has work in its queue. */
bool muster_simcuda_is_beside(const struct CUstream_st *stream, double time);

/* -- copies -- */
/* Before a copy from or to the host that is the first in its queue, and begins at stream->now, is carried out. */
void muster_simcuda_copy_begin(struct CUstream_st *stream, struct muster_simcuda_operation *copy);
void muster_simcuda_copy(const struct muster_simcuda_operation *copy);

#endif
