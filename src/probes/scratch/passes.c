/* SPDX-License-Identifier: Apache-2.0 */
/* passes.c - a file that several threads write, and read and verify, at once
 *
 * The memory has ordinary pages, as that of other programs: huge pages make some virtual disks twice as fast, since
 * they let a request be one piece. With ordinary pages rates are those of other tools.
 *
 * A pass, by the thread of the caller and by those that it starts:
 *
 *   caller     start the threads; wait until all are ready; note the time; go; join; take the last request's end
 *   a thread   claim up to 16 blocks and fill them; ready; start their requests; then for each request that is done:
 *              verify it, claim the next block, fill it, start its request
 *
 * Filling the first blocks is not timed: the clock runs from the moment at which every thread has its first requests
 * ready until the last request is done. Blocks are claimed in the order of the file by one atomic counter. A pass ends
 * early when its time is over: no block is claimed any more and every claimed block is finished, so that what was
 * transferred has no gap. It also ends when a request fails; then the first error is that of the pass.
 */
#include "probes/scratch/passes.h"
#include "storage/pattern.h"
#include "util/clock.h"
#include "util/text.h"
#include "muster/arena.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	JOBS_FEW = 4,  /* threads; as many as in the test by which rates of the clouds' machines were published */
	JOBS_MANY = 8, /* with MANY_CPUS or more: one thread fills some 8 GB/s */
	MANY_CPUS = 16,
	DEPTH = 16,      /* requests of each thread in flight */
	WAIT_MS = 20000, /* a request that takes so long never ends: a disk does 6 MB/s and more */
	SYNC_EVERY = 64, /* blocks of a thread until it syncs a buffered file: so little is left to write at the end */
};

struct job {
	struct muster_passes *passes;
	pthread_t thread;
	struct muster_io *io;
	char *memory;             /* DEPTH blocks: one for each request, by its slot */
	uint64_t block_of[DEPTH]; /* which block of the file the request of a slot is about */
	double ended_ms;          /* of the raw clock: when its last request was done */
	uint64_t wrong, done;     /* in this pass: 8-byte words that were wrong; blocks that are done */
};

struct muster_passes {
	struct job jobs[JOBS_MANY];
	int job_count, cpus;
	bool memory_stays; /* a request may still use it */

	/* of the pass that runs */
	enum muster_io_way way;
	const struct muster_storage_file *file;
	uint64_t first, blocks, seed;
	double until_ms;           /* of the monotonic clock */
	atomic_uint_fast64_t next; /* the next block to claim, counted from `first` */
	atomic_bool stop;          /* no block is claimed any more */
	pthread_mutex_t mutex;     /* of the rest */
	pthread_cond_t changed;
	int ready; /* threads that wait for `go` */
	bool go;
	struct muster_error err; /* of the first that failed */
	bool failed;
};

static void fail(struct muster_passes *passes, const struct muster_error *err)
{
	pthread_mutex_lock(&passes->mutex);
	if (!passes->failed)
		passes->err = *err;
	passes->failed = true;
	pthread_mutex_unlock(&passes->mutex);
	atomic_store(&passes->stop, true);
}

/* The next block of the file that no thread has; false when there is none, or the time is over. */
static bool claim(struct muster_passes *passes, uint64_t *ret)
{
	if (atomic_load(&passes->stop))
		return false;
	uint64_t index = atomic_fetch_add(&passes->next, 1);
	*ret = passes->first + index;
	return index < passes->blocks;
}

static int start(struct job *job, size_t slot, struct muster_error *err)
{
	const struct muster_passes *passes = job->passes;
	return muster_io_start(job->io, passes->way, passes->file, job->memory + slot * MUSTER_PASS_BLOCK,
		MUSTER_PASS_BLOCK, job->block_of[slot] * MUSTER_PASS_BLOCK, slot, err);
}

static void fill(struct job *job, size_t slot)
{
	if (job->passes->way == MUSTER_IO_WRITE)
		muster_storage_fill(job->memory + slot * MUSTER_PASS_BLOCK, MUSTER_PASS_BLOCK,
			job->block_of[slot] * MUSTER_PASS_BLOCK, job->passes->seed);
}

