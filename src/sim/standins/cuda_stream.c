/* cuda_stream.c - libcuda.so.1 for the simulation: streams, events and copies on a virtual clock
 *
 * A stream is a queue. Nothing runs when it is queued; what can run does at a query or a free, so host
 * memory must not be read before the stream is done, as on a GPU. A copy takes bytes / bandwidth of virtual time and
 * nothing else: what a program measures with events is the scenario's figure exactly. Copies within the device and
 * fills take none: the scenario has no figure for them.
 *
 * CUDA's interface does not say that the GPUs of the node copy at once, and real time is not asked, so that every run
 * gives the same figures: who copies together with others queues more copies at once than the first time, alone. These
 * have the bandwidth of all GPUs at once, if the node has a rank for each of its GPUs.
 */
#include "sim/standins/cuda.h"
#include "sim/standins/kernel_log.h"

#include "muster/arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define PAGEABLE_SHARE (1.0 / 3) /* of the bandwidth of pinned memory */
#define EVENT_WITHOUT_TIME 0x2u  /* CU_EVENT_DISABLE_TIMING */

enum operation_kind { TO_DEVICE, TO_HOST, WITHIN_DEVICE, FILL, RECORD, WAIT, EXTERNAL };

struct muster_simcuda_operation {
	struct muster_simcuda_operation *next;
	enum operation_kind kind;
	double seconds;
	bool untimed;                         /* a copy from or to the host whose seconds are not known yet */
	double share;                         /* of the bandwidth, of such a copy */
	struct muster_simcuda_range to, from; /* on the device */
	const void *source;                   /* TO_DEVICE */
	void *target;                         /* TO_HOST */
	size_t bytes;
	unsigned int value;
	struct CUevent_st *event;
	unsigned long recording;
	struct muster_standin_operation external;
};

struct CUevent_st {
	struct CUevent_st *next;
	struct CUctx_st *context;
	unsigned int flags;
	unsigned long asked, recorded; /* how often cuEventRecord was called; the number of the last one done */
	size_t queued;                 /* operations that refer to it */
	bool destroyed;
	double time; /* seconds of its stream's clock */
};

static void event_free(struct CUevent_st *event)
{
	struct CUevent_st **at = &event->context->events;
	while (*at != event)
		at = &(*at)->next;
	*at = event->next;
	free(event);
}

/* -- carrying out -- */

static void drop_first(struct CUstream_st *stream)
{
	struct muster_simcuda_operation *gone = stream->first;
	stream->first = gone->next;
	if (!stream->first)
		stream->last = &stream->first;
	if (gone->kind == EXTERNAL)
		gone->external.done(gone->external.arg);
	if (gone->event && --gone->event->queued == 0 && gone->event->destroyed)
		event_free(gone->event);
	free(gone);
}

/* Whether the next thing that touches memory writes the same bytes once more: a benchmark's repeats. */
static bool is_repeated(const struct muster_simcuda_operation *copy)
{
	const struct muster_simcuda_operation *next = copy->next;
	while (next && next->kind == RECORD)
		next = next->next;
	return next && next->kind == TO_HOST && next->target == copy->target && next->bytes == copy->bytes &&
	       next->from.allocation == copy->from.allocation && next->from.offset == copy->from.offset;
}

/* Whether the next operation fills the same bytes once more, with whatever: work to keep a GPU busy. */
static bool is_refilled(const struct muster_simcuda_operation *fill)
{
	const struct muster_simcuda_operation *next = fill->next;
	return next && next->kind == FILL && next->bytes == fill->bytes && next->to.allocation == fill->to.allocation &&
	       next->to.offset == fill->to.offset;
}

static void copy_within(struct muster_simcuda_range to, struct muster_simcuda_range from, size_t bytes)
{
	static unsigned char between[MUSTER_STANDIN_WINDOW];
	size_t window = to.allocation->window;
	size_t skip = bytes > window ? bytes - window : 0;
	muster_simcuda_drop(to, skip);
	from.offset += skip;
	to.offset += skip;
	muster_simcuda_get(from, between, bytes - skip);
	muster_simcuda_put(to, between, bytes - skip);
}

