/* SPDX-License-Identifier: Apache-2.0 */
/* session.c - the communicator that stands, from one ring and one probe to the next; its log, and message sizes
 *
 * What a process has of communicators; at most one of `begun` and `standing` is there:
 *
 *   call                          begun         standing      aborts
 *   session_begin                 none          none          the one of the two that was there
 *   keep_begun (BEGIN, AWAIT)     this ring's   none
 *   keep (WHOLE, REST)            none          this ring's
 *   session_fail                  none          none          the standing one, else that of the session
 *
 * The start of the ring's lines in NCCL's log moves to the log's end whenever a communicator is aborted.
 */
#include "probes/nccl/session.h"

#include "util/text.h"
#include "vendor/nccl_log.h"

static struct muster_nccl_session standing; /* comm NULL: none does */
static struct muster_nccl_session begun;    /* comm NULL: none is */
static size_t ring_at;                      /* where the log of this ring begins, in bytes */

/* What NCCL logs from here on is about another ring of the same process. */
static void end_ring(void)
{
	muster_nccl_log_read(&ring_at, NULL);
}

/* The near communicator goes first, for it was split from the ring's. A split that is under way ends with the ring's,
 * and writes it once more. */
static void abort_ring(const struct muster_nccl *nccl, ncclComm_t comm)
{
	muster_nccl_near_leave(nccl);
	nccl->ncclCommAbort(comm);
	muster_nccl_near_forget();
}

/* Make a second ring in the same process possible. */
static void leave_ring_before(struct muster_probe_ctx *ctx, const struct muster_nccl *nccl)
{
	ncclComm_t before = begun.comm ? begun.comm : standing.comm;
	if (!before)
		return;
	muster_step(ctx, "ncclCommAbort of the previous communicator");
	abort_ring(nccl, before);
	standing.comm = begun.comm = NULL;
	end_ring();
}

/* The buffer is made before the old communicator is aborted, so that a GPU without room fails without having lost what
 * stands. A trial ring after a failed one finds nothing to leave: muster_nccl_session_fail has aborted it. */
int muster_nccl_session_begin(struct muster_probe_ctx *ctx, const struct muster_ring *ring,
	struct muster_nccl_session *ret, struct muster_error *err)
{
	struct muster_nccl_session s = { .ctx = ctx, .ring = *ring, .started_ms = muster_now_ms() };
	s.deadline_ms = s.started_ms + ring->timeout_ms;
	s.resources = muster_nccl_resources_make(ctx, err);
	/* of a ring that only begins, the load tests the memory first */
	if (!s.resources || muster_nccl_buffer_make(ctx, ring->part == MUSTER_RING_BEGIN, err) < 0)
		return -1;
	leave_ring_before(ctx, s.resources->nccl);
	*ret = s;
	return 0;
}

/* The communicator is left to the end of the process: ncclCommFinalize alone took 0.39 s with four H200
 * (docs/dev/measurements.md), and nothing of it outlives us. */
void muster_nccl_session_keep(const struct muster_nccl_session *s)
{
	standing = *s;
	begun.comm = NULL;
}

void muster_nccl_session_keep_begun(const struct muster_nccl_session *s)
{
	begun = *s;
}

/* The session, with timeout_ms to go from now. */
static void go_on(struct muster_nccl_session *s, struct muster_probe_ctx *ctx, int timeout_ms)
{
	s->ctx = ctx;
	s->ring.timeout_ms = timeout_ms;
	s->started_ms = muster_now_ms();
	s->deadline_ms = s->started_ms + timeout_ms;
	s->bytes = 0;
}

/* The rest of a ring measures, so it needs the buffer that a ring which only begins may have put off. The ring's ids
 * are those of BEGIN: later parts carry none. */
int muster_nccl_session_begun(struct muster_probe_ctx *ctx, const struct muster_ring *ring,
	struct muster_nccl_session *ret, struct muster_error *err)
{
	if (!begun.comm)
		return muster_fail(err, MUSTER_ENOTSUPPORTED, "no communicator has begun in this process");
	if (ring->part == MUSTER_RING_REST && muster_nccl_buffer_make(ctx, false, err) < 0)
		return -1;
	*ret = begun;
	go_on(ret, ctx, ring->timeout_ms);
	return 0;
}

