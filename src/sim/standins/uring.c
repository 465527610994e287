/* SPDX-License-Identifier: Apache-2.0 */
/* uring.c - liburing.so.2 for the simulation, as a part of libmuster-preload.so
 *
 * The program is linked with liburing, and its functions here come before the real ones, wherever the program finds
 * that library. A ring is plain memory, which the header's inline functions use as if the kernel had shared it. A
 * request is carried out when it is submitted, and is seen as done when the process has waited for that moment of
 * virtual time. To look for one that is done counts as waiting: nothing else would move the clock on.
 *
 * The way of a request: io_uring_get_sqe() gives an entry of the submission queue, which the program fills in;
 * io_uring_submit() does the read or write and keeps the result with its moment (struct request); a wait moves the
 * results whose moments have come into the completion queue, at least one, and moves the virtual clock to the moment.
 */

#include "sim/standins/preload.h"

#include "muster/arena.h"
#include "util/array.h"

#include <errno.h>
#include <liburing.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

MUSTER_STANDIN_EXPORT int io_uring_queue_init(unsigned entries, struct io_uring *ring, unsigned flags);
MUSTER_STANDIN_EXPORT void io_uring_queue_exit(struct io_uring *ring);
MUSTER_STANDIN_EXPORT int io_uring_submit(struct io_uring *ring);
MUSTER_STANDIN_EXPORT int io_uring_wait_cqe_timeout(
	struct io_uring *ring, struct io_uring_cqe **ret, struct __kernel_timespec *timeout);
/* Newer headers have an inline function of this name, and older ones this one of the library. */
MUSTER_STANDIN_EXPORT struct io_uring_sqe *muster_standin_get_sqe(struct io_uring *ring) __asm__("io_uring_get_sqe");

/* What is done at some time and has not been seen yet. */
struct request {
	double end;
	uint64_t user_data;
	int result;
};

/* The memory of a ring, at ring->sq.ring_ptr. */
struct memory {
	unsigned sq_head, sq_tail, sq_mask, sq_entries, sq_flags, sq_dropped;
	unsigned cq_head, cq_tail, cq_mask, cq_entries, cq_flags, cq_overflow;
	unsigned *array;
	struct io_uring_sqe *sqes;
	struct io_uring_cqe *cqes;
	struct request *requests; /* by their ends; those of one end as they came */
	size_t count, room;
};

static struct memory *memory_of(const struct io_uring *ring)
{
	return ring->sq.ring_ptr;
}

static unsigned power_of_2(unsigned least)
{
	unsigned power = 1;
	while (power < least)
		power *= 2;
	return power;
}

/* -- rings -- */

/* Let the program's struct point to the memory, as io_uring_queue_mmap() of the real library does. */
static void show(struct io_uring *ring, struct memory *m)
{
	ring->sq = (struct io_uring_sq){
		.khead = &m->sq_head,
		.ktail = &m->sq_tail,
		.kring_mask = &m->sq_mask,
		.kring_entries = &m->sq_entries,
		.kflags = &m->sq_flags,
		.kdropped = &m->sq_dropped,
		.array = m->array,
		.sqes = m->sqes,
		.ring_sz = sizeof *m,
		.ring_ptr = m,
	};
	ring->cq = (struct io_uring_cq){
		.khead = &m->cq_head,
		.ktail = &m->cq_tail,
		.kring_mask = &m->cq_mask,
		.kring_entries = &m->cq_entries,
		.kflags = &m->cq_flags,
		.koverflow = &m->cq_overflow,
		.cqes = m->cqes,
		.ring_sz = sizeof *m,
		.ring_ptr = m,
	};
#ifdef MUSTER_HAVE_URING_MASKS /* liburing 2.2 and later */
	ring->sq.ring_mask = m->sq_mask;
	ring->sq.ring_entries = m->sq_entries;
	ring->cq.ring_mask = m->cq_mask;
	ring->cq.ring_entries = m->cq_entries;
#endif
}

int io_uring_queue_init(unsigned entries, struct io_uring *ring, unsigned flags)
{
	memset(ring, 0, sizeof *ring);
	ring->ring_fd = -1;
	if (muster_sim_this_node()->io_uring_refused)
		return -EPERM;
	if (entries == 0 || entries > 32768 || flags)
		return -EINVAL;
	struct memory *m = muster_calloc(1, sizeof *m);
	m->sq_entries = power_of_2(entries);
	m->cq_entries = 2 * m->sq_entries;
	m->sq_mask = m->sq_entries - 1;
	m->cq_mask = m->cq_entries - 1;
	m->array = muster_calloc(m->sq_entries, sizeof *m->array);
	m->sqes = muster_calloc(m->sq_entries, sizeof *m->sqes);
	m->cqes = muster_calloc(m->cq_entries, sizeof *m->cqes);
	show(ring, m);
	ring->features = IORING_FEAT_SINGLE_MMAP | IORING_FEAT_NODROP | IORING_FEAT_EXT_ARG;
	return 0;
}

