/* SPDX-License-Identifier: Apache-2.0 */
/* io_threads.c - requests by threads that wait for the kernel, where it offers no io_uring
 *
 * For containers and kernels without io_uring. Up to 32 threads take jobs from one queue and put results into another;
 * with a larger depth the other requests wait in the queue:
 *
 *    submit --> wait queue --> thread: pread or pwrite --> done queue --> wait_done
 *
 * The mutex protects both queues, and is never held during a request. A thread that hangs in a file system cannot be
 * ended: release leaves it behind, with the state and all that the thread may touch, until the process ends.
 */
#include "storage/io_backend.h"
#include "util/clock.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { THREADS_MAX = 32 };

struct job {
	struct muster_io_request request;
	unsigned index;
	long result;
};

/* Jobs in the order of their coming; room for all that can be. */
struct queue {
	struct job jobs[MUSTER_IO_DEPTH_MAX];
	unsigned first, count;
};

struct state {
	pthread_mutex_t mutex;
	pthread_cond_t some_wait, some_done;
	struct queue wait, done;
	bool stop;
	pthread_t threads[THREADS_MAX];
	unsigned thread_count;
};

static void put(struct queue *queue, const struct job *job)
{
	queue->jobs[(queue->first + queue->count++) % MUSTER_IO_DEPTH_MAX] = *job;
}

static struct job take(struct queue *queue)
{
	struct job job = queue->jobs[queue->first];
	queue->first = (queue->first + 1) % MUSTER_IO_DEPTH_MAX;
	queue->count--;
	return job;
}

/* A thread ends when it is to stop and no job waits. The errno of a request becomes a negative result, as in io_uring.
 */
static void *work(void *arg)
{
	struct state *state = arg;
	pthread_mutex_lock(&state->mutex);
	for (;;) {
		while (state->wait.count == 0 && !state->stop)
			pthread_cond_wait(&state->some_wait, &state->mutex);
		if (state->wait.count == 0)
			break;
		struct job job = take(&state->wait);
		const struct muster_io_request *r = &job.request;
		pthread_mutex_unlock(&state->mutex);
		job.result = r->way == MUSTER_IO_READ ? pread(r->fd, r->data, r->bytes, (off_t)r->offset)
						      : pwrite(r->fd, r->data, r->bytes, (off_t)r->offset);
		if (job.result < 0)
			job.result = -errno;
		pthread_mutex_lock(&state->mutex);
		put(&state->done, &job);
		pthread_cond_signal(&state->some_done);
	}
	pthread_mutex_unlock(&state->mutex);
	return NULL;
}

/* running: requests that have not ended. With none, all threads end and are joined. With some, their threads may hang:
 * jobs that no thread has taken are dropped, the threads are detached, and the state is leaked on purpose, since they
 * will touch it. */
static void release(void *arg, unsigned running)
{
	struct state *state = arg;
	pthread_mutex_lock(&state->mutex);
	state->stop = true;
	if (running > 0)
		state->wait.count = 0; /* what no thread has taken yet */
	pthread_cond_broadcast(&state->some_wait);
	pthread_mutex_unlock(&state->mutex);
	for (unsigned i = 0; i < state->thread_count; i++) {
		if (running > 0)
			pthread_detach(state->threads[i]);
		else
			pthread_join(state->threads[i], NULL);
	}
	if (running > 0)
		return;
	pthread_cond_destroy(&state->some_wait);
	pthread_cond_destroy(&state->some_done);
	pthread_mutex_destroy(&state->mutex);
	free(state);
}

/* The condition variable for results uses CLOCK_MONOTONIC, so that setting the time of day does not change a timeout.
 * Threads start with all signals blocked: signals are for the threads that expect them. */
static void *make(unsigned depth, struct muster_error *err)
{
	struct state *state = calloc(1, sizeof *state);
	pthread_condattr_t monotonic;
	sigset_t all, before;
	int error = 0;
	if (!state) {
		muster_fail(err, MUSTER_ENOMEM, "memory for threads: %s", strerror(errno));
		return NULL;
	}
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_mutex_init(&state->mutex, NULL);
	pthread_cond_init(&state->some_wait, NULL);
	pthread_cond_init(&state->some_done, &monotonic);
	pthread_condattr_destroy(&monotonic);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	while (!error && state->thread_count < depth && state->thread_count < THREADS_MAX) {
		error = pthread_create(&state->threads[state->thread_count], NULL, work, state);
		state->thread_count += !error;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (state->thread_count > 0) /* fewer than wanted do it too */
		return state;
	release(state, 0);
	muster_fail(err, MUSTER_EIO, "pthread_create: %s", strerror(error));
	return NULL;
}

static int submit(void *arg, const struct muster_io_request *request, unsigned index, struct muster_error *err)
{
	struct state *state = arg;
	(void)err;
	pthread_mutex_lock(&state->mutex);
	put(&state->wait, &(struct job){ .request = *request, .index = index });
	pthread_cond_signal(&state->some_wait);
	pthread_mutex_unlock(&state->mutex);
	return 0;
}

static int wait_done(void *arg, int timeout_ms, unsigned *ret_index, long *ret_result, struct muster_error *err)
{
	struct state *state = arg;
	const struct timespec until = muster_clock_after(timeout_ms);
	int error = 0;
	pthread_mutex_lock(&state->mutex);
	while (state->done.count == 0 && error == 0)
		error = pthread_cond_timedwait(&state->some_done, &state->mutex, &until);
	bool some = state->done.count > 0;
	if (some) {
		struct job job = take(&state->done);
		*ret_index = job.index;
		*ret_result = job.result;
	}
	pthread_mutex_unlock(&state->mutex);
	return some ? 0 : muster_fail(err, MUSTER_ETIME, "none was done within %.1f s", timeout_ms / 1e3);
}

const struct muster_io_backend muster_io_threads = {
	.make = make,
	.free = release,
	.submit = submit,
	.wait = wait_done,
};