int muster_nccl_session_standing(
	struct muster_probe_ctx *ctx, int timeout_ms, struct muster_nccl_session *ret, struct muster_error *err)
{
	if (!standing.comm || !standing.resources)
		return muster_fail(err, MUSTER_ENOTSUPPORTED, "no communicator of a ring stands in this process");
	*ret = standing;
	go_on(ret, ctx, timeout_ms);
	return 0;
}

/* The communicator that stands, or, in a ring that has not been kept yet, the session's own: never both, since a ring
 * begins by leaving the one before. */
int muster_nccl_session_fail(struct muster_nccl_session *s, const struct muster_error *err)
{
	if (err->code != MUSTER_ECALLEDOFF)
		muster_nccl_log_tell_tail(s->ctx);
	/* An abort may hang, and so may freeing what a kernel uses that never ends: first say what happened. */
	muster_failing(s->ctx, err);
	ncclComm_t comm = standing.comm ? standing.comm : s->comm;
	standing.comm = begun.comm = NULL;
	if (comm) {
		muster_step(s->ctx, "ncclCommAbort after: %s", err->text);
		abort_ring(s->resources->nccl, comm);
	}
	muster_step(s->ctx, "freeing the buffers of NCCL's traffic");
	muster_nccl_resources_release();
	end_ring();
	return -1;
}

/* ---- which part of NCCL's log is about the present ring, and how it ends ---- */

/* length: of the whole log. 0 where nothing was written since the ring began: then the whole log is what there is. */
size_t muster_nccl_log_of_ring(size_t length)
{
	return ring_at < length ? ring_at : 0;
}

void muster_nccl_log_tell_tail(struct muster_probe_ctx *ctx)
{
	char tail[MUSTER_ERROR_TEXT_MAX * 5 / 8];
	size_t length;
	const char *text = muster_nccl_log_read(&length, NULL);
	if (!text)
		return;
	size_t from = muster_nccl_log_of_ring(length);
	if (muster_nccl_log_tail(text + from, length - from, tail, sizeof tail)[0])
		muster_evidence(ctx, "NCCL's log ends: %s", tail);
}

/* ---- the message sizes that a profile and its bounds make ---- */

/* Examples; L and H are --min-bytes and --max-bytes, 0 where they are not set:
 *
 *   profile    L        H         sizes
 *   quick      0        0         64 MiB
 *   standard   0        0         8, 64, 256, 512 MiB
 *   standard   64 MiB   0         64, 256, 512 MiB
 *   standard   0        32 MiB    8 MiB
 *   standard   0        1 MiB     1 MiB: nothing of the ladder is left
 *   any        1 MiB    4 MiB     1, 2, 4 MiB
 *
 * At least one size. Each is a whole number of floats. Options with L above H are refused before. */
size_t muster_nccl_sizes(const struct muster_probe_env *env, uint64_t sizes[SIZES_MAX])
{
	static const uint64_t all[] = { 8 * MIB, 64 * MIB, 256 * MIB, 512 * MIB, GIB, 2 * GIB, 4 * GIB, 8 * GIB };
	static const struct {
		size_t first, count;
	} profiles[MUSTER_PROFILE_COUNT] = {
		[MUSTER_QUICK] = { 1, 1 },
		[MUSTER_STANDARD] = { 0, 4 },
		[MUSTER_FULL] = { 0, 8 },
	};
	uint64_t low = env->min_bytes, high = env->max_bytes;
	size_t count = 0;
	if (low && high) {
		for (uint64_t size = low; size && size <= high && count < SIZES_MAX; size *= 2)
			sizes[count++] = size;
	} else {
		for (size_t i = 0; i < profiles[env->profile].count; i++) {
			uint64_t size = all[profiles[env->profile].first + i];
			if (size >= low && (!high || size <= high))
				sizes[count++] = size;
		}
		if (count == 0)
			sizes[count++] = low ? low : high;
	}
	for (size_t i = 0; i < count; i++) /* whole values only */
		sizes[i] = sizes[i] < sizeof(float) ? sizeof(float) : sizes[i] - sizes[i] % sizeof(float);
	return count;
}