static void verify(struct job *job, size_t slot)
{
	if (job->passes->way == MUSTER_IO_READ)
		job->wrong += muster_storage_wrong(job->memory + slot * MUSTER_PASS_BLOCK, MUSTER_PASS_BLOCK,
			job->block_of[slot] * MUSTER_PASS_BLOCK, job->passes->seed);
}

static void wait_for_go(struct muster_passes *passes)
{
	pthread_mutex_lock(&passes->mutex);
	passes->ready++;
	pthread_cond_broadcast(&passes->changed);
	while (!passes->go)
		pthread_cond_wait(&passes->changed, &passes->mutex);
	pthread_mutex_unlock(&passes->mutex);
}

/* One thread's part of a pass: start what is ready, then for each request that ends verify it, claim the next block,
 * fill it and start it. The thread ends when none of its requests runs any more. first: slots that are filled already.
 * -1 with err: then requests of this thread may still run. */
static int transfer(struct job *job, size_t first, struct muster_error *err)
{
	struct muster_passes *passes = job->passes;
	for (size_t slot = 0; slot < first; slot++)
		if (start(job, slot, err) < 0)
			return -1;
	while (muster_io_running(job->io) > 0) {
		size_t slot;
		if (muster_io_wait(job->io, WAIT_MS, &slot, err) < 0)
			return -1;
		job->ended_ms = muster_clock_now(&muster_clock_raw);
		job->done++;
		verify(job, slot);
		if (passes->way == MUSTER_IO_WRITE && !passes->file->direct && job->done % SYNC_EVERY == 0 &&
			muster_storage_file_settle(passes->file, err) < 0)
			return -1;
		if (muster_now_ms() > passes->until_ms)
			atomic_store(&passes->stop, true);
		if (!claim(passes, &job->block_of[slot]))
			continue;
		fill(job, slot);
		if (start(job, slot, err) < 0)
			return -1;
	}
	return 0;
}

/* Lets the calling thread run on every CPU of the job. A rank's own CPUs are those near its GPU; the disks are the
 * whole node's. */
static void use_all_cpus(void)
{
	cpu_set_t all;
	memset(&all, 0xff, sizeof all);
	sched_setaffinity(0, sizeof all, &all); /* the kernel takes those of them that the job has */
}

/* Each thread claims an equal part of the first blocks at most (`most`): in a short pass the thread that starts first
 * would else claim all of them. */
static void *work(void *arg)
{
	struct job *job = arg;
	struct muster_passes *passes = job->passes;
	struct muster_error err;
	size_t first = 0, most = (size_t)(passes->blocks / (uint64_t)passes->job_count + 1);
	use_all_cpus();
	job->wrong = job->done = 0;
	while (first < DEPTH && first < most && claim(passes, &job->block_of[first]))
		fill(job, first++);
	wait_for_go(passes);
	job->ended_ms = muster_clock_now(&muster_clock_raw);
	if (transfer(job, first, &err) < 0)
		fail(passes, &err);
	return NULL;
}

/* ---- a pass ---- */

/* How many threads were started: with fewer than wanted the pass goes on. -1 with err where there is none. */
static int start_threads(struct muster_passes *passes, struct muster_error *err)
{
	int started = 0, error = 0;
	while (started < passes->job_count && !error) {
		error = pthread_create(&passes->jobs[started].thread, NULL, work, &passes->jobs[started]);
		started += !error;
	}
	return started > 0 ? started : muster_fail(err, MUSTER_ENOMEM, "pthread_create: %s", strerror(error));
}

/* Let them all begin at once, and wait for their ends. Returns the milliseconds of the raw clock between. */
static double join_threads(struct muster_passes *passes, int started)
{
	pthread_mutex_lock(&passes->mutex);
	while (passes->ready < started)
		pthread_cond_wait(&passes->changed, &passes->mutex);
	double began = muster_clock_now(&muster_clock_raw), ended = began;
	passes->go = true;
	pthread_cond_broadcast(&passes->changed);
	pthread_mutex_unlock(&passes->mutex);
	for (int i = 0; i < started; i++) {
		pthread_join(passes->jobs[i].thread, NULL);
		if (passes->jobs[i].ended_ms > ended)
			ended = passes->jobs[i].ended_ms;
	}
	return ended - began;
}