/* 1: done, 0: not yet, -1: failed */
static int carry_out(struct CUstream_st *stream, struct muster_simcuda_operation *operation)
{
	switch (operation->kind) {
	case TO_DEVICE: muster_simcuda_put(operation->to, operation->source, operation->bytes); return 1;
	case TO_HOST:
		if (!is_repeated(operation))
			muster_simcuda_get(operation->from, operation->target, operation->bytes);
		return 1;
	case WITHIN_DEVICE: copy_within(operation->to, operation->from, operation->bytes); return 1;
	case FILL:
		if (!is_refilled(operation))
			muster_simcuda_set(operation->to, operation->value, operation->bytes / sizeof operation->value);
		return 1;
	case RECORD:
		operation->event->recorded = operation->recording;
		operation->event->time = stream->now;
		return 1;
	case WAIT:
		if (operation->event->recorded < operation->recording)
			return 0;
		if (stream->now < operation->event->time)
			stream->now = operation->event->time;
		return 1;
	case EXTERNAL: return operation->external.poll(operation->external.arg, &operation->seconds);
	}
	return -1;
}

/* Whether every GPU of the node has a rank that could use it. */
static bool is_node_full(void)
{
	const struct muster_sim_cluster *cluster = muster_sim_cluster();
	size_t ranks = 0;
	for (size_t i = 0; i < cluster->rank_count; i++)
		ranks += cluster->ranks[i].node == muster_sim_this_rank()->node;
	return ranks >= muster_sim_this_node()->gpu_count;
}

static bool is_host_copy(const struct muster_simcuda_operation *operation)
{
	return operation->kind == TO_DEVICE || operation->kind == TO_HOST;
}

/* The copies at the head of the queue that are like the first one, with records between them. */
static size_t count_alike(const struct muster_simcuda_operation *first)
{
	size_t count = 0;
	for (const struct muster_simcuda_operation *one = first; one; one = one->next) {
		if (one->kind == RECORD)
			continue;
		if (one->kind != first->kind || one->bytes != first->bytes)
			break;
		count++;
	}
	return count;
}

/* The copies that were queued at once, of which this is the first: how long each takes. */
static void time_copies(struct CUctx_st *context, struct muster_simcuda_operation *first)
{
	const struct muster_sim_gpu *gpu = context->gpu;
	size_t count = count_alike(first), left = count;
	if (context->copies_alone == 0)
		context->copies_alone = count;
	bool together = count > context->copies_alone && is_node_full();
	double to_gbps = together ? gpu->h2d_together_gbps : gpu->h2d_gbps;
	double from_gbps = together ? gpu->d2h_together_gbps : gpu->d2h_gbps;
	for (struct muster_simcuda_operation *one = first; left > 0; one = one->next) {
		if (one->kind == RECORD)
			continue;
		one->seconds = (double)one->bytes / ((one->kind == TO_DEVICE ? to_gbps : from_gbps) * 1e9 * one->share);
		one->untimed = false;
		left--;
	}
}

static void progress(struct CUstream_st *stream)
{
	while (stream->first) {
		if (is_host_copy(stream->first) && stream->first->untimed)
			time_copies(stream->context, stream->first);
		int state = carry_out(stream, stream->first);
		if (state == 0)
			return;
		if (state < 0) {
			if (stream->context->broken == CUDA_SUCCESS)
				stream->context->broken = CUDA_ERROR_LAUNCH_FAILED;
			while (stream->first)
				drop_first(stream);
			return;
		}
		stream->now += stream->first->seconds;
		stream->context->worked = true;
		if (stream->context->modules)
			stream->context->loaded_seconds += stream->first->seconds;
		drop_first(stream);
	}
}

