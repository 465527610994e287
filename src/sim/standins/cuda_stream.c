/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_stream.c - libcuda.so.1 for the simulation: streams and events on a virtual clock
 *
 * A stream is a queue. Nothing runs when it is queued; what can run does at a query or a free, so host
 * memory must not be read before the stream is done, as on a GPU. Streams run side by side: each has a clock of its
 * own, and work begins when what is before it in the stream is done, and not before the host has asked for it. The
 * host's own clock goes on only by what it waits for.
 *
 * An operation has these times, all on the virtual clock:
 *
 *   queued                       the host's clock when it was put into the queue
 *   begins                       the later of `queued` and the end of the operation before it (stream->now)
 *   ends                         begins + seconds: stream->now afterwards
 *
 * Example: the host's clock is at 0; two copies of 3 ms are queued, then an event. The first query carries out all
 * three: the stream's clock is at 6 ms, the event's time too. The query says that the stream is done, and so moves the
 * host's clock to 6 ms. A copy that is queued now begins at 6 ms or later, in whatever stream.
 *
 * Work that waits for others stops its stream at each query until they have come: a wait for an event of another
 * stream, and the operations of NCCL (MUSTER_SIMCUDA_EXTERNAL), whose poll function says whether they are done.
 */
#include "sim/standins/cuda.h"

#include "muster/arena.h"
#include "util/text.h"

#include <math.h>
#include <stdlib.h>

#define EVENT_WITHOUT_TIME 0x2u /* CU_EVENT_DISABLE_TIMING */

struct CUevent_st {
	struct CUevent_st *next;
	struct CUctx_st *context;
	unsigned int flags;
	struct muster_simcuda_moment *moment; /* of the last cuEventRecord; NULL: there was none */
};

/* The event that a call was about last: others follow in the order in which they were made. */
static struct CUevent_st *last_found;

/* A moment belongs to its event, until that is recorded again or destroyed, and to each operation that names it. */
static void moment_release(struct muster_simcuda_moment *moment)
{
	if (moment && --moment->references == 0)
		free(moment);
}

static void event_free(struct CUevent_st *event)
{
	struct CUevent_st **at = &event->context->events;
	while (*at != event)
		at = &(*at)->next;
	*at = event->next;
	last_found = NULL;
	moment_release(event->moment);
	free(event);
}

/* -- carrying out -- */

static void drop_first(struct CUstream_st *stream)
{
	struct muster_simcuda_operation *gone = stream->first;
	stream->first = gone->next;
	if (!stream->first)
		stream->last = &stream->first;
	if (gone->kind == MUSTER_SIMCUDA_EXTERNAL)
		gone->external.done(gone->external.arg);
	moment_release(gone->moment);
	free(gone);
}

/* Where the noise is: it goes on by virtual time, for operations in a row, and by the time that really passes until
 * they are asked for. A wait takes no virtual time, and windows that are apart in the run must be apart in the noise.
 * All processes of a node have the same real time, and about the same virtual time, so their GPUs are disturbed at the
 * same moments; what a machine with few CPUs makes late here is late in the noise as well. */
double muster_simcuda_disturbed(const struct CUstream_st *stream, const struct muster_simcuda_operation *operation,
	enum muster_sim_noise_kind kind)
{
	static struct muster_sim_noise noise;
	const char *path = muster_sim_cluster()->noise;
	struct muster_error err;
	if (!*path || operation->seconds <= 0)
		return operation->seconds;
	if (noise.count == 0 && muster_sim_noise_read(path, &noise, &err) < 0)
		muster_standin_end("%s", err.text);
	return muster_sim_noise_seconds(&noise, kind, (size_t)stream->context->gpu->nvml_index,
		muster_sim_this_node()->noise_at + operation->asked + stream->now, operation->seconds);
}

/* Carry out the first operation of the queue: 1: done, and operation->seconds says how long it took; 0: not yet; -1:
 * failed.
 */
static int carry_out(struct CUstream_st *stream, struct muster_simcuda_operation *operation)
{
	switch (operation->kind) {
	case MUSTER_SIMCUDA_RECORD:
		operation->moment->happened = true;
		operation->moment->time = stream->now;
		return 1;
	case MUSTER_SIMCUDA_WAIT:
		if (!operation->moment->happened)
			return 0;
		if (stream->now < operation->moment->time)
			stream->now = operation->moment->time;
		return 1;
	case MUSTER_SIMCUDA_EXTERNAL: {
		int state = operation->external.poll(operation->external.arg, &operation->seconds);
		if (state > 0)
			operation->seconds = muster_simcuda_disturbed(stream, operation, operation->external.noise);
		return state;
	}
	default: break;
	}
	muster_simcuda_copy(stream, operation);
	return 1;
}