void io_uring_queue_exit(struct io_uring *ring)
{
	struct memory *m = memory_of(ring);
	free(m->array);
	free(m->sqes);
	free(m->cqes);
	free(m->requests);
	free(m);
}

/* -- requests -- */

struct io_uring_sqe *muster_standin_get_sqe(struct io_uring *ring)
{
	const struct memory *m = memory_of(ring);
	if (ring->sq.sqe_tail - m->sq_head >= m->sq_entries)
		return NULL;
	return &m->sqes[ring->sq.sqe_tail++ & m->sq_mask];
}

/* Put the request behind those that end before it or with it. */
static void keep(struct memory *m, const struct request *request)
{
	MUSTER_ARRAY_GROW(m->requests, m->count, m->room);
	size_t at = m->count++;
	for (; at > 0 && m->requests[at - 1].end > request->end; at--)
		m->requests[at] = m->requests[at - 1];
	m->requests[at] = *request;
}

static void begin(struct memory *m, const struct io_uring_sqe *sqe)
{
	struct request request = { .end = muster_standin_host_now(), .user_data = sqe->user_data };
	struct muster_standin_transfer transfer = {
		.write = sqe->opcode == IORING_OP_WRITE,
		.fd = sqe->fd,
		.data = (void *)(uintptr_t)sqe->addr,
		.bytes = sqe->len,
		.offset = (off_t)sqe->off,
	};
	if (sqe->opcode == IORING_OP_READ || sqe->opcode == IORING_OP_WRITE)
		request.result = (int)muster_standin_volume_transfer(&transfer, &request.end);
	else if (sqe->opcode != IORING_OP_NOP)
		request.result = -EINVAL; /* no program here asks for anything else */
	keep(m, &request);
}

int io_uring_submit(struct io_uring *ring)
{
	struct memory *m = memory_of(ring);
	int count = 0;
	for (; m->sq_head != ring->sq.sqe_tail; m->sq_head++, count++)
		begin(m, &m->sqes[m->sq_head & m->sq_mask]);
	ring->sq.sqe_head = m->sq_tail = m->sq_head;
	return count;
}

/* -- what is done -- */

/* Let at least one request be seen, as far as one ends at all: all that have ended, and if there is none, the first one
 * to end, for which the virtual clock waits. A request that stalls for ever (its end is infinite) is never seen, nor
 * are those that are sorted behind it.
 */
static void deliver(struct memory *m)
{
	size_t seen = 0;
	while (seen < m->count && m->cq_tail - m->cq_head < m->cq_entries) {
		const struct request *first = &m->requests[seen];
		if (isinf(first->end) || (first->end > muster_standin_host_now() && m->cq_tail != m->cq_head))
			break;
		muster_standin_host_wait_until(first->end);
		m->cqes[m->cq_tail & m->cq_mask] =
			(struct io_uring_cqe){ .user_data = first->user_data, .res = first->result };
		__atomic_store_n(&m->cq_tail, m->cq_tail + 1, __ATOMIC_RELEASE);
		seen++;
	}
	m->count -= seen;
	if (seen > 0)
		memmove(m->requests, m->requests + seen, m->count * sizeof *m->requests);
}

/* Submits what is queued, as the real function may. 0, or -ETIME after `timeout` of real time in which nothing can end:
 * all that is left, if anything, are requests that never end.
 */
int io_uring_wait_cqe_timeout(struct io_uring *ring, struct io_uring_cqe **ret, struct __kernel_timespec *timeout)
{
	struct memory *m = memory_of(ring);
	io_uring_submit(ring);
	deliver(m);
	*ret = m->cq_head == m->cq_tail ? NULL : &m->cqes[m->cq_head & m->cq_mask];
	if (*ret)
		return 0;
	if (timeout) {
		struct timespec left = { .tv_sec = (time_t)timeout->tv_sec, .tv_nsec = (long)timeout->tv_nsec };
		return nanosleep(&left, NULL) < 0 ? -EINTR : -ETIME;
	}
	pause();
	return -EINTR;
}