/* Every live stream of the process. */
static bool progress_all(void)
{
	bool busy = false;
	for (size_t i = 0; i < muster_simcuda_device_count(); i++) {
		struct CUctx_st *context = muster_simcuda_device(i);
		if (context->retained == 0)
			continue;
		progress(&context->default_stream);
		busy = busy || context->default_stream.first;
		for (struct CUstream_st *stream = context->streams; stream; stream = stream->next) {
			progress(stream);
			busy = busy || stream->first;
		}
	}
	return busy;
}

void muster_simcuda_wait_idle(void)
{
	while (progress_all())
		muster_simcuda_pause();
}

/* -- streams -- */

static struct CUstream_st *find_stream(CUstream stream)
{
	struct CUctx_st *current = muster_simcuda_current();
	if (!stream)
		return current ? &current->default_stream : NULL;
	for (size_t i = 0; i < muster_simcuda_device_count(); i++) {
		struct CUctx_st *context = muster_simcuda_device(i);
		for (struct CUstream_st *s = context->streams; s; s = s->next)
			if (s == stream)
				return s;
	}
	return NULL;
}

static void stream_free(struct CUstream_st **at)
{
	struct CUstream_st *gone = *at;
	while (gone->first)
		drop_first(gone);
	*at = gone->next;
	free(gone);
}

void muster_simcuda_forget_streams(struct CUctx_st *context)
{
	while (context->default_stream.first)
		drop_first(&context->default_stream);
	while (context->streams)
		stream_free(&context->streams);
	while (context->events)
		event_free(context->events);
}

CUresult cuStreamCreate(CUstream *stream, unsigned int flags)
{
	struct CUctx_st *context;
	CUresult result = muster_simcuda_enter_context(&context);
	if (result == CUDA_SUCCESS && (!stream || flags > CU_STREAM_NON_BLOCKING))
		result = CUDA_ERROR_INVALID_VALUE;
	if (result == CUDA_SUCCESS) {
		struct CUstream_st *new = muster_calloc(1, sizeof *new);
		*new = (struct CUstream_st){ .next = context->streams, .context = context, .last = &new->first };
		context->streams = new;
		*stream = new;
	}
	return muster_simcuda_leave(result);
}

/* The real call lets the work finish in the background; here it waits for it. */
CUresult cuStreamDestroy_v2(CUstream stream)
{
	struct CUctx_st *context;
	CUresult result = muster_simcuda_enter_context(&context);
	if (result != CUDA_SUCCESS)
		return muster_simcuda_leave(result);
	struct CUstream_st *found = stream ? find_stream(stream) : NULL;
	if (!found)
		return muster_simcuda_leave(CUDA_ERROR_INVALID_HANDLE);
	for (progress(found); found->first; progress(found))
		muster_simcuda_pause();
	struct CUstream_st **at = &found->context->streams;
	while (*at != found)
		at = &(*at)->next;
	stream_free(at);
	return muster_simcuda_leave(CUDA_SUCCESS);
}