bool muster_simcuda_is_beside(const struct CUstream_st *stream, double time)
{
	for (const struct CUstream_st *other = &stream->context->default_stream; other; other = other->next)
		if (other != stream && (other->first || other->now > time))
			return true;
	return false;
}

/* From the head of the queue up to the first operation that has to wait. After a failure nothing in the stream can run:
 * the queue is dropped, and every further call about the context gives the error. */
void muster_simcuda_progress(struct CUstream_st *stream)
{
	while (stream->first) {
		if (stream->now < stream->first->queued)
			stream->now = stream->first->queued;
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

/* Whether the stream has work left. */
static bool progress_one(struct CUstream_st *stream, bool *moved)
{
	const struct muster_simcuda_operation *before = stream->first;
	muster_simcuda_progress(stream);
	*moved = *moved || stream->first != before;
	return stream->first != NULL;
}

/* Every live stream of the process, as far as they let each other go on: streams are gone through again while one of
 * them has moved, because another one may wait for its event. Whether a stream has work left.
 */
static bool progress_all(void)
{
	bool busy = true, moved = true;
	while (busy && moved) {
		busy = moved = false;
		for (size_t i = 0; i < muster_simcuda_device_count(); i++) {
			struct CUctx_st *context = muster_simcuda_device(i);
			struct CUstream_st *stream = context->retained > 0 ? &context->default_stream : NULL;
			for (; stream; stream = stream->next)
				busy = progress_one(stream, &moved) || busy;
		}
	}
	return busy;
}

/* Wait until no stream has work, in real time for other processes, and on the virtual clock until the last stream ends.
 */
void muster_simcuda_wait_idle(void)
{
	while (progress_all())
		muster_simcuda_pause();
	for (size_t i = 0; i < muster_simcuda_device_count(); i++)
		for (const struct CUstream_st *s = &muster_simcuda_device(i)->default_stream; s; s = s->next)
			muster_standin_host_wait_until(s->now);
}

/* -- streams -- */

/* NULL is the default stream of the current context. A pointer that is no stream is never looked into: the answer is
 * NULL. */
static struct CUstream_st *find_stream(CUstream stream)
{
	struct CUctx_st *current = muster_simcuda_current();
	if (!stream)
		return current ? &current->default_stream : NULL;
	for (size_t i = 0; i < muster_simcuda_device_count(); i++)
		for (struct CUstream_st *s = muster_simcuda_device(i)->default_stream.next; s; s = s->next)
			if (s == stream)
				return s;
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
	while (context->default_stream.next)
		stream_free(&context->default_stream.next);
	while (context->events)
		event_free(context->events);
}

CUresult cuStreamCreate(CUstream *stream, unsigned int flags)
{
	struct CUctx_st *context;
	ENTER(muster_simcuda_enter_context(&context), stream && flags <= CU_STREAM_NON_BLOCKING);
	struct CUstream_st *new = muster_calloc(1, sizeof *new), **list = &context->default_stream.next;
	*new = (struct CUstream_st){ .next = *list, .context = context, .last = &new->first };
	*stream = *list = new;
	return muster_simcuda_leave(CUDA_SUCCESS);
}

/* The real call lets the work finish in the background; here it waits for it. */
CUresult cuStreamDestroy_v2(CUstream stream)
{
	struct CUctx_st *context;
	ENTER(muster_simcuda_enter_context(&context), true);
	struct CUstream_st *found = stream ? find_stream(stream) : NULL;
	if (!found)
		return muster_simcuda_leave(CUDA_ERROR_INVALID_HANDLE);
	for (progress_all(); found->first; progress_all())
		muster_simcuda_pause();
	muster_standin_host_wait_until(found->now);
	struct CUstream_st **at = &found->context->default_stream.next;
	while (*at != found)
		at = &(*at)->next;
	stream_free(at);
	return muster_simcuda_leave(CUDA_SUCCESS);
}

CUresult muster_simcuda_enter_stream(CUstream stream, struct CUstream_st **ret)
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
	ENTER(muster_simcuda_enter_stream(stream, &found), true);
	CUresult result = CUDA_SUCCESS;
	progress_all();
	if (found->context->broken != CUDA_SUCCESS)
		result = found->context->broken;
	else if (found->first)
		result = CUDA_ERROR_NOT_READY;
	else
		muster_standin_host_wait_until(found->now);
	return muster_simcuda_leave(result);
}

void muster_simcuda_enqueue(struct CUstream_st *stream, const struct muster_simcuda_operation *operation)
{
	struct muster_simcuda_operation *new = muster_calloc(1, sizeof *new);
	*new = *operation;
	new->next = NULL;
	new->queued = muster_standin_host_now();
	new->asked = muster_now_ms() / 1e3;
	*stream->last = new;
	stream->last = &new->next;
}

bool muster_standin_cuda_enqueue(CUstream stream, const struct muster_standin_operation *operation)
{
	struct CUstream_st *found = find_stream(stream);
	if (found)
		muster_simcuda_enqueue(found,
			&(struct muster_simcuda_operation){ .kind = MUSTER_SIMCUDA_EXTERNAL, .external = *operation });
	return found != NULL;
}

bool muster_standin_cuda_beside(CUstream stream)
{
	const struct CUstream_st *found = find_stream(stream);
	return found && muster_simcuda_is_beside(found, (double)INFINITY);
}

void muster_standin_cuda_progress(void)
{
	progress_all();
}

/* -- events -- */

/* An event of any context; a pointer that is no event gives NULL. Programs mostly use events in the order in which they
 * made them, so the one after the last found is tried before all lists are searched. */
static struct CUevent_st *find_event(CUevent event)
{
	if (event && last_found && (event == last_found || event == last_found->next))
		return last_found = event;
	for (size_t i = 0; i < muster_simcuda_device_count(); i++)
		for (struct CUevent_st *e = muster_simcuda_device(i)->events; e; e = e->next)
			if (e == event)
				return last_found = e;
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
	ENTER(muster_simcuda_enter_context(&context), event && flags <= 0x7);
	struct CUevent_st *new = muster_calloc(1, sizeof *new), **at = &context->events;
	while (*at)
		at = &(*at)->next;
	*new = (struct CUevent_st){ .context = context, .flags = flags };
	*at = *event = new;
	return muster_simcuda_leave(CUDA_SUCCESS);
}

CUresult cuEventDestroy_v2(CUevent event)
{
	struct CUevent_st *found;
	ENTER(enter_event(event, &found), true);
	event_free(found);
	return muster_simcuda_leave(CUDA_SUCCESS);
}

/* Recording again gives the event a new moment: who waits for the old one still gets the old time. */
CUresult cuEventRecord(CUevent event, CUstream stream)
{
	struct CUevent_st *found;
	ENTER(enter_event(event, &found), true);
	struct CUstream_st *in = find_stream(stream);
	if (!in || in->context != found->context)
		return muster_simcuda_leave(CUDA_ERROR_INVALID_HANDLE);
	moment_release(found->moment);
	found->moment = muster_calloc(1, sizeof *found->moment);
	found->moment->references = 2;
	muster_simcuda_enqueue(
		in, &(struct muster_simcuda_operation){ .kind = MUSTER_SIMCUDA_RECORD, .moment = found->moment });
	return muster_simcuda_leave(CUDA_SUCCESS);
}

/* An event that was never recorded counts as done. */
CUresult cuEventQuery(CUevent event)
{
	struct CUevent_st *found;
	ENTER(enter_event(event, &found), true);
	CUresult result = CUDA_SUCCESS;
	progress_all();
	if (found->context->broken != CUDA_SUCCESS)
		result = found->context->broken;
	else if (found->moment && !found->moment->happened)
		result = CUDA_ERROR_NOT_READY;
	else if (found->moment)
		muster_standin_host_wait_until(found->moment->time);
	return muster_simcuda_leave(result);
}

/* What is queued in the stream from now on begins when the event, as it was recorded last, has happened. */
CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned int flags)
{
	struct CUevent_st *found;
	ENTER(enter_event(event, &found), true);
	struct CUstream_st *in = find_stream(stream);
	if (!in || flags != 0)
		return muster_simcuda_leave(in ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE);
	if (found->moment) {
		found->moment->references++;
		muster_simcuda_enqueue(
			in, &(struct muster_simcuda_operation){ .kind = MUSTER_SIMCUDA_WAIT, .moment = found->moment });
	}
	return muster_simcuda_leave(CUDA_SUCCESS);
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
	else if (!from->moment || !to->moment || ((from->flags | to->flags) & EVENT_WITHOUT_TIME))
		result = CUDA_ERROR_INVALID_HANDLE;
	else if (!from->moment->happened || !to->moment->happened)
		result = CUDA_ERROR_NOT_READY;
	else
		*milliseconds = (float)((to->moment->time - from->moment->time) * 1e3);
	return muster_simcuda_leave(result);
}