/* The last fdatasync of a written buffered file counts as time of the pass: until then the data is in memory alone. */
int muster_passes_run(struct muster_passes *passes, enum muster_io_way way, const struct muster_storage_file *file,
	uint64_t first, uint64_t blocks, uint64_t seed, double limit_ms, struct muster_pass *ret,
	struct muster_error *err)
{
	struct muster_pass pass = { 0 };
	passes->way = way;
	passes->file = file;
	passes->first = first;
	passes->blocks = blocks;
	passes->seed = seed;
	passes->until_ms = muster_now_ms() + limit_ms;
	passes->ready = 0;
	passes->go = passes->failed = false;
	atomic_store(&passes->next, 0);
	atomic_store(&passes->stop, false);
	int started = start_threads(passes, err);
	if (started < 0)
		return -1;
	double ms = join_threads(passes, started);
	for (int i = 0; i < started; i++) {
		pass.blocks += passes->jobs[i].done;
		pass.wrong += passes->jobs[i].wrong;
		passes->memory_stays |= muster_io_running(passes->jobs[i].io) > 0;
	}
	if (!passes->failed && way == MUSTER_IO_WRITE && !file->direct) {
		double began = muster_clock_now(&muster_clock_raw);
		if (muster_storage_file_settle(file, &passes->err) < 0)
			passes->failed = true;
		ms += muster_clock_now(&muster_clock_raw) - began;
	}
	if (passes->failed) {
		if (err)
			*err = passes->err;
		return -1;
	}
	pass.seconds = ms / 1e3;
	*ret = pass;
	return 0;
}

/* ---- making and freeing ---- */

/* The CPUs that use_all_cpus gives. The affinity of this thread is put back. */
static int count_cpus(void)
{
	cpu_set_t before, all;
	if (sched_getaffinity(0, sizeof before, &before) < 0)
		return (int)sysconf(_SC_NPROCESSORS_ONLN);
	use_all_cpus();
	int cpus = sched_getaffinity(0, sizeof all, &all) < 0 ? CPU_COUNT(&before) : CPU_COUNT(&all);
	sched_setaffinity(0, sizeof before, &before);
	return cpus;
}

static int make_job(struct muster_passes *passes, struct muster_error *err)
{
	const size_t bytes = DEPTH * MUSTER_PASS_BLOCK;
	struct job *job = &passes->jobs[passes->job_count];
	job->passes = passes;
	job->memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (job->memory == MAP_FAILED)
		return muster_fail(err, MUSTER_ENOMEM, "mmap of %zu bytes for a thread failed", bytes);
	job->io = muster_io_new(DEPTH, err);
	passes->job_count++;
	return job->io ? 0 : -1;
}

struct muster_passes *muster_passes_new(struct muster_error *err)
{
	struct muster_passes *passes = muster_calloc(1, sizeof *passes);
	pthread_mutex_init(&passes->mutex, NULL);
	pthread_cond_init(&passes->changed, NULL);
	passes->cpus = count_cpus();
	const int jobs = passes->cpus >= MANY_CPUS ? JOBS_MANY : JOBS_FEW;
	for (int i = 0; i < jobs; i++)
		if (make_job(passes, err) < 0) {
			muster_passes_free(passes);
			return NULL;
		}
	/* touched before the clock runs */
	for (int i = 0; i < jobs; i++)
		memset(passes->jobs[i].memory, 0, DEPTH * MUSTER_PASS_BLOCK);
	return passes;
}

void muster_passes_free(struct muster_passes *passes)
{
	if (!passes)
		return;
	for (int i = 0; i < passes->job_count; i++) {
		muster_io_free(passes->jobs[i].io);
		if (!passes->memory_stays)
			munmap(passes->jobs[i].memory, DEPTH * MUSTER_PASS_BLOCK);
	}
	pthread_cond_destroy(&passes->changed);
	pthread_mutex_destroy(&passes->mutex);
	free(passes);
}

const char *muster_passes_method(const struct muster_passes *passes)
{
	return muster_io_method(passes->jobs[0].io);
}

int muster_passes_cpus(const struct muster_passes *passes)
{
	return passes->cpus;
}