/* enter, for a call about a stream. */
static CUresult enter_stream(CUstream stream, struct CUstream_st **ret)
{
	struct CUctx_st *context;
	CUresult result = muster_simcuda_enter_context(&context);
	if (result != CUDA_SUCCESS)
		return result;
	*ret = find_stream(stream);
	return *ret ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuStreamQuery(CUstream stream)
{
	struct CUstream_st *found;
	CUresult result = enter_stream(stream, &found);
	if (result != CUDA_SUCCESS)
		return muster_simcuda_leave(result);
	progress(found);
	if (found->context->broken != CUDA_SUCCESS)
		result = found->context->broken;
	else if (found->first)
		result = CUDA_ERROR_NOT_READY;
	return muster_simcuda_leave(result);
}

static void enqueue(struct CUstream_st *stream, const struct muster_simcuda_operation *operation)
{
	struct muster_simcuda_operation *new = muster_calloc(1, sizeof *new);
	*new = *operation;
	new->next = NULL;
	*stream->last = new;
	stream->last = &new->next;
}

bool muster_standin_cuda_enqueue(CUstream stream, const struct muster_standin_operation *operation)
{
	struct CUstream_st *found = find_stream(stream);
	if (found)
		enqueue(found, &(struct muster_simcuda_operation){ .kind = EXTERNAL, .external = *operation });
	return found != NULL;
}

void muster_standin_cuda_progress(void)
{
	progress_all();
}

/* -- events -- */

static struct CUevent_st *find_event(CUevent event)
{
	for (size_t i = 0; i < muster_simcuda_device_count(); i++) {
		struct CUctx_st *context = muster_simcuda_device(i);
		for (struct CUevent_st *e = context->events; e; e = e->next)
			if (e == event && !e->destroyed)
				return e;
	}
	return NULL;
}

static CUresult enter_event(CUevent event, struct CUevent_st **ret)
{
	struct CUctx_st *context;
	CUresult result = muster_simcuda_enter_context(&context);
	if (result != CUDA_SUCCESS)
		return result;
	*ret = find_event(event);
	return *ret ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuEventCreate(CUevent *event, unsigned int flags)
{
	struct CUctx_st *context;
	CUresult result = muster_simcuda_enter_context(&context);
	if (result == CUDA_SUCCESS && (!event || flags > 0x7))
		result = CUDA_ERROR_INVALID_VALUE;
	if (result == CUDA_SUCCESS) {
		struct CUevent_st *new = muster_calloc(1, sizeof *new);
		*new = (struct CUevent_st){ .next = context->events, .context = context, .flags = flags };
		context->events = new;
		*event = new;
	}
	return muster_simcuda_leave(result);
}

CUresult cuEventDestroy_v2(CUevent event)
{
	struct CUevent_st *found;
	CUresult result = enter_event(event, &found);
	if (result != CUDA_SUCCESS)
		return muster_simcuda_leave(result);
	found->destroyed = true;
	if (found->queued == 0)
		event_free(found);
	return muster_simcuda_leave(CUDA_SUCCESS);
}

CUresult cuEventRecord(CUevent event, CUstream stream)
{
	struct CUevent_st *found;
	CUresult result = enter_event(event, &found);
	struct CUstream_st *in = result == CUDA_SUCCESS ? find_stream(stream) : NULL;
	if (result == CUDA_SUCCESS && (!in || in->context != found->context))
		result = CUDA_ERROR_INVALID_HANDLE;
	if (result == CUDA_SUCCESS) {
		found->queued++;
		found->asked++;
		enqueue(in, &(struct muster_simcuda_operation){
				    .kind = RECORD, .event = found, .recording = found->asked });
	}
	return muster_simcuda_leave(result);
}

/* An event that was never recorded counts as done. */
CUresult cuEventQuery(CUevent event)
{
	struct CUevent_st *found;
	CUresult result = enter_event(event, &found);
	if (result != CUDA_SUCCESS)
		return muster_simcuda_leave(result);
	progress_all();
	if (found->context->broken != CUDA_SUCCESS)
		result = found->context->broken;
	else if (found->recorded != found->asked)
		result = CUDA_ERROR_NOT_READY;
	return muster_simcuda_leave(result);
}

/* What is queued in the stream from now on begins when the event, as it was recorded last, has happened. */
CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned int flags)
{
	struct CUevent_st *found;
	CUresult result = enter_event(event, &found);
	struct CUstream_st *in = result == CUDA_SUCCESS ? find_stream(stream) : NULL;
	if (result == CUDA_SUCCESS && (!in || flags != 0))
		result = in ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
	if (result == CUDA_SUCCESS && found->asked > 0) {
		found->queued++;
		enqueue(in,
			&(struct muster_simcuda_operation){ .kind = WAIT, .event = found, .recording = found->asked });
	}
	return muster_simcuda_leave(result);
}

CUresult cuEventElapsedTime(float *milliseconds, CUevent start, CUevent end)
{
	struct CUevent_st *from, *to = NULL;
	CUresult result = enter_event(start, &from);
	if (result == CUDA_SUCCESS && !(to = find_event(end)))
		result = CUDA_ERROR_INVALID_HANDLE;
	if (result != CUDA_SUCCESS || !milliseconds)
		return muster_simcuda_leave(result == CUDA_SUCCESS ? CUDA_ERROR_INVALID_VALUE : result);
	progress_all();
	if (from->context->broken != CUDA_SUCCESS)
		result = from->context->broken;
	else if (from->asked == 0 || to->asked == 0 || ((from->flags | to->flags) & EVENT_WITHOUT_TIME))
		result = CUDA_ERROR_INVALID_HANDLE;
	else if (from->recorded != from->asked || to->recorded != to->asked)
		result = CUDA_ERROR_NOT_READY;
	else
		*milliseconds = (float)((to->time - from->time) * 1e3);
	return muster_simcuda_leave(result);
}

/* -- copies -- */

/* A copy from or to pageable memory is over with it when the call returns, as far as the stream lets it. */
static void enqueue_host(struct CUstream_st *stream, struct muster_simcuda_operation *operation, const void *host)
{
	operation->untimed = true;
	operation->share = muster_simcuda_pinned(host, operation->bytes) ? 1 : PAGEABLE_SHARE;
	enqueue(stream, operation);
	if (operation->share < 1)
		progress(stream);
}

/* Queue work on device memory, which `to` and `from` are as far as the kind needs them; nothing when it has no bytes.
 */
static CUresult enter_and_enqueue(
	CUstream stream, struct muster_simcuda_operation *operation, CUdeviceptr to, CUdeviceptr from)
{
	enum operation_kind kind = operation->kind;
	const void *host = kind == TO_DEVICE ? operation->source : operation->target;
	size_t bytes = operation->bytes;
	struct CUstream_st *found;
	CUresult result = enter_stream(stream, &found);
	if (result != CUDA_SUCCESS || bytes == 0)
		return muster_simcuda_leave(result);
	if (((kind == TO_DEVICE || kind == TO_HOST) && !host) ||
		(kind != TO_HOST && !muster_simcuda_range_find(to, bytes, &operation->to)) ||
		((kind == TO_HOST || kind == WITHIN_DEVICE) &&
			!muster_simcuda_range_find(from, bytes, &operation->from)))
		return muster_simcuda_leave(CUDA_ERROR_INVALID_VALUE);
	if (host)
		enqueue_host(found, operation, host);
	else
		enqueue(found, operation);
	return muster_simcuda_leave(CUDA_SUCCESS);
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, CUstream stream)
{
	struct muster_simcuda_operation operation = { .kind = TO_DEVICE, .source = from, .bytes = bytes };
	muster_standin_log_now();
	return enter_and_enqueue(stream, &operation, to, 0);
}

CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, CUstream stream)
{
	struct muster_simcuda_operation operation = { .kind = TO_HOST, .target = to, .bytes = bytes };
	return enter_and_enqueue(stream, &operation, 0, from);
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
	struct muster_simcuda_operation operation = { .kind = WITHIN_DEVICE, .bytes = bytes };
	return enter_and_enqueue(stream, &operation, to, from);
}

/* No range is SIZE_MAX bytes long, and none begins at 1. */
CUresult cuMemsetD32Async(CUdeviceptr to, unsigned int value, size_t words, CUstream stream)
{
	struct muster_simcuda_operation operation = { .kind = FILL, .value = value };
	operation.bytes = words > SIZE_MAX / sizeof value ? SIZE_MAX : words * sizeof value;
	return enter_and_enqueue(stream, &operation, to % sizeof value == 0 ? to : 1, 0);
}
