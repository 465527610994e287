/* SPDX-License-Identifier: Apache-2.0 */
/* session.h - the process's one NCCL session: its communicator, stream, events and buffers, for all probes with traffic
 *
 * Rings make communicators, one after the other. The last one that went well stands until the process ends, with the
 * buffers: probes that measure more find it by muster_nccl_session_standing. No call here waits without a deadline:
 * stream and communicator are polled.
 *
 * The life of what is here:
 *
 *   resources     libraries, a stream, events, pinned and device buffers; made once by the first NCCL probe, freed
 *                 only after a failure (muster_nccl_session_fail), and made again by a later ring
 *   session       a struct of the caller for one callback: the communicator, the resources, the time that is left
 *   communicator  made by the probe nccl_allreduce for each ring. When the ring has gone well it stands
 *                 (session_keep), and traffic of later probes and visits finds it (session_standing). The next
 *                 ring aborts it before it begins
 *   near          the communicator of near ranks, split from the one that stands (roster.c); it goes with it
 *
 * All communicators are non-blocking (config.blocking = 0, since NCCL 2.14): each call may answer ncclInProgress, and
 * nothing is in the stream until ncclCommGetAsyncError says ncclSuccess. muster_nccl_settle waits for that after each
 * call or group, before any event is recorded; without it events enclose nothing.
 *
 * After any failure the communicator is of no use on any rank: the caller returns muster_nccl_session_fail, which first
 * tells the supervisor how the callback is going to fail, because ncclCommAbort and cuMemFree may wait for ever for a
 * kernel that does. The supervisor then kills the worker at its deadline and knows the reason all the same.
 *
 * What all ranks must do in the same way (which sizes, whether there is time, how long a head start) is agreed by an
 * all-reduce of the maximum (muster_nccl_agree), never decided by one rank alone: a rank that made one call more than
 * the others would wait for them for ever. A minimum is the maximum of the negative values.
 */
#ifndef MUSTER_PROBES_NCCL_SESSION_H
#define MUSTER_PROBES_NCCL_SESSION_H

#include "vendor/cuda.h"
#include "vendor/nccl.h"
#include "probes/windows.h"
#include "vendor/pinned.h"
#include "muster/probe.h"

#define MIB ((uint64_t)1 << 20)
#define GIB ((uint64_t)1 << 30)
#define SIZES_MAX 40
/* Data repeats after a tile: twice a prime, so that no library's chunk is a whole number of tiles, and data at the
 * wrong place is wrong. */
#define TILE_VALUES ((size_t)2 * 8191)
#define TILE_BYTES (TILE_VALUES * sizeof(float))
#define CHUNKS_BYTES (2 * MIB)
#define CHUNK_BYTES (CHUNKS_BYTES / TILE_BYTES * TILE_BYTES) /* whole tiles: what the host compares at a time */
#define AGREED_MAX 1024

struct muster_nccl_resources {
	const struct muster_cuda *cuda;
	const struct muster_nccl *nccl;
	CUstream stream;
	CUevent start, end;
	CUdeviceptr data, agreed;    /* data: 0 while not made; agreed: AGREED_MAX floats, MUSTER_NCCL_COPIES times */
	uint64_t room;               /* bytes after data */
	CUdeviceptr received;        /* what comes from other ranks; 0 until a probe asks for it */
	uint64_t received_room;      /* bytes after received */
	double fill_per_us;          /* bytes that the GPU's memory takes in a microsecond, at most */
	CUdeviceptr report;          /* a struct muster_kernel_report */
	char small[160];             /* why data is smaller than the largest size; "" when it is not */
	struct muster_pinned chunks; /* CHUNKS_BYTES */
};

/* One ring's communicator, and the time that a callback has for it. A struct of the caller, copied freely. */
struct muster_nccl_session {
	struct muster_probe_ctx *ctx;
	struct muster_ring ring;
	const struct muster_nccl_resources *resources;
	ncclComm_t comm;
	double started_ms, deadline_ms; /* by muster_now_ms */
	uint64_t bytes;                 /* of the size that is measured now, for muster_nccl_is_stalled; 0: none yet */
};

/* ---- session.c: the one that stands ---- */

/* Begin a session with ring->timeout_ms to go: resources and buffer are there, and a communicator that stood is gone.
 * comm is the caller's to make. -1 with err: nothing is left to do. */
int muster_nccl_session_begin(struct muster_probe_ctx *ctx, const struct muster_ring *ring,
	struct muster_nccl_session *ret, struct muster_error *err);
/* Go on with the session that was kept as begun, with ring->timeout_ms to go from now. -1 with err when there is none.
 */
int muster_nccl_session_begun(struct muster_probe_ctx *ctx, const struct muster_ring *ring,
	struct muster_nccl_session *ret, struct muster_error *err);
/* Keep a session whose communicator is being made, or is there, and which has measured nothing yet. */
void muster_nccl_session_keep_begun(const struct muster_nccl_session *s);
/* Keep a session whose ring went well: its communicator stands from now on. */
void muster_nccl_session_keep(const struct muster_nccl_session *s);
/* The session that stands, with timeout_ms to go from now. -1 with err (MUSTER_ENOTSUPPORTED) when none does. */
int muster_nccl_session_standing(
	struct muster_probe_ctx *ctx, int timeout_ms, struct muster_nccl_session *ret, struct muster_error *err);
/* A call or a wait failed with err: say so, end the communicator and free what it used, which may hang. Returns -1. */
int muster_nccl_session_fail(struct muster_nccl_session *s, const struct muster_error *err);

/* ---- resources.c ---- */

/* The resources of the process, made when there are none; NULL with err, and then nothing is left of them. */
struct muster_nccl_resources *muster_nccl_resources_make(struct muster_probe_ctx *ctx, struct muster_error *err);
void muster_nccl_resources_release(void);
/* Allocate the resources' data, unless they have it, for the largest size that the GPU has room for; resources.small
 * says why when that is not the ladder's largest. early: before the load on the GPU, which tests the memory that is
 * free. */
int muster_nccl_buffer_make(struct muster_probe_ctx *ctx, bool early, struct muster_error *err);

/* Allocate the resources' buffer `received` of so many bytes, or as many as there is room for. */
int muster_nccl_received_make(struct muster_probe_ctx *ctx, uint64_t bytes, struct muster_error *err);

/* The sizes to measure, ascending. With both bounds: from the lower one, doubling up to the upper one. With one: the
 * profile's ladder cut there, or that size alone when nothing is left. */
size_t muster_nccl_sizes(const struct muster_probe_env *env, uint64_t sizes[SIZES_MAX]);

/* ---- wait.c ---- */

/* Wait until NCCL has really taken the last call: it may answer ncclInProgress, and nothing is in the stream before. */
int muster_nccl_settle(
	const struct muster_nccl_session *s, ncclResult_t result, const char *call, struct muster_error *err);
int muster_nccl_record(const struct muster_nccl_session *s, CUevent event, struct muster_error *err);
/* Whether so long a wait for all-reduces of this size shows that they do not end: even a slow network of many nodes is
 * much faster. */
bool muster_nccl_is_stalled(uint64_t bytes, double waited_ms);
/* Wait until the stream has reached event, watching the communicator as well: a broken one never gets there. */
int muster_nccl_wait(const struct muster_nccl_session *s, CUevent event, const char *what, struct muster_error *err);
/* Microseconds between the events start and end, which the stream has passed. */
int muster_nccl_elapsed_us(const struct muster_nccl_session *s, double *ret, struct muster_error *err);
/* One in-place all-reduce of floats, enqueued when this returns. */
int muster_nccl_sum(
	const struct muster_nccl_session *s, CUdeviceptr at, size_t values, ncclRedOp_t op, struct muster_error *err);
/* What decides is sent so many times in one message, and byte by byte what two copies have in common counts. A rank to
 * which data come wrong must make the same calls as the other ranks, or all would wait for each other, and it must not
 * mistake who another rank is. copies: the copies, one behind the other, each of `bytes` bytes. */
#define MUSTER_NCCL_COPIES 3
void muster_nccl_vote(const unsigned char *copies, size_t bytes, void *ret); /* ret may be copies */

/* Replace each of at most AGREED_MAX values by its maximum over all ranks. */
int muster_nccl_agree(const struct muster_nccl_session *s, float *values, size_t count, struct muster_error *err);

/* The same of one value, as a float has it. */
int muster_nccl_slowest(const struct muster_nccl_session *s, double *value, struct muster_error *err);

/* ---- exchange.c: messages between ranks of the ring ---- */

/* Sends and receives between start and end go on at the same time; at the end they are in the stream. After an error
 * there is no group any more. */
int muster_nccl_group_start(const struct muster_nccl_session *s, struct muster_error *err);
int muster_nccl_send(
	const struct muster_nccl_session *s, CUdeviceptr from, uint64_t bytes, int peer, struct muster_error *err);
int muster_nccl_receive(
	const struct muster_nccl_session *s, CUdeviceptr into, uint64_t bytes, int peer, struct muster_error *err);
/* In place: the bytes of the ring's rank `root` go to all others. Within a group, as send and receive. */
int muster_nccl_broadcast(
	const struct muster_nccl_session *s, CUdeviceptr at, uint64_t bytes, int root, struct muster_error *err);
int muster_nccl_group_end(const struct muster_nccl_session *s, struct muster_error *err);

/* Wait for all that is in the stream. */
int muster_nccl_finish(const struct muster_nccl_session *s, const char *what, struct muster_error *err);

/* One operation of all ranks, or of two, enqueued when it returns. */
typedef int muster_nccl_operation_fn(const struct muster_nccl_session *s, void *arg, struct muster_error *err);
struct muster_nccl_range {
	CUdeviceptr at;
	uint64_t bytes;
};
/* A muster_nccl_operation_fn: one in-place all-reduce, the sum, of the floats of a struct muster_nccl_range. */
int muster_nccl_reduce(const struct muster_nccl_session *s, void *range, struct muster_error *err);
/* The time of one operation, from the first's start to its end. */
int muster_nccl_time_one(const struct muster_nccl_session *s, muster_nccl_operation_fn *operation, void *arg,
	const char *what, double *ret_us, struct muster_error *err);
/* The times of `count` operations (at most AGREED_MAX) one by one, after another one and a head start of head_us.
 * Overwrites data with zeros. ret_late_us: the time that the host took to launch them, when that was longer than the
 * head start, so that times are the host's; else 0. */
int muster_nccl_time_each(const struct muster_nccl_session *s, muster_nccl_operation_fn *operation, void *arg,
	size_t count, double head_us, const char *what, double *times_us, double *ret_late_us,
	struct muster_error *err);

/* The windows of a visit (probes/windows.h), in microseconds of one operation. */
struct muster_nccl_windows {
	bool of_all; /* set by the caller: all ranks of the ring measure together */
	size_t count;
	double own_us[MUSTER_WINDOWS_MOST];
	double slowest_us[MUSTER_WINDOWS_MOST]; /* of_all: of each operation the slowest rank's time */
};
/* once_us: about the time of one operation, the same for all ranks that take part. Overwrites data with zeros. */
int muster_nccl_windows(const struct muster_nccl_session *s, muster_nccl_operation_fn *operation, void *arg,
	double once_us, const char *what, struct muster_nccl_windows *ret, struct muster_error *err);
/* What these windows take in microseconds, with the operation that comes before them. */
double muster_nccl_windows_us(const struct muster_nccl_session *s, double once_us);
/* Whether every rank of the ring has more time left. */
int muster_nccl_has_time(const struct muster_nccl_session *s, double needed_us, bool *ret, struct muster_error *err);

/* Work for about so many microseconds that is over before what is enqueued next begins: zeros in data, once at least.
 * On a non-blocking communicator each launch waits for a thread of NCCL's, and without such a head start it is the CPU
 * that is timed (66 instead of 212 GB/s at 8 MiB on four H200). */
int muster_nccl_head_start(const struct muster_nccl_session *s, double us, struct muster_error *err);
#define MUSTER_NCCL_LAUNCH_US                                                                                          \
	300.0 /* more than the CPU needs to launch an operation on a non-blocking communicator                         \
	       */
/* The head start that `count` operations need which take once_us each. */
double muster_nccl_head_us(int count, double once_us);

/* ---- roster.c ---- */

/* The job's rank that has this number in the ring; -1 when it is not known. */
int muster_nccl_rank_of_job(int ring_rank);
/* Tell all ranks of the ring which rank of the job each of them is, and which ranks are near it: those of its node, or
 * of its NVLink domain. */
int muster_nccl_roster_make(const struct muster_nccl_session *s, struct muster_error *err);
/* Where only some ranks of the ring are near each other: split its communicator into those of near ranks, all ranks of
 * the ring together. ret_ms: the time; 0: there was nothing to do, or NCCL cannot (before 2.18). After an error the
 * ring's communicator cannot be used either. */
int muster_nccl_near_make(const struct muster_nccl_session *s, double *ret_ms, struct muster_error *err);
void muster_nccl_near_leave(const struct muster_nccl *nccl);
/* After the abort of the ring's communicator: a split that was under way has still written a near one, which is gone.
 */
void muster_nccl_near_forget(void);

/* How two ranks send to each other: on the communicator of near ranks, where there is one, else on the ring's. */
struct muster_nccl_between {
	ncclComm_t comm;
	int own, peer; /* their numbers there */
	/* Where in NCCL's log the lines of the communicator begin, and from where on lines of the other one, whose
	 * ranks have the same numbers, may stand among them. */
	size_t log_at, log_mixed;
	bool near; /* all its ranks are near each other */
};
struct muster_nccl_between muster_nccl_between(const struct muster_nccl_session *s, int peer);

/* ---- data.c ---- */

/* The value that the data of a number have at a place. `number` is a rank, or rank and round in one. Values are whole
 * numbers, and a float holds the sum of up to 223,260 of them exactly. No two of so many numbers have the same value at
 * all places. Places repeat after a tile. */
float muster_nccl_data_value(int number, size_t place);
/* The sum of `count` of them from `first` on. */
void muster_nccl_data_expect(int first, int count, float tile[TILE_VALUES]);

/* What one size's check found. */
struct muster_nccl_mismatch {
	uint64_t count, first; /* first: its index in the buffer */
	float got, expected;
};

/* Fill data with a number's values; compare what is at `at` with the tile that is expected, again and again. */
int muster_nccl_data_fill(const struct muster_nccl_session *s, int number, uint64_t bytes, struct muster_error *err);
int muster_nccl_data_check(const struct muster_nccl_session *s, CUdeviceptr at, uint64_t bytes, const float *expected,
	struct muster_nccl_mismatch *ret, struct muster_error *err);
/* The same for values that are in the host's memory; the first of them is the base-th of the buffer. Adds to wrong. */
void muster_nccl_data_compare(
	const float *got, const float *expected, size_t values, uint64_t base, struct muster_nccl_mismatch *wrong);

/* ---- data that is only moved: written and checked on the GPU ---- */

/* Write the range: a multiple of 16 bytes, in which each 8-byte word is another one. Ranges with different seeds have
 * no word in common, as long as the seeds differ by more than the ranges have words; a seed that is n larger is the
 * same range n words further on. */
int muster_nccl_pattern_fill(
	const struct muster_nccl_session *s, CUdeviceptr at, uint64_t bytes, uint64_t seed, struct muster_error *err);
/* Wait until the stream is done, and count the 4-byte values that differ. */
int muster_nccl_pattern_check(const struct muster_nccl_session *s, CUdeviceptr at, uint64_t bytes, uint64_t seed,
	uint64_t *ret_wrong, struct muster_error *err);

/* ---- the log ---- */

/* Where in NCCL's log of the process the lines of the present ring begin. */
size_t muster_nccl_log_of_ring(size_t length);
/* The log's end, as evidence of an error: what NCCL returns is seldom the cause. */
void muster_nccl_log_tell_tail(struct muster_probe_ctx *ctx);

#endif
